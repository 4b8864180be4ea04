"""Problems with pins, relations or pools in columns: plans as of objects, and what their judge sees."""

import json
from array import array
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.judge._judge import Defect, judge_related, proven
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import LiveBytes, Placement, Plan, PoolUse, Sum, TermValue
from memstow.planner.model.problem import PEAK, Problem, access_count, allowed_pools
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import (
    PlainPlan,
    choices_of,
    columns_in,
    ints_of,
    memory_of,
    pairs_of,
    plan_as_json,
    plan_of,
    pools_of,
    problem_of,
    with_tied,
)
from memstow.planner.plain.column_documents import digest as digest_of_columns
from memstow.planner.solve import problem_plans
from memstow.planner.solve.column_plans import _are_apart, plan_columns
from memstow.planner.solve.one_run import Progress
from memstow.planner.solve.problem_plans import placement_cost
from memstow.planner.verify import verify
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import reason_against
from memstow.planner.verify.problem_verdict import Counted, judge_claims, judge_problem
from memstow.planner.verify.verdict import Code, Findings
from memstow.records import replace

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


def document_in_pools(seed: int, most: int = 9) -> bytes:
    """The same without pins and ties, with other pools and with buffers that say where they may go."""
    odd, problem = Random(-seed), json.loads(document(seed, most))
    del problem["relative"]
    unit = max(1, min((buffer["size"] for buffer in problem["buffers"] if buffer["size"]), default=1))
    names = ["memory", "ä", "q 2"][: odd.choice((1, 2, 2, 3, 3))]
    pools: list[dict[str, Any]] = [{"id": name} for name in names]
    for pool in pools:
        if odd.random() < 0.6:
            pool["capacity"] = odd.choice((0, 2, 4, 8, 12, 20)) * unit
        if odd.random() < 0.6:
            pool["cost"] = odd.choice((0, 1, 3, 10))
        if odd.random() < 0.2:
            pool |= {"alignment": odd.choice((2, 3, 4)), "base": odd.choice((0, 1, 6))}
        if odd.random() < 0.2:
            begins = odd.sample(range(6), 2)
            pool["reserved"] = [{"offset": begin * unit, "size": odd.randint(1, 2)} for begin in begins]
    for buffer in problem["buffers"]:
        buffer.pop("pool", None)
        buffer.pop("offset", None)
        if odd.random() < 0.4:
            buffer["pools"] = odd.sample(names, odd.randint(1, len(names)))
        if odd.random() < 0.2:
            buffer["accesses"] = odd.choice((0, 1, 100))
    problem["pools"] = pools
    fields = list(problem)
    odd.shuffle(fields)
    return json.dumps({field: problem[field] for field in fields}, ensure_ascii=odd.random() < 0.5).encode()


DOCUMENTS: Final = (document, document_in_pools)
Document = Callable[[int, int], bytes]


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


def not_valid(data: bytes) -> bool:
    """Whether the ordinary reader refuses it."""
    try:
        formats.read_problem(data)
    except InputError:
        return True
    return False


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("block", range(4))
def test_plans_are_those_of_objects(block: int, document: Document) -> None:
    statuses = []
    for seed in range(250 * block, 250 * block + 250):
        data = document(seed, 9)
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
        if columns.related and (document is not document_in_pools or columns.pools_text):
            statuses.append(plan.status)
    assert Status.OPTIMAL in statuses
    assert len(statuses) > 60


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_sound_has_no_issue(document: Document) -> None:
    sound = 0
    for seed in range(3000):
        data = document(seed, 9)
        columns = columns_in(data, related=True)
        has_bytes = any(buffer["size"] for buffer in json.loads(data)["buffers"])
        assert columns is not None or not has_bytes or not_valid(data)
        if columns is None or not columns.are_plainly_sound():
            continue
        sound += columns.related
        assert not find_issues(problem_of(columns))
    assert sound > 600


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_judge_sees_what_the_judge_of_objects_sees(document: Document) -> None:
    odd, right, wrong = Random(1), 0, set[Defect]()
    for seed in range(2500):
        data = document(seed, 5)
        columns = columns_in(data, related=True)
        if columns is None or not columns.are_plainly_sound():
            continue
        plan = by_columns(columns, Options(deterministic=True, work_limit=2_000, solver="greedy"))
        if not isinstance(plan, PlainPlan):
            continue
        offsets, homes = array("q", plan.offsets), array("q", plan.homes)
        pools = [pool.id for pool in pools_of(columns)]
        for _ in range(odd.choice((0, 1, 1, 2))):
            offsets[odd.randrange(len(offsets))] = odd.choice((*plan.offsets, *range(6)))
        for _ in range(odd.choice((0, 0, 1)) if homes else 0):
            homes[odd.randrange(len(homes))] = odd.randrange(len(pools))
        (defect, *_), used, cost = judge_related(
            ints_of(columns),
            (offsets, homes),
            memory_of(columns),
            choices_of(columns),
            columns.pins,
            pairs_of(columns),
            columns.ties,
        )
        names = map(columns.name, range(len(columns)))
        in_pools = [pools[home] for home in homes] or [columns.pool] * len(offsets)
        places = tuple(
            Placement(buffer=name, pool=pool, offset=offset)
            for name, pool, offset in zip(names, in_pools, offsets, strict=True)
        )
        problem = problem_of(columns)
        violations = verify(problem, Plan(status=Status.FEASIBLE, placements=places))
        assert (defect is Defect.NONE) == (not violations), (data, offsets, defect, violations)
        if defect is not Defect.NONE:
            wrong.add(defect)
            continue
        right += 1
        assert cost == placement_cost(problem, places)
        ends = [
            (pool, offset + size)
            for pool, offset, size in zip(in_pools, offsets, columns.sizes, strict=True)
            if size
        ]
        for pool, (peak, live, _) in zip(pools, used, strict=True):
            assert peak == max((end for home, end in ends if home == pool), default=0)
            assert live <= peak
    assert right > 300
    others = {Defect.PIN, Defect.TIE} if document is not document_in_pools else {Defect.POOL, Defect.RESERVED}
    assert {Defect.OVERLAP, Defect.UNALIGNED, Defect.PLACE} | others <= wrong


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


