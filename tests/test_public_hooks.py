"""Hooks files from public repositories, run for every event with harmless scripts."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, make_workspace, read_corpus, run_trotline
from trotline.domain.events import EVENTS

CORPUS = Path(__file__).parents[2] / "shared" / "corpora" / "hooks_json"
KINDS = read_corpus("public_hooks")["kinds"]
STAND_INS = {
    ".sh": "#!/bin/bash\ncat > /dev/null\necho '{}'\n",
    ".py": "#!/usr/bin/env python3\nimport sys\nsys.stdin.read()\nprint('{}')\n",
    ".js": "process.stdin.resume(); process.stdin.on('end', () => console.log('{}'));\n",
    ".mjs": "process.stdin.resume(); process.stdin.on('end', () => console.log('{}'));\n",
}
SHELL = {"beforeShellExecution", "afterShellExecution"}
CONVERSATION = "\n".join(
    json.dumps({"event": name, **({"command": "git status"} if name in SHELL else {})}) for name in EVENTS
)


def _stand_in(workspace: Workspace, text: str) -> None:
    """Write a harmless script for every project file that a command names."""
    text = re.sub(r'\\?"?\$\{?CURSOR_PROJECT_DIR\}?\\?"?/', "", text)
    for word in re.findall(r"(?<![\w/.$~-])(?:\./)?[\w.-]+(?:/[\w.-]+)+", text):
        body = STAND_INS.get(Path(word).suffix)
        if body is not None:
            workspace.script(f"project/{word}", body)


def _play(name: str, tmp_path: Path) -> tuple[list[dict[str, Any]], set[str]]:
    text = (CORPUS / f"{name}.json").read_text("utf-8")
    workspace = make_workspace(tmp_path)
    workspace.write("project", text)
    _stand_in(workspace, text)
    path = {"PATH": os.environ["PATH"]}
    assert run_trotline("trust", "--yes", *workspace.options, cwd=workspace.project, environment=path).returncode == 0
    script = workspace.write("talk.jsonl", CONVERSATION)
    done = run_trotline(
        "fire", "--script", str(script), "--json", *workspace.options, cwd=workspace.project, environment=path
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["data"]["events"], set(json.loads(text)["hooks"])


@pytest.mark.skipif(not CORPUS.exists(), reason="no corpus of hooks.json files beside this repository")
@pytest.mark.parametrize("name,kind", KINDS.items())
def test_a_public_file_is_played_to_the_end(name: str, kind: str, tmp_path: Path) -> None:
    if kind == "node" and not shutil.which("node"):
        pytest.skip("these hooks are written for Node, which is not here")
    events, configured = _play(name, tmp_path)
    assert [one["event"] for one in events] == list(EVENTS)
    answered = {one["event"] for one in events if one["responses"]}
    assert answered
    assert answered <= configured
    responses = [response for one in events for response in one["responses"]]
    assert [response["failure"] for response in responses if response["failure"]] == []
    assert [alarm for one in events for alarm in one["alarms"]] == []
