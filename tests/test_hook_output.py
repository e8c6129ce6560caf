"""Replies: what a hook's exit code and output mean by Cursor's contract, and what deserves a warning."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import count_steps, read_rows
from strategies import json_values, texts
from trotline.agents.claude_code import EVENT_MAP, TOOL_MAP, VOCABULARY, list_plain_names, translate_reply
from trotline.agents.cursor.cursor_editions import EDITION_NAMES, get_edition
from trotline.agents.cursor.replies import HookOutput, ParsedReply, find_last_document, read_reply, write_reply
from trotline.domain.events import EVENTS
from trotline.domain.outcomes import Failure, FailureKind, Loss
from trotline.domain.verdicts import NO_OPINION, Permission, Verdict

GATES = (
    "preToolUse",
    "beforeShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "subagentStart",
    "beforeTabFileRead",
)
REFUSABLE = (*GATES, "sessionStart", "beforeSubmitPrompt")
OBSERVING = tuple(name for name in EVENTS if name not in REFUSABLE)
ALLOW, ASK, DENY, SILENT = Permission.ALLOW, Permission.ASK, Permission.DENY, Permission.NONE


def hear(
    name: str, stdout: str | bytes = b"", *, code: int = 0, stderr: bytes = b"", date: str = "2026-09", **how: Any
) -> ParsedReply:
    printed = stdout.encode("utf-8", "surrogatepass") if isinstance(stdout, str) else stdout
    return read_reply(
        EVENTS[name].contract, HookOutput(code, printed, stderr), get_edition(date), command="guard.sh", **how
    )


def said(name: str, reply: Any, **how: Any) -> ParsedReply:
    return hear(name, json.dumps(reply), **how)


def misfit(why: str) -> ParsedReply:
    """A reply of the wrong shape: the failure in Cursor's words, and the reason as a warning."""
    detail = 'Hook "guard.sh" returned an invalid response for this hook step.'
    return ParsedReply(failure=Failure(kind=FailureKind.MISFIT, detail=detail), warnings=(why,))


# -- exit codes


@pytest.mark.parametrize("name", REFUSABLE)
def test_exit_2_refuses_whatever_was_printed(name: str) -> None:
    for stdout in (b"", b"{}", b'{"permission": "allow", "continue": true}', b"all is well", b"\xff", b"{"):
        heard = hear(name, stdout, code=2)
        assert (heard.verdict.permission, heard.failure, heard.warnings) == (DENY, None, ())


@pytest.mark.parametrize("name", OBSERVING)
def test_exit_2_has_no_effect_where_nothing_can_be_refused_and_says_so(name: str) -> None:
    heard = hear(name, b'{"followup_message": "x", "additional_context": "y"}', code=2, stderr=b"no")
    assert heard == ParsedReply(warnings=("exit 2 has no effect on this event",))


def test_exit_2_at_session_start_has_no_effect_in_the_edition_that_does_not_know_it() -> None:
    assert hear("sessionStart", code=2, date="2025-11").verdict is NO_OPINION
    assert hear("sessionStart", code=2, date="2026-02").verdict.permission is DENY


