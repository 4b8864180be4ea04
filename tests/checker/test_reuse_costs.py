"""Proofs that a reuse cost is least: what both checkers verify is true, and each rule has its conditions."""

import json
import re
from array import array
from collections import Counter
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from memstow import Options, plan
from memstow.planner.formats import read_problem
from memstow.planner.formats.native import write_plan
from memstow.planner.generate.random_problems import mixed
from memstow.planner.model.options import Callbacks
from memstow.planner.model.plan import Model, Plan, rests_on_addresses
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost
from memstow.planner.proofs.prove import limits_before_proof, prove_within
from memstow.planner.proofs.questions import costs_of, pose, up_to
from memstow.planner.proofs.walk_order import walk_of
from memstow.planner.solve.engine import run
from memstow.records import replace
from memstow.solvers.core import AddressPrices, Budget, CostProof, ProofFile
from memstow.solvers.known import Known, KnownPrices, packed, unpacked_prices
from tests.campaign import gate_first
from tests.checker.checkers import (
    NOT_CHECKED,
    VERIFIED,
    WEAKER,
    WRONG,
    Batch,
    Files,
    compilers,
    dense_costs,
    document_of,
    second,
    tiny_costs,
)
from tests.checker.mutations import campaign
from tests.checker.test_checker import by_hand
from tests.planner.verify.test_windows import ABOVE_LIVE
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


# Two of three fit beside each other. Pairs: 3 is `a` and `b`, 4 is `a` and `c`, 5 is `b` and `c`.
TILES: Final = {
    "version": 1,
    "pools": [{"id": "memory", "capacity": 10}],
    "buffers": [{"id": name, "size": 4, "lifetime": [at, at + 1]} for at, name in enumerate("abc")],
    "reuse_costs": costs(ab=5, bc=2, ac=1, cb=3),
    "objective": ["reuse_cost", "peak"],
}
# That all are apart is overfull from 0 to 10 by all three.
ALL: Final = (0, 10, 3, 0, 0, 0)
CORE: Final = (7, 10, 3, 3, 1, 0, 0, 1, 0, 0, 1, 0, 3, 10, 3, *ALL)
DEAD: Final = (2, 1, 1, 0, 0)
"""That not all of limit 0 are apart, where they would be."""
BRANCH: Final = (1, 3, 1, 0, 1, 4, 1, 0, 1, 5, 1, 0, *DEAD)
"""If the first pair shares bytes it costs what it does; else if the second does; else if the third does."""
BEST: Final = placed(0, 4, 0)


@pytest.mark.parametrize("tree", [BRANCH, (2, 1, 1, 0, 1), (1, 4, 1, 0, 1, 5, 1, 0, 1, 3, 1, 0, *DEAD)])
def test_each_kind_of_node(checker: Batch, tmp_path: Path, tree: tuple[int, ...]) -> None:
    files = by_hand(TILES, BEST, *CORE, 9, 2, 10, *tree, 0, 3)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 1 is least"
    # A worse plan is right, and no more.
    files = by_hand(TILES, placed(0, 0, 4), *CORE, 9, 2, 10, *tree, 0, 3)
    verdict = checker.check(files)
    assert (verdict.code, "only that none is below 1" in verdict.words) == (WEAKER, True)
    assert second(files, tmp_path) == verdict
    # Of the other order of the terms it says nothing.
    files = by_hand(TILES | {"objective": ["peak"]}, placed(0, 0, 0), *CORE, 9, 2, 10, *tree, 0, 3)
    assert checker.check(files).code == second(files, tmp_path).code == WEAKER


