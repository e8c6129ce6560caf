"""Our process as a host sees it: one payload on standard input, one answer on standard output, an exit code.

Whatever breaks in here, the host gets an answer that it understands: a traceback and an exit code of 1 mean something
else on every host, and to some of them "go on".
"""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trotline.answer import Seat, all_of, answer, unjudged
from trotline.audit.records import DETAIL, PLAIN, Named, record_of
from trotline.audit.spool import Spool
from trotline.canary import CANARY
from trotline.config.places import OWN_RULES, Roots, is_configured
from trotline.engine.functions import Function
from trotline.engine.sessions import Sessions
from trotline.errors import TrotlineError, cause_of
from trotline.events import Event, OtherEvent
from trotline.hosts import ANYBODY, HOSTS, host_named
from trotline.hosts.cursor import object_of
from trotline.hosts.host import Answer, Host, Power
from trotline.hosts.recognition import TELLING, recognised
from trotline.ids import uuid7
from trotline.machine import clock, machine_roots
from trotline.outcomes import MOST_PAYLOAD, Call, Failure, FailureKind, Guarding, Heard, Outcome

if TYPE_CHECKING:
    from trotline.audit.names import Names
    from trotline.audit.wording import Wording


class Words(NamedTuple):
    """What the installed line says: `--host`, `--event`, `--home`."""

    host: str = ""
    event: str = ""
    home: str = ""


def answer_call(
    argv: Sequence[str], handlers: Sequence[Function], later: Sequence[Function] = (), *, guarded: bool
) -> int:
    """Read the call, answer it, and give the exit code; what handlers print goes to standard error."""
    out, error = os.dup(1), os.dup(2)  # a handler may close what it prints on
    os.dup2(2, 1)  # also for children of handlers
    with os.fdopen(os.dup(2), "w", errors="backslashreplace") as printed, contextlib.redirect_stdout(printed):
        call = call_of(argv, sys.stdin.buffer.read(MOST_PAYLOAD))
        sent, outcome = answered(call, handlers, guarded=guarded)
    with os.fdopen(out, "w", encoding="utf-8", errors="surrogateescape") as stdout:
        stdout.write(sent.stdout)
    with os.fdopen(error, "w", errors="backslashreplace") as stderr:
        stderr.write(f"{sent.stderr}\n" if sent.stderr else "")
    _work_later(outcome, words_of(argv), later)
    return sent.exit_code


def call_of(argv: Sequence[str], payload: bytes) -> Call:
    """Everything that the answer may depend on. Variables are looked at only when the line does not name its host."""
    now = clock()
    environ = {} if words_of(argv).host else {name: os.environ[name] for name in TELLING if name in os.environ}
    return Call(id=uuid7(now, os.urandom(10)), argv=tuple(argv), environ=environ, payload=payload, received_us=now)


def answered(call: Call, handlers: Sequence[Function], *, guarded: bool) -> tuple[Answer, Outcome]:
    """The answer, whatever happens; a failure of ours refuses what the installed line says can be refused.

    Warm and cold both come here: all that differs is who reads the payload and who writes the answer.
    """
    words = words_of(call.argv)
    host = None
    begun = time.monotonic_ns()
    try:
        host = _host(call, words)
        sent, outcome = answer(call, seat_of(host, words, handlers, guarded=guarded))
        unwritten = _write_down(outcome, host, words.home, begun)
    except BaseException as error:  # noqa: BLE001 - a host must never see our traceback, nor an exit code of others
        failure = Failure(kind=FailureKind.CRASHED, detail=f"Trotline failed: {cause_of(error)}")
        return failed(call, failure, begun, host)
    remarks = _remarks(sent, outcome, unwritten, words.home)
    return sent._replace(stderr="\n".join(remarks)) if remarks else sent, outcome


def failed(call: Call, failure: Failure, begun: int, host: Host | None = None) -> tuple[Answer, Outcome]:
    """The answer when we could not judge, and a record that says so: a call must not pass as if there had been none."""
    words = words_of(call.argv)
    host = host or host_named(words.host if words.host in HOSTS else ANYBODY)
    sent, outcome = unjudged(call, host, words.event, failure, monitors=_only_monitors(words.home))
    try:
        unwritten = _write_down(outcome, host, words.home, begun)
    except Exception as error:  # noqa: BLE001 - the host gets its answer all the same
        unwritten = f"the record of this call could not be written: {cause_of(error)}"
    return sent._replace(stderr="\n".join(_remarks(sent, outcome, unwritten, words.home))), outcome


