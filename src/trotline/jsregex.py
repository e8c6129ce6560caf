r"""JavaScript regular expressions, read the way `new RegExp(source)` reads them and retold for RE2.

JavaScript without flags sees UTF-16 code units where RE2 sees characters, so both sides are brought to
one character per unit: a translated pattern is only right for a text that went through `subject`.
A stranger may have written the pattern: nothing here recurses, and nothing is read over and over.
The law is https://tc39.es/ecma262/#sec-patterns with its Annex B.
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS_IN = {8: frozenset("01234567"), 16: _DIGITS | frozenset("abcdefABCDEF")}
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
# Where the digits of an escape begin, how few and how many there may be, and their base.
_NUMERIC = {"x": (1, 2, 2, 16), "u": (1, 4, 4, 16)} | {d: (0, 1, 3 if d < "4" else 2, 8) for d in "01234567"}
# Plane 16 is private, and a text that really uses it arrives here as two surrogates: nothing collides.
_SHIFT = 0x100000 - 0xD800
_BLOCKS = ((0x0000, 0xD7FF), (0xD800, 0xDFFF), (0xE000, 0xFFFF))
_ENDLESS = 2**31 - 1  # V8 reads a greater count as this one, so {5000000000,4000000000} is in order
_SIGNS = {"*": (0, _ENDLESS), "+": (1, _ENDLESS), "?": (0, 1)}
_MOST_COPIES, _MOST_NESTING = 1000, 250  # RE2's kMaxRepeat, for nested counts multiplied; groups in groups
# In characters, counts written out; RE2 compiles a{0,1000}a{0,1000}... of that size in 1 s, of thrice it in 8.
_MOST_SIZE = 50_000
_ANY, _NOBODY = "(?s:.)", r"\x{10FFFF}"  # which is in no subject
_EDGES = {"^": r"\A", "$": r"\z", "|": "|"}
_EMPTY = {"": r"[^\x{0}-\x{10FFFF}]", "^": _ANY}
# The inside of a class. RE2 and JavaScript agree on digits and words, not on what a space is.
_SETS = {letter: f"\\{letter}" for letter in "dDwW"} | {
    "s": r"\t-\r\x{20}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}",
    "S": r"\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}"
    r"\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}",
}
# Groups that neither capture nor modify, and what of them RE2 lacks.
_GROUPS = {"(?:": "", "(?=": "lookahead", "(?!": "lookahead", "(?<=": "lookbehind", "(?<!": "lookbehind"}
_MODES = frozenset("ims")
_FOREIGN = {")": "inline flags need a group", "P": "a named group is (?<name>...)"}
# Names use ID_Start and ID_Continue; these are what Python's isidentifier (XID_*, Unicode 14) lacks of them.
_ARABIC = map(chr, (*range(0xFC5E, 0xFC64), *range(0xFE70, 0xFE80, 2)))
_NAME_PARTS = frozenset("$\u200c\u200d\u037a\u309b\u309c\u30fb\ufdfa\ufdfb\uff65").union(_ARABIC)
_NAME_STARTS = (_NAME_PARTS | set("\u0e33\u0eb3\uff9e\uff9f")) - set("\u200c\u200d\u30fb\uff65")


class PatternError(ValueError):
    """The source is not a JavaScript regular expression; `offset` is where in it that shows."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


class Pattern(NamedTuple):
    """A valid pattern."""

    source: str
    re2: str | None  # the same for RE2, if RE2 can do it
    beyond: str  # if not, what stopped it


def parse(source: str) -> Pattern:
    """The pattern that `new RegExp(source)` would be, or PatternError where that would throw."""
    parser = _Parser(source)
    parser.run()
    translation = "".join(parser.out)
    if r"\B" in parser.out:  # RE2 would find it between the bytes of one character, if it may start there
        translation = rf"\A{_ANY}*?(?:{translation})"
    return Pattern(source, None if parser.beyond else translation, parser.beyond)


def subject(text: str) -> str:
    """The text as translated patterns see it: one character for each UTF-16 code unit."""
    if text.isascii():
        return text
    # Both are in the machine's byte order; the first unit is the mark that says so.
    return "".join(map(_char, memoryview(text.encode("utf-16", "surrogatepass")).cast("H")[1:]))


def _char(unit: int) -> str:
    return chr(unit + _SHIFT if 0xD800 <= unit <= 0xDFFF else unit)


