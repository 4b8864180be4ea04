"""`memstow serve`: the service, once there is one."""

import argparse

from api.cli.arguments import Commands, add_command
from api.cli.exits import Exit
from api.cli.terminal import complain


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(commands, "serve", "start the HTTP service (not yet)", examples="memstow serve")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Say that there is no service yet."""
    complain("there is no service yet; `memstow solve` plans on the command line")
    return Exit.USAGE
