"""Reuse costs: what the solver `reuse` finds and proves, alone and as a part of `auto`."""

import csv
import json
import os
import re
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Bound, Event, Incumbent, Options
from memstow.planner.model.plan import Exhausted, Plan, TermValue
from memstow.planner.model.problem import Buffer, Pool, Problem, Relative, ReuseCost, terms_of
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.planner.verify import verify
from memstow.solvers._native import Budget
from memstow.solvers.registry import native_solver
from memstow.solvers.solver import Listeners
from tests.planner.formats.structured_brute import fits, value
from tests.problems import costly_problem
from tests.referee import judge

TINY = int(os.environ.get("MEMSTOW_AGREEMENT", "600"))


def chain(count: int, places: int, terms: tuple[str, ...] = ("reuse_cost", "peak")) -> Problem:
    """Buffers that live one after the other, room for some of them, and a cost on every overlap."""
    return Problem(
        version=1,
        pools=(Pool(id="m", capacity=2 * places),),
        buffers=tuple(Buffer(id=f"b{i}", size=2, lifetime=(i, i + 1)) for i in range(count)),
        reuse_costs=tuple(
            ReuseCost(buffers=(f"b{j}", f"b{i}"), cost=1) for i in range(count) for j in range(i)
        ),
        objective=terms,
    )


def values(result: Plan) -> list[int]:
    return [term.value for term in result.objective]


@pytest.mark.parametrize("solver", ["reuse", "auto"])
def test_it_agrees_with_brute_force_on_every_term(solver: str) -> None:
    """More with MEMSTOW_AGREEMENT=20000 in the environment."""
    paid = impossible = 0
    for seed in range(TINY):
        problem = costly_problem(Random(seed))
        truth = judge(problem)
        planned = plan(problem, Options(solver=solver, workers=1))
        assert verify(problem, planned) == [], seed
        assert planned.status is truth.status, seed
        impossible += truth.vector is None
        if truth.vector is not None:
            assert tuple(values(planned)) == truth.vector, seed
            paid += any(term.term == "reuse_cost" and term.value for term in planned.objective)
    assert paid > TINY // 8
    assert impossible > TINY // 20


def test_bounds_hold_however_early_a_run_ends() -> None:
    for seed in range(100):
        problem = costly_problem(Random(seed))
        truth = judge(problem)
        for work in (1, 300, 3_000, 30_000):
            planned = plan(problem, Options(solver="reuse", deterministic=True, work_limit=work))
            assert verify(problem, planned) == [], seed
            assert planned.status is not Status.INFEASIBLE or truth.vector is None, seed
            for term, least in zip(planned.objective, truth.vector or (), strict=False):
                assert term.bound <= least, seed
                if term.value > least:
                    break  # bounds of later terms are about plans with these values


def test_the_least_cost_of_too_few_places_is_proven() -> None:
    """Seven buffers in three places: groups of 3, 2 and 2, whose pairs add up to 5."""
    planned = plan(chain(7, 3))
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [5, 6]
    assert planned.prover == "reuse"
    certificate = planned.objective[0].certificate
    assert isinstance(certificate, Exhausted)
    assert [step.height for step in certificate.refuted] == [4]


def test_the_page_on_reuse_costs_tells_the_truth() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reuse.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```json problem\n(.*?)```", page, flags=re.DOTALL)
    planned = plan(formats.read_problem(text.encode()))
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [1, 8192]
    offset = {place.buffer: place.offset for place in planned.placements}
    assert offset["tile0"] == offset["tile2"] != offset["tile1"]


def test_the_order_of_terms_decides_between_height_and_cost() -> None:
    wide = replace(chain(4, 4), pools=(Pool(id="m"),))
    assert values(plan(replace(wide, objective=("reuse_cost", "peak")))) == [0, 8]
    assert values(plan(replace(wide, objective=("peak", "reuse_cost")))) == [2, 6]


