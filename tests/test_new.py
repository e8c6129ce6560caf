"""`trotline new`: its files work at once, and existing files stay."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from kit import Workspace, run_trotline
from trotline.domain.events import EVENTS
from trotline.templates.template_files import TEMPLATES

ROOT = Path(__file__).parent.parent
LAUNCHER = (TEMPLATES / "with-trotline.txt").read_text("utf-8")


def new(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"}
    return run_trotline("new", *words, *workspace.options, cwd=workspace.project, environment=path)


def run(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return run_trotline(*words, *workspace.options, cwd=workspace.project, environment=path)


def pytest_in(directory: Path) -> str:
    """Run pytest on the written tests, and return its last line."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", ".cursor/tests"]
    done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def keep_records_here(workspace: Workspace) -> None:
    """Make the program of a project write its records to the workspace instead of the real home."""
    file = workspace.project / ".cursor" / "hooks.json"
    file.write_text(re.sub(r'(with-trotline [^"]+)', rf"\1 --home {workspace.home}", file.read_text()))


@pytest.mark.parametrize("language", ["python", "bash", "node"])
def test_a_hook_for_every_event_passes_its_own_test_and_is_configured_well(workspace: Workspace, language: str) -> None:
    if language == "node" and not shutil.which("node"):
        pytest.skip("node is not here")
    done = new(
        workspace, "hook", "all-of-it", "--language", language, *(word for name in EVENTS for word in ("--event", name))
    )
    assert done.returncode == 0, done.stderr
    assert pytest_in(workspace.project).startswith(f"{len(EVENTS)} passed")
    checked = json.loads(run(workspace, "check", "--json").stdout)
    codes = {problem["code"] for problem in checked["problems"] if problem["severity"] != "note"}
    assert codes <= {"TL501"}, "who takes generic and specific events is told so, and nothing else is wrong"


def test_written_files_are_formatted_and_sorted(workspace: Workspace) -> None:
    new(workspace, "hook", "one")
    new(workspace, "hook", "two", *(word for name in EVENTS for word in ("--event", name)))
    new(workspace, "project", str(workspace.project / "starter"))
    ruff = [str(Path(sys.executable).parent / "ruff")]
    places = [str(workspace.project / ".cursor"), str(workspace.project / "starter" / ".cursor")]
    third = ["--config", 'lint.isort.known-third-party=["trotline"]']
    for words in (["format", "--check"], ["check", "--select", "E,F,I,UP,B", *third]):
        argv = [*ruff, *words, "--isolated", "--no-cache", "--line-length", "120", *places]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_a_hook_of_a_project_works_under_fire_once_it_is_trusted(workspace: Workspace) -> None:
    output = new(workspace, "hook", "no-drop").stdout
    assert "trotline fire beforeShellExecution --set command=replace-me" in output
    keep_records_here(workspace)
    assert (
        "1 hook of the project did not run"
        in run(workspace, "fire", "beforeShellExecution", "--set", "command=ls").stderr
    )
    run(workspace, "trust", "--yes")
    refused = run(workspace, "fire", "beforeShellExecution", "--set", "command=replace-me")
    assert refused.returncode == 20, refused.stdout
    assert "to the agent: Find another way, or ask." in refused.stdout
    assert run(workspace, "fire", "beforeShellExecution", "--set", "command=ls").returncode == 0
    assert run(workspace, "trust", "--status").returncode == 0, "running a hook leaves nothing behind that ends trust"


@pytest.mark.parametrize("language", ["python", "bash"])
def test_a_user_hook_works_from_its_directory(workspace: Workspace, language: str) -> None:
    assert new(workspace, "hook", "mine", "--layer", "user", "--language", language).returncode == 0
    entry = json.loads((workspace.home / ".cursor" / "hooks.json").read_text())["hooks"]["beforeShellExecution"][0]
    command = f"{sys.executable} -E -P ./hooks/mine.py --home {workspace.home}"
    assert entry["command"] == {"python": command, "bash": "./hooks/mine.sh beforeShellExecution"}[language]
    assert run(workspace, "fire", "beforeShellExecution", "--set", "command=replace-me").returncode == 20
    assert pytest_in(workspace.home).startswith("1 passed")
    assert not (workspace.project / ".cursor").exists()


