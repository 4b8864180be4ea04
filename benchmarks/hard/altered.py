"""A-K written in other ways: a change without effect on the problem should have little effect on the time."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from benchmarks.hard.effort import Effort
from benchmarks.hard.engine_run import WORKERS, solve
from benchmarks.hard.instances import LETTERS, SKIPPED, minimalloc, there
from benchmarks.page import table
from memstow.planner.model.problem import Buffer, Problem

SECONDS = 5.0
SHUFFLES = 3
FACTOR = 3
IN_A_ROW = ("AKH", "BGI", "CDE", "JA", "".join(letter for letter in LETTERS if letter not in "DJ"), LETTERS)


def measure(effort: Effort) -> str:
    """A row for each of A-K, a column for each way of telling it; then several of them in a row."""
    if not there("minimalloc"):
        return SKIPPED
    seconds = effort.seconds(SECONDS)
    problems = dict(minimalloc())
    shuffles = min(SHUFFLES, effort.seeds)
    header = (
        "problem",
        "as it is",
        *(f"shuffled {k}" for k in range(shuffles)),
        "mirrored",
        f"sizes x {FACTOR}",
    )
    rows = [
        (letter, *(solve(told, seconds).cell() for told in _ways(problem, shuffles)))
        for letter, problem in problems.items()
    ]
    return "\n\n".join(
        (
            f"Seconds where proven optimal; else the peak as a multiple of the bound. {seconds:g} s each, "
            f"{WORKERS} workers, engine alone. Buffers in another order, time mirrored, sizes multiplied:",
            table(header, rows),
            "Several one after the other in time, as one problem:",
            table(("problems", "buffers", "s, or peak / bound"), list(_in_a_row(problems, seconds))),
        )
    )


def _ways(problem: Problem, shuffles: int) -> Iterator[Problem]:
    yield problem
    for seed in range(shuffles):
        yield _shuffled(problem, seed)
    yield _mirrored(problem)
    yield _multiplied(problem)


def _shuffled(problem: Problem, seed: int) -> Problem:
    buffers = list(problem.buffers)
    Random(seed).shuffle(buffers)
    return replace(problem, buffers=tuple(buffers))


def _mirrored(problem: Problem) -> Problem:
    end = _end(problem)

    def turned(buffer: Buffer) -> Buffer:
        begin, until = _life(buffer)
        return replace(buffer, lifetime=(end - until, end - begin))

    return replace(problem, buffers=tuple(map(turned, problem.buffers)))


def _multiplied(problem: Problem) -> Problem:
    return replace(problem, buffers=tuple(replace(b, size=b.size * FACTOR) for b in problem.buffers))


def _in_a_row(problems: dict[str, Problem], seconds: float) -> Iterator[tuple[object, ...]]:
    for letters in IN_A_ROW:
        whole = _joined([(letter, problems[letter]) for letter in letters])
        yield " + ".join(letters), len(whole.buffers), solve(whole, seconds).cell()


def _joined(parts: list[tuple[str, Problem]]) -> Problem:
    buffers: list[Buffer] = []
    begin = 0
    for letter, problem in parts:
        for buffer in problem.buffers:
            start, end = _life(buffer)
            buffers.append(replace(buffer, id=f"{letter}.{buffer.id}", lifetime=(begin + start, begin + end)))
        begin += _end(problem)
    return replace(parts[0][1], buffers=tuple(buffers))


def _end(problem: Problem) -> int:
    return max(_life(buffer)[1] for buffer in problem.buffers)


def _life(buffer: Buffer) -> tuple[int, int]:
    if not isinstance(buffer.lifetime, tuple):
        raise TypeError(f"buffer {buffer.id!r} has no single lifetime")
    return buffer.lifetime
