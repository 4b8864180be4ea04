"""The back ends in the engine: proofs, starts, explanations, and the leash, with each of them."""

import os
import sys
import tempfile
from pathlib import Path
from random import Random

import pytest

from memstow.planner.backends import isolated_solver
from memstow.planner.backends.isolated_solver import IsolatedSolver, command_for
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError, MissingBackEndError, RefusedPlanError
from memstow.planner.model.options import Event, Incumbent, Options, Phase
from memstow.planner.model.plan import Model, Placement, Plan
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Reserved, ReuseCost, terms_of
from memstow.planner.processes.process import Process
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve import portfolio
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.planner.verify import verify
from memstow.solvers import _native, registry
from memstow.solvers.registry import BACK_ENDS
from memstow.solvers.solver import Listeners, Outcome
from tests.processes import children_of, state_of
from tests.solvers.models.agreement import problems
from tests.waiting import PATIENCE, wait_for


@pytest.fixture(params=BACK_ENDS)
def name(request: pytest.FixtureRequest) -> str:
    text = str(request.param)
    reason = BACK_ENDS[text].how_to_get()
    if reason is not None:
        pytest.skip(f"{text} needs {reason}")
    return text


def crossing(rng: Random, count: int) -> Problem:
    """Buffers with the same peak again and again, so that greedy seldom meets the bound."""
    return Problem(
        version=1,
        buffers=tuple(
            Buffer(
                id=f"b{i}",
                size=rng.randrange(1, 5000) * 16,
                lifetime=(begin := rng.randrange(count), begin + rng.randrange(1, max(count // 10, 2))),
            )
            for i in range(count)
        ),
    )


def test_reuse_costs_are_proven_by_a_model(name: str) -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="m", capacity=4),),
        buffers=tuple(Buffer(id=f"b{i}", size=2, lifetime=(i, i + 1)) for i in range(3)),
        reuse_costs=tuple(
            ReuseCost(buffers=(f"b{i}", f"b{k}"), cost=cost)
            for i, k, cost in ((0, 1, 5), (0, 2, 3), (1, 2, 4))
        ),
        objective=("reuse_cost", "peak"),
    )
    planned = plan(problem, Options(solver=name, time_limit=PATIENCE))
    assert planned.status is Status.OPTIMAL
    assert [term.value for term in planned.objective] == [3, 4]
    assert planned.objective[0].certificate == Model(solver=name)
    assert planned.prover == name
    assert verify(problem, planned) == []


def test_moves_are_counted_from_any_place_of_the_hint(name: str) -> None:
    """The hint is at an offset that no sum of sizes gives."""
    problem = Problem(
        version=1,
        pools=(Pool(id="m", capacity=12),),
        buffers=(
            Buffer(id="a", size=4, lifetime=(0, 2)),
            Buffer(id="b", size=4, lifetime=(0, 2)),
        ),
        objective=("moves", "peak"),
    )
    hint = Plan(status=Status.FEASIBLE, placements=(Placement(buffer="a", pool="m", offset=3),))
    planned = plan(problem, Options(solver=name, hint=hint, time_limit=PATIENCE))
    assert planned.status is Status.OPTIMAL
    assert [term.value for term in planned.objective] == [0, 11]
    assert verify(problem, planned, hint) == []


def test_what_cannot_fit_is_explained_in_the_names_of_the_user(name: str) -> None:
    """Two wide buffers either side of a pin: live bytes do not show it."""
    problem = Problem(
        version=1,
        pools=(Pool(id="m", capacity=10),),
        buffers=(
            Buffer(id="pinned", size=2, lifetime=(0, 2), pool="m", offset=4),
            Buffer(id="wide", size=5, lifetime=(0, 2)),
            Buffer(id="bystander", size=1, lifetime=(5, 6)),
        ),
    )
    planned = plan(problem, Options(solver=name, time_limit=PATIENCE))
    assert planned.status is Status.INFEASIBLE
    assert planned.explanation is not None
    assert {"pinned", "wide"} <= set(planned.explanation.buffers)
    assert "bystander" not in planned.explanation.buffers


def test_in_place_pairs_share_where_that_is_best(name: str) -> None:
    problem = Problem(
        version=1,
        buffers=(Buffer(id="x", size=4, lifetime=(0, 2)), Buffer(id="y", size=3, lifetime=(1, 3))),
        in_place=(InPlace(input="x", output="y"),),
    )
    planned = plan(problem, Options(solver=name, time_limit=PATIENCE))
    assert planned.status is Status.OPTIMAL
    assert planned.objective[0].value == 4


def test_a_started_run_is_never_worse_than_its_start(name: str) -> None:
    for seed in range(3):
        problem = crossing(Random(seed), 60)
        start = plan(problem, Options(solver="greedy"))
        planned = plan(problem, Options(solver=name, time_limit=1.0, hint=start))
        assert planned.objective[0].value <= start.objective[0].value
        assert (
            planned.status is not Status.OPTIMAL or planned.objective[0].bound == planned.objective[0].value
        )


