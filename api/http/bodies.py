"""Bodies: of requests within limits on size, time and the memory of all bodies; of responses compressed.

Requests come plain or gzip. Large responses and event streams go as zstd or gzip to clients that accept it.
"""

import asyncio
import sys
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from typing import Any, Final, Protocol

from prometheus_client import Gauge
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from memstow.api.http.errors import ApiError
from memstow.api.http.settings import Settings

# Bodies up to this size are not counted: the number of connections bounds them, and small requests
# are served while large ones fill the budget.
UNCOUNTED: Final = 1 << 16
_SCOPE_KEY: Final = "memstow.body_memory"
_RETRY_SECONDS: Final = 2
# One key may fill this part of the memory for bodies.
_KEY_SHARE: Final = 0.5


class MemoryBudget:
    """Bytes of bodies in memory, counted on the event loop."""

    def __init__(self, limit: int, gauge: Gauge | None = None) -> None:
        self.limit = limit
        self.used = 0
        self._gauge = gauge
        self._by_key: Counter[str] = Counter()

    def resize(self, before: int, after: int, key: str | None = None) -> None:
        """Change one reservation from `before` to `after` bytes; a ApiError when there is no room.

        A request that has the budget, or the share of its key, to itself always gets what it needs, so that
        one document larger than that can still be read.
        """
        others = self.used - before
        if after > before and others and others + after > self.limit:
            raise ApiError(
                503,
                "memory_full",
                f"bodies of other requests fill the {self.limit:,} bytes of the setting `body_memory`; "
                "try again",
                headers={"Retry-After": str(_RETRY_SECONDS)},
            )
        if key is not None:
            self._resize_share(key, before, after)
        self.used = others + after
        if self._gauge is not None:
            self._gauge.set(self.used)

    def _resize_share(self, key: str, before: int, after: int) -> None:
        others = self._by_key[key] - before
        share = int(self.limit * _KEY_SHARE)
        if after > before and others and others + after > share:
            raise ApiError(
                429,
                "key_memory_full",
                f"bodies of other requests of this key fill its {share:,} bytes, "
                "half of the setting `body_memory`; try again",
                headers={"Retry-After": str(_RETRY_SECONDS)},
            )
        self._by_key[key] = others + after
        if not self._by_key[key]:
            del self._by_key[key]

    def charge_to(self, key: str, size: int) -> None:
        """Count these bytes, which are reserved already, as those of a key."""
        if size:
            self._by_key[key] += size


class Reservation:
    """The part of the budget that one request uses, until it is released."""

    __slots__ = ("_budget", "_key", "_request", "_reserved", "_response")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._key: str | None = None
        self._request = 0
        self._response = 0
        self._reserved = 0

    def charge_to(self, key: str) -> None:
        """Count it as that of a key, from now on."""
        if self._key is None:
            self._key = key
            self._budget.charge_to(key, self._reserved)

    def add_request(self, size: int) -> None:
        """Count more bytes of the request body."""
        self._resize(self._request + size, self._response)

    def require_response(self, size: int) -> None:
        """Make the reservation cover a response body of this size."""
        if size > self._response:
            self._resize(self._request, size)

    def release(self) -> None:
        """Return everything to the budget."""
        self._resize(0, 0)

    def _resize(self, request: int, response: int) -> None:
        needed = max(0, request - UNCOUNTED) + max(0, response - UNCOUNTED)
        if needed != self._reserved:
            self._budget.resize(self._reserved, needed, self._key)
            self._reserved = needed
        self._request, self._response = request, response


def reserve(scope: Scope, budget: MemoryBudget) -> Reservation:
    """A new reservation for the request of this scope."""
    reservation = Reservation(budget)
    scope[_SCOPE_KEY] = reservation
    return reservation


def reservation_of(scope: Scope) -> Reservation:
    """The reservation of the request of this scope."""
    reservation: Reservation = scope[_SCOPE_KEY]
    return reservation


WHOLE_BODY: Final = "memstow.whole_body"
"""What the state of a request has when all of its body has arrived."""
_PIECE: Final = 1 << 16
# Bytes decompressed at a time; and how many steps with next to no output count as one.
_STEP: Final = 1 << 18
_SMALL_STEPS: Final = 256


