"""`memstow keys`: API keys of the service."""

import argparse
from typing import TYPE_CHECKING, Final

from memstow.api.cli.commands.serve import add_store, open_store
from memstow.api.cli.parser import Commands, add_command, amount, whole
from memstow.api.cli.terminal import Exit

if TYPE_CHECKING:
    from collections.abc import Callable

    from memstow.api.store.database import Database
    from memstow.api.store.keys import Key, KeyChanges

ROLES: Final = ("read", "solve", "admin")
_NEVER: Final = "never"
_DEFAULT: Final = "default"
_LIMITS: Final = ("max_queued", "max_running", "max_stored_bytes", "max_priority")


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its actions."""
    examples = """
memstow keys create --name ci --expires 90d
memstow keys create --name operator --role admin
memstow keys rotate 3f2a9c41d07b --overlap 7d
memstow keys revoke 3f2a9c41d07b
"""
    parser = add_command(
        commands,
        "keys",
        "create, list, change, rotate and revoke API keys of the service",
        details="""
A key is shown once, when it is created or rotated; the store holds only its hash. Once a key has existed the
service requires one, even if all are revoked, until `memstow keys reset`.""",
        examples=examples,
    )
    kinds = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    _add_create(kinds)
    listed = add_command(kinds, "list", "list all keys", examples="memstow keys list --data plans")
    listed.set_defaults(run=run_list)
    _add_set(kinds)
    rotate = add_command(
        kinds,
        "rotate",
        "give a key a new secret and print it",
        examples="memstow keys rotate 3f2a9c41d07b --overlap 7d",
    )
    _add_id(rotate)
    rotate.add_argument(
        "--overlap",
        default="0s",
        metavar="SPAN",
        help="how long the secret before works, such as 7d (default: 0s)",
    )
    rotate.set_defaults(run=run_rotate)
    revoke = add_command(
        kinds, "revoke", "revoke a key and end its jobs", examples="memstow keys revoke 3f2a9c41d07b"
    )
    _add_id(revoke)
    revoke.set_defaults(run=run_revoke)
    reset = add_command(
        kinds,
        "reset",
        "remove all keys if none is valid: the service then answers without a key",
        examples="memstow keys reset --data plans",
    )
    reset.set_defaults(run=run_reset)
    for action in kinds.choices.values():
        add_store(action)


def _add_create(kinds: "Commands[argparse.ArgumentParser]") -> None:
    create = add_command(
        kinds,
        "create",
        "create a key and print it",
        examples="""
memstow keys create --name ci --expires 90d --max-priority 10
memstow keys create --name dashboard --role read --reads 3f2a9c41d07b
""",
    )
    create.add_argument("--name", required=True, metavar="NAME", help="what the key is for")
    create.add_argument(
        "--role", choices=ROLES, default="solve", help="what the key permits (default: solve)"
    )
    create.add_argument("--reads", metavar="ID", help="with --role read: the key whose jobs this one sees")
    _add_changes(create, "default: never")
    create.set_defaults(run=run_create)


def _add_set(kinds: "Commands[argparse.ArgumentParser]") -> None:
    changed = add_command(
        kinds,
        "set",
        "change the name, the role, the end or the limits of a key",
        examples="""
