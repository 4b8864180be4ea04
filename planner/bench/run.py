"""The run of a bench: each task to an executor, a few at a time; each result to the journal as it comes."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from planner.bench.executor import Executor
from planner.bench.instances import Instances
from planner.bench.journal import Journal
from planner.bench.keepers import Result, StoppedError
from planner.bench.task import Asked, Task, tasks_of
from planner.errors import MemstowError

_TICK: Final = 0.1
_TRIES: Final = 3
# A cluster that loses everything is not going to do better.
_MOST_LOST: Final = 5
_NOTED: Final = 20


@dataclass(slots=True)
class Tally:
    """How far a run is."""

    total: int
    begin: float = field(default_factory=time.monotonic)
    before: int = 0  # results that were there already
    done: int = 0
    same: int = 0  # runs on a problem that another file holds too
    left_out: int = 0  # runs on what is no problem
    lost: int = 0  # runs that came to nothing, through no fault of theirs
    notes: list[str] = field(default_factory=list)  # what was left out or lost, and why; the first of them

    @property
    def settled(self) -> int:
        """Runs that nothing more will come of."""
        return self.before + self.done + self.same + self.left_out + self.lost

    def seconds_left(self) -> float | None:
        """About how long it will take, once there is something to tell it from."""
        ran = self.settled - self.before
        if not ran:
            return None
        return (time.monotonic() - self.begin) / ran * (self.total - self.settled)


def run(
    instances: Sequence[Instances],
    asked: Sequence[Asked],
    seeds: int,
    executor: Executor,
    journal: Journal,
    cancel: Event,
    on_tally: Callable[[Tally], None] = lambda _tally: None,
) -> Tally:
    """Run what has no result yet; what was left out or lost is in the tally."""
    tally = Tally(sum(map(len, instances)) * len(asked) * seeds)
    on_tally(tally)
    _Run(executor, journal, cancel, tally).run(_tasks(instances, asked, seeds))
    return tally


def _tasks(instances: Iterable[Instances], asked: Sequence[Asked], seeds: int) -> Iterator[Task]:
    for some in instances:
        for given in some:
            yield from tasks_of(given, asked, seeds)


class _Run:
    def __init__(self, executor: Executor, journal: Journal, cancel: Event, tally: Tally) -> None:
        self._executor = executor
        self._journal = journal
        self._cancel = cancel
        self._tally = tally
        self._running: dict[Future[Result], tuple[Task, int]] = {}
        self._unreadable: set[str] = set()

    def run(self, tasks: Iterator[Task]) -> None:
        more = True
        while (more or self._running) and not self._cancel.is_set():
            while more and len(self._running) < self._executor.window:
                more = self._submit_next(tasks)
            done, _ = wait(self._running, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(future, *self._running.pop(future))

    def _submit_next(self, tasks: Iterator[Task]) -> bool:
        """Whether there was a task left."""
        for task in tasks:
            if task.content in self._unreadable:
                self._tally.left_out += 1
            elif task.given.unreadable is not None:
                self._leave_out(task, task.given.unreadable)
            elif self._journal.has(task):
                self._tally.before += 1
            else:
                self._submit(task, 1)
                return True
        return False

    def _submit(self, task: Task, tries: int) -> None:
        self._running[self._executor.submit(task)] = (task, tries)

    def _take(self, future: Future[Result], task: Task, tries: int) -> None:
        try:
            result = future.result()
        except StoppedError:
            return
        except Exception as error:
            if tries < _TRIES:
                self._submit(task, tries + 1)
            else:
                self._lose(task, error)
            return
        if result.line is None:
            self._leave_out(task, result.unreadable or "")
        elif self._journal.add(result.line):
            self._tally.done += 1
        else:
            self._tally.same += 1

    def _leave_out(self, task: Task, why: str) -> None:
        if task.content not in self._unreadable:
            self._unreadable.add(task.content)
            self._note(f"{task.given.name} is left out: {why}")
        self._tally.left_out += 1

    def _lose(self, task: Task, error: Exception) -> None:
        message = f"{task.given.name} by {task.asked.name} is lost: {type(error).__name__}: {error}"[:500]
        self._tally.lost += 1
        if self._tally.lost >= _MOST_LOST and not self._tally.done:
            raise MemstowError(f"nothing runs there: {message}")
        self._note(message)

    def _note(self, text: str) -> None:
        if len(self._tally.notes) < _NOTED:
            self._tally.notes.append(text)
