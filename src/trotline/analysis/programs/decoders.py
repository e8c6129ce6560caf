"""Programs that decode, decompress or rewrite a stream: base64, gzip, xxd, tr, openssl."""

import base64
import binascii
import re

from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream, join_streams


def _handle_base64(call: Invocation) -> None:
    options = call.parse_options("w wrap b i input" if call.name == "base64" else "w")
    stream = _read_input(call, options.rest or tuple(options.values("i", "input")))
    if not options.has("d", "D", "decode"):
        call.stdout = stream.drop_text()
        return
    call.stdout = Stream(_decode(stream.text, call.name), stream.origins | {"decoded"}, stream.paths)


def _decode(text: str | None, name: str) -> str | None:
    if text is None:
        return None
    packed = "".join(text.split()).encode("utf-8", "surrogatepass")
    try:
        data = base64.b32decode(packed) if name == "base32" else base64.b64decode(packed + b"=" * (-len(packed) % 4))
        return data.decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None


def _read_input(call: Invocation, files: tuple[Argument, ...]) -> Stream:
    """Return the contents of the files, or the standard input."""
    if not files or files[0].text == "-":
        return call.stdin
    for file in files:
        call.add_read(file)
    pipes = [file.pipe for file in files if file.pipe is not None]
    if pipes:
        return pipes[0]
    return join_streams([call.state.get_content(call.resolve(file)) for file in files])


def _handle_xxd(call: Invocation) -> None:
    options = call.parse_options("c g l s o")
    stream = _read_input(call, options.rest[:1])
    if not options.has("r"):
        call.stdout = stream.drop_text()
        return
    text = None
    if stream.text is not None:
        digits = "".join(char for char in stream.text if char in "0123456789abcdefABCDEF")
        text = bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", "replace")
    call.stdout = Stream(text, stream.origins | {"decoded"}, stream.paths)


def _handle_rev(call: Invocation) -> None:
    stream = _read_input(call, call.parse_options().rest)
    text = "\n".join(line[::-1] for line in stream.text.split("\n")) if stream.text is not None else None
    call.stdout = Stream(text, stream.origins | {"decoded"}, stream.paths)


def _handle_openssl(call: Invocation) -> None:
    words = call.args
    if not words:
        return
    options = call.parse_options("in pass k K iv kfile passin passout", writes="out", long_dash=True)
    stream = _read_input(call, tuple(options.values("in")))
    if words[0].text == "s_client":
        call.add_send(options.value("connect"), verb="connect", source=",".join(call.stdin.paths))
    connects = {"network"} if words[0].text == "s_client" else set()
    decodes = options.has("d") or words[0].text == "base64"
    text = _decode(stream.text, "base64") if decodes and options.has("base64", "a") else None
    call.stdout = Stream(text, stream.origins | connects | ({"decoded"} if decodes else set()), stream.paths)


_UNPACKERS = ("gun", "z", "bun", "bz", "xzc", "unxz", "unz", "lz")


def _handle_gzip(call: Invocation) -> None:
    """`gzip`, `zcat`, `xz`: the output is unknown, but its origin is not."""
    options = call.parse_options("S suffix")
    stream = _read_input(call, options.rest)
    unpacks = call.name.startswith(_UNPACKERS) or options.has("d", "decompress")
    call.stdout = Stream(None, stream.origins | ({"decoded"} if unpacks else set()), stream.paths)
    if options.rest and not options.has("c", "stdout", "k", "keep") and not call.name.endswith("cat"):
        for file in options.rest:
            call.add_write(file)


def _handle_tr(call: Invocation) -> None:
    words = call.parse_options().rest
    stream = call.stdin
    text = None
    if stream.text is not None and len(words) == 2 and not call.args[0].text.startswith("-"):
        text = _translate(stream.text, _expand_ranges(words[0].text), _expand_ranges(words[1].text))
    elif stream.text is not None and call.args and call.args[0].text == "-d" and words:
        text = "".join(char for char in stream.text if char not in _expand_ranges(words[0].text))
    call.stdout = Stream(text, stream.origins | ({"decoded"} if text is None else set()), stream.paths)


def _expand_ranges(text: str) -> str:
    """Return the characters of a set of `tr`: `a-c` is `abc`."""

    def expand(match: re.Match[str]) -> str:
        first, last = ord(match[1]), ord(match[2])
        return "".join(map(chr, range(first, min(last, first + 256) + 1)))

    return re.sub(r"(.)-(.)", expand, text)


def _translate(text: str, old: str, new: str) -> str:
    if not new:
        return text
    return text.translate({ord(char): new[min(index, len(new) - 1)] for index, char in reversed(list(enumerate(old)))})


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("bunzip2 bzcat bzip2 gunzip gzip unxz xz xzcat zcat zstd zstdcat".split(), _handle_gzip),
    **dict.fromkeys(("base32", "base64"), _handle_base64),
    "openssl": _handle_openssl,
    "rev": _handle_rev,
    "tr": _handle_tr,
    "xxd": _handle_xxd,
}
