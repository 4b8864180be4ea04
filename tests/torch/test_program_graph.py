"""Graphs of traced programs need what the programs need when they run."""

import io
from dataclasses import replace
from typing import Any

import pytest

import memstow
from memstow.planner.formats import read_graph
from memstow.planner.model.errors import InputError
from memstow.torch import graph_of, reordered, symbolic_graph_of
from tests.torch import NEEDED

torch: Any = pytest.importorskip("torch", reason=NEEDED)
pytestmark = pytest.mark.filterwarnings("default")


class Net(torch.nn.Module):
    """A convolution, a state that changes, parts that are views, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.dense = torch.nn.Linear(8 * 16 * 16, 10)
        self.register_buffer("runs", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        """Halves change places on the way."""
        self.runs.add_(1)
        flat = torch.max_pool2d(torch.relu(self.conv(x)), 2).flatten(1)
        first, second = flat.chunk(2, 1)
        return self.dense(torch.cat([second, first], 1).view(-1, 8 * 16 * 16))


def exported(**options: Any) -> Any:
    """The program of the network for four images."""
    return torch.export.export(Net(), (torch.zeros(4, 3, 32, 32),), **options)


def open_batch() -> Any:
    """The same for 2 to 64 images."""
    return exported(dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},))


def live(graph: Any) -> int:
    """The most bytes that are live as the graph is planned."""
    return sum(use.live.bytes for use in memstow.plan(graph).pools if use.live is not None)


@pytest.mark.parametrize("mode", ["real", "fake"])
def test_live_bytes_are_those_of_a_run(mode: str) -> None:
    from tests.torch.measuring import peak_of
    from tests.torch.programs import traced

    inputs = torch.ones(4, 4), torch.ones(3)
    for seed in range(80):
        module = traced(seed, mode, inputs)
        assert live(graph_of(module, alignment=1)) == peak_of(module, *inputs), seed


def test_a_program_in_the_order_of_a_plan_does_the_same_in_the_memory_of_the_plan() -> None:
    from tests.torch.measuring import peak_of
    from tests.torch.programs import traced

    inputs = torch.arange(16.0).view(4, 4), torch.arange(3.0)
    better = 0
    for seed in range(80):
        module = traced(seed, "fake", inputs)
        graph = replace(graph_of(module, alignment=1), order="free")
        plan = memstow.plan(graph)
        other = reordered(module, plan)
        # Some programs change their inputs.
        results, expected = (run(*(entry.clone() for entry in inputs)) for run in (other, module))
        assert all(map(torch.equal, results, expected)), seed
        peak = peak_of(other, *inputs)
        assert peak == sum(use.live.bytes for use in plan.pools if use.live is not None), seed
        better += peak < peak_of(module, *inputs)
    assert better


def test_a_program_of_export_is_read_with_its_parameters_as_constants() -> None:
    graph = graph_of(exported())
    kinds = {tensor.id: tensor.kind for tensor in graph.tensors}
    assert kinds["p_conv_weight"] == "constant"
    assert kinds["b_runs"] == "external", "it changes, and is no weight"
    assert kinds["x"] == "external"
    assert [operator.id for operator in graph.operators] == [
        *("add_", "conv2d", "relu", "max_pool2d", "cat", "linear")
    ]
    assert graph.outputs == ("linear",)
    sizes = {tensor.id: tensor.size for tensor in graph.tensors}
    assert (sizes["conv2d"], sizes["max_pool2d"], sizes["linear"]) == (131072, 32768, 160)
    costs = {operator.id: operator.cost for operator in graph.operators}
    assert costs["conv2d"] == 2 * 4 * 32 * 32 * 8 * 3 * 9, "as PyTorch counts floating point operations"
    assert costs["relu"] == 4 * 8 * 32 * 32


def test_inputs_and_pairs_in_place_are_planned_where_that_is_wanted() -> None:
    graph = graph_of(exported(), in_place=True, plan_inputs=["x"])
    assert graph.inputs == ("x",)
    pairs = {operator.id: operator.in_place for operator in graph.operators}
    assert pairs["relu"] == (("conv2d", "relu"),)
    assert not pairs["conv2d"]
    with pytest.raises(InputError, match='no input "y"; there are: x'):
        graph_of(exported(), plan_inputs=["y"])


def test_sizes_that_are_open_are_formulas_or_get_values() -> None:
    graph = symbolic_graph_of(open_batch())
    (symbol,) = graph.symbols
    assert (symbol.min, symbol.max) == (2, 64)
    sizes = {tensor.id: tensor.size for tensor in graph.tensors}
    assert sizes["conv2d"] == f"32768*{symbol.id}"
    for name in ("x:0", symbol.id):
        fixed = graph_of(open_batch(), dims={name: 8})
        assert {tensor.id: tensor.size for tensor in fixed.tensors}["conv2d"] == 8 * 32768
    with pytest.raises(InputError, match="80 is no value of"):
        graph_of(open_batch(), dims={"x:0": 80})
    with pytest.raises(InputError, match='no size depends on "n"'):
        graph_of(open_batch(), dims={"n": 8})
    with pytest.raises(InputError, match=r"sizes depend on s\d+ \(axis 0 of x\)"):
        graph_of(open_batch())
    with pytest.raises(InputError, match="no size of the program is open"):
        symbolic_graph_of(exported())


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_dimension_without_a_largest_value_has_a_plan_for_all(is_saved: bool) -> None:
    class Scores(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.relu(x)
            return (y @ y.transpose(0, 1)).softmax(-1) @ y

    open_length = ({0: torch.export.Dim("length")},)
    program = torch.export.export(Scores(), (torch.zeros(24, 8),), dynamic_shapes=open_length)
    if is_saved:
        data = io.BytesIO()
        torch.export.save(program, data)
        program = torch.export.load(io.BytesIO(data.getvalue()))
    graph = symbolic_graph_of(program)
    (symbol,) = graph.symbols
    # There scores of 4 * length * length bytes are more than any machine has.
    assert 1 << 20 <= symbol.max < 1 << 30
    assert 24 in [point.at[symbol.id] for point in graph.points]
    plan = memstow.plan_symbolic(memstow.lower_symbolic(graph))
    assert plan.status == "optimal"
    with pytest.raises(InputError, match="at least"):
        graph_of(program, dims={"x:0": -1})


def test_a_saved_program_is_a_model() -> None:
    data = io.BytesIO()
    torch.export.save(exported(), data)
    graph = read_graph(data.getvalue())
    assert [operator.id for operator in graph.operators][-1] == "linear"
    data = io.BytesIO()
    torch.export.save(open_batch(), data)
    assert read_graph(data.getvalue(), dims={"x:0": 2}) != graph
    with pytest.raises(InputError, match=r"--dim s\d+=64"):
        read_graph(data.getvalue())
    with pytest.raises(InputError, match="PyTorch cannot load the program"):
        read_graph(data.getvalue()[:1000])


def test_what_cannot_be_read_is_refused() -> None:
    from torch.fx import symbolic_trace

    with pytest.raises(InputError, match=r"trace the program by torch\.export\.export"):
        graph_of(symbolic_trace(torch.nn.Sequential(torch.nn.ReLU())))
    with pytest.raises(TypeError, match=r"graph_of takes what torch\.export\.export"):
        graph_of(torch.nn.ReLU())

    class Branches(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))

    with pytest.raises(InputError, match="runs a graph of its own"):
        graph_of(torch.export.export(Branches(), (torch.zeros(3),)))


def test_random_numbers_and_changes_keep_their_order() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    def program(x: Any) -> Any:
        first, second = torch.rand_like(x), torch.rand_like(x)
        y = x + 1
        z = y * 3
        y.add_(first)
        return y, z, second

    graph = graph_of(make_fx(program, tracing_mode="fake")(torch.zeros(3)))
    assert ("rand_like", "rand_like_1") in graph.before
    assert ("mul", "add_") in graph.before


def test_running_statistics_change_where_the_schema_does_not_say_so() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    def program(training: bool) -> Any:
        def run(x: Any, mean: Any, variance: Any) -> Any:
            before = mean + 1
            norm = torch.nn.functional.batch_norm(x, mean, variance, training=training)
            return before, norm, mean * 2

        return make_fx(run, tracing_mode="fake")(*inputs)

    inputs = torch.ones(4, 3), torch.zeros(3), torch.ones(3)
    trained = graph_of(program(training=True))
    (norm,) = [entry.id for entry in trained.operators if "batch_norm" in entry.id]
    assert {("add", norm), (norm, "mul")} <= set(trained.before)
    assert not graph_of(program(training=False)).before


@pytest.mark.parametrize("mode", ["real", "fake"])
def test_parts_of_several_results_are_no_copies(mode: str) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    module = make_fx(lambda x: torch.sort(x), tracing_mode=mode)(torch.zeros(64, 64))
    assert live(graph_of(module)) == 64 * 64 * (4 + 8)


def test_other_memory_under_a_tensor_is_refused() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    module = make_fx(lambda x: torch.empty(0).set_(x + 1), tracing_mode="fake")(torch.zeros(3))
    with pytest.raises(InputError, match="gives a tensor other memory"):
        graph_of(module)


def test_what_is_no_program_or_no_plan_of_it_is_refused() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    module = make_fx(lambda x: x + 1, tracing_mode="fake")(torch.zeros(3))
    plan = memstow.plan(graph_of(module))
    larger = make_fx(lambda x: (x + 1) * 2, tracing_mode="fake")(torch.zeros(3))
    with pytest.raises(InputError, match="the plan is of another program, or runs operators again: mul"):
        reordered(larger, plan)
    for wrong in (None, 3, torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="reordered takes a module that was traced"):
            reordered(wrong, plan)
    with pytest.raises(TypeError, match="dims has integers by names"):
        graph_of(module, dims={"x": 2.5})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="0 is no alignment"):
        graph_of(module, alignment=0)
