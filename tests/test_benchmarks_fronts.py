"""The table of fronts says what the fronts say."""

from pathlib import Path

import pytest

from benchmarks import fronts
from memstow.planner.formats import write_graph
from tests.planner.graph.stripes.nets import random_net


def test_points_are_counted_by_what_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.json").write_bytes(write_graph(random_net(3, 4)))
    monkeypatch.setattr(fronts, "DATA", tmp_path)
    monkeypatch.setattr(fronts, "NETWORKS", ("small.json",))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in fronts.measure().splitlines()
        if line.startswith("| small")
    ]
    assert [row[:3] for row in rows] == [["small", "4", "given"], ["small", "4", "free"]]
    first = rows[0][3]
    assert first.split(" of ")[0] == first.split(" of ")[1].partition(",")[0]
    assert ", complete, " in first
