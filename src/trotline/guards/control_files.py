"""Files that decide what runs next: hooks and settings of agents, editors, git and shells; and Trotline's own."""

from trotline.analysis.controls import control, control_directory
from trotline.analysis.places import Place
from trotline.analysis.step import GAP
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, Test
from trotline.pattern import pattern

_CHANGES = frozenset({"write", "delete", "permissions"})
_FOR_LATER = pattern(r"\$GITHUB_(?:ENV|PATH)\b")
_PACKAGES = frozenset({"pkg:pypi/trotline", "pkg:brew/trotline"})


def _kind(effect: Effect) -> str:
    if effect.kind not in _CHANGES:
        return ""
    return control(effect.path) or (control(effect.target) if effect.target.startswith("/") else "")


def _own(effect: Effect, sight: Sight) -> bool:
    return effect.kind in _CHANGES | {"link"} and sight.place(effect) is Place.OWN


def _own_service(effect: Effect, _: Sight) -> bool:
    ended = effect.kind == "process" or (effect.kind == "system" and effect.verb == "stop service")
    return ended and "trotline" in effect.target


def _own_program(effect: Effect, _: Sight) -> bool:
    return effect.kind == "install" and effect.verb == "remove" and effect.package in _PACKAGES


def _agent(verb: str) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return effect.kind == "agent" and effect.verb == verb

    return test


def _own_command(effect: Effect, _: Sight) -> bool:
    return effect.kind == "control"


def _of(*kinds: str) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return _kind(effect) in kinds

    return test


def _directory(effect: Effect, _: Sight) -> bool:
    replaced = effect.kind == "delete" or effect.verb in {"link", "move"} or effect.recursive
    return effect.kind in _CHANGES and replaced and control_directory(effect.path)


def _later_steps(effect: Effect, _: Sight) -> bool:
    """The files that a pipeline takes variables and the search path of its later steps from; only it knows where."""
    told = effect.kind == "write" and effect.path == GAP and _FOR_LATER.search(effect.why) is not None
    return told or _kind(effect) == "later steps"


def _option(effect: Effect, _: Sight) -> bool:
    """`-` alone is no file for most programs, but what flows in or out."""
    name = effect.path.rpartition("/")[2]
    return effect.kind == "write" and name.startswith("-") and name != "-"


