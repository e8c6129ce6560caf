"""Read all layers of a project: the hooks in execution order, and every Problem with its place."""

import hashlib
import shlex
import stat
from pathlib import Path

import msgspec

from trotline.config.builtin_hooks import check_builtin_hook
from trotline.config.hooks_json import claude_settings, cursor_file, hook_commands
from trotline.config.hooks_json.hook_checks import RepetitionCheck, check_model, check_surface
from trotline.config.hooks_json.hooks_file import HooksFile
from trotline.config.hooks_json.layers import find_layers
from trotline.config.models import Models, read_models
from trotline.config.paths import Roots
from trotline.config.problems import Problem, build_problem, build_read_problem, get_severity
from trotline.config.settings import Settings, read_settings
from trotline.domain.contracts import Surface
from trotline.domain.editions import Edition
from trotline.domain.errors import describe_os_error
from trotline.domain.hooks import Hook, Layer, LayerKind
from trotline.formats.jsonc import JsonDocument, JsonKind, JsonNode, parse_jsonc
from trotline.system.files import read_file, read_file_and_mode

FILE_START = (0, 0)


class LayerRead(msgspec.Struct, kw_only=True):
    """A layer as it was read. If there is a `fatal_reason`, Cursor loads none of its hooks."""

    layer: Layer
    exists: bool = False
    fatal_reason: str = ""
    digest: str = ""  # of the bytes that the hooks were read from
    hooks: list[Hook] = []
    problems: list[Problem] = []


class Configuration(msgspec.Struct, kw_only=True):
    """All layers in order, with the models, settings and problems of trotline.toml."""

    layers: list[LayerRead]
    edition: Edition
    models: Models
    settings: Settings
    config_files: tuple[str, ...] = ()
    other_problems: list[Problem] = []  # of the other sections of trotline.toml

    @property
    def hooks(self) -> list[Hook]:
        """The hooks that would run if all were trusted."""
        return [hook for layer in self.layers for hook in layer.hooks if not self.find_inactive_reason(layer, hook)]

    def find_inactive_reason(self, read: LayerRead, hook: Hook) -> str:
        """Return why a configured hook never runs, or ""."""
        if read.fatal_reason:
            return f"Cursor loads nothing from this file, because {read.fatal_reason}"
        if hook.event not in self.edition.events:
            return f"edition {self.edition.name} does not know the event"
        return ""

    @property
    def problems(self) -> list[Problem]:
        """The problems of all layers and of trotline.toml."""
        return [problem for layer in self.layers for problem in layer.problems] + self.config_problems

    @property
    def config_problems(self) -> list[Problem]:
        """The problems of trotline.toml, each once: every section reports those of the whole file."""
        return list(dict.fromkeys([*self.settings.problems, *self.models.problems, *self.other_problems]))


def load_configuration(
    roots: Roots, edition: Edition, *, claude: bool = True, surface: Surface | None = None
) -> Configuration:
    """Read every layer of these roots."""
    return read_layers(find_layers(roots, edition, claude=claude), roots, edition, surface=surface)


def read_layers(
    layers: list[Layer], roots: Roots, edition: Edition, *, surface: Surface | None = None
) -> Configuration:
    """Read these layers and check their hooks together."""
    reads = [read_layer(layer, roots, edition) for layer in layers]
    models, repetition = read_models(roots), RepetitionCheck()
    for read in reads:
        for hook in read.hooks:
            findings = [*repetition.check(hook), *check_model(hook, models)]
            findings += check_surface(hook, surface) if surface is not None else ()
            read.problems += [build_problem(*finding, place=hook.place, entry=hook.event) for finding in findings]
        read.problems.sort(key=lambda problem: (problem.place, problem.code))
    return Configuration(layers=reads, edition=edition, models=models, settings=read_settings(roots))


def read_layer(layer: Layer, roots: Roots, edition: Edition) -> LayerRead:
    """Read one file. Its problems are in the result; nothing is raised."""
    try:
        data, mode = read_file_and_mode(Path(layer.file))
    except (FileNotFoundError, NotADirectoryError):
        return LayerRead(layer=layer)
    except OSError as error:
        problem = build_read_problem(layer.file, error)
        severity = get_severity(problem.code, edition.fatal_codes)
        problem = msgspec.structs.replace(problem, severity=severity)
        return LayerRead(layer=layer, exists=True, fatal_reason=problem.message, problems=[problem])
    read = _parse_layer(layer, parse_jsonc(data), roots, edition)
    read.digest = compute_file_digest(data, mode)
    return read


