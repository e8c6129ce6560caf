"""The documents are true: every command in them is run, every generated page is current, every link leads somewhere."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trotline
from kit import read_rows
from trotline.cli import COMMANDS
from trotline.config.problems import load_codes
from trotline.domain.events import EVENTS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PROMPT = re.compile(r"^\$ ", re.MULTILINE)
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


EXAMPLE = re.compile(r"`examples/uses/([\w-]+)`")


def _sections() -> Iterator[tuple[str, str, str]]:
    """Yield each section of each page with the name of the page and of the example that the section describes."""
    for page in PAGES:
        for section in re.split(r"^(?=## )", page.read_text("utf-8"), flags=re.MULTILINE):
            example = EXAMPLE.search(section) if section.startswith("## ") else None
            yield _get_title(page), example[1] if example else "", section


def list_sessions() -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
    """Return every console block with its page and example: its commands, each with the expected output."""
    return [
        (page, example, [parse_session(part) for part in PROMPT.split(block)[1:]])
        for page, example, section in _sections()
        for block in BLOCK.findall(section)
    ]


def _get_title(page: Path) -> str:
    return page.relative_to(ROOT / "docs" if page.is_relative_to(ROOT / "docs") else ROOT).as_posix()


def _install_example(name: str, workspace: Path) -> None:
    """Install the policy and the hooks of an example as those of the user."""
    example = ROOT / "examples" / "uses" / name
    if not name or not (example / "trotline.toml").exists():
        return
    shutil.rmtree(workspace / "project" / ".trotline")
    config, cursor = workspace / "home" / ".config" / "trotline", workspace / "home" / ".cursor"
    for file, place in (("trotline.toml", config), ("hooks.json", cursor)):
        place.mkdir(parents=True, exist_ok=True)
        if (example / file).exists():
            shutil.copy(example / file, place)
    for extra in (path for path in example.iterdir() if path.name not in {"trotline.toml", "hooks.json"}):
        target = (cursor if extra.name == "hooks" else workspace / "project") / extra.name
        shutil.copytree(extra, target, dirs_exist_ok=True) if extra.is_dir() else shutil.copy(extra, target)


def parse_session(part: str) -> tuple[str, list[str]]:
    command, *output = part.splitlines()
    return command, output


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    """The sample workspace; a service that a command started ends with the test."""
    shutil.copytree(ROOT / "examples" / "workspace", tmp_path, dirs_exist_ok=True)
    yield tmp_path.resolve()
    if (tmp_path / "home" / ".local" / "state" / "trotline" / "v1" / "run").exists():
        run_command("trotline service stop", tmp_path.resolve())


def run_command(command: str, workspace: Path) -> str:
    program, *words = shlex.split(command)
    assert program == "trotline"
    roots = [f"--{name}={workspace / name}" for name in ("home", "system", "project")]
    reads_files = words[0] not in {"events", "schema", "completion", "conform"} and "--explain" not in words
    argv = [sys.executable, "-m", "trotline", *words, *(roots if reads_files else [])]
    environment = {**os.environ, "TMPDIR": str(workspace)}
    done = subprocess.run(argv, cwd=workspace / "project", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1, 10, 20}, done.stderr
    text = done.stdout
    for name, shown in (("project", "~/shop"), ("home", "~"), ("system", "")):
        text = text.replace(str(workspace / name), shown)
    return text


def test_documents_show_the_main_commands() -> None:
    shown = {shlex.split(command)[1] for _, _, commands in list_sessions() for command, _ in commands}
    assert {"check", "show", "events", "schema", "fire", "conform", "trust", "log"} <= shown
    assert {"install", "doctor"} <= shown


@pytest.mark.parametrize("page,example,commands", list_sessions(), ids=lambda value: str(value)[:60])
def test_commands_in_the_documents_print_the_documented_output(
    page: str, example: str, commands: list[tuple[str, list[str]]], workspace: Path
) -> None:
    _install_example(example, workspace)
    for command, output in commands:
        printed = run_command(command, workspace).splitlines()
        assert printed
        at = 0
        for line in (line for line in output if line.strip() != "..."):
            assert line in printed[at:], f"{page}: `{line}` is not in the rest of the output of `{command}`"
            at = printed.index(line, at) + 1


PROGRAMS = [
    (page, example, program)
    for page, example, section in _sections()
    for program in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
]


SANDBOX = """
import pathlib, trotline.machine as machine
_roots = machine.find_roots
_world = pathlib.Path("{workspace}")
machine.find_roots = lambda projects=(), home=None, system=None: _roots(projects, _world / "home", _world / "system")
"""
"""Keeps the hooks of this machine out of the programs."""


@pytest.mark.parametrize("page,example,program", PROGRAMS, ids=lambda value: str(value)[:40])
def test_programs_in_the_documents_run(page: str, example: str, program: str, workspace: Path) -> None:
    _install_example(example, workspace)
    argv = [sys.executable, "-W", "error", "-c", f"{SANDBOX.format(workspace=workspace)}\n{program}"]
    done = subprocess.run(
        argv, cwd=workspace / "project", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{page}: {done.stderr}"


def test_generated_files_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr + "run `make schemas`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_existing_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


def test_every_problem_has_a_section() -> None:
    page = (ROOT / "docs" / "problems.md").read_text("utf-8")
    assert re.findall(r"^### (TL\d+)$", page, re.MULTILINE) == list(load_codes())


def test_every_command_is_in_the_readme_or_the_changelog() -> None:
    text = (ROOT / "README.md").read_text("utf-8") + (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"trotline {name}" not in text] == []


def test_demo_prints_its_story() -> None:
    done = subprocess.run([sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = read_rows("docs", "lines_of_the_demo")
    places = [done.stdout.find(line) for line in lines]
    assert -1 not in places, lines[places.index(-1)]
    assert places == sorted(places)
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_documented_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = {name for page in PAGES for name in re.findall(r"`?make ([a-z-]+)`", page.read_text("utf-8"))}
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_documented_conversation_equals_the_example() -> None:
    (shown,) = re.findall(
        r"^```toml\n(.*?)^```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert shown == (ROOT / "examples" / "workspace" / "project" / "talk.toml").read_text("utf-8")


def test_documents_use_every_public_name_except_events() -> None:
    used = {name for _, _, program in PROGRAMS for name in re.findall(r"\w+", program)}
    assert set(trotline.__all__) - {cls.__name__ for cls in EVENTS.values()} <= used
