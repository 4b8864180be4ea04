"""What is known of all schedules of a graph, of the kinds and in the orders that were asked for."""

from collections.abc import Iterable, Sequence

from memstow.planner.front.candidates import Candidate, Candidates
from memstow.planner.front.facts import ANY
from memstow.planner.front.graph_terms import COST
from memstow.planner.front.request import FrontRequest
from memstow.planner.model.front import FrontPoint
from memstow.planner.model.graph import GIVEN, Graph


class GraphBounds:
    """Bounds of points, and whether a point may be missing.

    Of stripes and alternatives, all ways of the order of the document are known, if `exact`. Of what runs
    again or waits elsewhere, there are bounds for what it costs at most. Of both together nothing is known.
    """

    def __init__(self, graph: Graph, request: FrontRequest, pool: str | None, base: int) -> None:
        """`base`: the cost of each operator once."""
        again = bool(request.generators & {"recompute", "spill"})
        self._terms = request.terms
        # With alternatives, a program may need less than all that was looked at.
        self._learns = again and "stripes" not in request.generators and not graph.alternatives
        self.exact = graph.order == GIVEN and pool is None and not again
        self._ways = Candidates()
        self._learned = [(base - 1, ANY)] if self._learns else []

    def know(self, ways: Iterable[Candidate]) -> None:
        """These are all ways, but for those that another is as good as in both terms, if `exact`."""
        self._ways = Candidates(ways)

    def learn(self, bounds: Iterable[tuple[int, int]]) -> None:
        """(cost, bytes) of what runs again or waits: what costs no more than this needs at least so much."""
        if self._learns:
            self._learned += bounds

    def of(self, values: dict[str, int]) -> dict[str, int]:
        """The bounds of a point with these values."""
        if not self.exact and not self._learns:
            return {}
        peak, cost = values[self._terms[0]], values[COST]
        return {self._terms[0]: self.least_peak_within(cost), COST: self._least_cost(peak)}

    def all_known(self, points: Sequence[FrontPoint], most_cost: int | None, capacity: int | None) -> bool:
        """Whether all points up to this cost, in a memory of this capacity, are among these proven ones."""
        first = self._terms[0]
        above = ANY if capacity is None else capacity + 1
        for it in sorted(points, key=lambda it: (it.values[COST], it.values[first])):
            if it.values[first] >= above:
                continue
            # Whatever costs less than this point needs as much as the one before it.
            if self.least_peak_within(it.values[COST] - 1) < above:
                return False
            above = it.values[first]
        return self.least_peak_within(ANY if most_cost is None else most_cost) >= above

    @property
    def least_peak(self) -> int:
        """What nothing does without, whatever it costs; 0 where that is not known."""
        least = self.least_peak_within(ANY)
        return 0 if least >= ANY else least

    def least_peak_within(self, cost: int) -> int:
        """What nothing that costs no more does without; 0 where that is not known."""
        if self.exact:
            least = self._ways.least_bytes(cost)
            return ANY if least is None else least
        return max((size for most, size in self._learned if most >= cost), default=0)

    def _least_cost(self, peak: int) -> int:
        """What nothing that needs no more costs less than."""
        if self.exact:
            least = self._ways.least_cost(peak)
            return ANY if least is None else least
        return max((most + 1 for most, size in self._learned if size > peak), default=0)
