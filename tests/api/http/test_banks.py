"""Banks over HTTP."""

import pytest
from starlette.testclient import TestClient

from tests.api.cli.test_banks import BANKED


def test_a_problem_with_banks_is_planned_and_its_plan_verified(client: TestClient) -> None:
    options = {"deterministic": True, "work_limit": 200_000}
    response = client.post("/v1/plan", json={"problem": BANKED, "options": options})
    assert response.status_code == 200, response.text
    plan = response.json()
    assert plan["objective"][0] | {"gap": 0} == {
        "term": "bank_cost",
        "value": 0,
        "bound": 0,
        "gap": 0,
        "certificate": {"kind": "least"},
    }
    verdict = client.post("/v1/verify", json={"problem": BANKED, "plan": plan}).json()
    assert verdict["valid"]


@pytest.mark.parametrize("terms", [["bank_cost", "peak"], ["bank_cost"], ["peak"], []])
def test_a_request_without_options_is_answered(client: TestClient, terms: list[str]) -> None:
    response = client.post("/v1/plan", json={**BANKED, "objective": terms})
    assert response.status_code == 200, response.text
    plan = response.json()
    assert plan["status"] == "optimal"
    assert client.post("/v1/verify", json={"problem": {**BANKED, "objective": terms}, "plan": plan}).json()[
        "valid"
    ]


def test_what_is_wrong_with_banks_is_told(client: TestClient) -> None:
    wrong = {**BANKED, "bank_conflicts": [{"buffers": ["x", "nobody"]}]}
    response = client.post("/v1/plan", json={"problem": wrong})
    assert response.status_code == 422, response.text
    assert "unknown_buffer" in response.text
