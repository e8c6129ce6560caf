#!/usr/bin/env python3
"""Format an edited file: no tabs, no trailing blanks, a blank after a comma and around an equals sign."""

import json
import re
import sys
from pathlib import Path


def format_line(line: str) -> str:
    line = line.replace("\t", "    ").rstrip()
    indent = line[: len(line) - len(line.lstrip())]
    body = re.sub(r",(?=\S)", ", ", line.lstrip())
    return indent + re.sub(r"^(\w+)\s*=\s*(?!=)", r"\1 = ", body)


def main() -> None:
    path = Path(json.load(sys.stdin)["file_path"])
    if path.suffix != ".py":
        return
    before = path.read_text("utf-8")
    after = "\n".join(format_line(line) for line in before.splitlines()).rstrip() + "\n"
    if after != before:
        changed = sum(a != b for a, b in zip(before.splitlines(), after.splitlines(), strict=False))
        path.write_text(after, "utf-8")
        print(f"formatted {path.name}, {changed} lines", file=sys.stderr)


main()
