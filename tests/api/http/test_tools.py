"""Verify, inspect, convert; what does not change; health; and the form of every answer."""

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

import memstow
from memstow.api.http import schemas
from memstow.api.http.app import create_app
from memstow.api.http.app import main as write_openapi
from memstow.api.http.responses import JsonObject, media_type_of_plan
from memstow.api.http.routes import admin, batches, fronts, jobs, plan, reference, tools, unversioned
from memstow.api.http.samples import (
    AT,
    CSV,
    EXAMPLES,
    GRAPH,
    LAYER,
    PLAN,
    PLAN_AT,
    PROBLEM,
    SYMBOLIC,
    SYMBOLIC_PLAN,
    TILING,
)
from memstow.api.http.schemas import pretty
from memstow.api.http.settings import Settings
from memstow.api.operations import plan_forms
from memstow.planner.model.schema import schema
from tests.api.http.conftest import problem_document
from tests.person_model import person_model


def test_a_plan_is_judged(client: TestClient) -> None:
    good = client.post("/v1/verify", json={"problem": PROBLEM, "plan": PLAN})
    assert (good.json()["valid"], good.json()["checked"], good.json()["violations"]) == (True, True, [])
    wrong = {**PLAN, "placements": [{**p, "offset": 0} for p in PLAN["placements"]]}
    bad = client.post("/v1/verify", json={"problem": PROBLEM, "plan": wrong}).json()
    assert not bad["valid"]
    assert bad["violations"][0].keys() == {"code", "message", "buffers", "pool"}
    as_csv = {"problem": CSV, "plan": "id,pool,offset\ninput,memory,8192\nconv1,memory,0\n"}
    assert client.post("/v1/verify", json=as_csv).json()["valid"]
    overlapping = {**as_csv, "plan": as_csv["plan"].replace("8192", "0")}
    assert {v["code"] for v in client.post("/v1/verify", json=overlapping).json()["violations"]} == {
        "overlap"
    }
    document = problem_document(
        client.post("/v1/verify", json={"problem": {"version": 1}, "plan": {}}), 422, "missing_field"
    )
    assert {e["path"] for e in document["errors"]} == {"$.problem.buffers", "$.plan.status"}
    response = client.post("/v1/verify", content=CSV, headers={"content-type": "text/csv"})
    problem_document(response, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (PROBLEM, "problem"),
        ({**PROBLEM, "plan": PLAN}, "problem"),
        ({"sizes": []}, "problem"),
        ([[{"name": "a"}]], "problem"),
        ({"schema_version": 1, "problem": {}}, "problem"),
        (PLAN, "plan"),
    ],
)
def test_a_problem_or_plan_that_nothing_wraps_is_refused_with_the_way_out(
    client: TestClient, body: object, what: str
) -> None:
    document = problem_document(client.post("/v1/verify", json=body), 422, "not_wrapped")
    assert document["detail"].startswith(f"this is a {what} itself: send ")
    assert '{"problem": {"version": 1, "buffers": [...]}, "plan": {' in document["detail"]


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ({"problem": PROBLEM}, ["$.plan"]),
        ({"plan": PLAN}, ["$.problem"]),
        ({}, ["$.problem", "$.plan"]),
    ],
)
def test_of_an_envelope_what_is_missing_is_told(client: TestClient, body: object, missing: list[str]) -> None:
    document = problem_document(client.post("/v1/verify", json=body), 422, "missing_field")
    assert [error["path"] for error in document["errors"]] == missing


@pytest.mark.parametrize(
    ("body", "path"), [(PROBLEM, "$"), ({"problems": [PROBLEM]}, "$.problems[0]"), ([PROBLEM], "$")]
)
def test_a_batch_of_bare_problems_is_told_how_to_wrap_them(
    client: TestClient, body: object, path: str
) -> None:
    document = problem_document(client.post("/v1/batches", json=body), 422, "not_wrapped")
    assert [error["path"] for error in document["errors"]] == [path]
    assert '{"problem": {"version": 1, "buffers": [...]}' in document["detail"]


