"""Clusters: kubectl, its like, and Helm."""

from collections.abc import Sequence

from trotline.analysis.applied import APPLY, of_objects
from trotline.analysis.inside import run_inside
from trotline.analysis.manifests import kube_objects
from trotline.analysis.options import Options, options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SECRET, Stream
from trotline.analysis.tools.services import dry

_VALUED = (
    "n namespace context kubeconfig cluster user s server token as as-group request-timeout v l selector f filename o"
    " output field-selector c container p patch type replicas grace-period timeout k kustomize image template sort-by"
    " since tail clusterrole role serviceaccount group verb resource resource-name overrides restart env labels port"
    " address profile subresource from-literal from-file from-env-file docker-password docker-username docker-server"
    " current-replicas duration target revision to-revision ingress-class max-unavailable min-available"
).split()
_WHOLE_KINDS = frozenset(
    "namespace namespaces ns node nodes no pv persistentvolume persistentvolumes pvc persistentvolumeclaim"
    " persistentvolumeclaims crd crds customresourcedefinition customresourcedefinitions all project projects cluster"
    " clusters storageclass statefulset statefulsets sts secret secrets".split()
)
_GRANTING_KINDS = frozenset("clusterrolebinding clusterrolebindings rolebinding rolebindings clusterrole role".split())
_READS = frozenset(
    "api-resources api-versions auth cluster-info completion describe diff events explain get help kustomize logs"
    " options"
    " top version wait config plugin projects status whoami project login logout".split()
)
_VERBS = {
    "delete": "delete",
    "drain": "drain",
    "cordon": "cordon",
    "evict": "drain",
    "scale": "scale",
    "replace": "replace",
    "patch": "patch",
    "edit": "edit",
    "taint": "cordon",
    "adm": "admin",
}


def _kubectl(step: Step) -> None:
    own, inner = _parted(step.words)
    found = options(own, _VALUED)
    words = [word.text for word in found.rest]
    if not words or dry(found):
        return
    verb = words[0]
    if verb == "kustomize":
        _built(step, found.rest[1:])
        return
    if verb in {"exec", "rsh", "attach"}:
        _exec(step, found, inner)
    elif verb in {"get", "config", "create", "extract"} and _secret(words, found):
        step.effect("read", "secret", target=" ".join([step.name, *words[:3]]), host=step.name)
        step.out = SECRET
    if verb in {"cp", "rsync"}:
        _cp(step, found)
    elif verb in {"run", "debug"}:
        _powers(step, " ".join(value.text for value in found.values("overrides", "profile")), words)
    _noted(step, verb, words, found)
    if step.out is None:
        step.out = Stream()


