"""`memstow.plan_on_cluster`: a problem solved by a team on a cluster of Dask, without a service."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from memstow.api.workers.scheduler_address import check_scheduler
from memstow.planner.cluster.roster import Standing
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Event, Listener, Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem

if TYPE_CHECKING:
    from memstow.api.operations.request_types import SolveUpdate
    from memstow.api.workers.dask_executor import DaskExecutor
    from memstow.api.workers.team import Team
    from memstow.planner.model.graph import Graph

MOST_MEMBERS: Final = 64
_MOST_BY_DEFAULT: Final = 8
# Most problems are solved in this time, for which no worker has to be asked.
_BRIEF_SECONDS: Final = 0.5
_BRIEF_SHARE: Final = 0.1
# With less than this left workers would hardly begin: loading Dask and finding them takes some of it, and so
# do so many buffers, which are written and read for each of them.
_WORTH_SECONDS: Final = 3.0
_BUFFERS_A_SECOND: Final = 2500
# How long a cluster may take to be found, and then its workers to begin: the rest is for a solve here.
_FIND_SECONDS: Final = 30.0
_FIND_SHARE: Final = 0.2
_BEGIN_SECONDS: Final = 60.0
_BEGIN_SHARE: Final = 0.5
_SILENT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02
_LEAVE_SECONDS: Final = 1.0
# That much it may take beyond the time limit.
_LEAST_LEAVE_SECONDS: Final = 0.2
# What a member may use at the most; a limit of the caller takes its place.
_MEMORY: Final = 8 << 30
_MARGIN_SECONDS: Final = 10.0

OnNotice = Callable[[str], None]


def plan_on_cluster(
    problem: "Problem | Graph",
    options: Options | None = None,
    *,
    scheduler: str,
    members: int | None = None,
    on_event: Listener | None = None,
    cancel: threading.Event | None = None,
    on_notice: OnNotice | None = None,
) -> Plan:
    """Solve as `plan` does, by several runs on workers of the Dask scheduler at this address.

    First it is tried here for a moment; only what is still open goes to the cluster. `members` says how many
    runs there are: by default as many as the workers have threads, at most 8. If no worker begins in time, or
    all are lost, it is solved here, and `on_notice` is called with the reason. The time limit is that of the
    whole call.
    Raises InputError for a deterministic run: what members find depends on time.
    """
    options = options or Options()
    check_scheduler(scheduler, "scheduler")
    refuse_odd_teams(options, members)
    return _Call(problem, options, scheduler, members, on_event, cancel, on_notice).plan()


def refuse_odd_teams(options: Options, members: int | None) -> None:
    """InputError for options that no team can have."""
    if options.deterministic:
        message = "a deterministic run cannot be spread over a cluster: leave one of the two out"
        raise InputError.single("deterministic_team", "deterministic", message)
    if members is not None and not 1 <= members <= MOST_MEMBERS:
        message = f"from 1 to {MOST_MEMBERS} members can solve a problem, given {members}"
        raise InputError.single("out_of_range", "members", message)


class _Call:
    """One call of `plan_on_cluster`."""

    def __init__(
        self,
        problem: "Problem | Graph",
        options: Options,
        scheduler: str,
        members: int | None,
        on_event: Listener | None,
        cancel: threading.Event | None,
        on_notice: OnNotice | None,
    ) -> None:
        self._problem = problem
        self._options = options
        self._scheduler = scheduler
        self._members = members
        self._listener: Listener = on_event or (lambda _event: None)
        self._cancel = cancel or threading.Event()
        self._on_notice: OnNotice = on_notice or (lambda _text: None)
        self._begin = time.monotonic()
        self._known: Plan | None = None
        """The best plan so far."""
        self._new_workers = 0
        """Of which it is not known yet what they have."""

    def plan(self) -> Plan:
        """The plan."""
        from memstow.api.operations.solve import is_final, solve_briefly

        options = self._options
        brief = min(_BRIEF_SECONDS, options.time_limit * _BRIEF_SHARE)
        _require_dask()
        start, final = solve_briefly(self._problem, options, brief, self._on_event)
        if start is not None and (final or is_final(start, options)):
            return replace(start, seconds=self._seconds())
        self._known = start
        if self._cancel.is_set():
            return self._here()
        if self._left() < self._worth_seconds():
            reason = f"a time limit of {options.time_limit:g} s is too short for it"
            self._on_notice(f"the cluster at {self._scheduler} is not used: {reason}")
            return self._here()
        executor = self._executor()
        here = False
        try:
            executor.prepare()
            find = min(_FIND_SECONDS, options.time_limit * _FIND_SHARE)
            size = self._size(executor, time.monotonic() + find)
            found = None if size is None else self._by_team(executor, size)
            here = found is None and not self._cancel.is_set()
        finally:
            # Whoever has interrupted the call waits for its end, and a solve here needs each second.
            left = 0.0 if self._cancel.is_set() else self._left()
            seconds = min(_LEAVE_SECONDS, max(left, _LEAST_LEAVE_SECONDS))
            _leave(executor, 0.0 if here else seconds)
        return self._here() if found is None else found

    def _by_team(self, executor: "DaskExecutor", size: int) -> Plan | None:
        """The plan of a team; None where it has none, or has lost all workers, which is told."""
        from memstow.api.operations.encoding import (
            document_bytes,
            options_to_text,
            plan_from_bytes,
            plan_to_bytes,
        )
        from memstow.api.operations.request_types import FrontUpdate, SolveRequest, SolveResult
        from memstow.api.workers.executor import ChildError, RunControl
        from memstow.api.workers.team import NoAnswerError, Team

        options = self._options
        began = time.monotonic()

        def hear(update: "SolveUpdate") -> None:
            if not isinstance(update, (SolveResult, FrontUpdate)):
                self._on_event(update)

        control = RunControl(
            memory=options.memory_limit or _MEMORY,
            memory_rule="a member of a team",
            seconds=self._left() + _MARGIN_SECONDS,
            on_update=hear,
            stop_requested=self._cancel.is_set,
        )
        request = SolveRequest(
            problem=document_bytes(self._problem),
            options=options_to_text(options),
            hint=None if options.hint is None else plan_to_bytes(options.hint),
        )
        team = Team(executor, request, control, size, self._known)
        scheduler_lost = f"the scheduler at {self._scheduler} is lost"
        # The last plan of a large problem takes about as long as it took to make a team of the problem.
        left = max(self._left() - (time.monotonic() - began), 0.0)
        try:
            result = team.run(left, min(_BEGIN_SECONDS, left * _BEGIN_SHARE))
        except (NoAnswerError, ChildError) as error:
            self._tell_lost(team, error)
            reason = str(error) if executor.connected else scheduler_lost
            self._on_notice(f"{reason}; the problem is solved here")
            self._known = team.plan() or self._known
            return None
        self._tell_lost(team)
        if not executor.connected:
            self._on_notice(f"{scheduler_lost}: this is the best plan until then")
        return replace(plan_from_bytes(result.plan), seconds=self._seconds())

    def _tell_lost(self, team: "Team", error: Exception | None = None) -> None:
        """Say why members were lost, but for what is said anyway."""
        for reason in dict.fromkeys(team.lost):
            if reason != str(error):
                self._on_notice(f"a member of the team was lost: {reason}")

    def _on_event(self, event: Event) -> None:
        """Tell of it. Each stage counts its own seconds, but here they are those of the whole call."""
        self._listener(replace(event, seconds=self._seconds()))

    def _here(self) -> Plan:
        """The plan of a run in this process, in the time that is left."""
        from memstow.api.operations.solve import solve_fully

        options = replace(self._options, time_limit=max(self._left(), 0.0))
        known = self._known
        if known is not None and known.status is Status.UNKNOWN:
            known = None
        plan = solve_fully(self._problem, options, known, lambda _plan: None, self._on_event, self._cancel)
        return replace(plan, seconds=self._seconds())

    def _size(self, executor: "DaskExecutor", until: float) -> int | None:
        """The number of members; None where no worker can be reached in time."""
        while True:
            threads = executor.threads
            if threads and not self._new_workers:
                return min(threads, _MOST_BY_DEFAULT) if self._members is None else self._members
            if time.monotonic() >= until or self._cancel.is_set():
                break
            time.sleep(_POLL_SECONDS)
        if executor.threads:
            # Some have not said what they have: those that have will do.
            return min(executor.threads, _MOST_BY_DEFAULT) if self._members is None else self._members
        if self._cancel.is_set():
            return None
        reason = "no worker of this version answers" if executor.connected else "it does not answer"
        self._on_notice(f"the cluster at {self._scheduler} is not used: {reason}; the problem is solved here")
        return None

    def _executor(self) -> "DaskExecutor":
        from memstow.api.workers.dask_executor import DaskExecutor

        # What Dask has to say is said here.
        for logger in ("distributed", "distributed.client"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        return DaskExecutor(
            self._scheduler,
            _SILENT_SECONDS,
            on_killed=lambda _reason: None,
            on_workers=self._note_workers,
            on_notice=lambda _notice: None,
        )

    def _note_workers(self, counts: Mapping[str, int]) -> None:
        self._new_workers = counts.get(Standing.NEW.value, 0)

    def _left(self) -> float:
        return self._options.time_limit - (time.monotonic() - self._begin)

    def _worth_seconds(self) -> float:
        """With less than this left no cluster is asked."""
        it = self._problem
        count = len(it.buffers) if isinstance(it, Problem) else len(it.tensors)
        return _WORTH_SECONDS + count / _BUFFERS_A_SECOND

    def _seconds(self) -> float:
        return round(time.monotonic() - self._begin, 6)


def _leave(executor: "DaskExecutor", seconds: float) -> None:
    """Take back what is on the scheduler, in so much time; one that does not answer is not waited for."""
    connected = executor.connected
    thread = threading.Thread(target=executor.close, name="memstow leave", daemon=True)
    thread.start()
    if connected:
        thread.join(seconds)


def _require_dask() -> None:
    """InputError where Dask is not installed; it is loaded only when it is needed."""
    if find_spec("distributed") is None:
        message = "a cluster needs an extra that is not installed: pip install 'memstow[dask]'"
        raise InputError.single("missing_extra", "distributed", message)
