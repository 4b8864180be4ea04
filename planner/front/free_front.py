"""What is known of a graph whose operators may run in any order, or in that of the document, with any of its
alternatives.

Choices of alternatives are gone through as a tree: what is chosen so far stays, and of what is still open
only that counts which is there however it is decided (`_without`). The order search bounds what this needs
in any order. `FreeFront.corners` tells it of all: each schedule is as bad as one of them in both terms. So
the bounds hold whenever time is over; a corner that is a candidate as well is proven.

With stripes, all orders of a choice are gone through if they are few. Else what a stripe may keep as rows
counts only while it is in use, and then the fewest (`_in_stripes`). With what runs again, the choices must
be few.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

from memstow.planner.front.front_request import ANY
from memstow.planner.front.graph_candidates import Reruns
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.live_bytes import unit_of
from memstow.planner.graph.operators import (
    always_reads,
    kinds_if_unbound,
    least_of_rows,
    operator_costs,
)
from memstow.planner.graph.order_front import (
    alternatives_alone,
    countable_choice,
    least_cost_of_choices,
    order_front,
)
from memstow.planner.graph.recompute import peak_of
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.shares import least_cost_in_stripes
from memstow.planner.graph.stripe_front import Candidate, Corner
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import (
    GIVEN,
    Alternative,
    Graph,
    Operator,
    Temporary,
    Tensor,
    free_id,
    names_in_views,
)
from memstow.planner.model.plan import Schedule
from memstow.planner.solve.free_orders import Outlook, outlook
from memstow.planner.solve.portfolio import Allowance
from memstow.solvers.core import Budget

# Orders of one choice in which stripes are looked for, and choices of which parts run again.
_MOST_ORDERS: Final = 64
_MOST_CHOICES_AGAIN: Final = 8
# Of the order search: its work for an open choice and at first for a whole one, and how that grows.
_WORK: Final = 20_000
_TIMES: Final = 20
_MOST_WORK: Final = 100_000_000
# Of what is left, what one search in one choice may take.
_SHARE: Final = 0.25
# What describing a graph counts as, for each of its operators.
_WORK_OF_AN_OPERATOR: Final = 20


@dataclass(frozen=True, slots=True)
class FreeFront:
    """Schedules, and corners of which each schedule of the graph is as bad as one in both terms.

    None: nothing is known.
    """

    candidates: Sequence[Candidate]
    corners: Sequence[Corner] | None


Again = Callable[[Graph, Sequence[int], float], Reruns]
"""What runs again in a graph without alternatives, from this order on, within a share of what is left."""


def free_front(
    graph: Graph,
    allowance: Allowance,
    share: float,
    most: Callable[[int], int | None],
    cancelled: Callable[[], bool],
    *,
    stripes: bool,
    again: Again | None,
) -> FreeFront:
    """The front of a valid graph in any order, within this share of what is left.

    `most`: what a schedule may cost, where this is the least that one costs; None: anything.
    """
    search = _Search(graph, allowance, share, most, cancelled, stripes)
    corners = search.corners() if again is None else search.corners_again(again)
    return FreeFront(search.candidates, None if corners is None else Archive(corners).items)


@dataclass(frozen=True, slots=True)
class _Node:
    """Alternatives that are chosen; of those from `next` on it is open."""

    chosen: tuple[str, ...]
    gone: frozenset[str]
    """Operators that the chosen ones replace."""
    next: int
    bound: int = 0
    """What is proven of it before it is looked at, in bytes."""
    work: int = _WORK
    """What the order search may take when this is looked at again."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What is known of a node."""

    corners: Sequence[Corner]
    is_final: bool
    """Whether nothing more will be known."""


