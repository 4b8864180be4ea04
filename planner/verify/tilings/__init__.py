"""The independent judge of tilings.

In: a graph and a tiling of one of its operators. Out: what is wrong with it. It reads the operator with code
of its own, checks that the pieces cover the output once and read all that is needed, and walks through every
step with the tiles that are in the buffers.
"""

from dataclasses import dataclass

from memstow.planner.model.graph import Graph
from memstow.planner.model.tiling import Chosen, FrontTile, Tiling
from memstow.planner.verify import judge
from memstow.planner.verify.tilings.buffers import check_buffers
from memstow.planner.verify.tilings.front import check_front
from memstow.planner.verify.tilings.pieces import check_pieces
from memstow.planner.verify.tilings.reading import Reading, read
from memstow.planner.verify.tilings.walk import check_walk


@dataclass(frozen=True, slots=True)
class TilingVerdict:
    """What the judge found."""

    wrong: tuple[str, ...]
    replayed: bool = False
    """Whether it walked through every step: it does up to a number of them."""
    front: tuple[FrontTile, ...] | None = None
    """The points of the front, and of each whether it was walked through."""


def verify_tiling(graph: "Graph", tiling: "Tiling") -> "TilingVerdict":
    """What is wrong with a tiling of an operator of the graph."""
    if tiling.chosen is None and tiling.front is None:
        return TilingVerdict(())
    found = read(graph, tiling)
    if isinstance(found, str):
        return TilingVerdict((found,))
    front, wrong = check_front(found, tiling)
    if tiling.chosen is None:
        return TilingVerdict(tuple(wrong), front=front)
    replayed, mistakes = _chosen(found, tiling, tiling.chosen)
    return TilingVerdict((*mistakes, *wrong), replayed, front)


def _chosen(found: Reading, tiling: Tiling, chosen: Chosen) -> tuple[bool, list[str]]:
    """Whether all steps of the best tile were walked through, and what is wrong with it."""
    wrong = [*check_pieces(found, chosen)]
    if wrong:
        return False, wrong
    wrong += check_buffers(found, tiling, chosen)
    replayed, mistakes = check_walk(found, tiling, chosen)
    wrong += mistakes
    wrong += _claims(found, tiling, chosen)
    wrong += (str(it) for it in judge(chosen.problem, chosen.plan).violations)
    return replayed, wrong


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