def test_what_a_plan_only_claims_is_said_and_checked_when_asked_for(client: TestClient) -> None:
    model = {"kind": "model", "solver": "cp-sat"}
    plan = {**PLAN, "objective": [{**PLAN["objective"][0], "certificate": model}], "version": "0.0.1"}
    body = {"problem": PROBLEM, "plan": plan}
    verdict = client.post("/v1/verify", json=body).json()
    assert (verdict["valid"], verdict["checked"]) == (True, False)
    (claim,) = [claim for claim in verdict["claims"] if claim["subject"] == "bound"]
    assert (claim["standing"], claim["by"]) == ("claimed", "memstow 0.0.1 (cp-sat)")
    again = client.post("/v1/verify?recheck=true&time_limit=20", json=body).json()
    assert (again["valid"], again["checked"]) == (True, True)
    (claim,) = [claim for claim in again["claims"] if claim["subject"] == "bound"]
    assert (claim["standing"], claim["by"]) == ("checked", "solving again")
    problem_document(client.post("/v1/verify?recheck=true&time_limit=-1", json=body), 422, "invalid_request")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("verify?rechek=true", "recheck"), ("inspect?row=3", "rows"), ("convert?too=csv", "to")],
)
def test_a_parameter_that_is_misspelt_is_refused(client: TestClient, text: str, meant: str) -> None:
    document = problem_document(client.post(f"/v1/{text}", json=PROBLEM), 422, "unknown_parameter")
    assert f"did you mean {meant}?" in document["detail"]


def test_a_problem_is_inspected(client: TestClient) -> None:
    facts = client.post("/v1/inspect?rows=1", json={"problem": PROBLEM}).json()
    assert (facts["peak_live"], facts["buffers"]["count"], len(facts["hardest"])) == (12288, 5, 1)
    assert client.post("/v1/inspect", content=CSV, headers={"content-type": "text/csv"}).status_code == 200
    problem_document(client.post("/v1/inspect?rows=-1", json={"problem": PROBLEM}), 422, "invalid_request")


