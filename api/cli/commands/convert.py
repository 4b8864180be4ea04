"""`memstow convert`: convert a problem to another format."""

import argparse

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command
from memstow.api.cli.io.output import format_of, refuse_unwritable, write_out
from memstow.api.cli.io.problem_input import (
    READABLE,
    add_changes,
    add_problem,
    naming_file,
    read_problem,
    refuse_two_stdins,
    warn_if_terminal,
)


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "convert",
        "convert a problem to another format",
        examples="""
memstow convert model.csv model.json
memstow convert model.json - --output-format csv
memstow convert - model.json --format executorch < exported.json
""",
    )
    add_problem(parser, "in")
    parser.add_argument("out", metavar="OUT", help="the file to write; - writes to standard output")
    parser.add_argument(
        "--output-format",
        choices=READABLE,
        help="format to write (default: as the file's name ends, .json or .csv)",
    )
    add_changes(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the problem and write it in the other format."""
    from memstow.planner import formats

    source = getattr(args, "in")
    refuse_two_stdins(source, args.target)
    refuse_unwritable(args.out)
    warn_if_terminal(source)
    form = format_of(args.out, args.output_format)
    problem = read_problem(source, args)
    with naming_file(source):
        data = formats.write_problem(problem, form)
    write_out(data, args.out)
    return Exit.DONE
