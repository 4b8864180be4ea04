"""Programs compile without warnings for hosts and for devices, and need little stack."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from memstow.planner.model.errors import InputError
from tests.planner.firmware.campaign import everything, points
from tests.planner.firmware.random_models import KINDS, model_of
from tests.planner.firmware.running import WARNINGS, write
from tests.planner.firmware.stack import ARM, stack_of
from tests.waiting import PATIENCE

_MORE: Final = (
    "-Wshadow",
    "-Wsign-conversion",
    "-Wundef",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Wcast-qual",
    "-Wcast-align",
    "-Wfloat-conversion",
    "-Wdouble-promotion",
    "-pedantic",
)
# A compiler without a library has no headers of it: these declare what programs call.
_HEADERS: Final = {
    "string.h": """#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
""",
    "math.h": """float expf(float);
float tanhf(float);
float roundf(float);
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
""",
}
_COMPILERS: Final = {
    "gcc": ("-O1",),
    "clang": ("-O1", "-fsyntax-only"),
    "arm-none-eabi-gcc": ("-mcpu=cortex-m4", "-mthumb", "-Os"),
    "riscv64-unknown-elf-gcc": ("-Os", "-fsyntax-only", "-ffreestanding", "-isystem", "headers"),
}
_MOST_STACK: Final = 700


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """One program of each operator and type, and networks of them."""
    folder = tmp_path_factory.mktemp("programs")
    names = []
    for what, kind in [*everything(), *(("network", kind) for kind in KINDS)]:
        made = model_of(what, kind, 1)
        try:
            built = points(made.model, made.name, ("stripes",), most=1)[0][1]
        except InputError:
            continue
        write(built, made.name, made.model, folder)
        names.append(made.name)
    (folder / "headers").mkdir()
    for name, text in _HEADERS.items():
        (folder / "headers" / name).write_text(text)
    return folder, names


@pytest.mark.parametrize("compiler", _COMPILERS)
def test_programs_compile_without_warnings(programs: tuple[Path, list[str]], compiler: str) -> None:
    tool = shutil.which(compiler)
    if tool is None:
        pytest.skip(f"needs {compiler}")
    folder, names = programs
    sources = [f"{name}.c" for name in names]
    command = [tool, *WARNINGS, *_MORE, *_COMPILERS[compiler], "-c", *sources]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[:4000]


@pytest.mark.skipif(ARM is None, reason="needs arm-none-eabi-gcc")
def test_programs_need_little_stack(programs: tuple[Path, list[str]]) -> None:
    folder, names = programs
    most = {name: stack_of(folder / f"{name}.c", f"{name}_run") for name in names if "network" in name}
    assert most
    assert all(0 < size <= _MOST_STACK for size in most.values()), most
