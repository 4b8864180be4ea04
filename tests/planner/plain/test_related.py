"""Problems with pins and relations in columns: the same plans as of objects, and what their judge sees."""

import json
from array import array
from random import Random
from typing import Final

import pytest

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.judge._judge import Defect, judge_related, proven
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import LiveBytes, Placement, Plan
from memstow.planner.model.problem import PEAK, Problem
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import (
    PlainPlan,
    columns_in,
    end_of,
    ints_of,
    pairs_of,
    plan_as_json,
    plan_of,
    problem_of,
    with_tied,
)
from memstow.planner.plain.column_documents import digest as digest_of_columns
from memstow.planner.solve import problem_plans
from memstow.planner.solve.column_plans import _are_apart, plan_columns
from memstow.planner.solve.one_run import Progress
from memstow.planner.verify import verify
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import reason_against
from memstow.planner.verify.verdict import Findings

SOLVERS: Final = ("auto", "auto", "exact", "improve", "greedy", "first-fit", "tflm")


def document(seed: int, most: int = 9) -> bytes:
    """A problem with some pins and relations; most are sound."""
    odd = Random(seed)
    count = odd.randint(1, most)
    unit = odd.choice((1, 1, 4, 64))
    names = [f"{odd.choice(('b', 'ä', 'x '))}{number}" for number in range(count)]
    buffers: list[dict[str, object]] = []
    some = (0, 1, 2, 3, 4, 5, 7, 8) if odd.random() < 0.3 else (1, 2, 3, 4)
    sizes = [odd.choice(some) * unit for _ in names]
    for name, size in zip(names, sizes, strict=True):
        begin = odd.randrange(6) - 2
        buffer: dict[str, object] = {"id": name, "size": size, "lifetime": [begin, begin + odd.randint(1, 4)]}
        if odd.random() < 0.2:
            buffer["alignment"] = odd.choice((1, 2, 4, 3))
        if odd.random() < 0.1:
            buffer |= {"pool": "memory", "offset": odd.choice((0, 1, 2, 4, 8, 12, 24)) * unit}
        buffers.append(buffer)

    def pairs(share: float) -> list[list[str]]:
        return [odd.sample(names, 2) for _ in range(count) if count > 1 and odd.random() < share]

    tied = [] if count < 2 else pairs(0.15)
    problem: dict[str, object] = {
        "version": 1,
        "conflicts": pairs(odd.choice((0, 0.3))),
        "exclusive": pairs(odd.choice((0, 0.3))),
        "in_place": [{"input": one, "output": other} for one, other in pairs(odd.choice((0, 0.3)))],
        "relative": [
            {"buffer": one, "base": other, "offset": odd.choice((-2, -1, 0, 1, 2, 3, 4)) * unit}
            for one, other in tied
        ],
        "buffers": buffers,
    }
    if odd.random() < 0.4:
        problem["pools"] = [{"id": "memory", "capacity": odd.choice((4, 8, 12, 20)) * unit}]
    if odd.random() < 0.2:
        problem["objective"] = []
    fields = list(problem)
    odd.shuffle(fields)
    return json.dumps({field: problem[field] for field in fields}).encode()


def by_objects(problem: Problem, options: Options) -> Plan | str:
    """The plan of the problem as objects, or why the solver declines it."""
    try:
        return problem_plans.plan_for_judge(problem, options, Callbacks(), progress=Progress(None))
    except DeclinedError as error:
        return str(error)


def by_columns(columns: Columns, options: Options) -> Plan | PlainPlan | str:
    """The same in columns."""
    try:
        return plan_columns(columns, options)
    except DeclinedError as error:
        return str(error)


@pytest.mark.parametrize("block", range(4))
def test_plans_are_those_of_objects(block: int) -> None:
    statuses = []
    for seed in range(250 * block, 250 * block + 250):
        data = document(seed)
        columns = columns_in(data, related=True)
        if columns is None or not columns.are_plainly_sound():
            continue
        problem = formats.read_problem(data)
        assert problem_of(columns) == problem
        assert digest_of_columns(columns) == digest(problem)
        options = Options(deterministic=True, work_limit=20_000, solver=SOLVERS[seed % len(SOLVERS)])
        wanted, planned = by_objects(problem, options), by_columns(columns, options)
        if not isinstance(planned, PlainPlan):
            assert planned == wanted
            continue
        plan = plan_of(columns, planned)
        assert plan == wanted
        assert not verify(problem, plan)
        assert plan_as_json(columns, planned) == formats.write_plan(problem, plan, "json")
        if columns.related:
            statuses.append(plan.status)
    assert Status.OPTIMAL in statuses
    assert len(statuses) > 60