def test_the_second_term_is_about_plans_as_good_in_the_first(checker: Batch, tmp_path: Path) -> None:
    # Up to 7 no two are beside each other: all pay.
    low = (
        *(
            step
            for k in range(3)
            for step in (7, 7, 1, 3 + k, 1, 0, 3, 7, 3, 0, 7, 2, *((0, 0), (0, 1), (1, 0))[k])
        ),
        *(9, 2, 7, 2, 1, 3, 1, 5, 0, 1, 0, 5),
    )
    files = by_hand(TILES, BEST, *CORE, *low, 9, 2, 10, *BRANCH, 0, 10)
    words = "verified: reuse cost 1 is least, then peak 8"
    assert checker.check(files).words == second(files, tmp_path).words == words
    # The other way round the peak is 4, and all pay in 4.
    turned = TILES | {"objective": ["peak", "reuse_cost"]}
    peak = (3, 3, 3, 0, 3, 1, 0)
    files = by_hand(turned, placed(0, 0, 0), *peak, *CORE, *low, 0, 10)
    words = "verified: peak 4 is least, then reuse cost 11"
    assert checker.check(files).words == second(files, tmp_path).words == words
    # A cost for heights up to 3 is about others.
    less = (*peak, *CORE, *low[:-10], 3, *low[-9:])
    files = by_hand(turned, placed(0, 0, 0), *less, 0, 10)
    words = "verified: peak 4 is least"
    assert checker.check(files).words == second(files, tmp_path).words == words


ROW: Final = (4, 10, 8, 0, 1, 3, 0, 0, 0)
"""All three take 12 of 10 bytes, so pairs make up for 2: the room is 16."""


def test_rows_of_pairs(checker: Batch, tmp_path: Path) -> None:
    # All pairs have a price of half a byte: what all are without is 2.
    files = by_hand(TILES, BEST, *ROW, 9, 2, 10, 2, 2, 1, 0, 1, 0, 3)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 1 is least"
    # Where there is more room, no pair has to pay.
    wide = TILES | {"pools": [{"id": "memory", "capacity": 12}]}
    files = by_hand(wide, BEST, 4, 12, *ROW[2:], 9, 2, 12, 2, 2, 1, 0, 1, 0, 3)
    assert "none is below 0" in checker.check(files).words
    assert second(files, tmp_path) == checker.check(files)
    # Up to 7 bytes two in common are too few: 5 are too many, of which a pair has 4 at most.
    turned = TILES | {"objective": ["peak", "reuse_cost"], "pools": [{"id": "memory", "capacity": 7}]}
    tree = (9, 2, 7, 1, 3, 1, 0, 1, 4, 1, 1, 5, 1, 0, 2, 1, 1, 0, 0, 1, 5, 1, 0, 2, 1, 1, 0, 0)
    peak = (3, 3, 3, 0, 3, 1, 0)
    files = by_hand(turned, placed(0, 0, 0), *peak, 4, 7, *ROW[2:], *tree, 0, 4)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: peak 4 is least"


CHAINS: Final = (4, 10, 13, 0, 1, 6, *(0, 1) * 6)
"""All have a price of 1, and pairs a toll of 1: nowhere is more worth more than one. The same as a row."""
LEAF: Final = (0,)
ALL_BRANCHES: Final = (1, 1, 0, 1, 0, 0, 1, 2, 0, 0)
"""With the second, the others gain nothing; without, the first or the third."""


def test_chains(checker: Batch, tmp_path: Path) -> None:
    for tree in (LEAF, ALL_BRANCHES):
        files = by_hand(TILES, BEST, *CHAINS, *tree, 9, 2, 10, 2, 2, 1, 0, 1, 0, 3)
        assert (
            checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 1 is least"
        )
    # A worth that is greater gives more room.
    files = by_hand(TILES, BEST, 4, 10, 13, 0, 2, *CHAINS[5:], *LEAF, 9, 2, 10, 2, 2, 1, 0, 1, 0, 3)
    assert "none is below 0" in checker.check(files).words
    assert second(files, tmp_path) == checker.check(files)


