"""A guard: one danger, the effects it looks at, and what it says about each of them by preset."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from trotline.analysis.places import Place, place_of
from trotline.analysis.scene import World
from trotline.effects import Certainty, Effect
from trotline.memory import Memory
from trotline.verdicts import Permission


class Level(StrEnum):
    """What a guard may do: nothing; be written down; tell the person; decide."""

    OFF = "off"
    MONITOR = "monitor"
    WARN = "warn"
    ENFORCE = "enforce"


class Says(StrEnum):
    """What a row says in a preset; `warn` lets it go on and tells the person. No row says `note`: that is what is only
    written down, because its guard monitors."""

    PASS = "pass"  # noqa: S105 - no password
    NOTE = "note"
    WARN = "warn"
    ASK = "ask"
    DENY = "deny"

    @property
    def permission(self) -> Permission:
        return {Says.ASK: Permission.ASK, Says.DENY: Permission.DENY}.get(self, Permission.SILENT)


PRESETS = ("standard", "strict", "paranoid")
STANDARD = PRESETS[0]


class Sight(NamedTuple):
    """All that a guard may look at beside the effect in question."""

    world: World
    effects: Sequence[Effect] = ()
    memory: Memory = Memory()
    questioned: frozenset[Effect] = frozenset()  # effects that another guard would stop

    def place(self, effect: Effect) -> Place:
        """The more dangerous of what the line names and what that really is on the disk."""
        places = {place_of(path, self.world) for path in (effect.path, effect.target) if path.startswith(("/", "…"))}
        return min(places, key=list(Place).index, default=Place.UNKNOWN)


Test = Callable[[Effect, Sight], bool]


class Row(NamedTuple):
    """A case of the danger. `says` holds one word for each preset; a floor cannot be lowered by a project."""

    name: str
    when: Test
    says: str
    reason: str
    instead: str = ""
    floor: bool = False
    example: str = ""  # a line that does what was probably meant, and is let through

    def under(self, preset: str) -> Says:
        return Says(self.says.split()[PRESETS.index(preset)])


class Guard(NamedTuple):
    name: str
    danger: str
    kinds: frozenset[str]
    rows: tuple[Row, ...]
    last: bool = False  # asked when the others have spoken
    stops: tuple[str, ...] = ()  # lines that `strict` must stop
    passes: tuple[str, ...] = ()  # lines that `standard` must let pass


class Opinion(NamedTuple):
    """What a guard, a list or a rule says about one effect; of those that a layer brought, it names the layer."""

    guard: str
    row: Row
    says: Says
    effect: Effect
    layer: str = ""
    would: Says = Says.PASS  # of one that is only noted: what it says where its guard decides

    @property
    def reason(self) -> str:
        return self.row.reason.format(
            path=self.effect.path,
            verb=self.effect.verb,
            target=self.effect.target or self.effect.path,
            host=self.effect.host,
            source=self.effect.source,
            package=self.effect.package,
            why=self.effect.why,
        )


def opinions(guard: Guard, sight: Sight, preset: str) -> list[Opinion]:
    """What the guard says about the effects; the first row that fits an effect speaks for it."""
    found = []
    for effect in sight.effects:
        if effect.kind not in guard.kinds:
            continue
        row = next((row for row in guard.rows if row.when(effect, sight)), None)
        if row is not None and row.under(preset) is not Says.PASS:
            found.append(Opinion(guard.name, row, row.under(preset), effect))
    return found


def opaque(effect: Effect) -> bool:
    return effect.certainty is Certainty.OPAQUE
