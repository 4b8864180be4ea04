"""The page that follows a bench: it says what is so, ends as the run does, and harms nobody."""

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from memstow.planner.bench.executors import LostError, Result
from memstow.planner.bench.journal import Journal
from memstow.planner.bench.record import Ending, to_line
from memstow.planner.bench.run import Bundle, Tally, Try, run
from memstow.planner.bench.task import InstanceSource, Task
from memstow.planner.bench.watch import Side, Watch
from tests.planner.bench.make import made
from tests.planner.bench.requests import given, line, solver
from tests.planner.bench.test_run import Fake, recorded

EVIL = "<script>alert('&')</script>"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "out", resume=True)
    yield opened
    opened.close()


class Written(list[str]):
    """The pages in the order in which they were written."""

    def __call__(self, data: bytes) -> None:
        self.append(data.decode())


def text(page: str) -> str:
    """The words of a page, without markup and styles."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("</head>")[2]).split())


def watch(journal: Journal, written: Written, *solvers: str) -> Watch:
    return Watch("out", [Side("", journal, solvers)], written, lambda: 1_800_000_000.0)


def test_the_last_page_has_all_results_and_is_not_loaded_again(journal: Journal) -> None:
    written = Written()
    sources = [given(b"1", "a"), given(b"2", "b"), InstanceSource("c", "tiny", unreadable="gone")]
    with watch(journal, written, "exact", "greedy") as page:
        run([sources], [solver("exact"), solver("greedy")], 1, Fake(recorded), journal, Event(), page.look)
    first, last = written[0], written[-1]
    assert "Running. 0 of 6 runs" in text(first)
    assert 'http-equiv="refresh"' in first
    assert "Finished. 6 of 6 runs" in text(last)
    assert "left 0 not readable 2" in text(last)
    assert "c is left out: gone" in text(last)
    assert "exact 2 0 0 greedy 2 0 0" in text(last)
    assert "2027-01-15 08:00:00 UTC" in text(last)
    assert 'http-equiv="refresh"' not in last
    assert "<script" not in last


def test_what_is_under_way_and_left_is_told_by_solver(journal: Journal) -> None:
    page = watch(journal, Written(), "exact", "greedy")

    class Stuck(Fake):
        def submit(self, tasks: Sequence[Task]) -> Future[list[Result]]:
            if tasks[0].source.name == "a":
                return super().submit(tasks)
            future: Future[list[Result]] = Future()
            future.set_running_or_notify_cancel()
            cancel.set()
            return future

    cancel = Event()
    sources = [given(b"1", "a"), given(b"2", "b")]
    tally = run([sources], [solver("exact"), solver("greedy")], 2, Stuck(recorded), journal, cancel)
    shown = text(page.page(tally, "Running").decode())
    assert f"Running. {tally.done} of 8 runs, about" in shown
    handed = [one for bundle in tally.handed_out.values() for one in bundle.tries]
    assert handed
    assert f"under way {len(handed)} left {8 - tally.done - len(handed)}" in shown
    assert all(bundle.began is not None for bundle in tally.handed_out.values())
    oldest = handed[0].task
    assert f"Under way, the oldest first instance solver seed for {oldest.source.name}" in shown
    assert "Under way" not in text(page.page(tally, "Interrupted").decode())
    waiting: Future[list[Result]] = Future()
    tally.handed_out[waiting] = Bundle([Try(Task(sources[0], "", solver("greedy"), 7), 1)])
    assert "a greedy 7 waits" in text(page.page(tally, "Running").decode())


def test_what_a_resumed_run_has_from_before_is_on_its_page(tmp_path: Path) -> None:
    sources = [given(b"1", "a"), given(b"2", "b"), given(b"3", "c")]
    journal = Journal(tmp_path, resume=False)
    run([sources[:1]], [solver("exact")], 1, Fake(recorded), journal, Event())
    journal.close()
    again, written = Journal(tmp_path, resume=True), Written()
    with watch(again, written, "greedy", "exact") as page:
        solvers = [solver("greedy"), solver("exact")]
        run([sources[:2]], solvers, 1, Fake(recorded), again, Event(), page.look)
    again.close()
    assert "recorded before 1" in text(written[-1])
    assert "greedy 2 0 0 exact 2 0 0" in text(written[-1])
    # A solver of before that is not run now stays.
    third = Journal(tmp_path, resume=True)
    with watch(third, written, "greedy") as page:
        run([sources], [solver("greedy")], 1, Fake(recorded), third, Event(), page.look)
    third.close()
    assert "greedy 3 0 0 exact 2 0 0" in text(written[-1])


def test_names_are_text_and_control_characters_are_shown(journal: Journal) -> None:
    def perform(task: Task) -> Result:
        if task.source.name == "lost":
            raise LostError(EVIL)
        failed = replace(made(EVIL, EVIL, status=Ending.ERROR), error=f"{EVIL}\x1b")
        return Result(line=to_line(failed))

    written = Written()
    page = Watch(EVIL, [Side(EVIL, journal, ["exact"])], written)
    with page:
        run(
            [[given(b"1", EVIL), given(b"2", "lost")]],
            [solver("exact")],
            1,
            Fake(perform),
            journal,
            Event(),
            page.look,
        )
    last = written[-1]
    assert "<script" not in last
    assert "alert(&#x27;&amp;&#x27;)" in last
    assert r"\x1b" in last


def test_an_error_is_how_it_has_ended(journal: Journal) -> None:
    written = Written()
    page = watch(journal, written, "exact")
    page.look(Tally(3))
    page.__exit__(RuntimeError, RuntimeError("the disk <is> full"), None)
    assert "Stopped: the disk &lt;is&gt; full. 0 of 3 runs" in text(written[-1])
    assert 'http-equiv="refresh"' not in written[-1]
    with watch(journal, written, "exact") as page:
        page.look(Tally(3))
        page.interrupted = True
    assert "Interrupted. 0 of 3 runs" in text(written[-1])


def test_a_page_that_cannot_be_written_stops_a_run_at_its_start_alone(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstow.planner.bench.watch._EVERY_SECONDS", 0.0)
    full = False

    def write(_data: bytes) -> None:
        if full:
            raise OSError(28, "No space left on device")

    tally = Tally(2)
    with Watch("out", [Side("", journal, ["exact"])], write) as page:
        page.look(tally)
        full = True
        time.sleep(0.01)
        page.look(tally)
    assert tally.notes == ["the page to watch could not be written: No space left on device"]
    with (
        pytest.raises(OSError, match="No space left"),
        Watch("out", [Side("", journal, ["exact"])], write) as page,
    ):
        page.look(tally)


def test_pages_are_written_now_and_then_however_many_runs_end(journal: Journal) -> None:
    written, tally = Written(), Tally(1000)
    with watch(journal, written, "exact") as page:
        for number in range(1000):
            tally.done = number
            page.look(tally)
        assert len(written) < 100
    assert "999 of 1,000" in text(written[-1])
    # As much as a page holds: it does not grow with the results.
    for number in range(400):
        journal.add(line(number, content=str(number), digest=f"{number:064}"))
    assert len(page.page(tally, "Running")) < 40_000
