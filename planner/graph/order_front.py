"""The front of one order with all that may be chosen in it: stripes, alternatives, and stripes in these.

Where operators of alternatives may be in stripes, choices of alternatives are gone through as a tree
(`_Choices`). Of alternatives in parts of channels that are still open, what they replace stays in the program
as it is, but takes no memory (`stripe_program`). That bounds all choices that are left: each part reads as
much of what is before as the operator of which it is a part, at the same rows and columns, and whatever it
makes needs bytes. A stripe of some parts becomes one of the operators up to the last of them, and parts that
run later have with them all that the others still read. Those that add up to sums are in no stripe, so that
an alternative needs what they use. So a choice is looked into only where something better than what is known
can come of it, and where time is over there are bounds. `corners_in_any_order` goes through the same tree,
with bounds that hold in any order and whatever runs again (`path_bounds`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import ClassVar, Final

from memstow.planner.graph.channel_parts import ChannelParts, InParts, parts_in, whether_in_parts
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import unit_of
from memstow.planner.graph.operators import kinds
from memstow.planner.graph.path_bounds import path_corners
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.shares import least_cost_in_stripes
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
from memstow.planner.model.graph import GIVEN, Alternative, Graph, index_of
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import MOST, Room, stripe_front

# Choices that are looked into: where alternatives have no bounds, and where all of them have.
_MOST_CHOICES: Final = 64
_MOST_BOUNDED: Final = 1_000
# Close looks at choices that follow each other and say nothing new, where all are gone through first.
_FEW_CLOSE: Final = 3
# Nor are those looked at then that need less than this of all that is known.
_NEAR: Final = 0.95
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
    graph: Graph,
    known: Sequence[Candidate],
    budget: Budget,
    kinds: AbstractSet[str],
    without: Sequence[Corner] = (),
) -> Sequence[Corner] | None:
    """Corners of which each schedule in stripes is as bad as one in both terms, in any order.

    Of a valid graph; `known`: candidates, so that nothing is looked for that they are as good as. `kinds`:
    whether operators run again, when no stripe runs one twice, or tensors wait elsewhere. `without`: the
    corners of those without alternatives, where these are known. None where nothing is known.
    """
    if not graph.alternatives:
        least = least_cost_in_stripes(graph)
        cheapest = min((entry.bytes for entry in known if entry.cost <= least), default=None)
        return path_corners(graph, budget, kinds=kinds, room=Room(most=cheapest))
    tree = _InAnyOrder(graph, budget, OrderFront(tuple(known), False), kinds, without)
    corners: Sequence[Corner] = [Corner(0, 0)]
    for most_close in (_FEW_CLOSE, _MOST_BOUNDED):
        tree.most_close = most_close
        corners = _as_bad(corners, tree.front().corners or ())
        if budget.spent or tree.leaves_none_with_alternatives:
            break
    return corners


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
        self._left: Archive[Corner] = Archive()
        """What nothing better is known of."""
        self._ended: set[tuple[str, ...]] = set()
        """Choices that were looked at as a whole."""
        self._graphs: dict[tuple[str, ...], Graph | None] = {}
        """By what is chosen."""
        groups: dict[tuple[str, ...], list[Alternative]] = {}
        for alternative in graph.alternatives:
            groups.setdefault(tuple(alternative.replaces), []).append(alternative)
        self._parts = parts_in(graph, budget)
        bounded = self._parts
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
    def _bounds(self, node: _Node, may_be: Sequence[ChannelParts]) -> Sequence[Corner] | None:
        """What a choice needs and costs at least, which may be in these parts as well; None if not known."""

    def _room(self, corners: Sequence[Corner]) -> Room:
        """The bytes that are of interest in a node of these corners: more than the cheapest needs are not."""
        known = self._archive.items
        is_cheapest = known and corners and known[-1].cost <= min(entry.cost for entry in corners)
        most = known[-1].bytes - 1 if is_cheapest else None
        return Room(min((entry.bytes for entry in corners), default=0), most)

    def front(self) -> OrderFront:
        """All of them, within the budget."""
        left = self._left = Archive()
        self._ended.clear()
        self._take_known()
        root = self._settled(_Node((), frozenset(), 0, (Corner(0, self._least_cost()),)))
        heap = [(0, 0, 0, 0, root)]
        serial = looks = 0
        most = _MOST_CHOICES if self._first_known else _MOST_BOUNDED
        while heap:
            *_, node = heappop(heap)
            corners = self._open(node.corners)
            if self._budget.spent or looks >= most:
                for corner in corners:
                    left.offer(corner)
                continue
            if not corners:
                continue
            for child in self._children(replace(node, corners=corners)):
                looks += child.next >= self._first_known
                if child.next == len(self._groups):
                    self._end(child)
                elif child.corners:
                    if not self._makes_points and self._open(child.corners):
                        # What is left of it alone, most of those with others are as bad as.
                        self._end(replace(child, next=len(self._groups)))
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

    def _end(self, node: _Node) -> None:
        """Look at a choice to which no others are added, once."""
        if node.chosen not in self._ended:
            self._ended.add(node.chosen)
            for corner in self._looked_at(node):
                self._left.offer(corner)

    def _open(self, corners: Sequence[Corner]) -> Sequence[Corner]:
        """Those that are of interest."""
        known: list[Archive[Candidate] | Archive[Corner]] = [self._archive]
        if not self._makes_points:
            # What is left already is as good as whatever would be left of these.
            known.append(self._left)
        return [entry for entry in corners if not any(them.beats(entry.bytes, entry.cost) for them in known)]

    def _least_cost(self) -> int:
        """What all operators cost at least, whatever is chosen."""
        chosen = None if self._first_known else self._chosen(())
        return 0 if chosen is None else _least_cost_of_all(chosen, self._parts)

    def _children(self, node: _Node) -> Iterator[_Node]:
        """With each alternative of the next group that may be of use, and without."""
        with_one: list[_Node] = []
        for alternative in self._groups[node.next]:
            corners = self._corners_with(node, alternative)
            if corners:
                gone = node.gone.union(alternative.replaces)
                chosen = (*node.chosen, alternative.id)
                with_one.append(self._settled(_Node(chosen, gone, node.next + 1, corners)))
        without = self._settled(replace(node, next=node.next + 1))
        for child in (without, *with_one):
            # Where none may be of use, no more is known than before.
            if child.next == len(self._groups) or not with_one:
                yield child
            else:
                bounded = self._corners(child)
                yield child if bounded is None else replace(child, corners=_as_bad(child.corners, bounded))

    def _corners_with(self, node: _Node, alternative: Alternative) -> Sequence[Corner]:
        """Those of a node that are left if an alternative is chosen, of what one of its operators needs."""
        parts = self._parts.get(alternative.id)
        if parts is None:
            return node.corners
        return self._open(_as_bad(node.corners, [Corner(parts.needs, 0)]))

    def _settled(self, node: _Node) -> _Node:
        """The node without open groups that cannot be chosen beside the chosen alternatives."""
        at = node.next
        while at < len(self._groups) and not node.gone.isdisjoint(self._groups[at][0].replaces):
            at += 1
        return replace(node, next=at)

    def _chosen(self, names: tuple[str, ...]) -> Graph | None:
        if names in self._graphs:
            return self._graphs[names]
        chosen = countable_choice(self._graph, names, stripes=True)
        if chosen is not None:
            self._budget.count(_WORK_OF_AN_OPERATOR * len(chosen.operators))
        self._graphs[names] = chosen
        return chosen

    def _corners(self, node: _Node) -> Sequence[Corner] | None:
        """What the schedules of a node need and cost at least; None where no more is known than before."""
        if node.next < self._first_known:
            return None
        groups = (group for group in self._groups[node.next :] if node.gone.isdisjoint(group[0].replaces))
        may_be = (entry for group in groups for entry in group if self._corners_with(node, entry))
        return self._bounds(node, [self._parts[entry.id] for entry in may_be])


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

    def _bounds(self, node: _Node, may_be: Sequence[ChannelParts]) -> Sequence[Corner] | None:
        chosen = self._chosen(node.chosen)
        if chosen is None:
            return None
        in_parts = whether_in_parts(chosen, (), may_be, self._unit)
        order, least = listed_order(chosen), in_parts.least_cost(chosen, in_parts.own)
        program = stripe_program(chosen, order, self._unit, free=in_parts.own)
        most, room = self._most_cost - least, self._room(node.corners)
        front = stripe_front(program, most, longest_stripe(len(order)), self._budget, room)
        return [Corner(entry.bytes, entry.cost + least) for entry in front.points] if front.complete else None


class _InAnyOrder(_Choices):
    """In any order, and whatever runs again: only bounds."""

    _makes_points = False

    def __init__(
        self,
        graph: Graph,
        budget: Budget,
        known: OrderFront,
        kinds: AbstractSet[str],
        without: Sequence[Corner] = (),
    ) -> None:
        super().__init__(graph, budget, MOST, known)
        self._kinds = kinds
        self._without = without
        self.most_close = _FEW_CLOSE
        """So many close looks at choices that say nothing new may follow each other."""
        self._close_looks = self.most_close

    @property
    def leaves_none_with_alternatives(self) -> bool:
        """Whether nothing can be better than what is known, but for what has no alternatives."""
        return all(corner in self._without for corner in self._left.items)

    def _take_known(self) -> None:
        for point in self._known:
            self._archive.offer(point)
        for corner in self._without:
            self._left.offer(corner)
            self._ended.add(())
        self._close_looks = self.most_close

    def _looked_at(self, node: _Node) -> Sequence[Corner]:
        bounded = self._bounds(node, ())
        return node.corners if bounded is None else _as_bad(node.corners, bounded)

    def _bounds(self, node: _Node, may_be: Sequence[ChannelParts]) -> Sequence[Corner] | None:
        """By a path through one of its parts and what is beside it, and by one that stands for all parts."""
        corners, is_known = node.corners, False
        for graph, unit, in_parts, is_quick in self._looks(node, may_be):
            if not is_quick and not self._looks_closely(node, corners):
                continue
            room = self._room(corners)
            known = path_corners(
                graph,
                self._budget,
                kinds=self._kinds,
                unit=unit,
                in_parts=in_parts,
                room=room,
                is_one_of_many=is_quick,
            )
            if known is None:
                continue
            is_known = True
            corners = self._open(_as_bad(corners, known))
            if not is_quick and node.chosen:
                self._close_looks = self._close_looks - 1 if corners else self.most_close
            if not corners:
                break
        return corners if is_known else None

    def _looks_closely(self, node: _Node, corners: Sequence[Corner]) -> bool:
        """Whether a close look may be of use; it says more of costs than of bytes."""
        if self.most_close > _FEW_CLOSE:
            return True
        known = [entry.bytes for entry in self._archive.items] + [entry.bytes for entry in self._left.items]
        least = min(known, default=0)
        return corners[0].bytes >= least * _NEAR and (not node.chosen or self._close_looks > 0)

    def _looks(
        self, node: _Node, may_be: Sequence[ChannelParts]
    ) -> Iterator[tuple[Graph, int | None, InParts, bool]]:
        """Also whether it is a quick one; a close one follows."""
        graph, unit = self._chosen(node.chosen), self._unit if may_be else None
        if graph is not None:
            yield graph, unit, whether_in_parts(graph, (), may_be, self._unit), True
        parts = [self._parts[name] for name in node.chosen if name in self._parts]
        without = self._chosen(tuple(name for name in node.chosen if name not in self._parts))
        if without is not None and (parts or may_be):
            yield without, self._unit, whether_in_parts(without, parts, may_be, self._unit, spread=True), True
        if graph is not None:
            yield graph, unit, whether_in_parts(graph, (), may_be, self._unit), False


def least_cost_of_choices(graph: Graph, budget: Budget) -> int | None:
    """What operators cost at least, in whatever stripes; None where not all alternatives are in parts."""
    parts = parts_in(graph, budget)
    if len(parts) < len(graph.alternatives):
        return None
    return _least_cost_of_all(with_chosen(graph, ()), parts)


def _least_cost_of_all(graph: Graph, parts: Mapping[str, ChannelParts]) -> int:
    """What all operators of a graph cost at least, in parts or not."""
    may_be = whether_in_parts(graph, (), tuple(parts.values()), 1)
    return may_be.least_cost(graph, range(len(graph.operators)))
