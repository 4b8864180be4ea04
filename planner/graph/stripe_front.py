"""The front of one order: the ways to cut it into stripes that no other is better than in bytes and cost.

The graph in this order becomes arrays (`stripe_program`) from which `solvers.graph_programs` chooses.
Alternatives are other ways to run a part of the order; they are counted with what is live around that part
(`Surroundings`), without the rest of the graph. `require_countable` refuses numbers that are too large to
add up.
"""

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.graph.live_bytes import (
    Storage,
    lives_of,
    load_of,
    resident_load,
    start_height,
    steps,
    storages,
    unit_of,
)
from memstow.planner.graph.operators import Axis, image_of, kinds, operator_costs
from memstow.planner.graph.schedules import with_alternative
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import (
    Alternative,
    Graph,
    Operator,
    Tensor,
    free_id,
    index_of,
    is_resident,
    names_in_views,
)
from memstow.planner.model.plan import Schedule, Stripe
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import MOST, Choice, StripeProgram, stripe_front

# Strips may make an element once for each column; without stripes everything counts once.
_TIMES: Final = 1 << 20
_ONCE: Final = 4


def require_countable(graph: Graph, stripes: bool) -> None:
    """Raise InputError where numbers are too large, whatever the order of the operators."""
    if is_countable(graph, stripes):
        return
    message = "sizes or costs are too large to add up; scale them"
    if stripes and is_countable(graph, stripes=False):
        message = "sizes or costs are too large to choose stripes; scale them, or leave stripes out"
    raise InputError.single("too_large", "$", message)


def is_countable(graph: Graph, stripes: bool) -> bool:
    """Whether they are small enough, with stripes or without."""
    most = MOST // (_TIMES if stripes else _ONCE)
    temporaries = (sum(temporary.size for temporary in operator.temporaries) for operator in graph.operators)
    live = sum(storage.size for storage in storages(graph)) + resident_load(graph).bytes
    return max(sum(operator_costs(graph)), 2 * live + max(temporaries, default=0)) < most


def fits(bytes_: int, cost: int, among: int) -> bool:
    """Whether one of so many other ways to run operators is small enough to be added to all the others."""
    return max(bytes_, cost) < MOST // (_ONCE * among)


@dataclass(frozen=True, slots=True)
class Way:
    """Another way to run the operators at places [begin, end) of the order."""

    begin: int
    end: int
    bytes: int
    """All that is live meanwhile, at its fullest moment, in whole units but for what is on top."""
    cost: int


