"""Replies of hooks: the meaning of exit codes and output in Cursor's contract, warnings, and writing."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import build_verdict, count_steps, read_corpus, read_rows
from strategies import json_values, texts
from trotline.agents.claude_code import EVENT_MAP, TOOL_MAP, VOCABULARY, list_plain_names, translate_reply
from trotline.agents.cursor.cursor_editions import EDITION_NAMES, get_edition
from trotline.agents.cursor.replies import HookOutput, ParsedReply, find_last_document, read_reply, write_reply
from trotline.domain.events import EVENTS
from trotline.domain.outcomes import Failure, FailureKind, Loss
from trotline.domain.verdicts import NO_OPINION, Permission, Verdict

GATES = tuple(read_rows("hook_output", "gates"))
REFUSABLE = (*GATES, "sessionStart", "beforeSubmitPrompt")
OBSERVING = tuple(name for name in EVENTS if name not in REFUSABLE)
ALLOW, ASK, DENY, SILENT = Permission.ALLOW, Permission.ASK, Permission.DENY, Permission.NONE


def read(
    name: str, stdout: str | bytes = b"", *, code: int = 0, stderr: bytes = b"", date: str = "2026-09", **options: Any
) -> ParsedReply:
    printed = stdout.encode("utf-8", "surrogatepass") if isinstance(stdout, str) else stdout
    return read_reply(
        EVENTS[name].contract, HookOutput(code, printed, stderr), get_edition(date), command="guard.sh", **options
    )


def read_json(name: str, reply: Any, **options: Any) -> ParsedReply:
    return read(name, json.dumps(reply), **options)


def build_misfit(why: str) -> ParsedReply:
    """Build the result for a reply of the wrong shape: a failure in Cursor's words, and a warning."""
    detail = 'Hook "guard.sh" returned an invalid response for this hook step.'
    return ParsedReply(failure=Failure(kind=FailureKind.MISFIT, detail=detail), warnings=(why,))


# -- exit codes


@pytest.mark.parametrize("name", REFUSABLE)
def test_exit_code_2_denies_with_any_output(name: str) -> None:
    for stdout in (b"", b"{}", b'{"permission": "allow", "continue": true}', b"all is well", b"\xff", b"{"):
        reply = read(name, stdout, code=2)
        assert (reply.verdict.permission, reply.failure, reply.warnings) == (DENY, None, ())


@pytest.mark.parametrize("name", OBSERVING)
def test_exit_code_2_of_an_observing_event_is_a_warning(name: str) -> None:
    reply = read(name, b'{"followup_message": "x", "additional_context": "y"}', code=2, stderr=b"no")
    assert reply == ParsedReply(warnings=("exit 2 has no effect on this event",))


def test_exit_code_2_at_session_start_depends_on_the_edition() -> None:
    assert read("sessionStart", code=2, date="2025-11").verdict is NO_OPINION
    assert read("sessionStart", code=2, date="2026-02").verdict.permission is DENY


