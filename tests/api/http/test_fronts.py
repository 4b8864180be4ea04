"""Fronts by requests: a job that finds the points, tells of each, and gives what it has."""

import json
import re
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memstow.planner import formats
from memstow.planner.front.front_documents import read_front
from memstow.planner.graph.graph_document import graph_digest
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.verify import verify
from tests.api.http.conftest import problem_document
from tests.planner.graph.test_channels import block
from tests.waiting import PATIENCE

TWO_POOLS: dict[str, Any] = {
    "version": 1,
    "name": "two",
    "pools": [{"id": "fast", "capacity": 8}, {"id": "slow", "cost": 3}],
    "buffers": [
        {"id": "a", "size": 4, "lifetime": [0, 2]},
        {"id": "b", "size": 2, "lifetime": [0, 2]},
    ],
}
FRONT = {"terms": ["peak:fast", "placement_cost"]}


def submit(client: TestClient, **body: Any) -> dict[str, Any]:
    """A new job for a front."""
    # The processes of back ends take their time to start where the machine is busy.
    request = {"problem": TWO_POOLS, "front": FRONT, "options": {"time_limit": 240.0}, **body}
    response = client.post("/v1/fronts", json=request)
    assert response.status_code == 202, response.text
    job: dict[str, Any] = response.json()
    assert response.headers["location"] == f"/v1/jobs/{job['id']}"
    return job


