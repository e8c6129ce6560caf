"""Files that anybody may have put there: what is too large, or no file, is a refusal that nobody can overlook."""

import errno
import os
from pathlib import Path

import pytest

from trotline.checkup.validity import problems_of
from trotline.cli.test import _policies
from trotline.config.files import TooLargeError, content
from trotline.config.jsonc_reader import MOST_BYTES
from trotline.config.mcp_files import read_servers
from trotline.config.places import Roots
from trotline.config.policies import WHEN_UNREADABLE
from trotline.config.settings import read_settings
from trotline.config.wires import lines_of, wired
from trotline.errors import TrotlineError
from trotline.hosts import host_named
from trotline.ready.changes import text_of
from trotline.ready.git import Repository, _knows
from trotline.replay.candidates import candidate_policy
from trotline.replay.sides import side


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    return Roots(home=tmp_path / "home", system=tmp_path / "system", projects=(project,))


def large(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.ljust(MOST_BYTES + 1), "utf-8")
    return file


def test_a_file_is_given_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert content(file, 10)[0] == b"0123456789"
    with pytest.raises(TooLargeError, match="it is larger than 9 bytes") as caught:
        content(file, 9)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(file))


def test_settings_over_the_size_are_a_problem_and_the_strictest(roots: Roots) -> None:
    file = large(roots.config / "settings.json", '{"level": "full"}')
    (problem,) = read_settings(roots).problems
    assert (problem.code, problem.place.file) == ("TL108", str(file))


def test_servers_in_a_file_over_the_size_are_a_problem(roots: Roots) -> None:
    file = large(roots.home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"url": "https://example.com"}}}')
    servers = read_servers(roots)
    assert servers.configured == ()
    assert [(problem.code, problem.place.file) for problem in servers.problems] == [("TL108", str(file))]


@pytest.mark.parametrize("name", ["claude-code", "gemini-cli", "cline"])
def test_a_hosts_file_over_the_size_has_no_lines_and_is_a_problem(name: str, roots: Roots) -> None:
    wire = wired(host_named(name), "user", roots)[0]
    large(wire.file, '{"hooks": {}}')
    assert [*lines_of(wire)] == []
    assert [problem.code for problem in problems_of(wire, roots)] == ["TL108"]


def test_a_candidate_over_the_size_is_refused(roots: Roots, tmp_path: Path) -> None:
    file = large(tmp_path / "candidate.toml")
    with pytest.raises(TrotlineError, match="it is larger than 1,000,000 bytes"):
        candidate_policy(file, None, roots)
    with pytest.raises(TrotlineError, match="it is larger than 1,000,000 bytes"):
        side(str(file), roots, {})


def test_a_test_from_the_trail_takes_for_a_policy_that_cannot_be_read_what_is_in_force_then(roots: Roots) -> None:
    large(roots.config / "policy.toml", "preset = 'standard'")
    assert _policies(roots) == {"user": f'preset = "{WHEN_UNREADABLE}"\n'}


def test_a_pipe_in_a_workspace_holds_no_ready_hook_up(tmp_path: Path) -> None:
    inner = tmp_path / "elsewhere"
    inner.mkdir()
    os.mkfifo(inner / "gitdir")
    assert text_of(inner / "gitdir") is None
    assert not _knows(Repository(tmp_path, Path(os.devnull), os.environ), inner, tmp_path / "top")
