"""What the runtime makes of a model: its tensors and scratch memory, where everything is, the arena it needs.

The runtime gives memory to every tensor that is neither a weight nor a variable, also to those that nobody
uses: these live at the time -1, all together. In the graph each operator that needs scratch has one temporary
for all of its blocks. Wherever the runtime puts them, they then fit: it fills the lowest gaps, and one of
them is as large as all blocks together.

A plan that a model carries is one offset for each tensor of all subgraphs, in metadata: 32-bit integers, two
that the runtime does not look at, the number of tensors, and their offsets, of which -1 leaves a tensor to
its own rule. It trusts them: that tensors do not overlap is for us to check. What has an offset comes first.
The others follow from the largest to the smallest, of equal ones the last listed first, each at the lowest
gap among those that live with it. Nothing is checked.

The runtime allocates from both ends of the arena. The *tail* stays; the *head* holds tensors and scratch, and
before that, while the model is loaded, the tables with which the runtime plans. So a plan may save nothing.
"""

import struct
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.formats.flatbuffer import Flatbuffer, Table
from memstow.planner.formats.tflite_format import RESOURCE, arena_bytes, read_graph
from memstow.planner.formats.tflite_model import (
    VAR_HANDLE,
    BufferField,
    Calls,
    MetadataField,
    ModelField,
    ModelOperator,
    Subgraph,
    read_subgraphs,
)
from memstow.planner.graph.lowering import Span, liveness
from memstow.planner.graph.schedules import allowed_order
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import FREE, Graph, Temporary
from memstow.planner.model.plan import Arena, Plan
from memstow.planner.model.problem import PEAK

Scratch = Mapping[tuple[int, int], Sequence[int]]
"""By subgraph and operator, the blocks of memory that the kernel asks for while it runs, in bytes."""
SCRATCH: Final = "scratch/"
"""How the ids of scratch memory begin."""
_ALIGNMENT: Final = 16


def with_scratch(graph: Graph, model: bytes, scratch: Scratch) -> Graph:
    """The graph of a model with the memory that its kernels ask for, one block an operator."""
    subgraphs = read_subgraphs(model)
    calls = Calls(subgraphs)
    operators = []
    of_model = {str(i): (i, operator) for i, operator in enumerate(subgraphs[0].operators)}
    for operator in graph.operators:
        temporaries = _temporaries(*of_model[operator.id], calls, scratch) if operator.id in of_model else ()
        operators.append(replace(operator, temporaries=(*operator.temporaries, *temporaries)))
    return replace(graph, operators=tuple(operators))


def scratch_in_order(scratch: Scratch, order: Sequence[str]) -> Scratch:
    """The scratch memory by the operators of a model that lists them in this order."""
    # What a neural processor makes is planned as an operator of its own, which no model has.
    numbers = [int(name) for name in order if name.isdecimal()]
    moved = {(0, at): scratch[0, number] for at, number in enumerate(numbers) if (0, number) in scratch}
    return {**{key: sizes for key, sizes in scratch.items() if key[0]}, **moved}


def aligned(size: int) -> int:
    """Bytes as the runtime counts them."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _temporaries(index: int, operator: ModelOperator, calls: Calls, scratch: Scratch) -> Iterator[Temporary]:
    calls.of(operator, f"$.subgraphs[0].operators[{index}]")
    if size := _together(scratch, (0, index)):
        yield Temporary(id=f"{SCRATCH}{index}", size=size, alignment=_ALIGNMENT)
    for entry in calls.operators():
        if size := _together(scratch, (entry.subgraph, entry.operator)):
            name = f"{SCRATCH}{entry.subgraph}/{entry.operator}"
            yield Temporary(id=name, size=size, phases=entry.phases, alignment=_ALIGNMENT)


def _together(scratch: Scratch, operator: tuple[int, int]) -> int:
    return sum(map(aligned, scratch.get(operator, ())))


NEVER: Final = (-1, 0)
"""When tensors live that nobody uses."""


@dataclass(frozen=True, slots=True)
class RuntimeTensor:
    """A tensor in the runtime's list."""

    name: str
    """Its id in the graph."""
    size: int
    """Bytes of the arena, a multiple of 16; 0: it is not there."""
    lifetime: Span
    is_planned: bool
    """Whether a plan may say where it is."""


@dataclass(frozen=True, slots=True)
class RuntimeModel:
    """What the runtime sees of a model whose operators run in a certain order."""

    tensors: Sequence[RuntimeTensor]
    subgraphs: int
    operators: dict[tuple[int, int], Span]
    """When each operator runs, by its subgraph and its index there, as they are prepared."""


