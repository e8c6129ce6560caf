"""Guards as voices: an event comes in, what it would do is found, and what the guards say goes to the decision."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from trotline.analysis.action import given_of, of_event
from trotline.analysis.arguments import arguments_of
from trotline.analysis.scene import World
from trotline.content import KIND, Content, Scanning, content_of, discreet, quoted, taken_out
from trotline.echoes import Echo, marked, memory_before
from trotline.effects import Effect
from trotline.engine.sessions import Session, Sessions
from trotline.errors import cause_of
from trotline.events import (
    AfterTabFileEdit,
    BeforeReadFile,
    BeforeShell,
    BeforeSubmitPrompt,
    BeforeTabFileRead,
    Event,
    PostToolUse,
    PreToolUse,
    SubagentStart,
)
from trotline.guards.guard import Opinion, Says
from trotline.guards.judgement import NOBODY, Judgement, judged
from trotline.guards.memory import after
from trotline.guards.policy import Policy
from trotline.guards.vocabulary import About
from trotline.hooks import mcp_parts
from trotline.memory import FORGOTTEN, Memory
from trotline.memory import MOST_BYTES as MEMORY_BYTES
from trotline.outcomes import UNHEARD, Call, Failure, FailureKind, Heard, Voice
from trotline.texts import READ, Text, texts_of
from trotline.verdicts import Permission, Verdict

LAYER = "guard"
LIST = "list "
"""What the author of an opinion is called that comes from a list."""
TAB = (BeforeTabFileRead, AfterTabFileEdit)
TOOLS: dict[type[Event], str] = {BeforeShell: "Shell", BeforeReadFile: "Read", SubagentStart: "Task"}
"""What the generic event of the same action calls the tool."""


PolicyOf = Callable[[Sequence[str]], tuple[Policy, tuple[str, ...]]]
WorldOf = Callable[[Event, Call], World]


class Whose(NamedTuple):
    """Under which host we sit, whose account it is, and how to learn its groups: few rules ask, and it may be slow."""

    host: str = ""
    user: str = ""
    groups: Callable[[], tuple[str, ...]] = tuple
    names_later: bool = False  # a server is named by the second event about a call, and not by the first


NOBODYS = Whose()
SILENT = Judgement()


class Guards:
    """The guards of one machine: what is in force, and what is true about the place of an event."""

    def __init__(
        self,
        policy_of: PolicyOf,
        world_of: WorldOf,
        recollection: "Recollection",
        scanning: Scanning,
        *,
        monitors: bool = False,
        whose: Whose = NOBODYS,
    ) -> None:
        self.policy_of = policy_of
        self.world_of = world_of
        self.recollection = recollection
        self.scanning = scanning
        self.monitors = monitors
        self.whose = whose
        self.echo = Echo()

    def __call__(self, event: Event, call: Call) -> Heard:
        """Guards never end a call: one that breaks has failed, and refuses what can be refused."""
        begun = time.monotonic_ns()
        heard = self._heard(event, call)
        return _timed(heard, (time.monotonic_ns() - begun) // 1000) if heard.voices else heard

    def _heard(self, event: Event, call: Call) -> Heard:
        try:
            return self._hear(event, call)
        except Exception as error:  # noqa: BLE001 - a guard that breaks must not be a guard that is off
            failure = Failure(kind=FailureKind.CRASHED, detail=f"Trotline's guards failed: {cause_of(error)}")
            alarm = "" if event.contract.refusable else self._suspect(event, call)
            warnings = (alarm,) if alarm else ()
            return Heard((Voice(author="guards", layer=LAYER, failure=failure, fail_closed=True, warnings=warnings),))

    def _suspect(self, event: Event, call: Call) -> str:
        """What is over and was not judged may have been anything."""
        return self.recollection.keep(event.conversation_id, lambda _memory: FORGOTTEN, call.received_us)

    def _hear(self, event: Event, call: Call) -> Heard:
        world = self.world_of(event, call)
        policy, alarms = self.policy_of(world.roots)
        heard = self.echo.of(event, world, policy)
        if heard is None:
            heard = self._judge(event, call, world, policy, alarms)
            self.echo.keep(event, world, policy, heard)
        return heard

    def _judge(self, event: Event, call: Call, world: World, policy: Policy, alarms: tuple[str, ...]) -> Heard:
        analysis = of_event(event, world)
        done = analysis.effects
        content = content_of_event(event, done, self.scanning)
        effects = (*done, *content.effects)
        if not effects and not policy.rules:
            return Heard(voices(SILENT, alarms)) if alarms else UNHEARD
        kept, alarm = self.recollection.of(event.conversation_id)
        memory = memory_before(event, kept)
        about = NOBODY
        if policy.rules:
            about = about_event(event, policy, self.whose, analysis.programs)._replace(before=memory.words)
        tab = isinstance(event, TAB)
        unnamed = policy.lists != () and self.whose.names_later and isinstance(event, PreToolUse)
        judgement = judged(effects, world, policy, tab=tab, about=about, memory=memory, named_later=unnamed)
        spoken = discreetly(judgement, content, self.scanning)
        remedy = tuple(_remedy(event, spoken, self.scanning))
        if not event.contract.refusable:
            judgement, spoken = observed(judgement), observed(spoken)

        def later(before: Memory) -> Memory:
            return marked(event, before, self._after(before, effects, judgement))

        if memory is kept and not alarm and (new := later(memory)) is not memory:
            alarm = self.recollection.keep(event.conversation_id, later, call.received_us)
            remedy = (*remedy, *_unremembered(new.words, memory.words)) if alarm else remedy
        said = (*voices(spoken, (*alarms, *filter(None, [alarm]))), *remedy)
        return _clean(Heard(said, effects, content.findings, told(event, spoken)), content)

    def _after(self, memory: Memory, effects: tuple[Effect, ...], judgement: Judgement) -> Memory:
        """What is true once the host has heard us: who only monitors has refused nothing, and it was done."""
        if self.monitors:
            return after(memory, effects, Permission.SILENT, ())
        denied = [opinion.effect for opinion in judgement.opinions if opinion.says is Says.DENY]
        refused = tuple(effect for effect in denied if effect.kind != KIND)  # the same text may come again, put right
        return after(memory, effects, judgement.permission, refused)


def _timed(heard: Heard, micros: int) -> Heard:
    """Guards look at an action once and together: what that took is the time of each that speaks."""
    return heard._replace(voices=tuple(msgspec.structs.replace(voice, micros=micros) for voice in heard.voices))


class Recollection:
    """What conversations did before, across processes."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions

    def of(self, conversation: str) -> tuple[Memory, str]:
        """Its memory, and what is wrong with it; a damaged one is taken for the worst."""
        if not conversation:
            return Memory(), ""
        remembered = self.sessions.read(conversation)
        return (FORGOTTEN, remembered.alarm) if remembered.alarm else (remembered.session.memory, "")

    def keep(self, conversation: str, change: Callable[[Memory], Memory], now_us: int) -> str:
        """Change what is remembered by then: other calls of the conversation may have come between."""
        if not conversation:
            return ""  # one without a name has no later

        def changed(session: Session) -> None:
            session.memory = change(session.memory)

        return self.sessions.update(conversation, changed, now_us, reserve=MEMORY_BYTES)


