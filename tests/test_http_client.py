"""One request to somebody else's server: what comes back is bounded, and no complaint shows what must stay hidden."""

import base64

import httpx2
import pytest

from secret_samples import fill_template
from trotline.system.http_post import SHOWN, Answer, Request, post

KEY = "sk-very-secret-and-long-enough"
TELLING = (
    "xyzzy",
    "plugh",
    "secre",
    "long",
    "enough",
    base64.b64encode(KEY.encode()).decode(),
    "alice",
    "acme",
    "ghp_",
)
URL = "https://example.org/hook/T0/xyzzy-plugh"


def answered(status: int, body: bytes = b"", most: int = 64_000, **headers: str) -> Answer:
    said = {name.replace("_", "-"): value for name, value in headers.items()}

    def server(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, content=iter([body]), headers=said)

    with httpx2.Client(transport=httpx2.MockTransport(server)) as client:
        sent = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "content-type": "application/json"}
        return post(client, Request(URL, b"{}", sent, 5.0, most=most), 1_000_000)


@pytest.mark.parametrize("secret", [KEY, f"Bearer {KEY}", URL])
@pytest.mark.parametrize("kept", [1, 4, 12])
def test_no_complaint_shows_a_header_or_the_address_nor_half_of_it(secret: str, kept: int) -> None:
    why = answered(400, b"-" * (SHOWN - kept) + secret.encode()).why
    assert why.startswith("answered with status 400: ---")
    assert secret[:kept] not in why.removeprefix("answered with status 400: ")


@pytest.mark.parametrize(
    "said",
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
def test_what_a_server_sends_back_in_another_form_is_not_shown_either(said: str) -> None:
    answer = answered(404, said.encode())
    shown = answer.why.lower()
    assert "[hidden]" in shown or "[redacted" in shown
    assert not [part for part in TELLING if part.lower() in shown]
    assert answer.complaint == "it answered with status 404, not found"


def test_a_person_who_waits_is_shown_what_is_no_secret_and_nobody_writes_it_down() -> None:
    answer = answered(415, b"no application/json here")
    assert answer.why == "answered with status 415: no application/json here"
    assert answer.complaint == "it answered with status 415, unsupported media type"


def test_a_status_that_nobody_knows_is_only_a_number() -> None:
    assert answered(599, b"x").complaint == "it answered with status 599"


@pytest.mark.parametrize("url", ["ftp://h.example/xyzzy-plugh", "xyzzy-plugh", "http://me:xyzzy%20plugh@[h/plugh"])
def test_an_address_that_cannot_be_used_is_not_shown(url: str) -> None:
    with httpx2.Client() as client:
        answer = post(client, Request(url, b"", {}, 5.0), 1)
    assert answer.complaint.startswith("it could not be reached: ")
    assert "plugh" not in answer.complaint


def test_an_answer_that_is_too_long_is_cut_and_says_so() -> None:
    whole, cut = answered(200, b"x" * 10, most=10), answered(200, b"x" * 11, most=10)
    assert (whole.cut, cut.cut) == (False, True)
    assert whole.body == cut.body == b"x" * 10


@pytest.mark.parametrize(
    "wanted,wait_us", [("3", 3_000_000), ("Thu, 01 Jan 1970 00:00:09 GMT", 8_000_000), ("soon", 0), ("", 0)]
)
def test_how_long_a_server_wants_to_be_left_alone_is_seconds_or_a_date(wanted: str, wait_us: int) -> None:
    assert answered(503, retry_after=wanted).wait_us == wait_us
