"""[export] in trotline.toml: what it may say, and where what is wrong with it stands."""

import json
import re
from pathlib import Path

import pytest

from kit import MARK, Workspace
from trotline.config.export_file import ExportTable, read_exports

ROOT = Path(__file__).parents[1]
WELL = '[export]\nendpoint = "https://collector.example:4318"\n'


@pytest.mark.parametrize(
    "text,code,said",
    [
        ("[‸export]\n", "TL280", "`[export]` needs `endpoint`"),
        ("[export]\nendpoint = ‸", "TL256", "this is no TOML"),
        (f"{WELL}‸endpiont = 1\n", "TL280", "`[export]` has no `endpiont`"),
        (f"{WELL}‸batch = 0\n", "TL280", "`batch` must be a number of records from 1 to 2000"),
        (f"{WELL}‸batch = true\n", "TL280", "`batch` must be"),
        (f"{WELL}‸timeout = 61\n", "TL280", "`timeout` must be"),
        (f'{WELL}‸words = "yes"\n', "TL280", "`words` must be `true` or `false`"),
        (f'{WELL}‸signals = ["metrics"]\n', "TL280", "`signals` must be"),
        (f"{WELL}‸signals = []\n", "TL280", "`signals` must be"),
        (f'{WELL}‸protocol = "grpc"\n', "TL280", "`protocol` must be one of `http/protobuf`, `http/json`"),
        (f'{WELL}‸headers_env = "Bearer x"\n', "TL280", "`headers_env` must be the name of a variable"),
        (f"{WELL}[‸export.resource]\nx = 1\n", "TL280", "`resource` must be a table of texts"),
        (f'{WELL}‸token = "x"\n', "TL282", "what is secret does not belong into this file"),
        (f'{WELL}[‸export.headers]\nAuthorization = "x"\n', "TL282", "what is secret does not belong into this file"),
        ('[export]\n‸endpoint = "collector:4318"\n', "TL281", "is no http or https address"),
        ('[export]\n‸endpoint = "https://[x"\n', "TL281", "is no http or https address"),
        ('[export]\n‸endpoint = "https://me:pw@collector"\n', "TL281", "keys do not belong into addresses"),
        ('[export]\n‸endpoint = "http://collector:4318"\n', "TL281", "records would travel unencrypted"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_nothing_is_sent(
    workspace: Workspace, text: str, code: str, said: str
) -> None:
    workspace.write("home/.config/trotline/trotline.toml", text)
    read = read_exports(workspace.roots())
    assert read.destinations == ()
    (problem,) = read.problems
    before = text[: text.index(MARK)]
    assert (problem.code, problem.place.line) == (code, before.count("\n") + 1)
    if "no TOML" not in said:
        assert problem.place.column == len(before) - before.rfind("\n")
    assert said in problem.message


@pytest.mark.parametrize(
    "text",
    [
        WELL,
        '[export]\nendpoint = "http://127.0.0.1:4318"\n',
        '[export]\nendpoint = "http://[::1]:4318"\n',
        '[export]\nendpoint = "http://collector:4318"\ninsecure = true\n',
        f'{WELL}words = true\nbatch = 7\n[export.resource]\n"host.name" = "a"\n',
    ],
)
def test_what_is_well_is_in_force(workspace: Workspace, text: str) -> None:
    workspace.write("system/etc/trotline/trotline.toml", text)
    read = read_exports(workspace.roots())
    assert read.problems == ()
    assert [one.layer for one in read.destinations] == ["enterprise"]


def test_paths_are_from_the_home_or_from_the_file(workspace: Workspace) -> None:
    workspace.write("home/.config/trotline/trotline.toml", f'{WELL}headers_file = "~/h"\ncertificate = "ca.pem"\n')
    (one,) = read_exports(workspace.roots()).destinations
    assert one.headers_file == str(workspace.home / "h")
    assert one.certificate == str(workspace.home / ".config/trotline/ca.pem")


def test_a_directory_in_its_place_is_a_problem(workspace: Workspace) -> None:
    (workspace.home / ".config/trotline/trotline.toml").mkdir(parents=True)
    (problem,) = read_exports(workspace.roots()).problems
    assert problem.code == "TL109"


@pytest.mark.parametrize(
    "place,code",
    [("home/.config/trotline", "TL280"), ("system/etc/trotline", "TL280"), ("project/.trotline", "TL256")],
)
def test_check_and_doctor_say_it(workspace: Workspace, place: str, code: str) -> None:
    workspace.write(f"{place}/trotline.toml", "[export]\nendpoint = 1\n")
    checked = workspace.run("check", "--json")
    problems = json.loads(checked.stdout)["problems"]
    assert (code, checked.returncode) in [(problem["code"], 1) for problem in problems]
    shown = workspace.run("check").stdout
    assert code in shown
    said = workspace.run("doctor").stdout
    assert "trotline.toml" in said


def test_documented_alerts_are_valid_and_every_key_is_documented(workspace: Workspace) -> None:
    page = (ROOT / "docs" / "export.md").read_text("utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    workspace.write("home/.config/trotline/trotline.toml", shown)
    read = read_exports(workspace.roots())
    assert (read.problems, len(read.destinations)) == ((), 1)
    assert [key for key in ExportTable.__struct_fields__ if f"`{key}`" not in page] == []
