"""Parse JSON with comments into a tree whose nodes know their offsets.

Offsets count characters of `JsonDocument.text`; edits that preserve bytes need them. The reader never raises and never
recurses, and its work is linear in the text. After a mistake it continues where it safely can, so that one bad entry
does not hide the others; each mistake is a JsonFault with the offset where it begins.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum
from json import JSONDecodeError, JSONDecoder
from typing import Any

import msgspec

ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


class JsonKind(StrEnum):
    """The type of a JSON value, with its name in messages."""

    OBJECT = "an object"
    ARRAY = "a list"
    STRING = "a string"
    NUMBER = "a number"
    BOOLEAN = "true or false"
    NULL = "null"
    BROKEN = "unreadable"  # a value whose fault is already reported


class JsonNode(msgspec.Struct):
    """A value in the text, from `start` up to but not including `end`."""

    kind: JsonKind
    start: int
    end: int
    value: Any = None  # for strings, numbers, true, false and null
    members: dict[str, "JsonMember"] = {}
    items: list["JsonNode"] = []

    def get(self, key: str) -> "JsonNode | None":
        """Return the value of a key, or None."""
        member = self.members.get(key)
        return member.value if member else None


class JsonMember(msgspec.Struct):
    """A key of an object and its value."""

    key: JsonNode
    value: JsonNode


class JsonFault(msgspec.Struct, frozen=True):
    """A syntax error: the code of its Problem, its offsets and a message."""

    code: str
    start: int
    end: int
    message: str
    hint: str = ""


class JsonDocument(msgspec.Struct):
    """A text, its tree as far as it could be parsed, and its syntax errors."""

    text: str
    root: JsonNode | None = None
    faults: list[JsonFault] = []
    comments: list[tuple[int, int]] = []
    line_starts: list[int] = []

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both counted from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def offset_in_string(self, node: JsonNode, index: int) -> int:
        """Return the offset of the index-th character of a string's value; an escape counts as one character."""
        at = node.start + 1
        for _ in range(index):
            escape = ESCAPE.match(self.text, at)
            at = escape.end() if escape else at + 1
        return min(at, max(node.start, node.end - 1))


MAX_FILE_BYTES = 1_000_000
MAX_JSON_DEPTH = 200
MAX_FAULTS = 50
"""The number of faults that are reported per code. The reader stops after this many syntax errors."""


class _State(StrEnum):
    """The token that the reader expects next."""

    VALUE = "a value"
    FIRST_VALUE = "a value or `]`"
    KEY = "a key in double quotes"
    FIRST_KEY = "a key in double quotes or `}`"
    COLON = "`:`"
    COMMA = "`,` or the end of the list or object"
    DONE = "the end of the file"


AFTER_A_LIST = re.compile(r'[ \t\r\n]*+(?:,[ \t\r\n]*+"(?:[^"\\\r\n]++|\\.)*+"[ \t\r\n]*+:|\}|$)')
SPACE = re.compile(r"[ \t\r\n]*+")
LINE = re.compile(r"[^\r\n]*+")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
WORD = re.compile(r"[A-Za-z0-9_$.+-]++")
SCAN_STRING = vars(JSONDecoder())["parse_string"]  # implemented in C, and unknown to typeshed
MAX_EXACT_INTEGER = 2.0**53
CONSTANTS = {"true": True, "false": False, "null": None}
CLOSERS = {"}": JsonKind.OBJECT, "]": JsonKind.ARRAY}


def parse_jsonc(data: bytes | str) -> JsonDocument:
    """Parse a JSON text with comments; syntax errors are in the result."""
    if len(data) > MAX_FILE_BYTES:
        size = f"{len(data):,} is more than {MAX_FILE_BYTES:,} bytes"
        return JsonDocument(
            "", faults=[JsonFault("TL108", 0, 0, f"the file is too large to be hooks: {size}")], line_starts=[0]
        )
    text, faults = _decode(data) if isinstance(data, bytes) else (data, [])
    reader = JsoncReader(text, faults)
    reader.run()
    return reader.document


