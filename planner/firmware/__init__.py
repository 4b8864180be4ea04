"""A model as a program in C that runs in the memory that a plan gives it.

In: a TensorFlow Lite model, and which point of its front is wanted. Out: the files of the program, with the
plan and the table of its loops that they were written from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontOptions, FrontPoint, Generator
from memstow.planner.model.graph import Order
from memstow.planner.model.options import Options

if TYPE_CHECKING:
    import threading

    from memstow.planner.firmware.full_model import FullModel
    from memstow.planner.firmware.layers import Layer
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.loops import Loops
    from memstow.planner.model.options import Listener
    from memstow.planner.model.problem import Target

DEFAULT_NAME: Final = "model"
GENERATORS: Final[tuple[Generator, ...]] = ("stripes", "recompute")
"""What the program may do to need less memory: parts of channels have no kernels, and it has one memory."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which point of the front is built: that of a number, or the cheapest that fits; else the cheapest."""

    capacity: int | None = None
    point: int | None = None
    target: "Target | None" = None
    generators: tuple[Generator, ...] = ("stripes",)
    order: Order = "free"


@dataclass(frozen=True, slots=True)
class Built:
    """A program, and the plan that it carries out."""

    files: Mapping[str, bytes]
    graph: "Graph"
    front: Front
    point: FrontPoint
    number: int
    """Which point of the front that is, from 1."""
    loops: "Loops"
    arena: int
    """Bytes that the program works in."""
    state: int
    """Bytes of variables, which are kept from one run to the next."""
    constants: int
    """Bytes of numbers that never change: weights, factors, tables."""
    no_check: str | None
    """Why there is no program that checks the outputs; None where there is one."""


NOTHING_FITS: Final = "nothing_fits"
"""The code of the error where no point of the front fits."""


def build(
    model: bytes,
    *,
    name: str = DEFAULT_NAME,
    capacity: int | None = None,
    point: int | None = None,
    target: "Target | None" = None,
    generators: Iterable[Generator] | None = None,
    order: Order = "free",
    options: Options | None = None,
    with_check: bool = True,
    on_event: "Listener | None" = None,
    cancel: "threading.Event | None" = None,
) -> Built:
    """Write the program of a TensorFlow Lite model, in the memory of one point of its front.

    `capacity` takes the cheapest point whose peak is at most that, `point` the one of this number, from 1;
    without either, the least memory without more work. `target` plans for the memories of a device. Names in
    the program begin with `name`. `with_check` runs the model by `tflite-micro`, for what checks the outputs.
    Raises InputError for a model that cannot be built, with the operator or the tensor that is why, and where
    no point fits (`nothing_fits`), with the least that would. `order` is as in a graph; of any order nothing
    is proven, so that points are only where there is no other.
    """
    wanted: tuple[Generator, ...] = ("stripes",) if generators is None else tuple(generators)
    chosen = Choice(capacity, point, target, wanted, order)
    _require(name, chosen)
    from memstow.planner.firmware.full_model import initial_variables, read_model
    from memstow.planner.firmware.layers import Context, layer_of
    from memstow.planner.front.find_front import find_front
    from memstow.planner.front.front_request import FrontCallbacks
    from memstow.planner.graph.documents import retarget
    from memstow.planner.loops import loops

    read = read_model(model)
    context = Context(read, initial_variables(read, model))
    layers = {str(operator.index): layer_of(operator, context) for operator in read.operators}
    graph = planned_graph(model, read, layers, order)
    front_options = FrontOptions(generators=chosen.generators)
    targets = () if target is None else (target,)
    front = find_front(
        graph, front_options, options or Options(), FrontCallbacks(on_event, cancel), targets=targets
    )
    if target is not None:
        graph = retarget(graph, target)
    number, point_of_front = _choose(front, chosen, graph)
    table = loops(graph, point_of_front.plan)
    return _written(
        model if with_check else None, name, read, layers, graph, front, number, point_of_front, table
    )


def planned_graph(
    model: bytes, read: "FullModel", layers: "Mapping[str, Layer]", order: Order = "free"
) -> "Graph":
    """The graph of the model as the program has it: tensors of their own size, operators in this order."""
    from memstow.planner.formats.tflite_format import read_graph
    from memstow.planner.graph.changes import with_order

    graph = read_graph(model, in_place=True)
    tensors = []
    for tensor in graph.tensors:
        full = read.tensors[int(tensor.id)] if tensor.kind == "data" else None
        tensors.append(tensor if full is None else replace(tensor, size=None, alignment=full.width))
    operators = []
    for operator in graph.operators:
        layer = layers[operator.id]
        kind = operator.type
        if not layer.is_row_wise and layer.reduction is None:
            # Nobody knows a type of this name, so that the operator runs alone.
            kind = f"{kind} as a whole"
        operators.append(replace(operator, type=kind, temporaries=()))
    ordered = {name for pair in graph.before for name in pair}
    kept = [
        pair
        for name in layers
        if layers[name].variables and name not in ordered
        for pair in _tied(graph, name)
    ]
    ours = replace(graph, tensors=tuple(tensors), operators=tuple(operators), before=(*graph.before, *kept))
    # Where there is no other order, points are proven as those of the one that is given.
    return with_order(ours, "given" if _is_chain(ours) else order)


def _is_chain(graph: "Graph") -> bool:
    """Whether each operator needs the one that is listed before it, so that there is no other order."""
    pairs = set(graph.before)
    return all(
        set(first.outputs) & set(then.inputs) or (first.id, then.id) in pairs
        for first, then in pairwise(graph.operators)
    )


