"""The size of a tensor as a formula: as it is given, or made from the shape and the type of an element."""

from collections.abc import Iterable

from memstow.planner.model.graph import element_bits
from memstow.planner.model.symbolic_graph import SymbolicTensor
from memstow.planner.shapes.formula.nodes import Call, Chain, Node, Number
from memstow.planner.shapes.formula.parse import parse_formula
from memstow.planner.shapes.formula.text import text_of


def size_from_shape(tensor: SymbolicTensor, symbols: Iterable[str]) -> int | str | None:
    """The bytes of the tensor's elements, packed; None where shape or type is missing.

    FormulaError if a dimension is no formula.
    """
    if tensor.shape is None or tensor.type is None:
        return None
    known = frozenset(symbols)
    bits = element_bits(tensor.type)
    number, packed = (bits // 8, False) if bits % 8 == 0 else (bits, True)
    factors: list[Node] = []
    for extent in tensor.shape:
        node = parse_formula(extent, known) if isinstance(extent, str) else Number(extent)
        if isinstance(node, Number):
            number *= node.value
        else:
            factors.append(node)
    if not factors:
        return -(-number // 8) if packed else number
    product: Node = Number(number)
    if number != 1:
        factors.insert(0, product)
    product = factors[0] if len(factors) == 1 else Chain(factors[0], tuple(("*", it) for it in factors[1:]))
    return text_of(Call("ceil_div", (product, Number(8))) if packed else product)
