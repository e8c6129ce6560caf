"""Errors are for people: a sentence, a hint, and the exit code that scripts will see.

Whatever a hook, a file or a host does wrong is a value (Failure, Problem, Loss); it is never raised.
"""

import codecs


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


PYTHONS, INSTALLED = codecs.__file__.rpartition("/")[0], "site-packages"
"""Where Python's own code is, and what lies below that and is not."""


def cause_of(error: BaseException) -> str:
    """What people are told of an error that nobody expected: its kind and its place. What it says itself may quote what
    an agent wrote; only an error that was made for people says nothing but what they may read."""
    return error.message if isinstance(error, TrotlineError) else f"{type(error).__name__} at {place_of(error)}"


def place_of(error: BaseException) -> str:
    """Where it happened, in our code or in that of whoever wrote a hook."""
    place, at = "an unknown place", error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if not file.startswith((PYTHONS, "<frozen")) or INSTALLED in file:
            place = f"{file.rpartition('/')[2]}:{at.tb_lineno}"
        at = at.tb_next
    return place
