"""Effects of system programs, archivers, editors and wrappers."""

import pytest

from kit import read_rows
from trotline.analysis.analyze import analyze_command
from trotline.analysis.shell.shell_state import Environment

ENVIRONMENT = Environment("/home/me/work", ("/home/me/work",), "/home/me", "me")


def found(line: str) -> list[tuple[str, str, str]]:
    """Return kind, verb and object of each effect."""
    return [(e.kind, e.verb, e.path or e.target) for e in analyze_command(line, ENVIRONMENT).effects]


@pytest.mark.parametrize(
    "line, expected", read_rows("programs_system", "programs_of_the_system_have_effects", as_tuples=True)
)
def test_programs_of_the_system_have_effects(line: str, expected: tuple[str, str, str]) -> None:
    assert expected in found(line)


@pytest.mark.parametrize("line", read_rows("programs_system", "showing_something_has_no_effect"))
def test_showing_something_has_no_effect(line: str) -> None:
    assert [row for row in found(line) if row[0] != "read"] == []


@pytest.mark.parametrize("wrapper", read_rows("programs_system", "a_wrapped_program_is_analyzed"))
def test_a_wrapped_program_is_analyzed(wrapper: str) -> None:
    assert ("delete", "rm", "/home/me") in found(wrapper.replace("{}", "rm -rf /home/me"))


@pytest.mark.parametrize("line", ["fd . ~ -X rm -rf", "fd -H -t f . ~ -x rm {}", "fdfind --exec rm -rf ';' . ~"])
def test_fd_runs_a_program_on_everything_it_finds(line: str) -> None:
    assert found(line) == [("delete", "rm", "/home/me")]


@pytest.mark.parametrize("line", read_rows("programs_system", "a_wrapper_without_a_program_has_no_effect"))
def test_a_wrapper_without_a_program_has_no_effect(line: str) -> None:
    assert found(line) == []


@pytest.mark.parametrize(
    "line, expected", read_rows("programs_system", "archivers_read_packed_and_write_unpacked_files", as_tuples=True)
)
def test_archivers_read_packed_and_write_unpacked_files(line: str, expected: tuple[str, str, str]) -> None:
    assert expected in found(line)


@pytest.mark.parametrize("line, written", read_rows("programs_system", "a_rewriter_writes_the_changed_file"))
def test_a_rewriter_writes_the_changed_file(line: str, written: list[str]) -> None:
    assert [path for kind, _, path in found(line) if kind == "write"] == [f"/home/me/work/{name}" for name in written]


@pytest.mark.parametrize(
    "line", read_rows("programs_system", "a_function_or_alias_that_hides_a_program_is_analyzed_at_once")
)
def test_a_function_or_alias_that_hides_a_program_is_analyzed_at_once(line: str) -> None:
    assert ("delete", "rm", "/home/me") in found(line)


def test_a_function_with_a_new_name_has_no_effect_until_it_is_called() -> None:
    assert found("my_cleaner() { rm -rf /home/me; }") == []


@pytest.mark.parametrize(
    "line", read_rows("programs_system", "running_encoded_text_is_an_effect_even_if_it_can_be_decoded")
)
def test_running_encoded_text_is_an_effect_even_if_it_can_be_decoded(line: str) -> None:
    effects = analyze_command(line, ENVIRONMENT).effects
    assert any(effect.kind == "execute" and effect.source == "decoded" for effect in effects)


def test_output_of_a_program_that_a_shell_runs_is_opaque() -> None:
    effects = analyze_command("some-program | sh", ENVIRONMENT).effects
    assert [(effect.source, effect.certainty) for effect in effects] == [("output", "opaque")]
