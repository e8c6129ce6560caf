"""Modes and owners: opened to everybody, or taken from those who need them."""

from trotline.analysis.places import Place
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight

_MACHINE = {Place.ROOT, Place.SYSTEM, Place.HOME, Place.DEVICE}


def _system(effect: Effect, sight: Sight) -> bool:
    return sight.place(effect) in _MACHINE and (
        effect.recursive or effect.verb in {"chmod", "chattr"} or sight.place(effect) is Place.DEVICE
    )


def _setuid(effect: Effect, _: Sight) -> bool:
    mode = effect.target
    digits = mode.isdigit() and len(mode.lstrip("0")) > 3 and mode.lstrip("0")[0] in "2467"
    return effect.verb == "chmod" and (digits or ("s" in mode and "+" in mode))


def _everybody(effect: Effect, _: Sight) -> bool:
    mode = effect.target
    digits = mode.isdigit() and len(mode) >= 3 and mode[-1] in "2367"
    letters = mode.partition("+")[2].count("w") and mode.partition("+")[0] in {"a", "o", "ugo", "go", "uo"}
    return effect.verb == "chmod" and bool(digits or letters)


def _everybody_everywhere(effect: Effect, sight: Sight) -> bool:
    return effect.recursive and _everybody(effect, sight)


def _outside(effect: Effect, sight: Sight) -> bool:
    return effect.recursive and sight.place(effect) in {Place.PERSONAL, Place.ELSEWHERE, Place.UNKNOWN}


GUARD = Guard(
    name="permissions",
    danger="modes and owners that open or lock what others rely on",
    kinds=frozenset({"permissions"}),
    rows=(
        Row(
            "system",
            _system,
            "deny deny deny",
            "{path} would get another mode or owner",
            "name one file in the workspace",
        ),
        Row("set user id", _setuid, "deny deny deny", "{path} would run with the rights of its owner"),
        Row(
            "everybody, everywhere",
            _everybody_everywhere,
            "ask deny deny",
            "everybody could write below {path}",
            "give u+rw",
        ),
        Row("everybody", _everybody, "pass deny deny", "everybody could write {path}", "give u+w, or u+x to run it"),
        Row("outside", _outside, "pass ask deny", "everything below {path} would get another mode or owner"),
    ),
    stops=(
        "chmod -R 777 /",
        "chown -R nobody ~",
        "chmod 777 run.sh",
        "chmod u+s ./tool",
        "chmod -R a+w .",
        "sudo chown -R dev /usr/local",
        "chmod 4755 x",
        "chmod -R 000 /etc/ssl",
        "chmod o+w x",
        "chgrp -R staff /var",
        "find / -xdev -exec chown nobody {} +",
        "find . -type d -exec chmod o+w {} +",
        "find /srv/shop -type f -print0 | xargs -0 chgrp staff",
    ),
    passes=(
        "chmod +x run.sh",
        "chmod 644 notes.md",
        "chmod -R u+rw src",
        "chown dev file.txt",
        "chmod 755 bin/tool",
        "chmod -x old.sh",
        "chmod u=rw,go=r x",
        "chgrp staff x",
        "chmod 600 .env",
        "chmod --reference=a b",
        "find src -name '*.sh' -exec chmod u+x {} +",
        "find docs -type f | xargs chmod 644",
        "git ls-files 'bin/*' | xargs chmod +x",
    ),
)
