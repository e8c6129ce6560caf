"""Fixtures for all tests, and deterministic property tests: `make laws` looks for new examples."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kit import Workspace, load_engine, make_workspace
from soak_service import Site, end, install
from trotline import Engine
from trotline.audit.store.sqlite_store import SqliteStore

os.environ.pop("CI", None)  # `trotline install` proposes other things in CI
settings.register_profile("laws", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("exploring", settings.get_profile("laws"), derandomize=False, print_blob=True)
settings.load_profile("laws")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.fixture
def engine(workspace: Workspace) -> Engine:
    return load_engine(workspace)


@pytest.fixture(scope="module")
def module_workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace for all examples of a property; each overwrites the file of the previous one."""
    return make_workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """An installed Trotline."""
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as scratch:
        yield install(Path(scratch))


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with a short path, because the path of a socket is limited; its service ends with the test."""
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as scratch:
        yield Path(scratch)
        end(Path(scratch))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "state" / "audit_log.db") as opened:
        yield opened
