"""Package installs and the list of malicious packages."""

import json
import os
import signal
import sys
import tempfile
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_rows
from soak_service import CLIENT, Site, call, find_pid, payload, wait_for_service
from trotline.analysis.packages.malware_reports import MalwareReport, describe_reports, get_version_key
from trotline.analysis.packages.package_files import list_locked_packages
from trotline.config.malicious import MaliciousList, MalwareRow, write_list
from trotline.config.osv import OsvReader
from trotline.config.paths import Roots, list_malicious_files
from trotline.domain.errors import TrotlineError
from uses import EXAMPLES, Use

SHELL = "beforeShellExecution"
OSV = EXAMPLES / "package-installs" / "osv"


@pytest.fixture
def use(tmp_path: Path) -> Use:
    use = Use("package-installs", tmp_path)
    assert use.trotline("guards", "packages", "load", str(OSV)) == (0, "2 reports loaded, 2 packages\n")
    return use


def get_list_file(use: Use) -> Path:
    return list_malicious_files(Roots(home=use.home, system=use.system))[1]


@pytest.mark.parametrize("wanted,command", read_rows("uses_packages", "installs"))
def test_installs_are_checked_by_list_and_policy(use: Use, wanted: str, command: str) -> None:
    assert use.both(SHELL, command=command) == (wanted, wanted)


def test_malicious_versions_are_shown_if_no_version_is_named(use: Use) -> None:
    reply = use.cursor(SHELL, command="pip install harbour-prices")
    assert "some versions are listed as malicious, MAL-2026-900002: 2.1.4, 2.1.5" in reply.log_output
    assert "instead" not in use.cursor(SHELL, command="pip install harbour-prices==3.0").log_output


LOCK_FILE = {"packages": {"": {"name": "shop"}, "node_modules/a/node_modules/shop-cart-helpers": {"version": "1.0.0"}}}
FILES = {
    "npm ci": ("package-lock.json", json.dumps(LOCK_FILE)),
    "npm install": ("package.json", '{"dependencies": {"shop-cart-helpers": "^1.0.0"}}'),
    "pnpm install": ("pnpm-lock.yaml", "packages:\n\n  shop-cart-helpers@1.0.0:\n    resolution: {}\n"),
    "yarn install": ("yarn.lock", '"shop-cart-helpers@npm:^1.0.0":\n  version: 1.0.0\n'),
    "pip install -r base-requirements.txt": ("base-requirements.txt", "httpx\nharbour-prices==2.1.4\n"),
    "uv sync": ("uv.lock", '[[package]]\nname = "harbour-prices"\nversion = "2.1.5"\n'),
}


@pytest.mark.parametrize("command", FILES)
def test_packages_in_project_files_are_checked(use: Use, command: str) -> None:
    name, text = FILES[command]
    assert use.both(SHELL, command=command, cwd=str(use.project)) == ("allow", "allow")
    (use.project / name).write_text(text)
    outcome = use.engine(SHELL, command=command, cwd=str(use.project))
    assert "listed as malicious, MAL-2026-90000" in outcome.user_message
    assert use.cursor(SHELL, command=command, cwd=str(use.project)).permission == "deny"


def test_packages_written_to_a_manifest_are_checked(use: Use) -> None:
    given = {"file_path": str(use.project / "requirements.txt"), "content": "harbour-prices==2.1.4\n"}
    assert use.both("preToolUse", tool_name="Write", tool_input=given) == ("deny", "deny")
    harmless = {**given, "content": "httpx==0.28.1\n"}
    assert use.both("preToolUse", tool_name="Write", tool_input=harmless) == ("allow", "allow")


def test_a_lock_file_determines_the_version(use: Use) -> None:
    (use.project / "pyproject.toml").write_text('[project]\ndependencies = ["harbour-prices"]\n')
    assert "some versions are listed" in use.cursor(SHELL, command="uv sync", cwd=str(use.project)).log_output
    (use.project / "uv.lock").write_text('[[package]]\nname = "harbour-prices"\nversion = "2.2.0"\n')
    assert "malicious" not in use.cursor(SHELL, command="uv sync", cwd=str(use.project)).log_output


def test_a_warm_process_notices_a_new_and_a_removed_list(use: Use, tmp_path: Path) -> None:
    def refused() -> bool:
        return use.engine(SHELL, command="npm install ferry-times@1.0.0").is_denied

    assert not refused()
    entry = {"id": "MAL-2026-900003", "affected": [{"package": {"ecosystem": "npm", "name": "ferry-times"}}]}
    (tmp_path / "one.json").write_text(json.dumps(entry))
    assert use.trotline("guards", "packages", "load", str(tmp_path / "one.json"))[0] == 0
    assert refused()
    get_list_file(use).unlink()
    assert not refused()


