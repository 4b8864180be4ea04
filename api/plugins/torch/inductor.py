"""`torch.compile` with a plan: kernels in the order that needs the least, their buffers in one arena.

Inductor calls a pass of its users after it has fused operators to kernels: that is where the order is chosen,
by the sizes and the uses that Inductor itself has counted. Then it writes a program that allocates and frees;
there the buffers that do not leave the program get their places in one arena. Where sizes are open, the
program computes these places each time it runs, by an order that holds at all sizes. Both are parts of
Inductor that may change from version to version. Whatever is not as expected there, or cannot be planned,
stays as Inductor has it, with a warning that says why.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from hashlib import sha256
from itertools import accumulate, chain
from typing import Any, Final, TypeAlias, TypeVar

import sympy
from torch._inductor import config, memory
from torch._inductor.codegen.memory_planning import (
    Allocation,
    AllocationPool,
    AllocationTreeNode,
    BufferGroup,
    LiveRange,
    LiveRanges,
    MemoryPlanner,
    PoolMemoryPlanningLine,
)
from torch._inductor.codegen.wrapper import (
    AllocateLine,
    EnterSubgraphLine,
    ExternKernelAllocLine,
    FreeIfNotReusedLine,
    FreeLine,
    MultiOutputLine,
    ReuseLine,
    pexpr,
)
from torch._inductor.custom_graph_pass import CustomSchedulerPass
from torch._inductor.ir import TensorBox
from torch._inductor.virtualized import V
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._ordered_set import OrderedSet

import memstow
from memstow.api.plugins.torch.budget import LIMIT, require_budget
from memstow.planner.formats.torch_program import formula_of, points_near
from memstow.planner.graph.check import require_valid
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.model.symbolic import Point, Symbol, SymbolicBuffer, SymbolicProblem
from memstow.planner.solve.free_orders import outlook
from memstow.solvers.core import Budget

_T = TypeVar("_T")
_Values: TypeAlias = dict[Any, int]
"""Of sizes that are open, by their symbols."""
DEFAULT_WORK: Final = 3_000_000
_ALIGNMENT: Final = 64
_LEAST_GAIN: Final = 0.01
"""Of an order: Inductor's estimate knows nothing of what its kernels allocate, which differs by as much."""
_FEWEST: Final = 2
"""Buffers in an arena."""
_ROUNDS: Final = 16
"""At most; in each, one buffer or more is left out of the arena."""
_TRIED: Final = 6
"""Buffers that are tried in each round, as the one to leave out."""


def inductor(
    *,
    order: bool = True,
    arena: bool = True,
    memory_budget: float | None = None,
    work_limit: int = DEFAULT_WORK,
) -> dict[str, object]:
    """The options of `torch.compile(model, options=memstow.torch.inductor())`.

    `order`: kernels run in the order with the least live bytes that the search finds. `arena`: buffers that
    do not leave the program get offsets in one arena, as many of them as need no more with it.
    `memory_budget`: what a training step may need at most, in bytes, or as a share of what it needs with
    PyTorch's own choice of what is kept for the backward pass. `work_limit`: work of each search; all of
    them are deterministic.
    """
    if type(work_limit) is not int or work_limit < 0:
        raise ValueError(f"work_limit is a number of steps from 0 on, not {work_limit!r}")
    options: dict[str, object] = {
        "_post_fusion_custom_pass": InductorPass(order=order, arena=arena, work_limit=work_limit)
    }
    if memory_budget is not None:
        options |= _partitioned(memory_budget, work_limit)
    return options


def _partitioned(budget: float, work_limit: int) -> dict[str, object]:
    """The option that keeps a training step within a budget."""
    require_budget(budget)
    try:
        from memstow.api.plugins.torch.partitioner import Partitioner
    except ImportError as error:
        message = f"memstow: no memory_budget is kept, since ImportError: {error}"
        warnings.warn(message, RuntimeWarning, 3)
        return {}
    return {"custom_partitioner_fn": Partitioner(budget=budget, work_limit=work_limit)}


