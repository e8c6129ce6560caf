"""Atomic replacement of files: a reader sees the old bytes or the new ones, also after a failure."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trotline.config.trust import TrustCoverage, TrustStore
from trotline.system.files import LOCK_POLL_INTERVAL, LockedError, acquire_lock, lock_file, replace_file


@pytest.fixture(autouse=True)
def default_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("mode,expected", [(0o600, 0o600), (0o640, 0o640), (0o666, 0o666), (None, 0o644)])
@pytest.mark.parametrize("old", [b"old", None])
def test_file_has_the_new_bytes_and_the_requested_mode(
    tmp_path: Path, old: bytes | None, mode: int | None, expected: int
) -> None:
    file = tmp_path / "file.json"
    if old is not None:
        file.write_bytes(old)
    replace_file(file, b"new", mode=mode, sync=mode == 0o600)
    assert (file.read_bytes(), file.stat().st_mode & 0o777, [*tmp_path.iterdir()]) == (b"new", expected, [file])


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_failure_leaves_the_old_bytes_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    file = tmp_path / "file.json"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, step, fails)
    with pytest.raises(KeyboardInterrupt):
        replace_file(file, b"new", mode=0o640, sync=True)
    assert (file.read_bytes(), [*tmp_path.iterdir()]) == (b"old", [file])


def test_symlink_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"theirs")
    (tmp_path / "file").symlink_to("elsewhere")
    replace_file(tmp_path / "file", b"ours")
    assert ((tmp_path / "elsewhere").read_bytes(), (tmp_path / "file").is_symlink()) == (b"theirs", False)


def test_lock_of_another_holder_is_waited_for_until_the_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    with lock_file(tmp_path / "lock"):
        with pytest.raises(LockedError):
            acquire_lock(tmp_path / "lock", 10 * LOCK_POLL_INTERVAL)
        assert waited == [LOCK_POLL_INTERVAL] * 10
        with pytest.raises(LockedError), lock_file(tmp_path / "lock", timeout=0):
            pass
    assert len(waited) == 10
    with lock_file(tmp_path / "lock", timeout=0):
        pass


def test_trust_grants_are_private_despite_the_umask(tmp_path: Path) -> None:
    (tmp_path / "hook.sh").write_text("true\n")
    TrustStore(tmp_path / "trust").grant(TrustCoverage(str(tmp_path), {"hook.sh": "digest"}), 1)
    files = [file for file in (tmp_path / "trust").rglob("*") if file.is_file()]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
