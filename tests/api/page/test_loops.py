"""A program drawn: its segments beside the plan, each found from the other, and its stripes step by step."""

import json
from pathlib import Path
from typing import Any

import pytest

import memstow
from memstow.api.cli.pages import page_of
from memstow.planner.graph.documents import problem_of
from memstow.planner.loops.loops_view import members_of
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.plan import Plan
from memstow.planner.show.view_document import plan_document
from tests.api.page import samples
from tests.api.page.browser import Look
from tests.planner.loops.samples import in_two_strips, two, with_all

LOOPS = "document.querySelector('.loops')"
DROP = """(text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], 'view.json', {type: 'application/json'}));
  document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));
}"""


@pytest.fixture(scope="module")
def page() -> bytes:
    """Two operators, one of them a stripe, copies between them."""
    graph, plan = with_all()
    return page_of(graph, plan, "net")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["wide", "narrow", "chosen"])
def test_every_state_is_accessible_and_silent(
    running: Any, page: bytes, tmp_path: Path, state: str, dark: bool
) -> None:
    look = Look(running, dark=dark, wide=390 if state == "narrow" else 1440)
    look.show(page, tmp_path, "#buffer=wide&step=2" if state == "chosen" else "").wait(LOOPS)
    assert look.violations() == []
    assert look.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    look.close()


def test_a_segment_shows_its_tensors_and_a_buffer_its_segments(
    look: Look, page: bytes, tmp_path: Path
) -> None:
    look.show(page, tmp_path).wait(LOOPS)
    assert look.text(".loops h2") == "The program: 5 segments, one after the other"
    look.page.click(".segments li:nth-child(2) button")
    look.wait("location.hash.includes('operator=')")
    assert look.text(".segment h3").startswith("2. stripe of conv2d blur#2 to conv2d shrink 2 operators")
    # Beside the map, the same tensors; in the map they are outlined.
    assert "stripe of conv2d blur#2 to conv2d shrink" in look.text(".side h2")
    used = "[...document.querySelectorAll('.segment table:first-child th .name')].map((it) => it.textContent)"
    assert look.page.evaluate(used) == ["x", "y", "wide#2", "window#2"]
    look.page.click(".segment tbody button:has-text('y')")
    look.wait("location.hash.includes('buffer=y')")
    uses = "[...document.querySelectorAll('.side .line')].map((it) => it.innerText.replace(/\\s+/g, ' '))"
    assert [text for text in look.page.evaluate(uses) if text[:2] in ("2.", "3.")] == [
        "2. stripe of conv2d blur#2 to conv2d shrink makes it",
        "3. copy reads it",
    ]
    marked = "[...document.querySelectorAll('.segments li')].map((it) => it.querySelector('.uses') !== null)"
    assert look.page.evaluate(marked) == [False, True, True, False, False]
    look.page.click(".side .line:has-text('3. copy')")
    look.wait("location.hash.includes('operator=copy')")
    assert look.text(".segment h3") == "3. copy of y"


def test_choosing_an_operator_below_the_map_chooses_its_segment(
    look: Look, page: bytes, tmp_path: Path
) -> None:
    look.show(page, tmp_path).wait(LOOPS)
    look.page.keyboard.press("o")
    look.wait("document.querySelector('.segments [aria-current=true]')")
    before = look.text(".segments .chosen .quiet")
    look.page.keyboard.press("o")
    look.wait(f"document.querySelector('.segments .chosen .quiet').textContent !== {before!r}")
    assert look.text(".segment h3").startswith(f"{look.text('.segments .chosen .quiet')}. ")


def test_keys_and_links_go_through_the_steps_of_a_stripe(look: Look, tmp_path: Path) -> None:
    graph, plan = in_two_strips()
    look.show(page_of(graph, plan, "two"), tmp_path).wait(LOOPS)
    assert look.text(".steps h3").startswith("Step 1 of 12")
    for _ in range(4):
        look.page.keyboard.press("r")
    look.page.keyboard.press("R")
    look.wait("location.hash.includes('step=4')")
    said = "conv2d shrink makes row 0 of y from rows 0 to 2 of wide. Held: wide rows 0 to 2, y row 0."
    assert look.text(".steps p") == said
    spoken = look.page.get_attribute(".steps input", "aria-valuetext")
    assert spoken == f"step 4: {said}"
    chosen = "[...document.querySelectorAll('.wide-table tr.chosen th')].map((it) => it.textContent)"
    assert look.page.evaluate(chosen) == ["conv2d shrink"]
    look.page.reload()
    look.wait(LOOPS).wait("document.querySelector('.steps p')?.textContent.includes('makes row 0 of y')")
    look.page.click(".across canvas", position={"x": 18 * 4 + 9, "y": 5})
    look.wait("location.hash.includes('step=5')")
    assert look.text(".steps p").startswith("mean pool adds row 0 of y to score.")
    look.page.click(".steps summary")
    assert "in each strip:" in look.text(".steps pre")
    # A link from elsewhere may name a step that is not there.
    look.page.goto(look.page.url.partition("#")[0] + "#step=9999")
    look.wait("document.querySelector('.steps h3')?.textContent.startsWith('Step 12 of 12')")


