"""Networks made step by step, with random weights and scales that keep values spread over the int8."""

from math import sqrt

import numpy as np

from striped.network import Network, Operator, Window

_SPREAD = 45.0
"""What a random int8 deviates from its mean, more or less."""


class Builder:
    """Adds operators to a network; each method returns the tensor that the operator makes."""

    def __init__(self, seed: int) -> None:
        self.net = Network()
        self.random = np.random.default_rng(seed)

    def input(self, height: int, width: int, channels: int) -> str:
        """An image that is there before the first operator."""
        name = self._tensor((1, height, width, channels))
        self.net.inputs.append(name)
        return name

    def conv(self, image: str, channels: int, window: Window) -> str:
        """A convolution, with a scale for each channel of its output."""
        height, width, deep = self.net.image(image)
        weights = self._weights((channels, *window.kernel, deep))
        shape = (1, *window.made_from(height, width), channels)
        # A kernel that copies each window into one row, as many do.
        self.net.scratch[self._name()] = weights[0].size
        return self._weighted("conv2d", image, shape, weights, weights[0].size, channels, window)

    def depthwise(self, image: str, window: Window) -> str:
        """A convolution of each channel alone."""
        height, width, deep = self.net.image(image)
        weights = self._weights((1, *window.kernel, deep))
        shape = (1, *window.made_from(height, width), deep)
        number = window.kernel[0] * window.kernel[1]
        return self._weighted("depthwise_conv2d", image, shape, weights, number, deep, window)

    def pool(self, image: str, which: str, window: Window) -> str:
        """`max_pool_2d` or `average_pool_2d`; its output has the zero of its input."""
        height, width, deep = self.net.image(image)
        made = self._tensor((1, *window.made_from(height, width), deep), self.net.zero(image))
        return self._operator(which, [image], made, window)

    def pad(self, image: str, margins: tuple[int, int, int, int]) -> str:
        """Zeros around the image: top, left, bottom, right."""
        height, width, deep = self.net.image(image)
        window = Window((1, 1), padding=margins)
        made = self._tensor((1, *window.made_from(height, width), deep), self.net.zero(image))
        return self._operator("pad", [image], made, window)

    def add(self, one: str, other: str) -> str:
        """The sum of two images of one shape."""
        made = self._tensor(self.net.shapes[one])
        name = self._name()
        factors = self.random.integers(80, 200, 2)
        self.net.arrays[f"{name}/factors"] = factors
        self.net.add_scale(name, [1 / float(np.hypot(*factors))])
        return self._operator("add", [one, other], made)

    def mul(self, one: str, other: str) -> str:
        """The product of two images of one shape."""
        made = self._tensor(self.net.shapes[one])
        self.net.add_scale(self._name(), [1 / _SPREAD])
        return self._operator("mul", [one, other], made)

    def relu(self, image: str) -> str:
        """Nothing below zero."""
        return self._operator("relu", [image], self._tensor(self.net.shapes[image], self.net.zero(image)))

    def concatenation(self, images: list[str]) -> str:
        """Images of one size beside each other, along channels."""
        height, width, _ = self.net.image(images[0])
        deep = sum(self.net.image(image)[2] for image in images)
        return self._operator("concatenation", images, self._tensor((1, height, width, deep)))

    def resize(self, image: str, which: str, height: int, width: int) -> str:
        """`resize_nearest_neighbor` or `resize_bilinear`."""
        shape = (1, height, width, self.net.image(image)[2])
        return self._operator(which, [image], self._tensor(shape, self.net.zero(image)))

    def mean(self, image: str) -> str:
        """The mean of the whole image."""
        height, width, deep = self.net.image(image)
        made = self._tensor((1, 1, 1, deep))
        self.net.add_scale(self._name(), [1 / sqrt(height * width)])
        return self._operator("mean", [image], made)

    def fully_connected(self, image: str, outputs: int) -> str:
        """All elements with all weights."""
        number = int(np.prod(self.net.image(image)))
        weights = self._weights((outputs, number))
        return self._weighted("fully_connected", image, (1, outputs), weights, number, 1, None)

    def transpose(self, image: str) -> str:
        """Rows and columns exchanged."""
        height, width, deep = self.net.image(image)
        return self._operator(
            "transpose", [image], self._tensor((1, width, height, deep), self.net.zero(image))
        )

    def finish(self, outputs: list[str]) -> Network:
        """The network, with these outputs and all that nobody reads."""
        read = {name for operator in self.net.operators for name in operator.inputs}
        made = [operator.output for operator in self.net.operators]
        self.net.outputs = [entry for entry in made if entry in outputs or entry not in read]
        return self.net

    def _weighted(
        self,
        type_: str,
        image: str,
        shape: tuple[int, ...],
        weights: "np.ndarray[tuple[int, ...], np.dtype[np.int8]]",
        number: int,
        scales: int,
        window: Window | None,
    ) -> str:
        made, name = self._tensor(shape), self._name()
        bias = self.random.integers(-(1 << 12), 1 << 12, shape[-1]).astype(np.int32)
        usual = 1 / (73.0 * sqrt(number))
        self.net.add_scale(name, [usual * float(entry) for entry in self.random.uniform(0.6, 1.4, scales)])
        constants = [
            self.net.add_constant(f"{name}.weights", weights),
            self.net.add_constant(f"{name}.bias", bias),
        ]
        return self._operator(type_, [image, *constants], made, window)

    def _weights(self, shape: tuple[int, ...]) -> "np.ndarray[tuple[int, ...], np.dtype[np.int8]]":
        return self.random.integers(-127, 128, shape).astype(np.int8)

    def _tensor(self, shape: tuple[int, ...], zero: int | None = None) -> str:
        number = len(self.net.inputs) + len(self.net.operators)
        chosen = int(self.random.integers(-30, 31)) if zero is None else zero
        return self.net.add_tensor(f"t{number}", shape, chosen)

    def _name(self) -> str:
        """The name of the operator that comes next."""
        return f"o{len(self.net.operators)}"

    def _operator(self, type_: str, inputs: list[str], made: str, window: Window | None = None) -> str:
        self.net.operators.append(Operator(self._name(), type_, tuple(inputs), made, window))
        return made
