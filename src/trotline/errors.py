"""Errors are for people: a sentence, a hint, and the exit code that scripts will see.

Whatever a hook, a file or a host does wrong is a value (Failure, Problem, Loss); it is never raised.
"""


class TrotlineError(Exception):
    """Something that the person at the keyboard can put right."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TrotlineError):
    """The command was called in a way that cannot mean anything."""

    exit_code = 64


class TryAgain(TrotlineError):  # noqa: N818 - it says what to do, and that is the point
    """Nothing is wrong but the moment."""

    exit_code = 75


class UnreadablePayload(TrotlineError):  # noqa: N818 - a payload, not an error of ours
    """A payload that is no event; on a refusable event this is a reason to refuse."""
