"""Classify the verbs of services: they destroy, stop, grant, change or only read."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from trotline.analysis.network_addresses import get_url_path
from trotline.formats.lazy_regex import lazy_regex


class VerbKind(StrEnum):
    """The kind of a verb, most dangerous first."""

    DESTROY = "destroy"
    STOP = "stop"
    GRANT = "grant"
    CHANGE = "change"
    READ = "read"
    NONE = ""


REMOVE = "remove"
"""Verb of an effect that removes only a part of something, or something unknown."""

INDIRECT_DOWNLOAD = "download by the side door"
"""Verb of an effect of a program that downloads although that is not its purpose."""

_VERBS = {
    VerbKind.DESTROY: "abandon clean clear decommission del delete deleted deletes dereg deregister destroy detach"
    " disassociate drop dropall empty erase evict expire expunge flush flushall flushdb forget kill nuke obliterate"
    " overwrite prune purge rb release-address remove reset rm rmi shred strip terminate truncate unassign uninstall"
    " uninit unlink unpublish unregister unsubscribe untag wipe withdraw yank zap deprovision delist archive",
    VerbKind.STOP: "abort cancel cordon deactivate disable down downscale drain failover freeze halt hibernate"
    " interrupt lock maintenance pause poweroff quiesce reboot restart retire revert revoke rollback shutdown stop"
    " suspend swapoff undeploy unmount quit",
    VerbKind.GRANT: "authorize assume grant impersonate permit share trust",
    VerbKind.CHANGE: "accept activate add allocate alter annotate append apply approve assign associate attach backup"
    " bind bump build change close commit complete config configure connect convert copy cp create deploy edit enable"
    " enqueue execute exec expose fork import increase init initialise initialize insert install invalidate invoke join"
    " label launch link load login logout make mark mb merge migrate mirror modify move mv new notify open patch post"
    " produce promote provision pub publish push put rebuild record redeploy refresh register release reload rename"
    " renew reopen replace replay repair request reroute resize resolve restore resume retry review rotate run save"
    " scale schedule seed send set setup shift snapshot start submit subscribe swap switch sync tag taint trigger"
    " unarchive uncordon undelete unfreeze unlock unpause unset up update upgrade upload upsert use vote write",
    VerbKind.READ: "about analyse analyze audit batch-get benchmark blame browse calculate can-i cat check checkout"
    " clone compare completion count current dashboard debug describe diag diagnose diagnostic diff doc docs doctor"
    " download du dump estimate events exists explain export fetch filter find fmt format get grep hash head health"
    " healthcheck help history info inspect ipaddr lint list log logs lookup ls lsd lsf lsjson man md5sum metrics"
    " monitor open-url output peek ping plan poll preview ps pull query read receive regions render report scan search"
    " select sha1sum show size stat stats status summary tail template test top trace tree usage validate verify"
    " version versions view wait watch whoami which",
}
_KIND_BY_VERB = {word: kind for kind, words in _VERBS.items() for word in words.split()}

_ALSO_NOUNS = frozenset(
    "about analyze archive audit backup benchmark build cat check clean commit completion config configure connect"
    " count deploy diag docs dump events exec export fetch filter hash head health history import info invoke label"
    " link list load log login logs maintenance metrics monitor mirror output patch plan post pub query record register"
    " release report request restore review run scan schedule schedules scale search seed set share snapshot stats"
    " status sync tag template test top trace trigger trust up update upload usage version versions watch query".split()
)
"""Verbs that are also nouns: in `velero restore delete` the verb is the last word."""

_PREFIXES = frozenset("admin async batch begin bulk do force gs mass multi permanently schedule".split())
"""Words that may precede the verb in a compound."""

_COMPOUND = lazy_regex(r"[-_:]")
_CAMEL = lazy_regex(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_VERB = lazy_regex(r"[A-Za-z][A-Za-z0-9]*(?:[-_:][A-Za-z0-9]+)*")

_ACCESS_NOUNS = frozenset("policy permission permissions grant acl ingress binding access profile role".split())
_GRANTING_VERBS = frozenset({"put", "attach", "add", "set", "create", "update"})
"""One of these verbs with one of these nouns grants access."""


def classify_verb(word: str) -> VerbKind:
    """Return the kind of one verb. A compound is classified by its first part, then by its last."""
    known = _KIND_BY_VERB.get(word)
    if known is not None:
        return known
    if not _VERB.fullmatch(word):
        return VerbKind.NONE
    parts = [part.lower() for part in _COMPOUND.split(word)]
    if len(parts) == 1:
        parts = [part.lower() for part in _CAMEL.findall(word)]
        if len(parts) == 1:
            return _KIND_BY_VERB.get(parts[0], VerbKind.NONE)
    while len(parts) > 1 and parts[0] in _PREFIXES:
        parts.pop(0)
    return _classify_compound(parts)


def _classify_compound(parts: Sequence[str]) -> VerbKind:
    first, last = _KIND_BY_VERB.get(parts[0]), _KIND_BY_VERB.get(parts[-1])
    if parts[0] in _GRANTING_VERBS and not _ACCESS_NOUNS.isdisjoint(parts[1:]):
        return VerbKind.GRANT  # `put-bucket-policy`, `create-access-key`
    return first or last or VerbKind.NONE


def find_verb(words: Iterable[str]) -> tuple[int, VerbKind]:
    """Return the position and the kind of the verb. A word that may be a noun gives way to a verb after it."""
    noun_kind, noun_at = VerbKind.NONE, -1
    for index, word in enumerate(words):
        kind = classify_verb(word)
        if kind is VerbKind.NONE:
            continue
        if not _may_be_noun(word):
            return (noun_at, noun_kind) if noun_kind is VerbKind.DESTROY and kind is VerbKind.READ else (index, kind)
        if noun_kind is VerbKind.NONE:
            noun_kind, noun_at = kind, index
    return noun_at, noun_kind


def _may_be_noun(word: str) -> bool:
    """Return whether a word may be a noun: `backup`, `backup-location`, `service-version`."""
    first, *others = _COMPOUND.split(word.lower())
    if not others:
        return first in _ALSO_NOUNS
    return first in _ALSO_NOUNS - {"set"} or (first not in _KIND_BY_VERB and others[-1] in _ALSO_NOUNS)


_DESTRUCTIVE_WORDS = frozenset(
    "delete destroy dodelete purge flush truncate drop wipe remove revoke terminate shutdown".split()
)
_CLUSTER_PATHS = frozenset("_cluster _shutdown shutdown _nodes".split())
_PART = lazy_regex(r"[/_:?&.-]+")


def classify_request(method: str, url: str) -> VerbKind:
    """Return what a request to a web API does, by its method and by verbs in its path."""
    method = method.upper()
    if method == "DELETE":
        return VerbKind.DESTROY
    if method in {"", "GET", "HEAD", "OPTIONS", "TRACE"}:
        return VerbKind.READ
    segments = [part for part in get_url_path(url).split("/") if part]
    if any(_is_destructive(segment) for segment in segments[-2:]):
        return VerbKind.DESTROY
    return (
        VerbKind.STOP
        if any(segment in _CLUSTER_PATHS for segment in segments) and method != "POST"
        else VerbKind.CHANGE
    )


def _is_destructive(segment: str) -> bool:
    parts = [part.lower() for part in _PART.split(segment) if part]
    return any(part in _DESTRUCTIVE_WORDS for part in parts[:1] + parts[-1:])
