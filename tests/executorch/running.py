"""Models compiled by ExecuTorch with given planners, and run by its runtime."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch as torch  # for the tests as well
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, Verifier
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime


@dataclass(frozen=True)
class Compiled:
    """A program, and what the planner gave it."""

    program: bytes
    graph: Any
    signature: Any

    @property
    def sizes(self) -> list[int]:
        """The bytes of each memory."""
        return list(self.graph.meta["non_const_buffer_sizes"])

    def outputs(self, calls: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        """What it answers when called like this, one call after the other."""
        method = Runtime.get().load_program(self.program).load_method("forward")
        return [[entry.clone() for entry in method.execute(call)] for call in calls]

    def reused(self) -> int:
        """Pairs that share bytes; ExecuTorch's own check raises if they must not."""
        return int(Verifier(self.graph, True, True, True, self.signature).verify_storage_reuse())


def lowered_to_xnnpack(exported: Any) -> Any:
    """The model with all that XNNPACK can run left to it."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])


def compiled(
    model: Any,
    args: tuple[Any, ...],
    algorithms: Sequence[Any],
    shapes: Any = None,
    lower: Callable[[Any], Any] = to_edge,
    **planning: Any,
) -> Compiled:
    """The model, planned by the best of these algorithms."""
    exported = torch.export.export(deepcopy(model), args, dynamic_shapes=shapes, strict=False)
    planner = MemoryPlanningPass(MemoryPlanningAlgorithmSuite(list(algorithms)), **planning)
    made = lower(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))
    program = made.exported_program()
    return Compiled(made.buffer, program.graph_module, program.graph_signature)


def expected(model: Any, calls: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """What PyTorch answers."""
    fresh = deepcopy(model)
    answers = [fresh(*call) for call in calls]
    return [[entry.clone() for entry in (one if isinstance(one, tuple) else (one,))] for one in answers]


def close(ones: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]]) -> bool:
    """Whether these outputs are the same but for rounding."""
    pairs = [pair for one, other in zip(ones, others, strict=True) for pair in zip(one, other, strict=True)]
    return all(torch.allclose(one, other, rtol=1e-4, atol=1e-4) for one, other in pairs)


def equal(ones: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]]) -> bool:
    """Whether these outputs are the same, bit for bit."""
    pairs = [pair for one, other in zip(ones, others, strict=True) for pair in zip(one, other, strict=True)]
    return all(torch.equal(one, other) for one, other in pairs)