def test_each_row_is_drawn_where_it_is_kept(look: Look, tmp_path: Path) -> None:
    graph, plan = in_two_strips()
    look.show(page_of(graph, plan, "two"), tmp_path).wait(LOOPS)
    colours = """(places) => {
      const canvas = document.querySelector('.across canvas');
      const density = canvas.width / canvas.clientWidth;
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return places.map(([step, line]) => {
        const [x, y] = [(step * 18 + 3) * density, (line * 14 + 4) * density].map(Math.round);
        return [...data.slice(4 * (y * canvas.width + x)).slice(0, 3)].join();
      });
    }"""
    swatch = "(at) => getComputedStyle(document.querySelectorAll('.steps .swatch')[at]).backgroundColor"
    made, read, kept = (look.page.evaluate(swatch, at)[4:-1].replace(" ", "") for at in range(3))
    # The first ring has three lines: step 0 makes row 0, step 1 keeps it, step 3 reads all three.
    places = [[0, 0], [1, 0], [1, 1], [3, 0], [3, 1], [3, 2]]
    assert look.page.evaluate(colours, places) == [made, kept, made, read, read, read]


def test_a_plan_whose_operators_run_one_by_one_has_loops_as_a_map_alone(look: Look, tmp_path: Path) -> None:
    graph = two()
    plan = memstow.plan(graph)
    look.show(page_of(graph, plan, "two"), tmp_path)
    assert not look.page.evaluate(f"Boolean({LOOPS})")
    look.show(page_of(graph, plan, "two", of_map=True), tmp_path).wait(LOOPS)
    assert look.page.evaluate("document.querySelectorAll('.segments li').length") == 3
    assert not look.page.evaluate("Boolean(document.querySelector('.steps'))")


def test_what_a_dropped_file_says_of_loops_is_not_read(look: Look, page: bytes, tmp_path: Path) -> None:
    graph, plan = in_two_strips()
    problem = problem_of(graph, plan)
    program = members_of(graph, problem, plan, memstow.loops(graph, plan))
    document = plan_document(graph, problem, plan, "two", program=program)
    assert b'"loops"' in document
    look.show(page, tmp_path).wait(LOOPS)
    look.page.evaluate(DROP, document.decode())
    look.wait(f"document.querySelector('canvas[data-pool]') && {LOOPS} === null")
    assert "Not judged here." in look.verdict


def test_hostile_names_are_text(look: Look, tmp_path: Path) -> None:
    name = samples.HOSTILE
    graph = Graph(
        version=1,
        tensors=[Tensor(id=name, size=8, name=name * 2), Tensor(id="y", size=8)],
        operators=[Operator(id=name, type=name, inputs=[name], outputs=["y"])],
        inputs=[name],
        outputs=["y"],
    )
    plan: Plan = memstow.plan(graph)
    look.show(page_of(graph, plan, "hostile", of_map=True), tmp_path).wait(LOOPS)
    look.page.click(".segments button")
    look.page.click(".segment tbody button")
    look.wait("location.hash.includes('buffer=')")
    assert look.page.evaluate("document.images.length") == 0
    assert "<img" in look.text(".segments li")


def test_a_plan_that_the_judge_does_not_accept_is_shown_without(look: Look, tmp_path: Path) -> None:
    graph, plan = in_two_strips()
    document = json.loads(memstow.write_plan(graph, plan))
    for place in document["placements"]:
        place["offset"] = 0
    wrong = memstow.read_plan(json.dumps(document).encode(), problem_of(graph, plan))
    look.show(page_of(graph, wrong, "two"), tmp_path)
    assert look.verdict.startswith("This is no valid plan.")
    assert not look.page.evaluate(f"Boolean({LOOPS})")