@pytest.mark.parametrize("event", EVENTS)
def test_the_next_step_that_is_printed_can_be_taken(workspace: Workspace, event: str) -> None:
    output = new(workspace, "hook", "one", "--language", "bash", "--layer", "user", "--event", event).stdout
    (step,) = re.findall(r"^  trotline (fire .*)$", output, re.MULTILINE)
    done = run(workspace, *shlex.split(step), "--json")
    (ran,) = json.loads(done.stdout)["data"]["runs"]
    assert ran["failure"] is None, done.stdout


def test_failing_open_is_a_choice(workspace: Workspace) -> None:
    new(workspace, "hook", "open", "--fail-open")
    new(workspace, "hook", "closed")
    entries = json.loads((workspace.project / ".cursor/hooks.json").read_text())["hooks"]["beforeShellExecution"]
    assert [entry.get("failClosed") for entry in entries] == [None, True]
    assert "fail_closed" not in (workspace.project / ".cursor/hooks/open.py").read_text()
    assert pytest_in(workspace.project).startswith("2 passed")


def test_no_other_byte_of_hooks_json_moves(workspace: Workspace) -> None:
    text = '{\r\n\t"hooks": { // ours\r\n\t\t"stop": [{"command": "x"}] /* more */\r\n\t},\r\n\t"version": 1\r\n}'
    file = workspace.write("project", text)
    assert new(workspace, "hook", "one", "--event", "stop").returncode == 0
    assert "with-trotline" in file.read_text("utf-8")
    added = re.sub(r',\s*\{"command": "[^"]*one\.py"\}', "", file.read_bytes().decode())
    assert added == text


def test_installing_and_uninstalling_afterwards_gives_the_file_back(workspace: Workspace) -> None:
    new(workspace, "hook", "one")
    before = (workspace.project / ".cursor/hooks.json").read_bytes()
    assert run(workspace, "install", "cursor", "--layer", "project", "--yes").returncode == 0
    assert (workspace.project / ".cursor/hooks.json").read_bytes() != before
    assert run(workspace, "uninstall", "cursor", "--layer", "project").returncode == 0
    assert (workspace.project / ".cursor/hooks.json").read_bytes() == before


def test_doing_it_again_changes_nothing(workspace: Workspace) -> None:
    new(workspace, "hook", "one")
    before = tree(workspace.project)
    done = new(workspace, "hook", "one")
    assert (done.returncode, tree(workspace.project)) == (0, before)
    assert "everything is already in place" in done.stdout


def test_an_edited_hook_is_not_overwritten(workspace: Workspace) -> None:
    new(workspace, "hook", "one")
    hook = workspace.project / ".cursor/hooks/one.py"
    hook.write_text("# mine\n")
    before = tree(workspace.project)
    done = new(workspace, "hook", "one")
    assert (done.returncode, tree(workspace.project)) == (1, before)
    assert done.stderr.splitlines() == [
        "error: `.cursor/hooks/one.py` is there already, and nothing was written",
        "hint: use another name, or move the existing file away",
    ]


def test_an_edited_launcher_is_unchanged(workspace: Workspace) -> None:
    new(workspace, "hook", "one")
    launcher = workspace.project / ".cursor/hooks/with-trotline"
    launcher.write_text(launcher.read_text() + "# ours\n")
    done = new(workspace, "hook", "two")
    assert done.returncode == 0
    assert "kept .cursor/hooks/with-trotline, which differs from the template" in done.stdout
    assert launcher.read_text().endswith("# ours\n")


@pytest.mark.parametrize(
    "text", ['{"version": 1, "hooks": {', "[]", '{"version": 1, "hooks": {"beforeShellExecution": {}}}']
)
def test_into_a_file_that_cannot_be_edited_nothing_is_written_at_all(workspace: Workspace, text: str) -> None:
    workspace.write("project", text)
    before = tree(workspace.path)
    done = new(workspace, "hook", "one")
    assert (done.returncode, tree(workspace.path)) == (1, before)
    assert re.search(r"cannot be changed, and nothing was written\n  TL\d+ ", done.stdout)
    answer = json.loads(new(workspace, "hook", "one", "--json").stdout)
    assert (answer["ok"], answer["data"]["files"]) == (False, [])
    assert answer["problems"]


