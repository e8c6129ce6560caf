"""Built-in hooks for edits: format, code-scan, agent-branch and forwarded diffs."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builtin_uses import Server, Use, secret
from kit import read_corpus, read_rows
from trotline.builtin.scan_reports import Issue, parse_report
from trotline.builtin.text_diff import build_diff, find_changed_lines, hash_lines, pair_texts
from trotline.builtin.workspace import WorkspaceFile
from trotline.domain.errors import TrotlineError
from trotline.domain.event_records import Edit

UGLY, PRETTY = "x   =  1\n", "x = 1\n"
EDITS = [{"old_string": "", "new_string": UGLY}]


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def formatting(tmp_path: Path) -> Use:
    return Use(tmp_path, "format")


@pytest.mark.parametrize("event", ["afterFileEdit", "afterTabFileEdit"])
def test_a_file_is_formatted_when_it_was_edited(formatting: Use, event: str) -> None:
    file = formatting.write("src/total.py", UGLY)
    formatting.agent.fire(event, file_path=str(file), edits=EDITS)
    assert file.read_text() == PRETTY
    file.write_text(UGLY)
    assert formatting.by_hand(event, file_path=str(file), edits=EDITS).body == {}
    assert file.read_text() == PRETTY


def test_agent_and_tab_have_patterns_of_their_own(formatting: Use) -> None:
    file = formatting.write("tests/total.py", UGLY)
    formatting.by_hand("afterTabFileEdit", file_path=str(file))
    assert file.read_text() == UGLY
    formatting.by_hand("afterFileEdit", file_path=str(file))
    assert file.read_text() == PRETTY


@pytest.mark.parametrize(
    "name", ["../outside.py", "link.py", "linked/outside.py", ".git/hook.py", "none.py", "a\0b.py"]
)
def test_a_path_that_leaves_the_workspace_is_left_alone(formatting: Use, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(UGLY)
    (formatting.project / "link.py").symlink_to(outside)
    (formatting.project / "linked").symlink_to(tmp_path)
    inner = formatting.write(".git/hook.py", UGLY)
    result = formatting.by_hand("afterFileEdit", file_path=f"{formatting.project}/{name}")
    assert "not formatted: it is no file of this workspace" in result.stderr
    assert outside.read_text() == inner.read_text() == UGLY


@pytest.mark.parametrize("name", ["-rf.py", "$(touch was-run).py", "a b.py", "; touch was-run #.py", "x\ny.py"])
def test_any_file_name_is_one_argument(formatting: Use, name: str) -> None:
    file = formatting.write(name, UGLY)
    formatting.by_hand("afterFileEdit", file_path=str(file))
    assert file.read_text() == PRETTY
    assert not (formatting.project / "was-run").exists()


def test_braces_are_replaced_by_the_file(formatting: Use) -> None:
    file = formatting.write("a.txt", "old\n")
    other = formatting.write("b", "new\n")
    line = f"trotline builtin format --on '*.txt' 'cp {other} {{}}'"
    formatting.by_hand("afterFileEdit", line, file_path=str(file))
    assert file.read_text() == "new\n"


def test_a_failing_formatter_is_reported_and_the_others_run(formatting: Use) -> None:
    file = formatting.write("a.py", "x   =  (\n")
    commands = "--on '*.py' 'ruff format' --on '*.py' no-such-program --on '*.py' 'tail -f' --on '*.py' 'touch after'"
    result = formatting.by_hand("afterFileEdit", f"trotline builtin format {commands} --seconds 1", file_path=str(file))
    assert result.code == 0
    assert "`ruff format` ended with 2" in result.stderr
    assert "no-such-program" in result.stderr
    assert "`tail -f` did not end within 1 seconds" in result.stderr
    assert (formatting.project / "after").exists()


@pytest.fixture
def scanning(tmp_path: Path) -> Use:
    """A use with a scanner that reports every line with `eval`."""
    use = Use(tmp_path, "code-scan")
    use.write("scan.py", SCANNER)
    return use


SCANNER = """
import json, sys
style, *files = sys.argv[1:]
found = [(file, number) for file in files for number, line in enumerate(open(file), 1) if "eval(" in line]
if style == "semgrep":
    rows = [{"check_id": "no-eval", "path": file, "start": {"line": at}, "end": {"line": at},
             "extra": {"message": "eval runs text"}} for file, at in found]
    print(json.dumps({"results": rows, "errors": []}))
