"""A turn ends where the plan is within the gap that the caller asked for: native code does not look at it."""

from collections.abc import Callable

from memstow.planner.model.plan import gap_of


class NearEnough:
    """Hears the values and bounds of the first term, of which the caller has no other, and ends the turn."""

    def __init__(self, gap: float, end: Callable[[], None], value: int | None, bound: int) -> None:
        self._gap = gap
        self._end = end
        self._value = value
        self._bound = bound

    def hear_value(self, value: int) -> None:
        """A better plan is known."""
        self._value = value
        self._look()

    def hear_bound(self, bound: int) -> None:
        """A better bound is known."""
        self._bound = bound
        self._look()

    def _look(self) -> None:
        if self._value is not None and gap_of(self._value, self._bound) <= self._gap:
            self._end()
