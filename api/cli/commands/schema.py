"""`memstow schema`: print the JSON Schemas."""

import argparse

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command
from memstow.api.cli.io.output import to_stdout

KINDS = (
    "problem",
    "options",
    "plan",
    "target",
    "graph",
    "front",
    "loops",
    "symbolic",
    "symbolic-plan",
    "symbolic-graph",
)


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "schema",
        "print the JSON Schema of a problem, of options, of a plan, of a target, of a graph and others",
        examples="memstow schema\nmemstow schema plan > plan.schema.json",
    )
    parser.add_argument(
        "kind",
        nargs="?",
        choices=KINDS,
        default=KINDS[0],
        metavar="KIND",
        help=f"{', '.join(KINDS)} (default: {KINDS[0]})",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the schema."""
    from memstow.planner.model.schema import schema_text

    to_stdout(schema_text(args.kind).encode())
    return Exit.DONE
