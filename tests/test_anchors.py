"""Heads noted elsewhere: files that were half written, that are none, or that others write to as well."""

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

LINES: dict[str, tuple[bytes, dict[int, str], int]] = {
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


@pytest.mark.parametrize("lines", LINES)
def test_of_an_anchor_both_verifiers_read_the_same(tmp_path: Path, lines: str) -> None:
    content, heads, unread = LINES[lines]
    (tmp_path / "anchor").write_bytes(content)
    found = read_anchor(tmp_path / "anchor")
    assert (found.heads, found.unread) == (heads, unread)
    assert dict(independent_verifier.heads_in(tmp_path / "anchor")) == heads


@pytest.mark.parametrize("content", ["my notes\nare precious\n", f"{A}\n", f"3 {A[:9]}\n"])
def test_a_file_without_any_head_is_no_anchor(tmp_path: Path, content: str) -> None:
    (tmp_path / "notes").write_text(content)
    with pytest.raises(TrotlineError, match="is no anchor"):
        read_anchor(tmp_path / "notes")
    with pytest.raises(OSError, match="is no anchor"):
        independent_verifier.heads_in(tmp_path / "notes")


@pytest.mark.parametrize("half", ["trot", "trotline-anchor 5 ", f"trotline-anchor 5 {A[:20]}"])
def test_after_half_a_line_a_whole_one_is_written(tmp_path: Path, half: str) -> None:
    file = tmp_path / "anchor"
    file.write_text(half)
    assert read_anchor(file) == Anchor({}, 1, ours=True)
    append_head(file, HEAD, "now")
    append_head(file, HEAD._replace(seq=8), "now")
    assert read_anchor(file) == Anchor({7: A, 8: A}, 1, ours=True)
    assert file.read_text().startswith(f"{half}\ntrotline-anchor 7 ")


def test_a_disk_that_takes_only_a_part_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:9]))
    with pytest.raises(TrotlineError, match="only a part"):
        append_head(tmp_path / "anchor", HEAD, "now")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TrotlineError, match="cannot be read: not a regular file"):
        read_anchor(tmp_path / "pipe")
    with pytest.raises(TrotlineError, match="cannot be written: not a regular file"):
        append_head(tmp_path / "pipe", HEAD, "now")
    with pytest.raises(OSError, match="is no file"):
        independent_verifier.heads_in(tmp_path / "pipe")


def test_a_directory_is_no_anchor(tmp_path: Path) -> None:
    with pytest.raises(TrotlineError, match=f"cannot be written: {os.strerror(errno.EISDIR).lower()}"):
        append_head(tmp_path, HEAD, "now")
    with pytest.raises(TrotlineError, match="cannot be read"):
        read_anchor(tmp_path)


def test_lines_that_cannot_be_read_are_told_and_the_others_count(workspace: Workspace, tmp_path: Path) -> None:
    with SqliteStore(workspace.roots().state / "trail.db") as store:
        keep(store, record(1), record(2))
        head = store.head()
    file = tmp_path / "heads"
    file.write_text(f"{head.seq} {head.digest}\ntrotline-anc")
    done = run_trotline("log", "verify", "--anchor", str(file), *workspace.options, cwd=workspace.project)
    assert done.returncode == 0
    assert "1 line of the anchor cannot be read\n2 entries: it holds; anchored up to entry 2\n" in done.stdout
    assert read_anchor(file).heads == {2: head.digest}
    assert file.read_text().splitlines()[-1].startswith(f"trotline-anchor 2 {head.digest} ")


def verify(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return run_trotline("log", "verify", *words, *workspace.options, cwd=workspace.project)


def three_records(workspace: Workspace) -> ChainHead:
    with SqliteStore(workspace.roots().state / "trail.db") as store:
        keep(store, record(1), record(2), record(3))
        return store.head()


def settled(workspace: Workspace, file: Path) -> None:
    workspace.roots().config.mkdir(parents=True, exist_ok=True)
    (workspace.roots().config / "trotline.toml").write_text(format_toml({"anchor_file": str(file)}))


@pytest.mark.parametrize("content", [None, "", "trotline-anc"], ids=["missing", "empty", "torn"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_anchor_without_a_head_blesses_nothing_and_is_not_begun(
    workspace: Workspace, tmp_path: Path, content: str | None, form: list[str]
) -> None:
    three_records(workspace)
    file = tmp_path / "heads"
    if content is not None:
        file.write_text(content)
    done = verify(workspace, "--anchor", str(file), *form)
    assert done.returncode == 64
    assert f"the anchor `{file}`" in done.stderr
    assert f"`trotline log anchor --file {file}` begins one" in done.stderr
    assert (file.read_text() if file.exists() else None) == content


def test_of_an_empty_trail_nothing_is_noted(workspace: Workspace, tmp_path: Path) -> None:
    words = ("log", "anchor", "--file", str(tmp_path / "heads"))
    done = run_trotline(*words, *workspace.options, cwd=workspace.project)
    assert done.stdout == "the trail is empty: it has no head yet\n"
    assert not (tmp_path / "heads").exists()


def test_an_anchor_of_the_settings_that_was_never_begun_is_a_finding(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "heads"
    settled(workspace, file)
    assert verify(workspace).returncode == 0  # of nothing there is nothing to note
    three_records(workspace)
    done = verify(workspace)
    assert done.returncode == 1
    assert f"the trail: the anchor `{file}` is not there, so that a cut end would not be seen" in done.stdout
    assert not file.exists()
    assert run_trotline("log", "anchor", *workspace.options, cwd=workspace.project).returncode == 0
    assert "it holds; anchored up to entry 3" in verify(workspace).stdout


@pytest.mark.parametrize("left", [None, "", "1 " + A], ids=["gone", "emptied", "cut"])
def test_an_anchor_that_lost_heads_is_said_and_not_begun_anew_by_itself(
    workspace: Workspace, tmp_path: Path, left: str | None
) -> None:
    file = tmp_path / "heads"
    settled(workspace, file)
    digest = three_records(workspace).digest
    log = ("log", *workspace.options)
    assert run_trotline(*log, cwd=workspace.project).stderr == ""
    assert read_anchor(file).heads == {3: digest}
    file.write_text(left) if left is not None else file.unlink()
    with SqliteStore(workspace.roots().state / "trail.db") as store:
        keep(store, record(4))
    for _ in range(2):
        assert "the one of entry 3 was noted there" in run_trotline(*log, cwd=workspace.project).stderr
    assert (file.read_text() if file.exists() else None) == left
    done = verify(workspace)
    assert (done.returncode, "the one of entry 3 was noted there" in done.stdout) == (1, True)
    if left != "1 " + A:  # which is no head of this trail
        assert run_trotline("log", "anchor", *workspace.options, cwd=workspace.project).returncode == 0
        assert "it holds; anchored up to entry 4" in verify(workspace).stdout


def elsewhere(*words: str | Path) -> tuple[int, str, str]:
    argv = [sys.executable, "-I", independent_verifier.__file__, *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_what_the_verifier_that_knows_nothing_of_us_cannot_read_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "state" / "trail.db"
    with SqliteStore(file) as store:
        keep(store, *(record(number) for number in range(300)))
    assert elsewhere(file, tmp_path) == (2, f"cannot be read: `{tmp_path}` is no file\n", "")
    assert elsewhere(tmp_path / "none.db")[::2] == (2, "")
    with file.open("r+b") as opened:
        opened.seek(8 * 4096)
        opened.write(b"\xff" * (file.stat().st_size - 12 * 4096))
    code, told, traceback = elsewhere(file)
    assert (code, "cannot be read: " in told, traceback) == (2, True, "")
