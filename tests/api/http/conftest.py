"""What the tests of the routes share: an app in this process, and a client of it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from httpx2 import Response
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from memstow.planner import formats
from memstow.planner.generate.planted import planted


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """An app with a folder of its own and a workers' slot."""
    return create_app(Settings(data=tmp_path_factory.mktemp("data"), slots=1, lease_seconds=2.0))


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client of it, with everything running."""
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def hard(buffers: int = 100, seed: int = 1) -> dict[str, Any]:
    """A problem that is not solved at a glance."""
    made: dict[str, Any] = json.loads(formats.write_problem(planted(buffers, seed, slack=0.1)))
    return made


def problem_document(response: Response, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer that must be this error."""
    assert (response.status_code, response.headers["content-type"]) == (
        status,
        "application/problem+json",
    ), response.text
    document: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "code", "instance"} <= document.keys()
    assert (document["status"], document["code"]) == (status, code), document
    assert document["type"] == f"urn:memstow:problem:{code}"
    assert response.headers["x-request-id"] in document["instance"]
    return document
