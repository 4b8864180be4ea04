"""Programs of ONNX models compute what a runtime of ONNX does, and what cannot be built is refused."""

import ctypes
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memstow
from memstow.planner.firmware import Built, build
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Generator
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool, Target
from tests.onnx_models import convolutions, model, node, numbers, onnx, value, weights
from tests.planner.firmware.campaign import points
from tests.planner.firmware.onnx_networks import ALONE, alone, network, wide
from tests.planner.firmware.running import compile_programs, needs_compiler

numpy = pytest.importorskip("numpy", reason="needs numpy")


def expected(data: bytes, inputs: dict[str, Any]) -> list[Any]:
    """What ONNX Runtime makes of it, or onnx, whose evaluator is right for the seeds that always run."""
    if find_spec("onnxruntime") is not None:
        ort = import_module("onnxruntime")
        listed: list[Any] = ort.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, inputs)
    else:
        evaluator = import_module("onnx.reference").ReferenceEvaluator(onnx.load_model_from_string(data))
        # What is infinite is so in a runtime as well, which says nothing.
        with numpy.errstate(all="ignore"):
            listed = evaluator.run(None, inputs)
    return listed


def compare(
    models: dict[str, bytes],
    folder: Path,
    most: int,
    *flags: str,
    generators: Sequence[Generator] = ("stripes",),
) -> Counter[str]:
    """Build, compile and run each of them."""
    programs: dict[str, tuple[bytes, Built]] = {}
    for name, data in models.items():
        programs |= {label: (data, built) for label, built in points(data, name, generators, most=most)}
    for name, (_, built) in programs.items():
        for end in (".h", ".c"):
            (folder / f"{name}{end}").write_bytes(built.files[f"{name}{end}"])
    library = ctypes.CDLL(str(compile_programs(list(programs), folder, "-O1", *flags)))
    became: Counter[str] = Counter()
    for name, (data, built) in programs.items():
        loaded = onnx.load_model_from_string(data)
        random = numpy.random.default_rng(len(name))
        inputs = {
            entry.name: random.standard_normal(
                [axis.dim_value for axis in entry.type.tensor_type.shape.dim]
            ).astype("f4")
            for entry in loaded.graph.input
        }
        wanted = expected(data, inputs)
        outputs = [numpy.full(entry.size, numpy.nan, "f4") for entry in wanted]
        pointers = (ctypes.c_void_p * len(inputs))(*[entry.ctypes.data for entry in inputs.values()])
        results = (ctypes.c_void_p * len(outputs))(*[entry.ctypes.data for entry in outputs])
        assert getattr(library, f"{name}_run")(pointers, results) == 0
        for have, want in zip(outputs, wanted, strict=True):
            flat = want.reshape(-1)
            assert numpy.isclose(have, flat, rtol=2e-5, atol=2e-5).all(), (name, have[:8], flat[:8])
        became["in stripes"] += any(hasattr(entry, "strips") for entry in built.loops.segments)
        became["in parts"] += bool(built.plan.schedule and built.plan.schedule.alternatives)
    return became


@needs_compiler
def test_networks_at_points_of_their_fronts(tmp_path: Path) -> None:
    became = compare({f"net_{seed}": network(seed) for seed in range(12)}, tmp_path, 2)
    assert became["in stripes"]


@pytest.mark.campaign
@needs_compiler
def test_networks_in_parts_of_channels(tmp_path: Path) -> None:
    models = {f"wide_{seed}": wide(seed) for seed in range(10)}
    assert compare(models, tmp_path, 3, generators=("stripes", "channels"))["in parts"]


@needs_compiler
def test_each_other_operator(tmp_path: Path) -> None:
    compare({what.lower().replace(" ", "_"): alone(what) for what in ALONE}, tmp_path, 2)


@needs_compiler
@pytest.mark.campaign
@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="needs onnxruntime")
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_fuzz_networks(tmp_path: Path, first: int) -> None:
    compare({f"net_{seed}": network(seed) for seed in range(first + 100, first + 150)}, tmp_path, 3)


@needs_compiler
@pytest.mark.campaign
@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="needs onnxruntime")
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_fuzz_networks_in_parts(tmp_path: Path, first: int) -> None:
    models = {f"wide_{seed}": wide(seed) for seed in range(first + 100, first + 150)}
    compare(models, tmp_path, 6, generators=("stripes", "channels"))


