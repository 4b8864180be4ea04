"""The commands, requests and calls whose results are recorded."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.corpus.inputs import LAYER, SYMBOLS
from tests.graphs import random_graph

COMMANDS: Final = [
    "solve",
    "front",
    "verify",
    "view",
    "inspect",
    "convert",
    "tile",
    "evaluate",
    "generate",
    "bench",
    "solvers",
    "targets",
    "schema",
    "serve",
    "keys",
    "admin",
    "db",
    "cmake-dir",
    "completion",
    "doctor",
    "version",
]
_SUBCOMMANDS: Final = {
    "generate": "planted network random graph training symbolic",
    "bench": "run report compare sets",
    "keys": "create list set rotate revoke reset",
    "admin": "queue running usage pause resume drain kick",
    "db": "upgrade status backup",
}
_SOLVERS: Final = [
    "auto",
    "greedy",
    "exact",
    "improve",
    "reuse",
    "first-fit",
    "tflm",
    "cadence-position",
    "cadence-gap",
    "usmp-size",
    "usmp-conflicts",
    "storage-tokens",
    "xla-heap",
    "cpsat",
    "assign",
    "cbc",
    "highs",
]
_FEATURES: Final = [
    "alignments",
    "always",
    "capacities",
    "conflicts",
    "exclusive",
    "graph",
    "in_place",
    "lifetimes",
    "objective",
    "pins",
    "pools",
    "relative",
    "reserved",
    "reuse_costs",
    "zero",
]
_PLAN_FORMATS: Final = [
    "json",
    "csv",
    "structured",
    "executorch",
    "usmp",
    "c-header",
    "c-source",
    "c-check",
    "ld",
    "rust",
    "loops",
    "loops-text",
    "loops-header",
    "loops-picture",
    "tflite",
]
_PROBLEM_FORMATS: Final = ["json", "csv", "structured", "executorch", "usmp", "graph"]
_SCHEMAS: Final = [
    "problem",
    "options",
    "plan",
    "target",
    "graph",
    "front",
    "loops",
    "symbolic",
    "symbolic-plan",
    "symbolic-graph",
    "nonsense",
]
_PATHS: Final = (
    "/",
    "/livez",
    "/v1/solvers",
    "/v1/capabilities",
    "/v1/targets",
    "/v1/examples",
    "/openapi.json",
    "/nonsense",
    *(f"/v1/schema?kind={kind}" for kind in _SCHEMAS),
)
_STEADY: Final = ("--deterministic", "--work-limit", "200000", "--workers", "1")


@dataclass(frozen=True)
class Command:
    """A command line, whose words after `memstow` are these."""

    words: tuple[str, ...]
    stdin: str = ""

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return " ".join(self.words) + (f" < {self.stdin}" if self.stdin else "")


@dataclass(frozen=True)
class Request:
    """A request to the service."""

    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What tells it from all others."""
        body = "" if self.body is None else " " + json.dumps(self.body)
        return f"{self.method} {self.path}{body[:200]} {self.headers or ''}".strip() + f" #{len(body)}"


def commands(folder: Path) -> Iterator[Command]:
    """All command lines, in an order in which each finds the files that others write."""
    for words in _all_commands(folder):
        yield Command(tuple(words))
    for name in ("small.csv", "small.json", "graph1.json"):
        yield Command(("solve", "-", "--json", *_STEADY), name)
        yield Command(("inspect", "-"), name)


def _all_commands(folder: Path) -> Iterator[list[str]]:
    yield ["--help"]
    yield ["--version"]
    for command in COMMANDS:
        yield [command, "--help"]
        yield [command, "--nonsense"]
        for sub in _SUBCOMMANDS.get(command, "").split():
            yield [command, sub, "--help"]
    yield from ([], ["nonsense"], ["solvers"], ["targets"], ["cmake-dir"], ["completion", "bash"])
    yield from (["targets", "rp2040"], ["targets", "nonsense"], ["bench", "sets"])
    yield from (["schema", kind] for kind in _SCHEMAS)
    yield from _generated()
    yield from _solved()
    yield from _converted(folder)
    yield from _graphs(folder)
    yield from _symbols()
    yield from _tiles()
    for path in sorted(folder.iterdir()):
        if path.name.startswith("broken-board"):
            yield ["solve", "small.json", "--target", path.name, "--json", *_STEADY]
        elif path.name.startswith(("broken-", "text", "rows")):
            yield ["solve", path.name, "--json", *_STEADY]
            yield ["inspect", path.name]
            yield ["verify", path.name, "small.plan.json"]
            yield ["verify", "small.json", path.name]
            yield ["convert", path.name, "-", "--output-format", "json"]
            if path.name.startswith(("broken-graph", "broken-layer")):
                yield ["front", path.name, *_STEADY]
                yield ["tile", path.name, "--capacity", "4096"]


