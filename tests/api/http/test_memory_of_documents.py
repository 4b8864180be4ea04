"""The memory of a large problem that was read counts like its body, until the response is sent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.bodies import UNCOUNTED
from memstow.api.http.settings import Settings

NAMES = [f"{number:0500}" for number in range(400)]
PROBLEM = {"version": 1, "buffers": [{"id": name, "size": 1, "lifetime": [0, 1]} for name in NAMES]}
BATCH = {"problems": [{"name": "p", "problem": PROBLEM}], "settings": [{"name": "s", "options": {}}]}


@pytest.mark.parametrize(
    ("path", "body", "submit", "headers"),
    [
        ("/v1/jobs", PROBLEM, "submit", {}),
        ("/v1/plan", PROBLEM, "submit", {"prefer": "respond-async"}),
        ("/v1/batches", BATCH, "submit_batch", {}),
    ],
)
def test_a_problem_that_was_read_counts_beside_its_body(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    body: object,
    submit: str,
    headers: dict[str, str],
) -> None:
    app = create_app(Settings(data=tmp_path, slots=0))
    used: list[int] = []
    content = json.dumps(body).encode()
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/livez").status_code == 200
        service = app.state.service
        submit_it: Callable[..., Any] = getattr(service.queue, submit)

        def counting(*arguments: Any) -> Any:
            used.append(service.metrics.body_memory.collect()[0].samples[0].value)
            return submit_it(*arguments)

        monkeypatch.setattr(service.queue, submit, counting)
        answer = client.post(path, content=content, headers={"content-type": "application/json", **headers})
        assert answer.status_code == 202
        assert "memstow_body_memory_bytes 0.0" in client.get("/metrics").text
    copy = sum(len(name) for name in NAMES)
    assert used[0] > len(content) + copy - UNCOUNTED
