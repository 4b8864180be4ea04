"""`memstow keys`: API keys of the service."""

import argparse
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memstow.api.cli.commands.serve import add_store, load
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memstow.api.store.keys import Keys

SCOPES = ("plan", "admin")


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its actions."""
    parser = add_command(
        commands,
        "keys",
        "create, list and revoke API keys of the service",
        details="""
A key is shown once, when it is created; the store holds only its hash. Once a key has existed the service
requires one, even if all are revoked, until `memstow keys reset`.""",
        examples="""
memstow keys create --name ci
memstow keys create --name operator --scope plan --scope admin
memstow keys list
memstow keys revoke 3f2a9c41d07b
""",
    )
    kinds = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    create = add_command(
        kinds,
        "create",
        "create a key and print it",
        examples="""
memstow keys create --name ci
memstow keys create --name operator --scope plan --scope admin
""",
    )
    create.add_argument("--name", required=True, metavar="NAME", help="what the key is for")
    create.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what the key permits; may be repeated (default: plan)",
    )
    listed = add_command(kinds, "list", "list all keys", examples="memstow keys list --data plans")
    revoke = add_command(kinds, "revoke", "revoke a key", examples="memstow keys revoke 3f2a9c41d07b")
    revoke.add_argument("id", metavar="ID", help="the id of the key, as `list` shows it")
    reset = add_command(
        kinds,
        "reset",
        "remove all keys if they are revoked: the service then answers without a key",
        examples="memstow keys reset --data plans",
    )
    for action, do in ((create, run_create), (listed, run_list), (revoke, run_revoke), (reset, run_reset)):
        add_store(action)
        action.set_defaults(run=do)


def run_create(args: argparse.Namespace) -> int:
    """Create a key and print it."""
    from memstow.api.operations.batch import checked_name

    checked_name(args.name, "--name")
    with _keys(args, make=True) as keys:
        from memstow.api.store.keys import Scope

        assert keys is not None  # noqa: S101
        _, text = keys.create(args.name, frozenset(map(Scope, args.scope or SCOPES[:1])))
    print(text)
    return Exit.DONE


def run_list(args: argparse.Namespace) -> int:
    """List the keys."""
    from memstow.api.store.job import timestamp
    from memstow.planner.show.formatting import plain, table

    with _keys(args, make=False) as keys:
        rows = [
            (
                key.id,
                plain(key.name, most=40),
                " ".join(sorted(key.scopes)),
                timestamp(key.created) or "",
                timestamp(key.revoked) or "",
            )
            for key in (keys.list() if keys is not None else ())
        ]
    for line in table(("id", "name", "scopes", "created", "revoked"), rows, left=5):
        print(line.rstrip())
    return Exit.DONE


def run_revoke(args: argparse.Namespace) -> int:
    """Revoke a key."""
    from memstow.planner.model.errors import InputError

    with _keys(args, make=False) as keys:
        if keys is None or not keys.revoke(args.id):
            raise InputError.single("no_such_key", "id", f"there is no active key {args.id!r}")
    return Exit.DONE


def run_reset(args: argparse.Namespace) -> int:
    """Remove all keys, which are revoked."""
    from memstow.planner.model.errors import InputError

    with _keys(args, make=False) as keys:
        if keys is not None and not keys.reset():
            raise InputError.single(
                "keys_in_use", "keys", "there are keys that are not revoked; revoke them before"
            )
    return Exit.DONE


@contextmanager
def _keys(args: argparse.Namespace, make: bool) -> "Iterator[Keys | None]":
    """The keys in the store; None if there is no store and `make` is not set."""
    settings = load(args)
    from memstow.api.store.database import Database
    from memstow.api.store.keys import Keys
    from memstow.api.store.migrate import current, upgrade

    if not make and not settings.store_exists:
        yield None
        return
    if settings.database is None:
        settings.data.mkdir(parents=True, exist_ok=True)
    database = Database(settings.store_url, connections=1)
    try:
        if make:
            upgrade(database)
        yield None if current(database) is None else Keys(database)
    finally:
        database.close()
