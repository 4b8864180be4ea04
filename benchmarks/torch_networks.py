"""The networks of the benchmark of PyTorch: five of torchvision, and three that are short to write."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

import torch
import torchvision
from torch import nn
from torch.nn import functional

_IMAGE: Final = 224
_WORDS: Final = 50_257
_TOKENS: Final = 256
_STEPS: Final = 32


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """A layer of GPT-2."""
        parts = self.into(self.norms[0](x)).chunk(3, -1)
        heads = [part.unflatten(-1, (self._heads, -1)).transpose(1, 2) for part in parts]
        seen = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.norms[1](x)), approximate="tanh"))


class _Gpt(nn.Module):
    """As wide as the small GPT-2, with half of its layers."""

    def __init__(self, layers: int = 6, width: int = 768) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(_WORDS, width), nn.Embedding(_TOKENS, width)
        self.layers = nn.ModuleList([_Attention(width, 12) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, words: Any) -> Any:
        """What each word is followed by."""
        x = self.words(words) + self.places.weight
        for layer in self.layers:
            x = layer(x)
        return functional.linear(self.norm(x), self.words.weight)


class _Lstm(nn.Module):
    """Two layers, unrolled: Inductor leaves `torch.nn.LSTM` to PyTorch."""

    def __init__(self, width: int = 512, layers: int = 2) -> None:
        super().__init__()
        self._width = width
        self.cells = nn.ModuleList([nn.Linear(2 * width, 4 * width) for _ in range(layers)])

    def forward(self, x: Any) -> Any:
        """What the last layer says at each step."""
        for cell in self.cells:
            hidden = state = x.new_zeros(x.shape[0], self._width)
            said = []
            for step in x.unbind(1):
                into, forget, out, new = cell(torch.cat([step, hidden], -1)).chunk(4, -1)
                state = torch.sigmoid(forget) * state + torch.sigmoid(into) * torch.tanh(new)
                hidden = torch.sigmoid(out) * torch.tanh(state)
                said.append(hidden)
            x = torch.stack(said, 1)
        return x


def _twice(before: int, after: int) -> nn.Module:
    layers: list[Any] = []
    for channels in (before, after):
        layers += [nn.Conv2d(channels, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class _Unet(nn.Module):
    def __init__(self, channels: int = 32, depth: int = 4) -> None:
        super().__init__()
        widths = [channels << level for level in range(depth + 1)]
        pairs = list(pairwise(widths))
        self.first = _twice(3, channels)
        self.down = nn.ModuleList([_twice(narrow, wide) for narrow, wide in pairs])
        self.up = nn.ModuleList([nn.ConvTranspose2d(wide, narrow, 2, 2) for narrow, wide in pairs])
        self.join = nn.ModuleList([_twice(wide, narrow) for narrow, wide in pairs])
        self.last = nn.Conv2d(channels, 2, 1)

    def forward(self, x: Any) -> Any:
        """Two values for each pixel."""
        levels = [self.first(x)]
        for layers in self.down:
            levels.append(layers(functional.max_pool2d(levels[-1], 2)))
        x = levels.pop()
        for up, join in zip(reversed(self.up), reversed(self.join), strict=True):
            x = join(torch.cat([levels.pop(), up(x)], 1))
        return self.last(x)


def _images(batch: int) -> Any:
    return torch.randn(batch, 3, _IMAGE, _IMAGE)


NETWORKS: Final[Mapping[str, tuple[Callable[[], Any], Callable[[int], Any]]]] = {
    "mobilenet_v3_large": (torchvision.models.mobilenet_v3_large, _images),
    "resnet50": (torchvision.models.resnet50, _images),
    "gpt2, 6 layers": (_Gpt, lambda batch: torch.randint(_WORDS, (batch, _TOKENS))),
    "lstm": (_Lstm, lambda batch: torch.randn(batch, _STEPS, 512)),
    "unet": (_Unet, _images),
    "vit_b_16": (torchvision.models.vit_b_16, _images),
    "swin_t": (torchvision.models.swin_t, _images),
    "densenet121": (torchvision.models.densenet121, _images),
}
"""By name: the network, and what it takes in a batch of this size."""
