"""Graphs at the service: plans, jobs, batches, verdicts, descriptions, conversions."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from memstow.planner import formats
from memstow.planner.graph.changes import with_order
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.verify import verify
from tests.api.cli.test_graphs import FORKED
from tests.api.http.conftest import problem_document
from tests.waiting import wait_for

GRAPH = parse_graph(FORKED)


def value_of(plan: dict[str, Any]) -> int:
    return int(plan["objective"][0]["value"])


@pytest.mark.parametrize("body", [FORKED, {"graph": FORKED}, {"problem": FORKED}])
def test_a_graph_gets_a_plan_with_its_order(client: TestClient, body: object) -> None:
    response = client.post("/v1/plan", json=body)
    assert response.status_code == 200, response.text
    plan = response.json()
    assert plan["schedule"]["order"] == ["D", "A", "B", "Y"]
    assert value_of(plan) == 160
    assert (
        verify(GRAPH, formats.read_plan(response.content, formats.read_problem(json.dumps(FORKED).encode())))
        == []
    )


def test_the_order_and_pairs_in_place_can_be_chosen(client: TestClient) -> None:
    free = client.post("/v1/plan", json={"graph": FORKED, "order": "free"}).json()
    assert (free["status"], value_of(free)) == ("optimal", 110)
    assert value_of(client.post("/v1/plan", json={"graph": {**FORKED, "order": "free"}}).json()) == 110
    apart = client.post("/v1/plan", json={"graph": FORKED, "order": "free", "in_place": False}).json()
    assert value_of(apart) > 110
    for rule in ("lpmf", "dfs"):
        by_rule = client.post("/v1/plan", json={"graph": FORKED, "order": rule}).json()
        assert by_rule["objective"][0]["bound"] == 110 <= value_of(by_rule)
        assert (by_rule["status"] == "optimal") == (value_of(by_rule) == 110)
    wrong = client.post("/v1/plan", json={"graph": FORKED, "order": "any", "in_place": 1})
    problem_document(wrong, 422, "not_an_order")
    problem_document(
        client.post("/v1/plan", json={"problem": {"version": 1, "buffers": []}, "order": "free"}),
        422,
        "not_a_graph",
    )


def test_issues_have_paths_in_the_body(client: TestClient) -> None:
    document = problem_document(
        client.post("/v1/plan", json={"graph": {**FORKED, "inputs": ["q"]}}), 422, "invalid_request"
    )
    assert {error["path"] for error in document["errors"]} == {"$.graph.tensors[0]", "$.graph.inputs[0]"}


def test_jobs_and_batches_take_graphs(client: TestClient) -> None:
    job = client.post("/v1/jobs", json={"graph": FORKED, "order": "free"}).json()["id"]
    wait_for(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "done", "the job")
    plan = client.get(f"/v1/jobs/{job}/plan").json()
    assert (value_of(plan), sorted(plan["schedule"]["order"])) == (110, ["A", "B", "D", "Y"])
    as_csv = client.get(f"/v1/jobs/{job}/plan?output_format=csv")
    assert as_csv.status_code == 200
    batch = client.post(
        "/v1/batches", json={"problems": [{"name": "forked", "problem": {**FORKED, "order": "free"}}]}
    )
    assert batch.status_code in (200, 201, 202), batch.text


def test_plans_are_judged_and_graphs_described_and_converted(client: TestClient) -> None:
    plan = client.post("/v1/plan", json={"graph": FORKED, "order": "free"}).json()
    good = client.post("/v1/verify", json={"graph": FORKED, "order": "free", "plan": plan}).json()
    assert (good["valid"], good["claims"][0]["subject"]) == (True, "order")
    plan["schedule"]["order"] = ["Y", "D", "A", "B"]
    bad = client.post("/v1/verify", json={"graph": FORKED, "plan": plan}).json()
    assert {violation["code"] for violation in bad["violations"]} == {"order"}
    described = client.post("/v1/inspect", json=FORKED).json()
    assert described["graph"]["peak_live"] == 160
    problem = client.post("/v1/convert?to=json", json=FORKED).json()
    assert [buffer["id"] for buffer in problem["buffers"]] == ["x", "a", "b", "d", "y"]
    assert with_order(GRAPH, "free") != GRAPH
