"""The exact output of the command line: one story per file of transcripts/.

A transcript begins with its note. `-- name --` begins a file of the workspace (`-- name * --` an executable one), and
`-- transcript --` the commands with what they print; a code other than 0 stands in the last line of its command as
`[exit 1]`. Commands are run in the project, by real processes, with nothing on the PATH but `system/usr/bin`;
`--home` and `--system` are given to those that take them, so that no machine's own files are read.
After a change of words: REFRESH_TRANSCRIPTS=1 pytest tests/test_transcripts.py, and read the diff.
"""

import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from kit import Workspace, make_workspace, run_trotline
from trotline.cli import COMMANDS, group

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
HEADING = re.compile(r"^-- (?P<name>.+?)(?P<runs> \*)? --$", re.MULTILINE)
REFRESH = os.environ.get("REFRESH_TRANSCRIPTS") == "1"


class Story(NamedTuple):
    note: str
    files: dict[str, str]
    executable: frozenset[str]
    transcript: str


def read_story(text: str) -> Story:
    headings = [*HEADING.finditer(text)]
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    parts = {heading["name"]: text[heading.end() + 1 : end] for heading, end in zip(headings, ends, strict=True)}
    executable = frozenset(heading["name"] for heading in headings if heading["runs"])
    transcript = parts.pop("transcript")
    return Story(text[: headings[0].start()], parts, executable, transcript)


def build(story: Story, path: Path) -> Workspace:
    workspace = make_workspace(path)
    for name, text in story.files.items():
        workspace.write(name, text, 0o755 if name in story.executable else 0o644)
    return workspace


def render_story(story: Story, workspace: Workspace) -> str:
    """Return the output of the commands of a story in this workspace."""
    commands = [line for line in story.transcript.splitlines() if line.startswith("$ ")]
    return "\n".join(f"{line}\n{printed(shlex.split(line[2:]), workspace)}" for line in commands)


def printed(words: list[str], workspace: Workspace) -> str:
    assert words[0] == "trotline"
    takes = words[1] in COMMANDS and any(option.name == "home" for option in command_named(words).params)
    roots = ["--home", str(workspace.home), "--system", str(workspace.system)] if takes else []
    path = {"PATH": str(workspace.system / "usr" / "bin")}
    done = run_trotline(*words[1:], *roots, cwd=workspace.project, environment=path)
    text = done.stdout + done.stderr
    for name in ("project", "home", "system"):
        text = text.replace(str(workspace.path / name), f"${name.upper()}")
    return text + (f"[exit {done.returncode}]\n" if done.returncode else "")


def command_named(words: list[str]) -> click.Command:
    found = group.get_command(click.Context(group), words[1])
    assert found is not None
    if isinstance(found, click.Group) and len(words) > 2:
        return found.get_command(click.Context(found), words[2]) or found
    return found


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_the_output_equals_the_transcript(path: Path, tmp_path: Path) -> None:
    text = path.read_text("utf-8")
    story = read_story(text)
    seen = render_story(story, build(story, tmp_path))
    if REFRESH:
        path.write_text(text[: len(text) - len(story.transcript)] + seen, "utf-8")
    else:
        assert seen == story.transcript


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_has_a_description_and_content(path: Path) -> None:
    story = read_story(path.read_text("utf-8"))
    assert len(story.note.split()) >= 4
    assert story.transcript.startswith("$ trotline ")


def test_there_are_at_least_eight_transcripts_and_no_two_have_the_same_note() -> None:
    notes = {read_story(path.read_text("utf-8")).note for path in TRANSCRIPTS}
    assert len(notes) == len(TRANSCRIPTS) >= 8
