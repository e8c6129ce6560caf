"""Commands of hooks: the program and the script that they start, and problems that prevent the start."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Workspace, read_rows
from trotline.config.hooks_json.hook_commands import (
    SHELL_WORDS,
    SHIMS,
    Program,
    expand_word,
    find_command_problems,
    find_program,
)
from trotline.config.paths import Roots
from trotline.config.problems import load_codes
from trotline.domain.hooks import Hook, Layer, LayerKind, Place

COMMANDS = st.text(max_size=80)
SHELL_LIKE = st.text(alphabet="abx/.~$ {}()'\"\\;&|<>`#=-*?[]\n\t:%CURSOR_PJT", max_size=60)


def build_hook(command: str, root: Path, kind: LayerKind = LayerKind.PROJECT) -> Hook:
    layer = Layer(kind=kind, file=str(root / ".cursor" / "hooks.json"), root=str(root), cwd=str(root))
    return Hook(id="0", event="stop", layer=layer, place=Place(layer.file, 1, 1), command=command)


def list_findings(
    command: str, workspace: Workspace, *, kind: LayerKind = LayerKind.PROJECT, roots: Roots | None = None
) -> list[tuple[str, str, str]]:
    """Return code, message and hint of every problem of a command in a project's file."""
    problems = find_command_problems(
        build_hook(command, workspace.project, kind), roots or workspace.roots(), workspace.project / ".cursor"
    )
    return [(finding.code, finding.message, finding.hint) for finding in problems]


def list_codes(
    command: str, workspace: Workspace, *, kind: LayerKind = LayerKind.PROJECT, roots: Roots | None = None
) -> list[str]:
    return [code for code, _, _ in list_findings(command, workspace, kind=kind, roots=roots)]


@pytest.mark.parametrize(
    "command, program",
    read_rows("hook_commands", "plain_command_has_a_program_and_a_script", as_tuples=True),
)
def test_plain_command_has_a_program_and_a_script(command: str, program: Program) -> None:
    assert find_program(command) == program


@pytest.mark.parametrize(
    "command",
    read_rows("hook_commands", "complex_command_has_no_program"),
)
def test_complex_command_has_no_program(command: str) -> None:
    assert find_program(command) is None


@pytest.mark.parametrize("command", ["say 'hello", 'say "hello', "x \\"])
def test_open_quotes_are_an_error_and_a_problem(command: str, workspace: Workspace) -> None:
    with pytest.raises(ValueError):
        find_program(command)
    ((code, message, _),) = list_findings(command, workspace)
    assert (code, message.split(":")[0]) == ("TL410", "the shell cannot read this command")


@given(COMMANDS | SHELL_LIKE)
def test_only_open_quotes_raise_an_error(command: str) -> None:
    try:
        program = find_program(command)
    except ValueError:
        with pytest.raises(ValueError):
            shlex.split(command)
    else:
        assert program is None or isinstance(program, Program)


@given(COMMANDS | SHELL_LIKE, st.sampled_from([LayerKind.PROJECT, LayerKind.USER, LayerKind.CLAUDE_USER]))
def test_no_command_crashes_the_checker(command: str, kind: LayerKind) -> None:
    root = Path("/nonexistent/project")
    roots = Roots(home=Path("/nonexistent"), system=Path("/"), projects=(root,), search_path=("/usr/bin", "/bin"))
    for problems in find_command_problems(build_hook(command, root, kind), roots, root / ".cursor"):
        assert problems.code in load_codes()
        assert problems.message


@given(COMMANDS | SHELL_LIKE)
def test_expanded_word_contains_no_shell_syntax(word: str) -> None:
    root = Path("/nonexistent/project")
    expanded = expand_word(
        word, build_hook("x", root), Roots(home=Path("/nonexistent"), system=Path("/"), projects=(root,))
    )
    assert expanded is None or not set("$*?[\\{") & set(expanded)


@pytest.mark.parametrize(
    "word, expanded", read_rows("hook_commands", "a_word_becomes_a_path_or_stays_the_shells_business")
)
def test_word_is_expanded_to_a_path_if_possible(word: str, expanded: str | None, workspace: Workspace) -> None:
    problems = expand_word(word, build_hook("x", workspace.project), workspace.roots())
    directories = {"HOME": str(workspace.home), "PROJECT": str(workspace.project)}
    for name, directory in directories.items():
        expanded = expanded.replace(name, directory) if expanded else expanded
    assert problems == expanded


