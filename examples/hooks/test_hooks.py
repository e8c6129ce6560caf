"""Tests of three hooks in three languages. The fixture `agent` comes from Trotline's pytest plugin."""

import shutil
from pathlib import Path

import pytest

from trotline.testing import FakeAgent

HERE = Path(__file__).parent


def test_force_pushes_are_denied(agent: FakeAgent) -> None:
    agent.add_hook("project", HERE / "no-force-push.sh", event="beforeShellExecution")
    assert agent.fire("beforeShellExecution", command="git push --force").is_denied
    assert not agent.fire("beforeShellExecution", command="git push").is_denied


def test_files_with_secrets_are_denied(agent: FakeAgent) -> None:
    agent.add_hook("user", HERE / "keep_secrets.py", event="beforeReadFile", fail_closed=True)
    assert agent.fire("beforeReadFile", file_path="/srv/shop/.env").user_message == ".env holds secrets"
    assert not agent.fire("beforeReadFile", file_path="/srv/shop/a.py").is_denied


@pytest.mark.skipif(not shutil.which("node"), reason="the hook needs Node")
def test_network_access_asks(agent: FakeAgent) -> None:
    agent.add_hook("team", HERE / "ask-network.mjs", event="beforeShellExecution", matcher="curl|wget")
    assert agent.fire("beforeShellExecution", command="curl example.com").is_asked
    assert not agent.fire("beforeShellExecution", command="ls").responses
