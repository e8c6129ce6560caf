"""Find unused code. Tests do not count as a use; exceptions are listed here with their reasons.

Fields are declarations, so only functions and names at the top of a module are checked.
"""

import sys
from pathlib import Path

import vulture

ROOT = Path(__file__).parent.parent

ALLOWED = {
    "wait_for_service": "the tests of the service use it",
    "list_commands": "called by click",
    "get_command": "called by click",
    "find_losses": "called by users of the adapter",
    "write_hooks_json": "called by the tests of new projects",
    "format_commands": "called by click",
    "log_errors": "read by re2",
    "text_factory": "read by sqlite3",
    "find_index_faults": "the tests of the store use it",
    "dont_write_bytecode": "read by Python",
    "__getattr__": "called by Python for a public name",
    "fuzz": "called by atheris",
    "updated_us": "in the file of a session, for people",
    "View": "implemented by what commands return",
}


def main() -> int:
    called = ["@on.*", "@command.command", "@declare"]  # by agents, and by click
    finder = vulture.Vulture(ignore_names=["visit_*"], ignore_decorators=called)  # visit_*: called by ast.NodeVisitor
    finder.scavenge([ROOT / "src", ROOT / "scripts", ROOT / "examples"])
    declared = {"events.py"}  # found through the table of events
    dead = [
        item
        for item in finder.get_unused_code(min_confidence=60)
        if item.name not in ALLOWED and item.filename.name not in declared and not _is_field(item)
    ]
    for item in dead:
        print(f"{item.filename.relative_to(ROOT)}:{item.first_lineno}: nothing uses `{item.name}`")
    idle = set(ALLOWED) - {item.name for item in finder.get_unused_code(min_confidence=60)}
    for name in sorted(idle):
        print(f"scripts/dead_code.py: `{name}` is used by now; take it off the list")
        dead.append(name)
    return 1 if dead else 0


def _is_field(item: vulture.core.Item) -> bool:
    line = item.filename.read_text("utf-8").splitlines()[item.first_lineno - 1]
    return bool(item.typ == "variable") and line.startswith(" ")


if __name__ == "__main__":
    sys.exit(main())
