"""The parts of `solve` and `verify` of a large problem: clocks around the functions that they begin with."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.files import write_random_csv
from benchmarks.process import run
from benchmarks.profiles.shares import shares

SIZE: Final = 1_000_000
_TIMED: Final = Path(__file__).with_name("timed.py")
_SOLVE: Final = "memstow.api.cli.commands.solve"
_VERIFY: Final = "memstow.api.cli.commands.verify"
_RUN: Final = "memstow.planner.solve.column_engine"
_VERDICT: Final = "memstow.planner.plain.column_verdict"
# By what is done, the functions that do it, named where they are called.
OF_SOLVE: Final = {
    "read the problem": [f"{_SOLVE}:read_bytes_of", f"{_SOLVE}:columns_in"],
    "reduce, and the first bound": ["memstow.planner.solve.column_engine:ground_of"],
    "search": [f"{_RUN}:Turns.take"],
    "judge": [f"{_RUN}:judged_plan"],
    "digest of the problem": ["memstow.planner.solve.column_engine:digest"],
    "table and picture": ["memstow.planner.show.report:plain_report"],
    "write the plan": [f"{_SOLVE}:write_plain_results"],
}
OF_VERIFY: Final = {
    "read the problem": [f"{_VERIFY}:read_bytes_of", f"{_VERIFY}:columns_in"],
    "read the plan": [f"{_VERDICT}:read_plan"],
    "judge": [f"{_VERDICT}:verdict_on"],
    "digest of the problem": [f"{_VERDICT}:digest"],
}


def measure() -> str:
    """A table for each command."""
    with TemporaryDirectory() as folder:
        problem, plan = Path(folder, "random.csv"), Path(folder, "plan.json")
        write_random_csv(problem, SIZE)
        solve = _profile(folder, OF_SOLVE, "solve", problem, "--solver", "greedy", "--output", plan)
        verify = _profile(folder, OF_VERIFY, "verify", problem, plan)
    return (
        f"`memstow solve FILE --solver greedy --output plan.json`, {SIZE:,} buffers from a CSV:\n\n{solve}"
        f"\n\n`memstow verify FILE plan.json`:\n\n{verify}"
    )


def _profile(folder: str, parts: Mapping[str, Sequence[str]], *words: str | Path) -> str:
    output = Path(folder, "seconds.json")
    ran = run(sys.executable, "-P", _TIMED, output, json.dumps(parts), *words)
    if ran.code != 0:
        raise RuntimeError(f"exit code {ran.code}")
    return shares(
        f"part of `{words[0]}`", json.loads(output.read_text()), ran.cpu_seconds, "s of a processor"
    )
