"""Levels of detail in records: sizes, texts, or also diffs; redacted at every level."""

import json
import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Workspace, format_toml, read_rows
from secret_samples import fill_template
from trotline.agents.cursor.payloads import read_event
from trotline.audit.query.query import Query
from trotline.audit.record.detail_policy import DetailPolicy, read_detail_policy
from trotline.audit.record.details import MAX_CHARACTERS, MAX_TEXT, build_detail
from trotline.audit.record.edit_diffs import TextChange, build_diffs, list_changes
from trotline.audit.record.measures import collect_measures
from trotline.audit.record.record_reader import convert_record
from trotline.audit.store.audit_log import open_audit_log
from trotline.config.detail_levels import FULL, MINIMAL, STANDARD
from trotline.config.settings import read_settings
from trotline.domain.effects import Certainty, Effect
from trotline.domain.events import Event
from trotline.domain.outcomes import Call, Outcome
from trotline.domain.verdicts import Decision, Verdict
from trotline.hook.process import handle_call, write_detail
from trotline.scanners.redaction import get_redaction_scanners
from trotline.testing.sample_payloads import build_payload

KEY = b"k" * 32
SECRET = fill_template("ghp_{crc*36}")
PEM = fill_template("-----BEGIN RSA PRIVATE KEY-----\n{b64*64}\n{b64*64}\n{b64*40}==\n-----END RSA PRIVATE KEY-----")


ROOT = Path(__file__).parent.parent


def build_policy(level: str) -> DetailPolicy:
    return DetailPolicy(KEY, level, get_redaction_scanners(), "a-machine", "somebody")


def event(name: str, **fields: Any) -> Event:
    return read_event(json.dumps(build_payload(name, **fields)))


def detail(raised: Event, level: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = json.dumps(body if body is not None else {"hook_event_name": raised.wire_name}).encode()
    outcome = Outcome(call=Call(id="i", payload=data), event=raised, decision=Decision(verdict=Verdict()))
    return build_detail(outcome, build_policy(level))


def edited(*edits: tuple[str, str], path: str = "/w/a.py") -> Event:
    return event("afterFileEdit", file_path=path, edits=[{"old_string": old, "new_string": new} for old, new in edits])


def call(workspace: Workspace, name: str, **fields: Any) -> None:
    body = {"hook_event_name": name, "conversation_id": "c1", **fields}
    argv = ("--agent", "cursor", "--event", name, "--home", str(workspace.home))
    made_call = Call(id=f"{name}-1", argv=argv, payload=json.dumps(body).encode(), received_us=5)
    write_detail(handle_call(made_call, [], guarded=True)[1], str(workspace.home))


def settings(workspace: Workspace, place: str, **values: str) -> None:
    roots = workspace.roots()
    directory = roots.managed_config if place == "machine" else roots.config
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "trotline.toml").write_text(format_toml(values))


def test_by_default_detail_is_stored_without_diffs(workspace: Workspace) -> None:
    assert read_settings(workspace.roots()).records == STANDARD
    assert read_detail_policy(workspace.roots()).level == STANDARD


