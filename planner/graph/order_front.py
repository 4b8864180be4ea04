"""The front of one order with all that may be chosen in it: stripes, alternatives, and stripes in these.

Where operators of alternatives may be in stripes, choices of alternatives are gone through as a tree
(`_Choices`). Of alternatives in parts of channels that are still open, what they replace stays in the program
as it is, but takes no memory (`stripe_program`). That bounds all choices that are left: each part reads as
much of what is before as the operator of which it is a part, at the same rows and columns, and whatever it
makes needs bytes. A stripe of some parts becomes one of the operators up to the last of them, and parts that
run later have with them all that the others still read. So a choice is looked into only where something
better than what is known can come of it, and where time is over there are bounds. `corners_in_any_order` goes
through the same tree, with bounds that hold in any order and whatever runs again (`path_bounds`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import ClassVar, Final

from memstow.planner.graph.changes import InChannels, channel_alternatives
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import unit_of
from memstow.planner.graph.operators import kinds, operator_costs, whole_in_stripes
from memstow.planner.graph.path_bounds import InParts, PartsBeside, path_corners
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.stripe_front import (
    Candidate,
    Corner,
    OrderFront,
    front_beside_alternatives,
    is_countable,
    longest_stripe,
    require_countable,
    stripe_program,
)
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Alternative, Graph, index_of, size_of
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import MOST, stripe_front

# Choices that are looked into: where alternatives have no bounds, and where all of them have.
_MOST_CHOICES: Final = 64
_MOST_BOUNDED: Final = 1_000
# What describing one counts as, for each of its operators.
_WORK_OF_AN_OPERATOR: Final = 300


def order_front(
    graph: Graph, order: Sequence[int], budget: Budget, most_cost: int = MOST, stripes: bool = True
) -> OrderFront:
    """The front of a valid graph whose operators run in this order, up to a cost.

    Raises InputError where its numbers are too large to add up.
    """
    require_countable(graph, stripes)
    beside = front_beside_alternatives(graph, order, budget, most_cost, stripes)
    if graph.order == GIVEN and stripes and _cuts_alternatives(graph):
        return _InOrder(graph, budget, most_cost, beside).front()
    return beside


def corners_in_any_order(
    graph: Graph, known: Sequence[Candidate], budget: Budget, *, runs_again: bool
) -> Sequence[Corner] | None:
    """Corners of which each schedule in stripes is as bad as one in both terms, in any order.

    Of a valid graph; `known`: candidates, so that nothing is looked for that they are as good as. Where
    operators run again, no stripe runs one twice. None where nothing is known.
    """
    if not graph.alternatives:
        return path_corners(graph, budget, runs_again=runs_again)
    return _InAnyOrder(graph, budget, MOST, OrderFront(tuple(known), False), runs_again).front().corners


def countable_choice(graph: Graph, names: tuple[str, ...], stripes: bool) -> Graph | None:
    """The graph with these alternatives; None where it contradicts itself, or cannot be counted."""
    try:
        chosen = with_chosen(graph, names)
    except InputError:
        return None
    return chosen if is_countable(chosen, stripes) else None


def _cuts_alternatives(graph: Graph) -> bool:
    """Whether an operator of an alternative may be in a stripe."""
    return any(any(kinds(alone)) for alone in alternatives_alone(graph))


def alternatives_alone(graph: Graph) -> Iterator[Graph]:
    """By alternative, its operators with what they use."""
    tensors = index_of(graph).tensors
    for alternative in graph.alternatives:
        own = {tensor.id: tensor for tensor in alternative.tensors}
        used = {name for operator in alternative.operators for name in (*operator.inputs, *operator.outputs)}
        there = [known for name in used if (known := own.get(name) or tensors.get(name)) is not None]
        yield Graph(tensors=there, operators=alternative.operators)


@dataclass(frozen=True, slots=True)
class _Node:
    """Alternatives that are chosen; of the groups from `next` on it is open."""

    chosen: tuple[str, ...]
    gone: frozenset[str]
    """Operators that the chosen ones replace."""
    next: int
    corners: Sequence[Corner]
    """Of which each schedule of the node is as bad as one in both terms."""


class _Choices(ABC):
    """The choices of alternatives, all of which run in stripes or not.

    The first operator of an alternative has the cost of all of them, as in a plan.
    """

    _makes_points: ClassVar = True
    """Whether there is something new to come of a choice, beside bounds."""

    def __init__(self, graph: Graph, budget: Budget, most_cost: int, known: OrderFront) -> None:
        self._graph = graph
        self._budget = budget
        self._most_cost = min(most_cost, MOST)
        self._known = known.points
        self._unit = unit_of(graph)
        self._archive: Archive[Candidate] = Archive()
        groups: dict[tuple[str, ...], list[Alternative]] = {}
        for alternative in graph.alternatives:
            groups.setdefault(tuple(alternative.replaces), []).append(alternative)
        self._parts = _in_parts(graph, budget)
        bounded = self._parts.alternatives
        # Those of which there are no bounds come first.
        self._groups = sorted(groups.values(), key=lambda group: all(entry.id in bounded for entry in group))
        self._first_known = sum(any(entry.id not in bounded for entry in group) for group in self._groups)

    @abstractmethod
    def _take_known(self) -> None:
        """Take what is known before."""

    @abstractmethod
    def _looked_at(self, node: _Node) -> Sequence[Corner]:
        """Take what is best beside a choice; what is not known of it stays."""

    @abstractmethod
    def _bounds(self, chosen: Graph, in_parts: InParts) -> Sequence[Corner] | None:
        """What a choice needs and costs at least, of which some may run in parts; None if not known."""

    def front(self) -> OrderFront:
        """All of them, within the budget."""
        left: Archive[Corner] = Archive()
        self._take_known()
        root = self._settled(_Node((), frozenset(), 0, (Corner(0, 0),)))
        heap = [(0, 0, 0, 0, root)]
        serial = looks = 0
        most = _MOST_CHOICES if self._first_known else _MOST_BOUNDED
        while heap:
            *_, node = heappop(heap)
            corners = [entry for entry in node.corners if not self._archive.beats(entry.bytes, entry.cost)]
            if not self._makes_points:
                # What is left already is as good as whatever would be left of these.
                corners = [entry for entry in corners if not left.beats(entry.bytes, entry.cost)]
            if self._budget.spent or looks >= most:
                for corner in corners:
                    left.offer(corner)
                continue
            if not corners:
                continue
            for child in self._children(replace(node, corners=corners)):
                looks += child.next >= self._first_known
                if child.next == len(self._groups):
                    for corner in self._looked_at(child):
                        left.offer(corner)
                elif child.corners:
                    serial += 1
                    # Of those that may need as little, the fewest alternatives come first, and few are kept.
                    turn = child.corners[0].bytes, len(child.chosen), -child.next, serial
                    heappush(heap, (*turn, child))
        for corner in [entry for entry in left.items if self._archive.beats(entry.bytes, entry.cost)]:
            left.forget(corner)
        for point in self._known if left.items else ():
            self._archive.offer(point)
        points = tuple(self._archive.items)
        corners = Archive([*(Corner(point.bytes, point.cost) for point in points), *left.items]).items
        return OrderFront(points, not left.items, tuple(corners))

    def _children(self, node: _Node) -> Iterator[_Node]:
        """With each alternative of the next group, and without."""
        for alternative in (None, *self._groups[node.next]):
            child = replace(node, next=node.next + 1)
            if alternative is not None:
                gone = node.gone.union(alternative.replaces)
                child = replace(child, chosen=(*node.chosen, alternative.id), gone=gone)
            child = self._settled(child)
            if child.next == len(self._groups):
                yield child
            else:
                bounded = self._corners(child)
                yield child if bounded is None else replace(child, corners=_as_bad(node.corners, bounded))

    def _settled(self, node: _Node) -> _Node:
        """The node without open groups that cannot be chosen beside the chosen alternatives."""
        at = node.next
        while at < len(self._groups) and not node.gone.isdisjoint(self._groups[at][0].replaces):
            at += 1
        return replace(node, next=at)

    def _chosen(self, names: tuple[str, ...]) -> Graph | None:
        chosen = countable_choice(self._graph, names, stripes=True)
        if chosen is not None:
            self._budget.count(_WORK_OF_AN_OPERATOR * len(chosen.operators))
        return chosen

    def _corners(self, node: _Node) -> Sequence[Corner] | None:
        """What the schedules of a node need and cost at least; None where no more is known than before."""
        chosen = self._chosen(node.chosen) if node.next >= self._first_known else None
        if chosen is None:
            return None
        groups = self._groups[node.next :]
        is_open = {
            name for group in groups if node.gone.isdisjoint(group[0].replaces) for name in group[0].replaces
        }
        return self._bounds(chosen, self._parts.of(chosen, is_open))


def _as_bad(one: Sequence[Corner], other: Sequence[Corner]) -> Sequence[Corner]:
    """Corners of what is as bad as one of these and as one of those."""
    pairs = (Corner(max(a.bytes, b.bytes), max(a.cost, b.cost)) for a in one for b in other)
    return Archive(pairs).items


class _InOrder(_Choices):
    """In the order of the document."""

    def _take_known(self) -> None:
        """Take what has no stripes in alternatives. Without these, all may begin at larger multiples."""
        for names in dict.fromkeys(point.schedule.alternatives for point in self._known):
            chosen = None if self._budget.spent else self._chosen(names)
            if chosen is not None and unit_of(chosen) > self._unit:
                self._take(chosen, names)
                continue
            for point in self._known:
                if point.schedule.alternatives == names:
                    self._archive.offer(point)

    def _take(self, chosen: Graph, names: tuple[str, ...]) -> bool:
        """Take what is best beside a choice; whether that is all that is known of it."""
        front = front_beside_alternatives(chosen, listed_order(chosen), self._budget, self._most_cost)
        for point in front.points:
            self._archive.offer(replace(point, schedule=replace(point.schedule, alternatives=names)))
        return front.complete

    def _looked_at(self, node: _Node) -> Sequence[Corner]:
        chosen = self._chosen(node.chosen)
        return () if chosen is not None and self._take(chosen, node.chosen) else node.corners

    def _bounds(self, chosen: Graph, in_parts: InParts) -> Sequence[Corner] | None:
        order, least = listed_order(chosen), in_parts.cost
        program = stripe_program(chosen, order, self._unit, free=in_parts.own)
        front = stripe_front(program, self._most_cost - least, longest_stripe(len(order)), self._budget)
        return [Corner(entry.bytes, entry.cost + least) for entry in front.points] if front.complete else None


class _InAnyOrder(_Choices):
    """In any order, and whatever runs again: only bounds."""

    _makes_points = False

    def __init__(
        self, graph: Graph, budget: Budget, most_cost: int, known: OrderFront, runs_again: bool
    ) -> None:
        super().__init__(graph, budget, most_cost, known)
        self._runs_again = runs_again

    def _take_known(self) -> None:
        for point in self._known:
            self._archive.offer(point)

    def _looked_at(self, node: _Node) -> Sequence[Corner]:
        chosen = self._chosen(node.chosen)
        known = None if chosen is None else path_corners(chosen, self._budget, runs_again=self._runs_again)
        return node.corners if known is None else _as_bad(node.corners, known)

    def _bounds(self, chosen: Graph, in_parts: InParts) -> Sequence[Corner] | None:
        # A part and what is beside it, rounded up each, may be more than both of them as a whole.
        again = self._runs_again
        return path_corners(chosen, self._budget, runs_again=again, unit=1, in_parts=in_parts)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Alternatives that run next to each other, in parts of channels, what they replace."""

    alternatives: frozenset[str]
    cost: Mapping[str, int]
    """By operator, what its parts cost together at least."""
    own: Mapping[str, int]
    """By operator that makes or keeps parts, the bytes of the smallest."""
    beside: Mapping[tuple[str, ...], int]
    """By operators that may be replaced, what other parts need at least beside the one that is made last.

    Of each that is added later, all is there; of those before, a sum, or each of them as well.
    """

    def of(self, graph: Graph, names: AbstractSet[str]) -> InParts:
        """These operators of a graph."""
        place = {operator.id: at for at, operator in enumerate(graph.operators) if operator.id in names}
        groups = (
            PartsBeside(place[group[0]], place[group[-2]], place[group[-1]], size)
            for group, size in self.beside.items()
            if place.keys() >= set(group)
        )
        own = {at: self.own.get(name, MOST) for name, at in place.items()}
        return InParts(own, tuple(groups), self.least_cost(graph, own))

    def least_cost(self, graph: Graph, among: Iterable[int]) -> int:
        """What these operators of a graph cost at least, in parts or not, in whatever stripes."""
        costs, whole = operator_costs(graph), whole_in_stripes(graph)
        names = [operator.id for operator in graph.operators]
        return sum(min(costs[at], self.cost.get(names[at], costs[at])) for at in among if whole[at])