def runtime_model(model: bytes, graph: Graph, order: Sequence[str]) -> RuntimeModel:
    """A model whose graph runs in the order of these ids, which are the indices of the operators."""
    subgraphs = read_subgraphs(model)
    indices = allowed_order(graph, order)
    live = liveness(graph, indices)
    spans = {operator.id: span for operator, span in zip(graph.operators, live.spans, strict=True)}
    lives: dict[tuple[int, int], Span] = {}
    there = set(map(str, subgraphs[0].inputs))
    for i, tensor in enumerate(graph.tensors):
        span = live.tensors[i]
        if span is not None:
            # What is read, but neither made nor an input, is there before the time of the inputs.
            is_unmade = span[0] == 0 and tensor.id not in there
            lives[0, int(tensor.id)] = (-1, span[1]) if is_unmade else span
    operators = {(0, i): spans[str(i)] for i in range(len(subgraphs[0].operators))}
    calls = Calls(subgraphs)
    for i, operator in enumerate(subgraphs[0].operators):
        begin = spans[str(i)][0]
        for called in calls.of(operator, f"$.subgraphs[0].operators[{i}]"):
            first, last = called.phases
            lives[called.subgraph, called.tensor] = (begin + first if first else -1, begin + last)
        for entry in calls.operators():
            operators[entry.subgraph, entry.operator] = (begin + entry.phases[0], begin + entry.phases[1])
    prepared = sorted(operators, key=lambda key: (key[0], operators[key]))
    tensors = tuple(_tensors(subgraphs, lives))
    return RuntimeModel(tensors, len(subgraphs), {key: operators[key] for key in prepared})


def listed(graph: Graph) -> tuple[str, ...]:
    """The order in which a model lists its operators."""
    return tuple(operator.id for operator in graph.operators)


def _tensors(subgraphs: Sequence[Subgraph], lives: dict[tuple[int, int], Span]) -> Iterator[RuntimeTensor]:
    # The runtime looks up any variable as if it were in the first subgraph: that offset must not be planned.
    variables = {
        i for subgraph in subgraphs[1:] for i, tensor in enumerate(subgraph.tensors) if tensor.is_variable
    }
    for number, subgraph in enumerate(subgraphs):
        handles = {
            i for operator in subgraph.operators if operator.name == VAR_HANDLE for i in operator.outputs
        }
        for i, tensor in enumerate(subgraph.tensors):
            size = 0 if i in handles else arena_bytes(tensor, f"$.subgraphs[{number}].tensors[{i}]")
            yield RuntimeTensor(
                name=f"{number}/{i}" if number else str(i),
                size=size,
                lifetime=lives.get((number, i), NEVER),
                is_planned=size > 0 and tensor.type != RESOURCE and not (number == 0 and i in variables),
            )


PLAN_METADATA: Final = "OfflineMemoryAllocation"
LEFT_TO_RUNTIME: Final = -1
"""The offset of a tensor that the runtime places by its own rule."""
_VERSION: Final = 1
"""Of the format of the plan."""


def encoded_offsets(subgraphs: int, offsets: Sequence[int]) -> bytes:
    """The plan as the runtime reads it."""
    return struct.pack(f"<3i{len(offsets)}i", _VERSION, subgraphs, len(offsets), *offsets)


def carries_plan(model: bytes) -> bool:
    """Whether the model has metadata with a plan."""
    return any(_plans(Flatbuffer(model).root()))


def _plans(root: Table) -> Iterator[Table]:
    """The metadata that are plans."""
    for entry in root.tables(ModelField.METADATA):
        if entry.text(MetadataField.NAME) == PLAN_METADATA:
            yield entry


def carried_offsets(model: bytes, tensors: int) -> list[int] | None:
    """The offsets that a model of so many tensors carries; None without a plan.

    Raises InputError where the runtime could not read it.
    """
    flatbuffer = Flatbuffer(model)
    root = flatbuffer.root()
    plans = [entry.number(MetadataField.BUFFER, "<I") for entry in _plans(root)]
    if not plans:
        return None
    # Of several, the runtime takes the last.
    begin, length = _bytes_of(root, plans[-1])
    if length < 12:
        raise _wrong_plan(f"it has {length:,} bytes, and 12 come before the first offset")
    listed = flatbuffer.number("<I", begin + 8)
    if listed != tensors:
        raise _wrong_plan(f"it has offsets of {listed:,} tensors, and the model has {tensors:,}")
    if length < 12 + 4 * tensors:
        raise _wrong_plan(f"it has {length:,} bytes, too few for the offsets of {tensors:,} tensors")
    flatbuffer.spend(tensors)
    return list(struct.unpack_from(f"<{tensors}i", model, begin + 12))


