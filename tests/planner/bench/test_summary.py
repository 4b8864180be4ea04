"""Runs are rated against the best known, claims that cannot be true are found, and rows add up."""

from pathlib import Path

import pytest

from memstow.planner.bench.analysis import Row, rate, summary
from memstow.planner.bench.record import Ending, ProgressEvent, Record
from tests.planner.bench.make import made, results


def _row(rows: list[Row], solver: str, family: str = "all") -> Row:
    return next(row for row in rows if (row.solver, row.family) == (solver, family))


def test_a_row_counts_what_a_solver_did(tmp_path: Path) -> None:
    bench = rate(
        results(
            tmp_path,
            made("a", "x", 10, status=Ending.OPTIMAL, bound=10, seconds=1.0),
            made("b", "x", 8, seconds=3.0),
            made("c", "x", status=Ending.DECLINED, seconds=0.1),
            made("a", "y", 20, seconds=3.0),
            made("b", "y", status=Ending.KILLED, seconds=2.0),
            made("d", "y", status=Ending.INFEASIBLE, seconds=0.0),
        ),
        {},
    )
    x, y = (_row(summary(bench), solver) for solver in "xy")
    assert (x.runs, x.missing, x.declined, x.failed, x.solved, x.proven, x.at_best) == (3, 1, 1, 0, 2, 1, 2)
    assert (y.runs, y.missing, y.declined, y.failed, y.solved, y.proven, y.at_best) == (3, 1, 0, 1, 2, 1, 0)
    assert (x.ratio, y.ratio) == (1.0, 2.0)
    # Declined is not measured: the mean of 1 and 3 s, shifted by 1.
    assert x.seconds == pytest.approx((2 * 4) ** 0.5 - 1)
    # What was killed counts with its limit of 10 s.
    assert y.seconds == pytest.approx((4 * 11 * 1) ** (1 / 3) - 1)


def test_families_have_rows_of_their_own(tmp_path: Path) -> None:
    bench = rate(
        results(tmp_path, made("a", "x", 10, family="one"), made("b", "x", 10, family="two")),
        {},
    )
    assert [(row.family, row.runs) for row in summary(bench)] == [("all", 2), ("one", 1), ("two", 1)]


def test_integrals_go_from_the_start_to_the_limit(tmp_path: Path) -> None:
    events = (ProgressEvent(1.0, incumbent=20), ProgressEvent(2.0, bound=5), ProgressEvent(3.0, incumbent=10))
    bench = rate(results(tmp_path, made("a", "x", 10, bound=8, events=events, seconds=4.0)), {})
    (rated,) = bench.rated
    assert rated.primal_integral == pytest.approx(1.0 + 2 * 0.5)
    assert rated.dual_integral == pytest.approx(2.0 + 2 * 0.5 + 6 * 0.2)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (made("a", "y", status=Ending.INFEASIBLE), "nothing fits"),
        (made("a", "y", 12, status=Ending.OPTIMAL, bound=10), "is optimal"),
        (made("a", "y", 12, bound=11), "bound of 11"),
        (made("a", "y", status=Ending.UNKNOWN, events=[ProgressEvent(0.1, bound=11)]), "bound of 11"),
        (made("a", "y", 9, status=Ending.INVALID, violations=("overlap",)), "overlap"),
    ],
)
def test_a_claim_that_a_plan_refutes_is_found(tmp_path: Path, claim: Record, said: str) -> None:
    bench = rate(results(tmp_path, made("a", "x", 10), claim), {})
    (result,) = bench.contradictions
    assert result.run.solver == "y"
    assert said in result.message
    assert not any(rated.proven for rated in bench.rated)


def test_claims_that_agree_are_left_alone(tmp_path: Path) -> None:
    bench = rate(
        results(
            tmp_path,
            made("a", "x", (10, 3), status=Ending.OPTIMAL, bound=10),
            made("a", "y", (10, 4), bound=10),
            made("b", "x", status=Ending.INFEASIBLE),
            made("b", "y"),
            made("c", "x", ()),
            made("c", "y", (), status=Ending.OPTIMAL),
        ),
        {},
    )
    assert bench.contradictions == ()
    assert [rated.solved for rated in bench.rated] == [True, True, True, False, True, True]


def test_what_was_known_before_counts(tmp_path: Path) -> None:
    known = rate(results(tmp_path / "before", made("a", "x", 10)), {}).known
    bench = rate(results(tmp_path / "now", made("a", "x", 15, status=Ending.OPTIMAL)), known)
    assert bench.rated[0].ratio == 1.5
    assert len(bench.contradictions) == 1


def test_what_is_nearly_as_good_is_not_as_good_as_the_best(tmp_path: Path) -> None:
    rows = summary(rate(results(tmp_path, made("a", "x", 1_000), made("a", "y", 1_001)), {}))
    assert (_row(rows, "x").at_best, _row(rows, "y").at_best) == (1, 0)
