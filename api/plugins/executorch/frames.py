"""A graph of ExecuTorch as frames: its tensors, and the frames of the branches that its nodes call."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from memstow.api.plugins.executorch.interface import GraphModule, Node, Spec
from memstow.planner.model.errors import InputError

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
        branches = [it for it in flattened(node.args) if _is_branch(graph_module, it)]
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
    if kind is None or not all(_is_branch(graph_module, it) for it in called):
        message = f"it is not known how {_name_of(node.target)} runs its branches"
        raise InputError.single("unknown_control_flow", node.name, message)
    branches = [_branch(graph_module, it) for it in called]
    frames = tuple(frame_of(it, specs_of(it, kind.places_inputs), specs_of) for it in branches)
    results = _specs_at(node)
    if any(len(frame.outputs) != len(results) for frame in frames):
        message = "its branches do not return as many tensors as it has"
        raise InputError.single("unknown_control_flow", node.name, message)
    operands = (it for it in flattened(node.args[kind.operands]) if hasattr(it, "meta"))
    return Call(
        index=index,
        branches=frames,
        results=results,
        operands=tuple(spec for it in operands for spec in _specs_at(cast("Node", it))),
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
        cast("Spec", it) for it in flattened(node.meta.get("spec")) if hasattr(it, "allocated_memory")
    )


def _names(nodes: Sequence[Node]) -> dict[Spec, str]:
    """A tensor is called as the node that makes it, not as the one that allocates it."""
    names: dict[Spec, str] = {}
    for node in reversed(nodes):
        if node.op != "output" and _name_of(node.target) != "alloc":
            names |= dict.fromkeys(_specs_at(node), node.name)
    return names
