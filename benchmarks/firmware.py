"""Programs of `memstow build` beside TensorFlow Lite Micro: memory, flash, instructions on a Cortex-M4.

`python -m benchmarks.firmware [MODEL ...]` builds each model at cost 1.0, 1.1, 1.3 and at the least memory,
compiles it with arm-none-eabi-gcc -O2 and runs it on QEMU, which counts instructions; and puts the table on
the page of results. With `--tflite-micro CHECKOUT`, where `make -f
tensorflow/lite/micro/tools/make/Makefile third_party_downloads` was run, the same for the runtime with its
reference kernels; the outputs of both must be equal. Flash is what an image has beyond one without a model.
With `--cmsis-nn FOLDER` of that library, a second table: operators that run alone, by our kernels and by
that library, on a Cortex-M4 and on a Cortex-M55, which has vectors.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import memstow
from benchmarks.page import DATA, ROOT, put, table
from memstow.planner.firmware import KernelSet
from memstow.planner.formats.tflite_model import read_subgraphs

_BOARD: Final = ROOT / "benchmarks" / "cortex_m"
_COMMON: Final = ("-mthumb", "-O2", "-ffunction-sections", "-fdata-sections")
_CXX_FLAGS: Final = (
    *("-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-w"),
    *("-DTF_LITE_STATIC_MEMORY", "-DNDEBUG", "-DTF_LITE_STRIP_ERROR_STRINGS"),
)
# More than operators and their scratch memory need.
_ROOM: Final = 1 << 20
_DOWNLOADS: Final = "tensorflow/lite/micro/tools/make/downloads"
# By operator, how a program asks the runtime for its kernel.
_KERNELS: Final = {
    "CONV_2D": "Conv2D",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2D",
    "FULLY_CONNECTED": "FullyConnected",
    "AVERAGE_POOL_2D": "AveragePool2D",
    "MAX_POOL_2D": "MaxPool2D",
    "MEAN": "Mean",
    "SOFTMAX": "Softmax",
    "RESHAPE": "Reshape",
    "ADD": "Add",
    "MUL": "Mul",
    "CONCATENATION": "Concatenation",
    "STRIDED_SLICE": "StridedSlice",
    "LOGISTIC": "Logistic",
    "QUANTIZE": "Quantize",
    "CALL_ONCE": "CallOnce",
    "VAR_HANDLE": "VarHandle",
    "READ_VARIABLE": "ReadVariable",
    "ASSIGN_VARIABLE": "AssignVariable",
    "SVDF": "Svdf",
}
# The files of these kernels and what they need.
_SOURCES: Final = (
    *("conv", "depthwise_conv", "fully_connected", "pooling", "reduce", "softmax", "reshape", "add", "mul"),
    *("concatenation", "strided_slice", "logistic", "quantize", "call_once", "var_handle", "read_variable"),
    *("assign_variable", "svdf", "kernel_util", "micro_tensor_utils"),
)


@dataclass(frozen=True)
class _Processor:
    """A processor, and the board of QEMU that has it."""

    name: str
    board: str
    flags: tuple[str, ...]
    memories: str
    """The linker script."""


_M4: Final = _Processor("Cortex-M4", "mps2-an386", ("-mcpu=cortex-m4", *_COMMON), "board.ld")
_M55: Final = _Processor(
    "Cortex-M55", "mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard", *_COMMON), "board_m55.ld"
)


@dataclass(frozen=True)
class _Ran:
    """What came of an image on the board."""

    instructions: int
    stack: int
    digest: str
    """Of the outputs."""
    more: tuple[int, ...]
    """What else is printed."""
    image: int
    """Bytes of code and constants."""


@dataclass(frozen=True)
class Figures:
    """What one way to run a model takes; None where that was not measured."""

    name: str
    arena: int
    state: int
    flash: int | None
    stack: int | None
    instructions: int | None
    outputs: str | None

    @property
    def memory(self) -> int:
        """All that it writes to."""
        return self.arena + self.state + (self.stack or 0)


def main(words: Sequence[str]) -> int:
    """Measure each model, and put the table on the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.firmware", description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--tflite-micro", type=Path, metavar="CHECKOUT")
    parser.add_argument("--cmsis-nn", type=Path, metavar="FOLDER")
    args = parser.parse_args(words)
    models = args.models or sorted((DATA / "tflite").glob("*.tflite"))
    if args.cmsis_nn is not None:
        return _beside_cmsis_nn(models, args.cmsis_nn)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        runtime = None if args.tflite_micro is None else _Runtime(args.tflite_micro, Path(folder))
        for path in models:
            try:
                for row in _rows(path, Path(folder), runtime):
                    print(*row, sep="  ", flush=True)
                    rows.append(row)
            except memstow.InputError as error:
                print(f"{path.name}: {error}", file=sys.stderr)
    header = ("model", "plan", "arena", "variables", "stack", "RAM in all", "flash", "instructions", "share")
    put("firmware", table(header, rows, left=2))
    return 0