def test_a_running_service_and_a_cold_process_use_a_new_list(site: Site) -> None:
    # A socket path must be short, and detail is written after the reply
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as root:
        use = Use("package-installs", Path(root).resolve())
        (use.config / "trotline.toml").unlink()  # a site has no library for rules, so every rule asks
        client = CLIENT if (site.service / CLIENT).exists() else "twin.py"
        line = site.line(use.home, "--deadline", "55", client=client)
        data = payload("", "npm install shop-cart-helpers@1.0.0")
        assert json.loads(call(line, data).stdout)["permission"] == "allow"
        service = wait_for_service(use.home)
        try:
            assert json.loads(call(line, data).stdout)["permission"] == "allow"
            use.trotline("guards", "packages", "load", str(OSV))
            warm = json.loads(call(line, data).stdout)
            assert find_pid(use.home) == service
        finally:
            os.kill(service, signal.SIGKILL)
        assert warm["permission"] == "deny"
        cold_call = ["i", "5", "9000", "unfit", "--agent", "cursor", "--event", SHELL, "--home", str(use.home)]
        cold = call([sys.executable, "-I", "-S", str(site.service / "run_bootstrap.py"), *cold_call], data)
        assert json.loads(cold.stdout) == warm


def test_a_damaged_list_asks_until_it_is_loaded_again(use: Use) -> None:
    file = get_list_file(use)
    file.write_bytes(file.read_bytes()[:-5])
    outcome = use.cursor(SHELL, command="npm install react@19.2.0")
    assert outcome.permission == "ask"
    assert "the list of malicious packages cannot be read" in outcome.body["user_message"]
    code, output = use.trotline("guards", "packages", "--json")
    (problem,) = json.loads(output)["problems"]
    assert (code, problem["code"]) == (1, "TL260")
    assert use.cursor(SHELL, command="ls").permission == "allow"
    assert use.trotline("guards", "packages", "load", str(OSV))[0] == 0
    assert use.cursor(SHELL, command="npm install react@19.2.0").permission == "allow"


def test_a_system_list_is_used(use: Use) -> None:
    managed = list_malicious_files(Roots(home=use.home, system=use.system))[0]
    managed.parent.mkdir(parents=True)
    get_list_file(use).rename(managed)
    assert use.engine(SHELL, command="npm install shop-cart-helpers").is_denied
    assert use.trotline("guards", "packages", "check", "pkg:npm/shop-cart-helpers", "pkg:npm/react")[0] == 1


def test_a_missing_list_is_explained(tmp_path: Path) -> None:
    use = Use("package-installs", tmp_path)
    assert "no list is loaded" in use.trotline("guards", "packages")[1]
    with pytest.raises(TrotlineError, match="no list is loaded"):
        use.trotline("guards", "packages", "check", "pkg:npm/a")
    assert use.both(SHELL, command="npm install shop-cart-helpers@1.0.0") == ("allow", "allow")


def make_entry(name: str = "MAL-2026-1", **fields: Any) -> dict[str, Any]:
    package = {"package": {"ecosystem": "npm", "name": "@Ferry/Times"}}
    return {"id": name, "affected": [{**package, **fields.pop("affected", {})}], **fields}


def load_entries(tmp_path: Path, *entries: Any) -> tuple[OsvReader, list[MalwareRow]]:
    for number, body in enumerate(entries):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        (tmp_path / f"{number}.json").write_bytes(data)
    osv = OsvReader()
    return osv, list(osv.read_rows([tmp_path]))


@pytest.mark.parametrize("affected,versions", read_rows("uses_packages", "entry_versions", as_tuples=True))
def test_versions_of_an_entry(tmp_path: Path, affected: dict[str, Any], versions: tuple[str, ...]) -> None:
    _, rows = load_entries(tmp_path, make_entry(affected=affected))
    assert rows == [MalwareRow("npm/%40ferry/times", "MAL-2026-1", versions)]


def test_other_reports_are_skipped_and_counted(tmp_path: Path) -> None:
    other = make_entry("MAL-2026-3", affected={"package": {"ecosystem": "Hackage", "name": "x"}})
    aliased = make_entry("GHSA-xxxx", aliases=["MAL-2026-4"])
    osv, rows = load_entries(
        tmp_path, make_entry("GHSA-1"), make_entry("MAL-2026-2", withdrawn="2026-01-01"), other, aliased
    )
    assert [row.id for row in rows] == ["MAL-2026-4"]
    assert osv.left_out == {"not about malicious packages": 1, "withdrawn": 1, "of the ecosystem hackage": 1}
    assert osv.problems == []


