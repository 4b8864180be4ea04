"""Problems with symbols by requests: plans and jobs of them, and clear words where they are not taken."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from memstow.planner.formats.native import (
    parse_symbolic,
    parse_symbolic_graph,
    read_symbolic,
    read_symbolic_plan,
    write_symbolic,
    write_symbolic_graph,
)
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.model.options import Options
from memstow.planner.model.symbolic import SymbolicPlan
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.verify import judge
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from tests.api.http.conftest import problem_document
from tests.api.symbolic_problems import hard
from tests.campaign import gate_first
from tests.planner.shapes.solve.test_operator_order import TWO_BRANCHES
from tests.waiting import PATIENCE

ATTENTION: dict[str, Any] = {
    "version": 1,
    "name": "attention",
    "symbols": [{"id": "s", "min": 16, "max": 1024, "step": 16, "values": [16, 128, 1024]}],
    "buffers": [
        {"id": "x", "size": "4*s*256", "lifetime": [0, 4], "alignment": 64},
        {"id": "scores", "size": "16*s*s", "lifetime": [1, 3], "alignment": 64},
        {"id": "mask", "size": "align(ceil_div(s*s, 8), 64)", "lifetime": [0, 3]},
        {"id": "y", "size": "4*s*256", "lifetime": [3, 6], "alignment": 64},
    ],
}
NATIVE = "application/vnd.memstow.problem+json"
# The process of a run takes its time to start where the machine is busy.
OPTIONS = {"time_limit": 240.0}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """An app that waits for plans on a busy machine."""
    folder = tmp_path_factory.mktemp("data")
    return create_app(Settings(data=folder, slots=1, lease_seconds=2.0, sync_seconds=PATIENCE))


def plan_of(response: Response) -> SymbolicPlan:
    """The plan of an answer, which must be one."""
    assert response.status_code == 200, response.text
    return read_symbolic_plan(response.content)


def formula(text: str, **symbol: Any) -> dict[str, Any]:
    """A problem with one formula."""
    symbols = [{"id": "s", "min": 0, "max": 64, **symbol}]
    return {"version": 1, "symbols": symbols, "buffers": [{"id": "a", "size": text, "lifetime": [0, 1]}]}


def large(buffers: int) -> dict[str, Any]:
    """A problem that is not done at once."""
    made: dict[str, Any] = json.loads(write_symbolic(symbolic(n=buffers, seed=1)))
    return made


def job_of(client: TestClient, **body: Any) -> dict[str, Any]:
    """A new job."""
    response = client.post("/v1/jobs", json={"problem": ATTENTION, "options": OPTIONS, **body})
    assert response.status_code == 202, response.text
    job: dict[str, Any] = response.json()
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


# Plans


@pytest.mark.parametrize("shapes", ["order", "fixed", "pieces"])
def test_a_problem_with_symbols_gets_a_plan_that_the_judge_accepts(client: TestClient, shapes: str) -> None:
    response = client.post(f"/v1/plan?shapes={shapes}&time_limit=240", json=ATTENTION)
    plan = plan_of(response)
    assert (plan.shapes, response.headers["memstow-final"]) == (shapes, "true")
    assert not judge_symbolic(parse_symbolic(ATTENTION), plan).violations
    job = response.headers["location"]
    again = client.get(f"{job}/plan", headers={"if-none-match": response.headers["etag"]})
    assert again.status_code == 304
    assert client.post("/v1/verify", json={"problem": ATTENTION, "plan": response.json()}).json()["valid"]


def test_it_may_come_in_an_envelope_as_a_text_and_by_its_media_type(client: TestClient) -> None:
    request = {"shapes": "pieces", "pieces": 3, "options": OPTIONS}
    digests = {plan_of(client.post("/v1/plan", json={"problem": ATTENTION, **request})).digest}
    as_text = {"problem": json.dumps(ATTENTION), **request}
    digests.add(plan_of(client.post("/v1/plan", json=as_text)).digest)
    alone = client.post(
        "/v1/plan?shapes=order", content=json.dumps(ATTENTION), headers={"content-type": NATIVE}
    )
    digests.add(plan_of(alone).digest)
    escaped = json.dumps(ATTENTION).replace('"symbols"', '"symbol\\u0073"')
    response = client.post("/v1/plan", content=escaped, headers={"content-type": "application/json"})
    digests.add(plan_of(response).digest)
    assert len(digests) == 1


def test_a_graph_with_symbols_is_planned_in_its_order(client: TestClient) -> None:
    graph = {
        "version": 1,
        "symbols": [{"id": "s", "min": 1, "max": 64}],
        "tensors": [{"id": "x", "size": "4*s"}, {"id": "y", "size": "s*s"}],
        "operators": [{"id": "f", "inputs": ["x"], "outputs": ["y"]}],
        "inputs": ["x"],
        "outputs": ["y"],
    }
    plan = plan_of(client.post("/v1/plan", json=graph))
    assert not judge(parse_symbolic_graph(graph), plan).violations
    assert plan_of(client.post("/v1/plan", json={"graph": graph, "shapes": "fixed"})).placements
    by_type = {"content-type": "application/vnd.memstow.graph+json"}
    native = client.post("/v1/plan", content=json.dumps(graph), headers=by_type)
    assert plan_of(native).digest == plan.digest


FREE: dict[str, Any] = json.loads(write_symbolic_graph(replace(TWO_BRANCHES, order="free")))
LISTED: dict[str, Any] = json.loads(write_symbolic_graph(TWO_BRANCHES))
DETERMINISTIC = {"deterministic": True}


def test_each_way_to_ask_for_a_free_order_gives_the_plan_of_the_library(client: TestClient) -> None:
    expected = plan_symbolic(replace(TWO_BRANCHES, order="free"), Options(deterministic=True))
    for query, body in (
        ("", {"graph": LISTED, "order": "free", "options": DETERMINISTIC}),
        ("", {"problem": LISTED, "order": "free", "options": DETERMINISTIC}),
        ("", {"graph": FREE, "options": DETERMINISTIC}),
        ("?deterministic=true", FREE),
        ("?deterministic=true&order=free", LISTED),
    ):
        response = client.post(f"/v1/plan{query}", json=body)
        assert plan_of(response) == expected, query
        plan = response.json()
        assert plan["schedule"] == {"order": ["A", "C", "D", "Y"]}
        job = client.get(response.headers["location"]).json()
        assert (job["status"], job["value"], job["bound"]) == ("optimal", 101, 101)
    for document in ({"graph": FREE}, {"problem": LISTED}, {"graph": LISTED, "order": "free"}):
        verdict = client.post("/v1/verify", json={**document, "plan": plan}).json()
        assert (verdict["valid"], verdict["checked"]) == (True, True)
        page = client.post("/v1/verify?output_format=page", json={**document, "plan": plan}).json()
        assert [buffer["id"] for buffer in page["symbolic"]["buffers"]] == list("xacdy")
    there = client.post("/v1/evaluate", json={"problem": LISTED, "plan": plan, "at": {"s": 8}}).json()
    assert there["objective"][0]["value"] == 101
    listed = plan_of(client.post("/v1/plan?order=given", json=FREE))
    assert listed.schedule is not None
    assert listed.schedule.order == ("D", "A", "C", "Y")


def test_a_job_of_a_graph_keeps_the_graph_and_draws_its_plan(client: TestClient) -> None:
    response = client.post("/v1/jobs", json={"graph": LISTED, "order": "free", "options": OPTIONS})
    job = ended(client, response.json()["id"])["id"]
    assert client.get(f"/v1/jobs/{job}/problem").json() == FREE
    plan = plan_of(client.get(f"/v1/jobs/{job}/plan"))
    assert not judge(replace(TWO_BRANCHES, order="free"), plan).violations
    page = client.get(f"/v1/jobs/{job}/plan?output_format=page").json()
    assert page["symbolic"]["buffers"][1] == {"id": "a", "size": "s*s", "lifetime": [1, 3], "group": "A"}
    assert b"plan_offsets" in client.get(f"/v1/jobs/{job}/plan?output_format=c-header").content


@pytest.mark.parametrize("order", ["lpmf", "backwards", 7])
def test_orders_that_graphs_with_symbols_do_not_have_are_refused(client: TestClient, order: Any) -> None:
    for path, more in (("/v1/plan", {}), ("/v1/verify", {"plan": {"status": "unknown", "shapes": "order"}})):
        response = client.post(path, json={"graph": LISTED, "order": order, **more})
        document = problem_document(response, 422, "not_for_symbols")
        assert [error["path"] for error in document["errors"]] == ["$.order"]


def test_a_schedule_that_the_graph_does_not_allow_is_refused(client: TestClient) -> None:
    plan = client.post("/v1/plan", json={"graph": FREE, "options": OPTIONS}).json()
    plan["schedule"]["order"].reverse()
    verdict = client.post("/v1/verify", json={"graph": FREE, "plan": plan}).json()
    assert not verdict["valid"]
    assert {violation["code"] for violation in verdict["violations"]} == {"order"}
    refused = client.post("/v1/evaluate", json={"problem": FREE, "plan": plan, "at": {"s": 8}})
    document = problem_document(refused, 422, "not_an_order")
    assert [error["path"] for error in document["errors"]] == ["$.plan.schedule.order"]


def test_the_body_comes_before_the_query(client: TestClient) -> None:
    response = client.post("/v1/plan?shapes=fixed", json={"problem": ATTENTION, "shapes": "order"})
    assert plan_of(response).shapes == "order"


def test_a_plan_comes_as_c(client: TestClient) -> None:
    response = client.post("/v1/plan?output_format=c-header&prefix=net&time_limit=240", json=ATTENTION)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "net_symbols" in response.text
    job = response.headers["location"]
    assert client.get(f"{job}/plan?output_format=c-header&prefix=net").text == response.text
    problem_document(client.get(f"{job}/plan?output_format=csv"), 422, "unknown_format")
    refused = client.get(f"{job}/plan?output_format=c-header&section=memory%3D.bss")
    problem_document(refused, 422, "unused_parameter")
    problem_document(client.post("/v1/plan?output_format=svg", json=ATTENTION), 422, "unknown_format")


def test_that_nothing_fits_is_an_answer(client: TestClient) -> None:
    problem = {**ATTENTION, "pools": [{"id": "memory", "capacity": 1000}]}
    response = client.post("/v1/plan?time_limit=240", json=problem)
    plan = plan_of(response)
    assert plan.status.value in ("infeasible", "unknown")
    assert plan.explanation is not None
    as_c = client.post("/v1/plan?time_limit=240&output_format=c-header", json=problem)
    code = "infeasible" if plan.status.value == "infeasible" else "no_plan_found"
    problem_document(as_c, 422, code)


def test_deterministic_requests_have_the_same_bytes(client: TestClient) -> None:
    request = {"problem": large(40), "options": {"deterministic": True, "work_limit": 20_000_000, "seed": 3}}
    fresh = {"cache-control": "no-cache"}
    first, second = (client.post("/v1/plan", json=request, headers=fresh) for _ in range(2))
    plan = plan_of(first)
    assert plan.seconds == 0
    assert (first.content, first.headers["etag"]) == (second.content, second.headers["etag"])
    assert first.headers["location"] != second.headers["location"]


def test_equal_requests_share_a_plan_and_others_do_not(client: TestClient) -> None:
    options = {"time_limit": 239.0}
    jobs = [job_of(client, options=options), job_of(client, options=options)]
    over = [ended(client, job["id"]) for job in jobs]
    plans = [client.get(f"/v1/jobs/{job['id']}/plan").json() for job in over]
    assert plans[0] == plans[1]
    other = job_of(client, options=options, shapes="fixed")
    ended(client, other["id"])
    assert client.get(f"/v1/jobs/{other['id']}/plan").json()["shapes"] == "fixed"


# Jobs


def test_a_job_says_what_it_is_for_and_has_the_figures_of_the_first_point(client: TestClient) -> None:
    # No other test has asked for the same: the answer is not in the cache.
    options = {**OPTIONS, "seed": 5}
    job = job_of(client, shapes="pieces", pieces=3, priority=-1, options=options)
    assert (job["name"], job["buffers"], job["objective"], job["priority"]) == ("attention", 4, "peak", -1)
    assert (job["options"]["shapes"], job["options"]["pieces"]) == ("pieces", 3)
    over = ended(client, job["id"])
    plan = plan_of(client.get(f"/v1/jobs/{job['id']}/plan"))
    assert (over["state"], over["digest"]) == ("done", plan.digest)
    assert (over["value"], over["bound"]) == (plan.points[0].peak, plan.points[0].least)
    output = client.get(f"/v1/jobs/{job['id']}/events").text
    assert all(f'"name": "{phase}"' in output for phase in ("points", "search", "judge"))
    assert "event: done" in output
    stored = read_symbolic(client.get(f"/v1/jobs/{job['id']}/problem").content)
    assert stored == parse_symbolic(ATTENTION)
    problem_document(client.get(f"/v1/jobs/{job['id']}/front"), 409, "no_front")


def test_a_job_that_is_stopped_keeps_its_best_plan(client: TestClient) -> None:
    problem = hard()
    job = job_of(client, problem=problem)["id"]
    end = time.monotonic() + PATIENCE
    while client.get(f"/v1/jobs/{job}/plan").status_code != 200 and time.monotonic() < end:
        time.sleep(0.1)
    assert client.delete(f"/v1/jobs/{job}").status_code == 200
    over = ended(client, job)
    plan = plan_of(client.get(f"/v1/jobs/{job}/plan"))
    assert (over["state"], over["status"]) == ("cancelled", plan.status.value)
    assert not judge_symbolic(parse_symbolic(problem), plan).violations


def test_a_request_that_waits_briefly_gets_the_job_or_the_best_plan(client: TestClient) -> None:
    request = {"problem": hard(), "options": OPTIONS}
    response = client.post("/v1/plan", json=request, headers={"prefer": "respond-async"})
    assert response.status_code == 202
    assert response.json()["state"] in ("queued", "running")
    client.delete(f"{response.headers['location']}?discard=true")
    response = client.post("/v1/plan", json=request, headers={"prefer": "wait=1"})
    while response.status_code == 202:
        client.delete(f"{response.headers['location']}?discard=true")
        seconds = int(response.headers["preference-applied"].removeprefix("wait=")) * 2
        response = client.post("/v1/plan", json=request, headers={"prefer": f"wait={seconds}"})
    assert response.headers["memstow-final"] == "false"
    assert not judge_symbolic(parse_symbolic(request["problem"]), plan_of(response)).violations
    client.delete(f"{response.headers['location']}?discard=true")


@pytest.mark.campaign
def test_a_job_with_symbols_is_no_hint_for_another(client: TestClient) -> None:
    job = job_of(client)["id"]
    ended(client, job)
    ordinary = {"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}]}
    refused = client.post("/v1/jobs", json={"problem": ordinary, "hint_job": job})
    problem_document(refused, 422, "not_for_symbols")
    refused = client.post("/v1/jobs", json={"problem": ATTENTION, "hint_job": job})
    problem_document(refused, 422, "not_for_symbols")


# What is refused


@pytest.mark.parametrize(
    ("query", "path", "code"),
    [
        ("shapes=cube", "$.query.shapes", "unknown_shapes"),
        ("shapes=pieces&pieces=0", "$.query.pieces", "out_of_range"),
        ("shapes=pieces&pieces=17", "$.query.pieces", "out_of_range"),
        ("shapes=pieces&pieces=1e3", "$.query.pieces", "out_of_range"),
        ("shapes=pieces&pieces=true", "$.query.pieces", "out_of_range"),
        ("pieces=2", "$.query.pieces", "unused_option"),
        ("gap=0.5", "$.query.gap", "not_for_symbols"),
        ("solver=greedy", "$.query.solver", "not_for_symbols"),
        ("target=stm32h743", "$.query.target", "not_for_symbols"),
        ("order=free", "$.query.order", "not_a_graph"),
        ("in_place=true", "$.query.in_place", "not_for_symbols"),
        ("time_limit=1e6", "$.query.time_limit", "over_limit"),
    ],
)
@pytest.mark.parametrize("route", gate_first(["/v1/plan", "/v1/jobs"], 1))
def test_what_a_problem_with_symbols_cannot_have_is_refused(
    client: TestClient, route: str, query: str, path: str, code: str
) -> None:
    document = problem_document(client.post(f"{route}?{query}", json=ATTENTION), 422, code)
    assert [error["path"] for error in document["errors"]] == [path]
    in_problem = path.removeprefix("$.query.") in ("target", "in_place")
    assert ("or write it into the problem" in document["errors"][0]["message"]) == in_problem


@pytest.mark.parametrize(
    ("members", "path", "code"),
    [
        ({"shapes": 7}, "$.shapes", "unknown_shapes"),
        ({"shapes": ["order"]}, "$.shapes", "unknown_shapes"),
        ({"shapes": "pieces", "pieces": None}, "$.pieces", "out_of_range"),
        ({"shapes": "pieces", "pieces": 10**30}, "$.pieces", "out_of_range"),
        ({"target": "stm32h743"}, "$.target", "not_for_symbols"),
        ({"in_place": False}, "$.in_place", "not_for_symbols"),
        (
            {"options": {"hint": {"status": "feasible", "placements": []}}},
            "$.options.hint",
            "not_for_symbols",
        ),
        ({"options": 7}, "$.options", "wrong_root"),
        ({"front": {}}, '$["front"]', "unknown_field"),
    ],
)
def test_members_that_do_not_belong_are_refused(
    client: TestClient, members: dict[str, Any], path: str, code: str
) -> None:
    response = client.post("/v1/plan", json={"problem": ATTENTION, **members})
    document = problem_document(response, 422, code)
    assert [error["path"] for error in document["errors"]] == [path]


def test_other_problems_have_no_shapes(client: TestClient) -> None:
    ordinary = {"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}]}
    for response in (
        client.post("/v1/plan?shapes=order", json=ordinary),
        client.post("/v1/plan", json={"problem": ordinary, "shapes": "order"}),
        client.post("/v1/jobs", json={"problem": ordinary, "pieces": 2}),
    ):
        problem_document(response, 422, "not_symbolic")
    problem_document(client.post("/v1/plan", json={**ATTENTION, "shapes": "order"}), 422, "not_wrapped")
    problem_document(client.post("/v1/fronts?shapes=order", json=ordinary), 422, "unknown_parameter")


@pytest.mark.parametrize("route", ["inspect", "convert", "tile", "fronts"])
def test_what_needs_sizes_says_what_to_do(client: TestClient, route: str) -> None:
    for body in (ATTENTION, {"problem": ATTENTION}, {"problem": json.dumps(ATTENTION)}):
        document = problem_document(client.post(f"/v1/{route}", json=body), 422, "symbolic")
        assert "/v1/plan" in document["detail"]
    native = client.post(f"/v1/{route}", content=json.dumps(ATTENTION), headers={"content-type": NATIVE})
    problem_document(native, 422, "symbolic")


def test_batches_take_no_symbols(client: TestClient) -> None:
    document = problem_document(
        client.post("/v1/batches", json={"problems": [{"problem": ATTENTION}]}), 422, "symbolic"
    )
    assert document["errors"][0]["path"] == "$.problems[0].problem.symbols"


# Hostile bodies


@pytest.mark.parametrize(
    "text",
    gate_first(
        [
            "s//0",
            "s%s",
            "1//(s-3)",
            "ceil_div(1, s)",
            "align(s, 0)",
            "s*" * 900 + "s",
            "9" * 2000,
            "9" * 1999 + "*s",
            "-s",
            "(" * 900 + "s" + ")" * 900,
            "(" * 64 + "s" + ")" * 64,
            "-" * 1999 + "s",
            "max(" * 400 + "s" + ")" * 400,
            "s" + "+s" * 999,
            "s s",
            "s**s",
            "__import__('os')",
            "é",
            "t",
            "min()",
            "0x10",
            "",
            " ",
            "s" * 5000,
            "\x00",
            "\ud800",
            "(s*s*s-s*s)%(s*s+1)*(s+1)//(s*s*s+7)",
        ],
        12,
    ),
)
def test_no_formula_is_more_than_a_request_that_is_refused(client: TestClient, text: str) -> None:
    content = json.dumps(formula(text))
    response = client.post(
        "/v1/plan?time_limit=240", content=content, headers={"content-type": "application/json"}
    )
    assert response.status_code in (200, 400, 422), response.text
    if response.status_code == 200:
        assert not judge_symbolic(parse_symbolic(formula(text)), plan_of(response)).violations


@pytest.mark.parametrize(
    "change",
    gate_first(
        [
            {"symbols": [{"id": f"s{number}", "min": 0, "max": 1} for number in range(10_000)]},
            {"symbols": [{"id": f"s{number}", "min": 0, "max": 2**62} for number in range(16)]},
            {"symbols": []},
            {"symbols": 7},
            {"symbols": [7]},
            {"symbols": None},
            {"symbols": [{"id": "s", "min": 2, "max": 1}]},
            {"symbols": [{"id": "s", "min": 10**40, "max": 10**41}]},
            {"symbols": [{"id": "s", "min": 0, "max": 1, "step": 0}]},
            {"symbols": [{"id": "s", "min": 0, "max": 1}] * 2},
            {"symbols": [{"id": "max", "min": 0, "max": 1}]},
            {"points": [{"at": {"s": number}} for number in range(65)]},
            {"points": [{"at": {}}]},
            {"points": [{"at": {"s": 1.5}}]},
            {"points": [{"at": {"s": 0, "t": 0}}]},
            {"aim": "best"},
            {"buffers": 7},
            {"buffers": None},
            {"objective": ["moves"]},
            {"version": 2},
            {"reuse_costs": []},
            {"pools": [{"id": "memory", "capacity": 0}]},
            {"pools": [{"id": "memory", "capacity": 100, "reserved": [[40, 50]]}]},
        ],
        10,
    ),
)
def test_odd_documents_are_answered_or_refused(client: TestClient, change: dict[str, Any]) -> None:
    response = client.post("/v1/plan?time_limit=240", json={**formula("4*s"), **change})
    assert response.status_code in (200, 422), response.text


def test_more_than_can_be_examined_is_refused(client: TestClient) -> None:
    long = "+s" * 900
    buffers = [{"id": f"b{i}", "size": f"{i}{long}", "lifetime": [0, 1]} for i in range(2300)]
    body = {**formula("s"), "buffers": buffers}
    plan = {"status": "feasible", "shapes": "order"}
    for path, content in (
        ("plan", body),
        ("verify", {"problem": body, "plan": plan}),
        ("evaluate", {"problem": body, "plan": plan, "at": {"s": 1}}),
    ):
        document = problem_document(client.post(f"/v1/{path}", json=content), 422, "too_large")
        assert "formulas" in document["detail"]


def test_more_points_than_can_be_planned_are_refused(client: TestClient) -> None:
    buffers = [{"id": f"b{i}", "size": "s", "lifetime": [i, i + 1]} for i in range(40_000)]
    points = [{"at": {"s": value}} for value in range(60)]
    response = client.post("/v1/plan", json={**formula("s"), "points": points, "buffers": buffers})
    document = problem_document(response, 422, "too_large")
    assert document["errors"][0]["path"] == "$.points"


@pytest.mark.campaign
def test_more_buffers_than_an_order_can_honour_are_declined(client: TestClient) -> None:
    buffers = [{"id": f"b{i}", "size": "s", "lifetime": [i // 9, i // 9 + 1]} for i in range(20_100)]
    body = {**formula("s"), "points": [{"at": {"s": 7}}], "buffers": buffers}
    problem_document(client.post("/v1/plan", json=body), 422, "declined")
    assert plan_of(client.post("/v1/plan?shapes=fixed", json=body)).placements


def test_more_buffers_than_allowed_are_refused_before_they_are_read(client: TestClient) -> None:
    most = client.app.state.service.settings.max_buffers  # type: ignore[attr-defined]
    content = json.dumps({**formula("s"), "buffers": []}).replace("[]}", f"[{'0,' * most}0]}}")
    response = client.post("/v1/plan", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["code"] in ("over_limit", "too_large")
