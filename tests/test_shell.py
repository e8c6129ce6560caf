"""The shell analysis: words, nested commands, columns, limits."""

import pytest

from kit import build_text, read_corpus, read_rows
from trotline.analysis.shell import lexer, parser
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.parser import parse_script
from trotline.analysis.shell.shell_analyzer import ShellAnalyzer
from trotline.analysis.shell.shell_state import Environment

ENVIRONMENT = Environment("/home/ann/app", ("/home/ann/app",), "/home/ann", "ann")


def _steps(steps: list[Invocation]) -> list[Invocation]:
    return [inner for step in steps for inner in (step, *_steps(step.children))]


def _programs(line: str) -> list[list[str]]:
    """Return every program that would run, with its arguments."""
    analyzer = ShellAnalyzer(ENVIRONMENT)
    analyzer.analyze_line(line)
    return [[step.program.text, *(word.text for word in step.args)] for step in _steps(analyzer.invocations)]


@pytest.mark.parametrize("line, words", read_rows("shell", "words_expand_to_arguments"))
def test_words_expand_to_arguments(line: str, words: list[str]) -> None:
    assert [program[1:] for program in _programs(line) if program[0] == "x"] == [words]


@pytest.mark.parametrize("line, text", read_rows("shell", "texts_given_to_a_shell_are_analysed"))
def test_texts_given_to_a_shell_are_analysed(line: str, text: str) -> None:
    assert ["x", text] in _programs(line)


@pytest.mark.parametrize("line", read_rows("shell", "nested_commands_are_found"))
def test_nested_commands_are_found(line: str) -> None:
    assert ["x"] in _programs(line)


@pytest.mark.parametrize("line", ["y '$(x)'", r"y \$(x\)", "y # $(x)", "y <<'E'\n$(x)\nE", "echo x", "y \\`x\\`"])
def test_data_is_not_a_command(line: str) -> None:
    assert ["x"] not in _programs(line)


@pytest.mark.parametrize(
    "line",
    ["x 'a", 'x "a', "x $(a", "x `a", "x ${a", "(x", "{ x", "if x", "x &&", "x |", ")", "case a in b", "x >", "a=(b"],
)
def test_invalid_lines_are_reported_as_unreadable(line: str) -> None:
    script = parse_script(line)
    assert script.error
    assert 0 <= script.error_at <= len(line)
    analyzer = ShellAnalyzer(ENVIRONMENT)
    analyzer.analyze_line(line)
    assert [effect.source for effect in analyzer.effects if effect.kind == "execute"][-1] in {"line", "unclosed"}


@pytest.mark.parametrize("text", ["rm -rf /srv", "sudo rm -rf /srv", "sh -c 'rm -rf /srv'", "true && rm -rf '/srv' x"])
def test_effects_have_the_columns_of_their_argument(text: str) -> None:
    analyzer = ShellAnalyzer(ENVIRONMENT)
    analyzer.analyze_line(text)
    found = next(effect for effect in analyzer.effects if effect.path == "/srv")
    assert text[found.column_from : found.column_to].strip("'") == "/srv"


@pytest.mark.parametrize("line", ['x "a\\', "x a\\", "`a\\", "A=(1 $( a<<E\"); {c '\\", "x <<E\na\\", "x <<E\nE"])
def test_columns_stay_within_a_line_that_ends_with_a_backslash(line: str) -> None:
    analyzer = ShellAnalyzer(ENVIRONMENT)
    analyzer.analyze_line(line)
    assert all(effect.column_from <= effect.column_to <= len(line) + 1 for effect in analyzer.effects)


@pytest.mark.parametrize(
    "line", ["cat2 f", "RM f", "nice2 rm f", "perl5.36 -e 'unlink(\"f\")'", "Docker ps", "sudo1 x"]
)
def test_program_names_ignore_version_and_case(line: str) -> None:
    analyzer = ShellAnalyzer(ENVIRONMENT)
    analyzer.analyze_line(line)
    assert analyzer.invocations


PATHOLOGICAL = {
    **{name: build_text(parts) for name, parts in read_corpus("shell_limits")["adversarial"].items()},
    "half an emoji": "echo \ud83d 'a\udc00'",
}


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_adversarial_lines_need_bounded_work(name: str) -> None:
    analyzer = ShellAnalyzer(ENVIRONMENT)
    analyzer.analyze_line(PATHOLOGICAL[name])
    assert len(_steps(analyzer.invocations)) <= 2100
    assert len(analyzer.effects) <= 70_000
    assert all(effect.kind for effect in analyzer.effects)


class _Counted(str):
    """A text that counts its reads."""

    __slots__ = ()
    looks = 0

    def __getitem__(self, index: object) -> str:
        _Counted.looks += 1
        return str.__getitem__(self, index)  # type: ignore[index]

    def startswith(self, *args: object) -> bool:
        _Counted.looks += 1
        return str.startswith(self, *args)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unit", ["x; ", "'a' ", "$(x) ", "a=(b) ;", "x {a,b} ", "`x` ", "x <(y) ;", "${a:-b} ", "[[ a ]];", "x>a ", "@(a) "]
)
def test_work_grows_linearly_with_the_text(unit: str) -> None:
    def looks(times: int) -> int:
        _Counted.looks = 0
        parser.ShellParser(_Counted(unit * times)).parse()
        return _Counted.looks

    assert looks(400) <= 2.2 * looks(200) + 100


def test_nesting_is_limited() -> None:
    deep = lexer.MAX_NESTING + 2
    assert "deeper" in parse_script("$(" * deep + "x" + ")" * deep).error
    assert not parse_script("$(" * 10 + "x" + ")" * 10).error


@pytest.mark.parametrize("line", ["echo {--0..3}", "echo {²..3}", "echo {a..é}", "echo {1..x}", "echo {1..}"])
def test_invalid_ranges_are_not_expanded(line: str) -> None:
    assert _programs(line) == [line.split()]
