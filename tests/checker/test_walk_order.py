"""The steps of a proof about orders in words: what they say is needed is what brute force counts."""

import json
import re
from pathlib import Path
from random import Random

import pytest

import memstow
from memstow.planner.graph.documents import problem_of
from memstow.planner.proofs import walk_order
from memstow.planner.proofs.walk import Walk
from memstow.planner.proofs.walk_order import walk_in
from tests.checker.order_proofs import files_of, prove, read_free, tiny_graph, wide_graph
from tests.checker.test_order_checker import (
    BY_CASES,
    BY_COMMIT,
    CHOICE,
    CHOSEN,
    COMMIT,
    COMMITTED,
    EXAMPLE,
    FIRST,
    OPERATOR,
    PLAN,
    SEARCH,
)
from tests.graphs import Document, needed, orders


def walked(document: Document, placed: Document, numbers: tuple[int, ...]) -> Walk:
    """The steps of a proof that was written by hand."""
    data, _, proof = files_of(document, placed, [*numbers])
    graph = read_free(data)
    walk = walk_in(graph, problem_of(graph), proof)
    assert walk is not None
    return walk


def test_a_search_goes_from_the_start_to_what_needs_too_much() -> None:
    walk = walked(EXAMPLE, PLAN, SEARCH)
    assert [step.text for step in walk.steps] == [
        "No order keeps to 129 bytes: a search ran dry. From none of 3 sets of operators does a way lead to "
        "the end; set 2 is the first.",
        "Set 2: at the start, 10 bytes are live. Next, A leads to set 0 and D leads to set 1.",
        "Set 0: after A, 110 bytes are live. Next, B needs 130 and D needs 170.",
        "Set 1: after D, 70 bytes are live. Next, A needs 170.",
    ]
    assert walk.more == 0
    names = [tensor["id"] for tensor in EXAMPLE["tensors"]]
    assert [{names[index] for index in step.buffers} for step in walk.steps] == [
        set(),
        {"x"},
        {"x", "a"},
        {"x", "d"},
    ]


def test_an_operator_needs_what_is_live_and_chains() -> None:
    assert [step.text for step in walked(EXAMPLE, PLAN, OPERATOR).steps] == [
        "No order needs less than 130 bytes: B needs them whenever it runs. What has begun by then and is "
        "used later, and its temporaries, have 120.",
        "A chain adds 10 bytes.",
        "Chain of 10 bytes: x or d, of which one is live whenever it runs.",
    ]


def test_what_must_come_first_says_what_would_be_needed_otherwise() -> None:
    walk = walked(EXAMPLE, PLAN, FIRST)
    assert [step.text for step in walk.steps] == [
        "No order keeps to 129 bytes, by what must come first: as it is below, B needs 130 bytes whenever it "
        "runs. What has begun by then and is used later, and its temporaries, have 130.",
        "B comes before D: else B needs 180 bytes.",
    ]
    names = [tensor["id"] for tensor in EXAMPLE["tensors"]]
    assert [{names[index] for index in step.buffers} for step in walk.steps] == [
        {"a", "b", "x"},
        {"a", "b", "d"},
    ]


def test_cases_say_what_may_lie_on_what() -> None:
    texts = [step.text for step in walked(CHOICE, CHOSEN, BY_CASES).steps]
    assert texts[1:] == [
        "If r does not lie on p, pairs in place save 10 bytes at most.",
        "If r may lie on p, pairs in place save 10 bytes at most.",
    ]


def test_a_commit_names_what_may_as_well_come_next() -> None:
    texts = [step.text for step in walked(COMMIT, COMMITTED, BY_COMMIT).steps]
    assert texts[1] == (
        "Set 1: at the start, 27 bytes are live. P and Q may as well come next, since no set on the way "
        "there has fewer live bytes: that is set 0."
    )
    assert texts[2].startswith("Set 0: after P and Q, ")


