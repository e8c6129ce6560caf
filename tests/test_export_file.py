"""[export] in trotline.toml: valid settings, and problems with their places."""

import json
import re
from pathlib import Path

import pytest

from kit import MARK, Workspace, read_rows
from trotline.config.export_file import ExportTable, read_exports

ROOT = Path(__file__).parents[1]
VALID = '[export]\nendpoint = "https://collector.example:4318"\n'


@pytest.mark.parametrize(
    "text,code,message",
    read_rows("export_file", "problem_has_code_and_place_and_disables_the_export"),
)
def test_problem_has_code_and_place_and_disables_the_export(
    workspace: Workspace, text: str, code: str, message: str
) -> None:
    workspace.write("home/.config/trotline/trotline.toml", text)
    read = read_exports(workspace.roots())
    assert read.destinations == ()
    (problem,) = read.problems
    before = text[: text.index(MARK)]
    assert (problem.code, problem.place.line) == (code, before.count("\n") + 1)
    if "no TOML" not in message:
        assert problem.place.column == len(before) - before.rfind("\n")
    assert message in problem.message


@pytest.mark.parametrize(
    "text",
    [
        VALID,
        '[export]\nendpoint = "http://127.0.0.1:4318"\n',
        '[export]\nendpoint = "http://[::1]:4318"\n',
        '[export]\nendpoint = "http://collector:4318"\ninsecure = true\n',
        f'{VALID}details = true\nbatch = 7\n[export.resource]\n"host.name" = "a"\n',
    ],
)
def test_valid_export_is_configured(workspace: Workspace, text: str) -> None:
    workspace.write("system/etc/trotline/trotline.toml", text)
    read = read_exports(workspace.roots())
    assert read.problems == ()
    assert [destination.layer for destination in read.destinations] == ["enterprise"]


def test_paths_are_relative_to_home_or_file(workspace: Workspace) -> None:
    workspace.write("home/.config/trotline/trotline.toml", f'{VALID}headers_file = "~/h"\ncertificate = "ca.pem"\n')
    (destination,) = read_exports(workspace.roots()).destinations
    assert destination.headers_file == str(workspace.home / "h")
    assert destination.certificate == str(workspace.home / ".config/trotline/ca.pem")


def test_directory_instead_of_the_file_is_a_problem(workspace: Workspace) -> None:
    (workspace.home / ".config/trotline/trotline.toml").mkdir(parents=True)
    (problem,) = read_exports(workspace.roots()).problems
    assert problem.code == "TL109"


@pytest.mark.parametrize(
    "place,code",
    [("home/.config/trotline", "TL280"), ("system/etc/trotline", "TL280"), ("project/.trotline", "TL256")],
)
def test_check_and_doctor_report_problems(workspace: Workspace, place: str, code: str) -> None:
    workspace.write(f"{place}/trotline.toml", "[export]\nendpoint = 1\n")
    checked = workspace.run("check", "--json")
    problems = json.loads(checked.stdout)["problems"]
    assert (code, checked.returncode) in [(problem["code"], 1) for problem in problems]
    shown = workspace.run("check").stdout
    assert code in shown
    assert "trotline.toml" in workspace.run("doctor").stdout


def test_documented_export_is_valid_and_every_key_is_documented(workspace: Workspace) -> None:
    page = (ROOT / "docs" / "export.md").read_text("utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    workspace.write("home/.config/trotline/trotline.toml", shown)
    read = read_exports(workspace.roots())
    assert (read.problems, len(read.destinations)) == ((), 1)
    assert [key for key in ExportTable.__struct_fields__ if f"`{key}`" not in page] == []
