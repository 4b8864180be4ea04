"""A model as a program in C that runs in the memory that a plan gives it.

In: a TensorFlow Lite or ONNX model, and which point of its front is wanted. Out: the files of the program,
with the plan and the table of its loops that they were written from.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Order
from memstow.planner.model.options import Options

if TYPE_CHECKING:
    import threading

    from memstow.planner.firmware.channels import Part
    from memstow.planner.firmware.check import Referee
    from memstow.planner.firmware.full_model import FullModel, FullOperator
    from memstow.planner.firmware.layers import Layer
    from memstow.planner.firmware.memories import Choice, Planned
    from memstow.planner.firmware.program import Port
    from memstow.planner.model.front import Front, FrontPoint, Generator
    from memstow.planner.model.graph import Graph, TensorKind
    from memstow.planner.model.loops import Loops
    from memstow.planner.model.options import Listener
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Target

DEFAULT_NAME: Final = "model"
TAKEN_NAMES: Final = frozenset(
    (
        "all", "all_build", "clean", "edit_cache", "help", "install", "package", "package_source",
        "preinstall", "rebuild_cache", "run_tests", "test", "zero_check", "assert", "complex", "ctype",
        "errno", "features", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math", "newlib",
        "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio",
        "stdlib", "stdnoreturn", "string", "strings", "tgmath", "threads", "time", "uchar", "wchar",
        "wctype",
    )
)  # fmt: skip
"""In small letters: targets that CMake keeps for itself, and headers that one of the program would hide."""
KernelSet = Literal["own", "cmsis-nn"]
KERNEL_SETS: Final[tuple[KernelSet, ...]] = ("own", "cmsis-nn")
"""Whose functions compute operators: the package's own, or those of CMSIS-NN where these are faster."""
External = Literal["inputs", "outputs"]
EXTERNAL: Final[tuple[External, ...]] = ("inputs", "outputs")
"""What may lie with the caller of a program, outside of what is planned."""


@dataclass(frozen=True, slots=True)
class Built:
    """A program, and the plan that it carries out."""

    files: Mapping[str, bytes]
    graph: "Graph"
    plan: "Plan"
    loops: "Loops"
    front: "Front | None"
    """None where the program works in several memories at once, without spills; so are point and number."""
    point: "FrontPoint | None"
    number: int | None
    """Which point of the front that is, from 1."""
    arena: int
    """Bytes that the program works in."""
    state: int
    """Bytes of variables, which are kept from one run to the next."""
    constants: int
    """Bytes of numbers that never change: weights, factors, tables."""
    by_cmsis_nn: int
    """Operators that CMSIS-NN computes, on some processors at least."""
    no_check: str | None
    """Why there is no program that checks the outputs; None where there is one."""
    in_float: tuple[str, ...]
    """The operators of a quantised model that compute in floating point."""


