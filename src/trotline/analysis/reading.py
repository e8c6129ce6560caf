"""A script is read as a shell would run it, without running anything: each program becomes a step with its effects."""

from collections.abc import Sequence
from itertools import pairwise

from trotline.analysis.expansion import Expansion
from trotline.analysis.redirections import into, redirected
from trotline.analysis.scene import UNKNOWN, Argument, Scene, World
from trotline.analysis.shell import syntax
from trotline.analysis.shell.parser import completed
from trotline.analysis.shell_settings import prints_settings
from trotline.analysis.step import Step
from trotline.analysis.streams import SETTINGS, SILENT, UNSEEN, Stream, joined
from trotline.analysis.subscripts import subscript
from trotline.analysis.tools import handler, known_as, stands_for
from trotline.effects import Effect

MOST_STEPS = 2000
DEEPEST = 24
MOST_TURNS = 16
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

    def has_room(self, at: int) -> bool:
        """Whether one more step is followed. That none is, is said once: what comes then is not looked at any more."""
        self.count += 1
        if self.count <= MOST_STEPS and self.depth <= DEEPEST:
            return True
        if not self.overflowed:
            self.overflowed = True
            self._unreadable(_TOO_MUCH, at)
        return False

    def _unreadable(self, why: str, at: int, source: str = "line") -> None:
        step = Step(self, Scene(self.world), [Argument("?", at, at + 1)], Stream())
        step.opaque(f"Trotline cannot read the line: {why}", source=source)
        self.keep(step)

    def _pipeline(self, pipeline: syntax.Pipeline, scene: Scene, stdin: Stream) -> Stream:
        several = len(pipeline.stages) > 1
        before = dict(scene.variables) if pipeline.connector in {"&&", "||"} else None
        exported = scene.exported
        stream = stdin
        for index, stage in enumerate(pipeline.stages):
            if index and stream == UNSEEN:
                stream = stream.also("output")
            last = index == len(pipeline.stages) - 1
            inner = (scene.copy() if last else scene.apart()) if several else scene
            stream = self._statement(stage, inner, stream)
        if before is not None:
            scene.may_be(before)
        if pipeline.connector == "||":  # what follows `&&` mostly goes on with it
            scene.exported &= exported
        return stream

    def _statement(self, statement: syntax.Statement, scene: Scene, stdin: Stream) -> Stream:
        if isinstance(statement, syntax.Command):
            return self._command(statement, scene, stdin)
        if isinstance(statement, syntax.Coprocess):
            return self._beside(statement, scene)
        if isinstance(statement, syntax.Function):
            scene.functions[statement.name] = statement.body
            verb = _calling_itself(statement)
            if verb:
                step = Step(self, scene, [Argument(statement.name)], stdin)
                step.effect("process", verb, target=statement.name)
                self.keep(step)
            elif stands_for(statement.name):
                inner = scene.copy()
                inner.words = (Argument(UNKNOWN, why="what it will be called with"),)
                del inner.functions[statement.name]
                self._statement(statement.body, inner, Stream())
            return SILENT
        if statement.redirects:
            stdin, outputs = redirected(self, statement.redirects, scene, stdin)
        else:
            outputs = []
        stream = self._compound(statement, scene, stdin)
        return into(self, outputs, stream, scene)

    def _beside(self, coprocess: syntax.Coprocess, scene: Scene) -> Stream:
        """A program whose input and output are two descriptors, under the name of an array."""
        body = syntax.Script((syntax.Pipeline((coprocess.body,)),))
        printed = self.script(body, scene.apart(), SILENT)
        scene.set(coprocess.name, (scene.open("", printed), scene.open(scene.sink(body), SILENT)), array=True)
        return SILENT

    def _compound(self, statement: syntax.Group | syntax.Loop | syntax.Test, scene: Scene, stdin: Stream) -> Stream:
        if isinstance(statement, syntax.Test):
            words = self.expansion(scene).arguments(statement.words)
            for flag, word in pairwise(words):
                self._on_the_way(subscript(word) if flag.text == "-v" else None, scene)
            return SILENT
        if isinstance(statement, syntax.Loop):
            return self._loop(statement, scene, stdin)
        if statement.endless and _floods(statement.bodies[-1]):
            step = Step(self, scene, [Argument("while")], stdin)
            step.effect("process", "fork bomb", target="the loop")
            self.keep(step)
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
        words = self.expansion(scene).arguments(loop.words)
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

    def expansion(self, scene: Scene) -> Expansion:
        return Expansion(scene, self._substituted)

    def _substituted(self, body: syntax.Script, scene: Scene) -> Stream:
        return self.script(body, scene.apart(), Stream())

    def _command(self, command: syntax.Command, scene: Scene, stdin: Stream) -> Stream:
        expansion = self._expansion(scene, stdin)
        words = expansion.arguments(command.words)
        given = self._assigned(command, scene, expansion, keep=not words)
        stdin, outputs = redirected(self, command.redirects, scene, stdin)
        if not words:
            return into(self, outputs, SILENT if not command.redirects else stdin, scene)
        stream = self.invoke(words, scene, stdin, self.parent, given)
        if outputs and [word.text for word in words] == ["exec"]:
            scene.onto = outputs  # from here on
        return into(self, outputs or scene.onto, stream, scene)

    def _expansion(self, scene: Scene, stdin: Stream) -> Expansion:
        """What is substituted reads what the command would read."""
        return Expansion(
            scene,
            lambda body, inner: self.script(body, inner.apart(), stdin),
            lambda body, inner: self.script(body, inner.copy(), stdin),
        )

    def _assigned(
        self, command: syntax.Command, scene: Scene, expansion: Expansion, *, keep: bool
    ) -> dict[str, Argument]:
        """Variables of the scene, or of the one program that follows."""
        given: dict[str, Argument] = {}
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
            self._on_the_way(subscript(value), scene)  # an expression that names the variable works it out
            old = scene.value(name)
            text = (old.texts[0] if old else UNKNOWN) + value.text if assignment.appends else value.text
            given[name] = value._replace(text=text, start=assignment.start, end=assignment.end)
            if keep:
                scene.set(name, (text,), stream=value.stream)
        if keep and given:
            step = Step(self, scene, [Argument("export", command.start, command.end)], Stream())
            self.environment(step, given)
            if step.effects or step.inner:
                self.keep(step)
        return given

    def _on_the_way(self, script: Argument | None, scene: Scene) -> None:
        if script is not None:
            self.text(script, scene.copy(), SILENT, None)

    def environment(self, step: Step, given: dict[str, Argument]) -> None:
        from trotline.analysis.tools.variables import assigned  # noqa: PLC0415 - few lines assign

        assigned(step, given)

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
        if not words or not self.has_room(words[0].start):
            return Stream()
        step = Step(self, scene, words, stdin)
        self.keep(step, by)
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
            with scene.called(text, tuple(step.words)):
                step.out = self._statement(body, scene, step.stdin)
            return
        if text in scene.aliases:
            alias = step.program._replace(text=scene.aliases[text])
            inner = scene.copy()
            del inner.aliases[text]
            expanded = [alias._replace(text=part) for part in alias.text.split()]
            step.out = step.run([*expanded, *step.words], scene=inner)
            return
        if UNKNOWN in text.rpartition("/")[2] or text.endswith("/") or _is_chosen(step.program, scene):
            foreign = step.program.stream.origin if step.program.stream is not None else ""
            source = foreign if foreign in {"network", "decoded"} else "name"
            step.opaque(step.program.why or "the name of the program is not known", step.program, source=source)
            return
        step.name = known_as(step.name)
        handler(step.name)(step)

    def keep(self, step: Step, by: Step | None = None) -> None:
        owner = by or self.parent
        (owner.inner if owner is not None else self.steps).append(step)


def _is_chosen(program: Argument, scene: Scene) -> bool:
    """`/bin/r?`: which program it is depends on what is in a directory; those of the project are the project's."""
    directory, _, name = program.text.rpartition("/")
    if not program.pattern or name in {"[", "[["} or not any(sign in name for sign in "*?["):
        return False
    place = f"{scene.absolute(directory)}/"
    return not directory or not any(place.startswith(f"{root.rstrip('/')}/") for root in scene.world.roots)


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
