"""Programs that call CMSIS-NN: a stand-in for it, or the library in the folder MEMSTOW_CMSIS_NN.

Both run on the host, as for a processor without vectors and as for one with them.
"""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Final

import pytest

import memstow
from memstow.planner.firmware import Built, build
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from tests.campaign import gate_first
from tests.person_model import person_model
from tests.planner.firmware.campaign import Tally, points, try_models
from tests.planner.firmware.random_models import Made, Network, model_of
from tests.planner.firmware.running import COMPILER, WARNINGS, needs_compiler, needs_runtime
from tests.tflite_models import FLOAT32
from tests.waiting import PATIENCE

pytestmark = needs_compiler
_STAND_IN: Final = Path(__file__).parent / "cmsis_nn"
_REAL: Final = os.environ.get("MEMSTOW_CMSIS_NN")
_DETERMINISTIC: Final = Options(deterministic=True, work_limit=300_000)
# On the host the library wants as much scratch memory as without vectors: programs are compared with these.
_SIZES: Final = (
    "-Darm_convolve_wrapper_s8_get_buffer_size=arm_convolve_wrapper_s8_get_buffer_size_mve",
    "-Darm_depthwise_conv_wrapper_s8_get_buffer_size=arm_depthwise_conv_wrapper_s8_get_buffer_size_mve",
    "-Darm_fully_connected_s8_get_buffer_size=arm_fully_connected_s8_get_buffer_size_mve",
    "-Darm_avgpool_s8_get_buffer_size=arm_avgpool_s8_get_buffer_size_dsp",
)
_MODELS: Final = ("mlct__kws_ref_model", "mww__okay_nabu", "tflm__person_detect", "mlct__vww_96_int8")
_OPERATORS: Final = ("convolution", "depthwise", "pool", "dense", "arithmetic")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """What the compiler is given beside a program."""
    if _REAL is None:
        return f"-I{_STAND_IN}", str(_STAND_IN / "cmsis_nn.c")
    folder = tmp_path_factory.mktemp("cmsis_nn")
    sources = sorted((Path(_REAL) / "Source").glob("*/*.c"))
    wanted = [str(source) for source in sources if not source.stem.endswith(("_f16", "_f32", "_flt"))]
    command = [COMPILER or "gcc", "-O1", "-fPIC", "-w", f"-I{_REAL}/Include", "-c", *wanted]
    subprocess.run(command, cwd=folder, check=True, timeout=PATIENCE)
    return "-isystem", f"{_REAL}/Include", *_SIZES, *map(str, sorted(folder.glob("*.o")))


def _same(tally: Tally, least: int) -> None:
    assert not tally.wrong, tally.wrong[:5]
    assert tally.same >= least, (tally.refused, tally.not_run)
    assert tally.by_cmsis_nn >= least


