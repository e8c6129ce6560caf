"""Verify an audit log without importing Trotline: `python independent_verifier.py audit_log.db [ANCHOR]`.

A digest is the SHA-256 of `<previous digest> <seq> <kind> <id> <salted>`, and `salted` that of `<salt> <body>`. An
anchor has lines `trotline-anchor <seq> <digest>`: heads that were noted elsewhere; if an entry has two, the
first counts. Only the chain and heads are checked. Exit code 0: valid. 1: not valid. 2: something cannot be read.
"""

import hashlib
import json
import re
import sqlite3
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTED = re.compile(r"(?:.*\btrotline-anchor )?([0-9]{1,18}) ([0-9a-f]{64})(?: .*)?")
ENTRY = re.compile(r"(record|detail|forgotten) [!-~]{1,128}( [0-9a-f]{64}){2}( [0-9a-f]{32})?")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def is_entry(salt: Any, body: Any, *link: Any) -> bool:
    texts = link if body is None else (*link, salt)
    shaped = all(isinstance(text, str) for text in texts) and ENTRY.fullmatch(" ".join(texts))
    return bool(shaped) and (salt is None if body is None else isinstance(body, str))


def spans(body: str) -> list[list[int]]:
    try:
        named = json.loads(body)["entries"]
        sound = isinstance(named, list) and all(type(end) is int for first, last in named for end in (first, last))
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return named if sound else []


def problems(db: sqlite3.Connection, anchors: list[tuple[int, str]]) -> Iterator[str]:
    last, previous = 0, "0" * 64
    digests: dict[int, str] = {}
    gone: list[int] = []
    entries = db.execute("SELECT seq, kind, id, salt, body, salted, digest FROM entries ORDER BY seq")
    for seq, kind, id_, salt, body, salted, digest in entries:
        if seq < 1:
            yield f"{seq}: {id_!a}: no entry has such a number"
            continue
        if seq != last + 1:
            yield f"{last + 1}: missing, up to {seq - 1}"
        elif sha256(f"{previous} {seq} {kind} {id_} {salted}") != digest:
            yield f"{seq}: {id_!a}: does not follow from what is before it"
        if not is_entry(salt, body, kind, id_, salted, digest):
            yield f"{seq}: {id_!a}: has not the form of an entry"
        elif body is not None and sha256(f"{salt} {body}") != salted:
            yield f"{seq}: {id_!a}: its body was edited"
        elif body is not None and kind == "forgotten":
            for first, end in spans(body):
                del gone[bisect_left(gone, first) : bisect_right(gone, end)]
        gone += [seq] if body is None else []
        last, previous, digests[seq] = seq, digest, digest
    for seq in gone:
        yield f"{seq}: its body is gone, and no entry says that it was forgotten"
    for seq, digest in [*db.execute("SELECT seq, digest FROM checkpoints"), *anchors]:
        if seq > last:
            yield f"{last + 1}: the end is cut, a head was noted at {seq}"
        elif digests.get(seq, digest) != digest:
            yield f"{seq}: another head was noted here"


def heads_in(file: Path) -> list[tuple[int, str]]:
    if not file.is_file():  # a pipe would be waited for
        raise OSError(f"`{file}` is no file")
    lines = [line.strip() for line in file.read_bytes().decode("utf-8", "replace").split("\n")]
    noted = [found for line in reversed(lines) if (found := NOTED.fullmatch(line))]
    if any(lines) and not noted:
        raise OSError(f"`{file}` is no anchor")
    return [(seq, digest) for seq, digest in {int(found[1]): found[2] for found in noted}.items() if seq]


def main() -> int:
    file, *rest = sys.argv[1:]
    found = []
    try:
        heads = [head for name in rest for head in heads_in(Path(name))]
        db = sqlite3.connect(f"{Path(file).resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        db.execute("BEGIN")  # one moment, whatever others write
        for problem in problems(db, heads):
            print(problem)
            found.append(problem)
        db.close()
    except (OSError, sqlite3.Error) as error:
        print(f"cannot be read: {error}")
        return 2
    if not found:
        print("holds" if heads else "holds, unanchored: a cut end would not be seen")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
