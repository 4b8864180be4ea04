"""Limits of proofs about placement costs hold of each layout, by brute force, whatever they are about."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from memstow import Problem
from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.problem import LIMIT, end_of
from memstow.planner.proofs.prove_places import Unit, units_of
from memstow.planner.proofs.questions import conflicts_of, may_leave_the_capacities, pose, up_to
from memstow.solvers.core import Budget, ProofFile
from tests.campaign import gate_first
from tests.checker.checkers import SecondChecker, document_of, tiny_placements
from tests.referee import best

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


def proof_with_limits(rng: Random, problem: Problem, height: int, document: bytes, path: Path) -> bytes:
    """Rows of cliques and what has no layout within some pools, as a search shows it."""
    units, file = units_of(problem, "placement_cost"), ProofFile(str(path), sha256(document).digest())
    pools_of = {index: unit.pools for unit in units for index in unit.members}
    sized = sorted(pools_of)
    unit_of = {index: number for number, unit in enumerate(units) for index in unit.members}
    pairs = conflicts_of(problem, [problem.buffers[index] for index in sized])
    conflicts = {frozenset((sized[one], sized[other])) for one, other in pairs}
    file.lay(height)
    for pool in range(len(problem.pools)):
        crowd = list[int]()
        for index in rng.sample(sized, len(sized)):
            meets = (frozenset((index, j)) in conflicts and unit_of[index] != unit_of[j] for j in crowd)
            if pool in pools_of[index] and all(meets):
                crowd.append(index)
        if crowd:
            file.row(pool, rng.choice((1, 1, 1, 2, 3, 4)), sorted(crowd))
    for _ in range(4):
        some = rng.sample(range(len(units)), rng.randint(1, len(units)))
        pools = {
            one: sorted(rng.sample(units[one].pools, rng.randint(1, len(units[one].pools)))) for one in some
        }
        fewer = within(problem, units, pools)
        kept = [i for i in sized if height < LIMIT or not may_leave_the_capacities(fewer, fewer.buffers[i])]
        posed = pose(fewer, up_to(fewer, height), kept) if kept else None
        steps = None if posed is None else posed[0].kept_steps(posed[1], height, Budget(-1.0, 30_000))[0]
        if steps is not None:
            listed = sorted((rng.choice(units[one].members), places) for one, places in pools.items())
            file.keep_within(height, listed, steps)
    file.finish()
    return path.read_bytes()


@pytest.mark.parametrize("seed", gate_first(range(30), 2))
def test_limits_hold_of_each_layout(tmp_path: Path, seed: int) -> None:
    rng, counts = Random(seed), Counter[str]()
    for _ in range(100):
        problem = replace(tiny_placements(rng), objective=("placement_cost",))
        units = units_of(problem, "placement_cost")
        if len(problem.pools) < 2 or not units or not all(unit.pools for unit in units):
            continue
        height = rng.choice((LIMIT, LIMIT, max(map(end_of, problem.pools)), rng.randint(1, 9)))
        document = document_of(problem)
        proof = MODULE.Proof(
            MODULE.Problem(MODULE.read_json(document)),
            proof_with_limits(rng, problem, height, document, tmp_path / "a.proof"),
        )
        proof.check(sha256(document).digest())
        low = tuple(replace(pool, capacity=min(end_of(pool), height)) for pool in problem.pools)
        problem = problem if height == LIMIT else replace(problem, pools=low)
        if find_issues(problem):  # Pins or reserved ranges are above the height.
            continue
        for limit in proof.limits:
            pools = {pool for _, places, _ in limit.parts for pool in places}
            if limit.room == len(limit.parts) - 1 and all(weight == 1 for _, _, weight in limit.parts):
                fewer = within(problem, units, {unit: places for unit, places, _ in limit.parts})
                assert best(fewer)[0] is Status.INFEASIBLE, (fewer, limit)
                counts["within"] += 1
                continue
            # A layout pays for what is not in the pool.
            buffers = [replace(buffer, accesses=0) for buffer in problem.buffers]
            for unit, _, weight in limit.parts:
                index = units[unit].members[0]
                buffers[index] = replace(buffers[index], accesses=weight)
            costs = (replace(pool, cost=int(k not in pools)) for k, pool in enumerate(problem.pools))
            least = best(replace(problem, buffers=tuple(buffers), pools=tuple(costs)))[1]
            most = 0 if least is None else sum(weight for _, _, weight in limit.parts) - least[0]
            assert most <= limit.room, (problem, limit)
            counts["full" if most == limit.room else "row"] += 1
    assert min(counts[kind] for kind in ("within", "full", "row")) > 5, counts
