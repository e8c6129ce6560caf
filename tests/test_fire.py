"""`trotline fire`: payloads, decisions, hook processes, sessions, follow-ups, exit codes and output."""

import hashlib
import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from kit import FILES, Workspace, read_corpus, read_rows, read_sessions

ALLOW = '{"permission": "allow"}'
ASK = '{"permission": "ask", "user_message": "Really?"}'
DENY = '{"permission": "deny", "user_message": "No."}'


class Fired(NamedTuple):
    """The result of a command."""

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


def run(
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
    return run(workspace, "fire", "--json", *words, environment=environment, stdin=stdin)


def shell(workspace: Workspace, *words: str, environment: dict[str, str] | None = None) -> Fired:
    """Fire the event before a shell command."""
    return fire(workspace, "beforeShellExecution", "--set", "command=ls", *words, environment=environment)


def stop(workspace: Workspace, *words: str) -> Fired:
    return fire(workspace, "stop", "--set", "status=completed", *words)


def configure(workspace: Workspace, layer: str, event: str, *entries: dict[str, Any] | str) -> None:
    """Write hooks of a layer; a text is a command line."""
    listed = [{"command": entry} if isinstance(entry, str) else entry for entry in entries]
    path = workspace.path / FILES[layer]
    if layer.startswith("claude-"):
        groups = [{"hooks": [{"type": "command", **entry} for entry in listed]}]
        body: dict[str, Any] = {"hooks": {event: groups}}
    else:
        known = json.loads(path.read_text())["hooks"] if path.exists() else {}
        body = {"version": 1, "hooks": {**known, event: listed}}
    workspace.write(layer, json.dumps(body))


def echo(reply: str | dict[str, Any]) -> str:
    """Build a command line that prints this reply."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return f"cat > /dev/null; echo '{text}'"


def dump_env(workspace: Workspace, name: str) -> str:
    """Build a command line that saves its environment and directory, and has no opinion."""
    file = workspace.path / f"{name}.env"
    return f"env > '{file}'; echo \"IN=$(pwd -P)\" >> '{file}'; {echo('{}')}"


def read_env(workspace: Workspace, name: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in (workspace.path / f"{name}.env").read_text().splitlines())
    return {key: value for key, _, value in pairs}


# the event


def test_text_fields_are_taken_literally(workspace: Workspace) -> None:
    fired = fire(workspace, "beforeShellExecution", "--set", "command=[1, 2]", "--set", "cwd=true")
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("[1, 2]", "true")


def test_value_may_contain_equals_signs_or_be_empty(workspace: Workspace) -> None:
    fired = fire(workspace, "beforeShellExecution", "--set", "command=A=1 make x=y", "--set", "cwd=")
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("A=1 make x=y", "")


def test_fields_of_other_types_are_read_as_json(workspace: Workspace) -> None:
    words = ("--set", "tool_name=Write", "--set", 'tool_input={"file_path": "/a", "content": "x"}')
    fired = fire(workspace, "preToolUse", *words)
    assert fired.data["event"]["tool_input"] == {"file_path": "/a", "content": "x"}
    stopped = fire(workspace, "stop", "--set", "loop_count=3", "--set", "status=error")
    assert (stopped.data["event"]["loop_count"], stopped.data["event"]["status"]) == (3, "error")
    started = fire(workspace, "sessionStart", "--set", "is_background_agent=true")
    assert started.data["event"]["is_background_agent"] is True


@pytest.mark.parametrize(
    "words",
    read_corpus("fire")["usage_error_exits_with_64"],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_usage_error_exits_with_64(workspace: Workspace, words: list[str]) -> None:
    fired = fire(workspace, *words)
    assert fired.exit == 64
    assert not fired.envelope["ok"]
    assert fired.envelope["problems"][0]["message"]
    assert fired.stderr.startswith("error: ")


def test_unknown_event_gets_a_hint(workspace: Workspace) -> None:
    fired = fire(workspace, "beforeShellExec")
    assert fired.exit == 64
    assert "there is no event `beforeShellExec`" in fired.stderr
    assert "hint: did you mean `beforeShellExecution`?" in fired.stderr


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
def test_event_without_its_required_field_is_an_error(workspace: Workspace, event: str, field: str) -> None:
    fired = fire(workspace, event)
    assert fired.exit == 1
    assert f"a {event} payload needs `{field}`" in fired.stderr


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"\xff", b'{"command": "ls"}', b'{"hook_event_name": 5}'], ids=repr
)
def test_invalid_payload_is_an_error(workspace: Workspace, payload: bytes) -> None:
    configure(workspace, "user", "beforeShellExecution", f": > '{workspace.path}/ran'")
    fired = fire(workspace, "--payload", "-", stdin=payload)
    assert fired.exit == 1
    assert fired.envelope["problems"][0]["message"]
    assert not (workspace.path / "ran").exists()


def test_payload_comes_from_a_file_or_from_stdin(workspace: Workspace) -> None:
    payload = {"hook_event_name": "beforeShellExecution", "command": "make", "conversation_id": "c7", "novel": [1]}
    file = workspace.write("event.json", json.dumps(payload))
    from_file = fire(workspace, "--payload", str(file))
    from_stdin = fire(workspace, "--payload", "-", stdin=json.dumps(payload).encode())
    assert from_file.data["event"] == from_stdin.data["event"]
    assert {key: from_file.data["event"][key] for key in payload} == payload


def test_set_option_overrides_the_payload(workspace: Workspace) -> None:
    payload = json.dumps({"hook_event_name": "beforeShellExecution", "command": "make", "cwd": "/a"}).encode()
    fired = fire(workspace, "--payload", "-", "--set", "command=ls", stdin=payload)
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("ls", "/a")


def test_payload_with_a_byte_order_mark_is_read(workspace: Workspace) -> None:
    payload = b'\xef\xbb\xbf{"hook_event_name": "stop", "status": "completed"}'
    assert fire(workspace, "--payload", "-", stdin=payload).exit == 0


def test_hook_receives_the_event_in_the_output(workspace: Workspace) -> None:
    configure(workspace, "user", "beforeShellExecution", f"cat > '{workspace.path}/seen'; echo '{{}}'")
    fired = fire(workspace, "beforeShellExecution", "--set", "command=echo ä ‸ 🦑")
    received = (workspace.path / "seen").read_bytes()
    assert json.loads(received) == fired.data["event"]
    assert fired.runs[0]["stdin_bytes"] == len(received)
    assert fired.data["event"]["workspace_roots"] == [str(workspace.project)]


# the decision


@pytest.mark.parametrize(
    "reply, code, permission",
    [(ALLOW, 0, "allow"), ("{}", 0, "none"), (ASK, 10, "ask"), (DENY, 20, "deny")],
    ids=["allow", "none", "ask", "deny"],
)
def test_exit_code_is_the_decision(workspace: Workspace, reply: str, code: int, permission: str) -> None:
    configure(workspace, "user", "beforeShellExecution", echo(reply))
    fired = shell(workspace)
    assert (fired.exit, fired.decision["permission"]) == (code, permission)
    assert fired.envelope["ok"] is (code == 0)
    assert fired.envelope["schema"] == "trotline.fire/1"


def test_no_hooks_decide_nothing(workspace: Workspace) -> None:
    fired = shell(workspace)
    assert (fired.exit, fired.decision["permission"], fired.runs) == (0, "none", [])


def test_failed_open_hook_exits_with_0_and_is_reported(workspace: Workspace) -> None:
    configure(workspace, "user", "beforeShellExecution", "echo broken >&2; exit 1")
    fired = shell(workspace)
    assert (fired.exit, fired.failures) == (0, ["crashed"])
    assert "failed with exit code 1: broken" in fired.runs[0]["failure"]["detail"]
    story = run(workspace, "fire", "beforeShellExecution", "--set", "command=ls")
    assert "failed, goes on" in story.stdout
    assert "crashed: " in story.stdout


def test_text_output_describes_each_hook(workspace: Workspace) -> None:
    configure(workspace, "enterprise", "beforeShellExecution", echo("{}"))
    configure(workspace, "user", "beforeShellExecution", f"echo 'looked' >&2; {echo(DENY)}")
    done = run(workspace, "fire", "beforeShellExecution", "--set", "command=make deploy")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert done.exit == 20
    assert lines[0].startswith("beforeShellExecution  make deploy  (")
    assert lines[0].endswith(" bytes on stdin)")
    assert lines[1].split() == ["1.", "enterprise", *echo("{}").split()]
    assert lines[2].endswith("ms, exit 0: no opinion")
    assert f"stdout: {DENY}" in lines
    assert "stderr: looked" in lines
    assert lines[-2].startswith("decision: deny  by user ")
    assert lines[-1] == "to the person: No."


def test_model_text_uses_the_words_of_cursor(workspace: Workspace) -> None:
    configure(workspace, "user", "beforeShellExecution", echo(DENY))
    output = shell(workspace).data["model_text"]
    assert output.startswith("Command execution was blocked by a hook: No.")
    assert output.endswith("Agent note: Do not suggest workarounds to the blocked tool.")


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
def test_dry_run_only_lists_hooks(workspace: Workspace, as_json: bool) -> None:
    configure(
        workspace,
        "user",
        "beforeShellExecution",
        f": > '{workspace.path}/ran'; {echo(DENY)}",
        {"command": "x", "matcher": "^y"},
    )
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--dry-run", *(["--json"] if as_json else []))
    done = run(workspace, *words)
    assert done.exit == 0
    assert not (workspace.path / "ran").exists()
    if as_json:
        assert [hook["layer"] for hook in done.data["would_run"]] == ["user"]
        assert done.data["would_not"] == []
    else:
        assert done.stdout.splitlines()[0].split()[:2] == ["1.", "user"]
        assert done.stdout.endswith("nothing was run\n")


def test_dry_run_saves_no_session(workspace: Workspace) -> None:
    configure(workspace, "user", "sessionStart", echo({"env": {"A": "1"}}))
    fire(workspace, "sessionStart", "--dry-run")
    assert fire_sessions(workspace) == []


def test_warnings_are_reported(workspace: Workspace) -> None:
    configure(workspace, "user", "beforeShellExecution", echo({"permission": "allow", "userMessage": "x", "odd": 1}))
    warnings = ["`userMessage` is not read; write `user_message`", "`odd` is not a reply key"]
    assert shell(workspace).runs[0]["warnings"] == warnings


def test_denial_under_the_wrong_key_denies_with_a_warning(workspace: Workspace) -> None:
    configure(workspace, "user", "beforeMCPExecution", echo({"continue": False}))
    fired = fire(workspace, "beforeMCPExecution", "--set", "tool_name=search")
    assert fired.exit == 20
    assert any("write `permission`" in warning for warning in fired.runs[0]["warnings"])


# how hooks are started


DIRECTORIES = read_corpus("fire")["directories"]


@pytest.fixture
def dumping_workspace(workspace: Workspace) -> Workspace:
    """A workspace in which a hook of every layer saves its environment and directory."""
    for layer in DIRECTORIES:
        event = "PreToolUse" if layer.startswith("claude-") else "preToolUse"
        configure(workspace, layer, event, dump_env(workspace, layer))
    assert run(workspace, "trust", "--yes").exit == 0
    return workspace


def test_each_layer_runs_in_its_directory(dumping_workspace: Workspace) -> None:
    fired = fire(dumping_workspace, "preToolUse", "--set", "tool_name=Shell")
    assert [run["layer"] for run in fired.runs] == list(DIRECTORIES)
    places = {layer: read_env(dumping_workspace, layer)["IN"] for layer in DIRECTORIES}
    assert places == {layer: str(dumping_workspace.path / place) for layer, place in DIRECTORIES.items()}


def test_environment_has_project_version_and_user(dumping_workspace: Workspace) -> None:
    fire(
        dumping_workspace,
        *("preToolUse", "--set", "tool_name=Shell", "--set", "cursor_version=3.21.16"),
        *("--set", "user_email=dev@example.com", "--set", "transcript_path=/t/x.jsonl"),
    )
    for layer in DIRECTORIES:
        environment = read_env(dumping_workspace, layer)
        assert environment["CURSOR_PROJECT_DIR"] == environment["CLAUDE_PROJECT_DIR"] == str(dumping_workspace.project)
        assert environment["CURSOR_VERSION"] == "3.21.16"
        assert environment["CURSOR_USER_EMAIL"] == "dev@example.com"
        assert environment["CURSOR_TRANSCRIPT_PATH"] == "/t/x.jsonl"
        assert environment["TROTLINE_RUN"]
        assert "CURSOR_CODE_REMOTE" not in environment


def test_missing_user_and_transcript_set_no_variables(dumping_workspace: Workspace) -> None:
    fire(dumping_workspace, "preToolUse", "--set", "tool_name=Shell")
    for layer in DIRECTORIES:
        environment = read_env(dumping_workspace, layer)
        assert not {"CURSOR_USER_EMAIL", "CURSOR_TRANSCRIPT_PATH"} & environment.keys()
        assert environment["CURSOR_VERSION"] == ""


def test_only_a_plugin_has_a_plugin_root(dumping_workspace: Workspace) -> None:
    fire(dumping_workspace, "preToolUse", "--set", "tool_name=Shell")
    root = str(dumping_workspace.path / DIRECTORIES["plugin"])
    assert read_env(dumping_workspace, "plugin")["CURSOR_PLUGIN_ROOT"] == root
    assert read_env(dumping_workspace, "plugin")["CLAUDE_PLUGIN_ROOT"] == root
    assert all(
        "CURSOR_PLUGIN_ROOT" not in read_env(dumping_workspace, layer) for layer in DIRECTORIES if layer != "plugin"
    )


def test_plugin_root_is_expanded_in_a_command(workspace: Workspace) -> None:
    workspace.script("home/.cursor/plugins/local/sample/run.sh", f"#!/bin/sh\n{echo(DENY)}\n")
    configure(workspace, "plugin", "beforeShellExecution", "${CURSOR_PLUGIN_ROOT}/run.sh")
    assert shell(workspace).exit == 20


def test_every_run_has_a_unique_id(dumping_workspace: Workspace) -> None:
    fired = fire(dumping_workspace, "preToolUse", "--set", "tool_name=Shell")
    cookies = [read_env(dumping_workspace, layer)["TROTLINE_RUN"] for layer in DIRECTORIES]
    assert cookies == [run["run"] for run in fired.runs]
    assert len(set(cookies)) == len(cookies)


def test_environment_is_inherited_except_own_variables(workspace: Workspace) -> None:
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    shell(workspace, environment={"MINE": "1", "CURSOR_PROJECT_DIR": "/forged", "TROTLINE_RUN": "forged"})
    environment = read_env(workspace, "env")
    assert environment["MINE"] == "1"
    assert environment["CURSOR_PROJECT_DIR"] == str(workspace.project)
    assert environment["TROTLINE_RUN"] != "forged"


def test_clean_environment_keeps_only_what_a_shell_needs(workspace: Workspace) -> None:
    configure(workspace, "user", "sessionStart", echo({"env": {"TICKET": "7"}}))
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    fire(workspace, "sessionStart")
    shell(workspace, "--clean-env", environment={"MINE": "1", "LD_LIBRARY_PATH": "/nowhere", "HOME": "/h", "TZ": "UTC"})
    environment = read_env(workspace, "env")
    assert not {"MINE", "LD_LIBRARY_PATH"} & environment.keys()
    assert {key: environment[key] for key in ("HOME", "TZ", "TICKET", "CURSOR_PROJECT_DIR")} == {
        "HOME": str(workspace.home),  # from --home, not from the variable
        "TZ": "UTC",
        "TICKET": "7",
        "CURSOR_PROJECT_DIR": str(workspace.project),
    }


@pytest.mark.parametrize(
    "command",
    read_rows("fire", "command_is_interpreted_as_a_shell_line"),
)
def test_command_is_interpreted_as_a_shell_line(workspace: Workspace, command: str) -> None:
    workspace.script("home/.cursor/hooks/deny.sh", f"#!/bin/sh\n{echo(DENY)}\n")
    workspace.script("home/.cursor/hooks/with blank.sh", f"#!/bin/sh\n{echo(DENY)}\n")
    workspace.script("home/.cursor/hooks/bare.sh", f"{echo(DENY)}\n")
    configure(workspace, "user", "beforeShellExecution", command)
    assert shell(workspace, environment={"HOME": str(workspace.home)}).exit == 20


def test_plain_command_starts_no_shell(workspace: Workspace) -> None:
    file = workspace.path / "parent"
    workspace.script("home/.cursor/who.sh", f"#!/bin/sh\ncat /proc/$PPID/cmdline > '{file}'\n")
    configure(workspace, "user", "beforeShellExecution", "./who.sh a b")
    shell(workspace)
    assert file.read_bytes().split(b"\0")[1:3] == [b"-m", b"trotline"]


def test_arguments_arrive_unchanged(workspace: Workspace) -> None:
    workspace.script("home/.cursor/args.sh", f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{workspace.path}/args'\n")
    configure(workspace, "user", "beforeShellExecution", "./args.sh a  --b=c,d e/f@g:h%i+j  ")
    shell(workspace)
    assert (workspace.path / "args").read_text() == "a\n--b=c,d\ne/f@g:h%i+j\n"


@pytest.mark.parametrize("command", ['echo "{\\"user_message\\": \\"$FROM_PROFILE\\"}"; exit 2', "./tell.sh"])
def test_login_shell_reads_the_profile(workspace: Workspace, command: str) -> None:
    workspace.write("home/.profile", "export FROM_PROFILE=yes\n")
    workspace.script("home/.cursor/tell.sh", '#!/bin/sh\necho "{\\"user_message\\": \\"$FROM_PROFILE\\"}"\nexit 2\n')
    configure(workspace, "user", "beforeShellExecution", command)
    home = {"HOME": str(workspace.home)}
    assert shell(workspace, "--login-shell", environment=home).decision["user_message"] == "yes"
    assert shell(workspace, environment=home).decision["user_message"] != "yes"


# many hooks


def test_hooks_of_an_event_run_concurrently(workspace: Workspace) -> None:
    """Each hook waits for the other, so that they would not end one after the other."""
    for pipe in ("one", "two"):
        os.mkfifo(workspace.path / pipe)
    session, two = workspace.path / "one", workspace.path / "two"
    configure(
        workspace,
        "enterprise",
        "beforeShellExecution",
        {"command": f"read x < '{session}'; echo y > '{two}'; {echo(ALLOW)}"},
    )
    configure(
        workspace, "user", "beforeShellExecution", {"command": f"echo x > '{session}'; read y < '{two}'; {echo(ALLOW)}"}
    )
    fired = shell(workspace)
    assert [run["permission"] for run in fired.runs] == ["allow", "allow"]


def test_hanging_hook_does_not_delay_other_responses(workspace: Workspace) -> None:
    configure(workspace, "enterprise", "beforeShellExecution", {"command": "sleep 60", "timeout": 0.3})
    configure(workspace, "user", "beforeShellExecution", echo(ALLOW))
    fired = shell(workspace)
    assert fired.failures == ["timed out", None]
    assert fired.decision["permission"] == "allow"


def test_all_hooks_run_after_a_denial(workspace: Workspace) -> None:
    configure(workspace, "enterprise", "beforeShellExecution", echo(DENY))
    configure(workspace, "user", "beforeShellExecution", f"cat > '{workspace.path}/seen'")
    fired = shell(workspace)
    assert fired.exit == 20
    assert json.loads((workspace.path / "seen").read_bytes())["command"] == "ls"


def test_results_come_in_configured_order(workspace: Workspace) -> None:
    configure(workspace, "enterprise", "beforeShellExecution", f"sleep 0.2; {echo(DENY)}")
    configure(workspace, "user", "beforeShellExecution", echo('{"permission": "deny", "user_message": "Nor I."}'))
    fired = shell(workspace)
    assert [run["layer"] for run in fired.runs] == ["enterprise", "user"]
    assert fired.decision["user_message"] == "No.\n\n---\n\nNor I."


def configure_many(workspace: Workspace) -> list[str]:
    """Write 128 hooks that count their calls, and return their commands."""
    workspace.script("home/.cursor/hook.sh", f'#!/bin/sh\necho x >> "count.$1"\n{echo(ALLOW)}\n')
    commands = [f"./hook.sh {number}" for number in range(128)]
    configure(workspace, "user", "beforeShellExecution", *commands)
    return commands


def read_counts(workspace: Workspace) -> set[str]:
    return {file.read_text() for file in (workspace.home / ".cursor").glob("count.*")}


def test_event_may_have_128_hooks(workspace: Workspace) -> None:
    commands = configure_many(workspace)
    fired = shell(workspace)
    assert [(run["line"], run["permission"]) for run in fired.runs] == [(line, "allow") for line in commands]
    assert read_counts(workspace) == {"x\n"}


def test_hooks_run_once_with_few_descriptors(workspace: Workspace) -> None:
    commands = configure_many(workspace)
    fired = run(
        workspace,
        *("fire", "--json", "beforeShellExecution", "--set", "command=ls"),
        prefix=("/bin/sh", "-c", 'ulimit -n 32; exec "$@"', "sh"),
    )
    assert [(run["line"], run["permission"]) for run in fired.runs] == [(line, "allow") for line in commands]
    assert read_counts(workspace) == {"x\n"}


@pytest.mark.parametrize("size", [60_000, 65_536, 70_000, 3_000_000])
def test_payload_of_any_size_arrives_complete_and_unchanged(workspace: Workspace, size: int) -> None:
    forge = "(echo forged >&0) 2> /dev/null; (: > /proc/self/fd/0) 2> /dev/null"
    forgers = [f"{forge}; {echo('{}')}" for _ in range(2)] if size > 65_536 else []
    readers = [f"cat > '{workspace.path}/seen.{number}'; echo '{{}}'" for number in range(3)]
    configure(workspace, "user", "beforeShellExecution", *forgers, *readers, *forgers)
    payload = {"hook_event_name": "beforeShellExecution", "command": "x" * size}
    fired = fire(workspace, "--payload", "-", stdin=json.dumps(payload).encode())
    received = [(workspace.path / f"seen.{number}").read_bytes() for number in range(3)]
    assert len({hashlib.sha256(data).digest() for data in received}) == 1
    assert json.loads(received[0])["command"] == "x" * size
    assert {run["stdin_bytes"] for run in fired.runs} == {len(received[0])}


@pytest.mark.parametrize("closed, code", [(False, 0), (True, 20)], ids=["open", "closed"])
def test_prompt_hook_without_a_model_fails_by_its_fail_mode(workspace: Workspace, closed: bool, code: int) -> None:
    entry = {"type": "prompt", "prompt": "Is this safe? $ARGUMENTS", "failClosed": closed}
    configure(workspace, "user", "beforeShellExecution", entry)
    fired = shell(workspace)
    assert (fired.exit, fired.failures) == (code, ["not available"])
    assert "no model is configured" in fired.runs[0]["failure"]["detail"]


def test_two_workspace_roots_are_two_layers(workspace: Workspace) -> None:
    other = workspace.path / "other"
    for root in (workspace.project, other):
        listed = {"beforeShellExecution": [{"command": dump_env(workspace, root.name)}]}
        workspace.write(f"{root.name}/.cursor/hooks.json", json.dumps({"version": 1, "hooks": listed}))
    roots = ("--project", str(other))
    assert run(workspace, "trust", "--yes", *roots).exit == 0
    fired = shell(workspace, *roots)
    assert [run["place"].split("/.cursor/")[0] for run in fired.runs] == [str(other), str(workspace.project)]
    assert fired.data["event"]["workspace_roots"] == [str(other), str(workspace.project)]
    for root in (workspace.project, other):
        assert read_env(workspace, root.name)["IN"] == str(root)
        assert read_env(workspace, root.name)["CURSOR_PROJECT_DIR"] == str(root)


# rewritten input


@pytest.fixture
def rewriting_workspace(workspace: Workspace) -> Workspace:
    """A workspace in which a user hook turns every command into `rm`, which the enterprise denies."""
    no_rm = json.dumps({"permission": "deny", "user_message": "no rm"})
    guard = f"""if grep -q '"command":"rm'; then echo '{no_rm}'; else echo '{{}}'; fi"""
    configure(workspace, "enterprise", "preToolUse", guard)
    configure(workspace, "user", "preToolUse", echo({"permission": "allow", "updated_input": {"command": "rm -r /"}}))
    return workspace


TOOL_EVENT = ("preToolUse", "--set", "tool_name=Shell", "--set", 'tool_input={"command": "ls"}')


def test_rewritten_input_is_evaluated_again(rewriting_workspace: Workspace) -> None:
    fired = fire(rewriting_workspace, *TOOL_EVENT)
    assert fired.exit == 20
    assert fired.decision["user_message"] == "no rm"
    assert [run["layer"] for run in fired.runs] == ["enterprise", "user", "enterprise"]
    assert [run["permission"] for run in fired.runs] == ["none", "allow", "deny"]


@pytest.mark.parametrize("edition", ["2026-02", "2026-09"])
def test_rewritten_input_is_not_evaluated_again_in_editions_of_cursor(
    rewriting_workspace: Workspace, edition: str
) -> None:
    fired = fire(rewriting_workspace, *TOOL_EVENT, "--edition", edition)
    assert fired.exit == 0
    assert fired.decision["edited_input"] == {"command": "rm -r /"}
    assert len(fired.runs) == 2


def test_last_rewrite_wins_and_both_hooks_are_recorded(workspace: Workspace) -> None:
    for layer, text in (("enterprise", "a"), ("user", "b")):
        configure(workspace, layer, "preToolUse", echo({"permission": "allow", "updated_input": {"command": text}}))
    fired = fire(workspace, *TOOL_EVENT, "--edition", "2026-09")
    first, last = (run["id"] for run in fired.runs)
    assert fired.decision["edited_input"] == {"command": "b"}
    assert fired.decision["overruled"] == [{"field": "edited_input", "winner": last, "loser": first}]


# sessions


def fire_sessions(workspace: Workspace) -> list[dict[str, Any]]:
    stored = read_sessions(workspace.roots().state / "sessions")
    return [{"conversation": session.session.conversation, "alarm": session.alarm} for session in stored]


def clear(workspace: Workspace, conversation: str) -> int:
    return run(workspace, "log", "conversations", "--clear", conversation).exit


def start(workspace: Workspace, conversation: str, env: dict[str, str], layer: str = "user") -> None:
    configure(workspace, layer, "sessionStart", echo({"env": env}))
    assert fire(workspace, "sessionStart", "--set", f"conversation_id={conversation}").decision["env"] == env


def test_session_variables_reach_only_later_hooks_of_the_session(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17", "EMPTY": ""})
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    shell(workspace, "--set", "conversation_id=one")
    assert read_env(workspace, "env")["TICKET"] == "17"
    assert read_env(workspace, "env")["EMPTY"] == ""
    shell(workspace, "--set", "conversation_id=two")
    assert "TICKET" not in read_env(workspace, "env")


def test_session_variables_override_inherited_ones(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    shell(workspace, "--set", "conversation_id=one", environment={"TICKET": "0"})
    assert read_env(workspace, "env")["TICKET"] == "17"


def test_session_cannot_set_variables_of_the_agent(workspace: Workspace) -> None:
    start(workspace, "one", {"CURSOR_PROJECT_DIR": "/forged", "CURSOR_VERSION": "9", "TROTLINE_RUN": "forged"})
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    shell(workspace, "--set", "conversation_id=one", "--set", "cursor_version=3")
    environment = read_env(workspace, "env")
    assert environment["CURSOR_PROJECT_DIR"] == str(workspace.project)
    assert environment["CURSOR_VERSION"] == "3"
    assert environment["TROTLINE_RUN"] != "forged"


PRIVILEGED = {
    **dict.fromkeys(read_rows("fire", "privileged_variables"), "/from-below"),
    "PATH": f"{os.defpath}:/from-below",
    "LD_PRELOAD": "",
}


@pytest.mark.parametrize("higher", ["enterprise", "team"])
def test_lower_layer_cannot_set_privileged_variables_of_a_higher_layer(workspace: Workspace, higher: str) -> None:
    start(workspace, "one", {**PRIVILEGED, "TICKET": "17", "MY_PATH": "/mine", "PROXY": "/mine"})
    configure(workspace, higher, "beforeShellExecution", dump_env(workspace, "above"))
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "own"))
    fired = shell(workspace, "--set", "conversation_id=one")
    above, own = read_env(workspace, "above"), read_env(workspace, "own")
    assert not any("/from-below" in value for value in above.values())
    assert (above["TICKET"], above["MY_PATH"], above["PROXY"]) == ("17", "/mine", "/mine")
    assert {key: own[key] for key in PRIVILEGED} == PRIVILEGED
    assert {loss["what"] for loss in fired.data["losses"]} == {f"env.{name}" for name in PRIVILEGED}
    assert {loss["why"] for loss in fired.data["losses"]} == {
        f"a hook of the {higher} layer is not told this by one with less authority"
    }


def test_higher_layer_may_set_any_variable_of_a_lower_layer(workspace: Workspace) -> None:
    start(workspace, "one", {"GIT_SSH_COMMAND": "ssh -x", "HTTPS_PROXY": "proxy"}, layer="enterprise")
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    fired = shell(workspace, "--set", "conversation_id=one")
    assert fired.data["losses"] == []
    assert (read_env(workspace, "env")["GIT_SSH_COMMAND"], read_env(workspace, "env")["HTTPS_PROXY"]) == (
        "ssh -x",
        "proxy",
    )


def test_losses_are_in_the_text_output(workspace: Workspace) -> None:
    start(workspace, "one", {"PYTHONPATH": "/x"})
    configure(workspace, "enterprise", "beforeShellExecution", echo("{}"))
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--set", "conversation_id=one")
    assert "lost: env.PYTHONPATH: a hook of the enterprise layer is not told this" in run(workspace, *words).stdout


def test_later_hook_overrides_session_variables(workspace: Workspace) -> None:
    configure(workspace, "enterprise", "sessionStart", echo({"env": {"A": "1", "B": "1"}}))
    configure(workspace, "user", "sessionStart", echo({"env": {"B": "2"}}))
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    started = fire(workspace, "sessionStart")
    assert started.decision["env"] == {"A": "1", "B": "2"}
    assert [session["field"] for session in started.decision["overruled"]] == ["env.B"]
    shell(workspace)
    assert (read_env(workspace, "env")["A"], read_env(workspace, "env")["B"]) == ("1", "2")


def test_only_session_start_sets_variables(workspace: Workspace) -> None:
    configure(workspace, "user", "beforeShellExecution", echo({"permission": "allow", "env": {"A": "1"}}))
    fired = shell(workspace)
    assert fired.runs[0]["warnings"] == ["`env` is not accepted by beforeShellExecution"]
    assert fire_sessions(workspace) == []


def test_clear_forgets_the_session_of_a_conversation(workspace: Workspace) -> None:
    for name in ("one", "two", "three"):
        start(workspace, name, {"A": "1"})
    forgotten = run(workspace, "log", "conversations", "--clear", "two")
    output = "0 records forgotten\nsaved variables and follow-up counts forgotten\n"
    assert (forgotten.exit, forgotten.stdout) == (0, output)
    assert {session["conversation"] for session in fire_sessions(workspace)} == {"one", "three"}
    assert clear(workspace, "two") == 1
    answer = run(workspace, "log", "conversations", "--clear", "one", "--json")
    assert (answer.exit, answer.data) == (0, {"forgotten": 0, "sessions": 1})


def test_forgotten_session_variables_are_not_set(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    configure(workspace, "user", "beforeShellExecution", dump_env(workspace, "env"))
    assert clear(workspace, "one") == 0
    shell(workspace, "--set", "conversation_id=one")
    assert "TICKET" not in read_env(workspace, "env")


def test_session_files_are_private_and_do_not_reveal_the_conversation(workspace: Workspace) -> None:
    start(workspace, "../../secret", {"A": "1"})
    directory = workspace.home / ".local/state/trotline/v1/sessions"
    assert directory.stat().st_mode & 0o777 == 0o700
    files = [file for file in workspace.home.rglob("*") if file.is_file() and "state" in file.parts]
    assert {file.parent for file in files if file.name != "key"} == {directory}
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert not any("secret" in file.name for file in files)


# follow-ups


def follow_ups(workspace: Workspace, times: int, *words: str) -> list[str]:
    """Stop this many times, and return the follow-ups."""
    return [stop(workspace, *words).decision["follow_up"] for _ in range(times)]


def test_stop_hook_continues_five_times_by_default(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", echo({"followup_message": "on"}))
    assert follow_ups(workspace, 5) == ["on"] * 5
    sixth = stop(workspace)
    assert sixth.decision["follow_up"] == ""
    assert sixth.runs[0]["warnings"] == ["its loop_limit of 5 is reached; the follow-up was not sent"]
    assert sixth.data["event"]["loop_count"] == 5


def test_null_loop_limit_never_ends(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", {"command": echo({"followup_message": "on"}), "loop_limit": None})
    assert follow_ups(workspace, 7) == ["on"] * 7


def test_hooks_of_claude_code_files_have_no_limit(workspace: Workspace) -> None:
    configure(workspace, "claude-user", "Stop", echo({"decision": "block", "reason": "on"}))
    assert follow_ups(workspace, 7) == ["on"] * 7


def test_loop_limit_holds_across_processes(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", {"command": echo({"followup_message": "on"}), "loop_limit": 3})
    assert follow_ups(workspace, 4) == ["on"] * 3 + [""]


def test_loop_limit_is_always_five_in_2025_11(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", {"command": echo({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(workspace, 6, "--edition", "2025-11") == ["on"] * 5 + [""]


def test_each_script_has_its_own_count(workspace: Workspace) -> None:
    first = {"command": echo({"followup_message": "first"}), "loop_limit": 1}
    second = {"command": echo({"followup_message": "second"}), "loop_limit": 2}
    configure(workspace, "user", "stop", first, second)
    assert follow_ups(workspace, 4) == ["second", "second", "first", ""]


def test_each_conversation_has_its_own_count(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", {"command": echo({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(workspace, 2, "--set", "conversation_id=one") == ["on", ""]
    assert follow_ups(workspace, 2, "--set", "conversation_id=two") == ["on", ""]


def test_hooks_receive_the_loop_count(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", f"cat > '{workspace.path}/seen'; echo '{{\"followup_message\": \"on\"}}'")
    received = []
    for _ in range(3):
        stop(workspace)
        received.append(json.loads((workspace.path / "seen").read_bytes())["loop_count"])
    assert received == [0, 1, 2]


@pytest.mark.parametrize("status", ["completed", "aborted", "error"])
def test_stop_accepts_a_follow_up_at_any_status(workspace: Workspace, status: str) -> None:
    configure(workspace, "user", "stop", echo({"followup_message": "on"}))
    assert fire(workspace, "stop", "--set", f"status={status}").decision["follow_up"] == "on"


@pytest.mark.parametrize("status", ["aborted", "error", ""])
def test_incomplete_subagent_gets_no_follow_up(workspace: Workspace, status: str) -> None:
    configure(workspace, "user", "subagentStop", {"command": echo({"followup_message": "on"}), "loop_limit": 1})
    words = ("subagentStop", "--set", "subagent_type=explore", "--set", f"status={status}")
    fired = fire(workspace, *words)
    assert fired.decision["follow_up"] == ""
    assert "only when the sub-agent completed" in fired.runs[0]["warnings"][0]
    assert fire_sessions(workspace) == []
    completed = fire(workspace, "subagentStop", "--set", "subagent_type=explore", "--set", "status=completed")
    assert completed.decision["follow_up"] == "on"


def test_each_subagent_has_its_own_count(workspace: Workspace) -> None:
    configure(workspace, "user", "subagentStop", {"command": echo({"followup_message": "on"}), "loop_limit": 2})

    def stop_subagent(agent: str) -> str:
        words = ("--set", "subagent_type=explore", "--set", "status=completed", "--set", f"subagent_id={agent}")
        followed: str = fire(workspace, "subagentStop", *words).decision["follow_up"]
        return followed

    assert [stop_subagent(agent) for agent in "aaababb"] == ["on", "on", "", "on", "", "on", ""]


def test_empty_follow_up_is_not_counted(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", echo({"followup_message": ""}))
    assert stop(workspace).decision["follow_up"] == ""
    assert fire_sessions(workspace) == []


def test_forgotten_session_restarts_its_counts(workspace: Workspace) -> None:
    configure(workspace, "user", "stop", {"command": echo({"followup_message": "on"}), "loop_limit": 1})
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
def test_damaged_session_raises_an_alarm_and_is_not_used(workspace: Workspace, damage: bytes) -> None:
    start(workspace, "one", {"TICKET": "17"})
    (file,) = (workspace.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(damage)
    configure(workspace, "user", "stop", f"env > '{workspace.path}/env.env'; echo '{{\"followup_message\": \"on\"}}'")
    fired = stop(workspace, "--set", "conversation_id=one")
    assert [str(file) in alarm for alarm in fired.data["alarms"]] == [True]
    assert fired.decision["follow_up"] == ""
    assert fired.runs[0]["warnings"] == ["a follow-up is not sent while the session cannot be read"]
    assert "TICKET" not in read_env(workspace, "env")
    assert file.read_bytes() == damage


def test_damaged_session_is_listed_and_can_be_forgotten(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    (file,) = (workspace.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(b"{")
    assert [str(file) in session["alarm"] for session in fire_sessions(workspace)] == [True]
    assert clear(workspace, "one") == 0
    assert fire_sessions(workspace) == []


def test_alarms_are_in_the_text_output(workspace: Workspace) -> None:
    start(workspace, "one", {"TICKET": "17"})
    (file,) = (workspace.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(b"{")
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--set", "conversation_id=one")
    assert f"alarm: the session {file} is damaged" in run(workspace, *words).stdout
