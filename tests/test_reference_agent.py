"""The reference agent: order and fields of events, and effects of hook replies."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from agent import notes_server
from agent.editor import Editor
from agent.endpoint import EndpointModel
from agent.loop import DEFAULT_LIMITS, Agent, Limits, run_conversation
from agent.mcp_client import Server, ServerError
from agent.model import Message, ModelError, Reply, Script, ScriptedModel, ToolCall, ToolSpec, build_call
from agent.narrator import make_watched_engine
from agent.tool_context import AbsentPerson, Person, RefusedError, Workspace
from agent.tools import TOOLS, Tool
from agent.transcript import Transcript
from kit import has_ended
from trotline import Outcome
from trotline.domain.events import EVENTS

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT.parent / "shared" / "corpora" / "payloads"

Payload = dict[str, Any]
Hooks = dict[str, list[dict[str, Any]]]


class Yes:
    """A user who agrees to everything and stores the texts shown."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.read: list[str] = []

    def confirm(self, question: str) -> bool:
        self.questions.append(question)
        return True

    def show(self, text: str) -> None:
        self.read.append(text)


class Stage(NamedTuple):
    """A workspace with user hooks, and the outcomes of a run."""

    path: Path
    outcomes: list[Outcome]

    @property
    def project(self) -> Path:
        return self.path / "project"

    def hooks(self, hooks: Hooks) -> None:
        file = self.path / "home" / ".cursor" / "hooks.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"version": 1, "hooks": hooks}))

    def file(self, name: str, text: str = "") -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def notes(self, *notes: str) -> Server:
        file = self.path / "notes.txt"
        file.write_text("".join(f"{note}\n" for note in notes))
        return Server("notes", [sys.executable, notes_server.__file__, str(file)])

    def play(
        self,
        script: Script,
        *prompts: str,
        subagents: dict[str, Callable[[], Script]] | None = None,
        person: Person | None = None,
        limits: Limits = DEFAULT_LIMITS,
        servers: dict[str, Server] | None = None,
    ) -> ScriptedModel:
        model = ScriptedModel(script, subagents)
        workspace = Workspace(self.project, servers)
        run_conversation(self.engine(), model, prompts or ("go",), workspace, person=person, limits=limits)
        return model

    def engine(self) -> Any:
        engine = make_watched_engine(self.outcomes.append)
        return engine.load(project=self.project, home=self.path / "home", system=self.path / "system")

    @property
    def names(self) -> list[str]:
        return [outcome.event.wire_name for outcome in self.outcomes]

    def raised(self, name: str) -> list[Any]:
        return [outcome.event for outcome in self.outcomes if outcome.event.wire_name == name]


def _stage(path: Path) -> Stage:
    for name in ("home", "system", "project"):
        (path / name).mkdir()
    return Stage(path.resolve(), [])


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return _stage(tmp_path)


def reply_line(matcher: str = "", **reply: Any) -> dict[str, str]:
    return {"command": f"cat >/dev/null; echo '{json.dumps(reply)}'", "matcher": matcher}


def list_messages(model: ScriptedModel) -> list[str]:
    """Return the tool results in the last request to the model."""
    return [message.text for message in model.requests[-1] if message.role == "tool"]


def _everything(model: ScriptedModel) -> str:
    return "\n".join(str(message) for request in model.requests for message in request)


def _tour() -> Iterator[Reply]:
    yield Reply(
        text="I will look around.",
        thought="Where am I?",
        calls=(
            build_call("LS"),
            build_call("Grep", pattern="b", glob="*.txt", output_mode="files_with_matches"),
            build_call("Read", file_path="a.txt"),
            build_call("Read", file_path="missing.txt"),
        ),
    )
    yield Reply(
        calls=(
            build_call("Write", file_path="new/b.txt", content="one\ntwo\n"),
            build_call("Write", file_path="new/b.txt", content="one\nthree\n"),
            build_call("Shell", command="echo hello; exit 3"),
            build_call("Shell", command="sleep 60", timeout=50),
            build_call("Delete", file_path="a.txt"),
            build_call("MCP:find_notes", word="milk"),
            build_call("Task", subagent_type="explore", prompt="look", description="a look"),
        )
    )
    yield Reply(text="Done.")


def _explorer() -> Iterator[Reply]:
    yield Reply(thought="A small task.", calls=(build_call("Write", file_path="c.txt", content="c"),))
    yield Reply(text="I wrote c.txt.")


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> list[Payload]:
    """Every payload of one run, in order, as a user hook received it."""
    stage = _stage(tmp_path_factory.mktemp("tour"))
    seen = stage.path / "seen.jsonl"
    recorder = {"command": f"{{ cat; echo; }} >> {seen}; echo '{{}}'"}
    stage.hooks({name: [recorder] for name in EVENTS})
    stage.file("a.txt", "a b\n" * 200)
    with stage.notes("buy milk") as notes:
        workspace = Workspace(stage.project, {"notes": notes})
        editor = Editor(stage.engine(), workspace)
        editor.open_workspace()
        assert editor.read_for_tab("a.txt")
        editor.complete("a.txt", 1, " c")
        limits = Limits(tokens=300, transcript=stage.path / "transcript.jsonl")
        stage.play(_tour(), subagents={"explore": _explorer}, servers={"notes": notes}, limits=limits)
    return [json.loads(line) for line in seen.read_text().splitlines()]


