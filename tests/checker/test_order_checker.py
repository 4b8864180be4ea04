"""The checkers of proofs about orders: what they verify is true, whoever wrote the files."""

import json
import re
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memstow import Options, plan
from memstow.planner.formats.native import write_document
from memstow.planner.generate.graph import graph as generated
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import order_instance
from memstow.planner.model import Status
from memstow.planner.model.digest import sha256_of
from memstow.planner.model.graph import FREE, Graph, Operator, Temporary, Tensor, View
from memstow.planner.model.model_class import fields_of
from memstow.planner.proofs import _checker
from memstow.records import replace
from memstow.solvers.core import Budget
from memstow.solvers.known import packed, unpacked_orders
from memstow.solvers.orders import (
    LeastPeak,
    OrderListeners,
    OrderTask,
    write_order_proof,
)
from tests.campaign import gate_first
from tests.checker.checkers import (
    FOLDER,
    MOST_SANITIZERS,
    NOT_CHECKED,
    OF_ORDERS,
    VERIFIED,
    WARNINGS,
    WEAKER,
    WRONG,
    Batch,
    Files,
    Verdict,
    batch,
    build_batch,
    bytes_of,
    change_numbers,
    compilers,
    folder_of_run,
    numbers_of,
)
from tests.checker.order_proofs import (
    HEAD,
    SECOND,
    Writing,
    campaign,
    derivable,
    files_of,
    is_true,
    least_live,
    least_need,
    narrowed,
    program_of,
    prove,
    read_free,
    shown_by,
    subsets,
    tiny_graph,
    wide_graph,
)
from tests.graphs import Document

pytestmark = pytest.mark.skipif(not compilers(), reason="the checker needs g++ or clang++")


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batch]:
    folder = tmp_path_factory.mktemp("checker")
    program = build_batch(folder_of_run(tmp_path_factory), *MOST_SANITIZERS, *OF_ORDERS)
    with batch(program, folder) as running:
        yield running


def both(checker: Batch, folder: Path, files: Files) -> Verdict:
    """What the checker says; the other must say the same."""
    verdict, other = checker.check(files), SECOND.check(files, folder)
    assert other.code == verdict.code, (verdict, other)
    return verdict


def graph_of(sizes: dict[str, int], operators: dict[str, tuple[str, str]], **more: Any) -> Document:
    """Operators by what they read and make, each a letter."""
    return {
        "version": 1,
        "tensors": [{"id": name, "size": size, "kind": "data"} for name, size in sizes.items()],
        "operators": [
            {"id": name, "inputs": [*read], "outputs": [*made], "temporaries": [], "in_place": []}
            for name, (read, made) in operators.items()
        ],
        "before": [],
        "views": [],
        "order": "free",
        **more,
    }


def placed(order: str, **offsets: int) -> dict[str, Any]:
    """A plan in this order."""
    places = [{"buffer": name, "pool": "memory", "offset": at} for name, at in offsets.items()]
    return {"status": "feasible", "schedule": {"order": [*order]}, "placements": places}


def weaker(peak: int, live: int) -> str:
    """What is said of a plan with this peak, where less is shown."""
    shown = f"only that in each order {live} bytes are live at once"
    return f"the plan is right, but its peak {peak} is not proven least: {shown}"


# That of docs/order.md. While B runs, a, b and x or d are live.
EXAMPLE = graph_of(
    {"x": 10, "a": 100, "b": 20, "c": 5, "d": 60, "y": 1},
    {"A": ("x", "a"), "B": ("a", "b"), "C": ("b", "c"), "D": ("x", "d"), "Y": ("cd", "y")},
    inputs=["x"],
    outputs=["y"],
)
PLAN = placed("ABCDY", x=0, a=10, b=110, c=10, d=20, y=15)
OPERATOR = (2, 1, 0, 1, 10, 0, 2, 0, 4, 0, 1)
"""B, without a choice of pairs: a chain of 10 bytes by x and d."""
SEARCH = (3, 129, 0, 0, 4, 1, 0, 0, 4, 2, 0, 2, 0, 4, 1, 3, 0, 6, 0, 5)
"""Forwards with all operators: A alone, D alone and nothing at all lead nowhere."""
FIRST = (3, 129, 0, 0, 7, 1, 3, 1, 0, 0, 2, 1, 0, 0, 0, 3)
"""B comes before D, or it needs a, b and d; so it needs a, b and x."""

