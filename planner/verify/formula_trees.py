"""Formulas as trees, by the judge's own reading: values at points, and the largest over all points.

sum     = product (("+" | "-") product)*
product = unary (("*" | "//" | "%") unary)*
unary   = "-" unary | number | symbol | "(" sum ")" | function "(" sum ("," sum)* ")"

Everything is exact. A value beyond 2^62 either way, or a divisor below 1, is an error at a point; over a box
of points it means that the box says nothing (`Unsure`), and has to be split.

The largest value: a box of points has an upper bound by interval arithmetic, and values at two of its
corners. The box with the highest bound is split until no bound is above the best value, which is then the
largest there is; or until the effort is spent: then the highest bound holds, and may not be reached.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from itertools import product
from math import prod
from typing import Final, Protocol

from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import MOST_POINTS, Symbol, SymbolicProblem, combination_count, points_of
from memstow.planner.verify.verdict import Code, Findings

Assignment = Sequence[int]
"""One value for each symbol of the problem, in their order."""
Bounds = tuple[int, int]
"""The least and the largest."""


class FormulaError(Exception):
    """The formula cannot be read, or has no value at some point."""


class Unsure(Exception):  # noqa: N818
    """Over this box the formula may have no value, and it may have one everywhere."""


class Node(Protocol):
    """A part of a formula."""

    def value(self, at: Assignment) -> int: ...
    def bounds(self, low: Assignment, high: Assignment) -> Bounds: ...


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    number: int

    def value(self, at: Assignment) -> int:  # noqa: ARG002
        return self.number

    def bounds(self, low: Assignment, high: Assignment) -> Bounds:  # noqa: ARG002
        return self.number, self.number


@dataclass(frozen=True, slots=True)
class Named:
    """A symbol, by its position."""

    symbol: int

    def value(self, at: Assignment) -> int:
        return at[self.symbol]

    def bounds(self, low: Assignment, high: Assignment) -> Bounds:
        return low[self.symbol], high[self.symbol]


@dataclass(frozen=True, slots=True)
class Negated:
    """Minus what follows."""

    operand: Node

    def value(self, at: Assignment) -> int:
        return -self.operand.value(at)

    def bounds(self, low: Assignment, high: Assignment) -> Bounds:
        least, most = self.operand.bounds(low, high)
        return -most, -least


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators of one rank from left to right: `first`, then each operator with its operand."""

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def value(self, at: Assignment) -> int:
        left = self.first.value(at)
        for operator, node in self.rest:
            left = _exact(operator, left, node.value(at))
        return left

    def bounds(self, low: Assignment, high: Assignment) -> Bounds:
        left = self.first.bounds(low, high)
        for operator, node in self.rest:
            left = _over(operator, left, node.bounds(low, high))
        return left


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one or several arguments."""

    function: str
    arguments: tuple[Node, ...]

    def value(self, at: Assignment) -> int:
        values = [node.value(at) for node in self.arguments]
        if self.function == "min":
            return min(values)
        if self.function == "max":
            return max(values)
        return _exact(self.function, *values)

    def bounds(self, low: Assignment, high: Assignment) -> Bounds:
        ranges = [node.bounds(low, high) for node in self.arguments]
        if self.function in ("min", "max"):
            choose = min if self.function == "min" else max
            return choose(least for least, _ in ranges), choose(most for _, most in ranges)
        return _over(self.function, *ranges)


FUNCTIONS: Final = {"ceil_div": 2, "align": 2, "min": None, "max": None}
"""How many arguments each takes; None: one or more."""


def _exact(operator: str, left: int, right: int) -> int:
    match operator:
        case "+":
            result = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case _:
            if right < 1:
                raise FormulaError(f"a divisor is {right:,}: it must be at least 1")
            result = _divided(operator, left, right)
    if not -LIMIT <= result <= LIMIT:
        raise FormulaError("a value on the way is beyond 2^62")
    return result


def _divided(operator: str, left: int, right: int) -> int:
    match operator:
        case "//":
            return left // right
        case "%":
            return left % right
        case "ceil_div":
            return -(-left // right)
    return -(-left // right) * right


def _over(operator: str, left: Bounds, right: Bounds) -> Bounds:
    match operator:
        case "+":
            result = left[0] + right[0], left[1] + right[1]
        case "-":
            result = left[0] - right[1], left[1] - right[0]
        case "*":
            corners = [one * other for one, other in product(left, right)]
            result = min(corners), max(corners)
        case _:
            if right[0] < 1:
                raise Unsure
            result = _divided_over(operator, left, right)
    if result[0] < -LIMIT or result[1] > LIMIT:
        raise Unsure
    return result


def _divided_over(operator: str, left: Bounds, right: Bounds) -> Bounds:
    """Bounds of a quotient, a rest or an aligned value; divisors are at least 1."""
    if operator in ("//", "ceil_div"):
        # In the divisor a quotient rises or falls throughout, as its dividend is negative or not.
        corners = [_divided(operator, one, other) for one, other in product(left, right)]
        return min(corners), max(corners)
    if operator == "%":
        return _rest_over(left, right)
    if right[0] == right[1]:
        return _divided("align", left[0], right[0]), _divided("align", left[1], right[0])
    # The first multiple is less than one divisor above; of something positive it is at least the divisor.
    return max(left[0], right[0]) if left[0] > 0 else left[0], left[1] + right[1] - 1


def _rest_over(left: Bounds, right: Bounds) -> Bounds:
    if left[0] >= 0 and left[1] < right[0]:
        return left
    if right[0] == right[1] and left[0] // right[0] == left[1] // right[0]:
        return left[0] % right[0], left[1] % right[0]
    most = right[1] - 1
    return 0, min(most, left[1]) if left[0] >= 0 else most


DEEPEST: Final = 64
"""Parentheses, functions and signs inside of each other."""

_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(//|[-+*%(),]))")
_BLANK: Final = " \t\r\n"
_END: Final = ""
_OPEN: Final = "("
_Part = Callable[[], Node]


def parsed(text: str, symbols: Mapping[str, int]) -> Node:
    """The tree of a formula of these symbols, given with their positions; FormulaError if it is none."""
    return _Reader(_tokens(text), symbols).whole()


def _tokens(text: str) -> list[str]:
    tokens, place, after_number = [], 0, False
    end = len(text.rstrip(_BLANK))
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"{text[place : place + 20].lstrip(_BLANK)!r} is not part of a formula")
        if after_number and match[2] is not None and match.start(2) == place:
            raise FormulaError(f"{match[2][:20]!r} follows a number without an operator")
        tokens.append(match[1] or match[2] or match[3])
        place, after_number = match.end(), match[1] is not None
    return [*tokens, _END]


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[str], symbols: Mapping[str, int]) -> None:
        self._tokens = tokens
        self._symbols = symbols
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        """All tokens as one formula."""
        node = self._sum()
        if self._here() != _END:
            raise FormulaError(f"{self._here()[:20]!r} comes where an operator or the end is expected")
        return node

    def _here(self) -> str:
        return self._tokens[self._next]

    def _take(self, token: str) -> bool:
        if self._here() != token:
            return False
        self._next += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise FormulaError(f"{token!r} is expected, not {self._here()[:20] or 'the end'!r}")

    def _sum(self) -> Node:
        return self._chain("+-", lambda: self._chain(("*", "//", "%"), self._unary))

    def _chain(self, operators: "str | tuple[str, ...]", operand: _Part) -> Node:
        first = operand()
        rest = []
        while (operator := self._here()) != _END and operator in operators:
            self._next += 1
            rest.append((operator, operand()))
        return Chain(first, tuple(rest)) if rest else first

    def _unary(self) -> Node:
        if not self._take("-"):
            return self._primary()
        self._deeper()
        node = Negated(self._unary())
        self._depth -= 1
        return node

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError(f"it is nested more than {DEEPEST} deep")

    def _close(self) -> None:
        self._expect(")")
        self._depth -= 1

    def _primary(self) -> Node:
        token = self._here()
        self._next += token != _END
        if token.isdigit():
            number = int(token)
            if number > LIMIT:
                raise FormulaError("a number is beyond 2^62")
            return Number(number)
        if token == _OPEN:
            self._deeper()
            node = self._sum()
            self._close()
            return node
        if token in FUNCTIONS:
            return self._call(token)
        if token in self._symbols:
            return Named(self._symbols[token])
        if token.isidentifier():
            raise FormulaError(f"there is no symbol {token[:64]!r}")
        raise FormulaError(f"{token or 'the end'!r} comes where a value is expected")

    def _call(self, function: str) -> Node:
        self._expect("(")
        self._deeper()
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close()
        wanted = FUNCTIONS[function]
        if wanted is not None and len(arguments) != wanted:
            raise FormulaError(f"{function} takes {wanted} arguments, not {len(arguments)}")
        return Call(function, tuple(arguments))


Values = tuple[int, ...]

MOST_CORNERS: Final = 64


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of one symbol: `first`, `first + step`, ... up to `last`."""

    id: str
    first: int
    last: int
    step: int

    @property
    def count(self) -> int:
        """How many values it takes."""
        return (self.last - self.first) // self.step + 1

    def takes(self, value: int) -> bool:
        """Whether this is one of its values."""
        return self.first <= value <= self.last and (value - self.first) % self.step == 0


