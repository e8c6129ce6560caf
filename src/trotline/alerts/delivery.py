"""The ways to somebody: the desktop, a command, a webhook. Each says why it failed; an empty sentence is success."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from typing import NamedTuple

from trotline.alerts.message import Message
from trotline.audit.posting import only_line_of, post
from trotline.config.export_file import address_fault
from trotline.engine.posting import Request
from trotline.errors import TrotlineError

SECONDS = 10.0
"""For a program or a server; whoever needs longer is ended."""

PATH = "/usr/bin:/bin"
PASSED_ON = ("PATH", "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Variables that a program of an alert sees, where we have them."""

SCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""A desktop may read markup in what it shows; what an agent wrote is text."""


class Machine(NamedTuple):
    """What the ways in know."""

    environ: Mapping[str, str]
    clock: Callable[[], int]


def delivered(message: Message, machine: Machine) -> str:
    """Why it did not arrive; empty if it did."""
    try:
        return WAYS[message.alert.way](message, machine)
    except TrotlineError as error:
        return error.message


def _to_the_desktop(message: Message, machine: Machine) -> str:
    """Words are arguments here, never a part of a program."""
    title, path = f"Trotline: {message.alert.name}", machine.environ.get("PATH", PATH)
    if found := shutil.which("notify-send", path=path):
        words = [found, "--app-name=Trotline", "--", title, message.text.translate(MARKUP)]
    elif found := shutil.which("osascript", path=path):
        words = [found, *(word for line in SCRIPT for word in ("-e", line)), title, message.text]
    else:
        return "this machine has neither notify-send nor osascript"
    return _run(words, b"", machine.environ)


def _to_a_command(message: Message, machine: Machine) -> str:
    data = json.dumps(message.body, ensure_ascii=True).encode() + b"\n"
    return _run(list(message.alert.command), data, machine.environ)


def _to_a_webhook(message: Message, machine: Machine) -> str:
    alert = message.alert
    url = alert.webhook or only_line_of(alert.webhook_file)
    fault = address_fault(url)
    if fault:
        return "its file holds no address to which anything should be sent" if alert.webhook_file else fault[0]
    data = json.dumps(message.body, ensure_ascii=True).encode()
    answer = post(Request(url, data, {"content-type": "application/json"}, SECONDS), machine.clock())
    return "" if answer.is_good else answer.complaint


WAYS: dict[str, Callable[[Message, Machine], str]] = {
    "desktop": _to_the_desktop,
    "command": _to_a_command,
    "webhook": _to_a_webhook,
    "webhook_file": _to_a_webhook,
}


def _run(words: list[str], data: bytes, environ: Mapping[str, str]) -> str:
    """A program without a shell, in a group of its own, which is ended with all that it started."""
    try:
        child = subprocess.Popen(  # noqa: S603 - the person's own list of words, and no shell
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=_variables(environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", "") or str(error)).lower()
        return f"`{words[0]}` cannot be run: {why}"
    try:
        child.communicate(data, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return f"`{words[0]}` did not end within {SECONDS:g} s"
    return f"`{words[0]}` ended with {child.returncode}" if child.returncode else ""


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The service has no variables; where the desktop of a user listens is known without them."""
    runtime = f"/run/user/{os.getuid()}"
    usual = {"PATH": PATH, "XDG_RUNTIME_DIR": runtime, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus"}
    return {**usual, **{name: environ[name] for name in PASSED_ON if name in environ}}
