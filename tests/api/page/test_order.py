"""The order of a graph in a real browser: operators on the axis, and no word about other orders unproven."""

import csv
import io
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.pages import page_of
from memstow.planner.formats import write_plan
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.schedules import lower_graph
from memstow.planner.model.options import Options
from memstow.planner.reading.parse import parse_plan
from memstow.planner.solve import engine
from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.samples import JsonObject
from tests.graphs import orders, random_graph

GRAPH: JsonObject = {
    "version": 1,
    "name": "the example of docs/order.md",
    "tensors": [
        {"id": name, "size": size}
        for name, size in {"x": 10, "a": 100, "b": 20, "c": 5, "d": 60, "y": 1}.items()
    ],
    "operators": [
        {"id": "A", "type": "conv", "inputs": ["x"], "outputs": ["a"]},
        {"id": "B", "type": "conv", "inputs": ["a"], "outputs": ["b"]},
        {"id": "C", "inputs": ["b"], "outputs": ["c"]},
        {"id": "D", "inputs": ["x"], "outputs": ["d"]},
        {"id": "Y", "inputs": ["c", "d"], "outputs": ["y"]},
    ],
    "inputs": ["x"],
    "outputs": ["y"],
    "order": "free",
}
DROP = """(files) => {
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name, {type: 'application/json'}));
  document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));
}"""


@pytest.fixture(scope="module")
def page() -> bytes:
    """The page of the best order, as `memstow view` makes it."""
    graph = parse_graph(GRAPH)
    return page_of(graph, engine.plan(graph, Options(deterministic=True)), "graph.json")


def planned(graph: JsonObject, order: list[str], **more: object) -> JsonObject:
    """A plan of the graph in this order."""
    problem = lower_graph(parse_graph(graph), order)
    plan = engine.plan(problem, Options(deterministic=True))
    document: JsonObject = json.loads(write_plan(problem, plan))
    return document | {"schedule": {"order": order}} | more


def dropped(look: Look, *documents: JsonObject) -> Look:
    """Drop these on the page, and wait until they are read."""
    look.page.evaluate("document.querySelector('main').dataset.old = '1'")
    look.page.evaluate(DROP, [[f"{at}.json", json.dumps(document)] for at, document in enumerate(documents)])
    return look.wait(
        "document.querySelector('.plan, .failed') && !document.querySelector('[data-old], progress')"
    )


def viewed(look: Look, folder: Path, graph: JsonObject, plan: JsonObject) -> Look:
    """The page of this plan, as `memstow view` makes it."""
    return look.show(page_of(parse_graph(graph), parse_plan(plan), "graph.json"), folder)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["wide", "narrow", "chosen"])
def test_every_state_is_accessible_and_silent(
    running: Any, page: bytes, tmp_path: Path, state: str, dark: bool
) -> None:
    look = Look(running, dark=dark, wide=390 if state == "narrow" else 1440)
    look.show(page, tmp_path, "#operator=B&time=change" if state == "chosen" else "")
    assert look.violations() == []
    look.close()


