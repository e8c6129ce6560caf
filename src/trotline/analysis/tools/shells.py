"""Shells: their text comes by `-c`, from a file, or through a pipe; and what decodes text on its way to them."""

import base64
import binascii

from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream, joined

_VALUED = ("o", "O", "rcfile", "init-file")


def _shell(step: Step) -> None:
    found = step.options({*_VALUED}, stops=True)
    if found.has("n"):
        return  # read, not run
    for file in found.values("rcfile", "init-file"):
        _file(step, (file,))
    if found.has("c"):
        if found.rest:
            scene = step.scene.copy()
            scene.words = found.rest[2:]
            scene.zero = found.rest[1].text if len(found.rest) > 1 else step.name
            step.out = step.script(found.rest[0], scene=scene)
        return
    words = found.rest
    while words and words[0].text[:1] in {"-", "+"}:  # `-` only ends the options, `+e` is one
        words = words[2 if words[0].text in {"+o", "+O"} else 1 :]
    if words and not found.has("s"):
        _file(step, words)
        return
    _piped(step, step.program, step.stdin)


def _file(step: Step, words: tuple[Argument, ...]) -> None:
    at = words[0]
    if at.pipe is not None:
        _piped(step, at, at.pipe)
        return
    path = step.path(at)
    if path in {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}:
        _piped(step, at, step.stdin)
        return
    opened = step.scene.descriptor(path)
    if opened is not None:
        _piped(step, at, opened)
    elif path not in step.scene.written:
        source = "unpacked" if step.scene.is_unpacked(path) else "file"
        step.effect("execute", "run", at, path=path, source=source)
    else:
        content = step.scene.content(path)
        step.effect("execute", "run", at, path=path, source="written")
        if content.text is None and content.origin == "file":
            step.opaque("a shell reads what a program of this line wrote", at, source="output")
        _piped(step, at, content, words[1:])


def _piped(step: Step, at: Argument, stream: Stream, words: tuple[Argument, ...] = ()) -> None:
    """A script that comes through a pipe: read if its text is known; otherwise where it comes from is what counts."""
    origins = stream.origins
    if stream.text is None and stream.origin == "output":
        step.opaque("a shell reads what a program prints", at, source="output")
    elif origins & {"network", "decoded"} or (stream.text is None and origins):
        step.effect(
            "execute",
            "pipe",
            at,
            source=stream.origin,
            path=stream.paths[0] if stream.paths else "",
            why="a shell reads what comes through the pipe",
        )
    if stream.text is not None and stream.text.strip():
        scene = step.scene.copy()
        scene.words = words
        step.out = step.script(at._replace(text=stream.text), Stream(), scene=scene)


def _base64(step: Step) -> None:
    found = step.options({"w", "wrap", "b", "i", "input"} if step.name == "base64" else {"w"})
    stream = _input(step, found.rest or tuple(found.values("i", "input")))
    if not found.has("d", "D", "decode"):
        step.out = stream.passed_on()
        return
    step.out = Stream(_decoded(stream.text, step.name), stream.origins | {"decoded"}, stream.paths)


def _decoded(text: str | None, name: str) -> str | None:
    if text is None:
        return None
    packed = "".join(text.split()).encode("utf-8", "surrogatepass")
    try:
        data = base64.b32decode(packed) if name == "base32" else base64.b64decode(packed + b"=" * (-len(packed) % 4))
        return data.decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None


def _input(step: Step, files: tuple[Argument, ...]) -> Stream:
    """What the program works on: the files it names, or its standard input."""
    if not files or files[0].text == "-":
        return step.stdin
    for file in files:
        step.read(file)
    pipes = [file.pipe for file in files if file.pipe is not None]
    if pipes:
        return pipes[0]
    return joined([step.scene.content(step.path(file)) for file in files])


def _xxd(step: Step) -> None:
    found = step.options("c g l s o".split(), long_dash=False)
    stream = _input(step, found.rest[:1])
    if not found.has("r"):
        step.out = stream.passed_on()
        return
    text = None
    if stream.text is not None:
        digits = "".join(char for char in stream.text if char in "0123456789abcdefABCDEF")
        text = bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", "replace")
    step.out = Stream(text, stream.origins | {"decoded"}, stream.paths)


def _rev(step: Step) -> None:
    stream = _input(step, step.options().rest)
    text = "\n".join(line[::-1] for line in stream.text.split("\n")) if stream.text is not None else None
    step.out = Stream(text, stream.origins | {"decoded"}, stream.paths)


def _openssl(step: Step) -> None:
    words = step.words
    if not words:
        return
    found = step.options("in out pass k K iv kfile passin passout".split(), long_dash=True)
    stream = _input(step, tuple(found.values("in")))
    for file in found.values("out"):
        step.write(file)
    if words[0].text == "s_client":
        step.send(found.value("connect"), verb="connect", source=",".join(step.stdin.paths))
    connects = {"network"} if words[0].text == "s_client" else set()
    decodes = found.has("d") or words[0].text == "base64"
    text = _decoded(stream.text, "base64") if decodes and found.has("base64", "a") else None
    step.out = Stream(text, stream.origins | connects | ({"decoded"} if decodes else set()), stream.paths)


def _unpacked(step: Step) -> None:
    """`zcat`, `gunzip -c`: what comes out cannot be known."""
    found = step.options("S suffix".split())
    stream = _input(step, found.rest)
    unpacks = step.name.startswith(("gun", "z", "bun", "bz", "xzc", "unxz", "unz", "lz")) or found.has(
        "d", "decompress"
    )
    step.out = Stream(None, stream.origins | ({"decoded"} if unpacks else set()), stream.paths)
    if found.rest and not found.has("c", "stdout", "k", "keep") and not step.name.endswith("cat"):
        for file in found.rest:
            step.write(file)


def _tr(step: Step) -> None:
    words = step.options().rest
    stream = step.stdin
    text = None
    if stream.text is not None and len(words) == 2 and not step.words[0].text.startswith("-"):
        text = _translated(stream.text, _set_of(words[0].text), _set_of(words[1].text))
    elif stream.text is not None and step.words and step.words[0].text == "-d" and words:
        text = "".join(char for char in stream.text if char not in _set_of(words[0].text))
    step.out = Stream(text, stream.origins | ({"decoded"} if text is None else set()), stream.paths)


def _set_of(text: str) -> str:
    import re  # noqa: PLC0415 - seldom

    return re.sub(
        r"(.)-(.)",
        lambda match: "".join(map(chr, range(ord(match[1]), min(ord(match[2]), ord(match[1]) + 256) + 1))),
        text,
    )


def _translated(text: str, old: str, new: str) -> str:
    if not new:
        return text
    return text.translate({ord(char): new[min(at, len(new) - 1)] for at, char in reversed(list(enumerate(old)))})


SHELLS = "ash bash csh dash fish ksh mksh rbash sh tcsh zsh".split()

TOOLS: dict[str, Handler] = {
    **dict.fromkeys(SHELLS, _shell),
    "base32": _base64,
    "base64": _base64,
    "bunzip2": _unpacked,
    "bzcat": _unpacked,
    "bzip2": _unpacked,
    "gunzip": _unpacked,
    "gzip": _unpacked,
    "openssl": _openssl,
    "rev": _rev,
    "tr": _tr,
    "unxz": _unpacked,
    "xxd": _xxd,
    "xz": _unpacked,
    "xzcat": _unpacked,
    "zcat": _unpacked,
    "zstd": _unpacked,
    "zstdcat": _unpacked,
}
