"""benchmarks/results.md has a place for each part, and a limit that is missed does not pass in silence."""

import re
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import cases, profiles, sets
from benchmarks.page import MISSED, held
from benchmarks.sets import Batch, Effort, ProblemSet, Wanted
from memstow.api.cli.parser import build_parser
from memstow.planner.bench.record import Ending
from tests.planner.bench.make import made, results

PAGE = (Path(__file__).parents[1] / "benchmarks" / "results.md").read_text()
PARTS = [
    *cases.PARTS,
    *sets.ALL,
    command.PROOFS,
    command.FRONTS,
    *(f"hard-{name}" for name in sets.HARD),
    *(f"versions-{name}" for name in cases.PARTS),
    *(f"profiles-{name}" for name in profiles.PARTS),
]


@pytest.mark.parametrize("name", PARTS)
def test_each_part_has_one_place_on_the_page(name: str) -> None:
    assert re.findall(rf"<!-- (begin|end) {name} -->", PAGE) == ["begin", "end"]


def test_each_table_has_as_many_cells_in_each_row_as_in_its_head() -> None:
    tables = re.findall(r"(?:^\|.*\|\n)+", PAGE, flags=re.MULTILINE)
    assert len(tables) > 15
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1, table


def test_a_missed_limit_ends_the_command_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert held("2.50", 2.5, 2.5) == "2.50"
    assert held("2.66", 2.66, 2.5) == f"2.66 {MISSED}"
    parts = {"good": lambda: held("1", 1, 2), "slow": lambda: held("3", 3, 2)}
    monkeypatch.setattr(profiles, "PARTS", parts)
    assert command.main(["profiles", "good", "--print-only"]) == 0
    assert command.main(["profiles", "--print-only"]) == 1
    said = capsys.readouterr()
    assert f"3 {MISSED}" in said.out
    assert said.err == "limits are missed in: profiles-slow\n"


def _cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_set_is_shown_by_family_and_by_instance_and_what_was_not_reached_below(tmp_path: Path) -> None:
    runs = results(
        tmp_path,
        made("one", "auto", 200, bound=100, seconds=2.0, work={"steps": 4_000_000}),
        made("two", "auto", 300, bound=300, status=Ending.OPTIMAL, options={"workers": 2}),
        made("two", "exact", status=Ending.DECLINED, seconds=0.0),
        made("three", "auto", status=Ending.INFEASIBLE, seconds=0.5),
    ).runs
    wanted = {"one": Wanted(of_bound=1.5), "two": Wanted(1.0, 0.9), "three": Wanted(seconds=1.0)}
    text = sets.tables(runs, wanted)
    rows = {row[0]: row[1:] for row in _cells(text)}
    assert rows["family/one"][1:] == ["100", "200 (2.00)", "", ""]
    assert rows["family/two"][1:] == ["300", "", "300* (1.00)", "declined (0.00)"]
    assert rows["family/three"][1:] == ["", "infeasible (0.50)", "", ""]
    assert text.endswith(
        f"* one: 2.00000, and 1.5 times the bound is wanted {MISSED}\n\n* two: 1.000 s of 0.9 s {MISSED}"
    )
    by_solver = [row for row in _cells(text) if row[0] == "family"]
    assert [row[2:6] for row in by_solver] == [
        ["2", "1", "1", "2.0000"],
        ["1", "1", "0", "1.0000"],
        ["1", "0", "0", ""],
    ]
    assert by_solver[0][-1] == "2.0"


def test_a_set_is_run_by_the_bench_batch_by_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "OUTPUT", tmp_path)
    request: list[list[str]] = []

    def memstow(words: list[str]) -> int:
        request.append(words)
        results(tmp_path / "small", made("one", "auto", 5, bound=5))
        return 0

    monkeypatch.setattr(sets, "memstow", memstow)
    batches = tuple(Batch(lambda *_: ["generate:planted,n=9"], seconds, ()) for seconds in (1.0, 5.0))
    text = sets.measure("small", ProblemSet("Two limits:", batches), Effort(most_seconds=2.0))
    assert [words[words.index("--time-limit") + 1] for words in request] == ["1", "2"]
    assert text.startswith("Two limits:\n\n| problems |")
    missing = sets.measure("small", ProblemSet("Nothing:", batches, ("no such set",)), Effort())
    assert missing == "Skipped: `../shared/data` is not there."
    assert len(request) == 2


@pytest.mark.parametrize("name", [*sets.ALL, *sets.HARD])
def test_the_options_of_each_set_are_options_of_the_bench(name: str) -> None:
    for batch in {**sets.ALL, **sets.HARD}[name].batches:
        args = build_parser().parse_args(
            ["bench", "run", "a.csv", "--resume", "--output", "x", *batch.options]
        )
        assert args.paths == ["a.csv"]
