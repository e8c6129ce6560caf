"""Engine: plays the host. `dispatch` is the story of one event."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from trotline.config import lookaround
from trotline.config.places import Roots
from trotline.config.trust import Digests, Trust, TrustStore, coverage_of
from trotline.editions import Edition
from trotline.engine import follow_ups
from trotline.engine.answers import run_of
from trotline.engine.functions import Function
from trotline.engine.launch import (
    COOKIE,
    Shell,
    argv_of,
    base_environment,
    host_environment,
    session_environment,
    through_the_shell,
)
from trotline.engine.processes import Job, run_all
from trotline.engine.reload import Current
from trotline.engine.resolution import resolve
from trotline.engine.sessions import Session, Sessions, Variable
from trotline.events import Event, PreToolUse
from trotline.hooks import Hook
from trotline.hosts.cursor import write_event
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.ids import uuid7
from trotline.outcomes import Call, Failure, FailureKind, Loss, NotRun, Outcome, Run, Voice, decide
from trotline.verdicts import Permission


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the engine plays. With an edition named it plays exactly that Cursor; without, ours, which differs in one
    rule: input that a hook rewrote is judged once more."""

    edition_name: str | None = None
    claude: bool = True
    shell: Shell = Shell.PLAIN
    clean_environment: bool = False
    trusted_digests: tuple[str, ...] = ()

    @property
    def edition(self) -> Edition:
        return edition(self.edition_name or NEWEST)

    @property
    def judges_rewrites(self) -> bool:
        return self.edition_name is None


Clock = Callable[[], int]
"""Microseconds since the epoch; given, because nothing in here asks the machine what time it is."""


