"""Secrets in the texts of a conversation: prompts, files that are read or written, commands, calls, outputs."""

import posixpath

from trotline.analysis.credentials import credential, is_dotenv
from trotline.effects import Certainty, Effect
from trotline.guards.guard import Guard, Row, Sight, Test

_DIRECTORIES = frozenset(
    "test tests testing testdata __tests__ spec specs fixture fixtures __fixtures__ example examples sample samples"
    " mock mocks __mocks__ snapshots __snapshots__ cassettes".split()
)
_WORDS = ("example", "sample", "template", "fixture", "dummy", "mock", "placeholder")
_TESTS = (".test.", ".spec.", "_test.", "_spec.")


def _for_show(effect: Effect, sight: Sight) -> bool:
    """A file of tests or examples by its place in the workspace; what is above the workspace says nothing."""
    path = effect.path
    root = next((root for root in sight.world.roots if path.startswith(root.rstrip("/") + "/")), None)
    below = path[len(root) :] if root is not None else "" if path.startswith("/") else path
    name = posixpath.basename(path).lower()
    named = name.startswith("test_") or any(part in name for part in (*_WORDS, *_TESTS))
    return path != "" and (named or not _DIRECTORIES.isdisjoint(posixpath.dirname(below).lower().split("/")))


def _in(*sources: str, known: bool | None = None) -> Test:
    """A secret in a text of these kinds."""

    def test(effect: Effect, _: Sight) -> bool:
        sure = effect.certainty is Certainty.KNOWN
        return effect.verb == "secrets" and effect.source in sources and known in {None, sure}

    return test


def _shown(effect: Effect, sight: Sight) -> bool:
    return _in("read", "write")(effect, sight) and _for_show(effect, sight)


def _at_home(effect: Effect, sight: Sight) -> bool:
    """Written where secrets of a project belong, which git is told to leave out."""
    return _in("write")(effect, sight) and is_dotenv(credential(effect.path))


def _unseen(effect: Effect, _: Sight) -> bool:
    return effect.verb == "rest"


_REDACT = "take the value out, and say where it is kept instead; if it is live, it should be replaced"

GUARD = Guard(
    name="secrets_in_text",
    danger="secrets in prompts, in files that are read or written, in commands, calls and outputs",
    kinds=frozenset({"content"}),
    rows=(
        Row(
            "prompt",
            _in("prompt", known=True),
            "deny deny deny",
            "the prompt holds a secret: {target} ({why})",
            _REDACT,
        ),
        Row(
            "perhaps in a prompt",
            _in("prompt"),
            "warn ask deny",
            "the prompt may hold a secret: {target} ({why})",
            _REDACT,
        ),
        Row(
            "tests and examples",
            _shown,
            "pass warn ask",
            "{path} holds what looks like a secret: {target} ({why})",
            "use a value that says that it is an example",
        ),
        Row(
            "file that is read",
            _in("read", known=True),
            "deny deny deny",
            "{path} holds a secret: {target} ({why}); what an agent reads goes to a model",
            "ask the person to put the value somewhere else, or to tell you what you need to know about the file",
        ),
        Row(
            "perhaps in a file that is read",
            _in("read"),
            "warn ask deny",
            "{path} may hold a secret: {target} ({why})",
            "ask the person",
        ),
        Row(
            "environment file",
            _at_home,
            "pass warn ask",
            "a secret would be written into {path}: {target}",
            "let the person write it there",
        ),
        Row(
            "file that is written",
            _in("write", known=True),
            "warn deny deny",
            "a secret would be written into {path}: {target} ({why})",
            "read it from the environment or from a secret manager when the program runs",
        ),
        Row(
            "perhaps in a file that is written",
            _in("write"),
            "pass warn ask",
            "perhaps a secret would be written into {path}: {target} ({why})",
            "read it from the environment or from a secret manager when the program runs",
        ),
        Row(
            "call of a server",
            _in("arguments", known=True),
            "ask deny deny",
            "a secret would be given to a tool: {target}",
            "let the server read it where it is kept",
        ),
        Row(
            "perhaps in a call",
            _in("arguments"),
            "pass warn ask",
            "perhaps a secret would be given to a tool: {target}",
        ),
        Row(
            "command",
            _in("command", known=True),
            "warn ask deny",
            "the command holds a secret, which then stands in its history and in the list of processes: {target}",
            "put it into a variable or a file that only its program reads",
        ),
        Row("perhaps in a command", _in("command"), "pass warn ask", "the command may hold a secret: {target}"),
        Row(
            "output",
            _in("output", known=True),
            "deny deny deny",
            "what the tool gave back holds a secret: {target}",
            "Do not repeat it, do not write it anywhere, and tell the person that it was shown",
        ),
        Row("perhaps in an output", _in("output"), "warn warn ask", "an output may hold a secret: {target}"),
        Row("answer", _in("response", known=True), "warn warn warn", "the answer holds a secret: {target}"),
        Row("perhaps in an answer", _in("response"), "pass warn warn", "the answer may hold a secret: {target}"),
        Row(
            "rest of a long file",
            _unseen,
            "warn ask deny",
            "{path} is too long to be looked at whole before it is read",
            "read the part of it that you need with a command",
        ),
    ),
)