def test_a_toll_counts_where_both_buffers_have_a_price(checker: Batch, tmp_path: Path) -> None:
    # Two of the three buffers have a price, so two of the three tolls count for nothing.
    numbers = (
        4,
        10,
        13,
        0,
        1,
        5,
        *(0, 1),
        *(0, 1),
        *(1, 1),
        *(0, 9),
        *(0, 9),
        *LEAF,
        9,
        2,
        10,
        2,
        2,
        1,
        0,
        1,
    )
    files = by_hand(TILES, BEST, *numbers, 0, 3)
    assert checker.check(files).code == second(files, tmp_path).code == WEAKER
    path = tmp_path / "by-hand.proof"
    path.write_bytes(files[2])
    problem = read_problem(files[0], "json")
    walk = walk_of(problem, problem, path)
    assert walk is not None
    assert [step.text for step in walk.steps] == [
        "No plan has a reuse cost below 0: what a limit leaves is no cheaper.",
        "Limit 0: each plan has at most 10 of these in memory: a 4, b 4, a and b apart 0.",
    ]


def test_rows_of_pairs_that_divide(checker: Batch, tmp_path: Path) -> None:
    # Of 10 bytes each takes 4. By 2 that is the same; by 3 each weighs 1, and pairs nothing.
    for divisor, code in ((2, VERIFIED), (3, WEAKER)):
        files = by_hand(TILES, BEST, 4, 10, 8, 0, divisor, *ROW[5:], 9, 2, 10, 2, 1, 1, 0, 1, 0, 3)
        assert checker.check(files).code == second(files, tmp_path).code == code


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((7, 10, 1, 6, 1, 0, 0, 1), "a buffer or pair that there is not"),
        ((7, 10, 0, 0, 1), "a list of 0 buffer or pairs"),
        ((7, 10, 1, 3, 1, 2, 0, 1), "a pool that there is not"),
        ((7, 10, 1, 3, 0, 0, 1), "a list of 0 pools"),
        ((7, 10, 2, 3, 1, 0, 1, 1, 0, 3, 10, 3, *ALL, 0, 2), "two that do not conflict are in one stretch"),
        # A pair that may be in both of its pools is not apart, nor is one that shares bytes.
        ((7, 10, 3, 3, 2, 0, 0, 0, 1, 0, 0, 1, 0, 3, 10, 3, *ALL, 0, 2), "two that do not conflict"),
        ((7, 10, 3, 3, 1, 1, 0, 1, 0, 0, 1, 0, 3, 10, 3, *ALL, 0, 2), "two that do not conflict"),
        # Without the pairs it is a proof that nothing fits.
        ((3, 10, 3, *ALL, 0, 1), "two that do not conflict are in one stretch"),
        ((*CORE, 4, 10, 3, 10, 3, *ALL, 0, 4), "two that do not conflict are in one stretch"),
        ((7, 9, *CORE[2:], 9, 2, 10, *BRANCH, 0, 3), "a conclusion for another height"),
        ((7, 9, *CORE[2:13], 9, *CORE[14:], 9, 2, 10, *BRANCH, 0, 3), "a limit that does not hold so high"),
        ((*CORE, 9, 2, 10, 2, 1, 2, 0, 1, 0, 1, 0, 3), "a list of 2 limits"),
        ((*CORE, 9, 2, 10, 2, 1, 1, 1, 1, 0, 3), "a limit that there is not"),
        ((*CORE, 9, 2, 10, 1, 3, 2, 0, 0, 0, 3), "a pool where a buffer may not be"),
        ((*CORE, 9, 2, 10, 1, 6, 1, 0, 0, 0, 3), "a buffer without bytes"),
        ((*CORE, 9, 2, 10, 1, 3, 1, 1, 3, 1, 0, 0, 0, 0, 3), "a branch that is none"),
        ((*CORE, 9, 2, 10, 3, 0, 3), "an unknown kind of node"),
        ((*CORE, 9, 2, 10, *BRANCH[:-1], 0, 3), "the proof is cut off"),
        ((*CORE, 9, 2, 1 << 63, *BRANCH, 0, 3), "a number beyond 2^62"),
        ((*CORE, 9, 2, 10, 2, 1, 1, 0, 1 << 63, 0, 3), "a number beyond 2^62"),
        ((*ROW[:2], 8, 0, 0, *ROW[5:], 0, 2), "a divisor of 0"),
        (ROW[2:], "the height comes first"),
        ((*CHAINS[2:], *LEAF, 0, 1), "the height comes first"),
        ((4, 10, 13, 0, 0, *CHAINS[5:], *LEAF, 0, 2), "a chain that may be worth more"),
        ((4, 10, 13, 0, 0, *CHAINS[5:], *ALL_BRANCHES, 0, 2), "a chain that is worth more"),
        # Without tolls all three are a chain.
        ((4, 10, 13, 0, 1, 3, *(0, 1) * 3, *LEAF, 0, 2), "a chain that may be worth more"),
        ((*CHAINS, 1, 3, 0, 0, 0, 2), "a branch that is none"),
        ((*CHAINS, 2, 0, 2), "an unknown kind of node"),
        ((4, 10, 13, 1, *CHAINS[4:], *LEAF, 0, 2), "a pool that there is not"),
        # Lemmas of what was apart before, or of nothing.
        ((1, 1, 0, 0, 4, 0, 2, 0, 1), "no range is empty"),
        (
            (*CORE[:12], 1, 3, 0, 0, 6, 0, 0, 6, 0, 0, 6, 0, 3, *ALL, 7, 10, 1, 3, 1, 0, 3, 10, 4, 1, 0, 4),
            "there is no such lemma",
        ),
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
    for numbers in ((*CORE, 0, 2), (*CORE, 9, 2, 10, *BRANCH, 0, 3)):
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


