"""A body as it comes in: unpacked whole, in steps between which others have their turn, within the limit."""

import asyncio
import gzip
import tracemalloc
from random import Random

import pytest
from starlette.requests import Request
from starlette.types import Message, Receive

from memstow.api.http.bodies import (
    UNCOUNTED,
    WHOLE_BODY,
    MemoryBudget,
    read_body,
    reservation_of,
    reserve,
)
from memstow.api.http.errors import ApiError
from memstow.api.http.settings import Settings

STEP = 1 << 18
SETTINGS = Settings(max_body=8 << 20)


def received(data: bytes, size: int, encoding: str = "gzip") -> Request:
    """A request whose body comes in pieces of this size."""
    pieces = [data[i : i + size] for i in range(0, len(data), size)]

    async def receive() -> Message:
        body = pieces.pop(0) if pieces else b""
        return {"type": "http.request", "body": body, "more_body": bool(pieces)}

    return request_of(receive, encoding)


def request_of(receive: Receive, encoding: str = "identity", budget: MemoryBudget | None = None) -> Request:
    scope = {"type": "http", "method": "POST", "headers": [(b"content-encoding", encoding.encode())]}
    reserve(scope, budget or MemoryBudget(1 << 30))
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


def test_what_is_packed_has_the_limit_too() -> None:
    # Empty members, of which nothing comes out.
    member = gzip.compress(b"")
    count = SETTINGS.max_body // len(member)
    assert whole(member * count, 1 << 20) == b""
    with pytest.raises(ApiError) as beyond:
        whole(member * (count + 1), 1 << 20)
    assert (beyond.value.status, beyond.value.code) == (413, "body_too_large")


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_body_that_is_there_already_is_read_alike(encoding: str) -> None:
    for length in (0, 1, 1 << 17, SETTINGS.max_body):
        plain = bytes(length)
        packed = plain if encoding == "identity" else gzip.compress(plain)
        budget = MemoryBudget(1 << 30)

        async def receive(packed: bytes = packed) -> Message:
            return {"type": "http.request", "body": packed, "more_body": False}

        request = request_of(receive, encoding, budget)
        request.scope["state"] = {WHOLE_BODY: True}
        assert asyncio.run(read_body(request, SETTINGS)) == plain
        assert budget.used == max(0, length - UNCOUNTED)
    request = received(bytes(SETTINGS.max_body + 1), 1 << 24, "identity")
    request.scope["state"] = {WHOLE_BODY: True}
    with pytest.raises(ApiError) as beyond:
        asyncio.run(read_body(request, SETTINGS))
    assert (beyond.value.status, beyond.value.code) == (413, "body_too_large")


def test_what_ends_early_or_is_no_gzip_is_told() -> None:
    for data in (gzip.compress(bytes(100_000))[:-1], b"no gzip", gzip.compress(b"a") + b"and more"):
        with pytest.raises(ApiError) as broken:
            whole(data, 1 << 16)
        assert broken.value.code == "malformed_gzip"


@pytest.mark.parametrize(
    "packed", [gzip.compress(bytes(8 << 20), mtime=0), gzip.compress(b"", mtime=0) * 20_000]
)
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


def never_ends(first: bytes) -> Receive:
    """Receives one piece of a body and then nothing more."""
    pieces = [first]

    async def receive() -> Message:
        if not pieces:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": pieces.pop(), "more_body": True}

    return receive


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (Settings(body_seconds=0.05, stall_seconds=100.0), "`body_seconds`"),
        (Settings(body_seconds=100.0, stall_seconds=0.05), "`min_rate`"),
        (Settings(body_seconds=100.0, stall_seconds=0.02, min_rate=100), "`stall_seconds`"),
    ],
)
def test_a_body_that_comes_too_slowly_is_given_up(settings: Settings, named: str) -> None:
    with pytest.raises(ApiError) as slow:
        asyncio.run(read_body_of(never_ends(b"{"), settings))
    assert (slow.value.status, slow.value.code) == (408, "body_too_slow")
    assert named in slow.value.detail


async def read_body_of(receive: Receive, settings: Settings) -> bytes:
    return await read_body(request_of(receive), settings)


def test_bytes_that_have_come_give_a_body_more_time() -> None:
    """A rate of a byte a second, met by a thousand bytes for a thousand seconds."""
    settings = Settings(body_seconds=1000.0, stall_seconds=0.05, min_rate=1)
    parts = [b"0" * 1000, b"1"]

    async def receive() -> Message:
        if len(parts) == 1:
            # Longer than `stall_seconds`, which passes for a body that has not come at all.
            await asyncio.sleep(0.2)
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    assert len(asyncio.run(read_body_of(receive, settings))) == 1001


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_bodies_that_are_not_complete_take_no_more_memory_than_is_allowed(encoding: str) -> None:
    budget = MemoryBudget(3 << 20)
    plain = Random(1).randbytes(2 << 20)
    packed = gzip.compress(plain, 1)
    unfinished = plain[:-1] if encoding == "identity" else packed[:-20]
    settings = Settings(body_seconds=1000.0, stall_seconds=1000.0)

    async def work() -> None:
        held = request_of(never_ends(unfinished), encoding, budget)
        waiting = asyncio.create_task(read_body(held, settings))
        while budget.used < 1 << 20:
            await asyncio.sleep(0)
        refused = request_of(never_ends(unfinished), encoding, budget)
        with pytest.raises(ApiError) as full:
            await read_body(refused, settings)
        assert (full.value.status, full.value.code) == (503, "memory_full")
        assert "`body_memory`" in full.value.detail
        assert int(full.value.headers["Retry-After"]) > 0
        reservation_of(refused.scope).release()
        small = request_of(received(b"{}", 10, "identity")._receive, "identity", budget)
        assert await read_body(small, settings) == b"{}", "small bodies are served meanwhile"
        waiting.cancel()
        reservation_of(held.scope).release()
        assert budget.used == 0
        whole = received(plain if encoding == "identity" else packed, 1 << 16, encoding)._receive
        assert await read_body(request_of(whole, encoding, budget), settings) == plain

    asyncio.run(work())


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_body_is_in_memory_once(encoding: str) -> None:
    plain = bytes(7 << 20)
    request = received(gzip.compress(plain) if encoding == "gzip" else plain, 1 << 18, encoding)

    async def most_while_read() -> int:
        tracemalloc.start()
        try:
            assert await read_body(request, SETTINGS) == plain
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert asyncio.run(most_while_read()) < 1.5 * len(plain)
