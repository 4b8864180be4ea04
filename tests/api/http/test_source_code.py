"""Plans as source code over HTTP: a build system needs no more than curl."""

import json
from itertools import combinations

import pytest
from starlette.testclient import TestClient

from memstow.api.http.samples import PROBLEM
from memstow.planner import exports, formats
from memstow.planner.model.options import Options
from memstow.planner.solve import engine
from tests.api.asking import over
from tests.api.http.conftest import problem_document

PARSED = formats.read_problem(json.dumps(PROBLEM).encode())
OPTIONS = {"deterministic": True}


@pytest.mark.parametrize("name", exports.names())
def test_the_plan_comes_as_source_code(client: TestClient, name: str) -> None:
    response = client.post(
        f"/v1/plan?output_format={name}&prefix=net&section=memory=.tcm_bss&header=my+net.h",
        json={"problem": PROBLEM, "options": OPTIONS},
    )
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    plan = engine.plan(PARSED, Options(deterministic=True))
    sections = {"memory": ".tcm_bss"}
    assert response.content == exports.export(
        PARSED, plan, name, prefix="net", sections=sections, header="my net.h"
    )


def test_the_plan_comes_as_a_step_table(client: TestClient) -> None:
    question = {"problem": PROBLEM, "options": OPTIONS}
    response = client.post("/v1/plan?output_format=replay", json=question)
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    plan = engine.plan(PARSED, Options(deterministic=True))
    assert response.content == formats.write_plan(PARSED, plan, "replay")


def test_equal_problems_with_other_names_have_their_own_code(client: TestClient) -> None:
    question = {"problem": PROBLEM, "options": OPTIONS}
    one, other = (
        client.post(f"/v1/plan?output_format=c-header&prefix={prefix}", json=question).text
        for prefix in ("one", "other")
    )
    assert "ONE_OFFSET_input" in one
    assert "OTHER_OFFSET_input" in other


def test_the_plan_of_a_job_comes_as_source_code(client: TestClient) -> None:
    job = client.post("/v1/jobs", json={"problem": PROBLEM, "options": OPTIONS}).json()["id"]
    over(client, job)
    header = client.get(f"/v1/jobs/{job}/plan?output_format=c-header&prefix=net")
    assert header.headers["content-type"] == "text/plain; charset=utf-8"
    assert "#define NET_OFFSET_input" in header.text
    as_csv = client.get(f"/v1/jobs/{job}/plan?output_format=csv")
    assert "id," in as_csv.text
    # One word for the format of a body, another for that of what is returned.
    problem_document(client.get(f"/v1/jobs/{job}/plan?format=csv"), 422, "unknown_parameter")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("output_format=fortran", "unknown_format"),
        ("output_format=csv&prefix=net", "unused_parameter"),
        ("section=memory=.x", "unused_parameter"),
        ("output_format=ld&prefix=1st", "bad_prefix"),
        ("output_format=ld&prefix=", "bad_prefix"),
        ("output_format=ld&section=.x", "bad_section"),
        ("output_format=ld&section=memory=a;b", "bad_section"),
        ("output_format=ld&section=dtcm=.x", "unknown_pool"),
        ("output_format=ld&section=memory=.x&section=memory=.y", "two_sections"),
        ('output_format=c-source&header=a"b', "bad_header"),
    ],
)
def test_names_that_cannot_be_are_refused(client: TestClient, query: str, code: str) -> None:
    response = client.post(f"/v1/plan?{query.replace(';', '%3B')}", json={"problem": PROBLEM})
    document = response.json()
    assert response.status_code == 422
    assert code in {document["code"], *(issue["code"] for issue in document.get("errors", ()))}


def test_a_long_self_check_is_not_written_in_the_process_of_the_server(client: TestClient) -> None:
    buffers = [{"id": f"b{i}", "size": 8, "lifetime": [i, i + 2]} for i in range(2500)]
    problem = {"version": 1, "buffers": buffers}
    response = client.post("/v1/plan?output_format=c-check", json={"problem": problem, "options": OPTIONS})
    assert response.status_code == 200, response.text
    assert "location" in response.headers
    assert response.text.count("u,") > 2 * 2500
    job = response.headers["location"]
    assert client.get(f"{job}/plan?output_format=c-check").text == response.text


@pytest.mark.campaign
def test_a_self_check_that_would_be_too_long_is_refused(client: TestClient) -> None:
    names = [[f"{which}{i}" for i in range(120)] for which in "ab"]
    problem = {
        "version": 1,
        "buffers": [{"id": name, "size": 1, "lifetime": [0, 1]} for name in (*names[0], *names[1])],
        "pools": [{"id": "memory", "capacity": 2}],
        "exclusive": [pair for some in names for pair in combinations(some, 2)],
    }
    quick = {**OPTIONS, "solver": "greedy"}
    response = client.post("/v1/plan?output_format=c-check", json={"problem": problem, "options": quick})
    problem_document(response, 422, "too_large")


def test_what_code_cannot_express_is_told(client: TestClient) -> None:
    odd = {"version": 1, "buffers": [{"id": "a", "size": 6, "alignment": 3}]}
    response = client.post("/v1/plan?output_format=c-header", json={"problem": odd})
    problem_document(response, 422, "not_expressible")
