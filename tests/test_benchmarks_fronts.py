"""The table of fronts says what the fronts say."""

from pathlib import Path

import pytest

from benchmarks import fronts
from memstow.planner.formats import write_graph
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.model.front import FrontOptions
from memstow.planner.model.options import Options
from tests.planner.graph.stripes.nets import random_net


def test_points_are_counted_by_what_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.json").write_bytes(write_graph(random_net(3, 4)))
    monkeypatch.setattr(fronts, "DATA", tmp_path)
    monkeypatch.setattr(fronts, "NETWORKS", ("small.json",))
    monkeypatch.setattr(fronts, "RESIDUAL", ())
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in fronts.measure().splitlines()
        if line.startswith("| small")
    ]
    assert [row[:3] for row in rows] == [["small", "4", "given"], ["small", "4", "free"]]
    first = rows[0][3]
    assert first.split(" of ")[0] == first.split(" of ")[1].partition(",")[0]
    assert ", complete, " in first


def test_a_residual_network_is_proven_where_operators_run_again() -> None:
    graph = fronts.residual_network(1)
    assert len(graph.operators) == 13
    options = Options(deterministic=True, work_limit=20_000_000)
    front = find_front(graph, FrontOptions(generators=("stripes", "recompute")), options, FrontCallbacks())
    assert [point.values for point in front.points if point.proven] == [
        {"peak": 9_120, "cost": 40_108_032},
        {"peak": 10_080, "cost": 37_106_432},
        {"peak": 10_224, "cost": 34_658_432},
        {"peak": 10_464, "cost": 24_934_912},
        {"peak": 11_312, "cost": 16_755_200},
        {"peak": 14_080, "cost": 16_256_512},
        {"peak": 14_144, "cost": 12_533_760},
    ]
