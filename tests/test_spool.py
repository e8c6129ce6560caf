"""The spool is private, and reports what prevents a record."""

import os
from pathlib import Path

import pytest

from trotline.audit.store.spool import Spool

RECORD = {"id": "1"}
UNWRITTEN = "the record of this call could not be written: "


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "state" / "spool")


def test_directory_and_file_are_ours_alone(spool: Spool) -> None:
    assert spool.append(RECORD) == ""
    assert spool.directory.stat().st_mode & 0o777 == 0o700
    assert spool.file.stat().st_mode & 0o777 == 0o600


def test_a_directory_that_others_may_enter_is_closed_before_the_first_record(spool: Spool) -> None:
    spool.directory.mkdir(parents=True, mode=0o755)
    assert spool.append(RECORD) == ""
    assert spool.directory.stat().st_mode & 0o777 == 0o700


def test_a_file_that_others_may_read_is_closed_before_the_next_record(spool: Spool) -> None:
    spool.append(RECORD)
    spool.file.chmod(0o644)
    assert spool.append({"id": "2"}) == ""
    assert spool.file.stat().st_mode & 0o777 == 0o600
    assert [record["id"] for record in spool.read().records] == ["1", "2"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file away")
@pytest.mark.parametrize("used", [False, True], ids=["at first", "later"])
def test_a_file_of_another_user_is_not_written(spool: Spool, *, used: bool) -> None:
    if used:
        spool.append(RECORD)
    spool.directory.mkdir(parents=True, exist_ok=True)
    spool.file.write_bytes(b"")
    os.chown(spool.file, 65_534, 65_534)
    assert spool.append(RECORD) == f"{UNWRITTEN}belongs to another user (uid 65534)"
    assert spool.file.read_bytes() == b""


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a directory away")
def test_a_directory_of_another_user_is_not_used(spool: Spool) -> None:
    spool.directory.mkdir(parents=True)
    os.chown(spool.directory, 65_534, 65_534)
    assert "belongs to another user (uid 65534)" in spool.append(RECORD)
    assert not spool.file.exists()


@pytest.mark.parametrize("used", [False, True], ids=["at first", "later"])
def test_a_link_in_the_place_of_the_file_is_not_followed(spool: Spool, tmp_path: Path, *, used: bool) -> None:
    if used:
        spool.append(RECORD)
        spool.file.unlink()
    spool.directory.mkdir(parents=True, exist_ok=True)
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    spool.file.symlink_to(target)
    assert spool.append(RECORD).startswith(UNWRITTEN)
    assert target.read_bytes() == b"precious"


def test_a_link_in_the_place_of_the_directory_is_not_followed(spool: Spool, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    spool.directory.parent.mkdir(parents=True, exist_ok=True)
    spool.directory.symlink_to(target)
    assert "a link is in its place" in spool.append({"id": "1"})
    assert list(target.iterdir()) == []
    assert target.stat().st_mode & 0o777 == 0o755


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(spool: Spool) -> None:
    spool.append(RECORD)
    spool.file.unlink()
    os.mkfifo(spool.file, 0o600)
    assert spool.append(RECORD).startswith(UNWRITTEN)
    reader = os.open(spool.file, os.O_RDONLY | os.O_NONBLOCK)
    assert spool.append(RECORD) == f"{UNWRITTEN}not a regular file"
    assert os.read(reader, 10) == b""
    os.close(reader)


def test_a_directory_that_is_gone_is_made_again(spool: Spool) -> None:
    spool.append(RECORD)
    spool.file.unlink()
    spool.directory.rmdir()
    spool.directory.parent.rmdir()
    assert spool.append({"id": "2"}) == ""
    assert spool.directory.stat().st_mode & 0o777 == 0o700
    assert [record["id"] for record in spool.read().records] == ["2"]


@pytest.mark.parametrize("odd", ["half a pair: \ud83d", 2**80, "größer", "a\nb"], ids=repr)
def test_any_record_is_one_line(spool: Spool, odd: object) -> None:
    assert spool.append({**RECORD, "odd": odd}) == ""
    assert spool.append({"id": "2"}) == ""
    assert [record.get("odd") for record in spool.read().records] == [odd, None]
    assert spool.file.read_bytes().count(b"\n") == 4
