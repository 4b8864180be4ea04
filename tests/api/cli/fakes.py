"""Stand-ins for the engine, so that the door is tested apart from the house.

A test that needs a run of a known kind (slow, infeasible, unknown, broken) puts a `FakeEngine` in its place.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from memstow.planner.model import Status
from memstow.planner.model.options import Bound, Callbacks, Event, Incumbent, Options, Phase, solver_gave_up
from memstow.planner.model.plan import (
    Explanation,
    Live,
    LiveBytes,
    Overflow,
    Placement,
    Plan,
    PoolUse,
    TermValue,
)
from memstow.planner.model.problem import Problem
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import problem_of

Listener = Callable[[Event], None]


def stacked(problem: Problem, status: Status = Status.FEASIBLE) -> Plan:
    """Every buffer above the one before, in the first pool: valid for plain problems, and poor."""
    pool = problem.pools[0]
    placements = []
    top = 0
    for buffer in problem.buffers:
        placements.append(Placement(buffer=buffer.id, pool=pool.id, offset=top))
        top += buffer.size
    bound = max((b.size for b in problem.buffers), default=0)
    gap = (top - bound) / top if top else 0.0
    names = tuple(b.id for b in problem.buffers)
    proof = LiveBytes(pool=pool.id, time=0, buffers=names)
    return Plan(
        status=status,
        placements=tuple(placements),
        pools=(
            PoolUse(
                pool=pool.id, capacity=pool.capacity, peak=top, bound=bound, live=Live(bytes=bound, time=0)
            ),
        ),
        objective=tuple(
            TermValue(term=term, value=top, bound=bound, gap=gap, certificate=proof)
            for term in problem.terms()
        ),
        solver="stack",
        prover="bounds",
        seconds=0.25,
        digest="0" * 64,
        version="0.1.0",
    )


def infeasible(problem: Problem) -> Plan:
    """A proof that names the first buffers."""
    pool = problem.pools[0]
    why = Explanation(
        code="live_bytes",
        message="the buffers live at 3 need 300 bytes and the pool has 100",
        pool=pool.id,
        time=3,
        needed=300,
        capacity=100,
        buffers=tuple(b.id for b in problem.buffers[:2]),
    )
    return Plan(status=Status.INFEASIBLE, explanation=why, seconds=0.01)


def unknown(problem: Problem) -> Plan:
    """No plan, no proof, an overflow."""
    return Plan(
        status=Status.UNKNOWN,
        closest=(Overflow(pool=problem.pools[0].id, peak=130, capacity=100),),
        seconds=1.5,
    )


@dataclass
class FakeEngine:
    """Answers with `answer(problem)` after `lasting` seconds or when cancelled; keeps what it was asked."""

    answer: Callable[[Problem], Plan] = stacked
    lasting: float = 0.0
    deaf: bool = False
    diary: Path | None = None  # where it writes a line for each thing that happens to it
    gives_up: str | None = None  # why a solver of it does
    problem: Problem | None = None
    options: Options | None = None

    def plan(
        self,
        problem: Problem,
        options: Options | None = None,
        on_event: Listener | None = None,
        cancel: threading.Event | None = None,
        **_more: object,
    ) -> Plan:
        self.problem, self.options = problem, options
        if on_event is not None:
            for event in (Phase("search", 0.0), Incumbent(2_000, "stack", 0.1), Bound(1_000, "bounds", 0.2)):
                on_event(event)
        if on_event is not None and self.gives_up is not None:
            on_event(solver_gave_up("cpsat", self.gives_up, 0.2))
        self._write("begun")
        output = (cancel or threading.Event()).wait(self.lasting)
        if output and self.deaf:
            self._write("told")
            time.sleep(self.lasting)
        return self.answer(problem)

    def run(self, document: Problem, options: Options, callbacks: Callbacks) -> Plan:
        return self.plan(document, options, callbacks.on_event, callbacks.cancel)

    def plan_columns(
        self,
        columns: Columns,
        options: Options | None = None,
        on_event: Listener | None = None,
        cancel: threading.Event | None = None,
    ) -> Plan:
        return self.plan(problem_of(columns), options, on_event, cancel)

    def _write(self, what: str) -> None:
        if self.diary is not None:
            with self.diary.open("a") as diary:
                diary.write(f"{what}\n")


@contextmanager
def fake_engine(engine: FakeEngine) -> Iterator[FakeEngine]:
    """The engine in place of the real one."""
    with (
        patch("memstow.planner.solve.engine.plan", engine.plan),
        patch("memstow.planner.solve.engine.run", engine.run),
        patch("memstow.planner.solve.column_plans.plan_columns", engine.plan_columns),
    ):
        yield engine
