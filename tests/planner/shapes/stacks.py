"""Random symbolic problems, and plans for them that are valid but not good: all is above what came before.

Each unit of buffers is above all earlier units with which one of its buffers conflicts.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

from memstow.planner.formulas.sizes import problem_at
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import InPlace, Pool, Relative, Reserved
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.symbolic_layout import Layout

FAR = 1 << 20
"""A pinned buffer up there is above everything else."""
_NOTHING: tuple[int | str, ...] = (0, "0*s", "min(0, b)")
_ALIGNMENTS = (1, 1, 1, 2, 3, 4, 8, 12, 64)
_ATOMS = ("s", "s", "b", "s*b", "3", "7", "16", "(s + 5)", "(s - b)")


def random_formula(rng: Random) -> str:
    """A formula of `s` (1 to 40) and `b` (0 to 6 in steps of 2) that is never negative."""
    one, other = rng.choice(_ATOMS), rng.choice(_ATOMS)
    text = rng.choice(
        (
            one,
            f"{one} * {other}",
            f"{one} + {other}",
            f"{one} - {other}",
            f"({one} * {rng.randint(0, 9)}) // {rng.randint(1, 9)}",
            f"{one} % {rng.randint(1, 9)}",
            f"align({one}, {rng.choice((1, 4, 16, 'b + 1'))})",
            f"ceil_div(-{one} + {other}, {rng.randint(1, 5)})",
            f"min({one}, {other}, 20)",
            f"{one} - -{other} // 2 % 5",
        )
    )
    return f"max(0, {text})"


def random_problem(rng: Random, most: int = 9) -> SymbolicProblem:
    """Symbols, alignments, pins, reserved ranges, several pools, distances, pairs in place: all mixed."""
    pools = tuple(_pool(rng, name) for name in ("fast", "slow")[: rng.choice((1, 1, 2))])
    buffers = [_buffer(rng, f"b{number}", pools) for number in range(rng.randint(1, most))]
    names = [buffer.id for buffer in buffers if buffer.pool is None]
    rng.shuffle(names)
    relative, in_place = [], []
    if len(names) >= 4 and rng.random() < 0.5:
        relative.append(Relative(buffer=names[0], base=names[1], offset=rng.randint(-3, 8) * 192))
        if rng.random() < 0.3:
            relative.append(Relative(buffer=names[2], base=names[0], offset=rng.randint(-3, 3) * 192))
    if len(names) >= 4 and rng.random() < 0.5:
        in_place.append(InPlace(input=names[3], output=names[rng.randint(0, 2)]))
    if relative and rng.random() < 0.4:
        hollow = names[rng.randint(0, 2)]
        buffers = [
            replace(buffer, size=rng.choice(_NOTHING)) if buffer.id == hollow else buffer
            for buffer in buffers
        ]
    pairs = list(combinations([buffer.id for buffer in buffers], 2))
    return SymbolicProblem(
        symbols=(Symbol(id="s", min=1, max=40), Symbol(id="b", min=0, max=6, step=2)),
        pools=pools,
        buffers=buffers,
        conflicts=[] if relative else rng.sample(pairs, min(len(pairs), rng.choice((0, 0, 1)))),
        exclusive=rng.sample(pairs, min(len(pairs), rng.choice((0, 0, 1)))),
        relative=relative,
        in_place=in_place,
        objective=rng.choice((["peak"], ["max_peak"], [f"peak:{pools[-1].id}"])),
    )


def _pool(rng: Random, name: str) -> Pool:
    base = rng.choice((None, None, 100, 4096))
    reserved = [Reserved(offset=0, size=10), Reserved(offset=10, size=21)] if rng.random() < 0.3 else []
    if rng.random() < 0.15:
        # Between what stacks up and what is pinned, or in the way.
        reserved.append(Reserved(offset=rng.choice((400, 1 << 19)), size=100))
    return Pool(id=name, alignment=rng.choice((1, 1, 4, 6)), base=base, reserved=reserved)


def _buffer(rng: Random, name: str, pools: Sequence[Pool]) -> SymbolicBuffer:
    begin = rng.randint(0, 8)
    size: int | str = rng.choice((0, rng.randint(1, 99))) if rng.random() < 0.3 else random_formula(rng)
    alignment = rng.choice(_ALIGNMENTS)
    pin, offset = None, None
    if rng.random() < 0.15:
        pool = rng.choice(pools)
        pin, step = pool.id, alignment * pool.alignment
        offset = FAR - (FAR + (pool.base or 0)) % step
    return SymbolicBuffer(
        id=name,
        size=size,
        lifetime=rng.choice(("always", *(((begin, begin + rng.randint(1, 5)),) * 6))),
        alignment=alignment,
        pool=pin,
        offset=offset,
    )


def stacked_plan(problem: SymbolicProblem, rng: Random, orders: int = 1) -> SymbolicPlan | None:
    """A plan of so many random orders; None where two pins clash."""
    made = [_order(problem, rng) for _ in range(orders)]
    valid = [entry for entry in made if entry is not None]
    if len(valid) < orders:
        return None
    return SymbolicPlan(
        status=Status.FEASIBLE, shapes="order" if orders == 1 else "pieces", orders=valid, solver="stack"
    )


def _order(problem: SymbolicProblem, rng: Random) -> Order | None:
    ids = [buffer.id for buffer in problem.buffers]
    sharing = [pair for pair in problem.in_place if rng.random() < 0.7 and not problem.relative]
    empty = {buffer.id for buffer in problem.buffers if buffer.size in _NOTHING and rng.random() < 0.8}
    unit = _units(problem, sharing, empty)
    pinned = {unit[buffer.id] for buffer in problem.buffers if buffer.offset is not None}
    if len(pinned) > 1:
        return None
    pool_of = {root: rng.choice(problem.pools).id for root in set(unit.values())}
    pool_of |= {unit[buffer.id]: buffer.pool for buffer in problem.buffers if buffer.pool is not None}
    roots = list(dict.fromkeys(unit.values()))
    rng.shuffle(roots)
    roots.sort(key=lambda root: root in pinned)
    rank = {root: number for number, root in enumerate(roots)}
    shares = {pair.output: pair.input for pair in sharing}
    placements = []
    for one in ids:
        above = [
            other
            for other in ids
            if rank[unit[other]] < rank[unit[one]]
            and pool_of[unit[other]] == pool_of[unit[one]]
            and conflict(problem, one, other)
        ]
        rng.shuffle(above)
        placements.append(
            OrderedPlacement(
                buffer=one,
                pool=pool_of[unit[one]],
                above=above,
                shares=shares.get(one),
                empty=one in empty,
            )
        )
    rng.shuffle(placements)
    return Order(placements=placements)


def _units(problem: SymbolicProblem, sharing: Sequence[InPlace], empty: set[str]) -> dict[str, str]:
    """By buffer: a buffer that stands for all that are at fixed distances from it."""
    unit = {buffer.id: buffer.id for buffer in problem.buffers}
    ties = [(relation.buffer, relation.base) for relation in problem.relative] + [
        (pair.input, pair.output) for pair in sharing
    ]
    for one, other in ties:
        old, new = unit[one], unit[other]
        unit = {name: new if root == old else root for name, root in unit.items()}
    return {name: f"{name} alone" if name in empty else root for name, root in unit.items()}


def conflict(problem: SymbolicProblem, one: str, other: str) -> bool:
    """Whether the two may share no byte."""
    pair = {one, other}
    if any(set(entry) == pair for entry in problem.conflicts):
        return True
    if any(set(entry) == pair for entry in problem.exclusive):
        return False
    lives = [_life(problem, name) for name in (one, other)]
    return max(begin for begin, _ in lives) < min(end for _, end in lives)


def _life(problem: SymbolicProblem, name: str) -> tuple[int, int]:
    buffer = next(buffer for buffer in problem.buffers if buffer.id == name)
    return buffer.lifetime if isinstance(buffer.lifetime, tuple) else (-100, 100)


def fixed_plan(problem: SymbolicProblem) -> SymbolicPlan:
    """A plan of constant offsets, far from each other; without distances and pins."""
    step = 1 << 16
    pool = problem.pools[0]
    placements = []
    for number, buffer in enumerate(problem.buffers):
        every = buffer.alignment * pool.alignment
        start = step * (number + 1)
        offset = start + (-(start + (pool.base or 0))) % every
        placements.append(Placement(buffer=buffer.id, pool=pool.id, offset=offset))
    return SymbolicPlan(status=Status.FEASIBLE, shapes="fixed", placements=placements)


def random_point(problem: SymbolicProblem, rng: Random) -> dict[str, int]:
    """A value of every symbol."""
    return {symbol.id: rng.randrange(symbol.min, symbol.max + 1, symbol.step) for symbol in problem.symbols}


def sizes_at(problem: SymbolicProblem, at: dict[str, int]) -> dict[str, int]:
    """The sizes by id."""
    return {buffer.id: buffer.size for buffer in problem_at(problem, at).buffers}


def fits(layout: Layout, at: dict[str, int]) -> bool:
    """Whether the plan fits at these values."""
    try:
        layout.lay_out(at)
    except InputError as error:
        assert [issue.code for issue in error.issues] == ["does_not_fit"]  # noqa: PT017
        return False
    return True
