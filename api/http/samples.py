"""Sample documents, which the OpenAPI document and the tests show; and example requests, by name."""

from typing import Final

from memstow.api.http.responses import JsonObject

PROBLEM: Final[JsonObject] = {
    "version": 1,
    "name": "first",
    "buffers": [
        {"id": "input", "size": 4096, "lifetime": [0, 2]},
        {"id": "conv1", "size": 8192, "lifetime": [1, 3]},
        {"id": "conv2", "size": 4096, "lifetime": [2, 5]},
        {"id": "relu", "size": 4096, "lifetime": [3, 5]},
        {"id": "output", "size": 1024, "lifetime": [4, 6]},
    ],
}
GRAPH: Final[JsonObject] = {
    "version": 1,
    "name": "two operators",
    "tensors": [{"id": "sound", "size": 490}, {"id": "features", "size": 8000}, {"id": "answer", "size": 12}],
    "operators": [
        {"id": "conv", "inputs": ["sound"], "outputs": ["features"]},
        {"id": "dense", "inputs": ["features"], "outputs": ["answer"]},
    ],
    "inputs": ["sound"],
    "outputs": ["answer"],
}
XLA_DUMP: Final = """BufferAssignment:
allocation 3: size 57344, preallocated-temp:
 value: <22 product @0> (size=24576,offset=32768): f32[64,96]{1,0}
 value: <24 other_product @0> (size=32768,offset=0): f32[64,128]{1,0}
HloLiveRange (max 7):
  BufferLiveRange:
    product{}:2-4
    other_product{}:4-5
"""
PLANS_FOR_OTHERS: Final = {
    "structured": {"placements": [{"buffer": 0, "pool": 0, "offset": 8192}]},
    "executorch": [{"id": "input", "mem_id": 1, "mem_offset": 8192}],
    "usmp": {"pool_allocations": [{"name_hint": "input", "pool_name": "memory", "byte_offset": 8192}]},
    "programs": {
        "version": 1,
        "programs": [
            {
                "id": "decode",
                "plan": {
                    "status": "feasible",
                    "placements": [{"buffer": "past", "pool": "memory", "offset": 0}],
                },
            }
        ],
        "arenas": [{"pool": "memory", "bytes": 4096}],
    },
}
"""By format of another program, an example: what may be in one is for that program to say."""
SVG: Final = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 560"><!-- a box a buffer --></svg>'
SOURCE_CODE: Final = "#define PLAN_OFFSET_input 8192u\n#define PLAN_SIZE_input 4096u\n"
CSV: Final = "id,lower,upper,size\ninput,0,2,4096\nconv1,1,3,8192\n"
PLAN: Final[JsonObject] = {
    "status": "optimal",
    "placements": [
        {"buffer": "input", "pool": "memory", "offset": 8192},
        {"buffer": "conv1", "pool": "memory", "offset": 0},
        {"buffer": "conv2", "pool": "memory", "offset": 8192},
        {"buffer": "relu", "pool": "memory", "offset": 0},
        {"buffer": "output", "pool": "memory", "offset": 4096},
    ],
    "pools": [
        {
            "pool": "memory",
            "capacity": None,
            "peak": 12288,
            "bound": 12288,
            "live": {"bytes": 12288, "time": 1},
        }
    ],
    "objective": [
        {
            "term": "peak",
            "value": 12288,
            "bound": 12288,
            "gap": 0.0,
            "certificate": {
                "kind": "live_bytes",
                "pool": "memory",
                "time": 1,
                "buffers": ["input", "conv1"],
            },
        }
    ],
    "solver": "greedy lowest/size",
    "prover": "live bytes",
    "seconds": 0.002,
}
PLAN_CSV: Final = "id,lower,upper,size,offset\ninput,0,2,4096,8192\nconv1,1,3,8192,0\n"
VERDICT: Final[JsonObject] = {
    "valid": True,
    "checked": False,
    "violations": [],
    "claims": [
        {
            "subject": "bound",
            "name": "peak",
            "says": "no plan has peak below 12288",
            "standing": "claimed",
            "by": "memstow 0.1.0 (exact)",
        }
    ],
}
TWO_POOLS: Final[JsonObject] = {
    "version": 1,
    "pools": [{"id": "fast", "capacity": 8192}, {"id": "slow", "cost": 4}],
    "buffers": [
        {"id": "input", "size": 4096, "lifetime": [0, 2]},
        {"id": "conv1", "size": 8192, "lifetime": [1, 3]},
    ],
}
FRONT: Final[JsonObject] = {
    "version": 1,
    "name": "first",
    "terms": ["peak:fast", "placement_cost"],
    "points": [
        {
            "peak:fast": 4096,
            "placement_cost": 12288,
            "bounds": {"peak:fast": 4096, "placement_cost": 12288},
            "proven": True,
            "plan": {
                "status": "feasible",
                "placements": [{"buffer": "input", "pool": "fast", "offset": 0}],
            },
        }
    ],
    "complete": True,
    "seconds": 0.4,
}
FRONT_CSV: Final = (
    "peak:fast,placement_cost,peak:fast bound,placement_cost bound,proven\n4096,12288,4096,12288,yes\n"
)
JOB_ID: Final = "2e3fefc7bebb4b32a6c9086daa32ce31"
JOB: Final[JsonObject] = {
    "id": JOB_ID,
    "state": "running",
    "priority": 0,
    "name": "first",
    "setting": None,
    "batch": None,
    "digest": "4c3b" * 16,
    "buffers": 5,
    "options": {"time_limit": 60.0, "solver": "auto"},
    "created": "2026-11-20T09:00:00.000Z",
    "started": "2026-11-20T09:00:00.010Z",
    "improved": "2026-11-20T09:00:00.300Z",
    "finished": None,
    "expires": None,
    "status": "feasible",
    "objective": "peak",
    "value": 12800,
    "peak": 12800,
    "bound": 12288,
    "gap": 0.04,
    "solver": "greedy lowest/size",
    "error": None,
    "callback": None,
}
LAYER: Final[JsonObject] = {
    "version": 1,
    "pools": [{"id": "l1", "capacity": 2048}],
    "tensors": [
        {"id": "image", "shape": [16, 16, 8], "type": "int8"},
        {"id": "weights", "shape": [16, 3, 3, 8], "type": "int8", "kind": "constant"},
        {"id": "features", "shape": [16, 16, 16], "type": "int8"},
    ],
    "operators": [
        {
            "id": "conv",
            "type": "conv2d",
            "inputs": ["image", "weights"],
            "outputs": ["features"],
            "window": {"kernel": [3, 3], "padding": [1, 1, 1, 1]},
        }
    ],
    "inputs": ["image"],
    "outputs": ["features"],
}
TILING: Final[JsonObject] = {
    "tilings": [
        {
            "operator": "conv",
            "type": "conv2d",
            "pool": "l1",
            "capacity": 16,
            "home": None,
            "unit": 1,
            "options": {
                "pool": None,
                "capacity": 16,
                "home": None,
                "objective": ["bytes", "tiles"],
                "double_buffer": True,
                "im2col": 0,
                "multiples": [],
                "front": False,
                "work": 300000,
            },
            "why_not": None,
            "needs": 20,
            "bound": None,
            "least": 7296,
            "whole": {"l1": 7296, "fits": False},
            "complete": True,
            "looked_at": 200,
            "replayed": False,
            "tile": None,
        }
    ],
    "tiled": 0,
    "bytes": 0,
    "least": 0,
}
SYMBOLIC: Final[JsonObject] = {
    "version": 1,
    "symbols": [{"id": "s", "min": 1, "max": 1024}],
    "buffers": [
        {"id": "x", "size": "4*s", "lifetime": [0, 2]},
        {"id": "y", "size": 4096, "lifetime": [1, 3]},
    ],
}
SYMBOLIC_PLAN: Final[JsonObject] = {
    "status": "feasible",
    "shapes": "order",
    "orders": [
        {
            "placements": [
                {"buffer": "x", "pool": "memory"},
                {"buffer": "y", "pool": "memory", "above": ["x"]},
            ]
        }
    ],
}
AT: Final[JsonObject] = {"s": 128}
PLAN_AT: Final[JsonObject] = {
    "status": "optimal",
    "placements": [
        {"buffer": "x", "pool": "memory", "offset": 0},
        {"buffer": "y", "pool": "memory", "offset": 512},
    ],
    "objective": [{"term": "peak", "value": 4608, "bound": 4608, "gap": 0.0}],
}


