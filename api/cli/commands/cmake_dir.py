"""`memstow cmake-dir`: where CMake finds memstow."""

import argparse
from pathlib import Path

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "cmake-dir",
        "print the folder from which CMake's find_package(memstow) works",
        details="The package has the function memstow_plan(TARGET PROBLEM ...), which plans at build time.",
        examples="""
memstow cmake-dir
cmake -S . -B build -Dmemstow_DIR="$(memstow cmake-dir)"
""",
    )
    parser.set_defaults(run=run)


def run(_args: argparse.Namespace) -> int:
    """Print the folder."""
    print(Path(__file__).resolve().parents[2] / "cmake")
    return Exit.DONE
