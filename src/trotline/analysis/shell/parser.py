"""Parse shell scripts: the grammar of bash, with common additions of sh and zsh.

The parser is as strict as a shell. It reports what it cannot read with its column and keeps the statements before it,
because a shell would have run them.
"""

from collections.abc import Callable

from trotline.analysis.shell.lexer import PLAIN_WORD, ShellLexer, ShellSyntaxError
from trotline.analysis.shell.syntax import (
    Assignment,
    CommandGroup,
    Coprocess,
    ForLoop,
    FunctionDefinition,
    LiteralPiece,
    Pipeline,
    Redirect,
    ShellCommand,
    ShellScript,
    ShellStatement,
    ShellWord,
    TestCommand,
    WordPiece,
)
from trotline.formats.lazy_regex import lazy_regex

_REDIRECT = lazy_regex(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|<|>>\||>>|>\||>&|>|&>>|&>)")
_ASSIGNMENT = lazy_regex(r"([A-Za-z_]\w*)(\[[^]]*\])?(\+?)=")

_DECLARING = frozenset({"declare", "export", "local", "readonly", "typeset"})
_PLAIN_WORD = lazy_regex(rf"[ \t]+({PLAIN_WORD.pattern})(?=[ \t])")


class CommandParser(ShellLexer):
    """Parses simple commands: assignments, words, redirections and here-documents."""

    def __init__(self, text: str, base: int = 0, depth: int = 0, width: int = -1) -> None:
        super().__init__(text, base, depth, width)
        self.pending_documents: list[Redirect] = []  # here-documents whose text follows after the line
        self.statements = 0

    def skip_newlines(self) -> None:
        """Skip blanks and newlines, and read pending here-documents."""
        self.skip_blanks()
        while self.text.startswith("\n", self.i):
            self.i += 1
            self.read_here_documents()
            self.skip_blanks()

    def parse_command(self) -> ShellCommand:
        """Parse assignments, words and redirections up to the end of the command."""
        begin = self.i
        assignments: list[Assignment] = []
        words: list[ShellWord] = []
        redirects: list[Redirect] = []
        while True:
            self.skip_blanks()
            if self._parse_redirect(redirects):
                continue
            assignment = self._parse_assignment() if not words or self._starts_array(words) else None
            if assignment is not None:
                assignments.append(assignment)
                continue
            word = self.read_word()
            if word is None:
                break
            words.append(word)
            self._read_plain_words(words)
        if self.i == begin or not (assignments or words or redirects):
            raise self.build_error("a command is expected here")
        return ShellCommand(
            tuple(assignments), tuple(words), tuple(redirects), self.get_column(begin), self.get_column(self.i)
        )

    def _read_plain_words(self, words: list[ShellWord]) -> None:
        """Read a run of plain words quickly, because most of a long line consists of them."""
        if self.width >= 0 or words[0].plain in _DECLARING:
            return
        text, base, at = self.text, self.base, self.i
        new, next_word, add = tuple.__new__, _PLAIN_WORD.match, words.append  # there may be thousands
        while (match := next_word(text, at)) is not None:
            value, (start, at) = match[1], match.span(1)
            add(new(ShellWord, ((new(LiteralPiece, (value, False)),), base + start, base + at, value)))
        self.i = at

    def _starts_array(self, words: list[ShellWord]) -> bool:
        """Return whether `x=(` follows a declaring command such as `declare -a`."""
        if words[0].plain not in _DECLARING:
            return False
        match = _ASSIGNMENT.match(self.text, self.i)
        return match is not None and self.text.startswith("(", match.end())

    def parse_redirects(self) -> tuple[Redirect, ...]:
        """Parse all redirections that follow."""
        redirects: list[Redirect] = []
        self.skip_blanks()
        while self._parse_redirect(redirects):
            self.skip_blanks()
        return tuple(redirects)

    def _parse_redirect(self, redirects: list[Redirect]) -> bool:
        match = _REDIRECT.match(self.text, self.i)
        if match is None or self.text.startswith("(", match.end()):
            return False
        self.i = match.end()
        self.skip_inner_blanks()
        target = self.read_word()
        if target is None:
            raise self.build_error("a redirection names no file")
        is_document = match[2] in {"<<", "<<-"}
        redirect = Redirect(match[2], target, match[1] or "", [] if is_document else None)
        if is_document:
            self.pending_documents.append(redirect)
        redirects.append(redirect)
        return True

    def read_here_documents(self) -> None:
        """Read the texts of the pending here-documents, which begin after the current line, and clear the list."""
        for redirect in self.pending_documents:
            texts = [piece for piece in redirect.target.pieces if isinstance(piece, LiteralPiece)]
            delimiter = "".join(text.value for text in texts)
            begin = self.i
            end, self.i = self._find_document_end(delimiter, tabs=redirect.operator == "<<-")
            body = self.text[begin:end]
            at = self.get_column(begin)
            pieces: tuple[WordPiece, ...] = (LiteralPiece(body, is_quoted=True),)
            if not any(text.is_quoted for text in texts) and not {"$", "`", "\\"}.isdisjoint(body):
                pieces = type(self)(body, at, self.depth + 1, self.width).read_document()
            if redirect.document is not None:
                redirect.document.append(ShellWord(pieces, at, self.get_column(end)))
        self.pending_documents.clear()

    def _find_document_end(self, delimiter: str, *, tabs: bool) -> tuple[int, int]:
        start = self.i
        while start < len(self.text):
            end = self.text.find("\n", start)
            end = len(self.text) if end < 0 else end
            line = self.text[start:end].rstrip("\r")
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return start, min(end + 1, len(self.text))
            start = end + 1
        return len(self.text), len(self.text)

    def _parse_assignment(self) -> Assignment | None:
        match = _ASSIGNMENT.match(self.text, self.i)
        if match is None:
            return None
        begin, self.i = self.i, match.end()
        bodies: tuple[ShellScript, ...] = ()
        if match[2] and not {"$", "`"}.isdisjoint(match[2]):
            bodies = self.read_computed(match[2], match.start(2)).bodies
        array = self.text.startswith("(", self.i)
        values = self._parse_array() if array else ()
        if not array:
            word = self.read_word()
            values = (word,) if word is not None else ()
        return Assignment(
            match[1],
            values,
            self.get_column(begin),
            self.get_column(self.i),
            appends=bool(match[3]),
            is_array=array,
            bodies=bodies,
        )

    def _parse_array(self) -> tuple[ShellWord, ...]:
        self.i += 1
        words = []
        while True:
            self.skip_newlines()
            word = self.read_word()
            if word is None:
                break
            words.append(word)
        if not self.text.startswith(")", self.i):
            raise self.build_error("an array is not closed")
        self.i += 1
        return tuple(words)