elif style == "sarif":
    places = [{"physicalLocation": {"artifactLocation": {"uri": "file://" + file}, "region": {"startLine": at}}}
              for file, at in found]
    print(json.dumps({"runs": [{"results": [{"ruleId": "no-eval", "message": {"text": "eval runs text"},
                                             "locations": [place]} for place in places]}]}))
else:
    for file, at in found:
        print(f"{file}:{at}:{'5:' if style == 'columns' else ''} eval runs text")
sys.exit(bool(found))
"""


def scan_line(style: str) -> str:
    return f"trotline builtin code-scan --run 'python3 scan.py {style}'"


def build_write(use: Use, name: str) -> dict[str, Any]:
    return {"tool_name": "Write", "tool_input": {"file_path": str(use.project / name)}}


def test_the_example_reports_ruff_findings_in_new_lines_and_at_the_end(scanning: Use) -> None:
    file = scanning.write("a.py", "import os\n")
    scanning.agent.fire("preToolUse", **build_write(scanning, "a.py"))
    file.write_text("import os\n\nprint(f'')\nx = undefined_name\n")
    context = scanning.agent.fire("postToolUse", **build_write(scanning, "a.py")).context
    assert "- a.py:4: Undefined name `undefined_name` (F821)" in context
    assert "F401" not in context
    assert "F821" in scanning.agent.fire("stop", status="completed").follow_up
    file.write_text("import os\n\nx = 1\n")
    assert scanning.agent.fire("stop", status="completed").follow_up == ""


@pytest.mark.parametrize("style", ["semgrep", "sarif", "lines", "columns"])
def test_findings_in_changed_lines_are_reported_at_once_and_again_at_the_end(scanning: Use, style: str) -> None:
    file = scanning.write("src/a.py", "old = eval(a)\nrest = 1\n")
    assert scanning.by_hand("preToolUse", scan_line(style), **build_write(scanning, "src/a.py")).body == {
        "permission": "allow"
    }
    file.write_text("first = 0\nold = eval(a)\nnew = eval(b)\nrest = 1\n")
    context = scanning.by_hand("postToolUse", scan_line(style), **build_write(scanning, "src/a.py")).body[
        "additional_context"
    ]
    assert [line for line in context.splitlines() if line.startswith("- ")] == [
        f"- src/a.py:3: eval runs text{' (no-eval)' if style in {'semgrep', 'sarif'} else ''}"
    ]
    assert "src/a.py:3" in scanning.by_hand("stop", scan_line(style), status="completed").body["followup_message"]
    left = scanning.by_hand("stop", scan_line(style), status="completed")
    assert left.body == {}
    assert "1 findings are left as they are" in left.stderr


def test_an_edit_without_a_before_event_is_located_by_its_strings(scanning: Use) -> None:
    file = scanning.write("a.py", "old = eval(a)\nnew = eval(b)\n")
    edits = [{"old_string": "new = 1", "new_string": "new = eval(b)"}]
    scanning.by_hand("afterFileEdit", scan_line("lines"), file_path=str(file), edits=edits)
    context = scanning.by_hand("postToolUse", scan_line("lines"), **build_write(scanning, "a.py")).body[
        "additional_context"
    ]
    assert "a.py:2:" in context
    assert "a.py:1:" not in context


def test_an_agent_without_edit_events_reports_edits_by_its_tool(scanning: Use) -> None:
    file = scanning.write("a.py", "old = eval(a)\nnew = eval(b)\n")
    given = {"file_path": str(file), "old_string": "new = 1", "new_string": "new = eval(b)"}
    shared = {"session_id": "s", "cwd": str(scanning.project), "tool_name": "Edit", "tool_input": given}
    body = {**shared, "hook_event_name": "PostToolUse", "tool_response": {"filePath": str(file)}}
    result = scanning.run_payload(f"{scan_line('lines')} --agent claude-code", body)
    context = result.body["hookSpecificOutput"]["additionalContext"]
    assert "a.py:2:" in context
    assert "a.py:1:" not in context


def test_in_an_unknown_file_all_lines_count(scanning: Use) -> None:
    scanning.write("a.py", "old = eval(a)\n")
    assert (
        "a.py:1:"
        in scanning.by_hand("postToolUse", scan_line("lines"), **build_write(scanning, "a.py")).body[
            "additional_context"
        ]
    )


@pytest.mark.parametrize("command,why", read_rows("uses_edits", "failing_scanners"))
def test_a_failing_scanner_is_reported(scanning: Use, command: str, why: str) -> None:
    scanning.write("a.py", "x = 1\n")
    line = f"trotline builtin code-scan --run {shlex.quote(command)} --seconds 1"
    result = scanning.by_hand("postToolUse", line, **build_write(scanning, "a.py"))
    assert result.body == {}
    assert why in result.stderr


def test_no_file_text_and_no_secret_is_stored_or_shown(scanning: Use) -> None:
    token = secret("github-personal-token")
    scanning.write("scan.py", f"import sys\nprint(sys.argv[2] + ':1: found {token}')\nsys.exit(1)\n")
    scanning.write("a.py", "unmistakable_line = 1\n")
    scanning.by_hand("preToolUse", scan_line("x"), **build_write(scanning, "a.py"))
    scanning.write("a.py", "another_line = 1\n")
    context = scanning.by_hand("postToolUse", scan_line("x"), **build_write(scanning, "a.py")).body[
        "additional_context"
    ]
    assert "[redacted github-personal-token" in context
    stored = "".join(file.read_text() for file in scanning.state.rglob("*") if file.is_file())
    assert stored
    assert not any(word in stored + context for word in (token, "unmistakable_line", "another_line"))


lines_of_text = st.lists(st.sampled_from(["a", "b", "}", "", "x = 1"]), max_size=8)


@given(lines_of_text, lines_of_text, lines_of_text)
def test_lines_that_were_put_in_are_the_ones_that_changed(head: list[str], put: list[str], rest: list[str]) -> None:
    before = hash_lines("\n".join(head + rest), b"k")
    new = [f"new {number} {line}" for number, line in enumerate(put)]
    changed = find_changed_lines(before, "\n".join(head + new + rest), b"k")
    assert {len(head) + number for number in range(1, len(new) + 1)} <= changed | ({1} if not head + rest else set())
    assert len(changed) <= len(new) + (not head + rest)
    assert find_changed_lines(before, "\n".join(head + rest), b"k") == set()


def test_any_report_can_be_read(tmp_path: Path) -> None:
    file = WorkspaceFile(tmp_path, tmp_path / "a.py", "a.py")
    reports: tuple[dict[str, Any], ...] = (
        {"results": []},
        {"results": [{}, 3, {"path": 4}]},
        {"runs": [{"results": [{"locations": [1]}]}]},
    )
    for report in reports:
        assert parse_report(json.dumps(report), [file]) == []
    far = {"results": [{"path": "a.py", "start": {"line": 2}, "end": {"line": 10**12}, "extra": {"message": "m"}}]}
    (issue,) = parse_report(json.dumps(far), [file])
    assert issue.overlaps({7})
    assert not issue.overlaps({1})
    printed = "a.py:x: no\na.py:\nb.py:1: other\na.py:3: yes\n./a.py:4:5: too\n"
    assert parse_report(printed, [file]) == [Issue("a.py", 3, 3, "yes"), Issue("a.py", 4, 4, "too")]
    with pytest.raises(TrotlineError):
        parse_report('{"results": []}', [file], "sarif")


@pytest.fixture
def branching(tmp_path: Path) -> Use:
    use = Use(tmp_path, "agent-branch")
    use.write(".gitignore", "*.log\n.env\n")
    use.write("a.py", "a = 1\n")
    use.write("b.py", "b = 1\n")
    git(use, "init -q -b main .")
    git(use, "add .gitignore a.py b.py")
    git(use, "commit -q -m begin")
    return use


def git(use: Use, line: str) -> str:
    me = "-c user.name=me -c user.email=me@localhost"
    done = use.shell(f"git {me} {line}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def edit(use: Use, name: str, text: str) -> None:
    file = use.write(name, text)
    use.agent.fire("afterFileEdit", file_path=str(file), edits=[{"old_string": "", "new_string": text}])


def branch(use: Use) -> str:
    return f"agent/{use.agent.conversation_id}"


def read_user_state(use: Use) -> tuple[str, ...]:
    """Return the user's state: staged files, HEAD, file contents and other branches."""
    files = {path.name: path.read_bytes() for path in use.project.iterdir() if path.is_file()}
    index = (use.project / ".git/index").read_bytes()
    refs = git(use, "for-each-ref --format='%(refname) %(objectname)' refs/heads/main refs/tags")
    return (str(files), str(index), git(use, "symbolic-ref HEAD"), refs)


