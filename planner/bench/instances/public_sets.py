"""Sets of instances that others have published, and what of them is in a folder here.

memstow brings none of them: each has its own home and licence. Its own instances are generated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A published set of instances: description, source and licence."""

    name: str
    description: str
    source: str
    licence: str
    pattern: str
    """The files of instances below the folder of that name."""
    steps: tuple[str, ...]
    """How to get it: commands to run in the folder of the sets, and what else there is to do as comments."""
    count: int | None = None
    """How many instances there are, where the set is closed."""


@dataclass(frozen=True, slots=True)
class LocalSet:
    """The files of a set in a folder."""

    public: PublicSet
    folder: Path | None
    files: int


SETS: Final = (
    PublicSet(
        "minimalloc",
        "A to K, 154-454 buffers of an accelerator's compiler, called challenging; and one example",
        "github.com/google/minimalloc, benchmarks/",
        "Apache-2.0",
        "*.csv",
        (
            "git clone --depth 1 https://github.com/google/minimalloc minimalloc.git",
            'mkdir -p minimalloc && find minimalloc.git/benchmarks -name "*.csv" -exec cp {} minimalloc ";"',
        ),
        count=12,
    ),
    PublicSet(
        "idealloc",
        "resnet50 (1,042 buffers), G_1 (816) and S_1 (28,526)",
        "github.com/cappadokes/idealloc, benchmarks/",
        "MIT",
        "*.csv",
        (
            "git clone --depth 1 https://github.com/cappadokes/idealloc idealloc.git",
            "mkdir -p idealloc",
            "cp idealloc.git/benchmarks/iopddl/[GS]_1.csv idealloc.git/benchmarks/*/resnet50.csv idealloc",
        ),
        count=3,
    ),
    PublicSet(
        "executorch",
        "tensors of networks as ExecuTorch plans them, to be exported with it; 54-387 buffers",
        "github.com/pytorch/executorch, exir/memory_planning.py",
        "BSD-3-Clause",
        "*.json",
        (
            "mkdir -p executorch",
            "# write the tensors of each network that you export as a list: docs/formats.md, ExecuTorch",
        ),
    ),
    PublicSet(
        "usmp",
        "cases of TVM's Unified Static Memory Planner, 5-184 buffers, with conflicts by pairs",
        "github.com/apache/tvm, tests/python/tir-usmp",
        "Apache-2.0",
        "*.json",
        (
            "mkdir -p usmp",
            "# write the BufferInfo and PoolInfo objects of its tests as JSON: docs/formats.md, USMP",
        ),
    ),
    PublicSet(
        "pypto",
        "273 problems of a kernel compiler: pools, pins, reuse costs",
        "github.com/tonibohnlein/dsa-solver, benchmarks/pypto",
        "Apache-2.0",
        "*-tests/**/*.json",
        (
            "git clone --depth 1 https://github.com/tonibohnlein/dsa-solver dsa-solver.git",
            "cp -r dsa-solver.git/benchmarks/pypto pypto",
        ),
        count=273,
    ),
    PublicSet(
        "minimalloc-dsa-rp",
        "A to K of minimalloc with reuse costs",
        "github.com/tonibohnlein/dsa-solver, benchmarks",
        "Apache-2.0",
        "*.json",
        (
            "git clone --depth 1 https://github.com/tonibohnlein/dsa-solver dsa-solver.git",
            "cp -r dsa-solver.git/benchmarks/minimalloc-dsa-rp minimalloc-dsa-rp",
        ),
    ),
    PublicSet(
        "tflite",
        "tensors of models for microcontrollers, as their runtime allocates them",
        "github.com/tensorflow/tflite-micro; github.com/mlcommons/tiny; "
        "github.com/esphome/micro-wake-word-models",
        "Apache-2.0",
        "problems/*.csv",
        (
            "mkdir -p tflite/problems",
            "memstow convert MODEL.tflite tflite/problems/MODEL.csv  # for each model of these repositories",
        ),
    ),
)


def local_sets(folder: Path | None) -> Sequence[LocalSet]:
    """Each set with its folder here, and the number of files of instances in it."""
    return [_local_set(public, folder) for public in SETS]


def _local_set(public: PublicSet, folder: Path | None) -> LocalSet:
    place = None if folder is None else folder / public.name
    if place is None or not place.is_dir():
        return LocalSet(public, None, 0)
    return LocalSet(public, place, sum(path.is_file() for path in place.glob(public.pattern)))
