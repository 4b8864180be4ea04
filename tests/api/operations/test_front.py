"""A front as the service finds it: what it tells on the way, and how a run goes on from an earlier one."""

import json
import threading
from dataclasses import replace
from typing import Literal

import pytest

from memstow.api.operations.body import parse_request
from memstow.api.operations.front_solve import FrontTeller, result_of, solve_front
from memstow.api.operations.request_types import (
    BodyForm,
    FrontUpdate,
    Limits,
    PointUpdate,
    SolveFrontRequest,
    SolveResult,
    SolveUpdate,
    decode_update,
    encode_update,
)
from memstow.planner.formats import write_graph
from memstow.planner.front.front_documents import read_front, write_front
from memstow.planner.front.front_request import Collected, FrontRequest
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.graph_document import graph_digest
from memstow.planner.model.front import Front, TargetFront
from tests.planner.graph.test_channels import block

PROBLEM = {
    "version": 1,
    "buffers": [
        {"id": "a", "size": 4, "lifetime": [0, 1]},
        {"id": "b", "size": 2, "lifetime": [1, 2]},
        {"id": "c", "size": 2, "lifetime": [2, 3]},
    ],
    "reuse_costs": [{"buffers": ["a", "b"], "cost": 3}, {"buffers": ["b", "c"], "cost": 1}],
}
LIMITS = Limits(
    max_buffers=1000,
    max_values=10_000,
    max_time_limit=600.0,
    max_workers=2,
    solve_memory=1 << 30,
    max_batch=1,
)


TARGETS = [
    {"version": 1, "name": name, "pools": [{"id": "ram", "capacity": capacity}]}
    for name, capacity in (("large", 64), ("none", 3), ("tight", 6))
]


def request(targets: object = None, **options: object) -> SolveFrontRequest:
    """What the store hands to the process of a job."""
    wanted = {"terms": ["peak", "reuse_cost"]}
    body = {"problem": PROBLEM, "options": options, "front": wanted, "targets": targets}
    form = BodyForm(front={}, members=("priority",))
    validated = parse_request(json.dumps(body).encode(), form, LIMITS).validated()
    return SolveFrontRequest(problem=validated.problem, options=validated.options)


def run(wanted: SolveFrontRequest) -> tuple[SolveResult, list[SolveUpdate]]:
    """The result, and what was told before it, over the pipe between processes."""
    output: list[SolveUpdate] = []
    result = solve_front(
        wanted, lambda update: output.append(decode_update(encode_update(update))), threading.Event()
    )
    return result, output


def points_of(output: list[SolveUpdate]) -> list[PointUpdate]:
    """All points that were told."""
    return [point for entry in output if isinstance(entry, FrontUpdate) for point in entry.points]


def fronts_of(output: list[SolveUpdate]) -> list[Front]:
    """The fronts on the way."""
    return [read_front(entry.front.plan) for entry in output if isinstance(entry, FrontUpdate)]


def test_a_point_is_told_once_and_is_in_the_front_that_comes_with_it() -> None:
    _, output = run(request(time_limit=240.0))
    points = [(point.values, point.bounds, point.proven) for point in points_of(output)]
    assert all(points.count(point) == 1 for point in points)
    for update in output:
        if isinstance(update, FrontUpdate):
            held = [dict(point.values) for point in read_front(update.front.plan).points]
            # A better one may have come meanwhile.
            assert any(point.values in held for point in update.points)


def test_each_point_is_told_and_the_front_so_far() -> None:
    result, output = run(request(time_limit=240.0))
    assert (result.status, result.value, result.bound, result.peak) == ("optimal", 4, 4, None)
    front = read_front(result.plan)
    values = [dict(point.values) for point in front.points]
    assert values[0]["peak"] == 4
    assert values[-1]["reuse_cost"] == 0
    points = points_of(output)
    assert all(value in [point.values for point in points] for value in values)
    so_far = fronts_of(output)
    assert so_far
    assert not any(entry.complete for entry in so_far)


def test_a_run_goes_on_from_the_points_of_an_earlier_one() -> None:
    first, _ = run(request(time_limit=240.0))
    again, output = run(replace(request(time_limit=0.0), known_plan=first.plan))
    assert read_front(again.plan).points == read_front(first.plan).points
    assert points_of(output) == []


def test_a_deterministic_run_begins_anew_and_ends_the_same() -> None:
    wanted = request(deterministic=True, work_limit=100_000)
    first, output = run(wanted)
    assert {point.seconds for point in points_of(output)} == {0.0}
    again, _ = run(replace(wanted, known_plan=first.plan))
    assert again == first
    _, output = run(request(time_limit=240.0))
    assert all(point.seconds > 0 for point in points_of(output))


