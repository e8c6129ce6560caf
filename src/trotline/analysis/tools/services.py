"""Programs that speak to a remote service: one reader for all of them, driven by the rows of `services.py`."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from trotline.analysis.cloud_settings import Setting, setting_of
from trotline.analysis.credentials import KEEPER
from trotline.analysis.options import Options, options
from trotline.analysis.platforms import PLATFORMS
from trotline.analysis.scene import Argument
from trotline.analysis.services import SERVICES, Service
from trotline.analysis.step import GAP, Handler, Step
from trotline.analysis.streams import SECRET, Stream
from trotline.analysis.verbs import Deed, deed_of, verb_among

DRY = ("dry-run", "dryrun", "what-if", "whatif", "no-execute", "simulate", "noop", "help", "generate-cli-skeleton")
"""Flags with which a program only says what it would do."""


class Line(NamedTuple):
    """A service's command line: the words that say what is done, what it is done to, and the flags."""

    head: tuple[str, ...]
    found: Options
    deed: Deed
    dry: bool  # it only looks


def dry(found: Options, *more: str) -> bool:
    """Whether it only looks; `--dry-run=false` and `--dry-run=none` do not."""
    for flag, values in found.flags.items():
        if flag in DRY or flag in more:
            given = values[-1]
            if given is None or given.text.lower() not in {"false", "none", "no", "0"}:
                return True
    return False


class Phrase(NamedTuple):
    """Words in their order, `*` for any; and flags that must or must not be there."""

    words: tuple[str, ...]
    flags: tuple[tuple[str, ...], ...]
    without: tuple[str, ...]

    def fits(self, head: Sequence[str], found: Options) -> bool:
        return (
            len(head) >= len(self.words)
            and all(want in {word, "*"} for want, word in zip(self.words, head, strict=False))
            and all(_given(found, names) for names in self.flags)
            and not any(_given(found, (name,)) for name in self.without)
        )


def _given(found: Options, names: tuple[str, ...]) -> bool:
    return any(name in found.flags for name in names)


@cache
def phrases(text: str) -> tuple[Phrase, ...]:
    """The phrases of a row, longest first, so that the more exact one speaks."""
    rows = [row.split() for row in text.split(";") if row.strip()]
    found = [
        Phrase(
            tuple(word for word in row if word[0] not in "+-"),
            tuple(tuple(word[1:].split("|")) for word in row if word[0] == "+"),
            tuple(word[1:] for word in row if word[0] == "-"),
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda phrase: -len(phrase.words) - len(phrase.flags)))


def line_of(words: Sequence[Argument], row: Service) -> Line:
    """Read the words: those before the objects, and what the verb among them means."""
    found = options(words, row.valued.split(), long_dash=_single_dash(words, row))
    head = tuple(word.text for word in found.rest[: max(row.depth, row.at + 1)])
    return Line(head, found, _deed(head, found, row), dry(found, *row.dry.split()))


def _single_dash(words: Sequence[Argument], row: Service) -> bool:
    """Programs written in Go take `-name` for `--name`; four letters in one bundle are rare."""
    known = {name for name in row.valued.split() if len(name) > 1}
    single = [word.text for word in words if word.text[:1] == "-" and word.text[1:2] not in {"-", ""}]
    return any(len(text) > 4 or text[1:].partition("=")[0] in known for text in single)


def _deed(head: tuple[str, ...], found: Options, row: Service) -> Deed:
    if "help" in (head[:1] + tuple(word.text for word in found.rest[-1:])):
        return Deed.READ
    said = special(head, found, row)
    if said is not Deed.NONE:
        return said
    if row.flags:
        deeds = [deed_of(flag) if deed_of(flag) is not Deed.NONE else Deed.DESTROY for flag in _verbs(found, row)]
        return min(deeds, key=list(Deed).index, default=Deed.NONE)
    if row.at >= 0:
        return deed_of(head[row.at]) if len(head) > row.at else Deed.READ
    return verb_among(head)[1]


def _verbs(found: Options, row: Service) -> list[str]:
    return [flag for flag in found.flags if flag in row.flags.split()]


@cache
def _rules(row: Service) -> dict[str, list[tuple[Phrase, Deed]]]:
    """What the row itself says, by the first word; the more exact phrase first."""
    texts = zip((row.destroys, row.stops, row.grants, row.changes, row.reads), Deed, strict=False)
    rules = [(phrase, deed) for text, deed in texts for phrase in phrases(text)]
    found: dict[str, list[tuple[Phrase, Deed]]] = {}
    for phrase, deed in sorted(rules, key=lambda rule: -2 * len(rule[0].words) - len(rule[0].flags)):
        found.setdefault(phrase.words[0] if phrase.words else "", []).append((phrase, deed))
    return found


def special(head: tuple[str, ...], found: Options, row: Service) -> Deed:
    rules = _rules(row)
    candidates = (*rules.get(head[0], ()), *rules.get("", ())) if head else rules.get("", ())
    return next((deed for phrase, deed in candidates if phrase.fits(head, found)), Deed.NONE)


