"""The independent judge of tilings.

In: a graph and a tiling of one of its operators. Out: what is wrong with it. It reads the operator with code
of its own, checks that the pieces cover the output once and read all that is needed, and walks through every
step with the tiles that are in the buffers.
"""

from dataclasses import dataclass

from memstow.planner.model.graph import Graph
from memstow.planner.model.tiling import Chosen, Tiling
from memstow.planner.verify import judge
from memstow.planner.verify.tilings.buffers import check_buffers
from memstow.planner.verify.tilings.pieces import check_pieces
from memstow.planner.verify.tilings.reading import Reading, read
from memstow.planner.verify.tilings.walk import check_walk


@dataclass(frozen=True, slots=True)
class TilingVerdict:
    """What the judge found."""

    wrong: tuple[str, ...]
    replayed: bool
    """Whether it walked through every step: it does up to a number of them."""


def verify_tiling(graph: "Graph", tiling: "Tiling") -> "TilingVerdict":
    """What is wrong with a tiling of an operator of the graph."""
    chosen = tiling.chosen
    if chosen is None:
        return TilingVerdict((), False)
    found = read(graph, tiling)
    if isinstance(found, str):
        return TilingVerdict((found,), False)
    wrong = [*check_pieces(found, chosen)]
    if wrong:
        return TilingVerdict(tuple(wrong), False)
    wrong += check_buffers(found, tiling, chosen)
    replayed, mistakes = check_walk(found, tiling, chosen)
    wrong += mistakes
    wrong += _claims(found, tiling, chosen)
    wrong += (str(it) for it in judge(chosen.problem, chosen.plan).violations)
    return TilingVerdict(tuple(wrong), replayed)


def _claims(found: Reading, tiling: Tiling, chosen: Chosen) -> list[str]:
    """Contradictions between what is said of the bytes."""
    wrong = []
    least = found.least()
    if tiling.least != sum(least.values()) or any(it.least != least.get(it.tensor) for it in chosen.moved):
        wrong.append("the bytes that are needed are counted wrongly")
    if tiling.bound is not None and not sum(least.values()) <= tiling.bound <= chosen.bytes:
        wrong.append("the bound is not between the bytes that are needed and those that move")
    if chosen.bytes != sum(it.bytes for it in chosen.moved):
        wrong.append("the bytes that move are not those of the tensors together")
    if chosen.l1 > tiling.capacity:
        wrong.append("the buffers need more than the memory has")
    return wrong
