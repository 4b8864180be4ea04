"""The main loop of a bench: submits tasks to an executor, and writes each result to the journal as it comes.

Quick tasks travel in bundles. The size of a bundle follows from how many tasks of earlier ones were done in
the time of a bundle; tasks that were not done are submitted again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from threading import Event
from typing import Final

from memstow.planner.bench.instances.sources import Instances
from memstow.planner.bench.records.journal import Journal, RecordedWhen
from memstow.planner.bench.runs.executor import Executor
from memstow.planner.bench.runs.progress import Tally
from memstow.planner.bench.runs.supervisors import TOGETHER_SECONDS, NotRunError, Result, StoppedError
from memstow.planner.bench.runs.task import SolverRequest, Task, tasks_of
from memstow.planner.cluster.call import NoWorkerError
from memstow.planner.model.errors import MemstowError, MissingBackEndError

_TICK: Final = 0.1
_TRIES: Final = 3
# The most tasks of a bundle, and the bytes of problems that make a bundle full.
_MOST_TOGETHER: Final = 256
_HEAVY: Final = 4 << 20
# A cluster that loses this many runs, and has done none, will not do better.
_MOST_LOST: Final = 5


def run(
    instances: Sequence[Instances],
    solvers: Sequence[SolverRequest],
    seeds: int,
    executor: Executor,
    journal: Journal,
    cancel: Event,
    on_tally: Callable[[Tally], None] = lambda _tally: None,
) -> Tally:
    """Do the runs that have no result yet; those left out or lost are in the tally."""
    tally = Tally(sum(map(len, instances)) * len(solvers) * seeds)
    on_tally(tally)
    _Run(executor, journal, cancel, tally).run(_tasks(instances, solvers, seeds))
    return tally


def _tasks(instances: Iterable[Instances], solvers: Sequence[SolverRequest], seeds: int) -> Iterator[Task]:
    for some in instances:
        for source in some:
            yield from tasks_of(source, solvers, seeds)


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
        self._retries: deque[_Try] = deque()
        self._together = 1
        self._unreadable: set[str] = set()

    def run(self, tasks: Iterator[Task]) -> None:
        more = True
        while (more or self._running) and not self._cancel.is_set():
            while more and len(self._running) < self._executor.window:
                more = self._submit(self._bundle(tasks))
            if not self._running:
                # The cluster is away.
                self._cancel.wait(_TICK)
            done, _ = wait(self._running, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(future, self._running.pop(future))
            more = more or bool(self._retries)

    def _submit(self, bundle: list[_Try]) -> bool:
        """Whether there was anything to submit."""
        if bundle:
            self._running[self._executor.submit([one.task for one in bundle])] = bundle
        return bool(bundle)

    def _bundle(self, tasks: Iterator[Task]) -> list[_Try]:
        bundle: list[_Try] = []
        weight = 0
        while len(bundle) < self._together and weight < _HEAVY:
            one = self._retries.popleft() if self._retries else self._next(tasks)
            if one is None:
                break
            bundle.append(one)
            weight += len(one.task.source.data or b"")
        return bundle

    def _next(self, tasks: Iterator[Task]) -> _Try | None:
        """The next task that has no result yet."""
        for task in tasks:
            if task.content in self._unreadable:
                self._tally.left_out += 1
            elif task.source.unreadable is not None:
                self._leave_out(task, task.source.unreadable)
            elif (known := self._journal.known(task)) is None:
                return _Try(task, 1)
            elif known is RecordedWhen.BEFORE:
                self._tally.before += 1
            else:
                self._tally.same += 1
        return None

    def _take(self, future: Future[list[Result]], bundle: list[_Try]) -> None:
        try:
            results = future.result()
        except Exception as error:
            self._fail(bundle, error)
            return
        for one, result in zip(bundle, results, strict=False):
            if result.missing is None:
                self._keep(one.task, result)
            else:
                self._try_again(one, MissingBackEndError(result.missing))
        self._retries.extend(bundle[len(results) :])
        if len(results) < len(bundle):
            self._together = len(results)
        elif len(bundle) == self._together and sum(one.seconds for one in results) < TOGETHER_SECONDS / 2:
            self._together = min(2 * self._together, _MOST_TOGETHER)

    def _fail(self, bundle: list[_Try], error: Exception) -> None:
        if isinstance(error, StoppedError):
            return
        if isinstance(error, NotRunError):
            self._retries.extend(bundle)
            return
        self._together = 1
        if isinstance(error, NoWorkerError):
            # The others may need something else.
            self._lose(bundle[0].task, error)
            self._retries.extend(bundle[1:])
            return
        for one in bundle:
            self._try_again(one, error)

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
            self._tally.note(f"{task.source.label} is left out: {why}")
        self._tally.left_out += 1

    def _try_again(self, one: _Try, error: Exception) -> None:
        if one.number < _TRIES:
            self._retries.append(_Try(one.task, one.number + 1))
        else:
            self._lose(one.task, error)

    def _lose(self, task: Task, error: Exception) -> None:
        what = f"{task.source.name} by {task.solver.title}"
        message = f"{what} is lost: {type(error).__name__}: {error}"[:500]
        self._tally.lost += 1
        if self._tally.lost >= _MOST_LOST and not self._tally.done:
            raise MemstowError(f"nothing runs there: {message}")
        self._tally.note(message)
