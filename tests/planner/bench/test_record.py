"""A record comes back from its line as it went, and what is no record is refused."""

import json
from dataclasses import replace

import pytest

from memstow.planner.bench.record import (
    Ending,
    Instance,
    JudgeResult,
    Layout,
    Machine,
    ProgressEvent,
    Record,
    RecordError,
    SolverInfo,
    TermValue,
    from_line,
    to_line,
)

RECORD = Record(
    instance=Instance(
        name="A", family="tiny", digest="d" * 64, content="c" * 64, features={"buffers": 2, "pools": 1}
    ),
    solver=SolverInfo(name="exact", version="1.0", external=False, options={"time_limit": 5.0}),
    seed=3,
    status=Ending.FEASIBLE,
    objective=(TermValue("peak", 12, 10),),
    peak=12,
    bound=10,
    gap=1 / 6,
    max_live=10,
    capacity=None,
    events=(ProgressEvent(0.1, incumbent=14), ProgressEvent(0.2, bound=10), ProgressEvent(0.3, incumbent=12)),
    seconds=0.5,
    cpu_seconds=0.4,
    peak_memory=1 << 20,
    work={"steps": 7},
    judged=JudgeResult(True),
    plan=Layout((0, 0), (0, 4)),
    proof="AA==",
    machine=Machine(cpus=2, memory=1 << 30, system="Linux", python="3.12", load=0.5),
)


def test_a_record_comes_back_as_it_went() -> None:
    blank = replace(
        RECORD,
        status=Ending.KILLED,
        objective=(),
        peak=None,
        judged=None,
        plan=None,
        proof=None,
        error="out of time",
    )
    for record in (RECORD, blank):
        assert from_line(to_line(record)) == record


def test_a_line_is_one_line_with_sorted_keys() -> None:
    line = to_line(replace(RECORD, error="two\nlines"))
    assert "\n" not in line
    keys = list(json.loads(line))
    assert keys == sorted(keys)


def test_the_key_tells_runs_apart_by_what_was_asked() -> None:
    solver_info = RECORD.solver
    others = [
        replace(RECORD, seed=4),
        replace(RECORD, instance=replace(RECORD.instance, digest="e" * 64)),
        replace(RECORD, solver=replace(solver_info, name="greedy")),
        replace(RECORD, solver=replace(solver_info, options={"time_limit": 6.0})),
    ]
    assert len({record.key for record in (RECORD, *others)}) == 5
    assert replace(RECORD, seconds=9.0, instance=replace(RECORD.instance, name="B")).key == RECORD.key


@pytest.mark.parametrize(
    "line",
    [
        "",
        "garbage",
        "[]",
        "{}",
        to_line(RECORD)[:-5],
        to_line(RECORD).replace('"record":1', '"record":2'),
        to_line(RECORD).replace('"feasible"', '"splendid"'),
        to_line(RECORD).replace('"seed":3', '"seed":4'),
        to_line(RECORD).replace('"family"', '"famly"'),
    ],
)
def test_what_is_no_record_is_refused(line: str) -> None:
    with pytest.raises(RecordError):
        from_line(line)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("solver", "version", 5),
        ("instance", "name", None),
        ("objective", "value", "7"),
        ("objective", "bound", 1.5),
        ("work", "steps", "many"),
        (None, "seconds", "x"),
    ],
)
def test_a_value_of_another_type_makes_no_record(part: str | None, name: str, value: object) -> None:
    values = json.loads(to_line(RECORD))
    place = values if part is None else values[part]
    (place[0] if isinstance(place, list) else place)[name] = value
    with pytest.raises(RecordError):
        from_line(json.dumps(values))
