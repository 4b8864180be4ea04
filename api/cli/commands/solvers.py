"""`memstow solvers`: list the solvers."""

import argparse
import sys

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command
from memstow.api.cli.io.terminal import columns


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "solvers",
        "list the solvers, what each supports, and what is missing to use it",
        examples="memstow solvers\nmemstow solvers --json",
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the solvers."""
    from memstow.solvers.registry import describe

    described = describe()
    if args.json:
        import json

        entries = [
            {
                "name": solver.name,
                "summary": solver.summary,
                "supports": solver.supports,
                "missing": solver.missing,
            }
            for solver in described
        ]
        print(json.dumps(entries, indent=2))
        return Exit.DONE
    from textwrap import wrap

    width = columns(sys.stdout)
    for solver in described:
        print(solver.name)
        for line in wrap(solver.summary, width - 4):
            print(f"    {line}")
        for line in wrap(f"supports: {solver.supports}", width - 4):
            print(f"    {line}")
        if solver.missing:
            print(f"    not available, missing: {solver.missing}")
    return Exit.DONE
