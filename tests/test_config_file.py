"""trotline.toml: one file per layer, what a project may say in it, and the files of earlier versions."""

import json
import subprocess
import sys

import pytest

from kit import Workspace, locate_problems
from trotline.config.config_keys import (
    ALL_KEYS,
    OLD_FILES,
    SETTINGS_KEYS,
    find_keys,
    has_delivery,
    has_policy,
    has_settings,
)
from trotline.config.config_schema import build_config_schema
from trotline.config.models import read_models
from trotline.config.policies import FALLBACK_PRESET, read_policies
from trotline.config.settings import SettingsTable, read_settings

PLACES = {"user": "home/.config/trotline", "enterprise": "system/etc/trotline", "project": "project/.trotline"}
EVERYTHING = """
mode = "monitor"
ask_fallback = "ask"
records = "full"
preset = "strict"

[guards]
history = "enforce"

[[rule]]
name = "no make"
when = 'event.command.startsWith("make")'
deny = "no"

[lists]
deny_hosts = ["example.test"]

[models.providers.p]
speaks = "ollama"
model = "small"

[export]
endpoint = "https://collector.example:4318"

[[alert]]
name = "a"
on = "denied"
desktop = true
"""


def hook(workspace: Workspace, command: str = "ls") -> "subprocess.CompletedProcess[str]":
    body = {"hook_event_name": "beforeShellExecution", "command": command, "conversation_id": "c"}
    body["workspace_roots"] = [str(workspace.project)]  # type: ignore[assignment]
    line = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
    return subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=True)


# One file


def test_every_section_of_one_file_is_in_force(workspace: Workspace) -> None:
    workspace.write(f"{PLACES['user']}/trotline.toml", EVERYTHING)
    roots = workspace.roots()
    settings, policies = read_settings(roots), read_policies(roots)
    assert (settings.mode, settings.ask_fallback, settings.records) == ("monitor", "ask", "full")
    assert (policies.policy.preset, [rule.name for rule in policies.policy.rules]) == ("strict", ["no make"])
    assert read_models(roots).choose(None) is not None
    done = workspace.run("check", "--json")
    body = json.loads(done.stdout)
    assert (done.returncode, body["problems"]) == (0, [])
    assert body["data"]["config_files"] == [str(workspace.home / ".config/trotline/trotline.toml")]


def test_a_problem_of_the_whole_file_is_shown_once(workspace: Workspace) -> None:
    workspace.write(f"{PLACES['user']}/trotline.toml", "moed = 'monitor'\n[export]\nendpoint = 1\n")
    problems = json.loads(workspace.run("check", "--json").stdout)["problems"]
    assert sorted(problem["code"] for problem in problems) == ["TL256", "TL280"]


def test_a_project_may_have_rules_and_denying_lists_and_nothing_else(workspace: Workspace) -> None:
    file = workspace.write(f"{PLACES['project']}/trotline.toml", EVERYTHING)
    read = read_policies(workspace.roots(), [workspace.project])
    assert {(problem.code, problem.message) for problem in read.problems} == {
        ("TL256", f"a project cannot say this: `{key}` is not in force")
        for key in ("mode", "ask_fallback", "records", "models", "export", "alert")
    }
    assert all(problem.place.file == str(file) and problem.place.line > 1 for problem in read.problems)
    assert ([rule.name for rule in read.policy.rules], read.policy.preset) == (["no make"], "strict")
    assert [listing.name for listing in read.policy.lists] == ["deny_hosts"]
    assert (read_settings(workspace.roots()).mode, read_models(workspace.roots()).providers) == ("enforce", {})


def test_the_schema_accepts_every_section_and_refuses_an_unknown_key() -> None:
    import tomllib

    import jsonschema_rs

    schema = build_config_schema()
    checker = jsonschema_rs.validator_for(schema)
    assert checker.is_valid(tomllib.loads(EVERYTHING))
    assert not checker.is_valid({"moed": "monitor"})
    assert not checker.is_valid({"keep_for": "ninety days"})
    assert set(schema["properties"]) == set(ALL_KEYS)


# The quick search for keys


def test_the_settings_are_those_that_the_search_knows() -> None:
    assert SettingsTable.__struct_fields__ == SETTINGS_KEYS


