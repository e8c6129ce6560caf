"""Recognise files that control agents, editors, version control and shells; writing one decides what runs next."""

from trotline.agents.generated_tables import CONTROL_DIRECTORIES, CONTROL_FILES, INSTRUCTIONS
from trotline.analysis.locations import PathPatterns

OTHER_GUARDS = tuple("agentshield cc-safety-net cupcake dcg gryph nah omamori rampart tirith".split())
"""Other guards that may run on the same machine; their commands, files and variables have these names."""

_CONTROLS = {
    "agent": " ".join(CONTROL_FILES) + " */.trotline/* /etc/trotline/*"
    " */.continue/config.* */.aider.conf.yml */.roo/mcp.json",
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
    "instructions": " ".join(INSTRUCTIONS) + " */.roorules */.roo/rules*/* */.rooignore */.continue/rules/*"
    " */.aiderignore */.junie/guidelines.md */.goosehints",
    "servers": "*/mcp.json */mcp_config.json",
    "programs": "*/.curlrc */_curlrc */.config/curlrc */.wgetrc */.gemrc */site-packages/*.pth */dist-packages/*.pth"
    " */site-packages/sitecustomize.py */site-packages/usercustomize.py",
    "later steps": "*/_runner_file_commands/set_env_* */_runner_file_commands/add_path_*",
    "trust": "*/.ssh/known_hosts* */.ssh/allowed_signers /etc/ssh/ssh_known_hosts */.aws/config",
}
_PATTERNS = PathPatterns(_CONTROLS)
_DIRECTORIES = frozenset({*CONTROL_DIRECTORIES, ".trotline", ".git", ".husky", ".vscode"})


def classify_control_file(path: str) -> str:
    """Return what a file controls, or an empty text."""
    return _PATTERNS.classify(path)


def is_control_directory(path: str) -> bool:
    """Return whether a directory holds control files; replacing it replaces them."""
    parts = (path.lower().rstrip("/*") or "/").split("/")
    return parts[-1] in _DIRECTORIES or "/".join(parts[-2:]) in _DIRECTORIES
