r"""Parse JavaScript regular expressions as `new RegExp(source)` does, and translate them for RE2.

JavaScript without flags matches UTF-16 code units where RE2 matches characters. Both sides are converted to one
character per code unit: a translated pattern is only correct for a text that went through `encode_subject`.
Patterns are untrusted input: the parser does not recurse, and its work is linear in the pattern.
The specification is https://tc39.es/ecma262/#sec-patterns with its Annex B.
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS_IN = {8: frozenset("01234567"), 16: _DIGITS | frozenset("abcdefABCDEF")}
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
# For each escape: the offset of its digits, their least and greatest number, and their base.
_NUMERIC = {"x": (1, 2, 2, 16), "u": (1, 4, 4, 16)} | {d: (0, 1, 3 if d < "4" else 2, 8) for d in "01234567"}
# Plane 16 is private use, and a text that contains it is encoded as two surrogates, so nothing collides.
_SHIFT = 0x100000 - 0xD800
_BLOCKS = ((0x0000, 0xD7FF), (0xD800, 0xDFFF), (0xE000, 0xFFFF))
_UNBOUNDED = 2**31 - 1  # V8 reads a greater count as this one, so {5000000000,4000000000} is in order
_SIGNS = {"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}
_MAX_COPIES, _MAX_NESTING = 1000, 250  # RE2's kMaxRepeat, for products of nested counts; the depth of groups
# In characters, with counts written out. RE2 compiles a{0,1000}a{0,1000}... of that size in 1 s, three times it in 8 s.
_MAX_SIZE = 50_000
_ANY, _NEVER_IN_SUBJECT = "(?s:.)", r"\x{10FFFF}"  # the second one is in no subject
_EDGES = {"^": r"\A", "$": r"\z", "|": "|"}
_EMPTY = {"": r"[^\x{0}-\x{10FFFF}]", "^": _ANY}
# The inside of a class. RE2 and JavaScript agree on digits and word characters, but not on spaces.
_SETS = {letter: f"\\{letter}" for letter in "dDwW"} | {
    "s": r"\t-\r\x{20}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}",
    "S": r"\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}"
    r"\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}",
}
# Groups that neither capture nor modify, and the name of the feature if RE2 lacks it.
_GROUPS = {"(?:": "", "(?=": "lookahead", "(?!": "lookahead", "(?<=": "lookbehind", "(?<!": "lookbehind"}
_MODES = frozenset("ims")
_FOREIGN = {")": "inline flags need a group", "P": "a named group is (?<name>...)"}
# Names use ID_Start and ID_Continue. These characters are missing from Python's isidentifier (XID_*, Unicode 14).
_ARABIC = map(chr, (*range(0xFC5E, 0xFC64), *range(0xFE70, 0xFE80, 2)))
_NAME_PARTS = frozenset("$\u200c\u200d\u037a\u309b\u309c\u30fb\ufdfa\ufdfb\uff65").union(_ARABIC)
_NAME_STARTS = (_NAME_PARTS | set("\u0e33\u0eb3\uff9e\uff9f")) - set("\u200c\u200d\u30fb\uff65")


class PatternError(ValueError):
    """An error for a source that is not a JavaScript regular expression.

    `offset` is the place of the error, in characters of the source.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


class JsPattern(NamedTuple):
    """A valid pattern."""

    source: str
    re2: str | None  # the translation for RE2, if there is one
    unsupported: str  # the feature that RE2 lacks, if there is no translation


def parse_js_regex(source: str) -> JsPattern:
    """Parse a pattern; raise PatternError where `new RegExp(source)` throws."""
    parser = _Parser(source)
    parser.run()
    translation = "".join(parser.out)
    if r"\B" in parser.out:  # unanchored, RE2 would find it between the bytes of one character
        translation = rf"\A{_ANY}*?(?:{translation})"
    return JsPattern(source, None if parser.unsupported else translation, parser.unsupported)


def encode_subject(text: str) -> str:
    """Return the text with one character for each UTF-16 code unit, as translated patterns expect it."""
    if text.isascii():
        return text
    # Both use the machine's byte order; the first unit is the byte order mark.
    return "".join(map(_unit_to_char, memoryview(text.encode("utf-16", "surrogatepass")).cast("H")[1:]))


def _unit_to_char(unit: int) -> str:
    return chr(unit + _SHIFT if 0xD800 <= unit <= 0xDFFF else unit)


def _char_to_unit(char: str) -> int:
    return ord(char) if char <= "\uffff" else ord(char) - _SHIFT


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs, and replace lone surrogates by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _spell(unit: int) -> str:
    """Return a unit in RE2 syntax, valid inside and outside of classes."""
    char = _unit_to_char(unit)
    return char if char in _LETTERS or char in _DIGITS else f"\\x{{{ord(char):X}}}"


