"""The examples, tested as an author would: as plain functions, and as hooks under an agent that is not there."""

import json
import time
from pathlib import Path

import pytest

from sdk import block_git, dangerous_shell, kube_guard, policy, redact_secrets
from trotline.domain.events import BeforeMCP, BeforeReadFile, BeforeShell, BeforeSubmitPrompt, BeforeTabFileRead, Stop
from trotline.domain.verdicts import Permission
from trotline.testing import FakeAgent

HERE = Path(__file__).parent


def hook(agent: FakeAgent, name: str, event: str) -> None:
    agent.add_hook("project", agent.build_command(HERE / f"{name}.py"), event=event)


@pytest.mark.parametrize("command,refused", [("rm -rf build", True), ("rm -fr /", True), ("rm a.txt", False)])
def test_policy_refuses_mass_deletion(agent: FakeAgent, command: str, refused: bool) -> None:
    hook(agent, "policy", "beforeShellExecution")
    assert agent.fire("beforeShellExecution", command=command).is_denied is refused


def test_policy_denies_tools_reads_and_prompts() -> None:
    assert policy.deny_destructive_tools(BeforeMCP(tool_name="drop_table")).permission is Permission.DENY
    assert policy.deny_secret_files(BeforeReadFile(file_path="/srv/shop/.env"))
    assert policy.deny_secret_files(BeforeTabFileRead(file_path="/srv/shop/a.py")) is None
    assert policy.deny_code_names(BeforeSubmitPrompt(prompt="What is Nightjar?"))
    assert policy.deny_code_names(BeforeSubmitPrompt(prompt="What is this?")) is None


def test_policy_requests_tests_once() -> None:
    assert policy.request_tests(Stop(status="completed", loop_count=0))
    assert policy.request_tests(Stop(status="completed", loop_count=1)) is None
    assert policy.request_tests(Stop(status="aborted")) is None


@pytest.mark.parametrize("command", ["rm -rf /", "mkfs.ext4 /dev/sda", ":(){ :|:& };:", "dd of=/dev/sda"])
def test_destructive_commands_are_denied(command: str) -> None:
    assert dangerous_shell.deny_destruction(BeforeShell(command=command))
    assert dangerous_shell.deny_destruction(BeforeShell(command="ls")) is None


def test_agent_continues_until_the_tests_pass(agent: FakeAgent) -> None:
    hook(agent, "run_until_green", "stop")
    report = agent.project / ".tests-failed"
    report.write_text("test_total test_rounding")
    assert agent.fire("stop", status="completed").follow_up.startswith("These tests fail: test_total, test_rounding.")
    report.unlink()
    assert agent.fire("stop", status="completed").follow_up == ""


def test_observed_lines_contain_no_texts(agent: FakeAgent) -> None:
    hook(agent, "observe", "afterShellExecution")
    agent.fire("afterShellExecution", command="curl -H 'Authorization: s3cret' example.com", output="ok", duration=12)
    log, waited = agent.project / "hook_calls.jsonl", time.monotonic() + 10
    while not log.exists() and time.monotonic() < waited:
        time.sleep(0.02)
    line = json.loads(log.read_text())
    assert (line["event"], line["program"], line["ms"], line["bytes"]) == ("afterShellExecution", "curl", 12, 2)
    assert "s3cret" not in log.read_text()


MANIFESTS = [
    ("image: shop\nsecurityContext:\n  privileged: true\n", "a privileged container"),
    ("metadata:\n  namespace: kube-system\n", "the namespace kube-system"),
    ("kind: Pod\n---\nspec:\n  hostNetwork: yes\n", "the host's network"),
    ("image: shop\n# privileged: true\n", ""),
]


@pytest.mark.parametrize("manifest,what", MANIFESTS)
def test_forbidden_settings_of_manifests_are_denied(agent: FakeAgent, manifest: str, what: str) -> None:
    hook(agent, "kube_guard", "beforeShellExecution")
    (agent.project / "shop.yaml").write_text(manifest)
    outcome = agent.fire("beforeShellExecution", command="kubectl apply -f shop.yaml", cwd=str(agent.project))
    assert outcome.is_denied is bool(what)
    assert what in outcome.user_message


def test_remote_manifest_asks_and_missing_manifest_is_denied(agent: FakeAgent) -> None:
    verdict = kube_guard.check_manifests(BeforeShell(command="kubectl apply -f https://example.com/x.yaml"))
    assert verdict is not None
    assert verdict.permission is Permission.ASK
    hook(agent, "kube_guard", "beforeShellExecution")
    assert agent.fire("beforeShellExecution", command="kubectl apply -f none.yaml", cwd=str(agent.project)).is_denied


def test_second_failure_in_a_row_gets_a_follow_up(agent: FakeAgent) -> None:
    hook(agent, "track_stop", "stop")
    messages = [
        agent.fire("stop", status=status).follow_up for status in ("error", "completed", "error", "error", "error")
    ]
    assert [bool(text) for text in messages] == [False, False, False, True, False]


def test_git_network_access_is_denied_and_rewriting_history_asks() -> None:
    assert block_git.use_gh(BeforeShell(command="git push")).agent_message == "Use the gh command for that."
    assert block_git.keep_history(BeforeShell(command="git rebase main")).permission is Permission.ASK


@pytest.mark.parametrize("event", ["beforeReadFile", "beforeTabFileRead"])
def test_files_with_keys_are_denied(agent: FakeAgent, event: str) -> None:
    hook(agent, "redact_secrets", event)
    assert agent.fire(event, file_path="/srv/shop/ci.yml", content=f"token: ghp_{'a' * 36}").is_denied
    assert not agent.fire(event, file_path="/srv/shop/a.py", content="print(1)").is_denied
    assert redact_secrets.deny_keys(BeforeReadFile(file_path="a", content="AKIA" + "A" * 16))
