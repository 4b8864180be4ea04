"""What a run makes of what its solvers say, one after the other: solvers that say what the test wants."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve import engine, one_run, portfolio
from memstow.planner.solve.portfolio import Stage, stages_for
from memstow.solvers import _native
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, ModelBound, Outcome, Task, Term, TermKind

FAST_AND_SLOW = (Pool(id="fast"), Pool(id="slow", cost=1))


@dataclass
class Told:
    """A solver that has one layout, and bounds on its terms."""

    places: Sequence[tuple[int, int]]  # pool and offset, by buffer
    values: tuple[int, ...]
    bounds: tuple[ModelBound, ...] = ()
    name: str = "greedy"
    summary: str = ""
    supports: str = ""
    asked: bool = False

    def declines(self, _task: Task) -> str | None:
        return None

    def solve(self, _task: Task, _budget: _native.Budget, listeners: Listeners) -> Outcome:
        self.asked = True
        pools, offsets = zip(*self.places, strict=True)
        layout = Layout(array("q", pools), array("q", offsets))
        listeners.incumbent(self.name, self.values[0], layout)
        return Outcome(layout, True, self.values, self.name, bounds=self.bounds)


Solve = Callable[..., Plan]


@pytest.fixture
def solve(monkeypatch: pytest.MonkeyPatch) -> Solve:
    """Solves with these solvers, one after the other."""

    def run(problem: Problem, *team: Told, gap: float = 0.0, offered: list[Callable[[], Plan]]) -> Plan:
        monkeypatch.setattr(
            one_run, "stages_for", lambda _requested, _task, _seconds: [Stage(entry, 1.0) for entry in team]
        )
        return engine.plan(problem, Options(gap=gap), on_better=offered.append)

    return run


def live_together(*sizes: int, pools: tuple[Pool, ...], objective: tuple[str, ...]) -> Problem:
    buffers = tuple(Buffer(id=f"b{i}", size=size, lifetime=(0, 2)) for i, size in enumerate(sizes))
    return Problem(version=1, pools=pools, buffers=buffers, objective=objective)


@pytest.mark.parametrize(("gap", "enough"), [(0.0, False), (0.0009, False), (0.001, True)])
def test_a_run_goes_on_until_it_is_within_the_gap_and_no_longer(
    solve: Solve, gap: float, enough: bool
) -> None:
    """One byte of a thousand is too much, unless it was asked for."""
    problem = live_together(998, 1, pools=(Pool(id="m"),), objective=("peak",))
    first, second = Told([(0, 0), (0, 999)], (1000,)), Told([(0, 0), (0, 998)], (999,))
    planned = solve(problem, first, second, gap=gap, offered=[])
    assert second.asked is not enough
    assert planned.objective[0].value == (1000 if enough else 999)


def test_a_plan_on_the_way_claims_no_bound_of_a_later_term_that_holds_for_the_best_plan_alone(
    solve: Solve,
) -> None:
    problem = live_together(4, 4, 1, pools=FAST_AND_SLOW, objective=("peak", "placement_cost"))
    apart = [(0, 0), (1, 0), (0, 6)]
    first = Told(apart, (11, 4), (ModelBound(0, 10, ()), ModelBound(1, 3, (11,))))
    offered: list[Callable[[], Plan]] = []
    last = solve(problem, first, Told(apart, (11, 4)), offered=offered)
    assert [term.bound for term in last.objective] == [10, 3]
    assert [term.bound for term in offered[-1]().objective] == [10, 0]


def test_a_pool_is_bounded_by_what_is_proven_of_it_for_any_plan(solve: Solve) -> None:
    """All of it is in fast memory where that is cheapest; a plan that costs more may leave it empty."""
    problem = live_together(4, 4, 1, pools=FAST_AND_SLOW, objective=("placement_cost", "peak:fast"))
    planned = solve(problem, Told([(0, 0), (0, 4), (0, 9)], (0, 10), (ModelBound(1, 10, (0,)),)), offered=[])
    assert planned.objective[1].bound == 10
    assert planned.pools[0].bound == 0


@pytest.mark.parametrize("term", ["peak", "max_peak", "peak:m"])
def test_what_is_proven_of_the_peak_is_proven_of_its_pool(solve: Solve, term: str) -> None:
    problem = live_together(4, 4, 1, pools=(Pool(id="m"),), objective=(term,))
    planned = solve(problem, Told([(0, 0), (0, 4), (0, 9)], (10,), (ModelBound(0, 10, ()),)), offered=[])
    assert planned.objective[0].bound == 10
    assert planned.pools[0].bound == 10


def test_a_model_has_a_turn_where_there_is_time_to_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else greedy has all the time, and no process is started that imports a library."""
    monkeypatch.setattr(portfolio, "is_installed", lambda _name: True)
    monkeypatch.setattr(portfolio, "find", lambda name: Told((), (), name=name))
    buffers = tuple(Buffer(id=f"b{i}", size=1, lifetime=(i, i + 2)) for i in range(1_000))
    reduction = reduce(Problem(version=1, pools=FAST_AND_SLOW, buffers=buffers))
    assert isinstance(reduction, Reduction)
    task = Task(reduction.instance, (Term(TermKind.PLACEMENT_COST), Term(TermKind.PEAK)), (0, 0))
    shares = {
        seconds: {stage.solver.name: stage.share for stage in stages_for(None, task, seconds)}
        for seconds in (1.0, 10.0, None)
    }
    assert shares[1.0] == {"greedy": 1.0}
    assert list(shares[10.0]) == list(shares[None]) == ["greedy", "assign", "cpsat", "highs"]
    assert shares[10.0]["greedy"] < 1.0
