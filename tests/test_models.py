"""The [models] table: providers of prompt hooks, set by the user or the machine, never by a project."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import (
    Workspace,
    convert_lists,
    find_mark,
    format_toml,
    locate_problems,
    make_workspace,
    read_corpus,
    remove_mark,
    run_trotline,
)
from strategies import file_contents
from trotline.config.models import Cache, is_loopback, read_models
from trotline.config.problems import load_codes
from trotline.config.settings import read_settings

MINE = "home/.config/trotline/trotline.toml"
MANAGED = "system/etc/trotline/trotline.toml"
LOCAL = {"protocol": "ollama", "model": "small"}


def one(text: str) -> str:
    """Build a file with one provider."""
    return f"[models.providers.p]\n{text}\n"


BAD = read_corpus("models")["invalid"]


@pytest.mark.parametrize("code,text", BAD.values(), ids=BAD)
def test_an_invalid_entry_is_reported_at_its_place(code: str, text: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write(MINE, text)
    models = read_models(workspace.roots())
    found = locate_problems(models.problems)
    assert (code, *find_mark(text)) in found or code == "TL256"
    assert found[0][0] == code
    assert models.providers == {}
    assert all(problem.message and problem.place.file == str(tmp_path / MINE) for problem in models.problems)


def test_every_code_of_models_is_shown() -> None:
    shown = {code for code, _ in BAD.values()} | {code for _, problems in SETTINGS.values() for code, _, _ in problems}
    assert {code for code in load_codes() if "TL251" <= code <= "TL256"} <= shown


def _models(tmp_path: Path, mine: dict[str, Any], managed: dict[str, Any] | None = None) -> Any:
    workspace = make_workspace(tmp_path)
    workspace.write(MINE, format_toml({"models": mine}))
    if managed:
        workspace.write(MANAGED, format_toml({"models": managed}))
    return read_models(workspace.roots())


CHOICES = [
    (None, ("fast", "small")),
    ("fast", ("fast", "small")),
    ("best", ("best", "large")),
    ("claude-opus", ("best", "large")),
    ("something-else", ("fast", "something-else")),
]


@pytest.mark.parametrize("wanted,answered", CHOICES)
def test_a_hook_is_answered_by_the_provider_its_model_names_or_by_the_default(
    wanted: str | None, answered: tuple[str, str], tmp_path: Path
) -> None:
    models = _models(
        tmp_path,
        {
            "default": "fast",
            "providers": {"fast": LOCAL, "best": {"protocol": "anthropic", "model": "large", "key_env": "K"}},
            "names": {"claude-opus": "best"},
        },
    )
    chosen = models.choose(wanted)
    assert (chosen.provider.name, chosen.model) == answered


def test_the_only_provider_is_the_default_and_of_two_one_must_be_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert _models(tmp_path / "a", {"providers": {"p": LOCAL}}).choose(None) is not None
    assert _models(tmp_path / "b", {"providers": {"p": LOCAL, "q": LOCAL}}).choose(None) is None


def test_machine_providers_take_precedence(tmp_path: Path) -> None:
    models = _models(
        tmp_path,
        mine={
            "providers": {"fast": {**LOCAL, "url": "http://127.0.0.1:1"}, "own": LOCAL},
            "default": "own",
            "cache": {"seconds": 60, "entries": 3},
            "names": {"x": "own"},
        },
        managed={
            "providers": {"fast": {**LOCAL, "url": "http://127.0.0.1:2"}},
            "default": "fast",
            "names": {"x": "fast"},
        },
    )
    assert models.providers["fast"].url == "http://127.0.0.1:2"
    assert (models.default, models.names["x"], sorted(models.providers)) == ("fast", "fast", ["fast", "own"])
    assert models.cache == Cache(60, 3)
    assert models.files == (str(tmp_path / MANAGED), str(tmp_path / MINE))


@pytest.mark.parametrize("place", [".trotline", ".cursor", ".config/trotline"])
def test_a_project_cannot_choose_the_model(place: str, workspace: Workspace) -> None:
    workspace.write(f"project/{place}/trotline.toml", format_toml({"models": {"providers": {"p": LOCAL}}}))
    assert read_models(workspace.roots()).choose(None) is None


def test_a_directory_or_a_file_that_others_can_write_is_a_problem(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / MANAGED).mkdir(parents=True)
    workspace.write(MINE, format_toml({"models": {"providers": {"p": LOCAL}}}), mode=0o666)
    models = read_models(workspace.roots())
    assert locate_problems(models.problems) == [("TL109", 0, 0), ("TL504", 1, 1)]
    assert list(models.broken) == [str(tmp_path / MANAGED)]
    assert models.choose(None) is not None


@pytest.mark.parametrize(
    "host,own",
    [("localhost", True), ("127.8.8.8", True), ("::1", True), ("10.0.0.1", False), ("localhost.example", False)],
)
def test_only_this_machine_itself_is_this_machine(host: str, own: bool) -> None:
    assert is_loopback(host) is own


@given(data=file_contents | st.text(max_size=200).map(str.encode))
def test_no_content_makes_reading_fail(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    workspace = make_workspace(tmp_path_factory.mktemp("models"))
    workspace.write(MINE, data)
    models = read_models(workspace.roots())
    assert models.files == (str(workspace.path / MINE),)
    assert all(problem.code in load_codes() for problem in models.problems)


def test_check_shows_the_models_and_hooks_without_a_provider(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", '{"version": 1, "hooks": {"stop": [{"type": "prompt", "prompt": "done?"}]}}')
    workspace.write(MINE, remove_mark(BAD["a key"][1]))
    done = run_trotline("check", *workspace.options, cwd=tmp_path)
    assert done.returncode == 1
    assert "warning TL411 1:35  no model is configured that would answer this prompt hook" in done.stdout
    assert "trotline.toml  (configuration)" in done.stdout
    assert "  `api_key`: keys do not belong into files" in done.stdout
    answer = json.loads(run_trotline("check", "--json", *workspace.options, cwd=tmp_path).stdout)
    assert (answer["data"]["config_files"], answer["data"]["providers"]) == ([str(tmp_path / MINE)], [])


def test_show_names_the_model_of_a_prompt_hook(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("user", '{"version": 1, "hooks": {"stop": [{"type": "prompt", "prompt": "done?", "model": "m7"}]}}')
    assert "nobody answers it" in run_trotline("show", *workspace.options, cwd=tmp_path).stdout
    workspace.write(MINE, format_toml({"models": {"providers": {"p": LOCAL}}}))
    assert "asks m7 of p" in run_trotline("show", *workspace.options, cwd=tmp_path).stdout
    rows = json.loads(run_trotline("show", "--json", *workspace.options, cwd=tmp_path).stdout)["data"]["hooks"]
    assert rows[0]["model"] == "p: m7"


SETTINGS = convert_lists(read_corpus("models")["settings"])


@pytest.mark.parametrize("text,value,problems", [(text, *seen) for text, seen in SETTINGS.items()])
def test_an_invalid_setting_is_a_problem_and_the_stricter_value_applies(
    text: str, value: str, problems: tuple[tuple[str, int, int], ...], tmp_path: Path
) -> None:
    workspace = make_workspace(tmp_path)
    workspace.write("home/.config/trotline/trotline.toml", text)
    settings = read_settings(workspace.roots())
    assert (settings.ask_fallback, locate_problems(settings.problems)) == (value, list(problems))
    assert ("trotline.toml  (configuration)" in run_trotline("check", *workspace.options, cwd=tmp_path).stdout) is True


def test_machine_settings_take_precedence(workspace: Workspace) -> None:
    workspace.write("home/.config/trotline/trotline.toml", 'ask_fallback = "ask"')
    workspace.write("system/etc/trotline/trotline.toml", 'ask_fallback = "deny"')
    assert read_settings(workspace.roots()).ask_fallback == "deny"


DOCUMENT = Path(__file__).parent.parent / "docs" / "prompt-hooks.md"


def test_the_files_in_the_document_are_as_they_should_be(workspace: Workspace) -> None:
    hooks, models = re.findall(r"^```(?:json|toml)\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    workspace.write("user", hooks)
    workspace.write(MINE, models)
    configuration = workspace.load()
    assert configuration.problems == []
    assert [configuration.models.choose(hook.model) is not None for hook in configuration.hooks] == [True, True]
