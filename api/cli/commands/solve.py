"""`memstow solve`: find a plan for a problem, or take the one that a lock holds."""

import argparse
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, TypeVar

from memstow.api import options
from memstow.api.cli.output_files import STDOUT, suffix_of, to_stdout, write_out
from memstow.api.cli.pages import page_of, show_page
from memstow.api.cli.parser import Commands, add_command, add_option, add_options, first_named
from memstow.api.cli.plan_output import (
    check_names,
    check_results,
    wants_columns_only,
    wants_json,
    wants_model,
    write_plain_results,
    write_results,
    writes_anything,
)
from memstow.api.cli.problem_input import (
    add_graph_changes,
    add_problem,
    changed_document,
    columns_in,
    in_operator_order,
    naming_file,
    programs_in,
    read_bytes_of,
    reading_of,
    recording_in,
    refuse_two_stdins,
    symbolic_columns_in,
    symbolic_in,
    warn_if_terminal,
)
from memstow.api.cli.proof_output import (
    ProvenPlan,
    provable_in,
    refuse_odd_proof,
    write_proofs,
    write_received,
)
from memstow.api.cli.search_arguments import (
    client_of,
    job_name,
    less_reading,
    options_of,
    options_without_hint,
    refuse_unused_key,
    server_of,
)
from memstow.api.cli.terminal import Exit, Interruptible, is_terminal, print_error
from memstow.api.cli.tflite_output import (
    Model,
    read_model,
    show_arena,
    with_arenas,
    with_model,
    written_model,
)
from memstow.planner.graph.documents import problem_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import plain
from memstow.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from memstow.planner.formats.lock import Lock
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Event, Listener, Options
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.programs import Programs
    from memstow.planner.model.symbolic import Shapes, SymbolicDocument, SymbolicPlan
    from memstow.planner.plain._columns import Columns
    from memstow.planner.plain.symbolic_documents import SymbolicColumns
    from memstow.planner.recorded.recording import Recording
    from memstow.solvers.known import Known

_OF_NUMBERS: Final = (options.DIM, options.IN_PLACE, options.NO_IN_PLACE)
_PROOFS: Final = (options.PROOF, options.OPB, options.PBP)
# Options that are written into a problem with symbols instead.
_IN_PROBLEM: Final = (options.TARGET, options.CAPACITY, *_OF_NUMBERS)
# Options of `solve` that are not for problems with symbols.
_NOT_FOR_SYMBOLS: Final = (
    *options.CHANGES,
    *_OF_NUMBERS,
    options.DEVICE,
    options.HINT,
    options.GAP,
    options.SOLVER,
    options.LOCK,
    options.PICTURE,
    *_PROOFS,
    options.SECTION,
    options.SCRATCH,
    options.ORDER_ONLY,
    options.REPLAN,
)


def refuse_odd_locks(args: argparse.Namespace) -> None:
    """Reject options that contradict a lock."""
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
    from memstow.planner.verify import verify

    if lock is None:
        return "there is no such lock"
    if lock.problem != identity(problem):
        return "the lock is for another problem, or the problem has changed"
    if lock.choices != choices_of(options):
        return "the lock was made with other options"
    if lock.plan.status not in PLANNED:
        return "the lock holds no plan"
    violations = verify(problem, lock.plan)
    return f"the plan in the lock is not valid: {plain(violations[0].message)}" if violations else None


_Answer = TypeVar("_Answer")


