"""Problems whose sizes are formulas: blocks of attention as in language models, or anything at random.

`attention` has as many buffers as asked for and the sizes of transformers in the length of a sequence `s`
and, with two symbols, in a batch `b`. `random` has small sizes and any features, for tests.
"""

from collections.abc import Sequence
from typing import Final

from memstow.planner.generate.random_numbers import Chance
from memstow.planner.generate.symbolic_random import random_symbolic
from memstow.planner.model.errors import InputError
from memstow.planner.model.symbolic import Point, Symbol, SymbolicBuffer, SymbolicProblem

_LENGTHS: Final = (16, 64, 128, 256, 512, 1024)
_BATCHES: Final = (1, 4, 16)
_WIDTHS: Final = (128, 256, 512)
_HEADS: Final = (2, 4, 8)
_LIVES: Final = {
    # Of each tensor of a block: the steps after the block's first at which it is made and last read.
    "q": (1, 4),
    "k": (2, 4),
    "v": (3, 6),
    "scores": (4, 5),
    "weights": (5, 6),
    "context": (6, 7),
    "out": (7, 8),
    "sum": (8, 12),
    "wide": (9, 10),
    "active": (10, 11),
    "narrow": (11, 12),
    "next": (12, 20),
}
_STEPS: Final = 12


def symbolic(
    n: int, seed: int, *, family: str = "attention", symbols: int = 1, features: Sequence[str] = ()
) -> SymbolicProblem:
    """A problem of n buffers of this family; features are of `random` alone."""
    if family == "random":
        return random_symbolic(n, seed, symbols=symbols, features=features)
    if features or symbols > 2:
        message = (
            "problems of the family attention have one or two symbols and no features; use family random"
        )
        raise InputError.single("no_such_problem", "$", message)
    return _attention(n, seed, symbols)


def _attention(n: int, seed: int, symbols: int) -> SymbolicProblem:
    chance = Chance(seed)
    rows = "s" if symbols == 1 else "b*s"
    width, heads = chance.pick(_WIDTHS), chance.pick(_HEADS)
    lives: list[tuple[str, str, int, int]] = [("x", f"4*{rows}*{width}", 0, 8)]
    block = 0
    while len(lives) < n:
        sizes = _block_sizes(rows, width, heads)
        start = block * _STEPS
        lives.extend(
            (f"{name}{block}", sizes.get(name, f"4*{rows}*{width}"), start + made, start + read + 1)
            for name, (made, read) in _LIVES.items()
        )
        # Caches, masks and what other operators leave.
        lives.extend(_other(chance, f"r{block}_{i}", rows, start) for i in range(chance.between(2, 6)))
        block += 1
    batches = (Symbol(id="b", min=1, max=64, values=_BATCHES),) if symbols > 1 else ()
    return SymbolicProblem(
        name=f"attention n={n} seed={seed}",
        symbols=(Symbol(id="s", min=1, max=_LENGTHS[-1], values=_LENGTHS), *batches),
        points=_points(symbols),
        buffers=[
            SymbolicBuffer(id=name, size=size, lifetime=(begin, end)) for name, size, begin, end in lives[:n]
        ],
    )


def _points(symbols: int) -> list[Point]:
    """With two symbols some combinations matter, and not all."""
    if symbols == 1:
        return []
    return [Point(at={"s": s, "b": b}) for s in _LENGTHS for b in _BATCHES if s * b <= 4096]


def _block_sizes(rows: str, width: int, heads: int) -> dict[str, str]:
    """The sizes of a block's tensors that are no plain rows."""
    square = f"{4 * heads}*{rows}*s"
    wide = f"{16 * width}*{rows}"
    return {"scores": square, "weights": square, "wide": wide, "active": wide}


def _other(chance: Chance, name: str, rows: str, start: int) -> tuple[str, str, int, int]:
    shapes = (
        f"{chance.between(4, 31)}*{rows}*64",
        f"({chance.between(3, 9)}*{rows}*256)//4",
        f"align({chance.between(100, 3000)}*{rows}, 256)",
        f"{chance.between(16, 128)}*1024",
        f"{chance.between(1, 4)}*ceil_div(s, 16)*4096",
        f"max({chance.between(16, 256)}*{rows}, {chance.between(8, 64)}*1024)",
    )
    begin = start + chance.between(0, _STEPS)
    return name, chance.pick(shapes), begin, begin + chance.between(1, 16)
