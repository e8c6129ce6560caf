"""trotline diff as a person and a pull request see it: real repositories, a real trail."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trails import call, shell
from trotline.replay.comment import code
from worlds import World, hooks_file, new_world, trotline_process

NO_NPM = '[[rule]]\nname = "no npm"\nwhen = "event.command.startsWith(\'npm\')"\ndeny = "use pnpm"\n'


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def diff(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    return trotline_process("diff", *words, *world.options, cwd=world.project)


def data(world: World, *words: str) -> Any:
    return json.loads(diff(world, *words, "--format", "json").stdout)["data"]


def differences(world: World, *words: str) -> list[tuple[str, str, str]]:
    return [(one["change"], one["what"], one["name"]) for one in data(world, *words)["differences"]]


def git(directory: Path, *words: str) -> None:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=directory, check=True, capture_output=True)


def committed(world: World, policy: str = "", hooks: str = "") -> None:
    """One more commit, in which the project has these files."""
    if not (world.project / ".git").exists():
        git(world.project, "init", "-q")
    if policy:
        world.write("project/.trotline/policy.toml", policy)
    if hooks:
        world.write("project/.cursor/hooks.json", hooks)
    git(world.project, "add", "-A")
    git(world.project, "commit", "-q", "--allow-empty", "-m", "a state")


def test_a_branch_shows_its_rows_its_entries_and_what_they_would_have_changed(world: World) -> None:
    call(world, shell(world, "npm test"))
    call(world, shell(world, "ls"))
    committed(world)
    committed(world, NO_NPM, hooks_file('{"command": "./x.sh", "matcher": "npm"}', event="beforeShellExecution"))
    done = diff(world, "HEAD~", "HEAD")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[:2] == ["HEAD~ -> HEAD", "+ rule (project) no npm"]
    assert "+ hook (beforeShellExecution) ./x.sh  1 recorded call" in lines
    assert "2 calls: 1 would be decided otherwise, 1 the same; 1 stricter, 0 milder" in lines
    assert "silent -> deny: 1 call" in lines


def test_a_revision_is_compared_with_the_working_tree_when_nothing_else_is_named(world: World) -> None:
    committed(world, NO_NPM)
    assert differences(world, "HEAD") == []
    world.write("project/.trotline/policy.toml", "")
    assert differences(world, "HEAD") == [("removed", "rule", "no npm")]
    assert diff(world, "HEAD").stdout.splitlines()[0] == "HEAD -> the working tree"


def test_a_project_below_the_top_of_its_repository_is_found(world: World) -> None:
    git(world.path, "init", "-q")
    world.write("project/.trotline/policy.toml", NO_NPM)
    git(world.path, "add", "project")
    git(world.path, "commit", "-q", "-m", "a state")
    world.write("project/.trotline/policy.toml", 'preset = "strict"\n')
    assert differences(world, "HEAD") == [("added", "preset", "preset"), ("removed", "rule", "no npm")]


def test_nothing_of_a_revision_is_checked_out_or_run(world: World) -> None:
    call(world, shell(world, "npm test"))
    world.script("project/evil.sh", f"#!/bin/sh\ntouch {world.path}/ran\n")
    committed(world, hooks=hooks_file('{"command": "./evil.sh"}', event="beforeShellExecution"))
    git(world.project, "config", "core.fsmonitor", str(world.project / "evil.sh"))
    git(world.project, "config", "diff.external", str(world.project / "evil.sh"))
    (world.project / ".cursor" / "hooks.json").unlink()
    (world.path / "ran").unlink(missing_ok=True)
    assert differences(world, "HEAD") == [("removed", "hook", "./evil.sh")]
    assert not (world.path / "ran").exists()
    assert not (world.project / ".cursor" / "hooks.json").exists()


def test_every_row_of_a_policy_is_told_apart(world: World) -> None:
    old = world.write(
        "old.toml", 'preset = "strict"\n[guards]\nhistory = "warn"\n[lists]\ndeny_hosts = ["a.example"]\n'
    )
    new = world.write(
        "new.toml",
        '[guards]\nhistory = "off"\n[tab]\nsecrets_in_text = "off"\n'
        '[lists]\ndeny_hosts = ["a.example", "*.b.example"]\n'
        '[[waiver]]\nguard = "databases"\nrow = "gone"\nuntil = 2999-12-31\nowner = "ann"\nreason = "a test"\n'
        + NO_NPM,
    )
    found = data(world, str(old), str(new))["differences"]
    assert [(one["change"], one["what"], one["name"], one["where"]) for one in found] == [
        ("changed", "level", "history", "user"),
        ("added", "level in Tab", "secrets_in_text", "user"),
        ("changed", "list", "deny_hosts", "user"),
        ("removed", "preset", "preset", "user"),
        ("added", "rule", "no npm", "user"),
        ("added", "waiver", "databases, gone", "user"),
    ]
    assert found[0]["fields"] == {"level": ["warn", "off"]}
    assert found[2]["fields"] == {"names": ["a.example", "*.b.example, a.example"]}


def test_a_policy_is_judged_as_the_layer_that_is_named(world: World) -> None:
    call(world, shell(world, "git reset --hard"))
    old, new = world.write("old.toml", ""), world.write("new.toml", '[guards]\nhistory = "warn"\n')
    mild = data(world, str(old), str(new))
    assert (mild["counts"]["changed"], mild["milder"], mild["stricter"]) == (1, 1, 0)
    assert data(world, str(old), str(new), "--layer", "project")["counts"]["changed"] == 0


def test_entries_are_paired_by_what_they_run(world: World) -> None:
    old = world.write("old/hooks.json", hooks_file('{"command": "a"}', '{"command": "b", "timeout": 5}'))
    new = world.write("new/hooks.json", hooks_file('{"command": "b", "timeout": 9}', '{"command": "c"}'))
    found = data(world, str(old), str(new))["differences"]
    assert [(one["change"], one["name"]) for one in found] == [("changed", "b"), ("added", "c"), ("removed", "a")]
    assert found[0]["fields"] == {"timeout": ["5", "9"]}


def test_a_file_that_would_not_be_loaded_is_the_first_thing_that_is_said(world: World) -> None:
    good = hooks_file('{"command": "a"}')
    old, new = world.write("old/hooks.json", good), world.write("new/hooks.json", good.replace("stop", "stopp"))
    first = data(world, str(old), str(new))["differences"][0]
    assert (first["what"], first["name"], first["fields"]["void"][0]) == ("file", "whether it is loaded", "")
    assert "stopp" in first["fields"]["void"][1]


def test_a_script_that_says_something_else_is_seen_though_no_entry_changed(world: World) -> None:
    world.script("project/.cursor/hooks/a.sh", "#!/bin/sh\nexit 2\n")
    world.script("project/.cursor/hooks/deep/b.sh", "#!/bin/sh\n")
    world.write("project/.cursor/hooks/c.sh", "c\n")
    (world.project / ".cursor" / "hooks" / "link").symlink_to("a.sh")
    committed(world)
    assert differences(world, "HEAD") == []
    world.script("project/.cursor/hooks/a.sh", "#!/bin/sh\nexit 0\n")
    (world.project / ".cursor" / "hooks" / "deep" / "b.sh").unlink()
    (world.project / ".cursor" / "hooks" / "c.sh").chmod(0o755)
    (world.project / ".cursor" / "hooks" / "link").unlink()
    (world.project / ".cursor" / "hooks" / "link").symlink_to("c.sh")
    world.script("project/.claude/hooks/d.sh")
    assert differences(world, "HEAD") == [
        ("added", "script", ".claude/hooks/d.sh"),
        ("changed", "script", ".cursor/hooks/a.sh"),
        ("changed", "script", ".cursor/hooks/c.sh"),
        ("removed", "script", ".cursor/hooks/deep/b.sh"),
        ("changed", "script", ".cursor/hooks/link"),
    ]


def test_two_directories_are_two_projects_or_two_homes(world: World) -> None:
    world.write("one/.trotline/policy.toml", NO_NPM)
    world.write("two/.trotline/policy.toml", "")
    assert differences(world, str(world.path / "one"), str(world.path / "two")) == [("removed", "rule", "no npm")]
    world.write("three/.config/trotline/policy.toml", 'preset = "strict"\n')
    found = data(world, str(world.home), str(world.path / "three"))["differences"]
    assert [(one["change"], one["what"], one["where"]) for one in found] == [("added", "preset", "user")]


def test_calls_in_other_workspaces_are_counted(world: World) -> None:
    call(world, {**shell(world, "npm test"), "workspace_roots": ["/somewhere/else"]})
    old, new = world.path / "one", world.path / "two"
    world.write("one/.trotline/policy.toml", "")
    world.write("two/.trotline/policy.toml", NO_NPM)
    assert data(world, str(old), str(new))["elsewhere"] == 1
    assert "1 was in another workspace, which" in diff(world, str(old), str(new)).stdout


def test_the_comment_is_markdown_that_no_command_can_break_out_of(world: World) -> None:
    call(world, shell(world, "npm test `x` | <img src=x> @everyone"))
    old, new = world.write("old.toml", ""), world.write("new.toml", NO_NPM)
    done = diff(world, str(old), str(new), "--format", "markdown")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("### Hooks and policy: `")
    assert "**1 call: 1 would be decided otherwise, 0 the same; 1 stricter, 0 milder**" in lines
    row = next(line for line in lines if line.startswith("| 1 | silent | deny |"))
    assert "`` npm test `x` \\| <img src=x> @everyone ``" in row


def test_a_comment_cuts_with_a_sign_and_never_what_a_rule_is_about(world: World) -> None:
    when = " && ".join(f"event.command != '{number:030}'" for number in range(9))
    rule = f'[[rule]]\nname = "long | name"\nwhen = "{when}"\ndeny = "{"why " * 60}"\n'
    old, new = world.write("old.toml", ""), world.write("new.toml", rule)
    lines = diff(world, str(old), str(new), "--format", "markdown").stdout.splitlines()
    row = next(line for line in lines if line.startswith("| added | rule "))
    assert f"when `{when}`" in row
    assert "`long \\| name`" in row
    assert "why why…`" in row


def test_bars_are_escaped_in_tables_and_nowhere_else(world: World) -> None:
    old, new = world.write("old.toml", ""), world.write("a|b.toml", 'preset = "x|y"\n')
    lines = diff(world, str(old), str(new), "--format", "markdown").stdout.splitlines()
    assert lines[0].endswith("a|b.toml`")
    assert any(line.startswith("- problem: ") and "`x|y`" in line for line in lines)


def test_an_example_is_listed_once(world: World) -> None:
    for conversation in ("a", "b", "c"):
        call(world, shell(world, "npm test", conversation))
    old, new = world.write("old.toml", ""), world.write("new.toml", NO_NPM)
    row = diff(world, str(old), str(new), "--format", "markdown").stdout.splitlines()[-1]
    assert (row.startswith("| 3 | silent | deny |"), row.count("npm test")) == (True, 1)


@pytest.mark.parametrize("text", ["plain", "`", "``` x ``", "a\nb", "|", "", "\x1b[31m", "x" * 500])
def test_a_code_span_is_one_line_and_ends_where_it_should(text: str) -> None:
    made = code(text)
    assert "\n" not in made
    assert "\x1b" not in made
    fence = made[: len(made) - len(made.lstrip("`"))]
    assert made.endswith(fence)
    assert fence not in made.removeprefix(fence).removesuffix(fence) or not fence


def test_problems_of_the_new_side_are_findings(world: World) -> None:
    old, new = world.write("old.toml", ""), world.write("new.toml", 'preset = "strickt"\n')
    done = diff(world, str(old), str(new))
    assert (done.returncode, "there is no preset `strickt`" in done.stdout) == (1, True)


@pytest.mark.parametrize("wrong", ['{"version": 1, "hooks": {"stopp": []}}', '{"version": 1, "hooks": {', "[]"])
def test_a_hooks_file_that_would_not_be_loaded_is_a_finding(world: World, wrong: str) -> None:
    old = world.write("old/hooks.json", hooks_file('{"command": "a"}'))
    new = world.write("new/hooks.json", wrong)
    done = diff(world, str(old), str(new), "--format", "json")
    assert (done.returncode, [one["severity"] for one in json.loads(done.stdout)["problems"]]) == (1, ["void"])
    assert diff(world, str(new), str(new)).returncode == 0
    assert diff(world, str(new), str(old)).returncode == 0


def test_a_level_that_a_project_cannot_lower_is_said_to_have_no_effect(world: World) -> None:
    world.write("one/.trotline/policy.toml", "")
    world.write("two/.trotline/policy.toml", 'preset = "strict"\n[guards]\nremotes = "off"\nhistory = "enforce"\n')
    found = data(world, str(world.path / "one"), str(world.path / "two"))["differences"]
    assert {one["name"]: "note" in one for one in found} == {"remotes": True, "history": False, "preset": False}
    lines = diff(world, str(world.path / "one"), str(world.path / "two")).stdout.splitlines()
    assert lines.count("    it has no effect: what holds without the project is as strict or stricter") == 1
    world.write("home/.config/trotline/policy.toml", '[guards]\nremotes = "off"\n')
    world.write("two/.trotline/policy.toml", '[guards]\nremotes = "warn"\n')
    found = data(world, str(world.path / "one"), str(world.path / "two"))["differences"]
    assert [(one["name"], "note" in one) for one in found] == [("remotes", False)]


def test_an_entry_is_asked_about_calls_that_its_file_reaches(world: World) -> None:
    elsewhere = {**shell(world, "npm test"), "workspace_roots": ["/somewhere/else"]}
    claudes = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(world.project),
        "tool_name": "Bash",
        "tool_input": {"command": "npm test"},
    }
    call(world, shell(world, "npm test"))
    call(world, elsewhere)
    call(world, claudes, "claude-code")
    entry = {"beforeShellExecution": [{"command": "./x.sh"}]}
    files = {
        ".cursor/hooks.json": json.dumps({"version": 1, "hooks": entry}),
        ".claude/settings.json": json.dumps(
            {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "y"}]}]}}
        ),
    }
    for file, text in files.items():
        world.write(f"two/{file}", text)
    (world.path / "one").mkdir()
    found = data(world, str(world.path / "one"), str(world.path / "two"))["differences"]
    assert {one["name"]: one["asked"] for one in found} == {"./x.sh": 1, "y": 1}


def test_a_candidate_for_the_project_remarks_on_calls_of_other_workspaces(world: World) -> None:
    call(world, {**shell(world, "npm test"), "workspace_roots": ["/somewhere/else"]})
    call(world, {**shell(world, "npm test"), "workspace_roots": ["/somewhere/else"]})
    words = ["replay", "--policy", str(world.write("new.toml", NO_NPM)), "--layer", "project", *world.options]
    done = trotline_process(*words, cwd=world.project)
    assert done.stdout == (
        "2 calls: 0 would be decided otherwise, 2 the same; 2 were in other workspaces, which this does not reach\n"
    )


@pytest.mark.parametrize(
    "words,said",
    [
        (["nowhere"], "is neither a file nor a revision of"),
        (["/nope", "old.toml"], "is neither a file nor a revision of"),
        (["--output=x"], "No such option"),
        (["old.toml", "hooks.json"], "have nothing in common"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_compared_gets_a_clear_answer(world: World, words: list[str], said: str) -> None:
    committed(world)
    world.write("project/old.toml", "")
    world.write("project/hooks.json", hooks_file('{"command": "a"}'))
    done = diff(world, *words)
    assert done.returncode == 64  # 1 would say that a decision changes
    assert said in done.stderr
