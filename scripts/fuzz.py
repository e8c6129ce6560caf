"""Coverage-guided fuzzing of everything that reads what strangers wrote: files, payloads, answers, patterns.

python scripts/fuzz.py --seconds 600             all targets, one after the other, in child processes
python scripts/fuzz.py --seconds 60 --target event

A target is a function of bytes that raises when an invariant is broken. What was found is kept in .fuzz/, one
directory a target, and serves as the start of the next run. The targets need no atheris: tests/test_fuzz.py runs them
on what hypothesis draws.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from trotline import jsregex
from trotline.config.configuration import Configuration, read_layers
from trotline.config.jsonc import Document, Node
from trotline.config.jsonc_reader import read
from trotline.config.layers import layer_of
from trotline.config.places import Roots
from trotline.errors import UnreadablePayload
from trotline.events import EVENTS, Event
from trotline.fields import sample
from trotline.hooks import Layer, LayerKind
from trotline.hosts.cursor import read_event, write_event
from trotline.hosts.cursor_editions import NAMES, edition
from trotline.hosts.cursor_replies import Answer, read_reply
from trotline.verdicts import SILENCE

ROOT = Path(__file__).parent.parent
KEPT = ROOT / ".fuzz"


class InvariantError(AssertionError):
    """Something that must hold for every input, and does not for this one."""


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise InvariantError(what)


# -- reading JSON with comments


def jsonc(data: bytes) -> None:
    document = read(data)
    _must(document == read(data), "reading again gives the same document")
    size = len(document.text)
    for fault in document.faults:
        _must(0 <= fault.start <= size, f"a fault begins inside the text: {fault}")
        _must(fault.start <= fault.end <= size + 1, f"a fault ends inside the text: {fault}")
        _must(bool(fault.message), "a fault says what is wrong")
        _placed(document, fault.start)
    for start, end in document.comments:
        _must(0 <= start < end <= size, "a comment stands inside the text")
    if document.root is not None:
        _nested(document, document.root)


def _placed(document: Document, offset: int) -> None:
    line, column = document.position(offset)
    _must(1 <= line <= len(document.line_starts), f"line {line} exists")
    _must(column >= 1, "columns count from 1")
    start = document.line_starts[line - 1]
    _must(start + column - 1 == offset, "a position leads back to its offset")


def _nested(document: Document, root: Node) -> None:
    _must(0 <= root.start <= root.end <= len(document.text), "the value stands inside the text")
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for inner in _inside(node):
            _must(node.start <= inner.start <= inner.end <= node.end, f"{inner} stands inside {node}")
            waiting.append(inner)


def _inside(node: Node) -> Iterator[Node]:
    yield from node.items
    for member in node.members.values():
        yield member.key
        yield member.value


# -- reading whole layers


class World(NamedTuple):
    """A project in a directory of its own, with one file in Cursor's format, one in Claude Code's, and one plugin."""

    roots: Roots
    layers: dict[str, list[Layer]]  # by edition


def _world(directory: Path) -> World:
    project, home = directory / "project", directory / "home"
    files = {
        LayerKind.PROJECT: project / ".cursor" / "hooks.json",
        LayerKind.CLAUDE_PROJECT: project / ".claude" / "settings.json",
        LayerKind.PLUGIN: home / ".cursor" / "plugins" / "local" / "sample" / ".cursor-plugin" / "plugin.json",
    }
    for file in files.values():
        file.parent.mkdir(parents=True)
        file.touch()
    roots = Roots(home=home, system=directory / "system", projects=(project,), search_path=("/bin",))
    found = {name: [layer_of(file, roots, edition(name), kind) for kind, file in files.items()] for name in NAMES}
    return World(roots, found)


WORLDS: list[tuple["tempfile.TemporaryDirectory[str]", World]] = []


def _the_world() -> World:
    """Made once for each process; every input overwrites its files."""
    if not WORLDS:
        directory = tempfile.TemporaryDirectory(prefix="trotline-fuzz-")
        WORLDS.append((directory, _world(Path(directory.name))))
    return WORLDS[0][1]


def layers(data: bytes) -> None:
    """One input is all three files; its length chooses the edition."""
    world, name = _the_world(), NAMES[len(data) % len(NAMES)]
    for layer in world.layers[name]:
        Path(layer.file).write_bytes(data)
    found = read_layers(world.layers[name], world.roots, edition(name))
    _must(found == read_layers(world.layers[name], world.roots, edition(name)), "reading again finds the same")
    _sound(found)


def _sound(found: Configuration) -> None:
    for layer in found.layers:
        places = [(problem.place, problem.code) for problem in layer.problems]
        _must(places == sorted(places), "problems are sorted by place and code")
        for problem in layer.problems:
            _must(bool(problem.message), "a problem says what is wrong")
            _must(problem.place.line >= 0, "lines count from 1")
            _must(problem.width >= 1, "a problem has a width")
            if problem.source:
                _must(1 <= problem.source_column <= len(problem.source) + 1, f"{problem} points into its line")
        ids = [hook.id for hook in layer.hooks]
        _must(len(set(ids)) == len(ids), "no two hooks have one id")
        for hook in layer.hooks:
            _must(bool(hook.command) != bool(hook.prompt), "a hook has a command or a prompt")
            _must(hook.event in EVENTS, "a hook waits for a known event")
            _must(hook.timeout > 0, "a hook has time to run")


# -- payloads, answers, patterns


def event(data: bytes) -> None:
    first, second = _event(data), _event(data)
    _must(first == second, "reading again gives the same event")
    if isinstance(first, Event):
        _must(bool(first.wire_name), "an event has a name")
        written = write_event(first)
        _must(written.startswith(b"{") and written.endswith(b"}"), "an object is written, and nothing after it")
        written.decode("utf-8")


def _event(data: bytes) -> Event | str:
    try:
        return read_event(data)
    except UnreadablePayload as error:
        return error.message


CONTRACTS = [cls.contract for cls in EVENTS.values()]


def reply(data: bytes) -> None:
    """The first bytes choose the event, the edition, the exit code and the layer; the rest is the output."""
    head, output = data[:4].ljust(4, b"\0"), data[4:]
    contract, contracted = CONTRACTS[head[0] % len(CONTRACTS)], edition(NAMES[head[1] % len(NAMES)])
    answer = Answer((0, 0, 0, 2, 1)[head[2] % 5], output, output[:40])
    closed, claude = bool(head[3] & 1), bool(head[3] & 2)
    heard = read_reply(contract, answer, contracted, command="x", fail_closed=closed, from_claude=claude)
    again = read_reply(contract, answer, contracted, command="x", fail_closed=closed, from_claude=claude)
    _must(repr(heard) == repr(again), "reading again hears the same")  # by text, because NaN is not equal to itself
    if heard.failure is not None:
        _must(heard.verdict is SILENCE, "a failure says nothing")
        _must(bool(heard.failure.detail), "a failure has words")
    if not contracted.refuses(contract.name, refusable=contract.refusable):
        _must(not heard.verdict.permission, "what cannot be refused is not refused")
    _must(all(heard.warnings), "a warning has words")


def pattern(data: bytes) -> None:
    source = data.decode("utf-8", "surrogateescape")  # a byte that is no UTF-8 becomes half an emoji
    first, second = _pattern(source), _pattern(source)
    _must(first == second, "reading again finds the same")
    if isinstance(first, jsregex.Pattern):
        _must(first.source == source, "a pattern remembers its source")
        _must((first.re2 is None) == bool(first.beyond), "a pattern is translated, or says why not")


def _pattern(source: str) -> jsregex.Pattern | tuple[str, int]:
    try:
        return jsregex.parse(source)
    except jsregex.PatternError as error:
        _must(0 <= error.offset <= len(source), f"an error stands inside the pattern: {error.offset}")
        _must(bool(error.message), "an error says what is wrong")
        return error.message, error.offset


# -- the targets

HOOKS_FILES = (
    b'{"version": 1, "hooks": {"stop": [{"command": "./a.sh", "timeout": 5, "loop_limit": null}]}}',
    b'// why\n{"version": 1, "hooks": {"preToolUse": [{"command": "sh a", "matcher": "She|R", "failClosed": true},]}}',
    b'{"version": 1, "hooks": {"preToolUse": [{"type": "prompt", "prompt": "?", "model": "m", "matcher": "(?=a)"}]}}',
    b'{"hooks": {"Stop": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "timeout": 600}]}]}}',
    b'{"name": "x", "hooks": "./hooks/hooks.json"}',
    b'\xef\xbb\xbf{"version": "1", "hooks": {"beforeShellExec": {"command": "curl https://example.com"}}}',
)
REPLIES = (
    b'{"permission": "deny", "user_message": "no", "agent_message": "no"}',
    b'log {\n{"continue": false, "additional_context": "c", "env": {"A": "1"}}',
    b'{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "r", "updatedInput": {}}}',
    b'{"decision": "block", "reason": "r", "followup_message": "f", "pluginPaths": ["/a"], "question": "q"}',
)
PATTERNS = (
    b"curl|wget|nc ",
    b"^(?:a+?|[^b-z\\d]{2,3})*$",
    b"(?<name>x)\\k<name>\\1",
    b"(?<=a)b(?!c)\\u{1F600}\\cA\\x41",
    b"(?i-s:x)[\\b\\w-]",
    "\\p{L}😀".encode(),
)


class Target(NamedTuple):
    """What is fuzzed, where its inputs begin, and the words that such inputs are made of."""

    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[str, ...]


JSON_WORDS = ("{", "}", "[", "]", ":", ",", '"', "\\", "//", "/*", "*/", "null", "true", "1e9", "\\ud83d", "\n")
KEYS = ("version", "hooks", "command", "matcher", "timeout", "type", "prompt", "failClosed", "loop_limit")
REPLY_KEYS = ("permission", "continue", "decision", "reason", "hookSpecificOutput", "updated_input", "deny", "ask")
PATTERN_WORDS = ("(?:", "(?=", "(?<!", "(?<a>", "\\k<a>", "\\1", "[^", "]", "{1,2}", "\\b", "\\cA", "\\x41", "|", "*?")

TARGETS = (
    Target("jsonc", jsonc, HOOKS_FILES, JSON_WORDS),
    Target("layers", layers, HOOKS_FILES, (*JSON_WORDS, *KEYS, *EVENTS)),
    Target("event", event, tuple(json.dumps(sample(name)).encode() for name in EVENTS), (*JSON_WORDS, *EVENTS)),
    Target("reply", reply, tuple(b"\3\2\0\0" + text for text in REPLIES), (*JSON_WORDS, *REPLY_KEYS)),
    Target("pattern", pattern, PATTERNS, PATTERN_WORDS),
)


# -- running them

CHILD = """
import sys
import atheris
sys.path.insert(0, sys.argv[1])
with atheris.instrument_imports(include=["trotline"]):
    import fuzz
