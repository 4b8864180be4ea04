"""Training steps of `torch.compile` below a limit of memory: what is kept for the backward pass.

AOTAutograd traces forward and backward pass as one graph, and asks a partitioner to make two of it. Here
PyTorch's own does that; where its choice needs more than the limit, it is called again with our choice, in
the marks that selective activation checkpointing puts on nodes. All of this is private in PyTorch: what is
not as expected leaves PyTorch's own choice, with a warning that says why.
"""

import warnings
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Any, Final

import torch
from torch._functorch.partitioners import get_default_op_list, min_cut_rematerialization_partition
from torch._inductor.custom_graph_pass import CustomPartitionerFn
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointPolicy

import memstow
from memstow.api.plugins.torch.budget import LIMIT
from memstow.planner.formats.torch_program import graph_of
from memstow.planner.graph.checkpoints import Checkpoints, CheckpointSearch, TrainingStep

_MARK: Final = "recompute"
_GROUP: Final = "ac_graph_id"


class Partitioner(CustomPartitionerFn):  # type: ignore[misc]
    """Called by AOTAutograd with the graph of both passes."""

    def __init__(self, *, budget: float, work_limit: int) -> None:
        self._budget = budget
        self._work_limit = work_limit

    def uuid(self) -> str:
        """What tells programs of other budgets apart in PyTorch's caches."""
        parts = memstow.__version__, type(self._budget).__name__, self._budget, self._work_limit
        return sha256(repr(parts).encode()).hexdigest()

    def __call__(self, gm: Any, joint_inputs: Sequence[object], **options: Any) -> tuple[Any, Any]:
        """The program of the forward pass, and that of the backward pass."""
        is_marked = any(_MARK in node.meta for node in gm.graph.nodes)
        # It removes from the graph what is there twice, so that both choices are of the same nodes.
        theirs: tuple[Any, Any] = min_cut_rematerialization_partition(gm, joint_inputs, **options)
        try:
            if is_marked:
                raise ValueError("the program has checkpoints of its own")
            limit = self._marked_for(gm, theirs, options["num_fwd_outputs"])
            if limit is None:
                return theirs
            ours: tuple[Any, Any] = min_cut_rematerialization_partition(gm, joint_inputs, **options)
            for program in ours:
                program.meta[LIMIT] = limit
            return ours
        except Exception as error:
            # Any change in PyTorch may show here, and the program is right without a choice of ours.
            message = f"memstow: PyTorch's own partition is used, since {type(error).__name__}: {error}"
            warnings.warn(message, RuntimeWarning, 2)
            return theirs

    def _marked_for(self, gm: Any, theirs: tuple[Any, Any], outputs: int) -> int | None:
        """Mark what is kept and what runs again, unless PyTorch's choice is within the budget.

        The bytes that both programs are to need at most; None where PyTorch's choice stays.
        """
        step = step_of(gm, outputs)
        search = CheckpointSearch(step, work=self._work_limit)
        operators = {operator.id for operator in step.graph.operators}
        by_name = {node.name: node for node in gm.graph.nodes}
        kept = [
            by_name[node.name]
            for node in theirs[1].graph.nodes
            if node.name in by_name and node.op == "placeholder"
        ]
        start = search.judged([_maker(node, operators).name for node in kept])
        limit = self._budget if isinstance(self._budget, int) else int(self._budget * start.peak)
        if start.peak <= limit:
            return None
        choice = search.within(limit, start)
        if choice.peak > limit:
            message = (
                f"memstow: a budget of {limit:,} bytes is less than the step needs; the least that was "
                f"found needs about {choice.peak:,}, and PyTorch's own choice {start.peak:,}"
            )
            warnings.warn(message, RuntimeWarning, 2)
        _mark(gm, choice)
        return max(limit, choice.peak)


def step_of(gm: Any, outputs: int) -> TrainingStep:
    """The step of a graph of both passes, whose first outputs are those of the forward pass."""
    graph = graph_of(gm, dims=_hints(gm))
    makes = {operator.id: operator.outputs for operator in graph.operators}
    kinds = get_default_op_list()
    backward: set[Any] = set()
    for node in gm.graph.nodes:
        is_tangent = node.op == "placeholder" and "tangents" in str(node.target)
        if is_tangent or not backward.isdisjoint(node.all_input_nodes):
            backward.add(node)
    calls = [node for node in gm.graph.nodes if node.name in makes]
    (results,) = next(node for node in reversed(gm.graph.nodes) if node.op == "output").args
    returned = [_maker(node, makes) for node in results[:outputs] if isinstance(node, torch.fx.Node)]
    fixed = {name for pair in graph.before for name in pair}
    return TrainingStep(
        graph=graph,
        forward_outputs=frozenset(name for node in returned for name in makes.get(node.name, ())),
        backward=frozenset(node.name for node in calls if node in backward),
        element_wise=frozenset(
            node.name for node in calls if kinds.is_fusible(node) and _is_element_wise(node)
        ),
        fusing=frozenset(node.name for node in calls if kinds.is_fusible(node)),
        once=frozenset(
            node.name
            for node in calls
            if node.name in fixed or _MARK in node.meta or not _is_same_again(node)
        ),
    )


def _maker(node: Any, operators: Collection[str]) -> Any:
    """The operator, or the input, whose memory the node views."""
    while node.name not in operators and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def _hints(gm: Any) -> dict[str, int]:
    """The values of sizes that are open, in the run that the program is compiled for."""
    values = [node.meta.get("val") for node in gm.graph.nodes if node.op == "placeholder"]
    return {
        str(value.node.expr): value.node.hint
        for value in values
        if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol
    }


def _is_element_wise(node: Any) -> bool:
    """Whether its result is as large as the tensors that it reads, or larger."""
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor):
        return False
    sources = [leaf for entry in node.all_input_nodes for leaf in tree_leaves(entry.meta.get("val"))]
    return all(not isinstance(leaf, torch.Tensor) or leaf.numel() <= value.numel() for leaf in sources)


def _is_same_again(node: Any) -> bool:
    """Whether the operator makes the same when it runs again."""
    tags = getattr(node.target, "tags", ())
    is_plain = isinstance(node.target, torch._ops.OpOverload)
    return is_plain and torch.Tag.nondeterministic_seeded not in tags and not node.target._schema.is_mutable


def _mark(gm: Any, choice: Checkpoints) -> None:
    for node in gm.graph.nodes:
        if _MARK in node.meta:
            continue
        if node.name in choice.kept or node.name in choice.again:
            is_kept = node.name in choice.kept
            node.meta[_MARK] = CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.MUST_RECOMPUTE
            node.meta[_GROUP] = 0
