"""Conditions in CEL: checked when they are loaded, asked when something is about to happen.

The checker knows no records, only types with functions. So for the check every field becomes a function of its record
(`e.kind` is checked as `e.kind()`), and it finds wrong names and types as it would find them in code.
No other file knows the library.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from trotline.effects import Effect
from trotline.guards.nearness import near
from trotline.guards.vocabulary import EVENT, FUNCTIONS, RECORDS, VARIABLES, About
from trotline.guards.words import LONGEST, Word, members, patterns, words_of

_FAULT = re.compile(r"<input>:(\d+):(\d+): (.*)")
_UNKNOWN = re.compile(r"undeclared reference to '([^']*)'")
_MISFIT = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'")
_SIGN = re.compile(r"^_(.+)_$")
TEXTS = "map(string, string)"


class Fault(NamedTuple):
    """What is wrong with a condition, and where in it."""

    start: int
    end: int
    message: str
    hint: str = ""


class Unjudged(Exception):  # noqa: N818 - it is an answer: neither yes nor no
    """The condition could not be asked."""


@functools.cache
def _library() -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - only for those who have rules

    return cel


def missing() -> str:
    """Why no condition can be asked on this machine; empty when all is well."""
    try:
        _library()
    except ImportError:
        return "cel-expr-python, which reads conditions, is not installed"
    return ""


@functools.cache
def _checker() -> Any:
    """An environment in which a record has a function for each of its fields."""
    cel = _library()
    known = {"string": cel.Type.STRING, "bool": cel.Type.BOOL, "int": cel.Type.INT}
    known |= {record: cel.Type.AbstractType(record) for record in RECORDS}
    known |= {f"list({name})": cel.Type.List(kind) for name, kind in list(known.items())}
    known[TEXTS] = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)
    overloads: dict[str, list[Any]] = {}
    for record, its in RECORDS.items():
        for field, kind in its.items():
            one = cel.Overload(f"{record}_{field}", known[kind], [known[record]], is_member=True)
            overloads.setdefault(field, []).append(one)
    functions = [cel.FunctionDecl(field, each) for field, each in overloads.items()]
    return cel.NewEnv(variables={name: known[kind] for name, kind in VARIABLES.items()}, functions=functions)


@functools.cache
def _runtime() -> Any:
    """The same variables as they are given: records are maps."""
    cel = _library()
    record = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    known = {"string": cel.Type.STRING, "list(string)": cel.Type.List(cel.Type.STRING)}
    known[TEXTS] = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)
    kinds = {name: known.get(kind, cel.Type.List(record)) for name, kind in VARIABLES.items()}
    return cel.NewEnv(variables={**kinds, "event": record})


@functools.lru_cache(maxsize=4096)
def fault_of(condition: str) -> Fault | None:
    """What is wrong with a condition, if something is."""
    if len(condition) > LONGEST:
        return Fault(0, len(condition), f"a condition has at most {LONGEST} characters", "make it two rules")
    words = words_of(condition)
    for name in members(words, called=True):
        if any(name.text in its for its in RECORDS.values()):
            return Fault(name.start, name.end, f"`{name.text}` is a field and not a function", f"write `.{name.text}`")
    places = [field.end for field in members(words, called=False)]
    checked = _called(condition, places)
    try:
        found = _checker().compile(checked).return_type()
    except RuntimeError as error:
        return _fault(str(error), condition, checked, places)
    if found != _library().Type.BOOL:
        return Fault(0, len(condition), f"a condition is true or false; this is of type {found.name().lower()}")
    return next((fault for fault in map(_pattern_fault, patterns(words)) if fault is not None), None)


def _pattern_fault(literal: Word) -> Fault | None:
    """A pattern that stands in the condition is tried at once; otherwise it would fail when it is needed."""
    tried = _runtime().compile(f'"".matches({literal.text})').eval()
    if tried.type() != _library().Type.ERROR:
        return None
    return Fault(literal.start, literal.end, f"this is no pattern: {_short(tried.value())}")


def _called(condition: str, places: Iterable[int]) -> str:
    parts, begin = [], 0
    for end in places:
        parts += [condition[begin:end], "()"]
        begin = end
    return "".join([*parts, condition[begin:]])


def _fault(said: str, condition: str, checked: str, places: Sequence[int]) -> Fault:
    match = _FAULT.search(said)
    if match is None or int(match[1]) < 1:
        return Fault(0, len(condition), f"the condition cannot be read: {said.split(' [', 1)[0].strip()}")
    lines = checked.split("\n")
    at = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
    unknown, misfit = _UNKNOWN.search(match[3]), _MISFIT.search(match[3])
    name = unknown[1] if unknown else misfit[1] if misfit else ""
    if name and checked[at - len(name) : at] == name:
        at -= len(name)
    start = at - 2 * sum(place + 2 * index < at for index, place in enumerate(places))
    message, hint = _said(match[3], unknown, misfit, field=checked[at - 1 : at] == ".")
    return Fault(start, start + max(1, len(name) if not _SIGN.match(name) else 1), message, hint)


def _said(text: str, unknown: re.Match[str] | None, misfit: re.Match[str] | None, *, field: bool) -> tuple[str, str]:
    """The library's complaint in our words, and what was probably meant."""
    if unknown and field:
        known = dict.fromkeys([*(name for its in RECORDS.values() for name in its), *FUNCTIONS])
        return f"there is no field or function `{unknown[1]}`", near(unknown[1], known)
    if unknown:
        return f"there is no `{unknown[1]}`", near(unknown[1], VARIABLES)
    if misfit and misfit[2] in RECORDS:
        its = RECORDS[misfit[2]]
        return f"an {misfit[2].lower()} has no `{misfit[1]}`".replace("an f", "a f"), near(misfit[1], its)
    if misfit:
        sign = _SIGN.sub(r"\1", misfit[1])
        return f"`{sign}` cannot be applied to {misfit[2].replace(', ', ' and ')}", ""
    return f"the condition cannot be read: {text.removeprefix('Syntax error: ').split(' expecting {')[0]}", ""


