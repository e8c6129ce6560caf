"""A call as a process: one payload on standard input, one reply on standard output, an exit code.

After any error, the agent gets a reply that it understands: a traceback and exit code 1 mean something else to
every agent, and to some of them "go on".
"""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trotline.agents import AGENTS, DEFAULT_AGENT, get_agent
from trotline.agents.agent import Agent, AgentReply, Capability
from trotline.agents.agent_json import parse_payload
from trotline.agents.recognition import recognise_agent
from trotline.audit.record.record_builder import DETAIL_SCHEMA, PLAIN_NAME, build_record
from trotline.audit.store.spool import Spool
from trotline.config.paths import CONFIG_FILE, OWN_RULES, Roots, is_configured
from trotline.conversation.functions import EventHandler
from trotline.conversation.sessions import Sessions
from trotline.domain.errors import TrotlineError, describe_error
from trotline.domain.events import Event, OtherEvent
from trotline.domain.ids import uuid7
from trotline.domain.outcomes import MAX_PAYLOAD_BYTES, Call, Failure, FailureKind, GuardPort, GuardResult, Outcome
from trotline.hook.answer import AnswerContext, answer, answer_failure, expand_event
from trotline.machine import find_roots, read_clock

if TYPE_CHECKING:
    from trotline.audit.record.detail_policy import DetailPolicy, NameRedactor

OLD_AGENT_OPTION = "--host"
OLD_LINE = (
    "this hook line was written by an older version of Trotline (it says --host); `trotline install` writes a new one"
)


class DeadlinePassed(BaseException):
    """The deadline of the call has passed. It interrupts the evaluation, so no handler of errors may catch it."""


class HookArguments(NamedTuple):
    """The options of the installed line that matter for the answer."""

    agent: str = ""
    event: str = ""
    home: str = ""
    alarm: str = ""  # what is wrong with the line


class HookSettings(NamedTuple):
    """The settings of a person that matter for the answer."""

    trusted_capabilities: frozenset[Capability] = frozenset()  # what the agent does although its quirks say otherwise
    is_monitoring: bool = False


class HookHome:
    """The state that all calls of one home directory share. A service ends when one of its files changes."""

    def __init__(self, home: str) -> None:
        self.roots: Roots = find_roots([Path("/")], Path(home) if home else None, Path("/"))  # the call has the project
        self.sessions = Sessions(self.roots.state / "sessions", self.clean_name)
        self.spool = Spool(self.roots.state / "spool")
        self._has_own_rules = is_configured(self.roots, OWN_RULES)
        self._panels: dict[str, GuardPort] = {}

    def clean_name(self, name: str) -> str:
        """Return the form of a name that may be stored. Scanners are loaded only for names that are not plain."""
        return name if not self._has_own_rules and PLAIN_NAME.fullmatch(name) else self._name_redactor.redact(name)

    @cached_property
    def _name_redactor(self) -> "NameRedactor":
        from trotline.audit.record.detail_policy import NameRedactor  # noqa: PLC0415 - it loads scanners

        return NameRedactor(self.roots)

    @cached_property
    def detail_policy(self) -> "DetailPolicy":
        """The rules for redacted details, read when the first detail is written."""
        from trotline.audit.record.detail_policy import read_detail_policy  # noqa: PLC0415 - used after the reply

        return read_detail_policy(self.roots)

    @cached_property
    def settings(self) -> HookSettings:
        """The settings of the user and the machine."""
        if not is_configured(self.roots, CONFIG_FILE):
            return HookSettings()
        from trotline.config.config_keys import has_settings  # noqa: PLC0415 - few people have a file

        if not has_settings(self.roots):
            return HookSettings()
        from trotline.config.settings import read_settings  # noqa: PLC0415 - few people have the file

        settings = read_settings(self.roots)
        trusted = frozenset({Capability.ASK}) if settings.ask_fallback == "ask" else frozenset()
        return HookSettings(trusted, settings.monitors)

    def is_monitoring(self) -> bool:
        """Return whether nothing may be refused. Settings that cannot be read mean that it may."""
        with contextlib.suppress(Exception):
            return self.settings.is_monitoring
        return False

    def run_guards(self, agent: str, event: Event, call: Call) -> GuardResult:
        """Evaluate an event by the guards of this home, which are loaded for the first event."""
        panel = self._panels.get(agent)
        if panel is None:
            from trotline.evaluation.machine_panel import build_panel  # noqa: PLC0415 - half of a cold call

            monitoring = self.settings.is_monitoring
            panel = build_panel(self.roots, self.sessions, is_monitoring=monitoring, agent=agent)
            self._panels[agent] = panel
        return panel(event, call)

    def redact(self, text: str) -> str:
        """Remove what the scanners of this home find in a text."""
        from trotline.scanners.redaction import redact  # noqa: PLC0415 - few calls have anything to redact

        key, scanners = os.urandom(16), None
        with contextlib.suppress(Exception):  # a home without a key, or with rules that cannot be read
            key, scanners = self.detail_policy.key, self.detail_policy.scanners
        return redact(text, key, scanners)[0]


