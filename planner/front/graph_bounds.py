"""What is known of all schedules of a graph, of the kinds that were asked for."""

from collections.abc import Iterable

from memstow.planner.front.candidates import Candidates
from memstow.planner.front.graph_terms import COST
from memstow.planner.front.request import FrontRequest


class GraphBounds:
    """Bounds of points.

    Of stripes and alternatives, all ways of the order of the document are known, if `exact`. Of what runs
    again or waits elsewhere, there are bounds for what it costs at most. Of both together nothing is known.
    """

    def __init__(self, request: FrontRequest, given: bool, base: int) -> None:
        """`base`: the cost of each operator once."""
        again = bool(request.generators & {"recompute", "spill"})
        self._terms = request.terms
        self._mixed = again and "stripes" in request.generators
        self._again = again
        self._base = base
        self.exact = given and not again
        self.found = Candidates()
        self._learned: list[tuple[int, int]] = []

    def learn(self, bounds: Iterable[tuple[int, int]]) -> None:
        """(cost, bytes): what costs no more than this needs at least so much."""
        self._learned += bounds

    def of(self, values: dict[str, int]) -> dict[str, int]:
        """The bounds of a point with these values."""
        peak, cost = values[self._terms[0]], values[COST]
        if self.exact:
            least = self.found.least_bytes(cost), self.found.least_cost(peak)
            return {self._terms[0]: least[0] or 0, COST: least[1] or 0}
        if self._again and not self._mixed:
            if not self._learned:
                return {}
            sizes = [size for most, size in self._learned if most >= cost]
            costs = [most + 1 for most, size in self._learned if size > peak]
            return {self._terms[0]: max(sizes, default=0), COST: max([self._base, *costs])}
        return {}
