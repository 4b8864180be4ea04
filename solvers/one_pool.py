"""What the native solvers have in common that lower the height of one pool."""

from collections.abc import Callable
from typing import Final

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import UNBOUNDED, Instance
from memstow.solvers.solver import Listeners, Task, TermKind

_HEIGHTS: Final = {TermKind.PEAK, TermKind.POOL_PEAK, TermKind.MAX_PEAK}


def declined(task: Task) -> str | None:
    """What they cannot honour."""
    if task.instance.pool_count > 1:
        return "several pools"
    if len(task.terms) > 1 or any(term.kind not in _HEIGHTS for term in task.terms):
        return "an objective other than the peak"
    return too_high(task.instance)


def too_high(instance: Instance) -> str | None:
    """Why heights may come to be more than native code can add up; None: they cannot."""
    fixed = max((*instance.reserved_end, *instance.choice_low), default=0)
    stacked = fixed + sum(instance.part_delta) + sum(instance.part_size) + sum(instance.choice_modulus)
    if min(stacked, max(instance.capacity)) < UNBOUNDED:
        return None
    return f"heights of up to {stacked:,} units: it adds up to less than 2^62"


def telling_heights(task: Task, listeners: Listeners, name: str) -> Callable[[int, _native.Placed], None]:
    """What native code calls for each lower layout: those that fit are told, where the height counts."""
    capacity = task.instance.capacity[0]

    def on_height(height: int, placed: _native.Placed) -> None:
        if task.terms and height <= capacity:
            listeners.incumbent(name, height, layout_from(placed))

    return on_height
