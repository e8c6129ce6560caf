"""The pytest plugin with the fixture `agent`. pytest loads it in every run, so it imports little."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trotline.testing.fake_agent import FakeAgent


@pytest.fixture
def agent(tmp_path: Path) -> "FakeAgent":
    """A fake agent with empty layers and a temporary home, for hooks under test."""
    from trotline.testing.fake_agent import FakeAgent  # noqa: PLC0415 - most tests of most projects do not use it

    return FakeAgent(tmp_path / "agent")
