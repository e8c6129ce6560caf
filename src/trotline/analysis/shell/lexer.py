"""Read words with quotes, escapes and expansions in one pass.

A word may contain a script, which the parser reads; therefore the parser is a subclass of the lexer.
"""

import re

from trotline.analysis.shell.shell_escapes import decode_escapes
from trotline.analysis.shell.syntax import (
    ComputedPiece,
    LiteralPiece,
    ShellScript,
    ShellWord,
    SubstitutionPiece,
    VariablePiece,
    WordPiece,
)
from trotline.formats.lazy_regex import lazy_regex

PLAIN_WORD = lazy_regex(r"[A-Za-z0-9_./:=,@%+-]+")
_UNQUOTED = lazy_regex(r"(?:[^\s|&;()<>'\"\\$`?*+@!]|[?*+@!](?!\())+")
_IN_QUOTES = lazy_regex(r"[^\"\\$`]+")
_IN_DOCUMENT = lazy_regex(r"[^\\$`]+")
_IN_BRACES = lazy_regex(r"[^}'\"\\$`]+")
_IN_SUBSCRIPT = lazy_regex(r"[^\]\\$`]+")
_NAME = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_BLANKS = lazy_regex(r"(?:[ \t\r]|\\\r?\n)*(?:#[^\n]*)?")
_INNER_BLANKS = lazy_regex(r"(?:[ \t\r]|\\\r?\n)*")
_OPERATOR = lazy_regex(r":[-=?+]|##?|%%?|//?[#%]?|\^\^?|,,?|@|:|[-=?+]")
ENDS_WORD = frozenset(" \t\r\n|&;()<>")
MAX_NESTING = 40


class ShellSyntaxError(Exception):
    """The text is not a valid shell script, or it is nested too deeply."""

    def __init__(self, why: str, at: int, closer: str = "") -> None:
        super().__init__(why)
        self.why, self.at, self.closer = why, at, closer


