"""Random problems with any mixture of features."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstow.planner.check import find_issues
from memstow.planner.generate.features import FEATURES
from memstow.planner.generate.random_problems import mixed
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem
from tests.campaign import rounds

mixtures = st.builds(
    mixed,
    st.integers(0, 40),
    st.integers(0, 10**6),
    features=st.sets(st.sampled_from(FEATURES)).map(sorted),
)


def test_without_features_buffers_are_plain() -> None:
    problem = mixed(30, 1)
    assert len(problem.buffers) == 30
    assert {b.alignment for b in problem.buffers} == {1}
    assert all(isinstance(b.lifetime, tuple) and 0 < b.size <= 4096 for b in problem.buffers)


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_shows(feature: str) -> None:
    assert any(mixed(40, seed, features=(feature,)) != mixed(40, seed) for seed in range(5))


def test_an_unknown_feature_is_refused() -> None:
    with pytest.raises(InputError, match="nonsense"):
        mixed(3, 1, features=("nonsense",))


@pytest.mark.rounds
@settings(max_examples=rounds(200))
@given(mixtures)
def test_every_mixture_is_a_valid_problem(problem: Problem) -> None:
    assert find_issues(problem) == []


@pytest.mark.rounds
@settings(max_examples=rounds(100))
@given(mixtures)
def test_pins_are_aligned_within_capacity_and_apart(problem: Problem) -> None:
    for pool in problem.pools:
        taken = [(r.offset, r.offset + r.size) for r in pool.reserved if r.size]
        for buffer in problem.buffers:
            if buffer.pool == pool.id and buffer.offset is not None:
                assert buffer.offset % buffer.alignment == 0 == buffer.offset % pool.alignment
                end = buffer.offset + buffer.size
                assert pool.capacity is None or end <= pool.capacity
                assert all(end <= low or high <= buffer.offset for low, high in taken)
                if buffer.size:
                    taken.append((buffer.offset, end))
