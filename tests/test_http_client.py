"""HTTP requests: replies are bounded, and errors show no secrets."""

import base64

import httpx2
import pytest

from secret_samples import fill_template
from trotline.system.http_post import MAX_SHOWN_TEXT, Answer, Request, post

KEY = "sk-very-secret-and-long-enough"
HIDDEN_PARTS = [*"xyzzy plugh secre long enough alice acme ghp_".split(), base64.b64encode(KEY.encode()).decode()]
URL = "https://example.org/hook/T0/xyzzy-plugh"


def post_to_server(status: int, body: bytes = b"", max_bytes: int = 64_000, **headers: str) -> Answer:
    text = {name.replace("_", "-"): value for name, value in headers.items()}

    def server(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, content=iter([body]), headers=text)

    with httpx2.Client(transport=httpx2.MockTransport(server)) as client:
        sent = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "content-type": "application/json"}
        return post(client, Request(URL, b"{}", sent, 5.0, max_bytes=max_bytes), 1_000_000)


@pytest.mark.parametrize("secret", [KEY, f"Bearer {KEY}", URL])
@pytest.mark.parametrize("length", [1, 4, 12])
def test_error_shows_no_part_of_a_header_or_address(secret: str, length: int) -> None:
    why = post_to_server(400, b"-" * (MAX_SHOWN_TEXT - length) + secret.encode()).why
    assert why.startswith("answered with status 400: ---")
    assert secret[:length] not in why.removeprefix("answered with status 400: ")


@pytest.mark.parametrize(
    "text",
    [
        "Cannot POST /hook/T0/xyzzy-plugh",
        "no such hook: XYZZY",
        '{"h": "Bearer sk-very-secret-and\\u002dlong-enough"}',
        "invalid key sk-very-secre... rejected",
        base64.b64encode(KEY.encode()).decode(),
        "the owner of this is alice.smith@acme-corp.com",
        f"another key is {fill_template('ghp_{crc*36}')}",
    ],
)
def test_error_hides_secrets_in_another_form(text: str) -> None:
    answer = post_to_server(404, text.encode())
    message = answer.why.lower()
    assert "[hidden]" in message or "[redacted" in message
    assert not [part for part in HIDDEN_PARTS if part.lower() in message]
    assert answer.failure == "it answered with status 404, not found"


def test_reason_shows_harmless_text_and_the_complaint_does_not() -> None:
    answer = post_to_server(415, b"no application/json here")
    assert answer.why == "answered with status 415: no application/json here"
    assert answer.failure == "it answered with status 415, unsupported media type"
    assert post_to_server(599, b"x").failure == "it answered with status 599"


@pytest.mark.parametrize("url", ["ftp://h.example/xyzzy-plugh", "xyzzy-plugh", "http://me:xyzzy%20plugh@[h/plugh"])
def test_invalid_address_is_not_shown(url: str) -> None:
    with httpx2.Client() as client:
        answer = post(client, Request(url, b"", {}, 5.0), 1)
    assert answer.failure.startswith("it could not be reached: ")
    assert "plugh" not in answer.failure


def test_long_reply_is_cut() -> None:
    whole, cut = post_to_server(200, b"x" * 10, max_bytes=10), post_to_server(200, b"x" * 11, max_bytes=10)
    assert (whole.cut, cut.cut) == (False, True)
    assert whole.body == cut.body == b"x" * 10


@pytest.mark.parametrize(
    "retry_after,wait_us", [("3", 3_000_000), ("Thu, 01 Jan 1970 00:00:09 GMT", 8_000_000), ("soon", 0), ("", 0)]
)
def test_retry_after_is_seconds_or_a_date(retry_after: str, wait_us: int) -> None:
    assert post_to_server(503, retry_after=retry_after).wait_us == wait_us
