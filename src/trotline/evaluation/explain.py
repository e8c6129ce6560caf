"""Explain the verdict on an action: find the smallest part of a command line that causes it, and run rule tests."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from trotline.agents.cursor.payloads import build_event
from trotline.analysis.analyze import Analysis, analyze_command, analyze_event
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.parser import parse_script
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.events import EVENTS, BeforeShell, Event
from trotline.evaluation.evaluate import Evaluation, evaluate
from trotline.evaluation.panel import NO_IDENTITY, TAB_EVENTS, build_event_facts, convert_to_warnings, scan_event
from trotline.evaluation.text_findings import NO_FINDINGS, Scanning, TextFindings, scan_command
from trotline.guards.guard import RuleAction, RuleMatch
from trotline.policy.condition_variables import EventFacts
from trotline.policy.policy import Policy
from trotline.policy.policy_rules import EVENT_KEY, PolicyRule, RuleTest

MAX_TRIES = 60
MAX_ENTRIES = 20_000
"""The limit of entries that are counted below a path."""


class Explanation(NamedTuple):
    """The analysis and evaluation of an action, and the smallest part of its command line with the same verdict."""

    analysis: Analysis
    evaluation: Evaluation
    smallest: str = ""
    content: TextFindings = NO_FINDINGS

    def mask(self) -> "Explanation":
        """Return the explanation without found values. Columns stay the same."""
        findings = self.content
        if not findings.values:
            return self
        effects = tuple(findings.mask_effect(effect) for effect in self.analysis.effects)
        matches = tuple(match._replace(effect=findings.mask_effect(match.effect)) for match in self.evaluation.matches)
        return self._replace(
            analysis=self.analysis._replace(effects=effects),
            evaluation=Evaluation(matches),
            smallest=findings.mask(self.smallest),
        )


def explain_command(command: str, environment: Environment, policy: Policy, scanning: Scanning) -> Explanation:
    """Evaluate and explain a command line."""

    def explain(text: str) -> Explanation:
        analysis, findings = analyze_command(text, environment), scan_command(text, scanning)
        analysis = analysis._replace(effects=(*analysis.effects, *findings.effects))
        facts = build_command_facts(text, analysis.programs)
        return Explanation(analysis, evaluate(analysis.effects, environment, policy, facts=facts), content=findings)

    explanation = explain(command)
    if not explanation.evaluation.permission:
        return explanation
    decisive = explanation.evaluation.matches[0]
    smallest = _find_smallest(command, explanation.analysis, decisive, lambda text: explain(text).evaluation)
    return explanation._replace(smallest=smallest)


def explain_event(event: Event, environment: Environment, policy: Policy, scanning: Scanning) -> Explanation:
    """Evaluate any event. Matches of an event that cannot be refused are warnings."""
    analysis = analyze_event(event, environment)
    findings = scan_event(event, analysis.effects, scanning)
    analysis = analysis._replace(effects=(*analysis.effects, *findings.effects))
    facts = build_event_facts(event, policy, NO_IDENTITY, analysis.programs)
    evaluation = evaluate(analysis.effects, environment, policy, tab=isinstance(event, TAB_EVENTS), facts=facts)
    return Explanation(
        analysis, evaluation if event.contract.refusable else convert_to_warnings(evaluation), content=findings
    )


def _find_smallest(
    command: str, analysis: Analysis, decisive: RuleMatch, evaluate_text: Callable[[str], Evaluation]
) -> str:
    """Return the shortest part found for which the same guard decides the same."""

    def decides_the_same(text: str) -> bool:
        if parse_script(text).error:
            return False  # a part that no shell accepts explains nothing
        matches = evaluate_text(text).matches
        return any(match.guard == decisive.guard and match.action is decisive.action for match in matches)

    parts = {command[start:end] for start, end in _find_ranges(analysis.invocations, decisive)}
    candidates = sorted(filter(None, parts), key=len)[:MAX_TRIES]
    text = next((part for part in candidates if decides_the_same(part)), command)
    words = text.split()
    if " ".join(words) != text or len(words) > MAX_TRIES // 2:
        return text
    for word in reversed(words[1:]):
        at = len(words) - 1 - words[::-1].index(word)
        shorter = words[:at] + words[at + 1 :]
        words = shorter if decides_the_same(" ".join(shorter)) else words
    return " ".join(words)


def _find_ranges(invocations: Sequence[Invocation], decisive: RuleMatch) -> Iterator[tuple[int, int]]:
    """Yield the ranges of programs, and of what they run, that contain the effect."""
    effect = decisive.effect
    for invocation in invocations:
        start, end = invocation.start, invocation.end
        if start <= effect.column_from and effect.column_to <= end:
            yield start, end
        yield from _find_ranges(invocation.children, decisive)


class FailedRuleTest(NamedTuple):
    """A test of a policy rule that failed."""

    rule: str
    place: str
    line: str
    wanted: str
    got: str


def run_rule_tests(rule: PolicyRule, environment: Environment, scanning: Scanning) -> Iterator[FailedRuleTest]:
    """Run the tests that stand beside a rule, with this rule alone. Yield those that fail."""
    for wanted, tests in (("it should speak", rule.stop), ("it should be silent", rule.let_pass)):
        for test in tests:
            evaluation = _evaluate_test(test, rule, environment, scanning)
            matches = [match for match in evaluation.matches if match.guard == rule.author]
            passed = bool(matches) == (wanted == "it should speak") and all(
                _is_expected(match.action, rule, test) for match in matches
            )
            if not passed:
                got = f"it says {matches[0].action}, {matches[0].reason}" if matches else "it is silent"
                shown = test if isinstance(test, str) else json.dumps(test, ensure_ascii=False)
                yield FailedRuleTest(rule.name, f"{rule.file}:{rule.line}", shown, wanted, got)


def _evaluate_test(test: RuleTest, rule: PolicyRule, environment: Environment, scanning: Scanning) -> Evaluation:
    if isinstance(test, str):
        return evaluate_command(test, environment, Policy(rules=(rule._replace(events=()),)))
    fields = {name: value for name, value in test.items() if name != EVENT_KEY}
    event = build_event({"workspace_roots": list(environment.roots), **fields}, str(test[EVENT_KEY]))
    return explain_event(event, environment, Policy(rules=(rule,)), scanning).evaluation


def _is_expected(action: RuleAction, rule: PolicyRule, test: RuleTest) -> bool:
    """Return whether this is the action of the rule; an event that cannot be refused gets a warning."""
    is_over = not isinstance(test, str) and not EVENTS[str(test[EVENT_KEY])].contract.refusable
    return action is (RuleAction.WARN if is_over else rule.action)


def evaluate_command(command: str, environment: Environment, policy: Policy) -> Evaluation:
    """Evaluate a command line without scanning its text."""
    analysis = analyze_command(command, environment)
    return evaluate(analysis.effects, environment, policy, facts=build_command_facts(command, analysis.programs))


def build_command_facts(command: str, programs: tuple[str, ...]) -> EventFacts:
    """Return the facts of a command line, as if it were a shell event."""
    return EventFacts(name=BeforeShell.contract.name, tool="Shell", command=command, programs=programs)


# The size of a deletion


class DeletionSize(NamedTuple):
    """The number and size of files below a path."""

    path: str
    files: int
    bytes: int
    is_complete: bool  # everything was counted

    @property
    def words(self) -> str:
        """The number of files and their size, as text."""
        more = "" if self.is_complete else "more than "
        return f"{more}{self.files} {'file' if self.files == 1 else 'files'}, {more}{_format_size(self.bytes)}"


def measure_deletion(path: str) -> DeletionSize | None:
    """Count what is at a path now; None if nothing is. A pattern counts the content of its directory."""
    path = path.rstrip("*").rstrip("/") or "/"
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not os.path.isdir(path) or os.path.islink(path):  # noqa: PTH112, PTH114 - beside scandir
        return DeletionSize(path, 1, status.st_size, is_complete=True)
    files = size = seen = 0
    waiting = [path]
    while waiting and seen < MAX_ENTRIES:
        for entry in _list_entries(waiting.pop()):
            seen += 1
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                files += 1
                size += _get_size(entry)
            if seen >= MAX_ENTRIES:
                break
    return DeletionSize(path, files, size, is_complete=seen < MAX_ENTRIES)


def _list_entries(directory: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _get_size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _format_size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return ""
