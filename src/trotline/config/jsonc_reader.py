"""Reads JSON with comments. It never raises and never recurses, and its work is linear in the text.

After a mistake it goes on where it safely can, so that one bad entry does not hide the others; each mistake is a Fault
with the place where it begins.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from json import JSONDecodeError, JSONDecoder

from trotline.config.jsonc import Document, Fault, Kind, Member, Node

MOST_BYTES = 1_000_000
MOST_DEPTH = 200
MOST_FAULTS = 50
"""Of one kind; after so many mistakes of syntax there is no point in reading on."""


class _State(StrEnum):
    """What may come next."""

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
SCAN_STRING = vars(JSONDecoder())["parse_string"]  # in C, and unknown to typeshed
EXACT = 2.0**53
CONSTANTS = {"true": True, "false": False, "null": None}
CLOSERS = {"}": Kind.OBJECT, "]": Kind.ARRAY}


def read(data: bytes | str) -> Document:
    """The document in these bytes."""
    if len(data) > MOST_BYTES:
        size = f"{len(data):,} is more than {MOST_BYTES:,} bytes"
        return Document(
            "", faults=[Fault("TL108", 0, 0, f"the file is too large to be hooks: {size}")], line_starts=[0]
        )
    text, faults = _decoded(data) if isinstance(data, bytes) else (data, [])
    reader = Reader(text, faults)
    reader.run()
    return reader.document


def _decoded(data: bytes) -> tuple[str, list[Fault]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        fault = Fault("TL104", 0, 1, "the file is UTF-16, not UTF-8", "save it as UTF-8 without a byte order mark")
        return data.decode("utf-16", "replace"), [fault]
    faults = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        faults.append(Fault("TL103", 0, 1, "the file begins with a byte order mark", "save it as UTF-8 without BOM"))
    try:
        return data.decode(), faults
    except UnicodeDecodeError as error:
        at = len(data[: error.start].decode("utf-8", "replace"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        return data.decode("utf-8", "replace"), [*faults, Fault("TL104", at, at + 1, message, "save the file as UTF-8")]


class _Stop(Exception):  # noqa: N818 - ends this reader, nothing else
    pass


class Reader:
    def __init__(self, text: str, faults: list[Fault]) -> None:
        starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
        self.document = Document(text, None, faults, [], starts)
        self.text = text
        self.at = 0
        self.state = _State.VALUE
        self.open: list[Node] = []
        self.key: Node | None = None
        self.comma = -1
        self.counts: dict[str, int] = {}

    def run(self) -> None:
        try:
            for char in self._tokens():
                self._take(char)
            self._ended_early()
        except _Stop:
            pass
        for node in self.open:
            node.end = max(node.end, self.at)

    def _tokens(self) -> Iterator[str]:
        """The character that begins each token; whoever takes it moves `at` past the token."""
        while True:
            self._skip_space_and_comments()
            if self.at >= len(self.text):
                return
            yield self.text[self.at]

    def _skip_space_and_comments(self) -> None:
        while True:
            self.at = _end(SPACE, self.text, self.at)
            if self.text.startswith("//", self.at):
                end = _end(LINE, self.text, self.at)
            elif self.text.startswith("/*", self.at):
                close = self.text.find("*/", self.at + 2)
                if close < 0:
                    self._fault("TL101", self.at, self.at + 2, "this comment never ends", "close it with `*/`")
                end = close + 2 if close >= 0 else len(self.text)
            else:
                return
            self.document.comments.append((self.at, end))
            self.at = end

    def _take(self, char: str) -> None:
        if char in CLOSERS:
            self._close(char)
        elif self.state is _State.DONE:
            self._fault("TL101", self.at, self.at + 1, "there is text after the end of the JSON", "remove it")
            raise _Stop
        elif char in ",:":
            self._punctuation(char)
        elif self.state is _State.COMMA:
            end = self._last_end()
            self._fault("TL101", end, end + 1, "a comma is missing here", "write `,` between two entries")
            self._after_comma(-1)
        elif self.state is _State.COLON:
            self._fault("TL101", self.at, self.at + 1, "a `:` is missing between the key and its value")
            self.state = _State.VALUE
        elif self.state in {_State.KEY, _State.FIRST_KEY}:
            self._key(char)
        else:
            self._value(char)

    def _after_comma(self, at: int) -> None:
        """What follows a comma at this place; -1 for one that is not there, and cannot be a trailing one."""
        self.comma = at
        self.state = _State.KEY if self.open[-1].kind is Kind.OBJECT else _State.VALUE

    def _punctuation(self, char: str) -> None:
        expected = {",": _State.COMMA, ":": _State.COLON}[char]
        if self.state is not expected:
            message = f"`{char}` stands where {self.state.value} was expected"
            self._fault("TL101", self.at, self.at + 1, message)
            if char == "," and self.open and self.state in {_State.VALUE, _State.COLON}:
                self.key = None  # the key has no value; the next one begins after this comma
                self._after_comma(-1)
        elif char == ":":
            self.state = _State.VALUE
        else:
            self._after_comma(self.at)
        self.at += 1

    def _close(self, char: str) -> None:
        if not self._fits(char):
            return
        node = self.open[-1]
        after_comma = self.state is _State.KEY or (self.state is _State.VALUE and node.kind is Kind.ARRAY)
        if after_comma and self.comma >= 0:
            self._fault("TL102", self.comma, self.comma + 1, "this comma has nothing after it", "remove the comma")
        elif self.state in {_State.COLON, _State.VALUE} and not after_comma:
            self._fault("TL101", self.at, self.at + 1, "the last key has no value")
        self.at += 1
        self.open.pop().end = self.at
        self.key = None
        self.state = _State.COMMA if self.open else _State.DONE

    def _fits(self, char: str) -> bool:
        """Whether this bracket closes what is open. One that does not is left out, unless what follows shows that a
        bracket is missing before it; so one bad entry does not hide the others."""
        if self.open and self.open[-1].kind is CLOSERS[char]:
            return True
        self._fault("TL101", self.at, self.at + 1, f"`{char}` closes nothing that is open here")
        missing = len(self.open) > 1 and self.open[-2].kind is CLOSERS[char]
        if missing and AFTER_A_LIST.match(self.text, self.at + 1):
            self._close_unclosed()
            return True
        self.at += 1
        return False

    def _close_unclosed(self) -> None:
        self.open.pop().end = self.at
        self.key = None
        self.state = _State.COMMA

    def _key(self, char: str) -> None:
        word = WORD.match(self.text, self.at)
        if char in "\"'":
            self.key = self._string(char)
            self.state = _State.COLON
        elif word is not None:
            self._fault("TL101", self.at, word.end(), f"the key `{word[0]}` is not in double quotes", "quote it")
            self.key = Node(Kind.STRING, self.at, word.end(), word[0])
            self.at = word.end()
            self.state = _State.COLON
        elif char == "{" and len(self.open) > 1 and self.open[-2].kind is Kind.ARRAY:
            message = "a new entry begins inside this one, which is not closed"
            self._fault("TL101", self.at, self.at + 1, message, "close the entry before with `}`")
            self._close_unclosed()
            self._after_comma(-1)
        else:
            self._unexpected()

    def _value(self, char: str) -> None:
        if char in "{[":
            self._open(char)
            return
        node = self._string(char) if char in "\"'" else self._scalar()
        if node is None:
            return
        self._add(node)
        self.state = _State.COMMA if self.open else _State.DONE

    def _open(self, char: str) -> None:
        if len(self.open) >= MOST_DEPTH:
            self._fault("TL110", self.at, self.at + 1, f"nested deeper than {MOST_DEPTH} levels; no hooks file is")
            raise _Stop
        node = Node(Kind.OBJECT if char == "{" else Kind.ARRAY, self.at, self.at + 1)
        self._add(node)
        self.open.append(node)
        self.at += 1
        self.state = _State.FIRST_KEY if char == "{" else _State.FIRST_VALUE

    def _add(self, node: Node) -> None:
        if not self.open:
            self.document.root = node
            return
        parent = self.open[-1]
        if parent.kind is Kind.ARRAY:
            parent.items.append(node)
        elif self.key is not None:
            name = self.key.value
            if name in parent.members:
                line, _ = self.document.position(parent.members[name].key.start)
                message = f"the key `{name}` is already set on line {line}; this one replaces it"
                self._fault("TL105", self.key.start, self.key.end, message, "keep one of the two")
            parent.members[name] = Member(self.key, node)
            self.key = None

    def _string(self, quote: str) -> Node:
        start = self.at
        if quote == "'":
            return self._single_quoted(start)
        try:
            value, self.at = SCAN_STRING(self.text, start + 1, True)
        except JSONDecodeError as error:
            return self._broken_string(start, error)
        node = Node(Kind.STRING, start, self.at, value)
        slashes = self.text.find("//", start, self.at)
        if slashes >= 0:
            self._slashes(value, slashes)
        return node

    def _slashes(self, value: str, at: int) -> None:
        what = "an address" if "://" in value else "`//`"
        message = f"{what} inside a string: Cursor strips comments without looking for strings"
        hint = r"write the slashes as `\/\/`, or keep the address in a script or an environment variable"
        self._fault("TL107", at, at + 2, message, hint)

    def _broken_string(self, start: int, error: JSONDecodeError) -> Node:
        unterminated = error.msg.startswith("Unterminated") or self.text[error.pos : error.pos + 1] in {"\n", "\r", ""}
        if unterminated:
            self._fault("TL101", start, start + 1, "this string does not end on its line", 'close it with `"`')
        else:
            hint = r"in JSON a backslash is written `\\`"
            self._fault("TL101", error.pos, error.pos + 1, _string_fault(error.msg), hint)
        self.at = _end(STRING_OR_LINE, self.text, start)
        return Node(Kind.STRING, start, self.at, self.text[start + 1 : self.at].removesuffix('"'))

    def _single_quoted(self, start: int) -> Node:
        self._fault("TL101", start, start + 1, "strings stand in double quotes in JSON", "write `\"` instead of `'`")
        self.at = _end(SINGLE_QUOTED, self.text, start)
        return Node(Kind.STRING, start, self.at, self.text[start + 1 : self.at].removesuffix("'"))

    def _scalar(self) -> Node | None:
        start = self.at
        word = WORD.match(self.text, start)
        if word is None:
            self._unexpected()
            return None
        self.at = word.end()
        if word[0] in CONSTANTS:
            value = CONSTANTS[word[0]]
            return Node(Kind.NULL if value is None else Kind.TRUTH, start, self.at, value)
        if NUMBER.fullmatch(word[0]):
            return Node(Kind.NUMBER, start, self.at, _number(word[0]))
        self._fault("TL101", start, self.at, f"`{word[0]}` is not a JSON value")
        return Node(Kind.BROKEN, start, self.at)

    def _unexpected(self) -> None:
        """A character that means nothing here is reported and left out."""
        message = f"`{self.text[self.at]}` stands where {self.state.value} was expected"
        self._fault("TL101", self.at, self.at + 1, message)
        self.at += 1

    def _ended_early(self) -> None:
        if self.open:
            line, column = self.document.position(self.open[-1].start)
            closer = "}" if self.open[-1].kind is Kind.OBJECT else "]"
            message = f"the file ends inside {self.open[-1].kind.value} that opens at {line}:{column}"
            self._fault("TL101", len(self.text), len(self.text), message, f"close it with `{closer}`")
        elif self.document.root is None:
            self._fault("TL101", 0, 0, "the file is empty")

    def _last_end(self) -> int:
        parent = self.open[-1]
        if parent.items:
            return parent.items[-1].end
        return next((member.value.end for member in reversed(parent.members.values())), parent.start + 1)

    def _fault(self, code: str, start: int, end: int, message: str, hint: str = "") -> None:
        self.counts[code] = self.counts.get(code, 0) + 1
        if self.counts[code] <= MOST_FAULTS:
            self.document.faults.append(Fault(code, start, end, message, hint))
        elif code == "TL101":
            raise _Stop


STRING_OR_LINE = re.compile(r'"(?:[^"\\\r\n]++|\\[^\r\n])*+"?')
SINGLE_QUOTED = re.compile(r"'(?:[^'\\\r\n]++|\\[^\r\n])*+'?")


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _number(digits: str) -> int | float:
    """As JavaScript reads them: 1.0 is 1. Nobody needs absurdly long ones exactly, and Python refuses to read them."""
    if len(digits) < 300 and not re.search(r"[.eE]", digits):
        return int(digits)
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < EXACT else number


def _string_fault(message: str) -> str:
    if "escape" in message:
        return "a backslash here does not begin an escape that JSON knows"
    return "a control character may not stand in a string"
