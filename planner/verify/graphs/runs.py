"""A run of a graph in which operators run again and tensors wait elsewhere, as a graph that runs as listed.

Each run of an operator makes versions of its tensors of its own. Who reads a tensor reads the version that
was made, or copied back, last.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, size_of
from memstow.planner.model.plan import Schedule, Spill
from memstow.planner.model.problem import DEFAULT_POOL
from memstow.planner.verify.effort import Effort
from memstow.planner.verify.graphs.free_names import FreeNames
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.replay import out_of_turn


@dataclass(frozen=True, slots=True)
class Run:
    """The graph of one run: its operators run as they are listed."""

    graph: Graph
    places: Sequence[int]
    """By place in the schedule's order, the operator's place in the run, where copies count as well."""
    copies: frozenset[int]
    """The places of copies in the run."""


def run_of(graph: Graph, schedule: Schedule, effort: Effort) -> Run:
    """The run of a schedule, stripes left out. Raises Refused where the graph does not allow it."""
    _check_order(graph, schedule)
    return _Running(graph, schedule, effort).result()


def _check_order(graph: Graph, schedule: Schedule) -> None:
    """Every operator runs, nothing else does, and `before` and states hold in each run."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, name in enumerate(schedule.order):
        first.setdefault(name, at)
        last[name] = at
    there = {operator.id for operator in graph.operators}
    for name in first:
        if name not in there:
            message = f"{name!r} runs, and is no operator of the graph with the alternatives that are chosen"
            raise Refused(message)
    for operator in graph.operators:
        if operator.id not in first:
            raise Refused(f"{operator.id!r} does not run, and no alternative that is chosen replaces it")
    for one, other in graph.before:
        if last[one] >= first[other]:
            raise Refused(f"{other!r} runs before {one!r}, and must run after it each time")
    states = {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
    # Who reads a state has to run for the last time before it is written; who writes it runs once.
    for message in (*out_of_turn(graph, states, first), *out_of_turn(graph, states, last)):
        raise Refused(message)
    _check_again(graph, states, {name for name in first if last[name] != first[name]})


def _check_again(graph: Graph, states: set[str], again: set[str]) -> None:
    """States and views are made once; a state can be read again."""
    viewed = {name for view in graph.views for name in (view.tensor, view.of)}
    for operator in graph.operators:
        for name in (*operator.inputs, *operator.outputs) if operator.id in again else ():
            written = name in states and name in operator.outputs
            if written or name in viewed:
                what = "a state" if written else "a view or has one"
                raise Refused(f"{operator.id!r} runs again, and {name!r} of it is {what}")


class _Running:
    def __init__(self, graph: Graph, schedule: Schedule, effort: Effort) -> None:
        self.graph = graph
        self.schedule = schedule
        self.effort = effort
        self.operators: list[Operator] = []
        self.tensors = {tensor.id: tensor for tensor in graph.tensors}
        self.added: list[Tensor] = []
        self.runs: Counter[str] = Counter()
        self.copies: set[int] = set()
        temporaries = (it.id for operator in graph.operators for it in operator.temporaries)
        self.names = FreeNames((*self.tensors, *temporaries), effort)
        self.operator_names = FreeNames((operator.id for operator in graph.operators), effort)
        # Data, and what else an operator makes, is there from then on; all else from the start.
        made = {name for operator in graph.operators for name in operator.outputs}
        late = {
            it.id for it in graph.tensors if it.kind == "data" or (it.kind == "external" and it.id in made)
        }
        there = set(graph.inputs)
        self.version = {name: name for name in self.tensors if name in there or name not in late}
        self.away: dict[int, str] = {}

    def result(self) -> Run:
        by_name = {operator.id: operator for operator in self.graph.operators}
        out, back = self.spills()
        places = []
        for at, name in enumerate(self.schedule.order):
            for number in back.get(at, ()):
                self.copy_back(number)
            places.append(len(self.operators))
            self.run(by_name[name])
            for number in out.get(at, ()):
                self.copy_out(number)
        graph = self.graph
        outputs = tuple(self.read(name, "the graph keeps {!r}, which nobody makes") for name in graph.outputs)
        tensors = (*graph.tensors, *self.added)
        listed = replace(
            graph, tensors=tensors, operators=tuple(self.operators), outputs=outputs, before=(), order="given"
        )
        return Run(listed, places, frozenset(self.copies))

    def read(self, name: str, otherwise: str) -> str:
        """The version of a tensor that is there."""
        found = self.version.get(name)
        if found is None:
            raise Refused(otherwise.format(name))
        return found

    def run(self, operator: Operator) -> None:
        """Run an operator: for the first time by its own name and with its own tensors."""
        self.runs[operator.id] += 1
        self.effort.spend(1 + len(operator.inputs) + len(operator.outputs) + len(operator.temporaries))
        count = self.runs[operator.id]
        missing = f"{operator.id!r} reads {{!r}} before it is made"
        inputs = {name: self.read(name, missing) for name in operator.inputs}
        if count > 1:
            operator = self.again(operator, count)
        else:
            self.version.update({name: name for name in operator.outputs})
        # `again` has renamed what it makes alone, so the names of the inputs are those of the document.
        in_place = tuple((inputs[source], target) for source, target in operator.in_place)
        read = tuple(inputs[name] for name in operator.inputs)
        self.operators.append(replace(operator, inputs=read, in_place=in_place))

    def again(self, operator: Operator, count: int) -> Operator:
        """The operator with names for another run, which makes new versions of its outputs."""
        new = {name: self.names.take(f"{name}#{count}") for name in dict.fromkeys(operator.outputs)}
        for name, version in new.items():
            self.added.append(replace(self.tensors[name], id=version))
            self.version[name] = version
        temporaries: list[Temporary] = [
            replace(it, id=self.names.take(f"{it.id}#{count}")) for it in operator.temporaries
        ]
        return replace(
            operator,
            id=self.operator_names.take(f"{operator.id}#{count}"),
            outputs=tuple(new[name] for name in operator.outputs),
            temporaries=tuple(temporaries),
            in_place=tuple((source, new[target]) for source, target in operator.in_place),
        )

    def spills(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The spills that are copied out after each place, and back before it."""
        pools = {pool.id for pool in self.graph.pools} or {DEFAULT_POOL}
        viewed = {name for view in self.graph.views for name in (view.tensor, view.of)}
        out: dict[int, list[int]] = {}
        back: dict[int, list[int]] = {}
        for number, spill in enumerate(self.schedule.spills):
            _check_spill(spill, self.tensors, viewed, pools, len(self.schedule.order))
            out.setdefault(spill.out, []).append(number)
            back.setdefault(spill.back, []).append(number)
        self.check_away()
        return out, back

    def check_away(self) -> None:
        """While a tensor waits elsewhere its place is free: nobody reads or makes it then."""
        uses: dict[str, list[int]] = {spill.tensor: [] for spill in self.schedule.spills}
        by_name = {operator.id: operator for operator in self.graph.operators}
        for at, name in enumerate(self.schedule.order):
            operator = by_name[name]
            self.effort.spend(1 + len(operator.inputs) + len(operator.outputs))
            for tensor in dict.fromkeys((*operator.inputs, *operator.outputs)):
                if tensor in uses:
                    uses[tensor].append(at)
        until: dict[str, int] = {}
        for spill in sorted(self.schedule.spills, key=lambda it: it.out):
            if spill.out < until.get(spill.tensor, 0):
                raise Refused(
                    f"{spill.tensor!r} is copied out after place {spill.out:,}, and is away already"
                )
            until[spill.tensor] = spill.back
            used = uses[spill.tensor]
            at = bisect_right(used, spill.out)
            if at < len(used) and used[at] < spill.back:
                name = self.schedule.order[used[at]]
                raise Refused(
                    f"{name!r} reads or makes {spill.tensor!r} at place {used[at]:,}, while it is away"
                )

    def copy_out(self, number: int) -> None:
        spill = self.schedule.spills[number]
        there = self.read(spill.tensor, "{!r} is copied out before it is made")
        away = self.names.take(f"{spill.tensor}.away.{number + 1}")
        copied = replace(self.tensors[spill.tensor], id=away, pools=(spill.pool,))
        self.away[number] = self.copy(f"{spill.tensor}.out.{number + 1}", there, copied)

    def copy_back(self, number: int) -> None:
        spill = self.schedule.spills[number]
        name = self.names.take(f"{spill.tensor}.at.{number + 1}")
        copied = replace(self.tensors[spill.tensor], id=name)
        self.version[spill.tensor] = self.copy(f"{spill.tensor}.back.{number + 1}", self.away[number], copied)

    def copy(self, name: str, source: str, target: Tensor) -> str:
        """Run an operator that copies; the name of what it makes."""
        self.copies.add(len(self.operators))
        self.added.append(target)
        # It costs the bytes that it copies.
        made = Operator(
            id=self.operator_names.take(name), inputs=(source,), outputs=(target.id,), cost=size_of(target)
        )
        self.operators.append(made)
        return target.id


def _check_spill(
    spill: Spill, tensors: dict[str, Tensor], viewed: set[str], pools: set[str], count: int
) -> None:
    tensor = tensors.get(spill.tensor)
    if tensor is None:
        raise Refused(f"{spill.tensor!r} is copied out, and is no tensor of the graph")
    if tensor.kind != "data":
        raise Refused(f"{spill.tensor!r} is copied out, and is of the kind {tensor.kind}")
    if spill.tensor in viewed:
        raise Refused(f"{spill.tensor!r} is copied out, and is a view or has one")
    if spill.pool not in pools:
        raise Refused(f"{spill.tensor!r} is copied to {spill.pool!r}, which is no pool of the graph")
    if not spill.out < spill.back < count:
        raise Refused(
            f"{spill.tensor!r} is copied out after place {spill.out:,} and never back: place {spill.back:,} "
            f"must come later, and be one of {count:,}"
        )
