"""The sweep of the judge meets what a look at every pair of lives meets, and counts what is live."""

from array import array
from dataclasses import dataclass, replace
from random import Random

import pytest

from memstow.planner.judge._judge import Sweep, most_occupied
from memstow.planner.model import Status
from memstow.planner.model.plan import Explanation, Placement, Plan
from memstow.planner.model.problem import LIMIT, Buffer, Problem, Relative
from memstow.planner.verify import Code, verify
from memstow.planner.verify.layout import ALONE

Pair = tuple[int, int]


@dataclass(frozen=True)
class Sample:
    """Lives as columns."""

    begins: list[int]
    ends: list[int]
    offsets: list[int]
    sizes: list[int]
    groups: list[int]

    def columns(self) -> "tuple[array[int], array[int], array[int], array[int], array[int]]":
        columns = (self.begins, self.ends, self.offsets, self.sizes, self.groups)
        begins, ends, offsets, sizes, groups = (array("q", column) for column in columns)
        return begins, ends, offsets, sizes, groups

    def meet(self, one: int, other: int) -> bool:
        """Whether the two share a byte at one moment and are not of one group."""
        begins, ends, offsets, sizes = self.begins, self.ends, self.offsets, self.sizes
        return (
            max(begins[one], begins[other]) < min(ends[one], ends[other])
            and max(offsets[one], offsets[other])
            < min(offsets[one] + sizes[one], offsets[other] + sizes[other])
            and (self.groups[one] == ALONE or self.groups[one] != self.groups[other])
        )


def sample_of(seed: int) -> Sample:
    rng = Random(seed)
    count = rng.choice((0, 1, 2, 5, 12, 40))
    height, horizon = rng.choice((6, 40, 400)), rng.choice((4, 30))
    base = rng.choice((0, LIMIT - height))
    groups = rng.choice(((ALONE,), (ALONE, 0), (ALONE, ALONE, 0, 1, 2), (0, 1)))
    begins = [rng.randrange(horizon) - 2 for _ in range(count)]
    return Sample(
        begins,
        [begin + rng.randint(1, horizon) for begin in begins],
        [base + rng.randrange(height) for _ in range(count)],
        [rng.randint(1, height) for _ in range(count)],
        [rng.choice(groups) for _ in range(count)],
    )


@pytest.mark.parametrize("seed", range(120))
def test_those_meet_that_a_look_at_every_pair_shows(seed: int) -> None:
    lives = sample_of(seed)
    count = len(lives.begins)
    sweep, met, batches = Sweep(*lives.columns()), list[Pair](), 0
    while pairs := sweep.next(1 + seed % 7):
        batches += 1
        met += pairs
    assert batches <= len(met)
    expected = {(one, other) for one in range(count) for other in range(one) if lives.meet(one, other)}
    assert sorted({(max(pair), min(pair)) for pair in met}) == sorted(expected)
    assert len(met) == len(expected)
    # The later one is first.
    assert all(lives.begins[one] >= lives.begins[other] for one, other in met)


@pytest.mark.parametrize("seed", range(120))
def test_bytes_are_counted_each_time_and_once(seed: int) -> None:
    lives = sample_of(seed)
    count = len(lives.begins)
    sums, unions = list[Pair](), list[Pair]()
    for now in sorted(set(lives.begins)):
        live = [i for i in range(count) if lives.begins[i] <= now < lives.ends[i]]
        sums.append((sum(lives.sizes[i] for i in live), -now))
        least = min(lives.offsets[i] for i in live)
        cells = {
            cell
            for i in live
            for cell in range(lives.offsets[i] - least, lives.offsets[i] - least + lives.sizes[i])
        }
        unions.append((len(cells), -now))
    sweep = Sweep(*lives.columns())
    while sweep.next(1):
        pass
    if not count:
        assert sweep.most() == most_occupied(*lives.columns()) == (0, 0)
        return
    assert sweep.most() == (max(sums)[0], -max(sums)[1])
    assert most_occupied(*lives.columns()) == (max(unions)[0], -max(unions)[1])


def test_a_sum_beyond_64_bits_is_exact() -> None:
    columns = [array("q", [value] * 5) for value in (0, 1, LIMIT, LIMIT, ALONE)]
    sweep = Sweep(*columns)
    assert len(sweep.next(100)) == 10
    assert sweep.most() == (5 * LIMIT, 0)
    assert most_occupied(*columns) == (LIMIT, 0)


@pytest.mark.parametrize("column", range(5))
def test_lives_that_are_none_are_refused(column: int) -> None:
    values = [0, 1, 0, 1, ALONE]
    # A life that ends before it begins, no bytes, an offset or a group below all, too few.
    values[column] = [1, 0, -1, 0, ALONE - 1][column]
    with pytest.raises(ValueError, match="at least one moment and one byte"):
        Sweep(*(array("q", [value]) for value in values))
    short = [array("q", [0, 0]), array("q", [1, 1]), array("q", [0, 0]), array("q", [1, 1]), array("q", [-1])]
    with pytest.raises(ValueError, match="same number of entries"):
        most_occupied(*short)


def test_times_of_any_length_are_compared() -> None:
    late = 1 << 200
    lives = ((0, late), (late - 1, late + 1), (late, late + 2))
    buffers = tuple(Buffer(id=f"b{i}", size=4, lifetime=life) for i, life in enumerate(lives))
    problem = Problem(version=1, buffers=buffers)
    for offset, wrong in ((4, ["b0", "b1"]), (8, ["b1", "b2"])):
        offsets = (0, 0 if wrong == ["b0", "b1"] else offset, offset)
        placements = tuple(
            Placement(buffer=buffer.id, pool="memory", offset=place)
            for buffer, place in zip(buffers, offsets, strict=True)
        )
        (violation,) = verify(problem, Plan(status=Status.FEASIBLE, placements=placements))
        assert (violation.code, list(violation.buffers)) == (Code.OVERLAP, wrong)
        begin = lives[int(wrong[1][1])][0]
        assert f"live at {begin:,}" in violation.message


def test_no_layout_that_begins_below_the_pool_refutes_that_nothing_fits() -> None:
    pinned = Buffer(id="a", size=4, lifetime=(0, 2), pool="memory", offset=0)
    below = Relative(buffer="b", base="a", offset=-8)
    problem = Problem(version=1, buffers=(pinned, Buffer(id="b", size=4, lifetime=(0, 2))), relative=(below,))
    explanation = Explanation(code="no_layout", message="b is below the pool", buffers=("a", "b"))
    claimed = Plan(status=Status.INFEASIBLE, explanation=explanation)
    assert verify(problem, claimed) == []
    fits = replace(problem, relative=(replace(below, offset=8),))
    assert [violation.code for violation in verify(fits, claimed)] == [Code.EXPLANATION]