def test_edits_become_commits_of_the_conversation_and_nothing_else_changes(branching: Use) -> None:
    branching.write("b.py", "b = 'staged by the person'\n")
    git(branching, "add b.py")
    branching.write("b.py", "b = 'not staged'\n")
    branching.agent.fire("beforeSubmitPrompt", prompt="Make a two\nand more")
    edit(branching, "a.py", "a = 2\n")
    edit(branching, "new/c.py", "c = 1\n")
    before = read_user_state(branching)
    branching.agent.fire("stop", status="completed")
    assert read_user_state(branching) == before
    assert git(branching, f"log --format='%an|%s' {branch(branching)}") == "agent|Make a two\nme|begin\n"
    assert git(branching, f"diff --name-status main {branch(branching)}") == "M\ta.py\nA\tnew/c.py\n"
    assert git(branching, f"show {branch(branching)}:a.py") == "a = 2\n"
    assert git(branching, f"show {branch(branching)}:b.py") == "b = 1\n"
    edit(branching, "a.py", "a = 3\n")
    branching.agent.fire("stop", status="error")
    assert git(branching, f"rev-list --count main..{branch(branching)}") == "2\n"
    assert git(branching, "fsck --strict") == ""


def test_by_hand_it_is_the_same_and_a_stop_without_edits_commits_nothing(branching: Use) -> None:
    branching.by_hand("afterFileEdit", file_path=str(branching.write("a.py", "a = 2\n")))
    assert branching.by_hand("stop") == ({}, "", 0)
    tip = git(branching, f"rev-parse {branch(branching)}")
    branching.by_hand("stop")
    branching.by_hand("afterFileEdit", file_path=str(branching.project / "a.py"))
    branching.by_hand("stop")
    assert git(branching, f"rev-parse {branch(branching)}") == tip
    assert git(branching, f"log -1 --format=%B {branch(branching)}").splitlines()[:3] == [
        "Edits of an agent: a.py",
        "",
        f"Conversation: {branching.agent.conversation_id}",
    ]