@pytest.mark.parametrize(
    ("text", "body", "path"),
    [
        ("verify?recheck=true", {"problem": PROBLEM}, "$.plan"),
        ("inspect?needs=true", {"problem": {"version": 1}}, "$.problem.buffers"),
    ],
)
def test_no_process_is_started_for_a_search_that_is_refused(
    client: TestClient,
    app: FastAPI,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    body: dict[str, Any],
    path: str,
) -> None:
    def run(*_given: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(app.state.service.children, "run", run)
    document = problem_document(client.post(f"/v1/{text}", json=body), 422, "missing_field")
    assert [error["path"] for error in document["errors"]] == [path]


def test_a_problem_is_converted(client: TestClient) -> None:
    made = client.post("/v1/convert?to=executorch", json={"problem": PROBLEM})
    assert len(made.json()) == 5
    assert (
        client.post("/v1/convert?to=csv", json={"problem": PROBLEM})
        .headers["content-type"]
        .startswith("text/csv")
    )
    pools = EXAMPLES["pools"]["problem"]
    problem_document(client.post("/v1/convert?to=csv", json={"problem": pools}), 422, "not_expressible")
    problem_document(client.post("/v1/convert?to=xml", json={"problem": PROBLEM}), 422, "unknown_format")


@pytest.mark.parametrize("order", ["free", "lpmf", "dfs"])
def test_a_problem_is_of_the_listed_order_and_another_is_refused(client: TestClient, order: str) -> None:
    alone = client.post(f"/v1/convert?order={order}", json=GRAPH)
    assert problem_document(alone, 422, "unused_option")["errors"][0]["path"] == "$.query.order"
    enveloped = client.post("/v1/convert?to=json", json={"graph": GRAPH, "order": order})
    assert problem_document(enveloped, 422, "unused_option")["errors"][0]["path"] == "$.order"
    assert client.post("/v1/convert?order=given", json=GRAPH).status_code == 200
    assert client.post("/v1/convert", json={**GRAPH, "order": order}).status_code == 200
    graph = client.post(f"/v1/convert?to=graph&order={order}", json=GRAPH)
    assert graph.json()["order"] == order


def test_what_a_problem_needs_is_told_when_asked_for(client: TestClient) -> None:
    tight = {**PROBLEM, "pools": [{"id": "memory", "capacity": 12000}]}
    assert "needs" not in client.post("/v1/inspect", json={"problem": tight}).json()
    document = client.post("/v1/inspect?needs=true&time_limit=20", json={"problem": tight}).json()["needs"]
    assert document["status"] == "infeasible"
    assert [(need["pool"], need["least"]) for need in document["pools"]] == [("memory", 12288)]
    (short,) = document["shortfalls"]
    assert (short["pool"], short["wanted"], short["count"], short["least"]) == ("memory", 12000, 1, 1)
    assert document["confirmed"] == "shrunk"
    without = client.post(
        "/v1/inspect?needs=true&time_limit=20&without=conv1", json={"problem": tight}
    ).json()
    assert without["buffers"]["count"] == len(PROBLEM["buffers"]) - 1
    assert without["needs"]["shortfalls"] == []
    problem_document(
        client.post("/v1/inspect?without=nobody", json={"problem": tight}), 422, "unknown_buffer"
    )
    problem_document(
        client.post("/v1/inspect?needs=true&time_limit=nan", json={"problem": tight}), 422, "invalid_request"
    )


def test_a_problem_is_meant_in_the_memories_of_its_target(client: TestClient) -> None:
    board = {"version": 1, "pools": [{"id": "p", "capacity": 65536, "alignment": 64}]}
    plan = client.post("/v1/plan", json={"problem": PROBLEM, "target": board}).json()
    assert {place["pool"] for place in plan["placements"]} == {"p"}
    verdict = {"problem": PROBLEM, "target": board, "plan": plan}
    assert client.post("/v1/verify", json=verdict).json()["valid"]
    assert not client.post("/v1/verify", json={"problem": PROBLEM, "plan": plan}).json()["valid"]
    facts = client.post("/v1/inspect", json={"problem": CSV, "target": "rp2040"}).json()
    assert facts["pools"][0]["capacity"] == 262144
    listed = client.get("/v1/targets").json()["targets"]
    assert "rp2040" in {target["name"] for target in listed}
    pinned = {**PROBLEM, "objective": ["peak:memory"]}
    wrong = {"problem": pinned, "target": board}
    document = problem_document(client.post("/v1/plan", json=wrong), 422, "not_in_target")
    assert [e["path"] for e in document["errors"]] == ["$.problem.objective[0]"]
    both = {"problem": {"version": 1}, "target": {"version": 1}}
    document = problem_document(client.post("/v1/jobs", json=both), 422, "missing_field")
    assert {e["path"] for e in document["errors"]} == {"$.problem.buffers", "$.target.pools"}
    document = problem_document(
        client.post("/v1/plan", json={"problem": PROBLEM, "target": "none"}), 422, "unknown_target"
    )
    assert [e["path"] for e in document["errors"]] == ["$.target"]


def test_what_does_not_change_can_be_read(client: TestClient) -> None:
    names = [solver["name"] for solver in client.get("/v1/solvers").json()["solvers"]]
    assert {"greedy", "exact"} <= set(names)
    for kind in ("problem", "options", "plan", "target"):
        assert client.get(f"/v1/schema?kind={kind}").json() == schema(kind)
    problem_document(client.get("/v1/schema?kind=x"), 422, "unknown_schema")
    listed = client.get("/v1/examples").json()["examples"]
    assert [client.get(entry["path"]).json() for entry in listed] == list(EXAMPLES.values())
    problem_document(client.get("/v1/examples/none"), 404, "no_such_example")
    assert client.get("/version").json()["version"] == memstow.__version__


def test_health_is_told(client: TestClient) -> None:
    assert client.get("/livez").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok"}
    figures = client.get("/metrics").text
    for name in (
        "requests_total",
        "request_seconds",
        "jobs_queued",
        "jobs_running",
        "solve_seconds",
        "cache_total",
    ):
        assert f"memstow_{name}" in figures
    assert client.head("/readyz").status_code == 200
    page = client.get("/")
    assert '<div id="page">' in page.text
    assert page.headers["content-type"].startswith("text/html")
    assert "/openapi.json" in page.text


def test_every_error_is_a_problem_document(client: TestClient) -> None:
    problem_document(client.get("/nothing"), 404, "not_found")
    document = problem_document(client.put("/v1/plan", content=b""), 405, "method_not_allowed")
    assert "POST" in document["detail"]
    several = client.put("/v1/jobs")
    assert (
        problem_document(several, 405, "method_not_allowed")["detail"] == "this path takes DELETE, GET, POST"
    )
    assert several.headers["allow"] == "DELETE, GET, POST"
    large = client.post(
        "/v1/plan", content=b" " * ((32 << 20) + 1), headers={"content-type": "application/json"}
    )
    problem_document(large, 413, "body_too_large")


def test_every_answer_is_safe_for_browsers_and_has_an_id(client: TestClient) -> None:
    for path in ("/", "/livez", "/nothing"):
        headers = client.get(path, headers={"x-request-id": "mine-1"}).headers
        assert headers["x-request-id"] == "mine-1"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers
    assert client.get("/livez", headers={"x-request-id": "not\tgood"}).headers["x-request-id"] != "not\tgood"


def test_a_page_from_elsewhere_may_not_plan(client: TestClient) -> None:
    response = client.post(
        "/v1/plan", json={"problem": PROBLEM}, headers={"origin": "http://elsewhere.example"}
    )
    problem_document(response, 403, "foreign_origin")
    own = client.post("/v1/plan", json={"problem": PROBLEM}, headers={"origin": "http://localhost"})
    assert own.status_code == 200


def test_a_name_that_is_not_this_machine_is_refused_without_keys(client: TestClient) -> None:
    problem_document(client.get("/v1/jobs", headers={"host": "rebound.example"}), 403, "not_loopback")


def _operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


def test_the_openapi_document_is_valid_and_the_one_that_is_written_to_a_file(
    app: FastAPI, client: TestClient, tmp_path: Path
) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    write_openapi(str(tmp_path / "openapi.json"))
    text = (tmp_path / "openapi.json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert text == pretty(app.openapi())
    assert document == client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    named = document["components"]["schemas"]
    for one in named.values():
        validator.check_schema(one)
    references = set(re.findall(r'"\$ref": "#/components/schemas/(\w[^"]*)"', text))
    assert len(references) > 50
    assert references <= named.keys()
    identifiers = [operation["operationId"] for _, operation in _operations(document)]
    assert len(set(identifiers)) == len(identifiers) > 40


def test_models_with_like_names_are_told_apart() -> None:
    """An operator has a window on its input; a bound may come from a window of time."""
    schemas = create_app(Settings()).openapi()["components"]["schemas"]
    assert "kernel" in schemas["Window"]["properties"]
    assert "begin" in schemas["ExhaustedWindow"]["properties"]


def test_every_operation_has_an_example_of_its_body_and_of_its_answer(app: FastAPI) -> None:
    for name, operation in _operations(app.openapi()):
        assert operation["summary"], name
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert _shown(content), name
        successes = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        assert successes, name
        for answer in successes:
            for content in answer.get("content", {}).values():
                assert _shown(content), name
        for status in ("401", "422", "500", "503"):
            assert "application/problem+json" in operation["responses"][status]["content"], name


def _shown(content: JsonObject) -> bool:
    """Whether there is an example; of bytes, which JSON cannot hold, there is none."""
    return ("example" in content) != (content.get("schema") == schemas.BYTES)


def test_operators_are_tiled(client: TestClient) -> None:
    one = client.post("/v1/tile?operator=conv&front=true&im2col=2", json=LAYER)
    assert one.status_code == 200
    document = one.json()
    assert (document["pool"], document["replayed"], document["bytes"] >= document["least"]) == (
        "l1",
        True,
        True,
    )
    assert document["bytes"] == document["bound"] == sum(move["bytes"] for move in document["moved"])
    assert document["front"][-1]["bytes"] <= document["bytes"]
    buffers = {placement["buffer"]: placement["offset"] for placement in document["plan"]["placements"]}
    assert buffers == {buffer["id"]: buffer["offset"] for buffer in document["buffers"]}
    target = {"version": 1, "pools": [{"id": "tcm", "capacity": 1024}, {"id": "sram"}]}
    query = "capacity=900&multiple=channels=4&objective=alignment,beyond&double_buffer=false&home=sram"
    every = client.post(f"/v1/tile?{query}", json={"graph": LAYER, "target": target}).json()
    assert (every["tiled"], every["tilings"][0]["home"]) == (1, "sram")
    assert every["tilings"][0]["tile"]["channels"] % 4 == 0


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("operator=none", "unknown_operator"),
        ("objective=speed", "unknown_term"),
        ("multiple=rows", "not_a_multiple"),
        ("im2col=all", "not_pixels"),
        ("pool=l3", "unknown_pool"),
        ("home=l1", "same_pool"),
        ("front=true", "no_operator"),
        ("operators=conv", "unknown_parameter"),
    ],
)
def test_what_tiles_cannot_be_is_told(client: TestClient, query: str, code: str) -> None:
    problem_document(client.post(f"/v1/tile?{query}", json=LAYER), 422, code)


