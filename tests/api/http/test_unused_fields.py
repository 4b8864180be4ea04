"""A field of a request is followed, or refused by its name: for every kind of document."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from memstow.api.http.samples import PLAN, PROBLEM
from tests.api.http.conftest import problem_document
from tests.fuzz.fuzz_verify import CHAIN, SYMBOLIC

HINT = {"status": "feasible", "placements": []}
ORDER = [operator["id"] for operator in CHAIN["operators"]]
STRIPED = {**HINT, "schedule": {"order": ORDER, "stripes": [{"begin": 2, "end": 4, "columns": 8}]}}
AGAIN = {**HINT, "schedule": {"order": [*ORDER, ORDER[0]]}}
OF = {"problem": {"problem": PROBLEM}, "graph": {"graph": CHAIN}, "symbols": {"problem": SYMBOLIC}}

TABLE: list[tuple[str, str, dict[str, Any], str]] = [
    ("/v1/plan", "problem", {"options": {"deterministic": True, "time_limit": 0.5}}, "unused_option"),
    ("/v1/plan?deterministic=true&time_limit=5", "graph", {}, "unused_option"),
    ("/v1/jobs", "symbols", {"options": {"deterministic": True, "time_limit": 0.5}}, "unused_option"),
    ("/v1/fronts?output_format=csv", "graph", {}, "unknown_parameter"),
    ("/v1/fronts?section=a=b", "graph", {}, "unknown_parameter"),
    ("/v1/fronts?prefix=net", "graph", {}, "unknown_parameter"),
    ("/v1/fronts?order_only=true", "graph", {}, "unknown_parameter"),
    ("/v1/jobs?output_format=c-header", "problem", {}, "unused_parameter"),
    ("/v1/jobs?output_format=loops", "problem", {}, "unused_parameter"),
    ("/v1/jobs?output_format=json&section=p=.x", "problem", {}, "unused_parameter"),
    ("/v1/inspect?time_limit=3", "problem", {}, "unused_option"),
    ("/v1/plan", "problem", {"order": "free"}, "not_a_graph"),
    ("/v1/plan", "problem", {"in_place": False}, "not_a_graph"),
    ("/v1/plan", "problem", {"shapes": "order"}, "not_symbolic"),
    ("/v1/plan", "graph", {"shapes": "order"}, "not_symbolic"),
    ("/v1/plan", "graph", {"options": {"hint": STRIPED}}, "hint_schedule"),
    ("/v1/plan", "graph", {"options": {"hint": AGAIN}}, "hint_schedule"),
    ("/v1/jobs", "graph", {"options": {"hint": STRIPED}}, "hint_schedule"),
    ("/v1/plan", "symbols", {"order": "free"}, "not_a_graph"),
    ("/v1/plan", "symbols", {"target": "stm32h743"}, "not_for_symbols"),
    ("/v1/plan", "symbols", {"options": {"hint": HINT}}, "not_for_symbols"),
    ("/v1/plan", "symbols", {"options": {"gap": 0.1}}, "not_for_symbols"),
    ("/v1/plan", "symbols", {"options": {"solver": "greedy"}}, "not_for_symbols"),
    ("/v1/fronts", "problem", {"front": {"generators": ["stripes"]}}, "not_a_graph"),
    ("/v1/fronts", "problem", {"front": {"cost": "bytes"}}, "not_a_graph"),
    ("/v1/fronts", "graph", {"options": {"hint": HINT}}, "not_a_problem"),
    ("/v1/verify", "problem", {"plan": PLAN, "order": "free"}, "not_a_graph"),
    ("/v1/verify?time_limit=5", "problem", {"plan": PLAN}, "unused_option"),
    ("/v1/verify", "problem", {"plan": PLAN, "hint": HINT}, "unused_option"),
]


@pytest.mark.parametrize(
    ("path", "kind", "fields", "code"),
    [pytest.param(*entry, id=f"{entry[0]} {entry[1]} {json.dumps(entry[2])[:60]}") for entry in TABLE],
)
def test_what_is_not_followed_is_refused(
    client: TestClient, path: str, kind: str, fields: dict[str, Any], code: str
) -> None:
    problem_document(client.post(path, json={**OF[kind], **fields}), 422, code)
