"""A model that carries a plan: new tables in front of the old file, of which every byte stays.

What is written is read again, and judged as a model from elsewhere is, before anybody gets it.
"""

from typing import Final

from memstow.planner.formats.tflite.flatbuffer import Flatbuffer, Table
from memstow.planner.formats.tflite.format import read_graph
from memstow.planner.formats.tflite.operator_names import NPU
from memstow.planner.formats.tflite.reordering import reorder_model
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Placement, Plan, Schedule
from memstow.planner.model.problem import DEFAULT_POOL
from memstow.planner.tflm.carried_plan import carried_plan
from memstow.planner.tflm.front import Field, Front, Old, Part
from memstow.planner.tflm.layout import planned_offsets
from memstow.planner.tflm.offline_plan import NAME, carries_plan, encoded
from memstow.planner.tflm.scratch import SCRATCH
from memstow.planner.tflm.tensors import listed, runtime_model
from memstow.planner.verify import verify

_VERSION, _BUFFERS, _METADATA = 0, 4, 6
_REFERENCES: Final = (1, 2, 3, 5, 7)
_KNOWN: Final = frozenset((*_REFERENCES, _VERSION, _BUFFERS, _METADATA))
_SUBGRAPHS, _OPERATORS = 2, 3
_LARGE_OPTIONS: Final = 9
_LARGEST: Final = (1 << 31) - 1
_MOST_REPORTED: Final = 20


def planned_model(model: bytes, plan: Plan, *, replan: bool = False) -> bytes:
    """A TensorFlow Lite model that carries the plan, its operators in the order of the plan.

    The plan is of `read_graph(model)`, with or without scratch memory. With `replan`, it takes the place
    of one that the model carries. Raises InputError for a plan that the judge refuses, and for a model that
    cannot carry one.
    """
    require_plannable(model, replan)
    graph = read_graph(model)
    _refuse_wrong_plan(graph, plan)
    ordered = _in_order(model, graph, plan.schedule)
    graph = read_graph(ordered)
    of_model = runtime_model(ordered, graph, listed(graph))
    places = {it.buffer: it.offset for it in plan.placements}
    offsets = planned_offsets(of_model, places)
    if max(offsets, default=0) > _LARGEST:
        raise _impossible("its offsets do not fit into 32 bits")
    written = _with_plan(ordered, encoded(of_model.subgraphs, offsets))
    _require_same(graph, read_graph(written))
    found = carried_plan(written)
    if found is None or verify(read_graph(written), found.plan):
        raise _impossible("its parts share bytes, so that it would be another model")
    return written


def require_plannable(model: bytes, replan: bool = False) -> None:
    """Raise an InputError where a model cannot carry a plan, whatever the plan."""
    if carries_plan(model) and not replan:
        message = "the model carries a memory plan already; --replan puts a new one in its place"
        raise InputError.single("carries_plan", "$", message)
    if any(it.type == NPU for it in read_graph(model).operators):
        raise _impossible(f"its operator {NPU} has the places of tensors in its commands; plan with Vela")
    root = Flatbuffer(model).root()
    unknown = [field for field in root.fields() if field not in _KNOWN]
    if unknown:
        raise _impossible(f"it has a part that is not known, field {unknown[0]} of the model")
    if any(buffer.number(1, "<Q") > 1 for buffer in root.tables(_BUFFERS)) or any(
        operator.number(_LARGE_OPTIONS, "<Q") > 1
        for subgraph in root.tables(_SUBGRAPHS)
        for operator in subgraph.tables(_OPERATORS)
    ):
        raise _impossible("some of its data lie behind the flatbuffer, at addresses that would change")


def without_plan(model: bytes) -> bytes:
    """The model without the metadata of the plan that it carries."""
    return _with_plan(model, None) if carries_plan(model) else model


def _in_order(model: bytes, graph: Graph, schedule: Schedule | None) -> bytes:
    """The model with its operators in the order of the plan."""
    if schedule is None or schedule.order == listed(graph):
        return model
    # The plan that it carries holds in another order.
    return reorder_model(without_plan(model), schedule.order)


def _with_plan(model: bytes, plan: bytes | None) -> bytes:
    root = Flatbuffer(model).root()
    front = Front(model)
    metadata: list[Part] = [
        Old(at)
        for at, entry in zip(root.targets(_METADATA), root.tables(_METADATA), strict=True)
        if entry.text(0) != NAME
    ]
    fields: dict[int, Field] = _kept_fields(root)
    buffers: list[Part] = [Old(at) for at in root.targets(_BUFFERS)]
    if plan is not None:
        buffers.append(front.table({0: front.data(plan)}))
        metadata.append(front.table({0: front.text(NAME), 1: len(buffers) - 1}))
        fields[_BUFFERS] = front.list(buffers)
    if metadata:
        fields[_METADATA] = front.list(metadata)
    return front.file(front.table(fields))


def _kept_fields(root: Table) -> dict[int, Field]:
    fields: dict[int, Field] = {_VERSION: root.number(_VERSION, "<I")}
    for field in (*_REFERENCES, _BUFFERS):
        target = root.target(field)
        if target is not None:
            fields[field] = Old(target)
    return fields


def _refuse_wrong_plan(graph: Graph, plan: Plan) -> None:
    """Only what the judge accepts is written; scratch memory is not in the graph, and is not written."""
    if plan.status not in PLANNED:
        message = f"there is no plan to write: the status is {plan.status}"
        raise InputError.single("no_plan", "status", message)
    if len({it.pool for it in plan.placements}) > 1:
        message = "the runtime has one arena, and the plan is for several pools; plan for one"
        raise InputError.single("several_pools", "plan", message)
    bare = Plan(
        status=Status.FEASIBLE,
        placements=[
            Placement(buffer=it.buffer, pool=DEFAULT_POOL, offset=it.offset)
            for it in plan.placements
            if not it.buffer.startswith(SCRATCH)
        ],
        schedule=plan.schedule,
    )
    found = verify(graph, bare)
    if found:
        raise InputError(Issue(str(it.code), "plan", it.message) for it in found[:_MOST_REPORTED])


def _require_same(graph: Graph, written: Graph) -> None:
    if graph != written:
        raise _impossible("its parts share bytes, so that it would be another model")


def _impossible(why: str) -> InputError:
    return InputError.single("cannot_carry_plan", "$", f"this model cannot carry a memory plan: {why}")
