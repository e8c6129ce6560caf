"""Guard: environment variables that are shown, or set so that other code runs or protection is bypassed."""

from trotline.analysis.control_paths import OTHER_GUARDS
from trotline.analysis.programs.environment_variables import PROMPT_VARIABLES
from trotline.analysis.shell.invocation import UNKNOWN_TEXT
from trotline.domain.effects import Effect
from trotline.formats.lazy_regex import lazy_regex
from trotline.guards.guard import CRITICAL, DENY, HIGH, MEDIUM, PASS, Filter, GuardContext, Predicate, build_guard, rule

_SECRET_NAME = lazy_regex(r"(?i)(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|CREDENTIAL|ACCESS_?KEY)")
_SETTINGS_LOCATIONS = frozenset(
    "HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR CLAUDE_CONFIG_DIR CODEX_HOME GIT_CONFIG_GLOBAL"
    " GIT_CONFIG_SYSTEM GIT_CONFIG_PARAMETERS".split()
)
_OTHER_GUARDS = tuple(f"{name.upper().replace('-', '_')}_" for name in OTHER_GUARDS)
_AGENTS = ("CLAUDECODE", "CLAUDE_CODE", "CURSOR_", "CODEX_", "GEMINI_CLI", "COPILOT_AGENT", "OPENCODE")
_SHELL_START = frozenset("BASH_ENV ENV PROMPT_COMMAND PS0 PS4 PYTHONSTARTUP INPUTRC".split())
_PROGRAM_CHOICES = frozenset("CC BROWSER GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS".split())
_VIEWERS = frozenset("bat cat code cursor delta ed emacs less more most nano nvim true vi vim : ssh".split())
_HARMLESS_OPTIONS = {
    "NODE_OPTIONS": lazy_regex(
        r"--(?:max-[\w-]+-size|stack-trace-limit|unhandled-rejections|trace-[\w-]+|dns-result-order)(?:=[\w-]+)?"
        r"|--(?:no-(?:deprecation|warnings)|enable-source-maps|experimental-vm-modules|openssl-legacy-provider)"
        r"|--(?:preserve-symlinks|throw-deprecation|pending-deprecation|expose-gc|experimental-strip-types)|"
        + UNKNOWN_TEXT
    ),
    "RUBYOPT": lazy_regex(r"-w|-W(?:\d|:[\w-]+)?|--(?:yjit|jit|enable=[\w-]+|disable=[\w-]+)"),
}
"""Options of interpreters that make them run no further code."""

_UNVERIFIED = lazy_regex(
    r"(?:NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY)=0|GIT_SSL_NO_VERIFY=(?:1|true)"
    r"|DOCKER_CONTENT_TRUST=(?:0|false)|COSIGN_\w*SKIP\w*=(?:1|true)"
    r"|GOSUMDB=off|GO(?:INSECURE|NOSUMCHECK|NOSUMDB)=.+|GOFLAGS=(?:.*\s)?-insecure(?:[\s=].*)?"
)
"""Settings that switch off the verification of servers or of downloaded content."""


def _has_name_prefix(*prefixes: str) -> Predicate:
    """Match variables whose name starts with one of these prefixes."""
    return lambda effect, _: effect.target.startswith(prefixes)


def _has_secret_name(effect: Effect, _: GuardContext) -> bool:
    return _SECRET_NAME.search(effect.target) is not None


def _loads_code(effect: Effect, _: GuardContext) -> bool:
    preloads = effect.target.startswith(("LD_", "DYLD_")) and "LIBRARY_PATH" not in effect.target
    return effect.source != "" and preloads


def _changes_search_path(effect: Effect, context: GuardContext) -> bool:
    """Return whether a search path loses its earlier entries, or gets a world-writable directory."""
    is_path = effect.target == "PATH"
    if effect.verb == "unset" or not effect.source:
        return False
    parts = effect.source.split(":")
    writable = any(part in {".", "./"} or part.startswith(context.environment.temporary) for part in parts)
    return (is_path and UNKNOWN_TEXT not in effect.source) or ((is_path or effect.verb == "loader") and writable)


def _runs_at_shell_start(effect: Effect, _: GuardContext) -> bool:
    plain_prompt = effect.target in PROMPT_VARIABLES and not any(
        sign in effect.source for sign in ("$(", "`", UNKNOWN_TEXT)
    )
    return effect.source != "" and not plain_prompt


def _names_other_command(effect: Effect, _: GuardContext) -> bool:
    """Return whether the variable names a command beyond everyday choices of compilers, viewers and ssh programs."""
    if not effect.source.strip():
        return False
    if effect.target in _HARMLESS_OPTIONS:
        return not all(_HARMLESS_OPTIONS[effect.target].fullmatch(word) for word in effect.source.split())
    everyday = effect.target in _PROGRAM_CHOICES and " " not in effect.source.strip()
    return not everyday and effect.source.split()[0].rpartition("/")[2] not in _VIEWERS


def _disables_verification(effect: Effect, _: GuardContext) -> bool:
    return bool(_UNVERIFIED.fullmatch(f"{effect.target}={effect.source.lower()}"))


GUARD = build_guard(
    "variables",
    "the environment shown, or set so that other code runs",
    {
        "all shown": rule(
            "read: environment",
            (PASS, DENY, DENY),
            "all variables would be shown, secrets among them",
            "name the variable",
        ),
        "secret shown": rule(
            Filter("read: variable", when=_has_secret_name),
            (PASS, DENY, DENY),
            "{target} is a secret by its name",
            "test whether it is set instead",
        ),
        "code loaded": rule(
            Filter("environment: loader", when=_loads_code),
            HIGH,
            "{target} loads code into every program that is started",
        ),
        "guard's": rule(
            Filter("environment: *", when=_has_name_prefix("TROTLINE_")),
            CRITICAL,
            "{target} is a variable of the guard, which obeys none",
            mandatory=True,
        ),
        "another guard's": rule(
            Filter("environment: *", when=_has_name_prefix(*_OTHER_GUARDS)),
            MEDIUM,
            "{target} is a variable of another guard that people run beside this one",
            "leave it alone",
        ),
        "place moved": rule(
            Filter("environment: set|unset", targets=_SETTINGS_LOCATIONS),
            MEDIUM,
            "{target} decides where programs look for their settings",
        ),
        "start of shells": rule(
            Filter("environment: *", targets=_SHELL_START, when=_runs_at_shell_start),
            HIGH,
            "{target} is run by every shell that starts",
        ),
        "search path": rule(
            Filter("environment: *", when=_changes_search_path),
            MEDIUM,
            "{target} would be {source}: what is run or loaded then may be anybody's",
        ),
        "command in a variable": rule(
            Filter("environment: command", when=_names_other_command),
            (PASS, DENY, DENY),
            "{target} is a command that another program runs",
        ),
        "agent's": rule(
            Filter("environment: *", when=_has_name_prefix(*_AGENTS)),
            MEDIUM,
            "{target} tells programs that an agent runs them",
            "leave it alone",
        ),
        "no verification": rule(
            Filter("environment: *", when=_disables_verification),
            MEDIUM,
            "{target} switches off the check of who answers, or of what comes",
        ),
    },
)
