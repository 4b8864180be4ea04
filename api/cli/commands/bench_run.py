"""`memstow bench run`: every problem by every solver, each run in a process of its own, every plan judged."""

import argparse
import sys
from typing import TYPE_CHECKING

from memstow.api.cli.commands.bench_arguments import instances_of, solver_requests
from memstow.api.cli.commands.bench_resume import resume_hint
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import LONGEST_RUN, Commands, add_command, amount, duration, real, whole
from memstow.api.cli.io.output import replace_file
from memstow.api.cli.io.problem_input import READABLE, add_changes
from memstow.api.cli.io.progress import Line
from memstow.api.cli.io.terminal import complain, is_terminal
from memstow.planner.bench.runs.repetition import REPEAT_SECONDS

if TYPE_CHECKING:
    import threading

    from memstow.planner.bench.records.journal import Journal
    from memstow.planner.bench.runs.executor import Executor
    from memstow.planner.bench.runs.progress import Tally


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "run",
        "run every problem by every solver and record what comes of it",
        details="""
A PATH is a file, a folder, a pattern, or what to generate: generate:planted,n=100,seed=1..10.
Each run has a process of its own, and each plan is judged. Results are lines of results.jsonl, written as
they come: what was ended, however it was, goes on with --resume.""",
        examples="""
memstow bench run instances/ --solvers greedy,exact,cpsat --time-limit 5 --seeds 3 --output results
memstow bench run generate:planted,n=50,seed=1..100 --jobs 2 --output results
memstow bench run a.csv --external 'mine=./mine {input} {output} {capacity} {seconds}' --output results
memstow bench run instances/ --interleave ../old/.venv .venv --solvers greedy,exact --output pairs
memstow bench run instances/ --executor dask --scheduler tcp://localhost:8786 --output results
""",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="files, folders, patterns, generate:...")
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="bench", help="folder of the results (default: bench)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the results that are there")
    parser.add_argument("--format", choices=READABLE, help="format of the problems (default: by content)")
    add_changes(parser)
    _add_solvers(parser)
    _add_limits(parser)
    _add_where(parser)
    parser.set_defaults(run=run)