def test_when_a_file_cannot_be_written_the_others_are_taken_back(workspace: Workspace) -> None:
    (workspace.project / ".cursor").mkdir()
    (workspace.project / ".cursor/tests").write_text("a file, where a directory should be")
    before = tree(workspace.project)
    done = new(workspace, "hook", "one")
    assert (done.returncode, tree(workspace.project)) == (1, before)
    assert not (workspace.project / ".cursor/hooks").exists()
    assert "cannot be written" in done.stderr
    assert "hint: one of the directories above it is a file" in done.stderr


@pytest.mark.parametrize("link", [".cursor", ".cursor/hooks"])
def test_links_are_not_followed_out_of_the_project(workspace: Workspace, link: str) -> None:
    (workspace.project / link).parent.mkdir(exist_ok=True)
    (workspace.project / link).symlink_to(workspace.home)
    done = new(workspace, "hook", "one")
    assert (done.returncode, tree(workspace.home)) == (1, {})
    assert "leads out of" in done.stderr
    assert new(workspace, "project").returncode == 1
    assert tree(workspace.home) == {}


@pytest.mark.parametrize("name", ["a/b", "../x", "x y", ".x", "é", "", "a" * 65, "x;y", "x\n"])
def test_names_that_no_hook_can_have_are_refused(workspace: Workspace, name: str) -> None:
    done = new(workspace, "hook", name)
    assert (done.returncode, tree(workspace.path)) == (64, {})
    assert "hint: letters, digits, `-` and `_`" in done.stderr


@pytest.mark.parametrize("name", ["json", "class", "trotline", "9-lives", "test_x"])
def test_names_that_mean_something_to_python_are_names_like_others(workspace: Workspace, name: str) -> None:
    assert new(workspace, "hook", name).returncode == 0
    assert pytest_in(workspace.project).startswith("1 passed")


def test_an_unknown_event_is_reported_with_the_nearest_name(workspace: Workspace) -> None:
    done = new(workspace, "hook", "one", "--event", "beforeShellExec")
    assert (done.returncode, tree(workspace.path)) == (64, {})
    assert "hint: did you mean `beforeShellExecution`?" in done.stderr


def test_a_dry_run_shows_the_difference_and_writes_nothing(workspace: Workspace) -> None:
    workspace.write("project", '{\n  "version": 1,\n  "hooks": {}\n}\n')
    before = tree(workspace.path)
    done = new(workspace, "hook", "one", "--dry-run")
    assert (done.returncode, tree(workspace.path)) == (0, before)
    assert "  +from trotline import Verdict, deny, on, run" in done.stdout
    assert '  +        "command": ".cursor/hooks/with-trotline .cursor/hooks/one.py",' in done.stdout
    assert new(workspace, "project", "starter", "--dry-run").returncode == 0
    assert tree(workspace.path) == before


def test_scripts_are_answered_in_the_envelope(workspace: Workspace) -> None:
    answer = json.loads(new(workspace, "hook", "one", "--json").stdout)
    assert (answer["schema"], answer["ok"], answer["problems"]) == ("trotline.new/1", True, [])
    assert [Path(file["path"]).name for file in answer["data"]["files"]] == ["one.py", "test_one.py", "with-trotline"]
    assert answer["data"]["hooks_json"]["done"] == "written"


