"""Guard: code from elsewhere that runs before a person could read it."""

from trotline.analysis.service_verbs import INDIRECT_DOWNLOAD
from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, HIGH, MEDIUM, Filter, GuardContext, Predicate, build_guard, rule

_NETWORK_KINDS = frozenset({"connect", "send", "fetch"})
_PROGRAM_SUFFIXES = (".bat", ".cmd", ".dll", ".exe", ".hta", ".msi", ".ps1", ".scr", ".vbs")


def _has_origin(origin: str) -> Predicate:
    """Match code with this origin among its sources."""
    return lambda effect, _: origin in effect.source.split(",")


def _reads_network_pipe(effect: Effect, context: GuardContext) -> bool:
    """Return whether a shell reads a named pipe of this command, and the command also talks to another machine."""
    pipes = {other.path for other in context.effects if other.kind == "write" and other.verb == "pipe"}
    return effect.path in pipes and any(other.kind in _NETWORK_KINDS for other in context.effects)


def _is_program(effect: Effect, _: GuardContext) -> bool:
    return effect.path.lower().endswith(_PROGRAM_SUFFIXES)


GUARD = build_guard(
    "remote_code",
    "code from elsewhere that nobody has seen",
    {
        "from the network": rule(
            Filter("execute: *", when=_has_origin("network")),
            CRITICAL,
            "what comes from another machine would be run unseen",
            "save it to a file, read it, and ask the person to run it; or install a named version from a registry",
            mandatory=True,
        ),
        "from another machine, through a pipe": rule(
            Filter("execute: *", when=_reads_network_pipe),
            CRITICAL,
            "a shell would obey what another machine writes into {path}",
            mandatory=True,
        ),
        "decoded": rule(
            Filter("execute: *", when=_has_origin("decoded")),
            CRITICAL,
            "text that was hidden by an encoding would be run",
            "write the command itself",
        ),
        "unpacked": rule(
            Filter("execute: *", when=_has_origin("unpacked")),
            MEDIUM,
            "{path} was fetched and unpacked just now, and nobody has seen it",
            "look at what was unpacked before it is run",
        ),
        "from the clipboard": rule(
            Filter("execute: *", when=_has_origin("clipboard")), HIGH, "whatever is in the clipboard would be run"
        ),
        # Legitimate downloads use a download program.
        "by the side door": rule(
            Filter(f"write: {INDIRECT_DOWNLOAD}", when=_is_program),
            MEDIUM,
            "{path} would be fetched by a program that is not there for that, as those do who hide it",
            "fetch it with curl, and show the person where it comes from",
        ),
    },
)
