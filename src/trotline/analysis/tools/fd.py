"""fd: goes through trees like find, and runs a program with what it finds."""

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream

_VALUED = (
    "d max-depth min-depth exact-depth E exclude t type e extension S size changed-within changed-before o owner"
    " format j threads c color and base-directory path-separator search-path ignore-file max-results"
)
_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_NARROWING = ("e", "extension", "S", "size", "changed-within", "changed-before", "d", "max-depth", "exact-depth", "and")
_PLACEHOLDERS = ("{}", "{/}", "{//}", "{.}", "{/.}")


def _fd(step: Step) -> None:
    cut = next((at for at, word in enumerate(step.words) if word.text in _RUNS), len(step.words))
    command = step.words[cut + 1 :]
    end = next((at for at, word in enumerate(command) if word.text == ";"), len(command))
    own = step.words[:cut] + command[end + 1 :]
    step.words, whole = own, step.words
    found = step.options(_VALUED.split())
    step.words = whole
    pattern = found.rest[0].text if found.rest else ""
    roots = (
        list(found.rest[1:]) or found.values("search-path", "base-directory") or [Argument(".", step.start, step.end)]
    )
    narrowed = pattern not in {"", ".", "*"} or found.has(*_NARROWING)
    for root in roots[:8] if command[:end] else ():
        _run(step, root, command[:end], narrowed=narrowed)
    step.out = Stream(None, frozenset({"names"}), tuple(step.path(root) for root in roots))


def _run(step: Step, root: Argument, words: list[Argument], *, narrowed: bool) -> None:
    text = root.text.rstrip("/") + "/" + UNKNOWN if narrowed else root.text
    name = root._replace(text=text, why="what fd will find" if narrowed else root.why)
    scene = step.scene.copy()
    scene.walks = True
    given = [_filled(word, name) for word in words]
    if given == words:
        given.append(name)  # without a place for it, it comes last
    step.run(given, Stream(), scene=scene)


def _filled(word: Argument, name: Argument) -> Argument:
    mark = next((mark for mark in _PLACEHOLDERS if mark in word.text), "")
    return word._replace(text=word.text.replace(mark, name.text), why=name.why) if mark else word


TOOLS: dict[str, Handler] = dict.fromkeys(("fd", "fdfind"), _fd)