@pytest.mark.parametrize(
    "stdout, stderr, user, agent",
    read_rows("hook_output", "the_text_of_an_exit_2_is_the_jsons_message_else_stdout_else_stderr"),
)
def test_the_text_of_an_exit_2_is_the_jsons_message_else_stdout_else_stderr(
    stdout: str, stderr: str, user: str, agent: str
) -> None:
    verdict = hear("preToolUse", stdout, code=2, stderr=stderr.encode()).verdict
    assert verdict == Verdict(permission=DENY, user_message=user, agent_message=agent)


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("code", [1, 3, 126, 127, 255, -9])
def test_any_other_exit_is_a_failure_and_the_output_is_not_read(name: str, code: int) -> None:
    heard = hear(name, '{"permission": "deny", "continue": false}', code=code, stderr=b" boom \n")
    detail = f'Hook "guard.sh" failed with exit code {code}: boom'
    assert heard == ParsedReply(failure=Failure(kind=FailureKind.CRASHED, detail=detail, code=code))


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("stdout", [b"", b" \n\t ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_empty_output_is_nothing_to_add(name: str, stdout: bytes) -> None:
    assert hear(name, stdout) == ParsedReply()


@pytest.mark.parametrize("name", REFUSABLE)
def test_empty_output_of_a_hook_that_fails_closed_is_a_failure(name: str) -> None:
    failure = Failure(kind=FailureKind.EMPTY, detail='Hook "guard.sh" returned no output.')
    assert hear(name, b" \n", fail_closed=True) == ParsedReply(failure=failure)
    assert hear(name, b"{}", fail_closed=True) == ParsedReply()


@pytest.mark.parametrize("name", OBSERVING)
def test_empty_output_never_fails_where_nothing_can_be_refused(name: str) -> None:
    assert hear(name, b"", fail_closed=True) == ParsedReply()


# -- documents in noise


@pytest.mark.parametrize("stdout", read_rows("hook_output", "a_single_document_is_read_without_a_warning"))
def test_a_single_document_is_read_without_a_warning(stdout: str) -> None:
    assert hear("preToolUse", stdout) == ParsedReply(Verdict(permission=DENY))


@pytest.mark.parametrize(
    "stdout", read_rows("hook_output", "of_several_documents_in_noise_the_last_object_counts_and_the_rest_is_mentioned")
)
def test_of_several_documents_in_noise_the_last_object_counts_and_the_rest_is_mentioned(stdout: str) -> None:
    assert hear("preToolUse", stdout) == ParsedReply(
        Verdict(permission=DENY), None, ("output beside the JSON was ignored",)
    )


def test_an_object_on_its_own_line_counts_before_one_inside_a_line() -> None:
    assert find_last_document('{"permission": "deny"}\ndone in {"ms": 5}') == ({"permission": "deny"}, True)


def test_an_object_inside_another_is_not_a_document_of_its_own() -> None:
    assert find_last_document('log {"permission": "deny", "x": {"permission": "allow"}}') == (
        {"permission": "deny", "x": {"permission": "allow"}},
        True,
    )


@pytest.mark.parametrize("text", ["hello", "{", '{"a":', "{'a': 1}", '{"permission": "deny"', "[1", "]", "\x00"])
def test_output_without_a_document_is_unreadable(text: str) -> None:
    failure = Failure(kind=FailureKind.UNREADABLE, detail='Hook "guard.sh" returned invalid JSON.')
    assert hear("preToolUse", text) == ParsedReply(failure=failure)
    assert hear("stop", text) == ParsedReply(failure=failure)


@pytest.mark.parametrize("text, kind", read_rows("hook_output", "a_document_that_is_no_object_is_of_the_wrong_shape"))
def test_a_document_that_is_no_object_is_of_the_wrong_shape(text: str, kind: str) -> None:
    assert hear("preToolUse", text) == misfit(f"{kind} is not an object")


def test_bytes_that_are_not_utf_8_are_replaced_not_refused() -> None:
    heard = hear("preToolUse", b'{"permission": "deny", "user_message": "\xff"}')
    assert heard.verdict == Verdict(permission=DENY, user_message="\ufffd")


@settings(max_examples=60)
@given(
    st.lists(st.dictionaries(texts, json_values, max_size=2), min_size=1, max_size=3),
    st.lists(st.text("ab[]: \t", max_size=6), min_size=4, max_size=4),
)
def test_the_last_of_several_documents_on_lines_of_their_own_is_always_found(
    documents: list[dict[str, Any]], noise: list[str]
) -> None:
    lines = [line for pair in zip(noise, map(json.dumps, documents), strict=False) for line in pair]
    found, _ = find_last_document("\n".join([*lines, noise[-1]]))
    assert found == documents[-1]


# -- hostile output: work is linear in its size


def _attempts(text: str) -> int:
    return count_steps(lambda: find_last_document(text))


@pytest.mark.parametrize(
    "unit", read_rows("hook_output", "the_search_for_a_document_takes_steps_in_proportion_to_the_output")
)
def test_the_search_for_a_document_takes_steps_in_proportion_to_the_output(unit: str) -> None:
    small, large = unit * 200, unit * 800
    assert _attempts(large) <= 4 * _attempts(small) + 200
    assert _attempts(large) <= 25 * len(large) + 200


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 200_000, "[" * 1_000_000, '{"a":[' * 160_000, "[INFO] a line of a log\n" * 45_000, '"' * 1_000_000],
    ids=["objects", "lists", "both", "log", "quotes"],
)
def test_a_megabyte_of_hostile_output_is_an_unreadable_answer(text: str) -> None:
    heard = hear("preToolUse", text)
    assert heard.failure is not None
    assert heard.failure.kind is FailureKind.UNREADABLE
    assert count_steps(lambda: find_last_document(text)) < 100


