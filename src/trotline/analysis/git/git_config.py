"""Settings of git that run commands or redirect traffic, and the effects of setting them."""

from collections.abc import Sequence

from trotline.analysis.git.git_command import GitSettings
from trotline.analysis.network_addresses import get_host
from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument

_NETWORK_VERBS = frozenset("clone fetch ls-remote pull push".split())
_NETWORK_WORDS = {"archive": "--remote", "remote": "update prune show add set-head", "submodule": "update add"}
_SETTING_VARIABLES = expand_names(
    {
        "EDITOR GIT_EDITOR VISUAL": "core.editor",
        "GIT_ASKPASS": "core.askpass",
        "GIT_EXTERNAL_DIFF": "diff.external",
        "GIT_PAGER PAGER": "core.pager",
        "GIT_PROXY_COMMAND": "core.gitproxy",
        "GIT_SEQUENCE_EDITOR": "sequence.editor",
        "GIT_SSH GIT_SSH_COMMAND": "core.sshcommand",
    }
)
"""Variables with the effect of a setting; their commands are analyzed where they are set."""

_COMMAND_KEYS = frozenset(
    "core.alternaterefscommand core.askpass core.editor core.fsmonitor core.gitproxy core.pager core.sshcommand"
    " credential.helper diff.external gpg.program gpg.ssh.defaultkeycommand gpg.ssh.program gpg.x509.program"
    " interactive.difffilter sequence.editor sendemail.smtpserver uploadpack.packobjectshook web.browser".split()
)
_COMMAND_SUFFIXES = expand_names(
    {
        "browser difftool man mergetool": "cmd path",
        "credential": "helper",
        "diff": "command textconv",
        "filter": "clean smudge process",
        "guitool": "cmd",
        "hook tar": "command",
        "merge": "driver",
        "pager": "",
        "remote": "uploadpack receivepack vcs",
        "trailer": "command cmd",
    }
)
"""Suffixes that hold a command, by section: `section.NAME.suffix`."""

_HOOK_KEYS = frozenset("core.hookspath init.templatedir core.attributesfile".split())
_BOOLEANS = frozenset("true false yes no on off 1 0".split())
_NETWORK_KEYS = frozenset("core.sshcommand core.gitproxy core.askpass credential.helper".split())
_USUAL_PROGRAMS = frozenset(
    "cat less more most delta bat vi vim nvim nano emacs code ssh gpg gpg2 true : cache store osxkeychain manager"
    " manager-core libsecret wincred".split()
)
"""Programs that are commonly configured; their options are analyzed like any command line."""


def get_setting_command(key: str, value: str) -> str:
    """Return the command that a setting makes git run, or an empty string."""
    section, _, rest = key.partition(".")
    suffix = rest.rpartition(".")[2]
    if section == "alias" or (section == "submodule" and suffix == "update"):
        return value[1:] if value.startswith("!") else ""
    suffixes = _COMMAND_SUFFIXES.get(section)
    is_command = key in _COMMAND_KEYS or (suffixes is not None and (not suffixes or suffix in suffixes.split()))
    if not is_command or value.strip().lower() in _BOOLEANS:
        return ""
    return value.strip().removeprefix("!").strip()


def _is_hook_setting(key: str) -> bool:
    """Return whether the value is a directory whose files git runs, or a file with more settings."""
    return key in _HOOK_KEYS or (key.startswith("include") and key.endswith(".path"))


def _is_usual(command: str) -> bool:
    program = command.split(None, 1)[0] if command.split() else ""
    name = program.rpartition("/")[2]
    return name in _USUAL_PROGRAMS and (program == name or program.startswith("/usr/bin/"))


def uses_network(words: Sequence[Argument]) -> bool:
    """Return whether this command contacts another machine."""
    verb = words[0].text
    network_words = _NETWORK_WORDS.get(verb, "").split()
    return verb in _NETWORK_VERBS or any(word.text.partition("=")[0] in network_words for word in words[1:])


