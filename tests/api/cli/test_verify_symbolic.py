"""`memstow verify` with a problem whose sizes are formulas."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.api.http.test_symbolic import PLAN, PROBLEM


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "model.json").write_text(json.dumps(PROBLEM))
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    return tmp_path


def test_a_valid_plan_exits_with_0(cli: Cli, files: Path) -> None:
    ran = cli("verify", files / "model.json", files / "plan.json", "--strict")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    first, *claims = ran.out.splitlines()
    assert first == "valid: optimal, 1 order of 2 placements, at most 1 times the least peak at 2 points"
    assert "  'memory' needs at most 16,448 bytes at every value: checked" in claims
    assert "  no layout made for s=16 alone has a peak below 1,056: checked by live bytes" in claims


def test_a_wrong_plan_exits_with_1(cli: Cli, files: Path) -> None:
    wrong = {**PLAN, "worst": 1.5, "bound": 1.25, "status": "feasible"}
    (files / "plan.json").write_text(json.dumps(wrong))
    ran = cli("verify", files / "model.json", files / "plan.json")
    assert ran.code == Exit.INVALID
    assert "invalid: 1 violation\n  the largest ratio of a peak to the least is 1.0, not 1.5" in ran.out
    data = json.loads(cli("verify", files / "model.json", files / "plan.json", "--json").out)
    assert (data["valid"], [violation["code"] for violation in data["violations"]]) == (False, ["worst"])


def test_what_is_only_claimed_fails_where_all_must_be_checked(cli: Cli, files: Path) -> None:
    claimed = {**PLAN, "points": [{**point, "least": point["peak"] - 1} for point in PLAN["points"]]}
    claimed |= {"worst": 1056 / 1055, "bound": 1056 / 1055, "prover": "search"}
    (files / "plan.json").write_text(json.dumps(claimed))
    assert cli("verify", files / "model.json", files / "plan.json", "--strict").code == Exit.DONE
    # Of two orders in which nothing lives together, the judge counts less than what is said to be least.
    problem = {**PROBLEM, "buffers": [{**buffer, "lifetime": None} for buffer in PROBLEM["buffers"]]}
    (files / "model.json").write_text(json.dumps(problem))
    ran = cli("verify", files / "model.json", files / "plan.json")
    assert ran.code == Exit.DONE
    assert "claimed by the plan (search), not checked" in ran.out
    assert cli("verify", files / "model.json", files / "plan.json", "--strict").code == Exit.INVALID


def test_a_plan_may_come_from_standing_input_once(cli: Cli) -> None:
    ran = cli("verify", "-", "-")
    assert ran.code == Exit.USAGE
    assert "two_stdins" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--capacity", "16KiB"), "--capacity: it is not for problems with symbols"),
        (("--recheck",), "--recheck: it is not for"),
        (("--plan-format", "csv"), "--plan-format: it is not for"),
        (("--point", "1"), "--point: it is not for"),
    ],
)
def test_options_of_other_documents_are_refused(
    cli: Cli, files: Path, arguments: tuple[str, ...], said: str
) -> None:
    ran = cli("verify", files / "model.json", files / "plan.json", *arguments)
    assert ran.code == Exit.USAGE
    assert said in ran.err


def test_what_is_no_plan_of_such_a_problem_is_told(cli: Cli, files: Path, three: Path) -> None:
    ran = cli("verify", files / "model.json", three)
    assert ran.code == Exit.USAGE
    assert "which says its `shapes`" in ran.err
    ran = cli("verify", files / "model.json")
    assert ran.code == Exit.USAGE
    assert "name the plan" in ran.err
    (files / "model.json").write_text(json.dumps({**PROBLEM, "buffers": [{"id": "a", "size": "s -"}]}))
    ran = cli("verify", files / "model.json", files / "plan.json")
    assert ran.code == Exit.USAGE
    assert "model.json: $.buffers[0].size" in ran.err


def test_fixed_offsets_and_no_plan_are_told_in_words(cli: Cli, files: Path) -> None:
    places = [
        {"buffer": "mask", "pool": "memory", "offset": 0},
        {"buffer": "scores", "pool": "memory", "offset": 64},
    ]
    fixed = {"status": "feasible", "shapes": "fixed", "placements": places}
    (files / "plan.json").write_text(json.dumps(fixed))
    ran = cli("verify", files / "model.json", files / "plan.json")
    assert ran.out.startswith("valid: feasible, 2 placements for every value\n")
    assert "checked by the largest sizes (2 at a corner of the range)" in ran.out
    (files / "plan.json").write_text(json.dumps({"status": "unknown", "shapes": "pieces"}))
    assert cli("verify", files / "model.json", files / "plan.json").out.startswith("valid: unknown\n")
