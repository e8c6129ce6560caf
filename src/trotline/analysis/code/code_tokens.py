"""Split code into strings, names, numbers and signs, for all languages without a parser."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from trotline.analysis.shell.shell_escapes import decode_escapes

MAX_TOKENS = 20_000
_SPACE = re.compile(r"[ \t\r\f\v]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOLLAR_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_NUMBER = re.compile(r"[0-9][0-9A-Za-z_.]*")
_SIGN = re.compile(r"=>|->|::|\?\.|&\.|\+=|\.=|==+|!=+|<=>?|>=|&&|\|\||\*\*|\.\.+|//|.", re.DOTALL)
_INTERPOLATION = re.compile(
    r"\$[A-Za-z_]\w*(?:->)?(?:\{[^{}]{0,64}\}|\[[^\[\]]{0,64}\])?|\$\{[^{}]{0,64}\}|\{\$[^{}]{0,64}\}"
)
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_DECIMAL = re.compile(r"\\([0-9]{1,3})")
_NUL = re.compile(r"\\0(?![0-7])")
_GLOB = re.compile(r"<[\w*?./~{},-]+>")


class StringPart(NamedTuple):
    """A part of a string: literal text, or code that is interpolated."""

    text: str
    is_code: bool = False


class CodeToken(NamedTuple):
    """A token of code."""

    kind: str  # text, command, glob, words, name, number, sign, line
    text: str
    parts: tuple[StringPart, ...] = ()

    def is_sign(self, *signs: str) -> bool:
        """Return whether the token is one of these signs."""
        return self.kind == "sign" and self.text in signs


class LanguageSyntax(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The comment and string syntax of a language."""

    comments: tuple[tuple[str, str], ...] = (("#", "\n"),)
    raw: str = "'"  # quotes without escapes, except of the quote and the backslash
    escaped: str = ""  # quotes with escapes, without interpolation
    interpolated: str = ""  # quotes with escapes and interpolation
    command_quotes: str = ""  # quotes of a shell command, with interpolation
    interpolation: str = ""  # `#{` and `${` end at a brace; `$` starts a variable
    sigils: str = ""
    dollar_names: bool = False  # a dollar sign counts as a letter, as in JavaScript
    quote_words: str = ""  # quote operators with any delimiter: `q`, `qx`, `%w`
    has_regex_literals: bool = False  # `/.../` may be a regular expression
    decimal_escapes: bool = False  # `\\046` is decimal
    newline_ends_statement: bool = True  # a newline may end a statement


def tokenize(text: str, syntax: LanguageSyntax) -> list[CodeToken]:
    """Split code into tokens."""
    return _Tokenizer(text, syntax).tokenize()


