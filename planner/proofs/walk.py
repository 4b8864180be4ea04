"""A proof in words: from its conclusion down to what each of its cases rests on.

`check` says whether a proof is right; here one that was accepted is read again, in the form of
docs/proofs.md, for people who want to see why.
"""

import os
from collections.abc import Iterator
from typing import Final

from memstow.planner.model.problem import Problem
from memstow.planner.model.records import record

MOST_BYTES: Final = 16 << 20
"""Of a proof that is read as a whole."""
MOST_STEPS: Final = 300
_HEADER: Final = len(b"memstow proof 1\n") + 32
_LEMMA, _FORGET, _CONCLUDE, _SPACE = 1, 2, 3, 4
_PUSH, _EMPTY, _OVERFULL, _BY_LEMMA, _FOLLOW = 1, 2, 3, 4, 5
_DERIVED, _SPLIT_LOW, _SPLIT_HIGH, _ORDER, _TWINS = range(5)


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


def walk_of(problem: Problem, path: "str | os.PathLike[str]") -> Walk | None:
    """The steps of a proof that was accepted; None where it is too long to be read, or concludes nothing."""
    with open(path, "rb") as file:
        return walk_in(problem, file.read(MOST_BYTES + 1))


def walk_in(problem: Problem, data: bytes) -> Walk | None:
    """The same, of the bytes of the file."""
    if len(data) > MOST_BYTES:
        return None
    conclusion, lemmas = _read(data)
    if conclusion is None:
        return None
    height, case = conclusion
    words = _Words(problem)
    steps = [Step(f"No plan has a peak below {height + 1:,}: {words.why(case)}.", case.crowd)]
    seen, waiting = set[int](), [case]
    while waiting:
        case = waiting.pop()
        if case.closer != _BY_LEMMA or case.lemma in seen:
            continue
        seen.add(case.lemma)
        stated = lemmas[case.lemma]
        if len(steps) < MOST_STEPS:
            steps.append(words.step(case.lemma, stated))
        waiting += reversed(stated.cases)
    return Walk(tuple(steps), 1 + len(seen) - len(steps))


def _read(data: bytes) -> tuple[tuple[int, _Case] | None, list[_Stated]]:
    """The strongest conclusion, and all lemmas by their numbers."""
    numbers = _numbers(data)
    lemmas = list[_Stated]()
    strongest: tuple[int, _Case] | None = None
    for kind in numbers:
        if kind == _LEMMA:
            lemmas.append(_lemma(numbers, len(lemmas)))
        elif kind == _CONCLUDE:
            height = next(numbers)
            case = _case(numbers, len(lemmas))
            if strongest is None or height > strongest[0]:
                strongest = height, case
        elif kind in (_FORGET, _SPACE):
            next(numbers)
        else:
            break
    return strongest, lemmas


def _numbers(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in memoryview(data)[_HEADER:]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def _lemma(numbers: Iterator[int], made: int) -> _Stated:
    buffers, following = list[int](), 0
    for _ in range(next(numbers)):
        buffers.append(following + next(numbers))
        following = buffers[-1] + 1
        next(numbers), next(numbers)
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
    crowd, following = list[int](), 0
    for _ in range(next(numbers)):
        crowd.append(following + next(numbers))
        following = crowd[-1] + 1
    return _Case(kind, begin=begin, end=end, crowd=tuple(crowd))


class _Words:
    """What steps say."""

    def __init__(self, problem: Problem) -> None:
        self._buffers = problem.buffers

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