def test_what_is_sound_has_no_issue() -> None:
    sound = 0
    for seed in range(3000):
        data = document(seed)
        columns = columns_in(data, related=True)
        assert columns is not None or not any(buffer["size"] for buffer in json.loads(data)["buffers"])
        if columns is None or not columns.are_plainly_sound():
            continue
        sound += columns.related
        assert not find_issues(problem_of(columns))
    assert sound > 600


def test_the_judge_sees_what_the_judge_of_objects_sees() -> None:
    odd, right, wrong = Random(1), 0, set[Defect]()
    for seed in range(2500):
        data = document(seed, 5)
        columns = columns_in(data, related=True)
        if columns is None or not columns.are_plainly_sound():
            continue
        plan = by_columns(columns, Options(deterministic=True, work_limit=2_000, solver="greedy"))
        if not isinstance(plan, PlainPlan):
            continue
        offsets = array("q", plan.offsets)
        for _ in range(odd.choice((0, 1, 1, 2))):
            offsets[odd.randrange(len(offsets))] = odd.choice((*plan.offsets, *range(6)))
        (defect, *_), peak, live, _ = judge_related(
            ints_of(columns), offsets, end_of(columns), columns.pins, pairs_of(columns), columns.ties
        )
        names = map(columns.name, range(len(columns)))
        places = tuple(
            Placement(buffer=name, pool=columns.pool, offset=offset)
            for name, offset in zip(names, offsets, strict=True)
        )
        violations = verify(problem_of(columns), Plan(status=Status.FEASIBLE, placements=places))
        assert (defect is Defect.NONE) == (not violations), (data, offsets, defect, violations)
        if defect is not Defect.NONE:
            wrong.add(defect)
            continue
        right += 1
        assert peak == max(
            (offset + size for offset, size in zip(offsets, columns.sizes, strict=True) if size), default=0
        )
        assert live <= peak
    assert right > 300
    assert {Defect.OVERLAP, Defect.PIN, Defect.TIE, Defect.UNALIGNED, Defect.PLACE} <= wrong


def test_what_native_code_takes_for_proven_is_proven() -> None:
    odd, proven_bounds, shared = Random(2), 0, 0
    for seed in range(2000):
        columns = columns_in(document(seed), related=True)
        if columns is None or not columns.are_plainly_sound():
            continue
        moment = odd.choice(columns.begins.tolist())
        lives = zip(columns.begins, columns.ends, columns.sizes, strict=True)
        live = [number for number, (begin, end, size) in enumerate(lives) if begin <= moment < end and size]
        members = array("q", [number for number in live if odd.random() < 0.8])
        if not _are_apart(columns, members):
            shared += 1
            continue
        bound = proven(*ints_of(columns), members, moment)
        if bound is None:
            continue
        proven_bounds += 1
        certificate = LiveBytes(
            pool=columns.pool, time=moment, buffers=tuple(map(columns.name, with_tied(columns, members)))
        )
        index = ProblemIndex(problem_of(columns), Findings())
        assert reason_against(index, PEAK, bound, certificate, cheapest_only=False) is None
    assert proven_bounds > 500
    assert shared > 100


def test_ties_pins_and_pairs_that_need_the_ordinary_checks() -> None:
    buffers: list[dict[str, object]] = [{"id": name, "size": 4, "lifetime": [0, 2]} for name in "abc"]

    def is_sound(**more: object) -> bool:
        written = {"version": 1, "buffers": buffers, **more}
        columns = columns_in(json.dumps(written).encode(), related=True)
        return columns is not None and columns.are_plainly_sound()

    def tie(buffer: str, to: str, offset: int) -> dict[str, object]:
        return {"buffer": buffer, "base": to, "offset": offset}

    assert is_sound(relative=[tie("b", "a", 4), tie("c", "b", 4)], conflicts=[])
    assert not is_sound(relative=[tie("b", "a", 4), tie("c", "b", 4), tie("a", "c", -8)])
    assert not is_sound(relative=[tie("b", "a", 4), tie("a", "b", -4)])
    assert not is_sound(relative=[tie("b", "a", 1 << 62)])
    assert not is_sound(relative=[tie("b", "a", 4)], conflicts=[["a", "b"]])
    assert not is_sound(conflicts=[["a", "a"]])
    assert not is_sound(in_place=[{"input": "a", "output": "d"}])
    assert is_sound(in_place=[{"input": "a", "output": "b"}], exclusive=[["a", "b"]])
    pinned = [{**buffers[0], "pool": "memory", "offset": 4}, *buffers[1:]]
    assert is_sound(buffers=pinned)
    assert not is_sound(buffers=pinned, relative=[tie("b", "a", 4)])
    assert not is_sound(buffers=pinned, pools=[{"id": "memory", "capacity": 7}])
    assert not is_sound(buffers=pinned, pools=[{"id": "other"}])
