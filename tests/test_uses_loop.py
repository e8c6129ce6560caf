"""Built-in hooks for the agent's loop: context at the start; tests, reports and waiting at the end."""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builtin_uses import Server, Use, secret
from trotline.builtin.destinations import MAX_WAITING, Outbox, strip_url, validate_url
from trotline.builtin.env_files import EnvFiles
from trotline.builtin.hold_stop import _has_failed
from trotline.domain.errors import TrotlineError, UsageError
from trotline.domain.events import BeforeShell

COMPLETED: dict[str, Any] = {"status": "completed", "loop_count": 0}


@pytest.fixture
def green(tmp_path: Path) -> Use:
    use = Use(tmp_path, "until-green")
    use.write("Makefile", "test:\n\t@cat said; test ! -e broken\n")
    use.write("said", "")
    return use


def test_the_agent_goes_on_until_the_tests_pass(green: Use) -> None:
    green.write("said", "1 failed: test_total\n")
    broken = green.write("broken", "")
    for result in (green.agent.fire("stop", **COMPLETED).follow_up, green.by_hand("stop").body["followup_message"]):
        assert result.startswith(
            "`make test` fails with exit code 2. Fix what it says, then stop.\n\n1 failed: test_total"
        )
    broken.unlink()
    assert green.agent.fire("stop", **COMPLETED).follow_up == ""
    assert green.by_hand("stop").body == {}


@pytest.mark.parametrize("status", ["aborted", "error"])
def test_no_test_runs_for_an_aborted_or_failed_agent(green: Use, status: str) -> None:
    green.write("Makefile", "test:\n\t@touch was-run; false\n")
    assert green.agent.fire("stop", status=status).follow_up == ""
    assert green.by_hand("stop", status=status).body == {}
    assert not (green.project / "was-run").exists()


def test_the_loop_limit_ends_it(green: Use) -> None:
    green.write("broken", "")
    result = [bool(green.by_hand("stop", **COMPLETED).body) for _ in range(7)]
    assert result == [True] * 5 + [False] * 2
    assert "its loop_limit of 5 is reached" in green.by_hand("stop", **COMPLETED).stderr


def test_no_secret_of_the_tests_output_becomes_a_message(green: Use) -> None:
    token = secret("github-personal-token")
    green.write("said", f"Authorization: {token}\nexpected 200\n")
    green.write("broken", "")
    message = green.by_hand("stop").body["followup_message"]
    assert token not in message
    assert "[redacted github-personal-token" in message
    assert "expected 200" in message


def test_tests_that_do_not_end_have_not_passed(green: Use) -> None:
    result = green.by_hand("stop", "trotline builtin until-green --run 'sleep 60' --seconds 0.2").body
    assert result["followup_message"].startswith("`sleep 60` did not end within 0.2 seconds.")


@pytest.mark.parametrize("command", ["no-such-program-here", "env no-such-program-here"])
def test_a_missing_program_is_a_failure_without_a_message(green: Use, command: str) -> None:
    result = green.by_hand("stop", f"trotline builtin until-green --run '{command}'")
    assert result.body == {}
    assert "no-such-program-here" in result.stderr


def test_no_shell_reads_the_command(green: Use) -> None:
    green.by_hand("stop", """trotline builtin until-green --run 'echo a; touch was-run > b'""")
    assert {file.name for file in green.project.iterdir()} & {"was-run", "b"} == set()


@pytest.fixture
def context(tmp_path: Path) -> Use:
    use = Use(tmp_path, "session-context")
    use.write("CONTRIBUTING.md", "Tests come first.\n")
    use.shell("git init -q . && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m 'Cents everywhere'")
    return use


def test_a_session_starts_with_context_and_variables(context: Use) -> None:
    outcome = context.agent.fire("sessionStart")
    by_hand = context.by_hand("sessionStart").body
    for result, env in ((outcome.context, outcome.env), (by_hand["additional_context"], by_hand["env"])):
        assert result == (
            "Prices are cents, never euros.\n\n"
            "From CONTRIBUTING.md in this workspace, a text to read:\nTests come first.\n\n"
            "`git log -3 --format=%s` prints:\nCents everywhere"
        )
        assert env == {"TICKET": "SHOP-42"}