def _bytes_of(root: Table, index: int) -> tuple[int, int]:
    for at, buffer in enumerate(root.tables(ModelField.BUFFERS)):
        if at == index:
            extent = buffer.vector(BufferField.DATA, 1)
            if extent is not None:
                return extent
            break
    raise _wrong_plan("its metadata names no buffer with bytes")


def _wrong_plan(why: str) -> InputError:
    message = f"the model carries a memory plan that the runtime cannot read: {why}"
    return InputError.single("wrong_plan", f"$.metadata[{PLAN_METADATA!r}]", message)


MOST_STEPS: Final = 20_000_000
"""Comparisons of two blocks; more would take too long."""


@dataclass(frozen=True, slots=True)
class Block:
    """Memory that the runtime needs for some time."""

    size: int
    lifetime: Span
    offset: int | None = None
    """Where a plan puts it; None: by the rule."""


_Placed = tuple[int, int, int, int]  # offset, end, first and last time


def first_fit(blocks: Sequence[Block]) -> list[int] | None:
    """The offset of each block; None where there are too many of them."""
    fixed = [i for i, block in enumerate(blocks) if block.offset is not None]
    free = sorted(
        (i for i, block in enumerate(blocks) if block.offset is None), key=lambda i: (-blocks[i].size, -i)
    )
    if len(free) * len(blocks) > MOST_STEPS:
        return None
    offsets = [block.offset or 0 for block in blocks]
    placed: list[_Placed] = []
    for i in fixed:
        _note(placed, blocks[i], offsets[i])
    for i in free:
        offsets[i] = _lowest_gap(placed, blocks[i])
        _note(placed, blocks[i], offsets[i])
    return offsets


