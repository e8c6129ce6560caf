"""Parse PowerShell into statements, pipes and words; quotes, variables and blocks are resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from trotline.analysis.shell.shell_state import UNKNOWN_CHAR

MAX_STATEMENTS = 1000
_WORD_ENDS = frozenset(" \t\r\n;|&(){},")
_ASSIGNMENT = re.compile(r"\$([A-Za-z_][\w:]*)[ \t]*\+?=(?!=)")
_METHOD_CALL = re.compile(r"\.([A-Za-z_]\w*)\(")
_VARIABLE_NAME = re.compile(r"\{([^{}]*)\}|((?:env:|global:|script:|local:)?[A-Za-z_]\w*|[?^$_])", re.IGNORECASE)


class PowerShellToken(NamedTuple):
    """A word without its quotes, or the text of a block."""

    text: str
    kind: str = ""  # `{` or `(` for a block; `&` runs what follows
    is_quoted: bool = False
    calls: tuple[tuple[str, str], ...] = ()  # method calls: name and text of the arguments


class PowerShellPipe(NamedTuple):
    """The commands of a pipe, and the variable that its output is assigned to."""

    stages: tuple[tuple[PowerShellToken, ...], ...]
    variable: str = ""


class PowerShellParser:
    """Parses a script. The caller may add to `variables` between pipes."""

    def __init__(self, text: str, variables: dict[str, str]) -> None:
        self.text, self.at = text, 0
        self.variables = variables

    def parse(self) -> Iterator[PowerShellPipe]:
        """Yield the statements in order."""
        count = 0
        while self.at < len(self.text) and count < MAX_STATEMENTS:
            pipe = self._parse_pipe()
            if pipe.stages:
                count += 1
                yield pipe

    def _parse_pipe(self) -> PowerShellPipe:
        stages: list[tuple[PowerShellToken, ...]] = []
        words: list[PowerShellToken] = []
        name = ""
        while self.at < len(self.text):
            if self._skip_blank():
                continue
            assignment = _ASSIGNMENT.match(self.text, self.at) if not words and not stages and not name else None
            if assignment is not None:
                name, self.at = assignment[1].lower(), assignment.end()
                continue
            separator = self._read_separator()
            if not separator:
                self._add_token(words)
                continue
            if words:
                stages.append(tuple(words))
                words = []
            if separator != "|":
                break
        return PowerShellPipe((*stages, tuple(words)) if words else tuple(stages), name)

    def _add_token(self, words: list[PowerShellToken]) -> None:
        before = self.at
        token = self._parse_token(first=not words)
        if self.at == before:
            self.at += 1
        if token is not None:
            words.append(token)

    def _skip_blank(self) -> bool:
        text = self.text
        if text[self.at] in " \t\r,":
            self.at += 1
            return True
        if text.startswith("`\n", self.at):
            self.at += 2
            return True
        if text.startswith("<#", self.at):
            end = text.find("#>", self.at)
            self.at = len(text) if end < 0 else end + 2
            return True
        if text[self.at] == "#":
            end = text.find("\n", self.at)
            self.at = len(text) if end < 0 else end
            return True
        return False

    def _read_separator(self) -> str:
        for separator in ("&&", "||", ";", "\n", "|"):
            if self.text.startswith(separator, self.at):
                self.at += len(separator)
                return separator
        return ""

    def _parse_token(self, *, first: bool) -> PowerShellToken | None:
        char = self.text[self.at]
        if char == "&" or (char == "." and first and self.text[self.at + 1 : self.at + 2] in {" ", "\t"}):
            self.at += 1
            return PowerShellToken("", "&")
        if char in "{(":
            block = self._read_block(char)
            return PowerShellToken(block, char, calls=self._read_method_calls() if char == "(" else ())
        if char in "})":
            self.at += 1
            return None
        is_quoted = char in "'\""
        word = self._read_word()
        if "::" in word and self.text.startswith("(", self.at):
            return PowerShellToken(
                word, "", is_quoted, ((word.rpartition("::")[2], self._read_block("(")), *self._read_method_calls())
            )
        return PowerShellToken(word, "", is_quoted)

    def _read_method_calls(self) -> tuple[tuple[str, str], ...]:
        """Read `.Method(...)` after a value."""
        calls = []
        while match := _METHOD_CALL.match(self.text, self.at):
            self.at = match.end() - 1
            calls.append((match[1], self._read_block("(")))
        return tuple(calls)

    def _read_block(self, opener: str) -> str:
        """Read the text up to the closing bracket, skipping quotes."""
        closer, depth, start = {"{": "}", "(": ")"}[opener], 0, self.at + 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "'\"":
                end = self.text.find(char, self.at + 1)
                self.at = len(self.text) if end < 0 else end
            depth += {opener: 1, closer: -1}.get(char, 0)
            self.at += 1
            if char == closer and not depth:
                break
        return self.text[start : self.at - 1]

    def _read_word(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "'":
                parts.append(self._read_single_quoted())
            elif char == '"':
                parts.append(self._read_double_quoted())
            elif char == "`":
                parts.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "$":
                parts.append(self._read_variable())
            elif char in _WORD_ENDS:
                break
            else:
                parts.append(char)
                self.at += 1
        return "".join(parts)

    def _read_single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        value = self.text[self.at + 1 : end]
        self.at = end + 1
        return value

    def _read_double_quoted(self) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "`":
                parts.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "$":
                parts.append(self._read_variable())
            else:
                parts.append(char)
                self.at += 1
        self.at += 1
        return "".join(parts)

    def _read_variable(self) -> str:
        """Read `$name`, `${name}` or `$env:NAME` and return its value, or UNKNOWN_CHAR."""
        match = _VARIABLE_NAME.match(self.text, self.at + 1)
        if match is None and self.text.startswith("(", self.at + 1):
            self.at += 1
            self._read_block("(")
            return UNKNOWN_CHAR
        if match is None:
            self.at += 1
            return "$"
        self.at = match.end()
        name = (match[1] or match[2] or "").lower()
        return "$" + name if name in {"true", "false", "null"} else self.variables.get(name, UNKNOWN_CHAR)