def _shapes(text: str) -> "tuple[Shapes, int | None]":
    """The type of what a plan of a problem with symbols consists of."""
    kind, colon, number = text.partition(":")
    if kind == "fixed" and not colon:
        return "fixed", None
    if kind == "order" and not colon:
        return "order", None
    if kind == "pieces" and not colon:
        return "pieces", None
    is_number = number.isascii() and number.isdecimal() and len(number) < 4
    if kind == "pieces" and is_number and 1 <= int(number) <= options.MOST_ORDERS:
        return "pieces", int(number)
    message = f"{text!r} is no kind of plan: use order, fixed, or pieces:2 up to pieces:{options.MOST_ORDERS}"
    raise argparse.ArgumentTypeError(message)


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
memstow solve block.json --order free --output plan.json
memstow solve model.json --server http://localhost:8080
""",
    )
    add_problem(parser)
    add_options(parser, *options.CHANGES)
    add_graph_changes(parser)
    add_option(parser.add_argument_group("problems with symbols"), options.SHAPES, type=_shapes)
    add_options(parser.add_argument_group("search"), *options.SEARCH)
    add_options(parser.add_argument_group("limits"), *options.LIMITS)
    add_options(parser.add_argument_group("lock"), options.LOCK, options.LOCKED)
    add_options(parser.add_argument_group("service"), options.SERVER, options.KEY)
    models = parser.add_argument_group("TensorFlow Lite Micro (.tflite)")
    add_options(models, options.SCRATCH, options.ORDER_ONLY, options.REPLAN)
    results = parser.add_argument_group("results")
    add_options(results, options.OUTPUT, options.OUTPUT_FORMAT, options.PICTURE, options.OPEN)
    add_options(results, options.JSON, options.QUIET)
    code = parser.add_argument_group("source code (.h, .c, .check.c, .ld, .rs)")
    add_options(code, options.PREFIX, options.SECTION)
    add_options(parser.add_argument_group("proof"), *_PROOFS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the arguments, read the problem, solve it in the way that it needs, and write the plan."""
    refuse_two_stdins(args.file, args.hint, args.target)
    refuse_odd_locks(args)
    refuse_unused_key(args)
    check_results(args)
    proves = first_named(args, _PROOFS) is not None
    if proves:
        refuse_odd_proof(args)
    warn_if_terminal(args.file)
    data = read_bytes_of(args.file)
    began = time.monotonic()
    size = len(data)
    if wants_columns_only(args):
        columns = columns_in(args, data, related=True)
        symbolic_columns = symbolic_columns_in(args, data) if columns is None else None
        if columns is not None:
            del data
            return _solve_columns(args, columns, size, began)
        if symbolic_columns is not None:
            del data
            return _solve_symbolic_columns(args, symbolic_columns, size, began)
    symbolic = None if args.at or args.then else symbolic_in(data, args.file)
    if symbolic is not None:
        del data
        return _solve_symbolic(args, symbolic, size, began)
    if args.shapes is not None:
        message = "it is for problems with symbols, and this has none; leave it out"
        raise InputError.single("not_symbolic", "--shapes", message)
    recording = recording_in(data, args.file, args)
    programs = programs_in(data, args.file, args) if recording is None else None
    read = reading_of(data, args.file, args, recording or programs)
    document = changed_document(read.document, data, args.file, args)
    check_names(args, document)
    model = read_model(args, document, data)
    if proves:
        provable_in(args, document, data, read)
        return _solve_and_prove(args, document, data, began)
    del data  # A large document is worth as much memory as the search.
    return _solve_document(args, with_model(document, model), model, recording or programs, size, began)


def _solve_and_prove(args: argparse.Namespace, problem: "Problem | Graph", data: bytes, began: float) -> int:
    """Solve what was read from these bytes from the time `began` on, and write a proof as well."""
    from memstow.planner.proofs.prove import limits_before_proof

    options, events = options_of(args, problem), list["Event"]()
    received, shown = list[bytes | None](), list["Known"]()
    # A lock holds for the options as they are, and a service does this itself.
    searching = options if args.lock or server_of(args) else limits_before_proof(problem, options)
    plan, interrupted = _planned(
        args, problem, searching, events, len(data), began, received.append, shown.append
    )
    proven, failure = ProvenPlan(plan), None
    if not interrupted:
        # What a lock names has to be the same each time.
        limits = options if args.lock is None else replace(options, deterministic=True)
        left = max(options.time_limit - (time.monotonic() - began), 0.0)
        cited = plan.proof_sha256 if args.locked else None
        try:
            if received:
                seconds = None if options.deterministic else left
                proven = write_received(args, plan, data, received[-1], seconds)
            else:
                known = shown[-1] if shown else None
                proven = write_proofs(args, problem, plan, data, limits, left, cited, known)
        except OSError as error:
            failure = error  # The plan is not lost for it.
        plan = proven.plan
        lock = None if args.lock is None or proven.interrupted else LockFile(args.lock, problem, options)
        if lock is not None and cited not in (None, plan.proof_sha256):
            lock.stale = "the lock names another proof than this version writes"
            lock.refuse(args.words)
        if lock is not None and not args.locked and plan.status in PLANNED:
            lock.write(plan)
    shows = write_results(args, problem, plan, None)
    if args.open:
        show_page(page_of(problem, plan, args.file, events), None)
    if failure is not None:
        raise failure
    if shows:
        print(*proven.shown, sep="\n", end="\n" if proven.shown else "")
        _tell_of_fronts(problem, plan)
    if proven.interrupted:
        print_error("interrupted while a proof was written: the plan is whole")
        return Exit.INTERRUPTED
    return _exit_code(plan.status, interrupted)