def _add_solvers(parser: argparse.ArgumentParser) -> None:
    players = parser.add_argument_group("who solves")
    players.add_argument(
        "--solvers",
        metavar="LIST",
        help="names with commas between, see `memstow solvers` (default: auto, or none with --external)",
    )
    players.add_argument(
        "--external",
        action="append",
        default=[],
        metavar="'NAME=COMMAND'",
        help="an outside program; {input}, {output}, {capacity} and {seconds} are filled in; may be repeated",
    )
    players.add_argument(
        "--interleave",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="two programs side by side, to be compared: each a venv or its memstow (run with --solvers), or "
        "each a command as after NAME= of --external; results go to DIR/old and DIR/new",
    )
    players.add_argument(
        "--seeds",
        type=whole(1, 1_000_000),
        default=1,
        metavar="N",
        help="runs with seeds 0 to N-1 (default: 1)",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("limits of a run")
    limits.add_argument(
        "--time-limit",
        type=duration(LONGEST_RUN),
        default=10.0,
        metavar="S",
        help="in seconds, or as 50ms, 2m (default: 10)",
    )
    limits.add_argument(
        "--gap", type=real(0, 1), default=0.0, metavar="G", help="stop within this fraction (default: 0)"
    )
    limits.add_argument("--deterministic", action="store_true", help="bounded in work instead of time")
    limits.add_argument(
        "--work-limit", type=whole(0, 1 << 62), metavar="N", help="steps of work (default: about 10 s of it)"
    )
    limits.add_argument(
        "--workers", type=whole(1, 256), default=1, metavar="N", help="threads of a run (default: 1)"
    )
    limits.add_argument(
        "--repeat-for",
        type=real(0, LONGEST_RUN),
        default=REPEAT_SECONDS,
        metavar="S",
        help="a shorter run is repeated until this many seconds are measured; 0: never (default: "
        f"{REPEAT_SECONDS})",
    )
    limits.add_argument(
        "--memory",
        type=amount,
        metavar="N",
        help="bytes a run may use (default: a processor's share of most of it)",
    )


def _add_where(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where")
    where.add_argument(
        "--jobs", type=whole(1, 4096), default=1, metavar="N", help="runs at a time, here (default: 1)"
    )
    where.add_argument(
        "--executor",
        choices=("local", "dask"),
        default="local",
        help="here, or on a cluster (default: local)",
    )
    where.add_argument("--scheduler", metavar="URL", help="of the cluster, as tcp://host:8786")


class Progress(Line):
    """How many of the runs are done, and how long the rest may take."""

    tally: "Tally | None" = None

    def hear(self, tally: "Tally") -> None:
        """Look at this from now on; the run counts in it."""
        self.tally = tally

    def line(self, elapsed: float) -> str:
        """Runs, time gone, time left."""
        tally = self.tally
        if tally is None:
            return "start"
        left = tally.seconds_left()
        parts = [f"{tally.settled:,} of {tally.total:,} runs", f"{_clock(elapsed)} gone"]
        if left is not None:
            parts.append(f"about {_clock(left)} left")
        if tally.lost:
            parts.append(f"{tally.lost:,} lost")
        return "  ".join(parts)


@resume_hint()
def run(args: argparse.Namespace) -> int:
    """Run, record, and say what there is."""
    import gc
    from pathlib import Path

    from memstow.api.cli.io.interruptible import Interruptible
    from memstow.planner.bench.instances.problem import paths_file
    from memstow.planner.bench.records.folder import PATHS
    from memstow.planner.bench.records.journal import Journal
    from memstow.planner.bench.runs.run import run as run_all

    # The command line does without for the short life of a solve; this may run for days.
    gc.enable()
    if args.interleave is not None:
        from memstow.api.cli.commands.bench_interleave import run_pairs

        return run_pairs(args)
    instances = [instances_of(path) for path in args.paths]
    asked = solver_requests(args)
    folder = Path(args.output)
    journal = Journal(folder, args.resume)
    try:
        replace_file(folder / PATHS, paths_file(folder, args.paths))
        executor = _executor(args)
        progress = Progress(sys.stderr) if is_terminal(sys.stderr) else None

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
    report_rest(tally)
    report_endings(journal)
    if call.interrupted:
        complain("interrupted: what is recorded stays; --resume goes on")
        return Exit.INTERRUPTED
    return Exit.DONE if sum(journal.endings.values()) and not tally.lost else Exit.USAGE


def _executor(args: argparse.Namespace) -> "Executor":
    from memstow.planner.model.errors import InputError, MissingBackEndError
    from memstow.planner.reading.scheduler_address import check_scheduler

    if (args.executor == "dask") != (args.scheduler is not None):
        raise InputError.single("no_scheduler", "--scheduler", "--executor dask and --scheduler go together")
    if args.executor == "local":
        from memstow.planner.bench.runs.executor import Local

        return Local(args.jobs)
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise MissingBackEndError(
            "--executor dask needs distributed; install with: pip install 'memstow[dask]'"
        )
    from memstow.planner.bench.runs.dask_executor import Cluster

    return Cluster(check_scheduler(args.scheduler, "--scheduler"))


def report_rest(tally: "Tally") -> None:
    """Say what was left out or lost."""
    from memstow.planner.show.formatting import plain

    for note in tally.notes:
        complain(plain(note))
    if tally.same:
        complain(
            f"{tally.same:,} runs were on a problem that another file holds too, and are not counted twice"
        )
    if tally.lost:
        complain(f"{tally.lost:,} runs are lost; --resume tries them again")


def report_endings(journal: "Journal") -> None:
    """How the runs of each solver ended."""
    from memstow.planner.bench.records.record import Ending
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
