"""Problems like those of neural networks."""

import pytest

from memstow.planner.generate.network import network
from memstow.planner.model.problem import profile


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


@pytest.mark.parametrize("n", [1, 2, 5, 17, 60, 300, 1_000, 3_001])
def test_a_training_step_has_n_buffers(n: int) -> None:
    for seed in range(4):
        problem = network(n, seed, training=True)
        assert len({b.id for b in problem.buffers}) == n
        assert all(0 < b.size < 1 << 40 and b.size % 4 == 0 for b in problem.buffers)
        assert problem == network(n, seed, training=True)


def test_a_training_step_keeps_activations_until_their_way_back() -> None:
    problem = network(2_000, 3, training=True)
    lives = {b.id: b.lifetime for b in problem.buffers}
    ends = {name: life[1] for name, life in lives.items() if isinstance(life, tuple)}
    begins = {name: life[0] for name, life in lives.items() if isinstance(life, tuple)}
    loss = begins["loss.gradient"]
    kept = [name for name in lives if begins[name] < loss < ends[name]]
    assert len(kept) > len(lives) // 10
    # Gradients are made in the opposite order.
    assert loss < begins["t40.gradient"] < begins["t3.gradient"]
    horizon = max(ends.values())
    throughout = [name for name in lives if begins[name] == 0 and ends[name] == horizon]
    assert any(name.endswith(".weights") for name in throughout)
    assert any(name.endswith(".second_moment") for name in throughout)
    fullest = profile(problem.buffers)
    assert 0 < fullest.live.index(max(fullest.live)) < len(fullest.live) - 1


def test_buffers_of_a_training_step_may_share_in_place() -> None:
    problem = network(2_000, 5, training=True, in_place=True)
    assert problem.in_place
    lives = {b.id: b.lifetime for b in problem.buffers}
    for pair in problem.in_place:
        source, made = lives[pair.input], lives[pair.output]
        assert isinstance(source, tuple)
        assert isinstance(made, tuple)
        assert source[1] == made[0] + 1
