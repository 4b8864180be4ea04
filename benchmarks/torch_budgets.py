"""Training steps in less memory, each way that PyTorch has beside ours: `python -m benchmarks.torch_budgets`.

Peaks are those of the allocator in a forward and a backward pass, the loss among what is compiled; seconds
are of the processor, as medians. Gradients are compared.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, Final

import torch
from torch import nn
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import memstow.torch
from benchmarks.page import ROOT, put, table
from tests.torch.measuring import most_allocated

_BUDGETS: Final = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_EVERY: Final = (1, 2, 3)
_TURNS: Final = 7
_SEED: Final = 5


class _Residual(nn.Module):
    """Convolutions beside which the input goes by."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels) for _ in range(2)])

    def forward(self, x: Any) -> Any:
        """Images of the same size."""
        inner = functional.relu(self.norms[0](self.convolutions[0](x)))
        return functional.relu(x + self.norms[1](self.convolutions[1](inner)))


def _mlp() -> tuple[list[nn.Module], Any]:
    return [nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(12)], torch.randn(2048, 256)


def _cnn() -> tuple[list[nn.Module], Any]:
    return [_Residual() for _ in range(6)], torch.randn(16, 32, 32, 32)


def _transformer() -> tuple[list[nn.Module], Any]:
    layers: list[nn.Module] = [
        nn.TransformerEncoderLayer(256, 8, 1024, 0.0, "gelu", batch_first=True, norm_first=True)
        for _ in range(4)
    ]
    return layers, torch.randn(16, 128, 256)


_MODELS: Final[dict[str, Callable[[], tuple[list[nn.Module], Any]]]] = {
    "MLP, 12 layers": _mlp,
    "residual CNN, 6 blocks": _cnn,
    "transformer, 4 blocks": _transformer,
}


def _programs(layers: list[nn.Module]) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """By name: the step's forward pass with its loss, compiled; not before it is called."""

    def loss_of(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: run(x).square().mean()

    plain = loss_of(nn.Sequential(*layers))

    def compiled(program: Callable[[Any], Any], budget: float = 1.0, **options: Any) -> Callable[[Any], Any]:
        fast = torch.compile(program, dynamic=False, **options)

        def run(x: Any) -> Any:
            with functorch_config.patch(activation_memory_budget=budget):
                return fast(x)

        return run

    yield "PyTorch", compiled(plain)
    for budget in _BUDGETS:
        yield f"`activation_memory_budget` {budget}", compiled(plain, budget)
    for every in _EVERY:
        parts = [nn.Sequential(*layers[at : at + every]) for at in range(0, len(layers), every)]

        def checkpointed(x: Any, parts: list[nn.Module] = parts) -> Any:
            for part in parts:
                x = checkpoint(part, x, use_reentrant=False)
            return x

        yield f"`checkpoint` every {every}", compiled(loss_of(checkpointed))
    for budget in _BUDGETS:
        ours = memstow.torch.inductor(memory_budget=budget)
        yield f"`memory_budget` {budget}", compiled(plain, options=ours)


def measured(name: str) -> dict[str, list[float]]:
    """By way: the peak of a step, and the seconds that it takes."""
    torch.manual_seed(_SEED)
    layers, x = _MODELS[name]()
    x.requires_grad_()
    parameters = [x, *nn.ModuleList(layers).parameters()]
    figures: dict[str, list[float]] = {}
    expected: list[Any] = []
    for way, program in _programs(layers):
        torch._dynamo.reset()

        def step(program: Callable[[Any], Any] = program) -> None:
            program(x).backward()
            for parameter in parameters:
                parameter.grad = None

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            program(x).backward()
        gradients = [parameter.grad for parameter in parameters]
        expected = expected or [entry.clone() for entry in gradients]
        if not all(map(_are_close, gradients, expected)):
            raise RuntimeError(f"{name}: {way} has other gradients")
        figures[way] = [most_allocated(step), median(_seconds(step) for _ in range(_TURNS))]
    return figures


def _are_close(gradient: Any, other: Any) -> bool:
    return bool(torch.allclose(gradient, other, rtol=1e-3, atol=1e-5))


def _seconds(step: Callable[[], None]) -> float:
    begin = time.process_time()
    step()
    return time.process_time() - begin


def main() -> None:
    """Measure each model in a process of its own, and put the shares of PyTorch's figures on the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_budgets", description=__doc__)
    parser.add_argument("--one", choices=_MODELS, help="measure one model in this process")
    args = parser.parse_args()
    if args.one:
        inductor_config.fx_graph_cache = False
        functorch_config.enable_autograd_cache = False
        torch.set_num_threads(1)
        print(json.dumps(measured(args.one)))
        return
    figures: dict[str, dict[str, list[float]]] = {}
    for name in _MODELS:
        words = [sys.executable, "-m", "benchmarks.torch_budgets", "--one", name]
        ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True)
        figures[name] = json.loads(ran.stdout.splitlines()[-1])
        print(name, figures[name], flush=True)
    head = ["peak, time", *_MODELS]
    rows: list[list[str]] = []
    for way in next(iter(figures.values())):
        shares = [
            " and ".join(
                f"{figure / whole:.0%}".replace("%", " %")
                for figure, whole in zip(of_model[way], of_model["PyTorch"], strict=True)
            )
            for of_model in figures.values()
        ]
        rows.append([way, *shares])
    put("torch budgets", table(head, rows))


if __name__ == "__main__":
    main()
