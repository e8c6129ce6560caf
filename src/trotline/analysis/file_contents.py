"""Check what is written into files.

A text that decides what will be installed or what a cluster will run counts as if that happened now; only additions
count. A script is not checked: writing `rm` deletes nothing. It is analyzed when it runs.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from trotline.analysis.kube.kube_manifests import list_compose_privileges, parse_objects
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_analyzer import ShellAnalyzer
from trotline.analysis.shell.shell_state import Argument, ShellState
from trotline.analysis.shell.streams import EMPTY_STREAM
from trotline.formats.lazy_regex import lazy_regex

MAX_TEXT = 100_000
MAX_LOCK_TEXT = 2_000_000
MAX_PACKAGES = 300
"""Limits for the characters of a file and the packages of a text; what exceeds them is reported as opaque."""

_LIMIT_REACHED = "there is more in the file than Trotline reads"
MAX_SOURCES = 4
_COMPOSE = lazy_regex(r"(?:docker-)?compose(?:[.-][\w.-]*)?\.ya?ml")
_OLD_TEXT_KEYS = frozenset("oldstring oldstr oldtext oldcontent search".split())
_NEW_TEXT_KEYS = frozenset(
    "newstring newstr newtext newcontent replace content contents filetext filecontent text data body codeedit"
    " inserttext replacement".split()
)
_HUNK = lazy_regex(r"^\*\*\* (?:Add|Update) File: (.+)$", re.MULTILINE)
_NON_LETTERS = lazy_regex(r"[^a-z]")

ContentsReader = Callable[[Invocation, Argument, str, str], None]


class FileChange(NamedTuple):
    """A replacement in a file. Without an old text the new text is added or is the whole file."""

    old: str
    new: str
    replaces_all: bool = False


def check_contents(call: Invocation, at: Argument, after: str, before: str | None = None) -> None:
    """Add the effects of what a text adds to the current content of a file."""
    path = call.resolve(at)
    reader = _find_reader(path)
    if reader is None or (reader is _check_kubernetes and "kind" not in after):
        return
    if before is None:
        before = call.analyzer.read_file(path)
    if before == after:
        return
    limit = MAX_LOCK_TEXT if reader is _check_lock else MAX_TEXT
    if len(after) > limit:
        call.add_opaque(_LIMIT_REACHED, at, kind="install", source="manifest", writes=True)
    reader(call, at, before[:limit], after[:limit])


def check_edit(call: Invocation, at: Argument, tool_input: Mapping[str, Any]) -> None:
    """Check the input of a tool that writes a whole text or replaces parts of a file."""
    edit_list = tool_input.get("edits")
    edits = [tool_input, *(edit_list if isinstance(edit_list, list) else ())]
    changes = [change for entry in edits if isinstance(entry, Mapping) for change in _find_changes(entry)]
    if not changes or _find_reader(call.resolve(at)) is None:
        return
    before = call.analyzer.read_file(call.resolve(at))
    after = before
    for change in changes:
        if change.old and change.old in after:
            after = after.replace(change.old, change.new, -1 if change.replaces_all else 1)
        else:  # the file is not readable here, so only the parts are compared
            before = "\n".join([before, *(change.old for change in changes)])
            after = "\n".join(change.new for change in changes)
            break
    check_contents(call, at, after, before)


def check_patch(call: Invocation, patch: str) -> None:
    """Check the lines that a patch adds."""
    parts = _HUNK.split(patch)
    for path, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = body.partition("\n*** ")[0].splitlines()
        before = "\n".join(line[1:] for line in lines if line[:1] in {"-", " "})
        after = "\n".join(line[1:] for line in lines if line[:1] in {"+", " "})
        check_contents(call, Argument(path.strip()), after, before)


def check_written_files(analyzer: ShellAnalyzer, state: ShellState) -> None:
    """Check all files that a line wrote, if their text is known or on the disk."""
    for path, text in list(state.written_texts.items()):
        if text == "" or _find_reader(path) is None:
            continue
        effect = next((entry for entry in analyzer.effects if entry.kind == "write" and entry.path == path), None)
        if effect is None:
            continue  # one of two possible targets
        at = Argument(path, effect.column_from, effect.column_to)
        call = Invocation(analyzer, state, [at._replace(text=posixpath.basename(path))], EMPTY_STREAM)
        check_contents(call, at, text if text is not None else _read_sources(analyzer, state, path))
        if call.children:
            analyzer.invocations.append(call)


def _read_sources(analyzer: ShellAnalyzer, state: ShellState, path: str) -> str:
    """Return the content of the files that were copied, moved or joined into this one, unchanged by programs in
    between.
    """
    sources = (
        [source for source in state.file_streams[path].paths if source.startswith("/")]
        if path in state.file_streams
        else []
    )
    return "\n".join(analyzer.read_file(source) for source in sources[:MAX_SOURCES])


def has_text(tool_input: Mapping[str, Any]) -> bool:
    """Return whether the input of a tool holds the text of a file."""
    return "edits" in tool_input or any(True for _ in _find_changes(tool_input))


def _find_changes(tool_input: Mapping[str, Any]) -> Iterator[FileChange]:
    plain = {_NON_LETTERS.sub("", str(key).lower()): value for key, value in tool_input.items()}
    old = next((plain[key] for key in _OLD_TEXT_KEYS if isinstance(plain.get(key), str)), "")
    everywhere = plain.get("replaceall") is True
    yield from (
        FileChange(old, plain[key], everywhere) for key in sorted(_NEW_TEXT_KEYS) if isinstance(plain.get(key), str)
    )


def _find_reader(path: str) -> ContentsReader | None:
    """Return the check for a file by its name alone, because every write asks."""
    name = posixpath.basename(path).lower()
    if name.endswith((".yaml", ".yml", ".json")) and name not in _BY_NAME:
        return _check_compose if _COMPOSE.fullmatch(name) else _check_kubernetes
    if name.endswith((".txt", ".in")):
        return _check_manifest if "requirement" in name else None
    if name in {"config.toml", "config"}:
        return _check_settings if path.lower().endswith(("/.cargo/config.toml", "/.cargo/config")) else None
    return _BY_NAME.get(name)


# Checks by kind of file


_Item = TypeVar("_Item")


def _find_added(before: Iterable[_Item], after: Iterable[_Item]) -> list[_Item]:
    existing = set(before)
    return [entry for entry in after if entry not in existing]


def _check_manifest(call: Invocation, at: Argument, before: str, after: str) -> None:
    from trotline.analysis.packages.installs import add_entry  # noqa: PLC0415 - few files are manifests
    from trotline.analysis.packages.package_files import list_install_scripts, parse_manifest  # noqa: PLC0415 - the same

    path = call.resolve(at)
    installed = {(entry.kind, entry.package, entry.host) for entry in call.analyzer.effects}
    added = _find_added(parse_manifest(path, before), parse_manifest(path, after))
    if len(added) > MAX_PACKAGES:
        call.add_opaque(_LIMIT_REACHED, at, kind="install", source="manifest", writes=True)
    for found in added[:MAX_PACKAGES]:
        if ("install", found.request.purl, found.request.host) not in installed:  # the same line installs it
            add_entry(call, at, found.kind, found.request, "project")
    for name, line in _find_added(list_install_scripts(path, before), list_install_scripts(path, after)):
        _analyze_install_script(call, at, name, line)


def _analyze_install_script(call: Invocation, at: Argument, name: str, line: str) -> None:
    """Analyze a script that the next install runs."""
    state = call.state.copy()
    state.cwd = posixpath.dirname(call.resolve(at))
    inner = Invocation(call.analyzer, state, [Argument(name, at.start, at.end)], EMPTY_STREAM)
    inner.analyze_script(Argument(line, at.start, at.end), EMPTY_STREAM, state=state)
    call.children.append(inner)


def _check_lock(call: Invocation, at: Argument, before: str, after: str) -> None:
    """Check a lock file. In an existing lock, a new host is a new source; a new lock may be made for a mirror."""
    from trotline.analysis.packages.package_files import parse_lock_file  # noqa: PLC0415 - few files are locks

    path = call.resolve(at)
    existing = parse_lock_file(path, before)
    for _, entry in _find_added(existing, parse_lock_file(path, after)):
        if entry.source == "git":
            call.add_effect("install", "install", at, source="git", host=entry.host, package=entry.name, writes=True)
        elif entry.host:
            verb = "source" if existing else "install"
            call.add_effect("install", verb, at, source="index", host=entry.host, target="project", writes=True)


def _check_settings(call: Invocation, at: Argument, before: str, after: str) -> None:
    from trotline.analysis.packages.package_files import parse_settings_file  # noqa: PLC0415 - few files are such settings

    path = call.resolve(at)
    for _, entry in _find_added(parse_settings_file(path, before), parse_settings_file(path, after)):
        verb = "source" if entry.host else "unverified"
        call.add_effect("install", verb, at, target=entry.name, host=entry.host, writes=True)


def _check_kubernetes(call: Invocation, at: Argument, before: str, after: str) -> None:
    for added in _find_added(parse_objects(before), parse_objects(after)):
        if added.privileges:
            call.add_effect("kube", "manifest", at, target=added.summary, writes=True)


def _check_compose(call: Invocation, at: Argument, before: str, after: str) -> None:
    for privilege in _find_added(list_compose_privileges(before), list_compose_privileges(after)):
        call.add_effect("container", "manifest", at, target=privilege, writes=True)


_BY_NAME: dict[str, ContentsReader] = {
    **dict.fromkeys(
        "package.json composer.json pyproject.toml pipfile cargo.toml go.mod gemfile".split(), _check_manifest
    ),
    **dict.fromkeys("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock".split(), _check_lock),
    **dict.fromkeys("poetry.lock uv.lock pdm.lock pipfile.lock cargo.lock gemfile.lock".split(), _check_lock),
    **dict.fromkeys(".npmrc .yarnrc .yarnrc.yml bunfig.toml pip.conf pip.ini uv.toml".split(), _check_settings),
}
