"""A graph as the program that the search for recomputing reads, for one order of first runs."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, Literal

from memstow.planner.graph.arrays import in_place_triples, phase_bytes
from memstow.planner.graph.links import links_of
from memstow.planner.graph.run_checks import at_states, runs_once
from memstow.planner.graph.storages import Storage, storages
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, is_planned, size_of
from memstow.planner.model.problem import measure
from memstow.solvers.recompute import RecomputeArrays

Kind = Literal["recompute", "spill"]
KINDS: Final[tuple[Kind, ...]] = ("recompute", "spill")
Again = Literal["allowed", "same", "any time"]
"""Who runs again: whoever a schedule allows to; of these, who is known to make the same; of these, who is
never too late, since what it makes is needed only before a state that it reads is written."""
# Words in the type of an operator that may make something else when it runs again.
_RANDOM: Final = ("random", "dropout", "bernoulli", "multinomial", "uniform", "normal_", "rand")


@dataclass(frozen=True)
class Program:
    """The arrays of a graph, and the way back."""

    graph: Graph
    order: Sequence[int]
    arrays: RecomputeArrays
    tensors: Sequence[int]
    """By item, the tensor."""


@dataclass(frozen=True)
class Counting:
    """What counts: the bytes of one pool, or of all."""

    graph: Graph
    pool: str | None
    certain: bool
    """Only what can be nowhere else; else also what would rather be there."""

    def counts(self, element: Tensor | Temporary) -> bool:
        """Whether the bytes of this are in the pool."""
        if self.pool is None:
            return True
        allowed = element.pools if element.pools is not None else tuple(it.id for it in self.graph.pools)
        return set(allowed) == {self.pool} if self.certain else allowed[:1] == (self.pool,)


def program_of(
    graph: Graph,
    order: Sequence[int],
    costs: Sequence[int],
    kinds: frozenset[Kind],
    counting: Counting,
    again: Again = "same",
) -> Program:
    """The program of a valid graph; `costs` by operator of the graph."""
    at = {operator: place for place, operator in enumerate(order)}
    stored = [it for it in storages(graph) if it.size and counting.counts(graph.tensors[it.tensor])]
    items = [it for it in stored if it.begin is None]
    pieces = [it for it in stored if it.begin is not None]
    index = {it.tensor: i for i, it in enumerate(items)}
    once = runs_once(graph) if "recompute" in kinds else [True] * len(order)
    if again != "allowed":
        once = [a or b for a, b in zip(once, _avoided(graph), strict=True)]
    if again == "any time":
        once = [a or b for a, b in zip(once, _late(graph, at), strict=True)]
    base = sum(
        size_of(tensor)
        for tensor in graph.tensors
        if is_planned(tensor) and tensor.kind in ("state", "constant") and counting.counts(tensor)
    )
    fixed, gap, end = _fixed(base, pieces, at)
    input_start, inputs = array("q", [0]), array("q")
    output_start, outputs = array("q", [0]), array("q")
    links = links_of(graph)
    for operator in order:
        it = graph.operators[operator]
        for names, start, values in ((it.inputs, input_start, inputs), (it.outputs, output_start, outputs)):
            tensors = (links.tensor_index[name] for name in dict.fromkeys(names))
            values.extend(index[tensor] for tensor in tensors if tensor in index)
            start.append(len(values))
    in_place = array("q")
    everything = storages(graph)
    for operator, source, target in in_place_triples(graph, everything):
        ends = everything[source].tensor, everything[target].tensor
        if all(tensor in index for tensor in ends):
            in_place.extend((at[operator], *(index[tensor] for tensor in ends)))
    room = _room_to_wait(graph, counting.pool)
    fits = {it.tensor: room is None or size_of(graph.tensors[it.tensor]) <= room for it in items}
    arrays = RecomputeArrays(
        extra=array("q", (_phase_bytes(counting, graph.operators[it]) for it in order)),
        fixed=fixed,
        gap=gap,
        cost=array("q", (costs[it] for it in order)),
        once=array("q", (once[it] for it in order)),
        input_start=input_start,
        inputs=inputs,
        output_start=output_start,
        outputs=outputs,
        in_place=in_place,
        size=array("q", (it.size for it in items)),
        producer=array("q", (at[it.writers[0]] if it.writers else -1 for it in items)),
        kept=array("q", (it.to_end for it in items)),
        spillable=array("q", ("spill" in kinds and fits[it.tensor] for it in items)),
        start=base + sum(it.size for it in stored if it.from_start),
        end=end,
        base=base,
    )
    return Program(graph, order, arrays, [it.tensor for it in items])


def _room_to_wait(graph: Graph, pool: str | None) -> int | None:
    """The most bytes that any other pool has for one copy; None: no limit."""
    room = 0
    for it in graph.pools:
        if it.id == pool:
            continue
        if it.capacity is None:
            return None
        room = max(room, it.capacity - measure((one.offset, one.offset + one.size) for one in it.reserved))
    return room


def _phase_bytes(counting: Counting, operator: Operator) -> int:
    if counting.pool is None:
        return phase_bytes(operator)
    temporaries = tuple(it for it in operator.temporaries if counting.counts(it))
    return phase_bytes(replace(operator, temporaries=temporaries)) if temporaries else 0


def last_turns(graph: Graph, order: Sequence[int]) -> list[int]:
    """By place in the order, the places of those, in bits, of which none has run when the operator runs last.

    They must come after all of its runs, or write a state that it uses.
    """
    at = {operator: place for place, operator in enumerate(order)}
    found = [0] * len(order)
    for first, then in (*links_of(graph).before, *at_states(graph)):
        found[at[first]] |= 1 << at[then]
    return found


def _avoided(graph: Graph) -> list[bool]:
    """Operators that are not made to run again: their effect may be another the second time."""
    ordered = {name for pair in graph.before for name in pair}
    return [
        it.id in ordered or any(word in (it.type or "").lower() for word in _RANDOM) for it in graph.operators
    ]


def _late(graph: Graph, at: dict[int, int]) -> list[bool]:
    """Operators that read a state and make what is needed after it is written: then they run no more."""
    until: dict[int, int] = {}
    for reader, writer in at_states(graph):
        until[reader] = min(until.get(reader, at[writer]), at[writer])
    links = links_of(graph)
    late = [False] * len(graph.operators)
    for operator, place in until.items():
        for name in graph.operators[operator].outputs:
            readers = links.readers[links.tensor_index[name]]
            needed = name in graph.outputs or any(at[reader] > place for reader in readers)
            late[operator] = late[operator] or needed
    return late


def _fixed(base: int, pieces: Sequence[Storage], at: dict[int, int]) -> "tuple[array[int], array[int], int]":
    """The bytes that cannot be dropped: during each first run, just before it, and in the end."""
    count = len(at)
    # By how much each step is above the one before it.
    during, before = [base] + [0] * (count + 1), [base] + [0] * (count + 1)
    for piece in pieces:
        used = [at[it] for it in (*piece.writers, *piece.readers)]
        begin = 0 if piece.from_start else min(at[it] for it in piece.writers)
        end = count if piece.to_end else max(used, default=-1) + 1
        _add(during, begin, end, piece.size)
        _add(before, 0 if piece.from_start else begin + 1, end + piece.to_end, piece.size)
    levels = list(accumulate(before))
    return array("q", accumulate(during[:count])), array("q", levels[:count]), levels[count]


def _add(changes: list[int], begin: int, end: int, size: int) -> None:
    if begin < end:
        changes[begin] += size
        changes[end] -= size