class InductorPass(CustomSchedulerPass):  # type: ignore[misc]
    """Called by Inductor with the kernels of a program."""

    def __init__(self, *, order: bool, arena: bool, work_limit: int) -> None:
        self._order = order
        self._arena = arena
        self._work_limit = work_limit

    def uuid(self) -> str:
        """What tells programs that were compiled with other plans apart in Inductor's caches."""
        parts = memstow.__version__, self._order, self._arena, self._work_limit
        return sha256(repr(parts).encode()).hexdigest()

    def __call__(self, nodes: list[Any]) -> list[Any]:
        """The nodes in the order in which they are to run."""
        options = Options(deterministic=True, work_limit=self._work_limit) if self._arena else None
        _plan_memory(V.graph.wrapper_code, options)
        return _with_fallback(lambda: _ordered(nodes, self._work_limit), nodes) if self._order else nodes


def _with_fallback(plan: Callable[[], _T], otherwise: _T) -> _T:
    """What Inductor has itself, with a warning, where the plan cannot be made."""
    try:
        return plan()
    except Exception as error:
        # Any change in Inductor may show here, and the program is right without a plan.
        warnings.warn(
            f"memstow: Inductor's own plan is used, since {type(error).__name__}: {error}", RuntimeWarning, 4
        )
        return otherwise


# Order


def _ordered(nodes: list[Any], work_limit: int) -> list[Any]:
    """The nodes in the order with the least live bytes, if it is better than the one they have."""
    scheduler = V.graph.scheduler
    inputs, outputs = OrderedSet(V.graph.graph_inputs.keys()), OrderedSet(V.graph.get_output_names())
    listed, freeable = memory.prepare_planning_info(
        nodes, scheduler.name_to_buf, scheduler.name_to_fused_node, inputs, outputs
    )
    graph = graph_of_nodes(nodes, freeable, outputs)
    require_valid(graph)
    best = outlook(graph, Budget(-1.0, work_limit))
    if best is None:
        return nodes
    ordered = [nodes[operator] for operator in best.order]
    peak, _ = memory.estimate_peak_memory(ordered, freeable, outputs)
    return _with_parts_taken(ordered if peak < listed * (1 - _LEAST_GAIN) else nodes)


def _with_parts_taken(nodes: list[Any]) -> list[Any]:
    """The nodes, with who takes one of several results right behind who makes them.

    What is not taken yet holds all of them.
    """
    maker_of = _makers_of_parts(nodes)
    takers: dict[str, list[Any]] = {}
    others: list[Any] = []
    for node in nodes:
        makers = {maker_of.get(buffer.get_name()) for buffer in node.get_outputs()}
        maker = makers.pop() if len(makers) == 1 else None
        # Who reads anything else may have to wait for that.
        if (
            maker is not None
            and {entry.name for entry in node.unmet_dependencies} <= maker.get_buffer_names()
        ):
            takers.setdefault(maker.get_name(), []).append(node)
        else:
            others.append(node)
    return [entry for node in others for entry in (node, *takers.get(node.get_name(), ()))]


def _makers_of_parts(nodes: Sequence[Any]) -> dict[str, Any]:
    """By buffer that is one of several results: the node that makes all of them."""
    return {
        part.get_name(): node
        for node in nodes
        for buffer in node.get_outputs()
        if buffer.mpi_buffer.size_alloc > buffer.mpi_buffer.size_free
        for user in buffer.users
        if hasattr(user.node, "get_outputs")
        for part in user.node.get_outputs()
        if part.mpi_buffer.size_free > part.mpi_buffer.size_alloc
    }


