"""Score the guards on labelled commands and calls: recall and false positives per source, and the wrong rows.

python scripts/score.py                         all sources under ../shared/corpora, standard and strict
python scripts/score.py --preset strict --show dcg --wrong missed
"""

import argparse
import json
import random
import re
import shlex
import sys
from collections import defaultdict
from pathlib import Path

from trotline.analysis.analyze import Analysis, analyze_command, analyze_mcp_call
from trotline.analysis.shell.parser import parse_script
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import evaluate
from trotline.policy.policy import Policy

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
STOP, PASS = {"deny", "ask"}, {"allow", "no_opinion"}
CALLS = "mcp_calls"
ENVIRONMENT = Environment("/home/user/project", ("/home/user/project",), "/home/user", "user")


def read_commands() -> list[dict[str, str]]:
    rows = []
    for name in ("consensus", "commands"):
        lines = (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines()
        rows += [{"corpus": name, **json.loads(line)} for line in lines]
    return rows


def read_calls() -> list[dict[str, str]]:
    """Read calls of MCP servers. A label `warn` counts as one that passes."""
    lines = (CORPORA / f"{CALLS}.jsonl").read_text("utf-8").splitlines()
    calls = [json.loads(line) for line in lines]
    expectations = {"warn": "allow"}
    return [
        {
            "corpus": CALLS,
            "command": json.dumps([row["tool_name"], row["tool_input"]]),
            "expected": expectations.get(row["expected"], row["expected"]),
        }
        for row in calls
    ]


def analyze(command: str, corpus: str) -> Analysis:
    if corpus == CALLS:
        tool, tool_input = json.loads(command)
        return analyze_mcp_call("", tool, tool_input, ENVIRONMENT)
    return analyze_command(command, ENVIRONMENT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", action="append")
    parser.add_argument("--show", default="", help="print the wrong rows of this source")
    parser.add_argument("--wrong", choices=["missed", "stopped"], help="only these")
    parser.add_argument("--find", default="", help="only rows with this text")
    parser.add_argument("--rewritten", action="store_true", help="quote words in other ways, and add two wrappers")
    parser.add_argument("--as-data", action="store_true", help="as an argument of echo, a commit message, a pattern")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for preset in options.preset or ["standard", "strict"]:
        score(preset, options)


WRAPPERS = (
    "env A=1 bash -c {q}",
    "timeout 30 bash -c {q}",
    "true && {{ {c}\n}}",
    "( {c}\n)",
    "eval {q}",
    'X={q}; bash -c "$X"',
    "bash <<'TROTLINE'\n{c}\nTROTLINE\n",
    "printf '%s' {q} | sh",
    "if true; then {c}\nfi",
    "nice -n 3 sh -c {q}",
)
DATA = ("echo {q}", "git commit -m {q}", "grep -rn {q} src", "cat > notes.md <<'TROTLINE'\n{c}\nTROTLINE\n")


def rewrite(command: str, chance: random.Random) -> str:
    """Return an equivalent command: plain words are quoted in one of several ways, and it is wrapped twice."""
    if not parse_script(command).error and "<<" not in command:
        command = _PLAIN_WORD.sub(lambda match: _quote(match[0], chance), command)
    for wrapper in chance.sample(WRAPPERS, 2):
        if "TROTLINE" not in wrapper or "TROTLINE" not in command:
            command = wrapper.format(c=command, q=shlex.quote(command))
    return command


_PLAIN_WORD = re.compile(r"(?<=[ ])(?:-[a-z]{1,3}|[a-z]{3,})(?=[ ]|$)")
_WORDS_OF_SHELL = frozenset(
    "if then else elif fi for in do done while until case esac function select time coproc".split()
)


def _quote(word: str, chance: random.Random) -> str:
    if word in _WORDS_OF_SHELL:
        return word
    at = chance.randrange(1, len(word))
    return chance.choice([word, f"'{word}'", f"{word[:at]}''{word[at:]}", f"{word[:at]}\\{word[at:]}", f'"{word}"'])


def score(preset: str, options: argparse.Namespace) -> None:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    chance = random.Random(options.seed)  # noqa: S311 - the same rows every time
    for row in [*read_commands(), *(() if options.rewritten or options.as_data else read_calls())]:
        if row["expected"] not in STOP | PASS or row.get("context_dependent"):
            continue
        corpus = row["corpus"] + ("/fixture" if row.get("fixture") else "")
        command = row["command"]
        if options.rewritten:
            command = rewrite(command, chance)
        if options.as_data and (row["expected"] not in STOP or "TROTLINE" in command):
            continue
        if options.as_data:
            command = chance.choice(DATA).format(c=command, q=shlex.quote(command))
        analysis = analyze(command, corpus)
        evaluation = evaluate(analysis.effects, ENVIRONMENT, Policy(preset))
        stopped = evaluation.permission >= Permission.ASK
        wanted = row["expected"] in STOP
        count = counts[corpus]
        count[0 if wanted else 2] += stopped
        count[1 if wanted else 3] += 1
        word = "missed" if wanted else "stopped"
        if (
            stopped != wanted
            and options.show == corpus
            and options.wrong in {None, word}
            and options.find in row["command"]
        ):
            rules = ", ".join(f"{match.guard}/{match.rule.name}" for match in evaluation.matches[:2])
            kinds = " ".join(sorted({effect.kind for effect in analysis.effects}))
            print(f"{word:8}{row.get('pack') or row.get('guard') or '':20} {command!r:.180}  [{rules}] {kinds}")
    print(f"{preset}:", file=sys.stderr)
    for corpus, (hit, stops, false, passes) in sorted(counts.items()):
        recall = f"{hit / stops:.3f} of {stops}" if stops else "-"
        wrong = f"{false / passes:.3f} of {passes}" if passes else "-"
        print(f"  {corpus:16} recall {recall:14} false stops {wrong}", file=sys.stderr)


if __name__ == "__main__":
    main()
