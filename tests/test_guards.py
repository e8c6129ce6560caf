"""Every guard with its cases, laws for all guards, and labelled corpora if they are available."""

import json
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import read_rows
from trotline.analysis.analyze import analyze_command, analyze_mcp_call
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Effect
from trotline.domain.history import History
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import Evaluation, evaluate, update_history
from trotline.guards import GUARD_NAMES, load_guards
from trotline.guards.cases import Case, load_cases
from trotline.guards.guard import PRESETS, Guard, GuardContext, GuardLevel, RuleAction
from trotline.policy.policy import LevelSetting, Policy, PolicyLayer, merge_layers

ENVIRONMENT = Environment(
    "/home/dev/project",
    ("/home/dev/project",),
    "/home/dev",
    "dev",
    own_paths=("/home/dev/.local/state/trotline/v1", "/home/dev/.config/trotline"),
)
CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
GUARDS = {guard.name: guard for guard in load_guards()}
CASES = [
    (guard, rule, case)
    for guard in GUARDS.values()
    for rule, cases in load_cases(guard.name).rules.items()
    for case in cases
]
COMMANDS = [command for name in GUARDS for command in load_cases(name).commands]
PASSES = [(name, line) for name in GUARDS for line in load_cases(name).passes]


def get_permission(line: str, preset: str) -> Permission:
    return evaluate(analyze_command(line, ENVIRONMENT).effects, ENVIRONMENT, Policy(preset)).permission


def read_effects(step: str | dict[str, Any]) -> tuple[Effect, ...]:
    return analyze_command(step, ENVIRONMENT).effects if isinstance(step, str) else (msgspec.convert(step, Effect),)


def run_case(case: Case, preset: str) -> Evaluation:
    """Evaluate a case; the earlier steps of a conversation update the history as in preset strict."""
    *earlier, last = case if isinstance(case, list) else [case]
    memory = History()
    for step in earlier:
        effects = read_effects(step)
        evaluation = evaluate(effects, ENVIRONMENT, Policy("strict"), history=memory)
        denied = tuple(match.effect for match in evaluation.matches if match.action is RuleAction.DENY)
        memory = update_history(memory, effects, evaluation.permission, denied)
    return evaluate(read_effects(last), ENVIRONMENT, Policy(preset), history=memory)


def find_first_rules(guard: Guard, case: str) -> set[str]:
    context = GuardContext(ENVIRONMENT, analyze_command(case, ENVIRONMENT).effects)
    effects = [effect for effect in context.effects if effect.kind in guard.kinds]
    return {next((rule.name for rule in guard.rules if rule.filter.accepts(effect, context)), "") for effect in effects}


@pytest.mark.parametrize("guard, name, case", CASES, ids=lambda value: value.name if isinstance(value, Guard) else None)
def test_case_matches_its_rule_in_every_preset(guard: Guard, name: str, case: Case) -> None:
    rule = next(rule for rule in guard.rules if rule.name == name)
    for preset in PRESETS:
        matches = run_case(case, preset).matches
        actions = {match.action for match in matches if (match.guard, match.rule.name) == (guard.name, name)}
        assert actions == {rule.get_action(preset)} - {RuleAction.PASS}
    if rule.get_action("paranoid") is RuleAction.PASS:
        assert name in find_first_rules(guard, str(case))


@pytest.mark.parametrize("guard", GUARDS.values(), ids=lambda guard: guard.name)
def test_every_rule_has_a_case(guard: Guard) -> None:
    cases = load_cases(guard.name)
    assert list(cases.rules) == [rule.name for rule in guard.rules]
    assert all(cases.rules.values())


@pytest.mark.parametrize("name, line", PASSES)
def test_preset_standard_lets_harmless_commands_pass(name: str, line: str) -> None:
    assert get_permission(line, "standard") is Permission.NONE


@pytest.mark.parametrize("guard", GUARDS.values(), ids=lambda guard: guard.name)
def test_guard_has_a_danger_and_stricter_presets(guard: Guard) -> None:
    assert guard.danger
    assert guard.kinds
    assert guard.name in GUARD_NAMES
    assert len({rule.name for rule in guard.rules}) == len(guard.rules)
    for rule in guard.rules:
        severities = [list(RuleAction).index(action) for action in rule.actions]
        assert severities == sorted(severities), f"{guard.name}, {rule.name}"
        assert not rule.mandatory or rule.actions[0] is RuleAction.DENY, f"{guard.name}, {rule.name}"


