"""What is written in another format and read again means the same: its best plan is worth as much."""

import json
from typing import cast

import pytest

from memstow.planner.formats import read_problem, write_problem
from memstow.planner.model.errors import InputError
from tests.campaign import gate_first
from tests.independent.brute_force import TooMuchError, best_plan
from tests.independent.documents import ProblemDocument
from tests.independent.door import read
from tests.independent.generator import problem_of
from tests.independent.meaning import Meaning


@pytest.mark.parametrize("name", gate_first(["csv", "executorch", "json", "structured", "usmp"], 2))
def test_what_is_read_again_has_the_same_best_plan(name: str) -> None:
    compared = 0
    for seed in range(4_000, 4_400):
        problem, _hint = problem_of(seed)
        if name == "usmp":
            _forget_times(problem)
        if "moves" in problem.get("objective", []):
            continue
        try:
            written = write_problem(read(problem), name)
        except InputError:
            continue
        again = cast(ProblemDocument, json.loads(write_problem(read_problem(written, name))))
        one, other = Meaning(problem), Meaning(again)
        try:
            mine, yours = best_plan(one), best_plan(other)
        except TooMuchError:
            continue
        compared += 1
        assert (mine is None) == (yours is None), seed
        if mine is not None and yours is not None and one.terms == other.terms:
            assert mine.vector == yours.vector, seed
    assert compared > 5


def _forget_times(problem: ProblemDocument) -> None:
    """Leave the conflicts that are listed, all that the format has."""
    for buffer in problem["buffers"]:
        buffer.pop("lifetime", None)
        buffer.pop("lifetimes", None)
