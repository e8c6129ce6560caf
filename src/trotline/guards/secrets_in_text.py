"""Guard: secrets in texts: prompts, files that are read or written, commands, calls, outputs."""

import posixpath

from trotline.analysis.secret_files import classify_secret_file, is_dotenv
from trotline.domain.effects import Certainty, Effect
from trotline.guards.guard import ASK, CRITICAL, DENY, HIGH, PASS, WARN, Filter, GuardContext, build_guard, rule

_TEST_DIRECTORIES = frozenset(
    "test tests testing testdata __tests__ spec specs fixture fixtures __fixtures__ example examples sample samples"
    " mock mocks __mocks__ snapshots __snapshots__ cassettes".split()
)
_TEST_WORDS = ("example", "sample", "template", "fixture", "dummy", "mock", "placeholder")
_TEST_SUFFIXES = (".test.", ".spec.", "_test.", "_spec.")
_REDACT = "take the value out, and say where it is kept instead; if it is live, it should be replaced"


def _is_test_or_example(effect: Effect, context: GuardContext) -> bool:
    """Return whether the file is one of tests or examples by its name or its directory in the workspace."""
    path = effect.path
    root = next((root for root in context.environment.roots if path.startswith(root.rstrip("/") + "/")), None)
    below = path[len(root) :] if root is not None else "" if path.startswith("/") else path
    name = posixpath.basename(path).lower()
    named = name.startswith("test_") or any(part in name for part in (*_TEST_WORDS, *_TEST_SUFFIXES))
    return path != "" and (named or not _TEST_DIRECTORIES.isdisjoint(posixpath.dirname(below).lower().split("/")))


def _is_dotenv_file(effect: Effect, _: GuardContext) -> bool:
    """Return whether the file is where a project keeps its secrets, which git ignores."""
    return is_dotenv(classify_secret_file(effect.path))


GUARD = build_guard(
    "secrets_in_text",
    "secrets in prompts, in files that are read or written, in commands, calls and outputs",
    {
        "prompt": rule(
            Filter("content: secrets", sources={"prompt"}, certainty=Certainty.KNOWN),
            CRITICAL,
            "the prompt holds a secret: {target} ({why})",
            _REDACT,
        ),
        "perhaps in a prompt": rule(
            Filter("content: secrets", sources={"prompt"}),
            (WARN, ASK, DENY),
            "the prompt may hold a secret: {target} ({why})",
            _REDACT,
        ),
        "tests and examples": rule(
            Filter("content: secrets", sources={"read", "write"}, when=_is_test_or_example),
            (PASS, WARN, ASK),
            "{path} holds what looks like a secret: {target} ({why})",
            "use a value that says that it is an example",
        ),
        "file that is read": rule(
            Filter("content: secrets", sources={"read"}, certainty=Certainty.KNOWN),
            CRITICAL,
            "{path} holds a secret: {target} ({why}); what an agent reads goes to a model",
            "ask the person to put the value somewhere else, or to tell you what you need to know about the file",
        ),
        "perhaps in a file that is read": rule(
            Filter("content: secrets", sources={"read"}),
            (WARN, ASK, DENY),
            "{path} may hold a secret: {target} ({why})",
            "ask the person",
        ),
        "environment file": rule(
            Filter("content: secrets", sources={"write"}, when=_is_dotenv_file),
            (PASS, WARN, ASK),
            "a secret would be written into {path}: {target}",
            "let the person write it there",
        ),
        "file that is written": rule(
            Filter("content: secrets", sources={"write"}, certainty=Certainty.KNOWN),
            (WARN, DENY, DENY),
            "a secret would be written into {path}: {target} ({why})",
            "read it from the environment or from a secret manager when the program runs",
        ),
        "perhaps in a file that is written": rule(
            Filter("content: secrets", sources={"write"}),
            (PASS, WARN, ASK),
            "perhaps a secret would be written into {path}: {target} ({why})",
            "read it from the environment or from a secret manager when the program runs",
        ),
        "call of a server": rule(
            Filter("content: secrets", sources={"arguments"}, certainty=Certainty.KNOWN),
            HIGH,
            "a secret would be given to a tool: {target}",
            "let the server read it where it is kept",
        ),
        "perhaps in a call": rule(
            Filter("content: secrets", sources={"arguments"}),
            (PASS, WARN, ASK),
            "perhaps a secret would be given to a tool: {target}",
        ),
        "command": rule(
            Filter("content: secrets", sources={"command"}, certainty=Certainty.KNOWN),
            (WARN, ASK, DENY),
            "the command holds a secret, which then stands in its history and in the list of processes: {target}",
            "put it into a variable or a file that only its program reads",
        ),
        "perhaps in a command": rule(
            Filter("content: secrets", sources={"command"}),
            (PASS, WARN, ASK),
            "the command may hold a secret: {target}",
        ),
        "output": rule(
            Filter("content: secrets", sources={"output"}, certainty=Certainty.KNOWN),
            CRITICAL,
            "what the tool gave back holds a secret: {target}",
            "Do not repeat it, do not write it anywhere, and tell the person that it was shown",
        ),
        "perhaps in an output": rule(
            Filter("content: secrets", sources={"output"}), (WARN, WARN, ASK), "an output may hold a secret: {target}"
        ),
        "answer": rule(
            Filter("content: secrets", sources={"response"}, certainty=Certainty.KNOWN),
            (WARN, WARN, WARN),
            "the answer holds a secret: {target}",
        ),
        "perhaps in an answer": rule(
            Filter("content: secrets", sources={"response"}),
            (PASS, WARN, WARN),
            "the answer may hold a secret: {target}",
        ),
        "rest of a long file": rule(
            "content: rest",
            (WARN, ASK, DENY),
            "{path} is too long to be looked at whole before it is read",
            "read the part of it that you need with a command",
        ),
    },
)