class ShellLexer:
    """A position in a text. `base` is the column of its first character; unescaped text has one column."""

    def __init__(self, text: str, base: int = 0, depth: int = 0, width: int = -1) -> None:
        if depth > MAX_NESTING:
            raise ShellSyntaxError("nested deeper than Trotline follows", base)
        self.text = text
        self.i = 0
        self.base = base
        self.depth = depth
        self.width = width  # width of the unescaped text, or -1

    def get_column(self, i: int) -> int:
        """Return the column of a position in the line."""
        return self.base + i if self.width < 0 else self.base + (self.width if i else 0)

    def build_error(self, why: str, closer: str = "") -> ShellSyntaxError:
        """Return an error at the current position. `closer` would close the text."""
        return ShellSyntaxError(why, self.get_column(self.i), closer)

    def parse_script(self, closer: str) -> ShellScript:
        """Parse a script up to its closing character; implemented by the parser."""
        raise NotImplementedError

    def parse_inner(self, text: str, base: int, width: int = -1) -> ShellScript:
        """Parse a separate text as a script; implemented by the parser."""
        raise NotImplementedError

    def skip_blanks(self) -> None:
        """Skip blanks, line continuations and a comment."""
        match = _BLANKS.match(self.text, self.i)
        self.i = match.end() if match else self.i

    def skip_inner_blanks(self) -> None:
        """Skip blanks and line continuations, but not comments."""
        match = _INNER_BLANKS.match(self.text, self.i)
        self.i = match.end() if match else self.i

    def enter(self) -> None:
        """Go one level deeper."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.build_error("nested deeper than Trotline follows")

    def read_word(self) -> ShellWord | None:
        """Return the next word, or None if there is none here."""
        text, begin = self.text, self.i
        match = PLAIN_WORD.match(text, begin)
        if match is not None:
            end = match.end()
            is_pattern = text.startswith("(", end) and text[end - 1] in "@+"
            if end == len(text) or (text[end] in ENDS_WORD and not is_pattern):
                self.i = end
                value = match.group()
                return ShellWord(
                    (LiteralPiece(value, is_quoted=False),), self.get_column(begin), self.get_column(end), value
                )
        pieces = self._read_pieces()
        if self.i == begin:
            return None
        return ShellWord(tuple(pieces), self.get_column(begin), self.get_column(self.i))

    def _read_pieces(self) -> list[WordPiece]:
        pieces: list[WordPiece] = []
        text, size = self.text, len(self.text)
        while self.i < size:
            char = text[self.i]
            if char in "<>" and text.startswith("(", self.i + 1):
                pieces.append(self._read_substitution(char + "(", quoted=False))
                continue
            if char in ENDS_WORD:
                break
            self._read_piece(char, pieces)
        return pieces

    def _read_piece(self, char: str, pieces: list[WordPiece]) -> None:
        if char == "'":
            pieces.append(self._read_raw())
        elif char == '"':
            pieces += self._read_quoted()
        elif char == "\\":
            self._read_escape(pieces)
        elif char in "$`":
            pieces.append(self._read_expansion(quoted=False))
        elif char in "?*+@!" and self.text.startswith("(", self.i + 1):
            pieces.append(self._read_pattern_list())
        else:
            match = _UNQUOTED.match(self.text, self.i)
            end = match.end() if match else self.i + 1
            pieces.append(LiteralPiece(self.text[self.i : end], is_quoted=False))
            self.i = end

    def _read_raw(self) -> LiteralPiece:
        end = self.text.find("'", self.i + 1)
        if end < 0:
            raise self.build_error("a quote is not closed", "'")
        value = self.text[self.i + 1 : end]
        self.i = end + 1
        return LiteralPiece(value, is_quoted=True)

    def _read_escape(self, pieces: list[WordPiece]) -> None:
        following = self.text[self.i + 1 : self.i + 2]
        self.i += 1 + len(following)
        if following and following != "\n":
            pieces.append(LiteralPiece(following, is_quoted=True))
        elif not following:
            pieces.append(LiteralPiece("\\", is_quoted=True))

    def _read_quoted(self) -> list[WordPiece]:
        self.i += 1
        pieces: list[WordPiece] = [LiteralPiece("", is_quoted=True)]  # `""` is a word
        pieces += self.read_run(_IN_QUOTES, '"', '$`"\\\n')
        if self.i >= len(self.text):
            raise self.build_error("a double quote is not closed", '"')
        self.i += 1
        return pieces

    def read_document(self) -> tuple[WordPiece, ...]:
        """Read the whole text as a here-document."""
        return tuple(self.read_run(_IN_DOCUMENT, "", "$`\\\n"))

    def read_run(self, plain: re.Pattern[str], closer: str, escapable: str) -> list[WordPiece]:
        """Read text in which only `$`, backtick and backslash are special, up to the closing character."""
        pieces: list[WordPiece] = []
        text, size = self.text, len(self.text)
        while self.i < size and text[self.i] != closer:
            char = text[self.i]
            if char in "$`":
                pieces.append(self._read_expansion(quoted=True))
            elif char == "\\":
                following = text[self.i + 1 : self.i + 2]
                escaped = "" if following == "\n" else following if following in escapable else "\\" + following
                pieces.append(LiteralPiece(escaped or ("" if following else "\\"), is_quoted=True))
                self.i += 1 + len(following)
            else:
                match = plain.match(text, self.i)
                end = match.end() if match else self.i + 1
                pieces.append(LiteralPiece(text[self.i : end], is_quoted=True))
                self.i = end
        return pieces

    def _read_expansion(self, *, quoted: bool) -> WordPiece:
        text, i = self.text, self.i
        if text[i] == "`":
            return self._read_backticks(quoted=quoted)
        following = text[i + 1 : i + 2]
        if following == "(":
            return self._read_dollar_parenthesis(quoted=quoted)
        if following == "{":
            return self._read_braced(quoted=quoted)
        if following == "'" and not quoted:
            return self._read_ansi()
        if following == '"' and not quoted:
            self.i += 1
            return LiteralPiece("", is_quoted=True)
        match = _NAME.match(text, i + 1)
        if match is None:
            self.i += 1
            return LiteralPiece("$", is_quoted=True)
        name = match.group()
        if name.isdigit():
            name = name[0]
        self.i = i + 1 + len(name)
        return VariablePiece(name, quoted)

    def _read_ansi(self) -> LiteralPiece:
        end = self.i + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise self.build_error("a quote is not closed", "'")
        value = decode_escapes(self.text[self.i + 2 : end])
        self.i = end + 1
        return LiteralPiece(value, is_quoted=True)

    def _read_backticks(self, *, quoted: bool) -> SubstitutionPiece:
        begin = end = self.i + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise self.build_error("a backtick is not closed", "`")
        body = self.text[begin:end]
        plain = "\\" not in body
        source = body if plain else re.sub(r'\\([\\$`"])' if quoted else r"\\([\\$`])", r"\1", body)
        width = self.width if self.width >= 0 or plain else end - begin
        column = self.get_column(begin)
        script = self.parse_inner(source, column, width)
        self.i = end + 1
        return SubstitutionPiece(script, quoted, "$(")

    def _read_substitution(self, opener: str, *, quoted: bool) -> SubstitutionPiece:
        self.i += 2
        return SubstitutionPiece(self._read_nested(")"), quoted, opener)

    def _read_nested(self, closer: str) -> ShellScript:
        self.enter()
        script = self.parse_script(closer)
        self.depth -= 1
        if not self.text.startswith(closer, self.i):
            raise self.build_error("a substitution is not closed", closer)
        self.i += 1
        return script

    def _read_dollar_parenthesis(self, *, quoted: bool) -> WordPiece:
        if not self.text.startswith("((", self.i + 1):
            return self._read_substitution("$(", quoted=quoted)
        begin = self.i
        end = self.find_arithmetic_end(begin + 3)
        if end < 0:  # `$((a) | b)` is a substitution that begins with a subshell
            return self._read_substitution("$(", quoted=quoted)
        self.i = end + 2
        return self.read_computed(self.text[begin + 3 : end], begin + 3)

    def find_arithmetic_end(self, i: int) -> int:
        """Return where `))` closes the arithmetic that begins at i, or -1."""
        depth, size = 0, len(self.text)
        while i < size:
            char = self.text[i]
            if char == "(":
                depth += 1
            elif char == ")" and depth:
                depth -= 1
            elif char == ")":
                return i if self.text.startswith("))", i) else -1
            i += 1
        return -1

    def read_computed(self, text: str, at: int) -> ComputedPiece:
        """Read the scripts in an expression that only the shell can compute."""
        within = type(self)(text, self.get_column(at), self.depth + 1, self.width)
        pieces = within.read_document()
        return ComputedPiece(tuple(piece.body for piece in pieces if isinstance(piece, SubstitutionPiece)))

    def _read_braced(self, *, quoted: bool) -> WordPiece:
        text = self.text
        if text[self.i + 2 : self.i + 3] in {" ", "\t", "\n", "|"}:
            self.i += 3
            return SubstitutionPiece(self._read_nested("}"), quoted, "$(")
        begin = self.i
        self.i += 2
        prefix = ""
        while text[self.i : self.i + 1] in {"#", "!"} and text[self.i + 1 : self.i + 2] not in {"}", ""}:
            prefix += text[self.i]
            self.i += 1
        match = _NAME.match(text, self.i)
        name = match.group() if match else ""
        self.i += len(name)
        self.enter()
        subscript, bodies = self.read_subscript()
        operator = self._read_operator()
        start = self.i
        operand = ShellWord(tuple(self._read_operand(quoted=quoted)), self.get_column(start), self.get_column(self.i))
        self.depth -= 1
        if self.i >= len(text):
            self.i = begin
            raise self.build_error("a brace is not closed")
        self.i += 1
        return VariablePiece(name, quoted, prefix + operator, operand, subscript, bodies)

    def read_subscript(self) -> tuple[str, tuple[ShellScript, ...]]:
        """Read `[...]` and return its text and the scripts in it."""
        if not self.text.startswith("[", self.i):
            return "", ()
        begin = self.i + 1
        self.i = begin
        pieces: list[WordPiece] = []
        depth = 1
        while depth:
            found = self.read_run(_IN_SUBSCRIPT, "]", "$`\\\n")
            depth += sum(piece.value.count("[") for piece in found if isinstance(piece, LiteralPiece)) - 1
            pieces += found
            if self.i >= len(self.text):
                raise self.build_error("a bracket is not closed")
            self.i += 1
        return self.text[begin : self.i - 1], tuple(p.body for p in pieces if isinstance(p, SubstitutionPiece))

    def _read_operator(self) -> str:
        match = _OPERATOR.match(self.text, self.i)
        operator = match.group() if match else ""
        self.i += len(operator)
        return operator

    def _read_operand(self, *, quoted: bool) -> list[WordPiece]:
        pieces: list[WordPiece] = []
        while self.i < len(self.text) and self.text[self.i] != "}":
            char = self.text[self.i]
            match = _IN_BRACES.match(self.text, self.i)
            if match is not None:
                pieces.append(LiteralPiece(match.group(), quoted))
                self.i = match.end()
            elif char == "'" and quoted:
                pieces.append(LiteralPiece(char, is_quoted=True))
                self.i += 1
            else:
                self._read_piece(char, pieces)
        return pieces

    def _read_pattern_list(self) -> WordPiece:
        """Read `@(a|b)`, which becomes a wildcard."""
        depth, i = 0, self.i
        while i < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[i], 0)
            i += 1
            if self.text[i - 1] == ")" and not depth:
                break
        else:
            raise self.build_error("a pattern is not closed")
        value = self.text[self.i : i]
        begin, self.i = self.i, i
        if "$" in value or "`" in value:
            return self.read_computed(value, begin)
        return LiteralPiece("*", is_quoted=False)
