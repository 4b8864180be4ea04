"""Tables are ordered by the heads of their columns, and what they say of their order is true."""

from pathlib import Path

import pytest

from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.modules import run
from tests.api.page.samples import buffers, page_of, places

MIXED = buffers((4, 0, 10), (64, 0, 1), (16, 5, 6), (32, 2, 9))


def names(look: Look, table: str = ".side table") -> list[str]:
    """The first column."""
    result: list[str] = look.page.evaluate(
        f"[...document.querySelectorAll({table + ' tbody .name'!r})].map((it) => it.textContent)"
    )
    return result


def test_heads_order_a_table_and_say_how(look: Look, tmp_path: Path) -> None:
    look.show(page_of(MIXED, places(0, 36, 36, 4)), tmp_path)
    assert names(look) == ["d", "b", "a", "c"]
    head = ".side th:has(button:text-is('size'))"
    assert look.page.get_attribute(head, "aria-sort") == "none"
    look.page.focus(f"{head} button")
    look.page.keyboard.press("Enter")
    look.wait(
        "document.querySelector('.side h2:last-of-type') && document.querySelector('[aria-sort=descending]')"
    )
    assert names(look) == ["b", "d", "c", "a"]
    assert "Buffers, by size" in look.text(".side")
    assert look.violations() == []
    look.page.keyboard.press("Enter")
    look.wait("document.querySelector('[aria-sort=ascending]')")
    assert names(look) == ["a", "c", "d", "b"]
    look.page.keyboard.press("Enter")
    look.wait("!document.querySelector('[aria-sort=ascending]')")
    assert names(look) == ["d", "b", "a", "c"]
    look.page.click(".side th button:has-text('lives')")
    look.wait("document.querySelector('[aria-sort=ascending]')")
    assert names(look) == ["b", "a", "d", "c"]
    look.page.keyboard.press("b")
    look.wait("document.querySelector('dialog[open]')")
    assert names(look, "dialog table") == ["b", "a", "d", "c"]


@pytest.mark.parametrize("plan", [{"status": "unknown"}, {"status": "infeasible"}])
def test_most_byte_moments_come_first_without_a_plan(
    look: Look, tmp_path: Path, plan: samples.JsonObject
) -> None:
    look.show(page_of(MIXED, plan), tmp_path)
    assert "most byte-moments first" in look.text(".side")
    assert names(look) == ["d", "b", "a", "c"]


def test_names_are_ordered_with_their_numbers_by_value() -> None:
    program = """
import { compareNames, NameColumn } from "./model/names.ts";
export default (names) => {
  const column = new NameColumn();
  names.forEach((name) => column.push(name));
  const packed = column.packed();
  const order = [...names.keys()].sort((one, other) => compareNames(packed, one, other));
  return order.map((place) => names[place]);
};
"""
    ordered = ["", "a", "a1b2", "a01b10", "a2", "a10", "a10b", "b", "t9", "t10", "é"]
    assert run(program, ordered[::-1]) == ordered


def test_operators_and_points_are_ordered_too(look: Look, tmp_path: Path) -> None:
    from memstow.api.cli.pages import page_of as page_of_graph
    from memstow.planner.generate.graph import graph as make_graph
    from memstow.planner.model.options import Options
    from memstow.planner.solve import engine

    graph = make_graph(12, 0)
    look.show(page_of_graph(graph, engine.plan(graph, Options(deterministic=True)), ""), tmp_path)
    look.page.click(".side th button:text-is('operator')")
    look.wait("document.querySelector('.side [aria-sort=ascending]')")
    operators = names(
        look, ".side section:has(th button:text-is('operator')) table".replace(":text-is('operator')", "")
    )
    assert operators[:3] == ["o0", "o1", "o2"]