async def read_body(request: Request, settings: Settings) -> bytes:
    """The bytes of the body, decompressed."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise ApiError(
            415,
            "unsupported_encoding",
            "the body may be gzip or plain",
            headers={"Accept-Encoding": "gzip, identity"},
        )
    try:
        if encoding == "identity" and WHOLE_BODY in request.scope.get("state", ()):
            # Nothing is waited for: no clock is needed.
            piece, _ = await _piece(request)
            if len(piece) > settings.max_body:
                raise too_large(settings.max_body)
            reservation_of(request.scope).add_request(len(piece))
            return piece
        return await _received(request, settings, packed=encoding != "identity")
    except ClientDisconnect:
        raise ApiError(400, "client_gone", "the client went away") from None


async def _received(request: Request, settings: Settings, *, packed: bool) -> bytes:
    """The bytes of a body whose pieces must come in time."""
    reservation = reservation_of(request.scope)
    unpacker = _Unpacker(settings.max_body, reservation) if packed else None
    body = BytesIO()
    pace = _Pace(settings)
    size = 0
    try:
        async with asyncio.timeout_at(pace.deadline) as timeout:
            more = True
            while more:
                piece, more = await _piece(request)
                size += len(piece)
                if size > settings.max_body:
                    raise too_large(settings.max_body)
                if more:
                    pace.received(len(piece))
                    timeout.reschedule(pace.deadline)
                if unpacker is not None:
                    for start in range(0, len(piece), _PIECE):
                        for _ in unpacker.feed(piece[start : start + _PIECE]):
                            # Let other requests run: a small piece may decompress to a very large one.
                            await asyncio.sleep(0)
                    continue
                reservation.add_request(len(piece))
                body.write(piece)
    except TimeoutError:
        raise ApiError(408, "body_too_slow", pace.detail, headers={"Connection": "close"}) from None
    # Not a copy: the bytes that were written are handed out.
    return body.getvalue() if unpacker is None else unpacker.end()


async def _piece(request: Request) -> tuple[bytes, bool]:
    """The next piece of the body, and whether more will come."""
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


def too_large(most: int) -> ApiError:
    """The error for a body beyond the limit."""
    return ApiError(
        413,
        "body_too_large",
        f"the body is larger than the {most:,} bytes that the setting `max_body` allows",
        headers={"Connection": "close"},
    )


class _Pace:
    """Until when the next piece of a body must arrive."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._begin = asyncio.get_running_loop().time()
        self._size = 0

    def received(self, size: int) -> None:
        """Count a piece."""
        self._size += size

    @property
    def deadline(self) -> float:
        """On the clock of the event loop."""
        return self._begin + min(self._settings.body_seconds, self._seconds_by_rate)

    @property
    def detail(self) -> str:
        """The limit that was missed."""
        settings = self._settings
        if settings.body_seconds <= self._seconds_by_rate:
            return (
                f"the body was not here within the {settings.body_seconds:g} s of the setting `body_seconds`"
            )
        return (
            f"the body came slower than the {settings.min_rate:,} bytes a second of the setting `min_rate`, "
            f"by more than the {settings.stall_seconds:g} s of the setting `stall_seconds`"
        )

    @property
    def _seconds_by_rate(self) -> float:
        return self._settings.stall_seconds + self._size / self._settings.min_rate


class _Unpacker:
    """Decompresses gzip piece by piece, so that the limit is checked before memory is used."""

    def __init__(self, most: int, reservation: Reservation) -> None:
        self._most = most
        self._reservation = reservation
        self._stream: Any = zlib.decompressobj(wbits=31)
        self._body = BytesIO()
        self._fed = False

    def feed(self, data: bytes) -> Iterator[None]:
        """Decompress a piece, in steps that take a moment each."""
        self._fed = self._fed or bool(data)
        steps = 0
        full = False
        while data or full:
            steps += 1
            if full or steps % _SMALL_STEPS == 0:
                yield
            if self._stream.eof:
                # gzip allows one member after another.
                self._stream = zlib.decompressobj(wbits=31)
            most = min(_STEP, self._most + 1 - self._body.tell())
            try:
                piece = self._stream.decompress(data, most)
            except zlib.error as error:
                raise _bad_gzip(str(error)) from None
            self._keep(piece)
            data = self._stream.unconsumed_tail or self._stream.unused_data
            full = len(piece) == most and not self._stream.eof

    def end(self) -> bytes:
        """The whole body."""
        if self._fed and not self._stream.eof:
            raise _bad_gzip("it ends early")
        return self._body.getvalue()

    def _keep(self, piece: bytes) -> None:
        if self._body.tell() + len(piece) > self._most:
            raise too_large(self._most)
        self._reservation.add_request(len(piece))
        self._body.write(piece)


def _bad_gzip(reason: str) -> ApiError:
    return ApiError(400, "malformed_gzip", f"the body is not gzip: {reason[:100]}")


if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, ZstdCompressor
else:
    from backports.zstd import CompressionParameter, ZstdCompressor

