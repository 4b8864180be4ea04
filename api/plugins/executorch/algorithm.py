"""`Memstow`: an algorithm for ExecuTorch's suite of memory planning algorithms.

Each memory is solved for itself, once it is known which tensors are in it.
"""

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Never
from weakref import WeakSet

from memstow.api.plugins.executorch.tensors import (
    Answer,
    Frame,
    GraphModule,
    Group,
    Place,
    Spec,
    SpecsOf,
    Timeline,
    frame_alone,
    frame_of,
    groups_of,
    objects_of,
    places_of,
    problem_of,
)
from memstow.planner.check import require_valid
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, MemstowError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import recount

OnPlan = Callable[[Problem, Plan], None]

_LOG: Final = logging.getLogger("memstow")


class NoPlanError(MemstowError):
    """The tensors do not fit into the memories, or no plan was found within the limits."""

    def __init__(self, outcome: Plan) -> None:
        self.is_proven = outcome.status is Status.INFEASIBLE
        super().__init__(_reason(outcome))


@dataclass(slots=True)
class Solver:
    """Plans within these options, and tells what it finds."""

    options: Options
    on_plan: OnPlan | None = None
    places: dict[str, Place] = field(default_factory=dict)
    peaks: dict[int, int] = field(default_factory=dict)
    """By memory that holds a tensor."""
    usual: Mapping[str, Place] = field(default_factory=dict)
    """Places by another planner, which are taken where they need no more bytes and the judge agrees."""

    def solve(self, groups: Sequence[Group], pools: Mapping[int, Pool], objective: Sequence[str]) -> None:
        """Place the groups. Those that may be in any memory are given one first, by this objective."""
        memory_of = {group.name: group.memory for group in groups}
        if any(memory is None for memory in memory_of.values()):
            solved = self._plan(problem_of(groups, pools, objective), self.options)
            numbers = {pool.id: number for number, pool in pools.items()}
            self.places = {
                placement.buffer: Place(numbers[placement.pool], placement.offset)
                for placement in solved.placements
            }
            memory_of = {name: place.memory for name, place in self.places.items()}
        for number in sorted({memory for memory in memory_of.values() if memory is not None}):
            self._solve_one(
                [group for group in groups if memory_of[group.name] == number], number, pools[number]
            )

    def _solve_one(self, groups: Sequence[Group], number: int, pool: Pool) -> None:
        hint = _plan_of(groups, pool, self.places)
        problem = problem_of(groups, {number: pool}, ("peak",))
        usual = {name: place for name, place in self.usual.items() if place.memory == number}
        solved = self._plan(problem, replace(self.options, hint=hint), _plan_of(groups, pool, usual))
        self.places |= {placement.buffer: Place(number, placement.offset) for placement in solved.placements}
        self.peaks[number] = solved.pools[0].peak
        bound = solved.pools[0].bound
        known = "no plan needs less" if bound == solved.pools[0].peak else f"any plan needs {bound:,}"
        _LOG.info("memory %d: %s bytes, %s", number, f"{solved.pools[0].peak:,}", known)

    def _plan(self, problem: Problem, options: Options, usual: Plan | None = None) -> Plan:
        solved = plan(problem, options)
        if usual is not None:
            same = replace(solved, placements=usual.placements)
            # With a larger peak than the plan says it is a violation.
            solved = solved if recount(problem, same) else same
        if self.on_plan is not None:
            self.on_plan(problem, solved)
        if solved.status not in PLANNED:
            raise NoPlanError(solved)
        return solved


def warn_of_greedy(error: Exception, stacklevel: int) -> None:
    """Say that ExecuTorch's own algorithm plans the graph, and why; `stacklevel` counts from the caller."""
    reason = str(error) if isinstance(error, MemstowError) else f"{type(error).__name__}: {error}"
    warnings.warn(f"memstow leaves this graph to greedy: {reason}", RuntimeWarning, stacklevel=stacklevel + 1)


