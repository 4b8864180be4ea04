"""What a plan saves of the arena, and why it saves no more: which part of the arena decides."""

from collections.abc import Iterator
from typing import Final

from memstow.planner.model.graph import FREE
from memstow.planner.model.plan import Arena, Plan
from memstow.planner.model.problem import PEAK

_LIVE: Final = frozenset(("live_bytes", "cut", "refuted"))
"""Certificates of bounds by what lives at once."""
_UNKNOWN: Final = (
    "scratch memory of kernels and the tail are not counted: --scratch measure, or the log of a device, "
    "tells them"
)


def notes(before: Arena, after: Arena, plan: Plan, order: str, has_scratch: bool) -> tuple[str, ...]:
    """What the plan, for operators in this order, changes of the arena, in sentences."""
    return tuple(_notes(before, after, plan, order, has_scratch))


def _notes(before: Arena, after: Arena, plan: Plan, order: str, has_scratch: bool) -> Iterator[str]:
    if before.head is None or after.head is None:
        return
    saved = _room(before) - _room(after)
    less = before.head - after.head
    if saved == less > 0:
        share = "" if before.least is None else f", {100 * saved / before.least:.3g} %"
        yield f"the arena shrinks by {saved:,} bytes{share}"
    elif saved > 0:
        yield (f"the head shrinks by {less:,} bytes and the arena by {saved:,}: {_tables(after)}")
    elif less > 0:
        yield (f"the head shrinks by {less:,} bytes, and the arena does not: {_tables(after)}")
    else:
        yield f"the arena does not shrink: {_why_not(before.head, plan, order)}"
    if before.tail is None:
        yield _UNKNOWN if not has_scratch else "the tail is not known: the log does not tell it"
    elif before.tail > _room(after):
        yield f"the tail, {before.tail:,} bytes, is what interpreter and kernels keep; no plan changes it"


def _room(arena: Arena) -> int:
    return max(arena.head or 0, arena.planning or 0)


def _tables(arena: Arena) -> str:
    return (
        "while the model is loaded, the tables with which the runtime plans take "
        f"{_room(arena):,} bytes in the place of the head"
    )


def _why_not(head: int, plan: Plan, order: str) -> str:
    rule = f"for the head the runtime's own rule needs {head:,} bytes"
    peak = sum(use.peak for use in plan.pools)
    if peak > head:
        return f"{rule}, and the plan {peak:,}"
    found = plan.objective[0] if [it.term for it in plan.objective] == [str(PEAK)] else None
    # Bytes that live at once count scratch memory in whatever pieces the runtime places it.
    if (
        found is None
        or found.bound < head
        or found.certificate is None
        or found.certificate.kind not in _LIVE
    ):
        return f"{rule}, and so does the plan"
    of = "any order" if order == FREE else "its order"
    return f"{rule}, and no plan for {of} of the operators needs less, which is proven"
