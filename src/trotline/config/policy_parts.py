"""Rules, lists and waivers in trotline.toml. Each is read separately: an invalid one leaves the others in force."""

import datetime as dt
import json
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from trotline.agents.cursor.payloads import build_event
from trotline.config.config_file import ConfigFile
from trotline.config.paths import CONFIG_FILE
from trotline.domain.errors import UnreadablePayload
from trotline.domain.events import EVENTS
from trotline.formats.suggestions import suggest
from trotline.formats.toml_text import find_value_start
from trotline.guards import GUARD_NAMES, load_guards
from trotline.guards.guard import RuleAction
from trotline.policy.condition_tokens import MAX_CONDITION
from trotline.policy.condition_variables import RECORDS, VARIABLES
from trotline.policy.conditions import check_condition, find_missing_library
from trotline.policy.lists import LIST_KINDS, PolicyList, build_list
from trotline.policy.policy import PolicyLayer
from trotline.policy.policy_rules import EVENT_KEY, PROJECT, PolicyRule, RuleTest
from trotline.policy.waivers import Waiver

ACTIONS = (RuleAction.DENY, RuleAction.ASK, RuleAction.WARN)
RULE_EVENTS = tuple(name for name, event in EVENTS.items() if event.contract.refusable or name == "postToolUse")
"""The events that rules are evaluated for: those that can be refused, and the one whose output can be changed."""

USER_FILE = f"~/.config/trotline/{CONFIG_FILE}"

Text = Annotated[str, msgspec.Meta(pattern=r"\S", description="a text")]
TestList = Annotated[  # without a pattern: msgspec 0.22 crashes on one in a union
    tuple[Annotated[str, msgspec.Meta(min_length=1)] | dict[str, Any], ...],
    msgspec.Meta(description="a list of command lines and events"),
]


def _extend_schema(**keys: Any) -> msgspec.Meta:
    """Return keys for the generated schema that messages do not use."""
    return msgspec.Meta(extra_json_schema=keys)


def _describe_conditions() -> str:
    variables = ", ".join(f"{variable}: {kind}" for variable, kind in VARIABLES.items())
    fields = "; ".join(f"{record} has {', '.join(names)}" for record, names in RECORDS.items())
    return f"a condition in CEL over {variables}. {fields}."


class RuleTests(msgspec.Struct, frozen=True, rename={"let_pass": "pass"}):
    """Command lines and events for which a rule must match, and must not."""

    noun = "`tests`"

    stop: TestList = ()
    let_pass: TestList = ()


class RuleTable(msgspec.Struct, kw_only=True):
    """One `[[rule]]`: a condition, one action with its message, and tests."""

    noun = "a rule"

    name: Text
    when: Annotated[Text, _extend_schema(maxLength=MAX_CONDITION, description=_describe_conditions())]
    deny: Annotated[Text, _extend_schema(description="refuses, with this message")] = ""
    ask: Annotated[Text, _extend_schema(description="a person is asked, with this message")] = ""
    warn: Annotated[Text, _extend_schema(description="it goes on, and the person is told this")] = ""
    instead: Annotated[str, msgspec.Meta(description="a text: what to do")] = ""
    events: Annotated[
        tuple[Annotated[Text, _extend_schema(enum=list(RULE_EVENTS))], ...],
        msgspec.Meta(description="a list of texts"),
        _extend_schema(description="asked about these only"),
    ] = ()
    tests: RuleTests = RuleTests()


class WaiverTable(msgspec.Struct, kw_only=True):
    """One `[[waiver]]`: a rule of a guard that is not enforced until a day."""

    noun = "a waiver"

    guard: Annotated[Text, _extend_schema(enum=list(GUARD_NAMES))]
    rule: Text
    until: Annotated[dt.date, msgspec.Meta(description="a date without quotes: its last day, such as 2030-12-31")]
    owner: Text
    reason: Text


def add_parts(policy: PolicyLayer, config: ConfigFile, today: str) -> PolicyLayer:
    """Return the policy with the rules, lists and waivers of the file."""
    rules = (_read_rule(config, key, table) for key, table in config.iterate_tables("rule"))
    waivers = (_read_waiver(config, key, table, today) for key, table in config.iterate_tables("waiver"))
    return policy._replace(
        rules=tuple(rule for rule in rules if rule is not None),
        lists=tuple(_read_lists(config)),
        waivers=tuple(waiver for waiver in waivers if waiver is not None),
    )


# Rules


def _read_rule(config: ConfigFile, key: str, table: dict[str, Any]) -> PolicyRule | None:
    rule = config.convert_section(table, RuleTable, key)
    if rule is None:
        return None
    actions = [action for action in ACTIONS if getattr(rule, action)]
    if len(actions) != 1:
        message = f"rule `{rule.name}` says one of {', '.join(ACTIONS)}, with a message"
        config.report_key(f"{key}.name", message)
        return None
    checks = (_check_tests, _check_events, _check_when)
    if not all(check(config, key, rule) for check in checks):
        return None
    return PolicyRule(
        name=rule.name,
        when=rule.when,
        action=actions[0],
        message=str(getattr(rule, actions[0])).strip(),
        instead=rule.instead.strip(),
        events=rule.events,
        stop=rule.tests.stop,
        let_pass=rule.tests.let_pass,
        layer=config.layer,
        file=config.file,
        line=config.find_line(key),
    ).with_requirements()


