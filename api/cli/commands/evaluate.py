"""`memstow evaluate`: a plan of formulas at values of their symbols."""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from memstow.api import options
from memstow.api.cli.output_files import (
    STDOUT,
    refuse_one_file_twice,
    refuse_unwritable,
    suffix_of,
    to_stdout,
    write_out,
)
from memstow.api.cli.parser import Commands, add_command, add_options
from memstow.api.cli.problem_input import (
    naming_file,
    naming_option,
    naming_values,
    read_bytes_of,
    read_symbolic_plan_of,
    refuse_two_stdins,
    values_of,
    warn_if_terminal,
)
from memstow.api.cli.terminal import Exit, columns, draws_unicode
from memstow.api.options import POINTS_OF_PICTURE, POINTS_OF_TABLE
from memstow.planner.model.errors import InputError
from memstow.planner.reading.json_text import parse_json
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicDocument, SymbolicPlan
    from memstow.planner.shapes.sweep import Sweep
    from memstow.planner.shapes.symbolic_layout import Layout

_C: Final = ".h"
_Writer = Callable[[], bytes]


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "evaluate",
        "lay out a plan of formulas at values of their symbols, or write the C that does",
        details="""
With --at the ordinary plan at these values, judged as such; with --sweep a line for each of many values:
the peak, the least that is known, and their ratio. With neither, a line for each point of the problem. A
file that ends with .h is C that computes the offsets of every value at run time. docs/shapes.md describes it.

Exit code 0: done; 2: the values are wrong, or the plan is not valid at them.""",
        examples="""
memstow evaluate model.json plan.json --at s=128
memstow evaluate model.json plan.json --at s=128 --at b=1 --json > plan_128.json
memstow evaluate model.json plan.json --sweep s --at b=1 --output peaks.svg --output peaks.csv
memstow evaluate model.json plan.json --output net.h --prefix net
""",
    )
    parser.add_argument("problem", metavar="PROBLEM", help="the problem with symbols; - reads standard input")
    parser.add_argument("plan", metavar="PLAN", help="its plan; - reads standard input")
    add_options(parser, options.VALUE, options.SWEEP, options.SWEEP_POINTS)
    output = parser.add_argument_group("output")
    add_options(output, options.TABLE_JSON, options.TABLE_OUTPUT, options.C_PREFIX)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the problem and the plan, and write the outputs."""
    refuse_two_stdins(args.problem, args.plan)
    _check_outputs(args)
    values = values_of(args)
    for path in (args.problem, args.plan):
        warn_if_terminal(path)
    document, plan = _read(args)
    from memstow.planner.shapes.symbolic_layout import Layout

    with naming_file(args.plan):
        layout = Layout(document, plan)
    writers = _at_one(layout, values) if args.at and args.sweep is None else _at_many(args, layout, values)
    outputs = [(writers[suffix_of(path)](), path) for path in args.output or () if suffix_of(path) != _C]
    outputs += [(_c(args, document, plan), path) for path in args.output or () if suffix_of(path) == _C]
    only_c = args.output and all(suffix_of(path) == _C for path in args.output)
    shown = None
    if args.json or args.at or args.sweep is not None or not only_c:
        shown = writers[".json" if args.json else ""]()
    for content, path in outputs:
        write_out(content, path)
    if shown is not None:
        to_stdout(shown)
    return Exit.DONE


def _at_one(layout: "Layout", values: Mapping[str, int]) -> dict[str, _Writer]:
    """The outputs of the ordinary plan at these values, by suffix; without one what is printed."""
    from memstow.planner import formats
    from memstow.planner.shapes.symbolic_layout import plan_of_layout

    with naming_values():
        problem, plan = plan_of_layout(layout, values)

    def text() -> bytes:
        from memstow.planner.show.report import plan_report
        from memstow.planner.show.text_picture import ASCII, UNICODE

        glyphs = UNICODE if draws_unicode(sys.stdout) else ASCII
        return _encoded(plan_report(problem, plan, columns(sys.stdout), glyphs))

    def picture() -> bytes:
        from memstow.planner.show.svg_picture import svg

        return svg(problem, plan).encode()

    return {
        "": text,
        ".json": lambda: formats.write_plan(problem, plan, "json"),
        ".csv": lambda: formats.write_plan(problem, plan, "csv"),
        ".svg": picture,
    }


def _at_many(args: argparse.Namespace, layout: "Layout", values: Mapping[str, int]) -> dict[str, _Writer]:
    """The outputs of a sweep, or of the points of the problem, by suffix."""
    from memstow.planner.shapes.sweep import as_csv, as_data, sweep, sweep_points

    def swept(points: int) -> "Sweep":
        if args.sweep is None:
            return sweep_points(layout)
        with naming_option("sweep", "--sweep"), naming_values():
            return sweep(layout, args.sweep, values, args.points or points)

    def text() -> bytes:
        from memstow.planner.show.symbolic_report import sweep_table

        return _encoded(sweep_table(swept(POINTS_OF_TABLE)))

    def as_json() -> bytes:
        import json

        return (json.dumps(as_data(swept(POINTS_OF_TABLE)), indent=2) + "\n").encode()

    def picture() -> bytes:
        if args.sweep is None:
            message = "a picture is of one plan or of a sweep; give --at for every symbol, or --sweep"
            raise InputError.single("no_picture", "--output", message)
        from memstow.planner.show.symbolic_report import sweep_svg

        return sweep_svg(swept(POINTS_OF_PICTURE)).encode()

    return {
        "": text,
        ".json": as_json,
        ".csv": lambda: as_csv(swept(POINTS_OF_TABLE)),
        ".svg": picture,
    }


def _c(args: argparse.Namespace, document: "SymbolicDocument", plan: "SymbolicPlan") -> bytes:
    from memstow.planner.exports.naming import DEFAULT_PREFIX
    from memstow.planner.shapes.symbolic_c import write_symbolic_c

    return write_symbolic_c(document, plan, args.prefix or DEFAULT_PREFIX)


def _encoded(text: str) -> bytes:
    return f"{text}\n".encode(sys.stdout.encoding or "utf-8", "backslashreplace")


def _read(args: argparse.Namespace) -> "tuple[SymbolicDocument, SymbolicPlan]":
    from memstow.planner.formats import looks_like_json
    from memstow.planner.formats.native import is_symbolic, parse_symbolic_document
    from memstow.planner.graph.symbolic_graph import problem_of_plan

    data = read_bytes_of(args.problem)
    with naming_file(args.problem):
        # What is no JSON at all, such as CSV or a model, is no problem with symbols either.
        raw = parse_json(data) if looks_like_json(data) else None
        if not is_symbolic(raw):
            message = (
                "this has no `symbols`: its sizes are numbers, and there is one plan, which is made already"
            )
            raise InputError.single("not_symbolic", "$", message)
        document = parse_symbolic_document(raw)
    plan = read_symbolic_plan_of(args.plan)
    with naming_file(args.plan):
        problem_of_plan(document, plan)
    return document, plan


def _check_outputs(args: argparse.Namespace) -> None:
    """Report outputs that are impossible before any work."""
    suffixes = [suffix_of(path) for path in args.output or ()]
    for path, suffix in zip(args.output or (), suffixes, strict=True):
        if path == STDOUT or suffix not in (".json", ".csv", ".svg", _C):
            message = "use a name that ends with .json, .csv, .svg or .h; --json prints"
            raise InputError.single("unknown_suffix", plain(path), message)
    refuse_unwritable(*(args.output or ()))
    written = [(path, "the output") for path in args.output or ()]
    refuse_one_file_twice(written, {"the problem": args.problem, "the plan": args.plan})
    if args.prefix is not None and _C not in suffixes:
        raise InputError.single(
            "unused_option", "--prefix", "it is for C, and no output ends with .h; leave it out"
        )
    if args.points is not None and args.sweep is None:
        raise InputError.single("unused_option", "--points", "it is for --sweep; leave it out")