def _of(tour: list[Payload], name: str) -> list[Payload]:
    return [payload for payload in tour if payload["hook_event_name"] == name]


def test_every_event_is_raised_by_really_playing(tour: list[Payload]) -> None:
    assert {payload["hook_event_name"] for payload in tour} == set(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_payloads_are_valid_by_the_published_schema(name: str, tour: list[Payload]) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.payload.schema.json").read_text("utf-8"))
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert [error.message for payload in _of(tour, name) for error in validator.iter_errors(payload)] == []


@pytest.mark.parametrize("name", EVENTS)
def test_every_field_that_is_sent_is_one_of_the_declaration(name: str, tour: list[Payload]) -> None:
    known = {"hook_event_name", *EVENTS[name].__struct_fields__} - {"raw"}
    assert [set(payload) - known for payload in _of(tour, name) if set(payload) - known] == []


def _recorded() -> list[Payload]:
    lines = [line for file in sorted(RECORDINGS.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    payloads: list[Payload] = [json.loads(line)["payload"] for line in lines]
    return [one for one in payloads if one.get("cursor_version") and one["hook_event_name"] in EVENTS]


RECORDED = _recorded()
needs_recordings = pytest.mark.skipif(not RECORDED, reason="no recorded payloads beside this repository")


@needs_recordings
@pytest.mark.parametrize("name", sorted({one["hook_event_name"] for one in RECORDED}))
def test_fields_that_cursor_always_sends_are_sent(name: str, tour: list[Payload]) -> None:
    always = set.intersection(*(set(one) for one in _of(RECORDED, name)))
    for payload in _of(tour, name):
        assert always - set(payload) == set()


@needs_recordings
@pytest.mark.parametrize("field", ["tool_input", "tool_output"])
@pytest.mark.parametrize("tool", ["Shell", "Read", "Write", "Grep"])
def test_tool_input_and_output_have_the_fields_of_cursor(tool: str, field: str, tour: list[Payload]) -> None:
    def keys(payloads: list[Payload]) -> list[set[str]]:
        values = [one[field] for one in payloads if one.get("tool_name") == tool and field in one]
        return [set(json.loads(value) if isinstance(value, str) else value) for value in values]

    assert keys(RECORDED)
    assert set.intersection(*keys(RECORDED)) == set.intersection(*keys(tour)) == set.union(*keys(tour))


def _story_of(tour: list[Payload], tool: str, number: int = 0) -> list[str]:
    """Return the events of one tool call, from the first generic one to the last."""
    started_at = [
        at for at, one in enumerate(tour) if one["hook_event_name"] == "preToolUse" and one["tool_name"] == tool
    ]
    first = started_at[number]
    ours = [at for at, one in enumerate(tour) if one.get("tool_use_id") == tour[first]["tool_use_id"]]
    return [one["hook_event_name"] for one in tour[first : ours[-1] + 1]]


WROTE = "preToolUse afterFileEdit postToolUse"


@pytest.mark.parametrize(
    "tool, number, story",
    [
        ("LS", 0, "preToolUse postToolUse"),
        ("Grep", 0, "preToolUse postToolUse"),
        ("Read", 0, "preToolUse beforeReadFile postToolUse"),
        ("Read", 1, "preToolUse postToolUseFailure"),
        ("Write", 0, WROTE),
        ("Shell", 0, "preToolUse beforeShellExecution afterShellExecution postToolUse"),
        ("Shell", 1, "preToolUse beforeShellExecution afterShellExecution postToolUseFailure"),
        ("Delete", 0, "preToolUse postToolUse"),
        ("MCP:find_notes", 0, "preToolUse beforeMCPExecution afterMCPExecution postToolUse"),
        ("Task", 0, f"preToolUse subagentStart afterAgentThought {WROTE} afterAgentResponse subagentStop postToolUse"),
    ],
)
def test_generic_events_surround_specific_events(tool: str, number: int, story: str, tour: list[Payload]) -> None:
    assert _story_of(tour, tool, number) == story.split()


def test_a_conversation_begins_and_ends_with_its_events(tour: list[Payload]) -> None:
    [start] = _of(tour, "sessionStart")
    names = [one["hook_event_name"] for one in tour if one.get("conversation_id") == start["conversation_id"]]
    assert names[:2] == ["sessionStart", "beforeSubmitPrompt"]
    assert names[2:4] == ["afterAgentThought", "afterAgentResponse"]
    assert names[-3:] == ["afterAgentResponse", "stop", "sessionEnd"]
    assert "workspaceOpen" not in names
    assert {"beforeTabFileRead", "afterTabFileEdit"}.isdisjoint(names)


def test_a_generation_lasts_from_one_prompt_to_the_next(stage: Stage) -> None:
    stage.play([Reply(text="one"), Reply(text="two")], "first", "second")
    generations = [outcome.event.generation_id for outcome in stage.outcomes]
    assert len(set(generations[1:4])) == len(set(generations[4:7])) == 1
    assert len({generations[0], generations[1], generations[4]}) == 3
    assert generations[0] == ""


def test_the_context_is_folded_before_the_model_reads_it(tour: list[Payload]) -> None:
    compactions = _of(tour, "preCompact")
    assert compactions
    for one in compactions:
        assert one["context_tokens"] > one["context_window_size"] == 300
        assert 0 < one["messages_to_compact"] < one["message_count"]


def test_a_subagent_reports_its_work_when_it_stops(tour: list[Payload]) -> None:
    [start], [stop] = _of(tour, "subagentStart"), _of(tour, "subagentStop")
    [call_id] = [one["tool_use_id"] for one in _of(tour, "preToolUse") if one["tool_name"] == "Task"]
    assert (start["tool_call_id"], start["task"], start["subagent_type"]) == (call_id, "look", "explore")
    assert (stop["status"], stop["summary"], stop["tool_call_count"]) == ("completed", "I wrote c.txt.", 1)
    assert [Path(file).name for file in stop["modified_files"]] == ["c.txt"]
    assert start["subagent_id"] == stop["subagent_id"]


def test_edits_are_reported_as_replacements(tour: list[Payload]) -> None:
    new, changed, _ = _of(tour, "afterFileEdit")
    assert new["edits"] == []
    assert changed["edits"] == [{"old_string": "two\n", "new_string": "three\n"}]
    [tab] = _of(tour, "afterTabFileEdit")[0]["edits"]
    assert (tab["old_line"], tab["new_line"], tab["new_string"]) == ("a b", "a b c", " c")
    assert tab["range"] == {"start_line_number": 1, "start_column": 4, "end_line_number": 1, "end_column": 4}


def test_a_command_that_fails_is_a_tool_that_worked(tour: list[Payload]) -> None:
    shells = [one for one in _of(tour, "postToolUse") if one["tool_name"] == "Shell"]
    assert [json.loads(one["tool_output"]) for one in shells] == [{"output": "hello\n", "exitCode": 3}]


def test_a_command_that_is_refused_does_not_run(stage: Stage) -> None:
    stage.hooks({"beforeShellExecution": [reply_line("touch", permission="deny", agent_message="nothing new here")]})
    model = stage.play(
        [Reply(calls=(build_call("Shell", command="touch ran"), build_call("Shell", command="echo > echoed")))]
    )
    assert not (stage.project / "ran").exists()
    assert (stage.project / "echoed").exists()
    assert list_messages(model)[0] == "Refused: nothing new here"
    [failure] = stage.raised("postToolUseFailure")
    assert (failure.failure_type, failure.error_message, failure.duration) == (
        "permission_denied",
        "nothing new here",
        0,
    )


@pytest.mark.parametrize("tool", ["Write", "Delete", "Shell", "MCP:add_note"])
def test_a_tool_that_is_refused_does_nothing(tool: str, stage: Stage) -> None:
    stage.hooks({"preToolUse": [reply_line(f"^{tool}$", permission="deny", user_message="no")]})
    file = stage.file("kept", "as it was")
    calls = {
        "Write": {"file_path": "kept", "content": "changed"},
        "Delete": {"file_path": "kept"},
        "Shell": {"command": "rm kept"},
        "MCP:add_note": {"note": "changed"},
    }
    with stage.notes("one") as notes:
        stage.play([Reply(calls=(build_call(tool, **calls[tool]),))], servers={"notes": notes})
    assert file.read_text() == "as it was"
    assert (stage.path / "notes.txt").read_text() == "one\n"
    assert "permission_denied" in {one.failure_type for one in stage.raised("postToolUseFailure")}


@pytest.mark.parametrize("person, runs", [(Yes(), True), (AbsentPerson(), False)], ids=["yes", "no"])
def test_an_ask_is_decided_by_the_user(person: Person, runs: bool, stage: Stage) -> None:
    stage.hooks({"beforeShellExecution": [reply_line(permission="ask", user_message="really?")]})
    model = stage.play([Reply(calls=(build_call("Shell", command="touch ran"),))], person=person)
    assert (stage.project / "ran").exists() is runs
    assert list_messages(model)[0].startswith("exit code 0" if runs else "Refused: the person was asked and said no")
    assert not isinstance(person, Yes) or person.questions == ["really?"]


def test_a_rewritten_input_runs(stage: Stage) -> None:
    stage.hooks({"preToolUse": [reply_line("Shell", updated_input={"command": "touch other"})]})
    stage.play([Reply(calls=(build_call("Shell", command="touch wanted"),))])
    assert [path.name for path in stage.project.iterdir()] == ["other"]
    assert stage.raised("beforeShellExecution")[0].command == "touch other"
    assert stage.raised("postToolUse")[0].tool_input == {"command": "touch other", "cwd": "", "timeout": 30_000}


SECRET = "key-that-opens-everything"


def test_a_secret_that_a_hook_keeps_is_in_nothing_that_the_model_reads(stage: Stage) -> None:
    stage.file(".env", SECRET)
    (stage.project / "innocent.txt").symlink_to(".env")
    stage.hooks({"beforeReadFile": [{"command": "grep -q '\\.env\"' && exit 2 || echo '{}'", "failClosed": True}]})
    names = (".env", "innocent.txt", str(stage.project / ".env"))
    calls = [build_call("Read", file_path=name) for name in names]
    calls += [build_call("Grep", pattern="key"), build_call("Grep", pattern="key", file_path=".env")]
    transcript = stage.path / "transcript.jsonl"
    model = stage.play([Reply(calls=tuple(calls))], limits=Limits(transcript=transcript))
    assert [text.split(":")[0] for text in list_messages(model)] == ["Refused"] * 3 + ["nothing found"] * 2
    assert SECRET not in _everything(model) + transcript.read_text()
    assert {event.content for event in stage.raised("beforeReadFile")} == {SECRET}


@pytest.mark.parametrize("name", ["real.txt", "link.txt", "./sub/../real.txt"])
def test_hooks_receive_resolved_paths(name: str, stage: Stage) -> None:
    real = stage.file("real.txt")
    (stage.project / "link.txt").symlink_to("real.txt")
    (stage.project / "sub").mkdir()
    stage.play([Reply(calls=(build_call("Write", file_path=name, content="x"), build_call("Read", file_path=name)))])
    call_ids = {event.tool_input["file_path"] for event in stage.raised("preToolUse")}
    done = {event.file_path for event in stage.raised("afterFileEdit") + stage.raised("beforeReadFile")}
    assert call_ids == done == {str(real)}


def test_the_result_of_an_mcp_tool_is_read_as_a_hook_left_it(stage: Stage) -> None:
    clean = {"content": [{"type": "text", "text": "milk, and something else"}]}
    stage.hooks({"postToolUse": [reply_line("^MCP:", updated_mcp_tool_output=clean)]})
    with stage.notes(f"milk {SECRET}") as notes:
        model = stage.play([Reply(calls=(build_call("MCP:find_notes", word="milk"),))], servers={"notes": notes})
    assert list_messages(model) == ["milk, and something else"]
    assert SECRET not in _everything(model)
    assert SECRET in stage.raised("afterMCPExecution")[0].result_json


def test_added_context_reaches_the_model(stage: Stage) -> None:
    stage.hooks(
        {
            "beforeSubmitPrompt": [reply_line(additional_context="with the prompt")],
            "preToolUse": [reply_line(additional_context="before the tool")],
            "postToolUse": [reply_line(additional_context="after the tool")],
            "postToolUseFailure": [reply_line(additional_context="after the failure")],
        }
    )
    model = stage.play([Reply(calls=(build_call("LS"), build_call("Read", file_path="missing")))])
    last = model.requests[-1]
    assert last[1] == Message("user", "go\n\nA hook adds: with the prompt")
    listed, missing = list_messages(model)
    assert listed.endswith("A hook adds: before the tool\n\nA hook adds: after the tool")
    assert missing.endswith("A hook adds: before the tool\n\nA hook adds: after the failure")


def test_session_context_survives_compaction(stage: Stage) -> None:
    stage.hooks({"sessionStart": [reply_line(additional_context="prices are cents")]})
    stage.file("long.txt", "x" * 2000)
    replies = [Reply(calls=(build_call("Read", file_path="long.txt"),))] * 6
    model = stage.play(replies, limits=Limits(tokens=900))
    compactions = stage.raised("preCompact")
    assert [event.is_first_compaction for event in compactions] == [True] + [False] * (len(compactions) - 1)
    assert len(compactions) > 1
    assert all(request[0].text.endswith("A hook adds: prices are cents") for request in model.requests)
    assert len(model.requests[-1]) < 2 + 2 * len(replies)


def test_variables_of_a_session_are_for_hooks_and_not_for_the_agents_own_shell(stage: Stage) -> None:
    environment_file = stage.path / "heard"
    stage.hooks(
        {
            "sessionStart": [reply_line(env={"TICKET": "SHOP-42"})],
            "beforeShellExecution": [{"command": f"cat >/dev/null; echo $TICKET > {environment_file}; echo '{{}}'"}],
        }
    )
    model = stage.play([Reply(calls=(build_call("Shell", command="echo [$TICKET]"),))])
    assert environment_file.read_text() == "SHOP-42\n"
    assert list_messages(model) == ["exit code 0\n[]"]


REFUSED = {"command": """cat >/dev/null; echo '{"continue": false, "user_message": "not today"}'"""}


def test_a_prompt_that_is_refused_reaches_no_model_and_stops_nothing(stage: Stage) -> None:
    person = Yes()
    stage.hooks({"beforeSubmitPrompt": [REFUSED]})
    model = stage.play([Reply(text="never said")], person=person)
    assert (model.requests, person.read) == ([], ["not today"])
    assert stage.names == ["sessionStart", "beforeSubmitPrompt", "sessionEnd"]


def test_a_session_that_is_refused_has_no_agent(stage: Stage) -> None:
    person = Yes()
    stage.hooks({"sessionStart": [REFUSED]})
    model = stage.play([Reply(text="never said")], person=person)
    assert (model.requests, person.read, stage.names) == ([], ["not today"], ["sessionStart", "sessionEnd"])


def test_a_stop_hook_keeps_the_agent_going_until_its_limit(stage: Stage) -> None:
    stage.hooks({"stop": [{**reply_line(followup_message="go on"), "loop_limit": 2}]})
    model = stage.play([Reply(text="first"), Reply(text="second"), Reply(text="third"), Reply(text="never said")])
    assert [event.prompt for event in stage.raised("beforeSubmitPrompt")] == ["go", "go on", "go on"]
    assert [event.loop_count for event in stage.raised("stop")] == [0, 1, 2]
    assert [message.text for message in model.requests[-1] if message.role == "assistant"] == ["first", "second"]


def test_a_hook_that_hangs_and_fails_closed_refuses(stage: Stage) -> None:
    stage.hooks({"beforeShellExecution": [{"command": "sleep 60", "timeout": 0.2, "failClosed": True}]})
    model = stage.play([Reply(calls=(build_call("Shell", command="touch ran"),))])
    assert not (stage.project / "ran").exists()
    assert "timed out after 200ms" in list_messages(model)[0]


def _task(kind: str) -> Reply:
    return Reply(calls=(build_call("Task", subagent_type=kind, prompt="look"),))


def test_a_sub_agent_that_is_refused_raises_nothing_and_does_nothing(stage: Stage) -> None:
    stage.hooks({"subagentStart": [reply_line("^shell$", permission="deny", user_message="no shells")]})
    wrote = [Reply(calls=(build_call("Write", file_path="c.txt", content="c"),))]
    model = stage.play([_task("shell")], subagents={"shell": lambda: wrote})
    started_at = stage.names.index("preToolUse")
    assert stage.names[started_at : started_at + 3] == ["preToolUse", "subagentStart", "postToolUseFailure"]
    assert "subagentStop" not in stage.names
    assert not (stage.project / "c.txt").exists()
    assert list_messages(model) == ["Refused: no shells"]


def test_the_tools_of_a_sub_agent_are_guarded_like_any_other(stage: Stage) -> None:
    stage.hooks({"beforeShellExecution": [reply_line(permission="deny", user_message="no")]})
    stage.play(
        [_task("explore")], subagents={"explore": lambda: [Reply(calls=(build_call("Shell", command="touch ran"),))]}
    )
    assert not (stage.project / "ran").exists()


def test_a_sub_agent_is_followed_up_until_the_hooks_limit(stage: Stage) -> None:
    stage.hooks({"subagentStop": [{**reply_line(followup_message="look again"), "loop_limit": 1}]})
    looks = [Reply(text="nothing"), Reply(text="something")]
    model = stage.play([_task("explore")], subagents={"explore": lambda: looks})
    assert [event.summary for event in stage.raised("subagentStop")] == ["nothing", "something"]
    assert list_messages(model) == ["something"]


def test_a_sub_agent_starts_no_others(stage: Stage) -> None:
    stage.play([_task("explore")], subagents={"explore": lambda: [_task("explore"), Reply(text="alone")]})
    assert len(stage.raised("subagentStart")) == 1


@pytest.mark.parametrize(
    "call, kind, why",
    [
        (build_call("Read", file_path="missing"), "error", "No such file"),
        (build_call("Read", file_path="."), "error", "directory"),
        (build_call("Grep", pattern="("), "error", "missing )"),
        (build_call("Shell", command="ls", timeout="soon"), "error", "unsupported operand"),
        (build_call("Shell", command="sleep 60", timeout=100), "timeout", "stopped after 100 ms"),
        (build_call("Read", file_path="../outside"), "permission_denied", "not in the workspace"),
        (
            build_call("Write", file_path=".cursor/hooks.json", content="{}"),
            "permission_denied",
            "not the agent's to change",
        ),
        (build_call("Delete", file_path=".cursor/hooks.json"), "permission_denied", "not the agent's to change"),
    ],
    ids=lambda value: value.name if isinstance(value, ToolCall) else "",
)
def test_a_failing_tool_fires_an_event_and_reports_to_the_model(
    call: ToolCall, kind: str, why: str, stage: Stage
) -> None:
    stage.file("../outside", SECRET)
    stage.file(".cursor/hooks.json", '{"version": 1, "hooks": {}}')
    model = stage.play([Reply(calls=(call,)), Reply(text="I see.")])
    [failure] = stage.raised("postToolUseFailure")
    assert (failure.failure_type, why in failure.error_message, failure.tool_name) == (kind, True, call.name)
    assert why in list_messages(model)[0]
    assert stage.raised("stop")[0].status == "completed"
    assert (stage.project / ".cursor" / "hooks.json").read_text() == '{"version": 1, "hooks": {}}'


def test_a_timed_out_command_is_killed_with_its_children_and_its_output_is_reported(stage: Stage) -> None:
    command = "echo so far; sleep 60 & echo $! > child; wait"
    model = stage.play([Reply(calls=(build_call("Shell", command=command, timeout=1500),))])
    assert has_ended(int((stage.project / "child").read_text()))
    assert list_messages(model) == ["Timed out: the command was stopped after 1500 ms\nso far"]


@pytest.mark.parametrize(
    "call, expected_text",
    [
        (build_call("Fly"), "there is no tool `Fly`"),
        (build_call("Read"), "`file_path` is missing"),
        (ToolCall("Read", {}, problem="the arguments are not JSON"), "the arguments are not JSON"),
    ],
    ids=["unknown", "incomplete", "unreadable"],
)
def test_an_invalid_request_is_no_tool_call(call: ToolCall, expected_text: str, stage: Stage) -> None:
    model = stage.play([Reply(calls=(call,))])
    assert list_messages(model) == [f"Failed: {expected_text}"]
    assert "preToolUse" not in stage.names


class Broken(ScriptedModel):
    """A model that cannot be reached."""

    def reply(self, messages: Any, tools: Any) -> Reply:
        raise ModelError("the model cannot be reached")


def test_a_turn_that_breaks_is_stopped_and_not_followed_up(stage: Stage) -> None:
    person = Yes()
    stage.hooks({"stop": [reply_line(followup_message="go on")]})
    run_conversation(stage.engine(), Broken([]), ["go"], Workspace(stage.project), person=person)
    assert [event.status for event in stage.raised("stop")] == ["error"]
    assert person.read == ["the model cannot be reached"]
    assert stage.names[-1] == "sessionEnd"


def test_an_agent_that_never_finishes_is_stopped(stage: Stage) -> None:
    stage.play([Reply(calls=(build_call("LS"),))] * 9, limits=Limits(steps=3))
    assert len(stage.raised("preToolUse")) == 3
    assert stage.raised("stop")[0].status == "error"


def test_an_interrupt_ends_the_turn_and_answers_every_tool_call(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(hand: object, call: ToolCall) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setitem(TOOLS, "LS", Tool("", {"file_path": ""}, interrupted))
    script = [_task("explore"), Reply(text="still here")]
    model = ScriptedModel(script, {"explore": lambda: [Reply(calls=(build_call("LS"), build_call("LS")))]})
    with stage.engine().session(model="m") as session:
        agent = Agent(session, model, Workspace(stage.project), AbsentPerson())
        agent.converse("go")
        assert [event.status for event in stage.raised("stop")] == ["aborted"]
        assert [event.status for event in stage.raised("subagentStop")] == ["aborted"]
        assert [event.tool_name for event in stage.raised("postToolUseFailure")] == ["LS", "Task"]
        assert [message.text for message in agent.transcript.messages[-1:]] == ["The person interrupted this."]
        assert agent.converse("and now?") == "still here"


def test_compaction_keeps_the_system_message_and_pairs_of_call_and_answer() -> None:
    transcript, folds = Transcript("system", budget=200), 0
    transcript.add(Message("user", "go"))
    for number in range(30):
        calls = tuple(ToolCall("Read", {"file_path": "x" * 50}, f"{number}-{one}") for one in range(number % 4 + 1))
        transcript.add(Message("assistant", "reading", calls))
        for call in calls:
            transcript.add(Message("tool", "y" * 100, call_id=call.id))
        before, shorter = transcript.tokens, transcript.compact()
        folds += shorter is not None
        transcript.messages = shorter or transcript.messages
        assert shorter is None or transcript.tokens < before
        call_ids = {call.id for message in transcript.messages for call in message.calls}
        answered = {message.call_id for message in transcript.messages if message.role == "tool"}
        assert call_ids == answered
        assert transcript.messages[0] == Message("system", "system")
    assert folds > 5
    assert "user: go" in transcript.messages[1].text


def test_a_file_that_a_hook_keeps_from_tab_reaches_no_editor(stage: Stage) -> None:
    stage.hooks({"beforeTabFileRead": [{"command": "grep -q '\\.env\"' && exit 2 || echo '{}'"}]})
    stage.file(".env", SECRET)
    stage.file("a.py", "x = 1\n")
    editor = Editor(stage.engine(), Workspace(stage.project))
    assert editor.read_for_tab(".env") is None
    assert editor.read_for_tab("a.py") == "x = 1\n"
    with pytest.raises(RefusedError):
        editor.read_for_tab("../outside")


def test_hooks_name_the_plugins_that_a_workspace_opens_with(stage: Stage) -> None:
    stage.hooks({"workspaceOpen": [reply_line(pluginPaths=["/srv/shop/plugin"])]})
    editor = Editor(stage.engine(), Workspace(stage.project))
    editor.open_workspace()
    assert editor.plugins == ("/srv/shop/plugin",)


REAL_SERVER = """
from mcp.server import MCPServer
server = MCPServer("real")

@server.tool()
def double(number: int) -> str:
    return str(2 * number)

server.run("stdio")
"""


def test_the_client_works_with_a_server_of_the_mcp_library(stage: Stage) -> None:
    server = Server("real", [sys.executable, "-c", REAL_SERVER], seconds=60)
    with server:
        model = stage.play([Reply(calls=(build_call("MCP:double", number=21),))], servers={"real": server})
    assert list_messages(model) == ["42"]
    [before] = stage.raised("beforeMCPExecution")
    assert (before.tool_name, before.tool_input, before.mcp_server_name) == ("double", {"number": 21}, "real")


REAL_CLIENT = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters, stdio_client

async def main():
    server = StdioServerParameters(command=sys.executable, args=sys.argv[1:])
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        print([tool.name for tool in (await session.list_tools()).tools])
        result = await session.call_tool("find_notes", {"word": "milk"})
        print(result.content[0].text)

asyncio.run(main())
"""


def test_the_notes_server_is_understood_by_a_client_made_with_the_real_library(stage: Stage) -> None:
    command = stage.notes("buy milk", "sell eggs").command
    argv = [sys.executable, "-c", REAL_CLIENT, *command[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["['find_notes', 'add_note']", "buy milk"], done.stderr


STUB = "import sys, json, time\nfor line in sys.stdin:\n    request = json.loads(line)\n    {do}\n"
ANSWER = 'print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"tools": []}}), flush=True)'


def _stub(do: str) -> Server:
    code = STUB.replace("{do}", do.replace("ANSWER", ANSWER))
    return Server("stub", [sys.executable, "-c", code], seconds=60)


def test_a_server_that_does_not_answer_is_waited_for_so_long_and_no_longer() -> None:
    server = _stub('request["method"] == "initialize" and ANSWER')
    with server:
        server.seconds = 0.2
        with pytest.raises(TimeoutError, match=r"stub: no answer within 0\.2 s"):
            server.list_tools()


@pytest.mark.parametrize("do", ["sys.exit()", 'request["method"] == "initialize" and ANSWER or sys.exit()'])
def test_a_server_that_ends_is_an_error_of_the_call(do: str) -> None:
    with pytest.raises(ServerError, match="the server has ended"), _stub(do) as server:
        server.list_tools()


CHATTY = """
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        say(method="notifications/message")
        say(id=request["id"] - 1, result={"tools": [{"name": "too late"}]})
        say(id=request["id"], method="sampling/createMessage")
        declined = json.loads(sys.stdin.readline())
        say(id=request["id"], result={"tools": [{"name": declined["error"]["message"]}]})
"""


def test_a_server_may_send_notifications_and_answer_late() -> None:
    with Server("chatty", [sys.executable, "-c", CHATTY], seconds=60) as server:
        assert server.list_tools() == [{"name": "not offered here"}]


def test_a_complaint_of_a_server_is_a_failure_of_the_call(stage: Stage) -> None:
    with stage.notes("one") as notes:
        with pytest.raises(ServerError, match="no method `resources/list`"):
            notes._ask("resources/list", {})
        model = stage.play([Reply(calls=(build_call("MCP:find_notes"),))], servers={"notes": notes})
    assert list_messages(model) == ["Failed: find_notes: 'word'"]
    assert stage.raised("postToolUseFailure")[0].failure_type == "error"
    assert stage.raised("afterMCPExecution")


class Endpoint(NamedTuple):
    """A loopback chat completions server with its answers and the received requests."""

    url: str
    answers: list[Any]
    requests: list[dict[str, Any]]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    answers: list[Any] = []
    requests: list[dict[str, Any]] = []

    class Completions(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append({"path": self.path, "key": self.headers["Authorization"], **body})
            answer = answers.pop(0)
            sent = json.dumps({"choices": [{"message": answer}]} if isinstance(answer, dict) else {}).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Completions) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Endpoint(f"http://127.0.0.1:{server.server_port}/v1/", answers, requests)
        server.shutdown()
        thread.join()


def build_tool_call(name: str, arguments: str) -> dict[str, Any]:
    return {
        "content": None,
        "reasoning_content": "Hm.",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}],
    }


def test_a_real_endpoint_drives_the_same_loop(endpoint: Endpoint, stage: Stage) -> None:
    endpoint.answers.extend([build_tool_call("MCP__find_notes", '{"word": "milk"}'), {"content": "There is milk."}])
    environ = {"AGENT_BASE_URL": endpoint.url, "AGENT_MODEL": "small", "AGENT_API_KEY": "k"}
    model = EndpointModel.from_environment(environ)
    assert model is not None
    with stage.notes("buy milk") as notes:
        workspace = Workspace(stage.project, {"notes": notes})
        agent = run_conversation(stage.engine(), model, ["What is there?"], workspace)
    assert agent is not None
    assert agent.transcript.last_message == "There is milk."
    first, second = endpoint.requests
    assert (first["path"], first["key"], first["model"]) == ("/v1/chat/completions", "Bearer k", "small")
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in first["tools"]}
    assert offered["MCP__find_notes"]["required"] == ["word"]
    assert offered["Shell"]["required"] == ["command"]
    assert set(TOOLS) | {"Task"} < set(offered)
    call_ids, answered = second["messages"][-2:]
    assert call_ids["tool_calls"][0]["function"] == {"name": "MCP__find_notes", "arguments": '{"word": "milk"}'}
    assert answered == {"role": "tool", "content": "buy milk", "tool_call_id": "call_1"}
    assert stage.raised("preToolUse")[0].tool_name == "MCP:find_notes"
    assert stage.raised("afterAgentThought")[0].text == "Hm."


@pytest.mark.parametrize("arguments", ["{not json", "[1]"])
def test_a_model_that_writes_invalid_json_gets_an_error(arguments: str, endpoint: Endpoint, stage: Stage) -> None:
    endpoint.answers.extend([build_tool_call("Shell", arguments), {"content": "Sorry."}])
    run_conversation(stage.engine(), EndpointModel(endpoint.url, "m"), ["go"], Workspace(stage.project))
    assert endpoint.requests[1]["messages"][-1]["content"].startswith("Failed: the arguments are not")
    assert stage.raised("stop")[0].status == "completed"


@pytest.mark.parametrize("answer, why", [(500, "cannot be reached"), ([], "cannot be read")])
def test_an_endpoint_that_fails_ends_the_turn_with_an_error(
    answer: Any, why: str, endpoint: Endpoint, stage: Stage
) -> None:
    person = Yes()
    endpoint.answers.append(answer)
    run_conversation(stage.engine(), EndpointModel(endpoint.url, "m"), ["go"], Workspace(stage.project), person=person)
    assert why in person.read[0]
    assert stage.raised("stop")[0].status == "error"


def test_without_an_address_and_a_name_no_endpoint_is_configured() -> None:
    assert EndpointModel.from_environment({}) is None
    assert EndpointModel.from_environment({"AGENT_BASE_URL": "http://localhost/v1"}) is None
    assert EndpointModel("http://localhost/v1", "m").for_subagent("explore").name == "m"


def test_a_script_may_depend_on_the_previous_message() -> None:
    def script() -> Any:
        expected_text = yield Reply(text="what is your name?")
        yield Reply(text=f"hello {expected_text}")

    model = ScriptedModel(script())
    tools: list[ToolSpec] = []
    first = model.reply([Message("user", "hi")], tools)
    messages = [Message("user", "hi"), Message("assistant", first.text), Message("user", "Ada")]
    assert model.reply(messages, tools).text == "hello Ada"
    assert model.reply(messages, tools).text == "There is nothing more to do."


@pytest.mark.parametrize("way", [["-m", "agent"], [str(ROOT / "examples" / "agent")]], ids=["module", "directory"])
def test_the_agent_is_played_from_the_command_line(way: list[str], stage: Stage) -> None:
    stage.hooks({"beforeShellExecution": [reply_line("curl", permission="deny", user_message="no network")]})
    script = stage.path / "script.json"
    calls = [{"name": "Shell", "input": {"command": "curl example.com"}}, {"name": "LS", "input": {}}]
    script.write_text(json.dumps([{"thought": "Out!", "calls": calls}, {"text": "Never mind."}]))
    roots = [f"--{name}={stage.path / name}" for name in ("home", "system", "project")]
    argv = [sys.executable, *way, "go", "--script", str(script), *roots]
    done = subprocess.run(argv, cwd=ROOT / "examples", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "It thinks: Out!" in done.stdout
    assert 'deny, "no network"' in done.stdout
    assert 'It says: "Never mind."' in done.stdout


def test_without_a_script_and_an_endpoint_there_is_no_model() -> None:
    argv = [sys.executable, "-m", "agent", "go"]
    done = subprocess.run(argv, cwd=ROOT / "examples", env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, "AGENT_BASE_URL" in done.stderr) == (64, True)
