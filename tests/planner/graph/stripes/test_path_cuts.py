"""What others need beside a path, against all moments of all orders."""

from array import array
from collections.abc import Iterator
from itertools import permutations
from random import Random

import pytest

from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import PathCuts, Wires, cuts_beside
from tests.campaign import rounds

_NOBODY = -1


def _wires(random: Random, count: int) -> Wires:
    """Each operator makes one or two tensors, and reads some of those before."""
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
    return Wires(size=size, maker=maker, to_end=to_end, read_start=read_start, reads=reads)


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
        once, again = (cuts_beside(wires, path, once, Budget(-1.0, -1)) for once in (True, False))
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
            assert again.running[at] <= once.running[at] <= min(running), seed
            assert again.after[at] <= once.after[at] <= min(after, default=0), seed
            met += once.after[at] == min(after, default=0) > 0
    assert met


def _chain(cuts: PathCuts) -> list[tuple[int, int, int, int]]:
    return list(zip(cuts.running, cuts.after, cuts.begin, cuts.end, strict=True))


def test_what_a_later_one_reads_stays_or_is_made_again() -> None:
    """Operators 0 to 3 in a row, the last of which also reads what 0 makes, of 10 bytes, and a 4, of 3."""
    wires = Wires(
        size=array("q", [3, 10, 2, 2, 1]),
        maker=array("q", [_NOBODY, 0, 1, 2, 3]),
        to_end=array("q", [0, 0, 0, 0, 1]),
        read_start=array("q", [0, 1, 2, 3, 5]),
        reads=array("q", [0, 1, 2, 1, 3]),
    )
    path = [0, 1, 2, 3]
    # After 1 and 2 it is there, or what it is made of; 1 and 3 use it.
    for once, stays in ((True, 10), (False, 3)):
        cuts = cuts_beside(wires, path, once, Budget(-1.0, -1))
        assert _chain(cuts) == [(0, 0, 0, 0), (0, stays, 0, 1), (stays, stays, 0, 1), (0, 0, 3, 3)]


def test_without_work_nothing_is_known() -> None:
    wires = Wires(
        size=array("q", [3, 10, 2]),
        maker=array("q", [_NOBODY, 0, 1]),
        to_end=array("q", [0, 1, 1]),
        read_start=array("q", [0, 1, 2]),
        reads=array("q", [0, 1]),
    )
    assert cuts_beside(wires, [0, 1], True, Budget(-1.0, 0)) == PathCuts([0, 0], [0, 0], [0, 1], [0, 1])
