"""Files of the system, of the kernel and of other people, written by an agent. Devices are for `disks`."""

from trotline.analysis.places import Place
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight

_KERNEL = ("/proc/", "/sys/", "/boot/")
_HARMLESS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/std", "/dev/fd/", "/dev/shm/", "/dev/pts/")  # noqa: S108 - names to recognise


def _kernel(effect: Effect, _: Sight) -> bool:
    return effect.path.startswith(_KERNEL)


def _system(effect: Effect, sight: Sight) -> bool:
    return sight.place(effect) in {Place.SYSTEM, Place.ROOT} and not effect.path.startswith(_HARMLESS)


def _outside(effect: Effect, sight: Sight) -> bool:
    return sight.place(effect) is Place.ELSEWHERE


GUARD = Guard(
    name="system_files",
    danger="files of the system and of others, written by an agent",
    kinds=frozenset({"write", "link"}),
    rows=(
        Row("kernel", _kernel, "deny deny deny", "{path} changes the machine while it runs"),
        Row("system", _system, "ask deny deny", "{path} belongs to the system", "write into the workspace"),
        Row("outside", _outside, "pass pass ask", "{path} is outside the workspace", "write into the workspace"),
    ),
    stops=(
        "echo c > /proc/sysrq-trigger",
        "cp tool /usr/local/bin/tool",
        "tar -xf all.tar -C /",
        "unzip all.zip -d /",
        "echo 3 > /proc/sys/vm/drop_caches",
        "tee /etc/resolv.conf < x",
        "sudo mv x /etc/nginx/conf.d/x.conf",
        "cp kernel /boot/vmlinuz",
        "echo 1 > /sys/power/state",
        "ln -s x /usr/bin/y",
        "touch /etc/motd.d/x",
        "install x /usr/bin",
        "strip --strip-unneeded /usr/lib/libx.so",
        "objcopy -O binary app /usr/local/bin/app",
        "patchelf --replace-needed a.so.1 a.so.2 /usr/bin/tool",
        "chrpath --replace /srv/lib /usr/bin/tool",
        "install_name_tool -change old.dylib new.dylib /usr/local/lib/x.dylib",
        "codesign -fs - /usr/local/bin/tool",
        "fallocate -l 2G /var/lib/x.img",
    ),
    passes=(
        "echo x > notes.txt",
        "make > /dev/null 2>&1",
        "cp a b",
        "echo x > /tmp/y",
        "ls > /dev/stderr",
        "tee build.log",
        "touch src/x.py",
        "cat x >> ~/notes.md",
        "dd if=/dev/zero of=blank.img bs=1M count=1",
        "mkdir -p out",
        "strip -o build/small build/tool",
        "patchelf --print-rpath /usr/bin/tool",
        "chrpath -l /usr/bin/tool",
        "codesign -dvv /usr/bin/tool",
        "fallocate -l 1M blank.img",
    ),
)
