"""Documents of every kind that `memstow verify` reads, with wrong values: a verdict or an InputError.

`python -m tests.fuzz.fuzz_verify --seconds 120 --seed 7`
"""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.api.http.samples import LAYER
from memstow.planner.formats import write_graph
from memstow.planner.formats.native import plain
from tests.fuzz.fuzz_readers import mutated
from tests.graphs import random_graph
from tests.planner.tflm.test_planned_model import carrying
from tests.planner.verify.test_schedules import AGAIN, AWAY, line, planned
from tests.tflite_models import branching_model

SLOW: Final = 60.0
"""Seconds after which a judgement counts as one that does not end."""

PROBLEM: Final[dict[str, Any]] = {
    "version": 1,
    "pools": [
        {"id": "p", "capacity": 64, "alignment": 2},
        {"id": "q", "reserved": [{"offset": 0, "size": 2}]},
    ],
    "buffers": [
        {"id": "a", "size": 8, "lifetimes": [[0, 1], [3, 4]], "pools": ["p"]},
        {"id": "b", "size": 6, "lifetime": [0, 3]},
        {"id": "c", "size": 6, "lifetime": [3, 5]},
        {"id": "d", "size": 4, "lifetime": "always", "alignment": 4},
        {"id": "e", "size": 2, "lifetime": [1, 4]},
    ],
    "conflicts": [["a", "c"]],
    "in_place": [{"input": "b", "output": "c"}],
    "relative": [{"buffer": "e", "base": "d", "offset": 4}],
    "reuse_costs": [{"buffers": ["a", "c"], "cost": 5}],
    "objective": ["peak:p", "reuse_cost", "peak"],
}
TIGHT: Final[dict[str, Any]] = {
    "version": 1,
    "pools": [{"id": "p", "capacity": 9}],
    "buffers": [{"id": letter, "size": 5, "lifetime": [0, 2]} for letter in "abc"],
}
SYMBOLIC: Final[dict[str, Any]] = {
    "version": 1,
    "symbols": [{"id": "s", "min": 1, "max": 15, "step": 2}, {"id": "t", "min": 2, "max": 4}],
    "points": [{"at": {"s": 1, "t": 2}}, {"at": {"s": 15, "t": 4}}],
    "pools": [{"id": "p", "capacity": 4096}],
    "buffers": [
        {"id": "a", "size": "4*s", "lifetime": [0, 2]},
        {"id": "b", "size": "s*t + 3", "lifetime": [1, 3]},
        {"id": "c", "size": "align(s, 8)", "lifetime": [2, 4], "alignment": 8},
        {"id": "d", "size": 64, "lifetime": [0, 4]},
    ],
    "in_place": [{"input": "a", "output": "c"}],
}
CHAIN: Final[dict[str, Any]] = {
    "version": 1,
    "tensors": [
        {"id": "x", "shape": [12, 8, 4], "type": "int8"},
        {"id": "w", "shape": [8, 3, 3, 4], "type": "int8", "kind": "constant"},
        {"id": "f", "shape": [12, 8, 8], "type": "int8"},
        {"id": "g", "shape": [12, 8, 8], "type": "int8"},
        {"id": "h", "shape": [12, 8, 2], "type": "int8"},
        {"id": "v", "shape": [2, 1, 1, 8], "type": "int8", "kind": "constant"},
        {"id": "k", "size": 700},
        {"id": "y", "size": 40},
    ],
    "operators": [
        {"id": "conv", "type": "conv2d", "inputs": ["x", "w"], "outputs": ["f"], "cost": 9,
         "window": {"kernel": [3, 3], "padding": [1, 1, 1, 1]}},
        {"id": "side", "type": "custom", "inputs": ["x"], "outputs": ["k"], "cost": 2},
        {"id": "relu", "type": "relu", "inputs": ["f"], "outputs": ["g"], "cost": 3},
        {"id": "thin", "type": "conv2d", "inputs": ["g", "v"], "outputs": ["h"], "cost": 4,
         "window": {"kernel": [1, 1]}},
        {"id": "end", "type": "custom", "inputs": ["h", "k"], "outputs": ["y"]},
    ],
    "inputs": ["x"],
    "outputs": ["y"],
}  # fmt: skip


