"""The front of a graph: what its peak is of, and what has no front."""

from typing import Final

from memstow.planner.front.request import FrontRequest
from memstow.planner.graph.check import require_valid
from memstow.planner.graph.costs import with_cost_unit
from memstow.planner.graph.stripes.limits import require_countable
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Kind

PEAK: Final = "peak"
COST: Final = "cost"


def require_front(graph: Graph, request: FrontRequest) -> None:
    """Raise InputError for a graph that has no such front, before any work is done.

    Paths that begin with `$` are of the graph, others of what is asked for.
    """
    require_valid(graph)
    pool = counted_pool(graph, request)
    if "spill" in request.generators and request.cost_unit != "bytes":
        message = "copies cost bytes: with spill, take the cost in bytes (`--cost bytes`)"
        raise InputError.single("spill_cost", "cost", message)
    if Kind.MOVES.value in (graph.objective or ()):
        message = "the front of a graph is about its peak and cost; leave `moves` out of the objective"
        raise InputError.single("front_moves", "$.objective", message)
    costed = with_cost_unit(graph, request.cost_unit)
    if pool is None:
        require_countable(costed, "stripes" in request.generators)


def counted_pool(graph: Graph, request: FrontRequest) -> str | None:
    """The pool whose peak counts; None where there is only one. InputError for other terms."""
    first, second = request.terms
    pools = [pool.id for pool in graph.pools]
    name = first.partition(":")[2] if first.startswith(f"{PEAK}:") else None
    if second != COST or (name is None and first != PEAK):
        message = "the front of a graph is about a peak and the cost: peak,cost or peak:POOL,cost"
        raise InputError.single("front_terms", "terms", message)
    if name is not None and name not in pools:
        there = (
            f"its pools are {', '.join(map(repr, pools[:8]))}" if pools else "it names none: take peak,cost"
        )
        raise InputError.single("unknown_pool", "terms", f"the graph has no pool {name!r}; {there}")
    if len(pools) <= 1:
        if "spill" in request.generators:
            message = "to spill, the graph needs a second pool where tensors wait; give it one in `pools`"
            raise InputError.single("spill_without_pool", "$.pools", message)
        return None
    if name is None:
        message = f"the graph has several pools; name the one whose peak counts, such as peak:{pools[0]},cost"
        raise InputError.single("front_terms", "terms", message)
    if "stripes" in request.generators:
        message = (
            "stripes are chosen for one pool; ask for recompute or spill in their place, or give one pool"
        )
        raise InputError.single("several_pools", "$.pools", message)
    if "channels" in request.generators:
        message = "parts of channels are chosen for one pool; leave channels out, or give one pool"
        raise InputError.single("several_pools", "$.pools", message)
    if graph.alternatives:
        message = "alternatives are chosen for one pool; give the graph one"
        raise InputError.single("several_pools", "$.pools", message)
    return name
