"""The pytest plugin: a fixture that is an agent with nothing in it. pytest loads it, so it imports little."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trotline.testing.agent import Agent


@pytest.fixture
def agent(tmp_path: Path) -> "Agent":
    """An agent with empty layers, of its own home and machine, for hooks under test."""
    from trotline.testing.agent import Agent  # noqa: PLC0415 - most tests of most projects do not use it

    return Agent(tmp_path / "agent")
