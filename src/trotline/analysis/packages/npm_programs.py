"""Programs from npm packages that scripts use instead of shell commands."""

from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.streams import EMPTY_STREAM


def _handle_rimraf(call: Invocation) -> None:
    options = call.parse_options("i impl tmp max-retries retry-delay backoff max-backoff".split())
    if not options.has("dry-run"):
        for word in options.rest:
            call.add_delete(word, recursive=True, verb=call.name)
    call.stdout = EMPTY_STREAM


def _handle_shx(call: Invocation) -> None:
    call.stdout = call.analyze_command(call.args)


def _handle_cross_env(call: Invocation) -> None:
    """`cross-env A=1 X ...` runs a program; `cross-env-shell` runs a script."""
    words = list(call.args)
    assignments = {}
    while words and "=" in words[0].text:
        name, _, value = words[0].text.partition("=")
        assignments[name] = words.pop(0)._replace(text=value)
    if words and call.name == "cross-env-shell":
        call.analyzer.analyze_assignments(call, assignments)
        call.stdout = call.analyze_script(
            words[0]._replace(text=" ".join(word.text for word in words), end=words[-1].end)
        )
    elif words:
        call.stdout = call.analyzer.invoke(words, call.state, call.stdin, call, assignments)


def _handle_concurrently(call: Invocation) -> None:
    options = call.parse_options(
        "n names c prefix-colors p prefix m max-processes l prefix-length restart-tries".split()
    )
    for word in options.rest:
        call.analyze_script(word)


def _handle_nodemon(call: Invocation) -> None:
    options = call.parse_options("w watch e ext i ignore x exec d delay".split(), stops=True)
    for text in options.values("x", "exec"):
        call.analyze_script(text)


PROGRAMS: dict[str, Handler] = {
    "concurrently": _handle_concurrently,
    "cross-env": _handle_cross_env,
    "cross-env-shell": _handle_cross_env,
    "del-cli": _handle_rimraf,
    "nodemon": _handle_nodemon,
    "rimraf": _handle_rimraf,
    "shx": _handle_shx,
}
