"""The digest of a plain problem: that of `planner.model.digest`, of the same canonical form."""

from hashlib import sha256
from typing import Final

from memstow.planner.plain._columns import Columns

_LINES_AT_ONCE: Final = 1 << 16


def digest(columns: Columns) -> str:
    """SHA-256 of the canonical form, in hex."""
    capacity = "-" if columns.capacity is None else columns.capacity
    hasher = sha256(f"memstow-problem 1\npool {_text(columns.pool)} {capacity} 1 0 0 0\n".encode())
    for first in range(0, len(columns), _LINES_AT_ONCE):
        hasher.update(columns.canonical(first, first + _LINES_AT_ONCE))
    hasher.update(b"objective 1 4:peak\n")
    return hasher.hexdigest()


def _text(text: str) -> str:
    return f"{len(text.encode())}:{text}"
