"""Syntax tree of a shell script. Positions are columns of the line that the agent wrote.

Every evaluated call imports this module. Forward references are quoted inside of tuples, where Python does not compile
them.
"""

from typing import NamedTuple


class LiteralPiece(NamedTuple):
    """Literal characters; quoted ones are not wildcards, braces or tildes."""

    value: str
    is_quoted: bool


class VariablePiece(NamedTuple):
    """`$name` or `${name operator operand}`."""

    name: str
    is_quoted: bool
    operator: str = ""
    operand: "ShellWord | None" = None
    subscript: str = ""
    bodies: tuple["ShellScript", ...] = ()  # scripts in the subscript


class SubstitutionPiece(NamedTuple):
    """`$(...)`, `<(...)` or `>(...)`: a script whose output becomes text, or whose pipe becomes a file."""

    body: "ShellScript"
    is_quoted: bool
    opener: str  # "$(", "<(" or ">("


class ComputedPiece(NamedTuple):
    """A value that only the shell can compute, with the scripts that run for it."""

    bodies: tuple["ShellScript", ...]


WordPiece = LiteralPiece | VariablePiece | SubstitutionPiece | ComputedPiece


class ShellWord(NamedTuple):
    """A word made of pieces."""

    pieces: tuple[WordPiece, ...]
    start: int
    end: int
    plain: str = ""  # the whole word if it has only plain characters


class Assignment(NamedTuple):
    """`name=value`, `name+=value` or `name=(values)`."""

    name: str
    values: tuple[ShellWord, ...]
    start: int
    end: int
    appends: bool = False
    is_array: bool = False
    bodies: tuple["ShellScript", ...] = ()


class Redirect(NamedTuple):
    """A redirection such as `2> file`."""

    operator: str
    target: ShellWord
    fd: str = ""
    document: list[ShellWord] | None = None  # text of a here-document, added when it is read


class ShellCommand(NamedTuple):
    """A program with its words, or only assignments, or only redirections."""

    assignments: tuple[Assignment, ...]
    words: tuple[ShellWord, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class CommandGroup(NamedTuple):
    """`{ ...; }`, `( ... )`, or the bodies of loops and branches, which may or may not run."""

    bodies: tuple["ShellScript", ...]
    redirects: tuple[Redirect, ...] = ()
    is_subshell: bool = False
    is_endless: bool = False  # a loop whose condition never changes


class ForLoop(NamedTuple):
    """`for name in words`: the body runs once per word."""

    name: str
    words: tuple[ShellWord, ...]
    body: "ShellScript"
    redirects: tuple[Redirect, ...] = ()


class TestCommand(NamedTuple):
    """`[[ ... ]]`, `(( ... ))` or the subject of `case`; only substitutions in it run."""

    words: tuple[ShellWord, ...]
    redirects: tuple[Redirect, ...] = ()


class FunctionDefinition(NamedTuple):
    """`name() body`."""

    name: str
    body: "ShellStatement"


class Coprocess(NamedTuple):
    """`coproc name body`: runs in parallel, connected by pipes."""

    name: str
    body: "ShellStatement"


ShellStatement = ShellCommand | CommandGroup | ForLoop | TestCommand | FunctionDefinition | Coprocess


class Pipeline(NamedTuple):
    """Commands connected by `|`."""

    stages: tuple[ShellStatement, ...]
    connector: str = ""  # connects it with the previous one: "", ";", "&", "&&" or "||"
    in_background: bool = False


class ShellScript(NamedTuple):
    """Pipelines in order."""

    pipelines: tuple[Pipeline, ...]
    error: str = ""  # why the text could not be parsed to its end
    error_at: int = 0
    closer: str = ""  # what would close the text
