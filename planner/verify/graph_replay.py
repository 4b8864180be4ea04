"""Replays the schedule of a plan: which operators run when, on which tensors, and which problem that makes.

`structure_errors` says what keeps any plan from being judged. `replay` runs an order of operators and says
since and until when each tensor is needed, `problem_in_order` makes the problem of it. `with_chosen` puts
alternatives in, `run_of` turns operators that run again and tensors that wait elsewhere into a graph whose
operators run as listed. Raises `Refused` where the graph does not allow the schedule.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from memstow.planner.judge._judge import Program
from memstow.planner.model.graph import (
    Alternative,
    Graph,
    Operator,
    Temporary,
    Tensor,
    columns_of,
    index_of,
    names_in_views,
    size_of,
)
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.plan import Schedule, Spill
from memstow.planner.model.problem import ALWAYS, COST, DEFAULT_POOL, Buffer, InPlace, Pool, Problem, Relative
from memstow.planner.verify.row_operators import cost_once
from memstow.planner.verify.verdict import Code, Effort, Findings, Refused
from memstow.records import record, replace


def structure_errors(graph: Graph) -> Iterator[str]:
    """Why no plan can be judged against the graph; nothing where one can."""
    columns = columns_of(graph)
    tensors, operators = columns.tensor_number, columns.operator_number
    temporaries = [
        temporary.id
        for operator in (graph.operators if columns.has_temporaries else ())
        for temporary in operator.temporaries
    ]
    unique = len(tensors) == len(graph.tensors) and len(set(temporaries)) == len(temporaries)
    if not unique or not tensors.keys().isdisjoint(temporaries):
        yield "two tensors or temporaries have one id"
    if len(operators) != len(graph.operators):
        yield "two operators have one id"
    viewed = names_in_views(graph)
    if columns.has_unknown or _UNKNOWN in columns.pairs[1] or not viewed <= tensors.keys():
        yield "it names a tensor that it does not have"
        return
    if any(name not in operators for pair in graph.before for name in pair):
        yield "it names an operator that it does not have"
    program = _program_of(graph)
    if program.has_two_producers:
        yield "a tensor has two producers"
    if viewed or program.has_wrong_pair:
        yield from _wrong_pairs(graph, viewed)


_UNKNOWN: Final = -1


def _program_of(graph: Graph) -> Program:
    """The same graph as native code runs it; all tensors that it names are there."""
    of = columns_of(graph)
    return Program(of.kinds, of.inputs, of.outputs, of.pairs, of.inputs_of_graph, of.kept)


def _wrong_pairs(graph: Graph, viewed: frozenset[str]) -> Iterator[str]:
    for operator in graph.operators:
        for source, target in operator.in_place:
            if source not in operator.inputs or target not in operator.outputs:
                yield f"a pair in place is not of its operator {operator.id!r}"
            if source in viewed or target in viewed:
                yield f"a pair in place of {operator.id!r} has a view"


@record
class Replay:
    """One run of the program: time 0 is before its first operator, each of which takes its phases.

    Places: 0 is before the first operator, k is the k-th that runs, and one more than all is the end.
    """

    place: Sequence[int]
    """By operator of the document, where it runs."""
    begins: Sequence[int]
    """By place, when it begins."""
    ends: Sequence[int]
    """By place, when it ends."""
    born: Sequence[int]
    """By tensor, the place where it is made."""
    needed: Sequence[int]
    """By tensor, the last place where it is needed."""
    shared: Sequence[tuple[int, int]]
    """The tensors of pairs in place of which the first is needed by nobody later."""
    as_listed: bool
    """Whether operators run as they are listed."""


def replay(graph: Graph, names: Sequence[str], findings: Findings) -> Replay | None:
    """The run of these operators in this order; None, and findings, where the graph does not allow it."""
    number = columns_of(graph).operator_number
    order = array("q", [number.get(name, _UNKNOWN) for name in names])
    place = [0] * len(graph.operators)
    for at, operator in enumerate(order, start=1):
        if operator != _UNKNOWN:
            place[operator] = at
    if len(order) != len(place) or 0 in place:
        findings.add(Code.ORDER, "the schedule does not have each operator of the graph once")
        return None
    before = findings.total
    run = _program_of(graph).run(order)
    states = {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
    if run is None or graph.before or states:
        operators = [graph.operators[operator] for operator in order]
        where = {name: at for at, name in enumerate(names)}
        for message in _out_of_order(graph, operators, where, states):
            findings.add(Code.ORDER, "{}", message)
    if run is None or findings.total > before:
        return None
    begins, ends = _times(graph, order)
    return Replay(place, begins, ends, *run, as_listed=place == list(range(1, len(place) + 1)))


def _times(graph: Graph, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """By place, when what runs there begins and ends."""
    takes = [1] * len(order)
    if columns_of(graph).has_temporaries:
        for at, number in enumerate(order):
            inside = graph.operators[number].temporaries
            takes[at] = max([1, *(entry.phases[1] for entry in inside if entry.phases is not None)])
    ends = list(accumulate(takes, initial=1))
    return [0, *ends], [*ends, ends[-1]]


def _out_of_order(
    graph: Graph, order: Sequence[Operator], place: dict[str, int], states: set[str]
) -> Iterator[str]:
    """What runs before what it needs."""
    made_at = {
        name: at for at, operator in enumerate(order) for name in operator.outputs if name not in states
    }
    for at, operator in enumerate(order):
        for name in operator.inputs:
            maker = made_at.get(name)
            if maker is not None and maker >= at:
                yield f"{operator.id!r} reads {name!r} before {order[maker].id!r} makes it"
    for first, second in graph.before:
        if place[first] >= place[second]:
            yield f"{second!r} runs before {first!r}, and must run after it"
    if states:
        yield from out_of_turn(graph, states, place)


def out_of_turn(graph: Graph, states: set[str], place: dict[str, int]) -> Iterator[str]:
    """Operators that use one state keep their order in the document, unless both only read it."""
    latest: dict[str, int] = {}
    latest_writer: dict[str, int] = {}
    for operator in graph.operators:
        at = place[operator.id]
        written = states.intersection(operator.outputs)
        for state in sorted(written.union(states.intersection(operator.inputs))):
            writes = state in written
            if at < (latest if writes else latest_writer).get(state, -1):
                yield f"{operator.id!r} uses the state {state!r} before one that is listed earlier"
            latest[state] = max(latest.get(state, -1), at)
            if writes:
                latest_writer[state] = max(latest_writer.get(state, -1), at)


def problem_in_order(graph: Graph, replay: Replay) -> Problem:
    """What must be placed where, when operators run in this order."""
    tensors, number = graph.tensors, columns_of(graph).tensor_number
    shared = [pair for pair in dict.fromkeys(replay.shared) if _is_placed(tensors[pair[1]])]
    return Problem(
        version=1,
        name=graph.name,
        pools=graph.pools or (Pool(id=DEFAULT_POOL),),
        buffers=_buffers(graph, replay),
        relative=tuple(
            Relative(buffer=view.tensor, base=view.of, offset=view.offset)
            for view in graph.views
            if _is_placed(tensors[number[view.tensor]]) and _is_placed(tensors[number[view.of]])
        ),
        in_place=instances_of(
            InPlace,
            len(shared),
            input=[tensors[one].id for one, _ in shared],
            output=[tensors[other].id for _, other in shared],
        ),
        objective=_terms_of_places(graph),
    )


def _terms_of_places(graph: Graph) -> tuple[str, ...] | None:
    """The objective without the cost of the schedule, which no place changes."""
    if graph.objective is None:
        return None
    return tuple(term for term in graph.objective if term != COST)


def _is_placed(tensor: Tensor) -> bool:
    if tensor.kind == "constant":
        return tensor.pools is not None
    return tensor.kind != "external"


def _buffers(graph: Graph, replay: Replay) -> tuple[Buffer, ...]:
    """The fields are those of the graph, which hold what those of a buffer may hold."""
    begins, ends = replay.begins, replay.ends
    placed: Sequence[Tensor] = graph.tensors
    lives = zip(map(begins.__getitem__, replay.born), map(ends.__getitem__, replay.needed), strict=True)
    times: list[object] = [*lives]
    if any(tensor.kind != "data" for tensor in placed):
        times = [
            life if tensor.kind == "data" else ALWAYS
            for tensor, life in zip(placed, times, strict=True)
            if tensor.kind == "data" or _is_placed(tensor)
        ]
        placed = [tensor for tensor in placed if tensor.kind == "data" or _is_placed(tensor)]
    inside = [
        ((begins[place], ends[place]), inner)
        for operator, place in (
            zip(graph.operators, replay.place, strict=True) if columns_of(graph).has_temporaries else ()
        )
        for inner in operator.temporaries
    ]
    elements: Sequence[Tensor | Temporary] = [*placed, *(inner for _, inner in inside)]
    times += [
        run if entry.phases is None else (run[0] + entry.phases[0], run[0] + entry.phases[1])
        for run, entry in inside
    ]
    return instances_of(
        Buffer,
        len(elements),
        id=[element.id for element in elements],
        size=[*map(size_of, placed), *(inner.size for _, inner in inside)],
        lifetime=times,
        alignment=[element.alignment for element in elements],
        pools=[element.pools for element in elements],
    )


def with_chosen(graph: Graph, names: Sequence[str]) -> Graph:
    """The graph in which each chosen alternative stands where the first operator stood that it replaces.

    Raises Refused where one is unknown, or two replace one operator, or the result is no graph.
    """
    if not names:
        return graph
    known = {alternative.id: alternative for alternative in graph.alternatives}
    for name, count in Counter(names).items():
        if name not in known:
            raise Refused(f"the schedule chooses the alternative {name!r}, which the graph does not have")
        if count > 1:
            raise Refused(f"the schedule chooses the alternative {name!r} twice")
    chosen = [known[name] for name in names]
    by_replaced = _by_replaced(graph, chosen)
    changed = _replaced(graph, chosen, by_replaced)
    for message in structure_errors(changed):
        raise Refused(f"with the alternatives that are chosen, {message}")
    _require_within_limits(graph, changed)
    return changed


def _require_within_limits(graph: Graph, changed: Graph) -> None:
    if graph.limits is None or graph.limits.cost is None:
        return
    from fractions import Fraction  # Few graphs have limits, and it takes a while to load.

    cost, most = cost_once(changed), Fraction(str(graph.limits.cost)) * cost_once(graph)
    if cost > most:
        raise Refused(
            f"with the alternatives that are chosen the operators cost {cost:,}, and `limits` allows "
            f"{int(most):,}"
        )


def _by_replaced(graph: Graph, chosen: Sequence[Alternative]) -> dict[str, Alternative]:
    there = {operator.id for operator in graph.operators}
    by_name: dict[str, Alternative] = {}
    for alternative in chosen:
        for name in alternative.replaces:
            if name not in there:
                message = f"the alternative {alternative.id!r} replaces {name!r}, which is no operator"
                raise Refused(message)
            other = by_name.setdefault(name, alternative)
            if other is not alternative:
                raise Refused(f"the alternatives {other.id!r} and {alternative.id!r} both replace {name!r}")
    return by_name


def _replaced(graph: Graph, chosen: Sequence[Alternative], by_replaced: dict[str, Alternative]) -> Graph:
    operators = []
    standing: set[str] = set()
    for operator in graph.operators:
        alternative = by_replaced.get(operator.id)
        if alternative is None:
            operators.append(operator)
        elif alternative.id not in standing:
            standing.add(alternative.id)
            operators += _with_cost(alternative)
    used = {name for operator in operators for name in (*operator.inputs, *operator.outputs)}
    used.update(graph.inputs, graph.outputs)
    gone = {
        name
        for operator in graph.operators
        if operator.id in by_replaced
        for name in (*operator.inputs, *operator.outputs)
        if name not in used
    }
    ids = {operator.id for operator in operators}
    return Graph(
        version=1,
        name=graph.name,
        pools=graph.pools,
        tensors=(
            *(tensor for tensor in graph.tensors if tensor.id not in gone),
            *(tensor for alternative in chosen for tensor in alternative.tensors),
        ),
        operators=operators,
        inputs=graph.inputs,
        outputs=graph.outputs,
        before=tuple(pair for pair in graph.before if ids.issuperset(pair)),
        views=tuple(view for view in graph.views if not gone.intersection((view.tensor, view.of))),
        objective=graph.objective,
    )


def _with_cost(alternative: Alternative) -> Sequence[Operator]:
    """Its operators; the first of them has the cost of all, where the alternative tells it."""
    if alternative.cost is None:
        return alternative.operators
    costs = (alternative.cost, *(0 for _ in alternative.operators[1:]))
    return [
        replace(operator, cost=cost) for operator, cost in zip(alternative.operators, costs, strict=False)
    ]


_LONGEST: Final = 1024


class FreeNames:
    """The names that are taken."""

    def __init__(self, taken: Iterable[str], effort: Effort) -> None:
        self._taken = set(taken)
        self._effort = effort

    def take(self, name: str) -> str:
        """The name, with as many `#` behind it as are needed to be free, which is then taken."""
        while name in self._taken:
            self._effort.spend(1)
            name += "#"
        if len(name) > _LONGEST:
            raise Refused(f"the name {name[:60]!r}... has more than {_LONGEST:,} characters; use shorter ids")
        self._effort.spend(1)
        self._taken.add(name)
        return name


@record
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
    viewed = names_in_views(graph)
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
        self.tensors = index_of(graph).tensors
        self.added: list[Tensor] = []
        self.runs: Counter[str] = Counter()
        self.copies: set[int] = set()
        temporaries = (temporary.id for operator in graph.operators for temporary in operator.temporaries)
        self.names = FreeNames((*self.tensors, *temporaries), effort)
        self.operator_names = FreeNames((operator.id for operator in graph.operators), effort)
        # Data, and what else an operator makes, is there from then on; all else from the start.
        outputs = {name for operator in graph.operators for name in operator.outputs}
        late = {
            tensor.id
            for tensor in graph.tensors
            if tensor.kind == "data" or (tensor.kind == "external" and tensor.id in outputs)
        }
        there = set(graph.inputs)
        self.version = {name: name for name in self.tensors if name in there or name not in late}
        self.away: dict[int, str] = {}

    def result(self) -> Run:
        by_name = index_of(self.graph).operators
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
        version = self.version.get(name)
        if version is None:
            raise Refused(otherwise.format(name))
        return version

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
            replace(temporary, id=self.names.take(f"{temporary.id}#{count}"))
            for temporary in operator.temporaries
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
        viewed = names_in_views(self.graph)
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
        by_name = index_of(self.graph).operators
        for at, name in enumerate(self.schedule.order):
            operator = by_name[name]
            self.effort.spend(1 + len(operator.inputs) + len(operator.outputs))
            for tensor in dict.fromkeys((*operator.inputs, *operator.outputs)):
                if tensor in uses:
                    uses[tensor].append(at)
        until: dict[str, int] = {}
        for spill in sorted(self.schedule.spills, key=lambda spill: spill.out):
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
        operator = Operator(
            id=self.operator_names.take(name), inputs=(source,), outputs=(target.id,), cost=size_of(target)
        )
        self.operators.append(operator)
        return target.id


def _check_spill(
    spill: Spill, tensors: Mapping[str, Tensor], viewed: frozenset[str], pools: set[str], count: int
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