def test_a_model_far_too_large_answers_in_time_and_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    problem = crossing(Random(1), 10_000)
    isolated_solver.dismiss()
    events: list[Event] = []
    planned = plan(problem, Options(solver=name, time_limit=2.0), on_event=events.append)
    greedy = min(event.value for event in events if isinstance(event, Incumbent))
    assert planned.status is Status.FEASIBLE
    assert planned.objective[0].value <= greedy
    assert any(isinstance(event, Phase) and event.name == name for event in events)
    wait_for(lambda: not running_children(), "the child to end")
    assert list(tmp_path.iterdir()) == []


def running_children() -> list[int]:
    """Processes started by this one that have not ended."""
    return [child for child in children_of(os.getpid()) if state_of(child) not in ("", "Z", "X")]


def test_a_deterministic_run_gives_the_same_plan_each_time(name: str) -> None:
    problem = crossing(Random(5), 40)
    options = Options(solver=name, deterministic=True, work_limit=30_000_000)
    assert plan(problem, options) == plan(problem, options)


def test_numbers_beyond_its_range_are_declined_by_name(name: str) -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="m", capacity=1 << 62),),
        buffers=tuple(Buffer(id=f"b{i}", size=(1 << 59) + i, lifetime=(0, 1)) for i in range(3)),
        objective=("reuse_cost",),
    )
    with pytest.raises(DeclinedError, match=name):
        plan(problem, Options(solver=name))


@pytest.mark.parametrize("name", ["cbc", "highs"])
def test_work_that_nothing_would_limit_is_declined(name: str) -> None:
    if (reason := BACK_ENDS[name].how_to_get()) is not None:
        pytest.skip(f"{name} needs {reason}")
    buffers = tuple(Buffer(id=f"b{i}", size=16 * (7 + 3 * i % 50), lifetime=(i, i + 60)) for i in range(200))
    pools = (Pool(id="fast", capacity=8192), Pool(id="slow", cost=1))
    problem = Problem(version=1, buffers=buffers, pools=pools)
    with pytest.raises(DeclinedError, match="leave `deterministic` out"):
        plan(problem, Options(solver=name, deterministic=True, work_limit=10_000))
    assert plan(problem, Options(solver=name, time_limit=0.5)).status in (Status.FEASIBLE, Status.OPTIMAL)


def test_what_or_tools_trips_over_is_solved_all_the_same() -> None:
    """Its search for symmetries raises IndexError on this one, which nothing fits."""
    if BACK_ENDS["cpsat"].how_to_get() is not None:
        pytest.skip("the [cpsat] extra is not installed")
    ((_, problem, _),) = problems(1005, 1006, 12)
    reduction = reduce(problem)
    assert isinstance(reduction, Reduction)
    task, _ = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options())
    unheard = Listeners(lambda *_: None, lambda *_: None)
    outcome = IsolatedSolver("cpsat").solve(task, _native.Budget(60.0, -1), unheard)
    assert outcome.failure is None
    assert outcome.misfit


def test_where_cp_sat_dies_another_model_stands_in_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cpsat", "highs"):
        reason = BACK_ENDS[name].how_to_get()
        if reason is not None:
            pytest.skip(f"{name} needs {reason}")
    # All layouts of so few are looked through before a model is.
    monkeypatch.setattr(portfolio, "are_few", lambda _: False)
    dies = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(
        isolated_solver, "take", lambda name: Process(dies if name == "cpsat" else command_for(name))
    )
    problem = Problem(
        version=1,
        pools=(Pool(id="m", alignment=2, reserved=(Reserved(offset=1, size=1),)),),
        buffers=(Buffer(id="a", size=2, lifetime=(0, 2)),),
        objective=("peak", "moves"),
    )
    events: list[Event] = []
    planned = plan(
        problem, Options(hint=Plan(status=Status.FEASIBLE), time_limit=PATIENCE), on_event=events.append
    )
    notes = [event.name for event in events if isinstance(event, Phase) and event.is_note]
    assert any("cpsat" in note and "signal 9" in note for note in notes), notes
    assert (planned.status, planned.prover) == (Status.OPTIMAL, "highs")


def test_a_back_end_that_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda _name: None)
    with pytest.raises(MissingBackEndError, match=r"memstow\[cpsat\]"):
        plan(crossing(Random(1), 3), Options(solver="cpsat"))


def test_a_false_proof_that_nothing_fits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five buffers in a ring need three times the size of one; two of them need less."""

    def claims_too_much(*_: object) -> Outcome:
        return Outcome(None, False, (), "cpsat", misfit=(0, 1))

    monkeypatch.setattr(IsolatedSolver, "solve", claims_too_much)
    problem = Problem(
        version=1,
        pools=(Pool(id="m", capacity=11),),
        buffers=tuple(Buffer(id=name, size=4) for name in "abcde"),
        conflicts=(("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")),
    )
    with pytest.raises(RefusedPlanError, match="the judge has found places for these buffers"):
        plan(problem, Options(solver="cpsat"))
