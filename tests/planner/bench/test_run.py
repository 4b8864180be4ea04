"""A bench asks for each run once, has few under way, tries what was lost again, and says what it left out."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from memstow.planner.bench.executors import Local, LostError, Result
from memstow.planner.bench.instances import Generated
from memstow.planner.bench.journal import Journal
from memstow.planner.bench.record import RESULTS, Ending, Record, from_line
from memstow.planner.bench.run import Tally, run
from memstow.planner.bench.task import InstanceSource, Task
from memstow.planner.model.errors import MemstowError
from tests.planner.bench.requests import given, line, solver, timeless


class Fake:
    """Does each task at once, by a function; of those that come together, so many."""

    def __init__(self, perform: Callable[[Task], Result], window: int = 3, at_once: int = 64) -> None:
        self.window = window
        self.bundles: list[int] = []
        self._at_once = at_once
        self.asked: list[tuple[str, str, int]] = []
        self._perform = perform

    def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
        self.bundles.append(len(tasks))
        taken = tasks[: self._at_once]
        self.asked += [(task.source.name, task.solver.name, task.seed) for task in taken]
        future: Future[list[Result]] = Future()
        try:
            future.set_result([self._perform(task) for task in taken])
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        pass


def recorded(task: Task) -> Result:
    return Result(line=line(task.seed, task.content, task.content, task.solver.name))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path, resume=True)
    yield opened
    opened.close()


def all_of(
    givens: list[InstanceSource],
    executor: Fake,
    journal: Journal,
    names: tuple[str, ...] = ("exact",),
    seeds: int = 1,
) -> Tally:
    return run([givens], [solver(name) for name in names], seeds, executor, journal, Event())


def test_every_instance_by_every_solver_with_every_seed(journal: Journal) -> None:
    fake = Fake(recorded)
    tally = all_of([given(b"1", "a"), given(b"2", "b")], fake, journal, ("exact", "greedy"), 2)
    names, solvers, seeds = ("a", "b"), ("exact", "greedy"), (0, 1)
    assert sorted(fake.asked) == sorted((n, s, seed) for n in names for s in solvers for seed in seeds)
    assert (tally.total, tally.settled, tally.done, tally.lost) == (8, 8, 8, 0)


def test_what_has_a_result_is_not_asked_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path, resume=False)
    all_of([given(b"1", "a")], Fake(recorded), journal, seeds=2)
    journal.close()
    again = Journal(tmp_path, resume=True)
    fake = Fake(recorded)
    tally = all_of([given(b"1", "renamed"), given(b"2", "b")], fake, again, seeds=3)
    again.close()
    assert fake.asked == [("renamed", "exact", 2), ("b", "exact", 0), ("b", "exact", 1), ("b", "exact", 2)]
    assert (tally.before, tally.done) == (2, 4)


def test_the_same_problem_in_two_files_has_one_record(journal: Journal) -> None:
    fake = Fake(lambda task: Result(line=line(task.seed, content=task.content)))
    tally = all_of([given(b"1", "a"), given(b"2", "b")], fake, journal)
    assert (tally.done, tally.same) == (1, 1)
    again = Fake(recorded)
    tally = all_of([given(b"1", "a"), given(b"1", "copy"), given(b"2", "b")], again, journal)
    assert (again.asked, tally.same, tally.done) == ([], 3, 0), "all of them are known by now"


def test_what_is_no_problem_is_tried_once_and_named(journal: Journal) -> None:
    fake = Fake(lambda _task: Result(unreadable="it is a poem"))
    tally = all_of([given(b"1", "a"), InstanceSource("b", "tiny", unreadable="gone")], fake, journal, seeds=4)
    assert (tally.left_out, tally.settled) == (8, 8)
    assert len(fake.asked) <= fake.window
    assert tally.notes == ["b is left out: gone", "a is left out: it is a poem"] or tally.notes == [
        "a is left out: it is a poem",
        "b is left out: gone",
    ]


def test_what_is_lost_is_tried_again_and_then_told(journal: Journal) -> None:
    failures = {"a": 2, "b": 99}

    def perform(task: Task) -> Result:
        failures[task.source.name] -= 1
        if failures[task.source.name] >= 0:
            raise LostError("the machine is gone")
        return recorded(task)

    fake = Fake(perform)
    tally = all_of([given(b"1", "a"), given(b"2", "b")], fake, journal)
    assert (tally.done, tally.lost) == (1, 1)
    assert [name for name, _, _ in fake.asked].count("a") == 3
    assert "the machine is gone" in tally.notes[0]
    again = all_of([given(b"2", "b")], Fake(recorded), journal)
    assert again.done == 1, "what was lost has no record, so it is asked again"


def test_where_everything_is_lost_the_run_ends(journal: Journal) -> None:
    def perform(_task: Task) -> Result:
        raise ModuleNotFoundError("no module named planner")

    with pytest.raises(MemstowError, match="no module named planner"):
        all_of([given(b"%d" % n, str(n)) for n in range(100)], Fake(perform), journal)


def test_few_tasks_are_under_way_however_many_there_are(journal: Journal) -> None:
    fake = Fake(recorded)
    waiting: list[tuple[Future[list[Result]], Sequence[Task]]] = []
    most = 0

    class Slow(Fake):
        def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
            nonlocal most
            future: Future[list[Result]] = Future()
            waiting.append((future, tasks))
            most = max(most, len(waiting))
            if len(waiting) == self.window:
                for held, cluster in waiting:
                    held.set_result([recorded(task) for task in cluster])
                waiting.clear()
            return future

    tally = all_of([given(b"%d" % n, str(n)) for n in range(60)], Slow(fake._perform, 4), journal)
    assert most <= 4
    assert tally.settled == 60


def test_quick_tasks_travel_together_and_slow_ones_alone(journal: Journal) -> None:
    quick = Fake(recorded, window=1, at_once=256)
    all_of([given(b"%d" % n, str(n)) for n in range(300)], quick, journal)
    assert quick.bundles == [1, 2, 4, 8, 16, 32, 64, 128, 45]
    slow = Fake(lambda task: replace(recorded(task), seconds=5.0), window=1, at_once=1)
    all_of([given(b"s%d" % n, str(n)) for n in range(20)], slow, journal)
    assert set(slow.bundles) == {1}
    slower = Fake(recorded, window=1, at_once=3)
    tally = all_of([given(b"r%d" % n, str(n)) for n in range(20)], slower, journal)
    assert max(slower.bundles) == 6
    assert (tally.done, len(slower.asked)) == (20, 20), "what was not done of a bundle is asked for again"


def test_large_problems_travel_alone(journal: Journal) -> None:
    fake = Fake(recorded, window=1)
    all_of([given(b"%d" % n * (3 << 20), str(n)) for n in range(9)], fake, journal)
    assert max(fake.bundles) == 2


def test_a_run_that_is_called_off_asks_for_nothing_more(journal: Journal) -> None:
    cancel = Event()

    def perform(task: Task) -> Result:
        cancel.set()
        return recorded(task)

    fake = Fake(perform)
    tally = run([[given(b"%d" % n, str(n)) for n in range(50)]], [solver("exact")], 1, fake, journal, cancel)
    assert len(fake.asked) <= fake.window
    assert tally.settled < tally.total


def results(folder: Path) -> list[Record]:
    return [from_line(text) for text in (folder / RESULTS).read_text().splitlines()]


def test_here_several_at_a_time_and_one_by_one_are_the_same(tmp_path: Path) -> None:
    result = []
    for jobs in (1, 3):
        folder = tmp_path / str(jobs)
        journal, executor = Journal(folder, resume=False), Local(jobs)
        made = Generated("planted", {}, range(30, 31), range(6))
        tally = run([made], [solver("greedy"), solver("auto")], 2, executor, journal, Event())
        executor.close()
        journal.close()
        assert tally.done == 24
        result.append(sorted((timeless(record) for record in results(folder)), key=lambda record: record.key))
    assert result[0] == result[1]
    assert {record.status for record in result[0]} <= {Ending.OPTIMAL, Ending.FEASIBLE}


def test_the_time_left_follows_from_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    tally = Tally(total=50, begin=90.0, before=20)
    assert tally.seconds_left() is None
    tally.done = 4
    tally.left_out = 1
    assert tally.seconds_left() == pytest.approx(10.0 / 5 * 25)


def test_a_run_that_keeps_failing_is_tried_three_times(journal: Journal) -> None:
    tried: list[str] = []

    def perform(task: Task) -> Result:
        tried.append(task.source.name)
        if task.source.name == "bad":
            raise OSError("gone")
        return recorded(task)

    instances = [given(b"0", "good"), given(b"1", "bad")]
    tally = run([instances], [solver("exact")], 1, Fake(perform), journal, Event())
    assert (tally.done, tally.lost) == (1, 1)
    assert tried.count("bad") == 3
