"""The table language for programs: phrases on a command line, and the effects that they cause.

A row of `program_table.py` is enough for a program whose effects follow from its words and options:

    "ufw": program(Act("system: firewall", "~disable|reset|allow|delete|default")),

`Act` names the effect (kind and verb) and the phrases that cause it. `;` separates phrases. A phrase consists of:

    word|word     one of these words at this place; `*` is any word. Options do not count as words.
    ...           the words may come later
    +flag|flag    one of these options is given; `+flag=value|value`: with one of these values
    -flag         this option is not given
    ~name|name    one of these as a word (like `...`) or as an option; it stands alone

Programs of remote services (`service_table.py`), migrations, forges and others use the same phrases.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, Protocol, TypeVar

from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import SECRET_STREAM

PATH, NAME = "path", "name"
"""The objects of an act: paths of files or devices, or names of volumes, which are no files even if they look so."""

Row = TypeVar("Row")
_REMOTE_KINDS = frozenset({"container", "data"})


class CommandOptions(Protocol):
    """The options of a command line, as a program or git parses them."""

    @property
    def flags(self) -> Mapping[str, object]:
        """The options by name without dashes."""

    def has(self, *names: str) -> bool:
        """Return whether one of the options is given."""

    def value(self, *names: str) -> str:
        """Return the last value of an option, or an empty text."""


class OptionTest(NamedTuple):
    """An option that a phrase requires: one of these names and, if there are any, one of these values."""

    names: tuple[str, ...]
    values: tuple[str, ...] = ()

    def matches(self, options: CommandOptions) -> bool:
        """Return whether the option is given; long options may be abbreviated."""
        if not self.values:
            return options.has(*self.names)
        return options.value(*self.names).lower() in self.values


class Phrase(NamedTuple):
    """Words in their order, and options that must or must not be given."""

    words: tuple[tuple[str, ...], ...]  # at each place one of these words
    options: tuple[OptionTest, ...]
    without: tuple[str, ...]
    anywhere: bool  # the words need not be the first

    def find_end(self, head: Sequence[str], options: CommandOptions) -> int:
        """Return the number of words up to the end of the phrase, or -1 if the phrase does not fit."""
        if not all(option.matches(options) for option in self.options) or options.flags.keys() & set(self.without):
            return -1
        size = len(self.words)
        starts = range(len(head) - size + 1) if self.anywhere else range(min(1, len(head) - size + 1))
        return next((start + size for start in starts if self._matches_words(head[start : start + size])), -1)

    def _matches_words(self, words: Sequence[str]) -> bool:
        return all(word in wanted or wanted == ("*",) for wanted, word in zip(self.words, words, strict=True))

    def fits(self, head: Sequence[str], options: CommandOptions) -> bool:
        """Return whether the phrase is on the command line."""
        return self.find_end(head, options) >= 0


@cache
def parse_phrases(text: str) -> tuple[Phrase, ...]:
    """Return the phrases of a text, the longest first, so that the most exact one decides."""
    parts = [part.strip() for part in text.split(";") if part.strip()]
    parts = [form for part in parts for form in (("... " + part[1:], "+" + part[1:]) if part[0] == "~" else (part,))]
    phrases = [_parse_phrase(part.split()) for part in parts]
    return tuple(sorted(phrases, key=lambda phrase: -len(phrase.words) - len(phrase.options)))


def _parse_phrase(parts: Sequence[str]) -> Phrase:
    words = [tuple(part.split("|")) for part in parts if part[0] not in "+-" and part != "..."]
    options = [part[1:].partition("=") for part in parts if part[0] == "+"]
    return Phrase(
        tuple(words),
        tuple(
            OptionTest(tuple(names.split("|")), tuple(values.split("|") if values else ()))
            for names, _, values in options
        ),
        tuple(part[1:] for part in parts if part[0] == "-"),
        "..." in parts,
    )


def has_matching_phrase(text: str, head: Sequence[str], options: CommandOptions) -> bool:
    """Return whether one of the phrases of a text fits."""
    return any(phrase.fits(head, options) for phrase in parse_phrases(text))


class Act(NamedTuple):
    """An effect of a program, and the phrases that cause it."""

    effect: str  # "kind: verb"
    when: str = ""  # phrases; without any, the program always has this effect
    target: str = "{name} {rest}"  # `{rest}`: the first words; `{words}`: words and options; `{last}`: the last of them
    source: str = ""
    objects: str = ""  # PATH or NAME: one effect for each word after the phrase
    recursive: bool = False
    writes: bool = True


class ProgramRow(NamedTuple):
    """A program whose effects follow from its words and options."""

    acts: tuple[Act, ...]
    valued: str  # options that take a value
    dry: str  # options with which it does nothing
    depth: int  # number of words that phrases see
    shown: int  # how many words a target shows
    long_dash: bool  # `-name` is one option, not four letters


def program(
    *acts: Act, valued: str = "", dry: str = "help version", depth: int = 99, shown: int = 3, long_dash: bool = False
) -> ProgramRow:
    """Return a row of a program table."""
    return ProgramRow(acts, valued, dry, depth, shown, long_dash)


def analyze_program(call: Invocation, row: ProgramRow) -> None:
    """Add the effect of every act whose phrases fit."""
    options = call.parse_options(row.valued, long_dash=row.long_dash)
    if options.has(*row.dry.split()):
        return
    head = [word.text for word in options.rest[: row.depth]]
    for act in row.acts:
        ends = [phrase.find_end(head, options) for phrase in parse_phrases(act.when)] if act.when else [0]
        end = next((end for end in ends if end >= 0), -1)
        if end >= 0:
            _add_act(call, row, act, options.rest, end)


def _add_act(call: Invocation, row: ProgramRow, act: Act, rest: Sequence[Argument], end: int) -> None:
    kind, _, verb = act.effect.partition(": ")
    if act.objects:
        is_path = act.objects == PATH
        add_object_effects(call, rest[end:], act.effect, is_path=is_path, recursive=act.recursive)
        return
    target = act.target.format(
        name=call.name,
        rest=" ".join(word.text for word in rest[: row.shown]),
        words=" ".join(word.text for word in call.args[: row.shown]),
        last=call.args[-1].text if call.args else "",
    ).rstrip()
    host = call.name if kind in _REMOTE_KINDS else ""
    writes = act.writes and kind != "read"
    call.add_effect(kind, verb, target=target, host=host, source=act.source, recursive=act.recursive, writes=writes)
    if act.effect == "read: secret":
        call.stdout = SECRET_STREAM


def add_object_effects(
    call: Invocation, words: Iterable[Argument], effect: str, *, is_path: bool, recursive: bool = False
) -> None:
    """Add one effect for each word, or for the program itself if there are none."""
    kind, _, verb = effect.partition(": ")
    for word in list(words) or [call.program]:
        path = call.resolve(word) if is_path and word is not call.program else ""
        call.add_effect(kind, verb, word, path=path, target=word.text, recursive=recursive, writes=True)


def expand_names(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return a table with one name per row, from one whose keys are names separated by spaces."""
    return {name: row for names, row in rows.items() for name in names.split()}
