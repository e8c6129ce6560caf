"""What comes into a file. A text that decides what will be installed or what a cluster will run is judged when it is
written, as if that were done now; and only what it adds to what stands there.

A script is not: to write `rm` is not to delete. What a script does is judged when it is run.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from trotline.analysis.manifests import compose_powers, kube_objects
from trotline.analysis.reading import Reading
from trotline.analysis.scene import Argument, Scene
from trotline.analysis.step import Step
from trotline.analysis.streams import SILENT
from trotline.pattern import pattern

LONGEST = 100_000
LONGEST_LOCK = 2_000_000
MOST_PACKAGES = 300
"""Characters of a file, and packages of one text, that are looked at; beyond them it is said that there is more."""

_MORE = "there is more in the file than Trotline reads"
MOST_SOURCES = 4
_COMPOSE = pattern(r"(?:docker-)?compose(?:[.-][\w.-]*)?\.ya?ml")
_OLD = frozenset("oldstring oldstr oldtext oldcontent search".split())
_NEW = frozenset(
    "newstring newstr newtext newcontent replace content contents filetext filecontent text data body codeedit"
    " inserttext replacement".split()
)
_HUNK = pattern(r"^\*\*\* (?:Add|Update) File: (.+)$", re.MULTILINE)
_TYPE = pattern(r"[^a-z]")

Reader = Callable[[Step, Argument, str, str], None]


class Change(NamedTuple):
    """A piece of a file and what stands there afterwards; without the old piece the new one is added, or is all."""

    old: str
    new: str
    everywhere: bool = False


def contents(step: Step, at: Argument, after: str, before: str | None = None) -> None:
    """Note what this text would bring about that what stands in the file until now does not."""
    path = step.path(at)
    reader = _reader(path)
    if reader is None or (reader is _kubernetes and "kind" not in after):
        return
    if before is None:
        before = step.reading.on_disk(path)
    if before == after:
        return
    longest = LONGEST_LOCK if reader is _lock else LONGEST
    if len(after) > longest:
        step.opaque(_MORE, at, kind="install", source="manifest", writes=True)
    reader(step, at, before[:longest], after[:longest])


def edited(step: Step, at: Argument, given: Mapping[str, Any]) -> None:
    """The same for a tool that is given a whole text, or pieces that are replaced."""
    several = given.get("edits")
    edits = [given, *(several if isinstance(several, list) else ())]
    changes = [change for one in edits if isinstance(one, Mapping) for change in _changes(one)]
    if not changes or _reader(step.path(at)) is None:
        return
    before = step.reading.on_disk(step.path(at))
    after = before
    for change in changes:
        if change.old and change.old in after:
            after = after.replace(change.old, change.new, -1 if change.everywhere else 1)
        else:  # not a file that we see: the pieces tell as much as they hold
            before = "\n".join([before, *(each.old for each in changes)])
            after = "\n".join(each.new for each in changes)
            break
    contents(step, at, after, before)


def patched(step: Step, patch: str) -> None:
    """The same for a patch: lines that come, beside those that were there."""
    parts = _HUNK.split(patch)
    for path, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = body.partition("\n*** ")[0].splitlines()
        before = "\n".join(line[1:] for line in lines if line[:1] in {"-", " "})
        after = "\n".join(line[1:] for line in lines if line[:1] in {"+", " "})
        contents(step, Argument(path.strip()), after, before)


def kept(reading: Reading, scene: Scene) -> None:
    """The same for all that a line wrote into files, by whatever program, where the text is known or on the disk."""
    for path, known in list(scene.written.items()):
        if known == "" or _reader(path) is None:
            continue
        spot = next((one for one in reading.effects if one.kind == "write" and one.path == path), None)
        if spot is None:
            continue  # one of two places that it may have gone to
        at = Argument(path, spot.column_from, spot.column_to)
        step = Step(reading, scene, [at._replace(text=posixpath.basename(path))], SILENT)
        contents(step, at, known if known is not None else _made_of(reading, scene, path))
        if step.inner:
            reading.steps.append(step)


def _made_of(reading: Reading, scene: Scene, path: str) -> str:
    """What is in the files that were copied, moved or joined into this one. What a program changes on the way is not
    seen, and what it leaves as it is, is."""
    sources = [source for source in scene.flows[path].paths if source.startswith("/")] if path in scene.flows else []
    return "\n".join(reading.on_disk(source) for source in sources[:MOST_SOURCES])


def holds_text(given: Mapping[str, Any]) -> bool:
    """Whether a tool is given what a file shall hold."""
    return "edits" in given or any(True for _ in _changes(given))


def _changes(given: Mapping[str, Any]) -> Iterator[Change]:
    plain = {_TYPE.sub("", str(key).lower()): value for key, value in given.items()}
    old = next((plain[key] for key in _OLD if isinstance(plain.get(key), str)), "")
    everywhere = plain.get("replaceall") is True
    yield from (Change(old, plain[key], everywhere) for key in sorted(_NEW) if isinstance(plain.get(key), str))


def _reader(path: str) -> Reader | None:
    """Who knows such files. By the name alone, since every write asks."""
    name = posixpath.basename(path).lower()
    if name.endswith((".yaml", ".yml", ".json")) and name not in _BY_NAME:
        return _compose if _COMPOSE.fullmatch(name) else _kubernetes
    if name.endswith((".txt", ".in")):
        return _manifest if "requirement" in name else None
    if name in {"config.toml", "config"}:
        return _settings if path.lower().endswith(("/.cargo/config.toml", "/.cargo/config")) else None
    return _BY_NAME.get(name)


# Kinds of files


_Item = TypeVar("_Item")


def _added(before: Iterable[_Item], after: Iterable[_Item]) -> list[_Item]:
    there = set(before)
    return [one for one in after if one not in there]


def _manifest(step: Step, at: Argument, before: str, after: str) -> None:
    from trotline.analysis.tools.packages_installs import listed  # noqa: PLC0415 - few files are manifests
    from trotline.analysis.tools.packages_manifests import packages_in, scripts_in  # noqa: PLC0415 - the same

    path = step.path(at)
    there = {(one.kind, one.package, one.host) for one in step.reading.effects}
    added = _added(packages_in(path, before), packages_in(path, after))
    if len(added) > MOST_PACKAGES:
        step.opaque(_MORE, at, kind="install", source="manifest", writes=True)
    for found in added[:MOST_PACKAGES]:
        if ("install", found.want.purl, found.want.host) not in there:  # the line installs it right away
            listed(step, at, found.kind, found.want, "project")
    for name, line in _added(scripts_in(path, before), scripts_in(path, after)):
        _run_later(step, at, name, line)


def _run_later(step: Step, at: Argument, name: str, line: str) -> None:
    """A line that runs by itself with the next install is judged as one that runs."""
    scene = step.scene.copy()
    scene.cwd = posixpath.dirname(step.path(at))
    inner = Step(step.reading, scene, [Argument(name, at.start, at.end)], SILENT)
    inner.script(Argument(line, at.start, at.end), SILENT, scene=scene)
    step.inner.append(inner)


def _lock(step: Step, at: Argument, before: str, after: str) -> None:
    """In a lock that there is, another host is another source; a new one may be made for a mirror."""
    from trotline.analysis.tools.packages_locks import locked_in  # noqa: PLC0415 - few files are locks

    path = step.path(at)
    there = locked_in(path, before)
    for _, want in _added(there, locked_in(path, after)):
        if want.source == "git":
            step.effect("install", "install", at, source="git", host=want.host, package=want.name, writes=True)
        elif want.host:
            verb = "source" if there else "install"
            step.effect("install", verb, at, source="index", host=want.host, target="project", writes=True)


def _settings(step: Step, at: Argument, before: str, after: str) -> None:
    from trotline.analysis.tools.packages_locks import settings_in  # noqa: PLC0415 - few files are such settings

    path = step.path(at)
    for _, want in _added(settings_in(path, before), settings_in(path, after)):
        step.effect(
            "install", "source" if want.host else "unverified", at, target=want.name, host=want.host, writes=True
        )


def _kubernetes(step: Step, at: Argument, before: str, after: str) -> None:
    for each in _added(kube_objects(before), kube_objects(after)):
        if each.powers:
            step.effect("kube", "manifest", at, target=each.words, writes=True)


def _compose(step: Step, at: Argument, before: str, after: str) -> None:
    for power in _added(compose_powers(before), compose_powers(after)):
        step.effect("container", "manifest", at, target=power, writes=True)


_BY_NAME: dict[str, Reader] = {
    **dict.fromkeys("package.json composer.json pyproject.toml pipfile cargo.toml go.mod gemfile".split(), _manifest),
    **dict.fromkeys("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock".split(), _lock),
    **dict.fromkeys("poetry.lock uv.lock pdm.lock pipfile.lock cargo.lock gemfile.lock".split(), _lock),
    **dict.fromkeys(".npmrc .yarnrc .yarnrc.yml bunfig.toml pip.conf pip.ini uv.toml".split(), _settings),
}
