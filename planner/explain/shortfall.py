"""Fewer bytes than are live: the moments that forbid it, and the fewest buffers that must change.

Only live bytes are counted: those of buffers that can be in no other pool, and of buffers that may share
bytes only some of which no two may. So so many changes are necessary, and need not be enough: whether a plan
exists then, the solvers say. The fewest are found by branch and bound.
"""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from heapq import heappop, heappush, nlargest, nsmallest
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from memstow.planner.check import require_valid
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import (
    ALWAYS,
    Buffer,
    Pool,
    Problem,
    Range,
    allowed_pools,
    bank_conflicts_among,
    counted_once,
    measure,
    profile,
    rigid_groups,
    spans,
)

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

_MOST_DEPTH: Final = 200


class Work:
    """How many members of sums may still be looked at: without a clock, so that answers stay the same."""

    def __init__(self, units: int = 1_000_000, until: float | None = None) -> None:
        """`until`: a time of the monotonic clock after which no work is left either."""
        self._left = units
        self._until = until

    def spend(self, units: int) -> bool:
        """Whether that much was left."""
        self._left -= units
        return self._left >= 0 and (self._until is None or time.monotonic() < self._until)


class Cover:
    """Sums, each with an excess that some of its members must take away."""

    def __init__(self, enough: int) -> None:
        """`enough`: so many members are known to do."""
        self._enough = enough
        self._sums: list[tuple[int, list[int]]] = []
        self._amounts: dict[int, int] = {}
        self._sums_of: dict[int, int] = {}
        self.least = 0
        """No fewer will do."""

    def require(self, excess: int, amounts: Mapping[int, int]) -> None:
        """Add a sum: chosen members must have this excess together. Amounts are the same in all sums."""
        for member in amounts:
            self._sums_of[member] = self._sums_of.get(member, 0) | 1 << len(self._sums)
        self._amounts.update(amounts)
        self._sums.append((excess, sorted(amounts, key=lambda amount: (-amounts[amount], amount))))

    def smallest(self, work: Work) -> set[int] | None:
        """The smallest set, if it is smaller than the known one; None: it is not, or no work was left."""
        self.least = max(self.least, self._fewest(set(), set()))
        while self.least < min(self._enough, _MOST_DEPTH):
            chosen: set[int] = set()
            done = self._extend(chosen, set(), self.least, work)
            if done is None:
                return None
            if done:
                return chosen
            self.least += 1
        return None

    def _extend(self, chosen: set[int], barred: set[int], most: int, work: Work) -> bool | None:
        """Whether `chosen` can be completed with so many more, and then it is; None: no work was left."""
        if not work.spend(sum(len(members) for _, members in self._sums)):
            return None
        hardest = self._hardest(chosen, barred)
        if hardest is None:
            return True
        fewest, members = hardest
        if fewest > most:
            return False
        tried: list[int] = []
        answer: bool | None = False
        for member in members:
            if member in chosen or member in barred:
                continue
            # One that has failed and does as much wherever this one counts stands for it.
            if not any(
                self._amounts[other] >= self._amounts[member]
                and not self._sums_of[member] & ~self._sums_of[other]
                for other in tried
            ):
                chosen.add(member)
                answer = self._extend(chosen, barred, most - 1, work)
                if answer is not False:
                    break
                chosen.discard(member)
            # Every set with it has been looked at, or one that is as good.
            barred.add(member)
            tried.append(member)
            if self._fewest(chosen, barred) > most:
                break
        barred.difference_update(tried)
        return answer

    def _fewest(self, chosen: set[int], barred: set[int]) -> int:
        """So many more are needed at least."""
        hardest = self._hardest(chosen, barred)
        return 0 if hardest is None else hardest[0]

    def _hardest(self, chosen: set[int], barred: set[int]) -> tuple[int, list[int]] | None:
        """How many all need at least, where sums without a common member add up, and the one that needs most.

        None: all are met.
        """
        needs = []
        for excess, members in self._sums:
            short = excess - sum(self._amounts[member] for member in members if member in chosen)
            if short <= 0:
                continue
            fewest = 0
            free = []
            for member in members:
                if member in chosen or member in barred:
                    continue
                free.append(member)
                if short > 0:
                    short -= self._amounts[member]
                    fewest += 1
            needs.append((fewest if short <= 0 else len(members) + _MOST_DEPTH, free, members))
        if not needs:
            return None
        needs.sort(key=lambda need: -need[0])
        used: set[int] = set()
        total = 0
        for fewest, free, _ in needs:
            if used.isdisjoint(free):
                used.update(free)
                total += fewest
        return total, needs[0][2]