def _unit(char: str) -> int:
    return ord(char) if char <= "\uffff" else ord(char) - _SHIFT


def _whole(text: str) -> str:
    """The text with its surrogate pairs joined, and U+FFFD for what had no partner."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _spell(unit: int) -> str:
    """A unit as RE2 reads it, in a class or outside."""
    char = _char(unit)
    return char if char in _LETTERS or char in _DIGITS else f"\\x{{{ord(char):X}}}"


def _members(low: int, high: int) -> str:
    """A range as the inside of an RE2 class, taken apart where `subject` tears it apart."""
    parts = [(max(low, first), min(high, last)) for first, last in _BLOCKS]
    return "".join(f"{_spell(start)}-{_spell(end)}" for start, end in parts if start <= end)


def _bracket(inside: str) -> str:
    """A class. RE2 makes (?i:k) of [kK], and in x|[kK] that becomes U+212A too, as in [sS] U+017F."""
    return f"[{inside}{_NOBODY}]" if "k" in inside or "s" in inside else f"[{inside}]"


def _span(text: str, at: int, alphabet: frozenset[str]) -> int:
    """Where the run of such characters ends."""
    while at < len(text) and text[at] in alphabet:
        at += 1
    return at


def _count(digits: str) -> int:
    """A number of any length; int() stops at 4300 digits."""
    digits = digits.lstrip("0") or "0"
    return min(int(digits), _ENDLESS) if len(digits) <= 10 else _ENDLESS


def _quantifier(text: str, at: int) -> tuple[int, int, int] | None:
    """Least, most and end of a quantifier; in braces {n}, {n,} and {n,m} are, all else is literal text."""
    sign = text[at : at + 1]
    if sign in _SIGNS:
        return (*_SIGNS[sign], at + 1)
    comma = end = _span(text, at + 1, _DIGITS) if sign == "{" else at + 1
    if comma == at + 1:
        return None
    low = high = _count(text[at + 1 : comma])
    if text.startswith(",", comma):
        end = _span(text, comma + 1, _DIGITS)
        high = _count(text[comma + 1 : end]) if end > comma + 1 else _ENDLESS
    return (low, high, end + 1) if text.startswith("}", end) else None


def _group_name(raw: str) -> str:
    r"""A group's name, its escapes resolved (\uHHHH may be half a pair, \u{H} may not); empty if it is none."""
    first, *pieces = _whole("".join(chr(_unit(char)) for char in raw)).split("\\u")
    name = [first]
    for piece in pieces:
        braced = piece.startswith("{")
        digits = piece[1 : max(piece.find("}"), 1)] if braced else piece[:4]
        sound = _DIGITS_IN[16].issuperset(digits) and (len(digits) == 4 or (braced and digits))
        char = chr(min(int(digits, 16), 0x10FFFF)) if sound else "?"
        name += (_whole(char) if braced else char, piece[len(digits) + 2 * braced :])
    whole = _whole("".join(name))
    sound = all(f"a{char}".isidentifier() or char in _NAME_PARTS for char in whole)
    return whole if sound and (whole[:1].isidentifier() or whole[:1] in _NAME_STARTS) else ""


