"""The shell's own rules, one line each: words, expansion, columns, and inputs that are made to hurt."""

import pytest

from trotline.analysis.reading import Reading
from trotline.analysis.scene import World
from trotline.analysis.shell import lexer, parser
from trotline.analysis.shell.parser import parsed
from trotline.analysis.step import Step

WORLD = World("/home/ann/app", ("/home/ann/app",), "/home/ann", "ann")


def _steps(steps: list[Step]) -> list[Step]:
    return [inner for step in steps for inner in (step, *_steps(step.inner))]


def _programs(line: str) -> list[list[str]]:
    """Every program that would run, with its words."""
    reading = Reading(WORLD)
    reading.line(line)
    return [[step.program.text, *(word.text for word in step.words)] for step in _steps(reading.steps)]


@pytest.mark.parametrize(
    "line, words",
    [
        ("x a{b,c}d", ["abd", "acd"]),
        ("x {1..3}", ["1", "2", "3"]),
        ("x {a..c}", ["a", "b", "c"]),
        ("x {a,{b,c}}", ["a", "b", "c"]),
        ("x '{a,b}'", ["{a,b}"]),
        ("x {a}", ["{a}"]),
        ("x ${HOME}{,/x}", ["/home/ann", "/home/ann/x"]),
        ("x ~", ["/home/ann"]),
        ("x ~/a", ["/home/ann/a"]),
        ("x '~'", ["~"]),
        ("x ~root", ["/root"]),
        ("x ~+", ["/home/ann/app"]),
        ("x a~", ["a~"]),
        (r"x $'a\x20b\n\'\u0041\101'", ["a b\n'AA"]),
        ('x $"a"', ["a"]),
        (r"x a\ b", ["a b"]),
        ("x 'a'\"b\"c", ["abc"]),
        (r'x "a\"b\$c\d"', ['a"b$c\\d']),
        ("x ''", [""]),
        ("x a\\\nb", ["ab"]),
        ("A='b c'; x $A", ["b", "c"]),
        ("A='b c'; x \"$A\"", ["b c"]),
        ("IFS=,; A=b,c; x $A", ["b", "c"]),
        ("IFS=; A='b c'; x $A", ["b c"]),
        ("x ${N:-d}", ["d"]),
        ("A=; x ${A:-d} ${A-e}", ["d"]),
        ("A=q; x ${A:+d}", ["d"]),
        ("A=abcdef; x ${A:1:2} ${A: -2} ${A:3}", ["bc", "ef", "def"]),
        ("A=a.b.c; x ${A%.*} ${A%%.*} ${A#*.} ${A##*.}", ["a.b", "a", "b.c", "c"]),
        ("A=aXa; x ${A/a/b} ${A//a/b} ${A^^} ${A,,}", ["bXa", "bXb", "AXA", "axa"]),
        ("A=(p q); x ${A[@]} ${A[1]}", ["p", "q", "q"]),
        ('A=(p q); A+=(r); x "${A[@]}"', ["p", "q", "r"]),
        ("declare -a A=(p q); x ${A[1]}", ["q"]),
        ("B=HOME; x ${!B}", ["/home/ann"]),
        ("f() { x $1; }; f q", ["q"]),
        ("set -- a b; x $2", ["b"]),
        ("x $(echo a b)", ["a", "b"]),
        ('x "$(echo a b)"', ["a b"]),
        ("x `echo a`", ["a"]),
        (r"x `echo \`echo b\``", ["b"]),
        ("x a >| b", ["a"]),
        ("x a#b # c", ["a#b"]),
        ("x a\r\n", ["a"]),
    ],
)
def test_words_are_what_the_program_gets(line: str, words: list[str]) -> None:
    assert [program[1:] for program in _programs(line) if program[0] == "x"] == [words]


@pytest.mark.parametrize(
    "line, text",
    [
        ("sh <<E\nx $HOME\nE", "/home/ann"),
        ("sh <<'E'\nx $HOME\nE", "/home/ann"),
        ("sh <<-E\n\tx a\n\tE", "a"),
        ("sh <<< 'x b'", "b"),
        ("sh <<E\nx $(echo c)\nE\n", "c"),
        ('sh -c "x d"', "d"),
        ("eval x e", "e"),
    ],
)
def test_a_text_that_a_shell_reads_is_read(line: str, text: str) -> None:
    assert ["x", text] in _programs(line)


@pytest.mark.parametrize(
    "line",
    [
        "y ${a[$(x)]}",
        "a[$(x)]=1",
        "y @(a|$(x))",
        "y ${A:-$(x)}",
        "y $(( $(x) + 1 ))",
        "[[ -n $(x) ]]",
        "case $(x) in a) ;; esac",
        "y <(x)",
        "y <<E\n$(x)\nE",
        "coproc x",
        "time x",
        "! x",
        "{ x; }",
        "(x)",
        "if x; then y; fi",
        "for i in $(x); do y; done",
        "y && x",
        "y || x",
        "y | x",
        "y & x",
        "trap x EXIT",
        "y > $(x)",
        "declare -a z=($(x))",
        'y "${A:-`x`}"',
    ],
)
def test_no_command_hides(line: str) -> None:
    assert ["x"] in _programs(line)


@pytest.mark.parametrize("line", ["y '$(x)'", r"y \$(x\)", "y # $(x)", "y <<'E'\n$(x)\nE", "echo x", "y \\`x\\`"])
def test_data_is_no_command(line: str) -> None:
    assert ["x"] not in _programs(line)