def graph_of_nodes(nodes: Sequence[Any], freeable: dict[str, Any], outputs: Iterable[str]) -> Graph:
    """The graph of the nodes, in which an order needs what Inductor's own estimate says.

    A node with several results allocates them at once, and each of them is freed by itself.
    """
    kept = set(outputs)
    tensors: list[Tensor] = []
    outputs_of: dict[str, list[str]] = {node.get_name(): [] for node in nodes}
    read: dict[str, list[str]] = {node.get_name(): [] for node in nodes}
    before: dict[tuple[str, str], None] = {}
    inputs: list[str] = []
    for name, entry in freeable.items():
        inputs.append(name)
        tensors.append(Tensor(id=name, size=entry.mpi_buffer.size_free))
        for reader in entry.mpi_buffer.succ_nodes:
            read[reader.get_name()].append(name)
    maker_of = {buffer.get_name(): node for node in nodes for buffer in node.get_outputs()}
    parts = _makers_of_parts(nodes)
    for node in nodes:
        for buffer in node.get_outputs():
            name, known = buffer.get_name(), buffer.mpi_buffer
            for reader in known.succ_nodes_for_ordering:
                if reader is not node:
                    before[node.get_name(), reader.get_name()] = None
            if not known.size_free:
                continue
            tensors.append(Tensor(id=name, size=known.size_free))
            maker = parts.get(name, maker_of[name])
            outputs_of[maker.get_name()].append(name)
            readers = {reader.get_name() for reader in known.succ_nodes}
            for reader_name in sorted(readers | {node.get_name()}):
                if reader_name != maker.get_name():
                    read[reader_name].append(name)
    return Graph(
        tensors=tensors,
        operators=[Operator(id=name, inputs=read[name], outputs=outputs_of[name]) for name in outputs_of],
        inputs=inputs,
        outputs=[entry.id for entry in tensors if entry.id in kept],
        before=list(before),
        order="free",
    )


# Arena


def _plan_memory(wrapper: Any, arena: Options | None) -> None:
    """Have this program's code allocate one arena, where that is wanted and can be done."""
    by_inductor = wrapper.run_wrapper_ir_passes

    def run_wrapper_ir_passes(is_inference: bool) -> None:
        lines = list(wrapper.lines)
        _with_fallback(lambda: _warn_above_limit(lines), None)
        has_own_calls = any(isinstance(line, EnterSubgraphLine) for line in lines)
        if arena is not None and not has_own_calls and not V.graph.cpp_wrapper:
            planned: list[Any] = _with_fallback(lambda: _Arena(wrapper, arena).plan(lines), [])
            if planned:
                wrapper.lines = planned
                return
        by_inductor(is_inference)

    wrapper.run_wrapper_ir_passes = run_wrapper_ir_passes


def _warn_above_limit(lines: list[Any]) -> None:
    """Say so where a program needs more than the limit that it was made for.

    What is kept for the backward pass was chosen before operators were fused to kernels, and before these
    were ordered.
    """
    limit = V.graph.module.meta.get(LIMIT)
    if limit is None:
        return
    needed = _Ledger(lines, _freed_inputs(V.graph.scheduler.nodes), _points()[0]).most
    if needed > limit:
        way = "backward" if V.graph.is_backward else "forward"
        message = (
            f"memstow: with its kernels the {way} pass needs {needed:,} bytes, more than the {limit:,} of "
            "its memory_budget; a smaller one leaves room for them"
        )
        warnings.warn(message, RuntimeWarning, 4)


