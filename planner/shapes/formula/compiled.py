"""Formulas as Python functions made of functions: several times as fast as walking over the nodes.

No text is run: each function calls those of its parts. The results, and the errors, are those of `evaluate`.
"""

from collections.abc import Callable, Mapping

from memstow.planner.model.problem import LIMIT
from memstow.planner.shapes.formula.arithmetic import call, operate, within
from memstow.planner.shapes.formula.errors import FormulaValueError
from memstow.planner.shapes.formula.evaluate import evaluate
from memstow.planner.shapes.formula.nodes import Call, Chain, Name, Negation, Node, Number, Sign, names_in

Formula = Callable[[Mapping[str, int]], int]


def compile_formula(node: Node) -> Formula:
    """The function that gives the value of the formula where each symbol has a value."""
    if not isinstance(node, Number) and not names_in(node):
        node = _folded(node)
    match node:
        case Number(value):
            return _constant(value)
        case Name(name):
            return lambda values: within(values[name])
        case Negation(operand):
            positive = compile_formula(operand)
            return lambda values: -positive(values)
        case Chain(first, rest):
            return _chain(first, rest)
        case Call(function, arguments):
            compiled = [compile_formula(argument) for argument in arguments]
            return lambda values: call(function, [argument(values) for argument in compiled])


def _folded(node: Node) -> Node:
    """A formula without symbols as a number, where it has a value that can be written as one."""
    try:
        value = evaluate(node, {})
    except FormulaValueError:
        return node
    return Number(value) if value >= 0 else node


def _constant(value: int) -> Formula:
    if value > LIMIT:
        return lambda _: within(value)
    return lambda _: value


def _chain(first: Node, rest: tuple[tuple[Sign, Node], ...]) -> Formula:
    beginning = compile_formula(first)
    if len(rest) == 1 and rest[0][0] == "*":
        return _product(beginning, compile_formula(rest[0][1]))
    steps = [(sign, compile_formula(operand)) for sign, operand in rest]

    def run(values: Mapping[str, int]) -> int:
        value = beginning(values)
        for sign, operand in steps:
            value = operate(sign, value, operand(values))
        return value

    return run


def _product(left: Formula, right: Formula) -> Formula:
    """The most frequent chain, without a loop."""

    def run(values: Mapping[str, int]) -> int:
        value = left(values) * right(values)
        return value if -LIMIT <= value <= LIMIT else within(value)

    return run
