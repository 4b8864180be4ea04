"""`memstow db`: the schema of the store, and copies of it."""

import argparse
from pathlib import Path

from memstow.api.cli.commands.serve import add_store, load
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its actions."""
    parser = add_command(
        commands,
        "db",
        "migrate the store of the service to the schema of this version, show its version, or back it up",
        details="`memstow serve` migrates the store when it starts.",
        examples="memstow db upgrade\nmemstow db status\nmemstow db backup memstow-backup.sqlite",
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
    backup = add_command(
        kinds,
        "backup",
        "copy the store to a new file, also while the server runs",
        details="For the store in a folder. Copy a PostgreSQL database with pg_dump.",
        examples="memstow db backup memstow-backup.sqlite\nmemstow db backup today.sqlite --data plans",
    )
    backup.add_argument("file", type=Path, metavar="FILE", help="file to write; must not exist")
    add_store(backup)
    backup.set_defaults(run=run_backup)


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
            revision = migrate.current(database)
            print(f"schema version {revision or 'none'}, newest {migrate.newest()}")
            migrate.require_known(revision)
    finally:
        database.close()
    return Exit.DONE


def run_backup(args: argparse.Namespace) -> int:
    """Copy the store."""
    settings = load(args)
    from memstow.api.store.backup import back_up
    from memstow.api.store.database import FILE
    from memstow.planner.model.errors import InputError

    if settings.database is not None:
        raise InputError.single("not_a_folder", "database", "copy a PostgreSQL database with pg_dump")
    if not settings.store_exists:
        raise InputError.single("no_store", str(settings.data), "there is no store in this folder")
    size = back_up(settings.data / FILE, args.file)
    print(f"wrote {size:,} bytes to {args.file}")
    return Exit.DONE
