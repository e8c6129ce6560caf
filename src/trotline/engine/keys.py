"""Keys of providers: from a variable, or from a command that prints one. They are kept in memory and nowhere else."""

import threading
from collections.abc import Mapping

from trotline.config.models import Provider
from trotline.engine.processes import Job, run_all
from trotline.outcomes import Failure, FailureKind


class Keys:
    """Asks a command for its key once in the life of this process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._known: dict[tuple[str, ...], str] = {}
        self._lock = threading.Lock()

    def of(self, provider: Provider, seconds: float, cookie: str) -> str | Failure:
        """The provider's key; empty when it needs none."""
        if provider.key_env:
            key = self._environ.get(provider.key_env, "").strip()
            return key or _missing(provider, f"the variable {provider.key_env} is not set")
        if not provider.key_command:
            return ""
        with self._lock:  # a password store asks its owner once, not once for every hook
            known = self._known.get(provider.key_command)
            return known or self._printed(provider, seconds, cookie)

    def forget(self, provider: Provider) -> None:
        """A key that was refused is asked for again the next time."""
        with self._lock:
            self._known.pop(provider.key_command, None)

    def _printed(self, provider: Provider, seconds: float, cookie: str) -> str | Failure:
        job = Job(provider.key_command, "/", self._environ, seconds, cookie)
        ended = run_all([job], b"")[0]
        key = ended.stdout.decode("utf-8", "replace").strip()
        if ended.exit_code != 0 or not key or "\n" in key:
            said = ended.stopped or ended.detail or f"exit code {ended.exit_code}"
            return _missing(provider, f"`{provider.key_command[0]}` printed no key ({said})")
        self._known[provider.key_command] = key
        return key


def _missing(provider: Provider, why: str) -> Failure:
    return Failure(kind=FailureKind.UNAVAILABLE, detail=f"provider `{provider.name}` has no key: {why}")
