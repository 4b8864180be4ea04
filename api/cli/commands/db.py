"""`memstow db`: the schema of the store."""

import argparse

from memstow.api.cli.commands.serve import add_store, load
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its actions."""
    parser = add_command(
        commands,
        "db",
        "migrate the store of the service to the schema of this version, or show its version",
        details="`memstow serve` does the same when it starts.",
        examples="memstow db upgrade\nmemstow db status",
    )
    kinds = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    for name, summary in (
        ("upgrade", "migrate to the newest schema"),
        ("status", "show the version of the schema"),
    ):
        action = add_command(
            kinds, name, summary, examples=f"memstow db {name}\nmemstow db {name} --data plans"
        )
        add_store(action)
        action.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Migrate the store, or show its version."""
    settings = load(args)
    from memstow.api.store import migrate
    from memstow.api.store.database import Database

    if args.action == "status" and not settings.store_exists:
        print(f"schema version none, newest {migrate.newest()}")
        return Exit.DONE
    if settings.database is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.store_url, connections=1)
    try:
        if args.action == "upgrade":
            before, after = migrate.upgrade(database)
            print(f"migrated from {before or 'nothing'} to {after}")
        else:
            print(f"schema version {migrate.current(database) or 'none'}, newest {migrate.newest()}")
    finally:
        database.close()
    return Exit.DONE
