"""Proofs for VeriPB: what they say is so, and VeriPB accepts them where it is installed."""

import io
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from memstow import Buffer, Options, Problem, plan, write_pseudo_boolean
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan, TermValue
from memstow.planner.proofs.pseudo_boolean import Encoding, refute_within
from memstow.solvers.core import Budget
from tests.checker.checkers import document_of, tiny_problem
from tests.checker.pseudo_boolean import accepts, has_solution, parse_problem
from tests.checker.test_checker import puzzle
from tests.referee import best

MOST_VARIABLES = 16


def tiny(seed: int) -> Problem:
    """A tiny problem with what there are proofs of for VeriPB."""
    problem = tiny_problem(Random(seed))
    return replace(problem, in_place=())


def refuted(problem: Problem, bound: int, folder: Path) -> tuple[str, str] | None:
    """The problem that no plan is below the bound, and its proof, if there is one."""
    claim = TermValue(term=problem.terms()[0], value=bound, bound=bound, gap=0.0)
    claimed = Plan(status=Status.OPTIMAL, objective=[claim])
    paths = folder / "p.opb", folder / "p.pbp"
    proof = refute_within(problem, claimed, str(paths[0]), str(paths[1]), Budget(-1.0, 3_000_000))
    assert sorted(entry.name for entry in folder.iterdir()) == ([] if proof is None else ["p.opb", "p.pbp"])
    if proof is None:
        return None
    texts = tuple(path.read_text() for path in paths)
    for path in paths:
        path.unlink()
    return texts[0], texts[1]


@pytest.mark.parametrize("seed", range(60))
def test_it_is_proven_just_where_brute_force_says_so(tmp_path: Path, seed: int) -> None:
    problem = tiny(seed)
    _, vector = best(problem)
    if vector is None:
        least = None
    elif vector[0] == 0:
        return
    else:
        least = vector[0]
        assert refuted(problem, least + 1, tmp_path) is None
    answer = plan(problem, Options(deterministic=True))
    if least is None:
        paths = tmp_path / "p.opb", tmp_path / "p.pbp"
        assert write_pseudo_boolean(document_of(problem), answer, *paths) is not None
        texts = paths[0].read_text(), paths[1].read_text()
    else:
        refusals = refuted(problem, least, tmp_path)
        assert refusals is not None
        texts = refusals
    assert accepts(*texts)
    constraints = parse_problem(texts[0])
    if len({abs(one) for each in constraints for one in each.terms}) <= MOST_VARIABLES:
        assert not has_solution(constraints)


def test_the_problem_has_a_solution_where_there_is_a_layout() -> None:
    solved = 0
    for seed in range(200):
        problem = tiny(seed)
        _, vector = best(problem)
        if vector is None or vector[0] == 0:
            continue
        file = io.StringIO()
        Encoding(problem, vector[0]).write(file)
        constraints = parse_problem(file.getvalue())
        if len({abs(one) for each in constraints for one in each.terms}) <= MOST_VARIABLES:
            assert has_solution(constraints)
            solved += 1
    assert solved > 20


def test_sums_of_rows_are_needed_and_right(tmp_path: Path) -> None:
    # Three of a size that do not fit although each pair does.
    problem = Problem(buffers=[Buffer(id=name, size=4, lifetime=(0, 1)) for name in "abc"])
    refusals = refuted(problem, 12, tmp_path)
    assert refusals is not None
    assert " d" in refusals[1]
    assert accepts(*refusals)


def test_a_proof_that_lacks_a_step_or_has_another_is_none(tmp_path: Path) -> None:
    refusals = refuted(puzzle(3, 7, 5, 3), plan(puzzle(3, 7, 5, 3)).objective[0].value, tmp_path)
    assert refusals is not None
    problem, proof = refusals
    assert accepts(problem, proof)
    lines = proof.splitlines()
    without = "\n".join(line for line in lines if not line.startswith("pol"))
    weaker = problem.replace(" >= 0 ;", " >= -1 ;")
    for changed in ((problem, "\n".join(lines[:-1])), (weaker, proof)):
        assert not accepts(*changed)
    if without != proof.rstrip("\n"):
        with pytest.raises((AssertionError, IndexError)):
            assert accepts(problem, without)


def test_the_library_says_what_it_wrote(tmp_path: Path) -> None:
    problem = puzzle(5, 8, 6, 4)
    answer = plan(problem, Options(deterministic=True))
    paths = tmp_path / "p.opb", tmp_path / "p.pbp"
    proof = write_pseudo_boolean(document_of(problem), answer, *paths)
    assert proof is not None
    assert proof.bound == answer.objective[0].value
    assert (
        paths[0].read_text().startswith(f"* #variable= {proof.variables} #constraint= {proof.constraints}\n")
    )
    assert len(paths[1].read_text().splitlines()) == proof.steps + 3


def test_bytes_are_too_many(tmp_path: Path) -> None:
    problem = Problem(
        buffers=[Buffer(id="a", size=1_000_003, lifetime=(0, 1)), Buffer(id="b", size=2, lifetime=(0, 1))]
    )
    with pytest.raises(InputError, match="too many for VeriPB"):
        write_pseudo_boolean(document_of(problem), plan(problem), tmp_path / "p.opb", tmp_path / "p.pbp")
    assert list(tmp_path.iterdir()) == []


def test_without_time_nothing_is_written(tmp_path: Path) -> None:
    problem = puzzle(3, 12, 9, 6)
    answer = plan(problem, Options(deterministic=True))
    assert (
        write_pseudo_boolean(document_of(problem), answer, tmp_path / "p.opb", tmp_path / "p.pbp", 0.0)
        is None
    )
    assert list(tmp_path.iterdir()) == []


def veripb(folder: Path, texts: tuple[str, str]) -> bool:
    """What VeriPB says."""
    paths = folder / "v.opb", folder / "v.pbp"
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    ran = subprocess.run(["veripb", *map(str, paths)], check=False, capture_output=True, text=True)
    return ran.returncode == 0 and "succeeded" in ran.stdout


@pytest.mark.skipif(shutil.which("veripb") is None, reason="VeriPB is not installed")
@pytest.mark.parametrize("seed", range(10))
def test_veripb_accepts_it(tmp_path: Path, seed: int) -> None:
    problem = puzzle(seed, 9, 9, 5)
    refusals = refuted(problem, plan(problem).objective[0].value, tmp_path)
    assert refusals is not None
    assert veripb(tmp_path, refusals)
    lines = refusals[1].splitlines()
    assert not veripb(
        tmp_path, (refusals[0], "\n".join([*lines[:2], "rup >= 1 ;", f"c {lines[1].split()[1]}"]))
    )


def test_of_another_first_term_nothing_is_said(tmp_path: Path) -> None:
    problem = replace(puzzle(1, 4, 4, 3), objective=("reuse_cost", "peak"))
    claim = TermValue(term="reuse_cost", value=5, bound=5, gap=0.0)
    claimed = Plan(status=Status.OPTIMAL, objective=[claim])
    paths = str(tmp_path / "p.opb"), str(tmp_path / "p.pbp")
    assert refute_within(problem, claimed, *paths, Budget(-1.0, 3_000_000)) is None
    assert list(tmp_path.iterdir()) == []