def test_what_steps_say_is_what_brute_force_counts(tmp_path: Path) -> None:
    rng, said, ordered, path = Random(5), 0, 0, tmp_path / "plan.proof"
    for at in range(400):
        document = tiny_graph(rng, 6) if at % 4 < 2 else wide_graph(rng)
        data = json.dumps(document).encode()
        graph = read_free(data)
        answer = memstow.plan(graph, memstow.Options(deterministic=True, work_limit=200_000))
        proof = prove(graph, answer, data, path, narrows=at % 2 == 0)
        if proof is None:
            continue
        walk = walk_in(graph, problem_of(graph, answer), path.read_bytes())
        assert (walk is None) == (not proof.bound)
        if walk is None:
            continue
        assert walk.more == 0
        assert re.search(
            rf"(keeps to {proof.bound - 1:,}|less than {proof.bound:,}) bytes", walk.steps[0].text
        )
        stated = {
            text.split(":")[0] for text in (step.text for step in walk.steps) if text.startswith("Set ")
        }
        named = {f"Set {number}" for step in walk.steps for number in re.findall(r"set (\d+)", step.text)}
        assert stated == named
        if "come first" in walk.steps[0].text:
            ordered += check_orderings(document, [step.text for step in walk.steps], proof.bound)
            continue
        if "without" in walk.steps[0].text or "back" in walk.steps[0].text:
            continue
        least = {
            (frozenset(order[:at]), name): max(each)
            for order in orders(document)
            for at, (name, each) in enumerate(zip(order, by_operator(document, order), strict=True))
        }
        for step in walk.steps[1:]:
            done = frozenset(re.findall(r"o\d+", (re.search(r"after ([^:]*?), \d", step.text) or [""])[0]))
            for name, needs in re.findall(r"(o\d+) needs (\d+)", step.text):
                assert least[done, name] == int(needs) >= proof.bound
                said += 1
    assert said > 10
    assert ordered > 10


def check_orderings(document: Document, texts: list[str], bound: int) -> int:
    """How many orderings are named; in what is left of all orders, some operator needs so much otherwise."""
    left = [
        (order, dict(zip(order, map(max, by_operator(document, order)), strict=True)))
        for order in orders(document)
    ]
    shown = [
        re.fullmatch(r"(o\d+) comes before (o\d+): else (o\d+) needs (\d+) bytes\.", text) for text in texts
    ]
    for first, then, needy, needs in (match.groups() for match in shown if match):
        other_way = [one for one in left if one[0].index(then) < one[0].index(first)]
        assert all(needed_by[needy] >= int(needs) >= bound for _, needed_by in other_way)
        left = [one for one in left if one not in other_way]
    last = re.search(r"below, (o\d+) needs (\d+) bytes", texts[0])
    assert last is not None
    assert all(needed_by[last[1]] >= int(last[2]) >= bound for _, needed_by in left)
    return sum(match is not None for match in shown)


def by_operator(document: Document, order: list[str]) -> list[list[int]]:
    """What is live in each phase of each operator."""
    operators = {operator["id"]: operator for operator in document["operators"]}
    every, lists = iter(needed(document, order)[1:]), list[list[int]]()
    for name in order:
        ends = (one["phases"][1] for one in operators[name]["temporaries"] if "phases" in one)
        lists.append([next(every) for _ in range(max([1, *ends]))])
    return lists


def test_what_takes_too_long_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = walked(EXAMPLE, PLAN, SEARCH)
    monkeypatch.setattr(walk_order, "MOST_STEPS", 2)
    part = walked(EXAMPLE, PLAN, SEARCH)
    assert (part.steps, part.more) == (whole.steps[:2], 2)
    monkeypatch.setattr(walk_order, "MOST_SETS", 2)
    graph = read_free(json.dumps(EXAMPLE).encode())
    proof = files_of(EXAMPLE, PLAN, [*SEARCH])[2]
    assert walk_in(graph, problem_of(graph), proof) is None
