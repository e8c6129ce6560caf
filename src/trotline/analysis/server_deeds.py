"""What the name of a server's tool says that it does to things that live elsewhere."""

from collections.abc import Sequence

from trotline.analysis.verbs import REMOVE, Deed, deed_of, verb_among

_WHOLE = frozenset(
    "account accounts alert alerts app application applications apps backup backups branch bucket buckets certificate"
    " cluster clusters collection collections customer customers database databases db deployment deployments disk"
    " disks distribution dns domain domains droplet droplets environment environments function functions group groups"
    " index indexes instance instances key keys kubectl lambda namespace namespaces order org organization"
    " organisation payment permission permissions pod pods policy project projects queue queues record records"
    " registry release releases repo repository repositories resource resources rule rules schema secret secrets"
    " server servers service services site sites snapshot snapshots stack stacks subscription table tables team tenant"
    " token tokens topic topics user users vault vm vms volume volumes website workspace workspaces zone zones".split()
)
"""What others rely on, or nobody can write anew."""

_BY_ITSELF = frozenset("destroy flushall flushdb nuke wipe".split())
"""What a tool is called that takes all there is, and needs no name for it."""

_SECRETS = frozenset("apikey credential credentials password passwords secret secrets".split())
_LISTS = frozenset("count describe list metadata names search".split())

_MANY = frozenset("all bulk everything many".split())

_HERE = frozenset(
    "annotation annotations assertion breakpoint breakpoints cache cell cells console context cookies cursor"
    " dependency emulation entities entity filter filters highlight highlights history label labels layer layers line"
    " lines log logs memory mock mocks observation observations package packages process processes reaction relation"
    " relations screen selection session shape shapes tab tabs task tasks terminal text thought thoughts timer todo"
    " todos viewport watch window zoom".split()
)
"""What an agent makes and throws away all day: its notes, its browser, its programs, what it draws."""


def deed_of_tool(words: Sequence[str]) -> str:
    """What a tool does, by the words of its name in their order; nothing for what only reads or writes."""
    known = [deed_of(word) for word in words]
    deed = next((one for one in known if one is not Deed.NONE), Deed.NONE)
    if deed is not Deed.READ:
        deed = verb_among(words)[1]
    things = [word for word, one in zip(words, known, strict=True) if one is not deed]
    if not things and _BY_ITSELF.intersection(words):
        return deed.value
    if deed not in {Deed.DESTROY, Deed.STOP, Deed.GRANT} or not things:
        return ""
    if _MANY.intersection(things):
        return deed.value
    thing = next((word for word in reversed(things) if word in _WHOLE or word in _HERE), "")
    if thing in _WHOLE or (deed is Deed.GRANT and not thing):
        return deed.value
    return REMOVE if deed is Deed.DESTROY and not thing else ""


def shows_secret(words: Sequence[str]) -> bool:
    """Whether a tool gives what a keeper of secrets keeps, and not only says what there is."""
    named = {*words}
    return bool(named & _SECRETS) and not named & _LISTS and verb_among(words)[1] is Deed.READ
