"""Containers: what they are given of this machine, what runs in them, and what is thrown away with them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trotline.analysis.addresses import ENGINES
from trotline.analysis.inside import Mount, run_inside
from trotline.analysis.options import Options, options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.effects import Certainty

_GLOBAL = "H host l log-level c context config tlscacert tlscert tlskey n namespace address a".split()
_NOUNS = frozenset(
    "builder buildx checkpoint compose config container context image machine manifest network node plugin pod secret"
    " service stack swarm system trust volume".split()
)
_COMPOSE = "f file p project-name profile env-file project-directory parallel ansi progress".split()
_FLAGS = frozenset(
    "detach interactive tty rm privileged init read-only publish-all no-healthcheck oom-kill-disable sig-proxy quiet"
    " disable-content-trust help replace no-hosts rmi tls service-ports no-deps build remove-orphans quiet-pull T"
    " use-aliases no-TTY".split()
)
_SHORT_VALUED = frozenset("a c e h l m p u v w".split())
_POWERS = frozenset(
    "ALL SYS_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO SYS_BOOT SYS_TIME DAC_READ_SEARCH NET_ADMIN BPF PERFMON SYSLOG"
    " MAC_ADMIN MAC_OVERRIDE SETPCAP MKNOD".split()
)


class Meaning(NamedTuple):
    verb: str
    whole: str = ""  # flags with which it takes everything, or without asking
    volumes: str = ""  # flags with which volumes go too


_MEANINGS = {
    "rm": Meaning("remove", "f force", "v volumes"),
    "container rm": Meaning("remove", "f force", "v volumes"),
    "container remove": Meaning("remove", "f force", "v volumes"),
    "rmi": Meaning("remove image", "f force"),
    "image rm": Meaning("remove image", "f force"),
    "image remove": Meaning("remove image", "f force"),
    "image prune": Meaning("prune", "a all"),
    "container prune": Meaning("prune"),
    "network prune": Meaning("prune"),
    "network rm": Meaning("remove network"),
    "builder prune": Meaning("prune cache"),
    "buildx prune": Meaning("prune cache"),
    "system prune": Meaning("prune", "a all", "volumes"),
    "system reset": Meaning("remove volume"),
    "volume rm": Meaning("remove volume"),
    "volume remove": Meaning("remove volume"),
    "volume prune": Meaning("remove volume"),
    "compose rm": Meaning("remove", volumes="v"),
    "compose down": Meaning("down", "rmi", "v volumes"),
    "compose kill": Meaning("stop"),
    "compose stop": Meaning("stop"),
    "compose push": Meaning("push"),
    "compose up": Meaning("up"),
    "stop": Meaning("stop", "a all"),
    "kill": Meaning("stop", "a all"),
    "pause": Meaning("stop", "a all"),
    "container stop": Meaning("stop", "a all"),
    "container kill": Meaning("stop", "a all"),
    "stack rm": Meaning("remove service"),
    "stack down": Meaning("remove service"),
    "service rm": Meaning("remove service"),
    "swarm leave": Meaning("remove service", "f force"),
    "node rm": Meaning("remove service"),
    "secret rm": Meaning("remove service"),
    "config rm": Meaning("remove service"),
    "pod rm": Meaning("remove", "f force"),
    "rmp": Meaning("remove", "f force a all"),
    "stopp": Meaning("stop"),
    "machine rm": Meaning("remove volume"),
    "machine reset": Meaning("remove volume"),
    "push": Meaning("push"),
    "image push": Meaning("push"),
    "manifest push": Meaning("push"),
    "pull": Meaning("pull"),
    "image pull": Meaning("pull"),
    "login": Meaning("login"),
}


def _engine(step: Step) -> None:
    words = options(step.words, _GLOBAL, stops=True).rest
    if words and words[0].text in _NOUNS:
        noun = words[0].text
        rest = options(words[1:], _COMPOSE, stops=True).rest if noun == "compose" else words[1:]
        _verb(step, noun, rest)
    else:
        _verb(step, "", words)


def _compose(step: Step) -> None:
    _verb(step, "compose", options(step.words, _COMPOSE, stops=True).rest)


def _verb(step: Step, noun: str, words: Sequence[Argument]) -> None:
    if not words:
        return
    verb, rest = words[0].text, list(words[1:])
    if any(word.text == "--help" for word in rest) and verb not in {"run", "exec", "create"}:
        return
    name = f"{noun} {verb}" if noun and not (noun == "container" and verb in _WORK) else verb
    if name in _WORK:
        _WORK[name](step, rest)
        return
    meaning = _MEANINGS.get(name)
    if meaning is None or any(word.text == "--dry-run" for word in rest):
        return
    valued = "t time signal filter until u username p password".split()
    found = options(rest, [*valued, "s"] if meaning.verb == "stop" else valued)
    listed = meaning.verb == "stop" and any(word.stream is not None for word in found.rest)  # whatever runs
    whole = listed or (found.has(*meaning.whole.split()) if meaning.whole else False)
    target = " ".join(word.text for word in found.rest) or name
    every = "all" if meaning.verb == "remove" and found.has("a", "all") else ""
    step.effect("container", meaning.verb, target=target, recursive=whole, source=every, writes=True, host=step.name)
    if meaning.volumes and found.has(*meaning.volumes.split()):
        step.effect("container", "remove volume", target=f"{name} with volumes", writes=True, host=step.name)


# What is started


def _started(words: Sequence[Argument]) -> Options:
    """Nearly every long option of `run` takes a value; the few that do not are known."""
    valued = {word.text[2:] for word in words if word.text.startswith("--") and "=" not in word.text} - _FLAGS
    return options(words, valued | _SHORT_VALUED, stops=True)


def _run(step: Step, words: list[Argument]) -> None:
    found = _started(words)
    if not found.rest and found.has("help"):
        return
    mounts = _mounts(step, found)
    _powers(step, found, mounts)
    inner = _entered(found)
    image = found.rest[0].text if found.rest else ""
    step.effect("container", "run", target=image, host=step.name)
    if inner and step.name:
        run_inside(step, inner, mounts, found.value("w", "workdir"))


def _mounts(step: Step, found: Options) -> list[Mount]:
    mounts = []
    for value in found.values("v", "volume"):
        parts = value.text.split(":")
        if len(parts) > 1 and parts[0].startswith(("/", ".", "~", "$", "\0")):
            mounts.append(Mount(step.scene.absolute(parts[0]), parts[1], "ro" in parts[2:]))
    for value in found.values("mount"):
        fields = dict(part.partition("=")[::2] for part in value.text.split(","))
        here = fields.get("source") or fields.get("src") or ""
        there = fields.get("target") or fields.get("destination") or fields.get("dst") or ""
        if fields.get("type", "bind") == "bind" and here and there:
            mounts.append(Mount(step.scene.absolute(here), there, "readonly" in fields or "ro" in fields))
    return mounts


def _powers(step: Step, found: Options, mounts: list[Mount]) -> None:
    """What lets a container out: powers over this machine, its devices, or the engine's own socket."""
    asked = [f"--{flag}" for flag in ("privileged",) if flag in found.flags and _true(found.value(flag))]
    asked += [f"--{flag}=host" for flag in ("pid", "ipc", "userns", "uts", "cgroupns") if found.value(flag) == "host"]
    asked += [f"--cap-add={value.text}" for value in found.values("cap-add") if _power(value.text) in _POWERS]
    asked += [f"--device={value.text}" for value in found.values("device") if value.text.startswith("/dev/")]
    asked += [f"--security-opt={value.text}" for value in found.values("security-opt") if "unconfined" in value.text]
    if asked:
        step.effect("container", "privileged", target=" ".join(asked), writes=True, host=step.name)
    if found.value("net", "network") == "host":
        step.effect("container", "host network", target="--network=host", host=step.name)
    for mount in mounts:
        if mount.here.endswith(ENGINES):
            step.effect("container", "socket", path=mount.here, target=mount.here, writes=True, host=step.name)
        else:
            step.effect("container", "mount", path=mount.here, target=mount.inside, writes=not mount.reads_only)


