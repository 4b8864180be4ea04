"""`memstow verify`."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.commands.verify import MOST_SHOWN
from memstow.api.cli.terminal import Exit
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
    assert ran.code == Exit.DONE
    first, *claims = ran.out.splitlines()
    assert first == "valid: 3 placements, peak 150 in memory"
    assert claims == ["  every buffer has a place, and no two that conflict share a byte: checked"]


def test_an_invalid_plan_exits_with_1_and_lists_what_is_wrong(cli: Cli, three: Path, plan: Path) -> None:
    _without_the_last(plan)
    ran = cli("verify", three, plan)
    assert ran.code == Exit.INVALID
    assert ran.out.startswith("invalid: ")
    assert "'c' has no place [missing]" in ran.out


@pytest.mark.parametrize(("unknown", "more"), [(40, ""), (41, "  and 1 more\n")])
def test_of_many_violations_the_first_are_listed_and_the_others_counted(
    cli: Cli, tmp_path: Path, unknown: int, more: str
) -> None:
    """60 buffers without a place, and places of buffers that are none."""
    problem, plan = tmp_path / "problem.json", tmp_path / "plan.json"
    buffers = [{"id": f"b{i}", "size": 1, "lifetime": [i, i + 1]} for i in range(60)]
    places = [{"buffer": f"x{i}", "pool": "memory", "offset": 0} for i in range(unknown)]
    problem.write_text(json.dumps({"version": 1, "buffers": buffers}))
    plan.write_text(json.dumps({"status": "feasible", "placements": places}))
    ran = cli("verify", problem, plan)
    assert ran.code == Exit.INVALID
    count = len(json.loads(cli("verify", problem, plan, "--json").out)["violations"])
    first, *lines = ran.out.splitlines(keepends=True)
    assert first == f"invalid: {count} violations\n"
    assert sum(line.endswith("]\n") for line in lines) == MOST_SHOWN
    assert ("".join(lines[MOST_SHOWN:]).startswith(more)) or not more
    assert any("more" in line for line in lines[MOST_SHOWN:]) is bool(more)


def test_violations_that_are_not_listed_are_counted_too(cli: Cli, tmp_path: Path) -> None:
    problem, plan = tmp_path / "problem.json", tmp_path / "plan.json"
    buffers = [{"id": f"b{i}", "size": 1, "lifetime": [i, i + 1]} for i in range(103)]
    problem.write_text(json.dumps({"version": 1, "buffers": buffers}))
    plan.write_text(json.dumps({"status": "feasible", "placements": []}))
    first, *lines = cli("verify", problem, plan).out.splitlines()
    listed = json.loads(cli("verify", problem, plan, "--json").out)["violations"]
    total = 103 + sum(issue["code"] != "missing" for issue in listed)
    assert first == f"invalid: {total} violations"
    assert lines[MOST_SHOWN] == f"  and {total - MOST_SHOWN} more"


def test_the_verdict_can_be_json(cli: Cli, three: Path, plan: Path) -> None:
    good = json.loads(cli("verify", three, plan, "--json").out)
    assert (good["valid"], good["checked"], good["violations"]) == (True, True, [])
    assert {claim["standing"] for claim in good["claims"]} == {"checked"}
    assert {"subject": "bound", "name": "peak", "says": "no plan has peak below 150"}.items() <= good[
        "claims"
    ][-1].items()
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


def claiming(plan: Path, bound: int) -> None:
    """The plan, with a bound by the word of a search."""
    document = json.loads(plan.read_text())
    value = document["objective"][0]["value"]
    document["objective"][0] |= {
        "bound": bound,
        "gap": (value - bound) / value,
        "certificate": {
            "kind": "exhausted",
            "solver": "exact",
            "refuted": [{"height": bound - 1, "nodes": 7}],
        },
    }
    document["pools"][0] |= {"bound": bound}
    document["status"] = "optimal" if bound == value else "feasible"
    plan.write_text(json.dumps(document))


def test_what_is_only_claimed_is_said_to_be(cli: Cli, three: Path, plan: Path) -> None:
    claiming(plan, 150)
    ran = cli("verify", three, plan)
    assert ran.code == Exit.DONE
    version = json.loads(plan.read_text())["version"]
    assert f"no plan has peak below 150: claimed by memstow {version} (exact), not checked" in ran.out
    document = json.loads(cli("verify", three, plan, "--json").out)
    assert document["valid"]
    assert not document["checked"]
    claimed = {claim["subject"] for claim in document["claims"] if claim["standing"] == "claimed"}
    assert claimed == {"bound", "pool_bound"}, "the bound of the pool is that of the term"


def test_strict_fails_where_something_is_only_claimed(cli: Cli, three: Path, plan: Path) -> None:
    assert cli("verify", three, plan, "--strict").code == Exit.DONE
    claiming(plan, 150)
    assert cli("verify", three, plan, "--strict").code == Exit.INVALID


def test_recheck_solves_again(cli: Cli, three: Path, plan: Path) -> None:
    claiming(plan, 150)
    ran = cli("verify", three, plan, "--strict", "--recheck", "--time-limit", "60")
    assert ran.code == Exit.DONE
    assert "no plan has peak below 150: checked by solving again" in ran.out


def test_an_untrue_claim_that_nothing_fits_is_refuted(cli: Cli, three: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    why = {"code": "no_layout", "message": "trust me", "buffers": ["a"]}
    path.write_text(json.dumps({"status": "infeasible", "explanation": why}))
    ran = cli("verify", three, path)
    assert ran.code == Exit.INVALID
    assert "the judge has found places" in ran.out
