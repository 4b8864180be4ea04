"""`memstow bench sets`: what instances others have published, and which of them are here."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memstow.planner.bench.instances.public_sets import LocalSet

VARIABLE = "MEMSTOW_SETS"


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "sets",
        "list public instance sets, and which of them are installed here",
        details="A set is installed if --folder has a folder of its name; the list says how to get others.",
        examples="""
memstow bench sets
memstow bench sets --folder instances
memstow bench run instances/minimalloc --solvers greedy,exact --output results
""",
    )
    parser.add_argument(
        "--folder", metavar="DIR", help=f"folder that contains the sets (default: {VARIABLE}, or none)"
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the sets."""
    from memstow.planner.bench.instances.public_sets import local_sets

    named = args.folder or os.environ.get(VARIABLE)
    if named is not None and not Path(named).is_dir():
        from memstow.planner.model.errors import InputError

        raise InputError.single("not_found", named, "there is no such folder")
    sets = local_sets(None if named is None else Path(named))
    if args.json:
        _print_json(sets)
    else:
        _print(sets)
    return Exit.DONE


def _print_json(sets: "Sequence[LocalSet]") -> None:
    import json

    entries = [
        {
            "name": one.public.name,
            "about": one.public.description,
            "source": one.public.source,
            "licence": one.public.licence,
            "instances": one.public.count,
            "steps": list(one.public.steps),
            "folder": None if one.folder is None else str(one.folder),
            "files": one.files,
        }
        for one in sets
    ]
    print(json.dumps(entries, indent=2))


def _print(sets: "Sequence[LocalSet]") -> None:
    from memstow.planner.show.formatting import plain

    for one in sets:
        public = one.public
        print(public.name)
        print(f"    {public.description}")
        print(f"    from {public.source}; licence {public.licence}")
        if one.folder is None:
            print("    not installed; to get it, in the folder of the sets:")
            print("".join(f"        {step}\n" for step in public.steps), end="")
        else:
            of = "" if public.count is None else f" of {public.count}"
            print(f"    installed: {one.files}{of} files in {plain(str(one.folder))}")
