"""Expand words into arguments: braces, tildes, variables, substitutions, splitting."""

import fnmatch
from collections.abc import Callable, Iterator

from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument, ShellState
from trotline.analysis.shell.streams import Stream, join_streams
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

MAX_BRACE_WORDS = 256

_LETTER = lazy_regex(r"[A-Za-z]")
_NUMBER = lazy_regex(r"[-+]?[0-9]+")

BraceAtom = str | WordPiece
"""An unquoted character, or a piece that brace expansion leaves alone."""


def expand_braces(pieces: tuple[WordPiece, ...]) -> list[tuple[WordPiece, ...]]:
    """Return the words that `{a,b}` and `{1..3}` in a word expand to."""
    atoms: list[BraceAtom] = []
    for piece in pieces:
        if isinstance(piece, LiteralPiece) and not piece.is_quoted:
            atoms += piece.value
        else:
            atoms.append(piece)
    return [_join_atoms(word) for word in _expand_atoms(atoms, 0)]


def _join_atoms(atoms: list[BraceAtom]) -> tuple[WordPiece, ...]:
    pieces: list[WordPiece] = []
    for atom in atoms:
        last = pieces[-1] if pieces else None
        if not isinstance(atom, str):
            pieces.append(atom)
        elif isinstance(last, LiteralPiece) and not last.is_quoted:
            pieces[-1] = LiteralPiece(last.value + atom, is_quoted=False)
        else:
            pieces.append(LiteralPiece(atom, is_quoted=False))
    return tuple(pieces)


def _expand_atoms(atoms: list[BraceAtom], begin: int) -> list[list[BraceAtom]]:
    """Expand the first brace group, then the rest of the word."""
    for at in range(begin, len(atoms)):
        if atoms[at] != "{" or (at and atoms[at - 1] == "$"):
            continue
        found = _read_options(atoms, at)
        if found is None:
            continue
        options, end = found
        heads = [[*atoms[:at], *inner] for option in options for inner in _expand_atoms(option, 0)]
        tails = _expand_atoms(atoms[end:], 0)
        return [[*head, *tail] for head in heads[:MAX_BRACE_WORDS] for tail in tails[:MAX_BRACE_WORDS]][
            :MAX_BRACE_WORDS
        ]
    return [atoms]


def _read_options(atoms: list[BraceAtom], at: int) -> tuple[list[list[BraceAtom]], int] | None:
    """Return the options of the brace group at `at`, and its end."""
    depth = 0
    options: list[list[BraceAtom]] = [[]]
    for index in range(at + 1, len(atoms)):
        atom = atoms[index]
        if atom == "}" and not depth:
            options = options if len(options) > 1 else _expand_range(options[0])
            return (options, index + 1) if options else None
        if atom == "," and not depth:
            options.append([])
            continue
        depth += {"{": 1, "}": -1}.get(atom, 0) if isinstance(atom, str) else 0
        options[-1].append(atom)
    return None


def _expand_range(atoms: list[BraceAtom]) -> list[list[BraceAtom]]:
    text = "".join(atom if isinstance(atom, str) else "?" for atom in atoms)
    first, dots, rest = text.partition("..")
    last, _, step = rest.partition("..")
    if not dots:
        return []
    if _LETTER.fullmatch(first) and _LETTER.fullmatch(last):
        low, high = sorted((ord(first), ord(last)))
        return [[chr(code)] for code in range(low, high + 1)]
    if _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last) and len(first + last + step) < 16:
        low, high = sorted((int(first), int(last)))
        return [[*str(number)] for number in range(low, min(high, low + MAX_BRACE_WORDS) + 1)]
    return []


MAX_OPERAND = 4096
_SLICE = lazy_regex(r"\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?")


def apply_operator(text: str, operator: str, operand: str) -> str | None:
    """Return the value of `${name operator operand}`, or None if the operator is not supported."""
    if len(text) > MAX_OPERAND or len(operand) > MAX_OPERAND:
        return None
    if operator in {"", ":-", "-", ":=", "=", ":?", "?"}:
        return text
    if operator in {":+", "+"}:
        return operand
    if operator == "#" and not operand:
        return None
    apply = _OPERATORS.get(operator)
    return apply(text, operand) if apply is not None else None


