"""Quantised ONNX models as programs: in integers wherever that is the same, and exactly as ONNX Runtime."""

import ctypes
import re
import subprocess
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memstow.planner.firmware import Built, build
from memstow.planner.formats.onnx.models import read_graph
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from tests.onnx_models import T, helper, onnx
from tests.planner.firmware.campaign import points
from tests.planner.firmware.quantised_networks import (
    FORMS,
    OPERATORS,
    PAIRS,
    QuantisedNet,
    Scaled,
    model_of,
    quantised_network,
    quantised_wide,
)
from tests.planner.firmware.running import COMPILER, SANITIZERS, compile_programs, needs_compiler
from tests.waiting import PATIENCE

numpy = pytest.importorskip("numpy", reason="needs numpy")
needs_onnxruntime = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="needs onnxruntime: pip install onnxruntime"
)
_TYPES = {"int8": T.INT8, "uint8": T.UINT8, "float32": T.FLOAT}


def run(
    programs: dict[str, Built], inputs: dict[str, list[Any]], folder: Path, *flags: str
) -> dict[str, Any]:
    """What each program makes of its input: an array of bytes for its first output."""
    for name, built in programs.items():
        for end in (".h", ".c"):
            (folder / f"{name}{end}").write_bytes(built.files[f"{name}{end}"])
    library = ctypes.CDLL(str(compile_programs(list(programs), folder, "-O1", *flags)))
    made = {}
    for name, built in programs.items():
        size = next(tensor.size for tensor in built.loops.tensors if tensor.id == built.graph.outputs[0])
        output = numpy.full(size, 0x55, "u1")
        pointers = (ctypes.c_void_p * len(inputs[name]))(*[entry.ctypes.data for entry in inputs[name]])
        results = (ctypes.c_void_p * 1)(output.ctypes.data)
        assert getattr(library, f"{name}_run")(pointers, results) == 0
        made[name] = output
    return made


def one(data: bytes, image: Any, folder: Path) -> Any:
    """What the program of a model makes of an input, of the same type."""
    (name, built), *_ = points(data, "one", ("stripes",), most=1)
    made = run({name: built}, {name: [numpy.ascontiguousarray(image)]}, folder)[name]
    return made.view(image.dtype)


def rounded(real: Any, zero: int, kind: str) -> Any:
    """The integers that floats become, halves to even."""
    limits = numpy.iinfo(kind)
    return numpy.clip(numpy.rint(real) + zero, limits.min, limits.max).astype(kind)


def in_stripes(built: Built) -> bool:
    return any(hasattr(segment, "strips") for segment in built.loops.segments)


def convolved(image: Any, weights: Any, pads: int, stride: int, apart: int, groups: int) -> Any:
    """Sums of products, one place after the other."""
    channels, depth, high, wide = weights.shape
    padded = numpy.pad(image, ((0, 0), (pads, pads), (pads, pads)))
    rows = (padded.shape[1] - (high - 1) * apart - 1) // stride + 1
    columns = (padded.shape[2] - (wide - 1) * apart - 1) // stride + 1
    sums = numpy.zeros((channels, rows, columns), "i8")
    for channel in range(channels):
        first = channel // (channels // groups) * depth
        for row in range(rows):
            for column in range(columns):
                part = padded[
                    first : first + depth,
                    row * stride : row * stride + (high - 1) * apart + 1 : apart,
                    column * stride : column * stride + (wide - 1) * apart + 1 : apart,
                ]
                sums[channel, row, column] = (part * weights[channel]).sum()
    return sums


