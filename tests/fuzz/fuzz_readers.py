"""Any bytes, in every reader: out comes a problem or a plan, or an InputError, and soon.

`python -m tests.fuzz.fuzz_readers --seconds 120 --seed 7`
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.graph.documents import retarget
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_options, parse_plan, parse_target
from memstow.planner.reading.sections import MOST_REPORTED
from tests.fuzz.seeds import PLANS, PROBLEM, PROBLEMS

SLOW: Final = 5.0
_PIECES: Final = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1b[2J"),
    *(
        b"-1",
        b"0",
        b"3.0",
        b"1e999",
        b"NaN",
        b"9" * 25,
        b"9" * 5000,
        b"null",
        b"true",
        b'"\\ud800"',
        b'"\\u0000"',
        b"[" * 2000,
    ),
    *(
        b'"id"',
        b'"size"',
        b'"lifetime"',
        b'"always"',
        b'"pools"',
        b'"version"',
        b'"kind"',
        b"a",
        b"@1:2",
        b"1-2",
    ),
)


def mutated(rng: Random, data: bytes) -> bytes:
    """The bytes with a few accidents."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice(_ACCIDENTS)(rng, data)
    return data


def _cut(rng: Random, data: bytes) -> bytes:
    begin = rng.randint(0, len(data))
    return data[:begin] + data[rng.randint(begin, min(len(data), begin + 30)) :]


def _insert(rng: Random, data: bytes) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.choice(_PIECES) + data[place:]


def _replace(rng: Random, data: bytes) -> bytes:
    place = rng.randint(0, len(data))
    piece = rng.choice(_PIECES)
    return data[:place] + piece + data[place + len(piece) :]


def _repeat(rng: Random, data: bytes) -> bytes:
    begin = rng.randint(0, len(data))
    end = rng.randint(begin, min(len(data), begin + 200))
    return data[:begin] + data[begin:end] * rng.choice((2, 3, 500)) + data[end:]


def _flip(rng: Random, data: bytes) -> bytes:
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


_ACCIDENTS: Final[tuple[Callable[[Random, bytes], bytes], ...]] = (_cut, _insert, _replace, _repeat, _flip)


def check(data: bytes) -> int:
    """Read the bytes in every way; the number of ways in which something came out."""
    ways: list[Callable[[], Any]] = [
        lambda: _sound(formats.read_problem(data)),
        lambda: formats.read_plan(data, PROBLEM),
        lambda: parse_plan(parse_json(data)),
        lambda: parse_options(parse_json(data)),
        lambda: _planned_for(data),
    ]
    ways += [partial(_read_as, data, name) for name in formats.readable_names()]
    own = ("xla", *formats.RECORDED)
    ways += [partial(formats.read_plan, data, PROBLEM, name) for name in (*formats.plan_names(), *own)]
    return sum(_came_out(way) for way in ways)


def _read_as(data: bytes, name: str) -> Problem:
    return _sound(formats.read_problem(data, name))


def _planned_for(data: bytes) -> Problem:
    """A problem in the memories of a target that the bytes may be."""
    return _sound(retarget(PROBLEM, parse_target(parse_json(data))))


def _sound(problem: Problem) -> Problem:
    assert not find_issues(problem)
    again = formats.read_problem(formats.write_problem(problem, "json"))
    assert again == problem
    return problem


def _came_out(way: Callable[[], Any]) -> bool:
    started = time.process_time()
    refused = None
    try:
        way()
    except InputError as error:
        refused = error
    assert time.process_time() - started < SLOW, "too slow"
    if refused is not None:
        assert refused.issues, "refused without a reason"
        assert len(refused.issues) <= MOST_REPORTED + 1, "more issues than anyone reads"
        for issue in refused.issues:
            assert str(issue).isprintable(), f"not safe to print: {str(issue)!r}"
            assert len(str(issue)) < 8_000, f"too long to read: {str(issue)[:200]!r}"
    return refused is None


def run(seconds: float, seed: int) -> tuple[int, int]:
    """Inputs tried and values that came out, within the time."""
    rng = Random(seed)
    tried = came_out = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if rng.random() < 0.1:
            data = rng.randbytes(rng.randint(0, 300))
        else:
            data = mutated(rng, rng.choice(PROBLEMS + PLANS))
        try:
            came_out += check(data)
        except BaseException:
            kept = Path("fuzz-failure.bin")
            kept.write_bytes(data)
            sys.stderr.write(f"failed after {tried} inputs (seed {seed}); the input is in {kept}\n")
            raise
        tried += 1
    return tried, came_out


def main() -> None:
    """Fuzz for the time asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    tried, came_out = run(args.seconds, args.seed)
    sys.stdout.write(f"{tried} inputs, {came_out} problems, plans and options came out (seed {args.seed})\n")


if __name__ == "__main__":
    main()
