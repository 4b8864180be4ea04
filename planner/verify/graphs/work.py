"""What operators cost: what the graph says, else multiplications of weights, else elements made."""

from collections.abc import Mapping
from math import prod

from memstow.planner.model.graph import Graph, Operator, Tensor, size_of
from memstow.planner.verify.graphs.images import image_of
from memstow.planner.verify.graphs.kinds import Kinds, is_dense
from memstow.planner.verify.graphs.refused import Refused


def cost_of(operator: Operator, tensors: Mapping[str, Tensor]) -> int:
    """The cost of running an operator once."""
    if operator.cost is not None:
        return operator.cost
    made = _elements(tensors[operator.outputs[0]]) if operator.outputs else 0
    dense = is_dense(operator)
    if operator.window is None and not dense:
        return made
    weights = max(
        (
            _elements(tensor)
            for name in operator.inputs
            if (tensor := tensors[name]).kind == "constant" and len(tensor.shape or ()) >= 2
        ),
        default=0,
    )
    if not weights:
        return made * (prod(operator.window.kernel) if operator.window is not None else 1)
    if dense:
        return weights
    image = image_of(tensors[operator.outputs[0]]) if operator.outputs else None
    return weights * (image.rows * image.columns if image is not None else 1)


def _elements(tensor: Tensor) -> int:
    return size_of(tensor) if tensor.shape is None else prod(tensor.shape)


def cost_once(graph: Graph) -> int:
    """What all operators cost that are listed, each run once."""
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    return sum(cost_of(operator, tensors) for operator in graph.operators)


def least_cost(graph: Graph) -> int:
    """What no schedule of a graph without alternatives is below: each operator makes all that is needed.

    In stripes, rows and columns that no window reads need not be made: operators whose output may have such
    count for nothing.
    """
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    viewed = frozenset(name for view in graph.views for name in (view.tensor, view.of))
    kinds = Kinds(tensors, viewed, frozenset(name for it in graph.operators for name in it.outputs))
    readers: dict[str, list[Operator]] = {}
    for operator in graph.operators:
        for name in dict.fromkeys(operator.inputs):
            readers.setdefault(name, []).append(operator)
    kept = set(graph.outputs)
    total = 0
    whole: dict[str, bool] = {}
    for operator in _last_first(graph, readers):
        for name in operator.outputs:
            them = readers.get(name, [])
            whole[name] = name in kept or not them or any(_reads_all(kinds, it, name, whole) for it in them)
        if kinds.is_barrier(operator) or all(whole[name] for name in operator.outputs):
            total += cost_of(operator, tensors)
    return total


def _reads_all(kinds: Kinds, reader: Operator, name: str, whole: dict[str, bool]) -> bool:
    """Whether the reader needs all of the tensor, in stripes too."""
    try:
        rolling = kinds.rolling(reader)
    except Refused:
        return True
    if rolling.reduces is not None or name not in rolling.reads:
        return True
    rows, columns = rolling.reads[name]
    made = rolling.made
    return whole.get(rolling.output, False) and rows.covers(made.rows) and columns.covers(made.columns)


def _last_first(graph: Graph, readers: Mapping[str, list[Operator]]) -> list[Operator]:
    """The operators, each after those that read what it makes; without those in a circle."""
    waits = {
        operator.id: sum(len(readers.get(name, ())) for name in dict.fromkeys(operator.outputs))
        for operator in graph.operators
    }
    makers: dict[str, list[Operator]] = {}
    for operator in graph.operators:
        for name in dict.fromkeys(operator.outputs):
            makers.setdefault(name, []).append(operator)
    ready = [operator for operator in graph.operators if not waits[operator.id]]
    for operator in ready:
        for name in dict.fromkeys(operator.inputs):
            for maker in makers.get(name, ()):
                waits[maker.id] -= 1
                if not waits[maker.id]:
                    ready.append(maker)
    return ready
