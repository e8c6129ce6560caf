"""PowerShell, read as far as its words go: statements, pipes, quotes, variables, blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from trotline.analysis.scene import UNKNOWN

MOST_STATEMENTS = 1000
_ENDS = frozenset(" \t\r\n;|&(){},")
_ASSIGNED = re.compile(r"\$([A-Za-z_][\w:]*)[ \t]*\+?=(?!=)")
_METHOD = re.compile(r"\.([A-Za-z_]\w*)\(")
_NAME = re.compile(r"\{([^{}]*)\}|((?:env:|global:|script:|local:)?[A-Za-z_]\w*|[?^$_])", re.IGNORECASE)


class Token(NamedTuple):
    """A word as it is after its quotes are gone, or the text of a block."""

    text: str
    sign: str = ""  # `{` or `(` if it is a block; `&` calls what follows
    quoted: bool = False
    calls: tuple[tuple[str, str], ...] = ()  # methods that are called on it, each with the text of its arguments


class Pipe(NamedTuple):
    """The commands of a pipe, and the variable that gets its output."""

    stages: tuple[tuple[Token, ...], ...]
    variable: str = ""


class PowerShell:
    """One script. What is in `variables` is known; who reads the pipes may add to them on the way."""

    def __init__(self, text: str, variables: dict[str, str]) -> None:
        self.text, self.i = text, 0
        self.variables = variables

    def pipes(self) -> Iterator[Pipe]:
        """One statement after the other."""
        count = 0
        while self.i < len(self.text) and count < MOST_STATEMENTS:
            pipe = self._pipe()
            if pipe.stages:
                count += 1
                yield pipe

    def _pipe(self) -> Pipe:
        stages: list[tuple[Token, ...]] = []
        words: list[Token] = []
        name = ""
        while self.i < len(self.text):
            if self._blank():
                continue
            assigned = _ASSIGNED.match(self.text, self.i) if not words and not stages and not name else None
            if assigned is not None:
                name, self.i = assigned[1].lower(), assigned.end()
                continue
            sign = self._sign()
            if not sign:
                self._next(words)
                continue
            if words:
                stages.append(tuple(words))
                words = []
            if sign != "|":
                break
        return Pipe((*stages, tuple(words)) if words else tuple(stages), name)

    def _next(self, words: list[Token]) -> None:
        before = self.i
        token = self._token(first=not words)
        if self.i == before:
            self.i += 1
        if token is not None:
            words.append(token)

    def _blank(self) -> bool:
        text = self.text
        if text[self.i] in " \t\r," or text.startswith("`\n", self.i):
            self.i += 1
            return True
        if text.startswith("<#", self.i):
            end = text.find("#>", self.i)
            self.i = len(text) if end < 0 else end + 2
            return True
        if text[self.i] == "#":
            end = text.find("\n", self.i)
            self.i = len(text) if end < 0 else end
            return True
        return False

    def _sign(self) -> str:
        for sign in ("&&", "||", ";", "\n", "|"):
            if self.text.startswith(sign, self.i):
                self.i += len(sign)
                return sign
        return ""

    def _token(self, *, first: bool) -> Token | None:
        char = self.text[self.i]
        if char == "&" or (char == "." and first and self.text[self.i + 1 : self.i + 2] in {" ", "\t"}):
            self.i += 1
            return Token("", "&")
        if char in "{(":
            block = self._block(char)
            return Token(block, char, calls=self._calls() if char == "(" else ())
        if char in "})":
            self.i += 1
            return None
        quoted = char in "'\""
        word = self._word()
        if "::" in word and self.text.startswith("(", self.i):
            return Token(word, "", quoted, ((word.rpartition("::")[2], self._block("(")), *self._calls()))
        return Token(word, "", quoted)

    def _calls(self) -> tuple[tuple[str, str], ...]:
        """`.Method(...)` right after a value."""
        found = []
        while match := _METHOD.match(self.text, self.i):
            self.i = match.end() - 1
            found.append((match[1], self._block("(")))
        return tuple(found)

    def _block(self, opener: str) -> str:
        """The text up to its closing sign; quotes in it are stepped over."""
        closer, depth, begin = {"{": "}", "(": ")"}[opener], 0, self.i + 1
        while self.i < len(self.text):
            char = self.text[self.i]
            if char in "'\"":
                end = self.text.find(char, self.i + 1)
                self.i = len(self.text) if end < 0 else end
            depth += {opener: 1, closer: -1}.get(char, 0)
            self.i += 1
            if char == closer and not depth:
                break
        return self.text[begin : self.i - 1]

    def _word(self) -> str:
        parts: list[str] = []
        while self.i < len(self.text):
            char = self.text[self.i]
            if char == "'":
                parts.append(self._raw())
            elif char == '"':
                parts.append(self._filled())
            elif char == "`":
                parts.append(self.text[self.i + 1 : self.i + 2])
                self.i += 2
            elif char == "$":
                parts.append(self._variable())
            elif char in _ENDS:
                break
            else:
                parts.append(char)
                self.i += 1
        return "".join(parts)

    def _raw(self) -> str:
        end = self.text.find("'", self.i + 1)
        end = len(self.text) if end < 0 else end
        value = self.text[self.i + 1 : end]
        self.i = end + 1
        return value

    def _filled(self) -> str:
        parts: list[str] = []
        self.i += 1
        while self.i < len(self.text) and self.text[self.i] != '"':
            char = self.text[self.i]
            if char == "`":
                parts.append(self.text[self.i + 1 : self.i + 2])
                self.i += 2
            elif char == "$":
                parts.append(self._variable())
            else:
                parts.append(char)
                self.i += 1
        self.i += 1
        return "".join(parts)

    def _variable(self) -> str:
        """`$name`, `${name}`, `$env:NAME`: its value, a gap if that is not known."""
        match = _NAME.match(self.text, self.i + 1)
        if match is None and self.text.startswith("(", self.i + 1):
            self.i += 1
            self._block("(")
            return UNKNOWN
        if match is None:
            self.i += 1
            return "$"
        self.i = match.end()
        name = (match[1] or match[2] or "").lower()
        return "$" + name if name in {"true", "false", "null"} else self.variables.get(name, UNKNOWN)