def _format_range(low: int, high: int) -> str:
    """Return a range as the inside of an RE2 class, split where `encode_subject` moves characters."""
    parts = [(max(low, first), min(high, last)) for first, last in _BLOCKS]
    return "".join(f"{_spell(start)}-{_spell(end)}" for start, end in parts if start <= end)


def _format_class(inside: str) -> str:
    """Return a class. RE2 turns [kK] into (?i:k), which in x|[kK] also matches U+212A; likewise [sS] and U+017F."""
    return f"[{inside}{_NEVER_IN_SUBJECT}]" if "k" in inside or "s" in inside else f"[{inside}]"


def _skip(text: str, at: int, alphabet: frozenset[str]) -> int:
    """Return the offset after a run of such characters."""
    while at < len(text) and text[at] in alphabet:
        at += 1
    return at


def _parse_count(digits: str) -> int:
    """Parse a number of any length; int() refuses more than 4300 digits."""
    digits = digits.lstrip("0") or "0"
    return min(int(digits), _UNBOUNDED) if len(digits) <= 10 else _UNBOUNDED


def _parse_quantifier(text: str, at: int) -> tuple[int, int, int] | None:
    """Return minimum, maximum and end of a quantifier. In braces only {n}, {n,} and {n,m} are quantifiers."""
    sign = text[at : at + 1]
    if sign in _SIGNS:
        return (*_SIGNS[sign], at + 1)
    comma = end = _skip(text, at + 1, _DIGITS) if sign == "{" else at + 1
    if comma == at + 1:
        return None
    low = high = _parse_count(text[at + 1 : comma])
    if text.startswith(",", comma):
        end = _skip(text, comma + 1, _DIGITS)
        high = _parse_count(text[comma + 1 : end]) if end > comma + 1 else _UNBOUNDED
    return (low, high, end + 1) if text.startswith("}", end) else None


def _parse_group_name(raw: str) -> str:
    r"""Return a group's name with escapes resolved (\uHHHH may be half a pair, \u{H} may not), or ""."""
    first, *pieces = _join_surrogates("".join(chr(_char_to_unit(char)) for char in raw)).split("\\u")
    name = [first]
    for piece in pieces:
        braced = piece.startswith("{")
        digits = piece[1 : max(piece.find("}"), 1)] if braced else piece[:4]
        sound = _DIGITS_IN[16].issuperset(digits) and (len(digits) == 4 or (braced and digits))
        char = chr(min(int(digits, 16), 0x10FFFF)) if sound else "?"
        name += (_join_surrogates(char) if braced else char, piece[len(digits) + 2 * braced :])
    whole = _join_surrogates("".join(name))
    sound = all(f"a{char}".isidentifier() or char in _NAME_PARTS for char in whole)
    return whole if sound and (whole[:1].isidentifier() or whole[:1] in _NAME_STARTS) else ""


def _count_groups(text: str) -> tuple[int, bool, int]:
    r"""Return the number of capturing groups, whether any is named, and the end: \1 and \k depend on all groups."""
    groups, named, in_class, at = 0, False, False, 0
    while at < len(text):
        char = text[at]
        at += 2 if char == "\\" else 1
        if char in "[]":
            in_class = char == "["
        elif char == "(" and not in_class:
            name = text.startswith("?<", at) and not text.startswith(("?<=", "?<!"), at)
            groups += name or not text.startswith("?", at)
            named = named or name
    return groups, named, at


class _Frame:
    """An open group, or the pattern itself."""

    def __init__(self, start: int, modes: frozenset[str], mark: str = "") -> None:
        self.start = self.branch = start  # the branch is the alternative being read
        self.modes, self.mark = modes, mark
        self.size, self.copies = 0, 1  # copies: the greatest product of nested counts