def _unremembered(now: tuple[str, ...], before: tuple[str, ...]) -> Iterator[Voice]:
    """A person decides about what later calls should know and will not."""
    new = [word for word in now if word not in before]
    if new:
        reason = f"this cannot be remembered ({new[0]}), and what comes after it would be judged without it (Trotline)"
        verdict = Verdict(permission=Permission.ASK, user_message=reason, agent_message=reason)
        yield Voice(author="memory", layer=LAYER, verdict=verdict)


def about_event(event: Event, policy: Policy, whose: Whose, programs: tuple[str, ...] = ()) -> About:
    """What rules may know of an event, whichever of its forms a host has sent."""
    given = given_of(getattr(event, "tool_input", None))
    tool = str(getattr(event, "tool_name", "") or "")
    path = getattr(event, "file_path", "") or given.get("file_path") or given.get("path") or ""
    return About(
        name=event.wire_name,
        tool=tool or TOOLS.get(type(event), ""),
        command=str(getattr(event, "command", "") or given.get("command") or ""),
        path=path if isinstance(path, str) else "",
        prompt=str(getattr(event, "prompt", "") or getattr(event, "task", "") or _task(event, given)),
        host=whose.host,
        conversation=event.conversation_id,
        user=event.user_email or whose.user,
        group=whose.groups() if _named("group", policy) else (),
        model=event.model or event.model_id or "",
        surface="Tab" if isinstance(event, TAB) else "Agent",
        programs=programs,
        arguments=arguments_of(given) if _named("arguments", policy) else {},
    )


