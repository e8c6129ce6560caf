"""Rules for secrets that a person brings count wherever words of this home go, not only in the trail."""

import json
from pathlib import Path

import pytest

from trotline.ready.desk import Desk
from worlds import World, new_world, trotline_process

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