@pytest.mark.parametrize(
    "text,settings,policy,delivery",
    [
        ("", False, False, False),
        ("# mode = 'monitor'\n", False, False, False),
        ("mode = 'monitor'\n", True, False, False),
        ("  'mode' = 'monitor'\n", True, False, False),
        ('"mod\\u0065" = "monitor"\n', True, True, True),
        ("preset = 'strict'\n", False, True, False),
        ("guards.history = 'warn'\n", False, True, False),
        ("[ guards ]\nhistory = 'warn'\n", False, True, False),
        ("[[rule]]\nname = 'a'\n", False, True, False),
        ("[export]\nendpoint = 'x'\n", False, False, True),
        ("export = { endpoint = 'x' }\n", False, False, True),
        ("[[alert]]\nname = 'a'\n", False, False, True),
        ("[models.providers.p]\nspeaks = 'ollama'\n", False, False, False),
        ("preest = 'strict'\n", True, True, True),
        ("[rules]\n", True, True, True),
        ("a = [\n[1],\n]\nmode = 'monitor'\n", True, True, True),
    ],
)
def test_the_search_finds_what_concerns_a_call(
    text: str, settings: bool, policy: bool, delivery: bool, workspace: Workspace
) -> None:
    file = workspace.write(f"{PLACES['user']}/trotline.toml", text)
    roots = workspace.roots()
    assert (has_settings(roots), has_policy([str(file)]), has_delivery(roots)) == (settings, policy, delivery)


def test_every_key_is_found() -> None:
    for key in ALL_KEYS:
        assert find_keys(f"{key} = 1\n".encode()) == ({key}, False)


@pytest.mark.parametrize(
    "text", ["[export]\nendpoint = 'https://c.example'\n", "[[alert]]\nname = 'a'\n", "keep_for = '9d'"]
)
def test_a_cold_call_does_not_import_the_parser_for_what_does_not_concern_it(workspace: Workspace, text: str) -> None:
    workspace.write(f"{PLACES['user']}/trotline.toml", text)
    code = (
        "import sys; sys.argv = ['trotline', 'hook', 'cursor', '--home', sys.argv[1]]\n"
        "from trotline.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    payload = json.dumps({"hook_event_name": "beforeShellExecution", "conversation_id": "c", "command": "ls"})
    argv = [sys.executable, "-I", "-c", code, str(workspace.home)]
    done = subprocess.run(argv, input=payload, capture_output=True, text=True, check=True)
    assert ("tomllib" in (done.stdout + done.stderr).split()) is text.startswith("keep_for")


# Files of earlier versions


@pytest.mark.parametrize("layer", PLACES)
@pytest.mark.parametrize("name", OLD_FILES)
def test_an_old_file_is_an_error_in_check_and_doctor(workspace: Workspace, layer: str, name: str) -> None:
    file = workspace.write(f"{PLACES[layer]}/{name}", "")
    workspace.write(f"{PLACES[layer]}/trotline.toml", "")
    done = workspace.run("check", "--json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["code"], problem["severity"]) == (1, "TL259", "error")
    assert problem["place"]["file"] == str(file)
    assert problem["message"] == f"no longer read; move its content to trotline.toml: {OLD_FILES[name]}"
    doctor = workspace.run("doctor")
    assert f"{file}:1:1: no longer read" in doctor.stdout


@pytest.mark.parametrize("layer", ["user", "project"])
@pytest.mark.parametrize("name", OLD_FILES)
def test_it_is_found_without_a_new_file_beside_it(workspace: Workspace, layer: str, name: str) -> None:
    workspace.write(f"{PLACES[layer]}/{name}", "")
    assert "TL259" in workspace.run("check").stdout


@pytest.mark.parametrize("layer", PLACES)
@pytest.mark.parametrize("beside", ["", 'preset = "standard"\n'])
def test_an_old_policy_is_an_alarm_and_raises_the_preset_to_strict(
    workspace: Workspace, layer: str, beside: str
) -> None:
    workspace.write(f"{PLACES[layer]}/policy.toml", '[guards]\nhistory = "off"\n')
    if beside:
        workspace.write(f"{PLACES[layer]}/trotline.toml", beside)
    read = read_policies(workspace.roots(), [workspace.project])
    assert (read.policy.preset, locate_problems(read.problems)) == (FALLBACK_PRESET, [("TL259", 1, 1)])


def test_an_old_policy_does_not_weaken_a_stricter_new_one(workspace: Workspace) -> None:
    workspace.write(f"{PLACES['user']}/policy.toml", "")
    workspace.write(f"{PLACES['user']}/trotline.toml", 'preset = "paranoid"\n')
    assert read_policies(workspace.roots()).policy.preset == "paranoid"


@pytest.mark.parametrize("layer", ["user", "project"])
def test_the_hook_says_that_an_old_policy_is_not_read(workspace: Workspace, layer: str) -> None:
    assert "no longer read" not in hook(workspace).stderr
    workspace.write(f"{PLACES[layer]}/policy.toml", '[guards]\ndeletion = "off"\n')
    assert "policy.toml:1: no longer read; move its content to trotline.toml" in hook(workspace).stderr


def test_old_settings_leave_everything_enforced(workspace: Workspace) -> None:
    workspace.write(f"{PLACES['user']}/settings.json", '{"mode": "monitor", "ask_fallback": "ask"}')
    settings = read_settings(workspace.roots())
    assert (settings.mode, settings.ask_fallback, locate_problems(settings.problems)) == (
        "enforce",
        "deny",
        [("TL259", 1, 1)],
    )
