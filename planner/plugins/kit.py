"""Tries a plug-in out: a solver against brute force on tiny problems, a format by what comes back of it.

A failure is an AssertionError that shows the problem. The plug-in runs in this process, so that a debugger
sees it.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations, permutations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import memstow
from memstow.planner.generate.random_problems import Chance, mixed
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, allowed_pools, end_of, spans
from memstow.planner.plugins.interface import Search
from memstow.planner.verify import verify

FEATURES: Final = (
    "alignments",
    "always",
    "capacities",
    "conflicts",
    "exclusive",
    "lifetimes",
    "pins",
    "pools",
    "reserved",
    "zero",
)
"""What may be mixed into the problems; without any, they are buffers in one memory."""
_MOST_BUFFERS: Final = 5
_MEMORY: Final = 1 << 30
_SECONDS: Final = 10.0
_WORK: Final = 5_000
"""Steps, of a solver that is deterministic: enough for all orders of few buffers."""


def check_solver(
    solver: Any,
    *,
    features: Collection[str] = (),
    problems: int = 200,
    seed: int = 0,
    finds_optimum: bool = False,
) -> int:
    """Run a solver on so many tiny problems with these features, and return of how many it had a plan.

    Each plan must be valid, also those that it offers; what it claims must be so, as brute force finds; the
    checker must accept its proofs; if it is deterministic, two runs must give one plan. With `finds_optimum`,
    each plan must be the best.
    """
    if isinstance(solver, type):
        solver = solver()
    solved = 0
    for problem in tiny_problems(features, problems, seed):
        declines = getattr(solver, "declines", None)
        if declines is not None and declines(problem) is not None:
            continue
        best = least(problem)
        document = memstow.write_problem(problem, "json")
        offers = _offers_of(solver, problem, document, seed)
        plans = [plan for plan, _ in offers]
        for plan, proof in offers:
            _check_plan(problem, plan, best)
            if proof is not None:
                _check_proof(problem, document, plan, proof)
        last = next((plan for plan in reversed(plans) if plan.status in PLANNED), None)
        solved += last is not None
        if finds_optimum and best is not None:
            _require(last is not None, "it has no plan, and there is one", problem)
            value = None if last is None else peak_of(problem, last)
            _require(value == best[0], f"its plan has a peak of {value}, and the least is {best[0]}", problem)
        if getattr(solver, "deterministic", False):
            again = _offers_of(solver, problem, document, seed)
            _require(again[-1:] == offers[-1:], "two runs give two plans", problem)
    assert solved, f"it had no plan for any of {problems:,} problems with {', '.join(features) or 'nothing'}"  # noqa: S101
    return solved


def _offers_of(solver: Any, problem: Problem, document: bytes, seed: int) -> list[tuple[Plan, bytes | None]]:
    """The plans of a run, with the proofs that it offered of them."""
    offers: list[tuple[Plan, bytes | None]] = []
    work = _WORK if getattr(solver, "deterministic", False) else None
    seconds = _SECONDS if work is None else None

    def hear(plan: Plan, proof: bytes | None) -> None:
        offers.append((plan, proof))

    plan = solver.solve(problem, Search(seconds, work, seed, 1, _MEMORY, None, hear, document))
    if plan is not None:
        _require(
            isinstance(plan, Plan), f"it returned {type(plan).__name__}, and not a memstow.Plan", problem
        )
        offers.append((plan, None))
    return offers


def _check_proof(problem: Problem, document: bytes, plan: Plan, proof: bytes) -> None:
    bare = Plan(status=Status.FEASIBLE, placements=plan.placements)
    of = bare if plan.status in PLANNED else Plan(status=Status.INFEASIBLE)
    with TemporaryDirectory(prefix="memstow-") as folder:
        path = Path(folder) / "plan.proof"
        path.write_bytes(proof)
        checked = memstow.check_proof(document, of, path)
    shows = checked.shows if plan.status in PLANNED else checked.verified
    _require(shows, f"its proof does not count: {checked.says}", problem)


def _check_plan(problem: Problem, plan: Plan, best: "tuple[int, Plan] | None") -> None:
    if plan.status not in PLANNED:
        refuted = plan.status is Status.INFEASIBLE and best is not None
        _require(not refuted, "it says that nothing fits, and there is a plan", problem)
        return
    violations = verify(problem, Plan(status=Status.FEASIBLE, placements=plan.placements))
    _require(not violations, f"its plan is not valid: {violations[0] if violations else ''}", problem)
    _require(best is not None, "brute force has no plan; please report it", problem)
    if best is None:
        return
    if plan.status is Status.OPTIMAL:
        value = peak_of(problem, plan)
        _require(value == best[0], f"it says that {value} is optimal, and the least is {best[0]}", problem)
    for term in plan.objective[:1]:
        _require(term.bound <= best[0], f"its bound is {term.bound}, and the least is {best[0]}", problem)


def check_format(
    form: Any,
    *,
    features: Collection[str] = (),
    problems: int = 50,
    seed: int = 0,
    samples: Collection[bytes] = (),
) -> int:
    """Try a format on so many tiny problems with these features, and return how many it could write.

    What it writes and reads again must be the same problem or the same places; what it has no place for, and
    bytes that it cannot read, must raise `memstow.InputError`, whatever becomes of the `samples`.
    """
    if isinstance(form, type):
        form = form()
    reads, writes = (callable(getattr(form, f"{way}_problem", None)) for way in ("read", "write"))
    assert reads or writes, "it can neither read nor write problems"  # noqa: S101
    written = list(samples)
    for problem in tiny_problems(features, problems if writes else 0, seed):
        try:
            data = form.write_problem(problem)
        except InputError:
            continue
        _require(isinstance(data, bytes), f"it wrote {type(data).__name__}, and not bytes", problem)
        written.append(data)
        if reads:
            _require(
                digest(form.read_problem(data)) == digest(problem), f"it comes back else: {data!r}", problem
            )
        _check_plans(form, problem)
    assert written or not writes, "it could write none of the problems"  # noqa: S101
    if reads:
        for data in written:
            for damaged in (data, *_damaged(data, seed)):
                _check_reading(form, damaged)
    return len(written) - len(samples)


def _check_plans(form: Any, problem: Problem) -> None:
    best = least(problem)
    if best is None or not callable(getattr(form, "write_plan", None)):
        return
    try:
        data = form.write_plan(problem, best[1])
    except InputError:
        return
    _require(isinstance(data, bytes), f"it wrote {type(data).__name__}, and not bytes", problem)
    if callable(getattr(form, "read_plan", None)):
        places = {place.buffer: place for place in form.read_plan(data, problem).placements}
        wanted = {place.buffer: place for place in best[1].placements}
        _require(places == wanted, f"the plan comes back else: {data!r}", problem)


def _check_reading(form: Any, data: bytes) -> None:
    try:
        document = form.read_problem(data)
    except InputError:
        return
    except Exception as error:
        raise AssertionError(f"{data!r} raises {type(error).__name__}, and not memstow.InputError") from error
    assert isinstance(document, Problem | Graph), f"{data!r} is read as {type(document).__name__}"  # noqa: S101


def _damaged(data: bytes, seed: int) -> Iterator[bytes]:
    """The bytes with a part cut off, left out, repeated or changed."""
    chance = Chance(seed)
    yield b""
    for _ in range(20):
        at = chance.below(len(data) + 1)
        end = min(len(data), at + chance.between(1, 8))
        yield data[:at]
        yield data[:at] + data[end:]
        yield data[:end] + data[at:]
        yield data[:at] + bytes(chance.below(256) for _ in range(end - at)) + data[end:]


def _require(holds: object, message: str, problem: Problem) -> None:
    if not holds:
        raise AssertionError(f"{message}\n{problem}")


def tiny_problems(features: Collection[str], count: int, seed: int) -> Iterator[Problem]:
    """So many problems of few buffers, the same ones for a seed; with `capacities` some have no room."""
    unknown = set(features) - set(FEATURES)
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: use some of {', '.join(FEATURES)}")
    chance = Chance(seed)
    for number in range(count):
        draft = mixed(
            chance.between(1, _MOST_BUFFERS),
            seed + number,
            features=features,
            horizon=chance.between(2, 6),
            largest=1 << chance.between(1, 7),
        )
        pools = tuple(replace(pool, cost=0) for pool in draft.pools)
        buffers = tuple(replace(buffer, accesses=None) for buffer in draft.buffers)
        problem = replace(draft, pools=pools, buffers=buffers, objective=("peak",), name=None)
        if "capacities" in features and len(pools) == 1 and chance.happens(0.5):
            problem = _with_little_room(chance, problem)
        yield problem


def _with_little_room(chance: Chance, problem: Problem) -> Problem:
    """The problem in a memory of just the bytes that it needs, or of one less."""
    best = least(problem)
    low = max((entry.offset + entry.size for entry in problem.pools[0].reserved), default=0)
    low = max(
        [low, *(buffer.offset + buffer.size for buffer in problem.buffers if buffer.offset is not None)]
    )
    if best is None or best[0] <= low:
        return problem
    capacity = best[0] - chance.below(2)
    return replace(problem, pools=(replace(problem.pools[0], capacity=capacity),))


def peak_of(problem: Problem, plan: Plan) -> int:
    """The peaks of all pools together."""
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    ends: dict[str, int] = {}
    for place in plan.placements:
        if size_of[place.buffer]:
            ends[place.pool] = max(ends.get(place.pool, 0), place.offset + size_of[place.buffer])
    return sum(ends.values())


def least(problem: Problem) -> tuple[int, Plan] | None:
    """The least peak of a tiny problem, and a plan of it, by brute force; None where nothing fits.

    In some best plan each buffer is as low as those allow that are below it, so all orders of placing them,
    each as low as can be, have a best plan among them.
    """
    apart = _apart(problem)
    best: tuple[int, Plan] | None = None
    for pools in product(*(allowed_pools(problem, buffer) for buffer in problem.buffers)):
        places: dict[str, Placement] = {}
        total = 0
        for pool in problem.pools:
            inside = [buffer for buffer, name in zip(problem.buffers, pools, strict=True) if name == pool.id]
            lowest = _least_in(pool, inside, apart)
            if lowest is None:
                break
            total += lowest[0]
            places |= {
                name: Placement(buffer=name, pool=pool.id, offset=offset)
                for name, offset in lowest[1].items()
            }
        else:
            if best is None or total < best[0]:
                in_order = tuple(places[buffer.id] for buffer in problem.buffers)
                best = total, Plan(status=Status.FEASIBLE, placements=in_order)
    return best


def _apart(problem: Problem) -> frozenset[frozenset[str]]:
    """The pairs that may not share a byte."""
    pairs = {frozenset(pair) for pair in problem.conflicts}
    for one, other in combinations(problem.buffers, 2):
        always = "always" in (one.lifetime, other.lifetime)
        times = (spans(one), spans(other))
        if always or any(a < d and c < b for a, b in times[0] for c, d in times[1]):
            pairs.add(frozenset((one.id, other.id)))
    return frozenset(pairs - {frozenset(pair) for pair in problem.exclusive})


def _least_in(
    pool: Pool, buffers: list[Buffer], apart: frozenset[frozenset[str]]
) -> tuple[int, dict[str, int]] | None:
    pinned = [buffer for buffer in buffers if buffer.offset is not None]
    free = [buffer for buffer in buffers if buffer.offset is None]
    best: tuple[int, dict[str, int]] | None = None
    for order in permutations(free):
        offsets: dict[str, int] = {}
        placed: list[Buffer] = []
        for buffer in (*pinned, *order):
            offset = _lowest(pool, buffer, placed, offsets, apart)
            if offset is None:
                break
            offsets[buffer.id] = offset
            placed.append(buffer)
        else:
            peak = max((offsets[buffer.id] + buffer.size for buffer in placed if buffer.size), default=0)
            if best is None or peak < best[0]:
                best = peak, offsets
    return best


def _lowest(
    pool: Pool,
    buffer: Buffer,
    placed: list[Buffer],
    offsets: dict[str, int],
    apart: frozenset[frozenset[str]],
) -> int | None:
    """The lowest offset beside what is placed, or that of its pin; None where it has none."""
    taken = [(entry.offset, entry.offset + entry.size) for entry in pool.reserved]
    taken += [
        (offsets[other.id], offsets[other.id] + other.size)
        for other in placed
        if other.size and frozenset((other.id, buffer.id)) in apart
    ]
    step = max(buffer.alignment, pool.alignment)  # powers of two
    begins = [0, *(end for _, end in taken)] if buffer.offset is None else [buffer.offset]
    for begin in sorted(-(-begin // step) * step for begin in begins):
        end = begin + buffer.size
        clear = not buffer.size or all(end <= low or high <= begin for low, high in taken)
        if clear and end <= end_of(pool) and (buffer.offset is None or begin == buffer.offset):
            return begin
    return None