class Engine:
    """All layers of some roots, ready to be raised events at."""

    def __init__(self, roots: Roots, environ: Mapping[str, str], clock: Clock, options: Options | None = None) -> None:
        self.roots = roots
        self.clock = clock
        self.options = options or Options()
        self.edition = self.options.edition
        self.current = Current(roots, self.edition, claude=self.options.claude)
        self.sessions = Sessions(roots.state / "sessions")
        self.trust_store = TrustStore(roots.state / "trust", self.options.trusted_digests)
        self._environment = base_environment(environ, clean=self.options.clean_environment)
        self._digests = Digests()
        self.functions: list[Function] = []

    def dispatch(self, event: Event, call: Call | None = None) -> Outcome:
        """Everything that happens when the loop raises an event."""
        call = call or self._call()
        alarms = self.current.refresh()
        remembered = self.sessions.read(event.conversation_id)
        event = follow_ups.counted(event, remembered.session)
        trusted = self._trusted()
        voices, not_run, losses = self._hear(event, remembered.session, trusted)
        voices = [follow_ups.limited(voice, event, remembered) for voice in voices]
        voices += self._second_look(voices, event, remembered.session, trusted)
        decision = decide(event.contract, voices, self.edition)
        alarms += self._remember(event, voices, decision.verdict.follow_up, call)
        alarms += [remembered.alarm] if remembered.alarm else []
        alarms += self._changed_while_running(trusted, voices)
        return Outcome(
            call=call,
            event=event,
            decision=decision,
            voices=tuple(voices),
            not_run=tuple(not_run),
            losses=tuple(losses),
            alarms=tuple(dict.fromkeys(alarms)),
        )

    def _hear(
        self, event: Event, session: Session, trusted: dict[str, Trust], *, without: str = ""
    ) -> tuple[list[Voice], list[NotRun], list[Loss]]:
        """What everyone says who is configured for this event, the agent's own functions first."""
        hooks, not_run = resolve(self.current.configuration, event, trusted.__getitem__, lookaround.search)
        functions = [one for one in self.functions if one.applies(event, lookaround.search) and one.name != without]
        runs, losses = self._run([hook for hook in hooks if hook.id != without], event, session)
        return [*(function.voice(event) for function in functions), *runs], not_run, losses

    def _trusted(self) -> dict[str, Trust]:
        return {str(root): self.trust(root) for root in self.roots.projects}

    def trust(self, root: Path) -> Trust:
        """Whether the hooks of this workspace may run."""
        reads = [read for read in self.current.configuration.layers if read.layer.kind.needs_trust]
        hooks = [hook for read in reads for hook in read.hooks if hook.layer.root == str(root)]
        return self.trust_store.judge(coverage_of(root, hooks, self.roots, self._digests))

    def _run(self, hooks: list[Hook], event: Event, session: Session) -> tuple[list[Run], list[Loss]]:
        payload = write_event(event)
        commands = [hook for hook in hooks if hook.command]
        jobs, losses = [], []
        for hook in commands:
            given, lost = session_environment(hook, session.env)
            losses += lost
            jobs.append(self._job(hook, {**self._environment, **given, **host_environment(event, hook)}))
        ended = dict(zip((hook.id for hook in commands), zip(jobs, run_all(jobs, payload), strict=True), strict=True))
        runs = []
        for hook in hooks:
            if hook.id in ended:
                job, end = ended[hook.id]
                runs.append(run_of(hook, end, event, self.edition, job.cookie))
            else:
                runs.append(_no_model(hook))
        return runs, losses

    def _job(self, hook: Hook, environment: dict[str, str]) -> Job:
        cookie = uuid7(self.clock(), os.urandom(10))
        return Job(
            argv=argv_of(hook.command, self.options.shell),
            cwd=hook.layer.cwd,
            env={**environment, COOKIE: cookie},
            seconds=hook.timeout,
            cookie=cookie,
            fallback=through_the_shell(hook.command, self.options.shell),
        )

    def _second_look(
        self, voices: list[Voice], event: Event, session: Session, trusted: dict[str, Trust]
    ) -> list[Voice]:
        """Rewritten input goes once more to everyone but its author, and nobody may rewrite it again."""
        first = decide(event.contract, voices, self.edition)
        edited = first.verdict.edited_input
        if edited is None or not self.options.judges_rewrites or first.permission is Permission.DENY:
            return []
        if not isinstance(event, PreToolUse):
            return []
        author = next(voice.author for voice in reversed(voices) if voice.verdict.edited_input == edited)
        rewritten = msgspec.structs.replace(event, tool_input=edited)
        again, _, _ = self._hear(rewritten, session, trusted, without=author)
        return [_without_edits(voice) for voice in again]

    def _remember(self, event: Event, voices: list[Voice], follow_up: str, call: Call) -> list[str]:
        """Variables of a session that starts, and a follow-up that will be sent."""
        winner = follow_ups.winner(voices, follow_up)
        variables = (
            {name: Variable(value, voice.rank) for voice in voices for name, value in voice.verdict.env.items()}
            if event.wire_name == "sessionStart"
            else {}
        )
        if not variables and winner is None:
            return []

        def change(session: Session) -> None:
            session.conversation = event.conversation_id
            session.env.update(variables)
            if winner is not None:
                key = follow_ups.key(winner, event)
                session.follow_ups[key] = session.follow_ups.get(key, 0) + 1

        alarm = self.sessions.update(event.conversation_id, change, call.received_us or self.clock())
        return [alarm] if alarm else []

    def _changed_while_running(self, before: dict[str, Trust], voices: list[Voice]) -> list[str]:
        """A hook that changes what trust covers is not stopped by that, and it does not go unseen."""
        if not any(isinstance(voice, Run) and voice.hook.layer.kind.needs_trust for voice in voices):
            return []
        return [
            f"files that trust in {root} covers changed while its hooks ran"
            for root, trust in before.items()
            if self.trust(Path(root)).coverage.digest != trust.coverage.digest
        ]

    def _call(self) -> Call:
        now = self.clock()
        return Call(id=uuid7(now, os.urandom(10)), received_us=now)


def _no_model(hook: Hook) -> Run:
    """Prompt hooks need a model, and none is configured."""
    detail = f'Hook "{hook.line}" was not asked: no model is configured for prompt hooks.'
    return Run(
        author=hook.id,
        layer=hook.layer.kind,
        rank=hook.layer.kind.rank,
        hook=hook,
        fail_closed=hook.fail_closed,
        failure=Failure(kind=FailureKind.UNAVAILABLE, detail=detail),
    )


def _without_edits(voice: Voice) -> Voice:
    kept = msgspec.structs.replace(voice.verdict, edited_input=None)
    return msgspec.structs.replace(voice, verdict=kept)
