"""Opens the store of the service for commands that work on it without a server."""

import argparse
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memstow.api.http.settings import Settings
    from memstow.api.store.database import Database


@contextmanager
def open_store(args: argparse.Namespace, *, make: bool) -> "Iterator[tuple[Settings, Database | None]]":
    """The settings and the store; None if there is no store and `make` is not set."""
    from memstow.api.cli.commands.serve import load

    settings = load(args)
    from memstow.api.store.database import Database
    from memstow.api.store.migrate import current, require_newest, upgrade

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
