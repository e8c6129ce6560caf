"""Variables: all of them shown at once, or set so that other code runs or the guard looks elsewhere."""

from trotline.analysis.controls import OTHER_GUARDS
from trotline.analysis.step import GAP
from trotline.analysis.tools.variables import PROMPTS
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight
from trotline.pattern import pattern

_SECRET_NAME = pattern(r"(?i)(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|CREDENTIAL|ACCESS_?KEY)")
_MOVES = frozenset(
    "HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR CLAUDE_CONFIG_DIR CODEX_HOME GIT_CONFIG_GLOBAL"
    " GIT_CONFIG_SYSTEM GIT_CONFIG_PARAMETERS".split()
)
_OURS = "TROTLINE_"
_THEIRS = tuple(f"{name.upper().replace('-', '_')}_" for name in OTHER_GUARDS)
_AGENTS = ("CLAUDECODE", "CLAUDE_CODE", "CURSOR_", "CODEX_", "GEMINI_CLI", "COPILOT_AGENT", "OPENCODE")
_STARTS = frozenset("BASH_ENV ENV PROMPT_COMMAND PS0 PS4 PYTHONSTARTUP INPUTRC".split())
_CHOSEN = frozenset("CC BROWSER GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS".split())
_SHOWS = frozenset("bat cat code cursor delta ed emacs less more most nano nvim true vi vim : ssh".split())


def _all(effect: Effect, _: Sight) -> bool:
    return effect.kind == "read" and effect.verb == "environment"


def _secret(effect: Effect, _: Sight) -> bool:
    return effect.kind == "read" and effect.verb == "variable" and _SECRET_NAME.search(effect.target) is not None


def _loads(effect: Effect, _: Sight) -> bool:
    if effect.verb != "loader" or not effect.source:
        return False
    return effect.target.startswith(("LD_", "DYLD_")) and "LIBRARY_PATH" not in effect.target


def _ours(effect: Effect, _: Sight) -> bool:
    return effect.kind == "environment" and effect.target.startswith(_OURS)


def _moves(effect: Effect, _: Sight) -> bool:
    if effect.kind != "environment" or effect.verb not in {"set", "unset"}:
        return False
    return effect.target in _MOVES


def _searched(effect: Effect, sight: Sight) -> bool:
    """Another search path: without what was in it before, or with a place in it where anybody may put a program."""
    if effect.kind != "environment" or effect.verb == "unset" or not effect.source:
        return False
    parts = effect.source.split(":")
    anybody = any(part in {".", "./"} or part.startswith(sight.world.temporary) for part in parts)
    return (effect.target == "PATH" and GAP not in effect.source) or (
        (effect.target == "PATH" or effect.verb == "loader") and anybody
    )


def _start(effect: Effect, _: Sight) -> bool:
    prompt = effect.target in PROMPTS and not any(sign in effect.source for sign in ("$(", "`", GAP))
    return effect.kind == "environment" and effect.target in _STARTS and effect.source != "" and not prompt


_HARMLESS = {
    "NODE_OPTIONS": pattern(
        r"--(?:max-[\w-]+-size|stack-trace-limit|unhandled-rejections|trace-[\w-]+|dns-result-order)(?:=[\w-]+)?"
        r"|--(?:no-(?:deprecation|warnings)|enable-source-maps|experimental-vm-modules|openssl-legacy-provider)"
        r"|--(?:preserve-symlinks|throw-deprecation|pending-deprecation|expose-gc|experimental-strip-types)|" + GAP
    ),
    "RUBYOPT": pattern(r"-w|-W(?:\d|:[\w-]+)?|--(?:yjit|jit|enable=[\w-]+|disable=[\w-]+)"),
}
"""Of the options of an interpreter, those with which it runs no more than it was given."""


def _command(effect: Effect, _: Sight) -> bool:
    """Compilers and ways to reach a host are chosen so every day; what shows a text need not be any program."""
    if effect.kind != "environment" or effect.verb != "command" or not effect.source.strip():
        return False
    if effect.target in _HARMLESS:
        return not all(_HARMLESS[effect.target].fullmatch(word) for word in effect.source.split())
    chosen = effect.target in _CHOSEN and " " not in effect.source.strip()
    return not chosen and effect.source.split()[0].rpartition("/")[2] not in _SHOWS


