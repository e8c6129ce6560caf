"""What programs of the system, archivers and editors would do."""

import pytest

from trotline.analysis.action import of_command
from trotline.analysis.scene import World

WORLD = World("/home/me/work", ("/home/me/work",), "/home/me", "me")


def found(line: str) -> list[tuple[str, str, str]]:
    """Kind, verb, and what it is done to."""
    return [(e.kind, e.verb, e.path or e.target) for e in of_command(line, WORLD).effects]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("mkfs.ext4 -L x /dev/sdz1", ("disk", "format", "/dev/sdz1")),
        ("mkfs -t xfs /dev/sdz1", ("disk", "format", "/dev/sdz1")),
        ("wipefs -a /dev/sdz", ("disk", "wipe", "/dev/sdz")),
        ("sgdisk --zap-all /dev/sdz", ("disk", "partition", "/dev/sdz")),
        ("parted -s /dev/sdz mklabel gpt", ("disk", "partition", "/dev/sdz")),
        ("lvm lvremove -f g/v", ("disk", "remove volume", "g/v")),
        ("zfs destroy -r pool/set", ("disk", "remove volume", "pool/set")),
        ("diskutil eraseDisk APFS X disk9", ("disk", "erase", "disk9")),
        ("diskutil partitionDisk disk9 GPT APFS X 100%", ("disk", "erase", "disk9")),
        ("diskutil apfs deleteContainer disk9", ("disk", "erase", "disk9")),
        ("diskutil apfs eraseVolume disk9s1 -name X", ("disk", "erase", "disk9s1")),
        ("diskutil mergePartitions APFS X disk9s2 disk9s3", ("disk", "erase", "disk9s2")),
        ("format D: /q /y", ("disk", "format", "D:")),
        ("btrfs subvolume delete snaps/old", ("disk", "remove volume", "snaps/old")),
        ("nvme format -s1 /dev/nvme9n1", ("disk", "wipe", "/dev/nvme9n1")),
        ("systemctl --user stop web", ("system", "stop service", "web")),
        ("service web stop", ("system", "stop service", "web")),
        ("systemctl enable --now web", ("persist", "enable service", "web")),
        ("systemctl poweroff", ("system", "power", "poweroff")),
        ("shutdown -r +5", ("system", "power", "shutdown +5")),
        ("kill -s KILL 42", ("process", "kill", "42")),
        ("kill -9 -1", ("process", "kill", "-1")),
        ("pkill -9 -f web", ("process", "kill by name", "web")),
        ("killall -u me", ("process", "kill by name", "everything of a user")),
        ("iptables -t nat -F", ("system", "firewall", "-t nat -F")),
        ("nft flush ruleset", ("system", "firewall", "flush ruleset")),
        ("sysctl -w vm.x=1", ("system", "kernel setting", "vm.x")),
        ("useradd -m you", ("system", "users", "useradd you")),
        ("setenforce 0", ("system", "protection off", "setenforce 0")),
        ("xattr -d com.apple.quarantine x.app", ("system", "protection off", "the quarantine of a downloaded file")),
        ("xattr -dr com.apple.quarantine x", ("system", "protection off", "the quarantine of a downloaded file")),
        ("chattr -R -i /etc", ("permissions", "chattr", "/etc")),
        ("chattr +i /etc/hosts x", ("permissions", "chattr", "/home/me/work/x")),
        ("sysadminctl -deleteUser you", ("system", "users", "sysadminctl you")),
        ("systemsetup -setremotelogin on", ("system", "settings", "systemsetup on")),
        ("ip route replace default via 10.9.9.9", ("system", "network", "route replace default via")),
        ("mount --bind /etc m", ("system", "mount over", "/home/me/work/m")),
        ("history -c", ("system", "erase log", "the history of the shell")),
        ("security dump-keychain", ("read", "secret", "the keychain")),
        ("pass mail/x", ("read", "secret", "mail/x")),
        ("gpg --export-secret-keys", ("read", "secret", "private keys")),
        ("gdb -p 42", ("read", "memory", "42")),
        ("net user you x /add", ("system", "users", "net user you x")),
        ("netsh advfirewall set x state off", ("system", "firewall", "netsh advfirewall set x")),
        ("vssadmin delete shadows", ("disk", "remove backups", "vssadmin")),
        ("while :; do work & done", ("process", "fork bomb", "the loop")),
    ],
)
def test_what_is_done_to_the_machine_is_told(line: str, expected: tuple[str, str, str]) -> None:
    assert expected in found(line)


