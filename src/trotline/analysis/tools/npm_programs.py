"""Programs that come as npm packages and that scripts use in place of the shell's own."""

from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SILENT


def _rimraf(step: Step) -> None:
    found = step.options("i impl tmp max-retries retry-delay backoff max-backoff".split())
    if not found.has("dry-run"):
        for word in found.rest:
            step.delete(word, recursive=True, verb=step.name)
    step.out = SILENT


def _shx(step: Step) -> None:
    step.out = step.run(step.words)


def _cross_env(step: Step) -> None:
    """`cross-env A=1 X ...`; `cross-env-shell` takes a script."""
    words = list(step.words)
    given = {}
    while words and "=" in words[0].text:
        name, _, value = words[0].text.partition("=")
        given[name] = words.pop(0)._replace(text=value)
    if words and step.name == "cross-env-shell":
        step.reading.environment(step, given)
        step.out = step.script(words[0]._replace(text=" ".join(word.text for word in words), end=words[-1].end))
    elif words:
        step.out = step.reading.invoke(words, step.scene, step.stdin, step, given)


def _concurrently(step: Step) -> None:
    found = step.options("n names c prefix-colors p prefix m max-processes l prefix-length restart-tries".split())
    for word in found.rest:
        step.script(word)


def _nodemon(step: Step) -> None:
    found = step.options("w watch e ext i ignore x exec d delay".split(), stops=True)
    for text in found.values("x", "exec"):
        step.script(text)


TOOLS: dict[str, Handler] = {
    "concurrently": _concurrently,
    "cross-env": _cross_env,
    "cross-env-shell": _cross_env,
    "del-cli": _rimraf,
    "nodemon": _nodemon,
    "rimraf": _rimraf,
    "shx": _shx,
}