# Steps times buffers that may share bytes; with more, none of these is counted.
_MOST_SHARING: Final = 2_000_000
# Members of a rigid group; of more, not each pair that shares bytes is looked at.
_MOST_PAIRED: Final = 200
# Steps that are added at a time to those for which a smallest set is looked for.
_MORE_STEPS: Final = 8
_MOST_MOMENTS: Final = 20
MOST_CHANGES: Final = 20
_MOST_INSTEAD: Final = 20


@dataclass(frozen=True, slots=True)
class TightMoment:
    """A step in which more is live than there is room for, and at least all that is live beside it."""

    begin: int | None  # None: the problem has no times
    end: int | None
    live: int
    buffers: tuple[str, ...]
    """What is counted there, largest first."""


@dataclass(frozen=True, slots=True)
class Away:
    """The time in which a buffer is in the way."""

    begin: int
    end: int
    lives_before: bool
    lives_after: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A buffer that must change: any one of these changes will do while the others shrink as theirs say."""

    buffer: str
    size: int
    shrink: int
    """By so many bytes; its size: it must not be there at all."""
    away: Away | None
    """Or it is not there in this time; None: that is all of its life."""
    pools: tuple[str, ...]
    """Or it is in one of these, where it may not be now, and where there is room for it."""
    instead: tuple[str, ...]
    """Or one of these buffers changes in its place, largest first."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why a pool cannot do with so many bytes, and the fewest buffers whose change live bytes ask for."""

    pool: str
    wanted: int
    room: int
    """What is wanted, without reserved ranges."""
    moments: int
    hardest: tuple[TightMoment, ...]
    count: int
    """Of the buffers that change."""
    least: int
    """No fewer buffers will do: with as many, it is a smallest set."""
    changes: tuple[Change, ...]
    """Those of the largest buffers, up to `MOST_CHANGES`."""


def shortfall(problem: "Problem | Graph", wanted: int, pool: str | None = None) -> Shortfall | None:
    """Why no plan keeps the peak of a pool at so many bytes, and what must change at least.

    None: live bytes do not forbid it. Of several pools one must be named. The operators of a graph run as
    they are listed.
    """
    if wanted < 0:
        raise InputError.single("out_of_range", "wanted", f"a peak is 0 bytes or more, not {wanted:,}")
    problem = problem_of(problem)
    require_valid(problem)
    pools = [entry.id for entry in problem.pools]
    listed = ", ".join(map(repr, pools[:5])) + (", ..." if len(pools) > 5 else "")
    if pool is None and len(pools) > 1:
        raise InputError.single("no_pool", "pool", f"name one of the pools: {listed}")
    if pool is not None and pool not in pools:
        raise InputError.single("unknown_pool", "pool", f"there is no pool {pool!r}; name one of {listed}")
    return Demand(problem, pools[0] if pool is None else pool).shortfall(wanted)


