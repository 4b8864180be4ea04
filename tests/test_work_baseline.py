"""The work counts that are committed can be compared with on any machine."""

from dataclasses import replace

from benchmarks.work import BASELINE, baseline
from memstow.planner.bench.record import Ending, ProgressEvent, from_line, to_line
from tests.planner.bench.make import made


def test_the_baseline_holds_deterministic_runs_and_nothing_of_the_machine() -> None:
    records = [from_line(line) for line in BASELINE.read_text().splitlines()]
    assert len({record.key for record in records}) == len(records) > 50
    assert all(record.solver.options["deterministic"] for record in records)
    assert not any(
        record.seconds or record.events or record.plan or record.machine.cpus for record in records
    )
    assert {record.status for record in records} >= {Ending.OPTIMAL, Ending.FEASIBLE}
    # A search that ran dry, plans that reach the bound, and runs that their work was too little for.
    assert any("nodes" in record.work for record in records)
    assert BASELINE.read_text() == baseline(BASELINE.read_text())


def test_what_differs_from_run_to_run_is_left_out_and_what_was_done_stays() -> None:
    record = made(
        "a", "x", 10, bound=8, seconds=2.0, events=[ProgressEvent(0.1, incumbent=10)], work={"steps": 5}
    )
    again = replace(record, seconds=3.0, events=(), cpu_seconds=7.0, peak_memory=1)
    (line,) = baseline(f"{to_line(record)}\n").splitlines()
    assert f"{line}\n" == baseline(f"{to_line(again)}\n")
    kept = from_line(line)
    assert (kept.key, kept.objective, kept.work) == (record.key, record.objective, record.work)
