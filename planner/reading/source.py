"""Bytes from a file, a pipe or a device, never more than a limit: an endless source must not fill memory."""

import os
import sys
from typing import BinaryIO, Final

from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import printable

LARGEST_INPUT: Final = 256 << 20
_CHUNK: Final = 1 << 20


def read_bytes(source: str | os.PathLike[str] | BinaryIO, limit: int = LARGEST_INPUT) -> bytes:
    """The bytes of a path, a stream or (`-`) standard input; an InputError when more than `limit`."""
    if source == "-":
        return _drained(sys.stdin.buffer, limit, "standard input")
    if not isinstance(source, str | os.PathLike):
        return _drained(source, limit, _name_of(source))
    name = os.fspath(source)
    try:
        with open(source, "rb", buffering=0) as stream:
            # Only a shortcut: the size of a device or a pipe says nothing.
            if os.fstat(stream.fileno()).st_size > limit:
                raise _too_large(name, limit)
            return _drained(stream, limit, name)
    except ValueError:  # a NUL byte in the name
        raise InputError.single("not_found", printable(name, 200), "there is no such file") from None
    except OSError as error:
        raise InputError.single(*_problem_with(error, name)) from None


def _drained(stream: BinaryIO, limit: int, name: str) -> bytes:
    chunks: list[bytes] = []
    left = limit + 1
    try:
        while left > 0 and (chunk := stream.read(min(left, _CHUNK))):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        raise InputError.single(*_problem_with(error, name)) from None
    if left <= 0:
        raise _too_large(name, limit)
    return b"".join(chunks)


def _name_of(stream: BinaryIO) -> str:
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "input"


def _too_large(name: str, limit: int) -> InputError:
    return InputError.single(
        "too_large", printable(name, 200), f"more than {limit:,} bytes, the most that is read"
    )


def _problem_with(error: OSError, source: str) -> tuple[str, str, str]:
    name = printable(source, 200)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "not_found", name, "there is no such file"
    if isinstance(error, IsADirectoryError):
        return "is_a_directory", name, "this is a directory; give a file"
    if isinstance(error, PermissionError):
        return "not_permitted", name, "the permissions of this file do not let it be read"
    return "unreadable", name, f"cannot be read: {printable(error.strerror or str(error), 200)}"
