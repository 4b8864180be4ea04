"""`memstow bench run`: every solver on every problem, in separate processes, and every plan verified.

With --interleave, two programs run alternately and are compared. Last in this file the arguments become
instances and solvers with their options.
"""

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memstow.api.cli.output_files import replace_file
from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.terminal import Exit, Interruptible, Line, is_terminal, print_error
from memstow.api.options import (
    CHANGES,
    READABLE,
    Amount,
    Choice,
    Duration,
    Flag,
    Format,
    Option,
    Real,
    Text,
    Whole,
)
from memstow.planner.bench.task import REPEAT_SECONDS
from memstow.planner.model import LONGEST_RUN

if TYPE_CHECKING:
    import threading

    from memstow.planner.bench.executors import Executor
    from memstow.planner.bench.instances import Generated, Instances
    from memstow.planner.bench.journal import Journal
    from memstow.planner.bench.run import Tally
    from memstow.planner.bench.task import RunOptions, SolverRequest, Task
    from memstow.planner.bench.watch import Watch

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


_OUTPUT: Final = Option("output", "folder of the results", Text(), "DIR", default="bench", short="-o")
_RESUME: Final = Option("resume", "continue an earlier run: skip what already has a result", Flag())
_WATCH: Final = Option(
    "watch",
    "a page that follows the run in a browser, written again each second",
    Text(),
    "FILE.html",
    more=" ([bench.md](bench.md#watching-a-run))",
)
_FORMAT: Final = Option(
    "format", "format of the problems", Format(READABLE), otherwise="detected from the content"
)
_SOLVERS: Final = Option(
    "solvers",
    "comma-separated names from `memstow solvers`",
    Text(),
    "LIST",
    otherwise="``auto``, or none with {external}",
)
_ORDERS: Final = Option(
    "orders",
    "of graphs: who orders the operators, comma-separated: ``free`` (the best order), ``lpmf``, "
    "``dfs``, ``given``, ``cpsat``; each solver then places each of these orders",
    Text(),
    "LIST",
    otherwise="as they are listed",
    more=" ([bench.md](bench.md#orders))",
)
_EXTERNAL: Final = Option(
    "external",
    "an external program; {{input}}, {{output}}, {{proof}}, {{capacity}} and {{seconds}} are substituted; or "
    "the name of a model or program that the bench knows",
    Text(),
    "'NAME=COMMAND'",
    is_repeated=True,
    more=" ([bench.md](bench.md#other-solvers))",
)
_INTERLEAVE: Final = Option(
    "interleave",
    "run two programs alternately and compare them: each a venv or its ``memstow`` (with {solvers}), or each "
    "a command as for {external}; results go to DIR/old and DIR/new",
    Text(),
    "OLD NEW",
)
_SEEDS: Final = Option("seeds", "run with each of the seeds 0 to N-1", Whole(1, 1_000_000), "N", default=1)
_LIMITS: Final = (
    Option(
        "time_limit",
        "time limit of a run, in seconds or as 50ms, 2m",
        Duration(LONGEST_RUN),
        "S",
        default=10.0,
    ),
    Option("gap", "stop once proven to be within this fraction of the optimum", Real(0, 1), "G", default=0.0),
    Option("deterministic", "limit work instead of time", Flag()),
    Option("work_limit", "limit on steps of work", Whole(0, 1 << 62), "N", otherwise="about 10 s worth"),
    Option("workers", "threads per run", Whole(1, 256), "N", default=1),
    Option(
        "repeat_for",
        "repeat short runs until this many seconds are measured; 0: never",
        Real(0, LONGEST_RUN),
        "S",
        default=REPEAT_SECONDS,
    ),
    Option(
        "memory",
        "memory that a run may use",
        Amount(),
        "N",
        otherwise="80 % of the machine's, divided by its processors",
    ),
)
_EXECUTION: Final = (
    Option("jobs", "number of runs at the same time on this machine", Whole(1, 4096), "N", default=1),
    Option(
        "executor",
        "where runs are executed: on this machine or on a Dask cluster",
        Choice(("local", "dask")),
        default="local",
    ),
    Option("scheduler", "address of the cluster's scheduler, such as ``tcp://host:8786``", Text(), "URL"),
    Option(
        "scheduler_wait",
        "how long to wait for a scheduler that is lost",
        Real(0, LONGEST_RUN),
        "S",
        default=60.0,
    ),
)


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "run",
        "run every solver on every problem and record the results",
        details="""
A PATH is a file, a folder, a library of instances, some of one (library:FOLDER,state=open), a glob pattern,
or problems to generate: generate:planted,n=100,seed=1..10.
Each run has its own process, and each plan is verified. Results are appended to results.jsonl as they
arrive; --resume continues an interrupted run.""",
        examples="""
memstow bench run instances/ --solvers greedy,exact,cpsat --time-limit 5 --seeds 3 --output results
memstow bench run generate:planted,n=50,seed=1..100 --jobs 2 --output results
memstow bench run library:instances,state=open --time-limit 60 --output results --resume --watch run.html
memstow bench run graphs/ --orders free,lpmf,dfs,given,cpsat --time-limit 5 --output results
memstow bench run a.csv --external 'mine=./mine {input} {output} {capacity} {seconds}' --output results
memstow bench run instances/ --interleave ../old/.venv .venv --solvers greedy,exact --output pairs
memstow bench run instances/ --executor dask --scheduler tcp://localhost:8786 --output results
""",
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="files, folders, libraries, glob patterns, generate:..."
    )
    add_options(parser, _OUTPUT, _RESUME, _WATCH, _FORMAT)
    add_options(parser, *CHANGES)
    solvers = parser.add_argument_group("solvers")
    add_options(solvers, _SOLVERS, _ORDERS)
    add_option(solvers, _EXTERNAL, default=[])
    add_option(solvers, _INTERLEAVE, nargs=2, metavar=("OLD", "NEW"))
    add_options(solvers, _SEEDS)
    add_options(parser.add_argument_group("limits of a run"), *_LIMITS)
    add_options(parser.add_argument_group("execution"), *_EXECUTION)
    parser.set_defaults(run=run)


