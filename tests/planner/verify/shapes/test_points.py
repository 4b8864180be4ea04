"""What a plan says of its points: forged figures are refused, and claims are told from what is counted."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Placement
from memstow.planner.model.problem import Pool, term_of
from memstow.planner.model.symbolic import (
    MOST_POINTS,
    Point,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
    digest_symbolic,
    with_sizes,
)
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import Standing, Subject, Verdict
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.symbolic_sizes import LiveBound
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from memstow.planner.verify.verdict import Code, Findings
from tests.planner.verify.shapes.made import everywhere, plan_of, sizes_at, some_order, some_problem
from tests.planner.verify.shapes.test_orders import buffer, codes, order

IT = SymbolicProblem(
    symbols=[Symbol(id="s", min=1, max=4)],
    points=[Point(at={"s": 1}), Point(at={"s": 4})],
    buffers=[buffer("a", "s", 0, 2), buffer("b", 4, 1, 3, alignment=4), buffer("c", "s", 2, 4)],
)
GOOD = SymbolicPlan(
    status=Status.OPTIMAL,
    shapes="order",
    # At s=1: b [0, 4), a 4, c 4. At s=4: 8.
    orders=[order(("a", "b"), ("b", ""), ("c", "b"))],
    points=[PointPeak(at={"s": 1}, peak=5, least=5), PointPeak(at={"s": 4}, peak=8, least=8)],
    worst=1.0,
    bound=1.0,
    digest=digest_symbolic(IT),
)


def standing(verdict: Verdict) -> dict[tuple[Subject, str | None], Standing]:
    return {(claim.subject, claim.name): claim.standing for claim in verdict.claims}


def test_all_that_is_counted_is_checked() -> None:
    judged = judge_symbolic(IT, GOOD)
    assert judged.valid
    assert not judged.unchecked
    assert standing(judged) == {
        (Subject.SIZES, None): Standing.CHECKED,
        (Subject.PLACES, None): Standing.CHECKED,
        (Subject.EVERYWHERE, "memory"): Standing.CHECKED,
        (Subject.PEAK_AT, "s=1"): Standing.CHECKED,
        (Subject.LEAST_AT, "s=1"): Standing.CHECKED,
        (Subject.PEAK_AT, "s=4"): Standing.CHECKED,
        (Subject.LEAST_AT, "s=4"): Standing.CHECKED,
        (Subject.WORST, None): Standing.CHECKED,
        (Subject.BOUND, "worst"): Standing.CHECKED,
    }


def points(*figures: tuple[int, int, int]) -> tuple[PointPeak, ...]:
    return tuple(PointPeak(at={"s": s}, peak=peak, least=least) for s, peak, least in figures)


@pytest.mark.parametrize(
    ("plan", "code", "part"),
    [
        (replace(GOOD, points=points((1, 4, 4), (4, 8, 8))), Code.PEAK, "the peak at s=1 is 5, not 4"),
        (replace(GOOD, points=points((1, 5, 6), (4, 8, 8))), Code.LEAST, "cannot be 6: the plan needs 5"),
        (replace(GOOD, points=points((1, 5, 5))), Code.POINT, "does not say what it needs at s=4"),
        (replace(GOOD, points=points((1, 5, 5), (4, 8, 8), (2, 6, 6))), Code.POINT, "s=2 is not among"),
        (replace(GOOD, points=points((1, 5, 5), (4, 8, 8), (4, 8, 8))), Code.POINT, "s=4 is there twice"),
        (replace(GOOD, points=points((1, 5, 5), (9, 8, 8))), Code.POINT, "says s=9, which it does not take"),
        (
            replace(GOOD, points=(*GOOD.points, PointPeak(at={"t": 1}, peak=1, least=1))),
            Code.POINT,
            "does not say 's'",
        ),
        (replace(GOOD, worst=1.5), Code.WORST, "is 1.0, not 1.5"),
        (replace(GOOD, worst=None), Code.WORST, "not unsaid"),
        (replace(GOOD, points=()), Code.POINT, "does not say"),
        (replace(GOOD, bound=1.25), Code.BOUND, "above the ratio"),
        (replace(GOOD, bound=None), Code.STATUS, "optimal"),
        (replace(GOOD, points=points((1, 5, 0), (4, 8, 8))), Code.WORST, "no largest ratio"),
        (replace(GOOD, points=points((1, 5, 4), (4, 8, 8)), worst=1.25), Code.STATUS, "optimal"),
        (replace(GOOD, digest="f" * 64), Code.DIGEST, "another problem"),
        (
            replace(GOOD, explanation=Explanation(code="over_capacity", message="no")),
            Code.EXPLANATION,
            "there is an explanation",
        ),
    ],
)
def test_forged_figures_are_refused(plan: SymbolicPlan, code: Code, part: str) -> None:
    judged = judge_symbolic(IT, plan)
    assert code in codes(judged)
    assert any(part in violation.message for violation in judged.violations), judged.violations


def test_the_largest_ratio_is_rounded_once() -> None:
    one_third = replace(
        GOOD, status=Status.FEASIBLE, points=points((1, 5, 3), (4, 8, 7)), worst=5 / 3, bound=None
    )
    assert judge_symbolic(IT, one_third).valid
    above = replace(one_third, worst=5 / 3 + 2**-50)
    assert codes(judge_symbolic(IT, above)) == [Code.WORST]


def test_a_plan_may_speak_of_as_many_points_as_a_problem_has() -> None:
    values = range(1, MOST_POINTS + 1)
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=MOST_POINTS)],
        points=[Point(at={"s": s}) for s in values],
        buffers=[buffer("a", "s")],
    )
    said = points(*((s, s, s) for s in values))
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order(("a", ""))], points=said)
    assert judge_symbolic(problem, replace(plan, worst=1.0)).valid
    assert Code.POINT in codes(judge_symbolic(problem, replace(plan, worst=1.0, points=said[:-1])))


@pytest.mark.parametrize(("values", "valid"), [(8, True), (9, False)])
def test_values_without_points_have_few_combinations(values: int, valid: bool) -> None:
    symbols = [
        Symbol(id=name, min=1, max=99, values=list(range(1, n + 1))) for name, n in (("s", values), ("t", 8))
    ]
    problem = SymbolicProblem(symbols=symbols, buffers=[buffer("a", "s + t")])
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order(("a", ""))])
    assert (Code.INVALID_PROBLEM in codes(judge_symbolic(problem, plan))) is not valid
    chosen = replace(problem, points=(Point(at={"s": 1, "t": 1}),))
    assert judge_symbolic(chosen, plan).valid


def test_what_a_search_has_found_stays_a_claim() -> None:
    # Only 8 bytes are ever live together, of which no order needs 12.
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=4, values=(4,))],
        buffers=[buffer("a", "s", 0, 2), buffer("b", "s", 1, 3), buffer("c", "s", 2, 4)],
    )
    plan = SymbolicPlan(
        status=Status.FEASIBLE,
        shapes="order",
        orders=[order(("a", ""), ("b", "a"), ("c", "b"))],
        points=points((4, 12, 10)),
        worst=1.2,
        bound=1.1,
        prover="search",
        version="1.2",
    )
    judged = judge_symbolic(problem, plan)
    assert judged.valid
    assert [(claim.subject, claim.by) for claim in judged.unchecked] == [
        (Subject.LEAST_AT, "memstow 1.2 (search)"),
        (Subject.BOUND, "memstow 1.2 (search)"),
    ]


def test_a_bound_is_checked_where_live_bytes_show_it() -> None:
    modest = replace(GOOD, status=Status.FEASIBLE, points=points((1, 5, 4), (4, 8, 8)), worst=1.25)
    judged = judge_symbolic(IT, replace(modest, bound=1.25, status=Status.OPTIMAL))
    assert judged.valid
    assert not judged.unchecked


def test_nothing_is_needed_where_all_sizes_are_zero() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=0, max=1)], buffers=[SymbolicBuffer(id="a", size="s", lifetime=(0, 1))]
    )
    plan = SymbolicPlan(
        status=Status.OPTIMAL,
        shapes="fixed",
        placements=[Placement(buffer="a", pool="memory", offset=0)],
        points=points((0, 0, 0), (1, 1, 1)),
        worst=1.0,
        bound=1.0,
    )
    assert judge_symbolic(problem, plan).valid


def test_pieces_have_the_least_peak_of_their_orders() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=9, values=(1, 9))],
        buffers=[buffer("a", "s", alignment=8), buffer("b", 5)],
    )
    up, down = order(("a", ""), ("b", "a")), order(("a", "b"), ("b", ""))
    plan = SymbolicPlan(
        status=Status.FEASIBLE,
        shapes="pieces",
        orders=[up, down],
        points=points((1, 6, 6), (9, 14, 14)),
        worst=1.0,
    )
    assert judge_symbolic(problem, plan).valid
    alone = replace(plan, shapes="order", orders=(down,))
    assert codes(judge_symbolic(problem, alone)) == [Code.PEAK, Code.PEAK]


class TestNothingFits:
    it = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=8)],
        pools=[Pool(id="memory", capacity=20)],
        buffers=[buffer("a", "s"), buffer("b", "2*s"), buffer("c", 1, 5, 6)],
    )

    @staticmethod
    def plan(code: str = "over_capacity", **rest: object) -> SymbolicPlan:
        explanation = Explanation(code=code, message="too much", **rest)  # type: ignore[arg-type]
        return SymbolicPlan(status=Status.INFEASIBLE, shapes="order", explanation=explanation)

    def test_it_is_shown_at_a_value(self) -> None:
        said = self.plan(pool="memory", time=0, needed=24, capacity=20, buffers=("a", "b"))
        judged = judge_symbolic(self.it, said)
        assert judged.valid
        assert judged.claims[-1].standing_text == "checked by counting at s=8"

    def test_what_is_not_counted_is_claimed(self) -> None:
        judged = judge_symbolic(self.it, self.plan("no_layout", buffers=("a", "b")))
        assert judged.valid
        assert [claim.subject for claim in judged.unchecked] == [Subject.NOTHING_FITS]

    def test_a_layout_refutes_it(self) -> None:
        roomy = replace(self.it, pools=(Pool(id="memory", capacity=24),))
        judged = judge_symbolic(roomy, self.plan("no_layout", buffers=("a", "b")))
        assert codes(judged) == [Code.EXPLANATION]
        assert judged.claims[-1].standing is Standing.REFUTED

    def test_unknown_needs_no_reason(self) -> None:
        assert judge_symbolic(self.it, SymbolicPlan(status=Status.UNKNOWN, shapes="order")).valid


@pytest.mark.parametrize("seed", range(6))
def test_what_is_counted_of_a_point_is_never_above_the_least_peak(seed: int) -> None:
    random = Random(seed)
    sharp = 0
    for _ in range(40):
        one_plan = some_problem(random)
        at = random.choice(list(everywhere(one_plan)))
        at_point = with_sizes(one_plan, sizes_at(one_plan, at))
        if find_issues(at_point):
            continue
        index = ProblemIndex(at_point, Findings())
        bound = LiveBound(index, term_of(one_plan.objective[0])).at(sizes_at(one_plan, at))
        best = solve(at_point, Options(deterministic=True))
        if best.status is Status.OPTIMAL:
            value = best.objective[0].value
            assert bound <= value, (one_plan, at)
            sharp += bound == value
    assert sharp > 5


@pytest.mark.parametrize("seed", range(4))
def test_figures_of_random_plans(seed: int) -> None:
    random = Random(seed)
    judged = 0
    while judged < 10:
        sample = some_problem(random)
        orders = [some_order(random, sample) for _ in range(random.randint(1, 3))]
        bare = SymbolicPlan(status=Status.FEASIBLE, shapes="pieces", orders=orders)
        if not judge_symbolic(sample, bare).valid:
            continue
        judged += 1
        plan = replace(plan_of(sample, orders), shapes="pieces")
        assert judge_symbolic(sample, plan).valid
        first = plan.points[0]
        higher = replace(first, peak=first.peak + 1)
        wrong = judge_symbolic(sample, replace(plan, points=(higher, *plan.points[1:])))
        assert Code.PEAK in codes(wrong)
