"""Words into statements: the grammar of bash, with what sh and zsh add that people write in one line.

It is strict where a shell is: what it cannot read is said to be unreadable, with the column, and what stood before it
is kept, because a shell would have run that.
"""

from collections.abc import Callable

from trotline.analysis.shell.commands import CommandReader
from trotline.analysis.shell.lexer import DEEPEST, Unreadable
from trotline.analysis.shell.syntax import (
    Coprocess,
    Function,
    Group,
    Loop,
    Pipeline,
    Script,
    Statement,
    Test,
    Text,
    Word,
)
from trotline.pattern import pattern

MOST_CHARACTERS = 256_000
MOST_STATEMENTS = 20_000
MOST_CLOSERS = 4

_RESERVED = pattern(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|time|coproc|[{}!]|\[\[)(?=[\s;|&()<>]|$)"
)
_FUNCTION = pattern(r"([^\s|&;()<>'\"\\$`=]+)[ \t]*\([ \t]*\)")
_HEADER = pattern(r"(?:for|select)\s+([A-Za-z_]\w*)(?:[ \t\n]+in\b)?")
_COPROCESS = pattern(r"([A-Za-z_]\w*)[ \t]+(?=[({]|while\b|until\b|for\b|if\b|case\b)")
_NAME_ONLY = pattern(r"[ \t]*([^\s|&;()<>'\"\\$`={]+)[ \t]*(?:\([ \t]*\))?")
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


def parsed(text: str, base: int = 0) -> Script:
    """The script that a text is, as far as it can be read; `base` is the column of its first character."""
    if len(text) > MOST_CHARACTERS:
        return Script((), f"longer than {MOST_CHARACTERS} characters", base)
    return Parser(text, base).whole()


def completed(text: str, base: int = 0) -> tuple[Script, str]:
    """The script, and what was wrong with it: one that only ends too early is read as if it had been closed.

    No shell runs such a line. But others may close it, or read it with other quotes, and what it means is plain.
    """
    script = parsed(text, base)
    fault = script.fault
    for _ in range(MOST_CLOSERS):
        if not script.closer:
            break
        text += script.closer
        script = parsed(text, base)
    return script, fault


class Parser(CommandReader):
    """One script; substitutions in it are read in place."""

    def __init__(self, text: str, base: int = 0, depth: int = 0, width: int = -1) -> None:
        super().__init__(text, base, depth, width)
        self.statements = 0

    def whole(self) -> Script:
        pipelines: list[Pipeline] = []
        try:
            self._read(pipelines, "")
            if self.i < len(self.text):
                raise self.fail(f"{self.text[self.i]!r} is not expected here")
        except Unreadable as error:
            return Script(tuple(pipelines), error.why, error.at, error.closer)
        return Script(tuple(pipelines))

    def inner(self, text: str, base: int, width: int = -1) -> Script:
        script = Parser(text, base, self.depth + 1, width).whole()
        if script.fault:
            raise Unreadable(script.fault, script.fault_at, script.closer)
        return script

    def script(self, closer: str) -> Script:
        pipelines: list[Pipeline] = []
        self._read(pipelines, closer)
        return Script(tuple(pipelines))

    def _read(self, pipelines: list[Pipeline], closer: str) -> None:
        connector: str | None = ""
        while connector is not None:
            self._separators()
            if self.i >= len(self.text) or self._closes(closer):
                return
            if closer == "esac" and self.text.startswith((";;", ";&"), self.i):
                return
            stages = self._pipeline()
            background = self.text.startswith("&", self.i) and not self.text.startswith("&&", self.i)
            pipelines.append(Pipeline(tuple(stages), connector, background))
            connector = self._connector()

    def _closes(self, closer: str) -> bool:
        if self.text[self.i] == ")":
            if closer != ")":
                raise self.fail("')' is not expected here") if not closer else self.fail("a statement is not closed")
            return True
        return closer != "" and self._reserved() in _CLOSERS

    def _reserved(self) -> str:
        match = _RESERVED.match(self.text, self.i)
        return match.group() if match else ""

    def _separators(self) -> None:
        while True:
            self.blanks()
            char = self.text[self.i : self.i + 1]
            if char == "\n":
                self.i += 1
                self.documents()
            elif char == ";" and not self.text.startswith(";;", self.i):
                self.i += 1
            else:
                return

    def _connector(self) -> str | None:
        self.blanks()
        for sign in ("&&", "||", ";;&", ";;", ";&", ";", "&", "\n"):
            if self.text.startswith(sign, self.i):
                break
        else:
            return None
        if sign in {";;", ";;&", ";&"}:
            return None
        self.i += len(sign)
        if sign == "\n":
            self.documents()
        if sign in {"&&", "||"}:
            self.newlines()
            if self.i >= len(self.text):
                raise self.fail(f"nothing follows {sign}")
        return ";" if sign == "\n" else sign

    def _pipeline(self) -> list[Statement]:
        stages = [self._statement()]
        while True:
            self.blanks()
            if self.text.startswith("||", self.i) or not self.text.startswith("|", self.i):
                return stages
            self.i += 2 if self.text.startswith("|&", self.i) else 1
            self.newlines()
            stages.append(self._statement())

    def _statement(self) -> Statement:
        self.statements += 1
        if self.statements > MOST_STATEMENTS:
            raise self.fail(f"more than {MOST_STATEMENTS} statements")
        self.blanks()
        text = self.text
        if text.startswith("((", self.i):
            end = self.end_of_sum(self.i + 2)
            if end >= 0:
                return self._sum(end)
        if text.startswith("(", self.i):
            return self._group("(", ")")
        word = self._reserved()
        if word:
            return self._compound(word)
        match = _FUNCTION.match(text, self.i)
        if match is not None:
            return self._function(match[1], match.end())
        return self.command()

    def _sum(self, end: int) -> Test:
        begin = self.i
        value = self.reckoned(self.text[begin + 2 : end], begin + 2)
        self.i = end + 2
        return Test((Word((value,), self.column(begin), self.column(self.i)),), self.redirects())

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail("nested deeper than Trotline follows")

    def _group(self, opener: str, closer: str) -> Group:
        self.i += len(opener)
        self._deeper()
        body = self.script(closer)
        self.depth -= 1
        if not self.text.startswith(closer, self.i):
            raise self.fail(f"{opener} is not closed")
        self.i += len(closer)
        return Group((body,), self.redirects(), subshell=opener == "(")

    def _compound(self, word: str) -> Statement:
        if word in {"!", "time", "coproc"}:
            return self._prefixed(word)
        if word == "{":
            return self._group("{", "}")
        if word == "[[":
            return self._test()
        if word == "function":
            match = _NAME_ONLY.match(self.text, self.i + len(word))
            if match is None:
                raise self.fail("a function has no name")
            return self._function(match[1], match.end())
        self._deeper()
        readers: dict[str, Callable[[], Statement]] = {
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "case": self._case,
            "for": self._for,
            "select": self._for,
        }
        if word not in readers:
            raise self.fail(f"{word!r} is not expected here")
        statement = readers[word]()
        self.depth -= 1
        return statement

    def _prefixed(self, word: str) -> Statement:
        self.i += len(word)
        self.blanks()
        while word == "time" and self.text.startswith(("-p ", "-- "), self.i):
            self.i += 3
            self.blanks()
        name = _COPROCESS.match(self.text, self.i) if word == "coproc" else None
        self.i = name.end() if name else self.i
        if self.i >= len(self.text) or self.text[self.i] in ";\n&|)":
            return Group(())
        statement = self._statement()
        return Coprocess(name[1] if name else "COPROC", statement) if word == "coproc" else statement

    def _function(self, name: str, end: int) -> Function:
        self.i = end
        self.newlines()
        self._deeper()
        body = self._statement()
        self.depth -= 1
        return Function(name, body)

    def _word_is(self, word: str) -> None:
        self._separators()
        if self._reserved() != word:
            raise self.fail(f"{word!r} is expected here")
        self.i += len(word)

    def _if(self) -> Group:
        bodies = []
        self.i += 2
        while True:
            bodies.append(self.script("then"))
            self._word_is("then")
            bodies.append(self.script("fi"))
            self._separators()
            word = self._reserved()
            if word != "elif":
                break
            self.i += len(word)
        if word == "else":
            self.i += len(word)
            bodies.append(self.script("fi"))
        self._word_is("fi")
        return Group(tuple(bodies), self.redirects())

    def _while(self) -> Group:
        word, begin = self.text[self.i : self.i + 5], self.i + 5
        self.i += 5
        condition = self.script("do")
        plain = self.text[begin : self.i].strip(" \t\n;").rpartition("/")[2]
        endless = plain.replace(" ", "") in ({"true", ":", "((1))", "[1]"} if word == "while" else {"false", "((0))"})
        return Group((condition, self._body()), self.redirects(), endless=endless)

    def _body(self) -> Script:
        self._separators()
        closer = "}" if self._reserved() == "{" else "done"
        self._word_is("{" if closer == "}" else "do")
        body = self.script(closer)
        self._word_is(closer)
        return body

    def _for(self) -> Statement:
        match = _HEADER.match(self.text, self.i)
        if match is None:
            return self._counting()
        self.i = match.end()
        words = []
        self.blanks()
        while (word := self.word()) is not None:
            words.append(word)
            self.inner_blanks()
        return Loop(match[1], tuple(words), self._body(), self.redirects())

    def _counting(self) -> Group:
        """`for ((...))`."""
        self.i += 3
        self.inner_blanks()
        end = self.end_of_sum(self.i + 2) if self.text.startswith("((", self.i) else -1
        if end < 0:
            raise self.fail("a loop has no name")
        parts = self.text[self.i + 2 : end].split(";")
        header = Script((Pipeline((self._sum(end),)),))
        endless = len(parts) == 3 and not parts[1].strip()
        return Group((header, self._body()), self.redirects(), endless=endless)

    def _case(self) -> Group:
        self.i += 4
        self.inner_blanks()
        subject = self.word()
        if subject is None:
            raise self.fail("a case has no subject")
        bodies = [Script((Pipeline((Test((subject,)),)),))]
        self.newlines()
        if not self.text.startswith("in", self.i):
            raise self.fail("'in' is expected here")
        self.i += 2
        while True:
            self._separators()
            if self._reserved() == "esac":
                break
            bodies.append(self._arm())
        self._word_is("esac")
        return Group(tuple(bodies), self.redirects())

    def _arm(self) -> Script:
        if self.text.startswith("(", self.i):
            self.i += 1
        while True:
            self.inner_blanks()
            if self.word() is None:
                raise self.fail("a pattern is expected here")
            self.inner_blanks()
            if not self.text.startswith("|", self.i):
                break
            self.i += 1
        if not self.text.startswith(")", self.i):
            raise self.fail("')' is expected here")
        self.i += 1
        body = self.script("esac")
        for sign in (";;&", ";;", ";&"):
            if self.text.startswith(sign, self.i):
                self.i += len(sign)
                break
        return body

    def _test(self) -> Test:
        self.i += 2
        words: list[Word] = []
        while True:
            self.newlines()
            word = self.word()
            if word is not None:
                if word.pieces == (Text("]]", quoted=False),):
                    return Test(tuple(words), self.redirects())
                words.append(word)
            elif self.i < len(self.text):
                self.i += 1  # `&&`, `||`, `<`, `(`: signs of the test
            else:
                raise self.fail("[[ is not closed")