class Progress(Line):
    """Shows how many runs are done, and an estimate of the time left."""

    tally: "Tally | None" = None

    def hear(self, tally: "Tally") -> None:
        """Show this tally from now on; the run updates it."""
        self.tally = tally

    def line(self, elapsed: float) -> str:
        """Runs done, time elapsed, time left."""
        from memstow.planner.show.formatting import clock

        tally = self.tally
        if tally is None:
            return "start"
        left = tally.seconds_left()
        parts = [f"{tally.settled:,} of {tally.total:,} runs", f"{clock(elapsed)} elapsed"]
        if left is not None:
            parts.append(f"about {clock(left)} left")
        if tally.lost:
            parts.append(f"{tally.lost:,} lost")
        return "  ".join(parts)


@resume_hint()
def run(args: argparse.Namespace) -> int:
    """Run all, record the results and print how they ended; two programs are compared afterwards."""
    import gc

    from memstow.planner.bench.journal import Journal
    from memstow.planner.bench.run import Side, run_interleaved
    from memstow.planner.bench.run import run as run_all

    _check_page(args.watch)

    # The command line disables it for short solves, but a bench may run for days.
    gc.enable()
    instances = [instances_of(path) for path in args.paths]
    output, interleaved = Path(args.output), args.interleave is not None
    if interleaved:
        from memstow.planner.bench.compare import check_scipy
        from memstow.planner.bench.executors import Local

        programs = _programs_of(args)
        check_scipy()  # before hours of runs, not after
        folders = [output / name for name in ("old", "new")]
    else:
        solvers, folders = _solver_requests(args), [output]
    progress = Progress(sys.stderr) if is_terminal(sys.stderr) else None
    with ExitStack() as stack:
        journals = []
        for folder in folders:
            journals.append(stack.enter_context(closing(Journal(folder, args.resume))))
            _note_invocation(folder, args)
        if not interleaved:
            executor = stack.enter_context(closing(_executor(args, progress)))
        watch = None
        if args.watch is not None:
            who = [requests for requests, _ in programs] if interleaved else [solvers]
            watch = stack.enter_context(_watch(args, folders, journals, who))

        def work(cancel: "threading.Event") -> "Tally":
            def hear(tally: "Tally") -> None:
                if progress is not None:
                    progress.hear(tally)
                if watch is not None:
                    watch.look(tally)

            if not interleaved:
                return run_all(instances, solvers, args.seeds, executor, journals[0], cancel, hear)
            old, new = (
                Side(requests, partial(Local, 1, python), journal)
                for (requests, python), journal in zip(programs, journals, strict=True)
            )
            return run_interleaved(instances, old, new, args.seeds, cancel, hear)

        call = Interruptible(work)
        tally = call.run(progress)
        if watch is not None:
            watch.interrupted = call.interrupted
    code = _report_end(tally, folders, journals, call.interrupted)
    return _compare_both(*folders) if interleaved and code == Exit.DONE else code


