"""Responses compressed with zstd or gzip for clients that accept it: large ones, and event streams."""

import asyncio
import sys
import zlib
from collections.abc import AsyncIterator
from typing import Final, Protocol

from starlette.datastructures import Headers

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, ZstdCompressor
else:
    from backports.zstd import CompressionParameter, ZstdCompressor

# Smaller bodies are sent as they are: compressing takes longer than sending.
LARGE: Final = 16 << 10
EVENTS: Final = b"text/event-stream"
# Compressed at a time by a thread, so that the event loop goes on; smaller ones are compressed at once.
_PIECE: Final = 1 << 20
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
        name, *parameters = (it.strip() for it in part.split(";"))
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
        for begin in range(0, len(body), _PIECE):
            piece = body[begin : begin + _PIECE]
            small = len(piece) <= _SMALL
            made = (
                compressor.compress(piece) if small else await asyncio.to_thread(compressor.compress, piece)
            )
            if made:
                yield made
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
    given = request.getlist("accept-encoding")
    return accepted_coding(", ".join(given)) if given else None


def with_vary(headers: list[Header]) -> list[Header]:
    """The headers, which say that the response depends on what codings the client accepts."""
    named = [value for name, value in headers if name == b"vary"]
    others = [pair for pair in headers if pair[0] != b"vary"]
    return [*others, (b"vary", b", ".join([*named, b"Accept-Encoding"]))]