@pytest.mark.parametrize(
    "stdout, stderr, user, agent",
    read_rows("hook_output", "the_text_of_an_exit_2_is_the_jsons_message_else_stdout_else_stderr"),
)
def test_message_of_exit_code_2_comes_from_json_stdout_or_stderr(
    stdout: str, stderr: str, user: str, agent: str
) -> None:
    verdict = read("preToolUse", stdout, code=2, stderr=stderr.encode()).verdict
    assert verdict == Verdict(permission=DENY, user_message=user, agent_message=agent)


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("code", [1, 3, 126, 127, 255, -9])
def test_other_exit_codes_are_failures(name: str, code: int) -> None:
    reply = read(name, '{"permission": "deny", "continue": false}', code=code, stderr=b" boom \n")
    detail = f'Hook "guard.sh" failed with exit code {code}: boom'
    assert reply == ParsedReply(failure=Failure(kind=FailureKind.CRASHED, detail=detail, code=code))


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("stdout", [b"", b" \n\t ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_empty_output_has_no_opinion(name: str, stdout: bytes) -> None:
    assert read(name, stdout) == ParsedReply()


@pytest.mark.parametrize("name", REFUSABLE)
def test_empty_output_of_a_fail_closed_hook_is_a_failure(name: str) -> None:
    failure = Failure(kind=FailureKind.EMPTY, detail='Hook "guard.sh" returned no output.')
    assert read(name, b" \n", fail_closed=True) == ParsedReply(failure=failure)
    assert read(name, b"{}", fail_closed=True) == ParsedReply()


@pytest.mark.parametrize("name", OBSERVING)
def test_empty_output_of_an_observing_event_is_no_failure(name: str) -> None:
    assert read(name, b"", fail_closed=True) == ParsedReply()


# -- documents in noise


@pytest.mark.parametrize("stdout", read_rows("hook_output", "a_single_document_is_read_without_a_warning"))
def test_single_document_is_read_without_a_warning(stdout: str) -> None:
    assert read("preToolUse", stdout) == ParsedReply(Verdict(permission=DENY))


@pytest.mark.parametrize(
    "stdout", read_rows("hook_output", "of_several_documents_in_noise_the_last_object_counts_and_the_rest_is_mentioned")
)
def test_last_of_several_documents_counts_with_a_warning(stdout: str) -> None:
    assert read("preToolUse", stdout) == ParsedReply(
        Verdict(permission=DENY), None, ("output besides the JSON was ignored",)
    )


def test_document_is_an_outermost_object_on_a_separate_line_if_possible() -> None:
    assert find_last_document('{"permission": "deny"}\ndone in {"ms": 5}') == ({"permission": "deny"}, True)
    assert find_last_document('log {"permission": "deny", "x": {"permission": "allow"}}') == (
        {"permission": "deny", "x": {"permission": "allow"}},
        True,
    )


@pytest.mark.parametrize("text", ["hello", "{", '{"a":', "{'a': 1}", '{"permission": "deny"', "[1", "]", "\x00"])
def test_output_without_a_document_is_unreadable(text: str) -> None:
    failure = Failure(kind=FailureKind.UNREADABLE_OUTPUT, detail='Hook "guard.sh" returned invalid JSON.')
    assert read("preToolUse", text) == ParsedReply(failure=failure)
    assert read("stop", text) == ParsedReply(failure=failure)


@pytest.mark.parametrize("text, kind", read_rows("hook_output", "a_document_that_is_no_object_is_of_the_wrong_shape"))
def test_document_that_is_not_an_object_is_a_misfit(text: str, kind: str) -> None:
    assert read("preToolUse", text) == build_misfit(f"{kind} is not an object")


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    reply = read("preToolUse", b'{"permission": "deny", "user_message": "\xff"}')
    assert reply.verdict == Verdict(permission=DENY, user_message="\ufffd")


@settings(max_examples=60)
@given(
    st.lists(st.dictionaries(texts, json_values, max_size=2), min_size=1, max_size=3),
    st.lists(st.text("ab[]: \t", max_size=6), min_size=4, max_size=4),
)
def test_last_document_on_a_separate_line_is_always_found(documents: list[dict[str, Any]], noise: list[str]) -> None:
    lines = [line for pair in zip(noise, map(json.dumps, documents), strict=False) for line in pair]
    document, _ = find_last_document("\n".join([*lines, noise[-1]]))
    assert document == documents[-1]


# -- hostile output: work is linear in its size


def count_attempts(text: str) -> int:
    return count_steps(lambda: find_last_document(text))


@pytest.mark.parametrize(
    "unit", read_rows("hook_output", "the_search_for_a_document_takes_steps_in_proportion_to_the_output")
)
def test_search_for_a_document_takes_linear_steps(unit: str) -> None:
    small, large = unit * 200, unit * 800
    assert count_attempts(large) <= 4 * count_attempts(small) + 200
    assert count_attempts(large) <= 25 * len(large) + 200


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 200_000, "[" * 1_000_000, '{"a":[' * 160_000, "[INFO] a line of a log\n" * 45_000, '"' * 1_000_000],
    ids=["objects", "lists", "both", "log", "quotes"],
)
def test_megabyte_of_hostile_output_is_unreadable(text: str) -> None:
    reply = read("preToolUse", text)
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.UNREADABLE_OUTPUT
    assert count_steps(lambda: find_last_document(text)) < 100


