"""Windows command-line words: restore backslashes that Unix shell parsing removed, and convert paths."""

from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument, Environment

_HOME_VARIABLES = ("%USERPROFILE%", "%HOMEPATH%", "$env:USERPROFILE", "$env:HOME", "$HOME")


def restore_backslashes(call: Invocation, word: Argument) -> Argument:
    """Return the word with the backslashes that Unix shell parsing removed."""
    text = _get_source(call, word)
    return word._replace(text=text) if "\\" in text and text.replace("\\", "") == word.text else word


def restore_powershell_word(call: Invocation, word: Argument) -> Argument:
    """Return the word as PowerShell reads it: with backslashes, and `$env:NAME` as one variable."""
    text = _get_source(call, word)
    bare = text[1:-1] if text[:1] == text[-1:] == '"' else text
    is_variable = bare.lower().startswith("$env:") and not {*bare[1:]} & {*"$\"'`"}
    return word._replace(text=bare, why="") if is_variable else restore_backslashes(call, word)


def to_posix_path(call: Invocation, word: Argument) -> Argument:
    """Return a Windows path with slashes, without drive letter, and with home variables expanded."""
    text = restore_backslashes(call, word).text.replace("\\", "/")
    for name in _HOME_VARIABLES:
        text = text.replace(name, call.state.environment.home)
    if len(text) > 1 and text[1] == ":":
        text = "/" + text[2:].lstrip("/")
    return word._replace(text=text)


def get_windows_variables(environment: Environment) -> dict[str, str]:
    """Return the values of common environment variables by lower-case name."""
    home, temporary = environment.home, environment.temporary[0]
    return {
        "appdata": f"{home}/AppData/Roaming",
        "homepath": home,
        "systemdrive": "C:",
        "systemroot": "/Windows",
        "temp": temporary,
        "tmp": temporary,
        "username": environment.user,
        "userprofile": home,
        "windir": "/Windows",
    }


def split_args(call: Invocation) -> list[Argument]:
    """Return the arguments as Windows splits them: `C:\\ /r` is two words there, but one in a Unix shell."""
    args: list[Argument] = []
    for word in call.args:
        parts = restore_backslashes(call, word).text.split("\\ ")
        args += [word._replace(text=part + ("\\" if part is not parts[-1] else "")) for part in parts if part]
    return args


def get_lower_args(call: Invocation) -> list[str]:
    """Return the arguments in lower case, with backslashes."""
    return [restore_backslashes(call, word).text.lower() for word in call.args]


def _get_source(call: Invocation, word: Argument) -> str:
    analyzer = call.analyzer
    return analyzer.source[word.start : word.end] if analyzer.span is None else ""