def launched(directory: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """The launcher with a program that prints its Python and the origin of `json`."""
    directory.mkdir(exist_ok=True)
    (directory / "launch").write_text(LAUNCHER)
    (directory / "hook.py").write_text(
        "import json, sys, trotline; print(sys.executable, json.__file__, *sys.argv[1:])"
    )
    (directory / "json.py").write_text("raise SystemExit('the file beside the hook was imported')")
    return subprocess.run(
        ["/bin/sh", "launch", "hook.py", "--home", "x y"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("place", ["bin", "home/.local/bin", "project/.venv/bin", "project/venv/bin"])
@pytest.mark.parametrize("long", [False, True], ids=["shebang", "long path"])
def test_the_launcher_finds_the_python_that_has_trotline(tmp_path: Path, place: str, long: bool) -> None:
    installed = tmp_path / place
    installed.mkdir(parents=True)
    first = f"#!/bin/sh\n'''exec' \"{sys.executable}\"" if long else f"#!{sys.executable} -s"
    directory = tmp_path / "tool" / "bin"
    directory.mkdir(parents=True)
    (directory / "trotline").write_text(f"{first}\n")
    (directory / "trotline").chmod(0o755)
    (directory / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (directory / "python").chmod(0o755)
    (installed / "trotline").symlink_to(directory / "trotline")
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin" if place == "bin" else "/usr/bin:/bin"
    stray = {"PYTHONPATH": str(tmp_path / "project"), "PYTHONHOME": "/nowhere"}
    done = launched(tmp_path / "project", {"PATH": path, "HOME": str(tmp_path / "home"), **stray})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(sys.executable)
    assert done.stdout.endswith("json/__init__.py --home x y\n")


def test_without_trotline_the_launcher_reports_an_error(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("dirname", "readlink"):
        (tools / tool).symlink_to(shutil.which(tool) or "")
    done = launched(tmp_path / "project", {"PATH": str(tools), "HOME": str(tmp_path / "home")})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Trotline is not installed here, so the hook hook.py could not run.")


def test_a_new_project_passes_its_own_tests_and_is_configured_well(workspace: Workspace) -> None:
    done = new(workspace, "project")
    assert done.returncode == 0, done.stderr
    assert pytest_in(workspace.project).startswith("30 passed")
    checked = json.loads(run(workspace, "check", "--json").stdout)
    assert {problem["code"] for problem in checked["problems"]} == {"TL506"}


@pytest.mark.parametrize(
    "fired,code",
    [
        (["beforeShellExecution", "--set", "command=git push -f"], 20),
        (["beforeShellExecution", "--set", "command=git push"], 0),
        (["beforeMCPExecution", "--set", "tool_name=drop_table"], 20),
        (["beforeReadFile", "--set", "file_path=/srv/.env"], 20),
        (["beforeTabFileRead", "--set", "file_path=/srv/tls.pem"], 20),
        (["beforeSubmitPrompt", "--set", "prompt=use AKIAABCDEFGHIJKLMNOP"], 20),
        (["afterFileEdit", "--set", "file_path=/srv/cart.py"], 0),
        (["afterMCPExecution", "--set", "tool_name=query"], 0),
        (["stop", "--set", "status=completed"], 0),
    ],
)
def test_every_hook_of_a_new_project_works_under_fire(workspace: Workspace, fired: list[str], code: int) -> None:
    new(workspace, "project")
    keep_records_here(workspace)
    run(workspace, "trust", "--yes")
    done = run(workspace, "fire", *fired)
    assert done.returncode == code, done.stdout
    assert "crashed" not in done.stdout
    assert run(workspace, "trust", "--status").returncode == 0


def test_every_hook_of_a_new_project_is_configured_and_explained(workspace: Workspace) -> None:
    new(workspace, "project")
    directory = workspace.project / ".cursor"
    hooks = {path.name for path in (directory / "hooks").glob("*.py")}
    assert len(hooks) == 6
    assert set(re.findall(r"hooks/(\w+\.py)", (directory / "hooks.json").read_text())) == hooks
    assert set(re.findall(r"^\| `(\w+\.py)`", (directory / "README.md").read_text(), re.MULTILINE)) == hooks
    assert os.access(directory / "hooks" / "with-trotline", os.X_OK)


def test_a_new_project_takes_the_place_of_nothing(workspace: Workspace) -> None:
    workspace.write("project", '{"version": 1, "hooks": {}}')
    before = tree(workspace.path)
    done = new(workspace, "project")
    assert (done.returncode, tree(workspace.path)) == (1, before)
    assert "`.cursor/hooks.json` is there already" in done.stderr
    assert "hint: `trotline new hook` adds one" in done.stderr
    assert new(workspace, "project", "starter").returncode == 0
    assert new(workspace, "hook", "one", "--project", str(workspace.project / "starter")).returncode == 0


def test_every_template_is_in_the_wheel() -> None:
    packed = {Path(file.path).resolve() for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {path.resolve() for path in TEMPLATES.rglob("*") if path.is_file()} <= packed