EXAMPLES: Final[dict[str, JsonObject]] = {
    "first": PROBLEM,
    "pools": {
        "problem": {
            "version": 1,
            "name": "pools",
            "pools": [
                {"id": "dtcm", "capacity": 65536, "alignment": 16, "reserved": [{"offset": 0, "size": 1024}]},
                {"id": "sram", "cost": 3},
            ],
            "buffers": [
                {"id": "conv1.out", "size": 40140, "lifetime": [0, 2], "pools": ["dtcm", "sram"]},
                {"id": "h", "size": 64, "lifetimes": [[0, 1], [5, 9]]},
                {"id": "w", "size": 128, "lifetime": "always", "pool": "sram", "offset": 0},
            ],
            "conflicts": [["h", "w"]],
        },
        "options": {"time_limit": 5.0},
    },
    "too-small": {
        "problem": {
            "version": 1,
            "name": "too-small",
            "pools": [{"id": "memory", "capacity": 8192}],
            "buffers": [
                {"id": "a", "size": 6000, "lifetime": [0, 2]},
                {"id": "b", "size": 6000, "lifetime": [1, 3]},
            ],
        }
    },
    "deterministic": {
        "problem": {
            "version": 1,
            "name": "deterministic",
            "buffers": [
                {"id": "x", "size": 300, "lifetime": [0, 3], "alignment": 64},
                {"id": "y", "size": 200, "lifetime": [1, 4], "alignment": 64},
                {"id": "z", "size": 100, "lifetime": [3, 6], "alignment": 64},
            ],
        },
        "options": {"deterministic": True, "work_limit": 1000000, "seed": 1},
    },
}
