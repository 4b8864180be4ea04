"""In which order the operators of a stripe make rows within one strip, and how many rows must be kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.verify.effort import Effort
from memstow.planner.verify.graphs.stripe_parts import Parts
from memstow.planner.verify.graphs.untimed import members


@dataclass(frozen=True, slots=True)
class Rows:
    """One strip, row by row."""

    steps: Sequence[int]
    """The places of the operators, each as often as it makes a row, in the order in which they do."""
    made: Sequence[int]
    """By place, how many rows are made."""


def rows_of(parts: Parts, effort: Effort) -> Rows:
    """The rows of a strip: each is made when it is needed, as late as it can be."""
    return _Demand(parts, effort).rows()


class _Demand:
    def __init__(self, parts: Parts, effort: Effort) -> None:
        self.parts = parts
        self.effort = effort
        self.made = [0] * len(parts.rolling)
        self.steps: list[int] = []

    def rows(self) -> Rows:
        rolling = self.parts.rolling
        last = len(rolling) - 1
        # What a reduction makes leaves the stripe as well.
        sinks = [place for place in range(last) if self.parts.is_sink(place)]
        height = self.parts.reference.rows
        for row in range(height):
            self.effort.spend(1 + len(sinks))
            for place in sinks:
                wanted = (row + 1) * rolling[place].made.rows // height
                while self.made[place] < wanted:
                    self.make(place)
            self.make(last)
        return Rows(self.steps, self.made)

    def make(self, wanted: int) -> None:
        """Make the next row of an operator, after the rows that it needs."""
        waiting = [wanted]
        while waiting:
            place = waiting[-1]
            maker = self.missing(place)
            if maker is not None:
                waiting.append(maker)
                continue
            waiting.pop()
            self.made[place] += 1
            self.steps.append(place)

    def missing(self, place: int) -> int | None:
        """Who must make a row before this operator can make its next one."""
        row, reads = self.made[place], self.parts.rolling[place].reads
        sources = self.parts.sources[place]
        self.effort.spend(1 + len(sources))
        for name, maker in sources:
            if self.made[maker] < reads[name][0].of(row, row + 1)[1]:
                return maker
        return None


@dataclass(slots=True)
class Ring:
    """What is kept of the rows of one tensor."""

    rows: int
    """The most that are needed at once: one at least, which is made, though nobody may read it."""
    phases: tuple[int, int]
    """The first operator that runs while they are needed, and the one after the last."""


class Keeping:
    """Follows the rows of a strip, and says what is needed of each tensor and when."""

    def __init__(self, parts: Parts, rows: Rows, effort: Effort) -> None:
        self.parts = parts
        self.rows = rows
        self.effort = effort
        self.done = [0] * len(parts.rolling)
        self.kept = 0
        """The places whose output has rows that are still needed, a bit for each."""

    def first_needed(self, place: int) -> int:
        """The first row of what it makes that a reader still needs; none: what comes after all rows made."""
        name = self.parts.rolling[place].output
        readers = self.parts.readers[name]
        self.effort.spend(1 + 2 * len(readers))
        needed = [
            self.parts.rolling[reader].reads[name][0].of(row, row + 1)[0]
            for reader in readers
            if (row := self.done[reader]) < self.rows.made[reader]
        ]
        return min(needed, default=self.done[place])

    def rings(self) -> dict[int, Ring]:
        """By place, the ring of what it makes."""
        rings = {place: Ring(0, (place, place + 1)) for place in self.parts.rings()}
        while_running = [0] * len(self.parts.rolling)
        words = len(while_running) // 256
        for place in self.rows.steps:
            self.effort.spend(1 + words + len(self.parts.sources[place]))
            seen = while_running[place] | self.kept
            for _, maker in self.parts.sources[place]:
                if maker in rings:
                    seen |= 1 << maker
            self.done[place] += 1
            if place in rings:
                seen |= 1 << place
                kept = self.done[place] - self.first_needed(place)
                rings[place].rows = max(rings[place].rows, kept, 1)
                self.note(place)
            while_running[place] = seen
            for _, maker in self.parts.sources[place]:
                if maker in rings:
                    self.note(maker)
        for at, first in _first_seen(enumerate(while_running)):
            rings[at].phases = min(rings[at].phases[0], first), rings[at].phases[1]
        for at, last in _first_seen(reversed([*enumerate(while_running)])):
            rings[at].phases = rings[at].phases[0], max(rings[at].phases[1], last + 1)
        return rings

    def note(self, place: int) -> None:
        """Note whether rows of what it makes are still needed."""
        if self.done[place] > self.first_needed(place):
            self.kept |= 1 << place
        else:
            self.kept &= ~(1 << place)


def _first_seen(places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Each bit that is set at some place, with the first such place."""
    found = 0
    for place, seen in places:
        for at in members(seen & ~found):
            yield at, place
        found |= seen
