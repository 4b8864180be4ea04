"""How long a person waits for a small problem: the whole process, interpreter and imports included."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.page import held, table
from benchmarks.process import MEMSTOW, run, typical

RUNS = 15
LIMITS = {10: 0.2, 300: 0.25}


_LIBRARY = "import memstow; memstow.Problem"


def measure() -> str:
    """Network problems of each size, solved by the console script."""
    rows = [
        _row("`python -c pass`", None, sys.executable, "-c", "pass"),
        _row("`import memstow; memstow.Problem`", None, sys.executable, "-c", _LIBRARY),
        _row("`memstow version`", None, MEMSTOW, "version"),
    ]
    with TemporaryDirectory() as folder:
        for n, limit in LIMITS.items():
            path = Path(folder) / f"{n}.json"
            run(MEMSTOW, "generate", "network", "--n", str(n), "--output", path)
            plan = path.with_suffix(".plan.json")
            run(MEMSTOW, "solve", path, "--output", plan)
            rows.append(_row(f"`memstow solve`, {n} buffers", limit, MEMSTOW, "solve", path))
            rows.append(_row(f"`memstow verify`, {n} buffers", None, MEMSTOW, "verify", path, plan))
    header = ("command", "seconds", "limit", "of a processor, s")
    return f"Whole process, median of {RUNS} runs:\n\n" + table(header, rows)


def _row(name: str, limit: float | None, *command: str | Path) -> tuple[str, ...]:
    clock, processor = typical(RUNS, *command)
    shown = f"{clock:.3f}"
    if limit is None:
        return name, shown, "", f"{processor:.3f}"
    return name, held(shown, clock, limit), f"{limit:g}", f"{processor:.3f}"
