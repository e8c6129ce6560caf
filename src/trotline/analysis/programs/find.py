"""find and fd: the files that they find, and what they do with each."""

from trotline.analysis.options import parse_options
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream

_FIND_VALUED = frozenset(
    "-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex"
    " -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype"
    " -samefile -size -type -uid -used -user -wholename -xtype".split()
)
_NARROWING = frozenset(
    "-path -ipath -regex -iregex -wholename -empty -mtime -mmin -newer -size -atime -ctime -maxdepth -prune".split()
)
_RUNS = frozenset("-exec -execdir -ok -okdir".split())
_PRINTS = frozenset("-fprint -fls -fprintf -fprint0".split())


MAX_ROOTS = 8


class FindExpression:
    """The words after the roots: tests, and actions on the files that pass them."""

    def __init__(self, words: list[Argument]) -> None:
        self.commands: list[list[Argument]] = []
        self.deletes: list[Argument] = []
        self.output_files: list[Argument] = []
        self.is_narrowed = False
        self._alternatives: list[tuple[str, ...]] = []  # the names that each alternative selects
        self._names: list[str] = []
        self._is_pruned = self._has_action = False
        index = 0
        while index < len(words):
            index = self._read_word(words, index)
        self._end_alternative()

    def build_suffixes(self) -> list[str]:
        """Return what follows a root in a found path: nothing for the whole tree, else an unknown part and a name."""
        rest = f"/{UNKNOWN_CHAR}" if self.is_narrowed else ""
        suffixes = [
            suffix
            for names in self._alternatives
            for suffix in ([f"/{UNKNOWN_CHAR}/{name}" for name in names] or [rest])
        ]
        return list(dict.fromkeys(suffixes)) or [rest]

    def _read_word(self, words: list[Argument], index: int) -> int:
        """Read one test or action, and return the index of the next."""
        word, after = words[index].text, words[index + 1 : index + 2]
        if word in _RUNS:
            end = next((n for n in range(index, len(words)) if words[n].text in {";", "+"}), len(words))
            self.commands.append(words[index + 1 : end])
            self._has_action = True
            return end + 1
        if word in {"-o", "-or", ","}:
            self._end_alternative()
        elif word == "-delete":
            self.deletes.append(words[index])
            self._has_action = True
        elif word in {"-name", "-iname"} and after and words[index - 1].text not in {"!", "-not"}:
            self._add_name(after[0])
        elif word in _PRINTS:
            self.output_files += after
        self._is_pruned = self._is_pruned or word == "-prune"
        self.is_narrowed = self.is_narrowed or word in _NARROWING
        return index + (2 if word in _FIND_VALUED | _PRINTS else 1)

    def _add_name(self, name: Argument) -> None:
        if not name.is_known:
            self.is_narrowed = True
        elif set(name.text) - set("*?."):  # a pattern without a letter matches everything
            self._names.append(name.text)

    def _end_alternative(self) -> None:
        """End the tests before `-o`. Pruned files are not selected, unless the same alternative acts on them."""
        if self._has_action or not self._is_pruned:
            self._alternatives.append(tuple(self._names))
        self._names, self._is_pruned, self._has_action = [], False, False


def _handle_find(call: Invocation) -> None:
    words = [word for word in call.args if word.text not in {"-H", "-L", "-P"}]
    begin = next((index for index, word in enumerate(words) if word.text[:1] in {"-", "(", "!"}), len(words))
    expression = FindExpression(words[begin:])
    roots = words[:begin] or [Argument(".", call.start, call.end)]
    paths = [_build_found_path(root, suffix) for root in roots[:MAX_ROOTS] for suffix in expression.build_suffixes()]
    for word in expression.deletes:
        for arg in paths:
            _add_deletion(call, arg._replace(start=word.start, end=word.end))
    for command in expression.commands:
        for arg in paths:
            _analyze_find_command(call, command, arg)
    for file in expression.output_files:
        call.add_write(file)
    names = tuple(call.resolve(arg) for arg in paths)
    call.stdout = Stream(None, frozenset({"names"}), tuple(call.resolve(root) for root in roots), names)


def _build_found_path(root: Argument, suffix: str) -> Argument:
    text = root.text.rstrip("/") + suffix or "/"
    return root._replace(text=text, why="what find will find" if suffix else root.why, has_wildcard=False)


def _add_deletion(call: Invocation, arg: Argument) -> None:
    source = "" if arg.is_known else "selected"
    call.add_effect("delete", "find", arg, path=call.resolve(arg), recursive=True, writes=True, source=source)


def _analyze_find_command(call: Invocation, command: list[Argument], arg: Argument) -> None:
    state = call.state.copy()
    state.walks_tree = True
    words = [
        word._replace(text=word.text.replace("{}", arg.text), why=arg.why) if "{}" in word.text else word
        for word in command
    ]
    call.analyze_command(words, Stream(), state=state)


# fd

_FD_VALUED = (
    "d max-depth min-depth exact-depth E exclude t type e extension S size changed-within changed-before o owner"
    " format j threads c color and base-directory path-separator search-path ignore-file max-results"
)
_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_FD_NARROWING = "e extension S size changed-within changed-before d max-depth exact-depth and".split()
_PLACEHOLDERS = ("{}", "{/}", "{//}", "{.}", "{/.}")


def _handle_fd(call: Invocation) -> None:
    start = next((index for index, word in enumerate(call.args) if word.text in _FD_RUNS), len(call.args))
    command = call.args[start + 1 :]
    end = next((index for index, word in enumerate(command) if word.text == ";"), len(command))
    options = parse_options(call.args[:start] + command[end + 1 :], _FD_VALUED)
    pattern = options.rest[0].text if options.rest else ""
    roots = (
        list(options.rest[1:])
        or options.values("search-path", "base-directory")
        or [Argument(".", call.start, call.end)]
    )
    is_narrowed = pattern not in {"", ".", "*"} or options.has(*_FD_NARROWING)
    for root in roots[:MAX_ROOTS] if command[:end] else ():
        _analyze_fd_command(call, root, command[:end], is_narrowed=is_narrowed)
    call.stdout = Stream(None, frozenset({"names"}), tuple(call.resolve(root) for root in roots))


def _analyze_fd_command(call: Invocation, root: Argument, words: list[Argument], *, is_narrowed: bool) -> None:
    text = root.text.rstrip("/") + "/" + UNKNOWN_CHAR if is_narrowed else root.text
    name = root._replace(text=text, why="what fd will find" if is_narrowed else root.why)
    state = call.state.copy()
    state.walks_tree = True
    filled = [_replace_placeholder(word, name) for word in words]
    if filled == words:
        filled.append(name)  # without a placeholder it comes last
    call.analyze_command(filled, Stream(), state=state)


def _replace_placeholder(word: Argument, name: Argument) -> Argument:
    placeholder = next((placeholder for placeholder in _PLACEHOLDERS if placeholder in word.text), "")
    return word._replace(text=word.text.replace(placeholder, name.text), why=name.why) if placeholder else word


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(("find", "gfind"), _handle_find),
    **dict.fromkeys(("fd", "fdfind"), _handle_fd),
}