def _decode(data: bytes) -> tuple[str, list[JsonFault]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        fault = JsonFault("TL104", 0, 1, "the file is UTF-16, not UTF-8", "save it as UTF-8 without a byte order mark")
        return data.decode("utf-16", "replace"), [fault]
    faults = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        faults.append(
            JsonFault("TL103", 0, 1, "the file begins with a byte order mark", "save it as UTF-8 without BOM")
        )
    try:
        return data.decode(), faults
    except UnicodeDecodeError as error:
        at = len(data[: error.start].decode("utf-8", "replace"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        return data.decode("utf-8", "replace"), [
            *faults,
            JsonFault("TL104", at, at + 1, message, "save the file as UTF-8"),
        ]


class _Stop(Exception):  # noqa: N818 - control flow inside this reader, not an error
    pass


class JsoncReader:
    """A state machine that reads one text; `document` is its result."""

    def __init__(self, text: str, faults: list[JsonFault]) -> None:
        starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
        self.document = JsonDocument(text, None, faults, [], starts)
        self.text = text
        self.at = 0
        self.state = _State.VALUE
        self.open: list[JsonNode] = []
        self.key: JsonNode | None = None
        self.comma = -1
        self.counts: dict[str, int] = {}

    def run(self) -> None:
        """Read the whole text into `document`."""
        try:
            for char in self._read_tokens():
                self._take(char)
            self._report_early_end()
        except _Stop:
            pass
        for node in self.open:
            node.end = max(node.end, self.at)

    def _read_tokens(self) -> Iterator[str]:
        """Yield the first character of each token; the method that handles it moves `at` past the token."""
        while True:
            self._skip_space_and_comments()
            if self.at >= len(self.text):
                return
            yield self.text[self.at]

    def _skip_space_and_comments(self) -> None:
        while True:
            self.at = match_end(SPACE, self.text, self.at)
            if self.text.startswith("//", self.at):
                end = match_end(LINE, self.text, self.at)
            elif self.text.startswith("/*", self.at):
                close = self.text.find("*/", self.at + 2)
                if close < 0:
                    self._report("TL101", self.at, self.at + 2, "this comment never ends", "close it with `*/`")
                end = close + 2 if close >= 0 else len(self.text)
            else:
                return
            self.document.comments.append((self.at, end))
            self.at = end

    def _take(self, char: str) -> None:
        if char in CLOSERS:
            self._close(char)
        elif self.state is _State.DONE:
            self._report("TL101", self.at, self.at + 1, "there is text after the end of the JSON", "remove it")
            raise _Stop
        elif char in ",:":
            self._take_punctuation(char)
        elif self.state is _State.COMMA:
            end = self._find_last_end()
            self._report("TL101", end, end + 1, "a comma is missing here", "write `,` between two entries")
            self._expect_next(-1)
        elif self.state is _State.COLON:
            self._report("TL101", self.at, self.at + 1, "a `:` is missing between the key and its value")
            self.state = _State.VALUE
        elif self.state in {_State.KEY, _State.FIRST_KEY}:
            self._take_key(char)
        else:
            self._take_value(char)

    def _expect_next(self, at: int) -> None:
        """Expect what follows a comma at this offset; -1 for a missing comma, which cannot be a trailing one."""
        self.comma = at
        self.state = _State.KEY if self.open[-1].kind is JsonKind.OBJECT else _State.VALUE

    def _take_punctuation(self, char: str) -> None:
        expected = {",": _State.COMMA, ":": _State.COLON}[char]
        if self.state is not expected:
            message = f"`{char}` stands where {self.state.value} was expected"
            self._report("TL101", self.at, self.at + 1, message)
            if char == "," and self.open and self.state in {_State.VALUE, _State.COLON}:
                self.key = None  # the key has no value; the next one begins after this comma
                self._expect_next(-1)
        elif char == ":":
            self.state = _State.VALUE
        else:
            self._expect_next(self.at)
        self.at += 1

    def _close(self, char: str) -> None:
        if not self._closes_open(char):
            return
        node = self.open[-1]
        after_comma = self.state is _State.KEY or (self.state is _State.VALUE and node.kind is JsonKind.ARRAY)
        if after_comma and self.comma >= 0:
            self._report("TL102", self.comma, self.comma + 1, "this comma has nothing after it", "remove the comma")
        elif self.state in {_State.COLON, _State.VALUE} and not after_comma:
            self._report("TL101", self.at, self.at + 1, "the last key has no value")
        self.at += 1
        self._end_value()

    def _closes_open(self, char: str) -> bool:
        """Return whether this bracket closes the innermost open value.

        A bracket that does not is skipped, unless the text after it shows that a bracket is missing before it. So one
        bad entry does not hide the others.
        """
        if self.open and self.open[-1].kind is CLOSERS[char]:
            return True
        self._report("TL101", self.at, self.at + 1, f"`{char}` closes nothing that is open here")
        missing = len(self.open) > 1 and self.open[-2].kind is CLOSERS[char]
        if missing and AFTER_A_LIST.match(self.text, self.at + 1):
            self._end_value()
            return True
        self.at += 1
        return False

    def _end_value(self) -> None:
        self.open.pop().end = self.at
        self.key = None
        self.state = _State.COMMA if self.open else _State.DONE

    def _take_key(self, char: str) -> None:
        word = WORD.match(self.text, self.at)
        if char in "\"'":
            self.key = self._read_string(char)
            self.state = _State.COLON
        elif word is not None:
            self._report("TL101", self.at, word.end(), f"the key `{word[0]}` is not in double quotes", "quote it")
            self.key = JsonNode(JsonKind.STRING, self.at, word.end(), word[0])
            self.at = word.end()
            self.state = _State.COLON
        elif char == "{" and len(self.open) > 1 and self.open[-2].kind is JsonKind.ARRAY:
            message = "a new entry begins inside this one, which is not closed"
            self._report("TL101", self.at, self.at + 1, message, "close the entry before with `}`")
            self._end_value()
            self._expect_next(-1)
        else:
            self._report_unexpected()

    def _take_value(self, char: str) -> None:
        if char in "{[":
            self._open(char)
            return
        node = self._read_string(char) if char in "\"'" else self._read_scalar()
        if node is None:
            return
        self._add(node)
        self.state = _State.COMMA if self.open else _State.DONE

    def _open(self, char: str) -> None:
        if len(self.open) >= MAX_JSON_DEPTH:
            self._report("TL110", self.at, self.at + 1, f"nested deeper than {MAX_JSON_DEPTH} levels; no hooks file is")
            raise _Stop
        node = JsonNode(JsonKind.OBJECT if char == "{" else JsonKind.ARRAY, self.at, self.at + 1)
        self._add(node)
        self.open.append(node)
        self.at += 1
        self.state = _State.FIRST_KEY if char == "{" else _State.FIRST_VALUE

    def _add(self, node: JsonNode) -> None:
        if not self.open:
            self.document.root = node
            return
        parent = self.open[-1]
        if parent.kind is JsonKind.ARRAY:
            parent.items.append(node)
        elif self.key is not None:
            name = self.key.value
            if name in parent.members:
                line, _ = self.document.position(parent.members[name].key.start)
                message = f"the key `{name}` is already set on line {line}; this one replaces it"
                self._report("TL105", self.key.start, self.key.end, message, "keep one of the two")
            parent.members[name] = JsonMember(self.key, node)
            self.key = None

    def _read_string(self, quote: str) -> JsonNode:
        start = self.at
        if quote == "'":
            return self._read_single_quoted(start)
        try:
            value, self.at = SCAN_STRING(self.text, start + 1, True)
        except JSONDecodeError as error:
            return self._read_broken_string(start, error)
        node = JsonNode(JsonKind.STRING, start, self.at, value)
        slashes = self.text.find("//", start, self.at)
        if slashes >= 0:
            self._report_slashes(value, slashes)
        return node

    def _report_slashes(self, value: str, at: int) -> None:
        what = "an address" if "://" in value else "`//`"
        message = f"{what} inside a string: Cursor strips comments without looking for strings"
        hint = r"write the slashes as `\/\/`, or keep the address in a script or an environment variable"
        self._report("TL107", at, at + 2, message, hint)

    def _read_broken_string(self, start: int, error: JSONDecodeError) -> JsonNode:
        unterminated = error.msg.startswith("Unterminated") or self.text[error.pos : error.pos + 1] in {"\n", "\r", ""}
        if unterminated:
            self._report("TL101", start, start + 1, "this string does not end on its line", 'close it with `"`')
        else:
            hint = r"in JSON a backslash is written `\\`"
            message = "a control character may not stand in a string"
            if "escape" in error.msg:
                message = "a backslash here does not begin an escape that JSON knows"
            self._report("TL101", error.pos, error.pos + 1, message, hint)
        self.at = match_end(STRING_OR_LINE, self.text, start)
        return JsonNode(JsonKind.STRING, start, self.at, self.text[start + 1 : self.at].removesuffix('"'))

    def _read_single_quoted(self, start: int) -> JsonNode:
        self._report("TL101", start, start + 1, "strings stand in double quotes in JSON", "write `\"` instead of `'`")
        self.at = match_end(SINGLE_QUOTED, self.text, start)
        return JsonNode(JsonKind.STRING, start, self.at, self.text[start + 1 : self.at].removesuffix("'"))

    def _read_scalar(self) -> JsonNode | None:
        start = self.at
        word = WORD.match(self.text, start)
        if word is None:
            self._report_unexpected()
            return None
        self.at = word.end()
        if word[0] in CONSTANTS:
            value = CONSTANTS[word[0]]
            return JsonNode(JsonKind.NULL if value is None else JsonKind.BOOLEAN, start, self.at, value)
        if NUMBER.fullmatch(word[0]):
            return JsonNode(JsonKind.NUMBER, start, self.at, _parse_number(word[0]))
        self._report("TL101", start, self.at, f"`{word[0]}` is not a JSON value")
        return JsonNode(JsonKind.BROKEN, start, self.at)

    def _report_unexpected(self) -> None:
        """Report a character that has no meaning here, and skip it."""
        message = f"`{self.text[self.at]}` stands where {self.state.value} was expected"
        self._report("TL101", self.at, self.at + 1, message)
        self.at += 1

    def _report_early_end(self) -> None:
        if self.open:
            line, column = self.document.position(self.open[-1].start)
            closer = "}" if self.open[-1].kind is JsonKind.OBJECT else "]"
            message = f"the file ends inside {self.open[-1].kind.value} that opens at {line}:{column}"
            self._report("TL101", len(self.text), len(self.text), message, f"close it with `{closer}`")
        elif self.document.root is None:
            self._report("TL101", 0, 0, "the file is empty")

    def _find_last_end(self) -> int:
        parent = self.open[-1]
        if parent.items:
            return parent.items[-1].end
        return next((member.value.end for member in reversed(parent.members.values())), parent.start + 1)

    def _report(self, code: str, start: int, end: int, message: str, hint: str = "") -> None:
        self.counts[code] = self.counts.get(code, 0) + 1
        if self.counts[code] <= MAX_FAULTS:
            self.document.faults.append(JsonFault(code, start, end, message, hint))
        elif code == "TL101":
            raise _Stop


STRING_OR_LINE = re.compile(r'"(?:[^"\\\r\n]++|\\[^\r\n])*+"?')
SINGLE_QUOTED = re.compile(r"'(?:[^'\\\r\n]++|\\[^\r\n])*+'?")


def match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the end of a match at this offset, or the offset if there is none."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _parse_number(digits: str) -> int | float:
    """Parse a number as JavaScript does: 1.0 is 1. Very long numbers become floats, because Python refuses them."""
    if len(digits) < 300 and not re.search(r"[.eE]", digits):
        return int(digits)
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < MAX_EXACT_INTEGER else number
