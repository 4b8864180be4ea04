"""The sizes of all buffers: at a point, and at the most over all points."""

from collections import Counter
from collections.abc import Iterator, Sequence

from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.model.with_sizes import with_sizes
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.shapes.extremes import Boxes, How, Largest, NotShown, NoValue
from memstow.planner.verify.shapes.formulas import Formula, Formulas
from memstow.planner.verify.shapes.nodes import FormulaError
from memstow.planner.verify.shapes.space import Space, Values


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
        first_with: dict[int | str, str] = {}
        for buffer in problem.buffers:
            first_with.setdefault(buffer.size, buffer.id)
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
        self._of_buffer = [place[buffer.size] for buffer in problem.buffers]
        """For each buffer the number of its distinct size."""
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
        found = self._distinct_at(values)
        return [found[number] for number in self._of_buffer]

    def _distinct_at(self, values: Values) -> list[int]:
        return self._read.values(values) + self._numbers

    def size_at(self, buffer: int, values: Values) -> int:
        """The size of one buffer at a point."""
        number = self._of_buffer[buffer]
        count = len(self._formulas)
        return self._formulas[number].value(values) if number < count else self._numbers[number - count]

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
        numbers = (self._of_buffer[i] for i in buffers)
        return frozenset().union(*(self._formulas[it].used for it in numbers if it < len(self._formulas)))

    def point_of_all(self) -> Values | None:
        """A point at which every size is at its largest, if one was found."""
        if not self.largest_are_reached:
            return None
        largest = [it.value for it in self._largest]
        for at in (next(self._space.corners()), *list(self.points_of_largest())[:8]):
            if self._distinct_at(at) == largest:
                return at
        return None

    def say_how(self) -> str:
        """By which ways the largest sizes are known."""
        count = Counter(
            it.how for it, formula in zip(self._largest, self._formulas, strict=False) if formula.used
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
