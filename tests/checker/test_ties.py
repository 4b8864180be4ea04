"""Pairs in place that tie or are apart: what the rules say of contexts is so, by trying all layouts."""

import json
from collections import Counter
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memstow import Options, plan
from memstow.planner.formats.native import write_plan
from memstow.planner.model import Status
from memstow.planner.model.problem import Buffer, InPlace, Problem
from memstow.planner.proofs.prove import prove_within
from memstow.planner.proofs.questions import pose, up_to
from memstow.solvers.core import Budget
from tests.campaign import gate_first
from tests.checker import derivations
from tests.checker.checkers import (
    HEAD,
    VERIFIED,
    Attack,
    Batch,
    bytes_of,
    document_of,
    second,
    tiny_problem,
    tiny_ties,
)
from tests.checker.mutations import Case, is_true, mutant


def random_context(rng: Random, problem: Any, most: int) -> Any:
    """Some buffers in some ranges."""
    sized = [i for i, one in enumerate(problem.buffers) if one.size]
    some = rng.sample(sized, rng.randint(min(2, len(sized)), len(sized)))
    ranges = []
    for i in sorted(some):
        low = rng.randint(0, most)
        ranges.append((i, low, min(low + rng.choice((0, 1, 2, 4, 8)), most + 2)))
    return type(derivations.context_of(problem, 0, False))(problem, ranges)


@pytest.mark.parametrize("seed", gate_first(range(40), 2))
def test_no_rule_loses_a_layout(seed: int) -> None:
    rng, counts = Random(seed), Counter[str]()
    while counts["rules"] < 3_000:
        problem = derivations.problem_of(json.loads(document_of(tiny_ties(rng))), rng.random() < 0.9)
        if len(problem.pools) > 1:
            heights = [rng.randint(2, 6)] * len(problem.pools)
            if rng.random() < 0.5:
                heights = [rng.randint(0, 6) for _ in heights]
            problem.lay_space((*heights, 1 << 62))
        if problem.open and rng.random() < 0.3:
            problem.apart = {frozenset(rng.choice(problem.open))}
        if not any(one.size for one in problem.buffers):
            continue
        for _ in range(10):
            context = random_context(rng, problem, min(problem.end, 8))
            if context.dead:
                continue
            before = list(derivations.layouts(problem, context.ranges))
            ties = any(x[i] == x[j] and problem.partners(i, j) for x in before for i in x for j in x if i < j)
            counts["ties"] += ties
            pushed = context.copy()
            for _ in range(3):
                pushed.push(rng.choice(list(context.ranges)))
            after = [] if pushed.dead else list(derivations.layouts(problem, pushed.ranges))
            assert {frozenset(x.items()) for x in before} == {frozenset(x.items()) for x in after}
            crowd = derivations.random_crowd(rng, problem, context)
            if derivations.is_overfull(problem, context, crowd):
                counts["overfull"] += 1
                assert not before
            for _ in range(8):
                rule = derivations.random_rule(rng, context.ranges)
                cases = derivations.cases_of(problem, context.ranges, rule)
                if cases is None:
                    continue
                counts["rules"] += 1
                counts[f"rule {rule[0]}"] += 1
                has = [not case.dead and derivations.has_layout(problem, case.ranges) for case in cases]
                assert any(has) or not before, (rule, context.ranges)
    assert min(counts[f"rule {k}"] for k in (1, 2)) > 20, counts
    assert counts["ties"] > 20, counts


def derived(rng: Random) -> Case | None:
    """A case whose proof was drawn."""
    problem = tiny_ties(rng) if rng.random() < 0.8 else tiny_problem(rng)
    document = document_of(problem)
    answer = plan(problem, Options(deterministic=True, work_limit=200_000))
    if answer.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return None
    several = len(problem.pools) > 1
    at_most = [pool.capacity for pool in problem.pools if pool.capacity is not None]
    height = answer.objective[0].value - 1 if answer.objective else max(at_most, default=0)
    if height < 0 or (not answer.objective and len(at_most) < len(problem.pools)):
        return None
    known = derivations.problem_of(json.loads(document), True)
    if several:
        known.lay_space((*[height] * len(known.pools), 1 << 62))
    context = derivations.context_of(known, height, several)
    builder = derivations.Builder(rng, known)
    conclusion = builder.derivation(context)
    if conclusion is None:
        return None
    steps = ([4, height] if several else []) + [derivations.TIES, 1]
    steps += builder.written(height, conclusion)
    count = len(builder.lemmas) + 2 + several
    return Case(json.loads(document), json.loads(write_plan(problem, answer)), [*steps, 0, count])


def test_proofs_that_were_drawn_are_verified(checker: Batch, tmp_path: Path) -> None:
    rng, lemmas = Random(1), 0
    for _ in range(120):
        case = derived(rng)
        if case is None:
            continue
        document = json.dumps(case.problem).encode()
        head = HEAD + sha256(document).digest()
        files = document, json.dumps(case.plan).encode(), head + bytes_of(case.proof)
        verdict = checker.check(files)
        assert verdict.code == VERIFIED, (verdict, files)
        assert second(files, tmp_path).words == verdict.words
        lemmas += case.proof[-1]
    assert lemmas > 200


@pytest.mark.parametrize("seed", gate_first(range(20), 1))
def test_mutants_are_verified_only_where_that_is_true(checker: Batch, tmp_path: Path, seed: int) -> None:
    attack = Attack(lambda rng, _: derived(rng), mutant, is_true, second, 20)
    codes = attack.run(checker, tmp_path, 400, seed)
    assert codes[VERIFIED] > 10


def handed_on(seed: int, count: int) -> Problem:
    """Buffers of which many may begin where one begins that ends then, and of several alignments."""
    rng = Random(seed)
    lives = [
        (begin, begin + rng.randint(1, 4)) for begin in (rng.randrange(count // 3) for _ in range(count))
    ]
    buffers = [
        Buffer(id=f"b{i}", size=rng.randint(1, 30), lifetime=life, alignment=rng.choice((1, 2, 4, 8)))
        for i, life in enumerate(lives)
    ]
    pairs = [(i, j) for i, j in permutations(range(count), 2) if lives[i][1] == lives[j][0] + 1]
    in_place = [InPlace(input=f"b{i}", output=f"b{j}") for i, j in pairs if rng.random() < 0.3]
    return Problem(buffers=buffers, in_place=in_place)


def test_a_search_proves_what_only_ties_show(checker: Batch, tmp_path: Path) -> None:
    steps, without = 0, 0
    for seed in range(20):
        problem = handed_on(seed, 14)
        answer = plan(problem, Options(deterministic=True))
        assert answer.status is Status.OPTIMAL
        height, everything = answer.objective[0].value - 1, list(range(len(problem.buffers)))
        posed = pose(problem, up_to(problem, height), everything)
        assert posed is not None
        has_layout = posed[0].kept_steps(height, height, Budget(-1.0, 1_000_000))[1]
        document, path = document_of(problem), tmp_path / "plan.proof"
        proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 50_000_000))
        assert proof is not None
        files = (document, write_plan(problem, answer), path.read_bytes())
        assert checker.check(files).words == f"verified: peak {height + 1} is least"
        if has_layout:  # Those that may overlap fit below it.
            without += 1
            steps += proof.steps
            assert second(files, tmp_path).code == VERIFIED
    assert without > 2
    assert steps > 100
