"""What is asked of a scheduler and of workers, by functions that are sent to them.

The functions are sent by value, since they are defined within others: they run on workers of any version of
memstow, and where there is none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

PREFIX: Final = "memstow-"
"""With this the names of our tasks begin."""
INBOXES: Final = "memstow-inbox-"
"""With this and the id of its client the name of a server's inbox begins."""

LOOK: Final = "memstow_look"
"""The operation of the scheduler that `scheduler_look` adds."""

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker as the scheduler sees it."""

    process: str  # changes when it is started again at the same address
    threads: int
    heard: float  # the time of its last heartbeat, by the scheduler's clock
    tasks: tuple[str, ...] = ()  # tasks of ours that it has


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a worker has installed."""

    memstow: str | None
    libraries: Mapping[str, str]


def scheduler_look() -> Callable[..., None]:
    """A function for the scheduler, which adds an operation of this name: it returns what `seen_in` reads.

    The operation also removes the inboxes of clients that are gone, and that of the one that leaves.
    """

    def add(name: str, dask_scheduler: Any) -> None:
        def look(tasks: str, inboxes: str, leaving: str) -> dict[str, Any]:
            queues = dask_scheduler.extensions["queues"]
            for inbox in [it for it in queues.queues if it.startswith(inboxes)]:
                client = inbox.removeprefix(inboxes)
                if client == leaving or client not in dask_scheduler.clients:
                    # Dask counts its users, but not all of them when they end.
                    while inbox in queues.queues:
                        queues.release(name=inbox)
            return {
                address: [
                    str(worker.server_id),
                    worker.nthreads,
                    worker.last_seen,
                    [str(task.key) for task in worker.processing if str(task.key).startswith(tasks)],
                ]
                for address, worker in dask_scheduler.workers.items()
            }

        dask_scheduler.handlers[name] = look

    return add


def seen_in(answer: Answer) -> dict[str, Seen]:
    """The workers by address."""
    return {
        address: Seen(process, threads, heard, tuple(tasks))
        for address, (process, threads, heard, tasks) in answer.items()
    }


def worker_look() -> Callable[..., Answer]:
    """A function for a worker: what `abilities_in` reads."""

    def look(modules: list[str]) -> dict[str, Any]:
        from contextlib import suppress
        from importlib.metadata import PackageNotFoundError, version
        from importlib.util import find_spec

        ours: str | None = None
        # A broken installation is of no more use than none.
        with suppress(Exception):
            from memstow import __version__

            ours = __version__
        found: dict[str, str] = {}
        for module in modules:
            if find_spec(module) is not None:
                try:
                    found[module] = version(module)
                except PackageNotFoundError:
                    found[module] = "unknown"
        return {"memstow": ours, "libraries": found}

    return look


def abilities_in(answer: Answer) -> Abilities:
    """What the worker has."""
    return Abilities(answer["memstow"], answer["libraries"])
