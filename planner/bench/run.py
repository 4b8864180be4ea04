"""The main loop of a bench: submits tasks, writes each result, or runs two versions side by side."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Final

from memstow.planner.bench.executors import (
    TOGETHER_SECONDS,
    Executor,
    LostError,
    NotRunError,
    Result,
    StoppedError,
)
from memstow.planner.bench.instances import Instances
from memstow.planner.bench.journal import Journal, RecordedWhen
from memstow.planner.bench.record import from_line, to_line
from memstow.planner.bench.task import InstanceSource, SolverRequest, Task, tasks_of
from memstow.planner.cluster.roster import NoWorkerError
from memstow.planner.model.errors import MemstowError, MissingBackEndError

_NOTED: Final = 20


@dataclass(slots=True)
class Tally:
    """Counts of runs."""

    total: int
    begin: float = field(default_factory=time.monotonic)
    before: int = 0  # results that were there already
    done: int = 0
    same: int = 0  # runs on a problem that another file holds too
    left_out: int = 0  # runs on files that cannot be read as a problem
    lost: int = 0  # runs whose supervisor or worker died
    notes: list[str] = field(default_factory=list)  # what went wrong; the first of it
    by_solver: Counter[tuple[Journal, str]] = field(default_factory=Counter)
    """The settled runs of each solver, by where its results go."""
    handed_out: dict[Future[list[Result]], "Bundle"] = field(default_factory=dict)
    """What executors have."""

    @property
    def settled(self) -> int:
        """Runs that need no further work."""
        return self.before + self.done + self.same + self.left_out + self.lost

    def seconds_left(self) -> float | None:
        """An estimate of the rest, once a run is done."""
        ran = self.settled - self.before
        if not ran:
            return None
        return (time.monotonic() - self.begin) / ran * (self.total - self.settled)

    def note(self, text: str) -> None:
        """Note what went wrong, once; only the first notes are kept."""
        if len(self.notes) < _NOTED and text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True, slots=True)
class Try:
    """A run that may be tried again."""

    task: Task
    number: int


@dataclass(slots=True)
class Bundle:
    """Runs that an executor has together."""

    tries: list[Try]
    began: float | None = None
    """When it was first seen to run, on the monotonic clock; until then it waits for its turn."""


_TICK: Final = 0.1
_TRIES: Final = 3
# The most tasks of a bundle, and the bytes of problems that make a bundle full.
_MOST_TOGETHER: Final = 256
_HEAVY: Final = 4 << 20
# A cluster that loses this many runs, and has done none, will not do better.
_MOST_LOST: Final = 5

OnTally = Callable[[Tally], None]
"""Hears of the tally at the start, again and again while runs are under way, and at the end."""


def run(
    instances: Sequence[Instances],
    solvers: Sequence[SolverRequest],
    seeds: int,
    executor: Executor,
    journal: Journal,
    cancel: Event,
    on_tally: OnTally = lambda _tally: None,
) -> Tally:
    """Do the runs that have no result yet; those left out or lost are in the tally."""
    tally = Tally(sum(map(len, instances)) * len(solvers) * seeds)
    _Run(executor, journal, cancel, tally, on_tally).run(_tasks(instances, solvers, seeds))
    return tally


def run_tasks(
    tasks: Sequence[Task],
    executor: Executor,
    journal: Journal,
    cancel: Event,
    on_tally: OnTally = lambda _tally: None,
) -> Tally:
    """Do these runs, as far as they have no result yet."""
    tally = Tally(len(tasks))
    _Run(executor, journal, cancel, tally, on_tally).run(iter(tasks))
    return tally


def _tasks(instances: Iterable[Instances], solvers: Sequence[SolverRequest], seeds: int) -> Iterator[Task]:
    for some in instances:
        for source in some:
            yield from tasks_of(source, solvers, seeds)


class _Recorder:
    """Writes results to journals, and counts what becomes of the runs."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._unreadable: set[str] = set()  # contents of files
        self._noted: set[str] = set()  # labels of files

    def is_wanted(self, journal: Journal, task: Task) -> bool:
        """Whether there is no result of this run yet, and its file can be read; others are counted."""
        if task.source.unreadable is not None:
            self.leave_out(journal, task, task.source.unreadable)
            return False
        if task.content in self._unreadable:
            self._tally.left_out += 1
            self._settle(journal, task)
            return False
        known = journal.known(task)
        if known is None:
            return True
        if known is RecordedWhen.BEFORE:
            self._tally.before += 1
        else:
            self._tally.same += 1
        self._settle(journal, task)
        return False

    def keep(self, journal: Journal, task: Task, result: Result, turn: int | None = None) -> None:
        """Write a result; `turn` is the place of the run in its pair."""
        if result.line is None:
            self._unreadable.add(task.content)
            self.leave_out(journal, task, result.unreadable or "")
            return
        line = result.line if turn is None else to_line(replace(from_line(result.line), turn=turn))
        if journal.add(line):
            self._tally.done += 1
        else:
            self._tally.same += 1
        self._settle(journal, task)

    def leave_out(self, journal: Journal, task: Task, why: str) -> None:
        """Count a run on a file that cannot be read, and note the file once."""
        label = task.source.label
        if label not in self._noted:
            self._noted.add(label)
            self._tally.note(f"{label} is left out: {why}")
        self._tally.left_out += 1
        self._settle(journal, task)

    def lose(self, journal: Journal, task: Task, why: str) -> str:
        """Count a run that was lost; what is noted of it."""
        note = f"{task.source.name} by {task.solver.title} is lost: {why}"[:500]
        self._tally.lost += 1
        self._tally.note(note)
        self._settle(journal, task)
        return note

    def _settle(self, journal: Journal, task: Task) -> None:
        self._tally.by_solver[journal, task.solver.title] += 1


