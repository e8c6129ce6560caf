"""kubectl and similar programs, Kustomize and Helm."""

from collections.abc import Sequence

from trotline.analysis.kube.kube_manifests import APPLY, build_object_fields, parse_objects
from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.programs import print_secret
from trotline.analysis.programs.containers import analyze_inside
from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.programs.services import is_dry_run
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream

_VALUE_OPTIONS = (
    "n namespace context kubeconfig cluster user s server token as as-group request-timeout v l selector f filename o"
    " output field-selector c container p patch type replicas grace-period timeout k kustomize image template sort-by"
    " since tail clusterrole role serviceaccount group verb resource resource-name overrides restart env labels port"
    " address profile subresource from-literal from-file from-env-file docker-password docker-username docker-server"
    " current-replicas duration target revision to-revision ingress-class max-unavailable min-available"
)
_CRITICAL_KINDS = frozenset(
    "namespace namespaces ns node nodes no pv persistentvolume persistentvolumes pvc persistentvolumeclaim"
    " persistentvolumeclaims crd crds customresourcedefinition customresourcedefinitions all project projects cluster"
    " clusters storageclass statefulset statefulsets sts secret secrets".split()
)
_GRANTING_KINDS = frozenset("clusterrolebinding clusterrolebindings rolebinding rolebindings clusterrole role".split())
_READ_VERBS = frozenset(
    "api-resources api-versions attach auth cluster-info completion cp describe diff events exec explain get help"
    " kustomize login logout logs options plugin port-forward project projects proxy rsh rsync status top version"
    " wait whoami".split()
)
_EFFECT_VERBS = {"adm": "admin", "evict": "drain", "taint": "cordon"} | {
    verb: verb for verb in "cordon delete drain edit patch replace scale".split()
}


def _handle_kubectl(call: Invocation) -> None:
    kubectl_words, inner = _split_at_dashes(call.args)
    options = parse_options(kubectl_words, _VALUE_OPTIONS)
    words = [word.text for word in options.rest]
    if not words or is_dry_run(options):
        return
    verb = words[0]
    if verb == "kustomize":
        _print_built(call, options.rest[1:])
        return
    if verb in {"exec", "rsh", "attach"}:
        _analyze_exec(call, options, inner)
    elif verb in {"get", "config", "create", "extract"} and _shows_secret(words, options):
        print_secret(call, " ".join([call.name, *words[:3]]), host=call.name)
    if verb in {"cp", "rsync"}:
        _analyze_copy(call, options)
    elif verb in {"run", "debug"}:
        _add_privileges(call, " ".join(value.text for value in options.values("overrides", "profile")), words)
    _add_change(call, verb, words, options)
    if call.stdout is None:
        call.stdout = Stream()