def _watch(
    args: argparse.Namespace,
    folders: "Sequence[Path]",
    journals: "Sequence[Journal]",
    solvers: "Sequence[Sequence[SolverRequest]]",
) -> "Watch":
    from memstow.planner.bench.watch import Side, Watch

    names = [folder.name for folder in folders] if len(folders) > 1 else [""]
    sides = [
        Side(name, journal, [one.title for one in requests])
        for name, journal, requests in zip(names, journals, solvers, strict=True)
    ]
    return Watch(Path(args.output).resolve().name, sides, partial(replace_file, args.watch))


def _check_page(path: str | None) -> None:
    """Refuse what is no page: the file is replaced, and may be a problem or results."""
    from memstow.planner.model.errors import InputError

    if path is not None and not path.endswith(".html"):
        message = f"{path!r} does not end with .html: the page is a file of its own, which is replaced"
        raise InputError.single("bad_watch", "--watch", message)


def repeat(args: argparse.Namespace, tasks: "Sequence[Task]", folder: Path) -> int:
    """Do these runs with results in the folder, and print how they ended."""
    from memstow.planner.bench.executors import Local
    from memstow.planner.bench.journal import Journal
    from memstow.planner.bench.run import run_tasks

    progress = Progress(sys.stderr) if is_terminal(sys.stderr) else None
    with closing(Journal(folder, args.resume)) as journal, closing(Local(args.jobs)) as executor:
        hear = progress.hear if progress else lambda _tally: None
        call = Interruptible(lambda cancel: run_tasks(tasks, executor, journal, cancel, hear))
        tally = call.run(progress)
    return _report_end(tally, [folder], [journal], call.interrupted)


def _report_end(
    tally: "Tally", folders: "Sequence[Path]", journals: "Sequence[Journal]", interrupted: bool
) -> int:
    """Print how the runs ended; the exit code."""
    from memstow.planner.show.formatting import plain

    for note in tally.notes:
        print_error(plain(note))
    if tally.same:
        print_error(f"{tally.same:,} runs were skipped because another file contains the same problem")
    if tally.lost:
        print_error(f"{tally.lost:,} runs were lost; --resume runs them again")
    for folder, journal in zip(folders, journals, strict=True):
        if len(folders) > 1:
            print(f"{plain(str(folder))}:")
        _print_endings(journal)
    if interrupted:
        print_error("interrupted: the results so far are saved; --resume continues")
        return Exit.INTERRUPTED
    if tally.lost or not all(sum(journal.endings.values()) for journal in journals):
        return Exit.USAGE
    return Exit.DONE


def _note_invocation(folder: "Path", args: argparse.Namespace) -> None:
    """Write beside the results where their problems are, and the command and its date."""
    from datetime import UTC, datetime

    from memstow.planner.bench.instances import paths_file
    from memstow.planner.bench.record import COMMANDS, PATHS, Command, commands_file

    replace_file(folder / PATHS, paths_file(folder, args.paths))
    began = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = Command(began, shlex.join(["memstow", *args.words]))
    replace_file(folder / COMMANDS, commands_file(folder, command))


