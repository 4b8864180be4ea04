"""Work counts of a small set, against those that are committed: `python -m benchmarks.work [--update]`.

The runs are deterministic, so their steps, nodes, values and bounds are the same on every machine, however
busy: each difference is one of the program.
"""

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from memstow.api.cli.main import main as memstow
from memstow.api.cli.output_files import replace_file
from memstow.api.cli.terminal import Exit
from memstow.planner.bench.compare import DECIDING
from memstow.planner.bench.record import RESULTS, Machine, Record, from_line, to_line

BASELINE: Final = Path(__file__).with_name("work_baseline.jsonl")
OUTPUT: Final = Path("build") / "work"
INSTANCES: Final = (
    "generate:planted,n=60,height=65536,seed=0..3",
    "generate:planted,n=120,height=65536,slack=0.2,seed=0..3",
    "generate:planted,n=300",
    "generate:network,n=200,seed=0..1",
    # Their best plans are above the bound, so that a search must run dry.
    "generate:random,n=20,features=alignments,seed=1..4",
    "generate:random,n=14,features=alignments,horizon=8,largest=200,seed=2..8",
    "generate:random,n=24,features=all,seed=0..2",
)
SOLVERS: Final = "greedy,exact,improve,auto"
# About a quarter of a second each; what is hard ends with the best plan of so much work.
WORK_LIMIT: Final = 30_000_000
TOLERANCE: Final = 0.02
MEASURES: Final = ",".join(DECIDING)


def main(words: list[str]) -> int:
    """Run the set; compare it with the baseline, or make it the baseline."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.work")
    parser.add_argument("--update", action="store_true", help="make what is measured now the baseline")
    args = parser.parse_args(words)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    code = memstow(
        [
            *("bench", "run", *INSTANCES, "--solvers", SOLVERS),
            *("--deterministic", "--work-limit", str(WORK_LIMIT), "--repeat-for", "0"),
            *("--jobs", "2", "--output", str(OUTPUT)),
        ]
    )
    if code != Exit.DONE:
        return code
    if args.update:
        replace_file(BASELINE, baseline((OUTPUT / RESULTS).read_text()).encode())
        return 0
    compared = ["bench", "compare", str(BASELINE), str(OUTPUT)]
    code = memstow([*compared, "--measures", MEASURES, "--tolerance", str(TOLERANCE)])
    if code == Exit.WORSE:
        print("if this is meant: make bench-work ARGS=--update, and say why in the commit", file=sys.stderr)
    return code


def baseline(results: str) -> str:
    """The results in order, less what differs from run to run and from machine to machine."""
    records = sorted(map(from_line, results.splitlines()), key=lambda record: record.key)
    return "".join(f"{to_line(_timeless(record))}\n" for record in records)


def _timeless(record: Record) -> Record:
    return replace(
        record,
        events=(),
        repeats=1,
        seconds=0.0,
        cpu_seconds=0.0,
        peak_memory=0,
        plan=None,
        # A proof may have had too little time.
        judged=None if record.judged is None else replace(record.judged, checked=None),
        machine=Machine(cpus=0, memory=0, system="", python="", load=0.0),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