# `a` and `b` are pinned to common bytes, and so are `c` and `d`: pairs 4 and 5.
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
SECOND: Final = (7, PIN, 1, 5, 1, 0, 3, PIN, 1, 2, 2)
FIRST: Final = (7, PIN, 1, 4, 1, 0, 3, PIN, 1, 0, 2)
PINS: Final = placed(0, 2, 20, 21)


def test_a_branch_ends_where_nothing_can_be_paid(checker: Batch, tmp_path: Path) -> None:
    files = by_hand(PINNED, PINS, *FIRST, *SECOND, 9, 2, PIN, 2, 1, 2, 0, 5, 0, 2, 0, 5)
    assert checker.check(files).words == second(files, tmp_path).words == "verified: reuse cost 7 is least"
    # If the second one does not pay, which must, there is no layout, whatever the price is.
    for price in (0, 1, PIN):
        tree = (1, 5, 1, 0, 2, 1, 1, 0, price)
        files = by_hand(PINNED, PINS, *SECOND, 9, 2, PIN, *tree, 0, 3)
        verdict = checker.check(files)
        assert (verdict.code, "none is below 2" in verdict.words) == (WEAKER, True)
        assert second(files, tmp_path) == verdict
    # Of a pair that has paid a limit says nothing more.
    paid = (1, 5, 1, 2, 1, 1, 0, 2, 2, 1, 1, 0, 0)
    files = by_hand(PINNED, PINS, *SECOND, 9, 2, PIN, *paid, 0, 3)
    assert checker.check(files) == second(files, tmp_path) == verdict


@pytest.mark.parametrize(("deep", "code"), [(999, WEAKER), (1_000, WRONG)])
def test_trees_are_not_deeper_than_can_be_read(checker: Batch, tmp_path: Path, deep: int, code: int) -> None:
    names = [f"b{i}" for i in range(46)]
    pairs = [(i, j) for i in range(46) for j in range(i + 1, 46)][:deep]
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
    tree = [step for k in range(deep) for step in (1, 46 + k, 1)]
    files = by_hand(problem, answer, 4, PIN, 9, 2, PIN, *tree, 0, *[0] * deep, 0, 2)
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
    files = by_hand(tied, placed(0, 3, 4), 7, PIN, 1, 3, 1, 0, 0, 1)
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
    core = (7, 4, 1, 2, 1, 0, 3, 4, 3, 0, 4, 2, 0, 0, 9, 2, 4, 2, 1, 1, 0, 3)
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


