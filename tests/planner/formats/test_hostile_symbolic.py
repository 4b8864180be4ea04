"""Documents that are damaged in any way are refused with issues; nothing else happens."""

import copy
import json
from random import Random
from typing import Any

import pytest

import memstow
from memstow.planner.formats.native import (
    parse_symbolic,
    parse_symbolic_graph,
    parse_symbolic_plan,
    write_symbolic,
)
from memstow.planner.generate.symbolic import symbolic

GRAPH: dict[str, Any] = {
    "symbols": [{"id": "s", "min": 1, "max": 64, "values": [1, 64]}],
    "points": [{"at": {"s": 5}, "weight": 2}],
    "pools": [{"id": "m", "capacity": 4096}],
    "tensors": [
        {"id": "x", "shape": ["s", 4], "type": "int16"},
        {"id": "y", "size": "8*s", "pools": ["m"]},
        {"id": "z", "size": "2*s"},
    ],
    "operators": [
        {"id": "f", "inputs": ["x"], "outputs": ["y"], "temporaries": [{"id": "t", "size": "s"}]},
        {"id": "g", "inputs": ["y"], "outputs": ["z"], "in_place": [["y", "z"]]},
    ],
    "inputs": ["x"],
    "outputs": ["z"],
    "objective": ["peak:m"],
}
PLAN: dict[str, Any] = {
    "status": "feasible",
    "shapes": "order",
    "orders": [{"placements": [{"buffer": "a", "pool": "m", "above": ["b"], "shares": "c"}]}],
    "points": [{"at": {"s": 5}, "peak": 4, "least": 2}],
    "worst": 2.0,
}
_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    1 << 62,
    1 << 70,
    10**5000,
    1.5,
    "",
    "s",
    "min",
    "s*(",
    "s" * 3000,
    "-" * 100 + "s",
    "1//(s-5)",
    "9" * 1999,
    "\ud800",
    [],
    [1],
    ["s", 1],
    {},
    {"s": 3},
    {"s": "x"},
    [[]],
    [0, 1],
    "always",
]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each container with each of its keys."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def _damaged(document: Any, random: Random) -> Any:
    damaged = copy.deepcopy(document)
    for _ in range(random.randint(1, 3)):
        places = _places(damaged)
        if not places:
            break
        container, key = random.choice(places)
        kind = random.random()
        if kind < 0.6:
            container[key] = copy.deepcopy(random.choice(_VALUES))
        elif kind < 0.75:
            del container[key]
        elif isinstance(container, dict):
            container[random.choice(["id", "size", "extra", "\ud800", "symbols", "shape"])] = container[key]
        else:
            container.append(container[key])
    return damaged


@pytest.mark.parametrize("kind", ["problem", "graph", "plan"])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_but_issues_comes_of_damage(kind: str, seed: int) -> None:
    random = Random(f"{kind} {seed}")
    refused = 0
    output: list[memstow.Issue] = []
    for _ in range(150):
        features = ["pins", "relative", "reserved", "capacities", "pools", "in_place", "exclusive"]
        read: Any = {"problem": parse_symbolic, "graph": parse_symbolic_graph, "plan": parse_symbolic_plan}[
            kind
        ]
        document = {"graph": GRAPH, "plan": PLAN}.get(kind)
        if document is None:
            made = symbolic(4, random.randint(0, 50), family="random", symbols=2, features=features)
            document = json.loads(write_symbolic(made))
        try:
            read(_damaged(document, random))
        except memstow.InputError as error:
            refused += 1
            output.extend(error.issues)
    assert refused > 30
    assert len(output) >= refused
    for issue in output:
        assert issue.path.startswith("$"), issue
        assert issue.code, issue
        assert 0 < len(issue.message) < 6000, issue
