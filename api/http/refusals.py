"""What a connection is told before it is closed, without the app."""

import random
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

import httptools

from memstow.api.http.errors import ApiError, error_response
from memstow.planner.reading.printable import printable

CLOSE: Final = {"Connection": "close"}


def response_bytes(problem: ApiError, default_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The whole response, behind which the connection is closed."""
    request_id = f"{random.getrandbits(128):032x}"
    response = error_response(problem, request_id)
    headers = [*default_headers, *response.raw_headers, (b"x-request-id", request_id.encode())]
    if problem.headers != CLOSE:
        headers.append((b"connection", b"close"))
    status = HTTPStatus(problem.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


def malformed(error: Exception) -> tuple[str, ApiError]:
    """The refusal of what the parser does not take."""
    # Of an error in a callback the parser says only which: the URL is looked at behind the headers.
    reason = (
        "invalid URL" if isinstance(error, httptools.HttpParserCallbackError) else printable(str(error), 100)
    )
    detail = f"this is not a request of HTTP/1.1: {reason}"
    return "malformed_request", ApiError(400, "malformed_request", detail, headers=CLOSE)


def slow_head(seconds: float) -> ApiError:
    """The refusal of a head that does not come."""
    return ApiError(
        408,
        "head_too_slow",
        f"the head was not complete within the {seconds:g} s of the setting `head_seconds`",
        headers=CLOSE,
    )
