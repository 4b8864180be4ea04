"""ExecuTorch's Cadence backend with memstow: its constraints hold, and it needs no more than with its own."""

from itertools import combinations
from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("default")


def planned(et: Any, sizes: list[int], algorithm: int, *constraints: Any) -> Any:
    """The graph of a model with a concatenation and slices, planned by the algorithm with this number."""
    import executorch.backends.cadence.aot.ops_registrations  # noqa: F401
    from executorch.backends.cadence.aot.pass_utils import CompileMode
    from executorch.backends.cadence.aot.utils import MemoryConfig
    from executorch.exir import ExecutorchBackendConfig, to_edge

    from memstow.executorch import CadencePlanning

    class Parts(et.torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            both = et.torch.cat((x * 2, y + 1), 0)
            return both[8:16] @ both[:8] + (x @ y).relu()

    example = (et.torch.randn(8, 8), et.torch.randn(8, 8))
    config = MemoryConfig(memory_sizes=sizes, memory_alignments=[16] * len(sizes))
    planning = CadencePlanning(
        config, CompileMode.DEFAULT, mem_algo=algorithm, additional_constraint_gen_passes=constraints
    )
    edge = to_edge(et.torch.export.export(Parts(), example))
    made = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    return made.exported_program().graph_module


def specs(graph: Any) -> dict[str, Any]:
    return {node.name: node.meta["spec"] for node in graph.graph.nodes if node.op == "call_function"}


def test_it_needs_no_more_than_the_others(et: Any) -> None:
    first, second, ours = (planned(et, [1 << 20], index).meta["non_const_buffer_sizes"] for index in range(3))
    assert sum(ours) <= min(sum(first), sum(second))


def test_pins_and_blocklists_hold(et: Any) -> None:
    class Constraints:
        def __init__(self, constraints: Any) -> None:
            self._constraints = constraints

        def __call__(self, graph: Any) -> None:
            for node in graph.graph.nodes:
                if node.name == "aten_relu_default":
                    self._constraints.add_absolute_placement_constraint(node, 2, 512)
                if node.name == "aten_mm_default":
                    self._constraints.add_mem_id_to_blocklist(node.meta["spec"], 1)

    specifications = specs(planned(et, [1 << 20, 1 << 20], 2, Constraints))
    assert (specifications["aten_relu_default"].mem_id, specifications["aten_relu_default"].mem_offset) == (
        2,
        512,
    )
    assert specifications["aten_mm_default"].mem_id == 2
    assert {spec.mem_id for spec in specifications.values() if spec.mem_id} == {1, 2}


def test_parts_lie_where_they_are_in_the_whole_and_nothing_else_is_there(et: Any) -> None:
    specifications = specs(planned(et, [1 << 20], 2))
    whole = specifications["aten_cat_default"]
    parts = {"aten_mul_tensor": 0, "aten_add_tensor": 256}
    parts |= {"aten_slice_copy_tensor": 256, "aten_slice_copy_tensor_1": 0}
    for name, distance in parts.items():
        assert (specifications[name].mem_id, specifications[name].mem_offset) == (
            whole.mem_id,
            whole.mem_offset + distance,
        )
    # A tensor is at two nodes: the one that allocates it and the one that makes it.
    placed = {id(spec): spec for spec in specifications.values() if spec.mem_id}
    for name in parts:
        placed.pop(id(specifications[name]))
    assert len(placed) > 5
    assert not [pair for pair in combinations(placed.values(), 2) if _clash(*pair)]


def _clash(one: Any, other: Any) -> bool:
    """Whether they share bytes while both are in use."""
    apart = one.lifetime[1] < other.lifetime[0] or other.lifetime[1] < one.lifetime[0]
    ends = [entry.mem_offset + entry.allocated_memory for entry in (one, other)]
    shared = one.mem_id == other.mem_id and max(one.mem_offset, other.mem_offset) < min(ends)
    return shared and not apart


def test_parts_follow_a_whole_that_is_pinned(et: Any) -> None:
    class Constraints:
        def __init__(self, constraints: Any) -> None:
            self._constraints = constraints

        def __call__(self, graph: Any) -> None:
            for node in graph.graph.nodes:
                if node.name == "aten_cat_default":
                    self._constraints.add_absolute_placement_constraint(node, 2, 1024)

    specifications = specs(planned(et, [1 << 20, 1 << 20], 2, Constraints))
    places = {name: (spec.mem_id, spec.mem_offset) for name, spec in specifications.items()}
    assert places["aten_cat_default"] == places["aten_mul_tensor"] == (2, 1024)
    assert places["aten_add_tensor"] == places["aten_slice_copy_tensor"] == (2, 1280)
    assert places["aten_mm_default"][0] == 1


def test_padding_follows_what_is_in_a_memory(et: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from executorch.exir import memory_planning

    _, size = planned(et, [1 << 20], 2).meta["non_const_buffer_sizes"]
    # ExecuTorch asks for it where it sees a delegate of XNNPACK, which Cadence never has.
    monkeypatch.setattr(memory_planning, "_contains_xnnpack_delegate", lambda _: True)
    assert planned(et, [1 << 20], 2).meta["non_const_buffer_sizes"] == [0, size + 64]
    assert planned(et, [size + 64, 1 << 20], 2).meta["non_const_buffer_sizes"] == [0, size + 64, 0]
    _, first, second = planned(et, [size + 63, 1 << 20], 2).meta["non_const_buffer_sizes"]
    assert 64 < first < size + 64
    assert second > 64


def test_what_does_not_fit_is_the_failure_that_cadence_has(et: Any) -> None:
    from executorch.backends.cadence.aot.utils import MemoryPlanningAlgoFailure

    with pytest.raises(MemoryPlanningAlgoFailure, match="do not fit"):
        planned(et, [256], 2)
