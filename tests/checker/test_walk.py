"""The steps of a proof in words: each lemma that the conclusion rests on, once."""

import re
from pathlib import Path

import pytest

import memstow
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.proofs import walk as walks
from memstow.planner.proofs import walk_order
from memstow.planner.proofs.walk_order import walk_of
from tests.checker.checkers import document_of
from tests.checker.test_checker import TIED, TWO, by_hand, placed, puzzle, tied


def proven(problem: Problem, folder: Path) -> Path:
    path = folder / "plan.proof"
    proof = memstow.prove(document_of(problem), memstow.plan(problem), path)
    assert proof is not None
    return path


def with_lemmas(folder: Path) -> tuple[Problem, Path]:
    """A problem whose proof has some."""
    for seed in range(100):
        problem = puzzle(seed, 12, 8, 5)
        path = proven(problem, folder)
        walk = walk_of(problem, problem, path)
        if walk is not None and len(walk.steps) > 3 and walk.more == 0:
            return problem, path
    raise AssertionError("no proof has lemmas")


def test_live_bytes_are_one_step(tmp_path: Path) -> None:
    problem = Problem(buffers=[Buffer(id=name, size=4, lifetime=(0, 1)) for name in "abc"])
    walk = walk_of(problem, problem, proven(problem, tmp_path))
    assert walk is not None
    (step,) = walk.steps
    assert step.text == "No plan has a peak below 12: 3 buffers of 12 bytes would share the 8 from 0 to 8."
    assert (step.buffers, walk.more) == ((0, 1, 2), 0)


def test_each_lemma_that_is_needed_is_told_once(tmp_path: Path) -> None:
    problem, path = with_lemmas(tmp_path)
    walk = walk_of(problem, problem, path)
    assert walk is not None
    matches = [re.match(r"Lemma ([\d,]+): ", step.text) for step in walk.steps[1:]]
    numbers = [match[1] for match in matches if match is not None]
    assert len(numbers) == len(walk.steps) - 1 == len(set(numbers))
    named = {number for step in walk.steps for number in re.findall(r"lemma ([\d,]+)", step.text)}
    assert named == set(numbers)
    assert all(step.buffers for step in walk.steps[1:])


def test_every_rule_has_words(tmp_path: Path) -> None:
    path = tmp_path / "plan.proof"
    problem = memstow.read_problem(by_hand(TWO, placed(0, 4))[0])
    for rule, words in (
        ((0, 3, 0, 9, 2, 0, 0), "2 buffers of 10 bytes would share the 9 from 0 to 9."),
        ((1, 0, 0, 1, 0, 2, 2), "If a is at most at 0: then a buffer has no place left. Else it, or what"),
        ((2, 0, 4, 1, 0, 2, 2), "If a is at least at 4: then a buffer has no place left. Else it, or what"),
    ):
        path.write_bytes(by_hand(TWO, placed(0, 4), 1, 2, 0, 0, 4, 0, 0, 2, *rule, 3, 9, 4, 1, 0, 2)[2])
        walk = walk_of(problem, problem, path)
        assert walk is not None
        assert [step.text.startswith("Lemma 0") for step in walk.steps] == [False, True]
        assert words in walk.steps[1].text


def test_splits_say_where_ties_count(tmp_path: Path) -> None:
    path = tmp_path / "plan.proof"
    problem = memstow.read_problem(by_hand(TWO, placed(0, 4))[0])
    lemma = (1, 2, 0, 0, 4, 0, 0, 2, 1, 0, 0, 1, 0, 2, 2, 3, 9, 4, 1)
    for ties, words in (
        (1, "is on top of another, or starts where one in place does: "),
        (0, "is on top of another: "),
    ):
        path.write_bytes(by_hand(TWO, placed(0, 4), 10, 1, 10, ties, *lemma, 0, 4)[2])
        walk = walk_of(problem, problem, path)
        assert walk is not None
        assert words in walk.steps[1].text


def test_groups_pools_and_lemmas_that_are_forgotten_are_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.proof"
    numbers = (1, 2, 0, 0, 4, 0, 0, 8, 0, 2, 2, 1, 3, 15, 5, 0, 5, 2, 1, 0, 1, 2, 1, 1, 5, 2, 1, 0, 2, 0, 3)
    path.write_bytes(by_hand(TIED, tied(0, 10, 6), *numbers)[2])
    problem = memstow.read_problem(by_hand(TIED, tied(0, 10, 6))[0])
    walk = walk_of(problem, problem, path)
    assert walk is not None
    assert [step.text for step in walk.steps] == [
        "No plan has a peak below 16: then a buffer has no place left."
    ]
    two = Problem(
        pools=[Pool(id="x", capacity=6), Pool(id="y", capacity=6)],
        buffers=[Buffer(id=name, size=4, lifetime=(0, 1)) for name in "abc"],
        objective=["max_peak"],
    )
    walk = walk_of(two, two, proven(two, tmp_path))
    assert walk is not None
    assert walk.steps[0].text.startswith("No plan has a peak below 7: ")


def test_what_is_too_long_or_concludes_nothing_has_no_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(buffers=[Buffer(id="a", size=4, lifetime=(0, 1))])
    path = proven(problem, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(walk_order, "MOST_BYTES", 10)
        assert walk_of(problem, problem, path) is None
    path.write_bytes(by_hand(TWO, placed(0, 4), 0, 0)[2])
    assert walk_of(problem, problem, path) is None
    puzzled, path = with_lemmas(tmp_path)
    whole = walk_of(puzzled, puzzled, path)
    monkeypatch.setattr(walks, "MOST_STEPS", 2)
    part = walk_of(puzzled, puzzled, path)
    assert whole is not None
    assert part is not None
    assert (part.steps, part.more) == (whole.steps[:2], len(whole.steps) - 2)
