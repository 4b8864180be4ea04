"""Banks on the command line: solved, verified, surveyed, drawn, and what would make room."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli

BANKED = {
    "version": 1,
    "pools": [{"id": "sram", "capacity": 96, "banks": [{"size": 32, "count": 3}]}],
    "buffers": [
        {"id": "x", "size": 24, "lifetime": [0, 3], "within_bank": True},
        {"id": "y", "size": 20, "lifetime": [0, 3], "within_bank": True},
        {"id": "z", "size": 40, "lifetime": [0, 3], "banks": [1, 2]},
    ],
    "bank_conflicts": [{"buffers": ["x", "y"]}, {"buffers": ["x", "z"], "cost": 2}],
    "objective": ["bank_cost", "peak"],
}


@pytest.fixture
def banked(tmp_path: Path) -> Path:
    """A problem with everything that is said of banks."""
    path = tmp_path / "banked.json"
    path.write_text(json.dumps(BANKED))
    return path


def test_it_is_solved_and_the_judge_tells_a_wrong_plan(cli: Cli, banked: Path, tmp_path: Path) -> None:
    output = tmp_path / "plan.json"
    ran = cli("solve", banked, "--output", output, "--deterministic", "--work-limit", "200000")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert cli("verify", banked, output).code == Exit.DONE
    plan = json.loads(output.read_text())
    assert [term["value"] for term in plan["objective"]][:1] == [0]
    for place in plan["placements"]:
        if place["buffer"] == "x":
            place["offset"] = 30
    output.write_text(json.dumps(plan))
    wrong = cli("verify", banked, output)
    assert wrong.code != Exit.DONE
    assert "it must be within one bank" in wrong.out + wrong.err


def test_it_is_surveyed(cli: Cli, banked: Path) -> None:
    assert "3 bound to banks, 2 bank conflicts" in cli("inspect", banked).out
    assert json.loads(cli("inspect", banked, "--json").out)["constraints"]["bank_conflicts"] == 2


def test_the_borders_of_banks_are_drawn(cli: Cli, banked: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    ran = cli("solve", banked, "--deterministic", "--work-limit", "200000", "--picture", picture)
    assert ran.code == Exit.DONE
    assert "bank 1" in ran.out
    assert "bank 1, from 32" in picture.read_text()


@pytest.mark.campaign
def test_what_stands_in_the_way_is_named(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")
    path = tmp_path / "tight.json"
    tight = {
        "version": 1,
        "pools": [{"id": "sram", "capacity": 64, "banks": [{"size": 32, "count": 2}]}],
        "buffers": [
            {"id": "x", "size": 24, "lifetime": [0, 3], "within_bank": True},
            {"id": "y", "size": 24, "lifetime": [0, 3], "within_bank": True},
            {"id": "z", "size": 10, "lifetime": [0, 3], "within_bank": True, "banks": [0, 1]},
        ],
        "bank_conflicts": [{"buffers": ["x", "y"]}],
        "objective": [],
    }
    path.write_text(json.dumps(tight))
    document = json.loads(cli("inspect", path, "--needs", "--json", "--time-limit", "200").out)["needs"]
    assert document["status"] == "infeasible"
    helps = {(one["kind"], one["path"]): one["helps"] for one in document["releases"]}
    assert helps["within_bank", "$.buffers[2].within_bank"]
    assert helps["banks", "$.buffers[2].banks"] is False
    assert helps["bank_conflict", "$.bank_conflicts[0]"] is False


def test_formats_without_banks_refuse_them(cli: Cli, banked: Path, tmp_path: Path) -> None:
    ran = cli("convert", banked, tmp_path / "problem.csv")
    assert ran.code == Exit.USAGE
    assert "bank_conflicts" in ran.err


def test_an_unknown_field_of_banks_is_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    pool = {"id": "sram", "banks": [{"bytes": 32}]}
    path.write_text(json.dumps({**BANKED, "pools": [pool]}))
    ran = cli("solve", path)
    assert ran.code == Exit.USAGE
    assert "$.pools[0].banks[0].bytes" in ran.err


def test_a_conflict_of_one_buffer_is_refused(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(BANKED | {"bank_conflicts": [{"buffers": ["x"], "cost": 1}]}))
    ran = cli("solve", path)
    assert ran.code == Exit.USAGE
    assert "$.bank_conflicts[0].buffers: expected at least two elements" in ran.err
