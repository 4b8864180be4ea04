"""A conversion keeps the meaning of a problem and of its plans, or refuses by name what it cannot keep."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, Relative
from tests.campaign import rounds
from tests.planner.formats.meaning import meaning_of
from tests.planner.refusal import refusal
from tests.problems import random_problem

TRIES = rounds(600)


def plainer(rng: Random) -> Problem:
    """A random problem of which some features are taken away, so that each format can hold some."""
    problem = random_problem(rng)
    keep = rng.choice((0.0, 0.0, 0.25))
    for field in ("conflicts", "exclusive", "relative", "in_place", "reuse_costs"):
        if rng.random() >= keep:
            problem = replace(problem, **{field: ()})  # type: ignore[arg-type]
    if rng.random() >= keep:
        problem = replace(problem, objective=None)
    without_costs, without_base, without_reserved = (rng.random() >= keep for _ in range(3))
    one_alignment, bounded = rng.choice((None, 1, 2)), rng.random()
    pools = [
        replace(
            pool,
            cost=0 if without_costs else pool.cost,
            base=None if without_base else pool.base,
            reserved=() if without_reserved else pool.reserved,
            alignment=one_alignment or pool.alignment,
            capacity=None if bounded < 0.3 else 12 if bounded < 0.7 else pool.capacity,
        )
        for pool in problem.pools
    ]
    timeless, whole, free = rng.random() < 0.3, rng.random() < 0.7, rng.random() < 0.6
    buffers = [_plainer(buffer, timeless, whole, free) for buffer in problem.buffers]
    if free and rng.random() < 0.5:
        pools, problem = pools[:1], replace(problem, objective=None)
    made = replace(problem, pools=tuple(pools), buffers=tuple(buffers))
    return made if not find_issues(made) else plainer(rng)


def _plainer(buffer: Buffer, timeless: bool, whole: bool, free: bool) -> Buffer:
    if timeless:
        buffer = replace(buffer, lifetime=None, lifetimes=None)
    elif whole:
        buffer = replace(buffer, lifetime=(0, 2 + buffer.size), lifetimes=None)
    if free:
        buffer = replace(buffer, pools=None, pool=None, offset=None)
    return replace(buffer, accesses=None, size=max(1, buffer.size) if whole else buffer.size)


def converted(problem: Problem, name: str) -> Problem | None:
    """The problem as the format gives it back; None where it refuses it, by name."""
    try:
        data = formats.write_problem(problem, name)
    except InputError as error:
        for issue in error.issues:
            assert issue.code == "not_expressible"
            assert issue.path.startswith("$.")
            assert repr(name) in issue.message
        return None
    return formats.read_problem(data)


@pytest.mark.rounds
@pytest.mark.parametrize("name", formats.names())
def test_what_a_format_takes_means_the_same_through_it_and_on_to_any_other(name: str) -> None:
    kept: Counter[str] = Counter()
    for seed in range(TRIES):
        problem = plainer(Random(seed))
        first = converted(problem, name)
        if first is None:
            continue
        assert meaning_of(first) == meaning_of(problem), seed
        for other in formats.names():
            second = converted(first, other)
            if second is not None:
                kept[other] += 1
                assert meaning_of(second) == meaning_of(problem), (seed, other)
    assert kept["json"] > TRIES // 20
    assert kept[name] == kept["json"], "what a format gives back it takes again"
    assert all(kept[other] > 10 for other in formats.names() if other != "usmp" and name != "usmp"), kept


# The plans of several programs need names that say which program: tests/planner/programs writes these.
PLANS_OF_ONE = [name for name in formats.plan_names() if name != "programs"]


@pytest.mark.rounds
@pytest.mark.parametrize("name", PLANS_OF_ONE)
def test_a_plan_means_the_same_in_every_form_it_takes(name: str) -> None:
    for seed in range(TRIES):
        rng = Random(seed)
        problem = plainer(rng)
        placements = [
            Placement(buffer=buffer.id, pool=rng.choice(problem.pools).id, offset=rng.randint(0, 99))
            for buffer in problem.buffers
        ]
        plan = Plan(status=Status.FEASIBLE, placements=tuple(placements))
        there = formats.read_plan(formats.write_plan(problem, plan, name), problem)
        assert set(there.placements) == set(placements), seed
        for other in PLANS_OF_ONE:
            back = formats.read_plan(formats.write_plan(problem, there, other), problem)
            assert set(back.placements) == set(placements), (seed, other)


TWO = (Buffer(id="a", size=4, lifetime=(0, 2)), Buffer(id="b", size=4, lifetime=(1, 3)))


@pytest.mark.parametrize(
    ("problem", "path"),
    [
        (Problem(version=1, buffers=TWO, pools=(Pool(id="p", capacity=16),), objective=()), "$.objective"),
        (
            Problem(version=1, buffers=TWO, pools=(Pool(id="p", capacity=16),), objective=("max_peak",)),
            "$.objective",
        ),
        (
            Problem(
                version=1,
                buffers=TWO,
                pools=(Pool(id="p", capacity=12, alignment=2), Pool(id="q", capacity=23)),
                relative=(Relative(buffer="a", base="b", offset=-1),),
            ),
            "$.relative[0].offset",
        ),
    ],
)
def test_executorch_refuses_what_its_reader_would_not_understand(problem: Problem, path: str) -> None:
    (issue,) = refusal(lambda: formats.write_problem(problem, "executorch"))
    assert (issue.code, issue.path) == ("not_expressible", path)


def test_an_objective_that_is_the_usual_one_spelled_out_is_no_reason_to_refuse() -> None:
    spelled = Problem(version=1, buffers=TWO, pools=(Pool(id="p", capacity=16),), objective=("peak",))
    assert formats.read_problem(formats.write_problem(spelled, "executorch")).terms() == ("peak",)


@pytest.mark.parametrize("name", [name for name in formats.names() if name != "json"])
def test_groups_are_labels_that_other_formats_do_not_have(name: str) -> None:
    pools = (Pool(id="memory", capacity=64),) if name in ("structured", "usmp") else (Pool(id="memory"),)
    lifetime = None if name == "usmp" else (0, 2)
    bare = Problem(pools=pools, buffers=[Buffer(id="a", size=4, lifetime=lifetime)])
    grouped = replace(bare, buffers=(replace(bare.buffers[0], group="conv"),))
    assert formats.write_problem(grouped, name) == formats.write_problem(bare, name)
    kept = formats.read_problem(formats.write_problem(grouped, "json"))
    assert kept.buffers[0].group == "conv"


def test_windows_in_csv_may_be_in_groups() -> None:
    plain = formats.read_problem(b"id,lower,upper,size,gaps\na,0,9,8,3-5@0:4\n")
    grouped = replace(plain, buffers=tuple(replace(buffer, group="conv") for buffer in plain.buffers))
    assert formats.write_problem(grouped, "csv") == formats.write_problem(plain, "csv")
