"""A proof in words: from its conclusions down to what each of their cases rests on.

`check` says whether a proof is right; here one that was accepted is read again, in the form of
docs/proofs.md, for people who want to see why.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from memstow.planner.model.problem import LIMIT, Problem, end_of
from memstow.planner.proofs.prove_places import (
    APART,
    Chains,
    Parts,
    Row,
    chained,
    filled,
    floor_and_step,
    measured,
    most_cost,
    pair_unit,
    spending,
    units_of,
)
from memstow.planner.proofs.questions import COST_TERMS, Heights, costs_of, sharing_pairs, up_to
from memstow.records import record

MOST_STEPS: Final = 300
_MOST_NAMED: Final = 20
_HEADER: Final = b"memstow proof 1\n"
_LEMMA, _FORGET, _CONCLUDE, _SPACE, _SPENT, _PEAKS, _WITHIN, _ROW, _COST, _TIES = range(1, 11)
_HEIGHTS, _ROWS, _CHAINS = range(11, 14)
_PUSH, _EMPTY, _OVERFULL, _BY_LEMMA, _FOLLOW = 1, 2, 3, 4, 5
_DERIVED, _SPLIT_LOW, _SPLIT_HIGH = range(3)
_CHEAPEST, _BRANCH, _WEIGHED = range(3)


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
    """What the rule names: a buffer and an offset, or nothing."""
    cases: tuple[_Case, ...]
    ties_count: bool
    """Whether pairs in place start at the same offset or are apart; else they may overlap."""


@record
class _Limit:
    """Parts, each a buffer or a pair, some pools and a weight, and the room for them.

    Only of what steps have shown with a case.
    """

    parts: tuple[tuple[int, tuple[int, ...], int], ...]
    room: int
    heights: Heights
    case: _Case | None = None
    spent: str = ""
    """The cost that the parts are of."""


@record
class _Statement:
    """What every layout within heights costs at least in a term, and what shows it."""

    term: str
    heights: Heights
    least: int | None
    """None: there is no such layout."""
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
    shown = [*reader.of_kind("parts"), *reader.of_kind("limits")]
    conclusion = reader.conclusion()
    shown += [] if conclusion is None else [conclusion]
    steps = [words.statement(one) for one in shown[:MOST_STEPS]]
    waiting = [] if conclusion is None or conclusion.case is None else [conclusion.case]
    limits = sorted({number for one in shown for number in one.limits or ()})
    count, seen = len(shown) + len(limits), set[int]()
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
    """The steps of a proof: all lemmas, limits and statements by their numbers."""

    def __init__(self, problem: Problem, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._pairs = sharing_pairs(problem)
        self.lemmas = list[_Stated]()
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
        numbers, ties_count = self._numbers, False
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
                row = Row(pool, divisor, buffers)
                self._limit(measured(self._problem, row, heights.peaks[pool], self._pairs), heights)
            elif kind == _ROWS:
                divisor = next(numbers)
                rows = [(pool, tuple(ascending(numbers))) for pool in range(len(heights.peaks))]
                self._limit(filled(self._problem, rows, heights.total, self._pairs, divisor), heights)
            elif kind == _CHAINS:
                pool, worth, prices = next(numbers), next(numbers), ascending(numbers, 1)
                _skip_tree(numbers)
                chains = Chains(pool, worth, tuple((one, price) for one, (price,) in prices.items()), ())
                self._limit(chained(self._problem, chains, heights.peaks[pool], self._pairs), heights)
            elif kind == _SPENT:
                number = next(numbers)
                name, most_spent = COST_TERMS[number], heights.costs[number]
                self._limit(spending(self._problem, name, most_spent, self._pairs), heights, name)
            elif kind == _HEIGHTS:
                peaks = [min(next(numbers), peak) for peak in up_to(self._problem, LIMIT).peaks]
                total, costs = next(numbers), (next(numbers), next(numbers), next(numbers))
                self._named.append(Heights(tuple(peaks), total, costs))
            elif kind == _PEAKS:
                name, most = COST_TERMS[next(numbers)], self._heights()
                leaves = sorted(self._leaves())
                bounds = (self.statements[number].least for number in leaves)
                least = min((bound for bound in bounds if bound is not None), default=None)
                self.statements.append(_Statement(name, most, least, parts=tuple(leaves)))
            elif kind == _COST:
                term, most = COST_TERMS[next(numbers)], self._heights()
                tree = _CostTree(self._problem, term, self.limits, numbers)
                is_none = tree.least is None or tree.least > most_cost(self._problem, term)
                bound = None if is_none else tree.least
                self.statements.append(_Statement(term, most, bound, limits=tuple(sorted(tree.used))))
            elif kind == _TIES:
                ties_count = next(numbers) == 1
            else:
                break

    def _limit(self, shown: tuple[Parts, int] | None, heights: Heights, spent: str = "") -> None:
        parts, room = shown or ([], 0)
        where = tuple((name, (pool,), weight) for name, pool, weight in parts)
        self.limits.append(_Limit(where, room, heights, spent=spent))

    def _leaves(self) -> set[int]:
        """The statements that a tree over peaks names."""
        kind = next(self._numbers)
        if kind == _BRANCH:
            next(self._numbers), next(self._numbers)
            return self._leaves() | self._leaves()
        return {next(self._numbers)} if kind == _WEIGHED else set()


class _CostTree:
    """What a tree over the pools of buffers and over pairs shows, and the limits that it uses."""

    def __init__(self, problem: Problem, term: str, limits: Sequence[_Limit], numbers: Iterator[int]) -> None:
        self._limits, self._numbers = limits, numbers
        self.used = set[int]()
        units = [*units_of(problem, term), *(pair_unit(pair, term) for pair in costs_of(problem)[1])]
        self._unit_of = {index: number for number, unit in enumerate(units) for index in unit.members}
        self._unit_of |= {unit.name: number for number, unit in enumerate(units)}
        self._costs = [dict(zip(unit.pools, unit.costs, strict=True)) for unit in units]
        self._pools = [unit.pools for unit in units]
        floor, step = floor_and_step(problem, term)
        self._cheapest = floor
        least = self._node()
        if least is not None:
            least = max(least, floor)
            least += (floor - least) % step if step else 0
        self.least = least
        """None: there is no such layout."""

    def _node(self) -> int | None:
        kind = next(self._numbers)
        if kind != _BRANCH:
            return self._leaf(kind == _WEIGHED)
        unit, pool = self._unit_of[next(self._numbers)], next(self._numbers)
        before, least = self._pools[unit], list[int | None]()
        for pools in ((pool,), tuple(one for one in before if one != pool)):
            self._allow(unit, pools)
            least.append(self._node())
        self._allow(unit, before)
        return min((one for one in least if one is not None), default=None)

    def _allow(self, unit: int, pools: tuple[int, ...]) -> None:
        costs, before = self._costs[unit], self._pools[unit]
        self._cheapest += min(costs[pool] for pool in pools) - min(costs[pool] for pool in before)
        self._pools[unit] = pools

    def _leaf(self, has_prices: bool) -> int | None:
        if not has_prices:
            return self._cheapest
        scale, prices = next(self._numbers), ascending(self._numbers, 1)
        self.used.update(prices)
        more, rooms, is_broken = Counter[tuple[int, int]](), 0, False
        for number, (price,) in prices.items():
            limit = self._limits[number]
            room = limit.room
            for name, pools, weight in limit.parts:
                unit = self._unit_of[name]
                if all(pool in pools for pool in self._pools[unit]):
                    room -= weight
                    continue
                for pool in pools:
                    more[unit, pool] += price * weight
            is_broken = is_broken or room < 0
            rooms += price * max(room, 0)
        if is_broken:
            return None
        total = scale * self._cheapest
        for unit in {unit for unit, _ in more}:
            costs, allowed = self._costs[unit], self._pools[unit]
            total += min(scale * costs[pool] + more[unit, pool] for pool in allowed)
            total -= scale * min(costs[pool] for pool in allowed)
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


def _skip_tree(numbers: Iterator[int]) -> None:
    """What shows that no chain is worth more."""
    left = 1
    while left:
        if next(numbers) == _BRANCH:
            next(numbers)
            left += 1
        else:
            left -= 1


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
    count = 1 if rule == _DERIVED else 2
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
        _, self._pairs = costs_of(problem)

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
        limits = [self._reader.limits[number] for number in one.limits or ()]
        which = f"what {len(limits):,} limits leave" if len(limits) > 1 else "what a limit leaves"
        where = f"{which} is no cheaper" if limits else "no pool is cheaper"
        return Step(f"{what}: {where}.", self._members(limits))

    def limit(self, number: int) -> Step:
        """How much of some buffers may be in some pools, or which pairs are not all apart."""
        limit = self._reader.limits[number]
        shown = limit.parts[:_MOST_NAMED]
        more = f" and {len(limit.parts) - len(shown):,} others" if len(limit.parts) > len(shown) else ""
        buffers = self._members([limit])
        begin = f"Limit {number:,}: each plan{self._within(limit.heights)}"
        if limit.case is not None:
            if all(name >= len(self._buffers) for name, _, _ in limit.parts):
                pays = [self._name(name) for name, _, _ in shown]
                text = f"{begin} pays for {', or '.join(pays)}{more}. If all are apart"
            else:
                places = [self._place(name, pools) for name, pools, _ in shown]
                text = f"{begin} lacks one of these: {', '.join(places)}{more}. With all"
            return Step(f"{text}: {self.why(limit.case)}.", buffers)
        if limit.spent:
            names = ", ".join(f"{self._place(name, pools)} {weight:,}" for name, pools, weight in shown)
            what = limit.spent.replace("_", " ")
            text = f"{begin} has at most {limit.room:,} of these, which is what {what} is left: {names}{more}"
            return Step(f"{text}.", buffers)
        names = ", ".join(
            f"{self._name(name)} {'apart ' if name >= len(self._buffers) else ''}{weight:,}"
            for name, _, weight in shown
        )
        pools = sorted({pool for name, some, _ in limit.parts for pool in some if name < len(self._buffers)})
        where = " and ".join(self._pools[pool].id for pool in pools)
        return Step(f"{begin} has at most {limit.room:,} of these in {where}: {names}{more}.", buffers)

    def _name(self, name: int) -> str:
        """A buffer or a pair."""
        return " and ".join(self._buffers[i].id for i in self._both(name))

    def _place(self, name: int, pools: tuple[int, ...]) -> str:
        """The same, in some pools."""
        if name < len(self._buffers):
            return f"{self._name(name)} in {' or '.join(self._pools[pool].id for pool in pools)}"
        return f"{self._name(name)} {'apart' if pools == (APART,) else 'sharing bytes'}"

    def _both(self, name: int) -> tuple[int, ...]:
        if name < len(self._buffers):
            return (name,)
        pair = self._pairs[name - len(self._buffers)]
        return pair.first, pair.second

    def _members(self, limits: Sequence[_Limit]) -> tuple[int, ...]:
        return tuple(sorted({i for limit in limits for name, _, _ in limit.parts for i in self._both(name)}))

    def _within(self, heights: Heights) -> str:
        height, total = max(heights.peaks), heights.total
        if heights == up_to(self._problem, height):
            return "" if height >= self._most else f" with a peak of at most {height:,}"
        together = zip(self._pools, heights.peaks, strict=True)
        peaks = [f"{peak:,} in {pool.id}" for pool, peak in together if peak < end_of(pool)]
        peaks += [f"{total:,} in all"] if total < LIMIT else []
        what = [f"peaks of at most {' and '.join(peaks)}"] if peaks else []
        for term, most in zip(COST_TERMS, heights.costs, strict=True):
            what += [f"a {term.replace('_', ' ')} of at most {most:,}"] if most < LIMIT else []
        return f" with {' and '.join(what)}" if what else ""

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
        if stated.rule != _DERIVED:
            index, offset = stated.about
            name = self._buffers[index].id
            side, place = ("most", "on top of") if stated.rule == _SPLIT_LOW else ("least", "under")
            text += f"If {name} is at {side} at {offset:,}: {reasons[0]}. "
            place += " another, or starts where one in place does" if stated.ties_count else " another"
            text += f"Else it, or what moves with it, is {place}: {reasons[1]}."
            shown = [index, *(one for one in shown if one != index)]
        else:
            text += f"{reasons[0][:1].upper()}{reasons[0][1:]}."
        return Step(text, tuple(shown or stated.buffers))
