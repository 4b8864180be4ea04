"""Random proofs, by the rules alone: of contexts that have no layout, and attempts at those that have one."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from tests.checker.checkers import SECOND, bytes_of

Ranges = dict[int, tuple[int, int]]
_MODULE: Final[Any] = SECOND.module
TIES: Final = 10
"""The step after which pairs in place tie or are apart."""


def layouts(problem: Any, ranges: Ranges) -> Iterator[dict[int, int]]:
    """The layouts of a context, by trying all, from the words of the page."""
    order = sorted(ranges, key=lambda i: ranges[i][1] - ranges[i][0])

    def fits(i: int, at: int, placed: dict[int, int]) -> bool:
        for j, there in placed.items():
            if problem.same_group(i, j):
                if there - at != problem.distance(i, j):
                    return False
            elif problem.overlap(i, j, there - at):
                pair = frozenset((i, j))
                ties = at == there and pair in problem.ties
                free = pair in problem.ties and not problem.ties_count
                if pair in problem.apart or (problem.meet(i, j) and not ties and not free):
                    return False
        return True

    def place(depth: int, placed: dict[int, int]) -> Iterator[dict[int, int]]:
        if depth == len(order):
            yield dict(placed)
            return
        i = order[depth]
        for at in range(ranges[i][0], ranges[i][1] + 1):
            if problem.up(i, at) == at and fits(i, at, placed):
                yield from place(depth + 1, placed | {i: at})

    yield from place(0, {})


def has_layout(problem: Any, ranges: Ranges) -> bool:
    """Whether there is one."""
    return next(layouts(problem, ranges), None) is not None


def _listed(numbers: Sequence[int]) -> list[int]:
    before, gaps = -1, [len(numbers)]
    for number in sorted(numbers):
        gaps.append(number - before - 1)
        before = number
    return gaps


def _stated(ranges: Ranges) -> list[int]:
    before, numbers = -1, [len(ranges)]
    for i, (low, high) in sorted(ranges.items()):
        numbers += [i - before - 1, low, high]
        before = i
    return numbers


class _Spy(_MODULE.Proof):  # type: ignore[misc]
    """What a checker would have to derive of the cases of a lemma."""

    def derive(self, context: Any) -> None:
        """Keep the case instead."""
        self.cases.append(context.copy())


def cases_of(problem: Any, ranges: Ranges, rule: Sequence[int]) -> list[Any] | None:
    """The cases of a rule in a context; None where it may not be used."""
    spy = _Spy(problem, bytes_of([*_stated(ranges), *rule]))
    spy.cases = []
    try:
        spy.lemma()
    except _MODULE.WrongError:
        return None
    return list(spy.cases)


def is_overfull(problem: Any, context: Any, closer: Sequence[int]) -> bool:
    """Whether a checker takes it that these do not fit."""
    try:
        _MODULE.Proof(problem, bytes_of([*closer])).overfull(context)
    except _MODULE.WrongError:
        return False
    return True


def random_rule(rng: Random, ranges: Ranges) -> list[int]:
    """A rule, without its derivations."""
    i = rng.choice(list(ranges))
    low, high = ranges[i]
    return [rng.choice((1, 2)), i, rng.choice((low, high, rng.randint(low, high)))]


def random_crowd(rng: Random, problem: Any, context: Any) -> list[int]:
    """Some buffers, and the stretch that they are in."""
    some = rng.sample(list(context.ranges), rng.randint(1, len(context.ranges)))
    begin = min(context.ranges[i][0] for i in some)
    end = max(context.ranges[i][1] + problem.buffers[i].size for i in some)
    return [begin, end, *_listed(some)]


class Builder:
    """A proof that contexts have no layout, of lemmas by rules that are drawn."""

    def __init__(self, rng: Random, problem: Any, most: int = 400) -> None:
        self._rng, self._problem, self._left = rng, problem, most
        self.lemmas = list[list[int]]()

    def derivation(self, context: Any) -> list[int] | None:
        """Of a case that has no layout; None where that takes too many steps."""
        rng, moves = self._rng, list[int]()
        for _ in range(rng.choice((0, 2, 6, 20))):
            if context.dead:
                break
            j = rng.choice(list(context.ranges))
            follows = self._problem.buffers[j].group >= 0 and rng.random() < 0.5
            context.follow(j) if follows else context.push(j)
            moves += [5 if follows else 1, j]
        if context.dead:
            return [*moves, 2]
        for _ in range(10):
            closer = random_crowd(rng, self._problem, context)
            if is_overfull(self._problem, context, closer):
                return [*moves, 3, *closer]
        number = self._lemma(dict(context.ranges))
        return None if number is None else [*moves, 4, -1 - number]

    def _lemma(self, ranges: Ranges) -> int | None:
        """The number of a lemma about some of these."""
        self._left -= 1
        if self._left < 0:
            return None
        for i in self._rng.sample(list(ranges), len(ranges)):
            fewer = {k: span for k, span in ranges.items() if k != i}
            if fewer and not has_layout(self._problem, fewer):
                ranges = fewer
        for _ in range(30):
            rule = random_rule(self._rng, ranges)
            cases = cases_of(self._problem, ranges, rule)
            if cases is None or any(case.ranges == ranges and not case.dead for case in cases):
                continue
            if any(not case.dead and has_layout(self._problem, case.ranges) for case in cases):
                continue
            shown = [self.derivation(case) for case in cases]
            if any(one is None for one in shown):
                return None
            numbers = [*_stated(ranges), *rule, *(number for one in shown for number in one or ())]
            self.lemmas.append(numbers)
            return len(self.lemmas) - 1
        return None

    def written(self, height: int, conclusion: Sequence[int]) -> list[int]:
        """The steps: all lemmas, and a conclusion."""
        steps = list[int]()
        for made, numbers in enumerate(self.lemmas):
            steps += [1, *(made + 1 + number if number < 0 else number for number in numbers)]
        made = len(self.lemmas)
        return [*steps, 3, height, *(made + 1 + number if number < 0 else number for number in conclusion)]


def context_of(problem: Any, height: int, several: bool) -> Any:
    """That of a conclusion."""
    end = problem.end if several else min(height, problem.end)
    sized = [(i, one.size) for i, one in enumerate(problem.buffers) if one.size]
    return _MODULE.Context(problem, ((i, 0, end - size) for i, size in sized))


def problem_of(document: object, with_ties: bool) -> Any:
    """The problem as the second checker has it."""
    problem = _MODULE.Problem(document)
    problem.ties_count = with_ties
    return problem
