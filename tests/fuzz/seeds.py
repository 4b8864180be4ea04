"""Small sound inputs of every format, for mutations to start from."""

import json
from typing import Any, Final

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Problem
from tests.graphs import random_graph
from tests.stalloc_logs import training, with_experts
from tests.tflite_models import small_model
from tests.torch_recordings import pickled, sample, snapshot_of, trace_of
from tests.xla_dumps import XLA

PROBLEM: Final = Problem(
    version=1,
    buffers=(Buffer(id="a", size=4, lifetime=(0, 3)), Buffer(id="b", size=2, lifetime=(2, 5), alignment=2)),
)
PLAN: Final = Plan(
    status=Status.FEASIBLE,
    placements=(
        Placement(buffer="a", pool="memory", offset=0),
        Placement(buffer="b", pool="memory", offset=4),
    ),
)

_RICH: Final[dict[str, Any]] = {
    "version": 1,
    "name": "rich",
    "pools": [{"id": "p", "capacity": 99, "reserved": [{"offset": 0, "size": 2}], "base": 4}, {"id": "q"}],
    "buffers": [
        {"id": "a", "size": 4, "lifetimes": [[0, 1], [3, 4]], "pools": ["p"], "accesses": 3},
        {"id": "b", "size": 4, "lifetime": "always", "pool": "p", "offset": 4},
        {"id": "c", "size": 0},
    ],
    "conflicts": [["a", "c"]],
    "exclusive": [["a", "b"]],
    "relative": [{"buffer": "c", "base": "a", "offset": -4}],
    "in_place": [{"input": "b", "output": "c"}],
    "reuse_costs": [{"buffers": ["a", "b"], "cost": 5}],
    "objective": ["placement_cost", "peak:p", "peak"],
}

_CADENCE: Final[dict[str, Any]] = {
    "memory_config": {
        "memory_sizes": [64, 128],
        "memory_alignments": [8, 16],
        "memory_names": ["m", "n"],
        "base_addrs": [16, 96],
    },
    "specs": [
        {"id": "a", "allocated_memory": 16, "lifetime": [0, 4], "alignment": 8, "mem_id": 1},
        {"id": "b", "allocated_memory": 8, "lifetime": [2, 3], "blocklist": [1]},
        {"id": "c", "allocated_memory": 4, "lifetime": [1, 9]},
    ],
    "relative_placement": [{"dependent": "c", "source": "a", "offset": 16, "update_lifetime": True}],
    "absolute_placement": [{"spec": "b", "pinned_memory_id": 2, "offset": 16}],
    "extra_padding": 4,
}

_USMP: Final[dict[str, Any]] = {
    "buffer_infos": [
        {
            "name_hint": "a",
            "size_bytes": 9,
            "pool_candidates": ["m", "n"],
            "conflicts": ["b"],
            "kind": "input",
        },
        {"name_hint": "b", "size_bytes": 7, "pool_candidates": ["n"], "conflicts": ["a"], "alignment": 4},
        {"name_hint": "w", "size_bytes": 5, "pool_candidates": ["f"], "constant": True},
    ],
    "pool_infos": [
        {"pool_name": "m", "size_hint_bytes": 9},
        {"pool_name": "n", "size_hint_bytes": -1},
        {"pool_name": "f", "kind": "constant"},
    ],
    "memory_pressure": 16,
}

_TARGET: Final[dict[str, Any]] = {
    "version": 1,
    "name": "board",
    "source": "a data sheet",
    "pools": [
        {"id": "p", "capacity": 64, "alignment": 8, "base": 16, "cost": 2},
        {"id": "memory", "reserved": [{"offset": 0, "size": 4}]},
    ],
}

_GRAPH: Final[dict[str, Any]] = {
    "version": 1,
    "pools": [{"id": "p", "capacity": 99}],
    "tensors": [
        {"id": "x", "shape": [1, 4, 4, 2], "type": "int8"},
        {"id": "y", "shape": [2, 2, 3], "type": "int16", "alignment": 4, "pools": ["p"]},
        {"id": "w", "size": 9, "kind": "constant"},
    ],
    "operators": [
        {
            "id": "f",
            "type": "conv",
            "inputs": ["x", "w"],
            "outputs": ["y"],
            "temporaries": [{"id": "t", "size": 7, "phases": [0, 2]}],
            "in_place": [["x", "y"]],
            "cost": 5,
            "window": {"kernel": [2, 2], "stride": [2, 2]},
        }
    ],
    "inputs": ["x"],
    "outputs": ["y"],
    "alternatives": [
        {
            "id": "other",
            "replaces": ["f"],
            "operators": [{"id": "g", "inputs": ["x"], "outputs": ["y", "n"]}],
            "tensors": [{"id": "n", "size": 1}],
            "cost": 6,
        }
    ],
    "objective": ["peak"],
    "limits": {"cost": 1.5},
}

RECORDED: Final = sample(layers=1)
PROBLEMS: Final = (
    json.dumps(random_graph(1)).encode(),
    json.dumps(_GRAPH).encode(),
    small_model(),
    *(formats.write_problem(PROBLEM, name) for name in ("json", "csv", "structured", "executorch")),
    json.dumps(_RICH).encode(),
    json.dumps(_CADENCE).encode(),
    json.dumps(_USMP).encode(),
    json.dumps(_TARGET).encode(),
    b'{"version": 1, "programs": [{"id": "p", "problem": {"version": 1, '
    b'"buffers": [{"id": "a", "size": 2, "lifetime": [0, 1]}]}}], '
    b'"kept": [{"buffers": [["p", "a"]], "life": "used"}]}',
    b'id,start,end,size,gaps,offset\na,0,9,8,2-3 4-5@2:6,16\n"b",-4,9,8,,\r\n',
    b'{"sizes": {"a": 3, "b": 4}, "edges": [["a", "b"]], "pools": [{"name": "m", "size": null}]}',
    b"[[0, 159, 2048], [0, 13, 7904]]",
    XLA.encode(),
    *(pickled(snapshot_of(RECORDED), protocol) for protocol in (2, 4)),
    trace_of(RECORDED),
    training(layers=1, batches=1, carried=1).data(),
    with_experts().data(),
)
PLANS: Final = (
    *(formats.write_plan(PROBLEM, PLAN, name) for name in formats.plan_names() if name != "programs"),
    json.dumps(
        {
            "version": 1,
            "programs": [{"id": "p", "plan": json.loads(formats.write_plan(PROBLEM, PLAN, "json"))}],
        }
    ).encode(),
)
