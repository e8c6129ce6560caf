"""Programs whose effects follow from their words and options alone, one row each; `phrases.py` explains the language.

To add a dangerous program, add a row here and its cases to tests/corpus/program_table.json. Programs of remote services
belong to `service_table.py`, programs that run another program to `wrappers.py`.
"""

from functools import partial

from trotline.analysis.programs.phrases import NAME, PATH, Act, ProgramRow, analyze_program, expand_names, program
from trotline.analysis.shell.invocation import Handler

_POWER, _PROTECTION, _FIREWALL, _USERS, _KERNEL, _SETTINGS, _NETWORK = (
    f"system: {verb}" for verb in ("power", "protection off", "firewall", "users", "kernel", "settings", "network")
)
_ERASE_LOG, _STOP_SERVICE = "system: erase log", "system: stop service"

_MACHINE = {
    # Power and boot
    "efibootmgr": program(Act(_POWER, "~B|b|O|o|n|c|delete-bootnum|create")),
    "grub-install kexec telinit": program(Act(_POWER)),
    "halt poweroff reboot": program(Act(_POWER), dry="help w"),
    "init": program(Act(_POWER, "0|1|6|s|S"), dry="", shown=1),
    "nvram": program(Act(_POWER, "~c|d")),
    "pmset": program(Act(_POWER, "~sleepnow|schedule|repeat")),
    "shutdown": program(Act(_POWER), dry="c k help show"),
    # Protection
    "aa-complain aa-disable aa-teardown setsebool": program(Act(_PROTECTION)),
    "apparmor_parser": program(Act(_PROTECTION, "~R|remove")),
    "auditctl": program(Act(_PROTECTION, "~e|D|d|W|f|flush|reset-lost")),
    "csrutil": program(Act(_PROTECTION, "~disable|authenticated-root|clear")),
    "fdesetup": program(Act(_PROTECTION, "~disable|removerecovery")),
    "semanage": program(Act(_PROTECTION, "~permissive|boolean|port|fcontext")),
    "setenforce": program(Act(_PROTECTION, "~0|permissive|Permissive")),
    "spctl": program(Act(_PROTECTION, "~master-disable|global-disable|disable|add|remove")),
    "tccutil": program(Act(_PROTECTION, "~reset")),
    # Firewall and network
    "arp": program(Act(_NETWORK, "+s|d|f|S", "the table of neighbours"), valued="i H", dry=""),
    "firewall-cmd": program(
        Act(
            _FIREWALL,
            "~panic-off|add-port|add-service|add-rich-rule|add-masquerade|remove-rich-rule|set-default-zone"
            "|complete-reload|add-forward-port",
        )
    ),
    "hostname": program(Act(_NETWORK, "*; +F|file", "the name of the machine"), valued="F file", dry=""),
    "hostnamectl": program(Act(_NETWORK, "... set-hostname|hostname", "{words}"), dry=""),
    "ifconfig route": program(
        Act(_NETWORK, "... up|down|add|del|delete|netmask|alias|inet|mtu|hw|ether|change|flush"), dry="", depth=4
    ),
    "ip6tables iptables": program(
        Act(
            _FIREWALL,
            "+A|I|D|R|F|X|P|Z|N|E|append|insert|delete|replace|flush|delete-chain|policy|new-chain|rename-chain|zero",
            "{words}",
        ),
        valued="t p s d i o j m w table protocol source destination jump match sport dport to-port",
        dry="",
        shown=4,
    ),
    "ip6tables-restore iptables-restore": program(Act(_FIREWALL, "", "all rules"), dry="t test"),
    "pfctl": program(Act(_FIREWALL, "~F|d|f|e|t")),
    "ufw": program(Act(_FIREWALL, "~disable|reset|allow|delete|default")),
    # Users and rights
    "addgroup adduser chpasswd delgroup deluser groupadd groupdel groupmod newgrp newusers useradd userdel usermod"
    " vipw": program(Act(_USERS)),
    "chage": program(Act(_USERS, "~E|I|M|m|W|d")),
    "chsh": program(Act(_USERS, "~s|shell")),
    "dscl": program(
        Act(
            _USERS, "... create|delete|append|passwd|merge|change; +create|delete|append|passwd|merge|change", "{words}"
        ),
        dry="",
        long_dash=True,
    ),
    "dseditgroup": program(Act(_USERS, "~o")),
    "gpasswd": program(Act(_USERS), dry="help"),
    "passwd": program(Act(_USERS), dry="S status help"),
    "setcap": program(Act("system: capabilities")),
    "sysadminctl": program(
        Act(_USERS, "~addUser|deleteUser|resetPasswordFor|adminPassword|guestAccount"), long_dash=True
    ),
    "visudo": program(Act(_USERS), dry="c check help version"),
    # Kernel
    "bpftool": program(Act(_KERNEL, "~prog|map")),
    "depmod insmod kextload kextunload rmmod": program(Act(_KERNEL)),
    "kmod kmutil": program(Act(_KERNEL, "~load|unload")),
    "modprobe": program(Act(_KERNEL), dry="n dry-run show-depends D help version"),
    # Logs, clock and settings
    "dmesg": program(Act(_ERASE_LOG, "~C|c|clear|read-clear")),
    "journalctl": program(Act(_ERASE_LOG, "+vacuum-size|vacuum-time|vacuum-files|rotate|flush", "the journal"), dry=""),
    "history": program(
        Act(_ERASE_LOG, "+c|d", "the history of the shell"),
        Act("read: history", "-a -c -d -n -p -r -s -w", "the history of the shell"),
        valued="d",
        dry="",
    ),
    "logrotate": program(Act(_ERASE_LOG, "~f|force")),
    "pivot_root": program(Act("system: mount over")),
    "restorecon": program(Act(_SETTINGS, "~R|r")),
    "softwareupdate": program(Act(_SETTINGS, "~i|install|ignore|reset-ignored|schedule")),
    "systemsetup": program(
        Act(_SETTINGS, "~setremotelogin|setremoteappleevents|settimezone|setdate|settime"), long_dash=True
    ),
    "timedatectl": program(Act("system: clock", "... set-time|set-timezone|set-ntp|set-local-rtc", "{words}"), dry=""),
    # Sessions and services
    "loginctl": program(
        Act("system: processes", "~terminate-user|terminate-session|kill-user|kill-session"),
        Act("persist: enable service", "~enable-linger"),
        Act(_POWER, "~poweroff|reboot|suspend"),
    ),
    "pg_ctl pm2 supervisorctl": program(
        Act(_STOP_SERVICE, "... stop|quit|graceful-stop|kill|delete|shutdown|remove", "{last}", "stop"), dry=""
    ),
    "apache2ctl apachectl": program(
        Act(_STOP_SERVICE, "stop|graceful-stop; +k=stop|quit|graceful-stop", "{name}", "stop"),
        valued="k c p g f",
        dry="",
    ),
    "caddy varnishadm": program(Act(_STOP_SERVICE, "stop", "{name}", "stop"), valued="c p g f", dry=""),
    "haproxy": program(Act(_STOP_SERVICE, "+sf|st", "{name}", "stop"), valued="c p g f", dry="", long_dash=True),
    "httpd": program(Act(_STOP_SERVICE, "+k=stop|quit|graceful-stop", "{name}", "stop"), valued="k c p g f", dry=""),
    "nginx openresty tengine": program(
        Act(_STOP_SERVICE, "+s=stop|quit|graceful-stop", "{name}", "stop"), valued="s c p g f", dry=""
    ),
}


