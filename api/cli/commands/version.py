"""`memstow version`."""

import argparse

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(commands, "version", "print the version", examples="memstow version")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the version."""
    from memstow import __version__

    print(f"memstow {__version__}")
    return Exit.DONE