def test_a_proof_about_all_orders_is_the_judges(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    assert look.verdict == "130 B. No order and no plan can be smaller."
    said = look.text(".side")
    assert "While B runs, 130 bytes are needed in any order" in said
    assert "10 bytes of storages of which one is always live, such as x or d" in said
    assert "The judge has checked this." in said


def test_who_says_that_a_proof_was_judged_is_not_believed(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    plan = json.loads(write_plan(*_best()))
    lie = {"valid": True, "fits": True, "lead": "130 B.", "rest": "No plan can be smaller.", "tone": "proven"}
    dropped(look, {"graph": GRAPH, "plan": plan, "verdict": lie})
    assert look.verdict == "130 B. Not judged here."
    assert "Not judged here" in look.text(".side")


def test_live_bytes_of_one_order_prove_nothing_about_others(look: Look, tmp_path: Path) -> None:
    plan = planned(GRAPH, ["D", "A", "B", "C", "Y"])
    assert plan["objective"][0]["bound"] == 180
    for graph in (GRAPH, GRAPH | {"order": "given"}):
        viewed(look, tmp_path, graph, plan)
        assert look.verdict.startswith("180 B.")
        assert "can be smaller" not in look.verdict
        assert "The judge says: " in look.text(".note")


def test_in_the_order_of_the_document_live_bytes_are_a_proof(look: Look, tmp_path: Path) -> None:
    viewed(look, tmp_path, GRAPH | {"order": "given"}, planned(GRAPH, ["A", "B", "C", "D", "Y"]))
    assert look.verdict == "130 B. No plan of this order can be smaller."
    assert "in another one less memory may do. Plan it with --order free to see." in look.text(".head")
    worse = planned(GRAPH | {"order": "given"}, ["A", "B", "C", "D", "Y"])
    worse = {"status": "feasible", "placements": worse["placements"], "schedule": worse["schedule"]}
    last = max(worse["placements"], key=lambda place: int(place["offset"]))
    last["offset"] += 40
    viewed(look, tmp_path, GRAPH | {"order": "given"}, worse)
    assert look.verdict.endswith("could be saved in this order.")
    assert "No plan of this order can be lower than that." in look.text(".side")


def test_of_a_graph_with_one_order_a_proof_is_about_all_plans(look: Look, tmp_path: Path) -> None:
    before = [["A", "B"], ["B", "C"], ["C", "D"], ["D", "Y"]]
    chain = GRAPH | {"order": "given", "before": before}
    viewed(look, tmp_path, chain, planned(chain, ["A", "B", "C", "D", "Y"]))
    assert look.verdict == "130 B. No plan can be smaller."
    assert "in another one" not in look.text(".head")


def test_an_order_that_the_graph_does_not_allow_is_no_plan(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    plan = planned(GRAPH, ["A", "B", "C", "D", "Y"])
    dropped(look, GRAPH, plan | {"schedule": {"order": ["B", "A", "C", "D", "Y"]}})
    assert "does not allow this order: B reads a before A makes it" in look.text(".failed")
    dropped(look, GRAPH, plan | {"schedule": {"order": ["A", "B"]}})
    assert "does not have each operator once" in look.text(".failed")


def test_a_graph_alone_is_shown_in_its_listed_order(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    dropped(look, GRAPH)
    assert look.verdict == "No plan yet."
    assert "the solver must say" in look.text(".note")
    dropped(look, GRAPH | {"order": "given"})
    assert look.verdict == "No plan yet. 130 B are live at once."


def test_keys_choose_operators_and_the_critical_one_first(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    look.page.keyboard.press("o")
    look.wait("location.hash.includes('operator=B')")
    said = look.text(".side section")
    assert "Reads a 100 B Makes b 20 B" in said
    look.page.keyboard.press("O")
    look.wait("location.hash.includes('operator=A')")
    look.page.keyboard.press("Escape")
    look.wait("!location.hash.includes('operator=')")


def test_the_pointer_chooses_operators_on_the_axis(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    box = look.page.evaluate("document.querySelector('canvas[data-pool]').getBoundingClientRect().toJSON()")
    # The axis has 24 pixels below the operators, which have 18; time 3.5 of 6 is in the middle of C.
    left, right = box["x"] + 72, box["x"] + box["width"] - 104
    look.page.mouse.move(left + (right - left) * 3.5 / 6, box["y"] + box["height"] - 33)
    look.wait("document.querySelector('.tip')?.textContent.startsWith('C')")
    look.page.mouse.down()
    look.page.mouse.up()
    look.wait("location.hash.includes('operator=C')")


def test_operators_are_listed_and_found(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    rows = "[...document.querySelectorAll('tbody th .name')].map((it) => it.textContent).join(' ')"
    assert look.page.evaluate(rows).startswith("B A D Y C")


def test_hostile_names_of_operators_are_text(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    name = samples.HOSTILE
    graph = {
        "version": 1,
        "tensors": [{"id": "x", "size": 8}],
        "operators": [{"id": name, "type": name, "outputs": ["x"]}],
    }
    dropped(look, graph, planned(graph, [name]))
    look.page.keyboard.press("o")
    look.wait("document.querySelector('.side h2')?.textContent.startsWith('<img')")
    assert look.page.evaluate("document.images.length") == 0


def test_the_page_makes_the_same_problem_of_a_graph(look: Look, page: bytes, tmp_path: Path) -> None:
    look.show(page, tmp_path)
    for seed in range(24):
        graph = random_graph(seed)
        order = list(islice(orders(graph), 1 + seed % 3))[-1]
        plan = planned(graph, order)
        dropped(look, graph, plan)
        assert "no valid plan" not in look.verdict, seed
        problem = lower_graph(parse_graph(graph), order)
        expected = {
            buffer.id: (str(buffer.size), _life(buffer.lifetime), buffer.group or "")
            for buffer in problem.buffers
        }
        assert {row["id"]: (row["size"], row["lifetimes"], row["group"]) for row in _csv(look)} == expected, (
            seed
        )


def test_a_pair_in_place_counts_at_the_last_reader_only(look: Look, tmp_path: Path) -> None:
    graph = {
        "version": 1,
        "tensors": [{"id": name, "size": 8} for name in "xyz"],
        "operators": [
            {"id": "f", "inputs": ["x"], "outputs": ["y"], "in_place": [["x", "y"]]},
            {"id": "g", "inputs": ["x", "y"], "outputs": ["z"]},
        ],
        "inputs": ["x"],
        "outputs": ["z"],
    }
    plan = samples.places(0, 0, 8)
    for placed, name in zip(plan["placements"], "xyz", strict=True):
        placed["buffer"] = name
    viewed(look, tmp_path, graph, plan)
    assert look.verdict.startswith("This is no valid plan. 'x' [0, 8) and 'y' [0, 8) overlap")
    graph["operators"][1]["inputs"] = ["y"]  # type: ignore[index]
    viewed(look, tmp_path, graph, plan)
    assert "valid" not in look.verdict


def _best() -> Any:
    graph = parse_graph(GRAPH)
    plan = engine.plan(graph, Options(deterministic=True))
    assert plan.schedule is not None
    return lower_graph(graph, plan.schedule.order), plan


def _life(lifetime: object) -> str:
    return "always" if lifetime == "always" else "{}-{}".format(*lifetime)  # type: ignore[misc]


def _csv(look: Look) -> list[dict[str, str]]:
    look.page.click("#export")
    with look.page.expect_download() as download:
        look.page.click(".items button:has-text('CSV')")
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
