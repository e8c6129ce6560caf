"""Methods of texts and lists that many languages have in the same or nearly the same words."""

from trotline.analysis.code.acts import ACTS, Act
from trotline.analysis.code.deeds import Deeds
from trotline.analysis.code.values import NOTHING, Call, Value, concatenated, listed, mixed, text


def _same(deeds: Deeds, call: Call) -> Value:
    del deeds
    return call.owner or NOTHING


def _decoded(deeds: Deeds, call: Call) -> Value:
    """`toString("base64")` names a form to write; a buffer that was decoded is text already."""
    del deeds
    return (call.owner or NOTHING)._replace(name="")


def _join(deeds: Deeds, call: Call) -> Value:
    owner = call.owner or NOTHING
    if owner.items is None:
        return ACTS["join"](deeds, call)
    return concatenated(list(owner.items), call.first().text if call.values else "")


def _split(deeds: Deeds, call: Call) -> Value:
    del deeds
    owner = call.owner or NOTHING
    if not owner.known:
        return owner
    sign = call.first().text if call.values else ""
    return listed([owner.with_text(part) for part in (owner.text.split(sign) if sign else owner.text)])


def _reverse(deeds: Deeds, call: Call) -> Value:
    del deeds
    owner = call.owner or NOTHING
    if owner.items is not None:
        return owner._replace(items=owner.items[::-1])
    return owner.with_text(owner.text[::-1])


def _replace(deeds: Deeds, call: Call) -> Value:
    del deeds
    owner = call.owner or NOTHING
    if len(call.values) > 1 and call.values[0].text not in {"", "/"} and call.values[0].known:
        return owner.with_text(owner.text.replace(call.values[0].text, call.values[1].text))
    return owner


def _concat(deeds: Deeds, call: Call) -> Value:
    del deeds
    return concatenated([call.owner or NOTHING, *call.values])


def _unpack(deeds: Deeds, call: Call) -> Value:
    """Ruby: `"...".unpack1("m")`, `["..."].pack("H*")`."""
    owner, how = (call.owner or NOTHING).flat()[:1], call.first().text
    value = owner[0] if owner else NOTHING
    act = ACTS["base64"] if how.startswith("m") and "unpack" in call.name else ACTS["hex"] if how[:1] in "Hh" else None
    return act(deeds, call._replace(values=(value,))) if act is not None else value


def _sent_along(deeds: Deeds, call: Call) -> Value:
    """`request(...).end(text)`: what is written to a request that was made before."""
    owner = call.owner or NOTHING
    begun = owner.owner.body if owner.name == "?.stdin" and owner.owner is not None else None
    if isinstance(begun, Call) and call.values:
        return ACTS["spawn"](deeds, begun._replace(named={**begun.named, "input": call.values[0]}))
    url = owner.body
    content = mixed(list(call.values))
    if owner.name == "<response>" and isinstance(url, Value) and (content.paths or content.origins):
        deeds.send(url, "write", list(call.values))
    return owner


def _constructed(deeds: Deeds, call: Call) -> Value:
    """`f.constructor("code")`: every function is made by one that reads code."""
    return deeds.evaluate(call.values[-1]) if call.values and call.values[-1].known else NOTHING


METHODS: dict[str, Act] = {
    **dict.fromkeys(
        "trim strip chomp to_s to_str toString each forEach map select filter first freeze call".split(), _same
    ),
    "body": _same,
    "concat": _concat,
    "constructor": _constructed,
    "decode": _decoded,
    "end": _sent_along,
    "gsub": _replace,
    "join": _join,
    "pack": _unpack,
    "replace": _replace,
    "reverse": _reverse,
    "split": _split,
    "sub": _replace,
    "text": _same,
    "unpack": _unpack,
    "unpack1": _unpack,
    "write": _sent_along,
}


def characters(deeds: Deeds, call: Call) -> Value:
    """Letters by their numbers."""
    del deeds
    numbers = [value.text for value in call.values if value.text.isascii() and value.text.isdigit()]
    if len(numbers) != len(call.values) or not numbers:
        return NOTHING
    return text("".join(chr(min(int(number[:7]), 0x10FFFF)) for number in numbers))
