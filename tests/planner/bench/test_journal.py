"""Whatever ended a run, what it wrote is there once, whole, and nothing is run again for nothing."""

from pathlib import Path

import pytest

from memstow.planner.bench.journal import InterruptedBenchError, Journal, RecordedWhen
from memstow.planner.bench.record import RESULTS, from_line
from memstow.planner.model.errors import InputError, MemstowError
from tests.planner.bench.requests import given, line, solver, task


def written(folder: Path) -> list[int]:
    return [from_line(text).seed for text in (folder / RESULTS).read_text().splitlines()]


def test_results_are_added_as_they_come_and_known_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "new", resume=False)
    assert journal.add(line(0))
    assert written(tmp_path / "new") == [0], "a result waits for nothing"
    assert journal.add(line(1))
    journal.close()
    again = Journal(tmp_path / "new", resume=True)
    request = [task(given(), solver("exact"), seed) for seed in range(3)]
    assert [again.known(one) for one in request] == [RecordedWhen.BEFORE, RecordedWhen.BEFORE, None]
    assert again.known(task(given(), solver("greedy"), 0)) is None
    assert again.known(task(given(), solver("exact", time_limit=6.0), 0)) is None
    assert again.known(task(given(b"other"), solver("exact"), 0)) is None
    assert again.endings == {("exact", "feasible"): 2}
    again.close()


def test_a_key_has_one_record(tmp_path: Path) -> None:
    journal = Journal(tmp_path, resume=False)
    assert [journal.add(line(0)), journal.add(line(0)), journal.add(line(0, "e" * 64))] == [True, False, True]
    journal.close()
    assert written(tmp_path) == [0, 0]


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_line_that_was_cut_short_is_taken_back(tmp_path: Path, kept: int) -> None:
    whole = line(0) + "\n"
    (tmp_path / RESULTS).write_text(whole + line(1)[:kept])
    journal = Journal(tmp_path, resume=True)
    assert journal.known(task(given(), solver("exact"), 1)) is None
    assert journal.add(line(1))
    journal.close()
    assert written(tmp_path) == [0, 1]


def test_a_file_of_nothing_but_a_part_of_a_line_is_empty(tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text("x" * 200_000)
    Journal(tmp_path, resume=True).close()
    assert (tmp_path / RESULTS).read_text() == ""


def test_results_are_not_added_to_unasked(tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text(line(0) + "\n")
    with pytest.raises(InputError, match="there are results already"):
        Journal(tmp_path, resume=False)
    assert written(tmp_path) == [0]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    text = line(0) + "\ngarbage\n" + line(1) + "\n"
    (tmp_path / RESULTS).write_text(text)
    with pytest.raises(InputError, match="line 2"):
        Journal(tmp_path, resume=True)
    assert (tmp_path / RESULTS).read_text() == text


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    first = Journal(tmp_path, resume=False)
    with pytest.raises(MemstowError, match="another run"):
        Journal(tmp_path, resume=True)
    first.close()
    Journal(tmp_path, resume=True).close()


def test_of_another_file_of_the_same_problem_one_run_tells_for_all(tmp_path: Path) -> None:
    other = given(b"the same in other words")
    journal = Journal(tmp_path, resume=False)
    for seed in range(3):
        journal.add(line(seed))
    assert journal.known(task(other, solver("exact"), 0)) is None
    assert not journal.add(line(0, content=other.content))
    request = [task(other, solver("exact"), seed) for seed in range(4)]
    assert [journal.known(one) for one in request] == [*[RecordedWhen.MEANWHILE] * 3, None]
    assert journal.known(task(given(), solver("exact"), 0)) is RecordedWhen.MEANWHILE
    journal.close()
    again = Journal(tmp_path, resume=True)
    assert again.known(task(given(), solver("exact"), 0)) is RecordedWhen.BEFORE
    again.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_ends_the_bench_for_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path, resume=False)
    message = r"results\.jsonl: No space left on device"
    with open("/dev/full", "ab", buffering=0) as full, monkeypatch.context() as patched:
        patched.setattr(journal, "_file", full)
        with pytest.raises(InterruptedBenchError, match=message):
            journal.add(line(0))
    journal.close()


def test_a_line_that_was_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text(f"{line(0)}\nx{line(1)}\n{line(2)}\n")
    with pytest.raises(InputError, match=r"line 2: a record is a line of JSON"):
        Journal(tmp_path, resume=True)
