"""git: its own options, the settings given with them, aliases, and then the verb."""

from collections.abc import Mapping

from trotline.analysis.scene import UNKNOWN, Argument, Scene
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools import git_exchange, git_history, git_work
from trotline.analysis.tools.git_settings import Call, by_variables, for_this_call, networked
from trotline.analysis.tools.git_words import words

_OWN = (
    "C= c= git-dir= work-tree= exec-path? namespace= super-prefix= config-env= attr-source= list-cmds="
    " p|paginate P|no-pager bare v|version html-path man-path info-path no-optional-locks no-replace-objects"
    " literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-lazy-fetch no-advice"
)

VERBS = {**git_work.VERBS, **git_history.VERBS, **git_exchange.VERBS}

_BUILT_IN = frozenset(VERBS) | frozenset(
    "annotate blame branch check-ignore count-objects describe diff-files diff-index diff-tree for-each-ref fsck help"
    " log ls-files ls-tree merge-base merge-tree name-rev range-diff request-pull rev-list shortlog show-branch"
    " show-ref status var verify-commit verify-tag version whatchanged write-tree bugreport mktree".split()
)
"""An alias cannot stand for one of these: git does not look for it."""

_MOST_ALIASES = 5


def _git(step: Step) -> None:
    found = words(step.words, _OWN, stops=True)
    step.out = Stream()
    rest = list(found.rest) or list(found.paths)
    step.scene = _placed(step, found.values("C"), found.values("work-tree"))
    for directory in found.values("exec-path"):
        step.effect("git", "run-setting", directory, target="exec-path", source=directory.text)
    if found.has("help", "version") or not rest:
        return
    settings = {**_from_variables(step), **_settings(step, found.values("c"), found.values("config-env"))}
    _verb(step, rest, settings, _MOST_ALIASES)


def _placed(step: Step, directories: list[Argument], trees: list[Argument]) -> Scene:
    if not directories and not trees:
        return step.scene
    scene = step.scene.copy()
    for directory in [*directories, *trees]:
        scene.cwd = scene.absolute(directory.text) if directory.text else scene.cwd
    return scene


def _settings(step: Step, given: list[Argument], named: list[Argument]) -> dict[str, Argument]:
    found = {}
    for setting in given:
        key, equals, value = setting.text.partition("=")
        found[key.lower()] = setting._replace(text=value if equals else "true")
    for setting in named:
        key, _, name = setting.text.partition("=")
        found[key.lower()] = step.given.get(name) or _variable(step, name, setting)
    return found


def _variable(step: Step, name: str, at: Argument) -> Argument:
    held = step.scene.value(name)
    return at._replace(text=held.texts[0] if held else UNKNOWN, why=f"{name} is set elsewhere")


def _from_variables(step: Step) -> dict[str, Argument]:
    """GIT_CONFIG_KEY_0 and GIT_CONFIG_VALUE_0, and so on."""
    given: Mapping[str, Argument] = step.given
    found = {}
    for name in [*given, *(name for name in step.scene.variables if name.startswith("GIT_CONFIG_KEY_"))]:
        if name.startswith("GIT_CONFIG_KEY_"):
            key = given.get(name) or _variable(step, name, step.program)
            value = name.replace("_KEY_", "_VALUE_")
            found[key.text.lower()] = given.get(value) or _variable(step, value, step.program)
    return found


def _verb(step: Step, rest: list[Argument], settings: dict[str, Argument], turns: int) -> None:
    verb = rest[0].text
    if verb not in _BUILT_IN and turns:
        alias = settings.get(f"alias.{verb.lower()}")
        if alias is not None:
            _alias(step, alias, rest, settings, turns)
            return
    for_this_call(step, settings, network=networked(rest))
    by_variables(step, rest)
    if not rest[0].known:
        step.opaque(rest[0].why or "the verb of git is not known", rest[0], "git")
        return
    row = VERBS.get(verb)
    if row is None:
        return
    found = words(rest[1:], row.spec)
    if not found.has("help"):
        row.judge(Call(step, verb, found, settings))


def _alias(step: Step, alias: Argument, rest: list[Argument], settings: dict[str, Argument], turns: int) -> None:
    if alias.text.startswith("!"):
        text = " ".join([alias.text[1:], *(word.text for word in rest[1:])])
        step.out = step.script(alias._replace(text=text))
    elif not alias.known:
        step.opaque(alias.why or "the alias is not known", alias, "git")
    elif alias.text.split():
        parts = [alias._replace(text=part) for part in alias.text.split()]
        _verb(step, [*parts, *rest[1:]], settings, turns - 1)


def _dashed(step: Step) -> None:
    """`git-lfs` is `git lfs`."""
    verb = step.program._replace(text=step.name.partition("-")[2])
    step.out = step.run([step.program._replace(text="git"), verb, *step.words])


TOOLS: dict[str, Handler] = {
    "git": _git,
    **dict.fromkeys(("git-filter-repo", "git-lfs", "git-receive-pack", "git-upload-pack"), _dashed),
}
