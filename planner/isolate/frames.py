"""Messages on a pipe: a mark, a length and a checksum before each, so that garbage is known as garbage.

What is inside is JSON: reading it runs nothing, whoever wrote it.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any
from zlib import crc32

Message = dict[str, Any]

_HEAD = struct.Struct("<4sII")
_MARK = b"MSTW"
_LONGEST = 1 << 30


class GarbageError(Exception):
    """What came is not a message."""


def pack(message: Message) -> bytes:
    """A message as bytes."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return _HEAD.pack(_MARK, len(body), crc32(body)) + body


class Reader:
    """Turns bytes, as they come in pieces, into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now, one by one; GarbageError where one cannot be."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            mark, length, checksum = _HEAD.unpack_from(self._buffer)
            if mark != _MARK or length > _LONGEST:
                raise GarbageError(f"{bytes(self._buffer[:40])!r} is not the head of a message")
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            yield _message(body, checksum)


def _message(body: bytes, checksum: int) -> Message:
    if crc32(body) != checksum:
        raise GarbageError("a message with a wrong checksum")
    try:
        message = json.loads(body)
    except ValueError as error:
        raise GarbageError(f"a message that is not JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("kind"), str):
        raise GarbageError("a message without a kind")
    return message
