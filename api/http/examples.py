"""Example requests, by name."""

from typing import Final

from memstow.api.http.responses import JsonObject
from memstow.api.http.samples import PROBLEM

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
