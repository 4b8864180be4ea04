"""The tests of pairs agree with counting all the ways chance could have it."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.bench.compare import MOST_EXACT, holm, mean_interval, sign, signed_rank

pytest.importorskip("scipy", reason="comparing runs needs the extra bench")


def _by_all_signs(differences: list[int]) -> float:
    output = [d for d in differences if d]
    if not output:
        return 1.0
    sizes = sorted(abs(d) for d in output)
    rank = {size: (2 * sizes.index(size) + sizes.count(size) + 1) / 2 for size in sizes}
    ranks = [rank[abs(d)] for d in output]
    total = sum(ranks)
    seen = sum(r for r, d in zip(ranks, output, strict=True) if d > 0)
    extreme = min(seen, total - seen)
    sums = [
        sum(r for r, up in zip(ranks, ups, strict=True) if up) for ups in product((0, 1), repeat=len(ranks))
    ]
    return sum(min(s, total - s) <= extreme for s in sums) / len(sums)


@given(st.lists(st.integers(-4, 4), max_size=10))
def test_the_signed_rank_test_counts_every_choice_of_signs(differences: list[int]) -> None:
    assert signed_rank(differences) == pytest.approx(_by_all_signs(differences))


@given(st.lists(st.integers(-1000, 1000), max_size=30))
def test_better_and_worse_are_judged_alike(differences: list[int]) -> None:
    assert signed_rank(differences) == pytest.approx(signed_rank([-d for d in differences]))


def test_beyond_the_exact_test_the_other_one_goes_on_where_it_ended() -> None:
    def uneven(pairs: int) -> list[float]:
        return [k if k % 5 else -k for k in range(1, pairs + 1)]

    for shift in (1, 3):
        exact = signed_rank([(k + 1) * (1 if k % 10 < 4 + shift else -1) for k in range(MOST_EXACT)])
        normal = signed_rank([(k + 1) * (1 if k % 10 < 4 + shift else -1) for k in range(MOST_EXACT + 10)])
        assert normal == pytest.approx(exact, rel=0.5, abs=0.01)
    assert signed_rank(uneven(500)) < signed_rank(uneven(50)) < 0.01


def test_five_of_five_may_be_chance_and_six_of_six_is_not() -> None:
    assert signed_rank([1.0] * 5) > 0.05 > signed_rank([1.0] * 6)


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_sign_test_counts_coin_throws(better: int, worse: int) -> None:
    throws = better + worse
    as_uneven = sum(
        math.comb(throws, heads)
        for heads in range(throws + 1)
        if abs(2 * heads - throws) >= abs(better - worse)
    )
    assert sign(better, worse) == pytest.approx(as_uneven / 2**throws)


def test_the_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    values = [0.1 * k for k in range(30)]
    low, high = mean_interval(values)
    assert low < 1.45 < high
    assert high - low < 1.5
    assert mean_interval(values) == (low, high)
    assert mean_interval([2.0, 2.0]) == (2.0, 2.0)


def test_chances_smaller_than_rounding_are_not_zero() -> None:
    assert signed_rank([1.0 + k for k in range(80)]) == pytest.approx(2 / 2**80)


def test_of_many_chances_each_counts_for_less() -> None:
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_normal_distribution_allows_for_steps_between_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [k if k % 2 else -k for k in range(1, 41)]
    exact = signed_rank(differences)
    monkeypatch.setattr("memstow.planner.bench.compare.MOST_EXACT", 0)
    assert signed_rank(differences) == pytest.approx(exact, rel=0.002)