def _write_down(outcome: Outcome, host: Host, home: str, begun: int) -> str:
    """The record, before the answer goes out; the sentence says why it could not be."""
    micros = (time.monotonic_ns() - begun) // 1000
    return _kept(home)[1].append(record_of(outcome, host.name, micros, _named(home)))


def remember(outcome: Outcome, home: str) -> str:
    """What was asked and answered, in words, beside the record; when nobody waits any more. The sentence says why they
    could not be written."""
    from trotline.audit.details import detail_of  # noqa: PLC0415 - the answer is out

    try:
        return _kept(home)[1].append(detail_of(outcome, _wording(home)))
    except Exception as error:  # noqa: BLE001 - the record is there; that its words are not must be seen there
        what = error.message if isinstance(error, TrotlineError) else type(error).__name__  # others may quote the text
        return forgo(outcome, home, what)


def forgo(outcome: Outcome, home: str, why: str) -> str:
    """Beside the record, instead of its words: why there are none."""
    missing = f"what was said could not be kept: {why}"
    return _kept(home)[1].append({"schema": DETAIL, "id": outcome.call.id, "missing": missing})


@functools.cache
def _named(home: str) -> Named:
    """Names as they are kept: few calls have one that is not plain, and wait for what cleans it."""
    has_own_rules = is_configured(_roots(home), OWN_RULES)

    def named(name: str) -> str:
        return name if not has_own_rules and PLAIN.fullmatch(name) else _names(home).kept(name)

    return named


@functools.cache
def _names(home: str) -> "Names":
    from trotline.audit.names import Names  # noqa: PLC0415 - scanners

    return Names(_roots(home))


@functools.cache
def _wording(home: str) -> "Wording":
    from trotline.audit.wording import wording_of  # noqa: PLC0415 - the answer is out

    return wording_of(_roots(home))


def seat_of(host: Host, words: Words, handlers: Sequence[Function], *, guarded: bool) -> Seat:
    """Where a call of this host is answered, by all that is configured in this home. Guards sit only where our own line
    is: a program of somebody's own says what its author wrote, and nothing twice."""
    told = _told(words.home)
    return Seat(
        host,
        handlers,
        _kept(words.home)[0],
        event=words.event,
        believing=told.believing,
        search=_search,
        guards=_guards(words.home, host.name) if guarded else None,
        always=(CANARY,),
        monitors=told.monitors,
        clean=functools.partial(_cleaned, words.home),
    )


def words_of(argv: Sequence[str]) -> Words:
    """Options of the installed line; what it does not know is left to others."""
    return _words(tuple(argv))


@functools.lru_cache(maxsize=64)
def _words(argv: tuple[str, ...]) -> Words:
    given = dict(zip(argv[::2], argv[1::2], strict=False))
    return Words(given.get("--host", ""), given.get("--event", ""), given.get("--home", ""))


def _host(call: Call, words: Words) -> Host:
    if words.host:
        return host_named(words.host)
    try:
        body = object_of(call.payload)
    except TrotlineError:
        body = {}
    return host_named(recognised(body, call.environ))


@functools.cache
def _roots(home: str) -> Roots:
    """Found once: a service is asked for every call, and ends when its home becomes another directory."""
    return machine_roots([Path("/")], Path(home) if home else None, Path("/"))  # no project: it may be gone by now


@functools.cache
def _kept(home: str) -> tuple[Sessions, Spool]:
    """Where conversations and records of this home are kept."""
    state = _roots(home).state
    return Sessions(state / "sessions", _named(home)), Spool(state / "spool")


def _guards(home: str, host: str) -> Guarding:
    """All guards of this home; read when there is something to judge."""

    def judged(event: Event, call: Call) -> Heard:
        return _guards_of(home, host)(event, call)

    return judged


