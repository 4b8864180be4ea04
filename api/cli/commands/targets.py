"""`memstow targets`: the devices whose memories come with memstow."""

import argparse

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command
from memstow.api.cli.io.output import to_stdout


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "targets",
        "list the targets that come with memstow, or print one",
        details="""
A target is the pools of a device: `memstow solve MODEL --target NAME` plans for them. Print one into a
file to change it: the file can be given as --target as well.""",
        examples="""
memstow targets
memstow targets rp2040 > board.json
memstow solve model.json --target board.json
""",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the target to print, as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List or print."""
    from memstow.planner.targets.by_name import shipped_text

    if args.name is None:
        _list()
    else:
        to_stdout(shipped_text(args.name, "NAME"))
    return Exit.DONE


def _list() -> None:
    from memstow.planner.show.formatting import human
    from memstow.planner.targets.by_name import shipped_target
    from memstow.planner.targets.target import shipped

    width = max(map(len, shipped()))
    for name in shipped():
        pools = shipped_target(name).pools
        told = (f"{p.id} ({'unlimited' if p.capacity is None else human(p.capacity)})" for p in pools)
        print(f"{name:{width}}  {', '.join(told)}")