POOLS: Final[dict[str, Any]] = {
    "version": 1,
    "pools": [{"id": "fast", "capacity": 15}, {"id": "slow"}],
    "tensors": [
        *({"id": name, "size": size, "pools": ["fast"]} for name, size in (("x", 6), ("a", 8), ("b", 7))),
        {"id": "c", "size": 1},
    ],
    "operators": [
        {"id": "one", "outputs": ["a"], "inputs": []},
        {"id": "two", "inputs": ["a"], "outputs": ["b"]},
        {"id": "three", "inputs": ["b", "x"], "outputs": ["c"]},
    ],
    "inputs": ["x"],
    "outputs": ["c"],
}
WAYS: Final[dict[str, Any]] = {
    **CHAIN,
    "order": "free",
    "alternatives": [
        {
            "id": "narrow",
            "replaces": ["side"],
            "tensors": [{"id": "m", "size": 9}],
            "operators": [
                {"id": "in", "inputs": ["x"], "outputs": ["m"]},
                {"id": "out", "inputs": ["m"], "outputs": ["k"]},
            ],
            "cost": 30,
        }
    ],
}
BY_LENGTH: Final[dict[str, Any]] = {
    "version": 1,
    "symbols": [{"id": "n", "min": 1, "max": 64}],
    "tensors": [
        *({"id": name, "shape": ["n", width], "type": "int8"} for name, width in (("x", 16), ("a", 32))),
        *({"id": name, "size": "align(8*n, 16)"} for name in ("b", "y")),
    ],
    "operators": [
        {"id": "one", "inputs": ["x"], "outputs": ["a"]},
        {"id": "two", "inputs": ["x"], "outputs": ["b"]},
        {"id": "three", "inputs": ["a", "b"], "outputs": ["y"]},
    ],
    "inputs": ["x"],
    "outputs": ["y"],
}


@dataclass(frozen=True, slots=True)
class Case:
    """Two files that `memstow verify` takes, and options with them."""

    name: str
    files: tuple[bytes, bytes]
    options: tuple[str, ...] = ()


def cases(folder: Path) -> list[Case]:
    """Sound documents of every kind, made by the commands that write them."""
    return list(_cases(folder))


