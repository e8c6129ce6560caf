"""Code in command lines has effects, in every supported language."""

import base64
import sys
import tomllib
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kit import read_corpus
from trotline.analysis.analyze import analyze_command
from trotline.analysis.code.languages import load_languages
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Certainty, Effect

ROOT = Path(__file__).parent.parent
ENVIRONMENT = Environment("/home/ann/app", ("/home/ann/app",), "/home/ann", "ann")


def describe(effect: Effect) -> str:
    deep = "deep " if effect.recursive else ""
    return f"{deep}{effect.kind} {effect.path or effect.host or effect.target or effect.source}"


def list_effects(line: str) -> list[str]:
    return [describe(effect) for effect in analyze_command(line, ENVIRONMENT).effects]


PYTHON = read_corpus("code_analysis")["python"]


@pytest.mark.parametrize("code", PYTHON)
def test_python_calls_have_effects(code: str) -> None:
    quoted = code.replace("'", "'\\''")
    assert list_effects(f"python3 -c '{quoted}' /srv/given") == PYTHON[code]


def test_python_code_is_found_in_arguments_pipes_and_files() -> None:
    code = "import os\nos.remove('/srv/a')"
    assert list_effects(f"python3 - <<'E'\n{code}\nE") == ["delete /srv/a"]
    assert list_effects(f"cat > x.py <<'E'\n{code}\nE\npython3 x.py")[-1] == "delete /srv/a"
    assert list_effects("curl -s https://h.example/x | python3")[-1] == "execute network"
    assert list_effects("python3 tool.py --flag") == ["execute /home/ann/app/tool.py"]
    hidden = base64.b64encode(code.encode()).decode()
    assert list_effects(f"python3 -c \"import base64; exec(base64.b64decode('{hidden}'))\"") == [
        "execute decoded",
        "delete /srv/a",
    ]


def test_the_output_of_code_is_analysed_by_the_next_shell() -> None:
    assert list_effects("python3 -c \"print('rm a')\" | sh") == ["delete /home/ann/app/a"]
    assert list_effects("perl -e 'print \"rm a\"' | sh") == ["delete /home/ann/app/a"]


OTHERS = read_corpus("code_analysis")["others"]


@pytest.mark.parametrize("line", OTHERS)
def test_calls_of_other_languages_have_effects(line: str) -> None:
    assert list_effects(line) == OTHERS[line]


def test_scanned_effects_are_guessed_and_unknown_code_is_opaque() -> None:
    guessed = analyze_command('node -e \'require("fs").rmSync("a")\'', ENVIRONMENT).effects
    assert [effect.certainty for effect in guessed] == [Certainty.GUESSED]
    opaque = analyze_command("python3 -c 'import os, sys; os.system(input())'", ENVIRONMENT).effects
    assert [effect.certainty for effect in opaque] == [Certainty.OPAQUE]


ENCODED = base64.b64encode("Remove-Item -Recurse ~".encode("utf-16-le")).decode()
WINDOWS = read_corpus("code_analysis")["windows"]


@pytest.mark.parametrize("line", WINDOWS)
def test_windows_shells_are_analysed(line: str) -> None:
    assert list_effects(line) == WINDOWS[line]


def test_warnings_of_analysed_code_do_not_affect_other_threads() -> None:
    """The global warning filters stay unchanged during the analysis, and no warning is shown."""
    line = "python3 -c \"import os; os.remove('/srv/\\d'); 1 is 1\""
    assert list_effects(line) == ["delete /srv/\\d"]
    seen: set[int] = set()

    def look(*_: object) -> None:
        seen.add(id(warnings.filters))

    before = list(warnings.filters)
    sys.setprofile(look)
    try:
        effects = list_effects(f"{line}; true")  # another line, because the analysis of a line is cached
    finally:
        sys.setprofile(None)
    assert effects == ["delete /srv/\\d"]
    assert seen == {id(warnings.filters)}
    assert list(warnings.filters) == before


def test_code_is_analysed_in_parallel_threads() -> None:
    lines = [f"python3 -c \"import os; os.remove('/srv/\\d{number}')\"" for number in range(40)]
    shown = warnings.showwarning
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(list_effects, lines)) == [[f"delete /srv/\\d{number}"] for number in range(40)]
    assert warnings.showwarning is shown


def test_every_function_of_a_language_has_one_existing_action() -> None:
    for language in load_languages().values():
        assert all(language.find_action(function) for function in language.functions)
    tables = tomllib.loads((ROOT / "src/trotline/analysis/code/languages.toml").read_text("utf-8"))
    for table in tables.values():
        functions = [function for names in table["functions"].values() for function in names.split()]
        assert sorted(functions) == sorted(set(functions))
