"""`trotline fire` and `trotline sessions` as a person and a script see them: processes, exit codes, what is printed."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from worlds import FILES, World, new_world

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


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def trotline(
    world: World,
    *words: str,
    stdin: bytes = b"",
    environment: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> Fired:
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "trotline", *words, *world.options],
        input=stdin,
        cwd=world.path,
        env={"PATH": os.defpath, "LANG": "C.UTF-8", **(environment or {})},
        capture_output=True,
        check=False,
    )
    return Fired(done.returncode, done.stdout.decode(), done.stderr.decode())


def fire(world: World, *words: str, environment: dict[str, str] | None = None, stdin: bytes = b"") -> Fired:
    return trotline(world, "fire", "--json", *words, environment=environment, stdin=stdin)


def shell(world: World, *words: str, environment: dict[str, str] | None = None) -> Fired:
    """A shell command is about to run."""
    return fire(world, "beforeShellExecution", "--set", "command=ls", *words, environment=environment)


def stop(world: World, *words: str) -> Fired:
    return fire(world, "stop", "--set", "status=completed", *words)


def hooks(world: World, layer: str, event: str, *entries: dict[str, Any] | str) -> None:
    """The hooks of a layer; a text is a command line."""
    listed = [{"command": entry} if isinstance(entry, str) else entry for entry in entries]
    path = world.path / FILES[layer]
    if layer.startswith("claude-"):
        groups = [{"hooks": [{"type": "command", **entry} for entry in listed]}]
        body: dict[str, Any] = {"hooks": {event: groups}}
    else:
        known = json.loads(path.read_text())["hooks"] if path.exists() else {}
        body = {"version": 1, "hooks": {**known, event: listed}}
    world.write(layer, json.dumps(body))


def says(reply: str | dict[str, Any]) -> str:
    """A command line that answers this."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return f"cat > /dev/null; echo '{text}'"


def dumps(world: World, name: str) -> str:
    """A command line that keeps its environment and its directory, and has no opinion."""
    kept = world.path / f"{name}.env"
    return f"env > '{kept}'; echo \"IN=$(pwd -P)\" >> '{kept}'; {says('{}')}"


def dumped(world: World, name: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in (world.path / f"{name}.env").read_text().splitlines())
    return {key: value for key, _, value in pairs}


# the event


def test_fields_that_are_texts_are_taken_as_they_are(world: World) -> None:
    fired = fire(world, "beforeShellExecution", "--set", "command=[1, 2]", "--set", "cwd=true")
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("[1, 2]", "true")


def test_a_value_may_hold_equals_signs_and_be_empty(world: World) -> None:
    fired = fire(world, "beforeShellExecution", "--set", "command=A=1 make x=y", "--set", "cwd=")
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("A=1 make x=y", "")


def test_fields_of_other_types_are_read_as_json(world: World) -> None:
    fired = fire(
        world,
        "preToolUse",
        *("--set", "tool_name=Write", "--set", 'tool_input={"file_path": "/a", "content": "x"}'),
    )
    assert fired.data["event"]["tool_input"] == {"file_path": "/a", "content": "x"}
    stopped = fire(world, "stop", "--set", "loop_count=3", "--set", "status=error")
    assert (stopped.data["event"]["loop_count"], stopped.data["event"]["status"]) == (3, "error")
    started = fire(world, "sessionStart", "--set", "is_background_agent=true")
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
def test_a_call_that_cannot_mean_anything_ends_with_64_and_a_hint(world: World, words: list[str]) -> None:
    fired = fire(world, *words)
    assert fired.exit == 64
    assert not fired.envelope["ok"]
    assert fired.envelope["problems"][0]["message"]
    assert fired.stderr.startswith("error: ")


def test_an_unknown_event_is_told_where_events_are_listed(world: World) -> None:
    fired = fire(world, "beforeShellExec")
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
def test_an_event_without_the_field_that_it_is_about_cannot_be_played(world: World, event: str, field: str) -> None:
    fired = fire(world, event)
    assert fired.exit == 1
    assert f"a {event} payload needs `{field}`" in fired.stderr


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"\xff", b'{"command": "ls"}', b'{"hook_event_name": 5}'], ids=repr
)
def test_a_payload_that_is_no_event_cannot_be_played(world: World, payload: bytes) -> None:
    hooks(world, "user", "beforeShellExecution", f": > '{world.path}/ran'")
    fired = fire(world, "--payload", "-", stdin=payload)
    assert fired.exit == 1
    assert fired.envelope["problems"][0]["message"]
    assert not (world.path / "ran").exists()


