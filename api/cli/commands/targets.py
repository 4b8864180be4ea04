"""`memstow targets`: the memories of known devices."""

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
A target describes the pools of a device, for `memstow solve --target NAME`. To change one, print it to a
file, edit it, and pass the file as --target.""",
        examples="""
memstow targets
memstow targets rp2040 > board.json
memstow solve model.json --target board.json
""",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the target to print, as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the targets, or print one."""
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
        shown = (f"{p.id} ({'unlimited' if p.capacity is None else human(p.capacity)})" for p in pools)
        print(f"{name:{width}}  {', '.join(shown)}")
