"""`memstow completion`: the script by which a shell completes commands, options and their values."""

import argparse
from collections.abc import Iterator

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command
from memstow.api.cli.io.output import to_stdout

SHELLS = ("bash", "zsh", "fish", "tcsh")
# What an argument takes is known by the name that its help shows.
_FILES = ("FILE", "PROBLEM", "PLAN", "IN", "OUT", "PATH", "OLD", "NEW")
_FOLDERS = ("DIR", "FOLDER")


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "completion",
        "print a script that completes memstow's commands and options in a shell",
        details="Load it where the shell starts, as the examples do for bash and zsh.",
        examples="""
memstow completion bash > ~/.local/share/bash-completion/completions/memstow
memstow completion zsh > ~/.zfunc/_memstow
memstow completion fish > ~/.config/fish/completions/memstow.fish
""",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script for the shell."""
    import shtab

    from memstow.api.cli.main import build_parser

    parser = build_parser()
    for action in _actions(parser):
        _set_values(action)
    to_stdout(shtab.complete(parser, args.shell).encode())
    return Exit.DONE


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of the parser and of the commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _actions(child)
        else:
            yield action


def _set_values(action: argparse.Action) -> None:
    """Say what completes the argument: files, folders, or the names that a list of memstow holds."""
    import shtab

    from memstow.planner.targets.target import shipped
    from memstow.solvers.registry import names

    if _takes(action, _FILES):
        action.complete = shtab.FILE  # type: ignore[attr-defined]
    elif _takes(action, _FOLDERS):
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif action.metavar == "TARGET":
        action.choices = shipped()
    elif action.dest == "solver":
        action.choices = ("auto", *names())


def _takes(action: argparse.Action, values: tuple[str, ...]) -> bool:
    shown = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
    return any(name in values for name in shown)
