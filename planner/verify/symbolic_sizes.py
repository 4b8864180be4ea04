"""The sizes of all buffers at a point and at the most over all points, and what any layout needs there.

Native code of the judge's own reads nearly all formulas and looks for their largest values; where it has no
answer (no formula, no value somewhere, very wide ranges), the trees of `formula_trees.py` have one, with a
reason. `LiveBound` chooses buffers that are live together, whose sizes add up, and has `peak_bounds` count
what they prove at a point.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import nlargest
from typing import Final

from memstow.planner.judge._judge import Formulas as NativeFormulas
from memstow.planner.model.plan import LiveBytes, Sum
from memstow.planner.model.problem import PEAK, InPlace, Problem, Relative, Term
from memstow.planner.model.symbolic import SymbolicProblem, with_sizes
from memstow.planner.verify.formula_trees import (
    MOST_BOXES,
    Boxes,
    Call,
    Chain,
    FormulaError,
    How,
    Largest,
    Named,
    Negated,
    Node,
    NotShown,
    NoValue,
    Space,
    Values,
    is_never_below,
    largest,
    parsed,
)
from memstow.planner.verify.layout import ProblemIndex, Ties
from memstow.planner.verify.peak_bounds import proven
from memstow.planner.verify.verdict import Code, Findings
from memstow.records import picker, replace

_WIDEST: Final = 1 << 61
"""Symbols are between minus this and this in native code."""


class Formulas:
    """Formulas by number, in the order in which they are read."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._all: list[Formula] = []
        self._read = 0
        axes = space.axes
        self._native: NativeFormulas | None = None
        if all(-_WIDEST <= axis.first <= axis.last <= _WIDEST for axis in axes):
            self._native = NativeFormulas(
                [axis.id for axis in axes], [(axis.first, axis.last, axis.step) for axis in axes]
            )

    def __len__(self) -> int:
        return len(self._all)

    def read(self, text: str) -> "Formula":
        """The formula, which is the next one; FormulaError if the text is none."""
        native = self._native
        if native is not None and text.isascii() and native.read(text):
            formula = Formula(text, self._space, native, self._read)
            self._read += 1
        else:
            formula = Formula(text, self._space, None, 0)
            formula.node  # noqa: B018 - read now, to know whether it is one
        self._all.append(formula)
        return formula

    def values(self, at: Values) -> list[int]:
        """The value of each at a point."""
        if self._native is not None and self._read == len(self._all):
            values = self._native.values(at)
            if values is not None:
                return values
        return [formula.value(at) for formula in self._all]


class Formula:
    """One of them."""

    def __init__(self, text: str, space: Space, native: NativeFormulas | None, number: int) -> None:
        self._text = text
        self._space = space
        self._native = native
        self._number = number

    @cached_property
    def node(self) -> Node:
        """The formula as a tree."""
        return parsed(self._text, self._space.position)

    @cached_property
    def used(self) -> frozenset[int]:
        """The symbols that are in it."""
        if self._native is not None:
            return frozenset(self._native.used(self._number))
        return frozenset(_symbols_in(self.node))

    def value(self, at: Values) -> int:
        """The value at a point; FormulaError if there is none."""
        value = None if self._native is None else self._native.value(self._number, at)
        return self.node.value(at) if value is None else value

    def is_never_below_0(self) -> bool:
        """Whether intervals alone show that no value is."""
        if self._native is not None:
            return self._native.is_never_below(self._number, 0)
        return is_never_below(self.node, self._space.axes, 0)

    def largest(self, boxes: Boxes) -> Largest:
        """The largest value; NoValue or NotShown if there may be none somewhere."""
        extreme = self._sought(boxes, above=None, negated=False)
        return extreme or largest(self.node, self._space.axes, self.used, boxes)

    def largest_below_0(self, boxes: Boxes) -> Largest:
        """How far below 0 it goes, as far as that is needed to know whether it does."""
        extreme = self._sought(boxes, above=0, negated=True)
        return extreme or largest(Negated(self.node), self._space.axes, self.used, boxes, above=0)

    def _sought(self, boxes: Boxes, *, above: int | None, negated: bool) -> Largest | None:
        if self._native is None:
            return None
        result = self._native.largest(self._number, MOST_BOXES, boxes.left, above, negated)
        if result is None:
            return None
        value, seen, at, looked = result
        boxes.left -= looked - 1
        how = How.CORNER if looked == 1 else How.SPLIT
        return Largest(value, seen, tuple(at), How.BOUND if value > seen else how)


