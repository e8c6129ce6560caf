"""One request to somebody else's server: what comes back is bounded, and no complaint shows what must stay hidden."""

import httpx2
import pytest

from trotline.engine.posting import SHOWN, Answer, Request, post

KEY = "sk-very-secret-and-long-enough"
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


def test_what_is_no_secret_is_shown() -> None:
    assert answered(415, b"no application/json here").complaint == (
        "it answered with status 415: no application/json here"
    )


def test_an_answer_that_is_too_long_is_cut_and_says_so() -> None:
    whole, cut = answered(200, b"x" * 10, most=10), answered(200, b"x" * 11, most=10)
    assert (whole.cut, cut.cut) == (False, True)
    assert whole.body == cut.body == b"x" * 10


@pytest.mark.parametrize(
    "wanted,wait_us", [("3", 3_000_000), ("Thu, 01 Jan 1970 00:00:09 GMT", 8_000_000), ("soon", 0), ("", 0)]
)
def test_how_long_a_server_wants_to_be_left_alone_is_seconds_or_a_date(wanted: str, wait_us: int) -> None:
    assert answered(503, retry_after=wanted).wait_us == wait_us
