"""export.toml: what it may say, and where what is wrong with it stands."""

import json
import re
from pathlib import Path

import pytest

from trotline.config.export_file import KEYS, read_exports
from worlds import MARK, World, new_world, trotline_process

ROOT = Path(__file__).parents[1]
WELL = 'endpoint = "https://collector.example:4318"\n'


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


@pytest.mark.parametrize(
    "text,code,said",
    [
        ("‸", "TL280", "nobody says where to send it"),
        ("endpoint = ‸", "TL280", "this is no TOML"),
        (f"{WELL}‸endpiont = 1\n", "TL280", "there is no `endpiont` here"),
        (f"{WELL}‸batch = 0\n", "TL280", "`batch` must be a number of records from 1 to 2000"),
        (f"{WELL}‸batch = true\n", "TL280", "`batch` must be"),
        (f"{WELL}‸timeout = 61\n", "TL280", "`timeout` must be"),
        (f'{WELL}‸words = "yes"\n', "TL280", "`words` must be `true` or `false`"),
        (f'{WELL}‸signals = ["metrics"]\n', "TL280", "`signals` must be"),
        (f"{WELL}‸signals = []\n", "TL280", "`signals` must be"),
        (f'{WELL}‸protocol = "grpc"\n', "TL280", "`protocol` must be one of `http/protobuf`, `http/json`"),
        (f'{WELL}‸headers_env = "Bearer x"\n', "TL280", "`headers_env` must be the name of a variable"),
        (f"{WELL}[‸resource]\nx = 1\n", "TL280", "`resource` must be a table of texts"),
        (f'{WELL}‸token = "x"\n', "TL282", "what is secret does not belong into this file"),
        (f'{WELL}[‸headers]\nAuthorization = "x"\n', "TL282", "what is secret does not belong into this file"),
        ('‸endpoint = "collector:4318"\n', "TL281", "is no http or https address"),
        ('‸endpoint = "https://[x"\n', "TL281", "is no http or https address"),
        ('‸endpoint = "https://me:pw@collector"\n', "TL281", "keys do not belong into addresses"),
        ('‸endpoint = "http://collector:4318"\n', "TL281", "records would travel unencrypted"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_nothing_is_sent(
    world: World, text: str, code: str, said: str
) -> None:
    world.write("home/.config/trotline/export.toml", text)
    read = read_exports(world.roots())
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
        'endpoint = "http://127.0.0.1:4318"\n',
        'endpoint = "http://[::1]:4318"\n',
        'endpoint = "http://collector:4318"\ninsecure = true\n',
        f'{WELL}words = true\nbatch = 7\n[resource]\n"host.name" = "a"\n',
    ],
)
def test_what_is_well_is_in_force(world: World, text: str) -> None:
    world.write("system/etc/trotline/export.toml", text)
    read = read_exports(world.roots())
    assert read.problems == ()
    assert [one.layer for one in read.destinations] == ["enterprise"]


def test_paths_are_from_the_home_or_from_the_file(world: World) -> None:
    world.write("home/.config/trotline/export.toml", f'{WELL}headers_file = "~/h"\ncertificate = "ca.pem"\n')
    (one,) = read_exports(world.roots()).destinations
    assert one.headers_file == str(world.home / "h")
    assert one.certificate == str(world.home / ".config/trotline/ca.pem")


def test_a_directory_in_its_place_is_a_problem(world: World) -> None:
    (world.home / ".config/trotline/export.toml").mkdir(parents=True)
    (problem,) = read_exports(world.roots()).problems
    assert problem.code == "TL109"


@pytest.mark.parametrize("place", ["home/.config/trotline", "system/etc/trotline", "project/.trotline"])
def test_check_and_doctor_say_it(world: World, place: str) -> None:
    world.write(f"{place}/export.toml", "endpoint = 1\n")
    checked = trotline_process("check", "--json", *world.options, cwd=world.project)
    problems = json.loads(checked.stdout)["problems"]
    assert ("TL280", checked.returncode) in [(problem["code"], 1) for problem in problems]
    shown = trotline_process("check", *world.options, cwd=world.project).stdout
    assert "TL280" in shown
    said = trotline_process("doctor", *world.options, cwd=world.project).stdout
    assert "export.toml" in said


def test_what_the_document_shows_is_in_force_and_names_every_key(world: World) -> None:
    page = (ROOT / "docs" / "export.md").read_text("utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    world.write("home/.config/trotline/export.toml", shown)
    read = read_exports(world.roots())
    assert (read.problems, len(read.destinations)) == ((), 1)
    assert [key for key in KEYS if f"`{key}`" not in page] == []
