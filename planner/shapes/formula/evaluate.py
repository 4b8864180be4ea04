"""The value of a formula where each symbol has a value."""

from collections.abc import Mapping

from memstow.planner.shapes.formula.arithmetic import call, operate, within
from memstow.planner.shapes.formula.nodes import Call, Chain, Name, Negation, Node, Number


def evaluate(node: Node, values: Mapping[str, int]) -> int:
    """The exact value; FormulaValueError if a divisor is not positive or a value not within +-2^62."""
    match node:
        case Number(value):
            return within(value)
        case Name(name):
            return within(values[name])
        case Negation(operand):
            return -evaluate(operand, values)
        case Chain(first, rest):
            value = evaluate(first, values)
            for sign, operand in rest:
                value = operate(sign, value, evaluate(operand, values))
            return value
        case Call(function, arguments):
            return call(function, [evaluate(argument, values) for argument in arguments])
