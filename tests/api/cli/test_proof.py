"""`memstow solve --proof`: what is written, what is refused before the search, and what the command says."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.api.cli.fakes import FakeEngine
from tests.checker.checkers import VERIFIED, WEAKER, second


def written(folder: Path) -> tuple[bytes, bytes, bytes]:
    return (
        (folder / "three.json").read_bytes(),
        (folder / "plan.json").read_bytes(),
        (folder / "plan.proof").read_bytes(),
    )


def solve_and_prove(cli: Cli, problem: Path, *more: str) -> tuple[int, str, str]:
    folder = problem.parent
    names = ("--output", folder / "plan.json", "--proof", folder / "plan.proof")
    ran = cli("solve", problem, *names, *more)
    return ran.code, ran.out, ran.err


def test_the_proof_is_of_the_plan(cli: Cli, three: Path, tmp_path: Path) -> None:
    code, out, err = solve_and_prove(cli, three)
    assert (code, err) == (Exit.DONE, "")
    assert "plan.proof proves that no plan has a peak below 150 (1 step, " in out
    verdict = second(written(tmp_path), tmp_path)
    assert (verdict.code, verdict.words) == (VERIFIED, "verified: peak 150 is least")
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("more", [("--quiet",), ("--deterministic",), ("--solver", "greedy")])
def test_other_options_change_nothing_of_it(
    cli: Cli, three: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    code, out, _ = solve_and_prove(cli, three, *more)
    assert code == Exit.DONE
    assert ("proves" in out) == ("--quiet" not in more)
    assert second(written(tmp_path), tmp_path).code == VERIFIED


def test_the_plan_of_a_lock_is_proven_as_well(cli: Cli, three: Path, tmp_path: Path) -> None:
    lock = ("--lock", str(tmp_path / "plan.lock"))
    for _ in range(2):
        assert solve_and_prove(cli, three, *lock)[0] == Exit.DONE
        assert second(written(tmp_path), tmp_path).code == VERIFIED
        os.remove(tmp_path / "plan.proof")


def test_that_nothing_fits_is_proven(cli: Cli, three: Path, tmp_path: Path) -> None:
    problem = json.loads(three.read_bytes()) | {"pools": [{"id": "memory", "capacity": 149}]}
    three.write_text(json.dumps(problem))
    code, out, _ = solve_and_prove(cli, three)
    assert code == Exit.INFEASIBLE
    assert "plan.proof proves that nothing fits" in out
    assert second(written(tmp_path), tmp_path).words == "verified: no layout fits into 149 bytes"


def test_a_proof_of_less_says_so(cli: Cli, three: Path, tmp_path: Path) -> None:
    # `b` may share bytes with `a` at 2 alone, where `d` is in its way; for proofs it may at 0, too.
    problem = {
        "version": 1,
        "buffers": [
            {"id": "a", "size": 4, "lifetime": [0, 1], "pool": "memory", "offset": 2},
            {"id": "b", "size": 4, "lifetime": [0, 2]},
            {"id": "d", "size": 1, "lifetime": [1, 2], "pool": "memory", "offset": 5},
        ],
        "in_place": [{"input": "a", "output": "b"}],
    }
    three.write_text(json.dumps(problem))
    code, out, err = solve_and_prove(cli, three)
    assert (code, "proves" in out) == (Exit.DONE, False)
    assert "plan.proof proves only that no plan has a peak below 1, not 10" in err
    verdict = second(written(tmp_path), tmp_path)
    assert (verdict.code, "only that none is below 1" in verdict.words) == (WEAKER, True)


REFUSED: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    (("--capacity", "4096"), {}, "just as its file says it"),
    (("--fit-only",), {}, "just as its file says it"),
    (("--target", "stm32h743"), {}, "just as its file says it"),
    (("--server", "http://localhost:1"), {}, "leave out --server"),
    (("--output", "plan.json", "--proof", "plan.json"), {}, "cannot be the same file"),
    ((), {"pools": [{"id": "one"}, {"id": "two"}]}, "it has several pools"),
    ((), {"relative": [{"buffer": "a", "base": "c", "offset": 0}]}, "it has rigid groups"),
    ((), {"pools": [{"id": "memory", "banks": [{"size": 64}]}]}, "banks"),
    ((), {"objective": ["reuse_cost"]}, "its objective does not begin with the peak"),
]


@pytest.mark.parametrize(("more", "change", "why"), REFUSED)
def test_what_cannot_be_proven_is_refused_before_the_search(
    cli: Cli,
    three: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: FakeEngine,
    more: tuple[str, ...],
    change: dict[str, Any],
    why: str,
) -> None:
    engine.answer = None  # type: ignore[assignment]
    monkeypatch.chdir(three.parent)
    three.write_text(json.dumps(json.loads(three.read_bytes()) | change))
    ran = cli("solve", three, "--proof", "plan.proof", *more)
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert why in ran.err
    assert not (three.parent / "plan.proof").exists()


def test_it_is_no_text_for_standard_output(cli: Cli, three: Path) -> None:
    ran = cli("solve", three, "--proof", "-")
    assert (ran.code, "a proof is binary; name a file" in ran.err) == (Exit.USAGE, True)