class _Arena(MemoryPlanner):  # type: ignore[misc]
    """Inductor's planner with one pool for each device, in which our plan says where buffers are.

    Outputs are for the caller, who may keep one of them alone: they are allocated by themselves.
    """

    def __init__(self, wrapper: Any, options: Options) -> None:
        super().__init__(wrapper)
        self._options = options

    def plan(self, lines: list[Any]) -> list[Any]:
        """The lines with arenas; none where these would take more than buffers one by one."""
        if getattr(config.test_configs, "track_memory_lifecycle", None) is not None:
            # A program that checks what it allocates expects each buffer by itself.
            return []
        lines = list(lines)
        self.drop_removed_buffers(lines)
        pooled = list(lines)
        inside: list[BufferGroup] = []
        try:
            self.convert_to_pool_lines(pooled)
            self.compute_live_ranges(pooled)
            if any(_size(group.node) is None for group in self.buffer_groups):
                # What is there beside an arena has no size before the program runs.
                return []
            pooling = [group for group in self.buffer_groups if not group.is_output]
            freed = _freed_inputs(V.graph.scheduler.nodes)
            points = _points()
            ledgers = [_Ledger(lines, freed, at) for at in points]
            names = [group.names[0] for group in pooling]
            for ledger in ledgers:
                names = ledger.worth_pooling(names)
            chosen = [group for group in pooling if group.names[0] in set(names)]
            arenas = [self._arena(device, groups, points) for device, groups in _by_device(chosen).items()]
            if arenas:
                sizes = [sum(each) for each in zip(*arenas, strict=True)]
                excesses = (
                    ledger.excess(names, size)[0] for ledger, size in zip(ledgers, sizes, strict=True)
                )
                inside = [] if any(excesses) else chosen
        finally:
            # The lines are Inductor's own: what stays with it lets go of its buffers as before.
            pooled_names = {name for group in inside for name in group.names}
            for line in lines:
                if isinstance(line, ReuseLine):
                    line.delete_old = line.node.get_name() not in pooled_names
        if not inside:
            return []
        for place, line in enumerate(pooled):
            if isinstance(line, PoolMemoryPlanningLine) and line.group not in inside:
                pooled[place] = lines[place]
        self.mark_first_last_usage(pooled)
        return pooled

    def _arena(self, device: Any, groups: list[BufferGroup], points: list[_Values]) -> list[int]:
        """Make a pool in which each group is where a plan of ours says; its bytes at the points."""
        name = f"arena{len(self.pools.device_to_pools)}"
        sizes = [_size(group.node) for group in groups]
        lives = [(group.live_range.begin, _end(group.live_range)) for group in groups]
        for group in groups:
            group.make_allocation()
            group.allocation.mark_allocated()
        if all(isinstance(size, int) for size in sizes):
            places = _places(sizes, lives, self._options)
        else:
            places = _open_places(name, sizes, lives, points, self._options)
        root = _Placed([group.allocation for group in groups], places.offsets, places.size)
        pool = _Pool(device, root)
        pool.computed = places.computed
        pool.finalize(name)
        self.pools.device_to_pools[device] = [pool]
        return places.at_points or [places.size] * len(points)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the buffers of an arena are: numbers, or names of what the program computes."""

    offsets: list[Any]
    size: Any
    computed: list[str] = field(default_factory=list)
    """The lines of the program that do so."""
    at_points: list[int] = field(default_factory=list)
    """The bytes of the arena at each point."""


def _places(sizes: list[int], lives: list[tuple[int, int]], options: Options) -> _Places:
    buffers = [
        Buffer(id=str(number), size=size, lifetime=live, alignment=_ALIGNMENT)
        for number, (size, live) in enumerate(zip(sizes, lives, strict=True))
    ]
    plan = memstow.plan(Problem(buffers=buffers), options)
    offsets = {placement.buffer: placement.offset for placement in plan.placements}
    return _Places([offsets[buffer.id] for buffer in buffers], sum(use.peak for use in plan.pools))


def _open_places(
    arena: str, sizes: list[Any], lives: list[tuple[int, int]], points: list[_Values], options: Options
) -> _Places:
    """The same for sizes that are open: an order, from which the program computes offsets for any sizes."""
    used = {symbol for size in sizes if not isinstance(size, int) for symbol in size.free_symbols}
    ats = [{str(symbol): value for symbol, value in at.items() if symbol in used} for at in points]
    problem = SymbolicProblem(
        symbols=[
            Symbol(id=name, min=min(at[name] for at in ats), max=max(at[name] for at in ats))
            for name in ats[0]
        ],
        points=[Point(at=at) for place, at in enumerate(ats) if at not in ats[:place]],
        aim="first",
        buffers=[
            SymbolicBuffer(
                id=str(number),
                size=size if isinstance(size, int) else formula_of(size),
                lifetime=live,
                alignment=_ALIGNMENT,
            )
            for number, (size, live) in enumerate(zip(sizes, lives, strict=True))
        ],
    )
    plan = memstow.plan_symbolic(problem, options)
    layout = memstow.Layout(problem, plan)
    above = {int(place.buffer): [*map(int, place.above)] for place in plan.orders[0].placements}
    upward = [*TopologicalSorter(above).static_order()]
    if not _holds_at_all_sizes(above, upward, lives):
        raise ValueError("the order of an arena holds at some sizes alone")
    computed: list[str] = []
    for number in upward:
        ends = [f"{arena}_end{other}" for other in above[number]]
        highest = f"max({', '.join(ends)})" if len(ends) > 1 else "".join(ends) or "0"
        computed += [
            f"{arena}_at{number} = -(-{highest} // {_ALIGNMENT}) * {_ALIGNMENT}",
            f"{arena}_end{number} = {arena}_at{number} + {pexpr(sizes[number])}",
        ]
    ends = [f"{arena}_end{number}" for number in above]
    computed.append(f"{arena}_size = max({', '.join(ends)})")
    return _Places(
        offsets=[_computed(f"{arena}_at{number}") for number in range(len(sizes))],
        size=_computed(f"{arena}_size"),
        computed=computed,
        at_points=[sum(layout.peaks(at).values()) for at in ats],
    )


def _holds_at_all_sizes(
    above: Mapping[int, Sequence[int]], upward: Sequence[int], lives: Sequence[tuple[int, int]]
) -> bool:
    """Whether of any two that are live together one is above the other: the range of a plan has ends."""
    below = dict.fromkeys(upward, 0)
    over = dict.fromkeys(upward, 0)
    for number in upward:
        for other in above[number]:
            below[number] |= below[other] | 1 << other
    for number in reversed(upward):
        for other in above[number]:
            over[other] |= over[number] | 1 << number
    changes = [
        (moment, is_begin, number) for number in upward for is_begin, moment in enumerate(lives[number][::-1])
    ]
    live = 0
    for _, is_begin, number in sorted(changes):
        if is_begin and live & ~(below[number] | over[number]):
            return False
        live ^= 1 << number
    return True


def _computed(name: str) -> Any:
    """A number that a line of the program has computed, as a part of Inductor's expressions."""
    return sympy.Symbol(name, integer=True, nonnegative=True)