def test_a_payload_comes_from_a_file_or_from_standard_input(world: World) -> None:
    payload = {"hook_event_name": "beforeShellExecution", "command": "make", "conversation_id": "c7", "novel": [1]}
    file = world.write("event.json", json.dumps(payload))
    from_file = fire(world, "--payload", str(file))
    from_stdin = fire(world, "--payload", "-", stdin=json.dumps(payload).encode())
    assert from_file.data["event"] == from_stdin.data["event"]
    assert {key: from_file.data["event"][key] for key in payload} == payload


def test_what_is_set_wins_over_the_payload(world: World) -> None:
    payload = json.dumps({"hook_event_name": "beforeShellExecution", "command": "make", "cwd": "/a"}).encode()
    fired = fire(world, "--payload", "-", "--set", "command=ls", stdin=payload)
    assert (fired.data["event"]["command"], fired.data["event"]["cwd"]) == ("ls", "/a")


def test_a_payload_with_a_byte_order_mark_is_read(world: World) -> None:
    payload = b'\xef\xbb\xbf{"hook_event_name": "stop", "status": "completed"}'
    assert fire(world, "--payload", "-", stdin=payload).exit == 0


def test_the_hook_reads_the_event_that_is_shown(world: World) -> None:
    hooks(world, "user", "beforeShellExecution", f"cat > '{world.path}/seen'; echo '{{}}'")
    fired = fire(world, "beforeShellExecution", "--set", "command=echo ä ‸ 🦑")
    seen = (world.path / "seen").read_bytes()
    assert json.loads(seen) == fired.data["event"]
    assert fired.runs[0]["stdin_bytes"] == len(seen)
    assert fired.data["event"]["workspace_roots"] == [str(world.project)]


# the answer


@pytest.mark.parametrize(
    "reply, code, permission",
    [(ALLOW, 0, "allow"), ("{}", 0, "silent"), (ASK, 10, "ask"), (DENY, 20, "deny")],
    ids=["allow", "silent", "ask", "deny"],
)
def test_the_exit_code_is_the_decision(world: World, reply: str, code: int, permission: str) -> None:
    hooks(world, "user", "beforeShellExecution", says(reply))
    fired = shell(world)
    assert (fired.exit, fired.decision["permission"]) == (code, permission)
    assert fired.envelope["ok"] is (code == 0)
    assert fired.envelope["schema"] == "trotline.fire/1"


def test_without_hooks_nothing_is_decided(world: World) -> None:
    fired = shell(world)
    assert (fired.exit, fired.decision["permission"], fired.runs) == (0, "silent", [])


def test_a_hook_that_failed_open_leaves_0_and_its_failure(world: World) -> None:
    hooks(world, "user", "beforeShellExecution", "echo broken >&2; exit 1")
    fired = shell(world)
    assert (fired.exit, fired.failures) == (0, ["crashed"])
    assert "failed with exit code 1: broken" in fired.runs[0]["failure"]["detail"]
    story = trotline(world, "fire", "beforeShellExecution", "--set", "command=ls")
    assert "failed, goes on" in story.stdout
    assert "crashed: " in story.stdout


def test_the_story_tells_hook_by_hook_what_happened(world: World) -> None:
    hooks(world, "enterprise", "beforeShellExecution", says("{}"))
    hooks(world, "user", "beforeShellExecution", f"echo 'looked' >&2; {says(DENY)}")
    done = trotline(world, "fire", "beforeShellExecution", "--set", "command=make deploy")
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


def test_the_model_is_told_in_cursors_words(world: World) -> None:
    hooks(world, "user", "beforeShellExecution", says(DENY))
    told = shell(world).data["told_to_the_model"]
    assert told.startswith("Command execution was blocked by a hook: No.")
    assert told.endswith("Agent note: Do not suggest workarounds to the blocked tool.")


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
def test_a_dry_run_runs_nothing_and_says_what_would(world: World, as_json: bool) -> None:
    hooks(
        world,
        "user",
        "beforeShellExecution",
        f": > '{world.path}/ran'; {says(DENY)}",
        {"command": "x", "matcher": "^y"},
    )
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--dry-run", *(["--json"] if as_json else []))
    done = trotline(world, *words)
    assert done.exit == 0
    assert not (world.path / "ran").exists()
    if as_json:
        assert [hook["layer"] for hook in done.data["would_run"]] == ["user"]
        assert done.data["would_not"] == []
    else:
        assert done.stdout.splitlines()[0].split()[:2] == ["1.", "user"]
        assert done.stdout.endswith("nothing was run\n")