class Demand:
    """What must be in one pool at each time."""

    def __init__(self, problem: Problem, pool: str) -> None:
        self._problem = problem
        self._pool = next(entry for entry in problem.pools if entry.id == pool)
        self._lives = _Lives(_only_in(problem, pool), problem)

    def shortfall(self, wanted: int, work: Work | None = None) -> Shortfall | None:
        """What stands against so many bytes; None: live bytes do not.

        The set of changes is a smallest one as far as the work is enough to prove that.
        """
        lives = self._lives
        room = max(wanted - _reserved_below(self._pool, wanted), 0)
        live = lives.live({})
        tight = [step for step, there in enumerate(live) if there > room]
        if not tight:
            return None
        chosen, least = self._chosen(room, Work() if work is None else work)
        summits = lives.summits(tight)
        hardest = nlargest(_MOST_MOMENTS, summits, key=lambda step: (live[step], -step))
        changes, needless = self._changes(chosen, room, tight)
        return Shortfall(
            pool=self._pool.id,
            wanted=wanted,
            room=room,
            moments=len(summits),
            hardest=tuple(self._moment(step) for step in hardest),
            count=len(chosen) - needless,
            least=least,
            changes=tuple(changes),
        )

    def _moment(self, step: int) -> TightMoment:
        lives = self._lives
        there = lives.counted(step)
        begin, end = lives.time(step)
        return TightMoment(
            begin,
            end,
            sum(lives.sizes[entry] for entry in there),
            tuple(lives.buffers[entry].id for entry in there),
        )

    def _chosen(self, room: int, work: Work) -> tuple[list[int], int]:
        """Buffers without which no step is too full, and the fewest that can be.

        What some of the steps need all of them need: steps are added until a smallest set for them does
        for all.
        """
        lives = self._lives
        many = lives.largest_in_turn(room)
        cover = Cover(len(many))
        left: dict[int, int] = {}
        while True:
            live = lives.live(left)
            worst = [
                step
                for step in nlargest(_MORE_STEPS, range(len(live)), key=live.__getitem__)
                if live[step] > room
            ]
            if not worst:
                return sorted(left), cover.least
            for step in worst:
                there = lives.counted(step, left)
                cover.require(
                    sum(lives.sizes[entry] for entry in there) - room,
                    {entry: lives.sizes[entry] for entry in there},
                )
            fewer = cover.smallest(work)
            if fewer is None:
                return many, min(cover.least, len(many))
            left = dict.fromkeys(fewer, 0)

    def _changes(self, chosen: Collection[int], room: int, tight: Sequence[int]) -> tuple[list[Change], int]:
        """The changes of the largest, and how many of these may stay as they are after all.

        Where the work did not suffice for a smallest set, one that may share bytes with others may be
        needless beside the changes of those.
        """
        lives, changes, needless = self._lives, list[Change](), 0
        left = self._sizes_left(chosen, room)
        others = {
            pool.id: _Other(self._problem, pool) for pool in self._problem.pools if pool.id != self._pool.id
        }
        for member in sorted(chosen, key=lambda entry: (-lives.sizes[entry], entry))[:MOST_CHANGES]:
            live = lives.live({other: size for other, size in left.items() if other != member})
            short = {step: live[step] - room for step in tight if live[step] > room}
            if not short:
                del left[member]
                needless += 1
                continue
            buffer = lives.buffers[member]
            pools = tuple(pool for pool, other in others.items() if other.has_room_for(buffer))
            for pool in pools[:1]:
                others[pool].take(buffer)
            changes.append(
                Change(
                    buffer.id,
                    buffer.size,
                    buffer.size - left[member],
                    lives.away(member, short),
                    pools,
                    tuple(lives.buffers[other].id for other in lives.standing_in(short, chosen)),
                )
            )
        return changes, needless

    def _sizes_left(self, chosen: Collection[int], room: int) -> dict[int, int]:
        """How large each of them may stay: the smaller ones come first, so that few buffers change much.

        What is left is a multiple of the largest alignment, or little would be gained by it.
        """
        lives = self._lives
        unit = max(self._pool.alignment, *(buffer.alignment for buffer in lives.buffers))
        left = dict.fromkeys(chosen, 0)
        live = lives.live(left)
        for member in sorted(chosen, key=lambda entry: (lives.sizes[entry], entry)):
            free = min((room - live[step] for step in lives.steps_of(member)), default=0)
            left[member] = min(max(free, 0) // unit * unit, lives.sizes[member])
            for step in lives.steps_of(member):
                live[step] += left[member]
        # Beside a smaller buffer others of those that may share bytes may be counted.
        return left if max(lives.live(left)) <= room else dict.fromkeys(chosen, 0)


def with_changes(problem: Problem, shortfalls: Iterable[Shortfall], leave_out: bool = False) -> Problem:
    """The problem with these buffers shrunk as the changes say, or without them."""
    shrink = {change.buffer: change.shrink for shortfall in shortfalls for change in shortfall.changes}
    shrink |= {name: shrink[one] for name, one in _one_of_each(problem).items() if one in shrink}
    sizes = {buffer.id: buffer.size for buffer in problem.buffers if buffer.id in shrink}
    gone = {name for name, size in sizes.items() if leave_out or shrink[name] == size}
    return replace(
        without_buffers(problem, gone),
        buffers=tuple(
            replace(buffer, size=buffer.size - shrink[buffer.id], accesses=None)
            if buffer.id in shrink
            else buffer
            for buffer in problem.buffers
            if buffer.id not in gone
        ),
    )


def as_data(shortfall: Shortfall, moments: bool = True) -> dict[str, object]:
    """A shortfall as JSON, with the hardest moments or without them."""
    data = asdict(shortfall)
    if not moments:
        del data["hardest"]
    return data


class _Lives:
    """Buffers by index, and the steps in which each is live."""

    def __init__(self, buffers: Sequence[Buffer], problem: Problem) -> None:
        self.buffers = buffers
        self.sizes = [buffer.size for buffer in buffers]
        ranges = [spans(buffer) for buffer in buffers]
        self._times = sorted({time for spanned in ranges for each in spanned for time in each})
        rank = {time: step for step, time in enumerate(self._times)}
        self._steps = max(len(self._times) - 1, 1)
        self._spans: list[list[Range]] = [
            [(rank[begin], rank[end]) for begin, end in spanned] or [(0, self._steps)] for spanned in ranges
        ]
        self._near = self._sharing(problem)
        self._sharers = self._sharers_by_step()
        self._lone = [
            (begin, end, entry)
            for entry, spanned in enumerate(self._spans)
            if entry not in self._near
            for begin, end in spanned
        ]
        changes = [0] * (self._steps + 1)
        for begin, end, entry in self._lone:
            changes[begin] += self.sizes[entry]
            changes[end] -= self.sizes[entry]
        self._alone = list(accumulate(changes[:-1]))

    def steps_of(self, buffer: int) -> Iterator[int]:
        """The steps in which it lives."""
        for begin, end in self._spans[buffer]:
            yield from range(begin, end)

    def time(self, step: int) -> tuple[int | None, int | None]:
        """When a step begins and ends."""
        return (self._times[step], self._times[step + 1]) if self._times else (None, None)

    def live(self, left: Mapping[int, int]) -> list[int]:
        """What must be there in each step, where these buffers have other sizes."""
        changes = [0] * (self._steps + 1)
        for buffer, size in left.items():
            if buffer not in self._near:
                for begin, end in self._spans[buffer]:
                    changes[begin] += size - self.sizes[buffer]
                    changes[end] -= size - self.sizes[buffer]
        live = [one + other for one, other in zip(self._alone, accumulate(changes[:-1]), strict=True)]
        for step, there in self._sharers.items():
            live[step] += sum(left.get(entry, self.sizes[entry]) for entry in self._apart(there, left))
        return live

    def counted(self, step: int, left: Mapping[int, int] | None = None) -> list[int]:
        """The buffers that are counted in a step, largest first; where some have other sizes, in full."""
        there = [entry for begin, end, entry in self._lone if begin <= step < end]
        there += self._apart(self._sharers.get(step, ()), left or {})
        return sorted(there, key=lambda entry: (-self.sizes[entry], entry))

    def summits(self, steps: Collection[int]) -> list[int]:
        """Those of these steps that end a rise of live bytes: something ends right after them."""
        begins = {begin for spanned in self._spans for begin, _ in spanned}
        ends = {end for spanned in self._spans for _, end in spanned}
        among = set(steps)
        summits = []
        rising = False
        for step in range(self._steps):
            rising = rising or step in begins
            if rising and step + 1 in ends:
                rising = False
                if step in among:
                    summits.append(step)
        return summits

    def largest_in_turn(self, room: int) -> list[int]:
        """Buffers without which no step holds more: of each that would the largest, as time goes."""
        beginning = self._beginning()
        there: list[tuple[int, int]] = []
        chosen: dict[int, int] = {}
        removed = [0] * (self._steps + 1)
        gone = 0
        for step in range(self._steps):
            for entry in beginning.get(step, ()):
                heappush(there, (-self.sizes[entry], entry))
            gone += removed[step]
            while self._alone[step] - gone + self._shared(step, chosen) > room:
                _, largest = heappop(there)
                lives = any(begin <= step < end for begin, end in self._spans[largest])
                if not lives or largest in chosen:
                    continue
                chosen[largest] = 0
                if largest not in self._near:
                    gone += self.sizes[largest]
                    # Note when it would have ended, and begun again.
                    for begin, end in self._spans[largest]:
                        if begin > step:
                            removed[begin] += self.sizes[largest]
                        if end > step:
                            removed[end] -= self.sizes[largest]
        return self._without_needless(chosen, room)

    def _beginning(self) -> dict[int, list[int]]:
        """By step the buffers that begin to live there and are counted."""
        beginning: dict[int, list[int]] = {}
        for entry, spanned in enumerate(self._spans):
            # With too many that may share bytes none of them is counted.
            for begin, _ in spanned if self._sharers or entry not in self._near else ():
                beginning.setdefault(begin, []).append(entry)
        return beginning

    def _without_needless(self, chosen: Mapping[int, int], room: int) -> list[int]:
        live = self.live(chosen)
        needed = []
        for buffer in sorted(chosen, key=lambda entry: (self.sizes[entry], entry)):
            if buffer in self._near or any(
                live[step] + self.sizes[buffer] > room for step in self.steps_of(buffer)
            ):
                needed.append(buffer)
                continue
            for step in self.steps_of(buffer):
                live[step] += self.sizes[buffer]
        return sorted(needed)

    def _shared(self, step: int, left: Mapping[int, int]) -> int:
        there = self._sharers.get(step)
        return (
            0
            if there is None
            else sum(left.get(entry, self.sizes[entry]) for entry in self._apart(there, left))
        )

    def away(self, buffer: int, short: Collection[int]) -> Away | None:
        """The time from the first of these steps to the last; None: the buffer lives in no other."""
        mine = self._spans[buffer]
        begin, end = min(short), max(short) + 1
        before, after = mine[0][0] < begin, end < mine[-1][1]
        if not self._times or not (before or after):
            return None
        return Away(self._times[begin], self._times[end], before, after)

    def standing_in(self, short: Mapping[int, int], chosen: Collection[int]) -> list[int]:
        """Others that are live in all of these steps and large enough."""
        enough = max(short.values())
        steps = sorted(short)
        taken = set(chosen)
        able = [
            entry
            for entry, spanned in enumerate(self._spans)
            if self.sizes[entry] >= enough
            and entry not in taken
            and entry not in self._near
            and sum(bisect_left(steps, end) - bisect_left(steps, begin) for begin, end in spanned)
            == len(steps)
        ]
        return nsmallest(_MOST_INSTEAD, able, key=lambda entry: (-self.sizes[entry], entry))

    def _sharing(self, problem: Problem) -> dict[int, set[int]]:
        """By buffer those with which it may share bytes."""
        place = {buffer.id: index for index, buffer in enumerate(self.buffers)}
        listed = {frozenset(conflict) for conflict in problem.conflicts}
        pairs = [entry for entry in problem.exclusive if frozenset(entry) not in listed]
        pairs += [(entry.input, entry.output) for entry in problem.in_place]
        near: dict[int, set[int]] = {}
        for one, other in pairs:
            if one in place and other in place:
                near.setdefault(place[one], set()).add(place[other])
                near.setdefault(place[other], set()).add(place[one])
        for together in _over_each_other(problem):
            shared = {place[name] for name in together if name in place}
            for member in shared:
                near[member] = near[member] | shared if member in near else shared
        return near

    def _sharers_by_step(self) -> dict[int, list[int]]:
        if sum(end - begin for entry in self._near for begin, end in self._spans[entry]) > _MOST_SHARING:
            return {}
        there: dict[int, list[int]] = {}
        for buffer in sorted(self._near, key=lambda entry: (-self.sizes[entry], entry)):
            for step in self.steps_of(buffer):
                there.setdefault(step, []).append(buffer)
        return there

    def _apart(self, buffers: Sequence[int], left: Mapping[int, int]) -> list[int]:
        """Of these some of which no two may share bytes; the largest stay."""
        apart: list[int] = []
        near: set[int] = set()
        for member in (
            sorted(buffers, key=lambda buffer: (-left.get(buffer, self.sizes[buffer]), buffer))
            if left
            else buffers
        ):
            if member not in near and left.get(member, 1) > 0:
                apart.append(member)
                near |= self._near[member]
        return apart


class _Other:
    """Another pool, and what must be there."""

    def __init__(self, problem: Problem, pool: Pool) -> None:
        self._capacity = pool.capacity
        self._room = 0 if pool.capacity is None else pool.capacity - _reserved_below(pool, pool.capacity)
        there = {buffer.id for buffer in _only_in(problem, pool.id)}
        self._steps = profile(buffer for buffer in counted_once(problem) if buffer.id in there)

    def has_room_for(self, buffer: Buffer) -> bool:
        """Whether the buffer can be there as well, as far as live bytes tell."""
        if self._capacity is None:
            return True
        times, live = self._steps.times, self._steps.live
        most = self._steps.always
        for begin, end in spans(buffer) or ((times[0], times[-1]) if times else (0, 0),):
            among = live[max(bisect_right(times, begin) - 1, 0) : bisect_left(times, end)]
            most = max(most, *among, 0)
        return most + buffer.size <= self._room

    def take(self, buffer: Buffer) -> None:
        """Count it as there from now on, whenever it lives."""
        self._room -= buffer.size


def _over_each_other(problem: Problem) -> Iterator[list[str]]:
    """Tied buffers that lie on bytes of each other: pairs, or where there are many, all that others join."""
    buffers = problem.buffers
    index_of = {buffer.id: index for index, buffer in enumerate(buffers)} if problem.relative else {}
    for group in rigid_groups(problem, index_of):
        placed = [
            (delta, delta + buffers[member].size, buffers[member].id)
            for delta, member in sorted(zip(group.deltas, group.members, strict=True))
        ]
        if len(placed) <= _MOST_PAIRED:
            for at, (_, end, name) in enumerate(placed):
                yield from ([name, other] for begin, _, other in placed[at + 1 :] if begin < end)
            continue
        together: list[str] = []
        reaches = 0
        for begin, end, name in placed:
            if begin >= reaches:
                if len(together) > 1:
                    yield together
                together = []
            together.append(name)
            reaches = max(reaches, end)
        if len(together) > 1:
            yield together


def _one_of_each(problem: Problem) -> dict[str, str]:
    """By buffers that are one with an earlier one, of the same bytes and times: which that is."""
    buffers = problem.buffers
    index_of = {buffer.id: index for index, buffer in enumerate(buffers)} if problem.relative else {}
    instead: dict[str, str] = {}
    for group in rigid_groups(problem, index_of):
        first: dict[tuple[object, ...], str] = {}
        for member, delta in zip(group.members, group.deltas, strict=True):
            buffer = buffers[member]
            life = (buffer.lifetime == ALWAYS, *spans(buffer))
            one = first.setdefault((delta, buffer.size, *life), buffer.id)
            if one != buffer.id:
                instead[buffer.id] = one
    return instead


def _only_in(problem: Problem, pool: str) -> list[Buffer]:
    """The buffers that can be in no other pool, and live at some time; of those that are one, the first."""
    instead = _one_of_each(problem)
    return [
        buffer
        for buffer in problem.buffers
        if buffer.size
        and buffer.id not in instead
        and (buffer.lifetime == ALWAYS or spans(buffer))
        and allowed_pools(problem, buffer) == (pool,)
    ]


def _reserved_below(pool: Pool, end: int) -> int:
    return measure((entry.offset, min(entry.offset + entry.size, end)) for entry in pool.reserved)


def without_buffers(problem: Problem, gone: Set[str]) -> Problem:
    """The problem without these buffers and what it says of them; an InputError for unknown names."""
    missing = gone - {buffer.id for buffer in problem.buffers}
    if missing:
        message = f"there is no buffer {printable(min(missing), 80)!r}; name buffers of this problem"
        raise InputError.single("unknown_buffer", "without", message)
    return replace(
        problem,
        buffers=tuple(buffer for buffer in problem.buffers if buffer.id not in gone),
        conflicts=tuple(conflict for conflict in problem.conflicts if gone.isdisjoint(conflict)),
        exclusive=tuple(entry for entry in problem.exclusive if gone.isdisjoint(entry)),
        relative=tuple(entry for entry in problem.relative if gone.isdisjoint((entry.buffer, entry.base))),
        in_place=tuple(entry for entry in problem.in_place if gone.isdisjoint((entry.input, entry.output))),
        reuse_costs=tuple(cost for cost in problem.reuse_costs if gone.isdisjoint(cost.buffers)),
        bank_conflicts=bank_conflicts_among(
            problem, {buffer.id for buffer in problem.buffers if buffer.id not in gone}
        ),
    )
