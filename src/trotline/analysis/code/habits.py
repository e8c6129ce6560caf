"""Functions that mean something in one language only."""

from trotline.analysis.code.acts import ACTS
from trotline.analysis.code.deeds import Deeds
from trotline.analysis.code.methods import characters
from trotline.analysis.code.values import NOTHING, Call, Value, concatenated, listed


def perl_open(deeds: Deeds, call: Call) -> Value:
    """`open(F, ">x")`, `open(F, "<", "x")`, `open(F, "cmd |")`, `open(F, "-|", "cmd")`."""
    if len(call.values) < 2:
        return NOTHING
    mode, rest = call.values[1].text.strip(), list(call.values[2:])
    if mode in {"|-", "-|"}:
        return ACTS["several"](deeds, call._replace(values=tuple(rest)))
    if not rest and (mode.startswith("|") or mode.endswith("|")):
        return deeds.script(call.values[1].with_text(mode.strip("|")))
    sign = mode.lstrip("+")[:1]
    target = rest[0] if rest else call.values[1].with_text(mode.lstrip("+<> "))
    if sign == ">" or mode.startswith("+"):
        deeds.write(target, "open")
        return NOTHING
    return deeds.read(target, "open")


def sysopen(deeds: Deeds, call: Call) -> Value:
    target = call.values[1] if len(call.values) > 1 else NOTHING
    flags = " ".join(value.name for value in call.values[2:])
    reads = flags == "O_RDONLY"
    return deeds.read(target, "open") if reads else written(deeds, target)


def written(deeds: Deeds, target: Value) -> Value:
    deeds.write(target, "open")
    return NOTHING


def pack(deeds: Deeds, call: Call) -> Value:
    """`pack("H*", digits)`."""
    how = call.first().text
    if how[:1] in {"H", "h"} and len(call.values) > 1:
        return ACTS["hex"](deeds, call._replace(values=call.values[1:]))
    return characters(deeds, call._replace(values=call.values[1:])) if how[:1] in {"C", "c", "U"} else NOTHING


def joined(deeds: Deeds, call: Call) -> Value:
    """`join(between, parts...)`, `implode`."""
    del deeds
    parts = [inner for value in call.values[1:] for inner in value.flat()]
    return concatenated(parts, call.first().text) if parts else NOTHING


def timer(deeds: Deeds, call: Call) -> Value:
    """`setTimeout("code", 1)`; a function that is given is read where it stands."""
    return deeds.evaluate(call.first()) if call.first().known else NOTHING


def worker(deeds: Deeds, call: Call) -> Value:
    """`new Worker("code", {eval: true})`, or a file."""
    return ACTS["eval" if call.true("eval") else "load"](deeds, call)


def process(deeds: Deeds, call: Call) -> Value:
    """One that may be told more by its input."""
    return ACTS["spawn"](deeds, call)._replace(name="<process>", body=call)


def ruby_read(deeds: Deeds, call: Call) -> Value:
    """`IO.read("|command")` runs it."""
    value = call.first()
    return deeds.script(value.with_text(value.text[1:])) if value.text.startswith("|") else ACTS["read"](deeds, call)


def vector(deeds: Deeds, call: Call) -> Value:
    """R: `c(...)`, `list(...)`."""
    del deeds
    return listed([inner for value in call.values for inner in value.flat()])
