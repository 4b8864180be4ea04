"""Which operators of a model must keep their order although no tensor says so.

They use variables, call subgraphs, draw random numbers, are custom, or may end the run.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, pairwise

from memstow.planner.formats.tflite.model import ModelOperator, Subgraph
from memstow.planner.formats.tflite.operator_names import CALLING, ENDING, STATEFUL

_Key = tuple[str, str]


def kept_pairs(subgraphs: Sequence[Subgraph]) -> list[tuple[int, int]]:
    """Pairs of operators of the first subgraph of which the first must run before the second."""
    main, *others = subgraphs
    pairs = set(_by_variable(main))
    for tensor in _variable_tensors(main):
        pairs.update(pairwise(tensor))
    called = CALLING if any(map(_may_end_the_run, chain(*(it.operators for it in others)))) else ()
    pairs.update(_by_end(main, called))
    return sorted(pairs)


def _may_end_the_run(operator: ModelOperator) -> bool:
    return operator.is_custom and operator.name in ENDING


def _by_end(subgraph: Subgraph, called: Collection[str]) -> Iterator[tuple[int, int]]:
    """What may end the run, or calls what may, keeps its place: nothing passes it."""
    barrier: int | None = None
    since: list[int] = []
    for i, operator in enumerate(subgraph.operators):
        if barrier is not None:
            yield barrier, i
        since.append(i)
        if _may_end_the_run(operator) or operator.name in called:
            yield from ((earlier, i) for earlier in since[:-1])
            barrier, since = i, []


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

    An operator that may use any variable, as a custom one may, is kept apart from all that use one.
    """
    handles = {
        output: _handle(operator)
        for operator in subgraph.operators
        if operator.name == "VAR_HANDLE" and not operator.is_custom
        for output in operator.outputs
    }
    barrier: int | None = None
    writer: dict[_Key, int] = {}
    readers: dict[_Key, list[int]] = {}
    since: list[int] = []
    for i, operator in enumerate(subgraph.operators):
        if operator.name not in STATEFUL and not operator.is_custom:
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
    if operator.name not in ("READ_VARIABLE", "ASSIGN_VARIABLE") or not operator.inputs or operator.is_custom:
        return None
    return handles.get(operator.inputs[0])


def _handle(operator: ModelOperator) -> _Key:
    options = operator.options
    return ("", "") if options is None else (options.text(0), options.text(1))