def test_reply_after_a_megabyte_of_log_lines_is_found() -> None:
    log = "[INFO] a line of a log\n" * 45_000
    assert read("preToolUse", log + '{"permission": "deny"}').verdict.permission is DENY


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
def test_no_reply_is_found_in_or_before_a_broken_object(output: str) -> None:
    reply = read("preToolUse", output)
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.UNREADABLE_OUTPUT


# -- types


@pytest.mark.parametrize(
    "reply, why", read_rows("hook_output", "a_value_of_the_wrong_type_is_output_of_the_wrong_shape")
)
def test_value_of_the_wrong_type_is_a_misfit(reply: dict[str, Any], why: str) -> None:
    assert read_json("preToolUse", reply) == build_misfit(why)


@pytest.mark.parametrize("name, reply, why", read_rows("hook_output", "every_key_has_a_type_of_its_own"))
def test_every_key_has_a_type(name: str, reply: dict[str, Any], why: str) -> None:
    assert read_json(name, reply) == build_misfit(why)


@pytest.mark.parametrize("name", EVENTS)
def test_null_has_no_opinion(name: str) -> None:
    keys = EVENTS[name].contract.answers
    assert read_json(name, dict.fromkeys(keys)) == ParsedReply()


# -- permission


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("key", ["permission", "decision"])
@pytest.mark.parametrize("word, expected", [("allow", ALLOW), ("deny", DENY)])
@pytest.mark.parametrize("date", EDITION_NAMES)
def test_gate_accepts_permission_and_decision_in_every_edition(
    name: str, key: str, word: str, expected: Permission, date: str
) -> None:
    known = name in get_edition(date).events
    reply = read_json(name, {key: word}, date=date)
    assert reply == ParsedReply(Verdict(permission=expected if known else SILENT))


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("word, expected", [("approve", ALLOW), ("block", DENY)])
def test_decision_accepts_older_words(name: str, word: str, expected: Permission) -> None:
    assert read_json(name, {"decision": word}).verdict.permission is expected


@pytest.mark.parametrize("name", ["beforeSubmitPrompt", "sessionStart"])
@pytest.mark.parametrize("value, expected", [(True, ALLOW), (False, DENY)])
def test_continue_allows_or_denies(name: str, value: bool, expected: Permission) -> None:
    assert read_json(name, {"continue": value}) == ParsedReply(Verdict(permission=expected))


def test_session_start_cannot_deny_in_older_editions() -> None:
    assert read_json("sessionStart", {"continue": False}, date="2025-11").verdict.permission is SILENT
    assert read_json("sessionStart", {"continue": False}, date="2026-02").verdict.permission is DENY


@pytest.mark.parametrize("name", GATES)
def test_strictest_of_several_permission_keys_counts(name: str) -> None:
    assert read_json(name, {"permission": "allow", "decision": "deny"}).verdict.permission is DENY
    assert read_json(name, {"permission": "deny", "decision": "allow"}).verdict.permission is DENY
    assert read_json(name, {"permission": "allow", "continue": False}).verdict.permission is DENY
    assert read_json(name, {"permission": "deny", "continue": True}).verdict.permission is DENY


@pytest.mark.parametrize("name", REFUSABLE)
def test_denial_under_the_key_of_another_event_counts_with_a_warning(name: str) -> None:
    wrong, right = ("continue", "permission") if name in GATES else ("permission", "continue")
    reply = read_json(name, {wrong: False if wrong == "continue" else "deny"})
    assert reply == ParsedReply(
        Verdict(permission=DENY), None, (f"`{wrong}` is not this event's key; write `{right}`",)
    )


@pytest.mark.parametrize(
    "name, expected, warning",
    [
        ("beforeShellExecution", ASK, ""),
        ("beforeMCPExecution", ASK, ""),
        ("preToolUse", ASK, "Cursor does not act on `ask` at preToolUse"),
        ("beforeReadFile", DENY, "beforeReadFile cannot ask; `ask` was taken as deny"),
        ("subagentStart", DENY, "subagentStart cannot ask; `ask` was taken as deny"),
        ("beforeTabFileRead", DENY, "beforeTabFileRead cannot ask; `ask` was taken as deny"),
    ],
)
def test_ask_is_a_question_or_a_denial_with_a_warning(name: str, expected: Permission, warning: str) -> None:
    assert read_json(name, {"permission": "ask"}) == ParsedReply(
        Verdict(permission=expected), None, (warning,) if warning else ()
    )


