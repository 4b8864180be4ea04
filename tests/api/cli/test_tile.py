"""Tiles on the command line."""

import io
import json
import sys
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from memstow.api.http.samples import LAYER
from tests.api.cli.conftest import Cli
from tests.tflite_models import small_model


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer.json"
    path.write_text(json.dumps(LAYER))
    return path


def test_one_operator_in_detail(cli: Cli, layer: Path) -> None:
    ran = cli("tile", layer, "--operator", "conv", "--front")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "no tile that fits moves fewer" in ran.out
    assert "weights" in ran.out
    assert "channels are" in ran.out


def test_the_result_is_the_same_in_a_file_and_on_the_screen(cli: Cli, layer: Path) -> None:
    made = layer.with_name("tiles.json")
    ran = cli("tile", layer, "--operator", "conv", "--json", "--output", made)
    result = json.loads(ran.out)
    assert result == json.loads(made.read_text())
    assert (result["complete"], result["replayed"], result["capacity"]) == (True, True, 2048)
    for name, document in (("problem", result["problem"]), ("plan", result["plan"])):
        layer.with_name(f"{name}.json").write_text(json.dumps(document))
    assert cli("verify", layer.with_name("problem.json"), layer.with_name("plan.json")).code == Exit.DONE


def test_all_operators_have_a_line_each(cli: Cli, layer: Path, tmp_path: Path) -> None:
    ran = cli("tile", layer)
    assert ran.code == Exit.DONE
    assert "1 operator moves" in ran.out
    model = tmp_path / "model.tflite"
    model.write_bytes(small_model())
    ran = cli("tile", model, "--capacity", "64KiB", "--json")
    assert [tiling["operator"] for tiling in json.loads(ran.out)["tilings"]] == ["0", "1"]


def test_what_fits_no_tile_ends_with_a_code_of_its_own(cli: Cli, layer: Path) -> None:
    ran = cli("tile", layer, "--capacity", "8")
    assert ran.code == Exit.INFEASIBLE
    assert "needs" in ran.out
    assert "smallest needs" in cli("tile", layer, "--capacity", "8", "--operator", "conv").out
    assert cli("tile", layer, "--work", "1").code == Exit.UNKNOWN
    assert "were looked at" in cli("tile", layer, "--operator", "conv", "--work", "1").out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--operator", "convv"], "--operator: "),
        (["--objective", "speed"], "--objective: "),
        (["--multiple", "rows=x"], "--multiple: "),
        (["--im2col", "all"], "--im2col: "),
        (["--pool", "l3"], "--pool: "),
        (["--home", "l3"], "--home: "),
        (["--front"], "--front: "),
        (["--capacity", "1MiB"], "--capacity: the pool"),
        (["--target", "rp2o40"], "did you mean rp2040"),
    ],
)
def test_what_is_wrong_names_its_option(cli: Cli, layer: Path, words: list[str], text: str) -> None:
    ran = cli("tile", layer, *words)
    assert ran.code == Exit.USAGE
    assert text in ran.err


def test_a_problem_and_an_operator_without_tiles_are_refused(cli: Cli, three: Path, tmp_path: Path) -> None:
    assert "not_a_graph" in cli("tile", three).err
    graph = {
        "version": 1,
        "tensors": [{"id": "x", "size": 4}, {"id": "y", "size": 4}],
        "operators": [{"id": "f", "inputs": ["x"], "outputs": ["y"]}],
        "inputs": ["x"],
    }
    path = tmp_path / "plain.json"
    path.write_text(json.dumps(graph))
    ran = cli("tile", path, "--capacity", "64", "--operator", "f")
    assert (ran.code, "no_tiles" in ran.err) == (Exit.USAGE, True)
    assert "no tiles: f" in cli("tile", path, "--capacity", "64").out


def test_tiles_are_verified_from_a_file_and_from_standard_input(
    cli: Cli, layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = layer.with_name("tiles.json")
    for words in (["--operator", "conv", "--front"], []):
        printed = cli("tile", layer, *words, "--json", "--output", made).out
        ran = cli("verify", layer, made, "--strict")
        assert (ran.code, ran.err) == (Exit.DONE, "")
        assert ran.out.startswith("valid: 1 operator")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(printed.encode())))
        assert cli("verify", layer, "-").out == ran.out
    wrong = json.loads(made.read_text())
    wrong["tilings"][0]["capacity"] += 1
    made.write_text(json.dumps(wrong))
    ran = cli("verify", layer, made, "--json")
    assert ran.code == Exit.INVALID
    (violation,) = json.loads(ran.out)["violations"]
    assert violation["code"] == "tiling"
    assert "2049" in violation["message"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--hint", "tiles.json"], "--hint: it is for plans"),
        (["--point", "1"], "--point: it is for plans"),
        (["--recheck"], "--recheck: it is for plans"),
        (["--plan-format", "csv"], "--plan-format: it is for plans"),
        (["--output", "plan.json"], "--output: it is for plans"),
        (["--capacity", "64"], "--capacity: it is for plans"),
        (["--fit-only"], "--fit-only: it is for plans"),
        (["--order", "free"], "--order: it is for plans"),
        (["--no-in-place"], "--no-in-place: it is for plans"),
    ],
)
def test_options_about_plans_are_refused_for_tiles(
    cli: Cli, layer: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], text: str
) -> None:
    monkeypatch.chdir(layer.parent)
    cli("tile", layer, "--output", layer.with_name("tiles.json"))
    ran = cli("verify", layer, layer.with_name("tiles.json"), *words)
    assert (ran.code, text in ran.err) == (Exit.USAGE, True), ran.err


def test_verify_says_that_not_all_tiles_were_looked_at(cli: Cli, layer: Path) -> None:
    made = layer.with_name("tiles.json")
    cli("tile", layer, "--operator", "conv", "--front", "--output", made)
    assert "not all tiles" not in cli("verify", layer, made).out
    raw = json.loads(made.read_text())
    raw |= {"complete": False, "bound": None, "front": raw["front"][1:]}
    made.write_text(json.dumps(raw))
    ran = cli("verify", layer, made)
    assert ran.code == Exit.DONE
    assert "points of a front may be missing, of conv" in ran.out


def test_tiles_of_a_problem_cannot_be_judged(cli: Cli, layer: Path, three: Path) -> None:
    cli("tile", layer, "--output", layer.with_name("tiles.json"))
    ran = cli("verify", three, layer.with_name("tiles.json"))
    assert "name the graph" in ran.err


def test_tiles_in_the_place_of_a_plan_are_told(cli: Cli, layer: Path) -> None:
    made = layer.with_name("tiles.json")
    for words in ((), ("--operator", "conv")):
        cli("tile", layer, *words, "--output", made)
        for arguments in (("view", made, "--problem", layer), ("solve", layer, "--hint", made)):
            ran = cli(*arguments)
            assert ran.code == Exit.USAGE
            assert "these are tiles of operators" in ran.err
