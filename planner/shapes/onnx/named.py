"""Names of dimensions that are formulas, such as `past + tokens`, as formulas of what was given."""

from collections.abc import Collection, Mapping

from memstow.planner.shapes.formula import names_in, parse_formula
from memstow.planner.shapes.formula.errors import FormulaError
from memstow.planner.shapes.formula.nodes import Call, Chain, Name, Negation, Node, Number
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.terms import Terms, TooLongError, a_number

Names = Mapping[str, Terms]


def formula_of_name(text: str, names: Names, formulas: Formulas) -> Terms | None:
    """The formula of these names that the text is; None where it is none, or has numbers beyond 2^62."""
    if text in names:
        return names[text]
    try:
        node = parse_formula(text, names)
        found = _from(node, names, formulas) if names_in(node) else None
        return found if found is not None and formulas.is_exact(found) else None
    except (FormulaError, TooLongError, RecursionError):
        return None


def is_formula(text: str, names: Collection[str]) -> bool:
    """Whether the text is a formula of some of these names."""
    try:
        return bool(names_in(parse_formula(text, names)))
    except (FormulaError, RecursionError):
        return False


def _from(node: Node, names: Names, formulas: Formulas) -> Terms | None:
    match node:
        case Number(value):
            return a_number(value)
        case Name(name):
            return names[name]
        case Negation(operand):
            inner = _from(operand, names, formulas)
            return None if inner is None else inner * -1
        case Chain(first, rest):
            found = _from(first, names, formulas)
            for sign, operand in rest:
                other = _from(operand, names, formulas)
                if found is None or other is None:
                    return None
                found = _joined(sign, found, other, formulas)
            return found
        case Call(function, arguments):
            return _called(function, [_from(it, names, formulas) for it in arguments], formulas)


def _joined(sign: str, left: Terms, right: Terms, formulas: Formulas) -> Terms | None:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    below = right.number
    if below is None or below < 1:
        return None
    quotient = formulas.floor_div(left, below)
    return quotient if sign == "//" else left - quotient * below


def _called(function: str, arguments: list[Terms | None], formulas: Formulas) -> Terms | None:
    known = [it for it in arguments if it is not None]
    if len(known) < len(arguments):
        return None
    if function in ("min", "max"):
        found = known[0]
        for other in known[1:]:
            found = formulas.least(found, other) if function == "min" else formulas.most(found, other)
        return found
    below = known[1].number
    if below is None or below < 1:
        return None
    quotient = formulas.ceil_div(known[0], below)
    return quotient if function == "ceil_div" else quotient * below