@functools.cache
def _guards_of(home: str, host: str) -> Guarding:
    from trotline.guarding import guards_of  # noqa: PLC0415 - half of what a call would wait for that they let pass

    return guards_of(_roots(home), _kept(home)[0], monitors=_told(home).monitors, host=host)


def _search(pattern: str, text: str) -> bool | None:
    from trotline.config import lookaround  # noqa: PLC0415 - few matchers need a child process

    return lookaround.search(pattern, text)


class Told(NamedTuple):
    """What people told us in settings. A person who has seen their host ask may have it asked; one who is only getting
    to know us may have nothing refused."""

    believing: frozenset[Power] = frozenset()
    monitors: bool = False


@functools.cache
def _told(home: str) -> Told:
    """Read once: a service ends when a setting is changed."""
    roots = _roots(home)
    if not any((directory / "settings.json").exists() for directory in (roots.managed_config, roots.config)):
        return Told()
    from trotline.config.settings import read_settings  # noqa: PLC0415 - a reader, for a file that few people have

    settings = read_settings(roots)
    return Told(frozenset({Power.ASK}) if settings.ask_fallback == "ask" else frozenset(), settings.monitors)


def _only_monitors(home: str) -> bool:
    """For a call that has failed already, perhaps because settings cannot be read: then everything is enforced."""
    with contextlib.suppress(Exception):
        return _told(home).monitors
    return False


def _remarks(sent: Answer, outcome: Outcome, unwritten: str, home: str) -> list[str]:
    """What the host shows of a refusal, and what a person who looks at the log should see."""
    if not (sent.losses or sent.stderr or outcome.voices or outcome.alarms or outcome.withheld or unwritten):
        return []
    alarms, failed = _clean(outcome, home)
    lost = [f"{loss.host} cannot hear {loss.what}: {loss.why}" for loss in sent.losses]
    warned = [f"{voice.name}: {warning}" for voice in outcome.voices for warning in voice.warnings]
    said = dict.fromkeys([*_monitoring(outcome), *lost, *alarms, *failed, *warned, *filter(None, [unwritten])])
    return [*filter(None, [sent.stderr]), *(f"trotline: {line}" for line in said)]


def _clean(outcome: Outcome, home: str) -> tuple[list[str], list[str]]:
    """Alarms and failures, which may quote the call, without what must not be shown."""
    failed = [voice.failure.detail for voice in outcome.voices if voice.failure]
    return [_cleaned(home, alarm) for alarm in outcome.alarms], [_cleaned(home, detail) for detail in failed]


def _cleaned(home: str, text: str) -> str:
    """A text without what the rules of this home find."""
    from trotline.scanners.redaction import redacted  # noqa: PLC0415 - few calls have anything to clean

    key, scanners = os.urandom(16), None
    with contextlib.suppress(Exception):  # a home without a key, or with rules that cannot be read
        key, scanners = _wording(home).key, _wording(home).scanners
    return redacted(text, key, scanners)[0]


def _monitoring(outcome: Outcome) -> list[str]:
    if not outcome.withheld:
        return []
    by = ", ".join(outcome.decision.deciders) or "a handler"
    return [f"monitor mode: not sent: {', '.join(outcome.withheld)}, by {by}"]


def _work_later(outcome: Outcome, words: Words, later: Sequence[Function]) -> None:
    """Work that nobody waits for, in a process of its own: the host reads our pipes until they are closed."""
    if not hasattr(os, "fork"):
        remember(outcome, words.home)
        return
    if not went_apart():
        return
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    for event in _readable(outcome, words):
        for function in later:
            if function.applies(event, _search):
                function.voice(event)
    remember(outcome, words.home)
    os._exit(0)


def went_apart() -> bool:
    """True in a new process with a session of its own. The other one goes on only then: whoever sees it end, and looks
    for processes that it left behind in its group, finds none."""
    told, tells = os.pipe()
    if os.fork():
        os.close(tells)
        os.read(told, 1)  # the end of the pipe
        os.close(told)
        return False
    os.setsid()
    os.close(told)
    os.close(tells)
    return True


def _readable(outcome: Outcome, words: Words) -> Sequence[Event]:
    """What handlers can be told of a call: of one that we failed at, nothing but its name is known."""
    return () if isinstance(outcome.event, OtherEvent) else all_of(outcome.event, _host(outcome.call, words))
