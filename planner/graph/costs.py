"""What operators cost: as the graph says, else multiplications; or the bytes that they read and write."""

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from math import prod
from typing import Final, Literal

from memstow.planner.graph.links import share_links
from memstow.planner.graph.stripes.images import image_of
from memstow.planner.graph.stripes.kinds import word_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Alternative, Graph, Operator, Tensor, is_planned, shape_bytes, size_of
from memstow.planner.model.model_class import instances_of

CostUnit = Literal["given", "bytes"]
_MOST: Final = 1 << 62
UNITS: Final[tuple[CostUnit, ...]] = ("given", "bytes")


def operator_costs(graph: Graph, unit: CostUnit = "given") -> list[int]:
    """By operator, the cost of running it once."""
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    if unit == "bytes":
        return [_moved(operator, tensors) for operator in graph.operators]
    return [
        _multiplications(operator, tensors) if operator.cost is None else operator.cost
        for operator in graph.operators
    ]


def with_cost_unit(graph: Graph, unit: CostUnit) -> Graph:
    """The graph in which each operator says what it costs, in this unit; alternatives, too, in bytes."""
    costs = operator_costs(graph, unit)
    moved: list[int] = []
    if unit == "bytes":
        tensors = {tensor.id: tensor for tensor in graph.tensors}
        moved = [_moved_together(it, tensors) for it in graph.alternatives]
    if max([*costs, *moved], default=0) > _MOST:
        message = "the cost of an operator is larger than 2^62; give operators a `cost` of their own"
        raise InputError.single("too_large", "$.operators", message)
    known = all(operator.cost == cost for operator, cost in zip(graph.operators, costs, strict=True))
    if known and not moved:
        return graph
    priced = _with_costs(graph, costs)
    if not moved:
        return priced
    alternatives = (replace(it, cost=cost) for it, cost in zip(graph.alternatives, moved, strict=True))
    return replace(priced, alternatives=tuple(alternatives))


def _with_costs(graph: Graph, costs: list[int]) -> Graph:
    """The graph whose operators cost this, which changes nothing of who reads what."""
    columns = {
        it.name: [getattr(operator, it.name) for operator in graph.operators] for it in fields(Operator)
    }
    operators = instances_of(Operator, len(costs), **{**columns, "cost": costs})
    priced = replace(graph, operators=operators)
    share_links(graph, priced)
    return priced


def _moved_together(alternative: Alternative, known: dict[str, Tensor]) -> int:
    """What its operators move; constants once, of which several operators are taken to read parts."""
    tensors = ChainMap({tensor.id: tensor for tensor in alternative.tensors}, known)
    constants: dict[str, int] = {}
    moved = 0
    for operator in alternative.operators:
        for tensor in _used(operator, tensors):
            if tensor.kind == "constant":
                constants[tensor.id] = size_of(tensor)
            else:
                moved += size_of(tensor)
    return moved + sum(constants.values())


def _moved(operator: Operator, tensors: Mapping[str, Tensor]) -> int:
    return sum(size_of(tensor) for tensor in _used(operator, tensors))


def _used(operator: Operator, tensors: Mapping[str, Tensor]) -> Iterator[Tensor]:
    """What it reads, and what it writes, as far as that is memory."""
    for name in (*dict.fromkeys(operator.inputs), *dict.fromkeys(operator.outputs)):
        tensor = tensors.get(name)
        if tensor is not None and (is_planned(tensor) or tensor.kind == "constant"):
            yield tensor


def _multiplications(operator: Operator, tensors: dict[str, Tensor]) -> int:
    """Of the weights with each place of the output; else one for each element, of pools for their kernel."""
    made = tensors.get(operator.outputs[0]) if operator.outputs else None
    if made is None:
        return 0
    elements = prod(made.shape) if made.shape is not None else shape_bytes(made) or size_of(made)
    weights = max(
        (
            prod(it.shape)
            for it in (tensors[name] for name in operator.inputs if name in tensors)
            if it.kind == "constant" and it.shape is not None and len(it.shape) >= 2
        ),
        default=0,
    )
    windowed = operator.window is not None
    if weights and (windowed or word_of(operator) in ("fullyconnected", "dense", "gemm", "matmul")):
        image = image_of(made)
        return weights * (image.rows * image.columns if image is not None and windowed else 1)
    return elements * (prod(operator.window.kernel) if operator.window is not None else 1)
