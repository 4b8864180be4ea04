"""Functions of one element, where a factor of 32 bits would not do, and of numbers that are not finite."""

import ctypes
from math import inf
from pathlib import Path
from random import Random

import pytest

from tests.planner.firmware.campaign import points, try_models
from tests.planner.firmware.random_models import INT16, Made, Network
from tests.planner.firmware.running import compile_programs, needs_compiler, needs_runtime, write
from tests.tflite_models import FLOAT32

pytestmark = needs_compiler


@needs_runtime
@pytest.mark.parametrize("name", ["RELU", "LEAKY_RELU"])
def test_factors_of_scales_are_of_64_bits(tmp_path: Path, name: str) -> None:
    """Elements of 16 bits show it: that of one in some thousands is at a half."""
    models = []
    for seed in range(6):
        net = Network(Random(seed), INT16)
        x = net.tensor((1, 8000), scale=net.rng.uniform(1, 8) / 32768)
        y = net.tensor((1, 8000), scale=net.rng.uniform(1, 8) / 32768)
        slope = {"f0": ("f", 0.3)} if name == "LEAKY_RELU" else {}
        net.main.inputs, net.main.outputs = [x], [net.one(name, [x], y, **slope)]
        models.append(Made(f"{name.lower()}_{seed}", net.file(), net.file()))
    tally = try_models(models, tmp_path)
    assert not tally.wrong
    assert tally.same == len(models)


@pytest.mark.parametrize(("name", "becomes"), [("RELU", [inf, 0.0]), ("LEAKY_RELU", [inf, -inf])])
def test_numbers_that_are_not_finite(tmp_path: Path, name: str, becomes: list[float]) -> None:
    net = Network(Random(1), FLOAT32)
    x, y = net.tensor((1, 2)), net.tensor((1, 2))
    slope = {"f0": ("f", inf)} if name == "LEAKY_RELU" else {}
    net.main.inputs, net.main.outputs = [x], [net.one(name, [x], y, **slope)]
    write(points(net.file(), "net", ("stripes",), most=1)[0][1], "net", net.file(), tmp_path)
    library = ctypes.CDLL(str(compile_programs(["net"], tmp_path)))
    image, made = (ctypes.c_float * 2)(inf, -1.0), (ctypes.c_float * 2)()
    inputs = (ctypes.c_void_p * 1)(ctypes.addressof(image))
    outputs = (ctypes.c_void_p * 1)(ctypes.addressof(made))
    assert library.net_run(inputs, outputs) == 0
    assert list(made) == becomes
