"""Check and evaluate conditions in CEL (Common Expression Language). Only this module uses the library.

The library's checker knows no records, only types with functions. So for the check each field becomes a function of its
record (`e.kind` is checked as `e.kind()`), and wrong names and types are found.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from trotline.domain.effects import Effect
from trotline.formats.suggestions import suggest
from trotline.policy.condition_tokens import MAX_CONDITION, ConditionToken, find_members, find_patterns, tokenize
from trotline.policy.condition_variables import EVENT_FIELDS, FUNCTIONS, RECORDS, VARIABLES, EventFacts

_ERROR = re.compile(r"<input>:(\d+):(\d+): (.*)")
_UNKNOWN_NAME = re.compile(r"undeclared reference to '([^']*)'")
_WRONG_TYPES = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'")
_OPERATOR = re.compile(r"^_(.+)_$")
_TEXT_MAP = "map(string, string)"
_TOP_LEVEL = tuple(name for name in VARIABLES if name not in {"event", "effects", "findings"})


class ConditionFault(NamedTuple):
    """An error in a condition and its position."""

    start: int
    end: int
    message: str
    hint: str = ""


class ConditionError(Exception):
    """The condition could not be evaluated."""


@functools.cache
def _load_library() -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - only needed if there are rules

    return cel


def find_missing_library() -> str:
    """Return the reason why no condition can be evaluated on this machine, or ""."""
    try:
        _load_library()
    except ImportError:
        return "cel-expr-python, which reads conditions, is not installed"
    return ""


@functools.cache
def _build_checker() -> Any:
    """Return an environment in which a record has a function for each of its fields."""
    cel = _load_library()
    types = {"string": cel.Type.STRING, "bool": cel.Type.BOOL, "int": cel.Type.INT}
    types |= {record: cel.Type.AbstractType(record) for record in RECORDS}
    types |= {f"list({name})": cel.Type.List(kind) for name, kind in list(types.items())}
    types[_TEXT_MAP] = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)
    overloads: dict[str, list[Any]] = {}
    for record, fields in RECORDS.items():
        for field, kind in fields.items():
            overload = cel.Overload(f"{record}_{field}", types[kind], [types[record]], is_member=True)
            overloads.setdefault(field, []).append(overload)
    functions = [cel.FunctionDecl(field, declarations) for field, declarations in overloads.items()]
    return cel.NewEnv(variables={name: types[kind] for name, kind in VARIABLES.items()}, functions=functions)


@functools.cache
def _build_runtime() -> Any:
    """Return an environment with the same variables, in which records are maps."""
    cel = _load_library()
    record = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    types = {"string": cel.Type.STRING, "list(string)": cel.Type.List(cel.Type.STRING)}
    types[_TEXT_MAP] = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)
    variables = {name: types.get(kind, cel.Type.List(record)) for name, kind in VARIABLES.items()}
    return cel.NewEnv(variables={**variables, "event": record})


@functools.lru_cache(maxsize=4096)
def check_condition(condition: str) -> ConditionFault | None:
    """Return the first error in a condition, or None."""
    if len(condition) > MAX_CONDITION:
        message = f"a condition has at most {MAX_CONDITION} characters"
        return ConditionFault(0, len(condition), message, "make it two rules")
    tokens = tokenize(condition)
    for name in find_members(tokens, called=True):
        if any(name.text in fields for fields in RECORDS.values()):
            message = f"`{name.text}` is a field and not a function"
            return ConditionFault(name.start, name.end, message, f"write `.{name.text}`")
    field_ends = [field.end for field in find_members(tokens, called=False)]
    checked = _insert_calls(condition, field_ends)
    try:
        result_type = _build_checker().compile(checked).return_type()
    except RuntimeError as error:
        return _build_fault(str(error), condition, checked, field_ends)
    if result_type != _load_library().Type.BOOL:
        message = f"a condition is true or false; this is of type {result_type.name().lower()}"
        return ConditionFault(0, len(condition), message)
    return next((fault for fault in map(_check_pattern, find_patterns(tokens)) if fault is not None), None)


def _check_pattern(literal: ConditionToken) -> ConditionFault | None:
    """Try a literal pattern now; otherwise it would fail when it is needed."""
    result = _build_runtime().compile(f'"".matches({literal.text})').eval()
    if result.type() != _load_library().Type.ERROR:
        return None
    return ConditionFault(literal.start, literal.end, f"this is no pattern: {_shorten(result.value())}")


def _insert_calls(condition: str, field_ends: Iterable[int]) -> str:
    """Add `()` after each field."""
    parts, begin = [], 0
    for end in field_ends:
        parts += [condition[begin:end], "()"]
        begin = end
    return "".join([*parts, condition[begin:]])


def _build_fault(error: str, condition: str, checked: str, field_ends: Sequence[int]) -> ConditionFault:
    """Convert an error of the checker to a fault at its position in the condition without the inserted calls."""
    match = _ERROR.search(error)
    if match is None or int(match[1]) < 1:
        message = f"the condition cannot be read: {error.split(' [', 1)[0].strip()}"
        return ConditionFault(0, len(condition), message)
    lines = checked.split("\n")
    offset = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
    unknown, wrong_types = _UNKNOWN_NAME.search(match[3]), _WRONG_TYPES.search(match[3])
    name = unknown[1] if unknown else wrong_types[1] if wrong_types else ""
    if name and checked[offset - len(name) : offset] == name:
        offset -= len(name)
    start = offset - 2 * sum(end + 2 * index < offset for index, end in enumerate(field_ends))
    message, hint = _describe_error(match[3], unknown, wrong_types, is_field=checked[offset - 1 : offset] == ".")
    return ConditionFault(start, start + max(1, len(name) if not _OPERATOR.match(name) else 1), message, hint)


def _describe_error(
    error: str, unknown: re.Match[str] | None, wrong_types: re.Match[str] | None, *, is_field: bool
) -> tuple[str, str]:
    """Return a message for an error of the library, and a hint."""
    if unknown and is_field:
        names = dict.fromkeys([*(name for fields in RECORDS.values() for name in fields), *FUNCTIONS])
        return f"there is no field or function `{unknown[1]}`", suggest(unknown[1], names)
    if unknown:
        return f"there is no `{unknown[1]}`", suggest(unknown[1], VARIABLES)
    if wrong_types and wrong_types[2] in RECORDS:
        article = "a" if wrong_types[2] == "Finding" else "an"
        message = f"{article} {wrong_types[2].lower()} has no `{wrong_types[1]}`"
        return message, suggest(wrong_types[1], RECORDS[wrong_types[2]])
    if wrong_types:
        operator = _OPERATOR.sub(r"\1", wrong_types[1])
        return f"`{operator}` cannot be applied to {wrong_types[2].replace(', ', ' and ')}", ""
    return f"the condition cannot be read: {error.removeprefix('Syntax error: ').split(' expecting {')[0]}", ""


@functools.lru_cache(maxsize=1024)
def _join_conditions(conditions: tuple[str, ...]) -> str:
    return " || ".join(f"({condition}\n)" for condition in conditions)  # a comment may end a condition


@functools.lru_cache(maxsize=4096)
def _compile(condition: str) -> Any:
    return _build_runtime().compile(condition)


class ConditionInput:
    """The values of all variables for one event; built once for all rules."""

    def __init__(self, event: EventFacts, effects: Sequence[Effect]) -> None:
        facts = event._asdict()
        self._values: dict[str, Any] = {name: _replace_surrogates(facts[name]) for name in _TOP_LEVEL}
        self._values["event"] = {name: _replace_surrogates(facts[name]) for name in EVENT_FIELDS}
        self._values["findings"] = [
            {"kind": effect.target, "scanner": effect.verb, "certainty": effect.certainty.value}
            for effect in effects
            if effect.kind == "content"
        ]
        self._values["effects"] = [_build_record(effect) for effect in effects]
        self._missing = find_missing_library()
        self._activation = None if self._missing else _build_runtime().Activation(self._values)

    def may_hold(self, conditions: tuple[str, ...]) -> bool:
        """Return whether one of the conditions may be true or fail; joined by `||`, only `false` excludes both."""
        if self._missing or len(conditions) == 1:
            return True
        try:
            return _evaluate(_join_conditions(conditions), self._activation)
        except ConditionError:
            return True

    def holds(self, condition: str) -> bool:
        """Return whether the condition is true; raise ConditionError if it cannot be evaluated."""
        if self._missing:
            raise ConditionError(self._missing)
        return _evaluate(condition, self._activation)

    def holds_for(self, condition: str, index: int) -> bool:
        """Return whether the condition would be true with this effect alone."""
        alone = {**self._values, "effects": [self._values["effects"][index]]}
        try:
            return _evaluate(condition, _build_runtime().Activation(alone))
        except ConditionError:
            return False


def _evaluate(condition: str, activation: Any) -> bool:
    """Evaluate a condition. The library returns some errors and raises others."""
    try:
        result = _compile(condition).eval(activation)
    except RuntimeError as error:
        raise ConditionError(_shorten(error)) from None
    if result.type() != _load_library().Type.BOOL:
        raise ConditionError(_shorten(result.value()))
    return bool(result.value())


def _shorten(error: object) -> str:
    return re.sub(r"^[A-Z_]+: | \[[A-Z_]+\]$", "", str(error).split("\n", 1)[0])[:200].lower()


def join_texts(event: EventFacts, effects: Sequence[Effect]) -> str:
    """Return all texts that a condition can see, separated by NUL."""
    values = [*event, *(value for effect in effects for value in msgspec.structs.astuple(effect))]
    return str(_replace_surrogates("\0".join(text for value in values for text in _list_texts(value))))


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, tuple):
        yield from value


def _build_record(effect: Effect) -> Mapping[str, Any]:
    return {name: _replace_surrogates(value) for name, value in msgspec.structs.asdict(effect).items()}


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which agents may send and the library does not accept."""
    if isinstance(value, tuple):
        return [_replace_surrogates(item) for item in value]
    if isinstance(value, Mapping):
        return {_replace_surrogates(name): _replace_surrogates(item) for name, item in value.items()}
    return str(value).encode("utf-8", "replace").decode() if isinstance(value, str) else value
