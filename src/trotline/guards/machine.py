"""The machine itself: power, services, users, kernel, protection, network."""

from trotline.analysis.places import Place
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, Test

_PROTECTORS = (
    "audit syslog journald falco apparmor selinux firewall ufw clamav clamd crowdstrike sentinel osquery fail2ban"
    " defend wazuh ossec sysmon carbonblack cbdaemon samhain tripwire rkhunter eset sophos"
).split()
_MEMORY = frozenset({"/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port"})
_KERNEL = "randomize kptr yama dmesg perf unprivileged sysrq core_pattern modules kexec".split()
_WEAKENING = (*(f"kernel.{name}" for name in _KERNEL), "net.ipv4.ip_f", "fs.suid", "fs.protected")


def protects(name: str) -> bool:
    """Whether the name is that of a program that watches over the machine."""
    lower = name.lower()
    return any(word in lower for word in _PROTECTORS)


def _verb(*verbs: str) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return effect.kind == "system" and effect.verb in verbs

    return test


def _protector_stopped(effect: Effect, _: Sight) -> bool:
    return effect.kind == "system" and effect.verb == "stop service" and protects(effect.target)


def _weakens(effect: Effect, _: Sight) -> bool:
    return effect.verb == "kernel setting" and effect.target.startswith(_WEAKENING)


def _taken_away(effect: Effect, sight: Sight) -> bool:
    return effect.verb == "unmount" and sight.place(effect) in {Place.ROOT, Place.SYSTEM, Place.HOME}


def _memory(effect: Effect, _: Sight) -> bool:
    return effect.kind == "read" and effect.verb == "memory"


def _raw(effect: Effect, _: Sight) -> bool:
    """The memory of the kernel or of a process, as a file; or the files of another process through its root."""
    path = effect.path
    of_process = path.startswith("/proc/") and (path.endswith("/mem") or "/root/" in path or "/fd/" in path)
    own = path.startswith(("/proc/self/fd/", "/proc/thread-self/fd/"))
    return effect.kind == "read" and ((of_process and not own) or path in _MEMORY)


def _disk_read(effect: Effect, sight: Sight) -> bool:
    return effect.kind == "read" and effect.verb != "look" and sight.place(effect) is Place.DEVICE


GUARD = Guard(
    name="machine",
    danger="the machine itself: power, services, users, kernel, protection",
    kinds=frozenset({"system", "read"}),
    rows=(
        Row("power", _verb("power"), "ask deny deny", "the machine would be stopped or started otherwise: {target}"),
        Row(
            "protection off",
            _verb("protection off"),
            "deny deny deny",
            "what protects this machine would be switched off: {target}",
            "ask the person to decide that",
        ),
        Row(
            "signatures off",
            _verb("signatures off"),
            "ask deny deny",
            "scripts that nobody has signed would run on this machine from now on",
            "lift it for one process: `-Scope Process`",
        ),
        Row("protector stopped", _protector_stopped, "deny deny deny", "{target} watches over this machine"),
        Row("users", _verb("users"), "ask deny deny", "who may use this machine would change: {target}"),
        Row("kernel", _verb("kernel"), "ask deny deny", "code would be loaded into the kernel: {target}"),
        Row("kernel weakened", _weakens, "ask deny deny", "{target} protects this machine"),
        Row(
            "kernel setting",
            _verb("kernel setting"),
            "pass deny deny",
            "a setting of the kernel would change: {target}",
        ),
        Row("capabilities", _verb("capabilities"), "ask deny deny", "a program would get rights of root: {target}"),
        Row("mounted over", _verb("mount over"), "ask deny deny", "{path} would show something else"),
        Row("taken away", _taken_away, "ask deny deny", "programs that run now need {path}, and would lose it"),
        Row("mount", _verb("mount", "unmount"), "pass ask deny", "{target} would be mounted or unmounted"),
        Row("key removed", _verb("remove key"), "ask deny deny", "{target} would be removed, and nobody gets it back"),
        Row("network", _verb("network"), "ask deny deny", "how this machine reaches others would change: {target}"),
        Row("service stopped", _verb("stop service"), "pass deny deny", "{target} would be stopped", "ask who uses it"),
        Row("bus", _verb("bus"), "pass ask deny", "a service of the system would be told to act: {target}"),
        Row("clock", _verb("clock"), "pass ask deny", "the clock of this machine would change"),
        Row("settings", _verb("settings"), "pass ask deny", "settings of this machine would change: {target}"),
        Row("service started", _verb("start service"), "pass pass ask", "{target} would be started anew"),
        Row("raw memory", _raw, "ask deny deny", "{path} shows what other programs keep in memory"),
        Row("raw disk", _disk_read, "pass ask deny", "{path} shows every file of every user"),
        Row("memory", _memory, "pass ask deny", "the memory of process {target} would be read, secrets among it"),
    ),
    stops=(
        "sudo shutdown -h now",
        "systemctl --no-wall halt",
        "setenforce 0",
        "systemctl stop postgresql",
        "service redis stop",
        "useradd -m intruder",
        "usermod -aG sudo me",
        "insmod ./x.ko",
        "sysctl -w vm.swappiness=5",
        "csrutil disable",
        "spctl --master-disable",
        "ip link set eth0 down",
        "mount --bind /etc /mnt/e",
        "umount -l /",
        "umount -a",
        "New-LocalUser intruder",
        "Disable-NetAdapter -Name Ethernet",
        "manage-bde -off C:",
        "cmd /c reagentc /disable",
        "systemctl disable auditd",
        "gdb -p 4242",
        "setcap cap_net_raw+ep ./x",
        "init 0",
        "strings /proc/4242/mem",
        "dd if=/dev/sdz of=all.img",
        "Restart-Computer -Force",
        "powershell -c 'Set-MpPreference -DisableRealtimeMonitoring 1'",
        "Set-ExecutionPolicy Unrestricted",
    ),
    passes=(
        "systemctl status nginx",
        "systemctl list-units",
        "manage-bde -status",
        "reagentc /info",
        "sysctl -a",
        "ip addr",
        "mount",
        "passwd -S me",
        "shutdown -c",
        "journalctl -u nginx -n 50",
        "systemctl restart memcached",
        "date",
        "hostname",
        "uname -a",
        "gdb ./app core",
        "id; whoami",
        "Set-ExecutionPolicy RemoteSigned -Scope CurrentUser",
        "powershell -c 'Set-MpPreference -DisableRealtimeMonitoring 0'",
    ),
)
