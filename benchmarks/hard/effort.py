"""How much time and how many seeds the hard problems get: less for a quick look."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """What may be lowered from the command line."""

    most_seconds: float | None = None  # no run gets more than this; None: as each table says
    seeds: int = 10

    def seconds(self, usual: float) -> float:
        """The time limit of a run, from its usual one."""
        return usual if self.most_seconds is None else min(usual, self.most_seconds)
