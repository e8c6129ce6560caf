"""Files that are replaced whole: whoever reads finds the old one or the new one, whatever happens to us."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trotline.config.trust import TrustCoverage, TrustStore
from trotline.system.files import LOCK_POLL_INTERVAL, LockedError, acquire_lock, lock_file, replace_file


@pytest.fixture(autouse=True)
def usual_mode() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("mode,has", [(0o600, 0o600), (0o640, 0o640), (0o666, 0o666), (None, 0o644)])
@pytest.mark.parametrize("old", [b"old", None])
def test_a_file_has_the_new_bytes_and_the_mode_that_was_asked_for(
    tmp_path: Path, old: bytes | None, mode: int | None, has: int
) -> None:
    file = tmp_path / "file.json"
    if old is not None:
        file.write_bytes(old)
    replace_file(file, b"new", mode=mode, sync=mode == 0o600)
    assert (file.read_bytes(), file.stat().st_mode & 0o777, [*tmp_path.iterdir()]) == (b"new", has, [file])


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_what_fails_leaves_the_old_bytes_and_nothing_beside_them(
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


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
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


def test_grants_of_trust_are_their_owners_alone_whatever_is_usual(tmp_path: Path) -> None:
    (tmp_path / "hook.sh").write_text("true\n")
    TrustStore(tmp_path / "trust").grant(TrustCoverage(str(tmp_path), {"hook.sh": "digest"}), 1)
    files = [file for file in (tmp_path / "trust").rglob("*") if file.is_file()]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