def _planned(
    args: argparse.Namespace,
    document: "Problem | Graph",
    options: "Options",
    events: "list[Event]",
    size: int,
    began: float,
    on_proof: "Callable[[bytes | None], None] | None" = None,
    on_known: "Callable[[Known], None] | None" = None,
) -> "tuple[Plan, bool]":
    """The plan that the lock holds, or that a search finds, and whether Ctrl-C ended that.

    `on_proof` gets the proof of a service or a plug-in that searched; `on_known`, what a search here has
    proven, for a proof of that.
    """
    if args.lock is None:
        return _plan(args, document, less_reading(args, options, size, began), events, on_proof, on_known)
    return _locked_plan(args, document, options, events, on_proof, on_known)


def _solve_document(
    args: argparse.Namespace,
    document: "Problem | Graph",
    model: "Model | None",
    source: "Recording | Programs | None",
    size: int,
    began: float,
) -> int:
    """Solve a problem or a graph; its document of this size was read from the time `began` on."""
    options = options_of(args, document)
    events = list["Event"]()
    plan, interrupted = _planned(args, document, options, events, size, began)
    written = written_model(model, document, plan) if model is not None and wants_model(args) else None
    if model is not None and wants_json(args):
        plan = with_arenas(model, written, document, plan)
    shows = write_results(args, document, plan, None if written is None else written.data)
    if args.open:
        show_page(page_of(document, plan, args.file, events), None)
    if model is not None and shows:
        # Measured after the outputs are written, which may take long, unless one of them has it.
        plan = plan if plan.arena is not None else with_arenas(model, written, document, plan)
        show_arena(args, model, plan, written is not None)
    if shows and source is not None and plan.status in PLANNED:
        print(_of_source(source, document, plan))
    if shows:
        _tell_of_fronts(document, plan)
    return _exit_code(plan.status, interrupted)


def _of_source(source: "Recording | Programs", document: "Problem | Graph", plan: "Plan") -> str:
    """What the plan means to the recording or the programs that it is for."""
    from memstow.planner.model.programs import Programs

    if isinstance(source, Programs):
        from memstow.planner.show.report import use_by_program

        return use_by_program(source, problem_of(document), plan)
    from memstow.planner.show.recording_report import saving

    return saving(source.usage, plan)


def _tell_of_fronts(document: "Problem | Graph", plan: "Plan") -> None:
    """Where a graph does not fit as it is, it may in another way."""
    from memstow.planner.model.problem import Problem

    if plan.status is Status.INFEASIBLE and not isinstance(document, Problem) and len(document.pools) == 1:
        print("`memstow front` looks for ways to run it that need less memory")


def _solve_columns(args: argparse.Namespace, columns: "Columns", size: int, began: float) -> int:
    """The same for a plain problem of which nothing is asked that needs objects."""
    from memstow.planner.plain.column_documents import PlainPlan, terms_of
    from memstow.planner.solve import column_plans

    options = less_reading(args, options_without_hint(args), size, began)

    def work(hear: "Listener", cancel: threading.Event) -> "PlainPlan | Plan":
        return column_plans.plan_columns(columns, options, hear, cancel)

    solved, interrupted = _searched(work, next(iter(terms_of(columns)), "fits"))
    if isinstance(solved, PlainPlan):
        write_plain_results(args, columns, solved)
        plan = solved.frame
    else:
        from memstow.planner.plain.column_documents import problem_of as objects_of

        plan = solved
        if writes_anything(args):
            write_results(args, objects_of(columns), plan)
    return _exit_code(plan.status, interrupted)