def test_deleted_files_and_modes_are_committed(branching: Use) -> None:
    (branching.project / "b.py").unlink()
    branching.agent.fire("postToolUse", tool_name="Delete", tool_input={"file_path": str(branching.project / "b.py")})
    branching.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    branching.agent.fire("afterFileEdit", file_path=str(branching.project / "run.sh"))
    branching.agent.fire("stop", status="completed")
    listed = git(branching, f"ls-tree -r {branch(branching)}").splitlines()
    assert [(line.split()[0], line.split("\t")[1]) for line in listed] == [
        ("100644", ".gitignore"),
        ("100644", "a.py"),
        ("100755", "run.sh"),
    ]


def test_ignored_files_secrets_and_files_from_elsewhere_are_left_out(branching: Use, tmp_path: Path) -> None:
    use, token = branching, secret("github-personal-token")
    (tmp_path / "outside.py").write_text("o = 1\n")
    (use.project / "link.py").symlink_to(tmp_path / "outside.py")
    use.write("ci.py", f"token = '{token}'\n")
    for name in ("debug.log", ".env"):
        use.write(name, "x\n")
    names = ["debug.log", ".env", "ci.py", "link.py", "../outside.py", ".git/config", "a.py"]
    use.write("a.py", "a = 2\n")
    for name in names:
        use.by_hand("afterFileEdit", file_path=f"{use.project}/{name}")
    result = use.by_hand("stop")
    assert "not committed: ci.py holds what looks like a secret" in result.stderr
    assert token not in result.stderr
    assert git(use, f"diff --name-only main {branch(use)}") == "a.py\n"


