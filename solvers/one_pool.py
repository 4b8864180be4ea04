"""Functions shared by the native solvers that lower the height of a single pool."""

from collections.abc import Callable
from typing import Final

from memstow.solvers import _native
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import UNBOUNDED, Instance
from memstow.solvers.solver import Listeners, Task, TermKind

_HEIGHTS: Final = {TermKind.PEAK, TermKind.POOL_PEAK, TermKind.MAX_PEAK}


def reason_to_decline(task: Task) -> str | None:
    """The reason why these solvers decline a task; None if they can solve it."""
    if task.instance.pool_count > 1:
        return "several pools"
    if len(task.terms) > 1 or any(term.kind not in _HEIGHTS for term in task.terms):
        return "an objective other than the peak"
    return too_high(task.instance)


def too_high(instance: Instance) -> str | None:
    """The message that heights may exceed what native code can add up; None if they cannot."""
    fixed = max((*instance.reserved_end, *instance.choice_low), default=0)
    stacked = fixed + sum(instance.part_delta) + sum(instance.part_size) + sum(instance.choice_modulus)
    if min(stacked, max(instance.capacity)) < UNBOUNDED:
        return None
    return f"heights of up to {stacked:,} units: it adds up to less than 2^62"


def height_reporter(task: Task, listeners: Listeners, name: str) -> Callable[[int, _native.Placed], None]:
    """The callback of native code for lower layouts: reports those that fit, if the height counts."""
    capacity = task.instance.capacity[0]

    def on_height(height: int, placed: _native.Placed) -> None:
        if task.terms and height <= capacity:
            listeners.incumbent(name, height, layout_from(placed))

    return on_height
