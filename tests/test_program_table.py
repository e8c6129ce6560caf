"""Cases for the rows of program tables, and what must hold for every row."""

import json
from functools import partial

import pytest

import generate
from kit import read_rows
from trotline.analysis import programs
from trotline.analysis.analyze import analyze_command
from trotline.analysis.programs import FAMILIES_FILE, phrases, program_table, wrappers
from trotline.analysis.programs.agents import AGENTS
from trotline.analysis.programs.phrases import Act, Phrase, ProgramRow, parse_phrases
from trotline.analysis.programs.program_table import ROWS
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import evaluate
from trotline.policy.policy import Policy

ENVIRONMENT = Environment("/home/me/work", ("/home/me/work",), "/home/me", "me")


def found(line: str) -> list[tuple[str, str, str]]:
    """Return kind, verb and object of each effect."""
    return [(e.kind, e.verb, e.path or e.target) for e in analyze_command(line, ENVIRONMENT).effects]


@pytest.mark.parametrize("line, expected", read_rows("program_table", "a_row_names_the_effect", as_tuples=True))
def test_a_row_names_the_effect(line: str, expected: tuple[str, str, str]) -> None:
    assert expected in found(line)


@pytest.mark.parametrize(
    "line",
    ["ufw status", "dscl . -read /Users/me", "pm2 list", "init q", "bw sync", "incus list", "lxc info web", "arp -a"],
)
def test_words_outside_the_row_have_no_effect(line: str) -> None:
    assert found(line) == []


def write_line(program: str, phrase: Phrase, valued: str) -> str:
    """Return a command line that fits the phrase."""
    words = [program, *(words[0].replace("*", "x") for words in phrase.words)]
    for option in phrase.options:
        dash = "-" if len(option.names[0]) == 1 else "--"
        words += [f"{dash}{option.names[0]}", *(option.values[:1] or ["1"] * (option.names[0] in valued.split()))]
    return " ".join(words)


@pytest.mark.parametrize("name, row", [*ROWS.items(), *AGENTS.items()])
def test_every_phrase_of_a_row_causes_its_effect(name: str, row: ProgramRow) -> None:
    for act in row.acts:
        for phrase in parse_phrases(act.when) or [Phrase((), (), (), False)]:
            assert has_effect(write_line(name, phrase, row.valued), act), phrase


def has_effect(line: str, act: Act) -> bool:
    return tuple(act.effect.split(": ")) in [effect[:2] for effect in found(line)]


def test_row_of_a_program_can_delete_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    row = phrases.program(Act("delete: wipeall", objects=phrases.PATH, recursive=True))
    monkeypatch.setitem(programs._get_families(), "wipeall", "programs.program_table")
    monkeypatch.setitem(program_table.PROGRAMS, "wipeall", partial(phrases.analyze_program, row=row))
    effects = analyze_command("wipeall ~", ENVIRONMENT).effects
    assert evaluate(effects, ENVIRONMENT, Policy("standard")).permission is Permission.DENY


@pytest.mark.parametrize("name", sorted(set(wrappers.WRAPPERS) - {"cargo-watch", "runuser"}))
def test_every_wrapper_runs_the_wrapped_program(name: str) -> None:
    row = wrappers.WRAPPERS[name]
    own = [*row.verbs.split()[:1], *["1"] * row.skips]
    if row.bare:
        line = [name, *own, "rm -rf /"]
    elif row.separators:
        line = [name, *own, row.separators.split()[-1], "rm -rf /"]
    else:
        dash = "-" if len(row.scripts.split()[0]) == 1 else "--"
        line = [name, f"{dash}{row.scripts.split()[0]}", "'rm -rf /'"]
    if row.form == wrappers.LINES:
        line[-1] = "'rm -rf /'"
    assert ("delete", "rm", "/") in found(" ".join(line))


def test_no_program_belongs_to_two_families() -> None:
    families = json.loads(FAMILIES_FILE.read_text("utf-8"))
    programs = [program for names in families.values() for program in names.split()]
    assert sorted(programs) == sorted(set(programs))
    assert sorted(programs) == sorted(name for names in generate.find_families().values() for name in names)


def test_the_generator_fails_on_a_program_in_two_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wrappers.PROGRAMS, "docker", wrappers.PROGRAMS["sudo"])
    with pytest.raises(SystemExit, match=r"docker is in two families: programs\.containers and programs\.wrappers"):
        generate.find_families()