# From nothing to P and Q: between x and s there is t, which is larger.
COMMIT = graph_of(
    {"x": 20, "z": 7, "t": 50, "s": 5, "y": 60},
    {"P": ("x", "t"), "Q": ("t", "s"), "R": ("zs", "y")},
    inputs=["x", "z"],
    outputs=["y"],
)
COMMITTED = placed("PQR", x=0, z=70, t=20, s=0, y=5)
BY_COMMIT = (3, 71, 0, 0, 4, 2, 0, 0, 0, 4, 2, 0, 0, 1, 2, 0, 0, 1, 5, 0, 3, 0, 2, 3, 6, 0, 4)

# One of r and t may be where p was.
CHOICE = graph_of({"p": 10, "r": 10, "t": 10}, {"V": ("p", "rt")}, inputs=["p"], outputs=["r", "t"])
CHOICE["operators"][0]["in_place"] = [["p", "r"], ["p", "t"]]
CHOSEN = placed("V", p=0, r=0, t=10)
BY_CASES = (2, 0, 1, 0, 0, 0, 0, 0, 0, 1)

# r may be where p was if W has run, which leaves u.
UNLESS = graph_of(
    {"p": 10, "r": 10, "u": 3, "y": 1},
    {"V": ("p", "r"), "W": ("p", "u"), "Z": ("ru", "y")},
    inputs=["p"],
    outputs=["y"],
)
UNLESS["operators"][0]["in_place"] = [["p", "r"]]
SAVED = placed("WVZ", p=0, r=0, u=10, y=13)
BY_PAIR = (2, 0, 0, 1, 3, 1, 1, 2, 0, 1)


def test_the_checkers_share_nothing_with_memstow() -> None:
    source = "".join((FOLDER / name).read_text() for name in ("reading.hpp", "memstow_check_order.cpp"))
    assert re.findall(r'#include "(.*)"|#include <.*/', source) == ["reading.hpp"]
    assert len(source.splitlines()) <= 1_983
    names = re.findall(r"^(?:import|from) (\w+)", (FOLDER / "check_order.py").read_text(), flags=re.MULTILINE)
    assert set(names) <= sys.stdlib_module_names


# The first of them compiles what all tests here run, with these warnings.
@pytest.mark.parametrize("compiler", compilers()[-1:])
def test_it_compiles_without_a_warning(compiler: str) -> None:
    source = str(FOLDER / "memstow_check_order.cpp")
    subprocess.run([compiler, *WARNINGS, "-fsyntax-only", source], check=True)


def test_all_fields_of_graphs_are_known() -> None:
    source = (FOLDER / "memstow_check_order.cpp").read_text()
    for kind in (Graph, Tensor, Operator, Temporary, View):
        unknown = [name for name in fields_of(kind) if f'"{name}"' not in source]
        assert not unknown, "the checker refuses such a graph: let why_not_order say so before"


@pytest.mark.parametrize(
    ("graph", "answer", "numbers", "peak"),
    [
        (EXAMPLE, PLAN, OPERATOR, 130),
        (EXAMPLE, PLAN, SEARCH, 130),
        (EXAMPLE, PLAN, FIRST, 130),
        (EXAMPLE, PLAN, (*FIRST[:1], 150, *FIRST[2:]), 130),
        (COMMIT, COMMITTED, BY_COMMIT, 77),
        (CHOICE, CHOSEN, BY_CASES, 20),
        (CHOICE, CHOSEN, (1, 0, 1), 20),
    ],
)
def test_each_rule_by_hand(
    checker: Batch,
    tmp_path: Path,
    graph: Document,
    answer: dict[str, Any],
    numbers: tuple[int, ...],
    peak: int,
) -> None:
    expected = f"verified: peak {peak} is least of all orders and layouts"
    if numbers == BY_COMMIT:
        # After the commit R needs 72 bytes, and it would have to be 5 more for the places of this plan.
        expected = weaker(77, 72)
    assert both(checker, tmp_path, files_of(graph, answer, [*numbers])).words == expected
    # Without any of its numbers, or with another, nothing more is shown.
    for at in range(len(numbers)):
        for changed in (
            numbers[:at] + numbers[at + 1 :],
            (*numbers[:at], numbers[at] + 1, *numbers[at + 1 :]),
        ):
            files = files_of(graph, answer, [*changed])
            verdict = both(checker, tmp_path, files)
            assert verdict.code not in (VERIFIED, WEAKER) or is_true(files, verdict.words)
            assert verdict.code in (VERIFIED, WEAKER, WRONG)


