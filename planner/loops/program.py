"""The operators of a graph as a schedule lets them run: each run on its own, and what of the graph it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.runs import with_runs
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.stripes.expand import with_stripes
from memstow.planner.model.graph import Graph, Operator
from memstow.planner.model.plan import Schedule, Stripe


@dataclass(frozen=True, slots=True)
class Program:
    """What runs."""

    listed: Graph
    """Each operator that runs, in its order; stripes are not yet one operator."""
    striped: Graph
    """The same with each stripe as one operator, of the id of its last."""
    stripes: tuple[Stripe, ...]
    """Their places among the operators that are listed."""
    runs: Mapping[str, str]
    """By operator that has another id than in the graph, that id; a copy has none."""
    copies: frozenset[str]
    """The operators that only copy a tensor."""
    versions: Mapping[str, str]
    """By tensor that has another id than in the graph, that id."""


def program_of(graph: Graph, schedule: Schedule | None) -> Program:
    """What runs, as the schedule says; without one, the operators as they are listed."""
    if schedule is None:
        schedule = Schedule(order=tuple(graph.operators[it].id for it in listed_order(graph)))
    graph = with_chosen(graph, schedule.alternatives)
    schedule = replace(schedule, alternatives=())
    listed, moved = with_runs(graph, schedule)
    striped = with_stripes(listed, moved.stripes) if moved.stripes else listed
    origins = _Origins(graph, schedule, listed)
    return Program(listed, striped, moved.stripes, origins.runs, frozenset(origins.copies), origins.versions)


class _Origins:
    """Goes through what runs beside the schedule, which has it in the same order."""

    def __init__(self, graph: Graph, schedule: Schedule, listed: Graph) -> None:
        self.runs: dict[str, str] = {}
        self.copies: set[str] = set()
        self.versions: dict[str, str] = {}
        operators, known = iter(listed.operators), links_of(graph).operator_index
        back = _by_place((it.back, it.tensor) for it in schedule.spills)
        out = _by_place((it.out, it.tensor) for it in schedule.spills)
        for at, name in enumerate(schedule.order):
            for tensor in back.get(at, ()):
                self._copy(next(operators), tensor)
            here, there = next(operators), graph.operators[known[name]]
            if here.id != name:
                self.runs[here.id] = name
                self.versions.update(zip(here.outputs, there.outputs, strict=True))
            for tensor in out.get(at, ()):
                self._copy(next(operators), tensor)

    def _copy(self, copy: Operator, tensor: str) -> None:
        self.copies.add(copy.id)
        self.versions[copy.outputs[0]] = tensor


def _by_place(pairs: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for place, tensor in pairs:
        found.setdefault(place, []).append(tensor)
    return found
