"""Programs of PyTorch as graphs: what `torch.export`, `make_fx` or AOTAutograd have traced.

A storage that the program makes is a tensor of the graph, and a node that makes, changes or looks into one is
an operator. A node that only views bytes is none: who reads the view reads the storage. Nothing is run: sizes
and views are those of the fake tensors that tracing has left at each node, and what a node may overwrite is
in the schema of its operator.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from io import BytesIO
from operator import getitem
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypedDict, TypeVar

from memstow.planner.formats.format import GraphFormat
from memstow.planner.graph.check import require_valid
from memstow.planner.graph.symbolic_graph import checked_graph
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Tensor, TensorKind
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable, shown
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import Point, Symbol, SymbolicGraph, SymbolicOperator, SymbolicTensor

if TYPE_CHECKING:
    import sympy
    import torch
    from torch.export import ExportedProgram
    from torch.fx import GraphModule, Node

NAME: Final = "pt2"
_Name = TypeVar("_Name")
_LARGEST: Final = tuple(1 << power for power in range(30, 3, -2))
"""Where a dimension that has no largest value ends: the first where all tensors need no more than..."""
_MOST_BYTES: Final = 1 << 52
"""...this, which is more than any machine has."""
_SCALES: Final = ((1, 1), (1, 4), (4, 1), (16, 1))
"""Of the values with which a program was traced: where a plan for open sizes has to be good."""
# Namespaces of operators that keep their order: each run of one meets other machines.
_COLLECTIVES: Final = ("_c10d_functional", "c10d", "c10d_functional", "symm_mem")
# What formulas write between the arguments of functions of PyTorch.
_BETWEEN: Final = {
    "Add": " + ",
    "Mul": "*",
    "FloorDiv": " // ",
    "CleanDiv": " // ",
    "Mod": " % ",
    "PythonMod": " % ",
}
# They put other memory under a tensor that is there.
_OTHER_MEMORY: Final = ("set_", "resize_", "resize_as_", "resize_storage_bytes_")
# Operators with running statistics that they read alone.
_STATISTICS_KEPT: Final = ("functional", "no_update", "no_training", "no_stats", "inference", "backward")
# They look at the shape of a tensor alone, and not at what it holds.
_OF_SHAPES: Final = ("sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "sym_is_contiguous")


def graph_of(
    program: "ExportedProgram | GraphModule",
    *,
    in_place: bool = False,
    plan_inputs: bool | Collection[str] = False,
    dims: Mapping[str, int] | None = None,
    alignment: int = 64,
) -> Graph:
    """The graph of a traced program, with its nodes in the order in which they are listed.

    Parameters and buffers are constants, and inputs lie elsewhere: whoever calls the program holds them.
    `plan_inputs` names inputs, or says that all are part of what is planned, and free after their last use.
    `in_place`: operators that work element by element may overwrite an input. `dims`: values of sizes that
    the program leaves open, by their names or as INPUT:AXIS. `alignment`: storages begin at multiples of it.
    """
    sizes = _sizes_of(program, plan_inputs, dims, alignment)
    left = sizes.left_open()
    if left:
        least, most = sizes.open[left[0]]
        message = (
            f"sizes depend on {', '.join(map(sizes.named, left))}: give values, as in --dim "
            f"{left[0]}={least if most is None else most} or dims={{{left[0]!r}: ...}}, or plan for every "
            "value with memstow.torch.symbolic_graph_of"
        )
        raise InputError.single("open_dimensions", "$", message)
    graph = Graph(
        **sizes.outside(),
        tensors=[
            Tensor(**sizes.placing(entry), size=sizes.number(entry.size), name=entry.name)
            for entry in sizes.reader.storages
        ],
        operators=[
            Operator(**sizes.uses(step, in_place), cost=sizes.cost(step)) for step in sizes.reader.steps
        ],
        before=list(sizes.reader.before),
    )
    require_valid(graph)
    return graph


def symbolic_graph_of(
    program: "ExportedProgram | GraphModule",
    *,
    in_place: bool = False,
    plan_inputs: bool | Collection[str] = False,
    dims: Mapping[str, int] | None = None,
    alignment: int = 64,
) -> SymbolicGraph:
    """The same of a program whose sizes are open: they are formulas of its dimensions, which have ranges.

    A dimension without a largest value ends at a power of two at which no machine has the memory, or before.
    Then the plan has to be good near the values with which the program was traced.
    """
    sizes = _sizes_of(program, plan_inputs, dims, alignment)
    names = sizes.left_open()
    if not names:
        message = "no size of the program is open: memstow.torch.graph_of makes a graph with numbers"
        raise InputError.single("no_open_dimensions", "$", message)
    graph = SymbolicGraph(
        **sizes.outside(),
        symbols=[sizes.symbol(name, _LARGEST[0]) for name in names],
        tensors=[
            SymbolicTensor(**sizes.placing(entry), size=sizes.formula(entry))
            for entry in sizes.reader.storages
        ],
        operators=[SymbolicOperator(**sizes.uses(step, in_place)) for step in sizes.reader.steps],
    )
    checked = checked_graph(graph)
    if any(sizes.open[name][1] is None for name in names):
        for largest in _LARGEST[1:]:
            if (
                not checked.issues
                and sum(entry.size or 0 for entry in checked.largest.tensors) <= _MOST_BYTES
            ):
                break
            graph = replace(graph, symbols=tuple(sizes.symbol(name, largest) for name in names))
            checked = checked_graph(graph)
        ranges = {symbol.id: (symbol.min, symbol.max) for symbol in graph.symbols}
        near = points_near({name: sizes.traced[name] for name in names}, ranges)
        graph = replace(graph, points=tuple(Point(at=at) for at in near))
    if checked.issues:
        raise InputError(checked.issues)
    return graph


def points_near(
    values: Mapping[_Name, int], ranges: Mapping[_Name, tuple[int, int | None]]
) -> list[dict[_Name, int]]:
    """These values of open sizes, and smaller and larger ones, as far as their ranges go."""
    points: list[dict[_Name, int]] = []
    for times, part in _SCALES:
        at = {}
        for name, value in values.items():
            least, most = ranges[name]
            scaled = max(value * times // part, least)
            at[name] = scaled if most is None else min(scaled, most)
        if at not in points:
            points.append(at)
    return points


def _sizes_of(
    program: "ExportedProgram | GraphModule",
    plan_inputs: bool | Collection[str],
    dims: Mapping[str, int] | None,
    alignment: int,
) -> "_Sizes":
    if type(alignment) is not int or not 1 <= alignment <= LIMIT:
        message = f"{alignment!r} is no alignment; it is a number of bytes, from 1 on"
        raise InputError.single("out_of_range", "alignment", message)
    from torch.fx import GraphModule

    signature = getattr(program, "graph_signature", None)
    module: GraphModule = program.graph_module if signature is not None else program
    if not isinstance(module, GraphModule):
        kind = type(program).__name__
        raise TypeError(
            f"graph_of takes what torch.export.export, make_fx or AOTAutograd make, not {kind}: "
            "memstow.torch.graph_of(torch.export.export(model, inputs))"
        )
    if not isinstance(plan_inputs, bool) and any(not isinstance(name, str) for name in plan_inputs):
        raise TypeError("plan_inputs is True, False or names of inputs")
    for name, value in (dims or {}).items():
        if not isinstance(name, str) or type(value) is not int:
            raise TypeError(f"dims has integers by names, not {value!r} by {name!r}")
    reader = _Reader(module, {} if signature is None else _kinds_of_inputs(signature), plan_inputs)
    return _Sizes(reader, dict(dims or {}), getattr(program, "range_constraints", {}), alignment)


def reordered(module: "GraphModule", plan: Plan) -> "GraphModule":
    """The module with its operators in the order of a plan of its graph; both have the same weights."""
    from torch.fx import Graph as FxGraph
    from torch.fx import GraphModule

    if not isinstance(module, GraphModule) or not isinstance(plan, Plan):
        kinds = f"{type(module).__name__} and {type(plan).__name__}"
        raise TypeError(f"reordered takes a module that was traced and a plan of its graph, not {kinds}")
    if plan.schedule is None:
        message = "the plan has no order: it is no plan of a graph"
        raise InputError.single("no_schedule", "$.schedule", message)
    by_name = {node.name: node for node in module.graph.nodes}
    steps = {*plan.schedule.order}
    others = steps.symmetric_difference(step.node.name for step in _Reader(module, {}, False).steps)
    if others or len(steps) != len(plan.schedule.order):
        message = "the plan is of another program, or runs operators again: " + _listed(sorted(others)[:3])
        raise InputError.single("unknown_operator", "$.schedule.order", message)
    ordered: dict[Node, None] = dict.fromkeys(node for node in by_name.values() if node.op == "placeholder")

    def add(node: "Node") -> None:
        """The node, and the views of what it makes: a tuple holds its parts until it is taken apart."""
        ready = [node]
        while ready:
            latest = ready.pop()
            ordered.setdefault(latest)
            ready += [
                user
                for user in latest.users
                if user.name not in steps
                and user not in ordered
                and user.op == "call_function"
                and all(source in ordered for source in user.all_input_nodes)
            ]

    for node in by_name.values():
        if node.op == "get_attr" or node in ordered:
            add(node)
    for name in plan.schedule.order:
        add(by_name[name])
    graph = FxGraph()
    # How the inputs of the function are made of what a caller gives.
    graph.set_codegen(deepcopy(module.graph._codegen))
    copies: dict[Node, Node] = {}
    for node in (*ordered, *(node for node in by_name.values() if node not in ordered)):
        copies[node] = graph.node_copy(node, copies.__getitem__)
    return GraphModule(module, graph)


def _kinds_of_inputs(signature: Any) -> dict[str, TensorKind]:
    """The kind of each input that is no input of the user."""
    return {
        entry.arg.name: "constant"
        for entry in signature.input_specs
        if entry.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
    }


@dataclass(slots=True)
class _Storage:
    """Bytes that one node makes, or that are there before."""

    id: str
    size: "int | torch.SymInt"
    kind: TensorKind
    is_input: bool
    name: str | None = None
    """What the program calls the module that makes it."""
    writer: str | None = None
    """The operator that changed it last."""
    readers: list[str] = field(default_factory=list)
    """Operators that read it since then."""


@dataclass(slots=True)
class _Step:
    """A node that is an operator."""

    node: "Node"
    reads: tuple[_Storage, ...]
    makes: tuple[_Storage, ...]


class _Reader:
    """Nodes, one after the other, as storages and what works on them."""

    def __init__(
        self, module: "GraphModule", kinds: Mapping[str, TensorKind], plan_inputs: bool | Collection[str]
    ) -> None:
        self.module = module
        self.storages: list[_Storage] = []
        self.steps: list[_Step] = []
        self.outputs: list[_Storage] = []
        self.before: dict[tuple[str, str], None] = {}
        self._kinds = kinds
        self._plan_inputs = plan_inputs
        self._by_key: dict[int, _Storage] = {}
        self._of_node: dict[str, tuple[_Storage, ...]] = {}
        self._numbers_from: dict[str, frozenset[str]] = {}
        """By node: the operators that its numbers, which are no tensors, come from."""
        self._latest: dict[str, str] = {}
        """The latest operator of those that keep their order, by why they do."""
        if not isinstance(plan_inputs, bool):
            inputs = {node.name for node in module.graph.nodes if node.op == "placeholder"} - kinds.keys()
            for name in sorted(set(plan_inputs) - inputs):
                _refuse(
                    "unknown_input", name, f"there is no input {shown(name)}; there are: {_listed(inputs)}"
                )
        self._calls = {node: _Call(node) for node in module.graph.nodes if node.op == "call_function"}
        self.value_of = _values(module, self._calls)
        for node in module.graph.nodes:
            self._read(node)

    def _read(self, node: "Node") -> None:
        """One node, after all that it reads."""
        match node.op:
            case "placeholder":
                self._add_input(node)
            case "get_attr":
                self._add_attribute(node)
            case "call_function":
                self._add_call(node)
            case "output":
                of_all = (self._of_node[source.name] for source in node.all_input_nodes)
                self.outputs = list({id(entry): entry for each in of_all for entry in each}.values())
            case _:
                _refuse(
                    "not_traced",
                    node.name,
                    f"the node calls {shown(str(node.target))} of the model itself; trace the program to "
                    "operators first, by torch.export.export or make_fx",
                )

    def _add_input(self, node: "Node") -> None:
        kind = self._kinds.get(node.name)
        planned = self._plan_inputs if isinstance(self._plan_inputs, bool) else node.name in self._plan_inputs
        if kind is None:
            kind = "data" if planned else "external"
        self._of_node[node.name] = tuple(
            self._storage(node, place, tensor, kind, is_input=True)
            for place, tensor in enumerate(_tensors(self.value_of[node]))
        )

    def _add_attribute(self, node: "Node") -> None:
        value: Any = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        tensors = _tensors(self.value_of.get(node, value))
        self._of_node[node.name] = tuple(
            self._storage(node, place, tensor, "constant", is_input=False)
            for place, tensor in enumerate(tensors)
        )

    def _storage(
        self, node: "Node", place: int, tensor: "torch.Tensor", kind: TensorKind, *, is_input: bool
    ) -> _Storage:
        """The storage of a tensor: a new one, where none of the nodes before has it."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        known = self._by_key.get(key)
        if known is None:
            known = _Storage(
                node.name if place == 0 else f"{node.name}.{place}",
                storage.nbytes(),
                kind,
                is_input,
                _module_of(node),
            )
            self._by_key[key] = known
            self.storages.append(known)
        return known

    def _add_call(self, node: "Node") -> None:
        read = {id(entry): entry for source in node.all_input_nodes for entry in self._of_node[source.name]}
        numbers: frozenset[str] = frozenset().union(
            *(self._numbers_from.get(source.name, ()) for source in node.all_input_nodes)
        )
        calls = self._calls[node]
        if calls.is_of_shapes:
            self._of_node[node.name], self._numbers_from[node.name] = (), numbers
            return
        count = len(self.storages)
        tensors = _tensors(self.value_of[node])
        entries = tuple(
            self._storage(node, place, tensor, "data", is_input=False) for place, tensor in enumerate(tensors)
        )
        self._of_node[node.name] = tuple({id(entry): entry for entry in entries}.values())
        new_storages = tuple(self.storages[count:])
        written = self._of_arguments(calls.written)
        if not new_storages and not written and (tensors or not read):
            self._numbers_from[node.name] = numbers
            return
        self.steps.append(_Step(node, tuple(read.values()), new_storages))
        self._numbers_from[node.name] = numbers if tensors else frozenset({node.name})
        self._keep_order(node.name, read.values(), written, numbers, calls)

    def _of_arguments(self, nodes: Iterable["Node"]) -> list[_Storage]:
        return [entry for node in nodes for entry in self._of_node[node.name]]

    def _keep_order(
        self,
        name: str,
        read: Iterable[_Storage],
        written: Collection[_Storage],
        numbers: Iterable[str],
        calls: "_Call",
    ) -> None:
        """Note what must run before the operator for a reason that the data does not show."""
        first = [*numbers]
        for entry in read:
            if entry.writer is not None:
                first.append(entry.writer)
            entry.readers.append(name)
        for entry in written:
            first += entry.readers
            entry.writer, entry.readers = name, []
            if entry.kind == "constant":
                entry.kind = "external"
        for reason in calls.keeps_order:
            if reason in self._latest:
                first.append(self._latest[reason])
            self._latest[reason] = name
        self.before |= dict.fromkeys((other, name) for other in first if other != name)