@pytest.mark.parametrize(
    "name", ["-rf.py", "a b.py", "$(touch was-run).py", "tab\there.py", "new\nline.py", "\u00e4.py", ":(top)x"]
)
def test_odd_names_are_committed_unchanged(branching: Use, name: str) -> None:
    branching.by_hand("afterFileEdit", file_path=str(branching.write(name, "x = 1\n")))
    assert branching.by_hand("stop").stderr == ""
    assert git(branching, f"ls-tree -rz --name-only {branch(branching)}").split("\0")[:-1] == sorted(
        [".gitignore", "a.py", "b.py", name]
    )


@pytest.fixture
def trapped(branching: Use, tmp_path: Path) -> Use:
    """A repository that configures programs in every setting; each program leaves a mark."""
    use, program = branching, tmp_path / "evil"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/was-run\ntest "$1" || cat\n')
    program.chmod(0o755)
    hooks = use.project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    use.write(".gitattributes", "* filter=evil diff=evil merge=evil text eol=crlf\n")
    values = {key: str(program) for key in PROGRAMS} | SWITCHES | {"remote.evil.url": f"ext::{program} %S"}
    for key, value in values.items():
        git(use, f"config {key} '{value}'")
    (tmp_path / "was-run").unlink(missing_ok=True)
    return use


def test_no_program_named_by_a_repository_runs(trapped: Use, tmp_path: Path) -> None:
    use, mark = trapped, tmp_path / "was-run"
    edit(use, "a.py", "a = 2\n")
    assert use.by_hand("stop") == ({}, "", 0)
    assert not mark.exists(), mark.read_text()
    tip = (use.project / ".git/refs/heads" / branch(use)).read_text().strip()
    use.by_hand("afterFileEdit", file_path=str(use.write("b.py", "b = 2\n")))
    (use.project / f".git/objects/{tip[:2]}/{tip[2:]}").unlink()  # a missing object that a remote offers
    assert "`git " in use.by_hand("stop").stderr
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize(
    "line,program",
    [
        ("update-ref refs/heads/x HEAD", "reference-transaction"),
        ("read-tree HEAD", "post-index-change"),
        ("hash-object -w a.py", "evil"),
        ("status", "evil"),
        ("cat-file -e 0123456789012345678901234567890123456789", "evil"),
    ],
)
def test_plain_git_runs_the_programs_of_the_same_repository(
    trapped: Use, tmp_path: Path, line: str, program: str
) -> None:
    trapped.shell(f"git {line}")
    assert program in (tmp_path / "was-run").read_text()


HOOKS = read_rows("uses_edits", "git_hooks")
PROGRAMS = read_rows("uses_edits", "git_programs")
SWITCHES = read_corpus("uses_edits")["git_switches"]


def test_a_branch_that_is_checked_out_is_not_written_to(branching: Use) -> None:
    edit(branching, "a.py", "a = 2\n")
    branching.agent.fire("stop", status="completed")
    git(branching, f"worktree add -q ../looking {branch(branching)}")
    tip = git(branching, f"rev-parse {branch(branching)}")
    branching.by_hand("afterFileEdit", file_path=str(branching.write("a.py", "a = 3\n")))
    assert "is checked out, so nothing is committed to it" in branching.by_hand("stop").stderr
    assert git(branching, f"rev-parse {branch(branching)}") == tip
    git(branching, "worktree remove ../looking")
    assert branching.by_hand("stop").stderr == ""
    assert git(branching, f"show {branch(branching)}:a.py") == "a = 3\n"


def test_a_repository_without_commits_and_a_directory_without_one(tmp_path: Path) -> None:
    use = Use(tmp_path, "agent-branch")
    use.by_hand("afterFileEdit", file_path=str(use.write("a.py", "a = 1\n")))
    assert "not committed: a.py is in no repository of its own" in use.by_hand("stop").stderr
    git(use, "init -q -b main .")
    use.by_hand("afterFileEdit", file_path=str(use.project / "a.py"))
    use.by_hand("stop")
    assert git(use, f"ls-tree -r --name-only {branch(use)}") == "a.py\n"
    assert git(use, f"rev-list --count {branch(use)}") == "1\n"


