"""When two instances are one: what does not matter is left out of the form, and nothing that does."""

import json
from dataclasses import replace
from math import gcd
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstow.planner.check import find_issues
from memstow.planner.formats import read_graph, read_problem, write_problem
from memstow.planner.generate.random_problems import mixed
from memstow.planner.instance_library.form import are_one, form_of
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Buffer, Pool, Problem, spans
from tests.campaign import rounds
from tests.graphs import random_graph
from tests.problems import banked_problem, costly_problem, random_problem
from tests.referee import best

Document = dict[str, Any]
LENGTHS = ("size", "offset", "capacity", "base", "alignment", "accesses")
SEEDS = st.integers(0, 10**6)


def disguised(problem: Problem, rng: Random) -> Problem:
    """The same problem under other names, in another order, in another unit and at other times."""
    document: Document = json.loads(write_problem(problem))
    names = [buffer["id"] for buffer in document["buffers"]]
    name_of = dict(zip(names, rng.sample([f"x{i}" for i in range(len(names))], len(names)), strict=True))
    name_of |= {pool.id: f"pool {number}" for number, pool in enumerate(problem.pools)}
    name_of |= {f"peak:{pool.id}": f"peak:{name_of[pool.id]}" for pool in problem.pools}
    document["pools"] = [{"id": pool.id, **_fields_of(document, pool)} for pool in problem.pools]
    factor, shift, step = rng.choice((1, 2, 3, 64)), rng.randint(-50, 50), rng.randint(1, 3)
    mirrored = rng.random() < 0.5

    def time(at: int) -> int:
        return (-at if mirrored else at) * step + shift

    def changed(value: Any, field: str) -> Any:
        if isinstance(value, dict):
            return {name: changed(member, name) for name, member in value.items()}
        if field in ("lifetime", "lifetimes") and isinstance(value, list):
            if value and isinstance(value[0], list):
                return [changed(one, field) for one in value]
            return sorted(map(time, value)) if value[0] <= value[1] else [0, 0]
        if isinstance(value, list):
            return [changed(one, field) for one in value]
        if field in LENGTHS and isinstance(value, int):
            return value * factor
        return name_of.get(value, value) if isinstance(value, str) else value

    made = changed(document, "")
    if not any(term == "preference" for term in problem.terms()):
        for buffer in made["buffers"]:
            rng.shuffle(buffer.get("pools", []))
        # Without objective it follows from the pools, and peaks of several have an order.
        made["objective"] = [name_of.get(term, term) for term in problem.terms()]
        rng.shuffle(made["pools"])
    for name in (
        "buffers",
        "conflicts",
        "exclusive",
        "relative",
        "in_place",
        "reuse_costs",
        "bank_conflicts",
    ):
        rng.shuffle(made.get(name, []))
    for name in ("conflicts", "exclusive"):
        made[name] = [rng.sample(pair, 2) for pair in made.get(name, [])]
    return read_problem(json.dumps({**made, "name": "another"}).encode())


def _fields_of(document: Document, pool: Pool) -> Document:
    written: list[Document] = document.get("pools", [{"id": "memory"}])
    return next(one for one in written if one["id"] == pool.id)


@pytest.mark.rounds
@settings(max_examples=rounds(150))
@given(seed=SEEDS, kind=st.sampled_from([random_problem, banked_problem, costly_problem]))
def test_names_order_units_and_the_direction_of_time_make_no_difference(seed: int, kind: Any) -> None:
    problem = kind(Random(seed), 7)
    other = disguised(problem, Random(seed + 1))
    assert form_of(problem) == form_of(other)
    assert are_one(problem, other) is True


@pytest.mark.rounds
@settings(max_examples=rounds(60))
@given(
    seed=SEEDS,
    features=st.lists(
        st.sampled_from(
            ["pools", "conflicts", "relative", "in_place", "always", "lifetimes", "pins", "graph"]
        )
    ),
)
def test_nor_do_they_for_larger_problems(seed: int, features: list[str]) -> None:
    problem = mixed(40, seed, features=features)
    assert form_of(problem) == form_of(disguised(problem, Random(seed)))


