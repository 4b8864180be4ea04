"""How far a bench is, and what it could not do."""

import time
from dataclasses import dataclass, field
from typing import Final

_NOTED: Final = 20


@dataclass(slots=True)
class Tally:
    """How far a run is."""

    total: int
    begin: float = field(default_factory=time.monotonic)
    before: int = 0  # results that were there already
    done: int = 0
    same: int = 0  # runs on a problem that another file holds too
    left_out: int = 0  # runs on what is no problem
    lost: int = 0  # runs that came to nothing, through no fault of theirs
    notes: list[str] = field(default_factory=list)  # what was left out or lost, and why; the first of them

    @property
    def settled(self) -> int:
        """Runs that nothing more will come of."""
        return self.before + self.done + self.same + self.left_out + self.lost

    def seconds_left(self) -> float | None:
        """About how long it will take, once there is something to tell it from."""
        ran = self.settled - self.before
        if not ran:
            return None
        return (time.monotonic() - self.begin) / ran * (self.total - self.settled)

    def note(self, text: str) -> None:
        """Keep what was left out or lost, and why, unless there is too much of it."""
        if len(self.notes) < _NOTED:
            self.notes.append(text)
