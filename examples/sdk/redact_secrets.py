"""Deny reads of files with keys, by Agent and Tab. A hook cannot remove a part of a file, so it denies the whole."""

import re

from trotline import Verdict, deny, on, run
from trotline.domain.events import BeforeReadFile, BeforeTabFileRead

KEYS = re.compile(r"gh[pousr]_[A-Za-z0-9]{36}|AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----|sk-[A-Za-z0-9_-]{20}")


@on.file_read(fail_closed=True)
def deny_keys(event: BeforeReadFile | BeforeTabFileRead) -> Verdict | None:
    return deny(f"{event.file_path} holds a key.") if KEYS.search(event.content) else None


if __name__ == "__main__":
    run()