class _Pool(AllocationPool):  # type: ignore[misc]
    """A pool before which the program computes its size and the offsets in it."""

    computed: list[str]

    def codegen_create(self, wrapper: Any, code: Any) -> None:
        """Write the lines that allocate it."""
        code.writelines(self.computed)
        super().codegen_create(wrapper, code)


class _Placed(AllocationTreeNode):  # type: ignore[misc]
    """All allocations of an arena, with their offsets in it."""

    def __init__(self, allocations: list[Allocation], offsets: list[Any], size: Any) -> None:
        self.allocations = allocations
        self.size = size
        self._offsets = offsets

    def get_live_ranges(self) -> LiveRanges:
        """When the arena is there: from the first use of any to the last."""
        ranges = [allocation.live_range for allocation in self.allocations]
        return LiveRanges([LiveRange(min(each.begin for each in ranges), max(each.end for each in ranges))])

    def get_symbolic_size(self) -> Any:
        """The bytes of the arena, a number or an expression."""
        return self.size

    def finalize(self, pool: AllocationPool, offset: int) -> "_Placed":
        """Give each allocation its place."""
        for allocation, place in zip(self.allocations, self._offsets, strict=True):
            allocation.finalize(pool, offset + place)
        return self


def _size(node: Any) -> Any:
    """The bytes of a buffer, or an expression of sizes that are open; None where no input shows them."""
    try:
        size = node.get_layout().storage_size() * node.get_dtype().itemsize
    except (AttributeError, NotImplementedError):
        # What has several results has no layout of its own.
        return None
    if isinstance(size, int) or size.is_Integer:
        return int(size)
    size = V.graph.sizevars.remove_precomputed_replacements(size)
    return None if free_unbacked_symbols(size) else size


