"""Fronts of tiny graphs against schedules gone through one by one, judged by `planner.verify` alone.

A front says of each point what no other schedule does without, and where it is complete that none is missing.
Here the schedules that the judge accepts are gone through: operators that run again, tensors that wait in
another pool, alternatives, in the order that is asked for or in all. The least peak of each is found by the
referee, whose places the judge has to accept.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from random import Random
from typing import Any, Final

from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.graph.check import require_valid
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import GENERATORS, Front, FrontOptions, FrontPoint, Generator
from memstow.planner.model.graph import GIVEN, Graph, size_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan, Schedule, Spill
from memstow.planner.model.problem import Problem, allowed_pools
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify.graph_replay import problem_in_order, replay, with_chosen
from memstow.planner.verify.graph_verdict import does_more_than_order, judge_graph, schedule_cost, scheduled
from memstow.planner.verify.verdict import Findings, Refused
from tests import referee
from tests.graphs import Document, live_bytes_of, random_graph

# Trying all places of more buffers takes minutes where nothing fits.
_MOST_BY_HAND: Final = 9
STEADY: Final = Options(deterministic=True, work_limit=20_000_000)


@dataclass(frozen=True)
class Asked:
    """A front of a graph: what is asked for."""

    graph: Graph
    options: FrontOptions

    def front(self) -> Front:
        """What memstow says."""
        return find_front(self.graph, self.options, STEADY, FrontCallbacks())

    @property
    def pool(self) -> str | None:
        """The pool that counts, of several."""
        assert self.options.terms is not None
        return self.options.terms[0].partition(":")[2] or None

    @property
    def kinds(self) -> frozenset[str]:
        """What may be done."""
        return frozenset(self.options.generators or ())


def random_asked(seed: int, most: int = 3) -> Asked:
    """A front of a random graph of all features; of at most so many operators."""
    random = Random(seed)
    document = random_graph(seed, most) if random.random() < 0.25 else _tense_graph(random, most)
    document["order"] = random.choice(("given", "given", "given", "free"))
    several = random.random() < 0.7
    if several:
        _in_pools(document, random)
    elif random.random() < 0.2:
        document["pools"] = [{"id": "p", "capacity": random.randint(4, 40)}]
    for tensor in document["tensors"]:
        if tensor["kind"] == "data" and random.random() < 0.1:
            tensor["kind"] = "external" if not _is_pinned_down(document, tensor["id"]) else "data"
    for operator in document["operators"]:
        if random.random() < 0.5:
            operator["cost"] = random.randint(0, 3)
        if random.random() < 0.1:
            operator["type"] = "dropout"
    if not several and random.random() < 0.3:
        document["alternatives"] = list(_alternatives(document, random))
    kinds: list[Generator] = [name for name in ("recompute", "spill") if random.random() < 0.75]
    if not several and "spill" in kinds:
        kinds.remove("spill")
    return Asked(
        _valid(document),
        FrontOptions(
            terms=("peak:p", "cost") if several else ("peak", "cost"),
            generators=tuple(kinds),
            cost="bytes" if "spill" in kinds else random.choice(("given", "bytes")),
            within=random.choice((None, None, None, None, 1.3, 2.0)),
        ),
    )


def random_limited(seed: int, most: int = 3) -> Asked:
    """The same over several pools of which all but the one that counts are small."""
    random = Random(seed)
    while True:
        sample = random_asked(random.getrandbits(32), most)
        if len(sample.graph.pools) > 1:
            break
    pools = [
        entry if entry.id == sample.pool else replace(entry, capacity=random.randint(0, 10))
        for entry in sample.graph.pools
    ]
    kinds = tuple(generator for generator in GENERATORS if generator == "spill" or generator in sample.kinds)
    options = replace(sample.options, generators=kinds, cost="bytes")
    return Asked(replace(sample.graph, pools=tuple(pools)), options)


def random_free(seed: int, most: int = 4) -> Asked:
    """A front of a random graph in any order, with alternatives of several parts of it."""
    random = Random(seed)
    while True:
        document = random_graph(seed, most) if random.random() < 0.3 else _tense_graph(random, most)
        document["order"] = "free"
        for operator in document["operators"]:
            if random.random() < 0.5:
                operator["cost"] = random.randint(0, 3)
        document["alternatives"] = []
        for part in range(random.choice((1, 1, 2))):
            document["alternatives"] += _alternatives(document, random, f".{part}")
        graph = _valid(document)
        if graph.alternatives:
            break
    kinds: tuple[Generator, ...] = random.choice(((), (), ("stripes",), ("recompute",)))
    within = random.choice((None, None, 1.5))
    return Asked(graph, FrontOptions(terms=("peak", "cost"), generators=kinds, within=within))


def _tense_graph(random: Random, most: int) -> Document:
    """Inputs and tensors that wait for late readers, and operators that make nothing or write a state."""
    inputs = [f"x{i}" for i in range(random.randint(1, 2))]
    tensors = [{"id": name, "size": random.randint(1, 6), "kind": "data"} for name in inputs]
    has_state = random.random() < 0.25
    operators: list[Document] = []
    data = list(inputs)
    count = random.randint(max(2, most - 1), most)
    for number in range(count):
        late, middle = number + 1 == count, 0 < number < count - 1
        some = data[: 1 + len(inputs)] if late else data if random.random() < 0.3 else data[-1:]
        read = random.sample(some, min(len(some), random.choice((0, 1, 1, 2))))
        if late and random.random() < 0.7:
            read = list(dict.fromkeys(("x0", *read)))
        made = [f"t{number}.{i}" for i in range(random.choice((0, 1, 1, 1, 2)))]
        tensors += [{"id": name, "size": random.choice((0, 1, 1, 2, 3, 6)), "kind": "data"} for name in made]
        data += made
        pairs = [[a, b] for a in read for b in made if random.random() < 0.25]
        most_own = 12 if middle else 0
        temporaries = [{"id": f"w{number}", "size": random.randint(0, most_own)}]
        if has_state and random.random() < 0.5:
            read = [*read, "state"]
        if has_state and random.random() < 0.3:
            made = [*made, "state"]
        operators.append(
            {
                "id": f"o{number}",
                "inputs": read,
                "outputs": made,
                "in_place": pairs,
                "temporaries": temporaries,
            }
        )
    if has_state:
        tensors.append({"id": "state", "size": random.randint(0, 2), "kind": "state"})
    ids = [operator["id"] for operator in operators]
    return {
        "version": 1,
        "tensors": tensors,
        "operators": operators,
        "inputs": inputs,
        "outputs": [name for name in data if random.random() < 0.3],
        "before": [list(pair) for pair in combinations(ids, 2) if random.random() < 0.06],
        "views": [],
    }


def _valid(document: Document) -> Graph:
    """The graph; without what makes it contradict itself."""
    for gone in ((), ("alternatives",), ("alternatives", "views")):
        try:
            graph = parse_graph({name: entry for name, entry in document.items() if name not in gone})
            require_valid(graph)
        except InputError:
            continue
        return graph
    raise AssertionError(document)


def _in_pools(document: Document, random: Random) -> None:
    slow: list[dict[str, Any]] = [{"id": f"slow{i}"} for i in range(random.choice((1, 1, 2)))]
    for pool in slow:
        if random.random() < 0.3:
            pool["capacity"] = random.randint(0, 30)
    fast = random.random() < 0.6
    pools = [{"id": "p"}, *slow]
    random.shuffle(pools)
    document["pools"] = pools
    for tensor in document["tensors"]:
        tensor["pools"] = ["p"] if fast else random.choice((["p"], ["p"], [slow[0]["id"], "p"], None))
        if tensor["kind"] == "external":
            del tensor["pools"]
    together = [name for view in document["views"] for name in (view["tensor"], view["of"])]
    for tensor in document["tensors"]:
        if tensor["id"] in together:
            tensor["pools"] = ["p"]


def _is_pinned_down(document: Document, name: str) -> bool:
    """Whether it must be data."""
    viewed = [entry for view in document["views"] for entry in (view["tensor"], view["of"])]
    paired = [entry for operator in document["operators"] for pair in operator["in_place"] for entry in pair]
    return name in (*document["inputs"], *viewed, *paired)


def _alternatives(document: Document, random: Random, mark: str = "") -> Iterator[Document]:
    """Of one or two operators next to each other: the same through smaller tensors, or in one step."""
    operators = document["operators"]
    begin = random.randrange(len(operators))
    part = operators[begin : begin + random.randint(1, 2)]
    made = [name for operator in part for name in operator["outputs"]]
    read = [name for operator in part for name in operator["inputs"] if name not in made]
    left = [name for name in made if random.random() < 0.8]
    for index in range(random.randint(1, 2)):
        number = f"{index}{mark}"
        middle = {"id": f"m{number}", "size": random.randint(0, 3)}
        yield {
            "id": f"other{number}",
            "replaces": [entry["id"] for entry in part],
            "tensors": [middle],
            "operators": [
                {"id": f"n{number}", "inputs": list(dict.fromkeys(read)), "outputs": [middle["id"]]},
                {"id": f"e{number}", "inputs": [middle["id"]], "outputs": list(dict.fromkeys(left))},
            ],
            **({"cost": random.randint(0, 8)} if random.random() < 0.7 else {}),
        }


@dataclass(frozen=True)
class Ran:
    """A schedule, what it costs, and what must be placed where."""

    schedule: Schedule
    cost: int
    problem: Problem


class Judged:
    """The schedules of a graph that the judge accepts, and what they need."""

    def __init__(self, request: Asked) -> None:
        self.graph = with_cost_unit(request.graph, request.options.cost)
        self.pool = request.pool
        self.kinds = request.kinds
        self._least: dict[Problem, int | None] = {}
        self._costs = {operator.id: operator.cost or 0 for operator in self.graph.operators}
        self._sizes = {tensor.id: size_of(tensor) for tensor in self.graph.tensors}

    def cost(self, schedule: Schedule) -> int:
        """What it costs at least; all of it without alternatives."""
        ran = sum(self._costs.get(name, 0) for name in schedule.order)
        return ran + 2 * sum(self._sizes.get(spill.tensor, 0) for spill in schedule.spills)

    def ran(self, schedule: Schedule) -> Ran | None:
        """None where the judge refuses the schedule."""
        findings = Findings()
        try:
            made = scheduled(self.graph, schedule).graph if does_more_than_order(schedule) else self.graph
            names = [operator.id for operator in made.operators] if made is not self.graph else schedule.order
            replayed = replay(made, names, findings)
            if replayed is None:
                return None
            return Ran(schedule, schedule_cost(self.graph, schedule), problem_in_order(made, replayed))
        except Refused:
            return None

    def live(self, ran: Ran) -> int:
        """The most bytes at one time of what can only be in the pool that counts."""
        return self._live_in(ran, self.pool)

    def has_room(self, ran: Ran) -> bool:
        """Whether in no pool more bytes are live at one time than there are."""
        limited = (entry for entry in ran.problem.pools if entry.capacity is not None)
        return all(self._live_in(ran, entry.id) <= (entry.capacity or 0) for entry in limited)

    def _live_in(self, ran: Ran, pool: str | None) -> int:
        problem = ran.problem
        if pool is not None:
            only = [buffer for buffer in problem.buffers if allowed_pools(problem, buffer) == (pool,)]
            problem = replace(problem, buffers=tuple(only))
            names = {entry.id for entry in only}
            ties = (relation for relation in problem.relative if {relation.buffer, relation.base} <= names)
            problem = replace(problem, relative=tuple(ties))
        ends = [buffer.lifetime[1] for buffer in ran.problem.buffers if isinstance(buffer.lifetime, tuple)]
        return max(live_bytes_of(problem, max(ends, default=1)))

    def least_peak(self, ran: Ran) -> int | None:
        """The least peak of the schedule in the pool that counts, judged; None where nothing fits."""
        term = "peak" if self.pool is None else f"peak:{self.pool}"
        problem = replace(ran.problem, objective=(term,))
        if problem not in self._least:
            self._least[problem] = self._placed(ran, problem)
        return self._least[problem]

    def _placed(self, ran: Ran, problem: Problem) -> int | None:
        """The peak of a plan that the judge accepts; of many buffers one that a solver knows, not all."""
        places: Sequence[Placement]
        if len(problem.buffers) > _MOST_BY_HAND:
            solved = solve(problem, STEADY)
            if not solved.placements:
                return None
            peak, places = solved.objective[0].value, solved.placements
        else:
            judged = referee.judge(problem)
            if judged.vector is None or judged.places is None:
                return None
            peak = judged.vector[0]
            places = [
                Placement(buffer=name, pool=pool, offset=offset)
                for name, (pool, offset) in judged.places.items()
            ]
        plan = Plan(status=Status.FEASIBLE, placements=places, schedule=ran.schedule)
        assert not judge_graph(self.graph, plan).violations, ran.schedule
        return peak


def schedules(request: Asked, more: int, spills: int, random: Random | None = None) -> Iterator[Schedule]:
    """With so many runs more than needed and so many tensors that wait; with `random`, some of them."""
    for chosen in _choices(request.graph):
        try:
            graph = with_chosen(request.graph, chosen)
        except Refused:
            continue
        names = [operator.id for operator in graph.operators]
        away = [entry.id for entry in graph.pools if entry.id != request.pool]
        waiting = [tensor.id for tensor in graph.tensors if tensor.kind == "data" and size_of(tensor)]
        most = more if "recompute" in request.kinds else 0
        for runs in _orders(names, most, request.graph.order != GIVEN):
            yield Schedule(order=runs, alternatives=chosen)
            if "spill" not in request.kinds:
                continue
            intervals = list(combinations(range(len(runs)), 2))
            single = [
                Spill(tensor=tensor, pool=pool, out=out, back=back)
                for tensor, pool, (out, back) in product(waiting, away, intervals)
            ]
            for count in range(1, spills + 1):
                for some in combinations(single, count):
                    if random is None or count == 1 or random.random() < 0.02:
                        yield Schedule(order=runs, alternatives=chosen, spills=some)


def _choices(graph: Graph) -> Iterator[tuple[str, ...]]:
    names = [alternative.id for alternative in graph.alternatives]
    for count in range(len(names) + 1):
        yield from combinations(names, count)


def _orders(names: Sequence[str], more: int, free: bool) -> Iterator[tuple[str, ...]]:
    """All orders of runs: first runs as listed or, if `free`, in any order; so many more."""

    def longer(runs: tuple[str, ...], again: int) -> Iterator[tuple[str, ...]]:
        done = [name for name in names if name in runs]
        if len(done) == len(names):
            yield runs
        left = [name for name in names if name not in runs]
        for name in left if free else left[:1]:
            yield from longer((*runs, name), again)
        for name in done if again else ():
            yield from longer((*runs, name), again - 1)

    yield from longer((), more)


def lies(request: Asked, said: Front, result: Iterable[Schedule]) -> Iterator[str]:
    """What is said of the front that one of these schedules refutes."""
    judged, points = Judged(request), said.points
    first = said.terms[0]
    costs = [point.values["cost"] for point in points]
    most = max(costs, default=0)
    for schedule in result:
        cost = judged.cost(schedule)
        if cost > most and not _may_be_missing(request, said, cost):
            continue
        ran = judged.ran(schedule)
        if ran is None:
            continue
        assert ran.cost == cost or schedule.alternatives, schedule
        live = judged.live(ran)
        refuted = [
            *(point for point in points if _refutes(point, first, live, ran.cost)),
            *(["complete"] if _is_missing(request, said, live, ran.cost) else []),
        ]
        if not refuted:
            continue
        peak = judged.least_peak(ran)
        if peak is None:
            continue
        for entry in points:
            if _refutes(entry, first, peak, ran.cost):
                yield f"{entry.values} {entry.bounds} proven={entry.proven}: {peak}, {ran.cost} by {schedule}"
        if _is_missing(request, said, peak, ran.cost):
            yield f"complete, and without {peak}, {ran.cost} by {schedule}"


def plans(request: Asked, result: Iterable[Schedule]) -> Iterator[Schedule]:
    """Those of which there is a plan that the judge accepts."""
    judged = Judged(request)
    for schedule in result:
        ran = judged.ran(schedule)
        if ran is not None and judged.has_room(ran) and judged.least_peak(ran) is not None:
            yield schedule


def _refutes(point: FrontPoint, first: str, peak: int, cost: int) -> bool:
    values, bounds = point.values, point.bounds
    if cost <= values["cost"] and peak < bounds.get(first, 0):
        return True
    return peak <= values[first] and cost < bounds.get("cost", 0)


def _may_be_missing(request: Asked, said: Front, cost: int) -> bool:
    if not said.complete:
        return False
    least = min((point.values["cost"] for point in said.points), default=cost)
    return request.options.within is None or cost <= request.options.within * least


def _is_missing(request: Asked, said: Front, peak: int, cost: int) -> bool:
    """Whether the front is called complete, and none of its points is as good as this in both."""
    first = said.terms[0]
    return _may_be_missing(request, said, cost) and not any(
        point.values[first] <= peak and point.values["cost"] <= cost for point in said.points
    )