def _solve_symbolic(args: argparse.Namespace, read: "SymbolicDocument", size: int, began: float) -> int:
    """The same for a problem or a graph whose sizes are formulas."""
    _check_symbolic(args)
    document = in_operator_order(read, args.file, args)
    chosen: tuple[Shapes, int | None] | None = args.shapes
    kind, pieces = chosen or ("order", None)
    options, server = options_without_hint(args), server_of(args)

    def work(cancel: threading.Event) -> "SymbolicPlan":
        if server:
            with client_of(server, args.key) as client:
                from memstow.api.client.runs import solve_symbolic

                name = job_name(document, args.file)
                return solve_symbolic(client, document, options, kind, pieces, cancel.is_set, name)
        from memstow.planner.shapes.plan_symbolic import plan_symbolic

        # This import has taken a part of the time as well.
        left = less_reading(args, options, size, began)
        return plan_symbolic(document, left, shapes=kind, pieces=pieces, cancel=cancel)

    call = Interruptible(work)
    plan = call.run(None)
    _write_symbolic_plan(args, plan, lambda: document)
    if args.open:
        from memstow.api.cli.pages import symbolic_page

        show_page(symbolic_page(document, plan, args.file, {}), None)
    return _exit_code(plan.status, call.interrupted)


def _solve_symbolic_columns(
    args: argparse.Namespace, symbolic: "SymbolicColumns", size: int, began: float
) -> int:
    """The same with fixed offsets, for a large problem that was read into columns."""
    _check_symbolic(args)
    # These imports take a part of the time.
    from memstow.planner.plain.symbolic_documents import (
        Offsets,
        offsets_as_json,
        symbolic_plan_of,
        symbolic_problem_of,
    )
    from memstow.planner.shapes.column_run import plan_offsets

    options = less_reading(args, options_without_hint(args), size, began)

    call = Interruptible(lambda cancel: plan_offsets(symbolic, options, cancel))
    plan = call.run(None)
    if isinstance(plan, Offsets):
        _write_symbolic(
            args,
            plan.frame.status,
            lambda: offsets_as_json(symbolic, plan),
            lambda: (symbolic_problem_of(symbolic), symbolic_plan_of(symbolic, plan)),
        )
        return _exit_code(plan.frame.status, call.interrupted)
    _write_symbolic_plan(args, plan, lambda: symbolic_problem_of(symbolic))
    return _exit_code(plan.status, call.interrupted)


def _check_symbolic(args: argparse.Namespace) -> None:
    """Report what is impossible for a problem with symbols, before the search."""
    option = first_named(args, _NOT_FOR_SYMBOLS)
    if option is not None:
        instead = ", or write it into the problem" if option in _IN_PROBLEM else ""
        message = f"it is not for problems with symbols; leave it out{instead}"
        raise InputError.single("not_for_symbols", option.spelling, message)
    if args.format not in (None, "json"):
        message = f"this is a problem with symbols in JSON, not {args.format}; leave it out"
        raise InputError.single("not_for_symbols", "--format", message)
    for path in args.output or ():
        if path != STDOUT and suffix_of(path) not in (".json", ".h"):
            message = "a plan of a problem with symbols is written as .json, or as C with .h; see also "
            raise InputError.single("unknown_suffix", path, message + "`memstow evaluate`")
    if args.output_format not in (None, "json"):
        raise InputError.single(
            "unknown_format", "--output-format", "use json, or --output with a name that ends with .h"
        )


def _write_symbolic_plan(
    args: argparse.Namespace, plan: "SymbolicPlan", document: "Callable[[], SymbolicDocument]"
) -> None:
    from memstow.planner.formats.native import write_symbolic_plan

    _write_symbolic(args, plan.status, lambda: write_symbolic_plan(plan), lambda: (document(), plan))


def _write_symbolic(
    args: argparse.Namespace,
    status: "Status",
    in_json: "Callable[[], bytes]",
    objects: "Callable[[], tuple[SymbolicDocument, SymbolicPlan]]",
) -> None:
    """Write a plan of this status; what is not JSON needs the document and the plan as objects."""
    outputs: list[tuple[bytes, str]] = []
    for path in args.output or ():
        if suffix_of(path) != ".h":
            outputs.append((in_json(), path))
        elif status in PLANNED:
            from memstow.planner.exports.naming import DEFAULT_PREFIX
            from memstow.planner.shapes.symbolic_c import write_symbolic_c

            outputs.append((write_symbolic_c(*objects(), args.prefix or DEFAULT_PREFIX), path))
        else:
            print_error(f"{path} is not written: there is no plan")
    for content, path in outputs:
        write_out(content, path)
    if args.json or (args.output_format == "json" and not args.output):
        to_stdout(in_json())
    elif not args.quiet and STDOUT not in (args.output or ()):
        from memstow.planner.show.symbolic_report import symbolic_report

        text = symbolic_report(*objects())
        to_stdout(f"{text}\n".encode(sys.stdout.encoding or "utf-8", "backslashreplace"))


