"""Proofs that placement costs are least: what both checkers verify is true; each rule has its conditions."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from memstow import Buffer, Options, Pool, Problem, plan
from memstow.planner.formats import read_problem
from memstow.planner.formats.native import write_plan
from memstow.planner.model import Status
from memstow.planner.proofs import _checker
from memstow.planner.proofs.prove import prove_within
from memstow.planner.proofs.walk_order import walk_of
from memstow.solvers.core import Budget
from tests.campaign import gate_first
from tests.checker.checkers import (
    VERIFIED,
    WEAKER,
    WRONG,
    Batch,
    Files,
    compilers,
    document_of,
    second,
    tiny_placements,
)
from tests.checker.mutations import campaign, is_true
from tests.checker.test_checker import by_hand
from tests.planner.verify.test_windows import ABOVE_LIVE

pytestmark = pytest.mark.skipif(not compilers(), reason="the checker needs g++ or clang++")


END: Final = 1 << 62
# Two of the three fit into the fast pool, 0; in the slow one, 1, they cost 8, 10 and 12.
MEMORIES: Final = {
    "version": 1,
    "pools": [{"id": "fast", "capacity": 10}, {"id": "slow", "cost": 2}],
    "buffers": [
        {"id": name, "size": size, "lifetime": [0, 1]} for name, size in zip("abc", (4, 5, 6), strict=True)
    ],
}


def placed(*pools: str, offsets: tuple[int, ...] = (0, 5, 4)) -> dict[str, Any]:
    """A plan of `a`, `b` and so on."""
    return {
        "status": "optimal",
        "placements": [
            {"buffer": name, "pool": pool, "offset": at}
            for name, pool, at in zip("abcdef", pools, offsets, strict=False)
        ],
    }


BEST: Final = placed("fast", "slow", "fast")
WORSE: Final = placed("fast", "fast", "slow")
SPACE: Final = (4, END)
ROW: Final = (8, 0, 1, 3, 0, 0, 0)
"""All three take 15 of the 10 bytes."""
LARGE: Final = (8, 0, 5, 2, 1, 0)
"""`b` and `c` take 1 each of the 2, of 5 bytes each."""
BRANCH: Final = (9, 0, END, 1, 2, 0, 1, 1, 0, 2, 1, 1, 0, 100, 0, 0)
"""If `c` is in the fast pool and `b` as well, it is too full; else one costs 10 or 12."""


def both(checker: Batch, folder: Path, files: Files) -> str:
    """What both say."""
    verdict = checker.check(files)
    assert second(files, folder) == verdict
    return verdict.words


def test_each_kind_of_node(checker: Batch, tmp_path: Path) -> None:
    # With a price of 2 for a byte, what does not fit costs 10.
    tree = (9, 0, END, 2, 1, 1, 0, 2)
    files = by_hand(MEMORIES, BEST, *SPACE, *ROW, *tree, 0, 3)
    assert both(checker, tmp_path, files) == "verified: placement cost 10 is least"
    # The same on a scale of 3, where a price of 5 shows 9 at least: all costs are even.
    files = by_hand(MEMORIES, BEST, *SPACE, *ROW, 9, 0, END, 2, 3, 1, 0, 5, 0, 3)
    assert both(checker, tmp_path, files) == "verified: placement cost 10 is least"
    files = by_hand(MEMORIES, BEST, *SPACE, *ROW, *BRANCH, 0, 3)
    assert both(checker, tmp_path, files) == "verified: placement cost 10 is least"
    # A worse plan is right, and no more.
    files = by_hand(MEMORIES, WORSE, *SPACE, *ROW, *tree, 0, 3)
    assert "its placement cost 12 is not proven least: only that none is below 10" in both(
        checker, tmp_path, files
    )
    # Without a step, no buffer costs anything.
    files = by_hand(MEMORIES, BEST, 0, 0)
    assert "none is below 0" in both(checker, tmp_path, files)
    everything = placed("slow", "slow", "slow", offsets=(0, 4, 9))
    pools = [{"id": "fast", "cost": 1}, {"id": "slow", "cost": 1}]
    files = by_hand(MEMORIES | {"pools": pools}, everything, 0, 0)
    assert both(checker, tmp_path, files) == "verified: placement cost 15 is least"


def test_buffers_that_have_no_layout_together(checker: Batch, tmp_path: Path) -> None:
    # All three within the fast pool are overfull from 0 to 10. One is elsewhere: the least costs 8.
    within = (7, END, 3, 0, 1, 0, 0, 1, 0, 0, 1, 0, 3, END, 3, 0, 10, 3, 0, 0, 0)
    files = by_hand(MEMORIES, BEST, *within, 9, 0, END, 2, 1, 1, 0, 8, 0, 3)
    assert "none is below 8" in both(checker, tmp_path, files)
    # As are `b` and `c`: of these the least costs 10.
    two = (7, END, 2, 1, 1, 0, 0, 1, 0, 3, END, 3, 0, 10, 2, 1, 0)
    files = by_hand(MEMORIES, BEST, *two, 9, 0, END, 2, 1, 1, 0, 10, 0, 3)
    assert both(checker, tmp_path, files) == "verified: placement cost 10 is least"
    # It is no proof that nothing fits, nor of a peak.
    files = by_hand(MEMORIES, {"status": "infeasible"}, *two, 0, 2)
    assert checker.check(files).code == second(files, tmp_path).code == WRONG
    # Afterwards all may be anywhere.
    files = by_hand(MEMORIES, BEST, *two, 4, END, 3, END, 3, 0, 10, 2, 1, 0, 0, 4)
    assert checker.check(files).code == second(files, tmp_path).code == WRONG


def test_preferences_and_what_comes_after(checker: Batch, tmp_path: Path) -> None:
    liked = MEMORIES | {"objective": ["preference", "max_peak"]}
    # One of them is in the second pool, where a byte counts once.
    rows = (*SPACE, *ROW, 9, 1, END, 2, 1, 1, 0, 1)
    files = by_hand(liked, BEST, *rows, 0, 3)
    assert both(checker, tmp_path, files) == "verified: preference 5 is least"
    # Up to 9 bytes there is less room: 6 bytes are in the second pool.
    low = (4, 9, *ROW, 9, 1, 9, 2, 1, 1, 1, 1, 0, 6)
    files = by_hand(liked, BEST, *rows, *low)
    assert both(checker, tmp_path, files) == "verified: preference 5 is least, then peak 10"
    # The other way round: of the peak it says nothing.
    turned = MEMORIES | {"objective": ["max_peak", "preference"]}
    files = by_hand(turned, BEST, *rows, 0, 3)
    assert "its peak 10 is not proven least: only that none is below 0" in both(checker, tmp_path, files)


def test_units_are_in_one_pool(checker: Batch, tmp_path: Path) -> None:
    tied = MEMORIES | {"relative": [{"buffer": "c", "base": "a", "offset": 4}]}
    # Both cost 20 in the slow pool, and `b` only 10.
    files = by_hand(tied, placed("fast", "slow", "fast"), *SPACE, 9, 0, END, 1, 1, 0, 0, 0, 0, 2)
    assert "none is below 0" in both(checker, tmp_path, files)
    # Of a row only one of them may be a part.
    files = by_hand(tied, BEST, *SPACE, *ROW, 0, 2)
    assert checker.check(files).code == second(files, tmp_path).code == WRONG
    # To say that both are within a pool is to say it twice.
    files = by_hand(tied, BEST, 7, END, 2, 0, 1, 0, 1, 1, 0, 3, END, 2, 0, 2)
    assert "two of one group" in checker.check(files).words
    assert second(files, tmp_path).code == WRONG
    # Not all three are in the fast pool: that costs 2 at least, and what they may cost differs by tens.
    row = (8, 0, 1, 2, 1, 0)
    files = by_hand(tied, BEST, *SPACE, *row, 9, 0, END, 2, 1, 1, 0, 2, 0, 3)
    assert both(checker, tmp_path, files) == "verified: placement cost 10 is least"


def test_cells_begin_where_buffers_may(checker: Batch, tmp_path: Path) -> None:
    # From base 2 on, multiples of 4 are at 2, 6 and 10 of 12 bytes, and 6 is reserved: two cells.
    pools = [
        {"id": "fast", "capacity": 12, "alignment": 4, "base": 2, "reserved": [{"offset": 5, "size": 2}]},
        {"id": "slow", "cost": 2},
    ]
    buffers = [{"id": name, "size": 2, "lifetime": [0, 1]} for name in "abc"]
    cells = {"version": 1, "pools": pools, "buffers": buffers}
    answer = placed("fast", "slow", "fast", offsets=(2, 0, 10))
    files = by_hand(cells, answer, *SPACE, *ROW, 9, 0, END, 2, 1, 1, 0, 4, 0, 3)
    assert both(checker, tmp_path, files) == "verified: placement cost 4 is least"


def test_many_limits_with_many_parts_can_be_stopped(tmp_path: Path) -> None:
    # Each leaf names them all in two bytes each, and each of them has all buffers as parts.
    count, limits, leaves = 3_000, 1_000, 6
    buffers = [{"id": str(i), "size": 1} for i in range(count)]
    problem = {"version": 1, "pools": [{"id": "x", "capacity": 0}, {"id": "y"}], "buffers": buffers}
    part, leaf = (0, 1, 0), (2, 1, limits, *(0, 0) * limits)
    tree = [number for i in range(leaves - 1) for number in (1, i, 0, *leaf)]
    numbers = (7, 0, count, *part * count, *(3, 0, 2) * limits, 9, 0, 0, *tree, *leaf, 0, limits + 2)
    document, answer, proof = by_hand(problem, {"status": "infeasible"}, *numbers)
    path = tmp_path / "plan.proof"
    path.write_bytes(proof)
    request = list[bool]()

    def stopped() -> bool:
        request.append(True)
        return False

    result = _checker.check(document, answer, str(path), stopped)
    assert result is not None
    assert "does not show it" in result[1]
    blocks = -(-len(proof) // 8_192)
    assert len(request) > blocks + 1  # at each block, at the end of the file, and in between


def test_reserved_ranges_are_not_kept_for_any_number_of_lists_of_pools(tmp_path: Path) -> None:
    # Each list of pools is another one, and each keeps what is reserved in the others: 16 GB with a few more.
    pools = [
        {"id": str(k), "reserved": [{"offset": 2 * i, "size": 1} for i in range(1_000)]} for k in range(13)
    ]
    lists = [[str(k) for k in range(13) if number >> k & 1] for number in range(1, 1_000)]
    buffers = [{"id": str(i), "size": 1, "pools": some} for i, some in enumerate(lists)]
    document, answer, proof = by_hand(
        {"version": 1, "pools": pools, "buffers": buffers}, {"status": "infeasible"}, 4, 5_000, 0, 1
    )
    path = tmp_path / "plan.proof"
    path.write_bytes(proof)
    result = _checker.check(document, answer, str(path), lambda: False)
    assert result is not None
    assert "too many lists of pools" in result[1]


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((*ROW, 0, 1), "the height comes first"),
        ((9, 0, END, 0, 0, 1), "the height comes first"),
        ((*SPACE, 8, 2, 1, 1, 0, 0, 2), "a pool that there is not"),
        ((*SPACE, 8, 0, 0, 1, 0, 0, 2), "a divisor of 0"),
        ((*SPACE, 8, 0, 1, 1, 5, 0, 2), "a buffer that there is not"),
        ((*SPACE, 8, 0, 1, 1, 3, 0, 2), "a buffer without bytes"),
        ((*SPACE, 8, 1, 1, 2, 0, 3, 0, 2), "two that do not conflict are in one row"),
        ((*SPACE, *ROW, 9, 3, END, 0, 0, 3), "an unknown kind of cost"),
        ((*SPACE, *ROW, 9, 0, END, 3, 0, 3), "an unknown kind of node"),
        ((*SPACE, *ROW, 9, 0, END, 2, 0, 1, 0, 2, 0, 3), "a scale of 0"),
        ((*SPACE, *ROW, 9, 0, END, 2, 1, 1, 1, 2, 0, 3), "a limit that there is not"),
        ((*SPACE, 9, 0, END, 2, 1, 1, 0, 2, 0, 2), "a list of 1 limits"),
        ((*SPACE, *ROW, 9, 0, END, 2, 1, 1, 0, END, 0, 3), "a sum beyond 2^62"),
        ((*SPACE, *ROW, 9, 0, END, 2, END, 1, 0, 2, 0, 3), "a sum beyond 2^62"),
        ((*SPACE, *ROW, 9, 0, END, 2, 1, 1, 0, END + 1, 0, 3), "a number beyond 2^62"),
        ((4, 9, *ROW, 9, 0, END, 2, 1, 1, 0, 2, 0, 3), "a limit that does not hold so high"),
        ((*SPACE, *ROW, 9, 0, END, 1, 0, 2, 0, 0, 0, 3), "a pool where a buffer may not be"),
        ((*SPACE, *ROW, 9, 0, END, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3), "a branch that is none"),
        ((*SPACE, *ROW, 9, 0, END, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 3), "a branch that is none"),
        ((*SPACE, *ROW, 9, 0, END, 1, 3, 0, 0, 0, 0, 3), "a buffer without bytes"),
        ((*SPACE, *ROW, 9, 0, END, 1, 0, 0, 0), "the proof is cut off"),
        ((7, END, 1, 0, 1, 2, 3, END, 2, 0, 2), "a pool that there is not"),
        ((7, END, 1, 4, 1, 0, 3, END, 2, 0, 2), "a pool where a buffer may not be"),
        ((7, END, 1, 3, 1, 0, 3, END, 2, 0, 2), "a buffer without bytes"),
        ((7, END, 0, 3, END, 2, 0, 2), "a list of 0 buffer or pairs"),
        ((7, END, 1, 0, 0, 3, END, 2, 0, 2), "a list of 0 pools"),
        # `c` alone fits, and what may be in the slow pool is in no question at this height.
        ((7, END, 1, 2, 1, 0, 3, END, 3, 0, 10, 1, 2, 0, 2), "the stretch is not overfull"),
        ((7, END, 1, 2, 1, 0, 3, END, 3, 0, 10, 2, 1, 0, 0, 2), "is not in question here"),
        ((7, END, 2, 1, 1, 0, 0, 1, 0, 3, 9, 3, 0, 10, 2, 1, 0, 0, 2), "a conclusion for another height"),
        # Pairs that are apart make no row.
        ((7, END, 1, 5, 1, 0, 8, 1, 1, 2, 0, 3, 0, 2), "two that do not conflict are in one row"),
        # A lemma of a space where buffers had fewer pools.
        (
            (7, END, 2, 1, 1, 0, 0, 1, 0, 1, 2, 1, 0, 5, 0, 0, 4, 0, 3, 0, 10, 2, 1, 0, 4, END, 2, 1, 0, 4),
            "there is no such lemma",
        ),
    ],
)
def test_rules_outside_of_their_conditions(
    checker: Batch, tmp_path: Path, numbers: tuple[int, ...], why: str
) -> None:
    more = [
        {"id": "d", "size": 0, "lifetime": [0, 1]},
        {"id": "e", "size": 1, "lifetime": [1, 2], "pools": ["slow"]},
    ]
    costs = [{"buffers": ["a", "b"], "cost": 1}]
    problem = MEMORIES | {"buffers": [*MEMORIES["buffers"], *more], "reuse_costs": costs}  # type: ignore[misc]
    answer = placed("fast", "slow", "fast", "fast", "slow", offsets=(0, 5, 4, 0, 0))
    files = by_hand(problem, answer, *numbers)
    verdict = checker.check(files)
    assert (verdict.code, why in verdict.words) == (WRONG, True), verdict
    assert second(files, tmp_path).code == WRONG


def test_of_one_pool_costs_are_as_they_are(checker: Batch, tmp_path: Path) -> None:
    one = MEMORIES | {"pools": [{"id": "fast", "cost": 3}]}
    answer = placed("fast", "fast", "fast", offsets=(0, 4, 9))
    one |= {"objective": ["placement_cost", "peak"]}
    files = by_hand(one, answer, 3, 14, 3, 0, 14, 3, 0, 0, 0, 0, 1)
    words = "verified: placement cost 45 is least, then peak 15"
    assert both(checker, tmp_path, files) == words
    # Rows and spaces are as good: up to 14 the three have no room.
    files = by_hand(one, answer, 4, 14, *ROW, 9, 0, 14, 2, 1, 1, 0, 0, 0, 3)
    assert both(checker, tmp_path, files) == words
    for numbers in (ROW, (9, 0, END, 0)):
        files = by_hand(one, answer, *numbers, 0, 1)
        assert checker.check(files).code == second(files, tmp_path).code == WRONG


@pytest.mark.parametrize(("deep", "code"), [(999, VERIFIED), (1_001, WRONG)])
def test_trees_are_not_deeper_than_can_be_read(checker: Batch, tmp_path: Path, deep: int, code: int) -> None:
    buffers = [{"id": f"b{i}", "size": 1, "lifetime": [i, i + 1]} for i in range(deep)]
    places = [{"buffer": f"b{i}", "pool": "fast", "offset": 0} for i in range(deep)]
    tree = [step for i in range(deep) for step in (1, i, 1, 0)]
    files = by_hand(
        MEMORIES | {"buffers": buffers},
        {"status": "optimal", "placements": places},
        *(*SPACE, 9, 0, END, *tree, 0, 0, 2),
    )
    verdict = checker.check(files)
    assert (verdict.code, second(files, tmp_path).code) == (code, code)
    assert (code == WRONG) == ("a tree too deep" in verdict.words)


def test_a_term_after_one_that_is_not_shown_is_not_named(checker: Batch, tmp_path: Path) -> None:
    both_terms = MEMORIES | {"objective": ["reuse_cost", "placement_cost", "max_peak"]}
    peak = (4, 4, 3, 4, 2)  # `c` has no place up to 4
    answer = placed("slow", "slow", "fast", offsets=(0, 4, 0))
    files = by_hand(both_terms, answer, *peak, 0, 2)
    assert both(checker, tmp_path, files) == "verified: reuse cost 0 is least"


@pytest.mark.parametrize("seed", gate_first(range(30), 3))
def test_what_is_verified_is_what_brute_force_says(checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, codes = Random(seed), Counter[int]()
    for _ in range(100):
        problem = tiny_placements(rng)
        document, path = document_of(problem), tmp_path / "plan.proof"
        answer = plan(problem, Options(deterministic=True))
        proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 20_000_000))
        is_best = answer.status is Status.OPTIMAL
        if proof is None:
            assert not is_best or problem.in_place
            continue
        files = (document, write_plan(problem, answer), path.read_bytes())
        verdict = checker.check(files)
        codes[verdict.code] += 1
        assert second(files, tmp_path) == verdict
        assert verdict.code in (VERIFIED, WEAKER), files
        assert verdict.code != VERIFIED or is_true(files, verdict.words), files
        # Pairs in place are seen as less than they are, and alignments that differ between pools.
        assert verdict.code == VERIFIED or not is_best or problem.in_place, files
        path.unlink()
    assert codes[VERIFIED] > 80


def test_mutants_are_verified_only_where_that_is_true(checker: Batch, tmp_path: Path) -> None:
    codes = campaign(checker, tmp_path, 400, 9, tiny=tiny_placements)
    assert codes[VERIFIED] > 10
    assert codes[WRONG] > 100


@pytest.mark.campaign
def test_many_mutants_are_verified_only_where_that_is_true(checker: Batch, tmp_path: Path) -> None:
    assert campaign(checker, tmp_path, 50_000, 10, referee_each=50, tiny=tiny_placements)[VERIFIED] > 1_000


def test_limits_are_walked_through(tmp_path: Path) -> None:
    two = (7, END, 2, 1, 1, 0, 0, 1, 0, 3, END, 3, 0, 10, 2, 1, 0)
    for numbers, said in (
        (
            (*SPACE, *ROW, 9, 0, END, 2, 1, 1, 0, 2, 0, 3),
            ["Limit 0: each plan has at most 10 of these in fast: a 4, b 5, c 6."],
        ),
        (
            (*two, 9, 0, END, 2, 1, 1, 0, 10, 0, 3),
            [
                "Limit 0: each plan lacks one of these: b in fast, c in fast. "
                "With all: 2 buffers of 11 bytes would share the 10 from 0 to 10."
            ],
        ),
    ):
        document, _, data = by_hand(MEMORIES, BEST, *numbers)
        path = tmp_path / "plan.proof"
        path.write_bytes(data)
        problem = read_problem(document, "json")
        walk = walk_of(problem, problem, path)
        assert walk is not None
        first = "No plan has a placement cost below 10: what a limit leaves is no cheaper."
        assert [step.text for step in walk.steps] == [first, *said]
        assert walk.more == 0


def test_pools_begin_as_if_reserved_ranges_that_overlap_were_one(checker: Batch, tmp_path: Path) -> None:
    # They end at 6, as all of it does in steps of 2: a step of 1 would have the second pool elsewhere.
    reserved = [{"offset": 4, "size": 2}, {"offset": 4, "size": 1}]
    lives = {"a": (4, [2, 5]), "b": (2, [0, 2]), "c": (2, [1, 4])}
    document = {
        "version": 1,
        "pools": [{"id": "p", "cost": 4, "reserved": reserved}, {"id": "q", "capacity": 4, "cost": 3}],
        "buffers": [{"id": one, "size": size, "lifetime": life} for one, (size, life) in lives.items()],
        "objective": ["peak:p", "placement_cost"],
    }
    document["buffers"][2]["pools"] = ["q"]  # type: ignore[index]
    data, path = json.dumps(document).encode(), tmp_path / "plan.proof"
    problem = read_problem(data)
    answer = plan(problem, Options(deterministic=True))
    assert prove_within(problem, answer, data, str(path), Budget(-1.0, 20_000_000)) is not None
    files = (data, write_plan(problem, answer), path.read_bytes())
    assert both(checker, tmp_path, files) == "verified: peak of 'p' 4 is least, then placement cost 28"


def test_no_limit_is_written_whose_sums_checkers_refuse(checker: Batch, tmp_path: Path) -> None:
    # What is in all three pools together is more than 2^62, before it is divided by what divides all of it.
    unit = 1 << 57
    pools = [
        Pool(id="p", alignment=unit, cost=1),
        Pool(id="q", alignment=2 * unit, capacity=3 * unit),
        Pool(id="r", alignment=unit, capacity=4 * unit, base=3 * unit, cost=3),
    ]
    buffers = [
        Buffer(id="a", size=4 * unit, lifetime=(2, 3), accesses=4),
        Buffer(id="b", size=4 * unit, lifetime=(1, 4), alignment=2 * unit, accesses=4),
        Buffer(id="c", size=6 * unit, lifetime="always", accesses=6),
    ]
    problem, path = Problem(buffers=buffers, pools=pools), tmp_path / "plan.proof"
    answer, document = plan(problem, Options(deterministic=True)), document_of(problem)
    assert [one.value for one in answer.objective] == [14, 14 * unit]
    assert prove_within(problem, answer, document, str(path), Budget(-1.0, 20_000_000)) is not None
    files = (document, write_plan(problem, answer), path.read_bytes())
    verdict = checker.check(files)
    assert second(files, tmp_path) == verdict
    assert verdict.code in (VERIFIED, WEAKER), verdict


def test_what_needs_a_search_in_a_pool_is_shown_by_it(checker: Batch, tmp_path: Path) -> None:
    # Live bytes fit into the fast pool, but there is no layout: the smallest cost the least elsewhere.
    buffers = [
        Buffer(id=f"b{i}", size=size, lifetime=(begin, end))
        for i, (size, begin, end) in enumerate(ABOVE_LIVE)
    ]
    pools = [Pool(id="fast", capacity=15), Pool(id="slow", cost=1)]
    problem, path = Problem(buffers=buffers, pools=pools), tmp_path / "plan.proof"
    answer, document = plan(problem, Options(deterministic=True)), document_of(problem)
    cost, peak = answer.objective
    assert cost.value == 1
    # A solver with more time claims that this is the least.
    answer = replace(answer, objective=(replace(cost, bound=1), peak))
    assert prove_within(problem, answer, document, str(path), Budget(-1.0, 20_000_000)) is not None
    files = (document, write_plan(problem, answer), path.read_bytes())
    assert both(checker, tmp_path, files).startswith("verified: placement cost 1 is least")
    walk = walk_of(problem, problem, path)
    assert walk is not None
    assert any("lacks one of these" in step.text for step in walk.steps)


def test_what_rows_alone_show_too_little_of_is_shown_by_what_follows_from_them(
    checker: Batch, tmp_path: Path
) -> None:
    rng, spans = Random(0), list[tuple[int, int, int]]()
    for _ in range(60):
        begin = rng.randrange(60)
        spans.append((rng.randint(10, 60), begin, begin + rng.randint(1, 15)))
    buffers = [
        Buffer(id=f"b{i}", size=size, lifetime=(begin, end)) for i, (size, begin, end) in enumerate(spans)
    ]
    most = max(sum(size for size, begin, end in spans if begin <= time < end) for time in range(60))
    pools = [Pool(id="fast", capacity=most * 3 // 5), Pool(id="slow", cost=1)]
    problem, path = Problem(buffers=buffers, pools=pools), tmp_path / "plan.proof"
    answer, document = plan(problem, Options(deterministic=True)), document_of(problem)
    cost, peak = answer.objective
    answer = replace(answer, objective=(replace(cost, bound=463), peak))
    proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 5_000_000))
    assert proof is not None
    assert proof.bounds[0] >= 463
    files = (document, write_plan(problem, answer), path.read_bytes())
    assert str(proof.bounds[0]) in both(checker, tmp_path, files)
