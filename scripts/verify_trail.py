"""Verify a trail without Trotline: `python verify_trail.py trail.db [ANCHOR]`. It imports nothing of ours.

A digest is the SHA-256 of `<previous digest> <seq> <kind> <id> <salted>`, and `salted` that of `<salt> <body>`. An
anchor has lines `trotline-anchor <seq> <digest>`: heads that were noted elsewhere. Exit 0: it holds. 1: it does not.
"""

import hashlib
import json
import re
import sqlite3
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def problems(db: sqlite3.Connection, anchors: list[tuple[int, str]]) -> Iterator[str]:
    last, previous = 0, "0" * 64
    digests: dict[int, str] = {}
    gone: list[int] = []
    entries = db.execute("SELECT seq, kind, id, salt, body, salted, digest FROM entries ORDER BY seq")
    for seq, kind, id_, salt, body, salted, digest in entries:
        if seq != last + 1:
            yield f"{last + 1}: missing, up to {seq - 1}"
        elif sha256(f"{previous} {seq} {kind} {id_} {salted}") != digest:
            yield f"{seq}: {id_}: does not follow from what is before it"
        if body is None:
            gone.append(seq)
        elif sha256(f"{salt} {body}") != salted:
            yield f"{seq}: {id_}: its body was edited"
        elif kind == "forgotten":
            for first, end in json.loads(body)["entries"]:
                del gone[bisect_left(gone, first) : bisect_right(gone, end)]
        last, previous, digests[seq] = seq, digest, digest
    for seq in gone:
        yield f"{seq}: its body is gone, and no entry says that it was forgotten"
    for seq, digest in [*db.execute("SELECT seq, digest FROM checkpoints"), *anchors]:
        if seq > last:
            yield f"{last + 1}: the end is cut, a head was noted at {seq}"
        elif digests.get(seq, digest) != digest:
            yield f"{seq}: another head was noted here"


def main() -> int:
    file, *rest = sys.argv[1:]
    noted = re.compile(r"^(?:.*\btrotline-anchor )?(\d+) ([0-9a-f]{64})(?= |$)", re.MULTILINE)
    heads = [(int(seq), digest) for name in rest for seq, digest in noted.findall(Path(name).read_text("utf-8"))]
    db = sqlite3.connect(f"file:{Path(file).resolve()}?mode=ro", uri=True)
    found = list(problems(db, heads))
    db.close()
    print("\n".join(found) or ("holds" if heads else "holds, unanchored: a cut end would not be seen"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