def test_pools_have_no_order_but_for_preference() -> None:
    pools = (Pool(id="a", capacity=16), Pool(id="b", capacity=16), Pool(id="c", capacity=8))
    buffers = [
        Buffer(id=name, size=4, lifetime=life, pools=among)
        for name, life, among in (("x", (0, 2), ("a",)), ("y", (1, 3), ("b", "c")), ("z", (2, 4), None))
    ]
    problem = Problem(buffers=buffers, pools=pools, objective=("peak:a", "max_peak"))
    same = (
        replace(problem, pools=(pools[2], pools[0], pools[1])),
        replace(problem, buffers=(buffers[0], replace(buffers[1], pools=("c", "b")), buffers[2])),
    )
    others = (
        replace(problem, objective=("peak:b", "max_peak")),
        replace(problem, objective=("max_peak", "peak:a")),
        replace(problem, buffers=(buffers[0], replace(buffers[1], pools=("a", "c")), buffers[2])),
        replace(problem, buffers=(buffers[0], replace(buffers[1], pools=("b",)), buffers[2])),
        replace(problem, pools=(*pools[:2], Pool(id="c", capacity=12))),
    )
    for other in (*same, *others):
        is_one = other in same
        assert (form_of(problem) == form_of(other)) is is_one
        assert are_one(problem, other) is is_one
        prefers = [replace(one, objective=(*one.terms(), "preference")) for one in (problem, other)]
        assert form_of(prefers[0]) != form_of(prefers[1])
        assert are_one(*prefers) is False


@pytest.mark.parametrize("place", ["tensor", "temporary"])
def test_nor_have_those_of_a_graph(place: str) -> None:
    tensors: list[Document] = [{"id": name, "size": 8} for name in "xyz"]
    operators: list[Document] = [
        {"id": name, "inputs": [name], "outputs": [out]} for name, out in ("xy", "yz")
    ]
    document: Document = {
        "version": 1,
        "pools": [{"id": "a"}, {"id": "b"}, {"id": "c", "cost": 3}],
        "tensors": tensors,
        "operators": operators,
        "inputs": ["x"],
        "outputs": ["z"],
    }
    temporary: Document = {"id": "t", "size": 4}
    operators[0]["temporaries"] = [temporary]

    def among(first: str, second: str, *order: int) -> Graph:
        tensors[0]["pools"] = [first]
        (tensors[1] if place == "tensor" else temporary)["pools"] = [second]
        pools = [document["pools"][number] for number in order]
        return read_graph(json.dumps({**document, "pools": pools}).encode())

    graph = among("a", "b", 0, 1, 2)
    for other, is_one in (
        (among("a", "b", 2, 1, 0), True),
        (among("b", "a", 0, 1, 2), True),
        (among("a", "a", 0, 1, 2), False),
        (among("a", "c", 0, 1, 2), False),
        (among("c", "b", 0, 1, 2), False),
    ):
        assert (form_of(graph) == form_of(other)) is is_one
        assert are_one(graph, other) is is_one


@pytest.mark.rounds
@settings(max_examples=rounds(80))
@given(seed=SEEDS, place=st.integers(0, 11))
def test_another_size_makes_another_instance(seed: int, place: int) -> None:
    problem = mixed(12, seed, largest=1000)
    buffers = list(problem.buffers)
    buffers[place] = replace(buffers[place], size=buffers[place].size + 1)
    other = replace(problem, buffers=tuple(buffers))
    units = [gcd(*(buffer.size for buffer in one.buffers)) for one in (problem, other)]
    if units == [1, 1]:
        assert form_of(problem) != form_of(other)
        assert are_one(problem, other) is False


@pytest.mark.rounds
@settings(max_examples=rounds(80))
@given(seed=SEEDS)
def test_another_pair_makes_another_instance_if_it_matters(seed: int) -> None:
    problem = replace(mixed(12, seed), conflicts=())
    apart = [
        (one.id, other.id)
        for one in problem.buffers
        for other in problem.buffers
        if one.id < other.id and not _meet(one, other)
    ]
    together = [
        (one.id, other.id)
        for one in problem.buffers
        for other in problem.buffers
        if one.id < other.id and _meet(one, other)
    ]
    if apart:
        assert form_of(replace(problem, conflicts=tuple(apart[:1]))) != form_of(problem)
        # Those who never meet need not be kept apart.
        assert form_of(replace(problem, exclusive=tuple(apart[:1]))) == form_of(problem)
    if together:
        assert form_of(replace(problem, exclusive=tuple(together[:1]))) != form_of(problem)
        assert form_of(replace(problem, conflicts=tuple(together[:1]))) == form_of(problem)


def _meet(one: Buffer, other: Buffer) -> bool:
    (one_life, other_life) = spans(one)[0], spans(other)[0]
    return one_life[0] < other_life[1] and other_life[0] < one_life[1]