def test_damaged_models_are_refused_or_built() -> None:
    random = Random(5)
    became: Counter[bool] = Counter()
    sound = [network(seed) for seed in range(6)]
    for _ in range(60):
        data = bytearray(random.choice(sound))
        for _ in range(random.randint(1, 4)):
            data[random.randrange(min(len(data), 2000))] = random.randrange(256)
        try:
            build(bytes(data), options=Options(deterministic=True, work_limit=20_000), with_check=False)
        except InputError:
            became[False] += 1
        else:
            became[True] += 1
    assert became[False]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (convolutions(), "N"),
        (model([node("Gelu", "x", "y")], [value("x", [1, 4])], [value("y", [1, 4])], 20), "cannot be built"),
        (
            model([node("Conv", "x w", "y")], [value("x", [2, 3, 5, 5])], [value("y", [2, 4, 3, 3])],
                  initializer=[weights("w", 4, 3, 3, 3)]),
            "2 images at a time",
        ),
        (model([node("Relu", "x", "y")], [value("x", [4])], [value("y", [4])], 6), "opset 6 is too old"),
        (
            model([node("Relu", "x", "y"), node("Tanh", "x", "y")], [value("x", [4])], [value("y", [4])]),
            "more than once",
        ),
        (model([node("Relu", "x", "y")], [value("x", [4])] * 2, [value("y", [4])]), "more than once"),
        (model([node("Relu", "x", "y")], [value("x", [4], 11)], [value("y", [4], 11)]), "float64"),
        (model([node("Relu", "x", "y")], [value("x", [1] * 65)], [value("y", [1] * 65)]), "64 dimensions"),
        (
            model([node("Relu", "x", "y")], [value("x", [4])], [value("y", [4]), value("w", [2])],
                  initializer=[weights("w", 2)]),
            "an output that is a constant",
        ),
        (
            model([node("ConstantOfShape", "n", "c"), node("Add", "x c", "y")], [value("x", [1 << 21])],
                  [value("y", [1 << 21])], initializer=[numbers("n", 1 << 21)]),
            "makes 2,097,152 elements of constants, more than 1,048,576",
        ),
    ],
    ids=[
        "open", "operator", "batch", "opset", "two makers", "two inputs", "type", "dimensions",
        "constant", "zeros",
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        memstow.build(data, with_check=False)


def test_elements_are_aligned_wherever_a_memory_begins() -> None:
    data = model([node("Tanh", "x", "y")], [value("x", [5])], [value("y", [5])])
    pools = [Pool(id="one", capacity=64, base=0x20000002)]
    built = memstow.build(data, target=Target(name="odd", pools=pools), with_check=False)
    assert not any(tensor.offset % 4 for tensor in built.loops.tensors)


@needs_compiler
def test_arrays_are_aligned_as_their_memories(tmp_path: Path) -> None:
    data = model([node("Tanh", "x", "y")], [value("x", [5])], [value("y", [5])])
    pools = [Pool(id="cached", capacity=256, alignment=64, base=0x20000020)]
    built = memstow.build(data, name="net", target=Target(name="t", pools=pools), with_check=False)
    for file in ("net.h", "net.c"):
        (tmp_path / file).write_bytes(built.files[file])
    at_home = compile_programs(["net"], tmp_path)
    place = ctypes.CDLL(str(at_home)).net_output
    place.restype = ctypes.c_void_p
    assert place(0) % 64 == 0
    library = tmp_path / "given"
    library.mkdir()
    for file in ("net.h", "net.c"):
        (library / file).write_bytes(built.files[file])
    given = ctypes.CDLL(str(compile_programs(["net"], library, "-DNET_ARENA_0_BY_CALLER")))
    memory = ctypes.create_string_buffer(512)
    begin = -(-ctypes.addressof(memory) // 64) * 64
    answers = [given.net_set_arena(0, ctypes.c_void_p(begin + more)) for more in (16, 64)]
    assert answers == [1, 0]


def test_inputs_of_images_lie_in_the_arena() -> None:
    with pytest.raises(InputError, match="lie in the arena"):
        memstow.build(network(0), external=["inputs"], with_check=False)