class _Call:
    """What the schema of the operator that a node calls says of it."""

    def __init__(self, node: "Node") -> None:
        self._node = node
        target: Any = node.target
        schema = getattr(target, "_schema", None)
        name = getattr(target, "__name__", str(target))
        self.is_of_shapes = str(name).split(".")[0] in _OF_SHAPES
        self.viewed: list[Node] = []
        """The arguments whose bytes the result may be."""
        self.written: list[Node] = []
        """The arguments whose bytes change."""
        self.is_view = False
        """Whether the result has the bytes of these arguments for sure, whatever their strides are."""
        self.keeps_order: list[str] = []
        if schema is None:
            self._without_schema(node, target)
            return
        if schema.name.split("::")[-1] in _OTHER_MEMORY:
            message = f"{printable(schema.name, 64)} gives a tensor other memory, which a graph cannot say"
            _refuse("other_memory", node.name, message)
        results = {sign for entry in schema.returns for sign in _signs(entry)}
        arguments = {
            argument.name: node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)
            for place, argument in enumerate(schema.arguments)
        }
        self.written += (
            node for value in changed_statistics(schema.name, arguments) for node in _nodes_in(value)
        )
        for argument in schema.arguments:
            value = arguments[argument.name]
            info = argument.alias_info
            if info is None or value is None:
                continue
            nodes = _nodes_in(value)
            if info.is_write:
                self.written += nodes
            if results & _signs(argument):
                self.viewed += nodes
        self.is_view = bool(self.viewed) and not _is_composite(target)
        tags = {tag.name for tag in getattr(target, "tags", ())}
        if "nondeterministic_seeded" in tags:
            self.keeps_order.append("random")
        if schema.name.split("::")[0] in _COLLECTIVES:
            self.keeps_order.append("collective")

    def shares(self, values: "Mapping[Node, object]") -> bool:
        """Whether the values know that the result has the bytes of the arguments."""
        if not self.is_view:
            return True
        arguments = {key for node in self.viewed for key in _keys(values.get(node))}
        return self._node not in values or arguments.issuperset(_keys(values[self._node]))

    def _without_schema(self, node: "Node", target: Any) -> None:
        """Functions of Python on numbers and tuples; or operators that run a graph of their own."""
        from torch._ops import HigherOrderOperator

        if target is getitem:
            self.viewed, self.is_view = list(node.all_input_nodes), True
        if not isinstance(target, HigherOrderOperator):
            return
        for source in node.all_input_nodes:
            if source.op == "get_attr" and not _tensors(source.meta.get("val")):
                _refuse(
                    "subgraph",
                    node.name,
                    f"{printable(str(target), 64)} runs a graph of its own, which is not read; trace the "
                    "program without it: export it under the same torch.no_grad(), or with one branch alone",
                )
        # What else the compiler brings may write to what it gets: then no order is changed that could matter.
        self.written += node.all_input_nodes