@pytest.mark.parametrize("line,guard", read_rows("guards", "one_danger_is_reported_by_one_guard"))
def test_one_danger_is_reported_by_one_guard(line: str, guard: str) -> None:
    results = evaluate(analyze_command(line, ENVIRONMENT).effects, ENVIRONMENT, Policy("strict")).matches
    assert {match.guard for match in results} == {guard}


@pytest.mark.parametrize("guard", GUARDS.values(), ids=lambda guard: guard.name)
def test_every_guard_of_commands_has_several_cases(guard: Guard) -> None:
    if guard.name == "sequences" or guard.kinds == {"content"}:
        return  # a conversation and a text are not part of one command; test_hook_guards.py, test_text_findings.py
    cases = load_cases(guard.name)
    assert len(cases.commands) >= 5
    assert len(cases.passes) >= 5


WRAPPERS = tuple(read_rows("guards", "wrappers"))
DATA = tuple(read_rows("guards", "data"))
STOPPED = tuple(read_rows("guards", "stopped"))


@pytest.mark.parametrize("line", STOPPED)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_stopped_command_stays_stopped_in_every_wrapper(wrapper: str, line: str) -> None:
    assert get_permission(wrapper.format(line, q=shlex.quote(line)), "standard") >= Permission.ASK


@settings(deadline=None)
@given(st.lists(st.sampled_from(WRAPPERS), min_size=2, max_size=3), st.sampled_from(STOPPED))
def test_wrappers_may_be_nested(wrappers: list[str], line: str) -> None:
    for wrapper in wrappers:
        if "END" in wrapper and "END" in line:
            continue
        line = wrapper.format(line, q=shlex.quote(line))
    assert get_permission(line, "strict") >= Permission.ASK


@pytest.mark.parametrize("line", STOPPED)
@pytest.mark.parametrize("frame", DATA)
def test_command_as_data_has_no_effect(frame: str, line: str) -> None:
    assert get_permission(frame.format(line, q=shlex.quote(line)), "standard") is Permission.NONE


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_text_breaks_a_guard(line: str) -> None:
    effects = analyze_command(line, ENVIRONMENT).effects
    results = [evaluate(effects, ENVIRONMENT, Policy(preset)).permission for preset in PRESETS]
    assert results == sorted(results), "a stricter preset is never milder"


LEVELS = st.dictionaries(st.sampled_from(GUARD_NAMES), st.sampled_from(list(GuardLevel)), max_size=4)
LINE = st.sampled_from(COMMANDS)


@settings(deadline=None)
@given(LEVELS, st.sampled_from(("", *PRESETS)), LINE)
def test_project_can_only_be_stricter(levels: dict[str, GuardLevel], preset: str, line: str) -> None:
    effects = analyze_command(line, ENVIRONMENT).effects
    without = merge_layers([PolicyLayer("user", "standard")])
    with_project = merge_layers([PolicyLayer("user", "standard"), PolicyLayer("project", preset, levels)])
    assert evaluate(effects, ENVIRONMENT, with_project).permission >= evaluate(effects, ENVIRONMENT, without).permission


@given(LEVELS, LEVELS)
def test_lower_layer_can_only_raise_levels_of_a_higher_layer(
    high: dict[str, GuardLevel], low: dict[str, GuardLevel]
) -> None:
    policy = merge_layers([PolicyLayer("enterprise", "", high), PolicyLayer("user", "", low)])
    order = list(GuardLevel)
    for guard, level in high.items():
        assert order.index(policy.get_setting(guard).level) >= order.index(level)


@pytest.mark.parametrize("level", [GuardLevel.OFF, GuardLevel.MONITOR, GuardLevel.WARN])
def test_mandatory_rules_hold_when_every_guard_is_off(level: GuardLevel) -> None:
    policy = Policy(levels={name: LevelSetting(level, "user") for name in GUARD_NAMES})
    effects = analyze_command("rm -rf / && cat .env", ENVIRONMENT).effects
    assert evaluate(effects, ENVIRONMENT, policy).permission is Permission.DENY


