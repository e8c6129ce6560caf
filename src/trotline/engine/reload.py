"""Reload the configuration: changed files are read again before the next event.

A broken file raises an alarm, and its last valid version stays in force, so that a typing error disables no guard.
"""

import threading
from pathlib import Path

from trotline.config.hooks_json.configuration import Configuration, LayerRead, read_layers
from trotline.config.hooks_json.layers import find_layers
from trotline.config.models import Models
from trotline.config.paths import CONFIG_FILE, Roots
from trotline.domain.editions import Edition

Signature = tuple[int, ...] | None


class LiveConfiguration:
    """The configuration in force, and the files it was read from."""

    def __init__(self, roots: Roots, edition: Edition, *, claude: bool) -> None:
        self.roots = roots
        self.edition = edition
        self.claude = claude
        self._signatures: dict[str, Signature] = {}
        self._good: dict[str, LayerRead] = {}
        self._good_models: Models | None = None
        self._alarms: dict[str, str] = {}
        self._lock = threading.Lock()
        self.beside: list[LayerRead] = []  # files that are not used but that trust covers
        self.configuration = self._read()

    def refresh(self) -> tuple[Configuration, list[str]]:
        """Reload changed files. Return the configuration, and alarms about files that are not in force."""
        with self._lock:  # events may be raised from many threads
            if self._now() != self._signatures:
                self.configuration = self._read()
            return self.configuration, list(self._alarms.values())

    def _now(self) -> dict[str, Signature]:
        found = {layer.file for layer in find_layers(self.roots, self.edition)}
        read = {read.layer.file for read in [*self.configuration.layers, *self.beside]}  # manifests name others
        return {file: _signature(file) for file in found | read | self._model_files()}

    def _model_files(self) -> set[str]:
        return {str(directory / CONFIG_FILE) for directory in (self.roots.managed_config, self.roots.config)}

    def _read(self) -> Configuration:
        layers = find_layers(self.roots, self.edition, claude=self.claude)
        taken = {layer.file for layer in layers}
        others = [layer for layer in find_layers(self.roots, self.edition) if layer.file not in taken]
        files = {*(layer.file for layer in [*layers, *others]), *self._model_files()}
        before = {file: _signature(file) for file in files}
        configuration = read_layers(layers, self.roots, self.edition)
        configuration.layers = [self._in_force(read) for read in configuration.layers]
        configuration.models = self._models_in_force(configuration.models)
        self.beside = read_layers(others, self.roots, self.edition).layers
        read = [one.layer.file for one in [*configuration.layers, *self.beside]]
        self._signatures = {**{file: _signature(file) for file in read}, **before}
        return configuration

    def _in_force(self, read: LayerRead) -> LayerRead:
        file = read.layer.file
        self._alarms.pop(file, None)
        if not read.fatal_reason:
            self._good[file] = read
            return read
        good = self._good.get(file)
        if good is None or not good.exists:
            self._alarms[file] = f"nothing of {file} is in force: {read.fatal_reason}"
            return read
        self._alarms[file] = (
            f"{file} is broken and was not taken over ({read.fatal_reason}); the last good one is in force"
        )
        return LayerRead(layer=good.layer, exists=True, digest=good.digest, hooks=good.hooks, problems=read.problems)

    def _models_in_force(self, models: Models) -> Models:
        """Return the models, or the last valid ones if a file is broken. Without models, prompt hooks fail."""
        for file in self._model_files():
            self._alarms.pop(file, None)
        if not models.broken:
            self._good_models = models
            return models
        for file, why in models.broken.items():
            self._alarms[file] = f"{file} is broken and was not taken over ({why})"
        return self._good_models or models


def _signature(file: str) -> Signature:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