def build(
    model: bytes,
    *,
    name: str = DEFAULT_NAME,
    capacity: int | None = None,
    point: int | None = None,
    target: "Target | None" = None,
    generators: "Iterable[Generator] | None" = None,
    order: Order = "free",
    external: "Iterable[External]" = (),
    dims: Mapping[str, int] | None = None,
    kernels: KernelSet = "own",
    options: Options | None = None,
    with_check: bool = True,
    on_event: "Listener | None" = None,
    cancel: "threading.Event | None" = None,
) -> Built:
    """Write the program of a TensorFlow Lite or ONNX model, in the memory of one point of its front.

    `capacity` takes the cheapest point whose peak is at most that, `point` the one of this number, from 1;
    without either, the least memory without more work. `target` plans for the memories of a device: for the
    one in which work and accesses cost least, or for several. `external` says what lies with the caller,
    `dims` how large the dimensions are that an ONNX model leaves open. With the `kernels` of `cmsis-nn` it
    calls that library, which needs scratch memory, where that is faster.
    Names in the program begin with `name`. `with_check` runs the model by `tflite-micro` or `onnxruntime`,
    for what checks the outputs. Raises InputError for a model that cannot be built, with the operator or the
    tensor that is why, and where no point fits (`nothing_fits`), with the least that would. `order` is as in
    a graph; of any order nothing is proven, so that points are only where there is no other.
    """
    from memstow.planner.firmware.memories import Choice, planned

    wanted: tuple[Generator, ...] = ("stripes",) if generators is None else tuple(generators)
    chosen = Choice(capacity, point, target, wanted)
    outside = frozenset(external)
    _require(name, chosen, outside, kernels)
    from memstow.planner.front.front_request import FrontCallbacks

    source = _read(model, order, outside, dims or {})
    if not source.kernels:
        inside = frozenset(EXTERNAL) - outside
        ports = {str(index): word for word in inside for index in _with_the_caller(source.read, {word})}
        chosen = replace(chosen, ports=ports)
    callbacks = FrontCallbacks(on_event, cancel)
    if kernels == "cmsis-nn":
        from memstow.planner.firmware.cmsis_nn import with_cmsis_nn

        if source.kernels:
            message = "CMSIS-NN rounds as TensorFlow Lite does, and ONNX Runtime in another way; leave it out"
            raise InputError.single("unused_option", "kernels", message)
        source = replace(source, layers=with_cmsis_nn(source.layers))
    if "channels" in wanted:
        source = _in_parts(source)
    if kernels == "cmsis-nn":
        from memstow.planner.firmware.scratch import planned_with_scratch

        entry = planned_with_scratch(source.graph, source.layers, chosen, options or Options(), callbacks)
    else:
        entry = planned(source.graph, chosen, options or Options(), callbacks)
    return _written(source, name, entry, with_check=with_check)


def _with_the_caller(read: "FullModel", external: Collection[External]) -> frozenset[int]:
    """The tensors that lie with the caller; not one that is there for two, as input, output or both."""
    uses = Counter((*read.inputs, *read.outputs))
    inputs = read.inputs if "inputs" in external else ()
    outputs = read.outputs if "outputs" in external else ()
    return frozenset(index for index in (*inputs, *outputs) if uses[index] == 1)


@dataclass(frozen=True, slots=True)
class _Source:
    """A model that was read: what it computes, and what is planned."""

    read: "FullModel"
    layers: "Mapping[str, Layer]"
    graph: "Graph"
    inputs: "Sequence[Port]"
    outputs: "Sequence[Port]"
    referee: "Referee"
    layer_of: "Callable[[FullOperator], Layer]"
    kernels: Sequence[str] = ()
    parts: "Mapping[str, Part]" = field(default_factory=dict)
    """By operator of the alternatives of the graph."""


def _in_parts(source: _Source) -> _Source:
    """The model with alternatives in parts of channels, as far as there are kernels for them."""
    from memstow.planner.firmware.channels import with_parts

    graph, parts = with_parts(source.graph, source.layers)
    return replace(source, graph=graph, parts=parts)


def _read(model: bytes, order: Order, external: Collection[External], dims: Mapping[str, int]) -> _Source:
    from memstow.planner.formats import format_by_content

    if format_by_content(model) == "onnx":
        return _read_onnx(model, order, external, dims)
    if dims:
        from memstow.planner.formats.format import no_open_dimensions

        raise no_open_dimensions()
    from memstow.planner.firmware.check import tflm_referee
    from memstow.planner.firmware.full_model import initial_variables, read_model
    from memstow.planner.firmware.layers import Context, finish, layer_of
    from memstow.planner.formats.tflite_format import read_graph

    read = read_model(model)
    context = Context(read, initial_variables(read, model), finish)
    make = partial(layer_of, context=context)
    layers = {str(operator.index): make(operator) for operator in read.operators}
    lying = _with_the_caller(read, external)
    graph = planned_graph(read_graph(model, in_place=True), read, layers, order, lying)
    inputs, outputs = (_ports(read, listed, lying) for listed in (read.inputs, read.outputs))
    return _Source(read, layers, graph, inputs, outputs, tflm_referee(model), make)