@pytest.mark.parametrize("seed", gate_first(range(40), 4))
def test_a_core_has_all_pairs_that_its_steps_rest_on(checker: Batch, tmp_path: Path, seed: int) -> None:
    # Searches of so many leave lemmas that nothing rests on, but that have to be right as well.
    rng, path = Random(seed), tmp_path / "plan.proof"
    for _ in range(5):
        problem = dense_costs(rng, 12)
        document = document_of(problem)
        answer = plan(problem, Options(deterministic=True, work_limit=2_000_000))
        proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 5_000_000))
        assert proof is not None
        verdict = checker.check((document, write_plan(problem, answer), path.read_bytes()))
        assert verdict.code in (VERIFIED, WEAKER), (verdict, document)
        assert proof.bounds[0] <= answer.objective[0].value


@pytest.mark.parametrize("pools", [("m",), ("m", "n")])
def test_cores_show_that_nothing_fits(checker: Batch, tmp_path: Path, pools: tuple[str, ...]) -> None:
    # Live bytes are 15 in each pool, but no layout is so low, whatever shares bytes.
    buffers = [
        Buffer(id=f"{pool}{i}", size=size, lifetime=(begin, end), pools=(pool,))
        for pool in pools
        for i, (size, begin, end) in enumerate(ABOVE_LIVE)
    ]
    problem = Problem(
        buffers=buffers,
        pools=[Pool(id=pool, capacity=40) for pool in pools],
        reuse_costs=[ReuseCost(buffers=("m0", "m10"), cost=1)],
        objective=("reuse_cost", "max_peak"),
    )
    document, path = document_of(problem), tmp_path / "plan.proof"
    answer = plan(problem, Options(deterministic=True))
    assert [one.value for one in answer.objective] == [0, 16]
    posed = pose(problem, up_to(problem, 15), range(len(buffers)))
    assert posed is not None
    question, end = posed
    _, pairs = costs_of(problem)
    cores = CostProof([(p.first, p.second, p.cost, p.number) for p in pairs], 0, len(pools) > 1)
    for height, wanted in ((15, 1), (14, 7)):  # what is so up to one height is so below that
        assert cores.raise_bound(question, end, height, wanted, Budget(-1.0, 20_000_000)) == wanted
    file = ProofFile(str(path), sha256(document).digest())
    assert file.reuse_cost(cores, 15, 1) == 1
    file.finish()
    files = (document, write_plan(problem, answer), path.read_bytes())
    assert checker.check(files).words == "verified: reuse cost 0 is least, then peak 16"
    assert second(files, tmp_path) == checker.check(files)


def test_a_proof_tries_both_ways_before_one_takes_long(checker: Batch, tmp_path: Path) -> None:
    # That nothing fits lower takes cores 20 million steps, and rows of the pools nearly none.
    features = ("alignments", "pools", "capacities", "reuse_costs")
    problem = replace(mixed(24, 71, features=features), objective=("reuse_cost", "max_peak"))
    document, path = document_of(problem), tmp_path / "plan.proof"
    answer = plan(problem, Options(deterministic=True))
    cost, peak = answer.objective
    assert (cost.value, peak.value) == (0, 5521)
    answer = replace(answer, objective=(cost, replace(peak, bound=5521)))
    budget = Budget(-1.0, 100_000_000)
    assert prove_within(problem, answer, document, str(path), budget) is not None
    assert budget.work < 5_000_000
    files = (document, write_plan(problem, answer), path.read_bytes())
    assert checker.check(files).words == "verified: reuse cost 0 is least, then peak 5521"
    assert second(files, tmp_path) == checker.check(files)


@pytest.mark.parametrize("seed", gate_first(range(40), 3))
def test_a_proof_shows_what_the_search_knows_from_addresses(
    checker: Batch, tmp_path: Path, seed: int
) -> None:
    rng, path = Random(seed), tmp_path / "plan.proof"
    work, of_addresses = 40_000_000, 0
    # Of some seeds, addresses say nothing of the first ones.
    for number in range(12):
        if number >= 3 and of_addresses:
            break
        problem = dense_costs(rng, 22)
        document = document_of(problem)
        answer, known = shown_by(problem, work)
        first = answer.objective[0]
        if not isinstance(first.certificate, Model):
            continue
        of_addresses += 1
        proof = prove_within(problem, answer, document, str(path), Budget(-1.0, work), known)
        assert proof is not None
        assert proof.bounds[0] == first.bound, document
        verdict = checker.check((document, write_plan(problem, answer), path.read_bytes()))
        assert verdict.code in (VERIFIED, WEAKER), (verdict, document)
        least = re.search(r"none is below (\d+)|reuse cost (\d+) is least", verdict.words)
        assert least is not None
        assert max(int(number or 0) for number in least.groups()) >= first.bound
    assert of_addresses


