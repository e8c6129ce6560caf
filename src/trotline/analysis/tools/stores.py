"""Stores that do not speak SQL: Redis, MongoDB and their like."""

import re

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.verbs import Deed

_REDIS = {
    Deed.DESTROY: "flushall flushdb shutdown swapdb cluster-reset script-flush function-flush xgroup-destroy",
    Deed.STOP: "ltrim xtrim zremrangebyscore client-kill debug failover replicaof slaveof acl function-delete",
    Deed.READ: "get mget hget hgetall hmget hkeys keys scan hscan sscan zscan info ping ttl pttl exists type lrange"
    " llen"
    " smembers scard sismember zrange zcard strlen dbsize monitor memory client-list client-info config-get slowlog"
    " latency"
    " time echo command object xrange xlen xinfo cluster-info cluster-nodes acl-list acl-whoami lastsave role help auth"
    " select getrange bitcount pubsub subscribe psubscribe srandmember randomkey",
}
_MEANINGS = {word: deed for deed, words in _REDIS.items() for word in words.split()}
_REACHES = frozenset("config-set module-load replicaof slaveof debug migrate config-rewrite".split())
"""With these a Redis writes files where it is told to, loads code, or gives its data to another."""

_CALL = re.compile(r"redis\.p?call\(\s*['\"](\w+)['\"]", re.IGNORECASE)
_VALUED = "h p s a u n r i d D user pass cacert cert key tls-ciphers pattern eval rdb x-".split()


def _redis(step: Step) -> None:
    found = step.options(_VALUED, stops=True)
    host = found.value("h")
    for file in found.values("rdb"):
        step.write(file)
    for file in found.values("eval"):
        step.effect("execute", "run", file, path=step.path(file), source="file")
    words = [word.text for word in found.rest]
    if words:
        _command(step, words, host)
    elif step.stdin.text:
        for line in step.stdin.text.splitlines()[:64]:
            _command(step, line.split(), host)
    lists = found.has("scan", "bigkeys") or words[:1] in (["keys"], ["KEYS"])
    named = found.value("pattern") or (words[1] if len(words) > 1 else "*")
    step.out = Stream(None, frozenset({"names"}), (), (named,)) if lists else Stream()


_ONE_BY_ONE = frozenset("del unlink getdel hdel xdel expire".split())
"""Nothing that a program should not do to its own keys, as long as it names them."""


def _scripted(calls: set[str]) -> Deed:
    """What a script of Lua does: whoever asks for keys by a pattern and deletes them deletes what nobody named."""
    if calls & _ONE_BY_ONE:
        return Deed.DESTROY if calls & {"keys", "scan"} else Deed.STOP
    return min((_MEANINGS.get(name, Deed.CHANGE) for name in calls), key=list(Deed).index, default=Deed.CHANGE)


def _command(step: Step, words: list[str], host: str) -> None:
    if not words:
        return
    first = words[0].lower()
    pair = f"{first}-{words[1].lower()}" if len(words) > 1 else first
    deed = _MEANINGS.get(pair) or _MEANINGS.get(first) or Deed.CHANGE
    if first in {"eval", "evalsha", "fcall"}:
        deed = _scripted({name.lower() for name in _CALL.findall(" ".join(words))})
    elif first in _ONE_BY_ONE and "*" in words:
        deed = Deed.DESTROY
    elif first in _ONE_BY_ONE and any(UNKNOWN in word or "*" in word for word in words):
        deed = Deed.STOP
    if (first in _REACHES or pair in _REACHES) and words[1:2] != ["no"]:
        step.effect("sql", "unsafe-io", target=" ".join(words[:2]), host=host, writes=True)
        return
    shown = " ".join(words[:1] if first in {"auth", "eval", "hello"} else words[:2])
    step.effect("data", deed.value, target=shown, host=host or step.name, writes=deed is not Deed.READ)


# MongoDB: the text of a script, looked at for the calls that matter

