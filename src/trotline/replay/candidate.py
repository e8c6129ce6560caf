"""A candidate: the policies, the preset and the hooks by which recorded calls are evaluated again.

Hooks of a candidate run in processes like configured ones. They see another conversation id, so that a hook that stores
something does not change the real conversation. Prompt hooks are not run, because they would send text to a provider.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.audit.record.record import REPLAY_CONVERSATION
from trotline.config.hooks_json.configuration import Configuration, read_layers
from trotline.config.hooks_json.layers import get_layer
from trotline.config.paths import Roots, list_config_layers
from trotline.config.policies import NO_OVERRIDES, FileOverride
from trotline.config.trust import TrustState
from trotline.conversation.functions import EventHandler, Redact
from trotline.conversation.sessions import Sessions
from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.domain.events import Event
from trotline.domain.hooks import Hook, Layer, LayerKind, Search
from trotline.domain.outcomes import Response
from trotline.engine.dispatch import Dispatcher, Options, Snapshot
from trotline.service.line import is_hook_line
from trotline.system.files import read_file

USER, PROJECT = "user", "project"


class Candidate(NamedTuple):
    """The policy files, preset and hooks by which calls are evaluated. The default is the current configuration."""

    layer: str = ""  # the layer whose policy is replaced
    policies: Mapping[str, FileOverride] = NO_OVERRIDES
    preset: str = ""
    hooks: Sequence[EventHandler] = ()


IN_FORCE = Candidate()


def read_candidate_policy(file: Path, layer: str | None, roots: Roots) -> tuple[str, Mapping[str, FileOverride]]:
    """Return the layer whose policy the file replaces, and the file as its content."""
    try:
        data = read_file(file)
    except OSError as error:
        raise TrotlineError(f"`{file}` cannot be read: {describe_os_error(error)}") from None
    places = [(name, os.path.realpath(place)) for name, place in list_config_layers(roots, map(str, roots.projects))]
    by_name = PROJECT if file.parent.name == ".trotline" else USER
    by_place = next((name for name, place in places if place == os.path.realpath(file)), by_name)
    chosen = layer or by_place
    return chosen, {place: FileOverride(str(file), data) for name, place in places if name == chosen}


class HookNotRun(Exception):  # noqa: N818 - not an error: replay refuses to run this hook
    """An exception raised instead of running a hook; its message is the reason."""


class SingleHookDispatcher(Dispatcher):
    """A dispatcher that runs only the hooks of a chosen configuration."""

    chosen: Configuration | None = None

    def take_snapshot(self, event: Event) -> Snapshot:
        """Return the snapshot with the chosen configuration."""
        snapshot = super().take_snapshot(event)
        return snapshot if self.chosen is None else snapshot._replace(configuration=self.chosen)


class CandidateHook(EventHandler, frozen=True, kw_only=True):
    """A hook of the candidate's hooks.json."""

    hook: Hook
    configuration: Configuration
    dispatcher: SingleHookDispatcher

    def applies(self, event: Event, search: Search) -> bool:
        """Check whether the hook's event and matcher fit the event."""
        return self.hook.fit(event, search).applies

    def respond(self, event: Event, clean: Redact | None = None) -> Response:  # noqa: ARG002 - unused
        """Run the hook in a process, under a conversation id of its own.

        Raise HookNotRun for prompt hooks, because nothing is sent to a provider, and for hooks that the dispatcher
        skips.
        """
        if self.hook.prompt:
            raise HookNotRun("a prompt hook would be asked, and nothing is sent")
        self.dispatcher.chosen = self.configuration
        name = (
            f"{REPLAY_CONVERSATION}-{hashlib.sha256(event.conversation_id.encode('utf-8', 'replace')).hexdigest()[:12]}"
        )
        outcome = self.dispatcher.dispatch(msgspec.structs.replace(event, conversation_id=name))
        if not outcome.responses:
            raise HookNotRun(next((entry.why for entry in outcome.not_run), "the hook did not run"))
        return outcome.responses[0]


BuildDispatcher = Callable[[Roots, Options], SingleHookDispatcher]


def load_candidate_hooks(
    file: Path, roots: Roots, build_dispatcher: BuildDispatcher, sessions: Path, digests: Sequence[str]
) -> list[EventHandler]:
    """Return the hooks of a file. Hooks of a project run only if it is trusted; other files run in their directory."""
    options = Options(trusted_digests=tuple(digests))
    layer = _find_layer(file.absolute(), roots, options)
    if layer.kind.needs_trust:
        roots = msgspec.structs.replace(roots, projects=(Path(layer.root),))
    dispatcher = build_dispatcher(roots, options)
    dispatcher.sessions = Sessions(sessions)
    if layer.kind.needs_trust and dispatcher.get_trust(Path(layer.root)).state is not TrustState.TRUSTED:
        hint = "look at them with `trotline trust`; in CI pass --trust-digest"
        raise TrotlineError(f"the hooks of `{layer.root}` are not trusted, and are not run", hint=hint)
    configuration = read_layers([layer], roots, dispatcher.edition)
    read = configuration.layers[0]
    if read.fatal_reason:
        message = f"Cursor would load nothing of `{file}`, because {read.fatal_reason}"
        raise TrotlineError(message, hint="`trotline check` says more")
    return [_build_hook(hook, configuration, dispatcher) for hook in read.hooks if not is_hook_line(hook.command)]


def _find_layer(file: Path, roots: Roots, options: Options) -> Layer:
    layer = get_layer(file, roots, options.edition)
    if layer.root:
        return layer
    return Layer(kind=LayerKind.USER, file=str(file), root=str(file.parent), cwd=str(file.parent))


def _build_hook(hook: Hook, configuration: Configuration, dispatcher: SingleHookDispatcher) -> CandidateHook:
    read = msgspec.structs.replace(configuration.layers[0], hooks=[hook])
    alone = msgspec.structs.replace(configuration, layers=[read])
    return CandidateHook(
        name=hook.id, event=hook.event, call=_do_nothing, hook=hook, configuration=alone, dispatcher=dispatcher
    )


def _do_nothing(_event: Event) -> None:
    """Do nothing: candidate hooks start a process, but an EventHandler needs a function."""
