"""Analyze a script as a shell would run it, without running it: each program becomes an invocation with effects."""

from collections.abc import Sequence
from itertools import pairwise

from trotline.analysis.programs import get_handler, normalize_name, replaces_program
from trotline.analysis.shell import syntax
from trotline.analysis.shell.expansion import Expansion, get_subscript_script
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.parser import parse_unclosed
from trotline.analysis.shell.redirections import apply_redirects, route_output
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, UNKNOWN_REFERENCE, Argument, Environment, ShellState
from trotline.analysis.shell.streams import EMPTY_STREAM, SHELL_SETUP, UNKNOWN_STREAM, Stream, join_streams
from trotline.domain.effects import Effect

_SETUP_COMMANDS = {
    "brew": "shellenv",
    "conda": "shell.bash shell.zsh shell.posix",
    "dircolors": "",
    "direnv": "export hook",
    "fnm": "env completions",
    "fzf": "--bash --zsh",
    "gh": "completion",
    "helm": "completion",
    "jenv": "init",
    "kubectl": "completion",
    "lesspipe": "",
    "lesspipe.sh": "",
    "luarocks": "path",
    "minikube": "docker-env podman-env completion",
    "mise": "activate env hook-env",
    "nodenv": "init",
    "opam": "env",
    "pyenv": "init virtualenv-init",
    "rbenv": "init",
    "register-python-argcomplete": "",
    "ssh-agent": "",
    "starship": "init",
    "thefuck": "--alias",
    "zoxide": "init",
}
"""Programs that print shell setup, as in `eval "$(ssh-agent -s)"`, with the arguments that make them; "" for any."""


_SYSTEM_DIRECTORIES = ("/bin/", "/usr/", "/opt/homebrew/", "/home/linuxbrew/")
"""Directories of installed programs; elsewhere a file may have any of these names."""


def prints_shell_setup(program: str, words: Sequence[Argument]) -> bool:
    """Return whether a program prints commands that set up the shell."""
    setup_args = _SETUP_COMMANDS.get(program)
    if setup_args is None or ("/" in words[0].text and not words[0].text.startswith(_SYSTEM_DIRECTORIES)):
        return False
    rest = [word.text for word in words[1:]]
    if not setup_args:  # other arguments would be a program to run
        return all(word.startswith("-") for word in rest) or program.startswith(("register", "dircolors"))
    return rest[:1] != [] and rest[0] in setup_args.split()


MAX_INVOCATIONS = 2000
MAX_DEPTH = 24
MAX_LOOP_TURNS = 16
_LIMIT_REACHED = "more than Trotline follows in one line"