def changed_statistics(name: str, arguments: Mapping[str, Any]) -> list[Any]:
    """The running statistics that a normalisation changes, of which its schema says nothing."""
    if any(word in name for word in _STATISTICS_KEPT):
        return []
    if any(arguments.get(flag) is False for flag in ("training", "train", "use_input_stats")):
        return []
    values = (arguments.get(statistic) for statistic in ("running_mean", "running_var"))
    return [value for value in values if value is not None]


def _signs(entry: Any) -> frozenset[str]:
    """The signs of a schema for bytes that an argument or a result shares with others."""
    info = entry.alias_info
    if info is None:
        return frozenset()
    # What is in a list has the sign of all bytes.
    return frozenset(info.before_set | info.after_set) or frozenset("*")


def _is_composite(target: Any) -> bool:
    """Whether it is made of other operators: `reshape` is a view of some tensors and a copy of others."""
    import torch

    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd"))


def _nodes_in(value: object) -> "list[Node]":
    from torch.fx import Node

    if isinstance(value, Node):
        return [value]
    return [node for entry in value for node in _nodes_in(entry)] if isinstance(value, list | tuple) else []


def _tensors(value: object) -> "list[torch.Tensor]":
    import torch
    from torch.utils._pytree import tree_leaves

    return [
        leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor) and torch._C._has_storage(leaf)
    ]


