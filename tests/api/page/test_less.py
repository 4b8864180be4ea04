"""What would free bytes: moments, what is live there, and the fewest buffers that must change."""

import json
from dataclasses import replace
from pathlib import Path

from memstow.api.cli.pages import page_of
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.show.view_document import shortfalls_of
from memstow.planner.solve import engine
from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.fake import Answer, FakeService
from tests.api.page.test_start import drop, sent

LESS = ".less"
BUSY = Problem(
    name="three busy moments",
    buffers=[Buffer(id=f"t{at}", size=1024 if at % 2 else 2048, lifetime=(at, at + 2)) for at in range(6)],
)
"""Pairs of neighbours are live together; no one buffer is live in all of these moments."""


def page(problem: Problem) -> bytes:
    return page_of(problem, engine.plan(problem, Options(deterministic=True)), "")


def test_a_file_lists_the_moments_and_the_fewest_changes(look: Look, tmp_path: Path) -> None:
    look.show(page(BUSY), tmp_path, "#less=512")
    assert "More than 2.5 KiB are live at 5 moments; no one buffer is live in all of them" in look.text(LESS)
    assert "3 buffers must change, no fewer will do" in look.text(LESS)
    assert "By live bytes alone" in look.text(LESS)
    listed = look.page.locator(".changes > li").all_inner_texts()
    assert len(listed) == 3
    assert all("512 B smaller" in entry for entry in listed)
    look.page.click(".moments li:nth-child(2) .line")
    look.wait("document.querySelectorAll('.there .line').length === 2")
    assert "moment=2" in look.wait("location.hash.includes('moment')").page.url
    assert look.text(".there .line:first-child").startswith("t2")
    look.page.click(".there .line:first-child")
    look.wait("document.querySelector('.side h2').innerText.includes('t2')")
    assert look.violations() == []


def test_what_the_file_does_not_say_a_command_does(look: Look, tmp_path: Path) -> None:
    look.show(page(BUSY), tmp_path, "#less=500")
    assert "memstow inspect PROBLEM --capacity 2572 --needs" in look.text(LESS)


def test_an_infeasible_problem_has_the_fewest_changes(look: Look, tmp_path: Path) -> None:
    look.show(page(samples.problem_of(samples.infeasible())), tmp_path)
    assert "More than 10 KiB are live at 1 moment" in look.text(LESS)
    assert "One buffer must change b11 4 KiB 3 KiB smaller, or ends by" in look.text(LESS)


def test_a_chosen_buffer_says_what_the_peak_would_be_without_it(look: Look, tmp_path: Path) -> None:
    look.show(page(BUSY), tmp_path, "#buffer=t2")
    assert "It is live in 2 of the 5 steps with the most live bytes (3 KiB)." in look.text(".side")
    assert "The peak would stay at 3 KiB: so much is live without it." in look.text(".side")
    above = samples.page_of(samples.buffers((10, 0, 2), (4, 1, 3)), samples.places(0, 10))
    look.show(above, tmp_path, "#buffer=b")
    assert "The peak would be 10 B: the others need that where they lie, and no plan" in look.text(".side")


# Without b, 10 are live, and the others end at 18 where they lie.
LOOSE = samples.buffers((10, 0, 2), (8, 0, 1), (8, 2, 3))
PLACED = samples.places(0, 10, 10)


def test_where_counting_does_not_tell_a_file_names_the_command(look: Look, tmp_path: Path) -> None:
    look.show(samples.page_of(LOOSE, PLACED), tmp_path, "#buffer=b")
    assert "10 B would be live at the most. The others need 18 B where they lie, as now." in look.text(
        ".side"
    )
    assert "memstow inspect PROBLEM --without b --capacity 18 --needs does." in look.text(".side")


def test_at_a_service_the_solver_is_asked(look: Look, address: str) -> None:
    posted = sent(look)
    look.open(f"{address}/#buffer=b")
    drop(look, "both.json", {"problem": LOOSE, "plan": PLACED})
    look.wait("document.querySelector('.solver') !== null")
    look.page.fill(".find input", "b")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('.without') !== null")
    assert posted == []
    look.page.click(".without button")
    look.wait("document.querySelector('.without').innerText.includes('The peak would be 10 B')")
    assert "no plan without it needs less" in look.text(".without")


def test_the_plan_that_is_shown_is_enough(look: Look, address: str) -> None:
    fake = FakeService(look.page)
    pool = {"pool": "memory", "capacity": 10, "least": None, "bound": 10, "enough": 40}
    needs = {"status": "unknown", "explanation": None, "pools": [pool], "releases": [], "untried": 0}
    fake.on("/v1/inspect", Answer(body={"needs": needs | {"shortfalls": None, "confirmed": None}}))
    fake.on("/v1/jobs", Answer(body={"jobs": [], "next": None}))
    fake.on("/v1/examples", Answer(body={"examples": []}))
    look.open(f"{address}/#buffer=b")
    drop(look, "both.json", {"problem": LOOSE, "plan": PLACED})
    look.wait("document.querySelector('.solver') !== null")
    look.page.click(".solver button.ask")
    look.wait("document.querySelector('.solver').innerText.includes('Not decided')")
    assert "memory needs at least 10 B; this plan does with 18 B." in look.text(".solver")
    look.page.fill(".find input", "b")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('.without') !== null")
    look.page.click(".without button")
    look.wait("document.querySelector('.without').innerText.includes('at most')")
    assert "would be at most 18 B, and at least 10 B" in look.text(".without")


def test_the_solver_confirms_the_changes(look: Look, address: str) -> None:
    look.open(f"{address}/#less=512")
    plan = json.loads(samples.solved(BUSY)[1])
    drop(look, "both.json", {"problem": json.loads(samples.solved(BUSY)[0]), "plan": plan})
    look.wait("document.querySelector('.solver') !== null")
    assert "Which buffers must change at least, the solver says" in look.text(LESS)
    for _ in range(3):
        look.page.click("button[aria-label='more']")
    look.page.click(".solver button")
    look.wait("document.querySelector('.solver').innerText.includes('no fewer will do')")
    assert "Confirmed by a plan with these buffers smaller by so much." in look.text(".solver")
    assert look.violations() == []


def test_the_same_plan_has_the_same_shortfalls_and_large_ones_have_none() -> None:
    plan = engine.plan(BUSY, Options(deterministic=True))
    output = shortfalls_of(BUSY, plan)
    assert shortfalls_of(BUSY, plan) == output
    assert {entry["wanted"] for entry in output} >= {3072 - 64, 3072 - 1, 1024}
    many = replace(BUSY, buffers=BUSY.buffers * 20_000)
    assert shortfalls_of(many, plan) == []
