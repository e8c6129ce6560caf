"""Settings of git: which of them are commands, and what it means to set one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trotline.analysis.scene import Argument
from trotline.analysis.step import Step
from trotline.analysis.tools.git_words import Words

Settings = Mapping[str, Argument]
"""By their key in lower case; the last one given wins."""


class Call(NamedTuple):
    """A verb of git with its words, and the settings that were given for this one call."""

    step: Step
    verb: str
    found: Words
    settings: Settings

    def setting(self, key: str) -> str | None:
        found = self.settings.get(key)
        return found.text if found is not None else None

    def lost(self, verb: str, at: Argument | None = None, *, source: str = "", target: str = "", why: str = "") -> None:
        """Something that git keeps, or would not bring back, is changed in this repository."""
        step = self.step
        step.effect("git", verb, at, path=step.scene.absolute("."), source=source, target=target, why=why, writes=True)


_NETWORK = frozenset("clone fetch ls-remote pull push".split())
_SOMETIMES = {"archive": "--remote", "remote": "update prune show add set-head", "submodule": "update add"}
_VARIABLES = {
    "EDITOR": "core.editor",
    "GIT_ASKPASS": "core.askpass",
    "GIT_EDITOR": "core.editor",
    "GIT_EXTERNAL_DIFF": "diff.external",
    "GIT_PAGER": "core.pager",
    "GIT_PROXY_COMMAND": "core.gitproxy",
    "GIT_SEQUENCE_EDITOR": "sequence.editor",
    "GIT_SSH": "core.sshcommand",
    "GIT_SSH_COMMAND": "core.sshcommand",
    "PAGER": "core.pager",
    "VISUAL": "core.editor",
}
"""Variables that say the same as a setting; what they run is read where they are set."""

_COMMANDS = frozenset(
    "core.alternaterefscommand core.askpass core.editor core.fsmonitor core.gitproxy core.pager core.sshcommand"
    " credential.helper diff.external gpg.program gpg.ssh.defaultkeycommand gpg.ssh.program gpg.x509.program"
    " interactive.difffilter sequence.editor sendemail.smtpserver uploadpack.packobjectshook web.browser".split()
)
_ENDINGS = {
    "browser": "cmd path",
    "credential": "helper",
    "diff": "command textconv",
    "difftool": "cmd path",
    "filter": "clean smudge process",
    "guitool": "cmd",
    "hook": "command",
    "man": "cmd path",
    "merge": "driver",
    "mergetool": "cmd path",
    "pager": "",
    "remote": "uploadpack receivepack vcs",
    "tar": "command",
    "trailer": "command cmd",
}
"""`section.NAME.ending`: the sections whose endings hold a command."""

_DIRECTORIES = frozenset("core.hookspath init.templatedir core.attributesfile".split())
_BOOLEANS = frozenset("true false yes no on off 1 0".split())
_ONLY_NETWORK = frozenset("core.sshcommand core.gitproxy core.askpass credential.helper".split())
_PLAIN = frozenset(
    "cat less more most delta bat vi vim nvim nano emacs code ssh gpg gpg2 true : cache store osxkeychain manager"
    " manager-core libsecret wincred".split()
)
"""Programs that people set here every day; what their options do is judged like any line."""


def command_of(key: str, value: str) -> str:
    """What would be run because of this setting: a command, or nothing."""
    section, _, rest = key.partition(".")
    ending = rest.rpartition(".")[2]
    if section == "alias" or (section == "submodule" and ending == "update"):
        return value[1:] if value.startswith("!") else ""
    known = key in _COMMANDS or (section in _ENDINGS and (not _ENDINGS[section] or ending in _ENDINGS[section].split()))
    if not known or value.strip().lower() in _BOOLEANS:
        return ""
    return value.strip().removeprefix("!").strip()


def hooks_of(key: str) -> bool:
    """Whether the value is a directory whose files git runs, or a file that holds more settings."""
    return key in _DIRECTORIES or (key.startswith("include") and key.endswith(".path"))


def plain(command: str) -> bool:
    first = command.split(None, 1)[0] if command.split() else ""
    return first.rpartition("/")[2] in _PLAIN and (first == first.rpartition("/")[2] or first.startswith("/usr/bin/"))


def networked(words: Sequence[Argument]) -> bool:
    """Whether this verb talks to another machine."""
    verb = words[0].text
    marks = _SOMETIMES.get(verb, "").split()
    return verb in _NETWORK or any(word.text.partition("=")[0] in marks for word in words[1:])


def by_variables(step: Step, words: Sequence[Argument]) -> None:
    """What git would run now because of a variable that is set for it alone."""
    for name, value in step.given.items():
        key = _VARIABLES.get(name, "")
        if not key or not value.text.strip() or (key in _ONLY_NETWORK and not networked(words)):
            continue
        if not plain(value.text):
            step.effect("git", "run-setting", value, target=name, source=value.text)


def for_this_call(step: Step, settings: Settings, *, network: bool) -> None:
    """`-c key=value`: what git would run now because of it."""
    for key, value in settings.items():
        if key in _ONLY_NETWORK and not network:
            continue
        if key.startswith("alias."):
            continue  # only if the verb is that alias
        command = command_of(key, value.text)
        if command:
            step.script(value._replace(text=command))
            if not plain(command):
                step.effect("git", "run-setting", value, target=key, source=command)
        elif hooks_of(key):
            _hooks(step, key, value, "run-setting")
        else:
            _redirected(step, key, value)


def kept(step: Step, key: str, value: Argument) -> None:
    """`git config key value`: what git will run from now on because of it."""
    key = key.lower() if key.count(".") < 2 else _folded(key)
    command = command_of(key, value.text)
    if command:
        step.script(value._replace(text=command))
        verb = "configure" if plain(command) else "configure-command"
        step.effect("git", verb, value, target=key, source=command, writes=True)
    elif hooks_of(key):
        _hooks(step, key, value, "configure-hooks")
    elif not _redirected(step, key, value):
        step.effect("git", "configure", value, target=key, source=value.text, writes=True)


def _folded(key: str) -> str:
    """The middle part of a key keeps its case."""
    section, _, rest = key.partition(".")
    name, _, ending = rest.rpartition(".")
    return f"{section.lower()}.{name}.{ending.lower()}"


def _hooks(step: Step, key: str, value: Argument, verb: str) -> None:
    if value.text in {"", "/dev/null"}:
        step.effect("git", "skip-hooks", value, target=key, writes=True)
    else:
        step.effect("git", verb, value, target=key, path=step.path(value), source=value.text, writes=True)


def _redirected(step: Step, key: str, value: Argument) -> bool:
    """Where git's traffic goes, and whether it looks who answers."""
    section, _, rest = key.partition(".")
    ending = rest.rpartition(".")[2].lower()
    if section == "url" and ending in {"insteadof", "pushinsteadof"}:
        there, here = host_of(rest.rpartition(".")[0]), host_of(value.text)
        if there != here:
            step.effect("git", "redirect", value, target=value.text, host=there, writes=True)
        return True
    if section == "remote" and ending in {"url", "pushurl"}:
        name = rest.rpartition(".")[0]
        step.effect(
            "git", "remote-set-url", value, target=name, host=host_of(value.text), source=value.text, writes=True
        )
        return True
    if (section in {"http", "https"} and ending == "proxy") or (section == "remote" and ending == "proxy"):
        step.effect("git", "redirect", value, target=key, host=host_of(value.text), writes=True)
        return True
    if section == "http" and ending == "sslverify" and value.text.lower() in {"false", "0", "no", "off"}:
        step.effect("git", "unverified", value, target=key, writes=True)
        return True
    return False


def host_of(url: str) -> str:
    """The host of an address as git writes them; nothing for a path on this machine."""
    scheme, mark, rest = url.partition("://")
    if mark:
        host = rest.partition("/")[0].rpartition("@")[2]
        return "" if scheme == "file" else host.partition(":")[0] or "?"
    host, colon, _ = url.partition(":")
    return host.rpartition("@")[2] if colon and "/" not in host and len(host) > 1 else ""
