"""The shell parser finds the same commands as shfmt and rejects the same lines."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import shell_oracle
from trotline.analysis.shell.parser import parse_script

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
pytestmark = pytest.mark.skipif(not shell_oracle.is_available(), reason="shfmt is not installed")


def _differences(lines: list[str]) -> list[str]:
    """Return whether bash reads a line that shfmt rejects or reads differently (`time -p -- x`)."""
    found = []
    for line, theirs in zip(lines, shell_oracle.read_by_shfmt(lines), strict=True):
        script = parse_script(line)
        if theirs is None:
            if not script.error and not is_read_differently(line):
                found.append(f"we read what shfmt does not: {line!r}")
        elif script.error:
            found.append(f"we do not read ({script.error}): {line!r}")
        elif "time -p --" not in line and (ours := shell_oracle.read_own_words(script)) != theirs:
            found.append(f"{line!r}: {ours} is not {theirs}")
    return found


def is_read_differently(line: str) -> bool:
    """A shell warns of a here-document without an end and reads it, and it reads a test between backticks between
    double quotes; shfmt does neither. And `a | ! b` is read by no shell, but as what it says by us: b is judged.
    """
    return "<<" in line or "`[[ " in line or re.search(r"\|&? !", line) is not None


@pytest.mark.skipif(not CORPORA.exists(), reason="the corpora are not there")
def test_corpus_lines_have_the_commands_that_shfmt_finds() -> None:
    lines = set()
    for name in ("commands", "consensus"):
        for row in (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines():
            lines.add(json.loads(row)["command"])
    assert len(lines) > 1000
    assert _differences(sorted(lines)) == []


NAMES = st.sampled_from("ls echo cat git make a_b x1".split())
VARIABLES = st.sampled_from("X HOME a b1 _".split())


def _words(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    plain = st.sampled_from(
        [
            "a",
            "-rf",
            "a.b",
            "x=1",
            "~",
            "*",
            "a{b,c}d",
            "{1..3}",
            "\\ ",
            "\\'",
            "'a b'",
            "'$x'",
            '"a b"',
            '"a\\"b"',
            "$'a\\n\\x41\\''",
            '$"a"',
            "a#b",
            "@(a|b)",
            "+(x)",
            "!(x|y)",
            "a@(b)",
            "a'b'\"c\"",
            "%",
            "-",
            "[a-z]",
            "]",
            "^",
            "\\\\",
            "''",
            "=",
            "a\\\nb",
        ]
    )
    variable = st.builds("${}".format, VARIABLES) | st.sampled_from(["$?", "$@", "$#", "$$", "$1", "$-"])
    operators = st.sampled_from([":-", "-", ":=", ":+", "#", "##", "%", "%%", "/", "//", "^^", ",,", ":?"])
    operands = st.sampled_from(["a", "$b", '"x y"', "'q'", "*.c", "a/b", "\\}"]) | inner.map("$( {})".format)
    braced = st.builds("${{{}{}{}}}".format, VARIABLES, operators, operands)
    other = st.sampled_from(
        ["${#X}", "${!X}", "${a[@]}", "${a[1]}", "${a[$i]}", "${X:1:2}", "$((1 + 2))", "$(( (1+2)*3 ))"]
    )
    commands = inner.map("$( {})".format) | inner.map('"$( {})"'.format) | inner.map("<({})".format)
    subscript = NAMES.map("${{a[$({})]}}".format)  # shfmt reads less than a shell there
    simple = inner.filter(lambda text: not set("`\\\"'$") & set(text) and "\n" not in text)
    ticks = simple.map("`{}`".format) | simple.map('"x`{}`y"'.format)
    return st.one_of(plain, plain, variable, braced, other, commands, subscript, ticks)


def _redirects(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from([">", ">>", "2>", "<", "&>", ">|", "<>", "&>>", "{fd}>", "<<<"])
    return st.builds(
        "{} {}".format, signs, words.filter(lambda word: not word.startswith(("-", "<(")))
    ) | st.sampled_from(["2>&1", ">&2", "<&-", "2>/dev/null"])


def _lines(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    words = _words(inner)
    assigned = st.builds("{}={}".format, VARIABLES, words)
    array = st.builds("{}+=({} {})".format, VARIABLES, NAMES, words.filter(lambda word: word[0] not in "[="))
    simple = st.builds(
        lambda given, name, rest: " ".join([*given, name, *rest]),
        st.lists(assigned, max_size=2),
        NAMES,
        st.lists(words | _redirects(words), max_size=4),
    )
    pairs = st.tuples(inner, inner)
    compound = st.one_of(
        inner.map("( {} )".format),
        inner.map("{{ {}; }}".format),
        pairs.map(lambda two: f"if {two[0]}; then {two[1]}; else {two[0]}; fi"),
        pairs.map(lambda two: f"while {two[0]}; do {two[1]}; done"),
        st.builds("for i in {} {}; do {}; done".format, words, words, inner),
        inner.map("for ((i=0; i<3; i++)); do {}; done".format),
        st.builds("case {} in a|b) {};; *) {} ;; esac".format, words, inner, inner),
        inner.map("f() {{ {}; }}".format),
        inner.map("function g {{ {}; }}".format),
        st.builds(
            "[[ -f {} && {} == x ]]".format, words.filter(lambda w: "(" not in w), words.filter(lambda w: "(" not in w)
        ),
        st.sampled_from(
            ["(( i++ ))", "(( a = 1 + 2 ))", "[ -f x ]", "let i=1", "export A=1 B", "declare -a x=(1 2)", "! ls"]
        ),
        inner.map("coproc {{ {}; }}".format),
        simple.map("time {}".format),
        simple.map("! {}".format),
    )
    joined = st.builds("{} {} {}".format, inner, st.sampled_from(["&&", "||", "|", ";", "&", "|&"]), inner)
    document = st.builds(
        "{} <<{}\n{}\nEOF".format,
        NAMES,
        st.sampled_from(["EOF", "'EOF'", "-EOF", '"EOF"', "\\EOF"]),
        st.sampled_from(["a $X b", "`ls`", "$(cat x)", "it's", 'a "b', "\\$(no)", "\ttab", "${X:-$(id)}"]),
    )
    return st.one_of(simple, simple, array, compound, joined, document)


def _one_line(text: str) -> bool:
    return "<<" not in text.replace("<<<", "")


LINES = st.recursive(NAMES, lambda inner: _lines(inner.filter(_one_line)), max_leaves=8)


def test_generated_lines_have_the_commands_that_shfmt_finds() -> None:
    lines: list[str] = []

    @settings(max_examples=800, deadline=None, database=None, phases=[Phase.generate])
    @given(LINES)
    def collect(line: str) -> None:
        lines.append(line)

    collect()
    assert _differences(lines) == []