def test_a_body_that_is_no_json_is_told_how_to_say_so(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    table = b"id,lower,upper,size\na,0,2,64\n"
    assert (
        "such as text/csv"
        in problem_document(client.post("/v1/plan", content=table, headers=headers), 400, "malformed_json")[
            "detail"
        ]
    )
    broken = client.post("/v1/plan", content=b'{"buffers": [}', headers=headers)
    assert "text/csv" not in problem_document(broken, 400, "malformed_json")["detail"]


@pytest.mark.parametrize("amount", ["64KiB", "0x10000", "1.5 MiB"])
def test_an_amount_with_a_unit_is_refused_with_what_to_write(client: TestClient, amount: str) -> None:
    refused = client.post("/v1/tile", params={"capacity": amount}, json=LAYER)
    (issue,) = problem_document(refused, 422, "invalid_request")["errors"]
    assert issue["path"] == "query.capacity"
    assert issue["message"].endswith("; write the number in full, such as 65536 for 64 KiB")
    body = {"problem": {"version": 1, "buffers": [{"id": "a", "size": amount, "lifetime": [0, 1]}]}}
    (issue,) = problem_document(client.post("/v1/plan", json=body), 422, "not_an_integer")["errors"]
    assert issue["message"].endswith("; write the number in full, such as 65536 for 64 KiB")


def test_tiles_are_judged(client: TestClient) -> None:
    for query in ("capacity=2048&operator=conv&front=true", "capacity=2048"):
        tiling = client.post(f"/v1/tile?{query}", json=LAYER).json()
        good = client.post("/v1/verify", json={"graph": LAYER, "tiling": tiling}).json()
        assert (good["valid"], good["checked"]) == (True, True)
        bad = client.post("/v1/verify", json={"graph": LAYER, "tiling": {**tiling, "least": 1}}).json()
        assert [violation["code"] for violation in bad["violations"]] == ["tiling"]


@pytest.mark.parametrize(
    ("query", "body", "code"),
    [
        ("", {"graph": LAYER, "tiling": {"operator": "conv"}}, "missing_field"),
        ("", {"problem": PROBLEM, "tiling": TILING}, "not_a_graph"),
        ("", {"tiling": TILING}, "missing_field"),
        ("", {**LAYER, "tiling": TILING}, "not_wrapped"),
        ("", {"graph": LAYER, "tiling": TILING, "hint": PLAN}, "unknown_field"),
        ("", {"graph": LAYER, "tiling": TILING, "order": "free"}, "unknown_field"),
        ("?recheck=true", {"graph": LAYER, "tiling": TILING}, "no_recheck"),
    ],
)
def test_what_is_wrong_about_tiles_is_told(
    client: TestClient, query: str, body: JsonObject, code: str
) -> None:
    problem_document(client.post(f"/v1/verify{query}", json=body), 422, code)


def test_operators_are_tiled_one_by_one_in_no_order(client: TestClient) -> None:
    problem_document(client.post("/v1/tile?order=free", json=LAYER), 422, "unknown_parameter")
    problem_document(client.post("/v1/tile", json={"graph": LAYER, "in_place": False}), 422, "unknown_field")


def test_a_problem_has_no_operators_to_tile(client: TestClient) -> None:
    problem_document(client.post("/v1/tile?capacity=64", json={"problem": PROBLEM}), 422, "not_a_graph")
    sample = client.post("/v1/tile?capacity=16", json=LAYER).json()
    assert sample.keys() == TILING.keys()
    assert sample["tilings"][0].keys() == TILING["tilings"][0].keys()


@pytest.mark.parametrize(("method", "path"), [("post", "/v1/plan"), ("get", "/v1/jobs/{job}/plan")])
def test_each_format_of_a_plan_has_its_media_type_in_the_openapi_document(
    app: FastAPI, method: str, path: str
) -> None:
    content = app.openapi()["paths"][path][method]["responses"]["200"]["content"]
    named = {media_type_of_plan(name).partition(";")[0] for name in plan_forms.names()}
    assert named == content.keys()


def test_parts_of_channels_are_added_to_a_graph(client: TestClient) -> None:
    tensors = [
        {"id": entry, "shape": [4, 4, n], "type": "int8"} for entry, n in (("x", 4), ("a", 32), ("y", 4))
    ]
    window = {"kernel": [1, 1]}
    operators = [
        {"id": "wide", "type": "conv2d", "inputs": ["x"], "outputs": ["a"], "window": window},
        {"id": "narrow", "type": "conv2d", "inputs": ["a"], "outputs": ["y"], "window": window},
    ]
    graph = {"version": 1, "tensors": tensors, "operators": operators, "inputs": ["x"], "outputs": ["y"]}
    answer = client.post("/v1/convert?to=graph&channels=true", json=graph)
    assert answer.status_code == 200
    assert [alternative["replaces"] for alternative in answer.json()["alternatives"]] == [
        ["wide", "narrow"]
    ] * 4
    plan = client.post("/v1/plan", json=answer.json()).json()
    assert plan["pools"][0]["peak"] < 16 * (4 + 32)
    problem_document(client.post("/v1/convert?to=csv&channels=true", json=graph), 422, "unused_option")


def test_every_route_is_in_the_openapi_document(app: FastAPI) -> None:
    routes = {
        f"{method} {route.path}"
        for router in (
            admin.keys_router,
            admin.router,
            batches.router,
            fronts.router,
            unversioned.router,
            unversioned.page_router,
            jobs.router,
            plan.router,
            reference.router,
            tools.router,
        )
        for route in router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }
    assert len(routes) > 20
    assert routes == {name for name, _ in _operations(app.openapi())}


@pytest.mark.parametrize("path", ["/v1/plan", "/v1/jobs"])
def test_what_the_documentation_shows_can_be_sent(client: TestClient, app: FastAPI, path: str) -> None:
    for media_type, content in app.openapi()["paths"][path]["post"]["requestBody"]["content"].items():
        if content.get("schema") == schemas.BYTES:
            continue
        example = content["example"]
        body = example if isinstance(example, str) else json.dumps(example)
        response = client.post(path, content=body, headers={"content-type": media_type})
        assert response.status_code in (200, 202), (media_type, response.text)


@pytest.mark.parametrize("path", ["/openapi.json", "/", "/livez", "/version"])
def test_every_page_refuses_names_that_it_does_not_know(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200
    problem_document(client.get(f"{path}?x=1"), 422, "unknown_parameter")


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/jobs?limit=1&limit=2", "limit"),
        ("GET", "/v1/jobs?limit=1&limit=1", "limit"),
        ("POST", "/v1/plan?seed=1&seed=2", "seed"),
        ("POST", "/v1/plan?output_format=c-header&prefix=a&prefix=b", "prefix"),
    ],
)
def test_a_name_given_twice_is_refused(client: TestClient, method: str, path: str, name: str) -> None:
    answer = client.request(method, path, json={"problem": PROBLEM} if method == "POST" else None)
    (issue,) = problem_document(answer, 422, "repeated_parameter")["errors"]
    assert issue["path"] == f"query.{name}"


