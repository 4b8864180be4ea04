"""Results are read however they were left, and solvers are told apart."""

from pathlib import Path
from typing import Any

import pytest

from memstow.planner.bench.journal import read
from memstow.planner.bench.record import RESULTS, Ending, Layout, to_line
from memstow.planner.model.errors import InputError
from tests.planner.bench.make import made, results


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    records = [made(name, solver, 5) for name in ("b", "a") for solver in ("x", "y")]
    there, back = results(tmp_path / "there", *records), results(tmp_path / "back", *reversed(records))
    assert [run.record for run in there.runs] == [run.record for run in back.runs]


def test_a_line_that_was_cut_is_counted_and_left_out(tmp_path: Path) -> None:
    lines = [to_line(made(name, "x", 5)) for name in ("a", "b")]
    (tmp_path / RESULTS).write_text(f"{lines[0]}\n{lines[1][:100]}")
    result = read(tmp_path)
    assert ([run.instance.name for run in result.runs], result.unreadable) == (["a"], 1)


def test_of_two_records_of_one_run_the_last_counts(tmp_path: Path) -> None:
    outcomes = results(tmp_path, made("a", "x", 9), made("a", "x", 7))
    assert [run.value for run in outcomes.runs] == [(7,)]


def test_plans_stay_in_the_file_until_asked_for(tmp_path: Path) -> None:
    plans = {name: Layout((0, 0), (0, place)) for place, name in enumerate("abc")}
    outcomes = results(tmp_path, *(made(name, "ü", 5, plan=plan) for name, plan in plans.items()))
    assert all(run.record.plan is None for run in outcomes.runs)
    assert {run.instance.name: outcomes.plan(run) for run in outcomes.runs} == plans


def test_one_solver_with_several_options_is_several(tmp_path: Path) -> None:
    outcomes = results(
        tmp_path,
        made("a", "x", 5, options={"time_limit": 1.0}),
        made("a", "x", 5, options={"time_limit": 2.0}),
        made("a", "y", 5, version="1"),
        made("b", "y", 5, version="2"),
        made("a", "z", 5),
    )
    assert outcomes.solvers == ("x (time_limit 1.0)", "x (time_limit 2.0)", "y (1)", "y (2)", "z")


def test_options_are_told_in_short_and_never_for_two_solvers_alike(tmp_path: Path) -> None:
    plain: dict[str, Any] = {"target": None, "time_limit": 10.0, "memory": None}
    targets = [{"name": "board", "pools": [{"capacity": size}]} for size in (1, 2)]
    request = [
        plain,
        *({**plain, "target": target} for target in targets),
        {**plain, "memory": 5, "time_limit": 2},
    ]
    outcomes = results(tmp_path, *(made("a", "x", 10, options=options) for options in request))
    assert len(outcomes.solvers) == 4
    assert {"x (time_limit 10.0)", "x (memory 5; time_limit 2)"} <= set(outcomes.solvers)
    boards = [name for name in outcomes.solvers if name.startswith("x (target board; time_limit 10.0) ")]
    assert len(boards) == 2
    assert not any("," in name for name in outcomes.solvers)


def test_what_holds_no_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text("\n")
    for path, code in ((tmp_path, "no_results"), (tmp_path / "none", "not_found")):
        with pytest.raises(InputError) as refused:
            read(path)
        assert refused.value.issues[0].code == code


def test_a_claim_with_a_plan_that_the_judge_refuses_proves_nothing(tmp_path: Path) -> None:
    optimal = Ending.OPTIMAL
    refused = made("a", "x", 5, status=optimal, violations=("overlap",))
    outcomes = results(tmp_path, refused, made("b", "x", 5, status=optimal), made("c", "x", status=optimal))
    assert [run.proven for run in outcomes.runs] == [False, True, False]
