"""The shape of the code itself: rings, budgets, what the hot paths wake, and what stands in one place only."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trotline.cli import COMMANDS
from trotline.hosts import HOSTS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "trotline"
FILES = sorted(SOURCE.rglob("*.py"))

RINGS: tuple[tuple[str, ...], ...] = (
    (
        "contracts",
        "editions",
        "effects",
        "errors",
        "events",
        "fields",
        "findings",
        "hooks",
        "ids",
        "jsregex",
        "memory",
        "outcomes",
        "parts",
        "pattern",
        "texts",
        "toml_bounds",
        "verdicts",
    ),
    ("hosts", "scanners"),
    ("analysis",),
    ("guards",),
    ("config",),
    ("engine",),
    ("alerts", "answer", "audit", "canary", "content", "echoes", "explanation", "judging", "schemas", "sweep"),
    (
        "adapters",
        "assemble",
        "awaited",
        "background",
        "blast",
        "checkup",
        "cli",
        "guarding",
        "machine",
        "outward",
        "program",
        "ready",
        "replay",
        "sdk",
        "service",
        "session",
        "starters",
        "testing",
        "__main__",
    ),
)
"""Inner to outer; a module imports from its own ring and from those inside it."""

LONGEST_FILE, LONGEST_FUNCTION, MOST_POSITIONAL, DEEPEST = 400, 40, 5, 3


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _ring(name: str) -> int:
    return next(index for index, names in enumerate(RINGS) if name in names)


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("trotline"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("trotline"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_inward_only(path: Path) -> None:
    if path.parent == SOURCE and path.name == "__init__.py":
        return
    own = _ring(_name(path))
    outward = [
        name for name in _imports(path) for part in name.split(".")[1:2] if part in _all_names() and _ring(part) > own
    ]
    assert outward == []


def _all_names() -> set[str]:
    return {name for ring in RINGS for name in ring}


def test_every_module_has_a_ring() -> None:
    assert {_name(path) for path in FILES} - {"__init__"} == _all_names()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_is_longer_than_a_person_reads_in_one_go(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_are_short_flat_and_take_few_arguments(path: Path) -> None:
    for function in _functions(path):
        where = f"{path.name}:{function.lineno} {function.name}"
        assert (function.end_lineno or 0) - function.lineno < LONGEST_FUNCTION, where
        decorated = bool(function.decorator_list) and path.parent.name == "cli"  # click calls these by keyword
        assert decorated or len(function.args.posonlyargs + function.args.args) <= MOST_POSITIONAL + 1, where
        assert _depth(function) <= DEEPEST, where


def _depth(node: ast.AST, depth: int = 0) -> int:
    """How many blocks stand inside each other; a chain of elif is one block."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        opens = isinstance(child, ast.If | ast.For | ast.While | ast.With | ast.Try)
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        deepest = max(deepest, _depth(child, depth + (opens and not chained)))
    return deepest


def test_no_module_has_a_homeless_name() -> None:
    homeless = {"utils", "util", "helpers", "common", "misc", "core", "base", "manager", "handler", "context"}
    assert [path for path in FILES if path.stem in homeless] == []


@pytest.mark.parametrize("name", HOSTS)
def test_no_file_but_its_own_knows_a_host_by_name(name: str) -> None:
    own = name.replace("-", "_")
    strangers = [
        path.name for path in FILES if not path.stem.startswith(own) and f'"{name}"' in path.read_text("utf-8")
    ]
    assert strangers == ["__init__.py"]


def test_only_the_ways_in_look_at_the_environment_the_working_directory_and_the_clock() -> None:
    looks = re.compile(
        r"os\.environ|os\.getenv|os\.getcwd|Path\.cwd|Path\.home|time\.time\b|time\.time_ns|datetime\.now|expanduser"
    )
    inner = [path for path in FILES if _ring_of(path) < len(RINGS) - 1 and path.parent.name != "code"]  # names it reads
    assert [path.name for path in inner if looks.search(path.read_text("utf-8"))] == []


def _ring_of(path: Path) -> int:
    return 0 if path.parent == SOURCE and path.stem == "__init__" else _ring(_name(path))


def test_the_domain_ring_touches_no_disk_and_starts_no_process() -> None:
    world = re.compile(r"^\s*(?:import|from) (?:subprocess|pathlib|os|socket|sqlite3|time|datetime)\b", re.MULTILINE)
    assert [path.name for path in FILES if _ring_of(path) == 0 and world.search(path.read_text("utf-8"))] == []


def test_what_ships_has_no_asserts_and_no_silenced_checks_without_a_reason() -> None:
    for path in FILES:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            assert not re.match(r"\s*assert\b", line), f"{path.name}:{number}"
            assert "type: ignore" not in line, f"{path.name}:{number}"
            if "noqa" in line:
                assert re.search(r"noqa: [A-Z0-9, ]+ - \w", line) or "ARG002" in line, f"{path.name}:{number}"


def _modules_after(*argv: str) -> set[str]:
    code = f"import sys; sys.argv = {['trotline', *argv]!r}\nfrom trotline.__main__ import main\n"
    tail = "try:\n    main()\nexcept SystemExit:\n    pass\nprint('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", code + tail], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_version_wakes_nothing() -> None:
    assert not {"click", "msgspec", "re2", "regress", "json", "pathlib"} & _modules_after("--version")


def test_checking_a_project_wakes_no_regular_expression_engine_and_no_event_loop(tmp_path: Path) -> None:
    loaded = _modules_after("check", "--project", str(tmp_path), "--home", str(tmp_path), "--system", str(tmp_path))
    assert not {"asyncio", "re2", "regress", "sqlite3", "subprocess", "importlib.metadata", "difflib"} & loaded


def test_the_map_for_contributors_names_every_module() -> None:
    told = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text("utf-8").partition("```")[2].partition("```")[0]
    places = " ".join(re.split(r" {3,}", line.strip(), maxsplit=1)[0] for line in told.splitlines())
    assert {name for ring in RINGS for name in ring} - {"__main__"} - set(re.findall(r"\w+", places)) == set()


def test_a_command_costs_one_file_and_one_line() -> None:
    files = {path.stem for path in (SOURCE / "cli").glob("*.py")} - {
        "__init__",
        "output",
        "options",
        "annotations",
        "changes",
        "homes",
        "hosting",
        "keeping",
        "drawing",
        "lazy",
        "patience",
        "showing",
        "exporting",
        "questions",
        "following",
        "sheet",
        "tables",
        "tallies",
        "verifying",
    }
    assert files == set(COMMANDS)


def test_nothing_committed_names_this_machine_or_a_package_index() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    hosts = re.compile("|".join(["py" + r"pi\.org", "python" + "hosted", "npm" + r"js\.(?:org|com)", "/opt/" + "pypi"]))
    named = [
        name for name in listed if (ROOT / name).is_file() and hosts.search((ROOT / name).read_text("utf-8", "replace"))
    ]
    assert named == []
