"""Files that steer agents, editors, version control and shells: who writes them decides what runs next."""

from trotline.analysis.patterns import Patterns

OTHER_GUARDS = tuple("agentshield cc-safety-net cupcake dcg gryph nah omamori rampart tirith".split())
"""Guards of others that people run beside ours: their commands, their files and their variables are called so."""

_CONTROLS = {
    "agent": "*/.cursor/hooks.json */.cursor/hooks/* */.cursor/mcp.json */.cursor/cli.json */.cursor/cli-config.json"
    " */.cursor/permissions.json */.cursor/sandbox.json */.claude/settings*.json */.claude/hooks/*"
    " */.claude.json */claude_desktop_config.json */.mcp.json */.config/gemini/settings.json"
    " */.codex/* */.gemini/settings.json */.gemini/hooks/* */.qwen/settings.json */.github/hooks/* */.copilot/*"
    " */.windsurf/hooks.json */.codeium/windsurf/* */.factory/settings*.json */.factory/hooks/* */.factory/mcp.json"
    " */.clinerules/hooks/* */documents/cline/hooks/* */.opencode/plugin*/* */opencode.json */.openhands/hooks.json"
    " */.openhands/hooks/* */.config/opencode/* */.trotline/* */.continue/config.* */.aider.conf.yml */.roo/mcp.json"
    " /etc/cursor/* */application?support/cursor/hooks.json /etc/claude-code/* /etc/codex/* /etc/trotline/*",
    "guard": "*/.nah.y* */.nah.toml " + " ".join(f"*/.{name}/* */.config/{name}/*" for name in OTHER_GUARDS),
    "editor": "*/.vscode/tasks.json */.vscode/settings.json */.vscode/launch.json */.idea/runconfigurations/*"
    " */.vimrc */.exrc */.nvimrc */.config/nvim/init.* */.emacs */.dir-locals.el */*.code-workspace */.zed/tasks.json"
    " */devcontainer.json */.devcontainer.json",
    "pipeline": "*/.github/workflows/* */.github/actions/* */.gitlab-ci.yml */jenkinsfile */.circleci/config.yml"
    " */azure-pipelines.yml */.buildkite/* */.drone.yml */bitbucket-pipelines.yml */.travis.yml",
    "git": "*/.git/config */.git/hooks/* */.gitconfig */.config/git/config */.git/info/attributes"
    " */.husky/* /etc/gitconfig"
    " */.git/config.worktree */.lefthook* */.pre-commit-config.yaml",
    "shell": "*/.bashrc */.bash_profile */.bash_login */.bash_logout */.bash_aliases */.profile */.zshrc */.zshenv"
    " */.zprofile */.zlogin */.zlogout */.config/fish/config.fish */.config/fish/conf.d/* /etc/profile /etc/profile.d/*"
    " /etc/bash.bashrc /etc/zsh/* /etc/environment */.inputrc */.pam_environment */.xprofile */.xinitrc",
    "start": "*/.ssh/authorized_keys* */.ssh/config */.ssh/rc /etc/crontab /etc/cron*/*"
    " /var/spool/cron/* /etc/systemd/* */.local/share/systemd/user/*"
    " */.config/systemd/user/* */library/launchagents/* */library/launchdaemons/* /lib/systemd/* /usr/lib/systemd/*"
    " */.config/autostart/* /etc/rc.local /etc/init.d/* /etc/ld.so.preload /etc/sudoers /etc/sudoers.d/* /etc/pam.d/*"
    " /etc/hosts /etc/passwd /etc/group /etc/shadow /etc/ssh/sshd_config*",
    "instructions": "*/.cursorrules */.cursor/rules/* */.cursor/commands/* */.cursor/skills/* */.cursor/agents/*"
    " */.cursorignore */.cursorindexingignore */.windsurfrules */.windsurf/rules/* */.windsurf/workflows/*"
    " */.codeiumignore */claude.md */claude.local.md */.claude/commands/* */.claude/agents/* */.claude/skills/*"
    " */.claude/rules/* */.claude/output-styles/* */agents.md */agents.override.md */gemini.md */.gemini/commands/*"
    " */.geminiignore */qwen.md */copilot-instructions.md */.github/instructions/* */.github/prompts/*"
    " */.github/chatmodes/* */.github/agents/* */.clinerules */.clinerules/* */.clineignore */.roorules */.roo/rules*/*"
    " */.rooignore */.continue/rules/* */.aiderignore */.junie/guidelines.md */.goosehints */.openhands/microagents/*"
    " */.openhands/skills/* */.factory/commands/* */.factory/droids/* */.opencode/agent*/* */.opencode/command*/*",
    "servers": "*/mcp.json */mcp_config.json",
    "programs": "*/.curlrc */_curlrc */.config/curlrc */.wgetrc */.gemrc */site-packages/*.pth */dist-packages/*.pth"
    " */site-packages/sitecustomize.py */site-packages/usercustomize.py",
    "later steps": "*/_runner_file_commands/set_env_* */_runner_file_commands/add_path_*",
    "trust": "*/.ssh/known_hosts* */.ssh/allowed_signers /etc/ssh/ssh_known_hosts */.aws/config",
}
_PATTERNS = Patterns(_CONTROLS)
_DIRECTORIES = frozenset(
    ".cursor .claude .codex .gemini .qwen .trotline .git .husky .vscode .github/hooks .factory".split()
)


def control(path: str) -> str:
    """What the file steers; nothing if it steers nothing we know."""
    return _PATTERNS.kind(path)


def control_directory(path: str) -> bool:
    """A directory that holds such files; who replaces it replaces them."""
    parts = (path.lower().rstrip("/*") or "/").split("/")
    return parts[-1] in _DIRECTORIES or "/".join(parts[-2:]) in _DIRECTORIES
