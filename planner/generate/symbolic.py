"""Problems whose sizes are formulas: blocks of attention as in language models, or anything at random."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import lcm
from typing import Final

from memstow.planner.check import find_issues
from memstow.planner.formulas.sizes import largest_problem
from memstow.planner.generate.random_problems import Chance
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import InPlace, Pool, Relative, Reserved
from memstow.planner.model.symbolic import Aim, Point, Symbol, SymbolicBuffer, SymbolicProblem


def random_formula(chance: Chance, symbols: Sequence[Symbol]) -> str:
    """A formula in these symbols."""
    one, other = chance.pick(symbols).id, chance.pick(symbols).id
    few, more = chance.between(1, 6), chance.between(2, 40)
    return chance.pick(
        [
            f"{more}*{one}",
            f"{few}*{one}*{other}",
            f"{more}*{one} + {few}",
            f"{more} + {few}*{one}*{one}",
            f"{one} + {other}*{few}",
            f"({more}*{one})//{few}",
            f"ceil_div({more}*{one}, {few})*{few}",
            f"align({few}*{one} + {more}, 8)",
            f"max({few}*{one}, {more})",
            f"min({few}*{one}*{other}, {more} + {other})",
            f"max(0, {more} - {few}*{one})",
            f"max({more} - {one}, {few}*{other})",
            f"({one} + {few}) % {few + 1} + {more}",
            f"({one} - {few})*({one} - {few})",
            f"{few}*max({one}, {other})",
            f"-(-{more})*{one} + 2*(3 + {few})",
        ]
    )


_ALIGNMENTS: Final = (1, 2, 3, 4, 8)
_AIMS: Final[tuple[Aim, ...]] = ("worst", "sum", "first")
_MOST_TIES: Final = 3


def random_symbolic(n: int, seed: int, *, symbols: int = 1, features: Sequence[str] = ()) -> SymbolicProblem:
    """A problem of n buffers in one or more symbols."""
    chance = Chance(seed)
    variables = tuple(_symbol(chance, name) for name in ("s", "b", "c", "d")[:symbols])
    pools = _pools(chance, features)
    names = [f"x{index}" for index in range(n)]
    plain = SymbolicProblem(
        name=f"random n={n} seed={seed}",
        symbols=variables,
        aim=chance.pick(_AIMS),
        pools=pools,
        buffers=[_buffer(chance, name, variables, pools, features, n) for name in names],
        conflicts=_pairs(chance, names) if "conflicts" in features else (),
        exclusive=_pairs(chance, names) if "exclusive" in features else (),
        in_place=[InPlace(input=one, output=other) for one, other in _pairs(chance, names)]
        if "in_place" in features
        else (),
        objective=(chance.pick(["peak", "max_peak", f"peak:{pools[0].id}"]),),
    )
    largest, _ = largest_problem(plain)
    # The problem with pins, distances and capacities, as far as they contradict nothing.
    sizes = {buffer.id: buffer.size for buffer in largest.buffers}
    problem = plain
    if "pins" in features:
        problem = _if_valid(replace(problem, buffers=_pinned(chance, problem, sizes)), problem)
    if "relative" in features:
        problem = _if_valid(replace(problem, relative=tuple(_tied(chance, problem, sizes))), problem)
    if "capacities" in features:
        problem = _if_valid(replace(problem, pools=_bounded(chance, problem, sizes)), problem)
    return problem


def _symbol(chance: Chance, name: str) -> Symbol:
    least, step = chance.between(0, 3), chance.between(1, 3)
    count = chance.between(1, 9)
    values = sorted({least + step * chance.below(count) for _ in range(3)})
    return Symbol(id=name, min=least, max=least + step * (count - 1), step=step, values=values)


def _pools(chance: Chance, features: Collection[str]) -> tuple[Pool, ...]:
    count = chance.between(2, 3) if "pools" in features else 1
    return tuple(
        Pool(
            id="memory" if count == 1 else f"pool{index}",
            alignment=chance.pick(_ALIGNMENTS) if "alignments" in features else 1,
            base=chance.between(0, 40) if "base" in features else None,
            reserved=[Reserved(offset=0, size=chance.between(1, 20))]
            if "reserved" in features and chance.happens(0.6)
            else (),
        )
        for index in range(count)
    )


def _buffer(
    chance: Chance,
    name: str,
    symbols: Sequence[Symbol],
    pools: Sequence[Pool],
    features: Collection[str],
    n: int,
) -> SymbolicBuffer:
    size: int | str = random_formula(chance, symbols) if chance.happens(0.8) else chance.between(1, 60)
    if "zero" in features and chance.happens(0.2):
        name_of = symbols[0].id
        size = chance.pick(["0", f"max(0, {name_of}-{symbols[0].max - 1})", f"0*{name_of}"])
    begin = chance.below(max(2, n))
    end = begin + chance.between(1, max(1, n // 2))
    several = "lifetimes" in features and chance.happens(0.3)
    allowed = None
    if len(pools) > 1 and chance.happens(0.4):
        allowed = tuple(pool.id for pool in pools if chance.happens(0.6)) or (pools[0].id,)
    always = "always" in features and chance.happens(0.1)
    return SymbolicBuffer(
        id=name,
        size=size,
        lifetime=None if several else "always" if always else (begin, end),
        lifetimes=[(begin, end), (end + 1, end + 3)] if several else None,
        alignment=chance.pick(_ALIGNMENTS) if "alignments" in features else 1,
        pools=allowed,
    )


def _pairs(chance: Chance, names: Sequence[str]) -> list[tuple[str, str]]:
    pairs = (
        {(chance.pick(names), chance.pick(names)) for _ in range(max(1, len(names) // 3))} if names else set()
    )
    return sorted((one, other) for one, other in pairs if one != other)


def _if_valid(changed: SymbolicProblem, otherwise: SymbolicProblem) -> SymbolicProblem:
    return otherwise if find_issues(changed) else changed


def _pinned(chance: Chance, problem: SymbolicProblem, sizes: dict[str, int]) -> tuple[SymbolicBuffer, ...]:
    """Some buffers at the bottom of a pool, one above the other."""
    tops = {
        pool.id: max((entry.offset + entry.size for entry in pool.reserved), default=0)
        for pool in problem.pools
    }
    buffers = list(problem.buffers)
    for index, buffer in enumerate(buffers):
        if not chance.happens(0.15):
            continue
        pool = chance.pick(
            [pool for pool in problem.pools if buffer.pools is None or pool.id in buffer.pools]
        )
        step = lcm(buffer.alignment, pool.alignment)
        base = pool.base or 0
        offset = -(-(tops[pool.id] + base) // step) * step - base
        tops[pool.id] = offset + sizes[buffer.id]
        buffers[index] = replace(buffer, pool=pool.id, offset=offset)
    return tuple(buffers)


def _tied(chance: Chance, problem: SymbolicProblem, sizes: dict[str, int]) -> list[Relative]:
    """Some pairs of buffers at a distance that is enough for any lifetimes."""
    free = [buffer for buffer in problem.buffers if buffer.offset is None]
    chance.shuffle(free)
    ties: list[Relative] = []
    for lower, upper in zip(free[::2], free[1::2], strict=False):
        if len(ties) == _MOST_TIES:
            break
        if lower.pools == upper.pools:
            step = lcm(lower.alignment, upper.alignment, *(pool.alignment for pool in problem.pools))
            distance = (-(-sizes[lower.id] // step) + chance.below(2)) * step
            ties.append(Relative(buffer=upper.id, base=lower.id, offset=distance))
    return ties


def _bounded(chance: Chance, problem: SymbolicProblem, sizes: dict[str, int]) -> tuple[Pool, ...]:
    """Every pool with a capacity, some with a reserved range at its top."""
    total = sum(sizes.values()) + sum(abs(tie.offset) for tie in problem.relative)
    pins = [
        (buffer.offset or 0) + sizes[buffer.id] for buffer in problem.buffers if buffer.offset is not None
    ]
    pools = []
    for pool in problem.pools:
        floor = max((entry.offset + entry.size for entry in pool.reserved), default=0)
        least = max([floor, *pins])
        end = least + chance.between(total // 2, 2 * total + 64)
        top = (Reserved(offset=end, size=chance.between(1, 50)),) if chance.happens(0.3) else ()
        capacity = end + sum(entry.size for entry in top)
        pools.append(replace(pool, capacity=capacity, reserved=(*pool.reserved, *top)))
    return tuple(pools)


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
    chance = Chance(seed)
    rows = "s" if symbols == 1 else "b*s"
    width, heads = chance.pick(_WIDTHS), chance.pick(_HEADS)
    lives: list[tuple[str, str, int, int]] = [("x", f"4*{rows}*{width}", 0, 8)]
    block = 0
    while len(lives) < n:
        # The sizes of a block's tensors that are no plain rows.
        square = f"{4 * heads}*{rows}*s"
        wide = f"{16 * width}*{rows}"
        sizes = {"scores": square, "weights": square, "wide": wide, "active": wide}
        start = block * _STEPS
        lives.extend(
            (f"{name}{block}", sizes.get(name, f"4*{rows}*{width}"), start + first, start + read + 1)
            for name, (first, read) in _LIVES.items()
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
