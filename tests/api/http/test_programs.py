"""Several programs that take turns, over HTTP."""

import json

from starlette.testclient import TestClient

from tests.api.http.conftest import problem_document

DOCUMENT = {
    "version": 1,
    "programs": [
        {"id": "p", "problem": {"version": 1, "buffers": [{"id": "s", "size": 4, "lifetime": [0, 1]}]}},
        {
            "id": "q",
            "problem": {
                "version": 1,
                "buffers": [
                    {"id": "s", "size": 4, "lifetime": [0, 1]},
                    {"id": "t", "size": 6, "lifetime": [1, 2]},
                ],
            },
        },
    ],
    "kept": [{"buffers": [["p", "s"], ["q", "s"]]}],
}


def test_each_program_gets_its_plan_and_the_judge_takes_them(client: TestClient) -> None:
    plans = client.post("/v1/plan?output_format=programs", json=DOCUMENT).json()
    assert plans["arenas"] == [{"pool": "memory", "bytes": 10}]
    at = {
        (each["id"], place["buffer"]): place["offset"]
        for each in plans["programs"]
        for place in each["plan"]["placements"]
    }
    assert at["p", "s"] == at["q", "s"]
    for plan in (plans, json.dumps(plans)):
        assert client.post("/v1/verify", json={"problem": DOCUMENT, "plan": plan}).json()["valid"] is True
    plans["programs"][1]["plan"]["placements"][1]["offset"] = at["q", "s"]
    del plans["arenas"]
    verdict = client.post("/v1/verify", json={"problem": DOCUMENT, "plan": plans}).json()
    assert verdict["valid"] is False


def test_no_file_of_the_server_is_read(client: TestClient) -> None:
    document = {"version": 1, "programs": [{"id": "p", "file": "/etc/hostname"}]}
    problem_document(client.post("/v1/plan", json=document), 422, "file_named")
