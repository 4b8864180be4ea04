"""`memstow view`: a plan as a page in the browser, or as a file that holds it."""

import argparse
from typing import TYPE_CHECKING

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command
from memstow.api.cli.io.output import refuse_unwritable
from memstow.api.cli.io.page_file import page_of, show_page
from memstow.api.cli.io.problem_input import (
    OF_GRAPHS,
    READABLE,
    add_changes,
    add_graph_changes,
    problem_of,
    read_bytes_of,
    read_document,
    read_plan,
    refuse_two_stdins,
    warn_if_terminal,
)

if TYPE_CHECKING:
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "view",
        "look at a plan in the browser",
        details="""
Makes one file that holds the page and the plan: it works offline, loads nothing and sends nothing. Without
--output the file is temporary and the browser shows it. A plan in CSV says what its buffers are; other plans
need their problem. A plan that was made with --target, --capacity or --fit-only is for the problem changed
that way: pass the same options here.""",
        examples="""
memstow view plan.json --problem model.json
memstow view plan.json --problem model.tflite --output plan.html
memstow view offsets.csv --output plan.html
memstow solve model.json --open
""",
    )
    parser.add_argument("plan", metavar="PLAN", help="the plan; - reads it from standard input")
    parser.add_argument("--problem", metavar="PROBLEM", help="the problem or the graph that the plan is for")
    parser.add_argument(
        "--format",
        choices=(*READABLE, *OF_GRAPHS),
        help="format of the problem (default: detected from its content)",
    )
    parser.add_argument(
        "--plan-format", choices=READABLE, help="format of the plan (default: detected from its content)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the page to this file")
    add_changes(parser)
    add_graph_changes(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the plan and its problem, and show the page."""
    refuse_two_stdins(args.plan, args.problem, args.target)
    refuse_unwritable(args.output)
    for path in (args.plan, args.problem):
        warn_if_terminal(path)
    problem, plan = _read_alone(args) if args.problem is None else _read_both(args)
    show_page(page_of(problem, plan, args.problem or args.plan), args.output)
    return Exit.DONE


def _read_both(args: argparse.Namespace) -> "tuple[Problem, Plan]":
    document = read_document(args.problem, args)
    plan = read_plan(args.plan, problem_of(document), args.plan_format)
    return problem_of(document, plan), plan


def _read_alone(args: argparse.Namespace) -> "tuple[Problem, Plan]":
    """A plan in CSV, of which each line has a buffer and its offset."""
    from memstow.planner import formats
    from memstow.planner.model.errors import InputError
    from memstow.planner.targets.overrides import with_overrides

    data = read_bytes_of(args.plan)
    if formats.looks_like_json(data) or args.target is not None:
        message = "a plan names buffers, but not their sizes and lifetimes; give its problem"
        raise InputError.single("no_problem", "--problem", message)
    problem = formats.read_problem(data, args.format)
    changed = with_overrides(problem, None, args.capacity, args.fit_only)
    return changed, formats.read_plan(data, changed, args.plan_format)
