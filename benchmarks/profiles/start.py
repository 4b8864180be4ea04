"""What a small solve waits for: the interpreter, imports by whose they are, and the work itself."""

import re
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.process import run, typical
from benchmarks.profiles.shares import shares

RUNS: Final = 9
BUFFERS: Final = 10
_LINE: Final = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \| (\s*)(\S+)$", re.MULTILINE)
# Modules in machine code: loading one is mostly the loader's work.
_NATIVE: Final = ("_native", "_judge", "_columns")
_OWN: Final = "imports: memstow, Python"
_LOADED: Final = "imports: memstow, machine code"
_OTHERS: Final = "imports: standard library and packages"


def measure() -> str:
    """Medians of some runs."""
    with TemporaryDirectory() as folder:
        problem = Path(folder) / "problem.json"
        command = (sys.executable, "-P", "-m", "memstow.api.cli.main")
        run(*command, "generate", "network", "--n", f"{BUFFERS}", "--output", problem)
        words = (*command[1:], "solve", problem)
        whole, _ = typical(RUNS, sys.executable, *words)
        bare, _ = typical(RUNS, sys.executable, "-P", "-c", "pass")
        told = [imports(run(sys.executable, "-X", "importtime", *words).err.decode()) for _ in range(RUNS)]
    parts = {name: median(it[name] for it in told) for name in told[0]}
    parts["the interpreter (`python -c pass`)"] = bare
    return (
        f"`memstow solve`, {BUFFERS} buffers, medians of {RUNS} runs; imports as `python -X importtime` "
        "tells them, which itself takes some of their time. All else is mostly the arguments, the solve, the "
        "table and the picture, and the end of the interpreter:\n\n"
        + shares("part", {name: 1000 * it for name, it in parts.items()}, 1000 * whole, "ms", ".0f")
    )


def imports(told: str) -> dict[str, float]:
    """Seconds by whose modules they are, from `python -X importtime`, without the interpreter's own."""
    seconds = dict.fromkeys((_OWN, _LOADED, _OTHERS), 0.0)
    # The interpreter's own come first and end with `site`.
    _, _, after = told.partition("| site\n")
    for took, _, name in _LINE.findall(after):
        seconds[_whose(name)] += int(took) / 1e6
    return seconds


def _whose(name: str) -> str:
    if not name.startswith("memstow"):
        return _OTHERS
    return _LOADED if name.rpartition(".")[2] in _NATIVE else _OWN