def test_executable_script_is_no_problem(workspace: Workspace) -> None:
    workspace.script("project/.cursor/hooks/x.sh")
    workspace.script("home/x.sh")
    for command in (
        ".cursor/hooks/x.sh",
        "./.cursor/hooks/x.sh --flag",
        "bash .cursor/hooks/x.sh",
        "$CURSOR_PROJECT_DIR/.cursor/hooks/x.sh",
        '"${CLAUDE_PROJECT_DIR}/.cursor/hooks/x.sh"',
        str(workspace.project / ".cursor/hooks/x.sh"),
        "A=1 .cursor/hooks/x.sh",
        "~/x.sh",
        "$HOME/x.sh",
    ):
        assert list_findings(command, workspace) == [], command


@pytest.mark.parametrize(
    "command, name, looked",
    read_rows("hook_commands", "a_missing_script_is_named_with_the_place_where_it_was_looked_for"),
)
def test_missing_script_is_a_problem_with_its_path(command: str, name: str, looked: str, workspace: Workspace) -> None:
    expected = "TL401", f"there is no file `{name}`", f"looked for as `{workspace.path / looked}`"
    assert list_findings(command, workspace) == [expected]


@pytest.mark.parametrize(
    "command, code",
    [("/" + "a" * 300, "TL401"), ("bash ./" + "a" * 300, "TL401"), ("a" * 300, "TL408")],
    ids=["a path", "a script", "a program"],
)
def test_name_too_long_for_the_disk_is_a_missing_file(command: str, code: str, workspace: Workspace) -> None:
    assert list_codes(command, workspace, roots=workspace.roots(search_path=("/usr/bin",))) == [code]


def test_script_with_a_hint_must_be_executable(workspace: Workspace) -> None:
    workspace.write("project/x.sh", "#!/bin/sh\n", 0o644)
    assert list_findings("./x.sh", workspace) == [("TL402", "`./x.sh` is not executable", "chmod +x ./x.sh")]
    assert list_findings("bash ./x.sh", workspace) == []
    workspace.write("project/x; rm -rf ~", "#!/bin/sh\n", 0o644)
    ((_, _, hint),) = list_findings("'./x; rm -rf ~'", workspace)
    assert hint == "chmod +x './x; rm -rf ~'"


@pytest.mark.parametrize("first", ["", "echo hello\n", " #!/bin/sh\n", "\ufeff#!/bin/sh\n"])
def test_script_without_a_shebang_is_a_problem(first: str, workspace: Workspace) -> None:
    workspace.script("project/x.sh", first)
    assert [(code, message) for code, message, _ in list_findings("./x.sh", workspace)] == [
        ("TL403", "`./x.sh` does not say which interpreter runs it")
    ]


@pytest.mark.parametrize(
    "first, name", read_rows("hook_commands", "an_interpreter_that_is_not_on_this_machine_is_named")
)
def test_missing_interpreter_is_a_problem(first: str, name: str, workspace: Workspace) -> None:
    workspace.script("project/x.sh", f"{first}\n")
    roots = workspace.roots(search_path=(str(workspace.system),))
    assert [(code, message) for code, message, _ in list_findings("./x.sh", workspace, roots=roots)] == [
        ("TL403", f"`./x.sh` asks for the interpreter `{name}`, which is not here")
    ]


@pytest.mark.parametrize("first", ["#!/usr/bin/env tool", "#!/usr/bin/env -S tool --flag", "#!TOOL", "#! TOOL -u"])
def test_existing_interpreter_is_no_problem(first: str, workspace: Workspace) -> None:
    tool = workspace.script("system/bin/tool")
    workspace.script("project/x.sh", first.replace("TOOL", str(tool)) + "\n")
    assert list_findings("./x.sh", workspace, roots=workspace.roots(search_path=(str(tool.parent),))) == []


