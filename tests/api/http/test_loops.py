"""Loops over HTTP: where a request has a graph, its plan can be had as the table of its loops."""

import pytest
from starlette.testclient import TestClient

import memstow
from memstow.api.http.samples import PROBLEM
from memstow.planner.loops import names
from tests.api.asking import over
from tests.api.http.conftest import problem_document
from tests.planner.loops.samples import TWO, two

OPTIONS = {"deterministic": True}
QUESTION = {"graph": TWO, "options": OPTIONS}
TYPES = {
    "loops": "application/vnd.memstow.loops+json",
    "loops-text": "text/plain; charset=utf-8",
    "loops-header": "text/plain; charset=utf-8",
}


@pytest.mark.parametrize("name", TYPES)
def test_a_plan_of_a_graph_comes_as_its_loops(client: TestClient, name: str) -> None:
    table = memstow.loops(two(), memstow.plan(two(), memstow.Options(deterministic=True)))
    response = client.post(f"/v1/plan?output_format={name}", json=QUESTION)
    assert (response.status_code, response.headers["content-type"]) == (200, TYPES[name])
    assert response.content == memstow.write_loops(table, name)
    job = client.post("/v1/jobs", json=QUESTION).json()["id"]
    over(client, job)
    assert client.get(f"/v1/jobs/{job}/plan?output_format={name}").content == response.content


def test_names_in_c_begin_as_the_query_says(client: TestClient) -> None:
    response = client.post("/v1/plan?output_format=loops-header&prefix=cam", json=QUESTION)
    assert "#ifndef CAM_LOOPS_H" in response.text
    refused = client.post("/v1/plan?output_format=loops&prefix=cam", json=QUESTION)
    problem_document(refused, 422, "unused_parameter")
    refused = client.post("/v1/plan?output_format=loops-header&prefix=1st", json=QUESTION)
    problem_document(refused, 422, "bad_prefix")


@pytest.mark.parametrize("name", names())
def test_a_problem_has_no_loops(client: TestClient, name: str) -> None:
    question = {"problem": PROBLEM, "options": OPTIONS}
    response = client.post(f"/v1/plan?output_format={name}", json=question)
    problem_document(response, 422, "not_a_graph")
    job = client.post("/v1/jobs", json=question).json()["id"]
    over(client, job)
    response = client.get(f"/v1/jobs/{job}/plan?output_format={name}")
    problem_document(response, 422, "not_a_graph")


def test_a_plan_without_stripes_has_no_picture_of_them(client: TestClient) -> None:
    response = client.post("/v1/plan?output_format=loops-picture", json=QUESTION)
    problem_document(response, 422, "no_stripes")