def _beside_cmsis_nn(models: Sequence[Path], library: Path) -> int:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        libraries = {}
        for processor in (_M4, _M55):
            objects = folder / processor.name
            objects.mkdir()
            sources = sorted(
                path
                for path in (library / "Source").glob("*/*.c")
                if not path.stem.endswith(("_f16", "_f32", "_flt"))
            )
            compiler = ("arm-none-eabi-gcc", "-w", f"-I{library}/Include")
            libraries[processor] = [_compiled(path, compiler, objects, (), processor) for path in sources]
        for path in models:
            row = _row_of_both(path, folder, library, libraries)
            if row is not None:
                print(*row, sep="  ", flush=True)
                rows.append(row)
    columns = ("arena", "M4", "M55")
    header = ("model", *(f"{name}{end}" for name in columns for end in ("", ", CMSIS-NN")))
    put("cmsis-nn", table(header, rows, left=1))
    return 0


def _row_of_both(
    path: Path, folder: Path, library: Path, libraries: Mapping[_Processor, Sequence[Path]]
) -> list[str] | None:
    """Instructions with our kernels and with those of the library; None where it computes nothing."""
    try:
        both = [_alone(path, "own"), _alone(path, "cmsis-nn")]
    except memstow.InputError as error:
        print(f"{path.name}: {error}", file=sys.stderr)
        return None
    shown: list[str] = [f"{built.arena:,}" for built in both]
    for processor, objects in libraries.items():
        ran = []
        for built in both:
            for file, content in built.files.items():
                (folder / file).write_bytes(content)
            compiler = ("arm-none-eabi-gcc", f"-I{folder}", "-isystem", f"{library}/Include")
            sources = _BOARD / "program.c", folder / "net.c"
            compiled = [_compiled(source, compiler, folder, (), processor) for source in sources]
            ran.append(_ran([*compiled, *objects], folder, processor))
        if ran[0].digest != ran[1].digest:
            raise RuntimeError(f"{path.name}: CMSIS-NN makes other outputs on a {processor.name}")
        shown += [f"{entry.instructions:,}" for entry in ran]
    return [_name_of(path), *shown]


def _alone(path: Path, kernels: KernelSet) -> memstow.Built:
    options = memstow.Options(deterministic=True)
    return memstow.build(
        path.read_bytes(),
        name="net",
        capacity=_ROOM,
        generators=(),
        kernels=kernels,
        options=options,
        with_check=False,
    )


def _name_of(path: Path) -> str:
    return path.stem.partition("__")[2] or path.stem


def _rows(path: Path, folder: Path, runtime: "_Runtime | None") -> Iterator[list[str]]:
    model, nothing = path.read_bytes(), _nothing(folder)
    result = None if runtime is None else runtime.figures(model, nothing)
    arena = memstow.measure_arena(model)
    if result is None and arena.least is not None:
        result = Figures("TensorFlow Lite Micro", arena.least, 0, None, None, None, None)
    if result is not None:
        yield _row(path, result, None)
    for figures in _ours(model, folder, nothing):
        if result is not None and result.outputs is not None and result.outputs != figures.outputs:
            raise RuntimeError(f"{path.name}: {figures.name} makes other outputs than the runtime")
        yield _row(path, figures, None if result is None else result.instructions)


def _row(path: Path, figures: Figures, whole: int | None) -> list[str]:
    numbers = figures.arena, figures.state, figures.stack, figures.memory, figures.flash, figures.instructions
    share = "" if whole is None or figures.instructions is None else f"{figures.instructions / whole:.2f}"
    shown = ("" if number is None else f"{number:,}" for number in numbers)
    return [_name_of(path), figures.name, *shown, share]


def _ours(model: bytes, folder: Path, nothing: int) -> Iterator[Figures]:
    options = memstow.Options(deterministic=True)
    cheapest = memstow.build(model, name="net", options=options, with_check=False)
    assert cheapest.front is not None
    assert cheapest.point is not None
    peak, cost = cheapest.front.terms
    known: set[int] = set()
    for name, most in (("cost 1.0", 1.0), ("cost 1.1", 1.1), ("cost 1.3", 1.3), ("least memory", None)):
        allowed = [
            (point.values[peak], number)
            for number, point in enumerate(cheapest.front.points, start=1)
            if most is None or point.values[cost] <= most * cheapest.point.values[cost]
        ]
        _, number = min(allowed)
        if number in known:
            continue
        known.add(number)
        built = memstow.build(model, name="net", point=number, options=options, with_check=False)
        for file, content in built.files.items():
            (folder / file).write_bytes(content)
        program = _compiled(folder / "net.c", ("arm-none-eabi-gcc", "-std=c11"), folder)
        around = _compiled(_BOARD / "program.c", ("arm-none-eabi-gcc", f"-I{folder}"), folder)
        ran = _ran([around, program], folder)
        flash = ran.image - nothing
        yield Figures(name, built.arena, built.state, flash, ran.stack, ran.instructions, ran.digest)


