"""Installation into files: with real processes and signals, a file has the old bytes or the new ones."""

import errno
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from test_hooks_json_edit import ENTRIES, FILES, FILES_WITH_OURS, FLAT, GROUPED, LINE, MANY_EXAMPLES, PROBE, draw_file
from trotline.config.install import installation
from trotline.config.install.edit import BOM, EditTerms, EntryEdit, remove_entries
from trotline.config.install.installation import FileResult, Installation, InstallOutcome
from trotline.config.problems import Severity
from trotline.domain.errors import TrotlineError, TryAgain
from trotline.formats.jsonc import MAX_FILE_BYTES

UNPRIVILEGED = 65534
MINE = b'{\n  // mine\n  "version": 1,\n  "hooks": {\n    "stop": [{"command": "./mine.sh"}]\n  }\n}\n'
STOP = [EntryEdit("stop", {"command": LINE})]
GENERATED = settings(
    MANY_EXAMPLES, suppress_health_check=[*MANY_EXAMPLES.suppress_health_check, HealthCheck.function_scoped_fixture]
)


def build_installation(directory: Path, name: str = "home/.cursor/hooks.json", terms: EditTerms = FLAT) -> Installation:
    """Build an installation whose Problems name the file by its path."""
    home = directory / "home"
    home.mkdir(exist_ok=True)
    return Installation(
        path=directory / name, terms=terms._replace(file=""), owner_directory=home, state=directory / "state"
    )


@pytest.fixture
def target(tmp_path: Path) -> Installation:
    """An installation whose file has entries of the user."""
    made = build_installation(tmp_path)
    made.path.parent.mkdir()
    made.path.write_bytes(MINE)
    return made


def install(target: Installation, entries: list[EntryEdit] | None = None, now_us: int = 1) -> FileResult:
    return target.install(ENTRIES[target.terms.shape] if entries is None else entries, now_us)


@pytest.fixture
def installed(target: Installation) -> Installation:
    """An installation with all entries, in a file of the user."""
    install(target)
    return target