def test_of_many_long_texts_those_beyond_the_bound_are_named_by_size_and_digest() -> None:
    texts = ["word " * (MAX_TEXT // 5)] * (MAX_CHARACTERS // MAX_TEXT + 20)
    stored = detail(event("beforeShellExecution"), STANDARD, {"command": "ls", "more": texts})["payload"]["more"]
    whole = [text for text in stored if text.startswith("word")]
    assert len(stored) == len(texts)
    assert sum(map(len, whole)) <= MAX_CHARACTERS
    assert stored[-1].startswith(f"[{len(texts[0])} characters, digest ")


@pytest.mark.parametrize(
    "person,machine,level", [(MINIMAL, "", MINIMAL), (MINIMAL, FULL, FULL), (FULL, MINIMAL, MINIMAL)]
)
def test_the_machine_setting_takes_precedence(workspace: Workspace, person: str, machine: str, level: str) -> None:
    settings(workspace, "person", records=person)
    if machine:
        settings(workspace, "machine", records=machine)
    assert read_detail_policy(workspace.roots()).level == level


SETTINGS = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "log.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", SETTINGS)
def test_the_settings_on_the_audit_log_page_are_valid(workspace: Workspace, text: str) -> None:
    workspace.write("home/.config/trotline/trotline.toml", text)
    found = read_settings(workspace.roots())
    assert not found.problems
    assert {name: getattr(found, name) for name in tomllib.loads(text)} == tomllib.loads(text)


def test_the_audit_log_page_shows_settings() -> None:
    assert len(SETTINGS) == 3


def test_a_project_cannot_set_the_level(workspace: Workspace) -> None:
    for name in (".trotline", ".config/trotline"):
        directory = workspace.project / name
        directory.mkdir(parents=True)
        (directory / "trotline.toml").write_text('records = "minimal"')
    assert read_detail_policy(workspace.roots()).level == STANDARD


def test_a_level_that_is_none_is_a_problem_and_the_usual_is_in_force(workspace: Workspace) -> None:
    settings(workspace, "person", records="everything")
    found = read_settings(workspace.roots())
    assert found.records == STANDARD
    assert "`records` must be one of `standard`, `minimal`, `full`" in found.problems[0].message


@pytest.mark.parametrize(
    "key,value", [("keep_for", "for ever"), ("keep_size", "500"), ("anchor_file", "here"), ("anchor_syslog", "perhaps")]
)
def test_a_setting_of_another_form_is_a_problem_and_means_nothing(workspace: Workspace, key: str, value: str) -> None:
    settings(workspace, "person", **{key: value})
    found = read_settings(workspace.roots())
    assert getattr(found, key) == "off"
    assert f"`{key}` must be" in found.problems[0].message


def test_doctor_reports_a_changed_level(workspace: Workspace) -> None:
    settings(workspace, "person", records=MINIMAL)
    output = workspace.run("doctor").stdout
    assert "records are minimal: sizes and digests are kept, and no words" in output


def test_minimal_keeps_sizes_and_digests_and_no_text(workspace: Workspace) -> None:
    settings(workspace, "person", records=MINIMAL)
    call(workspace, "beforeShellExecution", command="cat unmistakable-name", cwd="/w/unmistakable")
    call(
        workspace, "preToolUse", tool_name="Write", tool_input={"file_path": "/w/unmistakable.py", "content": "a\nb\n"}
    )
    state = workspace.roots().state
    assert not any(b"unmistakable" in path.read_bytes() for path in (state / "spool").rglob("*") if path.is_file())
    shell, tool = (json.loads(line)["data"] for line in shown(workspace, "beforeShellExecution-1", "preToolUse-1"))
    assert shell["detail"]["sizes"]["command"][0] == len("cat unmistakable-name")
    assert "payload" not in shell["detail"]
    assert [(added, removed) for _, added, removed in tool["detail"]["lines"]] == [(2, 0)]


def shown(workspace: Workspace, *names: str) -> list[str]:
    done = [workspace.run("log", "show", name, "--json") for name in names]
    return [one.stdout.replace("\n", "") for one in done]


def test_the_same_text_has_the_same_digest_and_another_another() -> None:
    one, two, other = (
        detail(event("beforeShellExecution"), MINIMAL, {"command": command})["sizes"]["command"]
        for command in ("make", "make", "male")
    )
    assert one == two != other


def test_full_shows_what_an_edit_changes(workspace: Workspace) -> None:
    settings(workspace, "person", records=FULL)
    call(
        workspace,
        "afterFileEdit",
        file_path="/w/cart.py",
        edits=[{"old_string": "a = 1\nb = 2\n", "new_string": "a = 1\nb = 3\n"}],
    )
    output = workspace.run("log", "show", "1").stdout
    assert "  /w/cart.py\n  @@ -1,2 +1,2 @@\n   a = 1\n  -b = 2\n  +b = 3\n" in output
    assert workspace.run("log", "--text", "cart", "--count").stdout == "1\n"


@pytest.mark.parametrize("level", [MINIMAL, STANDARD])
def test_below_full_there_are_no_diffs_but_lines_are_counted(level: str) -> None:
    stored = detail(edited(("a\nb", "a\nc\nd")), level)
    assert "diffs" not in stored
    assert [counts[1:] for counts in stored["lines"]] == [[2, 1]]


@pytest.mark.parametrize("given", read_rows("record_levels", "written_changes"), ids=" ".join)
def test_a_tool_that_writes_is_a_change(given: dict[str, Any]) -> None:
    (change,) = list_changes(event("preToolUse", tool_name="Write", tool_input=given))
    assert (change.path, change.new) == ("/w/a", "x\ny")
    assert list_changes(event("preToolUse", tool_name="Shell", tool_input=given)) == []


@pytest.mark.parametrize("level", [MINIMAL, STANDARD, FULL])
@pytest.mark.parametrize("secret", [SECRET, PEM], ids=["token", "private key"])
def test_no_level_keeps_a_secret_not_even_between_the_signs_of_a_diff(level: str, secret: str) -> None:
    lines = secret.split("\n")
    for raised, body in (
        (edited((f"x\n{secret}\ny", "x\ny")), {"edits": [{"old_string": f"x\n{secret}\ny"}]}),
        (edited(("x", f"x\n{secret}")), {"edits": [{"new_string": f"x\n{secret}"}]}),
        (event("beforeSubmitPrompt", prompt=secret), {"prompt": secret}),
    ):
        text = json.dumps(detail(raised, level, body))
        assert not [line for line in lines[1:-1] or lines if line in text]


def test_user_rules_redact_too(workspace: Workspace) -> None:
    config = workspace.roots().config
    config.mkdir(parents=True)
    (config / "secrets.toml").write_text(
        "[[rules]]\nid = 'badge'\nregex = '''badge-[0-9]{6}'''\nkeywords = ['badge']\n"
    )
    call(workspace, "beforeShellExecution", command="open door --with badge-123456", cwd="/w")
    files = [path.read_bytes() for path in (workspace.roots().state / "spool").iterdir()]
    assert not any(b"badge-123456" in data for data in files)
    assert any(b"redacted badge" in data for data in files)


@pytest.mark.parametrize("stored", [1, 10, len(SECRET) - 1])
def test_no_half_of_a_secret_stays_where_a_text_is_cut(stored: int) -> None:
    """Checked in a reply, a field name, a model name and a version."""

    def edge(limit: int) -> str:
        return "-" * (limit - stored - 1) + " " + SECRET

    raised = event("stop", status="completed", model=edge(128), cursor_version=edge(64))
    body = {edge(MAX_TEXT): "x", "tool_input": {edge(64): "y"}}
    call = Call(id="i", payload=json.dumps(body).encode())
    outcome = Outcome(
        call=call, event=raised, decision=Decision(verdict=Verdict()), sent={"stdout": edge(MAX_TEXT), "exit_code": 0}
    )
    for level in (MINIMAL, STANDARD, FULL):
        output = json.dumps(build_detail(outcome, build_policy(level)))
        assert f"- {SECRET[:stored]}" not in output
        assert SECRET[:4] not in output


def test_a_text_over_the_limit_is_stored_as_size_and_digest() -> None:
    long = "a" * (MAX_TEXT + 1)
    one, other = (detail(event("stop"), STANDARD, {"text": text})["payload"]["text"] for text in (long, long + "a"))
    assert one.startswith(f"[{MAX_TEXT + 1} characters, digest ")
    assert one.split("digest")[1] != other.split("digest")[1]


MEASURED: list[tuple[str, dict[str, Any], dict[str, Any]]] = read_rows("record_levels", "measured")


@pytest.mark.parametrize("name,fields,measures", MEASURED, ids=lambda value: value if isinstance(value, str) else "")
def test_token_counts_are_stored_at_every_level(name: str, fields: dict[str, Any], measures: dict[str, Any]) -> None:
    raised = event(name, **fields)
    assert measures.items() <= collect_measures(raised).items()
    if not measures:
        assert "status" not in collect_measures(raised)
    assert detail(raised, MINIMAL)["measures"] == detail(raised, STANDARD)["measures"] == collect_measures(raised)


def test_an_exit_status_that_an_agent_adds_is_found() -> None:
    body = {**build_payload("afterShellExecution"), "exit_code": 3}
    assert collect_measures(read_event(json.dumps(body)))["exit"] == 3


def test_attachments_name_the_rules_in_force() -> None:
    raised = event("beforeSubmitPrompt", attachments=[{"type": "rule", "file_path": "/w/.cursor/rules/a.mdc"}])
    assert detail(raised, STANDARD)["attachments"] == [["rule", "/w/.cursor/rules/a.mdc"]]
    ((kind, digest),) = detail(raised, MINIMAL)["attachments"]
    assert (kind, "/w/" in digest) == ("rule", False)


def test_machine_user_and_version_are_named(workspace: Workspace) -> None:
    call(workspace, "beforeShellExecution", command="ls", cursor_version="9.9.9")
    (output,) = (json.loads(line)["data"]["detail"] for line in shown(workspace, "beforeShellExecution-1"))
    assert output["machine"] == socket.gethostname()
    assert output["user"]
    assert output["version"] == "9.9.9"


def lines() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(["a", "b", "", "+c", "-d", "@@"]), max_size=12).map("\n".join)


