"""The structure of the code: package order, size limits, imports of hot paths, and names."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from trotline.agents import AGENTS
from trotline.cli import COMMANDS
from trotline.config.builtin_hooks import BUILTIN_HOOKS
from trotline.doctor.examination import AGENT_CHECKS, MACHINE_CHECKS
from trotline.guards import GUARD_NAMES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "trotline"
FILES = sorted(SOURCE.rglob("*.py"))

RINGS: dict[str, tuple[str, ...]] = {
    "domain": ("formats", "domain"),
    "knowledge": ("agents", "scanners", "system", "analysis", "guards", "policy"),
    "core": ("config", "conversation", "machine", "evaluation", "audit", "engine", "assemble"),
    "outer": (
        "delivery",
        "hook",
        "service",
        "testing",
        "doctor",
        "templates",
        "builtin",
        "replay",
        "adapters",
        "cli",
        "__main__",
    ),
}
"""Packages and loose modules, inner to outer. A package imports only itself and packages listed before it."""

ORDER = tuple(name for ring in RINGS.values() for name in ring)

MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_POSITIONAL, MAX_DEPTH = 600, 40, 5, 3


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


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
def test_packages_import_only_packages_listed_before_them(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return
    imported = {name.split(".")[1] for name in _imports(path) if "." in name} & set(ORDER)
    later = [name for name in imported if ORDER.index(name) > ORDER.index(_name(path))]
    assert later == []


def test_every_package_has_a_place_in_the_order() -> None:
    assert {_name(path) for path in FILES} - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_is_longer_than_the_limit(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_are_short_flat_and_take_few_arguments(path: Path) -> None:
    for function in _functions(path):
        where = f"{path.name}:{function.lineno} {function.name}"
        assert (function.end_lineno or 0) - function.lineno < MAX_FUNCTION_LINES, where
        decorated = bool(function.decorator_list) and path.parent.name == "cli"  # click calls these by keyword
        assert decorated or len(function.args.posonlyargs + function.args.args) <= MAX_POSITIONAL + 1, where
        assert _depth(function) <= MAX_DEPTH, where


def _depth(node: ast.AST, depth: int = 0) -> int:
    """Return how deep blocks are nested; a chain of elif is one block."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        opens = isinstance(child, ast.If | ast.For | ast.While | ast.With | ast.Try)
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        deepest = max(deepest, _depth(child, depth + (opens and not chained)))
    return deepest


def test_no_module_has_a_homeless_name() -> None:
    homeless = {"utils", "util", "helpers", "common", "misc", "base", "manager", "handler", "context"}
    assert [path for path in FILES if path.stem in homeless] == []


@pytest.mark.parametrize("name", AGENTS)
def test_no_file_but_its_own_knows_an_agent_by_name(name: str) -> None:
    own = name.replace("-", "_")
    others = [
        path
        for path in FILES
        if not path.stem.startswith(own) and path.parent.name != own and path.name != "generated_tables.py"
    ]
    strangers = [path.name for path in others if f'"{name}"' in path.read_text("utf-8")]
    assert strangers == ["__init__.py"]


