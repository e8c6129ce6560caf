"""Prompt hooks: a question to a model for each, at the same time as the processes of the other hooks run.

Each is asked in a thread of its own that may be left behind: a name server or a model that hangs cannot hold an event
longer than its hook's timeout.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from trotline.config.models import Cache, Chosen, Models, Provider
from trotline.engine.keys import Keys
from trotline.engine.opinions import Opinion, understood
from trotline.engine.providers.exchange import Question
from trotline.engine.quoting import quoted
from trotline.engine.recall import Recall
from trotline.errors import cause_of
from trotline.hooks import Hook
from trotline.ids import uuid7
from trotline.outcomes import Failure, FailureKind

if TYPE_CHECKING:
    import httpx2

MOST_EVENT_BYTES = 400_000
"""More than this is not put to a model: cut short, it would be judged by its harmless half."""

REFUSED_KEY = {401, 403}

NO_PROVIDER = (
    "was not asked: no model is configured for prompt hooks. Name one in ~/.config/trotline/models.json: "
    '{"providers": {"mine": {"speaks": "openai", "model": "...", "key_env": "OPENAI_API_KEY"}}}'
)


class Asking:
    """A question under way."""

    def __init__(self, hook: Hook, ask: Callable[[float], Opinion]) -> None:
        self.hook = hook
        self._begun = time.monotonic()
        self._deadline = self._begun + hook.timeout
        self._opinion: Opinion | None = None
        self._thread = threading.Thread(target=self._run, args=(ask,), daemon=True, name="trotline prompt hook")
        self._thread.start()

    def _run(self, ask: Callable[[float], Opinion]) -> None:
        try:
            self._opinion = ask(self._deadline)
        except Exception as error:  # noqa: BLE001 - the fail mode decides, whatever broke
            self._opinion = _failed(FailureKind.CRASHED, f"asking failed: {cause_of(error)}")

    def opinion(self) -> Opinion:
        """Wait for it, up to its deadline."""
        self._thread.join(max(0.0, self._deadline - time.monotonic()))
        late = _failed(FailureKind.TIMED_OUT, f"timed out after {round(self.hook.timeout * 1000)}ms")
        micros = int((time.monotonic() - self._begun) * 1_000_000)
        return (self._opinion or late)._replace(micros=micros)


class Prompts:
    """Everything that asking needs and that outlives one event: keys, connections, answers that may be taken again."""

    def __init__(self, environ: Mapping[str, str], clock: Callable[[], int]) -> None:
        self._clock = clock
        self._keys = Keys(environ)
        self._recall = Recall(clock)
        self._clients: dict[str, httpx2.Client] = {}
        self._lock = threading.Lock()

    def begin(self, hooks: Sequence[Hook], payload: bytes, models: Models) -> list[Asking]:
        """Start asking; nobody is waited for."""
        return [Asking(hook, self._question(hook, payload, models)) for hook in hooks if hook.prompt]

    def _question(self, hook: Hook, payload: bytes, models: Models) -> Callable[[float], Opinion]:
        def ask(deadline: float) -> Opinion:
            chosen = models.choose(hook.model)
            if chosen is None:
                return _failed(FailureKind.UNAVAILABLE, NO_PROVIDER)
            if len(payload) > MOST_EVENT_BYTES:
                size = f"the event has {len(payload)} bytes, of which a model is shown {MOST_EVENT_BYTES} at most"
                return _failed(FailureKind.UNAVAILABLE, f"was not asked: {size}")
            return self._remembered(hook, json.loads(payload), chosen, models.cache, deadline)

        return ask

    def _remembered(
        self, hook: Hook, event: dict[str, object], chosen: Chosen, cache: Cache, deadline: float
    ) -> Opinion:
        about = (chosen.provider.url, chosen.model, hook.prompt)
        known = self._recall.get(about, event, cache)
        if known:
            return Opinion(known, remembered=True)
        opinion = self._ask(hook, event, chosen, deadline)
        if not isinstance(understood(opinion.text), Failure):
            self._recall.put(about, event, opinion.text, cache)
        return opinion

    def _ask(self, hook: Hook, event: dict[str, object], chosen: Chosen, deadline: float) -> Opinion:
        from trotline.engine import asking  # noqa: PLC0415 - an HTTP client, for hooks that few people have

        key = self._keys.of(chosen.provider, max(0.1, deadline - time.monotonic()), self._id())
        if isinstance(key, Failure):
            return Opinion(failure=key)
        texts = quoted(hook.prompt, event, os.urandom(8).hex())
        question = Question(chosen.provider, chosen.model, key, texts.system, texts.user)
        answer = asking.ask(self._client(chosen.provider), question, deadline)
        if isinstance(answer, Failure):
            if answer.code in REFUSED_KEY:
                self._keys.forget(chosen.provider)
            return Opinion(failure=answer)
        return Opinion(answer)

    def _client(self, provider: Provider) -> "httpx2.Client":
        from trotline.engine import asking  # noqa: PLC0415 - as above

        with self._lock:
            if provider.proxy not in self._clients:
                self._clients[provider.proxy] = asking.open_client(provider)
            return self._clients[provider.proxy]

    def _id(self) -> str:
        return uuid7(self._clock(), os.urandom(10))


def _failed(kind: FailureKind, why: str) -> Opinion:
    return Opinion(failure=Failure(kind=kind, detail=why))