def test_a_chain_that_begins_with_a_pair(checker: Batch, tmp_path: Path) -> None:
    says = both(checker, tmp_path, files_of(UNLESS, SAVED, [*BY_PAIR])).words
    assert "only that in each order 13 bytes are live at once" in says
    # With one byte more than u has, without the pair, or with another that there is not.
    for numbers in (
        (2, 0, 0, 1, 4, 1, 1, 2, 0, 1),
        (2, 0, 0, 1, 3, 0, 1, 2, 0, 1),
        (2, 0, 0, 1, 3, 2, 1, 2, 0, 1),
    ):
        assert both(checker, tmp_path, files_of(UNLESS, SAVED, [*numbers])).code == WRONG


@pytest.mark.parametrize(
    ("graph", "numbers", "why"),
    [
        (EXAMPLE, (2, 5, 0, 0, 0, 1), "there is no operator 5"),
        (EXAMPLE, (2, 1, 1, 0, 0, 0, 0, 0, 0, 1), "a pair that is not in question"),
        (EXAMPLE, (2, 1, 2, 0, 0, 1), "an unknown case"),
        (EXAMPLE, (2, 1, 0, 1, 11, 0, 2, 0, 4, 0, 1), "more than there are"),
        (EXAMPLE, (2, 1, 0, 2, 6, 0, 2, 0, 4, 5, 0, 2, 0, 4, 0, 1), "more than there are"),
        (EXAMPLE, (2, 1, 0, 1, 0, 0, 2, 0, 4, 0, 1), "chains have no bytes"),
        (EXAMPLE, (2, 1, 0, 1, 10, 0, 1, 4, 0, 1), "need not have begun"),
        (EXAMPLE, (2, 1, 0, 1, 10, 0, 1, 0, 0, 1), "not the one that ends in none of the sets"),
        (EXAMPLE, (2, 1, 0, 1, 5, 0, 2, 0, 3, 0, 1), "need not have begun"),
        (EXAMPLE, (2, 1, 0, 1, 10, 0, 1, 1, 0, 1), "is live anyway"),
        (EXAMPLE, (2, 1, 0, 1, 10, 0, 0, 0, 1), "a chain without a storage"),
        (EXAMPLE, (2, 1, 0, 1, 10, 0, 1, 6, 0, 1), "there is no storage 6"),
        (EXAMPLE, (2, 1, 0, 1, 10, 1, 1, 0, 0, 1), "a pair that is not in question"),
        (CHOICE, (2, 0, 0, 1, 1, (1 << 32) + 1, 1, 1, 0, 1), "a pair that is not in question"),
        (CHOICE, (2, 0, 1, (1 << 32), 0, 0, 0, 0, 0, 1), "a pair that is not in question"),
        (CHOICE, (2, 0, 1, 2, 0, 0, 0, 0, 0, 1), "a pair that is not in question"),
        (CHOICE, (2, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1), "a pair that shares no storage with another"),
        (EXAMPLE, (4, 0, 0, 0, 1), "a set before a search"),
        (EXAMPLE, (6, 0, 1), "a set before a search"),
        (EXAMPLE, (7, 0, 3, 1, 0, 0, 0, 1), "what comes first before a search"),
        (EXAMPLE, (3, 129, 0, 0, 7, 0, 0, 1, 0, 0, 0, 2), "'A' before itself"),
        (EXAMPLE, (*FIRST[:1], 100, *FIRST[2:]), None),
        (EXAMPLE, (*FIRST[:1], 180, *FIRST[2:]), "'D' may come before 'B'"),
        (EXAMPLE, (*FIRST[:10], 6, 0, 3), "not known to be dead"),
        (EXAMPLE, (*SEARCH[:8], *FIRST[4:10], 5, 1, 1, 0, 4), "there is no such set"),
        (EXAMPLE, (3, 129, 0, 0, 7, 3, 0, 1, 0, 0, 0, 2), "'A' may come before 'D'"),
        (EXAMPLE, (3, 129, 0, 1, 4, 7, 0, 3, 4, 0, 0, 0, 2), "'Y' is left out"),
        (EXAMPLE, (3, 129, 0, 1, 4, 2, 4, 0, 0, 0, 2), "'Y' is left out"),
        (EXAMPLE, (5, 1, 1, 0, 1), "there is no such set"),
        (EXAMPLE, (3, 129, 2, 0, 0, 1), "an unknown direction"),
        (EXAMPLE, (3, 129, 0, 1, 0, 4, 1, 0, 0, 0, 2), "'A' is left out"),
        (EXAMPLE, (3, 129, 0, 0, 4, 1, 1, 0, 0, 2), "the set has 'B' and not all before it"),
        (EXAMPLE, (3, 129, 1, 0, 4, 1, 0, 0, 0, 2), "the set has 'A' and not all before it"),
        (EXAMPLE, (3, 169, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 2), "a dead set of all operators"),
        (EXAMPLE, (3, 129, 0, 0, 4, 1, 0, 2, 0, 2), "an unknown rule"),
        (EXAMPLE, (3, 130, *SEARCH[2:]), "not known to be dead"),
        (EXAMPLE, (*SEARCH[:13], 5, 1, 1, *SEARCH[13:-1], 6), "not known to be dead"),
        (EXAMPLE, (*SEARCH[:17], 5, 1, 1, 6, 0, 6), "not known to be dead"),
        (EXAMPLE, (*SEARCH[:17], 3, 129, 0, 0, 6, 0, 6), "not known to be dead"),
        (EXAMPLE, (*SEARCH[:17], 0, 4), None),
        (COMMIT, (*BY_COMMIT[:17], 0, 6, 0, 4), "may have fewer live bytes"),
        (COMMIT, (*BY_COMMIT[:18], 4, *BY_COMMIT[19:]), "may have fewer live bytes"),
        (COMMIT, (*BY_COMMIT[:14], 1, 1, 0, 6, 0, 4), "lacks what comes before"),
        (COMMIT, (*BY_COMMIT[:14], 1, 0, 0, 6, 0, 4), "may have fewer live bytes"),
        (COMMIT, (*BY_COMMIT[:9], 4, 1, 1, 1, 1, 0, 0, 6, 0, 4), "which is done"),
        (COMMIT, (3, 72, *BY_COMMIT[2:]), "not known to be dead"),
        (EXAMPLE, (8, 0, 1), "an unknown kind of step"),
    ],
)
def test_rules_outside_of_their_conditions(
    checker: Batch, tmp_path: Path, graph: Document, numbers: tuple[int, ...], why: str | None
) -> None:
    answer = PLAN if graph is EXAMPLE else COMMITTED if graph is COMMIT else CHOSEN
    verdict = both(checker, tmp_path, files_of(graph, answer, [*numbers]))
    if why is None:
        assert verdict.code == WEAKER
        return
    assert (verdict.code, why in verdict.words) == (WRONG, True), verdict


