"""Words as they were typed: a line for Windows that was read with the eyes of a shell of Unix means its backslashes."""

from trotline.analysis.scene import Argument
from trotline.analysis.step import Step

_HOME = ("%USERPROFILE%", "%HOMEPATH%", "$env:USERPROFILE", "$env:HOME", "$HOME")


def as_written(step: Step, word: Argument) -> Argument:
    """A word with the backslashes that a shell of Unix took away: what is typed for Windows means them."""
    text = _source(step, word)
    return word._replace(text=text) if "\\" in text and text.replace("\\", "") == word.text else word


def for_powershell(step: Step, word: Argument) -> Argument:
    """The same, where `$env:NAME` is one variable and not one with a text behind it."""
    text = _source(step, word)
    bare = text[1:-1] if text[:1] == text[-1:] == '"' else text
    named = bare.lower().startswith("$env:") and not {*bare[1:]} & {*"$\"'`"}
    return word._replace(text=bare, why="") if named else as_written(step, word)


def windows(step: Step, word: Argument) -> Argument:
    """A word with the variables of cmd and PowerShell that mean the home directory."""
    text = as_written(step, word).text.replace("\\", "/")
    for name in _HOME:
        text = text.replace(name, step.scene.world.home)
    if len(text) > 1 and text[1] == ":":
        text = "/" + text[2:].lstrip("/")
    return word._replace(text=text)


def parted(step: Step) -> list[Argument]:
    """The words as Windows has them: `C:\\ /r` is two there, and one to a shell for which the blank is quoted."""
    found: list[Argument] = []
    for word in step.words:
        parts = as_written(step, word).text.split("\\ ")
        found += [word._replace(text=part + ("\\" if part is not parts[-1] else "")) for part in parts if part]
    return found


def _source(step: Step, word: Argument) -> str:
    reading = step.reading
    return reading.source[word.start : word.end] if reading.window is None else ""