def head_of(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """How much of the arena the blocks take at these offsets."""
    return max((at + block.size for block, at in zip(blocks, offsets, strict=True)), default=0)


def _note(placed: list[_Placed], block: Block, offset: int) -> None:
    # Of those at one offset, the ones placed earlier stay in front.
    insort(placed, (offset, offset + block.size, *block.lifetime), key=lambda entry: entry[0])


def _lowest_gap(placed: Sequence[_Placed], block: Block) -> int:
    begin, end = block.lifetime
    lowest = 0
    for offset, until, first, last in placed:
        if first < end and begin < last:
            if offset - lowest >= block.size:
                break
            lowest = max(lowest, until)
    return lowest


@dataclass(frozen=True, slots=True)
class RuntimeLayout:
    """What the runtime makes of a plan."""

    head: int
    """How much of the arena is for tensors and scratch."""
    offsets: Sequence[int]
    """By tensor; those that need no memory are at 0."""


def runtime_layout(
    model: RuntimeModel, offsets: Sequence[int] | None, scratch: Scratch
) -> RuntimeLayout | None:
    """The layout with these offsets, or without a plan; None where there is too much to place by the rule."""
    planned = offsets or [LEFT_TO_RUNTIME] * len(model.tensors)
    needed = [i for i, tensor in enumerate(model.tensors) if tensor.size]
    blocks = [
        Block(
            model.tensors[i].size,
            model.tensors[i].lifetime,
            None if planned[i] == LEFT_TO_RUNTIME else planned[i],
        )
        for i in needed
    ]
    blocks += [
        Block(aligned(size), lifetime)
        for operator, lifetime in model.operators.items()
        for size in scratch.get(operator, ())
    ]
    places = first_fit(blocks)
    if places is None:
        return None
    of_tensors = [0] * len(model.tensors)
    for i, at in zip(needed, places, strict=False):
        of_tensors[i] = at
    return RuntimeLayout(head_of(blocks, places), of_tensors)


def planned_offsets(model: RuntimeModel, places: Mapping[str, int]) -> list[int]:
    """The offsets that a model carries for these places, by the names of tensors.

    What nobody uses needs no bytes of its own: all of it lies at 0.
    """
    return [
        LEFT_TO_RUNTIME
        if not tensor.is_planned
        else places.get(tensor.name, 0 if tensor.lifetime == NEVER else LEFT_TO_RUNTIME)
        for tensor in model.tensors
    ]


# Requests for which the runtime makes room at any time, beside those that were made.
_SPARE_REQUESTS: Final = 12


@dataclass(frozen=True, slots=True)
class _Words:
    """Bytes of the runtime's own records."""

    subgraph: int
    request: int
    tensor: int
    planned: int
    persistent: int


_WORDS: Final = {
    4: _Words(subgraph=4, request=12, tensor=24, planned=40, persistent=40),
    8: _Words(subgraph=8, request=16, tensor=32, planned=40, persistent=64),
}
DEVICE, WORKSTATION = 4, 8
"""Bytes of an address: on a microcontroller, and where `tflite-micro` runs."""


def arena(head: int | None, planning: int | None, tail: int | None) -> Arena:
    """An arena of these parts."""
    least = None if head is None or tail is None else tail + max(head, planning or 0)
    return Arena(head=head, planning=planning, tail=tail, least=least)


def arena_of(
    model: bytes, scratch: Scratch | None = None, word: int = DEVICE, tail: int | None = None
) -> Arena:
    """The arena that a TensorFlow Lite model needs, with the plan that it carries or without one.

    `scratch` is the memory that its kernels ask for, `tail` what stays; without them, only tensors and the
    tables of the runtime are known. `word` is the size of an address.
    """
    graph = read_graph(model)
    of_model = runtime_model(model, graph, listed(graph))
    blocks = scratch or {}
    layout = runtime_layout(of_model, carried_offsets(model, len(of_model.tensors)), blocks)
    main = read_subgraphs(model)[0]
    # What is there at once: requests of kernels, a record of each tensor, the rows of the planner.
    words = _WORDS[word]
    persistent = words.persistent * (len(main.inputs) + len(main.outputs))
    requests = sum(map(len, blocks.values()))
    planned = sum(tensor.size > 0 for tensor in of_model.tensors) + requests
    planning = (
        words.request * (_SPARE_REQUESTS + requests)
        + words.subgraph * of_model.subgraphs
        + words.tensor * (len(of_model.tensors) + requests)
        + words.planned * planned
    )
    return arena(None if layout is None else layout.head, max(0, planning - persistent), tail)


_LIVE: Final = frozenset(("live_bytes", "cut", "refuted"))
"""Certificates of bounds by what lives at once."""
_UNKNOWN: Final = (
    "scratch memory of kernels and the tail are not counted: --scratch measure, or the log of a device, "
    "tells them"
)


def notes_on_saving(
    before: Arena, after: Arena, plan: Plan, order: str, has_scratch: bool
) -> tuple[str, ...]:
    """What the plan, for operators in this order, changes of the arena, in sentences."""
    return tuple(_saving_notes(before, after, plan, order, has_scratch))


def _saving_notes(before: Arena, after: Arena, plan: Plan, order: str, has_scratch: bool) -> Iterator[str]:
    if before.head is None or after.head is None:
        return
    saved = room_of(before) - room_of(after)
    less = before.head - after.head
    if saved == less > 0:
        share = "" if before.least is None else f", {100 * saved / before.least:.3g} %"
        yield f"the arena shrinks by {saved:,} bytes{share}"
    elif saved > 0:
        yield (f"the head shrinks by {less:,} bytes and the arena by {saved:,}: {_tables(after)}")
    elif less > 0:
        yield (f"the head shrinks by {less:,} bytes, and the arena does not: {_tables(after)}")
    else:
        yield f"the arena does not shrink: {_why_not(before.head, plan, order)}"
        yield "a program of `memstow build` has no interpreter, and runs layers in stripes: it may need less"
    if before.tail is None:
        yield _UNKNOWN if not has_scratch else "the tail is not known: the log does not tell it"
    elif before.tail > room_of(after):
        yield f"the tail, {before.tail:,} bytes, is what interpreter and kernels keep; no plan changes it"


def room_of(arena: Arena) -> int:
    """The bytes of the head, or of what is in its place while the model is loaded."""
    return max(arena.head or 0, arena.planning or 0)


def _tables(arena: Arena) -> str:
    return (
        "while the model is loaded, the tables with which the runtime plans take "
        f"{room_of(arena):,} bytes in the place of the head"
    )


def _why_not(head: int, plan: Plan, order: str) -> str:
    rule = f"for the head the runtime's own rule needs {head:,} bytes"
    peak = sum(use.peak for use in plan.pools)
    if peak > head:
        return f"{rule}, and the plan {peak:,}"
    peak_term = plan.objective[0] if [entry.term for entry in plan.objective] == [str(PEAK)] else None
    # Bytes that live at once count scratch memory in whatever pieces the runtime places it.
    if (
        peak_term is None
        or peak_term.bound < head
        or peak_term.certificate is None
        or peak_term.certificate.kind not in _LIVE
    ):
        return f"{rule}, and so does the plan"
    of = "any order" if order == FREE else "its order"
    return f"{rule}, and no plan for {of} of the operators needs less, which is proven"