class _Parser:
    """A parser that passes once over the pattern. Each method reads a token at `at` and moves `at` past it."""

    def __init__(self, source: str) -> None:
        self.source, self.text = source, encode_subject(source)
        self.groups, self.named, end = _count_groups(self.text)
        self.at, self.unsupported = 0, ""
        self.out: list[str] = []
        self.stack = [_Frame(-1, frozenset())]
        self.names: dict[str, int] = {}
        self.references: list[tuple[str, int]] = []
        if end > len(self.text):
            raise self.make_error("\\ at end of pattern", len(self.text) - 1)

    def run(self) -> None:
        while self.at < len(self.text):
            _TOKENS.get(self.text[self.at], _Parser.read_plain)(self)
        if len(self.stack) > 1:
            raise self.make_error("unterminated group", self.stack[-1].start)
        for name, at in self.references:
            if name not in self.names:
                raise self.make_error(f"no group is named `{name}`", at)

    def make_error(self, message: str, at: int) -> PatternError:
        """Return an error whose offset counts characters of the source, not units."""
        ends = list(accumulate(1 + (char > "\uffff") for char in self.source))
        return PatternError(message, bisect_right(ends, at))

    def mark_unsupported(self, beyond: str) -> None:
        """Note that RE2 cannot run this pattern; the rest is only checked for validity."""
        self.unsupported = self.unsupported or beyond

    def grow(self, size: int, copies: int = 1) -> None:
        frame = self.stack[-1]
        frame.size = min(frame.size + size, _MAX_SIZE + 1)
        frame.copies = min(max(frame.copies, copies), _MAX_COPIES + 1)
        if frame.copies > _MAX_COPIES:
            self.mark_unsupported(f"repetition over {_MAX_COPIES}")
        elif frame.size > _MAX_SIZE:
            self.mark_unsupported("size")

    def add_assertion(self, spelled: str) -> None:
        """Add something that a quantifier cannot repeat."""
        self.at += 1
        self.out.append(spelled)
        self.grow(len(spelled))

    def add_atom(self, spelled: str, size: int = 0, copies: int = 1) -> None:
        """Add something that may be repeated, with its quantifier; `at` is already after the atom."""
        mark, times = "", 1
        if quantifier := _parse_quantifier(self.text, self.at):
            low, high, end = quantifier
            if low > high:
                raise self.make_error("numbers out of order in {} quantifier", self.at)
            mark = f"{{{low},{high if high < _UNBOUNDED else ''}}}"
            times = max(low if high == _UNBOUNDED else high, 1)
            # Lazy or greedy changes where a match ends, not whether there is one.
            self.at = end + self.text.startswith("?", end)
        self.out += (spelled, mark)
        self.grow((size + len(spelled) + 1) * times, copies * times)

    def read_plain(self) -> None:
        if _parse_quantifier(self.text, self.at):
            raise self.make_error("nothing to repeat", self.at)
        self.at += 1
        self.add_unit(_char_to_unit(self.text[self.at - 1]))

    def add_unit(self, unit: int) -> None:
        self.add_atom(_format_class(self.fold_range(unit, unit)) if "i" in self.stack[-1].modes else _spell(unit))

    def fold_range(self, low: int, high: int) -> str:
        """Return the members of a range; under the i modifier also those of the other case."""
        if "i" not in self.stack[-1].modes:
            return _format_range(low, high)
        # Without the u flag, ASCII only equals ASCII, and surrogates have no case. Other characters would need the
        # tables of the engine's own Unicode version.
        if high > 0x7F and not 0xD800 <= low <= high <= 0xDFFF:
            self.mark_unsupported("modifiers")
        lower = _format_range(max(low, 0x41) + 0x20, min(high, 0x5A) + 0x20)
        return _format_range(low, high) + lower + _format_range(max(low, 0x61) - 0x20, min(high, 0x7A) - 0x20)

    def read_dot(self) -> None:
        self.at += 1
        self.add_atom(_ANY if "s" in self.stack[-1].modes else r"[^\n\r\x{2028}\x{2029}]")

    def read_edge(self) -> None:
        char = self.text[self.at]
        if char == "|":
            self.stack[-1].branch = self.at
        elif "m" in self.stack[-1].modes:
            self.mark_unsupported("modifiers")  # RE2's lines end at \n alone, not also at \r, U+2028 and U+2029
        self.add_assertion(_EDGES[char])

    def open_group(self) -> None:
        start, modes = self.at, self.stack[-1].modes
        mark = next((mark for mark in _GROUPS if self.text.startswith(mark, start)), "")
        if mark:
            self.at += len(mark)
        elif not self.text.startswith("(?", start):
            self.at += 1
        elif self.text.startswith("(?<", start):
            self.declare_name(self.read_name(start + 3), start)
        else:
            modes = self.read_modifiers(modes)
        self.stack.append(_Frame(start, modes, mark))
        self.out.append("(?:")
        self.mark_unsupported(_GROUPS.get(mark, "") or ("nesting" if len(self.stack) > _MAX_NESTING else ""))

    def close_group(self) -> None:
        if len(self.stack) == 1:
            raise self.make_error("unmatched )", self.at)
        frame = self.stack.pop()
        self.at += 1
        if frame.mark.startswith("(?<") and _parse_quantifier(self.text, self.at):
            raise self.make_error("nothing to repeat", self.at)
        self.add_atom(")", frame.size + 3, frame.copies)

    def read_name(self, at: int) -> str:
        end = self.text.find(">", at)
        name = _parse_group_name(self.text[at:end]) if end >= 0 else ""
        if not name:
            raise self.make_error("invalid group name", at)
        self.at = end + 1
        return name

    def declare_name(self, name: str, start: int) -> None:
        """Record a group's name.

        Two groups may share a name if no match passes through both (ES2025; Node 20 refuses this).
        """
        # Groups with the same name come in order: if any two are in one alternative, two adjacent ones are.
        before = self.names.get(name, -2)  # before the pattern's own frame
        around = bisect_left(self.stack, before, key=lambda frame: frame.start) - 1
        if self.stack[around].branch <= before:
            raise self.make_error(f"two groups are named `{name}`", start)
        self.names[name] = start

    def read_modifiers(self, modes: frozenset[str]) -> frozenset[str]:
        """Read (?ims-ims: of ES2025, which Node 20 does not support."""
        start, end = self.at, _skip(self.text, self.at + 2, _MODES | {"-"})
        on, _, off = self.text[start + 2 : end].partition("-")
        if not self.text.startswith(":", end) or not 0 < len(on + off) == len(_MODES.intersection(on + off)):
            found = self.text[start : end + 1]
            hint = _FOREIGN.get(found[-1])
            raise self.make_error(f"{found} is not JavaScript: {hint}" if hint else "invalid group", start)
        self.at = end + 1
        return modes.union(on).difference(off)

    def read_class(self) -> None:
        start, negated = self.at, self.text.startswith("^", self.at + 1)
        self.at += 1 + negated
        members = ["^" * negated]
        while not self.text.startswith("]", self.at):
            if self.at == len(self.text):
                raise self.make_error("unterminated character class", start)
            members.append(self.read_class_range())
        self.at += 1
        inside = "".join(members)
        self.add_atom(_EMPTY.get(inside) or _format_class(inside))

    def read_class_range(self) -> str:
        start = self.at
        low = self.read_class_atom()
        dashed = self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in ("", "]")
        self.at += dashed
        high = self.read_class_atom() if dashed else low
        if isinstance(low, int) and isinstance(high, int):
            if low > high:
                raise self.make_error("range out of order in character class", start)
            return self.fold_range(low, high)
        # A set has no order: [\d-z] is a digit, a dash or a z.
        parts = (low, ord("-"), high) if dashed else (low,)
        return "".join(self.fold_range(part, part) if isinstance(part, int) else part for part in parts)

    def read_class_atom(self) -> int | str:
        """Return one unit, or the members of a set."""
        char, letter = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        self.at += 1
        if char != "\\":
            return _char_to_unit(char)
        if letter in _SETS or letter == "b":
            self.at += 1
            return _SETS.get(letter, 0x08)
        return self.read_escaped_unit(_LETTERS | _DIGITS | {"_"})

    def read_escape(self) -> None:
        self.at += 1
        letter = self.text[self.at]
        if letter in "bB":
            self.add_assertion(f"\\{letter}")
        elif letter in _SETS:
            self.at += 1
            self.add_atom(f"[{_SETS[letter]}]")
        elif not self.read_reference(letter):
            self.add_unit(self.read_escaped_unit(_LETTERS))

    def read_reference(self, letter: str) -> bool:
        r"""Read \1 or \k<name> if such a group exists anywhere in the pattern; return whether it was read."""
        start, end = self.at, _skip(self.text, self.at, _DIGITS)
        named = letter == "k" and self.named and self.text.startswith("<", start + 1)
        if not named and (letter not in _DIGITS - {"0"} or _parse_count(self.text[start:end]) > self.groups):
            return False
        self.at = end
        if named:
            self.references.append((self.read_name(start + 2), start - 1))
        self.mark_unsupported("backreference")
        self.add_atom("")
        return True

    def read_escaped_unit(self, controls: frozenset[str]) -> int:
        r"""Return the unit of an escape; `controls` are the characters that \c accepts, more of them in a class."""
        letter, control = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        skip, least, most, base = _NUMERIC.get(letter, (0, 1, 0, 8))
        digits = self.text[self.at + skip : self.at + skip + most]
        digits = digits[: _skip(digits, 0, _DIGITS_IN[base])]
        if len(digits) >= least:
            self.at += skip + len(digits)
            return int(digits, base)
        if letter == "k" and self.named:
            raise self.make_error(r"\k without the name of a group", self.at - 1)
        if letter == "c" and control not in controls:
            return ord("\\")  # the c is read next
        self.at += 1 + (letter == "c")
        return ord(control) % 0x20 if letter == "c" else _CONTROLS.get(letter, _char_to_unit(letter))


_TOKENS = {"(": _Parser.open_group, ")": _Parser.close_group, "[": _Parser.read_class, "\\": _Parser.read_escape}
_TOKENS |= {".": _Parser.read_dot} | dict.fromkeys(_EDGES, _Parser.read_edge)