class _Search:
    def __init__(
        self,
        graph: Graph,
        allowance: Allowance,
        share: float,
        most: Callable[[int], int | None],
        cancelled: Callable[[], bool],
        stripes: bool,
    ) -> None:
        self._graph = graph
        self._allowance = allowance
        self._limit = allowance.mark(share)
        self._most = most
        self._cancelled = cancelled
        self._stripes = stripes
        names = [operator.id for operator in graph.operators]
        self._costs = dict(zip(names, operator_costs(graph), strict=True))
        self._cost_of: dict[str, int] = {}
        """By alternative, what its operators cost together."""
        self._counts_rows: bool | None = None
        """Whether each operator makes something in any stripe, and so needs rows; None: not yet known."""
        self._archive: Archive[Candidate] = Archive()
        self.candidates: list[Candidate] = []

    @property
    def _is_over(self) -> bool:
        return self._cancelled() or self._allowance.is_past(self._limit)

    def corners(self) -> Iterable[Corner] | None:
        """Corners of all schedules in which each operator runs once."""
        if not self._counts():
            return None
        corners: list[Corner] = []
        heap: list[tuple[int, int, int, _Node]] = []
        waiting = [self._settled(_Node((), frozenset(), 0))]
        serial = 0
        while waiting or heap:
            for node in waiting:
                look = self._looked_at(node)
                if look is None:
                    return None
                if look.is_final:
                    corners += look.corners
                    continue
                for corner in look.corners:
                    serial += 1
                    heappush(heap, (corner.bytes, corner.cost, serial, node))
            waiting = []
            if not heap:
                break
            size, cost, _, node = heappop(heap)
            if self._is_over or self._is_beaten(size, cost):
                corners.append(Corner(size, cost))
            elif node.next < len(self._graph.alternatives):
                waiting = [self._settled(replace(entry, bound=size)) for entry in self._decided(node)]
            else:
                waiting = [replace(node, bound=size, work=node.work * _TIMES)]
        return corners

    def corners_again(self, again: Again) -> Iterable[Corner] | None:
        """The same where operators run again, or tensors wait elsewhere."""
        choices = self._every_choice()
        if choices is None:
            return self._corners_of_all_again(again)
        corners: list[Corner] = []
        for number, chosen in enumerate(choices):
            graph = self._chosen(chosen)
            if graph is None:
                return None
            if self._is_over:
                corners.append(Corner(0, 0 if self._stripes else sum(operator_costs(graph))))
                continue
            order, _ = self._best_order(graph, _WORK * _TIMES)
            self._take([_candidate(graph, order)], chosen)
            share = 1 / (len(choices) - number)
            if self._stripes and has_stripes(graph):
                alone, least = self._in_stripes(graph, runs_again=True), least_cost_in_stripes(graph)
                bounds = again(alone, order, share).bounds
                more = least - sum(operator_costs(alone))
                corners += _corners_of(least, [(min(cost + more, ANY), size) for cost, size in bounds])
                continue
            reruns = again(graph, order, share)
            self._take(reruns.candidates, chosen)
            corners += _corners_of(sum(operator_costs(graph)), reruns.bounds)
        return corners

    def _corners_of_all_again(self, again: Again) -> Iterable[Corner] | None:
        """The same of all choices at once: of what is there whichever is chosen."""
        graph = self._chosen(())
        if graph is None or not self._counts() or self._is_over:
            return None
        root = self._settled(_Node((), frozenset(), 0))
        undecided = self._undecided(root)
        kept = _without(self._in_stripes(graph, runs_again=True) if self._stripes else graph, undecided)
        bounds = again(kept, listed_order(kept), 1.0).bounds
        if self._stripes:
            size = max((size for cost, size in bounds if cost >= ANY), default=0)
            budget = self._allowance.budget(_SHARE)
            least = least_cost_of_choices(self._graph, budget)
            self._spend(budget, graph)
            return [Corner(size, least_cost_in_stripes(graph, undecided) if least is None else least)]
        more = self._least_cost(root) - sum(operator_costs(kept))
        return _corners_of(self._least_cost(root), [(min(cost + more, ANY), size) for cost, size in bounds])

    def _in_stripes(self, graph: Graph, *, runs_again: bool = False) -> Graph:
        if self._counts_rows is None:
            graphs = (self._graph, *alternatives_alone(self._graph))
            self._allowance.spend(_WORK_OF_AN_OPERATOR * sum(len(entry.operators) for entry in graphs))
            self._counts_rows = all(map(always_reads, graphs))
        return _in_stripes(graph, counts_rows=self._counts_rows, runs_again=runs_again)

    def _every_choice(self) -> list[tuple[str, ...]] | None:
        """All choices; None where they are many."""
        choices: list[_Node] = []
        waiting = [self._settled(_Node((), frozenset(), 0))]
        while waiting:
            node = waiting.pop()
            if node.next == len(self._graph.alternatives):
                choices.append(node)
            else:
                waiting += [self._settled(entry) for entry in self._decided(node)]
            if len(choices) + len(waiting) > _MOST_CHOICES_AGAIN:
                return None
        return [entry.chosen for entry in choices]

    def _chosen(self, names: tuple[str, ...]) -> Graph | None:
        graph = countable_choice(self._graph, names, self._stripes)
        if graph is None or self._graph.order != GIVEN:
            return graph
        return replace(graph, order=GIVEN)

    def _counts(self) -> bool:
        """Whether the cost of each alternative is known, without stripes, of which it says nothing."""
        graph, costs = self._graph, self._costs
        total = sum(costs.values())
        for alternative in () if self._stripes else graph.alternatives:
            if self._is_over:
                return False
            self._allowance.spend(_WORK_OF_AN_OPERATOR * len(graph.operators))
            try:
                changed = with_chosen(graph, (alternative.id,))
            except InputError:
                return False
            kept = total - sum(costs[name] for name in set(alternative.replaces))
            self._cost_of[alternative.id] = sum(operator_costs(changed)) - kept
        return True

    def _settled(self, node: _Node) -> _Node:
        """The node without open alternatives that cannot be chosen beside the chosen ones."""
        at, alternatives = node.next, self._graph.alternatives
        while at < len(alternatives) and not node.gone.isdisjoint(alternatives[at].replaces):
            at += 1
        return replace(node, next=at)

    def _decided(self, node: _Node) -> Iterator[_Node]:
        """With the next alternative and without."""
        alternative = self._graph.alternatives[node.next]
        yield _Node(node.chosen, node.gone, node.next + 1)
        yield _Node((*node.chosen, alternative.id), node.gone.union(alternative.replaces), node.next + 1)

    def _open(self, node: _Node) -> Iterator[Alternative]:
        """The alternatives that may be chosen beside the chosen ones."""
        for alternative in self._graph.alternatives[node.next :]:
            if node.gone.isdisjoint(alternative.replaces):
                yield alternative

    def _undecided(self, node: _Node) -> set[str]:
        """Operators that run or are replaced."""
        return {name for alternative in self._open(node) for name in alternative.replaces}

    def _least_cost(self, node: _Node) -> int:
        """What the schedules of a node cost at least.

        What an alternative costs is shared out to those that it replaces, in proportion to their costs.
        """
        least = dict(self._costs)
        for alternative in self._open(node):
            cost = self._cost_of[alternative.id]
            replaced = set(alternative.replaces)
            own = sum(self._costs[name] for name in replaced)
            for name in replaced if own > cost else ():
                least[name] = min(least[name], self._costs[name] * cost // own)
        chosen = sum(self._cost_of[name] for name in node.chosen)
        return chosen + sum(cost for name, cost in least.items() if name not in node.gone)

    def _looked_at(self, node: _Node) -> _Look | None:
        """None where a choice cannot be counted, or the graph contradicts itself with it."""
        if self._is_over:
            return _Look([Corner(node.bound, 0 if self._stripes else self._least_cost(node))], is_final=True)
        graph = self._chosen(node.chosen)
        if graph is None:
            return None
        undecided = self._undecided(node)
        cuts = self._stripes and has_stripes(graph)
        if undecided:
            least = least_cost_in_stripes(graph, undecided) if self._stripes else self._least_cost(node)
            best = self._outlook(_without(self._in_stripes(graph) if cuts else graph, undecided), node.work)
            return _Look([Corner(_bound(best, node), least)], is_final=False)
        if cuts:
            exact = self._striped(graph, node.chosen)
            if exact is None:
                best = self._outlook(self._in_stripes(graph), _WORK * _TIMES)
                exact = [Corner(_bound(best, node), least_cost_in_stripes(graph))]
            return _Look(exact, is_final=True)
        order, best = self._best_order(graph, node.work)
        self._take([_candidate(graph, order)], node.chosen)
        corner = Corner(_bound(best, node), sum(operator_costs(graph)))
        is_final = best is None or best.bound >= best.needed or node.work > _MOST_WORK
        return _Look([corner], is_final)

    def _outlook(self, graph: Graph, work: int) -> Outlook | None:
        """The bound and the best order that so much work gives."""
        options = self._allowance.share(_SHARE)
        limit = work if options.work_limit is None else min(work, options.work_limit)
        budget = Budget(-1.0 if options.deterministic else options.time_limit, limit)
        best = outlook(graph, budget)
        self._spend(budget, graph)
        return best

    def _best_order(self, graph: Graph, work: int) -> tuple[Sequence[int], Outlook | None]:
        """The best order that so much work gives, with what is known; else that of the document."""
        best = None if graph.order == GIVEN else self._outlook(graph, work)
        return (listed_order(graph) if best is None else best.order), best

    def _striped(self, graph: Graph, chosen: tuple[str, ...]) -> list[Corner] | None:
        """All ways to cut a choice into stripes in any order; None where only some are known."""
        orders = all_orders(graph, _MOST_ORDERS)
        complete = orders is not None
        if orders is None:
            orders = [list(self._best_order(graph, _WORK * _TIMES)[0])]
        known: list[Candidate] = []
        for order in orders:
            if self._is_over:
                complete = False
                break
            budget = self._allowance.budget(_SHARE)
            front = order_front(graph, order, budget)
            self._spend(budget, graph)
            complete = complete and front.complete
            known += front.points
        self._take(known, chosen)
        return [Corner(entry.bytes, entry.cost) for entry in Archive(known).items] if complete else None

    def _is_beaten(self, size: int, cost: int) -> bool:
        """Whether nothing new can be as good as this."""
        most = self._most(min((entry.cost for entry in self.candidates), default=cost))
        return self._archive.beats(size, cost) or (most is not None and cost > most)

    def _take(self, candidates: Iterable[Candidate], chosen: tuple[str, ...]) -> None:
        """Keep those of a choice of alternatives that are better than all before."""
        for candidate in candidates:
            entry = replace(candidate, schedule=replace(candidate.schedule, alternatives=chosen))
            if self._archive.offer(entry):
                self.candidates.append(entry)

    def _spend(self, budget: Budget, graph: Graph) -> None:
        self._allowance.spend(budget.work + _WORK_OF_AN_OPERATOR * (1 + len(graph.operators)))


def _bound(best: Outlook | None, node: _Node) -> int:
    return max(0 if best is None else best.bound, node.bound)


def _candidate(graph: Graph, order: Sequence[int]) -> Candidate:
    """A choice in an order, each operator once."""
    names = tuple(graph.operators[entry].id for entry in order)
    size = peak_of(graph, Schedule(order=names), None, unit_of(graph))
    return Candidate(size, sum(operator_costs(graph)), Schedule(order=names))


def _corners_of(base: int, bounds: Sequence[tuple[int, int]]) -> Iterator[Corner]:
    """Corners of schedules that cost no less than `base`, of the least bytes up to each of some costs."""
    cost = base
    for limit, _ in sorted(bounds):
        if limit >= cost:
            yield Corner(max(size for other, size in bounds if other >= limit), cost)
            cost = limit + 1
    if cost <= ANY:
        yield Corner(0, cost)


def has_stripes(graph: Graph) -> bool:
    """Whether a part of a graph without alternatives may run in stripes."""
    return any(kinds_if_unbound(graph))


def _without(graph: Graph, undecided: set[str]) -> Graph:
    """What of the graph is there whoever takes the place of these operators.

    Each order of the whole graph is one of this, and nothing in it lives longer than there. Views go, since
    what lies in another tensor may depend on who makes it.
    """
    kept = [operator for operator in graph.operators if operator.id not in undecided]
    gone = {name for entry in graph.operators if entry.id in undecided for name in entry.outputs}
    gone -= {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
    gone |= names_in_views(graph)

    def there(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in gone)

    return replace(
        graph,
        tensors=tuple(tensor for tensor in graph.tensors if tensor.id not in gone),
        operators=tuple(
            replace(
                operator,
                inputs=there(operator.inputs),
                outputs=there(operator.outputs),
                in_place=tuple(pair for pair in operator.in_place if gone.isdisjoint(pair)),
            )
            for operator in kept
        ),
        inputs=there(graph.inputs),
        outputs=there(graph.outputs),
        before=tuple(pair for pair in graph.before if undecided.isdisjoint(pair)),
        views=(),
    )


def _in_stripes(graph: Graph, *, counts_rows: bool, runs_again: bool = False) -> Graph:
    """The graph in which what a stripe may have as rows needs nothing, or the fewest while it is in use.

    No operator of it needs more than in a stripe, in which all that it reads and leaves is there as a whole.
    What runs again leaves other versions than the last, so that also those of outputs may be rows. It costs
    something if it is in no stripe: others may make some rows each time.
    """
    cut = kinds_if_unbound(graph)
    least = least_of_rows(graph) if counts_rows else [{} for _ in cut]
    names = {operator.outputs[0] for operator, kind in zip(graph.operators, cut, strict=True) if kind}
    if not runs_again:
        names -= set(graph.outputs)
    small = {tensor.id: tensor for tensor in graph.tensors if tensor.id in names and tensor.kind == "data"}
    taken = {tensor.id for tensor in graph.tensors}
    taken |= {temporary.id for operator in graph.operators for temporary in operator.temporaries}
    costs = operator_costs(graph) if runs_again else [0] * len(cut)

    def alone(operator: Operator, is_cut: bool, rows: dict[str, int], cost: int) -> Operator:
        # Of those that may share a place, the others may be counted as a whole.
        shared = {name for pair in operator.in_place for name in pair}
        there = [name for name in rows if name in small and name not in shared]
        size = sum(rows[name] for name in there)
        temporaries = () if is_cut else operator.temporaries
        if size:
            name = free_id(f"rows of {operator.id}", taken)
            temporaries += (Temporary(id=name, size=size, pools=small[there[0]].pools),)
        # Its kind of before is known, and what it would be without shapes is of no interest.
        return Operator(
            id=operator.id,
            inputs=operator.inputs,
            outputs=operator.outputs,
            temporaries=temporaries,
            in_place=operator.in_place,
            cost=0 if is_cut else cost,
        )

    return replace(
        graph,
        tensors=tuple(Tensor(id=entry.id, size=0) if entry.id in small else entry for entry in graph.tensors),
        operators=tuple(
            alone(entry, bool(kind), rows, cost)
            for entry, kind, rows, cost in zip(graph.operators, cut, least, costs, strict=True)
        ),
        objective=(),
    )


def all_orders(graph: Graph, most: int) -> list[list[int]] | None:
    """All orders that the graph allows; None where they are more than this."""
    successors = [sorted(set(them)) for them in links_of(graph).successors()]
    waiting = [0] * len(successors)
    for them in successors:
        for after in them:
            waiting[after] += 1
    ready = {operator for operator, count in enumerate(waiting) if not count}
    orders: list[list[int]] = []
    order: list[int] = []
    levels = [sorted(ready)]
    # Each operator that may run beside another one begins at least one more order.
    count = max(len(ready), 1)
    while count <= most:
        if len(order) == len(successors):
            orders.append(list(order))
        if levels[-1]:
            operator = levels[-1].pop()
            ready.remove(operator)
            for after in successors[operator]:
                waiting[after] -= 1
                if not waiting[after]:
                    ready.add(after)
            order.append(operator)
            levels.append(sorted(ready))
            count += max(len(ready) - 1, 0)
            continue
        levels.pop()
        if not order:
            return orders
        operator = order.pop()
        for after in successors[operator]:
            ready.discard(after)
            waiting[after] += 1
        ready.add(operator)
    return None
