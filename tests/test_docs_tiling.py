"""docs/tiling.md: its examples print what the page says; the figures of a model are those of results.md."""

import re
import shlex
from pathlib import Path

import pytest

from memstow.planner.formats import read_graph
from memstow.planner.model.tiling import TilingOptions
from memstow.planner.tiling.tile import tile_all

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tiling.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")


@pytest.fixture
def layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (graph,) = re.findall(r"```json graph\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "layer.json").write_text(graph)
    return tmp_path / "layer.json"


def test_the_command_prints_what_the_page_says(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from memstow.api.cli.main import main

    (console,) = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    examples = re.split(r"^\$ memstow ", console, flags=re.MULTILINE)[1:]
    assert len(examples) > 2
    for example in examples:
        words, _, printed = example.partition("\n")
        assert main(shlex.split(words)) == 0
        if printed:
            assert capsys.readouterr().out == printed
    assert layer.with_name("tiles.json").exists()


@pytest.mark.parametrize(
    ("kib", "two", "one"), [(4, 864_114, 786_093), (8, 692_909, 691_947), (16, 691_754, 691_754)]
)
def test_the_figures_are_those_of_the_model(shared_data: Path, kib: int, two: int, one: int) -> None:
    graph = read_graph((shared_data / "tflite" / "tflm__person_detect.tflite").read_bytes())
    for double, moved in ((True, two), (False, one)):
        tilings = tile_all(graph, TilingOptions(capacity=kib << 10, double_buffer=double))
        tiled = [tiling for tiling in tilings if tiling.chosen is not None]
        assert len(tiled) == 29
        assert all(tiling.complete and tiling.replayed for tiling in tiled)
        assert sum(entry.least or 0 for entry in tiled) == 691_754
        assert sum(tiling.chosen.bytes for tiling in tiled if tiling.chosen is not None) == moved
        assert f"{moved:,}" in RESULTS