class _Run:
    def __init__(
        self, executor: Executor, journal: Journal, cancel: Event, tally: Tally, on_tally: OnTally
    ) -> None:
        self._executor = executor
        self._recorder = _Recorder(tally)
        self._journal = journal
        self._cancel = cancel
        self._tally = tally
        self._on_tally = on_tally
        self._running = tally.handed_out
        self._retries: deque[Try] = deque()
        self._together = 1

    def run(self, tasks: Iterator[Task]) -> None:
        more = True
        self._on_tally(self._tally)
        while (more or self._running) and not self._cancel.is_set():
            while more and len(self._running) < self._executor.window:
                more = self._submit(self._bundle(tasks))
            if not self._running:
                # The cluster is away.
                self._cancel.wait(_TICK)
            done, _ = wait(self._running, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(future, self._running.pop(future).tries)
            _note_begins(self._tally)
            self._on_tally(self._tally)
            more = more or bool(self._retries)

    def _submit(self, bundle: list[Try]) -> bool:
        """Whether there was anything to submit."""
        if bundle:
            self._running[self._executor.submit([one.task for one in bundle])] = Bundle(bundle)
        return bool(bundle)

    def _bundle(self, tasks: Iterator[Task]) -> list[Try]:
        bundle: list[Try] = []
        weight = 0
        while len(bundle) < self._together and weight < _HEAVY:
            if self._retries:
                one = self._retries.popleft()
            else:
                task = next((task for task in tasks if self._recorder.is_wanted(self._journal, task)), None)
                if task is None:
                    break
                one = Try(task, 1)
            bundle.append(one)
            weight += len(one.task.source.data or b"")
        return bundle

    def _take(self, future: Future[list[Result]], bundle: list[Try]) -> None:
        try:
            results = future.result()
        except Exception as error:
            self._fail(bundle, error)
            return
        for one, result in zip(bundle, results, strict=False):
            if result.missing is None:
                self._recorder.keep(self._journal, one.task, result)
            else:
                self._try_again(one, MissingBackEndError(result.missing))
        self._retries.extend(bundle[len(results) :])
        if len(results) < len(bundle):
            self._together = len(results)
        elif len(bundle) == self._together and sum(one.seconds for one in results) < TOGETHER_SECONDS / 2:
            self._together = min(2 * self._together, _MOST_TOGETHER)

    def _fail(self, bundle: list[Try], error: Exception) -> None:
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

    def _try_again(self, one: Try, error: Exception) -> None:
        if one.number < _TRIES:
            self._retries.append(Try(one.task, one.number + 1))
        else:
            self._lose(one.task, error)

    def _lose(self, task: Task, error: Exception) -> None:
        note = self._recorder.lose(self._journal, task, f"{type(error).__name__}: {error}")
        if self._tally.lost >= _MOST_LOST and not self._tally.done:
            raise MemstowError(f"nothing runs there: {note}")


def _note_begins(tally: Tally) -> None:
    """Note which of what was handed out runs by now."""
    for future, bundle in tally.handed_out.items():
        if bundle.began is None and future.running():
            bundle.began = time.monotonic()


_SMALL: Final = InstanceSource("small", "", data=b"id,lower,upper,size\na,0,1,1\n")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two programs: its solvers, its executor, and its results."""

    solvers: Sequence[SolverRequest]
    start: Callable[[], Executor]
    journal: Journal


class _CancelledError(Exception):
    """The run was cancelled."""


def run_interleaved(
    instances: Sequence[Instances],
    old: Side,
    new: Side,
    seeds: int,
    cancel: Event,
    on_tally: OnTally = lambda _tally: None,
) -> Tally:
    """Do the runs that have no result yet, one at a time."""
    tally = Tally(2 * sum(map(len, instances)) * len(old.solvers) * seeds)
    on_tally(tally)
    pairs = _Pairs(old, new, cancel, tally, on_tally)
    try:
        for some in instances:
            for source in some:
                pairs.run(source, seeds)
    except _CancelledError:
        pass
    return tally


class _Pairs:
    def __init__(self, old: Side, new: Side, cancel: Event, tally: Tally, on_tally: OnTally) -> None:
        self._sides = (old, new)
        self._cancel = cancel
        self._tally = tally
        self._on_tally = on_tally
        self._recorder = _Recorder(tally)
        self._so_far: Counter[str] = Counter()

    def run(self, source: InstanceSource, seeds: int) -> None:
        """Every pair of runs on one instance."""
        if source.unreadable is not None:
            for side in self._sides:
                for task in tasks_of(source, side.solvers, seeds):
                    self._recorder.leave_out(side.journal, task, source.unreadable)
            return
        content = source.content
        executors = [side.start() for side in self._sides]
        try:
            self._warm(executors)
            for seed in range(seeds):
                for both in zip(*(side.solvers for side in self._sides), strict=True):
                    self._pair([Task(source, content, solver, seed) for solver in both], executors)
        finally:
            for executor in executors:
                executor.close()

    def _warm(self, executors: Sequence[Executor]) -> None:
        """Start both processes, so that no first run is measured beside a start."""
        for side, executor in zip(self._sides, executors, strict=True):
            if side.solvers[0].command is None:
                self._result(executor, Task(_SMALL, _SMALL.content, side.solvers[0], 0))

    def _pair(self, tasks: Sequence[Task], executors: Sequence[Executor]) -> None:
        journals = [side.journal for side in self._sides]
        wanted = [
            self._recorder.is_wanted(journal, task) for journal, task in zip(journals, tasks, strict=True)
        ]
        if not any(wanted):
            return
        # Counted by solver: with an even number of solvers each would always have the same program first.
        name = tasks[0].solver.title
        order = (0, 1) if self._so_far[name] % 2 == 0 else (1, 0)
        self._so_far[name] += 1
        try:
            results = {place: self._result(executors[place], tasks[place]) for place in order}
        except LostError as error:
            for journal, task, is_wanted in zip(journals, tasks, wanted, strict=True):
                if is_wanted:
                    self._recorder.lose(journal, task, str(error))
            return
        for turn, place in enumerate(order, 1):
            if wanted[place]:
                self._recorder.keep(journals[place], tasks[place], results[place], turn)

    def _result(self, executor: Executor, task: Task) -> Result:
        future = executor.submit([task])
        self._tally.handed_out[future] = Bundle([Try(task, 1)])
        while not wait([future], timeout=_TICK).done:
            _note_begins(self._tally)
            self._on_tally(self._tally)
            if self._cancel.is_set():
                raise _CancelledError
        del self._tally.handed_out[future]
        self._on_tally(self._tally)
        if self._cancel.is_set():
            raise _CancelledError
        result = future.result()[0]
        if result.missing is not None:
            raise LostError(result.missing)
        return result
