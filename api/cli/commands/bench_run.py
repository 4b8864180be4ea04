"""`memstow bench run`: every solver on every problem, in separate processes, and every plan verified.

With --interleave, two programs run alternately and are compared.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memstow.api.cli.commands.bench_arguments import instances_of, sides_of, solver_requests
from memstow.api.cli.output_files import replace_file
from memstow.api.cli.parser import Commands, add_command, amount, duration, real, whole
from memstow.api.cli.problem_input import add_changes
from memstow.api.cli.terminal import Exit, Interruptible, Line, is_terminal, print_error
from memstow.api.options import READABLE
from memstow.planner.bench.task import REPEAT_SECONDS
from memstow.planner.model import LONGEST_RUN

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from memstow.planner.bench.executors import Executor
    from memstow.planner.bench.instances import Instances
    from memstow.planner.bench.journal import Journal
    from memstow.planner.bench.run import Side, Tally

# By the codes of issues.
_HINTS: Final = {
    "has_results": "--resume continues with them",
    "not_a_record": "if the line is removed, --resume repeats that run",
}


@contextmanager
def resume_hint() -> Iterator[None]:
    """Add hints on `--resume` to errors of a bench; also usable as a decorator."""
    from dataclasses import replace

    from memstow.planner.bench.journal import InterruptedBenchError
    from memstow.planner.model.errors import InputError

    try:
        yield
    except InterruptedBenchError as error:
        raise InterruptedBenchError(f"{error}; the results so far are saved; --resume continues") from None
    except InputError as error:
        raise InputError(
            replace(issue, message=f"{issue.message}; {_HINTS[issue.code]}")
            if issue.code in _HINTS
            else issue
            for issue in error.issues
        ) from None


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "run",
        "run every solver on every problem and record the results",
        details="""
A PATH is a file, a folder, a glob pattern, or problems to generate: generate:planted,n=100,seed=1..10.
Each run has its own process, and each plan is verified. Results are appended to results.jsonl as they
arrive; --resume continues an interrupted run.""",
        examples="""
