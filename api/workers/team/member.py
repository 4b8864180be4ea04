"""A member of a team: a run on some worker, followed by a thread."""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from memstow.api.operations.operations import SOLVE
from memstow.api.operations.request_types import Known, SolveRequest, SolveResult, SolveUpdate
from memstow.api.workers.executor import Executor, RunControl
from memstow.api.workers.team.share import Share


@dataclass(frozen=True, slots=True)
class Update:
    """A member reports."""

    member: "Member"
    update: SolveUpdate


@dataclass(frozen=True, slots=True)
class End:
    """A member has ended: with its result, or with an error."""

    member: "Member"
    result: SolveResult | None = None
    error: Exception | None = None


News = queue.SimpleQueue[Update | End]


class Member:
    """A run of one share. `start` starts its thread, the rest is for the thread of the team."""

    def __init__(self, rank: int, share: Share, control: RunControl, news: News, waits: bool) -> None:
        self.rank = rank
        self.share = share
        self.told_bound = 0
        self.waits = waits
        """Whether it has no worker, although the team has begun or the scheduler was lost."""
        self._news = news
        self._stop = threading.Event()
        self._kill = threading.Event()
        self._lock = threading.Lock()
        self._known: Known | None = None
        self._control = replace(
            control,
            on_update=lambda update: news.put(Update(self, update)),
            stop_requested=self._stop.is_set,
            kill_requested=self._kill.is_set,
            to_tell=self._to_tell,
            tick=lambda: None,
            on_wait=self._note_wait,
        )

    def start(self, executor: Executor, request: SolveRequest) -> None:
        """Have it run."""
        threading.Thread(
            target=self._run,
            args=(lambda: executor.run(SOLVE, request, self._control),),
            name=f"memstow member {self.rank}",
            daemon=True,
        ).start()

    def stop(self) -> None:
        """Ask it to end with what it has."""
        self._stop.set()

    def kill(self) -> None:
        """End it, whatever it has."""
        self._kill.set()

    def tell(self, plan: bytes | None, bound: int | None) -> None:
        """Others have found this; the latest counts."""
        with self._lock:
            before = self._known or Known()
            self._known = Known(plan=plan or before.plan, bound=before.bound if bound is None else bound)

    def _note_wait(self, waits: bool) -> None:
        self.waits = waits

    def _to_tell(self) -> Known | None:
        with self._lock:
            known, self._known = self._known, None
        return known

    def _run(self, run: Callable[[], SolveResult]) -> None:
        try:
            self._news.put(End(self, result=run()))
        except Exception as error:
            # Whatever it is, it costs only this member.
            self._news.put(End(self, error=error))
