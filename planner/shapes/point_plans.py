"""A symbolic problem at its points: what is possible there, plans, how good peaks are, and arrays to search
in.

Each point has a bound and, as far as there is time, a plan. Points without time have a bound by the bytes
that live together: only buffers that surely share no byte with others count, those in no rigid group,
pair in place or exclusive pair. How good peaks are is exact: ratios to the least, as fractions, compared
as the aim says.

An order says of each conflicting pair which is above the other, so whether a pair in place shares its
place is decided once, for all values (`Ties`). What shares becomes a rigid group, as if the problem had
said so. The arrays have items with a size for each point, and know the way back to an order.
"""

import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from operator import attrgetter, itemgetter
from typing import Final, Protocol, TypeVar

from memstow.planner.formulas.sizes import problem_at, sizes_at, sizes_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Placement, Plan
from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    Buffer,
    Distances,
    InPlace,
    Kind,
    Problem,
    Relative,
    Term,
    end_of,
    merged,
    parse_term,
    spans,
    terms_of,
)
from memstow.planner.model.symbolic import (
    Aim,
    Order,
    OrderedPlacement,
    Point,
    PointPeak,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
    points_of,
)
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.engine import plan
from memstow.planner.solve.portfolio import Allowance
from memstow.records import collector_at_rest, picker, record, replace
from memstow.solvers.instance import Instance
from memstow.solvers.shapes import MOST_PAIRS, LiveEvents, PeakMeasure, Shaped, shape


def better(problem: SymbolicProblem | SymbolicGraph, plan: SymbolicPlan, other: SymbolicPlan) -> bool:
    """Whether the plan is better than the other; of equals the one that is proven."""
    planned, other_planned = plan.status in PLANNED, other.status in PLANNED
    if not planned or not other_planned:
        proven = plan.status is Status.INFEASIBLE and other.status is Status.UNKNOWN
        return (planned and not other_planned) or (proven and not other_planned)
    if [point.at for point in plan.points] != [point.at for point in other.points]:
        return False
    # Of two bounds of the same point, which runs of different lengths have found, the larger one counts.
    pairs = zip(plan.points, other.points, strict=True)
    scale = Scale(
        tuple(max(_measure(one), _measure(two)) for one, two in pairs),
        tuple(point.weight for point in points_of(problem)),
        problem.aim,
    )
    mine, others = (scale.score([point.peak for point in one.points]) for one in (plan, other))
    if mine != others:
        return mine < others
    return plan.status is Status.OPTIMAL and other.status is not Status.OPTIMAL


def _measure(point: PointPeak) -> int:
    """By what a peak is measured: plans in different orders of a graph by what holds for all."""
    return point.bound or point.least


Score = tuple[Fraction, ...]
"""Smaller is better, from left to right."""


@record
class Scale:
    """What is known of the points: the least peak at each, its weight, and the aim."""

    least: tuple[int, ...]
    weights: tuple[int, ...]
    aim: Aim

    def ratios(self, peaks: Sequence[int]) -> list[Fraction]:
        """Of each point; where nothing is the least, bytes are counted."""
        pairs = zip(peaks, self.least, strict=True)
        return [Fraction(peak, least) if least else Fraction(1 + peak) for peak, least in pairs]

    def score(self, peaks: Sequence[int]) -> Score:
        """What is compared first, and then the rest."""
        ratios = self.ratios(peaks)
        if not ratios:
            return (Fraction(1),)
        mean = sum(ratios, Fraction(0)) / len(ratios)
        if self.aim == "sum":
            return (Fraction(sum(map(_product, peaks, self.weights))), max(ratios))
        if self.aim == "first":
            return (ratios[0], max(ratios), mean)
        return (max(ratios), mean)

    def is_least(self, peaks: Sequence[int]) -> bool:
        """Whether no plan of any kind has less at a point."""
        return all(peak <= least for peak, least in zip(peaks, self.least, strict=True))

    def limits_below(self, peaks: Sequence[int]) -> list[int]:
        """The largest peaks whose largest ratio is below that of these."""
        worst = max(self.ratios(peaks))
        return [_below(worst * least) if least else _below(worst - 1) for least in self.least]

    def worst(self, peaks: Sequence[int]) -> float | None:
        """The largest ratio; None where there is none, since nothing is the least of something."""
        if not self.least or any(least == 0 < peak for peak, least in zip(peaks, self.least, strict=True)):
            return None
        pairs = zip(peaks, self.least, strict=True)
        return max(peak / least if least else 1.0 for peak, least in pairs)


