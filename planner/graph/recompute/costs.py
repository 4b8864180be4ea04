"""What it costs to run each operator again."""

from collections.abc import Sequence
from math import prod
from typing import Final, Literal

from memstow.planner.graph.links import links_of
from memstow.planner.model.graph import Graph, Operator, Tensor, is_planned, size_of

Unit = Literal["cost", "bytes"]
UNITS: Final[tuple[Unit, ...]] = ("cost", "bytes")


def run_costs(graph: Graph, unit: Unit) -> Sequence[int]:
    """By operator: its cost, or the bytes that it reads and writes."""
    links = links_of(graph)

    def tensors(names: Sequence[str]) -> list[Tensor]:
        return [graph.tensors[links.tensor_index[name]] for name in dict.fromkeys(names)]

    if unit == "bytes":
        return [
            sum(_moved(it) for it in (*tensors(operator.inputs), *tensors(operator.outputs)))
            for operator in graph.operators
        ]
    return [
        _work(operator, tensors(operator.inputs), tensors(operator.outputs)) for operator in graph.operators
    ]


def _moved(tensor: Tensor) -> int:
    return size_of(tensor) if is_planned(tensor) or tensor.kind == "constant" else 0


def _work(operator: Operator, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> int:
    """Its cost, else multiplications of its weights, else elements that it makes."""
    if operator.cost is not None:
        return operator.cost
    made = sum(prod(it.shape) if it.shape is not None else size_of(it) for it in outputs)
    weights = max(
        (prod(it.shape) for it in inputs if it.kind == "constant" and it.shape and len(it.shape) >= 2),
        default=0,
    )
    kind = (operator.type or "").lower().replace("_", "").replace("-", "").replace(" ", "")
    if operator.window is not None:
        shape = outputs[0].shape or (1, 1, 1)
        places = prod(shape[-3:-1]) if len(shape) >= 3 else 1
        return weights * places if weights else made * prod(operator.window.kernel)
    return weights if weights and kind in ("fullyconnected", "dense", "gemm", "matmul", "linear") else made
