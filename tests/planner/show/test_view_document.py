"""The view document: what the page says is what the judge has found, in words for people."""

import json
from dataclasses import replace
from typing import Any

import pytest

from memstow.planner.formats import read_plan, read_problem
from memstow.planner.generate.network import network
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Model, Plan, TermValue
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost
from memstow.planner.show.view_document import (
    VERSION,
    Author,
    PlanView,
    comparison_document,
    plan_document,
    verdict_document,
)
from memstow.planner.solve import engine
from memstow.planner.verify.verdict import Standing, Subject

QUICK = Options(deterministic=True)
TWO = Problem(
    version=1,
    buffers=[Buffer(id="a", size=10, lifetime=(0, 1)), Buffer(id="b", size=10, lifetime=(1, 2))],
)


def placed(*offsets: int, **more: object) -> Plan:
    """A plan of `TWO`."""
    names = ("a", "b")
    places = [
        {"buffer": name, "pool": "memory", "offset": offset}
        for name, offset in zip(names, offsets, strict=True)
    ]
    return read_plan(json.dumps({"status": "feasible", "placements": places, **more}).encode(), TWO)


def said(problem: Problem, plan: Plan, author: Author = "file") -> tuple[str, str]:
    """The sentence and its colour."""
    sentence = PlanView(problem, problem, plan, author).sentence()
    return f"{sentence.lead} {sentence.rest}".strip(), sentence.tone


def test_a_bare_plan_is_held_against_what_is_live() -> None:
    assert said(TWO, placed(0, 0)) == ("10 B. No plan can be smaller.", "proven")
    assert said(TWO, placed(0, 5)) == ("15 B, of which at most 34 % could be saved.", "open")
    assert said(TWO, placed(0, 90)) == ("100 B. At least 10 B are needed.", "open")


def test_a_plan_that_breaks_a_rule_is_called_so_with_the_words_of_the_judge() -> None:
    problem = replace(TWO, pools=(Pool(id="memory", capacity=12),))
    view = PlanView(problem, problem, placed(0, 5), "file")
    assert view.sentence().lead == "This is no valid plan."
    assert view.sentence().rest == f"{view.verdict.violations[0].message}."
    assert view.data["fits"] is False


@pytest.mark.parametrize(
    ("author", "word", "tone"),
    [("file", "as the file claims", "claimed"), ("service", "as the service says", "proven")],
)
def test_what_cannot_be_counted_stands_on_the_word_of_its_author(
    author: Author, word: str, tone: str
) -> None:
    problem = replace(
        TWO,
        pools=(Pool(id="memory", capacity=10),),
        reuse_costs=(ReuseCost(buffers=("a", "b"), cost=5),),
        objective=("reuse_cost",),
    )
    proof = TermValue(term="reuse_cost", value=5, bound=5, gap=0.0, certificate=Model(solver="cpsat"))
    plan = replace(placed(0, 0), status=Status.OPTIMAL, objective=(proof,))
    assert said(problem, plan, author) == (f"It fits. No plan has lower costs of reuse: 5, {word}.", tone)


def test_a_bound_that_its_certificate_does_not_show_is_not_told() -> None:
    claim = {"term": "peak", "value": 20, "bound": 20, "gap": 0.0}
    view = PlanView(TWO, TWO, placed(0, 10, status="optimal", objective=[claim]), "file")
    assert view.sentence().rest == "of which at most 50 % could be saved."
    assert "The judge says: " in view.sentence().note


def test_a_bound_above_the_plan_is_a_lie() -> None:
    claim = {"term": "peak", "value": 10, "bound": 30, "gap": 0.0}
    text, tone = said(TWO, placed(0, 0, status="optimal", objective=[claim]))
    assert text == "10 B. The file claims more than can be true."
    assert tone == "wrong"


def test_why_nothing_fits_is_told_and_drawn() -> None:
    problem = replace(TWO, pools=(Pool(id="memory", capacity=9),))
    plan = engine.plan(problem, QUICK)
    view = PlanView(problem, problem, plan, "service")
    assert said(problem, plan) == ("No plan fits into these memories.", "wrong")
    forged = replace(plan, explanation=replace(plan.explanation, capacity=8)) if plan.explanation else plan
    assert "does not show it" in said(problem, forged)[0]
    assert view.data["facts"] == []


@pytest.mark.parametrize("seed", range(6))
def test_what_is_called_proven_is_what_the_judge_has_checked(seed: int) -> None:
    problem = network(24, seed)
    plan = engine.plan(problem, QUICK)
    view = PlanView(problem, problem, plan, "file")
    checked = {
        claim.name
        for claim in view.verdict.claims
        if claim.subject is Subject.BOUND and claim.standing is Standing.CHECKED
    }
    known = view.bound("peak")
    assert known is not None
    assert known.value == plan.objective[0].bound
    assert known.checked == ("peak" in checked)
    assert (view.sentence().tone == "proven") == (known.checked and known.value == plan.objective[0].value)


def test_documents_hold_what_the_page_needs() -> None:
    plan = engine.plan(TWO, QUICK)
    whole: dict[str, Any] = json.loads(plan_document(TWO, TWO, plan, "two"))
    assert whole["version"] == VERSION
    assert read_problem(json.dumps(whole["problem"]).encode()) == TWO
    assert whole["verdict"]["pools"][0]["buffers"] in ([0], [1])
    assert plan_document(TWO, TWO, plan, "two") == plan_document(TWO, TWO, plan, "two")
    both = json.loads(comparison_document(TWO, TWO, (plan, placed(5, 5)), ("one", "other"), "two"))
    assert both["names"] == ["one", "other"]
    assert both["other_verdict"]["lead"] == "15 B,"
    alone = json.loads(verdict_document(TWO, TWO, plan, "service"))
    assert alone.keys() == {"version", "plan", "verdict"}
