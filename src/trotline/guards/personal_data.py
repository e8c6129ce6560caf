"""Personal data in the texts of a conversation: numbers of cards and accounts, addresses of mail, telephone numbers."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight

_OF_MONEY = frozenset({"card-number", "iban"})
_FROM_PEOPLE = frozenset({"prompt", "arguments"})


def _money(effect: Effect, _: Sight) -> bool:
    return effect.verb == "pii" and effect.target in _OF_MONEY and effect.source != "response"


def _given_away(effect: Effect, _: Sight) -> bool:
    return effect.verb == "pii" and effect.source in _FROM_PEOPLE


def _elsewhere(effect: Effect, _: Sight) -> bool:
    return effect.verb == "pii"


GUARD = Guard(
    name="personal_data",
    danger="personal data in prompts, files, calls and outputs",
    kinds=frozenset({"content"}),
    rows=(
        Row(
            "card or account",
            _money,
            "pass warn ask",
            "there is a number of somebody's card or account in the {source}: {target}",
            "use a made-up number",
        ),
        Row(
            "address or number that is given away",
            _given_away,
            "pass warn ask",
            "there is personal data in the {source}: {target}",
            "leave it out, or use an address of example.com",
        ),
        # Repositories are full of their authors' addresses: to ask about each file would be to be switched off.
        Row("address or number", _elsewhere, "pass pass warn", "there is personal data in the {source}: {target}"),
    ),
)
