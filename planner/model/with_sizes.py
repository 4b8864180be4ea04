"""A symbolic problem as an ordinary one, given the sizes."""

from collections.abc import Sequence

from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.model.symbolic import SymbolicProblem


def with_sizes(problem: SymbolicProblem, sizes: Sequence[int]) -> Problem:
    """The ordinary problem whose buffers have these sizes."""
    return Problem(
        version=1,
        name=problem.name,
        pools=problem.pools,
        buffers=tuple(
            Buffer(
                id=buffer.id,
                size=size,
                lifetime=buffer.lifetime,
                lifetimes=buffer.lifetimes,
                alignment=buffer.alignment,
                pools=buffer.pools,
                pool=buffer.pool,
                offset=buffer.offset,
                group=buffer.group,
            )
            for buffer, size in zip(problem.buffers, sizes, strict=True)
        ),
        conflicts=problem.conflicts,
        exclusive=problem.exclusive,
        relative=problem.relative,
        in_place=problem.in_place,
        objective=problem.objective,
    )
