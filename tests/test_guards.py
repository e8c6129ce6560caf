"""Every guard with its own cases; the laws that hold for all of them; and the corpora, where they are here."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trotline.analysis.action import of_command, of_server
from trotline.analysis.scene import World
from trotline.guards import NAMES, guards
from trotline.guards.guard import PRESETS, Guard, Level, Says
from trotline.guards.judgement import judged
from trotline.guards.policy import Policy, Setting, Wish, resolved
from trotline.verdicts import Permission

WORLD = World(
    "/home/dev/project",
    ("/home/dev/project",),
    "/home/dev",
    "dev",
    own=("/home/dev/.local/state/trotline/v1", "/home/dev/.config/trotline"),
)
CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
GUARDS = {guard.name: guard for guard in guards()}
STOPS = [(name, line) for name, guard in GUARDS.items() for line in guard.stops]
PASSES = [(name, line) for name, guard in GUARDS.items() for line in guard.passes]


def permission(line: str, preset: str) -> Permission:
    return judged(of_command(line, WORLD).effects, WORLD, Policy(preset)).permission


@pytest.mark.parametrize("name, line", STOPS)
def test_what_a_guard_says_it_stops_is_stopped_in_strict_and_beyond(name: str, line: str) -> None:
    assert permission(line, "strict") >= Permission.ASK
    assert permission(line, "paranoid") >= Permission.ASK


@pytest.mark.parametrize("name, line", PASSES)
def test_what_a_guard_says_it_lets_pass_passes_in_standard(name: str, line: str) -> None:
    assert permission(line, "standard") is Permission.SILENT


@pytest.mark.parametrize("guard", GUARDS.values(), ids=lambda guard: guard.name)
def test_a_guard_says_what_it_is_about_and_gets_stricter_from_preset_to_preset(guard: Guard) -> None:
    assert guard.danger
    assert guard.kinds
    assert guard.name in NAMES
    assert len({row.name for row in guard.rows}) == len(guard.rows)
    for row in guard.rows:
        said = [list(Says).index(row.under(preset)) for preset in PRESETS]
        assert said == sorted(said), f"{guard.name}, {row.name}"
        assert not row.floor or said[0] == list(Says).index(Says.DENY), f"the floor denies: {guard.name}, {row.name}"


@pytest.mark.parametrize(
    "line,guard",
    [
        ("echo x > /dev/sdz", "disks"),
        ("cp memory.bin /dev/mem", "disks"),
        ("ln -sf blank.img /dev/sdz", "disks"),
        ("dd if=blank.img of=/dev/nvme3n1", "disks"),
        ("mkfs.ext4 /dev/sdz1", "disks"),
        ("rm /dev/sdz", "deletion"),
        ("echo c > /proc/sysrq-trigger", "system_files"),
        ("tee /etc/motd < x", "system_files"),
    ],
)
def test_one_danger_has_one_voice(line: str, guard: str) -> None:
    said = judged(of_command(line, WORLD).effects, WORLD, Policy("strict")).opinions
    assert {one.guard for one in said} == {guard}


@pytest.mark.parametrize(
    "line,standard,strict",
    [
        ("curl -X DELETE https://api.example.net/v1/things/9", "ask", "deny"),
        ("curl --request delete api.example.net/v1/things/9", "ask", "deny"),
        ("http DELETE https://api.example.net/v1/things/9", "ask", "deny"),
        ("wget --method=DELETE https://api.example.net/v1/things/9", "ask", "deny"),
        ("gh api -X DELETE repos/acme/ledger", "ask", "deny"),
        ("curl -X DELETE http://localhost:8080/things/9", "silent", "ask"),
        ("curl -X DELETE http://[::1]:8080/things/9", "silent", "ask"),
        ("curl -X POST https://api.example.net/v1/things", "silent", "ask"),
    ],
)
def test_what_deletes_at_a_service_is_the_same_in_whatever_words(line: str, standard: str, strict: str) -> None:
    """A request asks as the service's own program does; on this machine it is most often somebody's own test."""
    assert permission(line, "standard").word == standard
    assert permission(line, "strict").word == strict


@pytest.mark.parametrize(
    "line,standard,strict",
    [
        ("echo x >> AGENTS.md", "silent", "ask"),
        ("cp x .claude/skills/a/SKILL.md", "silent", "ask"),
        ("cat CLAUDE.md", "silent", "silent"),
        ("claude -p --dangerously-skip-permissions x", "ask", "deny"),
        ("claude --permission-mode bypassPermissions", "ask", "deny"),
        ("npx @openai/codex --dangerously-bypass-approvals-and-sandbox x", "ask", "deny"),
        ("gemini mcp add notes ./notes.sh", "ask", "deny"),
        ("gemini -p 'is --yolo safe?'", "silent", "silent"),
        ("uv tool uninstall trotline", "deny", "deny"),
        ("systemctl --user stop trotline", "deny", "deny"),
        ("pkill -f trotline/service", "deny", "deny"),
    ],
)
def test_who_steers_agents_is_asked_about_and_who_ends_the_guard_is_refused(
    line: str, standard: str, strict: str
) -> None:
    assert (permission(line, "standard").word, permission(line, "strict").word) == (standard, strict)


@pytest.mark.parametrize(
    "line,standard,strict",
    [
        ("find . -name '*.pyc' -delete", "silent", "ask"),
        ("find . -name __pycache__ -prune -exec rm -rf {} +", "silent", "ask"),
        ("find . -name '*.pyc' -o -name .DS_Store | xargs rm -f", "silent", "ask"),
        ("find . -name .git -prune -o -mtime +9 -delete", "silent", "ask"),
        ("find . -name '*' -delete", "ask", "deny"),
        ("find . -name .git -delete", "deny", "deny"),
        ("find ~ -name '*.pyc' -delete", "ask", "deny"),
        ("find . -type f | xargs rm", "ask", "deny"),
        ("find /etc -name '*.conf' | xargs sed -i s/a/b/", "ask", "deny"),
        ("git ls-files | xargs rm", "ask", "deny"),
        ("git ls-files -o --exclude-standard | xargs rm", "silent", "ask"),
        ("git ls-files | xargs wc -l", "silent", "silent"),
        ("git ls-files 'bin/*' | xargs chmod +x", "silent", "silent"),
        ("find . -type f -exec chmod 644 {} +", "silent", "silent"),
        ("find ~ -name '*.sh' -exec chown me {} +", "silent", "ask"),
        ("find /usr/lib -exec chown me {} +", "deny", "deny"),
    ],
)
def test_what_a_search_finds_is_known_by_where_it_looks_and_for_what(line: str, standard: str, strict: str) -> None:
    assert permission(line, "standard").word == standard
    assert permission(line, "strict").word == strict


@pytest.mark.parametrize(
    "line,standard,strict",
    [
        ("docker volume rm ledger_data", "ask", "deny"),
        ("docker compose down -v", "ask", "deny"),
        ("docker compose rm -fsv web", "ask", "deny"),
        ("podman system prune --all --volumes", "ask", "deny"),
        ("docker container rm --force --volumes ledger", "ask", "deny"),
        ("docker compose down", "silent", "silent"),
        ("docker stop -s KILL ledger", "silent", "silent"),
        ("docker kill $(docker ps -q)", "silent", "ask"),
    ],
)
def test_volumes_that_go_with_a_container_are_volumes(line: str, standard: str, strict: str) -> None:
    assert permission(line, "standard").word == standard
    assert permission(line, "strict").word == strict


@pytest.mark.parametrize("guard", GUARDS.values(), ids=lambda guard: guard.name)
def test_every_guard_has_cases_of_its_own(guard: Guard) -> None:
    if guard.name == "sequences" or guard.kinds == {"content"}:
        return  # what came before, and what stands in a text, is no part of a line; test_judging.py, test_content.py
    assert len(guard.stops) >= 5
    assert len(guard.passes) >= 5


CARRIERS = (
    "sudo {}",
    "env A=1 {}",
    "nice -n 5 {}",
    "timeout 10 {}",
    "nohup {}",
    "bash -c {q}",
    "sh -c {q}",
    "eval {q}",
    "echo $( {} )",
    "true && {}",
    "( {} )",
    "{{ {}; }}",
    "if true; then {}; fi",
    "for x in 1; do {}; done",
    "xargs -I@ sh -c {q} < names",
    "command {}",
    "time {}",
    "find . -maxdepth 0 -exec sh -c {q} \\;",
    "f() {{ {}; }}; f",
    "bash <<'END'\n{}\nEND\n",
    "printf %s {q} | sh",
    "ssh build.example.org {q}",
    "watch {q}",
    "trap {q} EXIT",
    'X={q}; eval "$X"',
    "cat <({})",
    "ls | {{ {}; }}",
)
DATA = (
    "git commit -m {q}",
    "echo {q}",
    "grep -rn {q} src",
    "printf '%s' {q} >> notes.md",
    "cat > doc.md <<'END'\n{}\nEND\n",
    "git log --grep={q}",
    "# {}",
    "git commit -F - <<'END'\n{}\nEND\n",
    "rg {q}",
    "test x = {q}",
)
FLOOR = (
    "rm -rf ~",
    "rm -rf /",
    "cd / && rm -rf *",
    "cat ~/.ssh/id_rsa",
    "echo x > .cursor/hooks.json",
    "chmod -R 777 /etc",
)


@pytest.mark.parametrize("line", FLOOR)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_stopped_command_stays_stopped_in_whatever_carries_it(carrier: str, line: str) -> None:
    assert permission(carrier.format(line, q=shlex.quote(line)), "standard") >= Permission.ASK


@settings(deadline=None)
@given(st.lists(st.sampled_from(CARRIERS), min_size=2, max_size=3), st.sampled_from(FLOOR))
def test_carriers_may_carry_each_other(carriers: list[str], line: str) -> None:
    for carrier in carriers:
        if "END" in carrier and "END" in line:
            continue
        line = carrier.format(line, q=shlex.quote(line))
    assert permission(line, "strict") >= Permission.ASK


@pytest.mark.parametrize("line", FLOOR)
@pytest.mark.parametrize("frame", DATA)
def test_a_command_that_is_only_data_does_nothing(frame: str, line: str) -> None:
    assert permission(frame.format(line, q=shlex.quote(line)), "standard") is Permission.SILENT


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_text_breaks_a_guard(line: str) -> None:
    effects = of_command(line, WORLD).effects
    said = [judged(effects, WORLD, Policy(preset)).permission for preset in PRESETS]
    assert said == sorted(said), "a stricter preset is never milder"


LEVELS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(list(Level)), max_size=4)
LINE = st.sampled_from([line for _, line in STOPS])


@settings(deadline=None)
@given(LEVELS, st.sampled_from(("", *PRESETS)), LINE)
def test_a_project_can_only_be_stricter(levels: dict[str, Level], preset: str, line: str) -> None:
    effects = of_command(line, WORLD).effects
    without = resolved([Wish("user", "standard")])
    with_project = resolved([Wish("user", "standard"), Wish("project", preset, levels)])
    assert judged(effects, WORLD, with_project).permission >= judged(effects, WORLD, without).permission


@given(LEVELS, LEVELS)
def test_whoever_is_lower_can_only_raise_what_somebody_higher_has_set(
    high: dict[str, Level], low: dict[str, Level]
) -> None:
    policy = resolved([Wish("enterprise", "", high), Wish("user", "", low)])
    order = list(Level)
    for guard, level in high.items():
        assert order.index(policy.setting(guard).level) >= order.index(level)


@pytest.mark.parametrize("level", [Level.OFF, Level.MONITOR, Level.WARN])
def test_the_floor_holds_when_every_guard_is_off(level: Level) -> None:
    policy = Policy(levels={name: Setting(level, "user") for name in NAMES})
    effects = of_command("rm -rf / && cat .env", WORLD).effects
    assert judged(effects, WORLD, policy).permission is Permission.DENY


def test_a_guard_that_only_warns_lets_it_go_on_and_says_so() -> None:
    policy = Policy(levels={"credentials": Setting(Level.WARN, "user")})
    judgement = judged(of_command("cat ~/.npmrc", WORLD).effects, WORLD, policy)
    assert judgement.permission is Permission.SILENT
    assert [opinion.says for opinion in judgement.opinions] == [Says.WARN]


def test_levels_for_tab_are_set_apart() -> None:
    policy = resolved([Wish("user", "", {"credentials": Level.ENFORCE}, {"credentials": Level.OFF})])
    effects = of_command("cat ~/.npmrc", WORLD).effects
    assert judged(effects, WORLD, policy).permission is Permission.DENY
    assert judged(effects, WORLD, policy, tab=True).permission is Permission.SILENT


needs_corpora = pytest.mark.skipif(not CORPORA.exists(), reason="../shared/corpora is not here")


def _score(corpus: str, preset: str) -> tuple[float, float]:
    """Recall and false stops on one labelled source, rows that depend on a disk left out."""
    counts = {True: [0, 0], False: [0, 0]}
    name = "consensus" if corpus == "consensus" else "commands"
    for text in (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(text)
        if row.get("corpus", "consensus") != corpus or row.get("context_dependent") or row.get("fixture"):
            continue
        if row["expected"] not in {"deny", "ask", "allow", "no_opinion"}:
            continue
        stop = row["expected"] in {"deny", "ask"}
        counts[stop][0] += permission(row["command"], preset) >= Permission.ASK
        counts[stop][1] += 1
    return counts[True][0] / max(1, counts[True][1]), counts[False][0] / max(1, counts[False][1])


@needs_corpora
@pytest.mark.parametrize(
    "corpus, preset, recall, false_stops",
    [
        ("consensus", "standard", 0.97, 0.02),
        ("dcg", "strict", 0.90, 0.05),
        ("dcg_packs", "strict", 0.90, 0.05),
        ("cc_safety_net", "strict", 0.90, 0.05),
        ("rampart", "strict", 0.85, 0.08),
    ],
)
def test_labelled_commands_are_judged_as_their_owners_do(
    corpus: str, preset: str, recall: float, false_stops: float
) -> None:
    """Not omamori, which lets a download run in a shell, nor nah 0.x, which asks before `set -x`: docs/guards.md."""
    stopped, wrongly = _score(corpus, preset)
    assert stopped >= recall
    assert wrongly <= false_stops


@needs_corpora
def test_labelled_calls_of_servers_are_judged_as_their_owner_does() -> None:
    """But for `whoami` and `id`, which do no harm in whatever shell; what the owner only warns of passes."""
    stopped: dict[str, list[bool]] = {"deny": [], "warn": []}
    for text in (CORPORA / "mcp_calls.jsonl").read_text("utf-8").splitlines():
        row = json.loads(text)
        effects = of_server("", row["tool_name"], row["tool_input"], WORLD).effects
        stopped[row["expected"]].append(judged(effects, WORLD, Policy("strict")).permission >= Permission.ASK)
    assert sum(stopped["deny"]) >= len(stopped["deny"]) - 2
    assert not any(stopped["warn"])


@needs_corpora
def test_no_command_of_the_corpora_stands_in_our_source() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (Path(__file__).parent.parent / "src").rglob("*.py"))
    lines = [json.loads(text)["command"] for text in (CORPORA / "commands.jsonl").read_text("utf-8").splitlines()]
    assert [line for line in lines if len(line) > 12 and f'"{line}"' in source] == []


@pytest.mark.parametrize(
    "line",
    [
        "sqlite3 a.db 'DELETE F",
        "mysql -e 'UPDATE'",
        "psql 's://]' -c 'select 1'",
        "curl -X PUT '[' -d '{}'",
        "rm {--0..3} {²..3}",
    ],
)
def test_what_is_cut_off_or_no_address_is_judged_all_the_same(line: str) -> None:
    """Each was found by fuzzing, and broke a reader."""
    assert permission(line, "strict") in Permission
