"""Every Problem code: a real file that has it, where it is said to stand, and what it costs the file."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import (
    FILES,
    MARK,
    Workspace,
    build_hooks_file,
    count_steps,
    find_mark,
    locate_problems,
    make_workspace,
    read_corpus,
    read_rows,
    remove_mark,
)
from strategies import file_contents
from trotline.agents.cursor.cursor_editions import EDITION_NAMES, get_edition
from trotline.config.hooks_json.configuration import Configuration, read_layer, read_layers
from trotline.config.hooks_json.layers import get_layer
from trotline.config.paths import Roots
from trotline.config.problems import CODES, Severity, get_severity
from trotline.config.text_report import MAX_SOURCE
from trotline.domain.contracts import Surface
from trotline.domain.events import EVENTS
from trotline.formats.jsonc import MAX_FILE_BYTES, MAX_JSON_DEPTH

NEWEST = "2026-09"


class Case(NamedTuple):
    """A file with a mark where its one Problem is expected; `also` are codes that come with the layer."""

    code: str
    text: str
    layer: str = "user"
    edition: str = NEWEST
    also: tuple[str, ...] = ()
    surface: Surface | None = None
    encoding: str = "utf-8"


def entry(text: str, event: str = "stop") -> str:
    return build_hooks_file(text, event=event)


def top(text: str) -> str:
    """A whole file around what stands beside `hooks`."""
    return f'{{\n  {text}\n  "hooks": {{"stop": [{{"command": "x"}}]}}\n}}\n'


def hooks(text: str) -> str:
    return f'{{"version": 1,\n "hooks": {text}}}\n'


DEEP = '"$deep": ' + "[" * (MAX_JSON_DEPTH - 1) + MARK + "[1]"


def build_case(code: str, form: str, text: str, options: dict[str, Any] | None = None) -> Case:
    """Build a case from a row of tests/corpus/problems.toml."""
    kind, _, event = form.partition(":")
    build = {"file": str, "entry": lambda text: entry(text, event), "keys": top, "hooks": hooks}[kind]
    fields = dict(options or {})
    if "surface" in fields:
        fields["surface"] = Surface(fields["surface"])
    return Case(code, build(text), **{**fields, "also": tuple(fields.get("also", ()))})


IN_TEXT = (
    *(build_case(*row) for row in read_rows("problems", "cases")),
    Case("TL102", top('"version": 1,').replace("]}", "]‸,}")),
    Case("TL103", MARK + top('"version": 1,'), encoding="utf-8-sig"),
    Case("TL104", MARK + entry('{"command": "x"}'), encoding="utf-16"),
    Case("TL106", "‸/* ours */ " + top('"version": 1,')),
    Case("TL108", MARK + top('"version": 1,') + " " * MAX_FILE_BYTES),
    Case("TL110", '{"version": 1, "hooks": {"stop": [{"command": "x"}]},\n' + DEEP),
    Case("TL202", "\n" + MARK + top("")),
    Case("TL506", MARK + top('"version": 1,'), layer="project"),
    Case("TL506", MARK + '{"hooks": {}}', layer="claude-project"),
    Case("TL507", build_hooks_file('{"command": "x"}', '{"command": "y"}', '‸{"command": "x"}')),
)


def _missing_beside_hooks_json(workspace: Workspace) -> None:
    workspace.script("project/.cursor/hooks/x.sh")
    workspace.write("project", entry('{"command": ‸"./hooks/x.sh"}'))


def _a_directory_in_place_of_the_file(workspace: Workspace) -> None:
    (workspace.path / FILES["user"]).mkdir(parents=True)


def _not_executable(workspace: Workspace) -> None:
    workspace.write("home/.cursor/x.sh", "#!/bin/sh\n")
    workspace.write("user", entry('{"command": ‸"./x.sh"}'))


def _without_an_interpreter(workspace: Workspace) -> None:
    workspace.script("home/.cursor/x.sh", "echo hello\n")
    workspace.write("user", entry('{"command": ‸"./x.sh"}'))


def _an_interpreter_that_is_not_there(workspace: Workspace) -> None:
    workspace.script("home/.cursor/x.sh", "#!/no/such/shell\n")
    workspace.write("user", entry('{"command": ‸"./x.sh"}'))


def _behind_a_shim(workspace: Workspace) -> None:
    workspace.script("home/.pyenv/shims/python3")
    workspace.write("home/.cursor/x.py")
    workspace.write("user", entry('{"command": ‸"python3 x.py"}'))


def _not_on_the_path(workspace: Workspace) -> None:
    workspace.write("user", entry('{"command": ‸"no-such-program --now"}'))


def _in_two_layers(workspace: Workspace) -> None:
    workspace.write("enterprise", entry('{"command": "x"}'))
    workspace.write("user", entry('‸{"command": "x"}'))


def _in_two_products(workspace: Workspace) -> None:
    workspace.write("user", entry('{"command": "x"}'))
    workspace.write("claude-user", '{"hooks": {"Stop": [{"hooks": [‸{"type": "command", "command": "x"}]}]}}')


def _a_file_that_others_can_write(workspace: Workspace) -> None:
    workspace.write("user", MARK + top('"version": 1,'), 0o666)


def _a_script_that_others_can_write(workspace: Workspace) -> None:
    workspace.write("home/.cursor/x.sh", "#!/bin/sh\n", 0o777)
    workspace.write("user", entry('{"command": ‸"./x.sh"}'))


def _a_file_linked_out_of_the_project(workspace: Workspace) -> None:
    workspace.write("elsewhere/hooks.json", top('"version": 1,'))
    (workspace.project / ".cursor").mkdir()
    (workspace.path / FILES["project"]).symlink_to(workspace.path / "elsewhere" / "hooks.json")


def _a_script_linked_out_of_the_project(workspace: Workspace) -> None:
    workspace.script("elsewhere/x.sh")
    workspace.write("project", entry('{"command": ‸".cursor/x.sh"}'))
    (workspace.project / ".cursor" / "x.sh").symlink_to(workspace.path / "elsewhere" / "x.sh")


def _a_manifest_with_a_number_for_hooks(workspace: Workspace) -> None:
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", '{"name": "p", "hooks": ‸5}')


def _a_manifest_that_names_no_file(workspace: Workspace) -> None:
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", '{"hooks": ‸"hooks/none.json"}')


def _a_manifest_that_leads_out(workspace: Workspace) -> None:
    workspace.write("home/secret.json", top(""))
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", '{"hooks": ‸"../../../../secret.json"}')


class Scene(NamedTuple):
    """A workspace in which one code is seen at this place; the file is told apart by its name."""

    code: str
    build: Callable[[Workspace], None]
    place: tuple[int, int]
    file: str
    also: tuple[str, ...] = ()


ON_DISK = (
    Scene("TL109", _a_directory_in_place_of_the_file, (0, 0), "home/.cursor/hooks.json"),
    Scene("TL402", _not_executable, (5, 19), "home/.cursor/hooks.json"),
    Scene("TL403", _without_an_interpreter, (5, 19), "home/.cursor/hooks.json"),
    Scene("TL403", _an_interpreter_that_is_not_there, (5, 19), "home/.cursor/hooks.json"),
    Scene("TL404", _missing_beside_hooks_json, (5, 19), "project/.cursor/hooks.json", also=("TL506",)),
    Scene("TL406", _behind_a_shim, (5, 19), "home/.cursor/hooks.json"),
    Scene("TL408", _not_on_the_path, (5, 19), "home/.cursor/hooks.json"),
    Scene("TL502", _in_two_layers, (5, 7), "home/.cursor/hooks.json"),
    Scene("TL503", _in_two_products, (1, 32), "home/.claude/settings.json"),
    Scene("TL504", _a_file_that_others_can_write, (1, 1), "home/.cursor/hooks.json"),
    Scene("TL504", _a_script_that_others_can_write, (5, 19), "home/.cursor/hooks.json"),
    Scene("TL505", _a_file_linked_out_of_the_project, (1, 1), "project/.cursor/hooks.json", also=("TL506",)),
    Scene("TL505", _a_script_linked_out_of_the_project, (5, 19), "project/.cursor/hooks.json", also=("TL506",)),
    Scene(
        "TL511", _a_manifest_with_a_number_for_hooks, (1, 24), "home/.cursor/plugins/local/p/.cursor-plugin/plugin.json"
    ),
    Scene("TL511", _a_manifest_that_names_no_file, (1, 11), "home/.cursor/plugins/local/p/.cursor-plugin/plugin.json"),
    Scene("TL511", _a_manifest_that_leads_out, (1, 11), "home/.cursor/plugins/local/p/.cursor-plugin/plugin.json"),
)


def written(case: Case, workspace: Workspace) -> Path:
    return workspace.write(case.layer, remove_mark(case.text).encode(case.encoding))


def seen(case: Case, workspace: Workspace, edition_name: str = "") -> Configuration:
    written(case, workspace)
    return workspace.load(edition_name or case.edition, surface=case.surface)


def name_of(case: Case) -> str:
    return f"{case.code} {' '.join(remove_mark(case.text).split())[-50:]}"


@pytest.mark.parametrize("case", IN_TEXT, ids=name_of)
def test_the_code_is_said_once_at_its_place_with_words_for_a_person(case: Case, tmp_path: Path) -> None:
    problems = seen(case, make_workspace(tmp_path)).problems
    assert locate_problems(problems, without=case.also) == [(case.code, *find_mark(case.text))]
    problem = next(problem for problem in problems if problem.code == case.code)
    assert problem.message
    assert problem.message[-1] not in ".!"
    assert problem.place.file == str(tmp_path / FILES[case.layer])
    assert problem.docs == f"docs/problems.md#{case.code.lower()}"
    assert problem.severity == get_severity(case.code, problem_voids(case))


def problem_voids(case: Case) -> frozenset[str]:
    return VOID_IN_ANY_PRODUCT if case.layer.startswith("claude") else get_edition(case.edition).voids


@pytest.mark.parametrize("scene", ON_DISK, ids=lambda scene: f"{scene.code} {scene.build.__name__.strip('_')}")
def test_the_code_is_said_once_about_what_is_on_the_disk(scene: Scene, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    scene.build(workspace)
    shims = str(workspace.home / ".pyenv" / "shims")
    problems = workspace.load(
        roots=workspace.roots(search_path=(shims, "/bin") if scene.code in {"TL406", "TL408"} else ())
    ).problems
    assert locate_problems(problems, without=scene.also) == [(scene.code, *scene.place)]
    problem = next(problem for problem in problems if problem.code == scene.code)
    assert problem.message
    assert Path(problem.place.file).relative_to(workspace.path).as_posix() == scene.file


OF_OUR_OWN_FILES = {"TL251", "TL252", "TL253", "TL254", "TL255", "TL256", "TL257", "TL258", "TL520", "TL521"}
OF_OUR_OWN_FILES |= {"TL259", "TL260", "TL280", "TL281", "TL282", "TL283", "TL284"}
"""Shown by test_config_file.py, test_models.py, test_agent_plugins.py, test_scan.py, test_export_file.py,
test_alerts.py and test_uses_packages.py."""


def test_every_code_has_a_file_that_shows_it() -> None:
    assert {case.code for case in IN_TEXT} | {scene.code for scene in ON_DISK} | OF_OUR_OWN_FILES == set(CODES)


ABOUT_NO_TEXT = {"TL104", "TL108", "TL411", "TL501", "TL507"}
SHOWN = [case for case in IN_TEXT if case.code not in ABOUT_NO_TEXT and not case.surface and case.text != MARK]


@pytest.mark.parametrize("case", SHOWN, ids=name_of)
def test_the_source_line_and_the_width_show_what_is_meant(case: Case, tmp_path: Path) -> None:
    problem = next(problem for problem in seen(case, make_workspace(tmp_path)).problems if problem.code == case.code)
    line = remove_mark(case.text).split("\n")[problem.place.line - 1]
    assert problem.source in line
    assert problem.source == line or len(problem.source) <= MAX_SOURCE
    assert problem.source[problem.source_column - 1 :][:1] == line[problem.place.column - 1 :][:1]
    assert 1 <= problem.width <= max(1, len(problem.source) - problem.source_column + 1)


@pytest.mark.parametrize(
    "text, hint",
    [
        (hooks('{"beforeShellExec": []}'), "did you mean `beforeShellExecution`?"),
        (hooks('{"BEFORESHELLEXECUTION": []}'), "did you mean `beforeShellExecution`?"),
        (hooks('{"zzz": []}'), "`trotline events` lists them"),
        (hooks('{"beforeFileEdit": []}'), "use preToolUse with the matcher `Write|Delete`"),
        (hooks('{"PreToolUse": []}'), "Cursor's event is `preToolUse`"),
        (hooks('{"errorOccurred": []}'), "Cursor has none like it; remove the entry"),
        (entry('{"command": "x", "timeout": 5000}'), "did you mean 5?"),
        (entry('{"command": "x", "timeout": 1500}'), "did you mean 1.5?"),
        (entry('{"command": "x", "matcher": "Bash"}', "preToolUse"), "Cursor calls that tool `Shell`"),
        (entry('{"command": "x", "matcher": "hi"}', "beforeSubmitPrompt"), "write `UserPromptSubmit`"),
        (entry('{"command": "x", "fail_closed": true}'), "spelt `failClosed` in Cursor"),
        (entry('{"command": "x", "timeoutSec": 5}'), "GitHub Copilot's; Cursor's key is `timeout`, in seconds"),
        (entry('{"command": "x", "timeout": 0}'), "leave it out for the default of 60 seconds"),
        (entry('{"command": "x", "loop_limit": 0}'), "null means no limit"),
        (top(""), 'write `"version": 1` at the top'),
        (hooks('{"stop": {"command": "x"}}'), "put it in a list: `[...]`"),
    ],
)
def test_the_hint_says_what_to_write_instead(text: str, hint: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", text)
    assert hint in workspace.layer("user").problems[0].hint


@pytest.mark.parametrize(
    "timeout, span", [("1000", "17 minutes"), ("5000", "83 minutes"), ("30000", "8 hours"), ("600000", "7 days")]
)
def test_a_timeout_in_milliseconds_is_said_in_the_time_it_would_be(timeout: str, span: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", entry(f'{{"command": "x", "timeout": {timeout}}}'))
    assert workspace.layer("user").problems[0].message == f"`timeout` is in seconds: {float(timeout):g} is {span}"


def test_a_file_full_of_slips_names_the_first_lines_only(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", build_hooks_file(*('{"command": yes, "timeout": no}' for _ in range(15))))
    slips = [problem.place.line for problem in workspace.layer("user").problems if problem.code == "TL101"]
    assert slips == [5, 6, 7, 8, 9]


def test_many_problems_on_one_line_do_not_each_carry_the_whole_line(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)

    def carried(number: int) -> int:
        workspace.write("user", '{"version": 1, "hooks": {"stop": [' + "5," * number + "5]}}")
        return sum(len(problem.source) for problem in workspace.layer("user").problems)

    assert carried(600) <= 2.3 * carried(300)


def test_a_missing_value_does_not_turn_the_next_key_into_a_command(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", entry('{"command": , "timeout": 5}'))
    assert workspace.layer("user").hooks == []


@pytest.mark.parametrize("key", ["timeout", "loop_limit"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_absurd_whole_numbers_do_not_make_reading_raise(sign: str, key: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", entry(f'{{"command": "x", "{key}": {sign}1{"0" * 330}}}'))
    assert [hook.command for hook in workspace.layer("user").hooks] == ["x"]


def test_absurd_whole_numbers_in_settings_of_claude_code_do_not_make_reading_raise(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    absurd = "1" + "0" * 330
    workspace.write("claude-user", f'{{"hooks": {{"Stop": [{{"hooks": [{{"command": "x", "timeout": {absurd}}}]}}]}}}}')
    assert [hook.command for hook in workspace.layer("claude-user").hooks] == ["x"]


VOID_IN_ANY_PRODUCT = frozenset({"TL101", "TL104", "TL108", "TL110"})
VOID_WHATEVER_THE_DATE = {"TL101", "TL104", "TL108", "TL110", "TL201", "TL205"}
VOID_SINCE_2026_09 = {
    *("TL102", "TL103", "TL107", "TL202", "TL203", "TL206", "TL207", "TL208", "TL209", "TL210", "TL211", "TL213"),
    *("TL216", "TL218", "TL219", "TL301"),
}


@pytest.mark.parametrize("case", IN_TEXT, ids=name_of)
def test_a_code_voids_the_file_in_the_newest_edition_exactly_if_it_was_measured_to(case: Case, tmp_path: Path) -> None:
    configuration = seen(case, make_workspace(tmp_path), NEWEST)
    file = str(tmp_path / FILES[case.layer])
    read = next(read for read in configuration.layers if read.layer.file == file)
    present = {problem.code for problem in read.problems}
    rules = VOID_IN_ANY_PRODUCT if case.layer.startswith("claude") else VOID_WHATEVER_THE_DATE | VOID_SINCE_2026_09
    assert bool(read.void) == bool(present & rules)
    assert {problem.code for problem in read.problems if problem.severity is Severity.VOID} == present & rules
    assert [hook for hook in configuration.hooks if hook.layer.file == file] == ([] if read.void else read.hooks)


@pytest.mark.parametrize("case", IN_TEXT, ids=name_of)
def test_in_early_2026_only_what_nobody_could_parse_voids_a_file(case: Case, tmp_path: Path) -> None:
    file = str(tmp_path / FILES[case.layer])
    read = next(read for read in seen(case, make_workspace(tmp_path), "2026-02").layers if read.layer.file == file)
    present = {problem.code for problem in read.problems}
    rules = VOID_IN_ANY_PRODUCT if case.layer.startswith("claude") else VOID_WHATEVER_THE_DATE
    assert bool(read.void) == bool(present & rules)


def test_the_editions_name_the_codes_that_void() -> None:
    assert get_edition("2025-11").voids == get_edition("2026-02").voids == VOID_WHATEVER_THE_DATE
    assert get_edition("2026-09").voids == VOID_WHATEVER_THE_DATE | VOID_SINCE_2026_09


def test_a_file_without_version_is_void_in_the_newest_edition_and_nothing_is_said_of_it_before(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", top(""))
    assert "there is no `version`" in workspace.layer("user", "2026-09").void
    for old in ("2025-11", "2026-02"):
        assert (workspace.layer("user", old).void, workspace.layer("user", old).problems) == ("", [])


def test_a_settings_file_of_claude_code_that_can_be_parsed_is_never_void(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("claude-user", b'\xef\xbb\xbf{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}], "Bad": [],}}')
    read = workspace.layer("claude-user")
    assert {problem.severity for problem in read.problems} == {Severity.ERROR}
    assert (read.void, [hook.command for hook in read.hooks]) == ("", ["x"])


def test_a_settings_file_of_claude_code_may_hold_addresses(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    schema, permissions = '"$schema": "https://json.schemastore.org/x.json"', '{"allow": ["Read(//tmp/**)"]}'
    workspace.write("claude-user", f'{{{schema}, "permissions": {permissions}}}')
    assert workspace.layer("claude-user").problems == []


def test_hooks_of_an_event_that_the_edition_does_not_know_do_not_run(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", entry('{"command": "x"}', "preToolUse"))
    assert workspace.load("2025-11").hooks == []
    assert [hook.command for hook in workspace.load("2026-02").hooks] == ["x"]


def test_the_reason_of_a_void_file_is_its_first_one_and_the_others_are_counted(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", build_hooks_file('{"command": "x", "timeout": 0}', '{"command": ""}', "5"))
    assert workspace.layer("user").void == "line 5: `timeout` is 0; it must be more than 0 seconds (and 2 more)"


@pytest.mark.parametrize("name", EDITION_NAMES)
def test_every_void_code_is_a_code(name: str) -> None:
    assert get_edition(name).voids <= set(CODES)


def test_codes_have_a_title_a_text_and_the_hundred_they_belong_to() -> None:
    for code, known in CODES.items():
        assert code[:2] == "TL"
        assert code[2] in "123456"
        assert known.title[0].lower() == known.title[0] or known.title[0] == "`"
        assert known.about.endswith(".")
        assert known.severity is not Severity.VOID


GOOD = [f'{{"command": "hook-{number}", "timeout": 5}}' for number in range(10)]
SPOILT = read_corpus("problems")["invalid_entries"]


@pytest.mark.parametrize("spoilt", SPOILT)
@pytest.mark.parametrize("at", [0, 4, 9])
def test_one_bad_entry_never_hides_the_nine_good_ones(at: int, spoilt: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", build_hooks_file(*GOOD[:at], SPOILT[spoilt], *GOOD[at + 1 :]))
    read = workspace.layer("user")
    commands = [hook.command for hook in read.hooks]
    assert [command for command in commands if command.startswith("hook-")] == [
        f"hook-{number}" for number in range(10) if number != at
    ]
    lines_more = SPOILT[spoilt].count("\n")
    assert {problem.place.line for problem in read.problems} <= set(range(at + 4, at + 7 + lines_more))
    assert read.problems


def test_many_addresses_never_hide_the_hooks_after_them(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", build_hooks_file(*(f'{{"command": "curl http://x/{number}"}}' for number in range(30))))
    assert len(workspace.layer("user").hooks) == 30


def test_many_equal_keys_never_hide_the_hooks_after_them(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    entries = (f'{{"name": 1, "name": 2, "command": "x{number}"}}' for number in range(30))
    workspace.write("user", build_hooks_file(*entries))
    assert [hook.command for hook in workspace.layer("user").hooks] == [f"x{number}" for number in range(30)]


@pytest.mark.parametrize("event", ['"zzz": [{"command": "a"}]', '"PreToolUse": []', '"stop": {}', '"stop": 5', '"": 1'])
def test_one_bad_event_never_hides_the_good_ones(event: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    good = '"preToolUse": [{"command": "one"}]', '"sessionEnd": [{"command": "two"}]'
    workspace.write("user", hooks(f"{{{good[0]}, {event}, {good[1]}}}"))
    read = workspace.layer("user")
    assert [hook.command for hook in read.hooks] == ["one", "two"]
    assert read.void


@pytest.mark.parametrize("broken", ["{", "", "\0", "null", '{"version": 1, "hooks": {"stop": [', "[" * 5000])
def test_one_bad_file_never_hides_the_other_layers(broken: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("project", broken)
    workspace.write("enterprise", entry('{"command": "one"}'))
    workspace.write("user", entry('{"command": "two"}'))
    configuration = workspace.load()
    assert [hook.command for hook in configuration.hooks] == ["one", "two"]
    assert workspace.layer("project").void


CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpora" / "hooks_json"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpora are not here")
@pytest.mark.parametrize("name", EDITION_NAMES)
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_read_to_its_last_entry(path: Path, name: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("project", path.read_bytes())
    read = workspace.layer("project", name)
    assert all(problem.code in CODES and problem.message for problem in read.problems)
    written = json.loads(re.sub(r"(?m)^\s*//.*$|/\*.*?\*/|\s//\s.*$", "", path.read_text("utf-8-sig")))["hooks"]
    entries = [f"{event}[{index}]" for event in EVENTS for index in range(len(written.get(event, [])))]
    nothing_to_run = {problem.entry for problem in read.problems if problem.code in {"TL208", "TL210", "TL211"}}
    assert nothing_to_run <= set(entries)
    assert len(read.hooks) + len(nothing_to_run) == len(entries)


@given(
    file_contents, st.sampled_from(list(FILES)), st.sampled_from(EDITION_NAMES), st.none() | st.sampled_from(Surface)
)
def test_no_bytes_in_any_layer_make_reading_raise(
    module_workspace: Workspace, data: bytes, name: str, edition_name: str, surface: Surface | None
) -> None:
    path = module_workspace.write(name, data)
    roots = module_workspace.roots(search_path=("/usr/bin", "/bin"))
    layer = get_layer(path, roots, get_edition(edition_name))
    (read,) = read_layers([layer], roots, get_edition(edition_name), surface=surface).layers
    assert read.exists
    for problem in read.problems:
        assert problem.message
        assert problem.severity == get_severity(
            problem.code, VOID_IN_ANY_PRODUCT if layer.kind.from_claude else get_edition(edition_name).voids
        )
        assert problem.place.column >= 1
        assert problem.width >= 1


def many_entries(number: int) -> str:
    return build_hooks_file(*(f'{{"command": "hook-{i} --now", "timeout": 5}}' for i in range(number)))


def many_equal_commands(number: int) -> str:
    return build_hooks_file(*('{"command": "same --now"}' for _ in range(number)))


def many_equal_commands_on_two_events(number: int) -> str:
    entries = ", ".join('{"command": "same"}' for _ in range(number // 2))
    return hooks(f'{{"preToolUse": [{entries}], "beforeShellExecution": [{entries}]}}')


def many_matchers(number: int) -> str:
    return build_hooks_file(
        *(f'{{"command": "x", "matcher": "Shell|a{i}+b"}}' for i in range(number)), event="preToolUse"
    )


def one_long_matcher(number: int) -> str:
    return build_hooks_file(f'{{"command": "x", "matcher": "{"(a|b)" * number}"}}', event="preToolUse")


def one_open_matcher(number: int) -> str:
    return build_hooks_file(f'{{"command": "x", "matcher": "{"(" * number}"}}', event="preToolUse")


def many_bad_entries(number: int) -> str:
    return build_hooks_file(*("5" for _ in range(number)))


def many_unknown_events(number: int) -> str:
    return hooks("{" + ",\n".join(f'"zzz{i}": []' for i in range(number)) + "}")


def many_unknown_keys(number: int) -> str:
    return build_hooks_file("{" + ",\n".join(f'"k{i}": 1' for i in range(number)) + "}")


def many_variables(number: int) -> str:
    return build_hooks_file(f'{{"command": "x {"$FILE " * number}"}}')


def one_long_command(number: int) -> str:
    return build_hooks_file(f'{{"command": "x {"a/b " * number}"}}')


def many_quotes_in_a_command(number: int) -> str:
    return build_hooks_file(f'{{"command": "{"a" + chr(39)}{"b; " * number}"}}')


MANY = (
    many_entries,
    many_equal_commands,
    many_equal_commands_on_two_events,
    many_matchers,
    one_long_matcher,
    one_open_matcher,
    many_bad_entries,
    many_unknown_events,
    many_unknown_keys,
    many_variables,
    one_long_command,
    many_quotes_in_a_command,
)


def work(text: str, workspace: Workspace) -> int:
    """Steps that it takes to read a user's file with this text."""
    path = workspace.write("user", text)
    roots = workspace.roots()
    layer = get_layer(path, roots, get_edition(NEWEST))
    return count_steps(lambda: read_layers([layer], roots, get_edition(NEWEST)))


