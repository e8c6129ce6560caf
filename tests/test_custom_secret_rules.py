"""Custom rules for secrets redact all output of this installation, not only the audit log."""

import json
from pathlib import Path

import pytest

from kit import Workspace, make_workspace
from secret_samples import SECRET_TEMPLATES, fill_template
from trotline.agents import AGENTS, get_agent
from trotline.agents.translation import translate_tool
from trotline.audit.record.detail_policy import NameRedactor
from trotline.builtin.hook_context import HookContext
from trotline.conversation.functions import EventHandler
from trotline.domain.errors import TrotlineError
from trotline.domain.outcomes import Call
from trotline.hook.process import handle_call

TOKEN = fill_template("ghp_{crc*36}")
VALUE = "ACME-123456-qwertz"
RULES = """
[[rules]]
id = "acme-token"
description = "a token of acme"
regex = '''(ACME-[0-9]{6}-[a-z]{6})'''
keywords = ["acme-"]
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = make_workspace(tmp_path)
    workspace.write("home/.config/trotline/secrets.toml", RULES)
    return workspace


def test_builtin_hooks_redact_values_of_custom_rules(workspace: Workspace) -> None:
    context = HookContext(workspace.roots(), {})
    assert VALUE not in context.redact(f"token {VALUE}")
    clean = json.dumps(context.redact_tree({"conversation_id": VALUE, VALUE: {"tokens": [f"a {VALUE}"]}}))
    assert VALUE not in clean
    assert clean.count("[redacted acme-token ") == 3


def test_scan_redacts_hooks_and_problems(workspace: Workspace) -> None:
    hooks = {"stop": [{"command": f"curl {VALUE} https://x.example"}], f"on{VALUE}": []}
    workspace.write("project/.cursor/hooks.json", json.dumps({"version": 1, "hooks": hooks}))
    for words in (["scan"], ["scan", "--json"]):
        output = workspace.run(*words).stdout
        assert "hooks.json" in output
        assert "acme-token" in output
        assert VALUE not in output


def test_scan_redacts_with_the_rules_of_its_option(workspace: Workspace) -> None:
    rules = workspace.write("rules.toml", RULES)
    hooks = {"stop": [{"command": f"curl {VALUE} https://x.example"}]}
    workspace.write("project/.cursor/hooks.json", json.dumps({"version": 1, "hooks": hooks}))
    output = workspace.run("scan", "--json", "--rules", str(rules)).stdout
    assert "[redacted acme-token " in output
    assert VALUE not in output


def test_list_of_configured_servers_is_redacted(workspace: Workspace) -> None:
    servers = {f"srv-{VALUE}": {"command": "npx", "args": ["server", VALUE]}}
    workspace.write("home/.cursor/mcp.json", json.dumps({"mcpServers": servers}))
    for words in (["log", "mcp"], ["log", "mcp", "--json"]):
        output = workspace.run(*words).stdout
        assert output.count("[redacted acme-token ") == 2
        assert VALUE not in output


def test_messages_about_unknown_events_are_redacted(workspace: Workspace) -> None:
    hooks = {f"on{VALUE}": [{"command": "true"}]}
    workspace.write("project/.cursor/hooks.json", json.dumps({"version": 1, "hooks": hooks}))
    lines = workspace.write(
        "events.jsonl", json.dumps({"hook_event_name": f"{'e' * 40} {VALUE}", "conversation_id": "c"})
    )
    for words in (["scan", "--json"], ["replay", "--events", str(lines)], ["replay", "--events", str(lines), "--json"]):
        done = workspace.run(*words)
        assert "[redacted acme-token " in done.stdout
        assert VALUE[:11] not in done.stdout + done.stderr


@pytest.mark.parametrize("error", [ValueError, TrotlineError])
@pytest.mark.parametrize(
    "before", ["", "x" * 290 + " ", f"{fill_template(SECRET_TEMPLATES['private-key'])} " * 20 + "x " * 60]
)
def test_error_of_a_handler_is_redacted(workspace: Workspace, error: type[Exception], before: str) -> None:
    def fails(_event: object) -> None:
        raise error(f"{before}{VALUE} {TOKEN}")

    body = json.dumps({"hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/w"}).encode()
    argv = ("--agent", "cursor", "--event", "beforeShellExecution", "--home", str(workspace.home))
    handler = EventHandler(name="h", event="beforeShellExecution", call=fails, fail_closed=True)
    reply, _ = handle_call(Call(id="i", argv=argv, payload=body, received_us=5), [handler], guarded=False)
    assert "Function h " in reply.stdout
    output = reply.stdout + reply.stderr
    assert VALUE[:8] not in output
    assert TOKEN[:8] not in output


@pytest.mark.parametrize("agent", [name for name in AGENTS if get_agent(name).mcp])
@pytest.mark.parametrize("kind", ["gitlab-personal-token", "github-personal-token"])
def test_tool_name_that_looks_like_a_token_is_not_stored(workspace: Workspace, agent: str, kind: str) -> None:
    token = fill_template(SECRET_TEMPLATES[kind])
    for name in (token, f"mcp_{token}", f"mcp__{token}", f"bash \"{token}\" '{token}'"):
        tool, _ = translate_tool(get_agent(agent), name, {})
        assert token[8:] not in NameRedactor(workspace.roots()).redact(tool)
    assert NameRedactor(workspace.roots()).redact("MCP:github:create_issue") == "MCP:github:create_issue"
