"""trotline test new: a test from what happened, as small as it can be, and true when it is run."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted import made
from store_behaviour import record
from trails import call, shell
from trotline.audit.trail import spool_of
from trotline.errors import TrotlineError, UsageError
from trotline.replay.reduction import Example, Raised, Wanted
from trotline.replay.shrinking import shortest, smallest
from trotline.replay.written import About, literal, name_of, text_of
from trotline.testing import Agent, HookFailed
from worlds import World, new_world, patient, trotline_process

SECRET = made("ghp_{crc*36}")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def make_test(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    return trotline_process("test", "new", *words, *world.options, cwd=world.project)


def written(world: World, number: int) -> Path:
    """The test from this record."""
    done = make_test(world, "--from", str(number), "--json")
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["data"]["file"])


def passes(file: Path) -> bool:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    return subprocess.run(argv, cwd=file.parent, capture_output=True, check=False).returncode == 0


def test_a_test_from_the_trail_holds_and_fails_when_the_guard_is_off(world: World) -> None:
    call(world, shell(world, f"cd {world.project}/src && echo hi; git push --force origin main && ls"))
    file = written(world, 1)
    text = file.read_text()
    assert file.name == "test_git_push_force_is_asked_about.py"
    assert 'agent.fire("beforeShellExecution", command="git push --force")' in text
    assert passes(file)
    off = """agent.guards(user='[guards]\\nremotes = "off"\\n')"""
    file.write_text(text.replace("agent.guards()", off))
    assert not passes(file)


def test_what_came_before_in_the_conversation_is_in_the_test_if_it_is_needed(world: World) -> None:
    for line in ("ls", "cat .env", "pwd", "curl https://example.com/x"):
        call(world, shell(world, line))
    call(world, shell(world, "curl https://example.com/x -d a=b"))
    text = written(world, 9).read_text()
    assert [line.strip() for line in text.splitlines() if "agent.fire" in line] == [
        'agent.fire("beforeShellExecution", command="cat .env")',
        'outcome = agent.fire("beforeShellExecution", command="curl https://example.com/x -d a=b")',
    ]


def test_a_rule_that_decided_is_in_the_test_and_the_rest_of_the_policy_is_not(world: World) -> None:
    rules = [
        f'[[rule]]\nname = "{name}"\nwhen = "event.command.startsWith(\'{name}\')"\ndeny = "not here"\n'
        for name in ("npm", "yarn")
    ]
    world.write("home/.config/trotline/policy.toml", 'preset = "strict"\n' + "\n".join(rules))
    call(world, shell(world, "yarn test --all"))
    file = written(world, 1)
    text = file.read_text()
    assert "agent.guards(user=USER)" in text
    assert 'command="yarn"' in text
    assert ("strict" in text, "npm" in text) == (False, False)
    assert passes(file)


def test_directories_of_the_machine_become_those_of_the_agent(world: World) -> None:
    call(world, shell(world, f"rm -rf {world.project}/../project/src {world.home}"))
    file = written(world, 1)
    text = file.read_text()
    assert str(world.path) not in text
    assert "{agent.home}" in text
    assert passes(file)


def test_another_host_is_told_in_our_words(world: World) -> None:
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "c1",
        "cwd": str(world.project),
        "tool_name": "Bash",
        "tool_input": {"command": "git reset --hard", "description": "start anew"},
    }
    call(world, payload, "claude-code")
    file = written(world, 1)
    assert 'agent.fire("preToolUse", tool_input={"command": "git reset --hard"})' in file.read_text()
    assert passes(file)


def test_what_was_redacted_is_said_and_is_not_in_the_file(world: World) -> None:
    call(world, shell(world, f"git push --force; curl -H 'Authorization: {SECRET}' https://example.com"))
    done = make_test(world, "--from", "1")
    assert any(line.startswith("  redacted: ") and line.endswith(" in `command`") for line in done.stdout.splitlines())
    file = next((world.project / ".trotline" / "tests").iterdir())
    assert "# redacted: " in file.read_text()
    assert SECRET not in file.read_text()
    assert passes(file)


def test_nothing_that_is_there_is_overwritten(world: World) -> None:
    call(world, shell(world, "git reset --hard"))
    target = world.write("project/tests/test_mine.py", "mine = 1\n")
    done = make_test(world, "--from", "1", "--to", str(target))
    assert (done.returncode, "is there already, and nothing was written" in done.stderr) == (1, True)
    assert target.read_text() == "mine = 1\n"
    first = written(world, 1).read_text()
    assert written(world, 1).read_text() == first  # the same again changes nothing


def test_a_file_that_pytest_would_not_read_is_refused(world: World) -> None:
    done = make_test(world, "--from", "1", "--to", str(world.project / "a-test"))
    assert (done.returncode, "end in `.py`" in done.stderr) == (64, True)
    assert not (world.project / "a-test").exists()


def test_what_was_not_kept_makes_no_test(world: World) -> None:
    spool_of(world.roots().state).append(record(1, host="cursor"))
    done = make_test(world, "--from", "1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "error: no test can be made from record 1: nothing was kept of what was said"
    assert not (world.project / ".trotline").exists()


def test_what_is_decided_otherwise_by_now_makes_no_test(world: World) -> None:
    call(world, shell(world, "git reset --hard"))
    world.write("home/.config/trotline/policy.toml", '[guards]\nhistory = "off"\n')
    done = make_test(world, "--from", "1")
    assert done.returncode == 1
    assert "hint: `trotline replay 1` says whether it would be decided otherwise by now" in done.stderr


def test_what_nobody_minded_is_a_test_as_a_whole(world: World) -> None:
    call(world, shell(world, "ls -la src"))
    file = written(world, 1)
    assert 'command="ls -la src"' in file.read_text()
    assert passes(file)


def test_the_same_call_twice_is_one_test_wherever_it_was_played(world: World) -> None:
    call(world, shell(world, f"rm -rf {world.home}"))
    first = make_test(world, "--from", "1")
    assert first.stdout.splitlines()[0] == "wrote .trotline/tests/test_rm_rf_home_is_denied.py"
    again = make_test(world, "--from", "1")
    assert again.stdout.splitlines()[0] == "kept .trotline/tests/test_rm_rf_home_is_denied.py"


def test_whole_commands_are_left_out_before_words_are(world: World) -> None:
    world.write("project/.trotline/policy.toml", '[lists]\ndeny_packages = ["pkg:npm/left-pad"]\n')
    call(world, shell(world, "cd /srv && echo hello world && npm install left-pad 2>&1 | tail -n 3"))
    assert 'command="npm install left-pad"' in written(world, 1).read_text()


def test_a_rule_about_the_host_makes_no_test_and_it_is_said_why(world: World) -> None:
    rule = '[[rule]]\nname = "codex"\nwhen = "host == \'codex\' && event.command.contains(\'aaa\')"\ndeny = "no"\n'
    world.write("home/.config/trotline/policy.toml", rule)
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "turn_id": "t",
        "cwd": str(world.project),
        "tool_name": "Bash",
        "tool_input": {"command": "echo aaa"},
    }
    call(world, payload, "codex")
    done = make_test(world, "--from", "1")
    assert (done.returncode, done.stderr.splitlines()[1]) == (
        1,
        "hint: the rule `codex` asks for `host`, and tests have no host",
    )


# The agent


def test_an_agent_of_a_test_has_guards_if_it_wants_them(agent: Agent) -> None:
    assert not agent.fire("beforeShellExecution", command="git push --force").asks
    agent.guards()
    assert agent.fire("beforeShellExecution", command="git push --force").asks
    agent.guards(user='preset = "strict"\n')
    assert agent.fire("beforeShellExecution", command="git push --force").denied


def test_a_policy_of_a_test_may_be_a_file(agent: Agent, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('preset = "strict"\n')
    agent.guards(project=file)
    assert agent.fire("beforeShellExecution", command="git push --force").denied


def test_a_policy_with_a_problem_fails_the_test(agent: Agent) -> None:
    with pytest.raises(HookFailed, match="there is no preset `strickt`"):
        agent.guards(user='preset = "strickt"\n')


def test_a_guard_that_warns_does_not_fail_the_test(agent: Agent) -> None:
    agent.guards(user='[guards]\nhistory = "warn"\n')
    assert not agent.fire("beforeShellExecution", command="git reset --hard").asks


def test_a_layer_that_has_no_policy_is_a_mistake_of_the_test(agent: Agent) -> None:
    agent.guards(team='preset = "strict"\n')
    assert agent.fire("beforeShellExecution", command="git push --force").denied
    with pytest.raises(UsageError, match="there is no layer `plugin` that has a policy"):
        agent.guards(plugin="")


# Laws


@patient
@given(st.lists(st.integers(0, 60), unique=True, max_size=40), st.data())
def test_what_is_left_is_what_is_needed_and_nothing_else(items: list[int], data: st.DataObject) -> None:
    needed = set(data.draw(st.lists(st.sampled_from(items), unique=True)) if items else [])
    assert smallest(items, lambda some: needed <= set(some)) == [one for one in items if one in needed]


@patient
@given(st.lists(st.sampled_from(["a", "bb", "git", "push", "\n"]), max_size=30))
def test_a_text_keeps_the_words_it_needs_in_their_order(words: list[str]) -> None:
    text = " ".join([*words, "git", "push", *words])
    found = shortest(text, lambda some: "git" in some.split() and "push" in some.split())
    assert sorted(found.split()) == ["git", "push"]


@pytest.mark.parametrize(
    "text,needed,left",
    [
        ("cd /srv && echo hello world && npm install left-pad", "npm install left-pad", "npm install left-pad"),
        ("a b; c d | e f || g h & i", "c d", "c d"),
        ("a | b c\nd", "b c", "b c"),
        ("make 2>&1 && ls", "make 2>&1", "make 2>&1"),
        ("echo 'a && b' && c", "echo 'a && b'", "echo 'a && b'"),
    ],
)
def test_what_is_left_of_a_line_is_a_command(text: str, needed: str, left: str) -> None:
    assert shortest(text, lambda some: needed in some) == left


nasty = st.text(max_size=40) | st.sampled_from(['"""', "{agent.home}", "\\", "'\"", "\n\r\t\x00", "\u202e", "{}", "#"])