open_home = functools.cache(HookHome)


def answer_call(
    argv: Sequence[str],
    handlers: Sequence[EventHandler],
    background_handlers: Sequence[EventHandler] = (),
    *,
    guarded: bool,
) -> int:
    """Read a call from standard input, write the reply, and return the exit code.

    What handlers print goes to standard error. Background handlers run after the reply.
    """
    out, error = os.dup(1), os.dup(2)  # a handler may close what it prints on
    os.dup2(2, 1)  # also for children of handlers
    with os.fdopen(os.dup(2), "w", errors="backslashreplace") as printed, contextlib.redirect_stdout(printed):
        call = build_call(argv, sys.stdin.buffer.read(MAX_PAYLOAD_BYTES))
        reply, outcome = handle_call(call, handlers, guarded=guarded)
    with os.fdopen(out, "w", encoding="utf-8", errors="surrogateescape") as stdout:
        stdout.write(reply.stdout)
    with os.fdopen(error, "w", errors="backslashreplace") as stderr:
        stderr.write(f"{reply.stderr}\n" if reply.stderr else "")
    _run_background(outcome, parse_arguments(argv), background_handlers)
    return reply.exit_code


def build_call(argv: Sequence[str], payload: bytes) -> Call:
    """Build the call. Variables are read only if the line does not name its agent."""
    now = read_clock()
    environ: dict[str, str] = {}
    if not parse_arguments(argv).agent:
        from trotline.agents.generated_tables import VARIABLES  # noqa: PLC0415 - installed hook lines name their agent

        environ = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    return Call(id=uuid7(now, os.urandom(10)), argv=tuple(argv), environ=environ, payload=payload, received_us=now)


def handle_call(call: Call, handlers: Sequence[EventHandler], *, guarded: bool) -> tuple[AgentReply, Outcome]:
    """Recognise the agent, answer its call and write the record. Warm and cold calls both come here.

    If Trotline fails, the action is refused where the event can be refused.
    """
    started_ns = time.monotonic_ns()
    arguments = parse_arguments(call.argv)
    agent = None
    try:
        home = open_home(arguments.home)
        agent = find_agent(call, arguments)
        reply, outcome = answer(call, build_context(agent, arguments, handlers, guarded=guarded))
        unwritten = _write_record(outcome, agent, home, started_ns)
        remarks = _list_remarks(reply, outcome, unwritten, home)
    except DeadlinePassed:
        raise
    except BaseException as error:  # noqa: BLE001 - an agent must never see our traceback or exit code
        failure = Failure(kind=FailureKind.CRASHED, detail=f"Trotline failed: {describe_error(error)}")
        return handle_failure(call, failure, started_ns, agent)
    return reply._replace(stderr="\n".join(remarks)) if remarks else reply, outcome


def handle_failure(
    call: Call, failure: Failure, started_ns: int, agent: Agent | None = None
) -> tuple[AgentReply, Outcome]:
    """Answer a call that could not be evaluated, and write a record of the failure."""
    arguments = parse_arguments(call.argv)
    home = open_home(arguments.home)
    agent = agent or get_agent(arguments.agent if arguments.agent in AGENTS else DEFAULT_AGENT)
    reply, outcome = answer_failure(
        call, agent, arguments.event, failure, is_monitoring=home.is_monitoring(), alarm=arguments.alarm
    )
    try:
        unwritten = _write_record(outcome, agent, home, started_ns)
    except Exception as error:  # noqa: BLE001 - the agent gets its reply all the same
        unwritten = f"the record of this call could not be written: {describe_error(error)}"
    return reply._replace(stderr="\n".join(_list_remarks(reply, outcome, unwritten, home))), outcome


def build_context(
    agent: Agent, arguments: HookArguments, handlers: Sequence[EventHandler], *, guarded: bool
) -> AnswerContext:
    """Build the context of a call. Guards run only for the hook line of Trotline, not for hook programs of users."""
    home = open_home(arguments.home)
    return AnswerContext(
        agent,
        handlers,
        home.sessions,
        event=arguments.event,
        trusted_capabilities=home.settings.trusted_capabilities,
        search=_search,
        guards=functools.partial(home.run_guards, agent.name) if guarded else None,
        is_monitoring=home.settings.is_monitoring,
        redact=home.redact,
        alarm=arguments.alarm,
    )