def _keys(value: object) -> set[int]:
    """What tells the storages of a value apart."""
    return {tensor.untyped_storage()._cdata for tensor in _tensors(value)}


def _values(module: "GraphModule", calls: "Mapping[Node, _Call]") -> "dict[Node, object]":
    """What each node makes, as fake tensors of which views share a storage."""
    values: dict[Node, object] = {node: node.meta["val"] for node in module.graph.nodes if "val" in node.meta}
    for node in module.graph.nodes:
        if node.op == "placeholder" and node not in values:
            _refuse(
                "no_sizes",
                node.name,
                "tracing has left no fake tensor at this input, so there are no sizes: trace the program by "
                'torch.export.export, or by make_fx with tracing_mode="fake"',
            )
    if all(node in values and call.shares(values) for node, call in calls.items()):
        return values
    return _propagated(module, values)


def _propagated(module: "GraphModule", values: "Mapping[Node, object]") -> "dict[Node, object]":
    """The same, of a program that was traced with real tensors: there each value has a storage of its own."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx import Interpreter
    from torch.utils._pytree import tree_map_only

    results: dict[Node, object] = {}

    class Recording(Interpreter):  # type: ignore[misc]
        def run_node(self, n: "Node") -> object:
            results[n] = result = super().run_node(n)
            return result

    def fresh(tensor: "torch.Tensor") -> "torch.Tensor":
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)

    inputs = [values[node] for node in module.graph.nodes if node.op == "placeholder"]
    with FakeTensorMode(allow_non_fake_inputs=True):
        Recording(module).run(*tree_map_only(torch.Tensor, fresh, inputs))
    return results


def _module_of(node: "Node") -> str | None:
    """The path of the innermost module that the node comes from."""
    stack = node.meta.get("nn_module_stack")
    path = str(list(stack.values())[-1][0]) if stack else ""
    return path.removeprefix("L['self'].")[:1024] or None


def _refuse(code: str, node: str, message: str) -> NoReturn:
    raise InputError.single(code, f"$.{printable(node, 64)}", message)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(printable(name, 64) for name in sorted(names)) or "none"


class _Outside(TypedDict):
    name: str
    inputs: list[str]
    outputs: list[str]


class _Placing(TypedDict):
    id: str
    kind: TensorKind
    alignment: int


class _Uses(TypedDict):
    id: str
    type: str
    inputs: list[str]
    outputs: list[str]
    in_place: list[tuple[str, str]]


class _Sizes:
    """Storages and operators with sizes: as numbers, or as formulas of the dimensions that are left open."""

    def __init__(
        self,
        reader: _Reader,
        dims: dict[str, int],
        ranges: "Mapping[sympy.Symbol, Any]",
        alignment: int,
    ) -> None:
        self.reader = reader
        self._alignment = alignment
        self._ranges = ranges
        """What a program of `torch.export` says of its dimensions; what tracing knew of them is wider."""
        self.open: dict[str, tuple[int, int | None]] = {}
        """The least and the largest value of each dimension that the sizes depend on."""
        self.traced: dict[str, int] = {}
        """The value that each of them had when the program was traced; the least where that is not known."""
        self._axes: dict[str, str] = {}
        """By dimension: the axis of an input that is as long, as INPUT:AXIS."""
        self._find_open()
        self._values = self._resolved(dims)

    def _find_open(self) -> None:
        for node in self.reader.module.graph.nodes:
            if node.op != "placeholder":
                continue
            for tensor in _tensors(self.reader.value_of[node]):
                for axis, extent in enumerate(tensor.shape):
                    if not isinstance(extent, int):
                        self._axes.setdefault(str(extent.node.expr), f"{node.name}:{axis}")
                        if extent.node.hint is not None:
                            self.traced[str(extent.node.expr)] = int(extent.node.hint)
        for storage in self.reader.storages:
            if isinstance(storage.size, int):
                continue
            known = storage.size.node
            for symbol in sorted(known.expr.free_symbols, key=str):
                bounds = self._ranges.get(symbol) or known.shape_env.bound_sympy(symbol)
                upper = bounds.upper
                largest = int(upper) if upper.is_Integer and upper <= LIMIT else None
                least = max(int(bounds.lower), 0)
                self.open[str(symbol)] = least, largest
                self.traced.setdefault(str(symbol), max(least, 1))

    def _resolved(self, dims: dict[str, int]) -> dict[str, int]:
        """The values by the names that the formulas have."""
        by_axis = {axis: name for name, axis in self._axes.items()}
        values = {by_axis.get(name, name): value for name, value in dims.items()}
        for name, value in values.items():
            if name not in self.open:
                known = _listed([*self.open, *(axis for axis, own in by_axis.items() if own in self.open)])
                _refuse("unknown_dimension", name, f"no size depends on {shown(name)}; there are: {known}")
            least, most = self.open[name]
            if value < least or (most is not None and value > most):
                message = f"{value:,} is no value of {shown(name)}, which is {_range(least, most)}"
                _refuse("value_out_of_range", name, message)
        return values

    def left_open(self) -> list[str]:
        """The dimensions without a value."""
        return sorted(self.open.keys() - self._values.keys())

    def outside(self) -> _Outside:
        """The name of the program, its inputs and its outputs, as far as they are planned."""
        planned = {entry.id for entry in self.reader.storages if entry.kind == "data"}
        return {
            "name": type(self.reader.module).__name__,
            "inputs": [entry.id for entry in self.reader.storages if entry.is_input and entry.id in planned],
            "outputs": [entry.id for entry in self.reader.outputs if entry.id in planned],
        }

    def placing(self, storage: _Storage) -> _Placing:
        """The fields of a tensor, but for its size."""
        aligned = self._alignment if storage.kind == "data" else 1
        return {"id": storage.id, "kind": storage.kind, "alignment": aligned}

    def uses(self, step: _Step, in_place: bool) -> _Uses:
        """The fields of an operator, but for its cost."""
        return {
            "id": step.node.name,
            "type": str(step.node.target)[:1024],
            "inputs": [entry.id for entry in step.reads],
            "outputs": [entry.id for entry in step.makes],
            "in_place": list(_pairs_in_place(step, self.reader.value_of)) if in_place else [],
        }

    def symbol(self, name: str, largest: int) -> Symbol:
        """The symbol of a dimension, which ends here if it has no largest value."""
        least, most = self.open[name]
        return Symbol(id=name, min=least, max=max(least, largest) if most is None else most)

    def named(self, name: str) -> str:
        """A dimension, with an axis that is as long."""
        if name not in self._axes:
            return name
        source, _, axis = self._axes[name].rpartition(":")
        return f"{name} (axis {axis} of {printable(source, 64)})"

    def number(self, size: "int | torch.SymInt") -> int:
        """The bytes of a storage, where every dimension has a value."""
        if isinstance(size, int):
            return size
        expression = size.node.expr
        return int(expression.subs({symbol: self._values[str(symbol)] for symbol in expression.free_symbols}))

    def formula(self, storage: _Storage) -> int | str:
        """The bytes of a storage as a formula of the dimensions without a value."""
        if isinstance(storage.size, int):
            return storage.size
        expression = storage.size.node.expr
        known = {
            symbol: self._values[str(symbol)]
            for symbol in expression.free_symbols
            if str(symbol) in self._values
        }
        try:
            return formula_of(expression.subs(known))
        except NotImplementedError as error:
            _refuse(
                "no_formula",
                storage.id,
                f"its size is {printable(str(expression), 200)}, and formulas have no {error}; give a value "
                f"to {_listed(map(str, expression.free_symbols))} by dims",
            )

    def cost(self, step: _Step) -> int | None:
        """What it costs to run, where that does not depend on a size that is open."""
        from torch.fx.node import map_arg

        target: Any = step.node.target
        if self.open or not hasattr(target, "_schema"):
            return None
        arguments, named = map_arg((step.node.args, step.node.kwargs), self.reader.value_of.get)
        return cost_of(target, arguments, named, self.reader.value_of[step.node])


def cost_of(target: Any, arguments: Sequence[Any], named: Mapping[str, Any], result: object) -> int:
    """Floating point operations where PyTorch counts them, else the elements of what is made."""
    from torch.utils.flop_counter import FlopCounterMode, flop_registry

    count = flop_registry.get(target._overloadpacket)
    flops = 0
    if count is not None:
        flops = int(count(*arguments, **named, out_val=result))
    elif _is_composite(target):
        # Made of operators that are counted, such as a convolution; they run on fake tensors.
        with FlopCounterMode(display=False) as counter:
            target(*arguments, **named)
        flops = counter.get_total_flops()
    return flops or sum(tensor.numel() for tensor in _tensors(result))


def _range(least: int, most: int | None) -> str:
    return f"at least {least:,}" if most is None else f"{least:,} to {most:,}"


def _pairs_in_place(step: _Step, value_of: "Mapping[Node, object]") -> Iterator[tuple[str, str]]:
    """What an operator that works element by element makes, with the inputs that it may overwrite."""
    tags = {tag.name for tag in getattr(step.node.target, "tags", ())}
    if "pointwise" not in tags or len(step.makes) != 1:
        return
    (output,) = step.makes
    (result,) = _tensors(value_of[step.node])
    for source in step.node.all_input_nodes:
        for tensor in _tensors(value_of.get(source)):
            same = tensor.stride() == result.stride() and tensor.shape == result.shape
            for entry in step.reads:
                # The tensor is the whole of the storage: nothing else of it is lost.
                whole = entry.kind == "data" and entry.size == output.size and entry.id == source.name
                if same and whole and tensor.element_size() == result.element_size():
                    yield entry.id, output.id


def formula_of(expression: "sympy.Expr") -> str:
    """The formula of an expression of PyTorch; NotImplementedError names a function that formulas lack."""
    if expression.is_Integer:
        return str(int(expression))
    if expression.is_Symbol:
        return str(expression)
    kind = type(expression).__name__
    parts = [formula_of(part) for part in expression.args]
    if kind in ("Max", "Min"):
        return f"{kind.lower()}({', '.join(parts)})"
    parts = [
        text if part.is_Symbol or (part.is_Integer and part >= 0) else f"({text})"
        for part, text in zip(expression.args, parts, strict=True)
    ]
    if kind == "Pow" and expression.args[1].is_Integer and 0 < int(expression.args[1]) <= 8:
        return "*".join([parts[0]] * int(expression.args[1]))
    if kind in _BETWEEN:
        return _BETWEEN[kind].join(parts)
    if kind == "ModularIndexing":
        return f"{parts[0]} // {parts[1]} % {parts[2]}"
    raise NotImplementedError(kind)


def _read_model(data: bytes, in_place: bool, dims: Mapping[str, int]) -> Graph:
    """The graph of a program that `torch.export.save` has written."""
    try:
        from torch.export import load
    except ModuleNotFoundError as error:
        message = (
            "reading programs of PyTorch needs an extra that is not installed: pip install 'memstow[torch]'"
        )
        raise InputError.single("missing_extra", error.name or "torch", message) from None
    try:
        program = load(BytesIO(data))
    except Exception as error:
        # PyTorch has no error of its own for what it cannot load.
        message = f"PyTorch cannot load the program: {printable(str(error), 200)}"
        raise InputError.single("damaged", "$", message) from None
    return graph_of(program, in_place=in_place, dims=dims)


FORMAT: Final = GraphFormat(
    name=NAME,
    is_json=False,
    read_graph=lambda data: _read_model(data, in_place=False, dims={}),
    read_model=_read_model,
)
