"""Guard: personal data in texts: card and account numbers, mail addresses, telephone numbers."""

from trotline.domain.effects import Effect
from trotline.guards.guard import ASK, PASS, WARN, Filter, GuardContext, build_guard, rule


def _is_not_in_answer(effect: Effect, _: GuardContext) -> bool:
    return effect.source != "response"


GUARD = build_guard(
    "personal_data",
    "personal data in prompts, files, calls and outputs",
    {
        "card or account": rule(
            Filter("content: pii", targets={"card-number", "iban"}, when=_is_not_in_answer),
            (PASS, WARN, ASK),
            "there is a number of somebody's card or account in the {source}: {target}",
            "use a made-up number",
        ),
        "address or number that is given away": rule(
            Filter("content: pii", sources={"prompt", "arguments"}),
            (PASS, WARN, ASK),
            "there is personal data in the {source}: {target}",
            "leave it out, or use an address of example.com",
        ),
        # Repositories are full of authors' addresses; asking about each file would make people disable the guard.
        "address or number": rule(
            "content: pii", (PASS, PASS, WARN), "there is personal data in the {source}: {target}"
        ),
    },
)