def test_a_megabyte_of_log_lines_does_not_hide_the_answer_after_it() -> None:
    log = "[INFO] a line of a log\n" * 45_000
    assert hear("preToolUse", log + '{"permission": "deny"}').verdict.permission is DENY


@pytest.mark.parametrize(
    "output",
    [
        '{"permission": "allow"}\n' + '{"a":' * 100_000,
        '{"permission":"deny","details":{"rule":1},}',
        'result: {broken {"permission": "allow"}',
        '{ broken\n  {"permission": "allow"}\n',
        '{"permission":"deny","details":{"permission":"allow"}',
        '{"permission":"deny","details":\n  {"permission":"allow"}\n,}',
        "{'permission': 'deny', 'meta': {}}",
        '{"permission": "allow", "n": ' + "1" * 5000 + "}",
        '{"permission": "allow", "n": NaN}',
        '{"permission": "allow", "n": -Infinity}',
    ],
)
def test_no_answer_is_found_inside_or_before_an_object_that_is_broken(output: str) -> None:
    heard = hear("preToolUse", output)
    assert heard.failure is not None
    assert heard.failure.kind is FailureKind.UNREADABLE


# -- types


@pytest.mark.parametrize(
    "reply, why", read_rows("hook_output", "a_value_of_the_wrong_type_is_output_of_the_wrong_shape")
)
def test_a_value_of_the_wrong_type_is_output_of_the_wrong_shape(reply: dict[str, Any], why: str) -> None:
    assert said("preToolUse", reply) == misfit(why)


@pytest.mark.parametrize("name, reply, why", read_rows("hook_output", "every_key_has_a_type_of_its_own"))
def test_every_key_has_a_type_of_its_own(name: str, reply: dict[str, Any], why: str) -> None:
    assert said(name, reply) == misfit(why)


@pytest.mark.parametrize("name", EVENTS)
def test_null_says_nothing(name: str) -> None:
    keys = EVENTS[name].contract.answers
    assert said(name, dict.fromkeys(keys)) == ParsedReply()


# -- permission


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("key", ["permission", "decision"])
@pytest.mark.parametrize("word, meant", [("allow", ALLOW), ("deny", DENY)])
@pytest.mark.parametrize("date", EDITION_NAMES)
def test_a_gate_takes_permission_and_decision_in_every_edition(
    name: str, key: str, word: str, meant: Permission, date: str
) -> None:
    known = name in get_edition(date).events
    heard = said(name, {key: word}, date=date)
    assert heard == ParsedReply(Verdict(permission=meant if known else SILENT))


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("word, meant", [("approve", ALLOW), ("block", DENY)])
def test_a_decision_may_use_the_older_words(name: str, word: str, meant: Permission) -> None:
    assert said(name, {"decision": word}).verdict.permission is meant


@pytest.mark.parametrize("name", ["beforeSubmitPrompt", "sessionStart"])
@pytest.mark.parametrize("value, meant", [(True, ALLOW), (False, DENY)])
def test_continue_permits_or_refuses(name: str, value: bool, meant: Permission) -> None:
    assert said(name, {"continue": value}) == ParsedReply(Verdict(permission=meant))


