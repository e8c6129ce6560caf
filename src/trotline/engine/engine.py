"""Engine: plays the host. `dispatch` is the story of one event."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.config import lookaround
from trotline.config.configuration import Configuration
from trotline.config.places import Roots
from trotline.config.trust import Digests, Trust, TrustStore, coverage_of
from trotline.editions import Edition
from trotline.engine import follow_ups
from trotline.engine.answers import run_of
from trotline.engine.functions import Function
from trotline.engine.launch import (
    Shell,
    argv_of,
    base_environment,
    host_environment,
    session_environment,
    through_the_shell,
)
from trotline.engine.opinions import run_of_opinion
from trotline.engine.processes import Ended, Job, run_all
from trotline.engine.prompts import Asking, Prompts
from trotline.engine.reload import Current
from trotline.engine.resolution import resolve
from trotline.engine.sessions import Session, Sessions, Variable
from trotline.events import Event, PreToolUse
from trotline.hooks import Hook
from trotline.hosts.cursor import write_event
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.ids import uuid7
from trotline.outcomes import Call, Loss, NotRun, Outcome, Run, Voice, decide
from trotline.verdicts import Decision, Permission


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the engine plays. With an edition named it plays exactly that Cursor; without, ours, which differs in one
    rule: input that a hook rewrote is judged once more."""

    edition_name: str | None = None
    claude: bool = True
    shell: Shell = Shell.PLAIN
    clean_environment: bool = False
    host: str = "engine"  # what the trail calls the agent
    trusted_digests: tuple[str, ...] = ()

    @property
    def edition(self) -> Edition:
        return edition(self.edition_name or NEWEST)

    @property
    def judges_rewrites(self) -> bool:
        return self.edition_name is None


