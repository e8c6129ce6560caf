"""What guards of services ask of an effect."""

from trotline.analysis.verbs import Deed
from trotline.effects import Effect
from trotline.guards.guard import Sight, Test


def does(deed: Deed) -> Test:
    """Whether the effect is a deed of this kind."""

    def test(effect: Effect, _: Sight) -> bool:
        return effect.verb == deed

    return test
