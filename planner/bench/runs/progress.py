"""The progress of a bench: counts of runs by what became of them."""

import time
from dataclasses import dataclass, field
from typing import Final

_NOTED: Final = 20


@dataclass(slots=True)
class Tally:
    """Counts of runs."""

    total: int
    begin: float = field(default_factory=time.monotonic)
    before: int = 0  # results that were there already
    done: int = 0
    same: int = 0  # runs on a problem that another file holds too
    left_out: int = 0  # runs on files that cannot be read as a problem
    lost: int = 0  # runs whose supervisor or worker died
    notes: list[str] = field(default_factory=list)  # why runs were left out or lost; the first of them

    @property
    def settled(self) -> int:
        """Runs that need no further work."""
        return self.before + self.done + self.same + self.left_out + self.lost

    def seconds_left(self) -> float | None:
        """An estimate of the rest, once a run is done."""
        ran = self.settled - self.before
        if not ran:
            return None
        return (time.monotonic() - self.begin) / ran * (self.total - self.settled)

    def note(self, text: str) -> None:
        """Note a run that was left out or lost; only the first notes are kept."""
        if len(self.notes) < _NOTED:
            self.notes.append(text)
