"""Anchors: files with heads that are partly written, invalid, missing, or shared with other writers."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import independent_verifier
from kit import Workspace, format_toml, run_trotline
from store_behaviour import keep, record
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.verify.anchors import Anchor, append_head, read_anchor
from trotline.audit.verify.chain import ChainHead
from trotline.domain.errors import TrotlineError

A, B = "a" * 64, "b" * 64
HEAD = ChainHead(7, A)

ANCHORS: dict[str, tuple[bytes, dict[int, str], int]] = {
    "marked": (f"trotline-anchor 3 {A} now\n".encode(), {3: A}, 0),
    "bare": (f"3 {A}\r\n\n4 {B}".encode(), {3: A, 4: B}, 0),
    "marked and bare": (f"3 {A}\ntrotline-anchor 4 {B} now\n".encode(), {3: A, 4: B}, 0),
    "two for one entry": (f"3 {A}\n3 {B}\n".encode(), {3: A}, 0),
    "too many digits": (f"{'1' * 19} {A}\n3 {A}\n".encode(), {3: A}, 1),
    "other digits": (f"\u0663 {A}\n3 {A}\n".encode(), {3: A}, 1),
    "capitals": (f"3 {A.upper()}\n4 {B}\n".encode(), {4: B}, 1),
    "a digest that goes on": (f"3 {A}a\n4 {B}\n".encode(), {4: B}, 1),
    "no text": (b"\xff\xfe\n3 " + A.encode() + b" \xff\n", {3: A}, 1),
    "garbage": (f"hello\n3 {A}\n".encode(), {3: A}, 1),
    "another kind of line end": (f"x\u20283 {A}\n4 {B}\n".encode(), {4: B}, 1),
    "before the first entry": (f"trotline-anchor 0 {A} now\n4 {B}\n".encode(), {4: B}, 0),
    "half a line before": (f"trotline-anchor 3 aaatrotline-anchor 4 {B} now\n5 {A}\n".encode(), {5: A}, 1),
    "a log": (f"Nov 16 box trotline[3]: trotline-anchor 4 {B} now\nNov 16 box sshd: 12\n".encode(), {4: B}, 0),
    "a log with half a line": (f"box trotline-anchor 4 {B}\nbox trotline-anchor 5 b\n".encode(), {4: B}, 1),
}


@pytest.mark.parametrize("name", ANCHORS)
def test_both_verifiers_read_the_same_heads(tmp_path: Path, name: str) -> None:
    content, heads, unread = ANCHORS[name]
    (tmp_path / "anchor").write_bytes(content)
    anchor = read_anchor(tmp_path / "anchor")
    assert (anchor.heads, anchor.unread) == (heads, unread)
    assert dict(independent_verifier.heads_in(tmp_path / "anchor")) == heads


@pytest.mark.parametrize("content", ["my notes\nare precious\n", f"{A}\n", f"3 {A[:9]}\n"])
def test_file_without_a_head_is_not_an_anchor(tmp_path: Path, content: str) -> None:
    (tmp_path / "notes").write_text(content)
    with pytest.raises(TrotlineError, match="is no anchor"):
        read_anchor(tmp_path / "notes")
    with pytest.raises(OSError, match="is no anchor"):
        independent_verifier.heads_in(tmp_path / "notes")


@pytest.mark.parametrize("half", ["trot", "trotline-anchor 5 ", f"trotline-anchor 5 {A[:20]}"])
def test_head_is_appended_after_a_partial_line(tmp_path: Path, half: str) -> None:
    file = tmp_path / "anchor"
    file.write_text(half)
    assert read_anchor(file) == Anchor({}, 1, ours=True)
    append_head(file, HEAD, "now")
    append_head(file, HEAD._replace(seq=8), "now")
    assert read_anchor(file) == Anchor({7: A, 8: A}, 1, ours=True)
    assert file.read_text().startswith(f"{half}\ntrotline-anchor 7 ")


def test_partial_write_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:9]))
    with pytest.raises(TrotlineError, match="only a part"):
        append_head(tmp_path / "anchor", HEAD, "now")


def test_named_pipe_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TrotlineError, match="cannot be read: not a regular file"):
        read_anchor(tmp_path / "pipe")
    with pytest.raises(TrotlineError, match="cannot be written: not a regular file"):
        append_head(tmp_path / "pipe", HEAD, "now")
    with pytest.raises(OSError, match="is no file"):
        independent_verifier.heads_in(tmp_path / "pipe")


def test_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrotlineError, match=f"cannot be written: {os.strerror(errno.EISDIR).lower()}"):
        append_head(tmp_path, HEAD, "now")
    with pytest.raises(TrotlineError, match="cannot be read"):
        read_anchor(tmp_path)


def test_unreadable_lines_are_counted_and_the_others_used(workspace: Workspace, tmp_path: Path) -> None:
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        keep(store, record(1), record(2))
        head = store.head()
    file = tmp_path / "heads"
    file.write_text(f"{head.seq} {head.digest}\ntrotline-anc")
    done = workspace.run("log", "verify", "--anchor", str(file))
    assert done.returncode == 0
    assert "1 line of the anchor cannot be read\n2 entries: it holds; anchored up to entry 2\n" in done.stdout
    assert read_anchor(file).heads == {2: head.digest}
    assert file.read_text().splitlines()[-1].startswith(f"trotline-anchor 2 {head.digest} ")


def store_three_records(workspace: Workspace) -> ChainHead:
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        keep(store, record(1), record(2), record(3))
        return store.head()


def configure_anchor(workspace: Workspace, file: Path) -> None:
    workspace.roots().config.mkdir(parents=True, exist_ok=True)
    (workspace.roots().config / "trotline.toml").write_text(format_toml({"anchor_file": str(file)}))


@pytest.mark.parametrize("content", [None, "", "trotline-anc"], ids=["missing", "empty", "torn"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_anchor_without_a_head_fails_and_is_not_created(
    workspace: Workspace, tmp_path: Path, content: str | None, form: list[str]
) -> None:
    store_three_records(workspace)
    file = tmp_path / "heads"
    if content is not None:
        file.write_text(content)
    done = workspace.run("log", "verify", "--anchor", str(file), *form)
    assert done.returncode == 64
    assert f"the anchor `{file}`" in done.stderr
    assert f"`trotline log anchor --file {file}` begins one" in done.stderr
    assert (file.read_text() if file.exists() else None) == content


def test_empty_audit_log_is_not_anchored(workspace: Workspace, tmp_path: Path) -> None:
    words = ("log", "anchor", "--file", str(tmp_path / "heads"))
    done = workspace.run(*words)
    assert done.stdout == "the audit log is empty: it has no head yet\n"
    assert not (tmp_path / "heads").exists()


def test_missing_configured_anchor_is_a_finding(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "heads"
    configure_anchor(workspace, file)
    assert workspace.run("log", "verify").returncode == 0  # an empty log has no head
    store_three_records(workspace)
    done = workspace.run("log", "verify")
    assert done.returncode == 1
    assert f"the audit log: the anchor `{file}` is not there, so that a cut end would not be seen" in done.stdout
    assert not file.exists()
    assert workspace.run("log", "anchor").returncode == 0
    assert "it holds; anchored up to entry 3" in workspace.run("log", "verify").stdout


@pytest.mark.parametrize("left", [None, "", "1 " + A], ids=["gone", "emptied", "cut"])
def test_anchor_that_lost_heads_is_reported_and_not_recreated(
    workspace: Workspace, tmp_path: Path, left: str | None
) -> None:
    file = tmp_path / "heads"
    configure_anchor(workspace, file)
    digest = store_three_records(workspace).digest
    log = ("log", *workspace.options)
    assert run_trotline(*log, cwd=workspace.project).stderr == ""
    assert read_anchor(file).heads == {3: digest}
    file.write_text(left) if left is not None else file.unlink()
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        keep(store, record(4))
    for _ in range(2):
        assert "the one of entry 3 was noted there" in run_trotline(*log, cwd=workspace.project).stderr
    assert (file.read_text() if file.exists() else None) == left
    done = workspace.run("log", "verify")
    assert (done.returncode, "the one of entry 3 was noted there" in done.stdout) == (1, True)
    if left != "1 " + A:  # not a head of this log
        assert workspace.run("log", "anchor").returncode == 0
        assert "it holds; anchored up to entry 4" in workspace.run("log", "verify").stdout


def run_independent_verifier(*words: str | Path) -> tuple[int, str, str]:
    argv = [sys.executable, "-I", independent_verifier.__file__, *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_independent_verifier_reports_unreadable_files(tmp_path: Path) -> None:
    file = tmp_path / "state" / "audit_log.db"
    with SqliteStore(file) as store:
        keep(store, *(record(number) for number in range(300)))
    assert run_independent_verifier(file, tmp_path) == (2, f"cannot be read: `{tmp_path}` is no file\n", "")
    assert run_independent_verifier(tmp_path / "none.db")[::2] == (2, "")
    with file.open("r+b") as opened:
        opened.seek(8 * 4096)
        opened.write(b"\xff" * (file.stat().st_size - 12 * 4096))
    code, output, traceback = run_independent_verifier(file)
    assert (code, "cannot be read: " in output, traceback) == (2, True, "")