fuzz.fuzz(sys.argv[2], int(sys.argv[3]))
"""
"""What is imported inside that block reports which of its branches an input took."""


def main() -> int:
    arguments = argparse.ArgumentParser(description="fuzz the readers with atheris")
    arguments.add_argument("--seconds", type=int, default=600, help="for all targets together")
    arguments.add_argument("--target", choices=[target.name for target in TARGETS], help="only this one")
    options = arguments.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed; `make soak` installs it, or: pip install --require-hashes -r locks/soak.txt")
        return 1
    chosen = [target for target in TARGETS if options.target in {None, target.name}]
    seconds = max(1, options.seconds // len(chosen))
    crashed = [target.name for target in chosen if not _in_a_child(target, seconds)]
    print(f"crashed: {', '.join(crashed)}" if crashed else f"no crash in {len(chosen)} targets")
    return 1 if crashed else 0


def _in_a_child(target: Target, seconds: int) -> bool:
    """Fuzz one target for this long; libFuzzer ends its process when it is done, so each target has its own."""
    crashes = KEPT / "crashes" / target.name
    crashes.mkdir(parents=True, exist_ok=True)
    before = set(crashes.iterdir())
    arguments = [str(ROOT / "scripts"), target.name, str(seconds)]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a directory of its own in there
    with tempfile.TemporaryDirectory(prefix="trotline-fuzz-", dir=memory) as directory:  # libFuzzer cleans nothing up
        environment = {**os.environ, "TMPDIR": directory}
        done = subprocess.run(
            [sys.executable, "-c", CHILD, *arguments], capture_output=True, check=False, env=environment
        )
    log = done.stderr.decode("utf-8", "replace")
    runs = re.search(r"number_of_executed_units: (\d+)", log)
    print(f"{target.name:8} {int(runs[1]) if runs else 0:>12,} executions", flush=True)
    found = sorted(set(crashes.iterdir()) - before)
    for file in found:
        print(f"{file.relative_to(ROOT)}: {file.read_bytes()!r}")
    if done.returncode or found:
        said = done.stdout.decode("utf-8", "replace")
        print(said[-4000:] if "Traceback" in said else log[-4000:])
    return done.returncode == 0 and not found


def fuzz(name: str, seconds: int) -> None:
    """In the child: hand the target to libFuzzer, which never returns."""
    import atheris

    target = next(target for target in TARGETS if target.name == name)
    kept, seeds, words = KEPT / name, KEPT / "seeds" / name, KEPT / f"{name}.dict"
    for directory in (kept, seeds):
        directory.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (seeds / str(number)).write_bytes(seed)
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words), "ascii")
    flags = [
        f"-max_total_time={seconds}",
        f"-artifact_prefix={KEPT / 'crashes' / name}/",
        f"-dict={words}",
        "-max_len=4096",
        "-timeout=20",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
    ]
    atheris.Setup([name, *flags, str(kept), str(seeds)], target.run)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


if __name__ == "__main__":
    sys.exit(main())
