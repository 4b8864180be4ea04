"""Sets of items that conflict pairwise: in each pool their sizes add up."""

from collections.abc import Callable

from memstow.solvers.assign.crowd import Pair
from memstow.solvers.assign.room import Room
from memstow.solvers.models.cliques import cliques
from memstow.solvers.models.relations import Relations, rows

# With more entries than this the smallest rows are left out; cuts replace them.
_MOST_ENTRIES = 300_000


class Loads:
    """Items live at one time, and cliques of listed conflicts."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._rectangles, _ = relations.rectangles()
        self._cliques = cliques(relations)

    def of(self, room: Room, may_go: Callable[[int], bool], *, only_scarce: bool) -> list[list[Pair]]:
        """The sets of the items that may go to a pool, as (item, size).

        `only_scarce`: without those that fit however many of them go there.
        """
        mine = rows([r for r in self._rectangles if may_go(r.item)])
        if only_scarce:
            mine = [row for row in mine if sum(room.cells_of(r.size) for r in row) > room.cells]
        if sum(map(len, mine)) > _MOST_ENTRIES:
            mine.sort(key=lambda row: -sum(r.size for r in row))
        entries, loads = 0, dict[tuple[Pair, ...], None]()
        for row in mine:
            entries += len(row)
            if entries > _MOST_ENTRIES:
                break
            loads[tuple((r.item, r.size) for r in row)] = None
        loads.update(dict.fromkeys(self._clique_loads(may_go)))
        return [list(load) for load in loads]

    def _clique_loads(self, may_go: Callable[[int], bool]) -> list[tuple[Pair, ...]]:
        item_of, sizes = self._relations.item_of, self._relations.instance.part_size
        mine = ([p for p in parts if may_go(item_of[p])] for parts in self._cliques)
        return [tuple((item_of[p], sizes[p]) for p in parts) for parts in mine if len(parts) > 1]
