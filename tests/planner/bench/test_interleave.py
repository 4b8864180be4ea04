"""Two programs side by side: who is first changes, what is recorded goes to each, and pairs tell the truth.

What programs take is simulated: they tell of times that they make up.
"""

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

import pytest

from memstow.planner.bench.compare import NAMES, Comparison, Strictness, Verdict, compare
from memstow.planner.bench.executors import LostError, Result
from memstow.planner.bench.journal import Journal, read
from memstow.planner.bench.record import Instance, Record, to_line
from memstow.planner.bench.run import Side, Tally, run_interleaved
from memstow.planner.bench.task import InstanceSource, RunOptions, SolverRequest, Task
from tests.planner.bench.make import made

pytest.importorskip("scipy", reason="comparing runs needs the extra bench")

TIMED = ("seconds", "cpu", "reported")


@dataclass
class Machine:
    """A machine that grows slower and slower, with noise, and keeps what ran on it in which order."""

    drift: float = 1.0
    noise: random.Random | None = None
    ran: list[tuple[str, str, str, int]] = field(default_factory=list)
    started: int = 0

    def seconds(self) -> float:
        slow = self.drift ** len(self.ran)
        return 0.001 * slow * (self.noise.uniform(0.7, 1.4) if self.noise else 1.0)


@dataclass
class Program:
    """An outside program with times of its own making, as an executor."""

    name: str
    machine: Machine
    factor: float = 1.0
    loses: frozenset[str] = frozenset()
    window: int = 1

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        (task,) = tasks
        future: Future[list[Result]] = Future()
        if task.source.name in self.loses:
            future.set_exception(LostError("it is gone"))
        elif task.source.data == b"garbage":
            future.set_result([Result(unreadable="it is no problem")])
        else:
            self.machine.ran.append((self.name, task.source.name, task.solver.name, task.seed))
            future.set_result([Result(to_line(self._record(task)))])
        return future

    def _record(self, task: Task) -> Record:
        seconds = self.machine.seconds() * self.factor
        record = made(
            task.source.name, task.solver.name, 10, seed=task.seed, seconds=seconds, reported=seconds
        )
        instance = Instance(task.source.name, "family", f"digest of {task.source.name}", task.content, {})
        return replace(record, instance=instance, solver=task.solver.solver_info("1"))

    def close(self) -> None:
        self.machine.started += 1


class Some(list[InstanceSource]):
    """Instances."""


def _given(many: int) -> Some:
    return Some(InstanceSource(f"i{k}", "family", data=f"{k}".encode()) for k in range(many))


def _asked(*names: str) -> list[SolverRequest]:
    options: RunOptions = {
        "format": None,
        "target": None,
        "capacity": None,
        "fit_only": False,
        "time_limit": 1.0,
        "memory": None,
    }
    return [SolverRequest(name, options, ("program", "{input}"), ".") for name in names]


def _run(
    folder: Path,
    machine: Machine,
    instances: Some,
    *,
    factor: float = 1.0,
    seeds: int = 1,
    solvers: Sequence[str] = ("x",),
    loses: frozenset[str] = frozenset(),
    resume: bool = False,
    cancel: Event | None = None,
) -> Tally:
    with ExitStack() as stack:
        old, new = (
            Side(
                _asked(*solvers),
                lambda name=name, by=by: Program(name, machine, by, loses),  # type: ignore[misc]
                stack.enter_context(closing(Journal(folder / name, resume))),
            )
            for name, by in (("old", 1.0), ("new", factor))
        )
        return run_interleaved([instances], old, new, seeds, cancel or Event())


def _compared(folder: Path) -> Comparison:
    return compare(read(folder / "old"), read(folder / "new"), Strictness(), NAMES)


def _verdicts(comparison: Comparison) -> Iterator[Verdict]:
    return (line.verdict for line in comparison.lines if line.measure in TIMED)


