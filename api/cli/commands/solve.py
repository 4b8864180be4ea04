"""`memstow solve`: find a plan for a problem, or take the one that a lock holds."""

import argparse
import os
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from memstow.api import options
from memstow.api.cli.output_files import STDOUT, write_out
from memstow.api.cli.pages import SearchRecord, page_of, show_page
from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.plan_output import (
    add_results,
    check_names,
    check_results,
    wants_columns_only,
    wants_json,
    wants_model,
    write_plain_results,
    write_results,
)
from memstow.api.cli.problem_input import (
    add_changes,
    add_graph_changes,
    add_problem,
    columns_in,
    document_in,
    naming_file,
    read_bytes_of,
    refuse_two_stdins,
    symbolic_in,
    warn_if_terminal,
)
from memstow.api.cli.search_arguments import (
    add_limits,
    add_search,
    add_server,
    client_of,
    job_name,
    less_reading,
    options_of,
    options_without_hint,
    refuse_unused_key,
)
from memstow.api.cli.symbolic_solve import check_symbolic, refuse_shapes, shapes, solve_symbolic
from memstow.api.cli.terminal import Exit, is_terminal, print_error
from memstow.api.cli.tflite_output import (
    read_model,
    show_arena,
    with_arenas,
    with_model,
    written_model,
)
from memstow.api.documents import problem_of
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from memstow.planner.formats.lock import Lock
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Event, Listener, Options
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.plain._columns import Columns


def refuse_odd_locks(args: argparse.Namespace) -> None:
    """Reject options that contradict a lock."""
    from memstow.planner.model.errors import InputError

    if args.locked and args.lock is None:
        message = "it needs the file that holds the plan: add --lock FILE"
        raise InputError.single("no_lock", "--locked", message)
    if args.lock == STDOUT:
        message = "a lock is read and written: it cannot be standard input or output; name a file"
        raise InputError.single("no_lock", "--lock", message)
    if args.lock is not None and args.hint is not None:
        message = "with --lock, the plan in the lock is the hint; leave out --hint"
        raise InputError.single("two_hints", "--hint", message)


class LockFile:
    """The lock of a problem and options: the plan in it, if that holds, or why it does not."""

    def __init__(self, path: str, problem: "Problem | Graph", options: "Options") -> None:
        self._path = path
        self._problem = problem
        self._lock = _read_lock_file(path)
        self.options = replace(
            options, deterministic=True, hint=None if self._lock is None else self._lock.plan
        )
        """For planning again."""
        self.stale = _why_stale(self._lock, problem, options)
        """Why the plan does not hold; None if it does."""

    @property
    def plan(self) -> "Plan | None":
        """The plan in the lock, if it holds."""
        return None if self.stale is not None or self._lock is None else self._lock.plan

    def write(self, plan: "Plan") -> None:
        """Keep a plan that was made with the options."""
        from memstow.planner.formats.lock import write_lock

        write_out(write_lock(self._problem, self.options, plan), self._path)

    def refuse(self, words: list[str]) -> None:
        """Raise the error of --locked, with the command that makes the lock hold."""
        import shlex

        from memstow.planner.model.errors import InputError

        command = shlex.join(["memstow", *(word for word in words if word != "--locked")])
        raise InputError.single("stale_lock", plain(self._path), f"{self.stale}; run: {command}")


def _read_lock_file(path: str) -> "Lock | None":
    from memstow.planner.formats.lock import read_lock

    if not os.path.exists(path):
        return None
    data = read_bytes_of(path)
    with naming_file(path):
        return read_lock(data)


def _why_stale(lock: "Lock | None", problem: "Problem | Graph", options: "Options") -> str | None:
    from memstow.planner.formats.lock import choices_of, identity
    from memstow.planner.model import PLANNED
    from memstow.planner.verify import verify

    if lock is None:
        return "there is no such lock"
    if lock.problem != identity(problem):
        return "the lock is for another problem, or the problem has changed"
    if lock.choices != choices_of(options):
        return "the lock was made with other options"
    if lock.plan.status not in PLANNED:
        return "the lock holds no plan"
    found = verify(problem, lock.plan)
    return f"the plan in the lock is not valid: {plain(found[0].message)}" if found else None


