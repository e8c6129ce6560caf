"""HTTP requests to servers of users, and the headers that users configure for them."""

import functools
import os
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.system import http_post
from trotline.system.files import read_start
from trotline.system.http_post import Answer, Request

if TYPE_CHECKING:
    import httpx2

MAX_FILE = 64_000
GROUP_OTHER_MODE = 0o077

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*[:=][ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*")


def send_request(request: Request, now_us: int) -> Answer:
    """Send a request and return the answer. The HTTP client is reused for requests with the same certificate file."""
    return http_post.post(_build_client(request.certificate), request, now_us)


@functools.lru_cache(maxsize=4)
def _build_client(certificate: str) -> "httpx2.Client":
    """Return a client; reading the certificate authorities takes longer than sending, so it is cached."""
    import httpx2  # noqa: PLC0415 - only needed for sending

    verify = ssl.create_default_context(cafile=certificate) if certificate else True
    return httpx2.Client(trust_env=False, follow_redirects=False, verify=verify)


def read_headers(file: str, variable: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers in a private file and in an environment variable; raise TrotlineError if one is unreadable."""
    headers: dict[str, str] = {}
    if file:
        headers |= _parse_headers(_read_private_text(file).splitlines(), f"`{file}`", "`Name: value`")
    if variable:
        if variable not in environ:
            hint = "the service knows no variables: run `trotline log send` where it is set, or name a `headers_file`"
            raise TrotlineError(f"the variable {variable} is not set here", hint=hint)
        lines = [unquote(pair.strip()) for pair in environ[variable].split(",")]
        headers |= _parse_headers(lines, f"the variable {variable}", "`name=value,name=value`")
    return headers


def _parse_headers(lines: list[str], where: str, form: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _HEADER.fullmatch(line)
        if match is None:
            raise TrotlineError(f"line {number} of {where} is not a header", hint=f"write {form}")
        found[match[1].lower()] = match[2]
    return found


def read_secret_line(file: str) -> str:
    """Return the text of a file that only its owner may read."""
    return _read_private_text(file).strip()


def _read_private_text(file: str) -> str:
    try:
        data, status = read_start(Path(file), MAX_FILE)
    except OSError as error:
        why = describe_os_error(error)
        raise TrotlineError(f"the file `{file}` cannot be read: {why}") from None
    if status.st_mode & GROUP_OTHER_MODE and status.st_uid == os.getuid():
        raise TrotlineError(f"others may read `{file}`", hint=f"chmod 600 {file}")
    return data.decode("utf-8", "replace")
