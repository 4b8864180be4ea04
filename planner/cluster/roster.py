"""The workers of a cluster: which of them can do a run, which are alive, and what there is to say of them."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from memstow.planner.cluster.needs import Needs
from memstow.planner.cluster.survey import Abilities, Seen

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
        for address, it in seen.items():
            worker = self._workers.get(address)
            if worker is None or worker.process != it.process:
                self._workers[address] = _Worker(it.process, it.threads, it.heard)
                continue
            worker.threads = it.threads
            if worker.heard != it.heard:
                self._hear(address, worker, it.heard)
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
        ready = (it for it in self._workers.values() if self._standing(it) is Standing.READY)
        return sum(worker.threads for worker in ready)

    def fitting(self, needs: Needs) -> frozenset[str]:
        """The workers that a run with these needs may go to."""
        for libraries in (*needs.better, frozenset()):
            wanted = Needs(needs.libraries | libraries, needs.program)
            able = frozenset(address for address, it in self._workers.items() if self._can(it, wanted))
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
