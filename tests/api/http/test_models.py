"""Models as bodies: planned, described, converted, and written again; whatever their bytes are."""

import json
from random import Random
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

import memstow
from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from memstow.planner import exports
from memstow.planner.targets import shipped_target
from tests.api.asking import over
from tests.api.http.conftest import problem_document
from tests.tflite_models import RELU, Sub, branching_model, model, small_model, table

TFLITE = {"content-type": "application/vnd.tflite"}
ONNX = {"content-type": "application/onnx"}
MODEL = branching_model()
DETERMINISTIC = "deterministic=true"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """An app whose requests wait for their plans however busy the machine is."""
    settings = Settings(data=tmp_path_factory.mktemp("data"), slots=1, lease_seconds=60.0, sync_seconds=600.0)
    return create_app(settings)


def peak_of(plan: dict[str, Any]) -> int:
    return int(plan["objective"][0]["value"])


def one_relu() -> bytes:
    main = Sub()
    main.inputs, main.outputs = [main.tensor(96)], [main.tensor(96)]
    main.operator(0, main.inputs, main.outputs)
    return model([RELU], main)


def onnx_model(first: int | str = 1) -> bytes:
    onnx = pytest.importorskip("onnx", reason="the [onnx] extra is not installed")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="one"),
        helper.make_node("Relu", ["a"], ["y"], name="two"),
    ]
    shape = [first, 64]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind, shape)],
    )
    opset = [helper.make_opsetid("", 17)]
    data: bytes = helper.make_model(graph, opset_imports=opset).SerializeToString()
    return data


def test_a_model_gets_the_plan_of_its_graph(client: TestClient) -> None:
    listed = client.post(f"/v1/plan?{DETERMINISTIC}", content=MODEL, headers=TFLITE)
    assert listed.status_code == 200, listed.text
    assert listed.json()["schedule"]["order"] == ["0", "1", "2", "3"]
    free = client.post(f"/v1/plan?{DETERMINISTIC}&order=free", content=MODEL, headers=TFLITE).json()
    assert free["schedule"]["order"] == ["1", "2", "0", "3"]
    assert peak_of(free) < peak_of(listed.json())
    named = client.post(
        f"/v1/plan?format=tflite&{DETERMINISTIC}",
        content=MODEL,
        headers={"content-type": "application/octet-stream"},
    )
    assert peak_of(named.json()) == peak_of(listed.json())


def test_models_have_the_pools_and_pairs_that_the_query_asks_for(client: TestClient) -> None:
    placed = client.post("/v1/plan?target=rp2040", content=MODEL, headers=TFLITE).json()
    pools = {pool.id for pool in shipped_target("rp2040").pools}
    assert {use["pool"] for use in placed["pools"]} == pools
    apart, shared = (
        client.post(f"/v1/plan?in_place={given}", content=one_relu(), headers=TFLITE).json()
        for given in ("false", "true")
    )
    assert (peak_of(apart), peak_of(shared)) == (192, 96)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("order=any", "not_an_order"),
        ("in_place=maybe", "not_a_boolean"),
        ("target=nobodys", "unknown_target"),
        ("output_format=tflite&order_only=true", "same_model"),
        ("output_format=tflite&in_place=true", "in_place"),
        ("output_format=tflite&target=esp32s3", "several_pools"),
        ("output_format=tflite&replan=1", "not_a_boolean"),
        ("output_format=csv&replan=true", "unused_parameter"),
    ],
)
def test_what_cannot_be_done_to_a_model_is_told(client: TestClient, query: str, code: str) -> None:
    problem_document(client.post(f"/v1/plan?{query}", content=MODEL, headers=TFLITE), 422, code)


def test_what_changes_graphs_is_refused_for_problems_and_works_for_any_body(client: TestClient) -> None:
    body = {"version": 1, "buffers": [{"id": "a", "size": 64}]}
    problem_document(client.post("/v1/plan?order=free", json=body), 422, "not_a_graph")
    problem_document(client.post("/v1/plan?in_place=true", json=body), 422, "not_a_graph")
    for sent in (body, {"problem": body}):
        plan = client.post("/v1/plan?target=rp2040", json=sent).json()
        assert len(plan["pools"]) == len(shipped_target("rp2040").pools)
    other = {"problem": body, "target": "nrf52840"}
    of_body = client.post("/v1/plan?target=rp2040", json=other).json()
    assert {use["pool"] for use in of_body["pools"]} == {pool.id for pool in shipped_target("nrf52840").pools}


