"""Exceptions with a message for the user, a hint, and an exit code for scripts.

Mistakes of hooks, files and agents are values (Failure, Problem, Loss) and are never raised.
"""

import codecs


class TrotlineError(Exception):
    """Base of errors that the user can fix."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TrotlineError):
    """A command with invalid arguments."""

    exit_code = 64


class TryAgain(TrotlineError):  # noqa: N818 - the name says what to do
    """A temporary failure: the same command may succeed later."""

    exit_code = 75


class UnreadablePayload(TrotlineError):  # noqa: N818 - describes the payload
    """A payload that cannot be decoded as an event. A call that can be refused is refused because of it."""


PYTHON_DIRECTORY, SITE_PACKAGES = codecs.__file__.rpartition("/")[0], "site-packages"
"""The directory of the standard library, and the directory of other packages that may be inside it."""


def describe_error(error: BaseException) -> str:
    """Describe an error for the user.

    Only the message of a TrotlineError is shown. The text of other errors may quote a payload, so they are described by
    their type and place.
    """
    return error.message if isinstance(error, TrotlineError) else f"{type(error).__name__} at {find_error_place(error)}"


def describe_os_error(error: BaseException) -> str:
    """Describe an error of the operating system in lower case, to be shown after "cannot be read: "."""
    return (getattr(error, "strerror", "") or str(error)).lower()


def find_error_place(error: BaseException) -> str:
    """Return the file and line of the last frame outside the standard library."""
    place, frame = "an unknown place", error.__traceback__
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if not file.startswith((PYTHON_DIRECTORY, "<frozen")) or SITE_PACKAGES in file:
            place = f"{file.rpartition('/')[2]}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place
