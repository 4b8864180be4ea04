"""Buffers that keep their distances: those tied by `relative`, and those that share an offset in an order."""

from collections.abc import Collection, Iterable


class Units:
    """`unit[i]` of buffer i, `at[i]` its distance from where its unit begins, and all `members`.

    `contradicted` has the ties whose distance is another than that of other ties. Each of the `loose` buffers
    is a unit alone; others keep the distances that they have through it.
    """

    def __init__(
        self, count: int, ties: Iterable[tuple[int, int, int]], loose: Collection[int] = frozenset()
    ) -> None:
        self.unit = [-1] * count
        self.at = [0] * count
        self.members: list[list[int]] = []
        neighbours: dict[int, list[tuple[int, int]]] = {}
        ties = list(ties)
        for buffer, base, distance in ties:
            neighbours.setdefault(buffer, []).append((base, -distance))
            neighbours.setdefault(base, []).append((buffer, distance))
        for first in range(count):
            if self.unit[first] < 0:
                self._gather(first, neighbours)
        self.contradicted = [tie for tie in ties if self.at[tie[0]] - self.at[tie[1]] != tie[2]]
        if loose:
            self._part(loose)

    def _gather(self, first: int, neighbours: dict[int, list[tuple[int, int]]]) -> None:
        number = len(self.members)
        self.unit[first] = number
        reached = [first]
        for member in reached:
            for other, distance in neighbours.get(member, ()):
                if self.unit[other] < 0:
                    self.unit[other] = number
                    self.at[other] = self.at[member] + distance
                    reached.append(other)
        self.members.append(reached)

    def _part(self, loose: Collection[int]) -> None:
        """Let these go from their units."""
        kept = ([i for i in members if i not in loose] for members in self.members)
        self.members = [*filter(None, kept), *([i] for i in sorted(loose))]
        for number, members in enumerate(self.members):
            for i in members:
                self.unit[i] = number
        for i in loose:
            self.at[i] = 0

    def same_offset(self, one: int, other: int) -> bool:
        """Whether the two always begin together."""
        return self.unit[one] == self.unit[other] and self.at[one] == self.at[other]
