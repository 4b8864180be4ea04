"""What a run has to do with the extras that are installed, or are not."""

from dataclasses import replace
from random import Random

import pytest

from benchmarks.problems import three_pools
from memstow.planner.model import Status
from memstow.planner.model.options import Event, Options, Phase
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.solvers.registry import BACK_ENDS, BackEnd
from tests.waiting import PATIENCE

POOLS = three_pools(Random(0), 60)
WORK = Options(deterministic=True, work_limit=2_000_000)


def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BackEnd, "how_to_get", lambda _self: "it; install with: pip install 'memstow[it]'")


def test_a_deterministic_plan_does_not_depend_on_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    costly = replace(POOLS, objective=("placement_cost", "preference", "peak"))
    before = [plan(POOLS, WORK), plan(costly, WORK)]
    without_extras(monkeypatch)
    assert [plan(POOLS, WORK), plan(costly, WORK)] == before


def test_a_model_that_is_named_is_named_with_its_version_where_a_run_can_be_repeated() -> None:
    reason = BACK_ENDS["cpsat"].how_to_get()
    if reason is not None:
        pytest.skip(f"cpsat needs {reason}")
    pools = (Pool(id="p"), Pool(id="q"))
    buffers = (Buffer(id="a", size=1, lifetime="always"), Buffer(id="b", size=5, lifetime=(0, 1)))
    problem = Problem(version=1, pools=pools, buffers=buffers, objective=("max_peak", "preference"))
    planned = plan(problem, Options(solver="cpsat", deterministic=True))
    assert planned.status is Status.OPTIMAL
    assert planned.prover is not None
    assert planned.prover.startswith("cpsat (OR-tools 9")
    assert plan(problem, Options(solver="cpsat", time_limit=PATIENCE)).prover == "cpsat"


def said(problem: Problem, options: Options) -> list[str]:
    events: list[Event] = []
    plan(problem, options, on_event=events.append)
    return [event.name for event in events if isinstance(event, Phase) and event.is_note]


def test_a_run_without_a_proof_says_once_which_missing_extra_would_do_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_extras(monkeypatch)
    expected = ["assign could do more; it needs it; install with: pip install 'memstow[it]'"]
    assert said(POOLS, Options()) == expected
    assert said(POOLS, WORK) == []
    assert said(POOLS, Options(solver="greedy")) == []
    easy = Problem(version=1, buffers=(Buffer(id="a", size=1, lifetime=(0, 1)),))
    assert said(easy, Options()) == []


@pytest.mark.parametrize(
    ("pool", "prover"),
    [
        (Pool(id="p", capacity=8), "live bytes"),
        (Pool(id="p", capacity=9, base=1, alignment=8), "places"),
    ],
    ids=["too many bytes at once", "nowhere to be"],
)
def test_live_bytes_are_named_only_where_they_are_the_proof(pool: Pool, prover: str) -> None:
    alone = Buffer(id="a", size=5, lifetime=(0, 1))
    planned = plan(Problem(version=1, pools=(pool,), buffers=(alone, replace(alone, id="b"))))
    assert planned.status is Status.INFEASIBLE
    assert planned.prover == prover


def test_least_costs_are_named_where_they_are_the_proof() -> None:
    pools = (Pool(id="p", cost=2), Pool(id="q", cost=3))
    alone = Buffer(id="a", size=5, lifetime=(0, 1))
    planned = plan(Problem(version=1, pools=pools, buffers=(alone,), objective=("placement_cost",)))
    assert (planned.status, planned.prover) == (Status.OPTIMAL, "least costs")
