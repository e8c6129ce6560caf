"""Trotline itself, and other guards that people run beside it: an agent may look, and may not change its own guard."""

from trotline.analysis.controls import OTHER_GUARDS
from trotline.analysis.step import Handler, Step

GUARDS = (*OTHER_GUARDS, "trotline")
CHANGES = frozenset(
    "add allow apply clear delete disable edit enable fix forget grant import init install kill off"
    " override pause remove"
    " reset restart restore revoke rotate set start stop suspend trust uninstall unset untrust"
    " update upgrade waive".split()
)


def _guard(step: Step) -> None:
    found = step.options(stops=True)
    words = [word.text.lower() for word in found.rest]
    if not words or not {"--dry-run", "--help"}.isdisjoint(words):
        return
    options = {word.text.lstrip("-") for word in found.rest if word.text.startswith("-")}
    if not CHANGES.isdisjoint(words[:3]) or not CHANGES.isdisjoint(options):
        step.effect("control", words[0], target=" ".join([step.name, *words[:2]]))


TOOLS: dict[str, Handler] = {**dict.fromkeys(GUARDS, _guard)}
