"""Layers that keep what was chosen have the same gradients, and keep no more than the budget."""

import warnings
from functools import partial
from typing import Any

import pytest

import memstow.torch
from tests.torch import NEEDED

torch: Any = pytest.importorskip("torch", reason=NEEDED)
pytestmark = pytest.mark.filterwarnings("default")


class Block(torch.nn.Module):
    """Attention and what follows it, with dropout."""

    def __init__(self, width: int = 32, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.into, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.wide, self.narrow = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.dropout = dropout

    def forward(self, x: Any) -> Any:
        """The sum of the input and of both parts."""
        heads = [part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.into(self.norm(x)).chunk(3, -1)]
        seen = torch.nn.functional.scaled_dot_product_attention(*heads)
        x = x + torch.dropout(self.out(seen.transpose(1, 2).flatten(2)), self.dropout, True)
        return x + torch.dropout(self.narrow(torch.relu(self.wide(x))), self.dropout, True)


class Images(torch.nn.Module):
    """A convolution with statistics and a change in place."""

    def __init__(self, channels: int = 4, *, in_place: bool = False) -> None:
        super().__init__()
        self.first, self.second = (torch.nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.norm, self.relu = torch.nn.BatchNorm2d(channels), torch.nn.ReLU(in_place)

    def forward(self, x: Any) -> Any:
        """Images of the same size."""
        return self.second(self.relu(self.norm(self.first(x))))


def trained(layers: list[Any], x: Any, context: Any) -> list[Any]:
    """The gradients of a step, in which each layer is a checkpoint, and the statistics after it."""
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(3)
    for layer in layers:
        plain = context is None
        x = layer(x) if plain else checkpoint(layer, x, use_reentrant=False, context_fn=context)
    x.square().mean().backward()
    state = torch.nn.ModuleList(layers)
    gradients = [parameter.grad for parameter in state.parameters()]
    state.zero_grad(set_to_none=True)
    return [*gradients, *(buffer.clone() for buffer in state.buffers())]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradients_are_equal_whatever_is_kept(dropout: float) -> None:
    torch.manual_seed(1)
    layers, x = [Block(dropout=dropout) for _ in range(3)], torch.randn(2, 16, 32, requires_grad=True)
    expected = trained(layers, x, None)
    costs = []
    for budget in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        chosen = memstow.torch.checkpoint_policy(layers[0], x, memory_budget=budget)
        assert chosen.bytes <= budget * chosen.whole
        costs.append(chosen.cost)
        for _ in range(2):
            assert all(map(torch.equal, trained(layers, x, chosen), expected))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_a_step_takes_less_and_runs_less_again() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    from tests.torch.measuring import most_allocated

    torch.manual_seed(1)
    layers, x = [Block() for _ in range(6)], torch.randn(4, 64, 32)
    chosen = memstow.torch.checkpoint_policy(layers[0], x, memory_budget=0.5)

    def flops(context: Any) -> int:
        with FlopCounterMode(display=False) as counter:
            trained(layers, x, context)
        return int(counter.get_total_flops())

    plain = memstow.torch.checkpoint_policy(layers[0], x, memory_budget=0)
    peaks = [most_allocated(partial(trained, layers, x, way)) for way in (plain, chosen, None)]
    assert peaks == sorted(peaks)
    assert peaks[1] < 0.8 * peaks[2]
    assert flops(None) < flops(chosen) < flops(plain)


def test_kept_bytes_are_those_of_the_layer_and_not_of_its_parameters() -> None:
    layer, x = torch.nn.Linear(64, 8), torch.randn(4, 64, requires_grad=True)
    chosen = memstow.torch.checkpoint_policy(
        torch.nn.Sequential(layer, torch.nn.Sigmoid()), x, memory_budget=1.0
    )
    assert chosen.whole == 4 * 8 * 4, "the result of the sigmoid"
    assert chosen.bytes <= chosen.whole


class Words(torch.nn.Module):
    """A recurrent layer, whose operator keeps bytes that its fake results do not have."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = torch.nn.LSTM(32, 32, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        """A word for each."""
        return self.cells(x)[0]


@pytest.mark.parametrize("budget", [0.3, 0.6, 0.9])
def test_what_a_recurrent_layer_keeps_is_counted(budget: float) -> None:
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(1)
    layer, x = Words(), torch.randn(16, 10, 32, requires_grad=True)
    expected = trained([layer], x, None)
    chosen = memstow.torch.checkpoint_policy(layer, x, memory_budget=budget)
    assert all(map(torch.equal, trained([layer], x, chosen), expected))

    def left_by(call: Any) -> int:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        ) as profile:
            result = call()
        events = profile.profiler.kineto_results.events()
        left: int = sum(event.nbytes() for event in events if event.name() == "[memory]")
        return left - int(result.nbytes)

    plain = left_by(lambda: layer(x))
    assert chosen.whole == pytest.approx(plain, rel=0.05)
    kept = left_by(lambda: checkpoint(layer, x, use_reentrant=False, context_fn=chosen))
    assert kept <= budget * plain * 1.05


def test_statistics_change_once_where_their_results_are_kept() -> None:
    torch.manual_seed(1)
    layers, x = [Images() for _ in range(2)], torch.randn(2, 4, 8, 8)
    state = [{name: value.clone() for name, value in layer.state_dict().items()} for layer in layers]

    def again(context: Any) -> list[Any]:
        for layer, values in zip(layers, state, strict=True):
            layer.load_state_dict(values)
        return trained(layers, x, context)

    expected = again(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        chosen = memstow.torch.checkpoint_policy(layers[0], x, memory_budget=0.9)
    for result, value in zip(again(chosen), expected, strict=True):
        if result.dtype.is_floating_point:
            assert torch.equal(result, value)
    with pytest.warns(RuntimeWarning, match="change their statistics twice: a budget of 10 bytes"):
        memstow.torch.checkpoint_policy(layers[0], x, memory_budget=10)


def test_what_is_changed_in_place_runs_again() -> None:
    torch.manual_seed(1)
    layers, x = [Images(in_place=True).eval() for _ in range(2)], torch.randn(2, 4, 8, 8)
    expected = trained(layers, x, None)
    chosen = memstow.torch.checkpoint_policy(layers[0], x, memory_budget=1.0)
    assert all(map(torch.equal, trained(layers, x, chosen), expected))
    with pytest.warns(RuntimeWarning, match="run again, and change their statistics twice$"):
        memstow.torch.checkpoint_policy(Images(in_place=True), x, memory_budget=1.0)


def test_looking_at_a_layer_changes_nothing() -> None:
    layer, x = Images(), torch.randn(2, 4, 8, 8)
    before = [value.clone() for value in layer.state_dict().values()]
    torch.manual_seed(4)
    expected = torch.rand(1)
    torch.manual_seed(4)
    memstow.torch.checkpoint_policy(layer, x, memory_budget=1.0)
    assert torch.equal(torch.rand(1), expected)
    assert all(map(torch.equal, layer.state_dict().values(), before))
    assert all(parameter.grad is None for parameter in layer.parameters())


@pytest.mark.parametrize("budget", [-1, 1, 1.5, True, "half"])
def test_what_is_no_budget_is_refused(budget: Any) -> None:
    with pytest.raises(ValueError, match="memory_budget"):
        memstow.torch.checkpoint_policy(torch.nn.Linear(2, 2), torch.ones(1, 2), memory_budget=budget)