def _plan_of(groups: Sequence[Group], pool: Pool, places: Mapping[str, Place]) -> Plan | None:
    """What is known already, as a hint."""
    placements = [
        Placement(buffer=group.name, pool=pool.id, offset=places[group.name].offset)
        for group in groups
        if group.name in places
    ]
    return Plan(status=Status.FEASIBLE, placements=placements) if placements else None


def _reason(outcome: Plan) -> str:
    """Why there is no plan."""
    if outcome.explanation is not None:
        return f"the tensors do not fit: {outcome.explanation.message}"
    over = ", ".join(
        f"{entry.peak:,} of {entry.capacity:,} bytes in {entry.pool}" for entry in outcome.closest
    )
    return f"no plan was found within the limits; the closest needs {over or 'more memory'}"


class Memstow:
    """Called by `MemoryPlanningAlgorithmSuite` with the tensors of a graph; returns where they are.

    Without `memories`, each tensor is in the memory that its `mem_id` says, by default 1. With them, memstow
    chooses among them: by `cost` where they have some, and then as much as possible in the first ones.
    `submodules`: branches of control flow are placed together with the graph around them, and are in memory
    while they run and their results are read. Otherwise, graphs with branches are left to greedy.

    Where ExecuTorch's greedy needs no more bytes of a memory, its places are taken, so that programs only
    change where that saves something.
    """

    def __init__(
        self,
        *misplaced: Never,
        memories: Sequence[Pool] = (),
        time_limit: float = 10.0,
        work_limit: int | None = None,
        deterministic: bool = True,
        submodules: bool = True,
        on_plan: OnPlan | None = None,
    ) -> None:
        if misplaced:
            # What happens where a suite calls the class with the tensors of a graph.
            raise TypeError(
                "Memstow takes named arguments only; a suite of algorithms lists Memstow(), not Memstow"
            )
        if isinstance(memories, Pool) or not isinstance(memories, Iterable):
            raise TypeError(f"memories is {memories!r}; give a list of memstow.Pool")
        if on_plan is not None and not callable(on_plan):
            raise TypeError(f"on_plan is {on_plan!r}; give a function that takes a problem and a plan")
        self._memories = tuple(memories)
        for number, memory in enumerate(self._memories):
            if not isinstance(memory, Pool):
                raise TypeError(
                    f"memories[{number}] is {memory!r}; a memory is a memstow.Pool, such as "
                    "memstow.Pool(id='tcm', capacity=65536)"
                )
        if self._memories:
            require_valid(Problem(pools=self._memories, buffers=()))
        self._options = Options(time_limit=time_limit, work_limit=work_limit, deterministic=deterministic)
        self._submodules = submodules
        self._on_plan = on_plan
        # The suite knows algorithms by their names, and forgets one of two with the same name.
        self.__name__ = f"memstow({self._memories}, {self._options}, {submodules})"
        # Planning a branch gives its tensors a memory: no demand when the graph around it is planned.
        self._free: WeakSet[Spec] = WeakSet()

    def __call__(
        self,
        alignment: int,
        specs: Iterable[Spec],
        graph_module: GraphModule,
        graph_signature: object,
        extra_padding: int = 0,
    ) -> Answer:
        """The places of these tensors, and with `submodules` of those in the branches."""
        specs = list(specs)
        for spec in specs:
            if spec.mem_id is None:
                self._free.add(spec)
        # Empty where there are no branches, and for tensors on other devices, which branches do not have.
        has_branches = bool(getattr(graph_module, "input_mem_buffer_sizes", None))
        try:
            if not has_branches:
                frame = frame_alone(graph_module, specs)
            elif self._submodules:
                frame = frame_of(graph_module, specs, _specs_of(graph_signature))
            elif self._memories:
                raise InputError.single(
                    "not_planned", "submodules", "with memories, branches must be planned too"
                )
            else:
                return _greedy(alignment, specs, graph_module, graph_signature, extra_padding)
            usual: dict[Spec, Place] = {}
            # Of branches greedy may give places that are wrong.
            if not self._memories and not has_branches:
                usual = _greedy_places(alignment, specs, graph_module, graph_signature, extra_padding)
            return self._planned(frame, alignment, extra_padding, usual)
        except Exception as error:
            # A graph of a kind that was never seen must not end a compilation that works without memstow.
            if self._memories:
                raise
            warn_of_greedy(error, stacklevel=2)
            return _greedy(alignment, specs, graph_module, graph_signature, extra_padding)

    def _planned(
        self, frame: Frame, alignment: int, extra_padding: int, usual: Mapping[Spec, Place]
    ) -> Answer:
        """The places of all tensors of the frame and its branches; `usual` ones where none are better."""
        from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

        timeline = Timeline(self._memory_of)
        timeline.add(frame, 0)
        for spec in timeline.lives:
            spec.realign(alignment)
        groups = groups_of(timeline)
        last = max((self._memory_of(life) or 1 for life in timeline.lives), default=1)
        pools = self._pools(last, extra_padding)
        heads = {group.name: usual[head] for head, group in groups.items() if head in usual}
        solver = Solver(self._options, self._on_plan, usual=heads)
        aim = "placement_cost" if any(pool.cost for pool in pools.values()) else "preference"
        solver.solve(list(groups.values()), pools, (aim, "peak"))
        places = places_of(timeline, groups, solver.places)
        objects = objects_of(places)
        answer: Answer = MemoryAlgoResult(
            {
                spec: SpecAllocResult(place.memory, objects[spec], place.offset)
                for spec, place in places.items()
            },
            _sizes(solver.peaks, extra_padding),
        )
        return answer

    def _memory_of(self, spec: Spec) -> int | None:
        """The memory that the tensor must be in; None: any of those given."""
        if spec in self._free or spec.mem_id is None:
            return None if self._memories else 1
        if self._memories and not 1 <= spec.mem_id <= len(self._memories):
            message = (
                f"a tensor must be in memory {spec.mem_id}; there are {len(self._memories)}, counted from 1"
            )
            raise InputError.single("unknown_memory", "memories", message)
        return spec.mem_id

    def _pools(self, last: int, extra_padding: int) -> dict[int, Pool]:
        """The memories by number, without the padding that follows what is in them."""
        if not self._memories:
            return {number: Pool(id=str(number)) for number in range(1, last + 1)}
        capacities = (
            None if memory.capacity is None else max(memory.capacity - extra_padding, 0)
            for memory in self._memories
        )
        padded = zip(self._memories, capacities, strict=True)
        return {number: replace(entry, capacity=room) for number, (entry, room) in enumerate(padded, start=1)}


