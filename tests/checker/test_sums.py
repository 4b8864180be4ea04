"""Proofs about peaks of several pools: what both checkers verify is true; each rule has its conditions."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from memstow import Options, plan
from memstow.planner.formats import read_problem
from memstow.planner.formats.native import write_plan
from memstow.planner.model import Status
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
    compilers,
    document_of,
    second,
    tiny_mixed,
    tiny_sums,
)
from tests.checker.mutations import campaign, is_true
from tests.checker.test_checker import by_hand
from tests.checker.test_placement_costs import END, MEMORIES, ROW, SPACE, both, placed

pytestmark = pytest.mark.skipif(not compilers(), reason="the checker needs g++ or clang++")

FIRST: Final = END + 1
"""Heights that were named first."""
BEST: Final = placed("fast", "slow", "fast", offsets=(0, 0, 4))
LEAST_COST: Final = (*SPACE, *ROW, 9, 0, END, 2, 1, 1, 0, 2)
"""Three steps, a limit and a statement: the cost is 10."""
ANY: Final = (END, END, END)
"""Costs may be any."""
BELOW: Final = (11, 10, END, 14, *ANY)
"""Heights of less than 15 in all."""
ROWS: Final = (12, 1, 3, 0, 0, 0, 3, 0, 0, 0)
"""All three take 15 bytes, wherever they are."""
LIVE: Final = (*BELOW, 4, FIRST, *ROWS, 9, 0, FIRST, 2, 1, 1, 1, 100)
"""Four steps: so there is no such layout."""
PARTS: Final = (
    *(11, 9, END, END, *ANY, 11, END, 4, END, *ANY, 11, END, END, 14, *ANY),
    *(4, FIRST, *ROW, 9, 0, FIRST, 2, 1, 1, 1, 2),  # up to 9 in the fast pool it costs 12
    *(4, FIRST + 1, *ROW, 8, 1, 1, 3, 0, 0, 0, 9, 0, FIRST + 1, 2, 1, 2, 2, 100, 0, 100),  # 14 bytes in all
)
"""Ten steps: two statements more, for the heights that are named first and second."""
TREE: Final = (6, 0, FIRST + 2, 1, 0, 9, 2, 1, 2, 2)
WORDS: Final = "verified: placement cost 10 is least, then sum of peaks 15"


def test_the_sum_of_peaks_is_least(checker: Batch, tmp_path: Path) -> None:
    assert both(checker, tmp_path, by_hand(MEMORIES, BEST, *LEAST_COST, *LIVE, 0, 7)) == WORDS
    assert both(checker, tmp_path, by_hand(MEMORIES, BEST, *LEAST_COST, *PARTS, *TREE, 0, 14)) == WORDS
    # Each part alone says too little.
    first = "verified: placement cost 10 is least"
    assert both(checker, tmp_path, by_hand(MEMORIES, BEST, *LEAST_COST, *PARTS, 0, 13)) == first
    # One byte less in all leaves a worse plan.
    higher = placed("fast", "slow", "fast", offsets=(0, 1, 4))
    assert both(checker, tmp_path, by_hand(MEMORIES, higher, *LEAST_COST, *LIVE, 0, 7)) == first


def test_peaks_in_any_order(checker: Batch, tmp_path: Path) -> None:
    def said(objective: list[str], *numbers: int) -> str:
        return both(checker, tmp_path, by_hand(MEMORIES | {"objective": objective}, BEST, *numbers))

    # No cost is a term, so one of at least 1 is a contradiction.
    none = (*BELOW, 4, FIRST, *ROWS, 9, 0, FIRST, 2, 1, 1, 0, 1, 0, 4)
    assert said(["peak"], *none) == "verified: sum of peaks 15 is least"
    # Layouts of 15 bytes in all may cost less than 10.
    assert said(["peak", "placement_cost"], *LEAST_COST, *LIVE, 0, 7) == (
        "verified: sum of peaks 15 is least, then placement cost 10"
    )
    # Without a cost before them, statements about costs say nothing of peaks; 5 bytes are in the slow pool.
    assert "is not proven least: only that none is below 5" in said(
        ["peak"], *LEAST_COST, *PARTS, *TREE, 0, 14
    )
    # The peak of the fast pool is at least 10 where the cost is least, and that of the slow one 5.
    alone = (*LEAST_COST, *PARTS, 0, 13)
    assert said(["placement_cost", "peak:fast"], *alone).endswith("10 is least, then peak of 'fast' 10")
    assert said(["placement_cost", "peak:slow"], *alone).endswith("10 is least, then peak of 'slow' 5")
    assert said(["placement_cost", "max_peak"], *alone).endswith("10 is least, then peak 10")


def test_an_id_does_not_read_like_another_verdict(checker: Batch, tmp_path: Path) -> None:
    name = "x' 5 is least, then reuse cost 0 is least, then peak of 'x"
    problem = {
        "version": 1,
        "pools": [{"id": name}, {"id": "y"}],
        "buffers": [],
        "objective": [f"peak:{name}"],
    }
    files = by_hand(problem, {"status": "optimal", "placements": []}, 0, 0)
    quoted = "'x'' 5 is least, then reuse cost 0 is least, then peak of ''x'"
    assert both(checker, tmp_path, files) == f"verified: peak of {quoted} 0 is least"


def test_the_largest_sums_there_are(checker: Batch, tmp_path: Path) -> None:
    far = placed("fast", "slow", "slow", offsets=(0, END - 5, 0))
    files = by_hand(MEMORIES, far, 0, 0)
    assert checker.check(files).code == second(files, tmp_path).code == NOT_CHECKED
    # For another term the sum does not matter.
    files = by_hand(MEMORIES | {"objective": ["placement_cost", "max_peak"]}, far, 0, 0)
    assert checker.check(files).code == second(files, tmp_path).code == WEAKER
    at_most = placed("fast", "slow", "slow", offsets=(0, END - 9, 0))
    low = (11, END, END, 1, 6, 0, FIRST, 1, 0, END, 1, 1, END, 0, 0, 0)
    for numbers in ((0, 0), (4, 1, *low, 0, 3)):
        files = by_hand(MEMORIES, at_most, *numbers)
        assert checker.check(files).code == second(files, tmp_path).code
    # Leasts may be 2^62 + 1 in each pool, which is more than any sum.
    deep = (4, END, 11, END, END, END - 1, 6, 0, FIRST, 1, 0, END, 1, 1, END, 2, 0, 0, 0, 0, 3)
    files = by_hand(MEMORIES, BEST, *deep)
    assert checker.check(files).code == second(files, tmp_path).code == WRONG


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((*LEAST_COST, *PARTS, 6, 3, FIRST + 2, 0, 0, 14), "an unknown kind of cost"),
        (
            (*LEAST_COST, *PARTS, 6, 1, FIRST + 2, 1, 0, 9, 2, 1, 2, 2, 0, 14),
            "a statement about another cost",
        ),
        ((*LEAST_COST, *PARTS, 6, 0, FIRST + 3, 0, 0, 14), "names no heights"),
        ((*LEAST_COST, *PARTS, 6, 0, FIRST + 2, 0, 0, 14), "peaks that are no contradiction"),
        ((*LEAST_COST, *PARTS, 6, 0, FIRST + 2, 1, 2, 9, 2, 1, 2, 2, 0, 14), "a pool that there is not"),
        ((*LEAST_COST, *PARTS, 6, 0, FIRST + 2, 1, 0, 9, 2, 1, 2, 3, 0, 14), "there is no such statement"),
        ((*LEAST_COST, *PARTS, 6, 0, FIRST + 2, 1, 0, 10, 2, 1, 2, 2, 0, 14), "does not hold so high"),
        ((*LEAST_COST, *PARTS, 6, 0, FIRST + 2, 1, 0, 8, 2, 1, 2, 2, 0, 14), "does not hold so high"),
        # Of any sum the slow pool may be as high as it likes.
        ((*LEAST_COST, *PARTS, 6, 0, END, 1, 0, 9, 2, 1, 2, 2, 0, 14), "does not hold so high"),
        ((*LEAST_COST, *PARTS, 6, 0, FIRST + 2, 3, 0, 14), "an unknown kind of node"),
        ((*LEAST_COST, *LIVE, 9, 0, END, 2, 1, 1, 1, 100, 0, 8), "a limit that does not hold so high"),
        ((*LEAST_COST, *BELOW, 4, END, *ROWS, 0, 6), "rows of peaks that may have any sum"),
        ((*LEAST_COST, *BELOW, 4, FIRST, 12, 0, 0, 0, 0, 6), "a divisor of 0"),
        ((*LEAST_COST, *BELOW, 4, FIRST, 12, 1, 0, 0, 0, 5), "the number of steps"),
        ((*LEAST_COST, *BELOW, 4, FIRST, 12, 1, 2, 0, 2, 0, 0, 6), "two that do not conflict"),
        ((*LEAST_COST, *BELOW, 4, FIRST, 12, 1, 1, 4, 0, 0, 6), "a pool where a buffer may not be"),
        ((*BELOW, 12, 1, 0, 0, 0, 2), "the height comes first"),
        ((*BELOW, 4, FIRST, 3, END, 2, 0, 3), "a conclusion for another height"),
        ((*BELOW, 11, 10, END, 14, *ANY, 4, FIRST, 3, FIRST + 1, 2, 0, 4), "a conclusion for another height"),
        ((4, FIRST, 0, 1), "names no heights"),
        ((11, END + 1, 0, 0, 0, 0, 0, 0, 1), "a number beyond 2^62"),
        ((11, 0, 0), "the proof is cut off"),
        # Heights of 0, where nothing is.
        ((11, 0, 0, 0, *ANY, 4, FIRST, 3, FIRST, 2, 0, 4), "the number of steps"),
    ],
)
def test_rules_outside_of_their_conditions(
    checker: Batch, tmp_path: Path, numbers: tuple[int, ...], why: str
) -> None:
    more = [
        {"id": "d", "size": 1, "lifetime": [1, 2]},
        {"id": "e", "size": 1, "lifetime": [1, 2], "pools": ["slow"]},
    ]
    problem = MEMORIES | {"buffers": [*MEMORIES["buffers"], *more]}  # type: ignore[misc]
    answer = placed("fast", "slow", "fast", "fast", "slow", offsets=(0, 0, 4, 0, 0))
    files = by_hand(problem, answer, *numbers)
    verdict = checker.check(files)
    assert (verdict.code, why in verdict.words) == (WRONG, True), verdict
    assert second(files, tmp_path).code == WRONG


@pytest.mark.parametrize(("deep", "code"), [(999, VERIFIED), (1_000, WRONG)])
def test_trees_are_not_deeper_than_can_be_read(checker: Batch, tmp_path: Path, deep: int, code: int) -> None:
    # The first pool has less and less, and then there is still no such layout.
    tree = [number for at in range(deep) for number in (1, 0, END - at)]
    leaves = [number for _ in range(deep) for number in (2, 1)]
    files = by_hand(MEMORIES, BEST, *LEAST_COST, *LIVE, 6, 0, FIRST, *tree, 2, 1, *leaves, 0, 8)
    verdict = checker.check(files)
    assert (verdict.code, second(files, tmp_path).code) == (code, code)
    assert (code == WRONG) == ("a tree too deep" in verdict.words)


@pytest.mark.parametrize("number", [4, FIRST, FIRST + 1])
def test_a_conclusion_has_the_number_of_its_space(checker: Batch, tmp_path: Path, number: int) -> None:
    # All three are the same heights; to these, and to the capacities, the buffer is too large.
    pools = [{"id": "x", "capacity": 4}, {"id": "y", "capacity": 4}]
    problem = {"version": 1, "pools": pools, "buffers": [{"id": "a", "size": 5}]}
    for laid in (4, FIRST, FIRST + 1):
        numbers = (*(11, 4, 4, END, *ANY) * 2, 4, laid, 3, number, 2, 0, 4)
        files = by_hand(problem, {"status": "infeasible"}, *numbers)
        code = VERIFIED if laid == number else WRONG
        assert checker.check(files).code == second(files, tmp_path).code == code


def test_of_one_pool_they_say_the_same(checker: Batch, tmp_path: Path) -> None:
    one: dict[str, Any] = MEMORIES | {"pools": [{"id": "fast"}], "objective": ["peak"]}
    answer = placed("fast", "fast", "fast", offsets=(0, 4, 9))
    below = (11, 14, END, *ANY, 4, FIRST, *ROW, 9, 0, FIRST, 2, 1, 1, 0, 1)
    assert both(checker, tmp_path, by_hand(one, answer, *below, 0, 4)) == "verified: peak 15 is least"
    for numbers in ((12, 1, 0), (6, 0, 9, 0), (3, FIRST, 3, 0, 14, 3, 0, 0, 0)):
        files = by_hand(one, answer, *numbers, 0, 1)
        assert checker.check(files).code == second(files, tmp_path).code == WRONG


# In the fast pool a byte of `a` is preferred less than elsewhere; both costs are terms.
TWO_COSTS: Final = MEMORIES | {
    "buffers": [
        {"id": "a", "size": 4, "lifetime": [0, 1], "pools": ["slow", "fast"]},
        *({"id": name, "size": size, "lifetime": [0, 1]} for name, size in (("b", 5), ("c", 6))),
    ],
    "objective": ["placement_cost", "preference", "peak"],
}
SPENT: Final = (11, END, END, END, 10, END, END, 4, FIRST, 5, 0)
"""Three steps: it costs 10 at most, which is five of two each; the limit is 1 after that of `LEAST_COST`."""


def test_a_cost_among_layouts_that_cost_no_more_of_another(checker: Batch, tmp_path: Path) -> None:
    # Of 10 only `b` can be in the slow pool, where it is not preferred.
    def tree(spent: int, row: int, last: tuple[int, ...]) -> tuple[int, ...]:
        dear, full = (2, 1, 1, spent, 0), (2, 1, 1, row, 0)
        slow = (1, 1, 1, *dear, 1, 2, 1, *dear, *full)
        return (1, 0, 1, *slow, 1, 2, 1, *dear, 1, 1, 1, *last, *full)

    def said(objective: list[str], most: int) -> str:
        heights = (11, END, END, END, most, END, END, 4, FIRST, 5, 0)
        numbers = (*LEAST_COST, *heights, *ROW, 9, 1, FIRST, *tree(1, 2, (0,)))
        return both(checker, tmp_path, by_hand(TWO_COSTS | {"objective": objective}, BEST, *numbers, 0, 8))

    terms = ["placement_cost", "preference", "peak"]
    assert said(terms, 10) == "verified: placement cost 10 is least, then preference 9"
    # Of layouts that may cost 12 the same is shown, not of those that may cost 18.
    assert said(terms, 12) == "verified: placement cost 10 is least, then preference 9"
    assert said(terms, 18) == said(terms, 9) == "verified: placement cost 10 is least"
    # Of all layouts that is no statement.
    assert "its preference 9 is not proven least: only that none is below 0" in said([*terms[1::-1]], 10)
    # There is none that costs 9 at most: that alone shows the first term.
    none = (11, END, END, END, 9, END, END, 4, FIRST, 5, 0, *ROW, 9, 0, FIRST, *tree(0, 1, (2, 1, 1, 0, 0)))
    files = by_hand(TWO_COSTS, BEST, *none, 0, 5)
    assert both(checker, tmp_path, files) == "verified: placement cost 10 is least"


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((4, END, 5, 0, 0, 2), "a cost that may be any"),
        ((5, 0, 0, 1), "the height comes first"),
        ((*SPENT[:-1], 2, 0, 3), "a cost that may be any"),
        ((*SPENT[:-1], 3, 0, 3), "an unknown kind of cost"),
        ((*SPENT, 9, 1, END, 2, 1, 1, 0, 1, 0, 4), "a limit that does not hold so high"),
        # Nothing is as cheap.
        ((11, END, END, END, END, 0, END, 4, FIRST, 5, 2, 0, 3), "a cost that may be any"),
    ],
)
def test_what_is_spent_outside_of_its_conditions(
    checker: Batch, tmp_path: Path, numbers: tuple[int, ...], why: str
) -> None:
    files = by_hand(TWO_COSTS, BEST, *numbers)
    verdict = checker.check(files)
    assert (verdict.code, why in verdict.words) == (WRONG, True), verdict
    assert second(files, tmp_path).code == WRONG


@pytest.mark.parametrize("seed", gate_first(range(30), 3))
def test_what_is_verified_is_what_brute_force_says(checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, counts = Random(seed), Counter[str]()
    for _ in range(100):
        problem = tiny_sums(rng)
        document, path = document_of(problem), tmp_path / "plan.proof"
        answer = plan(problem, Options(deterministic=True))
        proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 20_000_000))
        is_best = answer.status is Status.OPTIMAL
        if proof is None:
            assert not is_best or problem.in_place
            continue
        files = (document, write_plan(problem, answer), path.read_bytes())
        verdict = checker.check(files)
        assert second(files, tmp_path) == verdict
        assert verdict.code in (VERIFIED, WEAKER), files
        assert verdict.code != VERIFIED or is_true(files, verdict.words), files
        if is_best:
            counts["best"] += 1
            shown = zip(answer.objective, proof.bounds, strict=False)
            counts["proven"] += all(bound == value.value for value, bound in shown)
            assert verdict.code == VERIFIED or problem.in_place, files
        path.unlink()
    assert counts["proven"] > counts["best"] * 0.9 > 30


def test_mutants_are_verified_only_where_that_is_true(checker: Batch, tmp_path: Path) -> None:
    codes = campaign(checker, tmp_path, 400, 9, tiny=tiny_sums)
    assert codes[VERIFIED] > 10
    assert codes[WRONG] > 100
    codes = campaign(checker, tmp_path, 400, 9, tiny=tiny_mixed)
    assert codes[VERIFIED] > 10
    assert codes[WRONG] > 100


def test_a_limit_that_prices_make_no_use_of_is_not_looked_for_again(checker: Batch, tmp_path: Path) -> None:
    # Below a peak of 3 units `b` has no place in either pool: so large are the units that no prices show it.
    unit = 1 << 57
    document = {
        "version": 1,
        "pools": [{"id": "p", "alignment": 3 * unit}, {"id": "q", "capacity": 3 * unit, "alignment": unit}],
        "buffers": [
            {"id": "a", "size": 2 * unit, "lifetime": [0, 1]},
            {"id": "b", "size": 3 * unit, "lifetime": [0, 2], "pools": ["q", "p"]},
            {"id": "c", "size": 2 * unit, "alignment": 3 * unit},
            {"id": "d", "size": 2 * unit, "lifetime": [1, 4]},
        ],
        "exclusive": [["c", "d"]],
        "in_place": [{"input": "a", "output": "c"}, {"input": "a", "output": "d"}],
        "objective": ["preference", "peak:q", "max_peak"],
    }
    data, path, budget = json.dumps(document).encode(), tmp_path / "plan.proof", Budget(-1.0, 1_000_000)
    problem = read_problem(data, "json")
    answer = plan(problem, Options(deterministic=True, work_limit=300_000))
    assert prove_within(problem, answer, data, str(path), budget) is not None
    assert budget.work < 10_000
    files = data, write_plan(problem, answer), path.read_bytes()
    assert checker.check(files).code == second(files, tmp_path).code == VERIFIED


def test_no_space_is_laid_whose_addresses_are_too_large(checker: Batch, tmp_path: Path) -> None:
    unit = 1 << 57
    document = {
        "version": 1,
        "pools": [
            {"id": "p", "alignment": 3 * unit, "base": unit},
            {
                "id": "q",
                "alignment": unit,
                "base": 6 * unit,
                "cost": 1,
                "reserved": [
                    {"offset": 2 * unit, "size": 2 * unit},
                    {"offset": 5 * unit, "size": 3 * unit},
                ],
            },
            {"id": "r", "alignment": unit, "capacity": 6 * unit, "cost": 4},
        ],
        "buffers": [
            {"id": "a", "size": 3 * unit, "lifetime": "always", "pools": ["r", "q"], "accesses": 5},
            {"id": "b", "size": 4 * unit, "lifetime": [1, 2], "pools": ["p"], "accesses": 4},
            {
                "id": "c",
                "size": 2 * unit,
                "lifetime": [1, 2],
                "alignment": 3 * unit,
                "pools": ["r"],
                "accesses": 4,
            },
            {"id": "d", "size": 3 * unit, "lifetime": [1, 3], "accesses": 2},
        ],
        "conflicts": [["a", "c"]],
        "in_place": [{"input": "a", "output": "c"}, {"input": "b", "output": "c"}],
        "objective": ["peak", "preference", "placement_cost"],
    }
    data, path = json.dumps(document).encode(), tmp_path / "plan.proof"
    problem = read_problem(data, "json")
    answer = plan(problem, Options(deterministic=True, work_limit=300_000))
    assert prove_within(problem, answer, data, str(path), Budget(-1.0, 1_000_000)) is not None
    files = data, write_plan(problem, answer), path.read_bytes()
    assert checker.check(files).code == second(files, tmp_path).code == WEAKER


@pytest.mark.campaign
def test_many_mutants_of_all_costs_are_verified_only_where_that_is_true(
    checker: Batch, tmp_path: Path
) -> None:
    assert campaign(checker, tmp_path, 50_000, 12, referee_each=50, tiny=tiny_mixed)[VERIFIED] > 1_000


@pytest.mark.parametrize("seed", gate_first(range(30), 3))
def test_all_terms_in_any_order_are_proven(checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, counts = Random(seed), Counter[str]()
    for _ in range(40):
        problem = tiny_mixed(rng)
        document, path = document_of(problem), tmp_path / "plan.proof"
        answer = plan(problem, Options(deterministic=True, work_limit=2_000_000))
        if prove_within(problem, answer, document, str(path), Budget(-1.0, 20_000_000)) is None:
            assert answer.status is not Status.OPTIMAL
            continue
        files = (document, write_plan(problem, answer), path.read_bytes())
        verdict = checker.check(files)
        assert second(files, tmp_path) == verdict
        assert verdict.code in (VERIFIED, WEAKER), files
        assert verdict.code != VERIFIED or is_true(files, verdict.words), files
        if answer.status is Status.OPTIMAL:
            named = verdict.words.count(",") + 1
            counts["best"] += 1
            counts["proven"] += verdict.code == VERIFIED and named == len({*problem.terms()})
        path.unlink()
    assert counts["proven"] == counts["best"] > 15


@pytest.mark.campaign
def test_many_mutants_are_verified_only_where_that_is_true(checker: Batch, tmp_path: Path) -> None:
    assert campaign(checker, tmp_path, 50_000, 10, referee_each=50, tiny=tiny_sums)[VERIFIED] > 1_000


def test_parts_are_walked_through(tmp_path: Path) -> None:
    document, _, data = by_hand(MEMORIES, BEST, *LEAST_COST, *LIVE, *PARTS, 0, 17)
    path = tmp_path / "plan.proof"
    path.write_bytes(by_hand(MEMORIES, BEST, *LEAST_COST, *PARTS, *TREE, 0, 14)[2])
    problem = read_problem(document, "json")
    walk = walk_of(problem, problem, path)
    assert walk is not None
    said = [step.text for step in walk.steps]
    assert said[0] == (
        "No plan with peaks of at most 14 in all has a placement cost below 12: "
        "whatever the peaks are, that is what 2 other steps say of them."
    )
    assert any(
        text.startswith("No plan with peaks of at most 9 in fast has a placement cost") for text in said
    )
    assert any(text.startswith("No plan with peaks of at most 4 in slow exists: ") for text in said)
    path.write_bytes(data)
    walk = walk_of(problem, problem, path)
    assert walk is not None
    assert any(
        "each plan with peaks of at most 14 in all has at most 14 of these in fast and slow: a 4" in step.text
        for step in walk.steps
    )
