"""What is remembered of a value: for that very value, and for no longer than it lives."""

import gc
import pickle
from dataclasses import replace

from memstow.planner.check import find_issues
from memstow.planner.model.digest import digest
from memstow.planner.model.problem import Buffer, Problem
from memstow.records import Memo


def problem(size: int = 1) -> Problem:
    return Problem(version=1, buffers=(Buffer(id="a", size=size),))


def test_it_is_remembered_of_the_very_value_and_of_no_equal_one() -> None:
    memo = Memo[Problem, str]()
    one, other = problem(), problem()
    memo.note(one, "seen")
    assert one == other
    assert memo.get(one) == "seen"
    assert memo.get(other) is None
    memo.note(one, "again")
    assert memo.get(one) == "again"
    assert len(memo) == 1


def test_what_is_gone_is_forgotten() -> None:
    memo = Memo[Problem, int]()
    kept = problem()
    memo.note(kept, -1)
    # Addresses are used again: none brings along what was noted of the value before.
    for size in range(1000):
        one = problem(size)
        assert memo.get(one) is None
        memo.note(one, size)
    del one
    gc.collect()
    assert len(memo) == 1
    assert memo.get(kept) == -1


def test_a_changed_copy_has_a_digest_and_a_check_of_its_own() -> None:
    one = problem()
    known = digest(one)
    assert find_issues(one) == []
    changed = replace(one, objective=("nonsense",))
    assert digest(changed) != known
    assert [issue.code for issue in find_issues(changed)] == ["unknown_term"]
    assert [issue.code for issue in find_issues(changed)] == ["unknown_term"]
    assert digest(one) == known


def test_a_problem_travels_without_what_is_known_of_it() -> None:
    one = problem()
    digest(one)
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one
    assert digest(copy) == digest(one)
