"""Uses of built-in hooks: the hooks.json of an example in a project, with a fake agent and run by hand."""

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from secret_samples import SECRET_TEMPLATES, fill_template
from trotline.testing import FakeAgent, build_payload

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "uses"
PAGE = ROOT / "docs" / "built-in-hooks.md"


def secret(kind: str) -> str:
    """Build a secret that is in no file of the repository."""
    return fill_template(SECRET_TEMPLATES[kind])


class HookReply(NamedTuple):
    """The reply of a process: the object on standard output, standard error, and exit code."""

    body: dict[str, Any]
    stderr: str
    code: int


class Use:
    """An example in a separate workspace; the `trotline` on its PATH is this one, with the home of that workspace."""

    def __init__(self, directory: Path, name: str, **environ: str) -> None:
        self.name = name
        programs = directory / "programs"
        programs.mkdir()
        self.environ = {
            "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "LANG": "C.UTF-8",
            **environ,
        }
        self.agent = FakeAgent(directory, self.environ)
        self.environ = dict(self.agent.environ)
        self.project, self.home = self.agent.project, self.agent.home
        line = shlex.join([sys.executable, "-P", "-m", "trotline"])
        program = programs / "trotline"
        program.write_text(f'#!/bin/sh\nexec {line} "$@" --home {shlex.quote(str(self.home))}\n')
        program.chmod(0o755)
        self.agent.write_hooks_json("project", EXAMPLES / name / "hooks.json")

    @property
    def state(self) -> Path:
        return self.home / ".local/state/trotline/v1/builtin" / self.name

    def write(self, name: str, text: str) -> Path:
        file = self.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def by_hand(self, event: str, line: str = "", **fields: Any) -> HookReply:
        """Run the line of the example, or another one, with a payload of Cursor."""
        entries = json.loads((EXAMPLES / self.name / "hooks.json").read_text())["hooks"].get(event, [])
        return self.run_payload(line or entries[0]["command"], self.payload(event, **fields))

    def run_payload(self, line: str, body: dict[str, Any]) -> HookReply:
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.project,
            env=self.environ,
            input=json.dumps(body),
            capture_output=True,
            text=True,
            check=False,
        )
        return HookReply(json.loads(done.stdout or "{}"), done.stderr, done.returncode)

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        own = {"conversation_id": self.agent.conversation_id, "workspace_roots": [str(self.project)]}
        return build_payload(event, **{**own, **fields})

    def shell(self, script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/bin/sh", "-eu", "-c", script],
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )


class Server:
    """A local HTTP server that records requests, and replies with `status`."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = (
                    server.status
                )  # read first: a test that sees the body may change the status for the next request
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                server.received.append(json.loads(body))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/stops?token=s3cret"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def got(self, count: int) -> list[dict[str, Any]]:
        deadline = time.monotonic() + 30
        while len(self.received) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.received

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