def test_ask_for_a_prompt_is_a_denial() -> None:
    reply = read_json("beforeSubmitPrompt", {"permission": "ask"})
    assert reply.verdict.permission is DENY
    assert reply.warnings == (
        "`permission` is not this event's key; write `continue`",
        "beforeSubmitPrompt cannot ask; `ask` was taken as deny",
    )


@pytest.mark.parametrize("name", OBSERVING)
@pytest.mark.parametrize("reply", [{"permission": "deny"}, {"continue": False}, {"decision": "block"}])
def test_denial_of_an_observing_event_is_a_warning(name: str, reply: dict[str, Any]) -> None:
    key = next(iter(reply))
    assert read_json(name, reply) == ParsedReply(warnings=(f"`{key}` is not accepted by {name}",))


@pytest.mark.parametrize("name", OBSERVING)
def test_invalid_permission_of_an_observing_event_is_no_failure(name: str) -> None:
    assert read_json(name, {"permission": "maybe"}).failure is None


# -- fields and messages


@pytest.mark.parametrize(
    "name, reply, verdict",
    read_rows("hook_output", "every_reply_key_reaches_the_verdict"),
)
def test_every_reply_key_reaches_the_verdict(name: str, reply: dict[str, Any], verdict: dict[str, Any]) -> None:
    assert read_json(name, reply) == ParsedReply(build_verdict(verdict))


@pytest.mark.parametrize("name", GATES)
def test_reason_replaces_missing_messages(name: str) -> None:
    assert read_json(name, {"decision": "deny", "reason": "r"}) == ParsedReply(
        Verdict(permission=DENY, user_message="r", agent_message="r")
    )
    with_user_message = read_json("preToolUse", {"decision": "deny", "reason": "r", "user_message": "u"})
    assert (with_user_message.verdict.user_message, with_user_message.verdict.agent_message) == ("u", "r")
    with_agent_message = read_json("preToolUse", {"decision": "deny", "reason": "r", "agent_message": "a"})
    assert (with_agent_message.verdict.user_message, with_agent_message.verdict.agent_message) == ("r", "a")


def test_question_is_appended_to_the_user_message_of_ask() -> None:
    question = read_json("beforeShellExecution", {"permission": "ask", "user_message": "u", "question": "really?"})
    assert question == ParsedReply(Verdict(permission=ASK, user_message="u\n\nreally?"))
    alone = read_json("beforeShellExecution", {"permission": "ask", "question": "really?"})
    assert alone.verdict.user_message == "really?"
    denied = read_json("beforeShellExecution", {"permission": "deny", "user_message": "u", "question": "really?"})
    assert denied.verdict.user_message == "u"


# -- warnings


@pytest.mark.parametrize(
    "name, reply, warning", read_rows("hook_output", "a_key_that_is_misspelt_unknown_or_not_taken_is_a_warning")
)
def test_misspelt_or_unknown_key_is_a_warning(name: str, reply: dict[str, Any], warning: str) -> None:
    assert read_json(name, reply) == ParsedReply(warnings=(warning,))


@pytest.mark.parametrize("name", EVENTS)
def test_unknown_key_is_never_a_failure(name: str) -> None:
    values: tuple[Any, ...] = (None, 5, [], {}, "x")
    for value in values:
        reply = read_json(name, {"zzz": value})
        assert (reply.verdict, reply.failure) == (NO_OPINION, None)


def test_warning_about_noise_comes_before_keys() -> None:
    reply = read("preToolUse", 'log\n{"permission": "deny", "zzz": 1}')
    assert reply.warnings == ("output besides the JSON was ignored", "`zzz` is not a reply key")


# -- Claude Code's shapes

NESTED = read_corpus("hook_output")["nested"]
CLAUDE_WARNING = "`hookSpecificOutput` is Claude Code's; hooks of a Cursor file answer with `permission`"