@functools.lru_cache(maxsize=1024)
def _any_of(several: tuple[str, ...]) -> str:
    return " || ".join(f"({condition}\n)" for condition in several)  # a comment may end a condition


@functools.lru_cache(maxsize=4096)
def _program(condition: str) -> Any:
    return _runtime().compile(condition)


class Facts:
    """What conditions are asked about; made once for all rules. It may be asked about some of its effects alone."""

    def __init__(self, about: About, effects: Sequence[Effect]) -> None:
        given = about._asdict()
        self._values: dict[str, Any] = {name: _clean(given[name]) for name in _GIVEN}
        self._values["event"] = {name: _clean(given[name]) for name in EVENT}
        found = [effect for effect in effects if effect.kind == "content"]
        findings = [{"kind": one.target, "scanner": one.verb, "certainty": one.certainty.value} for one in found]
        self._values |= {"findings": findings, "effects": [_record(effect) for effect in effects]}
        self._missing = missing()
        self._activation = None if self._missing else _runtime().Activation(self._values)

    def may_hold(self, several: tuple[str, ...]) -> bool:
        """Whether one of the conditions may be true, or fail: in an `||`, only a `false` says that all are false."""
        if self._missing or len(several) == 1:
            return True
        try:
            return _asked(_any_of(several), self._activation)
        except Unjudged:
            return True

    def hold(self, condition: str) -> bool:
        """Whether the condition is true."""
        if self._missing:
            raise Unjudged(self._missing)
        return _asked(condition, self._activation)

    def hold_for(self, condition: str, at: int) -> bool:
        """Whether it would be true if this effect were the only one."""
        alone = {**self._values, "effects": [self._values["effects"][at]]}
        try:
            return _asked(condition, _runtime().Activation(alone))
        except Unjudged:
            return False


_GIVEN = tuple(name for name in VARIABLES if name not in {"event", "effects", "findings"})


def _asked(condition: str, activation: Any) -> bool:
    """The library returns some errors and raises others."""
    try:
        answer = _program(condition).eval(activation)
    except RuntimeError as error:
        raise Unjudged(_short(error)) from None
    if answer.type() != _library().Type.BOOL:
        raise Unjudged(_short(answer.value()))
    return bool(answer.value())


def _short(error: object) -> str:
    return re.sub(r"^[A-Z_]+: | \[[A-Z_]+\]$", "", str(error).split("\n", 1)[0])[:200].lower()


def all_texts(about: About, effects: Sequence[Effect]) -> str:
    """Every text that a condition can see, one after the other."""
    given = [*about, *(value for effect in effects for value in msgspec.structs.astuple(effect))]
    return str(_clean("\0".join(text for value in given for text in _texts(value))))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, tuple):
        yield from value


def _record(effect: Effect) -> Mapping[str, Any]:
    return {name: _clean(value) for name, value in msgspec.structs.asdict(effect).items()}


def _clean(value: Any) -> Any:
    """Texts of hosts may hold halves of characters, which the library does not take."""
    if isinstance(value, tuple):
        return [_clean(one) for one in value]
    if isinstance(value, Mapping):
        return {_clean(name): _clean(one) for name, one in value.items()}
    return str(value).encode("utf-8", "replace").decode() if isinstance(value, str) else value
