"""What is saved in place, against all sets of pairs."""

from random import Random

import pytest

from memstow.planner.graph.live_bytes import most_saved
from tests.campaign import gate_first


def best(size: list[int], pairs: list[tuple[int, int]]) -> int:
    """By trying each pair, with and without."""
    if not pairs:
        return 0
    source, target = pairs[0]
    apart = [pair for pair in pairs[1:] if pair[0] != source and pair[1] != target]
    return max(min(size[source], size[target]) + best(size, apart), best(size, pairs[1:]))


@pytest.mark.parametrize("seed", gate_first(range(300), 100))
def test_no_set_of_pairs_saves_more(seed: int) -> None:
    random = Random(seed)
    size = [random.choice((0, 1, 9, 10, random.randint(1, 30))) for _ in range(12)]
    pairs = [(a, 6 + b) for a in range(6) for b in range(6) if random.random() < random.random()][:20]
    random.shuffle(pairs)
    assert most_saved(size, pairs) == best(size, pairs)


def test_of_very_many_pairs_no_less_is_counted_than_any_set_saves() -> None:
    size = [10, 9, 10, 9] * 1_000
    pairs = [entry for k in range(0, 4_000, 4) for entry in ((k, k + 2), (k, k + 3), (k + 1, k + 2))]
    assert most_saved(size, pairs) == 18 * 1_000
    joined = [(k + 1, k + 6) for k in range(0, 3_996, 4)]
    assert most_saved(size, [*pairs, *joined]) >= 18 * 1_000
