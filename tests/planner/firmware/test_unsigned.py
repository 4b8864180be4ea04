"""Programs of elements of uint8 where the runtime has nothing alike: means, and any zero point of weights."""

import ctypes
from array import array
from pathlib import Path
from random import Random

import pytest

from memstow.planner.firmware.fixed_point import clamped, factor, scaled, single
from tests.planner.firmware.campaign import points
from tests.planner.firmware.random_models import UINT8, Network
from tests.planner.firmware.running import compile_programs, needs_compiler, write
from tests.tflite_models import table

pytestmark = needs_compiler


def outputs_of(model: bytes, name: str, folder: Path, given: list[int], count: int) -> list[int]:
    """What the program makes of an input."""
    (folder / name).mkdir()
    write(points(model, name, ("stripes",), most=1)[0][1], name, model, folder / name)
    library = ctypes.CDLL(str(compile_programs([name], folder / name, "-O1")))
    image, made = (ctypes.c_uint8 * len(given))(*given), (ctypes.c_uint8 * count)()
    inputs = (ctypes.c_void_p * 1)(ctypes.addressof(image))
    outputs = (ctypes.c_void_p * 1)(ctypes.addressof(made))
    assert getattr(library, f"{name}_run")(inputs, outputs) == 0
    return list(made)


def test_means_are_rounded_up_at_halves(tmp_path: Path) -> None:
    net = Network(Random(1), UINT8)
    x = net.tensor((1, 4, 4, 3), UINT8)
    y = net.alike(x, (1, 2, 2, 3))
    sizes = {"f1": ("i", 2), "f2": ("i", 2), "f3": ("i", 2), "f4": ("i", 2)}
    net.main.inputs, net.main.outputs = [x], [net.one("AVERAGE_POOL_2D", [x], y, f0=("b", 1), **sizes)]
    given = [net.rng.randrange(256) for _ in range(48)]
    expected = [
        (
            sum(
                given[(2 * row + dy) * 12 + (2 * column + dx) * 3 + channel] for dy in (0, 1) for dx in (0, 1)
            )
            + 2
        )
        // 4
        for row in (0, 1)
        for column in (0, 1)
        for channel in range(3)
    ]
    assert outputs_of(net.file(), "mean", tmp_path, given, 12) == expected


@pytest.mark.parametrize("seed", range(3))
def test_weights_have_any_zero_point(tmp_path: Path, seed: int) -> None:
    """A matrix, and the same as a convolution of one column."""
    rng = Random(seed)
    depth, channels = rng.choice((7, 16, 33)), 5
    weights = [rng.randrange(256) for _ in range(depth * channels)]
    biases = [rng.randint(-20000, 20000) for _ in range(channels)]
    zeros = rng.randrange(256), rng.randrange(256), rng.randrange(256)
    given = [rng.randrange(256) for _ in range(depth)]
    scales = single(0.02), single(0.013), single(0.02 * 0.013 * 60 * depth)
    pair = factor(single(scales[0] * scales[1]) / scales[2])
    expected = []
    for channel in range(channels):
        total = biases[channel] + sum(
            (element - zeros[0]) * (weight - zeros[1])
            for element, weight in zip(given, weights[channel * depth : (channel + 1) * depth], strict=True)
        )
        expected.append(clamped(scaled(total, *pair) + zeros[2], 0, 255))
    for name, shape in (("matrix", (channels, depth)), ("window", (channels, 1, 1, depth))):
        net = Network(rng, UINT8)
        is_matrix = name == "matrix"
        x = net.tensor((1, depth) if is_matrix else (1, 1, 1, depth), UINT8, scales[0], zeros[0])
        constant = net.constant(shape, UINT8, weights, [scales[1]], zeros=[zeros[1]])
        net.main.tensors[constant][4] = table(f2=array("f", [scales[1]]), f3=array("q", [zeros[1]]))
        bias = net.constant((channels,), 2, biases, [scales[0] * scales[1]])
        made = (1, channels) if is_matrix else (1, 1, 1, channels)
        y = net.tensor(made, UINT8, scales[2], zeros[2])
        net.main.inputs = [x]
        if is_matrix:
            net.main.outputs = [net.one("FULLY_CONNECTED", [x, constant, bias], y)]
        else:
            strides = {"f1": ("i", 1), "f2": ("i", 1)}
            net.main.outputs = [net.one("CONV_2D", [x, constant, bias], y, **strides)]
        assert outputs_of(net.file(), f"{name}_{seed}", tmp_path, given, channels) == expected
