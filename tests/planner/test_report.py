"""The report of a plan."""

from dataclasses import replace

from planner.picture import ASCII
from planner.plan import Least, Live, Plan, PoolUse, Status, TermValue
from planner.problem import Buffer, Pool, Problem
from planner.report import plan_report
from tests.api.cli.fakes import infeasible, stacked, unknown

PROBLEM = Problem(
    version=1,
    buffers=(Buffer(id="a", size=100, lifetime=(0, 2)), Buffer(id="b", size=50, lifetime=(2, 4))),
)


def _report(problem: Problem, plan: Plan) -> str:
    return plan_report(problem, plan, 60, ASCII)


def test_an_objective_of_several_terms_has_a_table_of_its_own() -> None:
    plan = stacked(replace(PROBLEM, objective=("reuse_cost", "peak")))
    lines = _report(PROBLEM, plan).splitlines()
    assert lines[3].split() == ["objective", "value", "bound", "gap"]
    assert [line.split()[0] for line in lines[4:6]] == ["reuse_cost", "peak"]


def test_the_peak_alone_has_no_table_of_its_own() -> None:
    assert "objective" not in _report(PROBLEM, stacked(PROBLEM))


def test_each_of_several_pools_has_a_row_and_a_picture() -> None:
    problem = replace(PROBLEM, pools=(Pool(id="fast", capacity=128), Pool(id="slow")))
    plan = stacked(problem)
    other = PoolUse(pool="slow", capacity=None, peak=0, bound=0, live=Live(bytes=0))
    lines = _report(problem, replace(plan, pools=(*plan.pools, other))).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["fast", "slow"]
    assert lines.count("fast") == 1
    assert "slow" not in lines


def test_a_proof_names_its_kind() -> None:
    term = TermValue(term="peak", value=150, bound=150, gap=0.0, certificate=Least())
    plan = replace(stacked(PROBLEM, Status.OPTIMAL), objective=(term,), prover=None)
    assert "optimal: 2 buffers placed, found by stack, proven (least), 250 ms" in _report(PROBLEM, plan)


def test_a_plan_asked_only_to_fit_claims_no_proof() -> None:
    plan = replace(stacked(PROBLEM, Status.OPTIMAL), objective=())
    assert "proven" not in _report(PROBLEM, plan)


def test_why_nothing_fits_is_told_in_full() -> None:
    assert _report(PROBLEM, infeasible(PROBLEM)).splitlines() == [
        "infeasible: proven in 10 ms that no plan fits",
        "  the buffers live at 3 need 300 bytes and the pool has 100",
        "  pool      memory",
        "  time      3",
        "  needed    300",
        "  capacity  100",
        "  buffers   a, b",
    ]


def test_no_plan_and_no_proof_tells_how_close_it_came() -> None:
    text = _report(PROBLEM, unknown(PROBLEM))
    assert text.startswith("unknown: no plan that fits was found in 1.50 s")
    assert "needs 130 in memory, 30 more than its capacity of 100" in text