def _modules_with(definition: str, package: str) -> set[str]:
    """Return the modules of a package in which a line starts with the definition."""
    return {
        ".".join(("trotline", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in (SOURCE / package).rglob("*.py")
        if f"\n{definition}" in path.read_text("utf-8")
    }


def test_every_agent_file_is_registered() -> None:
    assert _modules_with("AGENT = ", "agents") == set(AGENTS.values())


def test_every_guard_file_is_registered() -> None:
    assert _modules_with("GUARD = ", "guards") == {f"trotline.guards.{name}" for name in GUARD_NAMES}
    assert {path.stem for path in (SOURCE / "guards").glob("*.toml")} == set(GUARD_NAMES)


def test_every_builtin_hook_is_registered() -> None:
    names = {name.replace("-", "_") for name in BUILTIN_HOOKS}
    assert _modules_with("def command(", "builtin") == {f"trotline.builtin.{name}" for name in names}


def test_every_check_of_doctor_is_registered() -> None:
    files = (SOURCE / "doctor").glob("*_checks.py")
    written = {function.name for path in files for function in _functions(path) if function.name.startswith("check_")}
    assert written == {check.__name__ for table in (AGENT_CHECKS, MACHINE_CHECKS) for check in table.values()}


def test_only_the_ways_in_look_at_the_environment_the_working_directory_and_the_clock() -> None:
    looks = re.compile(
        r"os\.environ|os\.getenv|os\.getcwd|Path\.cwd|Path\.home|time\.time\b|time\.time_ns|datetime\.now|expanduser"
    )
    outer = {"machine", "assemble", *RINGS["outer"]}
    inner = [path for path in FILES if _name(path) not in outer and path.parent.name != "code"]  # names it reads
    assert [path.name for path in inner if looks.search(path.read_text("utf-8"))] == []


def test_the_domain_ring_touches_no_disk_and_starts_no_process() -> None:
    forbidden = re.compile(
        r"^\s*(?:import|from) (?:subprocess|pathlib|os|socket|sqlite3|time|datetime)\b", re.MULTILINE
    )
    assert [
        path.name for path in FILES if _name(path) in RINGS["domain"] and forbidden.search(path.read_text("utf-8"))
    ] == []


def test_source_has_no_asserts_and_no_silenced_checks_without_a_reason() -> None:
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
    listed = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text("utf-8").partition("```")[2].partition("```")[0]
    places = " ".join(re.split(r" {3,}", line.strip(), maxsplit=1)[0] for line in listed.splitlines())
    assert set(ORDER) - {"__main__"} - set(re.findall(r"\w+", places)) == set()


def test_a_command_costs_one_file_and_one_line() -> None:
    helpers = {"__init__", "annotations", "command", "dispatcher", "output", "terminal"}
    files = {path.stem for path in (SOURCE / "cli").glob("*.py") if not path.stem.startswith("log_")} - helpers
    assert files == set(COMMANDS)


def test_nothing_committed_names_this_machine_or_a_package_index() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    indexes = re.compile(
        "|".join(["py" + r"pi\.org", "python" + "hosted", "npm" + r"js\.(?:org|com)", "/opt/" + "pypi"])
    )
    named = [
        name
        for name in listed
        if (ROOT / name).is_file() and indexes.search((ROOT / name).read_text("utf-8", "replace"))
    ]
    assert named == []


SHARED_NAME_PLACES = {"cli", "agents", "guards", "programs", "kube"}
"""Directories whose files are named after a command, an agent, a danger or a family of programs."""

VERBS_THAT_LOOK_LIKE_PARTICIPLES = {"read", "run", "set", "cut", "put", "split", "feed", "embed"}
IRREGULAR_PARTICIPLES = set(
    "begun bound broken brought built caught chosen done drawn driven fallen felt forgotten found frozen given gone "
    "grown heard held hidden kept known laid led left lent lost made meant met paid said seen sent shown spent spoken "
    "struck taken taught told torn thought thrown understood woken worn written".split()
)


def _is_participle(name: str) -> bool:
    word = name.strip("_")
    if "_" in word or word in VERBS_THAT_LOOK_LIKE_PARTICIPLES:
        return False
    return word in IRREGULAR_PARTICIPLES or word.endswith("ed")


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_no_function_is_named_by_a_bare_participle() -> None:
    functions = [(path.name, function) for path in FILES for function in _functions(path)]
    assert [
        f"{file} {function.name}"
        for file, function in functions
        if _is_participle(function.name) and not _is_property(function)
    ] == []


def test_class_names_are_unique() -> None:
    nodes = (node for path in FILES for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    counts = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, count in counts.items() if count > 1] == []


def test_module_names_are_unique() -> None:
    own = [path for path in FILES if path.parent.name not in SHARED_NAME_PLACES and path.stem != "__init__"]
    counts = Counter(path.stem for path in own)
    assert [name for name, count in counts.items() if count > 1] == []


def test_limits_start_with_max_min_or_default() -> None:
    old_style = re.compile(r"^_?(?:MOST|LONGEST|LARGEST|DEEPEST|LEAST|SHORTEST|FEWEST)\w*\b.*=", re.MULTILINE)
    assert [path.name for path in FILES if old_style.search(path.read_text("utf-8"))] == []


def test_at_most_four_modules_are_loose() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 4


PUBLISHED_WITHOUT_DOCSTRINGS = {"event_records.py"}
"""Files whose docstrings msgspec would copy into the published schemas."""

QUESTION_WORDS = re.compile(r"\s*(?:What|Who|Whose|Whether|How|Where|Which|That)\b")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _public_definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    return (node for node in body if isinstance(node, Definition) and not node.name.startswith("_"))


def _has_help_text(function: Definition) -> bool:
    """Return whether a decorator makes it a command with `help=HELP`, which takes the place of the docstring."""
    keywords = [word for node in function.decorator_list if isinstance(node, ast.Call) for word in node.keywords]
    return any(word.arg == "help" and ast.unparse(word.value) == "HELP" for word in keywords)


def _documented_methods(node: ast.ClassDef) -> set[str]:
    return {method.name for method in _public_definitions(node.body) if ast.get_docstring(method)}


def _inherited_methods(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """Return the methods that a base class documents, or a protocol of which the class has every documented method."""
    bases = [
        classes[name]
        for base in node.bases
        if (name := ast.unparse(base).rpartition(".")[2]) in classes and name != node.name
    ]
    inherited = set().union(*(_documented_methods(base) | _inherited_methods(base, classes) for base in bases))
    methods = {method.name for method in _public_definitions(node.body)}
    for protocol in classes.values():
        if any(ast.unparse(base) == "Protocol" for base in protocol.bases) and _documented_methods(protocol) <= methods:
            inherited |= _documented_methods(protocol)
    return inherited


def test_public_names_have_a_docstring() -> None:
    files = [path for path in FILES if path.name not in PUBLISHED_WITHOUT_DOCSTRINGS]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in files}
    classes = {node.name: node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    undocumented = []
    for path, tree in trees.items():
        for node in _public_definitions(tree.body):
            names = [] if _has_help_text(node) else [node]
            if isinstance(node, ast.ClassDef):
                inherited = _inherited_methods(node, classes)
                methods = (method for method in _public_definitions(node.body) if not method.name.startswith("visit_"))
                names += [method for method in methods if method.name not in inherited]
            undocumented += [f"{path.name}:{name.lineno} {name.name}" for name in names if not ast.get_docstring(name)]
    assert undocumented == []


def test_docstrings_do_not_start_with_a_question_word() -> None:
    texts = (
        (f"{path.name}:{node.lineno}", node.value.value)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    assert [place for place, text in texts if isinstance(text, str) and QUESTION_WORDS.match(text)] == []