@pytest.mark.parametrize("magic", [b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"])
def test_binary_needs_no_interpreter(magic: bytes, workspace: Workspace) -> None:
    workspace.write("project/x", magic + bytes(16), 0o755)
    assert list_findings("./x", workspace) == []


@pytest.mark.parametrize(
    "written, right",
    [("./hooks/x.sh", ".cursor/hooks/x.sh"), ("hooks/x.sh", ".cursor/hooks/x.sh"), ("./x.sh", ".cursor/x.sh")],
)
def test_path_from_the_wrong_base_gets_a_hint(written: str, right: str, workspace: Workspace) -> None:
    workspace.script(f"project/{right}")
    message = f"`{written}` is looked for in `{workspace.project}`, where it is not"
    expected = "TL404", message, f"it stands beside hooks.json; write `{right}`"
    assert list_findings(written, workspace) == [expected]
    assert list_findings(f"bash {written}", workspace) == [expected]
    assert list_codes(right, workspace) == []


def test_path_in_the_hint_is_valid(workspace: Workspace) -> None:
    workspace.script("project/.cursor/hooks/x.sh")
    ((_, _, hint),) = list_findings("./hooks/x.sh", workspace)
    assert list_findings(hint.split("`")[1], workspace) == []


@pytest.mark.parametrize(
    "command",
    read_rows("hook_commands", "path_in_a_home_is_a_problem_only_in_a_shared_file"),
)
def test_path_in_a_home_is_a_problem_only_in_a_shared_file(command: str, workspace: Workspace) -> None:
    for kind in LayerKind:
        shared = kind in {LayerKind.PROJECT, LayerKind.CLAUDE_PROJECT}
        assert ("TL405" in list_codes(command, workspace, kind=kind)) == shared, kind


@pytest.mark.parametrize("command", ["~/x.sh", "$HOME/x.sh", "/homes/x", "/usr/home.sh", "/home", "echo /Users"])
def test_portable_path_is_no_problem_in_a_shared_file(command: str, workspace: Workspace) -> None:
    assert "TL405" not in list_codes(command, workspace)


@pytest.mark.parametrize("command", [".cursor/hooks/root/x.sh", "src/home/index.sh", "cat docs/Users/anna"])
def test_relative_path_is_not_in_a_home(command: str, workspace: Workspace) -> None:
    assert "TL405" not in list_codes(command, workspace)


@pytest.mark.parametrize("shim", SHIMS)
def test_program_behind_a_shim_is_a_problem(shim: str, workspace: Workspace) -> None:
    problems = workspace.script(f"home{shim}/python3")
    roots = workspace.roots(search_path=(str(problems.parent),))
    expected = "TL406", f"`python3` is `{problems}`, a version manager's shim", "name the interpreter itself"
    assert list_findings("python3 -m x", workspace, roots=roots) == [expected]


def test_first_directory_on_the_path_counts(workspace: Workspace) -> None:
    shim = workspace.script("home/.pyenv/shims/python3")
    real = workspace.script("system/bin/python3")
    assert (
        list_codes("python3 -V", workspace, roots=workspace.roots(search_path=(str(real.parent), str(shim.parent))))
        == []
    )
    assert list_codes(
        "python3 -V", workspace, roots=workspace.roots(search_path=(str(shim.parent), str(real.parent)))
    ) == ["TL406"]


def test_program_must_be_on_the_path_and_executable(workspace: Workspace) -> None:
    roots = workspace.roots(search_path=(str(workspace.system),))
    missing = "TL408", "`tool` is not on this PATH", "name it by its full path, or install it"
    assert list_findings("tool --flag", workspace, roots=roots) == [missing]
    workspace.write("system/tool", "#!/bin/sh\n", 0o644)
    assert list_findings("tool --flag", workspace, roots=roots) == [missing]
    (workspace.system / "tool").chmod(0o755)
    assert list_findings("tool --flag", workspace, roots=roots) == []


def test_program_is_not_searched_without_a_path(workspace: Workspace) -> None:
    assert list_findings("no-such-program", workspace) == []


BUILT_IN = "source command eval set type umask trap pwd unset read wait !".split()


@pytest.mark.parametrize("word", sorted({*SHELL_WORDS, *BUILT_IN}))
def test_shell_builtin_needs_no_path(word: str, workspace: Workspace) -> None:
    assert list_codes(f"{word} x", workspace, roots=workspace.roots(search_path=(str(workspace.system),))) == []


@pytest.mark.parametrize("command", [r"C:\hooks\x.exe", r".\hook.ps1", r"hooks\x.cmd --flag"])
def test_windows_path_is_not_searched_on_the_path(command: str, workspace: Workspace) -> None:
    assert (
        list_codes(command, workspace, roots=workspace.roots(search_path=(str(workspace.system),), platform="windows"))
        == []
    )


@pytest.mark.parametrize("name", ["$TOOL", "${TOOL}", "~tool", "'a\\b'"])
def test_program_in_a_variable_is_not_searched(name: str, workspace: Workspace) -> None:
    assert list_codes(f"{name} x", workspace, roots=workspace.roots(search_path=(str(workspace.system),))) == []


@pytest.mark.parametrize(
    "command, breaks", read_rows("hook_commands", "inline_json_that_windows_would_print_with_its_quotes_is_said")
)
def test_inline_json_that_windows_prints_with_quotes_is_a_problem(
    command: str, breaks: bool, workspace: Workspace
) -> None:
    assert ("TL407" in list_codes(command, workspace)) == breaks


@pytest.mark.parametrize("variable", ["$FILE", "${FILE_PATH}", "$TOOL_INPUT", "$CURSOR_FILE_PATH", "${PLUGIN_ROOT}"])
def test_variable_that_is_not_set_for_hooks_is_a_problem(variable: str, workspace: Workspace) -> None:
    ((code, message, hint),) = list_findings(f"prettier {variable}", workspace)
    assert (code, message) == ("TL409", f"`{variable}` is not set for hooks, the shell puts nothing there")
    assert "standard input" in hint


@pytest.mark.parametrize("variable", ["$HOME", "$CURSOR_PROJECT_DIR", "$PATH", "$FILES", "$1", "$$", "$MY_OWN"])
def test_other_variables_are_no_problem(variable: str, workspace: Workspace) -> None:
    assert list_findings(f"prettier {variable}", workspace) == []


def test_symlink_out_of_the_project_is_a_problem_if_trust_is_needed(workspace: Workspace) -> None:
    outside = workspace.script("elsewhere/x.sh")
    (workspace.project / "x.sh").symlink_to(outside)
    assert list_findings("./x.sh", workspace) == [("TL505", f"`./x.sh` leads out of the project, to `{outside}`", "")]
    assert list_findings("./x.sh", workspace, kind=LayerKind.USER) == []


def test_path_out_of_the_project_is_a_problem(workspace: Workspace) -> None:
    workspace.script("elsewhere/x.sh")
    assert list_codes("../elsewhere/x.sh", workspace) == ["TL505"]
    assert list_codes(str(workspace.path / "elsewhere" / "x.sh"), workspace) == []


def test_symlink_inside_the_project_is_no_problem(workspace: Workspace) -> None:
    workspace.script("project/tools/x.sh")
    (workspace.project / "x.sh").symlink_to(workspace.project / "tools" / "x.sh")
    assert list_findings("./x.sh", workspace) == []


@pytest.mark.parametrize("mode, open_to_all", [(0o755, False), (0o775, False), (0o757, True), (0o777, True)])
def test_world_writable_script_is_a_problem(mode: int, open_to_all: bool, workspace: Workspace) -> None:
    workspace.write("project/x.sh", "#!/bin/sh\n", mode)
    expected = [("TL504", "`./x.sh` can be written by everybody", "chmod o-w ./x.sh")]
    assert list_findings("./x.sh", workspace) == (expected if open_to_all else [])


def test_windows_needs_no_mode_and_no_shebang(workspace: Workspace) -> None:
    workspace.write("project/x.sh", "echo\n", 0o666)
    assert list_findings("./x.sh", workspace, roots=workspace.roots(platform="windows")) == []


def test_script_is_not_searched_outside_of_a_project() -> None:
    layer = Layer(kind=LayerKind.PROJECT, file="/x/hooks.json", root="", cwd="")
    lost = Hook(id="0", event="stop", layer=layer, place=Place("/x/hooks.json", 1, 1), command="./missing.sh $FILE")
    roots = Roots(home=Path("/nonexistent"), system=Path("/"))
    assert [problems.code for problems in find_command_problems(lost, roots, Path("/x"))] == ["TL409"]


def test_all_problems_of_a_command_are_reported(workspace: Workspace) -> None:
    assert list_codes("/home/anna/x.sh $FILE", workspace) == ["TL405", "TL409", "TL401"]