def test_session_start_cannot_refuse_before_the_edition_that_has_it() -> None:
    assert said("sessionStart", {"continue": False}, date="2025-11").verdict.permission is SILENT
    assert said("sessionStart", {"continue": False}, date="2026-02").verdict.permission is DENY


@pytest.mark.parametrize("name", GATES)
def test_of_several_ways_to_speak_of_permission_the_strictest_counts(name: str) -> None:
    assert said(name, {"permission": "allow", "decision": "deny"}).verdict.permission is DENY
    assert said(name, {"permission": "deny", "decision": "allow"}).verdict.permission is DENY
    assert said(name, {"permission": "allow", "continue": False}).verdict.permission is DENY
    assert said(name, {"permission": "deny", "continue": True}).verdict.permission is DENY


@pytest.mark.parametrize("name", REFUSABLE)
def test_a_refusal_under_another_events_key_still_counts_and_is_mentioned(name: str) -> None:
    wrong, right = ("continue", "permission") if name in GATES else ("permission", "continue")
    heard = said(name, {wrong: False if wrong == "continue" else "deny"})
    assert heard == ParsedReply(
        Verdict(permission=DENY), None, (f"`{wrong}` is not this event's key; write `{right}`",)
    )


@pytest.mark.parametrize(
    "name, meant, warning",
    [
        ("beforeShellExecution", ASK, ""),
        ("beforeMCPExecution", ASK, ""),
        ("preToolUse", ASK, "Cursor does not act on `ask` at preToolUse"),
        ("beforeReadFile", DENY, "beforeReadFile cannot ask; `ask` was taken as deny"),
        ("subagentStart", DENY, "subagentStart cannot ask; `ask` was taken as deny"),
        ("beforeTabFileRead", DENY, "beforeTabFileRead cannot ask; `ask` was taken as deny"),
    ],
)
def test_ask_is_asked_or_taken_as_deny_and_says_so(name: str, meant: Permission, warning: str) -> None:
    assert said(name, {"permission": "ask"}) == ParsedReply(
        Verdict(permission=meant), None, (warning,) if warning else ()
    )


def test_a_prompt_that_should_be_asked_about_is_refused() -> None:
    heard = said("beforeSubmitPrompt", {"permission": "ask"})
    assert heard.verdict.permission is DENY
    assert heard.warnings == (
        "`permission` is not this event's key; write `continue`",
        "beforeSubmitPrompt cannot ask; `ask` was taken as deny",
    )


@pytest.mark.parametrize("name", OBSERVING)
@pytest.mark.parametrize("reply", [{"permission": "deny"}, {"continue": False}, {"decision": "block"}])
def test_where_nothing_can_be_refused_a_refusal_is_a_warning(name: str, reply: dict[str, Any]) -> None:
    key = next(iter(reply))
    assert said(name, reply) == ParsedReply(warnings=(f"`{key}` is not taken by {name}",))


@pytest.mark.parametrize("name", OBSERVING)
def test_where_nothing_can_be_refused_the_word_of_a_permission_does_not_matter(name: str) -> None:
    assert said(name, {"permission": "maybe"}).failure is None


# -- fields and messages


@pytest.mark.parametrize(
    "name, reply, verdict",
    [
        ("sessionStart", {"env": {"A": "1"}, "additional_context": "c"}, Verdict(env={"A": "1"}, context="c")),
        ("sessionStart", {"user_message": "u"}, Verdict(user_message="u")),
        (
            "beforeSubmitPrompt",
            {"continue": False, "user_message": "u", "additional_context": "c"},
            Verdict(permission=DENY, user_message="u", context="c"),
        ),
        (
            "preToolUse",
            {"permission": "allow", "updated_input": {"a": 1}, "additional_context": "c"},
            Verdict(permission=ALLOW, edited_input={"a": 1}, context="c"),
        ),
        (
            "postToolUse",
            {"additional_context": "c", "updated_mcp_tool_output": {"b": 2}},
            Verdict(context="c", replaced_output={"b": 2}),
        ),
        ("postToolUseFailure", {"additional_context": "c"}, Verdict(context="c")),
        (
            "beforeShellExecution",
            {"permission": "deny", "user_message": "u", "agent_message": "a"},
            Verdict(permission=DENY, user_message="u", agent_message="a"),
        ),
        ("subagentStop", {"followup_message": "f"}, Verdict(follow_up="f")),
        ("stop", {"followup_message": "f"}, Verdict(follow_up="f")),
        ("preCompact", {"user_message": "u"}, Verdict(user_message="u")),
        ("workspaceOpen", {"pluginPaths": ["/a", "/b"]}, Verdict(plugin_paths=("/a", "/b"))),
    ],
)
def test_every_answer_of_an_event_reaches_the_verdict(name: str, reply: dict[str, Any], verdict: Verdict) -> None:
    assert said(name, reply) == ParsedReply(verdict)


