"""A model that carries a plan, read and written: new tables in front of the old file.

Every byte of the old file stays. What a carried plan leaves to the runtime is where that will put it. What is
written is read again, and judged as a model from elsewhere is, before anybody gets it. Where the plan saves
nothing the model stays as it was, so nobody needs more memory than before: the runtime's own rule may suit
the scratch memory of some models better than any plan around one block for each operator.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.formats.flatbuffer import FieldValue, Flatbuffer, NewParts, OldPart, Part, Table
from memstow.planner.formats.tflite_format import read_graph
from memstow.planner.formats.tflite_model import (
    NPU,
    BufferField,
    MetadataField,
    ModelField,
    OperatorField,
    SubgraphField,
    is_behind,
)
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import GIVEN, Graph, Operator, Order
from memstow.planner.model.plan import Placement, Plan, Schedule
from memstow.planner.model.problem import DEFAULT_POOL
from memstow.planner.tflm.reordering import reorder_model, require_movable
from memstow.planner.tflm.runtime_model import (
    LEFT_TO_RUNTIME,
    PLAN_METADATA,
    SCRATCH,
    RuntimeModel,
    Scratch,
    arena_of,
    carried_offsets,
    carries_plan,
    encoded_offsets,
    listed,
    planned_offsets,
    runtime_layout,
    runtime_model,
    scratch_in_order,
)
from memstow.planner.verify import require_valid_plan, verify

_MOST_REPORTED: Final = 20


@dataclass(frozen=True, slots=True)
class CarriedPlan:
    """The plan of a model as the runtime carries it out."""

    plan: Plan
    head: int
    """How much of the arena it takes for tensors and scratch."""
    left: int
    """How many tensors the runtime places by its own rule."""


def carried_plan(model: bytes, scratch: Scratch | None = None) -> CarriedPlan | None:
    """The plan that a TensorFlow Lite model carries; None without one. Whether it is right is for `verify`.

    Raises InputError where the runtime could not read it.
    """
    graph = read_graph(model)
    of_model = runtime_model(model, graph, listed(graph))
    offsets = carried_offsets(model, len(of_model.tensors))
    if offsets is None:
        return None
    issues = list(_outside(of_model, offsets))
    if issues:
        raise InputError(issues[:_MOST_REPORTED])
    layout = runtime_layout(of_model, offsets, scratch or {})
    if layout is None:
        message = "the plan leaves too many tensors to the runtime to follow where it would put them"
        raise InputError.single("too_large", "$", message)
    left = sum(
        tensor.size > 0 and at == LEFT_TO_RUNTIME
        for tensor, at in zip(of_model.tensors, offsets, strict=True)
    )
    places = {tensor.name: at for tensor, at in zip(of_model.tensors, layout.offsets, strict=True)}
    placements = tuple(
        Placement(buffer=buffer.id, pool=DEFAULT_POOL, offset=places[buffer.id])
        for buffer in listed_problem(graph).buffers
    )
    return CarriedPlan(
        Plan(status=Status.FEASIBLE, placements=placements, schedule=Schedule(order=listed(graph))),
        layout.head,
        left,
    )


def _outside(model: RuntimeModel, offsets: Sequence[int]) -> Iterator[Issue]:
    for tensor, at in zip(model.tensors, offsets, strict=True):
        if tensor.size and at < LEFT_TO_RUNTIME:
            message = f"the plan puts tensor {tensor.name} {-at:,} bytes before the arena"
            yield Issue("wrong_plan", "$", message)


def plan_in(planned: bytes, graph: Graph) -> CarriedPlan:
    """The plan that a file carries, for the graph of the same model with its operators in any order.

    Raises InputError if the file carries none, or is another model.
    """
    carried = carried_plan(planned)
    if carried is None:
        message = "the model carries no memory plan: the runtime places everything by its own rule"
        raise InputError.single("no_carried_plan", "$", message)
    order = tuple(_order(graph, read_graph(planned)))
    return replace(carried, plan=replace(carried.plan, schedule=Schedule(order=order)))


def _order(graph: Graph, planned: Graph) -> Iterator[str]:
    """The operators of the graph in the order of the file."""
    if _data(graph) != _data(planned):
        raise _other()
    # Equal operators keep their order: what one of them does, the other does too.
    waiting: dict[object, list[str]] = {}
    for operator in reversed(graph.operators):
        waiting.setdefault(_content(operator), []).append(operator.id)
    for operator in planned.operators:
        names = waiting.get(_content(operator))
        if not names:
            raise _other()
        yield names.pop()
    if any(waiting.values()):
        raise _other()


def _data(graph: Graph) -> object:
    """The tensors; what they are called makes no difference."""
    return [replace(tensor, name=None) for tensor in graph.tensors], graph.inputs, graph.outputs


def _content(operator: Operator) -> object:
    return operator.type, operator.inputs, operator.outputs, operator.temporaries, operator.window


def _other() -> InputError:
    message = "the plan is of another model: its tensors or operators are not those of the first file"
    return InputError.single("other_model", "$", message)


# Of the metadata a plan becomes one; all other parts of a model that it refers to stay where they are.
_KEPT: Final = [field for field in ModelField if field not in (ModelField.VERSION, ModelField.METADATA)]
_LARGEST: Final = (1 << 31) - 1


def planned_model(model: bytes, plan: Plan, *, replan: bool = False) -> bytes:
    """A TensorFlow Lite model that carries the plan, its operators in the order of the plan.

    The plan is of `read_graph(model)`, with or without scratch memory. With `replan`, it takes the place
    of one that the model carries. Raises InputError for a plan that the judge refuses, and for a model that
    cannot carry one.
    """
    require_plannable(model, replan)
    graph = read_graph(model)
    if len({placement.pool for placement in plan.placements}) > 1:
        message = "the runtime has one arena, and the plan is for several pools; plan for one"
        raise InputError.single("several_pools", "plan", message)
    # Scratch memory is not in the graph, and is not written.
    placements = tuple(
        Placement(buffer=placement.buffer, pool=DEFAULT_POOL, offset=placement.offset)
        for placement in plan.placements
        if not placement.buffer.startswith(SCRATCH)
    )
    require_valid_plan(graph, replace(plan, placements=placements))
    ordered = _in_order(model, graph, plan.schedule)
    graph = read_graph(ordered)
    of_model = runtime_model(ordered, graph, listed(graph))
    places = {placement.buffer: placement.offset for placement in plan.placements}
    offsets = planned_offsets(of_model, places)
    if max(offsets, default=0) > _LARGEST:
        raise _impossible("its offsets do not fit into 32 bits")
    written = _with_plan(ordered, encoded_offsets(of_model.subgraphs, offsets))
    if graph != read_graph(written):
        raise _impossible("its parts share bytes, so that it would be another model")
    carried = carried_plan(written)
    if carried is None or verify(read_graph(written), carried.plan):
        raise _impossible("its parts share bytes, so that it would be another model")
    return written


def require_plannable(model: bytes, replan: bool = False) -> None:
    """Raise an InputError where a model cannot carry a plan, whatever the plan."""
    if carries_plan(model) and not replan:
        message = "the model carries a memory plan already; --replan puts a new one in its place"
        raise InputError.single("carries_plan", "$", message)
    if any(operator.type == NPU for operator in read_graph(model).operators):
        raise _impossible(f"its operator {NPU} has the places of tensors in its commands; plan with Vela")
    root = Flatbuffer(model).root()
    unknown = [field for field in root.fields() if field not in list(ModelField)]
    if unknown:
        raise _impossible(f"it has a part that is not known, field {unknown[0]} of the model")
    if any(map(is_behind, root.tables(ModelField.BUFFERS))) or any(
        operator.number(OperatorField.LARGE_OPTIONS, "<Q") > 1
        for subgraph in root.tables(ModelField.SUBGRAPHS)
        for operator in subgraph.tables(SubgraphField.OPERATORS)
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
    front = NewParts(model)
    metadata: list[Part] = [
        OldPart(at)
        for at, entry in zip(root.targets(ModelField.METADATA), root.tables(ModelField.METADATA), strict=True)
        if entry.text(MetadataField.NAME) != PLAN_METADATA
    ]
    fields: dict[int, FieldValue] = _kept_fields(root)
    buffers: list[Part] = [OldPart(at) for at in root.targets(ModelField.BUFFERS)]
    if plan is not None:
        buffers.append(front.table({BufferField.DATA: front.data(plan)}))
        name = front.text(PLAN_METADATA)
        metadata.append(front.table({MetadataField.NAME: name, MetadataField.BUFFER: len(buffers) - 1}))
        fields[ModelField.BUFFERS] = front.list(buffers)
    if metadata:
        fields[ModelField.METADATA] = front.list(metadata)
    return front.file(front.table(fields))


def _kept_fields(root: Table) -> dict[int, FieldValue]:
    fields: dict[int, FieldValue] = {ModelField.VERSION: root.number(ModelField.VERSION, "<I")}
    for field in _KEPT:
        target = root.target(field)
        if target is not None:
            fields[field] = OldPart(target)
    return fields


def _impossible(why: str) -> InputError:
    return InputError.single("cannot_carry_plan", "$", f"this model cannot carry a memory plan: {why}")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How the model is to be written."""

    order: Order = GIVEN
    in_place: bool = False
    order_only: bool = False
    replan: bool = False
    pools: int = 1


