"""A team shares plans and bounds, ends when they meet, and believes no member that the judge does not."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, TypeVar, cast

import pytest

from memstow.api.operations.encoding import document_bytes, options_to_text, plan_from_bytes, plan_to_bytes
from memstow.api.operations.operations import Operation
from memstow.api.operations.request_types import Known, SolveRequest, SolveResult, SolveUpdate
from memstow.api.operations.solve import solve
from memstow.api.workers import team as module
from memstow.api.workers.executor import ChildError, RunControl
from memstow.api.workers.team import NoAnswerError, Share, Team
from memstow.planner.generate.graph import graph as graph_of
from memstow.planner.generate.planted import planted
from memstow.planner.model import Status
from memstow.planner.model.options import Bound, Incumbent, Options
from memstow.planner.model.plan import LiveBytes, Plan, gap_of
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.solve.turns import ANOTHER_RUN
from memstow.planner.verify import verify
from tests.problems import random_problem
from tests.referee import best
from tests.waiting import wait_for

Q = TypeVar("Q")
R = TypeVar("R")
Way = Callable[[SolveRequest, RunControl, queue.SimpleQueue[Known], threading.Event], SolveResult]
LONG = 120.0


def solving(
    request: SolveRequest, control: RunControl, inbox: queue.SimpleQueue[Known], stop: threading.Event
) -> SolveResult:
    """As a child does."""
    return solve(request, control.on_update, stop, inbox)


class Threads:
    """An executor whose runs are threads of this process, each by the way of its rank."""

    def __init__(self, *ways: Way) -> None:
        self.on_killed = lambda _reason: None
        self.ways = ways or (solving,)
        self.requests: list[SolveRequest] = []
        self.running = 0
        self._lock = threading.Lock()

    @property
    def spreads(self) -> bool:
        return True

    def prepare(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, _operation: Operation[Q, R], request: Q, control: RunControl) -> R:
        assert isinstance(request, SolveRequest)
        assert request.rank is not None
        with self._lock:
            self.requests.append(request)
            self.running += 1
        way = self.ways[request.rank % len(self.ways)]
        inbox: queue.SimpleQueue[Known] = queue.SimpleQueue()
        stop, ended = threading.Event(), threading.Event()

        def watch() -> None:
            while not ended.wait(0.01):
                known = control.to_tell()
                if known is not None:
                    inbox.put(known)
                if control.stop_requested() or control.kill_requested():
                    stop.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            return cast(R, way(request, control, inbox, stop))
        finally:
            ended.set()
            watcher.join()
            with self._lock:
                self.running -= 1


class Heard:
    """What a team tells."""

    def __init__(self) -> None:
        self.updates: list[SolveUpdate] = []
        self.cancel = threading.Event()

    def control(self) -> RunControl:
        return RunControl(
            memory=1 << 30,
            seconds=LONG,
            on_update=self.updates.append,
            stop_requested=self.cancel.is_set,
        )

    def of(self, kind: type[Any]) -> list[Any]:
        return [it for it in self.updates if isinstance(it, kind)]


def team_of(
    executor: Threads,
    problem: Problem,
    heard: Heard,
    size: int = 2,
    known: Plan | None = None,
    options: Options | None = None,
) -> Team:
    options = options or Options(time_limit=LONG, workers=1)
    request = SolveRequest(problem=document_bytes(problem), options=options_to_text(options))
    return Team(executor, request, heard.control(), size, known)


def quick(problem: Problem) -> Plan:
    return plan(problem, Options(solver="greedy", deterministic=True, work_limit=1_000))


def waits(
    _request: SolveRequest, _control: RunControl, _inbox: queue.SimpleQueue[Known], stop: threading.Event
) -> SolveResult:
    stop.wait()
    raise ChildError("killed", "told to end")


def is_lost(*_: object) -> SolveResult:
    raise ChildError("child_lost", "its worker is gone")


def test_a_proof_of_one_ends_all() -> None:
    problem, heard = planted(100, 1), Heard()
    executor = Threads(solving, waits)
    result = team_of(executor, problem, heard).run(LONG, None)
    found = plan_from_bytes(result.plan)
    assert found.status is Status.OPTIMAL
    assert verify(problem, found) == []
    assert heard.of(Incumbent)[-1].value == found.objective[0].value
    assert heard.of(Bound)[-1].value == found.objective[0].bound
    wait_for(lambda: not executor.running, "all to have ended")


def test_members_differ_and_start_from_what_is_known() -> None:
    problem = planted(100, 2)
    known, executor = quick(problem), Threads()
    team_of(executor, problem, Heard(), 4, known).run(LONG, None)
    assert [it.rank for it in executor.requests[:4]] == [0, 1, 2, 3]
    assert len({it.options for it in executor.requests[:4]}) == 4
    assert all(it.known_plan is not None for it in executor.requests)


def test_a_plan_of_one_is_told_to_the_others_and_so_is_a_bound() -> None:
    problem = planted(200, 3, slack=0.1)
    start, good = quick(problem), plan(problem, Options(time_limit=1.0))
    peak = good.objective[0].value
    assert peak < start.objective[0].value
    told: list[Known] = []

    def finds(_: SolveRequest, control: RunControl, __: object, stop: threading.Event) -> SolveResult:
        control.on_update(_result(good))
        stop.wait()
        return _result(good)

    def listens(
        _: SolveRequest, control: RunControl, inbox: queue.SimpleQueue[Known], stop: threading.Event
    ) -> SolveResult:
        while not any(it.plan is not None for it in told):
            told.append(inbox.get())
        control.on_update(Bound(peak, "exact", 0.0))
        stop.wait()
        return _result(start)

    result = team_of(Threads(finds, listens), problem, Heard(), known=start).run(LONG, None)
    assert result.value == peak
    assert next(it.plan for it in told if it.plan is not None) == _result(good).plan
    assert result.bound == good.objective[0].bound, (
        "a bound without its reason ends the team, and is no proof"
    )


def test_a_lost_member_is_replaced_and_costs_nothing_else() -> None:
    problem, heard = planted(100, 4), Heard()
    executor = Threads(is_lost, solving)
    team = team_of(executor, problem, heard)
    found = plan_from_bytes(team.run(LONG, None).plan)
    assert found.status is Status.OPTIMAL
    assert team.lost
    assert [it.rank for it in executor.requests].count(0) > 1


def test_a_team_without_any_member_left_says_why() -> None:
    with pytest.raises(ChildError, match="its worker is gone"):
        team_of(Threads(is_lost), planted(100, 4), Heard()).run(LONG, None)
    start = quick(planted(100, 4))
    result = team_of(Threads(is_lost), planted(100, 4), Heard(), known=start).run(LONG, None)
    assert plan_from_bytes(result.plan).placements == start.placements, "the best there is"


def test_nobody_is_waited_for_beyond_patience_or_the_limit() -> None:
    executor = Threads(waits)
    problem = planted(100, 5)
    with pytest.raises(NoAnswerError):
        team_of(executor, problem, Heard()).run(LONG, 0.2)
    start = quick(problem)
    team_of(Threads(waits), problem, Heard(), known=start).run(0.5, 10.0)
    wait_for(lambda: not executor.running, "all to have ended")


def test_a_team_that_loses_all_its_workers_says_so_and_keeps_its_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_AWAY_SECONDS", 0.1)
    problem = planted(200, 3, slack=0.1)
    good = plan(problem, Options(time_limit=1.0))

    def is_cut_off(
        _: SolveRequest, control: RunControl, inbox: queue.SimpleQueue[Known], stop: threading.Event
    ) -> SolveResult:
        control.on_wait(False)
        control.on_update(_result(good))
        control.on_wait(True)
        return waits(_, control, inbox, stop)

    executor = Threads(is_cut_off)
    team = team_of(executor, problem, Heard(), known=quick(problem))
    with pytest.raises(NoAnswerError, match="lost all"):
        team.run(LONG, LONG / 2)
    found = team.plan()
    assert found is not None
    assert found.placements == good.placements
    wait_for(lambda: not executor.running, "all to have ended")


def test_a_cancelled_team_returns_what_it_has() -> None:
    problem, heard = planted(300, 6, slack=0.1), Heard()
    threading.Timer(0.5, heard.cancel.set).start()
    begin = time.monotonic()
    found = plan_from_bytes(team_of(Threads(), problem, heard, known=quick(problem)).run(LONG, None).plan)
    assert time.monotonic() - begin < LONG / 2
    assert found.status is Status.FEASIBLE
    assert verify(problem, found) == []


def test_a_plan_that_the_judge_refuses_is_not_taken() -> None:
    problem = planted(60, 7)
    start = quick(problem)

    def lies(_: SolveRequest, control: RunControl, __: object, ___: object) -> SolveResult:
        flat = tuple(replace(place, offset=0) for place in start.placements)
        first = replace(start.objective[0], value=1, bound=1, gap=0.0)
        wrong = replace(start, placements=flat, objective=(first,), status=Status.OPTIMAL)
        control.on_update(_result(wrong))
        return _result(wrong)

    found = plan_from_bytes(
        team_of(Threads(lies, solving), problem, Heard(), known=start).run(LONG, None).plan
    )
    assert verify(problem, found) == []
    assert found.status is Status.OPTIMAL


def test_a_plan_that_a_member_was_told_of_is_still_of_the_solver_that_found_it() -> None:
    problem = planted(8, 0)
    found = quick(problem)
    assert found.status is Status.OPTIMAL
    term = found.objective[0]
    unproven = replace(
        found,
        status=Status.FEASIBLE,
        objective=(replace(term, bound=0, gap=gap_of(term.value, 0), certificate=None),),
        pools=(replace(found.pools[0], bound=0),),
        prover=None,
        solver="the finder",
    )
    share = Share(problem, document_bytes(problem), Options(), unproven)
    assert share.plan is unproven
    share.take(_result(replace(found, solver=ANOTHER_RUN)), 1)
    assert share.plan.status is Status.OPTIMAL
    assert share.plan.solver == "the finder"


def test_independent_parts_are_solved_apart_and_put_together() -> None:
    parts = [planted(40, seed) for seed in (1, 2, 3)]
    problem = _after_each_other(parts)
    known = quick(problem)
    executor, heard = Threads(), Heard()
    found = plan_from_bytes(team_of(executor, problem, heard, 3, known).run(LONG, None).plan)
    assert verify(problem, found) == []
    assert found.status is Status.OPTIMAL
    assert found.objective[0].value == planted(40, 1).pools[0].capacity or found.objective[0].gap == 0
    assert isinstance(found.objective[0].certificate, LiveBytes)
    assert all(len(it.problem) < len(document_bytes(problem)) for it in executor.requests)


def test_tiny_problems_have_the_best_plan_whatever_their_constraints() -> None:
    proven = 0
    for seed in range(60):
        problem = random_problem(Random(seed), 4)
        if len(problem.pools) > 1 or problem.reuse_costs:
            # Back ends would take part, which take longer to start than all the rest.
            continue
        status, values = best(problem)
        options = Options(time_limit=LONG, workers=1)
        known = quick(problem) if seed % 2 else None
        found = plan_from_bytes(team_of(Threads(), problem, Heard(), 2, known, options).run(LONG, None).plan)
        assert verify(problem, found) == []
        assert found.status is status
        if values is not None:
            assert tuple(term.value for term in found.objective) == values
            proven += 1
    assert proven > 10


def test_a_graph_is_solved_by_a_team() -> None:
    graph, heard = graph_of(12, 3), Heard()
    request = SolveRequest(
        problem=document_bytes(graph), options=options_to_text(Options(time_limit=LONG, workers=1))
    )
    found = plan_from_bytes(Team(Threads(), request, heard.control(), 2, None).run(LONG, None).plan)
    assert found.status is Status.OPTIMAL
    assert verify(graph, found) == []


def test_nothing_fits() -> None:
    buffers = [Buffer(id=f"b{i}", size=3, lifetime=(i, i + 3)) for i in range(6)]
    problem = Problem(version=1, pools=(Pool(id="p", capacity=8),), buffers=buffers)
    result = team_of(Threads(), problem, Heard()).run(LONG, None)
    found = plan_from_bytes(result.plan)
    assert found.status is Status.INFEASIBLE
    assert verify(problem, found) == []


def _result(found: Plan) -> SolveResult:
    first = found.objective[0]
    return SolveResult(
        plan=plan_to_bytes(found),
        status=found.status.value,
        value=first.value,
        bound=first.bound,
        peak=first.value,
        solver=found.solver,
    )


def _after_each_other(problems: list[Problem]) -> Problem:
    buffers, begin = [], 0
    for number, problem in enumerate(problems):
        lives = [it.lifetime for it in problem.buffers if isinstance(it.lifetime, tuple)]
        for buffer, (first, last) in zip(problem.buffers, lives, strict=True):
            buffers.append(
                replace(buffer, id=f"{number}-{buffer.id}", lifetime=(first + begin, last + begin))
            )
        begin += max(last for _, last in lives)
    return Problem(version=1, buffers=tuple(buffers))
