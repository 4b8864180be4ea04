"""`CadencePlanning`: memory planning for ExecuTorch's Cadence backend, with all of its constraints.

Its memories are tried in their order there, so as much as possible goes to the first ones here.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from memstow.api.plugins.executorch.algorithm import NoPlanError, Solver, warn_of_greedy
from memstow.api.plugins.executorch.tensors import GraphModule, Group, Spec
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool, Reserved

if TYPE_CHECKING:
    from memstow.api.plugins.executorch.cadence_interface import (
        CadenceMemoryPlanning,
        MemConstraints,
        MemoryConfig,
        MemoryPlanningAlgo,
        MemoryPlanningAlgoFailure,
        MemoryPlanningState,
        PositionBasedGreedyWithHierarchy,
    )
else:
    from executorch.backends.cadence.aot.memory_planning import (
        CadenceMemoryPlanning,
        PositionBasedGreedyWithHierarchy,
    )
    from executorch.backends.cadence.aot.memory_planning_algo import MemoryPlanningAlgo
    from executorch.backends.cadence.aot.utils import MemoryPlanningAlgoFailure

_OBJECTIVE: Final = ("preference", "peak")


class CadenceAlgorithm(MemoryPlanningAlgo):
    """All tensors of a graph at once, where the others place one after the other."""

    options = Options(deterministic=True)

    def plan_with_constraints(
        self,
        specs: Iterable[Spec],
        graph_module: GraphModule,
        graph_signature: object,
        state: "MemoryPlanningState",
        placement_constraints: "MemConstraints",
        extra_padding: int = 0,
    ) -> None:
        """Place the tensors, or raise MemoryPlanningAlgoFailure."""
        # Those with a place relative to another get theirs when that has its own.
        specs = [spec for spec in specs if not placement_constraints.skipped_spec(spec)]
        arguments = (graph_module, graph_signature, state, placement_constraints, extra_padding)
        try:
            self.plan(specs, *arguments)
        except NoPlanError as error:
            if error.is_proven:
                raise MemoryPlanningAlgoFailure(str(error)) from error
            self._plan_otherwise(error, specs, *arguments)
        except Exception as error:
            # A graph of a kind that was never seen must not end a compilation that works without memstow.
            self._plan_otherwise(error, specs, *arguments)
        else:
            for spec in specs:
                placement_constraints.resolve_relative_loc_constraints(spec)

    def plan(
        self,
        specs: Iterable[Spec],
        graph_module: GraphModule,
        graph_signature: object,  # noqa: ARG002
        state: "MemoryPlanningState",
        placement_constraints: "MemConstraints",
        extra_padding: int = 0,
    ) -> None:
        """Place these tensors."""
        below: list[int] = getattr(graph_module, "input_mem_buffer_sizes", None) or []
        pools = self._pools(below, extra_padding)
        groups = [self._group(number, spec, placement_constraints) for number, spec in enumerate(specs)]
        solver = Solver(self.options)
        solver.solve(groups, pools, _OBJECTIVE)
        for spec, group in zip(specs, groups, strict=True):
            place = solver.places[group.name]
            spec.mem_id, spec.mem_offset = place.memory, place.offset
            state.place_spec(spec)
        for number in solver.peaks:
            state.bufsizes[number] += extra_padding
        for number, size in enumerate(below):
            state.bufsizes[number] = max(state.bufsizes[number], size)

    def _plan_otherwise(
        self,
        error: Exception,
        specs: Iterable[Spec],
        graph_module: GraphModule,
        graph_signature: object,
        state: "MemoryPlanningState",
        placement_constraints: "MemConstraints",
        extra_padding: int,
    ) -> None:
        warn_of_greedy(error, stacklevel=4)
        other = PositionBasedGreedyWithHierarchy(
            self.memory_config,
            self.mode,
            self.alloc_graph_input,
            self.alloc_graph_output,
            self.additional_constraint_gen_passes,
        )
        other.plan_with_constraints(
            specs, graph_module, graph_signature, state, placement_constraints, extra_padding
        )

    def _pools(self, below: Sequence[int], extra_padding: int) -> dict[int, Pool]:
        """The memories, without the bytes that branches use and the padding behind what is in them."""
        pools: dict[int, Pool] = {}
        for number in range(1, self.get_num_memories()):
            alignment = self.get_alignment(number)
            # The end of a tensor, rounded up to the alignment, must be inside.
            room = max(self.get_size(number) - extra_padding, 0)
            used = below[number] if number < len(below) else 0
            pools[number] = Pool(
                id=self._name(number),
                capacity=room - room % alignment,
                alignment=alignment,
                reserved=[Reserved(offset=0, size=used)] if used else [],
            )
        return pools

    def _name(self, number: int) -> str:
        names = self.memory_config.memory_names
        return f"{number}:{names[number - 1]}" if names else str(number)

    def _group(self, number: int, spec: Spec, constraints: "MemConstraints") -> Group:
        pin = constraints.get_absolute_placement_constraint(spec)
        offset = pin.offset if pin else None
        memories = range(1, self.get_num_memories())
        first, last = spec.lifetime
        return Group(
            name=str(number),
            memory=pin.pinned_memory_id if pin else None,
            size=spec.allocated_memory,
            # A place that is given is taken as it is.
            alignment=spec.alignment if offset is None else 1,
            lives=((first, last + 1),),
            memories=tuple(
                memory for memory in memories if not constraints.is_mem_id_in_blocklist(spec, memory)
            ),
            offset=offset,
        )


class CadencePlanning(CadenceMemoryPlanning):
    """Takes the place of `CadenceMemoryPlanning`; by default it plans with memstow."""

    def __init__(
        self,
        memory_config: "MemoryConfig",
        mode: object,
        mem_algo: int = 2,
        alloc_graph_input: bool = True,
        alloc_graph_output: bool = True,
        additional_constraint_gen_passes: Sequence[object] | None = None,
        *,
        time_limit: float = 10.0,
        work_limit: int | None = None,
        deterministic: bool = True,
    ) -> None:
        options = Options(time_limit=time_limit, work_limit=work_limit, deterministic=deterministic)
        super().__init__(
            memory_config,
            mode,
            mem_algo,
            alloc_graph_input,
            alloc_graph_output,
            additional_constraint_gen_passes,
        )
        if isinstance(self.algo, CadenceAlgorithm):
            self.algo.options = options

    @staticmethod
    def get_mem_algos(
        memory_config: "MemoryConfig",
        mode: object,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        additional_constraint_gen_passes: Sequence[object] | None,
    ) -> "list[MemoryPlanningAlgo]":
        """Those of Cadence, and ours behind them."""
        arguments = (
            memory_config,
            mode,
            alloc_graph_input,
            alloc_graph_output,
            additional_constraint_gen_passes,
        )
        return [*CadenceMemoryPlanning.get_mem_algos(*arguments), CadenceAlgorithm(*arguments)]
