"""Rules, lists and waivers: what they say, who may say it, and what happens to one that is wrong."""

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

from planted import KINDS, made
from trotline.analysis.arguments import arguments_of
from trotline.cli import group
from trotline.config.places import Roots
from trotline.config.policies import Policies, read_policies
from trotline.config.policy_schema import policy_schema
from trotline.effects import Effect
from trotline.engine.sessions import Sessions
from trotline.events import (
    BeforeMCP,
    BeforeShell,
    BeforeSubmitPrompt,
    BeforeTabFileRead,
    Event,
    PreToolUse,
    SubagentStart,
)
from trotline.explanation import failures_of
from trotline.guarding import guards_of, scanning_of, world_at
from trotline.guards import conditions
from trotline.guards.conditions import fault_of
from trotline.guards.guard import Says
from trotline.guards.lists import listing
from trotline.guards.rules import NO_EFFECT, Rule, spoken
from trotline.guards.vocabulary import EFFECT, RECORDS, VARIABLES, About
from trotline.guards.words import kinds, members, needed, words_of
from trotline.outcomes import Call, Heard, Voice
from trotline.verdicts import Permission

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "policy" / "policy.toml"
TODAY = "2026-11-16"
PROD = """
[[rule]]
name = "production database is read-only"
when = 'effects.exists(e, e.kind == "sql" && e.writes && e.target.contains("prod"))'
deny = "production is read-only for agents; use the staging copy"
tests = { stop = ["psql prod -c 'delete from users'"], pass = ["psql prod -c 'select 1'"] }
"""
NO_MAKE = """
[[rule]]
name = "no make"
when = 'effects.exists(e, e.kind == "execute") || event.command.startsWith("make")'
{action} = "make is {action}"
"""


