"""Reports the best plan of a run while it goes on, so that little is lost with a server that ends.

The engine finds better plans faster than they can be verified: the newest is verified when the one before has
been reported, and verifying takes a small share of the time only.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from memstow.planner.model.plan import Plan
from memstow.planner.solve.better_plan import better

_LEAST_PAUSE_SECONDS: Final = 0.25
# For each second of verifying, the seconds in which the solvers have the processor to themselves.
_PAUSE_SHARE: Final = 10.0

OnPlan = Callable[[Plan], None]


class Publisher:
    """Verifies and reports plans in a thread of its own, from `start` to `close`."""

    def __init__(self, on_plan: OnPlan, known: Plan | None) -> None:
        self._on_plan = on_plan
        self._best = known
        self._newest: Callable[[], Plan] | None = None
        self._offered = threading.Event()
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def offer(self, verified: Callable[[], Plan]) -> None:
        """There is a better plan, verified by this call; any thread may offer, and returns at once."""
        self._newest = verified
        self._offered.set()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._serve, name="memstow publisher", daemon=True).start()

    def close(self) -> None:
        """Report nothing more. A plan that is being verified right now is not waited for."""
        with self._lock:
            self._closed.set()
        self._offered.set()

    def _serve(self) -> None:
        while True:
            self._offered.wait()
            if self._closed.is_set():
                return
            self._offered.clear()
            verified = self._newest
            begin = time.monotonic()
            plan = verified() if verified is not None else None
            if plan is not None and (self._best is None or better(plan, self._best)):
                self._best = plan
                self._report(plan)
            took = time.monotonic() - begin
            if self._closed.wait(max(_LEAST_PAUSE_SECONDS, _PAUSE_SHARE * took)):
                return

    def _report(self, plan: Plan) -> None:
        """Under the lock, so that nothing is reported after `close`."""
        with self._lock:
            if not self._closed.is_set():
                self._on_plan(plan)