class ShellAnalyzer:
    """The analysis of one command line."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.effects: list[Effect] = []
        self.invocations: list[Invocation] = []
        self.count = 0
        self.depth = 0
        self.overflowed = False
        self.depends_on_files = False  # the result depends on the current content of a file
        self.parent: Invocation | None = None
        self.source = ""
        self.span: tuple[int, int] | None = None  # columns of all effects of a text that is not literally in the line

    # Scripts

    def analyze_line(self, command: str) -> ShellState:
        """Analyze a command line and return the state after it."""
        self.source = command
        state = ShellState(self.environment)
        try:
            self.analyze_text(Argument(command, 0, len(command)), state, Stream(), None)
        except RecursionError:  # several kinds of nesting, each within its limits
            self._add_unreadable(_LIMIT_REACHED, 0)
        return state

    def read_file(self, path: str) -> str:
        """Return the content of a file before the line runs."""
        self.depends_on_files = True
        return self.environment.read_content(path)

    def analyze_text(self, at: Argument, state: ShellState, stdin: Stream, by: Invocation | None) -> Stream:
        """Analyze a text as a script.

        Effects get columns of the line if the text is literally in it, and the columns of its argument otherwise.
        """
        quote = int(by is not None)
        exact = self.span is None and at.is_known and self.source[at.start + quote : at.end - quote] == at.text
        text = at.text.replace(UNKNOWN_CHAR, UNKNOWN_REFERENCE)
        script, unclosed = parse_unclosed(text, at.start + quote if exact else 0)
        parent, self.parent = self.parent, by or self.parent
        outer_span, self.span = self.span, self.span or (None if exact else (at.start, at.end))
        stream = self.analyze_script(script, state, stdin)
        if unclosed and not script.error:
            self._add_unreadable(unclosed, 0, source="unclosed")
        self.parent, self.span = parent, outer_span
        return stream

    def analyze_script(self, script: syntax.ShellScript, state: ShellState, stdin: Stream) -> Stream:
        """Analyze all pipelines and return their output."""
        if self.depth >= MAX_DEPTH or self.count >= MAX_INVOCATIONS:
            self._add_unreadable(_LIMIT_REACHED, 0)
            return Stream()
        self.depth += 1
        streams = [self._analyze_pipeline(pipeline, state, stdin) for pipeline in script.pipelines]
        if script.error:
            self._add_unreadable(script.error, script.error_at)
        self.depth -= 1
        return join_streams(streams)

    def has_room(self, at: int) -> bool:
        """Return whether another invocation fits into the limits; report once if not."""
        self.count += 1
        if self.count <= MAX_INVOCATIONS and self.depth <= MAX_DEPTH:
            return True
        if not self.overflowed:
            self.overflowed = True
            self._add_unreadable(_LIMIT_REACHED, at)
        return False

    def _add_unreadable(self, why: str, at: int, source: str = "line") -> None:
        call = Invocation(self, ShellState(self.environment), [Argument("?", at, at + 1)], Stream())
        call.add_opaque(f"Trotline cannot read the line: {why}", source=source)
        self.add_invocation(call)

    def _analyze_pipeline(self, pipeline: syntax.Pipeline, state: ShellState, stdin: Stream) -> Stream:
        is_piped = len(pipeline.stages) > 1
        before = dict(state.variables) if pipeline.connector in {"&&", "||"} else None
        exported = state.exported
        stream = stdin
        for index, stage in enumerate(pipeline.stages):
            if index and stream == UNKNOWN_STREAM:
                stream = stream.add_origins("output")
            last = index == len(pipeline.stages) - 1
            inner = (state.copy() if last else state.copy_detached()) if is_piped else state
            stream = self._analyze_statement(stage, inner, stream)
        if before is not None:
            state.merge_values(before)
        if pipeline.connector == "||":  # what follows `&&` usually depends on it
            state.exported &= exported
        return stream

    def _analyze_statement(self, statement: syntax.ShellStatement, state: ShellState, stdin: Stream) -> Stream:
        if isinstance(statement, syntax.ShellCommand):
            return self._analyze_command(statement, state, stdin)
        if isinstance(statement, syntax.Coprocess):
            return self._analyze_coprocess(statement, state)
        if isinstance(statement, syntax.FunctionDefinition):
            state.functions[statement.name] = statement.body
            verb = _classify_recursion(statement)
            if verb:
                call = Invocation(self, state, [Argument(statement.name)], stdin)
                call.add_effect("process", verb, target=statement.name)
                self.add_invocation(call)
            elif replaces_program(statement.name):
                inner = state.copy()
                inner.args = (Argument(UNKNOWN_CHAR, why="what it will be called with"),)
                del inner.functions[statement.name]
                self._analyze_statement(statement.body, inner, Stream())
            return EMPTY_STREAM
        stdin, outputs = apply_redirects(self, statement.redirects, state, stdin)
        stream = self._analyze_compound(statement, state, stdin)
        return route_output(self, outputs, stream, state)

    def _analyze_coprocess(self, coprocess: syntax.Coprocess, state: ShellState) -> Stream:
        """Analyze a program whose input and output are two descriptors in an array."""
        body = syntax.ShellScript((syntax.Pipeline((coprocess.body,)),))
        printed = self.analyze_script(body, state.copy_detached(), EMPTY_STREAM)
        reader = state.open_descriptor("", printed)
        writer = state.open_descriptor(state.add_sink(body), EMPTY_STREAM)
        state.set(coprocess.name, (reader, writer), array=True)
        return EMPTY_STREAM

    def _analyze_compound(
        self, statement: syntax.CommandGroup | syntax.ForLoop | syntax.TestCommand, state: ShellState, stdin: Stream
    ) -> Stream:
        if isinstance(statement, syntax.TestCommand):
            words = self.build_expansion(state).expand_words(statement.words)
            for flag, word in pairwise(words):
                self._analyze_embedded(get_subscript_script(word) if flag.text == "-v" else None, state)
            return EMPTY_STREAM
        if isinstance(statement, syntax.ForLoop):
            return self._analyze_loop(statement, state, stdin)
        if statement.is_endless and _never_waits(statement.bodies[-1]):
            call = Invocation(self, state, [Argument("while")], stdin)
            call.add_effect("process", "fork bomb", target="the loop")
            self.add_invocation(call)
        if statement.is_subshell:
            return join_streams([self.analyze_script(body, state.copy(), stdin) for body in statement.bodies])
        if len(statement.bodies) == 1:
            return self.analyze_script(statement.bodies[0], state, stdin)
        before, exported = dict(state.variables), state.exported
        streams = [self.analyze_script(body, state, stdin) for body in statement.bodies]
        state.merge_values(before)
        state.exported &= exported
        return join_streams(streams)

    def _analyze_loop(self, loop: syntax.ForLoop, state: ShellState, stdin: Stream) -> Stream:
        words = self.build_expansion(state).expand_words(loop.words)
        if not loop.words:
            words = list(state.args or [Argument(UNKNOWN_CHAR)])
        streams = []
        for word in words[:MAX_LOOP_TURNS]:
            state.set(loop.name, (word.text,))
            streams.append(self.analyze_script(loop.body, state, stdin))
        if len(words) > MAX_LOOP_TURNS:
            state.set(loop.name, tuple(word.text for word in words[MAX_LOOP_TURNS:]))
            streams.append(self.analyze_script(loop.body, state, stdin))
        return join_streams(streams)

    # Commands

    def build_expansion(self, state: ShellState) -> Expansion:
        """Return an expansion whose substitutions read nothing."""
        return Expansion(state, self._analyze_substitution)

    def _analyze_substitution(self, body: syntax.ShellScript, state: ShellState) -> Stream:
        return self.analyze_script(body, state.copy_detached(), Stream())

    def _analyze_command(self, command: syntax.ShellCommand, state: ShellState, stdin: Stream) -> Stream:
        expansion = self._build_command_expansion(state, stdin)
        words = expansion.expand_words(command.words)
        assignments = self._read_assignments(command, state, expansion, keep=not words)
        stdin, outputs = apply_redirects(self, command.redirects, state, stdin)
        if not words:
            return route_output(self, outputs, EMPTY_STREAM if not command.redirects else stdin, state)
        stream = self.invoke(words, state, stdin, self.parent, assignments)
        if outputs and [word.text for word in words] == ["exec"]:
            state.outputs = outputs  # for all following commands
        return route_output(self, outputs or state.outputs, stream, state)

    def _build_command_expansion(self, state: ShellState, stdin: Stream) -> Expansion:
        """Return an expansion whose substitutions read the input of the command."""
        return Expansion(
            state,
            lambda body, inner: self.analyze_script(body, inner.copy_detached(), stdin),
            lambda body, inner: self.analyze_script(body, inner.copy(), stdin),
        )

    def _read_assignments(
        self, command: syntax.ShellCommand, state: ShellState, expansion: Expansion, *, keep: bool
    ) -> dict[str, Argument]:
        """Read assignments and return those for the program that follows. `keep` sets them in the state."""
        assignments: dict[str, Argument] = {}
        for assignment in command.assignments:
            name = assignment.name
            for body in assignment.bodies:
                self._analyze_substitution(body, state)
            if assignment.is_array:
                added = tuple(word.text for word in expansion.expand_words(assignment.values))
                before = state.get_variable(name) if assignment.appends else None
                state.set(name, (*before.texts, *added) if before is not None else added, array=True)
                continue
            value = expansion.expand_text(assignment.values[0]) if assignment.values else Argument("")
            # bash evaluates a subscript in the value when the variable is used in arithmetic
            self._analyze_embedded(get_subscript_script(value), state)
            old = state.get_variable(name)
            text = (old.texts[0] if old else UNKNOWN_CHAR) + value.text if assignment.appends else value.text
            assignments[name] = value._replace(text=text, start=assignment.start, end=assignment.end)
            if keep:
                state.set(name, (text,), stream=value.stream)
        if keep and assignments:
            call = Invocation(self, state, [Argument("export", command.start, command.end)], Stream())
            self.analyze_assignments(call, assignments)
            if call.effects or call.children:
                self.add_invocation(call)
        return assignments

    def _analyze_embedded(self, script: Argument | None, state: ShellState) -> None:
        if script is not None:
            self.analyze_text(script, state.copy(), EMPTY_STREAM, None)

    def analyze_assignments(self, call: Invocation, assignments: dict[str, Argument]) -> None:
        """Add the effects of variables that are set for a program."""
        from trotline.analysis.programs.environment_variables import add_assignments  # noqa: PLC0415 - few lines assign

        add_assignments(call, assignments)

    def invoke(
        self,
        words: Sequence[Argument],
        state: ShellState,
        stdin: Stream,
        by: Invocation | None,
        assignments: dict[str, Argument] | None = None,
        *,
        inherited: dict[str, Argument] | None = None,
    ) -> Stream:
        """Analyze a program with its expanded arguments."""
        if not words or not self.has_room(words[0].start):
            return Stream()
        call = Invocation(self, state, words, stdin)
        self.add_invocation(call, by)
        parent, self.parent = self.parent, call
        self.depth += 1
        call.assignments = {**(inherited or {}), **(assignments or {})}
        if assignments:
            self.analyze_assignments(call, assignments)
        self._dispatch(call)
        self.depth -= 1
        self.parent = parent
        if prints_shell_setup(call.name, words) and words[0].text not in {*state.functions, *state.aliases}:
            return SHELL_SETUP
        return call.stdout if call.stdout is not None else stdin.drop_text()

    def _dispatch(self, call: Invocation) -> None:
        text = call.program.text
        state = call.state
        body = state.functions.get(text)
        if body is not None:
            with state.enter_function(text, tuple(call.args)):
                call.stdout = self._analyze_statement(body, state, call.stdin)
            return
        if text in state.aliases:
            alias = call.program._replace(text=state.aliases[text])
            inner = state.copy()
            del inner.aliases[text]
            expanded = [alias._replace(text=part) for part in alias.text.split()]
            call.stdout = call.analyze_command([*expanded, *call.args], state=inner)
            return
        if UNKNOWN_CHAR in text.rpartition("/")[2] or text.endswith("/") or _depends_on_directory(call.program, state):
            foreign = call.program.stream.origin if call.program.stream is not None else ""
            source = foreign if foreign in {"network", "decoded"} else "name"
            call.add_opaque(call.program.why or "the name of the program is not known", call.program, source=source)
            return
        call.name = normalize_name(call.name)
        get_handler(call.name)(call)

    def add_invocation(self, call: Invocation, by: Invocation | None = None) -> None:
        """Add a call to its parent, or to the top level."""
        owner = by or self.parent
        (owner.children if owner is not None else self.invocations).append(call)


def _depends_on_directory(program: Argument, state: ShellState) -> bool:
    """Return whether the program depends on a directory listing: `/bin/r?`. Programs of the project are exempt."""
    directory, _, name = program.text.rpartition("/")
    if not program.has_wildcard or name in {"[", "[["} or not any(sign in name for sign in "*?["):
        return False
    resolved = f"{state.resolve(directory)}/"
    return not directory or not any(resolved.startswith(f"{root.rstrip('/')}/") for root in state.environment.roots)


def _never_waits(body: syntax.ShellScript) -> bool:
    """Return whether a loop body starts background processes and never waits."""
    first = {
        stage.words[0].plain
        for pipeline in body.pipelines
        for stage in pipeline.stages
        if isinstance(stage, syntax.ShellCommand) and stage.words
    }
    waits = first & {"wait", "sleep", "read", "break", "exit", "return"}
    return not waits and any(pipeline.in_background for pipeline in body.pipelines)


def _classify_recursion(function: syntax.FunctionDefinition) -> str:
    """Return "fork bomb" or "endless" for a function that calls itself, or an empty text."""
    pipelines = [
        pipeline
        for body in (function.body.bodies if isinstance(function.body, syntax.CommandGroup) else ())
        for pipeline in body.pipelines
    ]
    for pipeline in pipelines:
        calls = [
            stage
            for stage in pipeline.stages
            if isinstance(stage, syntax.ShellCommand)
            and stage.words
            and stage.words[0].pieces == (syntax.LiteralPiece(function.name, is_quoted=False),)
        ]
        if len(calls) > 1 or (calls and pipeline.in_background):
            return "fork bomb"
        if calls and not pipeline.connector.strip(";"):
            return "endless"
    return ""
