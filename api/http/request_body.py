"""Reads the body of a request: plain or gzip, within the limits on size, time and memory."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from memstow.api.http.errors import ApiError
from memstow.api.http.memory_budget import Reservation, reservation_of
from memstow.api.http.settings import Settings

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
    reservation = reservation_of(request.scope)
    unpacker = _Unpacker(settings.max_body, reservation) if encoding != "identity" else None
    pieces: list[bytes] = []
    size = 0
    pace = _Pace(settings)
    try:
        async with asyncio.timeout_at(pace.deadline) as timeout:
            async for piece, more in _pieces(request):
                if more:
                    pace.received(len(piece))
                    timeout.reschedule(pace.deadline)
                if unpacker is not None:
                    for start in range(0, len(piece), _PIECE):
                        for _ in unpacker.feed(piece[start : start + _PIECE]):
                            # Let other requests run: a small piece may decompress to a very large one.
                            await asyncio.sleep(0)
                    continue
                size += len(piece)
                if size > settings.max_body:
                    raise too_large(settings.max_body)
                reservation.add_request(len(piece))
                pieces.append(piece)
    except TimeoutError:
        raise ApiError(408, "body_too_slow", pace.detail, headers={"Connection": "close"}) from None
    except ClientDisconnect:
        raise ApiError(400, "client_gone", "the client went away") from None
    return b"".join(pieces) if unpacker is None else unpacker.end()


async def _pieces(request: Request) -> AsyncIterator[tuple[bytes, bool]]:
    """The pieces of the body, and whether more will come."""
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        yield message.get("body", b""), more


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
        self._pieces: list[bytes] = []
        self._size = 0
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
            most = min(_STEP, self._most + 1 - self._size)
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
        return b"".join(self._pieces)

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise too_large(self._most)
        self._reservation.add_request(len(piece))
        self._pieces.append(piece)


def _bad_gzip(reason: str) -> ApiError:
    return ApiError(400, "malformed_gzip", f"the body is not gzip: {reason[:100]}")