def _executor(args: argparse.Namespace, progress: Progress | None) -> "Executor":
    from memstow.planner.cluster.roster import check_scheduler
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


def _print_endings(journal: "Journal") -> None:
    """Print how the runs of each solver ended, with an example of those that gave no valid plan."""
    from memstow.planner.bench.record import Ending
    from memstow.planner.show.formatting import plain, table

    solvers = sorted({solver for solver, _ in journal.endings})
    shown = [ending for ending in Ending if any(journal.endings[solver, ending] for solver in solvers)]
    rows = [(solver, *(f"{journal.endings[solver, ending]:,}" for ending in shown)) for solver in solvers]
    if rows:
        print("\n".join(table(("solver", *(ending.value for ending in shown)), rows)))
    for (solver, status), example in sorted(journal.faults.items()):
        number = journal.endings[solver, status]
        first = "" if number == 1 else f" {number:,} times, the first time"
        print_error(plain(f"{solver}: {status}{first} on {example}", 400))


def _compare_both(old: Path, new: Path) -> int:
    from memstow.planner.bench.compare import DECIDING, NAMES, Strictness, compare, comparison_text
    from memstow.planner.bench.journal import read

    comparison = compare(read(old), read(new), Strictness(), NAMES)
    print(f"\n{comparison_text(comparison, DECIDING)}")
    return Exit.WORSE if comparison.worse(DECIDING) else Exit.DONE


_GENERATE: Final = "generate:"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)", re.ASCII)
_RANGED: Final = ("n", "seed")
ORDERS: Final = ("free", "lpmf", "dfs", "given", "cpsat")
"""Who may order the operators of a graph: the search for the best order, rules, a model."""
_MODEL: Final = "cpsat"
# The name of both external programs of --interleave.
_PROGRAM: Final = "program"
_WATCHES: Final = "memstow.planner.bench.supervisor"
# Options of `memstow generate` that are not the problem's.
_OF_A_FILE: Final = ("output", "output-format")
_MOST_GENERATED: Final = 1_000_000_000


def instances_of(path: str) -> "Instances":
    """The instances that one path argument names."""
    from memstow.planner.bench.instances import files, selected

    return _generated(path) if path.startswith(_GENERATE) else selected(path) or files(path)


def _solver_requests(args: argparse.Namespace) -> "list[SolverRequest]":
    """All solvers to run."""
    requests = _solvers(args)
    requests += [_external(text, args, args.executor == "local") for text in args.external]
    return _each_once(requests)


def _programs_of(args: argparse.Namespace) -> "list[tuple[list[SolverRequest], str]]":
    """For each side of --interleave its solvers, and the Python that runs them."""
    from memstow.planner.model.errors import InputError

    if args.external or args.executor != "local" or args.jobs != 1:
        message = (
            "it cannot be combined with --external, --executor or --jobs, because runs are made in pairs"
        )
        raise InputError.single("bad_interleave", "--interleave", message)
    programs = ["{input" in one for one in args.interleave]
    if any(programs):
        if not all(programs) or args.solvers is not None:
            message = (
                "give two commands that contain {input}, without --solvers; or two installations of memstow"
            )
            raise InputError.single("bad_interleave", "--interleave", message)
        return [([_external(f"{_PROGRAM}={one}", args, True)], sys.executable) for one in args.interleave]
    return [(_each_once(_solvers(args)), _python_of(one)) for one in args.interleave]


def _python_of(text: str) -> str:
    """The Python of a `memstow` program or of a venv."""
    import subprocess
    from pathlib import Path
    from shutil import which

    from memstow.planner.model.errors import InputError

    program = which(str(Path(text) / "bin" / "memstow") if Path(text).is_dir() else text)
    # The link is followed to the program, and the Python beside it is not: it may be a link out of its venv.
    python = None if program is None else str(Path(program).resolve().with_name("python"))
    if python is not None and os.access(python, os.X_OK):
        runs = [python, "-P", "-c", f"import {_WATCHES}"]
        if subprocess.run(runs, capture_output=True, check=False).returncode == 0:  # noqa: S603
            return python
    message = f"{text!r} is neither a venv with memstow or its program, nor a command with {{input}}"
    raise InputError.single("bad_interleave", "--interleave", message)


