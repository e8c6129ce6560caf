"""Clients of databases without SQL: Redis, MongoDB, Neo4j, InfluxDB."""

import re
from collections.abc import Mapping

from trotline.analysis.service_verbs import VerbKind
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream
from trotline.formats.lazy_regex import lazy_regex

_REDIS_VERBS = {
    VerbKind.DESTROY: "flushall flushdb shutdown swapdb cluster-reset script-flush function-flush xgroup-destroy",
    VerbKind.STOP: "ltrim xtrim zremrangebyscore client-kill debug failover replicaof slaveof acl function-delete",
    VerbKind.READ: "get mget hget hgetall hmget hkeys keys scan hscan sscan zscan info ping ttl pttl exists type"
    " lrange llen smembers scard sismember zrange zcard strlen dbsize monitor memory client-list"
    " client-info config-get slowlog latency time echo command object xrange xlen xinfo cluster-info"
    " cluster-nodes acl-list acl-whoami lastsave role help auth select getrange bitcount pubsub"
    " subscribe psubscribe srandmember randomkey",
}
_REDIS_VERB_KINDS = {word: verb_kind for verb_kind, words in _REDIS_VERBS.items() for word in words.split()}
_REACHING_COMMANDS = frozenset("config-set module-load replicaof slaveof debug migrate config-rewrite".split())
"""With these, Redis writes files, loads code, or gives its data to another server."""

_LUA_CALL = lazy_regex(r"redis\.p?call\(\s*['\"](\w+)['\"]", re.IGNORECASE)
_REDIS_VALUED = "h p s a u n r i d D user pass cacert cert key tls-ciphers pattern x-"


MAX_COMMANDS = 64


def _classify_text(patterns: Mapping[VerbKind, re.Pattern[str]], text: str) -> VerbKind:
    """Return the first kind whose pattern is in the text."""
    return next((kind for kind, pattern in patterns.items() if pattern.search(text)), VerbKind.READ)


def _add_data_effect(call: Invocation, kind: VerbKind, target: str, host: str, at: Argument | None = None) -> None:
    writes = kind is not VerbKind.READ
    call.add_effect("data", kind.value, at, target=target, host=host or call.name, writes=writes)


def _handle_redis(call: Invocation) -> None:
    options = call.parse_options(_REDIS_VALUED, writes="rdb", runs="eval", stops=True)
    host = options.value("h")
    words = [word.text for word in options.rest]
    if words:
        _analyze_redis_command(call, words, host)
    elif call.stdin.text:
        for line in call.stdin.text.splitlines()[:MAX_COMMANDS]:
            _analyze_redis_command(call, line.split(), host)
    lists = options.has("scan", "bigkeys") or words[:1] in (["keys"], ["KEYS"])
    keys = options.value("pattern") or (words[1] if len(words) > 1 else "*")
    call.stdout = Stream(None, frozenset({"names"}), (), (keys,)) if lists else Stream()


_KEY_DELETIONS = frozenset("del unlink getdel hdel xdel expire".split())
"""Harmless as long as the keys are named."""


def _classify_lua_calls(calls: set[str]) -> VerbKind:
    """Classify a Lua script; deleting keys that match a pattern counts as destroying."""
    if calls & _KEY_DELETIONS:
        return VerbKind.DESTROY if calls & {"keys", "scan"} else VerbKind.STOP
    kinds = [_REDIS_VERB_KINDS.get(name, VerbKind.CHANGE) for name in calls]
    return min(kinds, key=list(VerbKind).index, default=VerbKind.CHANGE)


def _analyze_redis_command(call: Invocation, words: list[str], host: str) -> None:
    if not words:
        return
    first = words[0].lower()
    pair = f"{first}-{words[1].lower()}" if len(words) > 1 else first
    verb_kind = _REDIS_VERB_KINDS.get(pair) or _REDIS_VERB_KINDS.get(first) or VerbKind.CHANGE
    if first in {"eval", "evalsha", "fcall"}:
        verb_kind = _classify_lua_calls({name.lower() for name in _LUA_CALL.findall(" ".join(words))})
    elif first in _KEY_DELETIONS and "*" in words:
        verb_kind = VerbKind.DESTROY
    elif first in _KEY_DELETIONS and any(UNKNOWN_CHAR in word or "*" in word for word in words):
        verb_kind = VerbKind.STOP
    if (first in _REACHING_COMMANDS or pair in _REACHING_COMMANDS) and words[1:2] != ["no"]:
        call.add_effect("sql", "unsafe-io", target=" ".join(words[:2]), host=host, writes=True)
        return
    target = " ".join(words[:1] if first in {"auth", "eval", "hello"} else words[:2])
    _add_data_effect(call, verb_kind, target, host)


