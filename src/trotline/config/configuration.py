"""All layers of a project, read: the hooks in the order in which they run, and every Problem with its place."""

import hashlib
import shlex
import stat
from pathlib import Path

import msgspec

from trotline.config import claude_settings, commands, hooks_json, models, plugins, repetition, surfaces
from trotline.config.files import content, unreadable
from trotline.config.jsonc import Document
from trotline.config.jsonc_reader import read
from trotline.config.layers import find_layers
from trotline.config.models import Models
from trotline.config.places import Roots
from trotline.config.problems import Problem, severity_of
from trotline.config.ready_hooks import about_ready
from trotline.config.settings import Settings, read_settings
from trotline.config.sheet import Sheet
from trotline.contracts import Surface
from trotline.editions import Edition
from trotline.hooks import Hook, Layer, LayerKind


class LayerRead(msgspec.Struct, kw_only=True):
    """A layer as found. `void` says why the product loads nothing from it; its hooks are still listed for people."""

    layer: Layer
    exists: bool = False
    void: str = ""
    digest: str = ""  # of the bytes that the hooks were read from
    hooks: list[Hook] = []
    problems: list[Problem] = []


class Configuration(msgspec.Struct, kw_only=True):
    """Everything that was found, in the order of the layers."""

    layers: list[LayerRead]
    edition: Edition
    models: Models
    settings: Settings
    policy_files: tuple[str, ...] = ()
    policy_problems: list[Problem] = []
    outward_files: dict[str, str] = {}  # files about what leaves this machine, and what each is about
    outward_problems: list[Problem] = []

    @property
    def hooks(self) -> list[Hook]:
        """What would run, trust aside."""
        return [hook for layer in self.layers for hook in layer.hooks if not self.off(layer, hook)]

    def off(self, read: LayerRead, hook: Hook) -> str:
        """Why a hook that is configured never runs; empty when it may."""
        if read.void:
            return f"Cursor loads nothing from this file, because {read.void}"
        if hook.event not in self.edition.events:
            return f"edition {self.edition.name} does not know the event"
        return ""

    @property
    def problems(self) -> list[Problem]:
        found = [problem for layer in self.layers for problem in layer.problems]
        own = self.models.problems + self.settings.problems
        return found + own + self.policy_problems + self.outward_problems


def load(roots: Roots, edition: Edition, *, claude: bool = True, surface: Surface | None = None) -> Configuration:
    """Read every layer of these roots."""
    return read_layers(find_layers(roots, edition, claude=claude), roots, edition, surface=surface)


def read_layers(
    layers: list[Layer], roots: Roots, edition: Edition, *, surface: Surface | None = None
) -> Configuration:
    """Read these layers, and then look at them together."""
    found = [read_layer(layer, roots, edition) for layer in layers]
    repetition.report(found)
    known = models.read_models(roots)
    for layer in found:
        layer.problems += models.unanswered(known, layer.hooks)
    if surface is not None:
        surfaces.report(found, surface)
    for layer in found:
        layer.problems.sort(key=lambda problem: (problem.place, problem.code))
    return Configuration(layers=found, edition=edition, models=known, settings=read_settings(roots))


def read_layer(layer: Layer, roots: Roots, edition: Edition) -> LayerRead:
    """Read one file; whatever is wrong with it is in the result, and nothing is raised."""
    try:
        data, mode = content(Path(layer.file))
    except (FileNotFoundError, NotADirectoryError):
        return LayerRead(layer=layer)
    except OSError as error:
        return _unreadable(layer, edition, unreadable(layer.file, error))
    understood = _understood(layer, read(data), roots, edition)
    understood.digest = digest_of(data, mode)
    return understood


def digest_of(data: bytes, mode: int) -> str:
    """Content and executable bit: what trust in a file is bound to."""
    return f"{hashlib.sha256(data).hexdigest()}{'x' if mode & 0o111 else '-'}"


def _understood(layer: Layer, document: Document, roots: Roots, edition: Edition) -> LayerRead:
    if layer.kind is LayerKind.PLUGIN:
        sheet, root = plugins.hooks_of_plugin(layer, document, edition)
        hooks = hooks_json.read_hooks(sheet, root, version_required=False) if root is not None else []
    elif layer.kind.from_claude:
        sheet = Sheet(layer, document, edition)
        hooks = claude_settings.read_settings(sheet, document.root)
    else:
        sheet = Sheet(layer, document, edition)
        hooks = hooks_json.read_hooks(sheet, document.root, version_required=edition.version_required)
    for hook in hooks:
        _command(sheet, hook, roots)
    if layer.root:
        _ownership(sheet, roots)
    return LayerRead(layer=sheet.layer, exists=True, void=sheet.void_because(), hooks=hooks, problems=sheet.problems)


def _unreadable(layer: Layer, edition: Edition, problem: Problem) -> LayerRead:
    weighed = msgspec.structs.replace(problem, severity=severity_of(problem.code, edition.voids))
    return LayerRead(layer=layer, exists=True, void=problem.message, problems=[weighed])


def _command(sheet: Sheet, hook: Hook, roots: Roots) -> None:
    if not hook.command:
        return
    node, entry = sheet.commands[hook.id]
    found = commands.findings_of(hook, roots, Path(sheet.layer.file).parent)
    for finding in (*found, *about_ready(hook)):
        sheet.report(finding.code, node, finding.message, finding.hint, entry=entry)


def _ownership(sheet: Sheet, roots: Roots) -> None:
    path, start = Path(sheet.layer.file), (0, 0)
    try:
        status, real, root = path.stat(), path.resolve(), Path(sheet.layer.root).resolve()
    except (OSError, RuntimeError) as error:  # it was read a moment ago
        sheet.report("TL109", start, f"the file cannot be looked at any more: {error}")
        return
    if sheet.layer.kind.needs_trust and not real.is_relative_to(root):
        sheet.report("TL505", start, f"the file is a link out of the project, to `{real}`")
    writers = stat.S_IWOTH | (0 if status.st_gid == status.st_uid else stat.S_IWGRP)  # a group of one's own is fine
    if status.st_mode & writers and roots.platform != "windows":
        sheet.report("TL504", start, "the file can be written by others", f"chmod go-w {shlex.quote(str(path))}")
    if sheet.layer.kind.needs_trust:
        sheet.report("TL506", start, "hooks of a project run only in a trusted workspace")