@patient
@given(nasty)
def test_a_literal_is_the_text_that_it_was_made_from(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text


@patient
@given(nasty, nasty, st.sampled_from(["deny", "ask", "silent"]))
def test_whatever_an_agent_wrote_the_file_is_one_function_that_says_it(text: str, name: str, permission: str) -> None:
    raised = Raised(
        "beforeShellExecution", {"command": f"rm /agent/home/{text}", "tool_input": {name: [text, 1, None]}}
    )
    example = Example((raised,), raised, {"user": text}, Wanted(permission, (name,)))
    about = About(1, name, "2026-01-01", (text, name))
    tree = ast.parse(text_of(example, about, {"/agent/home": "agent.home"}))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [one.name for one in functions] == [name_of(example, {"/agent/home": "agent.home"})]
    assert [type(node) for node in tree.body] == [ast.Expr, ast.Assign, ast.FunctionDef]
    fired: list[Any] = []

    class Recorder:
        home = "/another/home"

        def guards(self, **_: str) -> None: ...

        def fire(self, event: str, **fields: Any) -> None:
            fired.append((event, fields))
            if len(fired) == 2:
                raise TrotlineError("enough")

    names: dict[str, Any] = {}
    exec(compile(tree, "written", "exec"), names)
    with pytest.raises(TrotlineError):
        names[functions[0].name](Recorder())
    command = raised.fields["command"].replace("/agent/home", "/another/home")
    assert fired[1] == ("beforeShellExecution", {**raised.fields, "command": command})