def _one_change(problem: Problem, rng: Random) -> Problem:
    """The problem with one thing changed, whatever that means."""
    buffers, pools = list(problem.buffers), list(problem.pools)
    place, at = rng.randrange(len(buffers)), rng.randrange(len(pools))
    match rng.randrange(9):
        case 0:
            return replace(problem, conflicts=problem.conflicts[1:])
        case 1:
            return replace(problem, exclusive=problem.exclusive[1:])
        case 2:
            return replace(problem, in_place=problem.in_place[1:])
        case 3:
            return replace(problem, relative=problem.relative[1:])
        case 4:
            begin = rng.randint(0, 4)
            change = {"lifetime": (begin, begin + rng.randint(0, 3)), "lifetimes": None}
            buffers[place] = replace(buffers[place], **change)  # type: ignore[arg-type]
        case 5:
            buffers[place] = replace(buffers[place], alignment=rng.randint(1, 4))
        case 6:
            pools[at] = replace(pools[at], reserved=())
        case 7:
            pools[at] = replace(pools[at], base=rng.randint(0, 4))
        case 8:
            capacity = pools[at].capacity
            pools[at] = replace(pools[at], capacity=None if capacity is None else capacity + 1)
    return replace(problem, buffers=tuple(buffers), pools=tuple(pools))


@pytest.mark.rounds
@settings(max_examples=rounds(400))
@given(seed=SEEDS, kind=st.sampled_from([random_problem, costly_problem]))
def test_two_of_one_form_have_the_same_best_values(seed: int, kind: Any) -> None:
    problem = kind(Random(seed), 4)
    other = _one_change(problem, Random(seed + 1))
    if find_issues(other) or form_of(problem) != form_of(other):
        return
    assert are_one(problem, other)
    assert best(problem) == best(other)


def _graph(document: Document) -> Graph:
    return read_graph(json.dumps(document).encode())


@pytest.mark.rounds
@settings(max_examples=rounds(80))
@given(seed=SEEDS)
def test_graphs_are_one_under_other_names_and_in_another_order(seed: int) -> None:
    rng = Random(seed)
    document: Document = random_graph(seed)
    ids = [one["id"] for one in (*document["tensors"], *document["operators"])]
    ids += [one["id"] for operator in document["operators"] for one in operator.get("temporaries", [])]
    name_of = {name: f"n{number}" for number, name in enumerate(rng.sample(ids, len(ids)))}

    def renamed(value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            return {name: renamed(member, name) for name, member in value.items()}
        if isinstance(value, list):
            return [renamed(one, field) for one in value]
        is_name = isinstance(value, str) and field not in ("type", "kind", "order", "pools")
        return name_of.get(value, value) if is_name else value

    other = renamed(document)
    # Operators at a state keep their order, so that the order in which they are listed says something.
    has_states = any(tensor["kind"] == "state" for tensor in document["tensors"])
    for name in ("tensors", "before", "views", *(() if has_states else ("operators",))):
        rng.shuffle(other[name])
    one, two = _graph(document), _graph(other)
    assert form_of(one) == form_of(two)
    assert are_one(one, two) is True
    listed = [_graph({**each, "order": "given"}) for each in (document, renamed(document))]
    assert form_of(listed[0]) == form_of(listed[1]) != form_of(one)


def test_who_uses_a_state_first_makes_a_difference() -> None:
    def graph(*order: str) -> Graph:
        tensors = [{"id": "in", "size": 4}, {"id": "state", "size": 4, "kind": "state"}]
        operators = {
            "reads": {"id": "reads", "inputs": ["in", "state"]},
            "writes": {"id": "writes", "inputs": ["in"], "outputs": ["state"]},
        }
        listed = [operators[name] for name in order]
        document = {"version": 1, "tensors": tensors, "operators": listed, "inputs": ["in"], "order": "free"}
        return _graph(document)

    assert form_of(graph("reads", "writes")) != form_of(graph("writes", "reads"))


def test_a_larger_tensor_makes_another_graph() -> None:
    document = random_graph(3)
    larger = {**document, "tensors": [{**document["tensors"][0], "size": 4096}, *document["tensors"][1:]]}
    assert form_of(_graph(document)) != form_of(_graph(larger))
    assert are_one(_graph(document), _graph(larger)) is False


def _ring(lengths: list[int]) -> Problem:
    """Rings of buffers without times, of which neighbours conflict: refinement sees no difference."""
    buffers, conflicts = [], []
    for ring, length in enumerate(lengths):
        names = [f"r{ring}_{place}" for place in range(length)]
        buffers += [Buffer(id=name, size=1) for name in names]
        conflicts += list(zip(names, [*names[1:], names[0]], strict=True))
    return Problem(buffers=buffers, conflicts=conflicts)


def test_where_colours_do_not_tell_the_comparison_does() -> None:
    one, two = _ring([3, 3]), _ring([6])
    assert form_of(one) == form_of(two)
    assert are_one(one, two) is False
    assert are_one(two, disguised(two, Random(0))) is True


def test_a_comparison_that_takes_too_long_is_left_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstow.planner.instance_library.form.MOST_WORK", 100)
    assert are_one(_ring([5, 7]), _ring([12])) is None
