"""Names in records are short, redacted and stable."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Workspace, make_workspace, read_sessions
from secret_samples import SECRET_TEMPLATES, fill_template
from trotline import Engine
from trotline.audit.record.detail_policy import NameRedactor
from trotline.audit.record.record_builder import MAX_NAME, PLAIN_NAME
from trotline.config.paths import Roots
from trotline.conversation.sessions import Sessions, Variable, hide_name
from trotline.domain.events import SubagentStop
from trotline.domain.outcomes import Call
from trotline.domain.verdicts import Verdict
from trotline.hook.process import handle_call
from trotline.scanners.redaction import redact

TOKEN = fill_template("ghp_{crc*36}")
ORDINARY_ID = "0b6f7c1e-5d0a-4c7e-9a51-2f1f6f2f7d11"
LEAKY = "MCP:https://me:hunter2hunter2@example.org/x"


def store_names(workspace: Workspace, **fields: Any) -> tuple[str, dict[str, Any]]:
    """Return the spool after this call, and its last record."""
    body = {"hook_event_name": "postToolUse", "tool_name": "Shell", "tool_input": {}, "tool_output": "", **fields}
    argv = ("--agent", "cursor", "--event", str(body["hook_event_name"]), "--home", str(workspace.home))
    handle_call(Call(id="i", argv=argv, payload=json.dumps(body).encode(), received_us=5), [], guarded=True)
    text = (workspace.roots().state / "spool" / "spool.log").read_text()
    return text, json.loads(text.splitlines()[-1].partition(" ")[2])


@pytest.mark.parametrize("field", ["tool_name", "conversation_id", "generation_id"])
@pytest.mark.parametrize("name", [LEAKY, f"a-{TOKEN}", LEAKY + "x" * 3_000_000])
def test_any_name_makes_a_small_clean_record(workspace: Workspace, field: str, name: str) -> None:
    text, _ = store_names(workspace, **{field: name})
    assert "hunter2" not in text
    assert TOKEN not in text
    assert len(text) < 2_000


def test_an_unknown_event_has_a_clean_name(workspace: Workspace) -> None:
    text, record = store_names(workspace, hook_event_name=f"on {TOKEN}")
    assert TOKEN not in text
    assert record["event"].startswith("on [redacted ")


def test_the_engine_side_stores_names_the_same_way(workspace: Workspace) -> None:
    engine = Engine.load(project=workspace.project, home=workspace.home, system=workspace.system, audit_log=True)
    with engine.session(conversation_id=LEAKY):
        pass
    first, *_ = (workspace.roots().state / "spool" / "spool.log").read_text().splitlines()[1:]
    assert "hunter2" not in first
    assert (
        json.loads(first.partition(" ")[2])["conversation"]
        == store_names(workspace, conversation_id=LEAKY)[1]["conversation"]
    )


def test_an_ordinary_name_is_unchanged(workspace: Workspace) -> None:
    names = {"conversation_id": ORDINARY_ID, "generation_id": "ses_4f1aX9", "tool_name": "Read"}
    record = store_names(workspace, **names)[1]
    assert [record[name] for name in ("conversation", "generation", "tool")] == list(names.values())


def run_command(workspace: Workspace, *words: str) -> str:
    return workspace.run(*words).stdout


def sessions_as_written(workspace: Workspace) -> str:
    return "".join(file.read_text() for file in (workspace.roots().state / "sessions").glob("*.json"))


def test_session_files_do_not_contain_the_raw_conversation_name(workspace: Workspace) -> None:
    refused = {"hook_event_name": "beforeShellExecution", "command": "rm -rf / --no-preserve-root"}
    record = store_names(workspace, **refused, conversation_id=f"chat {TOKEN}")[1]
    assert TOKEN not in sessions_as_written(workspace)
    stored = read_sessions(workspace.roots().state / "sessions")
    assert [one.session.conversation for one in stored] == [record["conversation"]]
    assert "saved variables" in run_command(workspace, "log", "conversations", "--clear", record["conversation"])
    assert sessions_as_written(workspace) == ""


def test_a_follow_up_of_a_sub_agent_is_counted_without_its_name(workspace: Workspace) -> None:
    engine = Engine.load(project=workspace.project, home=workspace.home, system=workspace.system)
    engine.hook("subagentStop")(lambda _: Verdict(follow_up="on"))
    for name in (f"first {TOKEN}", f"first {TOKEN}", "second"):
        stop = SubagentStop(conversation_id=f"c {TOKEN}", subagent_id=name, subagent_type="x", status="completed")
        assert engine.dispatch(stop).follow_up == "on"
    assert TOKEN not in sessions_as_written(workspace)
    (one,) = read_sessions(engine.sessions.directory)
    assert sorted(one.session.follow_ups.values()) == [1, 2]


def test_variables_of_a_conversation_do_not_bring_its_name_along(workspace: Workspace) -> None:
    engine = Engine.load(project=workspace.project, home=workspace.home, system=workspace.system)
    engine.hook("sessionStart")(lambda _: Verdict(env={"COLOUR": "blue"}))
    with engine.session(conversation_id=LEAKY):
        pass
    assert "hunter2" not in sessions_as_written(workspace)
    assert "COLOUR" in sessions_as_written(workspace)


def test_without_scanners_no_readable_name_is_stored(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    for name in (TOKEN, TOKEN, "c", ORDINARY_ID):
        assert sessions.update(name, lambda _: None, 1) == ""
    names = sorted(stored.session.conversation for stored in read_sessions(sessions.directory))
    assert names[:2] == [ORDINARY_ID, hide_name("c")]
    assert names[2:] == [hide_name(TOKEN)]


def test_a_lone_surrogate_in_a_name_is_accepted(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path, lambda name: name)
    assert sessions.update("c \ud800", lambda session: session.count_follow_up("hook", "one"), 1) == ""
    assert sessions.read("c \ud800").session.follow_ups == {"hook": 1}
    alarm = sessions.update("d", lambda session: session.set_variable("NAME", Variable("\ud800", 1)), 1)
    assert alarm == "the session could not be written: a variable in it is no text"


@given(st.from_regex(PLAIN_NAME.pattern, fullmatch=True))
def test_in_a_plain_name_nothing_is_found(name: str) -> None:
    assert redact(name, b"k" * 32)[0] == name


@given(name=st.text(max_size=400) | st.sampled_from([LEAKY, TOKEN, "é" * 257]))
def test_a_stored_name_is_short_and_stable(names: NameRedactor, name: str) -> None:
    once = names.redact(name)
    assert len(once) <= MAX_NAME
    assert names.redact(once) == once


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> NameRedactor:
    workspace = make_workspace(tmp_path_factory.mktemp("names"))
    return NameRedactor(workspace.roots())


def test_two_long_names_are_two(names: NameRedactor) -> None:
    assert names.redact("x" * 300) == names.redact("x" * 300) != names.redact("x" * 299 + "y")


def test_without_a_key_a_name_is_counted_and_no_reason_to_refuse(workspace: Workspace) -> None:
    roots: Roots = workspace.roots()
    roots.state.mkdir(parents=True)
    (roots.state / "key").mkdir()
    assert NameRedactor(roots).redact(LEAKY) == f"[{len(LEAKY)} characters]"


@pytest.mark.parametrize("name", [LEAKY, "x" * 300])
def test_a_conversation_is_found_and_forgotten_by_the_name_that_its_agent_gave(workspace: Workspace, name: str) -> None:
    store_names(workspace, conversation_id=name)
    assert run_command(workspace, "log", "--count", "--conversation", name) == "1\n"
    assert run_command(workspace, "log", "conversations", "--clear", name).startswith("1 record forgotten\n")


def test_stored_names_contain_no_secret() -> None:
    found = [
        token
        for template in SECRET_TEMPLATES.values()
        for seed in range(300)
        if PLAIN_NAME.fullmatch(token := fill_template(template, seed)) and redact(token, b"key")[1]
    ]
    assert found == []


@pytest.mark.parametrize("field", ["tool_name", "conversation_id", "generation_id"])
def test_user_rules_apply_to_names(workspace: Workspace, field: str) -> None:
    file = workspace.roots().config / "secrets.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[[rules]]\nid = 'acme'\ndescription = 'x'\nregex = '(acme_[a-z]{8,30})'\nkeywords = ['acme_']\n")
    text, record = store_names(workspace, **{field: "acme_qwertzuiop"})
    assert "acme_q" not in text
    assert "[redacted acme " in json.dumps(record)
