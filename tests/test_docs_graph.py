"""docs/graph.md: its examples work as they stand, and no field of the schema is missing from it."""

import dataclasses
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.planner.formats import read_graph
from memstow.planner.graph.changes import with_order
from memstow.planner.model import PLANNED
from memstow.planner.model import graph as model
from memstow.planner.model.options import Options
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import verify

PAGE = (Path(__file__).parents[1] / "docs" / "graph.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json graph\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
@pytest.mark.parametrize("order", ["given", "free"])
def test_each_graph_gets_a_valid_plan(text: str, order: Any) -> None:
    graph = with_order(read_graph(text.encode()), order)
    planned = solve(graph, Options(time_limit=5.0))
    assert planned.status in PLANNED
    assert verify(graph, planned) == []


def test_the_examples_of_the_command_line_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keyword.json").write_text(EXAMPLES[0])
    lines = [line[2:] for line in PAGE.splitlines() if line.startswith("$ memstow ")]
    assert len(lines) > 4
    for line in lines:
        assert main(shlex.split(line)[1:]) == Exit.DONE, line
    assert json.loads((tmp_path / "free.json").read_text())["schedule"]["order"]


def test_every_field_is_on_the_page() -> None:
    for name, holder in vars(model).items():
        if dataclasses.is_dataclass(holder) and getattr(holder, "__module__", "") == model.__name__:
            for field in dataclasses.fields(holder):
                assert f"`{field.name}`" in PAGE or f'"{field.name}"' in PAGE, (name, field.name)


def test_every_type_of_an_element_is_on_the_page() -> None:
    output = PAGE.partition("| `shape`, `type` |")[2].partition("\n")[0]
    ranges = {"int4", "int8", "int16", "int32", "uint4", "uint8", "uint16", "uint32"}
    assert all(f"`{name}`" in output for name in model._BITS if name not in ranges)
