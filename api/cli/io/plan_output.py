"""Writing a plan to a file, as a picture, and to standard output."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from memstow.api.cli.io.output_file import (
    STDOUT,
    WRITABLE,
    format_of,
    refuse_other_pictures,
    refuse_unwritable,
    write_out,
)
from memstow.api.cli.io.terminal import columns, draws_unicode, print_error
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem

_PICTURE = "svg"


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the outputs."""
    results = parser.add_argument_group("results")
    results.add_argument("-o", "--output", metavar="FILE", help="write the plan to this file")
    results.add_argument(
        "--output-format",
        choices=WRITABLE,
        help="format of the plan (default: as the file's name ends, .json or .csv); "
        "without --output, prints only the plan in this format",
    )
    results.add_argument("--picture", metavar="FILE", help="draw the plan to this .svg file")
    results.add_argument("--json", action="store_true", help="print only the plan, as JSON")


def check_results(args: argparse.Namespace) -> None:
    """Report outputs that are impossible before the search, not after it."""
    from memstow.planner.model.errors import InputError

    if len(_printed_forms(args)) > 1:
        listed = " and ".join(sorted(_printed_forms(args)))
        message = f"standard output can hold only one of {listed}; write the other to a file"
        raise InputError.single("two_outputs", "arguments", message)
    refuse_unwritable(args.output, args.picture)
    for one, other, what in (
        (args.output, args.picture, "the plan and its picture"),
        (args.output, args.file, "the plan and the problem"),
        (args.picture, args.file, "the picture and the problem"),
    ):
        if one != STDOUT and _same_file(one, other):
            message = f"{what} cannot be the same file; choose another name for the output"
            raise InputError.single("one_file_twice", plain(one), message)
    format_of(args.output, args.output_format)
    refuse_other_pictures(args.picture)


def write_results(args: argparse.Namespace, problem: "Problem", plan: "Plan") -> None:
    """Write the plan to all outputs that were selected."""
    from memstow.planner.model.plan import PLANNED

    has_plan = plan.status in PLANNED
    if args.output is not None and args.output != STDOUT:
        _write(args.output, format_of(args.output, args.output_format), problem, plan, has_plan)
    alone = _printed_forms(args)
    if not alone:
        _show(problem, plan)
    for form in alone - {_PICTURE}:
        _write(STDOUT, form, problem, plan, has_plan)
    if args.picture is not None:
        _draw(args.picture, problem, plan, has_plan)


def _printed_forms(args: argparse.Namespace) -> set[str]:
    """The formats to print to standard output instead of the table."""
    forms = {"json"} if args.json else set()
    if args.output == STDOUT or (args.output is None and args.output_format is not None):
        forms.add(format_of(None, args.output_format))
    if args.picture == STDOUT:
        forms.add(_PICTURE)
    return forms


def _same_file(one: str | None, other: str | None) -> bool:
    """Whether both paths are the same plain file."""
    if one is None or other is None or (os.path.exists(one) and not os.path.isfile(one)):
        return False
    return os.path.realpath(one) == os.path.realpath(other)


def _write(path: str, form: str, problem: "Problem", plan: "Plan", has_plan: bool) -> None:
    from memstow.planner import formats

    if has_plan or form == "json":
        write_out(formats.write_plan(problem, plan, form), path)
    else:
        what = "nothing is printed" if path == STDOUT else f"{plain(path)} is not written"
        print_error(f"{what}: there is no plan ({plan.status}), and {form} cannot represent that")


def _draw(path: str, problem: "Problem", plan: "Plan", has_plan: bool) -> None:
    if not has_plan:
        what = "no picture" if path == STDOUT else f"{plain(path)} is not drawn"
        print_error(f"{what}: there is no plan ({plan.status})")
        return
    from memstow.planner.show.svg_picture import svg

    write_out(svg(problem, plan).encode(), path)


def _show(problem: "Problem", plan: "Plan") -> None:
    from memstow.planner.show.report import plan_report
    from memstow.planner.show.text_picture import ASCII, UNICODE

    glyphs = UNICODE if draws_unicode(sys.stdout) else ASCII
    print(plan_report(problem, plan, columns(sys.stdout), glyphs))
