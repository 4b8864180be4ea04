"""Columns mean what the models mean: the same problems, digests, plans, documents and verdicts."""

import json
import random
from array import array
from collections.abc import Callable

import pytest

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Plan, peaks
from memstow.planner.model.problem import Problem
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import (
    PlainPlan,
    columns_in,
    columns_of,
    plan_of,
    problem_of,
    write_plan,
)
from memstow.planner.plain.column_documents import digest as digest_of_columns
from memstow.planner.plain.column_verdict import peak_of, read_plan, verdict_on
from memstow.planner.show.report import plain_report, plan_report
from memstow.planner.show.text_picture import ASCII
from memstow.planner.solve import column_plans, engine
from memstow.planner.solve.column_plans import plan_columns
from memstow.planner.solve.problem_plans import plan_for_judge
from memstow.planner.targets import with_overrides
from memstow.planner.verify import judge
from tests.campaign import gate_first
from tests.planner.plain.samples import mutated, random_sample

QUICK = Options(deterministic=True, work_limit=20_000)


def ordinary(problem: Problem, options: Options = QUICK) -> Plan:
    """The plan of the objects, whatever their number."""
    return plan_for_judge(problem, options, Callbacks())


def texts(seed: int) -> list[bytes]:
    sample = random_sample(seed)
    return (
        [sample.json()]
        if sample.capacity is not None or sample.pool != "memory"
        else [sample.csv(), sample.json()]
    )


def same_problem(columns: Columns, problem: Problem) -> None:
    again = problem_of(columns)
    assert [(b.id, b.size, b.lifetime, b.alignment) for b in again.buffers] == [
        (b.id, b.size, b.lifetime, b.alignment) for b in problem.buffers
    ]
    assert again.pools == problem.pools
    assert digest_of_columns(columns) == digest(problem)


@pytest.mark.parametrize("block", range(8))
def test_a_plain_problem_is_read_as_the_models_read_it(block: int) -> None:
    plain = 0
    for seed in range(100 * block, 100 * block + 100):
        for text in texts(seed):
            problem, columns = formats.read_problem(text), columns_in(text)
            if columns is None:
                assert not any(buffer.size for buffer in problem.buffers), text
                continue
            plain += 1
            same_problem(columns, problem)
            of_models = columns_of(problem)
            assert of_models is not None
            same_problem(of_models, problem)
    assert plain > 100


@pytest.mark.parametrize("block", range(8))
def test_what_the_models_refuse_is_not_plain(block: int) -> None:
    odd = random.Random(block)
    refused = read = 0
    for seed in range(150):
        for text in texts(seed):
            broken = mutated(text, odd)
            columns = columns_in(broken)
            if columns is None:
                refused += 1
                continue
            read += 1
            problem = formats.read_document(broken)
            assert isinstance(problem, Problem)
            same_problem(columns, problem)
    assert refused > 30
    assert read > 3


@pytest.mark.parametrize(
    "text",
    [
        b"id,lower,upper,size\na\0b,0,1,2\n",
        b'id,lower,upper,size\n"a\0b",0,1,2\n',
        b'{"version": 1, "buffers": [{"id": "a\\u0000b", "size": 2, "lifetime": [0, 1]}]}',
        b'{"version": 1, "buffers": [{"id": "a", "size": 2, "lifetime": [0, 1], "group": "a\\u0000"}]}',
        b'{"version": 1, "pools": [{"id": "\\u0000"}], '
        b'"buffers": [{"id": "a", "size": 2, "lifetime": [0, 1]}]}',
    ],
)
def test_a_name_that_c_would_cut_short_is_read_by_nobody(text: bytes) -> None:
    assert columns_in(text) is None
    with pytest.raises(InputError, match="without NUL") as refused:
        formats.read_problem(text)
    assert {issue.code for issue in refused.value.issues} == {"not_text"}


def test_an_empty_objective_asks_for_any_plan_that_fits() -> None:
    written = b'{"version": 1, "buffers": [{"id": "a", "size": 2, "lifetime": [0, 1]}], "objective": []}'
    columns = columns_in(written)
    assert columns is not None
    assert columns.fit_only
    same_problem(columns, formats.read_problem(written))


