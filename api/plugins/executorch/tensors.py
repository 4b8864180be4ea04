"""A graph of ExecuTorch as a problem: its objects as we use them, frames, lives of tensors, places.

ExecuTorch 1.5.1 comes without types of its own. A graph is frames: its tensors, and the frames of the
branches that its nodes call. ExecuTorch plans each branch for itself, where another overwrites a result that
is still to be read; here branches are laid out in time, with the graph around them. Tensors with lives become
a problem, and its plan places.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, Protocol, cast

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Buffer, Interval, Pool, Problem


class Spec(Protocol):
    """A tensor to be placed (`executorch.exir.tensor.TensorSpec`)."""

    alignment: int
    lifetime: Sequence[int]
    """The first and the last node that need it."""
    mem_id: int | None
    """The memory it is in, or must be in if set before planning. Ids count from 1."""
    mem_offset: int | None
    storage_base: "Spec | None"
    """The tensor in whose bytes this one lies, `storage_base_offset` after its first."""
    storage_base_offset: int

    @property
    def allocated_memory(self) -> int:
        """Its bytes, rounded up to the alignment."""

    def realign(self, new_alignment: int) -> int:
        """Change the alignment."""


class Node(Protocol):
    """One step of a graph (`torch.fx.Node`)."""

    name: str
    op: str
    target: object
    args: tuple[object, ...]
    meta: Mapping[str, object]


class Nodes(Protocol):
    """The steps of a graph, in order (`torch.fx.Graph`)."""

    nodes: Iterable[Node]


class GraphModule(Protocol):
    """A graph with its branches as attributes (`torch.fx.GraphModule`)."""

    graph: Nodes


class Allocation(Protocol):
    """Where a tensor is (`executorch.exir.memory_planning.SpecAllocResult`)."""

    mem_id: int
    mem_offset: int


class Answer(Protocol):
    """What an algorithm returns (`executorch.exir.memory_planning.MemoryAlgoResult`)."""

    spec_dict: Mapping[Spec, Allocation]
    bufsizes: list[int]


# Called with a graph, and whether its inputs are to be placed as well.
SpecsOf = Callable[[GraphModule, bool], Iterable[Spec]]


@dataclass(frozen=True, slots=True)
class Call:
    """A node that runs branches."""

    index: int
    """Of the node among those of its graph."""
    branches: "tuple[Frame, ...]"
    results: tuple[Spec, ...]
    operands: tuple[Spec, ...]
    is_moved: bool
    """The results are the branch's own tensors; otherwise they are copied, while the node runs."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One graph."""

    specs: tuple[Spec, ...]
    """The tensors to place."""
    names: dict[Spec, str]
    calls: tuple[Call, ...] = ()
    outputs: tuple[Spec, ...] = ()
    length: int = 1
    """The moments by which lifetimes count: the nodes, and more where a tensor lives beyond the last."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a node of control flow gives its branches."""

    branches: slice
    operands: slice
    places_inputs: bool
    is_moved: bool


# By the name of the operator: as its arguments have them in `apply_algo`, and its results in the emitter.
_KINDS: Final = {
    "cond": _Kind(slice(1, 3), slice(3, 4), places_inputs=False, is_moved=True),
    "map_impl": _Kind(slice(0, 1), slice(1, 3), places_inputs=True, is_moved=False),
    "scan": _Kind(slice(0, 1), slice(1, 4), places_inputs=True, is_moved=False),
}


def frame_alone(graph_module: GraphModule, specs: Iterable[Spec]) -> Frame:
    """The frame of a graph without those of its branches."""
    return _frame(_nodes_of(graph_module), specs, ())


def frame_of(graph_module: GraphModule, specs: Iterable[Spec], specs_of: SpecsOf) -> Frame:
    """The frame of a graph and those of its branches."""
    nodes = _nodes_of(graph_module)
    calls: list[Call] = []
    for index, node in enumerate(nodes):
        branches = [entry for entry in flattened(node.args) if _is_branch(graph_module, entry)]
        if node.op != "call_function" or not branches:
            continue
        calls.append(_call(graph_module, node, index, specs_of))
    return _frame(nodes, specs, calls)


def _nodes_of(graph_module: GraphModule) -> list[Node]:
    """The nodes by which lifetimes count: calls to free are put in later."""
    return [node for node in graph_module.graph.nodes if _name_of(node.target) != "free"]


def _frame(nodes: Sequence[Node], specs: Iterable[Spec], calls: Iterable[Call]) -> Frame:
    specs = tuple(specs)
    return Frame(
        specs=specs,
        names=_names(nodes),
        calls=tuple(calls),
        outputs=_specs_at(nodes[-1]) if nodes else (),
        length=max([len(nodes), 1, *(spec.lifetime[1] + 1 for spec in specs)]),
    )


