"""Proofs that a reuse cost is least: what both checkers verify is true, and each rule has its conditions."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from memstow import Options, plan
from memstow.planner.formats import read_problem
from memstow.planner.formats.native import write_plan
from memstow.planner.proofs.prove import prove_within
from memstow.planner.proofs.walk_order import walk_of
from memstow.solvers.core import Budget
from tests.campaign import gate_first
from tests.checker.checkers import (
    NOT_CHECKED,
    VERIFIED,
    WEAKER,
    WRONG,
    Batch,
    Files,
    compilers,
    document_of,
    second,
    tiny_costs,
)
from tests.checker.mutations import campaign
from tests.checker.test_checker import by_hand
from tests.referee import best

pytestmark = pytest.mark.skipif(not compilers(), reason="the checker needs g++ or clang++")


def placed(*offsets: int) -> dict[str, Any]:
    """A plan of `a`, `b` and so on."""
    places = zip("abcdefgh", offsets, strict=False)
    return {
        "status": "optimal",
        "placements": [{"buffer": name, "pool": "memory", "offset": at} for name, at in places],
    }


def costs(**by_pair: int) -> list[dict[str, Any]]:
    return [{"buffers": [*pair], "cost": cost} for pair, cost in by_pair.items()]


# Two of three fit beside each other. Pairs: 0 is `a` and `b`, 1 is `a` and `c`, 2 is `b` and `c`.
TILES: Final = {
    "version": 1,
    "pools": [{"id": "memory", "capacity": 10}],
    "buffers": [{"id": name, "size": 4, "lifetime": [at, at + 1]} for at, name in enumerate("abc")],
    "reuse_costs": costs(ab=5, bc=2, ac=1, cb=3),
    "objective": ["reuse_cost", "peak"],
}
# That all are apart is overfull from 0 to 10 by all three.
ALL: Final = (0, 10, 3, 0, 0, 0)
CORE: Final = (5, 3, 0, 0, 0, 3, 10, 3, *ALL)
BRANCH: Final = (1, 0, 0, 0, 0, 0, 0, 0)
"""On core 0, for each of its pairs, of which the first that is left is always next: what is paid, no more."""
BEST: Final = placed(0, 4, 0)


@pytest.mark.parametrize("tree", [BRANCH, (2, 1, 0, 1), (1, 0, 1, 0, 1, 0, 0, 0)])
def test_each_kind_of_node(checker: Batch, tmp_path: Path, tree: tuple[int, ...]) -> None:
    files = by_hand(TILES, BEST, *CORE, 6, 10, *tree, 0, 3)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 1 is least"
    # A worse plan is right, and no more.
    files = by_hand(TILES, placed(0, 0, 4), *CORE, 6, 10, *tree, 0, 3)
    verdict = checker.check(files)
    assert (verdict.code, "only that none is below 1" in verdict.words) == (WEAKER, True)
    assert second(files, tmp_path) == verdict
    # Of the other order of the terms it says nothing.
    files = by_hand(TILES | {"objective": ["peak"]}, placed(0, 0, 0), *CORE, 6, 10, *tree, 0, 3)
    assert checker.check(files).code == second(files, tmp_path).code == WEAKER


def test_the_second_term_is_about_plans_as_good_in_the_first(checker: Batch, tmp_path: Path) -> None:
    # Up to 7 no two are beside each other: all pay.
    low = (
        *(step for k in range(3) for step in (5, 1, k, 3, 7, 3, 0, 7, 2, *((0, 0), (0, 1), (1, 0))[k])),
        *(6, 7, 2, 3, 1, 5, 0, 1, 0, 5),
    )
    files = by_hand(TILES, BEST, *CORE, *low, 6, 10, *BRANCH, 0, 10)
    words = "verified: reuse cost 1 is least, then peak 8"
    assert checker.check(files).words == second(files, tmp_path).words == words
    # The other way round the peak is 4, and all pay in 4.
    turned = TILES | {"objective": ["peak", "reuse_cost"]}
    peak = (3, 3, 3, 0, 3, 1, 0)
    files = by_hand(turned, placed(0, 0, 0), *peak, *CORE, *low, 0, 10)
    words = "verified: peak 4 is least, then reuse cost 11"
    assert checker.check(files).words == second(files, tmp_path).words == words
    # A cost for heights up to 3 is about others.
    less = (*peak, *CORE, *low[:-9], 3, *low[-8:])
    files = by_hand(turned, placed(0, 0, 0), *less, 0, 10)
    words = "verified: peak 4 is least"
    assert checker.check(files).words == second(files, tmp_path).words == words


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((5, 1, 3, 0, 1), "a pair that there is not"),
        ((5, 0, 0, 1), "a list of 0 pairs"),
        ((5, 2, 0, 0, 3, 10, 3, *ALL, 0, 2), "two that do not conflict are in one stretch"),
        # Without the pairs it is a proof that nothing fits.
        ((3, 10, 3, *ALL, 0, 1), "two that do not conflict are in one stretch"),
        ((5, 3, 0, 0, 0, 3, 9, 3, *ALL, 6, 10, *BRANCH, 0, 3), "a core that does not hold so high"),
        ((*CORE, 6, 10, 2, 1, 0, 2, 0, 3), "more than a pair costs"),
        ((*CORE, 6, 10, 2, 2, 0, 1, 0, 1, 0, 3), "a list of 2 cores"),
        ((*CORE, 6, 10, 2, 1, 1, 1, 0, 3), "a core that there is not"),
        ((*CORE, *CORE, 6, 10, 2, 2, 0, 1, 0, 1, 0, 5), "more than a pair costs"),
        ((*CORE, 6, 10, 1, 1, 0, 3), "there is no such core"),
        ((6, 10, 1, 0, 0, 1), "there is no such core"),
        ((*CORE, 6, 10, 1, 0, 3, 0, 0, 3), "a pair that there is not"),
        ((*CORE, 6, 10, 1, 0, 0, 0, 2, 0, 0, 3), "a pair that there is not"),
        ((*CORE, 6, 10, 1, 0, 0, *BRANCH, 0, 3), "a core of which a pair is paid"),
        ((*CORE, 6, 10, 1, 0, 0, 2, 1, 0, 1, 0, 3), "a core of which a pair is paid"),
        ((*CORE, 6, 10, 3, 0, 3), "an unknown kind of node"),
        ((*CORE, 6, 10, *BRANCH[:-1], 0, 3), "the proof is cut off"),
        ((*CORE, 6, 1 << 63, *BRANCH, 0, 3), "a number beyond 2^62"),
        ((*CORE, 6, 10, 2, 1, 0, 1 << 63, 0, 3), "a number beyond 2^62"),
        # Lemmas of what was apart before, or of nothing.
        ((1, 1, 0, 0, 4, 0, 2, 0, 1), "no range is empty"),
        (
            (5, 3, 0, 0, 0, 1, 3, 0, 0, 6, 0, 0, 6, 0, 0, 6, 0, 3, *ALL, 5, 2, 0, 0, 3, 10, 4, 1, 0, 4),
            "there is no such lemma",
        ),
        ((5, 3, 0, 0, 0, 2, 1, 0, 2), "there is no such lemma"),
    ],
)
def test_rules_outside_of_their_conditions(
    checker: Batch, tmp_path: Path, numbers: tuple[int, ...], why: str
) -> None:
    files = by_hand(TILES, BEST, *numbers)
    verdict = checker.check(files)
    assert (verdict.code, why in verdict.words) == (WRONG, True), verdict
    assert second(files, tmp_path).code == WRONG


def test_a_core_is_no_proof_that_nothing_fits(checker: Batch, tmp_path: Path) -> None:
    for numbers in ((*CORE, 0, 2), (*CORE, 6, 10, *BRANCH, 0, 3)):
        files = by_hand(TILES, {"status": "infeasible"}, *numbers)
        assert checker.check(files).code == second(files, tmp_path).code == WRONG
        # Nor that the peak is above that.
        files = by_hand(TILES | {"objective": ["peak"]}, placed(0, 4, 8), *numbers)
        assert checker.check(files).code == second(files, tmp_path).code == WRONG  # it ends beyond the pool
        files = by_hand(TILES | {"objective": ["peak"], "pools": None}, placed(0, 4, 8), *numbers)
        assert checker.check(files).code == second(files, tmp_path).code == NOT_CHECKED
        files = by_hand(
            TILES | {"objective": ["peak"], "pools": [{"id": "memory"}]}, placed(0, 4, 8), *numbers
        )
        assert checker.check(files).code == second(files, tmp_path).code == WEAKER


# `a` and `b` are pinned to common bytes, and so are `c` and `d`: pair 0 and the last one.
PINNED: Final = {
    "version": 1,
    "buffers": [
        {"id": name, "size": 4, "pool": "memory", "offset": at}
        for name, at in zip("abcd", (0, 2, 20, 21), strict=True)
    ],
    "reuse_costs": costs(ab=5, cd=2),
    "objective": ["reuse_cost"],
}
PIN: Final = 1 << 62
EITHER: Final = (5, 2, 0, 0, 3, PIN, 1, 0, 2)
SECOND: Final = (5, 1, 1, 3, PIN, 1, 2, 2)
FIRST: Final = (5, 1, 0, 3, PIN, 1, 0, 2)
PINS: Final = placed(0, 2, 20, 21)


def test_a_branch_ends_where_nothing_can_be_paid(checker: Batch, tmp_path: Path) -> None:
    files = by_hand(PINNED, PINS, *FIRST, *SECOND, 6, PIN, 2, 2, 0, 5, 0, 2, 0, 5)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 7 is least"
    # Either pays: if not the second one, which must, nothing does.
    tree = (1, 0, 1, 0, 0, 1, 1)
    files = by_hand(PINNED, PINS, *EITHER, *SECOND, 6, PIN, *tree, 0, 5)
    verdict = checker.check(files)
    assert (verdict.code, "none is below 2" in verdict.words) == (WEAKER, True)
    assert second(files, tmp_path) == verdict
    # Weights of a core that ends the branch could be anything.
    files = by_hand(PINNED, PINS, *EITHER, *SECOND, 6, PIN, *tree[:-2], 2, 1, 1, 1 << 62, 0, 5)
    assert "a core of which nothing can be paid" in checker.check(files).words
    assert second(files, tmp_path).code == WRONG


@pytest.mark.parametrize(("deep", "code"), [(499, VERIFIED), (501, WRONG)])
def test_trees_are_not_deeper_than_can_be_read(checker: Batch, tmp_path: Path, deep: int, code: int) -> None:
    names = [f"b{i}" for i in range(33)]
    pairs = [(i, j) for i in range(33) for j in range(i + 1, 33)][:deep]
    problem = {
        "version": 1,
        "buffers": [{"id": name, "size": 4, "pool": "memory", "offset": 0} for name in names],
        "reuse_costs": [{"buffers": [names[i], names[j]], "cost": 1} for i, j in pairs],
        "objective": ["reuse_cost"],
    }
    answer = {
        "status": "optimal",
        "placements": [{"buffer": name, "pool": "memory", "offset": 0} for name in names],
    }
    cores = [step for k, (i, _) in enumerate(pairs) for step in (5, 1, k, 3, PIN, 1, i, 2)]
    tree = [step for k in range(deep) for step in (1, k, 0)]
    files = by_hand(problem, answer, *cores, 6, PIN, *tree, 0, 0, 2 * deep + 1)
    verdict = checker.check(files)
    assert (verdict.code, second(files, tmp_path).code) == (code, code)
    assert (code == WRONG) == ("a tree too deep" in verdict.words)


def test_pairs_of_one_group_pay_always_or_never(checker: Batch, tmp_path: Path) -> None:
    tied = {
        "version": 1,
        "buffers": [{"id": name, "size": 4} for name in "abc"],
        "relative": [{"buffer": "b", "base": "a", "offset": 3}, {"buffer": "c", "base": "a", "offset": 4}],
        "reuse_costs": costs(ab=5, ac=2, bc=7),
        "objective": ["reuse_cost"],
    }
    files = by_hand(tied, placed(0, 3, 4), 0, 0)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 12 is least"
    # They have no number: to keep them apart is no question.
    files = by_hand(tied, placed(0, 3, 4), 5, 1, 0, 0, 1)
    assert checker.check(files).code == second(files, tmp_path).code == WRONG


def test_pairs_in_place_pay_where_they_tie(checker: Batch, tmp_path: Path) -> None:
    # Both fit into 4 bytes only if they tie.
    problem = {
        "version": 1,
        "pools": [{"id": "memory", "capacity": 4}],
        "buffers": [{"id": name, "size": 4, "lifetime": [0, 1]} for name in "ab"],
        "in_place": [{"input": "a", "output": "b"}],
        "reuse_costs": costs(ab=3),
        "objective": ["reuse_cost"],
    }
    core = (5, 1, 0, 3, 4, 3, 0, 4, 2, 0, 0, 6, 4, 2, 1, 0, 3)
    files = by_hand(problem, placed(0, 0), *core, 0, 3)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 3 is least"


def files_of(rng: Random, folder: Path) -> tuple[Files, str, bool]:
    """Of a random problem, the files, what the verdict has to be, and whether nothing is left to be shown."""
    problem = tiny_costs(rng)
    document, path = document_of(problem), folder / "plan.proof"
    answer = plan(problem, Options(deterministic=True))
    proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 20_000_000))
    if proof is None:
        return (document, write_plan(problem, answer), b""), "", bool(problem.in_place or problem.pools[1:])
    terms = problem.terms()
    files = (document, write_plan(problem, answer), path.read_bytes())
    _, vector = best(problem)
    if vector is None:
        return files, "verified: no layout fits", True
    names = ["reuse cost" if term == "reuse_cost" else "peak" for term in terms]
    full = proof.bounds == vector
    said = [f"{name} {value}" for name, value in zip(names, vector, strict=True)]
    expected = f"verified: {said[0]} is least" + "".join(f", then {one}" for one in said[1:])
    # Pairs in place are seen as less than they are, and alignments that differ between pools.
    return files, expected if full else "", full or bool(problem.in_place or problem.pools[1:])


@pytest.mark.parametrize("seed", gate_first(range(30), 3))
def test_what_is_verified_is_what_brute_force_says(checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, codes = Random(seed), Counter[int]()
    for _ in range(100):
        files, expected, is_all = files_of(rng, tmp_path)
        assert is_all, files
        if not files[2]:
            continue
        verdict = checker.check(files)
        codes[verdict.code] += 1
        assert second(files, tmp_path) == verdict
        assert verdict.code in (VERIFIED, WEAKER), files
        assert verdict.words.startswith(expected), files
    assert codes[VERIFIED] > 85


def test_mutants_are_verified_only_where_that_is_true(checker: Batch, tmp_path: Path) -> None:
    codes = campaign(checker, tmp_path, 400, 7, tiny=tiny_costs)
    assert codes[VERIFIED] > 10
    assert codes[WRONG] > 100


@pytest.mark.campaign
def test_many_mutants_are_verified_only_where_that_is_true(checker: Batch, tmp_path: Path) -> None:
    assert campaign(checker, tmp_path, 50_000, 8, referee_each=50, tiny=tiny_costs)[VERIFIED] > 1_000


def test_cores_are_walked_through(tmp_path: Path) -> None:
    document = json.dumps(TILES).encode()
    problem, path = read_problem(document, "json"), tmp_path / "plan.proof"
    assert prove_within(problem, plan(problem), document, str(path), Budget(-1.0, 1_000_000)) is not None
    walk = walk_of(problem, problem, path)
    assert walk is not None
    assert [step.text for step in walk.steps] == [
        "No plan has a reuse cost below 1: each pays for a pair of a core.",
        "No plan with a peak of at most 7 has a reuse cost below 5: each pays for a pair of a core.",
        "Core 0: each plan pays for a and b, or a and c, or b and c. If all are apart: 3 buffers of 12 bytes "
        "would share the 8 from 0 to 8.",
        "Core 1: each plan with a peak of at most 7 pays for b and c. If all are apart: then a buffer has no "
        "place left.",
    ]
    assert [step.buffers for step in walk.steps] == [(0, 1, 2), (1, 2), (0, 1, 2), (1, 2)]
    assert walk.more == 0