def _solvers(args: argparse.Namespace) -> "list[SolverRequest]":
    names = args.solvers if args.solvers is not None else "" if args.external else "auto"
    local = args.executor == "local" and args.interleave is None
    return [
        _solver(name.strip(), order, args, local)
        for order in _orders(args, local)
        for name in names.split(",")
        if name.strip()
    ]


def _orders(args: argparse.Namespace, local: bool) -> "list[str | None]":
    """Who orders the operators of graphs; None for graphs as they are listed."""
    from memstow.planner.model.errors import InputError, MissingBackEndError
    from memstow.solvers.registry import BACK_ENDS

    if args.orders is None:
        return [None]
    names = [name.strip() for name in args.orders.split(",") if name.strip()]
    if not names or any(name not in ORDERS for name in names):
        message = f"name one or more of {', '.join(ORDERS)}, with commas between them"
        raise InputError.single("bad_orders", "--orders", message)
    missing = BACK_ENDS[_MODEL].how_to_get() if _MODEL in names and local else None
    if missing is not None:
        raise MissingBackEndError(f"the order {_MODEL!r} needs {missing}")
    return list(names)


def _each_once(requests: "list[SolverRequest]") -> "list[SolverRequest]":
    from memstow.planner.model.errors import InputError

    seen = [one.title for one in requests]
    if not requests or len(set(seen)) < len(seen):
        message = "name at least one solver, and each solver and each order only once"
        raise InputError.single("bad_solvers", "--solvers", message)
    return requests


def _solver(name: str, order: str | None, args: argparse.Namespace, local: bool) -> "SolverRequest":
    from memstow.planner.bench.task import SolverRequest
    from memstow.planner.model.errors import InputError, MissingBackEndError
    from memstow.planner.solve.portfolio import solver_by_name
    from memstow.solvers.registry import BACK_ENDS, is_ours

    solver_by_name(name)
    if not is_ours(name) and args.executor != "local":
        message = f"{name!r} is a plug-in, and plug-ins run on this machine only; leave out --executor"
        raise InputError.single("bad_solvers", "--solvers", message)
    missing = BACK_ENDS[name].how_to_get() if name in BACK_ENDS and local else None
    if missing is not None:
        raise MissingBackEndError(f"solver {name!r} needs {missing}")
    options: RunOptions = {
        **_run_options(args),
        "gap": args.gap,
        "deterministic": args.deterministic,
        "work_limit": args.work_limit,
        "workers": args.workers,
    }
    if order is not None:
        options["order"] = order
    return SolverRequest(name, options, repeat_seconds=args.repeat_for)


def _external(text: str, args: argparse.Namespace, local: bool) -> "SolverRequest":
    # Slow to import, while this module is imported whenever help is printed.
    from shutil import which

    from memstow.planner.bench.rivals import RIVALS
    from memstow.planner.bench.task import SolverRequest
    from memstow.planner.model.errors import InputError
    from memstow.solvers.registry import names

    name, equals, command = text.partition("=")
    if name in RIVALS and "{input" not in command:
        return _rival(name, command if equals else None, args, local)
    try:
        parts = shlex.split(command)
        command.encode()  # it is recorded, so it must be valid text
    except ValueError as error:
        raise InputError.single("bad_external", "--external", f"{command!r}: {error}") from None
    if not (equals and parts and _NAME.fullmatch(name)):
        raise InputError.single(
            "bad_external",
            "--external",
            f"{text!r} does not have the form 'name=command {{input}} {{output}}', and is none of "
            f"{', '.join(RIVALS)}",
        )
    if name in ("auto", *names()):
        raise InputError.single("bad_external", "--external", f"{name!r} is the name of a solver of memstow")
    if "{input" not in command:
        raise InputError.single("bad_external", "--external", f"{text!r} does not contain {{input}}")
    if "{proof}" in command and "{input.json}" not in command:
        message = f"{text!r} has {{proof}} without {{input.json}}, which is what a proof is about"
        raise InputError.single("bad_external", "--external", message)
    if os.sep in parts[0]:
        parts[0] = os.path.abspath(parts[0])
    if local and which(parts[0]) is None:
        raise InputError.single("bad_external", "--external", f"{parts[0]!r} is not an executable program")
    return SolverRequest(name, _run_options(args), tuple(parts), os.getcwd(), args.repeat_for)


