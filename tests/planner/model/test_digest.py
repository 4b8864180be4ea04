"""The digest is the same for the same problem, however it is written, and differs where the meaning does."""

import pickle
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memstow.planner.model.digest as digest_module
from memstow.planner.model.digest import canonical, digest, hasher
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Relative, Reserved, ReuseCost
from tests.problems import problems

PROBLEM = Problem(
    version=1,
    name="kws",
    pools=(
        Pool(id="fast", capacity=64, alignment=4, reserved=(Reserved(offset=0, size=4),), base=16, cost=1),
        Pool(id="slow pool"),
    ),
    buffers=(
        Buffer(id="b", size=8, lifetime=(0, 2)),
        Buffer(id="ä", size=0, lifetimes=((3, 4), (-1, 1)), accesses=7, pools=("slow pool",)),
        Buffer(id="a", size=4, lifetime="always", alignment=2, pool="fast", offset=4),
        Buffer(id="c", size=4),
    ),
    conflicts=(("c", "b"),),
    exclusive=(("b", "a"), ("a", "c")),
    relative=(Relative(buffer="c", base="b", offset=-4),),
    in_place=(InPlace(input="b", output="a"),),
    reuse_costs=(ReuseCost(buffers=("c", "a"), cost=2), ReuseCost(buffers=("a", "c"), cost=3)),
    objective=("peak:fast", "moves"),
)

CANONICAL = """\
memstow-problem 1
pool 4:fast 64 4 16 1 1 0 4
pool 9:slow pool - 1 0 0 0
buffer 1:a 4 2 4 4 always 1 4:fast
buffer 1:b 8 1 8 - 1 0 2 *
buffer 1:c 4 1 4 - - *
buffer 2:ä 0 1 0 - 2 -1 1 3 4 1 9:slow pool
conflict 1:b 1:c
exclusive 1:a 1:b
exclusive 1:a 1:c
relative 1:c 1:b -4
in_place 1:a 1:b
reuse_cost 1:a 1:c 5
objective 2 9:peak:fast 5:moves
"""


def test_the_canonical_form_is_the_documented_one() -> None:
    assert canonical(PROBLEM).decode() == CANONICAL
    assert digest(PROBLEM) == sha256(CANONICAL.encode()).hexdigest()


@pytest.mark.parametrize("count", [1, 5000])
def test_few_and_many_buffers_are_hashed_alike(count: int) -> None:
    assert hasher(count).name == "sha256"
    problem = Problem(buffers=[Buffer(id=f"b{at}", size=at, lifetime=(0, 1)) for at in range(count)])
    assert digest(problem) == sha256(canonical(problem)).hexdigest()


def one(**changes: Any) -> Problem:
    """A problem with one buffer."""
    return Problem(version=1, buffers=(Buffer(id="a", size=4, **changes),))


def test_one_life_written_in_several_ways_is_one_life() -> None:
    same = [
        one(lifetime=(0, 2)),
        one(lifetimes=((0, 2),)),
        one(lifetimes=((1, 2), (0, 1))),
        one(lifetimes=((0, 2), (0, 1), (1, 2))),
    ]
    assert len({digest(entry) for entry in same}) == 1
    assert digest(one(lifetimes=((0, 1), (2, 3)))) != digest(one(lifetime=(0, 3)))


def test_defaults_may_be_spelled_out() -> None:
    spelled = Problem(
        version=1,
        name=None,
        pools=(Pool(id="memory", capacity=None, alignment=1, reserved=(), base=0, cost=0),),
        buffers=(Buffer(id="a", size=4, lifetime=(0, 1), alignment=1, pools=("memory",), accesses=4),),
        objective=("peak",),
    )
    assert digest(spelled) == digest(one(lifetime=(0, 1)))


def test_a_group_is_a_label() -> None:
    assert digest(one(group="layer")) == digest(one())


def test_a_pin_to_a_pool_is_the_only_allowed_pool() -> None:
    pools = (Pool(id="x"), Pool(id="y"))
    pinned = replace(one(pool="y"), pools=pools)
    assert digest(pinned) == digest(replace(one(pools=("y",)), pools=pools))
    assert digest(pinned) == digest(replace(one(pools=("x", "y"), pool="y"), pools=pools))


def test_reserved_ranges_are_their_union() -> None:
    def reserving(*ranges: tuple[int, int]) -> Problem:
        reserved = tuple(Reserved(offset=offset, size=size) for offset, size in ranges)
        return replace(one(), pools=(Pool(id="memory", reserved=reserved),))

    assert digest(reserving((0, 2), (2, 4))) == digest(reserving((1, 5), (0, 3)))
    assert digest(reserving((0, 2), (3, 3))) != digest(reserving((0, 6)))