@pytest.mark.parametrize(
    "line",
    [
        "mkfs.ext4 -n /dev/sdz1",
        "wipefs /dev/sdz",
        "fdisk -l /dev/sdz",
        "parted /dev/sdz print",
        "lvremove --test g/v",
        "zpool status",
        "diskutil list",
        "lsattr /etc/hosts",
        "xattr -p com.apple.quarantine x",
        "diskutil resizeVolume disk9s1 limits",
        "format src/",
        "systemctl status web",
        "shutdown -c",
        "kill -l",
        "iptables -L -n",
        "nft list ruleset",
        "sysctl -a",
        "ip route show",
        "ifconfig -a",
        "mount",
        "passwd -S me",
        "visudo -c",
        "journalctl -n 9",
        "date +%s",
        "hostname",
        "spctl --status",
        "defaults read x",
        "reg query HKLM",
        "sc query",
        "while :; do work; sleep 1; done",
        "while :; do work & wait; done",
    ],
)
def test_what_only_shows_something_does_nothing(line: str) -> None:
    assert [row for row in found(line) if row[0] != "read"] == []


@pytest.mark.parametrize(
    "carrier",
    [
        "tar cf a.tar --checkpoint=1 --checkpoint-action=exec='{}' x",
        "tar xf a.tar --to-command='{}'",
        "tar -I '{}' -cf a.tar x",
        "zip a.zip x -T -TT '{}'",
        "vim -c ':!{}' x",
        "vi '+!{}' x",
        "nvim --headless -c 'call system(\"{}\")'",
        "emacs --batch --eval '(shell-command \"{}\")'",
        "man -P '{}' ls",
        "expect -c 'spawn {}'",
        "tmux new-session -d '{}'",
        "tmux send-keys -t 0 '{}' Enter",
        "screen -dmS x sh -c '{}'",
        "busybox {}",
        "toybox {}",
        "gdb -batch -ex 'shell {}'",
        "gdb -ex 'call system(\"{}\")' ./x",
        "lldb -o 'expr (int)system(\"{}\")'",
        "start-stop-daemon --start --exec /bin/sh -- -c '{}'",
        "logsave log {}",
        "cpulimit -l 50 -- {}",
        "osascript -e 'do shell script \"{}\"'",
        "nc h.example 9 -c '{}'",
        "socat - system:'{}'",
        "socat - 'exec:{}'",
        "echo '!{}' | ftp h.example",
        "yt-dlp --exec '{}' h.example/v",
        "schtasks /create /tn x /tr '{}'",
        "autossh -M 0 -f build.example.org '{}'",
        "bwrap --ro-bind /usr /usr --dev /dev {}",
        "cargo watch -q -s '{}'",
        "cargo watch -- {}",
        "devbox run -- {}",
        "distrobox enter box -- {}",
        "docker compose run --rm -v /home/me:/home/me --entrypoint '{}' shop",
        "docker run -v /home/me:/home/me --entrypoint '' img {}",
        "dotenvx run -f .env -- {}",
        "dumb-init {}",
        "elvish -c '{}'",
        "envchain work {}",
        "fab -H web1 -- {}",
        "flatpak-spawn --host {}",
        "foreman run -e .env {}",
        "guix shell coreutils -- {}",
        "honcho run {}",
        "hyperfine -i -w 3 'true' '{}'",
        "hyperfine 'true' --prepare '{}'",
        "ifne {}",
        "jshell <<< 'Runtime.getRuntime().exec(\"{}\")'",
        "less '+!{}' x",
        "mosh build.example.org -- {}",
        "mprocs 'true' '{}'",
        "nix develop .#x -c {}",
        "nix-shell -p jq curl --run '{}'",
        "nu -c '{}'",
        "pixi run -e test {}",
        "pueue add -- {}",
        "retry -t 3 -- {}",
        "rye run {}",
        "./vendor/bin/sail php -r 'system(\"{}\");'",
        "sshpass -p x ssh build.example.org '{}'",
        "tclsh <<< 'exec {}'",
        "teller run -- {}",
        "tini -g -- {}",
        "toolbox run -c box {}",
        "tsp {}",
        "watchexec -e ts -- {}",
        "watchexec '{}'",
        "wsl -d Ubuntu -- {}",
        "wsl -e {}",
        "xonsh -c '{}'",
    ],
)
def test_a_program_inside_another_is_found(carrier: str) -> None:
    assert ("delete", "rm", "/home/me") in found(carrier.replace("{}", "rm -rf /home/me"))