def _read_onnx(
    model: bytes, order: Order, external: Collection[External], dims: Mapping[str, int]
) -> _Source:
    from memstow.planner.firmware.layers import Context
    from memstow.planner.firmware.onnx.layers import finish_of_onnx, layer_of_onnx
    from memstow.planner.firmware.onnx.model import read_onnx
    from memstow.planner.firmware.onnx.referee import onnx_referee

    if external:
        message = "inputs and outputs of an ONNX model lie in the arena, in another order; leave it out"
        raise InputError.single("not_supported", "external", message)
    onnx = read_onnx(model, dims)
    context = Context(onnx.read, {}, finish_of_onnx)
    make = partial(layer_of_onnx, context=context)
    layers = {str(operator.index): make(operator) for operator in onnx.read.operators}
    graph = planned_graph(onnx.graph, onnx.read, layers, order)
    referee = onnx_referee(model, onnx)
    return _Source(onnx.read, layers, graph, onnx.inputs, onnx.outputs, referee, make, kernels=("onnx.c",))


def _ports(read: "FullModel", tensors: Sequence[int], external: Collection[int]) -> "list[Port]":
    from memstow.planner.firmware.program import Port

    listed = []
    for index in tensors:
        tensor = read.tensors[index]
        if tensor is None:
            message = "an input or an output of a type that no program can take"
            raise InputError.single("unknown_type", f"$.subgraphs[0].tensors[{index}]", message)
        listed.append(
            Port(str(index), tensor.name, tensor.size, tensor.type, tensor.shape, index in external)
        )
    return listed


def planned_graph(
    graph: "Graph",
    read: "FullModel",
    layers: "Mapping[str, Layer]",
    order: Order = "free",
    external: Collection[int] = (),
) -> "Graph":
    """The graph of the model as the program has it: tensors of their own size, operators in this order."""
    from memstow.planner.graph.changes import with_order

    tensors = []
    for tensor in graph.tensors:
        full = read.tensors[int(tensor.id)] if tensor.kind == "data" else None
        if full is None:
            tensors.append(tensor)
            continue
        outside: TensorKind = "external" if int(tensor.id) in external else "data"
        tensors.append(replace(tensor, size=None, alignment=full.width, kind=outside))
    operators = []
    for operator in graph.operators:
        layer = layers[operator.id]
        kind = operator.type
        if not layer.is_row_wise and layer.reduction is None:
            # Nobody knows a type of this name, so that the operator runs alone.
            kind = f"{kind} as a whole"
        # Nobody writes over what lies with the caller, and nothing takes its place.
        pairs = tuple(pair for pair in operator.in_place if not {*map(int, pair)} & {*external})
        operators.append(replace(operator, type=kind, temporaries=(), in_place=pairs))
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


def _require(name: str, chosen: "Choice", external: Collection[str], kernels: str) -> None:
    from memstow.planner.exports.naming import Naming, check_words
    from memstow.planner.firmware.memories import GENERATORS

    check_words(Naming(name))
    if name.lower() in TAKEN_NAMES:
        message = f"{name} is the name of a target of CMake or of a header of the C library; choose another"
        raise InputError.single("bad_prefix", "prefix", message)
    for generator in chosen.generators:
        if generator not in GENERATORS:
            message = f"a program can be built with {', '.join(GENERATORS)}, not with {generator}"
            raise InputError.single("unknown_generator", "generators", message)
    for word in external:
        if word not in EXTERNAL:
            message = f"{' and '.join(EXTERNAL)} may lie with the caller, not {word}"
            raise InputError.single("unknown_external", "external", message)
    if kernels not in KERNEL_SETS:
        message = f"kernels are {' or '.join(KERNEL_SETS)}, not {kernels}"
        raise InputError.single("unknown_kernels", "kernels", message)
    if chosen.point is not None and chosen.capacity is not None:
        message = "give a capacity, or the number of a point"
        raise InputError.single("unused_option", "point", message)
    if chosen.target is not None and chosen.capacity is not None:
        message = "the target says how large its memories are; leave this or `target` out"
        raise InputError.single("unused_option", "capacity", message)
    if chosen.point is not None and chosen.point < 1:
        raise InputError.single("bad_point", "point", "points are numbered from 1")


