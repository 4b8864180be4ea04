"""Runs programs beside TensorFlow Lite Micro: compiled together, in a process of its own.

`python -m tests.planner.firmware.running JOBS` answers with a line for each model: a program that is wrong
may end the process, and so may a model that the runtime cannot run.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from memstow.planner.firmware import Built
from tests.waiting import PATIENCE

WARNINGS: Final = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror")
SANITIZERS: Final = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
COMPILER: Final = shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs gcc")
needs_runtime = pytest.mark.skipif(
    find_spec("tflite_micro") is None, reason="needs tflite-micro: pip install --pre tflite-micro"
)
_ARENA: Final = 8_000_000
_CLOSE: Final = 1e-5


@dataclass(frozen=True)
class Program:
    """A program of a model, and where its arena is."""

    name: str
    model: str
    inputs: int
    outputs: int
    arena: int
    place: int
    """Of the first input in the arena; negative where there is more than one arena."""
    is_exact: bool
    """Whether sums are added up in the same order as in the runtime."""
    is_shifted: bool = False
    """Whether it has elements of uint8 where the runtime has int8."""
    arenas: Sequence[int] = ()
    """Bytes of those that the caller gives: where it has several, or what it reads is not in it."""


@dataclass(frozen=True)
class Ran:
    """What became of a program."""

    name: str
    trouble: str
    """Empty: all outputs are right."""
    is_refused: bool = False
    """The runtime cannot run the model."""


def write(built: Built, name: str, model: bytes, folder: Path) -> Program:
    """The files of a program, and its model."""
    for file, content in built.files.items():
        if file.startswith(name):
            (folder / file).write_bytes(content)
    path = folder / f"{name}.tflite"
    path.write_bytes(model)
    table = built.loops
    place, arenas = -1, [pool.size for pool in table.pools if pool.size]
    first = [t for t in table.tensors if (t.of or t.id) == next(iter(built.graph.inputs), None)]
    if len(arenas) == 1 and first:
        place, arenas = first[0].offset, []
    is_exact = not any(hasattr(segment, "strips") for segment in table.segments)
    inputs, outputs = len(built.graph.inputs), len(built.graph.outputs)
    is_shifted = "_uint8_" in name
    return Program(name, str(path), inputs, outputs, built.arena, place, is_exact, is_shifted, arenas)


def by_caller(programs: Sequence[Program]) -> list[str]:
    """What the compiler is told of arenas that the caller gives."""
    return [
        f"-D{program.name.upper()}_ARENA_{at}_BY_CALLER"
        for program in programs
        for at in range(len(program.arenas))
    ]


def compile_programs(names: Sequence[str], folder: Path, *flags: str, compiler: str | None = None) -> Path:
    """One library of some programs; what the compiler says of them is an error."""
    library = folder / "programs.so"
    sources = [f"{name}.c" for name in names]
    command = [compiler or COMPILER or "gcc", *WARNINGS, *flags, "-shared", "-fPIC", "-o", library.name]
    done = subprocess.run(
        [*command, *sources, "-lm"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    return library


def run_programs(
    programs: Sequence[Program],
    library: Path,
    runs: int = 3,
    sanitized: bool = False,
    is_compared: bool = True,
) -> list[Ran]:
    """Each program compared with the runtime, or only run; where one ends the process, there is another."""
    done: list[Ran] = []
    while len(done) < len(programs):
        left = programs[len(done) :]
        jobs = library.with_suffix(".json")
        jobs.write_text(json.dumps([str(library), runs, is_compared, [asdict(program) for program in left]]))
        ran = subprocess.run(
            [sys.executable, "-m", __name__, str(jobs)],
            cwd=Path(__file__).parents[3],
            env=_environment(sanitized),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        done += [Ran(*json.loads(line)) for line in ran.stdout.splitlines() if line.startswith('["')]
        if ran.returncode and len(done) < len(programs):
            begun = [line[6:] for line in ran.stdout.splitlines() if line.startswith("began ")]
            what = begun[-1].partition(" ")[2] if begun else ""
            said = f"{what}: ended with {ran.returncode}: {ran.stderr[-3000:]}"
            done.append(Ran(programs[len(done)].name, said, what == "runtime"))
    return done


def _environment(sanitized: bool) -> Mapping[str, str]:
    if not sanitized:
        return os.environ
    found = subprocess.run(
        [COMPILER or "gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return {
        **os.environ,
        "LD_PRELOAD": found.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0,abort_on_error=0",
        "PYTHONMALLOC": "malloc",
    }


# In the process of its own.


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def _inputs(about: Sequence[Mapping[str, Any]], run: int) -> Iterator[Any]:
    numpy = import_module("numpy")
    random = numpy.random.default_rng(run)
    for entry in about:
        kind = numpy.dtype(entry["dtype"])
        shape = tuple(entry["shape"])
        if kind.kind == "f":
            yield numpy.asarray(random.standard_normal(shape) * 2).astype(kind)
            continue
        limits = numpy.iinfo(kind)
        if run % 3 == 2:
            yield random.choice([limits.min, limits.max], shape).astype(kind)
        else:
            yield numpy.asarray(random.integers(limits.min, limits.max, shape, endpoint=True)).astype(kind)


_Run = tuple[list[Any], list[Any]]


def _expected(program: Program, runs: int) -> list[_Run]:
    """Inputs and outputs of each run of the runtime."""
    made = import_module("tflite_micro").runtime.Interpreter.from_bytes(
        Path(program.model).read_bytes(), arena_size=_ARENA
    )
    about = [made.get_input_details(at) for at in range(program.inputs)]
    expected = []
    for run in range(runs):
        inputs = list(_inputs(about, run))
        for at, values in enumerate(inputs):
            made.set_input(values, at)
        made.invoke()
        expected.append((inputs, [made.get_output(at).copy() for at in range(program.outputs)]))
    return expected


_arenas: Final[dict[str, list[Any]]] = {}


def _place(program: Program, library: ctypes.CDLL) -> list[Any]:
    """Arenas of the caller, each of just its size."""
    setter = getattr(library, f"{program.name}_set_arena")
    arenas = []
    for at, size in enumerate(program.arenas):
        memory = ctypes.create_string_buffer(size + 16)
        begin = -(-ctypes.addressof(memory) // 16) * 16
        assert setter(at, ctypes.c_void_p(begin + 1)) == 1
        assert setter(at, ctypes.c_void_p(begin)) == 0
        arenas.append((memory, begin, size))
    return arenas


def _fill(program: Program, library: ctypes.CDLL, seed: int) -> None:
    """Random bytes in the whole arena: what was never written would show."""
    noise = import_module("numpy").random.default_rng(1000 + seed)
    if program.arenas:
        known = _arenas.get(program.name)
        if known is None:
            runner = getattr(library, f"{program.name}_run")
            assert runner(None, None) == 1, "it runs without its arenas"
            known = _arenas[program.name] = _place(program, library)
        for _, begin, size in known:
            ctypes.memmove(begin, noise.bytes(size), size)
    elif program.place >= 0:
        where = getattr(library, f"{program.name}_input")
        where.restype = ctypes.c_void_p
        ctypes.memmove(where(0) - program.place, noise.bytes(program.arena), program.arena)


def _shifted(program: Program, values: Any) -> Any:
    return values ^ values.dtype.type(-128) if program.is_shifted and values.dtype == "int8" else values


def _trouble(program: Program, library: ctypes.CDLL, expected: Sequence[_Run]) -> str:
    numpy = import_module("numpy")
    runner = getattr(library, f"{program.name}_run")
    getattr(library, f"{program.name}_reset")()
    for number, (inputs, outputs) in enumerate(expected):
        _fill(program, library, number)
        given = [numpy.ascontiguousarray(_shifted(program, values)) for values in inputs]
        made = [numpy.zeros_like(values) for values in outputs]
        pointers = (ctypes.c_void_p * len(given))(*[values.ctypes.data for values in given])
        results = (ctypes.c_void_p * len(made))(*[values.ctypes.data for values in made])
        if runner(pointers, results) != 0:
            return "it returned a code"
        for at, (want, written) in enumerate(zip(outputs, made, strict=True)):
            have = _shifted(program, written)
            if want.dtype.kind == "f" and not program.is_exact:
                apart = numpy.abs(want - have) > _CLOSE * numpy.maximum(numpy.abs(want), 1.0)
            else:
                apart = ~((want == have) | ((want != want) & (have != have)))
            if apart.any():
                first = tuple(int(axis[0]) for axis in numpy.nonzero(apart)) if want.ndim else ()
                return (
                    f"run {number}, output {at}: {int(apart.sum())} of {apart.size} differ, "
                    f"first at {first}: {have[first]} for {want[first]}"
                )
    return ""


def _main(jobs: str) -> None:
    path, runs, is_compared, listed = json.loads(Path(jobs).read_text())
    library = ctypes.CDLL(path)
    before: tuple[str, list[_Run] | str] = ("", "")
    for fields in listed:
        program = Program(**fields)
        if not is_compared:
            _say(f"began {program.name} program")
            for number in range(runs):
                _fill(program, library, number)
                getattr(library, f"{program.name}_run")(None, None)
            _say(json.dumps([program.name, "", False]))
            continue
        if before[0] != program.model:
            _say(f"began {program.name} runtime")
            try:
                before = program.model, _expected(program, runs)
            except Exception as error:
                before = program.model, str(error)
        expected = before[1]
        if isinstance(expected, str):
            _say(json.dumps([program.name, expected, True]))
            continue
        _say(f"began {program.name} program")
        _say(json.dumps([program.name, _trouble(program, library, expected), False]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
