"""Limits and statements of proofs about costs hold of each layout, whatever they are about."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memstow import Options, Problem, plan
from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.problem import LIMIT, allowed_pools, end_of
from memstow.planner.proofs.prove import prove_within
from memstow.planner.proofs.prove_places import Unit, spending, units_of
from memstow.planner.proofs.questions import COST_TERMS, Heights, conflicts_of, pose, sharing_pairs, up_to
from memstow.solvers.core import Budget, ProofFile
from tests.campaign import gate_first
from tests.checker.checkers import SecondChecker, document_of, tiny_mixed, tiny_placements
from tests.referee import Places, best, breaks, cost, least

MODULE = SecondChecker("check.py").module


def within(problem: Problem, units: Sequence[Unit], pools: dict[int, list[int]]) -> Problem:
    """The same, with some units in some of their pools alone."""
    buffers = list(problem.buffers)
    for number, places in pools.items():
        for index in units[number].members:
            if buffers[index].pool is None:
                names = tuple(problem.pools[place].id for place in places)
                buffers[index] = replace(buffers[index], pools=names)
    return replace(problem, buffers=tuple(buffers))


def proof_with_limits(
    rng: Random, problem: Problem, heights: Heights, document: bytes, path: Path
) -> tuple[bytes, int]:
    """Rows of cliques, how many, and what has no layout within some pools, as a search shows it."""
    units, file = units_of(problem, "placement_cost"), ProofFile(str(path), sha256(document).digest())
    pools_of = {index: frozenset(unit.pools) for unit in units for index in unit.members}
    sized = sorted(pools_of)
    unit_of = {index: number for number, unit in enumerate(units) for index in unit.members}
    pairs = conflicts_of(problem, [problem.buffers[index] for index in sized])
    conflicts = {frozenset((sized[one], sized[other])) for one, other in pairs}
    number = file.name_heights(heights.numbers)
    file.lay(number)

    def crowd_in(pools: Sequence[int]) -> list[int]:
        crowd = list[int]()
        for index in rng.sample(sized, len(sized)):
            meets = (frozenset((index, j)) in conflicts and unit_of[index] != unit_of[j] for j in crowd)
            if not pools_of[index].isdisjoint(pools) and all(meets):
                crowd.append(index)
        return sorted(crowd)

    for pool in range(len(problem.pools)):
        if crowd := crowd_in([pool]):
            file.row(pool, rng.choice((1, 1, 1, 2, 3, 4)), crowd)
    for _ in range(0 if heights.total == LIMIT else 3):
        some = rng.sample(range(len(problem.pools)), rng.randint(1, len(problem.pools)))
        crowd = crowd_in(some)
        rows = [[i for i in crowd if k in some and k in pools_of[i]] for k in range(len(problem.pools))]
        if crowd:
            file.rows(rng.choice((1, 1, 1, 2, 3)), rows)
    rows_in_all = file.steps - 2
    for _ in range(4):
        some = rng.sample(range(len(units)), rng.randint(1, len(units)))
        pools = {
            one: sorted(rng.sample(units[one].pools, rng.randint(1, len(units[one].pools)))) for one in some
        }
        fewer = within(problem, units, pools)
        ends = {pool.id for pool, peak in zip(problem.pools, heights.peaks, strict=True) if peak < LIMIT}
        kept = [i for i in sized if ends.issuperset(allowed_pools(fewer, fewer.buffers[i]))]
        posed = pose(fewer, heights, kept) if kept else None
        steps = None if posed is None else posed[0].kept_steps(posed[1], number, Budget(-1.0, 30_000))[0]
        if steps is not None:
            listed = sorted((rng.choice(units[one].members), places) for one, places in pools.items())
            file.keep_within(number, listed, steps)
    file.finish()
    return path.read_bytes(), rows_in_all


@pytest.mark.parametrize("seed", gate_first(range(30), 2))
def test_limits_hold_of_each_layout(tmp_path: Path, seed: int) -> None:
    rng, counts = Random(seed), Counter[str]()
    for _ in range(100):
        problem = replace(tiny_placements(rng), objective=("placement_cost",))
        units = units_of(problem, "placement_cost")
        if len(problem.pools) < 2 or not units or not all(unit.pools for unit in units):
            continue
        height = rng.choice((LIMIT, LIMIT, max(map(end_of, problem.pools)), rng.randint(1, 9)))
        heights = up_to(problem, height)
        if rng.random() < 0.6:
            peaks = (min(peak, rng.choice((LIMIT, rng.randint(0, 9)))) for peak in heights.peaks)
            lowest = best(replace(problem, objective=("peak",)))[1] or (9,)
            heights = Heights(tuple(peaks), rng.choice((LIMIT, lowest[0], lowest[0], lowest[0] + 1)))
        document = document_of(problem)
        data, rows_in_all = proof_with_limits(rng, problem, heights, document, tmp_path / "a.proof")
        proof = MODULE.Proof(MODULE.Problem(MODULE.read_json(document)), data)
        proof.check(sha256(document).digest())
        together = zip(problem.pools, heights.peaks, strict=True)
        low = tuple(replace(pool, capacity=None if peak == LIMIT else peak) for pool, peak in together)
        problem = replace(problem, pools=low, objective=("peak", "placement_cost"))
        if find_issues(problem):  # Pins or reserved ranges are above the height.
            continue
        for number, limit in enumerate(proof.limits):
            pools = {pool for _, places, _ in limit.parts for pool in places}
            if number >= rows_in_all:
                fewer = within(problem, units, {unit: places for unit, places, _ in limit.parts})
                assert best(fewer)[0] is Status.INFEASIBLE, (fewer, limit)
                counts["within"] += 1
                continue
            # A layout pays for what is not in the pool.
            buffers = [replace(buffer, accesses=0) for buffer in problem.buffers]
            weights = {unit: weight for unit, _, weight in limit.parts}
            for unit, weight in weights.items():
                index = units[unit].members[0]
                buffers[index] = replace(buffers[index], accesses=weight)
            costs = (replace(pool, cost=int(k not in pools)) for k, pool in enumerate(problem.pools))
            paying = replace(problem, buffers=tuple(buffers), pools=tuple(costs))
            cheapest = least(paying, "placement_cost", (heights.total,))
            most = 0 if cheapest is None else sum(weights.values()) - cheapest
            assert most <= limit.room, (problem, limit)
            is_sum = limit.room == heights.total and len(pools) > 1
            counts["sum " * is_sum + ("full" if most == limit.room else "row")] += 1
    assert min(counts[kind] for kind in ("within", "full", "row", "sum row")) > 5, counts
    assert counts["sum full"] > 0


def any_layout(rng: Random, problem: Problem) -> Places | None:
    """A layout, one buffer after the other wherever there is room; None where that comes to nothing."""
    places: Places = {}
    for buffer in rng.sample(problem.buffers, len(problem.buffers)):
        names = allowed_pools(problem, buffer)
        free = [
            there
            for name in names
            for at in (range(13) if buffer.offset is None else (buffer.offset,))
            for there in [(name, at)]
            if not breaks(problem, {**places, buffer.id: there})
        ]
        if not free:
            return None
        lowest = [there for there in free if there[1] == min(at for _, at in free)]
        places[buffer.id] = rng.choice(free if rng.random() < 0.5 else lowest)
    return places


def random_rows(rng: Random, problem: Problem, document: bytes, path: Path) -> bytes:
    """For any heights what buffers take that never share, or pay for it, and what is spent."""
    file, pools = ProofFile(str(path), sha256(document).digest()), range(len(problem.pools))
    sized = [i for i, buffer in enumerate(problem.buffers) if buffer.size]
    pairs = conflicts_of(problem, [problem.buffers[i] for i in sized])
    near = {frozenset((sized[one], sized[other])) for one, other in pairs}
    near |= {frozenset((pair.first, pair.second)) for pair in sharing_pairs(problem)}
    unit_of = {i: unit for unit in units_of(problem, "reuse_cost") for i in unit.members}
    for _ in range(6):
        peaks = tuple(rng.choice((LIMIT, rng.randint(0, 12))) for _ in pools)
        one, other, third = (rng.choice((LIMIT, rng.randint(0, 30))) for _ in range(3))
        heights = Heights(peaks, rng.choice((LIMIT, rng.randint(0, 20))), (one, other, third))
        file.lay(file.name_heights(heights.numbers))
        for number, (term, most) in enumerate(zip(COST_TERMS, heights.costs, strict=True)):
            if spending(problem, term, most, ()) is not None:
                file.spent(number)
        rows = list[list[int]]()
        for k in pools:
            some = list[int]()
            for i in rng.sample(sized, len(sized)):
                meets = (frozenset((i, j)) in near and unit_of[i] != unit_of[j] for j in some)
                if k in unit_of[i].pools and all(meets):
                    some.append(i)
            rows.append(sorted(some))
            there = [i for i in sized if k in unit_of[i].pools and rng.random() < 0.8]
            if there and min(peaks[k], end_of(problem.pools[k])) < LIMIT:
                random_chains(rng, problem, file, k, there)
            if some:
                file.row(k, rng.choice((1, 1, 1, 2, 3, 4)), rows[-1])
        if heights.total < LIMIT:
            file.rows(rng.choice((1, 1, 2, 3)), rows)
    file.finish()
    return path.read_bytes()


def random_chains(rng: Random, problem: Problem, file: ProofFile, pool: int, some: Sequence[int]) -> None:
    """For any prices and tolls what these buffers weigh, where no chain is worth more."""
    pairs = conflicts_of(problem, [problem.buffers[i] for i in some])
    units = [next(unit for unit in units_of(problem, "reuse_cost") if i in unit.members) for i in some]
    apart = {(a, b) for a, b in pairs if units[a] != units[b]}
    prices = [rng.randint(0, 5) for _ in some]
    tolls = {pair: rng.randint(0, 6) for pair in sharing_pairs(problem) if rng.random() < 0.8}
    at = {i: place for place, i in enumerate(some)}
    both = {
        (at[one.first], at[one.second]): toll
        for one, toll in tolls.items()
        if {one.first, one.second} <= {*some}
    }

    def toll(a: int, b: int) -> int:
        pair = (min(a, b), max(a, b))
        return 99 if pair in apart else both.get(pair, 0)

    def worth(chain: Sequence[int]) -> int:
        return sum(prices[a] for a in chain) - sum(toll(a, b) for a, b in combinations(chain, 2))

    def tree(rests: dict[int, int]) -> list[int]:
        if not rests:
            return [0]
        first = rng.choice([*rests])
        fewer = {k: rests[k] - toll(first, k) for k in rests if k != first}
        without = {k: rest for k, rest in rests.items() if k != first}
        return [1, first, *tree({k: rest for k, rest in fewer.items() if rest > 0}), *tree(without)]

    places = range(len(some))
    most = max(worth(chain) for count in range(len(some) + 1) for chain in combinations(places, count))
    listed = [(some[a], price) for a, price in enumerate(prices)]
    listed += [(pair.number, toll) for pair, toll in tolls.items()]
    file.chains(pool, most + rng.choice((0, 0, 1)), listed, tree(dict(enumerate(prices))))


def place_of(problem: Problem, unit: Any, places: Places) -> int:
    """The pool of a unit of the second checker; of a pair whether it shares bytes."""
    if unit.members:
        name = places[problem.buffers[unit.members[0]].id][0]
        return [pool.id for pool in problem.pools].index(name)
    one, other = (problem.buffers[i] for i in unit.pair)
    (pool, begin), (there, beside) = places[one.id], places[other.id]
    have_bytes = one.size > 0 and other.size > 0
    return int(have_bytes and pool == there and begin < beside + other.size and beside < begin + one.size)


@pytest.mark.parametrize("seed", gate_first(range(100), 2))
def test_all_that_is_stated_of_costs_holds_of_each_layout(tmp_path: Path, seed: int) -> None:
    rng, counts = Random(seed), Counter[str]()
    for count in range(60):
        problem = tiny_mixed(rng)
        document, path = document_of(problem), tmp_path / "a.proof"
        if count % 2:
            answer = plan(problem, Options(deterministic=True, work_limit=1_000_000))
            if prove_within(problem, answer, document, str(path), Budget(-1.0, 5_000_000)) is None:
                continue
            data = path.read_bytes()
        else:
            data = random_rows(rng, problem, document, path)
        known = MODULE.Problem(MODULE.read_json(document))
        proof = MODULE.Proof(known, data)
        proof.check(sha256(document).digest())
        peaks = [f"peak:{pool.id}" for pool in problem.pools]
        terms = (*peaks, "peak", "placement_cost", "preference", "reuse_cost")
        for _ in range(40):
            places = any_layout(rng, problem)
            if places is None:
                continue
            # What is no term costs nothing.
            values = list(cost(replace(problem, objective=terms), places))
            for k in (-3, -2):
                values[k] = values[k] if terms[k] in problem.terms() else 0

            for limit in proof.limits:
                if all(value <= most for value, most in zip(values, limit.heights, strict=True)):
                    weights = ((known.units[unit], pools, weight) for unit, pools, weight in limit.parts)
                    taken = sum(
                        weight for unit, pools, weight in weights if place_of(problem, unit, places) in pools
                    )
                    assert taken <= limit.room, (problem, places, limit)
                    counts["full" if taken == limit.room else "limit"] += 1
            for one in proof.statements:
                if all(value <= most for value, most in zip(values, one.heights, strict=True)):
                    value = values[terms.index(one.term.replace(" ", "_"))]
                    assert value >= one.least, (problem, places, one)
                    counts["least" if value == one.least else "statement"] += 1
    # In some runs no layout costs more than what is stated, which shows more than one that does.
    assert min(counts[kind] for kind in ("full", "limit", "least")) > 5, counts
