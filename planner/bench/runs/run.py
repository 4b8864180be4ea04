"""The run of a bench: each task to an executor, a few at a time; each result to the journal as it comes.

Quick tasks travel in bundles. How many go together follows from how many were done of those before within the
time that a bundle has; what was not done of one is asked for again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from threading import Event
from typing import Final

from memstow.planner.bench.instances.sources import Instances
from memstow.planner.bench.records.journal import Journal, Known
from memstow.planner.bench.runs.executor import Executor
from memstow.planner.bench.runs.progress import Tally
from memstow.planner.bench.runs.supervisors import TOGETHER_SECONDS, Result, StoppedError
from memstow.planner.bench.runs.task import Asked, Task, tasks_of
from memstow.planner.model.errors import MemstowError

_TICK: Final = 0.1
_TRIES: Final = 3
# Tasks that travel together, and the bytes of their problems from which on they do not.
_MOST_TOGETHER: Final = 256
_HEAVY: Final = 4 << 20
# A cluster that loses everything is not going to do better.
_MOST_LOST: Final = 5


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


@dataclass(frozen=True, slots=True)
class _Try:
    task: Task
    number: int


class _Run:
    def __init__(self, executor: Executor, journal: Journal, cancel: Event, tally: Tally) -> None:
        self._executor = executor
        self._journal = journal
        self._cancel = cancel
        self._tally = tally
        self._running: dict[Future[list[Result]], list[_Try]] = {}
        self._again: deque[_Try] = deque()
        self._together = 1
        self._unreadable: set[str] = set()

    def run(self, tasks: Iterator[Task]) -> None:
        more = True
        while (more or self._running) and not self._cancel.is_set():
            while more and len(self._running) < self._executor.window:
                more = self._submit(self._bundle(tasks))
            done, _ = wait(self._running, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(future, self._running.pop(future))
            more = more or bool(self._again)

    def _submit(self, bundle: list[_Try]) -> bool:
        """Whether there was anything to submit."""
        if bundle:
            self._running[self._executor.submit([one.task for one in bundle])] = bundle
        return bool(bundle)

    def _bundle(self, tasks: Iterator[Task]) -> list[_Try]:
        bundle: list[_Try] = []
        weight = 0
        while len(bundle) < self._together and weight < _HEAVY:
            one = self._again.popleft() if self._again else self._next(tasks)
            if one is None:
                break
            bundle.append(one)
            weight += len(one.task.given.data or b"")
        return bundle

    def _next(self, tasks: Iterator[Task]) -> _Try | None:
        """The next task that has no result yet."""
        for task in tasks:
            if task.content in self._unreadable:
                self._tally.left_out += 1
            elif task.given.unreadable is not None:
                self._leave_out(task, task.given.unreadable)
            elif (known := self._journal.known(task)) is None:
                return _Try(task, 1)
            elif known is Known.BEFORE:
                self._tally.before += 1
            else:
                self._tally.same += 1
        return None

    def _take(self, future: Future[list[Result]], bundle: list[_Try]) -> None:
        try:
            results = future.result()
        except StoppedError:
            return
        except Exception as error:
            self._together = 1
            for one in bundle:
                self._try_again(one, error)
            return
        for one, result in zip(bundle, results, strict=False):
            self._keep(one.task, result)
        self._again.extend(bundle[len(results) :])
        if len(results) < len(bundle):
            self._together = len(results)
        elif len(bundle) == self._together and sum(one.seconds for one in results) < TOGETHER_SECONDS / 2:
            self._together = min(2 * self._together, _MOST_TOGETHER)

    def _keep(self, task: Task, result: Result) -> None:
        if result.line is None:
            self._leave_out(task, result.unreadable or "")
        elif self._journal.add(result.line):
            self._tally.done += 1
        else:
            self._tally.same += 1

    def _leave_out(self, task: Task, why: str) -> None:
        if task.content not in self._unreadable:
            self._unreadable.add(task.content)
            self._tally.note(f"{task.given.shown} is left out: {why}")
        self._tally.left_out += 1

    def _try_again(self, one: _Try, error: Exception) -> None:
        if one.number < _TRIES:
            self._again.append(_Try(one.task, one.number + 1))
            return
        what = f"{one.task.given.name} by {one.task.asked.name}"
        message = f"{what} is lost: {type(error).__name__}: {error}"[:500]
        self._tally.lost += 1
        if self._tally.lost >= _MOST_LOST and not self._tally.done:
            raise MemstowError(f"nothing runs there: {message}")
        self._tally.note(message)