def test_a_plan_of_formulas_is_laid_out_at_values(client: TestClient) -> None:
    body = {"problem": SYMBOLIC, "plan": SYMBOLIC_PLAN, "at": AT}
    answer = client.post("/v1/evaluate", json=body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert [placement["offset"] for placement in document["placements"]] == [0, 512]
    assert (document["status"], document["objective"][0]["value"]) == ("optimal", 4608)
    assert PLAN_AT.keys() <= document.keys()
    ordinary = {"version": 1, "buffers": [{**SYMBOLIC["buffers"][0], "size": 512}, SYMBOLIC["buffers"][1]]}
    judged = client.post("/v1/verify", json={"problem": ordinary, "plan": document}).json()
    assert (judged["valid"], judged["checked"]) == (True, True)


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"at": {}}, "missing_symbol", "$.at.s"),
        ({"at": {"s": 0}}, "value_out_of_range", "$.at.s"),
        ({"at": {"s": 1, "t": 1}}, "unknown_symbol", "$.at.t"),
        ({"at": {"s": 1.5}}, "not_an_integer", '$.at["s"]'),
        ({"at": [1]}, "not_an_object", "$.at"),
        ({"problem": "text"}, "not_an_object", "$.problem"),
        ({"plan": "text"}, "not_an_object", "$.plan"),
        ({"problem": PROBLEM}, "not_symbolic", "$.problem"),
        ({"plan": PLAN}, "not_symbolic", "$.plan"),
        ({"problem": {**SYMBOLIC, "buffers": 3}}, "not_a_list", "$.problem.buffers"),
        ({"plan": {**SYMBOLIC_PLAN, "orders": []}}, "no_plan", "$.plan.orders"),
        ({"plan": {**SYMBOLIC_PLAN, "digest": "0" * 64}}, "other_problem", "$.plan.digest"),
        ({"values": {"s": 1}}, "unknown_field", '$["values"]'),
    ],
)
def test_what_cannot_be_laid_out_is_told(
    client: TestClient, changes: JsonObject, code: str, path: str
) -> None:
    body = {"problem": SYMBOLIC, "plan": SYMBOLIC_PLAN, "at": AT, **changes}
    document = problem_document(client.post("/v1/evaluate", json=body), 422, code)
    assert [error["path"] for error in document["errors"]][:1] == [path]


