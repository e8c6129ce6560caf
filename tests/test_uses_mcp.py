"""MCP governance: allowed calls and arguments, redacted results, and the inventory."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kit import read_rows
from secret_samples import SECRET_TEMPLATES, fill_template
from trotline.audit.query.mcp_inventory import list_mcp_tools
from trotline.audit.record.record_reader import convert_record
from trotline.audit.store.audit_log import get_spool
from trotline.config.mcp_files import read_servers
from trotline.config.paths import Roots
from uses import Use

CALL = "beforeMCPExecution"
CARD = "4539 1488 0343 " + "6467"
KEY = fill_template(SECRET_TEMPLATES["aws-access-key-id"])


@pytest.fixture
def use(tmp_path: Path) -> Use:
    return Use("mcp-governance", tmp_path)


def a_call(server: str, tool: str, given: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    named = {"mcp_server_name": server} if server else {}
    return {"tool_name": tool, "tool_input": json.dumps(given or {}), **named, **fields}


@pytest.mark.parametrize("wanted,event,fields", read_rows("uses_mcp", "calls"))
def test_calls_are_governed_by_server_tool_and_arguments(
    use: Use, wanted: str, event: str, fields: dict[str, Any]
) -> None:
    assert use.both(event, **fields) == (wanted, wanted)


def result(text: str) -> dict[str, Any]:
    output = json.dumps({"content": [{"type": "text", "text": text}], "rows": 2})
    return {"tool_name": "MCP:db:query", "tool_input": {}, "tool_output": output}


def test_results_are_redacted_before_they_reach_the_model(use: Use) -> None:
    given = result(f"paid with {CARD}, key {KEY}, total 12")
    reply = use.cursor("postToolUse", **given)
    replaced = reply.body["updated_mcp_tool_output"]
    assert replaced["rows"] == 2
    assert replaced["content"][0]["text"].endswith("total 12")
    assert use.engine("postToolUse", **given).replaced_output == replaced
    for value in (CARD, KEY):
        assert value not in json.dumps(reply.body)


def test_a_harmless_result_is_unchanged(use: Use) -> None:
    assert "updated_mcp_tool_output" not in use.cursor("postToolUse", **result("total 12")).body
    assert use.engine("postToolUse", **result("total 12")).replaced_output is None


def test_shell_output_cannot_be_changed_and_the_model_gets_a_note(use: Use) -> None:
    given = {"tool_name": "Shell", "tool_input": {"command": "cat orders"}, "tool_output": f"card {CARD}"}
    reply = use.cursor("postToolUse", **given)
    assert "updated_mcp_tool_output" not in reply.body
    assert "number of a card" in reply.body["additional_context"]


def written(use: Use) -> None:
    """The detail of a call is written after the reply."""
    spool = get_spool(use.home / ".local/state/trotline/v1")
    while any("detail" not in one for one in spool.read().records):
        os.sched_yield()


def test_the_inventory_lists_calls_verdicts_and_findings(use: Use) -> None:
    conversation = {"conversation_id": "one"}
    use.cursor("preToolUse", tool_name="MCP:query", tool_input={}, **conversation)
    use.cursor(CALL, **a_call("db", "query", {"sql": "select 1"}), **conversation)
    use.cursor("postToolUse", **result(f"key {KEY}"), **conversation)
    use.cursor(CALL, **a_call("mail", "send", {}), **conversation)
    use.cursor("preToolUse", tool_name="MCP:write_text", tool_input={}, **conversation)
    written(use)
    (use.project / ".cursor").mkdir()
    servers = {"db": {"command": "db-server", "args": ["--token", KEY]}, "idle": {"url": "https://mcp.example.org"}}
    (use.project / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    code, output = use.trotline("log", "mcp", "--json")
    data = json.loads(output)["data"]
    assert code == 0
    assert [(one["server"], one["tool"], one["calls"], one["verdicts"]) for one in data["tools"]] == [
        ("", "write_text", 1, {"deny": 1}),
        ("db", "query", 1, {"none": 1}),
        ("mail", "send", 1, {"deny": 1}),
    ]
    assert data["tools"][1]["found"] == {"aws-access-key-id": 1}
    assert [one["server"] for one in data["configured"]] == ["db", "idle"]
    assert KEY not in output
    lines = use.trotline("log", "mcp")[1].splitlines()
    assert "server not told" in lines
    assert lines[lines.index("mail") + 1] == "  configured in no file that is known"
    assert lines[lines.index("idle") + 2] == "  not called"
    assert use.trotline("log", "mcp", "--allow-list")[1] == '[lists]\nallow_mcp = [\n  "db:query",\n]\n'


def record(event: str, tool: str, decided: str = "none", **more: Any) -> dict[str, Any]:
    shared = {"agent": "cursor", "conversation": "c", "at_us": 5}
    return {**shared, "event": event, "tool": tool, "decided": decided, **more}


def test_two_events_about_one_call_are_one_call() -> None:
    named: dict[str, Any] = {"detail": {"effects": [["mcp", "call", "db:query"]]}}
    records = [record("preToolUse", "MCP:query"), record(CALL, "query", **named)] * 3
    records += [record("preToolUse", "MCP:query", "deny"), record("preToolUse", "MCP:query")]
    seen = list_mcp_tools(map(convert_record, records))
    assert [(one.name, one.calls, one.verdicts) for one in seen] == [
        ("query", 2, {"deny": 1, "none": 1}),
        ("db:query", 3, {"none": 3}),
    ]


def test_a_file_of_servers_that_cannot_be_read_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    roots = Roots(home=tmp_path / "home", system=tmp_path / "system", projects=(tmp_path / "project",))
    for file, text in {
        "home/.cursor/mcp.json": '{"mcpServers": {"a": {"url": "https://a.example"}, "b": 5}}',
        "project/.mcp.json": '{"mcpServers": [',
        "project/.vscode/mcp.json": '// ours\n{"servers": {"c": {"command": "c", "args": ["-x"]}}}',
        "project/.cursor/mcp.json": '{"mcpServers": []}',
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    found = read_servers(roots)
    assert [(one.server, one.runs) for one in found.configured] == [("a", "https://a.example"), ("c", "c -x")]
    assert {Path(problem.place.file).relative_to(tmp_path).as_posix() for problem in found.problems} == {
        "home/.cursor/mcp.json",
        "project/.mcp.json",
        "project/.cursor/mcp.json",
    }
