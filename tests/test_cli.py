"""The command line: exit codes, the JSON envelope, output formats, terminals, and which files are read."""

import contextlib
import io
import json
import os
import pwd
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given

from kit import Workspace, build_hooks_file, read_corpus, read_rows, run_trotline
from strategies import file_contents
from trotline import __version__
from trotline.agents.cursor.cursor_editions import EDITION_NAMES
from trotline.cli import COMMANDS, group, run
from trotline.config.problems import load_codes
from trotline.domain.contracts import Surface
from trotline.domain.events import EVENTS
from trotline.domain.hooks import LayerKind

CLEAN = build_hooks_file('{"command": "exit 0"}')
LATE = build_hooks_file('{"command": "exit 0", "timeout": 5000}')
HOSTILE_TEXT = "\\u001b[31m\\u009b5m\\u0007\\n::error file=x::owned\\r\\u202e"
ESCAPE = "\x1b"


def read_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def get_command(name: str) -> click.Command:
    files = group.get_command(click.Context(group), name)
    assert files is not None
    return files


def test_notes_exit_with_0(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("project", CLEAN)
    assert run(["check", *workspace.options]) == 0
    assert "note TL506" in capsys.readouterr().out


def test_disk_error_exits_with_1_without_a_traceback(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("project", CLEAN)
    (workspace.home / ".local").write_text("in the way")
    assert run(["trust", "--yes", *workspace.options]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: `{workspace.home / '.local'}")
    assert "not a directory" in error
    assert "Traceback" not in error


def test_valid_and_missing_files_exit_with_0(workspace: Workspace) -> None:
    assert run(["check", *workspace.options]) == 0
    workspace.write("user", CLEAN)
    assert run(["check", *workspace.options]) == 0


@pytest.mark.parametrize("text", [LATE, "{", "", "\0", "null", "[]", build_hooks_file("5")])
def test_findings_and_unparsable_files_exit_with_1(text: str, workspace: Workspace) -> None:
    workspace.write("user", text)
    assert run(["check", *workspace.options]) == 1
    assert run(["check", str(workspace.home / ".cursor" / "hooks.json"), *workspace.options]) == 1


def test_show_exits_with_0_for_invalid_files(workspace: Workspace) -> None:
    workspace.write("user", "{")
    assert run(["show", *workspace.options]) == 0


@pytest.mark.parametrize(
    "arguments, message, hint",
    read_rows("cli", "usage_errors_exit_with_64_and_a_hint"),
)
def test_usage_errors_exit_with_64_and_a_hint(
    arguments: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 64
    printed = capsys.readouterr()
    first, last = printed.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert last.startswith("hint: ")
    assert hint in last
    assert printed.out == ""


@pytest.mark.parametrize(
    "arguments",
    read_corpus("cli")["errors_have_the_envelope"],
)
def test_errors_have_the_envelope(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments, "--json"]) == 64
    printed = capsys.readouterr()
    body = json.loads(printed.out)
    assert list(body) == ["schema", "ok", "data", "problems"]
    assert (body["schema"], body["ok"], body["data"]) == ("trotline.error/1", False, None)
    (problem,) = body["problems"]
    assert (problem["code"], problem["severity"]) == ("EXIT64", "error")
    assert printed.err.startswith(f"error: {problem['message']}\n")


def test_error_has_the_envelope_with_format_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "no/such", "--format", "json"]) == 64
    body = read_json(capsys)
    assert (body["schema"], body["ok"]) == ("trotline.error/1", False)


def test_check_prints_the_envelope(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    path = workspace.write("user", LATE)
    assert run(["check", "--json", *workspace.options]) == 1
    body = read_json(capsys)
    assert (list(body), body["schema"], body["ok"]) == (["schema", "ok", "data", "problems"], "trotline.check/1", False)
    assert body["data"]["edition"] == "2026-09"
    assert [file["layer"] for file in body["data"]["files"]] == [kind.value for kind in LayerKind][:7]
    (user,) = (file for file in body["data"]["files"] if file["exists"])
    assert user == {"layer": "user", "file": str(path), "exists": True, "fatal_reason": None, "hooks": 1}
    (problem,) = body["problems"]
    assert problem == {
        "code": "TL217",
        "severity": "warning",
        "place": {"file": str(path), "line": 5, "column": 40},
        "message": "`timeout` is in seconds: 5000 is 83 minutes",
        "hint": "did you mean 5?",
        "source": '      {"command": "exit 0", "timeout": 5000}',
        "source_column": 40,
        "width": 4,
        "entry": "stop[0]",
        "docs": "docs/problems.md#tl217",
    }


def test_envelope_gives_the_reason_why_a_file_is_ignored(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("user", "[]")
    assert run(["check", "--json", *workspace.options]) == 1
    (user,) = (file for file in read_json(capsys)["data"]["files"] if file["exists"])
    assert user["fatal_reason"] == "line 1: the file holds a list, not an object"


def test_envelope_is_ok_exactly_if_the_exit_code_is_0(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    for text in (CLEAN, LATE, "{", "", '{"version": 1, "hooks": {}}'):
        workspace.write("project", text)
        assert run(["check", "--json", *workspace.options]) == (0 if read_json(capsys)["ok"] else 1)


def test_json_option_equals_format_json(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("user", LATE)
    run(["check", "--json", *workspace.options])
    first = capsys.readouterr().out
    run(["check", "--format", "json", *workspace.options])
    assert capsys.readouterr().out == first


def test_show_prints_the_envelope(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    path = workspace.write(
        "project",
        build_hooks_file('{"command": "exit 0", "matcher": "curl", "failClosed": true}', event="beforeShellExecution"),
    )
    assert run(["show", "--json", "--for", "curl x", *workspace.options]) == 0
    body = read_json(capsys)
    assert (list(body), body["schema"], body["ok"]) == (["schema", "ok", "data", "problems"], "trotline.show/1", True)
    (hook,) = body["data"]["hooks"]
    assert re.fullmatch("[0-9a-f]{16}", hook.pop("id"))
    expected = {
        "event": "beforeShellExecution",
        "order": 1,
        "layer": "project",
        "place": f"{path}:5:7",
        "command": "exit 0",
        "prompt": None,
        "cwd": str(workspace.project),
        "matcher": "curl",
        "timeout": 60.0,
        "fails": "closed",
        "loop_limit": 5,
        "needs_trust": True,
        "off": None,
        "applies": True,
        "why": "matcher `curl` matches `curl x`",
    }
    assert {key: hook[key] for key in expected} == expected
    assert [problem["code"] for problem in body["problems"]] == ["TL506"]


@pytest.mark.parametrize("name", [None, *EVENTS])
def test_events_prints_the_envelope(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["events", *([name] if name else []), "--json"]) == 0
    body = read_json(capsys)
    assert (body["schema"], body["ok"], body["problems"]) == ("trotline.events/1", True, [])
    assert [event["name"] for event in body["data"]] == ([name] if name else list(EVENTS))
    for event in body["data"]:
        assert set(event["fires"]) == {surface.value for surface in Surface}
        assert event["example"]["hook_event_name"] == event["name"]


@pytest.mark.parametrize("name, number", [("2025-11", 12), ("2026-02", 20), ("2026-09", 21)])
def test_events_are_those_of_the_edition(name: str, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["events", "--json", "--edition", name]) == 0
    assert len(read_json(capsys)["data"]) == number
    assert run(["events", "--edition", name]) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line.split(" ")[0] in EVENTS]) == number


@pytest.mark.parametrize("arguments", [[], ["preToolUse"], ["preToolUse", "--reply"], ["stop", "--reply"]])
def test_schema_is_printed_plain_or_in_the_envelope(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", *arguments]) == 0
    plain = read_json(capsys)
    assert plain["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert run(["schema", *arguments, "--json"]) == 0
    body = read_json(capsys)
    assert (body["schema"], body["ok"], body["data"], body["problems"]) == ("trotline.schema/1", True, plain, [])


@pytest.mark.parametrize("code", load_codes())
def test_every_code_can_be_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--explain", code.lower()]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(code)
    assert load_codes()[code].about in printed


def test_explanation_has_the_envelope(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--explain", "TL107", "--json"]) == 0
    body = read_json(capsys)
    assert (body["ok"], body["data"]["code"]) == (True, "TL107")


def test_envelope_contains_no_infinite_numbers(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("user", build_hooks_file('{"command": "exit", "timeout": 1e999}'))
    run(["show", "--json", *workspace.options])
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_github_annotations_are_one_line_each(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write(
        "user",
        build_hooks_file('{"command": "exit 0", "timeout": 5000}', '{"command": ""}', '{"command": "exit", "name": 1}'),
    )
    assert run(["check", "--format", "github", *workspace.options]) == 1
    file = f"file={workspace.home}/.cursor/hooks.json"
    assert [line.split("::")[1] for line in capsys.readouterr().out.splitlines()] == [
        f"warning {file},line=5,col=40,title=TL217",
        f"error {file},line=6,col=19,title=TL211",
        f"notice {file},line=7,col=27,title=TL215",
    ]


def test_annotations_name_files_relative_to_the_current_directory(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("project", build_hooks_file('{"command": ""}'))
    monkeypatch.chdir(workspace.project)
    run(["check", "--format", "github", *workspace.options])
    assert all(",line=" in line and "file=.cursor/hooks.json" in line for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        f'{{"version": 1, "hooks": {{"a{HOSTILE_TEXT}": []}}}}',
        f'{{"version": 1, "hooks": {{"stop": [{{"command": "x", "type": "{HOSTILE_TEXT}"}}]}}}}',
        f'{{"version": 1, "hooks": {{"preToolUse": [{{"command": "exit", "matcher": "{HOSTILE_TEXT}"}}]}}}}',
        build_hooks_file('{"command": "\'./x\\n::error file=x::owned\\r\'"}'),
        f'{{"version": 1, "hooks": {{"stop": [{{"command": "exit", "{HOSTILE_TEXT}": 1}}]}}}}',
        f'{{"version": 1, "hooks": {{}}, "{HOSTILE_TEXT}": 1}}',
    ],
)
def test_hostile_file_cannot_inject_an_annotation(
    text: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("user", text)
    run(["check", "--json", *workspace.options])
    number = len(read_json(capsys)["problems"])
    run(["check", "--format", "github", *workspace.options])
    lines = re.split(r"\r\n|\r|\n", capsys.readouterr().out.rstrip("\n"))
    assert len(lines) == number >= 1
    assert all(
        re.match(r"::(error|warning|notice) file=[^,:]+,line=\d+,col=\d+,title=TL\d{3}::", line) for line in lines
    )


def test_hostile_path_cannot_inject_properties_of_an_annotation(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace.write("x,line=9::owned\n::error::100%/.cursor/hooks.json", "{")
    assert run(["check", str(path), "--format", "github", *workspace.options]) == 1
    for line in capsys.readouterr().out.splitlines():
        assert re.match(r"::(error|notice) file=[^,:\n]+,line=1,col=\d+,title=TL\d{3}::", line)
        assert "x%2Cline=9%3A%3Aowned%0A%3A%3Aerror%3A%3A100%25" in line


def test_lone_surrogate_does_not_crash_annotations(workspace: Workspace) -> None:
    workspace.write("user", r'{"version": 1, "hooks": {"\ud800": []}}')
    assert workspace.run("check", "--format", "github").returncode == 1


def test_sarif_lists_every_used_rule_and_locates_every_result(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("project", build_hooks_file('{"command": ""}', '{"command": "exit", "timeout": 5000}', "5", "6"))
    assert run(["check", "--format", "sarif", *workspace.options]) == 1
    log = read_json(capsys)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (only,) = log["runs"]
    driver = only["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("trotline", __version__)
    identities = [rule["id"] for rule in driver["rules"]]
    assert len(set(identities)) == len(identities)
    assert {result["ruleId"] for result in only["results"]} == set(identities) == {"TL506", "TL211", "TL217", "TL210"}
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    for result in only["results"]:
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        region = place["region"]
        assert region["startLine"] >= 1
        assert 1 <= region["startColumn"] < region["endColumn"]


def test_path_in_sarif_is_a_uri(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.write("p a#b%/.cursor/hooks.json", "{")
    monkeypatch.chdir(workspace.path)
    run(["check", str(path), "--format", "sarif", *workspace.options])
    place = read_json(capsys)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "p%20a%23b%25/.cursor/hooks.json"


def test_sarif_without_problems_has_no_results(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--format", "sarif", *workspace.options]) == 0
    assert read_json(capsys)["runs"][0]["results"] == []


ROOTED = [name for name in COMMANDS if any(option.name == "home" for option in get_command(name).params)]


def test_check_and_show_take_the_root_options() -> None:
    assert {"check", "show"} <= set(ROOTED)


@pytest.mark.parametrize("name", ROOTED)
def test_command_with_a_root_option_takes_all_three(name: str) -> None:
    options = {option for parameter in get_command(name).params for option in parameter.opts}
    assert {"--home", "--system", "--project"} <= options


@pytest.mark.parametrize("name", ["check", "show"])
def test_root_options_move_every_layer(name: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--json", *workspace.options]) == 0
    data = read_json(capsys)["data"]
    assert all(file["file"].startswith(str(workspace.path)) for file in data.get("files") or data["layers"])


def test_several_projects_are_several_layers(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        workspace.write(
            f"{name}/.cursor/hooks.json", build_hooks_file(f'{{"command": "exit {len(name)}", "name": "{name}"}}')
        )
    projects = [word for name in ("one", "two") for word in ("--project", str(workspace.path / name))]
    run(["show", "--json", "--home", str(workspace.home), "--system", str(workspace.system), *projects])
    assert [hook["cwd"] for hook in read_json(capsys)["data"]["hooks"]] == [
        str(workspace.path / name) for name in ("one", "two")
    ]


def test_project_is_found_from_a_directory_inside_it(workspace: Workspace) -> None:
    workspace.write("project", CLEAN)
    inner = workspace.project / "src" / "deep"
    inner.mkdir(parents=True)
    roots = ["--home", str(workspace.home), "--system", str(workspace.system)]
    body = json.loads(run_trotline("check", "--json", *roots, cwd=inner).stdout)
    assert [file["file"] for file in body["data"]["files"] if file["exists"]] == [
        str(workspace.project / ".cursor/hooks.json")
    ]


def test_named_project_is_read_with_all_its_layers(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("other/.cursor/hooks.json", CLEAN)
    workspace.write("user", CLEAN)
    run(["check", str(workspace.path / "other"), "--json", *workspace.options])
    files = [file["file"] for file in read_json(capsys)["data"]["files"] if file["exists"]]
    assert files == [str(workspace.path / "other/.cursor/hooks.json"), str(workspace.home / ".cursor/hooks.json")]


def test_project_variables_refer_to_the_named_project(workspace: Workspace) -> None:
    workspace.script("other/.cursor/hooks/x.sh")
    command = "$CURSOR_PROJECT_DIR/.cursor/hooks/x.sh"
    path = workspace.write("other/.cursor/hooks.json", build_hooks_file(f'{{"command": "{command}"}}'))
    assert run(["check", str(path), *workspace.options]) == 0
    assert run(["check", str(workspace.path / "other"), *workspace.options]) == 0


def test_shared_layers_and_files_are_read_once(workspace: Workspace) -> None:
    path = str(workspace.write("user", CLEAN))
    assert run(["check", path, path, *workspace.options]) == 0
    workspace.write("user", CLEAN)
    workspace.write("one/README")
    workspace.write("two/README")
    assert run(["check", str(workspace.path / "one"), str(workspace.path / "two"), *workspace.options]) == 0


def test_user_file_is_read_once_in_the_home_directory(workspace: Workspace) -> None:
    workspace.write("user", CLEAN)
    done = run_trotline("check", "--home", str(workspace.home), "--system", str(workspace.system), cwd=workspace.home)
    assert done.returncode == 0, done.stdout


def test_file_named_by_a_parent_path_belongs_to_its_project(workspace: Workspace) -> None:
    workspace.script("project/.cursor/hooks/x.sh")
    workspace.write("project", build_hooks_file('{"command": "./missing.sh"}'))
    roots = ["--home", str(workspace.home), "--system", str(workspace.system)]
    done = run_trotline("check", "../hooks.json", *roots, cwd=workspace.project / ".cursor" / "hooks")
    assert done.returncode == 1, done.stdout


def test_named_manifest_reads_the_hooks_of_its_plugin(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = workspace.write("plug/.cursor-plugin/plugin.json", "{}")
    path = workspace.write("plug/hooks/hooks.json", '{"hooks": {"stop": [{"command": "exit 0"}]}}')
    workspace.write("project/hooks/hooks.json", '{"hooks": {"stop": [{"command": "exit 1"}, {"command": "exit 2"}]}}')
    monkeypatch.chdir(workspace.project)
    run(["check", str(manifest), "--json", *workspace.options])
    assert read_json(capsys)["data"]["files"][0]["file"] == str(path)


def test_check_of_the_cursor_directory_checks_the_project(workspace: Workspace) -> None:
    workspace.write("project", "{")
    assert run(["check", str(workspace.project / ".cursor"), *workspace.options]) == 1


def test_named_file_is_read_alone(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("user", LATE)
    path = workspace.write("project", CLEAN)
    assert run(["check", str(path), "--json", *workspace.options]) == 0
    (file,) = read_json(capsys)["data"]["files"]
    assert (file["layer"], file["file"]) == ("project", str(path))


@pytest.mark.parametrize("kind", LayerKind)
def test_named_file_is_read_as_the_given_layer(
    kind: LayerKind, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace.write("somewhere/x.json", '{"hooks": {}}')
    run(["check", str(path), "--layer", kind.value, "--json", *workspace.options])
    assert [file["layer"] for file in read_json(capsys)["data"]["files"]] == [kind.value]


def test_file_outside_of_a_project_reports_the_skipped_checks(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace.write("somewhere/hooks.json", build_hooks_file('{"command": "./missing.sh"}'))
    assert run(["check", str(path), *workspace.options]) == 0
    assert "it stands in no project, so scripts and paths were not looked for" in capsys.readouterr().out


def test_home_directory_comes_from_the_password_database(workspace: Workspace) -> None:
    workspace.write("home/.cursor/hooks.json", LATE)
    environment = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "USERPROFILE"), str(workspace.home))
    system = ["--system", str(workspace.system)]
    done = run_trotline("check", "--json", *system, cwd=workspace.project, environment=environment)
    files = {file["layer"]: file["file"] for file in json.loads(done.stdout)["data"]["files"]}
    assert files["user"] == str(Path(pwd.getpwuid(os.getuid()).pw_dir).resolve() / ".cursor" / "hooks.json")


def test_output_to_a_pipe_has_no_escape_codes(workspace: Workspace) -> None:
    workspace.write("user", build_hooks_file('{"command": ""}', '{"command": "exit", "timeout": 5000}'))
    for arguments in (
        ["check", *workspace.options],
        ["show", *workspace.options],
        ["events"],
        ["events", "stop"],
        ["--help"],
    ):
        done = run_trotline(*arguments, cwd=workspace.project)
        assert done.stdout
        assert ESCAPE not in done.stdout + done.stderr


def run_on_a_terminal(*arguments: str, cwd: Path) -> str:
    """Run a command on a terminal and return its output."""
    controller, terminal = os.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "trotline", *arguments], cwd=cwd, stdin=terminal, stdout=terminal, stderr=terminal
        )
    finally:
        os.close(terminal)
    written = b""
    try:
        while piece := os.read(controller, 65536):
            written += piece
    except OSError:  # Linux reports a closed terminal so
        pass
    finally:
        os.close(controller)
        process.wait()
    return written.decode()


STYLES = re.compile(r"\x1b\[[0-9;]*m")


def test_output_to_a_terminal_has_colour(workspace: Workspace) -> None:
    workspace.write("user", LATE)
    assert STYLES.search(run_on_a_terminal("check", *workspace.options, cwd=workspace.project))
    assert STYLES.search(run_on_a_terminal("show", *workspace.options, cwd=workspace.project))


@pytest.mark.parametrize("name", ["check", "show"])
def test_no_control_character_of_a_file_reaches_a_terminal(name: str, workspace: Workspace) -> None:
    raw = "\x9b31m\u202e\x7f"
    entry = f'{{"command": "./{HOSTILE_TEXT}{raw}", "matcher": "{HOSTILE_TEXT}", "{HOSTILE_TEXT}{raw}": 1}}'
    workspace.write("project", f'{{"version": 1, "hooks": {{"a{HOSTILE_TEXT}": [],\n"preToolUse": [{entry}]}}}}')
    workspace.write(
        "user", f'{{"version": "{HOSTILE_TEXT}", "hooks": {{"stop": [{{"command": "exit \x1b[5m{HOSTILE_TEXT}"}}]}}}}'
    )
    text = STYLES.sub("", run_on_a_terminal(name, *workspace.options, cwd=workspace.project)).replace("\r\n", "\n")
    assert len(text) > 200
    assert {char for char in text if not char.isprintable()} == {"\n"}
    assert not any(line.startswith("::") for line in text.splitlines())


@pytest.mark.parametrize("form", ["github", "json", "sarif"])
def test_no_control_character_of_a_file_reaches_another_format(form: str, workspace: Workspace) -> None:
    workspace.write("user", f'{{"version": 1, "hooks": {{"a{HOSTILE_TEXT}": []}}}}')
    done = workspace.run("check", "--format", form)
    assert {char for char in done.stdout if not char.isprintable()} == {"\n"}


@pytest.mark.parametrize("name", ["check", "show"])
def test_no_control_character_of_a_path_reaches_a_terminal(name: str, workspace: Workspace) -> None:
    project = "p\x1b]0;x\x07"
    workspace.write(f"{project}/.cursor/hooks.json", build_hooks_file('{"command": "exit"}'))
    roots = [*workspace.options[:-1], str(workspace.path / project)]
    done = run_trotline(name, *roots, cwd=workspace.project)
    assert {char for char in done.stdout if not char.isprintable()} == {"\n"}


def test_version_option_imports_no_library() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trotline", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"trotline {__version__}\n"
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "trotline" in imported
    assert not imported & {"click", "msgspec", "re2", "regress", "json", "subprocess", "asyncio", "importlib.metadata"}


def test_version_option_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"trotline {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_every_command_shows_an_example(name: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, option]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"(?m)^\s+.*trotline {name}\b", printed.split("\n", 1)[1])


def test_help_lists_every_command_and_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(re.search(rf"(?m)^  {name} ", printed) for name in COMMANDS)
    assert "  trotline check  " in printed
    run(["--help"])
    help_text = capsys.readouterr().out
    assert run([]) == 0
    assert capsys.readouterr() == (help_text, "")


def test_examples_in_help_are_not_rewrapped(capsys: pytest.CaptureFixture[str]) -> None:
    run(["show", "--help"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("trotline show")]
    assert len(lines) == 5


SHOWN_HOOKS = (
    ('{"command": "exit 1", "matcher": "curl|wget|nc "}', "beforeShellExecution"),
    ('{"command": "exit 2", "matcher": "Shell|Write"}', "preToolUse"),
    ('{"command": "exit 3", "matcher": "explore"}', "subagentStart"),
    ('{"command": "exit 4"}', "beforeShellExecution"),
    ('{"command": "exit 5", "matcher": "Stop"}', "stop"),
)


@pytest.mark.parametrize(
    "words, applies, not_",
    read_rows("cli", "show_lists_the_hooks_that_apply_to_an_action"),
)
def test_show_lists_the_hooks_that_apply_to_an_action(
    words: list[str], applies: list[str], not_: list[str], workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    events = {event: [entry for entry, name in SHOWN_HOOKS if name == event] for _, event in SHOWN_HOOKS}
    lists = ", ".join(f'"{event}": [{", ".join(entries)}]' for event, entries in events.items())
    workspace.write("user", f'{{"version": 1, "hooks": {{{lists}}}}}')
    assert run(["show", *words, "--json", *workspace.options]) == 0
    hooks = read_json(capsys)["data"]["hooks"]
    assert [hook["command"] for hook in hooks if hook["applies"]] == applies
    assert [hook["command"] for hook in hooks if not hook["applies"]] == not_
    assert all(hook["why"] for hook in hooks)
    by_event = [[hook["order"] for hook in hooks if hook["applies"] and hook["event"] == name] for name in events]
    assert all(orders == list(range(1, len(orders) + 1)) for orders in by_event)
    assert all(hook["order"] is None for hook in hooks if not hook["applies"])


def test_show_lists_the_hooks_of_an_ignored_file_with_the_reason(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("user", build_hooks_file('{"command": "exit 1"}', '{"command": "exit 2", "timeout": 0}'))
    workspace.write("enterprise", build_hooks_file('{"command": "exit 3"}'))
    assert run(["show", "stop", "--json", *workspace.options]) == 0
    hooks = read_json(capsys)["data"]["hooks"]
    reason = "Cursor loads nothing from this file, because line 6: `timeout` is 0; it must be more than 0 seconds"
    assert [(hook["command"], hook["order"], hook["off"]) for hook in hooks] == [
        ("exit 3", 1, None),
        ("exit 1", None, reason),
        ("exit 2", None, reason),
    ]
    assert run(["show", "stop", *workspace.options]) == 0
    printed = capsys.readouterr().out
    assert printed.count(f"off: {reason}") == 2
    assert "1 hook would run; 2 would not" in printed


@pytest.mark.parametrize("name", EDITION_NAMES)
def test_check_and_show_use_the_given_edition(
    name: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("user", '{"hooks": {"stop": [{"command": "exit 0"}]}}')
    assert run(["check", "--edition", name, *workspace.options]) == (1 if name == "2026-09" else 0)
    capsys.readouterr()
    run(["show", "--edition", name, "--json", *workspace.options])
    body = read_json(capsys)["data"]
    assert body["edition"] == name
    assert [bool(hook["off"]) for hook in body["hooks"]] == [name == "2026-09"]


def test_files_of_claude_code_can_be_excluded(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("claude-user", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "exit 1"}]}]}}')
    run(["show", "--json", *workspace.options])
    assert [hook["layer"] for hook in read_json(capsys)["data"]["hooks"]] == ["claude-user"]
    run(["show", "--json", "--no-claude", *workspace.options])
    assert read_json(capsys)["data"]["hooks"] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_printed_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "trotline" in printed
    assert f"_TROTLINE_COMPLETE={shell}_complete" in printed


@pytest.mark.parametrize(
    "typed, completed",
    read_rows("cli", "bash_completes_commands_options_and_choices"),
)
def test_bash_completes_commands_options_and_choices(typed: str, completed: list[str], tmp_path: Path) -> None:
    words = typed.split()
    environment = {"_TROTLINE_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    done = run_trotline(cwd=tmp_path, environment=environment)
    assert [line.split(",", 1)[1] for line in done.stdout.splitlines()] == completed
    assert (done.stderr, done.returncode) == ("", 0)


def test_fish_and_zsh_complete_commands(tmp_path: Path) -> None:
    fish = {"_TROTLINE_COMPLETE": "fish_complete", "COMP_WORDS": "trotline ch", "COMP_CWORD": "ch"}
    assert "plain,check" in run_trotline(cwd=tmp_path, environment=fish).stdout
    zsh = {"_TROTLINE_COMPLETE": "zsh_complete", "COMP_WORDS": "trotline ch", "COMP_CWORD": "1"}
    assert run_trotline(cwd=tmp_path, environment=zsh).stdout.splitlines()[:2] == ["plain", "check"]


def run_with_a_closed_pipe(arguments: list[str], workspace: Workspace) -> tuple[int, str]:
    """Run a command whose output is a closed pipe; return its exit code and errors."""
    reader, writer = os.pipe()
    os.close(reader)
    argv = [sys.executable, "-m", "trotline", *arguments]
    done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, cwd=workspace.project, text=True, check=False)
    os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments",
    read_corpus("cli")["closed_pipe_exits_with_141_without_a_traceback"],
)
def test_closed_pipe_exits_with_141_without_a_traceback(arguments: list[str], workspace: Workspace) -> None:
    workspace.write("user", build_hooks_file(*(f'{{"command": "./missing-{number}"}}' for number in range(50))))
    rooted = workspace.options if arguments[0] in {"check", "show", "log"} else []
    assert run_with_a_closed_pipe([*arguments, *rooted], workspace) == (141, "")


@pytest.mark.parametrize("arguments", [["events", "--json", "nobody"], ["log", "show", "7", "--json"]])
def test_error_keeps_its_exit_code_with_a_closed_pipe(arguments: list[str], workspace: Workspace) -> None:
    rooted = workspace.options if arguments[0] == "log" else []
    code, complaint = run_with_a_closed_pipe([*arguments, *rooted], workspace)
    assert code == (1 if rooted else 64)
    assert [line.split(":")[0] for line in complaint.splitlines()] == ["error", "hint"]


def test_module_and_function_are_the_same_command(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("user", LATE)
    done = workspace.run("check", environment={"PATH": os.environ["PATH"]})
    assert run(["check", *workspace.options]) == done.returncode == 1
    assert capsys.readouterr().out == done.stdout
    assert done.stderr == ""


def test_long_line_is_cut_around_the_place_of_the_caret(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    padding = '"description": "' + "x" * 300 + '"'
    workspace.write(
        "user",
        f'{{"version": 1, "hooks": {{"stop": [{{{padding}, "command": "exit", "timeout": 5000, {padding[:-1]}y"}}]}}}}',
    )
    run(["check", *workspace.options])
    lines = capsys.readouterr().out.splitlines()
    caret = next(number for number, line in enumerate(lines) if "^" in line)
    start, end = lines[caret].index("^"), lines[caret].rindex("^") + 1
    assert "5000" in {lines[number - 1][start:end] for number in range(1, len(lines)) if "^" in lines[number]}
    assert max(map(len, lines)) < 140


def capture_run(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the whole output, through a UTF-8 stream."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        code = run([*arguments])
    stream.seek(0)
    return code, stream.read()


@given(file_contents)
def test_no_bytes_in_a_file_crash_any_format(module_workspace: Workspace, data: bytes) -> None:
    for name in ("user", "project", "claude-user"):
        module_workspace.write(name, data)
    for form in ("human", "json", "github", "sarif"):
        code, text = capture_run("check", "--format", form, *module_workspace.options)
        assert code in {0, 1}, text
        assert form not in {"json", "sarif"} or json.loads(text)
    assert capture_run("show", *module_workspace.options)[0] == 0
    code, text = capture_run("show", "--json", *module_workspace.options)
    assert (code, json.loads(text)["ok"]) == (0, True)


def test_tabs_do_not_move_the_caret(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    workspace.write("user", '{"version": 1,\n\t"hooks": {\n\t\t"stop": [{"command": "exit", "timeout":\t5000}]}}')
    run(["check", *workspace.options])
    lines = capsys.readouterr().out.splitlines()
    caret = next(number for number, line in enumerate(lines) if "^" in line)
    assert lines[caret - 1][lines[caret].index("^") :].startswith("5000")
