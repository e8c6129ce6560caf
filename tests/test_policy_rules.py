"""Policy rules, lists and waivers: verdicts, authority of layers, and reports of invalid ones."""

import itertools
import json
import re
import string
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kit import CORPUS, read_rows
from secret_samples import SECRET_TEMPLATES, fill_template
from trotline.analysis.analyze import flatten_arguments
from trotline.cli import group
from trotline.config.config_schema import build_config_schema
from trotline.config.paths import Roots
from trotline.config.policies import Policies, read_policies
from trotline.conversation.sessions import Sessions
from trotline.domain.effects import Effect
from trotline.domain.events import (
    BeforeMCP,
    BeforeShell,
    BeforeSubmitPrompt,
    BeforeTabFileRead,
    Event,
    PreToolUse,
    SubagentStart,
)
from trotline.domain.outcomes import Call, GuardResult, Response
from trotline.domain.verdicts import Permission
from trotline.evaluation.explain import FailedRuleTest, run_rule_tests
from trotline.evaluation.machine_panel import build_environment, build_panel, build_scanning
from trotline.guards.guard import RuleAction
from trotline.policy import conditions
from trotline.policy.condition_tokens import find_members, find_required_kinds, find_required_texts, tokenize
from trotline.policy.condition_variables import EFFECT_FIELDS, RECORDS, VARIABLES, EventFacts
from trotline.policy.conditions import check_condition
from trotline.policy.lists import build_list
from trotline.policy.policy_rules import NO_EFFECT, PolicyRule, match_rules

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "policy" / "trotline.toml"
TODAY = "2026-11-16"
PROD_RULE = """
[[rule]]
name = "production database is read-only"
when = 'effects.exists(e, e.kind == "sql" && e.writes && e.target.contains("prod"))'
deny = "production is read-only for agents; use the staging copy"
tests = { stop = ["psql prod -c 'delete from users'"], pass = ["psql prod -c 'select 1'"] }
"""
MAKE_RULE = """
[[rule]]
name = "no make"
when = 'effects.exists(e, e.kind == "execute") || event.command.startsWith("make")'
{action} = "make is {action}"
"""


