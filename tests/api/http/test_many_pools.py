"""A problem with many pools and buffers is small as a document and large as work: it is solved as a job."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from memstow.planner.model.problem import Problem
from memstow.planner.solve import engine

POOLS = 4
LIMIT = 40


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return create_app(Settings(data=tmp_path, slots=1, lease_seconds=2.0, fast_choices=LIMIT))


@pytest.fixture
def solved_here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of buffers of the problems that are solved in this process."""
    seen: list[int] = []
    plan = engine.plan

    def noting(problem: Problem, *arguments: Any) -> Any:
        seen.append(len(problem.buffers))
        return plan(problem, *arguments)

    monkeypatch.setattr(engine, "plan", noting)
    return seen


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def request(buffers: int, pools: list[str] | None = None) -> dict[str, Any]:
    """Buffers that may go to these pools, or to any."""
    one: dict[str, Any] = {"size": 8} if pools is None else {"size": 8, "pools": pools}
    return {
        "problem": {
            "version": 1,
            "pools": [{"id": f"p{i}", "capacity": 1000} for i in range(POOLS)],
            "buffers": [{"id": str(i), "lifetime": [0, 1], **one} for i in range(buffers)],
        },
        "options": {"time_limit": 2.0, "solver": "greedy"},
    }


def test_more_choices_than_the_setting_allows_are_a_job_and_never_solved_in_the_server(
    client: TestClient, solved_here: list[int]
) -> None:
    buffers = LIMIT // POOLS + 1
    response = client.post("/v1/plan", json=request(buffers))
    assert response.status_code == 200, response.text
    assert len(response.json()["placements"]) == buffers
    assert "location" in response.headers, "the answer is that of a job"
    assert solved_here == []


@pytest.mark.parametrize(("buffers", "pools"), [(LIMIT // POOLS, None), (LIMIT, ["p1"])])
def test_as_many_choices_as_the_setting_allows_are_solved_in_the_server(
    client: TestClient, solved_here: list[int], buffers: int, pools: list[str] | None
) -> None:
    response = client.post("/v1/plan", json=request(buffers, pools))
    assert response.status_code == 200, response.text
    assert "location" not in response.headers
    assert buffers in solved_here