def _slice(text: str, operand: str) -> str | None:
    match = _SLICE.fullmatch(operand)
    if match is None:
        return None
    begin = int(match[1])
    begin = max(0, begin + len(text)) if begin < 0 else begin
    if match[2] is None:
        return text[begin:]
    length = int(match[2])
    return text[begin : begin + length] if length >= 0 else text[begin : len(text) + length]


def _build_cutter(*, front: bool, greedy: bool) -> Callable[[str, str], str | None]:
    def cut(text: str, pattern: str) -> str | None:
        if len(text) > 256:  # a longer text would take too many matches
            return None
        lengths = range(len(text) + 1)
        for length in reversed(lengths) if greedy else lengths:
            part = text[:length] if front else text[len(text) - length :]
            if fnmatch.fnmatchcase(part, pattern):
                return text[length:] if front else text[: len(text) - length]
        return text

    return cut


def _build_replacer(*, every: bool) -> Callable[[str, str], str | None]:
    def replace(text: str, operand: str) -> str | None:
        old, _, new = operand.partition("/")
        if not old or any(char in old for char in "*?[\\"):
            return None
        return text.replace(old, new) if every else text.replace(old, new, 1)

    return replace


_OPERATORS: dict[str, Callable[[str, str], str | None]] = {
    ":": _slice,
    "#": _build_cutter(front=True, greedy=False),
    "##": _build_cutter(front=True, greedy=True),
    "%": _build_cutter(front=False, greedy=False),
    "%%": _build_cutter(front=False, greedy=True),
    "/": _build_replacer(every=False),
    "//": _build_replacer(every=True),
    "^^": lambda text, _: text.upper(),
    ",,": lambda text, _: text.lower(),
    "^": lambda text, _: text[:1].upper() + text[1:],
    ",": lambda text, _: text[:1].lower() + text[1:],
}


_SUBSCRIPTED = lazy_regex(r"(?s)[A-Za-z_]\w*\[(.*)\]\+?(?:=.*)?")


def get_subscript_script(word: Argument) -> Argument | None:
    """Return the script that bash runs when it evaluates `a[$(...)]`, quoted or not."""
    return get_arithmetic_script(word) if _SUBSCRIPTED.fullmatch(word.text) else None


def get_arithmetic_script(word: Argument) -> Argument | None:
    """Return the script that runs when an arithmetic expression is evaluated."""
    if "$(" not in word.text and "`" not in word.text:
        return None
    return word._replace(text=f": {word.text}")


RunScript = Callable[[ShellScript, ShellState], Stream]
"""Analyze a script in a subshell and return its output."""

MAX_ARGUMENTS = 4096
MAX_BRACES = 40
_WILDCARDS = frozenset("*?[")
_BLANKS = " \t\n"
_SEPARATOR = "\ue001"
"""Replaces every separator while a text is split; a private-use character."""


