"""What the host's process gets: exit code, standard output, standard error. Warm and cold make it of an answer here."""

from typing import NamedTuple

from trotline.hosts.host import Answer


class Reply(NamedTuple):
    exit_code: int
    stdout: bytes
    stderr: bytes


def reply_of(answer: Answer) -> Reply:
    said = answer.stderr.encode("utf-8", "backslashreplace")
    return Reply(answer.exit_code, answer.stdout.encode("utf-8", "surrogateescape"), said + b"\n" if said else b"")
