"""What is to be sent to a server that may not be there: kept in files until it took them, sent when nobody waits.

A dead server never holds an agent up. What could not be sent is sent the next time, and that it waits is said.
"""

import json
import os
from pathlib import Path
from typing import Any

from trotline.config.export_file import address_fault
from trotline.config.places import private_directory
from trotline.config.whole_file import put
from trotline.errors import TrotlineError, UsageError
from trotline.ids import uuid7
from trotline.machine import clock
from trotline.ready.notes import locked, name_of

MOST_WAITING = 200
SECONDS = 5.0
TROUBLE = "trouble"


def checked_url(url: str) -> str:
    """The address, if something may be sent there: over https, or to this machine itself."""
    fault = address_fault(url)
    if fault is None:
        return url
    hint = "what an agent did is sent over https, or to this machine itself; keys belong into a file of headers"
    raise UsageError(f"nothing is sent to `{shown_url(url)}`: {fault[0].replace(url, shown_url(url))}", hint=hint)


def shown_url(url: str) -> str:
    """As a person may see it: without a password and without what stands after the path."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.split('?')[0].split('#')[0].rpartition('@')[2]}" if rest else url.partition("?")[0]


class Outbox:
    """Bodies that wait for one server, and for who we are there. Those of another project, which may go elsewhere, have
    another directory below this one.
    """

    def __init__(self, below: Path, url: str, headers_file: str = "") -> None:
        self.directory = below / name_of(f"{url}\n{headers_file}")
        self.url = url
        self.headers_file = headers_file

    def put(self, body: dict[str, Any]) -> None:
        """Keep it until it is sent; of too many that wait, the oldest are given up."""
        private_directory(self.directory)
        now = clock()
        name = uuid7(now, os.urandom(10))
        file = self.directory / f"{now:020}-{name}.json"  # ids of one millisecond are in no order
        put(file, json.dumps({"id": name, "at_us": now, **body}).encode())
        waiting = self._waiting()
        for file in waiting[: max(0, len(waiting) - MOST_WAITING)]:
            file.unlink(missing_ok=True)

    def trouble(self) -> str:
        """Why something still waits; empty when nothing does."""
        waiting = len(self._waiting())
        try:
            why = (self.directory / TROUBLE).read_text("utf-8")
        except OSError:
            return ""
        return f"{waiting} of at most {MOST_WAITING} reports wait for {shown_url(self.url)}: {why}" if waiting else ""

    def send(self) -> None:
        """Send what waits, in order, until one cannot be sent; of two that send at once, one waits."""
        with locked(self.directory):
            why = self._failure()
            if why:
                put(self.directory / TROUBLE, why.encode("utf-8", "replace"))
            else:
                (self.directory / TROUBLE).unlink(missing_ok=True)
        if why:
            raise TrotlineError(f"{shown_url(self.url)}: {why}")

    def _waiting(self) -> list[Path]:
        return sorted(self.directory.glob("*.json"))

    def _failure(self) -> str:
        """Why not all could be sent; what the server took is gone."""
        from trotline.audit.posting import headers_of, post  # noqa: PLC0415 - most calls send nothing
        from trotline.engine.posting import Request  # noqa: PLC0415 - the same

        try:
            headers = {"content-type": "application/json", **headers_of(self.headers_file, "", {})}
        except TrotlineError as error:
            return error.message
        for file in self._waiting():
            answer = post(Request(self.url, file.read_bytes(), headers, SECONDS), clock())
            if not answer.is_good:
                return f"it answered with status {answer.status}" if answer.status else answer.complaint
            file.unlink(missing_ok=True)
        return ""
