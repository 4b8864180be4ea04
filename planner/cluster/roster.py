"""The workers of a cluster: where it is, what a run needs of a worker, which have it, which are alive."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from memstow.planner.model.errors import InputError, MemstowError
from memstow.planner.model.printable import shown
from memstow.planner.solve.portfolio import AUTO
from memstow.solvers.registry import BACK_ENDS

_ADDRESS: Final = re.compile(
    r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:\[[0-9a-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})", re.ASCII | re.I
)
_LARGEST_PORT: Final = 65_535


def check_scheduler(address: str, field: str) -> str:
    """The address of a scheduler; an InputError that names the field where it is none."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) <= _LARGEST_PORT:
        message = f"expected an address such as tcp://host:8786, given {shown(address)}"
        raise InputError.single("bad_scheduler", field, message)
    return address


LIBRARIES: Final = tuple(sorted({module for back_end in BACK_ENDS.values() for module in back_end.needs}))
"""Modules that a worker may have."""
# The back ends that `auto` uses, the better one first.
_OF_AUTO: Final = ("cpsat", "highs")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a worker must have; of several that have it, those are chosen that have the first of `better`."""

    libraries: frozenset[str] = frozenset()
    program: str | None = None
    better: tuple[frozenset[str], ...] = ()

    @property
    def things(self) -> frozenset[str]:
        """The libraries and the program."""
        return self.libraries if self.program is None else self.libraries | {self.program}

    def text(self) -> str:
        """What is needed, for a message."""
        return " and ".join(sorted(self.things))


def needs_of(solver: str, deterministic: bool) -> Needs:
    """The needs of a solver of memstow. Deterministic runs use no back end that is not named."""
    if solver in BACK_ENDS:
        return Needs(frozenset(BACK_ENDS[solver].needs))
    if solver == AUTO and not deterministic:
        return Needs(better=tuple(frozenset(BACK_ENDS[name].needs) for name in _OF_AUTO))
    return Needs()


class NoWorkerError(MemstowError):
    """No worker of the cluster can do this."""


class Ends(Protocol):
    """What is told of a call, in the thread of the cluster."""

    def end(self, result: Any) -> None:
        """The function has returned this."""

    def fail(self, error: Exception) -> None:
        """It has raised this, or NoWorkerError: no worker can do it."""

    def lose(self) -> None:
        """The scheduler is lost, and the call with it."""

    def lose_worker(self, worker: str) -> bool:
        """Its worker is silent or gone. Whether the call is to be made again elsewhere."""


@dataclass(slots=True, eq=False)
class Call:
    """A function with its arguments, which depend on the name of the try."""

    function: Callable[..., Any]
    arguments: Callable[[str], tuple[Any, ...]]
    needs: Needs
    ends: Ends
    begins: bool
    """Whether it tells when it begins. What has not begun may move to a worker that has come."""
    waits_for_version: bool
    """Whether it waits as long as it takes for workers of this version, as it does for any worker."""
    name: str = ""
    """The name of the current try; what earlier ones say does not count."""
    worker: str | None = None
    """The worker that has begun, where this is told."""
    fitting: frozenset[str] = frozenset()
    """The workers that Dask may choose from; none while there are none."""
    future: Any = None


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
            for inbox in [queue for queue in queues.queues if queue.startswith(inboxes)]:
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
        versions: dict[str, str] = {}
        for module in modules:
            if find_spec(module) is not None:
                try:
                    versions[module] = version(module)
                except PackageNotFoundError:
                    versions[module] = "unknown"
        return {"memstow": ours, "libraries": versions}

    return look


def abilities_in(answer: Answer) -> Abilities:
    """What the worker has."""
    return Abilities(answer["memstow"], answer["libraries"])


# Dask's heartbeats are rarer in large clusters: every 1 s and 1/200 s for each worker.
_FOR_A_WORKER: Final = 4 / 200
_LEAST_SILENCE: Final = 4.0


class Standing(StrEnum):
    """What a worker is good for."""

    NEW = "new"
    """It was not asked yet what it has."""
    READY = "ready"
    REFUSED = "refused"
    """It has another version of memstow, or none."""
    SILENT = "silent"
    """It has sent no heartbeat for too long."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to say of the cluster."""

    kind: str
    text: str


@dataclass(slots=True)
class _Worker:
    process: str
    threads: int
    heard: float
    silent_for: float = 0.0
    silent: bool = False
    abilities: Abilities | None = None
    lacks: set[str] = field(default_factory=set)  # what a run did not find there


