"""Problems that are no more than buffers in one memory, as the plain formats know them."""

from memstow.planner.formats.format import Refusals
from memstow.planner.model.problem import ALWAYS, PEAK, Buffer, Interval, Pool, Problem, merged


def refuse_beyond_buffers(problem: Problem, refusals: Refusals) -> None:
    """Refuse all that is not a buffer in one unbounded memory. The name is a label and means nothing."""
    if len(problem.pools) > 1:
        refusals.add("$.pools", "there are several pools")
    else:
        _refuse_beyond_memory(problem.pools[0], refusals)
    for field in ("conflicts", "exclusive", "relative", "in_place", "reuse_costs"):
        if getattr(problem, field):
            refusals.add(f"$.{field}")
    if problem.objective is not None and problem.terms() != (str(PEAK),):
        refusals.add("$.objective", "the peak is all it asks for")
    for index, buffer in enumerate(problem.buffers):
        if buffer.accesses is not None:
            refusals.add(f"$.buffers[{index}].accesses")


def _refuse_beyond_memory(pool: Pool, refusals: Refusals) -> None:
    for field, default in (
        ("capacity", None),
        ("alignment", 1),
        ("reserved", ()),
        ("base", None),
        ("cost", 0),
    ):
        if getattr(pool, field) != default:
            refusals.add(f"$.pools[0].{field}")


def live_ranges(buffer: Buffer) -> list[Interval] | None:
    """When the buffer lives, in order and without overlaps; None where no times say so."""
    if buffer.lifetime == ALWAYS:
        return None
    one = buffer.lifetime
    return merged([one] if isinstance(one, tuple) else buffer.lifetimes or ()) or None


def against_moments(first: int, last: int) -> str | None:
    """Why a life given by its first and last moment is not valid; None if it is."""
    if first <= last:
        return None
    return (
        f"the first moment {first:,} is after the last, {last:,}; give the first and then the last, both live"
    )


def single_life(buffer: Buffer, path: str, refusals: Refusals) -> Interval:
    """The one range in which the buffer lives; anything else is refused."""
    if type(buffer.lifetime) is tuple:
        return buffer.lifetime
    ranges = live_ranges(buffer)
    if ranges is None:
        refusals.add(f"{path}.lifetime", "a buffer must have a begin and an end")
        return (0, 0)
    if len(ranges) > 1:
        refusals.add(f"{path}.lifetimes", "a buffer must have one begin and one end")
    return ranges[0]


def refuse_pins(problem: Problem, refusals: Refusals) -> None:
    """Refuse fixed places; being bound to the only pool is none."""
    for index, buffer in enumerate(problem.buffers):
        if buffer.offset is not None:
            refusals.add(f"$.buffers[{index}].offset")
        elif buffer.pool is not None and len(problem.pools) > 1:
            refusals.add(f"$.buffers[{index}].pool")