def _split_at_dashes(words: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
    """Split into the words of kubectl and those after `--`, which run in a container."""
    at = next((index for index, word in enumerate(words) if word.text == "--"), len(words))
    return list(words[:at]), list(words[at + 1 :])


def _analyze_exec(call: Invocation, options: ParsedOptions, inner: Sequence[Argument]) -> None:
    words = inner or options.rest[2:]
    if words:
        analyze_inside(call, words, lasting="kube")


_SECRET_OUTPUTS = ("yaml", "json", "jsonpath", "go-template", "template", "custom-columns")


def _shows_secret(words: list[str], options: ParsedOptions) -> bool:
    """Return whether the content of a secret is printed; a list of secrets shows only names."""
    if words[0] == "config":
        return words[1:2] == ["view"] and options.has("raw")
    if words[0] == "create":
        return words[1:2] == ["token"]
    if words[0] == "extract":
        return words[1:2] != [] and words[1].startswith("secret")
    kinds = {part.partition("/")[0] for word in words[1:2] for part in word.split(",")}
    return bool(kinds & {"secret", "secrets"}) and options.value("o", "output").startswith(_SECRET_OUTPUTS)


def _analyze_copy(call: Invocation, options: ParsedOptions) -> None:
    paths = options.rest[1:3]
    if len(paths) < 2:
        return
    source, target = paths
    if ":" in target.text and ":" not in source.text:
        call.add_read(source, verb="copy", recursive=True)
    elif ":" in source.text:
        call.add_write(target, verb="copy")


def _add_change(call: Invocation, verb: str, words: list[str], options: ParsedOptions) -> None:
    if verb in {"apply", "create", "replace"}:
        _add_manifests(call, options)
    effect = _get_change_verb(verb, words)
    if effect:
        target, source = " ".join(words[:3]), "all" if _has_all(options) else ""
        fields = {"target": target, "source": source, "host": _get_cluster(options)}
        call.add_effect("kube", effect, None, writes=True, recursive=_is_critical(verb, words, options), **fields)


def _get_change_verb(verb: str, words: list[str]) -> str:
    """Return the verb of the effect, or an empty text if the command changes nothing."""
    action = words[1] if len(words) > 1 else ""
    if verb == "config":
        return "config" if action.startswith(("delete", "unset")) else ""
    if verb == "rollout":
        return "rollout" if action in {"undo", "restart", "pause"} else ""
    if verb in _READ_VERBS:
        return ""
    return "grant" if _grants_rights(verb, words) else _EFFECT_VERBS.get(verb, "change")


def _get_cluster(options: ParsedOptions) -> str:
    return options.value("context", "cluster") or options.value("n", "namespace")


def _grants_rights(verb: str, words: list[str]) -> bool:
    if verb == "certificate":
        return words[1:2] == ["approve"]
    if verb in {"create", "patch", "edit", "set", "replace"}:
        return any(word.partition("/")[0] in _GRANTING_KINDS or word == "subject" for word in words[1:2])
    return verb in {"adm", "policy"} and any(word.startswith("add-") for word in words[1:4])


def _is_critical(verb: str, words: list[str], options: ParsedOptions) -> bool:
    if verb == "scale":
        return options.value("replicas") == "0"
    if verb == "replace":
        return options.has("force")
    if verb != "delete":
        return False
    kinds = {part.partition("/")[0].partition(".")[0].lower() for word in words[1:2] for part in word.split(",")}
    kinds |= {word.partition("/")[0].lower() for word in words[2:] if "/" in word}
    return bool(kinds & _CRITICAL_KINDS) or _has_all(options)


def _has_all(options: ParsedOptions) -> bool:
    return any(flag in options.flags for flag in ("all", "A", "all-namespaces"))


def _add_manifests(call: Invocation, options: ParsedOptions) -> None:
    """Add applied manifests: text from this command line now, files on disk later by `add_manifest_effects`."""
    recursive = options.has("R", "recursive")
    for file in options.values("f", "filename", "k", "kustomize"):
        if file.text == "-":
            _add_piped_manifest(call, file)
        elif _is_remote_manifest(file.text):
            call.add_effect("kube", "foreign", file, target=file.text, writes=True)
        elif (text := call.state.written_texts.get(call.resolve(file))) is not None:
            call.add_read(file)
            _add_objects(call, file, text)
        else:
            call.add_read(file, verb=APPLY, recursive=recursive)


def _is_remote_manifest(text: str) -> bool:
    return "://" in text or text.startswith(("git@", "github.com/"))


def _add_piped_manifest(call: Invocation, at: Argument) -> None:
    stream = call.stdin
    if stream.text is not None:
        _add_objects(call, at, stream.text)
    elif stream.origin in {"network", "decoded"}:
        call.add_effect("kube", "foreign", at, target=f"what comes from the {stream.origin}", writes=True)
    elif stream.paths:
        for path in stream.paths:
            call.add_read(at._replace(text=path), verb=APPLY)
    else:
        call.add_effect("kube", "unseen", at, target="what comes through the pipe", writes=True)


def _add_objects(call: Invocation, at: Argument, text: str) -> None:
    for fields in build_object_fields(parse_objects(text)):
        call.add_effect("kube", at=at, writes=True, **fields)


def _handle_kustomize(call: Invocation) -> None:
    """Print the manifests of a directory, which is harmless until they are applied."""
    words = call.parse_options("o output e env load-restrictor helm-command reorder").rest
    if words and words[0].text == "build":
        _print_built(call, words[1:])


def _print_built(call: Invocation, words: Sequence[Argument]) -> None:
    at = words[0] if words else call.program._replace(text=".")
    if _is_remote_manifest(at.text):
        call.stdout = Stream(None, frozenset({"network"}))
    else:
        call.stdout = Stream(None, frozenset({"file"}), (call.resolve(at),))


def _add_privileges(call: Invocation, text: str, words: list[str]) -> None:
    is_node = words[0] == "debug" and any(word.startswith("node/") for word in words[1:2])
    if (
        is_node
        or any(word.text in {"--privileged", "--privileged=true"} for word in call.args)
        or '"privileged":true' in text.replace(" ", "")
        or '"hostPID":true' in text.replace(" ", "")
        or text == "sysadmin"
    ):
        call.add_effect("kube", "privileged", target=" ".join(words[:2]), writes=True)


_HELM_VERBS = expand_names(
    {"del delete destroy un uninstall": "delete", "rollback": "rollout", "apply install push sync upgrade": "change"}
)
_HELM_VALUE_OPTIONS = "set set-string set-file values version repo e environment kube-context"


def _handle_helm(call: Invocation) -> None:
    options = call.parse_options(f"{_VALUE_OPTIONS} {_HELM_VALUE_OPTIONS}")
    words = [word.text for word in options.rest]
    if not words or is_dry_run(options):
        return
    verb = _HELM_VERBS.get(words[0])
    if verb is not None:
        is_critical = options.has("force") or verb == "delete"  # a release is everything that its chart created
        fields = {"target": " ".join([call.name, *words[:2]]), "host": _get_cluster(options)}
        call.add_effect("kube", verb, None, recursive=is_critical, writes=True, **fields)


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("kubectl oc k kubecolor kubectl-ns".split(), _handle_kubectl),
    **dict.fromkeys("helm helmfile helm3".split(), _handle_helm),
    "kustomize": _handle_kustomize,
}
