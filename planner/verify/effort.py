"""How much the judge does for one proof: a document of a few megabytes may ask for years."""

from typing import Final

MOST_STEPS: Final = 20_000_000
"""Of each some microseconds at most. The largest proofs that memstow writes take a tenth of them."""

STEPS_IN_A_RUN: Final = 2_000_000
"""Of the search of a window, for a plan of a run that was searched before: some milliseconds."""
STEPS_OF_A_VERDICT: Final = 200_000_000
"""Of the same, where somebody asks: about a second."""


class TooMuch(Exception):  # noqa: N818
    """Checking this takes more work than the judge does: it stays a claim."""


class Effort:
    """Counts steps, each of which looks at one operator, storage or name. Raises TooMuch past the limit."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self._left = most

    def spend(self, steps: int) -> None:
        """Count steps, before they are made."""
        self._left -= steps
        if self._left < 0:
            raise TooMuch
