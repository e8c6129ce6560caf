"""What nobody can know from the line: text that is run and was not seen."""

from trotline.effects import Certainty, Effect
from trotline.guards.guard import Guard, Row, Sight, Test


def _of(*sources: str) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return effect.certainty is Certainty.OPAQUE and effect.source in sources

    return test


def _any(effect: Effect, _: Sight) -> bool:
    return effect.certainty is Certainty.OPAQUE


GUARD = Guard(
    name="opaque",
    danger="something is run that this line does not show",
    kinds=frozenset({"execute"}),
    rows=(
        Row("line", _of("line"), "ask ask deny", "{why}", "write it as several simple commands"),
        Row("not closed", _of("unclosed"), "pass pass ask", "{why}; it was read as if it were closed"),
        Row(
            "text",
            _of("text"),
            "ask deny deny",
            "a text is run that is not in the line: {why}",
            "write the command itself",
        ),
        Row(
            "program",
            _of("name"),
            "ask deny deny",
            "which program is run is not in the line: {why}",
            "name the program",
        ),
        # Those that print lines for a shell (ssh-agent, direnv) are known; others of this machine are believed.
        Row("output", _of("output"), "pass ask deny", "what a program prints is run: {why}"),
        Row("other", _any, "pass ask deny", "what is run here is not in the line: {why}"),
    ),
    stops=(
        'eval "$X"',
        "$CMD -rf .",
        'bash -c "$SCRIPT"',
        "$(echo $X) y",
        "eval $(cat f)",
        'eval "$(./ssh-agent)"',
        "find tools -type f | xargs sh",
    ),
    passes=(
        "echo $X",
        'eval "$(ssh-agent -s)"',
        'eval "$(/opt/homebrew/bin/brew shellenv)"',
        "make $TARGET",
        "bash run.sh",
        'ls "$DIR"',
        "eval 'echo hi'",
        "find . -name '*.sh' | xargs shellcheck",
    ),
)
