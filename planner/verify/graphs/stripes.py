"""Stripes: operators of a run that become one, after every row and column of theirs has been followed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Final

from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, element_bits
from memstow.planner.model.plan import Stripe
from memstow.planner.model.problem import LIMIT
from memstow.planner.verify.effort import Effort
from memstow.planner.verify.graphs.free_names import FreeNames
from memstow.planner.verify.graphs.kinds import Kinds
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.ring_slots import check_slots
from memstow.planner.verify.graphs.rolling_rows import Keeping, Ring, rows_of
from memstow.planner.verify.graphs.runs import Run
from memstow.planner.verify.graphs.stripe_parts import Parts, parts_of
from memstow.planner.verify.graphs.strips import strips_of
from memstow.planner.verify.graphs.work import cost_of

_SUM: Final = 4
"""Bytes in which a reduction of integers adds up an element, at the least."""


@dataclass(frozen=True, slots=True)
class Striped:
    """The graph with an operator for each stripe."""

    graph: Graph
    rows: int
    """Rows that were followed, over all strips."""


@dataclass(slots=True)
class _Followed:
    """What came out of following all strips of a stripe."""

    rings: dict[int, Ring]
    """By place."""
    heights: Sequence[int]
    """By place, the rows that are made in each strip."""
    columns: list[int]
    """By place, the most columns of a strip."""
    made: list[int]
    """By place, the columns that are made, over all strips."""
    rows: int = 0


def check_stripes(stripes: Sequence[Stripe], before: Sequence[tuple[str, str]], order: Sequence[str]) -> None:
    """Raises Refused where stripes overlap, or have operators with effects that no tensor shows."""
    end = 0
    ordered = {name for pair in before for name in pair}
    for stripe in stripes:
        if not end <= stripe.begin < stripe.end <= len(order):
            raise Refused(
                f"a stripe is at places {stripe.begin:,} to {stripe.end:,}: stripes follow each other, and "
                f"lie within the {len(order):,} places of the order"
            )
        end = stripe.end
        for name in order[stripe.begin : stripe.end]:
            if name in ordered:
                raise Refused(f"{name!r} cannot run in a stripe: the graph orders it by `before`")


def striped(run: Run, stripes: Sequence[Stripe], effort: Effort) -> Striped:
    """The run with its stripes. Raises Refused where one cannot run."""
    return _Striping(run, effort).result(stripes)


class _Striping:
    def __init__(self, run: Run, effort: Effort) -> None:
        graph = run.graph
        self.run = run
        self.effort = effort
        self.tensors = {tensor.id: tensor for tensor in graph.tensors}
        viewed = frozenset(name for view in graph.views for name in (view.tensor, view.of))
        made = frozenset(name for operator in graph.operators for name in operator.outputs)
        self.kinds = Kinds(self.tensors, viewed, made)
        self.place = {tensor.id: at for at, tensor in enumerate(graph.tensors)}
        self.last_use: dict[str, int] = {}
        for at, operator in enumerate(graph.operators):
            self.last_use.update(dict.fromkeys(operator.inputs, at))
        self.kept = frozenset(graph.outputs)
        temporaries = (it.id for operator in graph.operators for it in operator.temporaries)
        self.names = FreeNames((*self.tensors, *temporaries), effort)
        self.inside: set[str] = set()
        self.rows = 0

    def result(self, stripes: Sequence[Stripe]) -> Striped:
        graph = self.run.graph
        operators: list[Operator] = []
        done = 0
        for stripe in stripes:
            first, last = self.run.places[stripe.begin], self.run.places[stripe.end - 1]
            if last - first != stripe.end - 1 - stripe.begin:
                copy = next(at for at in range(first, last) if at in self.run.copies)
                raise Refused(f"{graph.operators[copy].id!r} would copy in the middle of a stripe")
            operators += graph.operators[done:first]
            done = last + 1
            operators.append(self.merged(graph.operators[first:done], last, stripe.columns))
        operators += graph.operators[done:]
        tensors = tuple(tensor for tensor in graph.tensors if tensor.id not in self.inside)
        return Striped(replace(graph, tensors=tensors, operators=tuple(operators)), self.rows)

    def merged(self, operators: Sequence[Operator], last: int, width: int) -> Operator:
        """One operator in the place of these, of which the last is at this place."""
        rolling = [self.kinds.rolling(operator) for operator in operators]
        needed = frozenset(
            it.output for it in rolling if it.output in self.kept or self.last_use.get(it.output, -1) > last
        )
        parts = parts_of(rolling, width, self.tensors, needed)
        followed = self.follow(parts)
        inside = [(rolling[at].output, at) for at in parts.rings()]
        inside.sort(key=lambda it: self.place[it[0]])
        self.inside.update(name for name, _ in inside)
        self.rows += followed.rows
        # Of what no window reads, nothing is made.
        temporaries = [
            self.ring(parts, followed, at) for _, at in inside if followed.made[at] and followed.heights[at]
        ]
        for at, operator in enumerate(operators):
            temporaries += (replace(it, phases=(at, at + 1)) for it in operator.temporaries)
        temporaries += (
            self.sums(self.tensors[it.output], len(rolling)) for it in rolling if it.reduces is not None
        )
        made = {it.output for it in rolling}
        read = (name for operator in operators for name in operator.inputs if name not in made)
        return Operator(
            id=operators[-1].id,
            type=operators[-1].type,
            inputs=tuple(dict.fromkeys(read)),
            outputs=tuple(it.output for it in rolling if it.output in parts.leaving),
            temporaries=temporaries,
            cost=_within(self.cost(parts, followed)),
        )

    def follow(self, parts: Parts) -> _Followed:
        """Go through all strips, and the rows of one: those of all are made in the same order.

        An operator that has no column in a strip makes its rows all the same, with nothing in them.
        """
        rows = rows_of(parts, self.effort)
        rings = Keeping(parts, rows, self.effort).rings()
        check_slots(parts, rows, {at: ring.rows for at, ring in rings.items()}, self.effort)
        count = len(parts.rolling)
        found = _Followed(rings, rows.made, [0] * count, [0] * count)
        for strip in strips_of(parts, self.effort):
            for at, (begin, end) in enumerate(strip):
                found.columns[at] = max(found.columns[at], end - begin)
                found.made[at] += end - begin
                found.rows += rows.made[at] if begin < end else 0
        return found

    def ring(self, parts: Parts, followed: _Followed, at: int) -> Temporary:
        """The temporary in which the rows of a tensor roll."""
        name = parts.rolling[at].output
        tensor, image, ring = self.tensors[name], parts.images[name], followed.rings[at]
        return Temporary(
            id=name,
            size=_within(ring.rows * followed.columns[at] * image.channels * image.element),
            phases=ring.phases,
            alignment=tensor.alignment,
            pools=tensor.pools,
        )

    def sums(self, tensor: Tensor, count: int) -> Temporary:
        """What a reduction adds up its elements in, while all of so many operators run."""
        elements = 1
        for extent in tensor.shape or ():
            elements *= extent
        kind = tensor.type or "int8"
        each = -(-element_bits(kind) // 8)
        if "int" in kind or kind == "bool":
            each = max(each, _SUM)
        return Temporary(
            id=self.names.take(f"{tensor.id}.sums"),
            size=_within(elements * each),
            phases=(0, count),
            alignment=lcm(tensor.alignment, each),
            pools=tensor.pools,
        )

    def cost(self, parts: Parts, followed: _Followed) -> int:
        """What all strips cost: columns that several of them make are paid for several times."""
        total = 0
        for at, it in enumerate(parts.rolling):
            cost = cost_of(it.operator, self.tensors)
            if it.reduces is None:
                area = followed.heights[at] * followed.made[at]
                cost = -(-cost * area // (it.made.rows * it.made.columns))
            total += cost
        return total


def _within(value: int) -> int:
    if value > LIMIT:
        raise Refused(f"a stripe has {value:,} bytes or costs, above 2^62")
    return value