def _named(variable: str, policy: Policy) -> bool:
    return any(variable in rule.when for rule in policy.rules)


def _task(event: Event, given: Mapping[str, Any]) -> str:
    """What a sub-agent is told, where a host has only the generic event."""
    return str(given.get("prompt") or "") if getattr(event, "tool_name", "") == TOOLS[SubagentStart] else ""


def voices(judgement: Judgement, alarms: tuple[str, ...] = ()) -> tuple[Voice, ...]:
    """One voice for each guard, list or rule that has something to say."""
    by_author: dict[tuple[str, str], list[Opinion]] = {}
    for opinion in judgement.opinions:
        by_author.setdefault((opinion.guard, opinion.layer), []).append(opinion)
    said = [_voice(author, opinions) for (author, _), opinions in by_author.items()]
    said += [Voice(author="policy", layer=LAYER, warnings=(alarm,)) for alarm in alarms]
    return tuple(said)


def _voice(guard: str, opinions: list[Opinion]) -> Voice:
    decides = [opinion for opinion in opinions if opinion.says.permission]
    warnings = tuple(dict.fromkeys(opinion.reason for opinion in opinions if opinion.says is Says.WARN))
    notes = tuple(dict.fromkeys(f"only noted, would {one.would}: {one.reason}" for one in opinions if _noted(one)))
    layer = opinions[0].layer
    if not decides:
        return Voice(author=guard, layer=layer or LAYER, warnings=warnings, notes=notes)
    strictest = decides[0]
    reason = f"{strictest.reason} ({_author(guard, layer)})"
    advice = f"{reason}. Instead: {strictest.row.instead}." if strictest.row.instead else reason
    verdict = Verdict(permission=Permission(strictest.says.permission), user_message=reason, agent_message=advice)
    return Voice(author=guard, layer=layer or LAYER, verdict=verdict, warnings=warnings, notes=notes)


def told(event: Event, judgement: Judgement) -> tuple[str, ...]:
    """What the person should know of an action that goes on: every warning, with who warns."""
    if judgement.permission or not event.contract.refusable:
        return ()
    warned = [one for one in judgement.opinions if one.says is Says.WARN]
    return tuple(dict.fromkeys(f"{one.reason} ({_author(one.guard, one.layer)})" for one in warned))


def _author(guard: str, layer: str) -> str:
    return f"Trotline, {f'{guard}, {layer}' if layer else f'guard {guard}'}"


def _noted(opinion: Opinion) -> bool:
    return opinion.says is Says.NOTE


# Texts


def content_of_event(event: Event, effects: Sequence[Effect], scanning: Scanning) -> Content:
    """What stands in the texts of an event, and in the files that it would read."""
    texts = texts_of(event)
    return content_of(texts, _files(event, texts, effects), scanning)