def test_a_graph_can_be_named_as_such(client: TestClient) -> None:
    graph = client.post("/v1/convert?to=graph", content=MODEL, headers=TFLITE)
    assert graph.headers["content-type"] == "application/vnd.memstow.graph+json"
    headers = {"content-type": "application/vnd.memstow.graph+json"}
    plan = client.post("/v1/plan", content=graph.content, headers=headers).json()
    assert plan["schedule"]["order"] == ["0", "1", "2", "3"]
    alone = client.post("/v1/plan?format=graph", json={"version": 1, "buffers": []})
    problem_document(alone, 422, "not_a_graph")


@pytest.mark.parametrize("name", exports.names())
def test_a_model_becomes_source_code(client: TestClient, name: str) -> None:
    response = client.post(
        f"/v1/plan?{DETERMINISTIC}&output_format={name}&prefix=net", content=MODEL, headers=TFLITE
    )
    assert response.status_code == 200, response.text
    graph = memstow.read_graph(MODEL)
    plan = memstow.plan(graph, memstow.Options(deterministic=True))
    problem = memstow.read_problem(MODEL)
    labels = memstow.buffer_labels(graph)
    assert response.content == exports.export(problem, plan, name, prefix="net", labels=labels)


def test_a_model_comes_back_with_its_operators_in_a_better_order(client: TestClient) -> None:
    query = f"{DETERMINISTIC}&order=free&output_format=tflite&order_only=true"
    response = client.post(f"/v1/plan?{query}", content=MODEL, headers=TFLITE)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/vnd.tflite"
    assert response.content == memstow.reorder_model(MODEL, ["1", "2", "0", "3"])
    again = client.get(f"{response.headers['location']}/plan?output_format=tflite&order_only=true")
    assert (again.content, again.headers["etag"]) == (response.content, response.headers["etag"])


def test_a_model_comes_back_with_its_plan_which_the_judge_reads_there(client: TestClient) -> None:
    query = f"{DETERMINISTIC}&order=free&output_format=tflite"
    planned = client.post(f"/v1/plan?{query}", content=MODEL, headers=TFLITE)
    assert planned.status_code == 200, planned.text
    result = memstow.carried_plan(planned.content)
    assert result is not None
    assert memstow.verify(memstow.read_graph(planned.content), result.plan) == []
    verdict = client.post("/v1/verify", content=planned.content, headers=TFLITE).json()
    assert verdict["valid"], verdict
    problem_document(client.post("/v1/verify", content=MODEL, headers=TFLITE), 422, "no_plan")
    problem_document(client.post("/v1/verify", content=MODEL, headers=ONNX), 415, "unsupported_media_type")
    again = client.post(f"/v1/plan?{query}", content=planned.content, headers=TFLITE)
    document = problem_document(again, 422, "carries_plan")
    assert "replan=true" in document["detail"]
    anew = client.post(f"/v1/plan?{query}&replan=true", content=planned.content, headers=TFLITE)
    assert anew.status_code == 200, anew.text


def test_a_job_keeps_the_model_if_its_plan_is_wanted_as_one(client: TestClient) -> None:
    kept, other = (
        client.post(f"/v1/jobs?order=free{query}", content=MODEL, headers=TFLITE).json()["id"]
        for query in ("&output_format=tflite", "")
    )
    for job in (kept, other):
        assert over(client, job)["state"] == "done"
    written = client.get(f"/v1/jobs/{kept}/plan?output_format=tflite")
    assert memstow.carried_plan(written.content) is not None
    document = problem_document(client.get(f"/v1/jobs/{other}/plan?output_format=tflite"), 409, "no_model")
    assert "output_format=tflite" in document["detail"]
    graph = client.get(f"/v1/jobs/{kept}/problem").json()
    assert [operator["id"] for operator in graph["operators"]] == ["0", "1", "2", "3"]


def test_only_models_that_can_be_written_again_are_searched_for_that(client: TestClient) -> None:
    query = "order=free&output_format=tflite&order_only=true"
    planned = branching_model(metadata=[table(f0="OfflineMemoryAllocation", f1=("I", 0))])
    for path in ("plan", "jobs"):
        fixed = client.post(f"/v1/{path}?{query}", content=planned, headers=TFLITE)
        problem_document(fixed, 422, "cannot_reorder")
        text = client.post(f"/v1/{path}?{query}", json={"version": 1, "buffers": []})
        problem_document(text, 422, "not_a_model")
        problem_document(
            client.post(f"/v1/{path}?output_format=fortran", content=MODEL, headers=TFLITE),
            422,
            "unknown_format",
        )