def _sizes(peaks: Mapping[int, int], padding: int) -> list[int]:
    """The size of each memory from 0 on, which is that of constants. There is always a memory 1."""
    return [
        0,
        *(
            peaks[number] + padding if number in peaks else 0
            for number in range(1, max(peaks, default=1) + 1)
        ),
    ]


def _specs_of(graph_signature: object) -> SpecsOf:
    """Which tensors of a branch are placed, as `apply_algo` has it."""

    def specs_of(branch: GraphModule, places_inputs: bool) -> Iterator[Spec]:
        from executorch.exir.memory_planning import collect_specs_from_nodes

        specs: Iterable[Spec] = collect_specs_from_nodes(
            branch.graph.nodes, graph_signature, ignore_graph_input=not places_inputs, do_assertion=False
        )
        return (spec for spec in specs if spec.mem_offset is not None)

    return specs_of


def _greedy(
    alignment: int,
    specs: Iterable[Spec],
    graph_module: GraphModule,
    graph_signature: object,
    extra_padding: int,
) -> Answer:
    """What ExecuTorch has."""
    from executorch.exir.memory_planning import greedy

    answer: Answer = greedy(alignment, specs, graph_module, graph_signature, extra_padding)
    return answer


def _greedy_places(
    alignment: int,
    specs: Iterable[Spec],
    graph_module: GraphModule,
    graph_signature: object,
    extra_padding: int,
) -> dict[Spec, Place]:
    """Where ExecuTorch's own algorithm puts the tensors; none where it fails."""
    try:
        answer = _greedy(alignment, specs, graph_module, graph_signature, extra_padding)
    except Exception:
        return {}
    return {spec: Place(place.mem_id, place.mem_offset) for spec, place in answer.spec_dict.items()}
