"""`trotline log` on a terminal: tables fit its width, and control characters are escaped."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from kit import Workspace, make_workspace
from store_behaviour import detail, record
from trotline.audit.store.audit_log import get_spool
from trotline.audit.store.spool import Spool

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    _fill(get_spool(made.roots().state))
    return made


def _fill(spool: Spool) -> None:
    responses = [{"author": "deletion", "layer": "guard", "permission": "deny", "failure": None, "micros": 300}]
    refused = record(
        1, decided="deny", sent="deny", deciders=["deletion"], responses=responses, losses=[["ask", "not heard"]]
    )
    words = detail(1, command="rm -rf src \x1b[2J[bold]x[/bold]", effects=(("delete", "rm", "/w/src"),))
    for body in (refused, {**words, "diffs": [["src/a.py", "@@ -1 +1 @@\n-old\n+new"]]}, record(2, event="stop")):
        assert spool.append(body) == ""


def seen(workspace: Workspace, *words: str, width: int = 120, **environment: str) -> str:
    """Return the output of the command on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    argv = [sys.executable, "-m", "trotline", "log", *words, *workspace.options]
    known = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    variables = {**known, "TERM": "xterm-256color", **environment}
    running = subprocess.Popen(argv, cwd=workspace.project, stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65_536):
            pieces.append(piece)
    except OSError:  # a terminal without writers reports an error
        pass
    finally:
        os.close(ours)
    assert running.wait() == 0
    return b"".join(pieces).decode()


def test_calls_are_a_table_with_denials_in_red(workspace: Workspace) -> None:
    text = seen(workspace)
    head, *rows = COLOUR.sub("", text).splitlines()
    assert head.split() == "number time, UTC agent event verdict about by".split()
    assert len(rows) == 2
    assert "denied" in rows[1]
    assert rows[1].rstrip().endswith("deletion")
    assert "\x1b[1;31mdenied" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_longer_than_the_terminal(workspace: Workspace, width: int) -> None:
    for words in ([], ["conversations"], ["stats"], ["show", "1"]):
        lines = COLOUR.sub("", seen(workspace, *words, width=width)).splitlines()
        assert max(map(len, lines)) <= width


def test_a_narrow_terminal_shows_the_main_columns(tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    spool = get_spool(made.roots().state)
    of = {"agent": "factory-droid", "conversation": "0197aaaa-bbbb-cccc-dddd-eeeeffff0000"}
    for body in (
        record(1, decided="deny", sent="deny", **of),
        detail(1, command="rm -rf src"),
        record(2, event="sessionEnd", **of),
        {**detail(2), "measures": {"reason": "user_close"}},
    ):
        assert spool.append(body) == ""
    calls = COLOUR.sub("", seen(made, width=80)).splitlines()
    assert calls[0].split() == "no. UTC agent event verdict about".split()
    assert calls[2].split()[3:] == "factory-droid beforeShellExecution denied rm -rf src".split()
    head, conversation = COLOUR.sub("", seen(made, "conversations", width=80)).splitlines()
    assert head.split() == "begun, UTC agent id lasted calls cmds edits denied ended".split()
    assert conversation.split()[2:] == "factory-droid 0197aaaa 1 h 00 2 1 0 1 user_close".split()
    selected = seen(made, "--conversation", "0197aaaa", width=80)
    assert "factory-droid" in selected


def test_a_record_view_shows_missing_detail(workspace: Workspace) -> None:
    assert "its detail is not written yet" in COLOUR.sub("", seen(workspace, "show", "3"))


def test_a_script_is_named_by_its_beginning_in_one_line(tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    spool = get_spool(made.roots().state)
    for body in (record(1), detail(1, command="cat > x <<'END'\n\n\tone   two\nEND\n" + "z" * 500)):
        assert spool.append(body) == ""
    first, second = COLOUR.sub("", seen(made, "show", "1", width=200)).splitlines()[:2]
    assert first.startswith("beforeShellExecution none  cat > x <<'END' one two END zzz")
    assert first.rstrip().endswith("z\N{HORIZONTAL ELLIPSIS}")
    assert second.startswith("number, id")


def test_recorded_text_is_not_markup(workspace: Workspace) -> None:
    for words in ([], ["show", "1"]):
        text = seen(workspace, *words, width=200)
        assert "\x1b[2J" not in text
        assert "[bold]x[/bold]" in text


def test_no_color_disables_colours(workspace: Workspace) -> None:
    assert "\x1b[" not in seen(workspace, NO_COLOR="1").replace("\x1b[1m", "").replace("\x1b[2m", "").replace(
        "\x1b[0m", ""
    )


def test_a_sheet_tells_all_that_is_known_of_an_effect(workspace: Workspace) -> None:
    more = {"package": "pkg:npm/left-pad", "writes": True}
    words = detail(3, effects=(("install", "install", "project", more), ("delete", "rm", "/w/src")))
    spool = get_spool(workspace.roots().state)
    assert spool.append(record(3)) == spool.append(words) == ""
    rows = [" ".join(line.split()) for line in COLOUR.sub("", seen(workspace, "show", "4")).splitlines()]
    assert "install install project package pkg:npm/left-pad, writes" in rows
    assert "delete rm /w/src" in rows


def test_one_call_is_a_sheet_with_everything_about_it(workspace: Workspace) -> None:
    text = COLOUR.sub("", seen(workspace, "show", "1"))
    for part in ("number, id", "said by", "would do", "the agent could not hear", "src/a.py", "+new", '"command":'):
        assert part in text


def test_statistics_are_tables_with_headers(workspace: Workspace) -> None:
    text = COLOUR.sub("", seen(workspace, "stats"))
    assert re.search(r"calls +p50 +p95 +p99 +author", text)
    assert "\r\n\r\ndenied by" in text


def test_piped_output_does_not_import_rich(workspace: Workspace) -> None:
    code = (
        "import sys; from trotline.__main__ import main\n"
        f"sys.argv = {['trotline', 'log', 'stats', *workspace.options]!r}\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=workspace.project
    )
    assert done.stdout.splitlines()[-1] == "False"
