"""Whether the buffers of the tiles are as many and as large as they must be, and where the plan says."""

from collections.abc import Iterator

from memstow.planner.model.tiling import Chosen, Role, Tiling
from memstow.planner.verify.tilings.reading import Reading


def check_buffers(found: Reading, tiling: Tiling, chosen: Chosen) -> Iterator[str]:
    """What is wrong with the buffers."""
    placed = {it.buffer: (it.pool, it.offset) for it in chosen.plan.placements}
    sizes = {it.id: it.size for it in chosen.problem.buffers}
    if len({it.id for it in chosen.buffers}) < len(chosen.buffers):
        yield "two buffers have one name"
    if sizes != {it.id: it.size for it in chosen.buffers}:
        yield "the buffers are not those of the problem that was placed"
    if placed != {it.id: (tiling.pool, it.offset) for it in chosen.buffers}:
        yield "the buffers are not where the plan has them"
    if len({it.lifetime for it in chosen.problem.buffers}) > 1:
        yield "the buffers do not all live at once"
    if any(it.size % tiling.unit or it.alignment % tiling.unit for it in chosen.problem.buffers):
        yield f"a buffer does not take whole units of {tiling.unit:,} bytes"
    if sum(it.size for it in chosen.buffers) != chosen.l1:
        yield "the bytes of the buffers are counted wrongly"
    for it in chosen.moved:
        wanted = 2 if tiling.options.double_buffer and it.times > 1 else 1
        there = [buffer for buffer in chosen.buffers if buffer.tensor == it.tensor]
        if (there or it.bytes) and len(there) != wanted:
            yield f"{it.tensor!r} has {len(there)} buffers, and needs {wanted}"
        if any(buffer.role != it.role for buffer in there) or len({buffer.size for buffer in there}) > 1:
            yield f"the buffers of {it.tensor!r} are not alike"
    tile, pieces = chosen.tile, chosen.pieces
    yield from _needs(chosen, "sums", found.sums_bytes(tile, pieces))
    yield from _needs(chosen, "im2col", found.laid_out_bytes(tile, pieces, tiling.options.im2col))


def _needs(chosen: Chosen, role: Role, size: int) -> Iterator[str]:
    there = sum(it.size for it in chosen.buffers if it.role == role)
    if there < size:
        yield f"the buffer of {role} has {there:,} bytes, and needs {size:,}"
