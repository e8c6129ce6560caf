"""Programs of remote services: one analysis for all rows of `service_table.py`."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from trotline.analysis.cloud_settings import CloudSetting, find_cloud_setting
from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.programs import print_secret
from trotline.analysis.programs.phrases import Phrase, parse_phrases
from trotline.analysis.programs.service_table import SERVICES, ServiceRow
from trotline.analysis.secret_files import MANAGER_SOURCE
from trotline.analysis.service_verbs import VerbKind, classify_verb, find_verb
from trotline.analysis.shell.invocation import UNKNOWN_TEXT, Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream

DRY_RUN_OPTIONS = frozenset("dry-run dryrun generate-cli-skeleton help no-execute noop simulate what-if whatif".split())
"""Options with which a program only shows what it would do."""


class ServiceLine(NamedTuple):
    """The parsed command line of a service."""

    head: tuple[str, ...]  # the words before the objects, the verb among them
    options: ParsedOptions
    verb_kind: VerbKind
    is_dry_run: bool


def is_dry_run(options: ParsedOptions, *extra_options: str) -> bool:
    """Return whether an option requests a dry run; `--dry-run=false` and `--dry-run=none` do not."""
    for flag, values in options.flags.items():
        if flag in DRY_RUN_OPTIONS or flag in extra_options:
            value = values[-1]
            if value is None or value.text.lower() not in {"false", "none", "no", "0"}:
                return True
    return False


def parse_line(words: Sequence[Argument], row: ServiceRow) -> ServiceLine:
    """Parse the command line of a service, and classify its verb."""
    options = parse_options(words, row.valued, long_dash=_uses_long_dash(words, row))
    head = tuple(word.text for word in options.rest[: max(row.depth, row.verb_index + 1)])
    verb_kind = _classify_line(head, options, row) or _find_late_verb(words, options, row)
    return ServiceLine(head, options, verb_kind, is_dry_run(options, *row.dry.split()))


def _uses_long_dash(words: Sequence[Argument], row: ServiceRow) -> bool:
    """Return whether `-name` means `--name`, as in programs written in Go; bundles of four letters are rare."""
    known = {name for name in row.valued.split() if len(name) > 1}
    single = [word.text for word in words if word.text[:1] == "-" and word.text[1:2] not in {"-", ""}]
    return any(len(text) > 4 or text[1:].partition("=")[0] in known for text in single)


def _classify_line(head: tuple[str, ...], options: ParsedOptions, row: ServiceRow) -> VerbKind:
    """Return the kind of a command line: by the rules of the row, by its options, by its verb, in this order."""
    if "help" in (head[:1] + tuple(word.text for word in options.rest[-1:])):
        return VerbKind.READ
    verb_kind = classify_by_rules(head, options, row)
    if verb_kind is not VerbKind.NONE:
        return verb_kind
    if row.verb_options:
        verb_kinds = [classify_verb(flag) or VerbKind.DESTROY for flag in _get_verb_options(options, row)]
        return min(verb_kinds, key=list(VerbKind).index, default=VerbKind.NONE)
    if row.verb_index >= 0:
        return classify_verb(head[row.verb_index]) if len(head) > row.verb_index else VerbKind.READ
    return find_verb(head)[1]


def _find_late_verb(words: Sequence[Argument], options: ParsedOptions, row: ServiceRow) -> VerbKind:
    """Return the kind of a dangerous verb behind the first words.

    Values of options that the row does not know count as words, so that the verb may come later than usual.
    """
    has_fixed_place = row.verb_options or row.verb_index >= 0 or row.depth == 0
    if has_fixed_place or len(options.rest) <= row.depth:
        return VerbKind.NONE
    before = words[: words.index(options.rest[row.depth - 1])]
    leading = parse_options(before, row.valued, long_dash=_uses_long_dash(words, row))
    unknown = sum(values[-1] is None for values in leading.flags.values())
    later = [word.text for word in options.rest[row.depth : row.depth + unknown]]
    verb_kind = find_verb(later)[1]
    return verb_kind if verb_kind in {VerbKind.DESTROY, VerbKind.STOP, VerbKind.GRANT} else VerbKind.NONE


def _get_verb_options(options: ParsedOptions, row: ServiceRow) -> list[str]:
    return [flag for flag in options.flags if flag in row.verb_options.split()]


@cache
def _build_rules(row: ServiceRow) -> dict[str, list[tuple[Phrase, VerbKind]]]:
    """Return the phrases of a row by their first word, the most exact first."""
    texts = zip((row.destroys, row.stops, row.grants, row.changes, row.reads), VerbKind, strict=False)
    rules = [(phrase, verb_kind) for text, verb_kind in texts for phrase in parse_phrases(text)]
    by_word: dict[str, list[tuple[Phrase, VerbKind]]] = {}
    for phrase, verb_kind in sorted(
        rules, key=lambda rule: -2 * len(rule[0].words) - len(rule[0].options)
    ):  # words count twice
        for word in phrase.words[0] if phrase.words else ("",):
            by_word.setdefault(word, []).append((phrase, verb_kind))
    return by_word


def classify_by_rules(head: tuple[str, ...], options: ParsedOptions, row: ServiceRow) -> VerbKind:
    """Return the kind of the first phrase of the row that fits, or NONE."""
    rules = _build_rules(row)
    candidates = (*rules.get(head[0], ()), *rules.get("", ())) if head else rules.get("", ())
    return next((verb_kind for phrase, verb_kind in candidates if phrase.fits(head, options)), VerbKind.NONE)


def analyze_service(call: Invocation, row: ServiceRow) -> ServiceLine:
    """Add the effects of the command line of a service, and return it parsed."""
    line = parse_line(call.args, row)
    if row.runs and _analyze_wrapped(call, line, row):
        return line
    if line.is_dry_run or (
        call.args and not line.options.rest and line.options.flags.keys() <= {"version", "v", "V", "h"}
    ):
        return line
    if _shows_secret(line, row):
        line = line._replace(verb_kind=line.verb_kind or VerbKind.READ)
        source = MANAGER_SOURCE if row.kind == "secrets" else ""
        print_secret(call, _describe_line(call, line, row), host=call.name, source=source)
    is_secret = any(word in _SECRET_SERVICES for word in line.head[:2]) and row.kind == "cloud"
    if row.kind == "cloud" and not is_secret and _add_setting_effect(call, line, row):
        return line
    add_service_effect(call, line.verb_kind, _describe_line(call, line, row), "secrets" if is_secret else row.kind)
    return line


def _shows_secret(line: ServiceLine, row: ServiceRow) -> bool:
    """Return whether a secret is shown. A phrase without a verb reads: `doppler secrets`, not `doppler secrets set`."""
    if not row.secrets:
        return False
    verb = find_verb(line.head)[0]
    only_reads = line.verb_kind in {VerbKind.READ, VerbKind.NONE}
    return any(
        (only_reads or verb < len(phrase.words)) and phrase.fits(line.head, line.options)
        for phrase in parse_phrases(row.secrets)
    )


_SETTING_VERBS = {
    CloudSetting.UNPROTECTED: VerbKind.STOP,
    CloudSetting.OPEN: VerbKind.GRANT,
    CloudSetting.STOPPED: VerbKind.STOP,
    CloudSetting.REMOTE: VerbKind.CHANGE,
}


def _add_setting_effect(call: Invocation, line: ServiceLine, row: ServiceRow) -> bool:
    """Add the effect of an option that means more than the verb, such as `--publicly-accessible`."""
    scales = any(word.rpartition(":")[2] == "scale" for word in line.head)
    if line.verb_kind in {VerbKind.DESTROY, VerbKind.STOP, VerbKind.READ} and not scales:
        return False
    match = find_cloud_setting(call.args, line.head)
    if match is None:
        return False
    setting, option = match
    target = " ".join(filter(None, (_describe_line(call, line, row), option.name and f"--{option.name}")))
    verb_kind = _SETTING_VERBS[setting]
    call.add_effect("cloud", verb_kind.value, target=target, host=call.name, source=setting.value, writes=True)
    return True


_SECRET_SERVICES = frozenset("keyvault kms secret secrets secretsmanager".split())
"""Names of secret stores in clouds."""


def add_service_effect(call: Invocation, verb_kind: VerbKind, target: str, kind: str = "cloud") -> None:
    """Add one effect on a service; unknown words count as a change."""
    if verb_kind is VerbKind.NONE:
        verb_kind = VerbKind.CHANGE if call.args else VerbKind.READ
    call.add_effect(kind, verb_kind.value, target=target, host=call.name, writes=verb_kind is not VerbKind.READ)
    if call.stdout is None:
        call.stdout = Stream()


def _describe_line(call: Invocation, line: ServiceLine, row: ServiceRow) -> str:
    """Return the words of the line without values of options, which may be secrets."""
    if row.verb_options:
        return " ".join([call.name, *(f"--{flag}" for flag in _get_verb_options(line.options, row))])
    shown = {id(word) for word in line.options.rest[: len(line.head) + (row.verb_index >= 0)]}
    words: list[str] = []
    for word in call.args:
        if id(word) in shown:
            name, equals, _ = word.text.partition("=")
            words.append(f"{name}={UNKNOWN_TEXT}" if equals else name)
        elif words:
            break
    return " ".join([call.name, *words])


def _analyze_wrapped(call: Invocation, line: ServiceLine, row: ServiceRow) -> bool:
    """Analyze the program of `doppler run -- make`: the words after `--`, or after the phrase."""
    phrase = next((phrase for phrase in parse_phrases(row.runs) if phrase.fits(line.head, line.options)), None)
    if phrase is None:
        return False
    texts = [word.text for word in call.args]
    state = call.state.copy_for_remote() if row.kind == "cloud" else call.state
    for command in line.options.values("command", "C"):
        call.stdout = call.analyze_script(command, state=state.copy())
        return True
    if "--" in texts:
        rest = call.args[texts.index("--") + 1 :]
    else:
        following = call.args[texts.index(line.head[len(phrase.words) - 1]) + 1 :]
        rest = list(parse_options(following, row.valued, stops=True).rest)
    if rest and " " in rest[0].text:  # a quoted line for a shell
        call.stdout = call.analyze_script(rest[0], state=state.copy())
    elif rest:
        call.stdout = call.analyze_command(rest, state=state) if row.kind == "cloud" else call.analyze_wrapped(rest)
    return bool(rest)


def _handle_service(call: Invocation) -> None:
    row = SERVICES.get(call.name) or SERVICES[call.name.removesuffix(".sh").removesuffix(".jar")]
    analyze_service(call, row)


_SPLIT_NOUNS = frozenset("environments segments splits traffic-types workspaces".split())


def _handle_split(call: Invocation) -> None:
    """`split` of coreutils cuts files into pieces; another `split` is the client of a feature flag service."""
    words = call.parse_options("l b n C a t lines bytes number suffix-length").rest
    if words and words[0].text in _SPLIT_NOUNS:
        analyze_service(call, ServiceRow(depth=2))
        return
    for file in words[:1]:
        call.add_read(file)
    for prefix in words[1:2]:
        call.add_write(prefix, source=call.resolve(words[0]))


_SCRIPT_NAMES = (*(f"{name}.sh" for name in SERVICES if name.startswith("kafka-")), "jenkins-cli.jar")
_OTHER_FAMILIES = frozenset("aws az bq cockroach gcloud heroku wrangler".split())
"""These rows are used by the handlers of object_storage.py and databases.py."""

PROGRAMS: dict[str, Handler] = {
    **{name: _handle_service for name in (*SERVICES, *_SCRIPT_NAMES) if name not in _OTHER_FAMILIES},
    "split": _handle_split,
}
