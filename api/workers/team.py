"""One problem solved by a team: several runs that hear of each other's plans and bounds (docs/scale.md).

A problem is taken apart where its parts are independent; each part is a share, and members solve shares.
"""

import logging
import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from memstow.api.operations.encoding import (
    document_bytes,
    document_from,
    options_from_text,
    options_to_text,
    plan_from_bytes,
    plan_to_bytes,
)
from memstow.api.operations.operations import SOLVE
from memstow.api.operations.request_types import Known, SolveRequest, SolveResult, SolveUpdate
from memstow.api.operations.solve import result_of
from memstow.api.workers.executor import ChildError, Executor, MissingError, RunControl
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import MemstowError
from memstow.planner.model.options import Bound, Event, Incumbent, Options, Phase
from memstow.planner.model.plan import Plan, gap_of
from memstow.planner.model.problem import Kind, Problem, counts, subproblem, terms_of
from memstow.planner.solve.assembling import Proven, assembled, independent_parts, plan_of_part
from memstow.planner.solve.portfolio import AUTO
from memstow.planner.solve.run_state import Stamp, better
from memstow.planner.solve.turns import ANOTHER_RUN
from memstow.planner.verify import Violation, recount

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

# Of the peak of one pool: two of three members search, since what they find is found by restarts.
_OF_ONE_POOL: Final = (AUTO, "exact", "improve")
# With more buffers the exact search seldom has the time to get anywhere.
_MOST_TO_SEARCH: Final = 4_096


def options_of_member(options: Options, document: object, rank: int) -> Options:
    """The options of the member of this rank; the first has those of the whole."""
    seed = (options.seed + rank) % (1 << 63)
    if options.solver != AUTO or not isinstance(document, Problem):
        return replace(options, seed=seed)
    terms = terms_of(document)
    one_peak = len(document.pools) == 1 and len(terms) == 1
    if not one_peak or not terms[0].is_peak_of(document.pools[0].id, 1):
        return replace(options, seed=seed)
    solver = _OF_ONE_POOL[rank % len(_OF_ONE_POOL)]
    if solver == "exact" and len(document.buffers) > _MOST_TO_SEARCH:
        solver = "improve"
    return replace(options, seed=seed, solver=solver)


log = logging.getLogger("memstow.team")


class Share:
    """A problem or a graph, its best plan, and the best bound of its first term."""

    def __init__(self, document: "Problem | Graph", body: bytes, options: Options, plan: Plan | None) -> None:
        self.document = document
        self.body = body
        """The document as members get it."""
        self.options = options
        self.plan: Plan | None = None
        self.plan_body: bytes | None = None
        self.finder: int | None = None
        """The rank of the member that has found the best plan."""
        self.answer: Plan | None = None
        """What a member has said where it has no plan."""
        self.bound = 0
        """Of the first term, with or without a reason so far."""
        self.proven: Proven | None = None
        if plan is not None and plan.status in PLANNED and not self._violations(plan):
            self.plan = plan
            self._learn(plan)

    @property
    def value(self) -> int | None:
        """Of the first term in the best plan; None without one."""
        return self.plan.objective[0].value if self.plan is not None and self.plan.objective else None

    def take(self, result: SolveResult, rank: int) -> bool:
        """Take in what a member has sent; whether it is the best plan now."""
        plan = plan_from_bytes(result.plan)
        if plan.status not in PLANNED:
            if self.answer is None or plan.status is Status.INFEASIBLE:
                self.answer = plan
            return False
        if plan.solver == ANOTHER_RUN and self.plan is not None:
            # The member was told of it, and has found nothing lower.
            plan = replace(plan, solver=self.plan.solver)
        improves = self.plan is None or better(plan, self.plan)
        if not improves and not self._raises(plan):
            return False
        violations = self._violations(plan)
        if violations:
            log.error("a plan of member %d was refused: %s", rank, violations[0].message)
            return False
        self._learn(plan)
        if improves:
            self.plan, self.plan_body, self.finder = plan, result.plan, rank
        return improves

    def settled(self, floor: int) -> bool:
        """Whether nothing is left to be found, if none of the whole can be below this floor."""
        if self.answer is not None and self.answer.status is Status.INFEASIBLE:
            return True
        plan = self.plan
        if plan is None:
            return False
        if plan.status is Status.OPTIMAL or len(plan.objective) != 1:
            return all(term.gap <= self.options.gap for term in plan.objective)
        return gap_of(plan.objective[0].value, max(floor, self.bound)) <= self.options.gap

    def _violations(self, plan: Plan) -> list[Violation]:
        hint = self.options.hint if counts(self.document, Kind.MOVES) else None
        return recount(self.document, plan, hint)

    def _raises(self, plan: Plan) -> bool:
        reached = 0 if self.proven is None else self.proven.term.bound
        return bool(plan.objective) and plan.objective[0].bound > reached

    def _learn(self, plan: Plan) -> None:
        if self._raises(plan):
            self.proven = Proven(plan.objective[0], plan.prover)
            self.bound = max(self.bound, plan.objective[0].bound)


