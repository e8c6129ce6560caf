"""Compare a verdict with a thousand rules with one without rules. CPU time of this process, interleaved.

The thousand rules are of kinds that the action does not have, as most rules are; all of its kind; or rules that must
all be evaluated. The first verdict of a process, which checks and compiles the rules, is measured separately.
"""

import statistics
import sys
import time

from interleaved import compute_ratio, rotate
from trotline.analysis.analyze import analyze_command
from trotline.analysis.shell.shell_state import Environment
from trotline.config.policies import parse_policy
from trotline.domain.effects import Effect
from trotline.evaluation.evaluate import evaluate
from trotline.policy.policy import Policy, merge_layers

GOAL = 5.0
"""The maximum ratio of a verdict with a thousand rules of other kinds to one without rules."""

LINE = "cd src && npm install left-pad && psql prod -c 'delete from users' | tee out.txt"
ENVIRONMENT = Environment(cwd="/home/ann/shop", roots=("/home/ann/shop",), home="/home/ann")
DENY = '[[rule]]\nname = "deny"\nwhen = \'effects.exists(e, e.kind == "sql" && e.writes)\'\ndeny = "no"\n'
RULE = '[[rule]]\nname = "r{number}"\nwhen = \'{when}\'\nwarn = "w"\n'
SHAPES = {
    "1,000 rules of other kinds": 'effects.exists(e, e.kind == "kube" && e.target.contains("t{number}"))',
    "1,000 rules of its kind": 'effects.exists(e, e.kind == "sql" && e.target.contains("t{number}"))',
    "1,000 rules of any kind": 'event.command.contains("t{number}x")',
}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    effects = analyze_command(LINE, ENVIRONMENT).effects
    policies, loads = {"no rules": Policy()}, {}
    for name, when in SHAPES.items():
        text = DENY + "".join(RULE.format(number=n, when=when.format(number=n)) for n in range(999))
        start = time.process_time()
        policies[name] = merge_layers([parse_policy("user", name, text.encode())[0]])
        loads[name] = (time.process_time() - start) * 1000
    first = {name: _time_verdict(effects, policy) for name, policy in policies.items()}
    times: dict[str, list[float]] = {name: [] for name in policies}
    for name, _ in rotate(policies, rounds, warm_up=0):
        times[name].append(_time_verdict(effects, policies[name]))
    print(f"Python {sys.version.split()[0]}, {len(effects)} effects, {rounds} rounds, one interleaved run\n")
    print("| what | to load, ms | first verdict, ms | verdict, ms | against no rules |\n|---|---|---|---|---|")
    ratios = {}
    for name, milliseconds in times.items():
        ratios[name] = compute_ratio(times, name, "no rules")
        row = (f"{loads.get(name, 0):.0f}", f"{first[name]:.1f}", f"{statistics.median(milliseconds):.2f}")
        print(f"| {name} | {' | '.join(row)} | {ratios[name]:.1f}x |")
    worst = ratios["1,000 rules of other kinds"]
    print(f"\ngoal: rules of other kinds at {GOAL:.0f}x; measured {worst:.1f}x")
    return 0 if worst <= GOAL else 1


def _time_verdict(effects: tuple[Effect, ...], policy: Policy) -> float:
    start = time.process_time()
    evaluate(effects, ENVIRONMENT, policy)
    return (time.process_time() - start) * 1000


if __name__ == "__main__":
    sys.exit(main())