class Space:
    """All points of the symbols of a problem."""

    def __init__(self, problem: SymbolicProblem, findings: Findings) -> None:
        self.axes: list[Axis] = []
        self.position: dict[str, int] = {}
        for symbol in problem.symbols:
            self._add(symbol, findings)
        self.points: list[Values] = []
        """The points at which a plan must be good."""
        if findings.total:
            return
        if not problem.points and combination_count(problem) > MOST_POINTS:
            self._invalid(findings, "the values of the symbols have more than {} combinations", MOST_POINTS)
            return
        for point in points_of(problem):
            values = self.read(point.at)
            if isinstance(values, str):
                self._invalid(findings, "a point {}", values)
            elif values in self.points:
                self._invalid(findings, "the point {} is there twice", self.say(values))
            else:
                self.points.append(values)

    def _add(self, symbol: Symbol, findings: Findings) -> None:
        if symbol.id in FUNCTIONS:
            self._invalid(findings, "the symbol {!r} has the name of a function", symbol.id)
        if symbol.id in self.position:
            self._invalid(findings, "two symbols are called {!r}", symbol.id)
        axis = Axis(symbol.id, symbol.min, symbol.max, symbol.step)
        if not axis.takes(axis.last):
            text = "{!r} does not go from {:d} to {:d} in steps of {}"
            self._invalid(findings, text, symbol.id, symbol.min, symbol.max, symbol.step)
        self.position[symbol.id] = len(self.axes)
        self.axes.append(axis)
        for value in symbol.values:
            if not axis.takes(value):
                self._invalid(findings, "{!r} does not take {}", symbol.id, value)

    @property
    def count(self) -> int:
        """How many points there are."""
        return prod(axis.count for axis in self.axes)

    def read(self, at: Mapping[str, int]) -> "Values | str":
        """The values of a point, or what is wrong with it."""
        missing = next((axis.id for axis in self.axes if axis.id not in at), None)
        if missing is not None:
            return f"does not say {missing!r}"
        unknown = next((name for name in at if name not in self.position), None)
        if unknown is not None:
            return f"speaks of {unknown!r}, which is not a symbol"
        wrong = next((axis for axis in self.axes if not axis.takes(at[axis.id])), None)
        if wrong is not None:
            return f"says {wrong.id}={at[wrong.id]}, which it does not take"
        return tuple(at[axis.id] for axis in self.axes)

    def say(self, values: Sequence[int]) -> str:
        """A point in words."""
        return ", ".join(f"{axis.id}={value}" for axis, value in zip(self.axes, values, strict=True))

    def corners(self) -> Iterator[Values]:
        """Points of which each symbol takes its first or last value: the two extremes, then some others."""
        first, last = (
            tuple(entry) for entry in zip(*((axis.first, axis.last) for axis in self.axes), strict=True)
        )
        yield last
        yield first
        if 2 ** len(self.axes) <= MOST_CORNERS:
            for corner in product(*((axis.first, axis.last) for axis in self.axes)):
                if corner not in (first, last):
                    yield corner

    def all(self) -> Iterator[Values]:
        """Every point there is."""
        return product(*(range(axis.first, axis.last + 1, axis.step) for axis in self.axes))

    @staticmethod
    def _invalid(findings: Findings, text: str, *values: object) -> None:
        findings.add(Code.INVALID_PROBLEM, "the problem is not valid: " + text, *values)


