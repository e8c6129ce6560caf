"""Keychains, password stores, encryption keys, and programs that read passwords from memory."""

from trotline.analysis.programs import print_secret
from trotline.analysis.programs.network_effects import read_sent_file
from trotline.analysis.secret_files import MEMORY_SOURCE
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.streams import Stream, join_streams
from trotline.formats.lazy_regex import lazy_regex

_SHOW_VERB = lazy_regex(r"(?i)^(?:find-\w+-password|dump-\w*keychain|export|find-key|find-identity)$")

PASSWORD_STEALERS = frozenset(
    "impacket-secretsdump lazagne lsassy mimikatz nanodump pypykatz safetykatz secretsdump.py sharpdpapi".split()
)
"""Programs whose only purpose is to steal passwords."""


def _handle_security(call: Invocation) -> None:
    """The keychain of macOS."""
    words = [word.text for word in call.args]
    if words[:1] and _SHOW_VERB.match(words[0]) and words[0] != "find-identity":
        exports_all = words[0] == "export" or (words[0].startswith("dump-") and "-d" in words)
        print_secret(call, "the keychain", recursive=exports_all)
    elif words[:1] and words[0].startswith(("delete-", "set-key", "unlock-", "add-trusted", "remove-trusted")):
        call.add_effect("system", "remove key" if words[0].startswith("delete-") else "protection off", target=words[0])
    elif words[:1] and words[0].startswith("add-"):
        path = f"{call.state.environment.home}/Library/Keychains/login.keychain"
        call.add_effect("write", "secret", path=path, writes=True)


def _handle_secret_tool(call: Invocation) -> None:
    words = [word.text for word in call.args]
    if words[:1] in (["lookup"], ["search"]):
        print_secret(call, "the keyring")
    elif words[:1] in (["store"], ["clear"]):
        path = f"{call.state.environment.home}/.local/share/keyrings/login"
        call.add_effect("write", "secret", path=path, writes=True)


_PASS_VERBS = frozenset("ls list find search git help version init --help --version".split())
"""Verbs of `pass` that show no password."""


def _handle_pass(call: Invocation) -> None:
    options = call.parse_options("p path")
    words = [word.text for word in options.rest]
    if not words or words[0] in _PASS_VERBS:
        return
    if words[0] in {"insert", "edit", "generate", "rm", "remove", "delete", "mv", "cp", "add"}:
        path = f"{call.state.environment.home}/.password-store/{words[-1]}"
        call.add_effect("write", "secret", path=path, target=" ".join(words), writes=True)
        return
    print_secret(call, words[-1])


def _handle_memory_dumper(call: Invocation) -> None:
    """The memory of another process contains its secrets."""
    options = call.parse_options("o p pid output")
    if call.name.lower() in PASSWORD_STEALERS or any("lsass" in word.text.lower() for word in call.args):
        add_stolen_passwords(call)
        return
    call.add_effect("read", "memory", target=options.rest[-1].text if options.rest else options.value("p", "pid"))


def add_stolen_passwords(call: Invocation) -> None:
    """Add the theft of the passwords of all logged-in users."""
    call.add_effect(
        "read", "secret", target="the passwords of all who are logged in", source=MEMORY_SOURCE, recursive=True
    )


def _handle_kinit(call: Invocation) -> None:
    options = call.parse_options("t k c l r S")
    for arg in options.values("t"):
        call.add_read(arg, verb="authenticate")


def _handle_gpg(call: Invocation) -> None:
    options = call.parse_options(
        "r u recipient local-user homedir keyserver passphrase", reads="passphrase-file", writes="o output"
    )
    if any(flag.startswith("export-sec") for flag in options.flags):  # `--export` is not an abbreviation of it
        call.add_effect("read", "secret", target="private keys", recursive=True)
        call.stdout = Stream(None, frozenset({"file"}), (f"{call.state.environment.home}/.gnupg/private-keys-v1.d",))
    if any(flag.startswith("delete-sec") for flag in options.flags):
        call.add_effect("system", "remove key", target="a private key")
    if options.has("d", "decrypt") or not options.flags:
        stream = join_streams([read_sent_file(call, arg, arg.text) for arg in options.rest[:1]] or [call.stdin])
        call.stdout = stream.drop_text().add_origins("decoded")


def _handle_age(call: Invocation) -> None:
    options = call.parse_options("i r R p identity recipient recipients-file", writes="o output")
    for arg in options.values("i", "identity"):
        call.add_read(arg, verb="authenticate")
    stream = join_streams([read_sent_file(call, arg, arg.text) for arg in options.rest[:1]] or [call.stdin])
    call.stdout = stream.drop_text().add_origins("decoded") if options.has("d", "decrypt") else stream.drop_text()


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys((*"gcore procdump procdump64 minidump".split(), *PASSWORD_STEALERS), _handle_memory_dumper),
    "age": _handle_age,
    "gpg": _handle_gpg,
    "gpg2": _handle_gpg,
    "kinit": _handle_kinit,
    "pass": _handle_pass,
    "secret-tool": _handle_secret_tool,
    "security": _handle_security,
}