def _cases(folder: Path) -> Iterator[Case]:
    made = folder / "made.json"

    def file(name: str, data: object) -> Path:
        path = folder / name
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return path

    def plan_of(path: Path, *words: str, command: str = "solve") -> bytes:
        made.unlink(missing_ok=True)
        quiet = () if command == "tile" else ("--quiet",)
        code = _run(command, str(path), "--output", str(made), *quiet, *words)
        assert code in (Exit.DONE, Exit.INFEASIBLE), (path.name, words, code)
        return made.read_bytes()

    problem, tight = file("problem.json", PROBLEM), file("tight.json", TIGHT)
    symbolic = file("symbolic.json", SYMBOLIC)
    narrow = file("narrow.json", {**SYMBOLIC, "pools": [{"id": "p", "capacity": 60}]})
    layer = file("layer.json", {**LAYER, "pools": [{"id": "l1", "capacity": 2048}]})
    for path in (problem, tight):
        yield Case(path.stem, (path.read_bytes(), plan_of(path, "--deterministic")))
    lock = folder / "made.lock"
    _run("solve", str(problem), "--quiet", "--deterministic", "--lock", str(lock))
    yield Case("lock", (problem.read_bytes(), lock.read_bytes()))
    rows = b"id,lower,upper,size\na,0,2,4\nb,1,3,6\nc,2,4,2\n"
    columns = file("columns.csv", rows)
    yield Case("csv", (rows, b"id,pool,offset\na,memory,0\nb,memory,4\nc,memory,0\n"))
    yield Case("csv and json", (rows, plan_of(columns, "--deterministic")))
    for seed in (3, 5):
        graph = file(f"graph{seed}.json", random_graph(seed))
        yield Case(
            f"graph {seed}", (graph.read_bytes(), plan_of(graph, "--order", "free", "--deterministic"))
        )
    chain = file("chain.json", CHAIN)
    words: tuple[str, ...] = ("--deterministic", "--with", "stripes,recompute,channels", "--points", "4")
    front = plan_of(chain, *words, command="front")
    for number, point in enumerate(json.loads(front)["points"], 1):
        yield Case(f"point {number}", (chain.read_bytes(), front), ("--point", str(number)))
        if not point["plan"]["schedule"].get("alternatives"):
            yield Case(f"plan {number}", (chain.read_bytes(), json.dumps(point["plan"]).encode()))
    for schedule in (AGAIN, AWAY):
        plan = json.dumps(plain(planned(line(), schedule))).encode()
        yield Case("schedule", (write_graph(line()), plan))
    yield Case("order", (chain.read_bytes(), plan_of(chain, "--deterministic")))
    yield Case(
        "tiling", (layer.read_bytes(), plan_of(layer, "--operator", "conv", "--front", command="tile"))
    )
    yield Case("tilings", (layer.read_bytes(), plan_of(layer, command="tile")))
    for shapes in ("fixed", "order"):
        limits = ("--shapes", shapes, "--deterministic")
        yield Case(f"symbolic {shapes}", (symbolic.read_bytes(), plan_of(symbolic, *limits)))
    yield Case("symbolic and infeasible", (narrow.read_bytes(), plan_of(narrow, "--deterministic")))
    length = file("length.json", BY_LENGTH)
    yield Case("graph by length", (length.read_bytes(), plan_of(length, "--deterministic")))
    for first, second in (("peak:p", "reuse_cost"), ("capacity:p", "preference")):
        words = ("--terms", f"{first},{second}", "--deterministic")
        front = plan_of(problem, *words, command="front")
        yield Case(f"point of {first}", (problem.read_bytes(), front), ("--point", "1"))
    pools, ways = file("pools.json", POOLS), file("ways.json", WAYS)
    words = ("--terms", "peak:fast,cost", "--with", "recompute,spill", "--cost", "bytes", "--deterministic")
    yield Case("copies", (pools.read_bytes(), plan_of(pools, *words, command="front")), ("--point", "1"))
    words = ("--with", "none", "--deterministic")
    yield Case("ways", (ways.read_bytes(), plan_of(ways, *words, command="front")), ("--point", "1"))
    boards = [
        file(f"{name}.json", {"version": 1, "name": name, "pools": [{"id": "p", "capacity": size}]})
        for name, size in (("small", 900), ("large", 1 << 20))
    ]
    front = plan_of(ways, *words, "--target", ",".join(map(str, boards)), command="front")
    point = ("--point", "1", "--target", str(boards[1]))
    yield Case("targets", (ways.read_bytes(), front), point)
    cramped = file("cramped.json", {**CHAIN, "order": "free", "pools": [{"id": "p", "capacity": 700}]})
    yield Case("no order", (cramped.read_bytes(), plan_of(cramped, "--deterministic")))
    model = carrying([0, -1, 528, -1, -1])
    yield Case("model", (branching_model(), model))


def _run(*words: str) -> int:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main(words)


def judge(case: Case, folder: Path) -> tuple[int, str]:
    """The exit code, and what was told on standard error."""
    folder.joinpath("one").write_bytes(case.files[0])
    folder.joinpath("other").write_bytes(case.files[1])
    stream = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stream):
        options = [str(folder / option) if option == "other" else option for option in case.options]
        code = main(("verify", str(folder / "one"), str(folder / "other"), *options))
    return code, stream.getvalue()


def changed(rng: Random, case: Case, others: Sequence[Case]) -> Case:
    """The case with something else in one of its documents, or another document in its place."""
    files = list(case.files)
    if rng.random() < 0.05:
        files[1] = rng.choice(rng.choice(others).files)
    which = rng.choice((0, 1, 1))
    try:
        value = json.loads(files[which])
    except ValueError:
        files[which] = mutated(rng, files[which])
    else:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            value = _with_accident(rng, value)
        files[which] = json.dumps(value).replace(f'"{_NESTED}"', _LISTS).encode()
    return Case(case.name, (files[0], files[1]), (*case.options, *rng.choice(_OPTIONS)))


