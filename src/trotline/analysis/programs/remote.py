"""Programs for other machines: ssh, rsync, scp, Ansible, Salt."""

from collections.abc import Iterable

from trotline.analysis.programs import join_words, print_secret
from trotline.analysis.programs.network_effects import NETWORK_STREAM
from trotline.analysis.programs.wrappers import analyze_shell
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import join_streams

_RUN_OPTIONS = frozenset({"knownhostscommand", "localcommand", "proxycommand"})
_SSH_VALUED = "B b c D E e F I i J L l m O o p Q R S W w"


def analyze_ssh_options(call: Invocation, settings: Iterable[Argument]) -> None:
    """Analyze programs that `-o` runs on this machine: `-o ProxyCommand=...` or `-o 'ProxyCommand ...'`."""
    for setting in settings:
        name, _, value = setting.text.replace("=", " ", 1).partition(" ")
        if name.lower() in _RUN_OPTIONS:
            call.analyze_script(setting._replace(text=value))


def _handle_ssh(call: Invocation) -> None:
    options = call.parse_options(_SSH_VALUED, stops=True)
    analyze_ssh_options(call, options.values("o"))
    for key in options.values("i"):
        call.add_effect("read", "authenticate", key, path=call.resolve(key))
    if not options.rest:
        return
    host = options.rest[0].text.rpartition("@")[2]
    call.add_effect("connect", "ssh", options.rest[0], host=host)
    for forward in options.values("R", "D", "w"):
        call.add_effect("connect", "way back", forward, host=host, target=forward.text)
    words = options.rest[1:]
    if words and call.stdin.effect_source:
        call.add_send(host, options.rest[0], source=call.stdin.effect_source, verb="ssh")
    if words:
        remote = call.state.copy_for_remote()
        remote.cwd = remote.environment.home
        call.analyze_script(join_words(words), state=remote)
    elif call.stdin.text or call.stdin.origins:
        analyze_shell(call)
    call.stdout = NETWORK_STREAM


def _handle_autossh(call: Invocation) -> None:
    """Analyze the words of ssh after the options for the monitoring port."""
    words = list(call.args)
    while words and words[0].text.startswith(("-M", "-f")):
        words = words[2 if words[0].text == "-M" else 1 :]
    call.stdout = call.analyze_command([call.program._replace(text="ssh"), *words])


def _handle_mosh(call: Invocation) -> None:
    options = call.parse_options("p port family predict server bind-server", scripts="ssh client", stops=True)
    call.stdout = call.analyze_command(
        [call.program._replace(text="ssh"), *(word for word in options.rest if word.text != "--")]
    )


# Copies


def _handle_rsync(call: Invocation) -> None:
    valued = "f T B M exclude include filter files-from exclude-from rsync-path chown log-file"
    options = call.parse_options(valued, scripts="e rsh")
    if options.has("n", "dry-run"):
        return  # it connects, by the shell of `-e`, and changes nothing
    sources, targets = options.rest[:-1], options.rest[-1:]
    for source in sources:
        if _get_remote_host(source.text):
            call.add_effect("fetch", "rsync", source, host=_get_remote_host(source.text))
        else:
            call.add_read(source, recursive=True, verb="copy")
            if options.has("remove-source-files"):
                call.add_delete(source, recursive=True)
    for target in targets:
        if _get_remote_host(target.text):
            _add_upload(call, target, sources)
        elif any(flag == "del" or flag.startswith("delete") for flag in options.flags):
            call.add_delete(target, recursive=True, verb="rsync --delete")
        else:
            call.add_write(target, verb="copy", recursive=True)
            for source in sources:
                call.state.record_write(call.resolve(target), call.state.get_content(call.resolve(source)))


def _get_remote_host(text: str) -> str:
    """Return the host of `user@host:path` or `rsync://host/...`, or nothing."""
    if "://" in text:
        return text.partition("://")[2].partition("/")[0].rpartition("@")[2]
    host, colon, _ = text.partition(":")
    return host.rpartition("@")[2] if colon and "/" not in host and len(host) > 1 else ""


def _add_upload(call: Invocation, target: Argument, sources: tuple[Argument, ...]) -> None:
    content = join_streams([call.state.get_content(call.resolve(source)) for source in sources])
    path = target.text.partition(":")[2].lstrip(":")
    call.add_effect(
        "send", call.name, target, host=_get_remote_host(target.text), target=path, source=content.effect_source
    )


def _handle_scp(call: Invocation) -> None:
    options = call.parse_options("c D F i J l o P X", scripts="S")
    analyze_ssh_options(call, options.values("o"))
    sources, targets = options.rest[:-1], options.rest[-1:]
    for source in sources:
        if _get_remote_host(source.text):
            call.add_effect("fetch", call.name, source, host=_get_remote_host(source.text))
        else:
            call.add_read(source, recursive=options.has("r"), verb="copy")
    for target in targets:
        if _get_remote_host(target.text):
            _add_upload(call, target, sources)
        else:
            call.add_write(target, verb="copy")


