"""Every file and directory that controls an agent is protected, whichever agent it belongs to."""

from pathlib import Path

import pytest

from trotline.agents import AGENTS, get_agent
from trotline.analysis.analyze import analyze_command
from trotline.analysis.shell.shell_state import Environment
from trotline.config.control_files import is_control_file
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import evaluate
from trotline.policy.policy import Policy

ENVIRONMENT = Environment("/home/dev/project", ("/home/dev/project",), "/home/dev", "dev")
ROOTS = {"user": "/home/dev/", "project": "/home/dev/project/", "enterprise": "/"}


def list_wired_files() -> list[tuple[str, str]]:
    """Return each agent with each file that `trotline install` writes for it."""
    wirings = [(name, wiring) for name in AGENTS if (wiring := get_agent(name).wiring)]
    return [
        (name, ROOTS[layer] + file.replace("{event}", wiring.events[0]))
        for name, wiring in wirings
        for layer, file in wiring.files.items()
    ]


def list_directories() -> list[tuple[str, str]]:
    """Return each agent with each directory in which it keeps hooks."""
    directories = {(name, str(Path(file).parent)) for name, file in list_wired_files() if not file.startswith("/etc/")}
    for name in AGENTS:
        wiring = get_agent(name).wiring
        directories |= {(name, f"/home/dev/{directory}") for directory in (wiring.directories if wiring else ())}
    return sorted(directories)


def get_permission(command: str) -> Permission:
    return evaluate(analyze_command(command, ENVIRONMENT).effects, ENVIRONMENT, Policy("strict")).permission


@pytest.mark.parametrize("verb", ["rm", "truncate -s 0", "chmod 000", "cp /tmp/x"])
@pytest.mark.parametrize("name, path", list_wired_files())
def test_change_of_a_hook_file_of_any_agent_asks(name: str, path: str, verb: str) -> None:
    assert get_permission(f"{verb} '{path}'") >= Permission.ASK


@pytest.mark.parametrize("name, path", list_directories())
def test_removal_of_a_hook_directory_of_any_agent_asks(name: str, path: str) -> None:
    assert get_permission(f"rm -rf '{path}'") >= Permission.ASK
    assert get_permission(f"mv '{path}' /tmp/away") >= Permission.ASK


@pytest.mark.parametrize("name", [".openhands", ".opencode", ".windsurf"])
def test_removal_of_an_agent_directory_in_a_project_asks(name: str) -> None:
    assert get_permission(f"rm -rf {name}") >= Permission.ASK


@pytest.mark.parametrize("name, path", list_wired_files())
def test_hook_file_of_any_agent_is_a_control_file(name: str, path: str) -> None:
    assert is_control_file(path)


@pytest.mark.parametrize("name", [name for name in AGENTS if get_agent(name).command_line])
def test_start_of_an_agent_without_confirmations_asks(name: str) -> None:
    row = get_agent(name).command_line
    assert row is not None
    option = row.unattended.split(";")[0].lstrip("+").split("|")[0]
    program = row.names.split()[0]
    dashes = "-" if len(option) == 1 else "--"
    assert get_permission(f"{program} {dashes}{option} -p 'fix it'") >= Permission.ASK
