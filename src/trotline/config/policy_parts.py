"""Rules, lists and waivers of a policy file. Each is read for itself: a wrong one leaves the others in force."""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from trotline.config.toml_page import TomlPage
from trotline.config.toml_places import value_start
from trotline.errors import UnreadablePayload
from trotline.events import EVENTS
from trotline.guards import NAMES, guards
from trotline.guards.conditions import fault_of, missing
from trotline.guards.guard import Says
from trotline.guards.lists import KINDS, Listing, listing
from trotline.guards.nearness import near
from trotline.guards.policy import Wish
from trotline.guards.rules import EVENT, MOST_RULES, PROJECT, Rule, Test
from trotline.guards.waivers import Waiver
from trotline.hosts.cursor import event_of

ACTIONS = (Says.DENY, Says.ASK, Says.WARN)
RULE_KEYS = ("name", "when", *map(str, ACTIONS), "instead", "events", "tests")
TEST_KEYS = ("stop", "pass")
WAIVER_KEYS = ("guard", "row", "until", "owner", "reason")
JUDGED = tuple(name for name, event in EVENTS.items() if event.contract.refusable or name == "postToolUse")
"""Events that somebody can say no to, and the one whose output can be changed; rules are asked about no others."""


Part = TypeVar("Part")


class Sheet(NamedTuple):
    """A file while its parts are read."""

    layer: str
    today: str
    page: TomlPage

    def report(self, key: str, message: str, hint: str = "") -> None:
        self.page.report(self.page.code, self.page.place_of(key), message, hint, entry=key.partition(".")[0])

    def line(self, key: str) -> int:
        return self.page.document.position(self.page.place_of(key)[0])[0]

    def texts(self, key: str, value: object) -> tuple[str, ...] | None:
        """A list of texts, or nothing and a Problem."""
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return tuple(value)
        self.report(key, f"`{key.rpartition('.')[2]}` is a list of texts")
        return None

    def unknown(self, key: str, given: dict[str, Any], known: tuple[str, ...], what: str) -> bool:
        wrong = [name for name in given if name not in known]
        for name in wrong:
            self.page.unknown(f"{key}.{name}", f"{what} has no `{name}`", known, entry=key.partition(".")[0])
        return bool(wrong)


def parts(wish: Wish, body: dict[str, Any], sheet: Sheet) -> Wish:
    """The wish, with what the file says beyond levels."""
    return wish._replace(
        rules=tuple(_each(sheet, body, "rule", _rule)),
        lists=tuple(_lists(sheet, body.get("lists", {}))),
        waivers=tuple(_each(sheet, body, "waiver", _waiver)),
    )


def _each(
    sheet: Sheet, body: dict[str, Any], name: str, read: Callable[[Sheet, str, dict[str, Any]], Part | None]
) -> Iterator[Part]:
    given = body.get(name, [])
    if not isinstance(given, list):
        sheet.report(name, f"`{name}` is a list of tables", f"write [[{name}]]")
        return
    if len(given) > MOST_RULES:
        sheet.report(name, f"there are more than {MOST_RULES} of [[{name}]]; those after are not in force")
    for index, one in enumerate(given[:MOST_RULES]):
        key = f"{name}.{index}"
        if not isinstance(one, dict):
            sheet.report(key, f"a {name} is a table")
        elif (found := read(sheet, key, one)) is not None:
            yield found


# Rules


def _rule(sheet: Sheet, key: str, given: dict[str, Any]) -> Rule | None:
    if sheet.unknown(key, given, RULE_KEYS, "a rule") or not _has_texts(sheet, key, given, ("name", "when"), "rule"):
        return None
    said = [action for action in ACTIONS if action in given]
    if len(said) != 1 or not isinstance(given[said[0]], str) or not given[said[0]].strip():
        sheet.report(f"{key}.name", f"rule `{given['name']}` says one of {', '.join(ACTIONS)}, with a message")
        return None
    if not isinstance(given.get("instead", ""), str):
        sheet.report(f"{key}.instead", "`instead` is a text: what to do")
        return None
    events = _events(sheet, key, given.get("events", []))
    tests = _tests(sheet, key, given.get("tests", {}))
    if events is None or tests is None or _faulty(sheet, key, given):
        return None
    return Rule(
        name=given["name"],
        when=given["when"],
        says=said[0],
        message=given[said[0]].strip(),
        instead=given.get("instead", "").strip(),
        events=events,
        stop=tests[0],
        let_pass=tests[1],
        layer=sheet.layer,
        file=sheet.page.file,
        line=sheet.line(key),
    ).measured()


def _has_texts(sheet: Sheet, key: str, given: dict[str, Any], names: tuple[str, ...], what: str) -> bool:
    for name in names:
        if not isinstance(given.get(name), str) or not given[name].strip():
            sheet.report(f"{key}.{name}", f"a {what} needs `{name}`, a text")
            return False
    return True


def _events(sheet: Sheet, key: str, given: object) -> tuple[str, ...] | None:
    names = sheet.texts(f"{key}.events", given)
    wrong = next((name for name in names or () if name not in JUDGED), None)
    if wrong is not None:
        sheet.report(f"{key}.events", f"rules are not asked about `{wrong}`", near(wrong, JUDGED))
        return None
    return names


