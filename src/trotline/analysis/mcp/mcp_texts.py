"""Find and analyze command lines, SQL and code in the arguments of MCP tool calls."""

import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument

_COMMAND_NAMES = frozenset("command commands cmd cmds script shell bash commandline cmdline argv".split())
_COMMAND_LIST_NAMES = frozenset({"commands", "cmds"})
_ARGUMENT_NAMES = frozenset("args arguments argv params parameters".split())
_QUERY_NAMES = frozenset("query queries statement statements".split())
_INPUT_NAMES = frozenset("input text keys line data".split())
_CODE_NAMES = frozenset("code expression snippet function script javascript js python source".split())

_TERMINAL_WORDS = frozenset("terminal shell bash sh zsh console tty pty tmux exec command cmd powershell".split())
_RUN_WORDS = frozenset("run exec execute eval evaluate interpret interpreter repl sandbox kernel cell".split())
_SEARCH_WORDS = frozenset(
    "search find lookup docs doc documentation web google code issue issues wiki page pages help knowledge ask"
    " semantic package packages library libraries image images news browse".split()
)
_DATABASE_WORDS = frozenset(
    "sql db database databases postgres postgresql pg mysql mariadb sqlite duckdb clickhouse snowflake bigquery"
    " redshift oracle mssql supabase neon trino databricks".split()
)
_STORE_COMMANDS = {
    **dict.fromkeys(("redis", "valkey", "keydb"), ("redis-cli",)),
    **dict.fromkeys(("mongo", "mongodb", "mongosh"), ("mongosh", "--eval")),
}
_PROGRAMS = frozenset("aws az cargo docker fly gcloud gh git helm heroku kubectl npm pip podman terraform".split())
"""Programs after which tools are named; their command is the words after the program name."""

