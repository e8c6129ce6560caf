"""Reading of untrusted files: oversized files and files that are not regular are reported."""

import errno
import os
from pathlib import Path

import pytest

from trotline.agents import get_agent
from trotline.builtin.git_branch import Repository, _owns_work_tree
from trotline.builtin.workspace import read_text
from trotline.cli.new import read_policy_texts
from trotline.config.install.hook_entries import list_hook_files, read_hook_lines
from trotline.config.mcp_files import read_servers
from trotline.config.paths import Roots
from trotline.config.policies import FALLBACK_PRESET
from trotline.config.settings import read_settings
from trotline.doctor.hook_lines import find_problems
from trotline.domain.errors import TrotlineError
from trotline.formats.jsonc import MAX_FILE_BYTES
from trotline.replay.candidate import read_candidate_policy
from trotline.system.files import TooLargeError, read_file, read_file_and_mode


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    return Roots(home=tmp_path / "home", system=tmp_path / "system", projects=(project,))


def write_large(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.ljust(MAX_FILE_BYTES + 1), "utf-8")
    return file


def test_file_is_read_completely_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert read_file(file, 10) == b"0123456789"
    with pytest.raises(TooLargeError, match="it is larger than 9 bytes") as caught:
        read_file_and_mode(file, 9)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(file))


def test_oversized_settings_are_a_problem(roots: Roots) -> None:
    file = write_large(roots.config / "trotline.toml", '{"level": "full"}')
    (problem,) = read_settings(roots).problems
    assert (problem.code, problem.place.file) == ("TL108", str(file))


def test_oversized_mcp_file_is_a_problem(roots: Roots) -> None:
    file = write_large(roots.home / ".cursor" / "mcp.json", '{"mcpServers": {"a": {"url": "https://example.com"}}}')
    servers = read_servers(roots)
    assert servers.configured == ()
    assert [(problem.code, problem.place.file) for problem in servers.problems] == [("TL108", str(file))]


@pytest.mark.parametrize("name", ["claude-code", "gemini-cli", "cline"])
def test_oversized_agent_file_has_no_lines_and_is_a_problem(name: str, roots: Roots) -> None:
    target = list_hook_files(get_agent(name), "user", roots)[0]
    write_large(target.file, '{"hooks": {}}')
    assert [*read_hook_lines(target)] == []
    assert [problem.code for problem in find_problems(target, roots)] == ["TL108"]


def test_oversized_candidate_policy_is_an_error(roots: Roots, tmp_path: Path) -> None:
    file = write_large(tmp_path / "candidate.toml")
    with pytest.raises(TrotlineError, match="it is larger than 1,000,000 bytes"):
        read_candidate_policy(file, None, roots)


def test_new_test_replaces_an_unreadable_policy_by_the_fallback(roots: Roots) -> None:
    write_large(roots.config / "trotline.toml", "preset = 'standard'")
    assert read_policy_texts(roots) == {"user": f'preset = "{FALLBACK_PRESET}"\n'}


def test_named_pipe_does_not_block_a_builtin_hook(tmp_path: Path) -> None:
    inner = tmp_path / "elsewhere"
    inner.mkdir()
    os.mkfifo(inner / "gitdir")
    assert read_text(inner / "gitdir") is None
    assert not _owns_work_tree(Repository(tmp_path, Path(os.devnull), os.environ), inner, tmp_path / "top")
