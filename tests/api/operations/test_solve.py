"""Which plan the service answers with: when it is enough, and when a known one is the better answer."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from memstow.api.operations.encoding import bytes_in_order, plan_from_bytes, plan_to_bytes
from memstow.api.operations.solve import better_answer, is_final, solve_briefly, solve_fully
from memstow.planner.formats import read_problem
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan, TermValue
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve import engine
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.plans import honest
from tests.waiting import PATIENCE

PROBLEM = read_problem(
    b"""{"version": 1, "pools": [{"id": "m"}], "buffers": [
    {"id": "a", "size": 4, "lifetime": [0, 2]}, {"id": "b", "size": 4, "lifetime": [1, 3]}]}"""
)


def of_gaps(*gaps: float, status: Status = Status.FEASIBLE) -> Plan:
    terms = (TermValue(term="peak", value=100, bound=100, gap=gap, certificate=None) for gap in gaps)
    return Plan(status=status, objective=tuple(terms))


@pytest.mark.parametrize(
    ("gaps", "enough"),
    [((0.1, 0.1), True), ((0.1, 0.2), False), ((0.2, 0.1), False), ((0.1,), True), ((0.105,), False)],
)
def test_enough_is_every_term_within_the_gap(gaps: Sequence[float], enough: bool) -> None:
    assert is_final(of_gaps(*gaps), Options(gap=0.1)) is enough


def test_no_plan_is_never_enough_and_a_proof_always_is() -> None:
    assert not is_final(Plan(status=Status.UNKNOWN), Options(gap=1.0))
    assert is_final(Plan(status=Status.INFEASIBLE), Options())
    assert is_final(of_gaps(0.0, status=Status.OPTIMAL), Options())


def laid(problem: Problem, *offsets: int) -> Plan:
    """A plan with figures that are so, at these offsets."""
    start = Plan(
        status=Status.FEASIBLE,
        placements=tuple(
            Placement(buffer=buffer.id, pool="m", offset=offset)
            for buffer, offset in zip(problem.buffers, offsets, strict=True)
        ),
    )
    terms = tuple(
        TermValue(
            term=term, value=max(offsets) + 4 if term == "peak" else 0, bound=0, gap=1.0, certificate=None
        )
        for term in problem.terms()
    )
    return replace(start, objective=terms)


def test_a_known_plan_that_is_better_is_the_answer() -> None:
    low, high = plan(PROBLEM, Options()), laid(PROBLEM, 0, 8)
    assert better_answer(PROBLEM, high, low) is low
    assert better_answer(PROBLEM, low, high) is low
    assert better_answer(PROBLEM, high, None) is high


def test_a_known_plan_that_is_not_valid_is_no_answer() -> None:
    high, overlapping = laid(PROBLEM, 0, 8), laid(PROBLEM, 0, 0)
    assert verify(PROBLEM, overlapping)
    assert better_answer(PROBLEM, high, overlapping) is high


def test_moves_count_from_each_question_so_no_other_plan_is_its_answer() -> None:
    problem = replace(PROBLEM, objective=("peak", "moves"))
    known = plan(problem, Options(hint=laid(PROBLEM, 0, 4)))
    request = laid(problem, 0, 8)
    assert not verify(problem, known)
    assert better_answer(problem, request, known) is request


def test_a_deterministic_run_knows_nothing_of_other_plans() -> None:
    """What it found would depend on who asked before."""
    options = Options(deterministic=True)
    alone = plan(PROBLEM, options)
    upside_down = plan(PROBLEM, Options(hint=laid(PROBLEM, 4, 0)))
    other = replace(upside_down, placements=laid(PROBLEM, 4, 0).placements)
    assert not verify(PROBLEM, other)
    assert other.placements != alone.placements
    again = solve_fully(PROBLEM, options, other, lambda _: None, lambda _: None, threading.Event())
    assert again == alone


def test_a_deterministic_run_that_a_moment_was_too_short_for_is_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it has found by then depends on the clock."""
    result = laid(PROBLEM, 0, 8)
    options = Options(deterministic=True)

    def cut_off(
        _problem: Problem, _options: Options, _on_event: object, cancel: threading.Event | None
    ) -> Plan:
        assert cancel is not None
        assert cancel.wait(PATIENCE)
        return result

    monkeypatch.setattr(engine, "plan", cut_off)
    assert solve_briefly(PROBLEM, options, 0.0) == (None, False)
    monkeypatch.setattr(engine, "plan", lambda *_: result)
    assert solve_briefly(PROBLEM, options, PATIENCE) == (result, True)


@pytest.mark.parametrize("named", [False, True])
def test_a_run_starts_from_what_is_known_unless_a_plan_to_start_from_is_named(
    monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    known = honest(PROBLEM, {"a": ("m", 0), "b": ("m", 8)})
    hint = laid(PROBLEM, 9, 0)
    request: list[Options] = []

    def worse(_problem: Problem, options: Options, *_: object) -> Plan:
        request.append(options)
        return laid(PROBLEM, 0, 40)

    monkeypatch.setattr(engine, "run", worse)
    options = Options(hint=hint if named else None)
    planned = solve_fully(PROBLEM, options, known, lambda _: None, lambda _: None, threading.Event())
    assert [entry.hint for entry in request] == [hint if named else known]
    assert planned.placements == known.placements, "what is known is the answer where nothing better is found"


def test_what_was_proven_before_holds_for_a_better_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a team has proven more than the process that goes on alone.

    Five buffers, each in conflict with the next: no two places are enough, though no three are in conflict.
    """
    names = "abcde"
    ring = Problem(
        buffers=tuple(Buffer(id=name, size=4) for name in names),
        pools=(Pool(id="m"),),
        conflicts=tuple(zip(names, names[1:] + names[0], strict=True)),
    )

    def at(last: int, bound: int) -> Plan:
        places = zip(names, (0, 4, 0, 4, last), strict=True)
        return honest(ring, {name: ("m", offset) for name, offset in places}, bounds={"peak": bound})

    def solved(known: Plan, result: Plan) -> Plan:
        monkeypatch.setattr(engine, "run", lambda *_: result)
        return solve_fully(ring, Options(), known, lambda _: None, lambda _: None, threading.Event())

    known = replace(at(12, 12), prover="cpsat")
    planned = solved(known, replace(at(8, 8), solver="improve", work=7, seconds=2.0))
    assert planned.placements == at(8, 0).placements
    assert (planned.solver, planned.work, planned.seconds) == ("improve", 7, 2.0)
    assert planned.status is Status.OPTIMAL
    assert planned.objective == (replace(known.objective[0], value=12, gap=0.0),)
    assert planned.prover is not None
    assert planned.prover.startswith("cpsat")
    assert verify(ring, planned) == []
    proven = at(8, 12)
    assert solved(at(12, 8), proven) is proven, "its own bound is higher"


def test_a_plan_is_told_in_the_order_of_the_problem_that_was_asked_about() -> None:
    written = plan_to_bytes(laid(PROBLEM, 0, 8))
    assert bytes_in_order(["a", "b"], written) is written
    turned = plan_from_bytes(bytes_in_order(["b", "a"], written))
    assert [(placement.buffer, placement.offset) for placement in turned.placements] == [("b", 8), ("a", 0)]
    assert replace(turned, placements=()) == replace(plan_from_bytes(written), placements=())
