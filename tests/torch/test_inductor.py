"""Programs that Inductor compiles with a plan of ours do the same, in the memory that is said."""

import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import memstow.torch
from tests.torch import NEEDED

torch: Any = pytest.importorskip("torch", reason=NEEDED)
pytestmark = pytest.mark.filterwarnings("default")


class Heads(torch.nn.Module):
    """Blocks one after the other, each with a head whose result waits for the end."""

    def __init__(self, width: int = 64, depth: int = 3) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in range(depth)])
        self.heads = torch.nn.ModuleList([torch.nn.Linear(width, 4 * width) for _ in range(depth)])

    def forward(self, x: Any) -> Any:
        """The sum of all heads."""
        waiting = []
        for block, head in zip(self.blocks, self.heads, strict=True):
            x = torch.relu(block(x))
            waiting.append(head(x))
        return torch.cat(waiting, -1).sum(-1)


@pytest.fixture(autouse=True)
def _without_caches(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """What was compiled before says nothing of what is compiled now; kernels themselves may be kept."""
    from torch._inductor import config

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "inductor"))
    with config.patch(fx_graph_cache=False, compile_threads=1):
        torch._dynamo.reset()
        yield


def compiled(model: Any, options: dict[str, Any] | None, *, dynamic: bool | None = None) -> Any:
    """The model as Inductor compiles it with these options."""
    torch._dynamo.reset()
    return torch.compile(model, options=options, dynamic=dynamic)


