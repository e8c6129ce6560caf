"""What a call of a server gives to be run: command lines, statements and code, in whatever shape arguments have."""

import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from trotline.analysis.scene import Argument
from trotline.analysis.step import Step

COMMANDS = frozenset("command commands cmd cmds script shell bash commandline cmdline argv".split())
_LINES = frozenset({"commands", "cmds"})
_ARGUMENTS = frozenset("args arguments argv params parameters".split())
_QUESTIONS = frozenset("query queries statement statements".split())
_TYPED = frozenset("input text keys line data".split())
_CODE = frozenset("code expression snippet function script javascript js python source".split())

_TERMINALS = frozenset("terminal shell bash sh zsh console tty pty tmux exec command cmd powershell".split())
_RUNS = frozenset("run exec execute eval evaluate interpret interpreter repl sandbox kernel cell".split())
_SEARCHES = frozenset(
    "search find lookup docs doc documentation web google code issue issues wiki page pages help knowledge ask"
    " semantic package packages library libraries image images news browse".split()
)
_DATABASES = frozenset(
    "sql db database databases postgres postgresql pg mysql mariadb sqlite duckdb clickhouse snowflake bigquery"
    " redshift oracle mssql supabase neon trino databricks".split()
)
_STORES = {
    **dict.fromkeys(("redis", "valkey", "keydb"), ("redis-cli",)),
    **dict.fromkeys(("mongo", "mongodb", "mongosh"), ("mongosh", "--eval")),
}
_PROGRAMS = frozenset("aws az cargo docker fly gcloud gh git helm heroku kubectl npm pip podman terraform".split())
"""Tools of these names are given the words that stand behind the program's."""

_LANGUAGES = {
    **dict.fromkeys(("python", "python3", "py", "ipython", "jupyter", "notebook"), ("python3", "-c")),
    **dict.fromkeys(
        ("javascript", "js", "node", "nodejs", "typescript", "ts", "deno", "bun", "browser", "page", "puppeteer"),
        ("node", "-e"),
    ),
    **dict.fromkeys(("bash", "shell", "sh", "zsh"), ("bash", "-c")),
    **dict.fromkeys(("powershell", "pwsh"), ("pwsh", "-c")),
    "lua": ("lua", "-e"),
    "perl": ("perl", "-e"),
    "php": ("php", "-r"),
    "r": ("Rscript", "-e"),
    "ruby": ("ruby", "-e"),
}
_LANGUAGE_NAMES = frozenset("language lang runtime interpreter kernel".split())
_SCRIPTED = re.compile(r"=>|;\s*$|\b(?:const|let|var|function|require|await)\b", re.MULTILINE)

_THING = r"(?:table|database|schema|view|index|user|role|function|procedure|trigger|sequence|type|column|keyspace)"
_STATEMENT = re.compile(
    rf"""(?ix)(?:^|[;\n]|\*/)[ \t\r]*(?:
        select\b | explain\b | with\s+[\w."]{{1,200}}\s*(?:\([^()]{{0,400}}\)\s*)?as\s*\(
        | delete\s+from\s+\S+\s*(?:;|$|where|using|as\b|returning)
        | (?:insert|merge|replace)\s+into\b | update\s+\S+(?:\s+(?:as\s+)?\w+)?\s+set\b
        | (?:drop|alter|create)\s+(?:\w+\s+){{0,3}}?{_THING}\b | drop\s+owned\b
        | truncate\s+(?:table\b|\S+\s*(?:;|$|,|cascade|restart))
        | (?:grant|revoke)\s.{{1,400}}?\s(?:to|from)\s | copy\s+\S+.{{0,400}}?\s(?:from|to)\b
        | call\s+\S+\s*\( | vacuum\s*(?:;|$|full|\() )"""
)
"""How statements begin; no text is looked at more than a few times, however it is made."""


