"""Configuration that keeps itself current: changed files are read again before the next event.

A new file that is broken is loud, and the last good one stays in force: a slip of the pen must not open a gate.
"""

import threading
from pathlib import Path

from trotline.config.configuration import Configuration, LayerRead, read_layers
from trotline.config.layers import find_layers
from trotline.config.models import Models, model_files
from trotline.config.places import Roots
from trotline.editions import Edition

Signature = tuple[int, ...] | None


class Current:
    """The configuration in force, and what it was read from."""

    def __init__(self, roots: Roots, edition: Edition, *, claude: bool) -> None:
        self.roots = roots
        self.edition = edition
        self.claude = claude
        self._signatures: dict[str, Signature] = {}
        self._good: dict[str, LayerRead] = {}
        self._good_models: Models | None = None
        self._alarms: dict[str, str] = {}
        self._lock = threading.Lock()
        self.beside: list[LayerRead] = []  # files that are not in use, and that trust covers all the same
        self.configuration = self._read()

    def refresh(self) -> tuple[Configuration, list[str]]:
        """Read again what changed; the alarms are those of every file that is not in force as it stands."""
        with self._lock:  # events may be raised from many threads
            if self._now() != self._signatures:
                self.configuration = self._read()
            return self.configuration, list(self._alarms.values())

    def _now(self) -> dict[str, Signature]:
        found = {layer.file for layer in find_layers(self.roots, self.edition)}
        read = {read.layer.file for read in [*self.configuration.layers, *self.beside]}  # a manifest leads elsewhere
        return {file: _signature(file) for file in found | read | self._model_files()}

    def _model_files(self) -> set[str]:
        return {str(file) for file in model_files(self.roots)}

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
        if not read.void:
            self._good[file] = read
            return read
        good = self._good.get(file)
        if good is None or not good.exists:
            self._alarms[file] = f"nothing of {file} is in force: {read.void}"
            return read
        self._alarms[file] = f"{file} is broken and was not taken over ({read.void}); the last good one is in force"
        return LayerRead(layer=good.layer, exists=True, digest=good.digest, hooks=good.hooks, problems=read.problems)

    def _models_in_force(self, models: Models) -> Models:
        """A broken file leaves the models as they were; without any of them prompt hooks fail, and say so."""
        for file in self._model_files():
            self._alarms.pop(file, None)
        if not models.void:
            self._good_models = models
            return models
        for file, why in models.void.items():
            self._alarms[file] = f"{file} is broken and was not taken over ({why})"
        return self._good_models or models


def _signature(file: str) -> Signature:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
