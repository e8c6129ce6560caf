"""What a host calls things by, as records keep it: short, clean, and the same for the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted import KINDS, made
from trotline import Engine
from trotline.audit.names import Names
from trotline.audit.records import LONGEST_NAME, PLAIN
from trotline.config.places import Roots
from trotline.outcomes import Call
from trotline.program import answered
from trotline.scanners.redaction import redacted
from worlds import World, new_world, trotline_process

TOKEN = made("ghp_{crc*36}")
LEAKY = "MCP:https://me:hunter2hunter2@example.org/x"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def kept(world: World, **fields: Any) -> tuple[str, dict[str, Any]]:
    """The spool as it is on the disk after this call, and its last record."""
    body = {"hook_event_name": "postToolUse", "tool_name": "Shell", "tool_input": {}, "tool_output": "", **fields}
    argv = ("--host", "cursor", "--event", str(body["hook_event_name"]), "--home", str(world.home))
    answered(Call(id="i", argv=argv, payload=json.dumps(body).encode(), received_us=5), [], guarded=True)
    text = (world.roots().state / "spool" / "spool.log").read_text()
    return text, json.loads(text.splitlines()[-1].partition(" ")[2])


@pytest.mark.parametrize("field", ["tool_name", "conversation_id", "generation_id"])
@pytest.mark.parametrize("name", [LEAKY, f"a-{TOKEN}", LEAKY + "x" * 3_000_000])
def test_a_record_is_small_and_clean_whatever_a_host_calls_things_by(world: World, field: str, name: str) -> None:
    text, _ = kept(world, **{field: name})
    assert "hunter2" not in text
    assert TOKEN not in text
    assert len(text) < 2_000


def test_an_event_that_nobody_knows_has_a_clean_name_too(world: World) -> None:
    text, record = kept(world, hook_event_name=f"on {TOKEN}")
    assert TOKEN not in text
    assert record["event"].startswith("on [redacted ")


def test_the_hosts_seat_keeps_names_the_same_way(world: World) -> None:
    engine = Engine.load(project=world.project, home=world.home, system=world.system, trail=True)
    with engine.session(conversation_id=LEAKY):
        pass
    first, *_ = (world.roots().state / "spool" / "spool.log").read_text().splitlines()[1:]
    assert "hunter2" not in first
    assert json.loads(first.partition(" ")[2])["conversation"] == kept(world, conversation_id=LEAKY)[1]["conversation"]


def test_an_ordinary_name_stays_as_it_is(world: World) -> None:
    names = {
        "conversation_id": "0b6f7c1e-5d0a-4c7e-9a51-2f1f6f2f7d11",
        "generation_id": "ses_4f1aX9",
        "tool_name": "Read",
    }
    record = kept(world, **names)[1]
    assert [record[name] for name in ("conversation", "generation", "tool")] == list(names.values())


@given(st.from_regex(PLAIN.pattern, fullmatch=True))
def test_in_a_plain_name_nothing_is_found(name: str) -> None:
    assert redacted(name, b"k" * 32)[0] == name


@given(name=st.text(max_size=400) | st.sampled_from([LEAKY, TOKEN, "é" * 257]))
def test_a_kept_name_is_short_and_stays_as_it_is(names: Names, name: str) -> None:
    once = names.kept(name)
    assert len(once) <= LONGEST_NAME
    assert names.kept(once) == once


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    world = new_world(tmp_path_factory.mktemp("names"))
    return Names(world.roots())


def test_two_long_names_are_two(names: Names) -> None:
    assert names.kept("x" * 300) == names.kept("x" * 300) != names.kept("x" * 299 + "y")


def test_without_a_key_a_name_is_counted_and_no_reason_to_refuse(world: World) -> None:
    roots: Roots = world.roots()
    roots.state.mkdir(parents=True)
    (roots.state / "key").mkdir()
    assert Names(roots).kept(LEAKY) == f"[{len(LEAKY)} characters]"


@pytest.mark.parametrize("name", [LEAKY, "x" * 300])
def test_a_conversation_is_found_and_forgotten_by_the_name_that_its_host_gave(world: World, name: str) -> None:
    kept(world, conversation_id=name)
    options = (*world.options, "--conversation", name)
    assert trotline_process("log", "--count", *options, cwd=world.project).stdout == "1\n"
    assert trotline_process("log", "forget", *options, cwd=world.project).stdout == "1 record forgotten\n"


def test_what_is_made_of_words_is_what_no_rule_of_ours_finds() -> None:
    found = [
        token
        for template in KINDS.values()
        for seed in range(300)
        if PLAIN.fullmatch(token := made(template, seed)) and redacted(token, b"key")[1]
    ]
    assert found == []


@pytest.mark.parametrize("field", ["tool_name", "conversation_id", "generation_id"])
def test_rules_of_ones_own_count_for_names_as_well(world: World, field: str) -> None:
    file = world.roots().config / "secrets.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[[rules]]\nid = 'acme'\ndescription = 'x'\nregex = '(acme_[a-z]{8,30})'\nkeywords = ['acme_']\n")
    text, record = kept(world, **{field: "acme_qwertzuiop"})
    assert "acme_q" not in text
    assert "[redacted acme " in json.dumps(record)
