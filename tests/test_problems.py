"""Every Problem code: a file that has it, its reported place, and whether it is fatal to the file."""

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
from trotline.config.problems import Severity, get_severity, load_codes
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
    """Build a file with these keys next to `hooks`."""
    return f'{{\n  {text}\n  "hooks": {{"stop": [{{"command": "x"}}]}}\n}}\n'


def hooks(text: str) -> str:
    return f'{{"version": 1,\n "hooks": {text}}}\n'


DEEP = '"$deep": ' + "[" * (MAX_JSON_DEPTH - 1) + MARK + "[1]"


def build_text(form: str, text: str) -> str:
    kind, _, event = form.partition(":")
    if kind == "entry":
        return entry(text, event)
    return {"file": text, "keys": top(text), "hooks": hooks(text)}[kind]


def build_case(code: str, form: str, text: str, options: dict[str, Any] | None = None) -> Case:
    """Build a case from a row of tests/corpus/problems.toml."""
    case = Case(code, build_text(form, text), **(options or {}))
    return case._replace(also=tuple(case.also), surface=Surface(case.surface) if case.surface else None)


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


class DiskCase(NamedTuple):
    """Files and links with one Problem at the mark; `file` is the link by which the marked file is read."""

    code: str
    name: str
    files: dict[str, str | tuple[str, int]]
    links: tuple[tuple[str, str], ...] = ()
    file: str = ""
    also: tuple[str, ...] = ()

    def write(self, workspace: Workspace) -> None:
        for name, content in self.files.items():
            text, mode = content if isinstance(content, tuple) else (content, 0o644)
            workspace.write(name, text, mode)
        for name, target in self.links:
            path = workspace.path / FILES.get(name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(workspace.path / target)

    def get_place(self) -> tuple[str, int, int]:
        """Return file, line and column of the expected Problem."""
        texts = {name: text if isinstance(text, str) else text[0] for name, text in self.files.items()}
        name, text = next((name, text) for name, text in texts.items() if MARK in text)
        return FILES.get(self.file or name, name), *find_mark(text)


SCRIPT = ("#!/bin/sh\n", 0o755)
RUN_SCRIPT = entry('{"command": ‸"./x.sh"}')
MANIFEST = "home/.cursor/plugins/local/p/.cursor-plugin/plugin.json"
IN_CLAUDE = '{"hooks": {"Stop": [{"hooks": [‸{"type": "command", "command": "x"}]}]}}'
ON_DISK = (
    DiskCase("TL402", "not executable", {"home/.cursor/x.sh": "#!/bin/sh\n", "user": RUN_SCRIPT}),
    DiskCase("TL403", "no interpreter", {"home/.cursor/x.sh": ("echo hello\n", 0o755), "user": RUN_SCRIPT}),
    DiskCase("TL403", "missing interpreter", {"home/.cursor/x.sh": ("#!/no/such/shell\n", 0o755), "user": RUN_SCRIPT}),
    DiskCase(
        "TL404",
        "missing next to hooks.json",
        {"project/.cursor/hooks/x.sh": SCRIPT, "project": entry('{"command": ‸"./hooks/x.sh"}')},
        also=("TL506",),
    ),
    DiskCase(
        "TL406",
        "behind a shim",
        {"home/.pyenv/shims/python3": SCRIPT, "home/.cursor/x.py": "", "user": entry('{"command": ‸"python3 x.py"}')},
    ),
    DiskCase("TL408", "not on the path", {"user": entry('{"command": ‸"no-such-program --now"}')}),
    DiskCase("TL502", "in two layers", {"enterprise": entry('{"command": "x"}'), "user": entry('‸{"command": "x"}')}),
    DiskCase("TL503", "in two agents", {"user": entry('{"command": "x"}'), "claude-user": IN_CLAUDE}),
    DiskCase("TL504", "file that others can write", {"user": (MARK + top('"version": 1,'), 0o666)}),
    DiskCase(
        "TL504", "script that others can write", {"home/.cursor/x.sh": ("#!/bin/sh\n", 0o777), "user": RUN_SCRIPT}
    ),
    DiskCase(
        "TL505",
        "file linked out of the project",
        {"elsewhere/hooks.json": MARK + top('"version": 1,')},
        links=(("project", "elsewhere/hooks.json"),),
        file="project",
        also=("TL506",),
    ),
    DiskCase(
        "TL505",
        "script linked out of the project",
        {"elsewhere/x.sh": SCRIPT, "project": entry('{"command": ‸".cursor/x.sh"}')},
        links=(("project/.cursor/x.sh", "elsewhere/x.sh"),),
        also=("TL506",),
    ),
    DiskCase("TL511", "manifest with a number", {MANIFEST: '{"name": "p", "hooks": ‸5}'}),
    DiskCase("TL511", "manifest that names no file", {MANIFEST: '{"hooks": ‸"hooks/none.json"}'}),
    DiskCase(
        "TL511",
        "manifest that leads out",
        {"home/secret.json": top(""), MANIFEST: '{"hooks": ‸"../../../../secret.json"}'},
    ),
)


def load_case(case: Case, workspace: Workspace, edition_name: str = "") -> Configuration:
    workspace.write(case.layer, remove_mark(case.text).encode(case.encoding))
    return workspace.load(edition_name or case.edition, surface=case.surface)


def get_case_name(case: Case) -> str:
    return f"{case.code} {' '.join(remove_mark(case.text).split())[-50:]}"


@pytest.mark.parametrize("case", IN_TEXT, ids=get_case_name)
def test_a_problem_in_text_is_reported_once_at_its_place(case: Case, workspace: Workspace) -> None:
    problems = load_case(case, workspace).problems
    assert locate_problems(problems, without=case.also) == [(case.code, *find_mark(case.text))]
    problem = next(problem for problem in problems if problem.code == case.code)
    assert problem.message
    assert problem.message[-1] not in ".!"
    assert problem.place.file == str(workspace.path / FILES[case.layer])
    assert problem.docs == f"docs/problems.md#{case.code.lower()}"
    assert problem.severity == get_severity(case.code, get_fatal_codes(case))


def get_fatal_codes(case: Case) -> frozenset[str]:
    return ALWAYS_FATAL_IN_CLAUDE if case.layer.startswith("claude") else get_edition(case.edition).fatal_codes


@pytest.mark.parametrize("case", ON_DISK, ids=lambda case: f"{case.code} {case.name}")
def test_a_problem_on_disk_is_reported_once_at_its_place(case: DiskCase, workspace: Workspace) -> None:
    case.write(workspace)
    search_path = (str(workspace.home / ".pyenv/shims"), "/bin") if case.code in {"TL406", "TL408"} else ()
    problems = workspace.load(roots=workspace.roots(search_path=search_path)).problems
    file, line, column = case.get_place()
    assert locate_problems(problems, without=case.also) == [(case.code, line, column)]
    problem = next(problem for problem in problems if problem.code == case.code)
    assert problem.message
    assert Path(problem.place.file).relative_to(workspace.path).as_posix() == file


def test_a_directory_in_place_of_the_file_is_a_problem_without_a_place(workspace: Workspace) -> None:
    (workspace.path / FILES["user"]).mkdir(parents=True)
    (problem,) = workspace.load().problems
    assert (problem.code, problem.place.line, problem.place.column) == ("TL109", 0, 0)
    assert problem.message
    assert problem.place.file == str(workspace.path / FILES["user"])


IN_OTHER_TESTS = {"TL251", "TL252", "TL253", "TL254", "TL255", "TL256", "TL257", "TL258", "TL520", "TL521"}
IN_OTHER_TESTS |= {"TL259", "TL260", "TL280", "TL281", "TL282", "TL283", "TL284"}
"""Shown by test_config_file.py, test_models.py, test_agent_plugins.py, test_scan.py, test_export_file.py,
test_alerts.py and test_uses_packages.py."""


def test_every_code_has_a_file_that_shows_it() -> None:
    assert {case.code for case in IN_TEXT} | {case.code for case in ON_DISK} | {"TL109"} | IN_OTHER_TESTS == set(
        load_codes()
    )


WITHOUT_SOURCE = {"TL104", "TL108", "TL411", "TL501", "TL507"}
WITH_SOURCE = [case for case in IN_TEXT if case.code not in WITHOUT_SOURCE and not case.surface and case.text != MARK]


@pytest.mark.parametrize("case", WITH_SOURCE, ids=get_case_name)
def test_the_source_line_and_the_width_show_the_problem(case: Case, workspace: Workspace) -> None:
    problem = next(problem for problem in load_case(case, workspace).problems if problem.code == case.code)
    line = remove_mark(case.text).split("\n")[problem.place.line - 1]
    assert problem.source in line
    assert problem.source == line or len(problem.source) <= MAX_SOURCE
    assert problem.source[problem.source_column - 1 :][:1] == line[problem.place.column - 1 :][:1]
    assert 1 <= problem.width <= max(1, len(problem.source) - problem.source_column + 1)


@pytest.mark.parametrize("form, text, hint", read_rows("problems", "hints"))
def test_the_hint_names_the_fix(form: str, text: str, hint: str, workspace: Workspace) -> None:
    workspace.write("user", build_text(form, text))
    assert hint in workspace.layer("user").problems[0].hint


@pytest.mark.parametrize(
    "timeout, span", [("1000", "17 minutes"), ("5000", "83 minutes"), ("30000", "8 hours"), ("600000", "7 days")]
)
def test_a_timeout_in_milliseconds_is_reported_as_a_time_span(timeout: str, span: str, workspace: Workspace) -> None:
    workspace.write("user", entry(f'{{"command": "x", "timeout": {timeout}}}'))
    assert workspace.layer("user").problems[0].message == f"`timeout` is in seconds: {float(timeout):g} is {span}"


def test_a_file_with_many_syntax_errors_names_the_first_lines_only(workspace: Workspace) -> None:
    workspace.write("user", build_hooks_file(*('{"command": yes, "timeout": no}' for _ in range(15))))
    lines = [problem.place.line for problem in workspace.layer("user").problems if problem.code == "TL101"]
    assert lines == [5, 6, 7, 8, 9]


def test_many_problems_on_one_line_do_not_each_contain_the_whole_line(workspace: Workspace) -> None:
    def count_source(number: int) -> int:
        workspace.write("user", '{"version": 1, "hooks": {"stop": [' + "5," * number + "5]}}")
        return sum(len(problem.source) for problem in workspace.layer("user").problems)

    assert count_source(600) <= 2.3 * count_source(300)


def test_a_missing_value_does_not_turn_the_next_key_into_a_command(workspace: Workspace) -> None:
    workspace.write("user", entry('{"command": , "timeout": 5}'))
    assert workspace.layer("user").hooks == []


@pytest.mark.parametrize("key", ["timeout", "loop_limit"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_huge_numbers_are_read(sign: str, key: str, workspace: Workspace) -> None:
    workspace.write("user", entry(f'{{"command": "x", "{key}": {sign}1{"0" * 330}}}'))
    assert [hook.command for hook in workspace.layer("user").hooks] == ["x"]


def test_huge_numbers_in_claude_code_settings_are_read(workspace: Workspace) -> None:
    absurd = "1" + "0" * 330
    workspace.write("claude-user", f'{{"hooks": {{"Stop": [{{"hooks": [{{"command": "x", "timeout": {absurd}}}]}}]}}}}')
    assert [hook.command for hook in workspace.layer("claude-user").hooks] == ["x"]


ALWAYS_FATAL_IN_CLAUDE = frozenset({"TL101", "TL104", "TL108", "TL110"})
ALWAYS_FATAL = {"TL101", "TL104", "TL108", "TL110", "TL201", "TL205"}
FATAL_SINCE_2026_09 = {
    *("TL102", "TL103", "TL107", "TL202", "TL203", "TL206", "TL207", "TL208", "TL209", "TL210", "TL211", "TL213"),
    *("TL216", "TL218", "TL219", "TL301"),
}


@pytest.mark.parametrize("case", IN_TEXT, ids=get_case_name)
def test_a_code_is_fatal_in_the_newest_edition_exactly_if_measured(case: Case, workspace: Workspace) -> None:
    configuration = load_case(case, workspace, NEWEST)
    file = str(workspace.path / FILES[case.layer])
    read = next(read for read in configuration.layers if read.layer.file == file)
    present = {problem.code for problem in read.problems}
    rules = ALWAYS_FATAL_IN_CLAUDE if case.layer.startswith("claude") else ALWAYS_FATAL | FATAL_SINCE_2026_09
    assert bool(read.fatal_reason) == bool(present & rules)
    assert {problem.code for problem in read.problems if problem.severity is Severity.FATAL} == present & rules
    assert [hook for hook in configuration.hooks if hook.layer.file == file] == (
        [] if read.fatal_reason else read.hooks
    )


@pytest.mark.parametrize("case", IN_TEXT, ids=get_case_name)
def test_in_early_2026_only_unparsable_files_are_fatal(case: Case, workspace: Workspace) -> None:
    file = str(workspace.path / FILES[case.layer])
    read = next(read for read in load_case(case, workspace, "2026-02").layers if read.layer.file == file)
    present = {problem.code for problem in read.problems}
    rules = ALWAYS_FATAL_IN_CLAUDE if case.layer.startswith("claude") else ALWAYS_FATAL
    assert bool(read.fatal_reason) == bool(present & rules)


def test_the_editions_name_their_fatal_codes() -> None:
    assert get_edition("2025-11").fatal_codes == get_edition("2026-02").fatal_codes == ALWAYS_FATAL
    assert get_edition("2026-09").fatal_codes == ALWAYS_FATAL | FATAL_SINCE_2026_09


def test_a_file_without_version_is_fatal_in_the_newest_edition_only(workspace: Workspace) -> None:
    workspace.write("user", top(""))
    assert "there is no `version`" in workspace.layer("user", "2026-09").fatal_reason
    for old in ("2025-11", "2026-02"):
        assert (workspace.layer("user", old).fatal_reason, workspace.layer("user", old).problems) == ("", [])


def test_a_parsable_settings_file_of_claude_code_is_never_fatal(workspace: Workspace) -> None:
    workspace.write("claude-user", b'\xef\xbb\xbf{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}], "Bad": [],}}')
    read = workspace.layer("claude-user")
    assert {problem.severity for problem in read.problems} == {Severity.ERROR}
    assert (read.fatal_reason, [hook.command for hook in read.hooks]) == ("", ["x"])


def test_a_settings_file_of_claude_code_may_contain_urls(workspace: Workspace) -> None:
    schema, permissions = '"$schema": "https://json.schemastore.org/x.json"', '{"allow": ["Read(//tmp/**)"]}'
    workspace.write("claude-user", f'{{{schema}, "permissions": {permissions}}}')
    assert workspace.layer("claude-user").problems == []


def test_hooks_of_an_event_that_the_edition_does_not_know_do_not_run(workspace: Workspace) -> None:
    workspace.write("user", entry('{"command": "x"}', "preToolUse"))
    assert workspace.load("2025-11").hooks == []
    assert [hook.command for hook in workspace.load("2026-02").hooks] == ["x"]


def test_a_fatal_file_reports_its_first_reason_and_counts_the_others(workspace: Workspace) -> None:
    workspace.write("user", build_hooks_file('{"command": "x", "timeout": 0}', '{"command": ""}', "5"))
    assert workspace.layer("user").fatal_reason == "line 5: `timeout` is 0; it must be more than 0 seconds (and 2 more)"


@pytest.mark.parametrize("name", EDITION_NAMES)
def test_every_fatal_code_is_known(name: str) -> None:
    assert get_edition(name).fatal_codes <= set(load_codes())


def test_every_code_has_a_title_and_a_text() -> None:
    for code, known in load_codes().items():
        assert code[:2] == "TL"
        assert code[2] in "123456"
        assert known.title[0].lower() == known.title[0] or known.title[0] == "`"
        assert known.about.endswith(".")
        assert known.severity is not Severity.FATAL


VALID_ENTRIES = [f'{{"command": "hook-{number}", "timeout": 5}}' for number in range(10)]
INVALID_ENTRIES = read_corpus("problems")["invalid_entries"]


@pytest.mark.parametrize("invalid", INVALID_ENTRIES)
@pytest.mark.parametrize("at", [0, 4, 9])
def test_one_bad_entry_never_hides_the_nine_good_ones(at: int, invalid: str, workspace: Workspace) -> None:
    workspace.write("user", build_hooks_file(*VALID_ENTRIES[:at], INVALID_ENTRIES[invalid], *VALID_ENTRIES[at + 1 :]))
    read = workspace.layer("user")
    commands = [hook.command for hook in read.hooks]
    assert [command for command in commands if command.startswith("hook-")] == [
        f"hook-{number}" for number in range(10) if number != at
    ]
    lines_more = INVALID_ENTRIES[invalid].count("\n")
    assert {problem.place.line for problem in read.problems} <= set(range(at + 4, at + 7 + lines_more))
    assert read.problems


@pytest.mark.parametrize("entry", ['{{"command": "curl http://x/{}"}}', '{{"name": 1, "name": 2, "command": "x{}"}}'])
def test_many_urls_and_equal_keys_never_hide_the_hooks_after_them(workspace: Workspace, entry: str) -> None:
    entries = [entry.format(number) for number in range(30)]
    workspace.write("user", build_hooks_file(*entries))
    assert [hook.command in text for hook, text in zip(workspace.layer("user").hooks, entries, strict=True)] == [
        True
    ] * 30


@pytest.mark.parametrize("event", ['"zzz": [{"command": "a"}]', '"PreToolUse": []', '"stop": {}', '"stop": 5', '"": 1'])
def test_one_bad_event_never_hides_the_good_ones(event: str, workspace: Workspace) -> None:
    good = '"preToolUse": [{"command": "one"}]', '"sessionEnd": [{"command": "two"}]'
    workspace.write("user", hooks(f"{{{good[0]}, {event}, {good[1]}}}"))
    read = workspace.layer("user")
    assert [hook.command for hook in read.hooks] == ["one", "two"]
    assert read.fatal_reason


@pytest.mark.parametrize("broken", ["{", "", "\0", "null", '{"version": 1, "hooks": {"stop": [', "[" * 5000])
def test_one_bad_file_never_hides_the_other_layers(broken: str, workspace: Workspace) -> None:
    workspace.write("project", broken)
    workspace.write("enterprise", entry('{"command": "one"}'))
    workspace.write("user", entry('{"command": "two"}'))
    configuration = workspace.load()
    assert [hook.command for hook in configuration.hooks] == ["one", "two"]
    assert workspace.layer("project").fatal_reason


CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpora" / "hooks_json"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpora are not here")
@pytest.mark.parametrize("name", EDITION_NAMES)
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_read_to_its_last_entry(path: Path, name: str, workspace: Workspace) -> None:
    workspace.write("project", path.read_bytes())
    read = workspace.layer("project", name)
    assert all(problem.code in load_codes() and problem.message for problem in read.problems)
    write_case = json.loads(re.sub(r"(?m)^\s*//.*$|/\*.*?\*/|\s//\s.*$", "", path.read_text("utf-8-sig")))["hooks"]
    entries = [f"{event}[{index}]" for event in EVENTS for index in range(len(write_case.get(event, [])))]
    nothing_to_run = {problem.entry for problem in read.problems if problem.code in {"TL208", "TL210", "TL211"}}
    assert nothing_to_run <= set(entries)
    assert len(read.hooks) + len(nothing_to_run) == len(entries)


@given(
    file_contents, st.sampled_from(list(FILES)), st.sampled_from(EDITION_NAMES), st.none() | st.sampled_from(Surface)
)
def test_any_bytes_in_any_layer_can_be_read(
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
            problem.code, ALWAYS_FATAL_IN_CLAUDE if layer.kind.from_claude else get_edition(edition_name).fatal_codes
        )
        assert problem.place.column >= 1
        assert problem.width >= 1


MANY: dict[str, Callable[[int], str]] = {
    "entries": lambda number: build_hooks_file(
        *(f'{{"command": "hook-{i} --now", "timeout": 5}}' for i in range(number))
    ),
    "equal commands": lambda number: build_hooks_file(*['{"command": "same --now"}'] * number),
    "equal commands on two events": lambda number: hooks(
        f'{{"preToolUse": [{build_list(number // 2)}], "beforeShellExecution": [{build_list(number // 2)}]}}'
    ),
    "matchers": lambda number: build_hooks_file(
        *(f'{{"command": "x", "matcher": "Shell|a{i}+b"}}' for i in range(number)), event="preToolUse"
    ),
    "a long matcher": lambda number: entry(f'{{"command": "x", "matcher": "{"(a|b)" * number}"}}', "preToolUse"),
    "an open matcher": lambda number: entry(f'{{"command": "x", "matcher": "{"(" * number}"}}', "preToolUse"),
    "bad entries": lambda number: build_hooks_file(*["5"] * number),
    "unknown events": lambda number: hooks("{" + ",\n".join(f'"zzz{i}": []' for i in range(number)) + "}"),
    "unknown keys": lambda number: entry("{" + ",\n".join(f'"k{i}": 1' for i in range(number)) + "}"),
    "variables": lambda number: entry(f'{{"command": "x {"$FILE " * number}"}}'),
    "a long command": lambda number: entry(f'{{"command": "x {"a/b " * number}"}}'),
    "quotes in a command": lambda number: entry(f'{{"command": "{"a" + chr(39)}{"b; " * number}"}}'),
}


def build_list(number: int) -> str:
    return ", ".join(['{"command": "same"}'] * number)


def count_reading_steps(text: str, workspace: Workspace) -> int:
    """Return the steps of reading a user's file with this text."""
    path = workspace.write("user", text)
    roots = workspace.roots()
    layer = get_layer(path, roots, get_edition(NEWEST))
    return count_steps(lambda: read_layers([layer], roots, get_edition(NEWEST)))


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_twice_the_entries_are_at_most_twice_the_work(make: Callable[[int], str], workspace: Workspace) -> None:
    count_reading_steps(make(10), workspace)  # imports and caches of the first call do not count
    once = count_reading_steps(make(300), workspace)
    assert count_reading_steps(make(600), workspace) <= 2.3 * once + 500


def test_equal_commands_in_many_layers_are_compared_only_so_often(workspace: Workspace) -> None:
    roots = workspace.roots()

    def count_layer_steps(number: int) -> int:
        layers = []
        for index in range(number):
            path = workspace.write(f"p{number}-{index}/.cursor/hooks.json", entry('{"command": "same"}'))
            layers.append(get_layer(path, roots, get_edition(NEWEST)))
        return count_steps(lambda: read_layers(layers, roots, get_edition(NEWEST)))

    count_layer_steps(5)
    once = count_layer_steps(60)
    assert count_layer_steps(120) <= 2.3 * once + 500


def test_problems_are_listed_in_the_order_of_their_places(workspace: Workspace) -> None:
    workspace.write(
        "user", build_hooks_file('{"command": "", "x": 1}', "5", '{"timeout": 0, "command": "y", "timeout": -1}')
    )
    problems = workspace.layer("user").problems
    assert [problem.place for problem in problems] == sorted(problem.place for problem in problems)
    assert len(problems) == 5


def test_a_deleted_file_is_a_layer_without_a_file(workspace: Workspace) -> None:
    path = workspace.write("user", top('"version": 1,'))
    layer = get_layer(path, workspace.roots(), get_edition(NEWEST))
    path.unlink()
    read = read_layer(layer, workspace.roots(), get_edition(NEWEST))
    assert (read.exists, read.fatal_reason, read.hooks, read.problems) == (False, "", [], [])


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_circular_link_is_a_problem(workspace: Workspace) -> None:
    path = workspace.path / FILES["user"]
    path.parent.mkdir(parents=True)
    path.symlink_to(path)
    read = workspace.layer("user")
    assert [problem.code for problem in read.problems] == ["TL109"]
    assert read.fatal_reason


UNPRIVILEGED = 65534


@contextmanager
def without_root() -> Iterator[None]:
    """Run as an unprivileged user, because root may read everything."""
    try:
        os.setegid(UNPRIVILEGED)
        os.seteuid(UNPRIVILEGED)
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can change its user")
def test_an_unreadable_script_is_not_reported_as_missing(tmp_path: Path) -> None:
    text = entry('{"command": "./locked/x.sh"}')
    seen_by_root = make_workspace(tmp_path)
    seen_by_root.write("user", text)
    assert [problem.code for problem in seen_by_root.load().problems] == [
        "TL401"
    ]  # imports everything before the user changes
    with without_root(), TemporaryDirectory() as directory:  # pytest's directories are closed to that user
        workspace = make_workspace(Path(directory))
        workspace.write("user", text)
        workspace.script("home/.cursor/locked/x.sh").parent.chmod(0)
        configuration = workspace.load()
    assert [hook.command for hook in configuration.hooks] == ["./locked/x.sh"]
    assert configuration.problems == []


def test_on_windows_permission_bits_are_ignored(workspace: Workspace) -> None:
    workspace.write("user", entry('{"command": "./x.sh"}'), 0o666)
    workspace.write("home/.cursor/x.sh", "echo\n", 0o666)
    roots: Roots = workspace.roots(platform="windows")
    assert locate_problems(workspace.load(roots=roots).problems) == []