def _tests(sheet: Sheet, key: str, given: object) -> tuple[tuple[Test, ...], tuple[Test, ...]] | None:
    if not isinstance(given, dict):
        sheet.report(f"{key}.tests", "`tests` is a table", 'write tests = { stop = ["..."], pass = ["..."] }')
        return None
    if sheet.unknown(f"{key}.tests", given, TEST_KEYS, "`tests`"):
        return None
    stop, let_pass = (_each_test(sheet, f"{key}.tests.{name}", given.get(name, [])) for name in TEST_KEYS)
    return None if stop is None or let_pass is None else (stop, let_pass)


def _each_test(sheet: Sheet, key: str, given: object) -> tuple[Test, ...] | None:
    """Command lines, and events with their fields."""
    if not isinstance(given, list) or not all(isinstance(one, str | dict) and one for one in given):
        hint = 'write "a command", or { event = "beforeSubmitPrompt", prompt = "..." }'
        sheet.report(key, f"`{key.rpartition('.')[2]}` is a list of command lines and events", hint)
        return None
    for one in given:
        why = _no_event(one) if isinstance(one, dict) else ""
        if why:
            sheet.report(key, f"a test is no event: {why}", near(str(one.get(EVENT)), JUDGED))
            return None
    return tuple(given)


def _no_event(given: dict[str, Any]) -> str:
    name = given.get(EVENT)
    if name not in JUDGED:
        return f"rules are not asked about `{name}`" if name else "it needs `event`, the name of one"
    try:
        json.dumps(given)
        event_of({field: value for field, value in given.items() if field != EVENT}, str(name))
    except TypeError:
        return "a host sends texts, numbers, lists and objects only"
    except UnreadablePayload as error:
        return error.message
    return ""


def _faulty(sheet: Sheet, key: str, given: dict[str, Any]) -> bool:
    """Whether the condition is wrong; the Problem stands at the word in question."""
    why = missing()
    if why:  # it stays in force: whatever it is about becomes a question
        sheet.report(key, f"rule `{given['name']}` cannot be asked: {why}", "install trotline[policy]")
        return False
    fault = fault_of(given["when"])
    if fault is None:
        return False
    place = sheet.page.place_of(f"{key}.when")
    begin = value_start(sheet.page.document.text, place, given["when"])
    span = place if begin is None else (begin + fault.start, begin + fault.end)
    message = f"rule `{given['name']}` is not in force: {fault.message}"
    sheet.page.report("TL258", span, message, fault.hint, entry=f"rule {given['name']}")
    return True


# Lists


def _lists(sheet: Sheet, given: object) -> Iterator[Listing]:
    if not isinstance(given, dict):
        sheet.report("lists", "`lists` is a table")
        return
    sheet.unknown("lists", given, tuple(KINDS), "`lists`")
    for name, kind in KINDS.items():
        wanted = sheet.texts(f"lists.{name}", given[name]) if name in given else None
        if wanted is None:
            continue
        if kind.allows and sheet.layer == PROJECT:
            hint = "write it into ~/.config/trotline/policy.toml, or use a list that denies"
            sheet.report(f"lists.{name}", f"a project cannot say what is allowed: `{name}` is not in force", hint)
            continue
        yield listing(name, sheet.layer, wanted)


# Waivers


def _waiver(sheet: Sheet, key: str, given: dict[str, Any]) -> Waiver | None:
    if sheet.layer == PROJECT:
        sheet.report(key, "a project cannot waive anything", "write it into ~/.config/trotline/policy.toml")
        return None
    texts = ("guard", "row", "owner", "reason")
    if sheet.unknown(key, given, WAIVER_KEYS, "a waiver") or not _has_texts(sheet, key, given, texts, "waiver"):
        return None
    until = given.get("until")
    if type(until) is not dt.date:
        sheet.report(f"{key}.until", "a waiver needs `until`, its last day", "write until = 2030-12-31, without quotes")
        return None
    if not _waivable(sheet, key, given):
        return None
    if until.isoformat() < sheet.today:
        sheet.report(f"{key}.until", f"the waiver of {given['guard']}, {given['row']} has ended and is not in force")
        return None
    owner, reason = given["owner"].strip(), given["reason"].strip()
    return Waiver(given["guard"], given["row"], until.isoformat(), owner, reason, sheet.layer, sheet.line(key))


def _waivable(sheet: Sheet, key: str, given: dict[str, Any]) -> bool:
    guard = next((one for one in guards() if one.name == given["guard"]), None)
    if guard is None:
        sheet.report(f"{key}.guard", f"there is no guard `{given['guard']}`", near(given["guard"], NAMES))
        return False
    row = next((one for one in guard.rows if one.name == given["row"]), None)
    if row is None:
        known = [one.name for one in guard.rows if not one.floor]
        sheet.report(f"{key}.row", f"guard {guard.name} has no row `{given['row']}`", near(given["row"], known))
    elif row.floor:
        sheet.report(f"{key}.row", f"{guard.name}, {row.name} is on the floor, and nobody can waive it")
    return row is not None and not row.floor
