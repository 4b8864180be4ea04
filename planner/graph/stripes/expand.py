"""The graph in which each stripe is one operator: its rings are temporaries, its phases the places inside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

from memstow.planner.graph.costs import operator_costs
from memstow.planner.graph.links import links_of
from memstow.planner.graph.stripes.columns import Strips, strips_of
from memstow.planner.graph.stripes.members import Members, members_of
from memstow.planner.graph.stripes.rows import Rows, replay
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor
from memstow.planner.model.plan import Stripe


@dataclass(frozen=True, slots=True)
class Cut:
    """One stripe, gone through."""

    members: Members
    rows: Rows
    strips: Strips

    def ring_bytes(self, place: int) -> int:
        """The bytes that are kept of what is made at a place; 0 where that is there as a whole."""
        ring = self.rows.rings[place]
        return 0 if ring is None else ring.rows * self.strips.widest[place] * self.members.pixel[place]

    def cost(self, costs: Sequence[int]) -> int:
        """What running it costs, given the cost of each operator of the graph."""
        total = 0
        for place, (operator, kind) in enumerate(
            zip(self.members.operators, self.members.kinds, strict=True)
        ):
            if kind.reduces:
                total += costs[operator]
                continue
            made = self.rows.made[place] * self.strips.total[place]
            total += -(-costs[operator] * made // (kind.rows * kind.columns))
        return total


def cut_of(graph: Graph, operators: Sequence[int], columns: int) -> Cut | str:
    """The stripe of these operators with so many columns; or why there is none."""
    members = members_of(graph, operators)
    if isinstance(members, str):
        return members
    if columns > members.kinds[-1].columns:
        return f"a strip has {columns:,} columns, and there are {members.kinds[-1].columns:,}; take that many"
    return Cut(members, replay(members), strips_of(members, columns))


def with_stripes(graph: Graph, stripes: Sequence[Stripe]) -> Graph:
    """A graph whose operators run as they are listed, with these runs of them as one operator each."""
    operators: list[Operator] = []
    gone: set[str] = set()
    costs = operator_costs(graph)
    at = 0
    for number, stripe in enumerate(stripes):
        if not at <= stripe.begin < stripe.end <= len(graph.operators):
            message = "stripes name operators in ascending order, each at most once, of those that run"
            raise InputError.single("bad_stripe", f"$.schedule.stripes[{number}]", message)
        cut = cut_of(graph, range(stripe.begin, stripe.end), stripe.columns)
        if isinstance(cut, str):
            raise InputError.single("bad_stripe", f"$.schedule.stripes[{number}]", cut)
        operators += graph.operators[at : stripe.begin]
        made, inside = _as_one(graph, cut, costs)
        operators.append(made)
        gone |= inside
        at = stripe.end
    operators += graph.operators[at:]
    tensors = tuple(tensor for tensor in graph.tensors if tensor.id not in gone)
    return replace(graph, tensors=tensors, operators=tuple(operators), order="given")


def _as_one(graph: Graph, cut: Cut, costs: Sequence[int]) -> tuple[Operator, set[str]]:
    """The operator that a stripe becomes, and the tensors that only it has."""
    members = cut.members
    inside = [graph.operators[it] for it in members.operators]
    made = [graph.tensors[kind.made] for kind in members.kinds]
    own = {tensor.id for tensor, leaves in zip(made, members.leaves, strict=True) if not leaves}
    written = {tensor.id for tensor in made}
    inputs = dict.fromkeys(name for it in inside for name in it.inputs if name not in written)
    place_of = {tensor.id: place for place, tensor in enumerate(made)}
    rings = sorted((name for name in own), key=links_of(graph).tensor_index.__getitem__)
    temporaries = [it for name in rings for it in _ring(cut, place_of[name], made[place_of[name]])]
    for place, operator in enumerate(inside):
        temporaries += [replace(it, phases=(place, place + 1)) for it in operator.temporaries]
    everything = (0, members.count)
    taken = {it.id for it in graph.tensors}
    taken |= {it.id for operator in graph.operators for it in operator.temporaries}
    for kind, tensor in zip(members.kinds, made, strict=True):
        if kind.reduces:
            name = free_id(f"{tensor.id}.sums", taken)
            temporaries.append(
                Temporary(
                    id=name,
                    size=kind.sums,
                    phases=everything,
                    alignment=lcm(tensor.alignment, kind.sum_width),
                    pools=tensor.pools,
                )
            )
    return (
        Operator(
            id=inside[-1].id,
            type="stripe",
            inputs=tuple(inputs),
            outputs=tuple(tensor.id for tensor in made if tensor.id not in own),
            temporaries=tuple(temporaries),
            cost=cut.cost(costs),
        ),
        own,
    )


def _ring(cut: Cut, place: int, tensor: Tensor) -> Iterator[Temporary]:
    """The ring of a tensor; none where nothing of it is made."""
    ring, size = cut.rows.rings[place], cut.ring_bytes(place)
    if ring is not None and size:
        phases = ring.first, ring.last + 1
        yield Temporary(
            id=tensor.id, size=size, phases=phases, alignment=tensor.alignment, pools=tensor.pools
        )


def free_id(name: str, taken: set[str]) -> str:
    """The name, or one that is not taken, with signs after it."""
    while name in taken:
        name += "#"
    return name
