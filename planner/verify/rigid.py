"""Rigid groups: buffers that `relative` holds together, and where each is within its group."""

from collections.abc import Iterable, Sequence

ALONE = -1


class Rigid:
    """Buffers by index; `group[i]` is `ALONE`, or the same number for all members of one group.

    A buffer of size 0 passes on the distances of those that are tied through it, and is itself no member.
    `delta[i]` is the offset of a member less an origin that its group has in common. `contradicted` holds the
    entries whose distance differs from what other entries imply.
    """

    def __init__(self, sized: Sequence[bool], entries: Iterable[tuple[int, int, int]]) -> None:
        self.group = [ALONE] * len(sized)
        self.delta: dict[int, int] = {}
        self.members: list[list[int]] = []
        self.contradicted: list[tuple[int, int, int]] = []

        neighbours: dict[int, list[tuple[int, int]]] = {}
        entries = list(entries)
        for buffer, base, distance in entries:
            neighbours.setdefault(buffer, []).append((base, -distance))
            neighbours.setdefault(base, []).append((buffer, distance))
        for first in neighbours:
            if self.group[first] == ALONE:
                self._gather(first, neighbours)
        for entry in entries:
            buffer, base, distance = entry
            if self.delta[buffer] - self.delta[base] != distance:
                self.contradicted.append(entry)
        self.members = [[member for member in members if sized[member]] for members in self.members]
        for index in neighbours:
            if not sized[index]:
                self.group[index] = ALONE

    def _gather(self, first: int, neighbours: dict[int, list[tuple[int, int]]]) -> None:
        number = len(self.members)
        self.group[first] = number
        self.delta[first] = 0
        reached = [first]
        for member in reached:
            for other, distance in neighbours[member]:
                if self.group[other] == ALONE:
                    self.group[other] = number
                    self.delta[other] = self.delta[member] + distance
                    reached.append(other)
        self.members.append(reached)

    def together(self, one: int, other: int) -> bool:
        """Whether the two are in one group, and so may overlap."""
        return self.group[one] != ALONE and self.group[one] == self.group[other]
