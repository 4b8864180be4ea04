"""ExecuTorch's Cadence backend with memstow: its constraints hold, and it needs no more than with its own."""

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
    first, second, ours = (planned(et, [1 << 20], it).meta["non_const_buffer_sizes"] for it in range(3))
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

    found = specs(planned(et, [1 << 20, 1 << 20], 2, Constraints))
    assert (found["aten_relu_default"].mem_id, found["aten_relu_default"].mem_offset) == (2, 512)
    assert found["aten_mm_default"].mem_id == 2
    assert {spec.mem_id for spec in found.values() if spec.mem_id} == {1, 2}


def test_what_does_not_fit_is_the_failure_that_cadence_has(et: Any) -> None:
    from executorch.backends.cadence.aot.utils import MemoryPlanningAlgoFailure

    with pytest.raises(MemoryPlanningAlgoFailure, match="do not fit"):
        planned(et, [256], 2)
