"""Find personal data: card numbers and IBANs by their check digits, e-mail addresses, telephone numbers."""

import re
from collections.abc import Callable

from trotline.domain.effects import Certainty
from trotline.scanners.matching import PatternKind, PatternScanner

PII = "pii"


def has_valid_luhn(digits: bytes) -> bool:
    """Return whether the check digit of a card number is right."""
    numbers = [digit - 48 for digit in reversed(digits)]
    doubled = (sum(divmod(2 * number, 10)) for number in numbers[1::2])
    return (sum(numbers[0::2]) + sum(doubled)) % 10 == 0


CARD_PREFIXES = {
    13: "4",
    14: "300-305 36 38-39",
    15: "34 37",
    16: "4 51-55 2221-2720 6011 644-659 3528-3589 62 5018 5020 6304",
    17: "62",
    18: "62",
    19: "4 6011 644-659 62",
}
"""Assigned first digits, and ranges of them, by the length of the number."""

TEST_CARDS = frozenset(
    b"4111111111111111 4242424242424242 4012888888881881 4000056655665556 5555555555554444 5105105105105100"
    b" 2223003122003222 378282246310005 371449635398431 6011111111111117 6011000990139424 3530111333300000"
    b" 30569309025904 38520000023237 4222222222222".split()
)
"""Numbers that payment processors publish for tests."""


def is_card(value: bytes) -> bool:
    """Return whether the digits are a valid card number, and not a published test number."""
    digits = bytes(digit for digit in value if 48 <= digit <= 57)
    is_assigned = _has_assigned_prefix(digits.decode())
    return is_assigned and digits not in TEST_CARDS and len(set(digits)) > 3 and has_valid_luhn(digits)


def _has_assigned_prefix(digits: str) -> bool:
    ranges = (part.partition("-") for part in CARD_PREFIXES.get(len(digits), "").split())
    return any(first <= digits[: len(first)] <= (last or first) for first, _, last in ranges)


IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FO FI GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU XK MN",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}
"""Length of an IBAN by country; other countries have none."""


def is_iban(value: bytes) -> bool:
    """Return whether this is a valid IBAN."""
    text = value.replace(b" ", b"").replace(b"-", b"").decode("ascii").upper()
    if len(text) != IBAN_LENGTHS.get(text[:2]):
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def is_personal_email(data: bytes, start: int, end: int) -> bool:
    """Accept e-mail addresses of people.

    Reserved domains, role names, file names (`icon@2x.png`) and logins (`ssh dev@box`) are not personal data: an
    audit needs to show to which machine data was sent.
    """
    name, _, domain = data[start:end].lower().partition(b"@")
    top = domain.rpartition(b".")[2]
    is_reserved = domain in RESERVED_DOMAINS or domain.endswith(RESERVED_SUFFIXES)
    harmless = is_reserved or name in ROLE_NAMES or top in FILE_SUFFIXES
    return not harmless and not _is_login(data, start, end)


def _is_login(data: bytes, start: int, end: int) -> bool:
    before = data[max(0, start - MAX_LOGIN_PREFIX) : start]
    is_copy = data[end : end + 1] == b":" and (REMOTE_PATH.match(data, end) or COPY_PREFIX.search(before))
    return bool(is_copy or LOGIN_PREFIX.search(before))


MAX_LOGIN_PREFIX = 256
LOGIN_PREFIX = re.compile(
    rb"(?:://(?:[^\s/?#@\"'<>]{0,128}:)?"
    rb"|\b(?:ssh|sftp|mosh|autossh|ssh-copy-id|sshfs)[ \t]{1,8}"
    rb"(?:-\S{1,64}[ \t]{1,8}(?:[^\s\-@][^\s@]{0,63}[ \t]{1,8})?)*)\Z"
)
COPY_PREFIX = re.compile(rb"\b(?:scp|rsync|sftp|sshfs|clone|remote)\b[^\n|;&]*\Z")
REMOTE_PATH = re.compile(rb":[~/]")


RESERVED_SUFFIXES = tuple(b".example .test .invalid .localhost .local .internal .lan .localdomain".split())
RESERVED_DOMAINS = frozenset(b"example.com example.org example.net users.noreply.github.com localhost".split())
ROLE_NAMES = frozenset({b"git", b"noreply", b"no-reply", b"donotreply", b"do-not-reply"})
FILE_SUFFIXES = frozenset(
    b"png jpg jpeg gif svg webp css js ts tsx jsx json html md py service socket timer lock map"
    b" yml yaml toml txt tgz gz tar whl header conf cfg ini xml log".split()
)


def is_phone(data: bytes, start: int, end: int) -> bool:
    """Accept telephone numbers, but not dates and not numbers at the start of a line that a diff adds with `+`."""
    value = data[start:end]
    starts_line = data[start - 1 : start] == b"\n" or (start == 0 and b"\n" in data)
    if starts_line and value.startswith(b"+") and not _is_grouped(value):
        return False
    return DATE.match(value) is None and _is_number(value)


DATE = re.compile(rb"\+?(?:19|20)[0-9]{2}[ .\-]?[01][0-9][ .\-]?[0-3][0-9](?![0-9])")


def _is_grouped(value: bytes) -> bool:
    """Return whether the digits are in at least three groups, as in a written telephone number."""
    groups = [group for group in re.split(rb"[ .\-()]+", value) if group]
    return len(groups) > 2 and sum(map(len, groups)) > 9


def _is_number(value: bytes) -> bool:
    digits = bytes(digit for digit in value if 48 <= digit <= 57)
    fictional = digits.startswith(b"1") and digits[4:8] == b"5550"  # 555-01xx is reserved for fiction
    return 8 <= len(digits) <= 15 and len(set(digits)) > 3 and not fictional


def _accept_value(check: Callable[[bytes], bool]) -> Callable[[bytes, int, int], bool]:
    """Turn a check of a value into a check of a range of a text."""
    return lambda data, start, end: check(data[start:end])


KINDS: dict[str, PatternKind] = {
    "card-number": PatternKind(
        r"(?:^|[^0-9A-Za-z.,\-_/])([2-6][0-9]{3}(?:[ \-]?[0-9]){8,15})(?:[^0-9A-Za-z\-_]|$)",
        "number of a payment card",
        Certainty.KNOWN,
        _accept_value(is_card),
    ),
    "iban": PatternKind(
        r"\b([A-Z]{2}[0-9]{2}(?:[ \-]?[A-Z0-9]{4}){2,7}(?:[ \-]?[A-Z0-9]{1,3})?)\b",
        "number of a bank account",
        Certainty.KNOWN,
        _accept_value(is_iban),
    ),
    "email": PatternKind(
        r"(?i)(?:^|[^a-z0-9._%+\-@\\])([a-z0-9][a-z0-9._%+\-]{0,63}@(?:[a-z0-9](?:[a-z0-9\-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24})\b",
        "address of mail",
        Certainty.KNOWN,
        is_personal_email,
        needs=b"@",
    ),
    "phone": PatternKind(
        r"(?:^|[^0-9A-Za-z.+/_\-])(\+[1-9][0-9]{0,2}(?:[ .\-]?\(?[0-9]{1,4}\)?){2,6}"
        r"|\(?[2-9][0-9]{2}\)?[ .\-][2-9][0-9]{2}[.\-][0-9]{4})(?:[^0-9A-Za-z]|$)",
        "telephone number",
        Certainty.GUESSED,
        is_phone,
    ),
}


class PiiScanner(PatternScanner):
    """Finds personal data."""

    reads_decoded = True

    def __init__(self) -> None:
        super().__init__(PII, KINDS)
