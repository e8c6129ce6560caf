"""Git command lines: options as git parses them (long ones may be abbreviated and negated), and one command."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from trotline.analysis.programs.phrases import has_matching_phrase
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument

GitSettings = Mapping[str, Argument]
"""Settings for one command by lower-case key; the last value wins."""


class GitOptions(NamedTuple):
    """Parsed options and words. A later `--no-x` removes `--x` and is listed in `negated`."""

    flags: dict[str, list[Argument | None]]
    negated: frozenset[str]
    rest: tuple[Argument, ...]  # before `--`
    paths: tuple[Argument, ...]  # after it
    has_separator: bool

    def has(self, *names: str) -> bool:
        """Return whether one of these options is set."""
        return any(name in self.flags for name in names)

    def values(self, *names: str) -> list[Argument]:
        """Return all values of these options."""
        return [value for name in names for value in self.flags.get(name, ()) if value is not None]

    def value(self, *names: str) -> str:
        """Return the last value of these options, or an empty string."""
        values = self.values(*names)
        return values[-1].text if values else ""

    @property
    def all_words(self) -> tuple[Argument, ...]:
        """Return all words that are not options."""
        return self.rest + self.paths


class GitOption(NamedTuple):
    """An option of a git command."""

    name: str
    takes: str  # "=": a value; "?": an attached value; "": none


@cache
def parse_option_spec(spec: str) -> dict[str, GitOption]:
    """Parse `f|force e|exclude= prune?`: the names of each option, of which the last is used for all."""
    options: dict[str, GitOption] = {}
    for entry in spec.split():
        takes = entry[-1] if entry[-1] in "=?" else ""
        names = entry.rstrip("=?").split("|")
        options |= dict.fromkeys(names, GitOption(names[-1], takes))
    return options


@lru_cache(1024)
def _find_long_option(spec: str, name: str) -> GitOption | None:
    """Return the option with this name, or the shortest that begins with it."""
    options = parse_option_spec(spec)
    if name in options:
        return options[name]
    longer = [known for known in options if len(known) > 1 and known.startswith(name)]
    return options[min(longer, key=len)] if longer and name else None


class _GitOptionParser:
    """Collects the options of one git command line."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.flags: dict[str, list[Argument | None]] = {}
        self.negated: set[str] = set()

    def add_long(self, word: Argument, following: Argument | None) -> bool:
        """Add a long option; return whether the following word is its value."""
        name, equals, value = word.text[2:].partition("=")
        option = _find_long_option(self.spec, name)
        if option is None and name.startswith("no-"):
            negated = _find_long_option(self.spec, name[3:]) or GitOption(name[3:], "")
            self.flags.pop(negated.name, None)
            self.negated.add(negated.name)
            return False
        values = self.flags.setdefault(option.name if option else name, [])
        if equals:
            values.append(word._replace(text=value))
            return False
        has_value = option is not None and option.takes == "=" and following is not None
        values.append(following if has_value else None)
        return has_value

    def add_short(self, word: Argument, following: Argument | None) -> bool:
        """Add short options; return whether the following word is a value."""
        letters = word.text[1:]
        for at, letter in enumerate(letters):
            option = parse_option_spec(self.spec).get(letter) or GitOption("help" if letter == "h" else letter, "")
            values = self.flags.setdefault(option.name, [])
            rest = letters[at + 1 :]
            if option.takes and rest:
                values.append(word._replace(text=rest))
                return False
            if option.takes == "=":
                values.append(following)
                return following is not None
            values.append(None)
        return False


def parse_git_options(words: Iterable[Argument], spec: str, *, stops: bool = False) -> GitOptions:
    """Parse options as git does. With `stops`, the first word that is not an option ends them."""
    parser = _GitOptionParser(spec)
    queue = list(words)
    rest: list[Argument] = []
    index = 0
    while index < len(queue):
        word = queue[index]
        index += 1
        following = queue[index] if index < len(queue) else None
        if word.text == "--":
            return GitOptions(
                parser.flags, frozenset(parser.negated), tuple(rest), tuple(queue[index:]), has_separator=True
            )
        if word.text == "--end-of-options":
            rest += queue[index:]
            break
        if word.text.startswith("--"):
            index += parser.add_long(word, following)
        elif len(word.text) > 1 and word.text[0] == "-":
            index += parser.add_short(word, following)
        elif stops:
            rest += queue[index - 1 :]
            break
        else:
            rest.append(word)
    return GitOptions(parser.flags, frozenset(parser.negated), tuple(rest), (), has_separator=False)


class GitCommand(NamedTuple):
    """A git verb with its options and the settings for this command."""

    call: Invocation
    verb: str
    options: GitOptions
    settings: GitSettings

    def get_setting(self, key: str) -> str | None:
        """Return a setting of this command."""
        value = self.settings.get(key)
        return value.text if value is not None else None

    def add_effect(
        self, verb: str, at: Argument | None = None, *, source: str = "", target: str = "", why: str = ""
    ) -> None:
        """Add a change of this repository."""
        path = self.call.state.resolve(".")
        self.call.add_effect("git", verb, at, path=path, source=source, target=target, why=why, writes=True)


class GitChange(NamedTuple):
    """A change of this repository, and the phrases that cause it; programs/phrases.py explains them."""

    verb: str
    when: str = ""
    source: str = ""
    target: str = "{words}"  # `{first}`: the first word; `{rest}`: the others; `{verb}`: the verb of git


def make_analyzer(*changes: GitChange) -> Callable[[GitCommand], None]:
    """Return a function that adds the first change whose phrases fit."""

    def analyze(git: GitCommand) -> None:
        words = [word.text for word in git.options.rest]
        change = next((change for change in changes if has_matching_phrase(change.when, words, git.options)), None)
        if change is not None:
            parts = {"first": " ".join(words[:1]), "rest": " ".join(words[1:]), "words": " ".join(words)}
            git.add_effect(change.verb, source=change.source, target=change.target.format(verb=git.verb, **parts))

    return analyze


class GitVerb(NamedTuple):
    """The options of a verb and the function that adds its effects."""

    spec: str
    analyze: Callable[[GitCommand], None]
    scripts: str = ""  # options whose value git runs