@pytest.mark.parametrize("name", GATES)
def test_reason_serves_for_whichever_message_is_missing(name: str) -> None:
    assert said(name, {"decision": "deny", "reason": "r"}) == ParsedReply(
        Verdict(permission=DENY, user_message="r", agent_message="r")
    )
    user_too = said("preToolUse", {"decision": "deny", "reason": "r", "user_message": "u"})
    assert (user_too.verdict.user_message, user_too.verdict.agent_message) == ("u", "r")
    agent_too = said("preToolUse", {"decision": "deny", "reason": "r", "agent_message": "a"})
    assert (agent_too.verdict.user_message, agent_too.verdict.agent_message) == ("r", "a")


def test_a_question_joins_what_the_person_reads_when_they_are_asked() -> None:
    asked = said("beforeShellExecution", {"permission": "ask", "user_message": "u", "question": "really?"})
    assert asked == ParsedReply(Verdict(permission=ASK, user_message="u\n\nreally?"))
    alone = said("beforeShellExecution", {"permission": "ask", "question": "really?"})
    assert alone.verdict.user_message == "really?"
    denied = said("beforeShellExecution", {"permission": "deny", "user_message": "u", "question": "really?"})
    assert denied.verdict.user_message == "u"


# -- warnings


@pytest.mark.parametrize(
    "name, reply, warning", read_rows("hook_output", "a_key_that_is_misspelt_unknown_or_not_taken_is_a_warning")
)
def test_a_key_that_is_misspelt_unknown_or_not_taken_is_a_warning(
    name: str, reply: dict[str, Any], warning: str
) -> None:
    assert said(name, reply) == ParsedReply(warnings=(warning,))


@pytest.mark.parametrize("name", EVENTS)
def test_an_unknown_key_never_makes_a_reply_fail(name: str) -> None:
    values: tuple[Any, ...] = (None, 5, [], {}, "x")
    for value in values:
        heard = said(name, {"zzz": value})
        assert (heard.verdict, heard.failure) == (NO_OPINION, None)


def test_noise_is_mentioned_before_the_keys() -> None:
    heard = hear("preToolUse", 'log\n{"permission": "deny", "zzz": 1}')
    assert heard.warnings == ("output beside the JSON was ignored", "`zzz` is no reply key")


# -- Claude Code's shapes

NESTED = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "no",
        "updatedInput": {"a": 1},
        "additionalContext": "c",
    }
}
OF_CLAUDE = "`hookSpecificOutput` is Claude Code's; hooks of a Cursor file answer with `permission`"


def test_a_nested_answer_of_a_claude_hook_is_translated() -> None:
    wanted = Verdict(permission=DENY, user_message="no", edited_input={"a": 1}, context="c")
    assert said("preToolUse", NESTED, from_claude=True) == ParsedReply(wanted)


def test_a_nested_answer_in_a_cursor_file_is_understood_and_mentioned() -> None:
    heard = said("preToolUse", NESTED)
    assert heard.verdict.permission is DENY
    assert heard.warnings == (OF_CLAUDE,)


def test_a_nested_answer_that_is_no_object_is_mentioned_and_says_nothing() -> None:
    assert said("preToolUse", {"hookSpecificOutput": "deny"}) == ParsedReply(warnings=(OF_CLAUDE,))


