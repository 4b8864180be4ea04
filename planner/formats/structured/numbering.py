"""Numbers for names and names for numbers: the structured JSON refers to buffers and pools by number.

Number 3 called `tile` is `3:tile` here, and `3` when it has no name: both are seen in messages and both come
back when the problem is written again. Names of another form are numbered in order.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_NUMBERED: Final = re.compile(r"(0|[1-9][0-9]{0,9})(?::(.+))?", re.ASCII | re.DOTALL)
_MOST: Final = (1 << 32) - 1


class NumberedName(NamedTuple):
    """A number and the name that goes with it."""

    number: int
    name: str


def id_of(number: int, name: str) -> str:
    """The id of a number with a name."""
    return f"{number}:{name}" if name else str(number)


def number_ids(ids: Sequence[str]) -> list[NumberedName]:
    """A number for each of these ids: their own where all have one, their place in the list otherwise."""
    own = [_own(name) for name in ids]
    if len({one.number for one in own if one is not None}) == len(ids):
        return [one for one in own if one is not None]
    return [NumberedName(index, name) for index, name in enumerate(ids)]


def _own(identity: str) -> NumberedName | None:
    match = _NUMBERED.fullmatch(identity)
    if match is None or int(match[1]) > _MOST:
        return None
    return NumberedName(int(match[1]), match[2] or "")
