"""Built-in hooks: their table, page, examples and shared behaviour."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from builtin_uses import EXAMPLES, PAGE, Use
from kit import read_corpus
from trotline.builtin.hook_context import MAX_CONVERSATIONS, ConversationNotes
from trotline.cli import run
from trotline.config.builtin_hooks import BUILTIN_HOOKS
from trotline.domain.errors import TrotlineError

FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


TRIED: dict[str, tuple[str, ...]] = read_corpus("uses_builtin")["tried"]
"""Return the output of a command from the page."""


def blocks(name: str, language: str) -> list[str]:
    section = PAGE.read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    return [text for found, text in FENCE.findall(section) if found == language]


@pytest.mark.parametrize("name", BUILTIN_HOOKS)
def test_the_page_of_a_ready_hook_has_the_lines_of_its_example(name: str) -> None:
    assert blocks(name, "json")[0] == (EXAMPLES / name / "hooks.json").read_text("utf-8")


@pytest.mark.parametrize("name", BUILTIN_HOOKS)
def test_an_example_names_its_hook_on_events_that_the_hook_has_an_answer_to(name: str) -> None:
    hooks = json.loads((EXAMPLES / name / "hooks.json").read_text("utf-8"))["hooks"]
    assert hooks
    for event, entries in hooks.items():
        assert event in BUILTIN_HOOKS[name].events
        assert all(entry["command"].startswith(f"trotline builtin {name}") for entry in entries)


@pytest.mark.parametrize("name", BUILTIN_HOOKS)
def test_the_example_is_one_that_check_has_nothing_against(name: str, tmp_path: Path) -> None:
    use = Use(tmp_path, name)
    done = use.shell(f"trotline check --json --project {use.project} --system {use.agent.system}")
    problems = json.loads(done.stdout)["problems"]
    assert [problem for problem in problems if problem["severity"] != "note"] == []


@pytest.mark.parametrize("name", BUILTIN_HOOKS)
def test_the_commands_on_the_page_work(name: str, tmp_path: Path) -> None:
    use = Use(tmp_path, name)
    (script,) = blocks(name, "sh")
    done = use.shell(script)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(text in done.stdout for text in TRIED[name])


@pytest.mark.parametrize("name", BUILTIN_HOOKS)
def test_the_help_of_a_ready_hook_shows_lines_for_hooks_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["builtin", name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"trotline builtin {name}" in shown
    assert any(f'"{event}"' in shown for event in BUILTIN_HOOKS[name].events)


@pytest.mark.parametrize("name", BUILTIN_HOOKS)
def test_a_ready_hook_answers_input_that_is_no_payload_without_a_traceback(name: str, tmp_path: Path) -> None:
    use = Use(tmp_path, name)
    event, *_ = json.loads((EXAMPLES / name / "hooks.json").read_text())["hooks"].items()
    done = use.shell(f"echo 'not json' | {event[1][0]['command']} --agent cursor --event {event[0]}")
    assert "could not read this call" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, 2}


def test_there_is_a_row_for_each_in_the_table_of_uses() -> None:
    page = PAGE.read_text("utf-8")
    assert [name for name in BUILTIN_HOOKS if f"\n| [{name}](#{name}) | " not in page] == []


def test_a_name_that_is_not_there_is_met_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["builtin", "formt"]) == 64
    assert "there is no built-in hook `formt`; did you mean `format`?" in capsys.readouterr().err


def test_the_table_is_data_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["builtin", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["data"]] == list(BUILTIN_HOOKS)


@pytest.mark.parametrize("line", ["'unclosed", "''"])
def test_a_command_that_is_none_is_refused_when_the_line_is_read(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["builtin", "until-green", "--run", line]) == 64
    assert "--run" in capsys.readouterr().err


def test_notes_are_their_owners_alone_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    notes = ConversationNotes(tmp_path / "notes")
    for number in range(MAX_CONVERSATIONS + 5):
        with notes.edit(f"conversation {number}") as note:
            note["number"] = number
    assert (tmp_path / "notes").stat().st_mode & 0o777 == 0o700
    assert len([*(tmp_path / "notes").glob("*.json")]) == MAX_CONVERSATIONS
    assert notes.read(f"conversation {MAX_CONVERSATIONS + 4}") == {"number": MAX_CONVERSATIONS + 4}
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in (tmp_path / "notes").iterdir())


def test_no_note_is_lost_when_many_write_at_once(tmp_path: Path) -> None:
    def count(_: int) -> None:
        with ConversationNotes(tmp_path).edit("c") as note:
            note["count"] = note.get("count", 0) + 1

    with ThreadPoolExecutor(4) as pool:
        assert len([*pool.map(count, range(60))]) == 60
    assert ConversationNotes(tmp_path).read("c") == {"count": 60}


def test_damaged_notes_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    notes = ConversationNotes(tmp_path)
    with notes.edit("c") as note:
        note["a"] = 1
    (file,) = tmp_path.glob("*.json")
    file.write_text("[")
    with pytest.raises(TrotlineError, match=r"are damaged") as raised:
        notes.read("c")
    assert str(file) in raised.value.message
