"""Hooks: when a matcher applies, how a hook is recognised again, and what a layer is."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import read_rows
from strategies import texts
from trotline.agents.claude_code import VOCABULARY, list_plain_names
from trotline.config.hooks_json import lookaround
from trotline.domain.editions import LOOP_LIMIT, TIMEOUT_SECONDS
from trotline.domain.events import (
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    BeforeSubmitPrompt,
    Event,
    OtherEvent,
    PreToolUse,
    SessionStart,
    Stop,
    SubagentStart,
)
from trotline.domain.hooks import (
    NO_VOCABULARY,
    Fit,
    Hook,
    Layer,
    LayerKind,
    Matcher,
    Place,
    Vocabulary,
    build_hook_id,
    decide_nothing,
    split_mcp_name,
)
from trotline.formats import js_regex

LAYER = Layer(kind=LayerKind.PROJECT, file="/p/.cursor/hooks.json", root="/p", cwd="/p")


def hook(event: str, matcher: str | None = None, **settings: Any) -> Hook:
    made = Matcher(matcher) if matcher is not None else None
    return Hook(id="1", event=event, layer=LAYER, place=Place("f", 1, 1), command="x", matcher=made, **settings)


def claude_hook(event: str, matcher: str) -> Hook:
    made = Matcher(matcher, list_plain_names(matcher))
    return Hook(id="1", event=event, layer=LAYER, place=Place("f"), command="x", matcher=made, vocabulary=VOCABULARY)


def said_yes(_pattern: str, _text: str) -> bool | None:
    return True


def said_no(_pattern: str, _text: str) -> bool | None:
    return False


# -- matchers


@pytest.mark.parametrize("source", ["", "*"])
def test_an_empty_matcher_and_a_star_take_everything(source: str) -> None:
    assert Matcher(source).takes_all
    assert Matcher(source).fit(("anything",)) == Fit(applies=True, why=f"matcher `{source}` takes everything")


@pytest.mark.parametrize("source", [" ", "**", ".*", "a"])
def test_any_other_matcher_is_a_pattern(source: str) -> None:
    assert not Matcher(source).takes_all


@pytest.mark.parametrize(
    "source, subject, applies", read_rows("hooks", "a_matcher_is_an_unanchored_javascript_pattern")
)
def test_a_matcher_is_an_unanchored_javascript_pattern(source: str, subject: str, applies: bool) -> None:
    fit = Matcher(source).fit((subject,))
    verb = "matches" if applies else "does not match"
    assert fit == Fit(applies=applies, why=f"matcher `{source}` {verb} `{subject}`")


def test_a_matcher_applies_if_any_of_the_subjects_fits_and_names_the_one_that_did() -> None:
    assert Matcher("^B").fit(("Shell", "Bash", "Build")) == Fit(applies=True, why="matcher `^B` matches `Bash`")


def test_a_matcher_that_fits_none_of_the_subjects_names_the_first() -> None:
    assert Matcher("^X").fit(("Shell", "Bash")) == Fit(applies=False, why="matcher `^X` does not match `Shell`")


def test_a_list_of_names_is_compared_whole_and_exactly() -> None:
    matcher = Matcher("Edit|Write", ("Edit", "Write"))
    assert matcher.fit(("Write",)) == Fit(applies=True, why="matcher `Edit|Write` matches `Write`")
    assert matcher.fit(("Shell", "Edit")) == Fit(applies=True, why="matcher `Edit|Write` matches `Edit`")
    assert matcher.fit(("MultiEdit", "Other")) == Fit(
        applies=False, why="matcher `Edit|Write` does not match `MultiEdit`"
    )


@pytest.mark.parametrize("length, shown", [(60, "x" * 60), (61, "x" * 57 + "...")])
def test_a_long_subject_is_shown_by_its_beginning(length: int, shown: str) -> None:
    assert Matcher("x").fit(("x" * length,)).why == f"matcher `x` matches `{shown}`"


@pytest.mark.parametrize(
    "source, within, without", read_rows("hooks", "a_class_of_a_matcher_holds_what_javascript_says_and_no_more")
)
def test_a_class_of_a_matcher_holds_what_javascript_says_and_no_more(source: str, within: str, without: str) -> None:
    assert [char for char in within + without if Matcher(source).fit((char,)).applies] == list(within)


ASCII = [chr(code) for code in range(128)]


def test_without_regard_to_case_a_letter_is_itself_and_its_other_case() -> None:
    for letter in ASCII:
        matcher = Matcher(f"(?i:\\x{ord(letter):02x})")
        found = {char for char in ASCII if matcher.fit((char,)).applies}
        assert found == {letter.upper(), letter.lower()}


@pytest.mark.parametrize(
    "source, beyond", read_rows("hooks", "without_regard_to_case_only_ascii_and_halves_of_emoji_can_be_decided")
)
def test_without_regard_to_case_only_ascii_and_halves_of_emoji_can_be_decided(source: str, beyond: str) -> None:
    assert js_regex.parse_js_regex(source).unsupported == beyond


@pytest.mark.parametrize(
    "count, spelled",
    [("0000000000002", "{2,2}"), ("00,", "{0,}"), ("2,00000000000003", "{2,3}"), ("1000", "{1000,1000}")],
)
def test_the_zeros_before_a_count_do_not_count(count: str, spelled: str) -> None:
    assert js_regex.parse_js_regex(f"a{{{count}}}").re2 == f"a{spelled}"


def test_counts_are_compared_up_to_the_greatest_that_javascript_tells_apart() -> None:
    assert js_regex.parse_js_regex("a{5000000000,4000000000}").unsupported
    with pytest.raises(js_regex.PatternError, match="out of order"):
        js_regex.parse_js_regex("a{2147483646,2147483645}")


@pytest.mark.parametrize("name", ["ab", "a$", "$a", "a$b", r"\u{61}b", r"\u0061b"])
def test_a_group_of_a_matcher_may_have_any_name_that_javascript_has(name: str) -> None:
    assert js_regex.parse_js_regex(f"(?<{name}>x)").re2 == "(?:x)"


def test_a_name_is_the_same_name_however_it_is_spelt() -> None:
    assert js_regex.parse_js_regex(r"(?<\u{61}b>x)\k<ab>\k<\u0061b>").unsupported == "backreference"


@pytest.mark.parametrize("source, plain", [(r"\X", "X"), (r"\xg1", "xg1"), (r"\x1g", "x1g"), (r"\ug123", "ug123")])
def test_an_escape_that_means_nothing_is_the_letter_itself(source: str, plain: str) -> None:
    assert js_regex.parse_js_regex(source).re2 == plain


@pytest.mark.parametrize("source", ["(?<ab", "(?<abc", "x(?<ab"])
def test_a_name_that_does_not_end_is_no_name(source: str) -> None:
    with pytest.raises(js_regex.PatternError) as caught:
        js_regex.parse_js_regex(source)
    assert (caught.value.message, caught.value.offset) == ("invalid group name", source.index("<") + 1)


# -- matchers that only a backtracking engine can run


@pytest.mark.parametrize("source", ["(?=a)b", "(?<!a)b", r"(a)\1", "(", "[b-a]"])
def test_a_matcher_that_cannot_be_decided_applies_and_says_so(source: str) -> None:
    why = f"matcher `{source}` could not be decided in time, so it applies"
    assert Matcher(source).fit(("zzz",)) == Fit(applies=True, why=why)
    assert decide_nothing(source, "zzz") is None


def test_a_matcher_beyond_re2_is_asked_of_the_search_that_was_given() -> None:
    asked: list[tuple[str, str]] = []

    def search(pattern: str, text: str) -> bool | None:
        asked.append((pattern, text))
        return text == "two"

    assert Matcher("(?=t)").fit(("one", "two", "three"), search) == Fit(
        applies=True, why="matcher `(?=t)` matches `two`"
    )
    assert asked == [("(?=t)", "one"), ("(?=t)", "two")]


def test_a_matcher_that_re2_can_run_is_never_handed_on() -> None:
    assert not Matcher("a").fit(("b",), said_yes).applies
    assert Matcher("a").fit(("a",), said_no).applies


def test_a_hook_hands_its_search_to_its_matcher() -> None:
    event = BeforeShell(command="make")
    assert hook("beforeShellExecution", "(?=a)").fit(event, said_yes).applies
    assert not hook("beforeShellExecution", "(?=a)").fit(event, said_no).applies
    assert hook("beforeShellExecution", "(?=a)").fit(event).applies


@pytest.mark.parametrize("pattern, text, found", read_rows("hooks", "given_time_the_child_decides_what_re2_cannot"))
def test_given_time_the_child_decides_what_re2_cannot(
    pattern: str, text: str, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookaround, "MAX_START_SECONDS", 100)
    monkeypatch.setattr(lookaround, "MAX_SEARCH_SECONDS", 100)
    assert lookaround.search(pattern, text) is found


def test_a_pattern_that_no_engine_takes_is_undecided() -> None:
    assert lookaround.search("(", "x") is None


def test_half_an_emoji_in_the_text_does_not_end_the_search_in_an_exception() -> None:
    assert lookaround.search("(?=a)b", "\ud83d") in {None, False}


def test_a_catastrophic_pattern_is_given_up_on_and_then_applies() -> None:
    bad = "(a+)+(?=b)$"
    matcher = hook("beforeShellExecution", bad)
    fit = matcher.fit(BeforeShell(command="a" * 40_000), lookaround.search)
    assert fit == Fit(applies=True, why=f"matcher `{bad}` could not be decided in time, so it applies")


def test_a_child_that_was_given_up_on_is_gone() -> None:
    code = (
        "import os\n"
        "from trotline.config.hooks_json import lookaround\n"
        "assert lookaround.search('(a+)+(?=b)$', 'a' * 40_000) is None\n"
        "try:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    print('no child is left')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "no child is left\n"


def test_without_an_interpreter_to_start_a_matcher_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert lookaround.search("(?=a)b", "x") is None


# -- hooks and events


def test_a_hook_of_another_event_does_not_apply() -> None:
    assert hook("stop").fit(BeforeShell(command="make")) == Fit(applies=False, why="it waits for stop")


def test_a_hook_without_a_matcher_applies_to_every_event_of_its_name() -> None:
    assert hook("stop").fit(Stop()) == Fit(applies=True, why="it has no matcher")


def test_an_event_that_offers_nothing_to_match_runs_every_hook() -> None:
    why = "sessionStart offers nothing to match, so every hook runs"
    assert hook("sessionStart", "startup").fit(SessionStart()) == Fit(applies=True, why=why)


def test_a_hook_may_wait_for_an_event_that_nobody_knows() -> None:
    assert hook("later", "x").fit(OtherEvent(hook_event_name="later")).applies


@pytest.mark.parametrize(
    "event, matcher, applies",
    [
        (BeforeShell(command="git push --force"), "push --force", True),
        (BeforeShell(command="ls", cwd="/curl"), "curl", False),
        (PreToolUse(tool_name="Shell", tool_input={"command": "curl"}), "curl", False),
        (PreToolUse(tool_name="Shell"), "Shell", True),
        (PreToolUse(tool_name="MCP:tickets:close"), "MCP:", True),
        (PreToolUse(tool_name="MCP:tickets:close"), "^MCP:tickets:", True),
        (BeforeMCP(tool_name="close", mcp_server_name="tickets"), "^close$", True),
        (BeforeMCP(tool_name="close", mcp_server_name="tickets"), "tickets", False),
        (SubagentStart(subagent_type="explore"), "explore|shell", True),
        (SubagentStart(subagent_type="generalPurpose"), "explore|shell", False),
        (BeforeReadFile(file_path="/Write"), "Read", True),
        (BeforeReadFile(file_path="/Write"), "Write", False),
        (BeforeSubmitPrompt(prompt="Stop"), "UserPromptSubmit", True),
        (BeforeSubmitPrompt(prompt="Stop"), "Stop", False),
        (Stop(status="error"), "Stop", True),
        (Stop(status="error"), "error", False),
    ],
)
def test_only_the_subject_of_an_event_is_looked_at(event: Event, matcher: str, applies: bool) -> None:
    assert hook(event.wire_name, matcher).fit(event).applies is applies


# -- other products' names


@pytest.mark.parametrize(
    "tool, matcher, applies", read_rows("hooks", "a_hook_of_claude_knows_our_tools_by_its_own_names")
)
def test_a_hook_of_claude_knows_our_tools_by_its_own_names(tool: str, matcher: str, applies: bool) -> None:
    assert claude_hook("preToolUse", matcher).fit(PreToolUse(tool_name=tool)).applies is applies


def test_a_hook_that_asks_for_a_server_runs_when_the_event_names_none() -> None:
    fit = claude_hook("preToolUse", "mcp__tickets__close").fit(PreToolUse(tool_name="MCP:close"))
    assert fit.why == "this event does not name the MCP server that `mcp__tickets__close` asks for"


def test_cursors_own_hooks_do_not_know_claudes_names() -> None:
    assert Vocabulary(tools={}, mcp_prefix="") == NO_VOCABULARY
    assert not hook("preToolUse", "Bash").fit(PreToolUse(tool_name="Shell")).applies
    assert not hook("preToolUse", "mcp__tickets__close").fit(PreToolUse(tool_name="MCP:tickets:close")).applies
    assert not hook("preToolUse", "mcp__tickets__close").fit(PreToolUse(tool_name="MCP:close")).applies


def test_a_name_that_is_its_own_alias_is_tried_once() -> None:
    tried: list[str] = []

    def search(_pattern: str, text: str) -> bool | None:
        tried.append(text)
        return False

    both = Hook(
        id="1",
        event="preToolUse",
        layer=LAYER,
        place=Place("f"),
        matcher=Matcher("(?=x)"),
        vocabulary=Vocabulary({"Write": ("Write", "Edit")}, "mcp__"),
    )
    both.fit(PreToolUse(tool_name="Write"), search)
    both.fit(PreToolUse(tool_name="MCP:s:t"), search)
    assert tried == ["Write", "Edit", "MCP:s:t", "MCP:t", "mcp__s__t"]


@pytest.mark.parametrize("name, parts", read_rows("hooks", "the_name_of_an_mcp_tool_has_two_parts", as_tuples=True))
def test_the_name_of_an_mcp_tool_has_two_parts(name: str, parts: tuple[str, str]) -> None:
    assert split_mcp_name(name) == parts


# -- identity

IDENTITY: dict[str, Any] = {
    "layer": "project",
    "file": "/p/.cursor/hooks.json",
    "event": "stop",
    "command": "./a.sh",
    "matcher": "",
    "ordinal": 0,
}


def test_the_id_of_a_hook_is_sixteen_hexadecimal_digits_and_never_changes() -> None:
    assert build_hook_id(**IDENTITY) == "1f9be83094c55f52"


@pytest.mark.parametrize("changed", read_rows("hooks", "the_id_of_a_hook_depends_on_all_that_is_configured"), ids=str)
def test_the_id_of_a_hook_depends_on_all_that_is_configured(changed: dict[str, Any]) -> None:
    assert build_hook_id(**{**IDENTITY, **changed}) != build_hook_id(**IDENTITY)


def test_half_an_emoji_in_a_command_has_an_id_too() -> None:
    assert build_hook_id(**{**IDENTITY, "command": "\ud83d"}) != build_hook_id(**{**IDENTITY, "command": "\ude00"})


@settings(max_examples=100)
@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_two_hooks_have_one_id_only_if_they_are_the_same(one: tuple[str, str], other: tuple[str, str]) -> None:
    first, second = (
        build_hook_id(**{**IDENTITY, "command": command.replace("\0", ""), "matcher": matcher.replace("\0", "")})
        for command, matcher in (one, other)
    )
    same = tuple(text.replace("\0", "") for text in one) == tuple(text.replace("\0", "") for text in other)
    assert (first == second) is same
    assert len(first) == 16
    assert set(first) <= set("0123456789abcdef")


# -- layers, places, defaults


def test_layers_are_ranked_in_the_order_in_which_they_speak() -> None:
    assert [(kind.value, kind.rank) for kind in LayerKind] == [
        ("enterprise", 1),
        ("team", 2),
        ("project", 3),
        ("user", 4),
        ("claude-local", 5),
        ("claude-project", 6),
        ("claude-user", 7),
        ("plugin", 8),
    ]


def test_what_a_person_set_weighs_more_than_what_a_project_did() -> None:
    weight = {kind.value: kind.authority for kind in LayerKind}
    assert weight["enterprise"] < weight["team"] < weight["user"] < weight["project"]
    assert weight["claude-user"] == weight["plugin"] == weight["user"]
    assert weight["claude-project"] == weight["claude-local"] == weight["project"]


def test_what_a_repository_can_carry_needs_trust() -> None:
    assert {kind.value for kind in LayerKind if kind.needs_trust} == {"project", "claude-local", "claude-project"}


def test_claudes_files_are_known_as_such() -> None:
    assert {kind.value for kind in LayerKind if kind.from_claude} == {"claude-local", "claude-project", "claude-user"}


@pytest.mark.parametrize(
    "place, text",
    [(Place("f", 3, 7), "f:3:7"), (Place("f"), "f"), (Place("f", 1, 1), "f:1:1"), (Place("f", 0, 5), "f")],
)
def test_a_place_is_written_as_editors_read_it(place: Place, text: str) -> None:
    assert str(place) == text


def test_places_are_ordered_by_file_then_line_then_column() -> None:
    places = [Place("b", 1, 1), Place("a", 10, 1), Place("a", 2, 9), Place("a", 2, 10)]
    assert sorted(places) == [Place("a", 2, 9), Place("a", 2, 10), Place("a", 10, 1), Place("b", 1, 1)]


def test_what_an_entry_leaves_out_has_its_documented_value() -> None:
    plain = Hook(id="1", event="stop", layer=LAYER, place=Place("f"))
    assert (plain.timeout, plain.loop_limit, plain.fail_closed) == (60.0, 5, False)
    assert (TIMEOUT_SECONDS, LOOP_LIMIT) == (60.0, 5)
    assert (plain.command, plain.prompt, plain.model, plain.matcher) == ("", "", None, None)
    assert plain.vocabulary is NO_VOCABULARY


def test_a_hook_is_recognised_by_its_command_or_its_prompt() -> None:
    assert hook("stop").line == "x"
    assert Hook(id="1", event="stop", layer=LAYER, place=Place("f"), prompt="is it safe?").line == "prompt: is it safe?"
