"""The sizes of all buffers: at a point, and at the most over all points."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.model.with_sizes import with_sizes
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.shapes.extremes import (
    Boxes,
    How,
    Largest,
    NotShown,
    NoValue,
    is_never_below,
    largest,
)
from memstow.planner.verify.shapes.nodes import Call, Chain, FormulaError, Named, Negated, Node, Number
from memstow.planner.verify.shapes.parsing import parsed
from memstow.planner.verify.shapes.space import Space, Values


@dataclass(frozen=True, slots=True)
class _Formula:
    node: Node
    used: frozenset[int]


class Sizes:
    """Each formula is read once, however many buffers have it."""

    def __init__(self, problem: SymbolicProblem, space: Space, findings: Findings) -> None:
        self._problem = problem
        self._space = space
        self._formulas: list[_Formula] = []
        self._of_buffer: list[int] = []
        """For each buffer the number of its formula."""
        number: dict[int | str, int] = {}
        for buffer in problem.buffers:
            if buffer.size not in number:
                number[buffer.size] = len(self._formulas)
                self._formulas.append(_read(buffer.id, buffer.size, space, findings))
            self._of_buffer.append(number[buffer.size])
        self._largest: list[Largest] = []
        if not findings.total:
            self._find_extremes(findings)

    def _find_extremes(self, findings: Findings) -> None:
        boxes, axes = Boxes(), self._space.axes
        first_with = {number: i for i, number in reversed(list(enumerate(self._of_buffer)))}
        for number, formula in enumerate(self._formulas):
            name = self._problem.buffers[first_with[number]].id
            try:
                if not is_never_below(formula.node, axes, 0):
                    below = largest(Negated(formula.node), axes, formula.used, boxes, above=0)
                    if below.value > 0:
                        _note_negative(name, below, self._space, findings)
                self._largest.append(largest(formula.node, axes, formula.used, boxes))
            except NoValue as error:
                text = "the problem is not valid: the size of {!r} has no value at {}: {}"
                findings.add(Code.INVALID_PROBLEM, text, name, self._space.say(error.at), error)
            except NotShown:
                text = "it could not be shown that the size of {!r} has a value everywhere"
                findings.add(Code.NOT_SHOWN, text, name, buffers=(name,))

    def at(self, values: Values) -> list[int]:
        """The size of each buffer at a point."""
        found = [formula.node.value(values) for formula in self._formulas]
        return [found[number] for number in self._of_buffer]

    def size_at(self, buffer: int, values: Values) -> int:
        """The size of one buffer at a point."""
        return self._formulas[self._of_buffer[buffer]].node.value(values)

    def largest(self) -> list[int]:
        """For each buffer a size that it never exceeds."""
        return [self._largest[number].value for number in self._of_buffer]

    @property
    def largest_are_reached(self) -> bool:
        """Whether each of the largest sizes is the size at some point."""
        return all(it.how is not How.BOUND for it in self._largest)

    def point_of_largest(self, buffer: int) -> Values:
        """The point with the largest size of the buffer that was seen."""
        return self._largest[self._of_buffer[buffer]].at

    def points_of_largest(self) -> Iterator[Values]:
        """The points at which some size is at its largest, each once."""
        yield from dict.fromkeys(it.at for it in self._largest)

    def symbols_of(self, buffers: Sequence[int]) -> frozenset[int]:
        """The symbols on which the sizes of these buffers depend."""
        return frozenset().union(*(self._formulas[self._of_buffer[i]].used for i in buffers))

    def point_of_all(self) -> Values | None:
        """A point at which every size is at its largest, if one was found."""
        if not self.largest_are_reached:
            return None
        for at in (next(self._space.corners()), *list(self.points_of_largest())[:8]):
            if all(
                formula.node.value(at) == it.value
                for formula, it in zip(self._formulas, self._largest, strict=True)
            ):
                return at
        return None

    def say_how(self) -> str:
        """By which ways the largest sizes are known."""
        count = Counter(
            it.how for it, formula in zip(self._largest, self._formulas, strict=True) if formula.used
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


def _read(name: str, size: int | str, space: Space, findings: Findings) -> _Formula:
    if isinstance(size, int):
        return _Formula(Number(size), frozenset())
    try:
        node = parsed(size, space.position)
    except FormulaError as error:
        text = "the problem is not valid: the size of {!r} is not a formula: {}"
        findings.add(Code.INVALID_PROBLEM, text, name, error, buffers=(name,))
        return _Formula(Number(0), frozenset())
    return _Formula(node, frozenset(_symbols_in(node)))


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


def _note_negative(name: str, below: Largest, space: Space, findings: Findings) -> None:
    """A size below 0, which some point has, or none was seen to have."""
    if below.seen > 0:
        text = "the problem is not valid: the size of {!r} is {} at {}"
        findings.add(Code.INVALID_PROBLEM, text, name, -below.seen, space.say(below.at), buffers=(name,))
    else:
        text = "it could not be shown that the size of {!r} is never below 0"
        findings.add(Code.NOT_SHOWN, text, name, buffers=(name,))
