"""The page in a real browser: it says what is true, exactly, and nothing that it has not counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from memstow.planner.show.view_document import SearchStep
from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.samples import buffers, page_of, peak_claim, places

LARGE = 2**62


@pytest.fixture(scope="module")
def network() -> bytes:
    return page_of(
        *samples.solved(samples.network(60, 3)), [SearchStep(0.1, 9, None, "a"), SearchStep(0.2, 8, 7, "b")]
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["network", "two pools", "infeasible", "empty", "narrow", "chosen"])
def test_every_state_is_accessible_and_silent(
    running: Any, network: bytes, tmp_path: Path, state: str, dark: bool
) -> None:
    look = Look(running, dark=dark, wide=390 if state == "narrow" else 1440)
    pages = {
        "two pools": lambda: page_of(*samples.solved(samples.problem_of(samples.two_pools()))),
        "infeasible": lambda: page_of(*samples.solved(samples.problem_of(samples.infeasible()))),
        "empty": lambda: page_of({"version": 1, "buffers": []}, {"status": "optimal"}),
    }
    fragment = "#buffer=t20&show=proof&colour=peak&time=change" if state == "chosen" else ""
    look.show(pages.get(state, lambda: network)(), tmp_path, fragment)
    assert look.violations() == []
    look.close()


def test_a_plan_that_live_bytes_prove_cannot_be_smaller(look: Look, network: bytes, tmp_path: Path) -> None:
    look.show(network, tmp_path)
    assert look.verdict.endswith("No plan can be smaller.")
    assert "proven bound" in look.text(".facts")
    # The sentence has said it: not again at the only map.
    assert look.text(".caption") == "memory no limit"


@pytest.mark.parametrize(("size", "offset", "said"), [(29_999, 30_000, "0.01 %"), (999, 1003, "0.40 %")])
def test_a_gap_is_rounded_up(look: Look, tmp_path: Path, size: int, offset: int, said: str) -> None:
    look.show(page_of(buffers((size, 0, 2), (1, 0, 2)), places(0, offset)), tmp_path)
    assert look.verdict.endswith(f", of which at most {said} could be saved.")


@pytest.mark.parametrize(
    ("peak", "bound", "said"),
    [(4, 3, "Whether 4 B is then the least peak is open: at least 3 B"), (3, 3, "")],
)
def test_a_later_term_that_is_open_is_told_with_the_first(
    look: Look, tmp_path: Path, peak: int, bound: int, said: str
) -> None:
    pools = [{"id": "fast", "capacity": 8, "cost": 1}, {"id": "slow", "cost": 9}]
    objective: list[dict[str, Any]] = [
        {"term": "placement_cost", "value": 3, "bound": 3, "gap": 0.0},
        {"term": "peak", "value": peak, "bound": bound, "gap": 1 - bound / peak},
    ]
    plan = places(peak - 3, status="feasible" if said else "optimal", objective=objective)
    plan["placements"][0]["pool"] = "fast"
    look.show(page_of(buffers((3, 0, 2), pools=pools, objective=["placement_cost", "peak"]), plan), tmp_path)
    assert look.verdict.startswith("It fits. No plan has cheaper accesses: 3")
    assert (said in look.verdict) if said else ("open" not in look.verdict)
    tones = look.page.evaluate("document.querySelector('h1').className")
    assert tones == ("open" if said else "proven")


def test_of_a_plan_far_above_its_bound_the_bound_is_said(look: Look, tmp_path: Path) -> None:
    look.show(page_of(buffers((100, 0, 1), (1, 1, 2)), places(0, 900)), tmp_path)
    assert look.verdict == "901 B. At least 100 B are needed."


@pytest.mark.parametrize(
    "certificate",
    [
        {"kind": "live_bytes", "pool": "memory", "time": 0, "buffers": ["a", "b"]},
        {"kind": "live_bytes", "pool": "memory", "time": 1, "buffers": ["a", "a"]},
        {"kind": "live_bytes", "pool": "memory", "time": None, "buffers": ["a", "b"]},
        {"kind": "exhausted", "solver": "mine", "refuted": [{"height": 19, "nodes": 1}]},
        {"kind": "model", "solver": "mine"},
        None,
    ],
)
def test_a_forged_claim_is_not_told(look: Look, tmp_path: Path, certificate: object) -> None:
    problem = buffers((10, 0, 1), (10, 1, 2))
    plan = places(0, 10, status="optimal", objective=peak_claim(20, 20, certificate))
    look.show(page_of(problem, plan), tmp_path)
    assert look.verdict == "20 B, of which at most 50 % could be saved."
    assert "The judge says: " in look.text(".note")


def test_a_bound_above_the_plan_is_a_lie(look: Look, tmp_path: Path) -> None:
    plan = places(0, status="optimal", objective=[{"term": "peak", "value": 10, "bound": 30, "gap": 0.0}])
    look.show(page_of(buffers((10, 0, 1)), plan), tmp_path)
    assert "No plan can be" not in look.verdict
    assert "more than can be true" in look.verdict


@pytest.mark.parametrize(
    ("problem", "offsets", "fault"),
    [
        (buffers((10, 0, 2), (10, 1, 3)), (0, 5), "'a' [0, 10) and 'b' [5, 15) overlap"),
        (
            buffers((10, 0, 2), pools=[{"id": "memory", "capacity": 12}]),
            (5,),
            "'a' ends at 15 but 'memory' ends at 12",
        ),
        (buffers((10, 0, 2), pools=[{"id": "memory", "alignment": 4}]), (2,), "must be a multiple of 4"),
        (
            buffers((10, 0, 2), pools=[{"id": "memory", "reserved": [{"offset": 5, "size": 1}]}]),
            (0,),
            "where [5, 6) is reserved",
        ),
        (buffers((10, 0, 1), (10, 1, 2), conflicts=[["a", "b"]]), (0, 0), "overlap"),
        (buffers((10, 0, 1), (10, 0, 1)), (0,), "'b' has no place"),
        (
            buffers((9, 0, 2), (4, 0, 2), relative=[{"buffer": "b", "base": "a", "offset": 4}]),
            (0, 5),
            "the distance must be",
        ),
    ],
)
def test_a_plan_that_breaks_a_rule_is_not_valid(
    look: Look, tmp_path: Path, problem: dict[str, Any], offsets: tuple[int, ...], fault: str
) -> None:
    look.show(page_of(problem, places(*offsets)), tmp_path)
    assert look.verdict.startswith("This is no valid plan.")
    assert fault in look.verdict


@pytest.mark.parametrize(
    ("problem", "offsets"),
    [
        (buffers((10, 0, 2), (10, 0, 2), exclusive=[["a", "b"]]), (0, 0)),
        (buffers((10, 0, 2), (8, 1, 2), in_place=[{"input": "a", "output": "b"}]), (0, 0)),
        (buffers((9, 0, 2), (4, 0, 2), relative=[{"buffer": "b", "base": "a", "offset": 4}]), (0, 4)),
    ],
)
def test_buffers_that_may_share_bytes_may(
    look: Look, tmp_path: Path, problem: dict[str, Any], offsets: tuple[int, ...]
) -> None:
    look.show(page_of(problem, places(*offsets)), tmp_path)
    assert "valid" not in look.verdict


def test_values_are_exact_to_the_last_digit(look: Look, tmp_path: Path) -> None:
    problem = buffers((LARGE - 1, 0, 2), (LARGE - 3, 2, 4), (1, 0, 1))
    look.show(page_of(problem, places(0, 0, LARGE - 1)), tmp_path, "#buffer=b")
    assert f"{LARGE:,}" in look.text(".facts")
    assert look.verdict == "4 EiB. No plan can be smaller."
    assert f"{LARGE - 3:,} (4 EiB)" in look.text(".side .rows")


def test_times_of_the_chosen_buffer_and_of_the_proof_are_exact(look: Look, tmp_path: Path) -> None:
    begin = 2**53 + 1
    problem = buffers((8, begin, begin + 1), (8, begin + 1, LARGE))
    look.show(page_of(problem, places(0, 0)), tmp_path, "#buffer=b")
    assert f"{begin + 1:,}–{LARGE:,}" in look.text(".side .rows")
    assert f"t = {begin:,}" in look.text(".side")


def test_times_of_a_thousand_digits_are_times(look: Look, tmp_path: Path) -> None:
    late = 10**1000
    problem = buffers((8, -late, late), (8, late, late + 1))
    look.show(page_of(problem, places(0, 0)), tmp_path, "#buffer=b")
    assert look.verdict == "8 B. No plan can be smaller."
    assert "1.000e1000" in look.text(".side .rows")


def test_hostile_names_are_text(look: Look, tmp_path: Path) -> None:
    name = samples.HOSTILE
    problem = {
        "version": 1,
        "name": name,
        "pools": [{"id": name}],
        "buffers": [{"id": name, "size": 8, "lifetime": [0, 1], "group": name}],
    }
    plan = {"status": "feasible", "solver": name, "placements": [{"buffer": name, "pool": name, "offset": 0}]}
    look.show(page_of(problem, plan), tmp_path)
    assert look.page.evaluate("document.images.length") == 0
    assert "<img src=x" in look.text(".title")
    assert "\\u202e" in look.text(".title")
    assert look.text(".side table").count("<img src=x") == 1


def test_an_infeasible_problem_says_why(look: Look, tmp_path: Path) -> None:
    look.show(page_of(*samples.solved(samples.problem_of(samples.infeasible()))), tmp_path)
    assert look.verdict == "No plan fits into these memories."
    assert "13,312 bytes" in look.text(".side")
    # Why nothing fits is said once.
    assert look.page.evaluate("document.body.innerText.split('bytes of \\'ram\\' at once').length") == 2


def test_a_forged_explanation_is_a_claim(look: Look, tmp_path: Path) -> None:
    problem = buffers((8, 0, 1), (8, 1, 2), pools=[{"id": "memory", "capacity": 10}])
    why = {"code": "over_capacity", "message": "too much", "pool": "memory", "time": 0, "buffers": ["a", "b"]}
    look.show(page_of(problem, {"status": "infeasible", "explanation": why}), tmp_path)
    assert look.verdict == "No plan fits, says the plan, and does not show it."
    assert "The judge says: the explanation" in look.text(".note")


def test_keys_do_what_a_pointer_can(look: Look, network: bytes, tmp_path: Path) -> None:
    look.show(network, tmp_path)
    page = look.page
    page.keyboard.press("]")
    look.wait("document.querySelector('.side .rows') !== null")
    page.keyboard.press("t")
    page.keyboard.press("p")
    page.keyboard.press("c")
    look.wait("['time=change', 'show=proof', 'colour=size'].every((it) => location.hash.includes(it))")
    page.keyboard.press("+")
    look.wait("location.hash.includes('across=')")
    page.keyboard.press("0")
    look.wait("!location.hash.includes('across=')")
    page.keyboard.press("Escape")
    look.wait("document.querySelector('.side .rows') === null")
    page.keyboard.press("?")
    look.wait("document.querySelector('dialog[open] kbd') !== null")
    assert look.violations() == []
    page.keyboard.press("Escape")
    # Nobody types between the end of a dialog and the event that tells it.
    look.wait("document.querySelector('dialog[open]') === null")
    page.keyboard.press("b")
    look.wait("document.querySelectorAll('dialog[open] tbody tr').length === 60")
    assert look.violations() == []


def test_the_pointer_zooms_moves_and_chooses(look: Look, network: bytes, tmp_path: Path) -> None:
    look.show(network, tmp_path)
    box = look.page.evaluate("document.querySelector('canvas[data-pool]').getBoundingClientRect().toJSON()")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    look.page.mouse.move(x, y)
    look.page.mouse.wheel(0, -400)
    look.wait("location.hash.includes('across=')")
    before = look.page.evaluate("location.hash")
    look.page.mouse.down()
    look.page.mouse.move(x + 80, y + 20, steps=3)
    look.page.mouse.up()
    look.wait(f"location.hash !== {json.dumps(before)}")
    look.page.mouse.dblclick(x, y)
    look.wait("!location.hash.includes('across=')")


def test_a_buffer_is_found_by_its_name(look: Look, network: bytes, tmp_path: Path) -> None:
    look.show(network, tmp_path)
    look.page.keyboard.press("/")
    look.page.keyboard.type("T12")
    look.wait("document.querySelectorAll('#found li').length === 1")
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('.side h2')?.textContent.includes('t12')")


@pytest.mark.parametrize("kind", ["svg", "csv"])
def test_a_file_is_saved_and_stays_the_same(look: Look, network: bytes, tmp_path: Path, kind: str) -> None:
    saved = []
    for _ in range(2):
        look.show(network, tmp_path)
        look.page.click("#export")
        with look.page.expect_download() as download:
            look.page.click(f".items button:has-text('{kind.upper()}')")
        saved.append(Path(download.value.path()).read_bytes())
    assert saved[0] == saved[1]
    assert b"t12" in saved[0]
    assert saved[0].startswith(b"<svg" if kind == "svg" else b"id,size,pool,offset")


def test_the_link_restores_what_is_seen(look: Look, network: bytes, tmp_path: Path) -> None:
    look.show(network, tmp_path, "#buffer=t12&time=change&colour=size&across=3_20")
    pressed = (
        "[...document.querySelectorAll('.tools [aria-pressed=true]')].map((it) => it.textContent).join()"
    )
    assert look.page.evaluate(pressed) == "size,by change,everything"
    assert look.text(".side h2").startswith("t12")
    look.wait("location.hash.includes('across=3_20')")


def test_files_that_are_dropped_are_read_in_the_page(look: Look, address: str) -> None:
    sent: list[tuple[str, str]] = []
    look.page.on("request", lambda request: sent.append((request.method, request.url)))
    look.open(f"{address}/")
    assert look.violations() == []
    host = address.split("/")[2]
    assert f"curl -s {host}/v1/examples/first" in look.text(".start pre")
    problem, plan = buffers((8, 0, 2), (8, 1, 3)), places(0, 8)
    for name, document in (("plan.json", plan), ("problem.json", problem)):
        content = {"name": name, "mimeType": "application/json", "buffer": json.dumps(document).encode()}
        look.page.set_input_files("input[type=file]", files=[content])
        look.wait("document.querySelector('.plan, .failed') !== null")
    look.wait("document.querySelector('.plan') !== null")
    assert look.verdict == "16 B. Not judged here."
    look.wait("document.querySelector('.side') !== null")
    assert [(method, url) for method, url in sent if method != "GET"] == []


def test_a_file_that_is_nothing_says_where(look: Look, address: str) -> None:
    look.open(f"{address}/")
    content = {"name": "x.json", "mimeType": "application/json", "buffer": b'{"buffers": [\n  {"id": 3}]}'}
    look.page.set_input_files("input[type=file]", files=[content])
    look.wait("document.querySelector('.failed') !== null")
    assert "line 2, column 10: expected a string" in look.text(".failed")
