"""Options of requests one by one and in pairs: each combination is an answer, or an error that says why.

Which options there are comes from the OpenAPI document, so that one that is new is tried as well.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import CSV, PLAN, PROBLEM
from memstow.api.http.settings import Settings
from memstow.api.operations.operations import Answer
from memstow.api.workers.executor import RunControl
from memstow.api.workers.isolated_run import ChildExecutor
from tests.fuzz.fuzz_verify import BY_LENGTH, POOLS, SYMBOLIC, WAYS
from tests.option_values import LAYER_IN_TWO, VALUES, sampled

_JSON: Final = "application/json"
_BODIES: Final[Mapping[str, tuple[str, str]]] = {
    "problem": (_JSON, json.dumps({"problem": PROBLEM})),
    "csv": ("text/csv", CSV),
    "ways": (_JSON, json.dumps({"graph": WAYS})),
    "pools": (_JSON, json.dumps(POOLS)),
    "layer": (_JSON, json.dumps({"graph": LAYER_IN_TWO})),
    "symbolic": (_JSON, json.dumps({"problem": SYMBOLIC})),
    "length": (_JSON, json.dumps(BY_LENGTH)),
    "verify": (_JSON, json.dumps({"problem": PROBLEM, "plan": PLAN})),
}
_OF_JOBS: Final = ("/v1/fronts", "/v1/jobs")
# What a request that plans has unless an option says otherwise: it ends by work, at once.
_STEADY: Final = {"deterministic": "true", "work_limit": "20000"}


def _resolved(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameter, where it is one that several routes share."""
    if "$ref" not in parameter:
        return parameter
    resolved: Any = document
    for step in parameter["$ref"].split("/")[1:]:
        resolved = resolved[step]
    assert isinstance(resolved, Mapping)
    return resolved


def _values(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Values to try: of the table, of the schema, and one that is wrong nearly everywhere."""
    kinds = {entry.get("type") for entry in (schema, *schema.get("anyOf", ()))}
    if name in VALUES:
        yield from VALUES[name]
    elif "boolean" in kinds:
        yield from ("true", "false")
    elif kinds & {"integer", "number"}:
        yield from dict.fromkeys(
            (str(max(schema.get("minimum", 0), 0)), str(min(schema.get("maximum", 2), 2)))
        )
    else:
        yield from schema.get("enum", ())
    yield "nonsense"


def _options(app: FastAPI, path: str) -> dict[str, list[str]]:
    """By option of the route the values to try."""
    document = app.openapi()
    parameters = [_resolved(document, entry) for entry in document["paths"][path]["post"]["parameters"]]
    return {
        entry["name"]: list(_values(entry["name"], entry["schema"]))
        for entry in parameters
        if entry["in"] == "query" and entry["name"] != "callback"
    }


def _is_followed(client: TestClient, path: str, body: str, query: Mapping[str, str]) -> bool:
    """Whether the request is followed; one that is refused says why."""
    media_type, content = _BODIES[body]
    steady = _STEADY if path == "/v1/plan" else {}
    headers = {"content-type": media_type}
    response = client.post(path, params={**steady, **query}, content=content, headers=headers)
    assert response.status_code < 500, (path, body, query, response.text)
    if response.status_code < 400:
        return True
    refusal = response.json()
    assert refusal["detail"], (path, body, query)
    assert refusal["code"] not in ("", "internal_error"), (path, body, query)
    return False


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done in a process of its own is done here: a process takes longer than all else."""

    def run(_self: ChildExecutor, operation: Answer[Any, Any], request: Any, _control: RunControl) -> object:
        return operation.perform(request, None)

    monkeypatch.setattr(ChildExecutor, "run", run)


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of an app that keeps the jobs that it takes, and runs none."""
    app = create_app(Settings(data=tmp_path_factory.mktemp("idle"), slots=0))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/plan", "problem"),
        ("/v1/inspect", "problem"),
        ("/v1/convert", "problem"),
        ("/v1/tile", "layer"),
        ("/v1/verify", "verify"),
    ],
)
def test_a_value_that_no_option_has_is_refused(
    app: FastAPI, client: TestClient, path: str, body: str
) -> None:
    assert _is_followed(client, path, body, {})
    for name in _options(app, path).keys() - {"name", "prefix", "header"}:
        assert not _is_followed(client, path, body, {name: "nonsense"}), name


@pytest.mark.parametrize("count", [20, pytest.param(1_500, marks=pytest.mark.campaign)])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(("/v1/plan", body) for body in ("problem", "csv", "ways", "pools")),
        *(("/v1/inspect", body) for body in ("problem", "ways")),
        *(("/v1/convert", body) for body in ("csv", "ways", "pools", "length")),
        *(("/v1/tile", body) for body in ("layer", "problem")),
        *(("/v1/verify", body) for body in ("verify", "layer")),
        ("/v1/fronts", "problem"),
        ("/v1/jobs", "symbolic"),
    ],
)
def test_options_one_by_one_and_in_pairs_break_nothing(
    app: FastAPI, client: TestClient, idle: TestClient, path: str, body: str, count: int
) -> None:
    for entry in sampled(_options(app, path), count, f"{path} {body}"):
        _is_followed(idle if path in _OF_JOBS else client, path, body, dict(entry))
