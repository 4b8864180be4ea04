"""What we use of ExecuTorch's Cadence backend, for type checkers only: it comes without types of its own."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from memstow.api.plugins.executorch.tensors import GraphModule, Spec

class AbsolutePlacement(Protocol):
    """A tensor must be in this memory, and at this offset if there is one."""

    pinned_memory_id: int
    offset: int | None

class MemConstraints(Protocol):
    """Where tensors may be."""

    def skipped_spec(self, spec: Spec) -> bool:
        """Whether its place is relative to another."""

    def is_mem_id_in_blocklist(self, spec: Spec, mem_id: int) -> bool:
        """Whether it may not be in this memory."""

    def get_absolute_placement_constraint(self, spec: Spec) -> AbsolutePlacement | None:
        """Its given place."""

    def resolve_relative_loc_constraints(self, spec: Spec) -> None:
        """Place those whose place is relative to it."""

class MemoryConfig(Protocol):
    """The memories, whose ids count from 1."""

    memory_names: Sequence[str] | None

class MemoryPlanningState(Protocol):
    """What has a place already."""

    bufsizes: list[int]

    def place_spec(self, spec: Spec) -> None:
        """Note the place that the tensor has been given."""

class MemoryPlanningAlgoFailure(Exception):  # noqa: N818
    """No place for a tensor."""

class MemoryPlanningAlgo:
    """An algorithm."""

    memory_config: MemoryConfig
    mode: object
    alloc_graph_input: bool
    alloc_graph_output: bool
    additional_constraint_gen_passes: Sequence[object] | None

    def __init__(
        self,
        memory_config: MemoryConfig,
        mode: object,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        additional_constraint_gen_passes: Sequence[object] | None,
    ) -> None: ...
    def get_num_memories(self) -> int: ...
    def get_size(self, exir_id: int) -> int: ...
    def get_alignment(self, exir_id: int) -> int: ...
    def plan_with_constraints(
        self,
        specs: Iterable[Spec],
        graph_module: GraphModule,
        graph_signature: object,
        state: MemoryPlanningState,
        placement_constraints: MemConstraints,
        extra_padding: int = 0,
    ) -> None: ...

class PositionBasedGreedyWithHierarchy(MemoryPlanningAlgo):
    """The greedy of Cadence."""

class CadenceMemoryPlanning:
    """The pass."""

    algo: MemoryPlanningAlgo

    def __init__(
        self,
        memory_config: MemoryConfig,
        mode: object,
        mem_algo: int,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        additional_constraint_gen_passes: Sequence[object] | None,
    ) -> None: ...
    @staticmethod
    def get_mem_algos(
        memory_config: MemoryConfig,
        mode: object,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        additional_constraint_gen_passes: Sequence[object] | None,
    ) -> list[MemoryPlanningAlgo]: ...
