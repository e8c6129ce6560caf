"""Effects of package managers: installs, removals, publishing, running."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_rows
from trotline.analysis.analyze import analyze_command
from trotline.analysis.packages.package_files import parse_manifest
from trotline.analysis.packages.package_specs import build_purl, parse_request
from trotline.analysis.packages.typosquatting import find_similar_name, is_one_typo
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Certainty, Effect

ENVIRONMENT = Environment("/home/dev/app", ("/home/dev/app",), "/home/dev", "dev")


def effects(line: str) -> tuple[Effect, ...]:
    return analyze_command(line, ENVIRONMENT).effects


def list_effects(line: str, kind: str = "install") -> list[tuple[str, ...]]:
    """Return verb, package, source and scope of each effect, without empty values."""
    return [
        tuple(part for part in (e.verb, e.package, e.source, e.target) if part) for e in effects(line) if e.kind == kind
    ]


@pytest.mark.parametrize("line,package", read_rows("package_analysis", "a_package_has_its_purl"))
def test_a_package_has_its_purl(line: str, package: str) -> None:
    assert list_effects(line) == [("install", package, "registry", "project")]


@pytest.mark.parametrize("line,package,scope", read_rows("package_analysis", "scope_of_an_install"))
def test_scope_of_an_install(line: str, package: str, scope: str) -> None:
    assert list_effects(line) == [("install", package, "registry", scope)]


@pytest.mark.parametrize("line,source,host", read_rows("package_analysis", "source_and_host_of_a_package"))
def test_source_and_host_of_a_package(line: str, source: str, host: str) -> None:
    assert [(e.source, e.host) for e in effects(line) if e.kind == "install"] == [(source, host)]


@pytest.mark.parametrize(
    "line,expected", read_rows("package_analysis", "removals_sources_and_settings", as_tuples=True)
)
def test_removals_sources_and_settings(line: str, expected: tuple[tuple[str, ...], ...]) -> None:
    assert tuple(list_effects(line)) == expected


@pytest.mark.parametrize("line,verbs", read_rows("package_analysis", "publishing"))
def test_publishing(line: str, verbs: list[str]) -> None:
    assert [e.verb for e in effects(line) if e.kind == "publish"] == verbs


@pytest.mark.parametrize("line", read_rows("package_analysis", "programs_that_managers_run_are_analyzed"))
def test_programs_that_managers_run_are_analyzed(line: str) -> None:
    assert any(e.kind == "delete" and e.path == "/home/dev" for e in effects(line))


def test_fetched_packages_are_named() -> None:
    assert list_effects("npx -y @acme/tool@1.2.0 x") == [("fetch-and-run", "pkg:npm/%40acme/tool@1.2.0", "registry")]
    assert list_effects("npm create vite@latest .") == [("fetch-and-run", "pkg:npm/create-vite", "registry")]
    assert list_effects("uvx --from git+https://a.example/b tool") == [
        ("fetch-and-run", "git+https://a.example/b", "git")
    ]
    assert list_effects("go run example.com/tool@v1.0.0") == [
        ("fetch-and-run", "pkg:golang/example.com/tool@v1.0.0", "registry")
    ]
    assert list_effects("go run ./cmd/tool") == []


def test_a_project_script_runs_the_manifest() -> None:
    for line in ("npm run build", "yarn build", "pnpm run build", "bun run build"):
        found = [(e.kind, e.path, e.source, e.target) for e in effects(line)]
        assert found == [("execute", "/home/dev/app/package.json", "file", "build")], line


def test_bun_and_deno_interpret_code() -> None:
    code = "require('fs').rmSync('/home/dev', {recursive: true})"
    for line in (f'bun -e "{code}"', "deno eval \"Deno.removeSync('/home/dev', {recursive: true})\""):
        assert [(e.kind, e.path) for e in effects(line)] == [("delete", "/home/dev")], line
    for line in ("bun app.ts", "bun run app.ts", "deno run app.ts"):
        assert [(e.kind, e.path) for e in effects(line)] == [("execute", "/home/dev/app/app.ts")], line


def test_a_requirements_file_written_by_the_same_line_is_read() -> None:
    found = list_effects("echo reqeusts==2.0 > requirements.txt; pip install -r requirements.txt")
    assert ("install", "pkg:pypi/reqeusts@2.0", "registry", "project") in found


@pytest.mark.parametrize("kind,name,like", read_rows("package_analysis", "similar_names_are_found"))
def test_similar_names_are_found(kind: str, name: str, like: str) -> None:
    assert find_similar_name(kind, name) == like


def test_a_similar_name_is_a_guess() -> None:
    (found,) = effects("npm install expres")
    assert found.certainty is Certainty.GUESSED
    assert "express" in found.why


NAMES = st.text("abcde-", min_size=2, max_size=9)


@given(NAMES, st.data())
def test_one_typo_is_symmetric(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 2))
    letter = data.draw(st.sampled_from("abcxyz"))
    slips = {
        name[:at] + name[at + 1 :],
        name[:at] + letter + name[at:],
        name[:at] + letter + name[at + 1 :],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    }
    for slip in slips - {name}:
        assert is_one_typo(name, slip)
        assert is_one_typo(slip, name)
    assert not is_one_typo(name, name)
    assert not is_one_typo(name, name + "xyz")


@given(st.text("abcXYZ0189._-", min_size=1, max_size=12))
def test_python_names_are_normalized(name: str) -> None:
    assert (
        build_purl("pypi", name)
        == build_purl("pypi", name.upper().replace("_", "-"))
        == build_purl("pypi", name.replace("-", "."))
    )


@given(st.text(max_size=40), st.sampled_from(["pypi", "npm", "cargo", "gem", "golang", "deb", "composer"]))
def test_any_word_can_be_parsed(text: str, kind: str) -> None:
    want = parse_request(kind, text)
    assert want.purl == "" or want.purl.startswith(f"pkg:{kind}/")


PYPROJECT = """
[project]
dependencies = ["httpx>=1", "rich"]
[project.optional-dependencies]
dev = ["pytest==8.0"]
[build-system]
requires = ["hatchling"]
[tool.poetry.dependencies]
python = "^3.11"
flask = "2.0"
"""


@pytest.mark.parametrize("path,text,expected", read_rows("package_analysis", "packages_in_a_manifest", as_tuples=True))
def test_packages_in_a_manifest(path: str, text: str, expected: tuple[str, ...]) -> None:
    assert tuple(found.request.purl for found in parse_manifest(path, text) if found.request.purl) == expected


@given(st.sampled_from("requirements.txt pyproject.toml package.json Cargo.toml go.mod Gemfile".split()), st.text())
def test_any_text_can_be_parsed_as_a_manifest(name: str, text: str) -> None:
    for kind, want in parse_manifest(name, text):
        assert want.purl.startswith(f"pkg:{kind}/") if want.purl else want.host
