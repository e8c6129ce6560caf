"""Guard: files that decide what runs next: hooks and settings of agents, editors, git, shells and Trotline."""

from trotline.analysis.control_paths import classify_control_file, is_control_directory
from trotline.analysis.locations import Location
from trotline.analysis.shell.invocation import UNKNOWN_TEXT
from trotline.domain.effects import Effect
from trotline.formats.lazy_regex import lazy_regex
from trotline.guards.guard import ASK, CRITICAL, HIGH, MEDIUM, PASS, Filter, GuardContext, Predicate, build_guard, rule

_LATER_STEPS = lazy_regex(r"\$GITHUB_(?:ENV|PATH)\b")
_PACKAGES = frozenset({"pkg:pypi/trotline", "pkg:brew/trotline"})


def _get_control(effect: Effect) -> str:
    """Return which kind of control file the effect changes, or ""."""
    return classify_control_file(effect.path) or (
        classify_control_file(effect.target) if effect.target.startswith("/") else ""
    )


def _changes_control_files(*kinds: str) -> Predicate:
    """Match effects that change one of these kinds of control files."""
    return lambda effect, _: _get_control(effect) in kinds


def _stops_service(effect: Effect, _: GuardContext) -> bool:
    stops = effect.kind == "process" or (effect.kind == "system" and effect.verb == "stop service")
    return stops and "trotline" in effect.target


def _is_trotline_package(effect: Effect, _: GuardContext) -> bool:
    return effect.package in _PACKAGES


def _replaces_control_directory(effect: Effect, _: GuardContext) -> bool:
    replaces = effect.kind == "delete" or effect.verb in {"link", "move"} or effect.recursive
    return replaces and is_control_directory(effect.path)


def _changes_later_steps(effect: Effect, _: GuardContext) -> bool:
    """Return whether a file is written from which a pipeline reads variables of later steps.

    Only the pipeline knows where that file is, so the variable that names it is recognised.
    """
    by_variable = effect.kind == "write" and effect.path == UNKNOWN_TEXT
    return (by_variable and _LATER_STEPS.search(effect.why) is not None) or _get_control(effect) == "later steps"


def _is_named_like_option(effect: Effect, _: GuardContext) -> bool:
    name = effect.path.rpartition("/")[2]
    return name.startswith("-") and name != "-"  # for most programs `-` is standard input or output


GUARD = build_guard(
    "control_files",
    "files that decide what agents, editors, git and shells run next",
    {
        "guard's own": rule(
            Filter("delete|link|permissions|write: *", locations={Location.OWN}),
            CRITICAL,
            "{path} belongs to Trotline",
            "ask the person",
            mandatory=True,
        ),
        "guard's service": rule(
            Filter("process|system: *", when=_stops_service),
            CRITICAL,
            "Trotline's service would be stopped",
            mandatory=True,
        ),
        "guard's program": rule(
            Filter("install: remove", when=_is_trotline_package),
            CRITICAL,
            "Trotline would be removed",
            "ask the person",
            mandatory=True,
        ),
        "guard's command": rule(
            "control: *", CRITICAL, "an agent does not change its own guard: {target}", mandatory=True
        ),
        "agent": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("agent", "guard")),
            CRITICAL,
            "{path} decides what the agent may do and what runs when it does",
            "show the person what you would change, and let them do it",
        ),
        "git": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("git")),
            HIGH,
            "{path} can make git run other programs",
            "use git config for one key",
        ),
        "editor": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("editor")),
            HIGH,
            "{path} can make the editor run programs",
        ),
        "shell": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("shell")),
            HIGH,
            "{path} is read by every shell that is opened",
        ),
        "start": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("start")),
            CRITICAL,
            "{path} decides who may enter or what is started",
        ),
        # Many teams let agents write these files every day.
        "instructions": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("instructions")),
            (PASS, ASK, ASK),
            "{path} tells agents what to do, or what to leave alone",
            "show the person what you would write",
        ),
        "unwatched agent": rule(
            "agent: unwatched", HIGH, "{target} would act without asking anybody", "start it without that option"
        ),
        "agent's settings": rule(
            "agent: settings",
            HIGH,
            "`{target}` decides what an agent may use and what runs when it does",
            "show the person the line, and let them run it",
        ),
        # `known_hosts` gets new entries every day.
        "trust": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("trust")),
            MEDIUM,
            "{path} decides whom this machine believes, or which program it asks for credentials",
        ),
        "pipeline": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("pipeline")),
            MEDIUM,
            "{path} decides what runs on the build machines, with their secrets",
        ),
        "later steps": rule(
            Filter("delete|permissions|write: *", when=_changes_later_steps),
            MEDIUM,
            "what later steps of the pipeline find and run would change",
            "set it for the one command that needs it",
        ),
        # In any directory, because an agent may be configured to read it there.
        "servers": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("servers")),
            MEDIUM,
            "{path} names programs that an agent starts as its servers",
            "show the person what you would change",
        ),
        "programs": rule(
            Filter("delete|permissions|write: *", when=_changes_control_files("programs")),
            MEDIUM,
            "{path} is obeyed by every program of its kind that starts from now on",
            "give the option on the one line that needs it",
        ),
        "directory": rule(
            Filter("delete|permissions|write: *", when=_replaces_control_directory),
            HIGH,
            "{path} holds settings that decide what runs",
        ),
        "name of an option": rule(
            Filter("write: *", when=_is_named_like_option),
            (PASS, ASK, ASK),
            "{path} is called like an option: a later `*` hands it to a program, which obeys it",
            "give it a name that begins with a letter",
        ),
    },
)
