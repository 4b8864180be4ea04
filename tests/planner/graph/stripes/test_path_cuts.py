"""What others need beside a path, against all moments of all orders, and of some with other runs."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, permutations
from random import Random

import pytest

from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import CutLevel, PathCut, Wires, cuts_beside
from tests.campaign import rounds

_NOBODY = -1
_NEVER = 1 << 62


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
        piece=array("q", [0]) * len(size),
        read_start=read_start,
        reads=reads,
        again=again,
        part_again=again,
    )


def _once(wires: Wires) -> Wires:
    nothing = array("q", [-1]) * len(wires.again)
    return replace(wires, again=nothing, part_again=nothing)


def _with_pieces(wires: Wires, random: Random) -> Wires:
    """Some tensors may wait elsewhere, as a whole or in parts."""
    pieces = (random.choice((0, 0, size, size, random.randint(1, size))) for size in wires.size)
    return replace(wires, piece=array("q", pieces))


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


@dataclass(frozen=True)
class Copied:
    """Bytes of a tensor, copied out after one run and back before another."""

    tensor: int
    bytes: int
    out: int
    back: int


@pytest.mark.rounds
@pytest.mark.parametrize("kinds", ["again", "waits", "both"])
def test_what_runs_again_or_waits_for_less_adds_to_the_cost(kinds: str) -> None:
    """Each part of the path has a level of which all its moments are, and their costs add up."""
    saved = stripes = 0
    for seed in range(rounds(400)):
        random = Random(seed)
        wires = _wires(random, random.randint(3, 7))
        path = _path(wires, random)
        if kinds != "again":
            wires = _with_pieces(_once(wires) if kinds == "waits" else wires, random)
        cuts = cuts_beside(wires, path, Budget(-1.0, -1))
        for cut in cuts:
            costs = [level.cost for level in cut.levels]
            assert costs == sorted({0, *costs})
        for _ in range(10):
            runs = _runs(wires, random)
            copies = _copies(wires, runs, random)
            more = sum(wires.again[operator] for operator in runs) - sum(wires.again)
            more += 2 * sum(copy.bytes for copy in copies)
            added = _Added(wires, path, cuts, runs, copies)
            assert added.least() <= more, (seed, runs, copies)
            saved += added.least() > 0
            stripes += added.stripes
    assert saved
    assert stripes or kinds == "again"


def _runs(wires: Wires, random: Random) -> list[int]:
    """An order in which some operators run again, after they have run."""
    runs = list(range(len(wires.again)))
    for _ in range(random.randint(0, 4)):
        end = random.randint(1, len(runs))
        several = [operator for operator in runs[:end] if wires.again[operator] >= 0]
        runs[end:end] = sorted(random.sample(several, random.randint(0, min(3, len(several)))))
    return runs


def _copies(wires: Wires, runs: Sequence[int], random: Random) -> list[Copied]:
    """Some tensors, or parts of them, that wait while nobody uses them."""
    copies: list[Copied] = []
    for tensor, (size, piece) in enumerate(zip(wires.size, wires.piece, strict=True)):
        if piece == 0 or random.random() < 0.5:
            continue
        uses = [
            at
            for at, operator in enumerate(runs)
            if wires.maker[tensor] == operator or tensor in _read(wires, operator)
        ]
        begin = -1 if wires.maker[tensor] == _NOBODY else min(uses)
        for out, back in pairwise([*sorted({begin, *uses}), len(runs)]):
            if back > out + 1 and random.random() < 0.7:
                if random.random() < 0.4:
                    out, back = sorted(random.sample(range(out, back + 1), 2))
                copies.append(Copied(tensor, random.choice((size, random.randint(piece, size))), out, back))
    return copies


@dataclass(frozen=True)
class _Added:
    """What the levels add that the moments of these runs are of."""

    wires: Wires
    path: Sequence[int]
    cuts: Sequence[PathCut]
    runs: Sequence[int]
    copies: Sequence[Copied]

    @cached_property
    def at_run(self) -> Sequence[int]:
        """From the last run of the last one, each time the run that makes what is read."""
        at_run: list[int] = []
        end = len(self.runs)
        for operator in reversed(self.path):
            end = max(at for at in range(end) if self.runs[at] == operator)
            at_run.insert(0, end)
        return at_run

    @property
    def stripes(self) -> int:
        """Of how many the bounds are more than of moments that are in none."""
        return sum(
            any(level.after < bound for level in cut.levels for bound in level.beside_next)
            for cut in self.cuts
        )

    def least(self) -> int:
        """By parts of the path, in each of which the level is the same."""
        added = least = 0
        for at, cut in enumerate(self.cuts):
            if not cut.continues:
                added, least = added + least, 0
            least = max(least, next(level for level in cut.levels if self._is_of(level, at)).cost)
        return added + least

    def _is_of(self, level: CutLevel, at: int) -> bool:
        """Whether all is as this level says at a place."""
        path, at_run, wires = self.path, self.at_run, self.wires
        handed = [_handed(wires, path, before) for before in range(-1, len(path))]
        run, last = at_run[at], at + 1 == len(path)
        until = run if last else at_run[at + 1]
        made = {tensor for tensor, maker in enumerate(wires.maker) if maker == path[at]}
        used = {*_read(wires, path[at]), *made}
        return (
            level.running <= self._live(run - 1, used, run - 1, run + 1)
            and all(
                level.after <= self._live(moment, handed[at + 1], moment, moment + 1)
                for moment in range(run, until)
            )
            and all(
                bound <= self._live(run, handed[at + 1] | handed[first], at_run[first] - 1, run + 1)
                for first, bound in enumerate(level.beside_read)
                if not last and self._is_stripe(first, at)
            )
            and all(
                bound <= self._live(gone, handed[at + 1] | handed[first], gone, gone + 1)
                for first, bound in enumerate(level.beside_gone)
                for gone in self._gone(handed[first], run, until)
            )
            and all(
                bound <= self._live(until - 1, handed[at + 1], until - 1, at_run[at + 1 + more] + 1)
                for more, bound in enumerate(level.beside_next)
                if self._is_stripe(at + 1, at + 1 + more)
            )
        )

    def _gone(self, tensors: set[int], run: int, until: int) -> list[int]:
        """From this run on, the first after which these are not needed any more, if it is before another."""
        them = range(run, until)
        return [at for at in them if not tensors & _there_after(self.wires, self.runs, at)][:1]

    def _is_stripe(self, first: int, last: int) -> bool:
        """Whether nothing is copied while these run."""
        begin, end = self.at_run[first], self.at_run[last]
        return not any(begin <= copy.out < end or begin < copy.back <= end for copy in self.copies)

    def _live(self, run: int, left_out: set[int], out: int, back: int) -> int:
        """What is there after a run, but for what is copied out by then and not back before another."""
        there = _there_after(self.wires, self.runs, run) - left_out
        away = Counter[int]()
        for copy in self.copies:
            if copy.out <= out and copy.back >= back:
                away[copy.tensor] += copy.bytes
        return sum(self.wires.size[tensor] - away[tensor] for tensor in there)


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


def _row(size: int, again: tuple[int, int]) -> Wires:
    """Operators 0 to 3 in a row, of which the last also reads what 0 makes of 3 bytes.

    It has this size, and adds so much as a whole and as a part of it where it runs again.
    """
    return Wires(
        size=array("q", [3, size, 2, 2, 1]),
        maker=array("q", [_NOBODY, 0, 1, 2, 3]),
        to_end=array("q", [0, 0, 0, 0, 1]),
        piece=array("q", [0, 0, 0, 0, 0]),
        read_start=array("q", [0, 1, 2, 3, 5]),
        reads=array("q", [0, 1, 2, 1, 3]),
        again=array("q", [again[0], 8, 9, 9]),
        part_again=array("q", [again[1], 8, 9, 9]),
    )


def test_what_a_later_one_reads_stays_or_is_made_again() -> None:
    wires = _row(10, (7, 7))
    path = [0, 1, 2, 3]
    nothing = CutLevel(0, 0, 0, 0, 0, [0], [], [0])
    last = PathCut([CutLevel(0, 0, 0, 3, 3, [], [], [])], continues=False)
    # After 1 and 2 it is there, or what it is made of; 1 and 3 use it.
    stays = CutLevel(0, 0, 10, 0, 1, [10, 0], [], [10, _NEVER])
    assert cuts_beside(_once(wires), path, Budget(-1.0, -1)) == [
        PathCut([nothing], continues=False),
        PathCut([stays], continues=False),
        PathCut([stays._replace(running=10)], continues=True),
        last,
    ]
    # What is there from the start does not come back where it has gone.
    again = CutLevel(7, 0, 3, -1, 1, [0, 0], [], [10, 3])
    assert cuts_beside(wires, path, Budget(-1.0, -1)) == [
        PathCut([nothing], continues=False),
        PathCut([stays, again], continues=False),
        PathCut([stays._replace(running=10), again._replace(running=3)], continues=True),
        last,
    ]


def test_what_a_stripe_makes_waits_only_if_it_was_there_before() -> None:
    """Operator 2 makes 4 bytes, of what 1 makes, for the last, which reads what 3 makes as well."""
    wires = Wires(
        size=array("q", [6, 10, 4, 8, 1]),
        maker=array("q", [0, 1, 2, 3, 4]),
        to_end=array("q", [0, 0, 0, 0, 1]),
        piece=array("q", [6, 10, 4, 8, 1]),
        read_start=array("q", [0, 0, 1, 2, 3, 5]),
        reads=array("q", [0, 1, 1, 2, 3]),
        again=array("q", [-1, 3, -1, -1, -1]),
        part_again=array("q", [-1, 3, -1, -1, -1]),
    )
    _, cut, _ = cuts_beside(_once(wires), [1, 3, 4], Budget(-1.0, -1))
    known = [(level.cost, level.after, level.beside_read[0], level.beside_next) for level in cut.levels]
    assert known == [(0, 4, 4, []), (8, 0, 4, [4])]
    _, cut, _ = cuts_beside(wires, [1, 3, 4], Budget(-1.0, -1))
    # In a stripe with 1, that one would have run before.
    known = [(level.cost, level.after, level.beside_read[0], level.beside_next) for level in cut.levels]
    assert known == [(0, 4, 4, []), (8, 0, 4, [4]), (11, 0, 0, [4])]


def test_parts_that_run_again_save_and_add_what_they_are_of_all() -> None:
    cut = cuts_beside(_row(19, (16, 1)), [0, 1, 2, 3], Budget(-1.0, -1))[2]
    levels = [(level.cost, level.after) for level in cut.levels]
    # Up to what the next one adds; all of it saves 16 bytes.
    assert levels[:-1] == [(cost, 20 - then) for (cost, _), (then, _) in pairwise(levels)]
    assert levels[-1] == (15, 3)
    assert len(levels) > 8


def test_without_work_nothing_is_known() -> None:
    wires = Wires(
        size=array("q", [3, 10, 2]),
        maker=array("q", [_NOBODY, 0, 1]),
        to_end=array("q", [0, 1, 1]),
        piece=array("q", [0, 0, 0]),
        read_start=array("q", [0, 1, 2]),
        reads=array("q", [0, 1]),
        again=array("q", [-1, -1]),
        part_again=array("q", [-1, -1]),
    )
    cuts = cuts_beside(wires, [0, 1], Budget(-1.0, 0))
    assert [(level.running, level.after) for cut in cuts for level in cut.levels] == [(0, 0), (0, 0)]