def test_a_conversation_with_an_invalid_branch_name_has_a_branch(branching: Use) -> None:
    branching.agent.conversation_id = "../../heads/main --evil\n"
    branching.by_hand("afterFileEdit", file_path=str(branching.write("a.py", "a = 2\n")))
    branching.by_hand("stop")
    (name,) = git(branching, "for-each-ref --format='%(refname)' refs/heads/agent").splitlines()
    assert name.startswith("refs/heads/agent/")
    assert len(name.removeprefix("refs/heads/agent/")) == 16
    assert branching.by_hand("stop", "trotline builtin agent-branch --prefix ../x").code == 64


def test_a_linked_worktree_is_a_repository_too(branching: Use) -> None:
    git(branching, "worktree add -q ../other -b side")
    other = branching.project.parent / "other"
    (other / "a.py").write_text("a = 5\n")
    roots = [str(other)]
    branching.by_hand("afterFileEdit", file_path=str(other / "a.py"), workspace_roots=roots)
    branching.by_hand("stop", workspace_roots=roots)
    assert git(branching, f"show {branch(branching)}:a.py") == "a = 5\n"
    assert git(branching, "-C ../other status --porcelain") == " M a.py\n"


@pytest.mark.parametrize("link", [False, True])
def test_a_directory_that_only_points_at_a_repository_has_none(branching: Use, tmp_path: Path, link: bool) -> None:
    use, other = branching, tmp_path / "theirs"
    other.mkdir()
    if link:
        (other / ".git").symlink_to(use.project / ".git")
    else:
        (other / ".git").write_text(f"gitdir: {use.project}/.git\n")
    (other / "a.py").write_text("a = 'planted'\n")
    roots = [str(other)]
    use.by_hand("afterFileEdit", file_path=str(other / "a.py"), workspace_roots=roots)
    assert "is in no repository of its own" in use.by_hand("stop", workspace_roots=roots).stderr
    assert git(use, "branch --list 'agent/*'") == ""


def test_a_submodule_has_a_branch_of_its_own(branching: Use, tmp_path: Path) -> None:
    git(branching, f"clone -q . {tmp_path}/library")
    git(branching, f"-c protocol.file.allow=always submodule --quiet add {tmp_path}/library lib")
    branching.by_hand("afterFileEdit", file_path=str(branching.write("lib/a.py", "a = 7\n")))
    assert branching.by_hand("stop").stderr == ""
    assert git(branching, f"-C lib show {branch(branching)}:a.py") == "a = 7\n"
    assert git(branching, "branch --list 'agent/*'") == ""


@pytest.fixture
def diffing(tmp_path: Path) -> Use:
    return Use(tmp_path, "forward")


@pytest.mark.parametrize("event,file", [("afterFileEdit", "edits.diff"), ("afterTabFileEdit", "tab.diff")])
def test_a_command_gets_the_diff_of_each_edit(diffing: Use, event: str, file: str) -> None:
    path = diffing.write("src/a.py", "".join(f"line {number}\n" for number in range(10)))
    edits = [{"old_string": "line five\n", "new_string": "line 5\n"}]
    diffing.agent.fire(event, file_path=str(path), edits=edits)
    diffing.by_hand(event, file_path=str(path), edits=edits)
    body = " line 2\n line 3\n line 4\n-line five\n+line 5\n line 6\n line 7\n line 8\n"
    shown = f"--- a/src/a.py\n+++ b/src/a.py\n@@ -3,7 +3,7 @@\n{body}"
    assert (diffing.project.parent / file).read_text() == shown * 2