def test_time_is_left_for_a_proof_of_a_search_that_uses_all() -> None:
    problem, options = read_problem(json.dumps(TILES).encode(), "json"), Options(time_limit=4.0)
    for terms in (("reuse_cost", "peak"), ("peak", "reuse_cost")):
        left = limits_before_proof(replace(problem, objective=terms), options)
        assert left == replace(options, time_limit=3.0)
    assert limits_before_proof(replace(problem, objective=("peak",)), options) == options
    same = replace(options, deterministic=True)
    assert limits_before_proof(problem, same) == same
    for costs, seconds in (((1, 2), 3.0), ((2, 2), 4.0)):
        pools = tuple(Pool(id=f"{number}", cost=cost) for number, cost in enumerate(costs))
        choice = replace(problem, pools=pools, reuse_costs=(), objective=("placement_cost", "peak"))
        assert limits_before_proof(choice, options).time_limit == seconds


@pytest.mark.parametrize("seed", gate_first(range(40), 4))
def test_what_is_claimed_too_much_is_not_shown(checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, codes = Random(seed), Counter[int]()
    for _ in range(40):
        problem = tiny_costs(rng)
        answer = plan(problem, Options(deterministic=True))
        _, vector = best(problem)
        if vector is None or problem.terms()[0] != "reuse_cost":
            continue
        claimed = replace(
            answer.objective[0],
            bound=vector[0] + rng.randint(0, 3),
            certificate=Model(solver="reuse"),
        )
        answer = replace(answer, objective=(claimed, *answer.objective[1:]))
        document, path = document_of(problem), tmp_path / "plan.proof"
        proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 3_000_000))
        if proof is None:
            continue
        assert proof.bounds[0] <= vector[0], document
        files = (document, write_plan(problem, answer), path.read_bytes())
        verdict = checker.check(files)
        codes[verdict.code] += 1
        assert second(files, tmp_path) == verdict
        assert verdict.code in (VERIFIED, WEAKER), files
    assert codes[VERIFIED] > 10


def shown_by(problem: Problem, work: int) -> tuple[Plan, KnownPrices]:
    """A plan, and the prices that its run hands on."""
    known = list[Known]()
    options = Options(deterministic=True, work_limit=work)
    answer = run(problem, options, Callbacks(on_known=known.append))
    last = known[-1] if known else ()
    assert isinstance(last, tuple)
    return answer, last


def changed(rng: Random, problem: Problem) -> Problem:
    """The same in other units, or with sizes that cells do not divide."""
    if rng.random() < 0.5:
        times = rng.choice((1, 6, 64))
        buffers = tuple(replace(one, size=one.size * times, alignment=times) for one in problem.buffers)
        capacity = (problem.pools[0].capacity or 0) * times
    else:
        sizes = ((one, one.size * 8 - rng.randint(0, 3), rng.choice((2, 4))) for one in problem.buffers)
        buffers = tuple(replace(one, size=size, alignment=cell) for one, size, cell in sizes)
        capacity = (problem.pools[0].capacity or 0) * 9
    pool = replace(problem.pools[0], capacity=capacity, base=rng.choice((0, 64)))
    return replace(problem, buffers=buffers, pools=(pool,))


