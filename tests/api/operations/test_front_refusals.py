"""What has no front is refused when it is asked for, as the command line and the job would."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from memstow.api.operations.encoding import document_from
from memstow.api.operations.operations import READ
from memstow.api.operations.request_types import BodyForm, ReadRequest
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_documents import parse_front_options
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.reading.parse import parse_options
from tests.api.operations.test_front import LIMITS

Json = dict[str, Any]
ONE: Json = {
    "version": 1,
    "buffers": [{"id": "a", "size": 4, "lifetime": [0, 2]}, {"id": "b", "size": 2, "lifetime": [1, 3]}],
}
TWO: Json = {**ONE, "pools": [{"id": "fast", "capacity": 8}, {"id": "slow", "cost": 3}]}
GRAPH: Json = {
    "version": 1,
    "tensors": [{"id": name, "shape": [8, 8, 4], "type": "int8"} for name in "xyz"],
    "operators": [
        {"id": "f", "type": "relu", "inputs": ["x"], "outputs": ["y"]},
        {"id": "h", "type": "relu", "inputs": ["y"], "outputs": ["z"]},
    ],
    "inputs": ["x"],
}
POOLS: Json = {**GRAPH, "pools": [{"id": "fast", "capacity": 512}, {"id": "slow"}]}
OTHER = {"id": "f2", "type": "relu", "inputs": ["x"], "outputs": ["y"], "cost": 3}
OTHERS = [{"id": "alt", "replaces": ["f"], "operators": [OTHER]}]
DOCUMENTS: dict[str, Json] = {
    "problem": ONE,
    "pools": TWO,
    "moves": {**ONE, "objective": ["moves", "peak"]},
    "graph": GRAPH,
    "graph with pools": POOLS,
    "graph with moves": {**GRAPH, "objective": ["moves", "peak"]},
    "large costs": {**GRAPH, "operators": [{**operator, "cost": 1 << 61} for operator in GRAPH["operators"]]},
    "costs too large for stripes": {
        **GRAPH,
        "operators": [{**operator, "cost": 1 << 41} for operator in GRAPH["operators"]],
    },
    "large sizes": {**GRAPH, "tensors": [{"id": name, "size": 1 << 60} for name in "xyz"]},
    "large products": {
        "version": 1,
        "tensors": [
            {"id": "x", "shape": [4096, 4096, 1], "type": "int8"},
            {"id": "w", "shape": [1 << 20, 1 << 20], "type": "int8", "kind": "constant"},
            {"id": "y", "shape": [4096, 4096, 1], "type": "int8"},
        ],
        "operators": [
            {"id": "f", "type": "conv", "inputs": ["x", "w"], "outputs": ["y"], "window": {"kernel": [1, 1]}}
        ],
        "inputs": ["x"],
    },
    "graph with alternatives": {**GRAPH, "alternatives": OTHERS},
    "pools and alternatives": {**POOLS, "alternatives": OTHERS},
}
TERMS = (
    None,
    ["peak", "cost"],
    ["peak:fast", "cost"],
    ["peak:no", "cost"],
    ["cost", "peak"],
    ["peak", "moves"],
    ["peak:fast", "placement_cost"],
    ["capacity:fast", "moves"],
    ["x", "peak"],
    ["peak", "peak"],
)
GENERATORS: tuple[list[str] | None, ...] = (None, [], ["recompute"], ["spill"], ["spill", "stripes"])
Found = list[tuple[str, str]]


def asks() -> Iterator[tuple[str, Json]]:
    """Documents, and what may be asked of them."""
    for name, terms, generators, cost in itertools.product(
        DOCUMENTS, TERMS, GENERATORS, (None, "given", "bytes")
    ):
        request = {"terms": terms, "generators": generators, "cost": cost}
        yield name, {member: value for member, value in request.items() if value is not None}


def read(body: Json) -> None:
    """As the service reads it before it makes a job."""
    form = BodyForm(front={}, members=("priority",))
    READ.perform(ReadRequest(body=json.dumps(body).encode(), form=form, limits=LIMITS), None)


def issues_of_request(body: Json) -> Found:
    try:
        read(body)
    except InputError as error:
        return sorted((issue.code, issue.message) for issue in error.issues)
    return []


def issues_of_run(document: Json, request: Json, options: Json) -> Found:
    try:
        result = document_from(json.dumps(document).encode())
        find_front(result, parse_front_options(request), parse_options(options), FrontCallbacks())
    except InputError as error:
        return sorted((issue.code, issue.message) for issue in error.issues)
    return []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_all_that_the_run_refuses_is_refused_before_there_is_a_job(name: str) -> None:
    options: Json = {"deterministic": True, "work_limit": 1_000}
    refused = 0
    for document, ask in asks():
        if document != name:
            continue
        given = DOCUMENTS[name]
        member = "graph" if "operators" in given else "problem"
        wanted = issues_of_run(given, ask, options)
        assert issues_of_request({member: given, "front": ask, "options": options}) == wanted, ask
        refused += bool(wanted)
    assert refused


@pytest.mark.parametrize(
    ("document", "wanted", "code", "path"),
    [
        (TWO, {"terms": ["peak:fast", "moves"]}, "moves_without_hint", "$.front.terms"),
        (DOCUMENTS["moves"], {"terms": ["peak", "moves"]}, "moves_without_hint", "$.problem.objective[0]"),
        (ONE, {}, "one_term", "$.front.terms"),
        (TWO, {"generators": ["spill"]}, "not_a_graph", "$.front.generators"),
        (GRAPH, {"terms": ["cost", "peak"]}, "front_terms", "$.front.terms"),
        (GRAPH, {"terms": ["peak:fast", "cost"]}, "unknown_pool", "$.front.terms"),
        (GRAPH, {"generators": ["spill"]}, "spill_without_pool", "$.graph.pools"),
        (POOLS, {"terms": ["peak:fast", "cost"], "generators": ["spill"]}, "spill_cost", "$.front.cost"),
        (POOLS, {"terms": ["peak:fast", "cost"]}, "several_pools", "$.graph.pools"),
        (DOCUMENTS["graph with moves"], {}, "front_moves", "$.graph.objective"),
        (DOCUMENTS["large sizes"], {}, "too_large", "$.graph"),
        (DOCUMENTS["large products"], {}, "too_large", "$.graph.operators"),
    ],
)
def test_the_path_leads_to_what_is_wrong(document: Json, wanted: Json, code: str, path: str) -> None:
    body = {"graph" if "operators" in document else "problem": document, "front": wanted}
    with pytest.raises(InputError) as refusal:
        read(body)
    assert [(issue.code, issue.path) for issue in refusal.value.issues] == [(code, path)]


def test_a_document_alone_is_refused_at_the_query() -> None:
    form = BodyForm(front={"terms": ["cost", "peak"]})
    with pytest.raises(InputError) as refusal:
        READ.perform(ReadRequest(body=json.dumps(GRAPH).encode(), form=form, limits=LIMITS), None)
    assert refusal.value.issues[0].path == "$.query.terms"
    form = BodyForm(front={"generators": ["spill"]})
    with pytest.raises(InputError) as refusal:
        READ.perform(ReadRequest(body=json.dumps(GRAPH).encode(), form=form, limits=LIMITS), None)
    assert refusal.value.issues[0].path == "$.pools"


def test_costs_too_large_for_stripes_do_without_them() -> None:
    document = DOCUMENTS["costs too large for stripes"]
    with pytest.raises(InputError, match="leave stripes out"):
        read({"graph": document})
    read({"graph": document, "front": {"generators": ["recompute"]}})


def test_a_solver_that_cannot_is_refused_at_once() -> None:
    problem = {**TWO, "reuse_costs": [{"buffers": ["a", "b"], "cost": 3}]}
    request = {"terms": ["peak:fast", "placement_cost"]}
    options = {"solver": "reuse"}
    with pytest.raises(DeclinedError) as refusal:
        read({"problem": problem, "front": request, "options": options})
    document = document_from(json.dumps(problem).encode())
    with pytest.raises(DeclinedError) as later:
        find_front(document, parse_front_options(request), parse_options(options), FrontCallbacks())
    assert str(refusal.value) == str(later.value)
    read({"problem": problem, "front": request, "options": {"solver": "greedy"}})