@pytest.mark.parametrize("line", ["fd . ~ -X rm -rf", "fd -H -t f . ~ -x rm {}", "fdfind --exec rm -rf ';' . ~"])
def test_what_fd_runs_is_run_on_all_that_it_finds(line: str) -> None:
    assert found(line) == [("delete", "rm", "/home/me")]


@pytest.mark.parametrize(
    "line",
    [
        "fd -e py src",
        "foreman start",
        "guix shell coreutils",
        "nix flake check",
        "nix run nixpkgs#hello -- --help",
        "pueue status",
        "fab -H web1 deploy",
        "wsl --list",
        "hyperfine -w 3 'ls'",
        "nix-shell -p jq curl",
    ],
)
def test_a_program_that_could_run_another_and_does_not_does_nothing(line: str) -> None:
    assert found(line) == []


@pytest.mark.parametrize(
    "line, expected",
    [
        ("tar czf a.tgz src", ("read", "pack", "/home/me/work/src")),
        ("tar czf a.tgz -C /etc ssh", ("read", "pack", "/etc/ssh")),
        ("tar xzf a.tgz -C /opt/x", ("write", "unpack", "/opt/x")),
        ("tar -cf a.tar --remove-files src", ("delete", "tar", "/home/me/work/src")),
        ("zip -rm a.zip src", ("delete", "zip", "/home/me/work/src")),
        ("unzip a.zip -d out", ("write", "unpack", "/home/me/work/out")),
        ("7z x a.7z -oout", ("write", "unpack", "/home/me/work/out")),
        ("7z a a.7z .env", ("read", "pack", "/home/me/work/.env")),
    ],
)
def test_archivers_read_what_they_pack_and_write_what_they_unpack(line: str, expected: tuple[str, str, str]) -> None:
    assert expected in found(line)


@pytest.mark.parametrize(
    "line, written",
    [
        ("gawk -i inplace -f tidy.awk a b", ["a", "b"]),
        ("patch a x.diff", ["a"]),
        ("patch -o c a x.diff", ["c"]),
        ("patch -d sub -i x.diff a", ["sub/a"]),
        ("patch -p1 <<< '+++ b/src/a'", ["src/a"]),
        ("strip -R .comment a b", ["a", "b"]),
        ("strip -o c a", ["c"]),
        ("objcopy --strip-all a", ["a"]),
        ("llvm-objcopy --rename-section .x=.y a c", ["c"]),
        ("patchelf --replace-needed x.so y.so a b", ["a", "b"]),
        ("patchelf --set-rpath lib --output c a", ["c"]),
        ("chrpath -r lib a", ["a"]),
        ("install_name_tool -change x y -id z a", ["a"]),
        ("codesign --sign - --force a", ["a"]),
        ("codesign --remove-signature a", ["a"]),
        ("fallocate -l 1M a", ["a"]),
        ("patch --dry-run a x.diff", []),
        ("chrpath a", []),
        ("codesign --verify a", []),
        ("patchelf --print-needed a", []),
    ],
)
def test_what_rewrites_a_file_writes_the_one_that_is_changed(line: str, written: list[str]) -> None:
    assert [path for kind, _, path in found(line) if kind == "write"] == [f"/home/me/work/{name}" for name in written]


@pytest.mark.parametrize(
    "line",
    [
        "alias git='rm -rf /home/me'",
        "git() { rm -rf /home/me; }",
        "command_not_found_handle() { rm -rf /home/me; }",
        "complete -C 'rm -rf /home/me' git",
        "mapfile -C 'rm -rf /home/me #' < x",
    ],
)
def test_what_is_put_in_the_place_of_a_program_is_read_at_once(line: str) -> None:
    assert ("delete", "rm", "/home/me") in found(line)


def test_a_function_with_a_name_of_its_own_does_nothing_until_it_is_called() -> None:
    assert found("my_cleaner() { rm -rf /home/me; }") == []


@pytest.mark.parametrize(
    "line",
    [
        'eval "$(echo ZWNobyBoaQ== | base64 -d)"',
        "printf '\\x65\\x63\\x68\\x6f' | sh",
        "echo ZWNobyBoaQ== | base64 -d | sh",
    ],
)
def test_hidden_text_that_is_run_is_told_even_where_it_can_be_read(line: str) -> None:
    effects = of_command(line, WORLD).effects
    assert any(effect.kind == "execute" and effect.source == "decoded" for effect in effects)


def test_what_a_program_prints_into_a_shell_is_not_known() -> None:
    effects = of_command("some-program | sh", WORLD).effects
    assert [(effect.source, effect.certainty) for effect in effects] == [("output", "opaque")]
