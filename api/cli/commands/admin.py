"""`memstow admin`: what operators see and do, on the store itself or over HTTP with an admin key."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from memstow.api.cli.commands.serve import add_store, open_store
from memstow.api.cli.parser import Commands, add_command, add_options
from memstow.api.cli.search_arguments import client_of
from memstow.api.cli.terminal import Exit
from memstow.api.options import Option, Text
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import human, plain, table

if TYPE_CHECKING:
    from memstow.api.store.administration import Administration

Document = dict[str, Any]
"""An answer of the service, as JSON; the store's answers have the same form."""

_NAME_LENGTH: Final = 40
_OPTIONS: Final = (
    Option(
        "server",
        "URL of the service",
        Text(),
        "URL",
        otherwise="the store itself",
        more="; `drain` needs it, since it is that server that drains",
    ),
    Option("key", "API key with the role admin", Text(), "KEY", otherwise="``MEMSTOW_KEY``"),
)


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its actions."""
    parser = add_command(
        commands,
        "admin",
        "show what waits and runs in the service, and pause, drain or kick it",
        details="""
Works on the store, or over HTTP with --server and a key that has the role admin.""",
        examples="""
memstow admin queue
memstow admin running --server http://planner:8080 --key msk_...
memstow admin pause --data plans
memstow admin kick 2e3fefc7bebb4b32a6c9086daa32ce31
""",
    )
    kinds = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    for name, summary, run in (
        ("queue", "show how many jobs of each key wait and run", run_queue),
        ("running", "show the jobs that run, and where", run_running),
        ("usage", "show what the jobs of each key use", run_usage),
        ("pause", "let no server begin a job; jobs are still accepted", run_pause),
        ("resume", "let servers begin jobs again", run_resume),
        ("drain", "let the server at --server end its jobs and accept none", run_drain),
        ("kick", "put a running job back into the queue, for another run", run_kick),
    ):
        examples = f"memstow admin {name}{' ID' if name == 'kick' else ''}"
        action = add_command(kinds, name, summary, examples=examples + " --server http://localhost:8080")
        if name == "kick":
            action.add_argument("id", metavar="ID", help="the id of the job, as `running` shows it")
        add_store(action)
        add_options(action, *_OPTIONS)
        action.set_defaults(run=run)


def run_queue(args: argparse.Namespace) -> int:
    """Show the queue."""
    answer = _ask(args, "GET", "/v1/admin/queue", lambda store: asdict(store.queue()))
    rows = [
        (
            _key(entry["key"]),
            _name(entry["name"]),
            entry["oldest"] or "",
            str(entry["queued"]),
            str(entry["running"]),
        )
        for entry in answer["keys"]
    ]
    _print_table(("key", "name", "oldest", "queued", "running"), rows, 3)
    print(f"{answer['queued']} queued, {answer['running']} running")
    if answer["paused"] is not None:
        print(f"paused since {answer['paused']}: `memstow admin resume` lets servers begin jobs again")
    return Exit.DONE


def run_running(args: argparse.Namespace) -> int:
    """Show the jobs that run."""
    answer = _ask(
        args, "GET", "/v1/admin/running", lambda store: {"jobs": [asdict(job) for job in store.running()]}
    )
    rows = [
        (
            entry["id"],
            _key(entry["key"]),
            entry["server"] or "",
            entry["started"] or "",
            _name(entry["name"]),
            str(entry["attempt"]),
            str(entry["buffers"]),
        )
        for entry in answer["jobs"]
    ]
    _print_table(("job", "key", "server", "started", "name", "attempt", "buffers"), rows, 5)
    return Exit.DONE


def run_usage(args: argparse.Namespace) -> int:
    """Show what the jobs of each key use."""
    answer = _ask(
        args, "GET", "/v1/admin/usage", lambda store: {"keys": [asdict(key) for key in store.usage()]}
    )
    rows = [
        (
            _key(entry["key"]),
            _name(entry["name"]),
            entry["last_use"] or "",
            str(entry["jobs"]),
            f"{entry['seconds']:.1f}",
            human(entry["bytes"]),
        )
        for entry in answer["keys"]
    ]
    _print_table(("key", "name", "last use", "jobs", "seconds", "stored"), rows, 3)
    return Exit.DONE


def run_pause(args: argparse.Namespace) -> int:
    """Let no server begin a job."""

    def pause(store: "Administration") -> Document:
        store.pause()
        store.leave_change("pause_claims")
        return {}

    _ask(args, "POST", "/v1/admin/pause", pause)
    return Exit.DONE


def run_resume(args: argparse.Namespace) -> int:
    """Let servers begin jobs again."""

    def resume(store: "Administration") -> Document:
        store.resume()
        store.leave_change("resume_claims")
        return {}

    _ask(args, "POST", "/v1/admin/resume", resume)
    return Exit.DONE


def run_drain(args: argparse.Namespace) -> int:
    """Let one server end its jobs and accept none."""
    if args.server is None:
        raise InputError.single("no_server", "--server", "which server is to drain? give its URL")
    answer = _remote(args, "POST", "/v1/admin/drain")
    print(f"the server {answer['server']} is draining; it runs {answer['running']} jobs")
    return Exit.DONE


def run_kick(args: argparse.Namespace) -> int:
    """Put a running job back into the queue."""
    if not (args.id.isalnum() and args.id.isascii()):
        raise InputError.single("no_such_job", "id", f"there is no job {args.id!r}")

    def kick(store: "Administration", keep_seconds: float) -> Document:
        if not store.kick(args.id, keep_seconds):
            raise InputError.single("not_running", "id", f"there is no job {args.id!r} that runs")
        store.leave_change("kick_job", job=args.id)
        return {}

    if args.server is not None:
        _remote(args, "POST", f"/v1/admin/jobs/{args.id}/kick")
    else:
        _local(args, kick)
    return Exit.DONE


def _ask(
    args: argparse.Namespace, method: str, path: str, call: "Callable[[Administration], Document]"
) -> Document:
    """The answer of the server that is named, or of the store."""
    if args.server is not None:
        return _remote(args, method, path)
    return _local(args, lambda store, _keep_seconds: call(store))


def _local(args: argparse.Namespace, call: "Callable[[Administration, float], Document]") -> Document:
    with open_store(args, make=False) as (settings, database):
        from memstow.api.store.administration import Administration

        if database is None:
            message = "there is no store here; name its folder with --data, or a server with --server"
            raise InputError.single("no_store", str(settings.data), message)
        return call(Administration(database), settings.keep_seconds)


def _remote(args: argparse.Namespace, method: str, path: str) -> Document:
    with client_of(args.server, args.key) as client:
        return client.administer(method, path)


def _key(identity: str | None) -> str:
    return identity or "none"


def _name(name: str | None) -> str:
    return plain(name or "", most=_NAME_LENGTH)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> None:
    for line in table(header, rows, left=left):
        print(line.rstrip())
