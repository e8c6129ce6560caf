"""Check that no identifier uses a word of the old vocabulary.

    python scripts/old_names.py            list the identifiers, with file and line
    python scripts/old_names.py --words    count them by word

A word counts wherever it is a part of a name: `told` in `_told_once` and `ToldTwice`. ALLOWED lists exceptions. Exit
code 1 if there is an old name, or an exception that is not needed.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DIRECTORIES = ("src", "tests", "bench", "scripts", "examples", "client")

OLD_WORDS: dict[str, str] = {
    "anew": "again, rebuild, regenerate",
    "anybody": "the role: user, agent, caller",
    "asked": "requested, prompts",
    "begun": "started",
    "beside": "next_to, parallel",
    "carrier": "wrapper",
    "carriers": "wrappers",
    "deed": "execution, action",
    "deeds": "executions, actions",
    "endings": "exit_status",
    "figures": "metrics",
    "heard": "response, responses",
    "heed": "apply, follow",
    "judged": "evaluated, verdict",
    "judgement": "evaluation",
    "kept": "stored, written, remaining",
    "longest": "max",
    "nobody": "the role: user, agent, caller",
    "said": "text, message, output",
    "says": "action, output",
    "scribe": "detail_writer",
    "seat": "side",
    "sight": "context",
    "somebody": "the role: user, agent, caller",
    "spoken": "responded",
    "talk": "conversation",
    "talks": "conversations",
    "told": "message, reported, settings",
    "trail": "audit_log",
    "voice": "response",
    "voices": "responses",
    "void": "fatal",
    "who": "identity, owner, author",
    "whose": "identity, owner",
    "wish": "request, call",
    "wishes": "requests, calls",
    "wording": "detail_policy, text",
}
"""Each old word with the words that replace it."""

ALLOWED: dict[tuple[str, str], str] = {
    ("src/trotline/domain/contracts.py", "ASKED"): "public API; the agent asks the user, as the decision `ask` demands",
    ("src/trotline/domain/outcomes.py", "is_asked"): "public API; the name of the decision is `ask`",
}
"""Identifiers that may use an old word, each in one file and with a reason."""

PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


class OldName(NamedTuple):
    """An identifier with an old word."""

    file: str
    line: int
    name: str
    word: str


def find_old_names() -> Iterator[OldName]:
    """Return every identifier of the project that uses an old word."""
    for path in list_files():
        relative = str(path.relative_to(ROOT))
        for line, name in list_identifiers(path.read_text("utf-8")):
            yield from (OldName(relative, line, name, word) for word in split_name(name) if word in OLD_WORDS)


def list_files() -> list[Path]:
    """Return the Python files of the project."""
    return sorted(path for directory in DIRECTORIES for path in (ROOT / directory).rglob("*.py"))


def list_identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Return the names that a file defines: functions, classes, parameters, variables and attributes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def split_name(name: str) -> list[str]:
    """Split an identifier into words: `ToldTwice` and `told_twice` are told, twice."""
    return [part.lower() for part in PARTS.findall(name)]


def main() -> int:
    """Print the old names, and return the exit code."""
    parser = argparse.ArgumentParser(description="Check that no identifier uses a word of the old vocabulary.")
    parser.add_argument("--words", action="store_true", help="count by word instead of listing names")
    arguments = parser.parse_args()
    all_old_names = list(find_old_names())
    old_names = [old for old in all_old_names if (old.file, old.name) not in ALLOWED]
    unused = ALLOWED.keys() - {(old.file, old.name) for old in all_old_names}
    if arguments.words:
        for word, count in Counter(old.word for old in old_names).most_common():
            print(f"{count:5} {word} -> {OLD_WORDS[word]}")
    else:
        for old in old_names:
            print(f"{old.file}:{old.line}: {old.name}: instead of `{old.word}` use {OLD_WORDS[old.word]}")
    for file, name in sorted(unused):
        print(f"scripts/old_names.py: remove `{name}` of {file} from ALLOWED, it is not in that file")
    print(f"{len(old_names)} old names in {len(list_files())} files")
    return 1 if old_names or unused else 0


if __name__ == "__main__":
    sys.exit(main())