def ended(client: TestClient, job: str) -> dict[str, Any]:
    """The job when it is over."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        document: dict[str, Any] = client.get(f"/v1/jobs/{job}").json()
        if document["state"] in ("done", "failed", "cancelled"):
            return document
        time.sleep(0.05)
    raise AssertionError(document)


@pytest.fixture(scope="module")
def proven(client: TestClient) -> dict[str, Any]:
    """A job whose front is complete: to prove that, back ends run in processes of their own."""
    job = submit(client)
    assert (job["objective"], job["options"]["front"]) == ("peak:fast", FRONT)
    return ended(client, job["id"])


def test_a_front_is_found_by_a_job_with_an_event_for_each_point(
    client: TestClient, proven: dict[str, Any]
) -> None:
    over = job = proven
    assert (over["state"], over["status"], over["value"], over["bound"]) == ("done", "optimal", 0, 0)
    response = client.get(f"/v1/jobs/{job['id']}/front")
    assert response.headers["memstow-final"] == "true"
    front = read_front(response.content)
    values = [(point.values["peak:fast"], point.values["placement_cost"]) for point in front.points]
    assert (values, front.complete) == ([(0, 18), (2, 12), (4, 6), (6, 0)], True)
    problem = formats.read_problem(json.dumps(TWO_POOLS).encode())
    assert not any(verify(problem, point.plan) for point in front.points)
    output = client.get(f"/v1/jobs/{job['id']}/events").text
    points = [json.loads(data) for data in re.findall(r"^event: point\s+data: (.*)$", output, re.MULTILINE)]
    assert {(point["peak:fast"], point["placement_cost"]) for point in points} == set(values)
    assert "event: done" in output
    again = client.get(f"/v1/jobs/{job['id']}/front", headers={"if-none-match": response.headers["etag"]})
    assert again.status_code == 304


def test_a_front_comes_as_a_table_and_as_a_picture(client: TestClient, proven: dict[str, Any]) -> None:
    job = proven["id"]
    table = client.get(f"/v1/jobs/{job}/front?output_format=csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[1] == "0,18,0,18,yes"
    picture = client.get(f"/v1/jobs/{job}/front?output_format=svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert picture.text.startswith("<svg")
    assert picture.text.count('class="proven"') == 4
    problem_document(client.get(f"/v1/jobs/{job}/front?output_format=png"), 422, "unknown_format")


def test_a_problem_alone_says_in_the_query_what_is_asked(client: TestClient) -> None:
    response = client.post(
        "/v1/fronts?terms=peak:fast,placement_cost&within=1&points=3&time_limit=5",
        json=TWO_POOLS,
    )
    assert response.status_code == 202, response.text
    job = response.json()
    assert job["options"]["front"] == {**FRONT, "within": 1.0, "points": 3}
    ended(client, job["id"])
    front = read_front(client.get(f"/v1/jobs/{job['id']}/front").content)
    assert [dict(point.values) for point in front.points] == [{"peak:fast": 6, "placement_cost": 0}]


def test_what_has_no_front_is_refused_before_there_is_a_job(client: TestClient) -> None:
    def asked(front: object) -> Any:
        return client.post("/v1/fronts", json={"problem": TWO_POOLS, "front": front})

    document = problem_document(asked({"terms": ["peak", "placement_cost"]}), 422, "no_limit")
    assert document["errors"][0]["path"] == "$.front.terms"
    for front in ({"terms": ["peak"]}, {"term": 1}, {"within": 0.5}, {"cost": "bytes"}, 7):
        response = asked(front)
        assert response.status_code == 422
        assert all(error["path"].startswith("$.front") for error in response.json()["errors"])
    assert client.post("/v1/fronts?within=x", json=TWO_POOLS).status_code == 422
    assert client.post("/v1/jobs?within=1.5", json=TWO_POOLS).status_code == 422


def test_a_front_is_no_plan_and_a_plan_is_no_front(client: TestClient, proven: dict[str, Any]) -> None:
    job = proven["id"]
    problem_document(client.get(f"/v1/jobs/{job}/plan"), 409, "is_front")
    response = client.post("/v1/jobs", json={"problem": TWO_POOLS, "hint_job": job})
    problem_document(response, 422, "is_front")
    plain = client.post("/v1/jobs", json={"problem": TWO_POOLS}).json()["id"]
    ended(client, plain)
    problem_document(client.get(f"/v1/jobs/{plain}/front"), 409, "no_front")


def test_a_front_that_is_stopped_keeps_its_points(client: TestClient) -> None:
    buffers = [
        Buffer(id=f"b{i}", size=4096 + 64 * (i * 37 % 101), lifetime=(i % 17, i % 17 + 5)) for i in range(60)
    ]
    problem = Problem(pools=[Pool(id="fast", capacity=65536), Pool(id="slow", cost=2)], buffers=buffers)
    given = json.loads(formats.write_problem(problem))
    job = submit(client, problem=given, options={"time_limit": 60.0})["id"]
    end = time.monotonic() + PATIENCE
    while client.get(f"/v1/jobs/{job}/front").status_code != 200 and time.monotonic() < end:
        time.sleep(0.05)
    assert client.delete(f"/v1/jobs/{job}").status_code == 200
    assert ended(client, job)["state"] == "cancelled"
    assert read_front(client.get(f"/v1/jobs/{job}/front").content).points


FIRST = {"version": 1, "name": "middle", "pools": [{"id": "fast", "capacity": 6}, {"id": "slow", "cost": 3}]}
SMALL = {"version": 1, "pools": [{"id": "fast", "capacity": 3}, {"id": "slow", "capacity": 1, "cost": 3}]}


@pytest.mark.campaign
def test_the_fronts_of_several_targets_and_the_smallest_that_will_do(client: TestClient) -> None:
    large = {**FIRST, "name": "large", "pools": [{"id": "fast", "capacity": 64}, {"id": "slow", "cost": 3}]}
    job = submit(client, targets=[large, SMALL, {**FIRST, "pools": [{"id": "fast", "capacity": 6}]}])
    assert [device.get("name") for device in job["options"]["targets"]] == ["large", "target 2", "middle"]
    over = ended(client, job["id"])
    assert (over["state"], over["status"], over["value"]) == ("done", "optimal", 6)
    response = client.get(f"/v1/jobs/{job['id']}/front")
    front = read_front(response.content)
    assert [(device.target, device.fits, len(device.points)) for device in front.targets] == [
        ("target 2", "no", 0),
        ("middle", "yes", 1),
        ("large", "yes", 4),
    ]
    assert (front.smallest, front.complete, front.points) == ("middle", True, ())
    output = client.get(f"/v1/jobs/{job['id']}/events").text
    points = [json.loads(data) for data in re.findall(r"^event: point\s+data: (.*)$", output, re.MULTILINE)]
    assert {point["target"] for point in points} == {"middle", "large"}
    table = client.get(f"/v1/jobs/{job['id']}/front?output_format=csv").text.splitlines()
    assert table[0].startswith("target,peak:fast,placement_cost")
    assert table[1] == "middle,6,0,6,0,yes"
    picture = client.get(f"/v1/jobs/{job['id']}/front?output_format=svg").text
    assert all(name in picture for name in ("middle", "large", "target 2"))


def test_targets_of_the_query_are_named(client: TestClient) -> None:
    problem = {"version": 1, "buffers": [{"id": "a", "size": 64, "lifetime": [0, 2]}]}
    query = "terms=peak:sram,placement_cost&time_limit=5&targets=stm32h743,corstone300"
    refused = problem_document(client.post(f"/v1/fronts?{query}", json=problem), 422, "unknown_pool")
    assert refused["errors"][0]["path"] == "$.query.terms"
    reuse = {**problem, "reuse_costs": [{"buffers": ["a", "b"], "cost": 1}]}
    reuse["buffers"] = [
        {"id": "a", "size": 64, "lifetime": [0, 2]},
        {"id": "b", "size": 64, "lifetime": [3, 4]},
    ]
    query = "terms=max_peak,reuse_cost&time_limit=60&targets=stm32h743,corstone300"
    job = client.post(f"/v1/fronts?{query}", json=reuse).json()
    ended(client, job["id"])
    front = read_front(client.get(f"/v1/jobs/{job['id']}/front").content)
    assert sorted(device.target for device in front.targets) == ["corstone300", "stm32h743"]


@pytest.mark.parametrize(
    ("members", "code", "path"),
    [
        ({"targets": ["rp2040x"]}, "unknown_target", "$.targets[0]"),
        ({"targets": ["rp2040", {"version": 1, "pools": []}]}, "empty", "$.targets[1].pools"),
        ({"targets": []}, "not_targets", "$.targets"),
        ({"targets": [FIRST, FIRST]}, "repeated_target", "$.targets[1]"),
        ({"targets": "rp2040"}, "not_targets", "$.targets"),
        ({"targets": ["rp2040"] * 65}, "not_targets", "$.targets"),
        ({"targets": ["rp2040"], "target": "rp2040"}, "two_targets", "$.targets"),
        ({"targets": [FIRST, "rp2040"]}, "unknown_pool", "$.front.terms"),
    ],
)
def test_targets_that_are_wrong_are_refused(
    client: TestClient, members: dict[str, Any], code: str, path: str
) -> None:
    request = {"problem": TWO_POOLS, "front": FRONT, **members}
    document = problem_document(client.post("/v1/fronts", json=request), 422, code)
    assert document["errors"][0]["path"] == path
    assert client.post("/v1/jobs", json=request).status_code == 422


PARTS: dict[str, Any] = json.loads(formats.write_graph(block()))


def test_parts_of_channels_are_chosen_and_drawn(client: TestClient) -> None:
    request = {"generators": ["stripes", "channels"]}
    body = {"graph": PARTS, "front": request, "options": {"time_limit": 240.0}}
    job = client.post("/v1/fronts", json=body).json()
    assert job["options"]["front"] == request
    assert ended(client, job["id"])["state"] == "done"
    front = read_front(client.get(f"/v1/jobs/{job['id']}/front").content)
    converted = client.post("/v1/convert?to=graph&channels=true", json=PARTS)
    parts = formats.document_of(converted.json())
    assert isinstance(parts, Graph)
    assert front.digest == graph_digest(parts)
    assert job["digest"] == graph_digest(block())
    assert any(point.plan.schedule and point.plan.schedule.alternatives for point in front.points)
    for point in front.points:
        plan = formats.write_plan(Problem(buffers=()), point.plan)
        verdict = client.post("/v1/verify", json={"graph": converted.json(), "plan": json.loads(plan)})
        assert verdict.json()["valid"]
    page = client.get(f"/v1/jobs/{job['id']}/front?output_format=page").json()
    assert None not in page["of"]
    names = {operator["id"] for graph in page["graphs"] for operator in graph["operators"]}
    # Parts of channels, some of which run in stripes with the id of their last operator.
    assert any(re.search(r"\.\d+\.\d+$", name) for name in names)


def test_parts_of_channels_may_be_asked_for_in_the_query(client: TestClient) -> None:
    job = client.post("/v1/fronts?generators=channels&time_limit=60", json=PARTS).json()
    assert job["options"]["front"] == {"generators": ["channels"]}
    assert ended(client, job["id"])["state"] == "done"
    pools = {"pools": [{"id": "fast"}, {"id": "slow"}]}
    request = {"terms": ["peak:fast", "cost"], "generators": ["channels"]}
    response = client.post("/v1/fronts", json={"graph": {**PARTS, **pools}, "front": request})
    document = problem_document(response, 422, "several_pools")
    assert "parts of channels" in document["errors"][0]["message"]


def test_parts_of_channels_of_several_targets(client: TestClient) -> None:
    targets = [
        {"version": 1, "name": name, "pools": [{"id": "ram", "capacity": size}]}
        for name, size in (("small", 64), ("large", 1 << 20))
    ]
    body = {"graph": PARTS, "front": {"generators": ["channels"]}, "targets": targets}
    job = client.post("/v1/fronts", json=body).json()
    ended(client, job["id"])
    front = read_front(client.get(f"/v1/jobs/{job['id']}/front").content)
    assert front.smallest == "large"
    page = client.get(f"/v1/jobs/{job['id']}/front?output_format=page").json()
    assert None not in page["of"]