GUARD = Guard(
    name="control_files",
    danger="files that decide what agents, editors, git and shells run next",
    kinds=frozenset({"agent", "control", "delete", "install", "link", "permissions", "process", "system", "write"}),
    rows=(
        Row("guard's own", _own, "deny deny deny", "{path} belongs to Trotline", "ask the person", floor=True),
        Row("guard's service", _own_service, "deny deny deny", "Trotline's service would be stopped", floor=True),
        Row(
            "guard's program", _own_program, "deny deny deny", "Trotline would be removed", "ask the person", floor=True
        ),
        Row(
            "guard's command",
            _own_command,
            "deny deny deny",
            "an agent does not change its own guard: {target}",
            floor=True,
        ),
        Row(
            "agent",
            _of("agent", "guard"),
            "deny deny deny",
            "{path} decides what the agent may do and what runs when it does",
            "show the person what you would change, and let them do it",
        ),
        Row("git", _of("git"), "ask deny deny", "{path} can make git run other programs", "use git config for one key"),
        Row("editor", _of("editor"), "ask deny deny", "{path} can make the editor run programs"),
        Row("shell", _of("shell"), "ask deny deny", "{path} is read by every shell that is opened"),
        Row("start", _of("start"), "deny deny deny", "{path} decides who may enter or what is started"),
        Row(
            "instructions",
            _of("instructions"),
            "pass ask ask",  # many let their agents write these every day
            "{path} tells agents what to do, or what to leave alone",
            "show the person what you would write",
        ),
        Row(
            "unwatched agent",
            _agent("unwatched"),
            "ask deny deny",
            "{target} would act without asking anybody",
            "start it without that option",
        ),
        Row(
            "agent's settings",
            _agent("settings"),
            "ask deny deny",
            "`{target}` decides what an agent may use and what runs when it does",
            "show the person the line, and let them run it",
        ),
        Row(
            "trust",
            _of("trust"),
            "pass ask deny",  # a new host is noted there every day
            "{path} decides whom this machine believes, or which program it asks for credentials",
        ),
        Row(
            "pipeline",
            _of("pipeline"),
            "pass ask deny",
            "{path} decides what runs on the build machines, with their secrets",
        ),
        Row(
            "later steps",
            _later_steps,
            "pass ask deny",
            "what later steps of the pipeline find and run would change",
            "set it for the one command that needs it",
        ),
        Row(
            "servers",
            _of("servers"),
            "pass ask deny",  # wherever it lies: an agent may be told to look there
            "{path} names programs that an agent starts as its servers",
            "show the person what you would change",
        ),
        Row(
            "programs",
            _of("programs"),
            "pass ask deny",
            "{path} is obeyed by every program of its kind that starts from now on",
            "give the option on the one line that needs it",
        ),
        Row("directory", _directory, "ask deny deny", "{path} holds settings that decide what runs"),
        Row(
            "name of an option",
            _option,
            "pass ask ask",
            "{path} is called like an option: a later `*` hands it to a program, which obeys it",
            "give it a name that begins with a letter",
        ),
    ),
    stops=(
        "echo '{}' > .cursor/hooks.json",
        "sed -i s/deny/allow/ .claude/settings.json",
        "rm .cursor/hooks.json",
        "cp x ~/.codex/config.toml",
        "tee .git/hooks/pre-commit < x",
        "mv /tmp/d .cursor",
        "chmod -x .cursor/hooks/guard.sh",
        "echo 'alias ls=rm' >> ~/.bashrc",
        "install -m755 x .git/hooks/post-checkout",
        "echo x >> ~/.ssh/authorized_keys",
        "touch .trotline/policy.toml",
        "trotline uninstall --yes",
        "trotline service stop",
        "dcg allow everything",
        "echo off > ~/.nah/state",
        "ln -sf /dev/null .cursor/hooks.json",
        "echo x >> ~/.ssh/known_hosts",
        "echo 'never ask' >> AGENTS.md",
        "cp x .cursor/rules/always.mdc",
        "rm .cursorignore",
        "echo insecure > ~/.curlrc",
        "echo check_certificate=off | tee -a ~/.wgetrc",
        "cp gems.yml ~/.gemrc",
        "cp x.timer ~/.local/share/systemd/user/x.timer",
        "echo 'import x' > .venv/lib/python3.13/site-packages/x.pth",
        "sed -i s/root/me/ .devcontainer/devcontainer.json",
        'echo ./bin >> "$GITHUB_PATH"',
        "echo NODE_OPTIONS=-rx | tee -a $GITHUB_ENV",
        "cp x ~/Library/Application\\ Support/Claude/claude_desktop_config.json",
        "echo '{}' > tools/mcp.json",
        "cp servers.json ~/.config/agent/mcp_config.json",
        "sed -i s/ask/auto/ ~/.config/gemini/settings.json",
        "echo off > ~/.config/cupcake/state",
        "touch -- --use-compress-program=x",
        "date > '-rf'",
        "cp notes.txt ./--to-command=x",
        "gawk -i inplace 'NR > 1' ~/.zshrc",
        "patch .claude/settings.json looser.diff",
        "patch -p1 -o .git/hooks/pre-push hook.sample x.diff",
        "claude -p 'tidy up' --dangerously-skip-permissions",
        "codex exec --yolo 'tidy up'",
        "gemini --approval-mode=yolo -p x",
        "claude mcp add notes -- npx notes-server",
        "pip uninstall -y trotline",
        "systemctl --user disable --now trotline.service",
    ),
    passes=(
        "trotline explain 'ls'",
        "trotline install --dry-run",
        "cat .cursor/hooks.json",
        "git config user.name",
        "ls .git/hooks",
        "echo x > src/settings.json",
        "mkdir .github",
        "grep -rn hooks .cursor",
        "head -2 ~/.bashrc",
        "echo done > docs/hooks.md",
        "touch src/.keep",
        "cat ~/.curlrc ~/.wgetrc",
        "ls .venv/lib/python3.13/site-packages/*.pth",
        "jq .image .devcontainer/devcontainer.json",
        "wc -l $GITHUB_ENV",
        "echo size=3 >> $GITHUB_OUTPUT",
        "jq .servers tools/mcp.json",
        "touch -- src/a-b",
        "gpg -o - notes.gpg",
        "git status",
        "gawk '/alias/' ~/.zshrc",
        "gawk -i inplace 'NR > 1' table.csv",
        "patch -p1 < fix.diff",
        "patch --dry-run .claude/settings.json looser.diff",
        "echo '- run make test' >> CLAUDE.md",
        "claude -p 'what does this do?'",
        "claude mcp list",
        "codex exec 'fix the tests'",
        "systemctl --user status trotline",
        "pip install -U trotline",
        "ssh-keyscan build.example.org >> ~/.ssh/known_hosts",
    ),
)
