"""The report of a plan."""

from dataclasses import replace

from memstow.planner.explain.needs import Kind, Need, Needs, Release, Removal
from memstow.planner.model import Status
from memstow.planner.model.plan import Explanation, Least, Live, Plan, PoolUse, TermValue
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.show.report import needs_report, plan_report
from memstow.planner.show.text_picture import ASCII
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
    assert lines.count("fast: 150 B of 128 B") == 1
    assert not any(line.startswith("slow:") for line in lines)


def test_a_pool_with_a_base_shows_the_addresses_that_are_used() -> None:
    problem = replace(PROBLEM, pools=(Pool(id="fast", base=0x20000000), Pool(id="slow")))
    plan = stacked(problem)
    other = PoolUse(pool="slow", capacity=None, peak=0, bound=0, live=Live(bytes=0))
    lines = _report(problem, replace(plan, pools=(*plan.pools, other))).splitlines()
    assert lines[0].split()[-1] == "addresses"
    assert lines[1].split()[-1] == "0x20000000-0x20000096"
    assert lines[2].split()[-1] == "-"
    assert "addresses" not in _report(PROBLEM, stacked(PROBLEM))


def test_a_proof_names_its_kind() -> None:
    term = TermValue(term="peak", value=150, bound=150, gap=0.0, certificate=Least())
    plan = replace(stacked(PROBLEM, Status.OPTIMAL), objective=(term,), prover=None)
    assert "optimal: 2 buffers placed, found by stack, proven (least), 250 ms" in _report(PROBLEM, plan)


def test_a_plan_asked_only_to_fit_claims_no_proof() -> None:
    plan = replace(stacked(PROBLEM, Status.OPTIMAL), objective=())
    report = _report(PROBLEM, plan)
    assert "proven" not in report
    assert "optimal" not in report
    assert "fits: 2 buffers placed" in report
    assert report.splitlines()[1].split()[-1] == "-"


def test_a_pool_has_a_gap_only_where_its_peak_is_the_first_term() -> None:
    pools = (Pool(id="fast", capacity=512), Pool(id="slow"))
    rows = {
        ("peak:fast",): ("40.00 %", "-"),
        ("peak:slow", "peak:fast"): ("-", "0 %"),
        ("placement_cost", "peak"): ("-", "-"),
        ("max_peak",): ("-", "-"),
    }
    for terms, gaps in rows.items():
        plan = stacked(replace(PROBLEM, pools=pools, objective=terms))
        fast = replace(plan.pools[0], peak=150, bound=90)
        slow = PoolUse(pool="slow", capacity=None, peak=0, bound=0, live=Live(bytes=0))
        lines = _report(replace(PROBLEM, pools=pools), replace(plan, pools=(fast, slow))).splitlines()
        assert tuple(line.split(maxsplit=4)[4] for line in lines[1:3]) == gaps


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


def test_what_it_takes_is_told_with_what_is_not_known() -> None:
    problem = Problem(version=1, pools=(Pool(id="p", capacity=8),), buffers=())
    removal = Removal("conflict", "$.conflicts[0]", "'a' and 'b' conflict", lambda: problem)
    plan = Plan(status=Status.INFEASIBLE, explanation=Explanation(code="x", message="too much"))
    pools = (Need("p", 8, 9, 9), Need("q", 8, 9, None), Need("r", 8, 9, 12), Need("s", 8, None, None))
    report = needs_report(Needs(plan, pools, (Release(removal, True), Release(removal, None)), 5))
    rows = [line.split(maxsplit=2) for line in report.splitlines() if line[:1] in "pqrs" and " 8 " in line]
    assert rows == [
        ["p", "8", "9"],
        ["q", "8", "at least 9; enough: not known"],
        ["r", "8", "at least 9; enough: 12"],
        ["s", "8", "no capacity of it alone is enough"],
    ]
    assert "without any one of these:\n  'a' and 'b' conflict ($.conflicts[0])" in report
    assert "6 of 7" in report
    none = needs_report(Needs(plan, (), (Release(removal, None),)))
    assert "not enough" not in none


def test_what_was_tried_in_vain_is_told_by_kind_with_what_is_left_to_do() -> None:
    problem = Problem(version=1, pools=(Pool(id="p", capacity=8),), buffers=())
    plan = Plan(status=Status.INFEASIBLE, explanation=Explanation(code="x", message="too much"))
    kinds: list[Kind] = ["conflict", "alignment", "conflict"]
    tried = tuple(Release(Removal(kind, "$", "x", lambda: problem), False) for kind in kinds)
    pools = (Need("p", 8, 9, 9), Need("q", 8, None, None))
    report = needs_report(Needs(plan, pools, tried))
    assert "tried without one constraint at a time: 2 listed conflicts, 1 alignment of a buffer\n" in report
    assert (
        "any one of them is not enough: it takes more capacity, as above, of p, or smaller buffers" in report
    )
    nowhere = needs_report(Needs(plan, pools[1:], tried))
    assert "it takes more than one change" in nowhere
    nothing = needs_report(Needs(plan, pools))
    assert "no reserved range, alignment, pin, list of pools, conflict or tie stands in the way" in nothing
