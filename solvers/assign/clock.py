"""A time limit that starts with the first solution, so that a solve does not end without one."""

import threading

from ortools.sat.python import cp_model


class Clock(cp_model.CpSolverSolutionCallback):
    """Ends a solve some time after its first solution."""

    def __init__(self, solver: cp_model.CpSolver, seconds: float) -> None:
        super().__init__()
        self._timer = threading.Timer(seconds, solver.stop_search)
        self._timer.daemon = True
        self._started = False

    def on_solution_callback(self) -> None:
        """Start the timer at the first solution."""
        if not self._started:
            self._started = True
            self._timer.start()

    def stop(self) -> None:
        """Stop the timer when the solve has ended."""
        self._timer.cancel()
