"""Letters that look like Latin ones and are not, and every other letter brought down to plain ASCII."""

import unicodedata
from functools import cache

LOOKS_LIKE: dict[str, str] = dict(
    zip(
        "аеорсухіјѕһԁԛԝвкмнтзьАВЕКМНОРСТУХІЈЅԌԚԜЗαβεικνορτυχγωηΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհԼՕՏᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ",
        "aeopcyxijshdqwbkmhtzbABEKMHOPCTYXIJSGQWZabeikvoptuxywnABEZHIKMNOPTYXonughLOSABCDEHJKLMPRSTVWZ",
        strict=True,
    )
)
"""Cyrillic, Greek, Armenian and Cherokee letters, and the Latin ones that they pass for."""


@cache
def plain(char: str) -> str:
    """One character as at most one ASCII letter, as a reader sees it; nothing where there is none."""
    if char in LOOKS_LIKE:
        return LOOKS_LIKE[char]
    bare = unicodedata.normalize("NFKD", char)[:1]
    return bare if bare.isascii() and bare.isalnum() else LOOKS_LIKE.get(bare, "")
