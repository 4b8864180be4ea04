"""`memstow solve`: a problem in, a plan out."""

import argparse
import os
import sys
import threading
from typing import TYPE_CHECKING

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import (
    LONGEST_RUN,
    Commands,
    add_command,
    amount_from,
    duration,
    real,
    whole,
)
from memstow.api.cli.io.output import add_results, hand_out, refuse_impossible_results
from memstow.api.cli.io.problem_input import (
    add_changes,
    add_problem,
    read_plan,
    read_problem,
    refuse_two_stdins,
    warn_if_terminal,
)
from memstow.api.cli.io.terminal import complain, is_terminal
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.events import Event, Listener
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "solve",
        "plan where every buffer goes",
        details="""
Prints a table and a picture of the plan. Ctrl-C prints the best plan so far; a second one ends at once.
Exit code 0: a plan was found; 3: proven infeasible; 4: no plan and no proof; 130: interrupted.""",
        examples="""
memstow solve model.json
memstow solve model.csv --capacity 64KiB --output plan.json
memstow solve model.json --target stm32h743
memstow solve model.json --time-limit 60 --gap 0.01
memstow solve model.json --picture plan.svg
memstow solve model.json --json | memstow verify model.json -
memstow solve - --format csv --output-format csv < model.csv
memstow solve model.json --server http://localhost:8080
""",
    )
    add_problem(parser)
    add_changes(parser)
    _add_search(parser)
    _add_server(parser)
    add_results(parser)
    parser.set_defaults(run=run)


def _add_search(parser: argparse.ArgumentParser) -> None:
    search = parser.add_argument_group("search")
    search.add_argument(
        "--solver", metavar="NAME", default="auto", help="see `memstow solvers` (default: auto)"
    )
    search.add_argument(
        "--time-limit",
        type=duration(LONGEST_RUN),
        default=10.0,
        metavar="S",
        help="time until the answer must be there, in seconds or as 50ms, 2m (default: 10)",
    )
    search.add_argument(
        "--gap",
        type=real(0, 1),
        default=0.0,
        metavar="G",
        help="stop when proven within this fraction (default: 0)",
    )
    search.add_argument(
        "--deterministic",
        action="store_true",
        help="bounded in work instead of time: one answer for one input",
    )
    search.add_argument(
        "--seed", type=whole(0, (1 << 63) - 1), default=0, metavar="N", help="seed of all chance (default: 0)"
    )
    search.add_argument(
        "--workers",
        type=whole(1, 256),
        metavar="N",
        help="threads (default: the processors there are, at most 8)",
    )
    search.add_argument(
        "--work-limit",
        type=whole(0, 1 << 62),
        metavar="N",
        help="steps of work (default: none; with --deterministic about 10 s of it)",
    )
    search.add_argument(
        "--memory-limit",
        type=amount_from(1 << 20),
        metavar="N",
        help="bytes the process of a model may use, as 2GiB (default: half of what there is)",
    )
    search.add_argument("--hint", metavar="PLAN", help="a plan to start from; what still holds of it is used")


def _add_server(parser: argparse.ArgumentParser) -> None:
    server = parser.add_argument_group("service")
    server.add_argument("--server", metavar="URL", help="have a service solve it (default: MEMSTOW_SERVER)")
    server.add_argument("--key", metavar="KEY", help="key for the service (default: MEMSTOW_KEY)")


def run(args: argparse.Namespace) -> int:
    """Read, plan, show."""
    refuse_two_stdins(args.file, args.hint, args.target)
    refuse_impossible_results(args)
    warn_if_terminal(args.file)
    problem = read_problem(args.file, args)
    options = _options(args, problem)
    plan, interrupted = _plan(args, problem, options)
    hand_out(args, problem, plan)
    if interrupted:
        complain(
            "interrupted: this is the best plan so far" if plan.placements else "interrupted before a plan"
        )
        return Exit.INTERRUPTED
    return _exit_code(plan)


def _options(args: argparse.Namespace, problem: "Problem") -> "Options":
    from memstow.planner.model.options import Options

    return Options(
        time_limit=args.time_limit,
        solver=args.solver,
        gap=args.gap,
        deterministic=args.deterministic,
        seed=args.seed,
        work_limit=args.work_limit,
        memory_limit=args.memory_limit,
        workers=args.workers,
        hint=None if args.hint is None else read_plan(args.hint, problem),
    )


def _plan(args: argparse.Namespace, problem: "Problem", options: "Options") -> "tuple[Plan, bool]":
    from memstow.api.cli.io.interruptible import Interruptible
    from memstow.api.cli.io.progress import Progress
    from memstow.planner.model.events import Phase
    from memstow.planner.solve import engine

    term = next(iter(problem.terms()), "fits")
    progress = Progress(sys.stderr, term) if is_terminal(sys.stderr) else None
    given_up: list[str] = []

    def hear(event: "Event") -> None:
        if isinstance(event, Phase) and event.gives_up:
            given_up.append(event.name)
        elif progress is not None:
            progress.hear(event)

    server = args.server or os.environ.get("MEMSTOW_SERVER")

    def work(cancel: threading.Event) -> "Plan":
        if server:
            key = args.key or os.environ.get("MEMSTOW_KEY")
            return _remote(server, key, problem, options, hear, cancel)
        return engine.plan(problem, options, on_event=hear, cancel=cancel)

    call = Interruptible(work)
    plan = call.run(progress)
    for line in given_up:
        complain(plain(line, most=300))
    return plan, call.interrupted


def _remote(
    server: str,
    key: str | None,
    problem: "Problem",
    options: "Options",
    hear: "Listener",
    cancel: threading.Event,
) -> "Plan":
    try:
        from memstow.api.client import Client, solve
    except ModuleNotFoundError as error:
        from memstow.planner.model.errors import InputError

        message = "--server needs more than is installed: pip install 'memstow[client]'"
        raise InputError.single("missing_extra", error.name or "memstow", message) from None
    with Client(server, key) as client:
        return solve(client, problem, options, hear, cancel.is_set)


def _exit_code(plan: "Plan") -> int:
    from memstow.planner.model.plan import Status

    if plan.status is Status.INFEASIBLE:
        return Exit.INFEASIBLE
    return Exit.UNKNOWN if plan.status is Status.UNKNOWN else Exit.DONE
