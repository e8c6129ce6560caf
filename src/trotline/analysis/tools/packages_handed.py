"""Words that a manager hands on to another program: one of the project's packages, or one that extends the manager."""

from trotline.analysis.scene import Argument
from trotline.analysis.step import Step

_EXTENDED = {
    "cargo": {"diesel": "diesel", "sqlx": "sqlx", "watch": "cargo-watch"},
    "dotnet": {"ef": "dotnet-ef"},
}
_NODE = frozenset({"bun", "pnpm", "yarn"})
"""They run a program of the project's packages by its bare name, or after `run`."""

_PACKAGES = frozenset(
    "ace cdk concurrently cross-env cross-env-shell del-cli drizzle-kit firebase knex mikro-orm netlify nodemon payload"
    " prisma rimraf sequelize sequelize-cli serverless shx sls supabase ts-node tsx typeorm typeorm-ts-node-commonjs"
    " vercel wrangler".split()
)
"""Names that mean such a program, and hardly ever a script of the project."""


def handed(step: Step, rest: list[Argument]) -> bool:
    """Whether another program was run with the words."""
    first = rest[0].text if rest else ""
    if step.name == "mix":
        return _mix(step, rest)
    if step.name in _NODE:
        rest = rest[1:] if first == "run" else rest
        if not rest or rest[0].text not in _PACKAGES:
            return False
        step.out = step.carry(rest)
        return True
    name = _EXTENDED.get(step.name, {}).get(first)
    if name is not None:
        step.out = step.carry([rest[0]._replace(text=name), *rest[1:]])
    return name is not None


def _mix(step: Step, rest: list[Argument]) -> bool:
    """`mix ecto.drop`, `mix do ecto.drop, ecto.create`, `mix do a + b`: tasks of a package by its name."""
    several = bool(rest) and rest[0].text == "do"
    tasks: list[list[Argument]] = [[]]
    for word in rest[several:]:
        if word.text != "+":
            tasks[-1].append(word._replace(text=word.text.rstrip(",")) if several else word)
        if several and (word.text == "+" or word.text.endswith(",")):
            tasks.append([])
    ours = [task for task in tasks if task and task[0].text.startswith("ecto.")]
    for first, *others in ours:
        step.carry([first._replace(text="ecto"), first._replace(text=first.text.removeprefix("ecto.")), *others])
    return bool(ours)