class Texts(NamedTuple):
    """What the words of a call say about the texts in it."""

    tool: frozenset[str]
    all: frozenset[str]  # those of its server too
    language: str = ""  # of code, where the call names it
    told: bool = False  # it has an argument for the command: others are what the command reads

    def runs(self, step: Step, names: frozenset[str], text: str) -> bool:
        """Read the text as what it is; whether it is something to run."""
        if self._code(step, names, text):
            return True
        if names & COMMANDS or (names & _TYPED and self.tool & _TERMINALS and not self.told):
            self._command(step, text)
            return True
        if self._is_sql(names, text):
            _sql(step, text)
            return True
        return False

    def _command(self, step: Step, text: str) -> None:
        store = next((program for word, program in _STORES.items() if word in self.all), ())
        if store:
            words = text.split() if len(store) == 1 else [text]
            step.run([Argument(word) for word in (*store, *(words[1:] if words[:1] == [store[0]] else words))])
        elif self.all & _DATABASES and _STATEMENT.match(text):
            _sql(step, text)
        else:
            named = self.tool - {"cli", "command", "run"}
            program = next(iter(named & _PROGRAMS), "") if len(named) == 1 else ""
            step.script(Argument(text if not program or text.startswith(program) else f"{program} {text}"))

    def _is_sql(self, names: frozenset[str], text: str) -> bool:
        """By the name of the argument; words that also begin a question must have the shape of a statement."""
        if "sql" in names:
            return True
        asked = bool(names & _QUESTIONS and (self.all & _DATABASES or not self.all & _SEARCHES))
        return bool((asked or (names & _TYPED and self.tool & _DATABASES)) and _STATEMENT.search(text))

    def _code(self, step: Step, names: frozenset[str], text: str) -> bool:
        """Code of the language that the call, its tool or the argument names; of one that only runs code, a guess."""
        words = self.tool - {"code", "script"}
        if not names & _CODE or not (words & _RUNS or words <= _LANGUAGES.keys()):
            return False
        if "script" in names and not (self.language or words & {"evaluate", "eval"} or words & _LANGUAGES.keys()):
            return False
        told = [self.language.lower(), *sorted(names), *sorted(self.tool), *sorted(self.all)]
        guess = ("node", "-e") if _SCRIPTED.search(text) or "expression" in names else ("python3", "-c")
        program = next((_LANGUAGES[word] for word in told if word in _LANGUAGES), guess)
        if program[0] == "python3":
            text = _without_lines(step, text)
        step.run([Argument(word) for word in (*program, text)])
        return True


def _without_lines(step: Step, text: str) -> str:
    """Code of a notebook; its lines that begin with `!` are a shell's."""
    lines = text.splitlines()
    for line in lines:
        if line.lstrip().startswith("!"):
            step.script(Argument(line.lstrip()[1:]))
    return "\n".join(line for line in lines if not line.lstrip().startswith(("!", "%")))


def texts_of(tool: frozenset[str], server: frozenset[str], given: Mapping[str, Any]) -> Texts:
    named = [value for key, value in given.items() if str(key).lower() in _LANGUAGE_NAMES and isinstance(value, str)]
    told = any(str(key).lower() in COMMANDS for key in given)
    return Texts(tool, tool | server, named[0] if named else "", told)


def lined(given: Mapping[str, Any], tool: frozenset[str]) -> dict[str, Any]:
    """The arguments; a program and the list of its words, in one or two of them, are one command line."""
    found = {str(key): value for key, value in given.items()}
    words = next((key for key in found if key.lower() in _ARGUMENTS and isinstance(found[key], list | str)), "")
    for key, value in given.items():
        if str(key).lower() in COMMANDS - _LINES - {"argv"} and (isinstance(value, str) or _listed(value)):
            line = value if isinstance(value, str) else shlex.join(value)
            rest = found.pop(words, "") if words else ""
            found[str(key)] = f"{line} {_joined(rest)}".rstrip() if rest else line
            return found
    if words and _listed(found[words]) and (words.lower() == "argv" or tool & (_TERMINALS | _PROGRAMS | {"run"})):
        given_words = found.pop(words)
        shell = sorted(tool & {"bash", "sh", "zsh"})[:1] if given_words[0].startswith("-") else []
        found["command"] = shlex.join([*shell, *given_words])
    return found


def _listed(value: object) -> bool:
    """Words of one line; lines have spaces in the first already."""
    return (
        isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value) and " " not in value[0]
    )


def _joined(rest: object) -> str:
    if isinstance(rest, str):
        return rest
    return shlex.join(str(one) for one in rest) if isinstance(rest, list) else ""


def _sql(step: Step, text: str) -> None:
    from trotline.analysis.tools.databases import sql  # noqa: PLC0415 - few servers are asked in SQL

    sql(step, Argument(text), "")