def _generated() -> Iterator[list[str]]:
    for seed in range(2):
        for kind in ("planted", "network"):
            for end in ("json", "csv"):
                yield f"generate {kind} --n 30 --seed {seed} --output {kind}{seed}.{end}".split()
    yield [
        "generate",
        "planted",
        "--n",
        "40",
        "--slack",
        "0.1",
        "--drop",
        "0.05",
        "--alignment",
        "8",
        "--output",
        "slack.json",
    ]
    yield ["generate", "network", "--n", "60", "--in-place", "--training", "--output", "step.json"]
    for feature in [*_FEATURES, "all", "pools,pins,alignments"]:
        yield ["generate", "random", "--n", "10", "--features", feature, "--output", f"random-{feature}.json"]
    for family in ("chain", "cells", "wiring", "training"):
        yield f"generate graph --n 14 --family {family} --output {family}.json".split()
    yield ["generate", "training", "--batch", "2", "--side", "64", "--output", "training.json"]
    yield ["generate", "symbolic", "--n", "20", "--output", "attention.json"]
    yield [
        "generate",
        "symbolic",
        "--n",
        "8",
        "--family",
        "random",
        "--symbols",
        "2",
        "--features",
        "all",
        "--output",
        "formulas.json",
    ]
    yield ["generate", "random", "--n", "8", "--output", "small.json"]
    yield ["generate", "random", "--n", "8", "--output", "small.csv"]
    yield ["generate", "random", "--n", "0"]
    yield ["generate", "random", "--features", "nonsense"]
    yield ["solve", "small.json", "--json", "--output", "small.plan.json", *_STEADY]


def _solved() -> Iterator[list[str]]:
    problems = ["small.json", "network0.json", *(f"random-{feature}.json" for feature in (*_FEATURES, "all"))]
    for problem in problems:
        yield ["solve", problem, *_STEADY]
        yield ["solve", problem, "--json", "--output", f"{problem}.plan", "--output-format", "json", *_STEADY]
        yield ["verify", problem, f"{problem}.plan"]
        yield ["verify", problem, f"{problem}.plan", "--json", "--strict"]
        yield ["verify", problem, "small.plan.json"]
        yield ["inspect", problem]
        yield ["inspect", problem, "--json"]
        yield ["inspect", problem, "--needs", "--capacity", "4096"]
        yield ["solve", problem, "--capacity", "512", *_STEADY]
        yield ["solve", problem, "--target", "board.json", "--json", *_STEADY]
    for solver in [*_SOLVERS, "nonsense"]:
        for problem in (
            "small.json",
            "planted0.json",
            "random-pools.json",
            "random-reuse_costs.json",
            "random-all.json",
        ):
            yield ["solve", problem, "--solver", solver, "--json", *_STEADY]
    for end in [*_PLAN_FORMATS, "nonsense"]:
        for problem in ("small.json", "random-pins.json", "random-pools.json", "chain.json", "small.tflite"):
            yield ["solve", problem, "--output-format", end, "--output", f"{problem}.{end}", *_STEADY]
    for options in (
        "--gap 0.5",
        "--seed 3",
        "--fit-only",
        "--hint small.plan.json",
        "--quiet",
        "--picture small.svg",
        "--lock small.lock",
        "--lock small.lock --locked",
        "--time-limit 0",
        "--workers 0",
        "--capacity 64KB",
        "--capacity -1",
        "--target nonsense",
        "--solver exact --hint nonsense.json",
        "--output small.h --output small.c --output small.check.c --output small.ld --output small.rs",
        "--output small.h --section memory=.tcm",
        "--output small.h --section nonsense=.tcm",
    ):
        yield ["solve", "small.json", *options.split(), *_STEADY]
    yield ["solve", "missing.json"]
    yield ["view", "small.plan.json", "--problem", "small.json", "--output", "view.html"]
    yield ["view", "small.plan.json"]