@needs_runtime
@pytest.mark.parametrize("has_vectors", [0, 1])
def test_operators_make_the_same_as_in_the_runtime(
    tmp_path: Path, library: tuple[str, ...], has_vectors: int
) -> None:
    models = [model_of(what, "int8", seed) for what in _OPERATORS for seed in range(8)]
    tally = try_models(models, tmp_path, "-O1", *library, f"-DHAS_VECTORS={has_vectors}", kernels="cmsis-nn")
    # Of some models, CMSIS-NN computes nothing.
    assert all("CMSIS-NN computes no operator" in reason for reason in tally.refused)
    _same(tally, len(models) // 3)


@pytest.mark.campaign
@needs_runtime
@pytest.mark.parametrize("has_vectors", [0, 1])
def test_networks_make_the_same_at_each_point(
    tmp_path: Path, library: tuple[str, ...], has_vectors: int
) -> None:
    models = [model_of("hourglass", "int8", 1), Made("person", person_model(), person_model())]
    flags = ("-O0", *library, f"-DHAS_VECTORS={has_vectors}")
    sanitized = _REAL is None and has_vectors == 1
    tally = try_models(models, tmp_path, *flags, kernels="cmsis-nn", sanitized=sanitized)
    _same(tally, len(models))
    assert tally.striped


@needs_runtime
@pytest.mark.campaign
@pytest.mark.parametrize("what", [*_OPERATORS, "network", "hourglass", "bridge"])
def test_fuzz_calls(tmp_path: Path, library: tuple[str, ...], what: str) -> None:
    for has_vectors in (0, 1):
        folder = tmp_path / str(has_vectors)
        folder.mkdir()
        models = [model_of(what, "int8", seed) for seed in range(100, 130)]
        flags = ("-O1", *library, f"-DHAS_VECTORS={has_vectors}")
        _same(try_models(models, folder, *flags, kernels="cmsis-nn"), 5)


@needs_runtime
@pytest.mark.parametrize(
    "model",
    gate_first(("mlct__kws_ref_model", "mww__okay_nabu", "tflm__person_detect", "mlct__vww_96_int8"), 1),
)
def test_real_models(shared_data: Path, tmp_path: Path, library: tuple[str, ...], model: str) -> None:
    data = (shared_data / "tflite" / f"{model}.tflite").read_bytes()
    made = Made("real", data, data)
    _same(try_models([made], tmp_path, "-O2", *library, "-DHAS_VECTORS=1", kernels="cmsis-nn"), 1)


# Scratch memory.


def _built(capacity: int | None = None, *, whole: bool = True, kernels: str = "cmsis-nn") -> Built:
    return memstow.build(
        person_model(),
        name="net",
        capacity=capacity,
        generators=() if whole else None,
        kernels="cmsis-nn" if kernels == "cmsis-nn" else "own",
        options=_DETERMINISTIC,
        with_check=False,
    )


def _scratch(built: Built) -> int:
    return sum(len(operator.temporaries) for operator in built.graph.operators)


@pytest.mark.parametrize("whole", [False, True])
def test_scratch_memory_is_where_the_plan_has_room(whole: bool) -> None:
    built, own = _built(whole=whole), _built(whole=whole, kernels="own")
    assert built.arena == own.arena
    assert own.by_cmsis_nn == 0 < built.by_cmsis_nn
    assert not memstow.verify(built.graph, built.plan)
    assert bool(_scratch(built)) == whole


def test_a_capacity_with_room_for_all_runs_operators_alone() -> None:
    built, tight = _built(200_000, whole=False), _built(21_000, whole=False)
    assert all(segment.kind == "operator" for segment in built.loops.segments)
    assert any(segment.kind == "stripe" for segment in tight.loops.segments)
    assert tight.arena <= 21_000
    assert not memstow.verify(built.graph, built.plan)
    assert _scratch(built) > _scratch(tight)


def test_a_library_that_wants_more_scratch_memory_is_not_called(tmp_path: Path) -> None:
    for name, content in _built().files.items():
        (tmp_path / name).write_bytes(content)
    assert "3: CMSIS-NN wants more scratch memory than was planned" in (tmp_path / "net.h").read_text()
    sources = [str(tmp_path / "net.c"), str(_STAND_IN / "cmsis_nn.c")]
    for more in (0, 1):
        target = tmp_path / f"net_{more}.so"
        flags = [*WARNINGS, "-DHAS_VECTORS=1", f"-DWANTS_MORE={more}", f"-I{_STAND_IN}", "-shared", "-fPIC"]
        command = [COMPILER or "gcc", *flags, "-o", str(target), *sources]
        subprocess.run(command, check=True, timeout=PATIENCE)
        assert ctypes.CDLL(str(target)).net_run(None, None) == 3 * more


# What is refused, and how it is linked.


def test_other_kernels_are_named() -> None:
    with pytest.raises(InputError, match="kernels are own or cmsis-nn, not fast") as caught:
        build(person_model(), kernels="fast")  # type: ignore[arg-type]
    assert caught.value.issues[0].path == "kernels"


def test_a_model_of_which_it_computes_nothing_is_refused() -> None:
    net = Network(Random(1), FLOAT32)
    x = net.tensor((1, 8, 8, 2))
    net.main.inputs = [x]
    net.main.outputs = [net.plain_convolution(x, 4)]
    with pytest.raises(InputError, match="CMSIS-NN computes no operator of this model") as caught:
        build(net.file(), kernels="cmsis-nn")
    assert caught.value.issues[0].code == "unused_option"


@pytest.mark.parametrize(("kernel", "stride", "called"), [(3, 1, 1), (2, 3, 0), (3, 2, 0)])
def test_rows_of_which_it_leaves_columns_out_are_not_for_it(kernel: int, stride: int, called: int) -> None:
    """With vectors it takes what is left at the end of a row to be margin."""
    net = Network(Random(1))
    x = net.tensor((1, 1, 10, 4))
    weights, scales = net.weights((8, 1, kernel, 4), 8, 0)
    y = net.tensor((1, 1, (10 - kernel) // stride + 1, 8), scale=net.sums(x, scales, 4 * kernel))
    options = {"f0": ("b", 1), "f1": ("i", stride), "f2": ("i", 1), "f4": ("i", 1), "f5": ("i", 1)}
    net.operator("CONV_2D", [x, weights], [y], **options)
    net.main.inputs, net.main.outputs = [x], [y]
    if called:
        built = build(net.file(), kernels="cmsis-nn", capacity=4096, options=_DETERMINISTIC, with_check=False)
        assert built.by_cmsis_nn == called
        return
    with pytest.raises(InputError, match="CMSIS-NN computes no operator"):
        build(net.file(), kernels="cmsis-nn", options=_DETERMINISTIC, with_check=False)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_links_the_library(tmp_path: Path) -> None:
    for name, content in _built().files.items():
        (tmp_path / name).write_bytes(content)
    ran = subprocess.run(
        ["cmake", "-S", ".", "-B", "build"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode
    assert "say where that is, with -DCMSIS_NN=DIR" in ran.stderr
    folder = tmp_path / "library"
    shutil.copytree(_STAND_IN, folder)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(standin C CXX)\n"
        "add_library(cmsis-nn STATIC cmsis_nn.c)\ntarget_include_directories(cmsis-nn PUBLIC .)\n"
    )
    for command in (
        ["cmake", "-S", ".", "-B", "build", f"-DCMSIS_NN={folder}"],
        ["cmake", "--build", "build"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)
    assert any((tmp_path / "build").glob("libnet.a"))


def test_points_are_those_of_the_program_without_it() -> None:
    made = model_of("hourglass", "int8", 1)
    own = points(made.model, made.name, ("stripes",))
    calls = points(made.model, made.name, ("stripes",), kernels="cmsis-nn")
    assert [built.arena for _, built in own] == [built.arena for _, built in calls]
