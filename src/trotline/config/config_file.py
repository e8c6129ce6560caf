"""Read trotline.toml, the configuration file of each layer, into typed values with the position of every problem.

A section is a msgspec Struct: its types and descriptions validate the file, word the problems and generate the schema.
It may have three class attributes: `noun`, its name in problems; `missing_code`, the code of the problem that a key is
missing; and `refused`, the keys that must not be in the file.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from trotline.config.config_keys import ALL_KEYS, LAYER_KEYS, OLD_FILES, find_old_files
from trotline.config.paths import CONFIG_FILE, Roots, list_config_layers
from trotline.config.problems import Problem, build_problem, build_read_problem
from trotline.config.text_report import TextReport
from trotline.domain.hooks import Place
from trotline.formats.jsonc import MAX_FILE_BYTES, JsonDocument, JsonNode
from trotline.formats.toml_text import MAX_NAME, Span, find_excess, find_positions
from trotline.system.files import read_file_and_mode

FILE_CODE, OLD_FILE_CODE = "TL256", "TL259"
OWN_LAYERS = ("enterprise", "user")
"""The layers that may have every section."""

MAX_PROBLEMS = 50
"""The limit of problems reported for one file: readers stop there, and each may search for a suggestion."""

MAX_MESSAGE = 400

MAX_TABLES = 2000
"""The limit of tables in a list, such as `[[rule]]`."""

_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_DURATION = re.compile(r"([1-9][0-9]{0,6})(ms|s|m|h|d)")
UNITS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


class TomlError(NamedTuple):
    """The reason why a text is not accepted as TOML, and its position."""

    code: str
    span: Span
    message: str


class ParsedToml(NamedTuple):
    """A parsed text with its values, or with the error that kept it from being parsed."""

    document: JsonDocument
    body: dict[str, Any]
    error: TomlError | None = None


@functools.lru_cache(maxsize=64)
def parse_toml(data: bytes) -> ParsedToml:
    """Parse a file. The result is cached, because several sections are read from the same bytes."""
    text = data.decode("utf-8", "replace")
    document = JsonDocument(text, line_starts=[0, *(newline.end() for newline in re.finditer("\n", text))])
    if len(text) > MAX_FILE_BYTES:
        error = TomlError("TL108", (0, 1), f"the file is larger than {MAX_FILE_BYTES:,} bytes")
        return ParsedToml(document, {}, error)
    excess = find_excess(text)
    if excess is not None:
        message = f"this is no TOML that anybody can read: {excess[1]}"
        return ParsedToml(document, {}, TomlError(FILE_CODE, excess[0], message))
    import tomllib  # noqa: PLC0415 - most users have no such file

    try:
        return ParsedToml(document, tomllib.loads(text))
    except ValueError as error:  # also raised for numbers that Python refuses
        message = f"this is no TOML: {_AT.sub('', str(error)).strip()}"
        return ParsedToml(document, {}, TomlError(FILE_CODE, _find_error_span(str(error), document), message))


def _find_error_span(message: str, document: JsonDocument) -> Span:
    match = _AT.search(message)
    if match is None:
        return max(0, len(document.text) - 1), len(document.text)
    start = document.line_starts[int(match[1]) - 1] + int(match[2]) - 1
    return start, start + 1


class RefusedKeys(NamedTuple):
    """Keys for secrets, which must not be in the file, with the problem that they cause."""

    names: frozenset[str]
    code: str
    message: str
    hint: str


Section = TypeVar("Section", bound=msgspec.Struct)


class ConfigField(NamedTuple):
    """A key of a section: its attribute, its type and the description of its values."""

    name: str
    type: Any
    values: str
    is_required: bool
    code: str  # of a problem with its value, if it is not that of the file


@functools.cache
def get_fields(section: type[msgspec.Struct]) -> dict[str, ConfigField]:
    """Return the keys of a section."""
    return {field.encode_name: _describe_field(field) for field in msgspec.structs.fields(section)}


def _describe_field(field: msgspec.structs.FieldInfo) -> ConfigField:
    kind, metas = field.type, getattr(field.type, "__metadata__", ())
    base = get_args(kind)[0] if metas else kind
    values = next((meta.description for meta in metas if meta.description), "a text")
    if get_origin(base) is Literal:
        values = f"one of {', '.join(f'`{value}`' for value in get_args(base))}"
    elif base is bool and not metas:
        values = "`true` or `false`"
    elif _get_item_section(base):
        values = "a table"
    code = next((meta.extra["code"] for meta in metas if meta.extra), "")
    return ConfigField(field.name, kind, values, field.required, code)


def _get_section(kind: Any) -> type[msgspec.Struct] | None:
    return kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None


def _get_item_section(kind: Any) -> type[msgspec.Struct] | None:
    """Return the section in a type `dict[str, section]`."""
    return _get_section(get_args(kind)[1]) if get_origin(kind) is dict else None


def _build_section(section: type[Section], values: dict[str, Any]) -> Section:
    fields = get_fields(section)
    return section(**{fields[name].name: value for name, value in values.items()})


class LayerFile(NamedTuple):
    """The configuration file of one layer; `data` is None if it is missing or cannot be read."""

    layer: str
    file: str
    data: bytes | None
    mode: int = 0
    problems: tuple[Problem, ...] = ()
    is_unreadable: bool = False
    old_files: tuple[str, ...] = ()


class ConfigFile(TextReport):
    """A parsed configuration file and its problems; `code` is the code of problems in the section being read."""

    def __init__(self, source: LayerFile, code: str = FILE_CODE) -> None:
        parsed = parse_toml(source.data or b"")
        super().__init__(source.file, parsed.document)
        self.problems += source.problems
        self.source = source
        self.layer = source.layer
        self.code = code
        self.body = parsed.body
        self.fault = source.problems[-1].message if source.is_unreadable else ""
        if parsed.error is not None:
            self.fault = parsed.error.message
            self.report(*parsed.error)
        self._check_keys()
        self.has_section_problem = False

    @functools.cached_property
    def positions(self) -> dict[str, Span]:
        """The spans of all keys by dotted name."""
        return find_positions(self.document.text)

    def find_position(self, key: str) -> Span:
        """Return the span of a key, of the first key in it, or of the table around it."""
        key = key[:MAX_NAME]
        if key not in self.positions:
            inside = next((span for name, span in self.positions.items() if name.startswith(f"{key}.")), None)
            if inside is not None:
                return inside
        names = [key.rsplit(".", count)[0] for count in range(key.count(".") + 1)]
        return next((self.positions[name] for name in names if name in self.positions), (0, 1))

    def find_line(self, key: str) -> int:
        """Return the line of a key, from 1."""
        return self.document.position(self.find_position(key)[0])[0]

    def report_key(self, key: str, message: str, hint: str = "", code: str = "") -> None:
        """Report a problem with the value of a key."""
        self.report(code or self.code, self.find_position(key), message, hint, entry=_get_top_level_key(key))

    def report_unknown(self, key: str, message: str, known: Iterable[str], code: str = "") -> None:
        """Report a key or a name that does not exist, with a suggestion."""
        if len(self.problems) > MAX_PROBLEMS:
            return
        from trotline.formats.suggestions import suggest  # noqa: PLC0415 - only needed for a problem

        self.report_key(key, message, suggest(key.rpartition(".")[2], known), code)

    def report(self, code: str, node: JsonNode | Span, message: str, hint: str = "", *, entry: str = "") -> None:
        """Add a problem, up to MAX_PROBLEMS, and mark the current section as invalid."""
        self.has_section_problem = True
        if len(self.problems) > MAX_PROBLEMS:
            return
        if len(self.problems) == MAX_PROBLEMS:
            message, hint, entry = "there is more wrong in this file, from here on", "", ""
        super().report(code, node, message[:MAX_MESSAGE], hint, entry=entry)

    def iterate_tables(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the tables of `[[name]]`, each with its dotted name."""
        tables = self.body.get(name, [])
        if not isinstance(tables, list):
            self.report_key(name, f"`{name}` is a list of tables", f"write [[{name}]]")
            return
        if len(tables) > MAX_TABLES:
            message = f"there are more than {MAX_TABLES} of [[{name}]]; those after are not in force"
            self.report_key(name, message)
        for index, table in enumerate(tables[:MAX_TABLES]):
            if isinstance(table, dict):
                yield f"{name}.{index}", table
            else:
                self.report_key(f"{name}.{index}", f"a {name} is a table")

    def convert_section(self, table: object, section: type[Section], prefix: str) -> Section | None:
        """Return a table as a section, or None if it has a problem."""
        self.has_section_problem = False
        values = self.convert_table(table, section, prefix)
        if self.has_section_problem:
            return None
        return _build_section(section, values)

    def convert_table(self, table: object, section: type[msgspec.Struct], prefix: str) -> dict[str, Any]:
        """Return the valid values of a table. Invalid, unknown and missing keys are reported."""
        if not isinstance(table, dict):
            self.report_key(prefix, f"`{prefix.rpartition('.')[2]}` is a table")
            return {}
        fields, values = get_fields(section), {}
        noun: str = getattr(section, "noun", "trotline.toml")
        refused: RefusedKeys | None = getattr(section, "refused", None)
        has_problem = False
        for name, value in table.items():
            key = f"{prefix}.{name}" if prefix else name
            try:
                if refused and name.lower() in refused.names:
                    self.report_key(key, f"`{name}`: {refused.message}", refused.hint, refused.code)
                elif name not in fields:
                    self.report_unknown(key, f"{noun} has no `{name}`", fields)
                else:
                    values[name] = self._convert_value(value, fields[name].type, key)
            except (msgspec.ValidationError, ValueError):
                self.report_key(key, f"`{name}` must be {fields[name].values}", code=fields[name].code)
            has_problem = has_problem or name not in values
        missing = next((name for name, field in fields.items() if field.is_required and name not in table), "")
        if missing and not has_problem:
            message = f"{noun} needs `{missing}`, {fields[missing].values}"
            self.report_key(f"{prefix}.{missing}", message, code=getattr(section, "missing_code", ""))
        return values

    def _convert_value(self, value: object, kind: Any, key: str) -> Any:
        """Return a value as its type. In a table of sections, the valid ones are kept."""
        if section := _get_section(kind):
            return _build_section(section, self.convert_table(value, section, key))
        item = _get_item_section(kind)
        if item is None:
            return msgspec.convert(value, kind)
        if not isinstance(value, dict):
            raise msgspec.ValidationError("not a table")
        sections = {name: self.convert_section(table, item, f"{key}.{name}") for name, table in value.items()}
        return {name: section for name, section in sections.items() if section is not None}

    def _check_keys(self) -> None:
        allowed = LAYER_KEYS[self.layer]
        for key in self.body:
            if key not in ALL_KEYS:
                self.report_unknown(key, f"there is no setting `{key}`", ALL_KEYS, FILE_CODE)
            elif key not in allowed:
                hint = f"write it into ~/.config/trotline/{CONFIG_FILE}"
                self.report_key(key, f"a {self.layer} cannot say this: `{key}` is not in force", hint, FILE_CODE)