def _converted(folder: Path) -> Iterator[list[str]]:
    made = [f"random-{feature}.json" for feature in _FEATURES]
    there = sorted(path.name for path in folder.iterdir() if path.name.startswith("seed"))
    for source in ["small.json", "small.csv", "chain.json", "small.tflite", *made, *there]:
        for end in _PROBLEM_FORMATS:
            yield ["convert", source, "-", "--output-format", end]
    for source in there:
        yield ["solve", source, "--json", *_STEADY]
        yield ["inspect", source]


def _graphs(folder: Path) -> Iterator[list[str]]:
    models = sorted(path.name for path in folder.iterdir() if path.suffix in (".tflite", ".onnx"))
    for graph in [
        *(f"graph{seed}.json" for seed in range(6)),
        "chain.json",
        "cells.json",
        "wiring.json",
        *models,
    ]:
        for order in ("given", "free", "lpmf", "dfs"):
            yield [
                "solve",
                graph,
                "--order",
                order,
                "--json",
                "--output",
                f"{graph}.{order}",
                "--output-format",
                "json",
                *_STEADY,
            ]
            yield ["verify", graph, f"{graph}.{order}", "--order", order]
        yield ["solve", graph, *_STEADY]
        yield ["inspect", graph]
        yield ["inspect", graph, "--json"]
        yield ["inspect", graph, "--needs", "--capacity", "1KiB"]
        yield ["convert", graph, "-", "--output-format", "json"]
        yield ["front", graph, "--json", "--output", f"{graph}.front.json", *_STEADY]
        yield ["front", graph, "--with", "recompute", "--order", "free", *_STEADY]
        yield ["verify", graph, f"{graph}.front.json", "--point", "1"]
        yield ["verify", graph, f"{graph}.front.json", "--point", "99"]
        yield ["front", graph, "--with", "stripes,channels,recompute", *_STEADY]
    yield ["front", "random-pools.json", "--terms", "peak:p0,placement_cost", *_STEADY]
    yield ["front", "random-reuse_costs.json", "--terms", "peak,reuse_cost", "--json", *_STEADY]
    yield ["front", "small.json", *_STEADY]
    yield ["front", "chain.json", "--target", "rp2040,stm32h743", *_STEADY]
    yield ["convert", "random.tflite", "channels.json", "--output-format", "graph", "--channels"]
    yield ["solve", "random.tflite", "--order", "free", "--output", "planned.tflite", *_STEADY]
    yield ["verify", "planned.tflite"]
    yield ["verify", "random.tflite", "planned.tflite"]


def _symbols() -> Iterator[list[str]]:
    for problem in ("symbols.json", "attention.json", "formulas.json"):
        for shapes in ("order", "pieces:2", "fixed"):
            plan = f"{problem}.{shapes.partition(':')[0]}.json"
            yield [
                "solve",
                problem,
                "--shapes",
                shapes,
                "--output",
                plan,
                "--output-format",
                "json",
                *_STEADY,
            ]
            yield ["verify", problem, plan]
            yield ["evaluate", problem, plan]
            yield ["evaluate", problem, plan, "--output", f"{plan}.h", "--prefix", "net"]
        yield ["inspect", problem]
        yield ["inspect", problem, "--json"]
    for options in (
        "--at s=8 --at b=2",
        "--at s=8",
        "--sweep s --at b=1",
        "--at s=65 --at b=1",
        "--at z=1",
        "--at s=x",
    ):
        yield ["evaluate", "symbols.json", "symbols.json.order.json", *options.split()]
        yield ["evaluate", "symbols.json", "symbols.json.order.json", "--json", *options.split()]
    for at in ("--at s=8 --at b=2", "--at s=8", "--at s=0 --at b=1"):
        yield ["solve", "symbols.json", "--json", *at.split(), *_STEADY]
        yield ["inspect", "symbols.json", *at.split()]
        yield ["convert", "symbols.json", "-", *at.split()]


