"""The operations on exact integers, with everything that can go wrong."""

from memstow.planner.model.problem import LIMIT
from memstow.planner.reading.printable import shown
from memstow.planner.shapes.formula.errors import FormulaValueError
from memstow.planner.shapes.formula.nodes import Function, Sign


def within(value: int) -> int:
    """The value, if it is within +-2^62."""
    if -LIMIT <= value <= LIMIT:
        return value
    message = f"an intermediate value of {shown(value)} is not within -2^62 and 2^62"
    raise FormulaValueError("formula_overflow", message)


def operate(sign: Sign, left: int, right: int) -> int:
    """Left and right joined by the sign."""
    match sign:
        case "+":
            return within(left + right)
        case "-":
            return within(left - right)
        case "*":
            return within(left * right)
        case "//":
            return left // _divisor(right)
        case "%":
            return left % _divisor(right)


def call(function: Function, arguments: list[int]) -> int:
    """The function of these arguments."""
    match function:
        case "min":
            return min(arguments)
        case "max":
            return max(arguments)
        case "ceil_div":
            return -(-arguments[0] // _divisor(arguments[1]))
        case "align":
            value, step = arguments
            return within(-(-value // _divisor(step)) * step)


def _divisor(value: int) -> int:
    if value > 0:
        return value
    raise FormulaValueError("formula_divisor", f"a divisor of {value} is not positive")
