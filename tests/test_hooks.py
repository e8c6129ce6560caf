"""Hooks: matchers, identity, layers and defaults."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import build_event, read_corpus, read_rows
from strategies import texts
from trotline.agents.claude_code import VOCABULARY, list_plain_names
from trotline.config.hooks_json import lookaround
from trotline.domain.editions import LOOP_LIMIT, TIMEOUT_SECONDS
from trotline.domain.events import (
    BeforeShell,
    OtherEvent,
    PreToolUse,
    SessionStart,
    Stop,
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
    search_unavailable,
    split_mcp_name,
)
from trotline.formats import js_regex

LAYER = Layer(kind=LayerKind.PROJECT, file="/p/.cursor/hooks.json", root="/p", cwd="/p")


def build_hook(event: str, matcher: str | None = None, **settings: Any) -> Hook:
    built = Matcher(matcher) if matcher is not None else None
    return Hook(id="1", event=event, layer=LAYER, place=Place("f", 1, 1), command="x", matcher=built, **settings)


def build_claude_hook(event: str, matcher: str) -> Hook:
    built = Matcher(matcher, list_plain_names(matcher))
    return Hook(id="1", event=event, layer=LAYER, place=Place("f"), command="x", matcher=built, vocabulary=VOCABULARY)


def find_always(_pattern: str, _text: str) -> bool | None:
    return True


def find_never(_pattern: str, _text: str) -> bool | None:
    return False


# -- matchers


@pytest.mark.parametrize("source", ["", "*"])
def test_empty_matcher_and_star_match_everything(source: str) -> None:
    assert Matcher(source).takes_all
    assert Matcher(source).fit(("anything",)) == Fit(applies=True, why=f"matcher `{source}` takes everything")


@pytest.mark.parametrize("source", [" ", "**", ".*", "a"])
def test_any_other_matcher_is_a_pattern(source: str) -> None:
    assert not Matcher(source).takes_all


@pytest.mark.parametrize(
    "source, subject, applies", read_rows("hooks", "a_matcher_is_an_unanchored_javascript_pattern")
)
def test_matcher_is_an_unanchored_javascript_pattern(source: str, subject: str, applies: bool) -> None:
    fit = Matcher(source).fit((subject,))
    verb = "matches" if applies else "does not match"
    assert fit == Fit(applies=applies, why=f"matcher `{source}` {verb} `{subject}`")


def test_matcher_applies_if_any_subject_matches() -> None:
    assert Matcher("^B").fit(("Shell", "Bash", "Build")) == Fit(applies=True, why="matcher `^B` matches `Bash`")
    assert Matcher("^X").fit(("Shell", "Bash")) == Fit(applies=False, why="matcher `^X` does not match `Shell`")


def test_list_of_names_is_compared_exactly() -> None:
    matcher = Matcher("Edit|Write", ("Edit", "Write"))
    assert matcher.fit(("Write",)) == Fit(applies=True, why="matcher `Edit|Write` matches `Write`")
    assert matcher.fit(("Shell", "Edit")) == Fit(applies=True, why="matcher `Edit|Write` matches `Edit`")
    assert matcher.fit(("MultiEdit", "Other")) == Fit(
        applies=False, why="matcher `Edit|Write` does not match `MultiEdit`"
    )


@pytest.mark.parametrize("length, shown", [(60, "x" * 60), (61, "x" * 57 + "...")])
def test_long_subject_is_shortened(length: int, shown: str) -> None:
    assert Matcher("x").fit(("x" * length,)).why == f"matcher `x` matches `{shown}`"


@pytest.mark.parametrize(
    "source, within, without", read_rows("hooks", "a_class_of_a_matcher_holds_what_javascript_says_and_no_more")
)
def test_character_class_matches_like_javascript(source: str, within: str, without: str) -> None:
    assert [char for char in within + without if Matcher(source).fit((char,)).applies] == list(within)


ASCII = [chr(code) for code in range(128)]


def test_ignored_case_matches_both_cases_of_a_letter() -> None:
    for letter in ASCII:
        matcher = Matcher(f"(?i:\\x{ord(letter):02x})")
        matching = {char for char in ASCII if matcher.fit((char,)).applies}
        assert matching == {letter.upper(), letter.lower()}


@pytest.mark.parametrize(
    "source, beyond", read_rows("hooks", "without_regard_to_case_only_ascii_and_halves_of_emoji_can_be_decided")
)
def test_ignored_case_supports_only_ascii_and_surrogates(source: str, beyond: str) -> None:
    assert js_regex.parse_js_regex(source).unsupported == beyond


@pytest.mark.parametrize(
    "count, spelled",
    [("0000000000002", "{2,2}"), ("00,", "{0,}"), ("2,00000000000003", "{2,3}"), ("1000", "{1000,1000}")],
)
def test_leading_zeros_of_a_count_are_ignored(count: str, spelled: str) -> None:
    assert js_regex.parse_js_regex(f"a{{{count}}}").re2 == f"a{spelled}"


def test_counts_are_compared_up_to_the_maximum_of_javascript() -> None:
    assert js_regex.parse_js_regex("a{5000000000,4000000000}").unsupported
    with pytest.raises(js_regex.PatternError, match="out of order"):
        js_regex.parse_js_regex("a{2147483646,2147483645}")


@pytest.mark.parametrize("name", ["ab", "a$", "$a", "a$b", r"\u{61}b", r"\u0061b"])
def test_group_may_have_any_javascript_name(name: str) -> None:
    assert js_regex.parse_js_regex(f"(?<{name}>x)").re2 == "(?:x)"


def test_escaped_group_name_is_the_same_name() -> None:
    assert js_regex.parse_js_regex(r"(?<\u{61}b>x)\k<ab>\k<\u0061b>").unsupported == "backreference"


@pytest.mark.parametrize("source, plain", [(r"\X", "X"), (r"\xg1", "xg1"), (r"\x1g", "x1g"), (r"\ug123", "ug123")])
def test_unknown_escape_is_the_letter_itself(source: str, plain: str) -> None:
    assert js_regex.parse_js_regex(source).re2 == plain


@pytest.mark.parametrize("source", ["(?<ab", "(?<abc", "x(?<ab"])
def test_unterminated_group_name_is_an_error(source: str) -> None:
    with pytest.raises(js_regex.PatternError) as caught:
        js_regex.parse_js_regex(source)
    assert (caught.value.message, caught.value.offset) == ("invalid group name", source.index("<") + 1)


# -- matchers that only a backtracking engine can run


@pytest.mark.parametrize("source", ["(?=a)b", "(?<!a)b", r"(a)\1", "(", "[b-a]"])
def test_undecided_matcher_applies(source: str) -> None:
    why = f"matcher `{source}` could not be decided in time, so it applies"
    assert Matcher(source).fit(("zzz",)) == Fit(applies=True, why=why)
    assert search_unavailable(source, "zzz") is None


def test_matcher_beyond_re2_uses_the_given_search() -> None:
    searches: list[tuple[str, str]] = []

    def search(pattern: str, text: str) -> bool | None:
        searches.append((pattern, text))
        return text == "two"

    assert Matcher("(?=t)").fit(("one", "two", "three"), search) == Fit(
        applies=True, why="matcher `(?=t)` matches `two`"
    )
    assert searches == [("(?=t)", "one"), ("(?=t)", "two")]


def test_matcher_that_re2_supports_does_not_use_the_search() -> None:
    assert not Matcher("a").fit(("b",), find_always).applies
    assert Matcher("a").fit(("a",), find_never).applies


def test_hook_passes_the_search_to_its_matcher() -> None:
    event = BeforeShell(command="make")
    assert build_hook("beforeShellExecution", "(?=a)").fit(event, find_always).applies
    assert not build_hook("beforeShellExecution", "(?=a)").fit(event, find_never).applies
    assert build_hook("beforeShellExecution", "(?=a)").fit(event).applies


@pytest.mark.parametrize("pattern, text, matching", read_rows("hooks", "given_time_the_child_decides_what_re2_cannot"))
def test_child_process_decides_patterns_beyond_re2(
    pattern: str, text: str, matching: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookaround, "MAX_START_SECONDS", 100)
    monkeypatch.setattr(lookaround, "MAX_SEARCH_SECONDS", 100)
    assert lookaround.search(pattern, text) is matching


def test_invalid_pattern_and_text_are_undecided() -> None:
    assert lookaround.search("(", "x") is None
    assert lookaround.search("(?=a)b", "\ud83d") in {None, False}


def test_catastrophic_pattern_is_aborted_and_applies() -> None:
    bad = "(a+)+(?=b)$"
    matcher = build_hook("beforeShellExecution", bad)
    fit = matcher.fit(BeforeShell(command="a" * 40_000), lookaround.search)
    assert fit == Fit(applies=True, why=f"matcher `{bad}` could not be decided in time, so it applies")


def test_aborted_child_process_is_gone() -> None:
    code = (
        "import os\n"
        "from trotline.config.hooks_json import lookaround\n"
        "assert lookaround.search('(a+)+(?=b)$', 'a' * 40_000) is None\n"
        "try:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    print('no child is left')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "no child is left\n"


def test_missing_interpreter_leaves_a_matcher_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert lookaround.search("(?=a)b", "x") is None


# -- hooks and events


def test_hook_applies_to_its_event() -> None:
    assert build_hook("stop").fit(BeforeShell(command="make")) == Fit(applies=False, why="it waits for stop")
    assert build_hook("stop").fit(Stop()) == Fit(applies=True, why="it has no matcher")
    why = "sessionStart offers nothing to match, so every hook runs"
    assert build_hook("sessionStart", "startup").fit(SessionStart()) == Fit(applies=True, why=why)
    assert build_hook("later", "x").fit(OtherEvent(hook_event_name="later")).applies


@pytest.mark.parametrize(
    "event, matcher, applies",
    read_rows("hooks", "matcher_sees_only_the_subject_of_an_event"),
)
def test_matcher_sees_only_the_subject_of_an_event(event: dict[str, Any], matcher: str, applies: bool) -> None:
    assert build_hook(event["event"], matcher).fit(build_event(event)).applies is applies


# -- other products' names


@pytest.mark.parametrize(
    "tool, matcher, applies", read_rows("hooks", "a_hook_of_claude_knows_our_tools_by_its_own_names")
)
def test_claude_hook_knows_tools_by_claude_names(tool: str, matcher: str, applies: bool) -> None:
    assert build_claude_hook("preToolUse", matcher).fit(PreToolUse(tool_name=tool)).applies is applies


def test_claude_hook_for_a_server_runs_if_the_event_names_none() -> None:
    fit = build_claude_hook("preToolUse", "mcp__tickets__close").fit(PreToolUse(tool_name="MCP:close"))
    assert fit.why == "this event does not name the MCP server that `mcp__tickets__close` asks for"


def test_cursor_hook_does_not_know_claude_names() -> None:
    assert Vocabulary(tools={}, mcp_prefix="") == NO_VOCABULARY
    assert not build_hook("preToolUse", "Bash").fit(PreToolUse(tool_name="Shell")).applies
    assert not build_hook("preToolUse", "mcp__tickets__close").fit(PreToolUse(tool_name="MCP:tickets:close")).applies
    assert not build_hook("preToolUse", "mcp__tickets__close").fit(PreToolUse(tool_name="MCP:close")).applies


def test_name_that_is_its_own_alias_is_tried_once() -> None:
    tried: list[str] = []

    def search(_pattern: str, text: str) -> bool | None:
        tried.append(text)
        return False

    hook_with_alias = Hook(
        id="1",
        event="preToolUse",
        layer=LAYER,
        place=Place("f"),
        matcher=Matcher("(?=x)"),
        vocabulary=Vocabulary({"Write": ("Write", "Edit")}, "mcp__"),
    )
    hook_with_alias.fit(PreToolUse(tool_name="Write"), search)
    hook_with_alias.fit(PreToolUse(tool_name="MCP:s:t"), search)
    assert tried == ["Write", "Edit", "MCP:s:t", "MCP:t", "mcp__s__t"]


@pytest.mark.parametrize("name, parts", read_rows("hooks", "the_name_of_an_mcp_tool_has_two_parts", as_tuples=True))
def test_name_of_an_mcp_tool_has_two_parts(name: str, parts: tuple[str, str]) -> None:
    assert split_mcp_name(name) == parts


# -- identity

IDENTITY: dict[str, Any] = read_corpus("hooks")["identity"]


def test_id_of_a_hook_is_stable() -> None:
    assert build_hook_id(**IDENTITY) == "1f9be83094c55f52"


@pytest.mark.parametrize("changed", read_rows("hooks", "the_id_of_a_hook_depends_on_all_that_is_configured"), ids=str)
def test_id_of_a_hook_depends_on_its_configuration(changed: dict[str, Any]) -> None:
    assert build_hook_id(**{**IDENTITY, **changed}) != build_hook_id(**IDENTITY)


def test_command_with_a_lone_surrogate_has_an_id() -> None:
    assert build_hook_id(**{**IDENTITY, "command": "\ud83d"}) != build_hook_id(**{**IDENTITY, "command": "\ude00"})


@settings(max_examples=100)
@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_only_equal_hooks_share_an_id(first_texts: tuple[str, str], second_texts: tuple[str, str]) -> None:
    first, second = (
        build_hook_id(**{**IDENTITY, "command": command.replace("\0", ""), "matcher": matcher.replace("\0", "")})
        for command, matcher in (first_texts, second_texts)
    )
    same = tuple(text.replace("\0", "") for text in first_texts) == tuple(
        text.replace("\0", "") for text in second_texts
    )
    assert (first == second) is same
    assert len(first) == 16
    assert set(first) <= set("0123456789abcdef")


# -- layers, places, defaults


def test_layers_are_ranked_in_execution_order() -> None:
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


def test_layers_have_authority_and_need_trust_by_kind() -> None:
    weight = {kind.value: kind.authority for kind in LayerKind}
    assert weight["enterprise"] < weight["team"] < weight["user"] < weight["project"]
    assert weight["claude-user"] == weight["plugin"] == weight["user"]
    assert weight["claude-project"] == weight["claude-local"] == weight["project"]
    assert {kind.value for kind in LayerKind if kind.needs_trust} == {"project", "claude-local", "claude-project"}
    assert {kind.value for kind in LayerKind if kind.from_claude} == {"claude-local", "claude-project", "claude-user"}


@pytest.mark.parametrize(
    "place, text",
    [(Place("f", 3, 7), "f:3:7"), (Place("f"), "f"), (Place("f", 1, 1), "f:1:1"), (Place("f", 0, 5), "f")],
)
def test_place_is_formatted_for_editors(place: Place, text: str) -> None:
    assert str(place) == text


def test_places_are_ordered_by_file_line_and_column() -> None:
    places = [Place("b", 1, 1), Place("a", 10, 1), Place("a", 2, 9), Place("a", 2, 10)]
    assert sorted(places) == [Place("a", 2, 9), Place("a", 2, 10), Place("a", 10, 1), Place("b", 1, 1)]


def test_hook_has_documented_defaults() -> None:
    plain = Hook(id="1", event="stop", layer=LAYER, place=Place("f"))
    assert (plain.timeout, plain.loop_limit, plain.fail_closed) == (60.0, 5, False)
    assert (TIMEOUT_SECONDS, LOOP_LIMIT) == (60.0, 5)
    assert (plain.command, plain.prompt, plain.model, plain.matcher) == ("", "", None, None)
    assert plain.vocabulary is NO_VOCABULARY


def test_label_of_a_hook_is_its_command_or_prompt() -> None:
    assert build_hook("stop").label == "x"
    assert (
        Hook(id="1", event="stop", layer=LAYER, place=Place("f"), prompt="is it safe?").label == "prompt: is it safe?"
    )
