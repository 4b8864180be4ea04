"""docs/order.md: its example holds, and its drawing shows the bytes that the planner counts."""

import re
from pathlib import Path

from memstow.planner.graph.live_bytes import steps
from memstow.planner.model.graph import Graph

DOCS = Path(__file__).parents[1] / "docs"


def example() -> Graph:
    """Runs the page's example, with its assertions; the graph that it makes."""
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "order.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "docs/order.md", "exec"), names)
    graph = names["graph"]
    assert isinstance(graph, Graph)
    return graph


def test_the_example_holds_and_the_drawing_shows_its_bytes() -> None:
    graph = example()
    numbers = {operator.id: number for number, operator in enumerate(graph.operators)}
    drawing = (DOCS / "order.svg").read_text()
    bars = [int(entry) for entry in re.findall(r">(\d+)</text>", drawing)]
    counted = [
        step.bytes
        for order in ("DABCY", "ABCDY")
        for step in steps(graph, [numbers[operator] for operator in order])
    ]
    assert bars == counted
