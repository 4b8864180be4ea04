"""A time limit that begins with the first solution: before that there is nothing to show for the time."""

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
        """There is a solution."""
        if not self._started:
            self._started = True
            self._timer.start()

    def stop(self) -> None:
        """The solve is over."""
        self._timer.cancel()
