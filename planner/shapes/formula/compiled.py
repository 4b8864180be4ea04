"""Formulas as Python functions made of functions: several times as fast as walking over the nodes.

No text is run: each function calls those of its parts. The results, and the errors, are those of `evaluate`.
"""

from collections.abc import Callable, Mapping, Sequence

from memstow.planner.model.problem import LIMIT
from memstow.planner.shapes.formula.arithmetic import call, operate, within
from memstow.planner.shapes.formula.errors import FormulaValueError
from memstow.planner.shapes.formula.nodes import Call, Chain, Name, Negation, Node, Number, Sign

Formula = Callable[[Mapping[str, int]], int]


def compile_formula(node: Node) -> Formula:
    """The function that gives the value of the formula where each symbol has a value."""
    return _built(node)[0]


def _built(node: Node) -> tuple[Formula, int | None]:
    """The function of a formula, and its value if that is the same everywhere."""
    match node:
        case Number(number):
            return _constant(number)
        case Name(name):
            return (lambda values: within(values[name])), None
        case Negation(operand):
            positive, known = _built(operand)
            return _folded(lambda values: -positive(values), [known])
        case Chain(first, rest):
            return _chain(first, rest)
        case Call(function, arguments):
            built = [_built(argument) for argument in arguments]
            parts = [part for part, _ in built]
            return _folded(
                lambda values: call(function, [part(values) for part in parts]), [value for _, value in built]
            )


def _constant(value: int) -> tuple[Formula, int | None]:
    if abs(value) > LIMIT:
        return (lambda _: within(value)), None
    return (lambda _: value), value


def _folded(run: Formula, parts: Sequence[int | None]) -> tuple[Formula, int | None]:
    """The value in place of the function if all parts have one; a part without one raises as before."""
    if None in parts:
        return run, None
    try:
        return _constant(run({}))
    except FormulaValueError:
        return run, None


def _chain(first: Node, rest: tuple[tuple[Sign, Node], ...]) -> tuple[Formula, int | None]:
    beginning, value = _built(first)
    signs = [sign for sign, _ in rest]
    built = [_built(operand) for _, operand in rest]
    values_known = [value, *(known for _, known in built)]
    if signs == ["*"]:
        return _folded(_product(beginning, built[0][0]), values_known)
    steps = [(sign, part) for sign, (part, _) in zip(signs, built, strict=True)]

    def run(values: Mapping[str, int]) -> int:
        value = beginning(values)
        for sign, operand in steps:
            value = operate(sign, value, operand(values))
        return value

    return _folded(run, values_known)


def _product(left: Formula, right: Formula) -> Formula:
    """The most frequent chain, without a loop."""

    def run(values: Mapping[str, int]) -> int:
        value = left(values) * right(values)
        return value if -LIMIT <= value <= LIMIT else within(value)

    return run
