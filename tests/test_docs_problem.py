"""docs/problem.md: its examples work as they stand, and no field of the schema is missing from it."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from memstow.planner import targets
from memstow.planner.formats import read_problem
from memstow.planner.graph.documents import retarget
from memstow.planner.model import Status, options, plan, problem
from memstow.planner.reading.parse import parse_options, parse_plan, parse_target
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import verify

# docs/order.md says what these are.
OF_ORDERS = (plan.Chain, plan.Way, plan.Cut, plan.DeadSet, plan.RefutedOrders)
PAGE = (Path(__file__).parents[1] / "docs" / "problem.md").read_text(encoding="utf-8")


def examples(kind: str) -> list[str]:
    """The fenced blocks of that kind."""
    return re.findall(rf"```json {kind}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", examples("problem"))
def test_each_problem_gets_a_valid_plan(text: str) -> None:
    sample = read_problem(text.encode())
    planned = solve(sample, options.Options(solver="greedy", time_limit=5.0))
    assert planned.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert verify(sample, planned) == []


@pytest.mark.parametrize("text", examples("options"))
def test_each_set_of_options_is_understood(text: str) -> None:
    raw = json.loads(text)
    read = parse_options(raw)
    assert all(getattr(read, name) is not None for name in raw)


def test_the_target_is_understood_and_every_problem_without_names_can_have_it() -> None:
    (text,) = examples("target")
    read = parse_target(json.loads(text))
    small = read_problem(b"id,lower,upper,size\na,0,2,64\n")
    assert retarget(small, read).pools == read.pools


def test_the_plan_is_understood_and_valid() -> None:
    (text,) = examples("plan")
    small = {
        "version": 1,
        "buffers": [
            {"id": "a", "size": 4, "lifetime": [0, 2]},
            {"id": "b", "size": 6, "lifetime": [1, 3]},
        ],
    }
    sample = read_problem(json.dumps(small).encode())
    assert verify(sample, parse_plan(json.loads(text))) == []


@pytest.mark.parametrize("module", [problem, options, plan, targets], ids=lambda module: module.__name__)
def test_every_field_is_on_the_page(module: Any) -> None:
    for name, holder in vars(module).items():
        of_schema = hasattr(holder, "__pydantic_config__") and holder not in OF_ORDERS
        if of_schema and holder.__module__ == module.__name__:
            for field in dataclasses.fields(holder):
                assert f"`{field.name}`" in PAGE or f'"{field.name}"' in PAGE, (name, field.name)