_WINDOWS = {
    "plain": (3, 1, 1, 1, 1),
    "point": (1, 0, 1, 1, 1),
    "dilated": (3, 2, 1, 2, 1),
    "strided": (2, 1, 2, 1, 1),
    "grouped": (3, 1, 1, 1, 2),
    "depthwise": (3, 1, 1, 1, 4),
}


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "of_weights", "zeros_of_weights"),
    [
        ("int8", "int8", (0,)),
        ("int8", "int8", (-9, 12)),
        ("uint8", "int8", (0, 9)),
        ("uint8", "uint8", (100, 128, 131)),
    ],
)
def test_convolutions(
    tmp_path: Path, form: str, kind: str, of_weights: str, zeros_of_weights: tuple[int, ...]
) -> None:
    """Sums of integers, times a factor of 32 bits, rounded once: counted here by hand."""
    programs, inputs, expected = {}, {}, {}
    for what, (kernel, pads, stride, apart, groups) in _WINDOWS.items():
        rng = Random(f"{what} {kind} {of_weights}")
        net = QuantisedNet(rng, form, kind)
        channels, made = 4, 8 if what == "depthwise" else 6
        zeros = [rng.choice((numpy.iinfo(kind).min, numpy.iinfo(kind).max, 3)) for _ in range(2)]
        step = 0.02 * (channels // groups * kernel * kernel) ** 0.5
        zero = rng.choice(zeros_of_weights)
        x, y = net.scaled("x", 0.02, zeros[0]), net.scaled("y", step, zeros[1])
        weights = net.random((made, channels // groups, kernel, kernel), of_weights)
        scales = numpy.array([rng.uniform(0.001, 0.01) for _ in range(made)], "f4")
        biases = numpy.array([rng.randint(-5000, 5000) for _ in range(made)], "i4")
        named = [net.array(entry) for entry in (weights, scales, numpy.full(made, zero, of_weights), biases)]
        more: dict[str, Any] = {
            "pads": [pads] * 4, "strides": [stride] * 2, "dilations": [apart] * 2, "group": groups,
        }  # fmt: skip
        if form == OPERATORS:
            ends = [*x.inputs, *named[:3], *y.inputs[1:], named[3]]
            net.nodes.append(helper.make_node("QLinearConv", ends, ["y"], **more))
        else:
            bias_scale = net.array(numpy.float32(0.02) * scales)
            ends = [
                net.floats(x),
                net.run("DequantizeLinear", named[:3], axis=0),
                net.run("DequantizeLinear", [named[3], bias_scale], axis=0),
            ]
            last = [net.run("Conv", ends, **more), *y.inputs[1:]]
            net.nodes.append(helper.make_node("QuantizeLinear", last, ["y"]))
        data = model_of(net, {"x": (1, channels, 7, 6)}, ["y"], _TYPES[kind])
        name = f"{what}_{form}"
        (_, programs[name]), *_ = points(data, name, ("stripes",), most=1)
        assert [operator.type for operator in programs[name].graph.operators] in (
            ["CONV_2D"],
            ["DEPTHWISE_CONV_2D"],
            ["GROUPED_CONV_2D"],
        )
        image = net.random((1, channels, 7, 6), kind)
        inputs[name] = [image]
        centred = weights.astype("i8") - zero
        sums = convolved(image[0].astype("i8") - zeros[0], centred, pads, stride, apart, groups)
        factors = numpy.float32(0.02) * scales / numpy.float32(step)
        reals = (sums + biases[:, None, None]).astype("f4") * factors[:, None, None]
        expected[name] = rounded(reals, zeros[1], kind)
    made_of = run(programs, inputs, tmp_path)
    for name, want in expected.items():
        assert numpy.array_equal(made_of[name].view(kind), want.reshape(-1)), name
        # Not everything is at an end.
        assert len(set(want.reshape(-1).tolist())) > 20, name


@needs_compiler
def test_sums_are_rounded_as_floats(tmp_path: Path) -> None:
    """Sums of any size by factors of any size, and most of them beside a half: the weights are zeros."""
    random = numpy.random.default_rng(3)
    count = 20_000
    factors = numpy.exp2(random.uniform(-40, 6, count)).astype("f4")
    factors[: count // 2] = numpy.exp2(random.uniform(-16, -3, count // 2)).astype("f4")
    halves = (random.integers(-140, 140, count) + 0.5) / factors.astype("f8")
    sums = numpy.clip(numpy.rint(halves + random.integers(-1, 2, count)), -(2**31), 2**31 - 1)
    sums[::5] = random.integers(-(2**31), 2**31, len(sums[::5]))
    net = QuantisedNet(Random(1), OPERATORS, "int8")
    x, y = net.scaled("x", 1.0, 0), net.scaled("y", 1.0, 3)
    named = [
        net.array(entry)
        for entry in (numpy.zeros((count, 1), "i1"), factors, numpy.zeros(count, "i1"), sums.astype("i4"))
    ]
    ends = [*x.inputs, *named, *y.inputs[1:]]
    net.nodes.append(helper.make_node("QGemm", ends, ["y"], domain="com.microsoft", transB=1))
    made = one(model_of(net, {"x": (1, 1)}, ["y"], T.INT8), numpy.array([[1]], "i1"), tmp_path)
    want = rounded(sums.astype("i4").astype("f4") * factors, 3, "int8")
    assert numpy.array_equal(made, want)
    assert len(set(want.tolist())) == 256


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
def test_halves_go_to_even(tmp_path: Path, form: str) -> None:
    """A matrix of one row with a factor of 1/2: 1, 2, 3, ... become 0, 1, 2, 2, 2, 3, 4, 4, 4."""
    net = QuantisedNet(Random(1), form, "int8")
    x, y = net.scaled("x", 1.0, 0), net.scaled("y", 1.0, -1)
    weights = net.array(numpy.arange(-4, 6, dtype="i1").reshape(10, 1))
    scale, zero = net.array(numpy.array(0.5, "f4")), net.array(numpy.array(0, "i1"))
    if form == OPERATORS:
        ends = [*x.inputs, weights, scale, zero, "", *y.inputs[1:]]
        net.nodes.append(helper.make_node("QGemm", ends, ["y"], domain="com.microsoft", transB=1))
    else:
        ends = [net.floats(x), net.run("DequantizeLinear", [weights, scale, zero])]
        last = [net.run("Gemm", ends, transB=1), *y.inputs[1:]]
        net.nodes.append(helper.make_node("QuantizeLinear", last, ["y"]))
    data = model_of(net, {"x": (1, 1)}, ["y"], T.INT8)
    made = one(data, numpy.array([[1]], "i1"), tmp_path)
    assert made.tolist() == [number - 1 for number in (-2, -2, -1, 0, 0, 0, 1, 2, 2, 2)]


def pair_of(kind: str, net: QuantisedNet, first: Scaled, second: Scaled, made: Scaled) -> bytes:
    """A model of an operator of a value and a constant."""
    if net.form == OPERATORS:
        ends = [*first.inputs, *second.inputs, *made.inputs[1:]]
        net.nodes.append(helper.make_node(f"QLinear{kind}", ends, ["y"], domain="com.microsoft"))
    else:
        floats = net.run(kind, [net.floats(first), net.floats(second)])
        net.nodes.append(helper.make_node("QuantizeLinear", [floats, *made.inputs[1:]], ["y"]))
    return model_of(net, {"x": (1, 256)}, ["y"], _TYPES[net.kind])


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("what", ["Add", "Mul"])
def test_sums_and_products_of_two(tmp_path: Path, what: str, kind: str, form: str) -> None:
    """Steps that are powers of two, so that floats are exact: every pair of an element and one of some."""
    for number in (-7, 3, 100):
        folder = tmp_path / str(number)
        folder.mkdir()
        net = QuantisedNet(Random(1), form, kind)
        x, y = net.scaled("x", 0.25, 5), net.scaled("y", 0.5, 2)
        other = number % 256 if kind == "uint8" else number
        z = net.scaled(net.array(numpy.array([other], kind)), 0.125, 9)
        data = pair_of(what, net, x, z, y)
        image = numpy.arange(256).astype(kind).reshape(1, 256)
        one_part, other_part = (image.astype("i8") - 5) * 0.25, (other - 9) * 0.125
        real = (one_part + other_part if what == "Add" else one_part * other_part) / 0.5
        limits = numpy.iinfo(kind)
        want = numpy.clip(numpy.rint(real + 2), limits.min, limits.max).astype(kind)
        assert numpy.array_equal(one(data, image, folder), want.reshape(-1))


@needs_compiler
@pytest.mark.parametrize("steps", [(0.1, 0.2, 0.3), (1.0, 1.0, 2.0), (0.013, 0.5, 0.07), (700.0, 0.01, 0.02)])
@pytest.mark.parametrize("what", ["Add", "Mul"])
def test_every_pair_is_rounded_as_floats(
    tmp_path: Path, what: str, steps: tuple[float, float, float]
) -> None:
    """Integers decide where floats would say the same: each of 65,536 pairs, many beside a half."""
    net = QuantisedNet(Random(1), OPERATORS, "int8")
    x, z = net.scaled("x", steps[0], -7), net.scaled("z", steps[1], 100)
    y = net.scaled("y", steps[2], -128)
    ends = [*x.inputs, *z.inputs, *y.inputs[1:]]
    net.nodes.append(helper.make_node(f"QLinear{what}", ends, ["y"], domain="com.microsoft"))
    data = model_of(net, {"x": (1, 65536), "z": (1, 65536)}, ["y"], T.INT8)
    (_, built), *_ = points(data, "one", ("stripes",), most=1)
    first, second = (
        entry.reshape(-1).astype("i1") for entry in numpy.meshgrid(range(-128, 128), range(-128, 128))
    )
    made = run({"one": built}, {"one": [first, second]}, tmp_path)["one"].view("i1")
    scales = [numpy.float32(step) for step in steps]
    zero = numpy.float32(-128)
    if what == "Add":
        one_factor, other_factor = scales[0] / scales[2], scales[1] / scales[2]
        offset = zero - (one_factor * numpy.float32(-7) + other_factor * numpy.float32(100))
        real = (offset + second.astype("f4") * other_factor) + first.astype("f4") * one_factor
    else:
        product = (first.astype("i4") + 7) * (second.astype("i4") - 100)
        real = product.astype("f4") * (scales[0] * scales[1] / scales[2]) + zero
    assert numpy.array_equal(made, numpy.clip(numpy.rint(real), -128, 127).astype("i1"))


@needs_compiler
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_functions_are_tables(tmp_path: Path, kind: str) -> None:
    """Each element that there is, by what the function makes of the number that it stands for."""
    functions = {
        "Sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
        "Tanh": numpy.tanh,
        "LeakyRelu": lambda x: numpy.where(x < 0, 0.25 * x, x),
        "Relu": lambda x: numpy.maximum(x, 0),
        "HardSigmoid": lambda x: numpy.clip(0.2 * x + 0.5, 0, 1),
        "Elu": lambda x: numpy.where(x > 0, x, numpy.expm1(x)),
        "Abs": numpy.abs,
        "Neg": lambda x: -x,
        "Softplus": lambda x: numpy.log1p(numpy.exp(x)),
        "Erf": numpy.vectorize(import_module("math").erf),
    }
    programs, inputs, expected = {}, {}, {}
    for what, function in functions.items():
        net = QuantisedNet(Random(what), PAIRS, kind)
        x, y = net.scaled("x", 0.04, 11), net.scaled("y", 0.021, 7)
        more: dict[str, Any] = {"alpha": 0.25} if what == "LeakyRelu" else {}
        floats = net.run(what, [net.floats(x)], **more)
        net.nodes.append(helper.make_node("QuantizeLinear", [floats, *y.inputs[1:]], ["y"]))
        name = what.lower()
        data = model_of(net, {"x": (1, 256)}, ["y"], _TYPES[kind])
        (_, programs[name]), *_ = points(data, name, ("stripes",), most=1)
        image = numpy.arange(256).astype(kind).reshape(1, 256)
        inputs[name] = [image]
        reals = (image.astype("f8") - 11) * float(numpy.float32(0.04))
        expected[name] = function(reals) / numpy.float32(0.021)
    for name, made in run(programs, inputs, tmp_path).items():
        want = expected[name].reshape(-1)
        near = numpy.abs(want - numpy.floor(want) - 0.5) < 1e-4
        assert numpy.array_equal(made.view(kind)[~near], rounded(want, 7, kind)[~near]), name
        assert near.sum() < 8, name


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
def test_means(tmp_path: Path, form: str) -> None:
    """Of an image as a whole, and of windows with margins that count and that do not."""
    programs, inputs, expected = {}, {}, {}
    image = QuantisedNet(Random(3)).random((1, 3, 4, 4), "int8")
    reals = (image[0].astype("f8") - 4) * 0.5
    for what in ("whole", "inside", "padded"):
        net = QuantisedNet(Random(1), form, "int8")
        x, y = net.scaled("x", 0.5, 4), net.scaled("y", 0.25, -3)
        kind = "GlobalAveragePool" if what == "whole" else "AveragePool"
        more: dict[str, Any] = {}
        if what != "whole":
            more = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": int(what == "padded")}
        if form == OPERATORS:
            ends = [*x.inputs, *y.inputs[1:]]
            net.nodes.append(helper.make_node(f"QLinear{kind}", ends, ["y"], domain="com.microsoft", **more))
        else:
            floats = net.run(kind, [net.floats(x)], **more)
            net.nodes.append(helper.make_node("QuantizeLinear", [floats, *y.inputs[1:]], ["y"]))
        data = model_of(net, {"x": (1, 3, 4, 4)}, ["y"], T.INT8)
        (_, programs[what]), *_ = points(data, what, ("stripes",), most=1)
        inputs[what] = [image]
        if what == "whole":
            want = rounded(reals.mean((1, 2)) / 0.25, -3, "int8")
        else:
            padded = numpy.pad(reals, ((0, 0), (1, 1), (1, 1)))
            counts = numpy.pad(numpy.ones((4, 4)), 1)
            sums, places = numpy.zeros((3, 5, 5)), numpy.zeros((5, 5))
            for row in (0, 1):
                for column in (0, 1):
                    sums += padded[:, row : row + 5, column : column + 5]
                    places += counts[row : row + 5, column : column + 5]
            real = sums / (4 if what == "padded" else places) / 0.25 - 3
            want = numpy.clip(numpy.rint(real), -128, 127).astype("i1")
        expected[what] = want
    for what, made in run(programs, inputs, tmp_path).items():
        assert numpy.array_equal(made.view("i1"), expected[what].reshape(-1)), what


@needs_compiler
def test_integers_without_a_scale_are_moved(tmp_path: Path) -> None:
    """Operators that only choose or move elements need not know what these stand for."""
    net = QuantisedNet(Random(1), OPERATORS, "uint8")
    image = net.run("MaxPool", ["x"], kernel_shape=[2, 2], strides=[2, 2])
    net.nodes.append(helper.make_node("Concat", [image, image], ["y"], axis=1))
    given = net.random((1, 2, 4, 6), "uint8")
    made = one(model_of(net, {"x": (1, 2, 4, 6)}, ["y"], T.UINT8), given, tmp_path)
    want = given.reshape(2, 2, 2, 3, 2).max((2, 4))
    assert made.tolist() == [*want.reshape(-1), *want.reshape(-1)]


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_graphs_of_operators_of_integers_have_sizes(kind: str) -> None:
    """Operators that are no part of the standard as well: what they make has the shape of that of floats."""
    seen = Counter[str]()
    for seed in range(12):
        graph = read_graph(quantised_network(seed, OPERATORS, kind))
        made = {name for operator in graph.operators for name in operator.outputs}
        for tensor in graph.tensors:
            if tensor.id in made and tensor.type != "float32":
                assert tensor.type == kind
                assert tensor.shape
        seen.update(operator.type or "" for operator in graph.operators)
    assert {"QLinearAdd", "QLinearConcat", "QGemm", "QLinearConv"} <= {*seen}
    assert not {"Conv", "Gemm", "Add"} & {*seen}


def test_what_lies_between_is_integers() -> None:
    """Activations, pools and other ways to read between a convolution and its integers are a part of it."""
    net = QuantisedNet(Random(1), PAIRS, "int8")
    x, y = net.scaled("x", 0.02, 0), net.scaled("y", 0.05, -128)
    weights = Scaled(net.array(net.random((4, 3, 3, 3), "int8")), net.array(numpy.array(0.01, "f4")), "", 0.0)
    image = net.run("Conv", [net.floats(x), net.run("DequantizeLinear", weights.inputs[:2])])
    image = net.run("MaxPool", [net.run("Relu", [image])], kernel_shape=[2, 2], strides=[2, 2])
    image = net.run("Reshape", [image, net.numbers(1, 64)])
    net.nodes.append(helper.make_node("QuantizeLinear", [image, *y.inputs[1:]], ["y"]))
    built = build(model_of(net, {"x": (1, 3, 10, 10)}, ["y"], T.INT8), with_check=False)
    kinds = [(operator.type or "").partition(" ")[0] for operator in built.graph.operators]
    assert kinds == ["CONV_2D", "MAX_POOL_2D"]
    assert {tensor.type for tensor in built.graph.tensors if tensor.kind == "data"} == {"int8"}
    assert in_stripes(built)
    assert built.arena < 3 * 10 * 10 * 2


def test_biases_of_floats_become_steps_of_sums() -> None:
    """As exporters of PyTorch leave them; who asks for a shape does not keep a value from being integers."""
    net = QuantisedNet(Random(1), PAIRS, "uint8")
    x, y = net.scaled("x", 0.5, 0), net.scaled("y", 0.05, 9)
    weights = net.random((2, 3, 1, 1), "int8")
    named = [net.array(weights), net.array(numpy.array([0.25, 2.0], "f4")), net.array(numpy.zeros(2, "i1"))]
    bias = net.array(numpy.array([1.0625, -3.0], "f4"))
    ends = [net.floats(x), net.run("DequantizeLinear", named, axis=0), bias]
    image = net.run("Conv", ends)
    batch = net.run("Gather", [net.run("Shape", [image]), net.array(numpy.array([0], "i8"))])
    image = net.run("Reshape", [image, net.run("Concat", [batch, net.numbers(-1)], axis=0)])
    net.nodes.append(helper.make_node("QuantizeLinear", [image, *y.inputs[1:]], ["y"]))
    built = build(model_of(net, {"x": (1, 3, 4, 4)}, ["y"], T.UINT8), with_check=False)
    assert [operator.type for operator in built.graph.operators] == ["CONV_2D"]
    biases = re.search(r"biases_0\[2\] = {\s*([^}]*)}", built.files["model.c"].decode())
    assert biases is not None
    # 8.5 goes to the even one.
    assert biases[1].split() == ["8,", "-3,"]


def test_what_has_no_integers_stays_float() -> None:
    """A division between integers is computed in floats, and what it is said of."""
    net = QuantisedNet(Random(1), PAIRS, "int8")
    x, y = net.scaled("x", 0.02, 0), net.scaled("y", 0.05, 0)
    image = net.floats(x)
    floats = net.run("Div", [image, net.run("Exp", [image])])
    net.nodes.append(helper.make_node("QuantizeLinear", [floats, *y.inputs[1:]], ["y"]))
    built = build(model_of(net, {"x": (1, 3, 4, 4)}, ["y"], T.INT8), with_check=False)
    kinds = [operator.type for operator in built.graph.operators]
    assert kinds == ["DEQUANTIZE", "EXP", "DIV", "QUANTIZE"]
    assert [line.partition(" ")[0] for line in built.in_float] == ["EXP", "DIV"]


@needs_compiler
@needs_onnxruntime
@pytest.mark.parametrize(("seed", "kind"), [(5, "int8_t"), (0, "float")])
def test_programs_check_themselves(tmp_path: Path, seed: int, kind: str) -> None:
    """The check passes, also where an element is a step from another, and fails where it is three."""
    data = quantised_network(seed, PAIRS, "int8")
    built = build(data, options=Options(deterministic=True, work_limit=20_000))
    check = built.files["model_check.c"].decode()
    first = re.search(rf"const {kind} expected_0_0\[\d*\] = {{\s*([^,]+),", check)
    step = re.search(r"\[at\], ([0-9.e-]+)\)", check)
    assert first is not None
    assert step is not None
    for steps, code in ((0, 0), (1, 0), (3, 2)):
        folder = tmp_path / str(steps)
        folder.mkdir()
        text = check[: first.end(1)] + f" + {steps} * {step[1]}" + check[first.end(1) :]
        for name, content in {**built.files, "model_check.c": text.encode()}.items():
            (folder / name).write_bytes(content)
        command = [COMPILER or "gcc", "-std=c11", "model.c", "model_check.c", "-lm", "-o", "check"]
        subprocess.run(command, cwd=folder, check=True, timeout=PATIENCE)
        assert subprocess.run([folder / "check"], timeout=PATIENCE, check=False).returncode == code


@needs_compiler
@needs_onnxruntime
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_networks_are_those_of_the_runtime(tmp_path: Path, form: str, kind: str) -> None:
    assert compared(range(4), form, kind, tmp_path, 2)["in stripes"]


@needs_compiler
@needs_onnxruntime
@pytest.mark.campaign
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("first", range(100, 180, 20))
def test_many_networks_are_those_of_the_runtime(tmp_path: Path, form: str, kind: str, first: int) -> None:
    assert compared(range(first, first + 20), form, kind, tmp_path, 3)["in stripes"]


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
def test_parts_of_channels_are_the_same(tmp_path: Path, form: str) -> None:
    programs, images, first = {}, {}, {}
    for kind in ("int8", "uint8"):
        for seed in range(4):
            name, data = f"wide_{kind}_{seed}", quantised_wide(seed, form, kind)
            listed = points(data, name, (), most=1)
            listed += points(data, f"{name}_parts", ("stripes", "channels"), most=3)
            for label, built in listed:
                net = QuantisedNet(Random(name))
                shape = next(t.shape for t in built.graph.tensors if t.id == built.graph.inputs[0])
                programs[label], images[label] = built, [net.random(shape or (), kind)]
                first[label] = name
    made = run(programs, images, tmp_path)
    assert all((made[label] == made[name]).all() for label, name in first.items())
    in_parts = [
        built for built in programs.values() if built.plan.schedule and built.plan.schedule.alternatives
    ]
    assert len(in_parts) > 3


def compared(seeds: range, form: str, kind: str, folder: Path, most: int, *flags: str) -> Counter[str]:
    """Build, compile and run networks at points of their fronts; each element is that of the runtime."""
    ort = import_module("onnxruntime")
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.add_session_config_entry("session.qdqisint8allowed", "1")
    models = {f"net_{seed}": quantised_network(seed, form, kind) for seed in seeds}
    programs, inputs, expected = {}, {}, {}
    for name, data in models.items():
        net = QuantisedNet(Random(name))
        entry = onnx.load_model_from_string(data).graph.input[0].type.tensor_type
        shape = [axis.dim_value for axis in entry.shape.dim]
        image = net.random(shape, kind)
        if entry.elem_type == T.FLOAT:
            image = ((image.astype("i4") - 20) * 0.03).astype("f4")
        session = ort.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
        (want,) = session.run(None, {"x": image})
        for label, built in points(data, name, ("stripes",), most=most):
            programs[label], inputs[label], expected[label] = built, [image], want
    became: Counter[str] = Counter()
    for label, made in run(programs, inputs, folder, *flags).items():
        want = expected[label].reshape(-1)
        have = made.view(want.dtype)
        apart = 1e-6 * numpy.abs(want) if want.dtype == "f4" else 0
        assert (numpy.abs(have - want) <= apart).all(), (label, have[:8], want[:8])
        became["in stripes" if in_stripes(programs[label]) else "whole"] += 1
    return became


@needs_compiler
@pytest.mark.campaign
def test_damaged_models_are_refused_or_run_without_a_report(tmp_path: Path) -> None:
    random, became = Random(7), Counter[str]()
    ways = [(form, kind) for form in FORMS for kind in ("int8", "uint8")]
    sound = [quantised_network(seed, *way) for seed in range(4) for way in ways]
    programs = {}
    for number in range(240):
        data = bytearray(random.choice(sound))
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] = random.randrange(256)
        name = f"damaged_{number}"
        try:
            options = Options(deterministic=True, work_limit=20_000)
            built = build(bytes(data), name=name, options=options, with_check=False)
        except InputError as error:
            became[error.issues[0].code] += 1
            continue
        if built.arena < 1_000_000:
            programs[name] = built
    assert len(became) > 4
    assert len(programs) > 20
    for name, built in programs.items():
        for end in (".h", ".c"):
            (tmp_path / f"{name}{end}").write_bytes(built.files[f"{name}{end}"])
    from tests.planner.firmware.running import Program, run_programs

    library = compile_programs(list(programs), tmp_path, "-O0", *SANITIZERS)
    listed = [Program(name, "", 0, 0, built.arena, -1) for name, built in programs.items()]
    ran = run_programs(listed, library, 2, sanitized=True, reference="nothing")
    assert not [entry for entry in ran if entry.trouble]


def refused(nodes: list[Any], constants: list[Any], kind: int, shape: tuple[int, ...] = (1, 4)) -> InputError:
    net = QuantisedNet(Random(1))
    net.nodes, net.constants = nodes, constants
    with pytest.raises(InputError) as caught:
        build(model_of(net, {"x": shape}, ["y"], kind, opset=21), with_check=False)
    return caught.value


def constant(name: str, kind: int, *values: float) -> Any:
    shape = [len(values)] if len(values) > 1 else []
    return helper.make_tensor(name, kind, shape, values)


@pytest.mark.parametrize(
    ("kind", "scale", "says"),
    [
        (T.INT16, [0.1], "it makes int16"),
        (T.UINT16, [0.1], "it makes uint16"),
        (T.INT4, [0.1], "it makes int4"),
        (T.INT8, [-0.1], "a scale is not a positive number"),
        (T.INT8, [float("nan")], "a scale is not a positive number"),
        (T.INT8, [0.1, 0.1, 0.1, 0.1], "scales along an axis"),
    ],
    ids=["int16", "uint16", "int4", "negative", "nan", "axis"],
)
def test_integers_that_cannot_be_built_are_refused(kind: int, scale: list[float], says: str) -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1),
    ]
    constants = [constant("s", T.FLOAT, *scale), constant("z", kind, *[0] * len(scale))]
    assert says in str(refused(nodes, constants, T.FLOAT))


def test_scales_that_are_computed_are_refused() -> None:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    assert "quantise the model statically" in str(refused(nodes, [], T.FLOAT))


@pytest.mark.parametrize("kind", ["QuantizeLinear", "DequantizeLinear"])
def test_nodes_that_make_nothing_are_refused(kind: str) -> None:
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node(kind, ["x", "s", "z"], [])]
    constants = [constant("s", T.FLOAT, 0.1), constant("z", T.INT8, 0)]
    assert refused(nodes, constants, T.FLOAT).issues[0].code == "contradicting_shapes"


def test_kernels_that_round_in_another_way_are_refused() -> None:
    with pytest.raises(InputError, match="CMSIS-NN rounds as TensorFlow Lite does"):
        build(quantised_network(0, PAIRS, "int8"), kernels="cmsis-nn", with_check=False)


def test_errors_name_the_operator_of_the_file() -> None:
    ends = ["x", "s", "z", "w", "s", "z", "s", "z"]
    nodes = [
        helper.make_node("Identity", ["w"], ["unused"]),
        helper.make_node("QLinearConv", ends, ["y"], name="first"),
    ]
    constants = [constant("s", T.FLOAT, 0.1), constant("z", T.INT8, 0)]
    constants.append(helper.make_tensor("w", T.INT8, [4, 2, 3, 3], [1] * 72))
    error = refused(nodes, constants, T.INT8, (2, 2, 5, 5))
    assert error.issues[0].path == "$.graph.node[1]"
    assert error.issues[0].message.startswith('QLinearConv "first": 2 images at a time')
