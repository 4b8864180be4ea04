"""`memstow verify`."""

import json
from pathlib import Path

import pytest

from api.cli.exits import Exit
from tests.api.cli.conftest import Cli


@pytest.fixture
def plan(cli: Cli, three: Path, tmp_path: Path) -> Path:
    """A good plan for the three buffers."""
    path = tmp_path / "plan.json"
    assert cli("solve", three, "--output", path).code == Exit.DONE
    return path


def _without_the_last(plan: Path) -> None:
    document = json.loads(plan.read_text())
    document["placements"].pop()
    plan.write_text(json.dumps(document))


def test_a_valid_plan_exits_with_0(cli: Cli, three: Path, plan: Path) -> None:
    ran = cli("verify", three, plan)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert ran.out.startswith("valid: optimal, 3 placements, peak 150 in memory")


@pytest.mark.parametrize("form", ["csv", "structured"])
def test_a_plan_in_a_form_without_figures_is_judged_by_its_places(
    cli: Cli, three: Path, tmp_path: Path, form: str
) -> None:
    path = tmp_path / "plan"
    assert cli("solve", three, "--output", path, "--output-format", form).code == Exit.DONE
    ran = cli("verify", three, path)
    assert (ran.code, ran.out) == (Exit.DONE, "valid: 3 placements, peak 150 in memory\n")


def test_an_invalid_plan_exits_with_1_and_lists_what_is_wrong(cli: Cli, three: Path, plan: Path) -> None:
    _without_the_last(plan)
    ran = cli("verify", three, plan)
    assert ran.code == Exit.INVALID
    assert ran.out.startswith("invalid: ")
    assert "'c' has no place [missing]" in ran.out


def test_the_verdict_can_be_json(cli: Cli, three: Path, plan: Path) -> None:
    assert json.loads(cli("verify", three, plan, "--json").out) == {"valid": True, "violations": []}
    _without_the_last(plan)
    ran = cli("verify", three, plan, "--json")
    assert ran.code == Exit.INVALID
    verdict = json.loads(ran.out)
    assert verdict["valid"] is False
    assert ["c"] in [violation["buffers"] for violation in verdict["violations"]]


@pytest.mark.parametrize(
    ("text", "place"),
    [('{"status": 1}', "$.status"), ("id,offset\na,x\n", "line 2, column offset")],
)
def test_an_issue_of_the_plan_is_told_from_one_of_the_problem(
    cli: Cli, three: Path, tmp_path: Path, text: str, place: str
) -> None:
    path = tmp_path / "plan"
    path.write_text(text)
    assert cli("verify", three, path).err.startswith(f"memstow: {path}: {place}: expected")


def test_a_plan_that_is_none_exits_with_2(cli: Cli, three: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    ran = cli("verify", three, broken)
    assert (ran.code, ran.out) == (Exit.USAGE, "")


def test_problem_and_plan_cannot_both_be_standard_input(cli: Cli) -> None:
    assert cli("verify", "-", "-").code == Exit.USAGE


def test_moves_that_cannot_be_counted_are_said_to_be_unchecked(cli: Cli, three: Path, tmp_path: Path) -> None:
    before, after, moving = (tmp_path / name for name in ("before.json", "after.json", "moving.json"))
    assert cli("solve", three, "--output", before).code == Exit.DONE
    moving.write_text(json.dumps({**json.loads(three.read_text()), "objective": ["moves"]}))
    assert cli("solve", moving, "--hint", before, "--output", after).code == Exit.DONE
    unchecked = cli("verify", moving, after)
    assert unchecked.code == Exit.DONE
    assert "`moves` was not checked" in unchecked.err
    assert "--hint" in unchecked.err
    assert cli("verify", moving, after, "--hint", before).err == ""