def _agent(effect: Effect, _: Sight) -> bool:
    return effect.kind == "environment" and effect.target.startswith(_AGENTS)


def _other_guard(effect: Effect, _: Sight) -> bool:
    return effect.kind == "environment" and effect.target.startswith(_THEIRS)


_UNVERIFIED = pattern(
    r"(?:NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY)=0|GIT_SSL_NO_VERIFY=(?:1|true)"
    r"|DOCKER_CONTENT_TRUST=(?:0|false)|COSIGN_\w*SKIP\w*=(?:1|true)"
    r"|GOSUMDB=off|GO(?:INSECURE|NOSUMCHECK|NOSUMDB)=.+|GOFLAGS=(?:.*\s)?-insecure(?:[\s=].*)?"
)
"""Settings with which a program takes what it gets from whoever answers, or without asking whether it was changed."""


def _unverified(effect: Effect, _: Sight) -> bool:
    return effect.kind == "environment" and bool(_UNVERIFIED.fullmatch(f"{effect.target}={effect.source.lower()}"))


GUARD = Guard(
    name="variables",
    danger="the environment shown, or set so that other code runs",
    kinds=frozenset({"read", "environment"}),
    rows=(
        Row(
            "all shown", _all, "pass deny deny", "all variables would be shown, secrets among them", "name the variable"
        ),
        Row(
            "secret shown",
            _secret,
            "pass deny deny",
            "{target} is a secret by its name",
            "test whether it is set instead",
        ),
        Row("code loaded", _loads, "ask deny deny", "{target} loads code into every program that is started"),
        Row("guard's", _ours, "deny deny deny", "{target} is a variable of the guard, which obeys none", floor=True),
        Row(
            "another guard's",
            _other_guard,
            "pass ask deny",
            "{target} is a variable of another guard that people run beside this one",
            "leave it alone",
        ),
        Row("place moved", _moves, "pass ask deny", "{target} decides where programs look for their settings"),
        Row("start of shells", _start, "ask deny deny", "{target} is run by every shell that starts"),
        Row(
            "search path",
            _searched,
            "pass ask deny",
            "{target} would be {source}: what is run or loaded then may be anybody's",
        ),
        Row("command in a variable", _command, "pass deny deny", "{target} is a command that another program runs"),
        Row("agent's", _agent, "pass ask deny", "{target} tells programs that an agent runs them", "leave it alone"),
        Row(
            "no verification",
            _unverified,
            "pass ask deny",
            "{target} switches off the check of who answers, or of what comes",
        ),
    ),
    stops=(
        "printenv",
        "env | sort",
        "export -p",
        "LD_PRELOAD=./x.so ls",
        "TROTLINE_OFF=1 make",
        "declare -p",
        "NAH_MODE=quiet make",
        "export CC_SAFETY_NET_LEVEL=0",
        "env -u OMAMORI_HOME npm test",
        "DOCKER_CONTENT_TRUST=0 docker build .",
        "GOFLAGS='-v -insecure' go mod download",
        "export GOSUMDB=off",
        "GOINSECURE=git.example.net go mod tidy",
        "COSIGN_SKIP_VERIFY=true make image",
        "HOME=/tmp/h git push",
        "env -u CLAUDECODE claude",
        "export -n CURSOR_TRACE_ID",
        "printenv DEPLOY_TOKEN",
        "env",
        "set",
        "ps eww",
        "ps auxe | grep node",
    ),
    passes=(
        "env NAME=v npm test",
        "printenv SHELL",
        "export PATH=$PATH:./bin",
        "NODE_ENV=test npm test",
        "set -e",
        "DOCKER_CONTENT_TRUST=1 docker build .",
        "GOFLAGS=-mod=mod go mod tidy",
        "NAHUATL=1 make",
        "LD_LIBRARY_PATH=./lib ./app",
        "PYTHONPATH=src pytest",
        "FOO=1 make",
        "unset FOO",
        "env -u NODE_ENV npm test",
        "export PS4='+ line $LINENO: '",
        "export LANG=C",
        "ps -ef",
        "ps aux",
    ),
)