@pytest.mark.parametrize("fit_only", [False, True])
@pytest.mark.parametrize("block", gate_first(range(4), 1))
def test_plans_documents_and_reports_are_the_same(block: int, fit_only: bool) -> None:
    planned = 0
    for seed in range(40 * block, 40 * block + 40):
        for text in texts(seed):
            columns = columns_in(text)
            if columns is None:
                continue
            columns.fit_only = fit_only
            problem = with_overrides(formats.read_problem(text), None, None, fit_only)
            same_problem(columns, problem)
            of_models = columns_of(problem)
            assert of_models is not None
            assert of_models.fit_only == fit_only
            result, wanted = plan_columns(columns, QUICK), ordinary(problem)
            if not isinstance(result, PlainPlan):
                assert result == wanted
                continue
            planned += 1
            assert plan_of(columns, result) == wanted
            assert plan_of(columns, result, problem) == wanted
            for form in ("json", "csv"):
                assert write_plan(columns, result, form) == formats.write_plan(problem, wanted, form)
            for width in (40, 80):
                wanted_text = plan_report(problem, wanted, width, ASCII)
                assert plain_report(columns, result, width, ASCII) == wanted_text
    assert planned > 30


def test_the_picture_of_many_buffers_is_the_same() -> None:
    for seed in range(4):
        odd = random.Random(seed)
        rows = [(odd.randrange(400), 1 + odd.randrange(60), odd.choice((0, 3, 70, 512))) for _ in range(400)]
        text = "id,lower,upper,size\n" + "".join(
            f"b{row},{begin},{begin + length},{size}\n" for row, (begin, length, size) in enumerate(rows)
        )
        columns, problem = columns_in(text.encode()), formats.read_problem(text.encode())
        assert columns is not None
        planned = plan_columns(columns, QUICK)
        assert isinstance(planned, PlainPlan)
        for width in (40, 77, 120):
            wanted = plan_report(problem, plan_of(columns, planned), width, ASCII)
            assert plain_report(columns, planned, width, ASCII) == wanted


@pytest.mark.parametrize("fit_only", [False, True])
def test_a_problem_of_many_objects_has_the_same_plan(monkeypatch: pytest.MonkeyPatch, fit_only: bool) -> None:
    monkeypatch.setattr(column_plans, "MANY", 1)
    for seed in range(60):
        problem = with_overrides(formats.read_problem(texts(seed)[-1]), None, None, fit_only)
        better: list[Plan] = []

        def hear(make: Callable[[], Plan], better: list[Plan] = better) -> None:
            better.append(make())

        assert engine.plan(problem, QUICK, on_better=hear) == ordinary(problem)
        assert all(plan.placements for plan in better)


def test_the_verdict_on_a_plan_that_is_only_to_fit_is_left_to_the_ordinary_judge() -> None:
    columns = columns_in(texts(3)[0])
    assert columns is not None
    columns.fit_only = True
    planned = plan_columns(columns, QUICK)
    assert isinstance(planned, PlainPlan)
    assert verdict_on(columns, planned) is None
    assert judge(problem_of(columns), plan_of(columns, planned)).valid


def tampered(document: dict[str, object], odd: random.Random) -> dict[str, object]:
    """A plan of which something is not true, or may not be."""
    plan = json.loads(json.dumps(document))
    placements, use, term = plan["placements"], plan["pools"][0], plan["objective"][0]
    some = odd.choice(placements)
    match odd.randrange(16):
        case 0:
            some["offset"] += odd.choice((-1, 1, 64, 1 << 62))
        case 1:
            placements.remove(some)
        case 2:
            placements.append(dict(some))
        case 3:
            some["buffer"] = odd.choice(placements)["buffer"]
        case 4:
            some["pool"] = odd.choice(("memory", "other"))
        case 5:
            use[odd.choice(("peak", "bound"))] += odd.choice((-1, 1))
        case 6:
            use["live"][odd.choice(("bytes", "time"))] += odd.choice((-1, 1))
        case 7:
            term[odd.choice(("value", "bound"))] += odd.choice((-1, 1))
        case 8:
            term["gap"] = odd.choice((0.0, 0.5))
        case 9:
            plan["status"] = odd.choice(("optimal", "feasible", "unknown"))
        case 10:
            plan["digest"] = odd.choice((None, "0" * 64))
        case 11 if "certificate" in term and "buffers" in term["certificate"]:
            names = term["certificate"]["buffers"]
            odd.choice((names.pop, lambda: names.append(some["buffer"]), names.reverse))()
        case 12 if "certificate" in term and "time" in term["certificate"]:
            term["certificate"]["time"] += odd.choice((-1, 1))
        case 13:
            odd.shuffle(placements)
        case 14:
            use["capacity"] = odd.choice((None, 7))
        case _:
            term.pop("certificate", None)
    return plan  # type: ignore[no-any-return]


