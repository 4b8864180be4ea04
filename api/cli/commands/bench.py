"""`memstow bench`: run many solvers on many problems."""

import argparse
from importlib import import_module
from typing import Final

from memstow.api.cli.io.arguments import Commands, add_command

KINDS: Final = ("run", "report", "compare", "sets")


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its subcommands."""
    parser = add_command(
        commands,
        "bench",
        "run many solvers on many problems; report and compare the results",
        examples="""
memstow bench run instances/ --solvers greedy,exact,auto --time-limit 5 --seeds 3 --output results
memstow bench run instances/ --solvers greedy,exact,auto --time-limit 5 --seeds 3 --output results --resume
memstow bench report results
memstow bench compare before results
memstow bench sets
""",
    )
    kinds = parser.add_subparsers(title="commands", metavar="COMMAND", dest="kind", required=True)
    for kind in KINDS:
        import_module(f"memstow.api.cli.commands.bench_{kind}").add(kinds)
