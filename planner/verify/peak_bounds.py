"""Lower bounds on peaks: buffers that conflict pairwise have disjoint bytes, so their sizes add up.

First the room of a pool (`Cells`, `EmptyPools`), then certificates of live bytes (`proven`,
`reason_against`), last those of a window of time, which the judge searches itself (`reason_against_window`).
Members of one rigid group may overlap each other; the union of their bytes counts, as blocks.

All starts of blocks that share no byte are congruent modulo the common divisor g of their alignments, so
memory falls into cells of g bytes, each of which at most one block can use: a block begins with a cell, and
holds at least `part` bytes of each cell it uses, the rest of its last cell being waste. A cell whose first
byte is reserved is of no use. With g = 1 the cells are the free bytes.

Of a window: every layout of the problem is one of the named buffers during the window. There, what lives
through all of it conflicts with every other buffer: taken out, and what was above it moved down, the rest
still is a layout. So the sizes of these add up, and the rest must fit into what they leave of the height.
Offsets are multiples of the greatest step that all alignments have in common; sizes are rounded up to it, and
the topmost buffer may lack as much as any of them loses by that.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import gcd
from typing import NamedTuple

from memstow.planner.judge._judge import Room, room_for
from memstow.planner.model.plan import ExhaustedWindow, Explanation, LiveBytes, Sum
from memstow.planner.model.problem import LIMIT, MAX_PEAK, PEAK, Kind, Range, Term, measure, merged, peak_of
from memstow.planner.verify.layout import ALONE, Grid, ProblemIndex, lives_meet
from memstow.planner.verify.verdict import TooMuch
from memstow.records import record


@record
class Cells:
    """The cells of one pool: they begin at `first`, `first + size`, ..."""

    size: int
    first: int
    part: int
    reserved: Sequence[Range]

    def within(self, height: int) -> int:
        """Cells whose first `part` bytes are below that height and whose first byte is not reserved."""
        below = height - self.part + 1
        return self._starts_below(below) - sum(
            self._starts_below(min(end, below)) - self._starts_below(min(begin, below))
            for begin, end in self.reserved
        )

    def _starts_below(self, offset: int) -> int:
        return max(0, -((self.first - offset) // self.size))


def least_height(pools: Sequence[tuple[Cells, int]], needed: int) -> int | None:
    """The least height at which pools cut off there, or at their own limit, have the cells needed."""

    def cells(height: int) -> int:
        return sum(pool.within(min(height, limit)) for pool, limit in pools)

    highest = max((limit for _, limit in pools), default=0)
    if needed <= 0:
        return 0
    if len(pools) == 1 and not pools[0][0].reserved:
        # The usual case needs no search: the last of the cells needed ends there.
        height = pools[0][0].first + (needed - 1) * pools[0][0].size + pools[0][0].part
        return height if height <= highest else None
    if cells(highest) < needed:
        return None
    low, high = 0, min(needed, highest)
    while cells(high) < needed:
        low, high = high, min(2 * high, highest)
    while high - low > 1:
        middle = (low + high) // 2
        if cells(middle) >= needed:
            high = middle
        else:
            low = middle
    return high


def common_step(grids: Sequence[Grid]) -> int:
    """The greatest g for which all starts on these grids, of one pool, are congruent modulo g."""
    return gcd(*(grid.step for grid in grids), *(grid.first - grids[0].first for grid in grids))


def least_height_alone(index: ProblemIndex, buffers: Iterable[int], pool: int) -> int:
    """The least height of the pool that can hold each of these buffers when it is alone."""
    return max(_lowest_end(index, buffer, pool) for buffer in buffers)


def _lowest_end(index: ProblemIndex, buffer: int, pool: int) -> int:
    """Where the buffer ends at the least when it is alone in the pool."""
    entry = index.buffers[buffer]
    if entry.offset is not None:
        return entry.offset + entry.size
    grid = index.grid(entry.alignment, pool)
    offset = grid.first
    for begin, end in index.reserved[pool]:
        if offset + entry.size <= begin:
            break
        if offset < end:
            offset = grid.lowest_from(end)
    return offset + entry.size


class _Rooms(NamedTuple):
    """The largest buffer of one alignment that each of some empty pools holds."""

    largest: Sequence[tuple[int, int]]  # (pool, size); -1: not even a byte
    least: int  # of these sizes
    pools: frozenset[int]


class EmptyPools:
    """The pools into which a buffer, with its whole rigid group, fits when they hold nothing else.

    Buffers of the same size, alignment and allowed pools share a result, and so do those of one group.
    """

    def __init__(self, index: ProblemIndex) -> None:
        self._index = index
        self._pools: dict[tuple[object, ...], frozenset[int]] = {}
        self._rooms: dict[tuple[object, ...], _Rooms] = {}

    def pools_for(self, buffer: int) -> frozenset[int]:
        """The pools the buffer may be in that have a place for it when nothing else is there."""
        index, entry = self._index, self._index.buffers[buffer]
        alone = index.rigid.group[buffer] == ALONE
        kind: tuple[object, ...] = (index.pool_kind(buffer),)
        bound = entry.within_bank or entry.banks is not None
        if alone:
            kind = (
                *kind,
                entry.alignment,
                entry.size,
                entry.offset,
                *((entry.within_bank, entry.banks) if bound else ()),
            )
        fitting = self._pools.get(kind)
        if fitting is None:
            if alone and entry.offset is None and entry.size and not bound:
                fitting = self._with_room(buffer)
            else:
                fitting = frozenset(pool for pool in index.allowed(buffer) if self._try(buffer, pool))
            self._pools[kind] = fitting
        return fitting

    def _with_room(self, buffer: int) -> frozenset[int]:
        """The pools of a single buffer with bytes and without a pin."""
        index, entry = self._index, self._index.buffers[buffer]
        key = (index.pool_kind(buffer), entry.alignment)
        rooms = self._rooms.get(key)
        if rooms is None:
            largest = [(pool, self._largest(entry.alignment, pool)) for pool in index.allowed(buffer)]
            least = min((size for _, size in largest), default=0)
            rooms = self._rooms[key] = _Rooms(largest, least, frozenset(pool for pool, _ in largest))
        if entry.size <= rooms.least:
            return rooms.pools
        return frozenset(pool for pool, largest in rooms.largest if entry.size <= largest)

    def _largest(self, alignment: int, pool: int) -> int:
        """The size of the largest single buffer of that alignment that the pool holds."""
        index = self._index
        limit, grid = index.ends[pool], index.grid(alignment, pool)
        start, largest = grid.first, -1
        for begin, end in index.reserved[pool]:
            largest = max(largest, min(begin, limit) - start)
            if start < end:
                start = grid.lowest_from(end)
        return max(largest, limit - start)

    def _try(self, buffer: int, pool: int) -> bool:
        index = self._index
        grid = index.grid_of(buffer, pool)
        if grid is None:
            return False
        group = index.rigid.group[buffer]
        members = [buffer] if group == ALONE else index.rigid.members[group]
        shift = {i: index.rigid.delta.get(i, 0) - index.rigid.delta.get(buffer, 0) for i in members}
        pins = {offset - shift[i] for i in members if (offset := index.buffers[i].offset) is not None}
        if len(pins) > 1:
            return False
        start = max(-least for least in shift.values())
        start = max(pins) if pins else grid.lowest_from(start)
        # Move up past reserved ranges until the group is free, or beyond the end of the pool.
        limit = index.ends[pool]
        while True:
            if (start - grid.first) % grid.step or min(start + d for d in shift.values()) < 0:
                return False
            if any(start + d + index.buffers[i].size > limit for i, d in shift.items()):
                return False
            in_banks = {i: index.begin_in_banks(i, pool, start + d) for i, d in shift.items()}
            past = [
                begin - shift[i]
                for i, begin in in_banks.items()
                if begin is not None and begin > start + shift[i]
            ]
            if None in in_banks.values():
                return False
            past += [
                end - d
                for i, d in shift.items()
                for begin, end in index.reserved[pool]
                if begin < start + d + index.buffers[i].size and start + d < end and index.buffers[i].size
            ]
            if not past:
                return True
            if bool(pins):
                return False
            start = grid.lowest_from(max(past))


_ANYTHING = LIMIT * LIMIT
"""Proven when the buffers cannot be placed at all."""

_MOST_WITHOUT_TIME = 2000
"""The most buffers of which every two are compared: about a second."""


def proven(index: ProblemIndex, term: Term, certificate: LiveBytes | Sum, cheapest_only: bool) -> int | str:
    """The greatest bound on the term that follows from the certificate, or why it says nothing.

    With `cheapest_only` every buffer is known to be in one of its cheapest pools.
    """
    if isinstance(certificate, LiveBytes):
        return _proven_at_once(index, term, certificate, cheapest_only)
    if term != PEAK:
        return f"a sum over pools says nothing about {term}"
    if not certificate.parts:
        return "it has no parts"
    if len({part.pool for part in certificate.parts} - {None}) < len(certificate.parts):
        return "its parts are not about pools of their own"
    total = 0
    for part in certificate.parts:
        bound = _proven_at_once(index, _peak_of(part), part, cheapest_only)
        if isinstance(bound, str):
            return bound
        total += bound
    return total


def _peak_of(certificate: LiveBytes) -> Term:
    """The term of a certificate: the peak of its pool, or the largest peak if it names no pool."""
    return MAX_PEAK if certificate.pool is None else peak_of(certificate.pool)


def reason_against(
    index: ProblemIndex, term: Term, bound: int, certificate: LiveBytes | Sum, cheapest_only: bool
) -> str | None:
    """Why the certificate does not prove that the term is at least that; None when it does."""
    least = proven(index, term, certificate, cheapest_only)
    if isinstance(least, str):
        return least
    return None if least >= bound else f"these buffers prove no more than {least}"


def against_misfit(index: ProblemIndex, explanation: Explanation) -> str | None:
    """Why the buffers of the explanation do not show that nothing fits; None when they do."""
    certificate = LiveBytes(pool=explanation.pool, time=explanation.time, buffers=explanation.buffers)
    least = _proven_at_once(index, _peak_of(certificate), certificate, cheapest_only=False)
    if isinstance(least, str):
        return least
    buffers = [index.buffer_index[name] for name in explanation.buffers]
    if explanation.pool is not None:
        pools = [index.pool_index[explanation.pool]]
    else:
        pools = _union(pools_of(index, buffers, cheapest_only=False))
    if least <= max((index.ends[pool] for pool in pools), default=0):
        return "there is room for these buffers"
    return _against_needed(index, explanation, buffers, pools)


def _against_needed(
    index: ProblemIndex, explanation: Explanation, buffers: Sequence[int], pools: Sequence[int]
) -> str | None:
    """Why the bytes that the explanation speaks of are not those of these buffers and pools."""
    needed = sum(_blocks(index, buffers)) + sum(measure(index.reserved[pool]) for pool in pools)
    if len(pools) == 1:
        # Without an end of the pool: what is reserved above them does not count, gaps of alignment do.
        height = _proven_in(index, buffers, pools[0], _ANYTHING)
        needed = needed if height == _ANYTHING else height
    if explanation.needed is not None and explanation.needed > needed:
        return f"these buffers need no more than {needed} bytes"
    if explanation.pool is None:
        everywhere = range(len(index.pools))
        for what, claimed, of_pool in (
            ("", explanation.capacity, lambda pool: index.ends[pool]),
            ("reserved ", explanation.reserved, lambda pool: measure(index.reserved[pool])),
        ):
            sums = {sum(map(of_pool, some)) for some in (pools, everywhere)}
            if claimed is not None and claimed not in sums:
                return f"the pools that they may go to have {min(sums)} {what}bytes, not {claimed}"
    return None


def _proven_at_once(
    index: ProblemIndex, term: Term, certificate: LiveBytes, cheapest_only: bool
) -> int | str:
    if term.kind not in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK):
        return f"live bytes say nothing about {term}"
    unnamed = against_names(index, certificate)
    if unnamed is not None:
        return unnamed
    buffers = [index.buffer_index[name] for name in certificate.buffers]
    reason = _against_conflicts(index, buffers, certificate.time)
    if reason is not None:
        return reason
    pools = pools_of(index, buffers, cheapest_only)
    if certificate.pool is None:
        return _proven_together(index, term, buffers, _union(pools))
    pool = index.pool_index[certificate.pool]
    elsewhere = next((i for i, may in zip(buffers, pools, strict=True) if may - {pool}), None)
    if elsewhere is not None:
        return f"{index.id_of(elsewhere)!r} need not be in {certificate.pool!r}"
    if term.pool not in (None, certificate.pool):
        return f"{certificate.pool!r} says nothing about {term}"
    return _proven_in(index, buffers, pool, index.ends[pool])


def against_names(index: ProblemIndex, certificate: LiveBytes | ExhaustedWindow) -> str | None:
    """Why a name in the certificate is wrong; None if each is of a buffer with bytes, once, and of a pool."""
    names = certificate.buffers
    if not names:
        return "it names no buffer"
    if len(set(names)) < len(names):
        return "it names a buffer twice"
    unknown = next((name for name in names if name not in index.buffer_index), None)
    if unknown is not None:
        return f"{unknown!r} is not a buffer of the problem"
    empty = next((name for name in names if not index.buffers[index.buffer_index[name]].size), None)
    if empty is not None:
        return f"{empty!r} has no bytes and conflicts with nothing"
    if certificate.pool is not None and certificate.pool not in index.pool_index:
        return f"{certificate.pool!r} is not a pool of the problem"
    return None


def _against_conflicts(index: ProblemIndex, buffers: Sequence[int], time: int | None) -> str | None:
    """Why not every two of them must have different bytes, members of one group aside."""
    chosen = set(buffers)
    for pair in index.in_place:
        if chosen.issuperset(pair) and not index.rigid.together(*pair):
            return f"{index.id_of(pair[0])!r} and {index.id_of(pair[1])!r} may share bytes in place"
    if time is not None:
        dead = next((i for i in buffers if not index.lives_at(i, time)), None)
        if dead is not None:
            return f"{index.id_of(dead)!r} does not live at {time}"
        for pair in index.exclusive:
            if chosen.issuperset(pair) and not index.rigid.together(*pair):
                return f"{index.id_of(pair[0])!r} and {index.id_of(pair[1])!r} are exclusive"
        return None
    if len(buffers) > _MOST_WITHOUT_TIME:
        return f"without a time no more than {_MOST_WITHOUT_TIME} buffers are compared with each other"
    lives = {i: index.lives(i) for i in buffers}
    for one, other in combinations(sorted(buffers), 2):
        if (one, other) in index.conflicts or index.rigid.together(one, other):
            continue
        if (one, other) in index.exclusive or not lives_meet(lives[one], lives[other]):
            return f"{index.id_of(one)!r} and {index.id_of(other)!r} do not conflict"
    return None


def pools_of(index: ProblemIndex, buffers: Sequence[int], cheapest_only: bool) -> list[frozenset[int]]:
    """For each buffer the pools it may be in."""
    pools = []
    empty_pools = EmptyPools(index)
    cheapest: dict[frozenset[int], frozenset[int]] = {}
    for i in buffers:
        allowed = empty_pools.pools_for(i)
        if cheapest_only and (index.buffers[i].accesses is None or index.buffers[i].accesses):
            if allowed not in cheapest:
                least = min((index.pools[pool].cost for pool in allowed), default=0)
                cheapest[allowed] = frozenset(pool for pool in allowed if index.pools[pool].cost == least)
            allowed = cheapest[allowed]
        pools.append(allowed)
    return pools


def _union(pools: Sequence[frozenset[int]]) -> list[int]:
    """The union of these sets of pools, in order. Most buffers have one set in common."""
    return sorted(frozenset().union(*set(pools)))


def _blocks(index: ProblemIndex, buffers: Sequence[int]) -> list[int]:
    """Lengths of contiguous pieces that may not overlap and begin where one of the buffers begins."""
    blocks = [index.buffers[i].size for i in buffers if index.rigid.group[i] == ALONE]
    groups: dict[int, list[tuple[int, int]]] = {}
    for i in buffers:
        if index.rigid.group[i] != ALONE:
            delta = index.rigid.delta[i]
            groups.setdefault(index.rigid.group[i], []).append((delta, delta + index.buffers[i].size))
    for footprint in groups.values():
        blocks += (end - begin for begin, end in merged(footprint))
    return blocks


class _Load:
    """Blocks cut into cells of one size."""

    def __init__(self, blocks: Sequence[int], cell: int) -> None:
        self.cell = cell
        self.cells = sum(-(-block // cell) for block in blocks)
        self.wastes = sorted((-block % cell for block in blocks), reverse=True)
        self.part = cell - self.wastes[0]


def _cells(index: ProblemIndex, pool: int, load: _Load, first: int) -> Cells:
    return Cells(load.cell, first % load.cell, load.part, index.reserved[pool])


def _proven_in(index: ProblemIndex, buffers: Sequence[int], pool: int, limit: int) -> int:
    """The least peak of the pool that all of them must be in, were this its capacity."""
    if not buffers:
        return 0
    blocks = _blocks(index, buffers)
    grids = [grid for i in buffers if (grid := index.grid_of(i, pool)) is not None]
    if len(grids) < len(buffers):
        return _ANYTHING
    best = least_height_alone(index, buffers, pool)
    for cell in {1, common_step(grids)}:
        load = _Load(blocks, cell)
        height = least_height([(_cells(index, pool, load, grids[0].first), limit)], load.cells)
        if height is None:
            return _ANYTHING
        best = max(best, height)
    return best


def _proven_together(index: ProblemIndex, term: Term, buffers: Sequence[int], pools: Sequence[int]) -> int:
    """The least value of the term when each of them is in one of these pools."""
    if not pools:
        return _ANYTHING
    if term.pool is not None and index.pool_index.get(term.pool) not in pools:
        return 0
    if len(pools) == 1:
        return _proven_in(index, buffers, pools[0], index.ends[pools[0]])
    alignments = {index.buffers[i].alignment for i in buffers}
    grids = {pool: [index.grid(alignment, pool) for alignment in alignments] for pool in pools}
    blocks = _blocks(index, buffers)
    best = _fullest(blocks, len(pools)) if term == MAX_PEAK else 0
    for cell in {1, gcd(*(common_step(grids[pool]) for pool in pools))}:
        load = _Load(blocks, cell)
        spaces = {pool: (_cells(index, pool, load, grids[pool][0].first), index.ends[pool]) for pool in pools}
        value = _value_of(index, term, load, spaces)
        if value is None:
            return _ANYTHING
        best = max(best, value)
    return best


def _fullest(blocks: Sequence[int], pools: int) -> int:
    """The bytes that the fullest of the pools has at least, whichever pool each of the blocks is in.

    What is in one pool is a sum of blocks, and of one more than so many for each pool some are together.
    """
    step = gcd(*blocks)
    most = -(-sum(blocks) // (step * pools)) * step
    sizes = sorted(blocks, reverse=True)
    for last in range(0, len(sizes), pools):
        most = max(most, sum(sizes[last - last // pools : last + 1]))
    return most


def _value_of(
    index: ProblemIndex, term: Term, load: _Load, spaces: dict[int, tuple[Cells, int]]
) -> int | None:
    """The least value of the term for a load spread over several pools; None when it does not fit."""
    if term.pool is not None:
        pool = index.pool_index[term.pool]
        elsewhere = sum(cells.within(limit) for other, (cells, limit) in spaces.items() if other != pool)
        return least_height([spaces[pool]], load.cells - elsewhere)
    if term == PEAK:
        return load.cells * load.cell - sum(load.wastes[: len(spaces)])
    return least_height(list(spaces.values()), load.cells)


def reason_against_window(
    index: ProblemIndex, term: Term, bound: int, certificate: ExhaustedWindow, steps: int
) -> str | None:
    """Why the window does not prove that the term is at least that; None when it does.

    Raises TooMuch where the search takes more steps.
    """
    if term.kind not in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK):
        return f"a window says nothing about {term}"
    unnamed = against_names(index, certificate)
    if unnamed is not None:
        return unnamed
    if certificate.begin >= certificate.end:
        return "the window ends before it has begun"
    if term.pool not in (None, certificate.pool):
        return f"{certificate.pool!r} says nothing about {term}"
    buffers = [index.buffer_index[name] for name in certificate.buffers]
    pool = index.pool_index[certificate.pool]
    for i, may in zip(buffers, pools_of(index, buffers, cheapest_only=False), strict=True):
        if may - {pool}:
            return f"{index.id_of(i)!r} need not be in {certificate.pool!r}"
        if index.rigid.group[i] != ALONE:
            return f"{index.id_of(i)!r} is at a fixed distance to another"
    clipped: list[Range] = []
    for i in buffers:
        lives = [
            (max(begin, certificate.begin), min(end, certificate.end))
            for begin, end in index.lives(i)
            if begin < certificate.end and certificate.begin < end
        ]
        if len(lives) != 1:
            return f"{index.id_of(i)!r} does not live once in the window"
        clipped.append(lives[0])
    life_of = dict(zip(buffers, clipped, strict=True))
    for pairs in (index.exclusive, index.in_place):
        for one, other in pairs:
            if one in life_of and other in life_of and lives_meet([life_of[one]], [life_of[other]]):
                return f"{index.id_of(one)!r} and {index.id_of(other)!r} may share bytes"
    grids = [index.grid_of(i, index.pool_index[certificate.pool]) for i in buffers]
    known = [grid for grid in grids if grid is not None]
    if len(known) < len(grids):
        return None  # One of them has no place at all.
    step = gcd(common_step(known), known[0].first)
    sizes = [index.buffers[i].size for i in buffers]
    return _against_height(sizes, clipped, (certificate.begin, certificate.end), step, bound, steps)


def _against_height(
    sizes: Sequence[int], lives: Sequence[Range], window: Range, step: int, bound: int, steps: int
) -> str | None:
    """Why they might have a layout below the bound."""
    cells = [-(-size // step) for size in sizes]
    spare = max(count * step - size for count, size in zip(cells, sizes, strict=True))
    below = sum(count for count, life in zip(cells, lives, strict=True) if life == window)
    inner = [(count, life) for count, life in zip(cells, lives, strict=True) if life != window]
    height = (bound - 1 + spare) // step - below
    if height < 0 or any(count > height for count, _ in inner):
        return None
    if sum(count for count, _ in inner) >= LIMIT:
        raise TooMuch
    # Times may be larger than any machine word; only their order counts.
    rank = {time: k for k, time in enumerate(sorted({time for _, life in inner for time in life}))}
    room = room_for(
        array("q", [count for count, _ in inner]),
        array("q", [rank[begin] for _, (begin, _) in inner]),
        array("q", [rank[end] for _, (_, end) in inner]),
        min(height, LIMIT),
        steps,
    )
    if room is Room.TOO_MUCH:
        raise TooMuch
    return None if room is Room.NONE else "in the window these buffers have a lower layout"