def _call(graph_module: GraphModule, node: Node, index: int, specs_of: SpecsOf) -> Call:
    kind = _KINDS.get(_name_of(node.target))
    called = node.args[kind.branches] if kind else ()
    if kind is None or not all(_is_branch(graph_module, entry) for entry in called):
        message = f"it is not known how {_name_of(node.target)} runs its branches"
        raise InputError.single("unknown_control_flow", node.name, message)
    branches = [_branch(graph_module, entry) for entry in called]
    frames = tuple(frame_of(branch, specs_of(branch, kind.places_inputs), specs_of) for branch in branches)
    results = _specs_at(node)
    if any(len(frame.outputs) != len(results) for frame in frames):
        message = "its branches do not return as many tensors as it has"
        raise InputError.single("unknown_control_flow", node.name, message)
    operands = (entry for entry in flattened(node.args[kind.operands]) if hasattr(entry, "meta"))
    return Call(
        index=index,
        branches=frames,
        results=results,
        operands=tuple(spec for operand in operands for spec in _specs_at(cast("Node", operand))),
        is_moved=kind.is_moved,
    )


def flattened(value: object) -> list[object]:
    """The leaves of nested lists and tuples."""
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in flattened(part)]
    return [value]


def _branch(graph_module: GraphModule, node: object) -> GraphModule:
    return cast("GraphModule", getattr(graph_module, str(cast("Node", node).target)))


def _is_branch(graph_module: GraphModule, node: object) -> bool:
    """Whether the argument is a graph of its own. Delegates have none: they are called otherwise."""
    return getattr(node, "op", None) == "get_attr" and hasattr(_branch(graph_module, node), "graph")


def _name_of(target: object) -> str:
    """The name of an operator or a function."""
    return str(getattr(target, "__name__", target))


def _specs_at(node: Node) -> tuple[Spec, ...]:
    """The tensors that a node makes; those of a view are its base's."""
    while _name_of(node.target) == "view" and hasattr(node.args[0], "meta"):
        node = cast("Node", node.args[0])
    return tuple(
        cast("Spec", entry)
        for entry in flattened(node.meta.get("spec"))
        if hasattr(entry, "allocated_memory")
    )


def _names(nodes: Sequence[Node]) -> dict[Spec, str]:
    """A tensor is called as the node that makes it, not as the one that allocates it."""
    names: dict[Spec, str] = {}
    for node in reversed(nodes):
        if node.op != "output" and _name_of(node.target) != "alloc":
            names |= dict.fromkeys(_specs_at(node), node.name)
    return names


@dataclass(slots=True)
class Timeline:
    """The tensors of all frames."""

    memory_of: Callable[[Spec], int | None]
    """The memory that a tensor must be in."""
    lives: dict[Spec, list[Interval]] = field(default_factory=dict)
    names: dict[Spec, str] = field(default_factory=dict)
    _shared: dict[Spec, Spec] = field(default_factory=dict)
    _moved: dict[Spec, list[Spec]] = field(default_factory=dict)

    def place_of(self, spec: Spec) -> Spec:
        """The tensor that stands for all that share its place."""
        while spec in self._shared:
            spec = self._shared[spec]
        return spec

    def add(self, frame: Frame, begin: int, path: str = "") -> int:
        """Lay out the frame from this moment on; returns the end."""
        times = _times(frame, begin)
        for spec in frame.specs:
            if spec in self.lives:
                raise InputError.single("called_twice", path, "two nodes call one graph of control flow")
            first, last = spec.lifetime
            self.lives[spec] = [(times[first], times[last + 1])]
            self.names[spec] = path + frame.names.get(spec, "tensor")
        for number, call in enumerate(frame.calls):
            moment = times[call.index]
            for branch, inner in enumerate(call.branches):
                moment = self.add(inner, moment, f"{path}{number}.{branch}/")
            if call.is_moved:
                self._move(call, frame, times)
        return times[-1]

    def _move(self, call: Call, frame: Frame, times: list[int]) -> None:
        """Hold what the branches return as long as the results are read."""
        after = times[call.index + 1] - 1
        ends = [times[result.lifetime[1] + 1] for result in call.results]
        sharing = self._can_share(call, frame)
        for number, (result, end) in enumerate(zip(call.results, ends, strict=True)):
            if sharing:
                # Before a branch has run there is nothing at the place of the result.
                self.lives[result] = [(after, end)]
            for branch in call.branches:
                returned = branch.outputs[number]
                if returned in self.lives:
                    self._hold(returned, (after, end))
                else:
                    # An input of the branch, or a constant: one of the operands, whichever it is.
                    for operand in call.operands:
                        self._hold(operand, (after, end))
                if sharing:
                    self._shared[returned] = result
                else:
                    self._moved.setdefault(result, []).append(returned)

    def _hold(self, spec: Spec, life: Interval) -> None:
        """Whatever the tensor turns out to be keeps its bytes during that time."""
        if spec in self.lives:
            self.lives[spec].append(life)
        for other in self._moved.get(spec, ()):
            self._hold(other, life)

    def _can_share(self, call: Call, frame: Frame) -> bool:
        """Whether each result is one tensor of each branch, and no tensor is two results."""
        mine = set(frame.specs)
        groups = [(call.results, mine), *((branch.outputs, set(branch.specs)) for branch in call.branches)]
        return all(
            len(set(outputs)) == len(outputs) == len(call.results)
            and all(output in specs and output.storage_base is None for output in outputs)
            for outputs, specs in groups
        ) and all(
            len(
                {
                    self.memory_of(entry)
                    for entry in (result, *(branch.outputs[number] for branch in call.branches))
                }
            )
            == 1
            for number, result in enumerate(call.results)
        )


