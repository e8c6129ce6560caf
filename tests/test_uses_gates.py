"""Recipes that gate commands, files and prompts, in an engine and under Cursor."""

from pathlib import Path
from typing import Any

import pytest

from kit import fill_in, read_corpus
from secret_samples import SECRET_TEMPLATES, fill_template
from uses import EXAMPLES, Use

SHELL = "beforeShellExecution"
CARD = "4539 1488 0343 " + "6467"
ANN = "ann@" + "harbour-books.com"
KEY = fill_template(SECRET_TEMPLATES["aws-access-key-id"])
HOLDS_A_KEY = f"aws_access_key_id = {KEY}\n"

CASES: dict[str, list[tuple[str, str, dict[str, Any]]]] = fill_in(
    read_corpus("uses_gates")["cases"], card=CARD, key=KEY, mail=ANN
)
ROWS = [(use, *row) for use, rows in CASES.items() for row in rows]


@pytest.mark.parametrize("use,wanted,event,fields", ROWS, ids=lambda value: str(value)[:50])
def test_a_recipe_has_the_same_verdict_in_an_engine_and_under_cursor(
    use: str, wanted: str, event: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    """Cursor gets a deny where it cannot ask."""
    words = wanted.split()
    assert Use(use, tmp_path).both(event, **fields) == (words[0], words[-1])


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/trotline.toml")), ids=lambda file: file.parent.name)
def test_the_policy_of_every_use_is_understood_and_keeps_its_tests(file: Path, tmp_path: Path) -> None:
    use = Use(file.parent.name, tmp_path)
    code, output = use.trotline("check", "--test")
    assert (code, "0 failed" in output) == (0, True), output


def test_the_hook_with_a_matcher_asks_about_its_text_and_the_rule_about_what_runs(tmp_path: Path) -> None:
    use = Use("network-approval", tmp_path)
    (use.config / "trotline.toml").rename(use.config / "policy.later")
    outcome = use.engine(SHELL, command="curl -s example.org")
    assert (outcome.is_asked, outcome.user_message) == (True, "This command reaches the network. Let it?")
    assert use.engine(SHELL, command="echo curl").is_asked
    assert not use.engine(SHELL, command="w''get example.org").is_asked
    (use.config / "policy.later").rename(use.config / "trotline.toml")
    (use.home / ".cursor" / "hooks.json").unlink()
    assert not use.engine(SHELL, command="echo curl").is_asked
    assert use.engine(SHELL, command="w''get example.org").is_asked


def test_the_agent_and_the_user_get_different_messages(tmp_path: Path) -> None:
    use = Use("keep-secrets", tmp_path)
    named = use.cursor("beforeReadFile", file_path="/srv/shop/.env", content="DEBUG=1")
    assert "ask for a copy in which the values are redacted" in named.body["user_message"]
    found = use.cursor("beforeReadFile", file_path="/srv/shop/settings.ini", content=HOLDS_A_KEY)
    assert "aws-access-key-id" in found.body["user_message"]
    assert KEY not in str(found)


def test_an_address_in_a_prompt_is_warned_about_and_passes(tmp_path: Path) -> None:
    reply = Use("prompt-dlp", tmp_path).cursor("beforeSubmitPrompt", prompt=f"Ask {ANN} about the rounding.")
    assert reply.permission == "allow"
    assert "the prompt holds an address of somebody" in reply.log_output
