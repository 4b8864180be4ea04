"""`memstow generate`."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli, script
from tests.waiting import PATIENCE


@pytest.mark.parametrize("kind", ["planted", "network", "random"])
def test_every_kind_writes_a_problem_of_n_buffers(cli: Cli, kind: str) -> None:
    ran = cli("generate", kind, "--n", "37", "--seed", "5")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    document = json.loads(ran.out)
    assert len(document["buffers"]) == 37
    assert document["name"].startswith(f"{kind} n=37 seed=5")


@pytest.mark.parametrize("kind", ["planted", "network", "random"])
def test_the_same_seed_gives_the_same_bytes_in_another_process(cli: Cli, kind: str) -> None:
    from tests.api.cli.conftest import door

    with door("0", "generate", kind, "--n", "50", "--seed", "9") as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert out.decode() == cli("generate", kind, "--n", "50", "--seed", "9").out
    assert out.decode() != cli("generate", kind, "--n", "50", "--seed", "10").out


def test_the_name_of_the_file_chooses_the_format(cli: Cli, tmp_path: Path) -> None:
    assert cli("generate", "planted", "--n", "10", "--output", tmp_path / "p.csv").code == Exit.DONE
    assert (tmp_path / "p.csv").read_text().startswith("id,")


def test_every_feature_is_accepted_alone_and_together(cli: Cli) -> None:
    from memstow.planner.generate.features import FEATURES

    for features in (*FEATURES, "all", "pools,pins"):
        assert cli("generate", "random", "--n", "12", "--features", features).code == Exit.DONE


def test_an_unknown_feature_is_a_usage_error_that_lists_them(cli: Cli) -> None:
    ran = cli("generate", "random", "--features", "pols")
    assert ran.code == Exit.USAGE
    assert "pools" in ran.err


def test_more_tiles_than_cells_is_an_error(cli: Cli) -> None:
    ran = cli("generate", "planted", "--n", "100", "--height", "3", "--horizon", "3")
    assert ran.code == Exit.USAGE
    assert "3 units of size x 3 moments" in ran.err


def test_a_kind_is_needed() -> None:
    assert script("generate").returncode == Exit.USAGE


@pytest.mark.parametrize(
    "arguments",
    ["planted --alignment 0", "planted --height 0", "network --alignment 0KiB", "random --largest 0"],
)
def test_an_amount_that_must_be_there_is_not_nothing(cli: Cli, arguments: str) -> None:
    ran = cli("generate", *arguments.split())
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert "it must be at least 1" in ran.err


def test_a_folder_that_is_not_there_is_told_before_anything_is_made(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "none" / "big.csv"
    ran = cli("generate", "planted", "--n", 10_000_000, "--output", path)
    assert ran.code == Exit.USAGE
    assert (
        ran.err
        == f"memstow: {path}: there is no such folder; name a file that can be written [not_writable]\n"
    )


@pytest.mark.parametrize("family", ["attention", "random"])
def test_symbolic_problems_are_the_same_every_time_and_readable(cli: Cli, family: str) -> None:
    from memstow.planner.formats.native import read_symbolic, write_symbolic

    arguments = ("generate", "symbolic", "--n", "37", "--family", family, "--symbols", "2")
    ran = cli(*arguments, "--seed", "5")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    problem = read_symbolic(ran.out.encode())
    assert write_symbolic(problem).decode() == ran.out
    assert (len(problem.buffers), len(problem.symbols)) == (37, 2)
    assert ran.out == cli(*arguments, "--seed", "5").out
    assert ran.out != cli(*arguments, "--seed", "6").out


def test_features_of_symbolic_problems_are_of_the_random_family(cli: Cli) -> None:
    from memstow.planner.generate.features import SYMBOLIC_FEATURES

    random = ("generate", "symbolic", "--n", "12", "--family", "random")
    for features in (*SYMBOLIC_FEATURES, "all", "pools,pins"):
        assert cli(*random, "--features", features).code == Exit.DONE
    assert "there are: all, alignments" in cli(*random, "--features", "pols").err
    for arguments in (("--features", "pins"), ("--symbols", "3")):
        ran = cli("generate", "symbolic", *arguments)
        assert ran.code == Exit.USAGE
        assert "family random" in ran.err