def test_a_server_gets_diffs_without_their_secrets(diffing: Use, server: Server) -> None:
    token = secret("github-personal-token")
    path = diffing.write("a.py", f"token = '{token}'\n")
    line = f"trotline builtin forward --send diffs --url {server.url}"
    edits = [{"old_string": "token = ''", "new_string": f"token = '{token}'"}]
    assert diffing.by_hand("afterFileEdit", line, file_path=str(path), edits=edits).body == {}
    (got,) = server.got(1)
    assert (got["schema"], got["event"], got["file"]) == ("trotline.edit/1", "afterFileEdit", "a.py")
    assert "-token = ''\n+token = '[redacted github-personal-token" in got["diff"]
    assert token not in json.dumps(got)


@pytest.mark.parametrize("before,after", [("key = 1\n", "KEY\n"), ("KEY\n", "key = 1\n"), ("KEY\na\n", "KEY\nb\n")])
def test_no_line_of_a_private_key_is_in_a_diff(diffing: Use, server: Server, before: str, after: str) -> None:
    key = secret("private-key")
    old, new = before.replace("KEY", key), after.replace("KEY", key)
    path = diffing.write("id", new)
    line = f"trotline builtin forward --send diffs --url {server.url}"
    edits = [{"old_string": old, "new_string": new}]
    assert diffing.by_hand("afterFileEdit", line, file_path=str(path), edits=edits).body == {}
    (got,) = server.got(1)
    assert "[redacted private-key" in got["diff"]
    assert not any(part in got["diff"] for part in key.split("\n") if len(part) > 40)


def test_a_failing_command_is_reported_and_an_outside_file_has_no_diff(diffing: Use, tmp_path: Path) -> None:
    path = diffing.write("a.py", "a\n")
    edits = [{"old_string": "", "new_string": "a\n"}]
    for command in ("sh -c 'exit 3'", "no-such-program"):
        line = f"trotline builtin forward --send diffs --run {shlex.quote(command)}"
        result = diffing.by_hand("afterFileEdit", line, file_path=str(path), edits=edits)
        assert "ended with 3" in result.stderr or "no-such-program" in result.stderr
    (tmp_path / "outside.py").write_text("a\n")
    result = diffing.by_hand("afterFileEdit", file_path=str(tmp_path / "outside.py"), edits=edits)
    assert "no diff: it is no file of this workspace" in result.stderr
    assert diffing.by_hand("afterFileEdit", "trotline builtin forward --send diffs").code == 64


texts = st.lists(st.sampled_from(["a", "b", "", "c d"]), max_size=9).map("\n".join) | st.text("ab\n", max_size=12)


@given(texts, texts)
def test_reverting_a_diff_restores_the_old_text(old: str, new: str) -> None:
    diff = build_diff("x", pair_texts(new, [Edit(old, new)]))
    assert (diff == "") is (old == new)
    taken, put = split_diff(diff)
    if diff and new:
        head, *_ = diff.split("\n", 2)[2].partition("@@\n")
        begin = max(0, int(head.split("-")[1].split(",")[0]) - 1)
        lines, theirs = split_lines(old), split_lines(new)
        assert lines[begin : begin + len(taken)] == taken
        assert theirs[begin : begin + len(put)] == put
        assert lines[:begin] + put + lines[begin + len(taken) :] == theirs


def split_lines(text: str) -> list[str]:
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def split_diff(diff: str) -> tuple[list[str], list[str]]:
    """Return the old and the new lines of a diff."""
    taken: list[str] = []
    put: list[str] = []
    ended = diff.replace("\n\\ No newline at end of file\n", "\0\n")
    for line in split_lines(ended)[3:]:
        content = line[1:].replace("\0\n", "")
        taken += [content] if line[0] in " -" else []
        put += [content] if line[0] in " +" else []
    return taken, put


def test_git_can_revert_a_diff(diffing: Use) -> None:
    for old, new in (("", "a\nb\n"), ("a\nb", "a\nb\nc"), ("a\n" * 9 + "x\n" + "b\n" * 9, "a\n" * 9 + "y" + "\nb" * 9)):
        diffing.write("f.txt", new)
        diff = build_diff("f.txt", pair_texts(new, [Edit(old, new)]))
        diffing.write("d.diff", diff)
        assert git(diffing, "apply -R d.diff") == ""
        file = diffing.project / "f.txt"
        assert (file.read_text() if file.exists() else "") == old