@pytest.mark.parametrize("seed", gate_first(range(30), 3))
def test_a_proof_rests_on_the_prices_of_its_run(checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, path, of_addresses = Random(seed), tmp_path / "plan.proof", 0
    for _ in range(8):
        problem = changed(rng, dense_costs(rng, 24))
        answer, known = shown_by(problem, 16_000_000)
        if not answer.objective or not rests_on_addresses(answer.objective[0].certificate):
            continue
        claimed, document = answer.objective[0], document_of(problem)
        of_addresses += 1
        bounds = list[int]()
        for prices in ((), known):
            proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 400_000), prices)
            bounds.append(0 if proof is None else proof.bounds[0])
        sizes_are_cells = all(one.size % one.alignment == 0 for one in problem.buffers)
        assert bounds[1] == claimed.bound or (not sizes_are_cells and bounds[1] >= bounds[0]), document
        if bounds[1]:
            verdict = checker.check((document, write_plan(problem, answer), path.read_bytes()))
            assert verdict.code in (VERIFIED, WEAKER), (verdict, document)
    assert of_addresses


def test_the_prices_of_two_pools_count_together(checker: Batch, tmp_path: Path) -> None:
    rng, path = Random(3), tmp_path / "plan.proof"
    one, other = dense_costs(rng, 24), dense_costs(rng, 24)
    buffers = [replace(buffer, pool="p") for buffer in one.buffers]
    for buffer in other.buffers:
        # Neither the order of buffers nor the unit is that of the first pool.
        place = rng.randint(0, len(buffers))
        buffers.insert(place, replace(buffer, id=f"q{buffer.id}", pool="q", size=buffer.size * 3))
    pairs = [
        replace(entry, buffers=tuple(f"q{name}" for name in entry.buffers)) for entry in other.reuse_costs
    ]
    problem = Problem(
        pools=(one.pools[0], replace(other.pools[0], id="q", capacity=(other.pools[0].capacity or 0) * 3)),
        buffers=tuple(buffers),
        reuse_costs=(*one.reuse_costs, *pairs),
        objective=("reuse_cost",),
    )
    answer, known = shown_by(problem, 40_000_000)
    assert len(known) == 2
    document = document_of(problem)
    proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 3_000_000), known)
    assert proof is not None
    # The bound of each pool is rounded up, what limits show together once.
    assert proof.bounds[0] >= answer.objective[0].bound - 1
    verdict = checker.check((document, write_plan(problem, answer), path.read_bytes()))
    assert verdict.code == WEAKER


def _number(rng: Random, near: int) -> int:
    return rng.choice(
        (near, near + rng.randint(-3, 3), rng.randint(0, 9), rng.choice((1, -1)) << rng.randint(0, 62))
    )


def _wrong(rng: Random, known: KnownPrices, count: int) -> KnownPrices:
    """Prices that show something, with other numbers, buffers and crowds."""

    def index(near: int) -> int:
        return near if rng.random() < 0.8 else rng.choice((rng.randrange(count), -1, count, (1 << 31) - 1))

    wrong = list[AddressPrices]()
    for one in known or (AddressPrices([], [], 1, 1, 0),):
        links = [(index(i), _number(rng, price)) for i, price in one.links]
        crowds = [([*map(index, some)], _number(rng, price)) for some, price in one.crowds]
        crowds += [(rng.sample(range(count), rng.randint(0, count)), _number(rng, 5)) for _ in range(3)]
        numbers = (
            _number(rng, number) if rng.random() < 0.5 else number
            for number in (one.scale, one.unit, one.worth)
        )
        wrong.append(AddressPrices(links if rng.random() < 0.9 else [], crowds, *numbers))
    return tuple(rng.choices(wrong, k=rng.randint(1, 3)))


@pytest.mark.parametrize(
    "numbers", [(1,), (1, 1, 1, 1, 0, 0), (1, 1, 1, 0, 1, 2, -1), (1, 1, 1, 1, 0, 1 << 40, 1)]
)
def test_what_no_run_has_shown_is_refused(numbers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"list|index"):
        unpacked_prices(array("q", numbers).tobytes())


