"""Templates for secrets of every kind and for look-alikes, in corpus/secret_samples.json.

They are filled at each run, so that no file contains a secret. In a template
`{62*36}` is 36 random characters of the alphabet named 62.
"""

import json
import random
import re
import string
import zlib
from pathlib import Path

from trotline.scanners.secrets import encode_base62

LETTERS, DIGITS = string.ascii_letters, string.digits
ALPHABETS = {
    "62": LETTERS + DIGITS,
    "hex": "0123456789abcdef",
    "UP": string.ascii_uppercase + DIGITS,
    "up32": string.ascii_uppercase + "234567",
    "low": string.ascii_lowercase + DIGITS,
    "b64": LETTERS + DIGITS + "+/",
    "url": LETTERS + DIGITS + "_-",
    "dig": DIGITS,
    "age": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "pass": LETTERS + DIGITS + "!%^*-_=+",
}
SLOT = re.compile(r"\{(\w+)\*(\d+)\}")

_SAMPLES = json.loads((Path(__file__).parent / "corpus" / "secret_samples.json").read_text("utf-8"))
SECRET_TEMPLATES: dict[str, str] = _SAMPLES["secret_templates"]
"""A text with a secret, by rule."""

LOOK_ALIKES: list[str] = _SAMPLES["look_alikes"]
"""Texts without secrets."""


def fill_template(template: str, seed: int | str = 0) -> str:
    """Fill the slots of a template, equally for equal seeds."""
    source = random.Random(f"{seed}{template}")

    def fill(match: re.Match[str]) -> str:
        alphabet, length = match[1], int(match[2])
        if alphabet != "crc":
            return "".join(source.choices(ALPHABETS[alphabet], k=length))
        body = "".join(source.choices(ALPHABETS["62"], k=length - 6))
        return body + encode_base62(zlib.crc32(body.encode()), 6).decode()

    text = SLOT.sub(fill, template)
    return re.sub(r"\{uuid\}", lambda _: _make_uuid(source), text)


def _make_uuid(source: random.Random) -> str:
    digits = "".join(source.choices(ALPHABETS["hex"], k=32))
    return "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))


def list_secret_values(template: str, seed: int | str = 0) -> list[str]:
    """Return the secret parts of a template that is filled with the same seed."""
    pattern = "".join(
        re.escape(part) if index % 3 == 0 else "(.+)" if index % 3 == 1 else ""
        for index, part in enumerate(SLOT.split(template))
    )
    match = re.fullmatch(pattern.replace(re.escape("{uuid}"), "(.+)"), fill_template(template, seed), re.DOTALL)
    return [group for group in match.groups() if len(group) >= 12] if match else []
