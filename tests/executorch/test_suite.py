"""ExecuTorch compiles with memstow: never larger than its greedy, and what runs answers as it should."""

import warnings
from typing import Any

import pytest

from memstow.executorch import Memstow, NoPlanError
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.verify import verify
from tests.executorch import NEEDED

# ExecuTorch and PyTorch warn of each other.
pytestmark = pytest.mark.filterwarnings("default")


def greedy(*args: Any) -> Any:
    from executorch.exir import memory_planning

    return memory_planning.greedy(*args)


@pytest.mark.parametrize("name", ["mlp", "mobile", "branching", "transformer", "counting"])
def test_no_model_needs_more_and_all_answer_the_same(et: Any, name: str) -> None:
    from tests.executorch.models import PLAIN

    model, calls = PLAIN[name]()
    result: list[Plan] = []
    stock = et.compiled(model, calls[0], [greedy])
    ours = et.compiled(model, calls[0], [Memstow(on_plan=lambda _, plan: result.append(plan))])
    both = et.compiled(model, calls[0], [greedy, Memstow()])
    assert [plan.status for plan in result] == [Status.OPTIMAL]
    assert ours.sizes == [0, result[0].pools[0].peak]
    assert sum(both.sizes) == sum(ours.sizes) <= sum(stock.sizes)
    assert ours.reused() > 0
    assert et.equal(ours.outputs(calls), stock.outputs(calls))
    assert et.close(ours.outputs(calls), et.expected(model, calls))


@pytest.mark.parametrize(
    "name",
    ["chosen", "two choices", "nested", "mapped", "scanned", "chosen in scan", "scan in chosen"],
)
def test_branches_are_held_as_long_as_their_results_are_read(et: Any, name: str) -> None:
    from tests.executorch.models import BRANCHES

    model, calls = BRANCHES[name]()
    stock = et.compiled(model, calls[0], [greedy])
    # What greedy answers is wrong where views of results are read, or results of two branches together.
    ours = et.compiled(model, calls[0], [Memstow()])
    assert sum(ours.sizes) <= sum(stock.sizes)
    assert et.close(ours.outputs(calls), et.expected(model, calls))
    both = et.compiled(model, calls[0], [greedy, Memstow()])
    assert both.sizes == ours.sizes
    ours.reused()


def test_graphs_with_branches_can_be_left_to_greedy(et: Any) -> None:
    from tests.executorch.models import BRANCHES

    model, calls = BRANCHES["nested"]()
    stock = et.compiled(model, calls[0], [greedy])
    ours = et.compiled(model, calls[0], [Memstow(submodules=False)])
    assert sum(ours.sizes) <= sum(stock.sizes)


def test_two_runs_give_the_same_program(et: Any) -> None:
    from tests.executorch.models import PLAIN

    model, calls = PLAIN["branching"]()
    one, other = (et.compiled(model, calls[0], [Memstow()]).program for _ in range(2))
    assert one == other


def test_tensors_go_to_two_memories(et: Any) -> None:
    from tests.executorch.models import PLAIN

    model, calls = PLAIN["mobile"]()
    (alone,) = (et.compiled(model, calls[0], [Memstow()]).sizes[1:],)
    fast = alone[0] // 3
    memories = [Pool(id="fast", capacity=fast, cost=1), Pool(id="slow", cost=4)]
    ours = et.compiled(model, calls[0], [Memstow(memories=memories)])
    assert len(ours.sizes) == 3
    assert 0 < ours.sizes[1] <= fast
    assert et.close(ours.outputs(calls), et.expected(model, calls))
    ours.reused()


def test_branches_go_to_two_memories(et: Any) -> None:
    from tests.executorch.models import BRANCHES

    model, calls = BRANCHES["nested"]()
    memories = [Pool(id="fast", capacity=2048), Pool(id="slow")]
    ours = et.compiled(model, calls[0], [Memstow(memories=memories)])
    assert ours.sizes[1] <= 2048 < ours.sizes[2]
    assert et.close(ours.outputs(calls), et.expected(model, calls))