def test_a_dry_run_leaves_no_session(world: World) -> None:
    hooks(world, "user", "sessionStart", says({"env": {"A": "1"}}))
    fire(world, "sessionStart", "--dry-run")
    assert fire_sessions(world) == []


def test_a_warning_is_never_swallowed(world: World) -> None:
    hooks(world, "user", "beforeShellExecution", says({"permission": "allow", "userMessage": "x", "odd": 1}))
    assert shell(world).runs[0]["warnings"] == [
        "`userMessage` is not read; write `user_message`",
        "`odd` is no reply key",
    ]


def test_a_refusal_under_the_wrong_key_refuses_and_names_the_right_one(world: World) -> None:
    hooks(world, "user", "beforeMCPExecution", says({"continue": False}))
    fired = fire(world, "beforeMCPExecution", "--set", "tool_name=search")
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
def dumping(world: World) -> World:
    """A world in which a hook of every layer keeps its environment and its directory."""
    for layer in LAYERS_AND_PLACES:
        event = "PreToolUse" if layer.startswith("claude-") else "preToolUse"
        hooks(world, layer, event, dumps(world, layer))
    assert trotline(world, "trust", "--yes").exit == 0
    return world


def test_every_layer_runs_in_its_own_directory(dumping: World) -> None:
    fired = fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    assert [run["layer"] for run in fired.runs] == list(LAYERS_AND_PLACES)
    places = {layer: dumped(dumping, layer)["IN"] for layer in LAYERS_AND_PLACES}
    assert places == {layer: str(dumping.path / place) for layer, place in LAYERS_AND_PLACES.items()}


def test_every_layer_is_told_of_the_project_the_version_and_the_person(dumping: World) -> None:
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


def test_who_is_not_logged_in_and_has_no_transcript_leaves_no_variable(dumping: World) -> None:
    fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    for layer in LAYERS_AND_PLACES:
        environment = dumped(dumping, layer)
        assert not {"CURSOR_USER_EMAIL", "CURSOR_TRANSCRIPT_PATH"} & environment.keys()
        assert environment["CURSOR_VERSION"] == ""


def test_only_a_plugin_is_told_its_root(dumping: World) -> None:
    fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    root = str(dumping.path / LAYERS_AND_PLACES["plugin"])
    assert dumped(dumping, "plugin")["CURSOR_PLUGIN_ROOT"] == root
    assert dumped(dumping, "plugin")["CLAUDE_PLUGIN_ROOT"] == root
    assert all("CURSOR_PLUGIN_ROOT" not in dumped(dumping, layer) for layer in LAYERS_AND_PLACES if layer != "plugin")


def test_the_plugins_root_may_stand_in_its_command(world: World) -> None:
    world.script("home/.cursor/plugins/local/sample/run.sh", f"#!/bin/sh\n{says(DENY)}\n")
    hooks(world, "plugin", "beforeShellExecution", "${CURSOR_PLUGIN_ROOT}/run.sh")
    assert shell(world).exit == 20


def test_every_run_has_a_cookie_of_its_own(dumping: World) -> None:
    fired = fire(dumping, "preToolUse", "--set", "tool_name=Shell")
    cookies = [dumped(dumping, layer)["TROTLINE_RUN"] for layer in LAYERS_AND_PLACES]
    assert cookies == [run["run"] for run in fired.runs]
    assert len(set(cookies)) == len(cookies)


def test_the_environment_is_inherited_and_ours_comes_last(world: World) -> None:
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    shell(world, environment={"MINE": "1", "CURSOR_PROJECT_DIR": "/forged", "TROTLINE_RUN": "forged"})
    environment = dumped(world, "env")
    assert environment["MINE"] == "1"
    assert environment["CURSOR_PROJECT_DIR"] == str(world.project)
    assert environment["TROTLINE_RUN"] != "forged"


