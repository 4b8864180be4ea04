"""Random programs of PyTorch: views, changes in place, splits, copies that may be views."""

import random
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx


def random_program(seed: int) -> Callable[..., list[Any]]:
    """A function of a matrix and a vector."""
    draw = random.Random(seed)
    steps = [(draw.choice(_STEPS), draw.random(), draw.random()) for _ in range(draw.randint(3, 14))]
    kept = [draw.random() for _ in range(100)]

    def program(*inputs: Any) -> list[Any]:
        values = list(inputs)
        for step, first, second in steps:
            value, other = (values[int(share * len(values))] for share in (first, second))
            if not (step is _change and any(value is entry for entry in inputs)):
                values += step(value, other)
        made = values[len(inputs) :]
        outputs = [value for value, share in zip(made, kept, strict=False) if share < 0.3]
        return [*outputs, values[-1].clone()]

    return program


def traced(seed: int, mode: str, inputs: tuple[Any, ...]) -> Any:
    """The operators of a random program, without those whose results nobody reads."""
    module = make_fx(random_program(seed), tracing_mode=mode)(*inputs)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _change(value: Any, _: Any) -> list[Any]:
    if value.is_contiguous():
        value.mul_(2)
    return []


_STEPS: tuple[Callable[[Any, Any], list[Any]], ...] = (
    _change,
    lambda value, other: [value.sum() + other],
    lambda value, _: [value * 2],
    lambda value, _: [value.relu()],
    lambda value, _: [value.clone()],
    lambda value, _: [value.reshape(-1)],
    lambda value, _: [value.unsqueeze(0).expand(2, *value.shape)],
    lambda value, _: [torch.cat([value, value])] if value.dim() else [],
    lambda value, _: [value.sum(0), value.select(0, 0)] if value.dim() else [],
    lambda value, _: [value[1:], *list(value.split(1))[:2]] if value.dim() and value.shape[0] > 1 else [],
    lambda value, _: [value @ value.t(), value.t()] if value.dim() == 2 else [],
    lambda value, _: [value.index_select(0, torch.tensor([0]))] if value.dim() else [],
)
