"""Tells of the best plan of a run while it goes on: what is lost with a server is then a moment's work.

The engine hands out better plans faster than they can be judged: the newest is judged when the one before has
been told, and judging takes a small share of the time only.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from memstow.planner.model.plan import Plan
from memstow.planner.solve.better_plan import better

_LEAST_PAUSE_SECONDS: Final = 0.25
# For each second of judging, so many in which the solvers have the processor to themselves.
_PAUSE_SHARE: Final = 10.0

OnPlan = Callable[[Plan], None]


class Publisher:
    """Judges and tells in a thread of its own, from `start` to `close`."""

    def __init__(self, on_plan: OnPlan, known: Plan | None) -> None:
        self._on_plan = on_plan
        self._best = known
        self._newest: Callable[[], Plan] | None = None
        self._news = threading.Event()
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def offer(self, judged: Callable[[], Plan]) -> None:
        """There is a better plan; called from any thread, and back at once."""
        self._newest = judged
        self._news.set()

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._serve, name="memstow publisher", daemon=True).start()

    def close(self) -> None:
        """Tell nothing more. What is being judged right now is not waited for."""
        with self._lock:
            self._closed.set()
        self._news.set()

    def _serve(self) -> None:
        while True:
            self._news.wait()
            if self._closed.is_set():
                return
            self._news.clear()
            judged = self._newest
            begin = time.monotonic()
            plan = judged() if judged is not None else None
            if plan is not None and (self._best is None or better(plan, self._best)):
                self._best = plan
                self._tell(plan)
            took = time.monotonic() - begin
            if self._closed.wait(max(_LEAST_PAUSE_SECONDS, _PAUSE_SHARE * took)):
                return

    def _tell(self, plan: Plan) -> None:
        """Under the lock, so that nothing is told behind the end."""
        with self._lock:
            if not self._closed.is_set():
                self._on_plan(plan)