def test_models_are_described_and_converted(client: TestClient) -> None:
    facts = client.post("/v1/inspect?rows=2&order=free", content=MODEL, headers=TFLITE).json()
    assert facts["graph"]["peak_live"] > 0
    problem = client.post("/v1/convert?to=json", content=MODEL, headers=TFLITE).json()
    assert [buffer["id"] for buffer in problem["buffers"]] == ["0", "1", "2", "3", "4"]
    csv = client.post("/v1/convert?to=csv", content=MODEL, headers=TFLITE)
    assert csv.text.splitlines()[0].startswith("id,lower,upper,size")
    not_one = client.post("/v1/convert?to=graph", json={"version": 1, "buffers": []})
    problem_document(not_one, 422, "not_a_graph")


def test_an_empty_body_is_no_onnx_model(client: TestClient) -> None:
    pytest.importorskip("onnx", reason="the [onnx] extra is not installed")
    for path in ("plan", "jobs", "fronts", "inspect", "convert", "plan?output_format=c-header"):
        problem_document(client.post(f"/v1/{path}", content=b"", headers=ONNX), 400, "empty")


def test_onnx_models_are_planned(client: TestClient) -> None:
    plan = client.post("/v1/plan", content=onnx_model(), headers=ONNX)
    assert plan.status_code == 200, plan.text
    assert plan.json()["schedule"]["order"] == ["one", "two"]
    unknown = client.post("/v1/plan", content=onnx_model("batch"), headers=ONNX)
    problem_document(unknown, 422, "unknown_dimension")
    known = client.post("/v1/convert?to=graph&dim=batch=2", content=onnx_model("batch"), headers=ONNX)
    assert known.status_code == 200, known.text
    assert {tuple(tensor["shape"]) for tensor in known.json()["tensors"]} == {(2, 64)}
    for query, code in (
        ("dim=batch", "bad_dimension"),
        ("dim=batch=2&dim=batch=3", "repeated"),
    ):
        answer = client.post(f"/v1/plan?{query}", content=onnx_model("batch"), headers=ONNX)
        problem_document(answer, 422, code)
    problem_document(
        client.post("/v1/plan?dim=batch=2", content=MODEL, headers=TFLITE), 422, "unused_parameter"
    )


def test_a_text_in_an_envelope_is_no_model(client: TestClient) -> None:
    for text in ("\b\u0007", "....TFL3", MODEL.decode("latin-1")):
        answer = client.post("/v1/plan", json={"problem": text})
        assert answer.status_code == 422, answer.text
        codes = {issue["code"] for issue in answer.json()["errors"]}
        assert not codes & {"damaged", "unknown_shape", "missing_extra", "not_a_model"}, answer.text


def test_models_are_never_read_in_the_process_of_the_server(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    import memstow.planner.formats.tflite_format as tflite

    def read(_data: bytes) -> None:
        raise AssertionError("read in the process of the server")

    monkeypatch.setattr(tflite, "read_subgraphs", read)
    for path in ("plan", "jobs", "inspect", "convert"):
        response = client.post(f"/v1/{path}", content=MODEL, headers=TFLITE)
        assert response.status_code in (200, 202), response.text
    written = client.post("/v1/plan?order=free&output_format=tflite", content=MODEL, headers=TFLITE)
    assert written.status_code == 200, written.text


@pytest.mark.campaign
def test_damaged_models_are_told_as_such(client: TestClient) -> None:
    rng = Random(7)
    models = [(MODEL, TFLITE), (small_model(), TFLITE), (onnx_model(), ONNX)]
    for _ in range(12):
        data, headers = rng.choice(models)
        body = bytearray(data if rng.random() < 0.8 else data[: rng.randrange(1, len(data))])
        for _ in range(rng.choice((1, 2, 8))):
            body[rng.randrange(len(body))] = rng.randrange(256)
        response = client.post("/v1/convert?to=graph", content=bytes(body), headers=headers)
        assert response.status_code in (200, 422), (bytes(body), response.text)
        assert response.status_code == 200 or json.loads(response.text)["errors"]
