"""The trail as it happens: calls as they come, and what does not fit together any more."""

import time

import click
from msgspec.structs import replace

from trotline.audit.alarms import Alarm
from trotline.audit.arrivals import SPAN, arrived
from trotline.audit.export import as_lines
from trotline.audit.query import Query
from trotline.audit.sqlite_store import RECENT_FOR_ALARMS, SqliteStore
from trotline.cli.output import paint
from trotline.cli.patience import opened_trail
from trotline.cli.showing import alarms_about, line_of, tell_alarms, tell_unread
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.machine import clock
from trotline.outward import Sender

LOOKS = 0.2
"""Seconds between two looks at the trail."""

PATIENCE_US = 1_500_000
"""How long a call waits for its words; those that came after it wait with it, so that none is passed over."""


class Follower:
    """How far somebody who follows the trail has come: calls that were shown, alarms that were told."""

    def __init__(self, store: SqliteStore, query: Query, now_us: int, *, as_json: bool) -> None:
        self._query = query
        self._as_json = as_json
        self._head = store.head().seq
        self._shown = self._worded(store, max(0, self._head - SPAN), now_us)
        self._told: set[Alarm] = set()

    def begin(self, store: SqliteStore, number: int, most_alarms: int) -> None:
        """The newest that have their words, and the alarms that there are."""
        self._show(store, replace(self._query, until_seq=self._shown + 1, limit=number))
        alarms = alarms_about(store, self._query)
        tell_alarms(alarms, most_alarms)
        self._told.update(alarms)
        tell_unread(store)

    def look(self, store: SqliteStore, now_us: int) -> None:
        head = store.head().seq
        if head < self._shown:
            click.echo(paint("another trail is in its place: from its beginning", Severity.WARNING), err=True)
            self._shown = 0
            self._told.clear()
        ready = self._worded(store, self._shown, now_us)
        if ready > self._shown:
            self._show(store, replace(self._query, after_seq=self._shown, until_seq=ready + 1))
            self._shown = ready
        if head != self._head:  # also words that came late may be what an alarm is made of
            self._head = head
            self._tell_new_alarms(store)

    def _show(self, store: SqliteStore, query: Query) -> None:
        found = list(store.search(query))[::-1]
        for line in as_lines(found) if self._as_json else map(line_of, found):
            click.echo(line)

    def _tell_new_alarms(self, store: SqliteStore) -> None:
        """Not of the older half of what is looked through: what explains a deed may just have left it."""
        oldest = self._head - RECENT_FOR_ALARMS // 2
        new = [alarm for alarm in alarms_about(store, self._query) if alarm.seq > oldest and alarm not in self._told]
        tell_alarms(new, len(new))
        self._told.update(new)

    @staticmethod
    def _worded(store: SqliteStore, after_seq: int, now_us: int) -> int:
        """Up to which record all have their words, or have waited for them long enough."""
        seqs = [record["seq"] for record in arrived(store, after_seq, now_us, patience_us=PATIENCE_US, own=True)]
        return int(seqs[-1]) if seqs else after_seq


def follow(follower: Follower, roots: Roots, sender: Sender) -> None:
    """Until somebody ends it."""
    while True:
        time.sleep(LOOKS)
        sender.set_off(clock())
        with opened_trail(roots.state) as store:
            follower.look(store, clock())
