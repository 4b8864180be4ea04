"""What the first greedy passes prove is the plan of the whole run; all else is left to the run."""

import random
import re
from dataclasses import replace

import pytest

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import (
    PlainPlan,
    columns_in,
    digest,
    is_in_order,
    plan_as_json,
    plan_of,
    problem_of,
)
from memstow.planner.solve.column_plans import plan_at_once, plan_columns
from memstow.planner.verify import verify
from tests.planner.plain.samples import random_sample

RUN = Options(workers=1, time_limit=20.0)


def at_once(columns: Columns, options: Options = RUN) -> PlainPlan | None:
    return plan_at_once(columns, digest(columns), options, min(5.0, options.time_limit))


def text(columns: Columns, plan: PlainPlan) -> bytes:
    """The plan without how long it took."""
    return re.sub(rb'\n  "seconds".*', b"", plan_as_json(columns, plan))


def problems(count: int) -> list[Columns]:
    result = (columns_in(random_sample(seed).json()) for seed in range(count))
    return [columns for columns in result if columns is not None]


def test_it_is_the_plan_of_the_whole_run() -> None:
    odd, result, left = random.Random(5), 0, 0
    for columns in problems(400):
        options = replace(RUN, seed=odd.randrange(3))
        plan = at_once(columns, options)
        if plan is None:
            left += 1
            continue
        result += 1
        assert plan.frame.status is Status.OPTIMAL
        whole = plan_columns(columns, options)
        assert isinstance(whole, PlainPlan)
        assert text(columns, plan) == text(columns, whole)
        problem = problem_of(columns)
        assert not verify(problem, plan_of(columns, plan, problem))
    assert result > 100
    assert left > 10


def test_a_plan_is_written_as_the_ordinary_writer_has_it() -> None:
    for columns in problems(60):
        plan = at_once(columns)
        if plan is not None:
            problem = problem_of(columns)
            written = formats.write_plan(problem, plan_of(columns, plan, problem))
            assert plan_as_json(columns, plan) == written


@pytest.mark.parametrize(
    "options",
    [
        replace(RUN, deterministic=True),
        replace(RUN, gap=0.1),
        replace(RUN, work_limit=10),
        replace(RUN, solver="first-fit"),
        replace(RUN, solver="exact"),
    ],
)
def test_what_may_begin_in_another_way_is_left_to_the_run(options: Options) -> None:
    assert all(at_once(columns, options) is None for columns in problems(20))


def buffers(ids: str, size: int, capacity: int | None = None) -> Columns:
    listed = ", ".join(f'{{"id": "{name}", "size": {size}, "lifetime": [0, 1]}}' for name in ids)
    limit = "" if capacity is None else f', "pools": [{{"id": "m", "capacity": {capacity}}}]'
    columns = columns_in(f'{{"version": 1, "buffers": [{listed}]{limit}}}'.encode())
    assert columns is not None
    return columns


def test_what_does_not_fit_is_left_to_the_run() -> None:
    assert at_once(buffers("ab", 4, 8)) is not None
    assert at_once(buffers("ab", 4, 7)) is None
    assert at_once(buffers("ab", 8, 7)) is None


def test_sizes_that_add_up_to_too_much_are_left_to_the_run() -> None:
    assert at_once(buffers("abcde", (1 << 62) - 1)) is None
    assert at_once(buffers("a", (1 << 62) - 1)) is not None


def test_many_buffers_are_left_to_the_run() -> None:
    names = [chr(ord("一") + number) for number in range(101)]
    assert at_once(buffers("".join(names[:100]), 4)) is not None
    assert at_once(buffers("".join(names), 4)) is None


def test_a_plan_of_the_same_buffers_in_another_order_is_known_as_such() -> None:
    columns, other = buffers("abc", 4), buffers("cab", 4)
    plan = at_once(columns)
    assert plan is not None
    written = plan_as_json(columns, plan)
    assert is_in_order(columns, written)
    assert not is_in_order(other, written)
    assert not is_in_order(buffers("ab", 4), written)
    assert not is_in_order(columns, b"{}")