memstow keys set 3f2a9c41d07b --max-queued 500 --max-running 2
memstow keys set 3f2a9c41d07b --expires never --max-queued default
""",
    )
    _add_id(changed)
    changed.add_argument("--name", metavar="NAME", help="what the key is for")
    changed.add_argument("--role", choices=ROLES, help="what the key permits")
    _add_changes(changed, "`never`: not at all")
    changed.set_defaults(run=run_set)


def _add_id(action: argparse.ArgumentParser) -> None:
    action.add_argument("id", metavar="ID", help="the id of the key, as `list` shows it")


def _add_changes(action: argparse.ArgumentParser, never: str) -> None:
    action.add_argument(
        "--expires", metavar="WHEN", help=f"when it ends: 30d, 2027-01-31 or a time with a zone ({never})"
    )
    for name, kind, means in (
        ("--max-queued", whole(0, 1 << 31 - 1), "jobs that may wait"),
        ("--max-running", whole(0, 1 << 31 - 1), "jobs that run at once"),
        ("--max-stored-bytes", amount, "bytes of its jobs in the store"),
        ("--max-priority", whole(0, 100), "highest priority of a job"),
    ):
        action.add_argument(
            name, type=_or_default(kind), metavar="N", help=f"{means}; `default`: as the settings say"
        )


def _or_default(kind: "Callable[[str], int]") -> "Callable[[str], int | str]":
    def parse(text: str) -> int | str:
        return _DEFAULT if text == _DEFAULT else kind(text)

    return parse


def run_create(args: argparse.Namespace) -> int:
    """Create a key and print it."""
    changes = _changes(args)
    with open_store(args, make=True) as (_, database):
        from memstow.api.store.keys import Keys, Role

        assert database is not None  # noqa: S101
        key, text = Keys(database).create(args.name, Role(args.role), args.reads, changes)
        _log(database, "create_key", key.id)
    print(text)
    return Exit.DONE


def run_list(args: argparse.Namespace) -> int:
    """List the keys."""
    from memstow.planner.show.formatting import table

    with open_store(args, make=False) as (_, database):
        from memstow.api.store.keys import Keys

        rows = [_row(key) for key in (Keys(database).list() if database is not None else ())]
    header = ("id", "name", "role", "state", "created", "last use", "expires", "limits")
    for line in table(header, rows, left=len(header)):
        print(line.rstrip())
    return Exit.DONE


def run_set(args: argparse.Namespace) -> int:
    """Change a key."""
    changes = _changes(args)
    with open_store(args, make=False) as (_, database):
        from memstow.api.store.keys import Keys

        if database is None or not Keys(database).change(args.id, changes):
            raise _no_such_key(args.id)
        _log(database, "set_key", args.id)
    return Exit.DONE


def run_rotate(args: argparse.Namespace) -> int:
    """Give a key a new secret and print it."""
    from memstow.api.operations.body_parts import span

    overlap = span(args.overlap, "--overlap")
    with open_store(args, make=False) as (_, database):
        from memstow.api.store.keys import Keys

        text = None if database is None else Keys(database).rotate(args.id, overlap)
        if database is None or text is None:
            raise _no_such_key(args.id)
        _log(database, "rotate_key", args.id)
    print(text)
    return Exit.DONE


def run_revoke(args: argparse.Namespace) -> int:
    """Revoke a key and end its jobs."""
    with open_store(args, make=False) as (settings, database):
        from memstow.api.store.administration import end_jobs_of_invalid_keys
        from memstow.api.store.keys import Keys

        if database is None or not Keys(database).revoke(args.id):
            raise _no_such_key(args.id)
        _log(database, "revoke_key", args.id)
        end_jobs_of_invalid_keys(database, settings.keep_seconds)
    return Exit.DONE


def run_reset(args: argparse.Namespace) -> int:
    """Remove all keys, of which none is valid, and end what is left of their jobs."""
    from memstow.planner.model.errors import InputError

    with open_store(args, make=False) as (settings, database):
        from memstow.api.store.administration import end_jobs_of_invalid_keys
        from memstow.api.store.keys import Keys

        if database is None:
            return Exit.DONE
        end_jobs_of_invalid_keys(database, settings.keep_seconds)
        if not Keys(database).reset():
            raise InputError.single("keys_in_use", "keys", "there are valid keys; revoke them before")
        _log(database, "reset_keys")
    return Exit.DONE


def _changes(args: argparse.Namespace) -> "KeyChanges":
    """What the options of `create` and `set` say of a key; what is not given is left out."""
    from memstow.api.operations.batch import checked_name
    from memstow.api.operations.body import LONGEST_NAME
    from memstow.planner.reading.printable import printable

    changes: KeyChanges = {}
    if args.name is not None:
        changes["name"] = printable(checked_name(args.name, "--name"), LONGEST_NAME)
    if args.role is not None:
        from memstow.api.store.keys import Role

        changes["role"] = Role(args.role)
    if args.expires is not None:
        changes["expires"] = None if args.expires == _NEVER else _moment(args.expires)
    if args.max_queued is not None:
        changes["max_queued"] = _limit(args.max_queued)
    if args.max_running is not None:
        changes["max_running"] = _limit(args.max_running)
    if args.max_stored_bytes is not None:
        changes["max_stored_bytes"] = _limit(args.max_stored_bytes)
    if args.max_priority is not None:
        changes["max_priority"] = _limit(args.max_priority)
    return changes


def _moment(text: str) -> float:
    from memstow.api.operations.body_parts import moment
    from memstow.api.store.database import now

    return moment(text, "--expires", now())


def _limit(value: int | str) -> int | None:
    return None if isinstance(value, str) else value


def _row(key: "Key") -> tuple[str, ...]:
    from memstow.api.store.database import now
    from memstow.api.store.tables import timestamp
    from memstow.planner.show.formatting import plain

    limits = {name: getattr(key.quota, name) for name in _LIMITS}
    state = "valid" if key.valid_at(now()) else "expired" if key.revoked is None else "revoked"
    return (
        key.id,
        plain(key.name, most=40),
        key.role.value if key.reads is None else f"{key.role.value} {key.reads}",
        state,
        timestamp(key.created) or "",
        timestamp(key.used) or "",
        timestamp(key.expires) or "",
        " ".join(f"{name}={value}" for name, value in limits.items() if value is not None),
    )


def _log(database: "Database", operation: str, key: str | None = None) -> None:
    """Leave a line for the audit log of the servers."""
    from memstow.api.store.keys import leave_change

    leave_change(database, operation, **({} if key is None else {"affected_key": key}))


def _no_such_key(identity: str) -> Exception:
    from memstow.planner.model.errors import InputError

    return InputError.single("no_such_key", "id", f"there is no active key {identity!r}")
