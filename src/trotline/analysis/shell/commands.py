"""A command with its assignments, words and redirections, and the documents that follow its line."""

from trotline.analysis.shell.lexer import PLAIN, Lexer
from trotline.analysis.shell.syntax import Assignment, Command, Piece, Redirect, Script, Text, Word
from trotline.pattern import pattern

_REDIRECT = pattern(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|<|>>\||>>|>\||>&|>|&>>|&>)")
_ASSIGNED = pattern(r"([A-Za-z_]\w*)(\[[^]]*\])?(\+?)=")

_DECLARES = frozenset({"declare", "export", "local", "readonly", "typeset"})
_PLAIN_WORD = pattern(rf"[ \t]+({PLAIN.pattern})(?=[ \t])")


class CommandReader(Lexer):
    """What the parser reads when no word of the grammar stands there."""

    def __init__(self, text: str, base: int = 0, depth: int = 0, width: int = -1) -> None:
        super().__init__(text, base, depth, width)
        self.waiting: list[Redirect] = []  # here-documents whose text has not come yet

    def newlines(self) -> None:
        self.blanks()
        while self.text.startswith("\n", self.i):
            self.i += 1
            self.documents()
            self.blanks()

    def command(self) -> Command:
        begin = self.i
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            if self._redirect(redirects):
                continue
            assignment = self._assignment() if not words or self._declares(words) else None
            if assignment is not None:
                assignments.append(assignment)
                continue
            word = self.word()
            if word is None:
                break
            words.append(word)
            self._plain_words(words)
        if self.i == begin or not (assignments or words or redirects):
            raise self.fail("a command is expected here")
        return Command(tuple(assignments), tuple(words), tuple(redirects), self.column(begin), self.column(self.i))

    def _plain_words(self, words: list[Word]) -> None:
        """Words of letters that follow each other, which is what most of a long line is."""
        if self.width >= 0 or words[0].plain in _DECLARES:
            return
        text, base, at = self.text, self.base, self.i
        new, next_word, add = tuple.__new__, _PLAIN_WORD.match, words.append  # there may be thousands
        while (match := next_word(text, at)) is not None:
            value, (start, at) = match[1], match.span(1)
            add(new(Word, ((new(Text, (value, False)),), base + start, base + at, value)))
        self.i = at

    def _declares(self, words: list[Word]) -> bool:
        """`declare -a x=(1 2)`: only there does a bracket stand in a word after the first."""
        if words[0].plain not in _DECLARES:
            return False
        match = _ASSIGNED.match(self.text, self.i)
        return match is not None and self.text.startswith("(", match.end())

    def redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        self.blanks()
        while self._redirect(redirects):
            self.blanks()
        return tuple(redirects)

    def _redirect(self, redirects: list[Redirect]) -> bool:
        match = _REDIRECT.match(self.text, self.i)
        if match is None or self.text.startswith("(", match.end()):
            return False
        self.i = match.end()
        self.inner_blanks()
        target = self.word()
        if target is None:
            raise self.fail("a redirection names no file")
        here = match[2] in {"<<", "<<-"}
        redirect = Redirect(match[2], target, match[1] or "", [] if here else None)
        if here:
            self.waiting.append(redirect)
        redirects.append(redirect)
        return True

    def documents(self) -> None:
        """The texts of here-documents, which begin after the line that names them."""
        for redirect in self.waiting:
            texts = [piece for piece in redirect.target.pieces if isinstance(piece, Text)]
            begin = self.i
            end, self.i = self._end_of_document("".join(text.value for text in texts), tabs=redirect.operator == "<<-")
            body = self.text[begin:end]
            at = self.column(begin)
            pieces: tuple[Piece, ...] = (Text(body, quoted=True),)
            if not any(text.quoted for text in texts) and not {"$", "`", "\\"}.isdisjoint(body):
                pieces = type(self)(body, at, self.depth + 1, self.width).document()
            if redirect.document is not None:
                redirect.document.append(Word(pieces, at, self.column(end)))
        self.waiting.clear()

    def _end_of_document(self, delimiter: str, *, tabs: bool) -> tuple[int, int]:
        start = self.i
        while start < len(self.text):
            end = self.text.find("\n", start)
            end = len(self.text) if end < 0 else end
            line = self.text[start:end].rstrip("\r")
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return start, min(end + 1, len(self.text))
            start = end + 1
        return len(self.text), len(self.text)

    def _assignment(self) -> Assignment | None:
        match = _ASSIGNED.match(self.text, self.i)
        if match is None:
            return None
        begin, self.i = self.i, match.end()
        bodies: tuple[Script, ...] = ()
        if match[2] and not {"$", "`"}.isdisjoint(match[2]):
            bodies = self.reckoned(match[2], match.start(2)).bodies
        array = self.text.startswith("(", self.i)
        values = self._array() if array else ()
        if not array:
            word = self.word()
            values = (word,) if word is not None else ()
        return Assignment(
            match[1],
            values,
            self.column(begin),
            self.column(self.i),
            appends=bool(match[3]),
            array=array,
            bodies=bodies,
        )

    def _array(self) -> tuple[Word, ...]:
        self.i += 1
        words = []
        while True:
            self.newlines()
            word = self.word()
            if word is None:
                break
            words.append(word)
        if not self.text.startswith(")", self.i):
            raise self.fail("an array is not closed")
        self.i += 1
        return tuple(words)
