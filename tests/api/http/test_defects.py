"""A defect of ours is a problem document like any other error, and tells nothing of the inside."""

import json
from typing import Any

import pytest
import structlog
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.errors import api_error_of
from memstow.api.http.samples import PROBLEM
from memstow.api.workers.executor import ChildError
from memstow.planner.model.errors import RefusedPlanError
from tests.api.http.conftest import problem_document

INSIDE = "what only the inside knows"


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError(INSIDE)


@pytest.mark.parametrize(
    ("method", "path", "part", "call"),
    [
        ("GET", f"/v1/jobs/{'0' * 32}", "queue", "get"),
        ("GET", "/v1/jobs", "queue", "page"),
        ("POST", "/v1/plan", "fast", "at_once"),
        ("POST", "/v1/plan?deterministic=true", "fast", "attempt"),
        ("POST", "/v1/jobs", "queue", "submit"),
    ],
)
def test_a_defect_is_told_without_a_word_of_the_inside(
    app: FastAPI,
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    part: str,
    call: str,
) -> None:
    monkeypatch.setattr(getattr(app.state.service, part), call, broken)
    with structlog.testing.capture_logs() as lines:
        answer = client.request(method, path, json={"problem": PROBLEM} if method == "POST" else None)
    problem_document(answer, 500, "defect")
    everything = answer.text + json.dumps(dict(answer.headers))
    for word in (INSIDE, "Traceback", "RuntimeError", ".py"):
        assert word not in everything
    assert answer.headers["x-content-type-options"] == "nosniff"
    output, request = (line for line in lines if line["event"] != "audit")
    assert output["event"] == "defect", "the log has it, for who runs the server"
    assert output["exc_info"]
    assert (request["event"], request["status"]) == ("request", 500)


def test_the_service_goes_on_after_a_defect(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(app.state.service.fast, "at_once", broken)
        assert client.post("/v1/plan", json={"problem": PROBLEM}).status_code == 500
    assert client.post("/v1/plan", json={"problem": PROBLEM}).status_code == 200


@pytest.mark.parametrize("error", [RefusedPlanError(INSIDE), ChildError("defect", INSIDE), OSError(INSIDE)])
def test_whatever_is_no_mistake_of_the_caller_is_a_defect(error: Exception) -> None:
    problem = api_error_of(error)
    assert (problem.status, problem.code) == (500, "defect")
    assert INSIDE not in problem.detail
