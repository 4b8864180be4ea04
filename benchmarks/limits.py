"""How late runs of many buffers end, and their memory, for each kind of constraint and some pairs of kinds.

A process is late by what it takes beyond its limit. Where reading the file alone takes longer than the limit,
it is late by what it takes beyond reading.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.problems import random_lives
from benchmarks.versions import Case, Checkout, Figures, Inputs, Row
from memstow.api.cli.terminal import Exit

SIZES: Final = (20_000, 100_000)
LIMITS: Final = (0.5, 2.0)
MOST_LATE: Final = 0.1
MOST_ORDERED: Final = 20_000
BYTES_OF_BUFFER: Final = 200.0
_READ: Final = "import sys, pathlib, memstow; memstow.{}(pathlib.Path(sys.argv[1]).read_bytes())"
# With a plan, or with none when the time was over.
_ENDED: Final = (Exit.DONE, Exit.UNKNOWN)
# Of so many buffers, one has the constraint.
_EACH: Final = 10
_SYMBOL_MOST: Final = 64

Document = dict[str, Any]
Constrain = Callable[[Document, Random], None]
"""Adds constraints of a kind that some plan meets, whatever the others do."""


def _pairs(document: Document, odd: Random, apart: int) -> list[list[str]]:
    """Names of two buffers each, none in two pairs, nor in one of a kind with another `apart`."""
    names = [buffer["id"] for buffer in document["buffers"]]
    firsts = range(apart, len(names) - 1, _EACH)
    return [[names[first], names[first + 1]] for first in firsts if odd.random() < 0.9]


def conflicts(document: Document, odd: Random) -> None:
    """Pairs that may not share bytes, whenever they live."""
    document["conflicts"] = _pairs(document, odd, 0)


def exclusive(document: Document, odd: Random) -> None:
    """Pairs that are never live together."""
    document["exclusive"] = _pairs(document, odd, 2)


def in_place(document: Document, odd: Random) -> None:
    """Outputs that may have the place of an input."""
    document["in_place"] = [{"input": one, "output": other} for one, other in _pairs(document, odd, 4)]


def groups(document: Document, odd: Random) -> None:
    """Buffers right behind others."""
    sizes = {buffer["id"]: buffer["size"] for buffer in document["buffers"]}
    document["relative"] = [
        {"buffer": other, "base": one, "offset": sizes[one]} for one, other in _pairs(document, odd, 6)
    ]


def pins(document: Document, odd: Random) -> None:
    """Buffers with a place, one behind the other."""
    at = 0
    for buffer in document["buffers"][8 :: 10 * _EACH]:
        if odd.random() < 0.9:
            buffer |= {"pool": "memory", "offset": at}
            at += buffer["size"]


def pools(document: Document, odd: Random) -> None:
    """Two more pools, which hold little, and buffers that may not be in all."""
    document["pools"] = [
        {"id": "fast", "capacity": 1 << 20, "cost": 1},
        {"id": "middle", "capacity": 1 << 22, "cost": 3},
        {"id": "memory", "cost": 10},
    ]
    for buffer in document["buffers"]:
        if odd.random() < 0.2 and "pool" not in buffer:
            buffer["pools"] = ["middle", "memory"]


def symbols(document: Document, odd: Random) -> None:
    """Sizes that depend on a number which is known only at run time."""
    document["symbols"] = [{"id": "s", "min": 1, "max": _SYMBOL_MOST}]
    # What lies behind another, or was pinned behind it, does so at any size.
    fixed = {name for pair in document.get("relative", ()) for name in (pair["buffer"], pair["base"])}
    for buffer in document["buffers"]:
        if odd.random() < 0.5 and buffer["id"] not in fixed and "offset" not in buffer:
            buffer["size"] = f"{buffer['size']}*s"


KINDS: Final[dict[str, tuple[Constrain, ...]]] = {
    "plain": (),
    "conflicts": (conflicts,),
    "pins": (pins,),
    "pools": (pools,),
    "rigid groups": (groups,),
    "in place": (in_place,),
    "exclusive": (exclusive,),
    "symbols": (symbols,),
    "conflicts, pins": (conflicts, pins),
    "conflicts, rigid groups": (conflicts, groups),
    "conflicts, pools": (conflicts, pools),
    "pins, symbols": (pins, symbols),
    "in place, symbols": (in_place, symbols),
    "rigid groups, symbols": (groups, symbols),
    "pools, symbols": (pools, symbols),
}
SOLVERS: Final = ("first-fit", "greedy")
"""Some that take less memory; `exact` declines so many."""


def document(kind: str, n: int) -> Document:
    """A problem of this kind with so many buffers, the same each time."""
    problem: Document = {
        "version": 1,
        "buffers": [
            {"id": name, "size": size, "lifetime": [begin, end]} for name, begin, end, size in random_lives(n)
        ],
    }
    odd = Random(n)
    for constrain in KINDS[kind]:
        constrain(problem, odd)
    return problem


def _file(inputs: Inputs, kind: str, n: int) -> Path:
    name = f"limits-{kind.replace(', ', '-').replace(' ', '-')}-{n}.json"
    return inputs.made(name, lambda: json.dumps(document(kind, n)).encode())


def _shapes(kind: str, n: int) -> tuple[str, ...]:
    """Plans of orders, the default, are only for fewer buffers."""
    return ("--shapes", "fixed") if symbols in KINDS[kind] and n > MOST_ORDERED else ()


def late(kind: str, n: int, solver: str, checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """Seconds beyond each limit, and the most bytes that a buffer took beyond those of hardly any."""
    path = _file(inputs, kind, n)
    read = _READ.format("read_symbolic" if symbols in KINDS[kind] else "read_problem")
    reading = checkout.run(checkout.python, "-P", "-c", read, path).usage.seconds
    bare = checkout.solve(inputs.network(10), "--quiet").peak_memory
    figures, most = {}, 0
    for limit in LIMITS:
        words = (*_shapes(kind, n), "--time-limit", f"{limit:g}", "--solver", solver, "--quiet")
        ran = checkout.run(checkout.memstow, "solve", path, *words, codes=_ENDED)
        figures[f"late-{limit:g}"] = ran.usage.seconds - max(limit, reading)
        most = max(most, ran.peak_memory)
    return {**figures, "bytes": (most - bare) / n}


def _case(kind: str, n: int, solver: str = "auto") -> Case:
    title = f"{n:,} buffers, {kind}" + ("" if solver == "auto" else f", `{solver}`")
    rows = (
        *(Row(f"late-{limit:g}", f"{title}: beyond {limit:g} s, s", wanted=MOST_LATE) for limit in LIMITS),
        Row("bytes", f"{title}: bytes a buffer", ".0f", wanted=BYTES_OF_BUFFER),
    )
    name = "-".join(
        ["limits", *kind.replace(",", "").split(), f"{n}", *([] if solver == "auto" else [solver])]
    )
    return Case(name, rows, partial(late, kind, n, solver), runs=1)


CASES: Final = (
    *(_case(kind, n) for kind in KINDS for n in SIZES),
    *(_case(kind, SIZES[-1], solver) for kind in ("plain", "conflicts, rigid groups") for solver in SOLVERS),
)