class Snapshot(NamedTuple):
    """Everything that one event is judged by."""

    configuration: Configuration
    trusted: dict[str, Trust]
    alarms: list[str]


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
        self._prompts = Prompts(environ, clock)
        self._digests = Digests()
        self.functions: list[Function] = []

    def dispatch(self, event: Event, call: Call | None = None) -> Outcome:
        """Everything that happens when the loop raises an event."""
        call = call or self._call()
        now = self.look(event)
        remembered = self.sessions.read(event.conversation_id)
        remembered.session.take_back(call.id)
        event = follow_ups.counted(event, remembered.session)
        voices, not_run, losses = self._hear(event, remembered.session, now)
        voices = [follow_ups.limited(voice, event, remembered) for voice in voices]
        voices += self._second_look(voices, event, remembered.session)
        alarms = [*now.alarms, remembered.alarm, *self._remember_variables(event, voices, call)]
        voices, decision, alarm = self._claim_follow_up(event, voices, call)
        alarms += [alarm, *self._changed_while_running(now, voices)]
        return Outcome(
            call=call,
            event=event,
            decision=decision,
            voices=tuple(voices),
            not_run=tuple(not_run),
            losses=tuple(losses),
            alarms=tuple(dict.fromkeys(filter(None, alarms))),
        )

    def look(self, event: Event) -> Snapshot:
        """The configuration and the trust in it, taken together: what is judged is what will run."""
        configuration, alarms = self.current.refresh()
        roots = {str(root) for root in self.roots.projects}
        alarms += [f"workspace root {root} is not loaded" for root in event.workspace_roots if root not in roots]
        trusted = {root: self._trust_in(Path(root), configuration) for root in roots}
        return Snapshot(configuration, trusted, alarms)

    def trust(self, root: Path) -> Trust:
        """Whether the hooks of this workspace may run."""
        return self._trust_in(root, self.current.configuration)

    def _trust_in(self, root: Path, configuration: Configuration) -> Trust:
        reads = [*configuration.layers, *self.current.beside]
        return self.trust_store.judge(coverage_of(root, reads, self.roots, self._digests))

    def _hear(
        self, event: Event, session: Session, now: Snapshot, *, without: str = ""
    ) -> tuple[list[Voice], list[NotRun], list[Loss]]:
        """What everyone says who is configured for this event, the agent's own functions first."""
        hooks, not_run = resolve(now.configuration, event, now.trusted.__getitem__, lookaround.search)
        functions = [one for one in self.functions if one.applies(event, lookaround.search) and one.name != without]
        runs, losses = self._run([hook for hook in hooks if hook.id != without], event, session, now.configuration)
        return [*(function.voice(event) for function in functions), *runs], not_run, losses

    def _run(
        self, hooks: list[Hook], event: Event, session: Session, configuration: Configuration
    ) -> tuple[list[Run], list[Loss]]:
        """A process or a question for each hook, all at once."""
        jobs: list[Job] = []
        losses: list[Loss] = []
        for hook in (hook for hook in hooks if hook.command):
            given, lost = session_environment(hook, session.env)
            losses += lost
            project = str(self.roots.projects[0]) if self.roots.projects else ""
            jobs.append(self._job(hook, {**self._environment, **given, **host_environment(event, hook, project)}))
        payload = write_event(event)
        asked = iter(self._prompts.begin(hooks, payload, configuration.models))
        ended = zip(run_all(jobs, payload), jobs, strict=True)
        return [self._run_of(hook, ended, asked, event) for hook in hooks], losses

    def _run_of(self, hook: Hook, ended: Iterator[tuple[Ended, Job]], asked: Iterator[Asking], event: Event) -> Run:
        if hook.prompt:
            return run_of_opinion(hook, next(asked).opinion(), event, self._call().id)
        how, job = next(ended)
        return run_of(hook, how, event, self.edition, job.cookie)

    def _job(self, hook: Hook, environment: dict[str, str]) -> Job:
        cookie = uuid7(self.clock(), os.urandom(10))
        return Job(
            argv=argv_of(hook.command, self.options.shell),
            cwd=hook.layer.cwd,
            env=environment,
            seconds=hook.timeout,
            cookie=cookie,
            fallback=through_the_shell(hook.command, self.options.shell),
        )

    def _second_look(self, voices: list[Voice], event: Event, session: Session) -> list[Voice]:
        """Rewritten input goes once more to everyone but its author, and nobody may rewrite it again."""
        first = decide(event.contract, voices, self.edition)
        edited = first.verdict.edited_input
        if edited is None or not self.options.judges_rewrites or first.permission is Permission.DENY:
            return []
        if not isinstance(event, PreToolUse):
            return []
        author = next(voice.author for voice in reversed(voices) if voice.verdict.edited_input == edited)
        rewritten = msgspec.structs.replace(event, tool_input=edited)
        again, _, _ = self._hear(rewritten, session, self.look(event), without=author)
        before = {voice.author: voice.verdict.permission for voice in voices}
        return [_without_edits(voice) for voice in again if _has_news(voice, before)]

    def _remember_variables(self, event: Event, voices: list[Voice], call: Call) -> list[str]:
        """What a session that starts sets for later hooks."""
        if event.wire_name != "sessionStart" or not any(voice.verdict.env for voice in voices):
            return []

        def change(session: Session) -> None:
            for voice in voices:
                for name, value in voice.verdict.env.items():
                    session.set(name, Variable(value, _authority(voice)))

        alarm = self.sessions.update(event.conversation_id, change, call.received_us)
        return [alarm] if alarm else []

    def _claim_follow_up(self, event: Event, voices: list[Voice], call: Call) -> tuple[list[Voice], Decision, str]:
        """The decision, with a follow-up only if it could be counted: others may have just had the last one."""
        while True:
            decision = decide(event.contract, voices, self.edition)
            winner = follow_ups.winner(voices, decision.verdict.follow_up)
            if winner is None:
                return voices, decision, ""
            claim = follow_ups.Claim(winner, event, call.id)
            alarm = self.sessions.update(event.conversation_id, claim.make, call.received_us)
            if claim.granted and not alarm:
                return voices, decision, ""
            why = alarm or claim.why
            voices = [follow_ups.without(voice, why) if voice is winner else voice for voice in voices]

    def _changed_while_running(self, before: Snapshot, voices: list[Voice]) -> list[str]:
        """A hook that changes what trust covers is not stopped by that, and it does not go unseen."""
        if not any(isinstance(voice, Run) and voice.hook.layer.kind.needs_trust for voice in voices):
            return []
        return [
            f"files that trust in {root} covers changed while its hooks ran"
            for root, trust in before.trusted.items()
            if self._trust_in(Path(root), before.configuration).coverage.digest != trust.coverage.digest
        ]

    def _call(self) -> Call:
        now = self.clock()
        return Call(id=uuid7(now, os.urandom(10)), received_us=now)


def _authority(voice: Voice) -> int:
    return voice.hook.layer.kind.authority if isinstance(voice, Run) else 0


def _has_news(voice: Voice, before: dict[str, Permission]) -> bool:
    """Whether a second look found more to mind than the first."""
    return voice.failure is not None or voice.verdict.permission > before.get(voice.author, Permission.SILENT)


def _without_edits(voice: Voice) -> Voice:
    kept = msgspec.structs.replace(voice.verdict, edited_input=None)
    return msgspec.structs.replace(voice, verdict=kept)