def _tied(graph: "Graph", name: str) -> Iterable[tuple[str, str]]:
    """A pair that keeps an operator with a state from being run again: one that its tensors say already."""
    here = next(operator for operator in graph.operators if operator.id == name)
    for other in graph.operators:
        if set(other.inputs) & set(here.outputs):
            yield name, other.id
            return
    for other in graph.operators:
        if set(other.outputs) & set(here.inputs):
            yield other.id, name
            return


def _require(name: str, chosen: Choice) -> None:
    from memstow.planner.exports.naming import Naming, check_words

    check_words(Naming(name))
    for generator in chosen.generators:
        if generator not in GENERATORS:
            message = f"a program can be built with {', '.join(GENERATORS)}, not with {generator}"
            raise InputError.single("unknown_generator", "generators", message)
    if chosen.point is not None and chosen.capacity is not None:
        message = "give a capacity, or the number of a point"
        raise InputError.single("unused_option", "point", message)
    if chosen.point is not None and chosen.point < 1:
        raise InputError.single("bad_point", "point", "points are numbered from 1")


def _choose(front: Front, chosen: Choice, graph: "Graph") -> tuple[int, FrontPoint]:
    points: Sequence[FrontPoint] = front.targets[0].points if front.targets else front.points
    peak, cost = front.terms
    numbered = list(enumerate(points, start=1))
    if not numbered:
        explanation = front.targets[0].explanation if front.targets else front.explanation
        why = "" if explanation is None else f": {explanation.message}"
        raise InputError.single(NOTHING_FITS, "$", f"no plan was found{why}{_advice(chosen)}")
    if chosen.point is not None:
        if chosen.point > len(numbered):
            message = f"the front has {len(numbered)} points; there is no point {chosen.point}"
            raise InputError.single("bad_point", "point", message)
        return numbered[chosen.point - 1]
    fitting = [
        entry for entry in numbered if chosen.capacity is None or entry[1].values[peak] <= chosen.capacity
    ]
    if not fitting:
        raise InputError.single(NOTHING_FITS, "capacity", _least(numbered, peak, chosen, graph))
    return min(fitting, key=lambda entry: (entry[1].values[cost], entry[1].values[peak]))


def _least(points: Sequence[tuple[int, FrontPoint]], peak: str, chosen: Choice, graph: "Graph") -> str:
    """Why nothing fits: the least that would, and what is live then."""
    from memstow.planner.graph.schedules import scheduled_problem
    from memstow.planner.model.problem import hardest, profile

    _, point = min(points, key=lambda entry: entry[1].values[peak])
    least, bound = point.values[peak], point.bounds.get(peak)
    proven = " (proven)" if bound == least else "" if bound is None else f" (at least {bound:,})"
    message = f"nothing fits in {chosen.capacity:,} bytes: the least that was found is {least:,}{proven}"
    if point.plan.schedule is not None:
        buffers = scheduled_problem(graph, point.plan.schedule).buffers
        names = {tensor.id: tensor.name or tensor.id for tensor in graph.tensors}
        for moment in hardest(buffers, profile(buffers), 1):
            largest = (f"{names.get(entry.id, entry.id)} ({entry.size:,})" for entry in moment.buffers[:4])
            message += f". Live at its tightest moment: {', '.join(largest)}"
    return message + _advice(chosen)


def _advice(chosen: Choice) -> str:
    more = [name for name in GENERATORS if name not in chosen.generators]
    if more:
        return f". Next, try it with {','.join((*chosen.generators, *more))}"
    return ""


def _written(
    model: bytes | None,
    name: str,
    read: "FullModel",
    layers: "Mapping[str, Layer]",
    graph: "Graph",
    front: Front,
    number: int,
    point: FrontPoint,
    table: "Loops",
) -> Built:
    from memstow.planner.exports.c_text import filled
    from memstow.planner.firmware.check import CMAKE, CMAKE_CHECK, check_source
    from memstow.planner.firmware.layers import constant_array
    from memstow.planner.firmware.program import Port, Source, write_program
    from memstow.planner.formats import write_graph, write_plan
    from memstow.planner.loops import write_loops

    def ports(tensors: Sequence[int]) -> list[Port]:
        listed = []
        for index in tensors:
            tensor = read.tensors[index]
            if tensor is None:
                message = "an input or an output of a type that no program can take"
                raise InputError.single("unknown_type", f"$.subgraphs[0].tensors[{index}]", message)
            listed.append(Port(str(index), tensor.name, tensor.size, tensor.type, tensor.shape))
        return listed

    labels = {
        str(operator.index): f"{operator.name} {operator.index}"
        + (f", {operator.outputs[0].name}" if operator.outputs else "")
        for operator in read.operators
    }
    source = Source(
        name=name,
        title=name,
        table=table,
        layers=layers,
        labels=labels,
        inputs=ports(read.inputs),
        outputs=ports(read.outputs),
        constant_of=lambda name: constant_array(read, int(name)),
    )
    program = write_program(source)
    check: bytes | None = None
    no_check: str | None = "it was not wanted"
    if model is not None:
        check, no_check = check_source(model, name, table.digest, source.inputs, source.outputs)
    files = {
        f"{name}.h": program.header.encode(),
        f"{name}.c": program.source.encode(),
        f"{name}.map.json": write_loops(table),
        f"{name}.graph.json": write_graph(graph),
        f"{name}.plan.json": write_plan(graph, point.plan),
        "CMakeLists.txt": filled(CMAKE + (CMAKE_CHECK if check else ""), name.upper(), name).encode(),
    }
    if check is not None:
        files[f"{name}_check.c"] = check
    return Built(
        files=files,
        graph=graph,
        front=front,
        point=point,
        number=number,
        loops=table,
        arena=sum(pool.size for pool in table.pools),
        state=program.state,
        constants=program.constants,
        no_check=no_check,
    )
