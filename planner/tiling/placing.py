"""The buffers of the chosen tile, and their places in the memory of the tiles, found by the engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.model.tiling import TileBuffer, TilingOptions
from memstow.planner.solve.engine import plan
from memstow.planner.tiling.measures import Need, copies


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the buffers lie."""

    buffers: tuple[TileBuffer, ...]
    problem: Problem
    plan: Plan


def place_buffers(found: Sequence[Need], options: TilingOptions, pool: Pool, unit: int, begin: int) -> Placed:
    """The buffers with their places: all of them live at once."""
    named = list(_named(found, options))
    problem = Problem(
        buffers=[
            Buffer(id=name, size=-(-need.size // unit) * unit, lifetime=(0, 1), alignment=unit)
            for name, need in named
        ],
        pools=(pool,),
    )
    made = plan(problem, Options(deterministic=True, hint=_in_a_row(problem, begin)))
    offsets = {it.buffer: it.offset for it in made.placements}
    buffers = tuple(
        TileBuffer(name, need.role, need.tensor, -(-need.size // unit) * unit, offsets[name])
        for name, need in named
    )
    return Placed(buffers, problem, made)


def _in_a_row(problem: Problem, begin: int) -> Plan:
    """One after the other in the largest free stretch, which the search has measured."""
    places = []
    for buffer in problem.buffers:
        places.append(Placement(buffer=buffer.id, pool=problem.pools[0].id, offset=begin))
        begin += buffer.size
    return Plan(status=Status.FEASIBLE, placements=places)


def _named(found: Sequence[Need], options: TilingOptions) -> Iterator[tuple[str, Need]]:
    """Buffers by name: that of the tensor, with .a and .b for two; of what no tensor has, its role."""
    taken: set[str] = set()
    for need in found:
        if not need.size:
            continue
        base = need.tensor if need.tensor is not None else need.role
        for ending in (".a", ".b") if copies(need, options) == 2 else ("",):
            name = base + ending
            while name in taken:
                name += "#"
            taken.add(name)
            yield name, need
