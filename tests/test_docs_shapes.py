"""docs/shapes.md: its examples work as they stand, and no field of the schema is missing from it."""

import dataclasses
import re
from pathlib import Path

import pytest

import memstow
from memstow.api.cli.main import main
from memstow.planner.formulas.formula import FUNCTIONS
from memstow.planner.model.symbolic import Point, Symbol, SymbolicBuffer, SymbolicGraph, SymbolicProblem
from tests.planner.exports.toolchains import HOST

PAGE = (Path(__file__).parents[1] / "docs" / "shapes.md").read_text(encoding="utf-8")


def _document(kind: str) -> bytes:
    (result,) = re.findall(rf"```json {kind}\n(.*?)```", PAGE, flags=re.DOTALL)
    text: str = result
    return text.encode()


def test_the_example_is_a_problem() -> None:
    problem = memstow.read_symbolic(_document("symbolic"))
    assert memstow.read_symbolic(memstow.write_symbolic(problem)) == problem
    for point in problem.points:
        assert memstow.plan(memstow.problem_at(problem, point.at)).status is memstow.Status.OPTIMAL


def test_the_example_of_a_graph_is_read_as_a_problem() -> None:
    data = _document("symbolic graph")
    graph = memstow.read_symbolic_graph(data)
    problem = memstow.lower_symbolic(graph)
    assert memstow.read_symbolic(data) == problem
    assert [buffer.size for buffer in problem.buffers][:2] == ["1024*s", "16*s*s"]
    assert memstow.plan(memstow.problem_at(problem, {"s": 128})).status is memstow.Status.OPTIMAL


def test_what_is_refused_is_refused_with_these_words() -> None:
    with pytest.raises(memstow.InputError) as raised:
        memstow.read_symbolic(_document("symbolic refused"))
    assert f"```text\n{raised.value}\n```" in PAGE


def test_the_example_in_c_compiles_and_the_names_are_those_of_the_page(tmp_path: Path) -> None:
    (code,) = re.findall(r"```c\n(.*?)```", PAGE, flags=re.DOTALL)
    problem = memstow.SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=9)], buffers=[SymbolicBuffer(id="x", size="s")]
    )
    order = memstow.Order(placements=[memstow.OrderedPlacement(buffer="x", pool="memory")])
    plan = memstow.SymbolicPlan(status=memstow.Status.FEASIBLE, shapes="order", orders=[order])
    header = memstow.write_symbolic_c(problem, plan, "net")
    (tmp_path / "net.h").write_bytes(header)
    (tmp_path / "use.c").write_text(code)
    HOST.compile(tmp_path, "use.c")
    for name in re.findall(r"`((?:net|NET)_\w+)`", PAGE):
        assert re.search(rf"\b{name}\b", header.decode()), name
    for number, name in re.findall(r"`(NET_\w+)` \((\d)\)", PAGE):
        assert f"{number} = {name}," in header.decode()


def test_the_commands_about_plans_do_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("attention.json").write_bytes(_document("symbolic"))
    Path("block.json").write_bytes(_document("symbolic graph"))
    consoles = re.findall(r"## (?:Plans|The order)\n\n```console\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(consoles) == 2
    for line in "".join(consoles).splitlines():
        assert main(line.removeprefix("$ memstow ").split()) == 0, line


@pytest.mark.parametrize("holder", [SymbolicProblem, SymbolicGraph, Symbol, Point, SymbolicBuffer])
def test_every_field_is_on_the_page(holder: type) -> None:
    for field in dataclasses.fields(holder):
        assert f"`{field.name}`" in PAGE or field.name == "tensors", field.name


def test_every_function_is_on_the_page() -> None:
    for function in FUNCTIONS:
        assert f"`{function}(a, " in PAGE, function
