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
from typing import Any, Final, Literal

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
    is_striped: bool = False
    in_parts: bool = False
    """Whether something is there in parts of its channels."""
    is_shifted: bool = False
    """Whether it has elements of uint8 where the runtime has int8."""
    takes: Sequence[Mapping[str, Any]] = ()
    """Type and shape of each input, as the runtime tells them."""
    makes: Sequence[Mapping[str, Any]] = ()
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
    is_striped = any(hasattr(segment, "strips") for segment in table.segments)
    in_parts = built.plan.schedule is not None and bool(built.plan.schedule.alternatives)
    is_shifted = "_uint8_" in name
    about = {tensor.id: {"dtype": tensor.type, "shape": tensor.shape} for tensor in built.graph.tensors}
    takes, makes = ([about[tensor] for tensor in ends] for ends in (built.graph.inputs, built.graph.outputs))
    return Program(
        name,
        str(path),
        len(takes),
        len(makes),
        built.arena,
        place,
        is_striped,
        in_parts,
        is_shifted,
        takes,
        makes,
        arenas,
    )


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
    # Hundreds of programs at a time, with sanitizers, take minutes on a busy machine.
    patience = PATIENCE + 2 * len(sources)
    command += [*sources, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=patience, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return library


Reference = Literal["runtime", "first", "nothing"]
"""What programs are compared with: the runtime, or the first program of the same model, which only runs."""


def run_programs(
    programs: Sequence[Program],
    library: Path,
    runs: int = 3,
    sanitized: bool = False,
    reference: Reference = "runtime",
) -> list[Ran]:
    """Each program compared, or only run; where one ends the process, there is another."""
    done: list[Ran] = []
    while len(done) < len(programs):
        left = programs[len(done) :]
        jobs = library.with_suffix(".json")
        jobs.write_text(json.dumps([str(library), runs, reference, [asdict(program) for program in left]]))
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
    result = subprocess.run(
        [COMPILER or "gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return {
        **os.environ,
        "LD_PRELOAD": result.stdout.strip(),
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


def _expected(program: Program, library: ctypes.CDLL, runs: int, reference: Reference) -> list[_Run]:
    """Inputs and outputs of each run of what others are compared with."""
    if reference == "first":
        return [_ran(program, library, number) for number in range(runs)]
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


def _ran(program: Program, library: ctypes.CDLL, number: int) -> _Run:
    """Random inputs, and what the program makes of them."""
    numpy = import_module("numpy")
    if number == 0:
        getattr(library, f"{program.name}_reset")()
    _fill(program, library, number)
    inputs = list(_inputs(program.takes, number))
    made = [numpy.zeros(entry["shape"], entry["dtype"]) for entry in program.makes]
    assert _run(program, library, inputs, made) == 0
    return inputs, made


def _run(program: Program, library: ctypes.CDLL, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
    ends = [
        (ctypes.c_void_p * len(values))(*[entry.ctypes.data for entry in values])
        for values in (inputs, outputs)
    ]
    code: int = getattr(library, f"{program.name}_run")(*ends)
    return code


def _shifted(program: Program, values: Any) -> Any:
    return values ^ values.dtype.type(-128) if program.is_shifted and values.dtype == "int8" else values


def _trouble(program: Program, library: ctypes.CDLL, expected: Sequence[_Run]) -> str:
    numpy = import_module("numpy")
    getattr(library, f"{program.name}_reset")()
    for number, (inputs, outputs) in enumerate(expected):
        _fill(program, library, number)
        given = [numpy.ascontiguousarray(_shifted(program, values)) for values in inputs]
        made = [numpy.zeros_like(values) for values in outputs]
        if _run(program, library, given, made) != 0:
            return "it returned a code"
        for at, (want, written) in enumerate(zip(outputs, made, strict=True)):
            have = _shifted(program, written)
            # Stripes and parts of channels add up in another order than the runtime.
            if want.dtype.kind == "f" and (program.is_striped or program.in_parts):
                # Of sums of parts, what terms that cancel leave is as exact as these.
                scale = numpy.abs(want).max() if program.in_parts else numpy.abs(want)
                apart = numpy.abs(want - have) > _CLOSE * numpy.maximum(scale, 1.0)
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
    path, runs, reference, listed = json.loads(Path(jobs).read_text())
    library = ctypes.CDLL(path)
    before: tuple[str, list[_Run] | str] = ("", "")
    for fields in listed:
        program = Program(**fields)
        if reference == "nothing":
            _say(f"began {program.name} program")
            for number in range(runs):
                _fill(program, library, number)
                getattr(library, f"{program.name}_run")(None, None)
            _say(json.dumps([program.name, "", False]))
            continue
        if before[0] != program.model:
            _say(f"began {program.name} runtime")
            try:
                before = program.model, _expected(program, library, runs, reference)
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