MAX_CHARACTERS = 256_000
MAX_STATEMENTS = 20_000
MAX_CLOSERS = 4

_RESERVED = lazy_regex(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|time|coproc|[{}!]|\[\[)(?=[\s;|&()<>]|$)"
)
_FUNCTION = lazy_regex(r"([^\s|&;()<>'\"\\$`=]+)[ \t]*\([ \t]*\)")
_FOR_HEADER = lazy_regex(r"(?:for|select)\s+([A-Za-z_]\w*)(?:[ \t\n]+in\b)?")
_COPROCESS = lazy_regex(r"([A-Za-z_]\w*)[ \t]+(?=[({]|while\b|until\b|for\b|if\b|case\b)")
_NAME_ONLY = lazy_regex(r"[ \t]*([^\s|&;()<>'\"\\$`={]+)[ \t]*(?:\([ \t]*\))?")
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


def parse_script(text: str, base: int = 0) -> ShellScript:
    """Parse a text as far as possible. `base` is the column of its first character."""
    if len(text) > MAX_CHARACTERS:
        return ShellScript((), f"longer than {MAX_CHARACTERS} characters", base)
    return ShellParser(text, base).parse()


def parse_unclosed(text: str, base: int = 0) -> tuple[ShellScript, str]:
    """Parse a text and return the script and the error.

    A text that ends too early is parsed as if its quotes were closed. No shell runs it, but another program may close
    it.
    """
    script = parse_script(text, base)
    fault = script.error
    for _ in range(MAX_CLOSERS):
        if not script.closer:
            break
        text += script.closer
        script = parse_script(text, base)
    return script, fault


class ShellParser(CommandParser):
    """Parses one script; substitutions are parsed in place."""

    def parse(self) -> ShellScript:
        """Parse the whole text; an error ends the script."""
        pipelines: list[Pipeline] = []
        try:
            self._parse_pipelines(pipelines, "")
            if self.i < len(self.text):
                raise self.build_error(f"{self.text[self.i]!r} is not expected here")
        except ShellSyntaxError as error:
            return ShellScript(tuple(pipelines), error.why, error.at, error.closer)
        return ShellScript(tuple(pipelines))

    def parse_inner(self, text: str, base: int, width: int = -1) -> ShellScript:
        """Parse a separate text as a script."""
        script = ShellParser(text, base, self.depth + 1, width).parse()
        if script.error:
            raise ShellSyntaxError(script.error, script.error_at, script.closer)
        return script

    def parse_script(self, closer: str) -> ShellScript:
        """Parse a script up to its closing character or keyword."""
        pipelines: list[Pipeline] = []
        self._parse_pipelines(pipelines, closer)
        return ShellScript(tuple(pipelines))

    def _parse_pipelines(self, pipelines: list[Pipeline], closer: str) -> None:
        connector: str | None = ""
        while connector is not None:
            self._skip_separators()
            if self.i >= len(self.text) or self._is_closed(closer):
                return
            if closer == "esac" and self.text.startswith((";;", ";&"), self.i):
                return
            stages = self._parse_pipeline()
            background = self.text.startswith("&", self.i) and not self.text.startswith("&&", self.i)
            pipelines.append(Pipeline(tuple(stages), connector, background))
            connector = self._read_connector()

    def _is_closed(self, closer: str) -> bool:
        if self.text[self.i] == ")":
            if closer != ")":
                raise self.build_error("a statement is not closed" if closer else "')' is not expected here")
            return True
        return closer != "" and self._peek_reserved() in _CLOSERS

    def _peek_reserved(self) -> str:
        match = _RESERVED.match(self.text, self.i)
        return match.group() if match else ""

    def _skip_separators(self) -> None:
        while True:
            self.skip_blanks()
            char = self.text[self.i : self.i + 1]
            if char == "\n":
                self.i += 1
                self.read_here_documents()
            elif char == ";" and not self.text.startswith(";;", self.i):
                self.i += 1
            else:
                return

    def _read_connector(self) -> str | None:
        self.skip_blanks()
        if self.text.startswith((";;", ";&"), self.i):
            return None
        sign = next((sign for sign in ("&&", "||", ";", "&", "\n") if self.text.startswith(sign, self.i)), None)
        if sign is None:
            return None
        self.i += len(sign)
        if sign == "\n":
            self.read_here_documents()
        if sign in {"&&", "||"}:
            self.skip_newlines()
            if self.i >= len(self.text):
                raise self.build_error(f"nothing follows {sign}")
        return ";" if sign == "\n" else sign

    def _parse_pipeline(self) -> list[ShellStatement]:
        stages = [self._parse_statement()]
        while True:
            self.skip_blanks()
            if self.text.startswith("||", self.i) or not self.text.startswith("|", self.i):
                return stages
            self.i += 2 if self.text.startswith("|&", self.i) else 1
            self.skip_newlines()
            stages.append(self._parse_statement())

    def _parse_statement(self) -> ShellStatement:
        self.statements += 1
        if self.statements > MAX_STATEMENTS:
            raise self.build_error(f"more than {MAX_STATEMENTS} statements")
        self.skip_blanks()
        text = self.text
        if text.startswith("((", self.i):
            end = self.find_arithmetic_end(self.i + 2)
            if end >= 0:
                return self._parse_arithmetic(end)
        if text.startswith("(", self.i):
            return self._parse_group("(", ")")
        word = self._peek_reserved()
        if word:
            return self._parse_compound(word)
        match = _FUNCTION.match(text, self.i)
        if match is not None:
            return self._parse_function(match[1], match.end())
        return self.parse_command()

    def _parse_arithmetic(self, end: int) -> TestCommand:
        begin = self.i
        value = self.read_computed(self.text[begin + 2 : end], begin + 2)
        self.i = end + 2
        return TestCommand(
            (ShellWord((value,), self.get_column(begin), self.get_column(self.i)),), self.parse_redirects()
        )

    def _parse_group(self, opener: str, closer: str) -> CommandGroup:
        self.i += len(opener)
        self.enter()
        body = self.parse_script(closer)
        self.depth -= 1
        if not self.text.startswith(closer, self.i):
            raise self.build_error(f"{opener} is not closed")
        self.i += len(closer)
        return CommandGroup((body,), self.parse_redirects(), is_subshell=opener == "(")

    def _parse_compound(self, word: str) -> ShellStatement:
        if word in {"!", "time", "coproc"}:
            return self._parse_prefixed(word)
        if word == "{":
            return self._parse_group("{", "}")
        if word == "[[":
            return self._parse_test()
        if word == "function":
            match = _NAME_ONLY.match(self.text, self.i + len(word))
            if match is None:
                raise self.build_error("a function has no name")
            return self._parse_function(match[1], match.end())
        self.enter()
        readers: dict[str, Callable[[], ShellStatement]] = {
            "if": self._parse_if,
            "while": self._parse_while,
            "until": self._parse_while,
            "case": self._parse_case,
            "for": self._parse_for,
            "select": self._parse_for,
        }
        if word not in readers:
            raise self.build_error(f"{word!r} is not expected here")
        statement = readers[word]()
        self.depth -= 1
        return statement

    def _parse_prefixed(self, word: str) -> ShellStatement:
        self.i += len(word)
        self.skip_blanks()
        while word == "time" and self.text.startswith(("-p ", "-- "), self.i):
            self.i += 3
            self.skip_blanks()
        name = _COPROCESS.match(self.text, self.i) if word == "coproc" else None
        self.i = name.end() if name else self.i
        if self.i >= len(self.text) or self.text[self.i] in ";\n&|)":
            return CommandGroup(())
        statement = self._parse_statement()
        return Coprocess(name[1] if name else "COPROC", statement) if word == "coproc" else statement

    def _parse_function(self, name: str, end: int) -> FunctionDefinition:
        self.i = end
        self.skip_newlines()
        self.enter()
        body = self._parse_statement()
        self.depth -= 1
        return FunctionDefinition(name, body)

    def _expect(self, word: str) -> None:
        self._skip_separators()
        if self._peek_reserved() != word:
            raise self.build_error(f"{word!r} is expected here")
        self.i += len(word)

    def _parse_if(self) -> CommandGroup:
        bodies = []
        self.i += 2
        while True:
            bodies.append(self.parse_script("then"))
            self._expect("then")
            bodies.append(self.parse_script("fi"))
            self._skip_separators()
            word = self._peek_reserved()
            if word != "elif":
                break
            self.i += len(word)
        if word == "else":
            self.i += len(word)
            bodies.append(self.parse_script("fi"))
        self._expect("fi")
        return CommandGroup(tuple(bodies), self.parse_redirects())

    def _parse_while(self) -> CommandGroup:
        word, begin = self.text[self.i : self.i + 5], self.i + 5
        self.i += 5
        condition = self.parse_script("do")
        plain = self.text[begin : self.i].strip(" \t\n;").rpartition("/")[2]
        endless = plain.replace(" ", "") in ({"true", ":", "((1))", "[1]"} if word == "while" else {"false", "((0))"})
        return CommandGroup((condition, self._parse_body()), self.parse_redirects(), is_endless=endless)

    def _parse_body(self) -> ShellScript:
        self._skip_separators()
        closer = "}" if self._peek_reserved() == "{" else "done"
        self._expect("{" if closer == "}" else "do")
        body = self.parse_script(closer)
        self._expect(closer)
        return body

    def _parse_for(self) -> ShellStatement:
        match = _FOR_HEADER.match(self.text, self.i)
        if match is None:
            return self._parse_counting_for()
        self.i = match.end()
        words = []
        self.skip_blanks()
        while (word := self.read_word()) is not None:
            words.append(word)
            self.skip_inner_blanks()
        return ForLoop(match[1], tuple(words), self._parse_body(), self.parse_redirects())

    def _parse_counting_for(self) -> CommandGroup:
        """Parse `for ((...))`."""
        self.i += 3
        self.skip_inner_blanks()
        end = self.find_arithmetic_end(self.i + 2) if self.text.startswith("((", self.i) else -1
        if end < 0:
            raise self.build_error("a loop has no name")
        parts = self.text[self.i + 2 : end].split(";")
        header = ShellScript((Pipeline((self._parse_arithmetic(end),)),))
        endless = len(parts) == 3 and not parts[1].strip()
        return CommandGroup((header, self._parse_body()), self.parse_redirects(), is_endless=endless)

    def _parse_case(self) -> CommandGroup:
        self.i += 4
        self.skip_inner_blanks()
        subject = self.read_word()
        if subject is None:
            raise self.build_error("a case has no subject")
        bodies = [ShellScript((Pipeline((TestCommand((subject,)),)),))]
        self.skip_newlines()
        if not self.text.startswith("in", self.i):
            raise self.build_error("'in' is expected here")
        self.i += 2
        while True:
            self._skip_separators()
            if self._peek_reserved() == "esac":
                break
            bodies.append(self._parse_case_arm())
        self._expect("esac")
        return CommandGroup(tuple(bodies), self.parse_redirects())

    def _parse_case_arm(self) -> ShellScript:
        if self.text.startswith("(", self.i):
            self.i += 1
        while True:
            self.skip_inner_blanks()
            if self.read_word() is None:
                raise self.build_error("a pattern is expected here")
            self.skip_inner_blanks()
            if not self.text.startswith("|", self.i):
                break
            self.i += 1
        if not self.text.startswith(")", self.i):
            raise self.build_error("')' is expected here")
        self.i += 1
        body = self.parse_script("esac")
        self.i += next((len(sign) for sign in (";;&", ";;", ";&") if self.text.startswith(sign, self.i)), 0)
        return body

    def _parse_test(self) -> TestCommand:
        self.i += 2
        words: list[ShellWord] = []
        while True:
            self.skip_newlines()
            word = self.read_word()
            if word is not None:
                if word.pieces == (LiteralPiece("]]", is_quoted=False),):
                    return TestCommand(tuple(words), self.parse_redirects())
                words.append(word)
            elif self.i < len(self.text):
                self.i += 1  # operators of the test: `&&`, `||`, `<`, `(`
            else:
                raise self.build_error("[[ is not closed")
