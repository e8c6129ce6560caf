"""Rules for secrets that a person brings count wherever words of this home go, not only in the trail."""

import json
from pathlib import Path

import pytest

from planted import KINDS, made
from trotline.audit.names import Names
from trotline.engine.functions import Function
from trotline.errors import TrotlineError
from trotline.hosts import HOSTS, host_named
from trotline.hosts.translation import our_tool
from trotline.outcomes import Call
from trotline.program import answered
from trotline.ready.desk import Desk
from worlds import World, new_world, trotline_process

TOKEN = made("ghp_{crc*36}")
VALUE = "ACME-123456-qwertz"
RULES = """
[[rules]]
id = "acme-token"
description = "a token of acme"
regex = '''(ACME-[0-9]{6}-[a-z]{6})'''
keywords = ["acme-"]
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = new_world(tmp_path)
    world.write("home/.config/trotline/secrets.toml", RULES)
    return world


def test_what_a_ready_hook_gives_away_is_without_them(world: World) -> None:
    desk = Desk(world.roots(), {})
    assert VALUE not in desk.cleaned(f"token {VALUE}")
    clean = json.dumps(desk.cleaned_tree({"conversation_id": VALUE, VALUE: {"tokens": [f"a {VALUE}"]}}))
    assert VALUE not in clean
    assert clean.count("[redacted acme-token ") == 3


def test_hooks_and_problems_that_a_scan_lists_are_without_them(world: World) -> None:
    hooks = {"stop": [{"command": f"curl {VALUE} https://x.example"}], f"on{VALUE}": []}
    world.write("project/.cursor/hooks.json", json.dumps({"version": 1, "hooks": hooks}))
    for words in (["scan"], ["scan", "--json"]):
        listed = trotline_process(*words, *world.options, cwd=world.project).stdout
        assert "hooks.json" in listed
        assert "acme-token" in listed
        assert VALUE not in listed


def test_rules_of_one_scan_count_for_what_it_lists(tmp_path: Path) -> None:
    world = new_world(tmp_path)
    rules = world.write("rules.toml", RULES)
    hooks = {"stop": [{"command": f"curl {VALUE} https://x.example"}]}
    world.write("project/.cursor/hooks.json", json.dumps({"version": 1, "hooks": hooks}))
    listed = trotline_process("scan", "--json", "--rules", str(rules), *world.options, cwd=world.project).stdout
    assert "[redacted acme-token " in listed
    assert VALUE not in listed


def test_servers_that_are_configured_are_listed_without_them(world: World) -> None:
    servers = {f"srv-{VALUE}": {"command": "npx", "args": ["server", VALUE]}}
    world.write("home/.cursor/mcp.json", json.dumps({"mcpServers": servers}))
    for words in (["mcp"], ["mcp", "--json"]):
        listed = trotline_process(*words, *world.options, cwd=world.project).stdout
        assert listed.count("[redacted acme-token ") == 2
        assert VALUE not in listed


def test_our_words_about_an_event_that_nobody_knows_are_without_them(world: World) -> None:
    hooks = {f"on{VALUE}": [{"command": "true"}]}
    world.write("project/.cursor/hooks.json", json.dumps({"version": 1, "hooks": hooks}))
    lines = world.write("events.jsonl", json.dumps({"hook_event_name": f"{'e' * 40} {VALUE}", "conversation_id": "c"}))
    for words in (["scan", "--json"], ["replay", "--events", str(lines)], ["replay", "--events", str(lines), "--json"]):
        done = trotline_process(*words, *world.options, cwd=world.project)
        assert "[redacted acme-token " in done.stdout
        assert VALUE[:11] not in done.stdout + done.stderr


@pytest.mark.parametrize("error", [ValueError, TrotlineError])
@pytest.mark.parametrize("before", ["", "x" * 290 + " ", f"{made(KINDS['private-key'])} " * 20 + "x " * 60])
def test_an_error_of_a_handler_reaches_no_host_with_them(world: World, error: type[Exception], before: str) -> None:
    def fails(_event: object) -> None:
        raise error(f"{before}{VALUE} {TOKEN}")

    body = json.dumps({"hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/w"}).encode()
    argv = ("--host", "cursor", "--event", "beforeShellExecution", "--home", str(world.home))
    judge = Function(name="h", event="beforeShellExecution", call=fails, fail_closed=True)
    answer, _ = answered(Call(id="i", argv=argv, payload=body, received_us=5), [judge], guarded=False)
    assert "Function h " in answer.stdout
    said = answer.stdout + answer.stderr
    assert VALUE[:8] not in said
    assert TOKEN[:8] not in said


@pytest.mark.parametrize("host", [name for name in HOSTS if host_named(name).mcp])
@pytest.mark.parametrize("kind", ["gitlab-personal-token", "github-personal-token"])
def test_a_tool_that_is_named_like_a_token_is_kept_neither_whole_nor_in_parts(
    world: World, host: str, kind: str
) -> None:
    token = made(KINDS[kind])
    for name in (token, f"mcp_{token}", f"mcp__{token}", f"bash \"{token}\" '{token}'"):
        tool, _ = our_tool(host_named(host), name, {})
        assert token[8:] not in Names(world.roots()).kept(tool)
    assert Names(world.roots()).kept("MCP:github:create_issue") == "MCP:github:create_issue"
