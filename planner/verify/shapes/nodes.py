"""Formulas as trees: the value of each node at one point, and bounds of its values over a box of points.

Everything is exact. A value beyond 2^62 either way, or a divisor below 1, is an error at a point; over a box
it means that the box says nothing (`Unsure`), and has to be split.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Protocol

from memstow.planner.model.problem import LIMIT

Values = Sequence[int]
"""One value for each symbol of the problem, in their order."""
Bounds = tuple[int, int]
"""The least and the largest."""


class FormulaError(Exception):
    """The formula cannot be read, or has no value at some point."""


class Unsure(Exception):  # noqa: N818
    """Over this box the formula may have no value, and it may have one everywhere."""


class Node(Protocol):
    """A part of a formula."""

    def value(self, at: Values) -> int: ...
    def bounds(self, low: Values, high: Values) -> Bounds: ...


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    number: int

    def value(self, at: Values) -> int:  # noqa: ARG002
        return self.number

    def bounds(self, low: Values, high: Values) -> Bounds:  # noqa: ARG002
        return self.number, self.number


@dataclass(frozen=True, slots=True)
class Named:
    """A symbol, by its position."""

    symbol: int

    def value(self, at: Values) -> int:
        return at[self.symbol]

    def bounds(self, low: Values, high: Values) -> Bounds:
        return low[self.symbol], high[self.symbol]


@dataclass(frozen=True, slots=True)
class Negated:
    """Minus what follows."""

    operand: Node

    def value(self, at: Values) -> int:
        return -self.operand.value(at)

    def bounds(self, low: Values, high: Values) -> Bounds:
        least, most = self.operand.bounds(low, high)
        return -most, -least


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators of one rank from left to right: `first`, then each operator with its operand."""

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def value(self, at: Values) -> int:
        left = self.first.value(at)
        for operator, node in self.rest:
            left = _exact(operator, left, node.value(at))
        return left

    def bounds(self, low: Values, high: Values) -> Bounds:
        left = self.first.bounds(low, high)
        for operator, node in self.rest:
            left = _over(operator, left, node.bounds(low, high))
        return left


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one or several arguments."""

    function: str
    arguments: tuple[Node, ...]

    def value(self, at: Values) -> int:
        values = [node.value(at) for node in self.arguments]
        if self.function == "min":
            return min(values)
        if self.function == "max":
            return max(values)
        return _exact(self.function, *values)

    def bounds(self, low: Values, high: Values) -> Bounds:
        found = [node.bounds(low, high) for node in self.arguments]
        if self.function in ("min", "max"):
            choose = min if self.function == "min" else max
            return choose(least for least, _ in found), choose(most for _, most in found)
        return _over(self.function, *found)


FUNCTIONS: Final = {"ceil_div": 2, "align": 2, "min": None, "max": None}
"""How many arguments each takes; None: one or more."""


def _exact(operator: str, left: int, right: int) -> int:
    match operator:
        case "+":
            found = left + right
        case "-":
            found = left - right
        case "*":
            found = left * right
        case _:
            if right < 1:
                raise FormulaError(f"a divisor is {right:,}: it must be at least 1")
            found = _divided(operator, left, right)
    if not -LIMIT <= found <= LIMIT:
        raise FormulaError("a value on the way is beyond 2^62")
    return found


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
            found = left[0] + right[0], left[1] + right[1]
        case "-":
            found = left[0] - right[1], left[1] - right[0]
        case "*":
            corners = [one * other for one, other in product(left, right)]
            found = min(corners), max(corners)
        case _:
            if right[0] < 1:
                raise Unsure
            found = _divided_over(operator, left, right)
    if found[0] < -LIMIT or found[1] > LIMIT:
        raise Unsure
    return found


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