def _rival(name: str, program: str | None, args: argparse.Namespace, local: bool) -> "SolverRequest":
    """One of the solvers that the bench knows by name; `program`: where it is, if the user has built it."""
    from shutil import which

    from memstow.planner.bench.rivals import RIVALS, command_of, how_to_get
    from memstow.planner.bench.task import SolverRequest
    from memstow.planner.model.errors import InputError, MissingBackEndError

    if (program is None) != (not RIVALS[name].program):
        message = (
            f"say where the program is: {name}=PATH" if program is None else f"{name} is no program of yours"
        )
        raise InputError.single("bad_external", "--external", message)
    missing = how_to_get(name) if local else None
    if missing is not None:
        raise MissingBackEndError(f"{name!r} needs {missing}")
    if program is not None:
        program = os.path.abspath(program) if os.sep in program else program
        if local and which(program) is None:
            raise InputError.single("bad_external", "--external", f"{program!r} is not an executable program")
    command = tuple(command_of(name, program))
    return SolverRequest(name, _run_options(args), command, os.getcwd(), args.repeat_for)


def _run_options(args: argparse.Namespace) -> "RunOptions":
    from memstow.api.cli.problem_input import read_target

    return {
        "format": args.format,
        # The target itself, since the file may not exist where the run is executed.
        "target": None if args.target is None else asdict(read_target(args.target)),
        "capacity": args.capacity,
        "fit_only": args.fit_only,
        "time_limit": args.time_limit,
        "memory": args.memory,
    }


def _generated(path: str) -> "Generated":
    """`generate:KIND,n=N,seed=A..B,option=value`: the options of `memstow generate`."""
    from memstow.planner.bench.instances import Generated
    from memstow.planner.model.errors import InputError

    kind, *settings = (part.strip() for part in path.removeprefix(_GENERATE).split(","))
    settings = [setting for setting in settings if setting]
    named = [setting.partition("=")[0] for setting in settings]
    for name in named:
        if named.count(name) > 1 or name in _OF_A_FILE:
            why = (
                "is given twice"
                if name not in _OF_A_FILE
                else "selects an output file, which is not possible here"
            )
            raise InputError.single("bad_generate", path, f"{name!r} {why}")
    first, last = (_generator_arguments(kind, settings, end) for end in (1, 2))
    counts, seeds = (range(first.pop(name), last[name] + 1) for name in _RANGED)
    if not counts or not seeds:
        raise InputError.single("empty_range", path, "the range is empty: write the smaller number first")
    if seeds.stop - seeds.start > _MOST_GENERATED // len(counts):
        raise InputError.single("too_many", path, f"more than {_MOST_GENERATED:,} problems")
    return Generated(kind, first, counts, seeds)


def _generator_arguments(kind: str, settings: list[str], end: int) -> dict[str, Any]:
    """The arguments of the generator, with the first (1) or the last (2) number of each range."""
    from memstow.api.cli.commands import generate
    from memstow.api.cli.parser import Parser

    words = [kind]
    for setting in settings:
        name, equals, value = setting.partition("=")
        ends = _RANGE.fullmatch(value) if name in _RANGED else None
        # A list has + between its words, since commas are between settings.
        words += [f"--{name}", *([ends[end] if ends else value.replace("+", ",")] if equals else [])]
    parser: argparse.ArgumentParser = Parser(prog="memstow", allow_abbrev=False)
    generate.add(parser.add_subparsers())
    return generate.arguments_of(parser.parse_args(["generate", *words]))
