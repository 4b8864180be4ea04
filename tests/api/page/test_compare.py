"""Two plans of one problem in a real browser: who moved, how far, and nothing that was not counted."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.samples import JsonObject, buffers, places
from tests.api.serving import Server
from tests.waiting import wait_for

PROBLEM = buffers((10, 0, 2), (20, 1, 3), (30, 5, 6), (0, 0, 6))
FIRST, SECOND = places(0, 10, 0, 0), places(20, 0, 5, 9)


def compared(problem: JsonObject, first: JsonObject, second: JsonObject) -> bytes:
    """The page of both."""
    return samples.compared(problem, (first, second), ("one.json", "other.json"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["wide", "narrow", "chosen", "two pools"])
def test_every_state_is_accessible_and_silent(running: Any, tmp_path: Path, state: str, dark: bool) -> None:
    look = Look(running, dark=dark, wide=390 if state == "narrow" else 1440)
    page = compared(PROBLEM, FIRST, SECOND)
    if state == "two pools":
        page = compared(*_two_pools())
    look.show(page, tmp_path, "#buffer=b&colour=peak" if state == "chosen" else "")
    assert look.violations() == []
    assert len(look.page.query_selector_all("canvas[data-pool]")) == (4 if state == "two pools" else 2)
    look.close()


def test_what_moved_is_said_and_listed(look: Look, tmp_path: Path) -> None:
    look.show(compared(PROBLEM, FIRST, SECOND), tmp_path)
    assert look.verdict == "The second needs 5 B more. 3 of 4 buffers moved."
    assert look.text(".note") == "No plan can be smaller than the first."
    rows = look.page.evaluate(
        "[...document.querySelectorAll('.side tbody tr')].map((row) => row.innerText.split(/\\s+/).join(' '))"
    )
    assert [row.strip() for row in rows] == ["a 10 B ↑ 20 B", "b 20 B ↓ 10 B", "c 30 B ↑ 5 B"]


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        (FIRST, "Both need 30 B. Every buffer is at the same place."),
        (places(20, 0, 0, 9), "Both need 30 B. 2 of 4 buffers moved."),
        (
            places(0, 0, 0, 0),
            "The second is no valid plan. 'a' [0, 10) and 'b' [0, 20) overlap in 'memory', both live at 1.",
        ),
    ],
)
def test_the_sentence_says_what_was_counted(
    look: Look, tmp_path: Path, second: JsonObject, verdict: str
) -> None:
    look.show(compared(PROBLEM, FIRST, second), tmp_path)
    assert look.verdict == verdict


def test_a_claim_of_one_plan_proves_nothing_about_the_other(look: Look, tmp_path: Path) -> None:
    problem = buffers((10, 0, 1), (10, 1, 2))
    claimed = samples.peak_claim(20, 20, {"kind": "model", "solver": "mine"})
    first = places(0, 10, status="optimal", objective=claimed)
    look.show(compared(problem, first, places(10, 0)), tmp_path)
    assert look.verdict == "Both need 20 B. 2 of 2 buffers moved."
    assert "No plan can be" not in look.text(".note")


def test_costs_that_nobody_has_counted_are_not_compared(look: Look, tmp_path: Path) -> None:
    problem = PROBLEM | {"objective": ["moves", "peak"]}
    look.show(compared(problem, FIRST, SECOND), tmp_path)
    assert look.verdict == "Both fit. 3 of 4 buffers moved."
    assert "Costs of moves are not compared here." in look.text(".note")


def test_distances_are_exact_to_the_last_digit(look: Look, tmp_path: Path) -> None:
    large = 2**61
    problem = buffers((large + 1, 0, 1), (1, 1, 2))
    look.show(compared(problem, places(0, 0), places(0, large - 3)), tmp_path, "#buffer=b")
    assert f"{large - 3:,} up" in look.text(".side .rows")


def test_both_maps_have_one_scale(look: Look, tmp_path: Path) -> None:
    look.show(compared(PROBLEM, FIRST, places(20, 0, 200, 9)), tmp_path)
    marks = "[...document.querySelectorAll('.stage')].map((it) => it.getBoundingClientRect().height)"
    first, second = look.page.evaluate(marks)
    assert first == second
    # Zooming in one shows the same part of both: the link has one range.
    look.page.keyboard.press("Alt+=")
    look.wait("location.hash.includes('across=')")
    assert look.page.evaluate("location.hash.split('up0=').length") == 2


def test_keys_step_through_what_moved_and_swap(look: Look, tmp_path: Path) -> None:
    look.show(compared(PROBLEM, FIRST, SECOND), tmp_path)
    look.page.keyboard.press("]")
    look.wait("document.querySelector('.side h2')?.textContent.startsWith('a')")
    look.page.keyboard.press("]")
    look.wait("document.querySelector('.side h2')?.textContent.startsWith('b')")
    assert "10 down" in look.text(".side .rows")
    look.page.keyboard.press("x")
    look.wait("document.querySelector('h1').textContent.includes('less')")
    assert look.verdict == "The second needs 5 B less. 3 of 4 buffers moved."
    assert "10 up" in look.text(".side .rows")
    look.page.keyboard.press("b")
    look.wait("document.querySelectorAll('dialog[open] tbody tr').length === 3")
    assert look.violations() == []


@pytest.mark.parametrize("kind", ["svg", "csv"])
def test_the_comparison_is_saved(look: Look, tmp_path: Path, kind: str) -> None:
    look.show(compared(PROBLEM, FIRST, SECOND), tmp_path)
    look.page.click("#export")
    with look.page.expect_download() as download:
        look.page.click(f".items button:has-text('{kind.upper()}')")
    text = Path(download.value.path()).read_text()
    if kind == "svg":
        assert "first: one.json" in text
        assert "second: other.json" in text
        return
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["id"], row["first_offset"], row["second_offset"], row["moved"]) for row in rows] == [
        ("a", "0", "20", "20"),
        ("b", "10", "0", "-10"),
        ("c", "0", "5", "5"),
        ("d", "0", "9", "0"),
    ]


def test_a_plan_that_is_dropped_on_another_is_compared(look: Look, tmp_path: Path) -> None:
    look.show(samples.page_of(PROBLEM, FIRST), tmp_path)
    dropped = """(text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], 'other.json', {type: 'application/json'}));
      document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));
    }"""
    look.page.evaluate(dropped, json.dumps(SECOND))
    look.wait("document.querySelectorAll('canvas[data-pool]').length === 2")
    assert look.verdict == "The second needs 5 B more. 3 of 4 buffers moved."


def test_files_are_dropped_one_by_one(look: Look, server: Server) -> None:
    look.open(f"{server.url}/compare")
    assert look.violations() == []
    for name, document in (("one.json", FIRST), ("problem.json", PROBLEM), ("other.json", SECOND)):
        content = {"name": name, "mimeType": "application/json", "buffer": json.dumps(document).encode()}
        look.page.set_input_files("input[type=file]", files=[content])
        look.wait("document.querySelector('.plan, .failed') !== null")
    look.wait("document.querySelector('.plan') !== null")
    assert look.verdict == "The second needs 5 B more. 3 of 4 buffers moved."


def test_plans_of_different_problems_are_refused(look: Look, server: Server) -> None:
    look.open(f"{server.url}/compare")
    files = [
        {"name": f"{name}.json", "mimeType": "application/json", "buffer": json.dumps(document).encode()}
        for name, document in (
            ("problem", PROBLEM),
            ("one", FIRST | {"digest": "1"}),
            ("other", SECOND | {"digest": "2"}),
        )
    ]
    look.page.set_input_files("input[type=file]", files=files)
    look.wait("document.querySelector('.failed') !== null")
    assert "different problems" in look.text(".failed")


def test_two_jobs_of_the_service_are_compared(look: Look, server: Server) -> None:
    jobs = [_done(server, {"problem": PROBLEM, "options": {"solver": name}}) for name in ("greedy", "exact")]
    look.open(f"{server.url}/compare?a={jobs[0]}&b={jobs[1]}#buffer=b")
    assert look.verdict.startswith("Both need 30 B.")
    assert "second: exact" in look.text(".pair")
    assert jobs[1] in look.page.locator(".compared a >> nth=1").get_attribute("href")
    assert look.violations() == []
    assert look.page.evaluate("location.search") == f"?a={jobs[0]}&b={jobs[1]}"


def test_a_job_that_is_not_there_is_said(look: Look, server: Server) -> None:
    look.open(f"{server.url}/compare?a=nothing&b=nothing")
    look.wait("document.querySelector('h1')?.innerText === 'There is no such job.'")
    # The browser itself reports answers that are no success.
    look.complaints.clear()


def _done(server: Server, request: JsonObject) -> str:
    with server.client() as client:
        job: str = client.post("/v1/jobs", json=request).json()["id"]
        wait_for(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "done", "the job is done")
    return job


def _two_pools() -> tuple[JsonObject, JsonObject, JsonObject]:
    problem = buffers((10, 0, 2), (20, 1, 3), pools=[{"id": "memory"}, {"id": "other", "capacity": 64}])
    second = places(0, 10)
    second["placements"][0] = {"buffer": "a", "pool": "other", "offset": 0}
    return problem, places(0, 10), second
