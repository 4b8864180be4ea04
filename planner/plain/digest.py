"""The digest of a plain problem: that of `planner.model.digest`, of the same canonical form."""

from hashlib import sha256
from typing import Final

from memstow.planner.model.digest import FIRST_LINE, objective_line, pool_line
from memstow.planner.plain._columns import Columns

_LINES_AT_ONCE: Final = 1 << 16
_LAST_LINE: Final = objective_line(("peak",)).encode()
_LAST_LINE_TO_FIT: Final = objective_line(()).encode()


def digest(columns: Columns) -> str:
    """SHA-256 of the canonical form, in hex."""
    hasher = sha256((FIRST_LINE + pool_line(columns.pool, columns.capacity)).encode())
    for first in range(0, len(columns), _LINES_AT_ONCE):
        hasher.update(columns.canonical(first, first + _LINES_AT_ONCE))
    hasher.update(_LAST_LINE_TO_FIT if columns.fit_only else _LAST_LINE)
    return hasher.hexdigest()