def test_cases_end_before_the_stack_does(checker: Batch, tmp_path: Path) -> None:
    letters = [chr(ord("a") + k) for k in range(26)], [chr(ord("A") + k) for k in range(26)]
    graph = graph_of(
        dict.fromkeys([*letters[0], *letters[1]], 1),
        {"V": ("".join(letters[0]), "".join(letters[1]))},
        inputs=letters[0],
        outputs=letters[1],
    )
    wide = [[source, target] for source in letters[0] for target in letters[1]]
    graph["operators"][0]["in_place"] = wide
    places = {name: k for k, name in enumerate([*letters[0], *letters[1]])}
    # Each pair is left out in turn.
    numbers = [2, 0, *(number for k in range(600) for number in (1, k))]
    verdict = both(checker, tmp_path, files_of(graph, placed("V", **places), numbers))
    assert (verdict.code, "too deep" in verdict.words) == (WRONG, True)


def test_what_is_left_out_and_backwards(checker: Batch, tmp_path: Path) -> None:
    program = program_of(json.dumps(EXAMPLE).encode())
    for backwards in (False, True):
        for out in ((), (0,)):  # Without A, a begins at B.
            numbers = Writing(
                Random(1), program, 129, SECOND.module.set_of(out), backwards=backwards
            ).numbers()
            assert numbers is not None
            assert both(checker, tmp_path, files_of(EXAMPLE, PLAN, numbers)).code == VERIFIED
        # Without B, a and b are never there together; without Y, c and d end where they begin.
        for out in ((1,), (4,)):
            assert (
                Writing(Random(1), program, 129, SECOND.module.set_of(out), backwards=backwards).numbers()
                is None
            )


