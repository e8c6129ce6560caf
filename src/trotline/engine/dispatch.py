"""The dispatcher of the engine side: it runs all hooks, guards and functions that are configured for an event."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.agents.cursor.payloads import write_event
from trotline.config.hooks_json import lookaround
from trotline.config.hooks_json.configuration import Configuration, LayerRead, read_layers
from trotline.config.hooks_json.layers import find_layers
from trotline.config.models import Models
from trotline.config.paths import CONFIG_FILE, Roots
from trotline.config.trust import Digests, Trust, TrustState, TrustStore, build_coverage
from trotline.conversation import follow_ups
from trotline.conversation.functions import EventHandler
from trotline.conversation.sessions import Sessions, SessionState, StoredSession, Variable
from trotline.domain.editions import Edition
from trotline.domain.effects import Effect
from trotline.domain.errors import UsageError, describe_error
from trotline.domain.events import Event, PreToolUse, SessionStart, Stop, SubagentStop
from trotline.domain.findings import Finding
from trotline.domain.hooks import Hook, Search, search_unavailable
from trotline.domain.ids import uuid7
from trotline.domain.outcomes import (
    NO_GUARD_RESULT,
    Call,
    Failure,
    FailureKind,
    GuardPort,
    Loss,
    NotRun,
    Outcome,
    Response,
    Run,
    Sink,
    decide,
)
from trotline.domain.verdicts import Decision, Permission
from trotline.engine.hook_command import (
    Shell,
    build_agent_environment,
    build_argv,
    build_base_environment,
    build_session_environment,
    build_shell_argv,
)
from trotline.engine.hook_output import build_prompt_run, build_run
from trotline.engine.prompts import PendingAnswer, PromptRunner
from trotline.system.processes import Job, ProcessResult, run_all


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the engine.

    With an edition it behaves exactly like that version of Cursor. Without one it behaves like the newest, and checks
    input that a hook rewrote once more.
    """

    edition_name: str | None = None
    claude: bool = True
    shell: Shell = Shell.PLAIN
    clean_environment: bool = False
    agent: str = "engine"  # the name of the agent in the audit log
    trusted_digests: tuple[str, ...] = ()

    @property
    def edition(self) -> Edition:
        """The named edition, or the newest one."""
        return get_edition(self.edition_name or NEWEST_EDITION)

    @property
    def checks_rewrites(self) -> bool:
        """True if rewritten input is evaluated again; Cursor does not do that."""
        return self.edition_name is None


class Snapshot(NamedTuple):
    """The configuration of one event, and the trust in each workspace root."""

    configuration: Configuration
    trusted: dict[str, Trust]
    alarms: list[str]


class CollectedResponses(NamedTuple):
    """The responses of guards, functions and hooks to one event, with their losses, effects and findings."""

    responses: list[Response]
    not_run: list[NotRun]
    losses: list[Loss]
    effects: tuple[Effect, ...]
    findings: tuple[Finding, ...]


Clock = Callable[[], int]
"""Returns microseconds since the epoch."""

Signature = tuple[int, ...] | None
"""The status of a file, which changes when it is written; None if there is no file."""