def service(step: Step, row: Service) -> Line:
    """Note what a service's command line does."""
    line = line_of(step.words, row)
    if row.runs and _runs(step, line, row):
        return line
    if line.dry or (step.words and not line.found.rest and line.found.flags.keys() <= {"version", "v", "V", "h"}):
        return line
    if _shows(line, row):
        line = line._replace(deed=line.deed or Deed.READ)
        keeper = KEEPER if row.kind == "secrets" else ""
        step.effect("read", "secret", target=_shown(step, line, row), host=step.name, source=keeper)
        step.out = SECRET
    kept = any(word in _KEEPERS for word in line.head[:2]) and row.kind == "cloud"
    if row.kind == "cloud" and not kept and _set(step, line, row):
        return line
    note(step, line.deed, _shown(step, line, row), "secrets" if kept else row.kind)
    return line


def _shows(line: Line, row: Service) -> bool:
    """A phrase without a verb means reading: `doppler secrets`, but not `doppler secrets set`."""
    if not row.secrets:
        return False
    verb = verb_among(line.head)[0]
    reads = line.deed in {Deed.READ, Deed.NONE}
    return any(
        (reads or verb < len(phrase.words)) and phrase.fits(line.head, line.found) for phrase in phrases(row.secrets)
    )


_MEANT = {
    Setting.UNPROTECTED: Deed.STOP,
    Setting.OPEN: Deed.GRANT,
    Setting.STOPPED: Deed.STOP,
    Setting.REMOTE: Deed.CHANGE,
}


def _set(step: Step, line: Line, row: Service) -> bool:
    """Whether an option says more than the verb: what only changes something may open it to everybody."""
    scales = any(word.rpartition(":")[2] == "scale" for word in line.head)
    if line.deed in {Deed.DESTROY, Deed.STOP, Deed.READ} and not scales:
        return False
    found = setting_of(step.words, line.head)
    if found is None:
        return False
    setting, option = found
    shown = " ".join(filter(None, (_shown(step, line, row), option.name and f"--{option.name}")))
    step.effect("cloud", _MEANT[setting].value, target=shown, host=step.name, source=setting.value, writes=True)
    return True


_KEEPERS = frozenset("keyvault kms secret secrets secretsmanager".split())
"""What clouds call the place where they keep secrets."""


def note(step: Step, deed: Deed, target: str, kind: str = "cloud") -> None:
    """One effect on a service; what is done with words nobody knows may be anything, but is no known harm."""
    if deed is Deed.NONE:
        deed = Deed.CHANGE if step.words else Deed.READ
    step.effect(kind, deed.value, target=target, host=step.name, writes=deed is not Deed.READ)
    if step.out is None:
        step.out = Stream()


def _shown(step: Step, line: Line, row: Service) -> str:
    """What a person reads: the words up to the first flag behind them; values of options may be secrets."""
    if row.flags:
        return " ".join([step.name, *(f"--{flag}" for flag in _verbs(line.found, row))])
    own = {id(word) for word in line.found.rest[: len(line.head) + (row.at >= 0)]}
    taken: list[str] = []
    for word in step.words:
        if id(word) in own:
            name, equals, _ = word.text.partition("=")
            taken.append(f"{name}={GAP}" if equals else name)
        elif taken:
            break
    return " ".join([step.name, *taken])


def _runs(step: Step, line: Line, row: Service) -> bool:
    """`doppler run -- make`: the words after `--`, or after the phrase, are another program's."""
    fitting = next((phrase for phrase in phrases(row.runs) if phrase.fits(line.head, line.found)), None)
    if fitting is None:
        return False
    texts = [word.text for word in step.words]
    scene = step.scene.elsewhere() if row.kind == "cloud" else step.scene
    for command in line.found.values("command", "C"):
        step.out = step.script(command, scene=scene.copy())
        return True
    if "--" in texts:
        rest = step.words[texts.index("--") + 1 :]
    else:
        behind = step.words[texts.index(fitting.words[-1]) + 1 :]
        rest = list(options(behind, row.valued.split(), stops=True).rest)
    if rest and " " in rest[0].text:  # a line in quotes, for a shell there
        step.out = step.script(rest[0], scene=scene.copy())
    elif rest:
        step.out = step.run(rest, scene=scene) if row.kind == "cloud" else step.carry(rest)
    return bool(rest)


def _service(step: Step) -> None:
    row = ROWS.get(step.name) or ROWS[step.name.removesuffix(".sh").removesuffix(".jar")]
    service(step, row)


_FEATURE_THINGS = frozenset("environments segments splits traffic-types workspaces".split())


def _split(step: Step) -> None:
    """Two programs have this name: one cuts files into pieces, the other speaks to a service of feature flags."""
    words = step.options("l b n C a t lines bytes number suffix-length".split()).rest
    if words and words[0].text in _FEATURE_THINGS:
        service(step, Service(depth=2))
        return
    for file in words[:1]:
        step.read(file)
    for prefix in words[1:2]:
        step.write(prefix, source=step.path(words[0]))


ROWS = {**SERVICES, **PLATFORMS}
_FORMS = (*(f"{name}.sh" for name in SERVICES if name.startswith("kafka-")), "jenkins-cli.jar")
_ELSEWHERE = frozenset("aws az bq cockroach gcloud heroku wrangler".split())
"""They have a store of objects or a database in them, and a handler that knows it."""

TOOLS: dict[str, Handler] = {
    **{name: _service for name in (*ROWS, *_FORMS) if name not in _ELSEWHERE},
    "split": _split,
}
