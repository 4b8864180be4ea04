"""A body as it comes in: unpacked whole, in steps between which others have their turn, within the limit."""

import asyncio
import gzip
from random import Random

import pytest
from starlette.requests import Request
from starlette.types import Message

from memstow.api.http.errors import ApiError
from memstow.api.http.request_body import read_body
from memstow.api.http.settings import Settings

STEP = 1 << 18
SETTINGS = Settings(max_body=8 << 20)


def received(data: bytes, size: int, encoding: str = "gzip") -> Request:
    """A request whose body comes in pieces of this size."""
    pieces = [data[i : i + size] for i in range(0, len(data), size)]

    async def receive() -> Message:
        body = pieces.pop(0) if pieces else b""
        return {"type": "http.request", "body": body, "more_body": bool(pieces)}

    scope = {"type": "http", "method": "POST", "headers": [(b"content-encoding", encoding.encode())]}
    return Request(scope, receive)


def whole(data: bytes, size: int, encoding: str = "gzip") -> bytes:
    return asyncio.run(read_body(received(data, size, encoding), SETTINGS))


@pytest.mark.parametrize("length", [0, 1, STEP - 1, STEP, STEP + 1, 3 * STEP, 5 * STEP + 7])
@pytest.mark.parametrize("size", [1000, 1 << 16, 1 << 24])
def test_what_was_packed_comes_out_whatever_the_pieces(length: int, size: int) -> None:
    for plain in (bytes(length), Random(length).randbytes(length)):
        assert whole(gzip.compress(plain), size) == plain
        assert whole(gzip.compress(plain) * 2 + gzip.compress(b"end"), size) == plain * 2 + b"end"
        assert whole(plain, size, "identity") == plain


@pytest.mark.parametrize("size", [10, 1 << 16])
def test_a_body_up_to_the_limit_is_taken_and_one_beyond_is_not(size: int) -> None:
    most = SETTINGS.max_body
    assert len(whole(gzip.compress(bytes(most)), size)) == most
    with pytest.raises(ApiError) as beyond:
        whole(gzip.compress(bytes(most + 1)), size)
    assert (beyond.value.status, beyond.value.code) == (413, "body_too_large")


@pytest.mark.parametrize("size", [1000, 1 << 24])
def test_a_plain_body_has_the_same_limit(size: int) -> None:
    most = SETTINGS.max_body
    assert len(whole(bytes(most), size, "identity")) == most
    with pytest.raises(ApiError) as beyond:
        whole(bytes(most + 1), size, "identity")
    assert (beyond.value.status, beyond.value.code) == (413, "body_too_large")


def test_what_ends_early_or_is_no_gzip_is_told() -> None:
    for data in (gzip.compress(bytes(100_000))[:-1], b"no gzip", gzip.compress(b"a") + b"and more"):
        with pytest.raises(ApiError) as broken:
            whole(data, 1 << 16)
        assert broken.value.code == "malformed_gzip"


@pytest.mark.parametrize("packed", [gzip.compress(bytes(8 << 20)), gzip.compress(b"") * 20_000])
def test_others_have_their_turn_while_a_body_is_unpacked(packed: bytes) -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def both() -> None:
        other = asyncio.create_task(take_turns())
        await read_body(received(packed, 1 << 24), SETTINGS)
        other.cancel()

    asyncio.run(both())
    assert turns > 20