memstow bench run instances/ --solvers greedy,exact,cpsat --time-limit 5 --seeds 3 --output results
memstow bench run generate:planted,n=50,seed=1..100 --jobs 2 --output results
memstow bench run graphs/ --orders free,lpmf,dfs,given,cpsat --time-limit 5 --output results
memstow bench run a.csv --external 'mine=./mine {input} {output} {capacity} {seconds}' --output results
memstow bench run instances/ --interleave ../old/.venv .venv --solvers greedy,exact --output pairs
memstow bench run instances/ --executor dask --scheduler tcp://localhost:8786 --output results
""",
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="files, folders, glob patterns, generate:..."
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="bench", help="folder of the results (default: bench)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue an earlier run: skip what already has a result"
    )
    parser.add_argument(
        "--format", choices=READABLE, help="format of the problems (default: detected from the content)"
    )
    add_changes(parser)
    _add_solvers(parser)
    _add_limits(parser)
    _add_where(parser)
    parser.set_defaults(run=run)


def _add_solvers(parser: argparse.ArgumentParser) -> None:
    players = parser.add_argument_group("solvers")
    players.add_argument(
        "--solvers",
        metavar="LIST",
        help="comma-separated names from `memstow solvers` (default: auto, or none with --external)",
    )
    players.add_argument(
        "--orders",
        metavar="LIST",
        help="of graphs: who orders the operators, comma-separated: free (the best order), lpmf, dfs, given, "
        "cpsat; each solver then places each of these orders (default: as they are listed)",
    )
    players.add_argument(
        "--external",
        action="append",
        default=[],
        metavar="'NAME=COMMAND'",
        help="an external program; {input}, {output}, {capacity} and {seconds} are substituted; "
        "may be repeated",
    )
    players.add_argument(
        "--interleave",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="run two programs alternately and compare them: each a venv or its memstow (with --solvers), or "
        "each a command as for --external; results go to DIR/old and DIR/new",
    )
    players.add_argument(
        "--seeds",
        type=whole(1, 1_000_000),
        default=1,
        metavar="N",
        help="run with each of the seeds 0 to N-1 (default: 1)",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("limits of a run")
    limits.add_argument(
        "--time-limit",
        type=duration(LONGEST_RUN),
        default=10.0,
        metavar="S",
        help="time limit of a run, in seconds or as 50ms, 2m (default: 10)",
    )
    limits.add_argument(
        "--gap",
        type=real(0, 1),
        default=0.0,
        metavar="G",
        help="stop once proven to be within this fraction of the optimum (default: 0)",
    )
    limits.add_argument("--deterministic", action="store_true", help="limit work instead of time")
    limits.add_argument(
        "--work-limit",
        type=whole(0, 1 << 62),
        metavar="N",
        help="limit on steps of work (default: about 10 s worth)",
    )
    limits.add_argument(
        "--workers", type=whole(1, 256), default=1, metavar="N", help="threads per run (default: 1)"
    )
    limits.add_argument(
        "--repeat-for",
        type=real(0, LONGEST_RUN),
        default=REPEAT_SECONDS,
        metavar="S",
        help=f"repeat short runs until this many seconds are measured; 0: never (default: {REPEAT_SECONDS})",
    )
    limits.add_argument(
        "--memory",
        type=amount,
        metavar="N",
        help="memory that a run may use (default: 80 %% of the machine's, divided by its processors)",
    )


def _add_where(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("execution")
    where.add_argument(
        "--jobs",
        type=whole(1, 4096),
        default=1,
        metavar="N",
        help="number of runs at the same time on this machine (default: 1)",
    )
    where.add_argument(
        "--executor",
        choices=("local", "dask"),
        default="local",
        help="where runs are executed: on this machine or on a Dask cluster (default: local)",
    )
    where.add_argument(
        "--scheduler", metavar="URL", help="address of the cluster's scheduler, such as tcp://host:8786"
    )
    where.add_argument(
        "--scheduler-wait",
        type=real(0, LONGEST_RUN),
        default=60.0,
        metavar="S",
        help="how long to wait for a scheduler that is lost (default: 60)",
    )


class Progress(Line):
    """Shows how many runs are done, and an estimate of the time left."""

    tally: "Tally | None" = None

    def hear(self, tally: "Tally") -> None:
        """Show this tally from now on; the run updates it."""
        self.tally = tally

    def line(self, elapsed: float) -> str:
        """Runs done, time elapsed, time left."""
        tally = self.tally
        if tally is None:
            return "start"
        left = tally.seconds_left()
        parts = [f"{tally.settled:,} of {tally.total:,} runs", f"{_clock(elapsed)} elapsed"]
        if left is not None:
            parts.append(f"about {_clock(left)} left")
        if tally.lost:
            parts.append(f"{tally.lost:,} lost")
        return "  ".join(parts)


@resume_hint()
def run(args: argparse.Namespace) -> int:
    """Run all, record the results and print a summary."""
    import gc

    from memstow.planner.bench.journal import Journal
    from memstow.planner.bench.run import run as run_all

    # The command line disables it for short solves, but a bench may run for days.
    gc.enable()
    if args.interleave is not None:
        return run_pairs(args)
    instances = [instances_of(path) for path in args.paths]
    asked = solver_requests(args)
    folder = Path(args.output)
    journal = Journal(folder, args.resume)
    try:
        note_invocation(folder, args)
        progress = Progress(sys.stderr) if is_terminal(sys.stderr) else None
        executor = _executor(args, progress)

        def work(cancel: "threading.Event") -> "Tally":
            hear = progress.hear if progress else lambda _tally: None
            try:
                return run_all(instances, asked, args.seeds, executor, journal, cancel, hear)
            finally:
                executor.close()

        call = Interruptible(work)
        tally = call.run(progress)
    finally:
        journal.close()
    print_notes(tally)
    print_endings(journal)
    if call.interrupted:
        print_error("interrupted: the results so far are saved; --resume continues")
        return Exit.INTERRUPTED
    return Exit.DONE if sum(journal.endings.values()) and not tally.lost else Exit.USAGE


def note_invocation(folder: "Path", args: argparse.Namespace) -> None:
    """Write beside the results where their problems are, and the command and its date."""
    import shlex
    from datetime import UTC, datetime

    from memstow.planner.bench.instances import paths_file
    from memstow.planner.bench.record import COMMANDS, PATHS, Command, commands_file

    replace_file(folder / PATHS, paths_file(folder, args.paths))
    began = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = Command(began, shlex.join(["memstow", *args.words]))
    replace_file(folder / COMMANDS, commands_file(folder, command))


def _executor(args: argparse.Namespace, progress: Progress | None) -> "Executor":
    from memstow.api.workers.scheduler_address import check_scheduler
    from memstow.planner.model.errors import InputError, MissingBackEndError

    if (args.executor == "dask") != (args.scheduler is not None):
        raise InputError.single(
            "no_scheduler", "--scheduler", "--executor dask and --scheduler must be given together"
        )
    if args.executor == "local":
        from memstow.planner.bench.executors import Local

        return Local(args.jobs)
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise MissingBackEndError(
            "--executor dask needs distributed; install with: pip install 'memstow[dask]'"
        )
    from memstow.planner.bench.executors import ClusterExecutor
    from memstow.planner.show.formatting import plain

    def say(text: str) -> None:
        if progress is not None:
            progress.clear()
        print_error(plain(text))

    return ClusterExecutor(check_scheduler(args.scheduler, "--scheduler"), args.scheduler_wait, say)


def print_notes(tally: "Tally") -> None:
    """Print which problems were skipped and how many runs were lost."""
    from memstow.planner.show.formatting import plain

    for note in tally.notes:
        print_error(plain(note))
    if tally.same:
        print_error(f"{tally.same:,} runs were skipped because another file contains the same problem")
    if tally.lost:
        print_error(f"{tally.lost:,} runs were lost; --resume runs them again")


def print_endings(journal: "Journal") -> None:
    """Print how the runs of each solver ended."""
    from memstow.planner.bench.record import Ending
    from memstow.planner.show.formatting import table

    solvers = sorted({solver for solver, _ in journal.endings})
    shown = [ending for ending in Ending if any(journal.endings[solver, ending] for solver in solvers)]
    rows = [(solver, *(f"{journal.endings[solver, ending]:,}" for ending in shown)) for solver in solvers]
    if rows:
        print("\n".join(table(("solver", *(ending.value for ending in shown)), rows)))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


_OLD, _NEW = "old", "new"


def run_pairs(args: argparse.Namespace) -> int:
    """Run both programs, record the results and compare them; exit code as for `bench compare`."""
    from memstow.planner.bench.compare import check_scipy
    from memstow.planner.bench.executors import Local
    from memstow.planner.bench.journal import Journal
    from memstow.planner.bench.run import Side
    from memstow.planner.show.formatting import plain

    instances = [instances_of(path) for path in args.paths]
    asked = sides_of(args)
    check_scipy()  # before hours of runs, not after
    folders = [Path(args.output) / name for name in (_OLD, _NEW)]
    journals: list[Journal] = []
    try:
        sides = []
        for folder, (solvers, python) in zip(folders, asked, strict=True):
            journals.append(Journal(folder, args.resume))
            note_invocation(folder, args)
            sides.append(Side(solvers, partial(Local, 1, python), journals[-1]))
        tally, interrupted = _run_both(instances, sides, args.seeds)
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
    return _compare_both(*folders)


def _run_both(instances: "Sequence[Instances]", sides: "Sequence[Side]", seeds: int) -> "tuple[Tally, bool]":
    """Run all pairs; returns the tally, and whether Ctrl-C interrupted it."""
    from memstow.planner.bench.run import run_interleaved

    progress = Progress(sys.stderr) if is_terminal(sys.stderr) else None
    old, new = sides

    def work(cancel: "threading.Event") -> "Tally":
        hear = progress.hear if progress else lambda _tally: None
        return run_interleaved(instances, old, new, seeds, cancel, hear)

    call = Interruptible(work)
    return call.run(progress), call.interrupted


def _compare_both(old: Path, new: Path) -> int:
    from memstow.planner.bench.compare import DECIDING, NAMES, Strictness, compare, comparison_text
    from memstow.planner.bench.journal import read

    comparison = compare(read(old), read(new), Strictness(), NAMES)
    print(f"\n{comparison_text(comparison, DECIDING)}")
    return Exit.WORSE if comparison.worse(DECIDING) else Exit.DONE