def _build_disk_row(verb: str, when: str = "", valued: str = "", *, dry: str = "", objects: str = PATH) -> ProgramRow:
    """Return the row of a program that destroys what is on its devices or volumes."""
    dry = dry or "n dry-run test no-act pretend help h V version"
    return program(Act(f"disk: {verb}", when, objects=objects), valued=valued, dry=dry)


_LVM_DRY = "test t h help V version"
_FORMAT_DRY = "n dry-run test no-act pretend"  # `-V` and `-h` mean something else to these
_FILE_SYSTEMS = (
    "bcachefs bfs btrfs cramfs exfat ext2 ext3 ext4 f2fs fat jfs minix msdos nilfs2 ntfs reiserfs udf vfat xfs zfs"
)

_DISKS = {
    "badblocks": _build_disk_row("wipe", "+w|n", "b c e d i o p t", dry="h help V version"),
    "blkdiscard": _build_disk_row("wipe", "", "o l p offset length step"),
    "btrfs": _build_disk_row("remove volume", "... delete|remove", objects=NAME),
    "cryptsetup": _build_disk_row(
        "erase", "... luksFormat|luksErase|erase|luksKillSlot|luksRemoveKey|reencrypt", "d key-file c s h"
    ),
    "dmsetup": _build_disk_row("remove volume", "... remove|remove_all|wipe_table", objects=NAME),
    "fdformat": _build_disk_row("format", dry=_FORMAT_DRY),
    "gpart": _build_disk_row("partition", "... destroy|delete|create|restore", "t s i l"),
    "hdparm": _build_disk_row("wipe", "+security-erase|security-erase-enhanced|trim-sector-ranges|make-bad-sector"),
    "lvreduce": _build_disk_row("shrink", "", "L l size extents", objects=NAME),
    "lvremove": _build_disk_row("remove volume", "", "S reportformat config select", dry=_LVM_DRY, objects=NAME),
    "mdadm": _build_disk_row("remove array", "+S|stop|zero-superblock|r|remove|f|fail|set-faulty|create|C"),
    "mke2fs": _build_disk_row("format", "", "b C E f g G i I J L m M N O r T U t e d o", dry=_FORMAT_DRY),
    "mkfs": _build_disk_row("format", "", "t type L", dry=_FORMAT_DRY),
    " ".join(f"mkfs.{name}" for name in _FILE_SYSTEMS.split()): _build_disk_row(
        "format", "", "t type L", dry=_FORMAT_DRY
    ),
    "mkswap": _build_disk_row("format", "", "L U p label uuid pagesize", dry=_FORMAT_DRY),
    "newfs": _build_disk_row("format", "", "b f i m O U L", dry=_FORMAT_DRY),
    "newfs_apfs newfs_hfs": _build_disk_row("format", "", "v", dry=_FORMAT_DRY),
    "nvme": _build_disk_row("wipe", "... format|sanitize|write-zeroes|delete-ns|write-uncor", "s n l f"),
    "pvremove": _build_disk_row("remove volume", "", "config reportformat", dry=_LVM_DRY),
    "resize2fs": _build_disk_row("shrink", "", "S z d"),
    "sgdisk": _build_disk_row(
        "partition", "+z|Z|zap|zap-all|o|clear|d|delete|n|new|G|mbrtogpt|g|l|load-backup", "d n c t a A b l"
    ),
    "swapoff": _build_disk_row("unmount"),
    "tune2fs": _build_disk_row("format", "+O", "L m O c e i", dry=_FORMAT_DRY),
    "vgreduce": _build_disk_row("remove volume", "", "config", dry=_LVM_DRY, objects=NAME),
    "vgremove": _build_disk_row("remove volume", "", "S config reportformat select", dry=_LVM_DRY, objects=NAME),
    "wipefs": _build_disk_row("wipe", "+a|all|o|offset", "o t O offset types output"),
    "zfs": _build_disk_row("remove volume", "... destroy|rollback", "o t", objects=NAME),
    "zpool": _build_disk_row(
        "remove volume", "... destroy|labelclear|remove|split|offline|detach|create", "o", objects=NAME
    ),
}

