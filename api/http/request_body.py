"""The body of a request: its bytes, unpacked and within the limits, and the form it is in."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from memstow.api.http.errors import ProblemError
from memstow.api.http.memory_budget import Reservation, reservation_of
from memstow.api.http.settings import Settings
from memstow.planner import formats

_PIECE: Final = 1 << 16
# Unpacked at a time, in bytes; and how many steps of next to nothing are one.
_STEP: Final = 1 << 18
_SMALL_STEPS: Final = 256
_VENDOR: Final = "application/vnd.memstow."
MEDIA_TYPES: Final = {
    "json": f"{_VENDOR}problem+json",
    "csv": "text/csv",
    "structured": f"{_VENDOR}structured+json",
    "executorch": f"{_VENDOR}executorch+json",
    "usmp": f"{_VENDOR}usmp+json",
}
_FORMAT_OF: Final = {media: name for name, media in MEDIA_TYPES.items()}
_PLAIN: Final = ("application/json", "application/octet-stream", "text/csv")


async def read_body(request: Request, settings: Settings) -> bytes:
    """The bytes of the body, unpacked."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise ProblemError(
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
                            # Others have their turn: a little that came may unpack to very much.
                            await asyncio.sleep(0)
                    continue
                size += len(piece)
                if size > settings.max_body:
                    raise too_large(settings.max_body)
                reservation.add_request(len(piece))
                pieces.append(piece)
    except TimeoutError:
        raise ProblemError(408, "body_too_slow", pace.detail, headers={"Connection": "close"}) from None
    except ClientDisconnect:
        raise ProblemError(400, "client_gone", "the client went away") from None
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


def too_large(most: int) -> ProblemError:
    """A body beyond the limit."""
    return ProblemError(
        413,
        "body_too_large",
        f"the body is larger than the {most:,} bytes that the setting `max_body` allows",
        headers={"Connection": "close"},
    )


def format_of(request: Request, chosen: str | None, *, enveloped: bool = True) -> str | None:
    """The format of a body that is a problem alone; None for our envelope."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if chosen is not None:
        if chosen not in formats.names():
            raise ProblemError(
                422, "unknown_format", f"there is no such format; use one of {', '.join(formats.names())}"
            )
        if media in _FORMAT_OF or media in _PLAIN:
            return chosen
    elif media in _FORMAT_OF:
        return _FORMAT_OF[media]
    elif media == "application/json" and enveloped:
        return None
    allowed = ", ".join(["application/json", *MEDIA_TYPES.values()])
    raise ProblemError(
        415,
        "unsupported_media_type",
        f"say in Content-Type what the body is: {allowed}",
        headers={"Accept-Post": allowed},
    )


def require_json(request: Request) -> None:
    """Refuse what is not said to be JSON."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise ProblemError(
            415,
            "unsupported_media_type",
            "send application/json",
            headers={"Accept-Post": "application/json"},
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
    """Unpacks gzip piece by piece, so that a bomb is known before it has gone off."""

    def __init__(self, most: int, reservation: Reservation) -> None:
        self._most = most
        self._reservation = reservation
        self._stream: Any = zlib.decompressobj(wbits=31)
        self._pieces: list[bytes] = []
        self._size = 0
        self._fed = False

    def feed(self, data: bytes) -> Iterator[None]:
        """Unpack what came, in steps that take a moment each."""
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
        """All of it."""
        if self._fed and not self._stream.eof:
            raise _bad_gzip("it ends early")
        return b"".join(self._pieces)

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise too_large(self._most)
        self._reservation.add_request(len(piece))
        self._pieces.append(piece)


def _bad_gzip(reason: str) -> ProblemError:
    return ProblemError(400, "malformed_gzip", f"the body is not gzip: {reason[:100]}")