MOST_BOXES: Final = 131_072
"""For one formula: enough for each of 65,536 values alone."""
MOST_BOXES_IN_ALL: Final = 400_000


class How(StrEnum):
    """How a largest value was found."""

    CORNER = "corner"
    """It is the value at a corner of the range, and intervals show that there is no larger one."""
    SPLIT = "split"
    """The same after the range was split."""
    BOUND = "bound"
    """No value is larger, and there may be none as large."""


@dataclass(frozen=True, slots=True)
class Largest:
    """No value is above `value`; `seen` is the largest that was seen, at the point `at`."""

    value: int
    seen: int
    at: Values
    how: How


class NotShown(Exception):  # noqa: N818
    """The effort was spent before it was known that the formula has a value everywhere."""


class NoValue(Exception):  # noqa: N818
    """The formula has no value at a point."""

    def __init__(self, at: Values, reason: str) -> None:
        super().__init__(reason)
        self.at = at


@dataclass(slots=True)
class Boxes:
    """How many boxes may still be looked at."""

    left: int = MOST_BOXES_IN_ALL


_Box = tuple[tuple[int, int], ...]
"""For each symbol the first and the last of its values, by number."""
_UNKNOWN: Final = 1 << 70
"""Above each bound: such boxes are split first."""


def largest(
    node: Node, axes: Sequence[Axis], used: Collection[int], boxes: Boxes, above: int | None = None
) -> Largest:
    """The largest value of the formula, which uses these symbols.

    With `above` the search ends when it is known whether there is a value above that.
    """
    search = _Search(node, axes, used)
    while search.bound > search.seen:
        known = above is not None and (search.seen > above or search.bound <= above)
        if (known and search.bound < _UNKNOWN) or search.looked >= MOST_BOXES or boxes.left <= 0:
            if search.bound >= _UNKNOWN:
                raise NotShown
            return Largest(search.bound, search.seen, search.at, How.BOUND)
        search.split()
        boxes.left -= 2
    return Largest(search.seen, search.seen, search.at, How.CORNER if search.looked == 1 else How.SPLIT)


