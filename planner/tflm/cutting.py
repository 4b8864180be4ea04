"""A model cut to one operator: what the runtime allocates for it, beside its tensors, is scratch memory."""

from memstow.planner.formats.tflite.flatbuffer import Flatbuffer, Table
from memstow.planner.formats.tflite.format import arena_bytes
from memstow.planner.formats.tflite.model import Subgraph
from memstow.planner.formats.tflite.operator_names import VAR_HANDLE
from memstow.planner.tflm.front import Field, Front, Old, Part

_VERSION, _CODES, _SUBGRAPHS, _BUFFERS = 0, 1, 2, 4
_TENSORS, _INPUTS, _OUTPUTS, _OPERATORS = 0, 1, 2, 3
_INTERMEDIATES = 8
_SHAPE = 0


def cut_model(model: bytes, subgraphs: list[Subgraph], subgraph: int, operator: int) -> tuple[bytes, int]:
    """A model of one operator, and the bytes of the arena that its tensors take."""
    root = Flatbuffer(model).root()
    table = list(root.tables(_SUBGRAPHS))[subgraph]
    held = subgraphs[subgraph]
    it = held.operators[operator]
    used = {*it.inputs, *it.outputs, *_intermediates(table, operator, len(held.tensors))}
    handles = set(it.outputs) if it.name == VAR_HANDLE else set()
    sizes = {
        i: 0 if i in handles else arena_bytes(held.tensors[i], f"$.subgraphs[{subgraph}].tensors[{i}]")
        for i in used
    }
    front = Front(model)
    nothing = front.table({_SHAPE: front.numbers([0])})
    tensors: list[Part] = [Old(at) if i in used else nothing for i, at in enumerate(table.targets(_TENSORS))]
    made = set(it.outputs)
    fields: dict[int, Field] = {
        _TENSORS: front.list(tensors),
        _INPUTS: front.numbers([i for i in dict.fromkeys(it.inputs) if sizes[i] and i not in made]),
        _OUTPUTS: front.numbers(list(it.outputs)),
        _OPERATORS: front.list([Old(table.targets(_OPERATORS)[operator])]),
    }
    whole: dict[int, Field] = {
        _VERSION: root.number(_VERSION, "<I"),
        _SUBGRAPHS: front.list([front.table(fields)]),
    }
    for field in (_CODES, _BUFFERS):
        target = root.target(field)
        if target is not None:
            whole[field] = Old(target)
    return front.file(front.table(whole)), sum(sizes.values())


def _intermediates(table: Table, operator: int, tensors: int) -> list[int]:
    """The tensors that an operator names for its own use."""
    listed = list(table.tables(_OPERATORS))[operator].integers(_INTERMEDIATES)
    return [i for i in listed or () if 0 <= i < tensors]