def test_guard_at_level_warn_permits_the_action() -> None:
    policy = Policy(levels={"credentials": LevelSetting(GuardLevel.WARN, "user")})
    evaluation = evaluate(analyze_command("cat ~/.npmrc", ENVIRONMENT).effects, ENVIRONMENT, policy)
    assert evaluation.permission is Permission.NONE
    assert [opinion.action for opinion in evaluation.matches] == [RuleAction.WARN]


def test_levels_for_tab_are_separate() -> None:
    policy = merge_layers(
        [PolicyLayer("user", "", {"credentials": GuardLevel.ENFORCE}, {"credentials": GuardLevel.OFF})]
    )
    effects = analyze_command("cat ~/.npmrc", ENVIRONMENT).effects
    assert evaluate(effects, ENVIRONMENT, policy).permission is Permission.DENY
    assert evaluate(effects, ENVIRONMENT, policy, tab=True).permission is Permission.NONE


needs_corpora = pytest.mark.skipif(not CORPORA.exists(), reason="../shared/corpora is not here")


def compute_score(corpus: str, preset: str) -> tuple[float, float]:
    """Return recall and rate of false stops for a labelled source, without rows that depend on a disk."""
    counts = {True: [0, 0], False: [0, 0]}
    name = "consensus" if corpus == "consensus" else "commands"
    for text in (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(text)
        if row.get("corpus", "consensus") != corpus or row.get("context_dependent") or row.get("fixture"):
            continue
        if row["expected"] not in {"deny", "ask", "allow", "no_opinion"}:
            continue
        stop = row["expected"] in {"deny", "ask"}
        counts[stop][0] += get_permission(row["command"], preset) >= Permission.ASK
        counts[stop][1] += 1
    return counts[True][0] / max(1, counts[True][1]), counts[False][0] / max(1, counts[False][1])


@needs_corpora
@pytest.mark.parametrize(
    "corpus, preset, recall, false_stops", read_rows("guards", "labelled_commands_get_the_verdict_of_their_label")
)
def test_labelled_commands_get_the_verdict_of_their_label(
    corpus: str, preset: str, recall: float, false_stops: float
) -> None:
    """Omits omamori, which permits a download to run in a shell, and nah 0.x, which asks before `set -x`."""
    stopped, false_rate = compute_score(corpus, preset)
    assert stopped >= recall
    assert false_rate <= false_stops


@needs_corpora
def test_labelled_server_calls_get_the_verdict_of_their_label() -> None:
    """Except `whoami` and `id`, which are harmless in any shell; calls labelled `warn` pass."""
    stopped: dict[str, list[bool]] = {"deny": [], "warn": []}
    for text in (CORPORA / "mcp_calls.jsonl").read_text("utf-8").splitlines():
        row = json.loads(text)
        effects = analyze_mcp_call("", row["tool_name"], row["tool_input"], ENVIRONMENT).effects
        stopped[row["expected"]].append(evaluate(effects, ENVIRONMENT, Policy("strict")).permission >= Permission.ASK)
    assert sum(stopped["deny"]) >= len(stopped["deny"]) - 2
    assert not any(stopped["warn"])


@needs_corpora
def test_no_command_of_the_corpora_is_in_the_source() -> None:
    paths = [path for suffix in ("py", "toml") for path in (Path(__file__).parent.parent / "src").rglob(f"*.{suffix}")]
    source = "\n".join(path.read_text("utf-8") for path in paths)
    lines = [json.loads(text)["command"] for text in (CORPORA / "commands.jsonl").read_text("utf-8").splitlines()]
    assert [line for line in lines if len(line) > 12 and f'"{line}"' in source] == []


@pytest.mark.parametrize("line", read_rows("guards", "truncated_commands_and_bad_addresses_are_evaluated"))
def test_truncated_commands_and_bad_addresses_are_evaluated(line: str) -> None:
    """Each was found by fuzzing, and broke a reader."""
    assert get_permission(line, "strict") in Permission
