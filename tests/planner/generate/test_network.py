"""Problems like those of neural networks."""

import pytest

from memstow.planner.generate.network import network
from memstow.planner.model.live_profile import profile


@pytest.mark.parametrize("n", [1, 2, 17, 300, 5_000])
def test_there_are_n_tensors_of_sizes_that_occur(n: int) -> None:
    problem = network(n, 4)
    assert len(problem.buffers) == n
    assert all(0 < b.size < 1 << 30 and b.size % 4 == 0 for b in problem.buffers)
    assert {b.alignment for b in problem.buffers} == {64}


def test_every_tensor_lives_and_something_lives_at_every_moment() -> None:
    problem = network(500, 2)
    steps = profile(problem.buffers)
    assert min(steps.live) > 0
    assert steps.times[0] == 0


def test_some_tensors_live_long_and_most_do_not() -> None:
    lengths = sorted(
        b.lifetime[1] - b.lifetime[0] for b in network(2_000, 3).buffers if isinstance(b.lifetime, tuple)
    )
    assert lengths[1_000] <= 3
    assert lengths[-1] >= 20


def test_one_seed_is_one_problem() -> None:
    assert network(200, 1) == network(200, 1)
    assert network(200, 1) != network(200, 2)


def test_in_place_pairs_meet_in_one_moment() -> None:
    problem = network(400, 5, in_place=True)
    assert problem.in_place
    lives = {b.id: b.lifetime for b in problem.buffers}
    for pair in problem.in_place:
        source, made = lives[pair.input], lives[pair.output]
        assert isinstance(source, tuple)
        assert isinstance(made, tuple)
        assert source[1] == made[0] + 1
    assert network(400, 5).in_place == ()