def _check_events(config: ConfigFile, key: str, rule: RuleTable) -> bool:
    unknown = next((name for name in rule.events if name not in RULE_EVENTS), None)
    if unknown is not None:
        message = f"rules are not asked about `{unknown}`"
        config.report_key(f"{key}.events", message, suggest(unknown, RULE_EVENTS))
    return unknown is None


def _check_tests(config: ConfigFile, key: str, rule: RuleTable) -> bool:
    tests = {"stop": rule.tests.stop, "pass": rule.tests.let_pass}
    for name, test in ((name, test) for name, listed in tests.items() for test in listed):
        fault = _find_test_fault(test)
        if fault:
            hint = suggest(str(test.get(EVENT_KEY)), RULE_EVENTS) if isinstance(test, dict) else ""
            config.report_key(f"{key}.tests.{name}", f"a test is no event: {fault}", hint)
            return False
    return True


def _find_test_fault(test: RuleTest) -> str:
    """Return the reason why a test is not an event that an agent could send, or ""."""
    if isinstance(test, str):
        return ""
    name = test.get(EVENT_KEY)
    if name not in RULE_EVENTS:
        return f"rules are not asked about `{name}`" if name else "it needs `event`, the name of one"
    try:
        json.dumps(test)
        build_event({field: value for field, value in test.items() if field != EVENT_KEY}, str(name))
    except TypeError:
        return "an agent sends texts, numbers, lists and objects only"
    except UnreadablePayload as error:
        return error.message
    return ""


def _check_when(config: ConfigFile, key: str, rule: RuleTable) -> bool:
    """Return whether the condition is valid. A problem is reported at its position in the condition."""
    missing = find_missing_library()
    if missing:  # the rule stays in force: without the library its action is `ask`
        config.report_key(key, f"rule `{rule.name}` cannot be asked: {missing}", "install trotline[policy]")
        return True
    fault = check_condition(rule.when)
    if fault is None:
        return True
    span = config.find_position(f"{key}.when")
    start = find_value_start(config.document.text, span, rule.when)
    if start is not None:
        span = (start + fault.start, start + fault.end)
    message = f"rule `{rule.name}` is not in force: {fault.message}"
    config.report(config.code, span, message, fault.hint, entry=f"rule {rule.name}")
    return False


# Lists


def _read_lists(config: ConfigFile) -> Iterator[PolicyList]:
    table = config.body.get("lists", {})
    if not isinstance(table, dict):
        config.report_key("lists", "`lists` is a table")
        return
    for name, entries in table.items():
        key = f"lists.{name}"
        if name not in LIST_KINDS:
            config.report_unknown(key, f"`lists` has no `{name}`", LIST_KINDS)
        elif not isinstance(entries, list) or not all(isinstance(entry, str) and entry for entry in entries):
            config.report_key(key, f"`{name}` is a list of texts")
        elif LIST_KINDS[name].allows and config.layer == PROJECT:
            hint = f"write it into {USER_FILE}, or use a list that denies"
            config.report_key(key, f"a project cannot say what is allowed: `{name}` is not in force", hint)
        else:
            yield build_list(name, config.layer, tuple(entries))


# Waivers


def _read_waiver(config: ConfigFile, key: str, table: dict[str, Any], today: str) -> Waiver | None:
    if config.layer == PROJECT:
        config.report_key(key, "a project cannot waive anything", f"write it into {USER_FILE}")
        return None
    waiver = config.convert_section(table, WaiverTable, key)
    if waiver is None or not _check_waived_rule(config, key, waiver):
        return None
    until = waiver.until.isoformat()
    if until < today:
        message = f"the waiver of {waiver.guard}, {waiver.rule} has ended and is not in force"
        config.report_key(f"{key}.until", message)
        return None
    owner, reason, line = waiver.owner.strip(), waiver.reason.strip(), config.find_line(key)
    return Waiver(waiver.guard, waiver.rule, until, owner, reason, config.layer, line)


def _check_waived_rule(config: ConfigFile, key: str, waiver: WaiverTable) -> bool:
    guard = next((guard for guard in load_guards() if guard.name == waiver.guard), None)
    if guard is None:
        hint = suggest(waiver.guard, GUARD_NAMES)
        config.report_key(f"{key}.guard", f"there is no guard `{waiver.guard}`", hint)
        return False
    rule = next((rule for rule in guard.rules if rule.name == waiver.rule), None)
    if rule is None:
        known = [rule.name for rule in guard.rules if not rule.mandatory]
        message = f"guard {guard.name} has no rule `{waiver.rule}`"
        config.report_key(f"{key}.rule", message, suggest(waiver.rule, known))
    elif rule.mandatory:
        config.report_key(f"{key}.rule", f"{guard.name}, {rule.name} is mandatory and cannot be waived")
    return rule is not None and not rule.mandatory