def test_nested_reply_of_a_claude_hook_is_translated() -> None:
    verdict = Verdict(permission=DENY, user_message="no", edited_input={"a": 1}, context="c")
    assert read_json("preToolUse", NESTED, from_claude=True) == ParsedReply(verdict)


def test_nested_reply_in_a_cursor_file_is_a_warning() -> None:
    reply = read_json("preToolUse", NESTED)
    assert reply.verdict.permission is DENY
    assert reply.warnings == (CLAUDE_WARNING,)
    assert read_json("preToolUse", {"hookSpecificOutput": "deny"}) == ParsedReply(warnings=(CLAUDE_WARNING,))


@pytest.mark.parametrize("word, expected", [("allow", ALLOW), ("deny", DENY), ("ask", ASK)])
def test_every_nested_permission_is_translated(word: str, expected: Permission) -> None:
    reply = {"hookSpecificOutput": {"permissionDecision": word}}
    assert read_json("preToolUse", reply, from_claude=True).verdict.permission is expected


@pytest.mark.parametrize("word, expected", [("block", DENY), ("approve", ALLOW)])
def test_flat_decision_of_a_claude_hook_is_translated(word: str, expected: Permission) -> None:
    reply = read_json("preToolUse", {"decision": word, "reason": "r"}, from_claude=True)
    assert reply == ParsedReply(Verdict(permission=expected, user_message="r", agent_message="r"))


def test_flat_replies_of_a_claude_hook_are_read() -> None:
    assert read_json("preToolUse", {"permission": "deny", "user_message": "u"}, from_claude=True) == ParsedReply(
        Verdict(permission=DENY, user_message="u")
    )
    reply = read_json("beforeSubmitPrompt", {"decision": "block", "reason": "r"}, from_claude=True)
    assert (reply.verdict.permission, reply.verdict.user_message) == (DENY, "r")


@pytest.mark.parametrize("name", ["stop", "subagentStop"])
@pytest.mark.parametrize(
    "reply, follow_up", read_rows("hook_output", "a_blocked_stop_of_a_claude_hook_is_a_follow_up_reply")
)
def test_blocked_stop_of_a_claude_hook_is_a_follow_up(name: str, reply: dict[str, Any], follow_up: str) -> None:
    assert read_json(name, reply, from_claude=True) == ParsedReply(Verdict(follow_up=follow_up))


def test_keys_that_only_claude_code_uses_are_warnings() -> None:
    words = {"suppressOutput": True, "systemMessage": "s", "hookEventName": "PreToolUse", "permission": "deny"}
    reply = read_json("preToolUse", words, from_claude=True)
    assert reply.verdict.permission is DENY
    assert reply.warnings == ("`suppressOutput` is not a reply key", "`systemMessage` is not a reply key")


@pytest.mark.parametrize("reply", [{"decision": "approve", "reason": "done"}, {"decision": "blok", "reason": "r"}])
def test_unknown_decision_at_a_stop_is_a_warning(reply: dict[str, Any]) -> None:
    result = read_json("stop", reply, from_claude=True)
    assert result.verdict == Verdict()
    assert result.warnings == ("`decision` is not accepted by stop", "`reason` is not accepted by stop")


@pytest.mark.parametrize("flat", [None, "allow", "deny"])
@pytest.mark.parametrize("nested", ["allow", "deny"])
def test_stricter_of_two_permissions_counts(flat: str | None, nested: str) -> None:
    reply = {"permission": flat, "hookSpecificOutput": {"permissionDecision": nested}}
    verdict = DENY if "deny" in {flat, nested} else Permission.ALLOW
    assert read_json("preToolUse", reply).verdict.permission is verdict
    assert read_json("preToolUse", reply, from_claude=True).verdict.permission is verdict


def test_translation_does_not_modify_its_input() -> None:
    before = json.dumps(NESTED)
    translate_reply(NESTED, "preToolUse")
    translate_reply(NESTED, "stop")
    assert json.dumps(NESTED) == before