def _get_top_level_key(key: str) -> str:
    name, _, rest = key.partition(".")
    return name if rest else ""


def read_config_files(roots: Roots, code: str = FILE_CODE) -> Iterator[ConfigFile]:
    """Yield the files of the machine and of the user, from the highest authority to the lowest.

    A leftover file of an earlier version is a problem, because its content is not in force.
    """
    for layer, file in list_config_layers(roots, ()):
        if layer in OWN_LAYERS:
            source = read_layer_file(layer, file)
            if source.data is not None or source.problems:
                yield ConfigFile(source, code)


def read_layer_file(layer: str, file: str) -> LayerFile:
    """Read the file of one layer, and look for files of earlier versions beside it."""
    path = Path(file)
    old = find_old_files(file)
    problems = tuple(map(_report_old_file, old))
    try:
        data, mode = read_file_and_mode(path)
    except (FileNotFoundError, NotADirectoryError):
        return LayerFile(layer, file, None, problems=problems, old_files=old)
    except OSError as error:
        problems = (*problems, build_read_problem(path, error))
        return LayerFile(layer, file, None, problems=problems, is_unreadable=True, old_files=old)
    return LayerFile(layer, file, data, mode, problems, old_files=old)


def _report_old_file(file: str) -> Problem:
    message = f"no longer read; move its content to {CONFIG_FILE}: {OLD_FILES[Path(file).name]}"
    hint = f"write it into {Path(file).with_name(CONFIG_FILE)}, then remove this file"
    return build_problem(OLD_FILE_CODE, message, hint, place=Place(file, 1, 1))


def parse_duration(text: str) -> int:
    """Return a length of time such as `90s`, `10m` or `2h` in microseconds; 0 if the text is invalid."""
    match = _DURATION.fullmatch(text)
    return int(match[1]) * UNITS[match[2]] if match else 0
