"""Bounds on a term from buffers that conflict pairwise: their bytes are disjoint, so their sizes add up.

Members of one rigid group may overlap each other; the union of their bytes counts, as blocks.
"""

from collections.abc import Sequence
from itertools import combinations
from math import gcd

from memstow.planner.model.objective import MAX_PEAK, PEAK, Kind, Term, peak_of
from memstow.planner.model.plan import ExhaustedWindow, Explanation, LiveBytes, Sum
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.ranges import Range, measure, merged
from memstow.planner.verify.pool_space import Cells, EmptyPools, common_step, least_height, least_height_alone
from memstow.planner.verify.problem_index import ALONE, ProblemIndex

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
        found = _proven_at_once(index, _peak_of(part), part, cheapest_only)
        if isinstance(found, str):
            return found
        total += found
    return total


def _peak_of(certificate: LiveBytes) -> Term:
    """The term of a certificate: the peak of its pool, or the largest peak if it names no pool."""
    return MAX_PEAK if certificate.pool is None else peak_of(certificate.pool)


def reason_against(
    index: ProblemIndex, term: Term, bound: int, certificate: LiveBytes | Sum, cheapest_only: bool
) -> str | None:
    """Why the certificate does not prove that the term is at least that; None when it does."""
    found = proven(index, term, certificate, cheapest_only)
    if isinstance(found, str):
        return found
    return None if found >= bound else f"these buffers prove no more than {found}"


def against_misfit(index: ProblemIndex, explanation: Explanation) -> str | None:
    """Why the buffers of the explanation do not show that nothing fits; None when they do."""
    certificate = LiveBytes(pool=explanation.pool, time=explanation.time, buffers=explanation.buffers)
    found = _proven_at_once(index, _peak_of(certificate), certificate, cheapest_only=False)
    if isinstance(found, str):
        return found
    buffers = [index.buffer_index[name] for name in explanation.buffers]
    if explanation.pool is not None:
        pools = [index.pool_index[explanation.pool]]
    else:
        pools = _union(pools_of(index, buffers, cheapest_only=False))
    if found <= max((index.ends[pool] for pool in pools), default=0):
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
        return _against_time(index, buffers, chosen, time)
    return _against_pairs(index, buffers)


def _against_pairs(index: ProblemIndex, buffers: Sequence[int]) -> str | None:
    """Why some two of them need not be apart, where no moment is named at which all live."""
    if len(buffers) > _MOST_WITHOUT_TIME:
        return f"without a time no more than {_MOST_WITHOUT_TIME} buffers are compared with each other"
    lives = {i: index.lives(i) for i in buffers}
    for one, other in combinations(sorted(buffers), 2):
        if (one, other) in index.conflicts or index.rigid.together(one, other):
            continue
        if (one, other) in index.exclusive or not _overlap(lives[one], lives[other]):
            return f"{index.id_of(one)!r} and {index.id_of(other)!r} do not conflict"
    return None


def _overlap(one: Sequence[Range], other: Sequence[Range]) -> bool:
    return any(begin < last and first < end for begin, end in one for first, last in other)


def _against_time(index: ProblemIndex, buffers: Sequence[int], chosen: set[int], time: int) -> str | None:
    dead = next((i for i in buffers if not index.lives_at(i, time)), None)
    if dead is not None:
        return f"{index.id_of(dead)!r} does not live at {time}"
    for pair in index.exclusive:
        if chosen.issuperset(pair) and pair not in index.conflicts and not index.rigid.together(*pair):
            return f"{index.id_of(pair[0])!r} and {index.id_of(pair[1])!r} are exclusive"
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
                cheapest[allowed] = _cheapest(index, allowed)
            allowed = cheapest[allowed]
        pools.append(allowed)
    return pools


def _cheapest(index: ProblemIndex, pools: frozenset[int]) -> frozenset[int]:
    least = min((index.pools[pool].cost for pool in pools), default=0)
    return frozenset(pool for pool in pools if index.pools[pool].cost == least)


def _union(pools: Sequence[frozenset[int]]) -> list[int]:
    """All of these pools, in order. Most buffers have one set in common."""
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
    best = 0
    for cell in {1, gcd(*(common_step(grids[pool]) for pool in pools))}:
        load = _Load(blocks, cell)
        spaces = {pool: (_cells(index, pool, load, grids[pool][0].first), index.ends[pool]) for pool in pools}
        value = _value_of(index, term, load, spaces)
        if value is None:
            return _ANYTHING
        best = max(best, value)
    return best


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