_SHOW = "... get|show|read|view|clip|cat|unlock|lookup|retrieve|otp|totp"
_SHOW_KEYS = "... showconf|private-key|export|dump; +s|show-secrets"
_SECRETS = {
    "bw gopass keepassxc-cli keyring kwallet-query kwalletcli lpass nordpass-cli rbw": program(
        Act("read: secret", _SHOW), Act("read: secret", "... export", recursive=True), dry="", depth=2, shown=2
    ),
    "coredumpctl": program(Act("read: memory", "dump|debug|gdb", "{last}"), dry=""),
    "keyctl": program(
        Act("read: secret", "print|read|pipe", "a key of the kernel's keyring"),
        Act("system: remove key", "clear|revoke|unlink|purge|invalidate|setperm|chown", "{words}", writes=False),
        dry="",
        shown=2,
    ),
    "nmcli": program(
        Act("read: secret", _SHOW_KEYS, "the keys of {name}"),
        Act(_NETWORK, "... add|delete|modify|up|down|off", "{words}"),
        dry="",
    ),
    "wg": program(Act("read: secret", _SHOW_KEYS, "the keys of {name}"), dry=""),
}

_DATABASE_FILES = {
    "memcflush memcrm": program(Act("data: destroy", "", "{name}"), dry=""),
    "pg_dropcluster": program(Act("data: destroy", "*", "cluster {rest}"), dry="", shown=2),
}

ROWS = expand_names({**_MACHINE, **_DISKS, **_SECRETS, **_DATABASE_FILES})

PROGRAMS: dict[str, Handler] = {name: partial(analyze_program, row=row) for name, row in ROWS.items()}