class Machine:
    """Four layers, and the guards that read them."""

    def __init__(self, root: Path) -> None:
        self.home, self.system = root / "home", root / "system"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self.roots = Roots(home=self.home, system=self.system, projects=(self.project,))
        self.files = {
            "enterprise": self.roots.managed_config / "policy.toml",
            "team": self.roots.state / "team" / "policy.toml",
            "user": self.roots.config / "policy.toml",
            "project": self.project / ".trotline" / "policy.toml",
        }

    def write(self, layer: str, text: str) -> Path:
        file = self.files[layer]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def read(self, today: str = TODAY) -> Policies:
        return read_policies(self.roots, [self.project], today=today)

    def raised(self, event: Event, host: str = "cursor") -> Heard:
        guards = guards_of(self.roots, Sessions(self.roots.state / "sessions"), host=host)
        return guards(event, Call(id="call", received_us=1))

    def shell(self, line: str) -> Heard:
        return self.raised(BeforeShell(command=line, cwd=str(self.project), workspace_roots=(str(self.project),)))

    def policy(self, *words: str) -> tuple[int, str]:
        where = ["--home", str(self.home), "--system", str(self.system), "--project", str(self.project)]
        self.system.mkdir(exist_ok=True)
        done = CliRunner().invoke(group, ["policy", *words, *where], standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.return_value, done.output


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def voice(heard: Heard, author: str) -> Voice:
    return next(one for one in heard.voices if one.author == author)


def strictest(heard: Heard) -> Permission:
    return max((one.verdict.permission for one in heard.voices), default=Permission.SILENT)


# What rules say


def test_a_rule_refuses_with_its_message_its_name_and_its_layer(machine: Machine) -> None:
    machine.write("user", PROD)
    said = voice(machine.shell("psql prod -c 'delete from users'"), "rule production database is read-only")
    assert (said.layer, said.verdict.permission) == ("user", Permission.DENY)
    assert "use the staging copy" in said.verdict.user_message
    assert machine.shell("psql prod -c 'select 1'").voices == ()


def test_a_rule_sees_the_same_in_whatever_carries_it(machine: Machine) -> None:
    machine.write("user", PROD)
    for line in (
        "sh -c \"psql prod -c 'drop table t'\"",
        "echo 'drop table t' | sudo psql -d prod",
        "psql prod <<< 'drop table t'",
    ):
        assert voice(machine.shell(line), "rule production database is read-only").verdict.permission is Permission.DENY
    assert machine.shell("git commit -m \"psql prod -c 'delete from users'\"").voices == ()


def test_a_projects_words_are_marked_as_the_projects(machine: Machine) -> None:
    machine.write("project", NO_MAKE.format(action="deny"))
    said = voice(machine.shell("make"), "rule no make")
    assert said.layer == "project"
    assert said.verdict.agent_message.startswith("this project says: make is deny")


def test_rules_see_prompts_tab_hosts_users_and_models(machine: Machine) -> None:
    machine.write(
        "user",
        """
[[rule]]
name = "all"
when = '''
event.prompt.contains("heron") && host == "codex" && event.host == host && user == "ann@example.org"
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
    assert strictest(machine.raised(prompt, "codex")) is Permission.DENY
    assert strictest(machine.raised(prompt, "cursor")) is Permission.SILENT
    assert strictest(machine.raised(BeforeTabFileRead(file_path="/x/finance/a.py"))) is Permission.DENY
    assert strictest(machine.raised(BeforeTabFileRead(file_path="/x/shop/a.py"))) is Permission.SILENT


def test_a_message_with_braces_is_said_as_it_is(machine: Machine) -> None:
    machine.write("user", NO_MAKE.format(action="ask").replace("make is ask", "use {path} and {0}"))
    assert "use {path} and {0}" in voice(machine.shell("make"), "rule no make").verdict.user_message


def test_a_rule_that_cannot_be_asked_is_a_question_with_its_name(machine: Machine) -> None:
    machine.write("user", '[[rule]]\nname = "far"\nwhen = "effects[40].writes"\nwarn = "w"\n')
    said = voice(machine.shell("ls"), "rule far")
    assert said.verdict.permission is Permission.ASK
    assert "could not be asked: index error" in said.verdict.user_message


def test_a_rule_that_would_take_too_long_is_a_question() -> None:
    loops = "effects.all(a, effects.all(b, effects.all(c, a.kind == b.kind && b.kind == c.kind)))"
    rule = Rule("slow", loops, Says.WARN, "w").measured()
    (said,) = spoken([rule], About(), [Effect(kind="read", path=str(number)) for number in range(300)])
    assert (said.says, said.effect) == (Says.ASK, NO_EFFECT)
    assert "budget" in said.reason


def test_many_rules_that_take_long_end_in_one_question_and_do_not_take_others_time() -> None:
    loops = "effects.all(a, effects.all(b, a.kind == b.kind))"
    slow = [Rule(f"slow {number}", loops, Says.WARN, "w", layer="project").measured() for number in range(100)]
    first = Rule("first", "true", Says.DENY, "no", layer="enterprise").measured()
    said = spoken([first, *slow], About(), [Effect(kind="read", path=str(number)) for number in range(90)])
    assert said[0].says is Says.DENY
    assert [one.says for one in said if "more rules" in one.reason] == [Says.ASK]


def test_without_the_library_rules_are_questions_and_problems(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> None:
        raise ImportError("cel_expr_python")

    monkeypatch.setattr(conditions, "_library", absent)
    machine.write("user", PROD + "# another file than any that was read with it\n")
    (problem,) = machine.read().problems
    assert "cel-expr-python" in problem.message
    assert strictest(machine.shell("psql prod -c 'select 1'")) is Permission.ASK
    assert strictest(machine.shell("ls")) is Permission.SILENT


@pytest.mark.parametrize("text", ["\ud800", "\0", "é" * 10, "'\"\\"])
def test_no_text_of_a_host_breaks_a_rule(text: str) -> None:
    rule = Rule("r", 'event.command.contains("zzz") || effects.exists(e, e.path == "zzz")', Says.DENY, "m").measured()
    assert spoken([rule], About(command=text, group=(text,)), [Effect(kind="read", path=text)]) == []


FEW = st.sampled_from(["true", "false", "effects[9].writes", "effects.exists(e, e.writes) // why", "surface == 'Tab'"])


@given(st.lists(FEW, max_size=60), st.booleans())
def test_rules_that_are_asked_together_say_what_each_says_alone(several: list[str], writes: bool) -> None:
    effects = [Effect(kind="write", writes=writes)]
    asked = [Rule(str(number), when, Says.DENY, "m").measured() for number, when in enumerate(several)]
    alone = [one for rule in asked for one in spoken([rule], About(), effects)]
    together = spoken(asked, About(), effects)
    assert [(one.guard, one.says) for one in together] == [(one.guard, one.says) for one in alone]


LOOKED_FOR = ("ls", "secret", "staff", "statement", "id")
ASKS = ["{} == '{}'", "{}.startsWith('{}')", "{}.contains('{}')", "{} in ['{}', 'x']", "{} == '{}' && host != 'x'"]
PARTS = st.builds(str.format, st.sampled_from(ASKS), st.just("x"), st.sampled_from(LOOKED_FOR))
SOMEWHERE = st.sampled_from(["programs", "arguments", "before", "group", "[event.command]", "[host]", "[surface]"])


@given(SOMEWHERE, PARTS, st.lists(st.sampled_from(LOOKED_FOR), min_size=8, max_size=8))
def test_a_rule_is_asked_wherever_the_texts_that_it_needs_may_stand(where: str, part: str, said: list[str]) -> None:
    command, host, surface, program, earlier, group, name, value = said
    about = About(command=command, host=host, surface=surface, programs=(program,), before=(earlier,), group=(group,))
    rule = Rule("r", f"{where}.exists(x, {part})", Says.DENY, "m").measured()
    asked = [
        spoken([one], about._replace(arguments={name: value}), [Effect(kind="read", path="a")])
        for one in (rule, rule._replace(needs=()))
    ]
    assert len(asked[0]) == len(asked[1])


# What is wrong with conditions


@pytest.mark.parametrize(
    "condition, at, says",
    [
        ('effects.exists(e, e.knd == "sql")', "knd", "did you mean `kind`"),
        ('usr == "x"', "usr", "did you mean `user`"),
        ('event.target == "x"', "target", "an event has no `target`"),
        ('findings.exists(f, f.verb == "x")', "verb", "a finding has no `verb`"),
        ("effects.exists(e, e.kind == 3)", "==", "cannot be applied to string and int"),
        ("effects.exists(e, e.writes.contains('x'))", "contains", "cannot be applied to bool and string"),
        ("effects.exists(e, e.path.endswith('x'))", "endswith", "did you mean `endsWith`"),
        ('effects.exists(e, e.kind() == "x")', "kind", "is a field and not a function"),
        ('effects.exists(e, e["kind"] == "x")', "[", "cannot be applied to"),
        ('effects.exists(e, e.path.matches("a(b"))', '"a(b"', "no pattern: invalid regular expression"),
        ("size(effects)", "size", "true or false; this is of type int"),
        ("effects.exists(e, e.writes", "", "cannot be read"),
        ("(" * 100 + "true" + ")" * 100, "(", "cannot be read"),
        ("true ||" * 1000 + "true", "true", "at most"),
    ],
)
def test_what_is_wrong_with_a_condition_is_said_at_its_place(condition: str, at: str, says: str) -> None:
    fault = fault_of(condition)
    assert fault is not None
    assert says in f"{fault.message} {fault.hint}"
    assert condition.startswith(at, fault.start)


@pytest.mark.parametrize("quote", ["'", '"', "'''\n", '"""'])
def test_a_problem_stands_in_the_file_at_the_word_itself(machine: Machine, quote: str) -> None:
    when = f"when = {quote}effects.exists(e, e.wrtes){quote.strip()}"
    text = f"# one\n\n[[rule]]\nname = 'x'\ndeny = 'no [[rule]]'\n{when}\n"
    file = machine.write("user", text)
    (problem,) = machine.read().problems
    before = text[: text.index("wrtes")]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (problem.place.file, problem.place.line, problem.place.column) == (str(file), line, column)
    assert problem.hint == "did you mean `writes`?"


def test_a_wrong_rule_leaves_the_others_in_force_and_is_loud_in_the_next_verdict(machine: Machine) -> None:
    machine.write("user", PROD.replace("e.writes", "e.wrtes").replace("production database", "bad") + PROD)
    heard = machine.shell("psql prod -c 'delete from users'")
    assert voice(heard, "rule production database is read-only").verdict.permission is Permission.DENY
    assert any("rule `bad is read-only` is not in force" in warning for warning in voice(heard, "policy").warnings)


def fields_of(condition: str) -> list[tuple[int, int]]:
    """Where a condition names a variable or a field of a record."""
    known = {name for its in RECORDS.values() for name in its}
    words = words_of(condition)
    found = [(word.start, word.end) for word in members(words, called=False) if word.text in known]
    return found + [(word.start, word.end) for word in words if word.kind == "name" and word.text in VARIABLES]


EXAMPLES = [EXAMPLE, *sorted((ROOT / "examples" / "uses").glob("*/policy.toml"))]
CONDITIONS = [rule["when"] for file in EXAMPLES for rule in tomllib.loads(file.read_text("utf-8")).get("rule", [])]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_one_wrong_character_in_a_name_is_found_in_every_rule_of_the_examples(condition: str) -> None:
    assert fault_of(condition) is None
    places = set(fields_of(condition))
    assert places
    for start, end in places:
        name = condition[start:end]
        wrong = {name[:at] + name[at + 1 :] for at in range(len(name))}
        wrong |= {name[:at] + letter + name[at + 1 :] for at in range(len(name)) for letter in "qz_"}
        for word in wrong - set(VARIABLES) - set(EFFECT) - {""}:
            mutated = condition[:start] + word + condition[end:]
            fault = fault_of(mutated)
            assert fault is not None, mutated


@pytest.mark.parametrize(
    "condition, wanted",
    [
        ('effects.exists(e, e.kind == "sql" && e.writes)', {"sql"}),
        ('effects.exists(e, e.kind in ["send", "fetch"] && (e.writes || e.recursive))', {"send", "fetch"}),
        ('effects.exists(e, e.kind == "sql") && surface == "Tab"', {"sql"}),
        ('effects.exists(e, e.kind == "sql" || e.writes)', set()),
        ('effects.exists(e, e.kind == "sql") || true', set()),
        ('effects.exists(e, e.kind == "sql") == false', set()),
        ('effects.exists(e, e.kind == "sql") ? true : false', set()),
        ('effects.exists(e, (e.kind == "sql" && e.writes))', set()),
        ('effects.exists(e, e.kind == "s\\x71l")', set()),
        ('!effects.exists(e, e.kind == "sql")', set()),
        ('effects.exists(e, e.kind in ["a", user])', set()),
    ],
)
def test_the_kinds_that_a_rule_needs_are_known_only_where_they_are_certain(condition: str, wanted: set[str]) -> None:
    assert kinds(words_of(condition)) == wanted


@pytest.mark.parametrize(
    "condition, wanted",
    [
        ('effects.exists(e, e.kind == "sql" && e.target.contains("prod"))', ("sql", "prod")),
        ('event.command.startsWith("npm ") && surface == "Tab"', ("npm ", "Tab")),
        ('effects.exists(e, e.kind in ["send", "fetch"] && e.host.endsWith(".ru"))', (".ru",)),
        ('effects.exists(e, e.path.matches("^/etc") && e.verb == "rm")', ("rm",)),
        ('event.command.contains("a") || user == "b"', ()),
        ('!event.command.contains("a")', ()),
        ('event.command != "a"', ()),
        ('event.command.contains("a") == false', ()),
        ('event.command.contains("a") == event.prompt.contains("b")', ()),
        ('event.command.contains("a") ? false : true', ()),
        ('effects.all(e, e.kind == "sql")', ()),
        ('effects.exists_one(e, e.kind == "sql")', ()),
        ('effects.filter(e, e.kind == "sql").size() == 0', ()),
        ('effects.map(e, e.kind == "sql").size() == 0', ()),
        ("event.command.contains('\\x61')", ()),
        ("event.command.contains(r'a')", ()),
        ("'a' == user", ()),
        ('event.command.contains("a") in [event.prompt.contains("b")]', ()),
        ('"abc".contains(user) && user.contains("x")', ("x",)),
    ],
)
def test_the_texts_that_a_rule_needs_are_known_only_where_they_are_certain(condition: str, wanted: tuple[str]) -> None:
    assert needed(words_of(condition)) == wanted


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
def test_to_skip_a_rule_never_changes_what_it_says(
    parts: list[tuple[str, str]], after: str, effects: list[Effect]
) -> None:
    inside = "".join(text + joint for text, joint in parts) + "e.writes"
    condition = f"effects.exists(e, {inside}){after}(surface == 'Agent')"
    if fault_of(condition) is not None:
        return
    rule = Rule("r", condition, Says.DENY, "m")
    whole, quick = (spoken([one], About(), effects) for one in (rule, rule.measured()))
    assert [one.says for one in whole] == [one.says for one in quick]


# Authority


@pytest.mark.parametrize(
    "high, low, first, second",
    [
        (high, low, first, second)
        for high, low in itertools.product(("enterprise", "team", "user", "project"), repeat=2)
        for first, second in itertools.product(("deny", "ask", "warn"), repeat=2)
        if high != low
    ],
)
def test_of_two_layers_the_stricter_rule_holds_whoever_wrote_it(
    machine: Machine, high: str, low: str, first: str, second: str
) -> None:
    machine.write(high, NO_MAKE.format(action=first))
    machine.write(low, NO_MAKE.format(action=second))
    read, heard = machine.read(), machine.shell("make")
    assert read.problems == ()
    words = {"deny": Permission.DENY, "ask": Permission.ASK, "warn": Permission.SILENT}
    assert strictest(heard) is max(words[first], words[second])
    assert {one.layer for one in heard.voices} == {high, low}


LIST = "[lists]\n{name} = ['{value}']\n"
WAIVER = "[[waiver]]\nguard = '{guard}'\nrow = '{row}'\nuntil = {until}\nowner = 'ann'\nreason = 'moving'\n"


@pytest.mark.parametrize("layer", ["enterprise", "team", "user", "project"])
@pytest.mark.parametrize(
    "text, only_raises",
    [
        (LIST.format(name="deny_hosts", value="a.example"), True),
        (LIST.format(name="deny_packages", value="pkg:npm/left-pad"), True),
        (LIST.format(name="deny_mcp", value="db:*"), True),
        (LIST.format(name="allow_hosts", value="a.example"), False),
        (LIST.format(name="allow_mcp", value="db:*"), False),
        (WAIVER.format(guard="credentials", row="by name", until="2030-01-01"), False),
    ],
)
def test_a_project_may_only_say_what_is_stricter(machine: Machine, layer: str, text: str, only_raises: bool) -> None:
    row = next(row.name for guard in rules_of("credentials") for row in guard if not row.floor)
    machine.write(layer, text.replace("by name", row))
    read = machine.read()
    in_force = bool(read.policy.lists or read.policy.waivers)
    assert in_force is (only_raises or layer != "project")
    assert bool(read.problems) is not in_force


def rules_of(name: str) -> list[Any]:
    from trotline.guards import guards

    return [guard.rows for guard in guards() if guard.name == name]


@pytest.mark.parametrize("setter", ["", "preset = 'strict'\n", "[guards]\ndatabases = 'enforce'\n"])
@pytest.mark.parametrize("higher, waiving", [("enterprise", "team"), ("enterprise", "user"), ("team", "user")])
def test_nobody_waives_what_somebody_higher_has_set(machine: Machine, setter: str, higher: str, waiving: str) -> None:
    waiver = WAIVER.format(guard="databases", row="gone", until="2026-12-31")
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


# Waivers


def test_a_waiver_makes_a_stop_a_warning_with_owner_and_day(machine: Machine) -> None:
    line = "psql shop -c 'delete from users'"
    assert strictest(machine.shell(line)) is Permission.ASK
    machine.write("user", WAIVER.format(guard="databases", row="gone", until="2099-12-31"))
    heard = machine.shell(line)
    assert strictest(heard) is Permission.SILENT
    assert any("waived until 2099-12-31 by ann" in warning for warning in voice(heard, "databases").warnings)


def test_a_waiver_holds_on_its_last_day_and_not_after(machine: Machine) -> None:
    machine.write("user", WAIVER.format(guard="databases", row="gone", until="2026-11-16"))
    assert len(machine.read("2026-11-16").policy.waivers) == 1
    after = machine.read("2026-11-17")
    assert after.policy.waivers == ()
    assert "has ended" in after.problems[0].message
    assert read_policies(machine.roots).policy.waivers == (), "who does not know the date has none"


def test_the_floor_cannot_be_waived(machine: Machine) -> None:
    floor = [row.name for rows in rules_of("deletion") for row in rows if row.floor]
    for row in floor:
        machine.write("user", WAIVER.format(guard="deletion", row=row, until="2099-12-31"))
        assert "on the floor" in machine.read().problems[0].message
    assert floor
    assert strictest(machine.shell("rm -rf ~")) is Permission.DENY


# Lists


@pytest.mark.parametrize(
    "lists, line, wanted",
    [
        ("deny_packages = ['pkg:npm/left-pad']", "npm install left-pad", Permission.DENY),
        ("deny_packages = ['pkg:npm/left-pad']", "npm install left-pad@1.3.0", Permission.DENY),
        ("deny_packages = ['pkg:npm/left-pad']", "npm uninstall left-pad", Permission.SILENT),
        ("deny_packages = ['pkg:npm/left-pad']", "npm install right-pad", Permission.SILENT),
        ("deny_packages = ['pkg:pypi/*-nightly']", "pip install torch-nightly", Permission.DENY),
        ("deny_hosts = ['*.paste.example']", "curl https://a.paste.example/x", Permission.DENY),
        ("deny_hosts = ['*.paste.example']", "curl https://paste.example.org/x", Permission.SILENT),
        ("allow_hosts = ['*.example.org']", "curl https://docs.example.org/x", Permission.SILENT),
        ("allow_hosts = ['*.example.org']", "curl https://docs.example.com/x", Permission.DENY),
        ("allow_hosts = ['*.example.org']", "curl http://localhost:8000/x", Permission.SILENT),
        ("allow_hosts = ['*.example.org']", "curl https://$SOMEWHERE/x", Permission.ASK),
    ],
)
def test_lists_judge_what_is_named_and_ask_about_what_cannot_be_known(
    machine: Machine, lists: str, line: str, wanted: Permission
) -> None:
    machine.write("user", f"[lists]\n{lists}\n")
    assert strictest(machine.shell(line)) is wanted


def test_a_tool_of_a_server_is_listed_by_both_names(machine: Machine) -> None:
    machine.write("user", "[lists]\nallow_mcp = ['files:*', 'db:query']\ndeny_mcp = ['files:delete']\n")
    said = {
        name: strictest(machine.raised(BeforeMCP(mcp_server_name=name.split(":")[0], tool_name=name.split(":")[1])))
        for name in ("files:read", "db:query", "db:drop", "other:query", "files:delete")
    }
    assert [name for name, word in said.items() if word is Permission.DENY] == [
        "db:drop",
        "other:query",
        "files:delete",
    ]


@pytest.mark.parametrize(
    "lists, tool, wanted",
    [
        ("allow_mcp = ['files:*', 'db:query']", "MCP:query", Permission.SILENT),
        ("allow_mcp = ['db:query']", "MCP:drop", Permission.DENY),
        ("allow_mcp = ['db:query']", "MCP:other:query", Permission.DENY),
        ("deny_mcp = ['git*:delete_*']", "MCP:delete_it", Permission.SILENT),
        ("deny_mcp = ['*delete_it']", "MCP:delete_it", Permission.DENY),
    ],
)
def test_where_a_later_event_names_the_server_only_what_is_certain_is_said_before(
    machine: Machine, lists: str, tool: str, wanted: Permission
) -> None:
    machine.write("user", f"[lists]\n{lists}\n")
    assert strictest(machine.raised(PreToolUse(tool_name=tool, tool_input={}))) is wanted


def test_a_tool_without_a_server_is_denied_by_an_allow_list_and_asked_about_by_the_other(machine: Machine) -> None:
    machine.write("user", "[lists]\nallow_mcp = ['db:query']\n")
    assert strictest(machine.raised(BeforeMCP(tool_name="query"))) is Permission.DENY
    machine.write("user", "[lists]\ndeny_mcp = ['db:query']\n")
    assert strictest(machine.raised(BeforeMCP(tool_name="query"))) is Permission.ASK
    assert strictest(machine.raised(PreToolUse(tool_name="MCP:query"), host="claude-code")) is Permission.ASK
    assert strictest(machine.raised(BeforeMCP(tool_name="read"))) is Permission.SILENT


def test_what_passed_until_its_server_is_named_does_not_pass_when_nobody_names_it(machine: Machine) -> None:
    machine.write("user", "[lists]\nallow_mcp = ['db:query']\n")
    guards = guards_of(machine.roots, Sessions(machine.roots.state / "sessions"), host="cursor")
    shared: Any = {"conversation_id": "c", "generation_id": "g", "tool_input": {}}
    before = guards(PreToolUse(tool_name="MCP:query", **shared), Call(id="1", received_us=1))
    then = guards(BeforeMCP(tool_name="query", **shared), Call(id="2", received_us=2))
    assert (strictest(before), strictest(then)) == (Permission.SILENT, Permission.DENY)


def test_sub_agents_are_listed_by_their_type(machine: Machine) -> None:
    machine.write("user", "[lists]\nallow_subagents = ['explore', 'general*']\ndeny_subagents = ['generalShell']\n")
    kinds_of = ("explore", "generalPurpose", "generalShell", "shell")
    said = [strictest(machine.raised(SubagentStart(subagent_type=kind))) for kind in kinds_of]
    assert said == [Permission.SILENT, Permission.SILENT, Permission.DENY, Permission.DENY]


# Programs and arguments


def test_a_rule_sees_every_program_of_a_line_and_no_tool_of_the_agent(machine: Machine) -> None:
    machine.write("user", "[[rule]]\nname = 'p'\nwhen = '\"jq\" in programs || \"…\" in programs'\nask = 'p'\n")
    asks = ["jq . a", "xargs jq < a", "bash -c 'echo $(jq . a)'", "$X . a", "sudo env A=1 /usr/bin/jq ."]
    assert [strictest(machine.shell(line)) for line in asks] == [Permission.ASK] * 5
    assert strictest(machine.shell("echo jq")) is Permission.SILENT
    assert strictest(machine.raised(BeforeMCP(tool_name="jq"))) is Permission.SILENT
    assert strictest(machine.raised(BeforeMCP(tool_name="run", tool_input={"command": "jq ."}))) is Permission.ASK


@pytest.mark.parametrize("given_as", [lambda given: given, json.dumps])
def test_a_rule_sees_arguments_by_their_names(machine: Machine, given_as: Callable[[Any], Any]) -> None:
    condition = '"filter.labels.1" in arguments && arguments["filter.labels.1"] == "2" && arguments["all"] == "true"'
    machine.write("user", f"[[rule]]\nname = 'a'\nwhen = '{condition}'\ndeny = 'a'\n")
    asked = {"filter": {"labels": ["x", 2]}, "all": True, "none": None}
    assert strictest(machine.raised(BeforeMCP(tool_name="list", tool_input=given_as(asked)))) is Permission.DENY
    assert strictest(machine.raised(PreToolUse(tool_name="MCP:list", tool_input=asked))) is Permission.DENY
    assert strictest(machine.raised(BeforeMCP(tool_name="list", tool_input={"all": True}))) is Permission.SILENT


def test_arguments_that_nobody_can_mean_are_known_by_a_name() -> None:
    deep: dict[str, Any] = {}
    for _ in range(20):
        deep = {"a": deep}
    assert "…" in arguments_of(deep)
    many = arguments_of({str(number): number for number in range(20_000)})
    assert ("…" in many, len(many)) == (True, 10_001)


@given(st.text(alphabet="ab*", min_size=1, max_size=8), st.text(alphabet="ab", max_size=8))
def test_a_star_stands_for_anything_and_nothing_else_has_a_meaning(pattern: str, name: str) -> None:
    wanted = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None
    assert (name in listing("deny_mcp", "user", [pattern])) is wanted


# Files


@pytest.mark.parametrize(
    "text, says",
    [
        ("rule = 3", "a list of tables"),
        ("[[rule]]\nname = 'a'\nwhen = 'true'", "says one of deny, ask, warn"),
        ("[[rule]]\nname = 'a'\nwhen = 'true'\ndeny = 'x'\nask = 'y'", "says one of"),
        ("[[rule]]\nwhen = 'true'\ndeny = 'x'", "needs `name`"),
        ("[[rule]]\nname = 'a'\ndeny = 'x'", "needs `when`"),
        ("[[rule]]\nname = 'a'\nwen = 'true'\ndeny = 'x'", "did you mean `when`"),
        ("[[rule]]\nname = 'a'\nwhen = 'true'\ndeny = 'x'\nevents = ['beforeShell']", "beforeShellExecution"),
        ("[[rule]]\nname = 'a'\nwhen = 'true'\ndeny = 'x'\ntests = { stops = [] }", "did you mean `stop`"),
        (
            "[[rule]]\nname = 'a'\nwhen = 'true'\ndeny = 'x'\ntests = { stop = 'ls' }",
            "a list of command lines and events",
        ),
        ("[lists]\ndeny_host = ['x']", "did you mean `deny_hosts`"),
        ("[lists]\ndeny_hosts = 'x'", "a list of texts"),
        (WAIVER.format(guard="deletoin", row="x", until="2030-01-01"), "did you mean `deletion`"),
        (WAIVER.format(guard="databases", row="gon", until="2030-01-01"), "did you mean `gone`"),
        (WAIVER.format(guard="databases", row="gone", until="'soon'"), "its last day"),
        (WAIVER.format(guard="databases", row="gone", until="2030-01-01").replace("owner", "own"), "has no `own`"),
    ],
)
def test_a_part_that_means_nothing_is_said_and_not_in_force(machine: Machine, text: str, says: str) -> None:
    machine.write("user", text)
    read = machine.read()
    assert says in " ".join(f"{problem.message} {problem.hint}" for problem in read.problems)
    assert (read.policy.rules, read.policy.lists, read.policy.waivers) == ((), (), ())
    assert all(problem.place.line for problem in read.problems)


@given(st.text(alphabet=string.printable, max_size=80))
def test_no_text_breaks_the_reading_of_a_condition(text: str) -> None:
    fault = fault_of(text)
    assert fault is None or fault.message


def test_the_example_is_right_and_keeps_its_own_tests(machine: Machine) -> None:
    machine.write("user", EXAMPLE.read_text("utf-8"))
    read = machine.read()
    assert read.problems == ()
    assert len(read.policy.rules) >= 8
    world = world_at(machine.roots, [str(machine.project)])
    scanning = scanning_of(machine.roots)
    assert [failed for rule in read.policy.rules for failed in failures_of(rule, world, scanning)] == []
    assert sum(len(rule.stop) for rule in read.policy.rules) >= 6


GITHUB = made(KINDS["github-personal-token"], "policy")
EVENT_TESTS = """[[rule]]
name = "no code names"
when = 'event.prompt.contains("Falcon")'
deny = "that name stays here"
events = ["beforeSubmitPrompt"]
[rule.tests]
stop = [{ event = "beforeSubmitPrompt", prompt = "what is Falcon" }]
pass = [{ event = "beforeSubmitPrompt", prompt = "what is a falcon" }, "echo Falcon"]

[[rule]]
name = "no secrets to that server"
when = 'event.tool == "post" && findings.exists(f, f.scanner == "secrets")'
ask = "a secret would be sent"
[rule.tests]
stop = [{ event = "beforeMCPExecution", tool_name = "post", tool_input = { text = "SECRET" } }]
pass = [{ event = "beforeMCPExecution", tool_name = "post", tool_input = { text = "hello" } }]

[[rule]]
name = "outputs"
when = 'findings.exists(f, f.scanner == "secrets")'
deny = "a secret came back"
events = ["postToolUse"]
[rule.tests]
stop = [{ event = "postToolUse", tool_name = "MCP:a:b", tool_output = "SECRET" }]
""".replace("SECRET", GITHUB)


def test_tests_of_rules_may_be_events(machine: Machine) -> None:
    machine.write("user", EVENT_TESTS)
    read = machine.read()
    assert read.problems == ()
    world, scanning = world_at(machine.roots, [str(machine.project)]), scanning_of(machine.roots)
    assert [one for rule in read.policy.rules for one in failures_of(rule, world, scanning)] == []
    machine.write("user", EVENT_TESTS.replace('Falcon")', 'Eagle")'))
    (failed,) = [one for rule in machine.read().policy.rules for one in failures_of(rule, world, scanning)]
    assert (failed.rule, failed.wanted, failed.got) == ("no code names", "it should speak", "it is silent")
    assert "what is Falcon" in failed.line


@pytest.mark.parametrize(
    "test, says",
    [
        ('{ event = "beforePrompt", prompt = "x" }', "rules are not asked about `beforePrompt`"),
        ('{ prompt = "x" }', "it needs `event`"),
        ('{ event = "beforeSubmitPrompt", prompt = 2026-01-01 }', "texts, numbers, lists and objects only"),
        ('{ event = "beforeSubmitPrompt", prompt = 5 }', "a test is no event"),
        ("5", "is a list of command lines and events"),
    ],
)
def test_a_test_that_is_no_event_is_a_problem(machine: Machine, test: str, says: str) -> None:
    file = machine.write("user", f'[[rule]]\nname = "n"\nwhen = "true"\ndeny = "d"\ntests = {{ stop = [{test}] }}\n')
    (problem,) = machine.read().problems
    assert says in problem.message
    assert (problem.place.file, problem.place.line) == (str(file), 5)


def test_the_schema_takes_the_example_and_not_a_rule_without_an_answer() -> None:
    import jsonschema_rs

    body = tomllib.loads(EXAMPLE.read_text("utf-8"))
    checker = jsonschema_rs.validator_for(policy_schema())
    assert checker.is_valid(body)
    assert not checker.is_valid({"rule": [{"name": "x", "when": "true"}]})
    assert not checker.is_valid({"lists": {"deny_host": []}})


# The command


def test_check_lists_what_is_wrong_in_all_layers(machine: Machine) -> None:
    assert machine.policy("check")[0] == 0
    machine.write("user", PROD)
    machine.write("project", PROD.replace("e.writes", "e.write"))
    code, text = machine.policy("check")
    assert code == 1
    assert f"{machine.files['project']}:4:" in text
    assert "hint: did you mean `writes`?" in text
    code, text = machine.policy("check", "--json")
    body = json.loads(text)
    assert (body["ok"], len(body["problems"]), len(body["data"]["rules"])) == (False, 1, 1)


def test_test_says_which_line_a_rule_gets_wrong(machine: Machine) -> None:
    machine.write("user", PROD.replace("select 1", "drop table t"))
    code, text = machine.policy("test")
    assert code == 1
    assert "it should be silent, but it says deny" in text
    assert "psql prod -c 'drop table t'" in text
    machine.write("user", PROD)
    assert machine.policy("test") == (0, "2 tests of 1 rule, 0 failed\n")
    assert json.loads(machine.policy("test", "--json")[1])["data"] == {"tests": 2, "failed": [], "untested": []}


def test_explain_names_the_rules_that_speak(machine: Machine) -> None:
    machine.write("user", PROD)
    code, text = machine.policy("explain", "psql prod -c 'drop table t'")
    assert code == 20
    assert "deny rule production database is read-only (user)" in text
    code, text = machine.policy("explain", "ls", "--json")
    assert (code, json.loads(text)["data"]) == (0, {"permission": "silent", "said": []})


def test_schema_prints_what_is_in_the_repository(machine: Machine) -> None:
    _, text = machine.policy("schema")
    assert json.loads(text) == json.loads((ROOT / "schemas" / "policy.schema.json").read_text("utf-8"))


def test_a_host_hears_a_rule_and_a_person_reads_of_the_one_that_is_wrong(machine: Machine) -> None:
    machine.write("user", PROD + PROD.replace("e.writes", "e.wrtes").replace("production database", "bad"))
    line = "psql prod -c 'delete from users where id = 1'"
    payload = {"hook_event_name": "beforeShellExecution", "command": line, "workspace_roots": [str(machine.project)]}
    argv = [
        "-m",
        "trotline",
        "hook",
        "cursor",
        "--event",
        "beforeShellExecution",
        "--home",
        str(machine.home),
    ]
    done = subprocess.run(
        [sys.executable, *argv], input=json.dumps(payload), capture_output=True, text=True, check=False
    )
    answer = json.loads(done.stdout)
    assert answer["permission"] == "deny"
    assert "rule production database is read-only, user" in answer["user_message"]
    assert "rule `bad is read-only` is not in force" in done.stderr


def test_check_of_everything_reads_policies_too(machine: Machine) -> None:
    file = machine.write("project", PROD.replace("e.writes", "e.wrtes"))
    machine.system.mkdir()
    where = ["--home", str(machine.home), "--system", str(machine.system), "--project", str(machine.project)]
    argv = [sys.executable, "-m", "trotline", "check", "--json", *where]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["code"], problem["place"]["file"]) == (1, "TL258", str(file))


def test_who_has_no_rules_wakes_no_library(machine: Machine) -> None:
    machine.write("user", "preset = 'strict'\n")
    code = (
        "import sys, pathlib; from trotline.config.places import Roots; from trotline.guarding import _policy\n"
        f"_policy(Roots(home=pathlib.Path({str(machine.home)!r}), system=pathlib.Path('/nowhere')), ())\n"
        "print([name for name in sys.modules if 'cel_expr' in name or name.endswith('guards.rules')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
