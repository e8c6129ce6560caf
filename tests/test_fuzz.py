"""A short run of the fuzzer of `make soak`: the same targets and invariants, with inputs from hypothesis."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SCRIPT = Path(__file__).parents[1] / "scripts" / "fuzz.py"


def load_script() -> Any:
    spec = importlib.util.spec_from_file_location("fuzz", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = load_script()
TARGETS = {target.name: target for target in FUZZ.TARGETS}


def replace_part(seed: bytes, at: float, cut: int, put: bytes) -> bytes:
    where = int(at * len(seed))
    return seed[:where] + put + seed[where + cut :]


def draw_inputs(target: Any) -> st.SearchStrategy[bytes]:
    """Draw noise, words of the target in any order, and its seeds with a replaced part."""
    words = st.lists(st.sampled_from(target.words), max_size=30).map(lambda some: " ".join(some).encode())
    pieces = st.binary(max_size=4) | st.sampled_from(target.words).map(str.encode)
    changed = st.builds(replace_part, st.sampled_from(target.seeds), st.floats(0, 1), st.integers(0, 12), pieces)
    return st.binary(max_size=80) | words | changed


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=150)
@given(data=st.data())
def test_no_input_breaks_an_invariant(name: str, data: st.DataObject) -> None:
    TARGETS[name].run(data.draw(draw_inputs(TARGETS[name])))


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_break_no_invariant(name: str) -> None:
    for seed in (*TARGETS[name].seeds, b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe"):
        TARGETS[name].run(seed)


def test_every_reader_of_untrusted_input_is_a_target() -> None:
    assert list(TARGETS) == ["jsonc", "layers", "event", "reply", "pattern", "scanned", "rules", "shell", "verdict"]


WITHOUT_ATHERIS = """
import runpy, sys
sys.modules["atheris"] = None
sys.argv = [sys.argv[1], "--seconds", "1"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_missing_atheris_is_reported_with_instructions() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_ATHERIS, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "make soak" in done.stdout


def test_unknown_target_is_an_error() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--target", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "jsonc" in done.stderr
