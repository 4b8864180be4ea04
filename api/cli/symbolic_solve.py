"""`memstow solve` of a problem with symbols: its options, and what is written."""

import argparse
import os
import sys
import threading
from typing import TYPE_CHECKING, Final

from memstow.api import options
from memstow.api.cli.output_files import STDOUT, suffix_of, to_stdout, write_out
from memstow.api.cli.parser import first_named
from memstow.api.cli.search_arguments import client_of, job_name
from memstow.api.cli.terminal import Exit, print_error

if TYPE_CHECKING:
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.options import Options
    from memstow.planner.model.symbolic import Shapes, SymbolicPlan, SymbolicProblem

_DEFAULT_ORDERS: Final = 2
_OF_GRAPHS: Final = (options.ORDER, options.DIM, options.IN_PLACE, options.NO_IN_PLACE)
# Options that are written into a problem with symbols instead.
_IN_PROBLEM: Final = (options.TARGET, options.CAPACITY, *_OF_GRAPHS)
# Options of `solve` that are not for problems with symbols.
_NOT_FOR_SYMBOLS: Final = (
    *options.CHANGES,
    *_OF_GRAPHS,
    options.HINT,
    options.GAP,
    options.SOLVER,
    options.LOCK,
    options.PICTURE,
    options.SECTION,
    options.SCRATCH,
    options.ORDER_ONLY,
    options.REPLAN,
)


def shapes(text: str) -> "tuple[Shapes, int]":
    """The type of what a plan of a problem with symbols consists of."""
    kind, colon, number = text.partition(":")
    if kind == "fixed" and not colon:
        return "fixed", 1
    if kind == "order" and not colon:
        return "order", 1
    if kind == "pieces" and not colon:
        return "pieces", _DEFAULT_ORDERS
    is_number = number.isascii() and number.isdecimal() and len(number) < 4
    if kind == "pieces" and is_number and 1 <= int(number) <= options.MOST_ORDERS:
        return "pieces", int(number)
    message = f"{text!r} is no kind of plan: use order, fixed, or pieces:2 up to pieces:{options.MOST_ORDERS}"
    raise argparse.ArgumentTypeError(message)


def refuse_shapes(args: argparse.Namespace) -> None:
    """Report --shapes for what has no symbols."""
    if args.shapes is not None:
        message = "it is for problems with symbols, and this has none; leave it out"
        raise _error("not_symbolic", "--shapes", message)


def check_symbolic(args: argparse.Namespace) -> None:
    """Report what is impossible for a problem with symbols, before the search."""
    option = first_named(args, _NOT_FOR_SYMBOLS)
    if option is not None:
        instead = ", or write it into the problem" if option in _IN_PROBLEM else ""
        message = f"it is not for problems with symbols; leave it out{instead}"
        raise _error("not_for_symbols", option.spelling, message)
    if args.format not in (None, "json"):
        message = f"this is a problem with symbols in JSON, not {args.format}; leave it out"
        raise _error("not_for_symbols", "--format", message)
    for path in args.output or ():
        if path != STDOUT and suffix_of(path) not in (".json", ".h"):
            message = "a plan of a problem with symbols is written as .json, or as C with .h; see also "
            raise _error("unknown_suffix", path, message + "`memstow evaluate`")
    if args.output_format not in (None, "json"):
        raise _error(
            "unknown_format", "--output-format", "use json, or --output with a name that ends with .h"
        )


def solve_symbolic(args: argparse.Namespace, problem: "SymbolicProblem") -> int:
    """Plan the problem, and write the outputs."""
    from memstow.api.cli.terminal import Interruptible

    chosen: tuple[Shapes, int] | None = args.shapes
    kind, pieces = chosen or ("order", 1)
    options = _options(args)
    server = args.server or os.environ.get("MEMSTOW_SERVER")

    def work(cancel: threading.Event) -> "SymbolicPlan":
        if server:
            from memstow.api.client.runs import solve_symbolic

            with client_of(server, args.key or os.environ.get("MEMSTOW_KEY")) as client:
                name = job_name(problem, args.file)
                return solve_symbolic(client, problem, options, kind, pieces, cancel.is_set, name)
        from memstow.planner.shapes.plan_symbolic import plan_symbolic

        return plan_symbolic(problem, options, shapes=kind, pieces=pieces, cancel=cancel)

    call = Interruptible(work)
    plan = call.run(None)
    _write(args, problem, plan)
    if args.open:
        from memstow.api.cli.pages import show_page, symbolic_page

        show_page(symbolic_page(problem, plan, args.file, {}), None)
    if call.interrupted:
        print_error("interrupted: this is the best plan found so far")
        return Exit.INTERRUPTED
    from memstow.planner.model import Status

    if plan.status is Status.INFEASIBLE:
        return Exit.INFEASIBLE
    return Exit.UNKNOWN if plan.status is Status.UNKNOWN else Exit.DONE


def _options(args: argparse.Namespace) -> "Options":
    from memstow.planner.model.options import Options, require_followed

    options = Options(
        time_limit=args.time_limit,
        deterministic=args.deterministic,
        seed=args.seed,
        work_limit=args.work_limit,
        workers=args.workers,
        memory_limit=args.memory_limit,
    )
    require_followed(options, "--time-limit", "--deterministic", "--work-limit")
    return options


def _write(args: argparse.Namespace, problem: "SymbolicProblem", plan: "SymbolicPlan") -> None:
    from memstow.planner.model import PLANNED
    from memstow.planner.shapes.symbolic_documents import write_symbolic_plan

    made: list[tuple[bytes, str]] = []
    for path in args.output or ():
        if suffix_of(path) != ".h":
            made.append((write_symbolic_plan(plan), path))
        elif plan.status in PLANNED:
            from memstow.planner.exports.naming import DEFAULT_PREFIX
            from memstow.planner.shapes.symbolic_c import write_symbolic_c

            made.append((write_symbolic_c(problem, plan, args.prefix or DEFAULT_PREFIX), path))
        else:
            print_error(f"{path} is not written: there is no plan")
    for content, path in made:
        write_out(content, path)
    if args.json or (args.output_format == "json" and not args.output):
        to_stdout(write_symbolic_plan(plan))
    elif not args.quiet and STDOUT not in (args.output or ()):
        from memstow.planner.show.symbolic_report import symbolic_report

        text = symbolic_report(problem, plan)
        to_stdout(f"{text}\n".encode(sys.stdout.encoding or "utf-8", "backslashreplace"))


def _error(code: str, path: str, message: str) -> "InputError":
    from memstow.planner.model.errors import InputError

    return InputError.single(code, path, message)