def _layers_and_labels(
    model: _Source, others: Iterable[str]
) -> "tuple[Mapping[str, Layer], Mapping[str, str]]":
    """What operators become, and what they are, for comments; `others` are of chosen alternatives."""
    from memstow.planner.firmware.channels import part_label, part_layer

    operators = {str(operator.index): operator for operator in model.read.operators}
    layers = dict(model.layers)
    labels = {
        name: f"{operator.name} {operator.index}"
        + (f", {operator.outputs[0].name}" if operator.outputs else "")
        for name, operator in operators.items()
    }
    for name in others:
        part = model.parts[name]
        layers[name] = part_layer(part, operators[part.whole.id], model.layer_of)
        labels[name] = part_label(part, labels[part.whole.id])
    return layers, labels


def _written(
    model: _Source,
    name: str,
    entry: "Planned",
    *,
    with_check: bool,
) -> Built:
    from memstow.planner.exports.c_text import filled
    from memstow.planner.firmware.check import CMAKE, CMAKE_CHECK, CMAKE_CMSIS_NN, check_source
    from memstow.planner.firmware.layers import constant_array
    from memstow.planner.firmware.memories import arena_alignment
    from memstow.planner.firmware.program import Source, write_program
    from memstow.planner.formats import write_graph, write_plan
    from memstow.planner.loops import loops, write_loops
    from memstow.planner.model.problem import DEFAULT_POOL, Pool

    table = loops(entry.graph, entry.plan)
    # Of the alternatives, only those that run are of use to whoever looks at the plan.
    chosen = () if entry.plan.schedule is None else entry.plan.schedule.alternatives
    kept = [other for other in entry.graph.alternatives if other.id in chosen]
    graph = replace(entry.graph, alternatives=tuple(kept))
    layers, labels = _layers_and_labels(
        model, [operator.id for other in kept for operator in other.operators]
    )
    read = model.read
    source = Source(
        name=name,
        title=name,
        table=table,
        layers=layers,
        labels=labels,
        inputs=model.inputs,
        outputs=model.outputs,
        constant_of=lambda name: constant_array(read, int(name)),
        alignments={pool.id: arena_alignment(pool) for pool in entry.graph.pools or (Pool(id=DEFAULT_POOL),)},
        kernels=model.kernels,
    )
    program = write_program(source)
    check: bytes | None = None
    no_check: str | None = "it was not wanted"
    if with_check:
        arenas = sum(pool.size > 0 for pool in table.pools)
        check, no_check = check_source(
            model.referee, name, table.digest, source.inputs, source.outputs, arenas
        )
    parts = (CMAKE, CMAKE_CMSIS_NN if program.by_cmsis_nn else "", CMAKE_CHECK if check else "")
    files = {
        f"{name}.h": program.header.encode(),
        f"{name}.c": program.source.encode(),
        f"{name}.map.json": write_loops(table),
        f"{name}.graph.json": write_graph(graph),
        f"{name}.plan.json": write_plan(graph, entry.plan),
        "CMakeLists.txt": filled("".join(parts), name.upper(), name).encode(),
    }
    if check is not None:
        files[f"{name}_check.c"] = check
    return Built(
        files=files,
        graph=entry.graph,
        plan=entry.plan,
        loops=table,
        front=entry.front,
        point=entry.point,
        number=entry.number,
        arena=sum(pool.size for pool in table.pools),
        state=program.state,
        constants=program.constants,
        by_cmsis_nn=program.by_cmsis_nn,
        no_check=no_check,
        in_float=tuple(labels[str(operator.index)] for operator in _in_float(read)),
    )


def _in_float(read: "FullModel") -> "Iterable[FullOperator]":
    """Of a model that has floats and integers of 8 bits, the operators that compute with floats."""
    kinds = {tensor.type for operator in read.operators for tensor in operator.outputs}
    for operator in read.operators if kinds & {"int8", "uint8"} else ():
        computes = operator.name not in ("DEQUANTIZE", "RESHAPE", "TRANSPOSE")
        if computes and operator.outputs and operator.outputs[0].type == "float32":
            yield operator
