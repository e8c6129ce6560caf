"""Programs that change the files that they are given, or write what they make of them into others."""

from typing import NamedTuple

from trotline.analysis.options import options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.tools.git_work import patched


class Rewrites(NamedTuple):
    """Which of its words are files that it changes."""

    valued: str = ""  # options that take a value
    pairs: str = ""  # options that take two
    into: str = ""  # options that name the file it writes instead
    only: str = ""  # the options with which it changes anything; none: it always does
    shows: str = ""  # options with which it changes nothing
    last: bool = False  # the last word alone is written
    dashed: bool = False  # `-name` is one option, not four


_OBJCOPY = Rewrites(
    "I O F B j R K N L G W b i input-target output-target target binary-architecture only-section remove-section"
    " keep-symbol strip-symbol localize-symbol globalize-symbol weaken-symbol add-section update-section dump-section"
    " rename-section set-section-flags set-section-alignment redefine-sym redefine-syms set-start add-symbol gap-fill"
    " add-gnu-debuglink prefix-symbols prefix-sections",
    last=True,
)
_STRIP = Rewrites("F I O K N R target input-target output-target keep-symbol strip-symbol remove-section", into="o")

REWRITERS = {
    "chrpath": Rewrites("r replace", only="r replace d delete c convert"),
    "codesign": Rewrites(
        "s sign i identifier r requirements R test-requirement o options D detached entitlements keychain prefix",
        only="s sign remove-signature",
    ),
    "fallocate": Rewrites("l length o offset"),
    "install_name_tool": Rewrites("id add_rpath delete_rpath", "change rpath", last=True, dashed=True),
    "llvm-objcopy": _OBJCOPY,
    "llvm-strip": _STRIP,
    "objcopy": _OBJCOPY,
    "patchelf": Rewrites(
        "set-interpreter set-soname set-rpath add-rpath add-needed remove-needed page-size set-os-abi"
        " allowed-rpath-prefixes rename-dynamic-symbols clear-symbol-version",
        "replace-needed",
        into="output",
        shows="print-interpreter print-soname print-rpath print-needed print-os-abi print-execstack",
    ),
    "strip": _STRIP,
}


def _rewrites(step: Step) -> None:
    row = REWRITERS[step.name]
    valued = f"{row.valued} {row.pairs} {row.into}".split()
    found = options(_single(step.words, row), valued, long_dash=row.dashed)
    idle = row.only and not found.has(*row.only.split())
    if idle or (row.shows and found.has(*row.shows.split())):
        return
    into = found.values(*row.into.split()) if row.into else []
    written = into or list(found.rest[-1:] if row.last else found.rest)
    for file in found.rest:
        if file not in written:
            step.read(file, verb="copy")
    for file in written:
        step.write(file)


def _single(words: list[Argument], row: Rewrites) -> list[Argument]:
    """The words without the second value of an option that takes two."""
    marks = {word for name in row.pairs.split() for word in (f"-{name}", f"--{name}")}
    return [word for at, word in enumerate(words) if at < 2 or words[at - 2].text not in marks]


def _patch(step: Step) -> None:
    """A file and a patch; or a patch alone, which names the files that it changes."""
    found = step.options(
        "b B d D F g i o p r V Y z input output directory strip fuzz reject-file prefix suffix basename-prefix".split()
    )
    if found.has("dry-run", "check", "C", "version", "help"):
        return
    if found.value("d", "directory"):
        step.scene = step.scene.copy()
        step.scene.cwd = step.scene.absolute(found.value("d", "directory"))
    patches = [*found.values("i", "input"), *found.rest[1:2]]
    for patch in patches:
        step.read(patch, verb="patch")
    for file in [*found.values("o", "output"), *found.values("r", "reject-file")]:
        step.write(file, verb="patch")
    if found.has("o", "output"):
        return
    texts = [step.scene.written.get(step.path(patch)) for patch in patches] or [step.stdin.text]
    named = [step.program._replace(text=name) for text in texts for name in patched(text or "")]
    for file in found.rest[:1] or named:
        step.write(file, verb="patch")


TOOLS: dict[str, Handler] = {**dict.fromkeys(REWRITERS, _rewrites), "patch": _patch}
