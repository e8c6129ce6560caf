"""Characters into words: quotes, escapes, expansions. One pass from left to right, no way back.

What a word holds may itself be a script, which the parser reads; the two are one object for that reason.
"""

import re

from trotline.analysis.shell.ansi import decoded
from trotline.analysis.shell.syntax import (
    Piece,
    Reckoned,
    Script,
    Substitution,
    Text,
    Variable,
    Word,
)
from trotline.pattern import pattern

PLAIN = pattern(r"[A-Za-z0-9_./:=,@%+-]+")
_BARE = pattern(r"(?:[^\s|&;()<>'\"\\$`?*+@!]|[?*+@!](?!\())+")
_IN_QUOTES = pattern(r"[^\"\\$`]+")
_IN_DOCUMENT = pattern(r"[^\\$`]+")
_IN_BRACES = pattern(r"[^}'\"\\$`]+")
_IN_SUBSCRIPT = pattern(r"[^\]\\$`]+")
_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_BLANKS = pattern(r"(?:[ \t\r]|\\\r?\n)*(?:#[^\n]*)?")
_INNER_BLANKS = pattern(r"(?:[ \t\r]|\\\r?\n)*")
ENDS_WORD = frozenset(" \t\r\n|&;()<>")
DEEPEST = 40


class Unreadable(Exception):  # noqa: N818 - it is the line that is unreadable
    """No shell would read this, or it is nested deeper than we follow."""

    def __init__(self, why: str, at: int, closer: str = "") -> None:
        super().__init__(why)
        self.why, self.at, self.closer = why, at, closer


