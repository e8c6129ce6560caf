"""All layers of a project, read: the hooks in the order in which they run, and every Problem with its place."""

import hashlib
import shlex
import stat
from pathlib import Path

import msgspec

from trotline.config import models
from trotline.config.builtin_hooks import check_builtin_hook
from trotline.config.hooks_json import claude_settings, cursor_file, hook_commands, plugins, repetition, surfaces
from trotline.config.hooks_json.layer_file import Sheet
from trotline.config.hooks_json.layers import find_layers
from trotline.config.models import Models
from trotline.config.paths import Roots
from trotline.config.problems import Problem, build_read_problem, get_severity
from trotline.config.settings import Settings, read_settings
from trotline.domain.contracts import Surface
from trotline.domain.editions import Edition
from trotline.domain.hooks import Hook, Layer, LayerKind
from trotline.formats.jsonc import JsonDocument, parse_jsonc
from trotline.system.files import read_file_and_mode


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
    config_files: tuple[str, ...] = ()
    other_problems: list[Problem] = []  # of the other sections of trotline.toml

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
        return [problem for layer in self.layers for problem in layer.problems] + self.config_problems

    @property
    def config_problems(self) -> list[Problem]:
        """The problems of trotline.toml, each once: every section reports those of the whole file."""
        return list(dict.fromkeys([*self.settings.problems, *self.models.problems, *self.other_problems]))


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
        layer.problems += models.find_unanswered(known, layer.hooks)
    if surface is not None:
        surfaces.report(found, surface)
    for layer in found:
        layer.problems.sort(key=lambda problem: (problem.place, problem.code))
    return Configuration(layers=found, edition=edition, models=known, settings=read_settings(roots))


def read_layer(layer: Layer, roots: Roots, edition: Edition) -> LayerRead:
    """Read one file; whatever is wrong with it is in the result, and nothing is raised."""
    try:
        data, mode = read_file_and_mode(Path(layer.file))
    except (FileNotFoundError, NotADirectoryError):
        return LayerRead(layer=layer)
    except OSError as error:
        return _unreadable(layer, edition, build_read_problem(layer.file, error))
    understood = _parse_layer(layer, parse_jsonc(data), roots, edition)
    understood.digest = compute_file_digest(data, mode)
    return understood


def compute_file_digest(data: bytes, mode: int) -> str:
    """Content and executable bit: what trust in a file is bound to."""
    return f"{hashlib.sha256(data).hexdigest()}{'x' if mode & 0o111 else '-'}"


def _parse_layer(layer: Layer, document: JsonDocument, roots: Roots, edition: Edition) -> LayerRead:
    if layer.kind is LayerKind.PLUGIN:
        sheet, root = plugins.hooks_of_plugin(layer, document, edition)
        hooks = cursor_file.read_hooks(sheet, root, version_required=False) if root is not None else []
    elif layer.kind.from_claude:
        sheet = Sheet(layer, document, edition)
        hooks = claude_settings.read_settings(sheet, document.root)
    else:
        sheet = Sheet(layer, document, edition)
        hooks = cursor_file.read_hooks(sheet, document.root, version_required=edition.version_required)
    for hook in hooks:
        _command(sheet, hook, roots)
    if layer.root:
        _ownership(sheet, roots)
    return LayerRead(layer=sheet.layer, exists=True, void=sheet.void_because(), hooks=hooks, problems=sheet.problems)


def _unreadable(layer: Layer, edition: Edition, problem: Problem) -> LayerRead:
    weighed = msgspec.structs.replace(problem, severity=get_severity(problem.code, edition.voids))
    return LayerRead(layer=layer, exists=True, void=problem.message, problems=[weighed])


def _command(sheet: Sheet, hook: Hook, roots: Roots) -> None:
    if not hook.command:
        return
    node, entry = sheet.commands[hook.id]
    found = hook_commands.find_command_problems(hook, roots, Path(sheet.layer.file).parent)
    for finding in (*found, *check_builtin_hook(hook)):
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