@pytest.mark.parametrize(
    "bad", [b"{", b"[5]", b'{"id": 5}', b'{"id": "MAL-1", "affected": [{}]}', b"\xff", b"[" * 9000]
)
def test_an_invalid_entry_is_a_problem_and_the_others_are_loaded(tmp_path: Path, bad: bytes) -> None:
    osv, rows = load_entries(tmp_path, bad, make_entry())
    assert [(problem.code, Path(problem.place.file).name) for problem in osv.problems] == [("TL260", "0.json")]
    assert len(rows) == 1


def test_an_archive_is_read_without_being_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../../npm/MAL-2026-1.json", json.dumps(make_entry()))
        file.writestr("readme.txt", "no entry")
        file.writestr("bomb.json", b" " * 20_000_000)
    osv = OsvReader()
    assert len(list(osv.read_rows([archive]))) == 1
    assert [problem.message for problem in osv.problems] == ["the entry is too large"]
    (tmp_path / "broken.zip").write_bytes(archive.read_bytes()[:200])
    assert list(osv.read_rows([tmp_path / "broken.zip"])) == []
    assert "the archive cannot be read" in osv.problems[-1].message


def test_an_archive_without_reports_replaces_nothing(use: Use, tmp_path: Path) -> None:
    before = get_list_file(use).read_bytes()
    (tmp_path / "none.json").write_text(json.dumps(make_entry("GHSA-1")))
    with pytest.raises(TrotlineError, match="nothing was loaded"):
        use.trotline("guards", "packages", "load", str(tmp_path / "none.json"))
    assert get_list_file(use).read_bytes() == before


NAMES = st.text(alphabet="ab%-/.\tüz", min_size=1, max_size=6).map(lambda name: name.replace("\t", ""))


@given(st.sets(NAMES.filter(bool), max_size=40), NAMES)
def test_a_list_contains_exactly_its_packages(names: set[str], other: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        roots = Roots(home=Path(home), system=Path(home))
        rows = [MalwareRow(f"npm/{name}", f"MAL-{number}", ("*",)) for name in names for number in (1, 2)]
        write_list(roots, rows, {})
        listed = MaliciousList(str(list_malicious_files(roots)[1]))
        for name in names | {other}:
            assert len(listed.find_reports(f"npm/{name}")) == (2 if name in names else 0)


@pytest.mark.parametrize("versions,version,expected", read_rows("uses_packages", "report_matches"))
def test_a_report_matches_its_versions(versions: tuple[str, ...], version: str, expected: str) -> None:
    assert describe_reports([MalwareReport("MAL-1", versions)], version) == expected


def test_versions_are_ordered() -> None:
    in_order = ["0.9", "1.0.dev1", "1.0a1", "1.0rc1", "1.0", "1.0.post1", "1.0.1", "1.2", "1.10", "2"]
    assert all(get_version_key(one) < get_version_key(other) for one, other in pairwise(in_order))


def test_an_old_lock_file_is_read_and_an_invalid_one_is_empty() -> None:
    older = {"dependencies": {"a": {"version": "1.0.0", "dependencies": {"b": {"version": "2.0.0"}}}}}
    assert list_locked_packages("/w/package-lock.json", json.dumps(older)) == ("pkg:npm/a@1.0.0", "pkg:npm/b@2.0.0")
    for text in ("{", "[]", '{"packages": 5, "dependencies": {"a": 1}}'):
        assert list_locked_packages("/w/package-lock.json", text) == ()
    pnpm = "packages:\n  /@s/a@1.0.0(b@2):\n    x: 1\n  '@s/c@3.1.0':\n"
    assert list_locked_packages("/w/pnpm-lock.yaml", pnpm) == ("pkg:npm/%40s/a@1.0.0", "pkg:npm/%40s/c@3.1.0")


def test_a_lock_file_over_the_limits_is_read_line_by_line() -> None:
    lock = '[[package]]\nname = "httpx"\nversion = "0.1"\nsource = { registry = "x" }\n'
    for name in ("uv.lock", "poetry.lock", "Cargo.lock"):
        plain = list_locked_packages(f"/w/{name}", lock)
        assert plain == list_locked_packages(f"/w/{name}", f"{lock}\n[{'a.' * 20_000}a]\n")
        assert len(plain) == 1
