"""Which operators of a model must keep their order although no tensor says so: variables, calls, chance."""

from collections.abc import Iterator
from itertools import pairwise

from memstow.planner.formats.tflite.model import ModelOperator, Subgraph
from memstow.planner.formats.tflite.operator_names import STATEFUL

_Key = tuple[str, str]


def kept_pairs(subgraph: Subgraph) -> list[tuple[int, int]]:
    """Pairs of operators of which the first must run before the second."""
    pairs = set(_by_variable(subgraph))
    for tensor in _variable_tensors(subgraph):
        pairs.update(pairwise(tensor))
    return sorted(pairs)


def _variable_tensors(subgraph: Subgraph) -> list[list[int]]:
    """For each tensor that keeps its value from one run to the next, the operators that use it."""
    users: dict[int, list[int]] = {}
    for i, operator in enumerate(subgraph.operators):
        for tensor in dict.fromkeys((*operator.inputs, *operator.outputs)):
            if subgraph.tensors[tensor].is_variable:
                users.setdefault(tensor, []).append(i)
    return list(users.values())


def _by_variable(subgraph: Subgraph) -> Iterator[tuple[int, int]]:
    """Readers of one variable may change places with each other; everything else keeps its order.

    An operator that may use any variable is kept apart from all that use one.
    """
    handles = {
        output: _handle(operator)
        for operator in subgraph.operators
        if operator.name == "VAR_HANDLE"
        for output in operator.outputs
    }
    barrier: int | None = None
    writer: dict[_Key, int] = {}
    readers: dict[_Key, list[int]] = {}
    since: list[int] = []
    for i, operator in enumerate(subgraph.operators):
        if operator.name not in STATEFUL:
            continue
        key = _variable(operator, handles)
        if barrier is not None:
            yield barrier, i
        if key is None:
            yield from ((earlier, i) for earlier in since)
            barrier, since = i, []
            writer.clear()
            readers.clear()
            continue
        since.append(i)
        if key in writer:
            yield writer[key], i
        if operator.name == "READ_VARIABLE":
            readers.setdefault(key, []).append(i)
        else:
            yield from ((reader, i) for reader in readers.pop(key, ()))
            writer[key] = i


def _variable(operator: ModelOperator, handles: dict[int, _Key]) -> _Key | None:
    """The variable that the operator reads or assigns; None where it may be any."""
    if operator.name not in ("READ_VARIABLE", "ASSIGN_VARIABLE") or not operator.inputs:
        return None
    return handles.get(operator.inputs[0])


def _handle(operator: ModelOperator) -> _Key:
    options = operator.options
    return ("", "") if options is None else (options.text(0), options.text(1))
