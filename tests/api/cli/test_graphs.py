"""Graphs and models at the command line: wherever a problem can be, and what is said where they cannot."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from memstow.planner import formats
from tests.api.cli.conftest import Cli
from tests.tflite_models import small_model

FORKED = {
    "version": 1,
    "name": "forked",
    "tensors": [
        {"id": name, "size": size} for name, size in (("x", 10), ("a", 100), ("b", 20), ("d", 60), ("y", 1))
    ],
    "operators": [
        {"id": "D", "inputs": ["x"], "outputs": ["d"]},
        {"id": "A", "inputs": ["x"], "outputs": ["a"], "in_place": [["x", "a"]]},
        {"id": "B", "inputs": ["a"], "outputs": ["b"], "in_place": [["a", "b"]]},
        {"id": "Y", "inputs": ["b", "d"], "outputs": ["y"]},
    ],
    "inputs": ["x"],
    "outputs": ["y"],
}


@pytest.fixture
def forked(tmp_path: Path) -> Path:
    path = tmp_path / "forked.json"
    path.write_text(json.dumps(FORKED))
    return path


def test_a_graph_is_solved_and_verified_in_the_order_asked_for(
    cli: Cli, forked: Path, tmp_path: Path
) -> None:
    peaks = {}
    for order in ("given", "free"):
        plan = tmp_path / f"{order}.json"
        assert cli("solve", forked, "--order", order, "--output", plan).code == Exit.DONE
        document = json.loads(plan.read_text())
        peaks[order] = document["objective"][0]["value"]
        judged = cli("verify", forked, plan, "--order", order)
        assert judged.code == Exit.DONE
        assert "the graph allows the order of its 4 operators: checked" in judged.out
    assert peaks == {"given": 160, "free": 110}
    # Judged as of a given order, another is still one that the graph allows, with a bound for all.
    assert cli("verify", forked, tmp_path / "free.json").code == Exit.DONE
    # The other way round, the bound of one order is no bound of all.
    assert cli("verify", forked, tmp_path / "given.json", "--order", "free").code == Exit.INVALID


def test_pairs_in_place_can_be_left_out(cli: Cli, forked: Path) -> None:
    value = {}
    for option in ((), ("--no-in-place",)):
        ran = cli("solve", forked, "--order", "free", *option, "--json")
        value[option] = json.loads(ran.out)["objective"][0]["value"]
    assert value[()] < value["--no-in-place",]


def test_the_memories_of_a_graph_can_be_changed(cli: Cli, forked: Path) -> None:
    ran = cli("solve", forked, "--capacity", "120")
    assert ran.code == Exit.INFEASIBLE
    assert "`memstow front` looks for ways to run it" in ran.out
    assert cli("solve", forked, "--capacity", "120", "--order", "free", "--fit-only").code == Exit.DONE
    assert cli("solve", forked, "--target", "rp2040").code == Exit.DONE


def test_a_graph_is_described_with_its_largest_steps(cli: Cli, forked: Path) -> None:
    text = cli("inspect", forked).out
    assert "4 operators, 5 tensors (5 data)" in text
    assert "as listed  at most 160 bytes live" in text
    described = json.loads(cli("inspect", forked, "--json").out)
    assert described["graph"]["live"] == [70, 160, 160, 81]
    assert described["graph"]["largest"][0] == {
        "operator": "A",
        "type": None,
        "bytes": 160,
        "saved": 10,
    }
    assert described["peak_live"] >= 160


def test_a_graph_becomes_a_problem_and_a_model_a_graph(cli: Cli, forked: Path, tmp_path: Path) -> None:
    out = tmp_path / "problem.json"
    assert cli("convert", forked, out).code == Exit.DONE
    problem = formats.read_problem(out.read_bytes())
    assert {buffer.id: buffer.lifetime for buffer in problem.buffers} == {
        "x": (0, 3),
        "a": (2, 4),
        "b": (3, 5),
        "d": (1, 5),
        "y": (4, 5),
    }
    model = tmp_path / "model.tflite"
    model.write_bytes(small_model())
    graph = tmp_path / "graph.json"
    assert cli("convert", model, graph, "--output-format", "graph").code == Exit.DONE
    assert formats.read_graph(graph.read_bytes()).operators[0].type == "CONV_2D"
    assert cli("solve", model).code == Exit.DONE
    output = cli("convert", out, graph, "--output-format", "graph")
    assert (output.code, "not_a_graph" in output.err) == (Exit.USAGE, True)


def test_options_of_graphs_are_refused_for_problems(cli: Cli, three: Path) -> None:
    for option in (("--order", "free"), ("--no-in-place",)):
        ran = cli("solve", three, *option)
        assert (ran.code, "it is for graphs, and this is a problem" in ran.err) == (Exit.USAGE, True)


def test_issues_of_a_graph_are_told_with_the_name_of_the_file(cli: Cli, forked: Path) -> None:
    forked.write_text(json.dumps({**FORKED, "outputs": ["z"], "before": [["Y", "A"]]}))
    ran = cli("solve", forked)
    assert ran.code == Exit.USAGE
    assert "forked.json: $.outputs[0]: there is no tensor 'z'" in ran.err
    assert "before_cycle" in ran.err


def test_generated_graphs_are_the_same_each_time(cli: Cli) -> None:
    for family in ("chain", "cells", "wiring", "training"):
        made = [cli("generate", "graph", "--n", 30, "--seed", 4, "--family", family).out for _ in range(2)]
        assert made[0] == made[1]
        graph = formats.read_graph(made[0].encode())
        assert len(graph.operators) == 30


def test_a_bench_plans_graphs_in_the_order_in_which_they_are_listed(
    cli: Cli, forked: Path, tmp_path: Path
) -> None:
    ran = cli("bench", "run", forked, "--solvers", "greedy", "--output", tmp_path / "bench")
    assert ran.code == Exit.DONE
    assert "160" in (tmp_path / "bench" / "results.jsonl").read_text()


def test_a_plan_of_a_graph_is_a_hint_and_is_locked(cli: Cli, forked: Path, tmp_path: Path) -> None:
    plan, lock = tmp_path / "plan.json", tmp_path / "forked.lock"
    assert cli("solve", forked, "--order", "free", "--output", plan).code == Exit.DONE
    assert cli("solve", forked, "--order", "free", "--hint", plan).code == Exit.DONE
    assert cli("solve", forked, "--order", "free", "--lock", lock).code == Exit.DONE
    held = lock.read_bytes()
    again = cli("solve", forked, "--order", "free", "--lock", lock, "--locked", "--json")
    assert json.loads(again.out) == json.loads(held)["plan"]
    assert cli("verify", forked, lock, "--order", "free").code == Exit.DONE
    # The listed order is another question.
    ran = cli("solve", forked, "--lock", lock, "--locked")
    assert (ran.code, "the lock is for another problem" in ran.err.replace("\n", " ")) == (Exit.USAGE, True)
    assert lock.read_bytes() == held