@pytest.mark.parametrize("word, meant", [("allow", ALLOW), ("deny", DENY), ("ask", ASK)])
def test_every_nested_permission_is_translated(word: str, meant: Permission) -> None:
    reply = {"hookSpecificOutput": {"permissionDecision": word}}
    assert said("preToolUse", reply, from_claude=True).verdict.permission is meant


@pytest.mark.parametrize("word, meant", [("block", DENY), ("approve", ALLOW)])
def test_a_flat_decision_of_a_claude_hook_is_translated(word: str, meant: Permission) -> None:
    heard = said("preToolUse", {"decision": word, "reason": "r"}, from_claude=True)
    assert heard == ParsedReply(Verdict(permission=meant, user_message="r", agent_message="r"))


def test_a_claude_hook_may_answer_in_cursors_words() -> None:
    assert said("preToolUse", {"permission": "deny", "user_message": "u"}, from_claude=True) == ParsedReply(
        Verdict(permission=DENY, user_message="u")
    )


def test_a_blocked_prompt_of_a_claude_hook_is_refused() -> None:
    heard = said("beforeSubmitPrompt", {"decision": "block", "reason": "r"}, from_claude=True)
    assert (heard.verdict.permission, heard.verdict.user_message) == (DENY, "r")


@pytest.mark.parametrize("name", ["stop", "subagentStop"])
@pytest.mark.parametrize(
    "reply, follow_up", read_rows("hook_output", "a_blocked_stop_of_a_claude_hook_is_a_follow_up_reply")
)
def test_a_blocked_stop_of_a_claude_hook_is_a_follow_up(name: str, reply: dict[str, Any], follow_up: str) -> None:
    assert said(name, reply, from_claude=True) == ParsedReply(Verdict(follow_up=follow_up))


def test_what_only_claude_code_acts_on_is_said_to_be_ignored() -> None:
    words = {"suppressOutput": True, "systemMessage": "s", "hookEventName": "PreToolUse", "permission": "deny"}
    heard = said("preToolUse", words, from_claude=True)
    assert heard.verdict.permission is DENY
    assert heard.warnings == ("`suppressOutput` is no reply key", "`systemMessage` is no reply key")


@pytest.mark.parametrize("reply", [{"decision": "approve", "reason": "done"}, {"decision": "blok", "reason": "r"}])
def test_a_word_at_a_stop_that_means_nothing_there_is_said_to_be_ignored(reply: dict[str, Any]) -> None:
    heard = said("stop", reply, from_claude=True)
    assert heard.verdict == Verdict()
    assert heard.warnings == ("`decision` is not taken by stop", "`reason` is not taken by stop")


@pytest.mark.parametrize("flat", [None, "allow", "deny"])
@pytest.mark.parametrize("nested", ["allow", "deny"])
def test_a_permission_said_twice_is_the_stricter_one(flat: str | None, nested: str) -> None:
    reply = {"permission": flat, "hookSpecificOutput": {"permissionDecision": nested}}
    wanted = DENY if "deny" in {flat, nested} else Permission.ALLOW
    assert said("preToolUse", reply).verdict.permission is wanted
    assert said("preToolUse", reply, from_claude=True).verdict.permission is wanted


def test_translating_does_not_change_the_reply_it_was_given() -> None:
    before = json.dumps(NESTED)
    translate_reply(NESTED, "preToolUse")
    translate_reply(NESTED, "stop")
    assert json.dumps(NESTED) == before


def test_claudes_events_are_those_that_cursor_publishes_a_map_for() -> None:
    assert EVENT_MAP == {
        "PreToolUse": "preToolUse",
        "PostToolUse": "postToolUse",
        "UserPromptSubmit": "beforeSubmitPrompt",
        "Stop": "stop",
        "SubagentStop": "subagentStop",
        "SessionStart": "sessionStart",
        "SessionEnd": "sessionEnd",
        "PreCompact": "preCompact",
    }


def test_a_tool_is_known_by_every_name_that_claude_has_for_it() -> None:
    assert TOOL_MAP["Bash"] == "Shell"
    assert VOCABULARY.tools["Shell"] == ("Bash",)
    assert VOCABULARY.tools["Write"] == ("Write", "Edit")
    assert VOCABULARY.mcp_prefix == "mcp__"
    assert "Glob" not in TOOL_MAP


