"""What all schedules of a graph need and cost at least: in any order, in any stripes, whatever runs again.

Take a path of operators, each of which reads what the one before makes. In each schedule there is a run of
the last one; the version that it reads was made by a run of the one before, and so on. These runs come one
after the other, whatever else runs. Where the next one of them is in another stripe, or runs alone, what lies
between them is there as a whole at the end of the one and at the begin of the other. A stripe in the middle
of which something is left as a whole is as bad as the two that end and begin there. In all others, those of
the path keep the rows that one needs after the other; where somebody else reads them as well, and may have
them made sooner, at least what `solvers/native/stripes/segment.cpp` shows. So each schedule is as bad in
bytes and cost as some way to cut the path into stripes, and what is beside it costs what it costs in any
schedule. Of a graph that is a single path, no bounds are better.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.graph.live_bytes import (
    Load,
    load_of,
    most_saved,
    resident_load,
    start_height,
    temporary_height,
    unit_of,
)
from memstow.planner.graph.live_bytes import whole as rounded_up
from memstow.planner.graph.operators import (
    image_of,
    kinds_if_unbound,
    operator_costs,
    whole_in_stripes,
)
from memstow.planner.graph.stripe_front import Corner, axis_numbers
from memstow.planner.model.graph import (
    Graph,
    Operator,
    index_of,
    is_planned,
    size_of,
)
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import MOST, StripeProgram, stripe_front

# What describing an operator counts as.
_WORK_OF_AN_OPERATOR: Final = 100


@dataclass(frozen=True, slots=True)
class PartsBeside:
    """While the part that is made last is between these operators, the others need so much at least."""

    makes: int
    last: int
    """The last that works on the part."""
    adds: int
    bytes: int


@dataclass(frozen=True, slots=True)
class InParts:
    """Operators that may run in parts or not."""

    own: Mapping[int, int] = field(default_factory=dict)
    """By operator, the bytes of a part of what it makes, or of all where it adds parts up."""
    beside: Sequence[PartsBeside] = ()
    cost: int = 0
    """Of all of them, at least."""


_WHOLE: Final = InParts()


def path_corners(
    graph: Graph,
    budget: Budget,
    *,
    runs_again: bool,
    unit: int | None = None,
    in_parts: InParts = _WHOLE,
) -> list[Corner] | None:
    """Corners of which each schedule is as bad as one in both terms.

    Of a valid graph without alternatives whose numbers can be added up, in which all begins at multiples of a
    unit. None where the budget ends first, or there are views.
    """
    if graph.views or not graph.operators:
        return None
    path = _widest_path(graph)
    budget.count(_WORK_OF_AN_OPERATOR * len(graph.operators))
    unit = unit_of(graph) if unit is None else unit
    always = {step: resident_load(graph, step) for step in (unit, 1)}
    program = _Path(graph, path, runs_again, unit, in_parts, always).program()
    on_path, costs = set(path), operator_costs(graph)
    beside = in_parts.cost + sum(
        cost
        for at, (cost, is_whole) in enumerate(zip(costs, whole_in_stripes(graph), strict=True))
        if is_whole and at not in on_path and at not in in_parts.own
    )
    front = stripe_front(program, MOST - beside, len(path), budget)
    return [Corner(point.bytes, point.cost + beside) for point in front.points] if front.complete else None


def _widest_path(graph: Graph) -> list[int]:
    """The path that makes the most bytes, from who reads nothing that is made to whom nobody reads."""
    links, tensors = links_of(graph), index_of(graph).tensors
    most: dict[int, int] = {}
    before: dict[int, int] = {}
    for operator in listed_order(graph):
        made = (tensors[name] for name in graph.operators[operator].outputs)
        own = 1 + sum(size_of(tensor) for tensor in made if is_planned(tensor))
        makers = {links.producer[links.tensor_index[name]] for name in graph.operators[operator].inputs}
        best = max(sorted(makers - {NOBODY}), key=most.__getitem__, default=None)
        most[operator] = own + (0 if best is None else most[best])
        if best is not None:
            before[operator] = best
    path = [max(most, key=most.__getitem__)]
    while path[-1] in before:
        path.append(before[path[-1]])
    return path[::-1]


@dataclass(frozen=True, slots=True)
class _Path:
    graph: Graph
    path: Sequence[int]
    runs_again: bool
    unit: int
    in_parts: InParts
    always: Mapping[int, Load]
    """What is always live, by unit: this one, and single bytes."""

    def program(self) -> StripeProgram:
        """The path as if nothing else were there; where it is alone, an operator has all that it uses."""
        graph, path, unit = self.graph, self.path, self.unit
        links, known = links_of(graph), kinds_if_unbound(graph)
        costs, always = operator_costs(graph), self.always[unit]
        names = ("can", "reduces", "kept", "shared", "rows", "columns", "pixel")
        columns: dict[str, array[int]] = {
            name: array("q", [0]) * len(path)
            for name in (*names, "extra", "extra_rest", "sums", "alone", "cost")
        }
        last_reader = array("q", [*range(1, len(path)), NOBODY])
        use_start, uses, wholes = array("q", [0]), array("q"), array("q")
        for size in self._sizes(graph.operators[path[0]].inputs, maker=NOBODY):
            wholes.extend((NOBODY, 0, size, NOBODY))
        for at, operator in enumerate(path):
            is_last = at + 1 == len(path)
            then = [] if is_last else graph.operators[path[at + 1]].inputs
            made = graph.operators[operator].outputs
            handed = self._sizes(made if is_last else [name for name in made if name in then], operator)
            kind = known[operator]
            for size in handed:
                wholes.extend((at, at if is_last else at + 1, size, at if kind is not None else NOBODY))
            columns["cost"][at] = 0 if operator in self.in_parts.own else costs[operator]
            columns["alone"][at] = self._alone(operator)
            if kind is not None:
                before = path[at - 1] if at else NOBODY
                uses_of_path = [use for use in kind.uses if at and links.producer[use.tensor] == before]
                columns["can"][at] = not at or bool(uses_of_path)
                output = graph.tensors[kind.output]
                external = output.kind == "external"
                image = None if external or operator in self.in_parts.own else image_of(output)
                columns["reduces"][at] = kind.reduces
                # An open one stands for several, each of which may read it.
                columns["shared"][at] = not is_last and (
                    len(links.readers[kind.output]) > 1 or path[at + 1] in self.in_parts.own
                )
                is_kept = is_last or external or (not self.runs_again and output.id in graph.outputs)
                columns["kept"][at] = is_kept
                columns["rows"][at], columns["columns"][at] = kind.rows, kind.columns
                columns["pixel"][at] = 0 if kind.reduces or image is None else image.pixel
                columns["sums"][at] = 0 if operator in self.in_parts.own else kind.sums
                temporaries = [entry.size for entry in graph.operators[operator].temporaries]
                extra = load_of(temporaries, unit)
                columns["extra"][at], columns["extra_rest"][at] = extra.bytes, extra.rest
                # In a stripe with others, nothing else need be there as a whole.
                read = self._sizes(graph.operators[operator].inputs, before)
                beside = self._beside(operator)
                there = load_of([*read, *handed, *temporaries, beside, columns["sums"][at]], unit)
                height = always.bytes + there.bytes - max(always.rest, there.rest)
                columns["alone"][at] = min(columns["alone"][at], height)
                for use in uses_of_path:
                    uses.extend((at - 1, *axis_numbers(use.rows), *axis_numbers(use.columns)))
            use_start.append(len(uses) // 11)
        place = {operator: at for at, operator in enumerate(path)}
        for entry in self.in_parts.beside:
            if entry.makes in place and entry.adds in place:
                wholes.extend((place[entry.makes], place[entry.adds], entry.bytes, place[entry.last]))
        return StripeProgram(
            **columns,
            last_reader=last_reader,
            use_start=use_start,
            uses=uses,
            wholes=wholes,
            unit=unit,
            base=always.bytes,
            base_rest=always.rest,
            start=start_height(graph, unit),
            references=array("q", sorted({kind.columns for kind in known if kind is not None})),
        )

    def _sizes(self, names: Sequence[str], maker: int) -> list[int]:
        """The bytes of the tensors of these that this operator makes."""
        links, tensors = links_of(self.graph), self.graph.tensors
        numbers = [links.tensor_index[name] for name in dict.fromkeys(names)]
        return [
            self._size(number)
            for number in numbers
            if tensors[number].kind == "data" and links.producer[number] == maker
        ]

    def _size(self, tensor: int) -> int:
        maker = links_of(self.graph).producer[tensor]
        return min(self.in_parts.own.get(maker, MOST), size_of(self.graph.tensors[tensor]))

    def _beside(self, operator: int) -> int:
        """What other parts need at least while this one works on a part."""
        among = (entry.bytes for entry in self.in_parts.beside if operator in (entry.makes, entry.last))
        return max(among, default=0)

    def _alone(self, operator: int) -> int:
        """What is live at least while an operator runs by itself, as a whole or for a part."""
        graph, index = self.graph, links_of(self.graph).tensor_index
        own = graph.operators[operator]
        numbers = {name: index[name] for name in (*own.inputs, *own.outputs)}
        data = {name: at for name, at in numbers.items() if graph.tensors[at].kind == "data"}
        whole = self._live(own, {name: size_of(graph.tensors[at]) for name, at in data.items()}, 0)
        if operator not in self.in_parts.own:
            return whole
        parts = {name: self._size(at) for name, at in data.items()}
        return min(whole, self._live(own, parts, self._beside(operator)))

    def _live(self, operator: Operator, used: Mapping[str, int], beside: int) -> int:
        """What is live while an operator runs, from the bytes of what it uses and of what is beside."""
        names = list(used)
        pairs = [
            (names.index(source), names.index(target))
            for source, target in operator.in_place
            if source in used and target in used
        ]
        least = 0
        # On top may be a pair in place, of which less is left than of the smaller one.
        for unit in {self.unit, 1} if pairs else {self.unit}:
            always = self.always[unit]
            there = load_of((*used.values(), beside), unit)
            saved = most_saved([rounded_up(size, unit) for size in used.values()], pairs)
            own = temporary_height(operator, unit, max(always.rest, there.rest))
            least = max(least, always.bytes + there.bytes + own - saved)
        return least