def stripe_program(
    graph: Graph,
    order: Sequence[int],
    unit: int = 1,
    ways: Sequence[Way] = (),
    free: Container[int] = (),
) -> StripeProgram:
    """The arrays of a valid graph whose numbers can be added up (`limits`).

    What operators that are `free` make takes no memory, and they cost nothing: they only read.
    """
    links, known = links_of(graph), kinds(graph)
    whole, graph = graph, _with_empty_outputs(graph, free) if free else graph
    place = {operator: at for at, operator in enumerate(order)}
    costs = operator_costs(graph)
    kept = {links.tensor_index[name] for name in graph.outputs}
    columns: dict[str, array[int]] = {
        name: array("q", [0]) * len(order)
        for name in (
            *("can", "reduces", "kept", "shared", "rows", "columns", "pixel"),
            *("extra", "extra_rest", "sums", "alone", "cost"),
        )
    }
    last_reader = array("q", [NOBODY]) * len(order)
    use_start, uses = array("q", [0]), array("q")
    needs = [step.bytes for step in steps(graph, order, unit)]
    for at, operator in enumerate(order):
        columns["alone"][at] = needs[at]
        columns["cost"][at] = 0 if operator in free else costs[operator]
        extra = load_of((temporary.size for temporary in graph.operators[operator].temporaries), unit)
        columns["extra"][at], columns["extra_rest"][at] = extra.bytes, extra.rest
        kind = known[operator]
        if kind is not None:
            output = whole.tensors[kind.output]
            image = None if operator in free else image_of(output)
            readers = links.readers[kind.output]
            external = output.kind == "external"
            columns["can"][at] = 1
            columns["reduces"][at] = kind.reduces
            columns["kept"][at] = kind.output in kept or external or not readers
            last_reader[at] = max((place[reader] for reader in readers), default=NOBODY)
            columns["rows"][at], columns["columns"][at] = kind.rows, kind.columns
            columns["pixel"][at] = 0 if kind.reduces or external or image is None else image.pixel
            columns["sums"][at] = 0 if operator in free else kind.sums
            for use in kind.uses:
                maker = links.producer[use.tensor]
                uses.append(NOBODY if maker == NOBODY else place[maker])
                uses.extend((*axis_numbers(use.rows), *axis_numbers(use.columns)))
        use_start.append(len(uses) // 11)
    always = resident_load(graph, unit)
    return StripeProgram(
        **columns,
        last_reader=last_reader,
        use_start=use_start,
        uses=uses,
        wholes=array("q", (entry for whole in _wholes(graph, place) for entry in whole)),
        others=array("q", (entry for way in ways for entry in (way.begin, way.end, way.bytes, way.cost))),
        unit=unit,
        base=always.bytes,
        base_rest=always.rest,
        start=start_height(graph, unit),
        is_path=False,
        must_run=None,
        around=None,
    )


def _with_empty_outputs(graph: Graph, free: Container[int]) -> Graph:
    """The graph in which nothing that these operators make has bytes, or lies in the place of another."""
    made = {name for at, operator in enumerate(graph.operators) if at in free for name in operator.outputs}

    def without_pairs(operator: Operator) -> Operator:
        pairs = tuple(pair for pair in operator.in_place if made.isdisjoint(pair))
        return operator if len(pairs) == len(operator.in_place) else replace(operator, in_place=pairs)

    return replace(
        graph,
        tensors=tuple(
            replace(tensor, size=0, shape=None) if tensor.id in made else tensor for tensor in graph.tensors
        ),
        operators=tuple(map(without_pairs, graph.operators)),
    )


def axis_numbers(axis: Axis) -> tuple[int, int, int, int, int]:
    """As `StripeProgram` has them."""
    return axis.extent, axis.step, axis.over, axis.before, axis.after


def _wholes(graph: Graph, place: dict[int, int]) -> Iterator[tuple[int, int, int, int]]:
    """The places between which each storage lives, its bytes, and who makes it if that is one operator."""
    links, stored = links_of(graph), storages(graph)
    for storage, (begin, end) in zip(stored, lives_of(stored, place), strict=True):
        maker = links.producer[storage.tensor]
        alone = storage.begin is None and maker != NOBODY
        if end or storage.to_end:
            first, last = _closed(storage, begin, end)
            yield first, last, storage.size, place[maker] if alone else NOBODY


def _closed(storage: Storage, begin: int, end: int) -> tuple[int, int]:
    """A life by the places of who makes it (`NOBODY` from the start) and who reads it last (or the end)."""
    first = NOBODY if storage.from_start or not storage.writers else begin
    return first, end if storage.to_end else end - 1


class Surroundings:
    """A valid graph in one order."""

    def __init__(self, graph: Graph, order: Sequence[int]) -> None:
        place = {operator: at for at, operator in enumerate(order)}
        self._tensors = index_of(graph).tensors
        self._always = list(filter(is_resident, graph.tensors))
        self._operators = [graph.operators[entry] for entry in order]
        self._viewed = names_in_views(graph)
        self._lives: dict[str, tuple[int, int, Tensor]] = {}
        """By tensor, or piece of a group of views: the places of who makes it and of its last reader."""
        taken = {*self._tensors, *(tensor.id for other in graph.alternatives for tensor in other.tensors)}
        stored = storages(graph)
        for number, (entry, life) in enumerate(zip(stored, lives_of(stored, place), strict=True)):
            tensor = graph.tensors[entry.tensor]
            if entry.begin is not None:
                tensor = Tensor(id=free_id(f"#{number}", taken), size=entry.size)
            self._lives[tensor.id] = *_closed(entry, *life), tensor
        self._over: dict[tuple[int, int], dict[str, Tensor]] = {}

    def knows(self, begin: int, end: int, alternative: Alternative) -> bool:
        """Whether neither these of the order nor the alternative touch views, so that a part tells all."""
        operators = (*self._operators[begin:end], *alternative.operators)
        return not self._viewed or self._viewed.isdisjoint(_used(operators))

    def part(self, begin: int, end: int, alternative: Alternative) -> Graph:
        """A graph of the alternative alone, in the place of these of the order, with all that is live there.

        Each of its operators needs in it what it needs in the whole graph.
        """
        over = self._live_over(begin, end)
        own = {tensor.id: tensor for tensor in alternative.tensors}
        used = {entry: own.get(entry) or self._tensors[entry] for entry in _used(alternative.operators)}
        outputs = {output for operator in alternative.operators for output in operator.outputs}
        tensors = {**{alway.id: alway for alway in self._always}, **over, **used}
        data = [name for name, entry in used.items() if entry.kind == "data" and name not in own]
        return Graph(
            tensors=tuple(tensors.values()),
            operators=alternative.operators,
            inputs=tuple({**over, **{value: None for value in data if value not in outputs}}),
            outputs=tuple({**over, **{value: None for value in data if self._lives[value][1] >= end}}),
        )

    def read(self, begin: int, end: int) -> set[str]:
        """What these of the order read of others."""
        return self.read_by(self._operators[begin:end])

    def read_by(self, operators: Sequence[Operator]) -> set[str]:
        """What these operators read of others in the graph."""
        outputs = {name for operator in operators for name in operator.outputs}
        read = {name for operator in operators for name in operator.inputs}
        return {entry for entry in read - outputs if entry in self._tensors}

    def _live_over(self, begin: int, end: int) -> dict[str, Tensor]:
        """What is made before, and read after or kept."""
        tensors = self._over.get((begin, end))
        if tensors is None:
            lives = self._lives.items()
            tensors = {
                entry: tensor for entry, (first, last, tensor) in lives if first < begin and last >= end
            }
            self._over[begin, end] = tensors
        return tensors


def _used(operators: Iterable[Operator]) -> dict[str, None]:
    return dict.fromkeys(name for operator in operators for name in (*operator.inputs, *operator.outputs))


@dataclass(frozen=True, slots=True)
class KnownWay:
    """An alternative, and the part of the order in whose place its operators run."""

    way: Way
    alternative: Alternative
    exact: bool
    """Whether it reads all that the others have read, so that nothing else lives shorter."""


def ways_of(graph: Graph, order: Sequence[int], budget: Budget, unit: int = 1) -> Iterator[KnownWay]:
    """The alternatives of operators next to each other that read nothing else than these have read.

    As many as the budget allows.
    """
    if not graph.alternatives:
        return
    place = {graph.operators[operator].id: at for at, operator in enumerate(order)}
    constants = {tensor.id for tensor in graph.tensors if tensor.kind == "constant"}
    around = Surroundings(graph, order)
    for alternative in graph.alternatives:
        if budget.spent:
            return
        places = sorted(place[name] for name in alternative.replaces)
        begin, end = places[0], places[-1] + 1
        if end - begin != len(places) or not _can_run(alternative):
            budget.count(len(alternative.operators))
            continue
        before = around.read(begin, end) - constants
        after = around.read_by(alternative.operators) - constants
        if not after <= before:
            budget.count(len(alternative.operators))
            continue
        if around.knows(begin, end, alternative):
            part = around.part(begin, end, alternative)
            budget.count(len(part.tensors))
            needs = [step.bytes for step in steps(part, range(len(part.operators)), unit)]
            way = Way(begin, end, max(needs, default=0), _cost(alternative, part))
        else:
            budget.count(len(graph.operators))
            way = whole_way(graph, order, alternative, begin, end, unit)
        if not fits(way.bytes, way.cost, len(graph.alternatives)):
            continue
        yield KnownWay(way, alternative, after == before)


def _can_run(alternative: Alternative) -> bool:
    """Whether its operators can run as they are listed."""
    later = {name for operator in alternative.operators for name in operator.outputs}
    for operator in alternative.operators:
        if not later.isdisjoint(operator.inputs):
            return False
        later.difference_update(operator.outputs)
    return True


def whole_way(
    graph: Graph, order: Sequence[int], alternative: Alternative, begin: int, end: int, unit: int
) -> Way:
    """The way as the graph with the alternative has it: all of its operators are gone through."""
    changed = with_alternative(graph, alternative)
    index = links_of(changed).operator_index
    names = [graph.operators[entry].id for entry in order]
    own = [operator.id for operator in alternative.operators]
    run = [*names[:begin], *own, *names[end:]]
    needs = [step.bytes for step in steps(changed, [index[name] for name in run], unit)]
    return Way(begin, end, max(needs[begin : begin + len(own)], default=0), _cost(alternative, changed))


def _cost(alternative: Alternative, changed: Graph) -> int:
    """What its operators cost together, in a graph that has them."""
    if alternative.cost is not None:
        return alternative.cost
    own = {operator.id for operator in alternative.operators}
    costs = zip(changed.operators, operator_costs(changed), strict=True)
    return sum(cost for operator, cost in costs if operator.id in own)


# Longer orders have stripes of at most so many operators: all pairs of ends would take too long.
_ANY_LENGTH: Final = 160
_LONGEST: Final = 48


def longest_stripe(operators: int) -> int:
    """The most operators of a stripe in an order of so many."""
    return operators if operators <= _ANY_LENGTH else _LONGEST


@dataclass(frozen=True, slots=True)
class Corner:
    """What schedules cost at least, and the bytes that they need at least."""

    bytes: int
    cost: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to run a graph, such as an order that is cut into stripes."""

    bytes: int
    """What its fullest moment needs: no plan of it has a smaller peak."""
    cost: int
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class OrderFront:
    """Ascending in bytes. `complete`: no other stripes and alternatives of this order are better in both."""

    points: tuple[Candidate, ...]
    complete: bool
    corners: tuple[Corner, ...] | None = None
    """Each schedule of this order is as bad as one of them in both; None: nothing is known."""


def front_beside_alternatives(
    graph: Graph, order: Sequence[int], budget: Budget, most_cost: int, stripes: bool = True
) -> OrderFront:
    """The front in which alternatives run as they are, and stripes beside them."""
    unit = unit_of(graph)
    known = tuple(ways_of(graph, order, budget, unit))
    program = stripe_program(graph, order, unit, [entry.way for entry in known])
    front = stripe_front(program, min(most_cost, MOST), longest_stripe(len(order)) if stripes else 1, budget)
    names = tuple(graph.operators[entry].id for entry in order)
    points = tuple(
        Candidate(point.bytes, point.cost, _schedule(names, point.choices, known)) for point in front.points
    )
    exact = len(known) == len(graph.alternatives) and all(entry.exact for entry in known)
    return OrderFront(points, exact and (front.complete or not stripes))


def _schedule(names: Sequence[str], choices: Sequence[Choice], known: Sequence[KnownWay]) -> Schedule:
    order: list[str] = []
    stripes: list[Stripe] = []
    chosen: list[str] = []
    for choice in choices:
        begin = len(order)
        if choice.other >= 0:
            alternative = known[choice.other].alternative
            chosen.append(alternative.id)
            order += [operator.id for operator in alternative.operators]
            continue
        order += names[choice.begin : choice.end]
        if choice.columns:
            stripes.append(Stripe(begin=begin, end=len(order), columns=choice.columns))
    return Schedule(order=tuple(order), alternatives=tuple(chosen), stripes=tuple(stripes))
