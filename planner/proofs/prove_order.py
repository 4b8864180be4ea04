"""A proof that no order of a graph's operators needs fewer bytes, for the checker that stands alone.

It rests on one operator, or on a search that has run dry; of these there are two at a time, from the first
operator on and from the last. `docs/order.md` says why that proves something.
"""

from memstow.planner.formats import read_graph
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import order_instance
from memstow.planner.graph.schedules import allowed_order
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import sha256_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import FREE, GIVEN, Graph, is_planned, phase_count, size_of
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import measure, parse_term
from memstow.planner.proofs.proof_file import Proof, draft_of, proof_in, take_place
from memstow.records import replace
from memstow.solvers.core import Budget
from memstow.solvers.known import KnownOrders
from memstow.solvers.orders import DEAD_SETS_MEMORY, MOST_BYTES, write_order_proof


def why_not_order(graph: Graph) -> str | None:
    """Why there is no proof about the orders of the graph, as users are told; None if there may be one."""
    lacks = _without_a_rule(graph)
    return None if lacks is None else f"there are no proofs for such a graph yet: {lacks}"


def _without_a_rule(graph: Graph) -> str | None:
    if graph.order == GIVEN:
        return (
            "its operators run as they are listed, so that it is a problem: `memstow convert` it to that and "
            "prove that, or let them run in any order, with --order free"
        )
    if graph.alternatives or graph.limits is not None:
        return f"it has `{'alternatives' if graph.alternatives else 'limits'}`"
    if len(graph.pools) > 1:
        return "it has several pools"
    if not is_about_peak(graph) and all(pool.capacity is None for pool in graph.pools):
        return "its objective does not begin with the peak"
    temporaries = (entry.size for operator in graph.operators for entry in operator.temporaries)
    everything = sum(size_of(tensor) for tensor in graph.tensors if is_planned(tensor)) + sum(temporaries)
    if max(everything, sum(map(phase_count, graph.operators))) >= MOST_BYTES:
        return "all bytes or all phases together are 2^61 or more"
    return None


def is_about_peak(graph: Graph) -> bool:
    """Whether the first term of the objective is the one that proofs are about."""
    first = parse_term(next(iter(graph.terms()), ""))
    pool = graph.pools[0].id if graph.pools else "memory"
    return first is not None and first.is_peak_of(pool, 1)


def prove_order_within(
    graph: Graph, plan: Plan, document: bytes, path: str, budget: Budget, known: KnownOrders | None = None
) -> Proof | None:
    """Write to `path` why no order needs less than the plan says, or what of that can be shown.

    `why_not_order` has no objection; the graph was read from the document. None, and no file, where nothing
    was shown. `known`: what the run of the plan has proven, which is not looked for again.
    """
    height = _height(graph, plan)
    if height is None:
        return None
    order = listed_order(graph) if plan.schedule is None else allowed_order(graph, plan.schedule.order)
    digest = sha256_of(document).digest()
    with draft_of(path) as draft:
        written = write_order_proof(
            order_instance(graph), order, height, draft, digest, DEAD_SETS_MEMORY, budget, known
        )
        if written.height is None:
            return None
        bound = written.height + 1
        proof = proof_in(draft, bound, written.steps, (bound,) if plan.status in PLANNED else ())
        take_place(draft, path)
    return proof


def read_provable_graph(document: bytes) -> Graph:
    """The graph in a file in JSON, with operators that may run in any order, whatever it asks for.

    Raises InputError for one that proofs have no rules for.
    """
    graph = replace(read_graph(document, "graph"), order=FREE)
    why = why_not_order(graph)
    if why is not None:
        raise InputError.single("no_proof", "$", why)
    return graph


def _height(graph: Graph, plan: Plan) -> int | None:
    """The greatest to which, as the plan says, no order keeps; None where it says nothing."""
    if plan.status is Status.INFEASIBLE:
        (pool,) = graph.pools
        if pool.capacity is None:
            return None
        return pool.capacity - measure((one.offset, one.offset + one.size) for one in pool.reserved)
    if plan.status not in PLANNED or not plan.objective or not is_about_peak(graph):
        return None
    first = plan.objective[0]
    return first.bound - 1 if first.bound or not first.value else None
