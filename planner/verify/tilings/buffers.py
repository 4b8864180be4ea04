"""Whether the buffers of the tiles are as many and as large as they must be, and where the plan says."""

from collections import Counter
from collections.abc import Iterator, Sequence

from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.model.tiling import Chosen, TilingOptions
from memstow.planner.verify.tilings.counts import Need, whole_units
from memstow.planner.verify.tilings.memory import Memory


def check_buffers(
    needs: Sequence[Need], memory: Memory, options: TilingOptions, chosen: Chosen
) -> Iterator[str]:
    """What is wrong with the buffers, but for their places."""
    there = Counter((it.role, it.tensor, it.size) for it in chosen.buffers)
    for need in needs:
        size = whole_units(need.size, memory.unit)
        wanted = need.copies(options) if size else 0
        has = there.pop((need.role, need.tensor, size), 0)
        if has != wanted:
            what = need.role if need.tensor is None else f"{need.tensor!r} ({need.role})"
            yield f"{what} needs {wanted} of {size:,} bytes among the buffers, where {has} are"
    for role, tensor, size in there:
        yield f"nothing needs a buffer of {size:,} bytes for {tensor or role!r} ({role})"
    placed = {it.buffer: (it.pool, it.offset) for it in chosen.plan.placements}
    if len({it.id for it in chosen.buffers}) < len(chosen.buffers):
        yield "two buffers have one name"
    if placed != {it.id: (memory.pool.id, it.offset) for it in chosen.buffers}:
        yield "the buffers are not where the plan has them"


def problem_of(memory: Memory, chosen: Chosen) -> Problem:
    """The buffers as a problem: all of them live at once, in the memory of the tiles."""
    return Problem(
        buffers=[
            Buffer(id=it.id, size=it.size, lifetime=(0, 1), alignment=memory.unit) for it in chosen.buffers
        ],
        pools=(memory.pool,),
    )