def test_points_of_another_problem_are_no_start() -> None:
    first, _ = run(request(time_limit=240.0))
    front = json.loads(first.plan)
    front["digest"] = "0" * 64
    again, _ = run(replace(request(time_limit=240.0), known_plan=json.dumps(front).encode()))
    assert read_front(again.plan).digest != front["digest"]
    assert again.status == "optimal"


def test_a_run_with_parts_of_channels_goes_on_from_points_of_the_graph_with_them() -> None:
    body = {
        "graph": json.loads(write_graph(block())),
        "front": {"generators": ["stripes", "channels"]},
        "options": {"time_limit": 240.0},
    }
    validated = parse_request(json.dumps(body).encode(), BodyForm(front={}), LIMITS).validated()
    wanted = SolveFrontRequest(problem=validated.problem, options=validated.options)
    assert validated.digest == graph_digest(block())
    first, output = run(wanted)
    front = read_front(first.plan)
    assert any(point.plan.schedule and point.plan.schedule.alternatives for point in front.points)
    assert {entry.digest for entry in (front, *fronts_of(output))} == {graph_digest(with_channels(block()))}
    again, output = run(replace(wanted, known_plan=first.plan))
    assert read_front(again.plan).points == front.points
    assert points_of(output) == []
    known = replace(front, points=front.points[:1], complete=False)
    again, output = run(replace(wanted, known_plan=write_front(known, "json")))
    values = [(point.values, point.bounds) for point in front.points]
    assert [(point.values, point.bounds) for point in read_front(again.plan).points] == values
    assert len(points_of(output)) == len(front.points) - 1


def test_a_run_over_targets_goes_on_from_what_is_known_of_each() -> None:
    first, output = run(request(TARGETS, time_limit=240.0))
    front = read_front(first.plan)
    assert [(device.target, device.fits) for device in front.targets] == [
        ("none", "no"),
        ("tight", "yes"),
        ("large", "yes"),
    ]
    assert (front.smallest, front.complete, first.status, first.value) == ("tight", True, "optimal", 4)
    points = points_of(output)
    assert {point.target for point in points} == {"tight", "large"}
    so_far = fronts_of(output)
    assert so_far
    assert all([device.target for device in them.targets] == ["none", "tight", "large"] for them in so_far)
    again, output = run(replace(request(TARGETS, time_limit=0.0), known_plan=first.plan))
    assert read_front(again.plan).targets == front.targets
    assert output == []
    half, output = run(replace(request(TARGETS, time_limit=240.0), known_plan=_half(first.plan)))
    ends = read_front(half.plan)
    assert [_values(device) for device in ends.targets] == [_values(device) for device in front.targets]
    assert ends.complete
    assert {entry.target for entry in points_of(output)} == {"large"}


@pytest.mark.parametrize(
    ("targets", "complete", "status"),
    [
        ([], True, "infeasible"),
        ([], False, "unknown"),
        (["no", "no"], True, "infeasible"),
        (["no", "unknown"], False, "unknown"),
        (["unknown", "unknown"], False, "unknown"),
    ],
)
def test_nothing_is_infeasible_unless_that_is_known_of_all(
    targets: list[Literal["no", "unknown"]], complete: bool, status: str
) -> None:
    front = Front(
        digest="0" * 64,
        terms=("peak", "cost"),
        targets=[TargetFront(target=str(i), fits=fits, bytes=1) for i, fits in enumerate(targets)],
        complete=complete,
    )
    result = result_of(front)
    assert (result.status, result.value, result.bound) == (status, None, None)


def _values(front: TargetFront) -> list[dict[str, int]]:
    return [dict(point.values) for point in front.points]


def _half(front: bytes) -> bytes:
    """The front of an earlier run that was stopped in its last target."""
    document = json.loads(front)
    last = document["targets"][-1]
    last.update(points=last["points"][:1], complete=False)
    return json.dumps({**document, "complete": False}).encode()


def test_what_was_proven_before_stays_so() -> None:
    first, _ = run(request(time_limit=240.0))
    front = read_front(first.plan)
    weaker = json.loads(first.plan)
    for point in weaker["points"]:
        point.update(bounds={}, proven=False)
    output: list[SolveUpdate] = []
    with FrontTeller(output.append, front, timed=False) as teller:
        for open_ in read_front(json.dumps(weaker).encode()).points:
            teller.tell(None, open_, lambda: front)
    assert output == []
    collected = Collected(FrontRequest(terms=front.terms))
    collected.add(front.points)
    collected.add(read_front(json.dumps(weaker).encode()).points)
    assert [(point.bounds, point.proven) for point in collected.points()] == [
        (point.bounds, point.proven) for point in front.points
    ]
