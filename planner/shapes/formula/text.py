"""A formula as text again: reading the text gives the same nodes."""

from memstow.planner.shapes.formula.nodes import Call, Chain, Name, Negation, Node, Number


def text_of(node: Node) -> str:
    """The text of a formula."""
    match node:
        case Number(value):
            return str(value)
        case Name(name):
            return name
        case Negation(operand):
            return f"-{_factor(operand)}"
        case Chain(first, rest):
            if rest[0][0] in ("+", "-"):
                parts = [_product(first), *(f" {sign} {_product(operand)}" for sign, operand in rest)]
            else:
                parts = [_factor(first), *(f"{sign}{_factor(operand)}" for sign, operand in rest)]
            return "".join(parts)
        case Call(function, arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"


def _factor(node: Node) -> str:
    return f"({text_of(node)})" if isinstance(node, Chain) else text_of(node)


def _product(node: Node) -> str:
    """What may stand in a sum: a product needs no parentheses there."""
    is_sum = isinstance(node, Chain) and node.rest[0][0] in ("+", "-")
    return f"({text_of(node)})" if is_sum else text_of(node)
