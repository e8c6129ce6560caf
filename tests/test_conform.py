"""trotline conform: any engine runs the conformance cases through a JSON line protocol, Trotline too."""

import json
import sys
import textwrap
from pathlib import Path

import pytest

from kit import convert_lists, read_corpus, run_trotline
from trotline.domain.errors import TrotlineError
from trotline.testing.conformance import ConformanceCase, EngineProcess, load_cases, run_cases

CASE_NAME = "merge_a_deny_beats_an_ask_and_both_are_heard"
CASES = {case.name: case for case in load_cases()}


def write_adapter(tmp_path: Path, body: str) -> list[str]:
    file = tmp_path / "adapter.py"
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    file.write_text(
        f"import json, os, subprocess, sys, time\nfor line in sys.stdin:\n    asked = json.loads(line)\n{lines}\n"
    )
    return [sys.executable, str(file)]


def run_case(tmp_path: Path, body: str, *, seconds: float = 10) -> tuple[str, str]:
    with EngineProcess(write_adapter(tmp_path, body), seconds) as engine:
        (result,) = run_cases(engine, [CASES[CASE_NAME]])
    return result.status, "; ".join(result.differences) or result.error


ENGINES = convert_lists(read_corpus("conform")["engines"])


@pytest.mark.parametrize("body,status,why", ENGINES.values(), ids=ENGINES)
def test_every_behaviour_of_an_engine_is_a_result(body: str, status: str, why: str, tmp_path: Path) -> None:
    assert run_case(tmp_path, body, seconds=0.5 if "sleep" in body else 10) == (status, why)


def test_engine_that_died_is_restarted_for_the_next_case(tmp_path: Path) -> None:
    body = "os._exit(1) if asked['case'].startswith('merge_a') else print('{\"permission\": \"deny\"}', flush=True)"
    cases = [CASES[CASE_NAME], *(case for case in CASES.values() if case.name.startswith("merge_o"))][:3]
    with EngineProcess(write_adapter(tmp_path, body)) as engine:
        assert [result.status == "failed" for result in run_cases(engine, cases)] == [True, False, False]


def test_engine_finds_the_directories_of_the_case(tmp_path: Path) -> None:
    body = """
    there = all(os.path.isdir(path) for path in (asked['home'], asked['system'], *asked['projects']))
    hooks = os.path.isfile(asked['system'] + '/etc/cursor/hooks.json')
    runs = os.access(asked['path'].split(':')[0] + '/hook-1', os.X_OK)
    event = asked['events'][-1]['hook_event_name'] == 'beforeShellExecution'
    print(json.dumps({'permission': 'deny' if there and hooks and runs and event else 'no'}), flush=True)
    """
    assert run_case(tmp_path, body) == ("agrees", "")


BAD_PAYLOADS = convert_lists(read_corpus("conform")["bad_payloads"])


@pytest.mark.parametrize("payload,why", BAD_PAYLOADS.values(), ids=BAD_PAYLOADS)
def test_payload_that_violates_the_schema_is_a_difference(payload: str, why: str, tmp_path: Path) -> None:
    body = f"""
    hook = asked['path'].split(':')[0] + '/hook-1'
    subprocess.run([hook], input={payload!r}, text=True, stdout=subprocess.DEVNULL)
    print(json.dumps({{'permission': 'deny'}}), flush=True)
    """
    status, differs = run_case(tmp_path, body)
    assert status == "differs"
    assert why in differs


def test_paths_may_be_absolute(tmp_path: Path) -> None:
    case = next(case for case in CASES.values() if case.want.get("ignored_files") == ["project/.cursor/hooks.json"])
    body = "print(json.dumps({'ignored_files': [asked['world'] + '/project/.cursor/hooks.json']}), flush=True)"
    with EngineProcess(write_adapter(tmp_path, body)) as engine:
        assert [result.status for result in run_cases(engine, [case])] == ["agrees"]


def test_command_that_cannot_be_started_is_an_error() -> None:
    with EngineProcess(["/no/such/engine"]) as engine, pytest.raises(TrotlineError, match="could not be started"):
        next(run_cases(engine, [CASES[CASE_NAME]]))


def test_trotline_agrees_with_every_case(tmp_path: Path) -> None:
    done = run_trotline("conform", "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["data"]["counts"] == {"agrees": len(CASES)}
    assert len(CASES) >= 460


def test_table_lists_rules_and_measurements(tmp_path: Path) -> None:
    done = run_trotline("conform", "--rule", "loop", "--rule", "merge", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == "agrees differs not told failed Cursor: agrees differs unmeasured".split()
    labels = ["how many answers become one", "how often a follow-up is taken", "all"]
    assert [line.split("  ")[0] for line in lines[1:4]] == labels
    assert "Where Cursor's own engine was seen to differ" in done.stdout


def test_differences_are_shown_with_the_case(tmp_path: Path) -> None:
    engine = write_adapter(tmp_path, "print(json.dumps({'permission': 'allow'}), flush=True)")
    done = run_trotline("conform", "--case", CASE_NAME, "--", *engine, cwd=tmp_path)
    assert done.returncode == 1
    assert f"differs {CASE_NAME}" in done.stdout
    assert "permission: allow instead of deny" in done.stdout
    assert CASES[CASE_NAME].body["source"] in done.stdout


def test_cases_are_listed_and_an_unknown_name_is_an_error(tmp_path: Path) -> None:
    listed = json.loads(run_trotline("conform", "--list", "--json", "--rule", "fatal", cwd=tmp_path).stdout)["data"]
    assert {case["rule"] for case in listed} == {"fatal"}
    assert any(case["measured"] == "agrees" for case in listed)
    assert run_trotline("conform", "--list", cwd=tmp_path).stdout.count("\n") == 2 * len(CASES)
    done = run_trotline("conform", "--case", "nothing", cwd=tmp_path)
    assert done.returncode == 64
    assert "there is no situation `nothing`" in done.stderr


def test_enough_cases_were_measured_on_the_real_engine() -> None:
    words = [case.measured.partition(":")[0] for case in CASES.values()]
    assert words.count("agrees") >= 80
    assert words.count("differs") >= 5


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.measured], ids=lambda case: case.name)
def test_only_the_newest_edition_was_measured(case: ConformanceCase) -> None:
    assert case.edition == "2026-09"
