"""A proof in words: from its conclusions down to what each of their cases rests on.

`check` says whether a proof is right; here one that was accepted is read again, in the form of
docs/proofs.md, for people who want to see why.
"""

from collections.abc import Iterator
from typing import Final

from memstow.planner.model.problem import Problem, end_of
from memstow.planner.proofs.prove import costs_of
from memstow.records import record

MOST_STEPS: Final = 300
_MOST_NAMED: Final = 20
_HEADER: Final = b"memstow proof 1\n"
_LEMMA, _FORGET, _CONCLUDE, _SPACE, _APART, _COST = range(1, 7)
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


@record
class _Core:
    """Pairs of which every layout within a height pays one."""

    pairs: tuple[int, ...]
    height: int
    case: _Case


@record
class _Cost:
    """What every layout within a height pays at least, and the cores that show it."""

    height: int
    least: int | None
    """None: there is no such layout."""
    cores: tuple[int, ...]


def layout_walk(problem: Problem, data: bytes) -> Walk | None:
    """The steps of a proof about layouts that was accepted; None where it concludes nothing."""
    reader = _Reader(problem, numbers_of(data))
    reader.read()
    words = _Words(problem, reader)
    steps, waiting = [words.cost(cost) for cost in reader.costs], list[_Case]()
    if reader.conclusion is not None:
        height, case = reader.conclusion
        steps.append(Step(f"No plan has a peak below {height + 1:,}: {words.why(case)}.", case.crowd))
        waiting.append(case)
    used = sorted({number for cost in reader.costs for number in cost.cores})
    steps += [words.core(number) for number in used[: MOST_STEPS - len(steps)]]
    waiting += [reader.cores[number].case for number in reversed(used)]
    if not steps:
        return None
    count, seen = len(steps) + max(len(used) - MOST_STEPS, 0), set[int]()
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
    """The steps of a proof: its strongest conclusion, all lemmas and cores by their numbers, and costs."""

    def __init__(self, problem: Problem, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self.fixed, self.pairs = costs_of(problem)
        self.lemmas = list[_Stated]()
        self.conclusion: tuple[int, _Case] | None = None
        self.cores = list[_Core]()
        self.costs = list[_Cost]()

    def read(self) -> None:
        """All steps."""
        numbers, apart = self._numbers, tuple[int, ...]()
        for kind in numbers:
            if kind == _LEMMA:
                self.lemmas.append(_lemma(numbers, len(self.lemmas)))
            elif kind == _CONCLUDE:
                height = next(numbers)
                case = _case(numbers, len(self.lemmas))
                if apart:
                    self.cores.append(_Core(apart, height, case))
                elif self.conclusion is None or height > self.conclusion[0]:
                    self.conclusion = height, case
            elif kind in (_FORGET, _SPACE):
                next(numbers)
            elif kind == _APART:
                apart = tuple(ascending(numbers))
            elif kind == _COST:
                height, cores = next(numbers), set[int]()
                least = self._least(cores, self.fixed, frozenset())
                self.costs.append(_Cost(height, least, tuple(sorted(cores))))
            else:
                break

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


def ascending(numbers: Iterator[int], more: int = 0) -> dict[int, list[int]]:
    """A list of gaps, and so many numbers after each."""
    some, following = dict[int, list[int]](), 0
    for _ in range(next(numbers)):
        one = following + next(numbers)
        some[one] = [next(numbers) for _ in range(more)]
        following = one + 1
    return some


def numbers_of(data: bytes, header: bytes = _HEADER) -> Iterator[int]:
    """The numbers of a proof, after its header and the digest of what it is about."""
    value = shift = 0
    for byte in memoryview(data)[len(header) + 32 :]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def _lemma(numbers: Iterator[int], made: int) -> _Stated:
    buffers = ascending(numbers, 2)
    rule = next(numbers)
    about = () if rule == _DERIVED else (next(numbers), next(numbers))
    count = 1 if rule in (_DERIVED, _TWINS) else 2
    return _Stated(tuple(buffers), rule, about, tuple(_case(numbers, made) for _ in range(count)))


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
        self._buffers = problem.buffers
        self._most = max(map(end_of, problem.pools))
        self._reader = reader

    def cost(self, cost: _Cost) -> Step:
        """What a tree shows."""
        cores = [self._reader.cores[number] for number in cost.cores]
        which = f"each of {len(cores):,} cores" if len(cores) > 1 else "a core"
        pays = f"each pays for a pair of {which}" if cores else "some pairs share memory in every plan"
        what = f"No plan{self._within(cost.height)}"
        if cost.least is None:
            return Step(f"{what} exists: {pays}.", self._members(cores))
        return Step(f"{what} has a reuse cost below {cost.least:,}: {pays}.", self._members(cores))

    def core(self, number: int) -> Step:
        """Why one of some pairs is paid."""
        core = self._reader.cores[number]
        pairs = [self._reader.pairs[pair] for pair in core.pairs]
        names = [f"{self._buffers[i].id} and {self._buffers[j].id}" for i, j, _ in pairs[:_MOST_NAMED]]
        more = [f"one of {len(pairs) - len(names):,} other pairs"] if len(pairs) > len(names) else []
        paid = ", or ".join([*names, *more])
        text = f"Core {number:,}: each plan{self._within(core.height)} pays for {paid}."
        return Step(f"{text} If all are apart: {self.why(core.case)}.", self._members([core]))

    def _within(self, height: int) -> str:
        return "" if height >= self._most else f" with a peak of at most {height:,}"

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
            text += f"Else it, or what moves with it, is {place} another: {reasons[1]}."
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