def _product(peak: int, weight: int) -> int:
    return peak * weight


def _below(value: Fraction) -> int:
    """The largest whole number below the value."""
    return -(-value.numerator // value.denominator) - 1


class LiveBytes:
    """The same for any sizes of a problem."""

    def __init__(self, events: LiveEvents, term: str, pools: int, always: Sequence[int] = ()) -> None:
        """`events`: of buffers that surely share no byte; `always`: those of them that live all the time."""
        parsed = parse_term(term)
        self._kind = parsed.kind if parsed is not None else None
        self._pools = pools
        self._always = always
        self._events = events

    def at(self, sizes: "array[int] | memoryview") -> int:
        """No layout with these sizes has a smaller objective."""
        live = self._events.most(sizes)
        total = (LIMIT if live is None else live) + sum(sizes[index] for index in self._always)
        if self._pools == 1 or self._kind is Kind.PEAK:
            return total
        return -(-total // self._pools) if self._kind is Kind.MAX_PEAK else 0


def live_bytes_of(problem: SymbolicProblem) -> LiveBytes:
    """What bounds the objective of the problem at any point."""
    lifetimes = list(map(attrgetter("lifetime"), problem.buffers))
    term, pools = problem.objective[0], len(problem.pools)
    related = problem.relative or problem.exclusive or problem.in_place
    if not related and set(map(type, lifetimes)) == {tuple}:
        begins, ends = (list(map(itemgetter(end), lifetimes)) for end in (0, 1))
        return LiveBytes(_events(range(len(lifetimes)), begins, ends), term, pools)
    loose = {name for tie in problem.relative for name in (tie.buffer, tie.base)}
    loose.update(name for pair in problem.exclusive for name in pair)
    loose.update(name for share in problem.in_place for name in (share.input, share.output))
    # Of a buffer with several lifetimes none counts.
    counted = [
        (index, buffer.lifetime)
        for index, buffer in enumerate(problem.buffers)
        if buffer.lifetime is not None and not (loose and buffer.id in loose)
    ]
    always = [index for index, lifetime in counted if lifetime == ALWAYS]
    lives = [(index, *entry) for index, entry in counted if isinstance(entry, tuple)]
    return LiveBytes(_events(*(zip(*lives, strict=True) if lives else ((), (), ()))), term, pools, always)


def _events(indices: Sequence[int], begins: Sequence[int], ends: Sequence[int]) -> LiveEvents:
    """Times that are too large for native code are replaced by their ranks."""
    try:
        return LiveEvents(array("q", indices), array("q", begins), array("q", ends))
    except OverflowError:
        rank = {time: number for number, time in enumerate(sorted({*begins, *ends}))}
        ranks = (array("q", map(rank.__getitem__, times)) for times in (begins, ends))
        return LiveEvents(array("q", indices), *ranks)


# Of what the call may take, all points together.
_SHARE = 0.4
# What a plan of a point takes at the least, where there are many buffers.
_SECONDS_PER_BUFFER = 25e-6


@record
class PointPlan:
    """What is known of one point."""

    at: Mapping[str, int]
    weight: int
    least: int
    plan: Plan
    """Of the problem there; where nothing fits or was found, of the problem without capacities. Where there
    is no time, it has no placements."""
    nothing: Explanation | None
    """Why nothing fits."""


class AtPoints(Protocol):
    """A problem whose sizes depend on the point."""

    @property
    def count(self) -> int:
        """How many buffers there are."""
        ...

    def points(self) -> tuple[Point, ...]:
        """Where a plan must be good."""
        ...

    def live_bytes(self) -> LiveBytes:
        """What bounds the objective at any point."""
        ...

    def sizes_at(self, at: Mapping[str, int]) -> "array[int] | memoryview":
        """By buffer."""
        ...

    def plan_at(self, at: Mapping[str, int], options: Options, cancel: threading.Event | None) -> Plan:
        """The plan of the ordinary problem there."""
        ...

    def loose_plan_at(self, at: Mapping[str, int], options: Options, cancel: threading.Event | None) -> Plan:
        """The same with pools that are as large as needed."""
        ...


class ObjectsAtPoints:
    """Such a problem with an object for each buffer."""

    def __init__(self, problem: SymbolicProblem) -> None:
        self._problem = problem

    @property
    def count(self) -> int:
        """How many buffers there are."""
        return len(self._problem.buffers)

    def points(self) -> tuple[Point, ...]:
        """Where a plan must be good."""
        return points_of(self._problem)

    def live_bytes(self) -> LiveBytes:
        """What bounds the objective at any point."""
        return live_bytes_of(self._problem)

    def sizes_at(self, at: Mapping[str, int]) -> "array[int] | memoryview":
        """By buffer."""
        return array("q", sizes_at(self._problem, at))

    def plan_at(self, at: Mapping[str, int], options: Options, cancel: threading.Event | None) -> Plan:
        """The plan of the ordinary problem there."""
        return plan(problem_at(self._problem, at), options, cancel=cancel)

    def loose_plan_at(self, at: Mapping[str, int], options: Options, cancel: threading.Event | None) -> Plan:
        """The same with pools that are as large as needed."""
        return plan(without_capacities(problem_at(self._problem, at)), options, cancel=cancel)


def plans_at_points(
    problem: AtPoints, allowance: Allowance, cancel: threading.Event | None
) -> tuple[PointPlan, ...]:
    """Each point with a bound and, as far as there is time, a plan: of some that are far from each other."""
    points = problem.points()
    each = _SECONDS_PER_BUFFER * problem.count / _SHARE
    count = next(
        number for number in range(len(points), -1, -1) if not number or allowance.affords(number * each)
    )
    planned = set(_spread(len(points), count))
    live = problem.live_bytes() if count < len(points) else None
    plans: list[PointPlan] = []
    for number, point in enumerate(points):
        if number in planned or live is None:
            plans.append(_planned(problem, point, allowance, _SHARE / count, cancel))
        else:
            least = live.at(problem.sizes_at(point.at))
            plans.append(PointPlan(point.at, point.weight, least, Plan(status=Status.UNKNOWN), None))
    return tuple(plans)


def _spread(total: int, count: int) -> list[int]:
    """So many of these numbers, from the first to the last."""
    return [number * (total - 1) // max(count - 1, 1) for number in range(count)]


def _planned(
    problem: AtPoints,
    point: Point,
    allowance: Allowance,
    share: float,
    cancel: threading.Event | None,
) -> PointPlan:
    solved = problem.plan_at(point.at, allowance.share(share), cancel)
    allowance.spend(solved.work)
    bounded = solved
    if solved.status not in PLANNED:
        # Whatever the capacities, no layout needs less.
        bounded = problem.loose_plan_at(point.at, allowance.share(share / 4), cancel)
        allowance.spend(bounded.work)
    least = bounded.objective[0].bound if bounded.objective else 0
    nothing = solved.explanation if solved.status is Status.INFEASIBLE else None
    return PointPlan(point.at, point.weight, least, bounded, nothing)


def scale_of(points: Sequence[PointPlan], aim: Aim) -> Scale:
    """How good peaks at these points are."""
    return Scale(tuple(point.least for point in points), tuple(point.weight for point in points), aim)


_P = TypeVar("_P", Problem, SymbolicProblem)


def without_capacities(problem: _P) -> _P:
    """The problem with pools that are as large as needed."""
    loose = replace(problem, pools=tuple(replace(pool, capacity=None) for pool in problem.pools))
    if isinstance(problem, SymbolicProblem) and isinstance(loose, SymbolicProblem):
        sizes_of.note(loose, sizes_of(problem))
    return loose


Ties = frozenset[tuple[str, str]]
"""Pairs of an input and an output that begin at one offset."""

NONE: Final[Ties] = frozenset()
_MOST_SETS: Final = 4
_FEW_PAIRS: Final = 3


def likely_ties(problem: Problem, points: Iterable[PointPlan]) -> list[Ties]:
    """Sets of pairs to try, the most promising first: what plans at single points share, and none."""
    if not problem.in_place:
        return [NONE]
    votes: Counter[Ties] = Counter()
    for point in points:
        place = {placement.buffer: (placement.pool, placement.offset) for placement in point.plan.placements}
        shared = [
            entry
            for entry in problem.in_place
            if entry.input in place and place[entry.input] == place.get(entry.output)
        ]
        votes[possible(problem, shared)] += 1
    votes[possible(problem, problem.in_place)] += 0
    ranked = [ties for ties, _ in votes.most_common(_MOST_SETS)]
    return ranked if NONE in ranked else [*ranked[: _MOST_SETS - 1], NONE]


def all_ties(problem: Problem) -> list[Ties] | None:
    """Every set of pairs that may be tied together; None where there are many."""
    pairs = problem.in_place
    if not pairs:
        return [NONE]
    if len(pairs) > _FEW_PAIRS:
        return None
    sets = {possible(problem, some) for count in range(len(pairs) + 1) for some in combinations(pairs, count)}
    return sorted(sets, key=sorted)


def tied(problem: Problem, ties: Ties) -> Problem:
    """The problem where these share their place and no other pair does."""
    bound = tuple(Relative(buffer=output, base=source, offset=0) for source, output in sorted(ties))
    rest = tuple(entry for entry in problem.in_place if (entry.input, entry.output) in ties)
    # Not checked again: members of a group may share bytes where the pair may.
    return Problem(
        version=1,
        name=problem.name,
        pools=problem.pools,
        buffers=problem.buffers,
        conflicts=problem.conflicts,
        exclusive=problem.exclusive,
        relative=(*problem.relative, *bound),
        in_place=rest,
        objective=problem.objective,
    )


def possible(problem: Problem, pairs: Iterable[InPlace]) -> Ties:
    """Of these pairs, in turn, those that can be tied beside those before."""
    some = list(pairs)
    return _Tying(problem).tie(some) if some else NONE


class _Tying:
    def __init__(self, problem: Problem) -> None:
        self.buffers = problem.buffers
        self.index = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
        self.distances = Distances()
        self.exclusive = {frozenset(pair) for pair in problem.exclusive}
        self.in_place = {frozenset((entry.input, entry.output)) for entry in problem.in_place}
        self.apart = {frozenset(pair) for pair in problem.conflicts}
        for tie in problem.relative:
            self.distances.tie(self.index[tie.buffer], self.index[tie.base], tie.offset)
        self.members: dict[int, list[int]] = {}
        """Of groups of several."""
        tied_names = dict.fromkeys(name for tie in problem.relative for name in (tie.buffer, tie.base))
        for number in sorted(map(self.index.__getitem__, tied_names)):
            self.members.setdefault(self.distances.find(number)[0], []).append(number)

    def tie(self, pairs: Iterable[InPlace]) -> Ties:
        tie: set[tuple[str, str]] = set()
        for pair in pairs:
            source, output = self.index[pair.input], self.index[pair.output]
            # What has no bytes has nothing to share.
            both_sized = self.buffers[source].size and self.buffers[output].size
            if both_sized and self._may_meet(source, output):
                ours, theirs = (self.distances.find(entry)[0] for entry in (source, output))
                if ours != theirs:
                    self.distances.tie(output, source, 0)
                    both = [*self.members.pop(ours, [ours]), *self.members.pop(theirs, [theirs])]
                    self.members[self.distances.find(source)[0]] = both
                tie.add((pair.input, pair.output))
        return frozenset(tie)

    def _may_meet(self, source: int, output: int) -> bool:
        """Whether the groups of both can be one, with nobody on somebody else."""
        ours, at = self.distances.find(source)
        theirs, there = self.distances.find(output)
        if ours == theirs:
            return at == there
        first, second = (
            {member: self.distances.find(member)[1] - begin for member in self.members.get(root, (root,))}
            for root, begin in ((ours, at), (theirs, there))
        )
        # Where the group begins, as its pinned members say.
        pins = (
            (self.buffers[entry].offset, at)
            for entry, at in (first | second).items()
            if self.buffers[entry].size
        )
        starts = {pin - at for pin, at in pins if pin is not None}
        if len(starts) > 1 or any(
            start + min(at for entry, at in (first | second).items() if self.buffers[entry].size) < 0
            for start in starts
        ):
            return False
        return not any(self._on(a, first[a], b, second[b]) for a in first for b in second)

    def _on(self, first: int, at: int, second: int, there: int) -> bool:
        """Whether two buffers that must be apart would not be."""
        one, two = self.buffers[first], self.buffers[second]
        pair = frozenset((one.id, two.id))
        if pair in self.in_place and at == there:
            return False
        if pair not in self.apart and (pair in self.exclusive or not _live_together(one, two)):
            return False
        low, high = (one, two) if at <= there else (two, one)
        return low.size > 0 and high.size > 0 and abs(at - there) < low.size


def _live_together(one: Buffer, two: Buffer) -> bool:
    """Whether their lifetimes meet."""
    return any(a[0] < b[1] and b[0] < a[1] for a in _lives(one) for b in _lives(two))


_EVER: Final = (-(10**4001), 10**4001)


def _lives(buffer: Buffer) -> Sequence[tuple[int, int]]:
    return (_EVER,) if buffer.lifetime == ALWAYS else spans(buffer)


def shared_places(ties: Ties) -> dict[str, str]:
    """Of each tied buffer but one of each group, another whose place it shares: all of them are joined so.

    An output shares the place of an input where that says enough.
    """
    joined: dict[str, set[str]] = {}
    for source, output in ties:
        joined.setdefault(source, set()).add(output)
        joined.setdefault(output, set()).add(source)
    outputs = {output for _, output in ties}
    place_of: dict[str, str] = {}
    seen: set[str] = set()
    for root in sorted(joined, key=lambda entry: (entry in outputs, entry)):
        if root in seen:
            continue
        seen.add(root)
        left = [root]
        for one in left:
            for other in sorted(joined[one] - seen):
                seen.add(other)
                place_of[other] = one
                left.append(other)
    return place_of


# Offsets are sums of sizes and alignments, at the most above each other all of them.
_MOST_BYTES = LIMIT // 2
# As the native code has it: who has more is told before the work, not after it.
_MOST_BUFFERS = 20_000
_TOO_MANY = "more than 20,000 buffers or 16 million pairs of buffers that conflict"


@record
class ItemOrder:
    """Items in the order in which they are put above each other, and the pool of each, as a choice."""

    sequence: tuple[int, ...]
    choices: tuple[int, ...]


class ShapedArrays:
    """One set of tied pairs as arrays; `sizes` are those at the points, by buffer, the largest last."""

    def __init__(
        self, largest: Problem, reduction: Reduction, ties: Ties, sizes: Sequence[Sequence[int]]
    ) -> None:
        self.problem = largest
        self.reduction = reduction
        self.ties = ties
        self._sizes = sizes

    @property
    def instance(self) -> Instance:
        """The items at their largest."""
        return self.reduction.instance

    def shaped(self, points: Sequence[int], most_linked: int = MOST_PAIRS) -> Shaped:
        """The same with sizes at these points, for the native search; DeclinedError for too much.

        Of more pairs than `most_linked` the search may make no list: see `shape`.
        """
        rows = [self._sizes[row] for row in (*points, len(self._sizes) - 1)]
        of_parts = picker(self.reduction.part_buffer)
        flat = array("q", bytes(8 * len(rows) * len(self.reduction.part_buffer)))
        for column, sizes in enumerate(rows):
            flat[column :: len(rows)] = array("q", of_parts(sizes))
        shaped = shape(self.instance, flat, points, most_linked)
        if shaped is None:
            raise declined(_TOO_MANY)
        return shaped

    def order(self, shaped: Shaped, item_order: ItemOrder) -> Order:
        """The sequence as an order, without what follows from the rest."""
        buffers, pools = self.problem.buffers, self.problem.pools
        names = [buffer.id for buffer in buffers]
        part_buffer = self.reduction.part_buffer
        above: list[list[str]] = [[] for _ in buffers]
        for upper, lower in shaped.arcs(item_order.sequence, item_order.choices):
            above[part_buffer[upper]].append(names[part_buffer[lower]])
        instance = self.instance
        pool_of = [pools[0].id] * len(buffers)
        if len(pools) > 1:
            for index, place in self.reduction.alone:
                pool_of[index] = place.pool
            for item, choice in enumerate(item_order.choices):
                pool = pools[instance.choice_pool[instance.choice_start[item] + choice]].id
                for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
                    pool_of[part_buffer[part]] = pool
        shares = shared_places(self.ties)
        tied_ids = {name for tie in self.problem.relative for name in (tie.buffer, tie.base)}
        empty = [not buffer.size and buffer.id in tied_ids for buffer in buffers] if tied_ids else False
        with collector_at_rest():
            placements = instances_of(
                OrderedPlacement,
                len(buffers),
                buffer=names,
                pool=pool_of,
                above=list(map(tuple, above)),
                shares=list(map(shares.get, names)) if shares else None,
                empty=empty,
            )
            (order,) = instances_of(Order, 1, placements=placements)
            return order

    def start(self, placements: Sequence[Placement]) -> ItemOrder:
        """Items from the lowest to the highest, as these places have them."""
        offset = {placement.buffer: placement.offset for placement in placements}
        pool = {placement.buffer: placement.pool for placement in placements}
        return self.by_height(offset, pool)

    def by_height(self, height: Mapping[str, float], pool: Mapping[str, str]) -> ItemOrder:
        """Items from the lowest to the highest."""
        instance, buffers = self.instance, self.problem.buffers
        if instance.item_count == len(instance.part_delta) == len(instance.choice_pool):
            # Each item is a buffer with one choice, as in most problems.
            names = [buffers[index].id for index in self.reduction.part_buffer]
            heights = [height.get(name, 0) for name in names]
            sequence = sorted(range(len(names)), key=heights.__getitem__)
            return ItemOrder(tuple(sequence), (0,) * len(names))
        number = {entry.id: index for index, entry in enumerate(self.problem.pools)}
        keys: list[tuple[float, int]] = []
        choices: list[int] = []
        for item in range(instance.item_count):
            parts = range(instance.item_parts[item], instance.item_parts[item + 1])
            ids = [buffers[self.reduction.part_buffer[part]].id for part in parts]
            keys.append((min(height.get(id_, 0) for id_ in ids), item))
            allowed = instance.choice_pool[instance.choice_start[item] : instance.choice_start[item + 1]]
            wanted = number.get(pool.get(ids[0], ""), -1)
            choices.append(allowed.index(wanted) if wanted in allowed else 0)
        return ItemOrder(tuple(item for _, item in sorted(keys)), tuple(choices))

    def measure(self, shaped: Shaped, least: Sequence[int], weights: Sequence[int]) -> None:
        """Say what is counted, and what the least of it is at each point."""
        term: Term = terms_of(self.problem)[0]
        kind, pool = PeakMeasure.SUM, 0
        if term.kind is Kind.MAX_PEAK:
            kind = PeakMeasure.LARGEST
        elif term.kind is Kind.POOL_PEAK:
            kind = PeakMeasure.ONE_POOL
            pool = next(index for index, pool in enumerate(self.problem.pools) if pool.id == term.pool)
        shaped.set_measure(kind, pool, list(least), [float(weight) for weight in weights])


def make_arrays(largest: Problem, ties: Ties, sizes: Sequence[Sequence[int]]) -> "ShapedArrays | Explanation":
    """The arrays, or why some buffer has no place even alone."""
    reduction = reduce(tied(largest, ties), in_bytes=True)
    if isinstance(reduction, Explanation):
        return reduction
    if any(pool.reserved or pool.capacity is not None for pool in largest.pools):
        reduction = replace(reduction, instance=_limited(largest, reduction.instance))
    return ShapedArrays(largest, reduction, ties, sizes)


def _limited(problem: Problem, instance: Instance) -> Instance:
    """Lowest and highest offsets: an order knows the bottom and the top of a pool, and nothing between."""
    lows, highs = instance.choice_low[:], instance.choice_high[:]
    spaces = [usable(problem, number) for number in range(len(problem.pools))]
    for item in range(instance.item_count):
        parts = range(instance.item_parts[item], instance.item_parts[item + 1])
        top = max(instance.part_delta[part] + instance.part_size[part] for part in parts)
        bottom = min(instance.part_delta[part] for part in parts)
        for choice in range(instance.choice_start[item], instance.choice_start[item + 1]):
            low, high = spaces[instance.choice_pool[choice]]
            if lows[choice] != highs[choice]:
                lows[choice] = max(lows[choice], low - bottom)
                highs[choice] = min(highs[choice], high - top)
    return replace(instance, choice_low=lows, choice_high=highs)


def usable(problem: Problem, number: int) -> tuple[int, int]:
    """The bytes of a pool from its reserved bottom to its reserved top; DeclinedError for a hole between."""
    pool = problem.pools[number]
    low, high = 0, end_of(pool)
    for begin, end in merged([(entry.offset, entry.offset + entry.size) for entry in pool.reserved]):
        if begin <= low:
            low = max(low, end)
        elif end >= high:
            high = min(high, begin)
        else:
            raise declined(
                f"the reserved range at {begin:,} of pool {pool.id!r}: it keeps free only what is at the "
                "bottom or at the top of a pool"
            )
    return low, high


def require_few(problem: SymbolicProblem) -> None:
    """DeclinedError where there are too many buffers, whatever their formulas are."""
    if len(problem.buffers) - [buffer.size for buffer in problem.buffers].count(0) > _MOST_BUFFERS:
        raise declined(_TOO_MANY)


def require_room(problem: Problem) -> None:
    """DeclinedError where offsets could grow beyond what is counted."""
    alignment = max(pool.alignment for pool in problem.pools)
    total = sum(
        buffer.size + buffer.alignment * alignment + (buffer.offset or 0) for buffer in problem.buffers
    )
    total += sum(abs(entry.offset) for entry in problem.relative)
    total += sum(usable(problem, number)[0] for number in range(len(problem.pools)))
    if total > _MOST_BYTES:
        raise declined("sizes, distances and alignments that add up to more than 2^61 bytes")


def declined(what: str) -> DeclinedError:
    """What an order cannot honour, by name."""
    return DeclinedError(f"an order cannot honour {what}; use --shapes fixed")
