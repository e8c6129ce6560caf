"""Manifests of Kubernetes and Compose, as far as danger goes: kinds, names, images, what gives a container the machine.

No YAML library: it would be a dependency for a few questions that lines answer. What is written in flow style
(`{kind: Pod}`) is JSON most of the time, and the same patterns read it. Where YAML has several ways to write a thing
(other words for true, aliases, escapes in quotes, a value on the next line), all of them are read.
"""

import re
from typing import NamedTuple

from trotline.pattern import pattern


class KubeObject(NamedTuple):
    """One object of a manifest."""

    kind: str
    name: str = ""
    powers: tuple[str, ...] = ()  # what lets it out of its container
    namespace: str = ""
    images: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`Kind namespace/name`, as rules see it."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}".strip()

    @property
    def words(self) -> str:
        """What it is and what it would be given."""
        return f"{' '.join(filter(None, (self.kind, self.name)))}: {', '.join(self.powers)}"


_FIELD = pattern(r"[\"']?([A-Za-z]+)[\"']?[ \t]*:[ \t]*[\"']?([^\s\"',}\]#]*)")
_DOCUMENT = pattern(r"^---(?=\s|$)", re.MULTILINE)
_HOST = "hostPID|hostNetwork|hostIPC|privileged|allowPrivilegeEscalation"
_SAYS = r"[\"']?\s*:\s*(?:[&!][^\s,]*\s+)*[\"']?(?i:true|yes|on|y|\*)"
_POWER = pattern(rf"(?<![\w/-])({_HOST}){_SAYS}")
_PATCHED = pattern(rf"/({_HOST}|hostPath)(?![\w-])")
_ESCAPE = pattern(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_COMMENT = pattern(r"^[ \t]*#.*$|^([^\"'\n#]*)[ \t]#.*$", re.MULTILINE)
_TEXTS = frozenset({"ConfigMap", "Secret", "CustomResourceDefinition"})
"""Kinds that run nothing, and often hold texts about those that do."""


def kube_objects(text: str) -> list[KubeObject]:
    """The objects of a manifest, in their order."""
    return [found for part in _DOCUMENT.split(_plain(text)) if (found := _object(part)) is not None]


def powers_of(text: str) -> tuple[str, ...]:
    """What any part of a text would let out, also a patch that names no kind."""
    plain = _plain(text)
    named = [match[1] for match in (*_POWER.finditer(plain), *_PATCHED.finditer(plain))]
    return tuple(dict.fromkeys(named))


def _plain(text: str) -> str:
    """Without comments, and without ways to write a letter as something else."""
    if "\\" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    return _COMMENT.sub(r"\1", text) if "#" in text else text


def _object(text: str) -> KubeObject | None:
    kind = name = namespace = ""
    powers: list[str] = []
    images: list[str] = []
    under = ""
    for field, value in _FIELD.findall(text):
        if field == "kind" and not kind:
            kind = value
        elif field == "name" and not name and under == "metadata":
            name = value
        elif field == "namespace" and not namespace:
            namespace = value
        elif field == "image" and value:
            images.append(value)
        elif field == "path" and under == "hostPath":
            powers.append(f"hostPath {value}")
        elif field == "name" and value == "cluster-admin":
            powers.append("cluster-admin")
        under = field if not value or value == "{" else under
    if not kind:
        return None
    let_out = [match[1] for match in _POWER.finditer(text)] if kind not in _TEXTS else []
    return KubeObject(kind, name, tuple(dict.fromkeys([*let_out, *powers])), namespace, tuple(dict.fromkeys(images)))


# Kustomize

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_ITEM = pattern(r"^[ \t]*-[ \t]+[\"']?([^\s\"':{}\[\]]+(?:://[^\s\"']+)?)[\"']?[ \t]*$", re.MULTILINE)
_NAMED = pattern(r"^[ \t-]*(?:path|target)[ \t]*:[ \t]*[\"']?([^\s\"'/][^\s\"']*)[\"']?[ \t]*$", re.MULTILINE)
_ELSEWHERE = pattern(r"://|^git@|^github\.com/|^gitlab\.com/|^bitbucket\.org/|[?&]ref=")
_CHARTS = pattern(r"^helmChart(?:s|InflationGenerator)\s*:", re.MULTILINE)


class Parts(NamedTuple):
    """What a kustomization is made of: files and directories beside it, and places elsewhere."""

    paths: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


def parts_of(text: str) -> Parts:
    """Every word that may name a part; one that names nothing is not found later on, and does no harm."""
    plain = _plain(text)
    named = dict.fromkeys([*_ITEM.findall(plain), *_NAMED.findall(plain)])
    away = tuple(one for one in named if _ELSEWHERE.search(one))
    charts = ("a chart of Helm",) if _CHARTS.search(plain) else ()
    return Parts(tuple(one for one in named if one not in away), (*away, *charts))


# Compose

_COMPOSE = pattern(
    r"^[ \t]*(?:-[ \t]*)?(?:(privileged:[ \t]*true)|((?:pid|ipc|userns_mode|uts):[ \t]*[\"']?host)|"
    r"(?:source:[ \t]*)?[\"']?([^\s\"':]{0,200}(?:docker|containerd|podman|crio)\.sock)\b|[\"']?(/):/)",
    re.MULTILINE,
)


def compose_powers(text: str) -> list[str]:
    """What a file of Compose gives to containers that lets them out, in its own words."""
    found = [next(filter(None, match.groups())) for match in _COMPOSE.finditer(text)]
    return list(dict.fromkeys(found))