def test_a_clean_environment_keeps_only_what_a_shell_needs(world: World) -> None:
    hooks(world, "user", "sessionStart", says({"env": {"TICKET": "7"}}))
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    fire(world, "sessionStart")
    shell(world, "--clean-env", environment={"MINE": "1", "LD_LIBRARY_PATH": "/nowhere", "HOME": "/h", "TZ": "UTC"})
    environment = dumped(world, "env")
    assert not {"MINE", "LD_LIBRARY_PATH"} & environment.keys()
    assert {key: environment[key] for key in ("HOME", "TZ", "TICKET", "CURSOR_PROJECT_DIR")} == {
        "HOME": str(world.home),  # what --home says, not what the variable does
        "TZ": "UTC",
        "TICKET": "7",
        "CURSOR_PROJECT_DIR": str(world.project),
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
def test_a_command_is_a_line_of_the_shell_whether_or_not_a_shell_is_needed(world: World, command: str) -> None:
    world.script("home/.cursor/hooks/deny.sh", f"#!/bin/sh\n{says(DENY)}\n")
    world.script("home/.cursor/hooks/with blank.sh", f"#!/bin/sh\n{says(DENY)}\n")
    world.script("home/.cursor/hooks/bare.sh", f"{says(DENY)}\n")
    hooks(world, "user", "beforeShellExecution", command)
    assert shell(world, environment={"HOME": str(world.home)}).exit == 20


def test_a_plain_list_of_words_needs_no_shell(world: World) -> None:
    kept = world.path / "parent"
    world.script("home/.cursor/who.sh", f"#!/bin/sh\ncat /proc/$PPID/cmdline > '{kept}'\n")
    hooks(world, "user", "beforeShellExecution", "./who.sh a b")
    shell(world)
    assert kept.read_bytes().split(b"\0")[1:3] == [b"-m", b"trotline"]


def test_arguments_arrive_as_written(world: World) -> None:
    world.script("home/.cursor/args.sh", f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{world.path}/args'\n")
    hooks(world, "user", "beforeShellExecution", "./args.sh a  --b=c,d e/f@g:h%i+j  ")
    shell(world)
    assert (world.path / "args").read_text() == "a\n--b=c,d\ne/f@g:h%i+j\n"


@pytest.mark.parametrize("command", ['echo "{\\"user_message\\": \\"$FROM_PROFILE\\"}"; exit 2', "./tell.sh"])
def test_a_login_shell_has_read_the_profile(world: World, command: str) -> None:
    world.write("home/.profile", "export FROM_PROFILE=yes\n")
    world.script("home/.cursor/tell.sh", '#!/bin/sh\necho "{\\"user_message\\": \\"$FROM_PROFILE\\"}"\nexit 2\n')
    hooks(world, "user", "beforeShellExecution", command)
    home = {"HOME": str(world.home)}
    assert shell(world, "--login-shell", environment=home).decision["user_message"] == "yes"
    assert shell(world, environment=home).decision["user_message"] != "yes"


# many hooks


def test_hooks_of_one_event_run_at_the_same_time(world: World) -> None:
    """Each waits for the other; one after the other they would never end."""
    for pipe in ("one", "two"):
        os.mkfifo(world.path / pipe)
    one, two = world.path / "one", world.path / "two"
    hooks(
        world, "enterprise", "beforeShellExecution", {"command": f"read x < '{one}'; echo y > '{two}'; {says(ALLOW)}"}
    )
    hooks(world, "user", "beforeShellExecution", {"command": f"echo x > '{one}'; read y < '{two}'; {says(ALLOW)}"})
    fired = shell(world)
    assert [run["permission"] for run in fired.runs] == ["allow", "allow"]


def test_a_hook_that_hangs_does_not_hold_up_the_answers_of_others(world: World) -> None:
    hooks(world, "enterprise", "beforeShellExecution", {"command": "sleep 60", "timeout": 0.3})
    hooks(world, "user", "beforeShellExecution", says(ALLOW))
    fired = shell(world)
    assert fired.failures == ["timed out", None]
    assert fired.decision["permission"] == "allow"


def test_observers_run_although_another_hook_denies(world: World) -> None:
    hooks(world, "enterprise", "beforeShellExecution", says(DENY))
    hooks(world, "user", "beforeShellExecution", f"cat > '{world.path}/seen'")
    fired = shell(world)
    assert fired.exit == 20
    assert json.loads((world.path / "seen").read_bytes())["command"] == "ls"


def test_results_come_in_configured_order_whoever_ends_first(world: World) -> None:
    hooks(world, "enterprise", "beforeShellExecution", f"sleep 0.2; {says(DENY)}")
    hooks(world, "user", "beforeShellExecution", says('{"permission": "deny", "user_message": "Nor I."}'))
    fired = shell(world)
    assert [run["layer"] for run in fired.runs] == ["enterprise", "user"]
    assert fired.decision["user_message"] == "No.\n\n---\n\nNor I."


def many(world: World) -> list[str]:
    """128 hooks of one event, each of which counts how often it was called; their commands."""
    world.script("home/.cursor/hook.sh", f'#!/bin/sh\necho x >> "count.$1"\n{says(ALLOW)}\n')
    commands = [f"./hook.sh {number}" for number in range(128)]
    hooks(world, "user", "beforeShellExecution", *commands)
    return commands


def counts(world: World) -> set[str]:
    return {file.read_text() for file in (world.home / ".cursor").glob("count.*")}


def test_an_event_may_have_128_hooks(world: World) -> None:
    commands = many(world)
    fired = shell(world)
    assert [(run["line"], run["permission"]) for run in fired.runs] == [(line, "allow") for line in commands]
    assert counts(world) == {"x\n"}


def test_with_few_descriptors_they_take_turns_and_each_runs_once(world: World) -> None:
    commands = many(world)
    fired = trotline(
        world,
        *("fire", "--json", "beforeShellExecution", "--set", "command=ls"),
        prefix=("/bin/sh", "-c", 'ulimit -n 32; exec "$@"', "sh"),
    )
    assert [(run["line"], run["permission"]) for run in fired.runs] == [(line, "allow") for line in commands]
    assert counts(world) == {"x\n"}


@pytest.mark.parametrize("size", [60_000, 65_536, 70_000, 3_000_000])
def test_a_payload_of_any_size_arrives_whole_and_nobody_can_change_it_for_another(world: World, size: int) -> None:
    forge = "(echo forged >&0) 2> /dev/null; (: > /proc/self/fd/0) 2> /dev/null"
    forgers = [f"{forge}; {says('{}')}" for _ in range(2)] if size > 65_536 else []
    readers = [f"cat > '{world.path}/seen.{number}'; echo '{{}}'" for number in range(3)]
    hooks(world, "user", "beforeShellExecution", *forgers, *readers, *forgers)
    payload = {"hook_event_name": "beforeShellExecution", "command": "x" * size}
    fired = fire(world, "--payload", "-", stdin=json.dumps(payload).encode())
    seen = [(world.path / f"seen.{number}").read_bytes() for number in range(3)]
    assert len({hashlib.sha256(data).digest() for data in seen}) == 1
    assert json.loads(seen[0])["command"] == "x" * size
    assert {run["stdin_bytes"] for run in fired.runs} == {len(seen[0])}


@pytest.mark.parametrize("closed, code", [(False, 0), (True, 20)], ids=["open", "closed"])
def test_a_prompt_hook_without_a_model_fails_in_its_own_way(world: World, closed: bool, code: int) -> None:
    entry = {"type": "prompt", "prompt": "Is this safe? $ARGUMENTS", "failClosed": closed}
    hooks(world, "user", "beforeShellExecution", entry)
    fired = shell(world)
    assert (fired.exit, fired.failures) == (code, ["not available"])
    assert "no model is configured" in fired.runs[0]["failure"]["detail"]


def test_two_workspace_roots_are_two_layers(world: World) -> None:
    other = world.path / "other"
    for root in (world.project, other):
        listed = {"beforeShellExecution": [{"command": dumps(world, root.name)}]}
        world.write(f"{root.name}/.cursor/hooks.json", json.dumps({"version": 1, "hooks": listed}))
    roots = ("--project", str(other))
    assert trotline(world, "trust", "--yes", *roots).exit == 0
    fired = shell(world, *roots)
    assert [run["place"].split("/.cursor/")[0] for run in fired.runs] == [str(other), str(world.project)]
    assert fired.data["event"]["workspace_roots"] == [str(other), str(world.project)]
    for root in (world.project, other):
        assert dumped(world, root.name)["IN"] == str(root)
        assert dumped(world, root.name)["CURSOR_PROJECT_DIR"] == str(root)


# rewritten input


@pytest.fixture
def rewriting(world: World) -> World:
    """A person's hook turns every command into `rm`, which the enterprise does not allow."""
    no_rm = json.dumps({"permission": "deny", "user_message": "no rm"})
    judge = f"""if grep -q '"command":"rm'; then echo '{no_rm}'; else echo '{{}}'; fi"""
    hooks(world, "enterprise", "preToolUse", judge)
    hooks(world, "user", "preToolUse", says({"permission": "allow", "updated_input": {"command": "rm -r /"}}))
    return world


TOOL = ("preToolUse", "--set", "tool_name=Shell", "--set", 'tool_input={"command": "ls"}')


def test_rewritten_input_is_judged_again(rewriting: World) -> None:
    fired = fire(rewriting, *TOOL)
    assert fired.exit == 20
    assert fired.decision["user_message"] == "no rm"
    assert [run["layer"] for run in fired.runs] == ["enterprise", "user", "enterprise"]
    assert [run["permission"] for run in fired.runs] == ["silent", "allow", "deny"]


@pytest.mark.parametrize("edition", ["2026-02", "2026-09"])
def test_in_an_edition_of_cursor_rewritten_input_escapes_judgement(rewriting: World, edition: str) -> None:
    fired = fire(rewriting, *TOOL, "--edition", edition)
    assert fired.exit == 0
    assert fired.decision["edited_input"] == {"command": "rm -r /"}
    assert len(fired.runs) == 2


def test_of_two_rewrites_the_last_wins_and_both_names_are_recorded(world: World) -> None:
    for layer, text in (("enterprise", "a"), ("user", "b")):
        hooks(world, layer, "preToolUse", says({"permission": "allow", "updated_input": {"command": text}}))
    fired = fire(world, *TOOL, "--edition", "2026-09")
    first, last = (run["id"] for run in fired.runs)
    assert fired.decision["edited_input"] == {"command": "b"}
    assert fired.decision["overruled"] == [{"field": "edited_input", "kept": last, "lost": first}]


# sessions


def fire_sessions(world: World) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = trotline(world, "sessions", "--json").envelope["data"]
    return answer


def start(world: World, conversation: str, env: dict[str, str], layer: str = "user") -> None:
    hooks(world, layer, "sessionStart", says({"env": env}))
    assert fire(world, "sessionStart", "--set", f"conversation_id={conversation}").decision["env"] == env


def test_variables_of_a_session_reach_its_later_hooks_and_no_others(world: World) -> None:
    start(world, "one", {"TICKET": "17", "EMPTY": ""})
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    shell(world, "--set", "conversation_id=one")
    assert dumped(world, "env")["TICKET"] == "17"
    assert dumped(world, "env")["EMPTY"] == ""
    shell(world, "--set", "conversation_id=two")
    assert "TICKET" not in dumped(world, "env")


def test_variables_of_a_session_win_over_inherited_ones(world: World) -> None:
    start(world, "one", {"TICKET": "17"})
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    shell(world, "--set", "conversation_id=one", environment={"TICKET": "0"})
    assert dumped(world, "env")["TICKET"] == "17"


def test_a_session_cannot_pretend_to_be_the_host(world: World) -> None:
    start(world, "one", {"CURSOR_PROJECT_DIR": "/forged", "CURSOR_VERSION": "9", "TROTLINE_RUN": "forged"})
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    shell(world, "--set", "conversation_id=one", "--set", "cursor_version=3")
    environment = dumped(world, "env")
    assert environment["CURSOR_PROJECT_DIR"] == str(world.project)
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
def test_a_lower_layer_cannot_take_over_the_hooks_of_a_higher_one(world: World, higher: str) -> None:
    start(world, "one", {**PRIVILEGED, "TICKET": "17", "MY_PATH": "/mine", "PROXY": "/mine"})
    hooks(world, higher, "beforeShellExecution", dumps(world, "above"))
    hooks(world, "user", "beforeShellExecution", dumps(world, "own"))
    fired = shell(world, "--set", "conversation_id=one")
    above, own = dumped(world, "above"), dumped(world, "own")
    assert not any("/from-below" in value for value in above.values())
    assert (above["TICKET"], above["MY_PATH"], above["PROXY"]) == ("17", "/mine", "/mine")
    assert {key: own[key] for key in PRIVILEGED} == PRIVILEGED
    assert {loss["what"] for loss in fired.data["losses"]} == {f"env.{name}" for name in PRIVILEGED}
    assert {loss["why"] for loss in fired.data["losses"]} == {
        f"a hook of the {higher} layer is not told this by one with less authority"
    }


def test_a_higher_layer_may_set_anything_for_a_lower_one(world: World) -> None:
    start(world, "one", {"GIT_SSH_COMMAND": "ssh -x", "HTTPS_PROXY": "proxy"}, layer="enterprise")
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    fired = shell(world, "--set", "conversation_id=one")
    assert fired.data["losses"] == []
    assert (dumped(world, "env")["GIT_SSH_COMMAND"], dumped(world, "env")["HTTPS_PROXY"]) == ("ssh -x", "proxy")


def test_what_was_lost_is_in_the_story(world: World) -> None:
    start(world, "one", {"PYTHONPATH": "/x"})
    hooks(world, "enterprise", "beforeShellExecution", says("{}"))
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--set", "conversation_id=one")
    assert "lost: env.PYTHONPATH: a hook of the enterprise layer is not told this" in trotline(world, *words).stdout


def test_variables_of_several_hooks_merge_and_the_later_wins(world: World) -> None:
    hooks(world, "enterprise", "sessionStart", says({"env": {"A": "1", "B": "1"}}))
    hooks(world, "user", "sessionStart", says({"env": {"B": "2"}}))
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    started = fire(world, "sessionStart")
    assert started.decision["env"] == {"A": "1", "B": "2"}
    assert [one["field"] for one in started.decision["overruled"]] == ["env.B"]
    shell(world)
    assert (dumped(world, "env")["A"], dumped(world, "env")["B"]) == ("1", "2")


def test_only_the_start_of_a_session_sets_variables(world: World) -> None:
    hooks(world, "user", "beforeShellExecution", says({"permission": "allow", "env": {"A": "1"}}))
    fired = shell(world)
    assert fired.runs[0]["warnings"] == ["`env` is not taken by beforeShellExecution"]
    assert fire_sessions(world) == []


def test_sessions_are_listed_without_the_values_of_their_variables(world: World) -> None:
    start(world, "one", {"TOKEN": "s3cret", "A": "1"})
    start(world, "two", {"B": "2"})
    listed = {session["conversation"]: session["variables"] for session in fire_sessions(world)}
    assert listed == {"one": ["A", "TOKEN"], "two": ["B"]}
    told = trotline(world, "sessions")
    assert told.exit == 0
    assert "variables: A, TOKEN" in told.stdout
    assert "s3cret" not in told.stdout


def test_one_session_or_all_can_be_forgotten(world: World) -> None:
    for name in ("one", "two", "three"):
        start(world, name, {"A": "1"})
    forgotten = trotline(world, "sessions", "--clear", "two")
    assert (forgotten.exit, forgotten.stdout) == (0, "1 conversation forgotten\n")
    assert {session["conversation"] for session in fire_sessions(world)} == {"one", "three"}
    assert trotline(world, "sessions", "--clear", "two").exit == 1
    everything = trotline(world, "sessions", "--clear-all", "--json")
    assert (everything.exit, everything.data) == (0, {"forgotten": 2})
    assert trotline(world, "sessions").stdout == "nothing is remembered\n"
    assert trotline(world, "sessions", "--clear-all").exit == 0


def test_a_forgotten_session_gives_nothing_to_later_hooks(world: World) -> None:
    start(world, "one", {"TICKET": "17"})
    hooks(world, "user", "beforeShellExecution", dumps(world, "env"))
    trotline(world, "sessions", "--clear", "one")
    shell(world, "--set", "conversation_id=one")
    assert "TICKET" not in dumped(world, "env")


def test_files_of_sessions_are_private_and_say_nothing_of_the_conversation(world: World) -> None:
    start(world, "../../secret", {"A": "1"})
    directory = world.home / ".local/state/trotline/v1/sessions"
    assert directory.stat().st_mode & 0o777 == 0o700
    files = [file for file in world.home.rglob("*") if file.is_file() and "state" in file.parts]
    assert {file.parent for file in files if file.name != "key"} == {
        directory
    }  # the key that unsaid names are known by
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert not any("secret" in file.name for file in files)


# follow-ups


def follow_ups(world: World, times: int, *words: str) -> list[str]:
    """The follow-up of each of so many stops."""
    return [stop(world, *words).decision["follow_up"] for _ in range(times)]


def test_a_stop_hook_goes_on_five_times_by_default(world: World) -> None:
    hooks(world, "user", "stop", says({"followup_message": "on"}))
    assert follow_ups(world, 5) == ["on"] * 5
    sixth = stop(world)
    assert sixth.decision["follow_up"] == ""
    assert sixth.runs[0]["warnings"] == ["its loop_limit of 5 is reached; the follow-up was not sent"]
    assert sixth.data["event"]["loop_count"] == 5


def test_a_limit_of_null_is_none(world: World) -> None:
    hooks(world, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": None})
    assert follow_ups(world, 7) == ["on"] * 7


def test_hooks_of_claude_codes_files_have_no_limit(world: World) -> None:
    hooks(world, "claude-user", "Stop", says({"decision": "block", "reason": "on"}))
    assert follow_ups(world, 7) == ["on"] * 7


def test_another_limit_is_kept_across_processes(world: World) -> None:
    hooks(world, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 3})
    assert follow_ups(world, 4) == ["on"] * 3 + [""]


def test_in_2025_11_the_limit_is_five_for_everyone(world: World) -> None:
    hooks(world, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(world, 6, "--edition", "2025-11") == ["on"] * 5 + [""]


def test_each_script_has_its_own_count(world: World) -> None:
    first = {"command": says({"followup_message": "first"}), "loop_limit": 1}
    second = {"command": says({"followup_message": "second"}), "loop_limit": 2}
    hooks(world, "user", "stop", first, second)
    assert follow_ups(world, 4) == ["second", "second", "first", ""]


def test_each_conversation_has_its_own_count(world: World) -> None:
    hooks(world, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(world, 2, "--set", "conversation_id=one") == ["on", ""]
    assert follow_ups(world, 2, "--set", "conversation_id=two") == ["on", ""]


def test_hooks_are_told_how_often_the_agent_went_on(world: World) -> None:
    hooks(world, "user", "stop", f"cat > '{world.path}/seen'; echo '{{\"followup_message\": \"on\"}}'")
    seen = []
    for _ in range(3):
        stop(world)
        seen.append(json.loads((world.path / "seen").read_bytes())["loop_count"])
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("status", ["completed", "aborted", "error"])
def test_a_stop_takes_a_follow_up_at_any_status(world: World, status: str) -> None:
    hooks(world, "user", "stop", says({"followup_message": "on"}))
    assert fire(world, "stop", "--set", f"status={status}").decision["follow_up"] == "on"


@pytest.mark.parametrize("status", ["aborted", "error", ""])
def test_a_sub_agent_that_did_not_complete_is_not_followed_up(world: World, status: str) -> None:
    hooks(world, "user", "subagentStop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    words = ("subagentStop", "--set", "subagent_type=explore", "--set", f"status={status}")
    fired = fire(world, *words)
    assert fired.decision["follow_up"] == ""
    assert "only when the sub-agent completed" in fired.runs[0]["warnings"][0]
    assert fire_sessions(world) == []
    completed = fire(world, "subagentStop", "--set", "subagent_type=explore", "--set", "status=completed")
    assert completed.decision["follow_up"] == "on"


def test_each_sub_agent_has_its_own_count(world: World) -> None:
    hooks(world, "user", "subagentStop", {"command": says({"followup_message": "on"}), "loop_limit": 2})

    def ends(agent: str) -> str:
        words = ("--set", "subagent_type=explore", "--set", "status=completed", "--set", f"subagent_id={agent}")
        followed: str = fire(world, "subagentStop", *words).decision["follow_up"]
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


def test_an_empty_follow_up_is_none_and_is_not_counted(world: World) -> None:
    hooks(world, "user", "stop", says({"followup_message": ""}))
    assert stop(world).decision["follow_up"] == ""
    assert fire_sessions(world) == []


def test_a_forgotten_session_counts_from_the_start(world: World) -> None:
    hooks(world, "user", "stop", {"command": says({"followup_message": "on"}), "loop_limit": 1})
    assert follow_ups(world, 2) == ["on", ""]
    assert trotline(world, "sessions", "--clear-all").exit == 0
    assert follow_ups(world, 2) == ["on", ""]


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"schema": "trotline.session/2"}', b'{"schema": "trotline.session/1", "env": 5}'],
    ids=["empty", "cut", "list", "no text", "newer", "type"],
)
def test_a_damaged_session_is_an_alarm_and_nothing_in_it_is_believed(world: World, damage: bytes) -> None:
    start(world, "one", {"TICKET": "17"})
    (file,) = (world.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(damage)
    hooks(world, "user", "stop", f"env > '{world.path}/env.env'; echo '{{\"followup_message\": \"on\"}}'")
    fired = stop(world, "--set", "conversation_id=one")
    assert [str(file) in alarm for alarm in fired.data["alarms"]] == [True]
    assert fired.decision["follow_up"] == ""
    assert fired.runs[0]["warnings"] == ["a follow-up is not sent while the session cannot be read"]
    assert "TICKET" not in dumped(world, "env")
    assert file.read_bytes() == damage


def test_a_damaged_session_is_listed_with_its_alarm_and_can_be_forgotten(world: World) -> None:
    start(world, "one", {"TICKET": "17"})
    (file,) = (world.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(b"{")
    assert [str(file) in session["alarm"] for session in fire_sessions(world)] == [True]
    assert trotline(world, "sessions", "--clear", "one").exit == 0
    assert fire_sessions(world) == []


def test_an_alarm_is_in_the_story(world: World) -> None:
    start(world, "one", {"TICKET": "17"})
    (file,) = (world.home / ".local/state/trotline/v1/sessions").glob("*.json")
    file.write_bytes(b"{")
    words = ("fire", "beforeShellExecution", "--set", "command=ls", "--set", "conversation_id=one")
    assert f"alarm: the session {file} is damaged" in trotline(world, *words).stdout
