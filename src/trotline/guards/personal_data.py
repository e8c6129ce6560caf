"""Guard: personal data in texts: card and account numbers, mail addresses, telephone numbers."""

from trotline.domain.effects import Effect
from trotline.guards.guard import ASK, PASS, WARN, Filter, Guard, GuardContext, GuardRule


def _is_not_in_answer(effect: Effect, _: GuardContext) -> bool:
    return effect.source != "response"


GUARD = Guard(
    name="personal_data",
    danger="personal data in prompts, files, calls and outputs",
    kinds={"content"},
    rules=(
        GuardRule(
            "card or account",
            Filter(verbs={"pii"}, targets={"card-number", "iban"}, when=_is_not_in_answer),
            (PASS, WARN, ASK),
            "there is a number of somebody's card or account in the {source}: {target}",
            "use a made-up number",
        ),
        GuardRule(
            "address or number that is given away",
            Filter(verbs={"pii"}, sources={"prompt", "arguments"}),
            (PASS, WARN, ASK),
            "there is personal data in the {source}: {target}",
            "leave it out, or use an address of example.com",
        ),
        # Repositories are full of authors' addresses; asking about each file would make people disable the guard.
        GuardRule(
            "address or number",
            Filter(verbs={"pii"}),
            (PASS, PASS, WARN),
            "there is personal data in the {source}: {target}",
        ),
    ),
)