_MONGO = tuple(
    (re.compile(pattern), deed)
    for pattern, deed in (
        (r"\.\s*(?:dropDatabase|drop|dropAllUsersFromDatabase|dropIndexes)\s*\(", Deed.DESTROY),
        (r"\.\s*(?:deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*)?[,)]", Deed.DESTROY),
        (r"\[\s*['\"](?:dropDatabase|drop|deleteMany)['\"]\s*\]", Deed.DESTROY),
        (r"\bdropDatabase\s*:", Deed.DESTROY),
        (
            r"\.\s*(?:shutdownServer|dropUser|dropRole|createUser|grantRolesToUser|setProfilingLevel|fsyncLock)\b",
            Deed.STOP,
        ),
        (
            r"\.\s*(?:deleteMany|remove|updateMany|renameCollection|dropIndex)\s*\(",
            Deed.STOP,
        ),
        (
            r"\.\s*(?:insert|update|replace|save|create|bulkWrite|deleteOne|findOneAnd|findAndModify|aggregate)\w*\s*\(",
            Deed.CHANGE,
        ),
    )
)


def _mongo(step: Step) -> None:
    found = step.options("eval host port u username p password authenticationDatabase f file".split())
    where = next((word.text for word in found.rest[:1]), "").rpartition("@")[2]
    texts = found.values("eval")
    for text in texts:
        _script(step, text, where)
    for file in (*found.values("f", "file"), *found.rest[1:]):
        step.effect("execute", "run", file, path=step.path(file), source="file")
    if not texts and step.stdin.text:
        _script(step, step.program._replace(text=step.stdin.text), where)
    step.out = Stream()


def _script(step: Step, at: Argument, where: str) -> None:
    deed = next((deed for pattern, deed in _MONGO if pattern.search(at.text)), Deed.READ)
    step.effect("data", deed.value, at, target=where or "the database", host=step.name, writes=deed is not Deed.READ)


def _influx(step: Step) -> None:
    found = step.options("o org t token host b bucket execute database precision c active-config".split())
    texts = [word.text.lower() for word in (*found.values("execute"), *found.rest)]
    line = " ".join(texts)
    destroys = re.search(r"\b(?:drop|delete)\b", line)
    deed = Deed.DESTROY if destroys else Deed.CHANGE if re.search(r"\b(?:write|create|update)\b", line) else Deed.READ
    step.effect("data", deed.value, target=line[:40], host=step.name, writes=deed is not Deed.READ)


_CYPHER = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), deed)
    for pattern, deed in (
        (r"\b(?:drop\s+(?:composite\s+)?database|drop\s+alias)\b", Deed.DESTROY),
        (r"\b(?:grant|deny|revoke|(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:user|role))\b", Deed.GRANT),
        (r"\b(?:create|merge|set|remove|delete|drop|load|call\s+apoc\.)", Deed.CHANGE),
    )
)
_MATCH = re.compile(r"\bmatch\b", re.IGNORECASE)
_TAKES_ALL = re.compile(r"(?:(?!\bwhere\b|\{|\blimit\b).)*?\bdelete\b", re.IGNORECASE | re.DOTALL)
"""Neo4j: a MATCH that names no property and no condition takes every node of its kind."""


def _cypher(step: Step) -> None:
    found = step.options("a address u username p password d database f file P param format".split())
    for file in found.values("f", "file"):
        step.effect("execute", "run", file, path=step.path(file), source="file")
    texts = [word.text for word in found.rest] or [step.stdin.text or ""]
    where = found.value("a", "address")
    for text in texts:
        all_of_them = any(_TAKES_ALL.match(part) for part in _MATCH.split(text)[1:])
        said = next((deed for pattern, deed in _CYPHER if pattern.search(text)), Deed.READ)
        deed = Deed.DESTROY if all_of_them else said
        target = found.value("d", "database") or "the graph"
        step.effect("data", deed.value, target=target, host=where or step.name, writes=deed is not Deed.READ)
    step.out = Stream()


def _memcached(step: Step) -> None:
    """`memcflush`, `memcrm`."""
    step.effect("data", Deed.DESTROY.value, target=step.name, host=step.name, writes=True)


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(("keydb-cli", "redis-cli", "valkey-cli", "dragonfly-cli"), _redis),
    **dict.fromkeys(("mongo", "mongosh"), _mongo),
    **dict.fromkeys(("memcflush", "memcrm"), _memcached),
    "cypher-shell": _cypher,
    "influx": _influx,
}