def _exit_code(status: "Status", interrupted: bool) -> int:
    """The exit code, after a word on Ctrl-C."""
    if interrupted:
        print_error(
            "interrupted: this is the best plan found so far"
            if status in PLANNED
            else "interrupted before a plan was found"
        )
        return Exit.INTERRUPTED
    return {Status.INFEASIBLE: Exit.INFEASIBLE, Status.UNKNOWN: Exit.UNKNOWN}.get(status, Exit.DONE)


def _locked_plan(
    args: argparse.Namespace,
    document: "Problem | Graph",
    options: "Options",
    events: "list[Event]",
    on_proof: "Callable[[bytes | None], None] | None",
    on_known: "Callable[[Known], None] | None",
) -> "tuple[Plan, bool]":
    """The plan in the lock if it holds, else a new one, which is written to the lock."""
    lock = LockFile(args.lock, document, options)
    if lock.plan is not None:
        return lock.plan, False
    if args.locked:
        lock.refuse(args.words)
    # A proof is the same with and without the plan of an older lock to begin from.
    hears = None if lock.options.hint is not None else on_known
    plan, interrupted = _plan(args, document, lock.options, events, on_proof, hears)
    # What is found until Ctrl-C depends on when that was.
    if plan.status in PLANNED and not interrupted:
        lock.write(plan)
    return plan, interrupted


def _plan(
    args: argparse.Namespace,
    document: "Problem | Graph",
    options: "Options",
    events: "list[Event]",
    on_proof: "Callable[[bytes | None], None] | None",
    on_known: "Callable[[Known], None] | None" = None,
) -> "tuple[Plan, bool]":
    from memstow.planner.model.options import Callbacks
    from memstow.planner.solve import engine

    server = server_of(args)

    def work(hear: "Listener", cancel: threading.Event) -> "Plan":
        if server:
            return _remote(args, server, document, options, hear, cancel, on_proof)
        return engine.run(document, options, Callbacks(hear, cancel, None, on_proof, on_known))

    return _searched(work, next(iter(document.terms()), "fits"), events)


def _searched(
    work: "Callable[[Listener, threading.Event], _Answer]", term: str, events: "list[Event] | None" = None
) -> "tuple[_Answer, bool]":
    """What the work finds, and whether Ctrl-C ended it; on a terminal it is told how `term` falls.

    What the run tells is added to the events.
    """
    from memstow.api.cli.terminal import Progress
    from memstow.planner.model.options import Phase

    progress = Progress(sys.stderr, term) if is_terminal(sys.stderr) else None
    given_up: list[str] = []

    def hear(event: "Event") -> None:
        if events is not None:
            events.append(event)
        if isinstance(event, Phase) and event.is_note:
            given_up.append(event.name)
        elif progress is not None:
            progress.hear(event)

    call = Interruptible(lambda cancel: work(hear, cancel))
    plan = call.run(progress)
    for line in given_up:
        print_error(plain(line, most=300))
    return plan, call.interrupted


def _remote(
    args: argparse.Namespace,
    server: str,
    document: "Problem | Graph",
    options: "Options",
    hear: "Listener",
    cancel: threading.Event,
    on_proof: "Callable[[bytes | None], None] | None",
) -> "Plan":
    client = client_of(server, args.key)
    from memstow.api.client.runs import solve

    with client:
        name = job_name(document, args.file)
        plan = solve(client, document, options, hear, cancel.is_set, name, on_proof)
    plan = replace(plan, proof_sha256=None)  # What it names is not here, and about bytes of the service.
    if plan.status in PLANNED:
        from memstow.planner.verify import verify

        violations = verify(document, plan)
        if violations:
            message = f"the service sent a plan that is not valid: {plain(violations[0].message)}"
            raise InputError.single("wrong_plan", plain(server, most=200), message)
    return plan
