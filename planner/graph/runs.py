"""The plain graph of a schedule in which operators run again, or tensors wait in another pool.

In it every operator runs once, as listed, so whatever knows plain graphs can lower, solve and draw it. A run
after the first is an operator of its own that makes its own versions of its tensors; a spill is two operators
that copy. Who reads a tensor reads the version that was made, or copied back, last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstow.planner.graph.links import Links, links_of
from memstow.planner.graph.run_checks import checked_order, refused
from memstow.planner.model.graph import GIVEN, Graph, Operator, Tensor, size_of
from memstow.planner.model.plan import Schedule, Spill, Stripe

_LONGEST_ID: Final = 1024


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
            raise refused("schedule", f"the id {wanted[:40]!r}... is too long; give the graph shorter ids")
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
        # What is copied is what it costs.
        copy = Operator(
            id=self._operators.free(name), inputs=(source,), outputs=(target.id,), cost=size_of(target)
        )
        self.operators.append(copy)

    def _spilled(self, number: int) -> tuple[Spill, Tensor]:
        spill = self.schedule.spills[number - 1]
        return spill, self.graph.tensors[self.links.tensor_index[spill.tensor]]