def _parted(words: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
    """The words of kubectl, and those after `--`, which run in a container."""
    at = next((index for index, word in enumerate(words) if word.text == "--"), len(words))
    return list(words[:at]), list(words[at + 1 :])


def _exec(step: Step, found: Options, inner: Sequence[Argument]) -> None:
    words = inner or found.rest[2:]
    if words:
        run_inside(step, words, lasting="kube")


_SHOWN = ("yaml", "json", "jsonpath", "go-template", "template", "custom-columns")


def _secret(words: list[str], found: Options) -> bool:
    """A secret with its content; a list of secrets shows names only."""
    if words[0] == "config":
        return words[1:2] == ["view"] and found.has("raw")
    if words[0] == "create":
        return words[1:2] == ["token"]
    if words[0] == "extract":
        return words[1:2] != [] and words[1].startswith("secret")
    kinds = {part.partition("/")[0] for word in words[1:2] for part in word.split(",")}
    return bool(kinds & {"secret", "secrets"}) and found.value("o", "output").startswith(_SHOWN)


def _cp(step: Step, found: Options) -> None:
    places = found.rest[1:3]
    if len(places) < 2:
        return
    source, target = places
    if ":" in target.text and ":" not in source.text:
        step.read(source, verb="copy", recursive=True)
    elif ":" in source.text:
        step.write(target, verb="copy")


def _noted(step: Step, verb: str, words: list[str], found: Options) -> None:
    shown = " ".join(words[:3])
    if verb in _READS or verb in {"exec", "rsh", "cp", "rsync", "port-forward", "proxy", "attach"}:
        if verb == "config" and words[1:2] and words[1].startswith(("delete", "unset")):
            step.effect("kube", "config", target=shown, writes=True, host=_where(found))
        return
    if verb == "rollout":
        if words[1:2] and words[1] in {"undo", "restart", "pause"}:
            step.effect("kube", "rollout", target=shown, writes=True, host=_where(found))
        return
    if verb in {"apply", "create", "replace"}:
        _manifest(step, found)
    if _grants(verb, words):
        step.effect("kube", "grant", target=shown, writes=True, host=_where(found))
        return
    whole = _whole(verb, words, found)
    every, word = "all" if _every(found) else "", _VERBS.get(verb, "change")
    step.effect("kube", word, target=shown, source=every, writes=True, recursive=whole, host=_where(found))


def _where(found: Options) -> str:
    return found.value("context", "cluster") or found.value("n", "namespace")


def _grants(verb: str, words: list[str]) -> bool:
    if verb == "certificate":
        return words[1:2] == ["approve"]
    if verb in {"create", "patch", "edit", "set", "replace"}:
        return any(word.partition("/")[0] in _GRANTING_KINDS or word == "subject" for word in words[1:2])
    return verb in {"adm", "policy"} and any(word.startswith("add-") for word in words[1:4])


def _whole(verb: str, words: list[str], found: Options) -> bool:
    if verb == "scale":
        return found.value("replicas") == "0"
    if verb == "replace":
        return found.has("force")
    if verb != "delete":
        return False
    kinds = {part.partition("/")[0].partition(".")[0].lower() for word in words[1:2] for part in word.split(",")}
    kinds |= {word.partition("/")[0].lower() for word in words[2:] if "/" in word}
    return bool(kinds & _WHOLE_KINDS) or _every(found)


def _every(found: Options) -> bool:
    return any(flag in found.flags for flag in ("all", "A", "all-namespaces"))


def _manifest(step: Step, found: Options) -> None:
    """What is applied: text that the line holds is judged here, files of the disk when they are looked at."""
    deep = found.has("R", "recursive")
    for file in found.values("f", "filename", "k", "kustomize"):
        if file.text == "-":
            _piped(step, file)
        elif "://" in file.text or file.text.startswith(("git@", "github.com/")):
            step.effect("kube", "foreign", file, target=file.text, writes=True)
        elif (text := step.scene.written.get(step.path(file))) is not None:
            step.read(file)
            _objects(step, file, text)
        else:
            step.read(file, verb=APPLY, recursive=deep)


def _piped(step: Step, at: Argument) -> None:
    stream = step.stdin
    if stream.text is not None:
        _objects(step, at, stream.text)
    elif stream.origin in {"network", "decoded"}:
        step.effect("kube", "foreign", at, target=f"what comes from the {stream.origin}", writes=True)
    elif stream.paths:
        for path in stream.paths:
            step.read(at._replace(text=path), verb=APPLY)
    else:
        step.effect("kube", "unseen", at, target="what comes through the pipe", writes=True)


def _objects(step: Step, at: Argument, text: str) -> None:
    for said in of_objects(kube_objects(text)):
        step.effect("kube", at=at, writes=True, **said)


def _kustomize(step: Step) -> None:
    """What it prints is made of the directory it is given, and is harmless until somebody applies it."""
    words = step.options(["o", "output", "e", "env", "load-restrictor", "helm-command", "reorder"]).rest
    if words and words[0].text == "build":
        _built(step, words[1:])


def _built(step: Step, words: Sequence[Argument]) -> None:
    at = words[0] if words else step.program._replace(text=".")
    if "://" in at.text or at.text.startswith(("git@", "github.com/")):
        step.out = Stream(None, frozenset({"network"}))
    else:
        step.out = Stream(None, frozenset({"file"}), (step.path(at),))


def _powers(step: Step, text: str, words: list[str]) -> None:
    node = words[0] == "debug" and any(word.startswith("node/") for word in words[1:2])
    if (
        node
        or any(word.text in {"--privileged", "--privileged=true"} for word in step.words)
        or '"privileged":true' in text.replace(" ", "")
        or '"hostPID":true' in text.replace(" ", "")
        or text == "sysadmin"
    ):
        step.effect("kube", "privileged", target=" ".join(words[:2]), writes=True)


_HELM = {
    "uninstall": "delete",
    "delete": "delete",
    "del": "delete",
    "un": "delete",
    "rollback": "rollout",
    "upgrade": "change",
    "install": "change",
    "push": "change",
    "destroy": "delete",
    "apply": "change",
    "sync": "change",
}


def _helm(step: Step) -> None:
    found = step.options(
        [*_VALUED, "set", "set-string", "set-file", "values", "version", "repo", "e", "environment", "kube-context"]
    )
    words = [word.text for word in found.rest]
    if not words or dry(found):
        return
    verb = _HELM.get(words[0])
    if verb is not None:
        forced = found.has("force") or verb == "delete"  # a release is all that its chart has made
        step.effect(
            "kube", verb, target=" ".join([step.name, *words[:2]]), recursive=forced, writes=True, host=_where(found)
        )


TOOLS: dict[str, Handler] = {
    **dict.fromkeys("kubectl oc k kubecolor kubectl-ns".split(), _kubectl),
    **dict.fromkeys("helm helmfile helm3".split(), _helm),
    "kustomize": _kustomize,
}
