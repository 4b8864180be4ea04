"""What others need beside a path, against all moments of all orders, and of some with other runs."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest

from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import CutLevel, PathCut, Wires, cuts_beside
from tests.campaign import rounds

_NOBODY = -1


def _wires(random: Random, count: int) -> Wires:
    """Each operator makes one or two tensors, reads some of those before, and may run again."""
    size, maker, reads, read_start = array("q"), array("q"), array("q"), array("q", [0])
    for _ in range(random.randint(0, 2)):
        size.append(random.randint(1, 9))
        maker.append(_NOBODY)
    for operator in range(count):
        there = range(len(size))
        reads.extend(sorted(random.sample(there, min(len(there), random.randint(0, 3)))))
        read_start.append(len(reads))
        for _ in range(random.choice((1, 1, 2))):
            size.append(random.randint(1, 9))
            maker.append(operator)
    to_end = array("q", (random.random() < 0.2 for _ in size))
    again = array("q", (random.choice((-1, 0, 1, 2, 5)) for _ in range(count)))
    return Wires(
        size=size,
        maker=maker,
        to_end=to_end,
        read_start=read_start,
        reads=reads,
        again=again,
        part_again=again,
    )


def _once(wires: Wires) -> Wires:
    nothing = array("q", [-1]) * len(wires.again)
    return replace(wires, again=nothing, part_again=nothing)


def _read(wires: Wires, operator: int) -> list[int]:
    return list(wires.reads[wires.read_start[operator] : wires.read_start[operator + 1]])


def _path(wires: Wires, random: Random) -> list[int]:
    """Each reads what the one before makes."""
    path = [random.randrange(len(wires.read_start) - 1)]
    while True:
        made = {tensor for tensor, maker in enumerate(wires.maker) if maker == path[-1]}
        then = [
            operator for operator in range(len(wires.read_start) - 1) if made & set(_read(wires, operator))
        ]
        if not then or random.random() < 0.1:
            return path
        path.append(random.choice(then))


def _orders(wires: Wires) -> Iterator[tuple[int, ...]]:
    for order in permutations(range(len(wires.read_start) - 1)):
        at = {operator: place for place, operator in enumerate(order)}
        if all(
            wires.maker[tensor] == _NOBODY or at[wires.maker[tensor]] < at[operator]
            for operator in order
            for tensor in _read(wires, operator)
        ):
            yield order


def _live(wires: Wires, done: set[int], left_out: set[int]) -> int:
    """What is there after these have run, and read by others or left in the end."""
    count = len(wires.read_start) - 1
    wanted = {
        tensor for operator in range(count) if operator not in done for tensor in _read(wires, operator)
    }
    return sum(
        size
        for tensor, (size, maker, to_end) in enumerate(
            zip(wires.size, wires.maker, wires.to_end, strict=True)
        )
        if (maker in done or maker == _NOBODY) and (tensor in wanted or to_end) and tensor not in left_out
    )


@pytest.mark.rounds
def test_no_order_needs_less_beside_a_path() -> None:
    met = 0
    for seed in range(rounds(60)):
        random = Random(seed)
        wires = _wires(random, random.randint(2, 6))
        path = _path(wires, random)
        cuts = cuts_beside(_once(wires), path, Budget(-1.0, -1))
        for at, operator in enumerate(path):
            own = {tensor for tensor, maker in enumerate(wires.maker) if maker == operator}
            used = own | set(_read(wires, operator))
            handed = own & set(_read(wires, path[at + 1])) if at + 1 < len(path) else set()
            running, after = [], []
            for order in _orders(wires):
                place = order.index(operator)
                before = set(order[:place])
                running.append(_live(wires, before, used))
                until = order.index(path[at + 1]) if at + 1 < len(path) else place
                after += [_live(wires, set(order[:end]), handed) for end in range(place + 1, until + 1)]
            (level,) = cuts[at].levels
            assert level.running <= min(running), seed
            assert level.after <= min(after, default=0), seed
            met += level.after == min(after, default=0) > 0
    assert met


@pytest.mark.rounds
def test_what_runs_again_for_less_adds_to_the_cost() -> None:
    """Each part of the path has a level of which all its moments are, and their costs add up."""
    saved = 0
    for seed in range(rounds(400)):
        random = Random(seed)
        wires = _wires(random, random.randint(3, 7))
        path = _path(wires, random)
        cuts = cuts_beside(wires, path, Budget(-1.0, -1))
        for cut in cuts:
            costs = [level.cost for level in cut.levels]
            assert costs == sorted({0, *costs})
        for _ in range(10):
            runs = _runs(wires, random)
            more = sum(wires.again[operator] for operator in runs) - sum(wires.again)
            least = _least_added(wires, path, cuts, runs)
            assert least <= more, (seed, runs)
            saved += least > 0
    assert saved


def _runs(wires: Wires, random: Random) -> list[int]:
    """An order in which some operators run again, after they have run."""
    runs = list(range(len(wires.again)))
    for _ in range(random.randint(0, 4)):
        end = random.randint(1, len(runs))
        several = [operator for operator in runs[:end] if wires.again[operator] >= 0]
        runs[end:end] = sorted(random.sample(several, random.randint(0, min(3, len(several)))))
    return runs


def _least_added(wires: Wires, path: Sequence[int], cuts: Sequence[PathCut], runs: Sequence[int]) -> int:
    """What the levels add that these moments are of."""
    # From the last run of the last one, each time the run that makes what is read.
    at_run: list[int] = []
    end = len(runs)
    for operator in reversed(path):
        end = max(at for at in range(end) if runs[at] == operator)
        at_run.insert(0, end)
    handed = [_handed(wires, path, at) for at in range(-1, len(path))]
    added = least = 0
    for at, (operator, cut) in enumerate(zip(path, cuts, strict=True)):
        if not cut.continues:
            added, least = added + least, 0
        used = {
            *_read(wires, operator),
            *(tensor for tensor, maker in enumerate(wires.maker) if maker == operator),
        }
        running = _live_after(wires, runs, at_run[at] - 1, used)
        until = at_run[at + 1] if at + 1 < len(path) else at_run[at]
        moments = range(at_run[at], until)
        after = [_live_after(wires, runs, run, handed[at + 1]) for run in moments]
        beside_read = [
            [_live_after(wires, runs, run, handed[at + 1] | handed[read]) for run in moments]
            for read in range(at + 1)
        ]
        levels = (
            level
            for level in cut.levels
            if level.running <= running
            and all(level.after <= size for size in after)
            and all(
                bound <= size
                for bound, sizes in zip(level.beside_read, beside_read, strict=False)
                for size in sizes
            )
        )
        least = max(least, next(levels).cost)
    return added + least


def _handed(wires: Wires, path: Sequence[int], at: int) -> set[int]:
    """What an operator of the path makes for the next one; at -1, what is there from the start."""
    if at + 1 == len(path):
        return set()
    maker = _NOBODY if at < 0 else path[at]
    return {tensor for tensor in _read(wires, path[at + 1]) if wires.maker[tensor] == maker}


def _there_after(wires: Wires, runs: Sequence[int], run: int) -> set[int]:
    """What a later run reads, or is left in the end, of what is there after one run; -1: at the start."""
    there = {
        tensor for tensor, maker in enumerate(wires.maker) if maker == _NOBODY or maker in runs[: run + 1]
    }
    needed = {tensor for tensor in there if wires.to_end[tensor]}
    for operator in reversed(runs[run + 1 :]):
        needed -= {tensor for tensor in needed if wires.maker[tensor] == operator}
        needed |= set(_read(wires, operator)) & there
    return needed


def _live_after(wires: Wires, runs: Sequence[int], run: int, left_out: set[int]) -> int:
    return sum(wires.size[tensor] for tensor in _there_after(wires, runs, run) - left_out)


def _row(size: int, again: tuple[int, int]) -> Wires:
    """Operators 0 to 3 in a row, of which the last also reads what 0 makes of 3 bytes.

    It has this size, and adds so much as a whole and as a part of it where it runs again.
    """
    return Wires(
        size=array("q", [3, size, 2, 2, 1]),
        maker=array("q", [_NOBODY, 0, 1, 2, 3]),
        to_end=array("q", [0, 0, 0, 0, 1]),
        read_start=array("q", [0, 1, 2, 3, 5]),
        reads=array("q", [0, 1, 2, 1, 3]),
        again=array("q", [again[0], 8, 9, 9]),
        part_again=array("q", [again[1], 8, 9, 9]),
    )


def test_what_a_later_one_reads_stays_or_is_made_again() -> None:
    wires = _row(10, (7, 7))
    path = [0, 1, 2, 3]
    nothing = CutLevel(0, 0, 0, 0, 0, [0])
    # After 1 and 2 it is there, or what it is made of; 1 and 3 use it.
    assert cuts_beside(_once(wires), path, Budget(-1.0, -1)) == [
        PathCut([nothing], continues=False),
        PathCut([CutLevel(0, 0, 10, 0, 1, [10, 0])], continues=False),
        PathCut([CutLevel(0, 10, 10, 0, 1, [10, 0])], continues=True),
        PathCut([CutLevel(0, 0, 0, 3, 3, [])], continues=False),
    ]
    assert cuts_beside(wires, path, Budget(-1.0, -1)) == [
        PathCut([nothing], continues=False),
        PathCut([CutLevel(0, 0, 10, 0, 1, [10, 0]), CutLevel(7, 0, 3, -1, 1, [0, 0])], continues=False),
        PathCut([CutLevel(0, 10, 10, 0, 1, [10, 0]), CutLevel(7, 3, 3, -1, 1, [0, 0])], continues=True),
        PathCut([CutLevel(0, 0, 0, 3, 3, [])], continues=False),
    ]


def test_parts_that_run_again_save_and_add_what_they_are_of_all() -> None:
    cut = cuts_beside(_row(19, (16, 1)), [0, 1, 2, 3], Budget(-1.0, -1))[2]
    assert [(level.cost, level.after) for level in cut.levels] == [
        (0, 19),
        *((max(cost, 1), 17 - cost) for cost in range(0, 16, 2)),
    ]


def test_without_work_nothing_is_known() -> None:
    wires = Wires(
        size=array("q", [3, 10, 2]),
        maker=array("q", [_NOBODY, 0, 1]),
        to_end=array("q", [0, 1, 1]),
        read_start=array("q", [0, 1, 2]),
        reads=array("q", [0, 1]),
        again=array("q", [-1, -1]),
        part_again=array("q", [-1, -1]),
    )
    cuts = cuts_beside(wires, [0, 1], Budget(-1.0, 0))
    assert [(level.running, level.after) for cut in cuts for level in cut.levels] == [(0, 0), (0, 0)]
