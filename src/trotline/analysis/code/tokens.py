"""Code into tokens: texts, names, numbers, signs. One pass for all languages that are not read with a parser."""

from __future__ import annotations

import re
from typing import NamedTuple

from trotline.analysis.shell.ansi import decoded

MOST_TOKENS = 20_000
_SPACE = re.compile(r"[ \t\r\f\v]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DOLLAR_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
"""In JavaScript a dollar is a letter."""
_NUMBER = re.compile(r"[0-9][0-9A-Za-z_.]*")
_SIGN = re.compile(r"=>|->|::|\?\.|&\.|\+=|\.=|==+|!=+|<=>?|>=|&&|\|\||\*\*|\.\.+|//|.", re.DOTALL)
_HOLE = re.compile(r"\$[A-Za-z_]\w*(?:->)?(?:\{[^{}]{0,64}\}|\[[^\[\]]{0,64}\])?|\$\{[^{}]{0,64}\}|\{\$[^{}]{0,64}\}")
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_DECIMAL = re.compile(r"\\([0-9]{1,3})")
_NUL = re.compile(r"\\0(?![0-7])")
_GLOB = re.compile(r"<[\w*?./~{},-]+>")


class Part(NamedTuple):
    """A part of a text: as it is, or code whose value is put there."""

    text: str
    code: bool = False


class Token(NamedTuple):
    kind: str  # text, command, glob, words, name, number, sign, line
    text: str
    parts: tuple[Part, ...] = ()


class Spelling(NamedTuple):
    """How a language writes comments and texts."""

    comments: tuple[tuple[str, str], ...] = (("#", "\n"),)
    raw: str = "'"  # only the quote itself and the backslash can be escaped
    escaped: str = ""  # with escapes, without holes
    filled: str = ""  # with escapes and holes
    commands: str = ""  # a command of the shell, with holes
    hole: str = ""  # `#{`, `${`: closed by a brace; `$`: a variable
    sigils: str = ""
    name: re.Pattern[str] = _NAME
    quote_words: str = ""  # `q`, `qx`, `%w`: a quote with a sign of its own
    slashes: bool = False  # `/.../` where a value is expected is a pattern
    decimal: bool = False  # `\046` counts by ten
    lines: bool = True  # the end of a line may end a statement


def tokens(text: str, spelling: Spelling) -> list[Token]:
    return _Tokens(text, spelling).all()


class _Tokens:
    def __init__(self, text: str, spelling: Spelling) -> None:
        self.text, self.spelling, self.i = text, spelling, 0
        self.found: list[Token] = []

    def all(self) -> list[Token]:
        while self.i < len(self.text) and len(self.found) < MOST_TOKENS:
            if not self._comment():
                self._next()
        return self.found

    def _comment(self) -> bool:
        for opener, closer in self.spelling.comments:
            if not self.text.startswith(opener, self.i):
                continue
            if opener.startswith("=") and self.i and self.text[self.i - 1] != "\n":
                continue
            end = self.text.find(closer, self.i + len(opener))
            self.i = len(self.text) if end < 0 else end if closer == "\n" else end + len(closer)
            return True
        return False

    def _next(self) -> None:
        text, char = self.text, self.text[self.i]
        spelling = self.spelling
        match = _SPACE.match(text, self.i)
        if match is not None:
            self.i = match.end()
        elif char == "\n":
            self._add("line", char, 1)
        elif char in spelling.raw + spelling.escaped + spelling.filled + spelling.commands:
            self._quote(char)
        elif spelling.quote_words and self._quote_word():
            pass
        elif char in spelling.sigils and (match := _NAME.match(text, self.i + 1)):
            self._add("name", char + match.group(), 1 + len(match.group()))
        elif match := spelling.name.match(text, self.i):
            self._add("name", match.group(), len(match.group()))
        elif match := _NUMBER.match(text, self.i):
            self._add("number", match.group(), len(match.group()))
        else:
            self._sign(char)

    def _sign(self, char: str) -> None:
        if char == "/" and self.spelling.slashes and not self._after_value():
            end = self._end("/", self.i + 1)
            line = self.text.find("\n", self.i)
            if end < len(self.text) and (line < 0 or end < line):
                self._add("number", "/", end + 1 - self.i)
                return
        if char == "<" and self.spelling.sigils and not self._after_value():
            match = _GLOB.match(self.text, self.i)
            if match is not None:
                self._add("glob", match.group()[1:-1], len(match.group()))
                return
        match = _SIGN.match(self.text, self.i)
        sign = match.group() if match else char
        self._add("sign", sign, len(sign))

    def _after_value(self) -> bool:
        last = self.found[-1] if self.found else None
        return last is not None and (last.kind in {"text", "name", "number"} or last.text in {")", "]"})

    def _add(self, kind: str, text: str, width: int) -> None:
        self.found.append(Token(kind, text))
        self.i += width

    def _end(self, closer: str, i: int, opener: str = "", hole: str = "") -> int:
        """Where the text that begins at i is closed; the end of all if it is not."""
        depth, text, size = 0, self.text, len(self.text)
        while i < size:
            char = text[i]
            if char == "\\":
                i += 1
            elif hole and text.startswith(hole, i):
                i = self._end("}", i + len(hole), "{")
            elif char == closer and not depth:
                return i
            elif opener and char == opener:
                depth += 1
            elif opener and char == closer:
                depth -= 1
            i += 1
        return size

    def _quote(self, char: str) -> None:
        width = 3 if self.text.startswith(char * 3, self.i) and char != "`" else 1
        begin = self.i + width
        if width == 3:
            end = self.text.find(char * 3, begin)
            end = len(self.text) if end < 0 else end
        spelling = self.spelling
        kind = "command" if char in spelling.commands else "text"
        how = "raw" if char in spelling.raw else "escaped" if char in spelling.escaped else "filled"
        if width == 1:
            end = self._end(char, begin, hole=spelling.hole if how == "filled" and spelling.hole.endswith("{") else "")
        self.found.append(self._token(kind, self.text[begin:end], how))
        self.i = end + width

    def _token(self, kind: str, body: str, how: str) -> Token:
        if how == "raw":
            return Token(kind, body, (Part(body.replace("\\\\", "\\").replace("\\'", "'")),))
        if how == "escaped" or not self.spelling.hole:
            plain = _DECIMAL.sub(_character, body) if self.spelling.decimal else _plain(body)
            return Token(kind, body, (Part(decoded(plain)),))
        return Token(kind, body, tuple(self._filled(body)))

    def _filled(self, body: str) -> list[Part]:
        hole = self.spelling.hole
        return _variables(body) if hole == "$" else _braced(body, hole)

    def _quote_word(self) -> bool:
        """`qx{...}`, `%w[...]`, `s/a/b/`."""
        for word in self.spelling.quote_words.split():
            if not self.text.startswith(word, self.i):
                continue
            at = self.i + len(word)
            opener = self.text[at : at + 1]
            if not opener or opener.isalnum() or opener in "_,;)= \t\n" or (self.found and _names_key(self.found[-1])):
                continue
            closer = _PAIRS.get(opener, opener)
            end = self._end(closer, at + 1, opener if closer != opener else "")
            self._quoted_word(word, self.text[at + 1 : end])
            self.i = end + 1
            if word in {"s", "tr", "y"} and closer == opener:
                self.i = self._end(closer, self.i) + 1
            return True
        return False

    def _quoted_word(self, word: str, body: str) -> None:
        kind = {"qx": "command", "%x": "command", "qw": "words", "%w": "words", "%i": "words"}.get(word, "text")
        if word in {"m", "s", "tr", "y", "qr", "%r"}:
            self.found.append(Token("number", "/"))
            return
        self.found.append(self._token(kind, body, "raw" if word in {"q", "%q", "qw", "%w"} else "filled"))


def _names_key(token: Token) -> bool:
    return token.text in {"->", "$", "@", "%", "sub", "."} or token.kind == "number"


def _character(match: re.Match[str]) -> str:
    return chr(min(int(match[1]), 255)) if int(match[1]) else ""


def _plain(body: str) -> str:
    """Escapes of a quote in its own text, which those of the shell do not have; NUL would end the text there."""
    return _NUL.sub("", body).replace("\\/", "/").replace("\\$", "$").replace("\\`", "`") if "\\" in body else body


def _variables(body: str) -> list[Part]:
    parts: list[Part] = []
    end = 0
    for match in _HOLE.finditer(body):
        if body[match.start() - 1 : match.start()] == "\\":
            continue
        parts.append(Part(decoded(_plain(body[end : match.start()]))))
        code = match.group()
        code = "$" + code[2:-1] if code.startswith("${") else code.strip("{}") if code.startswith("{") else code
        parts.append(Part(code, code=True))
        end = match.end()
    return [*parts, Part(decoded(_plain(body[end:])))]


def _closing(body: str, i: int) -> int:
    depth = 0
    while i < len(body):
        if body[i] == "}" and not depth:
            return i
        depth += {"{": 1, "}": -1}.get(body[i], 0)
        i += 1
    return -1


def _braced(body: str, hole: str) -> list[Part]:
    parts: list[Part] = []
    end = 0
    while (begin := body.find(hole, end)) >= 0:
        close = _closing(body, begin + len(hole))
        if close < 0:
            break
        parts += [Part(decoded(_plain(body[end:begin]))), Part(body[begin + len(hole) : close], code=True)]
        end = close + 1
    return [*parts, Part(decoded(_plain(body[end:])))]
