"""`memstow keys`: API keys of the service."""

import argparse
from typing import TYPE_CHECKING, Final, cast

from memstow.api.cli.commands.serve import add_store, open_store
from memstow.api.cli.parser import Commands, add_command, add_option, add_options, amount, whole
from memstow.api.cli.terminal import Exit, print_error
from memstow.api.options import Choice, Option, Text
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import plain, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from memstow.api.store.database import Database
    from memstow.api.store.keys import Key, KeyChanges

ROLES: Final = ("read", "solve", "admin")
_NEVER: Final = "never"
_DEFAULT: Final = "default"
_NAME: Final = Option("name", "what the key is for", Text(), "NAME")
_ROLE: Final = Option("role", "what the key permits", Choice(ROLES))
_ROLE_OF_NEW: Final = Option("role", "what the key permits", Choice(ROLES), default="solve")
_READS: Final = Option("reads", "with --role read: the key whose jobs this one sees", Text(), "ID")
_EXPIRES: Final = Option(
    "expires", "when it ends: 30d, 2027-01-31 or a time with a zone (`never`: not at all)", Text(), "WHEN"
)
_EXPIRES_OF_NEW: Final = Option(
    "expires", "when it ends: 30d, 2027-01-31 or a time with a zone", Text(), "WHEN", otherwise="never"
)
_OVERLAP: Final = Option(
    "overlap", "how long the secret before works, such as 7d", Text(), "SPAN", default="0s"
)
_LIMITS: Final = {
    name: Option(name, f"{means}; `default`: as the settings say", Text(), "N", more=more)
    for name, means, more in (
        ("max_queued", "jobs that may wait", ""),
        ("max_running", "jobs that run at once", ""),
        ("max_stored_bytes", "bytes of its jobs in the store", ", such as `2GiB`"),
        ("max_priority", "highest priority of a job", ", which is 0"),
    )
}


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
    add_options(rotate, _OVERLAP)
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
    add_option(create, _NAME, required=True)
    add_options(create, _ROLE_OF_NEW, _READS, _EXPIRES_OF_NEW)
    _add_limits(create)
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
    add_options(changed, _NAME, _ROLE, _EXPIRES)
    _add_limits(changed)
    changed.set_defaults(run=run_set)


def _add_id(action: argparse.ArgumentParser) -> None:
    action.add_argument("id", metavar="ID", help="the id of the key, as `list` shows it")


def _add_limits(action: argparse.ArgumentParser) -> None:
    number = whole(0, 1 << 31 - 1)
    for option, kind in zip(_LIMITS.values(), (number, number, amount, whole(0, 100)), strict=True):
        add_option(action, option, type=_or_default(kind))


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
    if key.role is Role.READ and key.reads is None:
        print_error("this key sees no jobs, since it starts none: --reads names the key whose jobs one sees")
    return Exit.DONE


def run_list(args: argparse.Namespace) -> int:
    """List the keys."""
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
    from memstow.api.operations.envelope import span

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
    from memstow.api.operations.envelope import LONGEST_NAME, checked_name
    from memstow.planner.model.printable import printable

    changes: KeyChanges = {}
    if args.name is not None:
        changes["name"] = printable(checked_name(args.name, "--name"), LONGEST_NAME)
    if args.role is not None:
        from memstow.api.store.keys import Role

        changes["role"] = Role(args.role)
    if args.expires is not None:
        changes["expires"] = None if args.expires == _NEVER else _moment(args.expires)
    limits = {name: value for name in _LIMITS if (value := getattr(args, name)) is not None}
    own = {name: None if value == _DEFAULT else value for name, value in limits.items()}
    return cast("KeyChanges", {**changes, **own})


def _moment(text: str) -> float:
    from memstow.api.operations.envelope import moment
    from memstow.api.store.database import now

    return moment(text, "--expires", now())


def _row(key: "Key") -> tuple[str, ...]:
    from memstow.api.store.database import now
    from memstow.api.store.tables import timestamp

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
    return InputError.single("no_such_key", "id", f"there is no active key {identity!r}")