class Lexer:
    """A place in a text. `base` is the column of its first character; a text that was unescaped has one column."""

    def __init__(self, text: str, base: int = 0, depth: int = 0, width: int = -1) -> None:
        if depth > DEEPEST:
            raise Unreadable("nested deeper than Trotline follows", base)
        self.text = text
        self.i = 0
        self.base = base
        self.depth = depth
        self.width = width  # of the text that was unescaped, or -1

    def column(self, i: int) -> int:
        return self.base + i if self.width < 0 else self.base + (self.width if i else 0)

    def fail(self, why: str, closer: str = "") -> Unreadable:
        return Unreadable(why, self.column(self.i), closer)

    def script(self, closer: str) -> Script:
        """The script up to its closing character; the parser's."""
        raise NotImplementedError

    def inner(self, text: str, base: int, width: int = -1) -> Script:
        """A script that stands in a text of its own; the parser's."""
        raise NotImplementedError

    def blanks(self) -> None:
        match = _BLANKS.match(self.text, self.i)
        self.i = match.end() if match else self.i

    def word(self) -> Word | None:
        """The next word, or None where something else stands."""
        text, begin = self.text, self.i
        match = PLAIN.match(text, begin)
        if match is not None:
            end = match.end()
            pattern = text.startswith("(", end) and text[end - 1] in "@+"
            if end == len(text) or (text[end] in ENDS_WORD and not pattern):
                self.i = end
                value = match.group()
                return Word((Text(value, quoted=False),), self.column(begin), self.column(end), value)
        pieces = self._pieces()
        if self.i == begin:
            return None
        return Word(tuple(pieces), self.column(begin), self.column(self.i))

    def _pieces(self) -> list[Piece]:
        pieces: list[Piece] = []
        text, size = self.text, len(self.text)
        while self.i < size:
            char = text[self.i]
            if char in "<>" and text.startswith("(", self.i + 1):
                pieces.append(self._substitution(char + "(", quoted=False))
                continue
            if char in ENDS_WORD:
                break
            self._piece(char, pieces)
        return pieces

    def _piece(self, char: str, pieces: list[Piece]) -> None:
        if char == "'":
            pieces.append(self._raw())
        elif char == '"':
            pieces += self._quoted()
        elif char == "\\":
            self._escape(pieces)
        elif char in "$`":
            pieces.append(self._expansion(quoted=False))
        elif char in "?*+@!" and self.text.startswith("(", self.i + 1):
            pieces.append(self._pattern_list())
        else:
            match = _BARE.match(self.text, self.i)
            end = match.end() if match else self.i + 1
            pieces.append(Text(self.text[self.i : end], quoted=False))
            self.i = end

    def _raw(self) -> Text:
        end = self.text.find("'", self.i + 1)
        if end < 0:
            raise self.fail("a quote is not closed", "'")
        value = self.text[self.i + 1 : end]
        self.i = end + 1
        return Text(value, quoted=True)

    def _escape(self, pieces: list[Piece]) -> None:
        following = self.text[self.i + 1 : self.i + 2]
        self.i += 1 + len(following)
        if following and following != "\n":
            pieces.append(Text(following, quoted=True))
        elif not following:
            pieces.append(Text("\\", quoted=True))

    def _quoted(self) -> list[Piece]:
        self.i += 1
        pieces: list[Piece] = [Text("", quoted=True)]  # "" is a word, too
        pieces += self.run_of(_IN_QUOTES, '"', '$`"\\\n')
        if self.i >= len(self.text):
            raise self.fail("a double quote is not closed", '"')
        self.i += 1
        return pieces

    def document(self) -> tuple[Piece, ...]:
        """The whole text as that of a here-document."""
        return tuple(self.run_of(_IN_DOCUMENT, "", "$`\\\n"))

    def run_of(self, plain: re.Pattern[str], closer: str, escapable: str) -> list[Piece]:
        """Text in which only `$`, the backtick and the backslash mean something, up to the closing character."""
        pieces: list[Piece] = []
        text, size = self.text, len(self.text)
        while self.i < size and text[self.i] != closer:
            char = text[self.i]
            if char in "$`":
                pieces.append(self._expansion(quoted=True))
            elif char == "\\":
                following = text[self.i + 1 : self.i + 2]
                kept = "" if following == "\n" else following if following in escapable else "\\" + following
                pieces.append(Text(kept or ("" if following else "\\"), quoted=True))
                self.i += 1 + len(following)
            else:
                match = plain.match(text, self.i)
                end = match.end() if match else self.i + 1
                pieces.append(Text(text[self.i : end], quoted=True))
                self.i = end
        return pieces

    def _expansion(self, *, quoted: bool) -> Piece:
        text, i = self.text, self.i
        if text[i] == "`":
            return self._backticks(quoted=quoted)
        following = text[i + 1 : i + 2]
        if following == "(":
            return self._dollar_parenthesis(quoted=quoted)
        if following == "{":
            return self._braced(quoted=quoted)
        if following == "'" and not quoted:
            return self._ansi()
        if following == '"' and not quoted:
            self.i += 1
            return Text("", quoted=True)
        match = _NAME.match(text, i + 1)
        if match is None:
            self.i += 1
            return Text("$", quoted=True)
        name = match.group()
        if name.isdigit():
            name = name[0]
        self.i = i + 1 + len(name)
        return Variable(name, quoted)

    def _ansi(self) -> Text:
        end = self.i + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise self.fail("a quote is not closed", "'")
        value = decoded(self.text[self.i + 2 : end])
        self.i = end + 1
        return Text(value, quoted=True)

    def _backticks(self, *, quoted: bool) -> Substitution:
        begin = end = self.i + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise self.fail("a backtick is not closed", "`")
        body = self.text[begin:end]
        plain = "\\" not in body
        source = body if plain else re.sub(r'\\([\\$`"])' if quoted else r"\\([\\$`])", r"\1", body)
        width = self.width if self.width >= 0 or plain else end - begin
        column = self.column(begin)
        script = self.inner(source, column, width)
        self.i = end + 1
        return Substitution(script, quoted, "$(")

    def _substitution(self, opener: str, *, quoted: bool) -> Substitution:
        self.i += 2
        return Substitution(self._nested(")"), quoted, opener)

    def _nested(self, closer: str) -> Script:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail("nested deeper than Trotline follows")
        script = self.script(closer)
        self.depth -= 1
        if not self.text.startswith(closer, self.i):
            raise self.fail("a substitution is not closed", closer)
        self.i += 1
        return script

    def _dollar_parenthesis(self, *, quoted: bool) -> Piece:
        if not self.text.startswith("((", self.i + 1):
            return self._substitution("$(", quoted=quoted)
        begin = self.i
        end = self.end_of_sum(begin + 3)
        if end < 0:  # `$((a) | b)`: a substitution that begins with a subshell
            return self._substitution("$(", quoted=quoted)
        self.i = end + 2
        return self.reckoned(self.text[begin + 3 : end], begin + 3)

    def end_of_sum(self, i: int) -> int:
        """Where `))` closes the arithmetic that begins at i, or -1."""
        open_ones, size = 0, len(self.text)
        while i < size:
            char = self.text[i]
            if char == "(":
                open_ones += 1
            elif char == ")" and open_ones:
                open_ones -= 1
            elif char == ")":
                return i if self.text.startswith("))", i) else -1
            i += 1
        return -1

    def reckoned(self, text: str, at: int) -> Reckoned:
        within = type(self)(text, self.column(at), self.depth + 1, self.width)
        pieces = within.document()
        return Reckoned(tuple(piece.body for piece in pieces if isinstance(piece, Substitution)))

    def _braced(self, *, quoted: bool) -> Piece:
        text = self.text
        if text[self.i + 2 : self.i + 3] in {" ", "\t", "\n", "|"}:
            self.i += 3
            return Substitution(self._nested("}"), quoted, "$(")
        begin = self.i
        self.i += 2
        prefix = ""
        while text[self.i : self.i + 1] in {"#", "!"} and text[self.i + 1 : self.i + 2] not in {"}", ""}:
            prefix += text[self.i]
            self.i += 1
        match = _NAME.match(text, self.i)
        name = match.group() if match else ""
        self.i += len(name)
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail("nested deeper than Trotline follows")
        subscript, bodies = self.subscript()
        operator = self._operator()
        start = self.i
        operand = Word(tuple(self._operand(quoted=quoted)), self.column(start), self.column(self.i))
        self.depth -= 1
        if self.i >= len(text):
            self.i = begin
            raise self.fail("a brace is not closed")
        self.i += 1
        return Variable(name, quoted, prefix + operator, operand, subscript, bodies)

    def subscript(self) -> tuple[str, tuple[Script, ...]]:
        """`[...]`: its text, and the scripts in it."""
        if not self.text.startswith("[", self.i):
            return "", ()
        begin = self.i + 1
        self.i = begin
        pieces: list[Piece] = []
        open_ones = 1
        while open_ones:
            found = self.run_of(_IN_SUBSCRIPT, "]", "$`\\\n")
            open_ones += sum(piece.value.count("[") for piece in found if isinstance(piece, Text)) - 1
            pieces += found
            if self.i >= len(self.text):
                raise self.fail("a bracket is not closed")
            self.i += 1
        return self.text[begin : self.i - 1], tuple(p.body for p in pieces if isinstance(p, Substitution))

    def _operator(self) -> str:
        match = re.compile(r":[-=?+]|##?|%%?|//?[#%]?|\^\^?|,,?|@|:|[-=?+]").match(self.text, self.i)
        operator = match.group() if match else ""
        self.i += len(operator)
        return operator

    def _operand(self, *, quoted: bool) -> list[Piece]:
        pieces: list[Piece] = []
        while self.i < len(self.text) and self.text[self.i] != "}":
            char = self.text[self.i]
            match = _IN_BRACES.match(self.text, self.i)
            if match is not None:
                pieces.append(Text(match.group(), quoted))
                self.i = match.end()
            elif char == "'" and quoted:
                pieces.append(Text(char, quoted=True))
                self.i += 1
            else:
                self._piece(char, pieces)
        return pieces

    def _pattern_list(self) -> Piece:
        """`@(a|b)`: a pattern, which we keep as it stands."""
        open_ones, i = 0, self.i
        while i < len(self.text):
            open_ones += {"(": 1, ")": -1}.get(self.text[i], 0)
            i += 1
            if self.text[i - 1] == ")" and not open_ones:
                break
        else:
            raise self.fail("a pattern is not closed")
        value = self.text[self.i : i]
        begin, self.i = self.i, i
        if "$" in value or "`" in value:
            return self.reckoned(value, begin)
        return Text("*", quoted=False)

    def inner_blanks(self) -> None:
        match = _INNER_BLANKS.match(self.text, self.i)
        self.i = match.end() if match else self.i
