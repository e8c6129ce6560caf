"""The log commands: queries, statistics, exports, verification and alarms of real calls."""

import csv
import fcntl
import io
import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from kit import Workspace, age_audit_log, read_rows
from secret_samples import fill_template
from store_behaviour import detail, record
from trotline.audit.export.export_formats import format_time
from trotline.audit.store.audit_log import get_spool
from trotline.audit.store.drain import drain
from trotline.audit.store.spool import Spool
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import ForgetRequest
from trotline.doctor import checks, machine_checks

NOW = 1_800_000_000_000_000
SECRET = fill_template("ghp_{crc*36}")


@pytest.fixture
def spool(workspace: Workspace) -> Spool:
    return get_spool(workspace.roots().state)


def log(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return workspace.run("log", *words)


def data(workspace: Workspace, *words: str) -> Any:
    done = log(workspace, *words, "--json")
    return json.loads(done.stdout)["data"]


def call(workspace: Workspace, command: str, conversation: str = "c1", event: str = "beforeShellExecution") -> None:
    """Call a hook as the agent does, and wait until the detail is written."""
    payload = {"hook_event_name": event, "conversation_id": conversation, "command": command, "cwd": "/w"}
    argv = [sys.executable, "-I", "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
    subprocess.run(argv, input=json.dumps(payload).encode(), capture_output=True, check=True)
    spool = get_spool(workspace.roots().state)
    while any("detail" not in one for one in spool.read().records):
        os.sched_yield()


def fill(spool: Spool) -> None:
    """Append four calls, one hour apart."""
    responses = [{"author": "deletion", "permission": "deny", "failure": None, "micros": 300}]
    for body in (
        record(1, at_us=NOW, decided="deny", deciders=["deletion"], responses=responses),
        detail(1, command="rm -rf src", effects=(("delete", "rm", "/w/src"),)),
        record(2, at_us=NOW + 3_600_000_000, losses=[["ask", "it is not heard"]]),
        detail(2, command="npm test"),
        record(3, at_us=NOW + 7_200_000_000, event="afterFileEdit", conversation="c2", agent="another"),
        record(4, at_us=NOW + 7_200_000_001, event="stop", conversation="c2", agent="another", micros=9000),
        {**detail(4), "measures": {"status": "completed"}},
    ):
        assert spool.append(body) == ""


@pytest.fixture
def filled(spool: Spool) -> Spool:
    """A spool with four calls."""
    fill(spool)
    return spool


def test_a_real_call_is_found_by_its_fields(workspace: Workspace) -> None:
    call(workspace, "echo trotline-canary")
    call(workspace, f"curl -H 'Authorization: {SECRET}' https://example.com")
    shown = log(workspace).stdout.splitlines()
    assert len(shown) == 2
    assert "cursor beforeShellExecution" in shown[0]
    assert "curl -H" in shown[0]
    assert shown[1].endswith("cursor beforeShellExecution denied: echo trotline-canary (canary)")
    assert log(workspace, "--verdict", "denied", "--count").stdout == "1\n"
    assert log(workspace, "--text", "curl", "--count").stdout == "1\n"
    assert log(workspace, "--command", "echo *", "--count").stdout == "1\n"
    files = [path for path in workspace.roots().state.rglob("*") if path.is_file()]
    assert any(path.name == "audit_log.db" for path in files)
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    assert "it holds; unanchored" in log(workspace, "verify").stdout


def test_an_empty_audit_log_is_reported(workspace: Workspace) -> None:
    done = log(workspace)
    assert (done.returncode, done.stdout) == (0, "no matching records\n")
    assert log(workspace, "--count").stdout == "0\n"
    assert "0 entries: it holds; unanchored" in log(workspace, "verify").stdout
    assert log(workspace, "stats").stdout == "0 calls\n"
    assert log(workspace, "export").stdout == ""


def test_a_waiting_reader_gets_a_progress_message(workspace: Workspace, filled: Spool) -> None:
    """Another process holds the lock of the drain."""
    argv = [sys.executable, "-m", "trotline", "log", "--count", *workspace.options]
    with (filled.directory / "drain.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(argv, cwd=workspace.project, stdout=PIPE, stderr=PIPE, text=True) as asking:
            assert asking.stdout
            assert asking.stderr
            output = asking.stderr.readline()
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert (output, asking.stdout.read()) == (
                "what waits is brought into the audit log, or the audit log into its newest form ...\n",
                "4\n",
            )
    assert log(workspace, "--count").stderr == ""


@pytest.mark.parametrize("words,numbers", read_rows("log", "queries"), ids=lambda value: " ".join(map(str, value)))
def test_records_are_selected_by_conditions(
    workspace: Workspace, filled: Spool, words: list[str], numbers: list[int]
) -> None:
    assert [one["seq"] for one in data(workspace, *words)["records"]] == numbers


@pytest.mark.parametrize(
    "by,shown",
    [
        ("agent", ["       2  another", "       2  somebody"]),
        ("guard", ["       1  deletion"]),
        ("hour", ["       2  2027-01-15T10:00Z", "       1  2027-01-15T09:00Z", "       1  2027-01-15T08:00Z"]),
    ],
)
def test_records_are_counted_by_field(workspace: Workspace, filled: Spool, by: str, shown: list[str]) -> None:
    assert log(workspace, "--by", by).stdout.splitlines() == shown


def test_a_number_is_a_sentence_on_a_terminal(workspace: Workspace, filled: Spool) -> None:
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "trotline", "log", "--count", *workspace.options]
    subprocess.run(argv, stdout=theirs, check=True)
    assert os.read(ours, 100).strip() == b"4 calls"
    os.close(ours)
    os.close(theirs)


def test_a_record_is_shown_by_number_or_id(workspace: Workspace, filled: Spool) -> None:
    by_number, by_id = log(workspace, "show", "1"), log(workspace, "show", "id-1")
    assert by_number.stdout == by_id.stdout
    assert "  deletion: deny, 0.3 ms" in by_id.stdout
    assert data(workspace, "show", "id-1")["detail"]["payload"] == {"command": "rm -rf src"}


@pytest.mark.parametrize("name", ["99", "nobody", "2", "9" * 30, "²"])
def test_an_unknown_record_is_an_error(workspace: Workspace, filled: Spool, name: str) -> None:
    done = log(workspace, "show", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the audit log has no record `{name}`" in done.stderr


@pytest.mark.parametrize("name", ["1", "id-1"])
def test_a_forgotten_record_is_reported_with_its_time(workspace: Workspace, filled: Spool, name: str) -> None:
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        drain(filled, store)
        assert store.forget(ForgetRequest(conversation="c1"), now_us=NOW) == 2
    done = log(workspace, "show", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: record `{name}` was forgotten at {format_time(NOW)}\n")
    assert "has no record `2`" in log(workspace, "show", "2").stderr


@pytest.mark.parametrize("word", ["tomorrow", "2x", "", "-1h", "99999999999d", "2026-99-01", "1h30", "h"])
def test_an_invalid_time_is_refused(workspace: Workspace, word: str) -> None:
    done = log(workspace, "--since", word)
    assert done.returncode == 64
    assert "is no time: say `2h`" in done.stderr


@pytest.mark.parametrize("word", ["1h30m", "today", "yesterday", "1w2d3h4m5s"])
def test_times_can_be_written_as_durations_and_days(workspace: Workspace, filled: Spool, word: str) -> None:
    """The four calls are in the future."""
    assert log(workspace, "--since", word, "--count").stdout == "4\n"
    assert log(workspace, "--until", word, "--count").stdout == "0\n"


@pytest.mark.parametrize("option", ["--text", "--command", "--path", "--agent", "--conversation"])
def test_a_condition_with_invalid_utf8_is_refused(workspace: Workspace, option: str) -> None:
    done = log(workspace, option, os.fsdecode(b"\xff"), "--count")
    assert (done.returncode, "bytes in it that are no text" in done.stderr) == (64, True)


def test_a_query_before_all_records_is_empty(workspace: Workspace, filled: Spool) -> None:
    assert log(workspace, "--until", "1970-01-01", "--count").stdout == "0\n"
    assert log(workspace, "--until", "0001-01-01", "--count").stdout == "0\n"


@pytest.mark.parametrize("words,expected_text", read_rows("log", "refused_queries"), ids=str)
def test_an_invalid_query_is_refused(workspace: Workspace, words: list[str], expected_text: str) -> None:
    done = log(workspace, *words)
    assert (done.returncode, done.stdout) == (64, "")
    assert expected_text in done.stderr


def test_an_id_may_be_shortened_to_a_unique_prefix(workspace: Workspace, spool: Spool) -> None:
    for number, id_ in enumerate(("0193aaaa-1111", "0193aaaa-2222", "01234567-3333")):
        spool.append({**record(number), "id": id_, "conversation": f"talk-{id_}"})
    assert data(workspace, "show", "0193aaaa-1")["id"] == "0193aaaa-1111"
    assert data(workspace, "show", "01234567")["id"] == "01234567-3333"
    assert log(workspace, "--conversation", "talk-0193aaaa-2", "--count").stdout == "1\n"
    for words in (["show", "0193aaaa"], ["--conversation", "talk-0193"], ["stats", "--conversation", "talk-0193"]):
        done = log(workspace, *words)
        assert (done.returncode, done.stdout) == (64, "")
        assert "is ambiguous: it may be `" in done.stderr
    assert "0193aaaa-1111`, `" in log(workspace, "show", "0193aaaa").stderr
    assert "has no record `0193`" in log(workspace, "show", "0193").stderr


def test_conversations_are_summarized(workspace: Workspace, filled: Spool) -> None:
    first, second = log(workspace, "conversations").stdout.splitlines()
    assert first.endswith("another c2: 2 calls, 0 commands, 1 edit, 0 denied, 0 s; stopped: completed")
    assert second.endswith("somebody c1: 2 calls, 2 commands, 0 edits, 1 denied, 1 h 00")


def test_statistics(workspace: Workspace, filled: Spool) -> None:
    found = data(workspace, "stats")
    assert found["verdicts"] == {"none": 3, "deny": 1}
    assert found["denied_by"] == {"deletion": 1}
    assert found["losses"] == {"ask": 1}
    assert found["slowest"][0] == {"author": "every call", "calls": 4, "p50": 100, "p95": 9000, "p99": 9000}
    assert "denied by" in log(workspace, "stats").stdout


def test_a_hook_that_failed_open_is_counted(workspace: Workspace, spool: Spool) -> None:
    responses = [{"author": "h1", "permission": "none", "failure": "timed out", "micros": 300}]
    for number, permission in enumerate(("none", "none", "deny")):
        spool.append(
            record(number, decided=permission, deciders=["h1"] if permission == "deny" else [], responses=responses)
        )
    found = data(workspace, "stats")
    assert (found["failures"], found["failed_open"]) == ({"h1: timed out": 3}, {"h1: timed out": 2})
    shown = log(workspace, "stats").stdout
    assert "failed, and the call went on\n       2  h1: timed out" in shown


def test_exports(workspace: Workspace, filled: Spool) -> None:
    lines = [json.loads(line) for line in log(workspace, "export").stdout.splitlines()]
    assert [line["id"] for line in lines] == ["id-4", "id-3", "id-2", "id-1"]
    table = list(csv.DictReader(io.StringIO(log(workspace, "export", "--format", "csv").stdout)))
    assert [(row["id"], row["verdict"], row["subject"]) for row in table][-1] == ("id-1", "deny", "rm -rf src")
    ocsf = [json.loads(line) for line in log(workspace, "export", "--format", "ocsf").stdout.splitlines()]
    assert [(one["class_uid"], one["status"], one["metadata"]["uid"]) for one in ocsf][-1] == (6003, "Failure", "id-1")


def test_a_formula_in_csv_is_escaped(workspace: Workspace, spool: Spool) -> None:
    spool.append(record(1))
    spool.append(detail(1, command="=HYPERLINK(1)"))
    (row,) = csv.DictReader(io.StringIO(log(workspace, "export", "--format", "csv").stdout))
    assert row["subject"] == "'=HYPERLINK(1)"


@pytest.mark.parametrize("command,cell", read_rows("log", "csv_cells"))
def test_a_multiline_csv_cell_is_escaped_line_by_line(
    workspace: Workspace, spool: Spool, command: str, cell: str
) -> None:
    spool.append(record(1))
    spool.append(detail(1, command=command))
    log(workspace, "export", "--format", "csv", "--output", str(workspace.project / "t.csv"))
    with (workspace.project / "t.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["subject"], row["micros"]) == (cell, "100")


def test_control_characters_do_not_reach_the_terminal(workspace: Workspace, spool: Spool) -> None:
    spool.append(record(1))
    spool.append(detail(1, command="echo \x1b[2J\x07"))
    for words in ([], ["show", "1"], ["--json"], ["export"]):
        assert "\x1b" not in log(workspace, *words).stdout


def test_unreadable_lines_are_reported(workspace: Workspace, filled: Spool) -> None:
    with filled.file.open("ab") as file:
        file.write(b"\ntorn\n")
    for _ in range(2):
        done = log(workspace)
        assert "1 line of the spool could not be read (torn); they are kept" in done.stderr
        assert len(done.stdout.splitlines()) == 4


def edit(workspace: Workspace, statement: str) -> None:
    db = sqlite3.connect(workspace.roots().state / "audit_log.db")
    db.executescript(statement)
    db.close()


def test_verify_locates_an_edit(workspace: Workspace, filled: Spool) -> None:
    assert "7 entries: it holds; unanchored" in log(workspace, "verify").stdout
    edit(workspace, "UPDATE entries SET body = replace(body, 'deny', 'allow') WHERE seq = 1")
    done = log(workspace, "verify")
    assert done.returncode == 1
    assert "entry 1 id-1: its body was edited" in done.stdout
    assert "7 entries: it does not hold" in done.stdout
    assert data(workspace, "verify")["breaks"][0]["seq"] == 1


def test_an_anchor_reveals_a_truncated_log(workspace: Workspace, filled: Spool, tmp_path: Path) -> None:
    anchor = tmp_path / "elsewhere"
    assert log(workspace, "anchor", "--file", str(anchor)).returncode == 0
    assert "it holds; anchored up to entry 7" in log(workspace, "verify", "--anchor", str(anchor)).stdout
    edit(
        workspace,
        "DELETE FROM entries WHERE seq > 4; DELETE FROM checkpoints; DELETE FROM records WHERE seq > 4;"
        "DELETE FROM facts WHERE seq > 4; DELETE FROM metrics WHERE seq > 4; DELETE FROM words WHERE rowid > 4;"
        "UPDATE spans SET last_us = (SELECT max(at_us) FROM records)",
    )
    assert log(workspace, "verify").returncode == 0
    before = anchor.read_bytes()
    done = log(workspace, "verify", "--anchor", str(anchor))
    assert done.returncode == 1
    assert "the audit log: the end is cut: entries 5 to 7 are missing" in done.stdout
    assert anchor.read_bytes() == before


def test_a_later_head_does_not_replace_an_anchored_one(workspace: Workspace, filled: Spool, tmp_path: Path) -> None:
    anchor = tmp_path / "elsewhere"
    head = data(workspace, "verify")["head"]
    anchor.write_text(f"7 {'0' * 64}\n7 {head}\n")
    done = log(workspace, "verify", "--anchor", str(anchor))
    assert done.returncode == 1
    assert "the chain was written anew" in done.stdout


def test_a_file_that_is_no_anchor_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("my notes\nare precious\n")
    done = log(workspace, "verify", "--anchor", str(tmp_path / "notes"))
    assert done.returncode == 1
    assert "is no anchor" in done.stderr
    assert (tmp_path / "notes").read_text() == "my notes\nare precious\n"


def test_the_chain_holds_after_forgetting(workspace: Workspace, filled: Spool) -> None:
    assert log(workspace, "conversations", "--clear", "c1").stdout == "2 records forgotten\n"
    assert log(workspace, "--count").stdout == "2\n"
    assert "8 entries: it holds" in log(workspace, "verify").stdout
    assert log(workspace, "prune", "--before", "2100-01-01").stdout == "2 records forgotten\n"
    assert "9 entries: it holds" in log(workspace, "verify").stdout


def test_a_conversation_is_cleared_by_a_unique_prefix(workspace: Workspace, spool: Spool) -> None:
    for number, name in enumerate(("0197aaaa-1", "0197aaaa-2", "0197bbbb-1"), 1):
        assert spool.append(record(number, conversation=name)) == ""
    ambiguous = log(workspace, "conversations", "--clear", "0197aaaa")
    assert (ambiguous.returncode, "is ambiguous" in ambiguous.stderr) == (64, True)
    assert log(workspace, "conversations", "--clear", "0197bbbb").stdout == "1 record forgotten\n"
    assert log(workspace, "--count").stdout == "2\n"


@pytest.mark.parametrize("name", ["nobody", "0197aaaa-none"])
def test_clearing_an_unknown_conversation_is_an_error(workspace: Workspace, filled: Spool, name: str) -> None:
    done = log(workspace, "conversations", "--clear", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the audit log has no conversation `{name}`" in done.stderr
    assert log(workspace, "--count").stdout == "4\n"


@pytest.mark.parametrize("words", [[], ["--before", "9d", "--keep", "1MB"]])
def test_prune_requires_a_condition(workspace: Workspace, words: list[str]) -> None:
    done = log(workspace, "prune", *words)
    assert done.returncode == 64
    assert "say what to forget" in done.stderr


@pytest.mark.parametrize("words", [["--all"], ["--home", "."], ["--since", "2h"], ["--json"]])
def test_options_before_a_subcommand_are_refused(workspace: Workspace, filled: Spool, words: list[str]) -> None:
    done = log(workspace, *words, "prune", "--before", "2100-01-01")
    assert done.returncode == 64
    assert "options come after the word: `trotline log prune --...`" in done.stderr
    assert log(workspace, "--count").stdout == "4\n"


def test_follow_shows_new_calls(workspace: Workspace, spool: Spool) -> None:
    argv = [sys.executable, "-u", "-m", "trotline", "log", "--follow", *workspace.options]
    fill(spool)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(4)]
        assert [int(line.split()[0]) for line in shown] == [1, 3, 5, 6]
        spool.append(detail(9, command="make anew"))
        spool.append(record(9))
        assert "make anew" in process.stdout.readline()
        process.terminate()


@pytest.mark.parametrize("words", [[], ["stats"], ["verify"], ["conversations"], ["export"], ["show", "1"]])
def test_an_unusable_audit_log_is_reported_and_records_wait(
    workspace: Workspace, filled: Spool, words: list[str]
) -> None:
    workspace.roots().state.joinpath("audit_log.db").write_bytes(b"no database" * 1000)
    done = log(workspace, *words)
    assert done.returncode == 1
    assert "cannot be used: file is not a database" in done.stderr
    assert "`trotline service stop`, then `for end in" in done.stderr
    assert "records wait in the spool" in done.stderr
    assert len(filled.read().records) == 4


@pytest.mark.parametrize("words", [[], ["--count"], ["--by", "agent"], ["stats"], ["conversations"], ["export"]])
@pytest.mark.parametrize(
    "given,expected_text",
    [
        (["--event", "beforeShellExec"], "there is no event `beforeShellExec`; did you mean `beforeShellExecution`?"),
        (["--agent", "codexx"], "there is no agent `codexx`; did you mean `codex`?"),
        (["--effect", "wirte"], "no record has an effect `wirte`; did you mean `write`?"),
    ],
    ids=str,
)
def test_an_unknown_name_is_reported_with_a_suggestion(
    workspace: Workspace, filled: Spool, words: list[str], given: list[str], expected_text: str
) -> None:
    done = log(workspace, *words, *given)
    assert (done.returncode, done.stderr) == (0, f"{expected_text}\n")


def test_a_name_that_a_record_has_is_not_questioned(workspace: Workspace, filled: Spool) -> None:
    for words in (["--agent", "somebody"], ["--effect", "delete"], ["--effect", "mcp"], ["--event", "stop"]):
        assert log(workspace, *words).stderr == ""
    assert log(workspace, "--since", "1h", "--until", "2h").returncode == 64


def test_the_last_call_of_an_agent_is_found_behind_many_others(workspace: Workspace, spool: Spool) -> None:
    spool.append({**record(1), "agent": "codex"})
    for number in range(2, 700):
        spool.append(record(number))
    assert log(workspace, "-n", "5", "--agent", "codex").stdout.count("codex beforeShellExecution") == 1


def test_doctor_reads_the_newest_records_and_reports_the_limit(
    workspace: Workspace, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.append({**record(1), "agent": "codex"})
    for number in range(2, 9):
        spool.append(record(number))
    log(workspace)
    for module in (checks, machine_checks):
        monkeypatch.setattr(module, "MAX_RECORDS", 5)
    machine = checks.MachineState(workspace.roots())
    assert [one.id for one in machine.records.records] == [record(number)["id"] for number in range(4, 9)]
    (expected_text,) = (one.detail for one in machine_checks.check_spool(machine))
    assert expected_text == "calls of agents that are remembered: 5 and more, of which the newest were looked at"
    last = machine.find_last_call("codex")
    assert last is not None
    assert last.id == record(1)["id"]
    assert machine.find_last_call("cursor") is None


def test_an_action_executed_despite_a_denial_is_an_alarm(workspace: Workspace) -> None:
    call(workspace, "ls")
    call(workspace, "ls", event="afterShellExecution")
    call(workspace, "echo trotline-canary")
    assert log(workspace).stderr == ""
    call(workspace, "echo trotline-canary", event="afterShellExecution")
    assert "alarm: what 5 says was refused was done all the same, says 7" in log(workspace).stderr
    (alarm,) = data(workspace)["alarms"]
    assert (alarm["decision_seq"], alarm["seq"]) == (5, 7)
    output = workspace.run("doctor").stdout
    assert f"what {alarm['decision_id']} says was refused was done all the same, says {alarm['id']}" in output
    listed = log(workspace, "alarms")
    assert (listed.returncode, listed.stdout.count("alarm: ")) == (1, 1)
    assert data(workspace, "stats")["alarms"] == {"done all the same": 1}


def test_an_ask_sent_as_deny_counts_as_denied(workspace: Workspace) -> None:
    """Cursor cannot ask, so it gets a deny; an execution afterwards is an alarm."""
    call(workspace, "git push --force")
    assert data(workspace)["records"][0]["decided"] == "ask"
    assert "denied: git push --force" in log(workspace, "--verdict", "denied").stdout
    assert data(workspace, "conversations")[0]["denied"] == 1
    call(workspace, "git push --force", event="afterShellExecution")
    assert "alarm: what 1 says was refused was done all the same, says 3" in log(workspace).stderr


def test_an_older_audit_log_is_reindexed_with_asks_sent_as_deny(workspace: Workspace, spool: Spool) -> None:
    spool.append({**record(1), "decided": "ask", "sent": "deny"})
    spool.append({**detail(1), "action": "a"})
    log(workspace)
    with sqlite3.connect(workspace.roots().state / "audit_log.db") as db:
        db.execute("UPDATE records SET verdict = 'ask'")
        db.execute("UPDATE facts SET kind = 'permitted' WHERE kind = 'denied'")
    db.close()
    age_audit_log(workspace.roots().state / "audit_log.db")
    assert "denied" in log(workspace, "--verdict", "denied").stdout
    assert log(workspace, "verify").returncode == 0


def test_a_refusal_in_another_conversation_is_no_alarm(workspace: Workspace) -> None:
    call(workspace, "echo trotline-canary")
    call(workspace, "echo trotline-canary", "c2", event="afterShellExecution")
    assert log(workspace).stderr == ""


def test_a_gate_that_stopped_firing_is_an_alarm(workspace: Workspace) -> None:
    call(workspace, "", event="sessionStart")
    call(workspace, "ls")
    call(workspace, "ls", event="afterShellExecution")
    assert log(workspace, "alarms").stdout == "everything in the audit log fits together\n"
    call(workspace, "rm notes", event="afterShellExecution")
    assert "nobody asked about: a hook of cursor stopped firing" in log(workspace).stderr
    assert "nobody asked about" in workspace.run("doctor").stdout


def test_an_allowed_action_that_never_happened_is_a_mild_alarm(workspace: Workspace) -> None:
    for command, event in (
        ("ls", "beforeShellExecution"),
        ("ls", "afterShellExecution"),
        ("make", "beforeShellExecution"),
        ("", "stop"),
    ):
        call(workspace, command, event=event)
    done = log(workspace, "alarms")
    assert done.returncode == 0
    assert "alarm: what 5 let through was not done when 7 came: a person said no" in done.stdout


def test_doctor_reports_a_conversation_that_continued_without_hooks(workspace: Workspace, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("{}")
    get_spool(workspace.roots().state).append(record(1, agent="cursor", at_us=NOW))
    output = {**detail(1), "payload": {"transcript_path": str(transcript)}}
    get_spool(workspace.roots().state).append(output)

    def run_doctor() -> str:
        return workspace.run("doctor").stdout

    os.utime(transcript, (NOW // 1_000_000 + 60,) * 2)
    assert "went on for" not in run_doctor()
    os.utime(transcript, (NOW // 1_000_000 + 3600,) * 2)
    assert f"a conversation of cursor went on for 60 minutes without a call: {transcript}" in run_doctor()
