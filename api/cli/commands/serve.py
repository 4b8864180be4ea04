"""`memstow serve` and `memstow db`: the HTTP service, and the schema and copies of its store."""

import argparse
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memstow.api.cli.output_files import to_stdout
from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.terminal import Exit
from memstow.api.options import Choice, Flag, Option, Text, Whole
from memstow.planner.model.errors import InputError, Issue, changing_issues

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memstow.api.http.settings import Settings
    from memstow.api.store.database import Database


_CONFIG: Final = Option("config", "settings file, TOML", Text(), "FILE")
_DATA: Final = Option("data", "folder of the service's store", Text(), "FOLDER", otherwise="``memstow-data``")
_SETTINGS: Final = (
    Option("host", "address to listen on", Text(), "H", otherwise="127.0.0.1"),
    Option("port", "port to listen on", Whole(0, 65535), "P", otherwise="8080"),
    Option(
        "executor",
        "where jobs run: on this machine or on a Dask cluster",
        Choice(("local", "dask")),
        otherwise="local",
        more=" ([scale.md](scale.md))",
    ),
    Option("scheduler", "address of the cluster's scheduler, such as ``tcp://host:8786``", Text(), "URL"),
    Option(
        "tls_cert",
        "certificate with its chain, to serve HTTPS",
        Text(),
        "FILE",
        more=" ([operations.md](operations.md#https))",
    ),
    Option("tls_key", "key of that certificate", Text(), "FILE"),
)
"""Settings of the service that the command line can set."""
_PRINT: Final = Option("print_settings", "print the effective settings and exit", Flag())

MISSING = "the service needs an extra that is not installed: pip install 'memstow[service]'"


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "serve",
        "start the HTTP service",
        details="""
Every setting can be given as MEMSTOW_NAME in the environment or in a TOML file; --print-settings lists them.
Without keys the service accepts only requests from this machine; `memstow keys create` creates a key.""",
        examples="""
memstow serve
memstow serve --port 9000 --data /var/lib/memstow
memstow serve --config memstow.toml
memstow serve --executor dask --scheduler tcp://localhost:8786
memstow serve --tls-cert chain.pem --tls-key key.pem
memstow serve --print-settings > memstow.toml
""",
    )
    add_store(parser)
    add_options(parser, *_SETTINGS, _PRINT)
    parser.set_defaults(run=run)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the settings and the store."""
    add_option(parser, _CONFIG, type=Path)
    add_option(parser, _DATA, type=Path)


def run(args: argparse.Namespace) -> int:
    """Run the service until it is stopped."""
    settings = load(args, **{option.name: getattr(args, option.name) for option in _SETTINGS})
    if args.print_settings:
        from memstow.api.http.settings import printed

        to_stdout(printed(settings).encode())
        return Exit.DONE
    from memstow.api.http.server import serve

    return serve(settings)


def load(args: argparse.Namespace, **chosen: object) -> "Settings":
    """The effective settings; if the service is not installed, the error says what to install."""
    try:
        from memstow.api.http import settings
    except ModuleNotFoundError as error:
        raise InputError.single("missing_extra", error.name or "memstow", MISSING) from None
    overrides = [
        settings.Override(name, value, f"--{name.replace('_', '-')}")
        for name, value in {"data": args.data, **chosen}.items()
        if value is not None
    ]
    with changing_issues(lambda issue: _with_hint(issue) if issue.code == settings.UNKNOWN else issue):
        return settings.load(config=args.config, overrides=overrides)


def _with_hint(issue: "Issue") -> "Issue":
    separator = "" if issue.message.endswith("?") else ";"
    return replace(issue, message=f"{issue.message}{separator} `memstow serve --print-settings` lists them")


@contextmanager
def open_store(args: argparse.Namespace, *, make: bool) -> "Iterator[tuple[Settings, Database | None]]":
    """The settings and the store; None if there is no store and `make` is not set."""

    settings = load(args)
    from memstow.api.store.database import Database
    from memstow.api.store.maintenance import current, require_newest, upgrade

    if not make and not settings.store_exists:
        yield settings, None
        return
    if settings.database is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.store_url, connections=1)
    try:
        if make:
            upgrade(database)
        revision = current(database)
        require_newest(revision)
        yield settings, None if revision is None else database
    finally:
        database.close()


def add_db(commands: "Commands[argparse.ArgumentParser]") -> None:
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
        action.set_defaults(run=run_db)
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


def run_db(args: argparse.Namespace) -> int:
    """Migrate the store, or show its version."""
    settings = load(args)
    from memstow.api.store import maintenance
    from memstow.api.store.database import Database

    if args.action == "status" and not settings.store_exists:
        print(f"schema version none, newest {maintenance.newest()}")
        return Exit.DONE
    if settings.database is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.store_url, connections=1)
    try:
        if args.action == "upgrade":
            before, after = maintenance.upgrade(database)
            print(f"migrated from {before or 'nothing'} to {after}")
        else:
            revision = maintenance.current(database)
            print(f"schema version {revision or 'none'}, newest {maintenance.newest()}")
            maintenance.require_known(revision)
    finally:
        database.close()
    return Exit.DONE


def run_backup(args: argparse.Namespace) -> int:
    """Copy the store."""
    settings = load(args)
    from memstow.api.store.database import FILE
    from memstow.api.store.maintenance import back_up

    if settings.database is not None:
        raise InputError.single("not_a_folder", "database", "copy a PostgreSQL database with pg_dump")
    if not settings.store_exists:
        raise InputError.single("no_store", str(settings.data), "there is no store in this folder")
    size = back_up(settings.data / FILE, args.file)
    print(f"wrote {size:,} bytes to {args.file}")
    return Exit.DONE
