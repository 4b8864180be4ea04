"""`memstow bench run --interleave OLD NEW`: run two programs alternately and compare them."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memstow.api.cli.commands.bench_arguments import instances_of, sides_of
from memstow.api.cli.commands.bench_run import Progress, note_invocation, print_endings, print_notes
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.interruptible import Interruptible
from memstow.api.cli.io.terminal import is_terminal, print_error

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from memstow.planner.bench.instances.sources import Instances
    from memstow.planner.bench.runs.interleave import Side
    from memstow.planner.bench.runs.progress import Tally

OLD, NEW = "old", "new"


def run_pairs(args: argparse.Namespace) -> int:
    """Run both programs, record the results and compare them; exit code as for `bench compare`."""
    from memstow.planner.bench.analysis.paired_tests import check_scipy
    from memstow.planner.bench.records.journal import Journal
    from memstow.planner.bench.runs.executor import Local
    from memstow.planner.bench.runs.interleave import Side
    from memstow.planner.show.formatting import plain

    instances = [instances_of(path) for path in args.paths]
    asked = sides_of(args)
    check_scipy()  # before hours of runs, not after
    folders = [Path(args.output) / name for name in (OLD, NEW)]
    journals: list[Journal] = []
    try:
        sides = []
        for folder, (solvers, python) in zip(folders, asked, strict=True):
            journals.append(Journal(folder, args.resume))
            note_invocation(folder, args)
            sides.append(Side(solvers, partial(Local, 1, python), journals[-1]))
        tally, interrupted = _run(instances, sides, args.seeds)
    finally:
        for journal in journals:
            journal.close()
    print_notes(tally)
    for folder, journal in zip(folders, journals, strict=True):
        print(f"{plain(str(folder))}:")
        print_endings(journal)
    if interrupted:
        print_error("interrupted: the results so far are saved; --resume continues")
        return Exit.INTERRUPTED
    if tally.lost or not all(sum(journal.endings.values()) for journal in journals):
        return Exit.USAGE
    return _compare(*folders)


def _run(instances: "Sequence[Instances]", sides: "Sequence[Side]", seeds: int) -> "tuple[Tally, bool]":
    """Run all pairs; returns the tally, and whether Ctrl-C interrupted it."""
    from memstow.planner.bench.runs.interleave import run_interleaved

    progress = Progress(sys.stderr) if is_terminal(sys.stderr) else None
    old, new = sides

    def work(cancel: "threading.Event") -> "Tally":
        hear = progress.hear if progress else lambda _tally: None
        return run_interleaved(instances, old, new, seeds, cancel, hear)

    call = Interruptible(work)
    return call.run(progress), call.interrupted


def _compare(old: Path, new: Path) -> int:
    from memstow.planner.bench.compare.measures import DECIDING, NAMES
    from memstow.planner.bench.compare.text import comparison_text
    from memstow.planner.bench.compare.verdicts import Strictness, compare
    from memstow.planner.bench.records.results import read

    comparison = compare(read(old), read(new), Strictness(), NAMES)
    print(f"\n{comparison_text(comparison, DECIDING)}")
    return Exit.WORSE if comparison.worse(DECIDING) else Exit.DONE
