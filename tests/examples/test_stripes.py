"""examples/stripes: plans are run by their tables of loops alone, and a table that is wrong is found out."""

import copy
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import memstow
from memstow.planner.model.plan import Plan, Schedule, Stripe
from striped import interpreter, layers, networks, table
from striped.network import Network, read
from tests.campaign import gate_first
from tests.examples.building import ROOT, Sample
from tests.examples.stripes_campaign import check, check_seed, graph_of, planned, points_of, random_inputs

EXAMPLE = ROOT / "examples" / "stripes"


@pytest.mark.parametrize("seed", gate_first(range(12), 3))
def test_random_plans_of_random_networks_run(seed: int) -> None:
    counted: Counter[str] = Counter()
    check_seed(seed, counted)
    assert counted["plans"] == 4
    assert counted["points of fronts"] >= 1


def test_every_point_of_the_front_of_a_network_for_images_runs() -> None:
    net = networks.mobile_network(24)
    graph = graph_of(net)
    plans = points_of(graph)
    peaks = [sum(pool.peak for pool in plan.pools) for plan in plans]
    plain = sum(pool.peak for pool in memstow.plan(graph).pools)
    # Layer by layer may be told too, before something at its cost needs less.
    assert sum(peak < plain for peak in peaks) > 3
    assert max(peaks) <= plain
    for plan in plans:
        check(net, graph, plan, 5)


def test_columns_that_differ_by_strip_run() -> None:
    net = networks.mobile_network(40)
    graph = graph_of(net)
    order = tuple(operator.id for operator in graph.operators)
    for columns in (1, 2, 3):
        stripes = (Stripe(begin=0, end=6, columns=columns), Stripe(begin=6, end=16, columns=columns))
        check(net, graph, planned(graph, Schedule(order=order, stripes=stripes)), columns)


@pytest.fixture(scope="module")
def striped() -> tuple[Network, table.Table]:
    """A network in one stripe and its table."""
    net = networks.mobile_network(16)
    graph = graph_of(net)
    order = tuple(operator.id for operator in graph.operators)
    schedule = Schedule(order=order, stripes=(Stripe(begin=0, end=7, columns=2),))
    plan: Plan = planned(graph, schedule)
    return net, table.read(memstow.write_loops(memstow.loops(graph, plan)))


def is_right(net: Network, loops: table.Table) -> bool:
    inputs = random_inputs(net, 3)
    wanted = layers.run(net, inputs)
    result = interpreter.run(net, loops, inputs)
    return all(np.array_equal(result[name], wanted[name]) for name in net.outputs)


def stripe_of(loops: table.Table) -> table.Stripe:
    (result,) = [segment for segment in loops["segments"] if segment["kind"] == "stripe"]
    return result


def test_a_ring_with_a_row_less_is_found_out(striped: tuple[Network, table.Table]) -> None:
    net, right = striped
    assert is_right(net, right)
    rings = [at for at, ring in enumerate(stripe_of(right)["rings"]) if ring["rows"] > 1]
    assert rings
    for at in rings:
        wrong = copy.deepcopy(right)
        stripe_of(wrong)["rings"][at]["rows"] -= 1
        assert not is_right(net, wrong)


def test_a_ring_in_the_place_of_another_is_found_out(striped: tuple[Network, table.Table]) -> None:
    net, right = striped
    kept = [ring for ring in stripe_of(right)["rings"] if ring["rows"] > 1]
    wrong = copy.deepcopy(right)
    rings = {ring["tensor"]: ring for ring in stripe_of(wrong)["rings"]}
    rings[kept[0]["tensor"]]["offset"] = kept[1]["offset"]
    assert not is_right(net, wrong)


def test_rows_that_are_free_too_early_are_found_out(striped: tuple[Network, table.Table]) -> None:
    net, right = striped
    wrong = copy.deepcopy(right)
    rings, frees = stripe_of(wrong)["rings"], stripe_of(wrong)["frees"]
    next(them for them in frees if them and rings[them[0]]["rows"] > 1)[1] += 1
    assert not is_right(net, wrong)


def test_rows_that_the_table_does_not_let_read_are_an_error(striped: tuple[Network, table.Table]) -> None:
    net, right = striped
    wrong = copy.deepcopy(right)
    step = max(stripe_of(wrong)["steps"], key=lambda step: step[3] - step[2])
    step[3] -= 1
    with pytest.raises(IndexError, match="are not those of the table"):
        is_right(net, wrong)


def test_a_network_that_was_written_is_read_again(tmp_path: Path) -> None:
    net = networks.random_network(11, 14)
    net.write(tmp_path)
    again = read(tmp_path)
    assert again.graph() == net.graph()
    inputs = random_inputs(net, 1)
    one, other = layers.run(net, inputs), layers.run(again, inputs)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_the_commands_of_the_readme_run_and_print_what_it_shows(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "stripes", ignore=shutil.ignore_patterns("__pycache__", "net"))
    sample = Sample(tmp_path / "stripes")
    blocks = re.findall(r"^```console\n(.*?)^```", (EXAMPLE / "README.md").read_text(), re.M | re.S)
    for block in blocks:
        said = ""
        for line in block.splitlines():
            if line.startswith("$ "):
                said = sample.run("sh", "-c", line.removeprefix("$ "))
            else:
                assert line in said
    front = json.loads((sample.folder / "net" / "front.json").read_text())
    assert front["points"][0]["proven"]
    assert "stripe of" in (sample.folder / "net" / "net.loops.txt").read_text()
