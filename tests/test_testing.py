"""The testing kit: sample payloads, the fake agent and the pytest plugin."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from trotline import TrotlineError
from trotline.agents.cursor.cursor_editions import EDITION_NAMES, get_edition
from trotline.agents.cursor.payloads import read_event
from trotline.domain.event_fields import UNDOCUMENTED
from trotline.domain.events import EVENTS, NULLABLE, BeforeShell
from trotline.testing import FakeAgent, HookFailed, build_payload
from trotline.testing.fake_agent import CONVERSATION

ROOT = Path(__file__).parent.parent
RECORDED = sorted((ROOT.parent / "shared" / "corpora" / "payloads").glob("*.jsonl"))
EVERY = [(name, event) for name in EDITION_NAMES for event in sorted(get_edition(name).events)]


@pytest.mark.parametrize("edition_name,event", EVERY)
def test_a_payload_of_any_edition_is_read_as_its_event_with_nothing_left_over(edition_name: str, event: str) -> None:
    raised = read_event(json.dumps(build_payload(event, edition_name)))
    assert (raised.wire_name, raised.raw) == (event, {})
    assert type(raised) is EVENTS[event]


@pytest.mark.parametrize("event", EVENTS)
def test_a_payload_of_the_newest_edition_is_valid_by_its_schema(event: str) -> None:
    schema = json.loads((ROOT / "schemas" / f"{event}.payload.schema.json").read_text("utf-8"))
    jsonschema_rs.validate(schema, build_payload(event))


def _recordings() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for file in RECORDED:
        for line in file.read_text("utf-8").splitlines():
            body = json.loads(line)
            body = next((body[key] for key in ("payload", "stdin", "input") if isinstance(body.get(key), dict)), body)
            if body.get("hook_event_name") in EVENTS and "conversation_id" in body:
                found.setdefault(body["hook_event_name"], []).append(body)
    return found


@pytest.mark.skipif(not RECORDED, reason="no recorded payloads beside this repository")
def test_required_fields_are_in_the_payloads_of_the_newest_edition() -> None:
    recordings = _recordings()
    assert recordings
    for event, bodies in recordings.items():
        always = set.intersection(*(set(body) for body in bodies))
        declared = {name for name in always if name in EVENTS[event].__struct_fields__}
        assert declared <= set(build_payload(event)) | NULLABLE | UNDOCUMENTED, event


OLD = [
    (
        "2025-11",
        "beforeShellExecution",
        {"conversation_id", "generation_id", "hook_event_name", "workspace_roots", "command", "cwd"},
    ),
    ("2026-02", "subagentStart", {"subagent_type", "prompt", "model"}),
    ("2026-02", "subagentStop", {"subagent_type", "status", "result", "duration", "agent_transcript_path"}),
]


@pytest.mark.parametrize("edition_name,event,fields", OLD)
def test_older_editions_have_their_own_fields(edition_name: str, event: str, fields: set[str]) -> None:
    sent = set(build_payload(event, edition_name))
    assert fields <= sent
    assert not {"session_id", "sandbox", "mcp_server_name", "model_id"} & sent
    assert edition_name == "2026-02" or sent == fields


def test_the_path_of_an_attachment_had_another_name() -> None:
    assert "filePath" in build_payload("beforeSubmitPrompt", "2025-11")["attachments"][0]
    assert "file_path" in build_payload("beforeSubmitPrompt")["attachments"][0]


def test_a_field_or_an_event_that_does_not_exist_is_a_mistake_of_the_test() -> None:
    with pytest.raises(TrotlineError, match="has no field `comand`"):
        build_payload("beforeShellExecution", comand="ls")
    with pytest.raises(TrotlineError, match="no event `workspaceOpen` in edition 2025-11"):
        build_payload("workspaceOpen", "2025-11")


ALLOW_ALL = "cat > /dev/null; echo '{}'"


def add_reply(agent: FakeAgent, kind: str = "user", *, event: str | None = None, **reply: Any) -> None:
    agent.add_hook(kind, ALLOW_ALL.format(json.dumps(reply)), event=event)


@pytest.mark.parametrize("kind", ["enterprise", "team", "project", "user"])
def test_a_hook_in_any_layer_answers(agent: FakeAgent, kind: str) -> None:
    add_reply(agent, kind, event="beforeShellExecution", permission="deny", user_message="no")
    outcome = agent.fire("beforeShellExecution", command="x")
    assert (outcome.is_denied, outcome.user_message, outcome.responses[0].layer) == (True, "no", kind)


def test_hooks_of_several_layers_add_up_and_a_conversation_goes_on(agent: FakeAgent) -> None:
    add_reply(agent, "user", event="sessionStart", env={"WHO": "me"})
    agent.add_hook(
        "enterprise",
        'cat > /dev/null; echo "{\\"permission\\": \\"deny\\", \\"user_message\\": \\"$WHO\\"}"',
        event="preToolUse",
    )
    agent.fire("sessionStart")
    assert agent.fire("preToolUse", tool_name="Write").user_message == "me"


def test_an_event_may_be_given_whole(agent: FakeAgent) -> None:
    add_reply(agent, event="stop", followup_message="go on")
    assert agent.fire(agent.build_event("stop", status="completed")).follow_up == "go on"


def test_settings_are_those_of_hooks_json(agent: FakeAgent) -> None:
    agent.add_hook("user", "sleep 30", event="beforeShellExecution", timeout=0.2, fail_closed=True, matcher="^rm")
    assert agent.fire("beforeShellExecution", command="rm x", may_fail=True).is_denied
    assert not agent.fire("beforeShellExecution", command="ls").responses


def test_a_whole_file_may_be_put_into_a_layer(agent: FakeAgent, tmp_path: Path) -> None:
    content = {"version": 1, "hooks": {"stop": [{"command": 'cat > /dev/null; echo \'{"followup_message": "more"}\''}]}}
    agent.write_hooks_json("user", content)
    assert agent.fire("stop").follow_up == "more"
    file = tmp_path / "hooks.json"
    file.write_text(json.dumps(content).replace("more", "less"))
    agent.write_hooks_json("user", file)
    assert agent.fire("stop").follow_up == "less"


def test_a_file_that_would_not_be_loaded_fails_the_test(agent: FakeAgent) -> None:
    agent.write_hooks_json("user", '{"hooks": {}}')
    with pytest.raises(HookFailed, match=r"nothing of .* is in force"):
        agent.fire("stop")


BAD = {
    "a crash": ("exit 3", "crashed"),
    "no JSON": ("echo hello", "unreadable output"),
    "a word outside the schema": ("""echo '{"permission": "maybe"}'""", "wrong shape"),
    "a key that the event does not take": ("""echo '{"followup_message": "go on"}'""", "followup_message"),
    "a program that is not there": ("no-such-program-here", "not found"),
}


@pytest.mark.parametrize("line,words", BAD.values(), ids=BAD)
def test_a_reply_outside_the_schema_and_a_failure_fail_the_test_unless_they_may(
    agent: FakeAgent, line: str, words: str
) -> None:
    agent.add_hook("user", line, event="beforeShellExecution")
    with pytest.raises(HookFailed, match=words):
        agent.fire("beforeShellExecution", command="x")
    assert agent.fire("beforeShellExecution", command="x", may_fail=True).responses


def test_a_project_s_script_may_be_changed_by_the_test(agent: FakeAgent) -> None:
    script = agent.project / ".cursor" / "hooks" / "x.sh"
    agent.add_hook("project", ".cursor/hooks/x.sh", event="beforeShellExecution")
    for word in ("allow", "deny"):
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f'#!/bin/sh\ncat >/dev/null\necho \'{{"permission": "{word}"}}\'\n')
        script.chmod(0o755)
        assert agent.fire("beforeShellExecution", command="x").decision.permission.word == word


def test_a_relative_path_in_a_command_line_is_found_from_where_the_test_runs(
    agent: FakeAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my hook.py").write_text('print(\'{"permission": "deny"}\')')
    (tmp_path / "hook.py").write_text('print(\'{"permission": "deny"}\')')
    agent.add_hook("project", f"{Path(sys.executable).name} hook.py", event="beforeShellExecution")
    assert agent.fire("beforeShellExecution", command="x").is_denied


def test_a_link_to_an_interpreter_stays_a_link(agent: FakeAgent, tmp_path: Path) -> None:
    link = tmp_path / "python-of-a-venv"
    link.symlink_to(sys.executable)
    agent.add_hook("user", f"{link} -c pass", event="stop")
    assert str(link) in agent.engine.current.configuration.hooks[0].command


def test_the_fake_agent_is_isolated_and_its_clock_stands_still(agent: FakeAgent) -> None:
    agent.add_hook(
        "user",
        'cat > /dev/null; echo "{\\"permission\\": \\"deny\\", \\"user_message\\": \\"$HOME\\"}"',
        event="beforeShellExecution",
    )
    outcome = agent.fire("beforeShellExecution", command="x")
    assert outcome.user_message == str(agent.home)
    assert outcome.call.received_us == agent.now
    agent.now += 60_000_000
    assert agent.fire("beforeShellExecution", command="x").call.received_us == agent.now


def test_a_layer_that_does_not_exist_is_named(agent: FakeAgent) -> None:
    with pytest.raises(TrotlineError, match="no layer `company`"):
        agent.add_hook("company", "x")


def test_the_plugin_is_there_with_the_package_alone_and_a_bad_hook_is_a_failed_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_good(agent):\n"
        "    line = 'cat > /dev/null; echo \\'{\"permission\": \"deny\"}\\''\n"
        "    agent.add_hook('user', line, event='beforeShellExecution')\n"
        "    assert agent.fire('beforeShellExecution', command='x').is_denied\n"
        "def test_bad(agent):\n"
        "    agent.add_hook('user', 'echo nonsense', event='beforeShellExecution')\n"
        "    agent.fire('beforeShellExecution', command='x')\n"
    )
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout
    assert "stdout: nonsense" in done.stdout
    assert "beforeShellExecution takes permission, user_message, agent_message" in done.stdout


def test_pytest_loads_little_because_of_us() -> None:
    code = "import trotline.testing.plugin, sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"msgspec", "re2", "httpx2", "click", "trotline.testing.fake_agent"} & set(done.stdout.split())


def test_the_fake_agent_fires_event_objects_in_its_own_conversation(agent: FakeAgent) -> None:
    outcome = agent.fire(BeforeShell(command="ls"))
    assert (outcome.event.conversation_id, outcome.event.workspace_roots) == (CONVERSATION, (str(agent.project),))