def _bytes(node: Any, at: _Values) -> int:
    """The bytes of a buffer at these values; 0 where no input shows them."""
    size = _size(node)
    return size if isinstance(size, int) else 0 if size is None else int(size.subs(at))


def _points() -> list[_Values]:
    """Values of open sizes where an arena must be good: those at hand, then smaller and larger ones."""
    inputs = V.graph.graph_inputs.values()
    numbers = chain(*(node.get_size() if isinstance(node, TensorBox) else [node] for node in inputs))
    open_sizes = [number for number in numbers if isinstance(number, sympy.Expr)]
    symbols = sorted({symbol for size in open_sizes for symbol in size.free_symbols}, key=str)
    values = {symbol: V.graph.sizevars.optimization_hint(symbol) for symbol in symbols}
    bounds = {symbol: V.graph.sizevars.shape_env.bound_sympy(symbol) for symbol in symbols}
    return points_near(
        values,
        {
            symbol: (int(bound.lower), int(bound.upper) if bound.upper.is_Integer else None)
            for symbol, bound in bounds.items()
        },
    )


def _end(live: LiveRange) -> int:
    """The end of a range, which is half-open: what comes and goes between two kernels is there as well."""
    return max(int(live.end), int(live.begin) + 1)


def _by_device(groups: list[BufferGroup]) -> dict[Any, list[BufferGroup]]:
    by_device: dict[Any, list[BufferGroup]] = {}
    for group in groups:
        by_device.setdefault(group.node.get_device(), []).append(group)
    return by_device


def _freed_inputs(nodes: list[Any]) -> dict[str, Any]:
    """The inputs that nobody else holds: what a backward pass gets goes while it runs."""
    inputs = V.graph.graph_inputs
    return {name: inputs[name] for name in memory.get_freeable_input_buf(nodes, OrderedSet(inputs.keys()))}


class _Ledger:
    """The bytes that are there at each line of a program, with an arena for some of its buffers and without.

    An arena is there while little of it is used. Kernels of others may take memory while they run, which
    nobody says: so those that allocate need room beside it for a copy of what they read and write.
    """

    def __init__(self, lines: list[Any], freed: dict[str, Any], at: _Values) -> None:
        self._spans = _spans(lines, freed, at)
        self._alone = _held(self._spans.values(), len(lines))
        self.most = max(self._alone, default=0)
        """What the program needs without an arena."""
        parts: dict[str, list[str]] = {}
        for line in lines:
            if isinstance(line, MultiOutputLine):
                parts.setdefault(line.arg_name, []).append(line.result_name)
        self._copies = {
            place: _copies(line.node, parts.get(line.node.get_name(), ()), at)
            for place, line in enumerate(lines)
            if isinstance(line, ExternKernelAllocLine)
        }

    def excess(self, inside: Sequence[str], arena: int) -> tuple[int, int]:
        """By how much an arena for these makes the program need more, and the line; 0 where it does not."""
        replaced = [self._spans[name] for name in inside]
        whole = min(begin for begin, _, _ in replaced), max(end for _, end, _ in replaced), arena
        pooled = set(inside)
        beside = [span for name, span in self._spans.items() if name not in pooled]
        held = _held([*beside, whole], len(self._alone))
        most, place = max(
            (held[line] + self._copies.get(line, 0), line)
            for line in range(*whole[:2])
            if line == whole[0] or held[line] > self._alone[line]
        )
        return max(0, most - self.most), place

    def worth_pooling(self, names: Sequence[str]) -> list[str]:
        """The buffers, by name, without some that make an arena of all too large, or keep it for too long.

        What is left out, one after the other or all before or after a line, is what lessens the excess the
        most. None where there would be an excess still.
        """
        inside = list(names)
        for _ in range(_ROUNDS):
            if len(inside) < _FEWEST:
                break
            arena, fullest = self._most_live(inside)
            excess, place = self.excess(inside, arena)
            if not excess:
                return inside
            spans = {name: self._spans[name] for name in inside}
            there = [name for name, (begin, end, _) in spans.items() if begin <= fullest < end]
            there.sort(key=lambda name: (spans[name][2] < excess, abs(spans[name][2] - excess)))
            inside = min(
                (
                    [name for name, (begin, _, _) in spans.items() if begin > place],
                    [name for name, (_, end, _) in spans.items() if end <= place],
                    *([other for other in inside if other != name] for name in there[:_TRIED]),
                ),
                key=self._rank,
            )
        return []

    def _rank(self, inside: Sequence[str]) -> tuple[int, int]:
        """What is lower for a better arena: its excess, then the bytes that have no place there."""
        if len(inside) < _FEWEST:
            return self.most, 0
        arena, _ = self._most_live(inside)
        return self.excess(inside, arena)[0], -sum(self._spans[name][2] for name in inside)

    def _most_live(self, inside: Sequence[str]) -> tuple[int, int]:
        """The most bytes that these need at once, and the first line where they do."""
        live = _held([self._spans[name] for name in inside], len(self._alone))
        most = max(live)
        return most, live.index(most)


