"""A proof in a file, step by step beside the map."""

from dataclasses import replace
from pathlib import Path

import memstow
from memstow.api.cli.pages import page_of
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.check import check_proof
from memstow.planner.proofs.walk_order import walk_of
from tests.api.page.browser import Look
from tests.checker.checkers import document_of
from tests.checker.test_walk import with_lemmas

STEPS = ".side .steps"


def page(problem: Problem, proof: Path) -> bytes:
    plan = memstow.plan(problem)
    checked = check_proof(document_of(problem), plan, proof)
    assert checked.verified
    return page_of(problem, plan, "", proof=(checked, walk_of(problem, problem, proof)))


def test_a_proof_is_walked_through(look: Look, tmp_path: Path) -> None:
    problem, proof = with_lemmas(tmp_path)
    walk = walk_of(problem, problem, proof)
    assert walk is not None
    look.show(page(problem, proof), tmp_path)
    assert "No plan can be smaller." in look.text("h1")
    assert f"Step 1 of {len(walk.steps)}" in look.text(STEPS)
    assert "memstow-check says: verified: peak" in look.text(STEPS)
    assert look.page.is_disabled("[aria-label='the step of the proof before']")
    look.page.click("[aria-label='the step of the proof after']")
    look.wait("document.querySelector('.side .steps h3').innerText.includes('Step 2')")
    assert walk.steps[1].text in look.text(STEPS)
    name = problem.buffers[walk.steps[1].buffers[0]].id
    assert look.page.locator(f"{STEPS} .line").first.inner_text().startswith(name)
    look.page.click(f"{STEPS} .line")
    look.wait(f"document.querySelector('.side h2').innerText.includes('{name}')")
    assert look.violations() == []


def test_the_last_step_of_the_page_says_where_the_others_are(look: Look, tmp_path: Path) -> None:
    problem, proof = with_lemmas(tmp_path)
    plan = memstow.plan(problem)
    walk = walk_of(problem, problem, proof)
    assert walk is not None
    checked = check_proof(document_of(problem), plan, proof)
    look.show(page_of(problem, plan, "", proof=(checked, replace(walk, more=12_345))), tmp_path)
    rest = "The other 12,345 are not on this page: the checker prints all with --text."
    for _ in walk.steps[1:]:
        assert rest not in look.text(STEPS)
        look.page.click("[aria-label='the step of the proof after']")
    assert rest in look.text(STEPS)
    assert look.page.is_disabled("[aria-label='the step of the proof after']")
