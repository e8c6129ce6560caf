"""Effects of git commands."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_rows
from trotline.analysis.analyze import analyze_command
from trotline.analysis.git.git import VERBS
from trotline.analysis.git.git_command import parse_git_options, parse_option_spec
from trotline.analysis.git.git_config import get_remote_host, get_setting_command
from trotline.analysis.shell.shell_state import Argument, Environment
from trotline.domain.effects import Effect

ENVIRONMENT = Environment("/home/dev/app", ("/home/dev/app",), "/home/dev", "dev")


def list_effects(line: str) -> tuple[Effect, ...]:
    return analyze_command(line, ENVIRONMENT).effects


def list_git_effects(line: str) -> list[str]:
    """Return verb and source of the effects on the repository."""
    return [f"{e.verb} {e.source}".strip() for e in list_effects(line) if e.kind == "git"]


@pytest.mark.parametrize("line, expected", read_rows("git_analysis", "effects_on_uncommitted_work"))
def test_effects_on_uncommitted_work(line: str, expected: list[str]) -> None:
    assert list_git_effects(line) == expected


@pytest.mark.parametrize("line, expected", read_rows("git_analysis", "effects_on_history"))
def test_effects_on_history(line: str, expected: list[str]) -> None:
    assert list_git_effects(line) == expected


@pytest.mark.parametrize("line, expected", read_rows("git_analysis", "effects_on_remotes"))
def test_effects_on_remotes(line: str, expected: list[str]) -> None:
    assert list_git_effects(line) == expected


@pytest.mark.parametrize("line", read_rows("git_analysis", "commands_that_git_runs_are_analyzed"))
def test_commands_that_git_runs_are_analyzed(line: str) -> None:
    assert any(e.kind == "delete" and e.path == "/home/dev" for e in list_effects(line))


@pytest.mark.parametrize("line", read_rows("git_analysis", "commands_that_git_does_not_run_are_ignored"))
def test_commands_that_git_does_not_run_are_ignored(line: str) -> None:
    assert not [e for e in list_effects(line) if e.kind == "delete"]


def test_files_in_history_are_reads() -> None:
    for line in ("git show HEAD~2:.env", "git cat-file -p main:.env", "git diff -- .env", "git log -p -- .env"):
        assert [(e.kind, e.path) for e in list_effects(line)] == [("read", "/home/dev/app/.env")], line
    assert list_effects("git log --oneline -- .env") == ()
    assert list_effects("git show HEAD") == ()


def test_files_that_git_writes_are_writes() -> None:
    def written(line: str) -> list[str]:
        return [e.path for e in list_effects(line) if e.kind == "write"]

    assert written("git checkout next -- .cursor") == ["/home/dev/app/.cursor"]
    assert written("git show --output=/home/dev/.bashrc HEAD") == ["/home/dev/.bashrc"]
    assert written("git -C sub archive -o ../a.tar HEAD") == ["/home/dev/app/a.tar"]
    patch = "cat > p <<'X'\n--- a/x\n+++ b/.cursor/hooks.json\nX\ngit apply p"
    assert written(patch)[-1] == "/home/dev/app/.cursor/hooks.json"


def test_clean_in_another_directory_deletes_there() -> None:
    for line in ("git -C ~ clean -fdx", "git clean -fdx ~", "cd ~ && git clean -xdf", "git --work-tree ~ clean -f"):
        assert "/home/dev/…" in [e.path for e in list_effects(line) if e.kind == "delete"], line


def test_rev_parse_prints_the_repository_root() -> None:
    parsed = list_effects('cd lib && rm -rf "$(git rev-parse --show-toplevel)"')
    assert [(e.kind, e.path) for e in parsed] == [("delete", "/home/dev/app")]


def test_push_to_a_url_sends_to_its_host() -> None:
    sent = [(e.verb, e.host) for e in list_effects("git push dev@other.example:a.git main") if e.kind == "send"]
    assert sent == [("git push", "other.example")]
    assert not [e for e in list_effects("git push ../backup.git") if e.kind == "send"]


@pytest.mark.parametrize("key, value, command", read_rows("git_analysis", "settings_that_run_commands"))
def test_settings_that_run_commands(key: str, value: str, command: str) -> None:
    assert get_setting_command(key, value) == command


def test_hosts_of_remote_addresses() -> None:
    assert get_remote_host("https://dev:secret@git.example:8443/a.git") == "git.example"
    assert get_remote_host("git@git.example:a/b.git") == "git.example"
    assert get_remote_host("ssh://git@git.example/a") == "git.example"
    assert get_remote_host("../other") == get_remote_host("file:///srv/a.git") == get_remote_host("origin") == ""


LONG_OPTIONS = sorted(
    {(verb, name) for verb, row in VERBS.items() for name in parse_option_spec(row.spec) if len(name) > 3}
)


@given(st.sampled_from(LONG_OPTIONS), st.data())
def test_abbreviated_option_is_resolved(option: tuple[str, str], data: st.DataObject) -> None:
    verb, name = option
    short = name[: data.draw(st.integers(3, len(name)))]
    parsed = parse_git_options([Argument(f"--{short}")], VERBS[verb].spec)
    options = parse_option_spec(VERBS[verb].spec)
    expected = {row.name for known, row in options.items() if known.startswith(short)}
    assert set(parsed.flags) <= expected
    if short in options:
        assert set(parsed.flags) == {options[short].name}


@given(
    st.lists(st.sampled_from(["-f", "--force", "--no-force", "--", "-x", "a", "-e", "--exclude=b", "-"]), max_size=8)
)
def test_every_word_is_an_option_a_value_or_an_argument(given_words: list[str]) -> None:
    parsed = parse_git_options([Argument(text) for text in given_words], VERBS["clean"].spec)
    if "--" in given_words and parsed.has_separator:
        after = given_words[given_words.index("--", len(given_words) - len(parsed.paths) - 1) + 1 :]
        assert [word.text for word in parsed.paths] == after
    assert not {word.text for word in parsed.rest} & {"-f", "--force", "--no-force", "-x"}


LINES = tuple(read_rows("git_analysis", "lines"))


def test_docs_list_the_verbs_for_rules() -> None:
    page = (Path(__file__).parents[1] / "docs" / "policy.md").read_text("utf-8")
    table = page.partition("### Git effects")[2].partition("\n\nEach pushed ref")[0]
    documented = {
        verb for row in table.splitlines() if row.startswith("| `") for verb in row.split("|")[1].split("`")[1::2]
    }
    assert documented == {effect.verb for line in LINES for effect in list_effects(line) if effect.kind == "git"}