def test_memories_that_are_too_small_are_a_clear_error(et: Any) -> None:
    from tests.executorch.models import PLAIN

    model, calls = PLAIN["mlp"]()
    with pytest.raises(NoPlanError, match=r"do not fit: .*even alone.*'tiny' \(1,024\)"):
        et.compiled(model, calls[0], [Memstow(memories=[Pool(id="tiny", capacity=1024)])])


def test_memories_given_by_a_pass_before_are_kept(et: Any) -> None:
    """Each tensor has a memory already; greedy agrees, so both may be in one suite."""
    from tests.executorch.models import PLAIN

    model, calls = PLAIN["branching"]()

    def banked(algorithm: Any) -> Any:
        def algorithm_with_banks(alignment: int, specs: Any, *rest: Any) -> Any:
            for number, spec in enumerate(specs):
                spec.mem_id = 1 + number % 2
            return algorithm(alignment, specs, *rest)

        algorithm_with_banks.__name__ = str(algorithm)
        return algorithm_with_banks

    stock = et.compiled(model, calls[0], [banked(greedy)])
    ours = et.compiled(model, calls[0], [banked(greedy), banked(Memstow())])
    assert len(ours.sizes) == len(stock.sizes) == 3
    assert sum(ours.sizes) <= sum(stock.sizes)
    assert et.equal(ours.outputs(calls), stock.outputs(calls))
    ours.reused()


def test_shapes_that_are_not_known_count_at_their_upper_bound(et: Any) -> None:
    from tests.executorch.models import PLAIN

    model, _ = PLAIN["mlp"]()
    shapes = {"x": {0: et.torch.export.Dim("batch", min=1, max=32)}}
    calls = [(et.torch.randn(size, 64),) for size in (4, 32, 1)]
    ours = et.compiled(model, calls[0], [greedy, Memstow()], shapes)
    assert ours.sizes[1] >= 4 * 32 * (256 + 64)
    assert et.close(ours.outputs(calls), et.expected(model, calls))


@pytest.mark.parametrize(
    "places", [{"alloc_graph_input": False}, {"alloc_graph_output": False}, {"alignment": 64}]
)
def test_the_settings_of_the_pass_hold(et: Any, places: dict[str, Any]) -> None:
    from tests.executorch.models import PLAIN

    model, calls = PLAIN["mobile"]()
    problems: list[Problem] = []
    ours = et.compiled(model, calls[0], [Memstow(on_plan=lambda entry, _: problems.append(entry))], **places)
    stock = et.compiled(model, calls[0], [greedy], **places)
    assert sum(ours.sizes) <= sum(stock.sizes)
    assert {buffer.alignment for buffer in problems[0].buffers} == {places.get("alignment", 16)}
    if places.get("alloc_graph_output", True):
        assert et.close(ours.outputs(calls), et.expected(model, calls))