@pytest.mark.parametrize("block", range(6))
def test_the_verdict_is_that_of_the_ordinary_judge(block: int) -> None:
    odd = random.Random(block)
    same = left = wrong = 0
    for seed in range(40 * block, 40 * block + 40):
        text = texts(seed)[-1]
        columns = columns_in(text)
        if columns is None:
            continue
        problem = formats.read_problem(text)
        plan = ordinary(problem)
        if not plan.placements:
            continue
        document = json.loads(formats.write_plan(problem, plan))
        for given in (document, *(tampered(document, odd) for _ in range(6))):
            data = json.dumps(given, ensure_ascii=odd.random() < 0.5, indent=odd.choice((None, 2))).encode()
            read = read_plan(columns, data)
            result = None if read is None else verdict_on(columns, read)
            try:
                wanted = judge(problem, formats.read_plan(data, problem))
            except InputError:
                assert result is None
                wrong += 1
                continue
            if result is not None:
                assert result == wanted
                same += 1
            else:
                wrong += not wanted.valid
                left += wanted.valid
    assert same > 30
    assert wrong > 30
    # Bounds that a search has proven are for the ordinary judge.
    assert left < same


def test_plans_that_say_nothing_but_places_are_judged_alike() -> None:
    odd = random.Random(2)
    same = 0
    for seed in range(150):
        text = texts(seed)[-1]
        columns = columns_in(text)
        if columns is None:
            continue
        problem = formats.read_problem(text)
        plan = ordinary(problem)
        if not plan.placements:
            continue
        bare = Plan(status=Status.FEASIBLE, placements=plan.placements)
        csv = formats.write_plan(problem, plan, "csv")
        for data in (formats.write_plan(problem, bare), csv, mutated(csv, odd), mutated(csv, odd)):
            read = read_plan(columns, data)
            result = None if read is None else verdict_on(columns, read)
            if read is not None and result is not None:
                again = formats.read_plan(data, problem)
                assert result == judge(problem, again)
                assert peaks(problem, again.placements) == {columns.pool: peak_of(columns, read)}
                same += 1
    assert same > 100


def test_the_native_reader_of_plans_survives_broken_ones() -> None:
    odd = random.Random(1)
    columns = columns_in(texts(6)[-1])
    assert columns is not None
    planned = plan_columns(columns, QUICK)
    assert isinstance(planned, PlainPlan)
    data = write_plan(columns, planned, "json")
    problem = problem_of(columns)
    for _ in range(1500):
        broken = mutated(data, odd)
        read = read_plan(columns, broken)
        verdict = None if read is None else verdict_on(columns, read)
        if verdict is not None:
            assert verdict == judge(problem, formats.read_plan(broken, problem))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"id,lower,upper,size\n",
        b"id,lower,upper,size\na,0,1,0\n",
        b"id,lower,upper,size\na,0,1,4\na,1,2,4\n",
        b"id,lower,upper,size\na,1,1,4\n",
        b"id,lower,upper,size\na,0,1,-4\n",
        b"id,lower,upper,size\n,0,1,4\n",
        b'id,lower,upper,size\n"a",0,1,4\n',
        b"id,lower,upper,size\ra,0,1,4\r",
        b"id,lower,upper,size,offset\na,0,1,4,8\n",
        b"id,lower,upper,size,gaps\na,0,9,4,3-5\n",
        b"id,lower,upper,size\na,0,9223372036854775808,4\n",
        b"id,lower,upper,size\n" + b"a" * 1025 + b",0,1,4\n",
        b'{"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": "always"}]}',
        b'{"version": 1, "buffers": [{"id": "a", "size": 4, "size": 4, "lifetime": [0, 1]}]}',
        b'{"version": 2, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}]}',
        b'{"version": 1, "buffers": [{"id": "a", "size": 4.0, "lifetime": [0, 1]}]}',
        b'{"version": 1, "buffers": [{"id": "\\ud800", "size": 4, "lifetime": [0, 1]}]}',
        b'{"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}],'
        b' "pools": [{"id": "p", "base": 0}]}',
    ],
)
def test_what_is_not_plain_is_left_to_the_models(text: bytes) -> None:
    assert columns_in(text) is None


def test_a_pool_of_another_kind_is_not_plain() -> None:
    text = b'{"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}], "pools": [%s]}'
    for pool in (b'{"id": "p", "alignment": 2}', b'{"id": "p", "cost": 1}', b'{"id": "p"}, {"id": "q"}'):
        assert columns_in(text % pool) is None
        assert columns_of(formats.read_problem(text % pool)) is None


def test_an_offset_for_each_buffer_is_needed() -> None:
    columns = columns_in(b"id,lower,upper,size\na,0,1,4\n")
    assert columns is not None
    with pytest.raises(ValueError, match="an offset for each buffer"):
        columns.placements(array("q"), 0, 1, array("q"))
