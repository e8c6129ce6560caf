"""A script is read as a shell would run it, without running anything: each program becomes a step with its effects."""

from collections.abc import Sequence

from trotline.analysis.expansion import Expansion
from trotline.analysis.scene import UNKNOWN, Argument, Scene, World
from trotline.analysis.shell import syntax
from trotline.analysis.shell.parser import completed
from trotline.analysis.shell_settings import prints_settings
from trotline.analysis.step import Step
from trotline.analysis.streams import SETTINGS, SILENT, UNSEEN, Stream, joined
from trotline.analysis.tools import handler, known_as, stands_for
from trotline.effects import Effect

MOST_STEPS = 2000
DEEPEST = 24
MOST_TURNS = 16
SOCKETS = ("/dev/tcp/", "/dev/udp/")
"""Files that bash itself makes connections of."""
_CONNECTION = Stream(None, frozenset({"network"}))
_TOO_MUCH = "more than Trotline follows in one line"
GAP_NAME = "__trotline_gap"
"""A variable that no line sets: what is unknown in a text stays unknown when the text is read."""


class Reading:
    """One line being read."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.effects: list[Effect] = []
        self.steps: list[Step] = []
        self.count = 0
        self.depth = 0
        self.overflowed = False
        self.looked = False  # whether what was found depends on what is in a file now
        self.parent: Step | None = None
        self.source = ""
        self.window: tuple[int, int] | None = (
            None  # the word of the line that holds what is read now, if it was changed
        )

    # Scripts

    def line(self, command: str) -> Scene:
        """Read a whole command line; how things are after it."""
        self.source = command
        scene = Scene(self.world)
        try:
            self.text(Argument(command, 0, len(command)), scene, Stream(), None)
        except RecursionError:  # many kinds of nesting, each within its own bounds
            self._unreadable(_TOO_MUCH, 0)
        return scene

    def on_disk(self, path: str) -> str:
        """What is in a file before anything of this is done; nothing where nobody looks."""
        self.looked = True
        return self.world.content(path)

    def text(self, at: Argument, scene: Scene, stdin: Stream, by: Step | None) -> Stream:
        """Read a text as a script. Its positions are those of the line, where it stands there as it is; otherwise
        everything in it is at the word that it came in.
        """
        quote = int(by is not None)
        exact = self.window is None and at.known and self.source[at.start + quote : at.end - quote] == at.text
        text = at.text.replace(UNKNOWN, f"${GAP_NAME}")
        script, unclosed = completed(text, at.start + quote if exact else 0)
        parent, self.parent = self.parent, by or self.parent
        window, self.window = self.window, self.window or (None if exact else (at.start, at.end))
        stream = self.script(script, scene, stdin)
        if unclosed and not script.fault:
            self._unreadable(unclosed, 0, source="unclosed")
        self.parent, self.window = parent, window
        return stream

    def script(self, script: syntax.Script, scene: Scene, stdin: Stream) -> Stream:
        """Every pipeline in turn; the output of all."""
        if self.depth >= DEEPEST or self.count >= MOST_STEPS:
            self._unreadable(_TOO_MUCH, 0)
            return Stream()
        self.depth += 1
        streams = [self._pipeline(pipeline, scene, stdin) for pipeline in script.pipelines]
        if script.fault:
            self._unreadable(script.fault, script.fault_at)
        self.depth -= 1
        return joined(streams)

    def _overflow(self, at: int) -> None:
        """Said once: what follows is not looked at any more."""
        if not self.overflowed:
            self.overflowed = True
            self._unreadable(_TOO_MUCH, at)

    def _unreadable(self, why: str, at: int, source: str = "line") -> None:
        step = Step(self, Scene(self.world), [Argument("?", at, at + 1)], Stream())
        step.opaque(f"Trotline cannot read the line: {why}", source=source)
        self._keep(step)

    def _pipeline(self, pipeline: syntax.Pipeline, scene: Scene, stdin: Stream) -> Stream:
        several = len(pipeline.stages) > 1
        before = dict(scene.variables) if pipeline.connector in {"&&", "||"} else None
        exported = scene.exported
        stream = stdin
        for index, stage in enumerate(pipeline.stages):
            if index and stream == UNSEEN:
                stream = stream.also("output")
            stream = self._statement(stage, scene.copy() if several else scene, stream)
        if before is not None:
            scene.may_be(before)
        if pipeline.connector == "||":  # what follows `&&` mostly goes on with it
            scene.exported &= exported
        return stream

    def _statement(self, statement: syntax.Statement, scene: Scene, stdin: Stream) -> Stream:
        if isinstance(statement, syntax.Command):
            return self._command(statement, scene, stdin)
        if isinstance(statement, syntax.Function):
            scene.functions[statement.name] = statement.body
            verb = _calling_itself(statement)
            if verb:
                step = Step(self, scene, [Argument(statement.name)], stdin)
                step.effect("process", verb, target=statement.name)
                self._keep(step)
            elif stands_for(statement.name):
                inner = scene.copy()
                inner.words = (Argument(UNKNOWN, why="what it will be called with"),)
                del inner.functions[statement.name]
                self._statement(statement.body, inner, Stream())
            return SILENT
        if statement.redirects:
            stdin, outputs = self._redirected(statement.redirects, scene, stdin)
        else:
            outputs = []
        stream = self._compound(statement, scene, stdin)
        return self._into(outputs, stream, scene)

    def _compound(self, statement: syntax.Group | syntax.Loop | syntax.Test, scene: Scene, stdin: Stream) -> Stream:
        if isinstance(statement, syntax.Test):
            self._expansion(scene).arguments(statement.words)
            return SILENT
        if isinstance(statement, syntax.Loop):
            return self._loop(statement, scene, stdin)
        if statement.endless and _floods(statement.bodies[-1]):
            step = Step(self, scene, [Argument("while")], stdin)
            step.effect("process", "fork bomb", target="the loop")
            self._keep(step)
        if statement.subshell:
            return joined([self.script(body, scene.copy(), stdin) for body in statement.bodies])
        if len(statement.bodies) == 1:
            return self.script(statement.bodies[0], scene, stdin)
        before, exported = dict(scene.variables), scene.exported
        streams = [self.script(body, scene, stdin) for body in statement.bodies]
        scene.may_be(before)
        scene.exported &= exported
        return joined(streams)

    def _loop(self, loop: syntax.Loop, scene: Scene, stdin: Stream) -> Stream:
        words = self._expansion(scene).arguments(loop.words)
        if not loop.words:
            words = list(scene.words or [Argument(UNKNOWN)])
        streams = []
        for word in words[:MOST_TURNS]:
            scene.set(loop.name, (word.text,))
            streams.append(self.script(loop.body, scene, stdin))
        if len(words) > MOST_TURNS:
            scene.set(loop.name, tuple(word.text for word in words[MOST_TURNS:]))
            streams.append(self.script(loop.body, scene, stdin))
        return joined(streams)

    # Commands

    def _expansion(self, scene: Scene) -> Expansion:
        return Expansion(scene, self._substituted)

    def _substituted(self, body: syntax.Script, scene: Scene) -> Stream:
        return self.script(body, scene.copy(), Stream())

    def _command(self, command: syntax.Command, scene: Scene, stdin: Stream) -> Stream:
        expansion = Expansion(scene, self._substituted, lambda body, inner: self.script(body, inner.copy(), stdin))
        words = expansion.arguments(command.words)
        given = self._assigned(command, scene, keep=not words)
        stdin, outputs = self._redirected(command.redirects, scene, stdin)
        if not words:
            return self._into(outputs, SILENT if not command.redirects else stdin, scene)
        stream = self.invoke(words, scene, stdin, self.parent, given)
        return self._into(outputs, stream, scene)

    def _assigned(self, command: syntax.Command, scene: Scene, *, keep: bool) -> dict[str, Argument]:
        """Variables of the scene, or of the one program that follows."""
        given: dict[str, Argument] = {}
        expansion = self._expansion(scene)
        for assignment in command.assignments:
            name = assignment.name
            for body in assignment.bodies:
                self._substituted(body, scene)
            if assignment.array:
                added = tuple(word.text for word in expansion.arguments(assignment.values))
                before = scene.value(name) if assignment.appends else None
                scene.set(name, (*before.texts, *added) if before is not None else added, array=True)
                continue
            value = expansion.text(assignment.values[0]) if assignment.values else Argument("")
            old = scene.value(name)
            text = (old.texts[0] if old else UNKNOWN) + value.text if assignment.appends else value.text
            given[name] = value._replace(text=text, start=assignment.start, end=assignment.end)
            if keep:
                scene.set(name, (text,), stream=value.stream)
        if keep and given:
            step = Step(self, scene, [Argument("export", command.start, command.end)], Stream())
            self.environment(step, given)
            if step.effects or step.inner:
                self._keep(step)
        return given

    def environment(self, step: Step, given: dict[str, Argument]) -> None:
        from trotline.analysis.tools.variables import assigned  # noqa: PLC0415 - few lines assign

        assigned(step, given)

    def _redirected(
        self, redirects: Sequence[syntax.Redirect], scene: Scene, stdin: Stream
    ) -> tuple[Stream, list[tuple[str, bool]]]:
        """What standard input is then, and the files that the output goes to."""
        outputs: list[tuple[str, bool]] = []
        for redirect in redirects:
            target = self._expansion(scene).text(redirect.target)
            if redirect.document is not None:
                texts = [self._expansion(scene).text(document) for document in redirect.document]
                stdin = self._flowing(texts[0] if texts else Argument(""))
            elif redirect.operator == "<<<":
                stdin = self._flowing(target)
            elif redirect.operator in {"<&", ">&"} and (target.text == "-" or target.text.isdigit()):
                stdin = self._same(redirect, target.text, scene, stdin, outputs)
            else:
                stdin = self._file(redirect, target, scene, stdin, outputs)
        return stdin, outputs

    def _same(
        self, redirect: syntax.Redirect, fd: str, scene: Scene, stdin: Stream, outputs: list[tuple[str, bool]]
    ) -> Stream:
        """`<&3`, `>&3`, `0>&1`: a descriptor under another number."""
        if fd == "1" and redirect.fd in {"0", ""} and any(path.startswith(SOCKETS) for path, _ in outputs):
            return _CONNECTION
        path, stream = scene.descriptors.get(fd, ("", stdin))
        if path and redirect.operator == ">&" and redirect.fd in {"", "1"}:
            outputs.append((path, True))
        return stream if redirect.operator == "<&" and redirect.fd in {"", "0"} else stdin

    def _flowing(self, target: Argument) -> Stream:
        origin = target.stream or Stream()
        return Stream(target.text, origin.origins, origin.paths)

    def _file(
        self, redirect: syntax.Redirect, target: Argument, scene: Scene, stdin: Stream, outputs: list[tuple[str, bool]]
    ) -> Stream:
        self.count += 1
        if self.count > MOST_STEPS:
            self._overflow(target.start)
            return stdin
        step = Step(self, scene, [Argument(redirect.operator, target.start, target.end)], stdin)
        path = step.path(target)
        if path.startswith(SOCKETS):
            step.effect("connect", "socket", target, host=path.split("/")[3])
            outgoing = redirect.operator in {">", ">>", ">|", ">&", "&>", "&>>"}
            stream = stdin if outgoing and redirect.fd in {"", "1", "2"} else _CONNECTION
        elif redirect.operator in {"<", "<>", "<&"} and target.pipe is not None:
            stream = target.pipe
        elif redirect.operator in {"<", "<>", "<&"}:
            step.read(target)
            stream = scene.content(path) if path != "/dev/null" else SILENT
        else:
            step.write(target)
            stream = stdin
        if step.effects:
            self._keep(step)
        if redirect.fd in {"", "1"} and redirect.operator not in {"<", "<>", "<&"}:
            outputs.append((path, redirect.operator in {">>", "&>>"}))
        return stdin if _opened(redirect.fd, path, stream, scene) else stream

    def invoke(
        self,
        words: Sequence[Argument],
        scene: Scene,
        stdin: Stream,
        by: Step | None,
        given: dict[str, Argument] | None = None,
        *,
        inherited: dict[str, Argument] | None = None,
    ) -> Stream:
        """A program with its words, as they are after expansion."""
        self.count += 1
        if self.count > MOST_STEPS or self.depth > DEEPEST or not words:
            if words:
                self._overflow(words[0].start)
            return Stream()
        step = Step(self, scene, words, stdin)
        self._keep(step, by)
        parent, self.parent = self.parent, step
        self.depth += 1
        step.given = {**(inherited or {}), **(given or {})}
        if given:
            self.environment(step, given)
        self._handle(step)
        self.depth -= 1
        self.parent = parent
        if prints_settings(step.name, words) and words[0].text not in {*scene.functions, *scene.aliases}:
            return SETTINGS
        return step.out if step.out is not None else stdin.passed_on()

    def _handle(self, step: Step) -> None:
        text = step.program.text
        scene = step.scene
        body = scene.functions.get(text)
        if body is not None:
            inner = scene.copy()
            inner.words = tuple(step.words)
            del inner.functions[text]  # one turn is enough
            step.out = self._statement(body, inner, step.stdin)
            scene.variables.update(inner.variables)
            return
        if text in scene.aliases:
            alias = step.program._replace(text=scene.aliases[text])
            inner = scene.copy()
            del inner.aliases[text]
            expanded = [alias._replace(text=part) for part in alias.text.split()]
            step.out = step.run([*expanded, *step.words], scene=inner)
            return
        if not step.program.known:
            foreign = step.program.stream.origin if step.program.stream is not None else ""
            source = foreign if foreign in {"network", "decoded"} else "name"
            step.opaque(step.program.why or "the name of the program is not known", step.program, source=source)
            return
        step.name = known_as(step.name)
        handler(step.name)(step)

    def _into(self, outputs: list[tuple[str, bool]], stream: Stream, scene: Scene) -> Stream:
        """What goes on after redirections: nothing, where it went to a file."""
        for path, appends in outputs:
            if path.startswith(SOCKETS):
                step = Step(self, scene, [Argument(">")], stream)
                if stream.carried:
                    step.send(path.split("/")[3], source=stream.carried)
                    self._keep(step)
                continue
            before = scene.content(path) if appends and path in scene.written else SILENT
            scene.keep(path, joined([before, stream]))
        return SILENT if outputs else stream

    def _keep(self, step: Step, by: Step | None = None) -> None:
        owner = by or self.parent
        (owner.inner if owner is not None else self.steps).append(step)


def _opened(fd: str, path: str, stream: Stream, scene: Scene) -> bool:
    """Whether it is a descriptor of its own, which the line may name later; `{name}` puts its number in a variable."""
    if fd.startswith("{"):
        scene.set(fd.strip("{}"), (str(10 + len(scene.descriptors)),))
        fd = str(10 + len(scene.descriptors))
    if fd in {"", "0", "1", "2"}:
        return False
    scene.descriptors[fd] = (path, stream)
    return True


def _floods(body: syntax.Script) -> bool:
    """Starts something each turn and never waits."""
    first = {
        stage.words[0].plain
        for pipeline in body.pipelines
        for stage in pipeline.stages
        if isinstance(stage, syntax.Command) and stage.words
    }
    waits = first & {"wait", "sleep", "read", "break", "exit", "return"}
    return not waits and any(pipeline.background for pipeline in body.pipelines)


def _calling_itself(function: syntax.Function) -> str:
    """What becomes of a function that starts itself: more than once or without waiting, it multiplies."""
    pipelines = [
        pipeline
        for body in (function.body.bodies if isinstance(function.body, syntax.Group) else ())
        for pipeline in body.pipelines
    ]
    for pipeline in pipelines:
        calls = [
            stage
            for stage in pipeline.stages
            if isinstance(stage, syntax.Command)
            and stage.words
            and stage.words[0].pieces == (syntax.Text(function.name, quoted=False),)
        ]
        if len(calls) > 1 or (calls and pipeline.background):
            return "fork bomb"
        if calls and not pipeline.connector.strip(";"):
            return "endless"
    return ""
