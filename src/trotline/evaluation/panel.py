"""Guards: find what an event would do, evaluate it, and return a response for each guard that matched."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from trotline.agents.derived_events import derive_events
from trotline.analysis.analyze import analyze_event, flatten_arguments, parse_tool_input
from trotline.analysis.shell.shell_state import Environment
from trotline.conversation.sessions import Sessions, SessionState
from trotline.domain.effects import Effect
from trotline.domain.errors import describe_error
from trotline.domain.event_texts import READ, EventText, get_texts
from trotline.domain.events import (
    AfterTabFileEdit,
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    BeforeSubmitPrompt,
    BeforeTabFileRead,
    Event,
    PostToolUse,
    PreToolUse,
    SubagentStart,
)
from trotline.domain.history import MAX_HISTORY_BYTES, UNKNOWN_HISTORY, History, digest_action
from trotline.domain.hooks import split_mcp_name
from trotline.domain.outcomes import NO_GUARD_RESULT, Call, Failure, FailureKind, GuardResult, Response
from trotline.domain.verdicts import Permission, Verdict
from trotline.evaluation.evaluate import NO_FACTS, Evaluation, evaluate, update_history
from trotline.evaluation.text_findings import KIND, Scanning, TextFindings, redact_quote, replace_texts, scan_texts
from trotline.guards.guard import RuleAction, RuleMatch
from trotline.policy.condition_variables import EventFacts
from trotline.policy.policy import Policy

LAYER = "guard"
LIST_PREFIX = "list "
"""The beginning of the author's name when an allowlist or denylist matches."""
TAB_EVENTS = (BeforeTabFileRead, AfterTabFileEdit)
TOOL_NAMES: dict[type[Event], str] = {BeforeShell: "Shell", BeforeReadFile: "Read", SubagentStart: "Task"}
"""The tool of a specific event, as the generic event of the same action names it."""


PolicyReader = Callable[[Sequence[str]], tuple[Policy, tuple[str, ...]]]
"""Returns the policy of these workspace roots, and alarms about its files."""

EnvironmentBuilder = Callable[[Event, Call], Environment]


class Identity(NamedTuple):
    """The agent we run under and the account it runs as. Reading groups may be slow and few rules need them."""

    agent: str = ""
    user: str = ""
    groups: Callable[[], tuple[str, ...]] = tuple
    server_named_later: bool = False  # the second event about a call names its MCP server, the first does not


NO_IDENTITY = Identity()
NO_MATCHES = Evaluation()


