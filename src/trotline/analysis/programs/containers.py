"""Containers and virtual machines: their privileges, the programs in them, and their removal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from trotline.analysis.network_addresses import CONTAINER_SOCKETS
from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.programs.phrases import (
    Act,
    ProgramRow,
    analyze_program,
    expand_names,
    has_matching_phrase,
    program,
)
from trotline.analysis.shell.invocation import UNKNOWN_TEXT, Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream
from trotline.domain.effects import Certainty, Effect
from trotline.formats.lazy_regex import lazy_regex

# Programs inside a container: paths are its own, unless a directory of this machine is mounted there

_PATH_KINDS = frozenset("delete write read permissions link disk persist".split())
_CHANGE_KINDS = frozenset("delete write permissions disk".split())


class Mount(NamedTuple):
    """A directory of this machine, and its path inside the container."""

    here: str
    inside: str
    is_read_only: bool = False


def analyze_inside(
    call: Invocation, words: Sequence[Argument], mounts: Iterable[Mount] = (), cwd: str = "", *, lasting: str = ""
) -> None:
    """Analyze a program inside a container. `lasting` is the kind of effect for files that it changes there, or ""
    if the container is removed afterwards and nothing is lost.
    """
    state = call.state.copy_for_remote()
    state.cwd = cwd or UNKNOWN_CHAR
    state.written_texts = {}
    before = len(call.analyzer.effects)
    call.stdout = call.analyze_command(words, Stream(), state=state)
    effects = call.analyzer.effects[before:]
    changed = {
        id(effect): _map_effect(effect, sorted(mounts, key=lambda mount: -len(mount.inside)), lasting)
        for effect in effects
    }
    call.analyzer.effects[before:] = [new for effect in effects if (new := changed[id(effect)]) is not None]
    _replace_effects(call.children, changed)


def _replace_effects(calls: Iterable[Invocation], changed: dict[int, Effect | None]) -> None:
    """Replace the effects of each call like those of the whole line."""
    for call in calls:
        effects = [changed.get(id(effect), effect) for effect in call.effects]
        call.effects = [effect for effect in effects if effect is not None]
        _replace_effects(call.children, changed)


def _map_effect(effect: Effect, mounts: Sequence[Mount], lasting: str) -> Effect | None:
    """Return the effect on this machine, or None if there is none."""
    if effect.kind not in _PATH_KINDS or not effect.path:
        return effect
    for mount in mounts:
        inside = mount.inside.rstrip("/")
        if effect.path == mount.inside or effect.path.startswith(inside + "/"):
            if mount.is_read_only and effect.kind in _CHANGE_KINDS:
                return None
            rest = effect.path[len(inside) :].strip("/")
            path = f"{mount.here.rstrip('/')}/{rest}".rstrip("/") or "/"
            return msgspec.structs.replace(effect, path=path)
        if inside.startswith(effect.path.rstrip("/*") + "/") and effect.recursive and effect.kind in _CHANGE_KINDS:
            return None if mount.is_read_only else msgspec.structs.replace(effect, path=mount.here)
    if lasting and effect.kind in _CHANGE_KINDS:
        verb = "delete inside" if effect.kind == "delete" else "write inside"
        target = effect.path.replace(UNKNOWN_CHAR, UNKNOWN_TEXT)
        return msgspec.structs.replace(effect, kind=lasting, verb=verb, path="", target=target)
    return None


# Commands

_GLOBAL_VALUED = "H host l log-level c context config tlscacert tlscert tlskey n namespace address a"
_NOUNS = frozenset(
    "builder buildx checkpoint compose config container context image machine manifest network node plugin pod secret"
    " service stack swarm system trust volume".split()
)
_COMPOSE_VALUED = "f file p project-name profile env-file project-directory parallel ansi progress"
_FLAGS_WITHOUT_VALUE = frozenset(
    "detach interactive tty rm privileged init read-only publish-all no-healthcheck oom-kill-disable sig-proxy quiet"
    " disable-content-trust help replace no-hosts rmi tls service-ports no-deps build remove-orphans quiet-pull T"
    " use-aliases no-TTY".split()
)
_SHORT_VALUED = frozenset("a c e h l m p u v w".split())
_CAPABILITIES = frozenset(
    "ALL SYS_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO SYS_BOOT SYS_TIME DAC_READ_SEARCH NET_ADMIN BPF PERFMON SYSLOG"
    " MAC_ADMIN MAC_OVERRIDE SETPCAP MKNOD".split()
)


_COMMANDS = {
    "remove": "rm|rmp; container rm|remove; pod rm; compose rm",
    "remove image": "rmi; image rm|remove",
    "remove network": "network rm",
    "remove service": "stack rm|down; service|node|secret|config rm; swarm leave",
    "remove volume": "volume rm|remove|prune; system reset; machine rm|reset",
    "prune": "image|container|network|system prune",
    "prune cache": "builder|buildx prune",
    "stop": "stop|stopp|kill|pause; container|compose stop|kill",
    "down": "compose down",
    "up": "compose up",
    "push": "push; image|manifest|compose push",
    "pull": "pull; image pull",
    "login": "login",
}
"""The effect of each command, as phrases of its noun and verb."""

_EVERYTHING = (
    "rm|rmi|rmp +f|force; rmp +a|all; container|image rm|remove +f|force; pod rm +f|force; swarm leave +f|force;"
    "image|system prune +a|all; stop|kill|pause +a|all; container stop|kill +a|all; compose down +rmi"
)
"""Commands that affect everything, or that do not ask."""

_WITH_VOLUMES = (
    "rm +v|volumes; container rm|remove +v|volumes; system prune +volumes; compose rm +v; compose down +v|volumes"
)


def _handle_engine(call: Invocation) -> None:
    words = parse_options(call.args, _GLOBAL_VALUED, stops=True).rest
    if words and words[0].text in _NOUNS:
        noun = words[0].text
        rest = parse_options(words[1:], _COMPOSE_VALUED, stops=True).rest if noun == "compose" else words[1:]
        _analyze_verb(call, noun, rest)
    else:
        _analyze_verb(call, "", words)


def _handle_compose(call: Invocation) -> None:
    _analyze_verb(call, "compose", parse_options(call.args, _COMPOSE_VALUED, stops=True).rest)


def _analyze_verb(call: Invocation, noun: str, words: Sequence[Argument]) -> None:
    if not words:
        return
    verb, rest = words[0].text, list(words[1:])
    if any(word.text == "--help" for word in rest) and verb not in {"run", "exec", "create"}:
        return
    head = [noun, verb] if noun and not (noun == "container" and verb in _VERB_HANDLERS) else [verb]
    name = " ".join(head)
    if name in _VERB_HANDLERS:
        _VERB_HANDLERS[name](call, rest)
        return
    signal = "s" if verb in {"stop", "stopp", "kill", "pause"} else ""
    options = parse_options(rest, f"t time signal filter until u username p password {signal}")
    effect = next((effect for effect, phrases in _COMMANDS.items() if has_matching_phrase(phrases, head, options)), "")
    if not effect or any(word.text == "--dry-run" for word in rest):
        return
    is_listed = effect == "stop" and any(
        word.stream is not None for word in options.rest
    )  # `docker stop $(docker ps -q)`
    affects_all = is_listed or has_matching_phrase(_EVERYTHING, head, options)
    target = " ".join(word.text for word in options.rest) or name
    source = "all" if effect == "remove" and options.has("a", "all") else ""
    call.add_effect(
        "container", effect, target=target, recursive=affects_all, source=source, writes=True, host=call.name
    )
    if has_matching_phrase(_WITH_VOLUMES, head, options):
        call.add_effect("container", "remove volume", target=f"{name} with volumes", writes=True, host=call.name)


# Containers that are started


def _parse_run_options(words: Sequence[Argument]) -> ParsedOptions:
    """Parse the options of `run`: every long option takes a value, except for a known few."""
    valued = {
        word.text[2:] for word in words if word.text.startswith("--") and "=" not in word.text
    } - _FLAGS_WITHOUT_VALUE
    return parse_options(words, " ".join(valued | _SHORT_VALUED), stops=True)


def _analyze_run(call: Invocation, words: list[Argument]) -> None:
    options = _parse_run_options(words)
    if not options.rest and options.has("help"):
        return
    mounts = _parse_mounts(call, options)
    _add_privileges(call, options, mounts)
    inner = _get_inner_words(options)
    image = options.rest[0].text if options.rest else ""
    call.add_effect("container", "run", target=image, host=call.name)
    if inner and call.name:
        analyze_inside(call, inner, mounts, options.value("w", "workdir"))


def _parse_mounts(call: Invocation, options: ParsedOptions) -> list[Mount]:
    mounts = []
    for value in options.values("v", "volume"):
        parts = value.text.split(":")
        if len(parts) > 1 and parts[0].startswith(("/", ".", "~", "$", "\0")):
            mounts.append(Mount(call.state.resolve(parts[0]), parts[1], "ro" in parts[2:]))
    for value in options.values("mount"):
        fields = dict(part.partition("=")[::2] for part in value.text.split(","))
        here = fields.get("source") or fields.get("src") or ""
        there = fields.get("target") or fields.get("destination") or fields.get("dst") or ""
        if fields.get("type", "bind") == "bind" and here and there:
            mounts.append(Mount(call.state.resolve(here), there, "readonly" in fields or "ro" in fields))
    return mounts


def _add_privileges(call: Invocation, options: ParsedOptions, mounts: list[Mount]) -> None:
    """Add privileges that let a container control the host: capabilities, devices, namespaces, the engine socket."""
    is_privileged = "privileged" in options.flags and options.value("privileged").lower() not in {"false", "0"}
    granted = ["--privileged"] if is_privileged else []
    granted += [
        f"--{flag}=host" for flag in ("pid", "ipc", "userns", "uts", "cgroupns") if options.value(flag) == "host"
    ]
    added = [value.text for value in options.values("cap-add")]
    granted += [f"--cap-add={name}" for name in added if name.upper().removeprefix("CAP_") in _CAPABILITIES]
    granted += [f"--device={value.text}" for value in options.values("device") if value.text.startswith("/dev/")]
    granted += [
        f"--security-opt={value.text}" for value in options.values("security-opt") if "unconfined" in value.text
    ]
    if granted:
        call.add_effect("container", "privileged", target=" ".join(granted), writes=True, host=call.name)
    if options.value("net", "network") == "host":
        call.add_effect("container", "host network", target="--network=host", host=call.name)
    for mount in mounts:
        if mount.here.endswith(CONTAINER_SOCKETS):
            call.add_effect("container", "socket", path=mount.here, target=mount.here, writes=True, host=call.name)
        else:
            call.add_effect("container", "mount", path=mount.here, target=mount.inside, writes=not mount.is_read_only)


_FIELD_OPTIONS = expand_names(
    {
        "privileged": "privileged",
        "pid pidmode": "pid",
        "ipc ipcmode": "ipc",
        "usernsmode": "userns",
        "capabilities capadd": "cap-add",
        "devices": "device",
        "securityopt": "security-opt",
        "network networkmode": "network",
        "bind binds volume volumes": "volume",
        "mount mounts": "mount",
    }
)
"""Fields of JSON requests to the engine, in lower case without underscores, and the same options of `run`."""


def add_requested_privileges(call: Invocation, request: Mapping[str, Any]) -> None:
    """Add the privileges that a JSON request gives to a container."""
    options = _parse_run_options([Argument(word) for word in _build_options(request)])
    _add_privileges(call, options, _parse_mounts(call, options))


def _build_options(request: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    for key, value in request.items():
        option = _FIELD_OPTIONS.get(str(key).lower().replace("_", "").replace("-", ""))
        if option in {"volume", "mount"}:
            yield from _build_mount_options(value)
        elif option:
            values = value if isinstance(value, list) else [value]
            yield from (f"--{option}={each}" for each in values if isinstance(each, str | bool))
        elif isinstance(value, Mapping) and depth < 3:
            yield from _build_options(value, depth + 1)


def _build_mount_options(value: Any) -> Iterator[str]:
    """Read `["/a:/b:ro"]`, `[{"source": "/a", "target": "/b"}]` or `{"/a": {"bind": "/b", "mode": "ro"}}`."""
    if isinstance(value, Mapping) and all(isinstance(each, Mapping) for each in value.values()):
        value = [{"source": here, "target": inner.get("bind"), **inner} for here, inner in value.items()]
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield f"--volume={each}"
        elif isinstance(each, Mapping):
            fields = {str(key).lower(): field for key, field in each.items()}
            here = next((fields[name] for name in ("source", "src", "hostpath", "host") if name in fields), "")
            there = next((fields[name] for name in ("target", "destination", "containerpath") if name in fields), "/x")
            mode = ":ro" if fields.get("readonly") is True or fields.get("mode") == "ro" else ""
            yield f"--volume={here}:{there}{mode}"


def _analyze_exec(call: Invocation, words: list[Argument]) -> None:
    options = parse_options(words, "e env env-file u user w workdir detach-keys index", stops=True)
    if options.has("privileged"):
        call.add_effect("container", "privileged", target="--privileged", writes=True, host=call.name)
    if options.rest:
        call.add_effect("container", "exec", options.rest[0], target=options.rest[0].text, host=call.name)
    inner = options.rest[1:]
    if inner and inner[0].text == "--":
        inner = inner[1:]
    if inner:
        analyze_inside(call, inner, (), options.value("w", "workdir"), lasting="container")


def _analyze_scale(call: Invocation, words: list[Argument]) -> None:
    """Add the services that `service scale web=0` and `service update --replicas 0 web` stop."""
    options = parse_options(words, "replicas")
    if options.value("replicas") == "0" or any(word.text.endswith("=0") for word in options.rest):
        target = " ".join(word.text for word in options.rest)
        call.add_effect("container", "scale to nothing", target=target, writes=True, host=call.name)


def _analyze_compose_run(call: Invocation, words: list[Argument]) -> None:
    options = _parse_run_options(words)
    inner = _get_inner_words(options)
    if inner:
        analyze_inside(call, inner, _parse_mounts(call, options), options.value("w", "workdir"))


def _get_inner_words(options: ParsedOptions) -> list[Argument]:
    """Return the program that runs inside: the entry point and the words after the image."""
    entry = [word._replace(text=part) for word in options.values("entrypoint")[-1:] for part in word.text.split()]
    return [*entry, *options.rest[1:]]


# Images and files

_SECRET_NAME = lazy_regex(r"(?i)(?:secret|token|passw|api_?key|private_?key|credential|access_?key)")


def _analyze_build(call: Invocation, words: list[Argument]) -> None:
    valued = "t tag f file build-arg secret ssh target platform o output cache-from cache-to network label progress"
    options = parse_options(words, valued)
    for secret in options.values("secret"):
        fields = dict(part.partition("=")[::2] for part in secret.text.split(","))
        file = fields.get("src") or fields.get("source")
        if file:
            call.add_read(secret._replace(text=file), verb="build")
    for value in options.values("build-arg"):
        name = value.text.partition("=")[0]
        if _SECRET_NAME.search(name):
            call.add_effect("container", "secret in image", value, target=name, writes=True, certainty=Certainty.KNOWN)
    call.add_effect("container", "build", target=options.value("t", "tag"), host=call.name)
    if options.has("push"):
        call.add_effect("container", "push", target=options.value("t", "tag"), writes=True, host=call.name)


def _analyze_copy(call: Invocation, words: list[Argument]) -> None:
    files = parse_options(words).rest
    if len(files) < 2:
        return
    source, target = files[0], files[1]
    if ":" not in source.text.partition("/")[0]:
        call.add_read(source, verb="copy", recursive=True)
    elif target.text != "-":
        call.add_write(target, verb="copy")


def _analyze_save(call: Invocation, words: list[Argument]) -> None:
    for file in parse_options(words, "o output").values("o", "output"):
        call.add_write(file)
    call.stdout = Stream()


_VERB_HANDLERS = {
    "run": _analyze_run,
    "create": _analyze_run,
    "exec": _analyze_exec,
    "compose exec": _analyze_exec,
    "compose run": _analyze_compose_run,
    "build": _analyze_build,
    "image build": _analyze_build,
    "buildx build": _analyze_build,
    "compose build": _analyze_build,
    "cp": _analyze_copy,
    "save": _analyze_save,
    "service scale": _analyze_scale,
    "service update": _analyze_scale,
    "export": _analyze_save,
}


# Virtual machines and local clusters


def _build_machine_row(removes: str, stops: str, valued: str = "") -> ProgramRow:
    """Return the row of a program whose machines are lost with everything in them."""
    acts = (Act("container: remove machine", f"... {removes}"), Act("container: stop", f"... {stops}"))
    return program(*acts[: 2 if stops else 1], valued=valued, dry="", depth=2, shown=2)


_MACHINE_ROWS = {
    "colima": _build_machine_row("delete|prune", "stop"),
    "docker-machine": _build_machine_row("rm", "stop|kill"),
    "incus lxc": _build_machine_row("delete|rm", "stop|restart|pause"),
    "k3d lima prlctl": _build_machine_row("delete", "stop"),
    "kind": _build_machine_row("delete", ""),
    "limactl": _build_machine_row("delete|factory-reset|prune", "stop"),
    "microk8s": _build_machine_row("reset", "stop"),
    "minikube": _build_machine_row("delete", "stop", "p profile"),
    "multipass": _build_machine_row("delete|purge", "stop|suspend"),
    "orb": _build_machine_row("delete|reset", "stop"),
    "vagrant": _build_machine_row("destroy", "halt|suspend|reload"),
    "vboxmanage": _build_machine_row("unregistervm|closemedium", "controlvm"),
    "virsh": _build_machine_row(
        "destroy|undefine|vol-delete|vol-wipe|pool-delete|snapshot-delete|net-undefine", "shutdown|reset", "c connect"
    ),
}
_MACHINES = expand_names(_MACHINE_ROWS)
_EXEC = {"limactl": "shell", "multipass": "exec"}


def _analyze_system_container(call: Invocation) -> None:
    """Analyze `incus exec NAME -- PROGRAM` as on this machine: such a container is a whole system that stays."""
    from trotline.analysis.programs.wrappers import QUOTED, Wrapper, analyze_wrapper  # noqa: PLC0415 - seldom needed

    row = Wrapper("t mode T user group cwd env project", "exec", QUOTED, separators="--", bare=False)
    analyze_wrapper(call, row)


def _handle_machine(call: Invocation) -> None:
    verb, *rest = parse_options(call.args, stops=True).rest or (call.program,)
    if call.name == "vagrant" and verb.text == "ssh":
        for command in call.parse_options("c command").values("c", "command"):
            call.analyze_script(command)
    elif call.name in {"incus", "lxc"} and verb.text == "exec":
        _analyze_system_container(call)
    elif verb.text == _EXEC.get(call.name):
        _analyze_exec(call, rest)
    else:
        analyze_program(call, _MACHINES[call.name])


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("docker podman nerdctl finch crictl".split(), _handle_engine),
    **dict.fromkeys("docker-compose podman-compose".split(), _handle_compose),
    **dict.fromkeys(_MACHINES, _handle_machine),
}