@dataclass(frozen=True, slots=True)
class OptionNames:
    """How errors name the options: those of a command line, or the parameters of a query."""

    free: str
    in_place: str
    order_only: str
    of_order: str = "$"
    of_in_place: str = "$"
    of_pools: str = "$"
    """Where the issue is, of these options."""


def require_writable(model: bytes, request: WriteOptions, names: OptionNames) -> None:
    """Raise an InputError where the model cannot be written as asked."""
    if request.order_only:
        if request.order == GIVEN:
            message = f"its operators would stay as they are listed, and the model the same; add {names.free}"
            raise InputError.single("same_model", names.of_order, message)
        require_movable(model)
        return
    if request.in_place:
        message = (
            f"a model cannot say that tensors share bytes; leave out {names.in_place}, or add "
            f"{names.order_only}"
        )
        raise InputError.single("in_place", names.of_in_place, message)
    if request.pools > 1:
        message = (
            "the runtime has one arena, and there are several memories; leave the target out, and give the "
            "capacity of one of them"
        )
        raise InputError.single("several_pools", names.of_pools, message)
    require_plannable(model, request.replan)
    if request.order != GIVEN:
        require_movable(without_plan(model))


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """A model, and the heads of its arena with the plan and without one."""

    model: bytes
    scratch: Scratch
    """What its kernels ask for, by the operators of this file."""
    is_planned: bool
    planned_head: int | None
    plain_head: int | None
    """None: there are too many tensors to follow the rule of the runtime."""


def written_model(
    model: bytes, plan: Plan, scratch: Scratch | None = None, *, replan: bool = False
) -> WrittenModel:
    """The model with the plan if that makes its head smaller, given what kernels ask for."""
    blocks = scratch or {}
    moved = blocks if plan.schedule is None else scratch_in_order(blocks, plan.schedule.order)
    planned = planned_model(model, plan, replan=replan)
    plain = without_plan(model)
    heads = arena_of(planned, moved).head, arena_of(plain, blocks).head
    if heads[0] is None or heads[1] is None or heads[0] < heads[1]:
        return WrittenModel(planned, moved, True, *heads)
    return WrittenModel(plain, blocks, False, *heads)