def _symbols_in(node: Node) -> Iterator[int]:
    match node:
        case Named(symbol):
            yield symbol
        case Negated(operand):
            yield from _symbols_in(operand)
        case Chain(first, rest):
            yield from _symbols_in(first)
            for _, operand in rest:
                yield from _symbols_in(operand)
        case Call(_, arguments):
            for argument in arguments:
                yield from _symbols_in(argument)


class Sizes:
    """Each formula is read once, however many buffers have it."""

    def __init__(self, problem: SymbolicProblem, space: Space, findings: Findings) -> None:
        self._problem = problem
        self._space = space
        self._origin = tuple(axis.first for axis in space.axes)
        self._read = Formulas(space)
        self._formulas: list[Formula] = []
        self._numbers: list[int] = []
        """The sizes that are numbers, each once: behind the formulas in what is counted by distinct size."""
        sizes = [buffer.size for buffer in problem.buffers]
        first_with: dict[int | str, str] = dict.fromkeys(sizes, "")
        # In reverse, so that the first stays.
        first_with.update(
            zip(reversed(sizes), [buffer.id for buffer in reversed(problem.buffers)], strict=True)
        )
        self._names: list[str] = []
        """For each formula the first buffer that has it."""
        for size, name in first_with.items():
            if isinstance(size, int):
                self._numbers.append(size)
            else:
                self._names.append(name)
                self._formulas.append(self._formula(name, size, findings))
        order = [size for size in first_with if not isinstance(size, int)]
        place = {size: number for number, size in enumerate((*order, *self._numbers))}
        self._of_buffer = list(map(place.__getitem__, sizes))
        """For each buffer the number of its distinct size."""
        self._of_distinct = picker(self._of_buffer)
        self._largest: list[Largest] = []
        if not findings.total:
            self._find_extremes(findings)

    def _formula(self, name: str, text: str, findings: Findings) -> Formula:
        try:
            return self._read.read(text)
        except FormulaError as error:
            said = "the problem is not valid: the size of {!r} is not a formula: {}"
            findings.add(Code.INVALID_PROBLEM, said, name, error, buffers=(name,))
            return self._read.read("0")

    def _find_extremes(self, findings: Findings) -> None:
        boxes = Boxes()
        for name, formula in zip(self._names, self._formulas, strict=True):
            try:
                if not formula.is_never_below_0():
                    below = formula.largest_below_0(boxes)
                    if below.value > 0:
                        _note_negative(name, below, self._space, findings)
                self._largest.append(formula.largest(boxes))
            except NoValue as error:
                text = "the problem is not valid: the size of {!r} has no value at {}: {}"
                findings.add(Code.INVALID_PROBLEM, text, name, self._space.say(error.at), error)
            except NotShown:
                text = "it could not be shown that the size of {!r} has a value everywhere"
                findings.add(Code.NOT_SHOWN, text, name, buffers=(name,))
        self._largest += [Largest(size, size, self._origin, How.CORNER) for size in self._numbers]

    def at(self, values: Values) -> list[int]:
        """The size of each buffer at a point."""
        return list(self._of_distinct(self._distinct_at(values)))

    def _distinct_at(self, values: Values) -> list[int]:
        return self._read.values(values) + self._numbers

    def size_at(self, buffer: int, values: Values) -> int:
        """The size of one buffer at a point."""
        number = self._of_buffer[buffer]
        count = len(self._formulas)
        return self._formulas[number].value(values) if number < count else self._numbers[number - count]

    def largest(self) -> list[int]:
        """For each buffer a size that it never exceeds."""
        return list(self._of_distinct([entry.value for entry in self._largest]))

    @property
    def largest_are_reached(self) -> bool:
        """Whether each of the largest sizes is the size at some point."""
        return all(entry.how is not How.BOUND for entry in self._largest)

    def point_of_largest(self, buffer: int) -> Values:
        """The point with the largest size of the buffer that was seen."""
        return self._largest[self._of_buffer[buffer]].at

    def points_of_largest(self) -> Iterator[Values]:
        """The points at which some size is at its largest, each once."""
        yield from dict.fromkeys(entry.at for entry in self._largest)

    def symbols_of(self, buffers: Sequence[int]) -> frozenset[int]:
        """The symbols on which the sizes of these buffers depend."""
        numbers = (self._of_buffer[i] for i in buffers)
        return frozenset().union(
            *(self._formulas[number].used for number in numbers if number < len(self._formulas))
        )

    def point_of_all(self) -> Values | None:
        """A point at which every size is at its largest, if one was found."""
        if not self.largest_are_reached:
            return None
        largest = [entry.value for entry in self._largest]
        for at in (next(self._space.corners()), *list(self.points_of_largest())[:8]):
            if self._distinct_at(at) == largest:
                return at
        return None

    def say_how(self) -> str:
        """By which ways the largest sizes are known."""
        count = Counter(
            entry.how for entry, formula in zip(self._largest, self._formulas, strict=False) if formula.used
        )
        said = {
            How.CORNER: "at a corner of the range",
            How.SPLIT: "by splitting the range",
            How.BOUND: "by an interval bound that may not be reached",
        }
        parts = [f"{count[how]:,} {words}" for how, words in said.items() if count[how]]
        return ", ".join(parts) or "no size depends on a symbol"

    def problem_with(self, sizes: Sequence[int]) -> Problem:
        """The ordinary problem with these sizes."""
        return with_sizes(self._problem, sizes)