def snapshot(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and content of every file and directory."""
    return {
        str(path.relative_to(directory)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(directory.rglob("*"))
    }


def read_backups(target: Installation) -> dict[str, bytes]:
    """Return the backups by name."""
    files = (target.state / "backups").rglob("*")
    return {path.name: path.read_bytes() for path in files if path.is_file() and path.name != "record.json"}


@pytest.mark.parametrize("terms", [FLAT, GROUPED], ids=["flat", "grouped"])
@GENERATED
@given(data=st.data())
def test_installing_and_uninstalling_is_the_identity(
    terms: EditTerms, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # hundreds of files; durability does not matter here
    before = data.draw(draw_file(FILES[terms.shape]) | st.sampled_from([b"", b"\n", BOM, b"{}", PROBE.encode()]))
    with tempfile.TemporaryDirectory() as name:
        target = build_installation(Path(name), "home/file.json", terms)
        target.path.write_bytes(before)
        assert install(target).outcome is InstallOutcome.WRITTEN
        installed = target.path.read_bytes()
        assert install(target, now_us=2).outcome is InstallOutcome.NOTHING
        assert target.path.read_bytes() == installed
        again = [EntryEdit(entry.event, {**entry.body, "timeout": 77}, entry.matcher) for entry in ENTRIES[terms.shape]]
        assert install(target, again, now_us=3).outcome is InstallOutcome.WRITTEN
        assert target.uninstall(4).outcome is InstallOutcome.RESTORED
        assert target.path.read_bytes() == before
        assert read_backups(target) == {"1-original": before}


def test_uninstall_removes_the_file_and_directories_it_created(tmp_path: Path) -> None:
    target = build_installation(tmp_path, "home/a/b/hooks.json")
    assert install(target).before is None
    assert json.loads(target.path.read_bytes())["version"] == 1
    done = target.uninstall(2)
    assert (done.outcome, done.after) == (InstallOutcome.DELETED, None)
    assert list((tmp_path / "home").iterdir()) == []


def test_a_directory_in_use_stays(tmp_path: Path) -> None:
    target = build_installation(tmp_path, "home/a/b/hooks.json")
    install(target)
    (tmp_path / "home/a/other").write_text("mine")
    assert target.uninstall(2).outcome is InstallOutcome.DELETED
    assert snapshot(tmp_path / "home").keys() == {"a", "a/other"}


def test_a_reformatted_file_of_ours_is_removed(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    install(target)
    target.path.write_text(json.dumps(json.loads(target.path.read_bytes()), indent=4))
    assert target.uninstall(2).outcome is InstallOutcome.DELETED
    assert not target.path.exists()


def test_an_extended_file_of_ours_loses_only_our_entries(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    install(target)
    text = target.path.read_text()
    target.path.write_text(text.replace('"stop": [', '"stop": [\n      {"command": "b"},'.strip()) + "// mine\n")
    edited = target.path.read_bytes()
    done = target.uninstall(2)
    assert done.outcome is InstallOutcome.WRITTEN
    assert target.path.read_bytes() == remove_entries(edited, FLAT, b"").data
    assert b"// mine" in target.path.read_bytes()
    assert read_backups(target) == {"2-edited": edited}


def test_an_edited_file_loses_our_entries_and_keeps_the_edit(installed: Installation) -> None:
    installed.path.write_bytes(installed.path.read_bytes().replace(b"./mine.sh", b"./theirs.sh"))
    assert installed.uninstall(2).outcome is InstallOutcome.WRITTEN
    assert installed.path.read_bytes() == MINE.replace(b"./mine.sh", b"./theirs.sh")


def test_empty_lists_stay_empty_in_an_edited_file(target: Installation) -> None:
    target.path.write_bytes(b'{"version": 1, "hooks": {"stop": []}}')
    install(target, STOP)
    target.path.write_bytes(target.path.read_bytes() + b"\n")
    target.uninstall(2)
    assert target.path.read_bytes() == b'{"version": 1, "hooks": {"stop": []}}\n'


def test_uninstall_after_an_edit_and_a_second_install_restores_the_edit(installed: Installation) -> None:
    edited = installed.path.read_bytes() + b"// edited\n"
    installed.path.write_bytes(edited)
    install(installed, STOP, now_us=2)
    assert installed.uninstall(3).outcome is InstallOutcome.RESTORED
    assert installed.path.read_bytes() == MINE + b"// edited\n"
    assert read_backups(installed) == {"1-original": MINE, "2-edited": edited, "2-original": MINE + b"// edited\n"}


def test_a_file_that_contains_only_our_entries_is_deleted(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    install(target)
    target.path.write_bytes(target.path.read_bytes() + b"\n")
    install(target, STOP, now_us=2)
    assert target.uninstall(3).outcome is InstallOutcome.DELETED
    assert snapshot(tmp_path / "home") == {}


def test_uninstalling_a_missing_file_does_nothing(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    assert target.uninstall(1).outcome is InstallOutcome.NOTHING
    install(target, now_us=2)
    target.path.unlink()
    assert target.uninstall(3).outcome is InstallOutcome.NOTHING
    assert not target.path.exists()
    assert install(target, now_us=4).outcome is InstallOutcome.WRITTEN


def test_without_a_record_entries_are_recognised(installed: Installation) -> None:
    shutil.rmtree(installed.state)
    assert installed.uninstall(2).outcome is InstallOutcome.WRITTEN
    assert installed.path.read_bytes() == MINE


@pytest.mark.parametrize(
    "record", ["", "{}", '{"schema": "trotline.installation/2"}', "\udcff", '{"path": 1}', "[" * 5000]
)
def test_an_unreadable_record_is_ignored(installed: Installation, record: str) -> None:
    (file,) = installed.state.rglob("record.json")
    file.write_bytes(record.encode("utf-8", "surrogateescape"))
    assert installed.uninstall(2).outcome is InstallOutcome.WRITTEN
    assert installed.path.read_bytes() == MINE


@pytest.mark.parametrize("damaged", [None, b"{}", MINE + b"\n"])
def test_a_damaged_backup_is_not_restored(installed: Installation, damaged: bytes | None) -> None:
    (backup,) = installed.state.rglob("1-original")
    backup.unlink()
    if damaged is not None:
        backup.write_bytes(damaged)
    assert installed.uninstall(2).outcome is InstallOutcome.WRITTEN
    assert installed.path.read_bytes() == MINE


def test_an_installer_keeps_the_entries_of_another_installer(target: Installation) -> None:
    theirs = [EntryEdit("stop", {"command": "/opt/other hook"})]
    other = msgspec.structs.replace(target, terms=FLAT._replace(ours=lambda command: command == "/opt/other hook"))
    install(target, STOP)
    alone = target.path.read_bytes()
    other.install(theirs, 2)
    assert target.uninstall(3).outcome is InstallOutcome.WRITTEN
    assert target.path.read_bytes() == alone.replace(LINE.encode(), b"/opt/other hook")
    other.uninstall(4)
    assert target.path.read_bytes() == MINE


@pytest.mark.parametrize("terms", [FLAT, GROUPED], ids=["flat", "grouped"])
@GENERATED
@given(data=st.data())
def test_unrecorded_entries_of_ours_are_removed_too(
    terms: EditTerms, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    before = data.draw(draw_file(FILES_WITH_OURS[terms.shape]))
    with tempfile.TemporaryDirectory() as name:
        target = build_installation(Path(name), "home/file.json", terms)
        target.path.write_bytes(before)
        if install(target).outcome is InstallOutcome.WRITTEN:
            assert target.uninstall(2).outcome is InstallOutcome.RESTORED
        assert target.path.read_bytes() == (remove_entries(before, terms).data if read_backups(target) else before)


def test_the_backup_is_a_private_copy_outside_the_hooks_directory(target: Installation) -> None:
    done = install(target)
    assert done.backup is not None
    assert done.backup.read_bytes() == MINE
    assert [path.name for path in target.path.parent.iterdir()] == ["hooks.json"]
    for path in [target.state, *target.state.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_record_starts_with_its_schema_and_names_backup_and_digest(installed: Installation) -> None:
    (file,) = installed.state.rglob("record.json")
    record = json.loads(file.read_bytes())
    assert next(iter(record.items())) == ("schema", "trotline.installation/1")
    assert (record["path"], record["original"], len(record["written"])) == (str(installed.path), "1-original", 1)
    installed.uninstall(2)
    assert not file.exists()


def test_an_older_backup_is_never_overwritten(target: Installation) -> None:
    for text in (b"{}", b'{"version": 1}', b'{"version": 2}'):
        target.path.write_bytes(text)
        install(target, now_us=7)
        target.uninstall(7)
    assert read_backups(target) == {
        "7-original": b"{}",
        "8-original": b'{"version": 1}',
        "9-original": b'{"version": 2}',
    }


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755])
def test_the_file_mode_is_preserved(target: Installation, mode: int) -> None:
    target.path.chmod(mode)
    install(target)
    assert stat.S_IMODE(target.path.stat().st_mode) == mode
    target.uninstall(2)
    assert stat.S_IMODE(target.path.stat().st_mode) == mode


def test_a_new_file_gets_its_mode_from_the_umask(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    before = os.umask(0o027)
    try:
        install(target)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_root_leaves_a_file_to_its_owner(target: Installation) -> None:
    os.chown(target.path, UNPRIVILEGED, UNPRIVILEGED)
    target.path.chmod(0o4640)
    install(target)
    status = target.path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (UNPRIVILEGED, UNPRIVILEGED, 0o4640)


def test_a_dry_run_shows_the_difference_and_touches_nothing(target: Installation, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = target.install(STOP, 1, dry_run=True)
    assert done.outcome is InstallOutcome.WRITTEN
    shown = done.difference.splitlines()
    assert shown[:2] == [f"--- {target.path}", f"+++ {target.path}"]
    assert [line for line in shown[2:] if line[0] in "+-"] == [
        '-    "stop": [{"command": "./mine.sh"}]',
        f'+    "stop": [{{"command": "./mine.sh"}}, {{"command": "{LINE}"}}]',
    ]
    assert target.uninstall(1, dry_run=True).difference == ""
    assert snapshot(tmp_path) == before


def test_a_dry_run_of_uninstall_shows_the_restored_file(installed: Installation, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = installed.uninstall(2, dry_run=True)
    assert (done.outcome, done.after) == (InstallOutcome.RESTORED, MINE)
    assert snapshot(tmp_path) == before


def test_a_diff_shows_a_new_file_and_a_missing_final_newline(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    shown = target.install(STOP, 1, dry_run=True).difference.splitlines()
    assert shown[:2] == ["--- /dev/null", f"+++ {target.path}"]
    done = FileResult(target.path, InstallOutcome.WRITTEN, b"a\r\nb", b"a\r\nb\r\n")
    assert done.difference.splitlines()[-1] == "-\\ No newline at end of file"


def test_an_unparsable_file_is_refused_with_a_problem_and_untouched(target: Installation, tmp_path: Path) -> None:
    target.path.write_bytes(b'{"version": 1,, }')
    before = snapshot(tmp_path / "home")
    for done in (install(target), target.uninstall(2)):
        assert done.outcome is InstallOutcome.REFUSED
        assert (done.problems[0].code, done.problems[0].place.file) == ("TL101", str(target.path))
    assert snapshot(tmp_path / "home") == before
    assert read_backups(target) == {}


def test_a_file_with_a_fatal_problem_is_installed_into_and_the_problem_is_shown(target: Installation) -> None:
    target.path.write_bytes(BOM + MINE)
    done = install(target)
    assert done.outcome is InstallOutcome.WRITTEN
    assert [(problem.code, problem.severity) for problem in done.problems] == [("TL103", Severity.FATAL)]


def test_a_link_inside_the_home_is_followed(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    dotfiles = tmp_path / "home" / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "hooks.json").write_bytes(MINE)
    target.path.parent.mkdir()
    target.path.symlink_to("../dotfiles/hooks.json")
    done = install(target)
    assert done.path == dotfiles / "hooks.json"
    assert LINE in (dotfiles / "hooks.json").read_text()
    target.uninstall(2)
    assert target.path.is_symlink()
    assert (dotfiles / "hooks.json").read_bytes() == MINE


def test_a_dangling_link_is_followed_and_restored(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    target.path.parent.mkdir()
    target.path.symlink_to("../dotfiles/hooks.json")
    install(target)
    assert (tmp_path / "home/dotfiles/hooks.json").is_file()
    target.uninstall(2)
    assert target.path.is_symlink()
    assert not (tmp_path / "home/dotfiles").exists()


@pytest.mark.parametrize("linked", ["file", "directory", "nothing"])
def test_a_link_out_of_the_home_is_refused(tmp_path: Path, linked: str) -> None:
    target = build_installation(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    if linked == "directory":
        target.path.parent.symlink_to(outside)
    else:
        target.path.parent.mkdir()
        target.path.symlink_to(outside / "hooks.json")
    if linked != "nothing":
        (outside / "hooks.json").write_bytes(MINE)
    before = snapshot(tmp_path / "outside")
    for dry_run in (True, False):
        with pytest.raises(TrotlineError, match="is outside of") as caught:
            target.install(STOP, 1, dry_run=dry_run)
        assert caught.value.hint
        with pytest.raises(TrotlineError, match="is outside of"):
            target.uninstall(1, dry_run=dry_run)
    assert snapshot(tmp_path / "outside") == before


def test_circular_links_are_an_error(tmp_path: Path) -> None:
    target = build_installation(tmp_path)
    target.path.parent.mkdir()
    target.path.symlink_to("other.json")
    target.path.with_name("other.json").symlink_to("hooks.json")
    with pytest.raises(TrotlineError, match="too many levels of symbolic links") as caught:
        install(target)
    assert "circle" in caught.value.hint


def test_a_directory_in_place_of_the_file_is_an_error(target: Installation) -> None:
    target.path.unlink()
    target.path.mkdir()
    with pytest.raises(TrotlineError, match="is a directory") as caught:
        install(target)
    assert caught.value.hint


def test_a_pipe_in_place_of_the_file_does_not_block(target: Installation) -> None:
    target.path.unlink()
    os.mkfifo(target.path)
    with pytest.raises(TrotlineError, match="not a regular file"):
        install(target)


def test_a_file_in_place_of_its_directory_is_an_error(target: Installation) -> None:
    target.path.unlink()
    target.path.parent.rmdir()
    target.path.parent.write_text("x")
    with pytest.raises(TrotlineError, match="not a directory"):
        install(target)
    assert target.path.parent.read_text() == "x"


def test_a_file_over_a_megabyte_is_left_alone(target: Installation) -> None:
    large = b'{"x": "' + b"a" * MAX_FILE_BYTES + b'"}'
    target.path.write_bytes(large)
    with pytest.raises(TrotlineError, match="larger than 1,000,000 bytes") as caught:
        install(target)
    assert caught.value.hint
    assert target.path.read_bytes() == large


def test_a_file_of_another_user_is_left_alone(target: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: target.path.stat().st_uid + 1)
    with pytest.raises(TrotlineError, match="belongs to another user") as caught:
        install(target)
    assert caught.value.hint
    assert target.path.read_bytes() == MINE


def test_a_concurrent_edit_is_preserved(target: Installation, monkeypatch: Any) -> None:
    def edit_concurrently(*arguments: Any) -> None:
        target.path.write_bytes(b"{}")
        write(*arguments)

    write = installation._write_new
    monkeypatch.setattr(installation, "_write_new", edit_concurrently)
    with pytest.raises(TryAgain, match="changed by somebody else"):
        install(target)
    assert [(path.name, path.read_bytes()) for path in target.path.parent.iterdir()] == [("hooks.json", b"{}")]


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod", "open"])
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
def test_a_failing_system_call_leaves_the_old_bytes(
    target: Installation, monkeypatch: pytest.MonkeyPatch, call: str, reason: int
) -> None:
    """`open` fails only if it creates a file, because reading uses it too."""
    real = getattr(os, call)

    def refuse(*arguments: Any, **named: Any) -> Any:
        if call == "open" and not arguments[1] & os.O_EXCL:
            return real(*arguments, **named)
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(TrotlineError, match="cannot be changed") as caught:
        install(target)
    monkeypatch.undo()
    assert caught.value.hint or reason == errno.EIO
    assert [(path.name, path.read_bytes()) for path in target.path.parent.iterdir()] == [("hooks.json", MINE)]
    assert install(target, now_us=2).outcome is InstallOutcome.WRITTEN
    assert target.uninstall(3).outcome is InstallOutcome.RESTORED
    assert target.path.read_bytes() == MINE


def test_a_failed_install_removes_its_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = build_installation(tmp_path, "home/a/b/hooks.json")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(TrotlineError, match="no space left"):
        install(target)
    assert list((tmp_path / "home").iterdir()) == []


PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from trotline.config.install.edit import EditTerms, EntryEdit, Shape
from trotline.config.install.installation import Installation
from trotline.domain.errors import TrotlineError
top, line = Path(sys.argv[1]), sys.argv[2]
entries = [EntryEdit("stop", {"command": line})]
target = Installation(
    path=top / "home/.cursor/hooks.json",
    terms=EditTerms(Shape.FLAT, lambda command: command == line, version=1),
    owner_directory=top / "home",
    state=top / "state",
)
"""
INSTALL = """
try:
    print(target.install(entries, 1).outcome)
except TrotlineError as error:
    print(f"{error.message} / {error.hint}")
"""


def start_process(top: Path, line: str, code: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROGRAM + code, str(top), line]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def read_output(process: "subprocess.Popen[str]") -> str:
    with process:
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    return output.strip()


def test_concurrent_installers_both_succeed(target: Installation, tmp_path: Path) -> None:
    code = "print('ready', flush=True)\nsys.stdin.readline()\n" + INSTALL
    lines = ["/opt/one hook", "/opt/two hook", "/opt/three hook"]
    processes = [start_process(tmp_path, line, code) for line in lines]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [read_output(process) for process in processes] == ["written"] * 3
    commands = [
        entry["command"] for entry in json.loads(target.path.read_text().replace("// mine", ""))["hooks"]["stop"]
    ]
    assert sorted(commands) == sorted(["./mine.sh", *lines])


def test_an_installer_that_times_out_reports_a_retry(installed: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    before = installed.path.read_bytes()
    monkeypatch.setattr(installation, "LOCK_TIMEOUT", 0.1)
    with (installed.state / "install.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(TryAgain, match="another installer"):
            installed.uninstall(2)
        assert installed.uninstall(2, dry_run=True).outcome is InstallOutcome.RESTORED
    assert installed.path.read_bytes() == before


KILLED = """
CALLS = ("open", "fsync", "replace", "unlink", "mkdir", "fchmod", "close", "chmod")

def killed_at(count):
    left = [count]
    def watched(call):
        def act(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **named)
        return act
    for name in CALLS:
        setattr(os, name, watched(getattr(os, name)))

def killed_while(act, count):
    pid = os.fork()
    if pid == 0:
        try:
            killed_at(count)
            act()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])

newer = [EntryEdit("stop", {"command": line, "timeout": 5})]
seen = set()
def play(old):
    def bytes_now():
        return target.path.read_bytes() if target.path.exists() else None
    count = 0
    while True:
        count += 1
        killed = killed_while(lambda: target.install(entries, 10 * count), count)
        seen.add(bytes_now() == old)
        new = target.install(entries, 10 * count + 2).after
        assert bytes_now() == new != old
        changed = killed_while(lambda: target.install(newer, 10 * count + 3), count)
        assert bytes_now() in (new, target.install(newer, 0, dry_run=True).after), count
        new = bytes_now()
        gone = killed_while(lambda: target.uninstall(10 * count + 4), count)
        assert bytes_now() in (old, new), (count, bytes_now())
        seen.add(bytes_now() == old)
        target.uninstall(10 * count + 6)
        assert bytes_now() == old, (count, bytes_now())
        assert [path.name for path in target.path.parent.glob(".*")] == [], count
        if not killed and not changed and not gone:
            return count

counts = [play(target.path.read_bytes())]  # which its trailing comma makes impossible to restore without the record
target.path.unlink()
counts.append(play(None))
assert seen == {True, False}
print(*counts)
"""


def test_a_kill_at_any_moment_leaves_the_old_bytes_or_the_new_ones(target: Installation, tmp_path: Path) -> None:
    target.path.write_bytes(MINE.replace(b'"}]', b'"},]'))
    with_file, without = read_output(start_process(tmp_path, LINE, KILLED)).split()
    assert int(with_file) > 15
    assert int(without) > 15


def test_a_full_disk_leaves_the_old_bytes(target: Installation, tmp_path: Path) -> None:
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(MINE)}, {len(MINE)}))\n"
    assert "file too large / make room and try again" in read_output(start_process(tmp_path, LINE, limit + INSTALL))
    assert [(path.name, path.read_bytes()) for path in target.path.parent.iterdir()] == [("hooks.json", MINE)]
    assert target.uninstall(2).outcome is InstallOutcome.NOTHING


