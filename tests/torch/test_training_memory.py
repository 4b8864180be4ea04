"""Training steps below a budget: the same gradients, in less memory as the allocator counts it."""

import sys
import warnings
from typing import Any

import pytest

import memstow.torch
from tests.torch import NEEDED
from tests.torch.test_inductor import _without_caches

torch: Any = pytest.importorskip("torch", reason=NEEDED)
pytestmark = pytest.mark.filterwarnings("default")
__all__ = ["_without_caches"]


class Layers(torch.nn.Module):
    """Layers with dropout, one after the other."""

    def __init__(self, width: int = 32, depth: int = 9) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x: Any) -> Any:
        """The result of the last layer."""
        for layer in self.layers:
            x = torch.nn.functional.dropout(torch.tanh(layer(x)), 0.2, self.training)
        return x


class Images(torch.nn.Module):
    """Convolutions with normalisation, whose statistics change in each step."""

    def __init__(self, channels: int = 8, depth: int = 4) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.convolutions = torch.nn.ModuleList(
            [torch.nn.Conv2d(channels, channels, 3, padding=1) for _ in range(depth)]
        )
        self.norms = torch.nn.ModuleList([torch.nn.BatchNorm2d(channels) for _ in range(depth)])

    def forward(self, x: Any) -> Any:
        """The mean of each channel."""
        x = self.first(x)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = x + torch.relu(norm(convolution(x)))
        return x.mean((2, 3))


PROGRAMS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "layers": (Layers, (512, 32)),
    "images": (Images, (8, 3, 16, 16)),
}


def trained(name: str, options: dict[str, Any] | None) -> tuple[list[Any], int]:
    """The gradients and the buffers after a step, and the peak of another one."""
    from tests.torch.measuring import most_allocated

    make, shape = PROGRAMS[name]
    torch._dynamo.reset()
    torch.manual_seed(7)
    model, x = make(), torch.randn(shape)
    compiled = torch.compile(model, options=options)

    def step() -> None:
        torch.manual_seed(8)
        compiled(x).square().mean().backward()

    def step_alone() -> None:
        model.zero_grad(set_to_none=True)
        step()
        model.zero_grad(set_to_none=True)

    step()
    results = [entry.detach().clone() for entry in (*(p.grad for p in model.parameters()), *model.buffers())]
    model.zero_grad(set_to_none=True)
    return results, most_allocated(step_alone)


def are_close(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether results differ by what other kernels may round otherwise, and no more."""
    return all(
        torch.allclose(our, their, rtol=1e-4, atol=1e-6) for our, their in zip(ours, theirs, strict=True)
    )


def test_a_step_within_a_budget_has_the_same_gradients_in_less_memory() -> None:
    expected, plain = trained("layers", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        results, peak = trained("layers", memstow.torch.inductor(memory_budget=0.7))
    assert are_close(results, expected)
    # The loss, which is not compiled, and what kernels take while they run are beside it.
    assert peak <= 0.85 * plain


def test_kernels_that_need_more_than_their_operators_are_said() -> None:
    expected, plain = trained("images", None)
    with pytest.warns(
        RuntimeWarning, match="with its kernels the backward pass needs .* of its memory_budget"
    ):
        results, peak = trained("images", memstow.torch.inductor(memory_budget=0.7))
    assert are_close(results, expected)
    assert peak <= 0.85 * plain


def test_a_budget_in_bytes_that_is_enough_changes_nothing() -> None:
    expected, plain = trained("layers", None)
    results, peak = trained("layers", memstow.torch.inductor(memory_budget=plain))
    assert all(map(torch.equal, results, expected))
    assert peak <= 1.01 * plain


def test_a_budget_that_is_too_small_is_said() -> None:
    expected, plain = trained("layers", None)
    with pytest.warns(RuntimeWarning, match="a budget of 1,000 bytes is less than the step needs"):
        results, peak = trained("layers", memstow.torch.inductor(memory_budget=1_000))
    assert are_close(results, expected)
    assert peak <= 0.75 * plain


def test_budgets_are_kept_with_an_arena_in_the_backward_pass() -> None:
    from tests.torch.measuring import most_allocated

    layers = torch.nn.ModuleList([torch.nn.Linear(64, 64) for _ in range(12)])
    x = torch.randn(512, 64)

    def program(x: Any) -> Any:
        for layer in layers:
            x = torch.nn.functional.gelu(layer(x))
        return x.square().mean()

    def peak(options: dict[str, Any] | None) -> int:
        torch._dynamo.reset()
        layers.zero_grad(set_to_none=True)
        compiled = torch.compile(program, options=options)
        compiled(x).backward()

        def step() -> None:
            layers.zero_grad(set_to_none=True)
            compiled(x).backward()
            layers.zero_grad(set_to_none=True)

        layers.zero_grad(set_to_none=True)
        return most_allocated(step)

    plain = peak(None)
    for share in (0.41, 0.42, 0.45, 0.6):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            assert peak(memstow.torch.inductor(memory_budget=int(share * plain))) <= share * plain


def test_what_fails_is_said_and_pytorch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from memstow.api.plugins.torch import partitioner

    monkeypatch.delattr(partitioner, "get_default_op_list")
    expected, _ = trained("layers", None)
    with pytest.warns(RuntimeWarning, match="PyTorch's own partition is used, since NameError"):
        results, _ = trained("layers", memstow.torch.inductor(memory_budget=0.5))
    assert are_close(results, expected)


def test_a_pytorch_without_partitioners_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "memstow.api.plugins.torch.partitioner", None)
    with pytest.warns(RuntimeWarning, match="no memory_budget is kept"):
        options = memstow.torch.inductor(memory_budget=0.5)
    assert options.keys() == memstow.torch.inductor().keys()


def test_checkpoints_of_the_program_stay() -> None:
    from torch.utils.checkpoint import checkpoint

    layer, x = torch.nn.Linear(16, 16), torch.randn(8, 16, requires_grad=True)

    def program(x: Any) -> Any:
        return checkpoint(lambda value: torch.sin(layer(value)), x, use_reentrant=False).sum()

    (expected,) = torch.autograd.grad(program(x), x)
    compiled = torch.compile(program, options=memstow.torch.inductor(memory_budget=0.5))
    with pytest.warns(RuntimeWarning, match="the program has checkpoints of its own"):
        (result,) = torch.autograd.grad(compiled(x), x)
    assert torch.allclose(result, expected, atol=1e-6)


def test_sizes_that_are_open_are_those_at_hand() -> None:
    model = Layers(depth=6).eval()
    compiled = torch.compile(model, options=memstow.torch.inductor(memory_budget=0.6), dynamic=True)
    for batch in (64, 33):
        x = torch.randn(batch, 32)
        expected = torch.autograd.grad(torch.tanh(model(x)).sum(), list(model.parameters()))
        results = torch.autograd.grad(torch.tanh(compiled(x)).sum(), list(model.parameters()))
        assert are_close(list(results), list(expected))


@pytest.mark.parametrize("budget", [-1, 1.5, True, "half", float("nan")])
def test_what_is_no_budget_is_refused(budget: Any) -> None:
    with pytest.raises(ValueError, match="memory_budget is a number of bytes"):
        memstow.torch.inductor(memory_budget=budget)


def test_a_budget_of_one_byte_is_taken_for_a_share() -> None:
    with pytest.raises(ValueError, match=r"memory_budget=1 is one byte: give 1\.0"):
        memstow.torch.inductor(memory_budget=1)