_AS_OPTION = {
    "privileged": "privileged",
    "pidmode": "pid",
    "pid": "pid",
    "ipcmode": "ipc",
    "ipc": "ipc",
    "usernsmode": "userns",
    "capadd": "cap-add",
    "capabilities": "cap-add",
    "devices": "device",
    "securityopt": "security-opt",
    "networkmode": "network",
    "network": "network",
    "binds": "volume",
    "bind": "volume",
    "volume": "volume",
    "volumes": "volume",
    "mounts": "mount",
    "mount": "mount",
}
"""Names in calls of the engine, of its libraries and of servers, without case and underscores: the option they are."""


def asked_for(step: Step, given: Mapping[str, Any]) -> None:
    """The powers that a container is given in a call: the same options, as JSON."""
    found = _started([Argument(word) for word in _as_options(given)])
    _powers(step, found, _mounts(step, found))


def _as_options(given: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    for key, value in given.items():
        option = _AS_OPTION.get(str(key).lower().replace("_", "").replace("-", ""))
        if option in {"volume", "mount"}:
            yield from _as_mounts(value)
        elif option:
            values = value if isinstance(value, list) else [value]
            yield from (f"--{option}={each}" for each in values if isinstance(each, str | bool))
        elif isinstance(value, Mapping) and depth < 3:
            yield from _as_options(value, depth + 1)


def _as_mounts(value: Any) -> Iterator[str]:
    """`["/a:/b:ro"]`, `[{"source": "/a", "target": "/b"}]` or `{"/a": {"bind": "/b", "mode": "ro"}}`."""
    if isinstance(value, Mapping) and all(isinstance(each, Mapping) for each in value.values()):
        value = [{"source": here, "target": inner.get("bind"), **inner} for here, inner in value.items()]
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield f"--volume={each}"
        elif isinstance(each, Mapping):
            fields = {str(key).lower(): field for key, field in each.items()}
            here = next((fields[name] for name in ("source", "src", "hostpath", "host") if name in fields), "")
            there = next((fields[name] for name in ("target", "destination", "containerpath") if name in fields), "/x")
            reads = ":ro" if fields.get("readonly") is True or fields.get("mode") == "ro" else ""
            yield f"--volume={here}:{there}{reads}"


def _true(value: str) -> bool:
    return value.lower() not in {"false", "0"}


def _power(text: str) -> str:
    return text.upper().removeprefix("CAP_")


def _exec(step: Step, words: list[Argument]) -> None:
    found = options(words, "e env env-file u user w workdir detach-keys index".split(), stops=True)
    if found.has("privileged"):
        step.effect("container", "privileged", target="--privileged", writes=True, host=step.name)
    if found.rest:
        step.effect("container", "exec", found.rest[0], target=found.rest[0].text, host=step.name)
    inner = found.rest[1:]
    if inner and inner[0].text == "--":
        inner = inner[1:]
    if inner:
        run_inside(step, inner, (), found.value("w", "workdir"), lasting="container")


def _scaled(step: Step, words: list[Argument]) -> None:
    """`service scale web=0`, `service update --replicas 0 web`: a service of which nothing runs."""
    found = options(words, ("replicas",))
    if found.value("replicas") == "0" or any(word.text.endswith("=0") for word in found.rest):
        target = " ".join(word.text for word in found.rest)
        step.effect("container", "scale to nothing", target=target, writes=True, host=step.name)


def _compose_run(step: Step, words: list[Argument]) -> None:
    found = _started(words)
    inner = _entered(found)
    if inner:
        run_inside(step, inner, _mounts(step, found), found.value("w", "workdir"))


def _entered(found: Options) -> list[Argument]:
    """The words that are run: those after the image, behind an entry point; Compose reads one as words."""
    entry = [word._replace(text=part) for word in found.values("entrypoint")[-1:] for part in word.text.split()]
    return [*entry, *found.rest[1:]]


# What goes in and out


_SECRET = re.compile(r"(?i)(?:secret|token|passw|api_?key|private_?key|credential|access_?key)")


def _build(step: Step, words: list[Argument]) -> None:
    valued = (
        "t tag f file build-arg secret ssh target platform o output cache-from cache-to network label progress".split()
    )
    found = options(words, valued)
    for secret in found.values("secret"):
        fields = dict(part.partition("=")[::2] for part in secret.text.split(","))
        place = fields.get("src") or fields.get("source")
        if place:
            step.read(secret._replace(text=place), verb="build")
    for value in found.values("build-arg"):
        name = value.text.partition("=")[0]
        if _SECRET.search(name):
            step.effect("container", "secret in image", value, target=name, writes=True, certainty=Certainty.KNOWN)
    step.effect("container", "build", target=found.value("t", "tag"), host=step.name)
    if found.has("push"):
        step.effect("container", "push", target=found.value("t", "tag"), writes=True, host=step.name)


def _cp(step: Step, words: list[Argument]) -> None:
    places = options(words).rest
    if len(places) < 2:
        return
    source, target = places[0], places[1]
    if ":" not in source.text.partition("/")[0]:
        step.read(source, verb="copy", recursive=True)
    elif target.text != "-":
        step.write(target, verb="copy")


def _save(step: Step, words: list[Argument]) -> None:
    for file in options(words, ("o", "output")).values("o", "output"):
        step.write(file)
    step.out = Stream()


_WORK = {
    "run": _run,
    "create": _run,
    "exec": _exec,
    "compose exec": _exec,
    "compose run": _compose_run,
    "build": _build,
    "image build": _build,
    "buildx build": _build,
    "compose build": _build,
    "cp": _cp,
    "save": _save,
    "service scale": _scaled,
    "service update": _scaled,
    "export": _save,
}


# Machines of one's own: made again by one command, but with all that was in them gone


class Machine(NamedTuple):
    removes: str
    stops: str = ""
    runs: str = ""
    valued: str = ""


_MACHINES = {
    "incus": Machine("delete rm", "stop restart pause", "exec"),
    "k3d": Machine("delete", "stop"),
    "kind": Machine("delete"),
    "lima": Machine("delete", "stop"),
    "limactl": Machine("delete factory-reset prune", "stop", "shell"),
    "lxc": Machine("delete rm", "stop restart pause", "exec"),
    "microk8s": Machine("reset", "stop"),
    "minikube": Machine("delete", "stop", valued="p profile"),
    "multipass": Machine("delete purge", "stop suspend", "exec"),
    "orb": Machine("delete reset", "stop"),
    "vagrant": Machine("destroy", "halt suspend reload"),
    "virsh": Machine(
        "destroy undefine vol-delete vol-wipe pool-delete snapshot-delete net-undefine",
        "shutdown reset",
        valued="c connect",
    ),
    "vboxmanage": Machine("unregistervm closemedium", "controlvm"),
    "prlctl": Machine("delete", "stop"),
    "docker-machine": Machine("rm", "stop kill"),
    "colima": Machine("delete prune", "stop"),
}


def _machine(step: Step) -> None:
    row = _MACHINES[step.name.lower()]
    found = step.options(row.valued.split(), stops=not row.valued)
    verbs = [word.text for word in found.rest[:2]]
    if step.name == "vagrant" and verbs[:1] == ["ssh"]:
        for command in step.options("c command".split()).values("c", "command"):
            step.script(command)
        return
    if verbs[:1] and verbs[0] in row.runs.split():
        _exec(step, list(found.rest[1:]))
    elif any(verb in row.removes.split() for verb in verbs):
        step.effect("container", "remove machine", target=" ".join([step.name, *verbs]), writes=True, host=step.name)
    elif any(verb in row.stops.split() for verb in verbs):
        step.effect("container", "stop", target=" ".join([step.name, *verbs]), writes=True, host=step.name)


TOOLS: dict[str, Handler] = {
    **dict.fromkeys("docker podman nerdctl finch crictl".split(), _engine),
    **dict.fromkeys("docker-compose podman-compose".split(), _compose),
    **dict.fromkeys(_MACHINES, _machine),
}
