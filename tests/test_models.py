"""models.json: who answers prompt hooks; said by the person, above them by the machine's owner, never by a project."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.config.models import Cache, is_loopback, read_models
from trotline.config.problems import CODES
from trotline.config.settings import read_settings
from worlds import file_contents, marked_place, new_world, patient, said, trotline_process, unmarked

MINE = "home/.config/trotline/models.json"
MANAGED = "system/etc/trotline/models.json"
LOCAL = {"speaks": "ollama", "model": "small"}


def one(text: str) -> str:
    """A file with one provider."""
    return f'{{"providers": {{"p": {{{text}}}}}}}'


BAD = {
    "no protocol": ("TL252", '{"providers": {"p": ‸{"model": "m"}}}'),
    "a protocol nobody speaks": ("TL252", one('"model": "m", "speaks": ‸"grpc"')),
    "no model": ("TL252", '{"providers": {"p": ‸{"speaks": "openai"}}}'),
    "an address that is none": ("TL252", one('"speaks": "openai", "model": "m", "url": ‸"ftp://x"')),
    "an address without a host": ("TL252", one('"speaks": "openai", "model": "m", "url": ‸"https://"')),
    "two ways to a key": (
        "TL252",
        '{"providers": {"p": ‸{"speaks": "openai", "model": "m", "key_env": "K", "key_command": ["k"]}}}',
    ),
    "a key": ("TL253", one('"speaks": "openai", "model": "m", ‸"api_key": "sk-1"')),
    "a key in the address": ("TL253", one('"speaks": "openai", "model": "m", "url": ‸"https://me:pw@example.test"')),
    "a key on an open line": (
        "TL254",
        one('"speaks": "openai", "model": "m", "key_env": "K", "url": ‸"http://example.test/v1"'),
    ),
    "a default that is no provider": ("TL255", '{"providers": {}, "default": ‸"fast"}'),
    "a name for no provider": ("TL255", '{"providers": {}, "names": {"gpt": ‸"fast"}}'),
    "a list": ("TL251", "‸[]"),
    "providers in a list": ("TL251", '{"providers": ‸[]}'),
    "a provider that is a word": ("TL251", '{"providers": {"p": ‸"openai"}}'),
    "an unknown key": ("TL251", '{‸"provider": {}}'),
    "an unknown key of a provider": ("TL251", one('"speaks": "openai", "model": "m", ‸"temperature": 0')),
    "a command for a shell": ("TL251", one('"speaks": "openai", "model": "m", "key_command": ‸"pass show k"')),
    "a model that is a number": ("TL251", one('"speaks": "ollama", "model": ‸5')),
    "a cache that is a number": ("TL251", '{"cache": ‸300}'),
    "text that is no JSON": ("TL101", '{"providers": ‸'),
}


@pytest.mark.parametrize("code,text", BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_said_at_its_place(code: str, text: str, tmp_path: Path) -> None:
    world = new_world(tmp_path)
    world.write(MINE, text)
    models = read_models(world.roots())
    found = said(models.problems)
    assert (code, *marked_place(text)) in found or code == "TL101"
    assert found[0][0] == code
    assert models.providers == {}
    assert all(problem.message and problem.place.file == str(tmp_path / MINE) for problem in models.problems)


def test_every_code_of_models_is_shown() -> None:
    shown = {code for code, _ in BAD.values()} | {code for _, problems in SETTINGS.values() for code, _, _ in problems}
    assert {code for code in CODES if "TL251" <= code <= "TL256"} <= shown


def test_addresses_comments_and_trailing_commas_are_fine_in_a_file_of_our_own(tmp_path: Path) -> None:
    world = new_world(tmp_path)
    world.write(
        MINE, '{"providers": {"p": {"speaks": "openai", "url": "https://example.test/v1", "model": "m",}}} // ok'
    )
    models = read_models(world.roots())
    assert models.problems == []
    assert models.providers["p"].url == "https://example.test/v1"


def _models(tmp_path: Path, mine: dict[str, Any], managed: dict[str, Any] | None = None) -> Any:
    world = new_world(tmp_path)
    world.write(MINE, json.dumps(mine))
    if managed:
        world.write(MANAGED, json.dumps(managed))
    return read_models(world.roots())


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
            "providers": {"fast": LOCAL, "best": {"speaks": "anthropic", "model": "large", "key_env": "K"}},
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


def test_the_owner_of_the_machine_has_the_last_word(tmp_path: Path) -> None:
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
def test_a_project_cannot_choose_who_is_asked(place: str, tmp_path: Path) -> None:
    world = new_world(tmp_path)
    world.write(f"project/{place}/models.json", json.dumps({"providers": {"p": LOCAL}}))
    assert read_models(world.roots()).choose(None) is None


def test_a_file_that_is_a_directory_or_writable_by_others_is_said(tmp_path: Path) -> None:
    world = new_world(tmp_path)
    (tmp_path / MANAGED).mkdir(parents=True)
    world.write(MINE, json.dumps({"providers": {"p": LOCAL}}), mode=0o666)
    models = read_models(world.roots())
    assert said(models.problems) == [("TL109", 0, 0), ("TL504", 1, 1)]
    assert list(models.void) == [str(tmp_path / MANAGED)]
    assert models.choose(None) is not None


@pytest.mark.parametrize(
    "host,own",
    [("localhost", True), ("127.8.8.8", True), ("::1", True), ("10.0.0.1", False), ("localhost.example", False)],
)
def test_only_this_machine_itself_is_this_machine(host: str, own: bool) -> None:
    assert is_loopback(host) is own


@patient
@given(data=file_contents | st.text(max_size=200).map(str.encode))
def test_no_content_makes_reading_fail(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    world = new_world(tmp_path_factory.mktemp("models"))
    world.write(MINE, data)
    models = read_models(world.roots())
    assert models.files == (str(world.path / MINE),)
    assert all(problem.code in CODES for problem in models.problems)


def test_check_shows_the_models_file_and_which_hook_nobody_answers(tmp_path: Path) -> None:
    world = new_world(tmp_path)
    world.write("user", '{"version": 1, "hooks": {"stop": [{"type": "prompt", "prompt": "done?"}]}}')
    world.write(MINE, unmarked(BAD["a key"][1]))
    done = trotline_process("check", *world.options, cwd=tmp_path)
    assert done.returncode == 1
    assert "warning TL411 1:35  no model is configured that would answer this prompt hook" in done.stdout
    assert "models.json  (models for prompt hooks)" in done.stdout
    assert "  `api_key`: keys do not belong into files" in done.stdout
    answer = json.loads(trotline_process("check", "--json", *world.options, cwd=tmp_path).stdout)
    assert answer["data"]["models"] == {"files": [str(tmp_path / MINE)], "providers": []}


def test_show_says_who_answers_a_prompt_hook(tmp_path: Path) -> None:
    world = new_world(tmp_path)
    world.write("user", '{"version": 1, "hooks": {"stop": [{"type": "prompt", "prompt": "done?", "model": "m7"}]}}')
    assert "nobody answers it" in trotline_process("show", *world.options, cwd=tmp_path).stdout
    world.write(MINE, json.dumps({"providers": {"p": LOCAL}}))
    assert "asks m7 of p" in trotline_process("show", *world.options, cwd=tmp_path).stdout
    rows = json.loads(trotline_process("show", "--json", *world.options, cwd=tmp_path).stdout)["data"]["hooks"]
    assert rows[0]["model"] == "p: m7"


SETTINGS = {
    '{"ask_fallback": "ask"}': ("ask", []),
    '{"ask_fallback": "deny"}': ("deny", []),
    '{"ask_fallback": "perhaps"}': ("deny", [("TL256", 1, 18)]),
    '{"ask_fallback": true}': ("deny", [("TL256", 1, 18)]),
    '{"fallback": "ask"}': ("deny", [("TL256", 1, 2)]),
    "[]": ("deny", [("TL256", 1, 1)]),
    "{": ("deny", [("TL101", 1, 2)]),
}


@pytest.mark.parametrize("text,value,problems", [(text, *seen) for text, seen in SETTINGS.items()])
def test_a_setting_without_a_meaning_is_said_and_the_stricter_is_in_force(
    text: str, value: str, problems: list[tuple[str, int, int]], tmp_path: Path
) -> None:
    world = new_world(tmp_path)
    world.write("home/.config/trotline/settings.json", text)
    settings = read_settings(world.roots())
    assert (settings.ask_fallback, said(settings.problems)) == (value, problems)
    assert ("settings.json  (settings)" in trotline_process("check", *world.options, cwd=tmp_path).stdout) is True


def test_the_machine_has_the_last_word_about_settings_too(tmp_path: Path) -> None:
    world = new_world(tmp_path)
    world.write("home/.config/trotline/settings.json", '{"ask_fallback": "ask"}')
    world.write("system/etc/trotline/settings.json", '{"ask_fallback": "deny"}')
    assert read_settings(world.roots()).ask_fallback == "deny"


DOCUMENT = Path(__file__).parent.parent / "docs" / "prompt-hooks.md"


def test_the_files_in_the_document_are_as_they_should_be(tmp_path: Path) -> None:
    hooks, models = re.findall(r"^```json\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    world = new_world(tmp_path)
    world.write("user", hooks)
    world.write(MINE, models)
    configuration = world.load()
    assert configuration.problems == []
    assert [configuration.models.choose(hook.model) is not None for hook in configuration.hooks] == [True, True]