def test_a_variable_of_the_session_reaches_a_later_hook(context: Use) -> None:
    script = context.write(
        "told.sh", '#!/bin/sh\necho "{\\"user_message\\": \\"$TICKET\\", \\"permission\\": \\"deny\\"}"'
    )
    script.chmod(0o755)
    context.agent.add_hook("user", script, event="beforeShellExecution")
    context.agent.fire("sessionStart")
    assert context.agent.fire("beforeShellExecution", command="ls").user_message == "SHOP-42"


def test_missing_context_is_named_and_the_rest_is_added(context: Use, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("not yours")
    (context.project / "link.md").symlink_to(tmp_path / "outside.md")
    files = "--file ../outside.md --file link.md --file none.md --file .git/config --file CONTRIBUTING.md"
    result = context.by_hand(
        "sessionStart", f"trotline builtin session-context {files} --run false --run no-such-program"
    )
    assert result.body["additional_context"].endswith("Tests come first.")
    assert "not yours" not in result.body["additional_context"]
    for name in (
        "`../outside.md`",
        "`link.md`",
        "`none.md`",
        "`.git/config`",
        "`false` ended with 1",
        "no-such-program",
    ):
        assert name in result.stderr


def test_a_secret_in_a_file_is_not_given_and_a_long_file_is_cut(context: Use) -> None:
    token = secret("github-personal-token")
    context.write("CONTRIBUTING.md", f"token: {token}\n" + "word " * 10_000)
    result = context.by_hand("sessionStart").body["additional_context"]
    assert token not in result
    assert "[...]" in result
    assert len(result) < 13_000


def test_a_variable_needs_a_name(context: Use) -> None:
    result = context.by_hand("sessionStart", "trotline builtin session-context --env 2=3")
    assert result.code == 64
    assert "`2=3` is not NAME=VALUE" in result.stderr


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def test_two_failures_in_a_row_are_too_many_and_every_stop_is_reported(tmp_path: Path, server: Server) -> None:
    use = Use(tmp_path, "forward", AGENT_TELEMETRY_URL=server.url)
    statuses = ("error", "completed", "error", "error", "error")
    result = [use.agent.fire("stop", status=status).follow_up for status in statuses]
    assert [bool(text) for text in result] == [False, False, False, True, False]
    assert result[3].startswith("This has failed 2 times in a row.")
    reports = sorted(server.got(5), key=lambda report: report["at_us"])
    assert [(one["status"], one["stops"], one["failures"], one["in_a_row"]) for one in reports] == [
        ("error", 1, 1, 1),
        ("completed", 2, 1, 0),
        ("error", 3, 2, 1),
        ("error", 4, 3, 2),
        ("error", 5, 4, 3),
    ]


def test_the_counts_of_conversations_are_apart_and_by_hand_the_same(tmp_path: Path, server: Server) -> None:
    use = Use(tmp_path, "forward", AGENT_TELEMETRY_URL=server.url)
    assert use.by_hand("stop", status="error").body == {}
    assert use.by_hand("stop", status="error", conversation_id="another").body == {}
    assert "followup_message" in use.by_hand("stop", status="error").body
    assert [one["in_a_row"] for one in sorted(server.got(3), key=lambda report: report["at_us"])] == [1, 1, 2]


def test_a_secret_in_an_id_is_not_reported(tmp_path: Path, server: Server) -> None:
    use, token = Use(tmp_path, "forward", AGENT_TELEMETRY_URL=server.url), secret("github-personal-token")
    use.by_hand("stop", conversation_id=token)
    assert token not in json.dumps(server.got(1))
    assert all(token not in str(file) + file.read_text() for file in use.state.rglob("*") if file.is_file())


def test_a_dead_server_does_not_block_and_gets_its_reports_later(tmp_path: Path, server: Server) -> None:
    use = Use(tmp_path, "forward", AGENT_TELEMETRY_URL=server.url)
    server.status = 503
    assert use.by_hand("stop", status="completed").body == {}
    assert len(server.got(1)) == 1
    wait_for_trouble(use)
    error_output = use.by_hand("stop", status="completed").stderr
    assert "1 of at most 200 reports wait for http://127.0.0.1" in error_output
    assert "answered with status 503" in error_output
    assert "s3cret" not in error_output
    server.got(2)
    server.status = 200
    server.received.clear()
    use.by_hand("stop", status="completed")
    assert [one["stops"] for one in server.got(3)] == [1, 2, 3]


def wait_for_trouble(use: Use) -> None:
    until = time.monotonic() + 30
    while not [*use.state.glob("outbox/*/trouble")] and time.monotonic() < until:
        time.sleep(0.02)
    assert [*use.state.glob("outbox/*/trouble")]


def test_without_a_url_only_counts_are_stored(tmp_path: Path) -> None:
    use = Use(tmp_path, "forward")
    assert [bool(use.by_hand("stop", status="error").body) for _ in range(3)] == [False, True, False]
    assert not (use.state / "outbox").exists()
    assert use.state.stat().st_mode & 0o777 == 0o700


def test_an_open_line_is_no_place_for_reports_and_the_counts_go_on(tmp_path: Path) -> None:
    use = Use(tmp_path, "forward", AGENT_TELEMETRY_URL="http://telemetry.example/x?key=s3cret")
    result = use.by_hand("stop", status="error")
    assert "nothing is sent to `http://telemetry.example/x`" in result.stderr
    assert "s3cret" not in result.stderr
    assert use.by_hand("stop", status="error").body
    assert use.by_hand("stop", "trotline builtin forward --send summaries --url http://telemetry.example").code == 64


@pytest.mark.parametrize(
    "url", ["ftp://example.com", "https://", "http://[::1", "file:///etc/passwd", "x", "http://a:b"]
)
def test_only_addresses_of_servers_are_taken(url: str) -> None:
    with pytest.raises(UsageError):
        validate_url(url)


def test_headers_come_from_a_private_file(tmp_path: Path, server: Server) -> None:
    use = Use(tmp_path, "forward")
    line = f"trotline builtin forward --send summaries --url {server.url} --headers-file {use.home}/headers"
    headers = use.home / "headers"
    headers.write_text("Authorization: Bearer s3cret\n")
    headers.chmod(0o644)
    use.by_hand("stop", line)
    wait_for_trouble(use)
    error_output = use.by_hand("stop", line).stderr
    assert "others may read" in error_output
    assert "s3cret" not in error_output
    headers.chmod(0o600)
    use.by_hand("stop", line)
    assert len(server.got(3)) == 3
    assert server.headers[-1]["authorization"] == "Bearer s3cret"


def test_a_url_is_shown_without_its_secrets() -> None:
    assert strip_url("https://me:pw@example.com/a?key=1#2") == "https://example.com/a"
    assert validate_url("https://example.com:8443/a") == "https://example.com:8443/a"


def test_reports_for_one_server_are_never_sent_to_another(tmp_path: Path, server: Server) -> None:
    headers = tmp_path / "headers"
    headers.write_text("Authorization: Bearer b")
    headers.chmod(0o600)
    dead = Outbox(tmp_path / "outbox", "http://127.0.0.1:1/a")
    dead.put({"of": "project a"})
    elsewhere, as_another = (
        Outbox(tmp_path / "outbox", server.url),
        Outbox(tmp_path / "outbox", server.url, str(headers)),
    )
    for outbox, body in ((elsewhere, {"of": "project b"}), (as_another, {"of": "project c"})):
        outbox.put(body)
    as_another.send()
    elsewhere.send()
    assert [one["of"] for one in server.got(2)] == ["project c", "project b"]
    assert len([*dead.directory.glob("*.json")]) == 1


def test_an_outbox_does_not_grow_without_end(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", "https://telemetry.example")
    for number in range(MAX_WAITING + 3):
        outbox.put({"number": number})
    numbers = [json.loads(file.read_text())["number"] for file in outbox.directory.glob("*.json")]
    assert sorted(numbers) == list(range(3, MAX_WAITING + 3))


def test_an_agent_with_its_own_event_names_gets_its_reply_format(tmp_path: Path) -> None:
    use = Use(tmp_path, "until-green")
    body = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(use.project), "stop_hook_active": False}
    result = use.run_payload("trotline builtin until-green --run false --agent claude-code", body)
    assert result.body["decision"] == "block"
    assert result.body["reason"].startswith("`false` fails with exit code 1.")


@pytest.fixture
def holding(tmp_path: Path) -> Use:
    return Use(tmp_path, "hold-stop")


def build_shell_result(use: Use, command: str, code: int) -> dict[str, Any]:
    output = json.dumps({"output": "", "exitCode": code})
    return {"tool_name": "Shell", "tool_input": {"command": command}, "tool_output": output}


def test_a_stop_is_held_until_approval_and_check(holding: Use) -> None:
    agent = holding.agent
    held = agent.fire("stop", **COMPLETED).follow_up
    assert held.startswith("Not yet. Before you stop:\n- wait until `")
    assert held.endswith("- run what `^make test$` asks for, after your last edit")
    (holding.home / "approved").touch()
    agent.fire("postToolUse", **build_shell_result(holding, "make test", 1))
    assert "approved" not in agent.fire("stop", **COMPLETED).follow_up
    agent.fire("postToolUse", **build_shell_result(holding, "make test", 0))
    assert agent.fire("stop", **COMPLETED).follow_up == ""


def test_a_check_counts_until_the_next_edit(holding: Use) -> None:
    (holding.home / "approved").touch()
    holding.by_hand("postToolUse", **build_shell_result(holding, "make test", 0))
    assert holding.by_hand("stop", **COMPLETED).body == {}
    holding.by_hand("afterFileEdit", file_path="/srv/shop/a.py")
    assert "run what `^make test$` asks for" in holding.by_hand("stop", **COMPLETED).body["followup_message"]


@pytest.mark.parametrize("command", ["echo make test", "make test; true", "make"])
def test_another_command_is_not_the_check(holding: Use, command: str) -> None:
    (holding.home / "approved").touch()
    holding.by_hand("postToolUse", **build_shell_result(holding, command, 0))
    assert "make test" in holding.by_hand("stop", **COMPLETED).body["followup_message"]


@pytest.mark.parametrize("status", ["aborted", "error"])
def test_an_aborted_or_failed_agent_is_not_held(holding: Use, status: str) -> None:
    assert holding.agent.fire("stop", status=status).follow_up == ""
    assert holding.by_hand("stop", status=status).body == {}


def test_a_signal_that_comes_while_we_wait_is_seen(holding: Use) -> None:
    signal = holding.project / "go"
    line = "trotline builtin hold-stop --until-file go --containing yes --wait 60"
    writer = threading.Timer(0.5, lambda: signal.write_text("I say yes"))
    writer.start()
    assert holding.by_hand("stop", line, **COMPLETED).body == {}
    writer.join()


def test_a_file_with_other_content_is_no_signal(holding: Use) -> None:
    holding.write("go", "no")
    line = "trotline builtin hold-stop --until-file go --containing yes --message 'The release waits.'"
    result = holding.by_hand("stop", line, **COMPLETED).body["followup_message"]
    assert result.startswith("The release waits.\n- wait until `go` exists and contains `yes`")


@pytest.mark.parametrize("command,held", [("true", False), ("false", True), ("no-such-program", True)])
def test_a_command_is_the_signal_when_it_ends_with_0(holding: Use, command: str, held: bool) -> None:
    result = holding.by_hand("stop", f"trotline builtin hold-stop --until {command}", **COMPLETED)
    assert bool(result.body) is held
    assert ("no-such-program" in result.stderr) is (command == "no-such-program")


def test_an_empty_condition_or_a_broken_pattern_is_an_error(holding: Use) -> None:
    assert holding.by_hand("stop", "trotline builtin hold-stop").code == 64
    assert (
        "is not a valid JavaScript regular expression"
        in holding.by_hand("stop", "trotline builtin hold-stop --require '('").stderr
    )


@pytest.fixture
def mounts(tmp_path: Path) -> Use:
    return Use(tmp_path, "env-files")


def get_refusal(use: Use, line: str = "") -> str:
    """Return the refusal of the hook and the engine, or "" if both allow."""
    by_hand = use.by_hand("beforeShellExecution", line, command="npm start", cwd=str(use.project))
    if not line:
        outcome = use.agent.fire("beforeShellExecution", command="npm start", cwd=str(use.project))
        assert outcome.is_denied is (by_hand.body.get("permission") == "deny")
        assert outcome.user_message == by_hand.body.get("user_message", "")
    return str(by_hand.body.get("user_message", ""))


def test_no_command_runs_before_its_environment_file_is_there(mounts: Use) -> None:
    assert get_refusal(mounts) == "This command was not run: `.env` is not there. Mount it, then try again."
    mounts.write(".env", "# ours\n\nexport DATABASE_URL=postgres://db\nB=2\n")
    assert get_refusal(mounts) == ""


def test_a_mount_is_checked_and_never_opened(mounts: Use) -> None:
    os.mkfifo(mounts.project / ".env")  # opening it would block
    assert get_refusal(mounts) == ""
    assert get_refusal(mounts, "trotline builtin env-files --file .env --mounted") == ""


@pytest.mark.parametrize(
    "text,why",
    [
        ("OTHER=1\n", "does not set DATABASE_URL"),
        ("DATABASE_URL=x\nhunter2-is-here\n", "has something else than NAME=VALUE in line 2"),
        ("DATABASE_URL: hunter2\n", "has something else than NAME=VALUE in line 1"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_its_values_are_not(mounts: Use, text: str, why: str) -> None:
    mounts.write(".env", text)
    result = get_refusal(mounts)
    assert f"`.env` {why}" in result
    assert "hunter2" not in result


def test_files_declared_by_the_project_are_checked(mounts: Use) -> None:
    mounts.write(".env", "DATABASE_URL=1\n")
    mounts.write(".1password/environments.toml", 'mount_paths = ["billing.env"]\n')
    assert "`billing.env` is not there" in get_refusal(mounts)


@pytest.mark.parametrize("declared", ["mount_paths = 3", "mount_paths = [1]", "= broken"])
def test_a_declaration_that_cannot_be_read_refuses(mounts: Use, declared: str) -> None:
    mounts.write(".env", "DATABASE_URL=1\n")
    mounts.write(".1password/environments.toml", declared)
    assert ".1password/environments.toml`" in get_refusal(mounts)


def test_an_unreadable_declaration_denies_without_blocking(tmp_path: Path) -> None:
    gate = EnvFiles((), (), ".1password/environments.toml", needs_mount=False, needs_privacy=False, advice="")
    event = BeforeShell(command="ls", workspace_roots=(str(tmp_path),))
    declared = tmp_path / ".1password/environments.toml"
    declared.parent.mkdir()
    os.mkfifo(declared)
    with pytest.raises(TrotlineError, match="cannot be read: not a regular file"):
        gate.check(event)
    declared.unlink()
    for text in ("a." * 20_000 + "a = 1", "a = " + "[" * 20_000, "a = " + "9" * 5_000):
        declared.write_text(text)
        with pytest.raises(TrotlineError, match="cannot be read as TOML"):
            gate.check(event)
    declared.write_text("mount_paths = ['.env']\n" + "#" * 200_000)
    with pytest.raises(TrotlineError, match="it is larger than 200,000 bytes"):
        gate.check(event)


@pytest.mark.parametrize("code,failed", [("0", False), ("null", False), ("1", True), ("[]", True), ("{}", True)])
def test_an_exit_code_of_any_type_is_read(code: str, failed: bool) -> None:
    assert _has_failed(f'{{"exitCode": {code}}}') is failed


def test_ordinary_files_links_and_files_for_all_to_read_may_be_refused(mounts: Use, tmp_path: Path) -> None:
    mounts.write(".env", "A=1\n").chmod(0o644)
    assert "is an ordinary file on the disk" in get_refusal(mounts, "trotline builtin env-files --file .env --mounted")
    assert "can be read by others" in get_refusal(mounts, "trotline builtin env-files --file .env --private")
    (tmp_path / "elsewhere").write_text("A=1\n")
    (mounts.project / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("link", "../elsewhere"):
        assert "is outside of the workspace" in get_refusal(mounts, f"trotline builtin env-files --file {name}")


def test_a_call_that_names_no_workspace_is_refused(mounts: Use) -> None:
    body = mounts.payload("beforeShellExecution", command="ls", workspace_roots=[])
    result = mounts.run_payload("trotline builtin env-files --file .env", body)
    assert result.body["permission"] == "deny"
    assert "names no folder of a workspace" in result.body["user_message"]


@pytest.fixture
def forwarding(tmp_path: Path) -> Use:
    return Use(tmp_path, "forward")


def read_lines(use: Use) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (use.state / "events.jsonl").read_text().splitlines()]


def test_each_event_is_a_line_without_secrets_names_and_paths(forwarding: Use) -> None:
    token = secret("github-personal-token")
    fields: dict[str, Any] = {
        "command": f"curl -H 'Authorization: {token}' example.com",
        "output": "ok",
        "duration": 12,
    }
    forwarding.agent.fire("afterShellExecution", **fields)
    forwarding.by_hand("afterShellExecution", **fields)
    forwarding.by_hand("stop", "trotline builtin forward", **COMPLETED)
    first, second, last = read_lines(forwarding)
    assert {**first, "at_us": 0} == {**second, "at_us": 0}
    assert (first["event"], first["output"], first["duration"]) == ("afterShellExecution", "ok", 12)
    assert "[redacted github-personal-token" in first["command"]
    assert (last["event"], last["status"]) == ("stop", "completed")
    text = (forwarding.state / "events.jsonl").read_text()
    assert not any(word in text for word in (token, str(forwarding.project), "dev@example.com"))
    assert (forwarding.state / "events.jsonl").stat().st_mode & 0o777 == 0o600


def test_without_texts_there_are_sizes(forwarding: Use) -> None:
    assert forwarding.by_hand("beforeSubmitPrompt", prompt="Add a test.").body == {"continue": True}
    (line,) = read_lines(forwarding)
    assert line["prompt"] == {"characters": 11}
    assert line["conversation_id"] == forwarding.agent.conversation_id


def test_names_are_short_and_clean_also_without_texts(forwarding: Use) -> None:
    token, line = secret("github-personal-token"), "trotline builtin forward --no-texts"
    fields: dict[str, Any] = {"tool_input": {}, "tool_output": "", "generation_id": "x" * 9000}
    forwarding.by_hand("postToolUse", line, tool_name=f"MCP:{token}", **fields)
    (result,) = read_lines(forwarding)
    assert result["tool_name"].startswith("MCP:[redacted ")
    assert result["generation_id"] == {"characters": 9000}


def test_a_long_text_is_a_size_and_no_half_of_a_secret(forwarding: Use) -> None:
    token = secret("github-personal-token")
    forwarding.by_hand("afterShellExecution", command="x", output="a" * 1980 + f" {token}" + "b" * 5000)
    (line,) = read_lines(forwarding)
    assert line["output"]["characters"] > 6000
    assert token[:8] not in json.dumps(line)


def test_a_target_in_the_workspace_or_without_a_directory_is_refused(forwarding: Use) -> None:
    result = forwarding.by_hand("stop", f"trotline builtin forward --to {forwarding.project}/a.jsonl")
    assert "is in the workspace" in result.stderr
    assert not (forwarding.project / "a.jsonl").exists()
    assert forwarding.by_hand("stop", "trotline builtin forward --to a.jsonl").code == 64


def test_a_file_that_has_grown_makes_room(forwarding: Use) -> None:
    forwarding.by_hand("stop", "trotline builtin forward")
    (forwarding.state / "events.jsonl").write_bytes(b"x" * 10_000_000)
    forwarding.by_hand("stop", "trotline builtin forward")
    assert len(read_lines(forwarding)) == 1
    assert (forwarding.state / "events.jsonl.1").stat().st_size == 10_000_000


def test_events_go_to_a_command_and_a_server(forwarding: Use, server: Server) -> None:
    token, output = secret("github-personal-token"), forwarding.project / "received"
    line = f"trotline builtin forward --run 'tee {output}' --url {server.url}"
    forwarding.by_hand("afterShellExecution", line, command=f"echo {token}", output="ok", duration=1)
    (received,) = server.got(1)
    printed = json.loads(output.read_text())
    assert (received["event"], printed["event"]) == ("afterShellExecution", "afterShellExecution")
    assert received["command"] == printed["command"] != f"echo {token}"
    assert not (forwarding.state / "events.jsonl").exists()


def test_summaries_and_diffs_go_to_a_file(forwarding: Use) -> None:
    summaries, diffs = forwarding.home / "summaries.jsonl", forwarding.home / "edits.diff"
    forwarding.by_hand("stop", f"trotline builtin forward --send summaries --to {summaries}", status="error")
    assert json.loads(summaries.read_text())["failures"] == 1
    path = forwarding.write("a.py", "a\n")
    edits = [{"old_string": "b\n", "new_string": "a\n"}]
    line = f"trotline builtin forward --send diffs --to {diffs}"
    forwarding.by_hand("afterFileEdit", line, file_path=str(path), edits=edits)
    assert diffs.read_text().endswith("-b\n+a\n")