def test_a_plan_of_formulas_that_overlaps_is_refused(client: TestClient) -> None:
    flat = {"placements": [{"buffer": name, "pool": "memory"} for name in ("x", "y")]}
    body = {"problem": SYMBOLIC, "plan": {**SYMBOLIC_PLAN, "orders": [flat]}, "at": AT}
    problem_document(client.post("/v1/evaluate", json=body), 422, "invalid_plan")
    for alone in ([0, 0], SYMBOLIC, PROBLEM, PLAN):
        answer = client.post("/v1/evaluate", json=alone)
        assert '"at": {"s": 128}' in problem_document(answer, 422, "not_wrapped")["detail"]


# Programs

_TFLITE = {"Content-Type": "application/vnd.tflite"}


def test_a_model_becomes_an_archive_with_its_program(client: TestClient) -> None:
    query = "name=person&deterministic=true&order=given&generators=stripes,channels&point=1&external=inputs"
    query += "&kernels=cmsis-nn"
    ran = client.post(f"/v1/build?{query}", content=person_model(), headers=_TFLITE)
    assert (ran.status_code, ran.headers["content-type"]) == (200, "application/zip")
    with ZipFile(BytesIO(ran.content)) as archive:
        made = {name: archive.read(name) for name in archive.namelist()}
    options = memstow.Options(deterministic=True)
    built = memstow.build(
        person_model(),
        name="person",
        point=1,
        generators=["stripes", "channels"],
        order="given",
        external=["inputs"],
        kernels="cmsis-nn",
        options=options,
        with_check=False,
    )
    assert made == {f"person/{name}": content for name, content in built.files.items()}
    as_bytes = {"Content-Type": "application/octet-stream"}
    again = client.post(f"/v1/build?{query}", content=person_model(), headers=as_bytes)
    assert again.content == ran.content


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("capacity=1000", "nothing_fits"),
        ("capacity=1000&point=1", "unused_option"),
        ("capacity=1000&target=rp2040", "unused_option"),
        ("target=nowhere", "unknown_target"),
        ("generators=tiles", "unknown_generator"),
        ("generators=spill", "spill_without_pool"),
        ("external=weights", "unknown_external"),
        ("kernels=fast", "invalid_request"),
        ("point=99", "bad_point"),
        ("dim=N=1", "no_open_dimensions"),
        ("name=1", "bad_prefix"),
        ("deterministic=true&time_limit=1", "unused_option"),
    ],
)
def test_programs_that_cannot_be_are_refused(client: TestClient, query: str, code: str) -> None:
    problem_document(client.post(f"/v1/build?{query}", content=person_model(), headers=_TFLITE), 422, code)


def test_onnx_models_become_programs(client: TestClient) -> None:
    models = pytest.importorskip("tests.onnx_models")
    headers = {"Content-Type": "application/onnx"}
    path = "/v1/build?name=net&deterministic=true"
    ran = client.post(path, content=models.convolutions(1), headers=headers)
    assert ran.status_code == 200
    with ZipFile(BytesIO(ran.content)) as archive:
        assert b"float32 1x3x12x12, in memory 1x12x12x3" in archive.read("net/net.h")
    given = client.post(f"{path}&dim=N=1", content=models.convolutions(), headers=headers)
    assert given.content == ran.content
    left_open = client.post(path, content=models.convolutions(), headers=headers)
    problem_document(left_open, 422, "unknown_dimension")


def test_only_models_become_programs(client: TestClient) -> None:
    problem_document(client.post("/v1/build", json=LAYER), 422, "not_a_model")
    ran = client.post("/v1/build?target=stm32h743&generators=none", content=person_model(), headers=_TFLITE)
    assert ran.status_code == 200
