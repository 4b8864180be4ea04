"""Solves a problem by several runs at the same time, on workers, that share plans and bounds.

The team is light: it hands on what its members find, judges each plan, and ends all as soon as the best
plan meets the best bound.
"""

import math
import queue
import time
from dataclasses import replace
from typing import Final

from memstow.api.operations.encoding import document_from, options_from_text, options_to_text, plan_to_bytes
from memstow.api.operations.request_types import SolveRequest, SolveResult, SolveUpdate
from memstow.api.operations.solve import result_of
from memstow.api.workers.executor import ChildError, Executor, MissingError, RunControl
from memstow.api.workers.team.lineup import options_of_member
from memstow.api.workers.team.member import End, Member, News, Update
from memstow.api.workers.team.share import Share
from memstow.api.workers.team.shares import joint_plan, shares_of
from memstow.planner.model.errors import MemstowError
from memstow.planner.model.options import Bound, Event, Incumbent, Phase
from memstow.planner.model.plan import Plan
from memstow.planner.solve.run_state import Stamp

_TICK: Final = 0.02
# Members that are told to end do so within a tenth of a second or two; then they are ended.
_ENDING_SECONDS: Final = 0.7
# What is left of the time limit for that, and for the last plan.
_REST_SECONDS: Final = 0.5
_REST_SHARE: Final = 0.15
# Of this the part for the last plan alone: members that go on are ended before.
_LAST_SHARE: Final = 0.3
# A member that would have less time is not started.
_LEAST_SECONDS: Final = 0.5
# How often members may be lost, for each of them.
_MOST_LOSSES: Final = 3
# How long a team that has begun may be without any worker: lost ones may be started again.
_AWAY_SECONDS: Final = 30.0
_AWAY_SHARE: Final = 0.2
_LEAST_AWAY_SECONDS: Final = 1.0
_ALL_LOST: Final = "the team has lost all of its workers"


class NoAnswerError(MemstowError):
    """No worker has begun in time, or all are lost."""


