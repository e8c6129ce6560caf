"""Why an action gets its verdict: the smallest part of a line that is to blame, and what would be let through."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trotline.analysis.action import Analysis, of_command, of_event
from trotline.analysis.scene import World
from trotline.analysis.shell.parser import parsed
from trotline.analysis.step import Step
from trotline.content import NOTHING, Content, Scanning, in_command, taken_out
from trotline.events import EVENTS, BeforeShell, Event
from trotline.guards.guard import Opinion, Says
from trotline.guards.judgement import Judgement, judged
from trotline.guards.policy import Policy
from trotline.guards.rules import EVENT, Rule, Test
from trotline.guards.vocabulary import About
from trotline.hosts.cursor import event_of
from trotline.judging import NOBODYS, TAB, about_event, content_of_event, observed

MOST_TRIES = 60

Said = Callable[[str], Judgement]


class Explanation(NamedTuple):
    analysis: Analysis
    judgement: Judgement
    smallest: str = ""
    instead: tuple[str, ...] = ()
    content: Content = NOTHING

    @property
    def clean(self) -> "Explanation":
        """The same without found values; columns stay where they are."""
        if not self.content.values:
            return self
        effects = tuple(taken_out(effect, self.content) for effect in self.analysis.effects)
        said = [one._replace(effect=taken_out(one.effect, self.content)) for one in self.judgement.opinions]
        return self._replace(
            analysis=self.analysis._replace(effects=effects),
            judgement=Judgement(tuple(said)),
            smallest=self.content.without(self.smallest),
        )


def explained(command: str, world: World, policy: Policy, scanning: Scanning) -> Explanation:
    """A command line, judged and explained."""

    def read(text: str) -> Explanation:
        analysis, content = of_command(text, world), in_command(text, scanning)
        analysis = analysis._replace(effects=(*analysis.effects, *content.effects))
        about = about_line(text, analysis.programs)
        return Explanation(analysis, judged(analysis.effects, world, policy, about=about), content=content)

    def said(text: str) -> Judgement:
        return read(text).judgement

    found = read(command)
    if not found.judgement.permission:
        return found
    smallest = _smallest(command, found.analysis, found.judgement.opinions[0], said)
    return found._replace(smallest=smallest, instead=_instead(found.judgement.opinions, said))


def explained_event(event: Event, world: World, policy: Policy, scanning: Scanning) -> Explanation:
    """Any event, judged; what is over is only observed."""
    analysis = of_event(event, world)
    content = content_of_event(event, analysis.effects, scanning)
    analysis = analysis._replace(effects=(*analysis.effects, *content.effects))
    about = about_event(event, policy, NOBODYS, analysis.programs)
    judgement = judged(analysis.effects, world, policy, tab=isinstance(event, TAB), about=about)
    return Explanation(analysis, judgement if event.contract.refusable else observed(judgement), content=content)


def _smallest(command: str, analysis: Analysis, decisive: Opinion, said: Said) -> str:
    """The shortest part found that still gets the same word of the same guard."""

    def same(text: str) -> bool:
        if parsed(text).fault:
            return False  # a part that no shell would read explains nothing
        found = said(text)
        return any(one.guard == decisive.guard and one.says is decisive.says for one in found.opinions)

    parts = {command[start:end] for start, end in _ranges(analysis.steps, decisive)}
    fitting = [part for part in sorted(filter(None, parts), key=len)[:MOST_TRIES] if same(part)]
    text = fitting[0] if fitting else command
    words = text.split()
    if " ".join(words) != text or len(words) > MOST_TRIES // 2:
        return text
    for word in reversed(words[1:]):
        at = len(words) - 1 - words[::-1].index(word)
        fewer = words[:at] + words[at + 1 :]
        words = fewer if same(" ".join(fewer)) else words
    return " ".join(words)


def _ranges(steps: Sequence[Step], decisive: Opinion) -> Iterator[tuple[int, int]]:
    """Parts of the line that hold the effect: programs, and what they run."""
    effect = decisive.effect
    for step in steps:
        start, end = step.start, step.end
        if start <= effect.column_from and effect.column_to <= end:
            yield start, end
        yield from _ranges(step.inner, decisive)


def _instead(opinions: Sequence[Opinion], said: Said) -> tuple[str, ...]:
    """Commands that do what was probably meant; only those that would be let through."""
    proposed = dict.fromkeys(opinion.row.example for opinion in opinions if opinion.row.example)
    return tuple(line for line in proposed if not said(line).permission)


class Failed(NamedTuple):
    """A test of a rule that does not hold."""

    rule: str
    place: str
    line: str
    wanted: str
    got: str


def failures_of(rule: Rule, world: World, scanning: Scanning) -> Iterator[Failed]:
    """The tests that stand beside a rule: the rule alone is asked about each line and each event."""
    for wanted, tests in (("it should speak", rule.stop), ("it should be silent", rule.let_pass)):
        for test in tests:
            said = [one for one in _judged_test(test, rule, world, scanning).opinions if one.guard == rule.author]
            right = bool(said) == (wanted == "it should speak") and all(_is_meant(one.says, rule, test) for one in said)
            if not right:
                got = f"it says {said[0].says}, {said[0].reason}" if said else "it is silent"
                shown = test if isinstance(test, str) else json.dumps(test, ensure_ascii=False)
                yield Failed(rule.name, f"{rule.file}:{rule.line}", shown, wanted, got)


def _judged_test(test: Test, rule: Rule, world: World, scanning: Scanning) -> Judgement:
    if isinstance(test, str):
        return judged_line(test, world, Policy(rules=(rule._replace(events=()),)))
    body = {"workspace_roots": list(world.roots), **{name: value for name, value in test.items() if name != EVENT}}
    return explained_event(event_of(body, str(test[EVENT])), world, Policy(rules=(rule,)), scanning).judgement


def _is_meant(says: Says, rule: Rule, test: Test) -> bool:
    """What is over can only be warned of."""
    over = not isinstance(test, str) and not EVENTS[str(test[EVENT])].contract.refusable
    return says is (Says.WARN if over else rule.says)


def judged_line(command: str, world: World, policy: Policy) -> Judgement:
    """What a command line gets."""
    analysis = of_command(command, world)
    return judged(analysis.effects, world, policy, about=about_line(command, analysis.programs))


def about_line(command: str, programs: tuple[str, ...]) -> About:
    """A command line as an event of its own."""
    return About(name=BeforeShell.contract.name, tool="Shell", command=command, programs=programs)
