"""Targets on the command line: listed, printed, given by name or as a file to every command that reads."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from memstow.planner.targets import shipped
from tests.api.cli.conftest import Cli

TARGET = {"version": 1, "pools": [{"id": "p", "capacity": 1024, "alignment": 64}]}


def test_the_targets_are_listed_and_one_is_printed(cli: Cli) -> None:
    listed = cli("targets")
    assert [line.split()[0] for line in listed.out.splitlines()] == list(shipped())
    assert json.loads(cli("targets", "rp2040").out)["name"] == "rp2040"
    refused = cli("targets", "none")
    assert refused.code == Exit.USAGE
    assert "stm32h743" in refused.err


@pytest.fixture
def board(tmp_path: Path) -> Path:
    path = tmp_path / "board.json"
    path.write_text(json.dumps(TARGET))
    return path


def test_a_plan_for_a_target_is_valid_for_that_target(cli: Cli, three: Path, board: Path) -> None:
    plan = three.with_name("plan.json")
    assert cli("solve", three, "--target", board, "--output", plan).code == Exit.DONE
    assert {p["pool"] for p in json.loads(plan.read_text())["placements"]} == {"p"}
    assert cli("verify", three, plan, "--target", board).code == Exit.DONE
    assert cli("verify", three, plan).code == Exit.INVALID
    assert json.loads(cli("convert", three, "-", "--target", board).out)["pools"] == TARGET["pools"]
    facts = json.loads(cli("inspect", three, "--target", board, "--json").out)
    assert [pool["pool"] for pool in facts["pools"]] == ["p"]


def test_what_is_wrong_with_the_target_is_told_apart_from_the_problem(
    cli: Cli, three: Path, board: Path
) -> None:
    board.write_text('{"version": 2, "pools": [{"id": ""}]}')
    ran = cli("solve", three, "--target", board)
    assert ran.code == Exit.USAGE
    assert f"{board}: $.version: " in ran.err
    assert f"{board}: $.pools[0].id: " in ran.err
    missing = cli("solve", three, "--target", "nowhere.json")
    assert (missing.code, "not_found" in missing.err) == (Exit.USAGE, True)
    misspelt = cli("solve", three, "--target", "rp2o40")
    assert "no target of that name comes with memstow" in misspelt.err
    assert "did you mean rp2040?" in misspelt.err


def test_the_capacity_of_the_only_pool_of_a_target_can_be_set(cli: Cli, three: Path, board: Path) -> None:
    written = json.loads(cli("convert", three, "-", "--target", board, "--capacity", "2KiB").out)
    assert written["pools"] == [{"id": "p", "capacity": 2048, "alignment": 64}]


def test_two_files_cannot_both_be_standard_input(cli: Cli) -> None:
    for command in (("solve", "-"), ("inspect", "-"), ("convert", "-", "-"), ("verify", "-", "plan.json")):
        assert "two_stdins" in cli(*command, "--target", "-").err
