"""Small models, each with arguments to run it with."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops.scan import scan

Tensors = tuple[Any, ...]


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 256), nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)


class Prefill(nn.Module):
    """Writes a cache that another method reads."""

    def __init__(self, cache: Any) -> None:
        super().__init__()
        self.register_buffer("cache", cache)
        self.first, self.second = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x: Any) -> Any:
        self.cache.copy_(self.second(torch.relu(self.first(x))))
        return self.cache.sum(1)


class Decode(nn.Module):
    """Reads the cache, and changes it."""

    def __init__(self, cache: Any) -> None:
        super().__init__()
        self.register_buffer("cache", cache)
        self.head = nn.Linear(16, 32)

    def forward(self, x: Any) -> Any:
        last = self.head(self.cache + x)
        self.cache.add_(x)
        return last


class Inverted(nn.Module):
    """A block as in MobileNet V2: wide in the middle, and its input is added at the end."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 4 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide),
            nn.ReLU6(),
            nn.Conv2d(wide, channels, 1),
        )

    def forward(self, x: Any) -> Any:
        return x + self.body(x)


class Mobile(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(Inverted(8), Inverted(8), nn.Conv2d(8, 16, 3, stride=2), Inverted(16))
        self.head = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Branching(nn.Module):
    """Down and up again, with what was on the way down kept for the way up; views between."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in range(3))
        self.up = nn.ModuleList(nn.Conv2d(8, 4, 1) for _ in range(3))

    def forward(self, x: Any) -> tuple[Any, Any]:
        kept = []
        for layer in self.down:
            x = torch.relu(layer(x))
            kept.append(x)
        for layer, other in zip(self.up, reversed(kept), strict=True):
            x = layer(torch.cat((x, other), 1))
        return x.reshape(4, -1) + 1, kept[0].flatten()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.norm = nn.LayerNorm(32)

    def forward(self, x: Any) -> Any:
        q, k, v = self.into(self.norm(x)).chunk(3, -1)
        heads = [entry.view(1, 16, 4, 8).transpose(1, 2) for entry in (q, k, v)]
        weights = torch.softmax(heads[0] @ heads[1].transpose(-2, -1) / 8**0.5, -1)
        return x + self.out((weights @ heads[2]).transpose(1, 2).reshape(1, 16, 32))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        feed = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32))
        self.layers = nn.Sequential(Attention(), feed, Attention())

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Counting(nn.Module):
    """State that each run changes, and an operator in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x: Any) -> Any:
        self.seen.add_(x)
        y = (x * 2).relu_()
        return y @ y.outer(self.seen) + self.seen


class Chosen(nn.Module):
    """A branch whose result is read long after, and seen through a view as well."""

    def forward(self, x: Any, sign: Any) -> Any:
        doubled = x * 2
        y = torch.cond(
            sign.sum() > 0, lambda a, b: (a @ b).relu() + 1, lambda a, b: (a @ b).sigmoid() @ a, (doubled, x)
        )
        seen = (y.view(-1) + 1).view(16, 16)
        return seen @ seen + y


class TwoChoices(nn.Module):
    """Two branches whose results are read together."""

    def forward(self, x: Any, sign: Any) -> Any:
        one = torch.cond(sign.sum() > 0, lambda a: (a @ a).relu() + 1, lambda a: a.sigmoid() @ a, (x,))
        other = torch.cond(sign.sum() < 1, lambda a: (a @ a).relu() + 2, lambda a: a.sigmoid() @ a + 2, (x,))
        return one + other @ one


class Nested(nn.Module):
    """A branch in a branch, with two results."""

    def forward(self, x: Any, sign: Any) -> Any:
        def inner(a: Any) -> Any:
            result = torch.cond(a.sum() > 0, lambda b: b @ b + 1, lambda b: (b * 3).relu(), (a,))
            return result + 1, result @ a

        one, other = torch.cond(sign.sum() > 0, inner, lambda a: (a * 2, a @ a), (x,))
        late = (x @ x) @ x
        return one @ other + late


class Mapped(nn.Module):
    """A loop over rows."""

    def forward(self, x: Any, sign: Any) -> Any:
        from functorch.experimental.control_flow import map as over

        rows = over(lambda row, other: (row * 2 + other).relu() + 1, x, sign.sum())
        return rows @ x + rows


class Scanned(nn.Module):
    """A loop over rows that keeps two tensors from one row to the next, and returns a third for each."""

    def forward(self, x: Any, sign: Any) -> Any:
        def step(kept: Any, rows: Any) -> Any:
            (one, other), (row, square) = kept, rows
            first = one * 0.5 + row + square.sum()
            second = other - first.relu()
            return (first, second), ((first @ x + second) * row).tanh()

        (one, other), made = scan(step, (x[0] * 2, x[1] + 1), (x, x @ x))
        return made @ x + one - other * sign.sum()


class ChosenInScan(nn.Module):
    """Each step of a loop takes a branch, whose result is kept for the next."""

    def forward(self, x: Any, sign: Any) -> Any:
        def step(kept: Any, row: Any) -> Any:
            made = torch.cond(
                row.sum() > 0, lambda a, b: (a @ x) * 0.1 + b, lambda a, b: a.sigmoid() - b, (kept, row)
            )
            return made + 1, (made * 2).relu()

        last, rows = scan(step, x[0] * sign.sum(), x)
        return rows @ x + last


class ScanInChosen(nn.Module):
    """A branch that is a loop, its result read together with what was there before."""

    def forward(self, x: Any, sign: Any) -> Any:
        def step(kept: Any, row: Any) -> Any:
            made = kept * 0.5 + row
            return made, (made * 2).relu()

        def loop(a: Any) -> Any:
            last, rows = scan(step, a[0] * 2, a)
            return rows + last

        doubled = x * 2
        result = torch.cond(sign.sum() > 0, loop, lambda a: a @ a, (doubled,))
        return result @ doubled + result


def _with(model: nn.Module, *shape: int) -> tuple[nn.Module, list[Tensors]]:
    return model.eval(), [(torch.randn(*shape),), (torch.randn(*shape),)]


def _branches(model: nn.Module) -> tuple[nn.Module, list[Tensors]]:
    x = torch.randn(16, 16) / 4
    return model.eval(), [(x, torch.ones(3)), (x, -torch.ones(3)), (x, torch.ones(3))]


PLAIN: dict[str, Callable[[], tuple[nn.Module, list[Tensors]]]] = {
    "mlp": lambda: _with(Mlp(), 4, 64),
    "mobile": lambda: _with(Mobile(), 1, 3, 32, 32),
    "branching": lambda: _with(Branching(), 1, 4, 16, 16),
    "transformer": lambda: _with(Transformer(), 1, 16, 32),
    "counting": lambda: _with(Counting(), 8),
}
BRANCHES: dict[str, Callable[[], tuple[nn.Module, list[Tensors]]]] = {
    "chosen": lambda: _branches(Chosen()),
    "two choices": lambda: _branches(TwoChoices()),
    "nested": lambda: _branches(Nested()),
    "mapped": lambda: _branches(Mapped()),
    "scanned": lambda: _branches(Scanned()),
    "chosen in scan": lambda: _branches(ChosenInScan()),
    "scan in chosen": lambda: _branches(ScanInChosen()),
}
