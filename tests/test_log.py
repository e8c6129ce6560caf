"""trotline log as a person sees it: real calls of hosts, real processes, and what is said about them."""

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

from planted import made
from store_behaviour import detail, record
from trails import age
from trotline.audit.drain import drain
from trotline.audit.export import moment
from trotline.audit.spool import Spool
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.store import Forgetting
from trotline.audit.trail import spool_of
from trotline.checkup import examined, machine_checks
from worlds import World, new_world, trotline_process

NOW = 1_800_000_000_000_000
SECRET = made("ghp_{crc*36}")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


@pytest.fixture
def spool(world: World) -> Spool:
    return spool_of(world.roots().state)


def log(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    return trotline_process("log", *words, *world.options, cwd=world.project)


def data(world: World, *words: str) -> Any:
    done = log(world, *words, "--json")
    return json.loads(done.stdout)["data"]


def call(world: World, command: str, conversation: str = "c1", event: str = "beforeShellExecution") -> None:
    """As the host calls us; it ends when also the words are written."""
    payload = {"hook_event_name": event, "conversation_id": conversation, "command": command, "cwd": "/w"}
    argv = [sys.executable, "-I", "-m", "trotline", "hook", "cursor", "--home", str(world.home)]
    subprocess.run(argv, input=json.dumps(payload).encode(), capture_output=True, check=True)
    spool = spool_of(world.roots().state)
    while any("detail" not in one for one in spool.read().records):
        os.sched_yield()


def fill(spool: Spool) -> None:
    """Four calls, one hour after the other."""
    voices = [{"author": "deletion", "said": "deny", "failure": None, "micros": 300}]
    for body in (
        record(1, at_us=NOW, asked="deny", deciders=["deletion"], voices=voices),
        detail(1, command="rm -rf src", effects=(("delete", "rm", "/w/src"),)),
        record(2, at_us=NOW + 3_600_000_000, losses=[["ask", "it is not heard"]]),
        detail(2, command="npm test"),
        record(3, at_us=NOW + 7_200_000_000, event="afterFileEdit", conversation="c2", host="another"),
        record(4, at_us=NOW + 7_200_000_001, event="stop", conversation="c2", host="another", micros=9000),
        {**detail(4), "measures": {"status": "completed"}},
    ):
        assert spool.append(body) == ""


def test_a_real_call_is_found_by_what_it_was(world: World) -> None:
    call(world, "echo trotline-canary")
    call(world, f"curl -H 'Authorization: {SECRET}' https://example.com")
    shown = log(world).stdout.splitlines()
    assert len(shown) == 2
    assert "cursor beforeShellExecution" in shown[0]
    assert "curl -H" in shown[0]
    assert shown[1].endswith("cursor beforeShellExecution denied: echo trotline-canary (canary)")
    assert log(world, "--verdict", "denied", "--count").stdout == "1\n"
    assert log(world, "--text", "curl", "--count").stdout == "1\n"
    assert log(world, "--command", "echo *", "--count").stdout == "1\n"
    files = [path for path in world.roots().state.rglob("*") if path.is_file()]
    assert any(path.name == "trail.db" for path in files)
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    assert "it holds; unanchored" in log(world, "verify").stdout


def test_an_empty_trail_says_so(world: World) -> None:
    done = log(world)
    assert (done.returncode, done.stdout) == (0, "nothing in the trail answers to that\n")
    assert log(world, "--count").stdout == "0\n"
    assert "0 entries: it holds; unanchored" in log(world, "verify").stdout
    assert log(world, "stats").stdout == "0 calls\n"
    assert log(world, "export").stdout == ""


def test_who_has_to_wait_is_told_what_for(world: World, spool: Spool) -> None:
    """Somebody else brings records into the trail, and is slow."""
    fill(spool)
    argv = [sys.executable, "-m", "trotline", "log", "--count", *world.options]
    with (spool.directory / "drain.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(argv, cwd=world.project, stdout=PIPE, stderr=PIPE, text=True) as asking:
            assert asking.stdout
            assert asking.stderr
            told = asking.stderr.readline()
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert (told, asking.stdout.read()) == (
                "what waits is brought into the trail, or the trail into its newest form ...\n",
                "4\n",
            )
    assert log(world, "--count").stderr == ""


@pytest.mark.parametrize(
    "words,numbers",
    [
        ([], [6, 5, 3, 1]),
        (["-n", "2"], [6, 5]),
        (["--event", "stop"], [6]),
        (["--host", "another"], [6, 5]),
        (["--verdict", "denied"], [1]),
        (["--verdict", "silent"], [6, 5, 3]),
        (["--conversation", "c1"], [3, 1]),
        (["--path", "src*"], [1]),
        (["--command", "npm *"], [3]),
        (["--effect", "delete"], [1]),
        (["--text", "RM src"], [1]),
        (["--since", "2027-01-15T08:30:00Z"], [6, 5, 3]),
        (["--until", "2027-01-15T08:30:00"], [1]),
        (["--host", "another", "--verdict", "denied"], []),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_questions(world: World, spool: Spool, words: list[str], numbers: list[int]) -> None:
    fill(spool)
    assert [one["seq"] for one in data(world, *words)["records"]] == numbers


@pytest.mark.parametrize(
    "by,shown",
    [
        ("host", ["       2  another", "       2  somebody"]),
        ("guard", ["       1  deletion"]),
        ("hour", ["       2  2027-01-15T10:00Z", "       1  2027-01-15T09:00Z", "       1  2027-01-15T08:00Z"]),
    ],
)
def test_counts_for_each(world: World, spool: Spool, by: str, shown: list[str]) -> None:
    fill(spool)
    assert log(world, "--by", by).stdout.splitlines() == shown


def test_a_number_is_a_sentence_on_a_terminal(world: World, spool: Spool) -> None:
    fill(spool)
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "trotline", "log", "--count", *world.options]
    subprocess.run(argv, stdout=theirs, check=True)
    assert os.read(ours, 100).strip() == b"4 calls"
    os.close(ours)
    os.close(theirs)


def test_one_is_shown_by_its_number_or_its_id(world: World, spool: Spool) -> None:
    fill(spool)
    by_number, by_id = log(world, "show", "1"), log(world, "show", "id-1")
    assert by_number.stdout == by_id.stdout
    assert "  deletion: deny, 0.3 ms" in by_id.stdout
    assert data(world, "show", "id-1")["detail"]["payload"] == {"command": "rm -rf src"}


@pytest.mark.parametrize("name", ["99", "nobody", "2", "9" * 30, "²"])
def test_one_that_is_not_there_is_said_not_to_be(world: World, spool: Spool, name: str) -> None:
    fill(spool)
    done = log(world, "show", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the trail has no record `{name}`" in done.stderr


@pytest.mark.parametrize("name", ["1", "id-1"])
def test_one_that_was_forgotten_is_said_to_be_and_when(world: World, spool: Spool, name: str) -> None:
    fill(spool)
    with SqliteStore(world.roots().state / "trail.db") as store:
        drain(spool, store)
        assert store.forget(Forgetting(conversation="c1"), now_us=NOW) == 2
    done = log(world, "show", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: record `{name}` was forgotten at {moment(NOW)}\n")
    assert "has no record `2`" in log(world, "show", "2").stderr  # which was none


@pytest.mark.parametrize("word", ["tomorrow", "2x", "", "-1h", "99999999999d", "2026-99-01", "1h30", "h"])
def test_a_time_that_is_none_is_refused(world: World, word: str) -> None:
    done = log(world, "--since", word)
    assert done.returncode == 64
    assert "is no time: say `2h`" in done.stderr


@pytest.mark.parametrize("word", ["1h30m", "today", "yesterday", "1w2d3h4m5s"])
def test_a_time_is_what_people_say(world: World, spool: Spool, word: str) -> None:
    """The four calls are of a year to come."""
    fill(spool)
    assert log(world, "--since", word, "--count").stdout == "4\n"
    assert log(world, "--until", word, "--count").stdout == "0\n"


@pytest.mark.parametrize("option", ["--text", "--command", "--path", "--host", "--conversation"])
def test_a_question_that_is_no_text_is_refused(world: World, option: str) -> None:
    done = log(world, option, os.fsdecode(b"\xff"), "--count")
    assert (done.returncode, "bytes in it that are no text" in done.stderr) == (64, True)


def test_before_all_times_there_is_nothing(world: World, spool: Spool) -> None:
    fill(spool)
    assert log(world, "--until", "1970-01-01", "--count").stdout == "0\n"
    assert log(world, "--until", "0001-01-01", "--count").stdout == "0\n"


@pytest.mark.parametrize(
    "words,said",
    [
        (["-n", "9" * 20], "is not in the range"),
        (["conversations", "-n", "9" * 20], "is not in the range"),
        (["--text", " "], "--text has no word in it"),
        (["--text", ""], "--text has no word in it"),
        (["--conversation", ""], "--conversation has no word in it"),
        (["stats", "--host", ""], "--host has no word in it"),
        (["--follow", "--count"], "it does not go with --count and --by"),
        (["--follow", "--by", "host"], "it does not go with --count and --by"),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_refused(world: World, words: list[str], said: str) -> None:
    done = log(world, *words)
    assert (done.returncode, done.stdout) == (64, "")
    assert said in done.stderr


def test_an_id_may_be_shortened_as_long_as_only_one_is_meant(world: World, spool: Spool) -> None:
    for number, id_ in enumerate(("0193aaaa-1111", "0193aaaa-2222", "01234567-3333")):
        spool.append({**record(number), "id": id_, "conversation": f"talk-{id_}"})
    assert data(world, "show", "0193aaaa-1")["id"] == "0193aaaa-1111"
    assert data(world, "show", "01234567")["id"] == "01234567-3333"
    assert log(world, "--conversation", "talk-0193aaaa-2", "--count").stdout == "1\n"
    for words in (["show", "0193aaaa"], ["--conversation", "talk-0193"], ["stats", "--conversation", "talk-0193"]):
        done = log(world, *words)
        assert (done.returncode, done.stdout) == (64, "")
        assert "is ambiguous: it may be `" in done.stderr
    assert "0193aaaa-1111`, `" in log(world, "show", "0193aaaa").stderr
    assert "has no record `0193`" in log(world, "show", "0193").stderr


def test_conversations_are_taken_together(world: World, spool: Spool) -> None:
    fill(spool)
    first, second = log(world, "conversations").stdout.splitlines()
    assert first.endswith("another c2: 2 calls, 0 commands, 1 edit, 0 denied, 0 s; stopped: completed")
    assert second.endswith("somebody c1: 2 calls, 2 commands, 0 edits, 1 denied, 1 h 00")


def test_statistics(world: World, spool: Spool) -> None:
    fill(spool)
    found = data(world, "stats")
    assert found["verdicts"] == {"silent": 3, "deny": 1}
    assert found["denied_by"] == {"deletion": 1}
    assert found["losses"] == {"ask": 1}
    assert found["slowest"][0] == {"who": "every call", "calls": 4, "p50": 100, "p95": 9000, "p99": 9000}
    assert "denied by" in log(world, "stats").stdout


def test_a_hook_that_failed_and_let_the_call_go_on_is_counted(world: World, spool: Spool) -> None:
    voices = [{"author": "h1", "said": "silent", "failure": "timed out", "micros": 300}]
    for number, asked in enumerate(("silent", "silent", "deny")):
        spool.append(record(number, asked=asked, deciders=["h1"] if asked == "deny" else [], voices=voices))
    found = data(world, "stats")
    assert (found["failures"], found["failed_open"]) == ({"h1: timed out": 3}, {"h1: timed out": 2})
    shown = log(world, "stats").stdout
    assert "failed, and the call went on\n       2  h1: timed out" in shown


def test_exports(world: World, spool: Spool) -> None:
    fill(spool)
    lines = [json.loads(line) for line in log(world, "export").stdout.splitlines()]
    assert [line["id"] for line in lines] == ["id-4", "id-3", "id-2", "id-1"]
    table = list(csv.DictReader(io.StringIO(log(world, "export", "--format", "csv").stdout)))
    assert [(row["id"], row["verdict"], row["subject"]) for row in table][-1] == ("id-1", "deny", "rm -rf src")
    ocsf = [json.loads(line) for line in log(world, "export", "--format", "ocsf").stdout.splitlines()]
    assert [(one["class_uid"], one["status"], one["metadata"]["uid"]) for one in ocsf][-1] == (6003, "Failure", "id-1")


def test_a_cell_that_a_spreadsheet_would_calculate_is_text(world: World, spool: Spool) -> None:
    spool.append(record(1))
    spool.append(detail(1, command="=HYPERLINK(1)"))
    (row,) = csv.DictReader(io.StringIO(log(world, "export", "--format", "csv").stdout))
    assert row["subject"] == "'=HYPERLINK(1)"


@pytest.mark.parametrize(
    "command,cell",
    [
        ("echo hi\n=HYPERLINK(A1)\n+1+1", "echo hi\n'=HYPERLINK(A1)\n'+1+1"),
        ("echo a\r@SUM(A1)", "echo a\r'@SUM(A1)"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("a = b - c\n x", "a = b - c\n x"),
    ],
)
def test_a_cell_of_several_lines_stays_one_cell_and_none_of_them_is_calculated(
    world: World, spool: Spool, command: str, cell: str
) -> None:
    spool.append(record(1))
    spool.append(detail(1, command=command))
    log(world, "export", "--format", "csv", "--output", str(world.project / "t.csv"))
    with (world.project / "t.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["subject"], row["micros"]) == (cell, "100")


def test_what_an_agent_wrote_does_not_talk_to_the_terminal(world: World, spool: Spool) -> None:
    spool.append(record(1))
    spool.append(detail(1, command="echo \x1b[2J\x07"))
    for words in ([], ["show", "1"], ["--json"], ["export"]):
        assert "\x1b" not in log(world, *words).stdout


def test_lines_that_cannot_be_read_are_said(world: World, spool: Spool) -> None:
    fill(spool)
    with spool.file.open("ab") as file:
        file.write(b"\ntorn\n")
    for _ in range(2):
        done = log(world)
        assert "1 line of the spool could not be read (torn); they are kept" in done.stderr
        assert len(done.stdout.splitlines()) == 4


def edit(world: World, statement: str) -> None:
    db = sqlite3.connect(world.roots().state / "trail.db")
    db.executescript(statement)
    db.close()


def test_verify_says_where_an_edit_is(world: World, spool: Spool) -> None:
    fill(spool)
    assert "7 entries: it holds; unanchored" in log(world, "verify").stdout
    edit(world, "UPDATE entries SET body = replace(body, 'deny', 'allow') WHERE seq = 1")
    done = log(world, "verify")
    assert done.returncode == 1
    assert "entry 1 id-1: its body was edited" in done.stdout
    assert "7 entries: it does not hold" in done.stdout
    assert data(world, "verify")["breaks"][0]["seq"] == 1


def test_an_anchor_elsewhere_shows_that_the_end_was_cut(world: World, spool: Spool, tmp_path: Path) -> None:
    fill(spool)
    anchor = tmp_path / "elsewhere"
    assert log(world, "anchor", "--file", str(anchor)).returncode == 0
    assert "it holds; anchored up to entry 7" in log(world, "verify", "--anchor", str(anchor)).stdout
    edit(
        world,
        "DELETE FROM entries WHERE seq > 4; DELETE FROM checkpoints; DELETE FROM records WHERE seq > 4;"
        "DELETE FROM facts WHERE seq > 4; DELETE FROM figures WHERE seq > 4; DELETE FROM words WHERE rowid > 4;"
        "UPDATE spans SET last_us = (SELECT max(at_us) FROM records)",
    )
    assert log(world, "verify").returncode == 0
    before = anchor.read_bytes()
    done = log(world, "verify", "--anchor", str(anchor))
    assert done.returncode == 1
    assert "the trail: the end is cut: entries 5 to 7 are missing" in done.stdout
    assert anchor.read_bytes() == before


def test_a_head_that_is_added_to_an_anchor_later_does_not_replace_the_first(
    world: World, spool: Spool, tmp_path: Path
) -> None:
    fill(spool)
    anchor = tmp_path / "elsewhere"
    head = data(world, "verify")["head"]
    anchor.write_text(f"7 {'0' * 64}\n7 {head}\n")
    done = log(world, "verify", "--anchor", str(anchor))
    assert done.returncode == 1
    assert "the chain was written anew" in done.stdout


def test_an_anchor_that_is_none_is_refused(world: World, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("my notes\nare precious\n")
    done = log(world, "verify", "--anchor", str(tmp_path / "notes"))
    assert done.returncode == 1
    assert "is no anchor" in done.stderr
    assert (tmp_path / "notes").read_text() == "my notes\nare precious\n"


def test_after_forgetting_the_chain_still_holds(world: World, spool: Spool) -> None:
    fill(spool)
    assert log(world, "forget", "--conversation", "c1").stdout == "2 records forgotten\n"
    assert log(world, "--count").stdout == "2\n"
    assert "8 entries: it holds" in log(world, "verify").stdout
    assert log(world, "forget", "--before", "2100-01-01").stdout == "2 records forgotten\n"
    assert "9 entries: it holds" in log(world, "verify").stdout


def test_a_conversation_is_forgotten_by_the_beginning_of_its_name_as_it_is_asked_for(
    world: World, spool: Spool
) -> None:
    for number, name in enumerate(("0197aaaa-1", "0197aaaa-2", "0197bbbb-1"), 1):
        assert spool.append(record(number, conversation=name)) == ""
    ambiguous = log(world, "forget", "--conversation", "0197aaaa")
    assert (ambiguous.returncode, "is ambiguous" in ambiguous.stderr) == (64, True)
    assert log(world, "forget", "--conversation", "0197bbbb").stdout == "1 record forgotten\n"
    assert log(world, "--count").stdout == "2\n"


@pytest.mark.parametrize("name", ["nobody", "0197aaaa-none"])
def test_a_conversation_that_nobody_had_is_not_said_to_be_forgotten(world: World, spool: Spool, name: str) -> None:
    fill(spool)
    done = log(world, "forget", "--conversation", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the trail has no conversation `{name}`" in done.stderr
    assert log(world, "--count").stdout == "4\n"


@pytest.mark.parametrize("words", [[], ["--before", "9d", "--conversation", "c"]])
def test_to_forget_one_must_say_what(world: World, words: list[str]) -> None:
    done = log(world, "forget", *words)
    assert done.returncode == 64
    assert "say what to forget" in done.stderr


@pytest.mark.parametrize("words", [["--all"], ["--home", "."], ["--since", "2h"], ["--json"]])
def test_options_that_a_word_would_not_hear_are_refused(world: World, spool: Spool, words: list[str]) -> None:
    fill(spool)
    done = log(world, *words, "forget", "--before", "2100-01-01")
    assert done.returncode == 64
    assert "options come after the word: `trotline log forget --...`" in done.stderr
    assert log(world, "--count").stdout == "4\n"


def test_follow_shows_calls_as_they_come(world: World, spool: Spool) -> None:
    argv = [sys.executable, "-u", "-m", "trotline", "log", "--follow", *world.options]
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
def test_a_trail_that_cannot_be_used_is_said_and_the_records_wait(world: World, spool: Spool, words: list[str]) -> None:
    fill(spool)
    world.roots().state.joinpath("trail.db").write_bytes(b"no database" * 1000)
    done = log(world, *words)
    assert done.returncode == 1
    assert "cannot be used: file is not a database" in done.stderr
    assert "`trotline service stop`, then `for end in" in done.stderr
    assert "records wait in the spool" in done.stderr
    assert len(spool.read().records) == 4


def test_trace_and_doctor_see_what_was_drained(world: World, spool: Spool) -> None:
    fill(spool)
    log(world)
    assert not spool.waits
    shown = trotline_process("trace", *world.options, cwd=world.project).stdout
    assert shown.count("somebody beforeShellExecution") == 2


@pytest.mark.parametrize("words", [[], ["--count"], ["--by", "host"], ["stats"], ["conversations"], ["export"]])
@pytest.mark.parametrize(
    "given,said",
    [
        (["--event", "beforeShellExec"], "there is no event `beforeShellExec`; did you mean `beforeShellExecution`?"),
        (["--host", "codexx"], "there is no host `codexx`; did you mean `codex`?"),
        (["--effect", "wirte"], "no record has an effect `wirte`; did you mean `write`?"),
    ],
    ids=str,
)
def test_a_name_that_nobody_has_is_said(
    world: World, spool: Spool, words: list[str], given: list[str], said: str
) -> None:
    fill(spool)
    done = log(world, *words, *given)
    assert (done.returncode, done.stderr) == (0, f"{said}\n")


def test_a_name_that_a_record_has_is_no_doubt(world: World, spool: Spool) -> None:
    fill(spool)
    for words in (["--host", "somebody"], ["--effect", "delete"], ["--effect", "mcp"], ["--event", "stop"]):
        assert log(world, *words).stderr == ""
    assert log(world, "--since", "1h", "--until", "2h").returncode == 64


def test_trace_finds_the_last_call_of_a_host_however_many_others_came_since(world: World, spool: Spool) -> None:
    spool.append({**record(1), "host": "codex"})
    for number in range(2, 700):
        spool.append(record(number))
    log(world)
    shown = trotline_process("trace", "-n", "5", "--host", "codex", *world.options, cwd=world.project).stdout
    assert shown.count("codex beforeShellExecution") == 1
    argv = [sys.executable, "-I", "-m", "trotline", "trace", "--follow", "--json", "-n", "1", *world.options]
    with subprocess.Popen(argv, cwd=world.project, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        spool.append(detail(700, command="make anew"))
        spool.append(record(700))
        second = json.loads(process.stdout.readline())
        process.terminate()
    assert [first["id"], second["id"]] == [record(699)["id"], record(700)["id"]]


def test_doctor_looks_at_the_newest_and_says_so(world: World, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.append({**record(1), "host": "codex"})
    for number in range(2, 9):
        spool.append(record(number))
    log(world)
    for module in (examined, machine_checks):
        monkeypatch.setattr(module, "LOOKED_AT", 5)
    machine = examined.Machine(world.roots())
    assert [one["id"] for one in machine.trail.records] == [record(number)["id"] for number in range(4, 9)]
    (said,) = (one.detail for one in machine_checks.spool(machine) if one.what == "trail")
    assert said == "calls of agents that are remembered: 5 and more, of which the newest were looked at"
    assert (machine.last_call("codex") or {})["id"] == record(1)["id"]
    assert machine.last_call("cursor") is None


def test_what_was_refused_and_done_all_the_same_is_an_alarm(world: World) -> None:
    call(world, "ls")
    call(world, "ls", event="afterShellExecution")
    call(world, "echo trotline-canary")
    assert log(world).stderr == ""
    call(world, "echo trotline-canary", event="afterShellExecution")
    assert "alarm: what 5 says was refused was done all the same, says 7" in log(world).stderr
    (alarm,) = data(world)["alarms"]
    assert (alarm["about_seq"], alarm["seq"]) == (5, 7)
    told = trotline_process("doctor", *world.options, cwd=world.project).stdout
    assert f"what {alarm['about_id']} says was refused was done all the same, says {alarm['id']}" in told
    listed = log(world, "alarms")
    assert (listed.returncode, listed.stdout.count("alarm: ")) == (1, 1)
    assert data(world, "stats")["alarms"] == {"done all the same": 1}


def test_a_question_that_was_told_as_a_refusal_is_one(world: World) -> None:
    """Cursor cannot ask: it is told to refuse, and what it does all the same was refused."""
    call(world, "git push --force")
    assert data(world)["records"][0]["asked"] == "ask"
    assert "denied: git push --force" in log(world, "--verdict", "denied").stdout
    assert data(world, "conversations")[0]["denied"] == 1
    call(world, "git push --force", event="afterShellExecution")
    assert "alarm: what 1 says was refused was done all the same, says 3" in log(world).stderr


def test_an_older_trail_learns_which_questions_were_refusals(world: World, spool: Spool) -> None:
    spool.append({**record(1), "asked": "ask", "sent": "deny"})
    spool.append({**detail(1), "action": "a"})
    log(world)
    with sqlite3.connect(world.roots().state / "trail.db") as db:
        db.execute("UPDATE records SET verdict = 'ask'")
        db.execute("UPDATE facts SET kind = 'let' WHERE kind = 'refused'")
    db.close()
    age(world.roots().state / "trail.db", 3)
    assert "denied" in log(world, "--verdict", "denied").stdout
    assert log(world, "verify").returncode == 0


def test_a_refusal_in_another_conversation_is_no_alarm(world: World) -> None:
    call(world, "echo trotline-canary")
    call(world, "echo trotline-canary", "c2", event="afterShellExecution")
    assert log(world).stderr == ""


def test_a_gate_that_stopped_firing_is_an_alarm(world: World) -> None:
    call(world, "", event="sessionStart")
    call(world, "ls")
    call(world, "ls", event="afterShellExecution")
    assert log(world, "alarms").stdout == "everything in the trail fits together\n"
    call(world, "rm notes", event="afterShellExecution")
    assert "nobody asked about: a hook of cursor stopped firing" in log(world).stderr
    assert "nobody asked about" in trotline_process("doctor", *world.options, cwd=world.project).stdout


def test_what_was_let_through_and_never_done_is_told_as_a_doubt(world: World) -> None:
    for command, event in (
        ("ls", "beforeShellExecution"),
        ("ls", "afterShellExecution"),
        ("make", "beforeShellExecution"),
        ("", "stop"),
    ):
        call(world, command, event=event)
    done = log(world, "alarms")
    assert done.returncode == 0
    assert "alarm: what 5 let through was not done when 7 came: a person said no" in done.stdout


def test_doctor_hears_of_a_conversation_that_went_on_without_us(world: World, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("{}")
    spool_of(world.roots().state).append(record(1, host="cursor", at_us=NOW))
    told = {**detail(1), "payload": {"transcript_path": str(transcript)}}
    spool_of(world.roots().state).append(told)

    def heard() -> str:
        return trotline_process("doctor", *world.options, cwd=world.project).stdout

    os.utime(transcript, (NOW // 1_000_000 + 60,) * 2)
    assert "went on for" not in heard()
    os.utime(transcript, (NOW // 1_000_000 + 3600,) * 2)
    assert f"a conversation of cursor went on for 60 minutes without a call: {transcript}" in heard()