# MongoDB

_MONGO_CALLS = {
    VerbKind.DESTROY: lazy_regex(
        r"\.\s*(?:dropDatabase|drop|dropAllUsersFromDatabase|dropIndexes)\s*\("
        r"|\.\s*(?:deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*)?[,)]"
        r"|\[\s*['\"](?:dropDatabase|drop|deleteMany)['\"]\s*\]|\bdropDatabase\s*:"
    ),
    VerbKind.STOP: lazy_regex(
        r"\.\s*(?:shutdownServer|dropUser|dropRole|createUser|grantRolesToUser|setProfilingLevel|fsyncLock)\b"
        r"|\.\s*(?:deleteMany|remove|updateMany|renameCollection|dropIndex)\s*\("
    ),
    VerbKind.CHANGE: lazy_regex(
        r"\.\s*(?:insert|update|replace|save|create|bulkWrite|deleteOne|findOneAnd|findAndModify|aggregate)\w*\s*\("
    ),
}


def _handle_mongo(call: Invocation) -> None:
    options = call.parse_options("eval host port u username p password authenticationDatabase f file")
    address = next((word.text for word in options.rest[:1]), "").rpartition("@")[2]
    texts = options.values("eval")
    for text in texts:
        _analyze_mongo_script(call, text, address)
    for file in (*options.values("f", "file"), *options.rest[1:]):
        call.add_run(file)
    if not texts and call.stdin.text:
        _analyze_mongo_script(call, call.program._replace(text=call.stdin.text), address)
    call.stdout = Stream()


def _analyze_mongo_script(call: Invocation, arg: Argument, address: str) -> None:
    _add_data_effect(call, _classify_text(_MONGO_CALLS, arg.text), address or "the database", "", arg)


_INFLUX_VERBS = {
    VerbKind.DESTROY: lazy_regex(r"\b(?:drop|delete)\b"),
    VerbKind.CHANGE: lazy_regex(r"\b(?:write|create|update)\b"),
}


def _handle_influx(call: Invocation) -> None:
    options = call.parse_options("o org t token host b bucket execute database precision c active-config")
    line = " ".join(word.text.lower() for word in (*options.values("execute"), *options.rest))
    _add_data_effect(call, _classify_text(_INFLUX_VERBS, line), line[:40], "")


_CYPHER_CLAUSES = {
    VerbKind.DESTROY: lazy_regex(r"(?is)\b(?:drop\s+(?:composite\s+)?database|drop\s+alias)\b"),
    VerbKind.GRANT: lazy_regex(
        r"(?is)\b(?:grant|deny|revoke|(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:user|role))\b"
    ),
    VerbKind.CHANGE: lazy_regex(r"(?is)\b(?:create|merge|set|remove|delete|drop|load|call\s+apoc\.)"),
}
_MATCH = lazy_regex(r"\bmatch\b", re.IGNORECASE)
_DELETE_ALL = lazy_regex(r"(?:(?!\bwhere\b|\{|\blimit\b).)*?\bdelete\b", re.IGNORECASE | re.DOTALL)
"""A MATCH without a property and without a condition selects every node of its kind."""


def _handle_cypher(call: Invocation) -> None:
    options = call.parse_options("a address u username p password d database P param format", runs="f file")
    texts = [word.text for word in options.rest] or [call.stdin.text or ""]
    address = options.value("a", "address")
    for text in texts:
        deletes_all = any(_DELETE_ALL.match(part) for part in _MATCH.split(text)[1:])
        kind = VerbKind.DESTROY if deletes_all else _classify_text(_CYPHER_CLAUSES, text)
        _add_data_effect(call, kind, options.value("d", "database") or "the graph", address)
    call.stdout = Stream()


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(("keydb-cli", "redis-cli", "valkey-cli", "dragonfly-cli"), _handle_redis),
    **dict.fromkeys(("mongo", "mongosh"), _handle_mongo),
    "cypher-shell": _handle_cypher,
    "influx": _handle_influx,
}
