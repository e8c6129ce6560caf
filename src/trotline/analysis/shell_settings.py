"""Programs that print lines for the shell to set itself up by: `eval "$(ssh-agent -s)"` is how their pages say it."""

from collections.abc import Sequence

from trotline.analysis.scene import Argument

_PRINT = {
    "brew": "shellenv",
    "conda": "shell.bash shell.zsh shell.posix",
    "dircolors": "",
    "direnv": "export hook",
    "fnm": "env completions",
    "fzf": "--bash --zsh",
    "gh": "completion",
    "helm": "completion",
    "jenv": "init",
    "kubectl": "completion",
    "lesspipe": "",
    "lesspipe.sh": "",
    "luarocks": "path",
    "minikube": "docker-env podman-env completion",
    "mise": "activate env hook-env",
    "nodenv": "init",
    "opam": "env",
    "pyenv": "init virtualenv-init",
    "rbenv": "init",
    "register-python-argcomplete": "",
    "ssh-agent": "",
    "starship": "init",
    "thefuck": "--alias",
    "zoxide": "init",
}
"""The words of each with which it does so; with none, it always does."""


_INSTALLED = ("/bin/", "/usr/", "/opt/homebrew/", "/home/linuxbrew/")
"""Where a machine keeps its programs; elsewhere one may be called like any of these."""


def prints_settings(program: str, words: Sequence[Argument]) -> bool:
    said = _PRINT.get(program)
    if said is None or ("/" in words[0].text and not words[0].text.startswith(_INSTALLED)):
        return False
    rest = [word.text for word in words[1:]]
    if not said:  # a program behind would run in its surroundings
        return all(word.startswith("-") for word in rest) or program.startswith(("register", "dircolors"))
    return rest[:1] != [] and rest[0] in said.split()
