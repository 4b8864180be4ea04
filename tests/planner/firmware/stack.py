"""How much stack a program needs: the longest chain of calls, by what the compiler writes of functions.

`python -m tests.planner.firmware.stack MODEL...` says it for models at the least peak of their fronts.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from memstow.planner.firmware import build, check
from memstow.planner.model.options import Options
from tests.waiting import PATIENCE

ARM: Final = shutil.which("arm-none-eabi-gcc")
ARM_FLAGS: Final = ("-mcpu=cortex-m4", "-mthumb", "-Os", "-std=c11")
_FUNCTION: Final = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*\\n(\d+) bytes \((\w+)')
_CALL: Final = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


def stack_of(source: Path, entry: str, compiler: str = ARM or "gcc", *flags: str) -> int:
    """Bytes of stack from a function on, without what functions of the library need."""
    command = [compiler, *(flags or ARM_FLAGS), "-fcallgraph-info=su", "-c", source.name, "-o", "stack.o"]
    subprocess.run(command, cwd=source.parent, check=True, timeout=PATIENCE)
    graph = (source.parent / "stack.ci").read_text()
    frames = {}
    for name, size, kind in _FUNCTION.findall(graph):
        assert kind == "static", (name, kind)
        frames[name] = int(size)
    calls: dict[str, set[str]] = {}
    for caller, called in _CALL.findall(graph):
        calls.setdefault(caller, set()).add(called)

    def deepest(name: str) -> int:
        return frames.get(name, 0) + max(map(deepest, calls.get(name, ())), default=0)

    return deepest(entry)


def main(*models: str) -> None:
    """Say it for some models."""
    check.check_source = lambda *_: (None, None)
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            options = Options(deterministic=True, work_limit=2_000_000)
            built = build(Path(model).read_bytes(), name="model", options=options)
            for name, content in built.files.items():
                (Path(folder) / name).write_bytes(content)
            size = stack_of(Path(folder) / "model.c", "model_run")
        print(f"{Path(model).name}: arena {built.arena}, stack {size}")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