def is_never_below(node: Node, axes: Sequence[Axis], least: int) -> bool:
    """Whether intervals alone show that no value is below that."""
    try:
        return node.bounds([axis.first for axis in axes], [axis.last for axis in axes])[0] >= least
    except Unsure:
        return False


class _Search:
    """`seen` is the largest value that was seen, at the point `at`; `looked` counts the boxes."""

    def __init__(self, node: Node, axes: Sequence[Axis], used: Collection[int]) -> None:
        self._node = node
        self._axes = axes
        self._heap: list[tuple[int, int, _Box]] = []
        self.looked = 0
        self.at = tuple(axis.first for axis in axes)
        self.seen = _value(node, self.at)
        self._look(tuple((0, axis.count - 1 if s in used else 0) for s, axis in enumerate(axes)))

    @property
    def bound(self) -> int:
        """No value is above it, or above the largest seen."""
        return -self._heap[0][0] if self._heap else self.seen

    def split(self) -> None:
        """Split the box with the highest bound where it has the most values."""
        box = heappop(self._heap)[2]
        widest = max(range(len(box)), key=lambda s: box[s][1] - box[s][0])
        first, last = box[widest]
        middle = (first + last) // 2
        for half in ((first, middle), (middle + 1, last)):
            self._look((*box[:widest], half, *box[widest + 1 :]))

    def _look(self, box: _Box) -> None:
        self.looked += 1
        ends = list(zip(self._axes, box, strict=True))
        low = tuple(axis.first + axis.step * first for axis, (first, _) in ends)
        high = tuple(axis.first + axis.step * last for axis, (_, last) in ends)
        for at in (high, low):
            if at != self.at and (value := _value(self._node, at)) > self.seen:
                self.seen, self.at = value, at
        try:
            bound = self._node.bounds(low, high)[1]
        except Unsure:
            bound = _UNKNOWN
        if low != high and bound > self.seen:
            heappush(self._heap, (-bound, self.looked, box))


def _value(node: Node, at: Values) -> int:
    try:
        return node.value(at)
    except FormulaError as error:
        raise NoValue(at, str(error)) from None
