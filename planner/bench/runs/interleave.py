"""Two programs side by side: each run of the old beside the same run of the new, so both meet one machine.

A machine drifts: it grows warm, others come and go. Between two whole runs that is taken for a difference;
between two runs that follow each other there is little of it, and who goes first changes from pair to pair.
Where a process has its memory makes it faster or slower by some hundredths for as long as it lives: each
instance gets processes of its own, so that instances are as independent as their comparison takes them to be.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from threading import Event
from typing import Final

from memstow.planner.bench.instances.sources import Instances
from memstow.planner.bench.records.journal import Journal, Known
from memstow.planner.bench.records.record import from_line, to_line
from memstow.planner.bench.runs.executor import Executor
from memstow.planner.bench.runs.progress import Tally
from memstow.planner.bench.runs.supervisors import LostError, Result
from memstow.planner.bench.runs.task import Asked, Given, Task

_TICK: Final = 0.1
_SMALL: Final = Given("small", "", data=b"id,lower,upper,size\na,0,1,1\n")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: what it is asked, where it runs, and where its results go."""

    asked: Sequence[Asked]
    start: Callable[[], Executor]
    journal: Journal


class _CancelledError(Exception):
    """Whoever waits has gone."""


def interleaved(
    instances: Sequence[Instances],
    old: Side,
    new: Side,
    seeds: int,
    cancel: Event,
    on_tally: Callable[[Tally], None] = lambda _tally: None,
) -> Tally:
    """Run what has no result yet, one run at a time."""
    tally = Tally(2 * sum(map(len, instances)) * len(old.asked) * seeds)
    on_tally(tally)
    pairs = _Pairs(old, new, cancel, tally)
    try:
        for some in instances:
            for given in some:
                pairs.run(given, seeds)
    except _CancelledError:
        pass
    return tally


class _Pairs:
    def __init__(self, old: Side, new: Side, cancel: Event, tally: Tally) -> None:
        self._sides = (old, new)
        self._cancel = cancel
        self._tally = tally
        self._so_far: Counter[str] = Counter()

    def run(self, given: Given, seeds: int) -> None:
        """Every pair of runs on one instance."""
        if given.unreadable is not None:
            self._leave_out(given, given.unreadable, 2 * seeds * len(self._sides[0].asked))
            return
        content = given.content
        executors = [side.start() for side in self._sides]
        try:
            self._warm(executors)
            for seed in range(seeds):
                for both in zip(*(side.asked for side in self._sides), strict=True):
                    self._pair([Task(given, content, asked, seed) for asked in both], executors)
        finally:
            for executor in executors:
                executor.close()

    def _warm(self, executors: Sequence[Executor]) -> None:
        """Have both processes started, so that the first run of one is not beside the start of the other."""
        for side, executor in zip(self._sides, executors, strict=True):
            if side.asked[0].command is None:
                self._result(executor, Task(_SMALL, _SMALL.content, side.asked[0], 0))

    def _pair(self, tasks: Sequence[Task], executors: Sequence[Executor]) -> None:
        wanted = [self._is_wanted(side, task) for side, task in zip(self._sides, tasks, strict=True)]
        if not any(wanted):
            return
        # By solver: with an even number of them one would always have the same program first.
        name = tasks[0].asked.name
        order = (0, 1) if self._so_far[name] % 2 == 0 else (1, 0)
        self._so_far[name] += 1
        try:
            results = {place: self._result(executors[place], tasks[place]) for place in order}
        except LostError as error:
            self._tally.lost += sum(wanted)
            self._tally.note(f"{tasks[0].given.name} by {name} is lost: {error}"[:500])
            return
        for turn, place in enumerate(order, 1):
            if wanted[place]:
                self._keep(self._sides[place].journal, tasks[place].given, results[place], turn)

    def _is_wanted(self, side: Side, task: Task) -> bool:
        known = side.journal.known(task)
        if known is Known.BEFORE:
            self._tally.before += 1
        elif known is not None:
            self._tally.same += 1
        return known is None

    def _result(self, executor: Executor, task: Task) -> Result:
        future = executor.submit([task])
        while not wait([future], timeout=_TICK).done:
            if self._cancel.is_set():
                raise _CancelledError
        if self._cancel.is_set():
            raise _CancelledError
        return future.result()[0]

    def _keep(self, journal: Journal, given: Given, result: Result, turn: int) -> None:
        if result.line is None:
            self._leave_out(given, result.unreadable or "", 1)
        elif journal.add(to_line(replace(from_line(result.line), turn=turn))):
            self._tally.done += 1
        else:
            self._tally.same += 1

    def _leave_out(self, given: Given, why: str, runs: int) -> None:
        note = f"{given.shown} is left out: {why}"
        if note not in self._tally.notes:  # by both of the two
            self._tally.note(note)
        self._tally.left_out += runs