_Found = TypeVar("_Found")


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "solve",
        "find a plan: a pool and an offset for every buffer",
        details="""
Prints a table and a picture of the plan. Ctrl-C prints the best plan found so far; a second one
exits immediately.

Exit code 0: a plan was found; 3: proven infeasible; 4: no plan and no proof; 130: interrupted.""",
        examples="""
memstow solve model.json
memstow solve model.csv --capacity 64KiB --output plan.json
memstow solve model.json --target stm32h743
memstow solve model.json --time-limit 60 --gap 0.01
memstow solve model.json --picture plan.svg
memstow solve model.json --open
memstow solve model.json --output model.h --output model.c --prefix model --lock model.lock
memstow solve model.tflite --output planned.tflite
memstow solve model.tflite --order free --scratch measure --output planned.tflite
memstow solve model.json --json | memstow verify model.json -
memstow solve - --format csv --output-format csv < model.csv
memstow solve attention.json --shapes pieces:2 --output plan.json --output offsets.h
memstow solve model.json --server http://localhost:8080
""",
    )
    add_problem(parser)
    add_changes(parser)
    add_graph_changes(parser)
    add_option(parser.add_argument_group("problems with symbols"), options.SHAPES, type=shapes)
    add_search(parser)
    add_limits(parser)
    add_options(parser.add_argument_group("lock"), options.LOCK, options.LOCKED)
    add_server(parser)
    models = parser.add_argument_group("TensorFlow Lite Micro (.tflite)")
    add_options(models, options.SCRATCH, options.ORDER_ONLY, options.REPLAN)
    add_results(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the problem, solve it, and write the plan."""
    refuse_two_stdins(args.file, args.hint, args.target)
    refuse_odd_locks(args)
    refuse_unused_key(args)
    check_results(args)
    warn_if_terminal(args.file)
    given = read_bytes_of(args.file)
    began, size = time.monotonic(), len(given)
    columns = columns_in(args, given) if wants_columns_only(args) else None
    if columns is not None:
        del given
        return _run_in_columns(args, columns)
    symbolic = None if args.at else symbolic_in(given, args.file)
    if symbolic is not None:
        check_symbolic(args)
        return solve_symbolic(args, symbolic)
    refuse_shapes(args)
    document = document_in(given, args.file, args)
    listed = problem_of(document)
    check_names(args, document)
    model = read_model(args, document, given)
    if model is not None:
        document = with_model(document, model)
        listed = problem_of(document)
    options = options_of(args, listed)
    search = SearchRecord()
    if args.lock is None:
        plan, interrupted = _plan(args, document, less_reading(args, options, size, began), search)
    else:
        plan, interrupted = _locked_plan(args, document, options, search)
    written = written_model(model, document, plan) if model is not None and wants_model(args) else None
    if model is not None and wants_json(args):
        plan = with_arenas(model, written, document, plan)
    data = None if written is None else written.data
    shows = write_results(args, document, plan, data)
    if args.open:
        show_page(page_of(document, plan, args.file, search.steps()), None)
    if model is not None and shows:
        # Measured after the outputs are written, which may take long, unless one of them has it.
        plan = plan if plan.arena is not None else with_arenas(model, written, document, plan)
        show_arena(plan, written is not None)
    if shows:
        _tell_of_fronts(document, plan)
    return _told(plan, interrupted)


def _tell_of_fronts(document: "Problem | Graph", plan: "Plan") -> None:
    """Where a graph does not fit as it is, it may in another way."""
    from memstow.planner.model import Status
    from memstow.planner.model.problem import Problem

    if plan.status is Status.INFEASIBLE and not isinstance(document, Problem) and len(document.pools) == 1:
        print("`memstow front` looks for ways to run it that need less memory")


def _run_in_columns(args: argparse.Namespace, columns: "Columns") -> int:
    """The same for a plain problem of which nothing is asked that needs objects."""
    from memstow.planner.plain.column_documents import PlainPlan
    from memstow.planner.solve import column_engine as by_columns

    options = options_without_hint(args)

    def work(hear: "Listener", cancel: threading.Event) -> "PlainPlan | Plan":
        return by_columns.plan_columns(columns, options, hear, cancel)

    found, interrupted = _searched(work, "fits" if columns.fit_only else "peak", SearchRecord())
    if isinstance(found, PlainPlan):
        write_plain_results(args, columns, found)
        plan = found.frame
    else:
        from memstow.planner.plain.column_documents import problem_of as objects_of

        plan = found
        write_results(args, objects_of(columns), plan)
    return _told(plan, interrupted)


def _told(plan: "Plan", interrupted: bool) -> int:
    """The exit code, after a word on Ctrl-C."""
    if not interrupted:
        return _exit_code(plan)
    print_error(
        "interrupted: this is the best plan found so far"
        if plan.status in ("optimal", "feasible")
        else "interrupted before a plan was found"
    )
    return Exit.INTERRUPTED


def _locked_plan(
    args: argparse.Namespace, document: "Problem | Graph", options: "Options", search: SearchRecord
) -> "tuple[Plan, bool]":
    """The plan in the lock if it holds, else a new one, which is written to the lock."""
    from memstow.planner.model import PLANNED

    lock = LockFile(args.lock, document, options)
    if lock.plan is not None:
        return lock.plan, False
    if args.locked:
        lock.refuse(args.words)
    plan, interrupted = _plan(args, document, lock.options, search)
    # What is found until Ctrl-C depends on when that was.
    if plan.status in PLANNED and not interrupted:
        lock.write(plan)
    return plan, interrupted


def _plan(
    args: argparse.Namespace, document: "Problem | Graph", options: "Options", search: SearchRecord
) -> "tuple[Plan, bool]":
    from memstow.planner.solve import engine

    server = args.server or os.environ.get("MEMSTOW_SERVER")

    def work(hear: "Listener", cancel: threading.Event) -> "Plan":
        if server:
            return _remote(args, server, document, options, hear, cancel)
        return engine.plan(document, options, on_event=hear, cancel=cancel)

    return _searched(work, next(iter(problem_of(document).terms()), "fits"), search)


def _searched(
    work: "Callable[[Listener, threading.Event], _Found]", term: str, search: SearchRecord
) -> "tuple[_Found, bool]":
    """What the work finds, and whether Ctrl-C ended it; on a terminal it is told how `term` falls."""
    from memstow.api.cli.terminal import Interruptible, Progress
    from memstow.planner.model.options import Phase

    progress = Progress(sys.stderr, term) if is_terminal(sys.stderr) else None
    given_up: list[str] = []

    def hear(event: "Event") -> None:
        search.hear(event)
        if isinstance(event, Phase) and event.gives_up:
            given_up.append(event.name)
        elif progress is not None:
            progress.hear(event)

    call = Interruptible(lambda cancel: work(hear, cancel))
    found = call.run(progress)
    for line in given_up:
        print_error(plain(line, most=300))
    return found, call.interrupted


def _remote(
    args: argparse.Namespace,
    server: str,
    document: "Problem | Graph",
    options: "Options",
    hear: "Listener",
    cancel: threading.Event,
) -> "Plan":
    client = client_of(server, args.key or os.environ.get("MEMSTOW_KEY"))
    from memstow.api.client.runs import solve

    with client:
        return solve(client, document, options, hear, cancel.is_set, job_name(document, args.file))


def _exit_code(plan: "Plan") -> int:
    from memstow.planner.model import Status

    if plan.status is Status.INFEASIBLE:
        return Exit.INFEASIBLE
    return Exit.UNKNOWN if plan.status is Status.UNKNOWN else Exit.DONE
