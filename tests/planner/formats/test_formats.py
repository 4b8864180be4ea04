"""Whatever a format takes it gives back, in every format; what it cannot take it refuses by name."""

from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.formats.native import write_document as write_native
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from tests.planner.plans import honest
from tests.planner.refusal import refusal, told
from tests.problems import problems
from tests.referee import judge


def _written(problem: Problem, name: str) -> tuple[bytes | None, set[str]]:
    try:
        return formats.write_problem(problem, name), set()
    except InputError as error:
        return None, {issue.code for issue in error.issues}


def valid_problems(most_buffers: int = 5) -> SearchStrategy[Problem]:
    """Problems that a reader accepts."""
    return problems(most_buffers).filter(lambda problem: not find_issues(problem))


@given(valid_problems())
def test_native_json_gives_every_problem_back(problem: Problem) -> None:
    data = formats.write_problem(problem)
    assert formats.read_problem(data) == formats.read_problem(data, "json") == problem
    assert data.endswith(b"}\n")


@given(valid_problems())
def test_a_format_gives_back_what_it_takes_or_names_what_it_cannot(problem: Problem) -> None:
    for name in formats.names():
        data, refused = _written(problem, name)
        if data is None:
            assert name != "json"
            assert refused == {"not_expressible"}
            continue
        again = formats.read_problem(data)
        assert again == formats.read_problem(data, name)
        assert formats.write_problem(again, name) == data


@settings(max_examples=50)
@given(valid_problems(3))
def test_what_a_format_takes_keeps_its_optimum(problem: Problem) -> None:
    verdict = judge(problem)
    for name in ("csv", "executorch", "usmp", "structured"):
        data, _ = _written(problem, name)
        if data is None:
            continue
        again = judge(formats.read_problem(data))
        assert again.status == verdict.status
        if name != "structured":
            assert again.vector == verdict.vector


@settings(max_examples=50)
@given(valid_problems(3))
def test_plans_come_back(problem: Problem) -> None:
    verdict = judge(problem)
    if verdict.places is None:
        return
    plan = honest(problem, verdict.places)
    assert formats.read_plan(formats.write_plan(problem, plan), problem) == plan
    for name in ("csv", "structured"):
        data = formats.write_plan(problem, plan, name)
        again = formats.read_plan(data, problem)
        assert again == formats.read_plan(data, problem, name)
        assert set(again.placements) == set(plan.placements)


def test_defaults_are_not_written() -> None:
    problem = Problem(version=1, pools=(Pool(id="p", capacity=4),), buffers=(Buffer(id="a", size=1),))
    assert write_native(problem).decode() == (
        "{\n"
        '  "version": 1,\n'
        '  "pools": [\n    {"id": "p", "capacity": 4}\n  ],\n'
        '  "buffers": [\n    {"id": "a", "size": 1}\n  ]\n'
        "}\n"
    )


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'{"version": 1, "buffers": []}', "json"),
        (b'\xef\xbb\xbf \n{"version": 1, "buffers": []}', "json"),
        (b"id,lower,upper,size\n", "csv"),
        (b'[{"id": "a", "size": 4, "lower": 0, "upper": 1}]', "executorch"),
        (b"[[0, 1, 4]]", "usmp"),
        (b'{"sizes": {}}', "usmp"),
    ],
)
def test_content_tells_the_format(data: bytes, name: str) -> None:
    assert formats.read_problem(data) == formats.read_problem(data, name)


def test_an_empty_list_tells_no_format() -> None:
    (issue,) = refusal(lambda: formats.read_problem(b"[]"))
    assert (issue.code, issue.path) == ("no_problem", "$")
    assert '{"version": 1, "buffers": [...]}' in issue.message
    assert formats.read_problem(b"[]", "executorch").buffers == ()


def test_a_request_to_the_service_is_known_as_one() -> None:
    request = b'{"problem": {"version": 1, "buffers": []}, "options": {"time_limit": 5.0}}'
    (issue,) = refusal(lambda: formats.read_problem(request))
    assert (issue.code, issue.path) == ("request", "$")
    assert "`problem`" in issue.message


def test_unknown_formats_and_formats_without_plans_are_refused() -> None:
    problem = Problem(version=1, buffers=())
    plan = Plan(status="unknown")  # type: ignore[arg-type]
    assert told(lambda: formats.read_problem(b"{}", "yaml")) == [("unknown_format", "format")]
    assert told(lambda: formats.write_plan(problem, plan, "xla")) == [("no_plan_format", "format")]
    assert told(lambda: formats.read_plan(b"[]", problem, "onnx")) == [("unknown_format", "format")]


def test_a_document_that_was_packed_is_no_program_of_pytorch() -> None:
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("net.json", '{"version": 1, "buffers": []}')
    assert told(lambda: formats.read_problem(packed.getvalue())) == [("packed", "$")]


def test_only_formats_that_would_do_are_listed() -> None:
    problem, plan = Problem(buffers=()), Plan(status=Status.UNKNOWN)
    both_ways = "json, csv, structured, executorch, usmp"
    with_plans = f"{both_ways}, programs"
    written = f"{with_plans}, replay, stalloc"
    for call, listed in (
        (lambda: formats.write_problem(problem, "tflite"), both_ways),
        (lambda: formats.write_plan(problem, plan, "tflite"), written),
        (lambda: formats.read_plan(b"[]", problem, "tflite"), with_plans),
    ):
        assert refusal(call)[0].message == f"the format 'tflite' is one of graphs; use {listed}"
    assert refusal(lambda: formats.write_plan(problem, plan, "xml"))[0].message == (
        f"there is no format 'xml'; use {written}"
    )


def test_each_field_that_has_no_place_is_named_once() -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="p", alignment=2, cost=1),),
        buffers=(
            Buffer(id="a", size=1, lifetime="always"),
            Buffer(id="b", size=1),
            Buffer(id="c", size=1, lifetimes=((0, 1), (3, 4))),
        ),
        conflicts=(("a", "b"),),
    )
    assert [issue.path for issue in refusal(lambda: formats.write_problem(problem, "executorch"))] == [
        "$.pools[0].alignment",
        "$.pools[0].cost",
        "$.conflicts",
        "$.buffers[0].lifetime",
        "$.buffers[2].lifetimes",
    ]


def test_many_placements_are_written_as_few_are() -> None:
    names = ("plain", 'quote "', "back\\slash", "line\nfeed", "ü", "🙂", "\x7f")
    places = [Placement(buffer=f"{names[i % 7]} {i}", pool="p\\ü", offset=i) for i in range(2_000)]
    plan = Plan(status=Status.FEASIBLE, solver="s", work=3)
    problem = Problem(buffers=())

    def written(placements: list[Placement]) -> bytes:
        return formats.write_plan(problem, replace(plan, placements=tuple(placements)))

    one = written(places[:1])
    line = next(line for line in one.splitlines(keepends=True) if b'"buffer"' in line)
    before, after = one.split(line)
    lines = [next(line for line in written([place]).splitlines() if b'"buffer"' in line) for place in places]
    assert written(places) == before + b",\n".join(lines) + b"\n" + after