class Roster:
    """The workers, as they were last seen. Without a clock: time passes with `update`."""

    def __init__(self, version: str, silent_seconds: float, on_notice: Callable[[Notice], None]) -> None:
        self._version = version
        self._silent_seconds = silent_seconds
        self._on_notice = on_notice
        self._workers: dict[str, _Worker] = {}
        self._libraries: dict[str, str] = {}
        # Seconds for which there was no worker with this, and none of this version.
        self._unmet: dict[Needs, float] = {}
        self._refused_for = 0.0

    def update(self, seen: Mapping[str, Seen], seconds: float) -> None:
        """Take in what the scheduler sees, this many seconds after the last time."""
        for address in self._workers.keys() - seen.keys():
            del self._workers[address]
        limit = max(self._silent_seconds, _LEAST_SILENCE + len(seen) * _FOR_A_WORKER)
        for address, entry in seen.items():
            worker = self._workers.get(address)
            if worker is None or worker.process != entry.process:
                self._workers[address] = _Worker(entry.process, entry.threads, entry.heard)
                continue
            worker.threads = entry.threads
            if worker.heard != entry.heard:
                self._hear(address, worker, entry.heard)
                continue
            worker.silent_for += seconds
            if worker.silent_for > limit:
                self.suspect(address)
        self._count(seconds)

    def learn(self, address: str, process: str, abilities: Abilities) -> None:
        """Take in what a worker has."""
        worker = self._workers.get(address)
        if worker is None or worker.process != process:
            return
        worker.abilities = abilities
        if abilities.memstow != self._version:
            has = "no memstow" if abilities.memstow is None else f"memstow {abilities.memstow}"
            text = f"worker {address} is not used: it has {has}, and here is {self._version}"
            self._on_notice(Notice("worker_refused", text))
            return
        for library, version in abilities.libraries.items():
            other = self._libraries.setdefault(library, version)
            if other != version:
                text = f"worker {address} has {library} {version}, others have {other}: results may differ"
                self._on_notice(Notice("worker_differs", text))

    def suspect(self, address: str) -> None:
        """This worker is silent until it is heard again."""
        worker = self._workers.get(address)
        if worker is not None and not worker.silent:
            worker.silent = True
            text = f"worker {address} gives no sign of life: its runs are tried elsewhere"
            self._on_notice(Notice("worker_silent", text))

    def note_lack(self, address: str, needs: Needs) -> None:
        """A run with these needs found that something is missing there."""
        worker = self._workers.get(address)
        if worker is not None:
            worker.lacks |= needs.things

    # What follows from it

    def standings(self) -> dict[str, Standing]:
        """What each worker is good for, by address."""
        return {address: self._standing(worker) for address, worker in self._workers.items()}

    def counts(self) -> dict[str, int]:
        """The number of workers of each standing."""
        counts = Counter(self.standings().values())
        return {standing.value: counts[standing] for standing in Standing}

    def unknown(self) -> dict[str, str]:
        """The processes of workers that are to be asked what they have, by address."""
        return {
            address: worker.process
            for address, worker in self._workers.items()
            if worker.abilities is None and not worker.silent
        }

    def threads(self) -> int:
        """The number of runs that the workers can do at a time."""
        ready = (worker for worker in self._workers.values() if self._standing(worker) is Standing.READY)
        return sum(worker.threads for worker in ready)

    def fitting(self, needs: Needs) -> frozenset[str]:
        """The workers that a run with these needs may go to."""
        for libraries in (*needs.better, frozenset()):
            wanted = Needs(needs.libraries | libraries, needs.program)
            able = frozenset(
                address for address, worker in self._workers.items() if self._can(worker, wanted)
            )
            if able:
                return able
        return frozenset()

    def why_none(self, needs: Needs) -> str | None:
        """Why no worker can do this, if others are ready and it was so for a while."""
        if self.fitting(needs) or not self.threads():
            return None
        if self._unmet.setdefault(needs, 0.0) <= self._silent_seconds:
            return None
        return f"no worker of the cluster has {needs.text()}"

    def why_idle(self) -> str | None:
        """Why no worker can do anything, if all have another version and it was so for a while."""
        if self._refused_for <= self._silent_seconds:
            return None
        return f"no worker of the cluster has memstow {self._version}"

    def _count(self, seconds: float) -> None:
        """Count for how long there was no worker for some needs, and none of this version."""
        for needs in list(self._unmet):
            if self.fitting(needs) or not self.threads():
                del self._unmet[needs]
            else:
                self._unmet[needs] += seconds
        refused = bool(self._workers) and set(self.standings().values()) == {Standing.REFUSED}
        self._refused_for = self._refused_for + seconds if refused else 0.0

    def _hear(self, address: str, worker: _Worker, heard: float) -> None:
        worker.heard = heard
        worker.silent_for = 0.0
        if worker.silent:
            worker.silent = False
            self._on_notice(Notice("worker_back", f"worker {address} is back"))

    def _standing(self, worker: _Worker) -> Standing:
        if worker.silent:
            return Standing.SILENT
        if worker.abilities is None:
            return Standing.NEW
        return Standing.READY if worker.abilities.memstow == self._version else Standing.REFUSED

    def _can(self, worker: _Worker, needs: Needs) -> bool:
        if worker.abilities is None or self._standing(worker) is not Standing.READY:
            return False
        return needs.libraries <= worker.abilities.libraries.keys() and not needs.things & worker.lacks
