"""`memstow inspect`: what is in a problem, and where it is hard."""

import argparse
import sys

from api.cli.arguments import Commands, add_command, whole
from api.cli.exits import Exit
from api.cli.source import add_changes, add_problem, read_problem, refuse_two_stdins, warn_if_terminal
from api.cli.terminal import columns, draws_unicode


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "inspect",
        "show what is in a problem: counts, bounds, pressure over time, the hardest moments",
        examples="""
memstow inspect model.json
memstow inspect model.csv --rows 20
memstow inspect model.json --json
""",
    )
    add_problem(parser)
    add_changes(parser)
    parser.add_argument(
        "--rows", type=whole(0, 1000), default=5, metavar="N", help="hardest moments to list (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print the facts as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read and describe."""
    refuse_two_stdins(args.file, args.target)
    warn_if_terminal(args.file)
    problem = read_problem(args.file, args)

    from planner.survey import facts, survey

    if args.json:
        import json

        print(json.dumps(facts(problem, args.rows), indent=2))
        return Exit.DONE

    from planner.picture import ASCII, UNICODE

    glyphs = UNICODE if draws_unicode(sys.stdout) else ASCII
    print(survey(problem, args.rows, columns(sys.stdout), glyphs))
    return Exit.DONE