@pytest.mark.parametrize(
    "change",
    [
        {"alternatives": [{"id": "other", "replaces": ["A"]}]},
        {"limits": {"cost": 1.5}},
        {"pools": [{"id": "one"}, {"id": "two"}]},
        {"objective": ["fits"]},
        {"surprise": 1},
        {"version": 2},
        {"before": [["B", "A"]]},
        {"inputs": []},
        {"inputs": ["x", "a"]},
        {"views": [{"tensor": "c", "of": "a"}]},
        {"views": [{"tensor": "b", "of": "a", "offset": 90}]},
        {"views": [{"tensor": "b", "of": "a"}, {"tensor": "a", "of": "b"}]},
        {"outputs": ["nobody"]},
    ],
)
def test_what_they_do_not_know_they_refuse(checker: Batch, tmp_path: Path, change: Document) -> None:
    files = files_of(EXAMPLE | change, PLAN, [*OPERATOR])
    assert both(checker, tmp_path, files).code == NOT_CHECKED


@pytest.mark.parametrize(
    "change", [{"stripes": [{"begin": 0, "end": 2}]}, {"order": [*"ABCDYA"]}, {"more": 1}]
)
def test_schedules_that_do_more(checker: Batch, tmp_path: Path, change: Document) -> None:
    answer = PLAN | {"schedule": PLAN["schedule"] | change}
    assert both(checker, tmp_path, files_of(EXAMPLE, answer, [*OPERATOR])).code == NOT_CHECKED


@pytest.mark.parametrize(
    "answer",
    [
        placed("BACDY", x=0, a=10, b=110, c=10, d=20, y=15),
        placed("ABCD", x=0, a=10, b=110, c=10, d=20, y=15),
        placed("ABCDY", x=0, a=9, b=110, c=10, d=20, y=15),
        placed("ABCDY", x=0, a=10, b=110, c=10, d=20),
        placed("ADBCY", x=0, a=10, b=110, c=10, d=20, y=15),
    ],
)
def test_plans_that_are_wrong(checker: Batch, tmp_path: Path, answer: dict[str, Any]) -> None:
    assert both(checker, tmp_path, files_of(EXAMPLE, answer, [*OPERATOR])).code == WRONG


def test_nothing_fits_into_a_capacity(checker: Batch, tmp_path: Path) -> None:
    nothing = {"status": "infeasible"}
    for capacity, reserved, code in (
        (129, 0, VERIFIED),
        (130, 0, WRONG),
        (130, 1, VERIFIED),
        (131, 1, WRONG),
    ):
        pool: Document = {"id": "memory", "capacity": capacity}
        if reserved:
            pool["reserved"] = [{"offset": 7, "size": reserved}]
        files = files_of(EXAMPLE | {"pools": [pool]}, nothing, [*OPERATOR])
        assert both(checker, tmp_path, files).code == code


def test_the_same_bytes_are_reserved_below_any_peak(checker: Batch, tmp_path: Path) -> None:
    pool = {"id": "memory", "reserved": [{"offset": 4, "size": 6}, {"offset": 500, "size": 9}]}
    answer = placed("ABCDY", x=110, a=10, b=120, c=10, d=20, y=0)
    files = files_of(EXAMPLE | {"pools": [pool]}, answer, [*OPERATOR])
    assert both(checker, tmp_path, files).code == WEAKER
    pool["reserved"][0]["size"] = 10  # type: ignore[index]
    answer = placed("ABCDY", x=14, a=24, b=124, c=24, d=30, y=0)
    assert both(
        checker, tmp_path, files_of(EXAMPLE | {"pools": [pool]}, answer, [*OPERATOR])
    ).words == weaker(144, 130)