class Expansion:
    """Expands words in a shell state and analyzes the scripts in them."""

    def __init__(self, state: ShellState, run_script: RunScript, feed_script: RunScript | None = None) -> None:
        self.state = state
        self.run_script = run_script
        self.feed_script = feed_script or run_script  # for `>( ... )`, which reads the input of the command

    def expand_words(self, words: tuple[ShellWord, ...]) -> list[Argument]:
        """Return the arguments that a program gets."""
        found: list[Argument] = []
        for word in words:
            _, start, end, plain = word
            if plain:
                found.append(Argument(plain, start, end))
            elif len(found) < MAX_ARGUMENTS:
                found += self._expand_word(word)
                if len(found) >= MAX_ARGUMENTS:
                    found.append(_mark_overflow(word))
        return found

    def expand_text(self, word: ShellWord) -> Argument:
        """Expand a word that is not split: an assignment, a redirection, a here-document."""
        if word.plain:
            return Argument(word.plain, word.start, word.end)
        field = _Field()
        for index, piece in enumerate(word.pieces):
            if isinstance(piece, LiteralPiece):
                value = piece.value
                if not index and not piece.is_quoted and value.startswith("~"):
                    value = self.state.expand_tilde(value)
                field.add(value)
            else:
                self._add_whole(piece, field)
        return field.build_argument(word)

    def _expand_word(self, word: ShellWord) -> Iterator[Argument]:
        variants = [word.pieces]
        if any(isinstance(piece, LiteralPiece) and not piece.is_quoted and "{" in piece.value for piece in word.pieces):
            if sum(piece.value.count("{") for piece in word.pieces if isinstance(piece, LiteralPiece)) > MAX_BRACES:
                yield _mark_overflow(word)
                return
            variants = expand_braces(word.pieces)
            if len(variants) >= MAX_BRACE_WORDS:
                yield _mark_overflow(word)
        for pieces in variants:
            for chosen in self._choose_values(pieces):
                for field in self._split_fields(chosen):
                    yield field.build_argument(word)

    def _choose_values(self, pieces: tuple[WordPiece, ...]) -> list[tuple[WordPiece, ...]]:
        """Return one variant for each value that a variable may have."""
        for index, piece in enumerate(pieces):
            if not isinstance(piece, VariablePiece) or piece.operator or piece.subscript:
                continue
            value = self.state.get_variable(piece.name)
            if value is not None and not value.is_array and len(value.texts) > 1:
                before, after = pieces[:index], pieces[index + 1 :]
                return [
                    (*before, LiteralPiece(text, is_quoted=True), *rest)
                    for text in value.texts
                    for rest in self._choose_values(after)
                ]
        return [pieces]

    def _split_fields(self, pieces: tuple[WordPiece, ...]) -> list["_Field"]:
        fields = [_Field()]
        for index, piece in enumerate(pieces):
            if isinstance(piece, LiteralPiece):
                value = piece.value
                if not piece.is_quoted:
                    value = self.state.expand_tilde(value) if not index and value.startswith("~") else value
                    fields[-1].has_wildcard |= not _WILDCARDS.isdisjoint(value)
                fields[-1].add(value)
            elif isinstance(piece, ComputedPiece) or piece.is_quoted or _is_process_substitution(piece):
                self._add_list(piece, fields)
            else:
                self._add_split(piece, fields)
        return [field for field in fields if field.parts]

    def _add_list(self, piece: WordPiece, fields: list["_Field"]) -> None:
        """Add `"$@"` or `"${a[@]}"` as one argument per item."""
        texts = self._get_list(piece) if isinstance(piece, VariablePiece) else None
        if texts is None:
            self._add_whole(piece, fields[-1])
            return
        stream = self._get_stream(piece)
        for index, text in enumerate(texts):
            if index:
                fields.append(_Field())
            fields[-1].add(text, "", stream)

    def _get_stream(self, piece: WordPiece) -> Stream | None:
        """Return the stream that the items of an array come from."""
        value = self.state.get_variable(piece.name) if isinstance(piece, VariablePiece) else None
        return value.stream if value is not None else None

    def _add_split(self, piece: WordPiece, fields: list["_Field"]) -> None:
        inner = _Field()
        texts = self._get_list(piece) if isinstance(piece, VariablePiece) else None
        if texts is not None:
            inner.add(" ".join(texts), "", self._get_stream(piece))
        else:
            self._add_whole(piece, inner)
        text = inner.build_argument(ShellWord((), 0, 0))
        parts, separators = self._split_by_ifs(text.text)
        if text.text[:1] in separators and text.text and fields[-1].parts:
            fields.append(_Field())
        for index, part in enumerate(parts):
            if index:
                fields.append(_Field())
            fields[-1].add(part, inner.why if UNKNOWN_CHAR in part else "", inner.stream)
            fields[-1].has_wildcard |= not _WILDCARDS.isdisjoint(part)
        if parts and text.text[-1:] in separators:
            fields.append(_Field())

    def _split_by_ifs(self, text: str) -> tuple[list[str], str]:
        """Split a text by IFS, and return the parts and the separators."""
        value = self.state.get_variable("IFS")
        separators = value.texts[0] if value is not None and UNKNOWN_CHAR not in value.texts[0] else _BLANKS
        if separators == _BLANKS or not separators:
            return (text.split() if separators else [text]), separators
        marked = text.translate(dict.fromkeys(map(ord, separators), _SEPARATOR))
        return [part for part in marked.split(_SEPARATOR) if part], separators

    def _get_list(self, piece: VariablePiece) -> tuple[str, ...] | None:
        if piece.operator:
            return None
        if piece.name in {"@", "*"} and self.state.args is not None:
            return tuple(word.text for word in self.state.args)
        if piece.subscript in {"@", "*"}:
            value = self.state.get_variable(piece.name)
            return value.texts if value is not None else None
        return None

    def _add_whole(self, piece: WordPiece, field: "_Field") -> None:
        """Add a piece as one text."""
        if isinstance(piece, LiteralPiece):
            field.add(piece.value)
        elif isinstance(piece, VariablePiece):
            text, why = self._expand_variable(piece)
            field.add(text, why, self._get_stream(piece))
        elif isinstance(piece, ComputedPiece):
            for body in piece.bodies:
                self.run_script(body, self.state)
            field.add(UNKNOWN_CHAR, "the shell computes it")
        else:
            self._add_output(piece, field)

    def _add_output(self, piece: SubstitutionPiece, field: "_Field") -> None:
        stream = (self.feed_script if piece.opener == ">(" else self.run_script)(piece.body, self.state)
        if piece.opener != "$(":
            field.add(UNKNOWN_CHAR, "the name of a pipe", stream)
        elif stream.text is None and stream.listed_paths and not piece.is_quoted:
            field.add(" ".join(stream.listed_paths), "what is found", stream)
        elif stream.text is None:
            field.add(UNKNOWN_CHAR, "the output of a command", stream)
        else:
            field.add(stream.text.rstrip("\n"), "", stream)

    def _expand_variable(self, piece: VariablePiece) -> tuple[str, str]:
        why = f"the value of ${piece.name} is not in this line"
        for body in piece.bodies:
            self.run_script(body, self.state)
        text = self._get_text(piece)
        operand = self.expand_text(piece.operand).text if piece.operand is not None else ""
        prefix, operator = piece.operator[:1], piece.operator
        if prefix == "!" and piece.name:
            known = self.state.get_variable(text) if text is not None else None
            return (known.texts[0], "") if known is not None else (UNKNOWN_CHAR, why)
        if operator == "#" and not operand and piece.name:
            return UNKNOWN_CHAR, "a number"
        if text is None and operator in {":-", "-", ":=", "="}:
            return operand, why
        if text == "" and operator in {":-", ":="}:
            text = operand
        if text is None:
            return UNKNOWN_CHAR, why
        result = apply_operator(text, operator, operand)
        return (UNKNOWN_CHAR, why) if result is None else (result, why if UNKNOWN_CHAR in result else "")

    def _get_text(self, piece: VariablePiece) -> str | None:
        if piece.name.isdigit() or piece.name in {"@", "*"}:
            return self._get_positional(piece.name)
        value = self.state.get_variable(piece.name)
        if value is None:
            return None
        if piece.subscript and piece.subscript not in {"@", "*"}:
            index = piece.subscript
            return value.texts[int(index)] if index.isdigit() and int(index) < len(value.texts) else None
        return " ".join(value.texts) if piece.subscript else value.texts[0]

    def _get_positional(self, name: str) -> str | None:
        words = self.state.args
        if words is None:
            return None
        if name in {"@", "*"}:
            return " ".join(word.text for word in words)
        number = int(name)
        if not number:
            return self.state.script_name
        return words[number - 1].text if number <= len(words) else ""


def _is_process_substitution(piece: WordPiece) -> bool:
    return isinstance(piece, SubstitutionPiece) and piece.opener != "$("


def _mark_overflow(word: ShellWord) -> Argument:
    """Return an unknown argument for words beyond the limit."""
    return Argument(UNKNOWN_CHAR, word.start, word.end, "more words than Trotline follows")


class _Field:
    """An argument under construction."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.why = ""
        self.has_wildcard = False
        self.stream: Stream | None = None

    def add(self, text: str, why: str = "", stream: Stream | None = None) -> None:
        self.parts.append(text)
        self.why = self.why or why
        self.stream = join_streams([self.stream, stream]) if self.stream and stream else self.stream or stream

    def build_argument(self, word: ShellWord) -> Argument:
        text = "".join(self.parts)
        why = self.why or ("a part of it is not known" if UNKNOWN_CHAR in text else "")
        return Argument(text, word.start, word.end, why, self.has_wildcard, self.stream)
