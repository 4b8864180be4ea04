"""Which buffers must change for smaller peaks, as a page of its own holds it: it has no solver to ask."""

import json
from collections.abc import Iterator
from math import log2
from typing import Final

from memstow.planner.explain.shortfall import Demand, Work, as_data
from memstow.planner.model import PLANNED
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem

_MOST_POOLS: Final = 8
# Of buffers, over all peaks that are looked at: about a second.
_MOST_COUNTED: Final = 100_000
_WORK: Final = 200_000


def shortfalls_of(problem: Problem, plan: Plan) -> bytes:
    """For the peaks that the page steps through, as JSON; without a plan for the capacities.

    The same plan gives the same bytes: it is work that is limited, and no time.
    """
    room = _MOST_COUNTED // max(len(problem.buffers), 1)
    peaks = list(_peaks(problem, plan))[:_MOST_POOLS] if room else []
    found = []
    for pool, wanted in peaks:
        demand = Demand(problem, pool)
        for least in wanted[: max(room // len(peaks), 1)]:
            shortfall = demand.shortfall(least, Work(_WORK))
            none = {"pool": pool, "wanted": least, "count": 0, "least": 0, "changes": []}
            found.append(none if shortfall is None else as_data(shortfall, moments=False))
    return json.dumps(found).encode()


def _peaks(problem: Problem, plan: Plan) -> Iterator[tuple[str, list[int]]]:
    """For each pool the peaks, those first that are looked at first."""
    if plan.status not in PLANNED:
        for pool in problem.pools:
            if pool.capacity is not None:
                yield pool.id, [pool.capacity]
        return
    size_of = {it.id: it.size for it in problem.buffers}
    ends: dict[str, int] = {}
    for place in plan.placements:
        if size_of[place.buffer]:
            ends[place.pool] = max(ends.get(place.pool, 0), place.offset + size_of[place.buffer])
    for pool in problem.pools:
        peak = ends.get(pool.id, 0)
        if peak:
            # The page begins with about a fiftieth of the peak, and doubles or halves that.
            first = log2(max(peak / 64, 1))
            steps = sorted(range(peak.bit_length()), key=lambda it: abs(it - first - 0.5))
            yield pool.id, [peak - (1 << it) for it in steps]
