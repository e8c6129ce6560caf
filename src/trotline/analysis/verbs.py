"""What a word of a service's command line means: it destroys, stops, grants, changes or only reads."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from trotline.analysis.addresses import path_of
from trotline.pattern import pattern


class Deed(StrEnum):
    """From what nobody gets back to what changes nothing."""

    DESTROY = "destroy"
    STOP = "stop"
    GRANT = "grant"
    CHANGE = "change"
    READ = "read"
    NONE = ""


REMOVE = "remove"
"""Something is taken away that is no whole thing of its own, or that nobody knows."""

SIDE_DOOR = "download by the side door"
"""Something is fetched by a program that is there for something else."""

_WORDS = {
    Deed.DESTROY: "abandon clean clear decommission del delete deleted deletes dereg deregister destroy detach"
    " disassociate"
    " drop dropall empty erase evict expire expunge flush flushall flushdb forget kill nuke obliterate overwrite prune"
    " purge rb release-address remove reset rm rmi shred strip terminate truncate unassign uninstall uninit unlink"
    " unpublish"
    " unregister unsubscribe untag wipe withdraw yank zap deprovision delist archive",
    Deed.STOP: "abort cancel cordon deactivate disable down downscale drain failover freeze halt hibernate interrupt"
    " lock"
    " maintenance pause poweroff quiesce reboot restart retire revert revoke rollback shutdown stop suspend swapoff"
    " undeploy unmount quit",
    Deed.GRANT: "authorize assume grant impersonate permit share trust",
    Deed.CHANGE: "accept activate add allocate alter annotate append apply approve assign associate attach backup"
    " bind bump"
    " build change close commit complete config configure connect convert copy cp create deploy edit enable"
    " enqueue"
    " execute exec expose fork import increase init initialise initialize insert install invalidate invoke join label"
    " launch link load login logout make mark mb merge migrate mirror modify move mv new notify open patch post produce"
    " promote provision pub publish push put rebuild record redeploy refresh register release reload rename renew"
    " reopen"
    " replace replay repair request reroute resize resolve restore resume retry review rotate run save scale"
    " schedule seed"
    " send set setup shift snapshot start submit subscribe swap switch sync tag taint trigger unarchive uncordon"
    " undelete"
    " unfreeze unlock unpause unset up update upgrade upload upsert use vote write",
    Deed.READ: "about analyse analyze audit batch-get benchmark blame browse calculate can-i cat check checkout"
    " clone compare"
    " completion count current dashboard debug describe diag diagnose diagnostic diff doc docs doctor download du dump"
    " estimate events exists explain export fetch filter find fmt format get grep hash head health healthcheck help"
    " history"
    " info inspect ipaddr lint list log logs lookup ls lsd lsf lsjson man md5sum metrics monitor open-url output"
    " peek ping"
    " plan poll preview ps pull query read receive regions render report scan search select sha1sum show size stat"
    " stats"
    " status summary tail template test top trace tree usage validate verify version versions view wait watch whoami"
    " which",
}
_MEANING = {word: deed for deed, words in _WORDS.items() for word in words.split()}

_ALSO_NOUNS = frozenset(
    "about analyze archive audit backup benchmark build cat check clean commit completion config configure connect"
    " count deploy diag docs dump events exec export fetch filter hash head health history import info invoke label"
    " link"
    " list load log login logs maintenance metrics monitor mirror output patch plan post pub query record register"
    " release report request restore review run scan schedule schedules scale search seed set share snapshot stats"
    " status"
    " sync tag template test top trace trigger trust up update upload usage version versions watch query".split()
)
"""Words that a service also gives to its things: in `velero restore delete` the verb is the last."""

_PREFIXES = frozenset("admin async batch begin bulk do force gs mass multi permanently schedule".split())
"""What may stand in front of the verb in a compound."""

_COMPOUND = pattern(r"[-_:]")
_CAMEL = pattern(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_VERB = pattern(r"[A-Za-z][A-Za-z0-9]*(?:[-_:][A-Za-z0-9]+)*")

_GRANTS = ("policy", "permission", "permissions", "grant", "acl", "ingress", "binding", "access", "profile", "role")
"""Who creates or sets one of these says who may do what."""


def deed_of(word: str) -> Deed:
    """The meaning of one word; compounds by their first part, then by their last."""
    known = _MEANING.get(word)
    if known is not None:
        return known
    if not _VERB.fullmatch(word):
        return Deed.NONE
    parts = [part.lower() for part in _COMPOUND.split(word)]
    if len(parts) == 1:
        parts = [part.lower() for part in _CAMEL.findall(word)]
        if len(parts) == 1:
            return _MEANING.get(parts[0], Deed.NONE)
    while len(parts) > 1 and parts[0] in _PREFIXES:
        parts.pop(0)
    return _compound(parts)


def _compound(parts: Sequence[str]) -> Deed:
    first, last = _MEANING.get(parts[0]), _MEANING.get(parts[-1])
    if first is Deed.CHANGE and parts[0] in {"put", "attach", "add", "set", "create", "update"} and _grants(parts):
        return Deed.GRANT
    return first or last or Deed.NONE


def _grants(parts: Sequence[str]) -> bool:
    """`put-bucket-policy`, `add-iam-policy-binding`, `create-access-key`."""
    return any(part in _GRANTS for part in parts[1:])


def verb_among(words: Iterable[str]) -> tuple[int, Deed]:
    """Where the verb stands in the words before the objects, and what it means. A word that may be a thing gives way
    to a verb that follows it.
    """
    held, where = Deed.NONE, -1
    for index, word in enumerate(words):
        deed = deed_of(word)
        if deed is Deed.NONE:
            continue
        if not _may_be_thing(word):
            return (where, held) if held is Deed.DESTROY and deed is Deed.READ else (index, deed)
        if held is Deed.NONE:
            held, where = deed, index
    return where, held


def _may_be_thing(word: str) -> bool:
    """`backup`, `backup-location`, `service-version`."""
    first, *others = _COMPOUND.split(word.lower())
    if not others:
        return first in _ALSO_NOUNS
    return first in _ALSO_NOUNS - {"set"} or (first not in _MEANING and others[-1] in _ALSO_NOUNS)


_DESTROYING_CALLS = frozenset(
    "delete destroy dodelete purge flush truncate drop wipe remove revoke terminate shutdown".split()
)
_STEERING = frozenset("_cluster _shutdown shutdown _nodes".split())
_PART = pattern(r"[/_:?&.-]+")


def http_call(method: str, url: str) -> Deed:
    """What a request to a service's interface means: by its method, and by a path that names what is done."""
    method = method.upper()
    if method == "DELETE":
        return Deed.DESTROY
    if method in {"", "GET", "HEAD", "OPTIONS", "TRACE"}:
        return Deed.READ
    segments = [part for part in path_of(url).split("/") if part]
    if any(_destroys(segment) for segment in segments[-2:]):
        return Deed.DESTROY
    return Deed.STOP if any(segment in _STEERING for segment in segments) and method != "POST" else Deed.CHANGE


def _destroys(segment: str) -> bool:
    parts = [part.lower() for part in _PART.split(segment) if part]
    return any(part in _DESTROYING_CALLS for part in parts[:1] + parts[-1:])