def test_pools_that_need_the_ordinary_readers() -> None:
    def is_sound(pools: object = None, **more: object) -> bool:
        buffer = {"id": "a", "size": 4, "lifetime": [0, 2], **more.pop("buffer", {})}  # type: ignore[dict-item]
        default: list[dict[str, object]] = [{"id": "p", "cost": 1 << 30}, {"id": "q", "capacity": 8}]
        written = {"version": 1, "buffers": [buffer], "pools": default if pools is None else pools, **more}
        return columns_in(json.dumps(written).encode(), related=True) is not None

    assert is_sound()
    assert is_sound(objective=[])
    assert is_sound(buffer={"pools": ["q", "p"], "accesses": 1 << 32})
    assert is_sound(buffer={"pools": ["q"], "accesses": 1 << 62})
    assert not is_sound(buffer={"accesses": (1 << 32) + 1})
    assert not is_sound(buffer={"accesses": 1 << 62})
    assert not is_sound(objective=["peak"])
    assert not is_sound(buffer={"pool": "p", "offset": 0})
    assert not is_sound(buffer={"pools": []})
    assert not is_sound(buffer={"pools": ["p", "p"]})
    assert not is_sound(buffer={"pools": ["r"]})
    assert not is_sound(pools=[])
    assert not is_sound(pools=[{"id": "p"}, {"id": "p"}])
    assert not is_sound(pools=[{"id": "p", "reserved": [{"offset": 4, "size": 8}], "capacity": 8}])
    assert not is_sound(pools=[{"id": "p", "banks": [{"size": 8}]}])
    assert not is_sound(pools=[{"id": "p", "speed": 8}])
    assert not is_sound(pools=[{"id": f"{number}" * 9} for number in range(900)])
    assert not is_sound(pools=json.loads('[{"id": "\\ud800"}, {"id": "q"}]'))


def bounded_in(frame: Plan) -> list[PoolUse | TermValue]:
    """All that has a bound."""
    return [*frame.pools, *frame.objective]


def named_in(frame: Plan) -> set[str]:
    """The buffers that certificates name."""
    certificates = [part.certificate for part in bounded_in(frame)]
    parts = [part for one in certificates for part in (one.parts if isinstance(one, Sum) else (one,))]
    return {name for part in parts if isinstance(part, LiveBytes) for name in part.buffers}


def test_claims_are_judged_by_what_they_name_as_by_all() -> None:
    odd, seen = Random(4), set[tuple[str, bool]]()
    for seed in range(1000):
        columns = columns_in(document_in_pools(seed), related=True)
        if columns is None or not columns.pools_text or columns.fit_only:
            continue
        planned = by_columns(columns, Options(deterministic=True, work_limit=2_000))
        if not isinstance(planned, PlainPlan):
            continue
        frame, problem = planned.frame, problem_of(columns)
        part = odd.choice(bounded_in(frame))
        higher = replace(part, bound=part.bound + odd.choice((1, 2, 9)))
        if isinstance(higher, PoolUse):
            frame = replace(frame, pools=tuple(higher if one is part else one for one in frame.pools))
        else:
            terms = tuple(higher if one is part else one for one in frame.objective)
            frame = replace(frame, objective=terms)
        cost = sum(value.value for value in frame.objective if value.term == "placement_cost")
        cost_of = {pool.id: pool.cost for pool in problem.pools}
        least = sum(
            access_count(buffer) * min(map(cost_of.__getitem__, allowed_pools(problem, buffer)))
            for buffer in problem.buffers
        )
        named = named_in(frame)
        members = [number for number in range(len(columns)) if columns.name(number) in named]
        counted = Counted([use.peak for use in frame.pools], cost, least)
        judged = judge_claims(problem_of(columns, members), frame, counted)
        whole = plan_of(columns, replace(planned, frame=frame), problem)
        wanted = judge_problem(problem, whole, None, refutes=False).violations
        codes = {violation.code for violation in judged}
        assert codes == {violation.code for violation in wanted} - {Code.STATUS}
        seen.add((type(part.certificate).__name__, Code.CERTIFICATE in codes))
    assert {("LiveBytes", True), ("Least", True), ("Sum", True), ("LiveBytes", False)} <= seen


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
