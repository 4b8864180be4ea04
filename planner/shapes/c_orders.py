"""The orders of a plan as tables of small numbers."""

from collections.abc import Iterator, Sequence

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import LIMIT
from memstow.planner.shapes.units import Unit

Kind = tuple[int, int, int, int | None, int]
"""Of a unit: the lowest place of its first member, modulus, residue, pin, pool."""

_LARGEST_MODULUS = 1 << 63


class OrderTables:
    """Orders as rows of numbers, with the kinds of units and the distances that they refer to."""

    def __init__(self, orders: Sequence[Sequence[Unit]]) -> None:
        self._kinds: dict[Kind, int] = {}
        self._distances: dict[int, int] = {}
        self.units = [len(units) for units in orders]
        """By order: how many units it has."""
        self.rows = [[it for unit in units for it in self._numbers(unit)] for units in orders]
        """By order: the units, as the function that reads them says."""

    @property
    def kinds(self) -> Sequence[Kind]:
        """The kinds of units by number."""
        return list(self._kinds)

    @property
    def distances(self) -> Sequence[int]:
        """The distances by number."""
        return list(self._distances)

    def _numbers(self, unit: Unit) -> Iterator[int]:
        modulus, residue = unit.grid.modulus, unit.grid.residue
        if modulus > _LARGEST_MODULUS:
            # Only one offset is within 2^62, if any.
            modulus, residue = _LARGEST_MODULUS, min(residue, LIMIT + 1)
        kind = (unit.floor, modulus, residue, unit.pin, unit.pool)
        yield self._kinds.setdefault(kind, len(self._kinds))
        yield len(unit.members)
        for member in unit.members:
            if abs(member.distance) > LIMIT:
                message = "two buffers are more than 2^62 bytes apart, and so the plan never fits"
                raise InputError.single("does_not_fit", "relative", message)
            yield member.buffer
            yield self._distances.setdefault(member.distance, len(self._distances))
            yield len(member.above)
            yield from member.above