@pytest.mark.parametrize(
    "matcher, names",
    read_rows("hook_output", "a_matcher_without_special_characters_is_a_list_of_exact_names", as_tuples=True),
)
def test_a_matcher_without_special_characters_is_a_list_of_exact_names(matcher: str, names: tuple[str, ...]) -> None:
    assert list_plain_names(matcher) == names


# -- writing


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("date", EDITION_NAMES)
def test_silence_is_written_as_an_empty_object(name: str, date: str) -> None:
    reply = write_reply(EVENTS[name].contract, NO_OPINION, get_edition(date))
    assert (reply.body, reply.losses, reply.exit_code) == ({}, (), 0)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("permission, word", [(ALLOW, "allow"), (DENY, "deny")])
def test_a_gate_is_answered_with_permission_in_the_newest_edition(name: str, permission: Permission, word: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=permission), get_edition())
    assert reply.body == {"permission": word}


@pytest.mark.parametrize("name", ["preToolUse", "subagentStart"])
def test_early_2026_is_answered_with_decision_and_reason(name: str) -> None:
    verdict = Verdict(permission=DENY, user_message="u")
    reply = write_reply(EVENTS[name].contract, verdict, get_edition("2026-02"))
    assert (reply.body, reply.losses) == ({"decision": "deny", "reason": "u"}, ())
    without = write_reply(EVENTS[name].contract, Verdict(permission=ALLOW), get_edition("2026-02"))
    assert without.body == {"decision": "allow"}


@pytest.mark.parametrize("name", ["beforeSubmitPrompt", "sessionStart"])
def test_a_prompt_and_a_session_are_answered_with_continue(name: str) -> None:
    contract = EVENTS[name].contract
    assert write_reply(contract, Verdict(permission=DENY), get_edition()).body == {"continue": False}
    assert write_reply(contract, Verdict(permission=ALLOW), get_edition()).body == {"continue": True}


@pytest.mark.parametrize("name", ["beforeShellExecution", "beforeMCPExecution"])
def test_ask_is_sent_where_the_person_is_asked(name: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=ASK), get_edition())
    assert (reply.body, reply.losses) == ({"permission": "ask"}, ())


@pytest.mark.parametrize("name", ["preToolUse", "beforeReadFile", "subagentStart", "beforeTabFileRead"])
def test_ask_becomes_deny_where_nobody_is_asked_and_says_so(name: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=ASK), get_edition())
    assert reply.body == {"permission": "deny"}
    assert reply.losses == (Loss("cursor", "ask", f"{name} cannot ask; sent as deny"),)


@pytest.mark.parametrize("name", OBSERVING)
def test_a_refusal_that_cannot_be_sent_is_a_loss(name: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=DENY), get_edition())
    assert (reply.body, reply.losses) == ({}, (Loss("cursor", "deny", f"{name} cannot be refused"),))


def test_a_field_that_the_event_has_no_key_for_is_a_loss_that_names_the_edition() -> None:
    reply = write_reply(EVENTS["stop"].contract, Verdict(context="c", follow_up="f"), get_edition("2025-11"))
    assert reply.body == {"followup_message": "f"}
    assert reply.losses == (Loss("cursor", "context", "stop has no key for it in edition 2025-11"),)


def test_plugin_paths_are_written_as_a_list_under_their_camel_case_key() -> None:
    reply = write_reply(EVENTS["workspaceOpen"].contract, Verdict(plugin_paths=("/a", "/b")), get_edition())
    assert reply.body == {"pluginPaths": ["/a", "/b"]}


@pytest.mark.parametrize("key", ["env", "updated_input", "continue", "permission", "user_message"])
def test_half_a_character_in_a_reply_is_data_like_any_other(key: str) -> None:
    heard = hear("sessionStart", json.dumps({key: "\ud83d"}))
    assert heard.failure is None or heard.failure.kind is FailureKind.MISFIT