def test_claude_events_and_tools_follow_the_map_of_cursor() -> None:
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
    assert TOOL_MAP["Bash"] == "Shell"
    assert VOCABULARY.tools["Shell"] == ("Bash",)
    assert VOCABULARY.tools["Write"] == ("Write", "Edit")
    assert VOCABULARY.mcp_prefix == "mcp__"
    assert "Glob" not in TOOL_MAP


@pytest.mark.parametrize(
    "matcher, names",
    read_rows("hook_output", "a_matcher_without_special_characters_is_a_list_of_exact_names", as_tuples=True),
)
def test_plain_matcher_is_a_list_of_exact_names(matcher: str, names: tuple[str, ...]) -> None:
    assert list_plain_names(matcher) == names


# -- writing


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("date", EDITION_NAMES)
def test_no_opinion_is_written_as_an_empty_object(name: str, date: str) -> None:
    reply = write_reply(EVENTS[name].contract, NO_OPINION, get_edition(date))
    assert (reply.body, reply.losses, reply.exit_code) == ({}, (), 0)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("permission, word", [(ALLOW, "allow"), (DENY, "deny")])
def test_reply_to_a_gate_has_permission_in_the_newest_edition(name: str, permission: Permission, word: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=permission), get_edition())
    assert reply.body == {"permission": word}


@pytest.mark.parametrize("name", ["preToolUse", "subagentStart"])
def test_reply_in_early_2026_has_decision_and_reason(name: str) -> None:
    verdict = Verdict(permission=DENY, user_message="u")
    reply = write_reply(EVENTS[name].contract, verdict, get_edition("2026-02"))
    assert (reply.body, reply.losses) == ({"decision": "deny", "reason": "u"}, ())
    without = write_reply(EVENTS[name].contract, Verdict(permission=ALLOW), get_edition("2026-02"))
    assert without.body == {"decision": "allow"}


@pytest.mark.parametrize("name", ["beforeSubmitPrompt", "sessionStart"])
def test_reply_to_a_prompt_or_session_has_continue(name: str) -> None:
    contract = EVENTS[name].contract
    assert write_reply(contract, Verdict(permission=DENY), get_edition()).body == {"continue": False}
    assert write_reply(contract, Verdict(permission=ALLOW), get_edition()).body == {"continue": True}


@pytest.mark.parametrize("name", ["beforeShellExecution", "beforeMCPExecution"])
def test_ask_is_sent_if_the_event_can_ask(name: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=ASK), get_edition())
    assert (reply.body, reply.losses) == ({"permission": "ask"}, ())


@pytest.mark.parametrize("name", ["preToolUse", "beforeReadFile", "subagentStart", "beforeTabFileRead"])
def test_ask_becomes_deny_with_a_loss_if_the_event_cannot_ask(name: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=ASK), get_edition())
    assert reply.body == {"permission": "deny"}
    assert reply.losses == (Loss("cursor", "ask", f"{name} cannot ask; sent as deny"),)


@pytest.mark.parametrize("name", OBSERVING)
def test_denial_that_cannot_be_sent_is_a_loss(name: str) -> None:
    reply = write_reply(EVENTS[name].contract, Verdict(permission=DENY), get_edition())
    assert (reply.body, reply.losses) == ({}, (Loss("cursor", "deny", f"{name} cannot be refused"),))


def test_field_without_a_key_in_the_edition_is_a_loss() -> None:
    reply = write_reply(EVENTS["stop"].contract, Verdict(context="c", follow_up="f"), get_edition("2025-11"))
    assert reply.body == {"followup_message": "f"}
    assert reply.losses == (Loss("cursor", "context", "stop has no key for it in edition 2025-11"),)


def test_plugin_paths_are_written_in_camel_case() -> None:
    reply = write_reply(EVENTS["workspaceOpen"].contract, Verdict(plugin_paths=("/a", "/b")), get_edition())
    assert reply.body == {"pluginPaths": ["/a", "/b"]}


@pytest.mark.parametrize("key", ["env", "updated_input", "continue", "permission", "user_message"])
def test_lone_surrogate_in_a_reply_is_data(key: str) -> None:
    reply = read("sessionStart", json.dumps({key: "\ud83d"}))
    assert reply.failure is None or reply.failure.kind is FailureKind.MISFIT
