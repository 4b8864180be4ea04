"""benchmarks/results.md says what its code defines, and a limit that is missed does not pass in silence."""

import re
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import commands, engine, graphs, hard
from benchmarks.page import MISSED, held

PAGE = (Path(__file__).parents[1] / "benchmarks" / "results.md").read_text()


def _part(name: str) -> str:
    (text,) = re.findall(rf"<!-- begin {name} -->\n(.*?)<!-- end {name} -->", PAGE, flags=re.DOTALL)
    return str(text)


def _rows(name: str) -> list[list[str]]:
    lines = [line for line in _part(name).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def test_the_limits_of_calls_are_those_of_the_code() -> None:
    rows = [(row[0].strip("`"), int(row[1].replace(",", "")), float(row[3])) for row in _rows("calls")[2:]]
    assert rows == [
        *(("plan", n, limit) for n, limit in engine.PLAN_LIMITS_MS.items()),
        *(("place", n, limit) for n, limit in engine.PLACE_LIMITS_MS.items()),
    ]


def test_each_table_has_as_many_cells_in_each_row_as_in_its_head() -> None:
    tables = re.findall(r"(?:^\|.*\|\n)+", PAGE, flags=re.MULTILINE)
    assert len(tables) > 15
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1, table


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            "growth",
            f"greedy {commands.MOST_GREEDY:g} s and {commands.MOST_GIB:g} GiB, "
            f"verify {commands.MOST_VERIFY:g} s",
        ),
        ("large", f"best of {commands.LARGE_RUNS} runs"),
        ("models", f"{engine.REUSE_SECONDS:.0f} s each"),
        ("orders", f"CP-SAT has {graphs.CPSAT_SECONDS:g} s"),
        ("hard-minimalloc", f"{hard.MINIMALLOC_SECONDS:g} s each"),
        ("hard-fitting", f"limit for all eleven: {hard.FITTING_LIMIT} s"),
        ("hard-altered", f"{hard.ALTERED_SECONDS:g} s each"),
        ("hard-planted", f"{hard.TILING_SECONDS:g} s each"),
        ("hard-kernels", f"limit: {hard.KERNEL_LIMIT_MS} ms each"),
        ("hard-reuse", f"limit: {hard.REUSE_SECONDS:g} s each"),
    ],
)
def test_the_limits_of_the_page_are_those_of_the_code(part: str, said: str) -> None:
    assert said in _part(part)


def test_the_limits_in_the_tables_are_those_of_the_code() -> None:
    limits = {row[0]: row for row in _rows("large")}
    for solver in commands.SOLVERS:
        process, alone = (of.get(solver) for of in (commands.PROCESS_LIMITS, commands.ENGINE_LIMITS))
        assert limits[solver][2] == ("" if process is None else f"{process:g}")
        assert limits[solver][5] == ("" if alone is None else f"{alone:g}")
    told = {float(row[2]) for row in _rows("startup") if row[2].replace(".", "").isdigit()}
    assert told == set(commands.STARTUP_LIMITS.values())
    assert {row[0]: float(row[-1]) for row in _rows("hard-idealloc") if row[0] in hard.IDEALLOC_LIMITS} == {
        name: seconds for name, (seconds, _) in hard.IDEALLOC_LIMITS.items()
    }


def _number(cell: str) -> float:
    return float(cell.removesuffix(MISSED).replace(",", ""))


def test_what_missed_its_limit_is_marked_on_the_page_and_nothing_else_is() -> None:
    whole = next(row for row in _rows("hard-fitting") if row[0] == "in all")
    checked = [(whole[2], hard.FITTING_LIMIT)]
    checked += [(row[5], hard.KERNEL_LIMIT_MS) for row in _rows("hard-kernels")[2:]]
    checked += [(row[1], _number(row[2])) for row in _rows("startup")[2:] if row[2]]
    for row in _rows("large")[2:]:
        checked += [(row[at], _number(row[at + 1])) for at in (1, 4) if row[at + 1]]
    for row in _rows("hard-idealloc")[2:]:
        checked.append((row[3], hard.IDEALLOC_LIMITS[row[0]][1]))
    largest = _rows("growth")[-1]
    checked += [
        (largest[3], commands.MOST_GREEDY),
        (largest[4], commands.MOST_VERIFY),
        (largest[7], commands.MOST_GIB),
    ]
    assert len(checked) > 10
    for cell, limit in checked:
        assert (MISSED in cell) == (_number(cell) > limit), (cell, limit)


def test_a_missed_limit_ends_the_command_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert held("2.50", 2.5, 2.5) == "2.50"
    assert held("2.66", 2.66, 2.5) == f"2.66 {MISSED}"
    parts = {"good": lambda: held("1", 1, 2), "slow": lambda: held("3", 3, 2)}
    monkeypatch.setattr(command, "ALL", parts)
    assert command.main(["good", "--print-only"]) == 0
    assert command.main(["--print-only"]) == 1
    said = capsys.readouterr()
    assert f"3 {MISSED}" in said.out
    assert said.err == "limits are missed in: slow\n"
