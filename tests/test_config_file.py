"""trotline.toml: one file per layer, what a project may say in it, and the files of earlier versions."""

import json
import subprocess
import sys

import pytest

from kit import Workspace, locate_problems, read_data, read_rows
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

DIRECTORIES = {"user": "home/.config/trotline", "enterprise": "system/etc/trotline", "project": "project/.trotline"}
EVERYTHING = read_data("scripts/all_sections.toml")


def run_hook(workspace: Workspace, command: str = "ls") -> "subprocess.CompletedProcess[str]":
    body = {"hook_event_name": "beforeShellExecution", "command": command, "conversation_id": "c"}
    body["workspace_roots"] = [str(workspace.project)]  # type: ignore[assignment]
    line = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
    return subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=True)


# One file


def test_every_section_of_one_file_is_applied(workspace: Workspace) -> None:
    workspace.write(f"{DIRECTORIES['user']}/trotline.toml", EVERYTHING)
    roots = workspace.roots()
    settings, policies = read_settings(roots), read_policies(roots)
    assert (settings.mode, settings.ask_fallback, settings.records) == ("monitor", "ask", "full")
    assert (policies.policy.preset, [rule.name for rule in policies.policy.rules]) == ("strict", ["no make"])
    assert read_models(roots).choose(None) is not None
    done = workspace.run("check", "--json")
    body = json.loads(done.stdout)
    assert (done.returncode, body["problems"]) == (0, [])
    assert body["data"]["config_files"] == [str(workspace.home / ".config/trotline/trotline.toml")]


def test_problem_of_the_whole_file_is_reported_once(workspace: Workspace) -> None:
    workspace.write(f"{DIRECTORIES['user']}/trotline.toml", "moed = 'monitor'\n[export]\nendpoint = 1\n")
    problems = json.loads(workspace.run("check", "--json").stdout)["problems"]
    assert sorted(problem["code"] for problem in problems) == ["TL256", "TL280"]


def test_project_may_only_have_rules_and_denying_lists(workspace: Workspace) -> None:
    file = workspace.write(f"{DIRECTORIES['project']}/trotline.toml", EVERYTHING)
    read = read_policies(workspace.roots(), [workspace.project])
    assert {(problem.code, problem.message) for problem in read.problems} == {
        ("TL256", f"a project cannot say this: `{key}` is not in force")
        for key in ("mode", "ask_fallback", "records", "models", "export", "alert")
    }
    assert {problem.place.file for problem in read.problems} == {str(file)}
    assert [problem.place.line for problem in read.problems] == [1, 2, 3, 17, 21, 24]
    assert ([rule.name for rule in read.policy.rules], read.policy.preset) == (["no make"], "strict")
    assert [listing.name for listing in read.policy.lists] == ["deny_hosts"]
    assert (read_settings(workspace.roots()).mode, read_models(workspace.roots()).providers) == ("enforce", {})


def test_schema_accepts_every_section_and_rejects_unknown_keys() -> None:
    import tomllib

    import jsonschema_rs

    schema = build_config_schema()
    checker = jsonschema_rs.validator_for(schema)
    assert checker.is_valid(tomllib.loads(EVERYTHING))
    assert not checker.is_valid({"moed": "monitor"})
    assert not checker.is_valid({"keep_for": "ninety days"})
    assert set(schema["properties"]) == set(ALL_KEYS)


# The quick search for keys


def test_key_search_knows_all_settings() -> None:
    assert SettingsTable.__struct_fields__ == SETTINGS_KEYS


@pytest.mark.parametrize(
    "text,settings,policy,delivery",
    read_rows("config_file", "key_search_finds_the_sections_that_concern_a_call"),
)
def test_key_search_finds_the_sections_that_concern_a_call(
    text: str, settings: bool, policy: bool, delivery: bool, workspace: Workspace
) -> None:
    file = workspace.write(f"{DIRECTORIES['user']}/trotline.toml", text)
    roots = workspace.roots()
    assert (has_settings(roots), has_policy([str(file)]), has_delivery(roots)) == (settings, policy, delivery)


def test_every_key_is_found() -> None:
    for key in ALL_KEYS:
        assert find_keys(f"{key} = 1\n".encode()) == ({key}, False)


@pytest.mark.parametrize(
    "text", ["[export]\nendpoint = 'https://c.example'\n", "[[alert]]\nname = 'a'\n", "keep_for = '9d'"]
)
def test_cold_call_imports_the_parser_only_if_needed(workspace: Workspace, text: str) -> None:
    workspace.write(f"{DIRECTORIES['user']}/trotline.toml", text)
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


@pytest.mark.parametrize("layer", DIRECTORIES)
@pytest.mark.parametrize("name", OLD_FILES)
def test_old_file_is_an_error_in_check_and_doctor(workspace: Workspace, layer: str, name: str) -> None:
    file = workspace.write(f"{DIRECTORIES[layer]}/{name}", "")
    workspace.write(f"{DIRECTORIES[layer]}/trotline.toml", "")
    done = workspace.run("check", "--json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["code"], problem["severity"]) == (1, "TL259", "error")
    assert problem["place"]["file"] == str(file)
    assert problem["message"] == f"no longer read; move its content to trotline.toml: {OLD_FILES[name]}"
    doctor = workspace.run("doctor")
    assert f"{file}:1:1: no longer read" in doctor.stdout


@pytest.mark.parametrize("layer", ["user", "project"])
@pytest.mark.parametrize("name", OLD_FILES)
def test_old_file_is_found_without_a_new_file(workspace: Workspace, layer: str, name: str) -> None:
    workspace.write(f"{DIRECTORIES[layer]}/{name}", "")
    assert "TL259" in workspace.run("check").stdout


@pytest.mark.parametrize("layer", DIRECTORIES)
@pytest.mark.parametrize("new_text", ["", 'preset = "standard"\n'])
def test_old_policy_raises_the_preset_to_strict(workspace: Workspace, layer: str, new_text: str) -> None:
    workspace.write(f"{DIRECTORIES[layer]}/policy.toml", '[guards]\nhistory = "off"\n')
    if new_text:
        workspace.write(f"{DIRECTORIES[layer]}/trotline.toml", new_text)
    read = read_policies(workspace.roots(), [workspace.project])
    assert (read.policy.preset, locate_problems(read.problems)) == (FALLBACK_PRESET, [("TL259", 1, 1)])


def test_old_policy_does_not_weaken_a_stricter_new_policy(workspace: Workspace) -> None:
    workspace.write(f"{DIRECTORIES['user']}/policy.toml", "")
    workspace.write(f"{DIRECTORIES['user']}/trotline.toml", 'preset = "paranoid"\n')
    assert read_policies(workspace.roots()).policy.preset == "paranoid"


@pytest.mark.parametrize("layer", ["user", "project"])
def test_hook_reports_that_an_old_policy_is_not_read(workspace: Workspace, layer: str) -> None:
    assert "no longer read" not in run_hook(workspace).stderr
    workspace.write(f"{DIRECTORIES[layer]}/policy.toml", '[guards]\ndeletion = "off"\n')
    assert "policy.toml:1: no longer read; move its content to trotline.toml" in run_hook(workspace).stderr


def test_old_settings_are_ignored(workspace: Workspace) -> None:
    workspace.write(f"{DIRECTORIES['user']}/settings.json", '{"mode": "monitor", "ask_fallback": "ask"}')
    settings = read_settings(workspace.roots())
    assert (settings.mode, settings.ask_fallback) == ("enforce", "deny")
    assert locate_problems(settings.problems) == [("TL259", 1, 1)]
