"""Guard: the machine itself: power, services, users, kernel, protection, network."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Effect
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardContext, GuardRule

_PROTECTORS = (
    "audit syslog journald falco apparmor selinux firewall ufw clamav clamd crowdstrike sentinel osquery fail2ban"
    " defend wazuh ossec sysmon carbonblack cbdaemon samhain tripwire rkhunter eset sophos"
).split()
_MEMORY_FILES = frozenset({"/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port"})
_KERNEL = "randomize kptr yama dmesg perf unprivileged sysrq core_pattern modules kexec".split()
_PROTECTIVE_SETTINGS = (*(f"kernel.{name}" for name in _KERNEL), "net.ipv4.ip_f", "fs.suid", "fs.protected")


def is_protector(name: str) -> bool:
    """Return whether a service or process of this name protects or monitors the machine."""
    lower = name.lower()
    return any(word in lower for word in _PROTECTORS)


def _targets_protector(effect: Effect, _: GuardContext) -> bool:
    return is_protector(effect.target)


def _weakens_kernel(effect: Effect, _: GuardContext) -> bool:
    return effect.target.startswith(_PROTECTIVE_SETTINGS)


def _is_raw_memory(effect: Effect, _: GuardContext) -> bool:
    """Return whether the path is kernel or process memory, or reaches files of another process through /proc."""
    path = effect.path
    if path in _MEMORY_FILES:
        return True
    own = path.startswith(("/proc/self/fd/", "/proc/thread-self/fd/"))
    of_process = path.startswith("/proc/") and (path.endswith("/mem") or "/root/" in path or "/fd/" in path)
    return of_process and not own


def _reads_content(effect: Effect, _: GuardContext) -> bool:
    return effect.verb != "look"


GUARD = Guard(
    name="machine",
    danger="the machine itself: power, services, users, kernel, protection",
    kinds={"system", "read"},
    rules=(
        GuardRule(
            "power",
            Filter(kinds={"system"}, verbs={"power"}),
            (ASK, DENY, DENY),
            "the machine would be stopped or started otherwise: {target}",
        ),
        GuardRule(
            "protection off",
            Filter(kinds={"system"}, verbs={"protection off"}),
            (DENY, DENY, DENY),
            "what protects this machine would be switched off: {target}",
            "ask the person to decide that",
        ),
        GuardRule(
            "signatures off",
            Filter(kinds={"system"}, verbs={"signatures off"}),
            (ASK, DENY, DENY),
            "scripts that nobody has signed would run on this machine from now on",
            "lift it for one process: `-Scope Process`",
        ),
        GuardRule(
            "protector stopped",
            Filter(kinds={"system"}, verbs={"stop service"}, when=_targets_protector),
            (DENY, DENY, DENY),
            "{target} watches over this machine",
        ),
        GuardRule(
            "users",
            Filter(kinds={"system"}, verbs={"users"}),
            (ASK, DENY, DENY),
            "who may use this machine would change: {target}",
        ),
        GuardRule(
            "kernel",
            Filter(kinds={"system"}, verbs={"kernel"}),
            (ASK, DENY, DENY),
            "code would be loaded into the kernel: {target}",
        ),
        GuardRule(
            "kernel weakened",
            Filter(verbs={"kernel setting"}, when=_weakens_kernel),
            (ASK, DENY, DENY),
            "{target} protects this machine",
        ),
        GuardRule(
            "kernel setting",
            Filter(kinds={"system"}, verbs={"kernel setting"}),
            (PASS, DENY, DENY),
            "a setting of the kernel would change: {target}",
        ),
        GuardRule(
            "capabilities",
            Filter(kinds={"system"}, verbs={"capabilities"}),
            (ASK, DENY, DENY),
            "a program would get rights of root: {target}",
        ),
        GuardRule(
            "mounted over",
            Filter(kinds={"system"}, verbs={"mount over"}),
            (ASK, DENY, DENY),
            "{path} would show something else",
        ),
        GuardRule(
            "taken away",
            Filter(verbs={"unmount"}, locations={Location.ROOT, Location.SYSTEM, Location.HOME}),
            (ASK, DENY, DENY),
            "programs that run now need {path}, and would lose it",
        ),
        GuardRule(
            "mount",
            Filter(kinds={"system"}, verbs={"mount", "unmount"}),
            (PASS, ASK, DENY),
            "{target} would be mounted or unmounted",
        ),
        GuardRule(
            "key removed",
            Filter(kinds={"system"}, verbs={"remove key"}),
            (ASK, DENY, DENY),
            "{target} would be removed, and nobody gets it back",
        ),
        GuardRule(
            "network",
            Filter(kinds={"system"}, verbs={"network"}),
            (ASK, DENY, DENY),
            "how this machine reaches others would change: {target}",
        ),
        GuardRule(
            "service stopped",
            Filter(kinds={"system"}, verbs={"stop service"}),
            (PASS, DENY, DENY),
            "{target} would be stopped",
            "ask who uses it",
        ),
        GuardRule(
            "bus",
            Filter(kinds={"system"}, verbs={"bus"}),
            (PASS, ASK, DENY),
            "a service of the system would be told to act: {target}",
        ),
        GuardRule(
            "clock",
            Filter(kinds={"system"}, verbs={"clock"}),
            (PASS, ASK, DENY),
            "the clock of this machine would change",
        ),
        GuardRule(
            "settings",
            Filter(kinds={"system"}, verbs={"settings"}),
            (PASS, ASK, DENY),
            "settings of this machine would change: {target}",
        ),
        GuardRule(
            "service started",
            Filter(kinds={"system"}, verbs={"start service"}),
            (PASS, PASS, ASK),
            "{target} would be started anew",
        ),
        GuardRule(
            "raw memory",
            Filter(kinds={"read"}, when=_is_raw_memory),
            (ASK, DENY, DENY),
            "{path} shows what other programs keep in memory",
        ),
        GuardRule(
            "raw disk",
            Filter(kinds={"read"}, locations={Location.DEVICE}, when=_reads_content),
            (PASS, ASK, DENY),
            "{path} shows every file of every user",
        ),
        GuardRule(
            "memory",
            Filter(kinds={"read"}, verbs={"memory"}),
            (PASS, ASK, DENY),
            "the memory of process {target} would be read, secrets among it",
        ),
    ),
)
