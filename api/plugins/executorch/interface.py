"""What we use of ExecuTorch's objects, as ExecuTorch 1.5.1 has them: it comes without types of its own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol


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
