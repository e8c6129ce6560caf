"""Data of a newer version survives a change by an older one."""

import json
from pathlib import Path
from typing import Any

import pytest

from trotline.audit.export.export_progress import ExportProgress, PendingBatch, read_progress, write_progress
from trotline.conversation.sessions import Sessions, Variable
from trotline.delivery.alerts import AlertState, AlertStatus
from trotline.domain.history import History


def add(file: Path, **fields: Any) -> None:
    """Fields that a newer version could add; dots in a name are levels."""
    body = json.loads(file.read_bytes())
    for name, value in fields.items():
        *outer, last = name.split(".")
        inner = body
        for step in outer:
            inner = inner[step]
        inner[last] = value
    file.write_text(json.dumps(body))


def test_a_session_keeps_the_fields_that_it_does_not_know(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    sessions.update("c", lambda one: one.set_variable("A", Variable("1", 1)), 1)
    (file,) = tmp_path.glob("*.json")
    add(file, **{"budget": {"left": 3}, "memory.tainted": ["x"]})

    def change(session: Any) -> None:
        session.count_follow_up("hook", "call")
        session.history = History(secrets=2)
        session.env = {}

    assert sessions.update("c", change, 2) == ""
    body = json.loads(file.read_bytes())
    assert next(iter(body)) == "schema"
    assert (body["budget"], body["memory"]["tainted"]) == ({"left": 3}, ["x"])
    assert (body["follow_ups"], body["memory"]["secrets"], body["env"]) == ({"hook": 1}, 2, {})


def test_a_removed_session_field_is_gone(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    sessions.update("c", lambda one: one.count_follow_up("hook", "call"), 1)
    sessions.update("c", lambda one: one.undo_claim("call"), 2)
    session = sessions.read("c").session
    assert (session.follow_ups, session.claims) == ({}, {})


def test_journals_keep_the_fields_that_they_do_not_know(tmp_path: Path) -> None:
    outflow, alerts = tmp_path / "outflow.json", tmp_path / "alerts.json"
    write_progress(outflow, ExportProgress(seq=1, pending=PendingBatch("b", 2, "i", 1)))
    write_progress(alerts, AlertState(seq=1, fired={"a": AlertStatus(count=1), "b": AlertStatus()}))
    add(outflow, **{"region": "eu", "pending.parts": 4})
    add(alerts, **{"muted": True, "fired.a.person": "p"})
    write_progress(outflow, ExportProgress(seq=2, pending=PendingBatch("b", 2, "i", 1, done=("logs",))))
    write_progress(alerts, AlertState(seq=2, fired={"a": AlertStatus(count=2)}))
    sent, alerted = json.loads(outflow.read_bytes()), json.loads(alerts.read_bytes())
    assert (sent["seq"], sent["region"], sent["pending"]["parts"], sent["pending"]["done"]) == (2, "eu", 4, ["logs"])
    assert (alerted["muted"], list(alerted["fired"]), alerted["fired"]["a"]["person"]) == (True, ["a"], "p")
    assert read_progress(alerts, AlertState).fired["a"].count == 2
    write_progress(outflow, ExportProgress(seq=3))
    assert json.loads(outflow.read_bytes())["pending"] is None


@pytest.mark.parametrize("found", [b"", b"[1]", b"\xff", b"[" * 100_000])
def test_an_invalid_file_is_replaced(tmp_path: Path, found: bytes) -> None:
    file = tmp_path / "outflow.json"
    file.write_bytes(found)
    write_progress(file, ExportProgress(seq=4))
    assert read_progress(file, ExportProgress) == ExportProgress(seq=4)