def _note_negative(name: str, below: Largest, space: Space, findings: Findings) -> None:
    """A size below 0, which some point has, or none was seen to have."""
    if below.seen > 0:
        text = "the problem is not valid: the size of {!r} is {} at {}"
        findings.add(Code.INVALID_PROBLEM, text, name, -below.seen, space.say(below.at), buffers=(name,))
    else:
        text = "it could not be shown that the size of {!r} is never below 0"
        findings.add(Code.NOT_SHOWN, text, name, buffers=(name,))


class Units:
    """`unit[i]` of buffer i, `at[i]` its distance from where its unit begins, and all `members`.

    `contradicted` has the ties whose distance is another than that of other ties. Each of the `loose` buffers
    is a unit alone; others keep the distances that they have through it.
    """

    def __init__(
        self, count: int, ties: Iterable[tuple[int, int, int]], loose: Collection[int] = frozenset()
    ) -> None:
        self.unit = [-1] * count
        self.at = [0] * count
        self.members: list[list[int]] = []
        entries = Ties(ties)
        tied = entries.tied()
        for first in range(count):
            if first not in tied:
                self.unit[first] = len(self.members)
                self.members.append([first])
            elif self.unit[first] < 0:
                distances = entries.around(first)
                for member, distance in distances.items():
                    self.unit[member] = len(self.members)
                    self.at[member] = distance
                self.members.append(list(distances))
        self.contradicted = entries.contradicted(self.at)
        if loose:
            self._part(loose)

    def _part(self, loose: Collection[int]) -> None:
        """Let these go from their units."""
        kept = ([i for i in members if i not in loose] for members in self.members)
        self.members = [*filter(None, kept), *([i] for i in sorted(loose))]
        for number, members in enumerate(self.members):
            for i in members:
                self.unit[i] = number
        for i in loose:
            self.at[i] = 0

    def same_offset(self, one: int, other: int) -> bool:
        """Whether the two always begin together."""
        return self.unit[one] == self.unit[other] and self.at[one] == self.at[other]


_MOMENTS: Final = 8
"""Moments with the most live bytes that are compared where buffers may share bytes."""
_MOST_POOLS: Final = 16
_MOST_WITHOUT_TIME: Final = 2_000


