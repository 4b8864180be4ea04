"""The events of a run: each goes to the caller's listener with the seconds since the run began."""

import time

from memstow.planner.model.events import (
    Bound,
    Event,
    Incumbent,
    Listener,
    Phase,
    solver_gave_up,
    solver_missing,
)


class Progress:
    """The clock and the listener of a run."""

    def __init__(self, listener: Listener | None) -> None:
        self._begin = time.monotonic()
        self._listener = listener
        self._bound: int | None = None

    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._begin

    def phase(self, name: str) -> None:
        """A phase begins."""
        self._send(Phase(name, self.seconds()))

    def incumbent(self, value: int, solver: str) -> None:
        """A better plan was found."""
        self._send(Incumbent(value, solver, self.seconds()))

    def bound(self, value: int | None, prover: str | None) -> None:
        """Send this bound on the first term if it is the highest so far."""
        if value is not None and (self._bound is None or value > self._bound):
            self._bound = value
            # Nobody has to prove that nothing is below zero.
            self._send(Bound(value, prover or "bounds", self.seconds()))

    def gave_up(self, solver: str, reason: str) -> None:
        """A solver ended its turn early."""
        self._send(solver_gave_up(solver, reason, self.seconds()))

    def solver_missing(self, solver: str, needs: str) -> None:
        """A solver that is not installed could do more."""
        self._send(solver_missing(solver, needs, self.seconds()))

    def _send(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)
