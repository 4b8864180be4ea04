"""Plans of problems with symbols, judged by the service."""

import json
from typing import Any

from starlette.testclient import TestClient

from tests.api.http.conftest import problem_document

PROBLEM: dict[str, Any] = {
    "version": 1,
    "symbols": [{"id": "s", "min": 1, "max": 64, "values": [16, 64]}],
    "buffers": [
        {"id": "scores", "size": "4*s*s", "lifetime": [0, 2]},
        {"id": "mask", "size": "align(s, 32)", "lifetime": [1, 3]},
    ],
}
PLAN: dict[str, Any] = {
    "status": "optimal",
    "shapes": "order",
    "orders": [
        {
            "placements": [
                {"buffer": "scores", "pool": "memory", "above": ["mask"]},
                {"buffer": "mask", "pool": "memory"},
            ]
        }
    ],
    "points": [
        {"at": {"s": 16}, "peak": 1056, "least": 1056},
        {"at": {"s": 64}, "peak": 16448, "least": 16448},
    ],
    "worst": 1.0,
    "bound": 1.0,
}


def test_a_plan_is_judged_at_every_value(client: TestClient) -> None:
    good = client.post("/v1/verify", json={"problem": PROBLEM, "plan": PLAN}).json()
    assert (good["valid"], good["checked"], good["violations"]) == (True, True, [])
    assert {"sizes", "places", "everywhere", "peak_at", "least_at", "worst", "bound"} == {
        claim["subject"] for claim in good["claims"]
    }
    loose = json.loads(json.dumps(PLAN))
    loose["orders"][0]["placements"][0]["above"] = []
    bad = client.post("/v1/verify", json={"problem": PROBLEM, "plan": loose}).json()
    assert not bad["valid"]
    assert bad["violations"][0]["code"] == "unordered"
    assert bad["violations"][0]["buffers"] == ["scores", "mask"]


def test_what_is_wrong_with_the_documents_is_told(client: TestClient) -> None:
    wrong = {**PROBLEM, "buffers": [{"id": "a", "size": "4*u"}]}
    document = problem_document(
        client.post("/v1/verify", json={"problem": wrong, "plan": {**PLAN, "worst": "1"}}),
        422,
        "invalid_request",
    )
    assert document["errors"][0]["code"] == "unknown_symbol"
    assert [error["path"] for error in document["errors"]] == ["$.problem.buffers[0].size", "$.plan.worst"]
    body = {"problem": PROBLEM, "plan": PLAN, "hint": PLAN}
    problem_document(client.post("/v1/verify", json=body), 422, "unknown_field")
    problem_document(client.post("/v1/verify", json={"problem": PROBLEM}), 422, "missing_field")
    body = {"problem": PROBLEM, "plan": PLAN}
    problem_document(client.post("/v1/verify?recheck=true", json=body), 422, "no_recheck")
