"""Networks to try: random ones with branches, and one like those that find persons in small images."""

from collections.abc import Callable

import numpy as np

from striped.building import Builder
from striped.network import Network, Window

_MOST_ELEMENTS = 2500


def random_network(seed: int, operators: int) -> Network:
    """A random network with about so many operators, most of which read what was made last."""
    made = _Growing(seed)
    while len(made.builder.net.operators) < operators:
        made.grow()
    return made.builder.finish(made.some_outputs())


def mobile_network(side: int = 48, seed: int = 1) -> Network:
    """Depthwise and 1x1 convolutions one after the other, as in MobileNet: image to two scores."""
    make = Builder(seed)
    same = Window((3, 3), (2, 2), (0, 0, 1, 1))
    image = make.conv(make.input(side, side, 1), 8, same)
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        height = make.net.image(image)[0]
        # Like the rule "same" of TensorFlow: what is odd goes to the end.
        margin = 1 if stride == 1 or height % 2 else 0
        image = make.depthwise(image, Window((3, 3), (stride, stride), (margin, margin, 1, 1)))
        image = make.conv(image, channels, Window((1, 1)))
    return make.finish([make.fully_connected(make.mean(image), 2)])


class _Growing:
    """A builder, and the images that are there to read."""

    def __init__(self, seed: int) -> None:
        self.builder = Builder(seed)
        self.random = self.builder.random
        self.images: list[str] = []
        for _ in range(1 + self._chance(0.2)):
            size = self._whole(1, 15), self._whole(1, 15)
            self.images.append(self.builder.input(*size, self._whole(1, 6)))

    def grow(self) -> None:
        """One operator more, if what was drawn can be."""
        image = self._recent()
        if len(self.builder.net.shapes[image]) < 4:
            # A vector: of what is left, these can read it.
            ways_on = (self.builder.relu, self._fully_connected)
            self.images.append(ways_on[self._whole(0, 2)](image))
            return
        ways: list[tuple[float, Callable[[str], str | None]]] = [
            (4, self._conv),
            (4, self._pointwise),
            (4, self._depthwise),
            (3, self._pool),
            (3, self._add),
            (1, self._mul),
            (2, self.builder.relu),
            (3, self._concatenation),
            (1.5, self._resize),
            (1.5, self._pad),
            (0.5, self._mean),
            (0.6, self._fully_connected),
            (0.4, self.builder.transpose),
        ]
        weights = np.array([way[0] for way in ways])
        way = ways[int(self.random.choice(len(ways), p=weights / weights.sum()))][1]
        if (made := way(image)) is not None:
            self.images.append(made)

    def some_outputs(self) -> list[str]:
        """Tensors that are kept although others read them."""
        return [image for image in self.images if self._chance(0.12)]

    def _chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def _whole(self, least: int, end: int) -> int:
        return int(self.random.integers(least, end))

    def _recent(self) -> str:
        back = min(int(self.random.geometric(0.55)), len(self.images))
        return self.images[-back]

    def _window(self, image: str, most: int = 5) -> Window | None:
        height, width, _ = self.builder.net.image(image)
        kernel = self._whole(1, most + 1), self._whole(1, most + 1)
        stride = self._whole(1, 4), self._whole(1, 4)
        dilation = (self._whole(1, 4), self._whole(1, 4)) if self._chance(0.25) else (1, 1)
        reach = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        # Less than the kernel, so that each window has an element of the image.
        margin = [self._whole(0, k) if self._chance(0.7) else 0 for k in kernel * 2]
        window = Window(kernel, stride, (margin[0], margin[1], margin[2], margin[3]), dilation)
        fits = height + margin[0] + margin[2] > reach[0] and width + margin[1] + margin[3] > reach[1]
        return window if fits else None

    def _conv(self, image: str) -> str | None:
        window = self._window(image)
        return None if window is None else self.builder.conv(image, self._whole(1, 7), window)

    def _pointwise(self, image: str) -> str:
        return self.builder.conv(image, self._whole(1, 9), Window((1, 1)))

    def _depthwise(self, image: str) -> str | None:
        window = self._window(image)
        return None if window is None else self.builder.depthwise(image, window)

    def _pool(self, image: str) -> str | None:
        window = self._window(image, 3)
        which = ("max_pool_2d", "average_pool_2d")[self._whole(0, 2)]
        if window is None or window.dilation != (1, 1):
            return None
        return self.builder.pool(image, which, window)

    def _partner(self, image: str) -> str:
        """Another image of the same shape, made by a convolution of 1x1 where only channels differ."""
        net = self.builder.net
        alike = self._alike(image)
        partner = alike[self._whole(0, len(alike))]
        if net.shapes[partner] == net.shapes[image]:
            return partner
        return self.builder.conv(partner, net.image(image)[2], Window((1, 1)))

    def _alike(self, image: str) -> list[str]:
        """The images with as many rows and columns; itself among them."""
        net = self.builder.net
        images = [image for image in self.images if len(net.shapes[image]) == 4]
        return [entry for entry in images if net.image(entry)[:2] == net.image(image)[:2]]

    def _add(self, image: str) -> str:
        return self.builder.add(image, self._partner(image))

    def _mul(self, image: str) -> str:
        return self.builder.mul(image, self._partner(image))

    def _concatenation(self, image: str) -> str:
        alike = self._alike(image)
        chosen = [alike[self._whole(0, len(alike))] for _ in range(self._whole(1, 4))]
        return self.builder.concatenation(list(dict.fromkeys(chosen)))

    def _resize(self, image: str) -> str | None:
        height, width, channels = self.builder.net.image(image)
        if self._chance(0.5):
            larger = height * self._whole(1, 4), width * self._whole(1, 4)
        else:
            larger = self._whole(height, 2 * height + 1), self._whole(width, 2 * width + 1)
        if larger[0] * larger[1] * channels > _MOST_ELEMENTS:
            return None
        if self._chance(0.5):
            return self.builder.resize(image, "resize_bilinear", *larger)
        smaller = self._chance(0.3)
        size = (-(-height // 2), -(-width // 2)) if smaller else larger
        return self.builder.resize(image, "resize_nearest_neighbor", *size)

    def _pad(self, image: str) -> str:
        margins = tuple(self._whole(0, 3) for _ in range(4))
        return self.builder.pad(image, (margins[0], margins[1], margins[2], margins[3]))

    def _mean(self, image: str) -> str:
        return self.builder.mean(image)

    def _fully_connected(self, image: str) -> str:
        return self.builder.fully_connected(image, self._whole(1, 9))
