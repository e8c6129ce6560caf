"""What a line of shell is made of. Positions are columns of the line that the agent wrote.

Every call that is judged loads this: what stands further below is named by texts inside of tuples, where Python leaves
them alone, and compiles no annotation.
"""

from typing import NamedTuple


class Text(NamedTuple):
    """Characters that stand for themselves; quoted ones are no pattern, no brace and no tilde."""

    value: str
    quoted: bool


class Variable(NamedTuple):
    """`$name`, or `${name operator operand}`."""

    name: str
    quoted: bool
    operator: str = ""
    operand: "Word | None" = None
    subscript: str = ""
    bodies: tuple["Script", ...] = ()  # scripts that run to find the subscript


class Substitution(NamedTuple):
    """`$(...)` and its kin: a script whose output becomes text, or whose pipe becomes a file."""

    body: "Script"
    quoted: bool
    opener: str  # "$(", "<(" or ">("


class Reckoned(NamedTuple):
    """A value that the shell works out and we do not, with the scripts that run on the way."""

    bodies: tuple["Script", ...]


Piece = Text | Variable | Substitution | Reckoned


class Word(NamedTuple):
    pieces: tuple[Piece, ...]
    start: int
    end: int
    plain: str = ""  # the whole word, where it is letters only and means nothing else


class Assignment(NamedTuple):
    name: str
    values: tuple[Word, ...]
    start: int
    end: int
    appends: bool = False
    array: bool = False
    bodies: tuple["Script", ...] = ()


class Redirect(NamedTuple):
    operator: str
    target: Word
    fd: str = ""
    document: list[Word] | None = None  # of a here-document: its text, put here when the line that names it has ended


class Command(NamedTuple):
    """A program with its words, or only assignments, or only redirections."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Group(NamedTuple):
    """`{ ...; }`, `( ... )`, and the bodies of loops and branches, which may or may not be run."""

    bodies: tuple["Script", ...]
    redirects: tuple[Redirect, ...] = ()
    subshell: bool = False
    endless: bool = False  # a loop whose condition never changes


class Loop(NamedTuple):
    """`for name in words`: the body runs for each."""

    name: str
    words: tuple[Word, ...]
    body: "Script"
    redirects: tuple[Redirect, ...] = ()


class Test(NamedTuple):
    """`[[ ... ]]`, `(( ... ))` and the subject of `case`: nothing runs but what is substituted in them."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


class Function(NamedTuple):
    name: str
    body: "Statement"


class Coprocess(NamedTuple):
    """`coproc name body`: beside the rest, with pipes to it and from it."""

    name: str
    body: "Statement"


Statement = Command | Group | Loop | Test | Function | Coprocess


class Pipeline(NamedTuple):
    stages: tuple[Statement, ...]
    connector: str = ""  # what joins it to the one before: "", ";", "&", "&&" or "||"
    background: bool = False


class Script(NamedTuple):
    pipelines: tuple[Pipeline, ...]
    fault: str = ""  # why it could not be read to its end
    fault_at: int = 0
    closer: str = ""  # what would have to follow for it to be read


NOTHING = Script(())
