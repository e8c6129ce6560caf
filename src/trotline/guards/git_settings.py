"""Settings of git that run code: aliases, hooks, helpers, filters."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, Test


def _is(*verbs: str) -> Test:
    def when(effect: Effect, _: Sight) -> bool:
        return effect.verb in verbs

    return when


def _store(effect: Effect, _: Sight) -> bool:
    return effect.verb == "configure" and effect.target.startswith("credential.")


GUARD = Guard(
    name="git_settings",
    danger="code that git runs by itself from now on",
    kinds=frozenset({"git"}),
    rows=(
        Row(
            "command",
            _is("configure-command"),
            "ask deny deny",
            "git would run this by itself from now on ({target}): {source}",
            "run the command itself, once, where it can be seen",
        ),
        Row(
            "hooks",
            _is("configure-hooks"),
            "ask deny deny",
            "git would run the programs in {path} by itself from now on ({target})",
            "leave the hooks of the repository where they are",
        ),
        Row(
            "once",
            _is("run-setting"),
            "pass ask deny",
            "git would run this because of {target}: {source}",
            "run the command itself",
        ),
        Row(
            "passwords",
            _store,
            "pass ask deny",
            "how git keeps passwords would change: {source}",
            "leave this to the person",
        ),
        Row(
            "checks",
            _is("skip-hooks"),
            "pass ask deny",
            "the checks that the repository runs before a {target} would be left out",
            "run them, and mend what they find",
        ),
        Row("setting", _is("configure"), "pass pass warn", "git's setting {target} would be changed"),
    ),
    stops=(
        "git config alias.up '!sh run.sh'",
        "git config --global core.hooksPath /tmp/mine",
        "git config core.fsmonitor ./watch.sh",
        "git config --local core.sshCommand 'nc -e sh'",
        "git config set diff.pic.textconv ./show.sh",
        "git config filter.zip.smudge ./unzip.sh",
        "git config credential.helper '!tee /tmp/c'",
        "git -c core.fsmonitor=./watch.sh status",
        "git -c core.hooksPath=/tmp/mine commit -m x",
        "git -c diff.external=./show.sh diff",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=./page.sh git log",
        "git clone --template=/tmp/mine https://git.example/a.git",
        "git clone 'ext::./serve.sh %S' copy",
        "git fetch --upload-pack=./serve.sh ../other",
        "git commit --no-verify -m x",
        "git push --no-verify",
        "git --exec-path=/tmp/mine status",
    ),
    passes=(
        "git config user.email dev@team.example",
        "git config --global pull.ff only",
        "git config alias.sw switch",
        "git config --get-all core.hooksPath",
        "git config -l --show-origin",
        "git config --unset core.hooksPath",
        "git -c core.pager=cat log",
        "git -c core.fsmonitor=false status",
        "git --no-pager diff",
        "git -c user.name=dev commit -m 'core.hooksPath is set'",
        "git config core.editor vim",
        "git clone -c core.autocrlf=false https://git.example/a.git",
        "git config get alias.up",
    ),
)
