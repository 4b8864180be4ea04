"""Runs two programs side by side: each run of the old beside the same run of the new.

A machine drifts: it grows warm, other processes come and go. Between two whole runs the drift looks like a
difference; between two runs that follow each other it is small, and the order changes from pair to pair. The
place of its memory makes a process faster or slower by some per cent for as long as it lives: each instance
gets processes of its own, so that instances are as independent as the comparison assumes.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from threading import Event
from typing import Final

from memstow.planner.bench.instances.sources import Instances
from memstow.planner.bench.records.journal import Journal, RecordedWhen
from memstow.planner.bench.records.record import from_line, to_line
from memstow.planner.bench.runs.executor import Executor
from memstow.planner.bench.runs.progress import Tally
from memstow.planner.bench.runs.supervisors import LostError, Result
from memstow.planner.bench.runs.task import InstanceSource, SolverRequest, Task

_TICK: Final = 0.1
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
    on_tally: Callable[[Tally], None] = lambda _tally: None,
) -> Tally:
    """Do the runs that have no result yet, one at a time."""
    tally = Tally(2 * sum(map(len, instances)) * len(old.solvers) * seeds)
    on_tally(tally)
    pairs = _Pairs(old, new, cancel, tally)
    try:
        for some in instances:
            for source in some:
                pairs.run(source, seeds)
    except _CancelledError:
        pass
    return tally


class _Pairs:
    def __init__(self, old: Side, new: Side, cancel: Event, tally: Tally) -> None:
        self._sides = (old, new)
        self._cancel = cancel
        self._tally = tally
        self._so_far: Counter[str] = Counter()

    def run(self, source: InstanceSource, seeds: int) -> None:
        """Every pair of runs on one instance."""
        if source.unreadable is not None:
            self._leave_out(source, source.unreadable, 2 * seeds * len(self._sides[0].solvers))
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
        wanted = [self._is_wanted(side, task) for side, task in zip(self._sides, tasks, strict=True)]
        if not any(wanted):
            return
        # Counted by solver: with an even number of solvers each would always have the same program first.
        name = tasks[0].solver.title
        order = (0, 1) if self._so_far[name] % 2 == 0 else (1, 0)
        self._so_far[name] += 1
        try:
            results = {place: self._result(executors[place], tasks[place]) for place in order}
        except LostError as error:
            self._tally.lost += sum(wanted)
            self._tally.note(f"{tasks[0].source.name} by {name} is lost: {error}"[:500])
            return
        for turn, place in enumerate(order, 1):
            if wanted[place]:
                self._keep(self._sides[place].journal, tasks[place].source, results[place], turn)

    def _is_wanted(self, side: Side, task: Task) -> bool:
        known = side.journal.known(task)
        if known is RecordedWhen.BEFORE:
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
        result = future.result()[0]
        if result.missing is not None:
            raise LostError(result.missing)
        return result

    def _keep(self, journal: Journal, source: InstanceSource, result: Result, turn: int) -> None:
        if result.line is None:
            self._leave_out(source, result.unreadable or "", 1)
        elif journal.add(to_line(replace(from_line(result.line), turn=turn))):
            self._tally.done += 1
        else:
            self._tally.same += 1

    def _leave_out(self, source: InstanceSource, why: str, runs: int) -> None:
        note = f"{source.label} is left out: {why}"
        if note not in self._tally.notes:  # by both of the two
            self._tally.note(note)
        self._tally.left_out += runs