class HistoryStore:
    """The histories of conversations, across processes."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions

    def read(self, conversation: str) -> tuple[History, str]:
        """Return a history, and an alarm if its file is damaged; then the worst is assumed."""
        if not conversation:
            return History(), ""
        stored = self.sessions.read(conversation)
        return (UNKNOWN_HISTORY, stored.alarm) if stored.alarm else (stored.session.history, "")

    def update(self, conversation: str, change: Callable[[History], History], now_us: int) -> str:
        """Change the stored history, which other calls may have changed meanwhile. Return why it failed, or ""."""
        if not conversation:
            return ""

        def apply(session: SessionState) -> None:
            session.history = change(session.history)

        return self.sessions.update(conversation, apply, now_us, reserve=MAX_HISTORY_BYTES)


class PairedAction(NamedTuple):
    """The values that are equal for two events if they are the same action under the same conditions."""

    conversation: str
    generation: str
    subject: tuple[Any, ...]
    environment: Environment
    policy: Policy


class PairedEvents:
    """The answer to the last event, if its paired event may follow."""

    def __init__(self) -> None:
        self._last: tuple[PairedAction, GuardResult] | None = None

    def recall(self, event: Event, environment: Environment, policy: Policy) -> GuardResult | None:
        """Return the answer to the paired event, if that was the last one."""
        last, self._last = self._last, None
        if last is None or isinstance(event, PreToolUse):
            return None
        return last[1] if build_action(event, environment, policy) == last[0] else None

    def store(self, event: Event, environment: Environment, policy: Policy, result: GuardResult) -> None:
        """Keep the answer to a generic event for the specific one."""
        if isinstance(event, PreToolUse) and (action := build_action(event, environment, policy)) is not None:
            self._last = (action, result)


class GuardPanel:
    """The guards of one machine, with the policy in force and the history of each conversation."""

    def __init__(
        self,
        read_policy: PolicyReader,
        build_environment: EnvironmentBuilder,
        history_store: HistoryStore,
        scanning: Scanning,
        *,
        is_monitoring: bool = False,
        identity: Identity = NO_IDENTITY,
    ) -> None:
        self.read_policy = read_policy
        self.build_environment = build_environment
        self.history_store = history_store
        self.scanning = scanning
        self.is_monitoring = is_monitoring
        self.identity = identity
        self.paired_events = PairedEvents()

    def __call__(self, event: Event, call: Call) -> GuardResult:
        """Return the responses of all guards. A guard that breaks has failed, and refuses what can be refused."""
        started = time.monotonic_ns()
        try:
            environment = self.build_environment(event, call)
            policy, alarms = self.read_policy(environment.roots)
            result = self.paired_events.recall(event, environment, policy)
            if result is None:
                result = self._evaluate(event, call, environment, policy, alarms)
                self.paired_events.store(event, environment, policy, result)
        except Exception as error:  # noqa: BLE001 - a guard that breaks must not be a guard that is off
            result = self._handle_failure(event, call, error)
        if not result.responses:
            return result
        micros = (time.monotonic_ns() - started) // 1000  # guards are evaluated together and share the duration
        return result._replace(
            responses=tuple(msgspec.structs.replace(response, micros=micros) for response in result.responses)
        )

    def _evaluate(
        self, event: Event, call: Call, environment: Environment, policy: Policy, alarms: tuple[str, ...]
    ) -> GuardResult:
        analysis = analyze_event(event, environment)
        findings = scan_event(event, analysis.effects, self.scanning)
        effects = (*analysis.effects, *findings.effects)
        if not effects and not policy.rules:
            return GuardResult(build_responses(NO_MATCHES, alarms)) if alarms else NO_GUARD_RESULT
        stored, alarm = self.history_store.read(event.conversation_id)
        history = get_history_before(event, stored)
        facts = NO_FACTS
        if policy.rules:
            facts = build_event_facts(event, policy, self.identity, analysis.programs)._replace(before=history.labels)
        evaluation = evaluate(
            effects,
            environment,
            policy,
            tab=isinstance(event, TAB_EVENTS),
            facts=facts,
            history=history,
            server_named_later=self.identity.server_named_later and isinstance(event, PreToolUse),
        )
        redacted = redact_evaluation(evaluation, findings, self.scanning)
        remedies = tuple(_build_remedies(event, redacted, self.scanning))
        if not event.contract.refusable:
            evaluation, redacted = convert_to_warnings(evaluation), convert_to_warnings(redacted)

        def change(before: History) -> History:
            return add_mark(event, before, self._update_history(before, effects, evaluation))

        if history is stored and not alarm and (new := change(history)) is not history:
            alarm = self.history_store.update(event.conversation_id, change, call.received_us)
            remedies = (*remedies, *_ask_about_lost_history(new, history)) if alarm else remedies
        responses = (*build_responses(redacted, (*alarms, *filter(None, [alarm]))), *remedies)
        clean_effects = tuple(findings.mask_effect(effect) for effect in effects)
        return GuardResult(responses, clean_effects, findings.findings, list_warnings(event, redacted))

    def _handle_failure(self, event: Event, call: Call, error: Exception) -> GuardResult:
        """Refuse. An action that is over and was not evaluated may have been anything, so its history is unknown."""
        failure = Failure(kind=FailureKind.CRASHED, detail=f"Trotline's guards failed: {describe_error(error)}")
        alarm = ""
        if not event.contract.refusable:
            alarm = self.history_store.update(event.conversation_id, lambda _: UNKNOWN_HISTORY, call.received_us)
        warnings = (alarm,) if alarm else ()
        return GuardResult(
            (Response(author="guards", layer=LAYER, failure=failure, fail_closed=True, warnings=warnings),)
        )

    def _update_history(self, history: History, effects: tuple[Effect, ...], evaluation: Evaluation) -> History:
        """Return the history after the agent got our answer. In monitor mode nothing was refused."""
        if self.is_monitoring:
            return update_history(history, effects, Permission.NONE, ())
        denied = [match.effect for match in evaluation.matches if match.action is RuleAction.DENY]
        refused = tuple(effect for effect in denied if effect.kind != KIND)  # a corrected text may come again
        return update_history(history, effects, evaluation.permission, refused)


def _ask_about_lost_history(now: History, before: History) -> Iterator[Response]:
    """Ask the person about an action that later calls should know of and that could not be stored."""
    new = [label for label in now.labels if label not in before.labels]
    if new:
        reason = f"this cannot be remembered ({new[0]}), and what comes after it would be judged without it (Trotline)"
        verdict = Verdict(permission=Permission.ASK, user_message=reason, agent_message=reason)
        yield Response(author="history", layer=LAYER, verdict=verdict)


def build_event_facts(event: Event, policy: Policy, identity: Identity, programs: tuple[str, ...] = ()) -> EventFacts:
    """Return the variables of policy rules for an event, the same for generic and specific events."""
    arguments = parse_tool_input(getattr(event, "tool_input", None))
    tool = str(getattr(event, "tool_name", "") or "")
    path = getattr(event, "file_path", "") or arguments.get("file_path") or arguments.get("path") or ""
    task = str(arguments.get("prompt") or "") if tool == TOOL_NAMES[SubagentStart] else ""
    return EventFacts(
        name=event.wire_name,
        tool=tool or TOOL_NAMES.get(type(event), ""),
        command=str(getattr(event, "command", "") or arguments.get("command") or ""),
        path=path if isinstance(path, str) else "",
        prompt=str(getattr(event, "prompt", "") or getattr(event, "task", "") or task),
        agent=identity.agent,
        conversation=event.conversation_id,
        user=event.user_email or identity.user,
        group=identity.groups() if _is_used("group", policy) else (),
        model=event.model or event.model_id or "",
        surface="Tab" if isinstance(event, TAB_EVENTS) else "Agent",
        programs=programs,
        arguments=flatten_arguments(arguments) if _is_used("arguments", policy) else {},
    )


def _is_used(variable: str, policy: Policy) -> bool:
    return any(variable in rule.when for rule in policy.rules)


def build_responses(evaluation: Evaluation, alarms: tuple[str, ...] = ()) -> tuple[Response, ...]:
    """Return one response for each guard, list or rule that matched, and one for each alarm."""
    by_author: dict[tuple[str, str], list[RuleMatch]] = {}
    for match in evaluation.matches:
        by_author.setdefault((match.guard, match.layer), []).append(match)
    responses = [_build_response(author, matches) for (author, _), matches in by_author.items()]
    responses += [Response(author="policy", layer=LAYER, warnings=(alarm,)) for alarm in alarms]
    return tuple(responses)


def _build_response(author: str, matches: list[RuleMatch]) -> Response:
    layer = matches[0].layer
    warnings = tuple(dict.fromkeys(match.reason for match in matches if match.action is RuleAction.WARN))
    notes = tuple(
        dict.fromkeys(
            f"only noted, would {match.enforced_action}: {match.reason}"
            for match in matches
            if match.action is RuleAction.NOTE
        )
    )
    strictest = next((match for match in matches if match.action.permission), None)
    if strictest is None:
        return Response(author=author, layer=layer or LAYER, warnings=warnings, notes=notes)
    reason = f"{strictest.reason} ({_describe_author(author, layer)})"
    advice = f"{reason}. Instead: {strictest.rule.instead}." if strictest.rule.instead else reason
    verdict = Verdict(permission=Permission(strictest.action.permission), user_message=reason, agent_message=advice)
    return Response(author=author, layer=layer or LAYER, verdict=verdict, warnings=warnings, notes=notes)


def list_warnings(event: Event, evaluation: Evaluation) -> tuple[str, ...]:
    """Return the warnings that the person should read about an action that goes on."""
    if evaluation.permission or not event.contract.refusable:
        return ()
    matches = [match for match in evaluation.matches if match.action is RuleAction.WARN]
    return tuple(dict.fromkeys(f"{match.reason} ({_describe_author(match.guard, match.layer)})" for match in matches))


def _describe_author(guard: str, layer: str) -> str:
    return f"Trotline, {f'{guard}, {layer}' if layer else f'guard {guard}'}"


def convert_to_warnings(evaluation: Evaluation) -> Evaluation:
    """Turn all matches but notes into warnings, for an action that is over and cannot be refused."""
    return Evaluation(
        tuple(
            match if match.action is RuleAction.NOTE else match._replace(action=RuleAction.WARN)
            for match in evaluation.matches
        )
    )


# Paired events: some agents fire a generic event for an action and, right after it, a specific one. The second gets
# the answer of the first if it follows at once; after any other event the disk may have changed. A cold call has no
# previous event and evaluates again, because storing the answer takes longer. It comes to the same answer: the history
# keeps what there was before the action, and the second event is evaluated by that.


def build_action(event: Event, environment: Environment, policy: Policy) -> PairedAction | None:
    """Return the action of a shell command or an MCP call; None for other events, and if there are policy rules.

    Of a file read, only the specific event has the content. Policy rules may depend on the name of the event.
    """
    if not event.generation_id or not event.conversation_id or policy.rules:
        return None
    subject = _get_subject(event)
    return PairedAction(event.conversation_id, event.generation_id, subject, environment, policy) if subject else None


def get_history_before(event: Event, history: History) -> History:
    """Return the history before the action: for a second event, without what its first event added."""
    if history.earlier is None or isinstance(event, PreToolUse) or history.mark != _compute_mark(event):
        return history
    return history.earlier


def add_mark(event: Event, before: History, after: History) -> History:
    """Return the history after an event, with what its paired event needs; the same object if nothing changed."""
    plain, new = _remove_mark(before), _remove_mark(after)
    if new == plain:
        return before
    mark = _compute_mark(event) if isinstance(event, PreToolUse) else ""
    return msgspec.structs.replace(new, mark=mark, earlier=plain) if mark else new


def _remove_mark(history: History) -> History:
    return msgspec.structs.replace(history, mark="", earlier=None) if history.mark else history


def _compute_mark(event: Event) -> str:
    subject = _get_subject(event) if event.generation_id else ()
    if not subject:
        return ""
    return digest_action(event.conversation_id, event.generation_id, json.dumps(subject, sort_keys=True))


def _get_subject(event: Event) -> tuple[Any, ...]:
    """Return what an event is about, the same for both events of an action. An MCP call without a server name has
    none, because only the second event may name the server."""
    specific = derive_events(event) if isinstance(event, PreToolUse) else (event,)
    if len(specific) != 1:
        return ()
    (action,) = specific
    if isinstance(action, BeforeShell):
        return (action.command,)
    if isinstance(action, BeforeMCP) and action.mcp_server_name and not (action.url or action.command):
        return action.mcp_server_name, action.tool_name, action.tool_input
    return ()


# Texts


def scan_event(event: Event, effects: Sequence[Effect], scanning: Scanning) -> TextFindings:
    """Scan the texts of an event, and the files that it would read."""
    texts = get_texts(event)
    return scan_texts(texts, _list_unshown_files(event, texts, effects), scanning)


def _list_unshown_files(event: Event, texts: Sequence[EventText], effects: Sequence[Effect]) -> list[str]:
    """Return files that the agent wants to read and whose content the event does not contain."""
    if isinstance(event, BeforeSubmitPrompt):
        return [attached.file_path for attached in event.attachments if attached.type == "file"]
    reads = isinstance(event, BeforeReadFile | BeforeTabFileRead) or (
        isinstance(event, PreToolUse) and event.tool_name == "Read"
    )
    if not reads or any(text.source == READ for text in texts):
        return []
    return [effect.path for effect in effects if effect.kind == "read" and effect.path.startswith("/")]


def _build_remedies(event: Event, evaluation: Evaluation, scanning: Scanning) -> Iterator[Response]:
    """Respond to an output: `ask` informs the model, `deny` replaces the values where the agent supports it."""
    if not isinstance(event, PostToolUse):
        return
    stopped = [match for match in evaluation.matches if match.action.permission]
    for match in {match.rule.name: match for match in reversed(stopped)}.values():
        context = ". ".join(filter(None, [match.reason, match.rule.instead])) + "."
        yield Response(author=match.guard, layer=LAYER, verdict=Verdict(context=context))
    denied = {match.effect.verb for match in stopped if match.action is RuleAction.DENY}
    if denied and split_mcp_name(event.tool_name)[1]:
        scanners = [scanner for name, scanner in scanning.scanners().items() if name in denied]
        if not scanners:
            return  # the rule is not about a value in the text
        replaced = _redact_output(event.tool_output, scanning.key(), scanners)
        yield Response(author="redaction", layer=LAYER, verdict=Verdict(replaced_output=replaced))


def _redact_output(output: str, key: bytes, scanners: Sequence[Any]) -> dict[str, Any]:
    """Return the output of an MCP server without the values found in it, in the shape that such servers use."""
    from trotline.scanners.redaction import redact_tree  # noqa: PLC0415 - few outputs hold anything

    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        value = output
    clean, _ = redact_tree(value, key, scanners)
    return clean if isinstance(clean, dict) else {"content": [{"type": "text", "text": clean}]}


def redact_evaluation(evaluation: Evaluation, findings: TextFindings, scanning: Scanning) -> Evaluation:
    """Return the matches without secrets and personal data in what they quote of the action.

    This is the only pass over them: responses, warnings and remedies are built from the result. The text of a person's
    own rule stays as it is written; the reason of a list names the thing it is about, and is redacted.
    """
    if not evaluation.matches:
        return evaluation

    def redact(text: str) -> str:
        return redact_quote(text, findings, scanning)

    def redact_match(match: RuleMatch) -> RuleMatch:
        rule = match.rule
        if match.guard.startswith(LIST_PREFIX):
            rule = rule._replace(reason=redact(rule.reason))
        return match._replace(rule=rule, effect=replace_texts(match.effect, redact))

    return Evaluation(tuple(map(redact_match, evaluation.matches)))