def _census(text: str) -> tuple[int, bool, int]:
    r"""How many groups capture, whether any has a name, and the end: \1 and \k depend on the whole pattern."""
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
    """One pass over the pattern. Each method reads one token at `at` and leaves `at` behind it."""

    def __init__(self, source: str) -> None:
        self.source, self.text = source, subject(source)
        self.groups, self.named, end = _census(self.text)
        self.at, self.beyond = 0, ""
        self.out: list[str] = []
        self.stack = [_Frame(-1, frozenset())]
        self.names: dict[str, int] = {}
        self.references: list[tuple[str, int]] = []
        if end > len(self.text):
            raise self.error("\\ at end of pattern", len(self.text) - 1)

    def run(self) -> None:
        while self.at < len(self.text):
            _TOKENS.get(self.text[self.at], _Parser.plain)(self)
        if len(self.stack) > 1:
            raise self.error("unterminated group", self.stack[-1].start)
        for name, at in self.references:
            if name not in self.names:
                raise self.error(f"no group is named `{name}`", at)

    def error(self, message: str, at: int) -> PatternError:
        """The error, with its place counted in characters of the source, not in units."""
        ends = list(accumulate(1 + (char > "\uffff") for char in self.source))
        return PatternError(message, bisect_right(ends, at))

    def leave(self, beyond: str) -> None:
        """RE2 cannot do this: from here on only validity is at stake."""
        self.beyond = self.beyond or beyond

    def grow(self, size: int, copies: int = 1) -> None:
        frame = self.stack[-1]
        frame.size = min(frame.size + size, _MOST_SIZE + 1)
        frame.copies = min(max(frame.copies, copies), _MOST_COPIES + 1)
        if frame.copies > _MOST_COPIES:
            self.leave(f"repetition over {_MOST_COPIES}")
        elif frame.size > _MOST_SIZE:
            self.leave("size")

    def assertion(self, spelled: str) -> None:
        """Something that may not be repeated: a quantifier after it finds nothing to repeat."""
        self.at += 1
        self.out.append(spelled)
        self.grow(len(spelled))

    def atom(self, spelled: str, size: int = 0, copies: int = 1) -> None:
        """Something that may be repeated, with its quantifier; `at` is behind the atom already."""
        mark, times = "", 1
        if quantifier := _quantifier(self.text, self.at):
            low, high, end = quantifier
            if low > high:
                raise self.error("numbers out of order in {} quantifier", self.at)
            mark = f"{{{low},{high if high < _ENDLESS else ''}}}"
            times = max(low if high == _ENDLESS else high, 1)
            # Lazy or greedy decides where a match ends, never whether there is one.
            self.at = end + self.text.startswith("?", end)
        self.out += (spelled, mark)
        self.grow((size + len(spelled) + 1) * times, copies * times)

    def plain(self) -> None:
        if _quantifier(self.text, self.at):
            raise self.error("nothing to repeat", self.at)
        self.at += 1
        self.unit(_unit(self.text[self.at - 1]))

    def unit(self, unit: int) -> None:
        self.atom(_bracket(self.folded(unit, unit)) if "i" in self.stack[-1].modes else _spell(unit))

    def folded(self, low: int, high: int) -> str:
        """The members of a range, and under the i modifier those of the other case."""
        if "i" not in self.stack[-1].modes:
            return _members(low, high)
        # Without the u flag ASCII equals nothing but ASCII, and surrogates have no case. The rest would need
        # the tables of the very Unicode version that the engine has.
        if high > 0x7F and not 0xD800 <= low <= high <= 0xDFFF:
            self.leave("modifiers")
        lower = _members(max(low, 0x41) + 0x20, min(high, 0x5A) + 0x20)
        return _members(low, high) + lower + _members(max(low, 0x61) - 0x20, min(high, 0x7A) - 0x20)

    def dot(self) -> None:
        self.at += 1
        self.atom(_ANY if "s" in self.stack[-1].modes else r"[^\n\r\x{2028}\x{2029}]")

    def edge(self) -> None:
        char = self.text[self.at]
        if char == "|":
            self.stack[-1].branch = self.at
        elif "m" in self.stack[-1].modes:
            self.leave("modifiers")  # RE2's lines end at \n alone, not also at \r, U+2028 and U+2029
        self.assertion(_EDGES[char])

    def open(self) -> None:
        start, modes = self.at, self.stack[-1].modes
        mark = next((mark for mark in _GROUPS if self.text.startswith(mark, start)), "")
        if mark or not self.text.startswith("(?", start):
            self.at += len(mark) or 1
        elif self.text.startswith("(?<", start):
            self.declare(self.name(start + 3), start)
        else:
            modes = self.modifiers(modes)
        self.stack.append(_Frame(start, modes, mark))
        self.out.append("(?:")
        self.leave(_GROUPS.get(mark, "") or ("nesting" if len(self.stack) > _MOST_NESTING else ""))

    def close(self) -> None:
        if len(self.stack) == 1:
            raise self.error("unmatched )", self.at)
        frame = self.stack.pop()
        self.at += 1
        if frame.mark.startswith("(?<") and _quantifier(self.text, self.at):
            raise self.error("nothing to repeat", self.at)
        self.atom(")", frame.size + 3, frame.copies)

    def name(self, at: int) -> str:
        end = self.text.find(">", at)
        name = _group_name(self.text[at:end]) if end >= 0 else ""
        if not name:
            raise self.error("invalid group name", at)
        self.at = end + 1
        return name

    def declare(self, name: str, start: int) -> None:
        """Two groups may share a name if no match passes through both (ES2025; Node 20 refuses that yet)."""
        # Groups of one name come in order: if any two are in one alternative, then two neighbours are.
        before = self.names.get(name, -2)  # before the pattern's own frame
        around = bisect_left(self.stack, before, key=lambda frame: frame.start) - 1
        if self.stack[around].branch <= before:
            raise self.error(f"two groups are named `{name}`", start)
        self.names[name] = start

    def modifiers(self, modes: frozenset[str]) -> frozenset[str]:
        """(?ims-ims: is of ES2025 as well, and unknown to Node 20."""
        start, end = self.at, _span(self.text, self.at + 2, _MODES | {"-"})
        on, _, off = self.text[start + 2 : end].partition("-")
        if not self.text.startswith(":", end) or not 0 < len(on + off) == len(_MODES.intersection(on + off)):
            found = self.text[start : end + 1]
            hint = _FOREIGN.get(found[-1])
            raise self.error(f"{found} is not JavaScript: {hint}" if hint else "invalid group", start)
        self.at = end + 1
        return modes.union(on).difference(off)

    def char_class(self) -> None:
        start, negated = self.at, self.text.startswith("^", self.at + 1)
        self.at += 1 + negated
        members = ["^" * negated]
        while not self.text.startswith("]", self.at):
            if self.at == len(self.text):
                raise self.error("unterminated character class", start)
            members.append(self.class_range())
        self.at += 1
        inside = "".join(members)
        self.atom(_EMPTY.get(inside) or _bracket(inside))

    def class_range(self) -> str:
        start = self.at
        low = self.class_atom()
        dashed = self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in ("", "]")
        self.at += dashed
        high = self.class_atom() if dashed else low
        if isinstance(low, int) and isinstance(high, int):
            if low > high:
                raise self.error("range out of order in character class", start)
            return self.folded(low, high)
        # A set has no order: [\d-z] is a digit, a dash or a z.
        parts = (low, ord("-"), high) if dashed else (low,)
        return "".join(self.folded(part, part) if isinstance(part, int) else part for part in parts)

    def class_atom(self) -> int | str:
        """One unit, or the members of a set."""
        char, letter = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        self.at += 1
        if char != "\\":
            return _unit(char)
        if letter in _SETS or letter == "b":
            self.at += 1
            return _SETS.get(letter, 0x08)
        return self.escaped(_LETTERS | _DIGITS | {"_"})

    def escape(self) -> None:
        self.at += 1
        letter = self.text[self.at]
        if letter in "bB":
            self.assertion(f"\\{letter}")
        elif letter in _SETS:
            self.at += 1
            self.atom(f"[{_SETS[letter]}]")
        elif not self.reference(letter):
            self.unit(self.escaped(_LETTERS))

    def reference(self, letter: str) -> bool:
        r"""Read \1 or \k<name>, if that is what it is: the group may be anywhere, but there must be one."""
        start, end = self.at, _span(self.text, self.at, _DIGITS)
        named = letter == "k" and self.named and self.text.startswith("<", start + 1)
        if not named and (letter not in _DIGITS - {"0"} or _count(self.text[start:end]) > self.groups):
            return False
        self.at = end
        if named:
            self.references.append((self.name(start + 2), start - 1))
        self.leave("backreference")
        self.atom("")
        return True

    def escaped(self, controls: frozenset[str]) -> int:
        r"""The unit that an escape stands for; `controls` are what \c takes, in a class more than outside."""
        letter, control = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        skip, least, most, base = _NUMERIC.get(letter, (0, 1, 0, 8))
        digits = self.text[self.at + skip : self.at + skip + most]
        digits = digits[: _span(digits, 0, _DIGITS_IN[base])]
        if len(digits) >= least:
            self.at += skip + len(digits)
            return int(digits, base)
        if letter == "k" and self.named:
            raise self.error(r"\k without the name of a group", self.at - 1)
        if letter == "c" and control not in controls:
            return ord("\\")  # and the c is read next
        self.at += 1 + (letter == "c")
        return ord(control) % 0x20 if letter == "c" else _CONTROLS.get(letter, _unit(letter))


_TOKENS = {"(": _Parser.open, ")": _Parser.close, "[": _Parser.char_class, "\\": _Parser.escape}
_TOKENS |= {".": _Parser.dot} | dict.fromkeys(_EDGES, _Parser.edge)
