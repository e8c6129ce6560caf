"""Hooks of one file as judges: each is run as the engine runs it, and nobody else's hooks are asked.

Conversations have other names in here, so that a hook which remembers something, or leaves a record, does neither for
the real one. Prompt hooks are not asked, because that would send words to somebody.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from trotline.audit.own import REPLAYING
from trotline.config.configuration import Configuration, read_layers
from trotline.config.layers import layer_of
from trotline.config.places import Roots
from trotline.config.trust import TrustState
from trotline.engine.engine import Engine, Options, Snapshot
from trotline.engine.functions import Clean, Function
from trotline.engine.sessions import Sessions
from trotline.errors import TrotlineError
from trotline.events import Event
from trotline.hooks import Hook, Layer, LayerKind, Search
from trotline.outcomes import Voice
from trotline.service.line import is_ours

Made = Callable[[Roots, Options], "OneFile"]
"""Makes an engine that is one of this process."""


class Unasked(Exception):  # noqa: N818 - no error: what would be asked is known, and is not asked
    """A hook that replaying does not ask."""


class OneFile(Engine):
    """An engine whose only hook is the one that is chosen."""

    chosen: Configuration | None = None

    def look(self, event: Event) -> Snapshot:
        now = super().look(event)
        return now if self.chosen is None else now._replace(configuration=self.chosen)


class HookJudge(Function, frozen=True, kw_only=True):
    """A hook of the file, in the seat of a judge."""

    hook: Hook
    alone: Configuration
    engine: OneFile

    def applies(self, event: Event, search: Search) -> bool:
        return self.hook.fit(event, search).applies

    def voice(self, event: Event, clean: Clean | None = None) -> Voice:  # noqa: ARG002 - a process says what it says
        if self.hook.prompt:
            raise Unasked("a prompt hook would be asked, and nothing is sent")
        self.engine.chosen = self.alone
        name = f"{REPLAYING}-{hashlib.sha256(event.conversation_id.encode('utf-8', 'replace')).hexdigest()[:12]}"
        outcome = self.engine.dispatch(msgspec.structs.replace(event, conversation_id=name))
        if not outcome.voices:
            raise Unasked(next((entry.why for entry in outcome.not_run), "the hook did not run"))
        return outcome.voices[0]


def judges_in(file: Path, roots: Roots, engine_of: Made, sessions: Path, digests: Sequence[str]) -> list[Function]:
    """The hooks of a file. A project's run only if it is trusted; those of a file that stands elsewhere run there."""
    options = Options(trusted_digests=tuple(digests))
    layer = _layer(file.absolute(), roots, options)
    if layer.kind.needs_trust:
        roots = msgspec.structs.replace(roots, projects=(Path(layer.root),))
    engine = engine_of(roots, options)
    engine.sessions = Sessions(sessions)
    if layer.kind.needs_trust and engine.trust(Path(layer.root)).state is not TrustState.TRUSTED:
        hint = "look at them with `trotline trust`; in CI pass --trust-digest"
        raise TrotlineError(f"the hooks of `{layer.root}` are not trusted, and are not run", hint=hint)
    configuration = read_layers([layer], roots, engine.edition)
    read = configuration.layers[0]
    if read.void:
        message = f"Cursor would load nothing of `{file}`, because {read.void}"
        raise TrotlineError(message, hint="`trotline check` says more")
    return [_judge(hook, configuration, engine) for hook in read.hooks if not is_ours(hook.command)]


def _layer(file: Path, roots: Roots, options: Options) -> Layer:
    layer = layer_of(file, roots, options.edition)
    if layer.root:
        return layer
    return Layer(kind=LayerKind.USER, file=str(file), root=str(file.parent), cwd=str(file.parent))


def _judge(hook: Hook, configuration: Configuration, engine: OneFile) -> HookJudge:
    read = msgspec.structs.replace(configuration.layers[0], hooks=[hook])
    alone = msgspec.structs.replace(configuration, layers=[read])
    return HookJudge(name=hook.id, event=hook.event, call=_nothing, hook=hook, alone=alone, engine=engine)


def _nothing(_event: Event) -> None:
    """What a Function calls; these start a process instead."""