def compute_file_digest(data: bytes, mode: int) -> str:
    """Return the digest of content and executable bit, to which trust in a file is bound."""
    return f"{hashlib.sha256(data).hexdigest()}{'x' if mode & 0o111 else '-'}"


def _parse_layer(layer: Layer, document: JsonDocument, roots: Roots, edition: Edition) -> LayerRead:
    file, root = HooksFile(layer, document, edition), document.root
    if layer.kind is LayerKind.PLUGIN:
        file, root = _find_plugin_hooks(file)
    if layer.kind.from_claude:
        hooks = claude_settings.read_claude_hooks(file, root)
    else:
        is_version_required = edition.version_required and layer.kind is not LayerKind.PLUGIN
        hooks = cursor_file.read_cursor_hooks(file, root, version_required=is_version_required)
    for hook in filter(lambda hook: hook.command, hooks):
        node, entry = file.commands[hook.id]
        findings = hook_commands.find_command_problems(hook, roots, Path(file.layer.file).parent)
        for finding in (*findings, *check_builtin_hook(hook)):
            file.report(finding.code, node, finding.message, finding.hint, entry=entry)
    if layer.root:
        _check_owner(file, roots)
    fatal_reason = file.find_fatal_reason()
    return LayerRead(layer=file.layer, exists=True, fatal_reason=fatal_reason, hooks=hooks, problems=file.problems)


def _check_owner(file: HooksFile, roots: Roots) -> None:
    path = Path(file.layer.file)
    try:
        status, real, root = path.stat(), path.resolve(), Path(file.layer.root).resolve()
    except (OSError, RuntimeError) as error:  # it was read a moment ago
        file.report("TL109", FILE_START, f"the file cannot be looked at any more: {error}")
        return
    if file.layer.kind.needs_trust and not real.is_relative_to(root):
        file.report("TL505", FILE_START, f"the file is a link out of the project, to `{real}`")
    writers = stat.S_IWOTH | (0 if status.st_gid == status.st_uid else stat.S_IWGRP)  # allow a user's own group
    if status.st_mode & writers and roots.platform != "windows":
        file.report("TL504", FILE_START, "the file can be written by others", f"chmod go-w {shlex.quote(str(path))}")
    if file.layer.kind.needs_trust:
        file.report("TL506", FILE_START, "hooks of a project run only in a trusted workspace")


# Plugins


def _find_plugin_hooks(manifest: HooksFile) -> tuple[HooksFile, JsonNode | None]:
    """Return the file of a plugin's hooks and the object with its `hooks`, or None if there is none.

    The manifest contains the hooks or names their file, by default `hooks/hooks.json`. A plugin may have no manifest.
    """
    directory, root = Path(manifest.layer.root), manifest.document.root
    if not directory.resolve().is_relative_to(directory.parent.resolve()):
        message = f"the plugin is a link to `{directory.resolve()}`, out of its directory"
        manifest.report("TL511", FILE_START, message)
        return manifest, None
    if Path(manifest.layer.file).name != "plugin.json" or root is None:
        return manifest, root
    hooks = root.get("hooks")
    if hooks is None or hooks.kind is JsonKind.STRING:
        return _read_plugin_file(manifest, hooks)
    if hooks.kind is JsonKind.OBJECT:
        outer = hooks if "hooks" in hooks.members else root
        members = {"hooks": outer.members["hooks"]}
        return manifest, JsonNode(JsonKind.OBJECT, outer.start, outer.end, None, members)
    manifest.report("TL511", hooks, f"`hooks` is {hooks.kind.value}; it must be a path or an object")
    return manifest, None


def _read_plugin_file(manifest: HooksFile, name: JsonNode | None) -> tuple[HooksFile, JsonNode | None]:
    layer = manifest.layer
    written = str(name.value) if name is not None else "hooks/hooks.json"
    path, fault = Path(layer.root) / written, ""
    try:
        if path.resolve().is_relative_to(Path(layer.root).resolve()):
            data = read_file(path)
        else:
            fault = f"`{written}` leads out of the plugin"
    except (FileNotFoundError, NotADirectoryError, ValueError, RuntimeError):  # not a valid name, or a circle of links
        fault = f"there is no file `{written}` in the plugin"
    except OSError as error:
        message = f"`{written}` of the plugin cannot be read: {describe_os_error(error)}"
        manifest.report("TL511", name or FILE_START, message)
        return manifest, None
    if fault:
        if name is not None:
            manifest.report("TL511", name, fault)
        return manifest, None
    file = HooksFile(msgspec.structs.replace(layer, file=str(path)), parse_jsonc(data), manifest.edition)
    file.problems += manifest.problems
    return file, file.document.root