@pytest.mark.parametrize("make", MANY, ids=lambda make: make.__name__)
def test_twice_the_entries_are_at_most_twice_the_work(make: Callable[[int], str], tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    work(make(10), workspace)  # what is imported and remembered at the first call is not counted
    once = work(make(300), workspace)
    assert work(make(600), workspace) <= 2.3 * once + 500


def test_equal_commands_in_many_layers_are_compared_only_so_often(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    roots = workspace.roots()

    def work_of(number: int) -> int:
        layers = []
        for index in range(number):
            path = workspace.write(f"p{number}-{index}/.cursor/hooks.json", entry('{"command": "same"}'))
            layers.append(get_layer(path, roots, get_edition(NEWEST)))
        return count_steps(lambda: read_layers(layers, roots, get_edition(NEWEST)))

    work_of(5)
    once = work_of(60)
    assert work_of(120) <= 2.3 * once + 500


def test_problems_are_listed_in_the_order_of_their_places(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write(
        "user", build_hooks_file('{"command": "", "x": 1}', "5", '{"timeout": 0, "command": "y", "timeout": -1}')
    )
    problems = workspace.layer("user").problems
    assert [problem.place for problem in problems] == sorted(problem.place for problem in problems)
    assert len(problems) == 5


def test_a_file_that_vanishes_is_a_layer_without_a_file(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    path = workspace.write("user", top('"version": 1,'))
    layer = get_layer(path, workspace.roots(), get_edition(NEWEST))
    path.unlink()
    read = read_layer(layer, workspace.roots(), get_edition(NEWEST))
    assert (read.exists, read.void, read.hooks, read.problems) == (False, "", [], [])


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_that_goes_round_in_circles_cannot_be_read_and_that_is_said(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    path = workspace.path / FILES["user"]
    path.parent.mkdir(parents=True)
    path.symlink_to(path)
    read = workspace.layer("user")
    assert [problem.code for problem in read.problems] == ["TL109"]
    assert read.void


@contextmanager
def without_root() -> Iterator[None]:
    """Root may look everywhere; for as long as this lasts we are nobody."""
    nobody = 65534
    try:
        os.setegid(nobody)
        os.seteuid(nobody)
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can become nobody")
def test_a_script_that_may_not_be_looked_at_is_not_called_missing(tmp_path: Path) -> None:
    text = entry('{"command": "./locked/x.sh"}')
    seen_by_root = make_workspace(tmp_path)
    seen_by_root.write("user", text)
    assert [problem.code for problem in seen_by_root.load().problems] == ["TL401"]  # and all that it imports is there
    with without_root(), TemporaryDirectory() as directory:  # pytest's own directories are closed to nobody
        workspace = make_workspace(Path(directory))
        workspace.write("user", text)
        workspace.script("home/.cursor/locked/x.sh").parent.chmod(0)
        configuration = workspace.load()
    assert [hook.command for hook in configuration.hooks] == ["./locked/x.sh"]
    assert configuration.problems == []


def test_on_windows_nobody_asks_for_the_bits_of_a_file(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", entry('{"command": "./x.sh"}'), 0o666)
    workspace.write("home/.cursor/x.sh", "echo\n", 0o666)
    roots: Roots = workspace.roots(platform="windows")
    assert locate_problems(workspace.load(roots=roots).problems) == []