@pytest.fixture
def foreign_installation() -> Iterator[Installation]:
    """An installation owned by an unprivileged user, because root may write everywhere."""
    top = Path(tempfile.mkdtemp())
    target = build_installation(top)
    target.path.parent.mkdir()
    target.path.write_bytes(MINE)
    if os.geteuid() == 0:
        for path in [top, *top.rglob("*")]:
            os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
    yield target
    target.path.parent.chmod(0o755)
    shutil.rmtree(top)


def install_as_stranger(target: Installation) -> str:
    drop = f"os.setgroups([])\nos.setgid({UNPRIVILEGED})\nos.setuid({UNPRIVILEGED})\n" if os.geteuid() == 0 else ""
    return read_output(start_process(target.owner_directory.parent, LINE, drop + INSTALL))


def test_a_directory_that_may_not_be_written_leaves_the_old_bytes(foreign_installation: Installation) -> None:
    foreign_installation.path.parent.chmod(0o555)
    assert "permission denied" in install_as_stranger(foreign_installation)
    assert foreign_installation.path.read_bytes() == MINE


def test_a_file_that_may_not_be_written_is_left_alone(foreign_installation: Installation) -> None:
    foreign_installation.path.chmod(0o444)
    assert "is read-only / it may be read-only on purpose" in install_as_stranger(foreign_installation)
    assert foreign_installation.path.read_bytes() == MINE


def test_a_file_that_may_not_be_read_is_left_alone(foreign_installation: Installation) -> None:
    foreign_installation.path.chmod(0o200)
    assert "permission denied" in install_as_stranger(foreign_installation)
    assert foreign_installation.path.read_bytes() == MINE


def test_an_unwritable_state_directory_is_an_error(foreign_installation: Installation) -> None:
    foreign_installation.owner_directory.parent.chmod(0o555)
    assert "permission denied" in install_as_stranger(foreign_installation)
    assert foreign_installation.path.read_bytes() == MINE


def test_an_unprivileged_user_can_install(foreign_installation: Installation) -> None:
    assert install_as_stranger(foreign_installation) == "written"
    assert install_as_stranger(foreign_installation) == "nothing to do"
