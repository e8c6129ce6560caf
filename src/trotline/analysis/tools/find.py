"""find: what its tests leave of a tree, and what is done to each file of it."""

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream

_VALUED = frozenset(
    "-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname -iname -inum"
    " -ipath -iregex -iwholename"
    " -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype -samefile -size"
    " -type -uid -used -user -wholename -xtype".split()
)
_NARROWING = frozenset(
    "-path -ipath -regex -iregex -wholename -empty -mtime -mmin -newer -size -atime -ctime -maxdepth -prune".split()
)
_RUNS = frozenset("-exec -execdir -ok -okdir".split())
_PRINTS = frozenset("-fprint -fls -fprintf -fprint0".split())


class Search:
    """The words behind the roots: tests, and what is done with each file that they leave."""

    def __init__(self, words: list[Argument]) -> None:
        self.commands: list[list[Argument]] = []
        self.deletes: list[Argument] = []
        self.files: list[Argument] = []  # into which it writes what it finds
        self.narrowed = False
        self._taken: list[tuple[str, ...]] = []  # the names of each alternative
        self._names: list[str] = []
        self._pruned = self._acts = False
        at = 0
        while at < len(words):
            at = self._word(words, at)
        self._alternative()

    def names(self) -> list[str]:
        """What comes behind a root: nothing for the whole tree, else a part that is not known."""
        rest = f"/{UNKNOWN}" if self.narrowed else ""
        found = [behind for names in self._taken for behind in ([f"/{UNKNOWN}/{name}" for name in names] or [rest])]
        return list(dict.fromkeys(found)) or [rest]

    def _word(self, words: list[Argument], at: int) -> int:
        """Read one word with what belongs to it; gives the place of the next."""
        word, after = words[at].text, words[at + 1 : at + 2]
        if word in _RUNS:
            end = next((n for n in range(at, len(words)) if words[n].text in {";", "+"}), len(words))
            self.commands.append(words[at + 1 : end])
            self._acts = True
            return end + 1
        if word in {"-o", "-or", ","}:
            self._alternative()
        elif word == "-delete":
            self.deletes.append(words[at])
            self._acts = True
        elif word in {"-name", "-iname"} and after and words[at - 1].text not in {"!", "-not"}:
            self._named(after[0])
        elif word in _PRINTS:
            self.files += after
        self._pruned = self._pruned or word == "-prune"
        self.narrowed = self.narrowed or word in _NARROWING
        return at + (2 if word in _VALUED | _PRINTS else 1)

    def _named(self, name: Argument) -> None:
        if not name.known:
            self.narrowed = True
        elif set(name.text) - set("*?."):  # a pattern without a letter takes all
            self._names.append(name.text)

    def _alternative(self) -> None:
        """What is behind `-o` takes others; what was pruned here is not taken, unless this is where something is done
        to it.
        """
        if self._acts or not self._pruned:
            self._taken.append(tuple(self._names))
        self._names, self._pruned, self._acts = [], False, False


def _find(step: Step) -> None:
    words = [word for word in step.words if word.text not in {"-H", "-L", "-P"}]
    begin = next((at for at, word in enumerate(words) if word.text[:1] in {"-", "(", "!"}), len(words))
    search = Search(words[begin:])
    roots = words[:begin] or [Argument(".", step.start, step.end)]
    found = [_behind(root, name) for root in roots[:8] for name in search.names()]
    for word in search.deletes:
        for at in found:
            _deleted(step, at._replace(start=word.start, end=word.end))
    for command in search.commands:
        for at in found:
            _run(step, command, at)
    for file in search.files:
        step.write(file)
    names = tuple(step.path(at) for at in found)
    step.out = Stream(None, frozenset({"names"}), tuple(step.path(root) for root in roots), names)


def _behind(root: Argument, name: str) -> Argument:
    text = root.text.rstrip("/") + name or "/"
    return root._replace(text=text, why="what find will find" if name else root.why, pattern=False)


def _deleted(step: Step, at: Argument) -> None:
    source = "" if at.known else "selected"
    step.effect("delete", "find", at, path=step.path(at), recursive=True, writes=True, source=source)


def _run(step: Step, command: list[Argument], at: Argument) -> None:
    scene = step.scene.copy()
    scene.walks = True
    words = [
        word._replace(text=word.text.replace("{}", at.text), why=at.why) if "{}" in word.text else word
        for word in command
    ]
    step.run(words, Stream(), scene=scene)


TOOLS: dict[str, Handler] = {"find": _find, "gfind": _find}