def test_pools_that_have_many_short_turns_agree_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstow.solvers.reuse.FIRST_TURN", 1)
    several = 0
    for seed in range(TINY // 4):
        problem = costly_problem(Random(seed))
        if len(problem.pools) == 1:
            continue
        truth = judge(problem)
        planned = plan(problem, Options(solver="reuse", workers=1))
        assert planned.status is truth.status, seed
        if truth.vector is not None:
            assert tuple(values(planned)) == truth.vector, seed
            assert tuple(term.bound for term in planned.objective) == truth.vector, seed
            several += 1
    assert several > TINY // 20


@pytest.mark.parametrize("pools", [1, 2])
def test_where_pools_could_trade_costs_no_bound_of_a_later_term_is_claimed(pools: int) -> None:
    """A plan of the same cost can have one pool pay more and another less, as long as it is not the least."""
    names = [f"m{i}" for i in range(pools)]
    rng = Random(5)
    buffers = tuple(
        Buffer(id=f"{name}b{i}", size=rng.randint(1, 9), lifetime=(i, i + rng.randint(1, 6)), pools=(name,))
        for name in names
        for i in range(40)
    )
    costs = tuple(
        ReuseCost(buffers=(f"{name}b{i}", f"{name}b{j}"), cost=rng.randint(1, 9))
        for name in names
        for i in range(40)
        for j in range(i)
    )
    problem = Problem(
        version=1,
        pools=tuple(Pool(id=name, capacity=60) for name in names),
        buffers=buffers,
        reuse_costs=costs,
        objective=("reuse_cost", "peak"),
    )
    reduction = reduce(problem)
    assert isinstance(reduction, Reduction)
    task, _ = task_of(reduction, dict.fromkeys(terms_of(problem), 0), Options(deterministic=True))
    outcome = native_solver("reuse").solve(
        task, Budget(-1.0, 200_000), Listeners(lambda *_: None, lambda *_: None)
    )
    assert outcome.values[0] > outcome.bounds[0].value
    assert [bound.term for bound in outcome.bounds] == ([0, 1] if pools == 1 else [0])


def test_several_pools_are_settled_one_by_one_where_no_buffer_has_a_choice() -> None:
    one, two = chain(5, 2), chain(4, 3)
    problem = Problem(
        version=1,
        pools=(replace(one.pools[0], id="x"), replace(two.pools[0], id="y")),
        buffers=(
            *(replace(buffer, id=f"x{buffer.id}", pool="x") for buffer in one.buffers),
            *(replace(buffer, id=f"y{buffer.id}", pools=("y",)) for buffer in two.buffers),
        ),
        reuse_costs=tuple(
            ReuseCost(buffers=(name + entry.buffers[0], name + entry.buffers[1]), cost=1)
            for name, element in (("x", one), ("y", two))
            for entry in element.reuse_costs
        ),
        objective=("reuse_cost", "peak", "peak:x", "max_peak"),
    )
    planned = plan(problem)
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [4 + 1, 4 + 6, 4, 6]


def test_costs_within_a_rigid_group_are_paid_whatever_is_done() -> None:
    problem = Problem(
        version=1,
        buffers=(Buffer(id="whole", size=4, lifetime=(0, 2)), Buffer(id="slice", size=2, lifetime=(0, 2))),
        relative=(Relative(buffer="slice", base="whole", offset=1),),
        reuse_costs=(ReuseCost(buffers=("whole", "slice"), cost=3),),
        objective=("reuse_cost", "peak"),
    )
    planned = plan(problem, Options(solver="reuse"))
    assert planned.status is Status.OPTIMAL
    assert values(planned) == [3, 4]
    assert verify(problem, planned) == []


def test_what_cannot_fit_is_explained_whatever_overlaps_cost() -> None:
    """Two wide buffers either side of a pin: live bytes do not show it."""
    problem = Problem(
        version=1,
        pools=(Pool(id="m", capacity=10),),
        buffers=(
            Buffer(id="pinned", size=2, lifetime=(0, 2), pool="m", offset=4),
            Buffer(id="wide", size=5, lifetime=(0, 2)),
            Buffer(id="bystander", size=1, lifetime=(5, 6)),
        ),
        reuse_costs=(ReuseCost(buffers=("bystander", "wide"), cost=1),),
        objective=("reuse_cost",),
    )
    planned = plan(problem)
    assert planned.status is Status.INFEASIBLE
    assert planned.explanation is not None
    assert set(planned.explanation.buffers) == {"pinned", "wide"}


def test_a_deterministic_run_gives_the_same_plan_each_time() -> None:
    problem = hard(Random(3), 60)
    options = Options(solver="reuse", deterministic=True, work_limit=3_000_000)
    first = plan(problem, options)
    assert first.objective[0].value > 0
    assert plan(problem, options) == first


def test_a_run_that_is_told_to_stop_hands_out_what_it_has() -> None:
    cancel = threading.Event()
    events: list[Event] = []

    def stop_at_the_first_better_plan(event: Event) -> None:
        events.append(event)
        if isinstance(event, Incumbent) and event.solver == "reuse":
            cancel.set()

    problem = hard(Random(5), 60)
    planned = plan(problem, Options(time_limit=60.0), stop_at_the_first_better_plan, cancel)
    assert planned.status is Status.FEASIBLE
    assert planned.seconds < 30
    assert verify(problem, planned) == []
    bounds = [event.value for event in events if isinstance(event, Bound)]
    assert bounds == sorted(bounds)


def test_what_it_does_not_know_is_declined_by_name() -> None:
    free = replace(chain(3, 2), pools=(Pool(id="m", capacity=4), Pool(id="n", capacity=4)))
    with pytest.raises(DeclinedError, match="choice of pool"):
        plan(free, Options(solver="reuse"))
    with pytest.raises(DeclinedError, match="moves"):
        plan(
            chain(3, 2, ("moves", "reuse_cost")),
            Options(solver="reuse", hint=Plan(status=Status.FEASIBLE)),
        )


def hard(rng: Random, count: int) -> Problem:
    """More overlaps than can be avoided, and far too many ways to choose among them."""
    buffers = []
    for i in range(count):
        begin = rng.randrange(count)
        size = rng.randrange(1, 40) * 16
        buffers.append(Buffer(id=f"b{i}", size=size, lifetime=(begin, begin + rng.randrange(1, 8))))
    pairs = [(i, j) for i in range(count) for j in range(i) if rng.random() < 0.5]
    return Problem(
        version=1,
        pools=(Pool(id="m", capacity=3200),),
        buffers=tuple(buffers),
        reuse_costs=tuple(ReuseCost(buffers=(f"b{j}", f"b{i}"), cost=rng.randrange(1, 5)) for i, j in pairs),
        objective=("reuse_cost", "peak"),
    )


def reuse_cost(result: Plan) -> TermValue:
    return next(term for term in result.objective if term.term == "reuse_cost")


def test_kernels_reach_the_best_known_cost_and_prove_it(shared_data: Path) -> None:
    with (shared_data / "pypto" / "best_known.csv").open() as file:
        rows = list(csv.DictReader(file))
    known = {
        (row["source_path"], row["source_instance"], row["source_fingerprint"]): row["best_known_cost"]
        for row in rows
    }
    costs, proven, hard_decided = [], 0, 0
    for path in sorted(shared_data.glob("pypto/**/*.json")):
        data = path.read_bytes()
        notes = json.loads(data)["metadata"]
        policy = notes.get("dsa_rp_edge_policy")
        if policy is None:
            continue
        planned = plan(formats.read_problem(data))
        if policy == "hard_v1":
            assert planned.status in (Status.OPTIMAL, Status.INFEASIBLE), path.name
            hard_decided += 1
            continue
        best = known[
            notes["corpus_source_path"],
            notes["dsa_rp_source_instance"],
            notes["corpus_source_fingerprint_fnv1a64"],
        ]
        if planned.status is Status.INFEASIBLE:
            assert best == "", path.name
            continue
        assert planned.objective[0].value <= int(best), path.name
        costs.append(planned.objective[0].value)
        proven += planned.status is Status.OPTIMAL
    assert len(costs) + 1 == len(rows) == hard_decided == 54
    assert sum(costs) <= 90
    assert proven >= 51


@pytest.mark.parametrize("kind", ["", "-cross-pipe-soft", "-cross-pipe-hard"])
def test_what_needs_twice_the_capacity_is_infeasible_without_a_search(shared_data: Path, kind: str) -> None:
    (path,) = shared_data.glob(f"pypto/**/*mm_512x512x192_acc_coalesce{kind}.json")
    planned = plan(formats.read_problem(path.read_bytes()))
    assert planned.status is Status.INFEASIBLE
    assert planned.prover == "live bytes"
    assert planned.explanation is not None
    assert planned.explanation.code == "over_capacity"
    needed, capacity = planned.explanation.needed, planned.explanation.capacity
    assert needed is not None
    assert capacity is not None
    assert needed >= 2 * capacity


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("letter", "best_known"), [("A", 285), ("F", 129)])
def test_large_problems_come_below_the_best_cost_known_before(
    shared_data: Path, letter: str, best_known: int
) -> None:
    problem = formats.read_problem((shared_data / "minimalloc-dsa-rp" / f"{letter}.json").read_bytes())
    planned = plan(problem, Options(deterministic=True, work_limit=100_000_000))
    assert verify(problem, planned) == []
    assert planned.objective[0].value <= best_known


@pytest.mark.timeout(300)
def test_every_kernel_is_solved_and_its_document_accepts_the_plan(shared_data: Path) -> None:
    """Accepted by the rules of the document itself, read without our own reader."""
    statuses = []
    for path in sorted(shared_data.glob("pypto/**/*.json")):
        data = path.read_bytes()
        problem = formats.read_problem(data)
        planned = plan(problem)
        statuses.append(planned.status)
        assert planned.status in (Status.OPTIMAL, Status.INFEASIBLE), path.name
        assert verify(problem, planned) == [], path.name
        if planned.status is Status.INFEASIBLE:
            continue
        solution = formats.write_plan(problem, planned, "structured")
        assert formats.read_plan(solution, problem).placements == planned.placements, path.name
        places = {one["buffer"]: (one["pool"], one["offset"]) for one in json.loads(solution)["placements"]}
        document = json.loads(data)
        assert fits(document, places), path.name
        if "reuse_cost" in document["problem"]["objective"]["terms"] and problem.reuse_costs:
            terms = document["problem"]["objective"]["terms"]
            assert value(document, places)[terms.index("reuse_cost")] == reuse_cost(planned).value, path.name
    assert len(statuses) == 273
