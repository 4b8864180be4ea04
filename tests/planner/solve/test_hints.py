"""Plans to start from: no reader takes one that places a buffer twice, and a sound one is not made worse."""

import json
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.planner import formats
from memstow.planner.generate.planted import planted
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.reading.parse import parse_options, parse_problem
from memstow.planner.solve.engine import plan
from tests.planner.refusal import refusal, told
from tests.waiting import PATIENCE

DOCUMENT: dict[str, Any] = {
    "version": 1,
    "buffers": [{"id": "0", "size": 4, "lifetime": [0, 2]}, {"id": "1", "size": 5, "lifetime": [1, 3]}],
    "objective": ["moves", "peak"],
}
PROBLEM = parse_problem(DOCUMENT)
PLACES = (("0", 0), ("1", 4), ("0", 7))
TWICE: dict[str, Any] = {
    "status": "feasible",
    "placements": [{"buffer": name, "pool": "memory", "offset": offset} for name, offset in PLACES],
}
PLAN = Plan(
    status=Status.FEASIBLE,
    placements=tuple(Placement(buffer=name, pool="memory", offset=offset) for name, offset in PLACES),
)
SOLUTION = {"placements": [{"buffer": int(name), "pool": 0, "offset": offset} for name, offset in PLACES]}


@pytest.mark.parametrize(
    ("data", "name", "place"),
    [
        (json.dumps(TWICE), "json", "$.placements[2]"),
        ("id,pool,offset\n0,memory,0\n1,memory,4\n0,memory,7\n", "csv", "line 4, column id"),
        ("id,offset\n0,0\n1,4\n0,0\n", "csv", "line 4, column id"),
        (json.dumps(SOLUTION), "structured", "$.placements[2]"),
    ],
)
def test_a_plan_that_places_a_buffer_twice_is_refused_by_its_name(data: str, name: str, place: str) -> None:
    for form in (name, None):
        (issue,) = refusal(lambda form=form: formats.read_plan(data.encode(), PROBLEM, form))  # type: ignore[misc]
        assert (issue.code, issue.path) == ("repeated_placement", place)
        assert "'0' has a place already" in issue.message


def test_so_it_is_as_a_hint() -> None:
    where = [("repeated_placement", "$.hint.placements[2]")]
    assert told(lambda: parse_options({"hint": TWICE})) == where
    for objective in (["moves", "peak"], ["peak"]):
        problem = parse_problem(DOCUMENT | {"objective": objective})
        assert told(lambda problem=problem: plan(problem, Options(hint=PLAN))) == where  # type: ignore[misc]


def test_the_command_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "problem.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "hint.json").write_text(json.dumps(TWICE))
    (tmp_path / "hint.csv").write_text("id,pool,offset\n0,memory,0\n0,memory,7\n")
    for hint in ("hint.json", "hint.csv"):
        assert main(["solve", str(tmp_path / "problem.json"), "--hint", str(tmp_path / hint)]) == Exit.USAGE
        assert "'0' has a place already" in capsys.readouterr().err


def test_a_run_without_time_is_no_worse_than_its_hint() -> None:
    problem = planted(40, 5)
    nothing = Options(deterministic=True, work_limit=1)
    alone = plan(problem, nothing)
    best = plan(problem, Options(time_limit=60.0))
    assert (best.status, alone.status) == (Status.OPTIMAL, Status.FEASIBLE)
    again = plan(problem, Options(deterministic=True, work_limit=1, hint=best))
    assert again.objective[0].value == best.objective[0].value < alone.objective[0].value


def test_moves_are_counted_of_buffers_with_bytes_that_the_hint_places() -> None:
    """Not those that it leaves out, nor those that are gone; a place in a pool that is gone is a move."""
    document = {
        "version": 1,
        "pools": [{"id": "p"}, {"id": "q"}],
        "buffers": [
            {"id": "stays", "size": 4, "pool": "p"},
            {"id": "goes", "size": 4, "pool": "q"},
            {"id": "gone pool", "size": 4, "pool": "q"},
            {"id": "new", "size": 4},
            {"id": "empty", "size": 0, "pool": "p", "offset": 3},
        ],
        "objective": ["moves"],
    }
    places = {"stays": ("p", 8), "goes": ("p", 0), "gone pool": ("r", 0), "empty": ("p", 7), "old": ("p", 1)}
    hint = Plan(
        status=Status.FEASIBLE,
        placements=tuple(Placement(buffer=b, pool=pool, offset=at) for b, (pool, at) in places.items()),
    )
    planned = plan(parse_problem(document), Options(hint=hint, time_limit=PATIENCE))
    assert (planned.status, [term.value for term in planned.objective]) == (Status.OPTIMAL, [2])
    nowhere = Options(hint=Plan(status=Status.UNKNOWN), time_limit=PATIENCE)
    assert [term.value for term in plan(parse_problem(document), nowhere).objective] == [0]


def test_moves_without_a_hint_are_an_error() -> None:
    with pytest.raises(InputError, match="moves_without_hint"):
        plan(PROBLEM)