class Team:
    """One solve by several members."""

    def __init__(
        self, executor: Executor, request: SolveRequest, control: RunControl, size: int, known: Plan | None
    ) -> None:
        self._executor = executor
        self._control = control
        self._size = size
        self._begin = time.monotonic()
        self._news: News = queue.SimpleQueue()
        self._running: set[Member] = set()
        self._rank = 0
        self._losses = 0
        self._error: Exception | None = None
        self.works: dict[int, int] = {}
        """Steps of work by rank, of members that have ended with a result."""
        self._heard = False
        self._ending_at: float | None = None
        self._latest = math.inf
        """When it has to be over."""
        self._away_since: float | None = None
        """Since when no member has a worker, after one had or the scheduler was lost."""
        self._told_value: int | None = None
        self._told_bound = 0
        self._start = known
        self._document = document_from(request.problem)
        self._options = options_from_text(request.options, request.hint)
        self._hint = request.hint
        self._shares = shares_of(self._document, request.problem, self._options, known, size)
        self.lost: list[str] = []
        """Why members were lost, or had nothing to say."""

    def run(self, seconds: float, patience: float | None) -> SolveResult:
        """The best result within `seconds`.

        NoAnswerError where no member has begun within `patience`, or where all workers are lost and none
        comes; without it they are waited for, and the time counts from the first that begins.
        """
        left = self._length(seconds)
        deadline = None
        if patience is not None:
            deadline = self._begin + left
            self._latest = self._begin + seconds - (seconds - left) * _LAST_SHARE
        self._tell(Phase(f"team of {self._size}", self._seconds()))
        for _ in range(self._size):
            self._add(left)
        try:
            while self._running:
                self._hear()
                now = time.monotonic()
                if self._heard and deadline is None:
                    deadline = now + left
                if patience is not None and not self._heard and now > self._begin + patience:
                    raise NoAnswerError("no worker of the cluster has begun in time")
                if patience is not None and deadline is not None:
                    self._check_workers(now, deadline)
                self._check(now, deadline)
                self._control.tick()
        finally:
            for member in self._running:
                member.kill()
        return self._result()

    def plan(self) -> Plan | None:
        """The best plan so far; None where nothing is known."""
        stamp = Stamp(seconds=self._seconds(), work=0)
        return joint_plan(self._document, self._options, self._shares, self._start, stamp)

    # Members

    def _length(self, seconds: float) -> float:
        return max(seconds - min(_REST_SECONDS, seconds * _REST_SHARE), 0.0)

    def _add(self, seconds: float, rank: int | None = None, share: Share | None = None) -> None:
        """One more member, of the share that has the fewest."""
        if rank is None:
            rank, self._rank = self._rank, self._rank + 1
        if share is None:
            floor = self._floor
            open_ = [it for it in self._shares if not it.settled(floor)]
            if not open_:
                return
            share = min(open_, key=lambda it: (self._members_of(it), -(it.value or 0)))
        member = Member(rank, share, self._control, self._news, waits=self._heard)
        options = replace(options_of_member(self._options, share.document, rank), time_limit=seconds)
        plan = share.plan_body
        if plan is None and share.plan is not None:
            plan = share.plan_body = plan_to_bytes(share.plan)
        member.start(
            self._executor,
            SolveRequest(
                problem=share.body,
                options=options_to_text(options),
                hint=self._hint if share.document is self._document else None,
                known_plan=plan,
                rank=rank,
            ),
        )
        self._running.add(member)

    def _members_of(self, share: Share) -> int:
        return sum(member.share is share for member in self._running)

    def _check(self, now: float, deadline: float | None) -> None:
        """Whether it is time to end; and members that have nothing left to find."""
        control = self._control
        if control.kill_requested():
            raise ChildError("killed", "ended by the server")
        if self._ending_at is not None:
            if now > min(self._ending_at + _ENDING_SECONDS, self._latest):
                for member in self._running:
                    member.kill()
            return
        floor = self._floor
        over = control.stop_requested() or (deadline is not None and now >= deadline)
        if over or all(share.settled(floor) for share in self._shares):
            if self._away_since is not None and now > self._away_since + _LEAST_AWAY_SECONDS:
                self.lost.append(_ALL_LOST)
            self._ending_at = now
            for member in self._running:
                member.stop()
            return
        for member in self._running:
            if member.share.settled(floor):
                member.stop()

    def _check_workers(self, now: float, deadline: float) -> None:
        """Whether all workers are lost, and for how long."""
        if self._ending_at is not None:
            return
        if not self._running or not all(member.waits for member in self._running):
            self._away_since = None
            return
        if self._away_since is None:
            self._away_since = now
        share = (deadline - self._away_since) * _AWAY_SHARE
        if now > self._away_since + max(min(_AWAY_SECONDS, share), _LEAST_AWAY_SECONDS):
            raise NoAnswerError(_ALL_LOST)

    def _hear(self) -> None:
        """Take in what has come; and wait for it a moment."""
        try:
            self._take(self._news.get(timeout=_TICK))
            while True:
                self._take(self._news.get_nowait())
        except queue.Empty:
            pass
        floor = self._floor
        for member in self._running:
            if floor > member.told_bound:
                member.told_bound = floor
                member.tell(None, floor)
        self._tell_progress()

    def _take(self, news: Update | End) -> None:
        self._heard = True
        if isinstance(news, Update):
            self._take_update(news.member, news.update)
            return
        member = news.member
        self._running.discard(member)
        if news.result is not None:
            self.works[member.rank] = self.works.get(member.rank, 0) + _work_of(news.result)
            self._take_update(member, news.result)
            self._replace(member, None)
        elif news.error is not None:
            self._lose(member, news.error)

    def _take_update(self, member: Member, update: SolveUpdate) -> None:
        share = member.share
        if isinstance(update, SolveResult):
            if share.take(update, member.rank):
                for other in self._running:
                    if other.share is share and other is not member:
                        other.tell(update.plan, None)
        elif isinstance(update, Bound) and update.value > share.bound:
            share.bound = update.value

    def _lose(self, member: Member, error: Exception) -> None:
        if self._ending_at is not None:
            return
        self.lost.append(str(error))
        again = isinstance(error, MissingError) or (
            isinstance(error, ChildError) and error.code == "child_lost"
        )
        self._losses += 1
        if again and self._losses <= _MOST_LOSSES * self._size:
            self._replace(member, member.rank)
        else:
            self._error = self._error or error

    def _replace(self, member: Member, rank: int | None) -> None:
        """Another in the place of one that is lost, or whose share is settled."""
        if self._ending_at is not None:
            return
        left = self._options.time_limit - self._seconds() - _REST_SECONDS
        if left < _LEAST_SECONDS:
            return
        if rank is not None:
            self._add(left, rank, member.share)
        elif member.share.settled(self._floor):
            self._add(left)

    # What is found

    @property
    def _floor(self) -> int:
        """No plan of the whole is below this: what is proven of a part holds for the whole."""
        return max(share.bound for share in self._shares)

    def _tell_progress(self) -> None:
        values = [share.value for share in self._shares]
        if None not in values and values:
            value = max([it for it in values if it is not None] + ([] if self._is_whole else [self._floor]))
            if self._told_value is None or value < self._told_value:
                self._told_value = value
                best = max(self._shares, key=lambda it: it.value or 0)
                solver = (best.plan.solver if best.plan is not None else None) or ""
                self._tell(Incumbent(value, solver, self._seconds()))
                if self._is_whole and best.plan is not None:
                    self._control.on_update(result_of(self._document, best.plan))
        if self._floor > self._told_bound:
            self._told_bound = self._floor
            self._tell(Bound(self._told_bound, "bounds", self._seconds()))

    @property
    def _is_whole(self) -> bool:
        return len(self._shares) == 1

    def _result(self) -> SolveResult:
        plan = self.plan()
        if plan is None:
            raise self._error or ChildError("child_lost", "no member of the team has found anything")
        seconds = round(self._seconds(), 6)
        return result_of(self._document, replace(plan, seconds=seconds, work=sum(self.works.values())))

    def _tell(self, event: Event) -> None:
        self._control.on_update(event)

    def _seconds(self) -> float:
        return time.monotonic() - self._begin


def _work_of(result: SolveResult) -> int:
    from memstow.api.operations.encoding import plan_from_bytes

    return plan_from_bytes(result.plan).work
