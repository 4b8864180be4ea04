"""Replays an order of operators: who runs when, and since when and until when each tensor is needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.model.graph import Graph, Operator
from memstow.planner.verify.findings import Code, Findings


@dataclass(frozen=True, slots=True)
class Replay:
    """One run of the program: time 0 is before its first operator, each of which takes its phases."""

    order: Sequence[Operator]
    runs: dict[str, tuple[int, int]]
    """By operator, when it runs."""
    lives: dict[str, tuple[int, int]]
    """By tensor that is neither state nor constant, its lifetime."""
    last_reader: dict[str, str]
    """By tensor, the operator that reads it last."""
    as_listed: bool
    """Whether operators run as they are listed."""


def replay(graph: Graph, names: Sequence[str], findings: Findings) -> Replay | None:
    """The run of these operators in this order; None, and findings, where the graph does not allow it."""
    by_name = {operator.id: operator for operator in graph.operators}
    if len(names) != len(by_name) or set(names) != by_name.keys():
        findings.add(Code.ORDER, "the schedule does not have each operator of the graph once")
        return None
    order = [by_name[name] for name in names]
    place = {name: at for at, name in enumerate(names)}
    before = findings.total
    for message in _out_of_order(graph, order, place):
        findings.add(Code.ORDER, "{}", message)
    return _run(graph, order) if findings.total == before else None


def _out_of_order(graph: Graph, order: Sequence[Operator], place: dict[str, int]) -> Iterator[str]:
    """What runs before what it needs."""
    states = {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
    made_at = {
        name: at for at, operator in enumerate(order) for name in operator.outputs if name not in states
    }
    for at, operator in enumerate(order):
        for name in operator.inputs:
            made = made_at.get(name)
            if made is not None and made >= at:
                yield f"{operator.id!r} reads {name!r} before {order[made].id!r} makes it"
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


def _run(graph: Graph, order: Sequence[Operator]) -> Replay:
    runs: dict[str, tuple[int, int]] = {}
    born = dict.fromkeys(graph.inputs, 0)
    needed = dict.fromkeys(graph.inputs, 1)
    last_reader: dict[str, str] = {}
    now = 1
    for operator in order:
        until = now + 1
        if operator.temporaries:
            ends = [it.phases[1] for it in operator.temporaries if it.phases is not None]
            until = now + max([1, *ends])
        runs[operator.id] = now, until
        for name in operator.outputs:
            born.setdefault(name, now)
            needed[name] = until
        for name in operator.inputs:
            needed[name] = until
            last_reader[name] = operator.id
        now = until
    needed.update(dict.fromkeys(graph.outputs, now))
    resident = {tensor.id for tensor in graph.tensors if tensor.kind in ("state", "constant")}
    lives = {name: (born.get(name, 0), until) for name, until in needed.items() if name not in resident}
    as_listed = [operator.id for operator in order] == [operator.id for operator in graph.operators]
    return Replay(order, runs, lives, last_reader, as_listed)
