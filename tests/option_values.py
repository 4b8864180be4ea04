"""Values for the options of commands and requests, which tests try one by one and in pairs.

Which options there are is for the parser and the OpenAPI document to say; those without a value here are
tried with the values that their kind has.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from memstow.api.http.samples import CSV, LAYER, PLAN, PROBLEM
from tests.fuzz.fuzz_verify import BY_LENGTH, POOLS, SYMBOLIC, TIGHT, WAYS
from tests.person_model import person_model
from tests.tflite_models import branching_model
from tests.torch_recordings import pickled, sample, snapshot_of

LAYER_IN_TWO: Final = {**LAYER, "pools": [{"id": "l1", "capacity": 2048}, {"id": "l2"}]}
DOCUMENTS: Final[Mapping[str, object]] = {
    "problem.json": PROBLEM,
    "rows.csv": CSV,
    "ways.json": WAYS,
    "pools.json": POOLS,
    "layer.json": LAYER_IN_TWO,
    "symbolic.json": SYMBOLIC,
    "length.json": BY_LENGTH,
    "tight.json": TIGHT,
    "model.tflite": branching_model(),
    "person.tflite": person_model(),
    "step.pickle": pickled(snapshot_of(sample(layers=1))),
    "plan.json": PLAN,
}
VALUES: Final[Mapping[str, Sequence[str]]] = {
    "at": ("s=3", "nonsense"),
    "capacity": ("4096", "1"),
    "device": ("0", "9"),
    "dim": ("N=2", "nonsense"),
    "format": ("json", "csv", "graph"),
    "header": ("mine.h",),
    "hint": ("plan.json", "rows.csv"),
    "home": ("l2", "nonsense"),
    "im2col": ("4", "all", "nonsense"),
    "lock": ("made.lock",),
    "multiple": ("channels=4", "nonsense"),
    "name": ("my job",),
    "objective": ("tiles", "beyond"),
    "operator": ("conv", "nonsense"),
    "other": ("plan.json",),
    "output": ("made.json", "made.csv", "made.png", "-"),
    "picture": ("made.svg", "-"),
    "proof": ("made.proof", "-"),
    "plan_format": ("csv", "executorch"),
    "point": ("1", "9"),
    "pool": ("l1", "fast"),
    "prefix": ("mine", "1 bad"),
    "problem": ("problem.json", "ways.json"),
    "room": ("2048", "1"),
    "scratch": ("none.log",),
    "section": ("memory=.bss", "nonsense"),
    "shapes": ("order", "fixed", "pieces"),
    "solver": ("greedy", "first-fit", "nonsense"),
    "sweep": ("s", "nonsense"),
    "symbol": ("N=1..8",),
    "target": ("rp2040", "nonsense"),
    "targets": ("rp2040,stm32h743", "nonsense"),
    "terms": ("peak,cost", "peak:fast,cost", "peak"),
    "generators": ("none", "stripes,recompute", "spill", "nonsense"),
    "time_limit": ("0", "0.05"),
    "to": ("json", "graph", "nonsense"),
    "without": ("input", "nonsense"),
    "work": ("10",),
    "work_limit": ("1", "20000"),
}
"""By the name of an option; back ends and longer runs have tests of their own."""


def write_documents(folder: Path) -> None:
    """A file for each of the documents."""
    for name, content in DOCUMENTS.items():
        data = (
            content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else None
        )
        folder.joinpath(name).write_bytes(json.dumps(content).encode() if data is None else data)


Asked = tuple[tuple[str, str], ...]
"""Options, each with its value."""


def singles_and_pairs(options: Mapping[str, Sequence[str]]) -> Iterator[Asked]:
    """Each value of each option, and each two of different options."""
    each = [(name, value) for name, values in options.items() for value in values]
    yield from ((one,) for one in each)
    yield from ((one, other) for one, other in combinations(each, 2) if one[0] != other[0])


def sampled(options: Mapping[str, Sequence[str]], count: int, seed: str) -> list[Asked]:
    """So many of them, always the same."""
    every = list(singles_and_pairs(options))
    return random.Random(seed).sample(every, min(count, len(every)))
