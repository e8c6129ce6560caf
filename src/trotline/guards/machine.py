"""Guard: the machine itself: power, services, users, kernel, protection, network."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, DENY, HIGH, LOW, MEDIUM, PASS, Filter, GuardContext, build_guard, rule

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


def _reaches_into_processes(effect: Effect, _: GuardContext) -> bool:
    """Return whether the path is memory, or reaches files through the /proc directory of a process.

    Our own descriptors do not count.
    """
    path = effect.path
    if path in _MEMORY_FILES:
        return True
    is_own = path.startswith(("/proc/self/fd/", "/proc/thread-self/fd/"))
    of_process = path.startswith("/proc/") and (path.endswith("/mem") or "/root/" in path or "/fd/" in path)
    return of_process and not is_own


def _reads_content(effect: Effect, _: GuardContext) -> bool:
    return effect.verb != "look"


GUARD = build_guard(
    "machine",
    "the machine itself: power, services, users, kernel, protection",
    {
        "power": rule("system: power", HIGH, "the machine would be stopped or started otherwise: {target}"),
        "protection off": rule(
            "system: protection off",
            CRITICAL,
            "what protects this machine would be switched off: {target}",
            "ask the person to decide that",
        ),
        "signatures off": rule(
            "system: signatures off",
            HIGH,
            "scripts that nobody has signed would run on this machine from now on",
            "lift it for one process: `-Scope Process`",
        ),
        "protector stopped": rule(
            Filter("system: stop service", when=_targets_protector), CRITICAL, "{target} watches over this machine"
        ),
        "users": rule("system: users", HIGH, "who may use this machine would change: {target}"),
        "kernel": rule("system: kernel", HIGH, "code would be loaded into the kernel: {target}"),
        "kernel weakened": rule(
            Filter("system: kernel setting", when=_weakens_kernel), HIGH, "{target} protects this machine"
        ),
        "kernel setting": rule(
            "system: kernel setting", (PASS, DENY, DENY), "a setting of the kernel would change: {target}"
        ),
        "capabilities": rule("system: capabilities", HIGH, "a program would get rights of root: {target}"),
        "mounted over": rule("system: mount over", HIGH, "{path} would show something else"),
        "taken away": rule(
            Filter("system: unmount", locations={Location.ROOT, Location.SYSTEM, Location.HOME}),
            HIGH,
            "programs that run now need {path}, and would lose it",
        ),
        "mount": rule("system: mount|unmount", MEDIUM, "{target} would be mounted or unmounted"),
        "key removed": rule("system: remove key", HIGH, "{target} would be removed, and nobody gets it back"),
        "network": rule("system: network", HIGH, "how this machine reaches others would change: {target}"),
        "service stopped": rule(
            "system: stop service", (PASS, DENY, DENY), "{target} would be stopped", "ask who uses it"
        ),
        "bus": rule("system: bus", MEDIUM, "a service of the system would be told to act: {target}"),
        "clock": rule("system: clock", MEDIUM, "the clock of this machine would change"),
        "settings": rule("system: settings", MEDIUM, "settings of this machine would change: {target}"),
        "service started": rule("system: start service", LOW, "{target} would be started anew"),
        "raw memory": rule(
            Filter("read: *", when=_reaches_into_processes), HIGH, "{path} shows what other programs keep in memory"
        ),
        "raw disk": rule(
            Filter("read: *", locations={Location.DEVICE}, when=_reads_content),
            MEDIUM,
            "{path} shows every file of every user",
        ),
        "memory": rule("read: memory", MEDIUM, "the memory of process {target} would be read, secrets among it"),
    },
)