def _tiles() -> Iterator[list[str]]:
    for options in (
        "--capacity 4096",
        "--capacity 1024 --front",
        "--pool l1 --home l2",
        "--pool l1 --objective bytes,alignment --multiple channels=4,columns=2",
        "--pool l1 --no-double-buffer --im2col 4",
        "--capacity 16",
        "--pool nonsense",
        "--operator nonsense",
        "--objective nonsense",
    ):
        for ending in ([], ["--json"]):
            yield ["tile", "layer.json", *options.split(), *ending]
    yield ["tile", "layer.json", "--pool", "l1", "--output", "tiles.json"]
    yield ["verify", "layer.json", "tiles.json"]
    for model in ("small.tflite", "random.tflite"):
        yield ["tile", model, "--capacity", "2KiB"]


def requests(folder: Path) -> Iterator[Request]:
    """All requests; `folder` has what the commands have written."""

    def read(name: str) -> Any:
        return json.loads((folder / name).read_text())

    steady = {"deterministic": True, "work_limit": 200_000, "workers": 1}
    yield from map(partial(Request, "GET"), _PATHS)
    problems = {
        name: read(name) for name in ("small.json", *(f"random-{feature}.json" for feature in _FEATURES))
    }
    graphs = {f"graph{seed}": random_graph(seed) for seed in range(4)} | {"layer": LAYER}
    plan = read("small.plan.json")
    for document in [*problems.values(), *graphs.values()]:
        yield Request("POST", "/v1/plan", {"problem": document, "options": steady})
        yield Request("POST", "/v1/inspect", {"problem": document})
        yield Request("POST", "/v1/verify", {"problem": document, "plan": plan})
        for end in ("csv", "usmp", "executorch", "graph"):
            yield Request("POST", f"/v1/convert?to={end}", document)
    for shapes in ("order", "pieces", "fixed"):
        yield Request("POST", f"/v1/plan?shapes={shapes}", {"problem": SYMBOLS, "options": steady})
    for graph in graphs.values():
        yield Request(
            "POST", "/v1/fronts", {"problem": graph, "options": steady, "front": {"terms": ["peak", "cost"]}}
        )
        yield Request("POST", "/v1/tile?capacity=4096", graph)
    yield from _asked_of_small(problems["small.json"], read("symbols.json.order.json"), steady)
    for name in sorted(path.name for path in folder.iterdir()):
        if re.match(r"broken-(problem|graph|symbols)", name):
            yield Request("POST", "/v1/plan", {"problem": read(name), "options": steady})
            yield Request("POST", "/v1/inspect", {"problem": read(name)})
    for path in ("/v1/jobs/0", "/v1/jobs/" + 32 * "0", "/v1/batches/" + 32 * "0"):
        for tail in ("", "/plan", "/problem", "/front"):
            yield Request("GET", path + tail)
        yield Request("DELETE", path)


def _asked_of_small(small: Any, symbolic_plan: Any, steady: dict[str, Any]) -> Iterator[Request]:
    """Every solver, format and wrong body, with one small problem."""
    for solver in [*_SOLVERS, "nonsense"]:
        yield Request("POST", "/v1/plan", {"problem": small, "options": {**steady, "solver": solver}})
    for end in [*_PLAN_FORMATS, "nonsense"]:
        yield Request("POST", f"/v1/plan?output_format={end}", {"problem": small, "options": steady})
    yield Request("POST", "/v1/evaluate", {"problem": SYMBOLS, "plan": symbolic_plan, "at": {"s": 3, "b": 1}})
    bodies: tuple[Any, ...] = (
        {},
        [],
        {"problem": {}},
        {"problem": {"version": 2, "buffers": []}},
        "text",
        None,
    )
    for name in ("plan", "inspect", "verify", "convert", "tile", "evaluate", "fronts", "jobs"):
        yield Request("GET", f"/v1/{name}x")
        yield Request("PUT", f"/v1/{name}", {})
        for body in bodies:
            yield Request("POST", f"/v1/{name}", body)
        yield Request("POST", f"/v1/{name}", {"problem": small}, {"Content-Type": "text/plain"})
