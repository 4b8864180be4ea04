"""Short runs are measured by several of them, and nothing but their times comes of the others."""

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstow.planner.bench.executors import Supervisors
from memstow.planner.bench.usage import MOST_RUNS, ResourceUsage, repeat_short_run
from tests.planner.bench.requests import SIDE_BY_SIDE, given, program, record_of, solver, timeless

FOREVER = 1e6


@pytest.fixture(scope="module")
def supervisors() -> Iterator[Supervisors]:
    """Supervisors for the runs of this module."""
    made = Supervisors()
    yield made
    made.stop()


def _usage(seconds: float, reported: float | None = None, memory: int | None = None) -> ResourceUsage:
    return ResourceUsage(seconds, 2 * seconds, memory, reported)


def test_there_are_as_many_as_it_takes_and_medians_are_kept() -> None:
    times = iter([0.003, 0.001, 0.002, 0.002])
    used = repeat_short_run(_usage(0.009), lambda: _usage(next(times)), 0.015)
    # 9 + 3 + 1 + 2 ms are enough.
    assert used == replace(_usage(0.0025), repeats=4)


def test_what_is_long_enough_is_run_once() -> None:
    assert repeat_short_run(_usage(0.02), lambda: pytest.fail("it ran again"), 0.02) == _usage(0.02)


def test_there_is_an_end_to_what_takes_no_time() -> None:
    assert repeat_short_run(_usage(0.0), lambda: _usage(0.0), FOREVER).repeats == MOST_RUNS


def test_a_failure_ends_the_repeating_and_is_not_measured() -> None:
    runs = iter([_usage(3.0), None])
    assert repeat_short_run(_usage(1.0), lambda: next(runs), FOREVER) == replace(_usage(2.0), repeats=2)


def test_what_only_some_runs_report_is_their_median() -> None:
    runs = iter([_usage(1.0, 5.0), _usage(1.0, None), _usage(1.0, 7.0), None])
    assert repeat_short_run(_usage(1.0), lambda: next(runs), FOREVER).reported_seconds == 6.0


def test_the_memory_is_that_of_the_first_run() -> None:
    runs = iter([_usage(1.0, memory=5), _usage(1.0, memory=5), _usage(1.0, memory=6), None])
    assert repeat_short_run(_usage(1.0, memory=7), lambda: next(runs), FOREVER).peak_memory == 7


def test_a_solver_is_repeated_and_its_record_is_that_of_one_run(supervisors: Supervisors) -> None:
    once = record_of(supervisors, given(), solver("greedy"))
    often = record_of(supervisors, given(), replace(solver("greedy"), repeat_seconds=FOREVER))
    assert (once.repeats, often.repeats) == (1, MOST_RUNS)
    assert timeless(often) == timeless(once)
    assert once.key == often.key


COUNTING = f"""
import os
ran = os.path.join(os.path.dirname(__file__), "ran")
count = len(open(ran).read()) if os.path.exists(ran) else 0
open(ran, "a").write(".")
THEN
assert not os.path.exists(sys.argv[2]), "what the run before wrote is there"
{textwrap.dedent(SIDE_BY_SIDE)}
print(0.001 * (count + 1), file=sys.stderr)
"""


def _counting(folder: Path, then: str = "", enough: float = FOREVER) -> Any:
    return replace(program(folder, "import sys\n" + COUNTING.replace("THEN", then)), repeat_seconds=enough)


def test_an_outside_program_is_repeated_with_the_times_that_it_tells(
    supervisors: Supervisors, tmp_path: Path
) -> None:
    record = record_of(supervisors, given(), _counting(tmp_path))
    assert (record.status, record.repeats, record.peak) == ("feasible", MOST_RUNS, 200 + 50)
    assert len((tmp_path / "ran").read_text()) == MOST_RUNS
    # It says 1 ms of the first run, 2 ms of the second and so on.
    assert record.reported_seconds == pytest.approx(0.001 * (MOST_RUNS + 1) / 2)


def test_an_outside_program_that_fails_when_repeated_is_measured_by_the_runs_before(
    supervisors: Supervisors, tmp_path: Path
) -> None:
    record = record_of(supervisors, given(), _counting(tmp_path, "if count == 3: sys.exit(1)"))
    assert (record.status, record.repeats) == ("feasible", 3)
    assert record.reported_seconds == pytest.approx(0.002)


def test_what_fails_at_once_is_not_tried_again(supervisors: Supervisors, tmp_path: Path) -> None:
    record = record_of(supervisors, given(), _counting(tmp_path, "sys.exit(1)"))
    assert (record.status, record.repeats) == ("error", 1)
    assert len((tmp_path / "ran").read_text()) == 1