def _copies(node: Any, parts: Sequence[str], at: _Values) -> int:
    """The bytes of all that a kernel reads and writes; `parts` are its results if it has several."""
    operands = {*node.get_read_names(), node.get_name(), *parts}
    return sum(_bytes(buffer, at) for buffer in map(V.graph.try_get_buffer, operands) if buffer is not None)


def _spans(lines: list[Any], freed: dict[str, Any], at: _Values) -> dict[str, tuple[int, int, int]]:
    """By the first name of each storage: the lines where it comes and goes, and its bytes.

    `freed` are inputs, which are there from the beginning. What kernels of others make is
    there from their line; where there are several results, until the last of them has gone. Views are left
    out.
    """
    first: dict[str, str] = {}
    maker_of: dict[str, str] = {
        line.result_name: line.arg_name for line in lines if isinstance(line, MultiOutputLine)
    }
    begins = dict.fromkeys(freed, -1)
    spans = {name: (-1, len(lines), _bytes(node, at)) for name, node in freed.items()}

    def close(node: Any, end: int) -> None:
        name = first.get(node.get_name(), node.get_name())
        if name in begins:
            spans[name] = begins[name], end, _bytes(freed.get(name, node), at)

    for place, line in enumerate(lines):
        if isinstance(line, AllocateLine | ExternKernelAllocLine):
            if line.node.get_name() in V.graph.removed_buffers:
                # A kernel makes and uses it on its own.
                continue
            begins[line.node.get_name()] = place
            close(line.node, len(lines))
        elif isinstance(line, MultiOutputLine):
            part = V.graph.try_get_buffer(line.result_name)
            if line.arg_name in begins and part is not None and not part.get_inputs_that_alias_output():
                begins[line.result_name] = begins[line.arg_name]
                close(part, len(lines))
        elif isinstance(line, ReuseLine):
            old = line.node.get_name()
            first[line.reused_as.get_name()] = first.get(old, old)
        elif isinstance(line, FreeIfNotReusedLine | FreeLine):
            close(line.node, place)
    for part_name, maker in maker_of.items():
        if part_name in spans and maker in spans:
            begin, end, size = spans[part_name]
            spans[part_name] = begin, max(end, spans[maker][1]), size
    return spans


def _held(spans: Iterable[tuple[int, int, int]], count: int) -> list[int]:
    """The bytes that are there at each line; `count` is how many lines there are."""
    changes = [0] * (count + 1)
    for begin, end, size in spans:
        changes[max(begin, 0)] += size
        changes[end] -= size
    return list(accumulate(changes))[:count]
