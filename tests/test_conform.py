"""trotline conform: any engine through a door of two lines, ours among them."""

import json
import sys
import textwrap
from pathlib import Path

import pytest

from kit import run_trotline
from trotline.domain.errors import TrotlineError
from trotline.testing.conformance import ConformanceCase, EngineProcess, load_cases, run_cases

ONE = "merge_a_deny_beats_an_ask_and_both_are_heard"
CASES = {case.name: case for case in load_cases()}


def _adapter(tmp_path: Path, body: str) -> list[str]:
    file = tmp_path / "adapter.py"
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    file.write_text(
        f"import json, os, subprocess, sys, time\nfor line in sys.stdin:\n    asked = json.loads(line)\n{lines}\n"
    )
    return [sys.executable, str(file)]


def _run_case(tmp_path: Path, body: str, *, seconds: float = 10) -> tuple[str, str]:
    with EngineProcess(_adapter(tmp_path, body), seconds) as engine:
        (found,) = run_cases(engine, [CASES[ONE]])
    return found.status, "; ".join(found.differences) or found.error


ENGINES = {
    "agrees": ("print(json.dumps({'permission': 'deny'}), flush=True)", "agrees", ""),
    "differs": (
        "print(json.dumps({'permission': 'ask'}), flush=True)",
        "differs",
        "permission: ask instead of deny",
    ),
    "says nothing of what is asked": ("print('{}', flush=True)", "not told", ""),
    "speaks no JSON": ("print('yes', flush=True)", "failed", "its answer is not JSON: yes"),
    "speaks a list": ("print('[]', flush=True)", "failed", "its answer is not an object"),
    "hangs": ("time.sleep(60)", "failed", "it did not answer in 0.5 s"),
    "leaves its line unfinished": (
        "sys.stdout.write('{'); sys.stdout.flush(); time.sleep(60)",
        "failed",
        "it did not answer in 0.5 s",
    ),
    "dies": ("os._exit(1)", "failed", "it ended without an answer"),
}


@pytest.mark.parametrize("body,word,why", ENGINES.values(), ids=ENGINES)
def test_whatever_an_engine_does_is_a_result(body: str, word: str, why: str, tmp_path: Path) -> None:
    assert _run_case(tmp_path, body, seconds=0.5 if "sleep" in body else 10) == (word, why)


def test_an_engine_that_died_is_started_again_for_the_next_situation(tmp_path: Path) -> None:
    body = "os._exit(1) if asked['case'].startswith('merge_a') else print('{\"permission\": \"deny\"}', flush=True)"
    cases = [CASES[ONE], *(case for case in CASES.values() if case.name.startswith("merge_o"))][:3]
    with EngineProcess(_adapter(tmp_path, body)) as engine:
        assert [found.status == "failed" for found in run_cases(engine, cases)] == [True, False, False]


def test_an_engine_finds_the_world_as_it_was_told(tmp_path: Path) -> None:
    body = """
    there = all(os.path.isdir(path) for path in (asked['home'], asked['system'], *asked['projects']))
    hooks = os.path.isfile(asked['system'] + '/etc/cursor/hooks.json')
    runs = os.access(asked['path'].split(':')[0] + '/hook-1', os.X_OK)
    event = asked['events'][-1]['hook_event_name'] == 'beforeShellExecution'
    print(json.dumps({'permission': 'deny' if there and hooks and runs and event else 'no'}), flush=True)
    """
    assert _run_case(tmp_path, body) == ("agrees", "")


BAD_PAYLOADS = {
    "no JSON": ("hello", "is not JSON"),
    "another event": ('{"hook_event_name": "stop"}', "stop instead of beforeShellExecution"),
    "a required field missing": ('{"hook_event_name": "beforeShellExecution"}', "needs `command`"),
    "a field of the wrong type": (
        '{"hook_event_name": "beforeShellExecution", "command": "ls", "sandbox": []}',
        "`sandbox` has the wrong type",
    ),
}


@pytest.mark.parametrize("payload,why", BAD_PAYLOADS.values(), ids=BAD_PAYLOADS)
def test_a_payload_that_is_not_what_the_schema_says_is_a_difference(payload: str, why: str, tmp_path: Path) -> None:
    body = f"""
    hook = asked['path'].split(':')[0] + '/hook-1'
    subprocess.run([hook], input={payload!r}, text=True, stdout=subprocess.DEVNULL)
    print(json.dumps({{'permission': 'deny'}}), flush=True)
    """
    word, differs = _run_case(tmp_path, body)
    assert word == "differs"
    assert why in differs


def test_paths_may_be_whole(tmp_path: Path) -> None:
    case = next(case for case in CASES.values() if case.want.get("void") == ["project/.cursor/hooks.json"])
    body = "print(json.dumps({'void': [asked['world'] + '/project/.cursor/hooks.json']}), flush=True)"
    with EngineProcess(_adapter(tmp_path, body)) as engine:
        assert [found.status for found in run_cases(engine, [case])] == ["agrees"]


def test_a_command_that_cannot_be_started_is_said_at_once() -> None:
    with EngineProcess(["/no/such/engine"]) as engine, pytest.raises(TrotlineError, match="could not be started"):
        next(run_cases(engine, [CASES[ONE]]))


def test_our_own_engine_agrees_with_every_situation_through_the_same_door(tmp_path: Path) -> None:
    done = run_trotline("conform", "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["data"]["counts"] == {"agrees": len(CASES)}
    assert len(CASES) >= 460


def test_the_table_names_the_rules_and_what_was_measured(tmp_path: Path) -> None:
    done = run_trotline("conform", "--rule", "loop", "--rule", "merge", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        "agrees",
        "differs",
        "not",
        "told",
        "failed",
        "Cursor:",
        "agrees",
        "differs",
        "unmeasured",
    ]
    assert [line.split("  ")[0] for line in lines[1:4]] == [
        "how many answers become one",
        "how often a follow-up is taken",
        "all",
    ]
    assert "Where Cursor's own engine was seen to differ" in done.stdout


def test_differences_are_shown_with_the_situation(tmp_path: Path) -> None:
    engine = _adapter(tmp_path, "print(json.dumps({'permission': 'allow'}), flush=True)")
    done = run_trotline("conform", "--case", ONE, "--", *engine, cwd=tmp_path)
    assert done.returncode == 1
    assert f"differs {ONE}" in done.stdout
    assert "permission: allow instead of deny" in done.stdout
    assert CASES[ONE].body["source"] in done.stdout


def test_situations_can_be_listed_and_a_wrong_name_is_said(tmp_path: Path) -> None:
    listed = json.loads(run_trotline("conform", "--list", "--json", "--rule", "void", cwd=tmp_path).stdout)["data"]
    assert {one["rule"] for one in listed} == {"void"}
    assert any(one["measured"] == "agrees" for one in listed)
    assert run_trotline("conform", "--list", cwd=tmp_path).stdout.count("\n") == 2 * len(CASES)
    done = run_trotline("conform", "--case", "nothing", cwd=tmp_path)
    assert done.returncode == 64
    assert "there is no situation `nothing`" in done.stderr


def test_enough_was_measured_on_the_real_engine_to_compare_with() -> None:
    words = [case.measured.partition(":")[0] for case in CASES.values()]
    assert words.count("agrees") >= 80
    assert words.count("differs") >= 5


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.measured], ids=lambda case: case.name)
def test_only_the_newest_edition_was_measured(case: ConformanceCase) -> None:
    assert case.edition == "2026-09"