# Smaller bodies are sent as they are: compressing takes longer than sending.
LARGE: Final = 16 << 10
EVENTS: Final = b"text/event-stream"
# Compressed at a time by a thread, so that the event loop goes on; smaller ones are compressed at once.
_COMPRESSED_AT_ONCE: Final = 1 << 20
_SMALL: Final = 1 << 16
_GZIP: Final = 16  # added to the window bits of zlib
_WINDOW_BITS: Final = 15
# A stream may be open for long, and its events are small: little memory for each.
_STREAM_WINDOW_BITS: Final = 12
_STREAM_ZLIB_MEMORY: Final = 4
# About 30 KiB a stream; with the tables of the usual level it would be 800.
_STREAM_ZSTD: Final[dict[int, int]] = {
    CompressionParameter.compression_level: 1,
    CompressionParameter.window_log: 10,
    CompressionParameter.hash_log: 8,
    CompressionParameter.chain_log: 8,
}

Header = tuple[bytes, bytes]


class _Compressor(Protocol):
    def compress(self, data: bytes) -> bytes:
        """Take in data; what comes out is perhaps of earlier data."""

    def flush(self) -> bytes:
        """The rest of what was taken in, so that it can be read without what follows."""

    def finish(self) -> bytes:
        """The end."""


class _Gzip:
    def __init__(self, stream: bool) -> None:
        bits = _STREAM_WINDOW_BITS if stream else _WINDOW_BITS
        memory = _STREAM_ZLIB_MEMORY if stream else zlib.DEF_MEM_LEVEL
        self._zlib = zlib.compressobj(wbits=_GZIP + bits, memLevel=memory)
        self.compress = self._zlib.compress

    def flush(self) -> bytes:
        return self._zlib.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._zlib.flush()


class _Zstd:
    def __init__(self, stream: bool) -> None:
        self._zstd = ZstdCompressor(options=_STREAM_ZSTD if stream else {})
        self.compress = self._zstd.compress

    def flush(self) -> bytes:
        return self._zstd.flush(ZstdCompressor.FLUSH_BLOCK)

    def finish(self) -> bytes:
        return self._zstd.flush()


_CODINGS: Final[dict[str, type[_Zstd] | type[_Gzip]]] = {"zstd": _Zstd, "gzip": _Gzip}


def accepted_coding(accept_encoding: str) -> str | None:
    """The coding that a client likes best, of those there are; None: the body as it is.

    A coding that is not named has the weight of `*`; the body as it is has it too, or else the least.
    """
    weights: dict[str, float] = {}
    for part in accept_encoding.lower().split(","):
        name, *parameters = (word.strip() for word in part.split(";"))
        weights[name] = _weight(parameters)
    others = weights.get("*", 0.0)
    # Of equals the first is taken.
    best = max(_CODINGS, key=lambda name: weights.get(name, others))
    weight = weights.get(best, others)
    return best if weight > 0.0 and weight >= weights.get("identity", 0.0) else None


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return max(0.0, min(float(value), 1.0))
            except ValueError:
                return 0.0
    return 1.0


class CompressedBody:
    """The body of one response, compressed as it is sent."""

    def __init__(self, coding: str, stream: bool) -> None:
        self._coding = coding
        self._stream = stream
        self._compressor: _Compressor = _CODINGS[coding](stream)

    def headers(self, headers: list[Header]) -> list[Header]:
        """The headers of the response: its length is not known, and its tag is a weak one."""
        changed = [
            (name, b"W/" + value if name == b"etag" and value.startswith(b'"') else value)
            for name, value in headers
            if name != b"content-length"
        ]
        return [*changed, (b"content-encoding", self._coding.encode())]

    async def pieces(self, body: bytes, more: bool) -> AsyncIterator[bytes]:
        """The compressed pieces of a piece of the body; none when there is nothing to send yet."""
        compressor = self._compressor
        for begin in range(0, len(body), _COMPRESSED_AT_ONCE):
            piece = body[begin : begin + _COMPRESSED_AT_ONCE]
            small = len(piece) <= _SMALL
            compressed = (
                compressor.compress(piece) if small else await asyncio.to_thread(compressor.compress, piece)
            )
            if compressed:
                yield compressed
        end = compressor.flush() if more and self._stream else b"" if more else compressor.finish()
        if end:
            yield end


def is_compressible(status: int, headers: dict[bytes, bytes]) -> bool:
    """Whether a response with this head is worth compressing."""
    if status != 200 or b"content-encoding" in headers:
        return False
    return is_stream(headers) or int(headers.get(b"content-length", 0)) >= LARGE


def is_stream(headers: dict[bytes, bytes]) -> bool:
    """Whether the response is a stream of events."""
    return headers.get(b"content-type", b"").startswith(EVENTS)


def coding_for(request: Headers) -> str | None:
    """The coding for the response to a request with these headers."""
    accepted = request.getlist("accept-encoding")
    return accepted_coding(", ".join(accepted)) if accepted else None


def with_vary(headers: list[Header]) -> list[Header]:
    """The headers, which say that the response depends on what codings the client accepts."""
    named = [value for name, value in headers if name == b"vary"]
    others = [pair for pair in headers if pair[0] != b"vary"]
    return [*others, (b"vary", b", ".join([*named, b"Accept-Encoding"]))]