def _times(frame: Frame, begin: int) -> list[int]:
    """When each node begins, and when the last ends. A node is as long as its branches and one moment."""
    lengths = [1] * frame.length
    for call in frame.calls:
        lengths[call.index] += sum(_length(branch) for branch in call.branches)
    return list(accumulate(lengths, initial=begin))


def _length(frame: Frame) -> int:
    return frame.length + sum(_length(branch) for call in frame.calls for branch in call.branches)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor is."""

    memory: int
    offset: int


@dataclass(frozen=True, slots=True)
class Group:
    """Tensors with one place: a buffer of the problem."""

    name: str
    memory: int | None
    size: int
    alignment: int
    lives: tuple[Interval, ...]
    memories: tuple[int, ...] | None = None
    """Those that it may be in, where it has no memory yet."""
    offset: int | None = None


def root_of(spec: Spec) -> tuple[Spec, int]:
    """The tensor whose bytes it uses, its own as a rule, and where in them it begins."""
    offset, seen = 0, {spec}
    inner = spec
    while spec.storage_base is not None:
        offset += spec.storage_base_offset
        spec = spec.storage_base
        if spec in seen:
            raise InputError.single("circular", "storage_base", "a tensor lies in its own bytes")
        seen.add(spec)
    if offset % inner.alignment or offset < 0 or offset + inner.allocated_memory > spec.allocated_memory:
        message = f"{inner.allocated_memory:,} bytes at {offset:,} of a tensor of {spec.allocated_memory:,}"
        raise InputError.single("outside_of_base", "storage_base", message)
    return spec, offset


def groups_of(timeline: Timeline) -> dict[Spec, Group]:
    """The buffers, by the tensor that stands for each."""
    members: dict[Spec, list[Spec]] = {}
    for spec in timeline.lives:
        base, _ = root_of(spec)
        if base not in timeline.lives:
            raise InputError.single(
                "unknown_base", "storage_base", "a tensor lies in one that is not planned"
            )
        members.setdefault(timeline.place_of(base), []).append(spec)
    return {
        head: Group(
            name=f"{number}:{timeline.names[head]}",
            memory=timeline.memory_of(head),
            size=max(spec.allocated_memory for spec in specs),
            alignment=head.alignment,
            lives=tuple(life for spec in specs for life in timeline.lives[spec]),
        )
        for number, (head, specs) in enumerate(members.items())
    }


def problem_of(groups: Iterable[Group], pools: Mapping[int, Pool], objective: Sequence[str]) -> Problem:
    """The problem of these groups in memories with these numbers."""
    return Problem(
        name="executorch",
        pools=list(pools.values()),
        buffers=[
            Buffer(
                id=group.name,
                size=group.size,
                lifetimes=group.lives,
                alignment=group.alignment,
                pool=None if group.memory is None else pools[group.memory].id,
                pools=_allowed(group, pools),
                offset=group.offset,
            )
            for group in groups
        ],
        objective=list(objective),
    )


def _allowed(group: Group, pools: Mapping[int, Pool]) -> list[str] | None:
    if group.memories is None or group.memory is not None:
        return None
    return [pools[number].id for number in group.memories if number in pools]


def places_of(
    timeline: Timeline, groups: Mapping[Spec, Group], place_of: Mapping[str, Place]
) -> dict[Spec, Place]:
    """The place of each tensor."""
    places: dict[Spec, Place] = {}
    for spec in timeline.lives:
        base, offset = root_of(spec)
        place = place_of[groups[timeline.place_of(base)].name]
        places[spec] = Place(place.memory, place.offset + offset)
    return places


def objects_of(places: Mapping[Spec, Place]) -> dict[Spec, int]:
    """Numbers that are equal for any two tensors of a memory that share a byte."""
    objects: dict[Spec, int] = {}
    number, memory, end = -1, 0, 0
    for spec, place in sorted(places.items(), key=lambda entry: (entry[1].memory, entry[1].offset)):
        if place.memory != memory or place.offset >= end:
            number, memory, end = number + 1, place.memory, place.offset
        end = max(end, place.offset + spec.allocated_memory)
        objects[spec] = number
    return objects
