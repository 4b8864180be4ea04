"""The files that commands read: problems, graphs, models, plans and targets, and broken ones."""

import json
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.fuzz.seeds import PROBLEMS as SEEDS
from tests.graphs import random_graph
from tests.planner.tflm.random_models import random_model
from tests.tflite_models import branching_model, small_model

Json = dict[str, Any]

_ENDS: Final = {"{": "json", "[": "json", "i": "csv"}
_BROKEN: Final = 12

LAYER: Final[Json] = {
    "version": 1,
    "pools": [{"id": "l1", "capacity": 4096}, {"id": "l2"}],
    "tensors": [
        {"id": "x", "shape": [1, 16, 16, 8], "type": "int8"},
        {"id": "w", "shape": [16, 3, 3, 8], "type": "int8", "kind": "constant"},
        {"id": "y", "shape": [1, 16, 16, 16], "type": "int8"},
    ],
    "operators": [
        {
            "id": "conv",
            "type": "conv",
            "inputs": ["x", "w"],
            "outputs": ["y"],
            "window": {"kernel": [3, 3], "padding": [1, 1, 1, 1]},
        }
    ],
    "inputs": ["x"],
    "outputs": ["y"],
}

SYMBOLS: Final[Json] = {
    "name": "step",
    "symbols": [{"id": "s", "min": 1, "max": 64}, {"id": "b", "min": 1, "max": 4}],
    "buffers": [
        {"id": "keys", "size": "64*b*s", "lifetime": [0, 4], "alignment": 16},
        {"id": "scores", "size": "4*b*s*s", "lifetime": [1, 3]},
        {"id": "mixed", "size": "align(16*b*s, 64)", "lifetime": [2, 5], "alignment": 64},
        {"id": "state", "size": 4096, "lifetime": "always"},
    ],
}

TARGET: Final[Json] = {
    "version": 1,
    "name": "board",
    "pools": [
        {"id": "fast", "capacity": 8192, "alignment": 8, "base": 536870912},
        {
            "id": "slow",
            "capacity": 1048576,
            "alignment": 4,
            "cost": 3,
            "reserved": [{"offset": 0, "size": 64}],
        },
    ],
}


def write_inputs(folder: Path) -> None:
    """Write all files into `folder`."""
    documents: dict[str, Json] = {"layer.json": LAYER, "symbols.json": SYMBOLS, "board.json": TARGET}
    documents |= {f"graph{seed}.json": random_graph(seed) for seed in range(6)}
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))
    for number, seed in enumerate(SEEDS):
        end = _ENDS.get(chr(seed[0]), "txt")
        (folder / f"seed{number}.{end}").write_bytes(seed)
    (folder / "small.tflite").write_bytes(small_model())
    (folder / "branching.tflite").write_bytes(branching_model())
    (folder / "random.tflite").write_bytes(random_model(15))
    if find_spec("onnx") is not None:
        from tests.onnx_models import convolutions, encoder

        (folder / "conv.onnx").write_bytes(convolutions())
        (folder / "encoder.onnx").write_bytes(encoder())
    sources = [("problem", json.loads(SEEDS[7])), ("graph", json.loads(SEEDS[1])), ("symbols", SYMBOLS)]
    for name, document in [*sources, ("layer", LAYER), ("board", TARGET)]:
        for number in range(_BROKEN):
            rng = Random(f"{name}{number}")
            (folder / f"broken-{name}{number}.json").write_text(json.dumps(_broken(document, rng)))
    text = SEEDS[1].decode()
    for number, part in enumerate(
        (text[:40], text + "x", text.replace("{", '{"version": 1, ', 1), "", "[1, 2", "\0")
    ):
        (folder / f"text{number}.json").write_text(part)
    for number, rows in enumerate(
        ("id,lower,upper,size\na,0,5,x\n", "id,size\na,1\n", "a;b\n1;2\n", "id,lower,upper,size\na,5,1,3\n")
    ):
        (folder / f"rows{number}.csv").write_text(rows)


def _broken(document: Json, rng: Random) -> Json:
    """The document with one thing in it gone, of another type, or of a value that nothing can have."""
    copy: Json = json.loads(json.dumps(document))
    places: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        if isinstance(value, dict | list):
            for key in list(value) if isinstance(value, dict) else range(len(value)):
                places.append((value, key))
                visit(value[key])

    visit(copy)
    holder, key = rng.choice(places)
    values: list[Any] = [None, -1, 1 << 70, 1.5, "a", "", [], {}, True, ["a", "a"], {"unknown": 1}]
    if rng.random() < 0.3:
        del holder[key]
    elif rng.random() < 0.2 and isinstance(holder, dict):
        holder["surprise"] = 1
    else:
        holder[key] = rng.choice(values)
    return copy
