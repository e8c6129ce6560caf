"""Which of many alarms a person is told, where there is no room for all: what nobody can have meant before doubts."""

from collections.abc import Sequence

from trotline.audit.alarms import UNEXPECTED, Alarm


def foremost(found: Sequence[Alarm], most: int) -> list[Alarm]:
    """So many of them, the newest of each sort, and each sort in the order in which it came."""
    unexpected = [alarm for alarm in found if alarm.kind in UNEXPECTED][-most:]
    doubts = [alarm for alarm in found if alarm.kind not in UNEXPECTED]
    room = most - len(unexpected)
    return [*unexpected, *(doubts[-room:] if room else ())]
