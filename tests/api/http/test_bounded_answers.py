"""What is refused or left out so that answers stay short and clear: unknown names in queries, long lists."""

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.samples import PROBLEM
from memstow.api.workers.executor import RunControl, out_of_memory
from tests.api.http.conftest import problem_document
from tests.waiting import wait_for


def test_unknown_names_in_a_query_are_refused_everywhere(client: TestClient, app: FastAPI) -> None:
    operations = [(path, method) for path, item in app.openapi()["paths"].items() for method in item]
    assert len(operations) > 20
    for place, method in operations:
        path = place.format(job="0" * 32, batch="0" * 32, name="first", key="0" * 12)
        body = b"{}" if method == "post" else None
        kind = {"content-type": "application/json"}
        answer = client.request(method, f"{path}?nosuch=1", content=body, headers=kind)
        document = problem_document(answer, 422, "unknown_parameter")
        assert [error["path"] for error in document["errors"]] == ["query.nosuch"], (method, path)


def test_of_many_issues_the_first_are_listed_and_all_are_counted(client: TestClient) -> None:
    settings = [{"name": str(i), "options": {"gap": 2}} for i in range(500)]
    body = {"problems": [{"problem": PROBLEM}], "settings": settings}
    document = problem_document(client.post("/v1/batches", json=body), 422, "too_large")
    assert document["error_count"] == 500
    assert len(document["errors"]) == 100
    assert document["errors"][0]["path"] == "$.settings[0].options.gap"
    assert document["detail"].startswith("500 things are wrong")
    few = problem_document(client.post("/v1/plan?gap=2", json=PROBLEM), 422, "too_large")
    assert "error_count" not in few


def test_the_violations_of_a_plan_are_bounded_and_counted(client: TestClient) -> None:
    buffers = [{"id": f"b{i}", "size": 8, "lifetime": [0, 1]} for i in range(400)]
    places = [{"buffer": f"b{i}", "pool": "memory", "offset": -8} for i in range(400)]
    body = {
        "problem": {"version": 1, "buffers": buffers},
        "plan": {"status": "feasible", "placements": [{**place, "offset": 0} for place in places]},
    }
    answer = client.post("/v1/verify", json=body)
    verdict = answer.json()
    assert not verdict["valid"]
    assert len(answer.content) < 100_000
    assert len(verdict["violations"]) < 400


@pytest.mark.parametrize(
    ("limits", "named"),
    [({}, "setting `solve_memory`"), ({"memory_limit": 1 << 30}, "option `memory_limit`")],
    ids=["setting", "option"],
)
def test_out_of_memory_names_whose_limit_it_was(
    client: TestClient,
    app: FastAPI,
    monkeypatch: pytest.MonkeyPatch,
    limits: dict[str, int],
    named: str,
) -> None:
    def fail(_operation: object, _request: object, control: RunControl) -> None:
        raise out_of_memory(control)

    monkeypatch.setattr(app.state.service.children, "run", fail)
    body = {"problem": PROBLEM, "options": {"solver": "cpsat", **limits}}
    document = problem_document(client.post("/v1/plan", json=body), 413, "out_of_memory")
    most = limits.get("memory_limit", 4 << 30) >> 20
    assert document["detail"] == f"needs more than the {most} MiB that the {named} allows"
    wait_for(lambda: client.get("/readyz").status_code == 200, "the server to be ready")
