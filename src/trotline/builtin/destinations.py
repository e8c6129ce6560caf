"""Destinations of the built-in hook `forward`: a file, commands, and a server.

Reports for a server are stored in files and sent after the reply, so that a dead server never delays an agent. Reports
that could not be sent are sent with the next call, and standard error says that they wait.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from trotline.builtin.hook_context import HookContext, hash_name, lock_directory
from trotline.builtin.workspace import Words, find_workspace_folder, list_workspace_folders
from trotline.config.export_file import find_address_fault
from trotline.domain.errors import TrotlineError, UsageError
from trotline.domain.events import Event
from trotline.domain.ids import uuid7
from trotline.machine import read_clock
from trotline.system.files import APPEND_FLAGS, OWNER_ONLY, ensure_private_directory, replace_file

MAX_WAITING = 200
MAX_FILE_BYTES = 10_000_000
SEND_SECONDS = 5.0
PROBLEM_FILE = "trouble"


def validate_url(url: str) -> str:
    """Return the address if reports may be sent there: over https, or to this machine."""
    fault = find_address_fault(url)
    if fault is None:
        return url
    hint = "what an agent did is sent over https, or to this machine itself; keys belong into a file of headers"
    raise UsageError(f"nothing is sent to `{strip_url(url)}`: {fault[0].replace(url, strip_url(url))}", hint=hint)


def strip_url(url: str) -> str:
    """Return the address without password, query and fragment, for messages."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.split('?')[0].split('#')[0].rpartition('@')[2]}" if rest else url.partition("?")[0]


class Outbox:
    """Reports waiting for one server and headers file. Each combination has a separate outbox."""

    def __init__(self, parent: Path, url: str, headers_file: str = "") -> None:
        self.directory = parent / hash_name(f"{url}\n{headers_file}")
        self.url = url
        self.headers_file = headers_file

    def put(self, body: dict[str, Any]) -> None:
        """Store a report until it is sent. If too many wait, the oldest are dropped."""
        ensure_private_directory(self.directory)
        now = read_clock()
        name = uuid7(now, os.urandom(10))
        file = self.directory / f"{now:020}-{name}.json"  # IDs of the same millisecond are not ordered
        replace_file(file, json.dumps({"id": name, "at_us": now, **body}).encode())
        waiting = self._list_waiting()
        for file in waiting[: max(0, len(waiting) - MAX_WAITING)]:
            file.unlink(missing_ok=True)

    def describe_problem(self) -> str:
        """Return the reason why reports are still waiting, or ""."""
        waiting = len(self._list_waiting())
        try:
            problem = (self.directory / PROBLEM_FILE).read_text("utf-8")
        except OSError:
            return ""
        if not waiting:
            return ""
        return f"{waiting} of at most {MAX_WAITING} reports wait for {strip_url(self.url)}: {problem}"

    def send(self) -> None:
        """Send waiting reports in order until one fails. Concurrent senders take turns."""
        with lock_directory(self.directory):
            problem = self._send_waiting()
            if problem:
                replace_file(self.directory / PROBLEM_FILE, problem.encode("utf-8", "replace"))
            else:
                (self.directory / PROBLEM_FILE).unlink(missing_ok=True)
        if problem:
            raise TrotlineError(f"{strip_url(self.url)}: {problem}")

    def _list_waiting(self) -> list[Path]:
        return sorted(self.directory.glob("*.json"))

    def _send_waiting(self) -> str:
        """Send reports and remove those that the server accepted. Return an error message, or an empty text."""
        from trotline.delivery.request_headers import read_headers, send_request  # noqa: PLC0415 - most calls send nothing
        from trotline.system.http_post import Request  # noqa: PLC0415 - most calls send nothing

        try:
            headers = {"content-type": "application/json", **read_headers(self.headers_file, "", {})}
        except TrotlineError as error:
            return error.message
        for file in self._list_waiting():
            answer = send_request(Request(self.url, file.read_bytes(), headers, SEND_SECONDS), read_clock())
            if not answer.is_good:
                return f"it answered with status {answer.status}" if answer.status else answer.failure
            file.unlink(missing_ok=True)
        return ""


class Destinations(msgspec.Struct, frozen=True):
    """All destinations of a `forward` hook."""

    context: HookContext
    directory: Path
    file: Path | None = None
    commands: tuple[Words, ...] = ()
    outbox: Outbox | None = None
    seconds: float = 20.0

    @property
    def is_empty(self) -> bool:
        """Return whether there is no destination."""
        return not (self.file or self.commands or self.outbox)

    def deliver(self, event: Event, body: dict[str, Any], text: str = "", folder: Path | None = None) -> None:
        """Give the body to the server, and the text (default: the body as a line of JSON) to the file and commands."""
        if self.outbox is not None:
            if problem := self.outbox.describe_problem():
                print(problem, file=sys.stderr)
            self.outbox.put(body)
        data = (text or json.dumps({"at_us": read_clock(), **body}) + "\n").encode("utf-8", "replace")
        if self.file is not None:
            self._append(event, self.file, data)
        if self.commands:
            folder = folder or find_workspace_folder(event)
            self.context.run_commands(self.commands, folder, self.seconds, stdin=data)

    def send(self, _event: Event) -> None:
        """Send waiting reports; called after the reply to the agent."""
        if self.outbox is not None:
            self.outbox.send()

    def _append(self, event: Event, file: Path, data: bytes) -> None:
        if any(file.resolve().is_relative_to(folder) for folder in list_workspace_folders(event)):
            raise TrotlineError(f"`{file}` is in the workspace, where an agent could change it; name another file")
        if not file.parent.exists():
            ensure_private_directory(file.parent)
        with lock_directory(self.directory):
            if file.is_file() and file.stat().st_size + len(data) > MAX_FILE_BYTES:
                file.replace(file.with_name(f"{file.name}.1"))
            with os.fdopen(os.open(file, APPEND_FLAGS, OWNER_ONLY), "ab") as opened:
                opened.write(data)