class _Tokenizer:
    def __init__(self, text: str, syntax: LanguageSyntax) -> None:
        self.text, self.syntax, self.i = text, syntax, 0
        self.tokens: list[CodeToken] = []

    def tokenize(self) -> list[CodeToken]:
        while self.i < len(self.text) and len(self.tokens) < MAX_TOKENS:
            if not self._skip_comment():
                self._read_token()
        return self.tokens

    def _skip_comment(self) -> bool:
        for opener, closer in self.syntax.comments:
            if not self.text.startswith(opener, self.i):
                continue
            if opener.startswith("=") and self.i and self.text[self.i - 1] != "\n":
                continue
            end = self.text.find(closer, self.i + len(opener))
            self.i = len(self.text) if end < 0 else end if closer == "\n" else end + len(closer)
            return True
        return False

    def _read_token(self) -> None:
        text, char = self.text, self.text[self.i]
        syntax = self.syntax
        match = _SPACE.match(text, self.i)
        if match is not None:
            self.i = match.end()
        elif char == "\n":
            self._add("line", char, 1)
        elif char in syntax.raw + syntax.escaped + syntax.interpolated + syntax.command_quotes:
            self._read_quote(char)
        elif syntax.quote_words and self._read_quote_word():
            pass
        elif char in syntax.sigils and (match := _NAME.match(text, self.i + 1)):
            self._add("name", char + match.group(), 1 + len(match.group()))
        elif match := (_DOLLAR_NAME if syntax.dollar_names else _NAME).match(text, self.i):
            self._add("name", match.group(), len(match.group()))
        elif match := _NUMBER.match(text, self.i):
            self._add("number", match.group(), len(match.group()))
        else:
            self._read_sign(char)

    def _read_sign(self, char: str) -> None:
        if char == "/" and self.syntax.has_regex_literals and not self._follows_value():
            end = self._find_end("/", self.i + 1)
            line = self.text.find("\n", self.i)
            if end < len(self.text) and (line < 0 or end < line):
                self._add("number", "/", end + 1 - self.i)
                return
        if char == "<" and self.syntax.sigils and not self._follows_value():
            match = _GLOB.match(self.text, self.i)
            if match is not None:
                self._add("glob", match.group()[1:-1], len(match.group()))
                return
        match = _SIGN.match(self.text, self.i)
        sign = match.group() if match else char
        self._add("sign", sign, len(sign))

    def _follows_value(self) -> bool:
        last = self.tokens[-1] if self.tokens else None
        return last is not None and (last.kind in {"text", "name", "number"} or last.text in {")", "]"})

    def _add(self, kind: str, text: str, width: int) -> None:
        self.tokens.append(CodeToken(kind, text))
        self.i += width

    def _find_end(self, closer: str, i: int, opener: str = "", hole: str = "") -> int:
        """Return the end of the text that begins at i, or the end of the source."""
        depth, text, size = 0, self.text, len(self.text)
        while i < size:
            char = text[i]
            if char == "\\":
                i += 1
            elif hole and text.startswith(hole, i):
                i = self._find_end("}", i + len(hole), "{")
            elif char == closer and not depth:
                return i
            elif opener and char == opener:
                depth += 1
            elif opener and char == closer:
                depth -= 1
            i += 1
        return size

    def _read_quote(self, char: str) -> None:
        width = 3 if self.text.startswith(char * 3, self.i) and char != "`" else 1
        begin = self.i + width
        if width == 3:
            end = self.text.find(char * 3, begin)
            end = len(self.text) if end < 0 else end
        syntax = self.syntax
        kind = "command" if char in syntax.command_quotes else "text"
        how = "raw" if char in syntax.raw else "escaped" if char in syntax.escaped else "filled"
        if width == 1:
            end = self._find_end(
                char,
                begin,
                hole=syntax.interpolation if how == "filled" and syntax.interpolation.endswith("{") else "",
            )
        self.tokens.append(self._build_token(kind, self.text[begin:end], how))
        self.i = end + width

    def _build_token(self, kind: str, body: str, how: str) -> CodeToken:
        if how == "raw":
            return CodeToken(kind, body, (StringPart(body.replace("\\\\", "\\").replace("\\'", "'")),))
        if how == "escaped" or not self.syntax.interpolation:
            plain = _DECIMAL.sub(_decode_decimal, body) if self.syntax.decimal_escapes else _unescape(body)
            return CodeToken(kind, body, (StringPart(decode_escapes(plain)),))
        return CodeToken(kind, body, tuple(self._split_interpolated(body)))

    def _split_interpolated(self, body: str) -> list[StringPart]:
        hole = self.syntax.interpolation
        return _split_variables(body) if hole == "$" else _split_braces(body, hole)

    def _read_quote_word(self) -> bool:
        """Read `qx{...}`, `%w[...]` or `s/a/b/`."""
        for word in self.syntax.quote_words.split():
            if not self.text.startswith(word, self.i):
                continue
            at = self.i + len(word)
            opener = self.text[at : at + 1]
            if (
                not opener
                or opener.isalnum()
                or opener in "_,;)= \t\n"
                or (self.tokens and _precedes_key(self.tokens[-1]))
            ):
                continue
            closer = _PAIRS.get(opener, opener)
            end = self._find_end(closer, at + 1, opener if closer != opener else "")
            self._add_quoted_word(word, self.text[at + 1 : end])
            self.i = end + 1
            if word in {"s", "tr", "y"} and closer == opener:
                self.i = self._find_end(closer, self.i) + 1
            return True
        return False

    def _add_quoted_word(self, word: str, body: str) -> None:
        kind = {"qx": "command", "%x": "command", "qw": "words", "%w": "words", "%i": "words"}.get(word, "text")
        if word in {"m", "s", "tr", "y", "qr", "%r"}:
            self.tokens.append(CodeToken("number", "/"))
            return
        self.tokens.append(self._build_token(kind, body, "raw" if word in {"q", "%q", "qw", "%w"} else "filled"))


def _precedes_key(token: CodeToken) -> bool:
    return token.text in {"->", "$", "@", "%", "sub", "."} or token.kind == "number"


def _decode_decimal(match: re.Match[str]) -> str:
    return chr(min(int(match[1]), 255)) if int(match[1]) else ""


def _unescape(body: str) -> str:
    """Decode escapes that the shell does not have, and drop NUL, which would end the text."""
    return _NUL.sub("", body).replace("\\/", "/").replace("\\$", "$").replace("\\`", "`") if "\\" in body else body


def _split_variables(body: str) -> list[StringPart]:
    parts: list[StringPart] = []
    end = 0
    for match in _INTERPOLATION.finditer(body):
        if body[match.start() - 1 : match.start()] == "\\":
            continue
        parts.append(StringPart(decode_escapes(_unescape(body[end : match.start()]))))
        code = match.group()
        code = "$" + code[2:-1] if code.startswith("${") else code.strip("{}") if code.startswith("{") else code
        parts.append(StringPart(code, is_code=True))
        end = match.end()
    return [*parts, StringPart(decode_escapes(_unescape(body[end:])))]


def _find_brace(body: str, i: int) -> int:
    depth = 0
    while i < len(body):
        if body[i] == "}" and not depth:
            return i
        depth += {"{": 1, "}": -1}.get(body[i], 0)
        i += 1
    return -1


def _split_braces(body: str, hole: str) -> list[StringPart]:
    parts: list[StringPart] = []
    end = 0
    while (begin := body.find(hole, end)) >= 0:
        close = _find_brace(body, begin + len(hole))
        if close < 0:
            break
        parts += [
            StringPart(decode_escapes(_unescape(body[end:begin]))),
            StringPart(body[begin + len(hole) : close], is_code=True),
        ]
        end = close + 1
    return [*parts, StringPart(decode_escapes(_unescape(body[end:])))]
