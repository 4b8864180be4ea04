"""The terms of a front of a graph: what its peak is of."""

from typing import Final

from memstow.planner.front.request import FrontRequest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph

PEAK: Final = "peak"
COST: Final = "cost"


def counted_pool(graph: Graph, request: FrontRequest) -> str | None:
    """The pool whose peak counts; None where there is only one. InputError for other terms."""
    first, second = request.terms
    pools = [pool.id for pool in graph.pools]
    name = first.partition(":")[2] if first.startswith(f"{PEAK}:") else None
    if second != COST or (name is None and first != PEAK):
        message = "the front of a graph is about a peak and the cost: peak,cost or peak:POOL,cost"
        raise InputError.single("front_terms", "terms", message)
    if name is not None and name not in pools:
        raise InputError.single("unknown_pool", "terms", f"the graph has no pool {name!r}; it has {pools}")
    if len(pools) <= 1:
        if "spill" in request.generators:
            message = "to spill, the graph needs a second pool where tensors wait; give it one in `pools`"
            raise InputError.single("spill_without_pool", "$.pools", message)
        return None
    if name is None:
        message = f"the graph has several pools; name the one whose peak counts, such as peak:{pools[0]},cost"
        raise InputError.single("front_terms", "terms", message)
    if "stripes" in request.generators:
        message = "stripes are chosen for one pool; use `--with recompute` or `--with spill`, or one pool"
        raise InputError.single("several_pools", "$.pools", message)
    if graph.alternatives:
        message = "alternatives are chosen for one pool; give the graph one"
        raise InputError.single("several_pools", "$.pools", message)
    return name
