"""Decompresses gzip bodies piece by piece, within a limit: a small body may become very large."""

import zlib
from collections.abc import Iterator
from typing import Any, Final

from memstow.api.http.errors import ApiError

# Bytes decompressed at a time; and how many steps with next to no output count as one.
_STEP: Final = 1 << 18
_SMALL_STEPS: Final = 256


class GzipBody:
    """Decompresses one body."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._stream: Any = zlib.decompressobj(wbits=31)
        self._pieces: list[bytes] = []
        self._size = 0
        self._started = False

    def feed(self, data: bytes) -> Iterator[None]:
        """Decompress a piece, in steps that take a moment each."""
        self._started = self._started or bool(data)
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
                raise _malformed(str(error)) from None
            self._add(piece)
            data = self._stream.unconsumed_tail or self._stream.unused_data
            full = len(piece) == most and not self._stream.eof

    def end(self) -> bytes:
        """The whole body."""
        if self._started and not self._stream.eof:
            raise _malformed("it ends early")
        return b"".join(self._pieces)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise too_large(self._most)
        self._pieces.append(piece)


def too_large(most: int) -> ApiError:
    """The error for a body beyond the limit."""
    return ApiError(
        413,
        "body_too_large",
        f"the body is larger than the {most:,} bytes that the setting `max_body` allows",
        headers={"Connection": "close"},
    )


def _malformed(reason: str) -> ApiError:
    return ApiError(400, "malformed_gzip", f"the body is not gzip: {reason[:100]}")
