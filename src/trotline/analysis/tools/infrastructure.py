"""Infrastructure from descriptions: planned, applied, destroyed; and programs that run a line on many machines."""

from trotline.analysis.scene import Argument
from trotline.analysis.services import Service
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SECRET
from trotline.analysis.tools.services import service

_TERRAFORM = Service(
    kind="infra",
    depth=3,
    valued="chdir",
    destroys="destroy;apply +destroy;state rm;state push;workspace delete;force-unlock;run-all destroy;stack destroy",
    changes="apply;import;taint;untaint;state mv;state replace-provider;refresh;run-all apply;stack apply;login;logout",
    reads="plan;init;fmt;validate;show;output;console;get;graph;providers;test;version;workspace list;workspace select;"
    "workspace new;workspace show;state list;state show;run-all plan;run-all validate;hclfmt;render-json",
    secrets="state pull",
)

DESCRIPTIONS = {
    "terraform": _TERRAFORM,
    "tofu": _TERRAFORM,
    "terragrunt": _TERRAFORM,
    "cdktf": Service(kind="infra", depth=1, reads="synth;diff;get;init;convert;watch"),
    "pulumi": Service(
        kind="infra",
        depth=2,
        valued="s stack C cwd",
        dry="preview-only",
        destroys="destroy;down;stack rm;state delete;state rename;cancel;org member remove",
        changes="up;update;import;refresh;state unprotect;stack import;config set;config rm;watch",
        reads="preview;pre;stack ls;stack select;stack init;stack output;stack export;logs;whoami;new;login;about;"
        "config",
        secrets="config get +show-secrets;config +show-secrets;stack output +show-secrets;stack export +show-secrets;"
        "config get",
    ),
    "packer": Service(kind="infra", depth=1, changes="build", reads="init;inspect;fmt;console"),
    "crossplane": Service(kind="infra", depth=2),
    "puppet": Service(
        kind="infra", depth=2, changes="apply;agent", destroys="node clean;cert clean;ca clean", dry="noop"
    ),
    "chef-client": Service(kind="infra", depth=0, dry="why-run W"),
    "knife": Service(kind="infra", depth=3),
    "juju": Service(
        kind="infra", depth=1, destroys="kill-controller;destroy-model;destroy-controller;remove-application"
    ),
    "bosh": Service(
        kind="infra", depth=1, valued="e environment d deployment", destroys="delete-deployment;clean-up;delete-env"
    ),
    "kops": Service(kind="infra", depth=2, changes="update;edit;rolling-update", valued="name state"),
    "kubeadm": Service(kind="infra", depth=1, destroys="reset", changes="init;join;upgrade", secrets="token create"),
    "talosctl": Service(kind="infra", depth=1, destroys="reset", stops="shutdown;reboot", valued="n nodes e endpoints"),
    "nixops": Service(kind="infra", depth=1, destroys="destroy;delete"),
    "waypoint": Service(kind="infra", depth=1),
    "cfn": Service(kind="infra", depth=1),
    "dagger": Service(kind="infra", depth=1, changes="call;run"),
}


def _described(step: Step) -> None:
    service(step, DESCRIPTIONS[step.name])


# A line for many machines

_ANSIBLE = "i inventory m module-name a args u user e extra-vars l limit f forks t tags become-user vault-password-file"
_ASKING_MODULES = frozenset("assert debug find getent ping service_facts setup slurp stat wait_for win_ping".split())
_SCRIPT_MODULES = {"", "shell", "command", "raw", "ansible.builtin.shell", "ansible.builtin.command", "script"}


def _ansible(step: Step) -> None:
    found = step.options(_ANSIBLE.split())
    if found.has("list-hosts", "syntax-check", "list-tasks", "list-tags", "version", "help"):
        return
    module = found.value("m", "module-name")
    asks = found.has("C", "check") or (step.name == "ansible" and module.rpartition(".")[2] in _ASKING_MODULES)
    step.effect("infra", "read" if asks else "change", target=step.name, writes=True, host=_first(step))
    if step.name == "ansible" and module in _SCRIPT_MODULES:
        for text in found.values("a", "args"):
            _elsewhere(step, text)
    for secret in found.values("vault-password-file"):
        step.effect("read", "authenticate", secret, path=step.path(secret))


def _first(step: Step) -> str:
    found = step.options(_ANSIBLE.split())
    return found.rest[0].text if found.rest else ""


def _elsewhere(step: Step, text: Argument) -> None:
    """A script that runs on other machines, where nobody knows the place it starts in."""
    scene = step.scene.elsewhere()
    scene.cwd = scene.world.home
    step.script(text, scene=scene)


def _ansible_vault(step: Step) -> None:
    verb = next((word.text for word in step.words if not word.text.startswith("-")), "")
    if verb in {"view", "decrypt", "edit"}:
        step.effect("read", "secret", target=f"ansible-vault {verb}", host=step.name)
        step.out = SECRET


def _salt(step: Step) -> None:
    found = step.options("L list t timeout out c config-dir b batch-size G grain I pillar E pcre N nodegroup".split())
    words = found.rest
    function = next((index for index, word in enumerate(words[:2]) if "." in word.text), -1)
    if function < 0:
        return
    name = words[function].text
    step.effect(
        "infra", "read" if name.startswith(("test.", "grains.", "status.")) else "change", target=name, writes=True
    )
    if name.startswith("cmd."):
        for text in words[function + 1 : function + 2]:
            _elsewhere(step, text)


def _many(step: Step) -> None:
    """`pssh`, `clush`, `pdsh`: the words after the options are a script."""
    found = step.options("h H w l user p par t timeout o e g x a-".split(), stops=True)
    step.effect("connect", "ssh", host=found.value("H", "w", "h"))
    if found.rest:
        text = " ".join(word.text for word in found.rest)
        _elsewhere(step, found.rest[0]._replace(text=text, end=found.rest[-1].end))


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(DESCRIPTIONS, _described),
    **dict.fromkeys("ansible ansible-playbook ansible-pull".split(), _ansible),
    **dict.fromkeys("salt salt-call salt-ssh".split(), _salt),
    **dict.fromkeys("pssh parallel-ssh clush pdsh".split(), _many),
    "ansible-vault": _ansible_vault,
}
