"""The two checkers as tests run them, problems and proofs to give to them, and how wrong ones are tried."""

import fcntl
import io
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Final, Generic, TypeVar

import pytest

from memstow import Options, plan
from memstow.planner.check import find_issues
from memstow.planner.formats.native import write_document
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Relative, ReuseCost
from memstow.planner.proofs.prove import why_not
from tests.problems import costly_problem, random_problem

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "checker"
WARNINGS: Final = ("-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
# Without optimisation: compiling takes longer than what most tests have checked.
SANITIZERS: Final = ("-g1", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Compiled in half of the time. Most of what the others find is found without them as well: only the
# campaigns have all.
MOST_SANITIZERS: Final = (
    *SANITIZERS,
    "-fno-sanitize=null,alignment,object-size,vptr,pointer-overflow",
    "-fno-sanitize-address-use-after-scope",
)
OF_ORDERS: Final = ("-DORDERS", "-O1")
"""For the checker of orders, which is given large graphs."""
VERIFIED: Final = 0
WRONG: Final = 1
NOT_CHECKED: Final = 2
WEAKER: Final = 3
HEAD: Final = b"memstow proof 1\n"

Files = tuple[bytes, bytes, bytes]
"""A problem, a plan and a proof."""


def compilers() -> list[str]:
    """The compilers there are."""
    return [name for name in ("g++", "clang++") if shutil.which(name)]


def build(source: Path, program: Path, compiler: str, *flags: str) -> None:
    """Compile it with all warnings as errors."""
    command = [compiler, *WARNINGS, *flags, "-I", str(FOLDER), str(source), "-o", str(program)]
    subprocess.run(command, check=True)


def build_batch(folder: Path, *flags: str) -> Path:
    """The checker that stays, of layouts or, with `-DORDERS`, of orders: compiled once in a folder."""
    program = folder / f"batch{''.join(flags)}"
    with open(f"{program}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            unfinished = Path(f"{program}.unfinished")
            build(Path(__file__).parent / "batch.cpp", unfinished, compilers()[0], *flags)
            unfinished.rename(program)
    return program


def folder_of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of a run share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@dataclass(frozen=True)
class Verdict:
    """The exit code, and what was printed."""

    code: int
    words: str


class Batch:
    """The checker that stays, and is given one case after the other."""

    def __init__(self, program: Path, process: "subprocess.Popen[str]", folder: Path) -> None:
        self.program = program
        self._process = process
        self._paths = [folder / name for name in ("problem.json", "plan.json", "plan.proof")]

    def check(self, files: Files) -> Verdict:
        """What the checker says of these files."""
        for path, data in zip(self._paths, files, strict=True):
            path.write_bytes(data)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("".join(f"{path}\n" for path in self._paths))
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the checker died"
        code, _, words = line.partition(" ")
        return Verdict(int(code), words.strip())


@contextmanager
def batch(program: Path, folder: Path, *options: str) -> Iterator[Batch]:
    """The checker while it runs; its sanitizers must have nothing to say."""
    command: list[str | Path] = [program, *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Batch(program, process, folder)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


class SecondChecker:
    """A checker in Python, which was written from the page alone."""

    def __init__(self, name: str) -> None:
        spec = spec_from_file_location(f"memstow_{name.removesuffix('.py')}", FOLDER / name)
        assert spec is not None
        assert spec.loader is not None
        self.module = module_from_spec(spec)
        sys.modules[spec.name] = self.module
        spec.loader.exec_module(self.module)

    def check(self, files: Files, folder: Path) -> Verdict:
        """What it says of these files."""
        paths = [folder / name for name in ("second.json", "second.plan.json", "second.proof")]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        said = io.StringIO()
        with redirect_stdout(said):
            code = self.module.main([str(path) for path in paths])
        return Verdict(code, said.getvalue().strip())


SECOND: Final = SecondChecker("check.py")


def second(files: Files, folder: Path) -> Verdict:
    """What the second checker of layouts says."""
    return SECOND.check(files, folder)


Case = TypeVar("Case")


@dataclass(frozen=True)
class Attack(Generic[Case]):
    """How cases that hold are made, changed and judged."""

    sample: Callable[[Random, int], Case | None]
    """A case, beside so many; None where this one cannot be had."""
    mutant: Callable[[Random, Case], Files]
    is_true: Callable[[Files, str], bool]
    """Whether what a checker says is so, by brute force."""
    second: Callable[[Files, Path], Verdict]
    mutants_each: int
    """Before there is a new case."""
    referee_each: int = 1
    """One in so many is shown to the second checker, besides all that are verified."""

    def run(self, checker: Batch, folder: Path, count: int, seed: int) -> "Counter[int]":
        """How often each exit code came; an AssertionError where one is wrong, or the checkers disagree."""
        rng, cases, codes = Random(seed), list[Case](), Counter[int]()
        while codes.total() < count:
            if len(cases) < 1 + codes.total() // self.mutants_each:
                case = self.sample(rng, len(cases))
                if case is not None:
                    cases.append(case)
                continue
            files = self.mutant(rng, rng.choice(cases[-20:]))
            verdict = checker.check(files)
            codes[verdict.code] += 1
            try:
                right = verdict.code not in (VERIFIED, WEAKER) or self.is_true(files, verdict.words)
                assert right, (verdict, files)
            except InputError as error:
                raise AssertionError((verdict, error, files)) from error
            if codes.total() % self.referee_each == 0 or verdict.code == VERIFIED:
                other = self.second(files, folder)
                # Where several things are wrong, the two may name different ones.
                agree = other.code == verdict.code or {other.code, verdict.code} == {WRONG, NOT_CHECKED}
                assert agree, (verdict, other, files)
                assert verdict.code != VERIFIED or other.words == verdict.words, (verdict, other, files)
        return codes


def tiny_problem(rng: Random) -> Problem:
    """A tiny problem that proofs have rules for."""
    while True:
        problem = random_problem(rng)
        problem = replace(problem, objective=("max_peak",) if len(problem.pools) > 1 else ("peak",))
        if why_not(problem) is None:
            return problem


def tiny_ties(rng: Random, most: int = 5) -> Problem:
    """A tiny problem with many pairs in place."""
    while True:
        problem = random_problem(rng, most)
        names = [buffer.id for buffer in problem.buffers]
        pairs = [InPlace(input=one, output=other) for one in names for other in names if one < other]
        objective = ("max_peak",) if len(problem.pools) > 1 else ("peak",)
        chosen = tuple(pair for pair in pairs if rng.random() < 0.6)
        problem = replace(problem, in_place=chosen, objective=objective)
        if rng.random() < 0.6:
            chain = [names[k : k + 2] for k in range(0, len(names) - 1, rng.choice((2, 3)))]
            relative = (Relative(buffer=pair[0], base=pair[1], offset=rng.randint(-4, 4)) for pair in chain)
            problem = replace(problem, relative=tuple(relative) if rng.random() < 0.5 else ())
        if rng.random() < 0.7:
            dense = (replace(one, lifetime="always", lifetimes=None) for one in problem.buffers)
            free = tuple(pair for pair in combinations(names, 2) if rng.random() < 0.3)
            problem = replace(problem, buffers=tuple(dense), exclusive=free)
        if chosen and not find_issues(problem) and why_not(problem) is None:
            return problem


def tiny_costs(rng: Random) -> Problem:
    """The same with little room and costs on most overlaps."""
    while True:
        problem = _shared(rng) if rng.random() < 0.3 else costly_problem(rng, 6)
        peak = "max_peak" if len(problem.pools) > 1 else "peak"
        terms = rng.choice((("reuse_cost",), ("reuse_cost", peak), (peak, "reuse_cost")))
        problem = replace(problem, objective=terms)
        if why_not(problem) is None:
            return problem


def dense_costs(rng: Random, count: int) -> Problem:
    """So many buffers in one pool with little room, of which most pairs pay where they share bytes."""
    lives = [
        (begin, begin + rng.randint(1, max(2, count // 4))) for begin in rng.choices(range(count), k=count)
    ]
    buffers = tuple(
        Buffer(id=f"b{k}", size=rng.randint(1, 12), lifetime=life) for k, life in enumerate(lives)
    )
    bare = Problem(pools=(Pool(id="p"),), buffers=buffers)
    least = plan(bare, Options(deterministic=True, work_limit=1_000_000)).objective[0].value
    pairs = combinations([one.id for one in buffers], 2)
    costs = (ReuseCost(buffers=pair, cost=rng.randint(1, 5)) for pair in pairs if rng.random() < 0.8)
    pool = Pool(id="p", capacity=least * rng.randint(10, 15) // 10)
    objective = ("reuse_cost", "peak")
    return Problem(pools=(pool,), buffers=buffers, reuse_costs=tuple(costs), objective=objective)


def tiny_placements(rng: Random) -> Problem:
    """Tiny problems with little room in their pools, and costs of these or preferences first."""
    while True:
        problem = random_problem(rng, 6)
        if len(problem.pools) == 1 and rng.random() < 0.9:
            continue
        terms = rng.choice(
            (
                None,
                ("placement_cost",),
                ("preference",),
                ("placement_cost", "max_peak"),
                ("max_peak", "preference"),
                ("placement_cost", "reuse_cost", "max_peak"),
            )
        )
        pools = [
            pool if pool.capacity or rng.random() < 0.3 else replace(pool, capacity=rng.randint(3, 9))
            for pool in problem.pools
        ]
        problem = replace(problem, pools=tuple(pools), objective=terms)
        # A small capacity may contradict a pin or a reserved range.
        if not find_issues(problem) and why_not(problem) is None:
            return problem


def tiny_sums(rng: Random) -> Problem:
    """Tiny problems of several pools with sums of peaks, or peaks of single pools, among the terms."""
    while True:
        problem = random_problem(rng, 5)
        if len(problem.pools) == 1:
            continue
        pools = [
            pool if pool.capacity or rng.random() < 0.5 else replace(pool, capacity=rng.randint(3, 9))
            for pool in problem.pools
        ]
        own = f"peak:{rng.choice(pools).id}"
        terms = rng.choice(
            (
                None,
                None,
                ("peak",),
                ("peak", "placement_cost"),
                ("preference", "peak"),
                ("placement_cost", "preference", "peak"),
                ("max_peak", "peak"),
                ("peak", "max_peak"),
                (own, "peak", "placement_cost"),
                ("placement_cost", own),
                ("peak", "reuse_cost"),
            )
        )
        buffers = [replace(one, pools=None) if rng.random() < 0.3 else one for one in problem.buffers]
        problem = replace(problem, pools=tuple(pools), buffers=tuple(buffers), objective=terms)
        if not find_issues(problem) and why_not(problem) is None:
            return problem


def tiny_mixed(rng: Random) -> Problem:
    """Tiny problems of all terms in any order, with costs on most overlaps and in most pools."""
    while True:
        problem = random_problem(rng) if rng.random() < 0.7 else costly_problem(rng)
        if len(problem.pools) == 1 and rng.random() < 0.7:
            continue
        names = [buffer.id for buffer in problem.buffers]
        peak = rng.choice(("peak", "max_peak", "peak:fast"))
        terms = rng.sample(("placement_cost", "preference", "reuse_cost", peak), rng.randint(1, 4))
        pools = [
            replace(pool, cost=rng.randint(0, 4))
            if pool.capacity or rng.random() < 0.3
            else replace(pool, cost=rng.randint(0, 4), capacity=rng.randint(3, 9))
            for pool in problem.pools
        ]
        buffers = [replace(one, pools=None) if rng.random() < 0.5 else one for one in problem.buffers]
        problem = replace(
            problem,
            pools=tuple(pools),
            buffers=tuple(buffers),
            reuse_costs=tuple(
                ReuseCost(buffers=pair, cost=rng.randint(0, 4))
                for pair in combinations(names, 2)
                if rng.random() < 0.6
            ),
            objective=tuple(terms),
        )
        if not find_issues(problem) and why_not(problem) is None:
            return problem


def _shared(rng: Random) -> Problem:
    """Buffers that live one after the other, of which few fit beside each other: many cores, and a tree."""
    buffers = [
        Buffer(id=f"b{i}", size=rng.choice((1, 1, 2)), lifetime=(i, i + 1)) for i in range(rng.randint(4, 7))
    ]
    costs = [
        ReuseCost(buffers=(one.id, other.id), cost=rng.randint(0, 4))
        for one, other in combinations(buffers, 2)
        if rng.random() < 0.9
    ]
    pool = Pool(id="m", capacity=rng.choice((2, 2, 3)))
    return Problem(buffers=buffers, pools=[pool], reuse_costs=costs)


def document_of(problem: Problem) -> bytes:
    """The problem as a file."""
    return write_document(problem)


def numbers_of(data: bytes) -> list[int]:
    """Numbers in the form of a proof."""
    numbers, value, shift = list[int](), 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def bytes_of(numbers: list[int]) -> bytes:
    """The same, written."""
    data = bytearray()
    for value in numbers:
        while value >= 128:
            data.append(value & 127 | 128)
            value >>= 7
        data.append(value)
    return bytes(data)


LARGE: Final = (
    1 << 62,
    (1 << 62) + 1,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 32) - 1,
    1 << 31,
)


def change_numbers(rng: Random, numbers: list[int]) -> None:
    """Change, add or leave out one or some."""
    at = rng.randrange(len(numbers))
    kind = rng.randrange(6)
    if kind == 0:
        numbers[at] = max(numbers[at] + rng.choice((-2, -1, 1, 2)), 0)
    elif kind == 1:
        numbers[at] = rng.choice((rng.randrange(8), rng.choice(numbers), rng.choice(LARGE)))
    elif kind == 2:
        numbers.insert(at, rng.randrange(6))
    elif kind == 3 and len(numbers) > 1:
        del numbers[at]
    elif kind == 4:
        other = rng.randrange(len(numbers))
        numbers[at], numbers[other] = numbers[other], numbers[at]
    else:
        end = min(at + rng.randint(1, 8), len(numbers))
        numbers[at:at] = numbers[at:end]


def change_bytes(rng: Random, data: bytes) -> bytes:
    """Change, add or leave out some."""
    changed, at = bytearray(data), rng.randrange(len(data))
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(changed[:at])
    if kind == 1:
        changed[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        changed[at:at] = rng.randbytes(rng.randint(1, 4))
    else:
        changed += changed[at:]
    return bytes(changed)
