"""The problems of the benchmarks: from elsewhere, read where they are, and made here from a seed."""

import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from itertools import combinations
from pathlib import Path
from typing import Final, ParamSpec

from benchmarks.page import DATA
from memstow.planner.formats import read_problem
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost

SKIPPED = "Skipped: `../shared/data` is not there."
LETTERS = "ABCDEFGHIJK"
HEIGHT = 1_048_576
"""The height that the authors of A-K ask for."""


def there(*folders: str) -> bool:
    """Whether the problems of these folders can be read."""
    return all((DATA / folder).is_dir() for folder in folders)


P = ParamSpec("P")


def needs(*folders: str) -> Callable[[Callable[P, str]], Callable[P, str]]:
    """A benchmark whose text says that it is skipped where these folders are not there."""

    def skipping(measure: Callable[P, str]) -> Callable[P, str]:
        @wraps(measure)
        def measured(*args: P.args, **named: P.kwargs) -> str:
            return measure(*args, **named) if there(*folders) else SKIPPED

        return measured

    return skipping


def minimalloc_path(letter: str) -> Path:
    """The file of one of A-K."""
    return DATA / "minimalloc" / f"{letter}.{HEIGHT}.csv"


def minimalloc_problems() -> Iterator[tuple[str, Problem]]:
    """A-K by letter."""
    for letter in LETTERS:
        yield letter, read_problem(minimalloc_path(letter).read_bytes())


_LONGEST: Final = 0.05
"""A life takes at most this part of the whole time."""


def write_random_csv(path: Path, n: int) -> None:
    """Write buffers of all sizes whose lives begin at any time; most lives are short."""
    with path.open("w") as file:
        # One by one: our memory counts as that of the processes that we start.
        file.writelines(f"{line}\n" for line in _random_lines(n))


def _random_lines(n: int) -> Iterator[str]:
    yield "id,lower,upper,size"
    for name, begin, end, size in random_lives(n):
        yield f"{name},{begin},{end},{size}"


def random_lives(n: int) -> Iterator[tuple[str, int, int, int]]:
    """Buffers of all sizes whose lives begin at any time: name, begin, end and size."""
    odd = random.Random(n)
    for number in range(n):
        begin = odd.randrange(n)
        length = int(math.exp(odd.uniform(0.0, math.log(max(2.0, _LONGEST * n)))))
        yield f"b{number}", begin, begin + length, int(math.exp(odd.uniform(0.0, 12.0)))


def three_pools(rng: random.Random, count: int) -> Problem:
    """Buffers at random, and costs of access that make pools matter."""
    buffers = []
    for i in range(count):
        size, begin = rng.randrange(1, 64) * 16, rng.randrange(count)
        life = (begin, begin + rng.randrange(1, max(2, count // 5)))
        buffers.append(Buffer(id=f"b{i}", size=size, lifetime=life, accesses=rng.randrange(1, 200) * 16))
    lives = [(life_of(buffer), buffer.size) for buffer in buffers]
    live = max(sum(size for (begin, end), size in lives if begin <= time < end) for time in range(count))
    pools = (
        Pool(id="fast", capacity=live // 3 // 16 * 16, cost=1),
        Pool(id="middle", capacity=live // 3 // 16 * 16, cost=3),
        Pool(id="slow", cost=10),
    )
    return Problem(version=1, pools=pools, buffers=tuple(buffers))


def crowded(rng: random.Random, count: int) -> Problem:
    """Buffers at random in one pool with little room, and costs on most pairs that share bytes."""
    lives = [
        (begin, begin + rng.randint(1, max(2, count // 4))) for begin in rng.choices(range(count), k=count)
    ]
    buffers = [Buffer(id=f"b{i}", size=rng.randint(1, 12), lifetime=life) for i, life in enumerate(lives)]
    live = max(
        sum(one.size for one, (begin, end) in zip(buffers, lives, strict=True) if begin <= time < end)
        for time in range(count)
    )
    costs = [
        ReuseCost(buffers=(one.id, other.id), cost=rng.randint(1, 5))
        for one, other in combinations(buffers, 2)
        if rng.random() < 0.8
    ]
    pool = Pool(id="memory", capacity=live * rng.randint(11, 15) // 10)
    return Problem(pools=(pool,), buffers=buffers, reuse_costs=costs, objective=("reuse_cost", "peak"))


def one_after_the_other(parts: Iterable[tuple[str, Problem]]) -> Problem:
    """Problems with names as one in one memory: each begins when the one before has ended."""
    buffers: list[Buffer] = []
    begin = 0
    for name, problem in parts:
        for buffer in problem.buffers:
            start, end = life_of(buffer)
            buffers.append(replace(buffer, id=f"{name}.{buffer.id}", lifetime=(begin + start, begin + end)))
        begin += end_of(problem)
    return Problem(version=1, buffers=tuple(buffers))


def end_of(problem: Problem) -> int:
    """When the last buffer ends."""
    return max(life_of(buffer)[1] for buffer in problem.buffers)


def life_of(buffer: Buffer) -> tuple[int, int]:
    """Begin and end of a buffer that lives once; TypeError for any other."""
    if not isinstance(buffer.lifetime, tuple):
        raise TypeError(f"buffer {buffer.id!r} has no single lifetime")
    return buffer.lifetime