@pytest.mark.parametrize(
    "line",
    ["x 'a", 'x "a', "x $(a", "x `a", "x ${a", "(x", "{ x", "if x", "x &&", "x |", ")", "case a in b", "x >", "a=(b"],
)
def test_what_no_shell_reads_is_said_to_be_unreadable(line: str) -> None:
    script = parsed(line)
    assert script.fault
    assert 0 <= script.fault_at <= len(line)
    reading = Reading(WORLD)
    reading.line(line)
    assert [effect.source for effect in reading.effects if effect.kind == "execute"][-1] in {"line", "unclosed"}


@pytest.mark.parametrize("text", ["rm -rf /srv", "sudo rm -rf /srv", "sh -c 'rm -rf /srv'", "true && rm -rf '/srv' x"])
def test_an_effect_points_at_its_word(text: str) -> None:
    reading = Reading(WORLD)
    reading.line(text)
    found = next(effect for effect in reading.effects if effect.path == "/srv")
    assert text[found.column_from : found.column_to].strip("'") == "/srv"


@pytest.mark.parametrize("line", ['x "a\\', "x a\\", "`a\\", "A=(1 $( a<<E\"); {c '\\", "x <<E\na\\", "x <<E\nE"])
def test_a_backslash_at_the_end_leads_nowhere_beyond_it(line: str) -> None:
    reading = Reading(WORLD)
    reading.line(line)
    assert all(effect.column_from <= effect.column_to <= len(line) + 1 for effect in reading.effects)


@pytest.mark.parametrize(
    "line", ["cat2 f", "RM f", "nice2 rm f", "perl5.36 -e 'unlink(\"f\")'", "Docker ps", "sudo1 x"]
)
def test_a_program_with_a_version_or_in_capitals_is_the_same_program(line: str) -> None:
    reading = Reading(WORLD)
    reading.line(line)
    assert reading.steps


PATHOLOGICAL = {
    "nested substitutions": "$(" * 10_000,
    "nested and closed": "$(" * 1000 + "x" + ")" * 1000,
    "open arrays": "a=(" * 8000,
    "a long document": "cat <<E\n" + "line $X\n" * 100_000 + "E",
    "a long line": "echo " + "a " * 5000,
    "semicolons": ";" * 100_000,
    "statements": "x;" * 50_000,
    "quotes": "'" * 100_001,
    "double quotes": '"a"' * 30_000,
    "braces": "{" * 10_000,
    "closed braces": "x " + "{" * 2000 + "}" * 2000,
    "commas in braces": "x " + "{a," * 500 + "}" * 500,
    "ranges": "x {1..100000}{1..100000}{1..100000}",
    "brackets": "(" * 10_000,
    "sums": "$((" * 5000,
    "backticks": "`" * 9999,
    "escaped backticks": "`" + "\\`" * 5000,
    "operators": "${a:-" * 5000,
    "subscripts": "${a[" * 5000,
    "patterns": "x " + "@(" * 5000,
    "pipes": "x|" * 30_000,
    "redirections": "x " + ">a" * 20_000,
    "functions": "f(){ " * 5000,
    "cases": "case a in b) " * 2000,
    "a function that calls itself twice": "f(){ f;f; }; f",
    "doubling": "a=xxxxxxxx; " + "a=$a$a; " * 200 + "x $a",
    "loops in loops": "for a in 1 2 3 4 5 6 7 8 9; do " * 12 + "x" + "; done" * 12,
    "shells in shells": "sh -c " * 200 + "x",
    "NUL": "rm -rf \0/ \0",
    "half an emoji": "echo \ud83d 'a\udc00'",
    "carriage returns": "x\r\n" * 1000,
    "python in python": "python -c '" + "(" * 5000 + "'",
    "python's operators": "python -c '" + "-" * 20_000 + "1'",
    "scripts in scripts": "node -e '" + "f(" * 9000 + "'",
    "powershell's blocks": "pwsh -c '" + "{" * 9000 + "'",
    "cmd's quotes": "cmd /c '" + '"^&' * 9000 + "'",
}


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_a_line_that_is_made_to_hurt_gets_an_answer_after_bounded_work(name: str) -> None:
    reading = Reading(WORLD)
    reading.line(PATHOLOGICAL[name])
    assert len(_steps(reading.steps)) <= 2100
    assert len(reading.effects) <= 70_000
    assert all(effect.kind for effect in reading.effects)


class _Counted(str):
    """A text that counts how often it is looked into."""

    __slots__ = ()
    looks = 0

    def __getitem__(self, index: object) -> str:
        _Counted.looks += 1
        return str.__getitem__(self, index)  # type: ignore[index]

    def startswith(self, *args: object) -> bool:
        _Counted.looks += 1
        return str.startswith(self, *args)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unit", ["x; ", "'a' ", "$(x) ", "a=(b) ;", "x {a,b} ", "`x` ", "x <(y) ;", "${a:-b} ", "[[ a ]];", "x>a ", "@(a) "]
)
def test_twice_the_text_is_twice_the_work(unit: str) -> None:
    def looks(times: int) -> int:
        _Counted.looks = 0
        parser.Parser(_Counted(unit * times)).whole()
        return _Counted.looks

    assert looks(400) <= 2.2 * looks(200) + 100


def test_nesting_has_an_end() -> None:
    deep = lexer.DEEPEST + 2
    assert "deeper" in parsed("$(" * deep + "x" + ")" * deep).fault
    assert not parsed("$(" * 10 + "x" + ")" * 10).fault


@pytest.mark.parametrize("line", ["echo {--0..3}", "echo {²..3}", "echo {a..é}", "echo {1..x}", "echo {1..}"])
def test_what_is_no_range_stays_as_it_is(line: str) -> None:
    assert _programs(line) == [line.split()]