@pytest.mark.parametrize("arena", [False, True])
def test_inference_is_bit_equal_in_the_memory_that_is_said(arena: bool) -> None:
    from tests.torch.measuring import most_allocated

    torch.manual_seed(1)
    model, x = Heads().eval(), torch.randn(16, 64)
    with torch.no_grad():
        theirs, ours = compiled(model, None), compiled(model, memstow.torch.inductor(arena=arena))
        expected = theirs(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            assert torch.equal(ours(x), expected)
        assert most_allocated(lambda: ours(x)) <= most_allocated(lambda: theirs(x))


def test_an_arena_is_one_allocation() -> None:
    from torch._inductor.utils import run_and_get_code

    model, x = Heads().eval(), torch.randn(16, 64)
    with torch.no_grad():
        _, (code,) = run_and_get_code(compiled(model, memstow.torch.inductor()), x)
    assert code.count("arena0 = empty_strided_cpu") == 1
    assert code.count("alloc_from_pool(arena0") >= 2


def test_a_training_step_has_the_same_gradients() -> None:
    torch.manual_seed(2)
    x = torch.randn(16, 64)
    gradients = []
    for options in (None, memstow.torch.inductor()):
        torch.manual_seed(3)
        model = Heads()
        step = compiled(model, options)
        step(x).square().mean().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    assert all(map(torch.equal, *gradients))


@pytest.mark.parametrize("shape", [(16, 64), (4, 8, 64)])
def test_open_sizes_have_an_arena_that_holds_at_all_of_them(shape: tuple[int, ...]) -> None:
    from torch._inductor.utils import run_and_get_code

    from tests.torch.measuring import most_allocated

    torch.manual_seed(1)
    model = Heads().eval()
    theirs = compiled(model, None, dynamic=True)
    ours = compiled(model, memstow.torch.inductor(), dynamic=True)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        _, (code,) = run_and_get_code(ours, torch.randn(shape))
        assert code.count("arena0_size = max(") == 1
        assert code.count("alloc_from_pool(arena0") >= 2
        # Small and odd, near those of the plan, and far beyond.
        for times, more in ((0, 2), (0, 3), (1, 0), (2, 1), (7, 5), (60, 1)):
            x = torch.randn(*(extent * times + more for extent in shape[:-1]), 64)
            assert torch.equal(ours(x), theirs(x))
            assert most_allocated(partial(ours, x)) <= most_allocated(partial(theirs, x))


def test_an_order_of_open_sizes_joins_all_that_are_live_together() -> None:
    from memstow.api.plugins.torch.inductor import _holds_at_all_sizes

    above = {0: [], 1: [0], 2: [1], 3: []}
    assert _holds_at_all_sizes(above, [0, 3, 1, 2], [(0, 3), (1, 4), (2, 5), (5, 6)])
    # By way of 1, which is not live with the others.
    assert _holds_at_all_sizes(above, [3, 0, 1, 2], [(0, 3), (5, 6), (1, 3), (3, 4)])
    assert not _holds_at_all_sizes(above, [0, 1, 2, 3], [(0, 3), (1, 4), (2, 5), (4, 6)])
    assert not _holds_at_all_sizes({0: [], 1: []}, [1, 0], [(0, 2), (1, 3)])


def test_a_training_step_of_open_sizes_has_the_same_gradients() -> None:
    gradients = []
    for options in (None, memstow.torch.inductor()):
        torch.manual_seed(3)
        model = Heads()
        step = compiled(model, options, dynamic=True)
        for batch in (16, 3, 50):
            step(torch.arange(batch * 64.0).view(batch, 64).cos()).square().mean().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    assert all(map(torch.equal, *gradients))


def test_an_arena_is_not_beside_what_has_no_size_yet() -> None:
    from torch._inductor.utils import run_and_get_code

    def heads(x: Any, weight: Any) -> Any:
        chosen = x[x.sum(-1) > 0]
        return torch.relu(chosen @ torch.relu(torch.relu(weight @ weight) @ weight)).sum(-1)

    x, weight = torch.randn(16, 64), torch.randn(64, 64)
    expected = heads(x, weight)
    torch._dynamo.reset()
    with torch.no_grad(), torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        result, (code,) = run_and_get_code(torch.compile(heads, options=memstow.torch.inductor()), x, weight)
    assert torch.allclose(result, expected, rtol=1e-4)
    assert "arena0" not in code


def test_what_fails_is_said_and_inductor_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import memory

    monkeypatch.delattr(memory, "prepare_planning_info")
    model, x = Heads().eval(), torch.randn(16, 64)
    with torch.no_grad():
        expected = model(x)
        with pytest.warns(RuntimeWarning, match="memstow: Inductor's own plan is used, since AttributeError"):
            result = compiled(model, {**memstow.torch.inductor(), "reorder_for_peak_memory": False})(x)
    assert torch.allclose(result, expected, atol=1e-5)


def test_the_graph_of_the_kernels_needs_what_inductor_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import memory
    from torch._inductor.virtualized import V
    from torch.utils._ordered_set import OrderedSet

    from memstow.api.plugins.torch import inductor as plugin

    compared = []

    def compare(nodes: list[Any], _: Any) -> list[Any]:
        outputs = OrderedSet(V.graph.get_output_names())
        scheduler = V.graph.scheduler
        inputs = OrderedSet(V.graph.graph_inputs.keys())
        estimate, freeable = memory.prepare_planning_info(
            nodes, scheduler.name_to_buf, scheduler.name_to_fused_node, inputs, outputs
        )
        graph = plugin.graph_of_nodes(nodes, freeable, outputs)
        plan = memstow.plan(memstow.Graph(**{**_fields(graph), "order": "given"}))
        compared.append((estimate, sum(use.live.bytes for use in plan.pools if use.live is not None)))
        return nodes

    monkeypatch.setattr(plugin, "_ordered", compare)
    model, x = Heads(), torch.randn(16, 64, requires_grad=True)
    compiled(model, memstow.torch.inductor())(x).square().mean().backward()
    assert len(compared) == 2, "forward and backward"
    for estimate, live in compared:
        assert live == estimate


class Chains(torch.nn.Module):
    """Two chains of products, which need the least one after the other."""

    def __init__(self) -> None:
        super().__init__()
        shapes = (1, 10), (10, 1), (1, 1), (1, 10)
        self.factors = torch.nn.ParameterList([torch.ones(shape) for shape in shapes])

    def forward(self, x: Any) -> Any:
        """The sum of both."""
        first, second, third, fourth = self.factors
        wide, narrow = x @ first, x @ third
        return (wide @ second).sum() + (narrow @ fourth).sum()


def test_no_rule_of_inductor_needs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config, memory

    estimates: list[dict[str, int]] = []

    def reorder(nodes: list[Any], buffers: Any, fused: Any, inputs: Any, outputs: Any) -> list[Any]:
        given, freeable = memory.prepare_planning_info(nodes, buffers, fused, inputs, outputs)
        orders = {
            "lpmf": memory.topological_sort_lpmf(nodes, freeable, buffers, outputs),
            "bfs": memory.topological_sort_bfs(nodes),
            "dfs": memory.topological_sort_dfs(nodes),
        }
        estimates.append(
            {name: memory.estimate_peak_memory(order, freeable, outputs)[0] for name, order in orders.items()}
        )
        estimates[-1]["given"] = given
        return nodes

    monkeypatch.setattr(memory, "reorder_for_peak_memory", reorder)
    x = torch.ones(2048, 1)
    # Which kernels there are must not depend on how small these tensors are.
    with config.patch(score_fusion_memory_threshold=1):
        for options in (None, memstow.torch.inductor()):
            compiled(Chains(), options)(x)
    theirs, ours = estimates
    assert ours["given"] < min(theirs.values())


SIZES = {"first": 10, "second": 90, "third": 5}


def _line(kind: Any, name: str, size: int = 0, reads: Iterable[str] = ()) -> Any:
    """A line of Inductor's program, about a buffer of so many bytes."""
    entry = kind.__new__(kind)
    entry.node = SimpleNamespace(
        get_name=lambda: name,
        get_layout=lambda: SimpleNamespace(storage_size=lambda: size),
        get_dtype=lambda: torch.int8,
        get_read_names=lambda: set(reads),
        get_inputs_that_alias_output=list,
    )
    return entry


def _pooled(lines: list[Any], freed: dict[str, Any]) -> list[str]:
    """What shares an arena of all that is allocated line by line."""
    from torch._inductor.codegen.wrapper import AllocateLine
    from torch._inductor.virtualized import V

    from memstow.api.plugins.torch.inductor import _Ledger

    nodes = {line.node.get_name(): line.node for line in lines if hasattr(line, "node")}
    names = [line.node.get_name() for line in lines if isinstance(line, AllocateLine)]
    with V.set_graph_handler(SimpleNamespace(try_get_buffer=nodes.get, removed_buffers=set())):
        ledger = _Ledger(lines, freed, {})
    pooled = ledger.worth_pooling(names)
    assert not pooled or ledger.excess(pooled, 0)[0] == 0
    return pooled


def test_an_arena_waits_for_what_a_backward_pass_is_given() -> None:
    from torch._inductor.codegen.wrapper import AllocateLine, FreeIfNotReusedLine, FreeLine

    # What was kept goes before the buffer comes; an arena would be beside both from the beginning.
    lines = [
        _line(AllocateLine, "first", 10),
        _line(FreeLine, "kept"),
        _line(AllocateLine, "second", 90),
        _line(AllocateLine, "third", 5),
        *(_line(FreeIfNotReusedLine, name, size) for name, size in SIZES.items()),
    ]
    assert _pooled(lines, {}) == ["first", "second", "third"]
    assert _pooled(lines, {"kept": _line(FreeLine, "kept", 90).node}) == ["second", "third"]


def test_a_result_beside_an_arena_has_room() -> None:
    from torch._inductor.codegen.wrapper import AllocateLine, ExternKernelAllocLine, FreeIfNotReusedLine

    # The result comes when nothing but the third is live; the arena of all would be beside it.
    lines = [
        *(_line(AllocateLine, name, size) for name, size in SIZES.items()),
        *(_line(FreeIfNotReusedLine, name, SIZES[name]) for name in ("first", "second")),
        _line(ExternKernelAllocLine, "result", 8),
        _line(FreeIfNotReusedLine, "third", 5),
    ]
    assert _pooled(lines, {}) == ["first", "second"]


@pytest.mark.parametrize(("read", "expected"), [(30, ["read", "large", "small"]), (70, ["large", "small"])])
def test_kernels_that_allocate_have_room_for_copies_beside_an_arena(read: int, expected: list[str]) -> None:
    from torch._inductor.codegen.wrapper import AllocateLine, ExternKernelAllocLine, FreeIfNotReusedLine

    # An arena of 100 bytes would be there when `made` comes, which needs another 10 and the room for copies.
    lines = [
        _line(AllocateLine, "read", read),
        _line(ExternKernelAllocLine, "made", 10, reads=["read"]),
        _line(FreeIfNotReusedLine, "read", read),
        _line(FreeIfNotReusedLine, "made", 10),
        _line(AllocateLine, "large", 90),
        _line(AllocateLine, "small", 10),
        _line(ExternKernelAllocLine, "late", 60),
        _line(FreeIfNotReusedLine, "large", 90),
        _line(FreeIfNotReusedLine, "small", 10),
    ]
    assert _pooled(lines, {}) == expected


@pytest.mark.parametrize(("part", "expected"), [(10, ["read", "large", "small"]), (20, ["read", "large"])])
def test_copies_of_several_results_have_room_beside_an_arena(part: int, expected: list[str]) -> None:
    from torch._inductor.codegen.wrapper import (
        AllocateLine,
        ExternKernelAllocLine,
        FreeIfNotReusedLine,
        MultiOutputLine,
    )

    # As above; one of the results is a buffer of its own.
    lines: list[Any] = [
        _line(AllocateLine, "read", 30),
        _line(ExternKernelAllocLine, "made", reads=["read"]),
        MultiOutputLine(None, "part", "made", [(tuple, 0)]),
        _line(FreeIfNotReusedLine, "read", 30),
        _line(FreeIfNotReusedLine, "part", part),
        _line(FreeIfNotReusedLine, "made"),
        _line(AllocateLine, "large", 90),
        _line(AllocateLine, "small", 10),
        _line(ExternKernelAllocLine, "late", 60),
        _line(FreeIfNotReusedLine, "large", 90),
        _line(FreeIfNotReusedLine, "small", 10),
    ]
    assert _pooled(lines, {}) == expected


def test_several_results_are_there_until_the_last_of_them_goes() -> None:
    from torch._inductor.codegen.wrapper import ExternKernelAllocLine, FreeIfNotReusedLine, MultiOutputLine
    from torch._inductor.virtualized import V

    from memstow.api.plugins.torch.inductor import _spans

    parts: Any = [MultiOutputLine(None, name, "made", [(tuple, at)]) for at, name in enumerate("ab")]
    lines = [
        _line(ExternKernelAllocLine, "made"),
        *parts,
        _line(FreeIfNotReusedLine, "a", 10),
        _line(FreeIfNotReusedLine, "made"),
        _line(FreeIfNotReusedLine, "b", 20),
    ]
    nodes = {"a": _line(FreeIfNotReusedLine, "a", 10).node, "b": _line(FreeIfNotReusedLine, "b", 20).node}
    with V.set_graph_handler(SimpleNamespace(try_get_buffer=nodes.get, removed_buffers=set())):
        assert _spans(lines, {}, {}) == {"made": (0, 4, 0), "a": (0, 4, 10), "b": (0, 5, 20)}


def test_an_input_that_is_overwritten_goes_with_what_overwrites_it() -> None:
    from torch._inductor.codegen.wrapper import AllocateLine, FreeIfNotReusedLine, FreeLine, ReuseLine
    from torch._inductor.virtualized import V

    from memstow.api.plugins.torch.inductor import _spans

    kept = _line(FreeLine, "kept", 30).node
    reuse = ReuseLine(None, kept, _line(AllocateLine, "over", 30).node)
    lines = [
        _line(AllocateLine, "fused", 50),
        reuse,
        _line(FreeIfNotReusedLine, "over", 30),
        _line(AllocateLine, "late", 5),
    ]
    with V.set_graph_handler(SimpleNamespace(removed_buffers={"fused"})):
        assert _spans(lines, {"kept": kept}, {}) == {"kept": (-1, 2, 30), "late": (3, 4, 5)}


def test_an_order_alone_is_not_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memstow, "plan", None)
    model, x = Heads().eval(), torch.randn(16, 64)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = compiled(model, memstow.torch.inductor(arena=False))(x)
        assert torch.allclose(result, model(x), atol=1e-5)


