"""Schedules of a graph: whether it allows one, and the plain graph of one that does more than order.

In the plain graph every operator runs once, as listed, so whatever knows plain graphs can lower, solve and
draw it (`scheduled_graph`). Alternatives are chosen first. A run after the first is an operator of its own
that makes its own versions of its tensors; a spill is two operators that copy. Who reads a tensor reads the
version that was made, or copied back, last (`with_runs`). Stripes become one operator each.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from memstow.planner.graph.check import is_valid, require_valid, take_as_valid
from memstow.planner.graph.links import NOBODY, Links, links_of, listed_order
from memstow.planner.graph.lowering import listed_problem, lower, lowered
from memstow.planner.graph.stripes import with_stripes
from memstow.planner.model.errors import InputError, require_kind
from memstow.planner.model.graph import (
    GIVEN,
    LONGEST_ID,
    Alternative,
    Graph,
    Operator,
    Tensor,
    free_id,
    is_planned,
    names_in_views,
    size_of,
)
from memstow.planner.model.plan import Plan, Schedule, Spill, Stripe
from memstow.planner.model.problem import Problem
from memstow.records import Remembered, replace


def checked_order(graph: Graph, links: Links, schedule: Schedule) -> list[int]:
    """The operators by index, as they run; an InputError where the graph does not allow the schedule."""
    order = _known(links, schedule)
    _check_order(graph, links, order)
    _check_spills(graph, links, schedule.spills, order)
    return order


def runs_once(graph: Graph) -> list[bool]:
    """By operator, whether it must not run again: it writes a state, or makes or reads what is in views."""
    states, fixed = _states(graph), names_in_views(graph)
    return [
        not states.isdisjoint(operator.outputs) or not fixed.isdisjoint(operator.inputs + operator.outputs)
        for operator in graph.operators
    ]


COPIES: Final = 2
"""Bytes that are copied, out and back, for each that waits in another pool."""


def can_spill(graph: Graph, tensor: Tensor) -> bool:
    """Whether the tensor can wait in another pool."""
    return tensor.kind == "data" and is_planned(tensor) and tensor.id not in names_in_views(graph)


def refused(path: str, message: str) -> InputError:
    """The error of a schedule that the graph does not allow."""
    return InputError.single("not_a_schedule", path, message)


def _known(links: Links, schedule: Schedule) -> list[int]:
    """The operators by index."""
    order: list[int] = []
    for at, name in enumerate(schedule.order):
        if name not in links.operator_index:
            raise refused(f"schedule.order[{at}]", f"the graph has no operator {name!r}")
        order.append(links.operator_index[name])
    missing = set(range(len(links.after))) - set(order)
    if missing:
        index = min(missing)
        name = next(name for name, entry in links.operator_index.items() if entry == index)
        raise refused("schedule.order", f"{name!r} is missing; each operator of the graph runs at least once")
    return order


def _check_order(graph: Graph, links: Links, order: Sequence[int]) -> None:
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, operator in enumerate(order):
        first.setdefault(operator, at)
        last[operator] = at
    later = set(at_states(graph))
    again = [operator for operator in first if first[operator] != last[operator]]
    once = runs_once(graph) if again else ()
    for operator in again:
        if once[operator]:
            name = graph.operators[operator].id
            raise refused(
                f"schedule.order[{last[operator]}]",
                f"{name!r} cannot run again: it writes a state, or uses a tensor that is a view or has one",
            )
    for operator, them in enumerate(links.after):
        for other in them:
            # Who reads a state has to run for the last time before it is written.
            turn = last if (operator, other) in later else first
            if first[other] < turn[operator]:
                raise _out_of_order(graph, operator, other, first[other])
    for operator, other in links.before:
        if first[other] < last[operator]:
            raise _out_of_order(graph, operator, other, first[other])


def at_states(graph: Graph) -> list[tuple[int, int]]:
    """Operators that use one state, which one writes: no run of the first is after one of the second."""
    states = _states(graph)
    if not states:
        return []
    edges: list[tuple[int, int]] = []
    for operator, them in enumerate(links_of(graph).after):
        if not states.isdisjoint(graph.operators[operator].inputs + graph.operators[operator].outputs):
            edges += ((operator, other) for other in them if _share(graph, operator, other, states))
    return edges


def _states(graph: Graph) -> set[str]:
    return {tensor.id for tensor in graph.tensors if tensor.kind == "state"}


def _share(graph: Graph, operator: int, other: int, states: set[str]) -> bool:
    """Whether both use one state, which one of them writes."""
    one, two = graph.operators[operator], graph.operators[other]
    written = states.intersection(one.outputs + two.outputs)
    return any(entry in one.inputs + one.outputs and entry in two.inputs + two.outputs for entry in written)


def _out_of_order(graph: Graph, operator: int, other: int, at: int) -> InputError:
    names = graph.operators[operator].id, graph.operators[other].id
    return refused(
        f"schedule.order[{at}]", f"{names[1]!r} needs {names[0]!r}, which comes later; put it before"
    )


def _check_spills(graph: Graph, links: Links, spills: Sequence[Spill], order: Sequence[int]) -> None:
    runs: dict[int, list[int]] = {}
    for at, operator in enumerate(order):
        runs.setdefault(operator, []).append(at)
    away: dict[str, list[tuple[int, int, int]]] = {}
    fixed = names_in_views(graph)
    pools = {pool.id for pool in graph.pools}
    for i, spill in enumerate(spills):
        path = f"schedule.spills[{i}]"
        if spill.pool not in pools:
            message = f"the graph has no pool {spill.pool!r}; give the id of one of `pools`"
            raise refused(f"{path}.pool", message)
        if not spill.out < spill.back < len(order):
            message = f"out at {spill.out}, back at {spill.back}: give two places in `order`, ascending"
            raise refused(path, message)
        index = _spilled(graph, links, spill, fixed, path)
        _check_rest(graph, links, spill, index, runs, path)
        away.setdefault(spill.tensor, []).append((spill.out, spill.back, i))
    for name, them in away.items():
        for (_, back, _), (out, _, i) in pairwise(sorted(them)):
            if out < back:
                raise refused(f"schedule.spills[{i}]", f"{name!r} is away already at that time")


def _spilled(graph: Graph, links: Links, spill: Spill, fixed: frozenset[str], path: str) -> int:
    """The tensor, by index."""
    index = links.tensor_index.get(spill.tensor, NOBODY)
    if index == NOBODY:
        raise refused(f"{path}.tensor", f"the graph has no tensor {spill.tensor!r}")
    kind = graph.tensors[index].kind
    if kind != "data" or spill.tensor in fixed:
        what = "is a view or has one" if spill.tensor in fixed else f"is of the kind {kind}"
        message = f"{spill.tensor!r} {what}; only data that stands alone can be copied out"
        raise refused(f"{path}.tensor", message)
    return index


def _check_rest(
    graph: Graph, links: Links, spill: Spill, index: int, runs: dict[int, list[int]], path: str
) -> None:
    """Nobody makes or reads a tensor while it is away, and it is there before."""
    maker = links.producer[index]
    if maker != NOBODY and runs[maker][0] > spill.out:
        raise refused(f"{path}.out", f"{spill.tensor!r} is not there yet")
    for operator in (*links.readers[index], *([maker] if maker != NOBODY else [])):
        after = bisect_right(runs[operator], spill.out)
        if after < len(runs[operator]) and runs[operator][after] < spill.back:
            name = graph.operators[operator].id
            raise refused(path, f"{name!r} makes or reads {spill.tensor!r} while it is away")


def with_runs(graph: Graph, schedule: Schedule) -> tuple[Graph, Schedule]:
    """The graph whose operators run once each, as the schedule lists them, and the schedule of it.

    The graph is valid and has no alternatives left to choose; stripes are moved to their places in the new
    order. Raises InputError where the graph does not allow the schedule.
    """
    links = links_of(graph)
    order = checked_order(graph, links, schedule)
    expansion = _Expansion(graph, links, schedule, order)
    expanded = replace(
        graph,
        tensors=(*graph.tensors, *expansion.versions),
        operators=tuple(expansion.operators),
        outputs=tuple(expansion.version.get(name, name) for name in graph.outputs),
        before=tuple(_before(graph, expansion.runs)),
        order=GIVEN,
        alternatives=(),
        limits=None,
    )
    names = tuple(operator.id for operator in expanded.operators)
    return expanded, Schedule(order=names, stripes=tuple(expansion.stripes(schedule.stripes)))


def _before(graph: Graph, runs: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """All runs of the one come before all of the other: the last before the first says it."""
    for first, second in graph.before:
        yield runs[first][-1], runs[second][0]


def _free(wanted: str, taken: set[str]) -> str:
    name = free_id(wanted, taken)
    if len(name) > LONGEST_ID:
        raise refused("schedule", f"the id {name[:40]!r}... is too long; give the graph shorter ids")
    return name


class _Expansion:
    """Writes down what runs, in order."""

    def __init__(self, graph: Graph, links: Links, schedule: Schedule, order: Sequence[int]) -> None:
        self.graph = graph
        self.links = links
        self.schedule = schedule
        self.order = order
        self.operators: list[Operator] = []
        self.versions: list[Tensor] = []
        self.version: dict[str, str] = {}
        """By tensor, the one that readers read now, where it is not the first."""
        self.runs: dict[str, list[str]] = {}
        """By operator, its runs."""
        self.places: list[int] = []
        """By position in the schedule, the position in `operators`."""
        self._elements = {tensor.id for tensor in self.graph.tensors}
        self._elements.update(
            temporary.id for operator in self.graph.operators for temporary in operator.temporaries
        )
        self._operators = set(self.links.operator_index)
        out: dict[int, list[int]] = {}
        back: dict[int, list[int]] = {}
        for number, spill in enumerate(self.schedule.spills, 1):
            out.setdefault(spill.out, []).append(number)
            back.setdefault(spill.back, []).append(number)
        waiting: dict[int, str] = {}
        for at, index in enumerate(self.order):
            for number in back.get(at, ()):
                self._copy_back(number, waiting.pop(number))
            self.places.append(len(self.operators))
            self._run(self.graph.operators[index])
            for number in out.get(at, ()):
                waiting[number] = self._copy_out(number)

    def stripes(self, stripes: Sequence[Stripe]) -> Iterator[Stripe]:
        """The stripes by their places in what runs."""
        for i, stripe in enumerate(stripes):
            path = f"schedule.stripes[{i}]"
            if not stripe.begin < stripe.end <= len(self.order):
                raise refused(path, "its begin and end are not two places in `order`, ascending")
            begin, last = self.places[stripe.begin], self.places[stripe.end - 1]
            if last - begin != stripe.end - 1 - stripe.begin:
                raise refused(path, "a tensor is copied out or back inside of it")
            yield replace(stripe, begin=begin, end=last + 1)

    def _run(self, operator: Operator) -> None:
        before = self.runs.setdefault(operator.id, [])
        inputs = tuple(self.version.get(name, name) for name in operator.inputs)
        if before:
            run = self._again(operator, len(before) + 1, inputs)
        elif inputs != operator.inputs:
            pairs = tuple((self.version.get(a, a), b) for a, b in operator.in_place)
            run = replace(operator, inputs=inputs, in_place=pairs)
        else:
            run = operator
        before.append(run.id)
        self.operators.append(run)

    def _again(self, operator: Operator, number: int, inputs: tuple[str, ...]) -> Operator:
        sources = {name: self.version.get(name, name) for name in operator.inputs}
        for name in dict.fromkeys(operator.outputs):
            tensor = self.graph.tensors[self.links.tensor_index[name]]
            again = _free(f"{name}#{number}", self._elements)
            self.versions.append(replace(tensor, id=again))
            self.version[name] = again
        return replace(
            operator,
            id=_free(f"{operator.id}#{number}", self._operators),
            inputs=inputs,
            outputs=tuple(self.version[name] for name in operator.outputs),
            in_place=tuple((sources[a], self.version[b]) for a, b in operator.in_place),
            temporaries=tuple(
                replace(temporary, id=_free(f"{temporary.id}#{number}", self._elements))
                for temporary in operator.temporaries
            ),
        )

    def _copy_out(self, number: int) -> str:
        spill, tensor = self._spilled(number)
        away = replace(tensor, id=_free(f"{spill.tensor}.away.{number}", self._elements), pools=(spill.pool,))
        self._copy(f"{spill.tensor}.out.{number}", self.version.get(spill.tensor, spill.tensor), away)
        return away.id

    def _copy_back(self, number: int, away: str) -> None:
        spill, tensor = self._spilled(number)
        at = replace(tensor, id=_free(f"{spill.tensor}.at.{number}", self._elements))
        self._copy(f"{spill.tensor}.back.{number}", away, at)
        self.version[spill.tensor] = at.id

    def _copy(self, name: str, source: str, target: Tensor) -> None:
        self.versions.append(target)
        # What is copied is what it costs.
        copy = Operator(
            id=_free(name, self._operators), inputs=(source,), outputs=(target.id,), cost=size_of(target)
        )
        self.operators.append(copy)

    def _spilled(self, number: int) -> tuple[Spill, Tensor]:
        spill = self.schedule.spills[number - 1]
        return spill, self.graph.tensors[self.links.tensor_index[spill.tensor]]


def only_orders(schedule: Schedule) -> bool:
    """Whether each operator of the graph runs once, by itself."""
    again = len(set(schedule.order)) < len(schedule.order)
    return not (again or schedule.alternatives or schedule.stripes or schedule.spills)


def require_hint_of_orders(graph: Graph, hint: Plan) -> None:
    """Refuse a hint whose schedule no search starts from: in all of them each operator runs once, by itself.

    The order of another graph is passed over, like places that are no longer valid.
    """
    schedule = hint.schedule
    if schedule is None or only_orders(schedule):
        return
    is_order_alone = not (schedule.stripes or schedule.alternatives or schedule.spills)
    if is_order_alone and set(schedule.order) != {operator.id for operator in graph.operators}:
        return
    does = (
        "runs operators in stripes"
        if schedule.stripes
        else "chooses alternatives"
        if schedule.alternatives
        else "copies tensors out and back"
        if schedule.spills
        else "runs operators again"
    )
    message = (
        f"the schedule of this plan {does}, and no search starts from such a one: leave the hint out, or "
        "give a plan in which each operator runs once"
    )
    raise InputError.single("hint_schedule", "$.hint.schedule", message)


def scheduled_graph(graph: Graph, schedule: Schedule) -> Graph:
    """A graph whose operators run as they are listed: those of the schedule of a valid graph.

    Raises InputError where the graph does not allow the schedule.
    """
    chosen = with_chosen(graph, schedule.alternatives)
    plain, moved = with_runs(chosen, replace(schedule, alternatives=()))
    return replace(with_stripes(plain, moved.stripes), order=GIVEN)


def with_chosen(graph: Graph, names: tuple[str, ...]) -> Graph:
    """The graph with these alternatives in the place of what they replace, and no others."""
    if not names:
        return _without_alternatives(graph) if graph.alternatives else graph
    by_id = {alternative.id: alternative for alternative in graph.alternatives}
    unknown = next((name for name in names if name not in by_id), None)
    if unknown is not None:
        message = f"the graph has no alternative {unknown!r}"
        raise InputError.single("not_a_schedule", "schedule.alternatives", message)
    chosen = [alternative for alternative in graph.alternatives if alternative.id in set(names)]
    replaced = [name for entry in chosen for name in entry.replaces]
    if len(set(replaced)) < len(replaced):
        message = "two of the alternatives replace one operator; choose one of them"
        raise InputError.single("not_a_schedule", "schedule.alternatives", message)
    for alternative in chosen:
        graph = with_alternative(graph, with_own_cost(alternative))
    alone = replace(graph, alternatives=(), limits=None)
    # Each was checked by itself; two may use one name, or what the other does away with.
    require_valid(alone)
    return alone


@Remembered
def _without_alternatives(graph: Graph) -> Graph:
    alone = replace(graph, alternatives=(), limits=None)
    if is_valid(graph):
        take_as_valid(alone)
    return alone


def with_alternative(graph: Graph, alternative: Alternative) -> Graph:
    """The graph with the operators of the alternative, in the place of the first that it replaces."""
    gone = set(alternative.replaces)
    first = next(i for i, operator in enumerate(graph.operators) if operator.id in gone)
    kept = [operator for operator in graph.operators if operator.id not in gone]
    at = sum(operator.id not in gone for operator in graph.operators[:first])
    operators = (*kept[:at], *alternative.operators, *kept[at:])
    outputs = {name for operator in graph.operators if operator.id in gone for name in operator.outputs}
    used = {name for operator in operators for name in (*operator.inputs, *operator.outputs)}
    inner = outputs - used - set(graph.outputs)
    return Graph(
        version=1,
        name=graph.name,
        pools=graph.pools,
        tensors=(*(tensor for tensor in graph.tensors if tensor.id not in inner), *alternative.tensors),
        operators=operators,
        inputs=graph.inputs,
        outputs=graph.outputs,
        before=tuple(pair for pair in graph.before if not gone.intersection(pair)),
        views=tuple(view for view in graph.views if not {view.tensor, view.of} & inner),
        order="free",
        objective=graph.objective,
    )


def with_own_cost(alternative: Alternative) -> Alternative:
    """The alternative with its cost at its first operator, where it has one for all of them."""
    if alternative.cost is None or not alternative.operators:
        return alternative
    costs = [alternative.cost, *[0] * (len(alternative.operators) - 1)]
    operators = tuple(
        replace(operator, cost=cost) for operator, cost in zip(alternative.operators, costs, strict=True)
    )
    return replace(alternative, operators=operators)


def scheduled_problem(graph: Graph, schedule: Schedule | None) -> Problem:
    """The problem that a plan with this schedule is for; InputError where the graph does not allow it."""
    if schedule is None:
        return listed_problem(graph)
    if not only_orders(schedule):
        return listed_problem(scheduled_graph(graph, schedule))
    links = links_of(graph)
    order = [links.operator_index.get(name, NOBODY) for name in schedule.order]
    known = lowered(graph, order)
    if known is not None:
        return known
    if sorted(order) != list(range(len(graph.operators))):
        message = "it does not have each operator of the graph once; give the order of all, by their ids"
        raise refused("schedule.order", message)
    _check_order(graph, links, order)
    return lower(graph, order)


def lower_graph(graph: "Graph", order: "Sequence[str] | None" = None) -> "Problem":
    """The problem of a graph whose operators run in the order of these ids; by default, as they are listed.

    Raises InputError for a graph that contradicts itself, and for an order that it does not allow.
    """
    require_kind(graph, Graph, "lower_graph takes a Graph")
    require_valid(graph)
    return lower(graph, listed_order(graph) if order is None else allowed_order(graph, order))


def allowed_order(graph: "Graph", order: "Sequence[str]") -> list[int]:
    """The indices of these operators; an InputError where the graph does not allow them in this order."""
    links = links_of(graph)
    indices = [links.operator_index.get(name, NOBODY) for name in order]
    if sorted(indices) != list(range(len(graph.operators))):
        raise InputError.single("not_an_order", "order", "name each operator of the graph once")
    place = {operator: at for at, operator in enumerate(indices)}
    for first, them in enumerate(links.successors()):
        for then in them:
            if place[then] < place[first]:
                names = graph.operators[first].id, graph.operators[then].id
                message = f"{names[1]!r} needs {names[0]!r}, which comes later; put it before"
                raise InputError.single("not_an_order", "order", message)
    return indices