def _nothing(folder: Path) -> int:
    """Bytes of an image without a model."""
    return _ran([_compiled(_BOARD / "nothing.c", ("arm-none-eabi-gcc",), folder)], folder).image


def _compiled(
    source: Path,
    compiler: Sequence[str],
    folder: Path,
    flags: Sequence[str] = (),
    processor: _Processor = _M4,
) -> Path:
    target = folder / f"{source.stem}.{len(list(folder.iterdir()))}.o"
    subprocess.run([*compiler, *processor.flags, *flags, "-c", str(source), "-o", str(target)], check=True)
    return target


def _ran(objects: Sequence[Path], folder: Path, processor: _Processor = _M4) -> _Ran:
    """Link an image and run it."""
    start = _compiled(_BOARD / "start.c", ("arm-none-eabi-gcc",), folder, (), processor)
    linked = folder / "run.elf"
    link = [
        "arm-none-eabi-g++",
        *processor.flags,
        "--specs=rdimon.specs",
        "-nostartfiles",
        "-Wl,--gc-sections",
    ]
    link += [
        "-Wl,--no-warn-rwx-segments",
        "-T",
        str(_BOARD / processor.memories),
        str(start),
        *map(str, objects),
    ]
    subprocess.run([*link, "-lm", "-o", str(linked)], check=True, stderr=subprocess.DEVNULL)
    board = ["qemu-system-arm", "-M", processor.board, "-nographic", "-semihosting"]
    board += ["-icount", "shift=0"]
    ran = subprocess.run(
        [*board, "-kernel", str(linked)], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    code, instructions, stack, digest, *more = ran.stdout.split()
    if code != "0":
        raise RuntimeError(f"the run ended with {code}")
    sized = ["arm-none-eabi-size", str(linked)]
    size = subprocess.run(sized, check=True, capture_output=True, text=True).stdout.splitlines()[1].split()
    image = int(size[0]) + int(size[1])
    return _Ran(int(instructions), int(stack), digest, tuple(map(int, more)), image)


class _Runtime:
    """TensorFlow Lite Micro from a checkout with its downloads, compiled once."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self._folder = folder / "runtime"
        self._folder.mkdir()
        downloads = checkout / _DOWNLOADS
        self._flags = [
            *_CXX_FLAGS,
            f"-I{checkout}",
            *(f"-I{downloads / name}" for name in ("gemmlowp", "flatbuffers/include", "ruy")),
        ]
        skipped = re.compile(
            r"_test|test_helper|fake_|mock_|recording_|micro_time|profiler|debug_log|hexdump"
        )
        lite = checkout / "tensorflow" / "lite"
        sources = [
            path
            for pattern in (
                *(f"micro/kernels/{name}{end}.cc" for name in _SOURCES for end in ("", "_common")),
                *("micro/*.cc", "micro/arena_allocator/*.cc", "micro/memory_planner/*.cc"),
                *("micro/tflite_bridge/*.cc", "core/c/common.cc", "core/api/flatbuffer_conversions.cc"),
                *("kernels/kernel_util.cc", "kernels/internal/*.cc", "kernels/internal/reference/*.cc"),
            )
            for path in sorted(lite.glob(pattern))
            if not skipped.search(path.name)
        ]
        mlir = checkout / "tensorflow" / "compiler" / "mlir" / "lite"
        sources += [mlir / "core" / "api" / "error_reporter.cc", mlir / "schema" / "schema_utils.cc"]
        self._library = folder / "libruntime.a"
        objects = []
        for source in sources:
            # Some files are for other toolchains; what is missing shows when the program is linked.
            try:
                objects.append(str(_compiled(source, ("arm-none-eabi-g++",), self._folder, self._flags)))
            except subprocess.CalledProcessError:
                print(f"not compiled: {source}", file=sys.stderr)
        subprocess.run(["arm-none-eabi-ar", "rcs", str(self._library), *objects], check=True)

    def figures(self, model: bytes, nothing: int) -> Figures | None:
        """What the runtime takes; None where it has no kernel that is known here."""
        names = {operator.name for subgraph in read_subgraphs(model) for operator in subgraph.operators}
        if not names <= _KERNELS.keys():
            return None
        (self._folder / "model").write_bytes(model)
        data = self._folder / "model.s"
        data.write_text(
            '.section .rodata\n.global model_data\n.balign 16\nmodel_data: .incbin "'
            f'{self._folder / "model"}"\n'
        )
        kernels = " ".join(f"(r).Add{_KERNELS[name]}();" for name in sorted(names))
        objects = [
            _compiled(
                _BOARD / "runtime.cc",
                ("arm-none-eabi-g++",),
                self._folder,
                [*self._flags, f"-DOPERATORS(r)={kernels}"],
            ),
            _compiled(data, ("arm-none-eabi-gcc",), self._folder),
            self._library,
        ]
        try:
            ran = _ran(objects, self._folder)
        except subprocess.CalledProcessError:
            return None
        flash = ran.image - nothing
        return Figures(
            "TensorFlow Lite Micro", ran.more[0], 0, flash, ran.stack, ran.instructions, ran.digest
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
