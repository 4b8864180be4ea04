"""A proof in words: from its conclusions down to what each of their cases rests on.

`check` says whether a proof is right; here one that was accepted is read again, in the form of
docs/proofs.md, for people who want to see why.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd
from typing import Final

from memstow.planner.model.problem import LIMIT, Problem, end_of
from memstow.planner.proofs.prove_places import PLACEMENT_TERMS, Row, measured, most_cost, units_of
from memstow.planner.proofs.questions import COST_TERMS, Heights, costs_of, up_to
from memstow.records import record

MOST_STEPS: Final = 300
_MOST_NAMED: Final = 20
_HEADER: Final = b"memstow proof 1\n"
_LEMMA, _FORGET, _CONCLUDE, _SPACE, _APART, _COST, _WITHIN, _ROW, _PLACEMENT, _TIES = range(1, 11)
_HEIGHTS, _ROWS, _PEAKS = range(11, 14)
_PUSH, _EMPTY, _OVERFULL, _BY_LEMMA, _FOLLOW = 1, 2, 3, 4, 5
_DERIVED, _SPLIT_LOW, _SPLIT_HIGH, _ORDER, _TWINS = range(5)
_PAID, _BRANCH, _WEIGHTS = range(3)


@record
class Step:
    """A step, and the buffers that it is about."""

    text: str
    buffers: tuple[int, ...]


@record
class Walk:
    """The steps from the conclusion on, and how many more there are."""

    steps: tuple[Step, ...]
    more: int


@record
class _Case:
    """How a case ends."""

    closer: int
    lemma: int = -1
    begin: int = 0
    end: int = 0
    crowd: tuple[int, ...] = ()


@record
class _Stated:
    """A lemma, or the conclusion."""

    buffers: tuple[int, ...]
    rule: int
    about: tuple[int, ...]
    """What the rule names: a buffer and an offset, or two buffers."""
    cases: tuple[_Case, ...]
    ties_count: bool
    """Whether pairs in place start at the same offset or are apart; else they may overlap."""


@record
class _Core:
    """Pairs of which every layout within a height pays one."""

    pairs: tuple[int, ...]
    heights: Heights
    case: _Case


@record
class _Limit:
    """Parts, each a buffer, some pools and a weight, and the room for them; of a row without a case."""

    parts: tuple[tuple[int, tuple[int, ...], int], ...]
    room: int
    heights: Heights
    case: _Case | None = None


@record
class _Statement:
    """What every layout within heights costs at least in a term, and what shows it."""

    term: str
    heights: Heights
    least: int | None
    """None: there is no such layout."""
    cores: tuple[int, ...] | None = None
    limits: tuple[int, ...] | None = None
    parts: tuple[int, ...] | None = None
    """Other statements, by the peaks of pools."""
    case: _Case | None = None
    """Of a conclusion."""


def layout_walk(problem: Problem, data: bytes) -> Walk | None:
    """The steps of a proof about layouts that was accepted; None where it concludes nothing."""
    reader = _Reader(problem, numbers_of(data))
    reader.read()
    words = _Words(problem, reader)
    shown = [*reader.of_kind("parts"), *reader.of_kind("limits"), *reader.of_kind("cores")]
    conclusion = reader.conclusion()
    shown += [] if conclusion is None else [conclusion]
    steps = [words.statement(one) for one in shown[:MOST_STEPS]]
    waiting = [] if conclusion is None or conclusion.case is None else [conclusion.case]
    used = sorted({number for one in shown for number in one.cores or ()})
    limits = sorted({number for one in shown for number in one.limits or ()})
    count, seen = len(shown) + len(used) + len(limits), set[int]()
    steps += [words.core(number) for number in used[: max(MOST_STEPS - len(steps), 0)]]
    waiting += [reader.cores[number].case for number in reversed(used)]
    steps += [words.limit(number) for number in limits[: max(MOST_STEPS - len(steps), 0)]]
    cases = [reader.limits[number].case for number in reversed(limits)]
    waiting += [case for case in cases if case is not None]
    if not steps:
        return None
    while waiting:
        case = waiting.pop()
        if case.closer != _BY_LEMMA or case.lemma in seen:
            continue
        seen.add(case.lemma)
        stated = reader.lemmas[case.lemma]
        if len(steps) < MOST_STEPS:
            steps.append(words.step(case.lemma, stated))
        waiting += reversed(stated.cases)
    return Walk(tuple(steps), count + len(seen) - len(steps))


class _Reader:
    """The steps of a proof: all lemmas, cores, limits and statements by their numbers."""

    def __init__(self, problem: Problem, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self.fixed, self.pairs = costs_of(problem)
        self.lemmas = list[_Stated]()
        self.cores = list[_Core]()
        self.limits = list[_Limit]()
        self.statements = list[_Statement]()
        self._named = list[Heights]()
        self._problem = problem

    def of_kind(self, kind: str) -> list[_Statement]:
        """The statements that rest on such."""
        return [one for one in self.statements if getattr(one, kind) is not None]

    def conclusion(self) -> _Statement | None:
        """The strongest conclusion."""
        conclusions = self.of_kind("case")
        return max(conclusions, key=lambda one: max(one.heights.peaks), default=None)

    def _heights(self) -> Heights:
        number = next(self._numbers)
        return up_to(self._problem, number) if number <= LIMIT else self._named[number - LIMIT - 1]

    def read(self) -> None:
        """All steps."""
        numbers, apart, ties_count = self._numbers, tuple[int, ...](), False
        heights = up_to(self._problem, 0)
        within = list[tuple[int, tuple[int, ...], int]]()
        for kind in numbers:
            if kind == _LEMMA:
                self.lemmas.append(_lemma(numbers, len(self.lemmas), ties_count))
            elif kind == _CONCLUDE:
                heights = self._heights()
                case = _case(numbers, len(self.lemmas))
                if within:
                    self.limits.append(_Limit(tuple(within), len(within) - 1, heights, case))
                elif apart:
                    self.cores.append(_Core(apart, heights, case))
                else:
                    self.statements.append(_Statement("", heights, None, case=case))
            elif kind == _FORGET:
                next(numbers)
            elif kind in (_SPACE, _WITHIN):
                heights, within = self._heights(), []
                for index in _lists(numbers) if kind == _WITHIN else ():
                    within.append((index, tuple(ascending(numbers)), 1))
            elif kind == _ROW:
                pool, divisor, buffers = next(numbers), next(numbers), tuple(ascending(numbers))
                weights, room = measured(self._problem, Row(pool, divisor, buffers), heights.peaks[pool])
                parts = ((i, (pool,), weight) for i, weight in zip(buffers, weights, strict=True))
                self.limits.append(_Limit(tuple(parts), room, heights))
            elif kind == _ROWS:
                divisor, more = next(numbers), list[tuple[int, tuple[int, ...], int]]()
                for pool in range(len(heights.peaks)):
                    sizes = ((i, self._problem.buffers[i].size) for i in ascending(numbers))
                    more += [(i, (pool,), size // divisor) for i, size in sizes]
                self.limits.append(_Limit(tuple(more), heights.total // divisor, heights))
            elif kind == _HEIGHTS:
                *peaks, total = (next(numbers) for _ in range(len(self._problem.pools) + 1))
                reach = up_to(self._problem, LIMIT).peaks
                self._named.append(Heights(tuple(map(min, peaks, reach)), total))
            elif kind == _PEAKS:
                name, most = COST_TERMS[next(numbers)], self._heights()
                leaves = sorted(self._leaves())
                bounds = (self.statements[number].least for number in leaves)
                least = min((bound for bound in bounds if bound is not None), default=None)
                self.statements.append(_Statement(name, most, least, parts=tuple(leaves)))
            elif kind == _PLACEMENT:
                term, most = PLACEMENT_TERMS[next(numbers)], self._heights()
                tree = _PlacementTree(self._problem, term, self.limits, numbers)
                bound = None if tree.least > most_cost(self._problem, term) else tree.least
                self.statements.append(_Statement(term, most, bound, limits=tuple(sorted(tree.used))))
            elif kind == _TIES:
                ties_count = next(numbers) == 1
            elif kind == _APART:
                apart = tuple(ascending(numbers))
            elif kind == _COST:
                most, cores = self._heights(), set[int]()
                least = self._least(cores, self.fixed, frozenset())
                term = COST_TERMS[-1]
                self.statements.append(_Statement(term, most, least, cores=tuple(sorted(cores))))
            else:
                break

    def _leaves(self) -> set[int]:
        """The statements that a tree over peaks names."""
        kind = next(self._numbers)
        if kind == _BRANCH:
            next(self._numbers), next(self._numbers)
            return self._leaves() | self._leaves()
        return {next(self._numbers)} if kind == _WEIGHTS else set()

    def _least(self, cores: set[int], paid: int, excluded: frozenset[int]) -> int | None:
        """What a node of a tree shows, and the cores that it uses."""
        kind = next(self._numbers)
        if kind == _PAID:
            return paid
        if kind == _WEIGHTS:
            weights = ascending(self._numbers, 1)
            cores.update(weights)
            return paid + sum(weight for (weight,) in weights.values())
        number = next(self._numbers)
        cores.add(number)
        rest = [pair for pair in self.cores[number].pairs if pair not in excluded]
        known = list[int]()
        while rest:
            pair = rest.pop(next(self._numbers))
            below = self._least(cores, paid + self.pairs[pair][2], excluded)
            known += [] if below is None else [below]
            excluded |= {pair}
        return min(known, default=None)


class _PlacementTree:
    """What a tree over the pools of buffers shows, and the limits that it uses."""

    def __init__(self, problem: Problem, term: str, limits: Sequence[_Limit], numbers: Iterator[int]) -> None:
        self._limits, self._numbers = limits, numbers
        self.used = set[int]()
        units = units_of(problem, term)
        self._unit_of = {index: number for number, unit in enumerate(units) for index in unit.members}
        self._costs = [dict(zip(unit.pools, unit.costs, strict=True)) for unit in units]
        self._pools = [unit.pools for unit in units]
        floor = sum(min(costs.values(), default=0) for costs in self._costs)
        self._cheapest = floor
        step = gcd(*(cost - unit.costs[0] for unit in units for cost in unit.costs))
        least = max(self._node(), floor)
        self.least = least + (floor - least) % step if step else least

    def _node(self) -> int:
        kind = next(self._numbers)
        if kind != _BRANCH:
            return self._leaf(kind == _WEIGHTS)
        unit, pool = self._unit_of[next(self._numbers)], next(self._numbers)
        before, least = self._pools[unit], list[int]()
        for pools in ((pool,), tuple(one for one in before if one != pool)):
            self._allow(unit, pools)
            least.append(self._node())
        self._allow(unit, before)
        return min(least)

    def _allow(self, unit: int, pools: tuple[int, ...]) -> None:
        costs, before = self._costs[unit], self._pools[unit]
        self._cheapest += min(costs[pool] for pool in pools) - min(costs[pool] for pool in before)
        self._pools[unit] = pools

    def _leaf(self, has_prices: bool) -> int:
        if not has_prices:
            return self._cheapest
        scale, prices = next(self._numbers), ascending(self._numbers, 1)
        more, rooms = Counter[tuple[int, int]](), 0
        for number, (price,) in prices.items():
            limit = self._limits[number]
            rooms += price * limit.room
            for index, pools, weight in limit.parts:
                for pool in pools:
                    more[self._unit_of[index], pool] += price * weight
        self.used.update(prices)
        total = scale * self._cheapest
        for unit in {unit for unit, _ in more}:
            costs, pools = self._costs[unit], self._pools[unit]
            total += min(scale * costs[pool] + more[unit, pool] for pool in pools)
            total -= scale * min(costs[pool] for pool in pools)
        return -(-(total - rooms) // scale)


def _lists(numbers: Iterator[int]) -> Iterator[int]:
    """A list of gaps, after each of which something follows that has to be read before the next."""
    following = 0
    for _ in range(next(numbers)):
        one = following + next(numbers)
        yield one
        following = one + 1


def ascending(numbers: Iterator[int], more: int = 0) -> dict[int, list[int]]:
    """A list of gaps, and so many numbers after each."""
    return {one: [next(numbers) for _ in range(more)] for one in _lists(numbers)}


def numbers_of(data: bytes, header: bytes = _HEADER) -> Iterator[int]:
    """The numbers of a proof, after its header and the digest of what it is about."""
    value = shift = 0
    for byte in memoryview(data)[len(header) + 32 :]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def _lemma(numbers: Iterator[int], made: int, ties_count: bool) -> _Stated:
    buffers = ascending(numbers, 2)
    rule = next(numbers)
    about = () if rule == _DERIVED else (next(numbers), next(numbers))
    count = 1 if rule in (_DERIVED, _TWINS) else 2
    cases = tuple(_case(numbers, made) for _ in range(count))
    return _Stated(tuple(buffers), rule, about, cases, ties_count)


def _case(numbers: Iterator[int], made: int) -> _Case:
    kind = next(numbers)
    while kind in (_PUSH, _FOLLOW):
        next(numbers)
        kind = next(numbers)
    if kind == _BY_LEMMA:
        return _Case(kind, lemma=made - next(numbers))
    if kind == _EMPTY:
        return _Case(kind)
    begin, end = next(numbers), next(numbers)
    return _Case(kind, begin=begin, end=end, crowd=tuple(ascending(numbers)))


class _Words:
    """What steps say."""

    def __init__(self, problem: Problem, reader: _Reader) -> None:
        self._problem = problem
        self._buffers = problem.buffers
        self._pools = problem.pools
        self._most = max(map(end_of, problem.pools))
        self._reader = reader

    def statement(self, one: _Statement) -> Step:
        """What is shown of all plans, and by what."""
        if one.case is not None:
            if one.heights == up_to(self._problem, max(one.heights.peaks)):
                what = f"No plan has a peak below {max(one.heights.peaks) + 1:,}"
            else:
                what = f"No plan{self._within(one.heights)} exists"
            return Step(f"{what}: {self.why(one.case)}.", one.case.crowd)
        what = f"No plan{self._within(one.heights)} exists"
        if one.least is not None:
            what = what.removesuffix(" exists") + f" has a {one.term.replace('_', ' ')} below {one.least:,}"
        if one.parts is not None:
            count = len(one.parts)
            which = f"what {count:,} other steps say of them" if count > 1 else "what another step says"
            return Step(f"{what}: whatever the peaks are, that is {which}.", ())
        if one.cores is not None:
            cores = [self._reader.cores[number] for number in one.cores]
            which = f"each of {len(cores):,} cores" if len(cores) > 1 else "a core"
            pays = f"each pays for a pair of {which}" if cores else "some pairs share memory in every plan"
            return Step(f"{what}: {pays}.", self._members(cores))
        limits = [self._reader.limits[number] for number in one.limits or ()]
        which = f"what {len(limits):,} limits leave" if len(limits) > 1 else "what a limit leaves"
        where = f"the buffers are in the cheapest pools of {which}" if limits else "no pool is cheaper"
        members = tuple(sorted({index for limit in limits for index, _, _ in limit.parts}))
        return Step(f"{what}: {where}.", members)

    def core(self, number: int) -> Step:
        """Why one of some pairs is paid."""
        core = self._reader.cores[number]
        pairs = [self._reader.pairs[pair] for pair in core.pairs]
        names = [f"{self._buffers[i].id} and {self._buffers[j].id}" for i, j, _ in pairs[:_MOST_NAMED]]
        more = [f"one of {len(pairs) - len(names):,} other pairs"] if len(pairs) > len(names) else []
        paid = ", or ".join([*names, *more])
        text = f"Core {number:,}: each plan{self._within(core.heights)} pays for {paid}."
        return Step(f"{text} If all are apart: {self.why(core.case)}.", self._members([core]))

    def limit(self, number: int) -> Step:
        """How much of some buffers may be in some pools."""
        limit = self._reader.limits[number]
        shown = limit.parts[:_MOST_NAMED]
        more = f" and {len(limit.parts) - len(shown):,} others" if len(limit.parts) > len(shown) else ""
        buffers = tuple(index for index, _, _ in limit.parts)
        begin = f"Limit {number:,}: each plan{self._within(limit.heights)}"
        if limit.case is None:
            names = ", ".join(f"{self._buffers[index].id} {weight:,}" for index, _, weight in shown)
            pools = sorted({pool for _, some, _ in limit.parts for pool in some})
            where = " and ".join(self._pools[pool].id for pool in pools)
            return Step(f"{begin} has at most {limit.room:,} of these in {where}: {names}{more}.", buffers)
        names = ", ".join(
            f"{self._buffers[index].id} in {' or '.join(self._pools[pool].id for pool in pools)}"
            for index, pools, _ in shown
        )
        return Step(f"{begin} lacks one of these: {names}{more}. With all: {self.why(limit.case)}.", buffers)

    def _within(self, heights: Heights) -> str:
        height, total = max(heights.peaks), heights.total
        if total == LIMIT and heights == up_to(self._problem, height):
            return "" if height >= self._most else f" with a peak of at most {height:,}"
        together = zip(self._pools, heights.peaks, strict=True)
        peaks = [f"{peak:,} in {pool.id}" for pool, peak in together if peak < end_of(pool)]
        peaks += [f"{total:,} in all"] if total < LIMIT else []
        return f" with peaks of at most {' and '.join(peaks)}"

    def _members(self, cores: list[_Core]) -> tuple[int, ...]:
        pairs = {pair for core in cores for pair in core.pairs}
        return tuple(sorted({i for pair in pairs for i in self._reader.pairs[pair][:2]}))

    def why(self, case: _Case) -> str:
        """Why a case has no layout."""
        if case.closer == _BY_LEMMA:
            return f"lemma {case.lemma:,}"
        if case.closer == _EMPTY:
            return "then a buffer has no place left"
        needed = sum(self._buffers[index].size for index in case.crowd)
        what = f"{len(case.crowd):,} buffers" if len(case.crowd) > 1 else "1 buffer"
        room = case.end - case.begin
        lost = ", with what is lost between them," if needed <= room else ""
        return (
            f"{what} of {needed:,} bytes{lost} would share the {room:,} from {case.begin:,} to {case.end:,}"
        )

    def step(self, number: int, stated: _Stated) -> Step:
        """A lemma."""
        count = len(stated.buffers)
        about = "1 buffer has" if count == 1 else f"{count:,} buffers have"
        reasons = [self.why(case) for case in stated.cases]
        shown = sorted({index for case in stated.cases for index in case.crowd})
        text = f"Lemma {number:,}: {about} no layout in these ranges. "
        if stated.rule in (_SPLIT_LOW, _SPLIT_HIGH):
            index, offset = stated.about
            name = self._buffers[index].id
            side, place = ("most", "on top of") if stated.rule == _SPLIT_LOW else ("least", "under")
            text += f"If {name} is at {side} at {offset:,}: {reasons[0]}. "
            place += " another, or starts where one in place does" if stated.ties_count else " another"
            text += f"Else it, or what moves with it, is {place}: {reasons[1]}."
            shown = [index, *(one for one in shown if one != index)]
        elif stated.rule in (_ORDER, _TWINS):
            one, other = stated.about
            names = self._buffers[one].id, self._buffers[other].id
            text += f"If {names[0]} is below {names[1]}: {reasons[0]}. "
            text += f"Else: {reasons[1]}." if len(reasons) > 1 else "They are alike, so that is all."
            shown = [one, other, *(each for each in shown if each not in stated.about)]
        else:
            text += f"{reasons[0][:1].upper()}{reasons[0][1:]}."
        return Step(text, tuple(shown or stated.buffers))