class LiveBound:
    """Lower bounds of the objective at points."""

    def __init__(self, index: ProblemIndex, term: Term) -> None:
        self._index = index
        self._term = term
        self._tied = Units(len(index.buffers), index.relative)
        self._events = index.events(range(len(index.buffers)))
        self._without_time = [] if self._events else [i for pair in index.conflicts for i in pair]
        self._must: list[frozenset[int]] = []
        """For each pool the buffers that can be in no other."""
        if 1 < len(index.pools) <= _MOST_POOLS:
            only = [index.allowed(i) for i in range(len(index.buffers))]
            self._must = [
                frozenset(i for i, pools in enumerate(only) if list(pools) == [pool])
                for pool in range(len(index.pools))
            ]

    def at(self, sizes: Sequence[int]) -> int:
        """No layout with these sizes has a lower objective."""
        pools = self._index.pools
        best = 0
        if len(pools) == 1:
            return self._best_of(sizes, None, self._term, pools[0].id)
        best = self._best_of(sizes, None, self._term, None)
        parts: list[LiveBytes] = []
        for pool, must in zip(pools, self._must, strict=False):
            certificate = next(self._certificates(sizes, must, pool.id), None) if must else None
            if certificate is not None:
                best = max(best, self._proven(sizes, self._term, certificate))
                parts.append(certificate)
        if self._term == PEAK and len(parts) > 1:
            best = max(best, self._proven(sizes, PEAK, Sum(parts=tuple(parts))))
        return best

    def _best_of(
        self, sizes: Sequence[int], among: frozenset[int] | None, term: Term, pool: str | None
    ) -> int:
        bounds = (
            self._proven(sizes, term, certificate) for certificate in self._certificates(sizes, among, pool)
        )
        return max(bounds, default=0)

    def _certificates(
        self, sizes: Sequence[int], among: frozenset[int] | None, pool: str | None
    ) -> Iterator[LiveBytes]:
        """Sets of buffers of which every two conflict, those that add up to the most first."""
        sets = [(self._apart(live, sizes), time) for time, live in self._moments(sizes, among)]
        if self._without_time:
            listed = [i for i in dict.fromkeys(self._without_time) if sizes[i] and (not among or i in among)]
            sets.append((self._clique(listed, sizes), None))
        sets.sort(key=lambda part: -sum(sizes[i] for i in part[0]))
        for chosen, time in sets:
            if chosen:
                names = tuple(map(self._index.id_of, chosen))
                yield LiveBytes(pool=pool, time=time, buffers=names)

    def _moments(
        self, sizes: Sequence[int], among: frozenset[int] | None
    ) -> list[tuple[int | None, list[int]]]:
        """Moments with the most live bytes, and the buffers with bytes that live then."""
        live, before, rising = 0, 0, False
        totals: list[tuple[int, int]] = []
        for time, begins, i in self._events:
            if among is not None and i not in among:
                continue
            if begins:
                live, rising = live + sizes[i], True
            else:
                if rising:
                    totals.append((live, before))
                live, rising = live - sizes[i], False
            before = time
        count = _MOMENTS if self._index.sharing else 1
        return [
            (
                time,
                [i for i in self._index.living_at(time) if sizes[i] and (among is None or i in among)],
            )
            for _, time in nlargest(count, totals, key=lambda entry: entry[0])
        ]

    def _apart(self, live: Iterable[int], sizes: Sequence[int]) -> list[int]:
        """Those of them that may share no bytes with each other; the largest are kept."""
        sharing = self._index.sharing
        if not sharing:
            return list(live)
        kept: set[int] = set()
        for i in sorted(live, key=lambda i: -sizes[i]):
            if not kept & sharing.get(i, set()):
                kept.add(i)
        return sorted(kept)

    def _clique(self, listed: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Buffers without lifetimes that are listed as conflicts, every two of them."""
        kept: list[int] = []
        for i in sorted(listed, key=lambda i: -sizes[i])[:_MOST_WITHOUT_TIME]:
            if all((min(i, entry), max(i, entry)) in self._index.conflicts for entry in kept):
                kept.append(i)
        return self._apart(kept, sizes)

    def _proven(self, sizes: Sequence[int], term: Term, certificate: LiveBytes | Sum) -> int:
        parts = (certificate,) if isinstance(certificate, LiveBytes) else certificate.parts
        chosen = {self._index.buffer_index[name] for part in parts for name in part.buffers}
        units = {self._tied.unit[i] for i in chosen}
        part = sorted(i for u in units for i in self._tied.members[u])
        findings = Findings()
        index = ProblemIndex(self._problem_of(part, sizes), findings)
        if findings.total:
            return 0
        bound = proven(index, term, certificate, cheapest_only=False)
        return 0 if isinstance(bound, str) else bound

    def _problem_of(self, part: Sequence[int], sizes: Sequence[int]) -> Problem:
        index = self._index
        there = set(part)
        names = {index.id_of(i) for i in part}

        def pairs(all_pairs: Iterable[tuple[int, int]]) -> list[tuple[str, str]]:
            return [(index.id_of(a), index.id_of(b)) for a, b in all_pairs if a in there and b in there]

        return Problem(
            pools=index.pools,
            buffers=[replace(index.buffers[i], size=sizes[i]) for i in part],
            conflicts=pairs(index.conflicts),
            exclusive=pairs(index.exclusive),
            in_place=[InPlace(input=one, output=other) for one, other in pairs(index.in_place)],
            relative=[
                Relative(buffer=entry.buffer, base=entry.base, offset=entry.offset)
                for entry in index.problem.relative
                if entry.buffer in names and entry.base in names
            ],
            objective=index.problem.objective,
        )
