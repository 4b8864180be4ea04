"""Names in a given room, where letters may be two columns wide."""

from typing import Final
from unicodedata import east_asian_width

from memstow.planner.show.formatting import plain

LONGEST: Final = 40
_SHORTEST: Final = 6
"""Letters of a name cut short that still say something."""


def breadth(text: str) -> int:
    """How many columns it takes."""
    return len(text) + sum(east_asian_width(letter) in "FW" for letter in text)


def fit_text(name: str, room: int) -> str:
    """As much of the name as there is room for, or nothing where that says little."""
    text = plain(name, most=LONGEST)
    while len(text) > _SHORTEST and breadth(text) > room:
        text = plain(name, most=len(text) - 1)
    return text if breadth(text) <= room else ""
