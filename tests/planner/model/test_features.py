"""Features are counts that can be checked by counting."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.model.features import features_of, overlaps
from memstow.planner.model.problem import Buffer, Problem, profile

Ranges = list[tuple[int, int]]


def problem_of(ranges: Ranges) -> Problem:
    buffers = tuple(
        Buffer(id=f"b{i}", size=8, lifetime=(begin, begin + length))
        for i, (begin, length) in enumerate(ranges)
    )
    return Problem(version=1, buffers=buffers)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=12))
def test_overlaps_are_the_pairs_that_overlap(ranges: Ranges) -> None:
    spans = [(begin, begin + length) for begin, length in ranges if length]
    pairs = sum(max(a[0], b[0]) < min(a[1], b[1]) for a, b in combinations(spans, 2))
    assert overlaps(problem_of(ranges)) == pairs


def test_what_is_not_there_is_not_told() -> None:
    problem = problem_of([(0, 2), (1, 2)])
    assert features_of(problem, profile(problem.buffers)) == {
        "buffers": 2,
        "pools": 1,
        "moments": 3,
        "overlaps": 1,
        "terms": 1,
    }
