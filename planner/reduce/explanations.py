"""The explanation that a buffer or a rigid group has no place, even alone."""

from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import Pool, Problem, allowed_pools, has_bank_rule, reserved_bytes


def size_of(pool: Pool) -> str:
    """The capacity of a pool, for messages."""
    return "unbounded, but no address is above 2^62" if pool.capacity is None else f"{pool.capacity:,}"


def no_place(problem: Problem, members: tuple[int, ...]) -> Explanation:
    """The explanation that these buffers have no place, even alone."""
    buffers = [problem.buffers[i] for i in members]
    ids = tuple(b.id for b in buffers)
    names = ", ".join(map(repr, ids[:8])) + (" ..." if len(ids) > 8 else "")
    pools = [p for p in problem.pools if p.id in allowed_pools(problem, buffers[0])]
    sizes = ", ".join(
        f"{p.id!r} ({size_of(p)}" + (f", {reserved_bytes(p):,} reserved" if p.reserved else "") + ")"
        for p in pools[:8]
    )
    largest = max(buffers, key=lambda b: b.size)
    banks = ", in the banks that they may be in" if any(map(has_bank_rule, buffers)) else ""
    one = pools[0] if len(pools) == 1 else None
    what = f"the {largest.size:,} bytes of {names}" if len(buffers) == 1 else f"the rigid group of {names}"
    return Explanation(
        code="no_place",
        message=f"{what} fit in no pool allowed, even alone, as aligned and pinned{banks}: {sizes}",
        pool=one.id if one else None,
        capacity=one.capacity if one else None,
        reserved=reserved_bytes(one) or None if one else None,
        buffers=ids,
    )