def applied(text: str, old: str) -> list[str]:
    """Return the new text from the old text and its diff."""
    rest, new = old.splitlines(), []
    at = 0
    for line in text.splitlines():
        if line.startswith("@@ "):
            start = int(line.split()[1].split(",")[0].removeprefix("-"))
            begin = max(at, start - 1 if not line.split()[1].endswith(",0") else start)
            new += rest[at:begin]
            at = begin
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            new += [line[1:]] if not line.startswith("-") else []
            at += 1
    return new + rest[at:]


@given(lines(), lines())
def test_a_diff_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    (found,) = build_diffs([TextChange("p", old, new)])
    assert applied(found.text, old) == new.splitlines()
    assert found.added - found.removed == len(new.splitlines()) - len(old.splitlines())


def test_a_place_in_a_long_text_is_found_by_its_number() -> None:
    old = "\n".join(f"line {number}" for number in range(5_000))
    new = old.replace("line 2500", "another")
    (found,) = build_diffs([TextChange("p", old, new)])
    assert (found.added, found.removed) == (1, 1)
    assert found.text.splitlines()[0] == "@@ -2498,7 +2498,7 @@"
    assert applied(found.text, old) == new.splitlines()


def test_a_diff_that_takes_too_long_is_stored_as_a_whole() -> None:
    old, new = ("\n".join(f"{word} {number}" for number in range(150)) for word in ("old", "new"))
    found = build_diffs([TextChange("p", old, new)] * 30)
    assert {(one.added, one.removed) for one in found} == {(150, 150)}
    long = "\n".join(str(number) for number in range(900))
    (whole,) = build_diffs([TextChange("p", long, long[::-1])])
    assert whole.text.count("@@") == 2
    assert applied(whole.text, long) == long[::-1].splitlines()


