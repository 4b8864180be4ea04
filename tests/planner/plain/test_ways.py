"""Searches in columns: classics do the same as with objects; how items are numbered tells nothing."""

from dataclasses import replace

import pytest

from memstow.planner import formats
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.plain.column_documents import PlainPlan, columns_in, plan_of, problem_of
from memstow.planner.solve import column_plans, engine
from memstow.planner.solve.column_plans import plan_columns
from memstow.planner.verify import verify
from memstow.solvers import _native
from tests.planner.plain.samples import random_sample

QUICK = Options(deterministic=True, work_limit=20_000)


def planned(data: bytes, options: Options) -> Plan | str:
    """The plan in columns, or why the solver declines it."""
    columns = columns_in(data)
    assert columns is not None
    try:
        result = plan_columns(columns, options)
    except DeclinedError as error:
        return str(error)
    return plan_of(columns, result) if isinstance(result, PlainPlan) else result


@pytest.mark.parametrize("solver", _native.classics())
def test_a_published_planner_has_the_same_plan(solver: str) -> None:
    options = replace(QUICK, solver=solver)
    in_columns = 0
    for seed in range(40):
        data = random_sample(seed).json()
        columns = columns_in(data)
        if columns is None:
            continue
        in_columns += 1
        try:
            wanted: Plan | str = engine.plan(formats.read_problem(data), options)
        except DeclinedError as error:
            wanted = str(error)
        assert planned(data, options) == wanted
    assert in_columns > 20


def test_items_numbered_by_their_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = []
    for seed in range(120):
        data = random_sample(seed).json()
        columns = columns_in(data)
        if columns is None:
            continue
        options = replace(QUICK, solver=("auto", "exact", "greedy")[seed % 3])
        wanted = planned(data, options)
        with monkeypatch.context() as patched:
            patched.setattr(column_plans, "_MOST_AS_GIVEN", 0)
            plan = planned(data, options)
        assert isinstance(wanted, Plan)
        assert isinstance(plan, Plan)
        assert not verify(problem_of(columns), plan)
        statuses.append((wanted.status, plan.status))
        if Status.OPTIMAL in statuses[-1] and wanted.status == plan.status:
            assert [term.value for term in plan.objective] == [term.value for term in wanted.objective]
        elif plan.status not in PLANNED and wanted.status == plan.status:
            assert plan.explanation == wanted.explanation
            assert [placement.pool for placement in plan.closest] == [
                placement.pool for placement in wanted.closest
            ]
    kinds = {wanted for wanted, entry in statuses if wanted == entry}
    assert {Status.OPTIMAL, Status.INFEASIBLE} <= kinds
    opposite = {Status.INFEASIBLE, *PLANNED}
    assert not any(
        one != other and Status.INFEASIBLE in (one, other) and {one, other} <= opposite
        for one, other in statuses
    )
