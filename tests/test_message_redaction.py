"""Messages quote actions without secrets and personal data."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import read_rows
from secret_samples import fill_template
from trotline.domain.outcomes import Call
from trotline.hook.process import handle_call

TOKEN, MAIL, CARD = fill_template("ghp_{crc*36}"), "alice.smith@acme-corp.com", "4539148803436467"


def sent(home: Path, event: str, **fields: Any) -> str:
    """Return the reply as the agent gets it."""
    body = {"hook_event_name": event, "conversation_id": "c", "cwd": "/w/p", "workspace_roots": ["/w/p"], **fields}
    argv = ("--agent", "cursor", "--event", event, "--home", str(home))
    answer, _ = handle_call(Call(id="i", argv=argv, payload=json.dumps(body).encode(), received_us=5), [], guarded=True)
    return answer.stdout + answer.stderr


@pytest.mark.parametrize("value", [TOKEN, MAIL, CARD], ids=["token", "mail", "card"])
@pytest.mark.parametrize("event,fields", read_rows("message_redaction", "redacted_actions"), ids=str)
def test_a_refusal_quotes_the_redacted_action(tmp_path: Path, value: str, event: str, fields: dict[str, Any]) -> None:
    filled = json.dumps(fields).replace("VALUE", value).replace("HALF", value[:10]).replace("REST", value[10:])
    output = sent(tmp_path, event, **json.loads(filled))
    assert "(Trotline, guard " in output
    assert value not in output
    assert "[redacted " in output or "*****" in output


@pytest.mark.parametrize("value", [TOKEN, MAIL])
def test_an_unknown_event_is_named_without_its_content(tmp_path: Path, value: str) -> None:
    output = sent(tmp_path, f"stop {value}")
    assert "nothing was judged" in output
    assert value not in output


def test_user_secret_rules_apply_to_messages(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "trotline"
    config.mkdir(parents=True)
    (config / "secrets.toml").write_text(
        "[[rules]]\nid = 'acme'\nregex = '(?i)(bluefalcon)'\nkeywords = ['bluefalcon']\n"
    )
    output = sent(tmp_path, "beforeShellExecution", command="rm -rf /root/Blue''Falcon")
    assert "[redacted acme " in output
    assert "BlueFalcon" not in output


def test_the_message_of_a_user_rule_is_unchanged(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "trotline"
    config.mkdir(parents=True)
    rule = f"[[rule]]\nname = 'ask'\nwhen = 'event.command.contains(\"deploy\")'\ndeny = 'ask {MAIL} first'\n"
    (config / "trotline.toml").write_text(rule)
    assert f"ask {MAIL} first" in sent(tmp_path, "beforeShellExecution", command="make deploy")


def test_a_home_without_a_key_is_no_reason_to_quote_more(tmp_path: Path) -> None:
    (tmp_path / ".local" / "state" / "trotline" / "v1" / "key").mkdir(parents=True)
    output = sent(tmp_path, "preToolUse", tool_name="Read", tool_input={"file_path": f"/root/.ssh/{TOKEN}"})
    assert "[redacted github-personal-token " in output
    assert TOKEN not in output


@pytest.mark.parametrize("path,woken", [("/root/data", False), (f"/root/{TOKEN}", True)])
def test_a_refusal_that_quotes_a_plain_path_wakes_no_scanner(tmp_path: Path, path: str, *, woken: bool) -> None:
    body = {"hook_event_name": "preToolUse", "tool_name": "Delete", "tool_input": {"file_path": path}}
    argv = ("--agent", "cursor", "--event", "preToolUse", "--home", str(tmp_path))
    code = (
        "import sys\nfrom trotline.domain.outcomes import Call\nfrom trotline.hook.process import handle_call\n"
        f"call = Call(id='i', argv={argv!r}, payload={json.dumps(body).encode()!r}, received_us=5)\n"
        "handle_call(call, [], guarded=True)\n"
        "print('trotline.scanners.redaction' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(woken)