def test_a_program_that_checks_what_it_allocates_has_no_arena() -> None:
    from torch._inductor import config

    def powers(x: Any) -> Any:
        return (x @ x @ x @ x).sum(-1)

    x = torch.randn(128, 128)
    checks = {"test_configs.track_memory_lifecycle": "assert", "allow_buffer_reuse": False}
    with config.patch(checks):
        assert torch.allclose(compiled(powers, memstow.torch.inductor())(x), powers(x), rtol=1e-3)


class _Node:
    """A node of Inductor's scheduler, as far as its order depends on it."""

    def __init__(self, name: str, reads: list[str], *, takes: int, frees: int) -> None:
        self.name = name
        self.unmet_dependencies = [SimpleNamespace(name=read) for read in reads]
        sizes = SimpleNamespace(size_alloc=takes, size_free=frees)
        self.users: list[Any] = []
        self._buffer = SimpleNamespace(get_name=lambda: f"buf_{name}", mpi_buffer=sizes, users=self.users)

    def get_name(self) -> str:
        """The name of the node."""
        return self.name

    def get_outputs(self) -> list[Any]:
        """The one buffer that it makes."""
        return [self._buffer]

    def get_buffer_names(self) -> set[str]:
        """Its name."""
        return {self._buffer.get_name()}


def test_one_of_several_results_is_taken_where_they_are_made() -> None:
    from memstow.api.plugins.torch.inductor import _with_parts_taken

    make = _Node("make", [], takes=96, frees=0)
    other = _Node("other", [], takes=32, frees=32)
    first, second = (_Node(name, ["buf_make"], takes=0, frees=48) for name in ("first", "second"))
    make.users += [SimpleNamespace(node=first), SimpleNamespace(node=second)]
    # Until the second one is taken as well, the memory of both is held.
    names = [node.name for node in _with_parts_taken([make, first, other, second])]
    assert names == ["make", "first", "second", "other"]


def _fields(graph: Any) -> dict[str, Any]:
    names = ("name", "tensors", "operators", "inputs", "outputs", "before")
    return {name: getattr(graph, name) for name in names}
