"""What `trotline log` looks like on a terminal: tables as wide as it is, and nothing in them that talks to it."""

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

from store_behaviour import detail, record
from trotline.audit.spool import Spool
from trotline.audit.trail import spool_of
from worlds import World, new_world

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = new_world(tmp_path)
    _fill(spool_of(made.roots().state))
    return made


def _fill(spool: Spool) -> None:
    voices = [{"author": "deletion", "layer": "guard", "said": "deny", "failure": None, "micros": 300}]
    refused = record(1, asked="deny", sent="deny", deciders=["deletion"], voices=voices, losses=[["ask", "not heard"]])
    words = detail(1, command="rm -rf src \x1b[2J[bold]x[/bold]", effects=(("delete", "rm", "/w/src"),))
    for body in (refused, {**words, "diffs": [["src/a.py", "@@ -1 +1 @@\n-old\n+new"]]}, record(2, event="stop")):
        assert spool.append(body) == ""


def seen(world: World, *words: str, width: int = 120, **environment: str) -> str:
    """What a terminal of that width gets from the command."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    argv = [sys.executable, "-m", "trotline", "log", *words, *world.options]
    known = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    variables = {**known, "TERM": "xterm-256color", **environment}
    running = subprocess.Popen(argv, cwd=world.project, stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65_536):
            pieces.append(piece)
    except OSError:  # how a terminal says that nobody writes to it any more
        pass
    finally:
        os.close(ours)
    assert running.wait() == 0
    return b"".join(pieces).decode()


def test_calls_are_a_table_and_what_was_refused_is_red(world: World) -> None:
    text = seen(world)
    head, *rows = COLOUR.sub("", text).splitlines()
    assert head.split() == "number time, UTC host event verdict about by".split()
    assert len(rows) == 2
    assert "denied" in rows[1]
    assert rows[1].rstrip().endswith("deletion")
    assert "\x1b[1;31mdenied" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_longer_than_the_terminal(world: World, width: int) -> None:
    for words in ([], ["conversations"], ["stats"], ["show", "1"]):
        lines = COLOUR.sub("", seen(world, *words, width=width)).splitlines()
        assert max(map(len, lines)) <= width


def test_a_narrow_terminal_leaves_out_what_show_has(world: World) -> None:
    assert " host " not in COLOUR.sub("", seen(world, width=80))


def test_what_an_agent_wrote_is_text_and_no_markup(world: World) -> None:
    for words in ([], ["show", "1"]):
        text = seen(world, *words, width=200)
        assert "\x1b[2J" not in text
        assert "[bold]x[/bold]" in text


def test_no_colours_for_whoever_wants_none(world: World) -> None:
    assert "\x1b[" not in seen(world, NO_COLOR="1").replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")


def test_one_call_is_a_sheet_with_everything_about_it(world: World) -> None:
    text = COLOUR.sub("", seen(world, "show", "1"))
    for part in ("number, id", "said by", "would do", "the host could not hear", "src/a.py", "+new", '"command":'):
        assert part in text


def test_figures_are_tables_with_heads(world: World) -> None:
    text = COLOUR.sub("", seen(world, "stats"))
    assert re.search(r"calls +p50 +p95 +p99 +who", text)
    assert "\r\n\r\ndenied by" in text


def test_what_is_piped_loads_no_rich(world: World) -> None:
    code = (
        "import sys; from trotline.__main__ import main\n"
        f"sys.argv = {['trotline', 'log', 'stats', *world.options]!r}\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=world.project)
    assert done.stdout.splitlines()[-1] == "False"