def add_variable_effects(call: Invocation, words: Sequence[Argument]) -> None:
    """Add what git runs because of a variable that is set for this command."""
    for name, value in call.assignments.items():
        key = _SETTING_VARIABLES.get(name, "")
        if not key or not value.text.strip() or (key in _NETWORK_KEYS and not uses_network(words)):
            continue
        if not _is_usual(value.text):
            call.add_effect("git", "run-setting", value, target=name, source=value.text)


def add_setting_effects(call: Invocation, settings: GitSettings, *, network: bool) -> None:
    """Add what git runs because of `-c key=value`."""
    for key, value in settings.items():
        if key in _NETWORK_KEYS and not network:
            continue
        if key.startswith("alias."):
            continue  # only if the verb is that alias
        command = get_setting_command(key, value.text)
        if command:
            call.analyze_script(value._replace(text=command))
            if not _is_usual(command):
                call.add_effect("git", "run-setting", value, target=key, source=command)
        elif _is_hook_setting(key):
            _add_hook_setting(call, key, value, "run-setting")
        else:
            _add_network_setting(call, key, value)


def add_stored_setting(call: Invocation, key: str, value: Argument) -> None:
    """Add the effect of `git config key value`, which applies to all later commands."""
    key = key.lower() if key.count(".") < 2 else _normalize_key(key)
    command = get_setting_command(key, value.text)
    if command:
        call.analyze_script(value._replace(text=command))
        verb = "configure" if _is_usual(command) else "configure-command"
        call.add_effect("git", verb, value, target=key, source=command, writes=True)
    elif _is_hook_setting(key):
        _add_hook_setting(call, key, value, "configure-hooks")
    elif not _add_network_setting(call, key, value):
        call.add_effect("git", "configure", value, target=key, source=value.text, writes=True)


def _normalize_key(key: str) -> str:
    """Lower the case of a key except for its middle part."""
    section, _, rest = key.partition(".")
    name, _, suffix = rest.rpartition(".")
    return f"{section.lower()}.{name}.{suffix.lower()}"


def _add_hook_setting(call: Invocation, key: str, value: Argument, verb: str) -> None:
    if value.text in {"", "/dev/null"}:
        call.add_effect("git", "skip-hooks", value, target=key, writes=True)
    else:
        call.add_effect("git", verb, value, target=key, path=call.resolve(value), source=value.text, writes=True)


def _add_network_setting(call: Invocation, key: str, value: Argument) -> bool:
    """Add a setting that redirects traffic or disables TLS verification; return whether it is one."""
    section, _, rest = key.partition(".")
    suffix = rest.rpartition(".")[2].lower()
    if section == "url" and suffix in {"insteadof", "pushinsteadof"}:
        new_host, old_host = get_remote_host(rest.rpartition(".")[0]), get_remote_host(value.text)
        if new_host != old_host:
            call.add_effect("git", "redirect", value, target=value.text, host=new_host, writes=True)
        return True
    if section == "remote" and suffix in {"url", "pushurl"}:
        name, host = rest.rpartition(".")[0], get_remote_host(value.text)
        call.add_effect("git", "remote-set-url", value, target=name, host=host, source=value.text, writes=True)
        return True
    if (section in {"http", "https"} and suffix == "proxy") or (section == "remote" and suffix == "proxy"):
        call.add_effect("git", "redirect", value, target=key, host=get_remote_host(value.text), writes=True)
        return True
    if section == "http" and suffix == "sslverify" and value.text.lower() in {"false", "0", "no", "off"}:
        call.add_effect("git", "unverified", value, target=key, writes=True)
        return True
    return False


def get_remote_host(url: str) -> str:
    """Return the host of a git address, or an empty string for a local path."""
    scheme, separator, _ = url.partition("://")
    if separator:
        return "" if scheme == "file" else get_host(url) or "?"
    host, colon, _ = url.partition(":")
    return host.rpartition("@")[2] if colon and "/" not in host and len(host) > 1 else ""
