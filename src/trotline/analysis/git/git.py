"""git: global options, settings, aliases, then the verb."""

from trotline.analysis.git import git_history, git_remotes, git_worktree
from trotline.analysis.git.git_command import GitCommand, parse_git_options
from trotline.analysis.git.git_config import add_setting_effects, add_variable_effects, uses_network
from trotline.analysis.programs import enter_directories
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream

_GLOBAL_OPTIONS = (
    "C= c= git-dir= work-tree= exec-path? namespace= super-prefix= config-env= attr-source= list-cmds="
    " p|paginate P|no-pager bare v|version html-path man-path info-path no-optional-locks no-replace-objects"
    " literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-lazy-fetch no-advice"
)

VERBS = {**git_worktree.VERBS, **git_history.VERBS, **git_remotes.VERBS}

_BUILTIN_VERBS = frozenset(VERBS) | frozenset(
    "annotate blame branch check-ignore count-objects describe diff-files diff-index diff-tree for-each-ref fsck help"
    " log ls-files ls-tree merge-base merge-tree name-rev range-diff request-pull rev-list shortlog show-branch"
    " show-ref status var verify-commit verify-tag version whatchanged write-tree bugreport mktree".split()
)
"""Verbs that an alias cannot replace."""

_MAX_ALIASES = 5


def _handle_git(call: Invocation) -> None:
    options = parse_git_options(call.args, _GLOBAL_OPTIONS, stops=True)
    call.stdout = Stream()
    words = list(options.rest) or list(options.paths)
    call.state = enter_directories(call.state, [*options.values("C"), *options.values("work-tree")])
    for directory in options.values("exec-path"):
        call.add_effect("git", "run-setting", directory, target="exec-path", source=directory.text)
    if options.has("help", "version") or not words:
        return
    config_options = _parse_config_options(call, options.values("c"), options.values("config-env"))
    _analyze_verb(call, words, {**_parse_config_variables(call), **config_options}, _MAX_ALIASES)


def _parse_config_options(call: Invocation, values: list[Argument], variables: list[Argument]) -> dict[str, Argument]:
    """Return the settings of `-c key=value` and `--config-env key=VARIABLE`."""
    settings = {}
    for setting in values:
        key, equals, value = setting.text.partition("=")
        settings[key.lower()] = setting._replace(text=value if equals else "true")
    for setting in variables:
        key, _, name = setting.text.partition("=")
        settings[key.lower()] = call.assignments.get(name) or _get_variable(call, name, setting)
    return settings


def _get_variable(call: Invocation, name: str, at: Argument) -> Argument:
    value = call.state.get_variable(name)
    return at._replace(text=value.texts[0] if value else UNKNOWN_CHAR, why=f"{name} is set elsewhere")


def _parse_config_variables(call: Invocation) -> dict[str, Argument]:
    """Return the settings in GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0 and so on."""
    assignments = call.assignments
    settings = {}
    for name in [*assignments, *(name for name in call.state.variables if name.startswith("GIT_CONFIG_KEY_"))]:
        if name.startswith("GIT_CONFIG_KEY_"):
            key = assignments.get(name) or _get_variable(call, name, call.program)
            value = name.replace("_KEY_", "_VALUE_")
            settings[key.text.lower()] = assignments.get(value) or _get_variable(call, value, call.program)
    return settings


def _analyze_verb(call: Invocation, words: list[Argument], settings: dict[str, Argument], max_aliases: int) -> None:
    verb = words[0].text
    if verb not in _BUILTIN_VERBS and max_aliases:
        alias = settings.get(f"alias.{verb.lower()}")
        if alias is not None:
            _expand_alias(call, alias, words, settings, max_aliases)
            return
    add_setting_effects(call, settings, network=uses_network(words))
    add_variable_effects(call, words)
    if not words[0].is_known:
        call.add_opaque(words[0].why or "the verb of git is not known", words[0], "git")
        return
    known_verb = VERBS.get(verb)
    if known_verb is None:
        return
    options = parse_git_options(words[1:], known_verb.spec)
    if not options.has("help"):
        for script in options.values(*known_verb.scripts.split()):
            call.analyze_script(script)
        known_verb.analyze(GitCommand(call, verb, options, settings))


def _expand_alias(
    call: Invocation, alias: Argument, words: list[Argument], settings: dict[str, Argument], max_aliases: int
) -> None:
    if alias.text.startswith("!"):
        text = " ".join([alias.text[1:], *(word.text for word in words[1:])])
        call.stdout = call.analyze_script(alias._replace(text=text))
    elif not alias.is_known:
        call.add_opaque(alias.why or "the alias is not known", alias, "git")
    elif alias.text.split():
        parts = [alias._replace(text=part) for part in alias.text.split()]
        _analyze_verb(call, [*parts, *words[1:]], settings, max_aliases - 1)


def _handle_dashed_git(call: Invocation) -> None:
    """Run `git-lfs` as `git lfs`."""
    verb = call.program._replace(text=call.name.partition("-")[2])
    call.stdout = call.analyze_command([call.program._replace(text="git"), verb, *call.args])


PROGRAMS: dict[str, Handler] = {
    "git": _handle_git,
    **dict.fromkeys(("git-filter-repo", "git-lfs", "git-receive-pack", "git-upload-pack"), _handle_dashed_git),
}