def _in_parts(graph: Graph, budget: Budget) -> _Parts:
    """As many of those of a graph as the budget allows."""
    place = {operator.id: at for at, operator in enumerate(graph.operators)}
    try:
        known = channel_alternatives(replace(graph, alternatives=()))
    except InputError:
        known = []
    listed = {alternative.id: alternative for alternative in graph.alternatives}
    alternatives: set[str] = set()
    least: dict[str, int] = {}
    own: dict[str, int] = {}
    beside: dict[tuple[str, ...], int] = {}
    for entry in known:
        if budget.spent:
            break
        alternative = listed.get(entry.alternative.id)
        if alternative is None or _without_costs(alternative) != _without_costs(entry.alternative):
            continue
        replaced = [place[name] for name in alternative.replaces]
        if replaced != [*range(replaced[0], replaced[-1] + 1)]:
            continue
        try:
            changed = with_chosen(graph, (alternative.id,))
        except InputError:
            continue
        budget.count(_WORK_OF_AN_OPERATOR * len(changed.operators))
        total = dict.fromkeys(alternative.replaces, 0)
        for operator, cost in zip(changed.operators, operator_costs(changed), strict=True):
            if operator.id in entry.steps:
                total[entry.steps[operator.id].operator] += cost
        alternatives.add(alternative.id)
        least |= {name: min(cost, least.get(name, cost)) for name, cost in total.items()}
        parts, others = _sizes_of_parts(entry)
        own |= {name: min(size, own.get(name, size)) for name, size in parts.items()}
        group = tuple(alternative.replaces)
        beside[group] = min(others, beside.get(group, others))
    return _Parts(frozenset(alternatives), least, own, beside)