def test_the_steps_in_words(checker: Batch, tmp_path: Path) -> None:
    for numbers, expected in (
        (OPERATOR, "B needs 120 bytes\n  saves at most 0, chains have 10\nno order keeps to 129 bytes\n"),
        (
            SEARCH,
            "a search at height 129\ndead set 0: changes A\ndead set 1: changes A D\ndead set 2: changes D\n"
            "no order keeps to 129 bytes\n",
        ),
        (
            FIRST,
            "a search at height 129\nB comes before D, or B needs 180 bytes\n"
            "  saves at most 0, chains have 0\nB needs 130 bytes\n  saves at most 0, chains have 0\n"
            "no order keeps to 129 bytes\n",
        ),
    ):
        document, _, proof = files_of(EXAMPLE, PLAN, [*numbers])
        (tmp_path / "graph.json").write_bytes(document)
        (tmp_path / "proof").write_bytes(proof)
        command = [str(checker.program), "--text", str(tmp_path / "graph.json"), str(tmp_path / "proof")]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        assert ran.stdout == expected


def _of_operators() -> tuple[Document, list[int]]:
    count = 5_000
    graph: Document = {
        "tensors": [{"id": f"t{k}", "size": 1} for k in range(count + 1)],
        "operators": [{"id": f"o{k}", "inputs": [f"t{k}"], "outputs": [f"t{k + 1}"]} for k in range(count)],
        "inputs": ["t0"],
    }
    return graph, [*(2, count // 2, 0, 0) * 1_000, 0, 1_000]


def _of_sets() -> tuple[Document, list[int]]:
    # After any operator no other one keeps to 1, so that is dead; of the empty set each of them is tried.
    count, again = 1_000, 6
    names = [f"t{k}" for k in range(count)]
    graph: Document = {
        "tensors": [{"id": name, "size": 1} for name in names],
        "operators": [{"id": name, "outputs": [name]} for name in names],
        "outputs": names,
    }
    one_by_one = [number for k in range(1, count) for number in (4, 2, k - 1, 0, 0)]
    empty = (4, 1, count - 1, 0, *(4, 0, 0) * again)
    return graph, [3, 1, 0, 0, 4, 1, 0, 0, *one_by_one, *empty, 6, 0, count + again + 3]


@pytest.mark.parametrize("case_of", [_of_operators, _of_sets])
def test_a_large_graph_does_not_keep_few_bytes_from_being_stopped(
    tmp_path: Path, case_of: Callable[[], tuple[Document, list[int]]]
) -> None:
    graph, numbers = case_of()
    document, answer, proof = files_of(graph, {"status": "infeasible"}, numbers)
    path = tmp_path / "plan.proof"
    path.write_bytes(proof)
    request = list[bool]()

    def stopped() -> bool:
        request.append(True)
        return False

    result = _checker.check_order(document, answer, str(path), stopped)
    assert result is not None
    assert "does not show it" in result[1]
    assert len(proof) < 8_192
    assert len(request) > 2  # at the beginning of the file, at its end, and in between


def test_what_is_left_out_links_a_limited_number_of_others(checker: Batch) -> None:
    # All that the one makes begins, without it, at each of those after it.
    names = [f"t{k}" for k in range(1 << 13)]
    graph: Document = {
        "tensors": [{"id": name, "size": 1} for name in names],
        "operators": [{"id": "all", "outputs": names}, *({"id": name, "inputs": [name]} for name in names)],
    }
    files = files_of(graph, {"status": "infeasible"}, [3, 1, 0, 1, 0, 0, 1])
    verdict = checker.check(files)
    assert (verdict.code, "links too many operators" in verdict.words) == (NOT_CHECKED, True)
    assert checker.check(files_of(graph, {"status": "infeasible"}, [3, 1, 0, 1, 1, 0, 1])).code == WRONG


SEEDS = gate_first(range(40), 4)


@pytest.mark.parametrize("narrows", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_memstow_proves_is_what_brute_force_finds(
    checker: Batch, tmp_path: Path, seed: int, narrows: bool
) -> None:
    rng, verified, ordered = Random(seed), 0, 0
    for at in range(50):
        document = wide_graph(rng) if narrows or at % 2 else tiny_graph(rng)
        data, path = json.dumps(document).encode(), tmp_path / "plan.proof"
        graph = read_free(data)
        answer = plan(graph, Options(deterministic=True, work_limit=500_000))
        proof = prove(graph, answer, data, path, narrows=narrows)
        if proof is None:
            assert answer.status is Status.UNKNOWN
            continue
        files = data, write_document(answer), path.read_bytes()
        verdict = both(checker, tmp_path, files)
        assert verdict.code in (VERIFIED, WEAKER), verdict
        assert proof.bound <= least_live(document) or answer.status is Status.INFEASIBLE
        assert is_true(files, verdict.words)
        if verdict.code == VERIFIED:
            verified += 1
        elif not document.get("pools") and not narrows:
            # What is live has no places as tight as that.
            assert proof.bound == least_live(document)
        numbers = numbers_of(files[2][len(HEAD) + 32 :])
        ordered += numbers[0] == 3 and numbers[-3] != 6
    assert verified > 25
    assert (ordered > 0) == narrows


@pytest.mark.parametrize(
    ("count", "seed", "height", "least"), [(100, 1, 73_000, 86_528), (200, 4, 122_000, 135_368)]
)
def test_what_must_come_first_in_large_graphs(
    checker: Batch, tmp_path: Path, count: int, seed: int, height: int, least: int
) -> None:
    data = write_document(replace(generated(count, seed, family="wiring"), order=FREE))
    path, graph = tmp_path / "plan.proof", read_free(data)
    answer = write_document(plan(graph, Options(deterministic=True, work_limit=200_000)))
    instance, digest, budget = order_instance(graph), sha256_of(data).digest(), Budget(-1.0, 100_000_000)
    # Searches have no memory.
    written = write_order_proof(instance, listed_order(graph), height, str(path), digest, 0, budget)
    assert (written.height, written.steps > 30) == (height, True)
    numbers = numbers_of(path.read_bytes()[len(HEAD) + 32 :])
    shown = f"only that in each order {height + 1} bytes are live at once"
    assert shown in both(checker, tmp_path, (data, answer, path.read_bytes())).words
    rng = Random(seed)
    for _ in range(150):
        changed = [*numbers]
        change_numbers(rng, changed)
        verdict = checker.check((data, answer, HEAD + digest + bytes_of(changed)))
        assert verdict.code in (WEAKER, WRONG)
        in_each = re.search(r"each order (\d+) bytes", verdict.words)
        assert in_each is None or int(in_each[1]) <= least


@pytest.mark.parametrize(
    ("count", "seed", "work", "left"), [(100, 7, 40_000_000, 50_000), (60, 3, 3_000_000, 1_200_000)]
)
def test_what_a_run_has_proven_is_not_looked_for_again(
    checker: Batch, tmp_path: Path, count: int, seed: int, work: int, left: int
) -> None:
    data = write_document(replace(generated(count, seed, family="wiring"), order=FREE))
    path, graph = tmp_path / "plan.proof", read_free(data)
    instance, digest = order_instance(graph), sha256_of(data).digest()
    listeners = OrderListeners(None, lambda *_: None)
    run = LeastPeak().solve(OrderTask(instance, deterministic=True), Budget(-1.0, work), listeners)
    height, heights, proofs = run.bound - 1, list[int | None](), list[bytes]()
    assert run.known is not None
    sent = packed(run.known)
    assert sent is not None
    for known in (None, run.known, unpacked_orders(sent)):
        budget = Budget(-1.0, left)
        written = write_order_proof(instance, run.order, height, str(path), digest, 1 << 28, budget, known)
        heights.append(written.height)
        proofs.append(path.read_bytes())
    assert heights[0] is not None
    assert heights[0] < height == heights[1] == heights[2]
    assert proofs[1] == proofs[2]
    answer = plan(graph, Options(deterministic=True, work_limit=200_000))
    verdict = both(checker, tmp_path, (data, write_document(answer), path.read_bytes()))
    assert str(height + 1) in verdict.words


@pytest.mark.parametrize("numbers", [(), (1, 0), (-1, 0, 5, -1), (-1, 0, 5, 1 << 40), (-1, 0, 5, 0, 1)])
def test_what_no_run_has_proven_is_refused(numbers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="number"):
        unpacked_orders(array("q", numbers).tobytes())


def test_what_is_proven_of_more_operators_is_refused(tmp_path: Path) -> None:
    data = write_document(replace(generated(60, 3, family="wiring"), order=FREE))
    instance = order_instance(read_free(data))
    known = unpacked_orders(array("q", (-1, 0, 1 << 40, 60)).tobytes())
    height = (
        LeastPeak()
        .solve(
            OrderTask(instance, deterministic=True),
            Budget(-1.0, 100_000),
            OrderListeners(None, lambda *_: None),
        )
        .peak
    )
    budget, path = Budget(-1.0, 100_000), str(tmp_path / "plan.proof")
    with pytest.raises(ValueError, match="another graph"):
        write_order_proof(instance, range(60), height, path, bytes(32), 1 << 28, budget, known)


@pytest.mark.parametrize("seed", SEEDS)
def test_wrong_proofs_show_nothing(checker: Batch, tmp_path: Path, seed: int) -> None:
    codes = campaign(checker, tmp_path, 150, seed)
    assert codes.keys() >= {VERIFIED, WRONG, NOT_CHECKED}


@pytest.mark.parametrize("seed", SEEDS)
def test_no_proof_can_be_made_of_what_is_not_so(seed: int) -> None:
    rng, tight = Random(seed), 0
    for _ in range(12):
        document = tiny_graph(rng, 4)
        program, least = program_of(json.dumps(document).encode()), least_live(document)
        for out in subsets(program.all):
            for searched in (program.without(out), program.without(out).backwards()):
                assert not derivable(searched, least), (document, out)
            ordered = narrowed(program.without(out), least)
            assert all(least_need(ordered, v) <= least for v in SECOND.module.members(ordered.all))
            assert not derivable(ordered, least), (document, out)
        tight += least > 0 and derivable(program, least - 1)
    assert tight > 5


def _random_program(rng: Random) -> Any:
    """Operators that each make something which some later ones read."""
    module, count = SECOND.module, rng.randint(3, 6)
    readers = [[w for w in range(v + 1, count) if rng.random() < 0.35] for v in range(count)]
    before = [0] * count
    for w in range(count):
        for v in range(w):
            before[w] |= before[v] | 1 << v if w in readers[v] else 0
    storages = [
        module.Storage(rng.randint(1, 4), 1 << v, module.set_of([v, *them]), False, rng.random() < 0.2)
        for v, them in enumerate(readers)
    ]
    for _ in range(2):
        them = rng.sample(range(count), rng.randint(1, 2))
        storages.append(module.Storage(rng.randint(1, 4), 0, module.set_of(them), True, rng.random() < 0.2))
    reads = [[s for s, one in enumerate(storages) if one.ends >> v & 1 and s != v] for v in range(count)]
    pairs = [[(s, v) for s in reads[v] if rng.random() < 0.5] for v in range(count)]
    return module.Program(0, [0] * count, storages, before, pairs, (1 << count) - 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_chains_never_show_more_than_there_is(seed: int) -> None:
    rng, chained, least_shown = Random(seed), 0, 0
    for _ in range(12):
        program = _random_program(rng)
        rows = [row for length in (1, 2, 3) for row in product(range(len(program.storages)), repeat=length)]
        for v in range(len(program.extra)):
            least = least_need(program, v)
            chains: list[tuple[int, ...]] = []
            most = shown_by(program, v, chains)
            for row in rng.sample(rows, len(rows)):
                for start in range(len(program.pairs[v]) + 1):
                    # As many bytes as they may have.
                    for amount in range(min(program.storages[s].size for s in row), 0, -1):
                        shown = shown_by(program, v, [*chains, (amount, start, len(row), *row)])
                        if shown is None:
                            continue
                        assert shown <= least, (program, v, chains, start, row)
                        chains, most = [*chains, (amount, start, len(row), *row)], shown
                        chained += 1
                        break
            least_shown += most == least
    assert chained > 4
    assert least_shown > 20
