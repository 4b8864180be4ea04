"""The body of a request: its bytes, unpacked and within the limits, and the form it is in."""

import asyncio
import zlib
from collections.abc import Iterator
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from memstow.api.http.errors import ProblemError
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
    unpacker = _Unpacker(settings.max_body) if encoding != "identity" else None
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for piece in request.stream():
                if unpacker is not None:
                    for start in range(0, len(piece), _PIECE):
                        for _ in unpacker.feed(piece[start : start + _PIECE]):
                            # Others have their turn: a little that came may unpack to very much.
                            await asyncio.sleep(0)
                    continue
                size += len(piece)
                if size > settings.max_body:
                    raise too_large(settings.max_body)
                pieces.append(piece)
    except TimeoutError:
        raise ProblemError(
            408,
            "body_too_slow",
            f"the body was not here within the {settings.body_seconds:g} s of the setting `body_seconds`",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise ProblemError(400, "client_gone", "the client went away") from None
    return b"".join(pieces) if unpacker is None else unpacker.end()


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


class _Unpacker:
    """Unpacks gzip piece by piece, so that a bomb is known before it has gone off."""

    def __init__(self, most: int) -> None:
        self._most = most
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
        self._pieces.append(piece)


def _bad_gzip(reason: str) -> ProblemError:
    return ProblemError(400, "malformed_gzip", f"the body is not gzip: {reason[:100]}")