@given(problems(), st.randoms(use_true_random=False))
def test_no_order_but_that_of_pools_and_objective_matters(problem: Problem, rng: Random) -> None:
    def shuffled(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(rng.sample(items, len(items)))

    def turned(pair: tuple[str, str]) -> tuple[str, str]:
        return pair if rng.random() < 0.5 else (pair[1], pair[0])

    other = replace(
        problem,
        name="another name",
        buffers=shuffled(problem.buffers),
        conflicts=shuffled(tuple(map(turned, problem.conflicts))) + problem.conflicts[:1],
        exclusive=shuffled(tuple(map(turned, problem.exclusive))),
        relative=shuffled(problem.relative),
        in_place=shuffled(
            tuple(
                InPlace(input=first, output=second)
                for first, second in (turned((pair.input, pair.output)) for pair in problem.in_place)
            )
        ),
        reuse_costs=shuffled(
            tuple(replace(cost, buffers=turned(cost.buffers)) for cost in problem.reuse_costs)
        ),
        pools=tuple(replace(pool, reserved=shuffled(pool.reserved)) for pool in problem.pools),
        objective=problem.terms(),
    )
    assert digest(other) == digest(problem)


def changed(name: str, **changes: Any) -> Problem:
    return replace(
        PROBLEM,
        buffers=tuple(
            replace(buffer, **changes) if buffer.id == name else buffer for buffer in PROBLEM.buffers
        ),
    )


def fast(**changes: Any) -> Problem:
    return replace(PROBLEM, pools=(replace(PROBLEM.pools[0], **changes), PROBLEM.pools[1]))


@pytest.mark.parametrize(
    "other",
    [
        fast(capacity=65),
        fast(capacity=None),
        fast(alignment=8),
        fast(base=32),
        fast(cost=0),
        fast(reserved=()),
        replace(PROBLEM, pools=PROBLEM.pools[::-1]),
        changed("b", size=9),
        changed("b", lifetime=(0, 3)),
        changed("b", lifetime="always"),
        changed("b", lifetime=None),
        changed("b", alignment=2),
        changed("b", pools=("slow pool", "fast")),
        changed("b", accesses=9),
        changed("a", offset=8),
        changed("a", offset=None),
        changed("c", id="d"),
        replace(PROBLEM, conflicts=()),
        replace(PROBLEM, conflicts=PROBLEM.exclusive, exclusive=PROBLEM.conflicts),
        replace(PROBLEM, relative=(Relative(buffer="c", base="b", offset=4),)),
        replace(PROBLEM, in_place=()),
        replace(PROBLEM, reuse_costs=PROBLEM.reuse_costs[:1]),
        replace(PROBLEM, objective=("moves", "peak:fast")),
        replace(PROBLEM, objective=()),
    ],
)
def test_whatever_changes_the_meaning_changes_the_digest(other: Problem) -> None:
    assert digest(other) != digest(PROBLEM)


def test_names_cannot_pretend_to_be_fields() -> None:
    def two(first: str, second: str) -> Problem:
        return Problem(version=1, buffers=(Buffer(id=first, size=1), Buffer(id=second, size=1)))

    names = ["a", "a 1", "1:a", "a\nbuffer 1:b 1 1 1 - - *", "b"]
    pairs = [(one, other) for one in names for other in names if one < other]
    assert len({digest(two(*pair)) for pair in pairs}) == len(pairs)


def test_a_digest_is_made_once_and_that_of_a_changed_copy_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Problem] = []

    parts: Any = vars(digest_module)["_parts"]

    def counted(problem: Problem) -> Iterator[bytes]:
        made.append(problem)
        yield from parts(problem)

    monkeypatch.setattr(digest_module, "_parts", counted)
    problem = replace(PROBLEM, name="made once")
    assert digest(problem) == digest(problem)
    assert made == [problem]
    changed = replace(problem, objective=("max_peak",))
    assert digest(changed) != digest(problem)
    for copied in (copy(problem), pickle.loads(pickle.dumps(problem))):
        assert digest(copied) == digest(problem)
    assert problem == replace(PROBLEM, name="made once"), "what is known of it is no part of it"


# An id has no halves of characters.
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=10)


@given(st.lists(st.tuples(_TEXTS, _TEXTS), max_size=8))
def test_pairs_are_written_once_and_sorted_by_their_ids(pairs: list[tuple[str, str]]) -> None:
    buffers = [Buffer(id=name, size=1) for name in {name for pair in pairs for name in pair}]
    *head, objective = canonical(Problem(buffers=buffers)).splitlines(keepends=True)
    ordered = sorted({(min(pair), max(pair)) for pair in pairs})
    for word, problem in (
        ("conflict", Problem(buffers=buffers, conflicts=pairs)),
        ("exclusive", Problem(buffers=buffers, exclusive=pairs)),
        ("in_place", Problem(buffers=buffers, in_place=[InPlace(input=a, output=b) for a, b in pairs])),
    ):
        lines = [f"{word} {_counted(one)} {_counted(other)}\n" for one, other in ordered]
        written = "".join(lines).encode("utf-8", "surrogatepass")
        assert canonical(problem) == b"".join([*head, written, objective])


def _counted(text: str) -> str:
    return f"{len(text.encode('utf-8', 'surrogatepass'))}:{text}"