@pytest.mark.parametrize("seed", gate_first(range(60), 3))
def test_wrong_prices_make_weaker_proofs_but_no_wrong_ones(checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, codes, path = Random(seed), Counter[int](), tmp_path / "plan.proof"
    for number in range(20):
        is_tiny = number % 4 > 0
        problem = tiny_costs(rng) if is_tiny else dense_costs(rng, 16)
        document, (answer, right) = document_of(problem), shown_by(problem, 4_000_000)
        term = next((k for k, one in enumerate(answer.objective) if one.term == "reuse_cost"), None)
        if term is None:
            continue
        by_addresses = replace(answer.objective[term], certificate=Model(solver="reuse"))
        terms = (*answer.objective[:term], by_addresses, *answer.objective[term + 1 :])
        answer = replace(answer, objective=terms)
        known = _wrong(rng, right, len(problem.buffers))
        sent = packed(known)
        assert sent is not None
        proof = prove_within(
            problem, answer, document, str(path), Budget(-1.0, 2_000_000), unpacked_prices(sent)
        )
        if proof is None:
            continue
        files = (document, write_plan(problem, answer), path.read_bytes())
        verdict = checker.check(files)
        codes[verdict.code] += 1
        assert second(files, tmp_path) == verdict
        assert verdict.code in (VERIFIED, WEAKER), files
        if is_tiny:
            vector = best(problem)[1]
            assert vector is not None
            assert proof.bounds <= vector, document
    assert codes[VERIFIED] > 5


def test_a_bound_of_addresses_may_need_no_price_of_a_buffer(checker: Batch, tmp_path: Path) -> None:
    lives: list[list[list[int]]] = [[], [[4, 6], [1, 2], [5, 9]], [[2, 4]], [[4, 5]], [[-1, 0]], [[1, 5]]]
    sizes, alignments = (1, 3, 1, 4, 1, 2), (1, 2, 1, 2, 1, 4)
    document = {
        "version": 1,
        "pools": [{"id": "fast", "capacity": 7}],
        "buffers": [
            {"id": name, "size": size, "alignment": alignment} | ({"lifetimes": mine} if mine else {})
            for name, size, alignment, mine in zip("abcdef", sizes, alignments, lives, strict=True)
        ],
        "conflicts": [["b", "c"], ["d", "e"], ["f", "c"]],
        "exclusive": [["a", "b"], ["c", "a"], ["b", "f"], ["f", "d"]],
        "in_place": [{"input": "b", "output": "c"}],
        "reuse_costs": costs(ba=3, da=3, ea=2, eb=4, ed=3, fa=4, fb=2, fc=1, fd=3, fe=4),
        "objective": ["reuse_cost", "peak"],
    }
    data, path = json.dumps(document).encode(), tmp_path / "plan.proof"
    problem = read_problem(data, "json")
    answer = plan(problem, Options(deterministic=True))
    claimed = replace(answer.objective[0], bound=11, certificate=Model(solver="reuse"))
    answer = replace(answer, objective=(claimed, *answer.objective[1:]))
    proof = prove_within(problem, answer, data, str(path), Budget(-1.0, 1_000_000))
    assert proof is not None
    assert proof.bounds[0] == 9
    assert (best(problem)[1] or (0,))[0] == 9
    assert checker.check((data, write_plan(problem, answer), path.read_bytes())).code == VERIFIED


def test_cores_are_walked_through(tmp_path: Path) -> None:
    document = json.dumps(TILES).encode()
    problem, path = read_problem(document, "json"), tmp_path / "plan.proof"
    assert prove_within(problem, plan(problem), document, str(path), Budget(-1.0, 1_000_000)) is not None
    walk = walk_of(problem, problem, path)
    assert walk is not None
    assert [step.text for step in walk.steps] == [
        "No plan has a reuse cost below 1: what a limit leaves is no cheaper.",
        "No plan with a peak of at most 7 has a reuse cost below 5: what a limit leaves is no cheaper.",
        "Limit 0: each plan pays for a and b, or a and c, or b and c. If all are apart: 3 buffers of 12 "
        "bytes would share the 8 from 0 to 8.",
        "Limit 1: each plan with a peak of at most 7 pays for b and c. If all are apart: then a buffer has "
        "no place left.",
    ]
    assert [step.buffers for step in walk.steps] == [(0, 1, 2), (1, 2), (0, 1, 2), (1, 2)]
    assert walk.more == 0
