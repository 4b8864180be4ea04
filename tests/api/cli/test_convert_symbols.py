"""Models and graphs with symbols at the command line: ranges of dimensions, and orders of operators."""

from dataclasses import replace
from pathlib import Path

import pytest

import memstow
from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.onnx_models import model, node, value
from tests.planner.shapes.solve.test_operator_order import TWO_BRANCHES

FREE = replace(TWO_BRANCHES, order="free")


@pytest.fixture
def relu(tmp_path: Path) -> Path:
    path = tmp_path / "relu.onnx"
    path.write_bytes(model([node("Relu", "x", "y")], [value("x", ["N", "M"])], [value("y", None)]))
    return path


def test_a_range_may_begin_at_0(cli: Cli, relu: Path) -> None:
    ran = cli("convert", relu, "-", "--output-format", "json", "--symbol", "N=0..8", "--dim", "M=2")
    assert ran.code == Exit.DONE
    assert '"8*N"' in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--symbol", "N=1..8", "--dim", "M=2", "--at", "N=3"), "--at: --symbol leaves dimensions open"),
        (
            ("--symbol", "N=1..8"),
            "--dim M=1, or convert the model for a range of values: memstow convert --symbol M=",
        ),
        (("--symbol", "N=1..8:2", "--dim", "M=2"), '--symbol: the largest value of "N", 8, is not reached'),
    ],
)
def test_what_is_asked_wrongly_is_told_by_the_option(
    cli: Cli, relu: Path, options: tuple[str, ...], said: str
) -> None:
    ran = cli("convert", relu, "-", "--output-format", "json", *options)
    assert ran.code == Exit.USAGE
    assert said in ran.err


def test_values_of_symbols_are_not_for_models(cli: Cli, relu: Path) -> None:
    ran = cli("solve", relu, "--at", "N=3")
    assert ran.code == Exit.USAGE
    assert "convert it first: memstow convert MODEL PROBLEM --symbol" in ran.err


@pytest.fixture
def branches(tmp_path: Path) -> Path:
    path = tmp_path / "branches.json"
    path.write_bytes(memstow.write_symbolic_graph(TWO_BRANCHES))
    return path


def test_a_graph_with_symbols_is_listed_in_its_best_order(cli: Cli, branches: Path, tmp_path: Path) -> None:
    ordered = tmp_path / "ordered.json"
    ran = cli("convert", str(branches), str(ordered), "--output-format", "graph", "--order", "free")
    assert ran.code == Exit.DONE
    graph = memstow.read_symbolic_graph(ordered.read_bytes())
    assert [operator.id for operator in graph.operators] == ["A", "C", "D", "Y"]
    plan = tmp_path / "plan.json"
    assert cli("solve", str(ordered), "--output", str(plan), "--deterministic").code == Exit.DONE
    assert cli("verify", str(ordered), str(plan)).code == Exit.DONE
    points = memstow.read_symbolic_plan(plan.read_bytes()).points
    assert [point.peak for point in points] == [101, 4117]


def test_a_graph_with_symbols_stays_as_listed_by_default(cli: Cli, branches: Path) -> None:
    ran = cli("convert", str(branches), "-", "--output-format", "graph")
    assert ran.code == Exit.DONE
    assert memstow.read_symbolic_graph(ran.out.encode()) == TWO_BRANCHES


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--order", "lpmf"), "--order: operators of graphs with symbols run in the order"),
        (("--channels",), "--channels: it is not for graphs with symbols"),
        (("--capacity", "4KiB"), "--capacity: it is not for graphs with symbols"),
    ],
)
def test_other_changes_of_graphs_with_symbols_are_refused(
    cli: Cli, branches: Path, options: tuple[str, ...], said: str
) -> None:
    ran = cli("convert", str(branches), "-", "--output-format", "graph", *options)
    assert ran.code == Exit.USAGE
    assert said in ran.err


def test_solve_verify_evaluate_and_view_follow_the_order_of_the_plan(
    cli: Cli, branches: Path, tmp_path: Path
) -> None:
    plan, other = tmp_path / "plan.json", tmp_path / "other.json"
    ran = cli("solve", str(branches), "--order", "free", "--deterministic", "--output", str(plan))
    assert ran.code == Exit.DONE
    assert "largest ratio 1.000, proven least, in any order of the operators" in ran.out
    planned = memstow.read_symbolic_plan(plan.read_bytes())
    assert planned == memstow.plan_symbolic(FREE, memstow.Options(deterministic=True))
    assert cli("verify", str(branches), str(plan), "--strict").code == Exit.DONE
    assert "4,117" in cli("evaluate", str(branches), str(plan), "--at", "s=64").out
    there = tmp_path / "there.json"
    there.write_text(cli("evaluate", str(branches), str(plan), "--at", "s=32", "--json").out)
    # Of the ordinary graph there, whose operators run as the plan says.
    assert cli("verify", str(branches), str(there), "--at", "s=32", "--strict").code == Exit.DONE
    ran = cli("solve", str(branches), "--at", "s=32", "--order", "free", "--output", str(other))
    assert ran.code == Exit.DONE
    assert cli("verify", str(branches), str(other), "--at", "s=32", "--strict").code == Exit.DONE
    page = tmp_path / "plan.html"
    assert cli("view", str(branches), str(plan), "--output", str(page)).code == Exit.DONE
    wrong = replace(planned, schedule=memstow.Schedule(order=("D", "A", "C", "Y")))
    other.write_bytes(memstow.write_symbolic_plan(wrong))
    ran = cli("verify", str(branches), str(other))
    assert ran.code == Exit.INVALID
    assert "plan the graph again [digest]" in ran.out
    for command in (("evaluate",), ("view", "--output", str(page))):
        ran = cli(command[0], str(branches), str(other), *command[1:])
        assert ran.code == Exit.USAGE
        assert "the plan is for another problem, as its digest says" in ran.err


def test_the_order_that_a_file_asks_for_can_be_changed(cli: Cli, tmp_path: Path) -> None:
    graph, plan = tmp_path / "free.json", tmp_path / "plan.json"
    graph.write_bytes(memstow.write_symbolic_graph(FREE))
    assert cli("solve", str(graph), "--order", "given", "--output", str(plan)).code == Exit.DONE
    assert memstow.read_symbolic_plan(plan.read_bytes()).schedule == memstow.Schedule(
        order=("D", "A", "C", "Y")
    )
    # Optimal in the order that was asked for, and not in all.
    assert cli("verify", str(graph), str(plan), "--order", "given").code == Exit.DONE
    ran = cli("verify", str(graph), str(plan))
    assert ran.code == Exit.INVALID
    assert "in another order of the operators less may be needed at a point" in ran.out
    ran = cli("solve", str(graph), "--order", "dfs")
    assert ran.code == Exit.USAGE
    assert "--order: operators of graphs with symbols run in the order that is `given`" in ran.err


def test_what_fits_in_no_order_that_was_tried_is_told(cli: Cli, tmp_path: Path) -> None:
    small = replace(FREE, pools=(memstow.Pool(id="memory", capacity=4116),))
    graph = tmp_path / "small.json"
    graph.write_bytes(memstow.write_symbolic_graph(small))
    ran = cli("solve", str(graph))
    assert ran.code == Exit.INFEASIBLE
    assert ran.out.startswith("infeasible: at s=64, in each order of the operators, at least 4,117 bytes")
