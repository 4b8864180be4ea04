"""Messages on a pipe, each after a header of a mark, lengths and a checksum by which garbage is recognised.

A message is JSON with bytes attached: decoding runs no code, whoever wrote it. Bytes are not encoded, because
a document of many megabytes as a JSON string would keep every other thread waiting.
"""

import json
import random
import struct
from collections.abc import Iterator
from typing import Any
from zlib import crc32

Message = dict[str, Any]

# Mark, length of the JSON, length of the bytes beside it, checksum of both.
_HEAD = struct.Struct("<4sIII")
_MARK = b"MSTW"
_LONGEST = 1 << 30


class GarbageError(Exception):
    """The bytes read are not a message."""


def pack(message: Message) -> bytes:
    """Encode a message; its values may be bytes themselves."""
    return b"".join(parts_of(message))


def parts_of(message: Message) -> list[bytes]:
    """The encoded message in parts: bytes in it are parts themselves, not copied."""
    # A new name for each message: no key that comes from outside can be equal to it.
    name = f"{random.getrandbits(64):016x}"
    beside: list[bytes] = []
    size = 0

    def put_aside(value: object) -> dict[str, tuple[int, int]]:
        nonlocal size
        if not isinstance(value, bytes):
            raise TypeError(f"{type(value).__name__} cannot be sent")
        begin, size = size, size + len(value)
        beside.append(value)
        return {name: (begin, size)}

    text = json.dumps([name, message], separators=(",", ":"), default=put_aside).encode()
    checksum = 0
    for part in (text, *beside):
        checksum = crc32(part, checksum)
    return [_HEAD.pack(_MARK, len(text), size, checksum) + text, *beside]


class Reader:
    """Decodes messages from pieces of bytes."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now; GarbageError for bytes that are no message."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            mark, length, beside, checksum = _HEAD.unpack_from(self._buffer)
            if mark != _MARK or length + beside > _LONGEST:
                raise GarbageError(f"{bytes(self._buffer[:40])!r} is not the head of a message")
            end = _HEAD.size + length + beside
            if len(self._buffer) < end:
                return
            with memoryview(self._buffer) as view:
                if crc32(view[_HEAD.size : end]) != checksum:
                    raise GarbageError("a message with a wrong checksum")
                middle = _HEAD.size + length
                text, bytes_beside = bytes(view[_HEAD.size : middle]), bytes(view[middle:end])
            del self._buffer[:end]
            yield _message(text, bytes_beside)


def _message(text: bytes, beside: bytes) -> Message:
    def put_back(value: dict[str, Any]) -> Any:
        place = value.get(name)
        if place is None:
            return value
        match place:
            case [int(begin), int(end)] if 0 <= begin <= end <= len(beside):
                return beside[begin:end]
        raise GarbageError("bytes that are not there")

    # The name comes first, in a string of its own; most messages do not have it again.
    name = text[2:18].decode("ascii", "replace")
    hook = put_back if text.count(text[2:18]) > 1 else None
    try:
        match json.loads(text, object_hook=hook):
            case [str(kind), dict(message)] if kind == name and isinstance(message.get("kind"), str):
                return message
    except ValueError as error:
        raise GarbageError(f"a message that is not JSON: {error}") from None
    raise GarbageError("a message without a kind")