def parse_arguments(argv: Sequence[str]) -> HookArguments:
    """Parse the options of the installed line; others are ignored."""
    return _parse_arguments(tuple(argv))


@functools.lru_cache(maxsize=64)
def _parse_arguments(argv: tuple[str, ...]) -> HookArguments:
    options = dict(zip(argv[::2], argv[1::2], strict=False))
    old_agent = options.get(OLD_AGENT_OPTION, "")
    alarm = OLD_LINE if old_agent and "--agent" not in options else ""
    agent = options.get("--agent", old_agent)
    return HookArguments(agent, options.get("--event", ""), options.get("--home", ""), alarm)


def find_agent(call: Call, arguments: HookArguments) -> Agent:
    """Return the agent that the line names, or else the one that sent the payload."""
    if arguments.agent:
        return get_agent(arguments.agent)
    try:
        body = parse_payload(call.payload)
    except TrotlineError:
        body = {}
    return get_agent(recognise_agent(body, call.environ))


def _search(pattern: str, text: str) -> bool | None:
    from trotline.config.hooks_json import lookaround  # noqa: PLC0415 - few matchers need a child process

    return lookaround.search(pattern, text)


def _write_record(outcome: Outcome, agent: Agent, home: HookHome, started_ns: int) -> str:
    """Write the record before the reply is sent. Return why it could not be written, or ""."""
    micros = (time.monotonic_ns() - started_ns) // 1000
    return home.spool.append(build_record(outcome, agent.name, micros, home.clean_name))


def write_detail(outcome: Outcome, home: str) -> str:
    """Write the redacted detail of a call, after the reply was sent. Return why it could not be written, or ""."""
    from trotline.audit.record.details import build_detail  # noqa: PLC0415 - the reply was sent

    shared = open_home(home)
    try:
        return shared.spool.append(build_detail(outcome, shared.detail_policy))
    except Exception as error:  # noqa: BLE001 - the log must show that the detail is missing
        why = error.message if isinstance(error, TrotlineError) else type(error).__name__  # others may quote the text
        return write_missing_detail(outcome, home, why)


def write_missing_detail(outcome: Outcome, home: str, why: str) -> str:
    """Write why a record has no detail."""
    missing = f"what was said could not be kept: {why}"
    return open_home(home).spool.append({"schema": DETAIL_SCHEMA, "id": outcome.call.id, "missing": missing})


def _list_remarks(reply: AgentReply, outcome: Outcome, unwritten: str, home: HookHome) -> list[str]:
    """Return the lines of standard error: those for the agent, then those for a person who reads the log."""
    if not (reply.losses or reply.stderr or outcome.responses or outcome.alarms or outcome.withheld or unwritten):
        return []
    monitored = []
    if outcome.withheld:
        by = ", ".join(outcome.decision.deciders) or "a handler"
        monitored = [f"monitor mode: not sent: {', '.join(outcome.withheld)}, by {by}"]
    lost = [f"{loss.agent} cannot hear {loss.what}: {loss.why}" for loss in reply.losses]
    failed = [response.failure.detail for response in outcome.responses if response.failure]
    quoting = [home.redact(text) for text in (*outcome.alarms, *failed)]  # they may quote the call
    warned = [f"{response.name}: {warning}" for response in outcome.responses for warning in response.warnings]
    lines = dict.fromkeys([*monitored, *lost, *quoting, *warned, *filter(None, [unwritten])])
    return [*filter(None, [reply.stderr]), *(f"trotline: {line}" for line in lines)]


def _run_background(outcome: Outcome, arguments: HookArguments, background_handlers: Sequence[EventHandler]) -> None:
    """Run background handlers and write the detail in a process of its own: the agent reads our pipes until they
    are closed."""
    if not hasattr(os, "fork"):
        write_detail(outcome, arguments.home)
        return
    if not fork_detached():
        return
    redirect_to_null(0, 1, 2)
    is_known = not isinstance(outcome.event, OtherEvent)  # after a failure only the name of the event is known
    events = expand_event(outcome.event, find_agent(outcome.call, arguments)) if is_known else ()
    for event in events:
        for handler in background_handlers:
            if handler.applies(event, _search):
                handler.respond(event)
    write_detail(outcome, arguments.home)
    os._exit(0)


def redirect_to_null(*descriptors: int) -> None:
    """Redirect descriptors to the null device: an agent reads our pipes until they are closed."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(null, descriptor)


def fork_detached() -> bool:
    """Fork; return True in the new process, which has its own session.

    The parent waits until the child has left its process group, so that an agent that checks the group finds none.
    """
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        os.read(reader, 1)  # until the child closes its end
        os.close(reader)
        return False
    os.setsid()
    os.close(reader)
    os.close(writer)
    return True