def test_what_cannot_be_planned_is_left_to_greedy_with_a_warning(
    et: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstow.api.plugins.executorch import tensors
    from tests.executorch.models import BRANCHES

    model, calls = BRANCHES["nested"]()
    monkeypatch.setattr(tensors, "_KINDS", {})
    stock = et.compiled(model, calls[0], [greedy])
    with pytest.warns(RuntimeWarning, match="leaves this graph to greedy: .*how cond runs its branches"):
        ours = et.compiled(model, calls[0], [Memstow()])
    assert sum(ours.sizes) <= sum(stock.sizes)


def test_anything_unexpected_is_left_to_greedy_with_a_warning(
    et: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstow.api.plugins.executorch import algorithm
    from tests.executorch.models import PLAIN

    def failing(*_: Any) -> Any:
        raise IndexError("list index out of range")

    model, calls = PLAIN["mobile"]()
    monkeypatch.setattr(algorithm, "groups_of", failing)
    stock = et.compiled(model, calls[0], [greedy])
    with pytest.warns(RuntimeWarning, match="leaves this graph to greedy: IndexError: list index"):
        ours = et.compiled(model, calls[0], [Memstow()])
    assert ours.program == stock.program
    with pytest.raises(IndexError):
        et.compiled(model, calls[0], [Memstow(memories=[Pool(id="sram")])])


def test_where_greedy_needs_no_more_its_places_are_taken(et: Any) -> None:
    from tests.executorch.models import PLAIN

    model, calls = PLAIN["mlp"]()
    result: list[tuple[Problem, Plan]] = []
    stock = et.compiled(model, calls[0], [greedy])
    ours = et.compiled(model, calls[0], [Memstow(on_plan=lambda *it: result.append(it))])
    assert ours.sizes == stock.sizes
    assert _offsets(ours) == _offsets(stock)
    # What is drawn or saved is what the program has.
    (problem, plan) = result[0]
    assert verify(problem, plan) == []
    assert sorted({placement.offset for placement in plan.placements}) == sorted(set(_offsets(ours).values()))


def _offsets(compiled: Any) -> dict[str, int]:
    nodes = [node for node in compiled.graph.graph.nodes if node.op in ("placeholder", "call_function")]
    specs = {node.name: node.meta.get("spec") for node in nodes}
    return {name: entry.mem_offset for name, entry in specs.items() if getattr(entry, "mem_id", None)}


def test_tensors_may_live_beyond_the_nodes_of_their_graph() -> None:
    """As ExecuTorch's own tests have them, and passes that plan lists of tensors by themselves."""
    pytest.importorskip("executorch.exir", reason=NEEDED)
    import torch
    from executorch.exir.tensor import TensorSpec

    specs = [TensorSpec(torch.float32, torch.Size([value])) for value in (64, 32, 64)]
    for spec, life in zip(specs, ([0, 40], [3, 90], [41, 99]), strict=True):
        spec.lifetime = list(life)
    empty = torch.fx.GraphModule({}, torch.fx.Graph())
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        answer = Memstow()(16, specs, empty, None, 0)
    assert answer.bufsizes == [0, 384]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda kind: kind(memories=["tcm"]), r"memories\[0\] is 'tcm'; a memory is a memstow\.Pool"),
        (lambda kind: kind(memories=5), r"memories is 5; give a list of memstow\.Pool"),
        (lambda kind: kind(on_plan=5), r"on_plan is 5; give a function"),
        (lambda kind: kind(16, [], None, None, 0), r"a suite of algorithms lists Memstow\(\), not Memstow"),
    ],
)
def test_what_is_no_memory_or_no_instance_is_a_clear_error(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make(Memstow)


def test_memories_that_contradict_each_other_are_told_before_anything_is_compiled() -> None:
    with pytest.raises(InputError, match="'tcm' is already the id of"):
        Memstow(memories=[Pool(id="tcm", capacity=64), Pool(id="tcm")])


def test_what_a_delegate_reads_beyond_the_last_tensor_is_there(et: Any) -> None:
    """XNNPACK may read some bytes after its inputs, for which ExecuTorch asks as padding."""
    from tests.executorch.models import PLAIN

    model, calls = PLAIN["mobile"]()
    result: list[Plan] = []
    stock = et.compiled(model, calls[0], [greedy], lower=et.lowered_to_xnnpack)
    memstow = Memstow(on_plan=lambda _, plan: result.append(plan))
    ours = et.compiled(model, calls[0], [memstow], lower=et.lowered_to_xnnpack)
    assert ours.sizes == [0, result[0].pools[0].peak + 64]
    assert sum(ours.sizes) <= sum(stock.sizes)
    assert et.close(ours.outputs(calls), et.expected(model, calls))
    room = result[0].pools[0].peak + 64
    tight = Memstow(memories=[Pool(id="tight", capacity=room)])
    assert et.compiled(model, calls[0], [tight], lower=et.lowered_to_xnnpack).sizes == [0, room]
    small = Memstow(memories=[Pool(id="small", capacity=room - 1)])
    with pytest.raises(NoPlanError, match="do not fit"):
        et.compiled(model, calls[0], [small], lower=et.lowered_to_xnnpack)
