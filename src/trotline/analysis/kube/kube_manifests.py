"""Read Kubernetes and Compose manifests: objects, images, and privileges that let a container control the host.

Patterns answer these few questions, so there is no YAML dependency. They also match flow style (`{kind: Pod}`), other
words for true, aliases, escapes in quotes and values on the next line.

Manifests on disk that are applied to a cluster are read for each action, even if the analysis of the command line is
cached.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Certainty, Effect
from trotline.formats.lazy_regex import lazy_regex


class KubeObject(NamedTuple):
    """An object of a manifest."""

    kind: str
    name: str = ""
    privileges: tuple[str, ...] = ()  # settings that let it out of its container
    namespace: str = ""
    images: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`Kind namespace/name`, as rules match it."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}".strip()

    @property
    def summary(self) -> str:
        """Kind, name and privileges."""
        return f"{' '.join(filter(None, (self.kind, self.name)))}: {', '.join(self.privileges)}"


_FIELD = lazy_regex(r"[\"']?([A-Za-z]+)[\"']?[ \t]*:[ \t]*[\"']?([^\s\"',}\]#]*)")
_DOCUMENT = lazy_regex(r"^---(?=\s|$)", re.MULTILINE)
_PRIVILEGES = "hostPID|hostNetwork|hostIPC|privileged|allowPrivilegeEscalation"
_IS_TRUE = r"[\"']?\s*:\s*(?:[&!][^\s,]*\s+)*[\"']?(?i:true|yes|on|y|\*)"
_PRIVILEGE = lazy_regex(rf"(?<![\w/-])({_PRIVILEGES}){_IS_TRUE}")
_PATCHED_PRIVILEGE = lazy_regex(rf"/({_PRIVILEGES}|hostPath)(?![\w-])")
_ESCAPE = lazy_regex(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_COMMENT = lazy_regex(r"^[ \t]*#.*$|^([^\"'\n#]*)[ \t]#.*$", re.MULTILINE)
_TEXT_KINDS = frozenset({"ConfigMap", "Secret", "CustomResourceDefinition"})
"""Kinds that run nothing and often contain text about kinds that do."""


def parse_objects(text: str) -> list[KubeObject]:
    """Return the objects of a manifest in order."""
    return [kube for part in _DOCUMENT.split(_normalize(text)) if (kube := _parse_object(part)) is not None]


def list_privileges(text: str) -> tuple[str, ...]:
    """Return the privileges in a text, including a patch without a kind."""
    plain = _normalize(text)
    matches = (*_PRIVILEGE.finditer(plain), *_PATCHED_PRIVILEGE.finditer(plain))
    return tuple(dict.fromkeys(match[1] for match in matches))


def _normalize(text: str) -> str:
    """Remove comments and decode escapes."""
    if "\\" in text:
        text = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    return _COMMENT.sub(r"\1", text) if "#" in text else text


def _parse_object(text: str) -> KubeObject | None:
    kind = name = namespace = ""
    privileges: list[str] = []
    images: list[str] = []
    parent = ""
    for field, value in _FIELD.findall(text):
        if field == "kind" and not kind:
            kind = value
        elif field == "name" and not name and parent == "metadata":
            name = value
        elif field == "namespace" and not namespace:
            namespace = value
        elif field == "image" and value:
            images.append(value)
        elif field == "path" and parent == "hostPath":
            privileges.append(f"hostPath {value}")
        elif field == "name" and value == "cluster-admin":
            privileges.append("cluster-admin")
        parent = field if not value or value == "{" else parent
    if not kind:
        return None
    if kind not in _TEXT_KINDS:
        privileges = [*(match[1] for match in _PRIVILEGE.finditer(text)), *privileges]
    return KubeObject(kind, name, tuple(dict.fromkeys(privileges)), namespace, tuple(dict.fromkeys(images)))


# Kustomize

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LIST_ITEM = lazy_regex(r"^[ \t]*-[ \t]+[\"']?([^\s\"':{}\[\]]+(?:://[^\s\"']+)?)[\"']?[ \t]*$", re.MULTILINE)
_PATH_FIELD = lazy_regex(r"^[ \t-]*(?:path|target)[ \t]*:[ \t]*[\"']?([^\s\"'/][^\s\"']*)[\"']?[ \t]*$", re.MULTILINE)
_REMOTE = lazy_regex(r"://|^git@|^github\.com/|^gitlab\.com/|^bitbucket\.org/|[?&]ref=")
_HELM_CHARTS = lazy_regex(r"^helmChart(?:s|InflationGenerator)\s*:", re.MULTILINE)


class Kustomization(NamedTuple):
    """The resources of a kustomization: local paths and remote addresses."""

    paths: tuple[str, ...] = ()
    remotes: tuple[str, ...] = ()


def parse_kustomization(text: str) -> Kustomization:
    """Return every word that may name a resource. Words that name no file are ignored later."""
    plain = _normalize(text)
    names = dict.fromkeys([*_LIST_ITEM.findall(plain), *_PATH_FIELD.findall(plain)])
    remotes = tuple(name for name in names if _REMOTE.search(name))
    charts = ("a chart of Helm",) if _HELM_CHARTS.search(plain) else ()
    return Kustomization(tuple(name for name in names if name not in remotes), (*remotes, *charts))


# Compose

_COMPOSE_PRIVILEGE = lazy_regex(
    r"^[ \t]*(?:-[ \t]*)?(?:(privileged:[ \t]*true)|((?:pid|ipc|userns_mode|uts):[ \t]*[\"']?host)|"
    r"(?:source:[ \t]*)?[\"']?([^\s\"':]{0,200}(?:docker|containerd|podman|crio)\.sock)\b|[\"']?(/):/)",
    re.MULTILINE,
)


def list_compose_privileges(text: str) -> list[str]:
    """Return the lines of a Compose file that let containers control the host."""
    lines = [next(filter(None, match.groups())) for match in _COMPOSE_PRIVILEGE.finditer(text)]
    return list(dict.fromkeys(lines))


# Manifests on disk

APPLY = "apply"
"""The verb of a read effect whose file is applied."""

_SUFFIXES = (".yaml", ".yml", ".json")
MAX_FILES = 500
MAX_DEPTH = 8


def add_manifest_effects(effects: Sequence[Effect], environment: Environment) -> list[Effect]:
    """Return the effects, and those of the manifests that they apply."""
    applied = [effect for effect in effects if (effect.kind, effect.verb) == ("read", APPLY)]
    return [*effects, *(new for effect in applied for new in _ManifestReader(effect, environment).read())]


def build_object_fields(objects: Sequence[KubeObject]) -> Iterator[dict[str, str]]:
    """Yield the effect fields for objects: each object, and its privileges if it has any."""
    for kube in objects:
        yield {"verb": "object", "target": kube.title, "source": " ".join(kube.images)}
        if kube.privileges:
            yield {"verb": "privileged", "target": kube.summary}


class _ManifestReader:
    """Reads an applied manifest and all files that it refers to."""

    def __init__(self, effect: Effect, environment: Environment) -> None:
        self.effect = effect
        self.environment = environment
        self.seen: set[str] = set()

    def read(self) -> Iterator[Effect]:
        """Yield the effects of all objects."""
        yield from self._read_path(self.effect.path, MAX_DEPTH, recursive=self.effect.recursive)

    def _read_path(self, path: str, depth: int, *, recursive: bool) -> Iterator[Effect]:
        if path in self.seen:
            return
        self.seen.add(path)
        if depth < 0 or len(self.seen) > MAX_FILES:
            yield self._build_effect("unseen", path, "there are more files than are looked at")
            return
        names = self.environment.list_names(path)
        if names is None:
            yield from self._read_file(path)
            return
        kustomization = next((name for name in KUSTOMIZATIONS if name in names), "")
        if kustomization:
            yield from self._read_kustomization(f"{path.rstrip('/')}/{kustomization}", depth)
            return
        for name in names:
            inner = f"{path.rstrip('/')}/{name}"
            if name.endswith(_SUFFIXES) or (recursive and self.environment.list_names(inner) is not None):
                yield from self._read_path(inner, depth - 1, recursive=recursive)

    def _read_file(self, path: str) -> Iterator[Effect]:
        text = self.environment.read_text(path)
        if text is None:
            yield self._build_effect("unseen", path, "the manifest is not there, or too large to be looked at")
            return
        for fields in build_object_fields(parse_objects(text)):
            yield self._build_effect(**fields, path=path)

    def _read_kustomization(self, path: str, depth: int) -> Iterator[Effect]:
        text = self.environment.read_text(path)
        if text is None:
            yield self._build_effect("unseen", path, "the kustomization is not there, or too large to be looked at")
            return
        yield from self._read_patch(path, text)
        kustomization = parse_kustomization(text)
        for remote in kustomization.remotes:
            yield self._build_effect("foreign", remote, path=path)
        for part in kustomization.paths:
            inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), part))
            if self.environment.list_names(inner) is not None:
                yield from self._read_path(inner, depth - 1, recursive=False)
            elif inner not in self.seen and (part_text := self.environment.read_text(inner)) is not None:
                self.seen.add(inner)
                yield from self._read_file(inner)
                yield from self._read_patch(inner, part_text)

    def _read_patch(self, path: str, text: str) -> Iterator[Effect]:
        """Yield the privileges of a patch, which need not have a kind."""
        privileges = list_privileges(text)
        if privileges and not any(kube.privileges for kube in parse_objects(text)):
            yield self._build_effect("privileged", f"{posixpath.basename(path)}: {', '.join(privileges)}", path=path)

    def _build_effect(self, verb: str, target: str, why: str = "", *, source: str = "", path: str = "") -> Effect:
        return Effect(
            kind="kube",
            verb=verb,
            target=target,
            path=path,
            source=source,
            writes=True,
            column_from=self.effect.column_from,
            column_to=self.effect.column_to,
            certainty=Certainty.OPAQUE if why else Certainty.KNOWN,
            why=why,
        )