def _files(event: Event, texts: Sequence[Text], effects: Sequence[Effect]) -> list[str]:
    """Files that the host wants to read and has not shown us; of a link what it leads to."""
    if isinstance(event, BeforeSubmitPrompt):
        return [attached.file_path for attached in event.attachments if attached.type == "file"]
    reads = isinstance(event, BeforeReadFile | BeforeTabFileRead) or (
        isinstance(event, PreToolUse) and event.tool_name == "Read"
    )
    if not reads or any(text.source == READ for text in texts):
        return []
    return [effect.path for effect in effects if effect.kind == "read" and effect.path.startswith("/")]


def observed(judgement: Judgement) -> Judgement:
    """What is over cannot be refused: then everything that is said is a warning."""
    said = [one if _noted(one) else one._replace(says=Says.WARN) for one in judgement.opinions]
    return Judgement(tuple(said))


def _remedy(event: Event, judgement: Judgement, scanning: Scanning) -> Iterator[Voice]:
    """What can be done about an output: `ask` tells the model, `deny` takes the value out where the host lets us."""
    if not isinstance(event, PostToolUse):
        return
    stopped = [opinion for opinion in judgement.opinions if opinion.says.permission]
    for opinion in {opinion.row.name: opinion for opinion in reversed(stopped)}.values():
        told = ". ".join(filter(None, [opinion.reason, opinion.row.instead])) + "."
        yield Voice(author=opinion.guard, layer=LAYER, verdict=Verdict(context=told))
    out = {opinion.effect.verb for opinion in stopped if opinion.says is Says.DENY}
    if out and mcp_parts(event.tool_name)[1]:
        scanners = [scanner for name, scanner in scanning.scanners().items() if name in out]
        if not scanners:
            return  # a rule spoke about something that is no value in the text
        replaced = _without(event.tool_output, scanning.key(), scanners)
        yield Voice(author="redaction", layer=LAYER, verdict=Verdict(replaced_output=replaced))


def _without(output: str, key: bytes, scanners: Sequence[Any]) -> dict[str, Any]:
    """The answer of a server without what was found in it, in the shape that such servers give."""
    from trotline.scanners.redaction import redacted_tree  # noqa: PLC0415 - few outputs hold anything

    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        value = output
    clean, _ = redacted_tree(value, key, scanners)
    return clean if isinstance(clean, dict) else {"content": [{"type": "text", "text": clean}]}


def discreetly(judgement: Judgement, content: Content, scanning: Scanning) -> Judgement:
    """The same opinions, in words that may be sent: what they quote of the action is without secrets and personal data.
    What a person wrote into a rule stays as it is written."""
    if not judgement.opinions:
        return judgement
    return Judgement(tuple(_discreet(one, content, scanning) for one in judgement.opinions))


def _discreet(opinion: Opinion, content: Content, scanning: Scanning) -> Opinion:
    row = opinion.row
    if opinion.guard.startswith(LIST):  # its reason is no form: the name that it is about stands in it
        row = row._replace(reason=quoted(row.reason, scanning))
    return opinion._replace(row=row, effect=discreet(opinion.effect, content, scanning))


def _clean(heard: Heard, content: Content) -> Heard:
    """Without found values in what guards say about the rest of the action, such as a path."""
    if not content.values:
        return heard
    said = tuple(_clean_voice(voice, content) for voice in heard.voices)
    effects = tuple(taken_out(effect, content) for effect in heard.effects)
    return Heard(said, effects, heard.findings, tuple(map(content.without, heard.told)))


def _clean_voice(voice: Voice, content: Content) -> Voice:
    spoken = {name: content.without(getattr(voice.verdict, name)) for name in ("user_message", "agent_message")}
    verdict = msgspec.structs.replace(voice.verdict, **spoken)
    texts = {name: tuple(map(content.without, getattr(voice, name))) for name in ("warnings", "notes")}
    return msgspec.structs.replace(voice, verdict=verdict, **texts)


def real_path(path: str) -> str:
    """What a path is on this disk; one that cannot be resolved stays what it is called."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
