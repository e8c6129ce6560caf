"""Limits for untrusted TOML: a project's policy is read before the project is trusted."""

import tomllib
from pathlib import Path

import pytest

from kit import read_rows
from trotline.config.config_file import MAX_PROBLEMS, ConfigFile, LayerFile, parse_toml
from trotline.config.paths import Roots
from trotline.config.policies import FALLBACK_PRESET, parse_policy, read_policies
from trotline.formats import toml_text
from trotline.formats.jsonc import MAX_FILE_BYTES
from trotline.formats.toml_text import MAX_DOTS, MAX_NAME, MAX_TOML_DEPTH, MAX_WORD

UNBEARABLE = {
    "a dotted key": ("preset = 'standard'\n" + "a." * 20_000 + "a = 1", 2, 2 * (MAX_DOTS + 1)),
    "a dotted key in quotes": ('"a".' * 20_000 + "a = 1", 1, 4 * (MAX_DOTS + 1)),
    "a dotted key with spaces": ("a . " * 20_000 + "a = 1", 1, 4 * MAX_DOTS + 3),
    "a dotted header": ("\n[" + "a." * 20_000 + "a]", 2, 2 * (MAX_DOTS + 1) + 1),
    "a dotted key in a value": ("a = {" + "a." * 20_000 + "a = 1}", 1, 5 + 2 * (MAX_DOTS + 1)),
    "lists in lists": ("a = " + "[" * 20_000, 1, 5 + MAX_TOML_DEPTH),
    "tables in tables": ("a = " + "{a = " * 20_000, 1, 5 + 5 * MAX_TOML_DEPTH),
    "a long number": ("a = " + "9" * 5_000, 1, 5),
    "a number that nobody can write out": ("[guards]\ndeletion = 0x" + "f" * 5_000, 2, 12),
}


@pytest.mark.parametrize("name", UNBEARABLE)
def test_text_over_a_limit_is_a_problem_and_is_not_parsed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr(tomllib, "loads", given.append)
    text, line, column = UNBEARABLE[name]
    policy, (problem,) = parse_policy("project", "trotline.toml", text.encode())
    assert (given, policy.preset, problem.code) == ([], FALLBACK_PRESET, "TL256")
    assert (problem.place.file, problem.place.line, problem.place.column) == ("trotline.toml", line, column)


def test_ordinary_files_are_within_the_limits() -> None:
    text = (
        f"{'a.' * MAX_DOTS}a = {'[' * MAX_TOML_DEPTH}{']' * MAX_TOML_DEPTH}\n"
        f'long = "{"." * 5_000}{"[" * 5_000}" # {"." * 5_000}{"[" * 5_000}\n'
        f'many = """{"x" * 5_000}\n{"." * 5_000}\\"""" # [[[\n'
        f"dots = [{'1.5, ' * 5_000}]\n{'b' * MAX_WORD} = '{'[' * 5_000}'\n"
    )
    parsed = parse_toml(text.encode())
    assert (parsed.error, parsed.body) == (None, tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    ['"\\' * 50_000, '"""x"\\' * 50_000 + "\\", "'''a" * 3, '"""' + '\\"' * 50_000, "'" + '"' * 3 + "x" * 50_000],
    ids=["escapes", "texts that end nowhere", "an odd one", "one long text", "quotes of both kinds"],
)
def test_an_unterminated_string_is_read_once(text: str) -> None:
    parts = [part[0] for part in toml_text.TOML_TOKEN.finditer(text)]
    assert ("".join(parts), len(parts) <= 5) == (text, True)


def test_many_keys_under_a_long_header_do_not_cost_their_product() -> None:
    text = f'["{"h" * 50_000}"]\n' + "".join(f"key{at} = 1\n" for at in range(1_000)) + f'["{" " * 50_000}."]\n'
    config = ConfigFile(LayerFile("user", "trotline.toml", text.encode()))
    assert not config.fault
    assert max(map(len, config.positions)) <= MAX_NAME


def test_a_name_of_many_dots_has_the_place_of_its_beginning() -> None:
    text = 'preset = "strict"\n"' + "a." * 50_000 + '" = 1\n'
    (problem,) = parse_policy("project", "trotline.toml", text.encode())[1]
    assert (problem.place.line, len(problem.message) < 1_000) == (2, True)


def test_after_many_problems_checking_stops_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def near(word: str, _: object) -> str:
        searched.append(word)
        return ""

    monkeypatch.setattr("trotline.formats.suggestions.suggest", near)
    text = "[guards]\n" + "".join(f"guard{at} = 'deny'\n" for at in range(1_000))
    problems = parse_policy("project", "trotline.toml", text.encode())[1]
    assert len(problems) == len(searched) == MAX_PROBLEMS + 1
    assert problems[-1].message == "there is more wrong in this file, from here on"


@pytest.mark.parametrize("text, preset, at, expected_text", read_rows("toml_limits", "wrong_kinds", as_tuples=True))
def test_a_value_of_the_wrong_type_is_a_problem_with_its_place(
    text: str, preset: str, at: tuple[int, int], expected_text: str
) -> None:
    policy, (problem,) = parse_policy("project", "trotline.toml", text.encode())
    assert (policy.preset, dict(policy.levels), dict(policy.tab)) == (preset, {}, {})
    assert ((problem.place.line, problem.place.column), problem.code, problem.message) == (at, "TL258", expected_text)


@pytest.mark.parametrize("layer", ["enterprise", "team", "user", "project"])
def test_a_policy_over_a_megabyte_is_refused_and_not_read_in_part(layer: str, tmp_path: Path) -> None:
    roots = Roots(home=tmp_path / "home", system=tmp_path / "system", projects=(tmp_path / "home" / "project",))
    directories = {
        "enterprise": roots.managed_config,
        "team": roots.state / "team",
        "user": roots.config,
        "project": roots.projects[0] / ".trotline",
    }
    file = directories[layer] / "trotline.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"#" * MAX_FILE_BYTES + b"\n[guards]\ndeletion = 'deny'\n")
    policies = read_policies(roots, roots.projects)
    assert [(problem.code, problem.place.file) for problem in policies.problems] == [("TL108", str(file))]
    assert (policies.policy.preset, policies.files) == (FALLBACK_PRESET, (str(file),))


def test_a_file_over_a_megabyte_is_refused_in_every_layer() -> None:
    policy, (problem,) = parse_policy("user", "trotline.toml", b"#" * MAX_FILE_BYTES + b"\npreset = 'standard'")
    assert (policy.preset, problem.code) == (FALLBACK_PRESET, "TL108")