_LANGUAGE_COMMANDS = {
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
_JAVASCRIPT = re.compile(r"=>|;\s*$|\b(?:const|let|var|function|require|await)\b", re.MULTILINE)

_SQL_OBJECT = r"(?:table|database|schema|view|index|user|role|function|procedure|trigger|sequence|type|column|keyspace)"
_SQL_STATEMENT = re.compile(
    rf"""(?ix)(?:^|[;\n]|\*/)[ \t\r]*(?:
        select\b | explain\b | with\s+[\w."]{{1,200}}\s*(?:\([^()]{{0,400}}\)\s*)?as\s*\(
        | delete\s+from\s+\S+\s*(?:;|$|where|using|as\b|returning)
        | (?:insert|merge|replace)\s+into\b | update\s+\S+(?:\s+(?:as\s+)?\w+)?\s+set\b
        | (?:drop|alter|create)\s+(?:\w+\s+){{0,3}}?{_SQL_OBJECT}\b | drop\s+owned\b
        | truncate\s+(?:table\b|\S+\s*(?:;|$|,|cascade|restart))
        | (?:grant|revoke)\s.{{1,400}}?\s(?:to|from)\s | copy\s+\S+.{{0,400}}?\s(?:from|to)\b
        | call\s+\S+\s*\( | vacuum\s*(?:;|$|full|\() )"""
)
"""Beginnings of SQL statements. The pattern is linear for any text."""


class McpTextReader(NamedTuple):
    """Decides from the words of a call whether a text in it is a command, SQL or code."""

    tool_words: frozenset[str]  # of the tool name
    all_words: frozenset[str]  # of the tool name and the server name
    language: str = ""  # an argument that names the language of the code
    has_command: bool = False  # an argument holds the command, so others are its input

    @classmethod
    def build(
        cls, tool_words: frozenset[str], server_words: frozenset[str], arguments: Mapping[str, Any]
    ) -> "McpTextReader":
        """Return the reader for a call."""
        languages = [
            value for key, value in arguments.items() if str(key).lower() in _LANGUAGE_NAMES and isinstance(value, str)
        ]
        has_command = any(str(key).lower() in _COMMAND_NAMES for key in arguments)
        return cls(tool_words, tool_words | server_words, languages[0] if languages else "", has_command)

    def analyze(self, call: Invocation, names: frozenset[str], text: str) -> bool:
        """Analyze a text if it is a command, SQL or code; return whether it is."""
        if self._analyze_code(call, names, text):
            return True
        if names & _COMMAND_NAMES or (
            names & _INPUT_NAMES and self.tool_words & _TERMINAL_WORDS and not self.has_command
        ):
            self._analyze_command(call, text)
            return True
        if self._is_sql(names, text):
            _analyze_sql(call, text)
            return True
        return False

    def _analyze_command(self, call: Invocation, text: str) -> None:
        store = next((program for word, program in _STORE_COMMANDS.items() if word in self.all_words), ())
        if store:
            words = text.split() if len(store) == 1 else [text]
            call.analyze_command(
                [Argument(word) for word in (*store, *(words[1:] if words[:1] == [store[0]] else words))]
            )
        elif self.all_words & _DATABASE_WORDS and _SQL_STATEMENT.match(text):
            _analyze_sql(call, text)
        else:
            names = self.tool_words - {"cli", "command", "run"}
            program = next(iter(names & _PROGRAMS), "") if len(names) == 1 else ""
            call.analyze_script(Argument(text if not program or text.startswith(program) else f"{program} {text}"))

    def _is_sql(self, names: frozenset[str], text: str) -> bool:
        """Decide by the argument name; text under an ambiguous name must look like a statement."""
        if "sql" in names:
            return True
        is_query = bool(
            names & _QUERY_NAMES and (self.all_words & _DATABASE_WORDS or not self.all_words & _SEARCH_WORDS)
        )
        return bool(
            (is_query or (names & _INPUT_NAMES and self.tool_words & _DATABASE_WORDS)) and _SQL_STATEMENT.search(text)
        )

    def _analyze_code(self, call: Invocation, names: frozenset[str], text: str) -> bool:
        """Analyze code in the language that the call names, or else in the one that it looks like."""
        words = self.tool_words - {"code", "script"}
        if not names & _CODE_NAMES or not (words & _RUN_WORDS or words <= _LANGUAGE_COMMANDS.keys()):
            return False
        if "script" in names and not (
            self.language or words & {"evaluate", "eval"} or words & _LANGUAGE_COMMANDS.keys()
        ):
            return False
        hints = [self.language.lower(), *sorted(names), *sorted(self.tool_words), *sorted(self.all_words)]
        guess = ("node", "-e") if _JAVASCRIPT.search(text) or "expression" in names else ("python3", "-c")
        program = next((_LANGUAGE_COMMANDS[word] for word in hints if word in _LANGUAGE_COMMANDS), guess)
        if program[0] == "python3":
            text = _analyze_notebook_lines(call, text)
        call.analyze_command([Argument(word) for word in (*program, text)])
        return True


def _analyze_notebook_lines(call: Invocation, text: str) -> str:
    """Analyze the shell lines of a notebook (`!command`) and return the other lines."""
    lines = text.splitlines()
    for line in lines:
        if line.lstrip().startswith("!"):
            call.analyze_script(Argument(line.lstrip()[1:]))
    return "\n".join(line for line in lines if not line.lstrip().startswith(("!", "%")))


def join_command_line(arguments: Mapping[str, Any], tool: frozenset[str]) -> dict[str, Any]:
    """Return the arguments with a program and the list of its words joined to one command line."""
    joined = {str(key): value for key, value in arguments.items()}
    words = next((key for key in joined if key.lower() in _ARGUMENT_NAMES and isinstance(joined[key], list | str)), "")
    for key, value in arguments.items():
        if str(key).lower() in _COMMAND_NAMES - _COMMAND_LIST_NAMES - {"argv"} and (
            isinstance(value, str) or _is_word_list(value)
        ):
            line = value if isinstance(value, str) else shlex.join(value)
            rest = joined.pop(words, "") if words else ""
            joined[str(key)] = f"{line} {_join_words(rest)}".rstrip() if rest else line
            return joined
    if (
        words
        and _is_word_list(joined[words])
        and (words.lower() == "argv" or tool & (_TERMINAL_WORDS | _PROGRAMS | {"run"}))
    ):
        command = joined.pop(words)
        shell = sorted(tool & {"bash", "sh", "zsh"})[:1] if command[0].startswith("-") else []
        joined["command"] = shlex.join([*shell, *command])
    return joined


def _is_word_list(value: object) -> bool:
    """Return whether a list holds the words of one command; a list of commands has spaces in the first."""
    return (
        isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value) and " " not in value[0]
    )


def _join_words(rest: object) -> str:
    if isinstance(rest, str):
        return rest
    return shlex.join(str(word) for word in rest) if isinstance(rest, list) else ""


def _analyze_sql(call: Invocation, text: str) -> None:
    from trotline.analysis.programs.databases import analyze_sql  # noqa: PLC0415 - few calls contain SQL

    analyze_sql(call, Argument(text), "")