def _with_accident(rng: Random, document: Any) -> Any:
    made = deepcopy(document)
    places = list(_places(made))
    if not places:
        return made
    holder, step = rng.choice(places)
    # What stands in another place of the document may be right in form.
    other_holder, other_step = rng.choice(places)
    value, other = holder[step], other_holder[other_step]
    kin = [entry[at] for entry, at in places if type(entry[at]) is type(value)]
    match rng.choice(("value", "near", "near", "near", "remove", "other", "swap", *(["kin"] * 6))):
        case "kin":
            # Of the same type: most of these are right in form.
            holder[step] = deepcopy(rng.choice(kin))
        case "value":
            holder[step] = deepcopy(rng.choice(_VALUES))
        case "near":
            holder[step] = _near(rng, value, deepcopy(other))
        case "remove":
            del holder[step]
        case "other":
            holder[step] = deepcopy(other)
        case "swap":
            holder[step], other_holder[other_step] = other, value
            return made if _is_tree(made) else document
    return made


def _near(rng: Random, value: Any, other: Any) -> Any:
    """Something like the value, which may hold the other one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice((-2, -1, 1, 2, value, -value, -2 * value, 1 << 40))
    if isinstance(value, str):
        return rng.choice((value + "?", value[:-1], value.upper(), f"{value}@2"))
    if isinstance(value, list) and value:
        twice = [*value, deepcopy(rng.choice(value))]
        return rng.choice((twice, value[::-1], [], [*value, other], value[1:]))
    if isinstance(value, dict):
        return rng.choice(({}, {**value, rng.choice(("id", "extra", "runs", "spills", "front")): other}))
    return other


def _is_tree(value: object) -> bool:
    """Whether no part of it holds itself."""
    try:
        json.dumps(value)
    except ValueError:
        return False
    return True


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for step in (
        list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield value, step
        yield from _places(value[step])


_NESTED: Final = "nested to the limit"
"""Stands for lists in lists, so many that `json` would not write them."""
_LISTS: Final = "[" * 9_000 + "]" * 9_000
_OPTIONS: Final = ((), (), (), (), ("--hint", "other"), ("--strict",), ("--recheck", "--time-limit", "0.1"))
_VALUES: Final[tuple[Any, ...]] = (
    *(0, 1, -1, 2, 3, 1 << 20, 1 << 31, (1 << 62) - 1, 1 << 62, 1 << 63, 10**30, 0.5, -1.5, 1e300),
    *(None, True, False, "", "x", "?", "1", "s*s*s", "optimal", "infeasible", "unknown", "feasible"),
    *(float("nan"), float("inf"), -0.0, -(10**30), "x" * 5000, "\ud800", "\0", _NESTED),
    *([], {}, [[]], [0, 0], [3, 1], [None], ["x"], [{}], {"id": "x"}, "always", "memory"),
)


def run(seconds: float, seed: int) -> tuple[int, int]:
    """How many documents were judged, and how many got a verdict; AssertionError where one breaks."""
    rng = Random(seed)
    tried = verdicts = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = cases(folder)
        for case in sound:
            assert judge(case, folder) == (Exit.DONE, ""), case.name
        until = time.monotonic() + seconds
        while tried < 2 * len(sound) or time.monotonic() < until:
            case = changed(rng, sound[tried % len(sound)], sound)
            tried += 1
            began = time.monotonic()
            code, output = judge(case, folder)
            verdicts += code in (Exit.DONE, Exit.INVALID)
            took = time.monotonic() - began
            if code not in (Exit.DONE, Exit.INVALID, Exit.USAGE) or took > SLOW:
                files = "\n".join(repr(entry) for entry in case.files)
                raise AssertionError(f"{case.name} {case.options}: {code} in {took:.1f} s\n{output}\n{files}")
            assert code != Exit.USAGE or output, case.name
    return tried, verdicts


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    tried, verdicts = run(args.seconds, args.seed)
    sys.stdout.write(f"{tried:,} documents, {verdicts:,} verdicts\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