_AT_THE_START = Stamp(seconds=0.0, work=0)


def shares_of(
    document: "Problem | Graph", body: bytes, options: Options, start: Plan | None, most: int
) -> list[Share]:
    """The whole, or at most so many bundles of the parts that decide, by the plan that is known."""
    whole = Share(document, body, options, start)
    start = whole.plan
    if not isinstance(document, Problem) or start is None:
        return [whole]
    if options.hint is not None:
        return [whole]
    bundles = _bundles(document, start, whole.bound, most)
    if len(bundles) < 2:
        return [whole]
    shares = []
    for numbers in bundles:
        part = subproblem(document, [document.buffers[number].id for number in numbers])
        places = plan_of_part(start, part).placements
        plan = assembled(part, options, places, start.solver or "", None, _AT_THE_START)
        shares.append(Share(part, document_bytes(part), options, plan))
    # Of what is settled the bound remains.
    shares[0].bound = max(shares[0].bound, whole.bound)
    return shares


def joint_plan(
    document: "Problem | Graph", options: Options, shares: list[Share], start: Plan | None, stamp: Stamp
) -> Plan | None:
    """The plan of the whole with the highest bound that is proven; None where nothing is known."""
    if len(shares) == 1:
        return _whole_plan(document, options, shares[0], stamp)
    if not isinstance(document, Problem) or start is None:
        raise AssertionError("only a problem with a plan is taken apart")
    place_of = {place.buffer: place for place in start.placements}
    for share in shares:
        if share.plan is not None:
            place_of |= {place.buffer: place for place in share.plan.placements}
    best = max(shares, key=lambda share: share.value or 0)
    proofs = [share.proven for share in shares if share.proven is not None]
    proven = max(proofs, key=lambda proof: proof.term.bound, default=None)
    solver = (best.plan.solver if best.plan is not None else None) or ""
    places = tuple(place_of[buffer.id] for buffer in document.buffers)
    return assembled(document, options, places, solver, proven, stamp)


def _whole_plan(document: "Problem | Graph", options: Options, share: Share, stamp: Stamp) -> Plan | None:
    plan, proven = share.plan, share.proven
    if plan is None:
        return share.answer
    if not isinstance(document, Problem) or len(plan.objective) != 1:
        return plan
    if proven is None or proven.term.bound <= plan.objective[0].bound:
        return plan
    return assembled(document, options, plan.placements, plan.solver or "", proven, stamp)


def _bundles(problem: Problem, plan: Plan, floor: int, most: int) -> list[list[int]]:
    """The buffers of parts that end above the floor, in at most so many bundles of about as many buffers."""
    parts = independent_parts(problem)
    if len(parts) < 2:
        return []
    offset_of = {place.buffer: place.offset for place in plan.placements}
    end_of = [offset_of[buffer.id] + buffer.size for buffer in problem.buffers]
    high = [part for part in parts if max(end_of[number] for number in part) > floor]
    bundles: list[list[int]] = [[] for _ in range(min(most, len(high)))]
    for part in sorted(high, key=len, reverse=True):
        min(bundles, key=len).extend(part)
    return [sorted(bundle) for bundle in bundles]


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
            share = min(open_, key=lambda entry: (self._members_of(entry), -(entry.value or 0)))
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
            value = max(
                [value for value in values if value is not None] + ([] if self._is_whole else [self._floor])
            )
            if self._told_value is None or value < self._told_value:
                self._told_value = value
                best = max(self._shares, key=lambda share: share.value or 0)
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

    return plan_from_bytes(result.plan).work
