"""Texts in a cold process: same reply as a warm one, and scanners are imported only if needed."""

import json
from pathlib import Path

import pytest

from kit import fill_in, read_rows
from secret_samples import SECRET_TEMPLATES, fill_template
from soak_service import Site, call
from test_hot_path import REPORTING_SCRIPT, build_cold_argv
from trotline.domain.outcomes import Call
from trotline.hook.process import handle_call

TOKEN = fill_template(SECRET_TEMPLATES["github-personal-token"], "cold")


TEXTS = fill_in(read_rows("text_findings_cold", "texts"), token=TOKEN)


@pytest.mark.parametrize("event, fields", TEXTS)
def test_cold_and_warm_replies_about_a_text_are_equal(
    site: Site, tmp_path: Path, event: str, fields: dict[str, object]
) -> None:
    body = json.dumps({"hook_event_name": event, "conversation_id": "c", "workspace_roots": ["/srv/app"], **fields})
    words = build_cold_argv(site, tmp_path, "cursor", event)
    ended = call(words, body.encode())
    sent, _ = handle_call(Call(id="i", argv=tuple(words[8:]), payload=body.encode(), received_us=5), [], guarded=True)
    assert (ended.stdout.decode(), ended.code) == (sent.stdout, sent.exit_code)
    assert ended.stderr.decode().strip() == sent.stderr
    assert TOKEN not in ended.stdout.decode() + ended.stderr.decode()


@pytest.mark.parametrize(
    "command, reads", [("npm test -- --shard=3", False), ("git commit -m 'Fix it'", False), (f"echo {TOKEN}", True)]
)
def test_scanners_are_read_only_for_a_command_that_tells(
    site: Site, tmp_path: Path, command: str, *, reads: bool
) -> None:
    python, *flags, program = (words := build_cold_argv(site, tmp_path, "cursor", "beforeShellExecution"))[:4]
    body = json.dumps({"hook_event_name": "beforeShellExecution", "command": command, "workspace_roots": ["/srv/app"]})
    call([python, *flags, "-c", REPORTING_SCRIPT, str(tmp_path / "out"), program, *words[4:]], body.encode())
    names = (tmp_path / "out").read_text().split()
    assert any(name.startswith("trotline.scanners") for name in names) is reads
