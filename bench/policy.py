"""A thousand rules and one that denies, against the same verdict without rules. CPU time of this process, interleaved.

Three ways to have a thousand rules: of kinds that the action has not, which is what most are; all of the kind that it
has; and such that every one must be asked. The first verdict of a process, which checks and compiles them, is apart.
"""

import statistics
import sys
import time
from collections.abc import Callable

from trotline.analysis.analyze import analyze_command
from trotline.analysis.shell.shell_state import Environment
from trotline.config.policies import parse_policy
from trotline.domain.effects import Effect
from trotline.evaluation.evaluate import evaluate
from trotline.policy.policy import Policy, merge_layers

GOAL = 5.0
"""A verdict with a thousand rules of other kinds, against one without any."""

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
        begun = time.process_time()
        policies[name] = merge_layers([parse_policy("user", name, text.encode())[0]])
        loads[name] = (time.process_time() - begun) * 1000
    contenders = {name: _verdict(effects, policy) for name, policy in policies.items()}
    first = {name: _timed(ask) for name, ask in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, ask in contenders.items():
            times[name].append(_timed(ask))
    print(f"Python {sys.version.split()[0]}, {len(effects)} effects, {rounds} rounds, one interleaved run\n")
    print("| what | to load, ms | first verdict, ms | verdict, ms | against no rules |\n|---|---|---|---|---|")
    ratios = {}
    for name, spent in times.items():
        ratios[name] = statistics.median(one / base for one, base in zip(spent, times["no rules"], strict=True))
        row = (f"{loads.get(name, 0):.0f}", f"{first[name]:.1f}", f"{statistics.median(spent):.2f}")
        print(f"| {name} | {' | '.join(row)} | {ratios[name]:.1f}x |")
    worst = ratios["1,000 rules of other kinds"]
    print(f"\ngoal: rules of other kinds at {GOAL:.0f}x; measured {worst:.1f}x")
    return 0 if worst <= GOAL else 1


def _verdict(effects: tuple[Effect, ...], policy: Policy) -> Callable[[], object]:
    return lambda: evaluate(effects, ENVIRONMENT, policy)


def _timed(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1000


if __name__ == "__main__":
    sys.exit(main())