def test_pairs_follow_each_other_and_the_first_of_them_changes(tmp_path: Path) -> None:
    machine = Machine()
    tally = _run(tmp_path, machine, _given(2), seeds=2, solvers=("x", "y"))
    assert (tally.total, tally.done, tally.settled) == (16, 16, 16)
    pairs = [machine.ran[place : place + 2] for place in range(0, 16, 2)]
    assert all(one[1:] == other[1:] and one[0] != other[0] for one, other in pairs)
    for solver in ("x", "y"):
        first = [one[0] for one, _ in pairs if one[2] == solver]
        assert first == ["old", "new", "old", "new"]
    turns = {
        name: [run.record.turn for run in read(tmp_path / name).runs if run.solver == "x"]
        for name in ("old", "new")
    }
    assert turns == {"old": [1, 2, 1, 2], "new": [2, 1, 2, 1]}


def test_each_instance_gets_processes_of_its_own_and_they_end(tmp_path: Path) -> None:
    machine = Machine()
    _run(tmp_path, machine, _given(3), seeds=2)
    assert machine.started == 6


def test_a_drift_that_whole_runs_take_for_a_difference_is_none_between_pairs(tmp_path: Path) -> None:
    instances = _given(24)
    _run(tmp_path / "beside", Machine(drift=1.01), instances)
    assert set(_verdicts(_compared(tmp_path / "beside"))) == {Verdict.SAME}
    # The same machine, whole runs one after the other.
    machine = Machine(drift=1.01)
    for name in ("old", "new"):
        _run(tmp_path / name, machine, instances)
    apart = compare(read(tmp_path / "old" / "old"), read(tmp_path / "new" / "old"), Strictness(), NAMES)
    assert set(_verdicts(apart)) == {Verdict.WORSE}


def test_identical_programs_are_the_same_whatever_the_machine_does(tmp_path: Path) -> None:
    called = 0
    for trial in range(24):
        machine = Machine(drift=1.002, noise=random.Random(trial))
        _run(tmp_path / str(trial), machine, _given(24))
        called += any(verdict is not Verdict.SAME for verdict in _verdicts(_compared(tmp_path / str(trial))))
    # One in twenty may be.
    assert called <= 3


@pytest.mark.parametrize("factor", [1.05, 1.2])
def test_a_slowdown_is_found_and_told_as_it_is(tmp_path: Path, factor: float) -> None:
    _run(tmp_path, Machine(drift=1.001), _given(24), factor=factor)
    comparison = _compared(tmp_path)
    assert set(_verdicts(comparison)) == {Verdict.WORSE}
    means = [line.mean for line in comparison.lines if line.measure in TIMED]
    assert means == [pytest.approx(factor, rel=0.001)] * 3
    assert comparison.pairs.side_by_side


def test_what_there_is_already_is_not_run_again(tmp_path: Path) -> None:
    _run(tmp_path, Machine(), _given(2))
    machine = Machine()
    tally = _run(tmp_path, machine, _given(3), resume=True)
    assert {name for _, name, _, _ in machine.ran} == {"i2"}
    assert (tally.before, tally.done) == (4, 2)


def test_what_only_one_of_them_has_is_run_by_both_and_counted_once(tmp_path: Path) -> None:
    _run(tmp_path, Machine(), _given(1))
    (tmp_path / "new" / "results.jsonl").write_text("")
    machine = Machine()
    tally = _run(tmp_path, machine, _given(1), resume=True)
    assert len(machine.ran) == 2
    assert (tally.before, tally.done, tally.settled) == (1, 1, 2)
    assert [len(read(tmp_path / name).runs) for name in ("old", "new")] == [1, 1]


def test_what_is_no_problem_is_left_out_and_what_is_lost_is_told(tmp_path: Path) -> None:
    instances = Some(
        [
            InstanceSource("i0", "family", data=b"0"),
            InstanceSource("away", "family", unreadable="there is no such file"),
            InstanceSource("poem", "family", data=b"garbage"),
            InstanceSource("gone", "family", data=b"1"),
        ]
    )
    tally = _run(tmp_path, Machine(), instances, loses=frozenset({"gone"}))
    assert (tally.done, tally.left_out, tally.lost, tally.settled) == (2, 4, 2, 8)
    assert len(tally.notes) == 3
    for note, text in zip(
        tally.notes, ("away is left out", "poem is left out", "gone by x is lost"), strict=True
    ):
        assert text in note


def test_who_cancels_gets_what_there_is(tmp_path: Path) -> None:
    cancel = Event()
    cancel.set()
    machine = Machine()
    assert _run(tmp_path, machine, _given(5), cancel=cancel).done == 0
    assert machine.started == 2