# Keys


def _handle_ssh_copy_id(call: Invocation) -> None:
    options = call.parse_options("i p o t")
    for arg in options.rest[:1]:
        host = arg.text.rpartition("@")[2]
        call.add_effect("persist", "ssh key", arg, host=host, target=f"the authorized keys of {host}", writes=True)


def _handle_ssh_keygen(call: Invocation) -> None:
    options = call.parse_options("a b C E e F f I i K k l M m N n O P R r s t V w Y Z")
    if options.has("R"):
        call.add_effect("system", "settings", target="the known hosts", writes=True)
    if options.has("l", "y", "F", "H", "e", "B", "Q", "L", "R"):
        return
    for arg in options.values("f"):
        call.add_write(arg, verb="key")


def _handle_ssh_add(call: Invocation) -> None:
    options = call.parse_options("E e H h S s t")
    for arg in options.rest:
        call.add_read(arg, verb="authenticate")
    if options.has("D"):
        call.add_effect("system", "remove key", target="the keys that the agent holds")


def _handle_ssh_keyscan(call: Invocation) -> None:
    for arg in call.parse_options("f p T t").rest:
        call.add_effect("fetch", "get", arg, host=arg.text)
    call.stdout = NETWORK_STREAM


# Many machines at once

_ANSIBLE_VALUED = (
    "i inventory m module-name a args u user e extra-vars l limit f forks t tags become-user vault-password-file"
)
_READ_ONLY_MODULES = frozenset("assert debug find getent ping service_facts setup slurp stat wait_for win_ping".split())
_SCRIPT_MODULES = {"", "shell", "command", "raw", "ansible.builtin.shell", "ansible.builtin.command", "script"}


def _handle_ansible(call: Invocation) -> None:
    options = call.parse_options(_ANSIBLE_VALUED)
    if options.has("list-hosts", "syntax-check", "list-tasks", "list-tags", "version", "help"):
        return
    module = options.value("m", "module-name")
    only_reads = options.has("C", "check") or (
        call.name == "ansible" and module.rpartition(".")[2] in _READ_ONLY_MODULES
    )
    host = options.rest[0].text if options.rest else ""
    call.add_effect("infra", "read" if only_reads else "change", target=call.name, writes=True, host=host)
    if call.name == "ansible" and module in _SCRIPT_MODULES:
        for text in options.values("a", "args"):
            _analyze_remote_script(call, text)
    for secret in options.values("vault-password-file"):
        call.add_effect("read", "authenticate", secret, path=call.resolve(secret))


def _analyze_remote_script(call: Invocation, text: Argument) -> None:
    """Analyze a script that runs on other machines, in the home directory."""
    state = call.state.copy_for_remote()
    state.cwd = state.environment.home
    call.analyze_script(text, state=state)


def _handle_ansible_vault(call: Invocation) -> None:
    verb = next((word.text for word in call.args if not word.text.startswith("-")), "")
    if verb in {"view", "decrypt", "edit"}:
        print_secret(call, f"ansible-vault {verb}", host=call.name)


def _handle_salt(call: Invocation) -> None:
    options = call.parse_options("L list t timeout out c config-dir b batch-size G grain I pillar E pcre N nodegroup")
    words = options.rest
    function = next((index for index, word in enumerate(words[:2]) if "." in word.text), -1)
    if function < 0:
        return
    name = words[function].text
    verb = "read" if name.startswith(("test.", "grains.", "status.")) else "change"
    call.add_effect("infra", verb, target=name, writes=True)
    if name.startswith("cmd."):
        for text in words[function + 1 : function + 2]:
            _analyze_remote_script(call, text)


def _handle_pssh(call: Invocation) -> None:
    """`pssh`, `clush`, `pdsh`: the words after the options are a script."""
    options = call.parse_options("h H w l user p par t timeout o e g x a-", stops=True)
    call.add_effect("connect", "ssh", host=options.value("H", "w", "h"))
    if options.rest:
        _analyze_remote_script(call, join_words(options.rest))


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("ansible ansible-playbook ansible-pull".split(), _handle_ansible),
    **dict.fromkeys("salt salt-call salt-ssh".split(), _handle_salt),
    **dict.fromkeys("pssh parallel-ssh clush pdsh".split(), _handle_pssh),
    "ansible-vault": _handle_ansible_vault,
    "autossh": _handle_autossh,
    "mosh": _handle_mosh,
    "rsync": _handle_rsync,
    "scp": _handle_scp,
    "ssh": _handle_ssh,
    "ssh-add": _handle_ssh_add,
    "ssh-copy-id": _handle_ssh_copy_id,
    "ssh-keygen": _handle_ssh_keygen,
    "ssh-keyscan": _handle_ssh_keyscan,
}
