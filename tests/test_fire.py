"""`trotline fire` and what it saves, as a person and a script see them: processes, exit codes, what is printed."""

import hashlib
import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from kit import FILES, Workspace
from trotline.conversation.sessions import Sessions

ALLOW = '{"permission": "allow"}'
ASK = '{"permission": "ask", "user_message": "Really?"}'
DENY = '{"permission": "deny", "user_message": "No."}'


class Fired(NamedTuple):
    """What one call of the command line left."""

    exit: int
    stdout: str
    stderr: str

    @property
    def envelope(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.stdout)
        return answer

    @property
    def data(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.envelope["data"]
        return answer

    @property
    def decision(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.data["decision"]
        return answer

    @property
    def runs(self) -> list[dict[str, Any]]:
        answer: list[dict[str, Any]] = self.data["runs"]
        return answer

    @property
    def failures(self) -> list[str | None]:
        return [run["failure"] and run["failure"]["kind"] for run in self.runs]


def trotline(
    workspace: Workspace,
    *words: str,
    stdin: bytes = b"",
    environment: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> Fired:
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "trotline", *words, *workspace.options],
        input=stdin,
        cwd=workspace.path,
        env={"PATH": os.defpath, "LANG": "C.UTF-8", **(environment or {})},
        capture_output=True,
        check=False,
    )
    return Fired(done.returncode, done.stdout.decode(), done.stderr.decode())


def fire(workspace: Workspace, *words: str, environment: dict[str, str] | None = None, stdin: bytes = b"") -> Fired:
    return trotline(workspace, "fire", "--json", *words, environment=environment, stdin=stdin)


def shell(workspace: Workspace, *words: str, environment: dict[str, str] | None = None) -> Fired:
    """A shell command is about to run."""
    return fire(workspace, "beforeShellExecution", "--set", "command=ls", *words, environment=environment)


def stop(workspace: Workspace, *words: str) -> Fired:
    return fire(workspace, "stop", "--set", "status=completed", *words)


def hooks(workspace: Workspace, layer: str, event: str, *entries: dict[str, Any] | str) -> None:
    """The hooks of a layer; a text is a command line."""
    listed = [{"command": entry} if isinstance(entry, str) else entry for entry in entries]
    path = workspace.path / FILES[layer]
    if layer.startswith("claude-"):
        groups = [{"hooks": [{"type": "command", **entry} for entry in listed]}]
        body: dict[str, Any] = {"hooks": {event: groups}}
    else:
        known = json.loads(path.read_text())["hooks"] if path.exists() else {}
        body = {"version": 1, "hooks": {**known, event: listed}}
    workspace.write(layer, json.dumps(body))


def says(reply: str | dict[str, Any]) -> str:
    """A command line that answers this."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return f"cat > /dev/null; echo '{text}'"


def dumps(workspace: Workspace, name: str) -> str:
    """A command line that keeps its environment and its directory, and has no opinion."""
    kept = workspace.path / f"{name}.env"
    return f"env > '{kept}'; echo \"IN=$(pwd -P)\" >> '{kept}'; {says('{}')}"


def dumped(workspace: Workspace, name: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in (workspace.path / f"{name}.env").read_text().splitlines())
    return {key: value for key, _, value in pairs}


# the event


def test_fields_that_are_texts_are_taken_as_they_are(workspace: Workspace) -> None:
    fired = fire(workspace, "beforeShellExecution", "--set", "command=[1, 2]", "--set", "cwd=true")
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("[1, 2]", "true")


def test_a_value_may_hold_equals_signs_and_be_empty(workspace: Workspace) -> None:
    fired = fire(workspace, "beforeShellExecution", "--set", "command=A=1 make x=y", "--set", "cwd=")
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("A=1 make x=y", "")


def test_fields_of_other_types_are_read_as_json(workspace: Workspace) -> None:
    fired = fire(
        workspace,
        "preToolUse",
        *("--set", "tool_name=Write", "--set", 'tool_input={"file_path": "/a", "content": "x"}'),
    )
    assert fired.data["event"]["tool_input"] == {"file_path": "/a", "content": "x"}
    stopped = fire(workspace, "stop", "--set", "loop_count=3", "--set", "status=error")
    assert (stopped.data["event"]["loop_count"], stopped.data["event"]["status"]) == (3, "error")
    started = fire(workspace, "sessionStart", "--set", "is_background_agent=true")
    assert started.data["event"]["is_background_agent"] is True


@pytest.mark.parametrize(
    "words",
    [
        ["stop", "--set", "loop_count=often"],
        ["stop", "--set", "no_such_field=1"],
        ["stop", "--set", "status"],
        ["sessionStart", "--set", "is_background_agent=[]"],
        ["noSuchEvent"],
        ["Stop"],
        [],
        ["stop", "--edition", "1999-01"],
        ["stop", "--payload", "no-such-file.json"],
    ],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_a_call_that_cannot_mean_anything_ends_with_64_and_a_hint(workspace: Workspace, words: list[str]) -> None:
    fired = fire(workspace, *words)
    assert fired.exit == 64
    assert not fired.envelope["ok"]
    assert fired.envelope["problems"][0]["message"]
    assert fired.stderr.startswith("error: ")


def test_an_unknown_event_is_told_where_events_are_listed(workspace: Workspace) -> None:
    fired = fire(workspace, "beforeShellExec")
    assert fired.exit == 64
    assert "there is no event `beforeShellExec`" in fired.stderr
    assert "hint: `trotline events` lists them" in fired.stderr


@pytest.mark.parametrize(
    "event, field",
    [
        ("beforeShellExecution", "command"),
        ("preToolUse", "tool_name"),
        ("beforeReadFile", "file_path"),
        ("beforeSubmitPrompt", "prompt"),
        ("subagentStart", "subagent_type"),
    ],
)
def test_an_event_without_the_field_that_it_is_about_cannot_be_played(
    workspace: Workspace, event: str, field: str
) -> None:
    fired = fire(workspace, event)
    assert fired.exit == 1
    assert f"a {event} payload needs `{field}`" in fired.stderr


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"\xff", b'{"command": "ls"}', b'{"hook_event_name": 5}'], ids=repr
)
def test_a_payload_that_is_no_event_cannot_be_played(workspace: Workspace, payload: bytes) -> None:
    hooks(workspace, "user", "beforeShellExecution", f": > '{workspace.path}/ran'")
    fired = fire(workspace, "--payload", "-", stdin=payload)
    assert fired.exit == 1
    assert fired.envelope["problems"][0]["message"]
    assert not (workspace.path / "ran").exists()


def test_a_payload_comes_from_a_file_or_from_standard_input(workspace: Workspace) -> None:
    payload = {"hook_event_name": "beforeShellExecution", "command": "make", "conversation_id": "c7", "novel": [1]}
    file = workspace.write("event.json", json.dumps(payload))
    from_file = fire(workspace, "--payload", str(file))
    from_stdin = fire(workspace, "--payload", "-", stdin=json.dumps(payload).encode())
    assert from_file.data["event"] == from_stdin.data["event"]
    assert {key: from_file.data["event"][key] for key in payload} == payload


def test_what_is_set_wins_over_the_payload(workspace: Workspace) -> None:
    payload = json.dumps({"hook_event_name": "beforeShellExecution", "command": "make", "cwd": "/a"}).encode()
    fired = fire(workspace, "--payload", "-", "--set", "command=ls", stdin=payload)
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("ls", "/a")


def test_a_payload_with_a_byte_order_mark_is_read(workspace: Workspace) -> None:
    payload = b'\xef\xbb\xbf{"hook_event_name": "stop", "status": "completed"}'
    assert fire(workspace, "--payload", "-", stdin=payload).exit == 0


def test_the_hook_reads_the_event_that_is_shown(workspace: Workspace) -> None:
    hooks(workspace, "user", "beforeShellExecution", f"cat > '{workspace.path}/seen'; echo '{{}}'")
    fired = fire(workspace, "beforeShellExecution", "--set", "command=echo ä ‸ 🦑")
    seen = (workspace.path / "seen").read_bytes()
    assert json.loads(seen) == fired.data["event"]
    assert fired.runs[0]["stdin_bytes"] == len(seen)
    assert fired.data["event"]["workspace_roots"] == [str(workspace.project)]


# the answer


@pytest.mark.parametrize(
    "reply, code, permission",
    [(ALLOW, 0, "allow"), ("{}", 0, "none"), (ASK, 10, "ask"), (DENY, 20, "deny")],
    ids=["allow", "none", "ask", "deny"],
)
def test_the_exit_code_is_the_decision(workspace: Workspace, reply: str, code: int, permission: str) -> None:
    hooks(workspace, "user", "beforeShellExecution", says(reply))
    fired = shell(workspace)
    assert (fired.exit, fired.decision["permission"]) == (code, permission)
    assert fired.envelope["ok"] is (code == 0)
    assert fired.envelope["schema"] == "trotline.fire/1"


def test_without_hooks_nothing_is_decided(workspace: Workspace) -> None:
    fired = shell(workspace)
    assert (fired.exit, fired.decision["permission"], fired.runs) == (0, "none", [])


def test_a_hook_that_failed_open_leaves_0_and_its_failure(workspace: Workspace) -> None:
    hooks(workspace, "user", "beforeShellExecution", "echo broken >&2; exit 1")
    fired = shell(workspace)
    assert (fired.exit, fired.failures) == (0, ["crashed"])
    assert "failed with exit code 1: broken" in fired.runs[0]["failure"]["detail"]
    story = trotline(workspace, "fire", "beforeShellExecution", "--set", "command=ls")
    assert "failed, goes on" in story.stdout
    assert "crashed: " in story.stdout


def test_the_story_tells_hook_by_hook_what_happened(workspace: Workspace) -> None:
    hooks(workspace, "enterprise", "beforeShellExecution", says("{}"))
    hooks(workspace, "user", "beforeShellExecution", f"echo 'looked' >&2; {says(DENY)}")
    done = trotline(workspace, "fire", "beforeShellExecution", "--set", "command=make deploy")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert done.exit == 20
    assert lines[0].startswith("beforeShellExecution  make deploy  (")
    assert lines[0].endswith(" bytes on stdin)")
    assert lines[1].split() == ["1.", "enterprise", *says("{}").split()]
    assert lines[2].endswith("ms, exit 0: no opinion")
    assert f"stdout: {DENY}" in lines
    assert "stderr: looked" in lines
    assert lines[-2].startswith("decision: deny  by user ")
    assert lines[-1] == "to the person: No."


def test_the_model_is_told_in_cursors_words(workspace: Workspace) -> None:
    hooks(workspace, "user", "beforeShellExecution", says(DENY))
    told = shell(workspace).data["model_text"]
    assert told.startswith("Command execution was blocked by a hook: No.")
    assert told.endswith("Agent note: Do not suggest workarounds to the blocked tool.")


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
def test_a_dry_run_runs_nothing_and_says_what_would(workspace: Workspace, as_json: bool) -> None:
    hooks(
        workspace,
        "user",
        "beforeShellExecution",
        f": > '{workspace.path}/ran'; {says(DENY)}",
        {"command": "x", "matcher": "^y"},
    )
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--dry-run", *(["--json"] if as_json else []))
    done = trotline(workspace, *words)
    assert done.exit == 0
    assert not (workspace.path / "ran").exists()
    if as_json:
        assert [hook["layer"] for hook in done.data["would_run"]] == ["user"]
        assert done.data["would_not"] == []
    else:
        assert done.stdout.splitlines()[0].split()[:2] == ["1.", "user"]
        assert done.stdout.endswith("nothing was run\n")


def test_a_dry_run_leaves_no_session(workspace: Workspace) -> None:
    hooks(workspace, "user", "sessionStart", says({"env": {"A": "1"}}))
    fire(workspace, "sessionStart", "--dry-run")
    assert fire_sessions(workspace) == []


def test_a_warning_is_never_swallowed(workspace: Workspace) -> None:
    hooks(workspace, "user", "beforeShellExecution", says({"permission": "allow", "userMessage": "x", "odd": 1}))
    assert shell(workspace).runs[0]["warnings"] == [
        "`userMessage` is not read; write `user_message`",
        "`odd` is no reply key",
    ]


def test_a_refusal_under_the_wrong_key_refuses_and_names_the_right_one(workspace: Workspace) -> None:
    hooks(workspace, "user", "beforeMCPExecution", says({"continue": False}))
    fired = fire(workspace, "beforeMCPExecution", "--set", "tool_name=search")
    assert fired.exit == 20
    assert any("write `permission`" in warning for warning in fired.runs[0]["warnings"])


# how hooks are started


LAYERS_AND_PLACES = {
    "enterprise": "system/etc/cursor",
    "team": "home/.local/state/trotline/v1/team",
    "project": "project",
    "user": "home/.cursor",
    "claude-project": "project",
    "claude-user": "project",
    "plugin": "home/.cursor/plugins/local/sample",
}


@pytest.fixture
def dumping(workspace: Workspace) -> Workspace:
    """A workspace in which a hook of every layer keeps its environment and its directory."""
    for layer in LAYERS_AND_PLACES:
        event = "PreToolUse" if layer.startswith("claude-") else "preToolUse"
        hooks(workspace, layer, event, dumps(workspace, layer))
    assert trotline(workspace, "trust", "--yes").exit == 0
    return workspace


def test_every_layer_runs_in_its_own_directory(dumping: Workspace) -> None:
    fired = fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    assert [run["layer"] for run in fired.runs] == list(LAYERS_AND_PLACES)
    places = {layer: dumped(dumping, layer)["IN"] for layer in LAYERS_AND_PLACES}
    assert places == {layer: str(dumping.path / place) for layer, place in LAYERS_AND_PLACES.items()}


def test_every_layer_is_told_of_the_project_the_version_and_the_person(dumping: Workspace) -> None:
    fire(
        dumping,
        *("preToolUse", "--set", "tool_name=Shell", "--set", "cursor_version=3.21.16"),
        *("--set", "user_email=dev@example.com", "--set", "transcript_path=/t/x.jsonl"),
    )
    for layer in LAYERS_AND_PLACES:
        environment = dumped(dumping, layer)
        assert environment["CURSOR_PROJECT_DIR"] == environment["CLAUDE_PROJECT_DIR"] == str(dumping.project)
        assert environment["CURSOR_VERSION"] == "3.21.16"
        assert environment["CURSOR_USER_EMAIL"] == "dev@example.com"
        assert environment["CURSOR_TRANSCRIPT_PATH"] == "/t/x.jsonl"
        assert environment["TROTLINE_RUN"]
        assert "CURSOR_CODE_REMOTE" not in environment


def test_who_is_not_logged_in_and_has_no_transcript_leaves_no_variable(dumping: Workspace) -> None:
    fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    for layer in LAYERS_AND_PLACES:
        environment = dumped(dumping, layer)
        assert not {"CURSOR_USER_EMAIL", "CURSOR_TRANSCRIPT_PATH"} & environment.keys()
        assert environment["CURSOR_VERSION"] == ""


def test_only_a_plugin_is_told_its_root(dumping: Workspace) -> None:
    fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    root = str(dumping.path / LAYERS_AND_PLACES["plugin"])
    assert dumped(dumping, "plugin")["CURSOR_PLUGIN_ROOT"] == root
    assert dumped(dumping, "plugin")["CLAUDE_PLUGIN_ROOT"] == root
    assert all("CURSOR_PLUGIN_ROOT" not in dumped(dumping, layer) for layer in LAYERS_AND_PLACES if layer != "plugin")


def test_the_plugins_root_may_stand_in_its_command(workspace: Workspace) -> None:
    workspace.script("home/.cursor/plugins/local/sample/run.sh", f"#!/bin/sh\n{says(DENY)}\n")
    hooks(workspace, "plugin", "beforeShellExecution", "${CURSOR_PLUGIN_ROOT}/run.sh")
    assert shell(workspace).exit == 20


def test_every_run_has_a_cookie_of_its_own(dumping: Workspace) -> None:
    fired = fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    cookies = [dumped(dumping, layer)["TROTLINE_RUN"] for layer in LAYERS_AND_PLACES]
    assert cookies == [run["run"] for run in fired.runs]
    assert len(set(cookies)) == len(cookies)


def test_the_environment_is_inherited_and_ours_comes_last(workspace: Workspace) -> None:
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    shell(workspace, environment={"MINE": "1", "CURSOR_PROJECT_DIR": "/forged", "TROTLINE_RUN": "forged"})
    environment = dumped(workspace, "env")
    assert environment["MINE"] == "1"
    assert environment["CURSOR_PROJECT_DIR"] == str(workspace.project)
    assert environment["TROTLINE_RUN"] != "forged"


def test_a_clean_environment_keeps_only_what_a_shell_needs(workspace: Workspace) -> None:
    hooks(workspace, "user", "sessionStart", says({"env": {"TICKET": "7"}}))
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    fire(workspace, "sessionStart")
    shell(workspace, "--clean-env", environment={"MINE": "1", "LD_LIBRARY_PATH": "/nowhere", "HOME": "/h", "TZ": "UTC"})
    environment = dumped(workspace, "env")
    assert not {"MINE", "LD_LIBRARY_PATH"} & environment.keys()
    assert {key: environment[key] for key in ("HOME", "TZ", "TICKET", "CURSOR_PROJECT_DIR")} == {
        "HOME": str(workspace.home),  # what --home says, not what the variable does
        "TZ": "UTC",
        "TICKET": "7",
        "CURSOR_PROJECT_DIR": str(workspace.project),
    }


@pytest.mark.parametrize(
    "command",
    [
        "./hooks/deny.sh",
        "hooks/deny.sh",
        "./hooks/deny.sh with arguments --and=options",
        "./hooks/bare.sh",
        "sh hooks/bare.sh",
        "./hooks/deny.sh | cat",
        "true && ./hooks/deny.sh",
        'X="./hooks/deny.sh"; $X',
        "~/.cursor/hooks/deny.sh",
        "'./hooks/with blank.sh'",
        "$CURSOR_PROJECT_DIR/../home/.cursor/hooks/deny.sh",
    ],
)
def test_a_command_is_a_line_of_the_shell_whether_or_not_a_shell_is_needed(workspace: Workspace, command: str) -> None:
    workspace.script("home/.cursor/hooks/deny.sh", f"#!/bin/sh\n{says(DENY)}\n")
    workspace.script("home/.cursor/hooks/with blank.sh", f"#!/bin/sh\n{says(DENY)}\n")
    workspace.script("home/.cursor/hooks/bare.sh", f"{says(DENY)}\n")
    hooks(workspace, "user", "beforeShellExecution", command)
    assert shell(workspace, environment={"HOME": str(workspace.home)}).exit == 20


def test_a_plain_list_of_words_needs_no_shell(workspace: Workspace) -> None:
    kept = workspace.path / "parent"
    workspace.script("home/.cursor/who.sh", f"#!/bin/sh\ncat /proc/$PPID/cmdline > '{kept}'\n")
    hooks(workspace, "user", "beforeShellExecution", "./who.sh a b")
    shell(workspace)
    assert kept.read_bytes().split(b"\0")[1:3] == [b"-m", b"trotline"]


def test_arguments_arrive_as_written(workspace: Workspace) -> None:
    workspace.script("home/.cursor/args.sh", f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{workspace.path}/args'\n")
    hooks(workspace, "user", "beforeShellExecution", "./args.sh a  --b=c,d e/f@g:h%i+j  ")
    shell(workspace)
    assert (workspace.path / "args").read_text() == "a\n--b=c,d\ne/f@g:h%i+j\n"


@pytest.mark.parametrize("command", ['echo "{\\"user_message\\": \\"$FROM_PROFILE\\"}"; exit 2', "./tell.sh"])
def test_a_login_shell_has_read_the_profile(workspace: Workspace, command: str) -> None:
    workspace.write("home/.profile", "export FROM_PROFILE=yes\n")
    workspace.script("home/.cursor/tell.sh", '#!/bin/sh\necho "{\\"user_message\\": \\"$FROM_PROFILE\\"}"\nexit 2\n')
    hooks(workspace, "user", "beforeShellExecution", command)
    home = {"HOME": str(workspace.home)}
    assert shell(workspace, "--login-shell", environment=home).decision["user_message"] == "yes"
    assert shell(workspace, environment=home).decision["user_message"] != "yes"


# many hooks


def test_hooks_of_one_event_run_at_the_same_time(workspace: Workspace) -> None:
    """Each waits for the other; one after the other they would never end."""
    for pipe in ("one", "two"):
        os.mkfifo(workspace.path / pipe)
    one, two = workspace.path / "one", workspace.path / "two"
    hooks(
        workspace,
        "enterprise",
        "beforeShellExecution",
        {"command": f"read x < '{one}'; echo y > '{two}'; {says(ALLOW)}"},
    )
    hooks(workspace, "user", "beforeShellExecution", {"command": f"echo x > '{one}'; read y < '{two}'; {says(ALLOW)}"})
    fired = shell(workspace)
    assert [run["permission"] for run in fired.runs] == ["allow", "allow"]


def test_a_hook_that_hangs_does_not_hold_up_the_answers_of_others(workspace: Workspace) -> None:
    hooks(workspace, "enterprise", "beforeShellExecution", {"command": "sleep 60", "timeout": 0.3})
    hooks(workspace, "user", "beforeShellExecution", says(ALLOW))
    fired = shell(workspace)
    assert fired.failures == ["timed out", None]
    assert fired.decision["permission"] == "allow"


def test_observers_run_although_another_hook_denies(workspace: Workspace) -> None:
    hooks(workspace, "enterprise", "beforeShellExecution", says(DENY))
    hooks(workspace, "user", "beforeShellExecution", f"cat > '{workspace.path}/seen'")
    fired = shell(workspace)
    assert fired.exit == 20
    assert json.loads((workspace.path / "seen").read_bytes())["command"] == "ls"


def test_results_come_in_configured_order_whoever_ends_first(workspace: Workspace) -> None:
    hooks(workspace, "enterprise", "beforeShellExecution", f"sleep 0.2; {says(DENY)}")
    hooks(workspace, "user", "beforeShellExecution", says('{"permission": "deny", "user_message": "Nor I."}'))
    fired = shell(workspace)
    assert [run["layer"] for run in fired.runs] == ["enterprise", "user"]
    assert fired.decision["user_message"] == "No.\n\n---\n\nNor I."


def many(workspace: Workspace) -> list[str]:
    """128 hooks of one event, each of which counts how often it was called; their commands."""
    workspace.script("home/.cursor/hook.sh", f'#!/bin/sh\necho x >> "count.$1"\n{says(ALLOW)}\n')
    commands = [f"./hook.sh {number}" for number in range(128)]
    hooks(workspace, "user", "beforeShellExecution", *commands)
    return commands


def counts(workspace: Workspace) -> set[str]:
    return {file.read_text() for file in (workspace.home / ".cursor").glob("count.*")}


def test_an_event_may_have_128_hooks(workspace: Workspace) -> None:
    commands = many(workspace)
    fired = shell(workspace)
    assert [(run["line"], run["permission"]) for run in fired.runs] == [(line, "allow") for line in commands]
    assert counts(workspace) == {"x\n"}


def test_with_few_descriptors_they_take_turns_and_each_runs_once(workspace: Workspace) -> None:
    commands = many(workspace)
    fired = trotline(
        workspace,
        *("fire", "--json", "beforeShellExecution", "--set", "command=ls"),
        prefix=("/bin/sh", "-c", 'ulimit -n 32; exec "$@"', "sh"),
    )
    assert [(run["line"], run["permission"]) for run in fired.runs] == [(line, "allow") for line in commands]
    assert counts(workspace) == {"x\n"}


@pytest.mark.parametrize("size", [60_000, 65_536, 70_000, 3_000_000])
def test_a_payload_of_any_size_arrives_whole_and_nobody_can_change_it_for_another(
    workspace: Workspace, size: int
) -> None:
    forge = "(echo forged >&0) 2> /dev/null; (: > /proc/self/fd/0) 2> /dev/null"
    forgers = [f"{forge}; {says('{}')}" for _ in range(2)] if size > 65_536 else []
    readers = [f"cat > '{workspace.path}/seen.{number}'; echo '{{}}'" for number in range(3)]
    hooks(workspace, "user", "beforeShellExecution", *forgers, *readers, *forgers)
    payload = {"hook_event_name": "beforeShellExecution", "command": "x" * size}
    fired = fire(workspace, "--payload", "-", stdin=json.dumps(payload).encode())
    seen = [(workspace.path / f"seen.{number}").read_bytes() for number in range(3)]
    assert len({hashlib.sha256(data).digest() for data in seen}) == 1
    assert json.loads(seen[0])["command"] == "x" * size
    assert {run["stdin_bytes"] for run in fired.runs} == {len(seen[0])}


@pytest.mark.parametrize("closed, code", [(False, 0), (True, 20)], ids=["open", "closed"])
def test_a_prompt_hook_without_a_model_fails_in_its_own_way(workspace: Workspace, closed: bool, code: int) -> None:
    entry = {"type": "prompt", "prompt": "Is this safe? $ARGUMENTS", "failClosed": closed}
    hooks(workspace, "user", "beforeShellExecution", entry)
    fired = shell(workspace)
    assert (fired.exit, fired.failures) == (code, ["not available"])
    assert "no model is configured" in fired.runs[0]["failure"]["detail"]


def test_two_workspace_roots_are_two_layers(workspace: Workspace) -> None:
    other = workspace.path / "other"
    for root in (workspace.project, other):
        listed = {"beforeShellExecution": [{"command": dumps(workspace, root.name)}]}
        workspace.write(f"{root.name}/.cursor/hooks.json", json.dumps({"version": 1, "hooks": listed}))
    roots = ("--project", str(other))
    assert trotline(workspace, "trust", "--yes", *roots).exit == 0
    fired = shell(workspace, *roots)
    assert [run["place"].split("/.cursor/")[0] for run in fired.runs] == [str(other), str(workspace.project)]
    assert fired.data["event"]["workspace_roots"] == [str(other), str(workspace.project)]
    for root in (workspace.project, other):
        assert dumped(workspace, root.name)["IN"] == str(root)
        assert dumped(workspace, root.name)["CURSOR_PROJECT_DIR"] == str(root)


# rewritten input


@pytest.fixture
def rewriting(workspace: Workspace) -> Workspace:
    """A person's hook turns every command into `rm`, which the enterprise does not allow."""
    no_rm = json.dumps({"permission": "deny", "user_message": "no rm"})
    judge = f"""if grep -q '"command":"rm'; then echo '{no_rm}'; else echo '{{}}'; fi"""
    hooks(workspace, "enterprise", "preToolUse", judge)
    hooks(workspace, "user", "preToolUse", says({"permission": "allow", "updated_input": {"command": "rm -r /"}}))
    return workspace


TOOL = ("preToolUse", "--set", "tool_name=Shell", "--set", 'tool_input={"command": "ls"}')


def test_rewritten_input_is_judged_again(rewriting: Workspace) -> None:
    fired = fire(rewriting, *TOOL)
    assert fired.exit == 20
    assert fired.decision["user_message"] == "no rm"
    assert [run["layer"] for run in fired.runs] == ["enterprise", "user", "enterprise"]
    assert [run["permission"] for run in fired.runs] == ["none", "allow", "deny"]


@pytest.mark.parametrize("edition", ["2026-02", "2026-09"])
def test_in_an_edition_of_cursor_rewritten_input_escapes_judgement(rewriting: Workspace, edition: str) -> None:
    fired = fire(rewriting, *TOOL, "--edition", edition)
    assert fired.exit == 0
    assert fired.decision["edited_input"] == {"command": "rm -r /"}
    assert len(fired.runs) == 2


def test_of_two_rewrites_the_last_wins_and_both_names_are_recorded(workspace: Workspace) -> None:
    for layer, text in (("enterprise", "a"), ("user", "b")):
        hooks(workspace, layer, "preToolUse", says({"permission": "allow", "updated_input": {"command": text}}))
    fired = fire(workspace, *TOOL, "--edition", "2026-09")
    first, last = (run["id"] for run in fired.runs)
    assert fired.decision["edited_input"] == {"command": "b"}
    assert fired.decision["overruled"] == [{"field": "edited_input", "kept": last, "lost": first}]


# sessions


def fire_sessions(workspace: Workspace) -> list[dict[str, Any]]:
    stored = Sessions(workspace.roots().state / "sessions").all()
    return [{"conversation": one.session.conversation, "alarm": one.alarm} for one in stored]


def clear(workspace: Workspace, conversation: str) -> int:
    return trotline(workspace, "log", "conversations", "--clear", conversation).exit


def start(workspace: Workspace, conversation: str, env: dict[str, str], layer: str = "user") -> None:
    hooks(workspace, layer, "sessionStart", says({"env": env}))
    assert fire(workspace, "sessionStart", "--set", f"conversation_id={conversation}").decision["env"] == env


def test_variables_of_a_session_reach_its_later_hooks_and_no_others(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17", "EMPTY": ""})
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    shell(workspace, "--set", "conversation_id=one")
    assert dumped(workspace, "env")["TICKET"] == "17"
    assert dumped(workspace, "env")["EMPTY"] == ""
    shell(workspace, "--set", "conversation_id=two")
    assert "TICKET" not in dumped(workspace, "env")


def test_variables_of_a_session_win_over_inherited_ones(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    shell(workspace, "--set", "conversation_id=one", environment={"TICKET": "0"})
    assert dumped(workspace, "env")["TICKET"] == "17"


def test_a_session_cannot_pretend_to_be_the_agent(workspace: Workspace) -> None:
    start(workspace, "one", {"CURSOR_PROJECT_DIR": "/forged", "CURSOR_VERSION": "9", "TROTLINE_RUN": "forged"})
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    shell(workspace, "--set", "conversation_id=one", "--set", "cursor_version=3")
    environment = dumped(workspace, "env")
    assert environment["CURSOR_PROJECT_DIR"] == str(workspace.project)
    assert environment["CURSOR_VERSION"] == "3"
    assert environment["TROTLINE_RUN"] != "forged"


PRIVILEGED = {
    "PATH": f"{os.defpath}:/from-below",
    "HOME": "/from-below",
    "XDG_CONFIG_HOME": "/from-below",
    "LD_PRELOAD": "",
    "LD_LIBRARY_PATH": "/from-below",
    "DYLD_INSERT_LIBRARIES": "/from-below",
    "PYTHONPATH": "/from-below",
    "NODE_OPTIONS": "/from-below",
    "BASH_ENV": "/from-below",
    "ENV": "/from-below",
    "GIT_SSH_COMMAND": "/from-below",
    "http_proxy": "/from-below",
    "HTTPS_PROXY": "/from-below",
    "no_proxy": "/from-below",
    "ANTHROPIC_BASE_URL": "/from-below",
    "CURSOR_X": "/from-below",
    "CLAUDE_X": "/from-below",
    "TROTLINE_X": "/from-below",
}


@pytest.mark.parametrize("higher", ["enterprise", "team"])
def test_a_lower_layer_cannot_take_over_the_hooks_of_a_higher_one(workspace: Workspace, higher: str) -> None:
    start(workspace, "one", {**PRIVILEGED, "TICKET": "17", "MY_PATH": "/mine", "PROXY": "/mine"})
    hooks(workspace, higher, "beforeShellExecution", dumps(workspace, "above"))
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "own"))
    fired = shell(workspace, "--set", "conversation_id=one")
    above, own = dumped(workspace, "above"), dumped(workspace, "own")
    assert not any("/from-below" in value for value in above.values())
    assert (above["TICKET"], above["MY_PATH"], above["PROXY"]) == ("17", "/mine", "/mine")
    assert {key: own[key] for key in PRIVILEGED} == PRIVILEGED
    assert {loss["what"] for loss in fired.data["losses"]} == {f"env.{name}" for name in PRIVILEGED}
    assert {loss["why"] for loss in fired.data["losses"]} == {
        f"a hook of the {higher} layer is not told this by one with less authority"
    }


def test_a_higher_layer_may_set_anything_for_a_lower_one(workspace: Workspace) -> None:
    start(workspace, "one", {"GIT_SSH_COMMAND": "ssh -x", "HTTPS_PROXY": "proxy"}, layer="enterprise")
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    fired = shell(workspace, "--set", "conversation_id=one")
    assert fired.data["losses"] == []
    assert (dumped(workspace, "env")["GIT_SSH_COMMAND"], dumped(workspace, "env")["HTTPS_PROXY"]) == ("ssh -x", "proxy")


def test_what_was_lost_is_in_the_story(workspace: Workspace) -> None:
    start(workspace, "one", {"PYTHONPATH": "/x"})
    hooks(workspace, "enterprise", "beforeShellExecution", says("{}"))
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--set", "conversation_id=one")
    assert "lost: env.PYTHONPATH: a hook of the enterprise layer is not told this" in trotline(workspace, *words).stdout


def test_variables_of_several_hooks_merge_and_the_later_wins(workspace: Workspace) -> None:
    hooks(workspace, "enterprise", "sessionStart", says({"env": {"A": "1", "B": "1"}}))
    hooks(workspace, "user", "sessionStart", says({"env": {"B": "2"}}))
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    started = fire(workspace, "sessionStart")
    assert started.decision["env"] == {"A": "1", "B": "2"}
    assert [one["field"] for one in started.decision["overruled"]] == ["env.B"]
    shell(workspace)
    assert (dumped(workspace, "env")["A"], dumped(workspace, "env")["B"]) == ("1", "2")


def test_only_the_start_of_a_session_sets_variables(workspace: Workspace) -> None:
    hooks(workspace, "user", "beforeShellExecution", says({"permission": "allow", "env": {"A": "1"}}))
    fired = shell(workspace)
    assert fired.runs[0]["warnings"] == ["`env` is not taken by beforeShellExecution"]
    assert fire_sessions(workspace) == []


def test_clearing_a_conversation_forgets_what_its_hooks_saved(workspace: Workspace) -> None:
    for name in ("one", "two", "three"):
        start(workspace, name, {"A": "1"})
    forgotten = trotline(workspace, "log", "conversations", "--clear", "two")
    told = "0 records forgotten\nsaved variables and follow-up counts forgotten\n"
    assert (forgotten.exit, forgotten.stdout) == (0, told)
    assert {session["conversation"] for session in fire_sessions(workspace)} == {"one", "three"}
    assert clear(workspace, "two") == 1
    answer = trotline(workspace, "log", "conversations", "--clear", "one", "--json")
    assert (answer.exit, answer.data) == (0, {"forgotten": 0, "sessions": 1})


def test_a_forgotten_session_gives_nothing_to_later_hooks(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    hooks(workspace, "user", "beforeShellExecution", dumps(workspace, "env"))
    assert clear(workspace, "one") == 0
    shell(workspace, "--set", "conversation_id=one")
    assert "TICKET" not in dumped(workspace, "env")


def test_files_of_sessions_are_private_and_say_nothing_of_the_conversation(workspace: Workspace) -> None:
    start(workspace, "../../secret", {"A": "1"})
    directory = workspace.home / ".local/state/trotline/v1/sessions"
    assert directory.stat().st_mode & 0o777 == 0o700
    files = [file for file in workspace.home.rglob("*") if file.is_file() and "state" in file.parts]
    assert {file.parent for file in files if file.name != "key"} == {
        directory
    }  # the key that unsaid names are known by
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert not any("secret" in file.name for file in files)


# follow-ups


def follow_ups(workspace: Workspace, times: int, *words: str) -> list[str]:
    """The follow-up of each of so many stops."""
    return [stop(workspace, *words).decision["follow_up"] for _ in range(times)]


def test_a_stop_hook_goes_on_five_times_by_default(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", says({"followup_message": "on"}))
    assert follow_ups(workspace, 5) == ["on"] * 5
    sixth = stop(workspace)
    assert sixth.decision["follow_up"] == ""
    assert sixth.runs[0]["warnings"] == ["its loop_limit of 5 is reached; the follow-up was not sent"]
    assert sixth.data["event"]["loop_count"] == 5


def test_a_limit_of_null_is_none(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": None})
    assert follow_ups(workspace, 7) == ["on"] * 7


def test_hooks_of_claude_codes_files_have_no_limit(workspace: Workspace) -> None:
    hooks(workspace, "claude-user", "Stop", says({"decision": "block", "reason": "on"}))
    assert follow_ups(workspace, 7) == ["on"] * 7


def test_another_limit_is_kept_across_processes(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 3})
    assert follow_ups(workspace, 4) == ["on"] * 3 + [""]


def test_in_2025_11_the_limit_is_five_for_everyone(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(workspace, 6, "--edition", "2025-11") == ["on"] * 5 + [""]


def test_each_script_has_its_own_count(workspace: Workspace) -> None:
    first = {"command": says({"followup_message": "first"}), "loop_limit": 1}
    second = {"command": says({"followup_message": "second"}), "loop_limit": 2}
    hooks(workspace, "user", "stop", first, second)
    assert follow_ups(workspace, 4) == ["second", "second", "first", ""]


def test_each_conversation_has_its_own_count(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(workspace, 2, "--set", "conversation_id=one") == ["on", ""]
    assert follow_ups(workspace, 2, "--set", "conversation_id=two") == ["on", ""]


def test_hooks_are_told_how_often_the_agent_went_on(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", f"cat > '{workspace.path}/seen'; echo '{{\"followup_message\": \"on\"}}'")
    seen = []
    for _ in range(3):
        stop(workspace)
        seen.append(json.loads((workspace.path / "seen").read_bytes())["loop_count"])
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("status", ["completed", "aborted", "error"])
def test_a_stop_takes_a_follow_up_at_any_status(workspace: Workspace, status: str) -> None:
    hooks(workspace, "user", "stop", says({"followup_message": "on"}))
    assert fire(workspace, "stop", "--set", f"status={status}").decision["follow_up"] == "on"


@pytest.mark.parametrize("status", ["aborted", "error", ""])
def test_a_sub_agent_that_did_not_complete_is_not_followed_up(workspace: Workspace, status: str) -> None:
    hooks(workspace, "user", "subagentStop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    words = ("subagentStop", "--set", "subagent_type=explore", "--set", f"status={status}")
    fired = fire(workspace, *words)
    assert fired.decision["follow_up"] == ""
    assert "only when the sub-agent completed" in fired.runs[0]["warnings"][0]
    assert fire_sessions(workspace) == []
    completed = fire(workspace, "subagentStop", "--set", "subagent_type=explore", "--set", "status=completed")
    assert completed.decision["follow_up"] == "on"


def test_each_subagent_has_its_own_count(workspace: Workspace) -> None:
    hooks(workspace, "user", "subagentStop", {"command": says({"followup_message": "on"}), "loop_limit": 2})

    def ends(agent: str) -> str:
        words = ("--set", "subagent_type=explore", "--set", "status=completed", "--set", f"subagent_id={agent}")
        followed: str = fire(workspace, "subagentStop", *words).decision["follow_up"]
        return followed

    assert [ends("a"), ends("a"), ends("a"), ends("b"), ends("a"), ends("b"), ends("b")] == [
        "on",
        "on",
        "",
        "on",
        "",
        "on",
        "",
    ]


def test_an_empty_follow_up_is_none_and_is_not_counted(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", says({"followup_message": ""}))
    assert stop(workspace).decision["follow_up"] == ""
    assert fire_sessions(workspace) == []


def test_a_forgotten_session_counts_from_the_start(workspace: Workspace) -> None:
    hooks(workspace, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(workspace, 2) == ["on", ""]
    (session,) = fire_sessions(workspace)
    assert clear(workspace, session["conversation"]) == 0
    assert follow_ups(workspace, 2) == ["on", ""]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"schema": "trotline.session/2"}',
        b'{"schema": "trotline.session/1", "env": 5}',
    ],
    ids=["empty", "cut", "list", "no text", "newer", "type"],
)
def test_a_damaged_session_is_an_alarm_and_nothing_in_it_is_believed(workspace: Workspace, damage: bytes) -> None:
    start(workspace, "one", {"TICKET": "17"})
    (file,) = (workspace.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(damage)
    hooks(workspace, "user", "stop", f"env > '{workspace.path}/env.env'; echo '{{\"followup_message\": \"on\"}}'")
    fired = stop(workspace, "--set", "conversation_id=one")
    assert [str(file) in alarm for alarm in fired.data["alarms"]] == [True]
    assert fired.decision["follow_up"] == ""
    assert fired.runs[0]["warnings"] == ["a follow-up is not sent while the session cannot be read"]
    assert "TICKET" not in dumped(workspace, "env")
    assert file.read_bytes() == damage


def test_a_damaged_session_is_listed_with_its_alarm_and_can_be_forgotten(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    (file,) = (workspace.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(b"{")
    assert [str(file) in session["alarm"] for session in fire_sessions(workspace)] == [True]
    assert clear(workspace, "one") == 0
    assert fire_sessions(workspace) == []


def test_an_alarm_is_in_the_story(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    (file,) = (workspace.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(b"{")
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--set", "conversation_id=one")
    assert f"alarm: the session {file} is damaged" in trotline(workspace, *words).stdout
