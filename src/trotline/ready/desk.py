"""What every ready hook has: the home it works in, the environment it was given, and the way out to the host."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from trotline.config.install_key import install_key
from trotline.config.places import Roots
from trotline.hosts import HOSTS
from trotline.machine import environment, machine_roots
from trotline.ready.notes import Notes

READY = "ready"
"""The directory below the state directory in which ready hooks keep what they know."""


class Desk(NamedTuple):
    """Where a ready hook works. Nothing of it is in a workspace."""

    roots: Roots
    environ: Mapping[str, str]

    def place(self, name: str) -> Path:
        return self.roots.state / READY / name

    def notes(self, name: str) -> Notes:
        return Notes(self.place(name))

    @property
    def key(self) -> bytes:
        return install_key(self.roots.state)

    def cleaned(self, text: str) -> str:
        """The text without secrets and personal data; whatever leaves a ready hook went through here, or below."""
        from trotline.audit.wording import scanners_of  # noqa: PLC0415 - many calls have no text to look at
        from trotline.scanners.redaction import redacted  # noqa: PLC0415 - the same

        return redacted(text, self.key, scanners_of(self.roots))[0]

    def cleaned_tree(self, value: dict[str, Any]) -> dict[str, Any]:
        """The same for a whole object, its keys too."""
        from trotline.audit.wording import scanners_of  # noqa: PLC0415 - as above
        from trotline.scanners.redaction import redacted_tree  # noqa: PLC0415 - the same

        clean: dict[str, Any] = redacted_tree(value, self.key, scanners_of(self.roots))[0]
        return clean


def answering(command: Callable[..., None]) -> Callable[..., int]:
    """A command that names its handlers, and then answers the call on standard input with them."""

    @click.option("--host", type=click.Choice(list(HOSTS)), help="The host, where its payload does not tell.")
    @click.option("--event", default="", metavar="NAME", help="The host's name of the event, likewise.")
    @click.option("--home", default="", metavar="DIR", help="Another home directory.")
    @click.option("--system", expose_value=False, hidden=True)
    @click.option("--project", expose_value=False, hidden=True, multiple=True)
    @functools.wraps(command)
    def wrapped(*, host: str | None, event: str, home: str, **told: Any) -> int:
        from trotline.program import answer_call  # noqa: PLC0415 - whoever asks for help is not answered
        from trotline.sdk import HANDLERS, LATER  # noqa: PLC0415 - the same

        roots = machine_roots([Path("/")], Path(home) if home else None, Path("/"))
        command(Desk(roots, environment()), **told)
        line = ["--host", host or "", "--event", event, "--home", home]
        return answer_call(line, HANDLERS, LATER, guarded=False)

    return wrapped
