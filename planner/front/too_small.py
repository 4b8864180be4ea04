"""Why no schedule of a graph fits, what the least that is known needs, and what may help."""

from collections.abc import Iterator, Sequence

from memstow.planner.front.candidates import Candidate
from memstow.planner.front.kept_order import has_other_orders
from memstow.planner.front.request import FrontRequest
from memstow.planner.model import Status
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Explanation, Plan


def too_small(
    graph: Graph,
    request: FrontRequest,
    found: Sequence[Candidate],
    least: int,
    failed: Sequence[Plan],
    capacity: int | None,
) -> Explanation | None:
    """The explanation where no point fits; None where nothing is known to stand in the way.

    `least`: what no schedule of those that were asked for does without, in the pool that counts; 0: unknown;
    `failed`: the plans that were tried.
    """
    smallest = min(found, key=lambda it: (it.bytes, it.cost), default=None)
    if smallest is None:
        return None
    pool = graph.pools[0].id if len(graph.pools) == 1 else None
    if capacity is not None and smallest.bytes > capacity:
        proven = f"; nothing that was asked for needs less than {least:,}" if least else ""
        message = (
            f"pool {pool!r} has {capacity:,} bytes, and the least schedule that was found needs "
            f"{smallest.bytes:,} at a cost of {smallest.cost:,}{proven}: give it {smallest.bytes:,} or more"
        )
        helps = list(_other_ways(graph, request))
        if helps:
            message += f", or ask for {' or '.join(helps)}"
        return Explanation(
            code="too_small", message=message, pool=pool, needed=least or None, capacity=capacity
        )
    reasons = [it.explanation for it in failed if it.status is Status.INFEASIBLE and it.explanation]
    return reasons[0] if reasons else None


def _other_ways(graph: Graph, request: FrontRequest) -> Iterator[str]:
    """What was not asked for, and may need less memory."""
    one_pool = len(graph.pools) <= 1
    others = [it for it in ("stripes", "channels") if one_pool and it not in request.generators]
    if "recompute" not in request.generators:
        others.append("recompute")
    if others:
        yield f"more ways to run it (--with {','.join([*sorted(request.generators), *others])})"
    if graph.order == GIVEN and has_other_orders(graph):
        yield "other orders (--order free)"