class LiveConfiguration:
    """The configuration in force, and the files it was read from. Changed files are read again before the next event.

    A broken file raises an alarm, and its last valid version stays in force, so that a typing error disables no guard.
    """

    def __init__(self, roots: Roots, edition: Edition, *, claude: bool) -> None:
        self.roots = roots
        self.edition = edition
        self.claude = claude
        self._model_files = {str(directory / CONFIG_FILE) for directory in (roots.managed_config, roots.config)}
        self._signatures: dict[str, Signature] = {}
        self._valid: dict[str, LayerRead] = {}  # the last valid version of each file
        self._valid_models: Models | None = None
        self._alarms: dict[str, str] = {}
        self._lock = threading.Lock()
        self.unused: list[LayerRead] = []  # files that are not used but that trust covers
        self.configuration = self._read()

    def refresh(self) -> tuple[Configuration, list[str]]:
        """Reload changed files. Return the configuration, and alarms about files that are not in force."""
        with self._lock:  # events may be raised from many threads
            if self._compute_signatures() != self._signatures:
                self.configuration = self._read()
            return self.configuration, list(self._alarms.values())

    def _compute_signatures(self) -> dict[str, Signature]:
        files = {layer.file for layer in find_layers(self.roots, self.edition)}
        files |= {read.layer.file for read in [*self.configuration.layers, *self.unused]}  # manifests name others
        return {file: _compute_signature(file) for file in files | self._model_files}

    def _read(self) -> Configuration:
        layers = find_layers(self.roots, self.edition, claude=self.claude)
        used = {layer.file for layer in layers}
        unused = [layer for layer in find_layers(self.roots, self.edition) if layer.file not in used]
        files = {*(layer.file for layer in [*layers, *unused]), *self._model_files}
        # before reading, so that a file that changes while it is read is read again
        before = {file: _compute_signature(file) for file in files}
        configuration = read_layers(layers, self.roots, self.edition)
        configuration.layers = [self._replace_broken(read) for read in configuration.layers]
        configuration.models = self._replace_broken_models(configuration.models)
        self.unused = read_layers(unused, self.roots, self.edition).layers
        read_files = [read.layer.file for read in [*configuration.layers, *self.unused]]
        self._signatures = {**{file: _compute_signature(file) for file in read_files}, **before}
        return configuration

    def _replace_broken(self, read: LayerRead) -> LayerRead:
        """Return the read layer, or its last valid version if the file is broken."""
        file = read.layer.file
        self._alarms.pop(file, None)
        if not read.fatal_reason:
            self._valid[file] = read
            return read
        valid = self._valid.get(file)
        if valid is None or not valid.exists:
            self._alarms[file] = f"nothing of {file} is in force: {read.fatal_reason}"
            return read
        self._alarms[file] = (
            f"{file} is broken and was not taken over ({read.fatal_reason}); the last good one is in force"
        )
        return msgspec.structs.replace(valid, problems=read.problems)

    def _replace_broken_models(self, models: Models) -> Models:
        """Return the models, or the last valid ones if a file is broken. Without models, prompt hooks fail."""
        for file in self._model_files:
            self._alarms.pop(file, None)
        if not models.broken:
            self._valid_models = models
            return models
        for file, why in models.broken.items():
            self._alarms[file] = f"{file} is broken and was not taken over ({why})"
        return self._valid_models or models


