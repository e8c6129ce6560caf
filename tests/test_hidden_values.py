"""Redaction finds values with escapes, colours, line prefixes or names around them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kit import read_corpus, read_rows
from secret_samples import SECRET_TEMPLATES, fill_template
from trotline.agents import AGENTS, get_agent
from trotline.audit.record.detail_policy import SEPARATORS
from trotline.scanners.redaction import redact, redact_tree
from trotline.scanners.scan import find_spans
from trotline.scanners.secret_rules import read_pack
from trotline.scanners.secrets import SecretScanner, get_builtin_scanner, load_builtin_pack

KEY = b"a key of the tests, 32 bytes long"
ESC = "\x1b"
TOKEN, PASSWORD = fill_template("ghp_{crc*36}"), "Tr0ub4dor-x9Kq2"
PRIVATE, PUTTY = (
    fill_template(SECRET_TEMPLATES["private-key"], 3),
    fill_template(SECRET_TEMPLATES["putty-private-key"], 3),
)

PREFIXES: dict[str, Callable[[int], str]] = {
    "a diff that removes": lambda _: "-",
    "a diff that adds": lambda _: "+",
    "a diff of three": lambda _: "--",
    "a diff in colours": lambda _: f"{ESC}[31m-{ESC}[m{ESC}[31m",
    "cat -n": lambda number: f"{number:6}\t",
    "grep -n": lambda number: f"{number}:",
    "grep -rn": lambda number: f"src/.ssh/id_rsa:{number}:",
    "grep -A": lambda number: f"id_rsa{':-'[number > 1]}{number}{':-'[number > 1]}",
    "a quotation": lambda _: "> ",
}


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("lines", [PRIVATE, PRIVATE.rpartition("\n")[0], PUTTY], ids=["whole", "no end", "putty"])
def test_private_key_with_line_prefixes_is_redacted(prefix: str, lines: str) -> None:
    key_lines = lines.rstrip("\n").split("\n")
    text = "\n".join(f"{PREFIXES[prefix](number)}{line}" for number, line in enumerate(key_lines, 1))
    clean, _ = redact(f"before\n{text}\nafter it, all is plain", KEY)
    assert [line for line in key_lines if len(line) >= 40 and line[:20] in clean] == []
    assert clean.startswith("before\n")
    assert clean.endswith("after it, all is plain")


def test_text_between_two_private_keys_is_not_redacted() -> None:
    clean, _ = redact(f"{PRIVATE}\nbetween them\n{PRIVATE}", KEY)
    assert "\nbetween them\n" in clean


@pytest.mark.parametrize("sign", ["", "-", "+", " "])
def test_lines_of_a_list_are_scanned_as_one_text(sign: str) -> None:
    lines = PRIVATE.split("\n")
    patch = {"lines": [f"{sign}{line}" for line in lines], "other": ["plain", "# -----BEGIN RSA PRIVATE KEY-----"]}
    clean, findings = redact_tree({"structuredPatch": [patch]}, KEY)
    assert not any(line in json.dumps(clean) for line in lines[1:4])
    assert [finding.kind for finding in findings] == ["private-key"]
    assert findings[0].where == "/structuredPatch/0/lines/0"
    assert clean["structuredPatch"][0]["other"] == patch["other"]
    assert redact_tree(clean, KEY) == (clean, [])


def test_private_key_in_two_edits_is_redacted() -> None:
    lines = PRIVATE.split("\n")
    edits = [{"new_string": "\n".join(lines[:2])}, {"new_string": "\n".join(lines[2:])}]
    clean, _ = redact_tree({"edits": edits}, KEY)
    assert not any(line in json.dumps(clean) for line in lines[1:4])


def test_single_lines_of_a_private_key_are_redacted_elsewhere() -> None:
    body = PRIVATE.split("\n")[2]
    clean, _ = redact_tree({"file": PRIVATE, "tail": f"it ends with {body}"}, KEY)
    assert clean["tail"].startswith("it ends with [redacted private-key ")


COLOURED = {
    "grep": f"config.py:3:TOKEN = '{ESC}[01;31m{ESC}[Kghp_{ESC}[m{ESC}[K{TOKEN[4:]}'",
    "rg": f"3:{ESC}[0m{ESC}[1m{ESC}[31mghp_{ESC}[0m{TOKEN[4:]}",
    "tput": f"{ESC}[1mToken:{ESC}[m{ESC}(B{TOKEN}",
    "a link": f"{ESC}]8;;https://acme.dev{ESC}\\{TOKEN[:9]}{ESC}[4m{TOKEN[9:]}{ESC}]8;;{ESC}\\",
    "colours with colons": f"{ESC}[38:2::255:0:0m{TOKEN[:6]}{ESC}[m{TOKEN[6:]}",
    "in JSON": json.dumps(f"a\n{ESC}[01;31m{ESC}[Kghp_{ESC}[m{ESC}[K{TOKEN[4:]}"),
    "UTF-16": TOKEN.encode("utf-16-le").decode(),
    "escapes of JSON": '{"a": "' + "".join(f"\\u{ord(letter):04x}" for letter in TOKEN) + '"}',
}


@pytest.mark.parametrize("where", COLOURED)
def test_terminal_sequences_do_not_hide_a_token(where: str) -> None:
    text = COLOURED[where]
    (span,) = find_spans(text, [get_builtin_scanner()])
    assert text.encode()[span.start : span.end] == span.value
    clean, findings = redact(text, KEY)
    assert [finding.kind for finding in findings] == ["github-personal-token"]
    assert TOKEN[4:14] not in clean.replace("\0", "")
    assert TOKEN[-6:] not in clean.replace("\0", "")
    assert "[redacted github-personal-token " in clean


@pytest.mark.parametrize(
    "text",
    [
        f'{{ {ESC}[0m{ESC}[34;1m"password"{ESC}[0m{ESC}[1;39m{ESC}[1;39m:{ESC}[0m {ESC}[0;32m"{PASSWORD}"{ESC}[0m\n}}',
        f"{ESC}[38;2;1;2;3mDB_PASSWORD{ESC}[0m{ESC}[38;2;4;5;6m={ESC}[0m{ESC}[38;2;7;8;9m{PASSWORD}{ESC}[0m",
    ],
    ids=["jq", "bat"],
)
def test_colours_between_name_and_value_do_not_hide_it(text: str) -> None:
    assert PASSWORD not in redact(text, KEY)[0]


def test_coloured_value_is_also_redacted_without_colour() -> None:
    clean, _ = redact_tree({"shown": COLOURED["grep"], "said": f"it is x{TOKEN}x"}, KEY)
    assert TOKEN not in json.dumps(clean)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [f"{ESC}[", f"{ESC}]8;", f"{ESC}[0m", "\0a", "\\u0041", "\\u001b[", "\n--", "%40a"])
def test_no_escape_is_slow(unit: str) -> None:
    assert redact(f"-----BEGIN PRIVATE KEY-----{unit * 60_000}", KEY)


NAMED_VALUES: dict[str, Any] = {
    "name and value": {"env": [{"name": "DB_PASSWORD", "value": PASSWORD}]},
    "a key above": {"password": {"value": PASSWORD}},
    "keys above": {"secrets": {"prod": {"db": fill_template("{62*24}")}}},
    "an option": ["app", "--password", PASSWORD],
    "sshpass": {"command": ["sshpass", "-p", PASSWORD, "ssh", "h"]},
    "curl": ["curl", "-u", f"deploy:{PASSWORD}", "https://acme.dev"],
    "mysql": ["mysql", "-u", "root", f"-p{PASSWORD}"],
    "a header": [["Authorization", f"Token {fill_template('{62*24}')}"]],
    "a cookie": {"headers": {"Cookie": f"session={fill_template('{62*24}')}"}},
}


@pytest.mark.parametrize("how", NAMED_VALUES)
def test_suspicious_name_near_a_value_marks_it(how: str) -> None:
    clean, findings = redact_tree(NAMED_VALUES[how], KEY)
    assert PASSWORD not in json.dumps(clean)
    assert fill_template("{62*24}") not in json.dumps(clean)
    assert len(findings) == 1
    assert redact_tree(clean, KEY) == (clean, [])


@pytest.mark.parametrize(
    "tree",
    read_corpus("hidden_values")["harmless_texts_near_a_suspicious_name_are_not_redacted"],
    ids=["a schema", "a tool", "numbers", "a command", "docker"],
)
def test_harmless_texts_near_a_suspicious_name_are_not_redacted(tree: Any) -> None:
    assert redact_tree(tree, KEY) == (tree, [])


@pytest.mark.parametrize(
    "text",
    read_rows("hidden_values", "passwords_in_options_and_urls_are_found"),
)
def test_passwords_in_options_and_urls_are_found(text: str) -> None:
    for seed in range(20):
        assert list(find_spans(fill_template(text, seed), [get_builtin_scanner()])), fill_template(text, seed)


@pytest.mark.parametrize(
    "text",
    read_rows("hidden_values", "email_address_is_found_in_paths_and_urls"),
)
def test_email_address_is_found_in_paths_and_urls(text: str) -> None:
    assert "alice" not in redact(text, KEY)[0]


@pytest.mark.parametrize(
    "text",
    read_rows("hidden_values", "logins_are_not_email_addresses"),
)
def test_logins_are_not_email_addresses(text: str) -> None:
    assert redact(text, KEY) == (text, [])


def test_builtin_stopwords_do_not_apply_to_user_rules() -> None:
    user_rules, _ = read_pack("[[rules]]\nid = 'cust'\nregex = 'CUST-[0-9]{10}'\nkeywords = ['cust-']\n")
    allowed, _ = read_pack("[allowlist]\nstopwords = ['4471', 'akia']\n")
    both, three = (
        (SecretScanner([load_builtin_pack(), user_rules]),),
        (SecretScanner([load_builtin_pack(), user_rules, allowed]),),
    )
    for value in ("CUST-1234567890", "CUST-9200000000", "CUST-4471902255"):
        assert redact(value, KEY, both)[0].startswith("[redacted cust ")
    assert redact("CUST-4471902255", KEY, three) == ("CUST-4471902255", [])
    key = fill_template(SECRET_TEMPLATES["aws-access-key-id"])
    assert redact(key, KEY, both)[1]
    assert redact(key, KEY, three) == (key, [])
    assert redact("AKIAIOSFODNN7EXAMPLE", KEY, both)[1] == []


def test_every_separator_of_server_and_tool_is_known() -> None:
    patterns = [get_agent(name).mcp for name in AGENTS]
    separators = {pattern.partition("{server}")[2].removesuffix("{tool}") for pattern in patterns if pattern}
    assert separators <= {*SEPARATORS, ":", "/", ""}
