"""Words into arguments: braces, tildes, variables, substitutions, splitting. What is not known stays a gap."""

from collections.abc import Callable, Iterator

from trotline.analysis.scene import UNKNOWN, Argument, Scene
from trotline.analysis.shell import braces
from trotline.analysis.shell.parameters import changed
from trotline.analysis.shell.syntax import Piece, Reckoned, Script, Substitution, Text, Variable, Word
from trotline.analysis.streams import Stream, joined

Runs = Callable[[Script, Scene], Stream]
"""Reads a script that runs in a subshell, and gives what it prints."""

MOST_ARGUMENTS = 4096
MOST_BRACES = 40
_PATTERN = frozenset("*?[")
_BLANKS = " \t\n"
_MARK = "\ue001"
"""Stands for any separator while a text is cut; a character that nobody assigns."""


class Expansion:
    """Expands words in a scene; scripts in them are read on the way."""

    def __init__(self, scene: Scene, runs: Runs, fed: Runs | None = None) -> None:
        self.scene = scene
        self.runs = runs
        self.fed = fed or runs  # for `>( ... )`, into which flows what the program is given

    def arguments(self, words: tuple[Word, ...]) -> list[Argument]:
        """The words as a program gets them."""
        found: list[Argument] = []
        for word in words:
            _, start, end, plain = word
            if plain:
                found.append(Argument(plain, start, end))
            elif len(found) < MOST_ARGUMENTS:
                found += self._of(word)
                if len(found) >= MOST_ARGUMENTS:
                    found.append(_more(word))
        return found

    def text(self, word: Word) -> Argument:
        """A word where nothing is split: an assignment, a redirection, a here-document."""
        if word.plain:
            return Argument(word.plain, word.start, word.end)
        field = _Field()
        for index, piece in enumerate(word.pieces):
            if isinstance(piece, Text):
                value = piece.value
                if not index and not piece.quoted and value.startswith("~"):
                    value = self.scene.tilde(value)
                field.add(value)
            else:
                self._add_whole(piece, field)
        return field.argument(word)

    def _of(self, word: Word) -> Iterator[Argument]:
        variants = [word.pieces]
        if any(isinstance(piece, Text) and not piece.quoted and "{" in piece.value for piece in word.pieces):
            if sum(piece.value.count("{") for piece in word.pieces if isinstance(piece, Text)) > MOST_BRACES:
                yield _more(word)
                return
            variants = braces.expanded(word.pieces)
            if len(variants) >= braces.MOST_WORDS:
                yield _more(word)
        for pieces in variants:
            for chosen in self._chosen(pieces):
                for field in self._fields(chosen):
                    yield field.argument(word)

    def _chosen(self, pieces: tuple[Piece, ...]) -> list[tuple[Piece, ...]]:
        """One word for each value that a variable may have."""
        for index, piece in enumerate(pieces):
            if not isinstance(piece, Variable) or piece.operator or piece.subscript:
                continue
            value = self.scene.value(piece.name)
            if value is not None and not value.array and len(value.texts) > 1:
                before, after = pieces[:index], pieces[index + 1 :]
                return [
                    (*before, Text(text, quoted=True), *rest) for text in value.texts for rest in self._chosen(after)
                ]
        return [pieces]

    def _fields(self, pieces: tuple[Piece, ...]) -> list["_Field"]:
        fields = [_Field()]
        for index, piece in enumerate(pieces):
            if isinstance(piece, Text):
                value = piece.value
                if not piece.quoted:
                    value = self.scene.tilde(value) if not index and value.startswith("~") else value
                    fields[-1].pattern |= not _PATTERN.isdisjoint(value)
                fields[-1].add(value)
            elif isinstance(piece, Reckoned) or piece.quoted or not self._splits(piece):
                self._add_list(piece, fields)
            else:
                self._add_split(piece, fields)
        return [field for field in fields if field.begun]

    def _splits(self, piece: Piece) -> bool:
        return not (isinstance(piece, Substitution) and piece.opener != "$(")

    def _add_list(self, piece: Piece, fields: list["_Field"]) -> None:
        """`"$@"` and `"${a[@]}"` are as many words as they have."""
        texts = self._several(piece) if isinstance(piece, Variable) else None
        if texts is None:
            self._add_whole(piece, fields[-1])
            return
        stream = self._stream(piece)
        for index, text in enumerate(texts):
            if index:
                fields.append(_Field())
            fields[-1].add(text, "", stream)

    def _stream(self, piece: Piece) -> Stream | None:
        """Where the items of an array come from."""
        value = self.scene.value(piece.name) if isinstance(piece, Variable) else None
        return value.stream if value is not None else None

    def _add_split(self, piece: Piece, fields: list["_Field"]) -> None:
        inner = _Field()
        texts = self._several(piece) if isinstance(piece, Variable) else None
        if texts is not None:
            inner.add(" ".join(texts), "", self._stream(piece))
        else:
            self._add_whole(piece, inner)
        text = inner.argument(Word((), 0, 0))
        parts, signs = self._separated(text.text)
        if text.text[:1] in signs and text.text and fields[-1].begun:
            fields.append(_Field())
        for index, part in enumerate(parts):
            if index:
                fields.append(_Field())
            fields[-1].add(part, inner.why if UNKNOWN in part else "", inner.stream)
            fields[-1].pattern |= not _PATTERN.isdisjoint(part)
        if parts and text.text[-1:] in signs:
            fields.append(_Field())

    def _separated(self, text: str) -> tuple[list[str], str]:
        """The text in parts, and the signs that separate: those that the line itself gives in IFS, or blanks."""
        value = self.scene.value("IFS")
        signs = value.texts[0] if value is not None and UNKNOWN not in value.texts[0] else _BLANKS
        if signs == _BLANKS or not signs:
            return (text.split() if signs else [text]), signs
        marked = text.translate(dict.fromkeys(map(ord, signs), _MARK))
        return [part for part in marked.split(_MARK) if part], signs

    def _several(self, piece: Variable) -> tuple[str, ...] | None:
        if piece.operator:
            return None
        if piece.name in {"@", "*"} and self.scene.words is not None:
            return tuple(word.text for word in self.scene.words)
        if piece.subscript in {"@", "*"}:
            value = self.scene.value(piece.name)
            return value.texts if value is not None else None
        return None

    def _add_whole(self, piece: Piece, field: "_Field") -> None:
        """The piece as one text."""
        if isinstance(piece, Text):
            field.add(piece.value)
        elif isinstance(piece, Variable):
            text, why = self._variable(piece)
            value = self.scene.value(piece.name)
            field.add(text, why, value.stream if value is not None else None)
        elif isinstance(piece, Reckoned):
            for body in piece.bodies:
                self.runs(body, self.scene)
            field.add(UNKNOWN, "the shell works it out")
        else:
            self._add_output(piece, field)

    def _add_output(self, piece: Substitution, field: "_Field") -> None:
        stream = (self.fed if piece.opener == ">(" else self.runs)(piece.body, self.scene)
        if piece.opener != "$(":
            field.add(UNKNOWN, "the name of a pipe", stream)
        elif stream.text is None and stream.names and not piece.quoted:
            field.add(" ".join(stream.names), "what is found", stream)
        elif stream.text is None:
            field.add(UNKNOWN, "the output of a command", stream)
        else:
            field.add(stream.text.rstrip("\n"), "", stream)

    def _variable(self, piece: Variable) -> tuple[str, str]:
        why = f"the value of ${piece.name} is not in this line"
        for body in piece.bodies:
            self.runs(body, self.scene)
        text = self._value(piece)
        operand = self.text(piece.operand).text if piece.operand is not None else ""
        prefix, operator = piece.operator[:1], piece.operator
        if prefix == "!" and piece.name:
            known = self.scene.value(text) if text is not None else None
            return (known.texts[0], "") if known is not None else (UNKNOWN, why)
        if operator == "#" and not operand and piece.name:
            return UNKNOWN, "a number"
        if text is None and operator in {":-", "-", ":=", "="}:
            return operand, why
        if text == "" and operator in {":-", ":="}:
            text = operand
        if text is None:
            return UNKNOWN, why
        result = changed(text, operator, operand)
        return (UNKNOWN, why) if result is None else (result, why if UNKNOWN in result else "")

    def _value(self, piece: Variable) -> str | None:
        scene, name = self.scene, piece.name
        if name.isdigit() or name in {"@", "*"}:
            return self._positional(name)
        value = scene.value(name)
        if value is None:
            return None
        if piece.subscript and piece.subscript not in {"@", "*"}:
            index = piece.subscript
            inside = index.isdigit() and int(index) < len(value.texts)
            return value.texts[int(index)] if inside else None
        return " ".join(value.texts) if piece.subscript else value.texts[0]

    def _positional(self, name: str) -> str | None:
        words = self.scene.words
        if words is None:
            return None
        if name in {"@", "*"}:
            return " ".join(word.text for word in words)
        number = int(name)
        if not number:
            return self.scene.zero
        return words[number - 1].text if number <= len(words) else ""


def _more(word: Word) -> Argument:
    """What is too much to follow is there, and not known."""
    return Argument(UNKNOWN, word.start, word.end, "more words than Trotline follows")


class _Field:
    """One argument in the making."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.why = ""
        self.pattern = False
        self.stream: Stream | None = None
        self.begun = False

    def add(self, text: str, why: str = "", stream: Stream | None = None) -> None:
        self.parts.append(text)
        self.begun = True
        self.why = self.why or why
        self.stream = joined([self.stream, stream]) if self.stream and stream else self.stream or stream

    def argument(self, word: Word) -> Argument:
        text = "".join(self.parts)
        why = self.why or ("a part of it is not known" if UNKNOWN in text else "")
        return Argument(text, word.start, word.end, why, self.pattern, self.stream)
