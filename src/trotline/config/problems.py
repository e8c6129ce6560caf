"""Problems in configuration files, each with a code and a place. Codes are API: never reused, never renumbered.

The first digit of a code is its subject: 1 syntax, 2 shape, 3 matcher, 4 command and path, 5 layers and trust, 6
surface. The severity of a code here applies unless Cursor ignores the whole file because of it.
"""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.domain.errors import describe_os_error
from trotline.domain.hooks import Place
from trotline.system.files import TooLargeError


class Severity(StrEnum):
    """The severity of a problem. `fatal`: the agent loads nothing from the file. `note`: nothing needs to be fixed."""

    FATAL = "fatal"
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Code(NamedTuple):
    """The default severity of a code, its title and its explanation."""

    severity: Severity
    title: str
    about: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in a file: its place, a message and a hint."""

    code: str
    severity: Severity
    place: Place
    message: str
    hint: str = ""
    source: str = ""  # the line of the problem, or the part of a long line around it
    source_column: int = 1  # its column in `source`, from 1
    width: int = 1  # its length in characters
    entry: str = ""  # the entry that the problem is about, such as `stop[1]`

    @property
    def docs(self) -> str:
        return f"docs/problems.md#{self.code.lower()}"


class HookFinding(NamedTuple):
    """The code and texts of a Problem of a hook, without its place."""

    code: str
    message: str
    hint: str = ""


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: dict[str, Code] = {
    "TL101": Code(_E, "not valid JSON", "The file cannot be parsed at the place shown. Nobody can load it."),
    "TL102": Code(
        _E,
        "trailing comma",
        "Comments are tolerated in hooks.json, a comma after the last entry is not: Cursor then loads nothing.",
    ),
    "TL103": Code(
        _E,
        "byte order mark",
        "The file begins with the three bytes EF BB BF, as some Windows editors write them. Cursor then loads nothing.",
    ),
    "TL104": Code(_E, "not UTF-8", "hooks.json is UTF-8. Editors that save UTF-16 or a code page make it unreadable."),
    "TL105": Code(_W, "duplicate key", "JSON keeps the last of two equal keys; the hooks under the first are gone."),
    "TL106": Code(_N, "comments", "Comments work in hooks.json, although it is called JSON; other tools may refuse."),
    "TL107": Code(
        _E,
        "`//` inside a string",
        "Cursor strips comments without looking whether they stand in a string. Any `//`, such as an address in a "
        "command or in `$schema`, cuts the line and makes the whole file unreadable, silently.",
    ),
    "TL108": Code(_E, "file too large", "Files over one megabyte are refused unparsed; no hooks file is that large."),
    "TL109": Code(_E, "file cannot be read", "The file is there and cannot be opened: its permissions, or not a file."),
    "TL110": Code(_E, "nested too deeply", "No hooks file needs more than a handful of levels."),
    "TL201": Code(_E, "not an object", 'The file must be an object: `{"version": 1, "hooks": {...}}`.'),
    "TL202": Code(_E, "version missing", 'Without `"version": 1` the newest Cursor loads nothing from the file.'),
    "TL203": Code(
        _E, "version wrong", "`version` must be a whole number, 1 or more, not in quotes; else Cursor loads nothing."
    ),
    "TL204": Code(_W, "version unknown", "The documentation knows version 1 only; others happen to be accepted."),
    "TL205": Code(_E, "no hooks object", "`hooks` must be an object that maps event names to lists of entries."),
    "TL206": Code(
        _E,
        "unknown event",
        "An event name that does not exist. In the newest contract a single one voids the whole file, silently.",
    ),
    "TL207": Code(
        _E,
        "another product's event",
        "The name is an event of another agent (Claude Code, Codex, Windsurf, ...). Cursor's names are its own.",
    ),
    "TL208": Code(
        _E,
        "nested groups",
        "Claude Code groups hooks as `{matcher, hooks: [...]}`. In Cursor's file entries are flat: command and "
        "matcher stand side by side.",
    ),
    "TL209": Code(_E, "event without a list", "Each event maps to a list of entries, also when there is only one."),
    "TL210": Code(_E, "entry is not an object", 'An entry is an object such as `{"command": "..."}`.'),
    "TL211": Code(_E, "nothing to run", "An entry needs a `command`, or `type: prompt` and a `prompt`."),
    "TL212": Code(_W, "command and prompt", "An entry is either a command hook or a prompt hook; `type` decides."),
    "TL213": Code(_E, "wrong type", "The key exists, its value has a type that Cursor does not accept."),
    "TL214": Code(
        _W, "unknown key", "Cursor ignores keys it does not know; whatever this was meant to do, it does not."
    ),
    "TL215": Code(_N, "unknown top-level key", "Ignored by Cursor. Fine for a comment, useless for anything else."),
    "TL216": Code(_E, "timeout of zero or less", "`timeout` is seconds and greater than 0; 0 does not mean no limit."),
    "TL217": Code(
        _W,
        "timeout looks like milliseconds",
        "`timeout` is in seconds on Cursor. 5000 is 83 minutes, in which a hanging hook stops the agent.",
    ),
    "TL218": Code(_E, "loop_limit of zero or less", "`loop_limit` is a whole number from 1, or null for no limit."),
    "TL219": Code(_E, "unknown type", "`type` is `command` or `prompt`."),
    "TL220": Code(
        _W,
        "failClosed where nothing can be blocked",
        "The event only observes: whatever happens to the hook, the action goes on.",
    ),
    "TL221": Code(_W, "key without effect", "The key exists, and does nothing on this event or this kind of hook."),
    "TL222": Code(_W, "key unknown to this edition", "The Cursor of the selected edition did not have this key yet."),
    "TL223": Code(_N, "no hooks", "The file is fine and configures nothing."),
    "TL251": Code(_E, "models", "`[models]` says which models answer prompt hooks; something in it has no meaning."),
    "TL252": Code(
        _E, "provider that cannot be asked", "Its protocol, its address, its model or its key is not usable."
    ),
    "TL253": Code(
        _E,
        "key in a file",
        "Files are copied, committed and read by agents. Name a variable (`key_env`) or a command (`key_command`).",
    ),
    "TL254": Code(_E, "key on an open line", "A key is sent over https, or to this machine itself, and nowhere else."),
    "TL255": Code(_E, "no such provider", "The name is not among the `providers` of `[models]`."),
    "TL256": Code(
        _E,
        "configuration file",
        "trotline.toml is no TOML, has a key or a setting without a meaning, or one that is not for this layer to say. "
        "The stricter value is in force.",
    ),
    "TL257": Code(
        _E,
        "rule for secrets",
        "A rule in a file of rules cannot be used and finds nothing. The other rules of the file are in force.",
    ),
    "TL258": Code(
        _E,
        "policy",
        "A preset, a guard's level, a rule, a list or a waiver has no meaning, or is not for this layer to say. What "
        "could be read of the file is in force, and of a file that cannot be read at all the preset `strict`.",
    ),
    "TL259": Code(
        _E,
        "file of an earlier version",
        "settings.json, models.json, policy.toml, export.toml and alerts.toml are no longer read: nothing in them is "
        "in force. Move their content to trotline.toml in the same directory, and remove them. As long as a "
        "policy.toml is there, the preset is at least `strict`, and every call says so.",
    ),
    "TL260": Code(
        _E,
        "list of malicious packages",
        "An entry of OSV cannot be used, and the others are. Or the list that was loaded is not what Trotline wrote: "
        "then whatever is installed is asked about until it is loaded again.",
    ),
    "TL265": Code(
        _E,
        "no such built-in hook",
        "What follows `trotline builtin` is none of its hooks. The line fails every time.",
    ),
    "TL266": Code(
        _W,
        "built-in hook on an event that it does not answer",
        "The hook runs, has nothing to say about this event, and costs its time.",
    ),
    "TL280": Code(
        _E,
        "export",
        "`[export]` says where records are sent; something in it has no meaning. Nothing is sent because of it.",
    ),
    "TL281": Code(
        _E, "place to send to", "The address is none, has a key in it, or records would travel to it unencrypted."
    ),
    "TL282": Code(
        _E,
        "secret in the export section",
        "Files are copied, committed and read by agents. Name a file of headers (`headers_file`) or a variable "
        "(`headers_env`).",
    ),
    "TL283": Code(
        _E,
        "alert",
        "An `[[alert]]` says of which records somebody is told; something in it has no meaning. "
        "The other alerts of the file are in force.",
    ),
    "TL284": Code(
        _E,
        "alert that reaches nobody",
        "An alert goes to the desktop, to a command or to a webhook: to one of them, and to one that can be used.",
    ),
    "TL301": Code(
        _E,
        "matcher is no regular expression",
        "Matchers are JavaScript regular expressions. One that JavaScript refuses voids the whole file.",
    ),
    "TL302": Code(_W, "nothing to match", "This event offers nothing to a matcher; the hook runs every time."),
    "TL303": Code(
        _W,
        "matcher never matches",
        "The matcher fits no value this event is known to have; the hook will probably never run.",
    ),
    "TL304": Code(
        _N,
        "matcher needs backtracking",
        "Lookaround and backreferences cannot be run in linear time. The matcher runs in a bounded child process; if "
        "that cannot decide in time, the hook runs.",
    ),
    "TL401": Code(_E, "script missing", "The command names a file that does not exist. The hook fails every time."),
    "TL402": Code(_E, "script not executable", "The file exists and lacks the executable bit; the hook fails."),
    "TL403": Code(
        _E, "no interpreter", "The script's first line names no interpreter, or one that is not on this machine."
    ),
    "TL404": Code(
        _E,
        "relative path with the wrong base",
        "Project hooks run from the project root, user hooks from ~/.cursor. `./hooks/x.sh` in a project file looks in "
        "`<project>/hooks`, not in `.cursor/hooks`.",
    ),
    "TL405": Code(
        _W,
        "machine-specific path in a project file",
        "A path below somebody's home works on one machine. Project files are shared.",
    ),
    "TL406": Code(
        _N,
        "interpreter behind a shim",
        "Shims of pyenv, asdf, rbenv, nodenv, mise or volta cost 50 to 100 ms per call, and are missing from the PATH "
        "of an editor that was started from the dock.",
    ),
    "TL407": Code(
        _W,
        "inline JSON that breaks on Windows",
        "`echo '{...}'` depends on POSIX quoting; cmd and PowerShell print the quotes too, and the answer is no JSON.",
    ),
    "TL408": Code(
        _W, "program not found", "The first word is a program that is not on this PATH; elsewhere it may be."
    ),
    "TL409": Code(
        _W,
        "variable that hooks do not get",
        "The variable is not set for hooks (the event comes on standard input). The shell puts nothing in its place.",
    ),
    "TL410": Code(_E, "command with open quotes", "The shell refuses the line before anything runs; the hook fails."),
    "TL411": Code(
        _W,
        "no model to ask",
        "A prompt hook needs a model, and no provider is configured that would answer. The hook fails every time, and "
        "its fail mode decides.",
    ),
    "TL501": Code(
        _W,
        "runs twice for one action",
        "The same command is configured on a generic event and on the specific one. Both fire for one tool call.",
    ),
    "TL502": Code(_W, "same command in two layers", "Every layer's hooks run; this one runs once for each."),
    "TL503": Code(
        _W,
        "same command in Claude Code's and Cursor's files",
        "Cursor reads both. Whether it drops the second is reported, not documented.",
    ),
    "TL504": Code(_W, "writable by others", "Whoever can write this file decides what runs under your account."),
    "TL505": Code(_E, "link out of the project", "The file or script is a link that leaves the project."),
    "TL506": Code(_N, "needs trust", "Hooks of a project run only when its workspace is trusted."),
    "TL507": Code(_W, "duplicate entry", "The same command with the same matcher stands twice on one event."),
    "TL508": Code(_W, "all hooks disabled", "`disableAllHooks` is set; nothing in this file runs."),
    "TL509": Code(_N, "event that Cursor does not take", "An event of Claude Code that Cursor does not translate."),
    "TL510": Code(_N, "tool that Cursor does not take", "A tool name of Claude Code with no counterpart in Cursor."),
    "TL511": Code(_E, "plugin manifest", "The plugin's manifest cannot be used as it stands."),
    "TL512": Code(_N, "hook type that Cursor does not run", "Claude Code runs it; Cursor takes command and prompt."),
    "TL520": Code(
        _E,
        "somebody else's file",
        "The agent reads one whole file, but Trotline did not write the existing one. Nothing is installed.",
    ),
    "TL521": Code(
        _E,
        "our file was edited",
        "The file bears our seal and says something else than we wrote. It stays as it is: the change may matter.",
    ),
    "TL601": Code(_W, "never fires on this surface", "The event is not raised there; the hook is dead weight."),
    "TL602": Code(_W, "prompt hook on a surface without it", "Cloud agents run command hooks only."),
    "TL603": Code(_W, "layer not loaded on this surface", "Cloud agents never load the user's own hooks."),
    "TL604": Code(_N, "unverified on this surface", "Nobody has shown yet whether the event fires there."),
}


def get_severity(code: str, fatal_codes: frozenset[str]) -> Severity:
    """Return the severity of a code for an agent that ignores a file because of `fatal_codes`."""
    return Severity.FATAL if code in fatal_codes else CODES[code].severity


def build_problem(code: str, message: str, hint: str = "", *, place: Place, entry: str = "") -> Problem:
    """Return a Problem with the default severity of its code."""
    severity = CODES[code].severity
    return Problem(code=code, severity=severity, place=place, message=message, hint=hint, entry=entry)


def build_read_problem(file: Path | str, error: OSError) -> Problem:
    """Return the problem of an existing file that cannot be read."""
    code, place = ("TL108", Place(str(file), 1, 1)) if isinstance(error, TooLargeError) else ("TL109", Place(str(file)))
    return build_problem(code, f"the file cannot be read: {describe_os_error(error)}", place=place)