def _sizes_of_parts(entry: InChannels) -> tuple[dict[str, int], int]:
    """By operator the bytes of its smallest part, and what others need at least beside one part."""
    sizes = {tensor.id: size_of(tensor) for tensor in entry.alternative.tensors}
    made: dict[str, list[int]] = {}
    sums: list[int] = []
    for operator in entry.alternative.operators:
        step = entry.steps[operator.id]
        if step.work in ("makes", "keeps"):
            made.setdefault(step.operator, []).append(sizes[operator.outputs[0]])
        elif step.work == "adds":
            sums.append(sizes[operator.outputs[0]])
    others = sum(sorted(map(min, zip(*made.values(), strict=True)))[:-1])
    return {name: min(parts) for name, parts in made.items()}, min(*sums, others)


def least_cost_of_choices(graph: Graph, budget: Budget) -> int | None:
    """What operators cost at least, in whatever stripes; None where not all alternatives are in parts."""
    parts = _in_parts(graph, budget)
    if len(parts.alternatives) < len(graph.alternatives):
        return None
    return parts.least_cost(with_chosen(graph, ()), range(len(graph.operators)))


def _without_costs(alternative: Alternative) -> Alternative:
    operators = (replace(operator, cost=None) for operator in alternative.operators)
    return replace(alternative, cost=None, operators=tuple(operators))
