"""`memstow db`: the shape of the store."""

import argparse

from memstow.api.cli.commands.serve import add_store, load
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command, with one of its own for each thing to do."""
    parser = add_command(
        commands,
        "db",
        "bring the store of the service to the shape this version needs, or say where it is",
        details="`memstow serve` does the same when it starts.",
        examples="memstow db upgrade\nmemstow db status",
    )
    kinds = parser.add_subparsers(title="what to do", metavar="WHAT", dest="what", required=True)
    for name, summary in (("upgrade", "run the steps that are missing"), ("status", "say where it is")):
        one = add_command(kinds, name, summary, examples=f"memstow db {name}\nmemstow db {name} --data plans")
        add_store(one)
        one.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Upgrade, or say where it is."""
    settings = load(args)
    from memstow.api.store import migrate
    from memstow.api.store.database import Database

    if args.what == "status" and not settings.store_exists:
        print(f"at nothing, newest {migrate.newest()}")
        return Exit.DONE
    if settings.database is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.store_url, connections=1)
    try:
        if args.what == "upgrade":
            before, after = migrate.upgrade(database)
            print(f"from {before or 'nothing'} to {after}")
        else:
            print(f"at {migrate.current(database) or 'nothing'}, newest {migrate.newest()}")
    finally:
        database.close()
    return Exit.DONE