class PolicyMachine:
    """Four layers, and the guards that read them."""

    def __init__(self, root: Path) -> None:
        self.home, self.system = root / "home", root / "system"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self.roots = Roots(home=self.home, system=self.system, projects=(self.project,))
        self.files = {
            "enterprise": self.roots.managed_config / "trotline.toml",
            "team": self.roots.state / "team" / "trotline.toml",
            "user": self.roots.config / "trotline.toml",
            "project": self.project / ".trotline" / "trotline.toml",
        }

    def write(self, layer: str, text: str) -> Path:
        file = self.files[layer]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def read(self, today: str = TODAY) -> Policies:
        return read_policies(self.roots, [self.project], today=today)

    def evaluate(self, event: Event, agent: str = "cursor") -> GuardResult:
        guards = build_panel(self.roots, Sessions(self.roots.state / "sessions"), agent=agent)
        return guards(event, Call(id="call", received_us=1))

    def evaluate_command(self, line: str) -> GuardResult:
        return self.evaluate(BeforeShell(command=line, cwd=str(self.project), workspace_roots=(str(self.project),)))

    @property
    def options(self) -> list[str]:
        return ["--home", str(self.home), "--system", str(self.system), "--project", str(self.project)]

    def failed_tests(self) -> list[FailedRuleTest]:
        """Run the tests of all rules in force."""
        environment, scanning = build_environment(self.roots, [str(self.project)]), build_scanning(self.roots)
        return [failed for rule in self.read().policy.rules for failed in run_rule_tests(rule, environment, scanning)]

    def run(self, *words: str) -> tuple[int, str]:
        self.system.mkdir(exist_ok=True)
        done = CliRunner().invoke(group, [*words, *self.options], standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.return_value, done.output


@pytest.fixture
def machine(tmp_path: Path) -> PolicyMachine:
    return PolicyMachine(tmp_path)


def get_response(result: GuardResult, author: str) -> Response:
    return next(one for one in result.responses if one.author == author)


def get_permission(result: GuardResult) -> Permission:
    return max((one.verdict.permission for one in result.responses), default=Permission.NONE)


def test_a_rule_denies_with_its_message_name_and_layer(machine: PolicyMachine) -> None:
    machine.write("user", PROD_RULE)
    matched = get_response(
        machine.evaluate_command("psql prod -c 'delete from users'"), "rule production database is read-only"
    )
    assert (matched.layer, matched.verdict.permission) == ("user", Permission.DENY)
    assert "use the staging copy" in matched.verdict.user_message
    assert machine.evaluate_command("psql prod -c 'select 1'").responses == ()


def test_a_rule_sees_the_same_effects_inside_every_wrapper(machine: PolicyMachine) -> None:
    machine.write("user", PROD_RULE)
    for line in (
        "sh -c \"psql prod -c 'drop table t'\"",
        "echo 'drop table t' | sudo psql -d prod",
        "psql prod <<< 'drop table t'",
    ):
        assert (
            get_response(machine.evaluate_command(line), "rule production database is read-only").verdict.permission
            is Permission.DENY
        )
    assert machine.evaluate_command("git commit -m \"psql prod -c 'delete from users'\"").responses == ()


def test_the_message_of_a_project_is_marked(machine: PolicyMachine) -> None:
    machine.write("project", MAKE_RULE.format(action="deny"))
    matched = get_response(machine.evaluate_command("make"), "rule no make")
    assert matched.layer == "project"
    assert matched.verdict.agent_message.startswith("this project says: make is deny")


def test_rules_see_prompts_tab_agents_users_and_models(machine: PolicyMachine) -> None:
    machine.write(
        "user",
        """
[[rule]]
name = "all"
when = '''
event.prompt.contains("heron") && agent == "codex" && event.agent == agent && user == "ann@example.org"
&& model == "m1" && surface == "Agent" && event.conversation == "c" && size(group) >= 0
'''
deny = "no"
[[rule]]
name = "tab"
when = 'surface == "Tab" && event.path.contains("/finance/")'
deny = "not for Tab"
events = ["beforeTabFileRead"]
""",
    )
    prompt = BeforeSubmitPrompt(prompt="the heron", user_email="ann@example.org", model="m1", conversation_id="c")
    assert get_permission(machine.evaluate(prompt, "codex")) is Permission.DENY
    assert get_permission(machine.evaluate(prompt, "cursor")) is Permission.NONE
    assert get_permission(machine.evaluate(BeforeTabFileRead(file_path="/x/finance/a.py"))) is Permission.DENY
    assert get_permission(machine.evaluate(BeforeTabFileRead(file_path="/x/shop/a.py"))) is Permission.NONE


def test_a_message_may_contain_braces(machine: PolicyMachine) -> None:
    machine.write("user", MAKE_RULE.format(action="ask").replace("make is ask", "use {path} and {0}"))
    assert "use {path} and {0}" in get_response(machine.evaluate_command("make"), "rule no make").verdict.user_message


def test_a_rule_that_fails_asks_and_names_itself(machine: PolicyMachine) -> None:
    machine.write("user", '[[rule]]\nname = "far"\nwhen = "effects[40].writes"\nwarn = "w"\n')
    matched = get_response(machine.evaluate_command("ls"), "rule far")
    assert matched.verdict.permission is Permission.ASK
    assert "could not be asked: index error" in matched.verdict.user_message


def test_a_rule_that_would_take_too_long_asks() -> None:
    loops = "effects.all(a, effects.all(b, effects.all(c, a.kind == b.kind && b.kind == c.kind)))"
    rule = PolicyRule("slow", loops, RuleAction.WARN, "w").with_requirements()
    (match,) = match_rules([rule], EventFacts(), [Effect(kind="read", path=str(number)) for number in range(300)])
    assert (match.action, match.effect) == (RuleAction.ASK, NO_EFFECT)
    assert "budget" in match.reason


def test_many_slow_rules_ask_once_and_do_not_delay_others() -> None:
    loops = "effects.all(a, effects.all(b, a.kind == b.kind))"
    slow = [
        PolicyRule(f"slow {number}", loops, RuleAction.WARN, "w", layer="project").with_requirements()
        for number in range(100)
    ]
    first = PolicyRule("first", "true", RuleAction.DENY, "no", layer="enterprise").with_requirements()
    matches = match_rules([first, *slow], EventFacts(), [Effect(kind="read", path=str(number)) for number in range(90)])
    assert matches[0].action is RuleAction.DENY
    assert [one.action for one in matches if "more rules" in one.reason] == [RuleAction.ASK]


def test_without_the_library_rules_ask_and_are_problems(
    machine: PolicyMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> None:
        raise ImportError("cel_expr_python")

    monkeypatch.setattr(conditions, "_load_library", absent)
    machine.write("user", PROD_RULE + "# another file than any that was read with it\n")
    (problem,) = machine.read().problems
    assert "cel-expr-python" in problem.message
    assert get_permission(machine.evaluate_command("psql prod -c 'select 1'")) is Permission.ASK
    assert get_permission(machine.evaluate_command("ls")) is Permission.NONE


@pytest.mark.parametrize("text", ["\ud800", "\0", "é" * 10, "'\"\\"])
def test_odd_texts_do_not_break_a_rule(text: str) -> None:
    rule = PolicyRule(
        "r", 'event.command.contains("zzz") || effects.exists(e, e.path == "zzz")', RuleAction.DENY, "m"
    ).with_requirements()
    assert match_rules([rule], EventFacts(command=text, group=(text,)), [Effect(kind="read", path=text)]) == []


SAMPLE_CONDITIONS = st.sampled_from(
    ["true", "false", "effects[9].writes", "effects.exists(e, e.writes) // why", "surface == 'Tab'"]
)


@given(st.lists(SAMPLE_CONDITIONS, max_size=60), st.booleans())
def test_rules_in_a_batch_match_as_each_does_alone(conditions: list[str], writes: bool) -> None:
    effects = [Effect(kind="write", writes=writes)]
    rules = [
        PolicyRule(str(number), when, RuleAction.DENY, "m").with_requirements()
        for number, when in enumerate(conditions)
    ]
    alone = [one for rule in rules for one in match_rules([rule], EventFacts(), effects)]
    together = match_rules(rules, EventFacts(), effects)
    assert [(one.guard, one.action) for one in together] == [(one.guard, one.action) for one in alone]


SEARCHED_TEXTS = ("ls", "secret", "staff", "statement", "id")
COMPARISONS = [
    "{} == '{}'",
    "{}.startsWith('{}')",
    "{}.contains('{}')",
    "{} in ['{}', 'x']",
    "{} == '{}' && agent != 'x'",
]
PARTS = st.builds(str.format, st.sampled_from(COMPARISONS), st.just("x"), st.sampled_from(SEARCHED_TEXTS))
COLLECTIONS = st.sampled_from(["programs", "arguments", "before", "group", "[event.command]", "[agent]", "[surface]"])


@given(COLLECTIONS, PARTS, st.lists(st.sampled_from(SEARCHED_TEXTS), min_size=8, max_size=8))
def test_a_rule_is_evaluated_wherever_its_required_texts_occur(where: str, part: str, values: list[str]) -> None:
    command, agent, surface, program, earlier, group, name, value = values
    facts = EventFacts(
        command=command, agent=agent, surface=surface, programs=(program,), before=(earlier,), group=(group,)
    )
    rule = PolicyRule("r", f"{where}.exists(x, {part})", RuleAction.DENY, "m").with_requirements()
    matches = [
        match_rules([one], facts._replace(arguments={name: value}), [Effect(kind="read", path="a")])
        for one in (rule, rule._replace(required_texts=()))
    ]
    assert len(matches[0]) == len(matches[1])


@pytest.mark.parametrize(
    "condition, at, expected_text",
    [*read_rows("policy_rules", "condition_faults"), ("true ||" * 1000 + "true", "true", "at most")],
)
def test_a_fault_in_a_condition_has_a_position(condition: str, at: str, expected_text: str) -> None:
    fault = check_condition(condition)
    assert fault is not None
    assert expected_text in f"{fault.message} {fault.hint}"
    assert condition.startswith(at, fault.start)


@pytest.mark.parametrize("quote", ["'", '"', "'''\n", '"""'])
def test_a_problem_has_the_position_of_the_token_in_the_file(machine: PolicyMachine, quote: str) -> None:
    when = f"when = {quote}effects.exists(e, e.wrtes){quote.strip()}"
    text = f"# one\n\n[[rule]]\nname = 'x'\ndeny = 'no [[rule]]'\n{when}\n"
    file = machine.write("user", text)
    (problem,) = machine.read().problems
    before = text[: text.index("wrtes")]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (problem.place.file, problem.place.line, problem.place.column) == (str(file), line, column)
    assert problem.hint == "did you mean `writes`?"


def test_an_invalid_rule_is_skipped_and_warned_about(machine: PolicyMachine) -> None:
    machine.write("user", PROD_RULE.replace("e.writes", "e.wrtes").replace("production database", "bad") + PROD_RULE)
    result = machine.evaluate_command("psql prod -c 'delete from users'")
    assert get_response(result, "rule production database is read-only").verdict.permission is Permission.DENY
    assert any(
        "rule `bad is read-only` is not in force" in warning for warning in get_response(result, "policy").warnings
    )


def find_fields(condition: str) -> list[tuple[int, int]]:
    """Return start and end of each variable and record field in a condition."""
    known = {name for its in RECORDS.values() for name in its}
    words = tokenize(condition)
    found = [(word.start, word.end) for word in find_members(words, called=False) if word.text in known]
    return found + [(word.start, word.end) for word in words if word.kind == "name" and word.text in VARIABLES]


EXAMPLES = [EXAMPLE, *sorted((ROOT / "examples" / "uses").glob("*/trotline.toml"))]
CONDITIONS = [rule["when"] for file in EXAMPLES for rule in tomllib.loads(file.read_text("utf-8")).get("rule", [])]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_one_wrong_character_in_a_name_is_found_in_every_example_rule(condition: str) -> None:
    assert check_condition(condition) is None
    places = set(find_fields(condition))
    assert places
    for start, end in places:
        name = condition[start:end]
        wrong = {name[:at] + name[at + 1 :] for at in range(len(name))}
        wrong |= {name[:at] + letter + name[at + 1 :] for at in range(len(name)) for letter in "qz_"}
        for word in wrong - set(VARIABLES) - set(EFFECT_FIELDS) - {""}:
            mutated = condition[:start] + word + condition[end:]
            fault = check_condition(mutated)
            assert fault is not None, mutated


@pytest.mark.parametrize("condition, expected", read_rows("policy_rules", "required_kinds"))
def test_required_kinds_are_found_only_if_they_are_certain(condition: str, expected: list[str]) -> None:
    assert find_required_kinds(tokenize(condition)) == set(expected)


@pytest.mark.parametrize("condition, expected", read_rows("policy_rules", "required_texts"))
def test_required_texts_are_found_only_if_they_are_certain(condition: str, expected: list[str]) -> None:
    assert find_required_texts(tokenize(condition)) == tuple(expected)


PARTS = st.sampled_from(
    [
        'e.kind == "a"',
        'e.kind == "b"',
        "e.writes",
        'e.kind in ["a", "b"]',
        "!e.recursive",
        'e.target.contains("x")',
        'e.target == "yx"',
        '(e.target.startsWith("y"))',
        '!e.target.endsWith("z")',
        'e.target.contains("x") == false',
        'user.contains("x")',
        'e.target.matches("[")',
    ]
)
JOINTS = st.sampled_from([" && ", " || ", " == "])
EFFECTS = st.builds(
    Effect,
    kind=st.sampled_from("abc"),
    writes=st.booleans(),
    recursive=st.booleans(),
    target=st.sampled_from(["", "x", "yx", "xyz", "\udc78"]),
)


@given(st.lists(st.tuples(PARTS, JOINTS), min_size=1, max_size=4), JOINTS, st.lists(EFFECTS, max_size=3))
def test_skipping_a_rule_never_changes_its_matches(
    parts: list[tuple[str, str]], after: str, effects: list[Effect]
) -> None:
    inside = "".join(text + joint for text, joint in parts) + "e.writes"
    condition = f"effects.exists(e, {inside}){after}(surface == 'Agent')"
    if check_condition(condition) is not None:
        return
    rule = PolicyRule("r", condition, RuleAction.DENY, "m")
    whole, quick = (match_rules([one], EventFacts(), effects) for one in (rule, rule.with_requirements()))
    assert [one.action for one in whole] == [one.action for one in quick]


@pytest.mark.parametrize(
    "high, low, first, second",
    [
        (high, low, first, second)
        for high, low in itertools.product(("enterprise", "team", "user", "project"), repeat=2)
        for first, second in itertools.product(("deny", "ask", "warn"), repeat=2)
        if high != low
    ],
)
def test_of_two_layers_the_stricter_rule_holds(
    machine: PolicyMachine, high: str, low: str, first: str, second: str
) -> None:
    machine.write(high, MAKE_RULE.format(action=first))
    machine.write(low, MAKE_RULE.format(action=second))
    read, result = machine.read(), machine.evaluate_command("make")
    assert read.problems == ()
    words = {"deny": Permission.DENY, "ask": Permission.ASK, "warn": Permission.NONE}
    assert get_permission(result) is max(words[first], words[second])
    assert {one.layer for one in result.responses} == {high, low}


LIST = "[lists]\n{name} = ['{value}']\n"
WAIVER = "[[waiver]]\nguard = '{guard}'\nrule = '{rule}'\nuntil = {until}\nowner = 'ann'\nreason = 'moving'\n"


@pytest.mark.parametrize("layer", ["enterprise", "team", "user", "project"])
@pytest.mark.parametrize(
    "text, only_raises",
    [
        (LIST.format(name="deny_hosts", value="a.example"), True),
        (LIST.format(name="deny_packages", value="pkg:npm/left-pad"), True),
        (LIST.format(name="deny_mcp", value="db:*"), True),
        (LIST.format(name="allow_hosts", value="a.example"), False),
        (LIST.format(name="allow_mcp", value="db:*"), False),
        (WAIVER.format(guard="credentials", rule="by name", until="2030-01-01"), False),
    ],
)
def test_a_project_may_only_be_stricter(machine: PolicyMachine, layer: str, text: str, only_raises: bool) -> None:
    row = next(row.name for guard in get_guard_rules("credentials") for row in guard if not row.mandatory)
    machine.write(layer, text.replace("by name", row))
    read = machine.read()
    in_force = bool(read.policy.lists or read.policy.waivers)
    assert in_force is (only_raises or layer != "project")
    assert bool(read.problems) is not in_force


def get_guard_rules(name: str) -> list[Any]:
    from trotline.guards import load_guards

    return [guard.rules for guard in load_guards() if guard.name == name]


@pytest.mark.parametrize("setter", ["", "preset = 'strict'\n", "[guards]\ndatabases = 'enforce'\n"])
@pytest.mark.parametrize("higher, waiving", [("enterprise", "team"), ("enterprise", "user"), ("team", "user")])
def test_a_layer_cannot_waive_what_a_higher_layer_has_set(
    machine: PolicyMachine, setter: str, higher: str, waiving: str
) -> None:
    waiver = WAIVER.format(guard="databases", rule="gone", until="2026-12-31")
    machine.write(higher, setter)
    machine.write(waiving, waiver)
    read = machine.read()
    assert bool(read.policy.waivers) is not bool(setter)
    assert [problem.message for problem in read.problems if "was set by" in problem.message] == (
        [f"the waiver of databases, gone is not in force: it was set by {higher}"] if setter else []
    )
    machine.write(waiving, "")
    machine.write(higher, setter + waiver)
    assert machine.read().policy.waivers


def test_a_waiver_turns_a_stop_into_a_warning_with_owner_and_day(machine: PolicyMachine) -> None:
    line = "psql shop -c 'delete from users'"
    assert get_permission(machine.evaluate_command(line)) is Permission.ASK
    machine.write("user", WAIVER.format(guard="databases", rule="gone", until="2099-12-31"))
    result = machine.evaluate_command(line)
    assert get_permission(result) is Permission.NONE
    assert any("waived until 2099-12-31 by ann" in warning for warning in get_response(result, "databases").warnings)


def test_a_waiver_holds_on_its_last_day_and_not_after(machine: PolicyMachine) -> None:
    machine.write("user", WAIVER.format(guard="databases", rule="gone", until="2026-11-16"))
    assert len(machine.read("2026-11-16").policy.waivers) == 1
    after = machine.read("2026-11-17")
    assert after.policy.waivers == ()
    assert "has ended" in after.problems[0].message
    assert read_policies(machine.roots).policy.waivers == (), "no waiver applies without a date"


def test_a_mandatory_rule_cannot_be_waived(machine: PolicyMachine) -> None:
    mandatory = [rule.name for rules in get_guard_rules("deletion") for rule in rules if rule.mandatory]
    for name in mandatory:
        machine.write("user", WAIVER.format(guard="deletion", rule=name, until="2099-12-31"))
        assert "is mandatory" in machine.read().problems[0].message
    assert mandatory
    assert get_permission(machine.evaluate_command("rm -rf ~")) is Permission.DENY


@pytest.mark.parametrize("lists, line, expected", read_rows("policy_rules", "lists"))
def test_lists_match_names_and_ask_about_unknown_names(
    machine: PolicyMachine, lists: str, line: str, expected: str
) -> None:
    machine.write("user", f"[lists]\n{lists}\n")
    assert get_permission(machine.evaluate_command(line)) is Permission[expected]


def test_an_mcp_tool_is_listed_by_server_and_tool(machine: PolicyMachine) -> None:
    machine.write("user", "[lists]\nallow_mcp = ['files:*', 'db:query']\ndeny_mcp = ['files:delete']\n")
    permissions = {
        name: get_permission(
            machine.evaluate(BeforeMCP(mcp_server_name=name.split(":")[0], tool_name=name.split(":")[1]))
        )
        for name in ("files:read", "db:query", "db:drop", "other:query", "files:delete")
    }
    assert [name for name, word in permissions.items() if word is Permission.DENY] == [
        "db:drop",
        "other:query",
        "files:delete",
    ]


@pytest.mark.parametrize("lists, tool, expected", read_rows("policy_rules", "mcp_lists"))
def test_before_an_event_names_the_server_only_certain_matches_count(
    machine: PolicyMachine, lists: str, tool: str, expected: str
) -> None:
    machine.write("user", f"[lists]\n{lists}\n")
    assert get_permission(machine.evaluate(PreToolUse(tool_name=tool, tool_input={}))) is Permission[expected]


def test_a_tool_without_a_server_is_denied_by_an_allow_list_and_asks_for_a_deny_list(machine: PolicyMachine) -> None:
    machine.write("user", "[lists]\nallow_mcp = ['db:query']\n")
    assert get_permission(machine.evaluate(BeforeMCP(tool_name="query"))) is Permission.DENY
    machine.write("user", "[lists]\ndeny_mcp = ['db:query']\n")
    assert get_permission(machine.evaluate(BeforeMCP(tool_name="query"))) is Permission.ASK
    assert get_permission(machine.evaluate(PreToolUse(tool_name="MCP:query"), agent="claude-code")) is Permission.ASK
    assert get_permission(machine.evaluate(BeforeMCP(tool_name="read"))) is Permission.NONE


def test_a_tool_without_a_named_server_does_not_pass(machine: PolicyMachine) -> None:
    machine.write("user", "[lists]\nallow_mcp = ['db:query']\n")
    guards = build_panel(machine.roots, Sessions(machine.roots.state / "sessions"), agent="cursor")
    shared: Any = {"conversation_id": "c", "generation_id": "g", "tool_input": {}}
    before = guards(PreToolUse(tool_name="MCP:query", **shared), Call(id="1", received_us=1))
    then = guards(BeforeMCP(tool_name="query", **shared), Call(id="2", received_us=2))
    assert (get_permission(before), get_permission(then)) == (Permission.NONE, Permission.DENY)


def test_sub_agents_are_listed_by_their_type(machine: PolicyMachine) -> None:
    machine.write("user", "[lists]\nallow_subagents = ['explore', 'general*']\ndeny_subagents = ['generalShell']\n")
    kinds = ("explore", "generalPurpose", "generalShell", "shell")
    permissions = [get_permission(machine.evaluate(SubagentStart(subagent_type=kind))) for kind in kinds]
    assert permissions == [Permission.NONE, Permission.NONE, Permission.DENY, Permission.DENY]


def test_a_rule_sees_every_program_of_a_command_and_no_tool_of_the_agent(machine: PolicyMachine) -> None:
    machine.write("user", "[[rule]]\nname = 'p'\nwhen = '\"jq\" in programs || \"…\" in programs'\nask = 'p'\n")
    asks = ["jq . a", "xargs jq < a", "bash -c 'echo $(jq . a)'", "$X . a", "sudo env A=1 /usr/bin/jq ."]
    assert [get_permission(machine.evaluate_command(line)) for line in asks] == [Permission.ASK] * 5
    assert get_permission(machine.evaluate_command("echo jq")) is Permission.NONE
    assert get_permission(machine.evaluate(BeforeMCP(tool_name="jq"))) is Permission.NONE
    assert (
        get_permission(machine.evaluate(BeforeMCP(tool_name="run", tool_input={"command": "jq ."}))) is Permission.ASK
    )


@pytest.mark.parametrize("convert", [lambda given: given, json.dumps])
def test_a_rule_sees_arguments_by_their_names(machine: PolicyMachine, convert: Callable[[Any], Any]) -> None:
    condition = '"filter.labels.1" in arguments && arguments["filter.labels.1"] == "2" && arguments["all"] == "true"'
    machine.write("user", f"[[rule]]\nname = 'a'\nwhen = '{condition}'\ndeny = 'a'\n")
    tool_input = {"filter": {"labels": ["x", 2]}, "all": True, "none": None}
    assert (
        get_permission(machine.evaluate(BeforeMCP(tool_name="list", tool_input=convert(tool_input)))) is Permission.DENY
    )
    assert get_permission(machine.evaluate(PreToolUse(tool_name="MCP:list", tool_input=tool_input))) is Permission.DENY
    assert get_permission(machine.evaluate(BeforeMCP(tool_name="list", tool_input={"all": True}))) is Permission.NONE


def test_arguments_without_a_name_get_one() -> None:
    deep: dict[str, Any] = {}
    for _ in range(20):
        deep = {"a": deep}
    assert "…" in flatten_arguments(deep)
    many = flatten_arguments({str(number): number for number in range(20_000)})
    assert ("…" in many, len(many)) == (True, 10_001)


@given(st.text(alphabet="ab*", min_size=1, max_size=8), st.text(alphabet="ab", max_size=8))
def test_only_a_star_is_special_in_a_pattern(pattern: str, name: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None
    assert (name in build_list("deny_mcp", "user", [pattern])) is expected


@pytest.mark.parametrize("text, expected_text", read_rows("policy_rules", "invalid_parts"))
def test_an_invalid_part_is_a_problem_and_not_in_force(machine: PolicyMachine, text: str, expected_text: str) -> None:
    machine.write("user", text)
    read = machine.read()
    assert expected_text in " ".join(f"{problem.message} {problem.hint}" for problem in read.problems)
    assert (read.policy.rules, read.policy.lists, read.policy.waivers) == ((), (), ())
    assert all(problem.place.line for problem in read.problems)


@given(st.text(alphabet=string.printable, max_size=80))
def test_any_text_can_be_checked_as_a_condition(text: str) -> None:
    fault = check_condition(text)
    assert fault is None or fault.message


def test_the_example_is_valid_and_passes_its_own_tests(machine: PolicyMachine) -> None:
    machine.write("user", EXAMPLE.read_text("utf-8"))
    read = machine.read()
    assert read.problems == ()
    assert len(read.policy.rules) >= 8
    assert machine.failed_tests() == []
    assert sum(len(rule.stop) for rule in read.policy.rules) >= 6


GITHUB = fill_template(SECRET_TEMPLATES["github-personal-token"], "policy")
EVENT_TESTS = (CORPUS / "policy" / "event_tests.toml").read_text("utf-8").replace("SECRET", GITHUB)


def test_tests_of_rules_may_be_events(machine: PolicyMachine) -> None:
    machine.write("user", EVENT_TESTS)
    assert machine.read().problems == ()
    assert machine.failed_tests() == []
    machine.write("user", EVENT_TESTS.replace('Falcon")', 'Eagle")'))
    (failed,) = machine.failed_tests()
    assert (failed.rule, failed.wanted, failed.got) == ("no code names", "it should speak", "it is silent")
    assert "what is Falcon" in failed.line


@pytest.mark.parametrize("test, expected_text", read_rows("policy_rules", "invalid_tests"))
def test_an_invalid_test_is_a_problem(machine: PolicyMachine, test: str, expected_text: str) -> None:
    file = machine.write("user", f'[[rule]]\nname = "n"\nwhen = "true"\ndeny = "d"\ntests = {{ stop = [{test}] }}\n')
    (problem,) = machine.read().problems
    assert expected_text in problem.message
    assert (problem.place.file, problem.place.line) == (str(file), 5)


def test_the_schema_accepts_the_example_and_rejects_a_rule_without_action() -> None:
    import jsonschema_rs

    body = tomllib.loads(EXAMPLE.read_text("utf-8"))
    checker = jsonschema_rs.validator_for(build_config_schema())
    assert checker.is_valid(body)
    assert not checker.is_valid({"rule": [{"name": "x", "when": "true"}]})
    assert not checker.is_valid({"lists": {"deny_host": []}})


def test_check_lists_the_problems_of_all_layers(machine: PolicyMachine) -> None:
    assert machine.run("check")[0] == 0
    machine.write("user", PROD_RULE)
    machine.write("project", PROD_RULE.replace("e.writes", "e.write"))
    code, text = machine.run("check")
    assert code == 1
    assert f"{machine.files['project']}  (configuration)\n" in text
    assert "hint: did you mean `writes`?" in text
    code, text = machine.run("check", "--json")
    body = json.loads(text)
    assert (body["ok"], len(body["problems"]), len(body["data"]["config_files"])) == (False, 1, 2)


def test_check_reads_a_policy_that_is_named(machine: PolicyMachine, tmp_path: Path) -> None:
    file = tmp_path / "new.toml"
    file.write_text(PROD_RULE.replace("e.writes", "e.write"))
    code, text = machine.run("check", str(file))
    assert (code, "hint: did you mean `writes`?" in text) == (1, True)
    file.write_text(PROD_RULE)
    assert machine.run("check", str(file))[0] == 0


def test_policy_test_names_the_failing_line(machine: PolicyMachine) -> None:
    machine.write("user", PROD_RULE.replace("select 1", "drop table t"))
    code, text = machine.run("check", "--test")
    assert code == 1
    assert "it should be silent, but it says deny" in text
    assert "psql prod -c 'drop table t'" in text
    machine.write("user", PROD_RULE)
    assert machine.run("check", "--test") == (0, "2 tests of 1 rule, 0 failed\n")
    assert json.loads(machine.run("check", "--test", "--json")[1])["data"] == {"tests": 2, "failed": [], "untested": []}


def test_explain_names_the_rules_that_match(machine: PolicyMachine) -> None:
    machine.write("user", PROD_RULE)
    code, text = machine.run("explain", "psql prod -c 'drop table t'")
    assert code == 20
    assert "deny rule production database is read-only, " in text
    code, text = machine.run("explain", "ls", "--json")
    found = json.loads(text)["data"]
    assert (code, found["permission"], found["matches"]) == (0, "none", [])


def test_schema_prints_the_generated_file(machine: PolicyMachine) -> None:
    _, text = machine.run("schema", "config")
    assert json.loads(text) == json.loads((ROOT / "schemas" / "trotline.schema.json").read_text("utf-8"))


def test_a_hook_replies_with_the_rule_and_warns_about_the_invalid_rule(machine: PolicyMachine) -> None:
    machine.write("user", PROD_RULE + PROD_RULE.replace("e.writes", "e.wrtes").replace("production database", "bad"))
    line = "psql prod -c 'delete from users where id = 1'"
    payload = {"hook_event_name": "beforeShellExecution", "command": line, "workspace_roots": [str(machine.project)]}
    argv = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(machine.home)]
    argv += ["--event", "beforeShellExecution"]
    done = subprocess.run(argv, input=json.dumps(payload), capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert answer["permission"] == "deny"
    assert "rule production database is read-only, user" in answer["user_message"]
    assert "rule `bad is read-only` is not in force" in done.stderr


def test_check_reads_policies(machine: PolicyMachine) -> None:
    file = machine.write("project", PROD_RULE.replace("e.writes", "e.wrtes"))
    machine.system.mkdir()
    argv = [sys.executable, "-m", "trotline", "check", "--json", *machine.options]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["code"], problem["place"]["file"]) == (1, "TL258", str(file))


def test_without_rules_the_library_is_not_imported(machine: PolicyMachine) -> None:
    machine.write("user", "preset = 'strict'\n")
    code = (
        "import sys, pathlib\nfrom trotline.config.paths import Roots\n"
        "from trotline.evaluation.machine_panel import _read_policy\n"
        f"_read_policy(Roots(home=pathlib.Path({str(machine.home)!r}), system=pathlib.Path('/nowhere')), ())\n"
        "print([name for name in sys.modules if 'cel_expr' in name or name.endswith('policy.policy_rules')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