def _compute_signature(file: str) -> Signature:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class Dispatcher:
    """Dispatches events to all hook layers of some roots. Guards and a sink for records are optional."""

    guards: GuardPort | None = None
    guarded_events: frozenset[type[Event]] = frozenset()
    sink: Sink | None = None

    def __init__(self, roots: Roots, environ: Mapping[str, str], clock: Clock, options: Options | None = None) -> None:
        self.roots = roots
        self.clock = clock
        self.options = options or Options()
        self.edition = self.options.edition
        self.current = LiveConfiguration(roots, self.edition, claude=self.options.claude)
        self.sessions = Sessions(roots.state / "sessions")
        self.trust_store = TrustStore(roots.state / "trust", self.options.trusted_digests)
        self._environment = build_base_environment(environ, clean=self.options.clean_environment)
        self._prompts = PromptRunner(environ, clock)
        self._digests = Digests()
        self.functions: list[EventHandler] = []

    def dispatch(self, event: Event, call: Call | None = None) -> Outcome:
        """Run everything that is configured for an event, write its record, and return the outcome.

        Only a mistake of the caller is raised. A failure of Trotline refuses what can be refused.
        """
        call = call or self._build_call()
        started = time.monotonic_ns()
        try:
            outcome = self._evaluate(event, call)
        except (TypeError, UsageError):
            raise  # a mistake of the caller, such as input that is not JSON
        except Exception as error:  # noqa: BLE001 - a failure of Trotline must not end the loop of the agent
            outcome = self._build_failed_outcome(event, call, error)
        return self._write_record(outcome, (time.monotonic_ns() - started) // 1000)

    def _build_failed_outcome(self, event: Event, call: Call, error: Exception) -> Outcome:
        failure = Failure(kind=FailureKind.CRASHED, detail=f"trotline itself failed: {describe_error(error)}")
        response = Response(author="trotline", failure=failure, fail_closed=True)
        decision = decide(event.contract, [response], self.edition)
        return Outcome(call=call, event=event, decision=decision, responses=(response,), alarms=(failure.detail,))

    def _write_record(self, outcome: Outcome, micros: int) -> Outcome:
        if self.sink is None:
            return outcome
        try:
            alarm = self.sink(outcome, micros)
        except Exception as error:  # noqa: BLE001 - the decision stands without its record
            alarm = f"the record of this call could not be kept: {describe_error(error)}"
        return msgspec.structs.replace(outcome, alarms=(*outcome.alarms, alarm)) if alarm else outcome

    def _evaluate(self, event: Event, call: Call) -> Outcome:
        """Run hooks, guards and functions, merge their responses, and store what later events need."""
        snapshot = self.take_snapshot(event)
        stored = self.sessions.read(event.conversation_id)
        stored.session.undo_claim(call.id)
        if isinstance(event, Stop | SubagentStop):
            event = follow_ups.add_loop_count(event, stored.session)
        collected = self._collect_responses(event, call, stored.session, snapshot)
        responses = [follow_ups.apply_limit(response, event, stored) for response in collected.responses]
        decision = decide(event.contract, responses, self.edition)
        effects, findings = collected.effects, collected.findings
        if self._needs_review(event, decision):
            review = self._review_rewrite(event, call, stored, responses, decision)
            responses += review.responses
            effects, findings = (*effects, *review.effects), (*findings, *review.findings)
            decision = decide(event.contract, responses, self.edition)
        alarms = [*snapshot.alarms, stored.alarm, self._store_variables(event, responses, call)]
        responses, decision, alarm = self._claim_follow_up(event, responses, decision, call)
        alarms += [alarm, *self._list_change_alarms(snapshot, responses)]
        return Outcome(
            call=call,
            event=event,
            decision=decision,
            responses=tuple(responses),
            not_run=tuple(collected.not_run),
            effects=effects,
            findings=findings,
            losses=tuple(collected.losses),
            alarms=tuple(dict.fromkeys(filter(None, alarms))),
        )

    def take_snapshot(self, event: Event) -> Snapshot:
        """Read the configuration and the trust in it together, so that what was checked is what runs."""
        configuration, alarms = self.current.refresh()
        roots = {str(root) for root in self.roots.projects}
        alarms += [f"workspace root {root} is not loaded" for root in event.workspace_roots if root not in roots]
        trusted = {root: self._judge_trust(Path(root), configuration) for root in roots}
        return Snapshot(configuration, trusted, alarms)

    def get_trust(self, root: Path) -> Trust:
        """Return the trust in the hooks of this workspace."""
        return self._judge_trust(root, self.current.configuration)

    def _judge_trust(self, root: Path, configuration: Configuration) -> Trust:
        reads = [*configuration.layers, *self.current.unused]
        return self.trust_store.judge(build_coverage(root, reads, self.roots, self._digests))

    def _collect_responses(
        self, event: Event, call: Call, session: SessionState, snapshot: Snapshot, *, without: str = ""
    ) -> CollectedResponses:
        """Run hooks, then guards and functions. In the result, guards and functions come before hooks."""
        hooks, not_run = select_hooks(snapshot, event, lookaround.search)
        runs, losses = self._run_hooks(
            [hook for hook in hooks if hook.id != without], event, session, snapshot.configuration
        )
        guarded = NO_GUARD_RESULT
        if self.guards is not None and type(event) in self.guarded_events:
            guarded = self.guards(event, call)
        responses = [
            function.respond(event)
            for function in self.functions
            if function.name != without and function.applies(event, lookaround.search)
        ]
        return CollectedResponses(
            [*guarded.responses, *responses, *runs], not_run, losses, guarded.effects, guarded.findings
        )

    def _run_hooks(
        self, hooks: list[Hook], event: Event, session: SessionState, configuration: Configuration
    ) -> tuple[list[Run], list[Loss]]:
        """Run all hooks at the same time, each as a process or as a question to a model."""
        payload = write_event(event)  # also without hooks: input that is not JSON is a mistake of the caller
        if not hooks:
            return [], []
        jobs: list[Job] = []
        losses: list[Loss] = []
        project = str(self.roots.projects[0]) if self.roots.projects else ""
        for hook in (hook for hook in hooks if hook.command):
            variables, hook_losses = build_session_environment(hook, session.env)
            losses += hook_losses
            agent_variables = build_agent_environment(event, hook, project)
            jobs.append(self._build_job(hook, {**self._environment, **variables, **agent_variables}))
        answers = iter(self._prompts.begin(hooks, payload, configuration.models))
        results = zip(run_all(jobs, payload), jobs, strict=True)
        return [self._build_run(hook, results, answers, event) for hook in hooks], losses

    def _build_run(
        self,
        hook: Hook,
        results: Iterator[tuple[ProcessResult, Job]],
        answers: Iterator[PendingAnswer],
        event: Event,
    ) -> Run:
        if hook.prompt:
            return build_prompt_run(hook, next(answers).wait(), event, self._build_call().id)
        result, job = next(results)
        return build_run(hook, result, event, self.edition, job.run_id)

    def _build_job(self, hook: Hook, environment: dict[str, str]) -> Job:
        return Job(
            argv=build_argv(hook.command, self.options.shell),
            cwd=hook.layer.cwd,
            env=environment,
            timeout=hook.timeout,
            run_id=uuid7(self.clock(), os.urandom(10)),
            fallback=build_shell_argv(hook.command, self.options.shell),
        )

    def _needs_review(self, event: Event, decision: Decision) -> bool:
        """Return whether a hook rewrote the input of a call that may still happen."""
        return (
            self.options.checks_rewrites
            and isinstance(event, PreToolUse)
            and decision.verdict.edited_input is not None
            and decision.permission is not Permission.DENY
        )

    def _review_rewrite(
        self, event: Event, call: Call, stored: StoredSession, responses: list[Response], decision: Decision
    ) -> CollectedResponses:
        """Run all hooks but its author on a rewritten input. Return stricter responses, without further rewrites."""
        edited = decision.verdict.edited_input
        author = next(response.author for response in reversed(responses) if response.verdict.edited_input == edited)
        rewritten = msgspec.structs.replace(event, tool_input=edited)
        again = self._collect_responses(rewritten, call, stored.session, self.take_snapshot(event), without=author)
        before = {response.author: response.verdict.permission for response in responses}
        stricter = [_remove_edit(response) for response in again.responses if _is_stricter(response, before)]
        return again._replace(responses=stricter)

    def _store_variables(self, event: Event, responses: list[Response], call: Call) -> str:
        """Store the variables that sessionStart sets for later hooks. Return why they could not be stored, or ""."""
        if not isinstance(event, SessionStart) or not any(response.verdict.env for response in responses):
            return ""

        def change(session: SessionState) -> None:
            for response in responses:
                for name, value in response.verdict.env.items():
                    session.set_variable(name, Variable(value, _get_authority(response)))

        return self.sessions.update(event.conversation_id, change, call.received_us)

    def _claim_follow_up(
        self, event: Event, responses: list[Response], decision: Decision, call: Call
    ) -> tuple[list[Response], Decision, str]:
        """Keep a follow-up only if it could be counted. Another process may have reached the limit meanwhile."""
        while decision.verdict.follow_up:
            winner = follow_ups.find_winner(responses, decision.verdict.follow_up)
            if winner is None:
                break
            claim = follow_ups.FollowUpClaim(winner, event, call.id)
            alarm = self.sessions.update(event.conversation_id, claim.apply, call.received_us)
            if claim.is_granted and not alarm:
                return responses, decision, ""
            without = follow_ups.remove_follow_up(winner, alarm or claim.why)
            responses = [without if response is winner else response for response in responses]
            decision = decide(event.contract, responses, self.edition)
        return responses, decision, ""

    def _list_change_alarms(self, before: Snapshot, responses: list[Response]) -> list[str]:
        """Return alarms about hooks that changed files which trust covers. The change does not stop them."""
        if not any(isinstance(response, Run) and response.hook.layer.kind.needs_trust for response in responses):
            return []
        return [
            f"files that trust in {root} covers changed while its hooks ran"
            for root, trust in before.trusted.items()
            if self._judge_trust(Path(root), before.configuration).coverage.digest != trust.coverage.digest
        ]

    def _build_call(self) -> Call:
        now = self.clock()
        directory = str(self.roots.projects[0]) if self.roots.projects else ""
        return Call(id=uuid7(now, os.urandom(10)), received_us=now, cwd=directory)


def select_hooks(snapshot: Snapshot, event: Event, search: Search) -> tuple[list[Hook], list[NotRun]]:
    """Return the hooks that run for an event, and those that are off or not trusted."""
    configuration = snapshot.configuration
    running: list[Hook] = []
    not_run: list[NotRun] = []
    for read in configuration.layers:
        for hook in read.hooks:
            if hook.event != event.wire_name:
                continue
            trust = snapshot.trusted[hook.layer.root] if hook.layer.kind.needs_trust else None
            is_trusted = trust is None or trust.state is TrustState.TRUSTED
            if off := configuration.find_inactive_reason(read, hook):
                not_run.append(NotRun(hook, off))
            elif not hook.fit(event, search if is_trusted else search_unavailable).applies:
                continue  # an untrusted pattern gets no backtracking search
            elif trust is None or is_trusted:
                running.append(hook)
            else:
                not_run.append(NotRun(hook, trust.reason))
    return running, not_run


def _get_authority(response: Response) -> int:
    return response.hook.layer.kind.authority if isinstance(response, Run) else 0


def _is_stricter(response: Response, before: dict[str, Permission]) -> bool:
    return response.failure is not None or response.verdict.permission > before.get(response.author, Permission.NONE)


def _remove_edit(response: Response) -> Response:
    verdict = msgspec.structs.replace(response.verdict, edited_input=None)
    return msgspec.structs.replace(response, verdict=verdict)
