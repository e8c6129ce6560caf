"""Commands with their expected verdicts, in tests/corpus.

A heading such as `# standard: ask, strict: deny` holds for the lines below it. `stop` means ask or deny, `pass` means
neither. `# standard: stop (code of python3 -c)` makes each line an argument of that program. `␤` is a newline, and `#!`
starts a comment.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from trotline.analysis.analyze import analyze_command
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import evaluate
from trotline.policy.policy import Policy

CORPUS = Path(__file__).parent / "corpus"
OWN_PATHS = ("/home/dev/.local/state/trotline", "/home/dev/.config/trotline")
ENVIRONMENT = Environment("/home/dev/project", ("/home/dev/project",), "/home/dev", "dev", own_paths=OWN_PATHS)
HEADING = re.compile(r"# ((?:standard|strict): \w+(?:, strict: \w+)?)(?: \(code of (.+)\))?")


def read_cases() -> Iterator[tuple[str, dict[str, str], str]]:
    for file in sorted(CORPUS.glob("*.txt")):
        expected: dict[str, str] = {}
        program = ""
        for line in file.read_text("utf-8").split("\n"):
            heading = HEADING.fullmatch(line)
            if heading is not None:
                expected = dict(part.split(": ") for part in heading[1].split(", "))
                program = heading[2] or ""
            elif line and not line.startswith("#!"):
                text = line.replace("␤", "\n")
                yield file.stem, expected, f"{program} {shlex.quote(text)}" if program else text


CASES = [pytest.param(expected, command, id=f"{name}-{command}") for name, expected, command in read_cases()]


@pytest.mark.parametrize("expected, command", CASES)
def test_command_has_the_expected_verdict(expected: dict[str, str], command: str) -> None:
    effects = analyze_command(command, ENVIRONMENT).effects
    for preset, word in expected.items():
        permission = evaluate(effects, ENVIRONMENT, Policy(preset)).permission
        accepted = {permission.word, "stop" if permission >= Permission.ASK else "pass"}
        assert word in accepted, preset


def test_corpus_is_complete() -> None:
    assert len(CASES) >= 1900