def of_effects(level: str, *effects: Effect) -> list[Any]:
    body = json.dumps({"hook_event_name": "beforeShellExecution"}).encode()
    shell_event = event("beforeShellExecution", command="x")
    outcome = Outcome(
        call=Call(id="i", payload=body), event=shell_event, decision=Decision(verdict=Verdict()), effects=effects
    )
    return list(build_detail(outcome, build_policy(level))["effects"])


def test_an_effect_stores_all_fields_that_are_not_default() -> None:
    whole = Effect(
        kind="send",
        verb="post",
        path="/w/a",
        host="x.example",
        target="https://x.example/a",
        package="pkg:npm/a",
        writes=True,
        recursive=True,
        source="/w/.env",
        column_from=3,
        column_to=9,
        certainty=Certainty.GUESSED,
        why="a variable",
    )
    (row,) = of_effects(STANDARD, whole)
    left = {"kind", "verb", "path", "column_from", "column_to"}
    assert row == ["send", "post", "/w/a", {k: v for k, v in msgspec.to_builtins(whole).items() if k not in left}]
    assert of_effects(MINIMAL, whole) == [
        ["send", "post", "", {"writes": True, "recursive": True, "certainty": "guessed"}]
    ]


def test_a_plain_effect_is_stored_as_three_columns() -> None:
    assert of_effects(STANDARD, Effect(kind="read", verb="cat", path="/w/a")) == [["read", "cat", "/w/a"]]


def test_a_stored_effect_is_redacted_and_bounded() -> None:
    sent = Effect(kind="send", verb="post", host="x.example", target=f"https://x.example/?t={SECRET}", why="x" * 5000)
    (row,) = of_effects(STANDARD, sent)
    assert SECRET not in str(row)
    assert row[3]["target"].startswith("https://x.example/?t=[redacted")
    assert row[3]["why"].startswith("[5000 characters")


def test_a_record_is_found_by_the_package_and_the_agent_of_its_effects(workspace: Workspace) -> None:
    call(workspace, "beforeShellExecution", command="cd /tmp; npm i left-pad", cwd="/w")
    with open_audit_log(workspace.roots().state) as store:
        (found,) = store.search(Query(text="pkg npm left-pad", effect="install"))
        assert not list(store.search(Query(path="project")))  # a target is no path
    (installed,) = [effect for effect in found.detail_or_empty.effects if effect.kind == "install"]
    assert (installed.more.package, installed.more.target, installed.more.writes) == (
        "pkg:npm/left-pad",
        "project",
        True,
    )


def test_effects_without_further_fields_are_paths_and_invalid_effects_are_reported() -> None:
    (effect,) = convert_record({"detail": {"effects": [["delete", "rm", "/w/a"]]}}).detail_or_empty.effects
    assert (effect.kind, effect.verb, effect.object, effect.path) == ("delete", "rm", "/w/a", "/w/a")
    invalid = convert_record({"detail": {"effects": [["delete", "rm", "/w/a"], ["odd"], 3]}}).detail_or_empty
    assert (invalid.effects, len(invalid.invalid["effects"])) == ([], 3)
