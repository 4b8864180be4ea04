"""The plain graph of a schedule in which operators run again, or tensors wait in another pool.

In it every operator runs once, as listed, so whatever knows plain graphs can lower, solve and draw it. A run
after the first is an operator of its own that makes its own versions of its tensors; a spill is two operators
that copy. Who reads a tensor reads the version that was made, or copied back, last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstow.planner.graph.links import NOBODY, Links, links_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Graph, Operator, Tensor, View, is_planned
from memstow.planner.model.plan import Schedule, Spill, Stripe

_LONGEST_ID: Final = 1024


def with_runs(graph: Graph, schedule: Schedule) -> tuple[Graph, Schedule]:
    """The graph whose operators run once each, as the schedule lists them, and the schedule of it.

    The graph is valid and has no alternatives left to choose; stripes are moved to their places in the new
    order. Raises InputError where the graph does not allow the schedule.
    """
    links = links_of(graph)
    order = _known(links, schedule)
    _check_order(graph, links, order)
    _check_spills(graph, links, schedule, order)
    expansion = _Expansion(graph, links, schedule, order)
    expanded = replace(
        graph,
        tensors=(*graph.tensors, *expansion.made),
        operators=tuple(expansion.operators),
        outputs=tuple(expansion.version.get(name, name) for name in graph.outputs),
        before=tuple(_before(graph, expansion.runs)),
        order=GIVEN,
        alternatives=(),
        limits=None,
    )
    names = tuple(operator.id for operator in expanded.operators)
    return expanded, Schedule(order=names, stripes=tuple(expansion.stripes(schedule.stripes)))


def runs_once(graph: Graph) -> list[bool]:
    """By operator, whether it must not run again: it writes a state, or makes or reads what is in views."""
    states, fixed = _states(graph), viewed(graph.views)
    return [
        not states.isdisjoint(operator.outputs) or not fixed.isdisjoint(operator.inputs + operator.outputs)
        for operator in graph.operators
    ]


def viewed(views: Sequence[View]) -> set[str]:
    """The tensors that are views or have one."""
    return {name for view in views for name in (view.tensor, view.of)}


def _refused(path: str, message: str) -> InputError:
    return InputError.single("not_a_schedule", path, message)


def _known(links: Links, schedule: Schedule) -> list[int]:
    """The operators by index."""
    order: list[int] = []
    for at, name in enumerate(schedule.order):
        if name not in links.operator_index:
            raise _refused(f"schedule.order[{at}]", f"the graph has no operator {name!r}")
        order.append(links.operator_index[name])
    missing = set(range(len(links.after))) - set(order)
    if missing:
        index = min(missing)
        name = next(name for name, it in links.operator_index.items() if it == index)
        raise _refused(
            "schedule.order", f"{name!r} is missing; each operator of the graph runs at least once"
        )
    return order


def _check_order(graph: Graph, links: Links, order: Sequence[int]) -> None:
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, operator in enumerate(order):
        first.setdefault(operator, at)
        last[operator] = at
    once, states = runs_once(graph), _states(graph)
    for operator in first:
        if once[operator] and first[operator] != last[operator]:
            name = graph.operators[operator].id
            raise _refused(
                f"schedule.order[{last[operator]}]",
                f"{name!r} cannot run again: it writes a state, or uses a tensor that is a view or has one",
            )
    for operator, them in enumerate(links.after):
        at_state = not states.isdisjoint(graph.operators[operator].inputs + graph.operators[operator].outputs)
        for other in them:
            # Who reads a state has to run for the last time before it is written.
            turn = last if at_state and _share(graph, operator, other, states) else first
            if first[other] < turn[operator]:
                raise _out_of_order(graph, operator, other, first[other])
    for operator, other in links.before:
        if first[other] < last[operator]:
            raise _out_of_order(graph, operator, other, first[other])


def _states(graph: Graph) -> set[str]:
    return {tensor.id for tensor in graph.tensors if tensor.kind == "state"}


def _share(graph: Graph, operator: int, other: int, states: set[str]) -> bool:
    """Whether both use one state, which one of them writes."""
    one, two = graph.operators[operator], graph.operators[other]
    written = states.intersection(one.outputs + two.outputs)
    return any(it in one.inputs + one.outputs and it in two.inputs + two.outputs for it in written)


def _out_of_order(graph: Graph, operator: int, other: int, at: int) -> InputError:
    names = graph.operators[operator].id, graph.operators[other].id
    return _refused(
        f"schedule.order[{at}]", f"{names[1]!r} needs {names[0]!r}, which comes later; put it before"
    )


def _check_spills(graph: Graph, links: Links, schedule: Schedule, order: Sequence[int]) -> None:
    pools = {pool.id for pool in graph.pools}
    fixed = viewed(graph.views)
    away: dict[int, list[tuple[int, int]]] = {}
    for i, spill in enumerate(schedule.spills):
        path = f"schedule.spills[{i}]"
        index = links.tensor_index.get(spill.tensor, NOBODY)
        if index == NOBODY:
            raise _refused(f"{path}.tensor", f"the graph has no tensor {spill.tensor!r}")
        tensor = graph.tensors[index]
        if tensor.kind != "data" or spill.tensor in fixed:
            what = "is a view or has one" if spill.tensor in fixed else f"is of the kind {tensor.kind}"
            raise _refused(
                f"{path}.tensor", f"{spill.tensor!r} {what}; only data that stands alone can be copied out"
            )
        if spill.pool not in pools:
            raise _refused(
                f"{path}.pool", f"the graph has no pool {spill.pool!r}; give the id of one of `pools`"
            )
        if not spill.out < spill.back < len(order):
            raise _refused(
                path,
                f"out at {spill.out}, back at {spill.back}: give two places in `order`, ascending",
            )
        maker = links.producer[index]
        if maker != NOBODY and maker not in order[: spill.out + 1]:
            raise _refused(f"{path}.out", f"{spill.tensor!r} is not there yet")
        if any(spill.out < back and out < spill.back for out, back in away.get(index, ())):
            raise _refused(path, f"{spill.tensor!r} is away already at that time")
        away.setdefault(index, []).append((spill.out, spill.back))
        between = order[spill.out + 1 : spill.back]
        busy = next((it for it in between if it == maker or it in links.readers[index]), NOBODY)
        if busy != NOBODY:
            name = graph.operators[busy].id
            raise _refused(path, f"{name!r} makes or reads {spill.tensor!r} while it is away")


def _before(graph: Graph, runs: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """All runs of the one come before all of the other: the last before the first says it."""
    for first, second in graph.before:
        yield runs[first][-1], runs[second][0]


@dataclass(slots=True)
class _Names:
    """Ids that are taken."""

    taken: set[str]

    def free(self, wanted: str) -> str:
        """The id, with `#` behind it until nobody has it."""
        while wanted in self.taken:
            wanted += "#"
        if len(wanted) > _LONGEST_ID:
            raise _refused("schedule", f"the id {wanted[:40]!r}... is too long; give the graph shorter ids")
        self.taken.add(wanted)
        return wanted


@dataclass
class _Expansion:
    """Writes down what runs, in order."""

    graph: Graph
    links: Links
    schedule: Schedule
    order: Sequence[int]
    operators: list[Operator] = field(default_factory=list)
    made: list[Tensor] = field(default_factory=list)
    version: dict[str, str] = field(default_factory=dict)
    """By tensor, the one that readers read now, where it is not the first."""
    runs: dict[str, list[str]] = field(default_factory=dict)
    """By operator, its runs."""
    places: list[int] = field(default_factory=list)
    """By position in the schedule, the position in `operators`."""

    def __post_init__(self) -> None:
        elements = {tensor.id for tensor in self.graph.tensors}
        elements.update(it.id for operator in self.graph.operators for it in operator.temporaries)
        self._elements = _Names(elements)
        self._operators = _Names(set(self.links.operator_index))
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
                raise _refused(path, "its begin and end are not two places in `order`, ascending")
            begin, last = self.places[stripe.begin], self.places[stripe.end - 1]
            if last - begin != stripe.end - 1 - stripe.begin:
                raise _refused(path, "a tensor is copied out or back inside of it")
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
            again = self._elements.free(f"{name}#{number}")
            self.made.append(replace(tensor, id=again))
            self.version[name] = again
        return replace(
            operator,
            id=self._operators.free(f"{operator.id}#{number}"),
            inputs=inputs,
            outputs=tuple(self.version[name] for name in operator.outputs),
            in_place=tuple((sources[a], self.version[b]) for a, b in operator.in_place),
            temporaries=tuple(
                replace(it, id=self._elements.free(f"{it.id}#{number}")) for it in operator.temporaries
            ),
        )

    def _copy_out(self, number: int) -> str:
        spill, tensor = self._spilled(number)
        away = replace(tensor, id=self._elements.free(f"{spill.tensor}.away.{number}"), pools=(spill.pool,))
        self._copy(f"{spill.tensor}.out.{number}", self.version.get(spill.tensor, spill.tensor), away)
        return away.id

    def _copy_back(self, number: int, away: str) -> None:
        spill, tensor = self._spilled(number)
        at = replace(tensor, id=self._elements.free(f"{spill.tensor}.at.{number}"))
        self._copy(f"{spill.tensor}.back.{number}", away, at)
        self.version[spill.tensor] = at.id

    def _copy(self, name: str, source: str, target: Tensor) -> None:
        self.made.append(target)
        self.operators.append(Operator(id=self._operators.free(name), inputs=(source,), outputs=(target.id,)))

    def _spilled(self, number: int) -> tuple[Spill, Tensor]:
        spill = self.schedule.spills[number - 1]
        return spill, self.graph.tensors[self.links.tensor_index[spill.tensor]]


def can_spill(graph: Graph, tensor: Tensor) -> bool:
    """Whether the tensor can wait in another pool."""
    return tensor.kind == "data" and is_planned(tensor) and tensor.id not in viewed(graph.views)
