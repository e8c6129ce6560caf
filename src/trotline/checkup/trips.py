"""A sample of every event through the lines that are installed, and what an answer must be when nobody objects."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.answer import answer
from trotline.checkup.calls import Called, call
from trotline.events import EVENTS
from trotline.hosts import cursor
from trotline.hosts.host import Answer, Host, settled
from trotline.hosts.translation import write_event
from trotline.outcomes import Call
from trotline.program import seat_of, words_of
from trotline.testing.payloads import payload
from trotline.verdicts import Verdict

AT_ONCE = 4
EXPECTED = "trotline-doctor"
"""The id of a call that nobody made; it leaves no record."""


class Trip(NamedTuple):
    """One line, called once. `wrong` says what its answer is not; `objected` that our own policy wants it so."""

    event: str
    called: Called
    wrong: str = ""
    objected: bool = False


def sample(host: Host, event: str, conversation: str) -> bytes:
    """What this host might send at this event of its own."""
    ours = cursor.read_event(json.dumps(payload(host.events[event])))
    body = json.loads(write_event(host, msgspec.structs.replace(ours, conversation_id=conversation)))
    key = host.event_key.partition("|")[0]
    return json.dumps({**body, key: event} if key in body else body).encode()


def trips(host: Host, lines: Sequence[tuple[str, str]], conversation: str, home: Path) -> list[Trip]:
    """Every line once. The first goes alone: it may start a service that answers the others."""
    known = [(event, line) for event, line in lines if event in host.events]

    def trip(one: tuple[str, str]) -> Trip:
        event, line = one
        payload = sample(host, event, conversation)
        called = call(line, payload)
        wrong = _wrong(called, _silence(host, event))
        objected = bool(wrong) and not _wrong(called, _expected(host, event, payload, home))
        return Trip(event, called, "" if objected else wrong, objected)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*map(trip, known[:1]), *pool.map(trip, known[1:])]


def _silence(host: Host, event: str) -> Answer:
    """What the host is told when nobody objects."""
    ours = host.events[event]
    said, _ = settled(host, EVENTS[ours].contract, Verdict())
    return host.form(host, event, ours, said)


def _expected(host: Host, event: str, payload: bytes, home: Path) -> Answer:
    """What it is told when somebody does, by all that is configured here; judged in this process."""
    argv = ("--host", host.name, "--event", event, "--home", str(home))
    asked = Call(id=EXPECTED, argv=argv, payload=payload)
    return answer(asked, seat_of(host, words_of(argv), (), guarded=True))[0]


def _wrong(called: Called, expected: Answer) -> str:
    if called.exit_code is None:
        return called.said
    if called.exit_code != expected.exit_code:
        said = called.said.splitlines()
        return f"exit {called.exit_code}{': ' + said[-1] if said else ''}"
    try:
        same = json.loads(called.stdout or b"null") == json.loads(expected.stdout or "null")
    except ValueError:
        same = False
    return "" if same else f"answered `{called.stdout.decode('utf-8', 'replace').strip()[:200]}`"
